//! The `windlass` command: one file per subcommand, each thin.
//!
//! Exit status: 0 done, 1 checked and found wrong, 2 could not run, 130 stopped by Ctrl-C with what is finished kept, 141 the reader of stdout went away (as a
//! shell reports of any tool in `windlass ... | head`). Results go to stdout, talk to stderr.

mod calibrate_command;
mod command_line;
mod completions_command;
mod cosim_command;
mod cover_command;
mod doctor_command;
mod explain_command;
mod explore_command;
mod fpga_options;
mod gen_command;
mod gpu;
mod import_command;
mod lockstep_command;
mod mix_command;
mod mutate_command;
mod options;
mod output_file;
mod own_rtl;
mod progress;
mod prove_command;
mod renaming_figure;
mod report_command;
mod report_output;
mod run_command;
mod run_report;
mod timeline_file;
mod trace_command;
mod workload;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Generates, co-simulates and measures out-of-order kernel scheduling hardware for GPUs.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a block as synthesizable Verilog
    Gen(gen_command::GenArgs),
    /// Run kernel streams on the generated scheduler, with the host runtime and a device model
    Cosim(cosim_command::CosimArgs),
    /// Report area, latencies and speed-ups of schedulers
    Report(report_command::ReportArgs),
    /// Synthesize and co-simulate a grid of front ends, and recommend which one to build
    Explore(explore_command::ExploreArgs),
    /// Run kernel streams for real, on threads or on a GPU, and check the memory afterwards
    Run(run_command::RunArgs),
    /// Measure what CUDA's calls cost on a GPU and write a device profile
    Calibrate(calibrate_command::CalibrateArgs),
    /// Summarise a kernel stream, and bound what out-of-order launching can gain in a simple model of a GPU
    Trace(trace_command::TraceArgs),
    /// Make a synthetic kernel stream that mixes SIMT and TENSOR kernels
    Mix(mix_command::MixArgs),
    /// Convert what a compiler or a profiler has written into a ktrace
    Import(import_command::ImportArgs),
    /// Hold a block's Verilog, generated or your own, against its golden model: every output, every cycle
    Lockstep(lockstep_command::LockstepArgs),
    /// Prove the properties of a block, for all time or for a number of cycles
    Prove(prove_command::ProveArgs),
    /// Report which lines of a block's Verilog its bench runs, and which bits it toggles
    Cover(cover_command::CoverArgs),
    /// Put faults into a block's Verilog, and report which of them its bench does not notice
    Mutate(mutate_command::MutateArgs),
    /// List the external tools: found or not, version, how to install them
    Doctor(doctor_command::DoctorArgs),
    /// Print a script with which a shell completes this command line
    Completions(completions_command::CompletionsArgs),
}

/// How a command that ran ended.
pub enum Outcome {
    /// Done.
    Done,
    /// What was checked is wrong.
    Wrong,
    /// Told to stop; what was finished is kept.
    Stopped,
}

/// Anything that stops a command: it could not run.
pub type Failure = Box<dyn std::error::Error>;

/// Why stdout takes no more, where that is the error: whatever else is written has its file's name in its error.
fn output_error(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    io.or_else(|| error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind))
}

/// The driver spreads streams over 8 hardware queues, and a wait between two of them costs a GPU more than one within a queue:
/// docs/measurements/gpu.md has the figures. Who has chosen a number keeps it.
fn use_few_hardware_queues() {
    const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    if std::env::var_os(CONNECTIONS).is_none() {
        // SAFETY: the process has no other thread yet.
        unsafe { std::env::set_var(CONNECTIONS, "2") };
    }
}

fn main() -> ExitCode {
    use_few_hardware_queues();
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = output_file::keep_apart(&matches).and_then(|()| match cli.command {
        Command::Gen(args) => gen_command::run(&args),
        Command::Cosim(args) => cosim_command::run(&args),
        Command::Calibrate(args) => calibrate_command::run(&args),
        Command::Run(args) => run_command::run(&args),
        Command::Lockstep(args) => lockstep_command::run(&args),
        Command::Prove(args) => prove_command::run(&args),
        Command::Report(args) => report_command::run(&args),
        Command::Explore(args) => explore_command::run(&args),
        Command::Trace(args) => trace_command::run(&args),
        Command::Mix(args) => mix_command::run(&args),
        Command::Import(args) => import_command::run(&args),
        Command::Cover(args) => cover_command::run(&args),
        Command::Mutate(args) => mutate_command::run(&args),
        Command::Doctor(args) => doctor_command::run(&args),
        Command::Completions(args) => completions_command::run(&args),
    });
    // What is left in the buffer may not fit.
    let result = result.and_then(|outcome| Ok(std::io::stdout().flush().map(|()| outcome)?));
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Wrong) => ExitCode::from(1),
        Ok(Outcome::Stopped) => ExitCode::from(130),
        Err(error) => {
            let kind = output_error(error.as_ref());
            // `windlass ... | head`: nothing to complain of; but what was checked may have been wrong, so that it is no success.
            if kind == Some(ErrorKind::BrokenPipe) {
                return ExitCode::from(141);
            }
            let what = if kind.is_some() { "the results cannot be written: " } else { "" };
            eprintln!("error: {what}{error}");
            ExitCode::from(2)
        }
    }
}

//! `windlass cosim`: the generated scheduler against the host runtime and a model of the device, on real kernel streams.

use crate::options::{DispatchArgs, HardwareArgs, WindowArg};
use crate::{Failure, Outcome, workload};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use windlass_cosim::engine::{EngineKind, EngineOptions, engine};
use windlass_cosim::policy::{Policy, Stream};
use windlass_cosim::profile::Profile;
use windlass_cosim::run::{CoSimulation, FORMAT_VERSION, RunReport};
use windlass_cosim::timeline;
use windlass_cosim::wave::Wave;
use windlass_rtl::catalog::BlockSpec;
use windlass_rtl::params::SchedulerParams;
use windlass_runtime::host::HazardRule;

/// `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The generated Verilog, under Verilator
    Verilog,
    /// The golden model; needs no Verilator
    Model,
    /// Both in lockstep: every port, every cycle
    Both,
}

impl EngineArg {
    /// As the library calls it.
    pub fn kind(self) -> EngineKind {
        match self {
            Self::Verilog => EngineKind::Verilog,
            Self::Model => EngineKind::Model,
            Self::Both => EngineKind::Both,
        }
    }
}

/// Arguments of `windlass cosim`.
#[derive(Args)]
pub struct CosimArgs {
    /// Traces (`.ktrace.jsonl`, plain or zstd); `brax-v1-ant-b256` is built in
    #[arg(default_value = workload::BUILT_IN)]
    files: Vec<String>,
    /// The scheduling window
    #[arg(long, value_enum, default_value = "matrix")]
    window: WindowArg,
    /// Window slots: 4, 8, 16, 24, 32, 48, 64, 96 or 128
    #[arg(long, default_value_t = 32, value_name = "N")]
    slots: usize,
    #[command(flatten)]
    hardware: HardwareArgs,
    /// What to compare, separated by commas; serial is always run, the others are measured against it
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "serial,streams,graph,window,ideal",
        value_name = "POLICIES"
    )]
    policy: Vec<String>,
    /// What decides under the policy `window`
    #[arg(long, value_enum, default_value = "verilog")]
    engine: EngineArg,
    /// Device profile: rtx3060, rtx3070, rtx4090, a100, h100, h200, or a TOML file
    #[arg(long, default_value = "rtx3070", value_name = "NAME|FILE")]
    gpu: String,
    /// Packets that the queue to the hardware holds
    #[arg(long, default_value_t = 64, value_name = "N")]
    fifo: usize,
    /// Let the host of `window` pay a driver launch for every kernel, instead of writing into a user-mode queue
    #[arg(long)]
    driver_launch: bool,
    /// Slots of the software window of `streams`; by default those of the hardware
    #[arg(long, value_name = "N")]
    software_slots: Option<usize>,
    /// CUDA streams, and host threads, of `streams`
    #[arg(long, default_value_t = 8, value_name = "N")]
    streams: usize,
    /// Let the threads of `streams` poll events instead of synchronising with their stream
    #[arg(long)]
    poll_events: bool,
    /// Let the hosts of streams, graph and window find hazards as ACE's Algorithm 1 is printed: where that lets a kernel start too
    /// early, the run ends with status 1 (serial and ideal do not use it)
    #[arg(long)]
    strict_algorithm1: bool,
    /// Visit every cycle instead of jumping over idle stretches; the results are the same
    #[arg(long)]
    step: bool,
    /// Seed of the state that the design does not initialise
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write a waveform of the Verilog: FILE.vcd or FILE.fst
    #[arg(long, value_name = "FILE")]
    wave: Option<PathBuf>,
    /// First cycle of the waveform, in cycles that the scheduler simulated (with --step: all)
    #[arg(long, default_value_t = 0, requires = "wave", value_name = "CYCLE")]
    from: u64,
    /// Last cycle of the waveform
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true, requires = "wave", value_name = "CYCLE")]
    to: u64,
    /// Write a timeline for Perfetto (ui.perfetto.dev): a row per SM and per window slot
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    format_version: u32,
    runs: Vec<RunReport>,
    /// Runs that ended because something was found wrong.
    wrong: Vec<Wrong>,
}

#[derive(Serialize)]
struct Wrong {
    trace: String,
    message: String,
}

/// The policies with these names.
pub fn policies(names: &[String]) -> Result<Vec<Policy>, Failure> {
    let possible = || Policy::ALL.map(Policy::name).join(", ");
    names
        .iter()
        .map(|name| {
            Policy::from_name(name).ok_or_else(|| {
                format!("--policy: there is no policy `{name}`; possible: {}", possible()).into()
            })
        })
        .collect()
}

/// The scheduler that the options describe.
pub fn scheduler(
    hardware: HardwareArgs,
    window: WindowArg,
    slots: usize,
) -> Result<SchedulerParams, Failure> {
    match hardware.block("kernel_scheduler", Some(window), Some(slots), DispatchArgs::default())? {
        BlockSpec::KernelScheduler(params) => Ok(params),
        other => Err(format!("{other:?} is no scheduler").into()),
    }
}

/// The command line of this run on one of its files, without what a replay sets itself.
fn replay(file: &str, files: &[String]) -> String {
    const SET_BY_REPLAY: [&str; 5] = ["--wave", "--from", "--to", "--seed", "--timeline"];
    let quoted = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:".contains(c);
        if word.chars().all(plain) { word.to_string() } else { format!("'{word}'") }
    };
    let mut words = vec!["windlass cosim".to_string(), quoted(file)];
    let mut args = std::env::args().skip(2);
    while let Some(arg) = args.next() {
        let name = arg.split('=').next().unwrap_or(&arg);
        if SET_BY_REPLAY.contains(&name) {
            if !arg.contains('=') {
                args.next();
            }
        } else if arg != "--json" && !files.contains(&arg) {
            words.push(quoted(&arg));
        }
    }
    words.join(" ")
}

/// Says on a terminal what long work is at; elsewhere, nothing.
fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{text}");
    }
}

/// Runs it.
pub fn run(args: &CosimArgs) -> Result<Outcome, Failure> {
    if args.files.len() > 1 && (args.wave.is_some() || args.timeline.is_some()) {
        return Err("--wave and --timeline hold one run: give one trace".into());
    }
    let params = scheduler(args.hardware, args.window, args.slots)?;
    let mut simulation = CoSimulation::new(Profile::load(&args.gpu)?, params);
    simulation.policies = policies(&args.policy)?;
    simulation.fifo_depth = args.fifo;
    simulation.driver_launch = args.driver_launch;
    simulation.software_slots = args.software_slots.unwrap_or(args.slots);
    simulation.streams = args.streams;
    simulation.poll_events = args.poll_events;
    simulation.step = args.step;
    simulation.record = args.timeline.is_some();
    if args.strict_algorithm1 {
        simulation.rule = HazardRule::StrictAlgorithm1;
    }
    let decides = simulation.policies.contains(&Policy::Window);
    if args.wave.is_some() && !decides {
        return Err("--wave shows the scheduler at work: add `window` to --policy".into());
    }
    // What no engine decides needs no Verilator.
    let kind = if decides { args.engine.kind() } else { EngineKind::Model };
    let wave = match &args.wave {
        Some(path) => Some(Wave::new(path)?.window(args.from, args.to)?),
        None => None,
    };

    let mut report = Report { format_version: FORMAT_VERSION, runs: Vec::new(), wrong: Vec::new() };
    let mut outcome = Outcome::Done;
    let mut stdout = std::io::stdout().lock();
    for (i, file) in args.files.iter().enumerate() {
        if args.files.len() > 1 {
            progress(&format!("[{}/{}] {file}", i + 1, args.files.len()));
        }
        let stream = Stream::new(&workload::load(file)?)?;
        let options = EngineOptions {
            seed: args.seed,
            wave: wave.clone(),
            replay: Some(format!(
                "{} --seed {} --wave failure.vcd --from {{from}} --to {{to}}",
                replay(file, &args.files),
                args.seed
            )),
        };
        // Before the run: a path that cannot be written must not cost its results.
        let timeline = match &args.timeline {
            Some(path) => Some((path, File::create(path).map_err(|e| format!("{}: {e}", path.display()))?)),
            None => None,
        };
        let mut engine = engine(kind, params, &options)?;
        let result = match simulation.run(&stream, &mut *engine) {
            Ok(result) => result,
            Err(error) if error.is_wrong() => {
                // Wrong, not broken: the other traces are still worth their run.
                eprintln!("wrong: {file}: {error}");
                report.wrong.push(Wrong { trace: stream.name().into(), message: error.to_string() });
                outcome = Outcome::Wrong;
                continue;
            }
            Err(error) => return Err(format!("{file}: {error}").into()),
        };
        if let Some((path, file)) = timeline {
            let named = |e: std::io::Error| format!("{}: {e}", path.display());
            let mut out = BufWriter::new(file);
            timeline::write(&mut out, &stream, simulation.profile.clock_mhz, &result.recordings)
                .map_err(named)?;
            out.flush().map_err(named)?;
        }
        if args.json {
            report.runs.push(result.report);
        } else {
            writeln!(stdout, "{}", result.report.table())?;
        }
    }
    if args.json {
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    }
    Ok(outcome)
}

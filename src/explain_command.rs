//! `windlass trace explain`: why kernels of a stream waited.

use crate::output_file::OutputFile;
use crate::{Failure, Outcome, gpu, options, workload};
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use windlass_runtime::explain::{Explanation, History, Options, dot, explain};

/// Arguments of `windlass trace explain`.
#[derive(Args)]
pub struct ExplainArgs {
    /// Trace: a .ktrace.jsonl file, plain or zstd; `-` for stdin; or a built-in one
    #[arg(default_value = workload::BUILT_IN)]
    file: String,
    /// Index of the kernel in its run, from 0; can be given several times
    #[arg(long, value_name = "N", required = true)]
    kernel: Vec<u64>,
    /// Number of the run, of several the first that has kernels [default: the first run]
    #[arg(long, value_name = "N")]
    run: Option<u64>,
    /// SMs of the GPU, if no durations were measured [default: those that the trace names, else those of the GPU that it names, else
    /// 46]
    #[arg(long, value_name = "N", value_parser = options::sms)]
    sms: Option<NonZeroU32>,
    /// List whole chains, and the waits that others imply
    #[arg(long)]
    all: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Print a Graphviz graph instead of text (so does `-`); with =FILE, print the text and write the graph to FILE
    // With `=` only: after a space, the trace itself could be taken for FILE, and overwritten.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    dot: Option<Option<PathBuf>>,
}

const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    format_version: u32,
    trace: &'a str,
    explanations: &'a [Explanation],
}

/// Runs it.
pub fn run(args: &ExplainArgs) -> Result<Outcome, Failure> {
    // The graph is printed, or written to a file.
    let (print_dot, dot_file) = match &args.dot {
        None => (false, None),
        Some(file) => {
            let file = file.as_deref().filter(|path| *path != Path::new(workload::STANDARD));
            (file.is_none(), file)
        }
    };
    if args.json && print_dot {
        return Err("--json and --dot both print to stdout; write --dot=FILE".into());
    }
    let dot_file = dot_file.map(|path| OutputFile::begin(path, "--dot=FILE")).transpose()?;
    let mut trace = workload::load(&args.file)?;
    trace.header.gpu.sms = gpu::sms(&trace.header.gpu);
    let mut options = Options::for_trace(&trace);
    options.sms = args.sms.unwrap_or(options.sms);
    let named = |error| format!("{}: {error}", args.file);
    let history = History::of_run(&trace, args.run).map_err(named)?;
    let explanations = args.kernel.iter().map(|k| explain(&history, *k, &options));
    let explanations = explanations.collect::<Result<Vec<_>, _>>().map_err(named)?;
    if let Some(file) = dot_file {
        file.write(dot(&explanations))?;
    }
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let name = &trace.header.name;
        let report = Report { format_version: FORMAT_VERSION, trace: name, explanations: &explanations };
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    } else if print_dot {
        stdout.write_all(dot(&explanations).as_bytes())?;
    } else {
        for (i, explanation) in explanations.iter().enumerate() {
            let newline = if i > 0 { "\n" } else { "" };
            writeln!(stdout, "{newline}{}, run {}", trace.header.name, explanation.run)?;
            stdout.write_all(explanation.text((!args.all).then_some(Explanation::MOST)).as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}

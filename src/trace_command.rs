//! `windlass trace`: what is in a kernel stream, and how much out-of-order launching could gain.

use crate::{Failure, Outcome, explain_command, workload};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write;
use windlass_runtime::analysis::{SpeedUp, Spread, TraceSummary};
use windlass_runtime::graph::StrictReport;
use windlass_runtime::ktrace::Trace;

/// Arguments of `windlass trace`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct TraceArgs {
    #[command(subcommand)]
    command: Option<TraceCommand>,
    /// Traces (`.ktrace.jsonl`, plain or zstd); built in: brax-v1-ant-b256, mix-pipeline, mix-reduction, mix-fork
    #[arg(default_value = workload::BUILT_IN)]
    files: Vec<String>,
    /// Also say which hazards ACE's Algorithm 1, as printed, would miss
    #[arg(long)]
    strict_algorithm1: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Say why kernels waited: what for, by which bytes, and the chain of waits behind it. A file of this name is ./explain
    Explain(explain_command::ExplainArgs),
}

const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
struct Report {
    format_version: u32,
    traces: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    summary: TraceSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict_algorithm1: Option<Strict>,
}

/// What Algorithm 1 as printed misses.
#[derive(Serialize, Default)]
struct Strict {
    /// Pairs of kernels with a hazard.
    dependencies: usize,
    /// Of these, found by the printed check.
    found: usize,
    /// Missed, and not implied by a chain of found ones: their order is really broken.
    broken: usize,
    /// Classes of the missed ones' hazards.
    missed_by_class: std::collections::BTreeMap<String, usize>,
}

/// Runs it.
pub fn run(args: &TraceArgs) -> Result<Outcome, Failure> {
    if let Some(TraceCommand::Explain(args)) = &args.command {
        return explain_command::run(args);
    }
    let mut stdout = std::io::stdout().lock();
    let mut report = Report { format_version: FORMAT_VERSION, traces: Vec::new() };
    for file in &args.files {
        let trace = workload::load(file)?;
        let summary = TraceSummary::new(&trace)?;
        let strict_algorithm1 = if args.strict_algorithm1 { Some(strict(&trace)?) } else { None };
        report.traces.push(Entry { summary, strict_algorithm1 });
    }
    if args.json {
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    } else {
        for (i, entry) in report.traces.iter().enumerate() {
            if i > 0 {
                writeln!(stdout)?;
            }
            print(&mut stdout, entry)?;
        }
    }
    Ok(Outcome::Done)
}

fn strict(trace: &Trace) -> Result<Strict, Failure> {
    let mut strict = Strict::default();
    for run in &trace.runs {
        for part in run.parts() {
            let report = StrictReport::new(&part)?;
            strict.dependencies += report.exact;
            strict.found += report.found;
            strict.broken += report.broken();
            for hazard in report.missed.iter().flat_map(|missed| &missed.hazards) {
                *strict.missed_by_class.entry(hazard.class.to_string()).or_default() += 1;
            }
        }
    }
    Ok(strict)
}

fn print(out: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    let s = &entry.summary;
    writeln!(out, "{}", s.name)?;
    let types = &s.by_type;
    let spread = |s: &Spread| format!("min {}, median {}, max {}", s.min, s.median, s.max);
    let sms = format!("{}{}", s.sms, if s.sms_assumed { " (assumed)" } else { "" });
    for (name, value) in [
        (
            "kernels",
            format!("{} ({} TENSOR, {} SIMT, {} COPY)", s.kernels, types.tensor, types.simt, types.copy),
        ),
        ("runs, syncs, allocs", format!("{}, {}, {}", s.runs, s.syncs, s.allocs)),
        ("segments per kernel", spread(&s.segments_per_kernel)),
        ("threads per CTA", spread(&s.threads_per_cta)),
        ("CTAs per kernel", spread(&s.ctas_per_kernel)),
        ("bytes, FLOPs", format!("{}, {}", s.bytes, s.flops)),
        (
            "dependencies",
            format!("{} pairs, {} after transitive reduction", s.graph.edges, s.graph.reduced_edges),
        ),
        ("graph", format!("depth {}, width {} kernels", s.graph.depth, s.graph.width)),
    ] {
        writeln!(out, "  {name:<20} {value}")?;
    }
    writeln!(
        out,
        "  bound on speed-up: {sms} SMs with one CTA each, every CTA one unit of time ({} serial)",
        s.serial_units
    )?;
    writeln!(out, "    {:<10} {:>13} {:>10} {:>13}", "window", "all hazards", "RAW only", "last writer")?;
    let row = |out: &mut dyn Write, name: &str, bound: &SpeedUp| {
        writeln!(out, "    {name:<10} {:>13.2} {:>10.2} {:>13.2}", bound.all, bound.raw, bound.flow)
    };
    for bound in &s.window_bounds {
        let name = bound.window.map_or("unlimited".to_string(), |w| w.to_string());
        row(&mut *out, &name, &bound.speed_up)?;
    }
    writeln!(out, "  bound by dependences alone: unlimited SMs and window")?;
    row(&mut *out, "equal", &s.dependence_bound.equal_kernels)?;
    row(
        &mut *out,
        if s.dependence_bound.measured { "measured" } else { "estimated" },
        &s.dependence_bound.own_durations,
    )?;
    if let Some(strict) = &entry.strict_algorithm1 {
        let classes: Vec<String> =
            strict.missed_by_class.iter().map(|(class, count)| format!("{count} {class}")).collect();
        writeln!(
            out,
            "  Algorithm 1 as printed: finds {} of {} dependencies; {} of those it misses are implied by none it finds ({})",
            strict.found,
            strict.dependencies,
            strict.broken,
            if classes.is_empty() {
                "no hazard missed".into()
            } else {
                format!("hazards missed: {}", classes.join(", "))
            }
        )?;
    }
    Ok(())
}

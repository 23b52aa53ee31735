//! `windlass trace`: what is in a kernel stream, and how much out-of-order launching could gain.

use crate::output_file::OutputFile;
use crate::progress::slow_progress;
use crate::{Failure, Outcome, explain_command, gpu, options, renaming_figure, workload};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use windlass_gen::table::counted;
use windlass_runtime::analysis::{SpeedUp, Spread, TraceSummary, window_speed_ups};
use windlass_runtime::graph::StrictReport;
use windlass_runtime::ktrace::Trace;
use windlass_runtime::rename::{Budget, RenameReport, rename};

/// Arguments of `windlass trace`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct TraceArgs {
    #[command(subcommand)]
    command: Option<TraceCommand>,
    /// Traces: .ktrace.jsonl files, plain or zstd; `-` for stdin; or built-in ones: brax-v1-ant-b256, mix-pipeline, mix-reduction,
    /// mix-fork
    #[arg(default_value = workload::BUILT_IN)]
    files: Vec<String>,
    /// SMs of the GPU that the bounds are for [default: those that the trace names, else those of the GPU that it names, else 46]
    #[arg(long, value_name = "N", value_parser = options::sms)]
    sms: Option<NonZeroU32>,
    /// Also report which hazards ACE's Algorithm 1, as printed, would miss
    #[arg(long)]
    strict_algorithm1: bool,
    /// Also report the bounds after renaming: versions of memory that do not depend on each other get memory of their own. Each of the
    /// BUDGETS, separated by commas, limits the additional memory: bytes (0, 512K, 64M, 2G), a multiple of the program's own temporary
    /// memory (1.5x), or `unlimited`
    #[arg(long, value_delimiter = ',', value_name = "BUDGETS")]
    rename: Vec<Budget>,
    /// Draw the bound at 32 slots over the budgets of --rename, a panel per trace: FILE.svg
    #[arg(long, value_name = "FILE", requires = "rename", value_parser = options::output())]
    figure: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Explain why kernels waited: for which kernels, because of which bytes, and the chain of waits behind that. Write ./explain for a
    /// file of this name
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
    /// One for each budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    renaming: Vec<Renaming>,
}

/// A trace once renamed.
#[derive(Serialize)]
struct Renaming {
    #[serde(flatten)]
    report: RenameReport,
    /// Machine-limited bounds with all hazards that are left.
    window_bounds: Vec<RenamedBound>,
}

#[derive(Serialize)]
struct RenamedBound {
    /// Slots, null for unlimited.
    window: Option<u32>,
    speed_up: f64,
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
    if let Some(path) = args.figure.as_ref().filter(|path| path.extension().is_some_and(|e| e != "svg")) {
        return Err(
            format!("--figure {}: the figure is written as SVG; choose FILE.svg", path.display()).into()
        );
    }
    let figure = args.figure.as_deref().map(|path| OutputFile::begin(path, "--figure")).transpose()?;
    let mut stdout = std::io::stdout().lock();
    let mut report = Report { format_version: FORMAT_VERSION, traces: Vec::new() };
    for file in &args.files {
        slow_progress(&format!("{file}: reading"));
        let mut trace = workload::load(file)?;
        trace.header.gpu.sms = args.sms.map(NonZeroU32::get).or_else(|| gpu::sms(&trace.header.gpu));
        let at = |what: &str| slow_progress(&format!("{file}: {what}"));
        let summary = TraceSummary::with_progress(&trace, &at)?;
        let strict_algorithm1 = if args.strict_algorithm1 {
            at("Algorithm 1 as printed");
            Some(strict(&trace)?)
        } else {
            None
        };
        let renaming = args.rename.iter().map(|budget| {
            at(&format!("renaming, budget {budget}"));
            renaming(&trace, &summary, *budget)
        });
        let renaming = renaming.collect::<Result<_, _>>()?;
        report.traces.push(Entry { summary, strict_algorithm1, renaming });
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
    if let Some(figure) = figure {
        let panels: Vec<_> = report.traces.iter().map(panel).collect();
        figure.write(renaming_figure::svg(&panels))?;
    }
    Ok(Outcome::Done)
}

fn renaming(trace: &Trace, summary: &TraceSummary, budget: Budget) -> Result<Renaming, Failure> {
    let renamed = rename(trace, budget);
    let windows = summary.window_bounds.iter().map(|bound| bound.window);
    let bounds = windows.zip(window_speed_ups(&renamed.trace)?);
    let window_bounds = bounds.map(|(window, speed_up)| RenamedBound { window, speed_up }).collect();
    Ok(Renaming { report: renamed.report, window_bounds })
}

/// The panel of a trace in the figure.
fn panel(entry: &Entry) -> renaming_figure::Panel {
    const WINDOW: Option<u32> = Some(32);
    let bounds = entry.summary.window_bounds.iter();
    let limits = bounds.filter(|b| b.window == WINDOW).map(|b| (b.speed_up.all, b.speed_up.flow)).next();
    let point = |renaming: &Renaming| {
        let bound = renaming.window_bounds.iter().find(|b| b.window == WINDOW)?;
        Some((renaming.report.budget.clone(), bound.speed_up))
    };
    renaming_figure::Panel {
        title: entry.summary.name.clone(),
        limits: limits.unwrap_or((1.0, 1.0)),
        points: entry.renaming.iter().filter_map(point).collect(),
    }
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
    let assumed = if s.sms_assumed { " (assumed)" } else { "" };
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
            format!(
                "{}, {} after transitive reduction",
                counted(s.graph.edges, "pair"),
                s.graph.reduced_edges
            ),
        ),
        ("graph", format!("depth {}, width {}", s.graph.depth, counted(s.graph.width, "kernel"))),
    ] {
        writeln!(out, "  {name:<20} {value}")?;
    }
    writeln!(
        out,
        "  bound on speed-up in a simple model, which GPUs and `cosim` can exceed: {}{assumed} SM{} with one CTA each, every CTA one unit of time ({} serial)",
        s.sms,
        if s.sms == 1 { "" } else { "s" },
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
    writeln!(out, "  bound by dependences alone, in the same model: unlimited SMs and window")?;
    row(&mut *out, "equal", &s.dependence_bound.equal_kernels)?;
    row(
        &mut *out,
        if s.dependence_bound.measured { "measured" } else { "estimated" },
        &s.dependence_bound.own_durations,
    )?;
    print_renaming(&mut *out, entry)?;
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

/// What was renamed, and the bounds with it, budget by budget; above and below, what there is without and at most.
fn print_renaming(out: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    let Some(Renaming { report, .. }) = entry.renaming.first() else { return Ok(()) };
    writeln!(
        out,
        "  renaming, looking ahead to the end of a run: {}; temporary memory {}",
        counted(report.versions, "version"),
        counted(report.temporary_bytes, "byte")
    )?;
    let windows = entry.summary.window_bounds.iter();
    let bounds = |all: &mut dyn Iterator<Item = f64>| all.map(|b| format!("{b:>6.2}")).collect::<String>();
    let names: String =
        windows.clone().map(|b| format!("{:>6}", b.window.map_or("inf".into(), |w| w.to_string()))).collect();
    writeln!(
        out,
        "    {:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>13} {:>6} {names}",
        "budget", "renamed", "visible", "unwritten", "unneeded", "refused", "peak [bytes]", "peak"
    )?;
    let bare = |out: &mut dyn Write, name: &str, all: &mut dyn Iterator<Item = f64>| {
        writeln!(out, "    {name:<12} {:>66} {}", "", bounds(all))
    };
    bare(&mut *out, "all hazards", &mut windows.clone().map(|b| b.speed_up.all))?;
    for Renaming { report: r, window_bounds } in &entry.renaming {
        let factor = match r.temporary_bytes {
            0 => "-".into(),
            bytes => format!("{:.2}x", r.peak_bytes as f64 / bytes as f64),
        };
        writeln!(
            out,
            "    {:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>13} {factor:>6} {}",
            r.budget,
            r.renamed,
            r.visible,
            r.unwritten,
            r.unneeded,
            r.refused,
            r.peak_bytes,
            bounds(&mut window_bounds.iter().map(|b| b.speed_up))
        )?;
    }
    bare(&mut *out, "last writer", &mut windows.clone().map(|b| b.speed_up.flow))
}

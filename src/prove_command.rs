//! `windlass prove`: what a block promises, shown to hold.

use crate::options::{BlockArgs, HARDWARE, ResetArg, RtlArgs};
use crate::output_file::OutputFile;
use crate::{Failure, Outcome, options};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use windlass_catalog::BlockSpec;
use windlass_gen::output;
use windlass_gen::prove::{
    self, BothWindows, NoInduction, ProofReport, PropertyResult, ProveOptions, SolverKind, Trace, Verdict,
};
use windlass_gen::table::counted;

/// Cycles in which [`BothWindows`] reaches every state that matters with 4 slots.
const BOTH_DEPTH: usize = 17;

/// Arguments of `windlass prove`.
#[derive(Args)]
#[command(mut_args(options::of_small_block))]
pub struct ProveArgs {
    #[command(flatten)]
    block: BlockArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// Put a kernel_scheduler beside the same one with the other window, and ask whether both run the same kernels apart from latency
    #[arg(long, conflicts_with = "rtl")]
    both_windows: bool,
    /// How registers take the reset, `rst_ni`
    #[arg(help_heading = HARDWARE, long, value_enum, default_value_t = ResetArg::Sync, value_name = "KIND", conflicts_with_all = ["both_windows", "rtl"])]
    reset: ResetArg,
    /// Cycles after a reset that are checked if no induction shows that nothing ever fails, 1 to 10000 [default: 8; with --both-windows: 17]
    #[arg(long, value_name = "CYCLES", value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    depth: Option<usize>,
    /// Prove for --depth cycles only, not for all time
    #[arg(long)]
    bounded: bool,
    /// Ask nothing more once a property fails
    #[arg(long, conflicts_with = "both_windows")]
    first: bool,
    /// Cycles in which the states that matter are searched for, 0 to 10000; 0: no search
    #[arg(long, value_name = "CYCLES", default_value_t = ProveOptions::default().covers, value_parser = RangedU64ValueParser::<usize>::new().range(0..=10_000))]
    covers: usize,
    /// Most seconds for each question to the solver
    #[arg(long, value_name = "SECONDS", default_value_t = ProveOptions::default().limit.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Solver [default: the one that is known to be quicker for the block]
    #[arg(long, value_enum)]
    solver: Option<SolverArg>,
    /// Solvers that share the questions of an induction, 1 to 64 [default: one per processor, at most 4]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: Option<u32>,
    /// Write the waveform of the first property that fails
    #[arg(long, value_name = "FILE.vcd", value_parser = options::output())]
    vcd: Option<PathBuf>,
    /// Prove nothing, but write design, properties, lemmas and harness for other tools, with a prove.sby for SymbiYosys
    #[arg(long, value_name = "DIR", conflicts_with_all = ["both_windows", "rtl", "vcd", "solver", "limit", "jobs"], value_parser = options::output())]
    write: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// `--solver`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SolverArg {
    /// Quicker for questions about sums
    Yices,
    /// Quicker for questions about one of many places
    Bitwuzla,
}

impl From<SolverArg> for SolverKind {
    fn from(arg: SolverArg) -> Self {
        match arg {
            SolverArg::Yices => Self::Yices,
            SolverArg::Bitwuzla => Self::Bitwuzla,
        }
    }
}

/// Those of this machine: each solver learns by itself what the others know, so that many are not much quicker than a few.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

/// Runs it: status 1 where something does not hold, or was not shown.
pub fn run(args: &ProveArgs) -> Result<Outcome, Failure> {
    let mut stdout = std::io::stdout().lock();
    let small = |block: &BlockArgs| block.small_spec(if args.both_windows { 4 } else { 8 });
    let (spec, rtl) = match args.rtl.rtl {
        Some(_) => args.block.with_rtl(&args.rtl, small).map(|(spec, rtl)| (spec, Some(rtl)))?,
        None => (small(&args.block)?, None),
    };
    let options = ProveOptions {
        depth: args.depth.unwrap_or(if args.both_windows {
            BOTH_DEPTH
        } else {
            ProveOptions::default().depth
        }),
        unbounded: !args.bounded,
        go_on: !args.first,
        covers: args.covers,
        limit: Duration::from_secs(args.limit),
        solver: args.solver.map(SolverKind::from),
        jobs: args.jobs.map_or_else(processors, |jobs| jobs as usize),
        reset: args.reset.into(),
    };
    if let Some(directory) = &args.write {
        let written = output::write_files(&prove::files(spec, &options)?, directory)
            .map_err(|e| format!("{e} (option --write)"))?;
        let files: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        if args.json {
            let object = serde_json::json!({"format_version": prove::FORMAT_VERSION, "files": files});
            writeln!(stdout, "{object}")?;
        } else {
            writeln!(stdout, "{}", files.join("\n"))?;
        }
        return Ok(Outcome::Done);
    }
    let vcd = args.vcd.as_deref().map(|path| OutputFile::begin(path, "--vcd")).transpose()?;
    let started = Instant::now();
    let report = match (&rtl, args.both_windows, spec) {
        (Some(rtl), _, _) => prove::prove_rtl(spec, rtl, &options)?,
        (None, false, _) => prove::prove(spec, &options)?,
        (None, true, BlockSpec::KernelScheduler(params)) => BothWindows::new(params)?.prove(&options)?,
        (None, true, _) => {
            return Err(
                "--both-windows needs --block kernel_scheduler: only its ports are the same with both windows".into()
            );
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        writeln!(stdout, "{}", serde_json::to_string(&report)?)?;
    } else {
        print(&mut stdout, &report)?;
        eprintln!("{}; {}; {seconds:.1} s", report.yosys, report.solver);
    }
    if let (Some(file), Some((_, trace))) = (vcd, failure(&report)) {
        file.write(trace.vcd(&report.top))?;
    }
    Ok(if report.is_good() { Outcome::Done } else { Outcome::Wrong })
}

/// For people.
fn print(stdout: &mut impl Write, report: &ProofReport) -> std::io::Result<()> {
    let proved = report.count(|v| *v == Verdict::Proved);
    let reached = report.count(|v| matches!(v, Verdict::Reached { .. }));
    let how = match report.induction {
        Some(back) => format!(
            "{} for all time (induction over {}, {})",
            hold(proved),
            counted(back, "cycle"),
            counted(report.lemmas.0, "lemma")
        ),
        None => {
            format!("{} for some cycles", hold(report.count(|v| matches!(v, Verdict::Bounded { .. }))))
        }
    };
    let reached = match reached {
        1 => "1 state that matters is reached".into(),
        more => format!("{more} states that matter are reached"),
    };
    let fails = match report.count(|v| matches!(v, Verdict::Fails { .. })) {
        0 => String::new(),
        1 => "; 1 fails".into(),
        more => format!("; {more} fail"),
    };
    writeln!(stdout, "{}: {how}{fails}; {reached}", report.top)?;
    let shown: Vec<&PropertyResult> = report.properties.iter().chain(&report.failed_lemmas).collect();
    if let Some(why) = &report.no_induction {
        let (why, names) = match why {
            NoInduction::Missing(names) => ("are about registers that this Verilog does not have", names),
            NoInduction::Lemmas(names) => ("do not hold of this Verilog", names),
        };
        let (some, more) = names.split_at(names.len().min(3));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        writeln!(stdout, "  no induction, because its lemmas {why}: {}{more}", some.join(", "))?;
    }
    let name = shown.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let verdict = shown.iter().map(|p| words(&p.verdict).len()).max().unwrap_or(0);
    for property in shown {
        let line = format!(
            "  {:<name$}  {:<verdict$}  {}",
            property.name,
            words(&property.verdict),
            property.reason
        );
        writeln!(stdout, "{}", line.trim_end())?;
    }
    if let Some((property, trace)) = failure(report) {
        writeln!(stdout, "\n{} {}:\n{}", property.name, words(&property.verdict), trace.table())?;
    }
    Ok(())
}

/// The first property that fails, with the cycles that show it.
fn failure(report: &ProofReport) -> Option<(&PropertyResult, &Trace)> {
    report.properties.iter().chain(&report.failed_lemmas).find_map(|p| Some((p, trace(p)?)))
}

fn trace(property: &PropertyResult) -> Option<&Trace> {
    match &property.verdict {
        Verdict::Fails { trace } | Verdict::NotInductive { trace, .. } => Some(trace),
        _ => None,
    }
}

fn hold(properties: usize) -> String {
    match properties {
        1 => "1 property holds".into(),
        more => format!("{more} properties hold"),
    }
}

fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Proved => "proved".into(),
        Verdict::Bounded { cycles } => format!("holds for {}", counted(*cycles, "cycle")),
        Verdict::Fails { trace } => format!("FAILS in cycle {}", trace.cycles().saturating_sub(1)),
        Verdict::NotInductive { cycles, .. } => format!("NOT SHOWN beyond {}", counted(*cycles, "cycle")),
        Verdict::Unknown { cycles } => format!("NOT ANSWERED beyond {}", counted(*cycles, "cycle")),
        Verdict::Reached { cycle } => format!("reached in cycle {cycle}"),
        Verdict::NotReached { cycles } => format!("NOT REACHED in {}", counted(*cycles, "cycle")),
    }
}

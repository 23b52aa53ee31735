//! `windlass mutate`: does the bench of a block notice faults?

use crate::options::{BlockArgs, RtlArgs};
use crate::{Failure, Outcome};
use clap::Args;
use std::io::Write;
use std::time::{Duration, Instant};
use windlass_cosim::block_stimulus::{far_stimulus, stimulus};
use windlass_cosim::mutate::{self, BenchRun, MutateOptions, MutateReport, Progress, mutate};
use windlass_gen::mutate::MutantOptions;
use windlass_gen::table::counted;

/// Version of the JSON object.
const FORMAT_VERSION: u32 = 3;

/// Arguments of `windlass mutate`.
#[derive(Args)]
pub struct MutateArgs {
    #[command(flatten)]
    block: BlockArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// Number of mutants, 1 to 100000; fewer if the design has fewer
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    mutants: u32,
    /// Seed of the choice of mutants, and of the stimulus
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u32,
    /// Cycles of the bench, 3 or more
    #[arg(long, default_value_t = 100_000, value_name = "C", value_parser = clap::value_parser!(u64).range(3..))]
    cycles: u64,
    /// Cycles of a second run, with another stimulus, for mutants that the first run does not notice; 0: no second run
    #[arg(long, default_value_t = 0, value_name = "C")]
    again: u64,
    /// Seconds of proving for each mutant that the bench does not notice; 0: none
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    prove: u64,
    /// Mutants that run at the same time [default: one per processor]
    #[arg(long, value_name = "J", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(args: &MutateArgs) -> Result<Outcome, Failure> {
    let (spec, rtl) = args.block.with_rtl(&args.rtl, BlockArgs::spec)?;
    let default = MutateOptions::default();
    let options = MutateOptions {
        mutants: MutantOptions { count: args.mutants as usize, seed: args.seed, ..MutantOptions::default() },
        prove: (args.prove > 0).then(|| Duration::from_secs(args.prove)),
        jobs: args.jobs.map_or(default.jobs, |jobs| jobs as usize),
    };
    let started = Instant::now();
    let seconds = || started.elapsed().as_secs_f64();
    let seed = u64::from(args.seed);
    let mut runs = vec![BenchRun { stimulus: stimulus(spec, seed), cycles: args.cycles }];
    if args.again > 0 {
        runs.push(BenchRun { stimulus: far_stimulus(spec, seed + 1), cycles: args.again });
    }
    let report = mutate(spec, &rtl, runs, &options, &mut |progress| match progress {
        Progress::Made(mutants) => eprintln!("{:.1} s: {}, compiling", seconds(), counted(mutants, "mutant")),
        Progress::Recorded(cycles) => eprintln!("{:.1} s: {} recorded", seconds(), counted(cycles, "cycle")),
        Progress::Proving(mutants) => eprintln!("{:.1} s: {mutants} were not noticed", seconds()),
    })?;
    let survived = report.survivors().count();
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let mut object = serde_json::json!({
            "format_version": FORMAT_VERSION,
            "caught": report.caught(),
            "equivalent": report.equivalent(),
            "excluded": report.excluded(),
            "late": report.late(),
            "unreachable": report.unreachable(),
            "survived": survived,
            "score_percent": report.score(),
            "seconds": seconds(),
        });
        if let (Some(to), serde_json::Value::Object(from)) =
            (object.as_object_mut(), serde_json::to_value(&report)?)
        {
            to.extend(from);
        }
        writeln!(stdout, "{object}")?;
    } else {
        print(&mut stdout, &report, seconds())?;
    }
    Ok(if survived == 0 { Outcome::Done } else { Outcome::Wrong })
}

/// For people.
fn print(stdout: &mut impl Write, report: &MutateReport, seconds: f64) -> std::io::Result<()> {
    writeln!(
        stdout,
        "{}: {} under {} cycles, {:.0} s",
        report.top,
        counted(report.mutants.len(), "mutant"),
        report.cycles.iter().map(u64::to_string).collect::<Vec<_>>().join(" + "),
        seconds
    )?;
    writeln!(stdout, "  {:>5} caught", report.caught())?;
    writeln!(stdout, "  {:>5} equivalent: proved to be no fault", report.equivalent())?;
    writeln!(
        stdout,
        "  {:>5} excluded: proved to show with no inputs that the block's page allows",
        report.excluded()
    )?;
    writeln!(stdout, "  {:>5} late: proved to show only when a counter has come far", report.late())?;
    writeln!(
        stdout,
        "  {:>5} unreachable: proved to show in no state that the block can reach",
        report.unreachable()
    )?;
    writeln!(stdout, "  {:>5} survived", report.survivors().count())?;
    writeln!(
        stdout,
        "score {:.1} % (caught of the others); seed {}, {}",
        report.score(),
        report.seed,
        report.yosys
    )?;
    for failure in &report.failures {
        writeln!(stdout, "\nthe prover failed, so what it was asked is not proved: {failure}")?;
    }
    for tried in report.survivors() {
        write!(stdout, "\nsurvived: {}", tried.mutant)?;
        match &tried.outcome {
            mutate::Outcome::Different { counterexample } => {
                let text = counterexample.to_string().replace('\n', "\n    ");
                writeln!(
                    stdout,
                    "\n  inputs that show it, within the rules that are written for the block:\n    {text}"
                )?;
            }
            mutate::Outcome::Held => {
                writeln!(stdout, "\n  nothing shows it while the input bits below stay as they are")?
            }
            _ => writeln!(stdout, "\n  neither a proof nor inputs that show it were found")?,
        }
    }
    if report.survivors().next().is_some() && !report.held.is_empty() {
        let held: Vec<String> =
            report.held.iter().map(|(bit, value)| format!("{bit}={}", u8::from(*value))).collect();
        writeln!(stdout, "\ninput bits that the bench never moves: {}", held.join(" "))?;
    }
    Ok(())
}

//! `windlass cover`: what of a block's Verilog does its bench reach?

use crate::options::{BlockArgs, RtlArgs};
use crate::{Failure, Outcome, options};
use clap::Args;
use std::io::Write;
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::cover::{Hole, Tally, cover, cover_alone};
use windlass_gen::table::counted;

/// Version of the JSON object.
const FORMAT_VERSION: u32 = 1;

/// Arguments of `windlass cover`.
#[derive(Args)]
pub struct CoverArgs {
    #[command(flatten)]
    block: BlockArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// With --rtl: do not compare with the golden model; the bench follows the design's own outputs
    #[arg(help_heading = options::HARDWARE, long, requires = "rtl")]
    alone: bool,
    /// Seed of the stimulus
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u32,
    /// Cycles of the bench, 3 or more
    #[arg(long, default_value_t = 100_000, value_name = "C", value_parser = clap::value_parser!(u64).range(3..))]
    cycles: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(args: &CoverArgs) -> Result<Outcome, Failure> {
    let (spec, rtl) = args.block.with_rtl(&args.rtl, BlockArgs::spec)?;
    let measure = if args.alone { cover_alone } else { cover };
    let report = measure(spec, &rtl, &mut *stimulus(spec, args.seed.into()), args.cycles)?;
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let mut object = serde_json::to_value(&report)?;
        for (name, value) in [
            ("format_version", FORMAT_VERSION.into()),
            ("line_percent", report.lines.percent().into()),
            ("toggle_percent", report.toggles.percent().into()),
        ] {
            object[name] = value;
        }
        writeln!(stdout, "{object}")?;
        return Ok(Outcome::Done);
    }
    writeln!(stdout, "{}: {}, seed {}", report.top, counted(report.cycles, "cycle"), report.seed)?;
    let mut part = |name: &str, tally: Tally, holes: &[Hole]| -> std::io::Result<()> {
        let Tally { reached, total } = tally;
        writeln!(stdout, "{name} {:.1} % ({reached} of {total})", tally.percent())?;
        holes.iter().try_for_each(|Hole { file, line, what }| writeln!(stdout, "  {file}:{line} {what}"))
    };
    part("lines  ", report.lines, &report.line_holes)?;
    part("toggles", report.toggles, &report.toggle_holes)?;
    Ok(Outcome::Done)
}

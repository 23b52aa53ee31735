//! `windlass lockstep`: does a block's Verilog do what its golden model does?

use crate::options::{BlockArgs, RtlArgs};
use crate::{Failure, Outcome, command_line, options};
use clap::Args;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::engine::{comparable, library_of};
use windlass_cosim::lockstep::{Difference, Lockstep, LockstepError, Summary};
use windlass_cosim::stimulus::Stimulus;
use windlass_cosim::verilator::{InstanceOptions, Optimise};
use windlass_cosim::wave::Wave;
use windlass_gen::table::counted;

/// Version of the JSON object.
const FORMAT_VERSION: u32 = 1;

/// Cycles from which on it is worth to compile for longer.
const LONG: u64 = 1_000_000;

/// Arguments of `windlass lockstep`.
#[derive(Args)]
pub struct LockstepArgs {
    #[command(flatten)]
    block: BlockArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// With --rtl: do not compare with the golden model, only keep the bench's books: what is begun ends, once, and nothing else
    #[arg(help_heading = options::HARDWARE, long, requires = "rtl")]
    alone: bool,
    /// Seed of the stimulus, and of the state that the design does not initialise
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Cycles of random inputs, 3 or more; then everything that was begun is let end
    #[arg(long, default_value_t = 100_000, value_name = "C", value_parser = clap::value_parser!(u64).range(3..))]
    cycles: u64,
    /// Write a waveform of the Verilog to FILE.vcd or FILE.fst
    #[arg(long, value_name = "FILE", value_parser = options::output())]
    wave: Option<PathBuf>,
    /// First cycle of the waveform
    #[arg(long, default_value_t = 0, requires = "wave", value_name = "CYCLE")]
    from: u64,
    /// Cycle before which the waveform ends [default: the end of the run]
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true, requires = "wave", value_name = "CYCLE")]
    to: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What a replay sets itself, or does not need.
const SET_BY_REPLAY: [&str; 6] = ["--seed", "--cycles", "--wave", "--from", "--to", "--json"];

/// Runs it: status 1 where they differ.
pub fn run(args: &LockstepArgs) -> Result<Outcome, Failure> {
    let (spec, rtl) = args.block.with_rtl(&args.rtl, BlockArgs::spec)?;
    let mut stimulus = stimulus(spec, args.seed);
    if !args.alone {
        comparable(&rtl)?;
    } else if !stimulus.keeps_books() {
        return Err(format!(
            "--alone: the bench of a {} knows nothing to be wrong without the golden model; leave --alone out, or choose `windlass prove --rtl` or `windlass cover --rtl --alone`",
            spec.name()
        )
        .into());
    }
    let wave = match &args.wave {
        Some(path) => Some(Wave::new(path)?.window(args.from, args.to)?),
        None => None,
    };
    let optimise = if args.cycles < LONG { Optimise::Tests } else { Optimise::Long };
    let library = library_of(&rtl, |build| build.optimise(optimise).trace(wave.as_ref().map(Wave::format)))?;
    let verilog = library.instance(InstanceOptions { seed: args.seed, wave: wave.clone() })?;
    let lockstep = match args.alone {
        true => Lockstep::alone("verilog", Box::new(verilog)),
        false => Lockstep::new(vec![("model".into(), spec.model()), ("verilog".into(), Box::new(verilog))])?,
    };
    let mut lockstep = lockstep.replay(format!(
        "{} --seed {{seed}} --cycles {{cycles}} --wave failure.vcd --from {{from}} --to {{to}}",
        command_line::without(&SET_BY_REPLAY)
    ));
    let ran = compare(&mut lockstep, &mut *stimulus, args.cycles);
    // Before its failure can be known, the waveform must be whole.
    drop(lockstep);
    let wrong = match &ran {
        Ok(_) => None,
        Err(
            error @ (LockstepError::TooFew { .. }
            | LockstepError::Ports { .. }
            | LockstepError::NothingCompared { .. }),
        ) => {
            return Err(error.clone().into());
        }
        Err(error) => Some(error.to_string()),
    };
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let object = serde_json::json!({
            "format_version": FORMAT_VERSION,
            "block": spec.name(),
            "top": rtl.top,
            "verilator": library.verilator_version(),
            "seed": args.seed,
            "cycles": ran.as_ref().ok().map(|summary| summary.cycles),
            "compared": ran.as_ref().ok().map(|summary| if args.alone { 0 } else { summary.compared }),
            "wrong": wrong,
            "difference": ran.as_ref().err().and_then(difference),
        });
        writeln!(stdout, "{object}")?;
    } else if let Ok(Summary { cycles, compared }) = ran {
        let (top, block, seed) = (&rtl.top, spec.name(), args.seed);
        let cycles = counted(cycles, "cycle");
        if args.alone {
            writeln!(
                stdout,
                "{top}: alone under the bench of {block}, its books balance in {cycles}, seed {seed}"
            )?;
        } else {
            writeln!(
                stdout,
                "{top}: no difference from the golden model of {block} in {cycles}, {compared} of them compared, seed {seed}"
            )?;
        }
    }
    if let Some(wrong) = &wrong {
        eprintln!("wrong: {}: {wrong}", rtl.top);
    }
    match (wave.as_ref().and_then(Wave::failure), wrong) {
        (Some(failure), Some(_)) => eprintln!("warning: {failure}"),
        (Some(failure), None) => return Err(failure.clone().into()),
        (None, Some(_)) => {}
        (None, None) => return Ok(Outcome::Done),
    }
    Ok(Outcome::Wrong)
}

/// Where the models differ, for scripts.
fn difference(error: &LockstepError) -> Option<serde_json::Value> {
    let LockstepError::Difference(difference) = error else { return None };
    let Difference { cycle, port, values, also, failure } = &**difference;
    let values: BTreeMap<&str, &str> =
        values.iter().map(|(who, value)| (who.as_str(), value.as_str())).collect();
    Some(serde_json::json!({
        "cycle": cycle, "port": port, "values": values, "also": also, "replay": failure.replay,
    }))
}

fn compare(
    lockstep: &mut Lockstep,
    stimulus: &mut dyn Stimulus,
    cycles: u64,
) -> Result<Summary, LockstepError> {
    lockstep.run(stimulus, cycles)?;
    lockstep.finish(stimulus)
}

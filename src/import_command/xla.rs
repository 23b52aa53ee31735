//! `windlass import xla`.

use super::Destination;
use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_import::xla::{Options, import};

/// Arguments of `windlass import xla`.
#[derive(Args)]
pub struct XlaArgs {
    /// Directory that XLA_FLAGS=--xla_dump_to=DIR named
    dir: PathBuf,
    #[command(flatten)]
    to: Destination,
    /// Module, such as jit_step or module_0012 [default: the one with the longest thunk sequence]
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// GPU that the module was compiled for, such as rtx3070 [default: what the dump says]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Rounds of each loop whose number of rounds is not known; without it, such a loop is an error
    #[arg(long, value_name = "N")]
    trip_count: Option<u64>,
    /// Most rounds of a loop whose number of rounds is known
    #[arg(long, value_name = "N")]
    max_trip_count: Option<u64>,
}

/// Runs it.
pub fn run(args: &XlaArgs) -> Result<Outcome, Failure> {
    let options = Options {
        module: args.module.clone(),
        name: args.to.name(),
        gpu: args.gpu.clone(),
        trip_count: args.trip_count,
        max_trip_count: args.max_trip_count,
    };
    let imported = import(&args.dir, &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.dir, &args.to)
}

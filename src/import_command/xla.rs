//! `windlass import xla`.

use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_import::xla::{Options, import};

/// Arguments of `windlass import xla`.
#[derive(Args)]
pub struct XlaArgs {
    /// The directory that XLA_FLAGS=--xla_dump_to=DIR named
    dir: PathBuf,
    /// Where to write, compressed if it ends in .zst; without it, or with `-`, stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The module, such as jit_step or module_0012 [default: the one with the longest thunk sequence]
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// The trace's name [default: that of --out, or else the module's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The GPU that it was compiled for, such as rtx3070 [default: what the dump says]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Rounds of loops that end when their condition says; without it, such a loop is an error
    #[arg(long, value_name = "N")]
    trip_count: Option<u64>,
    /// The most rounds of a loop whose number of rounds is known
    #[arg(long, value_name = "N")]
    max_trip_count: Option<u64>,
}

/// Runs it.
pub fn run(args: &XlaArgs) -> Result<Outcome, Failure> {
    let options = Options {
        module: args.module.clone(),
        name: args.name.clone().or_else(|| super::stem(args.out.as_deref()?)),
        gpu: args.gpu.clone(),
        trip_count: args.trip_count,
        max_trip_count: args.max_trip_count,
    };
    let imported = import(&args.dir, &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.dir, args.out.as_deref())
}

//! `windlass import accel-sim`.

use super::Destination;
use crate::progress::slow_progress;
use crate::{Failure, Outcome};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;
use windlass_import::accelsim::{Options, SEGMENTS, import};

/// Arguments of `windlass import accel-sim`.
#[derive(Args)]
pub struct AccelsimArgs {
    /// Folder with the tracer's kernelslist.g, or that file
    traces: PathBuf,
    #[command(flatten)]
    to: Destination,
    /// Device profile of the GPU that the trace is for, which the tracer does not record [default: none]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Segments that a kernel has at most of what it reads, and of what it writes; where it touches more ranges, those that lie closest
    /// together become one
    #[arg(long, value_name = "N", default_value_t = SEGMENTS, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    segments: usize,
}

/// Runs it.
pub fn run(args: &AccelsimArgs) -> Result<Outcome, Failure> {
    let options =
        Options { name: args.to.name(), gpu: super::gpu(args.gpu.as_deref())?, segments: args.segments };
    let progress = |done: usize, all: usize| {
        let twentieth = |n: usize| n * 20 / all;
        if twentieth(done) > twentieth(done - 1) {
            slow_progress(&format!("{done} of {all} kernels are read"));
        }
    };
    slow_progress(&format!("{}: reading", args.traces.display()));
    let imported = import(&args.traces, &options, &progress)?;
    super::deliver(&imported.trace, &imported.warnings, &args.traces, &args.to)
}

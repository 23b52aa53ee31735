//! `windlass mix`: a synthetic stream of SIMT and TENSOR kernels, as a ktrace.

use crate::workload::deliver;
use crate::{Failure, Outcome};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use windlass_runtime::mix::{Mix, Shape};

/// The data flow within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShapeArg {
    /// GEMM and elementwise stages in turn
    Pipeline,
    /// GEMMs over slices of K, and a tree of SIMT kernels that adds up their results
    Reduction,
    /// A GEMM whose result a SIMT kernel and a second GEMM read
    Fork,
}

impl From<ShapeArg> for Shape {
    fn from(arg: ShapeArg) -> Self {
        match arg {
            ShapeArg::Pipeline => Self::Pipeline,
            ShapeArg::Reduction => Self::Reduction,
            ShapeArg::Fork => Self::Fork,
        }
    }
}

/// Arguments of `windlass mix`.
#[derive(Args)]
pub struct MixArgs {
    /// Data flow within a tile
    #[arg(value_enum)]
    shape: ShapeArg,
    /// Stages of a pipeline, levels of a reduction's tree, or forks in a row [default: 6 for a pipeline, 3 for a reduction, 1 for
    /// forks]
    #[arg(long, value_name = "N")]
    stages: Option<u32>,
    /// Number of independent tiles [default: 8 for a pipeline, 4 for a reduction, 16 for forks]
    #[arg(long, value_name = "N")]
    tiles: Option<u32>,
    /// CTAs of each GEMM, a multiple of 4 from 4 to 16384 [default: 128]
    #[arg(long, value_name = "N")]
    ctas: Option<u32>,
    /// Write to FILE, compressed if it ends in .zst [default: stdout, which `-` also means]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs it.
pub fn run(args: &MixArgs) -> Result<Outcome, Failure> {
    let default = Mix::new(args.shape.into());
    let mix = Mix {
        shape: default.shape,
        stages: args.stages.unwrap_or(default.stages),
        tiles: args.tiles.unwrap_or(default.tiles),
        ctas: args.ctas.unwrap_or(default.ctas),
    };
    deliver(&mix.trace()?, args.out.as_deref())?;
    Ok(Outcome::Done)
}

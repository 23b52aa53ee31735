//! `windlass import pytorch`.

use super::ByRules;
use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_import::pytorch::{Options, import};

/// Arguments of `windlass import pytorch`.
#[derive(Args)]
pub struct PytorchArgs {
    /// An execution trace (torch.profiler.ExecutionTraceObserver), plain or compressed with zstd
    #[arg(value_name = "ET.json")]
    trace: PathBuf,
    /// The profile of the same run (export_chrome_trace), for the kernels that ran on the GPU; written to what PyTorch documents, and never
    /// tried on a profile of a real GPU
    #[arg(long, value_name = "PROFILE.json")]
    kineto: Option<PathBuf>,
    #[command(flatten)]
    rules: ByRules,
}

/// Runs it.
pub fn run(args: &PytorchArgs) -> Result<Outcome, Failure> {
    let rules = &args.rules;
    let options = Options {
        name: rules.name(&args.trace),
        gpu: rules.gpu()?,
        reuse: !rules.no_reuse,
        tf32: rules.tf32,
    };
    let imported = import(&args.trace, args.kineto.as_deref(), &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.trace, rules.out.as_deref())
}

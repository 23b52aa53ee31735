//! `windlass import pytorch`.

use super::ByRules;
use crate::{Failure, Outcome, workload};
use clap::Args;
use std::path::{Path, PathBuf};
use windlass_import::pytorch::{Options, TritonSources, import};

/// Arguments of `windlass import pytorch`.
#[derive(Args)]
pub struct PytorchArgs {
    /// Execution trace (torch.profiler.ExecutionTraceObserver), plain or compressed with zstd or gzip, or `-` for stdin
    #[arg(value_name = "ET.json")]
    trace: PathBuf,
    /// Profile of the same run (export_chrome_trace), for the kernels that ran on the GPU and the memory that they used; tried on
    /// profiles of an H100
    #[arg(long, value_name = "PROFILE.json")]
    kineto: Option<PathBuf>,
    /// Source of kernels that torch.compile has made, which says what they write: TorchInductor's cache folder of the recording
    /// (TORCHINDUCTOR_CACHE_DIR), or files in it; may be given several times
    #[arg(long, value_name = "PATH")]
    triton: Vec<PathBuf>,
    #[command(flatten)]
    rules: ByRules,
}

/// Runs it.
pub fn run(args: &PytorchArgs) -> Result<Outcome, Failure> {
    let rules = &args.rules;
    if args.kineto.as_ref() == Some(&args.trace) && args.trace == Path::new(workload::STANDARD) {
        return Err("`-` was given twice, but stdin holds one file: give the other as a file".into());
    }
    let options = Options {
        name: rules.name(&args.trace, "pytorch"),
        gpu: rules.gpu()?,
        reuse: !rules.no_reuse,
        tf32: rules.tf32,
        triton: TritonSources::read(&args.triton)?,
    };
    let imported = import(&args.trace, args.kineto.as_deref(), &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.trace, &rules.to)
}

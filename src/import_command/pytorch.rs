//! `windlass import pytorch`.

use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_cosim::profile::Profile;
use windlass_import::pytorch::{Options, import};
use windlass_runtime::ktrace::Gpu;

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
    /// Where to write, compressed if it ends in .zst; without it, stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The trace's name [default: that of --out, or else of the execution trace]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The GPU that it is for, a device profile; its SMs decide the tiles of products [default: the profile's, or none]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Give every storage addresses of its own, instead of emulating the CUDA caching allocator
    #[arg(long)]
    no_reuse: bool,
    /// Matrix products in single precision use tensor cores, as with torch.backends.cuda.matmul.allow_tf32
    #[arg(long)]
    tf32: bool,
}

/// Runs it.
pub fn run(args: &PytorchArgs) -> Result<Outcome, Failure> {
    let profile = args.gpu.as_deref().map(Profile::load).transpose()?;
    let options = Options {
        name: args
            .name
            .clone()
            .or_else(|| super::stem(args.out.as_deref().unwrap_or(&args.trace)))
            .unwrap_or_default(),
        gpu: profile.map(|profile| Gpu { name: profile.name, sms: Some(profile.sms) }),
        reuse: !args.no_reuse,
        tf32: args.tf32,
    };
    let imported = import(&args.trace, args.kineto.as_deref(), &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.trace, args.out.as_deref())
}

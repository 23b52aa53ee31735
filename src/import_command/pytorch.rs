//! `windlass import pytorch`.

use crate::{Failure, Outcome};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
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
    /// Where to write the kernel stream; compressed where the name ends in .zst
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The workload's name [default: the trace's file name up to its first dot]
    #[arg(long)]
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

/// The file's name up to its first dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').find(|part| !part.is_empty()).unwrap_or("pytorch").to_owned()
}

/// Runs it.
pub fn run(args: &PytorchArgs) -> Result<Outcome, Failure> {
    let profile = args.gpu.as_deref().map(Profile::load).transpose()?;
    let options = Options {
        name: args.name.clone().unwrap_or_else(|| stem(&args.trace)),
        gpu: profile.map(|profile| Gpu { name: profile.name, sms: Some(profile.sms) }),
        reuse: !args.no_reuse,
        tf32: args.tf32,
    };
    let import = import(&args.trace, args.kineto.as_deref(), &options)?;
    for warning in &import.warnings {
        eprintln!("warning: {}: {warning}", args.trace.display());
    }
    import.trace.save(&args.out).map_err(|e| format!("{e}; choose another --out"))?;
    let header = &import.trace.header;
    writeln!(
        std::io::stdout().lock(),
        "{} ({} kernels)\n  {}",
        header.name,
        header.kernels,
        args.out.display()
    )?;
    Ok(Outcome::Done)
}

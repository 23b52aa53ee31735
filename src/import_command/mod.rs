//! `windlass import`: what compilers and profilers write, as a ktrace.

mod accelsim;
mod onnx;
mod pytorch;
mod xla;

use crate::{Failure, Outcome, workload};
use clap::{Args, Subcommand};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use windlass_cosim::profile::Profile;
use windlass_runtime::ktrace::{Gpu, Trace};

/// Arguments of `windlass import`.
#[derive(Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    /// Import the dump directory of XLA's GPU compiler
    Xla(xla::XlaArgs),
    /// Import PyTorch's execution trace
    Pytorch(pytorch::PytorchArgs),
    /// Import an ONNX model
    Onnx(onnx::OnnxArgs),
    /// Import the traces of Accel-Sim's NVBit tracer
    AccelSim(accelsim::AccelsimArgs),
}

/// Runs it.
pub fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    match &args.from {
        From::Xla(args) => xla::run(args),
        From::Pytorch(args) => pytorch::run(args),
        From::Onnx(args) => onnx::run(args),
        From::AccelSim(args) => accelsim::run(args),
    }
}

/// Where the trace goes, and what it is called.
#[derive(Args)]
struct Destination {
    /// Write to FILE, compressed if it ends in .zst [default: stdout, which `-` also means]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Name of the trace [default: the name of --out, else the name of what is imported]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Destination {
    /// The trace's name, if it is not that of what is imported.
    fn name(&self) -> Option<String> {
        self.name.clone().or_else(|| stem(self.out.as_deref()?))
    }
}

/// What there is to say where kernels follow from rules.
#[derive(Args)]
struct ByRules {
    #[command(flatten)]
    to: Destination,
    /// Device profile of the GPU that the trace is for; its number of SMs decides the tiles of matrix products [default: the GPU of a
    /// recorded profile; for a model without one, a GPU that is assumed to have 46 SMs]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Give every tensor addresses of its own, instead of those of a recorded profile, or of an emulated caching allocator
    #[arg(long)]
    no_reuse: bool,
    /// Let matrix products in single precision use tensor cores, as with torch.backends.cuda.matmul.allow_tf32
    #[arg(long)]
    tf32: bool,
}

impl ByRules {
    /// The name of a trace that comes of `from`, or where neither that nor the output has one, of a kind of file.
    fn name(&self, from: &Path, kind: &str) -> String {
        self.to.name().or_else(|| stem(from)).unwrap_or_else(|| kind.to_owned())
    }

    fn gpu(&self) -> Result<Option<Gpu>, Failure> {
        gpu(self.gpu.as_deref())
    }
}

/// The GPU of a device profile.
fn gpu(profile: Option<&str>) -> Result<Option<Gpu>, Failure> {
    let profile = profile.map(Profile::load).transpose()?;
    Ok(profile.map(|profile| Gpu { name: profile.name, sms: Some(profile.sms) }))
}

/// The file's name without the endings of traces; stdin and stdout have none.
fn stem(path: &Path) -> Option<String> {
    if path == Path::new(workload::STANDARD) {
        return None;
    }
    let mut name = path.file_name()?.to_str()?;
    for ending in [".zst", ".gz", ".jsonl", ".json", ".ktrace", ".et", ".onnx"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    Some(name.to_owned())
}

/// What messages call a file.
fn shown(path: &Path) -> String {
    if path == Path::new(workload::STANDARD) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Prints what is to be doubted of a trace that came of `from`, and writes it.
fn deliver(
    trace: &Trace,
    warnings: &[impl Display],
    from: &Path,
    to: &Destination,
) -> Result<Outcome, Failure> {
    let from = shown(from);
    for warning in warnings {
        eprintln!("warning: {from}: {warning}");
    }
    if trace.header.kernels == 0 {
        eprintln!(
            "warning: {from}: the trace has no kernels: nothing in it would run on the GPU; record or export a program that does"
        );
    }
    workload::deliver(trace, to.out.as_deref())?;
    Ok(Outcome::Done)
}

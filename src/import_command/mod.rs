//! `windlass import`: what compilers and profilers write, as a ktrace.

mod onnx;
mod pytorch;
mod xla;

use crate::{Failure, Outcome, workload};
use clap::{Args, Subcommand};
use std::fmt::Display;
use std::path::Path;
use windlass_runtime::ktrace::Trace;

/// Arguments of `windlass import`.
#[derive(Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Subcommand)]
enum From {
    /// From the dump directory of XLA's GPU compiler
    Xla(xla::XlaArgs),
    /// From PyTorch's execution trace
    Pytorch(pytorch::PytorchArgs),
    /// From an ONNX model
    Onnx(onnx::OnnxArgs),
}

/// Runs it.
pub fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    match &args.from {
        From::Xla(args) => xla::run(args),
        From::Pytorch(args) => pytorch::run(args),
        From::Onnx(args) => onnx::run(args),
    }
}

/// The file's name without the endings of traces.
fn stem(path: &Path) -> Option<String> {
    let mut name = path.file_name()?.to_str()?;
    for ending in [".zst", ".jsonl", ".json", ".ktrace", ".et", ".onnx"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    Some(name.to_owned())
}

/// Prints what is to be doubted of a trace that came of `from`, and writes it.
fn deliver(
    trace: &Trace,
    warnings: &[impl Display],
    from: &Path,
    out: Option<&Path>,
) -> Result<Outcome, Failure> {
    for warning in warnings {
        eprintln!("warning: {}: {warning}", from.display());
    }
    workload::deliver(trace, out)?;
    Ok(Outcome::Done)
}

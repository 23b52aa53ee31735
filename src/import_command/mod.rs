//! `windlass import`: what compilers and profilers write, as a ktrace.

mod pytorch;
mod xla;

use crate::{Failure, Outcome};
use clap::{Args, Subcommand};

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
}

/// Runs it.
pub fn run(args: &ImportArgs) -> Result<Outcome, Failure> {
    match &args.from {
        From::Xla(args) => xla::run(args),
        From::Pytorch(args) => pytorch::run(args),
    }
}

//! `windlass import pytorch`.

use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `windlass import pytorch`.
#[derive(Args)]
pub struct PytorchArgs {
    /// What to read
    path: PathBuf,
}

/// Runs it.
pub fn run(args: &PytorchArgs) -> Result<Outcome, Failure> {
    Err(format!("{}: cannot be read yet", args.path.display()).into())
}

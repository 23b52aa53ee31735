//! `windlass import xla`.

use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `windlass import xla`.
#[derive(Args)]
pub struct XlaArgs {
    /// What to read
    path: PathBuf,
}

/// Runs it.
pub fn run(args: &XlaArgs) -> Result<Outcome, Failure> {
    Err(format!("{}: cannot be read yet", args.path.display()).into())
}

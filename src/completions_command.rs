//! `windlass completions`: what a shell needs to complete the command line.

use crate::{Cli, Failure, Outcome};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Arguments of `windlass completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Runs it.
pub fn run(args: &CompletionsArgs) -> Result<Outcome, Failure> {
    // Into memory first: the generator panics where stdout takes no more.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "windlass", &mut text);
    std::io::stdout().lock().write_all(&text)?;
    Ok(Outcome::Done)
}

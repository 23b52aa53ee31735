//! `windlass import onnx`.

use super::ByRules;
use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_import::onnx::{OnnxError, Options, import};

/// Arguments of `windlass import onnx`.
#[derive(Args)]
pub struct OnnxArgs {
    /// Model, plain or compressed with zstd, or `-` for stdin; weights in other files are not needed
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    /// Size of a dimension that the model names, or of an unnamed dimension of an input, `INPUT[AXIS]`; can be given several times
    #[arg(long, value_name = "NAME=SIZE", value_parser = dim)]
    dim: Vec<(String, u64)>,
    /// Let an elementwise node write over an input of the same size that nothing reads later, as ONNX Runtime does
    #[arg(long)]
    in_place: bool,
    #[command(flatten)]
    rules: ByRules,
}

/// A name and a size.
fn dim(text: &str) -> Result<(String, u64), String> {
    let (name, size) = text.rsplit_once('=').unwrap_or(("", text));
    match size.parse() {
        Ok(size) if !name.is_empty() => Ok((name.to_owned(), size)),
        _ => Err("give NAME=SIZE, such as batch=8".to_owned()),
    }
}

/// Runs it.
pub fn run(args: &OnnxArgs) -> Result<Outcome, Failure> {
    let rules = &args.rules;
    let mut options = Options {
        name: rules.name(&args.model, "onnx"),
        gpu: rules.gpu()?,
        reuse: !rules.no_reuse,
        in_place: args.in_place,
        tf32: rules.tf32,
        ..Options::default()
    };
    for (name, size) in &args.dim {
        options.set_dim(name, *size).map_err(|problem| OnnxError {
            file: super::shown(&args.model),
            node: None,
            field: Some(format!("--dim {name}")),
            problem,
        })?;
    }
    let imported = import(&args.model, &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.model, &rules.to)
}

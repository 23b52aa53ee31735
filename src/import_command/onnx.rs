//! `windlass import onnx`.

use crate::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use windlass_cosim::profile::Profile;
use windlass_import::onnx::{Options, import};
use windlass_runtime::ktrace::Gpu;

/// Arguments of `windlass import onnx`.
#[derive(Args)]
pub struct OnnxArgs {
    /// A model, plain or compressed with zstd; weights in other files are not needed
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    /// The size of a dimension that the model names, or of an input's that has no name, `INPUT[AXIS]`; may be given several times
    #[arg(long, value_name = "NAME=SIZE", value_parser = dim)]
    dim: Vec<(String, u64)>,
    /// Where to write, compressed if it ends in .zst; without it, stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The trace's name [default: that of --out, or else of the model's file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The GPU that it is for, a device profile; its SMs decide the tiles of products [default: none]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Give every tensor addresses of its own, instead of emulating PyTorch's caching allocator
    #[arg(long)]
    no_reuse: bool,
    /// An elementwise node writes over an input of the same size that nothing reads later, as ONNX Runtime does it
    #[arg(long)]
    in_place: bool,
    /// Matrix products in single precision use tensor cores
    #[arg(long)]
    tf32: bool,
}

/// A name and a size.
fn dim(text: &str) -> Result<(String, u64), String> {
    let (name, size) = text.rsplit_once('=').unwrap_or(("", text));
    match size.parse() {
        Ok(size) if !name.is_empty() => Ok((name.to_owned(), size)),
        _ => Err("it is NAME=SIZE, as in batch=8".to_owned()),
    }
}

/// Runs it.
pub fn run(args: &OnnxArgs) -> Result<Outcome, Failure> {
    let profile = args.gpu.as_deref().map(Profile::load).transpose()?;
    let options = Options {
        name: args
            .name
            .clone()
            .or_else(|| super::stem(args.out.as_deref().unwrap_or(&args.model)))
            .unwrap_or_default(),
        gpu: profile.map(|profile| Gpu { name: profile.name, sms: Some(profile.sms) }),
        reuse: !args.no_reuse,
        in_place: args.in_place,
        tf32: args.tf32,
        dims: args.dim.iter().cloned().collect(),
    };
    let imported = import(&args.model, &options)?;
    super::deliver(&imported.trace, &imported.warnings, &args.model, args.out.as_deref())
}

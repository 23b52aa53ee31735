//! `windlass import xla`.

use crate::{Failure, Outcome};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_import::xla::{Options, import};
use windlass_runtime::ktrace::{Compression, Writer};

/// Arguments of `windlass import xla`.
#[derive(Args)]
pub struct XlaArgs {
    /// The directory that XLA_FLAGS=--xla_dump_to=DIR named
    dir: PathBuf,
    /// Where to write, compressed if it ends in .zst; without it, stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The module, such as jit_step or module_0012 [default: the one with the longest thunk sequence]
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// The trace's name [default: that of --out, or else the module's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The GPU that it was compiled for, such as rtx3070 [default: what the dump says]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Rounds of loops that end when their condition says; without it, such a loop is an error
    #[arg(long, value_name = "N")]
    trip_count: Option<u64>,
    /// The most rounds of a loop whose number of rounds is known
    #[arg(long, value_name = "N")]
    max_trip_count: Option<u64>,
}

/// The file's name without the endings of a trace.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    Some(name.strip_suffix(".ktrace").unwrap_or(name).to_owned())
}

/// Runs it.
pub fn run(args: &XlaArgs) -> Result<Outcome, Failure> {
    let options = Options {
        module: args.module.clone(),
        name: args.name.clone().or_else(|| stem(args.out.as_deref()?)),
        gpu: args.gpu.clone(),
        trip_count: args.trip_count,
        max_trip_count: args.max_trip_count,
    };
    let imported = import(&args.dir, &options)?;
    for warning in &imported.warnings {
        eprintln!("warning: {}: {warning}", args.dir.display());
    }
    let trace = &imported.trace;
    let mut stdout = std::io::stdout().lock();
    match &args.out {
        None => {
            let mut writer = Writer::new(Vec::new(), "stdout", &trace.header, Compression::Plain)?;
            writer.trace(trace)?;
            stdout.write_all(&writer.finish()?)?;
        }
        Some(path) => {
            trace.save(path)?;
            let (name, kernels) = (&trace.header.name, trace.header.kernels);
            writeln!(stdout, "{name} ({kernels} kernels)\n  {}", path.display())?;
        }
    }
    Ok(Outcome::Done)
}

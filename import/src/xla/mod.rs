//! XLA: the dump directory of a GPU compilation.
//!
//! `XLA_FLAGS=--xla_dump_to=DIR` makes XLA's GPU compiler, and so JAX and TensorFlow, write what it compiles into DIR. Of each module this
//! reads `*.thunk_sequence_after_thunk_passes.txt` or else `*.thunk_sequence.txt` (launches in order), `*.thunk_metadata.txt` (which instruction each is of), `*gpu_after_optimizations.txt` (the
//! instructions), `*gpu_after_optimizations-buffer-assignment.txt` and `-values.txt` (where their operands and results are), and where
//! there are any, `*.ptx` (static shared memory), `*.gpu_target_config.pbtxt` and `meta.json`. Each may be compressed, with `.zst` or `.gz` behind its name. docs/import.md says what
//! becomes of what.

mod buffers;
mod directory;
mod error;
mod flops;
mod hlo;
mod ptx;
mod stream;
mod thunks;

pub use error::{Problem, Warning, XlaError, XlaErrors};
pub use stream::MAX_EVENTS;

use buffers::Buffers;
use directory::Module;
use error::Collected;
use hlo::Hlo;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use stream::Dump;
use windlass_runtime::ktrace::{Gpu, Header, Run, Trace};

/// What the dump does not say, or says otherwise than the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The module, such as `jit_step` or `module_0012`; without it, the one with the longest thunk sequence.
    pub module: Option<String>,
    /// The trace's name; without it, the module's.
    pub name: Option<String>,
    /// The GPU; without it, the one that the dump names.
    pub gpu: Option<String>,
    /// Rounds of loops whose trip count XLA does not know; without it, such a loop is an error.
    pub trip_count: Option<u64>,
    /// The most rounds of a loop whose trip count XLA knows.
    pub max_trip_count: Option<u64>,
}

/// A trace and the assumptions behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// One run of the module.
    pub trace: Trace,
    /// What to tell the user.
    pub warnings: Vec<Warning>,
}

/// Reads the dump of one module as one run of it. The same directory and options always give the same trace.
///
/// # Errors
/// A file cannot be read, is missing, or is not as XLA writes it; a loop ends nobody knows when, or the unrolled loops are more than
/// [`MAX_EVENTS`] kernels.
pub fn import(directory: &Path, options: &Options) -> Result<Imported, XlaErrors> {
    let mut warnings = Vec::new();
    let module = directory::read(directory, options.module.as_deref(), &mut warnings)?;

    let mut errors = Collected::default();
    let thunks = thunks::sequence(&module.sequence, &mut errors);
    let names = thunks::metadata(&module.metadata, &mut errors);
    let hlo = Hlo::new(&module.hlo.text);
    if hlo.is_empty() {
        errors.push(&module.hlo.file, 0, Problem::Nothing { what: "instruction" });
    }
    let buffers = Buffers::new(&module.assignment, module.values.as_ref(), &mut errors);
    errors.result()?;

    let mut shared = HashMap::new();
    module.ptx.iter().for_each(|ptx| ptx::shared(&ptx.text, &mut shared));
    warnings.extend(thunks::missing(&thunks, &names));
    let file = &module.sequence.file;
    let hlo_file = &module.hlo.file;
    let dump = Dump { file, names: &names, hlo: &hlo, hlo_file, buffers: &buffers, shared: &shared };
    let (events, kernels) = dump.events(&thunks, options, &mut warnings)?;
    let meta = module.meta.as_ref().and_then(|meta| serde_json::from_str(&meta.text).ok());
    let mut params: Map<String, Value> = meta.unwrap_or_default();
    let gpu = gpu(&module, &params, options, &mut warnings);
    params.insert("module".to_owned(), module.stem.clone().into());
    if let Some(capability) = module.capability {
        params.insert("compute_capability".to_owned(), capability.into());
    }
    let name = module.stem.split_once('.').map_or(module.stem.as_str(), |(_, name)| name);
    let header = Header {
        name: options.name.clone().unwrap_or_else(|| name.to_owned()),
        source: "xla-gpu-dump".to_owned(),
        producer: format!("windlass import xla {}", env!("CARGO_PKG_VERSION")),
        gpu,
        params: Value::Object(params),
        kernels,
        span: Some([buffers.span.addr, buffers.span.end()]),
        notes: "grid/block/smem from the XLA thunk sequence, segments from the XLA buffer assignment (whole-buffer granularity); while loops unrolled \
                by known_trip_count; flops counted from the HLO"
            .to_owned(),
    };
    let run = Run { number: 0, input: None, events };
    Ok(Imported { trace: Trace { header, runs: vec![run], warnings: Vec::new() }, warnings })
}

/// The value of a field in a text protobuf.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.trim().strip_prefix(name)?.strip_prefix(':').map(str::trim);
    text.lines().find_map(value).map(|value| value.trim_matches('"'))
}

/// Whether one name is a part of the other, but for case and spaces: `rtx3070` and `NVIDIA GeForce RTX 3070`.
fn same_gpu(a: &str, b: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let (a, b) = (plain(a), plain(b));
    a.contains(&b) || b.contains(&a)
}

fn gpu(module: &Module, meta: &Map<String, Value>, options: &Options, warnings: &mut Vec<Warning>) -> Gpu {
    let target = module.target.as_ref().map(|target| target.text.as_str()).unwrap_or_default();
    let described = field(target, "device_description_str").filter(|name| !name.is_empty());
    let named = ["gpu", "target"].iter().find_map(|key| meta.get(*key)?.as_str());
    if let Some(name) = &options.gpu {
        if let Some(dump) = described.or(named).filter(|dump| !same_gpu(name, dump)) {
            warnings.push(Warning::OtherGpu { name: name.clone(), dump: dump.to_owned() });
        }
        return Gpu { name: name.clone(), sms: None };
    }
    if let Some(name) = described {
        let sms = field(target, "core_count").and_then(|sms| sms.parse().ok()).filter(|sms| *sms > 0);
        return Gpu { name: name.to_owned(), sms };
    }
    if let Some(name) = named {
        return Gpu { name: name.to_owned(), sms: None };
    }
    warnings.push(Warning::NoGpu { capability: module.capability.clone() });
    Gpu { name: "assumed".to_owned(), sms: None }
}

//! Traces from files, and those that are built in.

use windlass_runtime::ktrace::{KtraceErrors, Reader, Trace};

/// Name of the built-in trace that commands take by default: one environment step of the physics engine Brax, 256 ants.
pub const BUILT_IN: &str = "brax-v1-ant-b256";

macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("../workloads/", $name, ".ktrace.jsonl")))
    };
}

/// Names and texts.
const ALL: [(&str, &str); 4] = [
    built_in!("brax-v1-ant-b256"),
    built_in!("mix-pipeline"),
    built_in!("mix-reduction"),
    built_in!("mix-fork"),
];

/// Names of the traces that are built in.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// Text of the built-in trace of that name.
pub fn built_in(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Loads a trace, and prints its warnings.
pub fn load(file: &str) -> Result<Trace, KtraceErrors> {
    let trace = match built_in(file) {
        Some(text) => Trace::read(Reader::new(text.as_bytes(), file)?)?,
        None => Trace::load(file)?,
    };
    for warning in &trace.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(trace)
}

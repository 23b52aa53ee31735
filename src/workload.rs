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

/// Loads a trace, and prints its warnings.
pub fn load(file: &str) -> Result<Trace, KtraceErrors> {
    let trace = match ALL.iter().find(|(name, _)| *name == file) {
        Some((name, text)) => Trace::read(Reader::new(text.as_bytes(), *name)?)?,
        None => Trace::load(file)?,
    };
    for warning in &trace.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(trace)
}

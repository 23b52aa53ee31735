//! Traces from files, and the one that is built in.

use windlass_runtime::ktrace::{KtraceErrors, Reader, Trace};

/// Name of the built-in trace: one environment step of the physics engine Brax, 256 ants.
pub const BUILT_IN: &str = "brax-v1-ant-b256";

const BUILT_IN_TEXT: &str = include_str!("../workloads/brax-v1-ant-b256.ktrace.jsonl");

/// Loads a trace, and prints its warnings.
pub fn load(file: &str) -> Result<Trace, KtraceErrors> {
    let trace = if file == BUILT_IN {
        Trace::read(Reader::new(BUILT_IN_TEXT.as_bytes(), BUILT_IN)?)?
    } else {
        Trace::load(file)?
    };
    for warning in &trace.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(trace)
}

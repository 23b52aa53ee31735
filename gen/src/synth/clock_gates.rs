//! Clock gates: flip-flops that share an enable get their clock through a cell of the library that lets it pass only while the enable
//! is high, and need no multiplexer each that reads them back.
//!
//! Which enables there are is Yosys' finding: `opt_dff` sees that a register keeps its value unless some condition holds.

use super::flow::SynthesisError;
use std::path::Path;
use windlass_netlist::liberty::Library;

/// Flip-flops with the same enable that get a gate: from four on, it is smaller than their multiplexers.
const LEAST: usize = 4;

/// The file that [`commands`] read.
pub(super) const FILE: &str = "resets.v";

/// A reset in spite of the enable, as an enable: Yosys gates flip-flops that have no reset of their own.
pub(super) const RESETS: &str = include_str!("clock_gates.v");

/// What Yosys is told between `synth` and `dfflibmap`; nothing where no gates are `wanted`, and then the library is not looked at.
///
/// # Errors
/// Where the library has no clock gate.
pub(super) fn commands(wanted: bool, liberty: &str, path: &Path) -> Result<String, SynthesisError> {
    if !wanted {
        return Ok(String::new());
    }
    let library = Library::parse(liberty, path)?;
    let (cell, pins) =
        library.clock_gate().ok_or_else(|| SynthesisError::NoClockGate { library: library.name.clone() })?;
    let test: String = pins.test.iter().map(|pin| format!(" -tie_lo {pin}")).collect();
    // Not by `-liberty`: that passes over cells that are kept from mappers.
    Ok(format!(
        "techmap -map {FILE}\n\
         simplemap\n\
         opt\n\
         clockgate -pos {cell} {}:{}:{}{test} -min_net_size {LEAST}\n",
        pins.enable, pins.clock, pins.output
    ))
}

/// What a Yosys says that has no such pass.
pub(super) fn refuse(log: &str, version: &str) -> Result<(), SynthesisError> {
    match log.contains("No such command: clockgate") {
        true => Err(SynthesisError::NoClockGatePass { version: version.into() }),
        false => Ok(()),
    }
}

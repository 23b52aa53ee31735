//! Verilog emitter, file lists, metadata; the synthesis flow and its reports; the table of external tools.

pub mod emit;
pub mod output;
pub mod tools;

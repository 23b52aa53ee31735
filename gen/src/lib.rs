//! Verilog emitter, file lists, metadata; the synthesis flow and its reports.
pub mod emit;
pub mod output;

//! Verilog emitter, file lists, metadata; the synthesis flow and its reports; the table of external tools.

pub mod cache;
pub mod emit;
pub mod output;
pub mod report;
pub mod tools;

//! What a design costs: area and clock in a standard-cell library, beside the paper's own estimates, and on FPGAs, as text, JSON and Markdown.

pub mod area;
mod flow;
pub mod fpga;
pub mod job;
pub mod liberty;
pub mod library;
pub mod paper;
pub mod render;
pub mod synth;
pub mod timing;

pub use area::{AreaOptions, AreaReport, area};
pub use flow::{PYOSYS_VERSION, SynthesisError, TIME_LIMIT, Yosys};
pub use fpga::{FpgaError, FpgaOptions, FpgaReport, fpga};
pub use library::LibraryError;
pub use render::{Format, Report, render};
pub use synth::{SynthOptions, SynthReport, synth};
pub use timing::TimingReport;

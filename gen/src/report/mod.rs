//! What a design costs and gains: area and clock in a cell library, energy, FPGAs, latencies and speed-ups beside the paper's own numbers, as
//! text, JSON, Markdown and HTML with figures; and whether that got worse since an older report.

pub mod area;
pub mod baseline;
mod chart;
pub mod figure;
pub(crate) mod flow;
pub mod fpga;
pub mod html;
pub mod liberty;
pub mod library;
pub mod paper;
pub mod render;
pub mod synth;
pub mod timing;

pub use area::{AreaOptions, AreaReport, area};
pub use flow::{PYOSYS_VERSION, SynthesisError, TIME_LIMIT, Yosys};
pub use fpga::{FpgaOptions, FpgaReport, fpga};
pub use library::LibraryError;
pub use render::{Format, Report, markdown_with_figures, render};
pub use synth::{SynthOptions, SynthReport, synth};
pub use timing::TimingReport;

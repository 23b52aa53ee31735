//! What a design costs: area in a standard-cell library, beside the paper's own estimates, as text, JSON and Markdown.

pub mod area;
mod flow;
pub mod liberty;
pub mod library;
pub mod paper;
pub mod render;
pub mod synth;
pub mod timing;

pub use area::{AreaOptions, AreaReport, area};
pub use flow::{PYOSYS_VERSION, SynthesisError, TIME_LIMIT, Yosys};
pub use library::LibraryError;
pub use render::{Format, Report, render};
pub use synth::{SynthOptions, SynthReport, synth};
pub use timing::TimingReport;

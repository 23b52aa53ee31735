//! What a design costs: area in a standard-cell library, beside the paper's own estimates, as text, JSON and Markdown.

pub mod area;
pub mod fpga;
pub mod job;
pub mod liberty;
pub mod paper;
pub mod render;

pub use area::{AreaError, AreaOptions, AreaReport, area};
pub use fpga::{FpgaError, FpgaOptions, FpgaReport, fpga};
pub use render::{Format, Report, render};

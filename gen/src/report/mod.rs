//! What a design costs: area in a standard-cell library, beside the paper's own estimates, as text, JSON and Markdown.

pub mod area;
pub mod liberty;
pub mod paper;
pub mod render;

pub use area::{AreaError, AreaOptions, AreaReport, area};
pub use render::{Format, Report, render};

//! What `windlass report` writes: what a design costs and gains, as the flows in [`crate::synth`] and a co-simulation measured it, beside the
//! paper's own numbers, as text, JSON, Markdown and HTML with figures; and whether that got worse since an older report.

pub mod baseline;
mod chart;
mod document;
pub mod figure;
pub mod html;
pub mod paper;
pub mod render;

pub use render::{Format, Report, markdown_with_figures, render};

//! Kernel traces, synthetic mixes, hazards, the host's lists and the software window. Knows nothing of hardware.
pub mod analysis;
pub mod graph;
pub mod hazards;
pub mod host;
pub mod ktrace;
pub mod mix;
mod ranges;
pub mod rename;
pub mod window;

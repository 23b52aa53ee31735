//! Launches kernels out of order where their memory allows it; kernel traces, synthetic mixes, hazards, the host's lists and the software window. Knows nothing of hardware.
pub mod analysis;
pub mod graph;
pub mod hazards;
pub mod host;
pub mod ktrace;
pub mod mix;
pub mod runtime;
pub mod window;

//! Kernel traces, synthetic mixes, hazards, why a kernel waited, the host's lists and the software window. Knows nothing of hardware.
pub mod analysis;
pub mod explain;
pub mod graph;
pub mod hazards;
pub mod host;
pub mod ktrace;
pub mod mix;
pub mod window;

//! Launches kernels out of order where their memory allows it, and says why one waited; kernel traces, synthetic mixes, hazards, the host's
//! lists and the software window. Knows nothing of hardware.
pub mod analysis;
pub mod explain;
pub mod graph;
pub mod hazards;
pub mod host;
pub mod ktrace;
pub mod mix;
pub mod percentile;
mod ranges;
pub mod rename;
pub mod run;
pub mod runtime;
pub mod window;
mod words;

//! Kernel traces, hazards, the host's lists and the software window. Knows nothing of hardware.
pub mod ktrace;

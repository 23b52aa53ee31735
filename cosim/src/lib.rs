//! Verilator build and cache, lockstep, the device model, waveforms, timelines, latency measurement.

pub mod block_stimulus;
pub mod lockstep;
pub mod stimulus;
pub mod verilator;
pub mod wave;

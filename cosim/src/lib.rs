//! Verilator build and cache, lockstep, the device model, waveforms, timelines, latency measurement.

pub mod block_stimulus;

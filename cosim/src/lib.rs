//! Verilator build and cache, lockstep, the device model, waveforms, timelines, latency measurement, design space exploration.

pub mod block_stimulus;
pub mod cover;
pub mod decider;
pub mod device;
pub mod energy;
pub mod engine;
pub mod explore;
pub mod latency;
pub mod lockstep;
pub mod mutate;
pub mod partition;
pub mod policy;
pub mod profile;
pub mod real;
pub mod run;
pub mod stimulus;
pub mod timeline;
pub mod verilator;
pub mod wave;

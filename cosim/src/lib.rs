//! Co-simulation: Verilator builds and their cache, lockstep, stimulus and waveforms.
pub mod lockstep;
pub mod stimulus;
pub mod verilator;
pub mod wave;

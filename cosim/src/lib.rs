//! Co-simulation.
pub mod lockstep;
pub mod stimulus;

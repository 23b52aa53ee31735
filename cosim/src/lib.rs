//! Co-simulation: schedulers against a host runtime and a device model.

pub mod device;
pub mod profile;

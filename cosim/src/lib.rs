//! Co-simulation: schedulers against a host runtime and a device model.

pub mod device;
pub mod latency;
pub mod policy;
pub mod profile;
pub mod run;
pub mod timeline;

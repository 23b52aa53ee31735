#![doc = include_str!("README.md")]

mod hardware;
pub mod io;
pub mod model;

pub use hardware::{ListIdsScheduler, ListMaskScheduler, MatrixIdsScheduler, MatrixMaskScheduler};
pub use io::{HostBeat, Offer, SchedulerIn, SchedulerOut, SchedulerPorts};

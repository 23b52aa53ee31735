#![doc = include_str!("README.md")]

mod field;
mod free_port;
mod hardware;
mod lane;
pub mod model;
mod needs;
mod phase;

pub use field::SmField;
pub use free_port::FreePort;
pub use hardware::SmOccupancy;
pub use lane::{GROUP, SmGroup, SmLane, groups, lanes_of};
pub use needs::{NeedStages, SumStages};
pub use phase::SlicePhase;

#![doc = include_str!("README.md")]

mod hardware;

pub use hardware::{PartitionGroup, SmPartitions};

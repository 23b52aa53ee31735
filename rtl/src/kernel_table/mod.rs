#![doc = include_str!("README.md")]

mod entry;
mod hardware;
pub mod model;
mod queue;

pub use entry::KernelEntry;
pub use hardware::KernelTable;
pub use queue::SlotQueue;

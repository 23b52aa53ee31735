#![doc = include_str!("README.md")]

mod entry;
mod hardware;
mod queue;

pub use entry::KernelEntry;
pub use hardware::KernelTable;
pub use queue::SlotQueue;

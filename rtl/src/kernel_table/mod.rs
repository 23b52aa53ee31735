#![doc = include_str!("README.md")]

mod entry;
mod hardware;
pub mod model;

pub use entry::KernelEntry;
pub use hardware::KernelTable;

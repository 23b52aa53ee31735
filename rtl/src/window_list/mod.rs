#![doc = include_str!("README.md")]

mod hardware;
pub mod model;
mod slots;

pub use hardware::{SlotList, WindowList};
pub use slots::WindowSlots;

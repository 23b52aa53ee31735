#![doc = include_str!("README.md")]

mod hardware;
pub mod model;

pub use hardware::WindowMatrix;

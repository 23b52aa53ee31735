#![doc = include_str!("README.md")]

mod channel;
mod hardware;
mod lanes;
pub mod model;

pub use channel::{ActiveKernel, CtaChannel};
pub use hardware::CtaArbiter;
pub use lanes::{LanePicker, LaneQuad};

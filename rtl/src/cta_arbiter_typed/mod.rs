#![doc = include_str!("README.md")]

mod banks;
mod channel;
mod counts;
mod hardware;
mod kernels;
mod lanes;
pub mod model;
mod sm_number;

pub use banks::BankTurns;
pub use channel::CtaChannel;
pub use counts::CtaCount;
pub use hardware::CtaArbiter;
pub use kernels::{ActiveKernel, ActiveKernels};
pub use lanes::{LanePicker, LaneQuad};
pub use sm_number::SmNumber;

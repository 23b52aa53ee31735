//! Runs kernel streams for real: footprint kernels that touch the memory which a stream's kernels touch, on a [`Device`] with streams, events
//! and graphs, in the order that a policy decides. What the memory holds afterwards is the proof of the order.

mod device;
pub mod footprint;
mod program;

pub use device::{Device, DeviceError, GraphId, GraphShape, KernelTime};
pub use footprint::Footprint;
pub use program::{MAX_WORDS, Program, ProgramError, Work};

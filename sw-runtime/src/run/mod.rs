//! Runs kernel streams for real: footprint kernels that touch the memory which a stream's kernels touch, on a [`Device`] with streams, events
//! and graphs, in the order that a policy decides. What the memory holds afterwards is the proof of the order.

mod chance;
mod cpu;
mod device;
pub mod footprint;
mod hazards;
mod policy;
mod program;
#[cfg(test)]
#[path = "../../tests/common/random.rs"]
mod random;
mod streams;

pub use chance::ChanceDevice;
pub use cpu::{CpuDevice, CpuOptions};
pub use device::{Device, DeviceError, GraphId, GraphShape, KernelTime, digest_of};
pub use footprint::Footprint;
pub use hazards::Declarations;
pub(crate) use hazards::MOST_SPILLED;
pub use policy::{
    Costs, Counts, Decider, Decision, Estimate, Launches, Options, Overlap, Policy, RunError, Runner,
    SoftwareDecider, Trial, WINDOW, Way,
};
pub use program::{MAX_WORDS, Program, ProgramError, Work};
pub use windlass_hazards::MAX_SEGMENTS;

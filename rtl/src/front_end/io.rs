//! The front end's ports as Rust values: what a host runtime and a GPU's SMs exchange with it in one cycle.

use crate::kernel_scheduler::{HostBeat, SchedulerOut};
use crate::params::{DONE_PORTS, RETIRE_PORTS};

/// Most CTA channels a front end can have.
pub const MAX_CTA_CHANNELS: usize = 2;

/// Which of an SM's pipes a CTA uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CtaType {
    /// Ordinary lanes, and copies.
    #[default]
    Simt,
    /// Matrix units.
    Tensor,
}

/// What one CTA takes on its SM beside a CTA slot, in the units of [`crate::params::SmLimits`]; warps and registers are at least 1,
/// and nothing is more than an empty SM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CtaNeeds {
    /// Warps, 7 bits.
    pub warps: u16,
    /// Register units, 9 bits.
    pub registers: u16,
    /// Shared memory units, 11 bits.
    pub smem: u16,
}

/// The part of a launch packet that is not about order; read with the kernel's last beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// CTAs of the grid, at least 1.
    pub grid: u32,
    /// The CTAs' type.
    pub kind: CtaType,
    /// The SM partition, 0 to 7.
    pub partition: u8,
    /// What each CTA needs.
    pub needs: CtaNeeds,
}

/// A CTA has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaDone {
    /// The SM it ran on; must belong to the channel.
    pub sm: u8,
    /// Its kernel's window slot.
    pub slot: u8,
}

/// 32 SMs of a partition's mask are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionWrite {
    /// The partition, 0 to 7.
    pub partition: u8,
    /// Which SMs: from 32 times this on, 0 to 5.
    pub word: u8,
    /// Bit b: the partition has SM 32 * word + b.
    pub mask: u32,
}

/// Inputs of one cycle. What is offered on a channel is to be held until it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEndIn {
    /// Reset, active low: true in normal operation.
    pub rst_ni: bool,
    /// What the host offers.
    pub host: Option<(HostBeat, Launch)>,
    /// Whether the SMs take what is on the CTA channel.
    pub cta_ready: [bool; MAX_CTA_CHANNELS],
    /// CTAs that have ended.
    pub done: [Option<CtaDone>; DONE_PORTS],
    /// A partition's mask is rewritten.
    pub partition: Option<PartitionWrite>,
    /// Which [`Counter`] is read.
    pub counter: u8,
}

impl FrontEndIn {
    /// Nothing happens: no reset, no host, no CTA ends; the SMs take what comes.
    pub const IDLE: Self = Self {
        rst_ni: true,
        host: None,
        cta_ready: [true; MAX_CTA_CHANNELS],
        done: [None; DONE_PORTS],
        partition: None,
        counter: 0,
    };

    /// Reset asserted, all else idle.
    pub const RESET: Self = Self { rst_ni: false, ..Self::IDLE };
}

/// A CTA that goes to an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CtaOut {
    /// The SM.
    pub sm: u8,
    /// Its kernel's window slot.
    pub slot: u8,
    /// Its kernel's id.
    pub id: u8,
    /// Its number in the grid, from 0.
    pub index: u32,
    /// Its type.
    pub kind: CtaType,
}

/// Outputs of one cycle, read before the clock edge that ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontEndOut {
    /// The scheduler's: the host's beat is taken, stalls, fill. `offer` is the kernel that is dispatched in this cycle (the table takes
    /// every offer); `retire_ready` is not a port of the front end and false.
    pub scheduler: SchedulerOut,
    /// What is on the CTA channels.
    pub cta: [Option<CtaOut>; MAX_CTA_CHANNELS],
    /// Which completions are taken.
    pub done_ready: [bool; DONE_PORTS],
    /// A completion named a slot without running CTAs.
    pub done_error: bool,
    /// Slots whose kernels retire at the end of this cycle.
    pub retired: [Option<u8>; *RETIRE_PORTS.end()],
    /// The partition write is taken.
    pub partition_ready: bool,
    /// Value of the counter that is read, 48 bits.
    pub count: u64,
}

/// What the front end counts, since reset, in 48 bits that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    /// Cycles.
    Cycles,
    /// Sum over cycles of the kernels in the window.
    WindowSum,
    /// Sum over cycles of the CTAs on SMs.
    CtaSum,
    /// Cycles in which a host beat waits for the oldest kernel.
    StallLimit,
    /// Cycles in which a host beat waits for a slot.
    StallFull,
    /// Cycles in which a host beat waits for the window's walk.
    StallBusy,
    /// SIMT CTAs that were taken from their channel.
    PlacedSimt,
    /// TENSOR CTAs that were taken from their channel.
    PlacedTensor,
    /// Cycles in which channel 0 looked at SMs for a CTA and none had room.
    NoRoom0,
    /// The same for channel 1.
    NoRoom1,
    /// Cycles in which a CTA on channel 0 waits for the SM to take it.
    CtaWait0,
    /// The same for channel 1.
    CtaWait1,
    /// Kernels that retired.
    Retired,
}

impl Counter {
    /// All, in the order of their numbers from 0.
    pub const ALL: [Self; 13] = [
        Self::Cycles,
        Self::WindowSum,
        Self::CtaSum,
        Self::StallLimit,
        Self::StallFull,
        Self::StallBusy,
        Self::PlacedSimt,
        Self::PlacedTensor,
        Self::NoRoom0,
        Self::NoRoom1,
        Self::CtaWait0,
        Self::CtaWait1,
        Self::Retired,
    ];
}

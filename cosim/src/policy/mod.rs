//! Policies: who decides when a kernel starts. Each drives the same device model, under the same order checker.

mod engine;
mod graph;
mod machine;
mod serial;
mod stream;
mod streams;
mod window;

use crate::device::{Completion, CtaEnd, DeviceError};
use crate::profile::ProfileError;
pub use engine::{FlatEngine, FrontEndEngine, ModelEngine};
pub(crate) use graph::{GraphCosts, GraphHost};
pub(crate) use machine::{Machine, Simulated, simulate};
pub(crate) use serial::SerialHost;
use std::fmt;
pub use stream::Stream;
pub(crate) use streams::StreamsHost;
use thiserror::Error;
use windlass_gen::table::counted;
use windlass_rtl::front_end::Counter;
use windlass_rtl::model::CycleError;
use windlass_rtl::params::ParamError;
use windlass_runtime::host::HostError;
use windlass_runtime::window::WindowError;
pub use window::{SlotSpan, WindowTrace};
pub(crate) use window::{WindowHost, WindowOptions, beats};

/// Who decides the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// One stream: each kernel waits for the one before; the host launches ahead.
    Serial,
    /// A queue in hardware that takes packets as the window does and runs them in order: what `window` has to beat.
    Queue,
    /// ACE-SW: a window in host software over several CUDA streams.
    StreamsAce,
    /// A CUDA graph, built for every run.
    Graph,
    /// A CUDA graph of an earlier step with the same kernels, launched again: what costs it nothing to be built.
    GraphCached,
    /// The front end's hardware.
    Window,
    /// Unlimited window, no overhead: the bound on what an order can gain with today's CTA dispatcher.
    Ideal,
}

impl Policy {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Serial,
        Self::Queue,
        Self::StreamsAce,
        Self::Graph,
        Self::GraphCached,
        Self::Window,
        Self::Ideal,
    ];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Queue => "queue",
            Self::StreamsAce => "streams-ace",
            Self::Graph => "graph",
            Self::GraphCached => "graph-cached",
            Self::Window => "window",
            Self::Ideal => "ideal",
        }
    }

    /// The policy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        // As it was called before.
        let name = if name == "streams" { "streams-ace" } else { name };
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a simulation ended early. `Kernels` are named as `17 `gemm``: position in the stream, then name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// A kernel started before one that it depends on had ended.
    #[error(
        "cycle {cycle}: {policy} dispatched kernel {kernel} before kernel {upstream} had ended: {hazard}"
    )]
    OutOfOrder {
        /// When.
        cycle: u64,
        /// Under which policy.
        policy: &'static str,
        /// The kernel that started too early.
        kernel: String,
        /// The kernel that it depends on.
        upstream: String,
        /// One hazard between them.
        hazard: String,
    },
    /// A kernel started twice.
    #[error("cycle {cycle}: {policy} dispatched kernel {kernel} a second time")]
    DispatchedTwice {
        /// When.
        cycle: u64,
        /// Under which policy.
        policy: &'static str,
        /// The kernel.
        kernel: String,
    },
    /// The window dispatched an id that no kernel in it has.
    #[error(
        "cycle {cycle}: {engine} dispatched id {id} from slot {slot}, but no kernel in flight has that id"
    )]
    NotInFlight {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The id.
        id: u8,
        /// The slot.
        slot: u8,
    },
    /// The window dispatched from a slot that does not exist or belongs to another dispatched kernel.
    #[error("cycle {cycle}: {engine} dispatched kernel {kernel} from slot {slot}, which {why}")]
    WrongSlot {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel.
        kernel: String,
        /// The slot.
        slot: u8,
        /// What is wrong with it.
        why: String,
    },
    /// The front end took a kernel whose id an unfinished one still has.
    #[error(
        "cycle {cycle}: {engine} took kernel {kernel} while kernel {other} with the same id is unfinished"
    )]
    IdInUse {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel it took.
        kernel: String,
        /// The unfinished one.
        other: String,
    },
    /// A CTA of a kernel that was not dispatched.
    #[error(
        "cycle {cycle}: {engine} placed a CTA of id {id} in slot {slot} on SM {sm}, but no kernel with that id was dispatched from that slot"
    )]
    UnknownCta {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The id.
        id: u8,
        /// The slot.
        slot: u8,
        /// The SM.
        sm: u8,
    },
    /// A CTA that is not the kernel's next one, on the wrong channel, or on an SM that does not exist.
    #[error("cycle {cycle}: {engine} placed a CTA of kernel {kernel} on SM {sm}: {why}")]
    WrongCta {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel.
        kernel: String,
        /// The SM.
        sm: u8,
        /// What is wrong with it.
        why: String,
    },
    /// A CTA on an SM that has no room for it.
    #[error(
        "cycle {cycle}: {engine} placed a CTA of kernel {kernel} on SM {sm}: it needs {needed} {resource}, {free} are free"
    )]
    NoRoom {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel.
        kernel: String,
        /// The SM.
        sm: u8,
        /// What there is too little of.
        resource: &'static str,
        /// How much a CTA needs.
        needed: u32,
        /// How much the SM has left.
        free: u32,
    },
    /// A CTA that waited was not offered on.
    #[error(
        "cycle {cycle}: {engine} offered CTA {index} of kernel {kernel} for SM {sm} on port {port} before; it was not taken, and the port {why}"
    )]
    OfferChanged {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The CTA port.
        port: usize,
        /// The kernel.
        kernel: String,
        /// Number of the CTA in its grid.
        index: u32,
        /// The SM.
        sm: u8,
        /// What is offered now.
        why: String,
    },
    /// A CTA outside its kernel's SM partition.
    #[error(
        "cycle {cycle}: {engine} placed a CTA of kernel {kernel} on SM {sm}, which is not in partition {partition}"
    )]
    OutsidePartition {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel.
        kernel: String,
        /// The SM.
        sm: u8,
        /// The kernel's partition.
        partition: u8,
    },
    /// The front end did not know the kernel of a CTA that ended.
    #[error("cycle {cycle}: {engine} refused that CTAs had ended: {completions}")]
    CompletionRefused {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernels on the completion ports, with their slots.
        completions: String,
    },
    /// The front end says that no SM can run a kernel that can be run.
    #[error("cycle {cycle}: {engine} refused kernel {kernel} and says that no SM has what a CTA needs")]
    PacketRefused {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The kernel.
        kernel: String,
    },
    /// A kernel retired that was not dispatched, or before the front end had taken all its completions.
    #[error("cycle {cycle}: {engine} retired slot {slot}: {why}")]
    WrongRetirement {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The slot.
        slot: u8,
        /// What is wrong with it.
        why: String,
    },
    /// A counter of the front end is not what was counted on its ports.
    #[error("cycle {cycle}: {engine}: counter {} `{counter:?}` is {got}, on the ports there were {expected}", *counter as u8)]
    Miscounted {
        /// When it was read.
        cycle: u64,
        /// The front end.
        engine: String,
        /// The counter.
        counter: Counter,
        /// What was read.
        got: u64,
        /// What it should be.
        expected: u64,
    },
    /// The front end says of itself what is not so.
    #[error("cycle {cycle}: {engine}: {why}")]
    WrongStatus {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
        /// What it says, and what is so.
        why: String,
    },
    /// The front end moved something in a cycle in which, by its pages, nothing could.
    #[error(
        "cycle {cycle}: {engine} was at rest, but something moved without a cause; --step simulates every cycle and shows what"
    )]
    Restless {
        /// When.
        cycle: u64,
        /// The front end.
        engine: String,
    },
    /// Nothing will ever happen again, and kernels are left.
    #[error("cycle {cycle}: {policy} is stuck: {} never finish{}, the first is {first}; {state}", counted(*left, "kernel"), if *left == 1 { "es" } else { "" })]
    Deadlock {
        /// When.
        cycle: u64,
        /// Under which policy.
        policy: &'static str,
        /// How many kernels have not ended.
        left: usize,
        /// The first of them.
        first: String,
        /// What the host and the front end wait for.
        state: String,
    },
    /// The front end's simulation failed, or two of them disagreed.
    #[error("cycle {cycle}: {engine}: {error}")]
    Engine {
        /// Cycle of the co-simulation; the error's own counts only simulated cycles.
        cycle: u64,
        /// The front end.
        engine: String,
        /// What happened.
        error: CycleError,
    },
    /// The device cannot run a kernel.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The profile's SMs are none that the front end's hardware can count.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A front end that cannot be built.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// An option of the host that cannot be.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The software window was used against its rules: a bug of this crate.
    #[error("software window: {0}; please report this")]
    SoftwareWindow(#[from] WindowError),
    /// An option that cannot be.
    #[error("--{option} {got}: {remedy}")]
    Option {
        /// Its name as on the command line.
        option: &'static str,
        /// What was asked.
        got: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// Traces that run side by side need more memory than there are addresses.
    #[error(
        "trace `{trace}` spans {bytes} bytes; behind the traces before it, from {addr} on, they reach past 2^53; \
         subtract a common base from their addresses, or run fewer traces side by side"
    )]
    PastAddressLimit {
        /// The trace that does not fit.
        trace: String,
        /// From its first address to its last.
        bytes: u64,
        /// Where it would begin.
        addr: u64,
    },
    /// The stream is too long to be simulated.
    #[error("the stream has {kernels} kernels, but at most {} are possible; split the trace", u32::MAX)]
    TooManyKernels {
        /// How many.
        kernels: usize,
    },
}

impl SimError {
    /// A queue to the hardware that holds no packet.
    pub(crate) const NO_FIFO: Self = Self::Option { option: "fifo", got: 0, remedy: "choose 1 or more" };

    /// True where hardware was checked and found wrong; false where the simulation could not be run.
    pub fn is_wrong(&self) -> bool {
        !matches!(
            self,
            Self::Device(_)
                | Self::Profile(_)
                | Self::Params(_)
                | Self::Host(_)
                | Self::SoftwareWindow(_)
                | Self::Option { .. }
                | Self::PastAddressLimit { .. }
                | Self::TooManyKernels { .. }
        )
    }
}

/// The host side of a policy.
pub(crate) trait Host {
    /// These CTAs have ended by cycle `now`, the machine's present one, in which [`Self::cycle`] comes next.
    fn ended(&mut self, _now: u64, _ends: &[CtaEnd]) {}

    /// Acts in the machine's present cycle, in which `done` completed.
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError>;

    /// The next cycle after `now` in which it acts by the clock alone.
    fn next_event(&self, now: u64) -> Option<u64>;

    /// True where it must see the very next cycle, whatever happens: hardware at work.
    fn busy(&self) -> bool {
        false
    }

    /// Counts what moved; only a change matters.
    fn transfers(&self) -> u64 {
        0
    }

    /// The cycle at which the host knows that everything has ended, as soon as that is certain.
    fn finished_at(&self) -> Option<u64>;

    /// What it waits for, in words.
    fn state(&self) -> String;
}

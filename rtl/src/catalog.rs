//! Every block by name: its parameters, its hardware, its golden model.
//!
//! Sizes are const generics in rust-hdl; this is the one place that turns a size known at run time into a type.

use crate::flat::{FlatPorts, RustHdlSim};
use crate::kernel_scheduler::model::FlatScheduler;
use crate::kernel_scheduler::{ListIdsScheduler, ListMaskScheduler, MatrixIdsScheduler, MatrixMaskScheduler};
use crate::model::CycleModel;
use crate::params::{
    Encoding, ParamError, PickerParams, SCHEDULED_MASK, SchedulerParams, UpstreamParams, WINDOW_SLOTS,
    WindowKind, WindowParams,
};
use crate::parts::models::PartModel;
use crate::parts::{FindFirst, OldestFirst, RoundRobin};
use crate::port::Port;
use crate::upstream_load::model::FlatUpstreamLoad;
use crate::upstream_load::{UpstreamLoadIds, UpstreamLoadMask};
use crate::window::model::FlatWindow;
use crate::window_list::WindowList;
use crate::window_matrix::WindowMatrix;
use rust_hdl::prelude::Block;

/// Names of all blocks, as `windlass gen --block` takes them.
pub const BLOCKS: [&str; 7] = [
    "find_first",
    "round_robin",
    "oldest_first",
    "window_matrix",
    "window_list",
    "upstream_load",
    "kernel_scheduler",
];

/// The parameters that the block called `name` has, as on the command line.
///
/// With the `mask` encoding there are no lanes.
pub fn parameters(name: &str, encoding: Encoding) -> Result<Vec<&'static str>, ParamError> {
    let upstream: &[&str] = match encoding {
        Encoding::Ids { .. } => &["scheduled", "encoding", "lanes"],
        Encoding::Mask => &["scheduled", "encoding"],
    };
    let mut all = vec!["slots"];
    match name {
        "find_first" | "round_robin" | "oldest_first" => {}
        "window_matrix" | "window_list" => all.push("retire-ports"),
        "upstream_load" => all.extend(upstream),
        "kernel_scheduler" => {
            all.extend(["window", "retire-ports"]);
            all.extend(upstream);
        }
        _ => return Err(ParamError::NoSuchBlock { got: name.to_string(), possible: BLOCKS.join(", ") }),
    }
    Ok(all)
}

/// A block with its parameters: what can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockSpec {
    /// Find-first.
    FindFirst(PickerParams),
    /// Round-robin picker.
    RoundRobin(PickerParams),
    /// Oldest-first picker.
    OldestFirst(PickerParams),
    /// A scheduling window.
    Window {
        /// Matrix or list.
        kind: WindowKind,
        /// Its parameters.
        params: WindowParams,
    },
    /// The upstream load module.
    UpstreamLoad(UpstreamParams),
    /// Both.
    KernelScheduler(SchedulerParams),
}

/// What one asks for by name; every parameter has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Window slots, or requests of a picker.
    pub slots: usize,
    /// Matrix or list, for `kernel_scheduler`.
    pub window: WindowKind,
    /// Retire ports of a window.
    pub retire_ports: usize,
    /// Length M of the scheduled list.
    pub scheduled: usize,
    /// How the host says what a kernel waits for.
    pub encoding: Encoding,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            slots: 32,
            window: WindowKind::Matrix,
            retire_ports: 2,
            scheduled: 128,
            encoding: Encoding::Ids { lanes: 4 },
        }
    }
}

/// Runs `$body` with the constants `$n` and `$ln` for a window of `$slots`.
macro_rules! with_slots {
    ($slots:expr, |$n:ident, $ln:ident| $body:expr) => {
        with_slots!(@ $slots, $n, $ln, $body, 4 2, 8 3, 16 4, 24 5, 32 5, 48 6, 64 6, 96 7, 128 7)
    };
    (@ $slots:expr, $n:ident, $ln:ident, $body:expr, $($size:literal $bits:literal),*) => {
        match $slots {
            $($size => {
                const $n: usize = $size;
                #[allow(dead_code)]
                const $ln: usize = $bits;
                $body
            })*
            other => unreachable!("window size {other} was checked before"),
        }
    };
}

/// Runs `$body` with the constant `$m` for a mask of `$bits`.
macro_rules! with_mask {
    ($bits:expr, |$m:ident| $body:expr) => {
        with_mask!(@ $bits, $m, $body, 8, 16, 32, 64, 128, 255)
    };
    (@ $bits:expr, $m:ident, $body:expr, $($size:literal),*) => {
        match $bits {
            $($size => {
                const $m: usize = $size;
                $body
            })*
            other => unreachable!("mask size {other} was checked before"),
        }
    };
}

/// Runs `$body` with `$block` bound to a function that makes the hardware of `$spec`, whatever its type.
///
/// A function, not the hardware: otherwise the frame of the caller would hold every block at every size.
macro_rules! with_hardware {
    ($spec:expr, |$block:ident| $body:expr) => {
        match $spec {
            BlockSpec::FindFirst(params) => with_slots!(params.requests(), |N, LN| {
                let $block = || FindFirst::<N>::default();
                $body
            }),
            BlockSpec::RoundRobin(params) => with_slots!(params.requests(), |N, LN| {
                let $block = || RoundRobin::<N>::default();
                $body
            }),
            BlockSpec::OldestFirst(params) => with_slots!(params.requests(), |N, LN| {
                let $block = || OldestFirst::<N>::default();
                $body
            }),
            BlockSpec::Window { kind: WindowKind::Matrix, params } => with_slots!(params.slots(), |N, LN| {
                let $block = || WindowMatrix::<N, LN>::new(params);
                $body
            }),
            BlockSpec::Window { kind: WindowKind::List, params } => with_slots!(params.slots(), |N, LN| {
                let $block = || WindowList::<N, LN>::new(params);
                $body
            }),
            BlockSpec::UpstreamLoad(params) => with_slots!(params.slots(), |N, LN| {
                match params.encoding() {
                    Encoding::Ids { lanes } => {
                        let $block = || UpstreamLoadIds::<N>::new(params, lanes);
                        $body
                    }
                    Encoding::Mask => with_mask!(params.scheduled(), |M| {
                        let $block = || UpstreamLoadMask::<N, M>::new(params);
                        $body
                    }),
                }
            }),
            BlockSpec::KernelScheduler(params) => with_slots!(params.window().slots(), |N, LN| {
                match (params.kind(), params.upstream().encoding()) {
                    (WindowKind::Matrix, Encoding::Ids { .. }) => {
                        let $block = || MatrixIdsScheduler::<N, LN>::new(params);
                        $body
                    }
                    (WindowKind::List, Encoding::Ids { .. }) => {
                        let $block = || ListIdsScheduler::<N, LN>::new(params);
                        $body
                    }
                    (WindowKind::Matrix, Encoding::Mask) => with_mask!(params.upstream().scheduled(), |M| {
                        let $block = || MatrixMaskScheduler::<N, LN, M>::new(params);
                        $body
                    }),
                    (WindowKind::List, Encoding::Mask) => with_mask!(params.upstream().scheduled(), |M| {
                        let $block = || ListMaskScheduler::<N, LN, M>::new(params);
                        $body
                    }),
                }
            }),
        }
    };
}

impl BlockSpec {
    /// The block called `name`, with the parameters of `request` that it has.
    pub fn new(name: &str, request: Request) -> Result<Self, ParamError> {
        let Request { slots, window, retire_ports, scheduled, encoding } = request;
        let picker = || PickerParams::new(slots);
        match name {
            "find_first" => picker().map(Self::FindFirst),
            "round_robin" => picker().map(Self::RoundRobin),
            "oldest_first" => picker().map(Self::OldestFirst),
            "window_matrix" => {
                Ok(Self::Window { kind: WindowKind::Matrix, params: WindowParams::new(slots, retire_ports)? })
            }
            "window_list" => {
                Ok(Self::Window { kind: WindowKind::List, params: WindowParams::new(slots, retire_ports)? })
            }
            "upstream_load" => UpstreamParams::new(slots, scheduled, encoding).map(Self::UpstreamLoad),
            "kernel_scheduler" => SchedulerParams::new(window, slots, retire_ports, scheduled, encoding)
                .map(Self::KernelScheduler),
            _ => Err(ParamError::NoSuchBlock { got: name.to_string(), possible: BLOCKS.join(", ") }),
        }
    }

    /// Every block at every window size: `ids` with 4 lanes and M = 128, every mask, retire ports as by default.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for slots in WINDOW_SLOTS {
            for window in [WindowKind::Matrix, WindowKind::List] {
                let ids = Request { slots, window, ..Request::default() };
                all.extend(BLOCKS.iter().filter_map(|name| Self::new(name, ids).ok()));
                for scheduled in SCHEDULED_MASK {
                    let mask = Request { scheduled, encoding: Encoding::Mask, ..ids };
                    all.extend(Self::new("upstream_load", mask));
                    all.extend(Self::new("kernel_scheduler", mask));
                }
            }
        }
        let mut seen = std::collections::HashSet::new();
        all.retain(|spec| seen.insert(*spec));
        all
    }

    /// The block's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::FindFirst(_) => "find_first",
            Self::RoundRobin(_) => "round_robin",
            Self::OldestFirst(_) => "oldest_first",
            Self::Window { kind: WindowKind::Matrix, .. } => "window_matrix",
            Self::Window { kind: WindowKind::List, .. } => "window_list",
            Self::UpstreamLoad(_) => "upstream_load",
            Self::KernelScheduler(_) => "kernel_scheduler",
        }
    }

    /// Window slots, or requests of a picker.
    pub fn slots(self) -> usize {
        match self {
            Self::FindFirst(p) | Self::RoundRobin(p) | Self::OldestFirst(p) => p.requests(),
            Self::Window { params, .. } => params.slots(),
            Self::UpstreamLoad(params) => params.slots(),
            Self::KernelScheduler(params) => params.window().slots(),
        }
    }

    /// The hardware, connected, for the emitter.
    pub fn hardware(self) -> Box<dyn Block> {
        with_hardware!(self, |block| connected(block))
    }

    /// The hardware in rust-hdl's simulator.
    pub fn simulation(self) -> Box<dyn CycleModel> {
        with_hardware!(self, |block| simulated(block))
    }

    /// The ports, the clock included, in the order of the hardware.
    pub fn ports(self) -> Vec<Port> {
        with_hardware!(self, |block| ports_of(block))
    }

    /// The golden model.
    pub fn model(self) -> Box<dyn CycleModel> {
        let ports = self.ports();
        let model: Result<Box<dyn CycleModel>, String> = match self {
            Self::FindFirst(params) => Ok(Box::new(PartModel::find_first(params.requests(), ports))),
            Self::RoundRobin(params) => Ok(Box::new(PartModel::round_robin(params.requests(), ports))),
            Self::OldestFirst(params) => Ok(Box::new(PartModel::oldest_first(params.requests(), ports))),
            Self::Window { kind, params } => {
                FlatWindow::new(kind, params, ports).map(|m| Box::new(m) as Box<dyn CycleModel>)
            }
            Self::UpstreamLoad(params) => {
                FlatUpstreamLoad::new(params, ports).map(|m| Box::new(m) as Box<dyn CycleModel>)
            }
            Self::KernelScheduler(params) => {
                FlatScheduler::new(params, ports).map(|m| Box::new(m) as Box<dyn CycleModel>)
            }
        };
        model.unwrap_or_else(|message| unreachable!("the hardware's own ports: {message}"))
    }
}

#[inline(never)]
fn connected<B: Block + 'static>(new: impl FnOnce() -> B) -> Box<dyn Block> {
    let mut block = Box::new(new());
    block.connect_all();
    block
}

#[inline(never)]
fn simulated<B: FlatPorts + 'static>(new: impl FnOnce() -> B) -> Box<dyn CycleModel> {
    Box::new(RustHdlSim::new(new()))
}

#[inline(never)]
fn ports_of<B: FlatPorts>(new: impl FnOnce() -> B) -> Vec<Port> {
    new().ports()
}

//! Every block by name: its parameters, its hardware, its golden model.
//!
//! Sizes are const generics in rust-hdl; this is the one place that turns a size known at run time into a type.

use rust_hdl::prelude::Block;
use std::fmt::Display;
use windlass_rtl::cta_arbiter_typed::CtaArbiter;
use windlass_rtl::cta_arbiter_typed::model::FlatArbiter;
use windlass_rtl::flat::{FlatPorts, RustHdlSim};
use windlass_rtl::front_end::model::FlatFrontEnd;
use windlass_rtl::front_end::{ListIdsFrontEnd, ListMaskFrontEnd, MatrixIdsFrontEnd, MatrixMaskFrontEnd};
use windlass_rtl::kernel_scheduler::model::FlatScheduler;
use windlass_rtl::kernel_scheduler::{
    ListIdsScheduler, ListMaskScheduler, MatrixIdsScheduler, MatrixMaskScheduler,
};
use windlass_rtl::kernel_table::KernelTable;
use windlass_rtl::kernel_table::model::FlatTable;
use windlass_rtl::model::{Checked, CycleModel};
use windlass_rtl::params::{
    ACTIVE_KERNELS, ArbiterKind, DispatchParams, Encoding, FrontEndParams, PLACES, ParamError, PickerParams,
    ROUND_ROBIN_REQUESTS, Requesters, RoundRobinParams, SCHEDULED_MASK, SM_SIZES, SchedulerParams, SmLimits,
    SmParams, TableParams, UpstreamParams, WINDOW_SLOTS, WindowKind, WindowParams,
};
use windlass_rtl::parts::models::{PartModel, RoundRobinModel};
use windlass_rtl::parts::{FindFirst, OldestFirst, RoundRobin};
use windlass_rtl::port::Port;
use windlass_rtl::sm_occupancy::SmOccupancy;
use windlass_rtl::sm_occupancy::model::FlatOccupancy;
use windlass_rtl::sm_partitions::SmPartitions;
use windlass_rtl::sm_partitions::model::FlatPartitions;
use windlass_rtl::upstream_load::model::FlatUpstreamLoad;
use windlass_rtl::upstream_load::{UpstreamLoadIds, UpstreamLoadMask};
use windlass_rtl::window::model::FlatWindow;
use windlass_rtl::window_list::WindowList;
use windlass_rtl::window_matrix::WindowMatrix;

/// Names of all blocks, as `windlass gen --block` takes them.
pub const BLOCKS: [&str; 13] = [
    "find_first",
    "round_robin",
    "oldest_first",
    "window_matrix",
    "window_list",
    "upstream_load",
    "kernel_scheduler",
    "kernel_table",
    "sm_occupancy",
    "sm_partitions",
    "cta_arbiter_single",
    "cta_arbiter_typed",
    "front_end",
];

/// The parameters that the block called `name` has, as on the command line.
///
/// With the `mask` encoding there are no lanes.
pub fn parameters(name: &str, encoding: Encoding) -> Result<Vec<&'static str>, ParamError> {
    let upstream: &[&str] = match encoding {
        Encoding::Ids { .. } => &["scheduled", "encoding", "lanes"],
        Encoding::Mask => &["scheduled", "encoding"],
    };
    let scheduler = [&["slots", "window", "retire-ports", "pipelined"], upstream].concat();
    let limits = ["sm-ctas", "sm-warps", "sm-registers", "sm-smem"];
    Ok(match name {
        "find_first" | "round_robin" | "oldest_first" => vec!["slots"],
        "window_matrix" => vec!["slots", "retire-ports", "pipelined"],
        "window_list" => vec!["slots", "retire-ports"],
        "upstream_load" => [&["slots"], upstream].concat(),
        "kernel_scheduler" => scheduler,
        "kernel_table" => vec!["slots", "retire-ports", "arbiter"],
        "sm_occupancy" => [&["sms", "arbiter", "hold-idle"][..], &limits].concat(),
        "sm_partitions" => vec!["sms", "arbiter", "hold-idle"],
        "cta_arbiter_single" => vec!["slots", "sms", "places", "hold-idle"],
        "cta_arbiter_typed" => vec!["slots", "sms", "active", "places", "hold-idle"],
        "front_end" => {
            [&scheduler[..], &["sms", "arbiter", "active", "places", "hold-idle"], &limits].concat()
        }
        _ => return Err(ParamError::NoSuchBlock { got: name.to_string(), possible: BLOCKS.join(", ") }),
    })
}

/// A block with its parameters: what can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockSpec {
    /// Find-first.
    FindFirst(PickerParams),
    /// Round-robin picker.
    RoundRobin(RoundRobinParams),
    /// Oldest-first picker.
    OldestFirst(PickerParams),
    /// A scheduling window.
    Window {
        /// Matrix or list.
        kind: WindowKind,
        /// Its parameters; a list has no pipeline, whatever they say.
        params: WindowParams,
    },
    /// The upstream load module.
    UpstreamLoad(UpstreamParams),
    /// Both.
    KernelScheduler(SchedulerParams),
    /// The table of kernels in flight.
    KernelTable(TableParams),
    /// The SM array.
    SmOccupancy {
        /// Its SMs.
        params: SmParams,
        /// Kinds of CTA that are looked at in one cycle.
        requesters: Requesters,
    },
    /// The partitions of an SM array.
    SmPartitions {
        /// Its SMs.
        params: SmParams,
        /// Kinds of CTA that are looked at in one cycle.
        requesters: Requesters,
    },
    /// A CTA arbiter, single or typed.
    CtaArbiter(DispatchParams),
    /// All of it.
    FrontEnd(FrontEndParams),
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
    /// One pipeline stage more in a matrix window.
    pub pipelined: bool,
    /// Length M of the scheduled list.
    pub scheduled: usize,
    /// How the host says what a kernel waits for.
    pub encoding: Encoding,
    /// SMs.
    pub sms: usize,
    /// What each of them has.
    pub limits: SmLimits,
    /// How CTAs are given to them; for the blocks of the SM array: whether one kind of CTA is looked at in a cycle, or two.
    pub arbiter: ArbiterKind,
    /// CTAs of one kernel that an arbiter places in one cycle.
    pub places: usize,
    /// The SMs stand still while nothing is asked of them, instead of going round always.
    pub hold_idle: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            slots: 32,
            window: WindowKind::Matrix,
            retire_ports: 2,
            pipelined: false,
            scheduled: 128,
            encoding: Encoding::Ids { lanes: 4 },
            sms: 132,
            limits: SmLimits::H100,
            arbiter: ArbiterKind::Typed { active: 2 },
            places: 1,
            hold_idle: false,
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
                #[allow(dead_code)]
                const $n: usize = $size;
                #[allow(dead_code)]
                const $ln: usize = $bits;
                $body
            })*
            other => unreachable!("window size {other} was checked before"),
        }
    };
}

/// Runs `$body` with the constants `$n`, `$w` and `$g` for a round robin of `$requests`, in `$g` groups of `$w`.
macro_rules! with_requests {
    ($requests:expr, |$n:ident, $w:ident, $g:ident| $body:expr) => {
        with_requests!(@ $requests, $n, $w, $g, $body,
            4 2 2, 8 4 2, 16 4 4, 24 6 4, 28 7 4, 32 8 4, 46 8 6, 48 8 6, 64 8 8, 96 12 8, 108 12 9, 128 12 11, 132 12 11,
            144 12 12, 192 16 12)
    };
    (@ $requests:expr, $n:ident, $w:ident, $g:ident, $body:expr, $($size:literal $width:literal $groups:literal),*) => {
        match $requests {
            $($size => {
                const $n: usize = $size;
                const $w: usize = $width;
                const $g: usize = $groups;
                $body
            })*
            other => unreachable!("{other} requests were checked before"),
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

/// The same for a front end, of which fewer sizes are compiled in: each costs seconds of compile time.
macro_rules! with_front_end_mask {
    ($bits:expr, |$m:ident| $body:expr) => {
        with_mask!(@ $bits, $m, $body, 32, 128)
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
            BlockSpec::RoundRobin(params) => with_requests!(params.requests(), |N, W, G| {
                let $block = || RoundRobin::<N, W, G>::default();
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
                let $block = || WindowList::<N, LN>::new(params.with_pipeline(false));
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
            BlockSpec::KernelTable(params) => with_slots!(params.slots(), |N, LN| {
                let $block = || KernelTable::<N, LN>::new(params);
                $body
            }),
            BlockSpec::SmOccupancy { params, requesters } => {
                let $block = || SmOccupancy::new(params, requesters);
                $body
            }
            BlockSpec::SmPartitions { params, requesters } => {
                let $block = || SmPartitions::new(params, requesters);
                $body
            }
            BlockSpec::CtaArbiter(params) => with_slots!(params.slots(), |N, LN| {
                let $block = || CtaArbiter::<LN>::new(params);
                $body
            }),
            BlockSpec::FrontEnd(params) => with_slots!(params.dispatch().slots(), |N, LN| {
                match (params.scheduler().kind(), params.scheduler().upstream().encoding()) {
                    (WindowKind::Matrix, Encoding::Ids { .. }) => {
                        let $block = || MatrixIdsFrontEnd::<N, LN>::new(params);
                        $body
                    }
                    (WindowKind::List, Encoding::Ids { .. }) => {
                        let $block = || ListIdsFrontEnd::<N, LN>::new(params);
                        $body
                    }
                    (WindowKind::Matrix, Encoding::Mask) => {
                        with_front_end_mask!(params.scheduler().upstream().scheduled(), |M| {
                            let $block = || MatrixMaskFrontEnd::<N, LN, M>::new(params);
                            $body
                        })
                    }
                    (WindowKind::List, Encoding::Mask) => {
                        with_front_end_mask!(params.scheduler().upstream().scheduled(), |M| {
                            let $block = || ListMaskFrontEnd::<N, LN, M>::new(params);
                            $body
                        })
                    }
                }
            }),
        }
    };
}

impl BlockSpec {
    /// The block called `name`, with the parameters of `request` that it has.
    pub fn new(name: &str, request: Request) -> Result<Self, ParamError> {
        let Request {
            slots,
            window,
            retire_ports,
            pipelined,
            scheduled,
            encoding,
            sms,
            limits,
            arbiter,
            places,
            hold_idle,
        } = request;
        let picker = || PickerParams::new(slots);
        let scheduler = || {
            SchedulerParams::new(window, slots, retire_ports, scheduled, encoding)?.with_pipeline(pipelined)
        };
        let sms = || SmParams::new(sms, limits).map(|sms| sms.with_hold(hold_idle));
        let requesters = arbiter.requesters();
        let cta_arbiter =
            |arbiter| DispatchParams::new(arbiter, slots, sms()?)?.with_places(places).map(Self::CtaArbiter);
        match name {
            "find_first" => picker().map(Self::FindFirst),
            "round_robin" => RoundRobinParams::new(slots).map(Self::RoundRobin),
            "oldest_first" => picker().map(Self::OldestFirst),
            "window_matrix" => {
                let params = WindowParams::new(slots, retire_ports)?.with_pipeline(pipelined);
                Ok(Self::Window { kind: WindowKind::Matrix, params })
            }
            "window_list" => {
                Ok(Self::Window { kind: WindowKind::List, params: WindowParams::new(slots, retire_ports)? })
            }
            "upstream_load" => UpstreamParams::new(slots, scheduled, encoding).map(Self::UpstreamLoad),
            "kernel_scheduler" => scheduler().map(Self::KernelScheduler),
            "kernel_table" => {
                TableParams::new(slots, retire_ports, requesters.count()).map(Self::KernelTable)
            }
            "sm_occupancy" => Ok(Self::SmOccupancy { params: sms()?, requesters }),
            "sm_partitions" => Ok(Self::SmPartitions { params: sms()?, requesters }),
            "cta_arbiter_single" => cta_arbiter(ArbiterKind::Single),
            "cta_arbiter_typed" => {
                let active = if let ArbiterKind::Typed { active } = arbiter { active } else { 1 };
                cta_arbiter(ArbiterKind::Typed { active })
            }
            "front_end" => {
                // Before the scheduler's own list, which is longer.
                FrontEndParams::check_scheduled(scheduled, encoding)?;
                FrontEndParams::new(scheduler()?, arbiter, sms()?)?.with_places(places).map(Self::FrontEnd)
            }
            _ => Err(ParamError::NoSuchBlock { got: name.to_string(), possible: BLOCKS.join(", ") }),
        }
    }

    /// Every block at every window size and at every number of SMs of [`SM_SIZES`]: `ids` with 4 lanes and M = 128, every mask, every
    /// arbiter, retire ports as by default; with several places per arbiter for 8 and 132 SMs, with SMs that stand still while nothing is asked of them for 8. The front end, which is made of the others, at each of these sizes with the other small.
    pub fn all() -> Vec<Self> {
        let small = Request { slots: 8, sms: 8, ..Request::default() };
        let mut requests = Vec::new();
        let arbiters = || {
            let typed = ACTIVE_KERNELS.map(|active| ArbiterKind::Typed { active });
            std::iter::once(ArbiterKind::Single).chain(typed)
        };
        for arbiter in arbiters() {
            requests.extend(WINDOW_SLOTS.map(|slots| Request { slots, arbiter, ..small }));
            requests.extend(SM_SIZES.map(|sms| Request { sms, arbiter, ..small }));
            for places in PLACES {
                requests.extend([8, 132].map(|sms| Request { sms, arbiter, places, ..small }));
            }
        }
        for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 2 }] {
            requests.push(Request { arbiter, hold_idle: true, ..small });
        }
        for slots in WINDOW_SLOTS {
            requests.push(Request { slots, window: WindowKind::List, ..small });
        }
        let mut all = Vec::new();
        for request in requests {
            all.extend(BLOCKS.iter().filter_map(|name| Self::new(name, request).ok()));
        }
        for slots in WINDOW_SLOTS {
            for window in [WindowKind::Matrix, WindowKind::List] {
                for scheduled in SCHEDULED_MASK {
                    let mask = Request { slots, window, scheduled, encoding: Encoding::Mask, ..small };
                    all.extend(Self::new("upstream_load", mask));
                    all.extend(Self::new("kernel_scheduler", mask));
                    if slots == 8 {
                        all.extend(Self::new("front_end", mask));
                    }
                }
            }
        }
        let round_robins = ROUND_ROBIN_REQUESTS.map(|slots| Request { slots, ..small });
        all.extend(round_robins.iter().filter_map(|request| Self::new("round_robin", *request).ok()));
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
            Self::KernelTable(_) => "kernel_table",
            Self::SmOccupancy { .. } => "sm_occupancy",
            Self::SmPartitions { .. } => "sm_partitions",
            Self::CtaArbiter(params) => match params.arbiter() {
                ArbiterKind::Single => "cta_arbiter_single",
                ArbiterKind::Typed { .. } => "cta_arbiter_typed",
            },
            Self::FrontEnd(_) => "front_end",
        }
    }

    /// What commands take to name this block: `--block`, and every parameter that it has.
    pub fn arguments(self) -> Vec<String> {
        let mut all = vec!["--block".to_string(), self.name().to_string()];
        let mut add = |option: &str, value: &dyn Display| match value.to_string().as_str() {
            // A flag is there or not.
            "false" => {}
            "true" => all.push(format!("--{option}")),
            value => all.extend([format!("--{option}"), value.to_string()]),
        };
        match self {
            Self::FindFirst(p) | Self::OldestFirst(p) => add("slots", &p.requests()),
            Self::RoundRobin(p) => add("slots", &p.requests()),
            Self::Window { kind, params } => {
                window_arguments(
                    params.with_pipeline(kind == WindowKind::Matrix && params.pipelined()),
                    &mut add,
                );
            }
            Self::UpstreamLoad(params) => {
                add("slots", &params.slots());
                upstream_arguments(params, &mut add);
            }
            Self::KernelScheduler(params) => scheduler_arguments(params, &mut add),
            Self::KernelTable(params) => {
                add("slots", &params.slots());
                add("retire-ports", &params.retire_ports());
                add("arbiter", &asks(params.queues()));
            }
            Self::SmOccupancy { params, requesters } => {
                sm_arguments(params, true, &mut add);
                add("arbiter", &asks(requesters.count()));
            }
            Self::SmPartitions { params, requesters } => {
                sm_arguments(params, false, &mut add);
                add("arbiter", &asks(requesters.count()));
            }
            Self::CtaArbiter(params) => {
                add("slots", &params.slots());
                sm_arguments(params.sms(), false, &mut add);
                if let ArbiterKind::Typed { active } = params.arbiter() {
                    add("active", &active);
                }
                add("places", &params.places());
            }
            Self::FrontEnd(params) => {
                let dispatch = params.dispatch();
                scheduler_arguments(params.scheduler(), &mut add);
                sm_arguments(dispatch.sms(), true, &mut add);
                add("arbiter", &dispatch.arbiter().name());
                if let ArbiterKind::Typed { active } = dispatch.arbiter() {
                    add("active", &active);
                }
                add("places", &dispatch.places());
            }
        }
        all
    }

    /// Window slots, or requests of a picker, or SMs where there are more of them: how large a simulation is.
    pub fn size(self) -> usize {
        match self {
            Self::FindFirst(p) | Self::OldestFirst(p) => p.requests(),
            Self::RoundRobin(p) => p.requests(),
            Self::Window { params, .. } => params.slots(),
            Self::UpstreamLoad(params) => params.slots(),
            Self::KernelScheduler(params) => params.window().slots(),
            Self::KernelTable(params) => params.slots(),
            Self::SmOccupancy { params, .. } | Self::SmPartitions { params, .. } => params.sms(),
            Self::CtaArbiter(params) => params.slots().max(params.sms().sms()),
            Self::FrontEnd(params) => params.dispatch().slots().max(params.dispatch().sms().sms()),
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

    /// The block's golden model: plain Rust that does cycle by cycle what the hardware is to do.
    pub fn model(self) -> Box<dyn CycleModel> {
        let ports = self.ports();
        let model = match self {
            Self::FindFirst(params) => Ok(boxed(PartModel::find_first(params.requests(), ports))),
            Self::RoundRobin(params) => Ok(boxed(RoundRobinModel::new(params.requests(), ports))),
            Self::OldestFirst(params) => Ok(boxed(PartModel::oldest_first(params.requests(), ports))),
            Self::Window { kind, params } => FlatWindow::new(kind, params, ports).map(boxed),
            Self::UpstreamLoad(params) => FlatUpstreamLoad::new(params, ports).map(boxed),
            Self::KernelScheduler(params) => FlatScheduler::new(params, ports).map(boxed),
            Self::KernelTable(params) => FlatTable::new(params, ports).map(boxed),
            Self::SmOccupancy { params, requesters } => {
                FlatOccupancy::new(params, requesters, ports).map(boxed)
            }
            Self::SmPartitions { params, requesters } => {
                FlatPartitions::new(params, requesters, ports).map(boxed)
            }
            Self::CtaArbiter(params) => FlatArbiter::new(params, ports).map(boxed),
            Self::FrontEnd(params) => FlatFrontEnd::new(params, ports).map(boxed),
        };
        model.unwrap_or_else(|message| unreachable!("the hardware's own ports: {message}"))
    }
}

/// Takes an option and its value.
type Add<'a> = dyn FnMut(&str, &dyn Display) + 'a;

/// The arbiter that looks at so many kinds of CTA in one cycle.
fn asks(kinds: usize) -> &'static str {
    if kinds == 1 { "single" } else { "typed" }
}

fn window_arguments(params: WindowParams, add: &mut Add) {
    add("slots", &params.slots());
    add("retire-ports", &params.retire_ports());
    add("pipelined", &params.pipelined());
}

fn upstream_arguments(params: UpstreamParams, add: &mut Add) {
    add("scheduled", &params.scheduled());
    add("encoding", &params.encoding().name());
    if let Encoding::Ids { lanes } = params.encoding() {
        add("lanes", &lanes);
    }
}

fn scheduler_arguments(params: SchedulerParams, add: &mut Add) {
    window_arguments(params.window(), add);
    add("window", &params.kind().name());
    upstream_arguments(params.upstream(), add);
}

fn sm_arguments(params: SmParams, limits: bool, add: &mut Add) {
    add("sms", &params.sms());
    add("hold-idle", &params.holds());
    if limits {
        let of_each = params.limits();
        add("sm-ctas", &of_each.ctas());
        add("sm-warps", &of_each.warps());
        add("sm-registers", &of_each.registers());
        add("sm-smem", &of_each.smem());
    }
}

fn boxed<M: CycleModel + 'static>(model: M) -> Box<dyn CycleModel> {
    Box::new(Checked::new(model))
}

#[inline(never)]
fn connected<B: Block + 'static>(new: impl FnOnce() -> B) -> Box<dyn Block> {
    let mut block = Box::new(new());
    block.connect_all();
    block
}

#[inline(never)]
fn simulated<B: FlatPorts + 'static>(new: impl FnOnce() -> B) -> Box<dyn CycleModel> {
    boxed(RustHdlSim::new(new()))
}

#[inline(never)]
fn ports_of<B: FlatPorts>(new: impl FnOnce() -> B) -> Vec<Port> {
    new().ports()
}

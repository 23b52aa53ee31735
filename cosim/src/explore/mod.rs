//! The design space: every front end of a grid synthesized and co-simulated on every workload, and which of them to build.
//!
//! [`explore`] does the work, piece by piece (one synthesis per design, one co-simulation per design and workload), and keeps each
//! finished piece in the output directory. [`Report`] is made from the pieces alone, so that a run that was interrupted and
//! continued gives the same bytes as one that was not.

pub mod advice;
pub mod cost;
pub mod figure;
pub mod render;
mod report;
mod store;
mod work;

pub use cost::{Cost, Effort, Synthesis};
pub use report::{FORMAT_VERSION, PointReport, Report};
pub use work::{Event, explore};

use crate::engine::DispatcherKind;
use crate::policy::Stream;
use crate::profile::Profile;
use crate::run::{MAX_MHZ, arbiter_name};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use thiserror::Error;
use windlass_gen::cache::hex;
use windlass_gen::rtl::Rtl;
use windlass_gen::table::counted;
use windlass_rtl::params::{ArbiterKind, FrontEndParams, SchedulerParams, WindowKind};

/// A front end of the grid. The order is that of all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Design {
    /// SMs.
    pub sms: u32,
    /// Slots N.
    pub slots: usize,
    /// Which window.
    pub window: WindowKind,
    /// Which CTA arbiter.
    pub arbiter: ArbiterKind,
    /// CTAs of one kernel that it places in one cycle.
    pub places: usize,
    /// Its place in [`Exploration::own`], where it is not generated.
    pub own: Option<usize>,
}

impl Design {
    /// Every combination that is generated, each once, in order.
    pub fn grid(
        sms: &[u32],
        slots: &[usize],
        windows: &[WindowKind],
        arbiters: &[ArbiterKind],
        places: &[usize],
    ) -> Vec<Self> {
        let mut designs = Vec::new();
        for &sms in sms {
            for &slots in slots {
                for &window in windows {
                    for &arbiter in arbiters {
                        designs.extend(places.iter().map(|&places| Self {
                            sms,
                            slots,
                            window,
                            arbiter,
                            places,
                            own: None,
                        }));
                    }
                }
            }
        }
        designs.sort_unstable();
        designs.dedup();
        designs
    }

    /// That of somebody's own front end, which has the place `own` among them.
    pub fn of(params: FrontEndParams, own: usize) -> Self {
        let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
        Self {
            sms: dispatch.sms().sms() as u32,
            slots: scheduler.window().slots(),
            window: scheduler.kind(),
            arbiter: dispatch.arbiter(),
            places: dispatch.places(),
            own: Some(own),
        }
    }
}

/// A front end that is not generated: somebody's own RTL.
#[derive(Clone, Debug)]
pub struct Own {
    /// What tables call it.
    pub name: String,
    /// Its Verilog.
    pub rtl: Rtl,
    /// What it is.
    pub params: FrontEndParams,
}

/// A kernel stream to co-simulate.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What tables call it.
    pub name: String,
    /// SHA-256 of the trace, in hexadecimal.
    pub sha256: String,
    /// The kernels.
    pub stream: Stream,
}

impl Workload {
    /// The stream of a trace that has these bytes.
    pub fn new(stream: Stream, trace: &[u8]) -> Self {
        Self { name: stream.name().into(), sha256: hex(&Sha256::digest(trace)), stream }
    }
}

/// The clock of front ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontEndClock {
    /// That of the SMs.
    #[default]
    Sms,
    /// So many MHz: [`crate::run::CoSimulation::front_end_mhz`].
    Mhz(u32),
    /// Of each design what its netlist reaches, the one whose area counts.
    Own,
}

/// What makes the scheduler of a window and its size; it knows the parameters that are not explored.
pub type MakeScheduler<'a> = &'a (dyn Fn(WindowKind, usize) -> Result<SchedulerParams, String> + Sync);

/// What to explore: designs, workloads, and all that is the same for every pair of them.
pub struct Exploration<'a> {
    /// The GPU; a design with another number of SMs is simulated on this profile with that number.
    pub profile: Profile,
    /// The designs.
    pub designs: Vec<Design>,
    /// Those of them that are not generated; names differ.
    pub own: Vec<Own>,
    /// Simulate every cycle of those: [`crate::run::CoSimulation::step`].
    pub step_own: bool,
    /// Makes their schedulers.
    pub scheduler: MakeScheduler<'a>,
    /// What they run; names differ.
    pub workloads: Vec<Workload>,
    /// What carries out the front end.
    pub dispatcher: DispatcherKind,
    /// The clock of the front ends.
    pub clock: FrontEndClock,
    /// Their SM arrays stand still while nothing is asked of them: [`crate::run::CoSimulation::hold_idle`].
    pub hold_idle: bool,
    /// The host pays a driver launch for every kernel: [`crate::run::CoSimulation::driver_launch`].
    pub driver_launch: bool,
    /// [`crate::run::CoSimulation::kernel_end_ns`].
    pub kernel_end_ns: u64,
    /// These and whatever was done to the workloads before, as part of a sentence; empty where all is as by default.
    pub conditions: String,
    /// How to synthesize, if at all.
    pub synthesis: Option<Synthesis>,
    /// The share of the best gain that the design to build must keep, 0 to 1.
    pub keep: f64,
    /// Where finished pieces are kept, in a folder `points`.
    pub out: PathBuf,
    /// Pieces at the same time.
    pub jobs: usize,
    /// The command that does the same again, for the report.
    pub command: String,
}

impl Exploration<'_> {
    /// As sentences call a design, but for the SMs.
    fn name(&self, design: Design) -> String {
        let (slots, window) = (design.slots, design.window.name());
        let arbiter = arbiter_name(design.arbiter.name(), design.places);
        match self.own_of(design) {
            Some(own) => format!("`{}` (N = {slots}, {window}, {arbiter})", own.name),
            None => format!("N = {slots} ({window}, {arbiter})"),
        }
    }

    /// The same with the number of SMs before it.
    fn full_name(&self, design: Design) -> String {
        format!("{}, {}", counted(design.sms, "SM"), self.name(design))
    }

    fn own_of(&self, design: Design) -> Option<&Own> {
        design.own.and_then(|own| self.own.get(own))
    }

    /// The clock in MHz of a front end that costs this; none where it is its own, and its netlist has none.
    fn clock_mhz(&self, cost: Option<&Cost>) -> Option<u32> {
        match self.clock {
            FrontEndClock::Sms => Some(self.profile.clock_mhz),
            FrontEndClock::Mhz(mhz) => Some(mhz),
            FrontEndClock::Own => Some((cost?.smallest.fmax_mhz? as u32).clamp(1, MAX_MHZ)),
        }
    }
}

/// Why an exploration cannot begin, or cannot go on.
#[derive(Debug, Error)]
pub enum ExploreError {
    /// Nothing to do.
    #[error("nothing to explore: {0}")]
    Nothing(&'static str),
    /// Two workloads that tables could not tell apart.
    #[error(
        "two workloads are called `{0}`: tables could not tell them apart; leave one of them out, or give it another `name` in its first line"
    )]
    SameName(String),
    /// Every front end was to have its own clock, and none has one.
    #[error(
        "--front-end-mhz own: without synthesis, or with --flow area, no netlist has a clock; choose --flow quick or full, or give a number"
    )]
    NoClock,
    /// A tool that every synthesis needs cannot be used.
    #[error("{0}\n  without it, --no-area explores speed-up and time per kernel only")]
    Tool(String),
    /// The output directory cannot be used.
    #[error("{path}: {source}\n  free some space there, or choose another folder with --out", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// How an exploration ended: with a report, or stopped before all of its pieces were done.
#[derive(Debug)]
pub enum Ended {
    /// Everything was tried.
    Complete(Box<Report>),
    /// It was told to stop; so many of so many pieces are kept.
    Stopped {
        /// Finished pieces, those of earlier runs included.
        kept: usize,
        /// All pieces.
        total: usize,
    },
}

/// To so many decimals, so that no last bit of a sum reaches a report.
fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

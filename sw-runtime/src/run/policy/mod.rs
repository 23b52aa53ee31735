//! Who decides the order, and how it is told to the device.

mod ace;
mod chains;
mod graph;
mod kept;
mod plan;
mod serial;
mod streams;
mod subgraphs;
mod window;

pub use plan::{Costs, Estimate};
pub use window::{Decider, Decision, SoftwareDecider};

use super::device::{Device, DeviceError, GraphId, KernelTime};
use super::hazards::Declarations;
use super::program::Program;
use crate::host::HostError;
use crate::percentile::median_u64;
use kept::Kept;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::iter;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Who decides which kernel is launched when, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// One stream, in program order.
    Serial,
    /// ACE-SW as published (ACE, section 4.1): a thread per stream takes ready kernels from a window, launches one and synchronises with it.
    StreamsAce,
    /// One thread launches in program order into several streams, which wait for each other's events; nothing waits on the host.
    Streams,
    /// As `streams`, and a kernel that waits for nothing but the one before it in its stream is set up while that one still runs
    /// (programmatic dependent launch).
    Pdl,
    /// One graph per section, built in the run.
    Graph,
    /// Graphs of a window of kernels each, updated where an earlier one has the same shape.
    GraphCached,
    /// A scheduling window decides: the generated hardware, its model, or plain software. Completions go back to it.
    Window,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Serial,
        Self::StreamsAce,
        Self::Streams,
        Self::Pdl,
        Self::Graph,
        Self::GraphCached,
        Self::Window,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::StreamsAce => "streams-ace",
            Self::Streams => "streams",
            Self::Pdl => "pdl",
            Self::Graph => "graph",
            Self::GraphCached => "graph-cached",
            Self::Window => "window",
        }
    }

    /// The policy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Of the time that a simpler way takes, what another may take to be worth it.
const WORTH_IT: f64 = 0.98;

/// Window sizes that can be asked for.
pub const WINDOW: RangeInclusive<usize> = 4..=512;

/// How far `streams` and `pdl` let kernels overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// One stream, in program order: nobody waits for anybody but the one before.
    Never,
    /// Where several streams should end clearly sooner than one, by [`Options::costs`]; wherever it may, where there are none.
    #[default]
    WhereItPays,
    /// Wherever it may.
    Everywhere,
}

/// What `streams` and `pdl` give a stream at once. Graphs are kept from run to run: what a run launches for the first time goes kernel by
/// kernel, and from the next on as a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launches {
    /// A kernel.
    #[default]
    Kernels,
    /// Kernels that the stream is given with nothing in between, as one graph without branches.
    Chains,
    /// All that it is given of a stretch of [`Options::graph_window`] kernels, as one graph with its branches. Kernels then overlap wherever
    /// they may, in one stream too; where they never do, these are chains.
    Subgraphs,
}

/// How `streams` and `pdl` give the device its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// How far kernels overlap.
    pub overlap: Overlap,
    /// Streams, at most those of the device; one where kernels never overlap.
    pub streams: usize,
    /// What is launched at once.
    pub launches: Launches,
}

impl Default for Way {
    /// Kernel by kernel, where it pays, in all streams of the device.
    fn default() -> Self {
        Self { overlap: Overlap::default(), streams: plan::MAX_STREAMS, launches: Launches::Kernels }
    }
}

impl Way {
    /// One stream, kernel by kernel.
    const SERIAL: Self = Self { overlap: Overlap::Never, streams: 1, launches: Launches::Kernels };

    /// Fewer streams than there are need fewer events, and fewer changes from one to another, which cost the host most.
    const FEW: [usize; 2] = [2, 3];

    /// What is less of it is simpler, and goes wrong less.
    fn effort(self) -> impl Ord {
        (self.overlap != Overlap::Never, self.streams, self.launches, self.overlap == Overlap::Everywhere)
    }

    /// All ways on a device of so many streams, with launches up to these, that of one stream, kernel by kernel, first.
    fn all(most: Launches, streams: usize) -> impl Iterator<Item = Self> {
        let several = Self::FEW.into_iter().filter(move |few| *few < streams).chain([streams]);
        let overlapping = several.clone().flat_map(|streams| {
            let ways = [Overlap::WhereItPays, Overlap::Everywhere];
            ways.map(|overlap| Self { overlap, streams, ..Self::SERIAL })
        });
        let kernels = iter::once(Self::SERIAL).chain(overlapping);
        let with_chains = kernels
            .flat_map(|way| [Launches::Kernels, Launches::Chains].map(|launches| Self { launches, ..way }));
        let subgraphs = iter::once(1).chain(several).map(|streams| Self {
            overlap: Overlap::Everywhere,
            streams,
            launches: Launches::Subgraphs,
        });
        with_chains.chain(subgraphs).filter(move |way| way.launches <= most)
    }
}

/// How a policy runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Kernels in the window of `streams-ace`; in [`WINDOW`].
    pub window: usize,
    /// Kernels of one graph of `graph-cached`, and of a stretch that `streams` and `pdl` launch in subgraphs; in [`WINDOW`].
    pub graph_window: usize,
    /// Kernels in flight under `streams` and `pdl`, where nobody waits for them on the host; in [`WINDOW`].
    pub in_flight: usize,
    /// Kernels that `streams` and `pdl` look at together before they launch the first of them, at least 1.
    pub lookahead: usize,
    /// Threads that launch under `streams` and `pdl`, while another finds hazards; stream s belongs to thread s modulo their number. With 0,
    /// the thread that finds hazards launches, too.
    pub launchers: usize,
    /// Whether a node of a graph that waits for one other is set up while that one runs, under `graph-cached`.
    pub early_edges: bool,
    /// How `streams` and `pdl` launch kernels, where it has not been tried out. More launched at once than its `launches` say is not tried
    /// out, either.
    pub way: Way,
    /// What calls and waits cost, for `streams` and `pdl` to know where overlap pays, and to expect an end.
    pub costs: Option<Costs>,
    /// How long each kernel takes, and how much of the device: one each; needed with `costs`.
    pub estimates: Vec<Estimate>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: 32,
            graph_window: 64,
            in_flight: 512,
            lookahead: 32,
            launchers: 1,
            early_edges: true,
            way: Way::default(),
            costs: None,
            estimates: Vec::new(),
        }
    }
}

/// Why a run ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The hazard engine.
    #[error(transparent)]
    Hazards(#[from] windlass_hazards::Error),
    /// The host's list of kernels sent.
    #[error(transparent)]
    Host(#[from] HostError),
    /// What decides under `window`.
    #[error("the scheduler that decides: {0}")]
    Decider(String),
    /// `window` without anything that decides.
    #[error("the policy `window` needs a decider; give one")]
    NoDecider,
    /// An option out of its range.
    #[error("--{option} {got}: choose {expected}")]
    Option {
        /// Its name as on the command line.
        option: &'static str,
        /// What was given.
        got: usize,
        /// What can be had.
        expected: String,
    },
    /// Declarations of another program.
    #[error(
        "the program has {kernels} kernels, but there are the declarations of {declared}; make them from this program"
    )]
    Declarations {
        /// Of the program.
        kernels: usize,
        /// Of the declarations.
        declared: usize,
    },
    /// No thread.
    #[error("no thread for {what}: {reason}")]
    Thread {
        /// What for.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Kernels are left, nothing runs, and nothing is offered.
    #[error("the scheduler offers nothing although nothing runs: {left} kernels are left")]
    Stuck {
        /// How many.
        left: usize,
    },
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// From the first call to the end of the last kernel.
    pub wall_ns: u64,
    /// Processor time of this process in the same stretch, all threads together; 0 where the system does not tell.
    pub cpu_ns: u64,
    /// Kernels launched, those of kept graphs of `streams` and `pdl` among them; none of those of other graphs.
    pub launches: u64,
    /// Events recorded.
    pub records: u64,
    /// Waits for events that streams were given.
    pub waits: u64,
    /// Upstream kernels on other streams that needed no wait of their own, for another wait, or the host, made sure of them.
    pub waits_dropped: u64,
    /// Marks for the host to poll.
    pub marks: u64,
    /// Times that the host synchronised with a stream.
    pub synchronisations: u64,
    /// Kept graphs that `streams` and `pdl` launched: chains, and subgraphs.
    pub kept_graphs: u64,
    /// Graphs built.
    pub graphs_built: u64,
    /// Graphs updated instead of built.
    pub graphs_updated: u64,
    /// Time of building and updating graphs, hazards included.
    pub build_ns: u64,
    /// Stretches of [`Options::lookahead`] kernels that `streams` or `pdl` gave to one stream, for overlap would not have paid.
    pub stretches_in_one_stream: u64,
    /// All stretches.
    pub stretches: u64,
    /// When `streams` or `pdl` expected to be done, by its costs and estimates; 0 without them.
    pub expected_ns: u64,
}

/// Measures a run: begun by the policy once it is set up.
pub(super) struct Meter {
    began: Option<(Duration, Option<Duration>)>,
    pub(super) counts: Counts,
}

/// Processor time of this process so far.
fn cpu_time() -> Option<Duration> {
    cpu_time::ProcessTime::try_now().ok().map(|t| t.as_duration())
}

impl Meter {
    pub(super) fn start(&mut self, device: &dyn Device) {
        self.began = Some((device.clock(), cpu_time()));
    }

    /// The last kernel has ended. The first call counts.
    pub(super) fn stop(&mut self, device: &dyn Device) {
        if let Some((wall, cpu)) = self.began.take() {
            self.counts.wall_ns = device.clock().saturating_sub(wall).as_nanos() as u64;
            let cpu = cpu_time().zip(cpu).map(|(now, then)| now.saturating_sub(then));
            self.counts.cpu_ns = cpu.unwrap_or_default().as_nanos() as u64;
        }
    }
}

/// How long a policy has polled without news. After a second it synchronises, for that is where the device's watchdog is.
pub(super) struct Silence(Instant);

impl Silence {
    const LONG: Duration = Duration::from_secs(1);

    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    /// Something has ended.
    pub(super) fn broken(&mut self) {
        self.0 = Instant::now();
    }

    /// To be called now and then while polling; `stream` has not ended.
    pub(super) fn watch(&mut self, device: &dyn Device, stream: u32) -> Result<(), DeviceError> {
        device.check(stream)?;
        if self.0.elapsed() > Self::LONG {
            device.synchronise(stream)?;
            self.broken();
        }
        Ok(())
    }
}

/// What [`Runner::try_out`] found of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// The way.
    pub way: Way,
    /// The median of its runs, in nanoseconds.
    pub wall_ns: u64,
}

/// How a policy launches after [`Runner::try_out`].
struct Tried {
    policy: Policy,
    way: Way,
    /// The fastest way with one stream, and its median time; none while it is being tried out.
    one: Option<Trial>,
    /// The times of the newest runs.
    newest: VecDeque<u64>,
}

/// Runs of which the median counts, when one stream is compared with what was chosen.
const NEWEST: usize = 5;

impl Tried {
    /// Falls back to one stream where the newest runs took longer: what launches cost the host is not the same all the time.
    fn watch(&mut self, wall_ns: u64) {
        let Some(one) = self.one.filter(|one| self.way != one.way) else { return };
        if self.newest.len() == NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back(wall_ns);
        if self.newest.len() == NEWEST && median_u64(self.newest.iter().copied().collect()) > one.wall_ns {
            self.way = one.way;
        }
    }
}

/// What `streams` or `pdl` keeps from run to run.
pub(super) struct KeptGraphs {
    /// Kernels are set up early, in graphs too.
    early: bool,
    chains: Kept,
    subgraphs: subgraphs::Known,
}

impl KeptGraphs {
    fn new(early: bool) -> Self {
        Self { early, chains: Kept::new(early), subgraphs: subgraphs::Known::new(early) }
    }

    fn drain(&mut self) -> impl Iterator<Item = GraphId> {
        self.chains.drain().chain(self.subgraphs.kept.drain())
    }

    fn build(&mut self, device: &dyn Device, kernels: usize) -> u64 {
        self.chains.build(device, kernels) + self.subgraphs.kept.build(device, kernels)
    }
}

/// Runs a program on a device, again and again. Graphs of [`Policy::GraphCached`] are kept from run to run, as an application that repeats a
/// step keeps them.
pub struct Runner<'a> {
    device: &'a dyn Device,
    program: &'a Program,
    declared: &'a Declarations,
    options: Options,
    /// What was found to be best.
    tried: Vec<Tried>,
    cache: graph::Cache,
    kept: KeptGraphs,
    /// Of `pdl`.
    kept_early: KeptGraphs,
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        let graphs = self.cache.drain().chain(self.kept.drain()).chain(self.kept_early.drain());
        graphs.for_each(|graph| self.device.destroy_graph(graph));
    }
}

impl<'a> Runner<'a> {
    /// For a program, which the device has, and what its kernels declare.
    ///
    /// # Errors
    /// [`RunError::Option`].
    pub fn new(
        device: &'a dyn Device,
        program: &'a Program,
        declared: &'a Declarations,
        options: Options,
    ) -> Result<Self, RunError> {
        let sizes = [
            ("slots", options.window, WINDOW),
            ("in-flight", options.in_flight, WINDOW),
            ("graph-window", options.graph_window, WINDOW),
            // No stretch is longer than what may be in flight.
            ("lookahead", options.lookahead, 1..=*WINDOW.end()),
        ];
        for (option, got, range) in sizes {
            if !range.contains(&got) {
                let expected = format!("{} to {}", range.start(), range.end());
                return Err(RunError::Option { option, got, expected });
            }
        }
        if declared.kernels() != program.kernels().len() {
            let (kernels, declared) = (program.kernels().len(), declared.kernels());
            return Err(RunError::Declarations { kernels, declared });
        }
        Ok(Self {
            device,
            program,
            declared,
            options,
            tried: Vec::new(),
            cache: graph::Cache::default(),
            kept: KeptGraphs::new(false),
            kept_early: KeptGraphs::new(true),
        })
    }

    /// From here on, each kernel is expected to take as long as it did: what an application that repeats a step knows of it.
    pub fn learn(&mut self, times: &[KernelTime]) {
        for (estimate, time) in self.options.estimates.iter_mut().zip(times) {
            if time.end > time.start {
                estimate.ns = (time.end - time.start) as f32;
            }
        }
    }

    /// Runs the program in each [`Way`] in turn, `rounds` times, and has the policy stay with the one of the least median time from here on:
    /// an expectation can be wrong, a measurement less so. Ways that are less than 2 % apart are as good as each other, and the simplest is
    /// taken: no overlap, else the fewest streams, else the least launched at once. Where the median of five later runs is above that of the
    /// best way without overlap, that one it is. Returns what each way took, nothing where there is nothing to choose: policies other than
    /// `streams` and `pdl`.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn try_out(&mut self, policy: Policy, rounds: usize) -> Result<Vec<Trial>, RunError> {
        if !matches!(policy, Policy::Streams | Policy::Pdl) || rounds == 0 {
            return Ok(Vec::new());
        }
        let streams = (self.device.streams() as usize).min(self.options.way.streams);
        let mut ways: Vec<_> =
            Way::all(self.options.way.launches, streams).map(|way| (way, Vec::new())).collect();
        for _ in 0..rounds {
            for (way, walls) in &mut ways {
                self.choose(policy, *way, None);
                let counts = self.run(policy, None);
                // Where a run fails, nothing is chosen.
                self.tried.retain(|t| t.policy != policy);
                walls.push(counts?.wall_ns);
            }
        }
        let trials: Vec<_> =
            ways.into_iter().map(|(way, walls)| Trial { way, wall_ns: median_u64(walls) }).collect();
        let best = |of: &mut dyn Iterator<Item = Trial>| {
            let of: Vec<_> = of.collect();
            let least = of.iter().map(|trial| trial.wall_ns).min()? as f64;
            of.into_iter()
                .filter(|trial| trial.wall_ns as f64 * WORTH_IT <= least)
                .min_by_key(|trial| trial.way.effort())
        };
        let all = trials.iter().copied();
        let one = best(&mut all.clone().filter(|trial| trial.way.overlap == Overlap::Never));
        if let Some(best) = best(&mut all.clone()) {
            self.choose(policy, best.way, one);
        }
        Ok(trials)
    }

    fn choose(&mut self, policy: Policy, way: Way, one: Option<Trial>) {
        self.tried.retain(|t| t.policy != policy);
        self.tried.push(Tried { policy, way, one, newest: VecDeque::new() });
    }

    /// What [`Runner::try_out`] chose, or what the newest runs made of it.
    pub fn chosen(&self, policy: Policy) -> Option<Way> {
        self.tried.iter().find(|t| t.policy == policy).map(|t| t.way)
    }

    /// Resets the device and runs the program on it, once. `decider` is needed for [`Policy::Window`] only.
    ///
    /// # Errors
    /// [`RunError`]; kernels in flight have then ended, or the device is lost until it is reset.
    pub fn run(&mut self, policy: Policy, decider: Option<&mut dyn Decider>) -> Result<Counts, RunError> {
        let way = self.chosen(policy).unwrap_or(self.options.way);
        let Self { device, program, declared, options, tried, cache, kept, kept_early } = self;
        let (device, program, declared) = (*device, *program, *declared);
        device.reset()?;
        let mut meter = Meter { began: None, counts: Counts::default() };
        let meter_ref = &mut meter;
        let mut built = Vec::new();
        let result = match policy {
            Policy::Serial => serial::run(device, program, false, 1, &mut streams::Direct(device), meter_ref),
            Policy::StreamsAce => ace::run(device, program, declared, options, meter_ref),
            Policy::Streams | Policy::Pdl => {
                let kept = if policy == Policy::Pdl { &mut *kept_early } else { &mut *kept };
                streams::run(device, program, declared, options, way, kept, meter_ref)
            }
            Policy::Graph | Policy::GraphCached => {
                let window = (policy == Policy::GraphCached).then_some((options.graph_window, cache));
                // Where a graph is built in the run, an early edge costs more than it gains.
                let early = options.early_edges && window.is_some();
                graph::run(device, program, declared, window, early, &mut built, meter_ref)
            }
            Policy::Window => match decider {
                Some(decider) => window::run(device, program, declared, decider, meter_ref),
                None => Err(RunError::NoDecider),
            },
        };
        meter.stop(device);
        match &result {
            // The watchdog has waited long enough.
            Ok(()) | Err(RunError::Device(DeviceError::Timeout { .. })) => {}
            // What was launched before the error ends; where a stream fails to, the device is lost.
            Err(_) => _ = (0..device.streams()).try_for_each(|stream| device.synchronise(stream)),
        }
        built.into_iter().for_each(|graph| device.destroy_graph(graph));
        result?;
        for kept in [kept, kept_early] {
            meter.counts.graphs_built += kept.build(device, program.kernels().len());
        }
        tried.iter_mut().filter(|t| t.policy == policy).for_each(|t| t.watch(meter.counts.wall_ns));
        Ok(meter.counts)
    }
}

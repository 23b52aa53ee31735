//! Why did a kernel wait? What for, by which hazard, on which bytes of which buffer, and the chain of waits behind it
//! (see docs/hazards.md).
//!
//! A [`History`] is what one run launched: from a trace with [`History::of_run`], or told step by step while a program
//! runs. [`explain`] answers for one of its kernels; [`Explanation::text`] and [`dot`] show the answer.
//!
//! ```
//! # use windlass_runtime::ktrace::Trace;
//! use windlass_runtime::explain::{History, Options, explain};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/brax-v1-ant-b256.ktrace.jsonl");
//! let trace = Trace::load(path)?;
//! let history = History::of_run(&trace, None)?;
//! let answer = explain(&history, 17, &Options::for_trace(&trace))?;
//! for wait in &answer.upstream {
//!     println!("{} ended at {}: {:?}", wait.name, wait.end, wait.hazards);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alive;
mod render;

pub use render::dot;

use crate::analysis::DEFAULT_SMS;
use crate::graph::{DependencyGraph, Reduction, Rule, TooManyKernels};
use crate::hazards::{self, Class, Hazard};
use crate::ktrace::{Event, Kernel, KernelType, Segment, Trace};
use crate::words::counted;
use alive::Alive;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use thiserror::Error;

/// A question without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// An index past the last kernel.
    #[error("run {run} has no kernel {kernel}; it has {}, numbered from 0", counted(*kernels, "kernel"))]
    NoKernel {
        /// The kernel asked for.
        kernel: u64,
        /// The run it was asked of.
        run: u64,
        /// How many kernels that run has.
        kernels: usize,
    },
    /// A run that the trace does not hold.
    #[error("the trace has no run {run}; its runs are: {}", numbers(.runs))]
    NoRun {
        /// The run asked for.
        run: u64,
        /// Those that are there.
        runs: Vec<u64>,
    },
    /// A trace without any run.
    #[error("the trace has no run and no kernel; record it again")]
    Empty,
    /// A schedule of another run.
    #[error(
        "the schedule has {spans} spans for {kernels} kernels; give one span per kernel, in program order"
    )]
    ScheduleLength {
        /// Spans that the schedule has.
        spans: usize,
        /// Kernels that the history has.
        kernels: usize,
    },
    /// A kernel that ends before it starts.
    #[error(
        "the schedule says that kernel {kernel} starts at {start} and ends at {end}; no kernel ends before it starts"
    )]
    EndsBeforeStart {
        /// The kernel.
        kernel: u64,
        /// When it starts.
        start: u64,
        /// When it ends.
        end: u64,
    },
    /// A part too long for a graph.
    #[error(transparent)]
    TooManyKernels(#[from] TooManyKernels),
}

fn numbers(runs: &[u64]) -> String {
    const MOST: usize = 16;
    let mut text: Vec<_> = runs.iter().take(MOST).map(u64::to_string).collect();
    if runs.len() > MOST {
        text.push(format!("{} more", runs.len() - MOST));
    }
    text.join(", ")
}

/// What one run launched, in program order: kernels, the barriers between them, and the allocations that lived.
///
/// Memory grows with the number of events.
#[derive(Clone, Debug)]
pub struct History<'a> {
    run: u64,
    /// Each kernel, and when it was launched, counted in events.
    kernels: Vec<(u64, &'a Kernel)>,
    /// In program order; the first is the beginning of the run.
    barriers: Vec<Barrier>,
    allocations: Vec<Life>,
    /// Those not freed yet, by address, as indices into `allocations`; none overlaps another.
    live: BTreeMap<u64, usize>,
    /// Events so far.
    now: u64,
}

/// An allocation, from the event that made it to the one that ended it.
#[derive(Clone, Copy, Debug)]
struct Life {
    allocation: Allocation,
    born: u64,
    /// `u64::MAX` while it lives.
    died: u64,
}

impl Default for History<'_> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<'a> History<'a> {
    /// Nothing yet of a run of this number.
    pub fn new(run: u64) -> Self {
        Self {
            run,
            kernels: Vec::new(),
            barriers: vec![Barrier::Run { run }],
            allocations: Vec::new(),
            live: BTreeMap::new(),
            now: 0,
        }
    }

    /// A run of a trace: the first of that number, or the first of all for `None`. What the runs before it
    /// allocated and did not free is alive.
    ///
    /// # Errors
    /// [`ExplainError::NoRun`], [`ExplainError::Empty`].
    pub fn of_run(trace: &'a Trace, run: Option<u64>) -> Result<Self, ExplainError> {
        // Of several with one number, one without a kernel is not meant.
        let numbered = |number| trace.runs.iter().enumerate().filter(move |(_, run)| run.number == number);
        let Some(place) = (match run {
            None => trace.runs.first().map(|_| 0),
            Some(number) => {
                let with_kernels = numbered(number).find(|(_, run)| run.kernels().next().is_some());
                with_kernels.or_else(|| numbered(number).next()).map(|(place, _)| place)
            }
        }) else {
            return Err(match run {
                Some(run) if !trace.runs.is_empty() => {
                    ExplainError::NoRun { run, runs: trace.runs.iter().map(|r| r.number).collect() }
                }
                _ => ExplainError::Empty,
            });
        };
        let mut history = Self::new(0);
        for run in &trace.runs[..=place] {
            history.begin_run(run.number);
            for event in &run.events {
                match event {
                    Event::Kernel(kernel) => history.launch(kernel),
                    Event::Alloc(segment) => history.alloc(*segment),
                    Event::Free(segment) => history.free(segment.addr),
                    Event::Sync { why } => history.sync(why.clone()),
                    Event::Run { .. } => {}
                }
            }
        }
        Ok(history)
    }

    /// Another execution begins: its kernels are numbered from 0, and those before are forgotten. Allocations live on.
    pub fn begin_run(&mut self, run: u64) {
        self.run = run;
        self.kernels.clear();
        self.barriers = vec![Barrier::Run { run }];
    }

    /// The next kernel. It is numbered by its position here, from 0, whatever its `index` says.
    pub fn launch(&mut self, kernel: &'a Kernel) {
        self.now += 1;
        self.kernels.push((self.now, kernel));
    }

    /// The host waits for everything before this point.
    pub fn sync(&mut self, why: impl Into<String>) {
        self.barriers.push(Barrier::Sync { why: why.into(), before_kernel: self.kernels.len() as u64 });
    }

    /// An allocation begins to live. Live ones that it overlaps end: their `free` was lost.
    pub fn alloc(&mut self, segment: Segment) {
        self.now += 1;
        let number = self.allocations.len() as u64;
        if segment.bytes > 0 {
            let below = self.live.range(..segment.end()).rev();
            let overlapped: Vec<u64> = below
                .take_while(|(_, i)| self.allocations[**i].allocation.end() > segment.addr)
                .map(|(a, _)| *a)
                .collect();
            for address in overlapped {
                self.free(address);
            }
            self.live.insert(segment.addr, self.allocations.len());
        }
        let allocation = Allocation {
            number,
            address: segment.addr,
            bytes: segment.bytes,
            run: self.run,
            before_kernel: self.kernels.len() as u64,
        };
        self.allocations.push(Life { allocation, born: self.now, died: u64::MAX });
    }

    /// The allocation that begins at this address ends; nothing happens where none does.
    pub fn free(&mut self, address: u64) {
        self.now += 1;
        if let Some(i) = self.live.remove(&address) {
            self.allocations[i].died = self.now;
        }
    }

    /// Kernels launched so far in this run.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// True where this run has launched nothing.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Kernels between the barriers around kernel `k`.
    fn part(&self, k: usize) -> Range<usize> {
        let cuts = || self.barriers.iter().map(|b| b.before_kernel() as usize);
        let from = cuts().filter(|cut| *cut <= k).max().unwrap_or(0);
        from..cuts().find(|cut| *cut > k).unwrap_or(self.kernels.len())
    }
}

impl<'a> FromIterator<&'a Kernel> for History<'a> {
    /// Kernels of one part, without barriers; no allocation is known.
    fn from_iter<I: IntoIterator<Item = &'a Kernel>>(kernels: I) -> Self {
        let mut history = Self::default();
        kernels.into_iter().for_each(|kernel| history.launch(kernel));
        history
    }
}

/// When a kernel ran, in the unit of its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// When it started.
    pub start: u64,
    /// When it ended, not before `start`.
    pub end: u64,
}

/// When each kernel of a [`History`] really ran, in program order. A kernel that still runs ends now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What the spans count.
    pub unit: TimeUnit,
    /// One per kernel.
    pub spans: Vec<Span>,
}

/// What a number of time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Clock cycles.
    Cycles,
    /// The time of one CTA, alike for all CTAs.
    Units,
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ns => "ns",
            Self::Cycles => "cycles",
            Self::Units => "units",
        })
    }
}

/// How to count time.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// SMs that a kernel alone spreads its CTAs over, where no time was measured.
    pub sms: NonZeroU32,
    /// When the kernels really ran, where that is known.
    pub timing: Option<&'a Timing>,
    /// Of a run whose timing is known: it gave values memory of their own, so that a kernel did not wait for each one that it only comes after.
    pub renamed: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        let sms = NonZeroU32::new(DEFAULT_SMS).unwrap_or(NonZeroU32::MIN);
        Self { sms, timing: None, renamed: false }
    }
}

impl Options<'_> {
    /// The SMs that the trace names, or [`DEFAULT_SMS`]; no schedule.
    pub fn for_trace(trace: &Trace) -> Self {
        let default = Self::default();
        Self { sms: trace.header.gpu.sms.and_then(NonZeroU32::new).unwrap_or(default.sms), ..default }
    }
}

/// Where the times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Times {
    /// A schedule: start and end are what it says.
    Recorded {
        /// What the schedule counts.
        unit: TimeUnit,
    },
    /// `dur_ns` of every kernel of the run; each starts when all that it waits for have ended,
    /// counted from the beginning of its part.
    Measured {
        /// Nanoseconds.
        unit: TimeUnit,
    },
    /// As `Measured`, with ceil(CTAs / SMs) units for each kernel, at least one.
    Estimated {
        /// Units.
        unit: TimeUnit,
        /// SMs that a kernel has for itself.
        sms: u32,
    },
}

impl Times {
    /// What the numbers count.
    pub fn unit(self) -> TimeUnit {
        match self {
            Self::Recorded { unit } | Self::Measured { unit } | Self::Estimated { unit, .. } => unit,
        }
    }
}

/// A point that no later kernel passes before every earlier one has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Barrier {
    /// A run begins.
    Run {
        /// Its number.
        run: u64,
    },
    /// The host waits.
    Sync {
        /// Why it waits.
        why: String,
        /// Index of the kernel that follows.
        before_kernel: u64,
    },
}

impl Barrier {
    fn before_kernel(&self) -> u64 {
        match self {
            Self::Run { .. } => 0,
            Self::Sync { before_kernel, .. } => *before_kernel,
        }
    }
}

/// A pool allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Allocation {
    /// Which one: allocations are counted from 0, over all runs.
    pub number: u64,
    /// First address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The run that made it.
    pub run: u64,
    /// The kernel of that run which follows the `alloc`; one past the last where none does.
    pub before_kernel: u64,
}

impl Allocation {
    fn end(self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// What a byte range belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Buffer {
    /// No allocation: weights, inputs, whatever was there before.
    Persistent,
    /// An allocation that lives.
    Allocation {
        /// Which.
        #[serde(flatten)]
        allocation: Allocation,
        /// Bytes from its beginning.
        offset: u64,
    },
}

impl Buffer {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Persistent => None,
            Self::Allocation { allocation, .. } => Some(allocation.number),
        }
    }
}

/// A hazard, and the buffer that its bytes lie in. One that reaches over several buffers is one of these for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LocatedHazard {
    /// Which kind.
    pub class: Class,
    /// First address that both kernels touch.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What holds them when the later kernel is launched.
    pub buffer: Buffer,
    /// What held them when the earlier kernel was launched, where that was another buffer: the memory was reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_buffer: Option<Buffer>,
}

/// The kernel asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Index in its run.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// The operation that it implements.
    pub op: String,
    /// Which pipe it uses.
    #[serde(rename = "type")]
    pub kind: KernelType,
    /// Grid in CTAs.
    pub grid: [u32; 3],
}

/// An earlier kernel of the same part with a hazard: one that had to end first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// Index in the run.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// When it starts.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Its slack is 0.
    pub critical: bool,
    /// Other waits imply this one: it goes in the transitive reduction.
    pub implied: bool,
    /// It is the one of [`Explanation::chain`].
    pub ends_last: bool,
    /// No wait would be left if every write went to fresh memory. Of a wait that is not implied, this is so
    /// where all its hazards are WAR or WAW.
    pub renaming_removes: bool,
    /// It ended after the kernel had started: the recorded schedule breaks a hazard.
    pub violated: bool,
    /// It ended after the kernel had started, and might: no data flows, and the run gave values memory of their own ([`Options::renamed`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub renamed: bool,
    /// Why, by class, then by address; never empty.
    pub hazards: Vec<LocatedHazard>,
}

/// One kernel of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Index in the run.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// When it starts.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Its slack is 0.
    pub critical: bool,
    /// Why it waited for the next link; empty for the last, which waits for nothing.
    pub hazards: Vec<LocatedHazard>,
}

/// What waits for the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Downstream {
    /// Later kernels with a hazard.
    pub kernels: u64,
    /// Those of them that no other wait implies, ascending.
    pub direct: Vec<u64>,
}

/// Why a kernel waited.
///
/// Slack and critical path are those of a machine whose SMs and window have no limit, with each kernel's duration as
/// in [`Explanation::times`], within the part between two barriers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The run it is in.
    pub run: u64,
    /// The kernel.
    pub kernel: Subject,
    /// Where the times come from, and what they count.
    pub times: Times,
    /// When it starts.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Earliest start, from the beginning of the part.
    pub earliest_start: u64,
    /// Latest start that does not lengthen the part.
    pub latest_start: u64,
    /// `latest_start` less `earliest_start`; 0 on a critical path.
    pub slack: u64,
    /// Earliest start if every write went to fresh memory, so that only reads of last writers wait.
    pub earliest_start_renamed: u64,
    /// Length of the part's critical path.
    pub critical_path: u64,
    /// First kernel of the part.
    pub part_first: u64,
    /// Kernels in the part.
    pub part_kernels: u64,
    /// Every barrier before the kernel, in program order: its run, then each `sync`.
    pub barriers: Vec<Barrier>,
    /// What it waited for: waits that others imply come last; of the others, those that end last come first.
    pub upstream: Vec<Upstream>,
    /// From the kernel back: each time the upstream kernel that ends last (the earliest launched of equals),
    /// to one that waits for nothing in the part.
    pub chain: Vec<Link>,
    /// The chain is the beginning of a critical path.
    pub chain_is_critical: bool,
    /// The first kernel on the way back that has no slack, where there is one.
    pub joins_critical_path: Option<u64>,
    /// What waits for it.
    pub downstream: Downstream,
}

/// A part as a machine without limits runs it.
struct Bounds {
    earliest: Vec<u64>,
    latest: Vec<u64>,
    length: u64,
}

impl Bounds {
    fn new(graph: &DependencyGraph, durations: &[u64]) -> Self {
        let mut earliest: Vec<u64> = Vec::with_capacity(durations.len());
        let end = |starts: &[u64], k: usize| starts[k].saturating_add(durations[k]);
        for (_, upstream) in graph.iter() {
            earliest.push(upstream.iter().map(|u| end(&earliest, *u as usize)).max().unwrap_or(0));
        }
        let length = (0..earliest.len()).map(|k| end(&earliest, k)).max().unwrap_or(0);
        // Latest ends first; what waits for a kernel comes after it, and has had its say when its turn comes.
        let mut latest = vec![length; earliest.len()];
        for (k, upstream) in graph.iter().rev() {
            let start = latest[k as usize].saturating_sub(durations[k as usize]);
            latest[k as usize] = start;
            for u in upstream {
                latest[*u as usize] = latest[*u as usize].min(start);
            }
        }
        Self { earliest, latest, length }
    }

    fn slack(&self, k: usize) -> u64 {
        self.latest[k].saturating_sub(self.earliest[k])
    }
}

/// Says why kernel `kernel` of `history` waited.
///
/// Takes time and memory as [`Reduction::build`] does, over the part between the barriers around the kernel, and n log n in allocations.
///
/// # Errors
/// A kernel that is not there, a schedule that does not fit the history, a part too long for a graph.
pub fn explain(
    history: &History<'_>,
    kernel: u64,
    options: &Options<'_>,
) -> Result<Explanation, ExplainError> {
    let kernels = history.len();
    let no_kernel = || ExplainError::NoKernel { kernel, run: history.run, kernels };
    let asked = usize::try_from(kernel).ok().filter(|k| *k < kernels).ok_or_else(no_kernel)?;
    if let Some(timing) = options.timing {
        check(timing, kernels)?;
    }
    let part = Part::new(history, asked, options)?;
    let (run, bounds) = (&part.run, &part.bounds);
    let k = asked - part.first;
    let (chain, chain_takes) = part.chain(k);
    let Span { start, end } = part.span(k);
    let subject = run[k];
    Ok(Explanation {
        run: history.run,
        kernel: Subject {
            index: kernel,
            name: subject.name.clone(),
            op: subject.op.clone(),
            kind: subject.kind,
            grid: subject.grid,
        },
        times: part.times,
        start,
        end,
        earliest_start: bounds.earliest[k],
        latest_start: bounds.latest[k],
        slack: bounds.slack(k),
        earliest_start_renamed: Bounds::new(&part.flow, &part.durations).earliest[k],
        critical_path: bounds.length,
        part_first: part.index(0),
        part_kernels: run.len() as u64,
        barriers: history.barriers.iter().filter(|b| b.before_kernel() <= kernel).cloned().collect(),
        upstream: part.upstream(k),
        // Without slack its longest way in is on a critical path; a recorded schedule may have taken a shorter one.
        chain_is_critical: part.critical(k)
            && chain_takes == bounds.earliest[k].saturating_add(part.durations[k]),
        joins_critical_path: chain.iter().find(|link| link.critical).map(|link| link.index),
        chain,
        downstream: part.downstream(k),
    })
}

/// The kernels between the barriers around the one that is asked about, numbered from 0.
struct Part<'a> {
    /// Position of the first in the history.
    first: usize,
    run: Vec<&'a Kernel>,
    times: Times,
    durations: Vec<u64>,
    /// When they really ran, where that is known.
    spans: Option<&'a [Span]>,
    renamed: bool,
    /// Who waits for whom, without what others imply.
    reduced: DependencyGraph,
    /// Who waits for whom if every write went to fresh memory.
    flow: DependencyGraph,
    bounds: Bounds,
    /// What lives when each of the kernels is launched.
    alive: Alive,
}

impl<'a> Part<'a> {
    fn new(history: &'a History<'a>, asked: usize, options: &Options<'a>) -> Result<Self, ExplainError> {
        let part = history.part(asked);
        let run: Vec<&Kernel> = history.kernels[part.clone()].iter().map(|(_, kernel)| *kernel).collect();
        let (times, durations) = durations(history, &part, options);
        let reduced = Reduction::build(&run, Rule::All)?.graph;
        let flow = DependencyGraph::build_with(&run, Rule::Flow)?;
        let bounds = Bounds::new(&reduced, &durations);
        let spans = options.timing.map(|timing| &timing.spans[part.clone()]);
        let launches: Vec<u64> = history.kernels[part.clone()].iter().map(|(when, _)| *when).collect();
        let alive = Alive::new(&history.allocations, &launches);
        let renamed = options.renamed && spans.is_some();
        Ok(Self { first: part.start, run, times, durations, spans, renamed, reduced, flow, bounds, alive })
    }

    /// Its index in the run.
    fn index(&self, k: usize) -> u64 {
        (self.first + k) as u64
    }

    fn span(&self, k: usize) -> Span {
        let start = self.bounds.earliest[k];
        match self.spans {
            Some(spans) => spans[k],
            None => Span { start, end: start.saturating_add(self.durations[k]) },
        }
    }

    fn critical(&self, k: usize) -> bool {
        self.bounds.slack(k) == 0
    }

    /// No other wait implies that `later` waits for `earlier`.
    fn direct(&self, earlier: usize, later: usize) -> bool {
        self.reduced.upstream(later as u32).binary_search(&(earlier as u32)).is_ok()
    }

    /// Of two that depend, whether the later one started before the earlier had ended.
    fn overtook(&self, earlier: usize, later: usize) -> bool {
        self.span(earlier).end > self.span(later).start
    }

    /// The upstream kernel that ends last, the earliest launched of equals.
    fn last(&self, k: usize) -> Option<usize> {
        // A wait that renaming has taken away may have implied one for data.
        let flow = if self.renamed { self.flow.upstream(k as u32) } else { &[] };
        let upstream = self.reduced.upstream(k as u32).iter().chain(flow).map(|u| *u as usize);
        let upstream = upstream.filter(|u| !self.renamed || !self.overtook(*u, k));
        upstream.max_by_key(|u| (self.span(*u).end, Reverse(*u)))
    }

    /// The hazards between two kernels, each cut so that it lies in one buffer.
    fn hazards(&self, earlier: usize, later: usize) -> Vec<LocatedHazard> {
        let mut located = Vec::new();
        for Hazard { class, segment } in hazards::between(self.run[earlier], self.run[later]) {
            let mut address = segment.addr;
            while address < segment.end() {
                let (buffer, end) = self.alive.buffer(address, later);
                let (before, before_end) = self.alive.buffer(address, earlier);
                let bytes = end.min(before_end).min(segment.end()) - address;
                let earlier_buffer = (before.number() != buffer.number()).then_some(before);
                located.push(LocatedHazard { class, address, bytes, buffer, earlier_buffer });
                address += bytes;
            }
        }
        located
    }

    /// [`Explanation::upstream`].
    fn upstream(&self, k: usize) -> Vec<Upstream> {
        let last = self.last(k);
        let needed = ancestors(&self.flow, k);
        let waits = |u: usize| {
            let Span { start, end } = self.span(u);
            Upstream {
                index: self.index(u),
                name: self.run[u].name.clone(),
                start,
                end,
                critical: self.critical(u),
                implied: !self.direct(u, k),
                ends_last: last == Some(u),
                renaming_removes: !needed[u],
                violated: self.overtook(u, k) && (needed[u] || !self.renamed),
                renamed: self.overtook(u, k) && !needed[u] && self.renamed,
                hazards: self.hazards(u, k),
            }
        };
        let depends = (0..k).filter(|u| hazards::depends(self.run[*u], self.run[k]));
        let mut upstream: Vec<Upstream> = depends.map(waits).collect();
        upstream.sort_by_key(|u| (u.implied, Reverse(u.end), u.index));
        upstream
    }

    /// [`Explanation::chain`], and the time that its kernels take together.
    fn chain(&self, k: usize) -> (Vec<Link>, u64) {
        let mut chain = Vec::new();
        let mut takes = 0u64;
        let mut next = Some(k);
        while let Some(k) = next {
            next = self.last(k);
            takes = takes.saturating_add(self.durations[k]);
            let Span { start, end } = self.span(k);
            chain.push(Link {
                index: self.index(k),
                name: self.run[k].name.clone(),
                start,
                end,
                critical: self.critical(k),
                hazards: next.map(|u| self.hazards(u, k)).unwrap_or_default(),
            });
        }
        (chain, takes)
    }

    fn downstream(&self, k: usize) -> Downstream {
        let later = k + 1..self.run.len();
        let waits = later.clone().filter(|later| hazards::depends(self.run[k], self.run[*later]));
        Downstream {
            kernels: waits.count() as u64,
            direct: later.filter(|later| self.direct(k, *later)).map(|later| self.index(later)).collect(),
        }
    }
}

fn check(timing: &Timing, kernels: usize) -> Result<(), ExplainError> {
    if timing.spans.len() != kernels {
        return Err(ExplainError::ScheduleLength { spans: timing.spans.len(), kernels });
    }
    match timing.spans.iter().position(|span| span.end < span.start) {
        None => Ok(()),
        Some(k) => {
            let Span { start, end } = timing.spans[k];
            Err(ExplainError::EndsBeforeStart { kernel: k as u64, start, end })
        }
    }
}

/// How long each kernel of the part takes.
fn durations(history: &History<'_>, part: &Range<usize>, options: &Options<'_>) -> (Times, Vec<u64>) {
    let kernels = &history.kernels[part.clone()];
    if let Some(timing) = options.timing {
        let spans = &timing.spans[part.clone()];
        return (Times::Recorded { unit: timing.unit }, spans.iter().map(|s| s.end - s.start).collect());
    }
    // A measured nanosecond and a unit do not add up: one without a measurement, and none counts.
    if history.kernels.iter().all(|(_, kernel)| kernel.dur_ns.is_some()) {
        let measured = kernels.iter().map(|(_, kernel)| kernel.dur_ns.unwrap_or(0));
        return (Times::Measured { unit: TimeUnit::Ns }, measured.collect());
    }
    let sms = options.sms.get();
    let estimated = kernels.iter().map(|(_, kernel)| kernel.ctas().div_ceil(u64::from(sms)).max(1));
    (Times::Estimated { unit: TimeUnit::Units, sms }, estimated.collect())
}

/// For each kernel, whether a path leads from it to `k`.
fn ancestors(graph: &DependencyGraph, k: usize) -> Vec<bool> {
    let mut reached = vec![false; graph.len()];
    reached[k] = true;
    // Upstream kernels come before: one pass down meets each after all that wait for it.
    for later in (0..=k).rev() {
        if reached[later] {
            graph.upstream(later as u32).iter().for_each(|u| reached[*u as usize] = true);
        }
    }
    reached
}

//! What a trace holds, and how much faster it could run at best.

use crate::graph::{DependencyGraph, Reduction, Rule, TooManyKernels};
use crate::ktrace::{Event, Kernel, KernelType, Run, Trace};
use crate::ranges::RangeMap;
use crate::window::{SoftwareWindow, WindowError};
use serde::Serialize;
use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};
use thiserror::Error;

/// SMs where the trace does not say: those of an RTX 3070.
pub const DEFAULT_SMS: u32 = 46;

/// Window sizes that [`TraceSummary`] gives a bound for, besides the unlimited one.
pub const WINDOWS: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// A trace that cannot be summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A run too long for a graph.
    #[error(transparent)]
    TooManyKernels(#[from] TooManyKernels),
    /// The window refused what the simulation did: the graph is not of these kernels.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// Least, middle and greatest of a set of numbers; all 0 for an empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: u64,
    /// The middle one; the lower of the two in an even number.
    pub median: u64,
    /// The greatest.
    pub max: u64,
}

impl Spread {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = values.collect();
        sorted.sort_unstable();
        match (sorted.first(), sorted.last()) {
            (Some(&min), Some(&max)) => Self { min, median: sorted[(sorted.len() - 1) / 2], max },
            _ => Self::default(),
        }
    }
}

/// Kernels by the pipe they use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByType {
    /// Matrix units.
    pub tensor: u64,
    /// Ordinary lanes.
    pub simt: u64,
    /// Memory to memory.
    pub copy: u64,
}

/// Time of the kernels one after another, divided by time when they overlap; 1 where nothing overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    /// All hazards are kept: RAW, WAR and WAW.
    pub all: f64,
    /// Only RAW is kept, with every earlier writer.
    pub raw: f64,
    /// Only RAW with the last writer of each byte is kept: what renaming all memory could reach.
    pub flow: f64,
}

impl SpeedUp {
    fn new(serial: u64, overlapped: [u64; 3]) -> Self {
        let [all, raw, flow] = overlapped.map(|t| if t == 0 { 1.0 } else { serial as f64 / t as f64 });
        Self { all, raw, flow }
    }
}

/// The machine-limited bound for one window size, of the model of [`placed_units`]: not of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowBound {
    /// Slots of the window, unlimited for `None` (null).
    pub window: Option<u32>,
    /// The bound.
    pub speed_up: SpeedUp,
}

/// The dependence-limited bounds: SMs and window without limit, so that only the longest path counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DependenceBound {
    /// Every kernel takes one unit of time.
    pub equal_kernels: SpeedUp,
    /// Every kernel takes the time it takes alone.
    pub own_durations: SpeedUp,
    /// `own_durations` are the measured nanoseconds; else each is ceil(CTAs / SMs) units.
    pub measured: bool,
}

/// The dependency graph in numbers (all hazards). Runs and synchronisations are barriers: no edge crosses one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphSummary {
    /// Dependent pairs.
    pub edges: u64,
    /// Edges that are left where those that others imply are taken out.
    pub reduced_edges: u64,
    /// Kernels on the longest path, one part between barriers after another.
    pub depth: u64,
    /// The most kernels on one level of one part.
    pub width: u32,
}

/// What a trace holds, and the bounds on its speed-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSummary {
    /// The trace's name.
    pub name: String,
    /// SMs that the bounds are for.
    pub sms: u32,
    /// The trace does not say how many SMs: [`DEFAULT_SMS`] is assumed.
    pub sms_assumed: bool,
    /// Kernels in all runs.
    pub kernels: u64,
    /// Separate executions.
    pub runs: u64,
    /// Kernels by type.
    pub by_type: ByType,
    /// Segments that a kernel reads and writes.
    pub segments_per_kernel: Spread,
    /// Threads of a CTA.
    pub threads_per_cta: Spread,
    /// CTAs of a kernel.
    pub ctas_per_kernel: Spread,
    /// Bytes that kernels move, see [`Kernel::bytes`].
    pub bytes: u128,
    /// Floating-point operations, two per multiply-add.
    pub flops: u128,
    /// Pool allocations.
    pub allocs: u64,
    /// Times that the host waits.
    pub syncs: u64,
    /// The dependencies.
    pub graph: GraphSummary,
    /// Time units of all kernels one after another: the sum of ceil(CTAs / SMs).
    pub serial_units: u64,
    /// Machine-limited bounds: [`WINDOWS`], then unlimited.
    pub window_bounds: Vec<WindowBound>,
    /// Dependence-limited bounds, of the same model.
    pub dependence_bound: DependenceBound,
}

/// The least memory that the program needs, in bytes; of several runs, the one that needs most.
///
/// Allocations, as many as live at a time; and, outside them, every byte that a kernel touches, which is there throughout.
pub fn memory_bytes(trace: &Trace) -> u64 {
    trace.runs.iter().map(run_memory_bytes).max().unwrap_or(0)
}

fn run_memory_bytes(run: &Run) -> u64 {
    let mut persistent = RangeMap::new();
    let mut live: HashMap<u64, u64> = HashMap::new();
    let (mut now, mut most) = (0u64, 0u64);
    for event in &run.events {
        match event {
            Event::Alloc(s) => {
                let before = live.insert(s.addr, s.bytes).unwrap_or(0);
                now = now.saturating_sub(before).saturating_add(s.bytes);
                most = most.max(now);
            }
            Event::Free(s) => now = now.saturating_sub(live.remove(&s.addr).unwrap_or(0)),
            Event::Kernel(kernel) => {
                for s in kernel.reads.iter().chain(&kernel.writes) {
                    persistent.join(*s, (), |_, _| true);
                }
            }
            Event::Run { .. } | Event::Sync { .. } => {}
        }
    }
    for event in &run.events {
        if let Event::Alloc(s) = event {
            persistent.remove(*s);
        }
    }
    persistent.iter().fold(most, |sum, (range, ())| sum.saturating_add(range.bytes))
}

impl TraceSummary {
    /// Summarises a trace for the SMs it names, or [`DEFAULT_SMS`].
    ///
    /// # Errors
    /// A run of more than `u32::MAX` kernels.
    pub fn new(trace: &Trace) -> Result<Self, AnalysisError> {
        Self::with_progress(trace, &|_| ())
    }

    /// The same; `progress` is told what is worked at, where there is more than a moment's work.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_progress(trace: &Trace, progress: &dyn Fn(&str)) -> Result<Self, AnalysisError> {
        let named = trace.header.gpu.sms;
        let sms = sms_of(trace);
        let events = || trace.runs.iter().flat_map(|run| &run.events);
        let count = |wanted: fn(&Event) -> bool| events().filter(|e| wanted(e)).count() as u64;
        let spread = |of: fn(&Kernel) -> u64| Spread::of(trace.kernels().map(of));
        // Each may be near 2^64; of so many that 128 bits overflow there is no memory.
        let total = |of: fn(&Kernel) -> u64| trace.kernels().map(|k| u128::from(of(k))).sum();
        let by_type = |kind| trace.kernels().filter(|k| k.kind == kind).count() as u64;

        let parts: Vec<_> = trace.runs.iter().flat_map(|run| run.parts()).collect();
        let mut graph = GraphSummary::default();
        let mut placed = vec![[0u64; 3]; windows().count()];
        let measured = trace.kernels().all(|k| k.dur_ns.is_some());
        let units = |k: &Kernel| k.ctas().div_ceil(u64::from(sms.get())).max(1);
        let duration = |k: &Kernel| if measured { k.dur_ns.unwrap_or(0) } else { units(k) };
        let (mut equal, mut own) = ([0u64; 3], [0u64; 3]);
        let (mut serial_units, mut own_serial) = (0u64, 0u64);
        for kernel in parts.iter().flatten() {
            add(&mut serial_units, units(kernel));
            add(&mut own_serial, duration(kernel));
        }
        for (i, (rule, name)) in RULES.into_iter().enumerate() {
            progress(name);
            for kernels in &parts {
                // The same order as that of all pairs, with fewer edges to look at.
                let Reduction { graph: reduced, pairs } = Reduction::build(kernels, rule)?;
                if rule == Rule::All {
                    graph.edges += pairs;
                    graph.reduced_edges += reduced.edges() as u64;
                    graph.depth += u64::from(reduced.depth());
                    graph.width = graph.width.max(reduced.width());
                }
                add(&mut equal[i], u64::from(reduced.depth()));
                let ctas: Vec<u64> = kernels.iter().map(|k| k.ctas()).collect();
                let durations: Vec<u64> = kernels.iter().map(|k| duration(k)).collect();
                add(&mut own[i], critical_path(&reduced, &durations));
                for (units, window) in placed.iter_mut().zip(windows()) {
                    add(&mut units[i], placed_units(&ctas, &reduced, sms, slots(window))?);
                }
            }
        }
        let kernels = trace.kernels().count() as u64;
        Ok(Self {
            name: trace.header.name.clone(),
            sms: sms.get(),
            sms_assumed: named.is_none(),
            kernels,
            runs: trace.runs.len() as u64,
            by_type: ByType {
                tensor: by_type(KernelType::Tensor),
                simt: by_type(KernelType::Simt),
                copy: by_type(KernelType::Copy),
            },
            segments_per_kernel: spread(|k| (k.reads.len() + k.writes.len()) as u64),
            threads_per_cta: spread(Kernel::threads),
            ctas_per_kernel: spread(Kernel::ctas),
            bytes: total(Kernel::bytes),
            flops: total(|k| k.flops),
            allocs: count(|e| matches!(e, Event::Alloc(_))),
            syncs: count(|e| matches!(e, Event::Sync { .. })),
            graph,
            serial_units,
            window_bounds: windows()
                .zip(placed)
                .map(|(window, units)| WindowBound { window, speed_up: SpeedUp::new(serial_units, units) })
                .collect(),
            dependence_bound: DependenceBound {
                equal_kernels: SpeedUp::new(kernels, equal),
                own_durations: SpeedUp::new(own_serial, own),
                measured: measured && kernels > 0,
            },
        })
    }
}

/// The rules that there are bounds for, in the order of [`SpeedUp`]'s fields, and what is being worked at.
const RULES: [(Rule, &str); 3] = [
    (Rule::All, "bounds, all hazards"),
    (Rule::Raw, "bounds, RAW only"),
    (Rule::Flow, "bounds, last writer"),
];

/// The SMs that bounds are for: those that the trace names, or [`DEFAULT_SMS`].
fn sms_of(trace: &Trace) -> NonZeroU32 {
    let named = trace.header.gpu.sms.and_then(NonZeroU32::new);
    named.or(NonZeroU32::new(DEFAULT_SMS)).unwrap_or(NonZeroU32::MIN)
}

/// The windows that there are bounds for: [`WINDOWS`], then the unlimited one.
fn windows() -> impl Iterator<Item = Option<u32>> {
    WINDOWS.into_iter().map(Some).chain([None])
}

fn slots(window: Option<u32>) -> Option<NonZeroUsize> {
    window.and_then(|w| NonZeroUsize::new(w as usize))
}

/// The machine-limited bounds of [`TraceSummary::window_bounds`] with all hazards, and nothing else of a summary: for
/// a trace that was renamed. [`WINDOWS`], then unlimited.
///
/// # Errors
/// A run of more than `u32::MAX` kernels.
pub fn window_speed_ups(trace: &Trace) -> Result<Vec<f64>, AnalysisError> {
    let sms = sms_of(trace);
    let (mut serial, mut placed) = (0, vec![0; windows().count()]);
    for kernels in trace.runs.iter().flat_map(|run| run.parts()) {
        let ctas: Vec<u64> = kernels.iter().map(|k| k.ctas()).collect();
        let graph = Reduction::build(&kernels, Rule::All)?.graph;
        ctas.iter().for_each(|c| add(&mut serial, c.div_ceil(u64::from(sms.get())).max(1)));
        for (units, window) in placed.iter_mut().zip(windows()) {
            add(units, placed_units(&ctas, &graph, sms, slots(window))?);
        }
    }
    Ok(placed.into_iter().map(|units| SpeedUp::new(serial, [units; 3]).all).collect())
}

fn add(total: &mut u64, more: u64) {
    *total = total.saturating_add(more);
}

/// The longest path through `graph`, in the kernels' durations; `durations[k]` is kernel k's.
/// Kernels that `durations` does not reach take no time.
pub fn critical_path(graph: &DependencyGraph, durations: &[u64]) -> u64 {
    let mut ends: Vec<u64> = Vec::with_capacity(graph.len());
    for (k, upstream) in graph.iter() {
        let start = upstream.iter().map(|u| ends[*u as usize]).max().unwrap_or(0);
        ends.push(start.saturating_add(durations.get(k as usize).copied().unwrap_or(0)));
    }
    ends.into_iter().max().unwrap_or(0)
}

/// Time units until all kernels are done, with nothing lost to overheads: a bound.
///
/// Each of `sms` SMs holds one CTA at a time, and each CTA takes one unit. Kernels enter a window of `window`
/// unfinished ones (no limit for `None`) in program order; in every unit the free SMs go to CTAs of the oldest
/// kernel that is ready, then to those of the next. `ctas[k]` is kernel k's, at least 1.
///
/// # Errors
/// A graph that is not of these kernels.
pub fn placed_units(
    ctas: &[u64],
    graph: &DependencyGraph,
    sms: NonZeroU32,
    window: Option<NonZeroUsize>,
) -> Result<u64, WindowError> {
    let sms = u64::from(sms.get());
    let mut left: Vec<u64> = ctas.iter().map(|c| (*c).max(1)).collect();
    let mut waiting = 0..left.len() as u32;
    let mut window = SoftwareWindow::new(window);
    let mut done = Vec::new();
    let mut units = 0u64;
    loop {
        while !window.is_full()
            && let Some(k) = waiting.next()
        {
            window.insert(k, graph.upstream(k))?;
        }
        let Some(oldest) = window.next_ready() else { return Ok(units) };
        // While the oldest fills every SM nobody else moves: skip to the unit in which it does not.
        let whole = left[oldest as usize] / sms;
        if whole > 0 {
            add(&mut units, whole);
            left[oldest as usize] %= sms;
            if left[oldest as usize] == 0 {
                done.push(oldest);
            }
        } else {
            let mut free = sms;
            for k in window.ready() {
                let placed = free.min(left[k as usize]);
                left[k as usize] -= placed;
                free -= placed;
                if left[k as usize] == 0 {
                    done.push(k);
                }
                if free == 0 {
                    break;
                }
            }
            add(&mut units, 1);
        }
        for k in done.drain(..) {
            window.dispatch(k)?;
            window.retire(k)?;
        }
    }
}

//! Subgraphs: a stretch of kernels falls into parts that do not wait for each other, and each part that a stream is given is one graph, with
//! its branches. Between the parts of two stretches there are events, as between kernels. The device keeps the order inside a graph, so
//! nobody on the host decides anything, and the host launches a few graphs instead of many kernels.

use super::graph::{FIRST, Reduction};
use super::kept::Kept;
use super::plan::{Costs, Estimate, MAX_STREAMS, Planned, Planner};
use super::streams::{Op, tell};
use super::{Meter, Options, RunError};
use crate::run::device::Device;
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use std::collections::{HashMap, VecDeque};
use windlass_hazards::Slot;

/// What earlier runs left.
pub(super) struct Known {
    pub(super) kept: Kept,
    /// Of each kernel of a stretch, its stream, by the first kernel of the stretch, the one after its last, and how many streams there are.
    /// Any choice is right: that of the first run need not be worked out again.
    streams: HashMap<(usize, usize, usize), Vec<usize>>,
}

impl Known {
    pub(super) fn new(early: bool) -> Self {
        Self { kept: Kept::new(early), streams: HashMap::new() }
    }
}

/// Kernels that are planned together.
#[derive(Default)]
struct Stretch {
    first: usize,
    slots: Vec<Slot>,
    estimates: Vec<Estimate>,
    /// Node, and a node before it in this stretch that it waits for; ascending nodes.
    inner: Vec<(usize, usize)>,
    /// Node, and a subgraph of an earlier stretch that it waits for.
    outer: Vec<(usize, Slot)>,
}

impl Stretch {
    fn clear(&mut self, first: usize) {
        self.first = first;
        self.slots.clear();
        self.estimates.clear();
        self.inner.clear();
        self.outer.clear();
    }

    /// Each node's component: the first node that it is connected with.
    fn components(&self) -> Vec<usize> {
        let mut to: Vec<usize> = (0..self.slots.len()).collect();
        fn root(to: &mut [usize], mut node: usize) -> usize {
            while to[node] != node {
                to[node] = to[to[node]];
                node = to[node];
            }
            node
        }
        for (a, b) in &self.inner {
            let (a, b) = (root(&mut to, *a), root(&mut to, *b));
            to[a.max(b)] = a.min(b);
        }
        (0..to.len()).map(|node| root(&mut to, node)).collect()
    }

    /// When each node is expected to end if those of its component start together, in nanoseconds.
    fn ends(&self, gap_ns: u32) -> Vec<f64> {
        let mut ends = vec![0f64; self.slots.len()];
        let mut edges = self.inner.iter().peekable();
        for node in 0..ends.len() {
            let mut start = 0f64;
            while let Some((_, upstream)) = edges.next_if(|(of, _)| *of == node) {
                start = start.max(ends[*upstream] + f64::from(gap_ns));
            }
            ends[node] = start + f64::from(self.estimates[node].ns);
        }
        ends
    }

    /// A stream for each node, the same for all of a component: where the component is expected to end first. It ends with the others there,
    /// and they with it, for who comes after one of them waits for all; by how much later this is for them counts, too. So does a launch, if
    /// it is the first there. `upstream` gives what those of the nodes that it is asked for wait for.
    fn streams(
        &self,
        planner: &Planner,
        streams: usize,
        costs: &Costs,
        upstream: impl Fn(&dyn Fn(usize) -> bool) -> Vec<(u32, Slot)>,
    ) -> Vec<usize> {
        let components = self.components();
        let (launch_ns, gap_ns) = costs.chain();
        let ends = self.ends(gap_ns);
        // Of each stream: when what it is given here starts, and how long it takes.
        let mut given: Vec<Option<(f64, f64)>> = vec![None; streams];
        let mut chosen = vec![0; components.len()];
        for first in (0..components.len()).filter(|node| components[*node] == *node) {
            let of = |node: usize| components[node] == first;
            let upstream = upstream(&of);
            let takes =
                (first..ends.len()).filter(|node| of(*node)).map(|node| ends[node]).fold(0.0, f64::max);
            let mut best = (f64::INFINITY, 0, (0.0, 0.0));
            for (stream, given) in given.iter().enumerate() {
                let ready = planner.start(&upstream, stream);
                let (start, takes, costs) = match given {
                    Some((start, others)) => {
                        let both = (ready.max(*start), takes.max(*others));
                        (both.0, both.1, both.0 + both.1 - (start + others))
                    }
                    None => (ready, takes, f64::from(launch_ns)),
                };
                let end = start + takes + costs;
                if end < best.0 {
                    best = (end, stream, (start, takes));
                }
            }
            let (_, stream, now) = best;
            given[stream] = Some(now);
            (first..components.len()).filter(|node| of(*node)).for_each(|node| chosen[node] = stream);
        }
        chosen
    }

    /// The edges between these nodes, as few as keep their order.
    fn shape(&self, nodes: &[usize]) -> Vec<Vec<u32>> {
        let mut place = vec![u32::MAX; self.slots.len()];
        (0..).zip(nodes).for_each(|(n, node)| place[*node] = n);
        let mut reduction = Reduction::new(nodes.len());
        let mut edges = self.inner.iter().peekable();
        let mut shape = Vec::with_capacity(nodes.len());
        for (n, node) in nodes.iter().enumerate() {
            while edges.next_if(|(of, _)| of < node).is_some() {}
            let mut upstream = Vec::new();
            while let Some((_, u)) = edges.next_if(|(of, _)| of == node) {
                upstream.push(place[*u]);
            }
            upstream.sort_unstable();
            shape.push(reduction.reduce(n, upstream.into_iter()));
        }
        shape
    }
}

/// A stretch that has been told.
struct Told {
    /// Its kernels, in program order.
    kernels: Vec<Slot>,
    subgraphs: Vec<Slot>,
}

struct Run<'a> {
    device: &'a dyn Device,
    checker: Checker<'a>,
    planner: Planner,
    options: &'a Options,
    costs: Costs,
    streams: usize,
    known: &'a mut Known,
    /// Stretches that a new one may overlap with, oldest first.
    told: VecDeque<Told>,
    /// Of each kernel in the checker, its subgraph.
    of: Vec<Slot>,
    /// Of each stream, the newest of the subgraphs that are older than those stretches. Whatever is told comes after them, so an event of theirs
    /// may have been recorded anew by then: for a subgraph that comes after them, too.
    old: Vec<Option<Slot>>,
    free: Vec<Slot>,
    /// The number that the planner and events know the next subgraph by.
    next: u32,
    stretch: Stretch,
    planned: Vec<Planned>,
}

/// How many stretches before it a new one may overlap with. The hazards of a kernel are looked for in these and in its own; it comes after all
/// that is older, so the host need not know what has ended.
const OVERLAP: usize = 1;

impl Run<'_> {
    fn upstream(&self, of: impl Fn(usize) -> bool) -> Vec<(u32, Slot)> {
        let outer = self.stretch.outer.iter().filter(|(node, _)| of(*node)).map(|(_, slot)| *slot);
        let slots = outer.chain(self.old.iter().copied().flatten());
        let mut upstream: Vec<_> = slots.map(|slot| (self.planner.kernel(slot), slot)).collect();
        upstream.sort_unstable();
        upstream.dedup();
        upstream
    }

    /// A new stretch comes after the oldest.
    fn age(&mut self) -> Result<(), RunError> {
        let Some(Told { kernels, subgraphs }) = self.told.pop_front() else { return Ok(()) };
        // In program order each is ready.
        for slot in kernels {
            self.checker.retire(slot, |_, _| {})?;
        }
        for slot in subgraphs {
            let stream = self.planner.stream(slot) as usize;
            self.free.extend(self.old[stream].replace(slot));
        }
        Ok(())
    }

    /// Takes kernels in from `next` on until `end`. Where kernels have so many segments that there is no room, the stretch may end earlier.
    fn insert(&mut self, next: &mut usize, end: usize) -> Result<(), RunError> {
        self.stretch.clear(*next);
        while *next < end {
            let Some(slot) = self.checker.insert_without_order(*next as u32)? else {
                if self.told.is_empty() {
                    break;
                }
                self.age()?;
                continue;
            };
            let node = self.stretch.slots.len();
            self.stretch.slots.push(slot);
            self.stretch.estimates.push(self.options.estimates.get(*next).copied().unwrap_or_default());
            let Stretch { first, inner, outer, .. } = &mut self.stretch;
            let before = outer.len();
            for (kernel, slot) in &self.checker.upstream {
                let of = self.of[slot.index()];
                match (*kernel as usize).checked_sub(*first) {
                    Some(upstream) => inner.push((node, upstream)),
                    // Many kernels are of few subgraphs.
                    None if outer[before..].contains(&(node, of)) => {}
                    None => outer.push((node, of)),
                }
            }
            *next += 1;
        }
        // What has aged since is not waited for by itself.
        let told = &self.told;
        self.stretch.outer.retain(|(_, slot)| told.iter().any(|told| told.subgraphs.contains(slot)));
        Ok(())
    }

    /// Each node's stream, as before where this stretch is known.
    fn choose(&mut self) -> Vec<usize> {
        let (first, count) = (self.stretch.first, self.stretch.slots.len());
        let key = (first, first + count, self.streams);
        if let Some(chosen) = self.known.streams.get(&key) {
            return chosen.clone();
        }
        let chosen = self.stretch.streams(&self.planner, self.streams, &self.costs, |of| self.upstream(of));
        self.known.streams.insert(key, chosen.clone());
        chosen
    }

    /// Plans the stretch, and tells it.
    fn tell(&mut self, meter: &mut Meter) -> Result<(), RunError> {
        let chosen = self.choose();
        let ends = self.stretch.ends(self.costs.chain().1);
        self.planned.clear();
        let mut told = Told { kernels: self.stretch.slots.clone(), subgraphs: Vec::new() };
        let mut left: Vec<usize> = (0..chosen.len()).collect();
        while let Some(stream) = left.first().map(|node| chosen[*node]) {
            let nodes: Vec<usize> = left.extract_if(.., |node| chosen[*node] == stream).collect();
            let ns = nodes.iter().map(|node| ends[*node]).fold(0.0, f64::max);
            let estimates = &self.stretch.estimates;
            let area: f32 = nodes.iter().map(|node| estimates[*node].ns * estimates[*node].share).sum();
            let share = if ns > 0.0 { (f64::from(area) / ns) as f32 } else { 0.0 };
            let estimate = Estimate { ns: ns as f32, share };
            let upstream = self.upstream(|node| chosen[node] == stream);
            // One per stream and stretch at most, and an old one per stream: without one, kernels would be lost.
            let slot = self.free.pop().expect("a slot is free");
            let name = (self.next, slot);
            self.next += 1;
            let planned = self.planner.plan(name, &upstream, estimate, Some(stream), &mut self.planned);
            // Whoever waits for it later waits for nothing that comes after it.
            self.planner.will_be_recorded(slot);
            self.tell_one(&planned, &nodes, meter)?;
            self.planned.push(planned);
            nodes.iter().for_each(|node| self.of[self.stretch.slots[*node].index()] = slot);
            told.subgraphs.push(slot);
        }
        self.told.push_back(told);
        meter.counts.stretches += 1;
        Ok(())
    }

    /// A subgraph of these nodes: as one graph, or where it is not known kernel by kernel.
    fn tell_one(&mut self, planned: &Planned, nodes: &[usize], meter: &mut Meter) -> Result<(), RunError> {
        let stream = planned.stream;
        for kernel in &planned.waits {
            tell(self.device, stream, Op::Wait { kernel: *kernel })?;
            meter.counts.waits += 1;
        }
        let kernels: Vec<u32> = nodes.iter().map(|node| (self.stretch.first + node) as u32).collect();
        meter.counts.launches += kernels.len() as u64;
        match self.known.kept.get(&kernels) {
            Some(graph) => {
                tell(self.device, stream, Op::Graph { graph })?;
                meter.counts.kept_graphs += 1;
            }
            None => {
                // In program order each comes after what it waits for.
                for kernel in &kernels {
                    tell(self.device, stream, Op::Launch { kernel: *kernel, early: false })?;
                }
                self.known.kept.want(kernels, self.stretch.shape(nodes));
            }
        }
        if self.streams > 1 {
            tell(self.device, stream, Op::Record { kernel: planned.kernel })?;
            meter.counts.records += 1;
        }
        Ok(())
    }

    fn sections(&mut self, program: &Program, meter: &mut Meter) -> Result<(), RunError> {
        for section in program.sections() {
            let mut next = section.start;
            // The first kernels run while the next are planned.
            let most = self.options.graph_window;
            let mut length = FIRST.min(most);
            while next < section.end {
                let overlap = if self.streams > 1 { OVERLAP } else { 0 };
                while self.told.len() > overlap {
                    self.age()?;
                }
                let end = section.end.min(next + length);
                length = most.min(length.saturating_mul(2));
                self.insert(&mut next, end)?;
                self.tell(meter)?;
            }
            for stream in 0..self.streams {
                let place = self.planner.place(stream);
                if place > 0 {
                    self.device.synchronise(stream as u32)?;
                    meter.counts.synchronisations += 1;
                    self.planner.saw(stream, place);
                }
            }
            while !self.told.is_empty() {
                self.age()?;
            }
            self.free.extend(self.old.iter_mut().filter_map(Option::take));
        }
        Ok(())
    }
}

/// In so many streams, at most those of the device. The host waits for nothing inside a section.
pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    options: &Options,
    streams: usize,
    known: &mut Known,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let streams = (device.streams() as usize).min(streams).clamp(1, MAX_STREAMS);
    let costs = options.costs.unwrap_or(Costs::FREE);
    let window = options.graph_window * (1 + OVERLAP);
    // An old one and a new one per stream, and those of the stretches between.
    let subgraphs = streams * (2 + OVERLAP);
    let mut run = Run {
        device,
        checker: Checker::new(declared, window)?,
        // No subgraph is launched early.
        planner: Planner::new(streams, subgraphs, 0, costs, false, true),
        options,
        costs,
        streams,
        known,
        told: VecDeque::new(),
        of: vec![Slot(0); window],
        old: vec![None; streams],
        free: (0..subgraphs as u16).rev().map(Slot).collect(),
        next: 0,
        stretch: Stretch::default(),
        planned: Vec::new(),
    };
    meter.start(device);
    run.sections(program, meter)?;
    if options.costs.is_some() {
        meter.counts.expected_ns = run.planner.end() as u64;
    }
    meter.counts.waits_dropped = run.planner.dropped;
    Ok(())
}

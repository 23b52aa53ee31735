//! `graph`, `graph-cached` and `ideal`: the device knows all dependencies of a section, and starts what is ready.

use super::machine::{Machine, Pending};
use super::{Host, SimError};
use crate::device::Completion;
use crate::profile::Profile;
use std::ops::Range;
use windlass_gen::table::counted;

/// What a graph costs, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphCosts {
    node: u64,
    launch: u64,
    edge: u64,
    /// From the end of a graph to the start of the next in its stream.
    gap: u64,
    synchronise: u64,
}

impl GraphCosts {
    /// A CUDA graph, built before each section.
    pub fn cuda(profile: &Profile) -> Self {
        Self {
            node: profile.cycles(profile.host.graph_node_ns),
            launch: profile.cycles(profile.host.graph_launch_ns),
            edge: profile.cycles(profile.host.graph_edge_ns),
            gap: profile.cycles(profile.host.stream_gap_ns),
            synchronise: profile.cycles(profile.host.synchronise_ns),
        }
    }

    /// One that was built for an earlier step, and is only launched.
    pub fn cached(profile: &Profile) -> Self {
        Self { node: 0, ..Self::cuda(profile) }
    }

    /// Nothing costs anything.
    pub const FREE: Self = Self { node: 0, launch: 0, edge: 0, gap: 0, synchronise: 0 };
}

pub(crate) struct GraphHost {
    costs: GraphCosts,
    /// For each kernel: unfinished upstream in its graph, and the kernels of the graph that wait for it.
    waits_for: Vec<usize>,
    downstream: Vec<Vec<u32>>,
    /// The graphs of each section with kernels, in the order in which they run.
    sections: Vec<Vec<Range<usize>>>,
    section: usize,
    graph: usize,
    /// When the host has launched the graphs so far.
    launched: u64,
    /// Unfinished kernels of the graph.
    left: usize,
    started: bool,
    pending: Pending,
    finished: Option<u64>,
}

impl GraphHost {
    /// `upstream` is what the host believes. A section is one graph, or with a `window`, which is not 0, one per so many kernels: one
    /// after another in a stream, launched ahead.
    pub fn new(
        costs: GraphCosts,
        upstream: &[Vec<u32>],
        sections: &[Range<usize>],
        window: Option<usize>,
    ) -> Self {
        let graphs = |section: &Range<usize>| -> Vec<Range<usize>> {
            let step = window.unwrap_or(usize::MAX).max(1);
            let starts = section.clone().step_by(step);
            starts.map(|first| first..first.saturating_add(step).min(section.end)).collect()
        };
        let sections: Vec<_> = sections.iter().filter(|s| !s.is_empty()).map(graphs).collect();
        let mut waits_for = vec![0; upstream.len()];
        let mut downstream = vec![Vec::new(); upstream.len()];
        for graph in sections.iter().flatten() {
            for k in graph.clone() {
                // What is before the graph has ended when the graph begins.
                for u in upstream[k].iter().filter(|u| graph.contains(&(**u as usize))) {
                    downstream[*u as usize].push(k as u32);
                    waits_for[k] += 1;
                }
            }
        }
        Self {
            costs,
            waits_for,
            downstream,
            sections,
            section: 0,
            graph: 0,
            launched: 0,
            left: 0,
            started: false,
            pending: Pending::default(),
            finished: None,
        }
    }

    /// The host goes on with the next section.
    fn begin_section(&mut self, now: u64) {
        if self.section == self.sections.len() {
            self.finished = Some(now);
        } else {
            (self.graph, self.launched) = (0, now);
            self.begin_graph(now);
        }
    }

    /// The next graph of the section starts, at `now` at the earliest.
    fn begin_graph(&mut self, now: u64) {
        let graph = self.sections[self.section][self.graph].clone();
        self.left = graph.len();
        self.launched += self.costs.node * graph.len() as u64 + self.costs.launch;
        let available = self.launched.max(now);
        for k in graph.filter(|k| self.waits_for[*k] == 0) {
            self.pending.push(available, k);
        }
    }
}

impl Host for GraphHost {
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        if !self.started {
            self.started = true;
            self.begin_section(now);
        }
        for completion in done {
            for k in std::mem::take(&mut self.downstream[completion.kernel]) {
                self.waits_for[k as usize] -= 1;
                if self.waits_for[k as usize] == 0 {
                    self.pending.push(now + self.costs.edge, k as usize);
                }
            }
            self.left -= 1;
            if self.left == 0 {
                self.graph += 1;
                if self.graph < self.sections[self.section].len() {
                    self.begin_graph(now + self.costs.gap);
                } else {
                    self.section += 1;
                    self.begin_section(now + self.costs.synchronise);
                }
            }
        }
        self.pending.feed(machine)
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        self.pending.next_event(now)
    }

    fn finished_at(&self) -> Option<u64> {
        self.finished
    }

    fn state(&self) -> String {
        format!(
            "section {}, graph {}: {} unfinished, {} of them ready",
            self.section,
            self.graph,
            counted(self.left, "kernel"),
            self.pending.len()
        )
    }
}

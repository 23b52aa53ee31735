//! `graph`, `graph-cached` and `ideal`: the device knows all dependencies of a section, and starts what is ready.

use super::machine::{Machine, Pending};
use super::{Host, SimError};
use crate::device::Completion;
use crate::profile::Profile;

/// What a graph costs, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphCosts {
    node: u64,
    launch: u64,
    edge: u64,
    synchronise: u64,
}

impl GraphCosts {
    /// A CUDA graph, built before each section.
    pub fn cuda(profile: &Profile) -> Self {
        Self {
            node: profile.cycles(profile.host.graph_node_ns),
            launch: profile.cycles(profile.host.graph_launch_ns),
            edge: profile.cycles(profile.host.graph_edge_ns),
            synchronise: profile.cycles(profile.host.synchronise_ns),
        }
    }

    /// One that was built for an earlier step, and is only launched.
    pub fn cached(profile: &Profile) -> Self {
        Self { node: 0, ..Self::cuda(profile) }
    }

    /// Nothing costs anything.
    pub const FREE: Self = Self { node: 0, launch: 0, edge: 0, synchronise: 0 };
}

pub(crate) struct GraphHost {
    costs: GraphCosts,
    /// For each kernel: unfinished upstream, and the kernels that wait for it.
    waits_for: Vec<usize>,
    downstream: Vec<Vec<u32>>,
    section: usize,
    /// Unfinished kernels of the section.
    left: usize,
    started: bool,
    pending: Pending,
    finished: Option<u64>,
}

impl GraphHost {
    /// `upstream` is what the host believes.
    pub fn new(costs: GraphCosts, upstream: &[Vec<u32>]) -> Self {
        let mut downstream = vec![Vec::new(); upstream.len()];
        for (k, up) in upstream.iter().enumerate() {
            for u in up {
                downstream[*u as usize].push(k as u32);
            }
        }
        Self {
            costs,
            waits_for: upstream.iter().map(Vec::len).collect(),
            downstream,
            section: 0,
            left: 0,
            started: false,
            pending: Pending::default(),
            finished: None,
        }
    }

    fn begin(&mut self, now: u64, machine: &Machine<'_>) {
        match machine.stream.sections().get(self.section) {
            None => self.finished = Some(now),
            Some(section) => {
                self.left = section.len();
                let available = now + self.costs.node * section.len() as u64 + self.costs.launch;
                for k in section.clone().filter(|k| self.waits_for[*k] == 0) {
                    self.pending.push(available, k);
                }
            }
        }
    }
}

impl Host for GraphHost {
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        if !self.started {
            self.started = true;
            self.begin(now, machine);
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
                self.section += 1;
                self.begin(now + self.costs.synchronise, machine);
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
            "section {}: {} kernels unfinished, {} of them ready",
            self.section,
            self.left,
            self.pending.len()
        )
    }
}

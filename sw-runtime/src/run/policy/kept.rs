//! Graphs that are kept from run to run: an application that repeats a step knows from the step before what it launches together.

use crate::run::device::{Device, GraphId, GraphShape};
use std::collections::HashMap;

/// Graphs by their kernels, built between runs.
pub(super) struct Kept {
    /// A node that waits for one other is set up while that one runs.
    pub(super) early: bool,
    graphs: HashMap<Vec<u32>, GraphId>,
    /// Asked for in the run, and not there.
    wanted: Vec<GraphShape>,
    /// Kernels in all graphs.
    nodes: usize,
    /// The device has no room for another.
    full: bool,
}

/// Nodes of all graphs together, for each kernel of the program: what a run launches together depends on when kernels were seen to end, and is
/// not the same each time.
const NODES_PER_KERNEL: usize = 16;

impl Kept {
    pub(super) fn new(early: bool) -> Self {
        Self { early, graphs: HashMap::new(), wanted: Vec::new(), nodes: 0, full: false }
    }

    pub(super) fn get(&self, kernels: &[u32]) -> Option<GraphId> {
        self.graphs.get(kernels).copied()
    }

    /// The next run will ask for this one again. Of each kernel, the nodes before it that it waits for.
    pub(super) fn want(&mut self, kernels: Vec<u32>, upstream: Vec<Vec<u32>>) {
        self.wanted.push(GraphShape { kernels, upstream, early: self.early });
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = GraphId> {
        self.graphs.drain().map(|(_, graph)| graph)
    }

    /// Builds what was asked for, of a program of so many kernels: how many graphs. Where the device refuses one, its kernels go one by one, as
    /// before; one that does not work any more says so in the next run.
    pub(super) fn build(&mut self, device: &dyn Device, kernels: usize) -> u64 {
        let mut built = 0;
        for shape in std::mem::take(&mut self.wanted) {
            let nodes = self.nodes + shape.kernels.len();
            if self.full || nodes > NODES_PER_KERNEL * kernels || self.graphs.contains_key(&shape.kernels) {
                continue;
            }
            let Ok(graph) = device.build_graph(&shape) else {
                self.full = true;
                continue;
            };
            self.nodes = nodes;
            self.graphs.insert(shape.kernels, graph);
            built += 1;
        }
        built
    }
}

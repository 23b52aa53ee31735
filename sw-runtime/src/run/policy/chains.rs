//! Chains: kernels that a stream is given with nothing in between, launched as one graph. A graph that is kept costs the host less to launch
//! than a kernel, and its kernels follow each other more closely.

use super::RunError;
use super::streams::{Op, Teller};
use crate::run::device::{Device, GraphId, GraphShape};
use std::collections::HashMap;

/// Graphs of chains, by their kernels. They are built between runs: an application that repeats a step knows its chains from the step before.
pub(super) struct Chains {
    /// Each kernel is set up while the one before it runs.
    pub(super) early: bool,
    graphs: HashMap<Vec<u32>, GraphId>,
    /// Asked for in the run, and not there.
    wanted: Vec<Vec<u32>>,
    /// Kernels in all graphs.
    nodes: usize,
    /// The device has no room for another.
    full: bool,
}

/// Nodes of all graphs together, for each kernel of the program: what a run makes of chains depends on when kernels were seen to end, and is
/// not the same each time.
const NODES_PER_KERNEL: usize = 16;

impl Chains {
    pub(super) fn new(early: bool) -> Self {
        Self { early, graphs: HashMap::new(), wanted: Vec::new(), nodes: 0, full: false }
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = GraphId> {
        self.graphs.drain().map(|(_, graph)| graph)
    }

    /// Builds what was asked for, of a program of so many kernels: how many graphs. Where the device refuses one, its kernels go one by one, as
    /// before; one that does not work any more says so in the next run.
    pub(super) fn build(&mut self, device: &dyn Device, kernels: usize) -> u64 {
        let mut built = 0;
        for chain in std::mem::take(&mut self.wanted) {
            if self.full
                || self.nodes + chain.len() > NODES_PER_KERNEL * kernels
                || self.graphs.contains_key(&chain)
            {
                continue;
            }
            let upstream = (0..chain.len() as u32).map(|n| n.checked_sub(1).into_iter().collect()).collect();
            let shape = GraphShape { kernels: chain.clone(), upstream, early: self.early };
            let Ok(graph) = device.build_graph(&shape) else {
                self.full = true;
                continue;
            };
            self.nodes += chain.len();
            self.graphs.insert(chain, graph);
            built += 1;
        }
        built
    }
}

/// Holds launches back until their stream is told something else, and then tells them together.
pub(super) struct Chained<'a> {
    chains: &'a mut Chains,
    /// Of each stream, and whether the first is launched early, as all others are then.
    held: Vec<(Vec<u32>, bool)>,
    to: &'a mut dyn Teller,
    /// Graphs launched.
    pub(super) told: u64,
}

impl<'a> Chained<'a> {
    pub(super) fn new(chains: &'a mut Chains, streams: usize, to: &'a mut dyn Teller) -> Self {
        Self { chains, held: vec![(Vec::new(), false); streams], to, told: 0 }
    }

    fn release(&mut self, stream: u32) -> Result<(), RunError> {
        let (held, early) = &mut self.held[stream as usize];
        // An early launch is better than a graph of one kernel, which waits for the one before it to end.
        let known = self.chains.graphs.get(held).filter(|_| held.len() > 1 || !*early);
        if let Some(graph) = known {
            self.to.tell(stream, Op::Graph { graph: *graph })?;
            self.told += 1;
            held.clear();
            return Ok(());
        }
        // A chain that is not known goes kernel by kernel.
        if held.len() > 1 {
            self.chains.wanted.push(held.clone());
        }
        for kernel in held.drain(..) {
            let early = std::mem::replace(early, self.chains.early);
            match self.chains.graphs.get([kernel].as_slice()) {
                Some(graph) if !early => {
                    self.to.tell(stream, Op::Graph { graph: *graph })?;
                    self.told += 1;
                }
                _ => {
                    self.to.tell(stream, Op::Launch { kernel, early })?;
                    if !early {
                        self.chains.wanted.push(vec![kernel]);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Teller for Chained<'_> {
    fn tell(&mut self, stream: u32, op: Op) -> Result<(), RunError> {
        if let Op::Launch { kernel, early } = op {
            let (held, first_early) = &mut self.held[stream as usize];
            if held.is_empty() {
                *first_early = early;
            }
            held.push(kernel);
            return Ok(());
        }
        self.release(stream)?;
        self.to.tell(stream, op)
    }

    fn flush(&mut self) -> Result<(), RunError> {
        (0..self.held.len() as u32).try_for_each(|stream| self.release(stream))
    }

    fn finish(&mut self) -> Result<(), RunError> {
        self.flush()?;
        self.to.finish()
    }
}

//! Graphs: one for a whole section, or one per window of kernels, with earlier ones of the same shape used again.

use super::{Meter, RunError};
use crate::run::device::{Device, GraphId, GraphShape};
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;
use windlass_hazards::Slot;

/// Kernels of one graph, at most: what the hazard engine holds at once. A longer section is several graphs, one after another.
const MOST: usize = 4096;

/// Waits that follow from others of the same list are left out: node by node, the nodes that each comes after.
struct Reduction {
    words: usize,
    /// Bit u of row k: node k comes after node u.
    after: Vec<u64>,
}

impl Reduction {
    fn new(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self { words, after: vec![0; words * nodes] }
    }

    /// The upstream of node `k` that is left; `upstream` ascends.
    fn reduce(&mut self, k: usize, upstream: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
        let (before, row) = self.after.split_at_mut(k * self.words);
        let row = &mut row[..self.words];
        row.fill(0);
        let mut left = Vec::new();
        // The newest first: it comes after most.
        for u in upstream.rev() {
            let (word, bit) = (u as usize / 64, 1 << (u % 64));
            if row[word] & bit == 0 {
                left.push(u);
                row[word] |= bit;
                let its = &before[u as usize * self.words..][..self.words];
                row.iter_mut().zip(its).for_each(|(mine, theirs)| *mine |= theirs);
            }
        }
        left.reverse();
        left
    }
}

/// Builds the graph of the kernels from `range.start` on, as many of the range as the window holds.
fn shape(
    checker: &mut Checker<'_>,
    reduction: &mut Reduction,
    range: Range<usize>,
) -> Result<GraphShape, RunError> {
    let mut shape = GraphShape::default();
    let mut slots: Vec<Slot> = Vec::new();
    for k in range.clone() {
        let Some(slot) = checker.insert(k as u32)? else { break };
        let upstream = checker.upstream.iter().map(|(u, _)| u - range.start as u32);
        let upstream = reduction.reduce(slots.len(), upstream);
        shape.kernels.push(k as u32);
        shape.upstream.push(upstream);
        slots.push(slot);
    }
    // The next graph comes after all of this one: the window is empty for it. In program order each is ready.
    for slot in slots {
        checker.retire(slot, |_, _| {})?;
    }
    Ok(shape)
}

pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    window: Option<usize>,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let longest = program.sections().iter().map(|s| s.len()).max().unwrap_or(0);
    let nodes = window.unwrap_or(longest.clamp(4, MOST));
    let mut checker = Checker::new(declared, nodes)?;
    let mut reduction = Reduction::new(nodes);
    // Of each shape, the graph that has it.
    let mut cache: HashMap<Vec<Vec<u32>>, GraphId> = HashMap::new();
    let mut graphs = Vec::new();
    let result = (|| {
        meter.start();
        for section in program.sections() {
            let mut next = section.start;
            while next < section.end {
                let began = Instant::now();
                let shape = shape(&mut checker, &mut reduction, next..section.end.min(next + nodes))?;
                next += shape.kernels.len();
                let known = cache.get(&shape.upstream).copied();
                let updated = match known {
                    Some(graph) => device.update_graph(graph, &shape)?,
                    None => false,
                };
                let graph = match known {
                    Some(graph) if updated => graph,
                    _ => {
                        let graph = device.build_graph(&shape)?;
                        graphs.push(graph);
                        meter.counts.graphs_built += 1;
                        if window.is_some() {
                            cache.insert(shape.upstream, graph);
                        }
                        graph
                    }
                };
                meter.counts.graphs_updated += u64::from(updated);
                meter.counts.build_ns += began.elapsed().as_nanos() as u64;
                device.launch_graph(0, graph)?;
            }
            device.synchronise(0)?;
            meter.counts.synchronisations += 1;
        }
        Ok(())
    })();
    graphs.into_iter().for_each(|graph| device.destroy_graph(graph));
    result
}

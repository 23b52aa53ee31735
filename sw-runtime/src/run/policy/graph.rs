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

/// Kernels of the first window of a section; each window after it has twice as many, up to what was asked for.
pub(super) const FIRST: usize = 8;

/// Waits that follow from others of the same list are left out: node by node, the nodes that each comes after.
pub(super) struct Reduction {
    words: usize,
    /// Bit u of row k: node k comes after node u.
    after: Vec<u64>,
}

impl Reduction {
    pub(super) fn new(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        Self { words, after: vec![0; words * nodes] }
    }

    /// The upstream of node `k` that is left; `upstream` ascends.
    pub(super) fn reduce(&mut self, k: usize, upstream: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
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
    early: bool,
) -> Result<GraphShape, RunError> {
    let mut shape = GraphShape { early, ..GraphShape::default() };
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

/// Graphs by their shape: of each, all that there are. A run takes them in turn, for one that has been launched is not given other kernels
/// before it has ended.
#[derive(Default)]
pub(super) struct Cache {
    graphs: HashMap<Vec<Vec<u32>>, Vec<GraphId>>,
    /// Of each shape, how many of its graphs this run, up to its last wait, has launched.
    used: HashMap<Vec<Vec<u32>>, usize>,
}

impl Cache {
    pub(super) fn drain(&mut self) -> impl Iterator<Item = GraphId> {
        self.graphs.drain().flat_map(|(_, graphs)| graphs)
    }

    /// A graph of that shape that does not run.
    fn take(&mut self, shape: &[Vec<u32>]) -> Option<GraphId> {
        let graphs = self.graphs.get(shape)?;
        let used = self.used.entry(shape.to_vec()).or_default();
        let graph = graphs.get(*used).copied()?;
        *used += 1;
        Some(graph)
    }

    /// The one that was taken last is of no use: another is in its place.
    fn replace(&mut self, shape: &[Vec<u32>], graph: GraphId) -> Option<GraphId> {
        let taken = self.used.get(shape)?.checked_sub(1)?;
        self.graphs.get_mut(shape)?.get_mut(taken).map(|old| std::mem::replace(old, graph))
    }

    fn put(&mut self, shape: Vec<Vec<u32>>, graph: GraphId) {
        *self.used.entry(shape.clone()).or_default() += 1;
        self.graphs.entry(shape).or_default().push(graph);
    }
}

/// With a window and a cache for its graphs, or section by section; graphs that are in no cache go into `built`.
pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    mut window: Option<(usize, &mut Cache)>,
    early: bool,
    built: &mut Vec<GraphId>,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let longest = program.sections().iter().map(|s| s.len()).max().unwrap_or(0);
    let nodes = window.as_ref().map_or(longest.clamp(4, MOST), |(window, _)| *window);
    let mut checker = Checker::new(declared, nodes)?;
    let mut reduction = Reduction::new(nodes);
    if let Some((_, cache)) = &mut window {
        cache.used.clear();
    }
    meter.start(device);
    for section in program.sections() {
        let mut next = section.start;
        // The first kernels run while the graphs of later ones are made.
        let mut most = if window.is_some() { nodes.min(FIRST) } else { nodes };
        while next < section.end {
            let began = Instant::now();
            let range = next..section.end.min(next + most);
            let shape = shape(&mut checker, &mut reduction, range, early)?;
            most = nodes.min(most.saturating_mul(2));
            next += shape.kernels.len();
            let known = window.as_mut().and_then(|(_, cache)| cache.take(&shape.upstream));
            let graph = match known {
                Some(graph) if device.update_graph(graph, &shape)? => {
                    meter.counts.graphs_updated += 1;
                    graph
                }
                known => {
                    let graph = device.build_graph(&shape)?;
                    meter.counts.graphs_built += 1;
                    match (&mut window, known) {
                        (Some((_, cache)), None) => cache.put(shape.upstream, graph),
                        (Some((_, cache)), Some(_)) => {
                            let refused = cache.replace(&shape.upstream, graph);
                            refused.into_iter().for_each(|old| device.destroy_graph(old));
                        }
                        (None, _) => built.push(graph),
                    }
                    graph
                }
            };
            meter.counts.build_ns += began.elapsed().as_nanos() as u64;
            device.launch_graph(0, graph)?;
        }
        device.synchronise(0)?;
        meter.counts.synchronisations += 1;
        if let Some((_, cache)) = &mut window {
            cache.used.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Reduction;
    use crate::run::random::{Random, seed};

    /// Which nodes each comes after, by these edges.
    fn closure(upstream: &[Vec<u32>]) -> Vec<Vec<bool>> {
        let mut after = vec![vec![false; upstream.len()]; upstream.len()];
        for (k, upstream) in upstream.iter().enumerate() {
            for u in upstream {
                let before = after[*u as usize].clone();
                after[k].iter_mut().zip(before).for_each(|(mine, theirs)| *mine |= theirs);
                after[k][*u as usize] = true;
            }
        }
        after
    }

    #[test]
    fn a_reduced_graph_keeps_its_order_with_the_fewest_edges() {
        let mut random = Random(seed());
        for _ in 0..300 {
            let nodes = 1 + random.below(150) as usize;
            let odds = 1 + random.below(30);
            let full: Vec<Vec<u32>> =
                (0..nodes as u32).map(|k| (0..k).filter(|_| random.below(odds) == 0).collect()).collect();
            // Larger than needed, and used for another graph before.
            let mut reduction = Reduction::new(nodes + random.below(70) as usize);
            for (k, _) in full.iter().enumerate() {
                reduction.reduce(k, (0..k as u32).filter(|u| u % 3 == 0));
            }
            let upstream = full.iter().enumerate().map(|(k, u)| reduction.reduce(k, u.iter().copied()));
            let reduced: Vec<Vec<u32>> = upstream.collect();
            let after = closure(&full);
            assert_eq!(closure(&reduced), after, "{full:?}");
            for (k, upstream) in reduced.iter().enumerate() {
                assert!(upstream.is_sorted() && upstream.iter().all(|u| full[k].contains(u)));
                let implied = |u: &u32| upstream.iter().any(|other| after[*other as usize][*u as usize]);
                assert!(!upstream.iter().any(implied), "node {k} of {full:?}: {upstream:?}");
            }
        }
    }
}

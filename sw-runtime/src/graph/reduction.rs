//! The transitive reduction of a run, without the full graph in memory: of that there may be as many edges as pairs of kernels.

use super::{DependencyGraph, Rule, TooManyKernels};
use crate::ktrace::{Kernel, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A set of kernels of one block, a bit each.
type Row = [u64; WORDS];

const WORDS: usize = 32;

/// Kernels in a block.
const BLOCK: usize = 64 * WORDS;

/// What a run's dependencies come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    /// The fewest edges with the same paths.
    pub graph: DependencyGraph,
    /// Dependent pairs, as [`DependencyGraph::edges`] of the full graph.
    pub pairs: u64,
}

impl Reduction {
    /// What [`DependencyGraph::build_with`] and then [`DependencyGraph::reduced`] give.
    ///
    /// Memory is linear in segments and in edges that are left. Time is that of the pairs of segments that overlap
    /// without beginning at the same address, and, for each block of 2048 kernels, of the segments and of the edges
    /// that are left.
    ///
    /// # Errors
    /// More than `u32::MAX` kernels.
    pub fn build(kernels: &[&Kernel], rule: Rule) -> Result<Self, TooManyKernels> {
        if rule == Rule::Flow {
            // Only the last writer of each byte: few edges.
            let full = DependencyGraph::build_with(kernels, rule)?;
            return Ok(Self { graph: full.reduced(), pairs: full.edges() as u64 });
        }
        if u32::try_from(kernels.len()).is_err() {
            return Err(TooManyKernels { kernels: kernels.len() });
        }
        let accesses = Accesses::new(kernels, rule);
        Ok(reduce(kernels.len(), |block, rows| accesses.fill(block, rows)))
    }

    /// The reduction of a graph that is there.
    pub(super) fn of(full: &DependencyGraph) -> Self {
        reduce(full.len(), |block, rows| {
            for (k, row) in (block.start..).zip(rows) {
                let upstream = full.upstream(k as u32);
                let from = upstream.partition_point(|u| (*u as usize) < block.start);
                let inside = upstream[from..].iter().map(|u| *u as usize).take_while(|u| block.contains(u));
                inside.for_each(|u| set(row, u - block.start));
            }
        })
    }
}

/// Reduces a graph of `n` kernels. `fill(block, rows)` sets, for each kernel from the block's first on, the bits of the
/// kernels in the block that it waits for; bits of itself and of later kernels do not count.
///
/// The last block comes first: what a kernel waits for behind the block is then reduced already.
fn reduce(n: usize, fill: impl Fn(Range<usize>, &mut [Row])) -> Reduction {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut pairs = 0;
    for first in (0..n).step_by(BLOCK).rev() {
        let block = first..(first + BLOCK).min(n);
        // What each kernel waits for directly; once its turn has been, all that it waits for.
        let mut rows = vec![[0; WORDS]; n - first];
        fill(block.clone(), &mut rows);
        for (k, list) in lists.iter_mut().enumerate().skip(first) {
            let (before, rest) = rows.split_at_mut(k - first);
            let Some(row) = rest.first_mut() else { break };
            if k < block.end {
                keep_below(row, k - first);
            }
            let direct = *row;
            pairs += direct.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            let mut ancestors = [0; WORDS];
            for u in list.iter() {
                join(&mut ancestors, &before[*u as usize - first]);
            }
            // The latest first: all that could imply a kernel is then in `ancestors`.
            for word in (0..WORDS).rev() {
                loop {
                    let left = direct[word] & !ancestors[word];
                    let Some(bit) = left.checked_ilog2() else { break };
                    let u = 64 * word + bit as usize;
                    list.push((first + u) as u32);
                    join(&mut ancestors, &before[u]);
                    set(&mut ancestors, u);
                }
            }
            *row = ancestors;
        }
    }
    Reduction { graph: DependencyGraph::from_lists(lists), pairs }
}

fn set(row: &mut Row, bit: usize) {
    row[bit / 64] |= 1 << (bit % 64);
}

fn clear(row: &mut Row, bit: usize) {
    row[bit / 64] &= !(1 << (bit % 64));
}

fn join(row: &mut Row, more: &Row) {
    row.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
}

fn keep_below(row: &mut Row, bit: usize) {
    row[bit / 64] &= (1 << (bit % 64)) - 1;
    row[bit / 64 + 1..].fill(0);
}

/// Every segment of a run with its kernel and whether that writes it, by address.
struct Accesses {
    segments: Vec<(Segment, u32, bool)>,
    rule: Rule,
}

/// Segments of a block's kernels that the sweep is within.
struct Open {
    kernels: Row,
    /// How many of each kernel: they may overlap one another.
    counts: Vec<u32>,
    /// How many of all.
    total: usize,
}

impl Open {
    fn new() -> Self {
        Self { kernels: [0; WORDS], counts: vec![0; BLOCK], total: 0 }
    }

    fn begin(&mut self, u: usize) {
        self.counts[u] += 1;
        self.total += 1;
        set(&mut self.kernels, u);
    }

    fn end(&mut self, u: usize) {
        self.counts[u] -= 1;
        self.total -= 1;
        if self.counts[u] == 0 {
            clear(&mut self.kernels, u);
        }
    }
}

impl Accesses {
    fn new(kernels: &[&Kernel], rule: Rule) -> Self {
        Self { segments: super::accesses(kernels), rule }
    }

    /// See [`reduce`]. A sweep over the addresses: a segment meets those of the block that begin with it or before it as
    /// one set, and those that begin within it one by one.
    fn fill(&self, block: Range<usize>, rows: &mut [Row]) {
        let first = block.start;
        // Indexed by whether the segment is written.
        let mut open = [Open::new(), Open::new()];
        let mut ends = BinaryHeap::new();
        let mut begun: [Vec<(u64, usize)>; 2] = Default::default();
        for group in self.segments.chunk_by(|(a, ..), (b, ..)| a.addr == b.addr) {
            let address = group[0].0.addr;
            while let Some(Reverse((end, u, writes))) = ends.peek().copied()
                && end <= address
            {
                ends.pop();
                open[usize::from(writes)].end(u);
            }
            let members =
                || group.iter().map(|(s, k, w)| (s.end(), *k as usize, *w)).filter(|m| m.1 >= first);
            for (_, u, writes) in members().filter(|m| block.contains(&m.1)) {
                for later_writes in [false, true] {
                    if self.rule.orders(writes, later_writes) {
                        begun[usize::from(later_writes)].retain(|(end, k)| {
                            let still = *end > address;
                            if still && *k > u {
                                set(&mut rows[k - first], u - first);
                            }
                            still
                        });
                    }
                }
            }
            for (end, u, writes) in members().filter(|m| block.contains(&m.1)) {
                open[usize::from(writes)].begin(u - first);
                ends.push(Reverse((end, u - first, writes)));
            }
            for (end, k, writes) in members() {
                for earlier_writes in [false, true] {
                    let open = &open[usize::from(earlier_writes)];
                    if open.total > 0 && self.rule.orders(earlier_writes, writes) {
                        join(&mut rows[k - first], &open.kernels);
                    }
                }
                begun[usize::from(writes)].push((end, k));
            }
        }
    }
}

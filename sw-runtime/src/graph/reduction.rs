//! The transitive reduction of a run, without the full graph in memory: of that there may be as many edges as pairs of kernels.

use super::{DependencyGraph, Rule, TooManyKernels};
use crate::ktrace::Kernel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A set of kernels of one block, a bit each.
type Row = [u64; WORDS];

const WORDS: usize = 32;

/// Kernels in a block.
const BLOCK: usize = 64 * WORDS;

const NONE: Row = [0; WORDS];

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
    /// Memory is linear in segments and in edges that are left. Time is linear in segments and in edges that are left for
    /// each block of 2048 kernels, and so quadratic in kernels, by a small factor.
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
        let mut direct = Direct::default();
        Ok(reduce(kernels.len(), |block, k, row| {
            if k == block.start {
                direct = accesses.of(&block);
            }
            accesses.join(&direct, k, row);
        }))
    }

    /// The reduction of a graph that is there.
    pub(super) fn of(full: &DependencyGraph) -> Self {
        reduce(full.len(), |block, k, row| {
            let upstream = full.upstream(k as u32);
            let from = upstream.partition_point(|u| (*u as usize) < block.start);
            let inside = upstream[from..].iter().map(|u| *u as usize).take_while(|u| block.contains(u));
            inside.for_each(|u| set(row, u - block.start));
        })
    }
}

/// Reduces a graph of `n` kernels. `direct(block, k, row)` is asked of each kernel from the block's first on, in order, and sets the bits of the
/// kernels in the block that it waits for; bits of itself and of later kernels do not count.
///
/// The last block comes first: what a kernel waits for behind the block is then reduced already.
fn reduce(n: usize, mut direct: impl FnMut(Range<usize>, usize, &mut Row)) -> Reduction {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut pairs = 0;
    // All that a kernel waits for. Soon behind the block most kernels wait for the same, so that they share one row.
    let mut rows: Vec<Row> = Vec::new();
    let mut row_of: Vec<u32> = Vec::new();
    for first in (0..n).step_by(BLOCK).rev() {
        let block = first..(first + BLOCK).min(n);
        rows.clear();
        rows.push(NONE);
        row_of.clear();
        for (k, list) in lists.iter_mut().enumerate().skip(first) {
            let mut waits_for = NONE;
            direct(block.clone(), k, &mut waits_for);
            if k < block.end {
                keep_below(&mut waits_for, k - first);
            }
            pairs += waits_for.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            // The row that it shares, until it needs one of its own.
            let mut shared = 0;
            let mut own: Option<Row> = None;
            for u in list.iter() {
                let of_u = row_of[*u as usize - first];
                let row = &rows[of_u as usize];
                match &mut own {
                    Some(own) => join(own, row),
                    None if of_u == shared || is_within(row, &rows[shared as usize]) => {}
                    None if is_within(&rows[shared as usize], row) => shared = of_u,
                    None => join(own.insert(rows[shared as usize]), row),
                }
            }
            // The latest first: all that could imply a kernel is then in the row.
            for word in (0..WORDS).rev() {
                loop {
                    let known = own.as_ref().unwrap_or(&rows[shared as usize])[word];
                    let Some(bit) = (waits_for[word] & !known).checked_ilog2() else { break };
                    let u = 64 * word + bit as usize;
                    list.push((first + u) as u32);
                    let own = own.get_or_insert(rows[shared as usize]);
                    join(own, &rows[row_of[u] as usize]);
                    set(own, u);
                }
            }
            row_of.push(own.map_or(shared, |own| add(&mut rows, own)));
        }
    }
    Reduction { graph: DependencyGraph::from_lists(lists), pairs }
}

/// Its place.
fn add(rows: &mut Vec<Row>, row: Row) -> u32 {
    rows.push(row);
    (rows.len() - 1) as u32
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

fn is_within(row: &Row, other: &Row) -> bool {
    row.iter().zip(other).fold(0, |left, (row, other)| left | (row & !other)) == 0
}

fn keep_below(row: &mut Row, bit: usize) {
    row[bit / 64] &= (1 << (bit % 64)) - 1;
    row[bit / 64 + 1..].fill(0);
}

/// Where a segment lies, and whether it is written. Addresses are counted as places in the list of those at which some segment begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Extent {
    begin: u32,
    /// The first place that is not within it.
    end: u32,
    writes: bool,
}

/// Every segment of a run. The same extents come again and again.
struct Accesses {
    /// Those that there are, by their begin.
    extents: Vec<Extent>,
    /// Which of them each kernel has, one kernel after the other.
    all: Vec<u32>,
    /// Where each kernel's begin; and the end.
    of_kernel: Vec<usize>,
    rule: Rule,
}

/// Segments of a block's kernels that a sweep is within.
struct Open {
    kernels: Row,
    /// How many of each kernel: they may overlap one another.
    counts: Vec<u32>,
}

impl Open {
    fn new() -> Self {
        Self { kernels: NONE, counts: vec![0; BLOCK] }
    }

    fn begin(&mut self, u: usize) {
        self.counts[u] += 1;
        set(&mut self.kernels, u);
    }

    fn end(&mut self, u: usize) {
        self.counts[u] -= 1;
        if self.counts[u] == 0 {
            clear(&mut self.kernels, u);
        }
    }
}

/// Kernels of a block, by the places at which their segments begin: a tree, in which each node has those below it.
struct Begins(Vec<Row>);

impl Begins {
    fn new(places: usize) -> Self {
        Self(vec![NONE; 2 * places])
    }

    fn set(&mut self, place: usize, u: usize) {
        let leaf = self.0.len() / 2 + place;
        set(&mut self.0[leaf], u);
    }

    fn close(&mut self) {
        for node in (1..self.0.len() / 2).rev() {
            let mut row = self.0[2 * node];
            join(&mut row, &self.0[2 * node + 1]);
            self.0[node] = row;
        }
    }

    fn join(&self, places: Range<usize>, row: &mut Row) {
        let (mut low, mut high) = (self.0.len() / 2 + places.start, self.0.len() / 2 + places.end);
        while low < high {
            if low % 2 == 1 {
                join(row, &self.0[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                join(row, &self.0[high]);
            }
            (low, high) = (low / 2, high / 2);
        }
    }
}

/// Which kernels of a block others wait for directly.
#[derive(Default)]
struct Direct {
    /// The first is empty.
    rows: Vec<Row>,
    /// For each extent, the row of those that a kernel waits for which has it.
    of_extent: Vec<u32>,
}

impl Accesses {
    fn new(kernels: &[&Kernel], rule: Rule) -> Self {
        let sorted = super::accesses(kernels);
        let mut addresses: Vec<u64> = sorted.iter().map(|(segment, ..)| segment.addr).collect();
        addresses.dedup();
        let place = |address| addresses.partition_point(|a| *a < address) as u32;
        let mut begin = 0;
        let each: Vec<(Extent, u32)> = sorted
            .into_iter()
            .map(|(segment, k, writes)| {
                while addresses[begin as usize] != segment.addr {
                    begin += 1;
                }
                // It is within itself where its end is beyond all addresses, too.
                (Extent { begin, end: place(segment.end()).max(begin + 1), writes }, k)
            })
            .collect();
        let mut extents: Vec<Extent> = each.iter().map(|(extent, _)| *extent).collect();
        extents.sort_unstable();
        extents.dedup();
        let mut of_kernel = vec![0; kernels.len() + 1];
        each.iter().for_each(|(_, k)| of_kernel[*k as usize + 1] += 1);
        for k in 0..kernels.len() {
            of_kernel[k + 1] += of_kernel[k];
        }
        let mut all = vec![0; each.len()];
        let mut free = of_kernel.clone();
        for (extent, k) in each {
            let free = &mut free[k as usize];
            all[*free] = extents.partition_point(|other| *other < extent) as u32;
            *free += 1;
        }
        Self { extents, all, of_kernel, rule }
    }

    fn of_kernel(&self, k: usize) -> &[u32] {
        &self.all[self.of_kernel[k]..self.of_kernel[k + 1]]
    }

    /// By a sweep over the places: where a segment of the block begins or ends, the set of those that are open changes. A segment meets those
    /// that begin with it or before it, which are open there, and those that begin within it.
    fn of(&self, block: &Range<usize>) -> Direct {
        let extent = |id: u32| self.extents[id as usize];
        let mut begins: Vec<(Extent, usize)> = block
            .clone()
            .flat_map(|k| self.of_kernel(k).iter().map(move |id| (extent(*id), k - block.start)))
            .collect();
        begins.sort_unstable_by_key(|(extent, _)| extent.begin);
        let mut places: Vec<u32> = begins.iter().map(|(extent, _)| extent.begin).collect();
        places.dedup();
        // Each indexed by whether the segment of the block is written.
        let mut within = [(); 2].map(|()| Begins::new(places.len()));
        let mut open = [Open::new(), Open::new()];
        let mut place = 0;
        for (extent, u) in &begins {
            while places[place] != extent.begin {
                place += 1;
            }
            within[usize::from(extent.writes)].set(place, *u);
        }
        within.iter_mut().for_each(Begins::close);
        let mut direct = Direct { rows: vec![NONE], of_extent: Vec::with_capacity(self.extents.len()) };
        let mut ends: BinaryHeap<Reverse<(u32, usize, bool)>> = BinaryHeap::new();
        let mut begins = begins.into_iter().peekable();
        // The rows of what is open, once some extent meets it, by whether that is written.
        let mut rows = [None; 2];
        for Extent { begin, end, writes } in &self.extents {
            while let Some(Reverse((_, u, writes))) = ends.peek().filter(|Reverse((end, ..))| end <= begin) {
                open[usize::from(*writes)].end(*u);
                ends.pop();
                rows = [None; 2];
            }
            while let Some((extent, u)) = begins.next_if(|(extent, _)| extent.begin <= *begin) {
                open[usize::from(extent.writes)].begin(u);
                ends.push(Reverse((extent.end, u, extent.writes)));
                rows = [None; 2];
            }
            let ordered = || [false, true].into_iter().filter(|earlier| self.rule.orders(*earlier, *writes));
            let open_here = *rows[usize::from(*writes)].get_or_insert_with(|| {
                let mut row = NONE;
                ordered().for_each(|earlier| join(&mut row, &open[usize::from(earlier)].kernels));
                if row == NONE { 0 } else { add(&mut direct.rows, row) }
            });
            let inner = places.partition_point(|p| p <= begin)..places.partition_point(|p| p < end);
            direct.of_extent.push(if inner.is_empty() {
                open_here
            } else {
                let mut row = direct.rows[open_here as usize];
                ordered().for_each(|earlier| within[usize::from(earlier)].join(inner.clone(), &mut row));
                add(&mut direct.rows, row)
            });
        }
        direct
    }

    /// Sets the bits of the block's kernels that `k` waits for directly.
    fn join(&self, direct: &Direct, k: usize, row: &mut Row) {
        for id in self.of_kernel(k) {
            let from = direct.of_extent[*id as usize];
            if from != 0 {
                join(row, &direct.rows[from as usize]);
            }
        }
    }
}

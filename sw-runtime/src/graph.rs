//! The dependencies of a whole run: every pair, what is left of it without repetition, and what Algorithm 1 misses.

mod reduction;

pub use reduction::Reduction;

use crate::hazards::{self, Hazard};
use crate::ktrace::{Kernel, Segment};
use crate::ranges::RangeMap;
use thiserror::Error;

/// Which order a graph keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// RAW, WAR and WAW: what must hold while memory is where it is.
    #[default]
    All,
    /// RAW only, with every earlier writer of the bytes.
    Raw,
    /// A read waits for the *last* writer of each byte, and for nothing else: what is left
    /// when every write goes to fresh memory (renaming).
    Flow,
    /// ACE's Algorithm 1 as printed: WAR and WAW. Misses RAW; for comparison only.
    StrictAlgorithm1,
}

impl Rule {
    /// Whether the later of two overlapping accesses waits for the earlier. [`Rule::Flow`] asks for more than this.
    fn orders(self, earlier_writes: bool, later_writes: bool) -> bool {
        match self {
            Self::All => earlier_writes || later_writes,
            Self::Raw | Self::Flow => earlier_writes && !later_writes,
            Self::StrictAlgorithm1 => later_writes,
        }
    }
}

/// A graph that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the run has {kernels} kernels, but a graph holds at most {}; split the run", u32::MAX)]
pub struct TooManyKernels {
    /// How many were given.
    pub kernels: usize,
}

/// For each kernel of a run, the earlier ones it waits for. Kernels are numbered by position, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependencyGraph {
    /// Where each kernel's part of `edges` begins; one entry more than kernels.
    starts: Vec<usize>,
    /// Upstream kernels, ascending within a kernel's part.
    edges: Vec<u32>,
}

impl DependencyGraph {
    /// All dependencies between `kernels`, which are in program order: exactly the pairs for which
    /// [`hazards::depends`] holds.
    ///
    /// Takes time in the number of segments (n log n) and of dependent pairs.
    ///
    /// # Errors
    /// More than `u32::MAX` kernels.
    pub fn build(kernels: &[&Kernel]) -> Result<Self, TooManyKernels> {
        Self::build_with(kernels, Rule::All)
    }

    /// As [`DependencyGraph::build`], keeping another order.
    ///
    /// # Errors
    /// As [`DependencyGraph::build`].
    pub fn build_with(kernels: &[&Kernel], rule: Rule) -> Result<Self, TooManyKernels> {
        if u32::try_from(kernels.len()).is_err() {
            return Err(TooManyKernels { kernels: kernels.len() });
        }
        Ok(Self::from_lists(match rule {
            Rule::Flow => flow(kernels),
            _ => sweep(kernels, rule),
        }))
    }

    fn from_lists(mut lists: Vec<Vec<u32>>) -> Self {
        let mut graph = Self { starts: vec![0], edges: Vec::new() };
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            graph.edges.append(list);
            graph.starts.push(graph.edges.len());
        }
        graph
    }

    /// Kernels in the graph.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True where there is no kernel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The earlier kernels that kernel `k` waits for, ascending; none where there is no kernel `k`.
    pub fn upstream(&self, k: u32) -> &[u32] {
        let k = k as usize;
        match (self.starts.get(k), self.starts.get(k + 1)) {
            (Some(&from), Some(&to)) => &self.edges[from..to],
            _ => &[],
        }
    }

    /// Dependent pairs.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Each kernel with those it waits for.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &[u32])> {
        (0..self.len() as u32).map(|k| (k, self.upstream(k)))
    }

    /// Kernels on the longest path that ends in each kernel, itself included: 1 for one that waits for none.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = Vec::with_capacity(self.len());
        for (_, upstream) in self.iter() {
            levels.push(1 + upstream.iter().map(|u| levels[*u as usize]).max().unwrap_or(0));
        }
        levels
    }

    /// Kernels on the longest path; 0 for an empty graph.
    pub fn depth(&self) -> u32 {
        self.levels().into_iter().max().unwrap_or(0)
    }

    /// The most kernels on one level, see [`DependencyGraph::levels`].
    pub fn width(&self) -> u32 {
        let mut counts = vec![0; self.depth() as usize + 1];
        for level in self.levels() {
            counts[level as usize] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    /// The fewest edges with the same paths (transitive reduction). [`Reduction::build`] makes it without the full graph.
    pub fn reduced(&self) -> Self {
        Reduction::of(self).graph
    }

    /// For each edge of `asked`, in order: does a path of two or more edges of `self` join its ends?
    ///
    /// Ancestors are kept as bits, a block of kernels at a time, so that memory stays linear.
    fn reachable(&self, asked: &Self) -> Vec<bool> {
        const WORDS: usize = 32;
        const BLOCK: u32 = 64 * WORDS as u32;
        let mut answers = vec![false; asked.edges()];
        let mut first = 0;
        while (first as usize) < self.len() {
            // The bit of kernel `u`, where it belongs to this block.
            let place = |u: u32| {
                u.checked_sub(first).filter(|b| *b < BLOCK).map(|b| (b as usize / 64, 1u64 << (b % 64)))
            };
            let mut ancestors = vec![[0u64; WORDS]; self.len() - first as usize];
            // A kernel's ancestors come before it: those before the block have none in it.
            for k in first..self.len() as u32 {
                let mut row = [0u64; WORDS];
                for &u in self.upstream(k).iter().filter(|u| **u >= first) {
                    for (word, more) in row.iter_mut().zip(ancestors[(u - first) as usize]) {
                        *word |= more;
                    }
                }
                let from = asked.starts.get(k as usize).copied().unwrap_or(asked.edges());
                for (i, &u) in asked.upstream(k).iter().enumerate() {
                    if let Some((word, bit)) = place(u) {
                        answers[from + i] = row[word] & bit != 0;
                    }
                }
                for (word, bit) in self.upstream(k).iter().filter_map(|u| place(*u)) {
                    row[word] |= bit;
                }
                ancestors[(k - first) as usize] = row;
            }
            first = first.saturating_add(BLOCK);
        }
        answers
    }
}

/// A segment and the kernel it belongs to, waiting for the sweep to pass its end.
type Active = Vec<(u64, u32)>;

/// Every segment with the kernel it belongs to, and whether that writes it; by address.
fn accesses(kernels: &[&Kernel]) -> Vec<(Segment, u32, bool)> {
    let mut segments: Vec<(Segment, u32, bool)> = Vec::new();
    for (k, kernel) in kernels.iter().enumerate() {
        let all = kernel.reads.iter().map(|s| (s, false)).chain(kernel.writes.iter().map(|s| (s, true)));
        segments.extend(all.filter(|(s, _)| s.bytes > 0).map(|(s, writes)| (*s, k as u32, writes)));
    }
    segments.sort_unstable();
    segments
}

/// Every pair with overlapping segments that the rule orders, found by a sweep over the addresses.
fn sweep(kernels: &[&Kernel], rule: Rule) -> Vec<Vec<u32>> {
    let mut upstream = vec![Vec::new(); kernels.len()];
    let (mut readers, mut writers): (Active, Active) = Default::default();
    for (segment, k, writes) in accesses(kernels) {
        let mut meet = |active: &mut Active, other_writes: bool| {
            active.retain(|(end, other)| {
                let open = *end > segment.addr;
                let (earlier, later, ordered) = if *other < k {
                    (*other, k, rule.orders(other_writes, writes))
                } else {
                    (k, *other, rule.orders(writes, other_writes))
                };
                if open && ordered && earlier != later {
                    upstream[later as usize].push(earlier);
                }
                open
            });
        };
        meet(&mut writers, true);
        if writes {
            meet(&mut readers, false);
            writers.push((segment.end(), k));
        } else {
            readers.push((segment.end(), k));
        }
    }
    upstream
}

fn flow(kernels: &[&Kernel]) -> Vec<Vec<u32>> {
    let mut last_writers = RangeMap::new();
    let mut upstream = Vec::with_capacity(kernels.len());
    for (k, kernel) in kernels.iter().enumerate() {
        let reads = kernel.reads.iter();
        upstream.push(reads.flat_map(|s| last_writers.overlapping(*s)).map(|(_, writer)| writer).collect());
        for segment in &kernel.writes {
            last_writers.insert(*segment, k as u32);
        }
    }
    upstream
}

/// A dependency that ACE's printed Algorithm 1 does not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The kernel that must wait.
    pub later: u32,
    /// The kernel it must wait for.
    pub earlier: u32,
    /// Why; all are RAW, for the algorithm sees the other two.
    pub hazards: Vec<Hazard>,
    /// A chain of dependencies that the algorithm does see keeps the order all the same.
    pub implied: bool,
}

/// What ACE's printed Algorithm 1 makes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrictReport {
    /// Dependent pairs, exactly.
    pub exact: usize,
    /// Of these, the pairs that the algorithm finds.
    pub found: usize,
    /// The others, by later kernel, then by earlier.
    pub missed: Vec<Missed>,
}

impl StrictReport {
    /// Compares the algorithm with the exact check over `kernels`, which are in program order.
    ///
    /// # Errors
    /// As [`DependencyGraph::build`].
    pub fn new(kernels: &[&Kernel]) -> Result<Self, TooManyKernels> {
        let exact = DependencyGraph::build(kernels)?;
        let strict = DependencyGraph::build_with(kernels, Rule::StrictAlgorithm1)?;
        let implied = strict.reachable(&exact);
        let pairs = exact.iter().flat_map(|(later, up)| up.iter().map(move |earlier| (later, *earlier)));
        let missed = pairs
            .zip(implied)
            .filter(|((later, earlier), _)| strict.upstream(*later).binary_search(earlier).is_err());
        let missed = missed.map(|((later, earlier), implied)| Missed {
            later,
            earlier,
            hazards: hazards::between(kernels[earlier as usize], kernels[later as usize]),
            implied,
        });
        Ok(Self { exact: exact.edges(), found: strict.edges(), missed: missed.collect() })
    }

    /// Missed pairs whose order nothing keeps: a program may compute something else.
    pub fn broken(&self) -> usize {
        self.missed.iter().filter(|m| !m.implied).count()
    }
}

//! Which accesses must be at one place, and which versions must be at home.

use super::ALIGNMENT;
use crate::ktrace::{Event, Kernel, Segment};
use crate::ranges::RangeMap;
use std::collections::BTreeMap;

/// Why a version stays where the program has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Home {
    /// It is read together with bytes that no kernel had written: input, or what the host wrote while it waited.
    Unwritten,
    /// Some of it can be seen when the host waits, or when the run ends.
    Visible,
}

/// Accesses that must be at one place: a value, with all that writes and reads it. Compilers call it a web.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// From its first byte to one past its last.
    start: u64,
    end: u64,
    /// The last kernel that has a part in it.
    pub last: usize,
    /// Why it must stay at home, if so.
    pub home: Option<Home>,
    /// A kernel writes it; otherwise it is input.
    pub written: bool,
}

impl Version {
    /// From its first byte to its last.
    pub fn hull(&self) -> Segment {
        Segment { addr: self.start, bytes: self.end.saturating_sub(self.start) }
    }

    /// The memory that it takes: blocks are whole multiples of the alignment, and begin at one.
    pub fn aligned(&self) -> Segment {
        let addr = self.start / ALIGNMENT * ALIGNMENT;
        let end = self.end.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT);
        Segment { addr, bytes: end - addr }
    }
}

/// The versions of a run. Kernels are numbered by position, from 0.
#[derive(Debug)]
pub(super) struct Versions {
    /// All of them, by their first access.
    pub all: Vec<Version>,
    /// The version of each access: of every kernel its reads, then its writes.
    of: Vec<usize>,
    /// Where each kernel's accesses begin in `of`; one entry more than kernels.
    starts: Vec<usize>,
    /// The first version that begins with each kernel; one entry more than kernels.
    begins: Vec<usize>,
}

impl Versions {
    /// Finds them, by one pass over the run with the last writer of every byte.
    pub fn find(events: &[Event]) -> Self {
        let mut links = Links::default();
        let mut starts = vec![0];
        // The access that wrote each byte last. What is not here no kernel wrote.
        let mut writers: RangeMap<usize> = RangeMap::new();
        // Live allocations, each by the event that made it.
        let mut live: RangeMap<usize> = RangeMap::new();
        for (i, event) in events.iter().enumerate() {
            match event {
                Event::Kernel(kernel) => {
                    links.kernel(kernel, &writers, &live);
                    let first = starts.last().copied().unwrap_or(0);
                    for (w, segment) in kernel.writes.iter().enumerate() {
                        writers.insert(*segment, first + kernel.reads.len() + w);
                    }
                    starts.push(links.parent.len());
                }
                Event::Alloc(segment) => {
                    live.insert(*segment, i);
                    writers.remove(*segment); // what it held is gone
                }
                // Other memory may be given back too, but who else has it is not known: it stays visible.
                Event::Free(segment) if live.overlapping(*segment).any(|(range, _)| range == *segment) => {
                    live.remove(*segment);
                    writers.remove(*segment);
                }
                Event::Sync { .. } => links.show(&mut writers),
                Event::Free(_) | Event::Run { .. } => {}
            }
        }
        links.show(&mut writers);
        Self::of_links(events, links, starts)
    }

    fn of_links(events: &[Event], mut links: Links, starts: Vec<usize>) -> Self {
        let mut versions = Self { all: Vec::new(), of: Vec::new(), starts, begins: Vec::new() };
        let mut of_root: Vec<Option<usize>> = vec![None; links.parent.len()];
        let kernels = events.iter().filter_map(|event| match event {
            Event::Kernel(kernel) => Some(kernel),
            _ => None,
        });
        for (k, kernel) in kernels.enumerate() {
            versions.begins.push(versions.all.len());
            let reads = kernel.reads.iter().map(|s| (s, false));
            for (segment, writes) in reads.chain(kernel.writes.iter().map(|s| (s, true))) {
                let root = links.root(versions.of.len());
                let v = *of_root[root].get_or_insert_with(|| {
                    let home = links.home[root];
                    versions.all.push(Version {
                        start: segment.addr,
                        end: segment.end(),
                        last: k,
                        home,
                        written: false,
                    });
                    versions.all.len() - 1
                });
                versions.of.push(v);
                let version = &mut versions.all[v];
                version.start = version.start.min(segment.addr);
                version.end = version.end.max(segment.end());
                version.last = k;
                version.written |= writes && segment.bytes > 0;
            }
        }
        versions.begins.push(versions.all.len());
        versions
    }

    /// The versions whose first access is kernel `k`'s.
    pub fn begin(&self, k: usize) -> std::ops::Range<usize> {
        self.begins[k]..self.begins[k + 1]
    }

    /// The versions of kernel `k`'s reads, in their order.
    pub fn reads(&self, k: usize) -> impl Iterator<Item = usize> {
        self.of[self.starts[k]..self.starts[k + 1]].iter().copied()
    }

    /// The versions of kernel `k`'s writes, in their order.
    pub fn writes(&self, k: usize, kernel: &Kernel) -> impl Iterator<Item = usize> {
        self.reads(k).skip(kernel.reads.len())
    }
}

/// Accesses joined to versions, as disjoint sets.
#[derive(Default)]
struct Links {
    /// An access of the same version; of one access of each, itself.
    parent: Vec<usize>,
    /// For that one: why the version must stay at home.
    home: Vec<Option<Home>>,
}

impl Links {
    fn root(&mut self, mut access: usize) -> usize {
        while self.parent[access] != access {
            self.parent[access] = self.parent[self.parent[access]];
            access = self.parent[access];
        }
        access
    }

    fn join(&mut self, a: usize, b: usize) {
        // The earlier one stays: paths are halved on the way, which is enough.
        let (a, b) = (self.root(a), self.root(b));
        let (first, other) = (a.min(b), a.max(b));
        self.parent[other] = first;
        self.home[first] = self.home[first].max(self.home[other]);
    }

    fn keep(&mut self, access: usize, why: Home) {
        let root = self.root(access);
        self.home[root] = self.home[root].max(Some(why));
    }

    /// Adds a kernel's accesses, its reads, then its writes, and joins them with what they must be with.
    fn kernel(&mut self, kernel: &Kernel, writers: &RangeMap<usize>, live: &RangeMap<usize>) {
        let first = self.parent.len();
        let segments: Vec<Segment> = kernel.reads.iter().chain(&kernel.writes).copied().collect();
        self.parent.extend(first..first + segments.len());
        self.home.resize(self.parent.len(), None);

        // A read is where all that it reads was written.
        for (access, segment) in (first..).zip(&kernel.reads) {
            let mut known = 0;
            for (range, writer) in writers.overlapping(*segment) {
                known += range.overlap(*segment).map_or(0, |both| both.bytes);
                self.join(writer, access);
            }
            if known < segment.bytes {
                self.keep(access, Home::Unwritten);
            }
        }
        // Segments that overlap, or are in one allocation, may be reached by one pointer.
        let mut by_address: Vec<(Segment, usize)> =
            segments.into_iter().zip(first..).filter(|(segment, _)| segment.bytes > 0).collect();
        by_address.sort_unstable();
        let mut before: Option<(u64, usize)> = None; // the farthest end so far, and whose it is
        let mut in_allocation: BTreeMap<usize, usize> = BTreeMap::new(); // an access of the kernel, by allocation
        for (segment, access) in by_address {
            if let Some((_, other)) = before.filter(|(end, _)| *end > segment.addr) {
                self.join(other, access);
            }
            if before.is_none_or(|(end, _)| end < segment.end()) {
                before = Some((segment.end(), access));
            }
            for (_, allocation) in live.overlapping(segment) {
                self.join(*in_allocation.entry(allocation).or_insert(access), access);
            }
        }
    }

    /// The host looks at memory, and may write it: what is there must be at home, and later reads find it there.
    fn show(&mut self, writers: &mut RangeMap<usize>) {
        for (_, writer) in writers.iter() {
            self.keep(writer, Home::Visible);
        }
        writers.clear();
    }
}

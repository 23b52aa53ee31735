//! Renaming: versions of memory that are provably independent get memory of their own, so that WAR and WAW vanish
//! (see docs/renaming.md). As registers in Tomasulo, "An efficient algorithm for exploiting multiple arithmetic units"
//! (IBM Journal, 1967), but with memory, which has a size, and so under a budget.
//!
//! It looks ahead: a recorded trace is known to its end. A live runtime, which does not know what comes, renames whole
//! buffers by their handles.

mod pool;
mod versions;

use crate::ktrace::{ADDRESS_LIMIT, Event, Kernel, Run, Segment, Trace};
use crate::ranges::RangeMap;
use pool::Pool;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use versions::{Home, Version, Versions};

/// What moves, moves by a multiple of this many bytes, so that every alignment up to it stays what it was.
pub const ALIGNMENT: u64 = 256;

/// How much memory renaming may take, besides the program's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// So many bytes.
    Bytes(u64),
    /// So many times the program's own temporary memory, see [`temporary_bytes`]; at least 0.
    Factor(f64),
    /// As much as there are addresses.
    Unlimited,
}

impl Budget {
    /// The budget in bytes for a program with that much temporary memory; `None` where there is no limit.
    pub fn bytes(self, temporary: u64) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            // `as` goes to 0 and to the greatest number where the product is outside.
            Self::Factor(factor) => Some((temporary as f64 * factor) as u64),
            Self::Unlimited => None,
        }
    }
}

/// A text that is no budget.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a budget; give bytes (0, 65536, 512K, 64M, 2G), a factor of the program's own temporary memory (1.5x), or `unlimited`"
)]
pub struct BudgetError(pub String);

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let error = || BudgetError(text.to_owned());
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        // Signs, exponents, `inf` and `nan` are numbers to Rust's parsers, but none that anybody means here.
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(error());
        }
        if let Some(factor) = text.strip_suffix(['x', 'X']) {
            let plain = factor.chars().all(|c| c.is_ascii_digit() || c == '.');
            return factor.parse().ok().filter(|_| plain).map(Self::Factor).ok_or_else(error);
        }
        let (number, shift) = match text.strip_suffix(['K', 'k', 'M', 'm', 'G', 'g']) {
            None => (text, 0),
            Some(number) if text.ends_with(['K', 'k']) => (number, 10),
            Some(number) if text.ends_with(['M', 'm']) => (number, 20),
            Some(number) => (number, 30),
        };
        let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        bytes.map(Self::Bytes).ok_or_else(error)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Factor(factor) => write!(f, "{factor}x"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// What renaming did, over all runs. Every version is counted once: as renamed, or under why it is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RenameReport {
    /// The budget as it was asked for.
    pub budget: String,
    /// The budget in bytes; null where there is no limit.
    pub budget_bytes: Option<u64>,
    /// The program's own temporary memory in bytes, see [`temporary_bytes`].
    pub temporary_bytes: u64,
    /// Versions in all: values that kernels write, with every write and read that must be at one place.
    pub versions: u64,
    /// Versions with memory of their own.
    pub renamed: u64,
    /// Bytes of these, together.
    pub renamed_bytes: u64,
    /// Most bytes that were set aside at a time, besides the program's own; never more than the budget.
    pub peak_bytes: u64,
    /// At home: some of it can be seen when the host waits, or when the run ends.
    pub visible: u64,
    /// At home: it is read together with bytes that no kernel had written.
    pub unwritten: u64,
    /// At home: nothing else is there that it would have to wait for.
    pub unneeded: u64,
    /// At home: the budget is spent. What is free is too small, or was in use so recently that it would have to wait more.
    pub refused: u64,
}

/// A trace with other addresses, and what was done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Renamed {
    /// The same events; segments of renamed versions are behind all other memory, `alloc` and `free` where they were.
    pub trace: Trace,
    /// What was done.
    pub report: RenameReport,
}

/// The memory that a program takes for its own temporary values, in bytes; of several runs, the one that takes most.
///
/// Allocations that the run frees, as many as live at a time; and, outside allocations, every byte that a kernel writes.
pub fn temporary_bytes(trace: &Trace) -> u64 {
    trace.runs.iter().map(run_temporary_bytes).max().unwrap_or(0)
}

fn run_temporary_bytes(run: &Run) -> u64 {
    // Frees that end an allocation of this run, each with what it ends.
    let mut open: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    let mut freed = vec![false; run.events.len()];
    for (i, event) in run.events.iter().enumerate() {
        match event {
            Event::Alloc(s) => {
                open.insert(s.addr, (i, s.bytes));
            }
            Event::Free(s) => {
                if let Some((alloc, _)) = open.remove(&s.addr).filter(|(_, bytes)| *bytes == s.bytes) {
                    (freed[alloc], freed[i]) = (true, true);
                }
            }
            _ => {}
        }
    }
    let (mut live, mut peak) = (0u64, 0u64);
    let mut allocated = RangeMap::new();
    let mut written = RangeMap::new();
    for (event, freed) in run.events.iter().zip(freed) {
        match event {
            Event::Alloc(s) => {
                allocated.insert(*s, ());
                live = live.saturating_add(if freed { s.bytes } else { 0 });
                peak = peak.max(live);
            }
            Event::Free(s) if freed => {
                allocated.remove(*s);
                live = live.saturating_sub(s.bytes);
            }
            Event::Kernel(kernel) => {
                for s in kernel.writes.iter().filter(|s| allocated.overlapping(**s).next().is_none()) {
                    written.insert(*s, ());
                }
            }
            _ => {}
        }
    }
    written.iter().fold(peak, |sum, (range, ())| sum.saturating_add(range.bytes))
}

/// Renames every run of a trace, each by itself, with the same memory.
///
/// The program computes the same: whatever order of the kernels keeps the hazards of the new addresses, all memory that
/// the program can still see where the host waits and where a run ends is then as it would have been, at the address
/// where it would have been. Three things are taken for granted. Between two waits, only kernels of the trace write
/// memory. What is in a kernel's `writes` it writes, all of it, or it is in its `reads` too. And a kernel reaches each
/// of its segments by a pointer of its own, except that segments which overlap, or are in the same allocation, have one
/// pointer in common: these never part.
pub fn rename(trace: &Trace, budget: Budget) -> Renamed {
    let temporary_bytes = temporary_bytes(trace);
    let budget_bytes = budget.bytes(temporary_bytes);
    let first = end_of_memory(trace).min(ADDRESS_LIMIT).div_ceil(ALIGNMENT) * ALIGNMENT;
    let room = ADDRESS_LIMIT.saturating_sub(first);
    let pool = Segment { addr: first, bytes: budget_bytes.unwrap_or(room).min(room) };

    let mut report =
        RenameReport { budget: budget.to_string(), budget_bytes, temporary_bytes, ..RenameReport::default() };
    let runs = trace.runs.iter().map(|run| rename_run(run, pool, &mut report)).collect();
    let mut trace = Trace { header: trace.header.clone(), runs, warnings: trace.warnings.clone() };
    if let Some([_, end]) = trace.header.span.as_mut().filter(|_| report.peak_bytes > 0) {
        *end = first.saturating_add(report.peak_bytes).max(*end);
    }
    Renamed { trace, report }
}

/// One past the last address that a trace uses.
fn end_of_memory(trace: &Trace) -> u64 {
    let events = trace.runs.iter().flat_map(|run| &run.events);
    let segments = events.flat_map(|event| match event {
        Event::Kernel(kernel) => [kernel.reads.as_slice(), kernel.writes.as_slice()],
        Event::Alloc(segment) | Event::Free(segment) => [std::slice::from_ref(segment), &[]],
        Event::Run { .. } | Event::Sync { .. } => [&[][..], &[]],
    });
    let ends = segments.flatten().map(|segment| segment.end());
    ends.chain(trace.header.span.map(|[_, end]| end)).max().unwrap_or(0)
}

/// Renames one run, with `pool` for its versions, and adds to `report` what was done.
fn rename_run(run: &Run, pool: Segment, report: &mut RenameReport) -> Run {
    let versions = Versions::find(&run.events);
    let next_forced = next_forced(run, &versions);
    let mut places = Places::new(&versions, pool);
    let mut kernels = 0;
    let events = run.events.iter().map(|event| match event {
        Event::Kernel(kernel) => {
            let k = kernels;
            kernels += 1;
            Event::Kernel(places.kernel(k, kernel, &next_forced, report))
        }
        Event::Sync { .. } => {
            places.wait(kernels);
            event.clone()
        }
        Event::Run { .. } | Event::Alloc(_) | Event::Free(_) => event.clone(),
    });
    let events = events.collect();
    report.peak_bytes = report.peak_bytes.max(places.pool.peak());
    Run { number: run.number, input: run.input.clone(), events }
}

/// For each version, the next kernel after its first that writes at its addresses what must be at home.
fn next_forced(run: &Run, versions: &Versions) -> Vec<Option<usize>> {
    let mut next = vec![None; versions.all.len()];
    let mut writes = RangeMap::new();
    let mut k = run.kernels().count();
    for event in run.events.iter().rev() {
        match event {
            Event::Sync { .. } => writes.clear(), // everything waits there in any case
            Event::Kernel(kernel) => {
                k -= 1;
                for v in versions.begin(k) {
                    next[v] = writes.overlapping(versions.all[v].hull()).map(|(_, kernel)| kernel).min();
                }
                for (segment, v) in kernel.writes.iter().zip(versions.writes(k, kernel)) {
                    if versions.all[v].home.is_some() {
                        writes.insert(*segment, k);
                    }
                }
            }
            _ => {}
        }
    }
    next
}

/// Where the versions of a run are, as its kernels pass by in program order.
struct Places<'a> {
    versions: &'a Versions,
    pool: Pool,
    /// By version, where its memory begins, if it was renamed.
    blocks: Vec<Option<Segment>>,
    /// Versions in the pool, by the last kernel that uses them.
    ends: BTreeMap<usize, Vec<usize>>,
    /// The last kernel at each address of the program's own memory, since the host waited last.
    touched: RangeMap<usize>,
}

impl<'a> Places<'a> {
    fn new(versions: &'a Versions, pool: Segment) -> Self {
        let blocks = vec![None; versions.all.len()];
        Self { versions, pool: Pool::new(pool), blocks, ends: BTreeMap::new(), touched: RangeMap::new() }
    }

    /// Gives back what no kernel from `k` on uses. What kernel `k` itself still reads is not for its own results.
    fn release(&mut self, k: usize) {
        let later = self.ends.split_off(&k);
        for (last, versions) in std::mem::replace(&mut self.ends, later) {
            for block in versions.into_iter().filter_map(|v| self.blocks[v]) {
                self.pool.free(block, last);
            }
        }
    }

    /// The host waits for all kernels before `k`: no memory is in use, and nothing has to wait for any.
    fn wait(&mut self, k: usize) {
        self.release(k);
        self.pool.rest();
        self.touched.clear();
    }

    /// Finds places for the versions that begin with kernel `k`, and moves its segments to where their versions are.
    fn kernel(
        &mut self,
        k: usize,
        kernel: &Kernel,
        next_forced: &[Option<usize>],
        report: &mut RenameReport,
    ) -> Kernel {
        self.release(k);
        for v in self.versions.begin(k) {
            let version = &self.versions.all[v];
            if version.written {
                report.versions += 1;
                self.place(k, v, version, next_forced[v], report);
            }
        }
        let mut moved = kernel.clone();
        let of_reads = moved.reads.iter_mut().zip(self.versions.reads(k));
        let of_writes = moved.writes.iter_mut().zip(self.versions.writes(k, kernel));
        for (segment, v) in of_reads.chain(of_writes).filter(|(segment, _)| segment.bytes > 0) {
            match self.blocks[v] {
                Some(block) => segment.addr = segment.addr - self.versions.all[v].aligned().addr + block.addr,
                None => self.touched.insert(*segment, k),
            }
        }
        moved
    }

    /// Chooses between home and the pool: where the memory is longest without use, there it makes others wait least.
    fn place(
        &mut self,
        k: usize,
        v: usize,
        version: &Version,
        next_forced: Option<usize>,
        report: &mut RenameReport,
    ) {
        match version.home {
            Some(Home::Visible) => report.visible += 1,
            Some(Home::Unwritten) => report.unwritten += 1,
            None => {
                const NEVER: usize = usize::MAX;
                let before = self.touched.overlapping(version.hull()).map(|(_, last)| k - last).min();
                let after = next_forced.map(|next| next.saturating_sub(version.last));
                let at_home = before.unwrap_or(NEVER).min(after.unwrap_or(NEVER));
                let memory = version.aligned();
                let found = self.pool.find(memory.bytes);
                let in_pool = found.as_ref().map(|spot| spot.last.map_or(NEVER, |last| k - last));
                if let Some(spot) = found.filter(|_| in_pool > Some(at_home)) {
                    let block = Segment { addr: spot.addr, bytes: memory.bytes };
                    self.pool.take(block);
                    self.blocks[v] = Some(block);
                    self.ends.entry(version.last).or_default().push(v);
                    report.renamed += 1;
                    report.renamed_bytes = report.renamed_bytes.saturating_add(version.hull().bytes);
                } else if at_home == NEVER {
                    report.unneeded += 1;
                } else {
                    report.refused += 1;
                }
            }
        }
    }
}

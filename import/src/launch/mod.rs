//! What a GPU launches, for importers whose input does not say it: kernels by rule, and the memory that they touch with addresses.

mod allocator;
mod memory;
mod recorded;
mod rules;

pub(crate) use memory::{Memory, Placed, Step, events};
pub(crate) use rules::{Convolution, Heads, Pass, Precision, Rules, product};

use windlass_runtime::ktrace::{Kernel, KernelType, Segment};

/// SMs of the GPU that tiles are chosen for where none is named: an RTX 3070's.
pub(crate) const SMS: u32 = 46;

/// Bytes of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    pub(crate) memory: usize,
    pub(crate) first: u64,
    pub(crate) bytes: u64,
    /// Bytes that are moved: fewer than those where a view has gaps.
    pub(crate) moved: u64,
}

/// A kernel whose memory has no addresses yet.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) op: String,
    pub(crate) kind: KernelType,
    pub(crate) grid: [u64; 3],
    pub(crate) block: u32,
    pub(crate) smem: u64,
    pub(crate) flops: u64,
    pub(crate) mnk: Option<[u64; 4]>,
    pub(crate) reads: Vec<Access>,
    pub(crate) writes: Vec<Access>,
    pub(crate) traffic: Option<u64>,
    pub(crate) est: Vec<&'static str>,
    /// Why the host waits for it.
    pub(crate) sync: Option<String>,
}

impl Draft {
    /// Views with gaps move fewer bytes than their segments have.
    pub(crate) fn count_gaps(&mut self) {
        let all = || self.reads.iter().chain(&self.writes);
        let moved = all().map(|access| access.moved).fold(0, u64::saturating_add);
        self.traffic = all().any(|access| access.moved < access.bytes).then_some(moved);
    }

    /// Reads, and writes at the same place.
    pub(crate) fn updates(&mut self, accesses: impl Iterator<Item = Access>) {
        for access in accesses {
            self.reads.push(access);
            self.writes.push(access);
        }
    }
}

/// The same with all that a profile may say.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) draft: Draft,
    /// Whether it may touch anything.
    pub(crate) everything: bool,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) regs: Option<u32>,
    pub(crate) stream: u32,
    pub(crate) dur_ns: Option<u64>,
}

impl Launched {
    /// Where no profile says anything.
    pub(crate) fn by_rule(draft: Draft) -> Self {
        Self {
            everything: false,
            grid: fit(draft.grid),
            block: [draft.block, 1, 1],
            regs: None,
            stream: 0,
            dur_ns: None,
            draft,
        }
    }

    /// With addresses: `whole` is all memory there is.
    fn kernel(self, index: u64, addresses: &[u64], whole: [Segment; 2]) -> Kernel {
        let Self { draft, everything, grid, block, regs, stream, dur_ns } = self;
        let segments = |accesses: &[Access]| -> Vec<Segment> {
            if everything {
                return whole.into_iter().filter(|segment| segment.bytes > 0).collect();
            }
            accesses.iter().map(|a| Segment { addr: addresses[a.memory] + a.first, bytes: a.bytes }).collect()
        };
        Kernel {
            index,
            kind: draft.kind,
            grid,
            block,
            smem: draft.smem,
            regs,
            flops: draft.flops,
            mnk: draft.mnk,
            reads: segments(&draft.reads),
            writes: segments(&draft.writes),
            traffic: draft.traffic,
            dur_ns,
            stream,
            part: None,
            est: draft.est.iter().map(|field| (*field).to_owned()).collect(),
            name: draft.name,
            op: draft.op,
        }
    }
}

/// A grid that a trace can hold.
fn fit(grid: [u64; 3]) -> [u32; 3] {
    let fits =
        |grid: [u32; 3]| grid.iter().try_fold(1_u64, |all, d| all.checked_mul(u64::from(*d))).is_some();
    let grid = grid.map(|d| u32::try_from(d).unwrap_or(u32::MAX).max(1));
    if fits(grid) { grid } else { [u32::MAX, 1, 1] }
}

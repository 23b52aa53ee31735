//! ktrace 1: a kernel stream, one JSON object per line (see docs/ktrace.md).

use serde::{Deserialize, Serialize};

/// A byte range that a kernel reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// First address.
    pub addr: u64,
    /// Length in bytes; a segment of zero bytes overlaps nothing.
    pub bytes: u64,
}

impl Segment {
    /// One past the last address.
    pub fn end(self) -> u64 {
        self.addr + self.bytes
    }

    /// The bytes that both have, if any.
    pub fn overlap(self, other: Self) -> Option<Self> {
        let addr = self.addr.max(other.addr);
        let end = self.end().min(other.end());
        (addr < end).then(|| Self { addr, bytes: end - addr })
    }
}

/// Which pipe of an SM a kernel's CTAs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum KernelType {
    /// Matrix units.
    Tensor,
    /// Ordinary lanes.
    Simt,
    /// Memory to memory.
    Copy,
}

/// One kernel of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Index in its run, from 0.
    pub index: u64,
    /// The kernel's name.
    pub name: String,
    /// The operation it implements.
    pub op: String,
    /// Which pipe it uses.
    pub kind: KernelType,
    /// Grid in CTAs, each dimension at least 1.
    pub grid: [u32; 3],
    /// Block in threads, each dimension at least 1.
    pub block: [u32; 3],
    /// Shared memory in bytes per CTA.
    pub smem: u64,
    /// Registers per thread, where known.
    pub regs: Option<u32>,
    /// Floating-point operations, two per multiply-add.
    pub flops: u64,
    /// M, N, K and batch of a matrix product.
    pub mnk: Option<[u64; 4]>,
    /// Segments it reads.
    pub reads: Vec<Segment>,
    /// Segments it writes.
    pub writes: Vec<Segment>,
    /// Measured duration in nanoseconds, where there is one.
    pub dur_ns: Option<u64>,
    /// Stream it was launched on.
    pub stream: u32,
    /// Names of the fields that are estimates.
    pub est: Vec<String>,
}

impl Kernel {
    /// CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|d| u64::from(*d)).product()
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|d| u64::from(*d)).product()
    }

    /// Bytes of all its segments.
    pub fn bytes(&self) -> u64 {
        self.reads.iter().chain(&self.writes).map(|s| s.bytes).sum()
    }
}

/// One line of a trace after the header.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A separate execution begins.
    Run {
        /// Its number.
        run: u64,
    },
    /// A kernel.
    Kernel(Kernel),
    /// A pool allocation begins to live.
    Alloc(Segment),
    /// A pool allocation ends.
    Free(Segment),
    /// The host waits for everything before it.
    Sync {
        /// Why it waits.
        why: String,
    },
}

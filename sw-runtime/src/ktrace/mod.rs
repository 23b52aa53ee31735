//! ktrace 1: a kernel stream, one JSON object per line (see docs/ktrace.md).

mod error;
mod foreign;
mod read;
mod write;

pub use error::{KtraceError, KtraceErrors, KtraceWarning, Problem};
pub use read::{MAX_LINE_BYTES, Reader, Run, Trace};
pub(crate) use read::{Next, read_line};
pub use write::{Compression, Writer};

use serde::{Deserialize, Serialize};

/// The only version of the format so far, the `ktrace` key of the first line.
pub const VERSION: u64 = 1;

/// No segment may end past this address: beyond it a JSON number is no longer exact everywhere.
pub const ADDRESS_LIMIT: u64 = 1 << 53;

/// SM partitions that a kernel's `part` can name, from 0.
pub const PARTITIONS: u8 = 8;

/// The GPU that a trace was recorded on or compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Its name, or `assumed`.
    pub name: String,
    /// Streaming multiprocessors, at least 1, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sms: Option<u32>,
}

/// The first line of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Header {
    /// What was recorded.
    pub name: String,
    /// How it was recorded.
    pub source: String,
    /// The program that wrote the trace, with its version.
    pub producer: String,
    /// The GPU it is meant for.
    pub gpu: Gpu,
    /// The recorded program's parameters, whatever they are.
    pub params: serde_json::Value,
    /// Kernels in all runs together, as the producer counted them.
    pub kernels: u64,
    /// First address in use and one past the last, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<[u64; 2]>,
    /// Remarks for people.
    pub notes: String,
}

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
        self.addr.saturating_add(self.bytes)
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
    /// Bytes that it moves from and to memory, where that is not the size of its segments: `bytes` in the file.
    pub traffic: Option<u64>,
    /// Measured duration in nanoseconds, where there is one.
    pub dur_ns: Option<u64>,
    /// Stream it was launched on.
    pub stream: u32,
    /// SM partition that its CTAs may use, below [`PARTITIONS`]; `None` where the trace restricts nothing.
    pub part: Option<u8>,
    /// Names of the fields that are estimates.
    pub est: Vec<String>,
}

impl Kernel {
    /// CTAs of the grid; `u64::MAX` where the product does not fit.
    pub fn ctas(&self) -> u64 {
        volume(self.grid)
    }

    /// Threads of a CTA; `u64::MAX` where the product does not fit.
    pub fn threads(&self) -> u64 {
        volume(self.block)
    }

    /// Bytes that it moves from and to memory: those of all its segments, unless the trace says how many.
    pub fn bytes(&self) -> u64 {
        self.traffic.unwrap_or_else(|| self.segment_bytes())
    }

    /// Bytes of all its segments.
    pub fn segment_bytes(&self) -> u64 {
        self.reads.iter().chain(&self.writes).fold(0, |sum, s| sum.saturating_add(s.bytes))
    }
}

fn volume(dims: [u32; 3]) -> u64 {
    dims.iter().fold(1, |product, d| product.saturating_mul(u64::from(*d)))
}

/// One line of a trace after the header.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all events are kernels: a box would only cost")]
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

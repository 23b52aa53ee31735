#![doc = include_str!("../README.md")]
#![no_std]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod access;
mod masks;
mod memory;
mod reduced;
mod simd;
mod window;

pub use access::{
    ADDRESS_LIMIT, Access, Buffer, Class, Error, Hazard, Inserted, MAX_SEGMENTS, Shared, Slot, Slots,
    UnknownRange, WINDOW,
};
pub use memory::{MAX_REGIONS, REGION_BYTES};
pub use simd::Isa;

use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;
use masks::Masks;
use memory::{Memory, Pieces};
use reduced::Reduced;
use simd::{Scalar, Vectors};
use window::{Common, Output, Window};

/// How a new kernel is compared with earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// RAW, WAR and WAW.
    #[default]
    Exact,
    /// ACE's Algorithm 1 as printed: only the new kernel's writes are compared. It misses RAW: wrong, for comparison only.
    StrictAlgorithm1,
}

/// Most [`Config::spill`] that a window of any size takes; smaller windows take more.
pub const MAX_SPILL: usize = (reduced::MAX_ROWS - *WINDOW.end()) * reduced::INLINE;

/// What to build an [`Engine`] with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Kernels in flight, at most; in [`WINDOW`].
    pub window: usize,
    /// What counts as a hazard.
    pub rule: Rule,
    /// Room for segments beyond [`Engine::inline_segments`], of all kernels in flight together. Beyond a window of 512 it is
    /// taken in sixes.
    pub spill: usize,
    /// Windows beyond 512: edges between kernels in flight, of all of them together, up to 65535.
    pub edges: usize,
    /// The vector instructions to use; the best there are where `None`.
    pub isa: Option<Isa>,
}

impl Config {
    /// A window of this size: exact, with room for `max(window, 512)` segments beyond the slots' own (at a window of 4096: 4092)
    /// and for six edges per kernel.
    pub const fn new(window: usize) -> Self {
        let spill = if window > 512 { window / 6 * 6 } else { 512 };
        Self { window, rule: Rule::Exact, spill, edges: window.saturating_mul(6), isa: None }
    }
}

/// A window of kernels in flight, and what each one waits for.
///
/// Kernels are inserted in program order. Each retires once all that it waits for have.
///
#[doc = concat!("```\n", include_str!("../examples/stream.rs"), "\n```")]
#[derive(Debug)]
pub struct Engine {
    // Kinds of windows times instruction sets: one indirect call decides both.
    window: Box<dyn Window>,
    common: Common,
    freed: Output,
    isa: Isa,
}

impl Engine {
    /// An empty window of this size.
    ///
    /// # Errors
    /// `window` outside [`WINDOW`].
    pub fn new(window: usize) -> Result<Self, Error> {
        Self::with_config(&Config::new(window))
    }

    /// An empty window. All memory that inserting and retiring need is taken here.
    ///
    /// # Errors
    /// [`Error::Window`], [`Error::Spill`], [`Error::Edges`], [`Error::Isa`].
    pub fn with_config(config: &Config) -> Result<Self, Error> {
        if !WINDOW.contains(&config.window) {
            return Err(Error::Window { got: config.window });
        }
        let isa = config.isa.unwrap_or_else(Isa::best);
        let unavailable = Error::Isa(isa);
        let window = match isa {
            _ if config.window > 512 && isa.is_available() => Box::new(Reduced::new(config)?),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => masks(config, simd::Avx512::new().ok_or(unavailable)?)?,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => masks(config, simd::Avx2::new().ok_or(unavailable)?)?,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => masks(config, simd::Neon::new().ok_or(unavailable)?)?,
            Isa::Scalar => masks(config, Scalar)?,
            #[allow(unreachable_patterns)] // The sets of other architectures.
            _ => return Err(unavailable),
        };
        let upstream = Output::new(config.window);
        let common = Common { memory: Memory::new(), pieces: Pieces::new(), upstream };
        Ok(Self { window, common, freed: Output::new(config.window), isa })
    }

    /// Declares a buffer without an address.
    ///
    /// # Errors
    /// [`Error::EmptyBuffer`], [`Error::TooManyBuffers`], [`Error::RangeOverflow`].
    pub fn declare(&mut self, bytes: u64) -> Result<Buffer, Error> {
        let buffer = self.common.memory.declare(bytes)?;
        self.add(buffer)
    }

    /// Declares the buffer, or the allocation, at an address. Raw ranges are looked up among these.
    ///
    /// # Errors
    /// [`Error::Overlaps`] where it shares bytes with another buffer: with two handles for one byte, a handle would no longer
    /// say what it touches. Also those of [`Engine::declare`].
    pub fn declare_at(&mut self, addr: u64, bytes: u64) -> Result<Buffer, Error> {
        let buffer = self.common.memory.declare_at(addr, bytes)?;
        self.add(buffer)
    }

    fn add(&mut self, buffer: Buffer) -> Result<Buffer, Error> {
        let memory = &self.common.memory;
        let regions = memory.regions_of(buffer)?;
        let handle = (regions.len() == 1).then_some(buffer.to_bits());
        regions.iter().for_each(|region| self.window.add_region(memory.whole(*region), handle));
        Ok(buffer)
    }

    /// Whether a kernel in flight has an access to a buffer: whether it could not be released now.
    ///
    /// # Errors
    /// [`Error::UnknownBuffer`].
    pub fn is_used(&self, buffer: Buffer) -> Result<bool, Error> {
        let regions = self.common.memory.regions_of(buffer)?;
        Ok(regions.iter().any(|region| self.window.is_used(*region)))
    }

    /// Forgets a buffer. Its handle is not valid afterwards, and its addresses are of no known allocation.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::UnknownBuffer`].
    pub fn release(&mut self, buffer: Buffer) -> Result<(), Error> {
        if self.is_used(buffer)? {
            return Err(Error::InUse);
        }
        let regions = self.common.memory.regions_of(buffer)?;
        regions.iter().for_each(|region| self.window.remove_region(*region));
        self.common.memory.release(buffer)
    }

    /// Inserts the next kernel in program order: where it is, and the kernels in flight that it must wait for.
    ///
    /// Windows up to 512 give all of them; beyond, those from which the others follow.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::SpillFull`] and [`Error::EdgesFull`], which retirements may cure;
    /// [`Error::UnknownBuffer`], [`Error::OutOfBounds`], [`Error::RangeOverflow`] and [`Error::TooManySegments`].
    #[inline(always)]
    pub fn insert(&mut self, reads: &[Access], writes: &[Access]) -> Result<Inserted<'_>, Error> {
        let slot = match self.window.insert(&mut self.common, reads, writes) {
            Some(slot) => slot,
            None => self.insert_any(reads, writes)?,
        };
        Ok(Inserted { slot, upstream: self.common.upstream.slots() })
    }

    #[cold]
    fn insert_any(&mut self, reads: &[Access], writes: &[Access]) -> Result<Slot, Error> {
        let slot = self.window.insert_any(&mut self.common, reads, writes)?;
        // Of a kernel that was refused nothing is to be said.
        self.common.memory.note_unknown(&self.common.pieces);
        Ok(slot)
    }

    /// Takes out a kernel that is done; those that now wait for nothing more.
    ///
    /// # Errors
    /// [`Error::NotInFlight`], [`Error::NotReady`].
    #[inline(always)]
    pub fn retire(&mut self, slot: Slot) -> Result<Slots<'_>, Error> {
        if self.window.retire(&mut self.freed, slot) {
            Ok(self.freed.slots())
        } else {
            Err(self.window.refusal(slot))
        }
    }

    /// Every hazard between two kernels in flight, by class, then by place. `earlier` is the one that was inserted first;
    /// the engine takes the caller's word for it. Allocates; not for the hot path.
    ///
    /// # Errors
    /// [`Error::NotInFlight`].
    pub fn explain(&self, earlier: Slot, later: Slot) -> Result<Vec<Hazard>, Error> {
        let (old, (old_reads_any, old_writes_any)) = (self.ranges(earlier)?, self.window.unknown(earlier));
        let (new, (new_reads_any, new_writes_any)) = (self.ranges(later)?, self.window.unknown(later));
        let class = |old_writes: bool, new_writes: bool| match (old_writes, new_writes) {
            (true, false) => Some(Class::Raw),
            (false, true) => Some(Class::War),
            (true, true) => Some(Class::Waw),
            (false, false) => None,
        };
        let mut hazards = Vec::new();
        for (a_writes, a) in &old {
            for (b_writes, b) in &new {
                let (start, end) = (a.start.max(b.start), a.end.min(b.end));
                if start < end
                    && let Some(class) = class(*a_writes, *b_writes)
                {
                    hazards.push(Hazard { class, shared: self.common.memory.shared(start, end - start) });
                }
            }
        }
        let accesses = |ranges: &[(bool, Range<u64>)], any: bool, write: bool| {
            any || ranges.iter().any(|range| range.0 == write)
        };
        for (old_any, old_writes) in [(old_reads_any, false), (old_writes_any, true)] {
            for (new_any, new_writes) in [(new_reads_any, false), (new_writes_any, true)] {
                if (old_any && accesses(&new, new_any, new_writes))
                    || (new_any && accesses(&old, old_any, old_writes))
                {
                    hazards.extend(
                        class(old_writes, new_writes).map(|class| Hazard { class, shared: Shared::Unknown }),
                    );
                }
            }
        }
        hazards.sort_unstable();
        hazards.dedup();
        Ok(hazards)
    }

    /// Where a kernel in flight reads (false) and writes (true), in the order of addresses. What was taken apart, for its buffer is of
    /// several regions, is one range again.
    fn ranges(&self, slot: Slot) -> Result<Vec<(bool, Range<u64>)>, Error> {
        let memory = &self.common.memory;
        let pieces = self.window.pieces(memory, slot)?;
        let mut ranges: Vec<_> = pieces.iter().map(|(piece, write)| (*write, memory.range(piece))).collect();
        ranges.sort_unstable_by_key(|(write, (range, _))| (*write, range.start, range.end));
        ranges.dedup();
        ranges.dedup_by(|(write, (range, goes_on)), (write_before, (before, _))| {
            let joined = write == write_before && *goes_on && range.start == before.end;
            before.end = if joined { range.end } else { before.end };
            joined
        });
        Ok(ranges.into_iter().map(|(write, (range, _))| (write, range)).collect())
    }

    /// The first access to addresses of no declared buffer, once: to be said where the program's author reads it.
    pub fn take_unknown(&mut self) -> Option<UnknownRange> {
        self.common.memory.take_unknown()
    }

    /// Kernels in flight.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// True where no kernel is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vector instructions in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Segments of a kernel that its slot holds; the others go into the spill pool.
    pub fn inline_segments(&self) -> usize {
        self.window.inline_segments()
    }

    /// Bytes of memory that the window takes for all its slots, and those of the spill pool. What there is once per buffer or once
    /// per engine is not in them.
    pub fn window_bytes(&self) -> (usize, usize) {
        self.window.bytes()
    }
}

/// A window of up to 512 slots. The numbers are words of a mask, groups of 32 slots, and segments that a slot holds itself, such that
/// it takes at most 128 bytes.
fn masks<V: Vectors>(config: &Config, vectors: V) -> Result<Box<dyn Window>, Error> {
    Ok(match config.window {
        0..=32 => Box::new(Masks::<1, 1, 10, V>::new(config, vectors)?),
        33..=64 => Box::new(Masks::<1, 2, 10, V>::new(config, vectors)?),
        65..=128 => Box::new(Masks::<2, 4, 10, V>::new(config, vectors)?),
        129..=256 => Box::new(Masks::<4, 8, 8, V>::new(config, vectors)?),
        _ => Box::new(Masks::<8, 16, 5, V>::new(config, vectors)?),
    })
}

//! The allocation filter: which declared buffer an address lies in.
//!
//! Buffers never share bytes, so an access is a few *pieces*, each within one *region*: a buffer, or 2 GiB of a larger one, so
//! that 31 bits hold an offset, and differences of offsets have a sign. Two pieces overlap where their regions are equal and their offsets overlap.

use crate::access::{ADDRESS_LIMIT, Access, Buffer, Error, MAX_SEGMENTS, Shared, Target, UnknownRange};
use alloc::{boxed::Box, vec, vec::Vec};
use core::ops::Range;

/// Bytes that one region holds: a larger buffer takes several.
pub const REGION_BYTES: u64 = 1 << 31;
/// Regions that an engine has room for: as many buffers, where none is larger than a region.
pub const MAX_REGIONS: usize = u16::MAX as usize;
/// Entries of the cache from addresses to regions; a power of two.
const CACHE: usize = 4096;
/// Addresses that share their upper bits share a cache entry: CUDA aligns allocations to 256 bytes.
const CACHE_GRANULE_BITS: u32 = 8;

/// Bytes of one region that a kernel reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub region: u16,
    /// All of the region.
    pub whole: bool,
    pub lo: u32,
    /// The last byte, not the one past it.
    pub last: u32,
}

impl Piece {
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.region == other.region && self.lo <= other.last && self.last >= other.lo
    }
}

#[derive(Clone, Copy, Debug)]
struct Region {
    base: u64,
    /// Offset of the last byte.
    last: u32,
    generation: u32,
    /// Size of the buffer, in its first region; 0 in the others and where there is no buffer.
    buffer_bytes: u64,
}

/// A kernel's accesses, taken apart; reused from call to call.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Reads, then writes.
    pub list: Vec<Piece>,
    pub reads: usize,
    /// Some read, some write is of no known allocation.
    pub unknown_read: bool,
    pub unknown_write: bool,
    /// The first of those.
    unknown: Option<UnknownRange>,
}

impl Pieces {
    pub fn new() -> Self {
        Self { list: Vec::with_capacity(2 * MAX_SEGMENTS), ..Self::default() }
    }

    pub fn writes(&self) -> usize {
        self.list.len() - self.reads
    }
}

#[derive(Debug)]
pub(crate) struct Memory {
    regions: Vec<Region>,
    free: Vec<u16>,
    /// Regions in use, by base, and the bases apart from them, which is all that a search touches.
    by_base: Vec<u16>,
    bases: Vec<u64>,
    /// A guess of the region of an address; the region's bounds say whether it is right.
    cache: Box<[u16; CACHE]>,
    /// Where the next buffer without an address goes, where there is room.
    next_base: u64,
    /// All addresses have been given once: what comes next is between buffers that are there.
    wrapped: bool,
    unknown: Option<UnknownRange>,
    unknown_said: bool,
}

impl Memory {
    pub fn new() -> Self {
        Self {
            regions: Vec::new(),
            free: Vec::new(),
            by_base: Vec::new(),
            bases: Vec::new(),
            cache: vec![0; CACHE].into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; CACHE])),
            next_base: ADDRESS_LIMIT,
            wrapped: false,
            unknown: None,
            unknown_said: false,
        }
    }

    /// The first access to no known allocation, once.
    pub fn take_unknown(&mut self) -> Option<UnknownRange> {
        if self.unknown_said {
            return None;
        }
        self.unknown_said = self.unknown.is_some();
        self.unknown
    }

    pub fn declare(&mut self, bytes: u64) -> Result<Buffer, Error> {
        let base = match self.next_base.checked_add(bytes) {
            Some(end) if !self.wrapped || self.is_free(self.next_base, end) => self.next_base,
            _ => self.gap(bytes)?,
        };
        let buffer = self.place(base, bytes)?;
        self.next_base = base + bytes;
        Ok(buffer)
    }

    /// Whether no region has an address from `base` to `end`.
    fn is_free(&self, base: u64, end: u64) -> bool {
        let at = self.bases.partition_point(|b| *b < base);
        at.checked_sub(1).is_none_or(|before| self.end_of(before) <= base)
            && self.bases.get(at).is_none_or(|after| end <= *after)
    }

    /// One past the last address of the region at a position in `by_base`.
    fn end_of(&self, at: usize) -> u64 {
        let region = &self.regions[usize::from(self.by_base[at])];
        region.base + u64::from(region.last) + 1
    }

    /// Addresses that released buffers had, once all have been given: those behind some region, the next one upwards first. There is
    /// always such a gap: regions take less than 2^47 bytes together, of 2^63.
    #[cold]
    fn gap(&mut self, bytes: u64) -> Result<u64, Error> {
        let begins = |at: usize| self.bases.get(at).copied().unwrap_or(u64::MAX);
        let first = self.bases.partition_point(|b| *b < ADDRESS_LIMIT);
        let from = self.bases.partition_point(|b| *b < self.next_base);
        let behind = (from..self.bases.len()).chain(first..from);
        let mut gaps =
            behind.map(|at| (self.end_of(at), begins(at + 1))).chain([(ADDRESS_LIMIT, begins(first))]);
        let gap = gaps.find(|(base, end)| end - base >= bytes);
        let (base, _) = gap.ok_or(Error::RangeOverflow { addr: ADDRESS_LIMIT, bytes })?;
        self.wrapped = true;
        Ok(base)
    }

    pub fn declare_at(&mut self, addr: u64, bytes: u64) -> Result<Buffer, Error> {
        check_range(addr, bytes)?;
        self.place(addr, bytes)
    }

    fn place(&mut self, base: u64, bytes: u64) -> Result<Buffer, Error> {
        if bytes == 0 {
            return Err(Error::EmptyBuffer);
        }
        let at = self.bases.partition_point(|b| *b < base);
        for neighbour in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if let Some(region) = self.by_base.get(neighbour).map(|r| self.regions[usize::from(*r)])
                && region.base < base + bytes
                && base <= region.base + u64::from(region.last)
            {
                let first = self.regions[usize::from(self.first_of(neighbour))];
                return Err(Error::Overlaps { addr: first.base, bytes: first.buffer_bytes });
            }
        }
        let count = bytes.div_ceil(REGION_BYTES);
        if count > (MAX_REGIONS - self.by_base.len()) as u64 {
            return Err(Error::TooManyBuffers);
        }
        let mut first = None;
        for (n, part) in (0..count).enumerate() {
            let start = part * REGION_BYTES;
            let index = self.free.pop().unwrap_or_else(|| {
                self.regions.push(Region { base: 0, last: 0, generation: 0, buffer_bytes: 0 });
                (self.regions.len() - 1) as u16
            });
            let region = &mut self.regions[usize::from(index)];
            region.base = base + start;
            region.last = ((bytes - start).min(REGION_BYTES) - 1) as u32;
            region.generation = region.generation.wrapping_add(1);
            region.buffer_bytes = if n == 0 { bytes } else { 0 };
            self.by_base.insert(at + n, index);
            self.bases.insert(at + n, base + start);
            first.get_or_insert(Buffer::new(index, region.generation));
        }
        first.ok_or(Error::EmptyBuffer)
    }

    /// The first region of the buffer that the one at a position in `by_base` is of.
    fn first_of(&self, mut at: usize) -> u16 {
        while at > 0 && self.regions[usize::from(self.by_base[at])].buffer_bytes == 0 {
            at -= 1;
        }
        self.by_base[at]
    }

    /// The regions of a buffer, in the order of their addresses.
    pub fn regions_of(&self, buffer: Buffer) -> Result<&[u16], Error> {
        let bytes = self.bytes_of(buffer)?;
        let base = self.regions[usize::from(buffer.0 as u16)].base;
        let at = self.bases.partition_point(|b| *b < base);
        Ok(&self.by_base[at..at + bytes.div_ceil(REGION_BYTES) as usize])
    }

    /// Forgets a buffer that no kernel in flight uses.
    pub fn release(&mut self, buffer: Buffer) -> Result<(), Error> {
        let count = self.regions_of(buffer)?.len();
        let base = self.regions[usize::from(buffer.0 as u16)].base;
        let at = self.bases.partition_point(|b| *b < base);
        self.bases.drain(at..at + count);
        for index in self.by_base.drain(at..at + count) {
            self.regions[usize::from(index)] =
                Region { buffer_bytes: 0, last: 0, base: u64::MAX, ..self.regions[usize::from(index)] };
            self.free.push(index);
        }
        Ok(())
    }

    fn bytes_of(&self, buffer: Buffer) -> Result<u64, Error> {
        self.regions
            .get(usize::from(buffer.0 as u16))
            .filter(|r| r.buffer_bytes != 0 && Buffer::new(buffer.0 as u16, r.generation) == buffer)
            .map(|r| r.buffer_bytes)
            .ok_or(Error::UnknownBuffer { buffer: buffer.0 })
    }

    /// The piece that an access is, where it is known, not empty, and within one region; the common case, and nothing else.
    #[inline(always)]
    pub fn simple(&mut self, access: &Access) -> Option<Piece> {
        let (addr, bytes) = match access.target() {
            // Buffers without an address are above the limit, and not to be found by one.
            Target::Raw(addr, _) if addr >= ADDRESS_LIMIT => return None,
            Target::Raw(addr, bytes) => (addr, bytes),
            Target::Whole(buffer) | Target::View(buffer, ..) => {
                let region = self.regions.get(usize::from(buffer.0 as u16))?;
                if region.buffer_bytes != u64::from(region.last) + 1
                    || Buffer::new(buffer.0 as u16, region.generation) != buffer
                {
                    return None;
                }
                let (offset, bytes) = match access.target() {
                    Target::View(_, offset, bytes) => (offset, bytes),
                    _ => (0, region.buffer_bytes),
                };
                return within(region, buffer.0 as u16, offset, bytes);
            }
        };
        self.piece(addr, bytes)
    }

    /// A piece for all of a region.
    pub fn whole(&self, region: u16) -> Piece {
        Piece { region, whole: true, lo: 0, last: self.regions[usize::from(region)].last }
    }

    /// Where a piece lies, and whether it may be the rest of an access to the region before: no buffer begins with its region.
    pub fn range(&self, piece: &Piece) -> (Range<u64>, bool) {
        let region = &self.regions[usize::from(piece.region)];
        let range = region.base + u64::from(piece.lo)..region.base + u64::from(piece.last) + 1;
        (range, region.buffer_bytes == 0)
    }

    /// What bytes within a buffer are, to whoever asked.
    pub fn shared(&self, addr: u64, bytes: u64) -> Shared {
        if addr < ADDRESS_LIMIT {
            return Shared::Address { addr, bytes };
        }
        let index = self.first_of(self.bases.partition_point(|b| *b <= addr).saturating_sub(1));
        let first = self.regions[usize::from(index)];
        Shared::Offset { buffer: Buffer::new(index, first.generation).0, offset: addr - first.base, bytes }
    }

    /// Takes a kernel's accesses apart.
    pub fn resolve(&mut self, reads: &[Access], writes: &[Access], pieces: &mut Pieces) -> Result<(), Error> {
        pieces.list.clear();
        let read = self.resolve_some(reads, MAX_SEGMENTS, &mut pieces.list)?;
        pieces.reads = pieces.list.len();
        let limit = pieces.reads + MAX_SEGMENTS;
        let write = self.resolve_some(writes, limit, &mut pieces.list)?;
        (pieces.unknown_read, pieces.unknown_write) = (read.is_some(), write.is_some());
        pieces.unknown = read.or(write);
        Ok(())
    }

    /// A kernel has been inserted: its accesses to no known allocation are to be said.
    pub fn note_unknown(&mut self, pieces: &Pieces) {
        self.unknown = self.unknown.or(pieces.unknown);
    }

    /// The first access of no known allocation, where there is one.
    fn resolve_some(
        &mut self,
        accesses: &[Access],
        limit: usize,
        list: &mut Vec<Piece>,
    ) -> Result<Option<UnknownRange>, Error> {
        let mut unknown = None;
        for access in accesses {
            let (addr, bytes) = match access.target() {
                Target::Raw(addr, bytes) => {
                    check_range(addr, bytes)?;
                    (addr, bytes)
                }
                Target::Whole(buffer) => {
                    let bytes = self.bytes_of(buffer)?;
                    (self.regions[usize::from(buffer.0 as u16)].base, bytes)
                }
                Target::View(buffer, offset, bytes) => {
                    let size = self.bytes_of(buffer)?;
                    if offset.checked_add(bytes).is_none_or(|end| end > size) {
                        return Err(Error::OutOfBounds { offset, bytes, size });
                    }
                    (self.regions[usize::from(buffer.0 as u16)].base + offset, bytes)
                }
            };
            if bytes == 0 {
                continue;
            }
            let known = match self.piece(addr, bytes) {
                Some(piece) => push(list, piece, limit)?,
                None => self.split(addr, bytes, limit, list)?,
            };
            if !known {
                unknown.get_or_insert(UnknownRange { addr, bytes });
            }
        }
        Ok(unknown)
    }

    /// The piece that a range is, where it lies in one region.
    #[inline(always)]
    fn piece(&mut self, addr: u64, bytes: u64) -> Option<Piece> {
        let hash =
            (addr >> CACHE_GRANULE_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - CACHE.ilog2());
        let guess = &mut self.cache[hash as usize % CACHE];
        let mut index = *guess;
        let inside = |region: &Region| {
            let offset = addr.wrapping_sub(region.base);
            offset <= u64::from(region.last)
        };
        if !self.regions.get(usize::from(index)).is_some_and(inside) {
            index = search(&self.bases, &self.by_base, addr)?;
            *guess = index;
        }
        let region = self.regions.get(usize::from(index))?;
        within(region, index, addr.wrapping_sub(region.base), bytes)
    }

    /// A range over several regions, or partly in none: the pieces that it has. True where there are no gaps.
    #[cold]
    fn split(&self, addr: u64, bytes: u64, limit: usize, list: &mut Vec<Piece>) -> Result<bool, Error> {
        let end = addr + bytes;
        let mut next = addr;
        let at = self.bases.partition_point(|b| *b <= addr).saturating_sub(1);
        for index in &self.by_base[at..] {
            let region = &self.regions[usize::from(*index)];
            let region_end = region.base + u64::from(region.last) + 1;
            if region_end <= next {
                continue;
            }
            if region.base > next || next == end {
                break;
            }
            let (lo, last) = ((next - region.base) as u32, (end.min(region_end) - 1 - region.base) as u32);
            push(list, Piece { region: *index, whole: lo == 0 && last == region.last, lo, last }, limit)?;
            next = end.min(region_end);
        }
        Ok(next == end)
    }
}

/// The last region that begins at an address or before it.
#[cold]
#[inline(never)]
fn search(bases: &[u64], by_base: &[u16], addr: u64) -> Option<u16> {
    by_base.get(bases.partition_point(|b| *b <= addr).checked_sub(1)?).copied()
}

/// `bytes` bytes from an offset, where there are any and they are all in the region.
#[inline(always)]
fn within(region: &Region, index: u16, offset: u64, bytes: u64) -> Option<Piece> {
    // No bytes are more than all.
    let (last, more) = (u64::from(region.last), bytes.wrapping_sub(1));
    (offset <= last && more <= last - offset).then(|| Piece {
        region: index,
        whole: more == last,
        lo: offset as u32,
        last: (offset + more) as u32,
    })
}

fn push(list: &mut Vec<Piece>, piece: Piece, limit: usize) -> Result<bool, Error> {
    if list.len() == limit {
        return Err(Error::TooManySegments);
    }
    list.push(piece);
    Ok(true)
}

fn check_range(addr: u64, bytes: u64) -> Result<(), Error> {
    if addr.checked_add(bytes).is_none_or(|end| end > ADDRESS_LIMIT) {
        return Err(Error::RangeOverflow { addr, bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_all_addresses_were_given_those_of_released_buffers_serve_again() {
        let mut memory = Memory::new();
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut held: Vec<Buffer> = Vec::new();
        for round in 0..20_000 {
            // As after 2^63 bytes, or nearly.
            if round % 1000 == 0 {
                memory.next_base = u64::MAX - below(1 << 20);
            }
            if held.len() > 100 || below(3) == 0 && !held.is_empty() {
                let gone = held.swap_remove(below(held.len() as u64) as usize);
                memory.release(gone).unwrap();
                assert!(memory.bytes_of(gone).is_err());
            }
            let bytes = if below(10) == 0 { below(1 << 36) + 1 } else { below(1 << 20) + 1 };
            // It says where two would share an address.
            let buffer = memory.declare(bytes).unwrap();
            assert_eq!(memory.bytes_of(buffer), Ok(bytes));
            assert!(!held.contains(&buffer));
            held.push(buffer);
        }
        assert!(memory.wrapped);
        assert_eq!(
            memory.declare(u64::MAX),
            Err(Error::RangeOverflow { addr: ADDRESS_LIMIT, bytes: u64::MAX })
        );
    }
}

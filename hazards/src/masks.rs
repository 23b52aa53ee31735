//! Windows up to 512: sets of slots are bit masks of N words, and the upstream set is the whole one.

use crate::access::{Access, Error, Slot, bits};
use crate::memory::{Memory, Piece, Pieces};
use crate::simd::{self, Comparisons, Group, LANES, Rows, Vectors};
use crate::window::{Common, Output, Window};
use crate::{Config, Rule};
use alloc::{boxed::Box, vec, vec::Vec};

const NONE: u16 = u16::MAX;

/// Who uses a region.
#[derive(Clone, Copy, Debug)]
struct Region<const N: usize> {
    /// The bits of the buffer that it is all of; else bits that no access to a whole buffer has.
    buffer: u64,
    writers: [u64; N],
    readers: [u64; N],
    /// Those that have a part of it, and whose segments must be looked at.
    viewers: [u64; N],
}

impl<const N: usize> Region<N> {
    const VACANT: Self = Self { buffer: u64::MAX, writers: [0; N], readers: [0; N], viewers: [0; N] };
}

/// A segment beyond those that a slot holds.
#[derive(Clone, Copy, Debug)]
struct Spilled {
    piece: Piece,
    write: bool,
    next: u16,
}

/// What there is once per slot. Slots are in G groups of `LANES`, each with K segments, reads before writes; further segments are in
/// the spill pool. Of fixed size, so that an index needs no check.
#[derive(Debug)]
#[repr(C, align(64))]
struct Tables<const N: usize, const G: usize, const K: usize> {
    /// With one word: for each slot what it waits for, 0 where it is free. With more: for each slot who waits for it, and how many it
    /// waits for. The first takes one pass over all slots per retirement, in vectors; the second, time by the number of edges.
    edges: [[[u64; N]; LANES]; G],
    /// Valid for the slots in `viewing`; the others have whole regions only.
    ranges: [[Group; G]; K],
    region: [[[u16; LANES]; G]; K],
    waits: [[u16; LANES]; G],
    /// How many reads and writes.
    counts: [[[u8; 2]; LANES]; G],
    /// The first of the segments beyond K, for the slots in `spilling`.
    spill_first: [[u16; LANES]; G],
    /// Slots in `viewing` whose segment j is a read, a write.
    row_reads: [[u64; N]; K],
    row_writes: [[u64; N]; K],
}

/// A window of up to 64 N slots, in G groups of 32, with K segments in each.
#[derive(Debug)]
pub(crate) struct Masks<const N: usize, const G: usize, const K: usize, V> {
    /// Says that the CPU has the instructions.
    _vectors: V,
    rule: Rule,
    slots: usize,
    regions: Vec<Region<N>>,
    free: [u64; N],
    tables: Box<Tables<N, G, K>>,
    spill: Vec<Spilled>,
    spill_free: u16,
    spill_left: usize,
    viewing: [u64; N],
    spilling: [u64; N],
    unknown_readers: [u64; N],
    unknown_writers: [u64; N],
    /// Slots in any of the four before.
    special: [u64; N],
    /// No slot is of an unknown reader or writer, and the rule is the exact one: what the fast path takes for granted.
    plain: bool,
    comparisons: Comparisons<N>,
}

impl<const N: usize, const G: usize, const K: usize, V: Vectors> Masks<N, G, K, V> {
    pub fn new(config: &Config, vectors: V) -> Result<Self, Error> {
        let max = usize::from(NONE);
        if config.spill > max {
            return Err(Error::Spill { got: config.spill, max });
        }
        let slots = config.window;
        let mut free = [0; N];
        (0..slots).for_each(|s| free[s / 64] |= 1 << (s % 64));
        let vacant = Spilled { piece: Piece::default(), write: false, next: NONE };
        let mut spill = vec![vacant; config.spill];
        let mut spill_free = NONE;
        for (s, entry) in spill.iter_mut().enumerate() {
            entry.next = spill_free;
            spill_free = s as u16;
        }
        Ok(Self {
            _vectors: vectors,
            rule: config.rule,
            slots,
            regions: Vec::new(),
            free,
            tables: Box::new(Tables {
                edges: [[[0; N]; LANES]; G],
                ranges: [[Group { lo: [0; LANES], last: [0; LANES] }; G]; K],
                region: [[[0; LANES]; G]; K],
                waits: [[0; LANES]; G],
                counts: [[[0; 2]; LANES]; G],
                spill_first: [[NONE; LANES]; G],
                row_reads: [[0; N]; K],
                row_writes: [[0; N]; K],
            }),
            spill,
            spill_free,
            spill_left: config.spill,
            viewing: [0; N],
            spilling: [0; N],
            unknown_readers: [0; N],
            unknown_writers: [0; N],
            special: [0; N],
            plain: config.rule == Rule::Exact,
            comparisons: Comparisons::new(),
        })
    }

    #[inline]
    fn free_slot(&self) -> Option<usize> {
        let word = self.free.iter().position(|w| *w != 0)?;
        Some(word * 64 + self.free[word].trailing_zeros() as usize)
    }

    /// Whole buffers by their handles, no more than K: the fastest path; [`Self::insert_simple`] where some are not.
    #[inline(always)]
    pub fn insert_whole(&mut self, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot> {
        let slot = self.free_slot()?;
        let (word, bit) = (slot / 64 % N, 1u64 << (slot % 64));
        let (group, lane) = (slot / LANES % G, slot % LANES);
        let mut upstream = [0; N];
        let (read_regions, write_regions) = self.tables.region.split_at_mut_checked(reads.len())?;
        for (done, (access, regions)) in reads.iter().zip(read_regions).enumerate() {
            let Some(region) = of_buffer(&mut self.regions, access) else {
                self.forget(slot, done, 0);
                return simd::insert_simple(self, common, reads, writes);
            };
            or(&mut upstream, &region.writers);
            region.readers[word] |= bit;
            regions[group][lane] = access.head as u16;
        }
        for (done, (access, regions)) in writes.iter().zip(write_regions).enumerate() {
            let Some(region) = of_buffer(&mut self.regions, access) else {
                self.forget(slot, reads.len(), done);
                return simd::insert_simple(self, common, reads, writes);
            };
            or(&mut upstream, &region.writers);
            or(&mut upstream, &region.readers);
            region.writers[word] |= bit;
            regions[group][lane] = access.head as u16;
        }
        upstream[word] &= !bit;
        self.tables.counts[group][lane] = [reads.len() as u8, writes.len() as u8];
        Some(self.link(&mut common.upstream, slot, upstream))
    }

    /// Takes a slot out of its regions, all of which it holds itself and has as a whole.
    #[inline(always)]
    fn forget(&mut self, slot: usize, reads: usize, writes: usize) {
        let (word, keep) = (slot / 64 % N, !(1 << (slot % 64)));
        let (group, lane) = (slot / LANES % G, slot % LANES);
        let mut regions = self.tables.region.iter();
        for regions in regions.by_ref().take(reads) {
            if let Some(region) = self.regions.get_mut(usize::from(regions[group][lane])) {
                region.readers[word] &= keep;
            }
        }
        for regions in regions.take(writes) {
            if let Some(region) = self.regions.get_mut(usize::from(regions[group][lane])) {
                region.writers[word] &= keep;
            }
        }
    }

    /// Known ranges, no more than K, each within a region. `None` where nothing was changed.
    #[inline(always)]
    pub fn insert_simple(
        &mut self,
        common: &mut Common,
        reads: &[Access],
        writes: &[Access],
    ) -> Option<Slot> {
        let slot = self.free_slot()?;
        let (word, bit) = (slot / 64 % N, 1u64 << (slot % 64));
        let (group, lane) = (slot / LANES % G, slot % LANES);
        let mut upstream = [0; N];
        self.comparisons.clear();
        let (reads_done, reads_view) = self.take::<false>(&mut common.memory, reads, 0, slot, &mut upstream);
        let (writes_done, writes_view) = if reads_done == reads.len() {
            self.take::<true>(&mut common.memory, writes, reads.len(), slot, &mut upstream)
        } else {
            (0, false)
        };
        self.tables.counts[group][lane] = [reads_done as u8, writes_done as u8];
        if reads_done + writes_done != reads.len() + writes.len() {
            self.forget_any(slot);
            return None;
        }
        if !self.comparisons.is_empty() {
            self.rows().compare::<V>(&self.comparisons, &mut upstream);
            self.compare_spilled(&mut upstream);
        }
        upstream[word] &= !bit;
        if reads_view || writes_view {
            self.viewing[word] |= bit;
            self.special[word] |= bit;
            let rows = self.tables.row_reads.iter_mut().take(reads.len());
            rows.chain(self.tables.row_writes.iter_mut().skip(reads.len()).take(writes.len()))
                .for_each(|row| row[word] |= bit);
        }
        Some(self.link(&mut common.upstream, slot, upstream))
    }

    /// Puts reads, or writes, into the rows of a slot from row `first` on: as many as are known ranges within a region, up to the
    /// first that is not; and whether any is a part of its region.
    #[inline(always)]
    fn take<const WRITE: bool>(
        &mut self,
        memory: &mut Memory,
        accesses: &[Access],
        first: usize,
        slot: usize,
        upstream: &mut [u64; N],
    ) -> (usize, bool) {
        let (word, bit) = (slot / 64 % N, 1u64 << (slot % 64));
        let (group, lane) = (slot / LANES % G, slot % LANES);
        let (mut done, mut view) = (0, false);
        let tables = &mut *self.tables;
        let rows = tables.region.iter_mut().skip(first).zip(tables.ranges.iter_mut().skip(first));
        for (access, (regions, ranges)) in accesses.iter().zip(rows) {
            let Some(piece) = memory.simple(access) else { break };
            let Some(region) = self.regions.get_mut(usize::from(piece.region)) else { break };
            let mut candidates = region.writers;
            if WRITE {
                or(&mut candidates, &region.readers);
                region.writers[word] |= bit;
            } else {
                region.readers[word] |= bit;
            }
            if piece.whole {
                or(upstream, &candidates);
            } else {
                view = true;
                candidates[word] &= !bit;
                if part(upstream, &mut candidates, &region.viewers) {
                    self.comparisons.push(piece, WRITE, &candidates);
                }
                region.viewers[word] |= bit;
            }
            regions[group][lane] = piece.region;
            ranges[group].lo[lane] = piece.lo;
            ranges[group].last[lane] = piece.last;
            done += 1;
        }
        (done, view)
    }

    /// Puts a kernel whose segments are in place into the graph.
    #[inline(always)]
    fn link(&mut self, output: &mut Output, slot: usize, upstream: [u64; N]) -> Slot {
        let (word, bit) = (slot / 64 % N, 1u64 << (slot % 64));
        let (group, lane) = (slot / LANES % G, slot % LANES);
        self.free[word] &= !bit;
        output.mask[..N].copy_from_slice(&upstream);
        if N == 1 {
            V::set(self.tables.edges.as_flattened_mut().as_flattened_mut(), slot, upstream[0]);
            return Slot(slot as u16);
        }
        let mut waits = 0;
        self.tables.edges[group][lane] = [0; N];
        for (n, upstream) in upstream.into_iter().enumerate() {
            for u in bits(upstream) {
                self.tables.edges[(n * 64 + u) / LANES % G][u % LANES][word] |= bit;
                waits += 1;
            }
        }
        self.tables.waits[group][lane] = waits;
        Slot(slot as u16)
    }

    /// How many a slot waits for.
    #[inline]
    fn waits_for(&self, slot: usize) -> usize {
        let (group, lane) = (slot / LANES % G, slot % LANES);
        if N == 1 {
            self.tables.edges[group][lane][0].count_ones() as usize
        } else {
            self.tables.waits[group][lane].into()
        }
    }

    /// Any known or unknown pieces, for which there is room.
    #[inline(always)]
    pub fn insert_pieces(&mut self, common: &mut Common, slot: usize) -> Slot {
        let upstream = self.conflicts(&common.pieces);
        self.place(&common.pieces, slot);
        self.link(&mut common.upstream, slot, upstream)
    }

    /// The slots that `pieces` have a hazard with.
    #[inline(always)]
    fn conflicts(&mut self, pieces: &Pieces) -> [u64; N] {
        let Pieces { list, reads, unknown_read, unknown_write, .. } = pieces;
        let mut upstream = [0; N];
        self.comparisons.clear();
        // Algorithm 1 as printed does not compare reads.
        let first = if self.rule == Rule::Exact { 0 } else { *reads };
        for (i, piece) in list.iter().enumerate().skip(first) {
            let write = i >= *reads;
            let region = &self.regions[usize::from(piece.region)];
            let mut candidates = region.writers;
            if write {
                or(&mut candidates, &region.readers);
            }
            if piece.whole {
                or(&mut upstream, &candidates);
                continue;
            }
            if part(&mut upstream, &mut candidates, &region.viewers) {
                self.comparisons.push(*piece, write, &candidates);
            }
        }
        if !self.plain || *unknown_read || *unknown_write {
            self.unknown_conflicts(pieces, &mut upstream);
        }
        if !self.comparisons.is_empty() {
            self.rows().compare::<V>(&self.comparisons, &mut upstream);
            self.compare_spilled(&mut upstream);
        }
        upstream
    }

    /// Adds what follows from accesses that may touch anything, of `pieces` or of the slots.
    fn unknown_conflicts(&self, pieces: &Pieces, upstream: &mut [u64; N]) {
        let Pieces { unknown_read, unknown_write, .. } = *pieces;
        let writes = unknown_write || pieces.writes() > 0;
        let reads = self.rule == Rule::Exact && (unknown_read || pieces.reads > 0);
        if reads || writes {
            or(upstream, &self.unknown_writers);
        }
        if writes {
            or(upstream, &self.unknown_readers);
        }
        for s in (0..self.slots).filter(|s| !has(&self.free, *s)) {
            let [old_reads, old_writes] = self.tables.counts[s / LANES][s % LANES];
            if unknown_write && (old_reads > 0 || old_writes > 0) || unknown_read && reads && old_writes > 0 {
                upstream[s / 64] |= 1 << (s % 64);
            }
        }
    }

    #[inline(always)]
    fn rows(&self) -> Rows<'_, N, G, K> {
        let Tables { region, ranges, row_reads, row_writes, .. } = &*self.tables;
        Rows { region, ranges, reads: row_reads, writes: row_writes }
    }

    /// The segments that the slots do not hold themselves.
    #[inline]
    fn compare_spilled(&self, upstream: &mut [u64; N]) {
        if self.spilling == [0; N] {
            return;
        }
        let (candidates, pieces) = (self.comparisons.candidates(upstream), self.comparisons.sides());
        for (n, upstream) in upstream.iter_mut().enumerate() {
            for s in bits(candidates[n] & self.spilling[n]) {
                let hazard = self.spilled(n * 64 + s).any(|old| {
                    let pieces = if old.write { pieces.with_writes } else { pieces.with_reads };
                    pieces.iter().any(|new| new.overlaps(&old.piece))
                });
                *upstream |= u64::from(hazard) << s;
            }
        }
    }

    /// The segments of a slot that it does not hold itself.
    fn spilled(&self, slot: usize) -> impl Iterator<Item = &Spilled> {
        let first = self.tables.spill_first[slot / LANES % G][slot % LANES];
        let first = if has(&self.spilling, slot) { first } else { NONE };
        core::iter::successors(self.spill.get(usize::from(first)), |old| {
            self.spill.get(usize::from(old.next))
        })
    }

    /// Puts `pieces` into a slot.
    fn place(&mut self, pieces: &Pieces, slot: usize) {
        let (word, bit) = (slot / 64, 1u64 << (slot % 64));
        let reads = pieces.reads;
        let (group, lane) = (slot / LANES, slot % LANES);
        self.tables.counts[group][lane] = [reads as u8, pieces.writes() as u8];
        let viewing = pieces.list.iter().any(|p| !p.whole);
        for (j, piece) in pieces.list.iter().enumerate() {
            let write = j >= reads;
            let region = &mut self.regions[usize::from(piece.region)];
            if write {
                region.writers[word] |= bit;
            } else {
                region.readers[word] |= bit;
            }
            if !piece.whole {
                region.viewers[word] |= bit;
            }
            if j < K {
                self.tables.region[j][group][lane] = piece.region;
                if viewing {
                    self.tables.ranges[j][group].lo[lane] = piece.lo;
                    self.tables.ranges[j][group].last[lane] = piece.last;
                    let rows = if write { &mut self.tables.row_writes } else { &mut self.tables.row_reads };
                    rows[j][word] |= bit;
                }
            } else {
                let entry = self.spill_free;
                let old = &mut self.spill[usize::from(entry)];
                self.spill_free = old.next;
                let first = &mut self.tables.spill_first[group][lane];
                *old = Spilled { piece: *piece, write, next: if j == K { NONE } else { *first } };
                *first = entry;
                self.spill_left -= 1;
                self.spilling[word] |= bit;
            }
        }
        if viewing {
            self.viewing[word] |= bit;
        }
        if pieces.unknown_read {
            self.unknown_readers[word] |= bit;
        }
        if pieces.unknown_write {
            self.unknown_writers[word] |= bit;
        }
        self.special[word] |= bit
            & (self.viewing[word]
                | self.spilling[word]
                | self.unknown_readers[word]
                | self.unknown_writers[word]);
        self.note_unknown();
    }

    fn note_unknown(&mut self) {
        self.plain =
            self.rule == Rule::Exact && self.unknown_readers == [0; N] && self.unknown_writers == [0; N];
    }

    /// Takes a kernel out. False where it cannot be.
    #[inline(always)]
    pub fn retire_ready(&mut self, freed: &mut Output, slot: Slot) -> bool {
        let s = slot.index();
        if s >= self.slots || has(&self.free, s) || self.waits_for(s) != 0 {
            return false;
        }
        let (word, bit) = (s / 64 % N, 1u64 << (s % 64));
        let (group, lane) = (s / LANES % G, s % LANES);
        if self.special[word] & bit == 0 {
            let [reads, writes] = self.tables.counts[group][lane];
            self.forget(s, reads.into(), writes.into());
        } else {
            self.forget_any(s);
        }
        self.free[word] |= bit;
        if N == 1 {
            freed.mask[0] = V::freed(self.tables.edges.as_flattened_mut().as_flattened_mut(), s);
            return true;
        }
        for n in 0..N {
            freed.mask[n] = 0;
            for d in bits(self.tables.edges[group][lane][n]) {
                let waits = &mut self.tables.waits[(n * 64 + d) / LANES % G][d % LANES];
                *waits -= 1;
                freed.mask[n] |= u64::from(*waits == 0) << d;
            }
        }
        true
    }

    #[inline(never)]
    fn forget_any(&mut self, slot: usize) {
        let (word, keep) = (slot / 64, !(1u64 << (slot % 64)));
        let (group, lane) = (slot / LANES, slot % LANES);
        let [reads, writes] = self.tables.counts[group][lane].map(usize::from);
        let clear = |region: &mut Region<N>| {
            region.readers[word] &= keep;
            region.writers[word] &= keep;
            region.viewers[word] &= keep;
        };
        for j in 0..(reads + writes).min(K) {
            clear(&mut self.regions[usize::from(self.tables.region[j][group][lane])]);
            self.tables.row_reads[j][word] &= keep;
            self.tables.row_writes[j][word] &= keep;
        }
        if has(&self.spilling, slot) {
            let mut next = self.tables.spill_first[group][lane];
            while let Some(entry) = self.spill.get_mut(usize::from(next)) {
                clear(&mut self.regions[usize::from(entry.piece.region)]);
                let free = next;
                next = core::mem::replace(&mut entry.next, self.spill_free);
                self.spill_free = free;
                self.spill_left += 1;
            }
        }
        for set in [&mut self.viewing, &mut self.spilling, &mut self.special] {
            set[word] &= keep;
        }
        if has(&self.unknown_readers, slot) || has(&self.unknown_writers, slot) {
            self.unknown_readers[word] &= keep;
            self.unknown_writers[word] &= keep;
            self.note_unknown();
        }
    }
}

impl<const N: usize, const G: usize, const K: usize, V: Vectors> Window for Masks<N, G, K, V> {
    fn insert(&mut self, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot> {
        if !self.plain || reads.len() + writes.len() > K {
            return None;
        }
        // The first access says what the others are likely to be.
        if reads.first().or(writes.first()).is_none_or(Access::is_whole) {
            simd::insert_whole(self, common, reads, writes)
        } else {
            simd::insert_simple(self, common, reads, writes)
        }
    }

    #[cold]
    fn insert_any(
        &mut self,
        common: &mut Common,
        reads: &[Access],
        writes: &[Access],
    ) -> Result<Slot, Error> {
        let slot = self.free_slot().ok_or(Error::Full { slots: self.slots })?;
        common.memory.resolve(reads, writes, &mut common.pieces)?;
        let segments = common.pieces.list.len();
        if segments.saturating_sub(K) > self.spill_left {
            return Err(Error::SpillFull { segments, inline: K });
        }
        Ok(simd::insert_pieces(self, common, slot))
    }

    fn retire(&mut self, freed: &mut Output, slot: Slot) -> bool {
        simd::retire_ready(self, freed, slot)
    }

    #[cold]
    fn refusal(&self, slot: Slot) -> Error {
        if slot.index() >= self.slots || has(&self.free, slot.index()) {
            Error::NotInFlight { slot }
        } else {
            Error::NotReady { slot, waits_for: self.waits_for(slot.index()) }
        }
    }

    fn add_region(&mut self, whole: Piece, buffer: Option<u64>) {
        let index = usize::from(whole.region);
        if index >= self.regions.len() {
            self.regions.resize(index + 1, Region::VACANT);
        }
        self.regions[index] = Region { buffer: buffer.unwrap_or(u64::MAX), ..Region::VACANT };
    }

    fn remove_region(&mut self, region: u16) {
        self.regions[usize::from(region)] = Region::VACANT;
    }

    fn is_used(&self, region: u16) -> bool {
        let region = &self.regions[usize::from(region)];
        region.writers.iter().chain(&region.readers).any(|w| *w != 0)
    }

    fn len(&self) -> usize {
        self.slots - self.free.iter().map(|w| w.count_ones() as usize).sum::<usize>()
    }

    fn inline_segments(&self) -> usize {
        K
    }

    fn bytes(&self) -> (usize, usize) {
        // The sets of slots beside the tables: `free`, `viewing` and the others.
        let sets = 6 * size_of_val(&self.free);
        (size_of_val(&*self.tables) + sets, size_of_val(&*self.spill))
    }

    fn pieces(&self, memory: &Memory, slot: Slot) -> Result<Vec<(Piece, bool)>, Error> {
        let s = slot.index();
        if s >= self.slots || has(&self.free, s) {
            return Err(Error::NotInFlight { slot });
        }
        let (group, lane) = (s / LANES, s % LANES);
        let [reads, writes] = self.tables.counts[group][lane].map(usize::from);
        let held = (0..(reads + writes).min(K)).map(|j| {
            let mut piece = memory.whole(self.tables.region[j][group][lane]);
            if has(&self.viewing, s) {
                let ranges = &self.tables.ranges[j][group];
                piece = Piece { whole: false, lo: ranges.lo[lane], last: ranges.last[lane], ..piece };
            }
            (piece, j >= reads)
        });
        Ok(held.chain(self.spilled(s).map(|old| (old.piece, old.write))).collect())
    }

    fn unknown(&self, slot: Slot) -> (bool, bool) {
        (has(&self.unknown_readers, slot.index()), has(&self.unknown_writers, slot.index()))
    }
}

/// The region that an access has as a whole, by its handle.
#[inline(always)]
fn of_buffer<'a, const N: usize>(regions: &'a mut [Region<N>], access: &Access) -> Option<&'a mut Region<N>> {
    regions.get_mut(usize::from(access.head as u16)).filter(|r| r.buffer == access.head)
}

#[inline]
fn or<const N: usize>(set: &mut [u64; N], other: &[u64; N]) {
    for (a, b) in set.iter_mut().zip(other) {
        *a |= b;
    }
}

/// Splits the slots that have a region into those that have all of it, which are upstream, and those whose segments decide, which
/// stay candidates. True where there are any.
#[inline]
fn part<const N: usize>(upstream: &mut [u64; N], candidates: &mut [u64; N], viewers: &[u64; N]) -> bool {
    let mut any = 0;
    for n in 0..N {
        upstream[n] |= candidates[n] & !viewers[n];
        candidates[n] &= viewers[n];
        any |= candidates[n];
    }
    any != 0
}

#[inline]
fn has<const N: usize>(set: &[u64; N], slot: usize) -> bool {
    set[slot / 64 % N] >> (slot % 64) & 1 == 1
}

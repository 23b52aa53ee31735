//! Windows beyond 512: per region, the last writers and the readers since, as lists.
//!
//! A write that covers an earlier access takes its place in the lists: whatever has a hazard with the covered access has one
//! with the write, which itself waits for the covered access. So the edges are fewer, and what follows from them is the same.

use crate::access::{Access, Error, Slot, bits};
use crate::memory::{Memory, Piece, Pieces};
use crate::window::{Common, Output, Window};
use crate::{Config, Rule};
use alloc::{vec, vec::Vec};

/// No entry, and the entry before the first of a list.
const NONE: u16 = u16::MAX;
/// Instead of the entry before: a later write has taken this one's place.
const COVERED: u16 = u16::MAX - 1;
/// Segments that a slot holds itself, such that a slot takes at most 128 bytes.
pub(crate) const INLINE: usize = 6;
/// Entries are numbered row * 8 + segment, in 16 bits. `INLINE` is less than 7, so that `NONE` and `COVERED` are none.
pub(crate) const MAX_ROWS: usize = 1 << 13;

/// Lists of a region.
const READERS: usize = 0;
const WRITERS: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Region {
    /// The bits of the buffer that it is all of; else bits that no access to a whole buffer has.
    buffer: u64,
    /// Offset of its last byte.
    last: u32,
    first: [u16; 2],
    count: [u16; 2],
}

impl Region {
    const VACANT: Self = Self { buffer: u64::MAX, last: 0, first: [NONE; 2], count: [0; 2] };
}

/// Segments of a kernel: those that its slot holds, or, in rows from `slots` on, those beyond.
#[derive(Clone, Copy, Debug)]
struct Row {
    lo: [u32; INLINE],
    last: [u32; INLINE],
    region: [u16; INLINE],
    next: [u16; INLINE],
    previous: [u16; INLINE],
    owner: u16,
    /// The kernel's next row; where the row is free, the next free one.
    more: u16,
    // Of the kernel, in its first row:
    waits: u16,
    downstream: u16,
    reads: u8,
    writes: u8,
}

/// From a kernel to one that waits for it.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u16,
    next: u16,
}

#[derive(Debug)]
pub(crate) struct Reduced {
    rule: Rule,
    slots: usize,
    len: usize,
    regions: Vec<Region>,
    rows: Vec<Row>,
    free_slot: u16,
    free_row: u16,
    rows_left: usize,
    edges: Vec<Edge>,
    free_edge: u16,
    edges_left: usize,
    in_flight: Vec<u64>,
    unknown_readers: Vec<u64>,
    unknown_writers: Vec<u64>,
    unknown: usize,
    /// For counting edges where it may be tight.
    seen: Vec<u64>,
}

impl Reduced {
    pub fn new(config: &Config) -> Result<Self, Error> {
        let slots = config.window;
        let max = (MAX_ROWS - slots) * INLINE;
        if config.spill > max {
            return Err(Error::Spill { got: config.spill, max });
        }
        let (edge_count, most) = (config.edges, usize::from(NONE));
        if edge_count > most {
            return Err(Error::Edges { got: edge_count, max: most });
        }
        let empty = Row {
            lo: [0; INLINE],
            last: [0; INLINE],
            region: [0; INLINE],
            next: [NONE; INLINE],
            previous: [NONE; INLINE],
            owner: NONE,
            more: NONE,
            waits: 0,
            downstream: NONE,
            reads: 0,
            writes: 0,
        };
        let spill = config.spill.div_ceil(INLINE);
        let mut rows = vec![empty; slots + spill];
        let chain = |rows: &mut [Row], first: usize| {
            let mut next = NONE;
            for (r, row) in rows.iter_mut().enumerate().rev() {
                row.more = next;
                next = (first + r) as u16;
            }
            next
        };
        let free_slot = chain(&mut rows[..slots], 0);
        let free_row = chain(&mut rows[slots..], slots);
        let edges = (0..edge_count).map(|e| Edge { to: 0, next: if e == 0 { NONE } else { e as u16 - 1 } });
        let words = slots.div_ceil(64);
        Ok(Self {
            rule: config.rule,
            slots,
            len: 0,
            regions: Vec::new(),
            rows,
            free_slot,
            free_row,
            rows_left: spill,
            edges: edges.collect(),
            free_edge: if edge_count == 0 { NONE } else { edge_count as u16 - 1 },
            edges_left: edge_count,
            in_flight: vec![0; words],
            unknown_readers: vec![0; words],
            unknown_writers: vec![0; words],
            unknown: 0,
            seen: vec![0; words],
        })
    }

    fn insert_pieces(&mut self, pieces: &Pieces, upstream: &mut Vec<Slot>) -> Result<u16, Error> {
        let segments = pieces.list.len();
        let more_rows = segments.div_ceil(INLINE).saturating_sub(1);
        if more_rows > self.rows_left {
            return Err(Error::SpillFull { segments, inline: INLINE });
        }
        self.check_edges(pieces)?;
        let slot = self.take_slot(upstream, pieces.reads, pieces.writes());
        self.wait_for_unknown(upstream, slot, pieces);
        let mut row = slot;
        for (i, piece) in pieces.list.iter().enumerate() {
            if i > 0 && i % INLINE == 0 {
                let more = self.free_row;
                let new = &mut self.rows[usize::from(more)];
                self.free_row = core::mem::replace(&mut new.more, NONE);
                new.owner = slot;
                self.rows_left -= 1;
                self.rows[usize::from(row)].more = more;
                row = more;
            }
            self.place(upstream, slot, row * 8 + (i % INLINE) as u16, *piece, i >= pieces.reads);
        }
        Ok(slot)
    }

    #[inline]
    fn take_slot(&mut self, upstream: &mut Vec<Slot>, reads: usize, writes: usize) -> u16 {
        let slot = self.free_slot;
        let row = &mut self.rows[usize::from(slot)];
        self.free_slot = core::mem::replace(&mut row.more, NONE);
        row.owner = slot;
        row.waits = 0;
        row.downstream = NONE;
        row.reads = reads as u8;
        row.writes = writes as u8;
        self.in_flight[usize::from(slot) / 64] |= 1 << (slot % 64);
        self.len += 1;
        upstream.clear();
        slot
    }

    /// Makes `slot` wait for `owner`, once.
    #[inline]
    fn wait(&mut self, upstream: &mut Vec<Slot>, slot: u16, owner: u16) {
        let old = &mut self.rows[usize::from(owner)];
        let first = old.downstream;
        // The newest edge is the first one: if there is one to the newest kernel, it is that.
        if owner == slot || self.edges.get(usize::from(first)).is_some_and(|e| e.to == slot) {
            return;
        }
        let edge = self.free_edge;
        let entry = &mut self.edges[usize::from(edge)];
        self.free_edge = entry.next;
        self.edges_left -= 1;
        *entry = Edge { to: slot, next: first };
        old.downstream = edge;
        self.rows[usize::from(slot)].waits += 1;
        upstream.push(Slot(owner));
    }

    /// Puts a segment into its region's list, with the edges to those that it has a hazard with.
    #[inline]
    fn place(&mut self, upstream: &mut Vec<Slot>, slot: u16, entry: u16, piece: Piece, write: bool) {
        let index = usize::from(piece.region);
        if write {
            self.meet(upstream, slot, piece, READERS, true);
            self.meet(upstream, slot, piece, WRITERS, true);
        } else if self.rule == Rule::Exact {
            self.meet(upstream, slot, piece, WRITERS, false);
        }
        let list = usize::from(write);
        let region = &mut self.regions[index];
        let first = core::mem::replace(&mut region.first[list], entry);
        region.count[list] += 1;
        if first != NONE {
            self.rows[usize::from(first >> 3)].previous[usize::from(first & 7)] = entry;
        }
        let (row, j) = (&mut self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
        row.region[j] = piece.region;
        row.lo[j] = piece.lo;
        row.last[j] = piece.last;
        row.next[j] = first;
        row.previous[j] = NONE;
    }

    /// The edges to those of a list that the piece overlaps; with `cover`, it takes the place of those that it covers.
    #[inline]
    fn meet(&mut self, upstream: &mut Vec<Slot>, slot: u16, piece: Piece, list: usize, cover: bool) {
        let region = &mut self.regions[usize::from(piece.region)];
        let mut entry = region.first[list];
        // Of a whole region it covers all, and leaves none that would have to be linked around.
        let all = cover && piece.whole;
        if all {
            (region.first[list], region.count[list]) = (NONE, 0);
        }
        while entry != NONE {
            let (row, j) = (&mut self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
            let (next, owner) = (row.next[j], row.owner);
            let (lo, last) = (row.lo[j], row.last[j]);
            if all {
                row.previous[j] = COVERED;
                self.wait(upstream, slot, owner);
            } else if lo <= piece.last && last >= piece.lo {
                if cover && piece.lo <= lo && last <= piece.last {
                    self.unlink(entry, list);
                    self.rows[usize::from(entry >> 3)].previous[j] = COVERED;
                }
                self.wait(upstream, slot, owner);
            }
            entry = next;
        }
    }

    /// Takes an entry out of its region's list.
    #[inline]
    fn unlink(&mut self, entry: u16, list: usize) {
        let (row, j) = (&self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
        let (next, previous, index) = (row.next[j], row.previous[j], usize::from(row.region[j]));
        if previous == NONE {
            self.regions[index].first[list] = next;
        } else {
            self.rows[usize::from(previous >> 3)].next[usize::from(previous & 7)] = next;
        }
        if next != NONE {
            self.rows[usize::from(next >> 3)].previous[usize::from(next & 7)] = previous;
        }
        self.regions[index].count[list] -= 1;
    }

    /// The edges from what may touch anything, and to it.
    fn wait_for_unknown(&mut self, upstream: &mut Vec<Slot>, slot: u16, pieces: &Pieces) {
        for word in 0..self.in_flight.len() {
            for b in bits(self.unknown_upstream(pieces, word) & !own(slot, word)) {
                self.wait(upstream, slot, (word * 64 + b) as u16);
            }
        }
        let (word, bit) = (usize::from(slot) / 64, 1u64 << (slot % 64));
        if pieces.unknown_read {
            self.unknown_readers[word] |= bit;
        }
        if pieces.unknown_write {
            self.unknown_writers[word] |= bit;
        }
        self.unknown += usize::from(pieces.unknown_read || pieces.unknown_write);
    }

    /// Slots of one word that `pieces` wait for because one of the two may touch anything.
    fn unknown_upstream(&self, pieces: &Pieces, word: usize) -> u64 {
        let writes = pieces.unknown_write || pieces.writes() > 0;
        let reads = self.rule == Rule::Exact && (pieces.unknown_read || pieces.reads > 0);
        let mut upstream = 0;
        if reads || writes {
            upstream |= self.unknown_writers[word];
        }
        if writes {
            upstream |= self.unknown_readers[word];
        }
        if pieces.unknown_write || pieces.unknown_read && reads {
            for b in bits(self.in_flight[word]) {
                let row = &self.rows[word * 64 + b];
                if row.writes > 0 || pieces.unknown_write && row.reads > 0 {
                    upstream |= 1 << b;
                }
            }
        }
        upstream
    }

    /// Whether there are edges enough.
    fn check_edges(&mut self, pieces: &Pieces) -> Result<(), Error> {
        let lists = |i: usize| match (i >= pieces.reads, self.rule) {
            (true, _) => &[READERS, WRITERS][..],
            (false, Rule::Exact) => &[WRITERS],
            (false, Rule::StrictAlgorithm1) => &[],
        };
        let unknown = self.unknown > 0 || pieces.unknown_read || pieces.unknown_write;
        let count = |(i, piece): (usize, &Piece)| -> usize {
            lists(i).iter().map(|l| usize::from(self.regions[usize::from(piece.region)].count[*l])).sum()
        };
        if !unknown && pieces.list.iter().enumerate().map(count).sum::<usize>() <= self.edges_left {
            return Ok(());
        }
        let mut seen = core::mem::take(&mut self.seen);
        for (word, seen) in seen.iter_mut().enumerate() {
            *seen = if unknown { self.unknown_upstream(pieces, word) } else { 0 };
        }
        for (i, piece) in pieces.list.iter().enumerate() {
            for list in lists(i) {
                let mut entry = self.regions[usize::from(piece.region)].first[*list];
                while entry != NONE {
                    let (row, j) = (&self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
                    if row.lo[j] <= piece.last && row.last[j] >= piece.lo {
                        seen[usize::from(row.owner) / 64] |= 1 << (row.owner % 64);
                    }
                    entry = row.next[j];
                }
            }
        }
        let needed = seen.iter().map(|w| w.count_ones() as usize).sum();
        self.seen = seen;
        if needed > self.edges_left {
            return Err(Error::EdgesFull { needed, free: self.edges_left });
        }
        Ok(())
    }

    /// Takes a kernel out. False where it cannot be, which [`Reduced::refusal`] explains.
    #[inline]
    fn holds(&self, slot: Slot) -> bool {
        self.in_flight.get(slot.index() / 64).is_some_and(|w| w >> (slot.0 % 64) & 1 == 1)
    }
}

impl Window for Reduced {
    fn insert(&mut self, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot> {
        let segments = reads.len() + writes.len();
        if self.free_slot == NONE || self.rule != Rule::Exact || self.unknown > 0 || segments > INLINE {
            return None;
        }
        // At most so many edges, each list counted in full.
        let mut bound = 0;
        for (accesses, lists) in [(reads, 1), (writes, 2)] {
            for access in accesses {
                match self.regions.get(usize::from(access.head as u16)) {
                    Some(region) if region.buffer == access.head => {
                        bound += usize::from(region.count[WRITERS]);
                        bound += usize::from(region.count[READERS]) * (lists - 1);
                    }
                    _ => return None,
                }
            }
        }
        if bound > self.edges_left {
            return None;
        }
        let upstream = &mut common.upstream.list;
        let slot = self.take_slot(upstream, reads.len(), writes.len());
        for (j, access) in reads.iter().chain(writes).enumerate() {
            let region = access.head as u16;
            let piece = Piece { region, whole: true, lo: 0, last: self.regions[usize::from(region)].last };
            self.place(upstream, slot, slot * 8 + j as u16, piece, j >= reads.len());
        }
        Some(Slot(slot))
    }

    #[cold]
    fn insert_any(
        &mut self,
        common: &mut Common,
        reads: &[Access],
        writes: &[Access],
    ) -> Result<Slot, Error> {
        if self.free_slot == NONE {
            return Err(Error::Full { slots: self.slots });
        }
        common.memory.resolve(reads, writes, &mut common.pieces)?;
        self.insert_pieces(&common.pieces, &mut common.upstream.list).map(Slot)
    }

    fn retire(&mut self, freed: &mut Output, slot: Slot) -> bool {
        if !self.holds(slot) {
            return false;
        }
        let Row { waits, reads, writes, more, downstream, .. } = self.rows[slot.index()];
        if waits != 0 {
            return false;
        }
        let mut row = slot.0;
        for i in 0..usize::from(reads) + usize::from(writes) {
            let j = i % INLINE;
            if i > 0 && j == 0 {
                row = self.rows[usize::from(row)].more;
                self.rows_left += 1;
            }
            if self.rows[usize::from(row)].previous[j] != COVERED {
                self.unlink(row * 8 + j as u16, usize::from(i >= usize::from(reads)));
            }
        }
        if row != slot.0 {
            self.rows[usize::from(row)].more = self.free_row;
            self.free_row = more;
        }
        let (word, bit) = (slot.index() / 64, 1u64 << (slot.0 % 64));
        self.in_flight[word] &= !bit;
        if self.unknown > 0 && (self.unknown_readers[word] | self.unknown_writers[word]) & bit != 0 {
            self.unknown_readers[word] &= !bit;
            self.unknown_writers[word] &= !bit;
            self.unknown -= 1;
        }
        self.rows[slot.index()].more = self.free_slot;
        self.free_slot = slot.0;
        self.len -= 1;
        freed.list.clear();
        let mut next = downstream;
        while let Some(edge) = self.edges.get_mut(usize::from(next)) {
            let waits = &mut self.rows[usize::from(edge.to)].waits;
            *waits -= 1;
            if *waits == 0 {
                freed.list.push(Slot(edge.to));
            }
            let free = next;
            next = core::mem::replace(&mut edge.next, self.free_edge);
            self.free_edge = free;
            self.edges_left += 1;
        }
        true
    }

    #[cold]
    fn refusal(&self, slot: Slot) -> Error {
        if self.holds(slot) {
            Error::NotReady { slot, waits_for: self.rows[slot.index()].waits.into() }
        } else {
            Error::NotInFlight { slot }
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn inline_segments(&self) -> usize {
        INLINE
    }

    fn bytes(&self) -> (usize, usize) {
        let slots = size_of_val(&self.rows[..self.slots])
            + size_of_val(&*self.edges)
            + 4 * size_of_val(&*self.in_flight)
            + 2 * self.slots * size_of::<Slot>();
        (slots, size_of_val(&self.rows[self.slots..]))
    }

    fn add_region(&mut self, whole: Piece, buffer: Option<u64>) {
        let index = usize::from(whole.region);
        if index >= self.regions.len() {
            self.regions.resize(index + 1, Region::VACANT);
        }
        self.regions[index] =
            Region { buffer: buffer.unwrap_or(u64::MAX), last: whole.last, ..Region::VACANT };
    }

    fn remove_region(&mut self, region: u16) {
        self.regions[usize::from(region)] = Region::VACANT;
    }

    // Covered accesses are not in the lists, but what covers them is in flight as long as they are.
    fn is_used(&self, region: u16) -> bool {
        self.regions[usize::from(region)].first != [NONE; 2]
    }

    fn pieces(&self, _memory: &Memory, slot: Slot) -> Result<Vec<(Piece, bool)>, Error> {
        if !self.holds(slot) {
            return Err(Error::NotInFlight { slot });
        }
        let mut row = &self.rows[slot.index()];
        let (reads, writes) = (usize::from(row.reads), usize::from(row.writes));
        let mut pieces = Vec::with_capacity(reads + writes);
        for i in 0..reads + writes {
            let j = i % INLINE;
            if i > 0 && j == 0 {
                row = &self.rows[usize::from(row.more)];
            }
            let piece = Piece { region: row.region[j], whole: false, lo: row.lo[j], last: row.last[j] };
            pieces.push((piece, i >= reads));
        }
        Ok(pieces)
    }

    fn unknown(&self, slot: Slot) -> (bool, bool) {
        let has = |set: &[u64]| set[slot.index() / 64] >> (slot.0 % 64) & 1 == 1;
        (has(&self.unknown_readers), has(&self.unknown_writers))
    }
}

fn own(slot: u16, word: usize) -> u64 {
    if usize::from(slot) / 64 == word { 1 << (slot % 64) } else { 0 }
}

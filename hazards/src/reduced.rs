//! Windows beyond 512: per region, the last writers and the readers since, as lists.
//!
//! A write that covers an earlier access takes its place in the lists: whatever has a hazard with the covered access has one
//! with the write, which itself waits for the covered access. So the edges are fewer, and what follows from them is the same.
//!
//! A long list, of parts of one region, is cut into blocks by offset, so that a part meets the blocks that it may overlap and not all.

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

/// Entries of a block before it is cut, and for how many entries there is a block.
const BLOCK: u16 = 64;
const PER_BLOCK: usize = 32;

#[derive(Clone, Copy, Debug)]
struct List {
    /// The newest entry; none where there are blocks, which have their own.
    first: u16,
    count: u16,
    /// Whether it has blocks.
    is_cut: bool,
}

impl List {
    const EMPTY: Self = Self { first: NONE, count: 0, is_cut: false };
}

/// Entries of a list, at least one: those that begin at `start` or later, but before the list's next block. The first starts at 0.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Region and kind of the list; with the start in the lower half, what blocks are sorted by.
    key: u64,
    /// No entry has a later byte. It goes down only when the block is cut.
    last: u32,
    first: u16,
    count: u16,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    /// The bits of the buffer that it is all of; else bits that no access to a whole buffer has.
    buffer: u64,
    /// Offset of its last byte.
    last: u32,
    lists: [List; 2],
}

impl Region {
    const VACANT: Self = Self { buffer: u64::MAX, last: 0, lists: [List::EMPTY; 2] };
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
    /// Of all lists that have some. Where it is full, blocks are not cut, but longer.
    blocks: Vec<Block>,
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
        let blocks = rows.len() * INLINE / PER_BLOCK;
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
            blocks: Vec::with_capacity(blocks),
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
        let kind = usize::from(write);
        let list = &mut self.regions[index].lists[kind];
        list.count += 1;
        let (first, count) = if list.is_cut {
            let at = find(&self.blocks, key(index, kind, piece.lo));
            let block = &mut self.blocks[at];
            block.count += 1;
            block.last = block.last.max(piece.last);
            (core::mem::replace(&mut block.first, entry), block.count)
        } else {
            (core::mem::replace(&mut list.first, entry), list.count)
        };
        if first != NONE {
            self.rows[usize::from(first >> 3)].previous[usize::from(first & 7)] = entry;
        }
        let (row, j) = (&mut self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
        row.region[j] = piece.region;
        row.lo[j] = piece.lo;
        row.last[j] = piece.last;
        row.next[j] = first;
        row.previous[j] = NONE;
        // Not each time: where all begin at one byte there is nothing to cut.
        if count >= BLOCK && count.is_power_of_two() && !piece.whole {
            self.cut(index, kind, piece.lo);
        }
    }

    /// The edges to those of a list that the piece overlaps; with `cover`, it takes the place of those that it covers.
    #[inline]
    fn meet(&mut self, upstream: &mut Vec<Slot>, slot: u16, piece: Piece, kind: usize, cover: bool) {
        let place = &mut self.regions[usize::from(piece.region)].lists[kind];
        let list = *place;
        // Of a whole region it covers all, and leaves none that would have to be linked around.
        if cover && piece.whole {
            *place = List::EMPTY;
        }
        if list.is_cut {
            self.meet_blocks(upstream, slot, piece, kind, cover);
        } else {
            self.meet_entries(upstream, slot, piece, kind, cover, list.first);
        }
    }

    #[inline(never)]
    fn meet_blocks(&mut self, upstream: &mut Vec<Slot>, slot: u16, piece: Piece, kind: usize, cover: bool) {
        let region = usize::from(piece.region);
        let first = find(&self.blocks, key(region, kind, 0));
        let end = key(region, kind, piece.last);
        let mut at = first;
        while let Some(&block) = self.blocks.get(at).filter(|block| block.key <= end) {
            if block.last >= piece.lo {
                let blocks = self.blocks.len();
                self.meet_entries(upstream, slot, piece, kind, cover, block.first);
                if self.blocks.len() < blocks {
                    // All its entries were covered; the next one is at its place.
                    continue;
                }
            }
            at += 1;
        }
        if cover && piece.whole {
            self.blocks.drain(first..at);
        }
    }

    /// The same for a list of entries, or a block's.
    #[inline]
    fn meet_entries(
        &mut self,
        upstream: &mut Vec<Slot>,
        slot: u16,
        piece: Piece,
        kind: usize,
        cover: bool,
        first: u16,
    ) {
        let all = cover && piece.whole;
        let mut entry = first;
        while entry != NONE {
            let (row, j) = (&mut self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
            let (next, owner) = (row.next[j], row.owner);
            let (lo, last) = (row.lo[j], row.last[j]);
            if all {
                row.previous[j] = COVERED;
                self.wait(upstream, slot, owner);
            } else if lo <= piece.last && last >= piece.lo {
                if cover && piece.lo <= lo && last <= piece.last {
                    self.unlink(entry, kind);
                    self.rows[usize::from(entry >> 3)].previous[j] = COVERED;
                }
                self.wait(upstream, slot, owner);
            }
            entry = next;
        }
    }

    /// Takes an entry out of its region's list.
    #[inline]
    fn unlink(&mut self, entry: u16, kind: usize) {
        let (row, j) = (&self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
        let (next, previous, index) = (row.next[j], row.previous[j], usize::from(row.region[j]));
        let list = &mut self.regions[index].lists[kind];
        list.count -= 1;
        let first = if list.is_cut {
            let at = find(&self.blocks, key(index, kind, row.lo[j]));
            let block = &mut self.blocks[at];
            block.count -= 1;
            if block.count == 0 {
                self.remove_block(index, kind, at);
                return;
            }
            &mut block.first
        } else {
            &mut list.first
        };
        if previous == NONE {
            *first = next;
        } else {
            self.rows[usize::from(previous >> 3)].next[usize::from(previous & 7)] = next;
        }
        if next != NONE {
            self.rows[usize::from(next >> 3)].previous[usize::from(next & 7)] = previous;
        }
    }

    /// A block without entries: what begins where it was is the block's before it, or the first that is left.
    fn remove_block(&mut self, index: usize, kind: usize, at: usize) {
        let start = self.blocks.remove(at).key;
        let list = &mut self.regions[index].lists[kind];
        list.is_cut = list.count > 0;
        if start as u32 == 0 && list.is_cut {
            self.blocks[at].key = start;
        }
    }

    /// Cuts the block, or the list without blocks, that what begins at `lo` is in, at the middle of where its entries begin.
    #[cold]
    fn cut(&mut self, index: usize, kind: usize, lo: u32) {
        let list = self.regions[index].lists[kind];
        if self.blocks.len() + 1 + usize::from(!list.is_cut) > self.blocks.capacity() {
            return;
        }
        let (at, first) = if list.is_cut {
            let at = find(&self.blocks, key(index, kind, lo));
            (at, self.blocks[at].first)
        } else {
            (self.blocks.partition_point(|block| block.key < key(index, kind, 0)), list.first)
        };
        let Some(start) = self.middle(first) else { return };
        let whole = Block { key: key(index, kind, 0), last: 0, first: NONE, count: 0 };
        if !list.is_cut {
            self.blocks.insert(at, whole);
            self.regions[index].lists[kind] = List { first: NONE, is_cut: true, ..list };
        }
        let mut halves = [self.blocks[at].key, key(index, kind, start)].map(|key| Block { key, ..whole });
        let mut entry = first;
        while entry != NONE {
            let (row, j) = (&mut self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
            let half = &mut halves[usize::from(row.lo[j] >= start)];
            half.count += 1;
            half.last = half.last.max(row.last[j]);
            let (next, later) = (row.next[j], core::mem::replace(&mut half.first, entry));
            (row.next[j], row.previous[j]) = (later, NONE);
            if later != NONE {
                self.rows[usize::from(later >> 3)].previous[usize::from(later & 7)] = entry;
            }
            entry = next;
        }
        self.blocks[at] = halves[0];
        self.blocks.insert(at + 1, halves[1]);
    }

    /// Where to cut entries: at the mean of where they begin, which is above the least unless all begin at one byte.
    fn middle(&self, first: u16) -> Option<u32> {
        let (mut least, mut sum, mut count, mut entry) = (u32::MAX, 0, 0, first);
        while entry != NONE {
            let (row, j) = (&self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
            least = least.min(row.lo[j]);
            sum += u64::from(row.lo[j]);
            count += 1;
            entry = row.next[j];
        }
        let mean = sum.div_ceil(count) as u32;
        (mean > least).then_some(mean)
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
            lists(i)
                .iter()
                .map(|l| usize::from(self.regions[usize::from(piece.region)].lists[*l].count))
                .sum()
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
                self.overlapping(piece, *list, |owner| seen[usize::from(owner) / 64] |= 1 << (owner % 64));
            }
        }
        let needed = seen.iter().map(|w| w.count_ones() as usize).sum();
        self.seen = seen;
        if needed > self.edges_left {
            return Err(Error::EdgesFull { needed, free: self.edges_left });
        }
        Ok(())
    }

    /// The owners of what a list has that overlaps the piece.
    fn overlapping(&self, piece: &Piece, kind: usize, mut found: impl FnMut(u16)) {
        let mut walk = |first| {
            let mut entry = first;
            while entry != NONE {
                let (row, j) = (&self.rows[usize::from(entry >> 3)], usize::from(entry & 7));
                if row.lo[j] <= piece.last && row.last[j] >= piece.lo {
                    found(row.owner);
                }
                entry = row.next[j];
            }
        };
        let region = usize::from(piece.region);
        let list = self.regions[region].lists[kind];
        if !list.is_cut {
            return walk(list.first);
        }
        let end = key(region, kind, piece.last);
        let blocks = self.blocks[find(&self.blocks, key(region, kind, 0))..].iter();
        let blocks = blocks.take_while(|block| block.key <= end).filter(|block| block.last >= piece.lo);
        blocks.for_each(|block| walk(block.first));
    }

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
                        bound += usize::from(region.lists[WRITERS].count);
                        bound += usize::from(region.lists[READERS].count) * (lists - 1);
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
        let blocks = |rows: usize| rows * INLINE / PER_BLOCK * size_of::<Block>();
        let pool = &self.rows[self.slots..];
        (slots + blocks(self.slots), size_of_val(pool) + blocks(pool.len()))
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
        self.regions[usize::from(region)].lists.iter().any(|list| list.count > 0)
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

#[inline]
fn key(region: usize, kind: usize, lo: u32) -> u64 {
    ((region * 2 + kind) as u64) << 32 | u64::from(lo)
}

/// The place of the block that an entry with this key belongs to; its list has blocks.
#[inline]
fn find(blocks: &[Block], key: u64) -> usize {
    blocks.partition_point(|block| block.key <= key) - 1
}

fn own(slot: u16, word: usize) -> u64 {
    if usize::from(slot) / 64 == word { 1 << (slot % 64) } else { 0 }
}

//! The memory that renamed versions get.

use crate::ktrace::Segment;
use crate::ranges::RangeMap;
use std::collections::VecDeque;

/// A place in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub addr: u64,
    /// The last kernel that used any of it; none where nobody did, or the host has waited since.
    pub last: Option<usize>,
}

/// One range of memory, cut up as needed. What was used least recently is used again first.
#[derive(Debug)]
pub(super) struct Pool {
    memory: Segment,
    /// Free memory, with the last kernel that used it.
    free: RangeMap<Option<usize>>,
    /// From here to the end nothing was used since the host waited last.
    fresh: u64,
    /// One past the last byte that was ever in use.
    end: u64,
}

impl Pool {
    pub fn new(memory: Segment) -> Self {
        let mut free = RangeMap::new();
        free.insert(memory, None);
        Self { memory, free, fresh: memory.addr, end: memory.addr }
    }

    /// Bytes that had to be set aside.
    pub fn peak(&self) -> u64 {
        self.end - self.memory.addr
    }

    /// Free memory of this length: what was used least recently; of several such, the first.
    ///
    /// Takes time in the number of free ranges, but for memory that was never used.
    pub fn find(&self, bytes: u64) -> Option<Spot> {
        if self.memory.end() - self.fresh >= bytes {
            return Some(Spot { addr: self.fresh, last: None });
        }
        let mut best: Option<Spot> = None;
        // The free ranges in a row, first to last; and of these the last uses that nothing later outdoes, descending.
        let mut row: VecDeque<(Segment, Option<usize>)> = VecDeque::new();
        let mut latest: VecDeque<(u64, Option<usize>)> = VecDeque::new();
        for (range, last) in self.free.iter() {
            if row.back().is_some_and(|(before, _)| before.end() != range.addr) {
                row.clear();
                latest.clear();
            }
            row.push_back((range, last));
            while latest.back().is_some_and(|(_, other)| *other <= last) {
                latest.pop_back();
            }
            latest.push_back((range.addr, last));
            // Every range that begins a place which ends in this one: the shortest such row is the best of them.
            while let Some(&(first, _)) = row.front()
                && range.end() - first.addr >= bytes
            {
                let last = latest.front().and_then(|(_, last)| *last);
                if best.is_none_or(|best| last < best.last) {
                    best = Some(Spot { addr: first.addr, last });
                }
                row.pop_front();
                if latest.front().is_some_and(|(addr, _)| *addr == first.addr) {
                    latest.pop_front();
                }
            }
        }
        best
    }

    /// Takes a block that [`Pool::find`] found.
    pub fn take(&mut self, block: Segment) {
        self.free.remove(block);
        self.fresh = self.fresh.max(block.end());
        self.end = self.end.max(block.end());
    }

    /// Gives a block back that kernel `last` was the last to use.
    pub fn free(&mut self, block: Segment, last: usize) {
        self.free.insert(block, Some(last));
    }

    /// The host has waited: all memory, for none is in use, is as if it had never been used.
    pub fn rest(&mut self) {
        self.free.insert(self.memory, None);
        self.fresh = self.memory.addr;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(bytes: u64) -> Pool {
        Pool::new(Segment { addr: 1024, bytes })
    }

    fn take(pool: &mut Pool, bytes: u64) -> Option<Segment> {
        let block = Segment { addr: pool.find(bytes)?.addr, bytes };
        pool.take(block);
        Some(block)
    }

    #[test]
    fn what_was_used_least_recently_is_used_again_first() {
        let mut pool = pool(1024);
        let blocks: Vec<Segment> = (0..4).filter_map(|_| take(&mut pool, 256)).collect();
        assert_eq!((blocks.len(), pool.find(1), pool.peak()), (4, None, 1024));
        for (block, last) in [(2, 5), (0, 7), (1, 9)] {
            pool.free(blocks[block], last);
        }
        assert_eq!(pool.find(256), Some(Spot { addr: blocks[2].addr, last: Some(5) }));
        // Two in a row: 1 and 2 were used at 9 and 5, as were 0 and 1 at 7 and 9; the first of equals.
        assert_eq!(pool.find(512), Some(Spot { addr: blocks[0].addr, last: Some(9) }));
        assert_eq!(pool.find(1024), None);
        pool.free(blocks[3], 6);
        assert_eq!(pool.find(512), Some(Spot { addr: blocks[2].addr, last: Some(6) }));
        pool.rest();
        assert_eq!(pool.find(1024), Some(Spot { addr: 1024, last: None }));
        assert_eq!(pool.peak(), 1024);
    }

    #[test]
    fn a_pool_of_nothing_has_nothing() {
        assert_eq!(pool(0).find(1), None);
        assert_eq!(take(&mut pool(255), 256), None);
    }
}

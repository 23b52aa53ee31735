//! Which bytes a kernel touches: a set of ranges that takes many accesses, in any order, in bounded memory.

use windlass_runtime::ktrace::Segment;

/// Ranges that are added are kept as they are until there are as many as this, or as there are ranges already.
const PENDING: usize = 1 << 14;

/// Disjoint ranges that are kept exactly; of more, those that lie closest together become one.
const MOST: usize = 1 << 20;

/// A set of bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// First byte and one past the last, in order, with bytes between them that are not in the set.
    merged: Vec<(u64, u64)>,
    pending: Vec<(u64, u64)>,
    /// Bytes that were added although nothing touches them.
    filled: u64,
    /// Something of that may have been touched since.
    coarse: bool,
}

impl Ranges {
    pub(super) fn add(&mut self, addr: u64, bytes: u64) {
        let end = addr.saturating_add(bytes);
        if let Some(last) = self.pending.last_mut().filter(|last| addr >= last.0 && addr <= last.1) {
            last.1 = last.1.max(end);
            return;
        }
        self.pending.push((addr, end));
        if self.pending.len() >= PENDING.max(self.merged.len()) {
            self.merge();
            if self.merged.len() > MOST {
                self.fill(MOST / 2);
                self.coarse = true;
            }
        }
    }

    fn merge(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.merged);
        all.append(&mut self.pending);
        all.sort_unstable();
        for (start, end) in all.into_iter().filter(|(start, end)| start < end) {
            match self.merged.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => self.merged.push((start, end)),
            }
        }
    }

    /// Closes the smallest gaps until so many ranges, at least 1, are left.
    fn fill(&mut self, most: usize) {
        let Some(closed) = self.merged.len().checked_sub(most.max(1)).filter(|closed| *closed > 0) else {
            return;
        };
        let gap = |at: usize| self.merged[at + 1].0 - self.merged[at].1;
        let mut gaps: Vec<usize> = (0..self.merged.len() - 1).collect();
        // Equal gaps in the order of their addresses: the same input gives the same bytes.
        gaps.sort_unstable_by_key(|at| (gap(*at), *at));
        let mut close = vec![false; self.merged.len()];
        for at in &gaps[..closed] {
            close[at + 1] = true;
            self.filled += gap(*at);
        }
        let mut left: Vec<(u64, u64)> = Vec::with_capacity(most);
        for (range, close) in self.merged.iter().zip(close) {
            match left.last_mut().filter(|_| close) {
                Some(last) => last.1 = range.1,
                None => left.push(*range),
            }
        }
        self.merged = left;
    }

    /// How many bytes are in the set.
    pub(super) fn bytes(&mut self) -> u64 {
        self.merge();
        self.merged.iter().map(|(start, end)| end - start).sum::<u64>() - self.filled
    }

    /// Whether there were so many ranges that [`Ranges::bytes`] may be too few.
    pub(super) fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// At most so many segments that cover the set, and how many bytes of them nothing touches.
    pub(super) fn segments(mut self, most: usize) -> (Vec<Segment>, u64) {
        self.merge();
        self.fill(most);
        let segment = |(addr, end): (u64, u64)| Segment { addr, bytes: end - addr };
        (self.merged.into_iter().map(segment).collect(), self.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[(u64, u64)], most: usize) -> (Vec<(u64, u64)>, u64) {
        let mut set = Ranges::default();
        ranges.iter().for_each(|(addr, bytes)| set.add(*addr, *bytes));
        let (segments, filled) = set.segments(most);
        (segments.iter().map(|s| (s.addr, s.bytes)).collect(), filled)
    }

    #[test]
    fn neighbours_are_one_range_whatever_their_order() {
        assert_eq!(of(&[(8, 4), (0, 4), (4, 4), (20, 4), (21, 1), (30, 0)], 9), (vec![(0, 12), (20, 4)], 0));
        assert_eq!(of(&[(0, 8), (2, 2), (4, 8)], 1), (vec![(0, 12)], 0));
        assert_eq!(of(&[(u64::MAX - 1, 8)], 1), (vec![(u64::MAX - 1, 1)], 0));
        assert_eq!(of(&[], 1), (vec![], 0));
    }

    #[test]
    fn the_smallest_gaps_are_closed() {
        let ranges = [(0, 4), (10, 4), (20, 4), (100, 4), (107, 1)];
        assert_eq!(of(&ranges, 4), (vec![(0, 4), (10, 4), (20, 4), (100, 8)], 3));
        assert_eq!(of(&ranges, 3), (vec![(0, 14), (20, 4), (100, 8)], 9));
        assert_eq!(of(&ranges, 0), (vec![(0, 108)], 91));
    }

    /// Against a set of bytes, with more ranges than are kept unmerged.
    #[test]
    fn many_ranges_are_the_bytes_that_were_added() {
        let mut set = Ranges::default();
        let mut bytes = vec![false; 1 << 18];
        let mut random = 1_u64;
        for _ in 0..6 * PENDING {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (at, n) = ((random >> 33) as usize % (bytes.len() - 4), (random >> 20) as usize % 4);
            set.add(at as u64, n as u64);
            bytes[at..at + n].fill(true);
        }
        let (segments, filled) = set.segments(usize::MAX);
        assert_eq!(filled, 0);
        let mut covered = vec![false; bytes.len()];
        for pair in segments.windows(2) {
            assert!(pair[0].end() < pair[1].addr, "{pair:?}");
        }
        segments.iter().for_each(|s| covered[s.addr as usize..s.end() as usize].fill(true));
        assert_eq!(covered, bytes);
    }
}

//! Bytes that a failed kernel should have written.

use super::error::Failure;
use super::memory::{BufferId, Bytes};
use crate::ktrace::Segment;
use crate::ranges::RangeMap;
use std::collections::HashMap;
use std::sync::Arc;

/// What failed first, by bytes of a buffer. Buffers that have none are not here.
#[derive(Debug, Default)]
pub(crate) struct Poison(HashMap<BufferId, RangeMap<Arc<Failure>>>);

fn segment(part: &Bytes) -> Segment {
    Segment { addr: part.offset, bytes: part.bytes }
}

impl Poison {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some bytes of a buffer are spoiled.
    pub(crate) fn is_in(&self, buffer: BufferId) -> bool {
        self.0.contains_key(&buffer)
    }

    /// These bytes are not what they should be, for want of a kernel.
    pub(crate) fn spoil(&mut self, part: &Bytes, by: &Arc<Failure>) {
        if part.bytes > 0 {
            let ranges = self.0.entry(part.buffer).or_insert_with(RangeMap::new);
            ranges.join(segment(part), by.clone(), Arc::ptr_eq);
        }
    }

    /// These bytes have been written anew.
    pub(crate) fn clear(&mut self, part: &Bytes) {
        if let Some(ranges) = self.0.get_mut(&part.buffer) {
            ranges.remove(segment(part));
            if ranges.is_empty() {
                self.0.remove(&part.buffer);
            }
        }
    }

    /// The failure that spoiled some of these bytes; of several the earliest launch.
    pub(crate) fn spoiled(&self, part: &Bytes) -> Option<Arc<Failure>> {
        let hit = self.0.get(&part.buffer)?.overlapping(segment(part));
        hit.map(|(_, by)| by).min_by_key(|by| by.ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Ticket;
    use crate::runtime::error::Cause;
    use crate::runtime::memory::ElementKind;

    /// Bytes of one buffer.
    fn part(offset: u64, bytes: u64) -> Bytes {
        Bytes { buffer: BufferId { index: 3, unique: 9 }, element: ElementKind::U8, offset, bytes }
    }

    #[test]
    fn what_is_written_anew_is_cut_out() {
        let mut poison = Poison::default();
        let failure = |ticket, kernel: &str| {
            let cause = Cause::Returned("no".into());
            Arc::new(Failure { ticket: Ticket(ticket), kernel: kernel.into(), cause })
        };
        poison.spoil(&part(10, 20), &failure(5, "a"));
        poison.spoil(&part(25, 10), &failure(7, "b"));
        poison.clear(&part(14, 2));
        let by = |offset| poison.spoiled(&part(offset, 1)).map(|f| f.ticket.0);
        assert_eq!(
            [9, 10, 13, 14, 15, 16, 24, 25, 34, 35].map(by),
            [None, Some(5), Some(5), None, None, Some(5), Some(5), Some(7), Some(7), None]
        );
        assert_eq!(poison.spoiled(&part(0, 100)).map(|f| f.kernel.clone()).as_deref(), Some("a"));
        poison.clear(&part(0, 100));
        assert!(poison.is_empty());
    }

    #[test]
    fn neighbours_of_one_cause_are_one_range() {
        let cause = Cause::Returned("no".into());
        let [a, b] =
            [1, 2].map(|n| Arc::new(Failure { ticket: Ticket(n), kernel: "k".into(), cause: cause.clone() }));
        let mut poison = Poison::default();
        for offset in [0, 8, 4, 20, 18, 3] {
            poison.spoil(&part(offset, 4), &a);
        }
        poison.spoil(&part(12, 6), &b);
        poison.spoil(&part(30, 0), &b);
        let ranges = poison.0[&part(0, 0).buffer].iter();
        let found: Vec<_> = ranges.map(|(range, by)| (range.addr, range.end(), by.ticket.0)).collect();
        assert_eq!(found, [(0, 12, 1), (12, 18, 2), (18, 24, 1)]);
    }
}

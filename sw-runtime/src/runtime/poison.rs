//! Bytes that a failed kernel should have written.

use super::Ticket;
use super::error::Failure;
use super::memory::{BufferId, Bytes};
use std::sync::Arc;

#[derive(Debug)]
struct Spoiled {
    buffer: BufferId,
    first: u64,
    end: u64,
    /// What failed first.
    by: Arc<Failure>,
}

/// Usually empty, so a plain list.
#[derive(Debug, Default)]
pub(crate) struct Poison(Vec<Spoiled>);

impl Poison {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These bytes are not what they should be, for want of a kernel.
    pub(crate) fn spoil(&mut self, part: &Bytes, by: &Arc<Failure>) {
        self.clear(part);
        if part.bytes > 0 {
            let (first, end) = (part.offset, part.offset + part.bytes);
            self.0.push(Spoiled { buffer: part.buffer, first, end, by: by.clone() });
        }
    }

    /// These bytes have been written anew.
    pub(crate) fn clear(&mut self, part: &Bytes) {
        let (first, end) = (part.offset, part.offset + part.bytes);
        let mut rests = Vec::new();
        self.0.retain_mut(|old| {
            if old.buffer != part.buffer || old.end <= first || end <= old.first {
                return true;
            }
            if end < old.end {
                rests.push(Spoiled { buffer: old.buffer, first: end, end: old.end, by: old.by.clone() });
            }
            old.end = first;
            old.first < old.end
        });
        self.0.append(&mut rests);
    }

    /// The failure that spoiled some of these bytes; of several the earliest launch.
    pub(crate) fn spoiled(&self, part: &Bytes) -> Option<&Arc<Failure>> {
        let (first, end) = (part.offset, part.offset + part.bytes);
        let hit = self.0.iter().filter(|s| s.buffer == part.buffer && s.first < end && first < s.end);
        hit.map(|s| &s.by).min_by_key(|by| by.ticket)
    }

    /// The failure of a launch that spoiled some bytes which are still so.
    pub(crate) fn root(&self, by: Ticket) -> Option<Arc<Failure>> {
        self.0.iter().find(|s| s.by.ticket == by).map(|s| s.by.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::error::Cause;
    use crate::runtime::memory::ElementKind;

    #[test]
    fn what_is_written_anew_is_cut_out() {
        let part = |offset, bytes| Bytes {
            buffer: BufferId { index: 3, unique: 9 },
            element: ElementKind::U8,
            offset,
            bytes,
        };
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
        assert_eq!(poison.spoiled(&part(0, 100)).map(|f| f.kernel.as_str()), Some("a"));
        assert_eq!(poison.root(Ticket(7)), Some(failure(7, "b")));
        poison.clear(&part(0, 100));
        assert!(poison.is_empty());
    }
}

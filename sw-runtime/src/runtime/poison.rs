//! Bytes that a failed kernel should have written.

use super::Ticket;
use super::error::{Cause, Failure};
use super::memory::{BufferId, Bytes};

#[derive(Debug)]
struct Spoiled {
    buffer: BufferId,
    first: u64,
    end: u64,
    by: Ticket,
    name: String,
}

/// Usually empty, so a plain list.
#[derive(Debug, Default)]
pub(crate) struct Poison(Vec<Spoiled>);

impl Poison {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These bytes are not what they should be, for want of a kernel.
    pub(crate) fn spoil(&mut self, part: &Bytes, by: Ticket, name: &str) {
        self.clear(part);
        if part.bytes > 0 {
            let (first, end) = (part.offset, part.offset + part.bytes);
            self.0.push(Spoiled { buffer: part.buffer, first, end, by, name: name.into() });
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
                let name = old.name.clone();
                rests.push(Spoiled { buffer: old.buffer, first: end, end: old.end, by: old.by, name });
            }
            old.end = first;
            old.first < old.end
        });
        self.0.append(&mut rests);
    }

    /// The failure that spoiled some of these bytes; of several the earliest launch.
    pub(crate) fn spoiled(&self, part: &Bytes) -> Option<Failure> {
        let (first, end) = (part.offset, part.offset + part.bytes);
        let hit = self.0.iter().filter(|s| s.buffer == part.buffer && s.first < end && first < s.end);
        let hit = hit.min_by_key(|s| s.by)?;
        let cause = Cause::Poisoned { by: hit.by, name: hit.name.clone() };
        Some(Failure { ticket: hit.by, kernel: hit.name.clone(), cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        poison.spoil(&part(10, 20), Ticket(5), "a");
        poison.spoil(&part(25, 10), Ticket(7), "b");
        poison.clear(&part(14, 2));
        let by = |offset| poison.spoiled(&part(offset, 1)).map(|f| f.ticket.0);
        assert_eq!(
            [9, 10, 13, 14, 15, 16, 24, 25, 34, 35].map(by),
            [None, Some(5), Some(5), None, None, Some(5), Some(5), Some(7), Some(7), None]
        );
        assert_eq!(poison.spoiled(&part(0, 100)).map(|f| f.kernel), Some("a".into()));
        poison.clear(&part(0, 100));
        assert!(poison.is_empty());
    }
}

//! Addresses that were recorded: what shared memory in the program shares it in the stream.

use std::collections::BTreeMap;
use windlass_runtime::ktrace::ADDRESS_LIMIT;

/// What is left out between addresses is a multiple of this, as segments of PyTorch's allocator are.
const PAGE: u64 = 2 << 20;

/// Recorded addresses, with what nobody uses between them left out.
pub(crate) struct Recorded {
    /// From where to where, and where that is now.
    parts: Vec<(u64, u64, u64)>,
    /// Beginnings and ends of what lives.
    live: BTreeMap<u64, u64>,
    base: u64,
    end: u64,
}

impl Recorded {
    /// For memories of so many bytes at such addresses, from `base` on; nothing where there are not enough addresses.
    pub(crate) fn new(base: u64, memories: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let base = base.checked_next_multiple_of(PAGE)?;
        let pages = |(address, bytes): (u64, u64)| {
            let end = address.checked_add(bytes.max(1))?.checked_next_multiple_of(PAGE)?;
            Some((address / PAGE * PAGE, end))
        };
        let mut all: Vec<(u64, u64)> = memories.filter_map(pages).collect();
        all.sort_unstable();
        let mut parts: Vec<(u64, u64, u64)> = Vec::new();
        let mut end = base;
        for (from, to) in all {
            let known = match parts.last_mut() {
                Some((_, last, _)) if from <= *last => std::mem::replace(last, to.max(*last)),
                _ => {
                    parts.push((from, to, end));
                    from
                }
            };
            end = end.checked_add(to.saturating_sub(known)).filter(|end| *end < ADDRESS_LIMIT)?;
        }
        Some(Self { parts, live: BTreeMap::new(), base, end })
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// One past the last.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Where memory at an address is now; nothing where something lives there, for its end is not known exactly.
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64) -> Option<u64> {
        let part = self.parts.partition_point(|(from, ..)| *from <= address).checked_sub(1)?;
        let (from, to, now) = self.parts[part];
        address.checked_add(bytes).filter(|end| *end <= to)?;
        let at = now + (address - from);
        let end = at + bytes;
        if self.live.range(..end).next_back().is_some_and(|(_, other)| *other > at) {
            return None;
        }
        self.live.insert(at, end);
        Some(at)
    }

    /// Gives back what `allocate` gave; whether it had.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.live.remove(&address).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shared_memory_does_and_gaps_go() {
        let far = 0x7f00_0000_0000;
        let all = [(far + 100, 50), (far, 200), (far + PAGE, 8), (2 * far, 3 * PAGE), (u64::MAX, 8)];
        let mut recorded = Recorded::new(5, all.into_iter()).expect("room");
        assert_eq!((recorded.base(), recorded.end()), (PAGE, 6 * PAGE));
        assert_eq!(recorded.allocate(far, 200), Some(PAGE));
        assert_eq!(recorded.allocate(far + 100, 50), None, "it lives");
        assert_eq!(recorded.allocate(far + PAGE, 8), Some(2 * PAGE));
        assert_eq!(recorded.allocate(2 * far, 3 * PAGE), Some(3 * PAGE));
        assert_eq!((recorded.allocate(7, 1), recorded.allocate(u64::MAX, 8)), (None, None));
        assert!(recorded.free(PAGE) && !recorded.free(PAGE));
        assert_eq!(recorded.allocate(far + 100, 50), Some(PAGE + 100));
        assert!(Recorded::new(0, [(0, 1 << 52), (1 << 60, 1 << 52)].into_iter()).is_none());
    }
}

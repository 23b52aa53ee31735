//! Values by address range.

use crate::ktrace::Segment;
use std::collections::BTreeMap;

/// Disjoint ranges of addresses, each with a value; where ranges are inserted over others, the last one counts.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap<T>(BTreeMap<u64, (u64, T)>);

impl<T: Clone> RangeMap<T> {
    pub fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The ranges that have bytes of `segment`, by address, each in its whole length.
    pub fn overlapping(&self, segment: Segment) -> impl Iterator<Item = (Segment, T)> {
        let before = self.0.range(..=segment.addr).next_back();
        let from = before.filter(|(_, (end, _))| *end > segment.addr).map_or(segment.addr, |(addr, _)| *addr);
        // An empty segment overlaps nothing, even inside a range.
        let to = if segment.bytes == 0 { from } else { segment.end().max(from) };
        self.0.range(from..to).map(|(addr, (end, value))| {
            let range = Segment { addr: *addr, bytes: end - addr };
            (range, value.clone())
        })
    }

    /// All ranges, by address.
    pub fn iter(&self) -> impl Iterator<Item = (Segment, T)> {
        self.0.iter().map(|(addr, (end, value))| (Segment { addr: *addr, bytes: end - addr }, value.clone()))
    }

    /// Takes the bytes of `segment` out; what sticks out of it on either side stays.
    pub fn remove(&mut self, segment: Segment) {
        let old: Vec<_> = self.overlapping(segment).collect();
        for (range, value) in old {
            self.0.remove(&range.addr);
            if range.addr < segment.addr {
                self.0.insert(range.addr, (segment.addr, value.clone()));
            }
            if range.end() > segment.end() {
                self.0.insert(segment.end(), (range.end(), value));
            }
        }
    }

    /// Gives the bytes of `segment` this value.
    pub fn insert(&mut self, segment: Segment, value: T) {
        self.remove(segment);
        if segment.bytes > 0 {
            self.0.insert(segment.addr, (segment.end(), value));
        }
    }

    /// Gives the bytes of `segment` this value, and makes one range of neighbours that have the `same`.
    pub fn join(&mut self, segment: Segment, value: T, same: impl Fn(&T, &T) -> bool) {
        let (mut first, mut end) = (segment.addr, segment.end());
        let before = first.saturating_sub(1);
        for (range, old) in self.overlapping(Segment { addr: before, bytes: end.saturating_add(1) - before })
        {
            if same(&old, &value) {
                (first, end) = (first.min(range.addr), end.max(range.end()));
            }
        }
        self.insert(Segment { addr: first, bytes: end - first }, value);
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the first range out.
    pub fn pop_first(&mut self) -> Option<Segment> {
        self.0.pop_first().map(|(addr, (end, _))| Segment { addr, bytes: end - addr })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

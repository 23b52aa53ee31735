//! `*-buffer-assignment.txt` and `*-buffer-assignment-values.txt`: which addresses an instruction's result is at.

use super::directory::Text;
use super::error::{Collected, Problem};
use super::hlo::element_of;
use std::collections::HashMap;
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Segment};

/// Where the first allocation is: any would do, but for 0.
const BASE: u64 = 1 << 24;

/// XLA's allocator on GPUs gives out multiples of it (`kMinAllocationSize` of its BFC allocator).
const ALIGNMENT: u64 = 256;

/// The addresses of all instructions.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Of an instruction, the segment of each array in its result, by the array's index in the tuple. No segment: local to a thread.
    places: HashMap<String, Vec<(String, Option<Segment>)>>,
    /// All allocations.
    pub(super) span: Segment,
}

/// A name with a tuple index, as in `fusion.3{1}` and `fusion.3 {1}`, apart.
fn position(text: &str) -> (&str, &str) {
    match text.find('{') {
        Some(at) => (text[..at].trim_end(), text[at..].trim_matches(['{', '}'])),
        None => (text.trim_end(), ""),
    }
}

/// `allocation 3: size 30720, maybe-live-out:`
fn allocation(line: &str) -> Option<(u64, &str)> {
    let (_, rest) = line.strip_prefix("allocation ")?.split_once(": size ")?;
    let (size, what) = rest.split_once(',')?;
    Some((size.parse().ok()?, what))
}

/// ` value: <3887 loop_add_fusion.2 @0> (size=30720,offset=0): f32[256,10,3]{2,1,0}`
fn value(line: &str) -> Option<(u64, &str, u64, u64)> {
    let (id, rest) = line.strip_prefix("<")?.split_once(' ')?;
    let (name, rest) = rest.split_once("> (size=")?;
    let (size, rest) = rest.split_once(",offset=")?;
    let (offset, _) = rest.split_once(')')?;
    Some((id.parse().ok()?, name.split(' ').next()?, size.parse().ok()?, offset.parse().ok()?))
}

impl Buffers {
    pub(super) fn new(assignment: &Text, values: Option<&Text>, errors: &mut Collected) -> Self {
        let mut buffers = Self { places: HashMap::new(), span: Segment { addr: BASE, bytes: 0 } };
        let mut segments = HashMap::new();
        // Older XLAs write both parts into one file.
        let used = assignment.text.find("\nUsed values:").map_or(assignment.text.len(), |at| at + 1);
        buffers.allocations(&assignment.file, &assignment.text[..used], &mut segments, errors);
        if segments.is_empty() {
            errors.push(&assignment.file, 0, Problem::Nothing { what: "value with its allocation" });
        }
        let above = assignment.text[..used].lines().count();
        match values {
            Some(values) => buffers.positions(&values.file, 0, &values.text, &segments, errors),
            None => buffers.positions(&assignment.file, above, &assignment.text[used..], &segments, errors),
        }
        for places in buffers.places.values_mut() {
            // Of a tuple, only the arrays: the table of pointers to them is never read by a kernel.
            let inner: Vec<String> = places.iter().map(|(index, _)| index.clone()).collect();
            places.retain(|(outer, _)| !inner.iter().any(|index| is_inside(index, outer)));
            places.sort();
            places.dedup();
        }
        buffers
    }

    /// Lays the allocations out one after another.
    fn allocations(
        &mut self,
        file: &str,
        text: &str,
        segments: &mut HashMap<u64, Option<Segment>>,
        errors: &mut Collected,
    ) {
        // Address and size of the allocation that the lines belong to; no address where each thread has its own.
        let mut current = (None, 0);
        for (number, line) in text.lines().enumerate() {
            let number = number + 1;
            if let Some(text) = line.trim_start().strip_prefix("value: ") {
                let Some((id, name, bytes, offset)) = value(text) else {
                    errors.line(file, number, line, "`value: <ID NAME @N> (size=N,offset=N): SHAPE`");
                    continue;
                };
                if offset.checked_add(bytes).is_none_or(|end| end > current.1) {
                    errors.line(file, number, line, "a value inside its allocation");
                    continue;
                }
                let segment = current.0.map(|base: u64| Segment { addr: base + offset, bytes });
                segments.insert(id, segment);
                let (name, index) = position(name);
                self.places.entry(name.to_owned()).or_default().push((index.to_owned(), segment));
            } else if line.starts_with("allocation ") {
                let Some((bytes, what)) = allocation(line) else {
                    errors.line(file, number, line, "`allocation N: size N, ..`");
                    current = (None, u64::MAX); // its values are no further errors
                    continue;
                };
                current = (None, bytes);
                if what.contains("thread-local") {
                    continue;
                }
                let base = self.span.end();
                let padded = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|n| base.checked_add(n));
                let Some(end) = padded.filter(|end| *end <= ADDRESS_LIMIT) else {
                    errors.push(file, number, Problem::PastAddressLimit);
                    continue;
                };
                current.0 = Some(base);
                self.span.bytes = end - BASE;
            }
        }
    }

    /// Adds the positions of values other than where they are made: what a `get-tuple-element`, a `bitcast` or a `while` hands on.
    fn positions(
        &mut self,
        file: &str,
        above: usize,
        text: &str,
        segments: &HashMap<u64, Option<Segment>>,
        errors: &mut Collected,
    ) {
        let mut current = None;
        let mut listing = false;
        for (number, line) in text.lines().enumerate() {
            if let Some(rest) = line.strip_prefix('<') {
                let id = rest.split_once(' ').and_then(|(id, _)| id.parse::<u64>().ok());
                if id.is_none() {
                    errors.line(file, above + number + 1, line, "`<ID NAME @N>`");
                }
                // A value without a buffer is a token, or inside a fusion.
                current = id.and_then(|id| segments.get(&id));
                listing = false;
            } else if line.starts_with(" positions:") {
                listing = true;
            } else if let (true, Some(at)) = (listing, line.strip_prefix("  ")) {
                if let Some(segment) = current {
                    let (name, index) = position(at);
                    self.places.entry(name.to_owned()).or_default().push((index.to_owned(), *segment));
                }
            } else {
                listing = false;
            }
        }
    }

    /// The segments of an instruction's result, or of an element of its tuple; `None` where it has no buffer that is known.
    pub(super) fn of(&self, operand: &str) -> Option<Vec<Segment>> {
        let (name, path) = element_of(operand);
        let path = path.replace('#', ",");
        let within = |index: &str| path.is_empty() || index == path || is_inside(index, &path);
        let places = self.places.get(name)?.iter().filter(|(index, _)| within(index));
        let (count, segments) = places.fold((0, Vec::new()), |(count, mut all), (_, segment)| {
            all.extend(*segment);
            (count + 1, all)
        });
        (count > 0 || path.is_empty()).then_some(segments)
    }
}

/// Whether `inner` is an index into the tuple at `outer`.
fn is_inside(inner: &str, outer: &str) -> bool {
    inner.len() > outer.len()
        && (outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(',')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_buffer_assignment() {
        assert_eq!(
            allocation("allocation 3: size 30720, maybe-live-out:"),
            Some((30720, " maybe-live-out:"))
        );
        let line = "<4403 while.10{2} (phi) @0> (size=40960,offset=64): f32[256,10,4]{2,1,0}";
        assert_eq!(value(line), Some((4403, "while.10{2}", 40960, 64)));
        for text in ["", "<1", "<1 a @0>", "<1 a @0> (size=1)", "<x a @0> (size=1,offset=0): f32[]"] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(position("while.10{2}"), ("while.10", "2"));
        assert_eq!(position("loop_fusion {1,0}"), ("loop_fusion", "1,0"));
        assert_eq!(position("copy.1"), ("copy.1", ""));
        assert!(is_inside("1,0", "1") && is_inside("1", "") && !is_inside("10", "1") && !is_inside("1", "1"));
    }
}

//! Ends of memories from a profile that was recorded with `profile_memory=True`: it has every allocation and free, with its time and address.
//!
//! The execution trace says which operator brought a memory, the profile what was allocated while that operator ran.

use super::et::ExecutionTrace;
use super::kineto::{MemoryEvent, Profile, Span};
use super::storage::Memories;
use std::collections::HashMap;

/// From an allocation to its free, where the profile has that.
struct Allocation {
    start: f64,
    end: Option<f64>,
    address: u64,
    bytes: u64,
    taken: bool,
}

/// What a profile knows of memories.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Of how many it has the allocation.
    pub(super) known: u64,
    /// When the host freed a memory, in nanoseconds.
    pub(super) freed: HashMap<usize, f64>,
}

/// Corrects the ends of all memories that the profile knows, of the host's or the GPU's.
pub(super) fn correct(
    trace: &ExecutionTrace,
    memories: &mut Memories<'_>,
    profile: &Profile,
    on_gpu: bool,
) -> Ends {
    let mut allocations: Vec<Allocation> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    for event in profile.memory(on_gpu) {
        match u64::try_from(event.bytes) {
            Ok(bytes) => {
                open.insert(event.address, allocations.len());
                let MemoryEvent { time: start, address, .. } = event;
                allocations.push(Allocation { start, end: None, address, bytes, taken: false });
            }
            Err(_) => {
                if let Some(at) = open.remove(&event.address) {
                    allocations[at].end = Some(event.time);
                }
            }
        }
    }
    let span = |node: usize| profile.span(trace.nodes[node].rf_id);
    let mut timeline: Vec<(f64, usize)> = Vec::new();
    for node in 0..trace.nodes.len() {
        if let Some(Span { start, end }) = span(node) {
            timeline.extend([(start, memories.begins[node]), (end, memories.ends[node])]);
        }
    }
    timeline.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ends = Ends::default();
    for (place, memory) in memories.all.iter_mut().enumerate() {
        let Some((_, node)) = memory.born else { continue };
        let Some(Span { start, end }) = span(node) else { continue };
        let first = allocations.partition_point(|allocation| allocation.start < start);
        let during = allocations[first..].iter_mut().take_while(|allocation| allocation.start <= end);
        // Scratch memory of the operator is gone at its end; of what is left, the smallest that is large enough.
        let left =
            during.filter(|a| !a.taken && a.bytes >= memory.bytes && a.end.is_none_or(|freed| freed >= end));
        let Some(found) = left.min_by_key(|allocation| allocation.bytes) else { continue };
        found.taken = true;
        ends.known += 1;
        // The host's says nothing about a GPU's.
        memory.recorded = on_gpu.then_some(found.address);
        memory.result = found.end.is_none();
        if let Some(freed) = found.end {
            ends.freed.insert(place, freed);
            let before = timeline.partition_point(|(time, _)| *time <= freed);
            let moment = before.checked_sub(1).map_or(0, |at| timeline[at].1);
            memory.last = memory.last.max(moment);
        }
    }
    ends
}

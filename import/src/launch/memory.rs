//! Memories get addresses, and with them a stream its events.

use super::Launched;
use super::allocator::CachingAllocator;
use super::recorded::Recorded;
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Event, Segment};

/// Where what was there before the stream begins, in bytes; the pool is behind it.
const BASE: u64 = 16 << 20;

/// Every memory begins at a multiple of this, as the GPU's allocators do it.
const ALIGNMENT: u64 = 512;

/// One memory from its allocation to its end.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Bytes up to the end of the furthest tensor in it.
    pub(crate) bytes: u64,
    /// When it was allocated, and by which node; nothing where it was there before.
    pub(crate) born: Option<(usize, usize)>,
    /// The last moment at which anything names it.
    pub(crate) last: usize,
    /// Whether the program has it at the end.
    pub(crate) result: bool,
    /// Where it was, if that is known.
    pub(crate) recorded: Option<u64>,
}

/// Something in the stream, before it has addresses.
#[derive(Debug)]
pub(crate) enum Step {
    Kernel(Box<Launched>),
    Sync(String),
}

/// Events with addresses.
pub(crate) struct Placed {
    pub(crate) events: Vec<Event>,
    /// The first address in use, and one past the last.
    pub(crate) span: [u64; 2],
    /// How many memories are where they were recorded.
    pub(crate) recorded: u64,
}

/// Gives memory its addresses, and the events in order; nothing where there are not enough addresses. `steps` have the moment of each; with
/// `reuse` freed memory is used again, as it was where that is recorded, else as by PyTorch's caching allocator.
pub(crate) fn events(steps: Vec<(usize, Step)>, mut memories: Vec<Memory>, reuse: bool) -> Option<Placed> {
    // Memory is the stream's that touches it first.
    let mut streams: Vec<Option<u32>> = vec![None; memories.len()];
    for (moment, step) in &steps {
        let Step::Kernel(launched) = step else { continue };
        for access in launched.draft.reads.iter().chain(&launched.draft.writes) {
            streams[access.memory].get_or_insert(launched.stream);
            let last = &mut memories[access.memory].last;
            *last = (*last).max(*moment);
        }
    }
    let mut addresses = vec![0; memories.len()];
    let mut end = BASE;
    let place = |end: &mut u64, bytes: u64| -> Option<u64> {
        let at = *end;
        *end = at.checked_add(bytes)?.checked_next_multiple_of(ALIGNMENT)?;
        (*end < ADDRESS_LIMIT).then_some(at)
    };
    let used = || (0..memories.len()).filter(|at| streams[*at].is_some());
    for at in used().filter(|at| memories[*at].born.is_none()) {
        addresses[at] = place(&mut end, memories[at].bytes)?;
    }
    let before = Segment { addr: BASE, bytes: end - BASE };
    let known = used().filter(|_| reuse).filter_map(|at| Some((memories[at].recorded?, memories[at].bytes)));
    let mut recorded = Recorded::new(end, known)?;
    let mut pool = CachingAllocator::new(recorded.end());
    let pool_base = recorded.base();
    let mut own_end = pool_base;
    let mut as_recorded = 0;
    // At one moment: allocations, kernels, frees.
    let mut order: Vec<(usize, u8, usize)> =
        steps.iter().enumerate().map(|(at, (moment, _))| (*moment, 1, at)).collect();
    for at in used() {
        if let Some((born, _)) = memories[at].born {
            order.push((born, 0, at));
            if !memories[at].result {
                order.push((memories[at].last, 2, at));
            }
        }
    }
    order.sort_unstable();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(|(_, step)| Some(step)).collect();
    let mut events = Vec::with_capacity(order.len());
    let mut index = 0;
    for (_, phase, at) in order {
        match phase {
            0 => {
                let bytes = memories[at].bytes;
                let stream = streams[at].unwrap_or(0);
                let where_it_was = memories[at].recorded.filter(|_| reuse);
                addresses[at] = match where_it_was.and_then(|address| recorded.allocate(address, bytes)) {
                    Some(address) => {
                        as_recorded += 1;
                        address
                    }
                    None if reuse => pool.allocate(bytes, stream)?,
                    None => place(&mut own_end, bytes)?,
                };
                events.push(Event::Alloc(Segment { addr: addresses[at], bytes }));
            }
            2 => {
                if reuse && !recorded.free(addresses[at]) {
                    pool.free(addresses[at]);
                }
                events.push(Event::Free(Segment { addr: addresses[at], bytes: memories[at].bytes }));
            }
            _ => match steps[at].take() {
                Some(Step::Sync(why)) => events.push(Event::Sync { why }),
                Some(Step::Kernel(launched)) => {
                    let pool_end = if reuse { pool.end() } else { own_end };
                    let rest = Segment { addr: pool_base, bytes: pool_end - pool_base };
                    events.push(Event::Kernel(launched.kernel(index, &addresses, [before, rest])));
                    index += 1;
                }
                None => {}
            },
        }
    }
    let end = if reuse { pool.end() } else { own_end };
    Some(Placed { events, span: [BASE, end], recorded: as_recorded })
}

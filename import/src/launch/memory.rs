//! Memories get addresses, and with them a stream its events.

use super::Launched;
use super::allocator::CachingAllocator;
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
}

/// Something in the stream, before it has addresses.
#[derive(Debug)]
pub(crate) enum Step {
    Kernel(Box<Launched>),
    Sync(String),
}

/// Gives memory its addresses, and the events in order; nothing where there are not enough addresses. Also the first address in
/// use, and one past the last. `steps` have the moment of each; with `reuse` freed memory is used again, as by PyTorch's caching allocator.
pub(crate) fn events(
    steps: Vec<(usize, Step)>,
    mut memories: Vec<Memory>,
    reuse: bool,
) -> Option<(Vec<Event>, [u64; 2])> {
    let mut touched = vec![false; memories.len()];
    for (moment, step) in &steps {
        let Step::Kernel(launched) = step else { continue };
        for access in launched.draft.reads.iter().chain(&launched.draft.writes) {
            touched[access.memory] = true;
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
    let used = || (0..memories.len()).filter(|at| touched[*at]);
    for at in used().filter(|at| memories[*at].born.is_none()) {
        addresses[at] = place(&mut end, memories[at].bytes)?;
    }
    let before = Segment { addr: BASE, bytes: end - BASE };
    let mut pool = CachingAllocator::new(end);
    let pool_base = pool.end();
    let mut own_end = pool_base;
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
                addresses[at] = if reuse { pool.allocate(bytes)? } else { place(&mut own_end, bytes)? };
                events.push(Event::Alloc(Segment { addr: addresses[at], bytes }));
            }
            2 => {
                if reuse {
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
    Some((events, [BASE, end]))
}

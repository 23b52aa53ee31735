//! Addresses as PyTorch's caching allocator for CUDA would give them: two pools of segments, best fit, blocks split and joined again.
//!
//! Blocks belong to the stream that they were allocated on, as they do there, so that streams do not wait for each other's memory.
//!
//! Sizes are those of its documentation and its default settings (`PYTORCH_CUDA_ALLOC_CONF` empty): blocks are multiples of 512 bytes; requests
//! of at most 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones have a segment of their own in steps of 2 MiB.

use std::collections::{BTreeMap, BTreeSet};

const BLOCK: u64 = 512;
const MIB: u64 = 1 << 20;

/// A pool's free blocks by size, then address, and all its blocks.
#[derive(Default)]
struct Pool {
    free: BTreeSet<(u64, u64)>,
    blocks: BTreeMap<u64, Block>,
}

#[derive(Clone, Copy)]
struct Block {
    bytes: u64,
    /// Where its segment begins: blocks of two segments are never joined.
    segment: u64,
    used: bool,
}

pub(crate) struct CachingAllocator {
    /// By stream, for small blocks and for large ones.
    pools: BTreeMap<(u32, bool), Pool>,
    next_segment: u64,
}

impl CachingAllocator {
    /// The first segment is at `base`, the others follow.
    pub(crate) fn new(base: u64) -> Self {
        Self { pools: BTreeMap::new(), next_segment: base.next_multiple_of(2 * MIB) }
    }

    /// One past the last byte of the last segment.
    pub(crate) fn end(&self) -> u64 {
        self.next_segment
    }

    /// The address of so many bytes, at least one and below 2^53, for a stream; nothing where the addresses would pass 2^53.
    pub(crate) fn allocate(&mut self, bytes: u64, stream: u32) -> Option<u64> {
        let bytes = bytes.max(1).next_multiple_of(BLOCK);
        let small = bytes <= MIB;
        let pool = self.pools.entry((stream, small)).or_default();
        let at = match pool.free.range((bytes, 0)..).next().copied() {
            Some((_, at)) => at,
            None => {
                let segment = match bytes {
                    _ if small => 2 * MIB,
                    _ if bytes < 10 * MIB => 20 * MIB,
                    _ => bytes.next_multiple_of(2 * MIB),
                };
                let at = self.next_segment;
                let end =
                    at.checked_add(segment).filter(|end| *end < windlass_runtime::ktrace::ADDRESS_LIMIT)?;
                self.next_segment = end;
                pool.blocks.insert(at, Block { bytes: segment, segment: at, used: false });
                pool.free.insert((segment, at));
                at
            }
        };
        let block = pool.blocks.get_mut(&at)?;
        pool.free.remove(&(block.bytes, at));
        block.used = true;
        let rest = block.bytes - bytes;
        // Of large blocks a rest of at most 1 MiB stays with them.
        if if small { rest >= BLOCK } else { rest > MIB } {
            block.bytes = bytes;
            let rest = Block { bytes: rest, used: false, ..*block };
            pool.blocks.insert(at + bytes, rest);
            pool.free.insert((rest.bytes, at + bytes));
        }
        Some(at)
    }

    /// Gives back what `allocate` gave.
    pub(crate) fn free(&mut self, address: u64) {
        let Some(pool) = self.pools.values_mut().find(|pool| pool.blocks.contains_key(&address)) else {
            return;
        };
        let Some(mut block) = pool.blocks.remove(&address) else { return };
        let mut at = address;
        let joins = |other: &Block| !other.used && other.segment == block.segment;
        let before =
            pool.blocks.range(..address).next_back().map(|(at, b)| (*at, *b)).filter(|(_, b)| joins(b));
        let after = pool.blocks.get(&(address + block.bytes)).copied().filter(joins);
        if let Some(after) = after {
            pool.blocks.remove(&(address + block.bytes));
            pool.free.remove(&(after.bytes, address + block.bytes));
            block.bytes += after.bytes;
        }
        if let Some((start, before)) = before {
            pool.free.remove(&(before.bytes, start));
            block.bytes += before.bytes;
            at = start;
        }
        block.used = false;
        pool.blocks.insert(at, block);
        pool.free.insert((block.bytes, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_reused_split_and_joined() {
        let mut pool = CachingAllocator::new(0);
        let (a, b) = (pool.allocate(700, 0).expect("room"), pool.allocate(1, 0).expect("room"));
        assert_eq!((a, b), (0, 1024));
        let large = pool.allocate(2 * MIB, 0).expect("room");
        assert_eq!((large, pool.end()), (2 * MIB, 22 * MIB));
        // The best fit is the hole, not the rest of the segment.
        pool.free(a);
        assert_eq!(pool.allocate(600, 0), Some(0));
        pool.free(0);
        pool.free(b);
        assert_eq!(pool.allocate(MIB, 0), Some(0), "all is one block again");
        assert_eq!(pool.allocate(30 * MIB + 1, 0), Some(22 * MIB));
        assert_eq!(pool.end(), 54 * MIB);
        // What one stream has freed is not another's.
        pool.free(0);
        assert_eq!(pool.allocate(MIB, 7), Some(54 * MIB));
        assert_eq!(pool.allocate(MIB, 0), Some(0));
        assert_eq!(pool.allocate(1 << 53, 0), None);
    }
}

//! Small kernels for tests.
#![allow(dead_code, reason = "each test uses a part")]

use proptest::prelude::*;
use std::ops::RangeInclusive;
use windlass_runtime::ktrace::{Kernel, KernelType, Segment};

/// A kernel of one CTA with these segments, as (address, bytes).
pub fn kernel(reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Kernel {
    let segments = |list: &[(u64, u64)]| list.iter().map(|&(addr, bytes)| Segment { addr, bytes }).collect();
    Kernel {
        index: 0,
        name: String::new(),
        op: String::new(),
        kind: KernelType::Simt,
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
        regs: None,
        flops: 0,
        mnk: None,
        reads: segments(reads),
        writes: segments(writes),
        traffic: None,
        dur_ns: None,
        stream: 0,
        part: None,
        est: Vec::new(),
    }
}

/// A few bytes of a small address space, so that overlaps of every shape are common; some are empty.
pub fn segment() -> impl Strategy<Value = Segment> {
    (0..48u64, 0..8u64).prop_map(|(addr, bytes)| Segment { addr, bytes })
}

/// Kernels of up to 100 CTAs with up to 3 segments each way.
pub fn kernels(count: RangeInclusive<usize>) -> impl Strategy<Value = Vec<Kernel>> {
    let segments = || prop::collection::vec(segment(), 0..4);
    let one = (segments(), segments(), 1..100u32).prop_map(|(reads, writes, ctas)| Kernel {
        reads,
        writes,
        grid: [ctas, 1, 1],
        ..kernel(&[], &[])
    });
    prop::collection::vec(one, count)
}

/// The seed of a random test: `WINDLASS_SEED`, or a fixed one. Printed, for whoever must repeat a failure.
pub fn seed() -> u64 {
    let seed = std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_122);
    println!("seed {seed}; WINDLASS_SEED sets another");
    seed
}

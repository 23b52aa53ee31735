//! Random programs, for tests of what runs them.

mod random;

pub use random::{Random, seed};
use std::sync::Arc;
use windlass_runtime::ktrace::{Kernel, KernelType, Segment};
use windlass_runtime::run::{Program, Work};

/// Kernels over few addresses, of any alignment, with overlaps, updates in place, nothing read, nothing written.
pub fn kernels(random: &mut Random, count: usize) -> Vec<Kernel> {
    let span = 64 + random.below(2000);
    let segment = |random: &mut Random| Segment {
        addr: 4096 + random.below(span),
        bytes: if random.below(10) == 0 { 0 } else { 1 + random.below(120) },
    };
    (0..count)
        .map(|index| {
            let mut list = |most: u64| -> Vec<Segment> {
                (0..random.below(most + 1)).map(|_| segment(random)).collect()
            };
            let (reads, writes) = (list(4), list(2));
            Kernel {
                index: index as u64,
                name: format!("k{index}"),
                op: String::new(),
                kind: if random.below(4) == 0 { KernelType::Tensor } else { KernelType::Simt },
                grid: [1 + random.below(4) as u32, 1 + random.below(2) as u32, 1],
                block: [32, 1, 1],
                smem: 0,
                regs: None,
                flops: 0,
                mnk: None,
                reads,
                writes,
                traffic: None,
                dur_ns: None,
                stream: 0,
                part: None,
                est: Vec::new(),
            }
        })
        .collect()
}

/// So many of them as a program.
pub fn program(random: &mut Random, count: usize) -> Arc<Program> {
    let kernels = kernels(random, count);
    // A host that waits now and then.
    let cut = random.below(count as u64 + 1) as usize;
    let sections: &[&[Kernel]] = &[&kernels[..cut], &kernels[cut..]];
    let scale = 1 + random.below(3);
    let program = Program::new("random", sections, &vec![Work::default(); count], scale);
    Arc::new(program.unwrap_or_else(|e| panic!("{e}")))
}

//! Random programs, for the tests and for the probe; and the host's compiler, for tests without a GPU.

use std::path::Path;
use std::process::Command;
use windlass_runtime::ktrace::{Kernel, KernelType, Segment};
use windlass_runtime::run::{Program, Work};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// A kernel that touches these segments.
pub fn kernel(
    index: u64,
    grid: [u32; 3],
    block: [u32; 3],
    reads: Vec<Segment>,
    writes: Vec<Segment>,
) -> Kernel {
    Kernel {
        index,
        name: format!("k{index}"),
        op: "random".into(),
        kind: KernelType::Simt,
        grid,
        block,
        smem: index % 5 * 20_000,
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
}

/// Kernels that read and write overlapping segments of `bytes` bytes, in grids and blocks of up to three dimensions: some update in
/// place, some write nothing, some read nothing, some read far more words than they write, and the other way round.
pub fn program(seed: u64, kernels: u64, bytes: u64) -> Program {
    let mut random = Random(seed);
    let segment = |random: &mut Random| {
        let len = match random.below(4) {
            0 => 1 + random.below(64),
            1 => 1 + random.below(bytes / 2),
            _ => 1 + random.below(bytes / 16),
        };
        Segment { addr: 4096 + random.below(bytes - len), bytes: len }
    };
    let list: Vec<Kernel> = (0..kernels)
        .map(|index| {
            let mut reads: Vec<_> = (0..random.below(4)).map(|_| segment(&mut random)).collect();
            let mut writes: Vec<_> = (0..random.below(4)).map(|_| segment(&mut random)).collect();
            if random.below(3) == 0 {
                reads.extend(writes.iter().copied());
            }
            if random.below(4) == 0 {
                // Many pieces.
                let (from, step) = (4096 + random.below(bytes / 2), 8 + random.below(64));
                writes.extend((0..20).map(|n| Segment { addr: from + n * step, bytes: 4 }));
            }
            let mut dim = |most| 1 + random.below(most) as u32;
            kernel(index, [dim(9), dim(3), dim(3)], [dim(64), dim(4), dim(4)], reads, writes)
        })
        .collect();
    let work: Vec<Work> = (0..kernels)
        .map(|_| Work { cta_ns: 0, fma_per_thread: random.below(200) as u32, least_ns: 0 })
        .collect();
    match Program::new(&format!("random {seed}"), &[&list], &work, 1) {
        Ok(program) => program,
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

/// Makes a library of a file of `fake_driver`.
#[allow(dead_code, reason = "not all tests do")]
pub fn compiled(source: &str, library: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver").join(source);
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    let done = Command::new(&compiler)
        .args([
            "-std=c++17",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fno-strict-aliasing",
            "-ffp-contract=off",
        ])
        .args(["-shared", "-fPIC", "-pthread", "-o"])
        .args([library, &source])
        .output();
    let done = done.unwrap_or_else(|e| panic!("{compiler}: {e}; run scripts/setup.sh"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

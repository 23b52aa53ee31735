//! What a kernel costs: check, insert and retire, beside ACE's Algorithm 1 on the same stream, in the same run.
//!
//! Each case keeps its window full: the oldest kernel retires, the next one is inserted. A kernel's time is that of a whole round
//! through the stream, divided by its kernels; the table has the smallest, the median and the largest of the rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};
use windlass_hazards::{Access, Buffer, Config, Engine, Isa, Slot, Slots};

/// Rounds of a case, at most and at least, and for how long.
const ROUNDS: std::ops::RangeInclusive<usize> = 5..=500;
const PATIENCE: Duration = Duration::from_millis(500);
/// Different kernels of a stream, which is repeated, unless the window is larger.
const KERNELS: usize = 1024;

/// As in the paper: segments are address ranges.
#[derive(Clone, Copy)]
struct Segment {
    first: u64,
    end: u64,
}

/// The same kernels for both, one after another in memory.
struct Stream {
    reads: usize,
    segments: usize,
    /// Of each kernel the reads, then the writes.
    accesses: Vec<Access>,
    ranges: Vec<Segment>,
}

impl Stream {
    fn kernels(&self) -> impl DoubleEndedIterator<Item = (&[Access], &[Access])> + ExactSizeIterator {
        self.accesses.chunks_exact(self.segments).map(|k| k.split_at(self.reads))
    }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// What the segments of a stream are.
#[derive(Clone, Copy)]
enum Shape {
    /// Whole buffers of many, by handle or by address.
    Whole { buffers: u64, raw: bool },
    /// Raw tiles, each one of `tiles` of a buffer of many.
    Tiles { buffers: u64, tiles: u64 },
    /// Raw ranges in one allocation, none of which overlaps another: every earlier segment must be compared.
    Dense,
}

const BASE: u64 = 0x7F00_0000_0000;
const BUFFER: u64 = 1 << 20;

fn stream(engine: &mut Engine, shape: Shape, kernels: usize, reads: usize, writes: usize) -> Stream {
    let rng = &mut Rng(0x2545_F491_4F6C_DD1D);
    let count = match shape {
        Shape::Whole { buffers, .. } | Shape::Tiles { buffers, .. } => buffers,
        Shape::Dense => 1,
    };
    let size = if count == 1 { 1 << 32 } else { BUFFER };
    // A gap of a page between neighbours, as allocators leave.
    let stride = size + 4096;
    let buffers: Vec<Buffer> =
        (0..count).map(|b| engine.declare_at(BASE + b * stride, size).unwrap()).collect();
    let mut next = 0;
    let mut segment = || {
        let (access, addr, bytes) = match shape {
            Shape::Whole { buffers: n, raw } => {
                let b = rng.below(n);
                let addr = BASE + b * stride;
                let access = if raw { Access::raw(addr, size) } else { Access::whole(buffers[b as usize]) };
                (access, addr, size)
            }
            Shape::Tiles { buffers: n, tiles } => {
                let bytes = size / tiles;
                let addr = BASE + rng.below(n) * stride + rng.below(tiles) * bytes;
                (Access::raw(addr, bytes), addr, bytes)
            }
            Shape::Dense => {
                // A stream longer than any window before an address comes again.
                let (addr, bytes) = (BASE + next * 4096, 4000);
                next += 1;
                (Access::raw(addr, bytes), addr, bytes)
            }
        };
        (access, Segment { first: addr, end: addr + bytes })
    };
    let (accesses, ranges) = (0..kernels * (reads + writes)).map(|_| segment()).unzip();
    Stream { reads, segments: reads + writes, accesses, ranges }
}

/// A window as the paper has it: per kernel its read and its write segments.
#[derive(Clone, Default)]
struct InFlight {
    reads: Vec<Segment>,
    writes: Vec<Segment>,
}

/// ACE's Algorithm 1, plainly: the write segments of the new kernel against all segments of every kernel in the window. Gives the
/// upstream kernels, as positions in the window.
#[inline(never)]
fn algorithm_1(window: &[InFlight], new_writes: &[Segment], upstream: &mut Vec<usize>) {
    upstream.clear();
    for (position, old) in window.iter().enumerate() {
        let overlaps = new_writes
            .iter()
            .any(|w| old.reads.iter().chain(&old.writes).any(|s| w.first < s.end && s.first < w.end));
        if overlaps {
            upstream.push(position);
        }
    }
}

/// What a caller would look at first.
fn word(set: Slots<'_>) -> u64 {
    match set {
        Slots::Mask(words) => words[0],
        Slots::List(list) => list.len() as u64,
    }
}

struct Times {
    best: f64,
    median: f64,
    worst: f64,
}

fn times(mut run: impl FnMut() -> f64) -> Times {
    run();
    let started = Instant::now();
    let mut all = Vec::new();
    while all.len() < *ROUNDS.start() || all.len() < *ROUNDS.end() && started.elapsed() < PATIENCE {
        all.push(run());
    }
    all.sort_by(f64::total_cmp);
    Times { best: all[0], median: all[all.len() / 2], worst: all[all.len() - 1] }
}

/// Nanoseconds per kernel: check, insert, retire, in a full window.
fn engine_time(engine: &mut Engine, stream: &Stream, window: usize) -> Times {
    let mut order: Vec<Slot> = Vec::new();
    for (reads, writes) in stream.kernels().skip(stream.kernels().len() - window) {
        order.push(engine.insert(reads, writes).unwrap().slot);
    }
    let mut oldest = 0;
    let mut sum = 0;
    let times = times(|| {
        let started = Instant::now();
        for (reads, writes) in stream.kernels() {
            sum ^= word(engine.retire(order[oldest]).unwrap());
            let inserted = engine.insert(reads, writes).unwrap();
            sum ^= word(inserted.upstream);
            order[oldest] = inserted.slot;
            oldest = if oldest + 1 == window { 0 } else { oldest + 1 };
        }
        started.elapsed().as_secs_f64() * 1e9 / stream.kernels().len() as f64
    });
    black_box(sum);
    times
}

/// The same for Algorithm 1; insertion is copying the segments in, retirement is clearing them.
fn algorithm_1_time(stream: &Stream, window: usize) -> Times {
    let kernels = || stream.ranges.chunks_exact(stream.segments).map(|k| k.split_at(stream.reads));
    let mut slots = vec![InFlight::default(); window];
    let mut upstream = Vec::with_capacity(window);
    let mut oldest = 0;
    times(|| {
        let started = Instant::now();
        for (reads, writes) in kernels() {
            slots[oldest].reads.clear();
            slots[oldest].writes.clear();
            algorithm_1(&slots, writes, &mut upstream);
            black_box(&upstream);
            slots[oldest].reads.extend_from_slice(reads);
            slots[oldest].writes.extend_from_slice(writes);
            oldest = if oldest + 1 == window { 0 } else { oldest + 1 };
        }
        started.elapsed().as_secs_f64() * 1e9 / stream.kernels().len() as f64
    })
}

struct Case {
    name: &'static str,
    window: usize,
    shape: Shape,
    reads: usize,
    writes: usize,
    target_ns: Option<f64>,
    target_ratio: Option<f64>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let filter = args.find(|a| !a.starts_with('-')).unwrap_or_default();
    let segments = [(4, 2), (6, 4)];
    let mut cases = Vec::new();
    let few = Shape::Whole { buffers: 64, raw: false };
    let many = Shape::Whole { buffers: 512, raw: false };
    let layers = Shape::Whole { buffers: 4096, raw: false };
    let none = [f64::NAN; 2];
    let kinds = [
        ("handles, 64 buffers", 32, few, [6.0, 10.0], Some(40.0)),
        ("handles, 512 buffers", 32, many, [6.0, 10.0], Some(40.0)),
        ("handles, 64 buffers", 64, few, [6.0, 10.0], None),
        ("handles, 512 buffers", 64, many, [6.0, 10.0], None),
        ("raw, whole allocations", 32, Shape::Whole { buffers: 64, raw: true }, [15.0, 30.0], Some(8.0)),
        ("raw, all tiles", 32, Shape::Tiles { buffers: 64, tiles: 16 }, none, Some(8.0)),
        ("raw, worst case", 32, Shape::Dense, [35.0, 100.0], Some(8.0)),
        ("handles, 512 buffers", 128, many, none, None),
        ("handles, 512 buffers", 512, many, none, None),
        ("handles, 512 buffers, reduced", 4096, many, [12.0, 40.0], None),
        ("handles, 4096 buffers, reduced", 4096, layers, [12.0, 40.0], None),
        ("raw, one allocation", 512, Shape::Dense, none, None),
        ("raw, one allocation, reduced", 513, Shape::Dense, none, None),
        ("raw, one allocation, reduced", 4096, Shape::Dense, none, None),
        (
            "raw, 64 tiles of one allocation, reduced",
            4096,
            Shape::Tiles { buffers: 1, tiles: 64 },
            none,
            None,
        ),
        (
            "raw, 4096 tiles of one allocation, reduced",
            4096,
            Shape::Tiles { buffers: 1, tiles: 4096 },
            none,
            None,
        ),
    ];
    for (name, window, shape, targets, target_ratio) in kinds {
        for ((reads, writes), target) in segments.into_iter().zip(targets) {
            let target_ns = Some(target).filter(|t| !t.is_nan());
            cases.push(Case { name, window, shape, reads, writes, target_ns, target_ratio });
        }
    }
    println!("instructions: {}; ns per kernel: check, insert and retire, in a full window", Isa::best());
    println!("Algorithm 1 finds WAR and WAW only; the engine finds RAW too");
    println!();
    println!(
        "| case | W | segments | best | median | worst | Algorithm 1, best | ratio | target | bytes per kernel |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut missed = 0;
    for case in cases.iter().filter(|c| c.name.contains(&filter)) {
        let mut config = Config::new(case.window);
        let segments = case.reads + case.writes;
        if case.window > 512 {
            // Each kernel's segments beyond six in a row of their own.
            config.spill = if segments > 6 { 6 * case.window } else { 0 };
            config.edges = 65535;
        } else {
            config.spill = 8 * case.window;
        }
        let mut engine = Engine::with_config(&config).unwrap();
        let stream = stream(&mut engine, case.shape, KERNELS.max(case.window), case.reads, case.writes);
        let window = case.window;
        let ours = engine_time(&mut engine, &stream, window);
        let algorithm = algorithm_1_time(&stream, window);
        let ratio = algorithm.best / ours.best;
        let bytes = engine.window_bytes();
        let mut targets = Vec::new();
        let mut judge = |met: bool, text: String| {
            missed += usize::from(!met);
            targets.push(format!("{text}: {}", if met { "met" } else { "MISSED" }));
        };
        if let Some(target) = case.target_ns {
            judge(ours.best <= target, format!("{target} ns"));
        }
        if let Some(target) = case.target_ratio {
            judge(ratio >= target, format!("{target}x"));
        }
        println!(
            "| {} | {} | {} read, {} write | {:.1} | {:.1} | {:.1} | {:.0} | {ratio:.0}x | {} | {:.0} + pool {:.0} |",
            case.name,
            case.window,
            case.reads,
            case.writes,
            ours.best,
            ours.median,
            ours.worst,
            algorithm.best,
            if targets.is_empty() { "-".into() } else { targets.join(", ") },
            bytes.0 as f64 / case.window as f64,
            bytes.1 as f64 / case.window as f64,
        );
    }
    println!();
    println!("{missed} targets missed");
    println!();
    libgomp();
}

/// A peer that infers dependences, in the same run: gcc's `depend`, which also creates and runs its tasks.
fn libgomp() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/compare-libgomp.sh");
    match std::process::Command::new("bash").arg(script).status() {
        Ok(status) if status.success() => {}
        Ok(status) => eprintln!("SKIPPED: scripts/compare-libgomp.sh: {status}"),
        Err(error) => eprintln!("SKIPPED: scripts/compare-libgomp.sh: {error}"),
    }
}

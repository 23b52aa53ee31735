//! What the runtime itself costs: kernels per second from launch to retirement, beside a plain loop in the same run.
//!
//! The executor runs nothing. `at once`: it ends each kernel when it starts. `held`: it ends the oldest kernel only when the window
//! is full, so that every check sees a full window; no kernel waits for another. The baseline is the hazard engine alone, on one thread, with the same
//! accesses and no queue, ready list or second thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_hazards::{Access, Engine, Slot};
use windlass_runtime::runtime::{
    Allocator, Arg, Buffer, Cause, Completions, Executor, HostAllocator, Immediate, Kernel, Runtime, Started,
    Task, Token,
};

const KERNELS: usize = 1 << 20;
const ROUNDS: usize = 9;
const READ_ONLY: usize = 64;
const WRITTEN: usize = 256;

/// Ends a kernel only when `held` others are in flight.
struct Held {
    held: usize,
    tokens: VecDeque<Token>,
    started: usize,
    completions: Option<Completions>,
}

impl Executor for Held {
    fn name(&self) -> String {
        format!("holds {}", self.held)
    }
    fn concurrency(&self) -> usize {
        usize::MAX
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(HostAllocator)
    }
    fn connect(&mut self, completions: Completions) {
        self.completions = Some(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        self.tokens.push_back(task.token());
        self.started += 1;
        // The last of a round take all with them.
        let held = if self.started.is_multiple_of(KERNELS) { 0 } else { self.held };
        while self.tokens.len() > held
            && let (Some(token), Some(completions)) = (self.tokens.pop_front(), &self.completions)
        {
            completions.complete(token, Ok::<(), Cause>(()));
        }
        Started::Running
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

/// Which buffers each kernel of a stream reads and writes. Reads are by chance, of buffers that nobody writes; writes go round, so that
/// no kernel in a window of 32 waits for another: what is held would never end.
fn stream(reads: usize, writes: usize) -> Vec<Vec<usize>> {
    let rng = &mut Rng(0x2545_F491_4F6C_DD1D);
    let mut next = 0;
    let mut write = || {
        next = (next + 1) % WRITTEN;
        READ_ONLY + next
    };
    (0..1024)
        .map(|_| {
            let reads = (0..reads).map(|_| rng.below(READ_ONLY as u64) as usize).collect::<Vec<_>>();
            reads.into_iter().chain((0..writes).map(|_| write())).collect()
        })
        .collect()
}

/// Nanoseconds per kernel of the rounds, ascending.
fn rounds(mut round: impl FnMut() -> Duration) -> Vec<f64> {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| round().as_secs_f64() * 1e9 / KERNELS as f64).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn runtime(executor: impl Executor + 'static, stream: &[Vec<usize>], reads: usize) -> Vec<f64> {
    let mut rt = Runtime::builder().window(32).executor(executor).build().expect("a runtime");
    let writes = stream[0].len() - reads;
    let kernel = (0..reads).fold(Kernel::new("nothing"), |k, n| k.read(format!("r{n}")));
    let kernel = (0..writes).fold(kernel, |k, n| k.write(format!("w{n}")));
    let kernel = rt.register(kernel).expect("a kernel");
    let buffers: Vec<Buffer<u32>> =
        (0..READ_ONLY + WRITTEN).map(|_| rt.buffer(1024).expect("a buffer")).collect();
    let args: Vec<Vec<Arg>> =
        stream.iter().map(|buffers_of| buffers_of.iter().map(|b| Arg::from(buffers[*b])).collect()).collect();
    rounds(|| {
        let start = Instant::now();
        for args in args.iter().cycle().take(KERNELS) {
            rt.launch(kernel, 1, 256, args).expect("a launch");
        }
        rt.synchronize().expect("kernels that do nothing");
        start.elapsed()
    })
}

/// The hazard engine alone, its window kept full or empty.
fn engine(held: usize, stream: &[Vec<usize>], reads: usize) -> Vec<f64> {
    let mut engine = Engine::new(32).expect("a window");
    let buffers: Vec<_> = (0..READ_ONLY + WRITTEN).map(|_| engine.declare(4096).expect("a buffer")).collect();
    let accesses: Vec<Vec<Access>> =
        stream.iter().map(|of| of.iter().map(|b| Access::whole(buffers[*b])).collect()).collect();
    rounds(|| {
        let start = Instant::now();
        let mut slots: VecDeque<Slot> = VecDeque::new();
        for accesses in accesses.iter().cycle().take(KERNELS) {
            let slot = engine.insert(&accesses[..reads], &accesses[reads..]).expect("room").slot;
            slots.push_back(slot);
            if slots.len() > held
                && let Some(oldest) = slots.pop_front()
            {
                engine.retire(oldest).expect("the oldest waits for nothing");
            }
        }
        for slot in slots {
            engine.retire(slot).expect("the oldest waits for nothing");
        }
        start.elapsed()
    })
}

fn main() {
    println!(
        "window 32, {READ_ONLY} buffers read by chance, {WRITTEN} written in turn, {KERNELS} kernels, best and median of {ROUNDS} rounds"
    );
    println!(
        "| case | segments | runtime [ns/kernel] | median | million kernels/s | engine alone [ns/kernel] | ratio |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    for (reads, writes) in [(1, 1), (4, 2), (6, 4)] {
        let stream = stream(reads, writes);
        // A full window of 32 has 31 in flight when the next is inserted.
        for held in [0, 30] {
            let (name, with) = if held == 0 {
                ("at once", runtime(Immediate, &stream, reads))
            } else {
                let executor = Held { held, tokens: VecDeque::new(), started: 0, completions: None };
                ("held", runtime(executor, &stream, reads))
            };
            let alone = engine(held, &stream, reads);
            println!(
                "| {name} | {reads} read, {writes} write | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} |",
                with[0],
                with[ROUNDS / 2],
                1e3 / with[0],
                alone[0],
                with[0] / alone[0]
            );
        }
    }
}

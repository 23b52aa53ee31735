//! Kernels that really run, in any order that the engine allows, leave the memory that they leave one after another.
//!
//! `WINDLASS_LONG=1` runs 10^6 schedules instead of 10^4; `WINDLASS_SEED` chooses others.

mod common;

use common::{BYTES, Kernel, Layout, Mix, Rng, Set, amount, seed};
use windlass_hazards::{Config, Engine, Error, Inserted, Rule, Slot};

const WINDOWS: [usize; 12] = [4, 5, 8, 16, 32, 33, 64, 100, 128, 256, 512, 1024];

/// Every byte written gets a value of its own, made from all bytes read: whoever reads too early, or writes too late, shows.
fn execute(kernel: &Kernel, index: usize, memory: &mut [u64; BYTES]) {
    let has = |set: &Set, b: usize| set.0[b / 64] >> (b % 64) & 1 == 1;
    let mut hash = index as u64;
    for b in (0..BYTES).filter(|b| has(&kernel.read, *b)) {
        hash = (hash ^ memory[b]).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    for b in (0..BYTES).filter(|b| has(&kernel.written, *b)) {
        memory[b] = hash.wrapping_add(b as u64);
    }
}

/// Runs a stream through the window, ready kernels in a random order. Whether the memory is that of the serial order.
fn schedule(rng: &mut Rng, engine: &mut Engine, kernels: &[Kernel]) -> bool {
    let mut serial = [0; BYTES];
    for (index, kernel) in kernels.iter().enumerate() {
        execute(kernel, index, &mut serial);
    }
    let mut memory = [0; BYTES];
    let mut ready: Vec<Slot> = Vec::new();
    let mut in_slot = vec![usize::MAX; 4096];
    let mut next = 0;
    while next < kernels.len() || !engine.is_empty() {
        // The window is full, or fills later.
        while next < kernels.len() && (ready.is_empty() || !rng.one_in(4)) {
            match engine.insert(&kernels[next].reads, &kernels[next].writes) {
                Ok(Inserted { slot, upstream }) => {
                    in_slot[slot.index()] = next;
                    if upstream.is_empty() {
                        ready.push(slot);
                    }
                    next += 1;
                }
                Err(Error::Full { .. } | Error::SpillFull { .. } | Error::EdgesFull { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let slot = ready.swap_remove(rng.below(ready.len()));
        let index = in_slot[slot.index()];
        execute(&kernels[index], index, &mut memory);
        ready.extend(engine.retire(slot).unwrap().iter());
    }
    memory == serial
}

fn streams(rule: Rule, count: u64) -> (u64, u64) {
    let mut rng = Rng(seed() ^ 0x5EED);
    let (mut done, mut different) = (0, 0);
    while done < count {
        let mut config = Config::new(WINDOWS[rng.below(WINDOWS.len())]);
        config.rule = rule;
        let mut engine = Engine::with_config(&config).unwrap();
        let largest = [2, 8, 32][rng.below(3)];
        let layout = Layout::random(&mut rng, &mut engine, largest, false, 1);
        let mix = [Mix::Handles, Mix::Views, Mix::Raw, Mix::All][rng.below(4)];
        for _ in 0..20 {
            let mut kernels = Vec::new();
            for _ in 0..10 + rng.below(50) {
                let kernel = Kernel::random(&mut rng, &layout, mix);
                // Some ranges have more pieces than the engine takes of one kernel.
                let slot = match engine.insert(&kernel.reads, &kernel.writes) {
                    Ok(inserted) => inserted.slot,
                    Err(Error::TooManySegments | Error::SpillFull { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                engine.retire(slot).unwrap();
                kernels.push(kernel);
            }
            different += u64::from(!schedule(&mut rng, &mut engine, &kernels));
            done += 1;
        }
    }
    (done, different)
}

#[test]
fn any_order_leaves_the_memory_of_the_serial_one() {
    let (done, different) = streams(Rule::Exact, amount(10_000, 1_000_000));
    println!("{done} schedules, {different} memory images differ from the serial one");
    assert_eq!(different, 0);
}

#[test]
fn algorithm_1_as_printed_does_not() {
    let (done, different) = streams(Rule::StrictAlgorithm1, amount(1000, 1000));
    println!(
        "{done} schedules under Algorithm 1 as printed, {different} memory images differ from the serial one"
    );
    assert!(different > done / 10, "RAW is missed, and yet only {different} of {done} differ");
}

//! The engine against brute force over sets of bytes: upstream sets, freed sets, for windows of all kinds.
//!
//! `WINDLASS_LONG=1` compares 10^9 pairs of kernels instead of 10^6; `WINDLASS_SEED` chooses others.

mod common;

use common::{BYTES, Checked, Kernel, Layout, Mix, Rng, Set, amount, seed};
use windlass_hazards::{Access, Config, Error, Isa, Rule};

const WINDOWS: [usize; 19] = [4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 100, 128, 129, 256, 257, 400, 512, 513];
const MIXES: [Mix; 4] = [Mix::Handles, Mix::Views, Mix::Raw, Mix::All];

/// Under Miri, of one group and of two.
fn is_feasible(window: usize) -> bool {
    !cfg!(miri) || matches!(window, 4 | 33 | 48)
}

/// Random kernels through a window, retired in a random order, until `pairs` were compared.
fn compare(rng: &mut Rng, config: &Config, mix: Mix, pairs: u64) -> u64 {
    let mut checked = Checked::new(config);
    // 2 GiB is no multiple of the last one, and its largest buffers have several regions.
    let scale = [1, 1, 256, (1 << 27) + 12345][rng.below(4)];
    let largest = [4, 24, 100][rng.below(3)];
    let gaps = rng.one_in(4);
    let mut layout = Layout::random(rng, &mut checked.engine, largest, gaps, scale);
    if layout.buffers.is_empty() {
        return 0;
    }
    // Full windows, and ones that run low.
    let low = rng.below(4);
    while checked.pairs < pairs {
        while !checked.is_full() {
            match checked.insert(Kernel::random(rng, &layout, mix)) {
                Ok(_) => {}
                Err(Error::SpillFull { .. } | Error::EdgesFull { .. }) if checked.len > 0 => break,
                Err(error) => panic!("{error}"),
            }
        }
        if let Some((slot, waits_for)) = checked.waiting() {
            let refused = checked.engine.retire(slot).unwrap_err();
            assert!(matches!(refused, Error::NotReady { waits_for: w, .. } if w <= waits_for), "{refused}");
        }
        let keep = if low == 0 { 0 } else { checked.len - 1 - rng.below(checked.len.div_ceil(low * low)) };
        while checked.len > keep {
            checked.retire(rng.below(checked.ready.len()));
        }
        if checked.len == 0 {
            // Other handles for the same memory.
            for (buffer, from, count) in &mut layout.buffers {
                checked.engine.release(*buffer).unwrap();
                let (addr, bytes) = (layout.base + *from as u64 * scale, *count as u64 * scale);
                *buffer = checked.engine.declare_at(addr, bytes).unwrap();
            }
        }
    }
    checked.pairs
}

#[test]
fn upstream_and_freed_sets_are_those_of_the_bytes() {
    let mut rng = Rng(seed());
    let total = amount(1_000_000, 1_000_000_000);
    let (mut done, mut runs) = (0, 0);
    while done < total {
        for window in WINDOWS.into_iter().filter(|window| is_feasible(*window)) {
            // As many pairs as fill the window at least, and small windows more often.
            let pairs = ((window * window / 2 + window) as u64).max(2000);
            for _ in 0..(amount(20_000, 20_000) / pairs).max(1) {
                let mut config = Config::new(window);
                config.rule = if rng.one_in(8) { Rule::StrictAlgorithm1 } else { Rule::Exact };
                let mix = MIXES[rng.below(4)];
                done += compare(&mut rng, &config, mix, pairs);
                runs += 1;
            }
        }
    }
    println!("{done} pairs in {runs} windows, 0 differences");
}

#[test]
#[cfg_attr(miri, ignore = "would take hours")]
fn the_largest_windows_are_those_of_the_bytes() {
    let mut rng = Rng(seed() ^ 4096);
    for window in [1000, 4096] {
        for mix in MIXES {
            let mut config = Config::new(window);
            // Hundreds of bytes, thousands of kernels: far more edges than in life.
            config.edges = 65535;
            compare(&mut rng, &config, mix, amount(1, 20) * 1_000_000);
        }
    }
}

/// Beyond 512 slots, parts of a buffer lie in blocks by offset: long lists of short parts, in places that move on, so that blocks are
/// cut and get empty, with one now and then that covers many.
#[test]
#[cfg_attr(miri, ignore = "would take hours")]
fn many_parts_of_few_buffers_are_those_of_the_bytes() {
    let mut rng = Rng(seed() ^ 513);
    for round in 0..amount(12, 300) {
        let mut config = Config::new(513 + rng.below(300));
        config.edges = [65535, 300][rng.below(2)];
        let mut checked = Checked::new(&config);
        let scale = [1, 4096][rng.below(2)];
        let base = 0x7F00_0000_0000;
        let half = (BYTES / 2) as u64 * scale;
        let buffers = [0, 1].map(|b| checked.engine.declare_at(base + b * half, half).unwrap());
        let whole = rng.one_in(2);
        for step in 0..3000 {
            let mut kernel = Kernel::default();
            let part = |rng: &mut Rng, long: bool| {
                let b = rng.below(2);
                let count = if long { 1 + rng.below(BYTES / 2) } else { 1 + rng.below(2) };
                let from = (step / 16 + rng.below(48)) % (BYTES / 2 + 1 - count);
                if long && whole && rng.one_in(2) {
                    return (Access::whole(buffers[b]), Set::range(b * BYTES / 2, BYTES / 2));
                }
                let access = Access::view(buffers[b], from as u64 * scale, count as u64 * scale);
                (access, Set::range(b * BYTES / 2 + from, count))
            };
            for _ in 0..rng.below(4) {
                let long = rng.one_in(64);
                let (access, set) = part(&mut rng, long);
                kernel.reads.push(access);
                kernel.read = kernel.read.or(set);
            }
            for _ in 0..usize::from(rng.one_in(8)) {
                let long = rng.one_in(16);
                let (access, set) = part(&mut rng, long);
                kernel.writes.push(access);
                kernel.written = kernel.written.or(set);
            }
            // Mostly the oldest that are ready, so that what lies behind gets empty.
            while checked.is_full() || checked.len > 0 && rng.one_in(1500) {
                let ready = checked.ready.len();
                checked.retire(if round % 2 == 0 { rng.below(ready) } else { 0 });
            }
            loop {
                match checked.insert(kernel.clone()) {
                    Ok(_) => break,
                    Err(Error::EdgesFull { .. }) => drop(checked.retire(0)),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[test]
fn every_vector_instruction_set_gives_the_same() {
    let seed = seed();
    for isa in Isa::ALL {
        if !isa.is_available() {
            println!("SKIPPED: {isa} is not available on this machine");
            continue;
        }
        let windows = [4, 8, 16, 17, 32, 48, 64, 65, 128, 200, 256, 500, 512];
        for window in windows.into_iter().filter(|window| is_feasible(*window)) {
            for mix in if cfg!(miri) { &[Mix::Raw][..] } else { &MIXES[..] } {
                let mut rng = Rng(seed ^ window as u64);
                let mut config = Config::new(window);
                config.isa = Some(isa);
                compare(&mut rng, &config, *mix, amount(5_000, 1_000_000));
            }
        }
        println!("{isa}: as by brute force");
    }
}

//! What renaming gains in a live run: frames through a pipeline of kernels that use the same buffers again, beside the same without
//! renaming and one kernel after another, in the same run. And what copies gain that are not waited for, where each frame's result is read.
//!
//! A kernel is one CTA that takes its time asleep, so that kernels overlap on any machine; the result is checked in each round.

use std::time::{Duration, Instant};
use windlass_runtime::args;
use windlass_runtime::runtime::{Buffer, Cpu, Error, Kernel, Policy, Renamed, Runtime};

const FRAMES: u32 = 64;
const STAGES: usize = 4;
const ELEMENTS: usize = 1024;
const BYTES: u64 = 4 * ELEMENTS as u64;
const WORK: Duration = Duration::from_micros(500);
const ROUNDS: usize = 5;
/// Kernels that can run at the same time.
const THREADS: usize = 8;

/// Adds one on the way.
fn stage() -> Kernel {
    Kernel::new("stage").read("from").write("to").body(|cta| {
        std::thread::sleep(WORK);
        let (from, to) = (cta.read::<u32>(0)?, cta.write::<u32>(1)?);
        (0..to.len()).for_each(|i| to.set(i, from.get(i).wrapping_add(1)));
        Ok(())
    })
}

/// Microseconds per frame, best of the rounds, and what was renamed.
fn frames(policy: Policy, rename: u64) -> Result<(f64, Renamed), Error> {
    let builder = Runtime::builder().policy(policy).rename(rename).window(64);
    let mut rt = builder.executor(Cpu::new(THREADS)?).build()?;
    let stage = rt.register(stage())?;
    let buffers = (0..=STAGES).map(|_| rt.buffer(ELEMENTS)).collect::<Result<Vec<Buffer<u32>>, _>>()?;
    let results = (0..FRAMES).map(|_| rt.buffer(ELEMENTS)).collect::<Result<Vec<Buffer<u32>>, _>>()?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for frame in 0..FRAMES {
            rt.write(buffers[0], &[frame; ELEMENTS])?;
            for pair in buffers[..STAGES].windows(2) {
                rt.launch(stage, 1, 1, args![pair[0], pair[1]])?;
            }
            rt.launch(stage, 1, 1, args![buffers[STAGES - 1], results[frame as usize]])?;
        }
        rt.synchronize()?;
        best = best.min(started.elapsed().as_secs_f64() * 1e6 / f64::from(FRAMES));
        for (frame, result) in (0..FRAMES).zip(&results) {
            assert_eq!(rt.read(*result)?, [frame + STAGES as u32; ELEMENTS]);
        }
    }
    Ok((best, rt.renamed()))
}

/// The same with one buffer for all results, each of which is read before the next frame, or its copy started.
fn copies(started: bool, rename: u64) -> Result<f64, Error> {
    let mut rt = Runtime::builder().rename(rename).window(64).executor(Cpu::new(THREADS)?).build()?;
    let stage = rt.register(stage())?;
    let buffers = (0..=STAGES).map(|_| rt.buffer(ELEMENTS)).collect::<Result<Vec<Buffer<u32>>, _>>()?;
    let (input, output) = (buffers[0], buffers[STAGES]);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (mut read, mut readings) = (Vec::new(), Vec::new());
        let began = Instant::now();
        for frame in 0..FRAMES {
            match started {
                true => drop(rt.start_write(input, vec![frame; ELEMENTS])?),
                false => rt.write(input, &[frame; ELEMENTS])?,
            }
            for pair in buffers.windows(2) {
                rt.launch(stage, 1, 1, args![pair[0], pair[1]])?;
            }
            match started {
                true => readings.push(rt.start_read(output)?),
                false => read.push(rt.read(output)?),
            }
        }
        for reading in readings {
            read.push(reading.wait()?);
        }
        best = best.min(began.elapsed().as_secs_f64() * 1e6 / f64::from(FRAMES));
        for (frame, result) in (0..FRAMES).zip(&read) {
            assert_eq!(*result, [frame + STAGES as u32; ELEMENTS]);
        }
    }
    Ok(best)
}

fn main() -> Result<(), Error> {
    println!(
        "{FRAMES} frames of {STAGES} kernels of {} µs each, {THREADS} at a time, window 64, best of {ROUNDS} rounds",
        WORK.as_micros()
    );
    println!(
        "| policy | budget | µs per frame | over serial | over none | versions | refused | most bytes |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let (serial, _) = frames(Policy::Serial, 0)?;
    println!("| serial | 0 | {serial:.1} | 1.00 | | | | |");
    let mut none = f64::NAN;
    for versions in [0, 1, 2, 4, 8, 16, 64] {
        let budget = versions * BYTES;
        let (time, renamed) = frames(Policy::Window, budget)?;
        if versions == 0 {
            none = time;
        }
        println!(
            "| window | {budget} | {time:.1} | {:.2} | {:.2} | {} | {} | {} |",
            serial / time,
            none / time,
            renamed.versions,
            renamed.refused,
            renamed.peak_bytes
        );
    }
    println!("\neach frame's result is read");
    println!("| copies | budget | µs per frame | over those that are waited for |");
    println!("|---|--:|--:|--:|");
    for budget in [0, 64 * BYTES] {
        let [waited, started] = [copies(false, budget)?, copies(true, budget)?];
        println!("| waited for | {budget} | {waited:.1} | 1.00 |");
        println!("| started | {budget} | {started:.1} | {:.2} |", waited / started);
    }
    Ok(())
}

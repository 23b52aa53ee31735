//! The runtime as its users meet it: results, failures, priorities, records, declarations.

mod common;
#[cfg(target_os = "linux")]
#[path = "common/little_memory.rs"]
mod little_memory;

use common::seed;
use std::collections::HashSet;
use std::io::{BufReader, Read as _, repeat};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use windlass_runtime::args;
use windlass_runtime::ktrace::MAX_LINE_BYTES;
use windlass_runtime::runtime::{
    Allocator, Buffer, Builder, Cause, Completions, Cpu, Cta, CudaKernel, Element, ElementKind, Error, Event,
    EventKind, Executor, Failure, Failures, HostAllocator, HostMemory, Immediate, Kernel, Memory, Options,
    Policy, Recording, Registered, Renamed, Runtime, Schedule, Started, Task, Ticket, Token, View, Violation,
    Waiter,
};

/// What a call gives that must not wait for ever: in minutes, for under a sanitizer on a busy machine all takes long.
fn in_time<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = channel();
    std::thread::spawn(move || done.send(call()));
    waits.recv_timeout(Duration::from_secs(300)).expect("it panicked, or never came back")
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn mix(a: u32, b: u32) -> u32 {
    (a ^ b.rotate_left(13)).wrapping_mul(0x9E37_79B1).wrapping_add(b >> 7)
}

/// One CTA; all that it writes depends on all that it reads, on its number and on the place.
fn footprint() -> Kernel {
    Kernel::new("footprint").value("number").read("a").read("b").write("c").read_write("d").body(|cta| {
        let number = cta.value::<u32>(0)?;
        let (a, b) = (cta.read::<u32>(1)?, cta.read::<u32>(2)?);
        let (c, d) = (cta.write::<u32>(3)?, cta.read_write::<u32>(4)?);
        let mut digest = number;
        (0..a.len()).for_each(|i| digest = mix(digest, a.get(i)));
        (0..b.len()).for_each(|i| digest = mix(digest, b.get(i)));
        (0..d.len()).for_each(|i| digest = mix(digest, d.get(i)));
        if number.is_multiple_of(7) {
            std::thread::sleep(Duration::from_micros(u64::from(number % 97)));
        }
        (0..c.len()).for_each(|i| c.set(i, mix(digest, i as u32)));
        (0..d.len()).step_by(2).for_each(|i| d.set(i, mix(digest, i as u32 + 1)));
        Ok(())
    })
}

const ELEMENTS: usize = 48;

/// A buffer in memory of the test's own.
fn imported(rt: &mut Runtime) -> Result<(Buffer<u32>, Arc<[AtomicU32]>), Error> {
    let memory: Arc<[AtomicU32]> = (0..ELEMENTS).map(|_| AtomicU32::new(0)).collect();
    // SAFETY: the owner keeps it, and all accesses are atomic.
    let buffer = unsafe { rt.import(memory.as_ptr().cast_mut().cast::<u32>(), ELEMENTS, memory.clone()) }?;
    Ok((buffer, memory))
}

/// A random program: what it launches, releases and reads on the way depends on the seed alone.
fn program(rt: &mut Runtime, seed: u64, kernels: u32) -> Result<Vec<Vec<u32>>, Error> {
    let rng = &mut Rng(seed);
    let kernel = rt.register(footprint())?;
    let mut buffers: Vec<Buffer<u32>> = Vec::new();
    for _ in 0..2 + rng.below(6) {
        buffers.push(rt.buffer(ELEMENTS)?);
    }
    let (own, memory) = imported(rt)?;
    buffers.push(own);
    let mut seen = Vec::new();
    let mut readings = Vec::new();
    let mut fence = None;
    for number in 0..kernels {
        let mut view = || -> View<u32> {
            let buffer = buffers[rng.below(buffers.len() as u64) as usize];
            match rng.below(3) {
                0 => buffer.into(),
                _ => {
                    let start = rng.below(ELEMENTS as u64) as usize;
                    buffer.slice(start..start + rng.below((ELEMENTS - start + 1) as u64) as usize)
                }
            }
        };
        let views = [view(), view(), view(), view()];
        let [a, b, c, d] = &views;
        let options = Options::new().priority(rng.below(3) as i32);
        let ticket = rt.launch_with(kernel, 1, 32, args![number, a, b, c, d], options)?;
        match rng.below(40) {
            0 => {
                let n = rng.below(buffers.len() as u64) as usize;
                rt.release(buffers[n])?;
                buffers[n] = rt.buffer_from(&[number; ELEMENTS])?;
            }
            1 => seen.push(rt.read(a)?),
            2 => rt.write(buffers[0].slice(3..9), &[number; 6])?,
            3 => rt.synchronize()?,
            4..=6 => readings.push(rt.start_read(b)?),
            7 => _ = rt.start_write(a, vec![number; a.range().len()])?,
            8 => _ = rt.start_write(buffers[rng.below(buffers.len() as u64) as usize], [number; ELEMENTS])?,
            9 => fence = Some((rt.fence()?, ticket.0)),
            10..=12 => {
                if let Some((fence, last)) = fence.take() {
                    fence.wait()?;
                    assert!((0..=last).all(|ticket| rt.is_done(Ticket(ticket)) == Ok(true)), "{last}");
                }
            }
            _ => {}
        }
        if readings.len() > 5 {
            seen.push(readings.swap_remove(rng.below(5) as usize).wait()?);
        }
    }
    seen.extend(readings.into_iter().map(|reading| reading.wait()).collect::<Result<Vec<_>, _>>()?);
    let kept = buffers.contains(&own);
    for buffer in buffers {
        seen.push(rt.read(buffer)?);
    }
    rt.synchronize()?;
    if kept {
        let found: Vec<u32> = memory.iter().map(|value| value.load(Ordering::Relaxed)).collect();
        assert_eq!(found, rt.read(own)?);
    }
    Ok(seen)
}

#[test]
fn memory_is_what_program_order_makes_it() {
    let seed = seed();
    let (mut versions, mut refused) = ([0; 2], 0);
    for round in 0..60 {
        let seed = seed.wrapping_add(round);
        let mut serial =
            Runtime::builder().policy(Policy::Serial).executor(Cpu::new(1).unwrap()).build().unwrap();
        let expected = program(&mut serial, seed, 120).unwrap();
        // With renaming too: none, little, for one or two more versions, and as much as there is.
        let few = 2 * ELEMENTS as u64 * 4;
        for (window, threads, queue, rename) in
            [(4, 2, 1, few), (32, 4, 1024, 0), (32, 4, 1024, u64::MAX), (1024, 3, 7, few), (1024, 3, 7, 0)]
        {
            let executor = Cpu::new(threads).unwrap();
            let builder = Runtime::builder().window(window).queue(queue).rename(rename);
            let mut rt = builder.executor(executor).build().unwrap();
            let found = program(&mut rt, seed, 120);
            let found =
                found.unwrap_or_else(|e| panic!("seed {seed}, window {window}: {e}; {:?}", rt.synchronize()));
            assert_eq!(found, expected, "seed {seed}, window {window}, {threads} threads, renaming {rename}");
            let renamed = rt.renamed();
            assert!(renamed.peak_bytes <= rename, "{renamed:?}");
            versions[usize::from(rename > 0)] += renamed.versions;
            refused += renamed.refused;
        }
    }
    assert!(versions[0] == 0 && versions[1] > 100 && refused > 0, "{versions:?}, {refused}");
}

/// Reads `x` into `y` once it is let go.
fn held_up(go: &Arc<AtomicU32>) -> Kernel {
    let go = go.clone();
    Kernel::new("held up").read("x").write("y").body(move |cta| {
        while go.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
        let (x, y) = (cta.read::<i32>(0)?, cta.write::<i32>(1)?);
        (0..x.len()).for_each(|i| y.set(i, x.get(i)));
        Ok(())
    })
}

/// Writes all of its argument.
fn fill() -> Kernel {
    Kernel::new("fill").value("with").write("x").body(|cta| {
        let (with, x) = (cta.value::<i32>(0)?, cta.write::<i32>(1)?);
        (0..x.len()).for_each(|i| x.set(i, with));
        Ok(())
    })
}

#[test]
fn what_overwrites_a_buffer_waits_for_no_reader_where_memory_is_renamed() {
    let go = Arc::new(AtomicU32::new(0));
    let builder = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(4096).record(true);
    let mut rt = builder.build().unwrap();
    let (held_up, fill) = (rt.register(held_up(&go)).unwrap(), rt.register(fill()).unwrap());
    let (x, y, z) =
        (rt.buffer_from(&[1; 256]).unwrap(), rt.buffer::<i32>(256).unwrap(), rt.buffer::<i32>(256).unwrap());
    let reader = rt.launch(held_up, 1, 1, args![x, y]).unwrap();
    // Would wait for the reader for ever: WAR; and the next for the one before: WAW.
    for value in [2, 3] {
        let writer = rt.launch(fill, 1, 1, args![value, x]).unwrap();
        rt.wait(writer).unwrap();
    }
    assert_eq!(rt.read(x).unwrap(), [3; 256], "the new value");
    rt.write(x, &[4; 256]).unwrap();
    assert_eq!(
        rt.read(x.slice(7..9)).unwrap(),
        [4; 2],
        "what the host overwrites as a whole is renamed, too, or not in use"
    );
    go.store(1, Ordering::Release);
    rt.wait(reader).unwrap();
    let why = rt.recording().unwrap().explain(Ticket(1)).unwrap();
    assert!(why.upstream[0].renamed && !why.upstream[0].violated, "{}", why.text(None));
    assert_eq!(rt.read(y).unwrap(), [1; 256], "the value that there was when it was launched");
    // Memory that has no users serves again: as many versions as one likes.
    for round in 0..100 {
        go.store(0, Ordering::Release);
        let reader = rt.launch(held_up, 1, 1, args![x, z]).unwrap();
        let writer = rt.launch(fill, 1, 1, args![round, x]).unwrap();
        rt.wait(writer).unwrap();
        go.store(1, Ordering::Release);
        rt.wait(reader).unwrap();
        assert_eq!(rt.read(z).unwrap(), [if round == 0 { 4 } else { round - 1 }; 256]);
    }
    // More where a read of the application's has not quite ended when the next launch overwrites what it read.
    let Renamed { versions, refused, peak_bytes } = rt.renamed();
    assert!(versions > 100 && refused == 0 && peak_bytes <= 4096, "{:?}", rt.renamed());
    rt.release(x).unwrap();
    assert_eq!(rt.read(x), Err(Error::UnknownBuffer));
    rt.synchronize().unwrap();
}

#[test]
fn without_budget_or_where_a_part_is_written_or_read_too_the_hazard_stands() {
    for (rename, part, reads, refused) in [(1023, 256, false, 1), (4096, 255, false, 0), (4096, 256, true, 0)]
    {
        let go = Arc::new(AtomicU32::new(0));
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(rename).build().unwrap();
        let held_up = rt.register(held_up(&go)).unwrap();
        let seen = go.clone();
        let write = Kernel::new("write").read("r").write("x").body(move |cta| {
            if seen.load(Ordering::Acquire) == 0 {
                return Err("it did not wait".into());
            }
            cta.write::<i32>(1).map(|_| ())?;
            Ok(())
        });
        let write = rt.register(write).unwrap();
        let (x, y, z) = (
            rt.buffer_from(&[1; 256]).unwrap(),
            rt.buffer::<i32>(256).unwrap(),
            rt.buffer::<i32>(1).unwrap(),
        );
        rt.launch(held_up, 1, 1, args![x, y]).unwrap();
        let r = if reads { x.slice(0..1) } else { z.into() };
        rt.launch(write, 1, 1, args![r, x.slice(0..part)]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        go.store(1, Ordering::Release);
        rt.synchronize().unwrap_or_else(|e| panic!("{rename} bytes, {part} elements, reads {reads}: {e}"));
        assert_eq!(rt.renamed(), Renamed { versions: 0, refused, peak_bytes: 0 });
        assert_eq!(rt.read(y).unwrap(), [1; 256]);
    }
}

#[test]
fn a_failure_spoils_the_version_that_it_was_to_write_and_no_other() {
    let go = Arc::new(AtomicU32::new(0));
    let builder = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(u64::MAX);
    let mut rt = builder.build().unwrap();
    let (held_up, fill) = (rt.register(held_up(&go)).unwrap(), rt.register(fill()).unwrap());
    let fails = rt.register(Kernel::new("fails").write("x").body(|_| Err("no".into()))).unwrap();
    let (x, y) = (rt.buffer_from(&[1; 16]).unwrap(), rt.buffer::<i32>(16).unwrap());
    rt.launch(held_up, 1, 1, args![x, y]).unwrap();
    let failed = rt.launch(fails, 1, 1, args![x]).unwrap();
    assert!(rt.wait(failed).is_err());
    assert!(matches!(rt.read(x), Err(Error::Poisoned(failure)) if failure.ticket == failed));
    let healed = rt.launch(fill, 1, 1, args![5, x]).unwrap();
    rt.wait(healed).unwrap();
    assert_eq!(rt.read(x).unwrap(), [5; 16]);
    go.store(1, Ordering::Release);
    assert_eq!(rt.read(y).unwrap(), [1; 16]);
    assert_eq!(failures(rt.synchronize()).len(), 1);
}

#[test]
fn independent_kernels_run_at_the_same_time_and_ctas_too() {
    let mut rt = Runtime::builder().executor(Cpu::new(4).unwrap()).build().unwrap();
    // Each CTA waits until the other kernel's CTAs are there too: one after another they would wait for ever.
    let barrier = Arc::new(Barrier::new(4));
    let meet = rt.register(Kernel::new("meet").write("out").body(move |cta| {
        barrier.wait();
        cta.write::<u64>(0)?.set(cta.index() as usize, cta.index() + 1);
        Ok(())
    }));
    let meet = meet.unwrap();
    let (a, b) = (rt.buffer::<u64>(2).unwrap(), rt.buffer::<u64>(2).unwrap());
    rt.launch(meet, 2, 1, args![a]).unwrap();
    rt.launch(meet, 2, 1, args![b]).unwrap();
    rt.synchronize().unwrap();
    assert_eq!((rt.read(a).unwrap(), rt.read(b).unwrap()), (vec![1, 2], vec![1, 2]));
    // Halves of one buffer are as good as two.
    let both = rt.buffer::<u64>(4).unwrap();
    rt.launch(meet, 2, 1, args![both.slice(0..2)]).unwrap();
    rt.launch(meet, 2, 1, args![both.slice(2..4)]).unwrap();
    assert_eq!(rt.read(both).unwrap(), [1, 2, 1, 2]);
}

#[test]
fn slices_are_the_elements_that_get_and_set_have() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let triple = Kernel::new("triple").read("x").read_write("y").body(|cta| {
        let (x, y) = (cta.read::<i16>(0)?, cta.read_write::<i16>(1)?);
        // SAFETY: each CTA has its own elements of `y`, and nobody writes `x`.
        let (from, to) = unsafe { (x.as_slice(cta.threads()), y.as_mut_slice(cta.threads())) };
        to.iter_mut().zip(from).for_each(|(to, from)| *to += 2 * from);
        y.set(cta.threads().start, y.get(cta.threads().start) + x.get(cta.threads().start));
        Ok(())
    });
    let triple = rt.register(triple).unwrap();
    let (x, y) = (rt.buffer_from(&[1, 2, 3, 4, 5, 6, 7, 8i16]).unwrap(), rt.buffer::<i16>(8).unwrap());
    rt.launch(triple, 3, 2, args![x.slice(1..7), y.slice(2..8)]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [0, 0, 6, 6, 12, 10, 18, 14]);
}

#[test]
fn what_is_written_is_read_whatever_its_elements_are() {
    fn same<T: Element>(values: &[T]) {
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
        let x = rt.buffer_from(values).unwrap();
        assert_eq!(rt.read(x).unwrap(), values);
        let mut some = [T::default(); 2];
        rt.read_into(x.slice(1..3), &mut some).unwrap();
        assert_eq!(some, values[1..3]);
        let error = rt.read_into(x, &mut some).unwrap_err().to_string();
        assert!(error.contains("give as many elements as the view has"), "{error}");
    }
    same(&[1u8, 2, 255]);
    same(&[1i8, -2, i8::MIN]);
    same(&[1u16, 0x1234, u16::MAX, 7]);
    same(&[1i16, -2, i16::MIN]);
    same(&[1u32, 0x1234_5678, u32::MAX]);
    same(&[1i32, -2, i32::MIN]);
    same(&[1u64, 0x1234_5678_9ABC_DEF0, u64::MAX]);
    same(&[1i64, -2, i64::MIN]);
    same(&[1.5f32, -0.1, f32::MAX]);
    same(&[1.5f64, -0.1, f64::MAX]);
}

#[test]
fn a_body_may_share_its_views_between_threads() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).check(true).build().unwrap();
    let double = Kernel::new("double").read("x").write("y").body(|cta| {
        let (x, y) = (cta.read::<u16>(0)?, cta.write::<u16>(1)?);
        std::thread::scope(|scope| {
            for first in [0, 1] {
                let (x, y) = (&x, &y);
                scope.spawn(move || (first..y.len()).step_by(2).for_each(|i| y.set(i, 2 * x.get(i))));
            }
        });
        Ok(())
    });
    let double = rt.register(double).unwrap();
    let (x, y) = (rt.buffer_from(&[1u16, 2, 3, 4, 5]).unwrap(), rt.buffer::<u16>(5).unwrap());
    rt.launch(double, 1, 1, args![x, y]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [2, 4, 6, 8, 10]);
    assert_eq!(rt.findings(), []);
}

#[test]
fn ctas_have_their_place_in_the_grid() {
    let mut rt = Runtime::builder().build().unwrap();
    let place = Kernel::new("place").write("out").body(|cta| {
        let ([x, y, z], [gx, gy, _]) = (cta.id(), cta.grid());
        let out = cta.write::<u32>(0)?;
        assert_eq!(cta.threads(), cta.index() as usize * 6..(cta.index() as usize + 1) * 6);
        out.set(((z * gy + y) * gx + x) as usize, x * 100 + y * 10 + z);
        Ok(())
    });
    let place = rt.register(place).unwrap();
    let out = rt.buffer::<u32>(24).unwrap();
    rt.launch(place, (4, 3, 2), [3, 2, 1], args![out]).unwrap();
    let expected: Vec<u32> = (0..24).map(|i| i % 4 * 100 + i / 4 % 3 * 10 + i / 12).collect();
    assert_eq!(rt.read(out).unwrap(), expected);
}

/// Adds 1 to each element; fails where the first is `fails`, panics where it is `panics`.
fn increment() -> Kernel {
    Kernel::new("increment").read("from").write("to").body(|cta| {
        let (from, to) = (cta.read::<i32>(0)?, cta.write::<i32>(1)?);
        match from.get(0) {
            -1 => return Err("minus one".into()),
            -2 => panic!("minus two"),
            -3 => _ = from.get(from.len()),
            _ => {}
        }
        (0..to.len()).for_each(|i| to.set(i, from.get(i) + 1));
        Ok(())
    })
}

fn failures(result: Result<(), Error>) -> Vec<Failure> {
    match result {
        Err(Error::Failed(failures)) => failures.first,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_kernel_poisons_its_dependents_and_nothing_else() {
    for (first, text) in
        [(-1, "minus one"), (-2, "panicked: minus two"), (-3, "panicked: element 4 of an argument of 4")]
    {
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
        let increment = rt.register(increment()).unwrap();
        let [bad, good] = [first, 5].map(|v| rt.buffer_from(&[v; 4]).unwrap());
        let [b, c, d, e, f] = [(); 5].map(|()| rt.buffer::<i32>(4).unwrap());
        let fails = rt.launch(increment, 1, 1, args![bad, b]).unwrap();
        let reads = rt.launch(increment, 1, 1, args![b, c]).unwrap();
        let fine = rt.launch(increment, 1, 1, args![good, d]).unwrap();
        let chain = rt.launch(increment, 1, 1, args![c, e]).unwrap();
        // Overwrites what was poisoned, and has nothing to do with the failure.
        let anew = rt.launch(increment, 1, 1, args![d, c]).unwrap();
        rt.launch(increment, 1, 1, args![c, f]).unwrap();
        assert_eq!([fails, reads, fine, chain, anew].map(|t| t.0), [0, 1, 2, 3, 4]);
        let failures = failures(rt.synchronize());
        let found: Vec<_> = failures.iter().map(|f| (f.ticket, f.cause.to_string())).collect();
        let not_run = "not run: it reads what launch 0 (increment) should have written".to_string();
        assert_eq!(found, [(fails, text.into()), (reads, not_run.clone()), (chain, not_run)]);
        assert_eq!(rt.synchronize(), Ok(()), "each failure is told once");
        assert_eq!(rt.read(f).unwrap(), [8; 4]);
        for poisoned in [b, e] {
            let error = rt.read(poisoned).unwrap_err();
            assert!(matches!(&error, Error::Poisoned(by) if by.ticket == fails), "{error}");
            let root = format!("launch 0 (increment): {text}");
            assert!(error.to_string().contains(&root), "{error}");
        }
        // A later launch still knows, until the bytes are written anew.
        rt.launch(increment, 1, 1, args![e, f]).unwrap();
        assert!(rt.synchronize().is_err());
        rt.write(e, &[1, 2, 3, 4]).unwrap();
        rt.launch(increment, 1, 1, args![e, f]).unwrap();
        assert_eq!(rt.read(f).unwrap(), [2, 3, 4, 5]);
        assert_eq!(rt.synchronize(), Ok(()));
    }
}

#[test]
fn a_failed_kernel_ends_at_once_however_many_ctas_it_has() {
    let (failures, ran) = in_time(|| {
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
        let ran = Arc::new(AtomicU64::new(0));
        let count = ran.clone();
        let fails = Kernel::new("fails").body(move |cta| {
            count.fetch_add(1, Ordering::Relaxed);
            if cta.index() >= 10 { Err("ten".into()) } else { Ok(()) }
        });
        let fails = rt.register(fails).unwrap();
        for _ in 0..20 {
            rt.launch(fails, (1 << 31, 1 << 31), 1, args![]).unwrap();
        }
        (failures(rt.synchronize()), ran.load(Ordering::Relaxed))
    });
    assert_eq!(failures.len(), 20);
    assert!((20 * 11..20 * 13).contains(&ran), "{ran}");
}

#[test]
fn poison_is_exact_on_bytes() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let (bad, all, out) =
        (rt.buffer_from(&[-1; 4]).unwrap(), rt.buffer_from(&[7; 12]).unwrap(), rt.buffer::<i32>(4).unwrap());
    rt.launch(increment, 1, 1, args![bad, all.slice(4..8)]).unwrap();
    assert!(rt.synchronize().is_err());
    rt.launch(increment, 1, 1, args![all.slice(0..4), out]).unwrap();
    rt.launch(increment, 1, 1, args![all.slice(8..12), out]).unwrap();
    rt.synchronize().unwrap();
    rt.launch(increment, 1, 1, args![all.slice(1..5), out]).unwrap();
    assert!(rt.synchronize().is_err());
    rt.write(all.slice(4..6), &[1, 1]).unwrap();
    assert_eq!(rt.read(all.slice(0..6)).unwrap(), [7, 7, 7, 7, 1, 1]);
    assert!(rt.read(all.slice(5..7)).is_err());
}

#[test]
fn many_failures_do_not_slow_each_other() {
    const N: usize = 200_000;
    in_time(|| {
        // Without a body: `Cpu` fails it at once.
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
        let write = rt.register(Kernel::new("write").write("x")).unwrap();
        let x = rt.buffer::<u8>(2 * N).unwrap();
        for i in 0..N {
            rt.launch(write, 1, 1, args![x.slice(2 * i..2 * i + 1)]).unwrap();
        }
        assert!(rt.synchronize().is_err());
        assert!(rt.read(x.slice(N..N + 1)).is_err());
        assert_eq!(rt.read(x.slice(N + 1..N + 2)).unwrap(), [0]);
    });
}

#[test]
fn of_very_many_failures_the_first_are_kept_and_the_rest_counted() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let [none, fine] = ["none", "fine"].map(Kernel::new);
    let (none, fine) = (rt.register(none).unwrap(), rt.register(fine.body(|_| Ok(()))).unwrap());
    let last = (0..1003).map(|_| rt.launch(none, 1, 1, args![]).unwrap()).last().unwrap();
    assert_eq!(rt.wait(last), Err(Error::CauseNotKept { ticket: 1002 }));
    assert_eq!(failures(rt.wait(Ticket(999))).len(), 1);
    let error = rt.synchronize().unwrap_err();
    assert!(error.to_string().starts_with("1003 kernels failed: launch 0 (none): "), "{error}");
    assert!(error.to_string().ends_with("; and 998 more"), "{error}");
    let Error::Failed(Failures { first, more }) = error else { panic!("{error}") };
    assert_eq!((first.len(), more), (Failures::MOST, 3));
    let fine = rt.launch(fine, 1, 1, args![]).unwrap();
    assert_eq!((rt.wait(fine), rt.synchronize()), (Ok(()), Ok(())));
}

#[test]
fn the_highest_priority_starts_first_then_the_oldest() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    let order = Arc::new(Mutex::new(Vec::new()));
    let wait = rt.register(Kernel::new("wait").body(move |_| Ok(gate.lock().unwrap().recv()?))).unwrap();
    let note = {
        let order = order.clone();
        Kernel::new("note").value("number").body(move |cta| {
            order.lock().unwrap().push(cta.value::<u8>(0)?);
            Ok(())
        })
    };
    let note = rt.register(note).unwrap();
    rt.launch(wait, 1, 1, args![]).unwrap();
    for (number, priority) in [(0u8, 0), (1, 5), (2, -3), (3, 5), (4, 0)] {
        rt.launch_with(note, 1, 1, args![number], Options::new().priority(priority)).unwrap();
    }
    // Nothing else tells that they are in the window: a kernel runs, and the scheduler has time.
    std::thread::sleep(Duration::from_millis(200));
    open.send(()).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 3, 0, 4, 2]);
}

#[test]
fn a_short_queue_does_not_hold_up_a_wide_window() {
    let mut rt = Runtime::builder().window(64).queue(2).executor(Cpu::new(1).unwrap()).build().unwrap();
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    let wait = rt.register(Kernel::new("wait").body(move |_| Ok(gate.lock().unwrap().recv()?))).unwrap();
    // None ends before all are launched: a launch that waited for an end would wait for ever.
    for _ in 0..40 {
        rt.launch(wait, 1, 1, args![]).unwrap();
    }
    (0..40).for_each(|_| open.send(()).unwrap());
    rt.synchronize().unwrap();
}

#[test]
fn callbacks_tell_what_became_of_each_launch() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let (a, b, c) =
        (rt.buffer_from(&[-1]).unwrap(), rt.buffer::<i32>(1).unwrap(), rt.buffer::<i32>(1).unwrap());
    let (tell, told) = channel();
    for (number, (from, to)) in [(a, b), (b, c), (c, a), (a, a)].into_iter().enumerate() {
        let tell = tell.clone();
        let options = Options::new().on_done(move |result| {
            tell.send((number, result.map_err(|f| f.cause))).unwrap();
            assert!(number != 3, "a callback that panics harms nobody");
        });
        rt.launch_with(increment, 1, 1, args![from, to], options).unwrap();
    }
    assert!(rt.synchronize().is_err());
    drop(tell);
    let mut told: Vec<_> = told.iter().collect();
    told.sort_by_key(|(number, _)| *number);
    let poisoned = || Err(Cause::Poisoned { by: Ticket(0), name: "increment".into() });
    assert_eq!(
        told,
        [(0, Err(Cause::Returned("minus one".into()))), (1, poisoned()), (2, poisoned()), (3, poisoned())]
    );
    rt.write(a, &[4]).unwrap();
    assert_eq!(rt.read(a).unwrap(), [4]);
}

#[test]
fn a_launch_can_be_waited_for_without_the_runtime() {
    in_time(|| {
        let rt = Runtime::builder().window(4).executor(Cpu::new(2).unwrap()).build().unwrap();
        let rt = Arc::new(Mutex::new(rt));
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let (held, adds, after, before, a) = {
            let mut rt = rt.lock().unwrap();
            let held =
                rt.register(Kernel::new("held").body(move |_| Ok(gate.lock().unwrap().recv()?))).unwrap();
            let adds = rt.register(increment()).unwrap();
            let a = rt.buffer_from(&[-1]).unwrap();
            let (options, after) = Options::new().waiter();
            rt.launch_with(held, 1, 1, args![], options).unwrap();
            (held, adds, after, channel(), a)
        };
        assert_eq!(after.wait_timeout(Duration::from_millis(1)), Ok(false), "it is held up");
        // Other threads wait; this one launches meanwhile.
        let others = [(); 2].map(|()| {
            let after = after.clone();
            std::thread::spawn(move || after.wait())
        });
        let (tell, told) = before;
        let options = Options::new().on_done(move |result| {
            tell.send(result.is_err()).unwrap();
            panic!("a callback that panics keeps nobody waiting");
        });
        let (options, fails) = options.waiter();
        rt.lock().unwrap().launch_with(adds, 1, 1, args![a, a], options).unwrap();
        let failed = fails.wait_timeout(Duration::from_secs(60)).unwrap_err();
        assert!(
            matches!(&failed, Error::Failed(f) if f.first[0].cause == Cause::Returned("minus one".into())),
            "{failed}"
        );
        assert_eq!(told.try_recv(), Ok(true), "the callback that was given before came first");
        assert_eq!(fails.wait(), Err(failed), "it tells it again");
        assert!(others.iter().all(|other| !other.is_finished()) && !after.is_done());
        open.send(()).unwrap();
        assert_eq!(others.map(|other| other.join().unwrap()), [Ok(()), Ok(())]);
        assert!(after.is_done());
        // Of a launch that is refused nothing will come.
        let (options, refused) = Options::new().waiter();
        assert!(rt.lock().unwrap().launch_with(held, 0, 0, args![a], options).is_err());
        assert_eq!(refused.wait(), Err(Error::Refused));
        assert!(refused.is_done());
        assert!(rt.lock().unwrap().synchronize().is_err());
    });
}

#[test]
fn a_waiter_is_told_whatever_else_a_launch_is_given() {
    in_time(|| {
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
        let adds = rt.register(increment()).unwrap();
        let a = rt.buffer::<i32>(1).unwrap();
        let (called, calls) = channel();
        let (options, first) = Options::new().waiter();
        let (options, second) = options.on_done(move |_| called.send(()).unwrap()).priority(1).waiter();
        rt.launch_with(adds, 1, 1, args![a, a], options).unwrap();
        assert_eq!((first.wait(), second.wait(), calls.try_recv()), (Ok(()), Ok(()), Ok(())));
        for _ in 0..1000 {
            let (options, done) = Options::new().waiter();
            let ticket = rt.launch_with(adds, 1, 1, args![a, a], options).unwrap();
            done.wait().unwrap();
            assert_eq!(rt.is_done(ticket), Ok(true), "launch {}", ticket.0);
        }
        drop(rt);
        assert_eq!(first.wait(), Ok(()), "also without its runtime");
    });
}

#[test]
fn a_waiter_in_a_callback_or_a_body_of_its_runtime_is_told_so() {
    in_time(|| {
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
        let (late_options, late) = Options::new().waiter();
        let (tell, told) = channel();
        let (from_body, waits) = (tell.clone(), late.clone());
        let body = rt.register(Kernel::new("body").body(move |_| Ok(from_body.send(waits.wait())?))).unwrap();
        let (options, ended) = Options::new().waiter();
        let again = late.clone();
        let options = options.on_done(move |_| {
            tell.send(again.wait_timeout(Duration::from_secs(60)).map(|_| ())).unwrap();
        });
        rt.launch_with(body, 1, 1, args![], options).unwrap();
        // The body waits already, perhaps, and for a launch that is still to come.
        rt.launch_with(body, 1, 1, args![], late_options).unwrap();
        assert_eq!(rt.synchronize(), Ok(()));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), vec![Err(Error::Reentrant); 3]);
        assert_eq!((ended.wait(), late.wait()), (Ok(()), Ok(())));
        // What has ended is no wait; and threads of another runtime are not this one's.
        let mut other = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
        let waits = ended.clone();
        let ends = other.register(Kernel::new("ends").body(move |_| Ok(waits.wait()?))).unwrap();
        other.launch(ends, 1, 1, args![]).unwrap();
        assert_eq!(other.synchronize(), Ok(()));
    });
}

#[test]
fn a_fence_waits_for_what_came_before_and_for_nothing_else() {
    in_time(|| {
        for policy in [Policy::Window, Policy::Serial] {
            let mut rt = Runtime::builder().policy(policy).executor(Cpu::new(3).unwrap()).build().unwrap();
            let nothing = rt.fence().unwrap();
            assert_eq!(nothing.wait(), Ok(()), "there was nothing");
            let (open, gate) = channel();
            let gate = Mutex::new(gate);
            let held =
                rt.register(Kernel::new("held").body(move |_| Ok(gate.lock().unwrap().recv()?))).unwrap();
            let increment = rt.register(increment()).unwrap();
            let [good, bad, sum] = [1, -1, 0].map(|v| rt.buffer_from(&[v]).unwrap());
            rt.launch(increment, 1, 1, args![good, sum]).unwrap();
            let (options, first) = Options::new().waiter();
            rt.launch_with(held, 1, 1, args![], options).unwrap();
            let before = rt.fence().unwrap();
            let (options, second) = Options::new().waiter();
            rt.launch_with(held, 1, 1, args![], options).unwrap();
            let after = rt.fence().unwrap();
            assert_eq!(before.wait_timeout(Duration::from_millis(5)), Ok(false), "one is held");
            let others = [(); 2].map(|()| {
                let before = before.clone();
                std::thread::spawn(move || before.wait())
            });
            // Which of the two goes on is chance, where they run side by side.
            open.send(()).unwrap();
            if policy == Policy::Serial {
                assert_eq!(others.map(|other| other.join().unwrap()), [Ok(()), Ok(())]);
                assert!(first.is_done() && !after.is_done() && !second.is_done());
                open.send(()).unwrap();
            } else {
                open.send(()).unwrap();
                assert_eq!(others.map(|other| other.join().unwrap()), [Ok(()), Ok(())]);
                assert!(first.is_done());
            }
            assert_eq!(after.wait(), Ok(()));
            assert!(second.is_done());
            // A failure is told, and kept for the synchronisation.
            rt.launch(increment, 1, 1, args![bad, sum]).unwrap();
            let fails = rt.fence().unwrap();
            let told = failures(fails.wait());
            assert_eq!(told[0].cause, Cause::Returned("minus one".into()));
            assert_eq!(failures(rt.synchronize()), told);
            assert_eq!(rt.fence().unwrap().wait(), Ok(()));
            // Also of a runtime that is dropped meanwhile.
            rt.launch(held, 1, 1, args![]).unwrap();
            let last = rt.fence().unwrap();
            open.send(()).unwrap();
            drop(rt);
            assert_eq!(last.wait(), Ok(()));
        }
    });
}

#[test]
fn one_launch_can_be_waited_for_while_others_run() {
    in_time(|| {
        let mut rt = Runtime::builder().window(4).executor(Cpu::new(2).unwrap()).build().unwrap();
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let held = rt.register(Kernel::new("held").body(move |_| Ok(gate.lock().unwrap().recv()?))).unwrap();
        let increment = rt.register(increment()).unwrap();
        let [good, bad] = [1, -1].map(|v| rt.buffer_from(&[v]).unwrap());
        let [b, c] = [(); 2].map(|()| rt.buffer::<i32>(1).unwrap());
        let held = rt.launch(held, 1, 1, args![]).unwrap();
        let fine = rt.launch(increment, 1, 1, args![good, b]).unwrap();
        let fails = rt.launch(increment, 1, 1, args![bad, c]).unwrap();
        // More than the window holds: those that are waited for are long over when the last ones come in.
        let later: Vec<_> = (0..100).map(|_| rt.launch(increment, 1, 1, args![good, b]).unwrap()).collect();
        assert_eq!(rt.wait(fine), Ok(()));
        let failure =
            Failure { ticket: fails, kernel: "increment".into(), cause: Cause::Returned("minus one".into()) };
        for _ in 0..2 {
            let found = failures(rt.wait(fails));
            assert_eq!(found, std::slice::from_ref(&failure));
        }
        // One whose CTA comes after the one that is held, and one before it.
        assert_eq!(rt.wait(later[99]), Ok(()));
        assert_eq!(rt.wait(later[0]), Ok(()));
        let none = Ticket(103);
        assert_eq!(rt.wait(none), Err(Error::NotLaunched { ticket: 103, launched: 103 }));
        open.send(()).unwrap();
        assert_eq!(rt.wait(held), Ok(()));
        assert_eq!(failures(rt.synchronize()), [failure], "synchronisation tells it too");
        assert_eq!(rt.wait(fails), Err(Error::CauseNotKept { ticket: fails.0 }), "and keeps it no longer");
    });
}

#[test]
fn a_wait_ends_however_threads_meet() {
    let seed = seed();
    in_time(move || {
        let mut rt = Runtime::builder().window(8).executor(Immediate).build().unwrap();
        let mut threads = Runtime::builder().window(8).executor(Cpu::new(2).unwrap()).build().unwrap();
        let rng = &mut Rng(seed);
        for (rt, rounds) in [(&mut rt, 20_000), (&mut threads, 4_000)] {
            let kernel = rt.register(Kernel::new("nothing").body(|_| Ok(()))).unwrap();
            for _ in 0..rounds {
                let last =
                    (0..=rng.below(4)).map(|_| rt.launch(kernel, 1, 1, args![]).unwrap()).last().unwrap();
                rt.wait(Ticket(last.0 - rng.below(last.0.min(5) + 1))).unwrap();
            }
            rt.synchronize().unwrap();
        }
    });
}

#[test]
fn what_is_wrong_with_a_launch_is_said_at_once_and_nothing_happens() {
    let mut rt = Runtime::builder().build().unwrap();
    let mut other = Runtime::builder().build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let value = rt.register(Kernel::new("value").value("v").read("x")).unwrap();
    let closure = |first: u64, last: u64| {
        Kernel::new("closure").read("x").write("y").access(move |launch, accesses| {
            accesses.read(0, 0..launch.bytes(0));
            accesses.write(1, first..last);
        })
    };
    let [late, fine] = [closure(4, 20), closure(4, 16)].map(|k| rt.register(k).unwrap());
    let wrong = Kernel::new("wrong").read("x").access(|_, accesses| accesses.write(0, 0..4));
    let wrong = rt.register(wrong).unwrap();
    let many =
        Kernel::new("many").read("x").access(|_, accesses| (0..300).for_each(|_| accesses.read(0, 1..2)));
    let many = rt.register(many).unwrap();
    let (a, b) = (rt.buffer_from(&[1, 2, 3, 4]).unwrap(), rt.buffer::<i32>(4).unwrap());
    let gone = rt.buffer::<i32>(4).unwrap();
    rt.release(gone).unwrap();
    let foreign = other.buffer::<i32>(4).unwrap();
    let foreign_kernel = other.register(self::increment()).unwrap();
    let mut text =
        |kernel: Registered, grid: u32, args: &[_]| rt.launch(kernel, grid, 1, args).unwrap_err().to_string();
    for (found, expected) in [
        (text(foreign_kernel, 1, args![a, b]), "not registered with this runtime"),
        (text(increment, 1, args![a]), "kernel increment takes 2 arguments, and was given 1"),
        (text(increment, 1, args![a, 3]), "argument 1 (to) of kernel increment is to be a buffer"),
        (text(value, 1, args![a, b]), "argument 0 (v) of kernel value is to be a value"),
        (text(increment, 0, args![a, b]), "a grid of [0, 1, 1] CTAs"),
        (text(increment, 1, args![a, gone]), "not of this runtime, or was released"),
        (text(increment, 1, args![foreign, b]), "not of this runtime, or was released"),
        (
            text(increment, 1, args![a.slice(2..5), b]),
            "12 bytes from offset 8 are past the end of a buffer of 16 bytes (argument 0 (from) of kernel increment)",
        ),
        #[expect(clippy::reversed_empty_ranges, reason = "that is the error")]
        (text(increment, 1, args![a.slice(3..1), b]), "a range that ends before it begins"),
        (
            text(late, 1, args![a, b]),
            "16 bytes from offset 4 are past the end of a buffer of 16 bytes (argument 1 of kernel closure, as",
        ),
        (
            text(wrong, 1, args![a]),
            "kernel wrong declares a write of argument 0, and its parameter there is a read buffer",
        ),
        (text(many, 1, args![a]), "kernel many reads, or writes, more than 255 ranges"),
    ] {
        assert!(found.contains(expected), "{found}\nwithout {expected}");
    }
    assert_eq!(rt.launch(fine, 1, 1, args![a, b]), Ok(Ticket(0)), "the refused ones have no number");
    assert!(failures(rt.synchronize())[0].cause.to_string().contains("no body for the CPU"));
    assert!(rt.buffer::<u8>(0).unwrap_err().to_string().contains("a buffer of 0 elements of u8"));
    assert!(matches!(rt.buffer::<u8>(1 << 52), Err(Error::OutOfMemory { .. })));
    assert!(rt.write(a, &[1]).unwrap_err().to_string().contains("as many elements"));
    for (window, text) in [(3, "a window of 3 kernels; choose 4 to 4096"), (4097, "choose 4 to 4096")] {
        assert!(Runtime::builder().window(window).build().unwrap_err().to_string().contains(text));
    }
    assert!(Runtime::builder().queue(0).build().unwrap_err().to_string().contains("choose 1 to"));
}

#[test]
fn a_body_that_takes_an_argument_for_another_fails_with_a_remedy() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let mut fails = |kernel: Kernel| {
        let kernel = rt.register(kernel.read("x").value("v")).unwrap();
        let x = rt.buffer::<f32>(1).unwrap();
        rt.launch(kernel, 1, 1, args![x, 1.0f32]).unwrap();
        failures(rt.synchronize())[0].cause.to_string()
    };
    assert_eq!(
        fails(Kernel::new("a").body(|cta| Ok(cta.read::<f64>(0).map(|_| ())?))),
        "argument 0 is of f32, not of f64"
    );
    assert_eq!(
        fails(Kernel::new("b").body(|cta| Ok(cta.read::<f32>(1).map(|_| ())?))),
        "argument 1 is no buffer"
    );
    assert_eq!(
        fails(Kernel::new("c").body(|cta| Ok(cta.value::<f32>(2).map(|_| ())?))),
        "argument 2 is no value"
    );
    assert_eq!(
        fails(Kernel::new("d").body(|cta| Ok(cta.write::<f32>(0).map(|_| ())?))),
        "argument 0 (x) is declared as read, and the body asks for write; correct one of the two"
    );
}

/// Hands every token back twice, the second time when the next kernel may be in the same slot.
struct Stutters {
    inner: Cpu,
    completions: Option<Completions>,
    last: Option<Token>,
}

impl Executor for Stutters {
    fn name(&self) -> String {
        "stutters".into()
    }
    fn concurrency(&self) -> usize {
        self.inner.concurrency()
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        self.inner.allocator()
    }
    fn connect(&mut self, completions: Completions) {
        self.completions = Some(completions.clone());
        self.inner.connect(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        let before = self.last.replace(task.token());
        let started = self.inner.start(task);
        if let (Some(token), Some(completions)) = (before, &self.completions) {
            completions.complete(token, Err(Cause::Executor("once more".into())));
        }
        started
    }
}

#[test]
fn a_kernel_that_is_completed_twice_is_told_and_ends_nothing_else() {
    let executor = Stutters { inner: Cpu::new(2).unwrap(), completions: None, last: None };
    let mut rt = Runtime::builder().window(4).executor(executor).build().unwrap();
    let count = Kernel::new("count").read_write("x").body(|cta| {
        let x = cta.read_write::<u32>(0)?;
        x.set(0, x.get(0) + 1);
        Ok(())
    });
    let count = rt.register(count).unwrap();
    let x = rt.buffer_from(&[0u32]).unwrap();
    // Each waits for the one before it, so that a completion of another's would start one too early.
    for _ in 0..200 {
        rt.launch(count, 1, 1, args![x]).unwrap();
    }
    let error = rt.synchronize().unwrap_err();
    assert!(matches!(error, Error::CompletedTwice { kernel } if kernel < 199), "{error}");
    rt.synchronize().unwrap();
    assert_eq!(rt.read(x).unwrap(), [200]);
}

/// A job of [`Behind`]: the token, what it comes after, its number, and memory, first byte and size of each view of `footprint`.
struct Job {
    token: Token,
    upstream: Vec<Token>,
    number: u32,
    views: Vec<(Arc<dyn Memory>, u64, u64)>,
    fails: bool,
}

impl Job {
    fn elements(&self, view: usize) -> Vec<u32> {
        let (memory, offset, bytes) = &self.views[view];
        let mut found = vec![0; *bytes as usize];
        memory.read(*offset, &mut found).unwrap();
        found.chunks_exact(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap())).collect()
    }

    fn set(&self, view: usize, element: usize, value: u32) {
        let (memory, offset, _) = &self.views[view];
        memory.write(offset + 4 * element as u64, &value.to_ne_bytes()).unwrap();
    }

    /// What the body of `footprint` does.
    fn run(&self) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|view| self.elements(view));
        let digest = a.iter().chain(&b).chain(&d).fold(self.number, |digest, value| mix(digest, *value));
        (0..c.len()).for_each(|i| self.set(2, i, mix(digest, i as u32)));
        (0..d.len()).step_by(2).for_each(|i| self.set(3, i, mix(digest, i as u32 + 1)));
    }
}

/// Takes kernels ahead, runs them one after another in any order that is allowed, and tells their ends in any order.
#[derive(Default)]
struct Behind {
    concurrency: usize,
    ahead: usize,
    seed: u64,
    jobs: Option<Sender<Job>>,
    given: HashSet<Token>,
    /// Nothing is run before this many kernels are there.
    at_once: usize,
    /// Kernels that were given before what they wait for had ended.
    taken: Arc<AtomicU64>,
}

impl Behind {
    fn give(&mut self, task: &Task<'_>, upstream: &[Token]) -> Started {
        if task.name() == "refused" {
            return Started::Ended(Err(Cause::Executor("no".into())));
        }
        let unknown = upstream.iter().find(|token| !self.given.contains(token));
        assert!(unknown.is_none(), "{unknown:?} was not given");
        self.given.insert(task.token());
        let views =
            (0..task.arguments()).filter(|n| task.value(*n).is_none()).map(|n| match task.buffer(n) {
                Some((memory, offset, bytes)) => (memory.clone(), offset, bytes),
                None => (Arc::new(HostMemory::new(0, ElementKind::U32).unwrap()) as Arc<dyn Memory>, 0, 0),
            });
        let job = Job {
            token: task.token(),
            upstream: upstream.to_vec(),
            number: task.value(0).map_or(0, |(bits, _)| bits as u32),
            views: views.collect(),
            fails: task.name() == "fails",
        };
        self.jobs.as_ref().unwrap().send(job).unwrap();
        Started::Running
    }
}

impl Executor for Behind {
    fn name(&self) -> String {
        "behind".into()
    }
    fn concurrency(&self) -> usize {
        self.concurrency
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(HostAllocator)
    }
    fn connect(&mut self, completions: Completions) {
        let (jobs, arrivals) = channel::<Job>();
        self.jobs = Some(jobs);
        let (mut rng, at_once) = (Rng(self.seed), self.at_once);
        std::thread::spawn(move || {
            let mut waiting: Vec<Job> = arrivals.iter().take(at_once).collect();
            let (mut ended, mut done) = (Vec::<Job>::new(), HashSet::new());
            loop {
                let idle = waiting.is_empty() && ended.is_empty();
                match if idle { arrivals.recv().ok() } else { arrivals.try_recv().ok() } {
                    Some(job) => waiting.push(job),
                    None if idle => return,
                    None => {}
                }
                let may = |job: &Job| job.upstream.iter().all(|token| done.contains(token));
                let ready: Vec<usize> = (0..waiting.len()).filter(|n| may(&waiting[*n])).collect();
                if !ready.is_empty() && rng.below(3) > 0 {
                    let job = waiting.swap_remove(ready[rng.below(ready.len() as u64) as usize]);
                    if !job.fails {
                        job.run();
                    }
                    done.insert(job.token);
                    ended.push(job);
                }
                if !ended.is_empty() && rng.below(3) == 0 {
                    let job = ended.swap_remove(rng.below(ended.len() as u64) as usize);
                    let result = if job.fails { Err(Cause::Executor("no".into())) } else { Ok(()) };
                    completions.complete(job.token, result);
                }
            }
        });
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        self.give(&task, &[])
    }
    fn ahead(&self) -> usize {
        self.ahead
    }
    fn start_behind(&mut self, task: Task<'_>, upstream: &[Token]) -> Started {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.give(&task, upstream)
    }
}

#[test]
fn kernels_that_are_given_ahead_make_the_memory_that_program_order_makes() {
    let seed = seed();
    let taken = Arc::new(AtomicU64::new(0));
    for round in 0..60 {
        let seed = seed.wrapping_add(round);
        let mut serial =
            Runtime::builder().policy(Policy::Serial).executor(Cpu::new(1).unwrap()).build().unwrap();
        let expected = program(&mut serial, seed, 120).unwrap();
        for (window, concurrency, ahead, rename) in
            [(4, 1, 1, 0), (32, 2, 5, u64::MAX), (32, 4, 256, 0), (1024, 1, 256, 0), (1024, 3, 2, u64::MAX)]
        {
            let executor = Behind { concurrency, ahead, seed, taken: taken.clone(), ..Behind::default() };
            let mut rt = Runtime::builder().window(window).rename(rename).executor(executor).build().unwrap();
            let found = program(&mut rt, seed, 120);
            let found =
                found.unwrap_or_else(|e| panic!("seed {seed}, window {window}: {e}; {:?}", rt.synchronize()));
            assert_eq!(found, expected, "seed {seed}, window {window}, {ahead} ahead, renaming {rename}");
        }
    }
    let taken = taken.load(Ordering::Relaxed);
    println!("{taken} of {} kernels ahead", 60 * 5 * 120);
    // Chance has some part in how many; about a third of all.
    assert!(taken > 60 * 5, "{taken}");
}

/// What reads what a failed kernel was to write has failed, whether it was given before or after; what overwrites it is sound.
#[test]
fn what_comes_after_a_kernel_that_fails_has_failed_though_it_was_given_ahead() {
    for (seed, name) in (0..40).flat_map(|seed| [(seed, "fails"), (seed, "refused")]) {
        let taken = Arc::new(AtomicU64::new(0));
        // The first kernel has not ended when the second, which waits for it, is given. One that is refused never arrives.
        let at_once = if name == "fails" { 2 } else { 0 };
        let executor =
            Behind { concurrency: 2, ahead: 64, seed, at_once, taken: taken.clone(), ..Behind::default() };
        let mut rt = Runtime::builder().executor(executor).build().unwrap();
        let sound = rt.register(footprint()).unwrap();
        let fails = Kernel::new(name).value("number").write("x").body(|_| Ok(()));
        let fails = rt.register(fails).unwrap();
        let [x, y, z] = [0; 3].map(|_| rt.buffer::<u32>(8).unwrap());
        let none = || x.slice(0..0);
        rt.launch(sound, 1, 1, args![1u32, none(), none(), x, none()]).unwrap();
        let failed = rt.launch(fails, 1, 1, args![0u32, x]).unwrap();
        let reader = rt.launch(sound, 1, 1, args![2u32, x, none(), y, none()]).unwrap();
        let second = rt.launch(sound, 1, 1, args![3u32, y, none(), none(), z]).unwrap();
        let healed = rt.launch(sound, 1, 1, args![4u32, none(), none(), x, none()]).unwrap();
        rt.wait(healed).unwrap();
        let found = rt.read(x).unwrap();
        assert_eq!(found, (0..8).map(|i| mix(4, i)).collect::<Vec<_>>());
        let failures = failures(rt.synchronize());
        let causes: Vec<_> = failures.iter().map(|f| (f.ticket, f.cause.clone())).collect();
        let poisoned = |ticket| (ticket, Cause::Poisoned { by: failed, name: name.into() });
        let wanted = [(failed, Cause::Executor("no".into())), poisoned(reader), poisoned(second)];
        assert_eq!(causes, wanted, "seed {seed}");
        assert!(matches!(rt.read(z), Err(Error::Poisoned(failure)) if failure.ticket == failed));
        assert!(taken.load(Ordering::Relaxed) >= at_once as u64 / 2, "seed {seed}");
    }
}

/// A schedule that is to be kept, or looked at, is one in which a kernel begins when what it waits for has ended.
#[test]
fn no_kernel_is_given_ahead_where_the_schedule_is_kept() {
    for (what, policy) in [("recorded", Policy::Window), ("serial", Policy::Serial)] {
        let taken = Arc::new(AtomicU64::new(0));
        let executor =
            Behind { concurrency: 4, ahead: 64, seed: 1, taken: taken.clone(), ..Behind::default() };
        let builder = Runtime::builder().policy(policy).record(what == "recorded").executor(executor);
        let mut rt = builder.build().unwrap();
        let kernel = rt.register(footprint()).unwrap();
        let x = rt.buffer::<u32>(8).unwrap();
        let none = || x.slice(0..0);
        for number in 0..50u32 {
            rt.launch(kernel, 1, 1, args![number, none(), none(), none(), x]).unwrap();
        }
        rt.synchronize().unwrap();
        assert_eq!(taken.load(Ordering::Relaxed), 0, "{what}");
    }
}

/// Does what `Cpu` does, except where a test asks for something else.
struct Odd {
    inner: Cpu,
    allocator: Arc<dyn Allocator>,
    before_start: fn(),
}

impl Odd {
    fn new(allocator: impl Allocator + 'static, before_start: fn()) -> Self {
        Self { inner: Cpu::new(2).unwrap(), allocator: Arc::new(allocator), before_start }
    }
}

impl Executor for Odd {
    fn name(&self) -> String {
        "odd".into()
    }
    fn concurrency(&self) -> usize {
        self.inner.concurrency()
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        self.allocator.clone()
    }
    fn connect(&mut self, completions: Completions) {
        self.inner.connect(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        (self.before_start)();
        self.inner.start(task)
    }
}

#[test]
fn a_panic_of_an_executor_is_its_kernels_failure() {
    let failures = in_time(|| {
        let mut rt =
            Runtime::builder().executor(Odd::new(HostAllocator, || panic!("no start"))).build().unwrap();
        let increment = rt.register(increment()).unwrap();
        let (a, b) = (rt.buffer::<i32>(1).unwrap(), rt.buffer::<i32>(1).unwrap());
        rt.launch(increment, 1, 1, args![a, b]).unwrap();
        assert!(matches!(rt.read(b), Err(Error::Poisoned(_))));
        failures(rt.synchronize())
    });
    assert_eq!(failures[0].cause, Cause::Panicked("no start".into()));
}

/// Gives memory of one element, or such as a test asks for.
struct Gives(fn() -> Arc<dyn Memory>);

impl Allocator for Gives {
    fn allocate(&self, _: usize, _: ElementKind) -> Result<Arc<dyn Memory>, String> {
        Ok(self.0())
    }
}

#[test]
fn memory_that_is_not_what_was_asked_for_is_not_touched() {
    for (gives, problem) in [
        (Gives(|| Arc::new(HostMemory::new(1, ElementKind::I32).unwrap())), "16 bytes"),
        (Gives(|| Arc::new(HostMemory::new(4096, ElementKind::U8).unwrap())), "u8"),
    ] {
        let mut rt = Runtime::builder().executor(Odd::new(gives, || {})).build().unwrap();
        let look =
            Kernel::new("look").read("x").body(|cta| cta.read::<i32>(0).map(|_| ()).map_err(Into::into));
        let look = rt.register(look).unwrap();
        let x = rt.buffer::<i32>(1000).unwrap();
        rt.launch(look, 1, 1, args![x]).unwrap();
        let failures = failures(rt.synchronize());
        let text = failures[0].cause.to_string();
        assert!(text.contains(problem), "{text}");
    }
}

/// Memory that fails wherever it can.
#[derive(Debug)]
struct Broken;

impl Memory for Broken {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), String> {
        Err("the device is on fire".into())
    }
    fn write(&self, _: u64, _: &[u8]) -> Result<(), String> {
        Err("the device is on fire".into())
    }
}

#[test]
fn a_device_that_fails_has_not_run_out_of_memory() {
    let executor = Odd::new(Gives(|| Arc::new(Broken)), || {});
    let mut rt = Runtime::builder().executor(executor).build().unwrap();
    let x = rt.buffer::<i32>(1).unwrap();
    for error in [rt.read(x).map(|_| ()).unwrap_err(), rt.write(x, &[1]).unwrap_err()] {
        assert!(error.to_string().contains("the device failed: the device is on fire"), "{error}");
    }
}

/// Memory that copies nothing.
#[derive(Debug)]
struct Lazy;

impl Memory for Lazy {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), String> {
        Ok(())
    }
    fn write(&self, _: u64, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// A device may have more memory than the host.
#[test]
fn more_than_the_host_has_is_not_read_and_ends_nothing() {
    let mut rt = Runtime::builder().executor(Odd::new(Gives(|| Arc::new(Lazy)), || {})).build().unwrap();
    // As much as the hazard engine takes: nearly all addresses of a process.
    let elements = 65_534usize << 28;
    let x = rt.buffer::<f64>(elements).unwrap();
    let bytes = elements as u64 * 8;
    let refused = rt.read(x).unwrap_err();
    assert!(matches!(refused, Error::OutOfMemory { bytes: b, .. } if b == bytes), "{refused}");
    assert_eq!(rt.read(x.slice(3..5)), Ok(vec![0.0; 2]), "the runtime goes on");
}

/// What memory of the application's own does not fill is not left as it was: nobody has written it.
#[test]
fn what_is_read_into_need_not_be_initialised() {
    let mut rt = Runtime::builder().executor(Odd::new(Gives(|| Arc::new(Lazy)), || {})).build().unwrap();
    let x = rt.buffer::<u32>(4).unwrap();
    let mut values = [const { MaybeUninit::uninit() }; 4];
    assert_eq!(rt.read_into_uninit(x, &mut values).unwrap(), [0; 4]);
    let refused = rt.read_into_uninit(x, &mut values[..3]);
    assert!(matches!(refused, Err(Error::Length { given: 12, view: 16 })), "{refused:?}");
}

/// What [`a_check_that_finds_no_memory_says_so`] runs.
#[test]
#[ignore = "the other runs it"]
fn checks_of_large_buffers() {
    let kernel = || Kernel::new("k").write_of::<u8>("x");
    let by_pointer = |cta: &Cta<'_>| Ok(_ = cta.write::<u8>(0)?.as_mut_ptr());
    // There is memory for a bit per byte and not for a copy; there is not even that.
    for (mib, text) in [(512, "no memory for 536870912 bytes"), (768, "no memory for 100663296 bytes")] {
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).check(true).build().unwrap();
        let k = rt.register(kernel().body(by_pointer)).unwrap();
        let x = rt.buffer::<u8>(mib << 20).unwrap();
        rt.launch(k, 1, 1, args![x]).unwrap();
        let cause = failures(rt.synchronize())[0].cause.to_string();
        assert!(cause.contains(text) && cause.contains("check with smaller buffers"), "{cause}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_check_that_finds_no_memory_says_so() {
    little_memory::with_little_memory(900 << 10, 2 << 20, "checks_of_large_buffers");
}

/// Panics wherever it can.
#[derive(Debug)]
struct Panics;

impl Memory for Panics {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), String> {
        panic!("no read")
    }
    fn write(&self, _: u64, _: &[u8]) -> Result<(), String> {
        panic!("no write")
    }
}

#[test]
fn a_panic_of_memory_or_its_allocator_is_an_error_and_the_runtime_ends() {
    let errors = in_time(|| {
        let build = |memory| Runtime::builder().executor(Odd::new(Gives(memory), || {})).build().unwrap();
        let mut rt = build(|| Arc::new(Panics));
        let x = rt.buffer::<i32>(2).unwrap();
        let mut none = build(|| panic!("no memory"));
        [rt.read(x).unwrap_err(), rt.write(x, &[1, 2]).unwrap_err(), none.buffer::<i32>(2).unwrap_err()]
    });
    let device = |reason: &str| Error::Device { bytes: 8, reason: reason.into() };
    let none = Error::OutOfMemory { bytes: 8, reason: "panicked: no memory".into() };
    assert_eq!(errors, [device("panicked: no read"), device("panicked: no write"), none]);
}

#[test]
fn a_buffer_in_a_released_ones_place_is_not_taken_for_it() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let slow = Kernel::new("slow").read_write("x").body(move |_| Ok(wait.lock().unwrap().recv()?));
    // Does not say that it reads b.
    let careless = Kernel::new("careless").read_write("x").read("b");
    let careless =
        careless.access(|launch, accesses| accesses.read_write(0, 0..launch.bytes(0))).body(|cta| {
            let (x, b) = (cta.read_write::<u8>(0)?, cta.read::<u8>(1)?);
            (0..b.len().min(1)).for_each(|i| x.set(i, b.get(i)));
            Ok(())
        });
    let (slow, careless) = (rt.register(slow).unwrap(), rt.register(careless).unwrap());
    let (x, y) = (rt.buffer::<u8>(16).unwrap(), rt.buffer::<u8>(16).unwrap());
    let b = rt.buffer_from(&[5u8; 1 << 20]).unwrap();
    rt.launch(slow, 1, 1, args![x]).unwrap();
    rt.launch(careless, 1, 1, args![x, b.slice(1 << 19..1 << 20)]).unwrap();
    rt.release(b).unwrap();
    // Comes after the release, which waits for nothing.
    rt.read(y).unwrap();
    let c = rt.buffer_from(&[7u8; 1 << 20]).unwrap();
    go.send(()).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(rt.read(x.slice(0..1)).unwrap(), [5], "what there was when it was launched");
    // An empty view needs no buffer.
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let slow = Kernel::new("slow").read_write("x").body(move |_| Ok(wait.lock().unwrap().recv()?));
    let slow = rt.register(slow).unwrap();
    rt.launch(slow, 1, 1, args![x]).unwrap();
    rt.launch(careless, 1, 1, args![x, c.slice(1 << 20..)]).unwrap();
    rt.release(c).unwrap();
    rt.read(y).unwrap();
    go.send(()).unwrap();
    rt.synchronize().unwrap();
}

#[test]
fn a_launch_that_accesses_nothing_of_an_argument_does_not_lose_it() {
    let counts = Kernel::new("counts").value("n").read("x").read_write("y");
    let counts = counts.access(|launch, accesses| {
        accesses.read(1, 0..4 * launch.value::<u64>(0).unwrap_or(0));
        accesses.read_write(2, 0..launch.bytes(2));
    });
    let counts = counts.body(|cta| {
        let (n, x, y) = (cta.value::<u64>(0)?, cta.read::<i32>(1)?, cta.read_write::<i32>(2)?);
        y.set(0, (0..n as usize).map(|i| x.get(i)).sum::<i32>() + x.len() as i32);
        Ok(())
    });
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(1 << 20).build().unwrap();
    let (first_gate, second_gate) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let first = rt.register(held_up(&first_gate)).unwrap();
    let (second, counts) = (rt.register(held_up(&second_gate)).unwrap(), rt.register(counts).unwrap());
    let [x, y, z, w] = [(); 4].map(|()| rt.buffer::<i32>(4).unwrap());
    rt.launch(first, 1, 1, args![z, y]).unwrap();
    rt.launch(counts, 1, 1, args![0u64, x, y]).unwrap();
    // Of x as it is now this is the last user that the hazards know.
    let last = rt.launch(second, 1, 1, args![x, w]).unwrap();
    rt.write(x, &[1; 4]).unwrap();
    second_gate.store(1, Ordering::Release);
    rt.wait(last).unwrap();
    first_gate.store(1, Ordering::Release);
    rt.synchronize().unwrap();
    assert_eq!(rt.read(y.slice(0..1)).unwrap(), [4]);
}

#[test]
fn there_are_as_many_buffers_as_are_of_use() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let all: Vec<_> = (0..65_535).map(|_| rt.buffer::<u8>(1).unwrap()).collect();
    let error = rt.buffer::<u8>(1).unwrap_err();
    assert_eq!(error, Error::TooManyBuffers { most: 65_535 });
    let last = all[65_534];
    rt.write(last, &[7]).unwrap();
    assert_eq!(rt.read(last).unwrap(), [7]);
    rt.release(all[0]).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(rt.buffer::<u8>((1 << 32) + 1), Err(Error::TooManyBuffers { most: 65_535 }));
    let new = rt.buffer_from(&[8u8]).unwrap();
    assert_eq!(rt.read(new).unwrap(), [8]);
    assert_eq!(rt.buffer::<u8>(1), Err(error));
}

#[test]
fn a_handle_of_another_element_type_is_refused() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let x = rt.buffer::<f32>(4).unwrap();
    let other = Buffer::<u8>::from_bits(x.to_bits(), 16);
    let look = rt.register(Kernel::new("look").read("x").body(|_| Ok(()))).unwrap();
    for error in [
        rt.launch(look, 1, 1, args![other]).unwrap_err(),
        rt.read(other).unwrap_err(),
        rt.write(other, &[0; 16]).unwrap_err(),
    ] {
        assert!(error.to_string().starts_with("elements of u8 in a buffer of f32"), "{error}");
    }
    rt.launch(look, 1, 1, args![x]).unwrap();
    rt.synchronize().unwrap();
}

#[test]
fn two_kernels_of_many_segments_are_in_flight_at_once() {
    const ROWS: u64 = 255;
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let met = Arc::new(AtomicU32::new(0));
    let body = met.clone();
    let rows = Kernel::new("rows")
        .read("from")
        .write("to")
        .access(|_, accesses| {
            for row in 0..ROWS {
                accesses.read(0, 8 * row..8 * row + 4);
                accesses.write(1, 8 * row..8 * row + 4);
            }
        })
        .body(move |_| {
            body.fetch_add(1, Ordering::SeqCst);
            let began = std::time::Instant::now();
            while body.load(Ordering::SeqCst) < 2 {
                if began.elapsed() > Duration::from_secs(10) {
                    return Err("alone".into());
                }
                std::thread::yield_now();
            }
            Ok(())
        });
    let rows = rt.register(rows).unwrap();
    let [a, b, c, d] = [(); 4].map(|()| rt.buffer::<u8>(8 * ROWS as usize).unwrap());
    rt.launch(rows, 1, 1, args![a, b]).unwrap();
    rt.launch(rows, 1, 1, args![c, d]).unwrap();
    rt.synchronize().unwrap();
}

#[test]
fn dropping_the_runtime_waits_for_all_that_was_launched() {
    let ran = Arc::new(AtomicU32::new(0));
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let count = ran.clone();
    let slow = Kernel::new("slow").read_write("x").body(move |_| {
        std::thread::sleep(Duration::from_millis(2));
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let slow = rt.register(slow).unwrap();
    let x = rt.buffer::<u8>(1).unwrap();
    for _ in 0..20 {
        rt.launch(slow, 1, 1, args![x]).unwrap();
    }
    drop(rt);
    assert_eq!(ran.load(Ordering::Relaxed), 20);
}

#[test]
fn memory_of_released_buffers_is_given_back_after_its_last_use() {
    let mut rt = Runtime::builder().window(4).executor(Cpu::new(2).unwrap()).build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let out = rt.buffer::<i32>(64).unwrap();
    // 128 GiB in all, were it kept.
    for round in 0..4000 {
        let big = rt.buffer::<i32>(8 << 20).unwrap();
        if round % 400 == 0 {
            rt.launch(increment, 1, 1, args![out, big.slice(0..64)]).unwrap();
            rt.launch(increment, 1, 1, args![big.slice(0..64), out]).unwrap();
        }
        rt.release(big).unwrap();
        assert_eq!(rt.release(big), Err(Error::UnknownBuffer));
        rt.synchronize().unwrap();
    }
    assert_eq!(rt.read(out).unwrap(), [20; 64]);
}

/// Kernels that wait for each other here and there, in an order that depends on the machine.
fn jumble(rt: &mut Runtime) -> Vec<Vec<u32>> {
    program(rt, 11, 60).unwrap()
}

#[test]
fn a_recorded_schedule_is_repeated_exactly_on_other_executors() {
    let mut recorded = Runtime::builder().executor(Cpu::new(4).unwrap()).record(true).build().unwrap();
    let image = jumble(&mut recorded);
    let recording = recorded.recording().unwrap();
    assert_eq!(recording.schedule.events.len(), 120);
    let mut file = Vec::new();
    recording.schedule.write(&mut file).unwrap();
    let schedule = Schedule::read(&*file).unwrap();
    assert_eq!(schedule, recording.schedule);
    let order = |schedule: &Schedule| schedule.order().collect::<Vec<_>>();
    for threads in [1, 2, 7] {
        let executor = Cpu::new(threads).unwrap();
        let builder = Runtime::builder().executor(executor).record(true).replay(schedule.clone());
        let mut rt = builder.build().unwrap();
        assert_eq!(jumble(&mut rt), image, "{threads} threads");
        assert_eq!(order(&rt.recording().unwrap().schedule), order(&schedule), "{threads} threads");
    }
    let mut nothing =
        Runtime::builder().executor(Immediate).record(true).replay(schedule.clone()).build().unwrap();
    jumble(&mut nothing);
    assert_eq!(order(&nothing.recording().unwrap().schedule), order(&schedule));
}

/// What overwrites a buffer that is in use gets memory of its own as long as the budget lasts; both depend on how far kernels are.
fn rewrites(seed: u64, builder: Builder) -> (Recording, Vec<u32>) {
    let mut rt = builder.window(32).queue(4).rename(256).record(true).build().unwrap();
    let rng = &mut Rng(seed);
    let update = Kernel::new("update").read("x").read_write("y").value("n").body(|cta| {
        let (x, y, n) = (cta.read::<u32>(0)?, cta.read_write::<u32>(1)?, cta.value::<u32>(2)?);
        std::thread::sleep(Duration::from_micros(u64::from(n * n % 400)));
        (0..y.len()).for_each(|i| y.set(i, mix(y.get(i), mix(x.get(i), n))));
        Ok(())
    });
    let fill = Kernel::new("fill").write("y").value("n").body(|cta| {
        let (y, n) = (cta.write::<u32>(0)?, cta.value::<u32>(1)?);
        (0..y.len()).for_each(|i| y.set(i, mix(n, i as u32)));
        Ok(())
    });
    let (update, fill) = (rt.register(update).unwrap(), rt.register(fill).unwrap());
    let mut buffers: Vec<Buffer<u32>> = (0..6).map(|_| rt.buffer(16).unwrap()).collect();
    for n in 0..200u32 {
        let [i, j] = [(); 2].map(|()| rng.below(6) as usize);
        match rng.below(12) {
            0..=5 if i != j => _ = rt.launch(update, 1, 1, args![buffers[i], buffers[j], n]).unwrap(),
            6..=8 => _ = rt.launch(fill, 1, 1, args![buffers[i], n]).unwrap(),
            9 => rt.write(buffers[i], &[n; 16]).unwrap(),
            10 => _ = rt.read(buffers[i]).unwrap(),
            11 => {
                rt.release(buffers[i]).unwrap();
                buffers[i] = rt.buffer(16).unwrap();
            }
            _ => {}
        }
    }
    assert_eq!(rt.synchronize(), Ok(()), "seed {seed}");
    let image = buffers.iter().flat_map(|buffer| rt.read(*buffer).unwrap()).collect();
    (rt.recording().unwrap(), image)
}

#[test]
fn a_replay_gives_memory_of_its_own_to_what_had_it_in_the_recorded_run() {
    in_time(|| {
        let mut versions = 0;
        for seed in 0..20 {
            let on = |threads| Runtime::builder().executor(Cpu::new(threads).unwrap());
            let (recorded, image) = rewrites(seed, on(4));
            let mut file = Vec::new();
            recorded.schedule.write(&mut file).unwrap();
            let schedule = Schedule::read(&*file).unwrap();
            assert_eq!(schedule, recorded.schedule);
            versions += schedule.versions.len();
            for threads in [1, 3] {
                let (again, found) = rewrites(seed, on(threads).replay(schedule.clone()));
                assert!(again.schedule.order().eq(schedule.order()), "seed {seed}, {threads} threads");
                assert_eq!(found, image, "seed {seed}, {threads} threads");
            }
        }
        assert!(versions > 20, "{versions}");
    });
}

#[test]
fn a_replay_without_the_memory_that_the_recorded_run_had_is_told_so() {
    let run = |budget, schedule: Option<Schedule>| {
        let builder = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(budget).record(true);
        let mut rt = match schedule {
            Some(schedule) => builder.replay(schedule).build().unwrap(),
            None => builder.build().unwrap(),
        };
        let read = rt.register(Kernel::new("read").read("x").body(|_| {
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        }));
        let write = rt.register(Kernel::new("write").write("x").body(|_| Ok(())));
        let x = rt.buffer::<u8>(64).unwrap();
        rt.launch(read.unwrap(), 1, 1, args![x]).unwrap();
        rt.launch(write.unwrap(), 1, 1, args![x]).unwrap();
        (rt.synchronize(), rt.recording().unwrap().schedule)
    };
    let (_, schedule) = run(64, None);
    assert_eq!(schedule.versions, [0]);
    assert_eq!(run(64, Some(schedule.clone())).0, Ok(()));
    assert_eq!(run(1 << 20, Some(schedule.clone())).0, Ok(()));
    let little = run(32, Some(schedule)).0.unwrap_err().to_string();
    assert!(
        little.contains("a write before it is to have memory of its own, for which there is none"),
        "{little}"
    );
}

/// Of kernels that were started before, only the CTAs that run already come first.
#[test]
fn an_urgent_kernel_goes_before_the_ctas_of_others_that_were_started() {
    let mut rt = Runtime::builder().executor(Cpu::new(4).unwrap()).build().unwrap();
    let (tell, told) = channel();
    let kernel = Kernel::new("k").value("n").body(move |cta| {
        tell.send(cta.value::<u32>(0)?)?;
        std::thread::sleep(Duration::from_millis(50));
        Ok(())
    });
    let kernel = rt.register(kernel).unwrap();
    for n in 0..8u32 {
        rt.launch(kernel, 4, 1, args![n]).unwrap();
    }
    rt.launch_with(kernel, 4, 1, args![100u32], Options::new().priority(10)).unwrap();
    rt.synchronize().unwrap();
    drop(rt);
    let order: Vec<u32> = told.iter().collect();
    // The first runs when the urgent one is launched; the second may begin before the scheduler has noticed that the first has ended.
    let before = order.iter().take_while(|n| **n != 100).count();
    assert!(order.len() == 36 && before <= 12, "{order:?}");
}

#[test]
fn what_is_recorded_while_kernels_run_is_read_and_repeated() {
    let go = Arc::new(AtomicBool::new(false));
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).record(true).build().unwrap();
    let held = go.clone();
    let waits = Kernel::new("waits").read_write("x").body(move |_| {
        while !held.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(())
    });
    let waits = rt.register(waits).unwrap();
    let x = rt.buffer::<u8>(1).unwrap();
    rt.launch(waits, 1, 1, args![x]).unwrap();
    let recording = loop {
        let recording = rt.recording().unwrap();
        if !recording.schedule.events.is_empty() {
            break recording;
        }
    };
    go.store(true, Ordering::Release);
    rt.synchronize().unwrap();
    assert_eq!(recording.schedule.order().collect::<Vec<_>>(), [(EventKind::Start, 0)]);
    let mut file = Vec::new();
    recording.schedule.write(&mut file).unwrap();
    let schedule = Schedule::read(&*file).unwrap();
    assert_eq!(schedule, recording.schedule);
    let builder = Runtime::builder().executor(Cpu::new(2).unwrap()).record(true).replay(schedule);
    let mut again = builder.build().unwrap();
    let increment = again.register(increment()).unwrap();
    let (a, b) = (again.buffer_from(&[1]).unwrap(), again.buffer::<i32>(1).unwrap());
    again.launch(increment, 1, 1, args![a, b]).unwrap();
    again.launch(increment, 1, 1, args![b, a]).unwrap();
    again.synchronize().unwrap();
    assert_eq!(again.read(a).unwrap(), [3]);
}

#[test]
fn a_schedule_that_does_not_fit_is_told_and_the_program_runs_on() {
    let schedule =
        |text: &str| Schedule::read(format!("{{\"schedule\":1,\"executor\":\"x\"}}\n{text}").as_bytes());
    let lines = |events: &[(&str, u64)]| {
        let line = |(e, k): &(&str, u64)| format!("{{\"e\":\"{e}\",\"k\":{k},\"ns\":1}}\n");
        events.iter().map(line).collect::<String>()
    };
    let run = |events: &[(&str, u64)]| {
        let schedule = schedule(&lines(events)).unwrap();
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).replay(schedule).build().unwrap();
        let increment = rt.register(increment()).unwrap();
        let (a, b) = (rt.buffer_from(&[1]).unwrap(), rt.buffer::<i32>(1).unwrap());
        rt.launch(increment, 1, 1, args![a, b]).unwrap();
        rt.launch(increment, 1, 1, args![b, a]).unwrap();
        let result = rt.synchronize();
        assert_eq!(rt.read(a).unwrap(), [3]);
        result.map_err(|e| e.to_string())
    };
    assert_eq!(run(&[("start", 0), ("end", 0), ("start", 1), ("end", 1)]), Ok(()));
    assert_eq!(run(&[("start", 0), ("end", 0)]), Ok(()), "past its end the policy decides");
    let early = run(&[("start", 1), ("end", 1), ("start", 0), ("end", 0)]).unwrap_err();
    assert!(
        early.contains("kernel 1 is to start next, and waits for kernels that the schedule starts later"),
        "{early}"
    );
    let more = run(&[("start", 0), ("end", 0), ("start", 7), ("end", 7)]).unwrap_err();
    assert!(more.contains("kernel 7 is to start next, and 2 were launched"), "{more}");
    for (text, problem) in [
        (lines(&[("start", 0), ("start", 0)]), "line 3 of the schedule: kernel 0 starts twice"),
        (lines(&[("end", 0)]), "line 2 of the schedule: kernel 0 ends and does not run"),
        ("{".into(), "line 2 of the schedule"),
    ] {
        let error = schedule(&text).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    assert!(Schedule::read(&b""[..]).is_err());
    assert!(
        Schedule::read(&b"{\"schedule\":2,\"executor\":\"x\"}"[..])
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
}

/// Of a file without a newline, such as another program's, no more than that is kept.
#[test]
fn a_line_of_a_schedule_has_a_limit() {
    let header = "{\"schedule\":1,\"executor\":\"x\"}";
    let longest = MAX_LINE_BYTES as usize;
    let text = |bytes: usize| format!("{header}{}\n", " ".repeat(bytes - header.len()));
    assert_eq!(Schedule::read(text(longest).as_bytes()).unwrap().executor, "x");
    let too_long = Schedule::read(text(longest + 1).as_bytes()).unwrap_err().to_string();
    assert!(too_long.starts_with("line 1 of the schedule: it is longer than 16777216 bytes"), "{too_long}");
    // What comes after the limit is left alone.
    let (line, mut rest) = (format!("{header}\n"), repeat(b' ').take(4 * MAX_LINE_BYTES));
    let input = BufReader::new(line.as_bytes().chain(&mut rest));
    let too_long = Schedule::read(input).unwrap_err().to_string();
    assert!(too_long.starts_with("line 2 of the schedule: it is longer"), "{too_long}");
    assert!(rest.limit() > 2 * MAX_LINE_BYTES, "{}", rest.limit());
}

/// Two launches, of which the second waits for the first, under a schedule of (start or end, kernel).
fn two_under(
    events: &[(EventKind, u64)],
    executor: impl Executor + 'static,
    first: i32,
) -> [Result<(), Error>; 2] {
    let events = events.iter().map(|(kind, kernel)| Event { kind: *kind, kernel: *kernel, ns: 1 }).collect();
    let schedule = Schedule { executor: "x".into(), events, ..Schedule::default() };
    in_time(move || {
        let mut rt = Runtime::builder().executor(executor).replay(schedule).build().unwrap();
        let increment = rt.register(increment()).unwrap();
        let (a, b) = (rt.buffer_from(&[first]).unwrap(), rt.buffer::<i32>(1).unwrap());
        rt.launch(increment, 1, 1, args![a, b]).unwrap();
        rt.launch(increment, 1, 1, args![b, a]).unwrap();
        [rt.synchronize(), rt.synchronize()]
    })
}

#[test]
fn a_schedule_whose_next_kernel_never_comes_is_left_whatever_has_ended() {
    use EventKind::{End, Start};
    let events = [(Start, 0), (Start, 7), (End, 0), (End, 7)];
    let [told, then] = two_under(&events, Cpu::new(2).unwrap(), 1);
    assert!(matches!(told, Err(Error::Diverged(_))), "{told:?}");
    assert_eq!(then, Ok(()));
    // Nothing is in flight when the schedule is left, so that nothing but leaving it moves the run on.
    let [told, then] = two_under(&[(Start, 1), (End, 1), (Start, 0), (End, 0)], Immediate, 1);
    assert!(matches!(told, Err(Error::Diverged(_))), "{told:?}");
    assert_eq!(then, Ok(()));
}

/// What the schedule wants next is launched by an application that has waited for something else for a while.
#[test]
fn a_schedule_waits_for_a_launch_while_the_application_waits_for_a_time() {
    use EventKind::{End, Start};
    let events = [(Start, 0), (Start, 1), (End, 1), (End, 0)];
    let events = events.map(|(kind, kernel)| Event { kind, kernel, ns: 1 }).to_vec();
    let schedule = Schedule { executor: "x".into(), events, ..Schedule::default() };
    let mut rt = Runtime::builder().executor(Immediate).replay(schedule).build().unwrap();
    let kernel = rt.register(Kernel::new("k")).unwrap();
    let first = rt.launch(kernel, 1, 1, args![]).unwrap();
    assert_eq!(rt.wait_timeout(first, Duration::from_millis(50)), Ok(false));
    rt.launch(kernel, 1, 1, args![]).unwrap();
    assert_eq!(rt.synchronize(), Ok(()));
}

#[test]
fn a_schedule_that_does_not_fit_hides_no_failure() {
    use EventKind::{End, Start};
    let events = [(Start, 1), (End, 1), (Start, 0), (End, 0)];
    let [told, then] = two_under(&events, Cpu::new(2).unwrap(), -1);
    assert!(matches!(told, Err(Error::Diverged(_))), "{told:?}");
    assert_eq!(failures(then).len(), 2);
}

#[test]
fn a_recording_is_a_ktrace_with_the_same_hazards() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).record(true).build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let (a, b) = (rt.buffer_from(&[1; 8]).unwrap(), rt.buffer::<i32>(8).unwrap());
    rt.launch(increment, 3, (32, 2), args![a.slice(0..4), b.slice(0..4)]).unwrap();
    rt.launch(increment, 1, 1, args![a.slice(4..8), b.slice(4..8)]).unwrap();
    rt.launch(increment, 1, 1, args![b, a]).unwrap();
    rt.synchronize().unwrap();
    let recording = rt.recording().unwrap();
    let kernels: Vec<_> = recording.trace.kernels().collect();
    assert_eq!(
        kernels.iter().map(|k| (k.index, k.ctas(), k.threads())).collect::<Vec<_>>(),
        [(0, 3, 64), (1, 1, 1), (2, 1, 1)]
    );
    let graph = windlass_runtime::graph::DependencyGraph::build(&kernels).unwrap();
    assert_eq!((graph.upstream(0), graph.upstream(1), graph.upstream(2)), (&[][..], &[][..], &[0, 1][..]));
    let why = recording.explain(Ticket(2)).unwrap();
    // The one that ended last comes first.
    let mut upstream: Vec<_> = why.upstream.iter().map(|u| (u.index, u.hazards.len())).collect();
    upstream.sort_unstable();
    // Each of the two was read by one half (RAW) and written by the other (WAR).
    assert_eq!(upstream, [(0, 2), (1, 2)]);
    assert!(why.upstream.iter().all(|u| u.end <= why.start), "{}", why.text(None));
    assert!(recording.explain(Ticket(3)).unwrap_err().to_string().contains('3'));
    let file = tempfile::NamedTempFile::new().unwrap();
    recording.trace.save(file.path()).unwrap();
    assert_eq!(windlass_runtime::ktrace::Trace::load(file.path()).unwrap().runs, recording.trace.runs);
    assert_eq!(Runtime::builder().build().unwrap().recording().unwrap_err(), Error::NotRecorded);
}

/// What two kernels that ran at once would have taken alone, nobody saw.
#[test]
fn a_duration_is_recorded_where_a_kernel_ran_alone() {
    const NAP: Duration = Duration::from_millis(20);
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).record(true).build().unwrap();
    let both = Arc::new(Barrier::new(2));
    let meet = rt.register(Kernel::new("meet").write("x").body(move |_| {
        both.wait();
        Ok(())
    }));
    let nap = Kernel::new("nap").value("fails").read_write("x").read_write("y").body(|cta| {
        std::thread::sleep(NAP);
        if cta.value::<u32>(0)? == 1 { Err("it is to fail".into()) } else { Ok(()) }
    });
    let (meet, nap) = (meet.unwrap(), rt.register(nap).unwrap());
    let (x, y) = (rt.buffer::<u8>(1).unwrap(), rt.buffer::<u8>(1).unwrap());
    rt.launch(meet, 1, 1, args![x]).unwrap();
    rt.launch(meet, 1, 1, args![y]).unwrap();
    rt.launch(nap, 3, 1, args![0u32, x, y]).unwrap();
    rt.launch(nap, 1, 1, args![1u32, x, y]).unwrap();
    failures(rt.synchronize());
    let recording = rt.recording().unwrap();
    let recorded: Vec<_> = recording.trace.kernels().map(|k| k.dur_ns).collect();
    assert_eq!(recorded.len(), 4);
    assert_eq!([recorded[0], recorded[1], recorded[3]], [None; 3], "in pairs, and failed");
    // Three CTAs on two threads.
    assert!(recorded[2] >= Some(2 * NAP.as_nanos() as u64), "{recorded:?}");
    let est: Vec<_> = recording.trace.kernels().map(|k| k.est.join(" ")).collect();
    assert_eq!(est, ["smem flops"; 4]);

    // Watched views are slower than others.
    let mut rt = Runtime::builder().check(true).record(true).build().unwrap();
    let increment = rt.register(increment()).unwrap();
    let (a, b) = (rt.buffer::<i32>(1).unwrap(), rt.buffer::<i32>(1).unwrap());
    rt.launch(increment, 1, 1, args![a, b]).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(rt.recording().unwrap().trace.kernels().next().unwrap().dur_ns, None);
}

/// Takes a while to start a kernel, as one that compiles does, and says of those with a CUDA text how long they ran.
struct Tells(Option<Completions>);

impl Executor for Tells {
    fn name(&self) -> String {
        "tells".into()
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(HostAllocator)
    }
    fn connect(&mut self, completions: Completions) {
        self.0 = Some(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        std::thread::sleep(Duration::from_millis(5));
        match &self.0 {
            Some(completions) if task.cuda().is_some() => {
                completions.complete_timed(task.token(), Duration::from_nanos(7));
            }
            Some(completions) => completions.complete(task.token(), Ok(())),
            None => return Started::Ended(Ok(())),
        }
        Started::Running
    }
}

#[test]
fn a_recorded_duration_is_what_the_executor_says() {
    let mut rt = Runtime::builder().executor(Tells(None)).record(true).build().unwrap();
    let cuda = CudaKernel::source("", "k").with_shared_bytes(96);
    let told = rt.register(Kernel::new("told").cuda(cuda)).unwrap();
    let untold = rt.register(Kernel::new("untold")).unwrap();
    for kernel in [told, untold, told] {
        rt.launch(kernel, 1, 1, &[]).unwrap();
    }
    rt.synchronize().unwrap();
    let recording = rt.recording().unwrap();
    let recorded: Vec<_> = recording.trace.kernels().map(|k| (k.dur_ns, k.smem, k.est.join(" "))).collect();
    let told = (Some(7), 96, "flops".to_string());
    assert_eq!(recorded, [told.clone(), (None, 0, "smem flops".into()), told]);
}

#[test]
fn wrong_declarations_are_found_with_kernel_argument_and_bytes() {
    let checked = |kernel: Kernel| {
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).check(true).build().unwrap();
        let kernel = rt.register(kernel).unwrap();
        let (x, y) = (rt.buffer::<u16>(100).unwrap(), rt.buffer::<u16>(100).unwrap());
        rt.launch(kernel, 4, 5, args![x.slice(10..30), y.slice(50..70)]).unwrap();
        rt.synchronize().unwrap();
        let found = rt.findings();
        assert!(rt.findings().is_empty(), "told once");
        found.iter().map(|f| (f.position, f.violation, f.offset, f.bytes)).collect::<Vec<_>>()
    };
    let copies = |kernel: Kernel| {
        kernel.body(|cta| {
            let (x, y) = (cta.read::<u16>(0)?, cta.write::<u16>(1)?);
            cta.threads().for_each(|i| y.set(i, x.get(i)));
            Ok(())
        })
    };
    let new = || Kernel::new("copy").read("x").write("y");
    assert_eq!(checked(copies(new())), []);
    // Reads 20 elements from byte 20, and says 12; writes 40 bytes from 100, and says the last 20.
    let narrow = new().access(|_, accesses| {
        accesses.read(0, 0..24);
        accesses.write(1, 20..40);
    });
    assert_eq!(
        checked(copies(narrow)),
        [(0, Violation::UndeclaredRead, 44, 16), (1, Violation::UndeclaredWrite, 100, 20)]
    );
    let idle = new().body(|cta| {
        let y = cta.write::<u16>(1)?;
        cta.threads().filter(|i| i % 10 != 3).for_each(|i| y.set(i, 1));
        Ok(())
    });
    assert_eq!(
        checked(idle),
        [
            (0, Violation::NeverRead, 20, 40),
            (1, Violation::NotOverwritten, 106, 2),
            (1, Violation::NotOverwritten, 126, 2)
        ]
    );
    let modest = Kernel::new("m").read_write("x").read_write("y").body(|cta| {
        let (x, y) = (cta.read_write::<u16>(0)?, cta.read_write::<u16>(1)?);
        cta.threads().for_each(|i| y.set(i, x.get(i)));
        Ok(())
    });
    assert_eq!(checked(modest), [(0, Violation::NeverWritten, 20, 40), (1, Violation::NeverRead, 100, 40)]);
    assert!(Violation::NotOverwritten.is_unsafe() && !Violation::NeverRead.is_unsafe());
    // Slices of Rust count as touched in their whole length.
    let slices = new().body(|cta| {
        let (x, y) = (cta.read::<u16>(0)?, cta.write::<u16>(1)?);
        // SAFETY: each CTA has its own five elements of `y`, and nobody writes `x`.
        unsafe { y.as_mut_slice(cta.threads()).copy_from_slice(x.as_slice(cta.threads())) };
        Ok(())
    });
    assert_eq!(checked(slices), []);
    // Through pointers, what changes a byte is seen, in the whole buffer.
    let pointers = |to: isize| {
        new().body(move |cta| {
            let (x, y) = (cta.read::<u16>(0)?, cta.write::<u16>(1)?);
            for i in cta.threads() {
                // SAFETY: `to` elements before the view there is still the buffer; each CTA has its own elements.
                unsafe { y.as_mut_ptr().offset(i as isize - to).write(x.as_ptr().add(i).read() + 7) };
            }
            Ok(())
        })
    };
    assert_eq!(checked(pointers(0)), []);
    assert_eq!(
        checked(pointers(3)),
        [
            (1, Violation::UndeclaredWrite, 94, 1),
            (1, Violation::UndeclaredWrite, 96, 1),
            (1, Violation::UndeclaredWrite, 98, 1)
        ]
    );
}

#[test]
fn what_pointers_write_is_found_through_whichever_argument_of_the_buffer() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).check(true).build().unwrap();
    let strays = Kernel::new("strays").read_write("x").write("y").body(|cta| {
        let (x, y) = (cta.read_write::<u8>(0)?, cta.write::<u8>(1)?);
        y.set(0, 1);
        // SAFETY: the byte before `y` is of the same buffer; there is one CTA.
        unsafe { y.as_mut_ptr().sub(1).write(7) };
        x.as_mut_ptr();
        Ok(())
    });
    let strays = rt.register(strays).unwrap();
    let x = rt.buffer::<u8>(16).unwrap();
    rt.launch(strays, 1, 1, args![x.slice(0..2), x.slice(8..9)]).unwrap();
    rt.synchronize().unwrap();
    let found: Vec<_> = rt.findings().iter().map(|f| (f.position, f.violation, f.offset, f.bytes)).collect();
    assert_eq!(found, [(0, Violation::UndeclaredWrite, 7, 1)]);
}

#[test]
fn what_is_written_through_a_pointer_to_read_is_found() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).check(true).build().unwrap();
    let liar = Kernel::new("liar").read("x").body(|cta| {
        // SAFETY: the memory is there, and there is one CTA.
        unsafe { cta.read::<u8>(0)?.as_ptr().cast_mut().add(1).write(7) };
        Ok(())
    });
    let liar = rt.register(liar).unwrap();
    let x = rt.buffer::<u8>(16).unwrap();
    rt.launch(liar, 1, 1, args![x.slice(8..12)]).unwrap();
    rt.synchronize().unwrap();
    let found: Vec<_> = rt.findings().iter().map(|f| (f.position, f.violation, f.offset, f.bytes)).collect();
    assert_eq!(found, [(0, Violation::UndeclaredWrite, 9, 1)]);
}

#[test]
fn views_of_one_buffer_are_checked_as_buffers_of_their_own_are() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).check(true).build().unwrap();
    let half = Kernel::new("half").read("x").write("y").body(|cta| {
        let (x, y) = (cta.read::<u8>(0)?, cta.write::<u8>(1)?);
        (0..y.len() / 2).for_each(|i| y.set(i, x.get(i)));
        Ok(())
    });
    let whole = Kernel::new("whole").read("x").write("y").read("z").read_write("w").body(|cta| {
        let (x, y) = (cta.read::<u8>(0)?, cta.write::<u8>(1)?);
        (0..y.len()).for_each(|i| y.set(i, x.get(i)));
        Ok(())
    });
    let [half, whole] = [half, whole].map(|kernel| rt.register(kernel).unwrap());
    let x = rt.buffer::<u8>(64).unwrap();
    let mut found = |kernel, args: &[_]| {
        rt.launch(kernel, 1, 1, args).unwrap();
        rt.synchronize().unwrap();
        let found = rt.findings();
        found.iter().map(|f| (f.position, f.violation, f.offset, f.bytes)).collect::<Vec<_>>()
    };
    let missed = [(1, Violation::NotOverwritten, 12, 4)];
    assert_eq!(found(half, args![x.slice(0..4), x.slice(8..16)]), missed);
    // In place, and of an argument that reads what another one has written.
    assert_eq!(found(half, args![x.slice(8..16), x.slice(8..16)]), missed);
    let [to, same] = [x.slice(8..16), x.slice(10..12)];
    let never = [(2, Violation::NeverRead, 20, 2), (3, Violation::NeverWritten, 30, 2)];
    assert_eq!(found(whole, args![&to, &to, x.slice(20..22), x.slice(30..32)]), never);
    // Of the last one all is overwritten, if through another, and nothing is read.
    let never = [(3, Violation::NeverRead, 10, 2)];
    assert_eq!(found(whole, args![x.slice(0..8), &to, x.slice(0..2), &same]), never);
}

#[test]
fn a_check_looks_at_views_and_not_at_whole_buffers_unless_it_must() {
    in_time(|| {
        let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).check(true).build().unwrap();
        let one = Kernel::new("one").write("x").body(|cta| {
            cta.write::<u8>(0)?.set(0, 1);
            Ok(())
        });
        let one = rt.register(one).unwrap();
        // Pages that nobody touches: a copy of them all for each launch would take minutes.
        let x = rt.buffer::<u8>(1 << 30).unwrap();
        for i in 0..200 {
            rt.launch(one, 1, 1, args![x.slice(i..i + 1)]).unwrap();
        }
        rt.synchronize().unwrap();
        assert_eq!(rt.findings(), []);
    });
}

#[test]
fn every_launch_is_started_and_ended_once_in_an_order_that_hazards_allow() {
    let seed = seed();
    for (round, window) in [4, 32, 600].into_iter().enumerate() {
        let executor = Cpu::new(3).unwrap();
        let mut rt = Runtime::builder().window(window).executor(executor).record(true).build().unwrap();
        program(&mut rt, seed.wrapping_add(round as u64), 300).unwrap();
        let recording = rt.recording().unwrap();
        let kernels: Vec<_> = recording.trace.kernels().collect();
        let graph = windlass_runtime::graph::DependencyGraph::build(&kernels).unwrap();
        let mut ended = vec![None; kernels.len()];
        let mut started = vec![0; kernels.len()];
        for (kind, k) in recording.schedule.order() {
            match kind {
                EventKind::Start => {
                    started[k as usize] += 1;
                    assert!(
                        graph.upstream(k as u32).iter().all(|u| ended[*u as usize] == Some(())),
                        "kernel {k}"
                    );
                }
                EventKind::End => assert!(ended[k as usize].replace(()).is_none(), "kernel {k} ended twice"),
            }
        }
        assert!(started.iter().all(|n| *n == 1) && ended.iter().all(Option::is_some));
    }
}

#[test]
fn a_runtime_may_move_between_threads() {
    fn send<T: Send>() {}
    fn both<T: Send + Sync>() {}
    fn key<T: Copy + Eq + std::hash::Hash + std::fmt::Debug>() {}
    key::<Buffer<f32>>();
    send::<Runtime>();
    both::<(Buffer<f32>, View<f32>, Registered, Kernel, Error, Failure, Waiter)>();
    // Several threads launch behind a mutex.
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let total = sum.clone();
    let add = Kernel::new("add")
        .value("n")
        .body(move |cta| Ok(_ = total.fetch_add(cta.value::<u64>(0)?, Ordering::Relaxed)));
    let add = rt.register(add).unwrap();
    let rt = Mutex::new(rt);
    std::thread::scope(|scope| {
        for first in 0..4u64 {
            let rt = &rt;
            scope.spawn(move || {
                (0..250)
                    .for_each(|i| _ = rt.lock().unwrap().launch(add, 1, 1, args![first * 250 + i]).unwrap());
            });
        }
    });
    rt.into_inner().unwrap().synchronize().unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 999 * 1000 / 2);
}

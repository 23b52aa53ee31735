//! What goes wrong in programs: failed writes, panics of others' code, little memory, callbacks that wait, arguments of the wrong type.

mod common;

use common::seed;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use windlass_runtime::args;
use windlass_runtime::runtime::{
    Allocator, Arg, Buffer, Cause, Completions, Cpu, ElementKind, Error, Executor, HostMemory, Immediate,
    Kernel, Memory, Options, Policy, Renamed, Runtime, Started, Task, Ticket, Token, View,
};

/// What a call gives that must not wait for ever.
fn in_time<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = channel();
    std::thread::spawn(move || done.send(call()));
    waits.recv_timeout(Duration::from_secs(60)).expect("it panicked, or never came back")
}

/// Waits until nobody else holds it.
fn until_alone<T>(held: &Arc<T>) {
    let began = Instant::now();
    while Arc::strong_count(held) > 1 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A device that can be told what to do.
#[derive(Debug, Default)]
struct Device {
    /// Bytes that are given out now, and the most that there are; 0 for no limit.
    live: AtomicU64,
    limit: AtomicU64,
    allocations: AtomicUsize,
    writes_fail: AtomicBool,
    /// Kernels named `held` that have started.
    held: Mutex<Vec<Token>>,
    completions: Mutex<Option<Completions>>,
}

impl Device {
    fn complete_all(&self) {
        let completions = self.completions.lock().unwrap().clone().unwrap();
        for token in std::mem::take(&mut *self.held.lock().unwrap()) {
            completions.complete(token, Ok(()));
        }
    }

    /// Waits until so many kernels are held.
    fn until_held(&self, count: usize) {
        let began = Instant::now();
        while self.held.lock().unwrap().len() < count {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", self.held);
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[derive(Debug)]
struct DeviceMemory(HostMemory, u64, Arc<Device>);

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        self.2.live.fetch_sub(self.1, Ordering::SeqCst);
    }
}

impl Memory for DeviceMemory {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String> {
        self.0.read(offset, to)
    }
    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String> {
        if self.2.writes_fail.load(Ordering::SeqCst) {
            let half = from.len() / 2;
            self.0.write(offset, &from[..half])?;
            return Err("the device stops half-way".into());
        }
        self.0.write(offset, from)
    }
}

struct DeviceAllocator(Arc<Device>);

impl Allocator for DeviceAllocator {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        let (device, bytes) = (&self.0, (elements * element.bytes()) as u64);
        let limit = device.limit.load(Ordering::SeqCst);
        if limit > 0 && device.live.load(Ordering::SeqCst) + bytes > limit {
            return Err("the device is full".into());
        }
        device.live.fetch_add(bytes, Ordering::SeqCst);
        device.allocations.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(DeviceMemory(HostMemory::new(elements, element)?, bytes, device.clone())))
    }
}

/// Runs nothing: `held` kernels end when the device is told, others at once, `fails` with an error.
struct OnDevice(Arc<Device>);

impl Executor for OnDevice {
    fn name(&self) -> String {
        "device".into()
    }
    fn concurrency(&self) -> usize {
        4096
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(DeviceAllocator(self.0.clone()))
    }
    fn connect(&mut self, completions: Completions) {
        *self.0.completions.lock().unwrap() = Some(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        match task.name() {
            "held" => {}
            "fails" => return Started::Ended(Err(Cause::Returned("no".into()))),
            _ => return Started::Ended(Ok(())),
        }
        self.0.held.lock().unwrap().push(task.token());
        Started::Running
    }
}

fn on_device(rename: u64) -> (Runtime, Arc<Device>) {
    let device = Arc::new(Device::default());
    let builder = Runtime::builder().window(64).rename(rename).executor(OnDevice(device.clone()));
    (builder.build().unwrap(), device)
}

#[test]
fn what_a_failed_write_of_the_hosts_should_have_written_is_poisoned() {
    for rename in [0, 1 << 20] {
        let (mut rt, device) = on_device(rename);
        let held = rt.register(Kernel::new("held").read("x")).unwrap();
        let copy = rt.register(Kernel::new("copy").read("x").write("y")).unwrap();
        // Memory with another buffer's values in the pool.
        let secret = rt.buffer_from(&[42u8; 8]).unwrap();
        rt.launch(held, 1, 1, args![secret]).unwrap();
        if rename > 0 {
            rt.write(secret, &[43; 8]).unwrap();
        }
        device.until_held(1);
        device.complete_all();
        rt.synchronize().unwrap();
        let (x, y) = (rt.buffer_from(&[7u8; 8]).unwrap(), rt.buffer::<u8>(8).unwrap());
        rt.launch(held, 1, 1, args![x]).unwrap();
        device.until_held(1);
        if rename == 0 {
            device.complete_all();
        }
        device.writes_fail.store(true, Ordering::SeqCst);
        let error = rt.write(x, &[9; 8]).unwrap_err();
        assert!(matches!(error, Error::Device { bytes: 8, .. }), "{error}");
        device.writes_fail.store(false, Ordering::SeqCst);
        let error = rt.read(x).unwrap_err();
        assert!(
            matches!(&error, Error::Poisoned(failure) if matches!(failure.cause, Cause::HostWrite(_))),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("before launch 2: a write of the application's failed"), "{text}");
        let dependent = rt.launch(copy, 1, 1, args![x, y]).unwrap();
        let error = rt.wait(dependent).unwrap_err().to_string();
        assert!(error.contains("reads what a write of the application's, which failed"), "{error}");
        assert!(matches!(rt.read(y), Err(Error::Poisoned(root)) if root.cause != Cause::PoisonedByHost));
        // A part of it written anew is good, and the rest is not.
        rt.write(x.slice(2..4), &[5, 6]).unwrap();
        assert_eq!(rt.read(x.slice(2..4)).unwrap(), [5, 6]);
        assert!(rt.read(x.slice(..3)).is_err());
        rt.write(x, &[8; 8]).unwrap();
        assert_eq!(rt.read(x).unwrap(), [8; 8]);
        device.complete_all();
        let _ = rt.synchronize();
    }
}

#[test]
fn the_last_user_of_a_spoiled_value_passes_on_who_failed_first() {
    let (mut rt, device) = on_device(1 << 20);
    let held = rt.register(Kernel::new("held").read_write("g")).unwrap();
    let fails = rt.register(Kernel::new("fails").read("g").write("y")).unwrap();
    let copy = rt.register(Kernel::new("copy").read("x").write("y")).unwrap();
    let fill = rt.register(Kernel::new("fill").write("y")).unwrap();
    let [g, y, z] = [(); 3].map(|()| rt.buffer::<u8>(8).unwrap());
    rt.launch(held, 1, 1, args![g]).unwrap();
    let first = rt.launch(fails, 1, 1, args![g, y]).unwrap();
    rt.launch(copy, 1, 1, args![y, z]).unwrap();
    let anew = rt.launch(fill, 1, 1, args![y]).unwrap();
    rt.wait(anew).unwrap();
    assert_eq!(rt.renamed().versions, 1);
    device.complete_all();
    assert!(matches!(rt.read(z), Err(Error::Poisoned(failure)) if failure.ticket == first));
    assert_eq!(rt.read(y).unwrap(), [0; 8]);
    let Err(Error::Failed(failures)) = rt.synchronize() else { panic!("two failed") };
    let by = |cause: &Cause| matches!(cause, Cause::Poisoned { by, .. } if *by == first);
    assert!(failures.first.len() == 2 && by(&failures.first[1].cause), "{failures}");
}

/// A random program with kernels that fail: what it reads, and which launches failed for which cause, is told in the log.
fn failing(rt: &mut Runtime, seed: u64) -> Vec<String> {
    const ELEMENTS: usize = 24;
    let mut state = seed;
    let mut below = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let digest = |of: &dyn Fn(usize) -> u32, len: usize, number: u32| {
        (0..len).fold(number, |digest, i| (digest ^ of(i)).wrapping_mul(0x9E37_79B1).rotate_left(7))
    };
    let overwrite = Kernel::new("overwrite").value("n").read("x").write("y").body(move |cta| {
        let (n, x, y) = (cta.value::<u32>(0)?, cta.read::<u32>(1)?, cta.write::<u32>(2)?);
        if n % 17 == 3 {
            return Err("17".into());
        }
        let digest = digest(&|i| x.get(i), x.len(), n);
        (0..y.len()).for_each(|i| y.set(i, digest.wrapping_add(i as u32)));
        Ok(())
    });
    let update = Kernel::new("update").value("n").read("x").read_write("y").body(move |cta| {
        let (n, x, y) = (cta.value::<u32>(0)?, cta.read::<u32>(1)?, cta.read_write::<u32>(2)?);
        let digest = digest(&|i| x.get(i), x.len(), n);
        (0..y.len()).for_each(|i| y.set(i, y.get(i).wrapping_mul(3) ^ digest));
        Ok(())
    });
    let (overwrite, update) = (rt.register(overwrite).unwrap(), rt.register(update).unwrap());
    let mut buffers: Vec<Buffer<u32>> = (0..5).map(|_| rt.buffer(ELEMENTS).unwrap()).collect();
    let mut log = Vec::new();
    for number in 0..150u32 {
        let (one, other) = (below(5), below(5));
        let (x, y) = (buffers[one], buffers[other]);
        let mut view = |buffer: Buffer<u32>| -> View<u32> {
            let start = below(3 * ELEMENTS);
            let end = start + below(ELEMENTS.saturating_sub(start) + 1);
            if start < ELEMENTS { buffer.slice(start..end) } else { buffer.into() }
        };
        let (part, other_part) = (view(x), view(y));
        match below(16) {
            0 => log.push(format!("{:?}", rt.read(&part))),
            1 => rt.write(&part, &vec![number; part.range().len()]).unwrap(),
            2 => {
                rt.release(x).unwrap();
                buffers[one] = rt.buffer(ELEMENTS).unwrap();
            }
            3 => {
                let mut failures = match rt.synchronize() {
                    Err(Error::Failed(failures)) => failures.first,
                    done => {
                        done.unwrap();
                        Vec::new()
                    }
                };
                failures.sort_by_key(|failure| failure.ticket);
                log.push(format!("{failures:?}"));
            }
            _ if one == other => {}
            4..=10 => _ = rt.launch(overwrite, 1, 1, args![number, part, y]).unwrap(),
            _ => _ = rt.launch(update, 1, 1, args![number, part, other_part]).unwrap(),
        }
    }
    log.extend(buffers.into_iter().map(|buffer| format!("{:?}", rt.read(buffer))));
    log
}

#[test]
fn failures_and_what_they_spoil_are_those_of_program_order() {
    let first = seed();
    let (mut versions, mut spoiled) = (0, 0);
    for seed in (0..20).map(|round| first.wrapping_add(round)) {
        let runtime = |policy, window, rename, threads| {
            let builder = Runtime::builder().policy(policy).window(window).rename(rename);
            builder.executor(Cpu::new(threads).unwrap()).build().unwrap()
        };
        let expected = failing(&mut runtime(Policy::Serial, 32, 0, 1), seed);
        spoiled += expected.iter().filter(|line| line.contains("Poisoned")).count();
        for (window, rename) in [(32, 0), (4, 200), (32, 96), (600, 1 << 20)] {
            let mut rt = runtime(Policy::Window, window, rename, 3);
            assert_eq!(failing(&mut rt, seed), expected, "seed {seed}, window {window}, renaming {rename}");
            versions += rt.renamed().versions;
        }
    }
    assert!(versions > 50 && spoiled > 50, "{versions}, {spoiled}");
}

/// Panics where it is shown.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Unspeakable {}

/// Panics once more where its panic has been caught.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Bomb);
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

#[test]
fn panics_of_others_code_end_no_thread_of_the_runtime() {
    in_time(|| {
        let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
        let x = rt.buffer::<f32>(4).unwrap();
        for (body, cause) in [
            (
                Kernel::new("a").write("x").body(|_| Err(Box::new(Unspeakable))),
                Cause::Panicked("no words".into()),
            ),
            (Kernel::new("b").write("x").body(|_| Err(Box::new(Bomb))), Cause::Returned("a bomb".into())),
            (
                Kernel::new("c").write("x").body(|_| std::panic::panic_any(Bomb)),
                Cause::Panicked("without a message".into()),
            ),
        ] {
            let kernel = rt.register(body).unwrap();
            rt.launch(kernel, 1, 1, args![x]).unwrap();
            let Err(Error::Failed(failures)) = rt.synchronize() else { panic!("it failed") };
            assert_eq!(failures.first[0].cause, cause);
        }
        let fine = rt.register(Kernel::new("fine").write("x").body(|_| Ok(()))).unwrap();
        let bomb = Options::new().on_done(|_| std::panic::panic_any(Bomb));
        rt.launch_with(fine, 1, 1, args![x], bomb).unwrap();
        rt.synchronize().unwrap();
        rt.launch(fine, 1, 1, args![x]).unwrap();
        rt.read(x).unwrap();

        let closure = Kernel::new("closure").write("x").access(|_, _| panic!("no access")).body(|_| Ok(()));
        let closure = rt.register(closure).unwrap();
        let refused = Error::AccessPanicked { kernel: "closure".into(), reason: "no access".into() };
        assert_eq!(rt.launch(closure, 1, 1, args![x]), Err(refused));
        rt.synchronize().unwrap();
    });
}

/// An executor whose `start` panics with what panics again, and whose memory panics where it goes.
struct Careless(Option<Completions>);

#[derive(Debug)]
struct CarelessMemory(HostMemory, #[allow(dead_code, reason = "it is dropped")] Bomb);

impl Memory for CarelessMemory {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String> {
        self.0.read(offset, to)
    }
    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String> {
        self.0.write(offset, from)
    }
}

impl Allocator for Careless {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        Ok(Arc::new(CarelessMemory(HostMemory::new(elements, element)?, Bomb)))
    }
}

impl Executor for Careless {
    fn name(&self) -> String {
        "careless".into()
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(Careless(None))
    }
    fn connect(&mut self, completions: Completions) {
        self.0 = Some(completions);
    }
    fn start(&mut self, _: Task<'_>) -> Started {
        std::panic::panic_any(Bomb)
    }
}

#[test]
fn panics_of_an_executor_and_its_memory_end_no_thread_of_the_runtime() {
    in_time(|| {
        let mut rt = Runtime::builder().executor(Careless(None)).build().unwrap();
        let kernel = rt.register(Kernel::new("k")).unwrap();
        let (x, y) = (rt.buffer::<u8>(4).unwrap(), rt.buffer_from(&[1u8; 4]).unwrap());
        rt.launch(kernel, 1, 1, args![]).unwrap();
        assert!(matches!(rt.synchronize(), Err(Error::Failed(_))));
        rt.release(x).unwrap();
        rt.synchronize().unwrap();
        assert_eq!(rt.read(y).unwrap(), [1; 4]);
        // What is left to be dropped with the runtime is a panic of the test's own.
        rt.release(y).unwrap();
        rt.synchronize().unwrap();
    });
}

#[test]
fn a_value_too_large_for_the_budget_takes_nothing_from_the_others() {
    let (mut rt, device) = on_device(64);
    let held = rt.register(Kernel::new("held").read("x").write("y")).unwrap();
    let (a, b) = (rt.buffer::<u8>(32).unwrap(), rt.buffer::<u8>(32).unwrap());
    let (large, other) = (rt.buffer::<u8>(65).unwrap(), rt.buffer::<u8>(65).unwrap());
    let before = device.allocations.load(Ordering::SeqCst);
    for round in 0..10 {
        rt.launch(held, 1, 1, args![a, b]).unwrap();
        rt.launch(held, 1, 1, args![b, a]).unwrap();
        rt.launch(held, 1, 1, args![large, other]).unwrap();
        rt.launch(held, 1, 1, args![other, large]).unwrap();
        while !(0..4).all(|n| rt.is_done(Ticket(4 * round + n)).unwrap()) {
            device.complete_all();
        }
    }
    rt.synchronize().unwrap();
    let renamed = rt.renamed();
    assert!(renamed.versions > 0 && renamed.refused > 0, "{renamed:?}");
    let made = device.allocations.load(Ordering::SeqCst) - before;
    assert!(made <= 2, "{made} allocations: what was made once serves again");
}

#[test]
fn memory_of_renaming_is_given_back() {
    let renamed = || {
        let (mut rt, device) = on_device(60);
        device.limit.store(100, Ordering::SeqCst);
        let held = rt.register(Kernel::new("held").read("x").write("y")).unwrap();
        let (x, y) = (rt.buffer::<u8>(20).unwrap(), rt.buffer::<u8>(20).unwrap());
        for _ in 0..4 {
            rt.launch(held, 1, 1, args![x, y]).unwrap();
        }
        device.until_held(4);
        device.complete_all();
        rt.synchronize().unwrap();
        assert_eq!(rt.renamed(), Renamed { versions: 3, refused: 0, peak_bytes: 60 });
        assert_eq!(device.live.load(Ordering::SeqCst), 100);
        (rt, device, x, y)
    };
    // For a buffer that there is no other memory for.
    let (mut rt, device, ..) = renamed();
    let new = rt.buffer::<u8>(50).unwrap();
    assert_eq!(device.live.load(Ordering::SeqCst), 90);
    assert!(matches!(rt.buffer::<u8>(50), Err(Error::OutOfMemory { bytes: 50, .. })));
    rt.release(new).unwrap();
    // When it is asked for.
    let (mut rt, device, ..) = renamed();
    rt.trim();
    assert_eq!(device.live.load(Ordering::SeqCst), 40);
    // When the last buffer of its size goes.
    let (mut rt, device, x, y) = renamed();
    rt.release(x).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(device.live.load(Ordering::SeqCst), 80, "it may serve the other one");
    rt.release(y).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(device.live.load(Ordering::SeqCst), 0);
}

#[test]
fn many_values_in_flight_do_not_slow_each_other() {
    let time = |kernels: usize| {
        let device = Arc::new(Device::default());
        let builder = Runtime::builder().window(4096).queue(1 << 14).rename(u64::MAX);
        let mut rt = builder.executor(OnDevice(device.clone())).build().unwrap();
        let held = rt.register(Kernel::new("held").write("y")).unwrap();
        let y = rt.buffer::<u8>(16).unwrap();
        rt.synchronize().unwrap();
        let began = Instant::now();
        (0..kernels).for_each(|_| _ = rt.launch(held, 1, 1, args![y]).unwrap());
        device.until_held(kernels);
        let took = began.elapsed();
        device.complete_all();
        rt.synchronize().unwrap();
        assert_eq!(rt.renamed().versions as usize, kernels - 1);
        took
    };
    let least = |kernels| (0..5).map(|_| time(kernels)).min().unwrap();
    let (few, many) = (least(500), least(4000));
    // 8 times as many; 60 times as long where each looks at all.
    assert!(many < few * 30, "{few:?} for 500, {many:?} for 4000");
}

#[test]
fn what_kernels_hold_is_free_when_the_runtime_has_been_dropped() {
    for _ in 0..50 {
        let mut rt = Runtime::builder().executor(Cpu::new(8).unwrap()).build().unwrap();
        let x = rt.buffer::<f32>(4).unwrap();
        let held = Arc::new(AtomicUsize::new(0));
        let count = held.clone();
        let kernel = Kernel::new("k").write("x").body(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let kernel = rt.register(kernel).unwrap();
        for _ in 0..20 {
            rt.launch(kernel, 8, 1, args![x]).unwrap();
        }
        drop(rt);
        assert_eq!(held.load(Ordering::Relaxed), 160);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[test]
fn parameters_with_types_take_no_others_on_any_executor() {
    let mut rt = Runtime::builder().executor(Immediate).build().unwrap();
    let scale = Kernel::new("scale").value_of::<f32>("by").read_of::<f32>("x").write_of::<f32>("y");
    let scale = rt.register(scale.read_write_of::<u32>("n")).unwrap();
    let (x, y) = (rt.buffer::<f32>(4).unwrap(), rt.buffer::<f32>(4).unwrap());
    let (n, wrong) = (rt.buffer::<u32>(1).unwrap(), rt.buffer::<f64>(4).unwrap());
    let mut text = |args: &[_]| rt.launch(scale, 1, 1, args).unwrap_err().to_string();
    assert_eq!(
        text(args![3.0, x, y, n]),
        "argument 0 (by) of kernel scale is declared as f32, and was given as f64; \
         write the number with its type, as in `1f32`"
    );
    assert_eq!(
        text(args![3.0f32, wrong, y, n]),
        "argument 1 (x) of kernel scale is declared as f32, and was given as f64; give a buffer of f32"
    );
    assert!(text(args![3.0f32, x, wrong, n]).starts_with("argument 2 (y)"));
    assert!(text(args![3.0f32, x, y, x]).starts_with("argument 3 (n) of kernel scale is declared as u32"));
    assert_eq!(rt.launch(scale, 1, 1, args![3.0f32, x, y, n]), Ok(Ticket(0)));
}

#[test]
fn how_a_launch_ended_depends_on_no_other() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let bad = rt.register(Kernel::new("bad").body(|_| Err("no".into()))).unwrap();
    let good = rt.register(Kernel::new("good").body(|_| Ok(()))).unwrap();
    let first = rt.launch(bad, 1, 1, args![]).unwrap();
    for _ in 0..1100 {
        rt.launch(bad, 1, 1, args![]).unwrap();
    }
    let fine = rt.launch(good, 1, 1, args![]).unwrap();
    assert_eq!(rt.wait(fine), Ok(()));
    assert_eq!(rt.is_done(fine), Ok(true));
    assert!(matches!(rt.wait(first), Err(Error::Failed(_))));
    assert_eq!(rt.wait(Ticket(1100)), Err(Error::CauseNotKept { ticket: 1100 }));
    assert!(rt.synchronize().is_err());
    assert_eq!(rt.wait(first), Err(Error::CauseNotKept { ticket: 0 }));
    assert_eq!(rt.wait(fine), Ok(()));
    assert_eq!(rt.is_done(Ticket(1102)), Err(Error::NotLaunched { ticket: 1102, launched: 1102 }));
}

#[test]
fn of_failures_far_apart_the_last_are_kept() {
    // Without a body `Cpu` fails it at once.
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let bad = rt.register(Kernel::new("bad").write("x")).unwrap();
    let good = rt.register(Kernel::new("good").read("x").body(|_| Ok(()))).unwrap();
    let (x, y) = (rt.buffer::<u8>(1).unwrap(), rt.buffer::<u8>(1).unwrap());
    for _ in 0..1 << 16 {
        rt.launch(bad, 1, 1, args![x]).unwrap();
        rt.launch(good, 1, 1, args![y]).unwrap();
    }
    rt.launch(bad, 1, 1, args![x]).unwrap();
    assert!(rt.synchronize().is_err());
    assert_eq!(rt.wait(Ticket(0)), Err(Error::OutcomeNotKept { ticket: 0 }));
    assert_eq!(rt.wait(Ticket(1)), Ok(()), "nothing was forgotten of it");
    assert_eq!(rt.wait(Ticket(2)), Err(Error::CauseNotKept { ticket: 2 }));
    assert_eq!(rt.wait(Ticket(1 << 17)), Err(Error::CauseNotKept { ticket: 1 << 17 }));
}

#[test]
fn an_access_closure_whose_range_ends_before_it_begins_is_told_so() {
    let mut rt = Runtime::builder().executor(Immediate).build().unwrap();
    let x = rt.buffer::<u8>(16).unwrap();
    for (from, to) in [(8, 4), (u64::MAX, 0)] {
        let kernel = Kernel::new("k").read("x").access(move |_, a| a.read(0, from..to));
        let kernel = rt.register(kernel).unwrap();
        let what = "argument 0 of kernel k, as its access closure says".into();
        assert_eq!(rt.launch(kernel, 1, 1, args![x]), Err(Error::Range { what }));
    }
}

#[test]
fn a_launch_that_accesses_more_than_510_gib_is_refused_when_it_is_launched() {
    let mut rt = Runtime::builder().executor(NoMemory).build().unwrap();
    let kernel = rt.register(Kernel::new("k").read_write("x")).unwrap();
    let said = Kernel::new("said").read_write("x").access(|launch, a| a.write(0, 1..launch.bytes(0)));
    let said = rt.register(said).unwrap();
    let x = rt.buffer::<u8>(600 << 30).unwrap();
    let parts = |name: &str, parts| Err(Error::TooManyParts { what: format!("kernel {name}"), parts });
    assert_eq!(rt.launch(kernel, 1, 1, args![x]), parts("k", 300));
    assert_eq!(rt.launch(said, 1, 1, args![x]), parts("said", 300));
    assert_eq!(rt.launch(kernel, 1, 1, args![x.slice(1..1 + (510 << 30))]), parts("k", 256));
    assert_eq!(
        rt.launch(kernel, 1, 1, args![x]).unwrap_err().to_string(),
        "kernel k would read, or write, 300 parts of buffers at a time, and there may be 255: a buffer of more than 2 GiB has one for each 2 GiB; access fewer bytes at a time"
    );
    rt.launch(kernel, 1, 1, args![x.slice(..510 << 30)]).unwrap();
    rt.launch(said, 1, 1, args![x.slice(90 << 30..)]).unwrap();
    rt.release(x).unwrap();
    assert_eq!(rt.synchronize(), Ok(()));
}

#[test]
fn numbers_are_no_ranges() {
    let mut rt = Runtime::builder().executor(Immediate).build().unwrap();
    let x = rt.buffer::<u8>(1000).unwrap();
    let mut launch = |values: usize, reads: usize, writes: usize| {
        let kernel = (0..values).fold(Kernel::new("k"), |k, n| k.value(format!("n{n}")));
        let kernel = (0..reads).fold(kernel, |k, n| k.read(format!("r{n}")));
        let kernel = (0..writes).fold(kernel, |k, n| k.write(format!("w{n}")));
        let kernel = rt.register(kernel).unwrap();
        let mut args = vec![Arg::from(1u32); values];
        args.extend((0..reads + writes).map(|n| Arg::from(x.slice(n..n + 1))));
        rt.launch(kernel, 1, 1, &args).and_then(|_| rt.synchronize())
    };
    let refused = Err(Error::TooManyRanges { kernel: "k".into() });
    assert_eq!(launch(1000, 1, 1), Ok(()));
    assert_eq!(launch(0, 255, 255), Ok(()));
    assert_eq!(launch(0, 256, 0), refused);
    assert_eq!(launch(0, 0, 256), refused);
}

/// So that whoever has waited for a launch knows that its callback is through.
#[test]
fn a_launch_has_ended_once_its_callback_has() {
    let rt = Arc::new(Mutex::new(Runtime::builder().executor(Immediate).build().unwrap()));
    let (tell, told) = channel();
    let inner = rt.clone();
    let launched = {
        let mut rt = rt.lock().unwrap();
        let kernel = rt.register(Kernel::new("k")).unwrap();
        let options =
            Options::new().on_done(move |_| tell.send(inner.lock().unwrap().is_done(Ticket(0))).unwrap());
        rt.launch_with(kernel, 1, 1, args![], options).unwrap()
    };
    assert_eq!(told.recv().unwrap(), Ok(false));
    assert_eq!(rt.lock().unwrap().wait(launched), Ok(()));
    assert_eq!(rt.lock().unwrap().is_done(launched), Ok(true));
}

#[test]
fn of_failures_that_spoil_a_kernels_arguments_the_first_is_named() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let bad = rt.register(Kernel::new("bad").write("x").body(|_| Err("no".into()))).unwrap();
    let sum = rt.register(Kernel::new("sum").read("a").read("b").write("c").body(|_| Ok(()))).unwrap();
    let [x, y, z] = [(); 3].map(|()| rt.buffer::<u8>(1).unwrap());
    let first = rt.launch(bad, 1, 1, args![x]).unwrap();
    rt.launch(bad, 1, 1, args![y]).unwrap();
    for args in [args![x, y, z], args![y, x, z]] {
        let sum = rt.launch(sum, 1, 1, args).unwrap();
        let Err(Error::Failed(failures)) = rt.wait(sum) else { panic!("it read what is spoiled") };
        assert_eq!(failures.first[0].cause, Cause::Poisoned { by: first, name: "bad".into() });
    }
}

#[test]
fn what_was_forgotten_stays_so_where_an_early_launch_fails_last() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let (go, gone) = channel();
    let gone = Mutex::new(gone);
    let late = Kernel::new("late").body(move |_| {
        gone.lock().unwrap().recv()?;
        Err("late".into())
    });
    let late = rt.register(late).unwrap();
    let late = rt.launch(late, 1, 1, args![]).unwrap();
    let bad = rt.register(Kernel::new("bad").write("x")).unwrap();
    let good = rt.register(Kernel::new("good").read("x").body(|_| Ok(()))).unwrap();
    let (x, y) = (rt.buffer::<u8>(1).unwrap(), rt.buffer::<u8>(1).unwrap());
    let mut last = late;
    for _ in 0..(1 << 16) + 10 {
        rt.launch(bad, 1, 1, args![x]).unwrap();
        last = rt.launch(good, 1, 1, args![y]).unwrap();
    }
    assert_eq!(rt.wait(last), Ok(()));
    go.send(()).unwrap();
    assert!(rt.synchronize().is_err());
    for forgotten in [late, Ticket(1), Ticket(5), Ticket(19)] {
        assert_eq!(rt.wait(forgotten), Err(Error::OutcomeNotKept { ticket: forgotten.0 }));
    }
    assert_eq!(rt.wait(Ticket(21)), Err(Error::CauseNotKept { ticket: 21 }));
}

#[test]
fn a_launch_can_be_asked_for_without_waiting_and_waited_for_in_time() {
    let (mut rt, device) = on_device(0);
    let held = rt.register(Kernel::new("held").read("x")).unwrap();
    let quick = rt.register(Kernel::new("quick").read("x")).unwrap();
    let x = rt.buffer::<u8>(1).unwrap();
    let held = rt.launch(held, 1, 1, args![x]).unwrap();
    let quick = rt.launch(quick, 1, 1, args![x]).unwrap();
    assert_eq!(rt.wait_timeout(quick, Duration::from_secs(60)), Ok(true));
    assert_eq!(rt.wait_timeout(held, Duration::from_millis(20)), Ok(false));
    assert_eq!((rt.is_done(held), rt.is_done(quick)), (Ok(false), Ok(true)));
    device.until_held(1);
    device.complete_all();
    assert_eq!(rt.wait_timeout(held, Duration::MAX), Ok(true));
    assert_eq!(rt.is_done(held), Ok(true));
}

#[test]
fn a_launch_waits_for_one_place_in_the_queue_and_for_no_more() {
    in_time(|| {
        let device = Arc::new(Device::default());
        let builder = Runtime::builder().window(4).queue(4).executor(OnDevice(device.clone()));
        let mut rt = builder.build().unwrap();
        let held = rt.register(Kernel::new("held").read_write("x")).unwrap();
        let x = rt.buffer::<u8>(1).unwrap();
        // Four are in the window, each waits for the one before, and four in the queue.
        for _ in 0..8 {
            rt.launch(held, 1, 1, args![x]).unwrap();
        }
        device.until_held(1);
        let first = std::thread::spawn({
            let device = device.clone();
            move || {
                std::thread::sleep(Duration::from_millis(50));
                device.complete_all();
            }
        });
        // No other ends before this is launched.
        rt.launch(held, 1, 1, args![x]).unwrap();
        first.join().unwrap();
        for _ in 0..8 {
            device.until_held(1);
            device.complete_all();
        }
        rt.synchronize().unwrap();
    });
}

#[test]
fn a_launch_waits_for_no_callback_where_the_queue_has_room() {
    in_time(|| {
        let mut rt = Runtime::builder().queue(1).executor(Immediate).build().unwrap();
        let kernel = rt.register(Kernel::new("k")).unwrap();
        for _ in 0..100 {
            let (go, gone) = channel();
            let options = Options::new().on_done(move |_| gone.recv().unwrap());
            rt.launch_with(kernel, 1, 1, args![], options).unwrap();
            rt.launch(kernel, 1, 1, args![]).unwrap();
            go.send(()).unwrap();
        }
        rt.synchronize().unwrap();
    });
}

#[test]
fn a_callback_that_would_wait_for_its_runtime_is_told_so() {
    let found = in_time(|| {
        let builder = Runtime::builder().queue(2).executor(Cpu::new(2).unwrap());
        let rt = Arc::new(Mutex::new(builder.build().unwrap()));
        let (tell, told) = channel();
        let inner = rt.clone();
        {
            let mut rt = rt.lock().unwrap();
            let kernel = rt.register(Kernel::new("k").write("x").body(|_| Ok(()))).unwrap();
            let x = rt.buffer::<f32>(4).unwrap();
            let options = Options::new().on_done(move |_| {
                let mut rt = inner.lock().unwrap();
                let first = rt.launch(kernel, 1, 1, args![x]).unwrap();
                let full = (0..2).find_map(|_| rt.launch(kernel, 1, 1, args![x]).err());
                let found = vec![
                    rt.synchronize().err(),
                    rt.wait(first).err(),
                    rt.wait_timeout(first, Duration::ZERO).err(),
                    rt.read(x).err(),
                    rt.write(x, &[0.0; 4]).err(),
                    full,
                ];
                tell.send((found, rt.is_done(first))).unwrap();
            });
            rt.launch_with(kernel, 1, 1, args![x], options).unwrap();
        }
        let (found, done) = told.recv().unwrap();
        assert_eq!(done, Ok(false));
        // What was launched there runs.
        rt.lock().unwrap().synchronize().unwrap();
        found
    });
    assert_eq!(found, vec![Some(Error::Reentrant); 6]);
}

#[test]
fn a_body_that_would_wait_for_its_runtime_is_told_so() {
    let found = in_time(|| {
        let rt =
            Arc::new(Mutex::new(Runtime::builder().queue(2).executor(Cpu::new(2).unwrap()).build().unwrap()));
        let (tell, told) = channel();
        let inner = rt.clone();
        {
            let mut rt = rt.lock().unwrap();
            let leaf = rt.register(Kernel::new("leaf").write("x").body(|_| Ok(()))).unwrap();
            let x = rt.buffer::<f32>(4).unwrap();
            let asks = Kernel::new("asks").write("x").body(move |_| {
                let mut rt = inner.lock().unwrap();
                let first = rt.launch(leaf, 1, 1, args![x])?;
                let mut other = Runtime::builder().executor(Cpu::new(1)?).build()?;
                let found = [
                    rt.synchronize().err(),
                    rt.wait(first).err(),
                    rt.read(x).err(),
                    rt.write(x, &[0.0; 4]).err(),
                    // It waits for another's as any thread does.
                    other.synchronize().err(),
                ];
                tell.send((found, rt.is_done(first)))?;
                Ok(())
            });
            let asks = rt.register(asks).unwrap();
            rt.launch(asks, 1, 1, args![x]).unwrap();
        }
        let (found, done) = told.recv().unwrap();
        assert_eq!(done, Ok(false));
        rt.lock().unwrap().synchronize().unwrap();
        found
    });
    let told = Some(Error::Reentrant);
    assert_eq!(found, [told.clone(), told.clone(), told.clone(), told, None]);
}

#[test]
fn a_runtime_that_is_dropped_in_a_body_ends_by_itself() {
    in_time(|| {
        let rt =
            Arc::new(Mutex::new(Some(Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap())));
        let ran = Arc::new(AtomicUsize::new(0));
        let (inner, count) = (rt.clone(), ran.clone());
        {
            let mut rt = rt.lock().unwrap();
            let rt = rt.as_mut().unwrap();
            let x = rt.buffer::<f32>(4).unwrap();
            let kernel = Kernel::new("k").write("x").body(move |_| {
                drop(inner.lock().unwrap().take());
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            let kernel = rt.register(kernel).unwrap();
            rt.launch(kernel, 1, 1, args![x]).unwrap();
            rt.launch(kernel, 1, 1, args![x]).unwrap();
        }
        until_alone(&ran);
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_runtime_that_is_dropped_in_its_callback_ends_by_itself() {
    in_time(|| {
        let rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
        let rt = Arc::new(Mutex::new(Some(rt)));
        let (tell, told) = channel();
        let ran = Arc::new(AtomicUsize::new(0));
        let (inner, count) = (rt.clone(), ran.clone());
        {
            let mut rt = rt.lock().unwrap();
            let rt = rt.as_mut().unwrap();
            let x = rt.buffer::<f32>(4).unwrap();
            let kernel = Kernel::new("k").write("x").body(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            let kernel = rt.register(kernel).unwrap();
            let options = Options::new().on_done(move |_| {
                drop(inner.lock().unwrap().take());
                tell.send(()).unwrap();
            });
            rt.launch_with(kernel, 1, 1, args![x], options).unwrap();
            rt.launch(kernel, 1, 1, args![x]).unwrap();
        }
        told.recv().unwrap();
        until_alone(&ran);
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    });
}

/// Memory of any size that nobody may touch.
#[derive(Debug)]
struct Nothing;

impl Memory for Nothing {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), String> {
        Ok(())
    }
    fn write(&self, _: u64, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

struct NoMemory;

impl Allocator for NoMemory {
    fn allocate(&self, _: usize, _: ElementKind) -> Result<Arc<dyn Memory>, String> {
        Ok(Arc::new(Nothing))
    }
}

impl Executor for NoMemory {
    fn name(&self) -> String {
        "none".into()
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(NoMemory)
    }
    fn connect(&mut self, _: Completions) {}
    fn start(&mut self, _: Task<'_>) -> Started {
        Started::Ended(Ok(()))
    }
}

#[test]
fn only_a_recording_runs_out_of_addresses_and_says_so() {
    for record in [false, true] {
        let executor: Box<dyn Executor> = Box::new(NoMemory);
        let mut rt = Runtime::builder().record(record).executor(executor).build().unwrap();
        let mut large = || {
            let buffer = rt.buffer::<u8>(1 << 46)?;
            rt.release(buffer)?;
            rt.synchronize()
        };
        let found = (0..300).find_map(|_| large().err());
        assert_eq!(found, record.then_some(Error::NoAddresses { bytes: 1 << 46 }));
        let whole = rt.buffer::<u8>(1 << 53);
        assert!(matches!(whole, Err(Error::BufferSize { .. })), "{whole:?}");
    }
}

#[test]
fn views_are_cut_as_slices_are() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).build().unwrap();
    let x = rt.buffer_from(&[0u32, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    for (view, expected) in [
        (x.slice(..3), vec![0, 1, 2]),
        (x.slice(6..), vec![6, 7]),
        (x.slice(2..=3), vec![2, 3]),
        (x.slice(..), (0..8).collect()),
        (x.slice(2..6).slice(1..3), vec![3, 4]),
        (x.slice(2..6).slice(..), vec![2, 3, 4, 5]),
        (x.slice(2..6).slice(2..).slice(1..=1), vec![5]),
        (x.slice(8..), vec![]),
    ] {
        assert_eq!(rt.read(&view).unwrap(), expected, "{view:?}");
    }
    #[expect(clippy::reversed_empty_ranges, reason = "that is the error")]
    let reversed = x.slice(5..3);
    for view in [x.slice(2..6).slice(3..5), reversed.clone(), reversed.slice(..)] {
        let error = rt.read(&view).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a range that ends before it begins, or leads out of the view that it was cut from (for the host)"
        );
    }
    assert!(matches!(rt.read(x.slice(..=usize::MAX)), Err(Error::OutOfBounds { .. })));
    let error = rt.write(x, &[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "4 bytes are given for a view of 32; give as many elements as the view has, or slice it"
    );
    assert_eq!(rt.bytes(x), Ok(32));
}

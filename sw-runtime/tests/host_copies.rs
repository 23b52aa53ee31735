//! Copies that were started, waited for or not; memory of the application's own as a buffer; waiting as a future.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use windlass_runtime::args;
use windlass_runtime::runtime::{
    Allocator, Buffer, Cause, Cpu, ElementKind, Error, Executor, HostAllocator, HostMemory, Immediate,
    Kernel, Memory, Options, Registered, Runtime, Started, Task, Violation, Waiter,
};

/// What a call gives that must not wait for ever: in minutes, for under a sanitizer on a busy machine all takes long.
fn in_time<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = channel();
    std::thread::spawn(move || done.send(call()));
    waits.recv_timeout(Duration::from_secs(300)).expect("it panicked, or never came back")
}

/// Memory of the test's own, which keeps it.
struct Own(Arc<[AtomicI32]>);

impl Own {
    fn of(values: impl IntoIterator<Item = i32>) -> Self {
        Self(values.into_iter().map(AtomicI32::new).collect())
    }

    /// Where an element is.
    fn at(&self, index: usize) -> *mut i32 {
        self.0[index..].as_ptr().cast_mut().cast()
    }

    fn values(&self) -> Vec<i32> {
        self.0.iter().map(|value| value.load(Ordering::Relaxed)).collect()
    }
}

fn eventually(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A runtime with a kernel that adds 1 to `x`, but waits before for a word from the test, and one that copies `x` to `y`.
struct Bench {
    rt: Runtime,
    held: Registered,
    copy: Registered,
    go: Sender<()>,
}

fn bench(rename: u64) -> Bench {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).rename(rename).build().unwrap();
    let (go, wait) = channel();
    let wait = Mutex::new(wait);
    let held = Kernel::new("held").read_write("x").body(move |cta| {
        wait.lock().unwrap().recv()?;
        let x = cta.read_write::<i32>(0)?;
        (0..x.len()).for_each(|i| x.set(i, x.get(i) + 1));
        Ok(())
    });
    let copy = Kernel::new("copy").read("x").write("y").body(|cta| {
        let (x, y) = (cta.read::<i32>(0)?, cta.write::<i32>(1)?);
        (0..x.len()).for_each(|i| y.set(i, x.get(i)));
        Ok(())
    });
    let (held, copy) = (rt.register(held).unwrap(), rt.register(copy).unwrap());
    Bench { rt, held, copy, go }
}

#[test]
fn a_started_read_has_its_place_in_program_order() {
    let Bench { mut rt, held, copy, go } = bench(0);
    let (x, y, z) = (rt.buffer_from(&[1, 2, 3]).unwrap(), rt.buffer(3).unwrap(), rt.buffer(3).unwrap());
    rt.launch(held, 1, 1, args![x]).unwrap();
    let part = rt.start_read(x.slice(1..)).unwrap();
    let whole = rt.start_read_into(x, vec![7; 3].into_boxed_slice()).unwrap();
    // Both come after it in program order.
    rt.launch(copy, 1, 1, args![y, x]).unwrap();
    rt.launch(copy, 1, 1, args![x, z]).unwrap();
    assert!(!part.waiter().is_done());
    assert_eq!(whole.waiter().wait_timeout(Duration::from_millis(5)), Ok(false));
    // Others go on meanwhile, on other memory.
    assert_eq!(rt.read(y), Ok(vec![0; 3]));
    go.send(()).unwrap();
    assert_eq!(part.wait(), Ok(vec![3, 4]));
    let read: Box<[i32]> = whole.wait().unwrap();
    assert_eq!(*read, [2, 3, 4]);
    assert_eq!(rt.read(z), Ok(vec![0; 3]));
    rt.synchronize().unwrap();
    assert!(format!("{:?}", rt.start_read(x).unwrap()).starts_with("Reading {"));
}

#[test]
fn a_started_write_waits_for_readers_unless_it_is_renamed() {
    for rename in [0, 1 << 20] {
        let Bench { mut rt, held, copy, go } = bench(rename);
        let (x, y) = (rt.buffer_from(&[1, 2]).unwrap(), rt.buffer(2).unwrap());
        rt.launch(held, 1, 1, args![x]).unwrap();
        let written = rt.start_write(x, vec![5, 6]).unwrap();
        rt.launch(copy, 1, 1, args![x, y]).unwrap();
        if rename > 0 {
            written.wait().unwrap();
            assert_eq!(rt.read(y), Ok(vec![5, 6]), "beside the old value");
        } else {
            assert_eq!(written.wait_timeout(Duration::from_millis(5)), Ok(false));
        }
        go.send(()).unwrap();
        written.wait().unwrap();
        assert_eq!((rt.read(x), rt.read(y)), (Ok(vec![5, 6]), Ok(vec![5, 6])));
    }
}

/// Many, of which nobody waits for one: they are made before the runtime is gone.
#[test]
fn dropping_the_runtime_waits_for_copies() {
    let memory: Vec<Own> = (0..50).map(|_| Own::of(vec![0; 1000])).collect();
    let Bench { mut rt, held, go, .. } = bench(0);
    let x = rt.buffer_from(&[0]).unwrap();
    rt.launch(held, 1, 1, args![x]).unwrap();
    for (value, memory) in (1..).zip(&memory) {
        // SAFETY: the owner keeps it, and all accesses are atomic.
        let buffer: Buffer<i32> = unsafe { rt.import(memory.at(0), 1000, memory.0.clone()) }.unwrap();
        rt.start_write(buffer, vec![value; 1000]).unwrap();
        drop(rt.start_read(buffer).unwrap());
    }
    let last = rt.start_read(x).unwrap();
    go.send(()).unwrap();
    in_time(move || drop(rt));
    for (value, memory) in (1..).zip(&memory) {
        assert_eq!(memory.values(), vec![value; 1000]);
    }
    assert!(last.waiter().is_done());
    assert_eq!(last.wait(), Ok(vec![1]));
}

#[test]
fn a_copy_of_another_length_or_of_nothing_that_is_there_is_refused() {
    let Bench { mut rt, .. } = bench(0);
    let x: Buffer<i32> = rt.buffer(4).unwrap();
    let given = |given| Error::Length { given, view: 16 };
    assert_eq!(rt.start_write(x, vec![1; 3]).err(), Some(given(12)));
    assert_eq!(rt.start_read_into(x, vec![1; 5]).err(), Some(given(20)));
    assert!(matches!(rt.start_read(x.slice(2..5)).err(), Some(Error::OutOfBounds { .. })));
    // Before memory is asked for.
    assert!(matches!(rt.start_read(x.slice(2..usize::MAX)).err(), Some(Error::OutOfBounds { .. })));
    rt.release(x).unwrap();
    assert_eq!(rt.start_read(x).err(), Some(Error::UnknownBuffer));
    assert_eq!(rt.start_write(x, [0; 4]).err(), Some(Error::UnknownBuffer));
}

/// A slice that is another one, or panics, after so many times.
struct Fickle(Vec<i32>, AtomicUsize, fn(&[i32]) -> &[i32]);

impl AsRef<[i32]> for Fickle {
    fn as_ref(&self) -> &[i32] {
        if self.1.fetch_add(1, Ordering::Relaxed) == 0 { &self.0 } else { self.2(&self.0) }
    }
}

#[test]
fn values_that_change_or_panic_spoil_only_their_bytes() {
    let Bench { mut rt, copy, .. } = bench(0);
    let (x, y) = (rt.buffer_from(&[1, 2, 3]).unwrap(), rt.buffer::<i32>(3).unwrap());
    let values = |and_then| Fickle(vec![4, 5, 6], AtomicUsize::new(0), and_then);
    let shorter = rt.start_write(x, values(|all| &all[1..])).unwrap();
    assert_eq!(shorter.wait(), Err(Error::Length { given: 8, view: 12 }));
    let panics = rt.start_write(x, values(|_| panic!("a slice that bites"))).unwrap();
    let reason = "panicked: a slice that bites".to_string();
    assert_eq!(panics.wait(), Err(Error::Device { bytes: 12, reason }));
    // As after any write that failed.
    assert!(matches!(rt.start_read(x).unwrap().wait(), Err(Error::Poisoned(_))));
    rt.launch(copy, 1, 1, args![x, y]).unwrap();
    let Err(Error::Failed(failures)) = rt.synchronize() else { panic!() };
    assert_eq!((failures.first[0].cause.clone(), failures.first.len()), (Cause::PoisonedByHost, 1));
    rt.start_write(x, [7; 3]).unwrap();
    assert_eq!(rt.read(x), Ok(vec![7; 3]));
    rt.synchronize().unwrap();
}

#[test]
fn a_failed_kernel_spoils_a_started_read() {
    let Bench { mut rt, .. } = bench(0);
    let fails = rt.register(Kernel::new("fails").write("x").body(|_| Err("no".into()))).unwrap();
    let x: Buffer<i32> = rt.buffer(4).unwrap();
    let before = rt.start_read(x).unwrap();
    rt.launch(fails, 1, 1, args![x]).unwrap();
    let after = rt.start_read(x).unwrap();
    assert_eq!(before.wait(), Ok(vec![0; 4]));
    let Err(Error::Poisoned(failure)) = after.wait() else { panic!() };
    assert_eq!(failure.kernel, "fails");
    assert!(rt.synchronize().is_err());
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize, Option<std::thread::Thread>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        if let Some(thread) = &self.1 {
            thread.unpark();
        }
    }
}

/// What any runtime of futures does.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Woken(AtomicUsize::new(0), Some(std::thread::current())));
    let waker = Waker::from(woken);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn launches_and_copies_are_futures() {
    let Bench { mut rt, held, go, .. } = bench(0);
    let x = rt.buffer_from(&[1]).unwrap();
    let (options, launched) = Options::new().waiter();
    rt.launch_with(held, 1, 1, args![x], options).unwrap();
    let reading = rt.start_read(x).unwrap();
    let values = std::thread::spawn(move || {
        block_on(async {
            launched.clone().await?;
            reading.waiter().clone().await?;
            // Again, and at once.
            launched.await?;
            reading.wait()
        })
    });
    go.send(()).unwrap();
    assert_eq!(in_time(|| values.join().unwrap()), Ok(vec![2]));

    // Every task is woken, one that polls again once; one that is dropped harms nobody.
    let (options, waiter) = Options::new().waiter();
    let tasks: Vec<Arc<Woken>> = (0..3).map(|_| Arc::default()).collect();
    let poll = |waiter: &Waiter, task: &Arc<Woken>| {
        let mut waiter = waiter.clone();
        pin!(&mut waiter).poll(&mut Context::from_waker(&Waker::from(task.clone())))
    };
    for task in tasks.iter().chain(&tasks) {
        assert_eq!(poll(&waiter, task), Poll::Pending);
    }
    rt.launch_with(held, 1, 1, args![x], options).unwrap();
    assert_eq!(poll(&waiter, &tasks[0]), Poll::Pending);
    go.send(()).unwrap();
    waiter.wait().unwrap();
    eventually(|| tasks.iter().all(|task| task.0.load(Ordering::SeqCst) == 1));
    assert_eq!(poll(&waiter, &tasks[0]), Poll::Ready(Ok(())));
    // A launch that is refused.
    let (options, waiter) = Options::new().waiter();
    rt.launch_with(held, 1, 1, args![], options).unwrap_err();
    assert_eq!(block_on(waiter), Err(Error::Refused));
}

/// A waker that panics.
struct Bites;

impl Wake for Bites {
    fn wake(self: Arc<Self>) {
        panic!("a waker that bites");
    }
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    let Bench { mut rt, held, go, .. } = bench(0);
    let x = rt.buffer_from(&[1]).unwrap();
    let (options, mut waiter) = Options::new().waiter();
    let woken: Arc<Woken> = Arc::default();
    for waker in [Waker::from(Arc::new(Bites)), Waker::from(woken.clone())] {
        assert_eq!(pin!(&mut waiter).poll(&mut Context::from_waker(&waker)), Poll::Pending);
    }
    rt.launch_with(held, 1, 1, args![x], options).unwrap();
    go.send(()).unwrap();
    assert_eq!(waiter.wait(), Ok(()));
    eventually(|| woken.0.load(Ordering::SeqCst) == 1);
    assert_eq!(rt.read(x), Ok(vec![2]));
    rt.synchronize().unwrap();
}

#[test]
fn who_serves_the_runtime_does_not_wait_for_copies() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap();
    let (give, take) = channel::<Waiter>();
    let (say, said) = channel();
    let take = Mutex::new(take);
    let kernel = Kernel::new("waits").read("x").body(move |_| {
        say.send(take.lock().unwrap().recv()?.wait())?;
        Ok(())
    });
    let kernel = rt.register(kernel).unwrap();
    let x: Buffer<i32> = rt.buffer(1).unwrap();
    rt.launch(kernel, 1, 1, args![x]).unwrap();
    give.send(rt.start_write(x, [1]).unwrap()).unwrap();
    assert_eq!(said.recv_timeout(Duration::from_secs(300)), Ok(Err(Error::Reentrant)));
    rt.synchronize().unwrap();
    // Nor does what the copies' thread calls: there the runtime would wait for its own copy.
    let rt = Arc::new(Mutex::new(rt));
    let (say, said) = channel();
    let inner = Asks(rt.clone(), Mutex::new((say, 0)), x);
    let written = rt.lock().unwrap().start_write(x, inner).unwrap();
    assert_eq!(said.recv_timeout(Duration::from_secs(300)), Ok(Some(Error::Reentrant)));
    written.wait().unwrap();
}

/// Values that ask the runtime while they are copied.
struct Asks(Arc<Mutex<Runtime>>, Mutex<(Sender<Option<Error>>, u32)>, Buffer<i32>);

impl AsRef<[i32]> for Asks {
    fn as_ref(&self) -> &[i32] {
        let (say, calls) = &mut *self.1.lock().unwrap();
        *calls += 1;
        if *calls > 1 {
            let _ = say.send(self.0.lock().unwrap().read(self.2).err());
        }
        &[3]
    }
}

/// What tells that it was dropped.
struct Owner(Arc<AtomicUsize>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn imported_memory_is_used_where_it_is() {
    for rename in [0, 1 << 20] {
        let Bench { mut rt, held, copy, go } = bench(rename);
        let memory = Own::of([1, 2, 3, 4, 5]);
        let dropped = Arc::new(AtomicUsize::new(0));
        let owner = || (Owner(dropped.clone()), memory.0.clone());
        // SAFETY: the owner keeps it, and all accesses are atomic. Not all of it, and not from its beginning.
        let x: Buffer<i32> = unsafe { rt.import(memory.at(1), 3, owner()) }.unwrap();
        let y = rt.buffer_from(&[9, 9, 9]).unwrap();
        rt.launch(held, 1, 1, args![x]).unwrap();
        // All of it is overwritten while the other still uses it: elsewhere that would be a version of its own.
        rt.launch(copy, 1, 1, args![y, x]).unwrap();
        let written = rt.start_write(x.slice(..1), [8]).unwrap();
        go.send(()).unwrap();
        written.wait().unwrap();
        rt.synchronize().unwrap();
        assert_eq!((memory.values(), rt.renamed().versions), (vec![1, 8, 9, 9, 5], 0));

        // Whoever has bytes of it has all of them.
        for (start, count) in [(1, 3), (0, 2), (3, 2), (2, 1), (0, 5)] {
            // SAFETY: as above; it is refused.
            let refused = unsafe { rt.import(memory.at(start), count, owner()) }.unwrap_err();
            let text = refused.to_string();
            assert!(text.contains("some of them are another buffer's"), "{text}");
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 5);
        // SAFETY: as above; side by side.
        let sides: [Buffer<i32>; 2] = [0, 4].map(|at| unsafe { rt.import(memory.at(at), 1, ()) }.unwrap());
        rt.release(x).unwrap();
        rt.synchronize().unwrap();
        eventually(|| dropped.load(Ordering::SeqCst) == 6);
        sides.into_iter().for_each(|side| rt.release(side).unwrap());
        rt.synchronize().unwrap();
        // SAFETY: as above.
        let again: Buffer<i32> = unsafe { rt.import(memory.at(0), 5, owner()) }.unwrap();
        assert_eq!(rt.read(again), Ok(memory.values()));
        drop(rt);
        assert_eq!(dropped.load(Ordering::SeqCst), 7);
    }
}

#[test]
fn a_release_that_waits_keeps_imported_memory() {
    let Bench { mut rt, held, go, .. } = bench(0);
    let memory = Own::of([1, 2]);
    let place = memory.at(0);
    let dropped = Arc::new(AtomicUsize::new(0));
    // SAFETY: it stays until the runtime is gone, and all accesses are atomic.
    let x: Buffer<i32> = unsafe { rt.import(place, 2, Owner(dropped.clone())) }.unwrap();
    rt.launch(held, 1, 1, args![x]).unwrap();
    rt.release(x).unwrap();
    // SAFETY: as above; it is refused, for the kernel still uses it.
    assert!(matches!(unsafe { rt.import(place, 2, ()) }, Err(Error::Import { bytes: 8, .. })));
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    go.send(()).unwrap();
    rt.synchronize().unwrap();
    eventually(|| dropped.load(Ordering::SeqCst) == 1);
    // SAFETY: as above.
    let x: Buffer<i32> = unsafe { rt.import(place, 2, ()) }.unwrap();
    assert_eq!(rt.read(x), Ok(vec![2, 3]));
    drop(rt);
    assert_eq!(memory.values(), [2, 3]);
}

/// Memory that no kernel of this executor can use.
struct OwnOnly;

impl Allocator for OwnOnly {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        HostAllocator.allocate(elements, element)
    }
}

impl Executor for OwnOnly {
    fn name(&self) -> String {
        "own only".into()
    }
    fn concurrency(&self) -> usize {
        1
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(OwnOnly)
    }
    fn connect(&mut self, _: windlass_runtime::runtime::Completions) {}
    fn start(&mut self, _: Task<'_>) -> Started {
        Started::Ended(Ok(()))
    }
}

#[test]
fn memory_that_cannot_be_a_buffer_is_refused() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let owner = || Owner(dropped.clone());
    let words: Arc<[AtomicU64]> = (0..4).map(|_| AtomicU64::new(0)).collect();
    let place = words.as_ptr().cast_mut().cast::<u8>();
    let mut rt = Runtime::builder().executor(Immediate).build().unwrap();
    let odd = place.wrapping_add(2).cast::<f32>();
    let null = std::ptr::null_mut::<u8>();
    // SAFETY: all are refused.
    let said = unsafe {
        [
            rt.import(odd, 2, owner()).unwrap_err(),
            rt.import(null, 2, owner()).unwrap_err(),
            rt.import(place, 0, owner()).unwrap_err(),
            rt.import(place.cast::<u32>(), 1 << 61, owner()).unwrap_err(),
            Runtime::builder().executor(OwnOnly).build().unwrap().import(place, 2, owner()).unwrap_err(),
        ]
    };
    let said = said.map(|error| error.to_string());
    let odd = format!("its address {odd:p} is not a multiple of 4, as that of each f32 is");
    for (said, wanted) in said.iter().zip([
        odd.as_str(),
        "these 2 bytes cannot be a buffer: its address is null",
        "a buffer of 0 elements of u8; choose at least 1",
        "a buffer of 2305843009213693952 elements of u32",
        "this executor uses only what it allocates; make a buffer, and copy",
    ]) {
        assert!(said.contains(wanted), "{said}\n{wanted}");
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 5);
    // Where its elements begin anywhere, so may it.
    // SAFETY: the owner keeps it.
    let bytes: Buffer<u8> = unsafe { rt.import(place.wrapping_add(1), 7, words.clone()) }.unwrap();
    rt.write(bytes.slice(2..), &[5; 5]).unwrap();
    assert_eq!(rt.read(bytes), Ok(vec![0, 0, 5, 5, 5, 5, 5]));
    // SAFETY: as above.
    let memory = unsafe { HostMemory::import(place, 3, ElementKind::U16, Box::new(words)) }.unwrap();
    assert_eq!((memory.bytes(), memory.as_ptr()), (6, place));
    assert!(memory.read(4, &mut [0; 4]).is_err(), "past its end");
}

#[test]
fn what_a_kernel_does_to_imported_memory_is_checked() {
    let mut rt = Runtime::builder().executor(Cpu::new(1).unwrap()).check(true).build().unwrap();
    let kernel = Kernel::new("half").write("x").body(|cta| {
        let first = cta.write::<i32>(0)?.as_mut_ptr();
        // SAFETY: inside the argument's buffer.
        (0..3).for_each(|i| unsafe { first.wrapping_sub(i).write(0x0707_0707) });
        Ok(())
    });
    let kernel = rt.register(kernel).unwrap();
    let memory = Own::of([1, 2, 3]);
    // SAFETY: the owner keeps it.
    let x: Buffer<i32> = unsafe { rt.import(memory.at(0), 3, memory.0.clone()) }.unwrap();
    rt.launch(kernel, 1, 1, args![x.slice(2..)]).unwrap();
    rt.synchronize().unwrap();
    let findings = rt.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        (findings[0].violation, findings[0].offset, findings[0].bytes),
        (Violation::UndeclaredWrite, 0, 8)
    );
}

/// A program that is recorded and replayed with copies in it.
#[test]
fn started_copies_are_replayed() {
    let run = |rt: &mut Runtime| {
        let copy = rt.register(Kernel::new("copy").read("x").write("y").body(|cta| {
            let (x, y) = (cta.read::<i32>(0)?, cta.write::<i32>(1)?);
            (0..x.len()).for_each(|i| y.set(i, x.get(i) + 1));
            Ok(())
        }));
        let copy = copy.unwrap();
        let buffers: Vec<Buffer<i32>> = (0..4).map(|_| rt.buffer(100).unwrap()).collect();
        let mut readings = Vec::new();
        for n in 0..60usize {
            let (from, to) = (buffers[n % 4], buffers[(n * 7 + 1) % 4]);
            rt.start_write(from, vec![n as i32; 100]).unwrap();
            if from != to {
                rt.launch(copy, 1, 1, args![from, to]).unwrap();
            }
            readings.push(rt.start_read(to).unwrap());
        }
        rt.synchronize().unwrap();
        readings.into_iter().map(|reading| reading.wait().unwrap()).collect::<Vec<_>>()
    };
    for rename in [0, 1000, 1 << 20] {
        let builder = || Runtime::builder().executor(Cpu::new(2).unwrap()).rename(rename);
        let mut recorded = builder().record(true).build().unwrap();
        let wanted = run(&mut recorded);
        let schedule = recorded.recording().unwrap().schedule;
        let mut replayed = builder().replay(schedule).build().unwrap();
        assert_eq!(in_time(move || run(&mut replayed)), wanted, "renaming {rename}");
    }
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench").finish_non_exhaustive()
    }
}

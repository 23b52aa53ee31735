//! `Cuda` and `CudaDevice` on a driver without a GPU (`fake_driver/cuda.cpp`), which does what CUDA promises and no more, in an order of chance. The
//! driver is loaded by its name, so each test is a process of its own that finds it first.

#[path = "support/steps.rs"]
mod steps;
mod support;

use libloading::{Library, Symbol};
use std::env::{current_exe, var};
use std::ffi::{c_int, c_void};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use support::{Random, compiled};
use windlass_cuda::{Cuda, Options};
use windlass_runtime::args;
use windlass_runtime::runtime::{Buffer, CudaCall, CudaKernel, EnqueueResult, Error, Kernel, Runtime};

/// Which test a process is for.
const STEP: &str = "WINDLASS_TEST_FAKE_STEP";
const SEED: &str = "WINDLASS_SEED";
/// A test and its name; it takes a seed.
type Step = (&'static str, fn(u64));
const STEPS: [Step; 14] = [
    ("programs", programs),
    ("programs, marks by a kernel", programs),
    ("policies", policies),
    ("policies, marks by a kernel", policies),
    ("device", device),
    ("device, without an order", device_without_order),
    ("device, fault", device_fault),
    ("device, hang", device_hang),
    ("marks", marks),
    ("memory", memory),
    ("refused", refused),
    ("enqueue", enqueue),
    ("fault", fault),
    ("hang", hang),
];

/// What the driver calls a function.
#[repr(C)]
struct Function {
    parameters: u64,
    bytes: [u64; 8],
    run: extern "C" fn(*const *const c_void, *const [u32; 6]) -> c_int,
}

impl Function {
    fn kernel(&'static self) -> CudaKernel {
        // SAFETY: the driver of this test takes it for a function, and it is there for good.
        unsafe { CudaKernel::function(std::ptr::from_ref(self).cast_mut().cast()) }
    }
}

/// # Safety
/// The argument is of that type.
unsafe fn argument<T: Copy>(args: *const *const c_void, n: usize) -> T {
    // SAFETY: the caller's.
    unsafe { (*args.add(n)).cast::<T>().read() }
}

const WORDS: usize = 100;

/// `y[i] = 31 y[i] + 7 a[i] + b[i + 1] + seed`
extern "C" fn mix(args: *const *const c_void, _: *const [u32; 6]) -> c_int {
    // SAFETY: launched with a number, and three buffers of so many words.
    unsafe {
        let (seed, a, b, y): (u32, *const u32, *const u32, *mut u32) =
            (argument(args, 0), argument(args, 1), argument(args, 2), argument(args, 3));
        for i in 0..WORDS {
            let old = y.add(i).read();
            y.add(i).write(mixed(old, a.add(i).read(), b.add((i + 1) % WORDS).read(), seed));
        }
    }
    0
}
fn mixed(y: u32, a: u32, b: u32, seed: u32) -> u32 {
    y.wrapping_mul(31).wrapping_add(a.wrapping_mul(7)).wrapping_add(b).wrapping_add(seed)
}
static MIX: Function = Function { parameters: 4, bytes: [4, 8, 8, 8, 0, 0, 0, 0], run: mix };
fn mix_kernel() -> Kernel {
    let mix = Kernel::new("mix").value_of::<u32>("seed").read_of::<u32>("a").read_of::<u32>("b");
    mix.read_write_of::<u32>("y").cuda(MIX.kernel())
}

extern "C" fn faults(_: *const *const c_void, _: *const [u32; 6]) -> c_int {
    1
}
static FAULTS: Function = Function { parameters: 1, bytes: [8; 8], run: faults };

extern "C" fn hangs(_: *const *const c_void, _: *const [u32; 6]) -> c_int {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}
static HANGS: Function = Function { parameters: 1, bytes: [8; 8], run: hangs };

#[test]
fn kernels_keep_their_order_whatever_the_streams_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    compiled("cuda.cpp", &folder.path().join("libcuda.so.1"));
    let seed = var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_nanos() as u64 % 1_000_000)
    });
    println!("seed {seed}; {SEED} takes one");
    for (name, _) in STEPS {
        let me = current_exe().expect("a test has a file");
        let child = Command::new(me)
            .args(["--exact", "one_step", "--nocapture"])
            .env(STEP, name)
            .env(SEED, seed.to_string())
            .env("FAKE_CUDA_SEED", seed.to_string())
            .env("FAKE_CUDA_MARKS", if name.ends_with("by a kernel") { "no" } else { "yes" })
            .env("LD_LIBRARY_PATH", folder.path())
            .envs(sanitizers(name))
            .output()
            .expect("a test can be started");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            child.status.success(),
            "{name}, seed {seed}: {}{}",
            said(&child.stdout),
            said(&child.stderr)
        );
        let told = name.split(',').next().unwrap_or(name);
        said(&child.stdout).lines().filter(|line| line.starts_with(told)).for_each(|line| println!("{line}"));
    }
}

/// What a sanitizer is not to say of a step, where there is one.
fn sanitizers(step: &str) -> Option<(&'static str, &'static str)> {
    match step {
        // Keeps its memory.
        _ if step.ends_with("hang") || step.ends_with("fault") => Some(("LSAN_OPTIONS", "detect_leaks=0")),
        "device, without an order" => Some(("TSAN_OPTIONS", "report_bugs=0")),
        _ => None,
    }
}

/// In a process of its own: what the test above starts.
#[test]
fn one_step() {
    let Ok(alone) = var(STEP) else { return };
    let step = STEPS.into_iter().find(|(name, _)| *name == alone);
    let seed = var(SEED).ok().and_then(|seed| seed.parse().ok());
    // A kernel that is never told to have ended is waited for without end.
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(90));
        eprintln!("nothing comes any more");
        std::process::exit(9);
    });
    step.expect("there is such a step").1(seed.expect("a seed"));
}

fn runtime(cuda: Cuda, window: usize, rename: u64) -> Runtime {
    Runtime::builder().window(window).rename(rename).executor(cuda).build().expect("a runtime")
}

fn cuda(streams: usize) -> Cuda {
    Cuda::new(0, streams).expect("the driver is there")
}

/// Kernels of random inputs and outputs, with accesses of the host between them: what program order makes.
fn programs(seed: u64) {
    let mut kernels = 0;
    for round in 0..24u64 {
        let mut random = Random(seed.wrapping_add(round));
        let streams = [1, 2, 5, 16][random.below(4) as usize];
        let ahead = [0, 1, 3, 256, 256, 256][random.below(6) as usize];
        let window = [4, 32, 256][random.below(3) as usize];
        let count = 2 + random.below(10) as usize;
        let mut rt = runtime(cuda(streams).ahead(ahead), window, random.below(2) * 4096);
        let mix = rt.register(mix_kernel()).unwrap();
        let mut wanted: Vec<Vec<u32>> = (0..count as u32).map(|n| vec![n; WORDS]).collect();
        let buffers: Vec<Buffer<u32>> = wanted.iter().map(|values| rt.buffer_from(values).unwrap()).collect();
        for number in 0..300u32 {
            let [a, b, y] = [0; 3].map(|_| random.below(count as u64) as usize);
            if a != y && b != y {
                kernels += 1;
                rt.launch(mix, 1, 32, args![number, buffers[a], buffers[b], buffers[y]]).unwrap();
                wanted[y] = (0..WORDS)
                    .map(|i| mixed(wanted[y][i], wanted[a][i], wanted[b][(i + 1) % WORDS], number))
                    .collect();
            }
            match random.below(40) {
                0 => assert_eq!(rt.read(buffers[b]).unwrap(), wanted[b], "round {round}, kernel {number}"),
                1 => {
                    wanted[a] = vec![number; WORDS];
                    rt.write(buffers[a], &wanted[a]).unwrap();
                }
                2 => rt.synchronize().unwrap(),
                _ => {}
            }
        }
        for (buffer, wanted) in buffers.iter().zip(&wanted) {
            assert_eq!(rt.read(*buffer).unwrap(), *wanted, "round {round}");
        }
        rt.synchronize().unwrap();
    }
    println!("programs: {kernels} kernels in 24 programs");
}

fn options() -> Options {
    Options { streams: 8, timeout: Duration::from_secs(20), ..Options::default() }
}

/// `windlass run`'s policies on the device.
fn policies(seed: u64) {
    let sizes = [10, 12, 14, 16];
    let programs = sizes.iter().enumerate().map(|(n, size)| (seed.wrapping_add(n as u64), 1 << size));
    calls();
    let said = steps::every_policy(options(), programs, 2).expect("every policy leaves the serial image");
    let [launches, _, waits, _, graphs, early] = calls();
    println!("policies: {said}");
    println!(
        "policies: {launches} launches, {waits} waits for events, {graphs} graphs; {early} kernels began early"
    );
    assert!(waits > 0 && graphs > 0 && early > 0);
}

/// What else a device does.
fn device(_: u64) {
    const SOME: [&str; 6] = ["opens", "random programs, early", "events", "marks", "graphs", "out of memory"];
    SOME.into_iter().for_each(step_of_a_gpu);
}

/// Kernels that race: by themselves, for ThreadSanitizer sees that they do.
fn device_without_order(_: u64) {
    ["threads", "a dropped hazard"].into_iter().for_each(step_of_a_gpu);
}

fn step_of_a_gpu(name: &str) {
    let (_, step) =
        steps::STEPS.into_iter().chain(steps::FAULTS).find(|(step, _)| *step == name).expect(name);
    match step(options()) {
        Ok(said) => println!("device: {name}: {said}"),
        Err(what) => panic!("{name}: {what}"),
    }
}

fn device_fault(_: u64) {
    step_of_a_gpu("fault");
}

fn device_hang(_: u64) {
    step_of_a_gpu("hang");
}

/// The driver of this test.
fn driver() -> &'static Library {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    // SAFETY: it is loaded already.
    DRIVER.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.unwrap())
}

/// Calls of the driver since the last time: launches, marks, waits for events, events recorded, graphs launched, and kernels that began
/// before the ones before them had ended.
fn calls() -> [u64; 6] {
    let mut counts = [0; 6];
    // SAFETY: the driver of this test has such a function.
    unsafe {
        let get: Symbol<'_, unsafe extern "C" fn(*mut u64)> = driver().get(b"fake_counts\0").unwrap();
        get(counts.as_mut_ptr());
    }
    counts
}

/// Layers of eight kernels that one joins, read by the host: the mark of the last kernel tells of all.
fn marks(_: u64) {
    let mut rt = runtime(cuda(16), 64, 0);
    let mix = rt.register(mix_kernel()).unwrap();
    let x = rt.buffer_from(&[1u32; WORDS]).unwrap();
    let parts: Vec<Buffer<u32>> = (0..8).map(|_| rt.buffer(WORDS).unwrap()).collect();
    let sums: Vec<Buffer<u32>> = (0..7).map(|_| rt.buffer(WORDS).unwrap()).collect();
    rt.synchronize().unwrap();
    calls();
    const LAYERS: u64 = 50;
    for layer in 0..LAYERS as u32 {
        for part in &parts {
            rt.launch(mix, 1, 32, args![layer, x, x, part]).unwrap();
        }
        // A tree.
        for n in 0..4 {
            rt.launch(mix, 1, 32, args![layer, parts[2 * n], parts[2 * n + 1], sums[n]]).unwrap();
        }
        for n in 0..2 {
            rt.launch(mix, 1, 32, args![layer, sums[2 * n], sums[2 * n + 1], sums[4 + n]]).unwrap();
        }
        rt.launch(mix, 1, 32, args![layer, sums[4], sums[5], sums[6]]).unwrap();
        rt.read(sums[6]).unwrap();
    }
    let [launches, marks, waits, events, ..] = calls();
    println!("marks: {launches} launches, {marks} marks, {waits} waits for {events} events");
    assert_eq!(launches, LAYERS * 15);
    // Where the scheduler is slow, it has nothing to do in between.
    assert!(marks < launches, "{marks} marks");
}

fn memory(_: u64) {
    // SAFETY: functions of the driver by their types.
    let (allocate, free, push, pop, primary) = unsafe {
        let library = driver();
        let push: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int> =
            library.get(b"cuCtxPushCurrent_v2\0").unwrap();
        let retain: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int> =
            library.get(b"cuDevicePrimaryCtxRetain\0").unwrap();
        let allocate: Symbol<'_, unsafe extern "C" fn(*mut u64, usize) -> c_int> =
            library.get(b"cuMemAlloc_v2\0").unwrap();
        let free: Symbol<'_, unsafe extern "C" fn(u64) -> c_int> = library.get(b"cuMemFree_v2\0").unwrap();
        let pop: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void) -> c_int> =
            library.get(b"cuCtxPopCurrent_v2\0").unwrap();
        let mut primary = std::ptr::null_mut();
        assert_eq!(retain(&mut primary, 0), 0);
        assert_eq!(push(primary), 0);
        (allocate, free, push, pop, primary)
    };
    let mut address = 0;
    // SAFETY: the primary context is current.
    assert_eq!(unsafe { allocate(&mut address, 4 * WORDS) }, 0);
    let first = std::ptr::with_exposed_provenance_mut::<u32>(address as usize);
    let mut own = runtime(cuda(2), 32, 0);
    // SAFETY: the memory is there; it is refused.
    let refused = unsafe { own.import(first, WORDS, ()) }.unwrap_err().to_string();
    assert!(refused.contains("another context") && refused.contains("Cuda::primary"), "{refused}");
    drop(own);
    // One that was never used leaves this thread its context, too.
    drop(cuda(2));
    let mut left = std::ptr::null_mut();
    // SAFETY: the out parameter is a local; what is popped is pushed again.
    unsafe {
        assert_eq!(pop(&mut left), 0);
        assert_eq!(push(left), 0);
    }
    assert_eq!(left, primary);
    let mut rt = runtime(Cuda::primary(0, 2).unwrap(), 32, 0);
    // SAFETY: refused, all three.
    let refused = unsafe {
        [
            rt.import(first, WORDS + 1, ()).unwrap_err(),
            rt.import(std::ptr::without_provenance_mut::<u32>(64), 1, ()).unwrap_err(),
            rt.import(first.byte_add(2), 1, ()).unwrap_err(),
        ]
    };
    let refused = refused.map(|error| error.to_string());
    assert!(refused[0].contains("are not all allocated"), "{}", refused[0]);
    assert!(refused[1].contains("reaches the address 0x40"), "{}", refused[1]);
    assert!(refused[2].contains("is not a multiple of 4"), "{}", refused[2]);
    // The driver here has the host's memory.
    // SAFETY: so many words, and nothing runs.
    unsafe { std::slice::from_raw_parts_mut(first, WORDS) }.fill(3);
    let owner = std::sync::Arc::new(());
    // SAFETY: the memory is there until the end.
    let x = unsafe { rt.import(first, WORDS, owner.clone()) }.unwrap();
    let mix = rt.register(mix_kernel()).unwrap();
    let y = rt.buffer::<u32>(WORDS).unwrap();
    rt.launch(mix, 1, 32, args![5u32, x, x, y]).unwrap();
    rt.launch(mix, 1, 32, args![0u32, y, y, x]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [29; WORDS]);
    rt.synchronize().unwrap();
    // SAFETY: nothing runs.
    assert_eq!(unsafe { std::slice::from_raw_parts(first, WORDS) }, [31 * 3 + 8 * 29; WORDS]);
    rt.release(x).unwrap();
    rt.synchronize().unwrap();
    assert_eq!(std::sync::Arc::strong_count(&owner), 1);
    drop(rt);
    // SAFETY: the runtime did not free it.
    assert_eq!(unsafe { free(address) }, 0);
}

/// What is wrong with a launch fails its kernel, and nothing else.
fn refused(_: u64) {
    let mut rt = runtime(cuda(2), 32, 0);
    let y = rt.buffer::<u32>(WORDS).unwrap();
    let z = rt.buffer::<u32>(WORDS).unwrap();
    let few = rt.register(Kernel::new("few").read_write("y").cuda(MIX.kernel())).unwrap();
    let none = rt.register(Kernel::new("none").read_write("y")).unwrap();
    // SAFETY: this driver does not look at it.
    let image = unsafe { CudaKernel::image([1u8, 0], "f") };
    let image = rt.register(Kernel::new("image").read_write("y").cuda(image)).unwrap();
    let mix = rt.register(mix_kernel()).unwrap();
    for (kernel, wanted) in [
        (few, "takes parameters of [4, 8, 8, 8] bytes, and the launch gives [8]"),
        (none, "has no CUDA kernel"),
        (image, "cuModuleLoadData: an error of the fake driver"),
    ] {
        rt.launch(kernel, 1, 1, args![y]).unwrap();
        rt.launch(mix, 1, 1, args![0u32, y, y, z]).unwrap();
        let error = rt.synchronize().unwrap_err().to_string();
        assert!(error.starts_with("2 kernels failed") && error.contains(wanted), "{error}");
        rt.write(y, &[0; WORDS]).unwrap();
        rt.write(z, &[0; WORDS]).unwrap();
    }
    // The launch is refused when it already waits for another stream: the next ones have not lost their order.
    for _ in 0..20 {
        rt.launch(mix, 1, 1, args![1u32, y, y, z]).unwrap();
        rt.launch(mix, 1, 2000, args![1u32, z, z, y]).unwrap();
        assert!(rt.synchronize().is_err());
        rt.write(y, &[1; WORDS]).unwrap();
        rt.launch(mix, 1, 1, args![0u32, z, z, y]).unwrap();
        rt.synchronize().unwrap();
    }
}

/// What gives work to a stream by itself, in between kernels: order, arguments, failures, and an event of the application's.
fn enqueue(seed: u64) {
    type Launch =
        unsafe extern "C" fn(*const Config, *const Function, *mut *mut c_void, *mut *mut c_void) -> c_int;
    #[repr(C)]
    struct Config {
        grid_and_block: [u32; 6],
        shared: u32,
        stream: *mut c_void,
        attributes: *const c_void,
        count: u32,
    }
    /// Launches `mix` itself.
    fn launch(call: &CudaCall<'_>, times: usize) -> EnqueueResult {
        let mut number = call.value::<u32>(0)?;
        let mut pointers = [call.pointer(1)?, call.pointer(2)?, call.pointer(3)?];
        let [a, b, y] = &mut pointers;
        let mut args: [*mut c_void; 4] = [
            (&raw mut number).cast(),
            std::ptr::from_mut(a).cast(),
            std::ptr::from_mut(b).cast(),
            std::ptr::from_mut(y).cast(),
        ];
        let grid_and_block = [call.grid(), call.block()].concat().try_into().expect("six numbers");
        let config = Config {
            grid_and_block,
            shared: 0,
            stream: call.stream(),
            attributes: std::ptr::null(),
            count: 0,
        };
        for _ in 0..times {
            // SAFETY: the function of this name has this type, and `mix` takes these.
            let code = unsafe {
                let launch: Symbol<'_, Launch> = driver().get(b"cuLaunchKernelEx\0").unwrap();
                launch(&config, &MIX, args.as_mut_ptr(), std::ptr::null_mut())
            };
            if code != 0 {
                return Err(format!("error {code}").into());
            }
        }
        Ok(())
    }
    let with = |enqueue: fn(&CudaCall<'_>) -> EnqueueResult| {
        let twice = Kernel::new("twice").value_of::<u32>("seed").read_of::<u32>("a").read_of::<u32>("b");
        twice.read_write_of::<u32>("y").cuda(CudaKernel::enqueue(enqueue))
    };
    let twice_mixed = |old: &[u32], a: &[u32], b: &[u32], number| -> Vec<u32> {
        let once = |old: &[u32]| {
            (0..WORDS).map(|i| mixed(old[i], a[i], b[(i + 1) % WORDS], number)).collect::<Vec<_>>()
        };
        once(&once(old))
    };
    for ahead in [0, 256] {
        let mut random = Random(seed);
        let mut rt = runtime(cuda(5).ahead(ahead), 32, 0);
        let mix = rt.register(mix_kernel()).unwrap();
        let twice = rt.register(with(|call| launch(call, 2))).unwrap();
        let mut wanted: Vec<Vec<u32>> = (0..8).map(|n| vec![n; WORDS]).collect();
        let buffers: Vec<Buffer<u32>> = wanted.iter().map(|values| rt.buffer_from(values).unwrap()).collect();
        for number in 0..600u32 {
            let [a, b, y] = [0; 3].map(|_| random.below(8) as usize);
            if a == y || b == y {
                continue;
            }
            let args = args![number, buffers[a], buffers[b], buffers[y]];
            if random.below(2) == 0 {
                rt.launch(twice, 1, 32, args).unwrap();
                wanted[y] = twice_mixed(&wanted[y], &wanted[a], &wanted[b], number);
            } else {
                rt.launch(mix, 1, 32, args).unwrap();
                wanted[y] = (0..WORDS)
                    .map(|i| mixed(wanted[y][i], wanted[a][i], wanted[b][(i + 1) % WORDS], number))
                    .collect();
            }
        }
        for (buffer, wanted) in buffers.iter().zip(&wanted) {
            assert_eq!(rt.read(*buffer).unwrap(), *wanted, "{ahead} ahead");
        }
        // Failures fail their launch alone, once what was given before has ended.
        let x = rt.buffer_from(&[1u32; WORDS]).unwrap();
        let y = rt.buffer_from(&[1u32; WORDS]).unwrap();
        for (enqueue, wanted) in [
            (
                (|call| launch(call, 20).and(Err("no more".into()))) as fn(&CudaCall<'_>) -> EnqueueResult,
                "no more",
            ),
            (|call| launch(call, 20).map(|()| panic!("at the end")), "panicked: at the end"),
            (|call| call.value::<f32>(0).map(|_| ()).map_err(Into::into), "argument 0 is of u32, not of f32"),
            (|call| call.pointer(0).map(|_| ()).map_err(Into::into), "argument 0 is no buffer"),
            (|call| call.bytes(9).map(|_| ()).map_err(Into::into), "argument 9 is no buffer"),
        ] {
            let fails = rt.register(with(enqueue)).unwrap();
            rt.launch(fails, 1, 32, args![3u32, x, x, y]).unwrap();
            rt.launch(mix, 1, 32, args![3u32, y, y, x]).unwrap();
            let error = rt.synchronize().unwrap_err().to_string();
            assert!(error.starts_with("2 kernels failed") && error.contains(wanted), "{error}");
            rt.write(x, &[1; WORDS]).unwrap();
            rt.write(y, &[1; WORDS]).unwrap();
            rt.launch(twice, 1, 32, args![1u32, x, x, y]).unwrap();
            assert_eq!(
                rt.read(y).unwrap(),
                twice_mixed(&[1; WORDS], &[1; WORDS], &[1; WORDS], 1),
                "{wanted}"
            );
            rt.write(y, &[1; WORDS]).unwrap();
        }
    }
    println!("enqueue: 1200 launches with and without kernels ahead, 10 failures");
}

fn fault(_: u64) {
    let mut rt = runtime(cuda(4), 32, 0);
    let y = rt.buffer::<u32>(WORDS).unwrap();
    let faults = rt.register(Kernel::new("faults").read_write("y").cuda(FAULTS.kernel())).unwrap();
    rt.launch(faults, 1, 1, args![y]).unwrap();
    let error = rt.synchronize().unwrap_err().to_string();
    assert!(error.contains("an illegal memory access") && error.contains("wants a new process"), "{error}");
    assert!(matches!(rt.read(y), Err(Error::Poisoned(_))));
    let error = Cuda::new(0, 1).unwrap_err().to_string();
    assert!(
        error.starts_with("no CUDA device: ") && error.contains("a kernel of this process faulted"),
        "{error}"
    );
}

fn hang(_: u64) {
    let mut rt = runtime(cuda(4).watchdog(Duration::from_millis(300)), 32, 0);
    let y = rt.buffer::<u32>(WORDS).unwrap();
    let z = rt.buffer::<u32>(WORDS).unwrap();
    let hangs = rt.register(Kernel::new("hangs").read_write("y").cuda(HANGS.kernel())).unwrap();
    let mix = rt.register(mix_kernel()).unwrap();
    rt.launch(hangs, 1, 1, args![y]).unwrap();
    rt.launch(mix, 1, 1, args![0u32, y, y, z]).unwrap();
    let error = rt.synchronize().unwrap_err().to_string();
    assert!(error.starts_with("2 kernels failed") && error.contains("a kernel hangs"), "{error}");
    drop(rt);
    // Another works.
    let mut rt = runtime(cuda(4), 32, 0);
    let x = rt.buffer_from(&[1u32; WORDS]).unwrap();
    let y = rt.buffer::<u32>(WORDS).unwrap();
    let mix = rt.register(mix_kernel()).unwrap();
    rt.launch(mix, 1, 1, args![0u32, x, x, y]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [8; WORDS]);
}

//! What is tried on a GPU, step by step: by the test `gpu` and by the example `probe`.

use super::support::{Random, kernel, program};
use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, result, sys};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_cuda::{Cuda, CudaDevice, Options, SOURCES, calibrate, compile, driver_version, nvrtc_version};
use windlass_runtime::args;
use windlass_runtime::ktrace::Segment;
use windlass_runtime::run::footprint::{Span, initial_image};
use windlass_runtime::run::{
    Declarations, Device, DeviceError, Footprint, GraphShape, Policy, Program, Runner, SoftwareDecider, Work,
};
use windlass_runtime::runtime::{CudaKernel, Kernel, Runtime};

/// What a step says: what it saw, or what is wrong.
pub type Outcome = Result<String, String>;

/// A step and its name.
pub type Step = (&'static str, fn(Options) -> Outcome);

/// All steps that leave the process well, in an order in which each builds on those before.
pub const STEPS: [Step; 22] = [
    ("sources compile", sources),
    ("opens", opens),
    ("random programs, serial", |o| random_programs(o, false)),
    ("random programs, early", |o| random_programs(o, true)),
    ("events", events),
    ("marks", marks),
    ("graphs", graphs),
    ("times", times),
    ("threads", threads),
    ("policies", policies),
    ("a dropped hazard", dropped_hazard),
    ("cost of a launch", launches),
    ("calibrate", calibration),
    ("executor", executor),
    ("executor, marks by a kernel", executor_marks),
    ("executor, random", executor_random),
    ("executor, errors", executor_errors),
    ("executor, primary", executor_primary),
    ("executor, copies", executor_copies),
    ("periods", periods),
    ("out of memory", memory_runs_out),
    ("large image", large),
];

/// Each wants a process of its own: CUDA may give it nothing afterwards.
pub const FAULTS: [Step; 4] = [
    ("fault", fault),
    ("executor, fault", executor_fault),
    ("hang", hang),
    ("executor, hang", executor_hang),
];

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn sources(_: Options) -> Outcome {
    let size = |(name, source)| compile(source, (9, 0)).map(|c| format!("{name} {} B", c.len()));
    let sizes: Vec<_> = SOURCES.map(size).into_iter().collect::<Result<_, _>>().map_err(text)?;
    let (nvrtc, file) = nvrtc_version().map_err(text)?;
    let driver = driver_version().map_err(text)?;
    Ok(format!("{}; NVRTC {nvrtc} of {}; driver for CUDA {driver}", sizes.join(", "), file.display()))
}

fn opens(options: Options) -> Outcome {
    let device = CudaDevice::new(Arc::new(program(0, 4, 4096)), options).map_err(text)?;
    let (early, marks) = (device.launches_early(), device.streams_write_marks());
    Ok(format!("{}, early launches: {early}, streams write marks: {marks}", device.name()))
}

fn calibration(options: Options) -> Outcome {
    serde_json::to_string(&calibrate(options.ordinal).map_err(text)?).map_err(text)
}

/// Where an image first differs from what it must be.
fn same(image: &[u32], wanted: &[u32]) -> Result<(), String> {
    if image.len() != wanted.len() {
        return Err(format!("{} words, and {} are wanted", image.len(), wanted.len()));
    }
    match image.iter().zip(wanted).position(|(i, w)| i != w) {
        None => Ok(()),
        Some(at) => {
            let differ = image.iter().zip(wanted).filter(|(i, w)| i != w).count();
            Err(format!("{differ} words differ, the first is {at}: {:08x} for {:08x}", image[at], wanted[at]))
        }
    }
}

fn serial(device: &CudaDevice, program: &Program, early: bool) -> Result<(), String> {
    run(device, program, early, &program.serial_image().map_err(text)?)
}

fn run(device: &CudaDevice, program: &Program, early: bool, wanted: &[u32]) -> Result<(), String> {
    device.reset().map_err(text)?;
    for k in 0..program.kernels().len() as u32 {
        device.launch(0, k, early).map_err(text)?;
    }
    device.synchronise(0).map_err(text)?;
    same(&device.image().map_err(text)?, wanted)
}

fn random_programs(options: Options, early: bool) -> Outcome {
    let mut words = 0;
    for seed in 0..9 {
        let program = Arc::new(program(seed, 40, 256 << (2 * seed)));
        let device = CudaDevice::new(program.clone(), options).map_err(text)?;
        let wanted = program.serial_image().map_err(text)?;
        for round in 0..5 {
            run(&device, &program, early, &wanted).map_err(|e| format!("seed {seed}, round {round}: {e}"))?;
        }
        words += program.words();
    }
    Ok(format!("9 programs, 5 times each, {words} words"))
}

/// A kernel on each stream in turn, each waiting for the one before by an event.
fn events(options: Options) -> Outcome {
    let program = Arc::new(program(77, 200, 1 << 16));
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    for _ in 0..5 {
        device.reset().map_err(text)?;
        for k in 0..200 {
            let stream = k % 4;
            if k > 0 {
                device.wait(stream, k - 1).map_err(text)?;
            }
            device.launch(stream, k, k % 3 == 0).map_err(text)?;
            device.record(stream, k).map_err(text)?;
        }
        same(&device.image().map_err(text)?, &program.serial_image().map_err(text)?)?;
    }
    Ok("200 kernels on 4 streams, 5 times".into())
}

fn marks(options: Options) -> Outcome {
    let program = Arc::new(program(78, 100, 1 << 16));
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    let begun = Instant::now();
    for k in 0..100 {
        device.launch(1, k, false).map_err(text)?;
        device.mark(1, k + 1).map_err(text)?;
    }
    let (mut seen, mut steps) = (0, 0);
    while seen < 100 {
        let now = device.progress(1);
        if now < seen || begun.elapsed() > Duration::from_secs(5) {
            return Err(format!("progress went from {seen} to {now}"));
        }
        steps += u32::from(now > seen);
        seen = now;
    }
    device.check(1).map_err(text)?;
    same(&device.image().map_err(text)?, &program.serial_image().map_err(text)?)?;
    Ok(format!("100 marks, seen in {steps} steps; streams write them: {}", device.streams_write_marks()))
}

fn graphs(options: Options) -> Outcome {
    let program = Arc::new(program(79, 64, 1 << 16));
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    let chain = |kernels: Vec<u32>| GraphShape {
        upstream: (0..kernels.len() as u32).map(|n| n.checked_sub(1).into_iter().collect()).collect(),
        kernels,
        early: false,
    };
    // Kernels that are set up early wait for themselves.
    let early = GraphShape { early: true, ..chain((0..64).collect()) };
    let early_shape = early.clone();
    let early = device.build_graph(&early).map_err(text)?;
    device.launch_graph(1, early).map_err(text)?;
    same(&device.image().map_err(text)?, &program.serial_image().map_err(text)?)?;
    device.reset().map_err(text)?;
    let graph = device.build_graph(&chain((0..64).collect())).map_err(text)?;
    device.launch_graph(2, graph).map_err(text)?;
    same(&device.image().map_err(text)?, &program.serial_image().map_err(text)?)?;
    // An update to what it is already changes nothing.
    if !device.update_graph(graph, &chain((0..64).collect())).map_err(text)? {
        return Err("the update to the same kernels was refused".into());
    }
    device.reset().map_err(text)?;
    device.launch_graph(2, graph).map_err(text)?;
    same(&device.image().map_err(text)?, &program.serial_image().map_err(text)?)?;
    let updated = device.update_graph(graph, &chain((0..64).rev().collect())).map_err(text)?;
    if !updated {
        return Err("the update to other kernels was refused".into());
    }
    device.reset().map_err(text)?;
    device.launch_graph(2, graph).map_err(text)?;
    let mut wanted = initial_image(program.words()).map_err(text)?;
    for (k, kernel) in program.kernels().iter().enumerate().rev() {
        kernel.run_alone(k as u32, &mut wanted);
    }
    same(&device.image().map_err(text)?, &wanted)?;
    // Nor is one whose edges are of another kind an update.
    let other_edges = device.update_graph(graph, &early_shape).map_err(text)?;
    let reversed = GraphShape { early: true, ..chain((0..64).rev().collect()) };
    if !device.update_graph(early, &reversed).map_err(text)? {
        return Err("the update of a graph of early kernels was refused".into());
    }
    device.reset().map_err(text)?;
    device.launch_graph(1, early).map_err(text)?;
    same(&device.image().map_err(text)?, &wanted)?;
    let shorter = device.update_graph(graph, &chain((0..63).collect())).map_err(text)?;
    let mut wider = chain((0..64).collect());
    wider.upstream[40].clear();
    let wider = device.update_graph(graph, &wider).map_err(text)?;
    device.destroy_graph(graph);
    match (shorter, wider) {
        (false, false) => {
            Ok(format!("built, updated; other shapes refused, other edges taken: {other_edges}"))
        }
        other => Err(format!("updates to other shapes (fewer nodes, fewer edges) were taken: {other:?}")),
    }
}

/// Kernels of one CTA that last at least so long, one of many multiply-adds, in one stream.
fn times(options: Options) -> Outcome {
    let segment = vec![Segment { addr: 4096, bytes: 4096 }];
    let list: Vec<_> =
        (0..20).map(|k| kernel(k, [4, 1, 1], [128, 1, 1], segment.clone(), segment.clone())).collect();
    let mut work = vec![Work { cta_ns: 0, fma_per_thread: 0, least_ns: 50_000 }; 20];
    work[19] = Work { cta_ns: 0, fma_per_thread: 1_000_000, least_ns: 0 };
    let program = Arc::new(Program::new("times", &[&list], &work, 1).map_err(text)?);
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    let mut says = Vec::new();
    for early in [false, true] {
        serial(&device, &program, early)?;
        let times = device.times().map_err(text)?;
        let lasted: Vec<_> = times.iter().map(|t| t.end.saturating_sub(t.start)).collect();
        let late: Vec<_> =
            times.windows(2).map(|t| t[1].start.wrapping_sub(t[0].end).cast_signed()).collect();
        if lasted[..19].iter().any(|ns| !(50_000..80_000).contains(ns)) || late.iter().any(|gap| *gap < -100)
        {
            return Err(format!("early {early}: lasted {lasted:?}, gaps {late:?}"));
        }
        let fma = lasted[19];
        says.push(format!(
            "early {early}: 50 us last {} ns, gap {} ns, 10^6 fma {fma} ns",
            lasted[9], late[9]
        ));
    }
    Ok(says.join("; "))
}

fn threads(options: Options) -> Outcome {
    let program = Arc::new(program(80, 400, 1 << 14));
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    let results: Vec<Result<(), DeviceError>> = std::thread::scope(|scope| {
        let run = |stream: u32| {
            let device = &device;
            move || {
                for k in (stream..400).step_by(4) {
                    device.launch(stream, k, false)?;
                    device.record(stream, k)?;
                    device.wait(stream, k ^ 1)?;
                }
                device.synchronise(stream)
            }
        };
        let threads: Vec<_> = (0..4).map(|stream| scope.spawn(run(stream))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(Ok(()))).collect()
    });
    results.into_iter().collect::<Result<(), _>>().map_err(text)?;
    Ok("4 threads, 400 kernels with events".into())
}

/// Whether two kernels may not run at the same time, nor change places.
fn conflict(a: &Footprint, b: &Footprint) -> bool {
    let touch =
        |a: &[Span], b: &[Span]| a.iter().any(|a| b.iter().any(|b| a.start < b.end && b.start < a.end));
    touch(&a.writes, &b.reads) || touch(&a.writes, &b.writes) || touch(&a.reads, &b.writes)
}

/// Every policy leaves the serial image, and by the device's clock no kernel began before one that it had to wait for had ended.
fn policies(options: Options) -> Outcome {
    every_policy(options, (100..110).map(|seed| (seed, 1 << (10 + (seed - 100)))), 3)
}

/// For programs of these seeds and sizes in bytes, each so many times.
pub fn every_policy(
    options: Options,
    programs: impl Iterator<Item = (u64, u64)> + Clone,
    rounds: u32,
) -> Outcome {
    let mut overlaps = Vec::new();
    for policy in Policy::ALL {
        let mut overlap = 0;
        for (seed, bytes) in programs.clone() {
            let program = Arc::new(program(seed, 120, bytes));
            let declared = Declarations::new(&program);
            let wanted = program.serial_image().map_err(text)?;
            let device = CudaDevice::new(program.clone(), options).map_err(text)?;
            let options = windlass_runtime::run::Options::default();
            let mut runner = Runner::new(&device, &program, &declared, options).map_err(text)?;
            for round in 0..rounds {
                let wrong = |what: String| format!("{policy}, seed {seed}, round {round}: {what}");
                let mut decider = SoftwareDecider::new(NonZeroUsize::MIN.saturating_add(31));
                let result = runner.run(policy, Some(&mut decider));
                result.map_err(|e| wrong(text(e)))?;
                same(&device.image().map_err(text)?, &wanted).map_err(wrong)?;
                let times = device.times().map_err(text)?;
                for (j, later) in program.kernels().iter().enumerate() {
                    for (i, earlier) in program.kernels()[..j].iter().enumerate() {
                        let early = times[j].start < times[i].end;
                        overlap += u32::from(early && times[i].start < times[j].end);
                        if early && conflict(earlier, later) {
                            let times = format!("{i} {:?}, {j} {:?}", times[i], times[j]);
                            return Err(wrong(format!("a kernel began too early: {times}")));
                        }
                    }
                }
            }
        }
        overlaps.push(format!("{policy}: {overlap} pairs overlapped"));
    }
    Ok(overlaps.join(", "))
}

/// A kernel whose accesses are not declared: the image shows it, at least now and then.
fn dropped_hazard(options: Options) -> Outcome {
    let mut shown = 0;
    for seed in 0..40 {
        let program = Arc::new(program(seed, 60, 1 << 18));
        let mut declared = Declarations::new(&program);
        declared.forget((seed % 60) as usize);
        let device = CudaDevice::new(program.clone(), options).map_err(text)?;
        let options = windlass_runtime::run::Options::default();
        let mut runner = Runner::new(&device, &program, &declared, options).map_err(text)?;
        runner.run(Policy::Streams, None).map_err(text)?;
        shown += u32::from(device.image().map_err(text)? != program.serial_image().map_err(text)?);
    }
    match shown {
        0 => Err("none of 40 dropped declarations shows".into()),
        shown => Ok(format!("{shown} of 40 dropped declarations show")),
    }
}

/// The host's cost of a launch of the device itself, with and without events.
fn launches(options: Options) -> Outcome {
    let program = Arc::new(program(81, 100, 4096));
    let device = CudaDevice::new(program, Options { timing: false, ..options }).map_err(text)?;
    let mut says = Vec::new();
    for (what, early, event) in
        [("launch", false, false), ("early launch", true, false), ("launch, record, wait", false, true)]
    {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let begun = Instant::now();
            for k in 0..100 {
                device.launch(k % 2 * u32::from(event), k, early).map_err(text)?;
                if event {
                    device.record(k % 2, k).map_err(text)?;
                    device.wait((k + 1) % 2, k).map_err(text)?;
                }
            }
            best = best.min(begun.elapsed().as_secs_f64() * 1e9 / 100.0);
            device.synchronise(0).map_err(text)?;
            device.synchronise(1).map_err(text)?;
        }
        says.push(format!("{what} {best:.0} ns"));
    }
    Ok(says.join(", "))
}

/// From the start of a small kernel to the start of the next, in every way to launch them, with times and without: from the wall time of
/// 224 kernels and of 32, behind one that lasts until all are queued.
fn periods(options: Options) -> Outcome {
    const FEW: u32 = 32;
    const MANY: u32 = 224;
    let mut says = String::new();
    for (grid, block) in [(1, 32), (132, 256)] {
        let segment = vec![Segment { addr: 4096, bytes: 4 * u64::from(grid * block) }];
        let kernel = |k| kernel(k, [grid, 1, 1], [block, 1, 1], segment.clone(), segment.clone());
        let list: Vec<_> = (0..=u64::from(MANY)).map(kernel).collect();
        let mut work = vec![Work::default(); list.len()];
        work[0].least_ns = 5_000_000;
        let program = Arc::new(Program::new("periods", &[&list], &work, 1).map_err(text)?);
        for timing in [true, false] {
            let device = CudaDevice::new(program.clone(), Options { timing, ..options }).map_err(text)?;
            let queue = |way: usize, kernels: u32| -> Result<(), DeviceError> {
                device.launch(0, 0, false)?;
                match way {
                    // One stream; the same, launched early.
                    0 | 1 => (1..=kernels).try_for_each(|k| device.launch(0, k, way == 1)),
                    // Two streams in turn, each waiting for the other's event.
                    2 => (1..=kernels).try_for_each(|k| {
                        device.record((k - 1) % 2, k)?;
                        device.wait(k % 2, k)?;
                        device.launch(k % 2, k, false)
                    }),
                    // A graph.
                    _ => {
                        let upstream = |n: u32| n.checked_sub(1).into_iter().collect();
                        let upstream = (0..kernels).map(upstream).collect();
                        let shape = GraphShape { kernels: (1..=kernels).collect(), upstream, early: false };
                        let graph = device.build_graph(&shape)?;
                        device.launch_graph(0, graph)?;
                        device.synchronise(0)?;
                        device.destroy_graph(graph);
                        Ok(())
                    }
                }?;
                device.synchronise(kernels % 2 * u32::from(way == 2))
            };
            let mut list = Vec::new();
            for (way, what) in ["stream", "early", "events", "graph"].into_iter().enumerate() {
                let wall = |kernels| {
                    let begun = Instant::now();
                    queue(way, kernels).map(|()| begun.elapsed().as_secs_f64() * 1e9).map_err(text)
                };
                let mut each = Vec::new();
                for _ in 0..15 {
                    each.push((wall(MANY)? - wall(FEW)?) / f64::from(MANY - FEW));
                }
                each.sort_by(f64::total_cmp);
                list.push(format!("{what} {:.0}", each[7]));
            }
            // A time is from the first run of a kernel to its last since the reset: one run.
            device.reset().map_err(text)?;
            queue(0, FEW).map_err(text)?;
            let lasted = match device.times() {
                Ok(times) => {
                    format!(", of which the kernel is {} ns", times[9].end.saturating_sub(times[9].start))
                }
                Err(_) => String::new(),
            };
            says += &format!("\n    {grid} x {block}, times {timing}: {} ns{lasted}", list.join(", "));
        }
    }
    Ok(says)
}

const SAXPY: &str = r#"
extern "C" __global__ void saxpy(float a, const float *x, float *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void wild(float *y) { *(volatile float *)((unsigned long long)y + (1ull << 44)) = 1.0f; }
"#;

fn saxpy() -> Kernel {
    saxpy_of(CudaKernel::source(SAXPY, "saxpy"))
}

fn saxpy_of(cuda: CudaKernel) -> Kernel {
    let saxpy = Kernel::new("saxpy").value_of::<f32>("a").read_of::<f32>("x").read_write_of::<f32>("y");
    saxpy.cuda(cuda)
}

/// In chains that share nothing, and in one; each launched when the one before it has ended, and ahead.
fn executor(options: Options) -> Outcome {
    let mut says = Vec::new();
    for ahead in [0, 256] {
        for count in [8, 1] {
            let said = chains(Cuda::new(options.ordinal, 16).map_err(text)?.ahead(ahead), count)?;
            says.push(format!("{said} with {ahead} ahead"));
        }
    }
    Ok(says.join("; "))
}

/// As on a device whose streams cannot write marks.
fn executor_marks(options: Options) -> Outcome {
    chains(Cuda::new(options.ordinal, 16).and_then(Cuda::mark_by_kernel).map_err(text)?, 8)
}

fn chains(cuda: Cuda, count: usize) -> Outcome {
    let mut rt = Runtime::builder().window(64).executor(cuda).build().map_err(text)?;
    let saxpy = rt.register(saxpy()).map_err(text)?;
    let x = rt.buffer_from(&vec![1.0f32; 1000]).map_err(text)?;
    let ys: Vec<_> = (0..count).map(|_| rt.buffer::<f32>(1000)).collect::<Result<_, _>>().map_err(text)?;
    // Compiles.
    rt.launch(saxpy, 4, 256, args![0.0f32, x, ys[0]]).map_err(text)?;
    rt.synchronize().map_err(text)?;
    let begun = Instant::now();
    for step in 0..4000 {
        rt.launch(saxpy, 4, 256, args![(step % 7) as f32, x, ys[step % count]]).map_err(text)?;
    }
    rt.synchronize().map_err(text)?;
    let ns = begun.elapsed().as_secs_f64() * 1e9 / 4000.0;
    for (n, y) in ys.iter().enumerate() {
        let wanted: f32 = (0..4000).filter(|s| s % count == n).map(|s| (s % 7) as f32).sum();
        let read = rt.read(*y).map_err(text)?;
        if read.iter().any(|v| *v != wanted) {
            return Err(format!("buffer {n} has {} for {wanted}", read[0]));
        }
    }
    Ok(format!("4000 saxpys in {}, {ns:.0} ns each", if count == 1 { "1 chain" } else { "8 chains" }))
}

const MIX: &str = r#"
extern "C" __global__ void mix(unsigned seed, const unsigned *a, const unsigned *b, unsigned *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1000) return;
    for (unsigned n = 0; n < seed % 64; n++) __nanosleep(500);
    y[i] = y[i] * 31 + a[i] * 7 + b[(i + 1) % 1000] + seed;
}
"#;

/// Kernels of random inputs and outputs, reads by the host between them: what the host works out in program order.
fn executor_random(options: Options) -> Outcome {
    let mut took = Vec::new();
    for ahead in [0, 3, 256] {
        let begun = Instant::now();
        for seed in 0..6u64 {
            let cuda_executor = Cuda::new(options.ordinal, 5).map_err(text)?.ahead(ahead);
            let builder = Runtime::builder().window([8, 64][seed as usize % 2]).rename(seed % 3 * 20_000);
            let mut rt = builder.executor(cuda_executor).build().map_err(text)?;
            let mix = Kernel::new("mix").value_of::<u32>("seed").read_of::<u32>("a").read_of::<u32>("b");
            let mix = rt
                .register(mix.read_write_of::<u32>("y").cuda(CudaKernel::source(MIX, "mix")))
                .map_err(text)?;
            let mut wanted: Vec<Vec<u32>> = (0..9).map(|n| vec![n; 1000]).collect();
            let buffers: Vec<_> =
                wanted.iter().map(|values| rt.buffer_from(values)).collect::<Result<_, _>>().map_err(text)?;
            let mut random = Random(seed);
            for number in 0..2000u32 {
                let [a, b, y] = [0; 3].map(|_| random.below(9) as usize);
                if a == y || b == y {
                    continue;
                }
                rt.launch(mix, 8, 128, args![number, buffers[a], buffers[b], buffers[y]]).map_err(text)?;
                let new = |i: usize| {
                    let old = wanted[y][i].wrapping_mul(31).wrapping_add(wanted[a][i].wrapping_mul(7));
                    old.wrapping_add(wanted[b][(i + 1) % 1000]).wrapping_add(number)
                };
                wanted[y] = (0..1000).map(new).collect();
                match random.below(100) {
                    0 => same(&rt.read(buffers[b]).map_err(text)?, &wanted[b])?,
                    1 => {
                        wanted[a] = vec![number; 1000];
                        rt.write(buffers[a], &wanted[a]).map_err(text)?;
                    }
                    _ => {}
                }
            }
            for (buffer, wanted) in buffers.iter().zip(&wanted) {
                same(&rt.read(*buffer).map_err(text)?, wanted)?;
            }
            rt.synchronize().map_err(text)?;
        }
        took.push(format!("{:.0} ms with {ahead} ahead", begun.elapsed().as_secs_f64() * 1e3));
    }
    Ok(format!("6 programs, {}", took.join(", ")))
}

/// In the context that another library uses, with its memory and its function.
fn executor_primary(options: Options) -> Outcome {
    let theirs = CudaContext::new(options.ordinal as usize).map_err(text)?;
    let stream = theirs.default_stream();
    let (major, minor) = theirs.compute_capability().map_err(text)?;
    let mut image = compile(SAXPY, (major as u32, minor as u32)).map_err(text)?;
    let values = |by: f32| (0..1000).map(|n| n as f32 * by).collect::<Vec<_>>();
    let (x, y) =
        (stream.clone_htod(&values(1.0)).map_err(text)?, stream.clone_htod(&values(10.0)).map_err(text)?);
    stream.synchronize().map_err(text)?;
    let (x, y) = (Arc::new(x), Arc::new(y));
    let address = |slice: &Arc<CudaSlice<f32>>| {
        std::ptr::with_exposed_provenance_mut::<f32>(slice.device_ptr(&stream).0 as usize)
    };
    image.push(0);
    // SAFETY: an image of this GPU, which says how long it is; the module is never unloaded.
    let function = unsafe {
        theirs.bind_to_thread().map_err(text)?;
        let module = result::module::load_data(image.as_ptr().cast()).map_err(text)?;
        result::module::get_function(module, c"saxpy".into()).map_err(text)?
    };
    let mut says = Vec::new();
    {
        let mut rt = Runtime::builder()
            .executor(Cuda::new(options.ordinal, 4).map_err(text)?)
            .build()
            .map_err(text)?;
        // SAFETY: a plain call; the memory is never freed.
        let of_theirs = unsafe { result::malloc_sync(4000) }.map_err(text)?;
        let of_theirs = std::ptr::with_exposed_provenance_mut::<f32>(of_theirs as usize);
        // SAFETY: the memory is there for good.
        match unsafe { rt.import(of_theirs, 1000, ()) } {
            Err(error) if error.to_string().contains("Cuda::primary") => {
                says.push(format!("in its own: {error}"));
            }
            other => return Err(format!("in a context of its own: {other:?}")),
        }
        // What comes of a pool, as x does, is no context's.
        let saxpy = rt.register(saxpy()).map_err(text)?;
        // SAFETY: the memory is there as long as its owner.
        let a = unsafe { rt.import(address(&x), 1000, x.clone()) }.map_err(text)?;
        let b = rt.buffer::<f32>(1000).map_err(text)?;
        rt.launch(saxpy, 4, 256, args![2.0f32, a, b]).map_err(text)?;
        if rt.read(b).map_err(text)? != values(2.0) {
            return Err("memory of a pool is not read in a context of its own".into());
        }
    }
    let mut rt = Runtime::builder()
        .executor(Cuda::primary(options.ordinal, 4).map_err(text)?)
        .build()
        .map_err(text)?;
    // SAFETY: the same; and others use the memory only while nothing runs.
    let (a, b) =
        unsafe { (rt.import(address(&x), 1000, x.clone()), rt.import(address(&y), 1000, y.clone())) };
    let (a, b) = (a.map_err(text)?, b.map_err(text)?);
    // SAFETY: it is refused.
    match unsafe { rt.import(address(&x).wrapping_add(1000), usize::MAX >> 20, ()) } {
        Err(error) => says.push(format!("too many: {error}")),
        Ok(_) => return Err("more memory is imported than there is".into()),
    }
    let kinds = [
        CudaKernel::source(SAXPY, "saxpy"),
        // SAFETY: NVRTC's.
        unsafe { CudaKernel::image(image, "saxpy") },
        // SAFETY: of this context, and never unloaded.
        unsafe { CudaKernel::function(function.cast()) },
    ];
    for (n, kind) in kinds.into_iter().enumerate() {
        let saxpy = rt.register(saxpy_of(kind)).map_err(text)?;
        rt.launch(saxpy, 4, 256, args![(n + 1) as f32, a, b]).map_err(text)?;
        rt.launch(saxpy, 4, 256, args![1.0f32, b, a]).map_err(text)?;
    }
    rt.synchronize().map_err(text)?;
    let wanted = (1..=3).fold((1.0, 10.0), |(a, b), n| (a + b + n as f32 * a, b + n as f32 * a));
    for (slice, wanted) in [(&x, wanted.0), (&y, wanted.1)] {
        if stream.clone_dtoh(&**slice).map_err(text)? != values(wanted) {
            return Err("what the kernels wrote is not in the memory".into());
        }
    }
    rt.release(a).map_err(text)?;
    rt.synchronize().map_err(text)?;
    drop(rt);
    if [&x, &y].map(Arc::strong_count) != [1, 1] {
        return Err("the memory's owners are not given back".into());
    }
    // Pinned memory of the host, and managed memory.
    let mut rt = Runtime::builder()
        .executor(Cuda::primary(options.ordinal, 4).map_err(text)?)
        .build()
        .map_err(text)?;
    let saxpy = rt.register(saxpy()).map_err(text)?;
    // SAFETY: plain calls; the memory is freed after the runtime has ended, and holds values before it is imported.
    unsafe {
        theirs.bind_to_thread().map_err(text)?;
        let pinned = result::malloc_host(4000, 0).map_err(text)?.cast::<f32>();
        let attach = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
        let managed = result::malloc_managed(4000, attach).map_err(text)?;
        let managed = std::ptr::with_exposed_provenance_mut::<f32>(managed as usize);
        for n in 0..1000 {
            pinned.add(n).write(n as f32);
            managed.add(n).write(0.5);
        }
        let a = rt.import(pinned, 1000, ()).map_err(text)?;
        let b = rt.import(managed, 1000, ()).map_err(text)?;
        rt.launch(saxpy, 4, 256, args![2.0f32, a, b]).map_err(text)?;
        let read = rt.read(b).map_err(text)?;
        rt.write(a.slice(..10), &[1.0; 10]).map_err(text)?;
        rt.synchronize().map_err(text)?;
        let wrong = |n: &usize| {
            let wanted = 2.0 * *n as f32 + 0.5;
            let first = if *n < 10 { 1.0 } else { *n as f32 };
            read[*n] != wanted || managed.add(*n).read() != wanted || pinned.add(*n).read() != first
        };
        if let Some(n) = (0..1000).find(wrong) {
            return Err(format!("element {n} of pinned or managed memory is wrong"));
        }
        drop(rt);
        result::free_host(pinned.cast()).map_err(text)?;
        result::free_sync(managed.addr() as u64).map_err(text)?;
    }
    says.push("memory of another library, pinned and managed; source, image and function".into());
    Ok(says.join("\n    "))
}

/// Copies that are started go on beside kernels; each is what program order makes it.
fn executor_copies(options: Options) -> Outcome {
    let mut rt =
        Runtime::builder().executor(Cuda::new(options.ordinal, 8).map_err(text)?).build().map_err(text)?;
    let saxpy = rt.register(saxpy()).map_err(text)?;
    let x = rt.buffer_from(&[1.0f32; 1000]).map_err(text)?;
    let y = rt.buffer::<f32>(1000).map_err(text)?;
    let mut readings = Vec::new();
    for step in 0..100 {
        if step % 10 == 0 {
            rt.start_write(y, vec![step as f32; 1000]).map_err(text)?;
        }
        rt.launch(saxpy, 4, 256, args![1.0f32, x, y]).map_err(text)?;
        readings.push(rt.start_read(y).map_err(text)?);
    }
    for (step, reading) in readings.into_iter().enumerate() {
        let wanted = (step / 10 * 10 + step % 10 + 1) as f32;
        let read = reading.wait().map_err(text)?;
        if read.len() != 1000 || read.iter().any(|v| *v != wanted) {
            return Err(format!("reading {step} has {:?} for {wanted}", read.first()));
        }
    }
    let large = rt.buffer::<u8>(COPIED).map_err(text)?;
    let rate = |begun: Instant| format!("{:.1}", COPIED as f64 / begun.elapsed().as_secs_f64() / 1e9);
    let theirs = CudaContext::new(options.ordinal as usize).map_err(text)?;
    theirs.bind_to_thread().map_err(text)?;
    // SAFETY: a plain call.
    let pinned = || unsafe { result::malloc_host(COPIED, 0) }.map(|memory| Lent(memory.cast()));
    let pageable = || Lent(vec![0u8; COPIED].leak().as_mut_ptr());
    let mut says = Vec::new();
    for (what, mut from, mut to) in
        [("pageable", pageable(), pageable()), ("pinned", pinned().map_err(text)?, pinned().map_err(text)?)]
    {
        for round in 0..3u8 {
            from.as_mut().fill(round + 1);
            to.as_mut().fill(0);
            let mut rates = Vec::new();
            let begun = Instant::now();
            rt.write(large, from.as_ref()).map_err(text)?;
            rates.push(rate(begun));
            let begun = Instant::now();
            rt.read_into(large, to.as_mut()).map_err(text)?;
            rates.push(rate(begun));
            from.as_mut().fill(round + 2);
            let begun = Instant::now();
            rt.start_write(large, from).map_err(text)?.wait().map_err(text)?;
            rates.push(rate(begun));
            let begun = Instant::now();
            rt.start_read_into(large, to).map_err(text)?.wait().map_err(text)?;
            rates.push(rate(begun));
            if from.as_ref() != to.as_ref() {
                return Err("what was written is not read".into());
            }
            says.push(format!("{what} {}", rates.join(" ")));
        }
    }
    Ok(format!(
        "100 beside kernels; 64 MiB to and from the GPU, waited for and started, in GB/s:\n    {}",
        says.join("\n    ")
    ))
}

const COPIED: usize = 64 << 20;

/// Memory for [`COPIED`] bytes, never given back.
#[derive(Clone, Copy)]
struct Lent(*mut u8);
// SAFETY: used by one thread at a time.
unsafe impl Send for Lent {}
impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: so many bytes, initialised, for good.
        unsafe { std::slice::from_raw_parts(self.0, COPIED) }
    }
}
impl AsMut<[u8]> for Lent {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: the same, and used by one at a time.
        unsafe { std::slice::from_raw_parts_mut(self.0, COPIED) }
    }
}

/// What kernels that cannot run give.
fn executor_errors(options: Options) -> Outcome {
    let cuda_executor = Cuda::new(options.ordinal, 4).map_err(text)?;
    let mut rt = Runtime::builder().executor(cuda_executor).build().map_err(text)?;
    let y = rt.buffer::<f32>(1000).map_err(text)?;
    let broken = CudaKernel::source("extern \"C\" __global__ void f() { nonsense; }", "f");
    let kernels = [
        ("no source", Kernel::new("none").read_write("y"), 256, "CUDA kernel"),
        ("not C++", Kernel::new("broken").read_write("y").cuda(broken), 256, "nonsense"),
        (
            "no entry",
            Kernel::new("entry").read_write("y").cuda(CudaKernel::source(SAXPY, "absent")),
            256,
            "absent",
        ),
        (
            "parameters",
            Kernel::new("few").read_write("y").cuda(CudaKernel::source(SAXPY, "saxpy")),
            256,
            "parameters",
        ),
        ("block", Kernel::new("large").read_write("y").cuda(CudaKernel::source(SAXPY, "wild")), 2048, "2048"),
    ];
    let mut says = Vec::new();
    for (what, kernel, block, wanted) in kernels {
        let kernel = rt.register(kernel).map_err(text)?;
        rt.launch(kernel, 1, block, args![y]).map_err(text)?;
        match rt.synchronize() {
            Err(error) if error.to_string().contains(wanted) => says.push(format!("{what}: {error}")),
            other => return Err(format!("{what}: {other:?}")),
        }
        rt.write(y, &vec![0.0; 1000]).map_err(text)?;
    }
    Ok(says.join("\n    "))
}

fn memory_runs_out(options: Options) -> Outcome {
    let cuda = Cuda::new(options.ordinal, 1).map_err(text)?;
    let mut rt = Runtime::builder().executor(cuda).build().map_err(text)?;
    let runtime = match rt.buffer::<f32>(1 << 40) {
        Err(error) => text(error),
        Ok(_) => return Err("4 TiB were given".into()),
    };
    drop(rt);
    let segment = vec![Segment { addr: 4096, bytes: 16 << 30 }];
    let list = [kernel(0, [1, 1, 1], [1, 1, 1], vec![], segment)];
    let program = Arc::new(Program::new("16 GiB", &[&list], &[Work::default()], 1).map_err(text)?);
    let mut devices = Vec::new();
    for _ in 0..32 {
        match CudaDevice::new(program.clone(), Options { streams: 1, ..options }) {
            Ok(device) => devices.push(device),
            Err(error @ DeviceError::OutOfMemory { .. }) => return Ok(format!("{runtime}\n    {error}")),
            Err(DeviceError::Absent { reason }) if reason.contains("MEMORY") => {
                return Ok(format!("{runtime}\n    {reason}"));
            }
            Err(error) => return Err(format!("{error:?}")),
        }
    }
    Err("512 GiB were given".into())
}

fn fault(options: Options) -> Outcome {
    let program = Arc::new(program(82, 20, 1 << 14));
    let mut device = CudaDevice::new(program.clone(), options).map_err(text)?;
    device.misplace_image();
    let all = || {
        (0..20).try_for_each(|k| device.launch(3, k, false))?;
        device.synchronise(3)
    };
    let error = match all() {
        Err(error @ DeviceError::Lost { .. }) => text(error),
        other => return Err(format!("{other:?}")),
    };
    if !matches!(device.reset(), Err(DeviceError::Lost { .. })) {
        return Err("a reset after a fault does not say so".into());
    }
    drop(device);
    afterwards(options).map(|after| format!("{error}\n    {after}"))
}

/// After a fault a new device works, or says that it takes a new process.
fn afterwards(options: Options) -> Outcome {
    let program = Arc::new(program(82, 20, 1 << 14));
    match CudaDevice::new(program.clone(), options) {
        Ok(device) => serial(&device, &program, true).map(|()| "a new device works".into()),
        Err(error @ DeviceError::Absent { .. }) if error.to_string().contains("wants a new process") => {
            Ok(format!("a new device: {error}"))
        }
        Err(error) => Err(text(error)),
    }
}

fn executor_fault(options: Options) -> Outcome {
    let cuda_executor = Cuda::new(options.ordinal, 4).map_err(text)?;
    let mut rt = Runtime::builder().executor(cuda_executor).build().map_err(text)?;
    let wild = rt
        .register(Kernel::new("wild").read_write("y").cuda(CudaKernel::source(SAXPY, "wild")))
        .map_err(text)?;
    let y = rt.buffer::<f32>(1000).map_err(text)?;
    rt.launch(wild, 1, 1, args![y]).map_err(text)?;
    let error = match rt.synchronize() {
        Err(error) => text(error),
        Ok(()) => return Err("nothing was noticed".into()),
    };
    drop(rt);
    afterwards(options).map(|after| format!("{error}\n    {after}"))
}

/// An image of more than 2^30 words.
fn large(options: Options) -> Outcome {
    let gib = 1 << 30;
    let list = [
        kernel(
            0,
            [64, 2, 1],
            [256, 1, 1],
            vec![Segment { addr: 4096, bytes: 4 * gib }],
            vec![Segment { addr: 4096 + 4 * gib, bytes: 1 << 20 }],
        ),
        kernel(
            1,
            [64, 1, 1],
            [1024, 1, 1],
            vec![Segment { addr: 4096 + 4 * gib, bytes: 1 << 20 }],
            vec![Segment { addr: 4096 + 3 * gib, bytes: gib }],
        ),
    ];
    let program = Arc::new(Program::new("large", &[&list], &[Work::default(); 2], 1).map_err(text)?);
    let device = CudaDevice::new(program.clone(), options).map_err(text)?;
    let begun = Instant::now();
    let wanted = program.serial_image().map_err(text)?;
    let reference = begun.elapsed();
    let begun = Instant::now();
    run(&device, &program, true, &wanted)?;
    let took = begun.elapsed();
    let lasted: Vec<_> = device.times().map_err(text)?.iter().map(|t| (t.end - t.start) / 1000).collect();
    let words = program.words();
    Ok(format!(
        "{words} words; kernels of {lasted:?} us; with copy and comparison {took:?}, on the host {reference:?}"
    ))
}

fn executor_hang(options: Options) -> Outcome {
    const SPIN: &str = r#"
extern "C" __global__ void spin(float *y) {
    long long start = clock64();
    while (clock64() - start < 5000000000ll) {}
    *y = 1.0f;
}"#;
    let cuda_executor = Cuda::new(options.ordinal, 4).map_err(text)?.watchdog(Duration::from_millis(300));
    let mut rt = Runtime::builder().executor(cuda_executor).build().map_err(text)?;
    let spin = rt
        .register(Kernel::new("spin").read_write("y").cuda(CudaKernel::source(SPIN, "spin")))
        .map_err(text)?;
    let y = rt.buffer::<f32>(1000).map_err(text)?;
    rt.launch(spin, 1, 1, args![y]).map_err(text)?;
    rt.launch(spin, 1, 1, args![y]).map_err(text)?;
    let begun = Instant::now();
    let error = match rt.synchronize() {
        Err(error) => text(error),
        Ok(()) => return Err("nothing was noticed".into()),
    };
    if begun.elapsed() > Duration::from_secs(2) || !error.contains("nothing in flight has ended") {
        return Err(format!("after {:?}: {error}", begun.elapsed()));
    }
    if rt.read(y).is_ok() {
        return Err("what the kernel should have written can be read".into());
    }
    drop(rt);
    executor(Options { timeout: Duration::from_secs(10), ..options })
        .map(|after| format!("{error}\n    another executor: {after}"))
}

fn hang(options: Options) -> Outcome {
    let segment = vec![Segment { addr: 4096, bytes: 4096 }];
    let list = [kernel(0, [1, 1, 1], [32, 1, 1], segment.clone(), segment)];
    let work = [Work { cta_ns: 0, fma_per_thread: 0, least_ns: 3_000_000_000 }];
    let program = Arc::new(Program::new("hang", &[&list], &work, 1).map_err(text)?);
    let hurried = Options { timeout: Duration::from_millis(300), ..options };
    let device = CudaDevice::new(program, hurried).map_err(text)?;
    device.launch(0, 0, false).map_err(text)?;
    let error = match device.synchronise(0) {
        Err(error @ DeviceError::Timeout { .. }) => text(error),
        other => return Err(format!("{other:?}")),
    };
    let begun = Instant::now();
    drop(device);
    let took = begun.elapsed();
    random_programs(Options { timeout: Duration::from_secs(10), ..options }, true)?;
    Ok(format!("{error}; dropping it took {took:?}; a new device works"))
}

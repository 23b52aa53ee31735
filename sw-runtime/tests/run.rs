//! Programs under every policy: the image must be the serial one, and must not be where a hazard is dropped.

#[cfg(target_os = "linux")]
#[path = "common/little_memory.rs"]
mod little_memory;
#[path = "common/programs.rs"]
mod programs;

#[cfg(target_os = "linux")]
use little_memory::with_little_memory;
use programs::{Random, kernels, program, seed};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use windlass_runtime::host::{Encoding, Packet, Upstream};
use windlass_runtime::ktrace::{Kernel, Segment};
use windlass_runtime::run::{
    ChanceDevice, Costs, Counts, CpuDevice, CpuOptions, Decider, Decision, Declarations, Device, DeviceError,
    Estimate, GraphId, GraphShape, KernelTime, Launches, Options, Overlap, Policy, Program, RunError, Runner,
    SoftwareDecider, Way, Work,
};

/// One run, after another where that makes a difference.
fn run(
    policy: Policy,
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    options: &Options,
    decider: Option<&mut dyn Decider>,
) -> Result<Counts, RunError> {
    let mut runner = Runner::new(device, program, declared, options.clone())?;
    if options.way.launches != Launches::Kernels && matches!(policy, Policy::Streams | Policy::Pdl) {
        // Graphs are known from a run before.
        runner.run(policy, None)?;
    }
    runner.run(policy, decider)
}

fn decider(slots: usize) -> SoftwareDecider {
    SoftwareDecider::new(NonZeroUsize::new(slots).unwrap_or(NonZeroUsize::MIN))
}

const LAUNCHES: [Launches; 3] = [Launches::Kernels, Launches::Chains, Launches::Subgraphs];

fn options(random: &mut Random, count: usize) -> Options {
    let some = |random: &mut Random| random.below(3000) as u32;
    Options {
        window: 4 + random.below(60) as usize,
        graph_window: 4 + random.below(60) as usize,
        in_flight: 4 + random.below(100) as usize,
        lookahead: 1 + random.below(40) as usize,
        launchers: if random.below(3) == 0 { 1 + random.below(4) as usize } else { 0 },
        early_edges: random.below(2) == 0,
        way: Way {
            overlap: [Overlap::Never, Overlap::WhereItPays, Overlap::Everywhere][random.below(3) as usize],
            streams: 1 + random.below(9) as usize,
            launches: LAUNCHES[random.below(3) as usize],
        },
        costs: (random.below(2) == 0).then(|| Costs {
            launch_ns: some(random),
            early_launch_ns: some(random),
            other_launch_ns: some(random),
            busy_launch_ns: some(random),
            record_ns: some(random),
            wait_ns: some(random),
            gap_ns: some(random),
            early_gap_ns: some(random),
            cross_ns: some(random),
            chain_launch_ns: some(random),
            chain_gap_ns: some(random),
        }),
        estimates: (0..count)
            .map(|_| Estimate { ns: some(random) as f32, share: random.below(100) as f32 / 100.0 })
            .collect(),
    }
}

#[test]
fn every_policy_leaves_the_serial_image_whatever_the_device_does() {
    let rounds = if std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1") { 1000 } else { 400 };
    let mut random = Random(seed());
    for round in 0..rounds {
        let count = 1 + random.below(120) as usize;
        let program = program(&mut random, count);
        let want = program.serial_image().unwrap();
        let declared = Declarations::new(&program);
        let streams = 1 + random.below(9) as u32;
        let device = ChanceDevice::new(program.clone(), streams, random.next()).unwrap();
        for policy in Policy::ALL {
            let options = options(&mut random, count);
            let mut decider = decider(1 + random.below(40) as usize);
            let counts = run(policy, &device, &program, &declared, &options, Some(&mut decider));
            let counts = counts.unwrap_or_else(|e| panic!("round {round}, {policy}: {e}"));
            assert!(
                device.image().as_ref() == Ok(&want),
                "round {round}, {policy}, {options:?}: not the serial image"
            );
            if matches!(policy, Policy::Streams | Policy::Pdl) && options.way.overlap == Overlap::Never {
                assert_eq!((counts.records, counts.waits, counts.marks), (0, 0, 0), "{counts:?}");
                assert_eq!(counts.expected_ns > 0, options.costs.is_some(), "{counts:?}");
            }
            if !matches!(policy, Policy::Graph | Policy::GraphCached) {
                assert_eq!(counts.launches, count as u64, "round {round}, {policy}");
            }
        }
    }
}

#[test]
fn threads_leave_the_serial_image() {
    let mut random = Random(seed());
    for round in 0..20 {
        let count = 1 + random.below(200) as usize;
        let program = program(&mut random, count);
        let want = program.serial_image().unwrap();
        let declared = Declarations::new(&program);
        let options_of =
            CpuOptions { threads: 1 + round % 4, streams: 1 + round as u32 % 7, ..CpuOptions::default() };
        let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
        for policy in Policy::ALL {
            let options = Options { launchers: 1 + round % 4, ..options(&mut random, count) };
            let result = run(policy, &device, &program, &declared, &options, Some(&mut decider(32)));
            result.unwrap_or_else(|e| panic!("round {round}, {policy}: {e}"));
            assert!(device.image().as_ref() == Ok(&want), "round {round}, {policy}: not the serial image");
            let times = device.times().unwrap_or_default();
            assert!(
                times.iter().all(|t| t.start <= t.end && t.end > 0),
                "round {round}, {policy}: {times:?}"
            );
        }
    }
}

/// A kernel that does not say what it touches runs too early, or others do: the image shows it, under each policy that reorders.
#[test]
fn a_dropped_hazard_shows_in_the_image() {
    let mut random = Random(seed());
    for policy in Policy::ALL.into_iter().filter(|p| *p != Policy::Serial) {
        let mut caught = 0;
        for _ in 0..60 {
            let program = program(&mut random, 30);
            let want = program.serial_image().unwrap();
            let mut declared = Declarations::new(&program);
            declared.forget(random.below(30) as usize);
            let device = ChanceDevice::new(program.clone(), 6, random.next()).unwrap();
            let options = Options { launchers: 0, ..Options::default() };
            let result = run(policy, &device, &program, &declared, &options, Some(&mut decider(32)));
            result.unwrap_or_else(|e| panic!("{policy}: {e}"));
            caught += usize::from(device.image() != Ok(want));
        }
        println!("{policy}: {caught} of 60 dropped declarations show");
        assert!(caught >= 15, "{policy}: {caught} of 60");
    }
}

#[test]
fn a_fault_names_the_kernel_and_ends_every_policy() {
    let mut random = Random(seed());
    let program = program(&mut random, 60);
    let declared = Declarations::new(&program);
    let options_of = CpuOptions { threads: 2, fault: Some(17), ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
    for policy in Policy::ALL {
        let result = run(policy, &device, &program, &declared, &Options::default(), Some(&mut decider(8)));
        match result {
            Err(RunError::Device(DeviceError::Kernel { kernel: 17, name, .. })) => assert_eq!(name, "k17"),
            other => panic!("{policy}: {other:?}"),
        }
    }
}

#[test]
fn independent_kernels_overlap_and_dependent_ones_do_not() {
    let kernel = |index: u64, read: u64, write: u64| Kernel {
        grid: [1, 1, 1],
        reads: vec![Segment { addr: read * 1024, bytes: 64 }],
        writes: vec![Segment { addr: write * 1024, bytes: 64 }],
        ..kernels(&mut Random(index), 1).remove(0)
    };
    // Two chains of three that share nothing; each kernel takes longer than a processor is given at a time, also where others want it.
    let kernels: Vec<Kernel> = (0..6).map(|k| kernel(k, 1 + k % 2, 1 + k % 2)).collect();
    let work = vec![Work { cta_ns: 30_000_000, ..Work::default() }; 6];
    let program = Arc::new(Program::new("chains", &[&kernels], &work, 1).unwrap_or_else(|e| panic!("{e}")));
    let declared = Declarations::new(&program);
    let options_of = CpuOptions { threads: 2, streams: 4, ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
    for policy in Policy::ALL {
        let options = Options::default();
        let result = run(policy, &device, &program, &declared, &options, Some(&mut decider(32)));
        result.unwrap_or_else(|e| panic!("{policy}: {e}"));
        let times = device.times().unwrap_or_default();
        for chain in 0..2 {
            let chain: Vec<_> = times.iter().skip(chain).step_by(2).collect();
            assert!(chain.windows(2).all(|w| w[0].end <= w[1].start), "{policy}: {chain:?}");
        }
        let overlap = times.iter().enumerate().any(|(i, a)| {
            times.iter().enumerate().any(|(j, b)| i != j && a.start < b.end && b.start < a.end)
        });
        assert_eq!(overlap, policy != Policy::Serial, "{policy}: {times:?}");
    }
}

/// Where the host of the recorded program waited, this one waits, also where no hazard asks for it.
#[test]
fn sections_do_not_overlap() {
    let mut random = Random(seed());
    for round in 0..60 {
        let program = program(&mut random, 40);
        // Nothing is declared, and so no hazard keeps the order.
        let mut declared = Declarations::new(&program);
        (0..40).for_each(|k| declared.forget(k));
        let device = ChanceDevice::new(program.clone(), 5, random.next()).unwrap();
        for policy in Policy::ALL {
            let options = options(&mut random, 40);
            let result = run(policy, &device, &program, &declared, &options, Some(&mut decider(32)));
            result.unwrap_or_else(|e| panic!("round {round}, {policy}: {e}"));
            let times = device.times().unwrap_or_default();
            let (first, second) = times.split_at(program.sections()[0].end);
            let end = first.iter().map(|t| t.end).max().unwrap_or(0);
            assert!(second.iter().all(|t| end < t.start), "round {round}, {policy}: {first:?} {second:?}");
        }
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let program = program(&mut Random(1), 3);
    let declared = Declarations::new(&program);
    let device = ChanceDevice::new(program.clone(), 2, 1).unwrap();
    for options in [
        Options { window: 3, ..Options::default() },
        Options { in_flight: 513, ..Options::default() },
        Options { graph_window: 0, ..Options::default() },
        Options { lookahead: 0, ..Options::default() },
        Options { lookahead: usize::MAX, ..Options::default() },
    ] {
        let result = run(Policy::Streams, &device, &program, &declared, &options, None);
        assert!(matches!(result, Err(RunError::Option { .. })), "{result:?}");
    }
    let result = run(Policy::Window, &device, &program, &declared, &Options::default(), None);
    assert!(matches!(result, Err(RunError::NoDecider)), "{result:?}");
}

/// A step that is repeated finds its graphs, and no graph is given other kernels while it runs.
#[test]
fn graphs_are_kept_from_run_to_run() {
    let mut random = Random(seed());
    for _ in 0..100 {
        let program = program(&mut random, 90);
        let want = program.serial_image().unwrap();
        let declared = Declarations::new(&program);
        let device = ChanceDevice::new(program.clone(), 3, random.next()).unwrap();
        let options = Options { graph_window: 8, ..Options::default() };
        let mut runner = Runner::new(&device, &program, &declared, options).unwrap_or_else(|e| panic!("{e}"));
        let mut run = || runner.run(Policy::GraphCached, None).unwrap_or_else(|e| panic!("{e}"));
        let first = run();
        let second = run();
        assert!(device.image() == Ok(want), "not the serial image");
        assert_eq!(
            (second.graphs_built, second.graphs_updated),
            (0, first.graphs_built + first.graphs_updated)
        );
    }
}

/// Also where nobody waits for it but by polling.
#[test]
fn a_kernel_that_does_not_end_ends_every_policy() {
    let mut random = Random(seed());
    let mut kernels = kernels(&mut random, 30);
    let mut work = vec![Work::default(); 30];
    kernels[3].grid = [1, 1, 1];
    work[3].cta_ns = 4_000_000_000;
    let program = Arc::new(Program::new("hang", &[&kernels], &work, 1).unwrap_or_else(|e| panic!("{e}")));
    std::thread::scope(|scope| {
        for policy in Policy::ALL {
            let program = program.clone();
            scope.spawn(move || {
                let declared = Declarations::new(&program);
                let timeout = Duration::from_millis(500);
                let options_of = CpuOptions { threads: 1, timeout, ..CpuOptions::default() };
                let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
                let options = Options { in_flight: 8, launchers: 1, ..Options::default() };
                let result = run(policy, &device, &program, &declared, &options, Some(&mut decider(8)));
                let timeout = matches!(result, Err(RunError::Device(DeviceError::Timeout { .. })));
                assert!(timeout, "{policy}: {result:?}");
            });
        }
    });
}

/// One kernel of so many CTAs of so long, on one thread.
fn one_kernel(ctas: u32, cta: Duration, options_of: CpuOptions) -> CpuDevice {
    let kernel = Kernel { grid: [ctas, 1, 1], ..kernels(&mut Random(1), 1).remove(0) };
    let work = Work { cta_ns: cta.as_nanos() as u64, ..Work::default() };
    let program = Program::new("one", &[&[kernel]], &[work], 1).unwrap_or_else(|e| panic!("{e}"));
    CpuDevice::new(Arc::new(program), CpuOptions { threads: 1, ..options_of })
        .unwrap_or_else(|e| panic!("{e}"))
}

/// What it may still write keeps the device from being used anew, but not its user waiting.
#[test]
fn a_reset_waits_for_a_kernel_that_hangs_no_longer_than_the_timeout() {
    let timeout = Duration::from_millis(200);
    let device = one_kernel(1, Duration::from_secs(3), CpuOptions { timeout, ..CpuOptions::default() });
    let fresh = device.image();
    device.launch(0, 0, false).unwrap_or_else(|e| panic!("{e}"));
    for result in [device.synchronise(0), device.reset()] {
        assert!(matches!(result, Err(DeviceError::Timeout { .. })), "{result:?}");
    }
    let began = Instant::now();
    while let Err(error) = device.reset() {
        assert!(began.elapsed() < Duration::from_secs(60), "{error}");
    }
    assert!(device.image() == fresh && device.synchronise(0) == Ok(()), "it is as new");
}

#[test]
fn a_kernel_that_hangs_keeps_nobody_who_gives_its_device_up() {
    let timeout = Duration::from_millis(100);
    // A CTA that takes too long by itself, and more of them than anybody waits for.
    for (ctas, cta) in [(1, Duration::from_secs(300)), (1 << 20, Duration::from_millis(300))] {
        let device = one_kernel(ctas, cta, CpuOptions { timeout, ..CpuOptions::default() });
        device.launch(0, 0, false).unwrap_or_else(|e| panic!("{e}"));
        let error = device.synchronise(0).expect_err("it hangs").to_string();
        assert!(error.contains("with 1 kernel in flight"), "{error}");
        let began = Instant::now();
        drop(device);
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
}

#[test]
fn what_is_left_of_a_kernel_that_faulted_does_not_run() {
    let (began, cta) = (Instant::now(), Duration::from_millis(10));
    let device = one_kernel(10_000, cta, CpuOptions { fault: Some(0), ..CpuOptions::default() });
    device.launch(0, 0, false).unwrap_or_else(|e| panic!("{e}"));
    let fault = device.synchronise(0);
    assert!(matches!(fault, Err(DeviceError::Kernel { kernel: 0, .. })), "{fault:?}");
    assert_eq!(device.reset(), Ok(()));
    assert!(began.elapsed() < cta * 5000, "{:?}", began.elapsed());
}

/// Fails after some steps, while kernels run.
struct Fails(SoftwareDecider, usize);

impl Decider for Fails {
    fn name(&self) -> String {
        "fails".into()
    }
    fn encoding(&self) -> Encoding {
        self.0.encoding()
    }
    fn scheduled(&self) -> usize {
        self.0.scheduled()
    }
    fn reset(&mut self) -> Result<(), String> {
        self.0.reset()
    }
    fn step(&mut self, packet: Option<&Packet>, retired: &[u8], ready: bool) -> Result<Decision, String> {
        self.1 = self.1.checked_sub(1).ok_or("it fails")?;
        self.0.step(packet, retired, ready)
    }
}

#[test]
fn kernels_in_flight_have_ended_when_a_run_fails() {
    let mut random = Random(seed());
    let kernels = kernels(&mut random, 30);
    let work = vec![Work { cta_ns: 20_000_000, ..Work::default() }; 30];
    let program = Arc::new(Program::new("slow", &[&kernels], &work, 1).unwrap_or_else(|e| panic!("{e}")));
    let declared = Declarations::new(&program);
    let device = CpuDevice::new(program.clone(), CpuOptions { threads: 2, ..CpuOptions::default() });
    let device = device.unwrap_or_else(|e| panic!("{e}"));
    let mut fails = Fails(decider(8), 6);
    let result = run(Policy::Window, &device, &program, &declared, &Options::default(), Some(&mut fails));
    assert!(matches!(result, Err(RunError::Decider(_))), "{result:?}");
    let then = device.times();
    assert!(then.iter().flatten().any(|t| t.end > 0), "some had started");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(device.times(), then);
}

/// What [`a_policy_whose_threads_run_out_says_so`] runs where there is memory for some threads only.
#[test]
#[ignore = "the other runs it"]
fn more_streams_than_threads() {
    let program = program(&mut Random(1), 30);
    let declared = Declarations::new(&program);
    let options_of = CpuOptions { threads: 1, streams: 1024, ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
    let result = run(Policy::StreamsAce, &device, &program, &declared, &Options::default(), None);
    assert!(matches!(result, Err(RunError::Thread { what: "a stream", .. })), "{result:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_policy_whose_threads_run_out_says_so() {
    // Stacks of so many bytes, for less than a hundred threads; what is left is enough for the rest.
    with_little_memory(8 << 20, 128 << 20, "more_streams_than_threads");
}

/// What [`an_image_that_cannot_be_copied_says_so`] runs.
#[test]
#[ignore = "the other runs it"]
fn a_large_image() {
    let writes = vec![Segment { addr: 4096, bytes: 256 << 20 }];
    let kernel = Kernel { writes, ..kernels(&mut Random(1), 1).remove(0) };
    let program =
        Program::new("large", &[&[kernel]], &[Work::default()], 1).unwrap_or_else(|e| panic!("{e}"));
    let (bytes, program) = (program.words() * 4, Arc::new(program));
    let options_of = CpuOptions { threads: 1, ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options_of).unwrap_or_else(|e| panic!("{e}"));
    for second in [device.image(), program.serial_image()] {
        let refused = second.map(|image| image.len());
        assert!(
            matches!(refused, Err(DeviceError::OutOfMemory { bytes: b, .. }) if b == bytes),
            "{refused:?}"
        );
    }
    assert!(device.digest().is_ok(), "it needs no copy");
}

#[cfg(target_os = "linux")]
#[test]
fn an_image_that_cannot_be_copied_says_so() {
    // For one image, and not for two.
    with_little_memory(448 << 10, 2 << 20, "a_large_image");
}

/// What overlap is worth in a stretch does not depend on how long the run has been going.
#[test]
fn kernels_that_are_worth_overlapping_do_late_in_a_run_too() {
    let kernel = |index: u64, place: u64| Kernel {
        grid: [1, 1, 1],
        reads: vec![Segment { addr: place * 1024, bytes: 64 }],
        writes: vec![Segment { addr: place * 1024, bytes: 64 }],
        ..kernels(&mut Random(index), 1).remove(0)
    };
    // One chain, then two.
    let kernels: Vec<Kernel> = (0..800).map(|k| kernel(k, 1 + if k < 400 { 0 } else { k % 2 })).collect();
    let program = Program::new("chains", &[&kernels], &[Work::default(); 800], 1);
    let program = Arc::new(program.unwrap_or_else(|e| panic!("{e}")));
    let declared = Declarations::new(&program);
    let device = ChanceDevice::new(program.clone(), 4, 1).unwrap();
    let costs = Costs { launch_ns: 100, other_launch_ns: 100, gap_ns: 1000, cross_ns: 1000, ..Costs::FREE };
    let options = Options {
        costs: Some(costs),
        estimates: vec![Estimate { ns: 5000.0, share: 0.1 }; 800],
        launchers: 0,
        ..Options::default()
    };
    let counts = run(Policy::Streams, &device, &program, &declared, &options, None);
    let counts = counts.unwrap_or_else(|e| panic!("{e}"));
    let part = counts.stretches_in_one_stream as f64 / counts.stretches as f64;
    assert!((0.4..0.65).contains(&part), "{counts:?}");
}

/// A device on which calls take their time, by its own clock: in microseconds.
struct Slow {
    device: ChanceDevice,
    clock: AtomicU64,
    launch_into_the_first: u64,
    wait: AtomicU64,
    /// Gives no graph other kernels.
    refuses: bool,
    /// Kernels launched by themselves.
    launches: AtomicU64,
    /// Graphs that are there, and how many there is room for.
    graphs: AtomicU64,
    room: u64,
}

impl Slow {
    fn new(device: ChanceDevice) -> Self {
        let (clock, wait, launches, graphs) = Default::default();
        let launch_into_the_first = 0;
        Self { device, clock, launch_into_the_first, wait, refuses: false, launches, graphs, room: u64::MAX }
    }
}

impl Device for Slow {
    fn launch(&self, stream: u32, kernel: u32, early: bool) -> Result<(), DeviceError> {
        self.launches.fetch_add(1, Ordering::Relaxed);
        let more = if stream == 0 { self.launch_into_the_first } else { 0 };
        self.clock.fetch_add(1 + more, Ordering::Relaxed);
        self.device.launch(stream, kernel, early)
    }

    fn clock(&self) -> Duration {
        Duration::from_micros(self.clock.load(Ordering::Relaxed))
    }

    fn wait(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.clock.fetch_add(self.wait.load(Ordering::Relaxed), Ordering::Relaxed);
        self.device.wait(stream, event)
    }

    fn name(&self) -> String {
        self.device.name()
    }

    fn streams(&self) -> u32 {
        self.device.streams()
    }

    fn reset(&self) -> Result<(), DeviceError> {
        self.device.reset()
    }

    fn record(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.device.record(stream, event)
    }

    fn mark(&self, stream: u32, value: u32) -> Result<(), DeviceError> {
        self.device.mark(stream, value)
    }

    fn progress(&self, stream: u32) -> u32 {
        self.device.progress(stream)
    }

    fn check(&self, stream: u32) -> Result<(), DeviceError> {
        self.device.check(stream)
    }

    fn synchronise(&self, stream: u32) -> Result<(), DeviceError> {
        self.device.synchronise(stream)
    }

    fn build_graph(&self, shape: &GraphShape) -> Result<GraphId, DeviceError> {
        if self.graphs.load(Ordering::Relaxed) >= self.room {
            return Err(DeviceError::Unsupported { device: self.name(), what: "more graphs" });
        }
        self.graphs.fetch_add(1, Ordering::Relaxed);
        self.device.build_graph(shape)
    }

    fn update_graph(&self, graph: GraphId, shape: &GraphShape) -> Result<bool, DeviceError> {
        Ok(!self.refuses && self.device.update_graph(graph, shape)?)
    }

    fn launch_graph(&self, stream: u32, graph: GraphId) -> Result<(), DeviceError> {
        self.device.launch_graph(stream, graph)
    }

    fn destroy_graph(&self, graph: GraphId) {
        self.graphs.fetch_sub(1, Ordering::Relaxed);
        self.device.destroy_graph(graph);
    }

    fn image(&self) -> Result<Vec<u32>, DeviceError> {
        self.device.image()
    }

    fn times(&self) -> Result<Vec<KernelTime>, DeviceError> {
        self.device.times()
    }
}

/// A graph that a device does not update makes room for the one that is built in its place.
#[test]
fn refused_graphs_are_not_kept() {
    let mut random = Random(seed());
    for _ in 0..20 {
        let program = program(&mut random, 60);
        let declared = Declarations::new(&program);
        let device = Slow {
            refuses: true,
            ..Slow::new(ChanceDevice::new(program.clone(), 3, random.next()).unwrap())
        };
        let options = Options { graph_window: 8, ..Options::default() };
        let mut runner = Runner::new(&device, &program, &declared, options).unwrap_or_else(|e| panic!("{e}"));
        let mut graphs = 0;
        for run in 0..4 {
            runner.run(Policy::GraphCached, None).unwrap_or_else(|e| panic!("{e}"));
            assert!(device.image() == program.serial_image(), "not the serial image");
            let now = device.graphs.load(Ordering::Relaxed);
            assert!(run == 0 || now == graphs, "{graphs} graphs, {now} after run {run}");
            graphs = now;
        }
        drop(runner);
        assert_eq!(device.graphs.load(Ordering::Relaxed), 0);
    }
}

/// Chains are known from the second run on, hold each kernel once, and take nothing from the order.
#[test]
fn chains_leave_the_serial_image() {
    let mut random = Random(seed());
    let (mut kernels, mut chains) = (0, 0);
    for round in 0..200 {
        let count = 1 + random.below(120) as usize;
        let program = program(&mut random, count);
        let want = program.serial_image().unwrap();
        let declared = Declarations::new(&program);
        let device =
            Slow::new(ChanceDevice::new(program.clone(), 1 + random.below(5) as u32, random.next()).unwrap());
        let mut options = options(&mut random, count);
        options.way.launches = Launches::Chains;
        let mut runner = Runner::new(&device, &program, &declared, options.clone()).unwrap();
        let policy = [Policy::Streams, Policy::Pdl][round % 2];
        for run in 0..4 {
            let counts = runner.run(policy, None);
            let counts =
                counts.unwrap_or_else(|e| panic!("round {round}, run {run}, {policy}, {options:?}: {e}"));
            assert!(device.image().as_ref() == Ok(&want), "round {round}, run {run}, {policy}, {options:?}");
            assert!(run > 0 || (counts.kept_graphs == 0 && counts.graphs_built > 0), "{policy}: {counts:?}");
            assert_eq!(counts.launches, count as u64);
            if run == 3 {
                assert!(counts.kept_graphs > 0, "round {round}, {policy}: {counts:?}");
                kernels += counts.launches;
                chains += counts.kept_graphs;
            }
        }
        drop(runner);
        assert_eq!(device.graphs.load(Ordering::Relaxed), 0, "graphs that nobody destroyed");
    }
    println!("{kernels} kernels in {chains} chains");
    assert!(chains * 3 < kernels * 2, "{kernels} kernels in {chains} chains");
}

/// All of a later run is in graphs: what is launched together does not depend on when kernels end. The order holds inside a graph, between
/// streams, and from section to section.
#[test]
fn subgraphs_leave_the_serial_image() {
    let mut random = Random(seed());
    let (mut kernels, mut graphs, mut waits) = (0, 0, 0);
    for round in 0..203 {
        // The last windows are so large that the hazard engine leaves out what other waits imply.
        let large = round >= 200;
        let count = if large { 1500 } else { 1 + random.below(200) as usize };
        let program = program(&mut random, count);
        let want = program.serial_image().unwrap();
        let declared = Declarations::new(&program);
        let device =
            Slow::new(ChanceDevice::new(program.clone(), 1 + random.below(5) as u32, random.next()).unwrap());
        let mut options = options(&mut random, count);
        options.way.launches = Launches::Subgraphs;
        if large {
            options.graph_window = 300 + random.below(200) as usize;
        }
        options.way.overlap = [Overlap::WhereItPays, Overlap::Everywhere][random.below(2) as usize];
        let mut runner = Runner::new(&device, &program, &declared, options.clone()).unwrap();
        let policy = [Policy::Streams, Policy::Pdl][round % 2];
        for run in 0..3 {
            let counts = runner.run(policy, None);
            let counts =
                counts.unwrap_or_else(|e| panic!("round {round}, run {run}, {policy}, {options:?}: {e}"));
            assert!(device.image().as_ref() == Ok(&want), "round {round}, run {run}, {policy}, {options:?}");
            assert_eq!(counts.launches, count as u64);
            assert_eq!(
                (counts.kept_graphs == 0, counts.graphs_built > 0),
                (run == 0, run == 0),
                "{counts:?}"
            );
            assert_eq!(device.launches.swap(0, Ordering::Relaxed) == 0, run > 0, "kernels by themselves");
            if run > 0 {
                kernels += counts.launches;
                graphs += counts.kept_graphs;
                waits += counts.waits;
            }
        }
        drop(runner);
        assert_eq!(device.graphs.load(Ordering::Relaxed), 0, "graphs that nobody destroyed");
    }
    println!("{kernels} kernels in {graphs} graphs, {waits} waits");
    assert!(
        graphs * 4 < kernels && waits > graphs / 4,
        "{kernels} kernels in {graphs} graphs, {waits} waits"
    );
}

/// Subgraphs have more than one stream where parts of a stretch are independent, and a kernel of the next stretch does not wait for the parts
/// that it has nothing to do with.
#[test]
fn parts_that_are_independent_get_streams_of_their_own() {
    // Two chains that share nothing, in turn.
    let kernels: Vec<Kernel> = (0..64)
        .map(|k| Kernel {
            index: k,
            reads: Vec::new(),
            writes: vec![Segment { addr: 4096 + 65536 * (k % 2), bytes: 256 }],
            ..kernels(&mut Random(1), 1).remove(0)
        })
        .collect();
    let program = Arc::new(Program::new("two", &[&kernels], &[Work::default(); 64], 1).unwrap());
    let declared = Declarations::new(&program);
    let device = ChanceDevice::new(program.clone(), 4, seed()).unwrap();
    let options = Options {
        way: Way { overlap: Overlap::Everywhere, streams: 4, launches: Launches::Subgraphs },
        // The second chain takes longer: in one stream the first would wait for it.
        estimates: (0..64).map(|k| Estimate { ns: 1000.0 + 1000.0 * (k % 2) as f32, share: 0.1 }).collect(),
        costs: Some(Costs { gap_ns: 1000, cross_ns: 2000, ..Costs::FREE }),
        graph_window: 16,
        ..Options::default()
    };
    let mut runner = Runner::new(&device, &program, &declared, options).unwrap();
    // Stretches of 8, 16, 16, 16 and 8; the two of each of the last three come after the first stretch, the second and the third.
    for graphs in [0, 2 * 5] {
        let counts = runner.run(Policy::Streams, None).unwrap();
        assert_eq!((counts.kept_graphs, counts.waits), (graphs, 2 * 3), "{counts:?}");
        assert_eq!(device.image(), program.serial_image());
    }
}

/// A run is not lost for a chain that there is no room for.
#[test]
fn a_device_without_room_for_chains_goes_on_without_them() {
    let mut random = Random(seed());
    let program = program(&mut random, 100);
    let want = program.serial_image().unwrap();
    let declared = Declarations::new(&program);
    for room in [0, 2] {
        let mut device = Slow::new(ChanceDevice::new(program.clone(), 3, random.next()).unwrap());
        device.room = room;
        let mut options = options(&mut random, 100);
        options.way.launches = Launches::Chains;
        let mut runner = Runner::new(&device, &program, &declared, options).unwrap();
        let counts: Vec<Counts> =
            (0..3).map(|_| runner.run(Policy::Streams, None).unwrap_or_else(|e| panic!("{e}"))).collect();
        assert_eq!(counts.iter().map(|c| c.graphs_built).collect::<Vec<_>>(), [room, 0, 0]);
        assert!(device.image().as_ref() == Ok(&want));
    }
}

/// What is chosen is what was faster, whatever the costs say.
#[test]
fn overlap_is_tried_out() {
    let mut random = Random(seed());
    let program = program(&mut random, 60);
    let want = program.serial_image().unwrap();
    let declared = Declarations::new(&program);
    for waits_are_slow in [false, true] {
        let slow = |it: bool| if it { 10 } else { 0 };
        let device = Slow {
            launch_into_the_first: slow(!waits_are_slow),
            wait: AtomicU64::new(slow(waits_are_slow)),
            ..Slow::new(ChanceDevice::new(program.clone(), 4, 1).unwrap())
        };
        let options = Options { launchers: 0, ..Options::default() };
        let mut runner = Runner::new(&device, &program, &declared, options).unwrap_or_else(|e| panic!("{e}"));
        for policy in Policy::ALL {
            let tried = runner.try_out(policy, 3).unwrap_or_else(|e| panic!("{policy}: {e}"));
            let chosen = runner.chosen(policy);
            if !matches!(policy, Policy::Streams | Policy::Pdl) {
                assert_eq!((tried, chosen), (Vec::new(), None), "{policy} has nothing to choose");
                continue;
            }
            let one_stream = chosen.is_some_and(|way| way.overlap == Overlap::Never);
            assert_eq!(one_stream, waits_are_slow, "{policy}: {chosen:?}");
            let counts = runner.run(policy, None).unwrap_or_else(|e| panic!("{policy}: {e}"));
            assert_eq!(counts.waits == 0, waits_are_slow, "{policy} does as was chosen: {counts:?}");
            assert!(device.image().as_ref() == Ok(&want), "{policy}: not the serial image");
            // The host gets slower: what was right is not any more.
            device.wait.store(1000, Ordering::Relaxed);
            for _ in 0..5 {
                runner.run(policy, None).unwrap_or_else(|e| panic!("{policy}: {e}"));
            }
            let serial = Way { overlap: Overlap::Never, streams: 1, launches: Launches::Kernels };
            assert_eq!(runner.chosen(policy), Some(serial), "{policy}");
            device.wait.store(slow(waits_are_slow), Ordering::Relaxed);
        }
    }
}

#[test]
fn what_a_device_does_not_have_is_an_error() {
    let program = program(&mut Random(1), 3);
    let cpu = CpuDevice::new(program.clone(), CpuOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let chance = ChanceDevice::new(program.clone(), 8, 1).unwrap();
    for device in [&cpu as &dyn Device, &chance] {
        let shape = GraphShape { kernels: vec![3], upstream: vec![Vec::new()], early: false };
        let graph = device.build_graph(&shape).unwrap_or_else(|e| panic!("{e}"));
        for result in [
            device.launch(8, 0, false),
            device.launch(0, 3, false),
            device.record(8, 0),
            device.record(0, u32::MAX),
            device.record(0, (1 << 24) - 1),
            device.mark(8, 1),
            device.launch_graph(0, graph),
            device.launch_graph(0, GraphId(7)),
        ] {
            assert!(matches!(result, Err(DeviceError::Unsupported { .. })), "{result:?}");
        }
        assert_eq!(device.progress(8), 0);
    }
    Declarations::new(&program).forget(3);
}

#[test]
fn a_device_of_chance_has_a_stream() {
    let program = program(&mut Random(1), 5);
    let device = ChanceDevice::new(program.clone(), 0, 1).unwrap();
    let declared = Declarations::new(&program);
    for policy in Policy::ALL {
        let result = run(policy, &device, &program, &declared, &Options::default(), Some(&mut decider(8)));
        result.unwrap_or_else(|e| panic!("{policy}: {e}"));
        assert_eq!(device.image(), program.serial_image(), "{policy}");
    }
}

/// A packet of a kernel before those that are in the window.
#[test]
fn a_software_decider_refuses_an_earlier_kernel() {
    let mut decider = decider(4);
    let packet = |kernel: u32| Packet { kernel, id: kernel as u8, upstream: Upstream::Mask([0; 8]) };
    assert!(decider.step(Some(&packet(7)), &[], false).is_ok_and(|decision| decision.taken));
    assert!(decider.step(Some(&packet(3)), &[], false).is_err());
}

#[test]
fn declarations_of_another_program_are_refused() {
    let (one, three) = (program(&mut Random(1), 1), program(&mut Random(1), 3));
    let device = ChanceDevice::new(three.clone(), 2, 1).unwrap();
    let error = Runner::new(&device, &three, &Declarations::new(&one), Options::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the program has 3 kernels, but there are the declarations of 1; make them from this program"
    );
}

#[test]
fn a_kernel_without_threads_is_no_program() {
    for (grid, block) in [([1, 0, 1], [32, 1, 1]), ([1, 1, 1], [32, 1, 0])] {
        let kernel = Kernel { grid, block, ..kernels(&mut Random(1), 1).remove(0) };
        let error = Program::new("p", &[&[kernel]], &[Work::default()], 1).err().unwrap().to_string();
        assert!(error.starts_with("kernel 0 `k0` has no thread"), "{error}");
    }
}

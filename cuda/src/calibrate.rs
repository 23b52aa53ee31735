//! What CUDA's primitives cost on the GPU at hand.

use crate::compile::compile;
use crate::driver::{Context, DeviceMemory, Event, Function, Marks, Module, NOT_READY, Stream, config};
use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUdevice_attribute as Attribute, CUgraph, CUgraphExec,
    CUgraphExecUpdateResultInfo, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUstream,
};
use serde::Serialize;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use windlass_runtime::percentile::median;
use windlass_runtime::run::DeviceError;

/// The kernels, for NVRTC.
pub(crate) const SOURCE: &str = include_str!("calibrate.cu");

/// What CUDA's primitives cost on one GPU: medians, in nanoseconds. A gap is from the end of a kernel to the start of the next, on the
/// device's clock, with the launches queued long before; a cost is of the host's thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Calibration {
    /// The GPU.
    pub device: String,
    /// Compute capability.
    pub arch: (u32, u32),
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Highest clock of an SM, in MHz; 0 where the driver does not say.
    pub clock_mhz: u32,
    /// Smallest step of the device's clock: no gap is known better in one measurement.
    pub clock_step_ns: f64,
    /// Cost of a launch, one after another into one stream.
    pub launch_ns: f64,
    /// Cost of a launch in each of four threads that launch at the same time, each into a stream of its own.
    pub launch_busy_ns: f64,
    /// Cost of an early launch (programmatic dependent launch); as `launch_ns` where the GPU has none.
    pub launch_early_ns: f64,
    /// Gap in one stream.
    pub stream_gap_ns: f64,
    /// Gap in one stream with early launches; as `stream_gap_ns` where the GPU has none.
    pub early_gap_ns: f64,
    /// Cost of synchronising with a stream that is idle.
    pub synchronise_idle_ns: f64,
    /// From the end of a kernel to the return of a synchronisation that asks again and again, as `CudaDevice` does.
    pub synchronise_ns: f64,
    /// The same by `cuStreamSynchronize`.
    pub synchronise_blocking_ns: f64,
    /// From the call of a launch into an idle stream to the start of the kernel.
    pub launch_start_ns: f64,
    /// From the end of a kernel to the return of a host thread that asks for its event again and again (`cuEventQuery`).
    pub event_query_ns: f64,
    /// Cost of recording an event.
    pub record_ns: f64,
    /// Cost of making a stream wait for an event.
    pub wait_ns: f64,
    /// Gap between a kernel and one in another stream that waits for its event.
    pub event_gap_ns: f64,
    /// Cost of a mark.
    pub mark_ns: f64,
    /// From the end of a kernel to the host reading the mark behind it.
    pub notice_ns: f64,
    /// From the host writing a word to the host reading a running kernel's answer. Half of it is taken off what begins with such a word.
    pub round_trip_ns: f64,
    /// Cost of adding a node to a graph.
    pub graph_node_ns: f64,
    /// Cost of instantiating a graph, per node.
    pub graph_instantiate_node_ns: f64,
    /// Cost of updating a graph with one that is built already, per node.
    pub graph_update_node_ns: f64,
    /// Cost of launching a graph of one node.
    pub graph_launch_ns: f64,
    /// From the call of a graph's launch into an idle stream to the start of its first kernel.
    pub graph_start_ns: f64,
    /// Cost of launching a graph, for each further node.
    pub graph_launch_node_ns: f64,
    /// Gap between two nodes of a graph, of which one waits for the other.
    pub graph_gap_ns: f64,
}

/// Kernels in a chain whose gaps are measured.
const CHAIN: usize = 64;
/// Launches that are timed together, few enough not to fill a stream's queue.
const BATCH: usize = 256;
/// Threads that launch at the same time.
const THREADS: usize = 4;
/// Chains and batches.
const REPEATS: usize = 21;
/// Nanoseconds of a kernel in a chain.
const KERNEL_NS: u64 = 2000;
/// Handshakes between host and device.
const HANDSHAKES: usize = 201;

/// Measures, on the GPU of that number, in a context of its own; takes about a second. The machine should be idle.
///
/// # Errors
/// As `CudaDevice::new`, and [`DeviceError::Timeout`].
pub fn calibrate(ordinal: u32) -> Result<Calibration, DeviceError> {
    let bench = Bench::new(ordinal)?;
    let round_trip_ns = bench.round_trip()?;
    let (launch_ns, launch_early_ns) = (bench.launches(false)?, bench.launches(true)?);
    let (record_ns, wait_ns, event_gap_ns) = bench.events()?;
    let graphs = bench.graphs()?;
    let after_kernel = |end| bench.after_kernel(end).map(|ns| (ns - round_trip_ns / 2.0).max(0.0));
    let start = |graph| bench.start(graph).map(|ns| (ns - round_trip_ns / 2.0).max(0.0));
    Ok(Calibration {
        device: bench.context.name.clone(),
        arch: bench.context.arch,
        sms: bench.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        clock_mhz: bench.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000,
        clock_step_ns: bench.clock_step()?,
        launch_ns,
        launch_busy_ns: bench.launches_of_threads()?,
        launch_early_ns,
        stream_gap_ns: bench.stream_gap(false)?,
        early_gap_ns: bench.stream_gap(true)?,
        synchronise_idle_ns: bench.synchronise_idle()?,
        synchronise_ns: after_kernel(End::Query)?,
        synchronise_blocking_ns: after_kernel(End::Synchronise)?,
        launch_start_ns: start(false)?,
        event_query_ns: after_kernel(End::Event)?,
        record_ns,
        wait_ns,
        event_gap_ns,
        mark_ns: bench.marks_cost()?,
        notice_ns: after_kernel(End::Mark)?,
        round_trip_ns,
        graph_node_ns: graphs.node,
        graph_instantiate_node_ns: graphs.instantiate_node,
        graph_update_node_ns: graphs.update_node,
        graph_launch_ns: graphs.launch,
        graph_start_ns: start(true)?,
        graph_launch_node_ns: graphs.launch_node,
        graph_gap_ns: graphs.gap,
    })
}

/// Nanoseconds since then.
fn since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e9
}

/// How the host gets to know that a kernel has ended.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Query,
    Synchronise,
    Event,
    Mark,
}

/// The kernel of a node.
#[derive(Clone, Copy)]
enum Node {
    Empty,
    Stamp,
    Hail,
}

struct Graphs {
    node: f64,
    instantiate_node: f64,
    update_node: f64,
    launch: f64,
    launch_node: f64,
    gap: f64,
}

/// Word that a kernel waits for, word that it answers with, and the mark.
const FLAG: usize = 0;
const ANSWER: usize = 1;
const MARK: usize = 2;

struct Bench {
    context: Arc<Context>,
    empty: Function,
    stamp: Function,
    ticks: Function,
    hold: Function,
    echo: Function,
    hail: Function,
    mark: Function,
    /// The streams write marks by themselves; otherwise a kernel does.
    writes_values: bool,
    _module: Module,
    streams: [Stream; 2],
    words: Marks,
    times: DeviceMemory,
}

impl Bench {
    fn new(ordinal: u32) -> Result<Self, DeviceError> {
        let context = Context::new(ordinal)?;
        let cubin = compile(SOURCE, context.arch).map_err(|e| context.failed("compile", e.to_string()))?;
        let module = Module::new(&context, &cubin)?;
        let mut bench = Self {
            empty: module.function("empty")?,
            stamp: module.function("stamp")?,
            ticks: module.function("ticks")?,
            hold: module.function("hold")?,
            echo: module.function("echo")?,
            hail: module.function("hail")?,
            mark: module.function("mark")?,
            writes_values: true,
            _module: module,
            streams: [Stream::new(&context)?, Stream::new(&context)?],
            words: Marks::new(&context, 3)?,
            times: DeviceMemory::new(&context, CHAIN as u64 * 16, "times")?,
            context,
        };
        let stream = bench.streams[0].raw;
        bench.writes_values = bench.mark(stream, 1).and_then(|()| bench.synchronise(stream)).is_ok()
            && bench.words.at(MARK).load(Ordering::Acquire) == 1;
        Ok(bench)
    }

    fn attribute(&self, attribute: Attribute) -> u32 {
        u32::try_from(self.context.attribute(attribute)).unwrap_or(0)
    }

    fn launch(
        &self,
        function: Function,
        stream: CUstream,
        args: &mut [*mut c_void],
        early: bool,
    ) -> Result<(), DeviceError> {
        let mut config = config([1; 3], [1; 3], 0, stream);
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        if early && self.context.arch >= (9, 0) {
            config.attrs = &mut attribute;
            config.numAttrs = 1;
        }
        // SAFETY: each caller below gives what the kernel of calibrate.cu takes.
        let code = unsafe { function.launch(&self.context, &config, args) };
        self.context.ok(code, "cuLaunchKernelEx")
    }

    /// One kernel of a chain, with its place in the table of times.
    fn stamp(&self, n: usize, stream: CUstream, early: bool) -> Result<(), DeviceError> {
        let (mut times, mut ns) = (self.times.address + n as u64 * 16, KERNEL_NS);
        self.launch(self.stamp, stream, &mut [(&raw mut times).cast(), (&raw mut ns).cast()], early)
    }

    /// Holds the stream up until [`Bench::release`].
    fn hold(&self, stream: CUstream) -> Result<(), DeviceError> {
        self.words.at(FLAG).store(0, Ordering::SeqCst);
        let (mut flag, mut value) = (self.words.address(FLAG), 1u32);
        self.launch(self.hold, stream, &mut [(&raw mut flag).cast(), (&raw mut value).cast()], false)
    }

    fn release(&self) {
        self.words.at(FLAG).store(1, Ordering::SeqCst);
    }

    fn timeout(&self) -> DeviceError {
        DeviceError::Timeout {
            device: self.context.name.clone(),
            waited: Self::LIMIT,
            suspects: "the kernels of the calibration".into(),
        }
    }

    const LIMIT: Duration = Duration::from_secs(5);

    fn until(&self, mut done: impl FnMut() -> Result<bool, DeviceError>) -> Result<(), DeviceError> {
        let begun = Instant::now();
        while !done()? {
            if begun.elapsed() > Self::LIMIT {
                return Err(self.timeout());
            }
        }
        Ok(())
    }

    fn synchronise(&self, stream: CUstream) -> Result<(), DeviceError> {
        // SAFETY: the stream lives.
        self.until(|| match unsafe { (self.context.driver.cuStreamQuery)(stream) } {
            NOT_READY => Ok(false),
            code => self.context.ok(code, "cuStreamQuery").map(|()| true),
        })
    }

    /// The gaps of the chain that has just run.
    fn gaps(&self) -> Result<Vec<f64>, DeviceError> {
        let times: Vec<[u64; 2]> = self.times.values(CHAIN)?;
        Ok(times.windows(2).map(|t| t[1][0].wrapping_sub(t[0][1]).cast_signed() as f64).collect())
    }

    fn clock_step(&self) -> Result<f64, DeviceError> {
        let (mut values, mut count) = (self.times.address, 2 * CHAIN as u32);
        let stream = self.streams[0].raw;
        self.launch(self.ticks, stream, &mut [(&raw mut values).cast(), (&raw mut count).cast()], false)?;
        self.synchronise(stream)?;
        let ticks: Vec<u64> = self.times.values(2 * CHAIN)?;
        Ok(ticks.windows(2).map(|t| t[1].saturating_sub(t[0]) as f64).fold(f64::INFINITY, f64::min))
    }

    fn launches(&self, early: bool) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let mut costs = Vec::new();
        for _ in 0..REPEATS {
            let begun = Instant::now();
            for _ in 0..BATCH {
                self.launch(self.empty, stream, &mut [], early)?;
            }
            costs.push(since(begun) / BATCH as f64);
            self.synchronise(stream)?;
        }
        Ok(median(costs))
    }

    fn launches_of_threads(&self) -> Result<f64, DeviceError> {
        let streams: Vec<Stream> =
            (0..THREADS).map(|_| Stream::new(&self.context)).collect::<Result<_, _>>()?;
        let mut costs = Vec::new();
        for _ in 0..REPEATS {
            // How many threads are there, each with the context: none launches before all can.
            let ready = AtomicUsize::new(0);
            let launch = |stream: &Stream| {
                let entered = self.context.enter();
                ready.fetch_add(1, Ordering::AcqRel);
                while ready.load(Ordering::Acquire) < THREADS {
                    std::hint::spin_loop();
                }
                entered?;
                let begun = Instant::now();
                for _ in 0..BATCH {
                    self.launch(self.empty, stream.raw, &mut [], false)?;
                }
                Ok(since(begun) / BATCH as f64)
            };
            let each: Vec<Result<f64, DeviceError>> = std::thread::scope(|scope| {
                let launch = &launch;
                let start = |stream| std::thread::Builder::new().spawn_scoped(scope, move || launch(stream));
                let threads: Vec<_> = streams.iter().map(start).collect();
                // One that could not be started must not keep the others waiting.
                ready.fetch_add(threads.iter().filter(|thread| thread.is_err()).count(), Ordering::AcqRel);
                let ended = |thread: std::io::Result<ScopedJoinHandle<'_, _>>| match thread.map(|t| t.join())
                {
                    Ok(Ok(cost)) => cost,
                    // None panics.
                    Ok(Err(_)) => Ok(0.0),
                    Err(e) => Err(self.context.failed("a thread", e.to_string())),
                };
                threads.into_iter().map(ended).collect()
            });
            for cost in each {
                costs.push(cost?);
            }
            for stream in &streams {
                self.synchronise(stream.raw)?;
            }
        }
        Ok(median(costs))
    }

    fn marks_cost(&self) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let mut costs = Vec::new();
        for _ in 0..REPEATS {
            let begun = Instant::now();
            for value in 0..BATCH {
                self.mark(stream, value as u32)?;
            }
            costs.push(since(begun) / BATCH as f64);
            self.synchronise(stream)?;
        }
        Ok(median(costs))
    }

    /// As `CudaDevice` does it.
    fn mark(&self, stream: CUstream, mut value: u32) -> Result<(), DeviceError> {
        let mut address = self.words.address(MARK);
        if !self.writes_values {
            let mut args = [(&raw mut address).cast(), (&raw mut value).cast()];
            return self.launch(self.mark, stream, &mut args, false);
        }
        // SAFETY: the stream lives, and the address is pinned memory of this context, of 4 aligned bytes.
        let code = unsafe { (self.context.driver.cuStreamWriteValue32_v2)(stream, address, value, 0) };
        self.context.ok(code, "cuStreamWriteValue32")
    }

    fn stream_gap(&self, early: bool) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let mut gaps = Vec::new();
        for _ in 0..REPEATS {
            self.hold(stream)?;
            for n in 0..CHAIN {
                self.stamp(n, stream, early)?;
            }
            self.release();
            self.synchronise(stream)?;
            gaps.extend(self.gaps()?);
        }
        Ok(median(gaps))
    }

    fn synchronise_idle(&self) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let mut costs = Vec::new();
        for _ in 0..REPEATS {
            let begun = Instant::now();
            for _ in 0..BATCH {
                self.synchronise(stream)?;
            }
            costs.push(since(begun) / BATCH as f64);
        }
        Ok(median(costs))
    }

    /// (cost of a record, cost of a wait, gap)
    fn events(&self) -> Result<(f64, f64, f64), DeviceError> {
        let driver = self.context.driver;
        let events: Vec<Event> = (0..CHAIN).map(|_| Event::new(&self.context)).collect::<Result<_, _>>()?;
        let (mut records, mut waits, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            self.hold(self.streams[0].raw)?;
            for (n, event) in events.iter().enumerate() {
                let (here, there) = (self.streams[n % 2].raw, self.streams[(n + 1) % 2].raw);
                self.stamp(n, here, false)?;
                let begun = Instant::now();
                // SAFETY: both live.
                let code = unsafe { (driver.cuEventRecord)(event.raw, here) };
                records.push(since(begun));
                self.context.ok(code, "cuEventRecord")?;
                let begun = Instant::now();
                // SAFETY: both live.
                let code = unsafe { (driver.cuStreamWaitEvent)(there, event.raw, 0) };
                waits.push(since(begun));
                self.context.ok(code, "cuStreamWaitEvent")?;
            }
            self.release();
            self.synchronise(self.streams[0].raw)?;
            self.synchronise(self.streams[1].raw)?;
            gaps.extend(self.gaps()?);
        }
        Ok((median(records), median(waits), median(gaps)))
    }

    /// From the host's word to the host's knowledge that the kernel which waited for it has ended.
    fn after_kernel(&self, end: End) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let event = Event::new(&self.context)?;
        let mut latencies = Vec::new();
        for n in 1..=HANDSHAKES as u32 {
            self.words.at(MARK).store(0, Ordering::SeqCst);
            self.hold(stream)?;
            if end == End::Mark {
                self.mark(stream, n)?;
            }
            if end == End::Event {
                // SAFETY: both live.
                let code = unsafe { (self.context.driver.cuEventRecord)(event.raw, stream) };
                self.context.ok(code, "cuEventRecord")?;
            }
            // Long enough for the kernel to run.
            let queued = Instant::now();
            self.until(|| Ok(queued.elapsed() > Duration::from_micros(50)))?;
            let begun = Instant::now();
            self.release();
            match end {
                End::Query => self.synchronise(stream)?,
                End::Synchronise => {
                    // SAFETY: the stream lives.
                    let code = unsafe { (self.context.driver.cuStreamSynchronize)(stream) };
                    self.context.ok(code, "cuStreamSynchronize")?;
                }
                End::Event => self.until(|| {
                    // SAFETY: the event lives.
                    let code = unsafe { (self.context.driver.cuEventQuery)(event.raw) };
                    if code == NOT_READY {
                        return Ok(false);
                    }
                    self.context.ok(code, "cuEventQuery").map(|()| true)
                })?,
                End::Mark => self.until(|| Ok(self.words.at(MARK).load(Ordering::Acquire) == n))?,
            }
            latencies.push(since(begun));
            self.synchronise(stream)?;
        }
        Ok(median(latencies))
    }

    /// From the call of a launch to the host reading what the kernel writes first.
    fn start(&self, graph: bool) -> Result<f64, DeviceError> {
        let stream = self.streams[0].raw;
        let mut chain = self.chain(1, Node::Hail)?;
        chain.instantiate()?;
        let mut latencies = Vec::new();
        for _ in 0..HANDSHAKES {
            self.words.at(ANSWER).store(0, Ordering::SeqCst);
            let begun = Instant::now();
            if graph {
                chain.launch(stream)?;
            } else {
                let mut answer = self.words.address(ANSWER);
                self.launch(self.hail, stream, &mut [(&raw mut answer).cast()], false)?;
            }
            self.until(|| Ok(self.words.at(ANSWER).load(Ordering::Acquire) == 1))?;
            latencies.push(since(begun));
            self.synchronise(stream)?;
        }
        Ok(median(latencies))
    }

    fn round_trip(&self) -> Result<f64, DeviceError> {
        self.words.zero();
        let stream = self.streams[0].raw;
        let (mut flag, mut answer) = (self.words.address(FLAG), self.words.address(ANSWER));
        let mut count = HANDSHAKES as u32;
        let mut args = [(&raw mut flag).cast(), (&raw mut answer).cast(), (&raw mut count).cast()];
        self.launch(self.echo, stream, &mut args, false)?;
        let mut trips = Vec::new();
        for n in 1..=count {
            let begun = Instant::now();
            self.words.at(FLAG).store(n, Ordering::SeqCst);
            self.until(|| Ok(self.words.at(ANSWER).load(Ordering::Acquire) == n))?;
            trips.push(since(begun));
        }
        self.synchronise(stream)?;
        Ok(median(trips))
    }

    /// A chain of nodes.
    fn chain(&self, nodes: usize, kind: Node) -> Result<Chain<'_>, DeviceError> {
        let driver = self.context.driver;
        let mut graph = null_mut();
        // SAFETY: the out parameter is a local.
        self.context.ok(unsafe { (driver.cuGraphCreate)(&mut graph, 0) }, "cuGraphCreate")?;
        let chain = Chain { bench: self, graph, exec: null_mut() };
        let mut before = null_mut();
        for n in 0..nodes {
            let (mut times, mut ns) = (self.times.address + (n % CHAIN) as u64 * 16, KERNEL_NS);
            let mut answer = self.words.address(ANSWER);
            let mut stamp = [(&raw mut times).cast(), (&raw mut ns).cast()];
            let mut hail = [(&raw mut answer).cast()];
            let (function, args): (_, &mut [*mut c_void]) = match kind {
                Node::Empty => (self.empty, &mut []),
                Node::Stamp => (self.stamp, &mut stamp),
                Node::Hail => (self.hail, &mut hail),
            };
            let params = CUDA_KERNEL_NODE_PARAMS_v2 {
                func: function.0,
                gridDimX: 1,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: 1,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                kernelParams: args.as_mut_ptr(),
                extra: null_mut(),
                kern: null_mut(),
                ctx: null_mut(),
            };
            let mut node = null_mut();
            // SAFETY: the graph lives, the node before is its; the driver copies the parameters, which are the kernel's.
            let code = unsafe {
                (driver.cuGraphAddKernelNode_v2)(&mut node, chain.graph, &before, usize::from(n > 0), &params)
            };
            self.context.ok(code, "cuGraphAddKernelNode")?;
            before = node;
        }
        Ok(chain)
    }

    fn graphs(&self) -> Result<Graphs, DeviceError> {
        let per_node = |begun: Instant| since(begun) / BATCH as f64;
        let stream = self.streams[0].raw;
        let (mut node, mut instantiate, mut update) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let begun = Instant::now();
            let mut chain = self.chain(BATCH, Node::Empty)?;
            node.push(per_node(begun));
            let begun = Instant::now();
            chain.instantiate()?;
            instantiate.push(per_node(begun));
            let other = self.chain(BATCH, Node::Empty)?;
            let begun = Instant::now();
            chain.update(&other)?;
            update.push(per_node(begun));
        }
        let launch = |nodes| {
            let mut chain = self.chain(nodes, Node::Empty)?;
            chain.instantiate()?;
            // The first launch also uploads the graph.
            chain.launch(stream)?;
            self.synchronise(stream)?;
            let mut costs = Vec::new();
            for _ in 0..REPEATS {
                let begun = Instant::now();
                chain.launch(stream)?;
                costs.push(since(begun));
                self.synchronise(stream)?;
            }
            Ok(median(costs))
        };
        let (one, many) = (launch(1)?, launch(BATCH)?);
        let mut chain = self.chain(CHAIN, Node::Stamp)?;
        chain.instantiate()?;
        let mut gaps = Vec::new();
        for _ in 0..REPEATS {
            chain.launch(stream)?;
            self.synchronise(stream)?;
            gaps.extend(self.gaps()?);
        }
        Ok(Graphs {
            node: median(node),
            instantiate_node: median(instantiate),
            update_node: median(update),
            launch: one,
            launch_node: (many - one) / (BATCH - 1) as f64,
            gap: median(gaps),
        })
    }
}

/// A graph, perhaps instantiated.
struct Chain<'a> {
    bench: &'a Bench,
    graph: CUgraph,
    exec: CUgraphExec,
}

impl Chain<'_> {
    fn instantiate(&mut self) -> Result<(), DeviceError> {
        let context = &self.bench.context;
        // SAFETY: the graph lives, the out parameter is this one's.
        let code = unsafe { (context.driver.cuGraphInstantiateWithFlags)(&mut self.exec, self.graph, 0) };
        context.ok(code, "cuGraphInstantiate")
    }

    fn update(&mut self, other: &Chain<'_>) -> Result<(), DeviceError> {
        let context = &self.bench.context;
        let mut info = MaybeUninit::<CUgraphExecUpdateResultInfo>::zeroed();
        // SAFETY: both graphs live, the out parameter is a local, which is never read.
        let code =
            unsafe { (context.driver.cuGraphExecUpdate_v2)(self.exec, other.graph, info.as_mut_ptr()) };
        context.ok(code, "cuGraphExecUpdate")
    }

    fn launch(&self, stream: CUstream) -> Result<(), DeviceError> {
        let context = &self.bench.context;
        // SAFETY: both live.
        context.ok(unsafe { (context.driver.cuGraphLaunch)(self.exec, stream) }, "cuGraphLaunch")
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        let context = &self.bench.context;
        if let Some(_visit) = context.to_free() {
            // SAFETY: made by this context, and not destroyed before.
            unsafe {
                if !self.exec.is_null() {
                    (context.driver.cuGraphExecDestroy)(self.exec);
                }
                (context.driver.cuGraphDestroy)(self.graph);
            }
        }
    }
}

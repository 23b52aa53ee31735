//! A program on a GPU.

use crate::compile::compile;
use crate::driver::{
    Code, Context, DeviceMemory, Event, Function, GRAPH_EXEC_UPDATE_FAILURE, Marks, Module, NOT_READY,
    Stream, config, is_sticky,
};
use cudarc::driver::sys::{
    CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CUDA_KERNEL_NODE_PARAMS_v2, CUgraph, CUgraphDependencyType,
    CUgraphEdgeData, CUgraphExec, CUgraphExecUpdateResultInfo, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue,
};
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use windlass_runtime::run::footprint::Piece;
use windlass_runtime::run::{Device, DeviceError, Footprint, GraphId, GraphShape, KernelTime, Program};

/// The kernels, for NVRTC.
pub(crate) const SOURCE: &str = include_str!("footprint.cu");

/// How a program is put on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which GPU, from 0.
    pub ordinal: u32,
    /// Streams, made up front; at least 1.
    pub streams: u32,
    /// [`Device::synchronise`] gives up when so long no mark was reached and the stream has not ended.
    pub timeout: Duration,
    /// Whether kernels record when they ran, for [`Device::times`]. It costs each CTA two atomic operations and a barrier.
    pub timing: bool,
}

impl Default for Options {
    /// The first GPU, 32 streams, 30 seconds, with times.
    fn default() -> Self {
        Self { ordinal: 0, streams: 32, timeout: Duration::from_secs(30), timing: true }
    }
}

/// A launch as `footprint.cu` takes it; its `struct Footprint`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Arguments {
    pub(crate) image: u64,
    pub(crate) write_pieces: u64,
    pub(crate) read_pieces: u64,
    pub(crate) times: u64,
    pub(crate) sink: u64,
    write_words: u64,
    read_words: u64,
    least_ns: u64,
    first_write: u64,
    first_write_end: u64,
    first_read: u64,
    first_read_end: u64,
    writes: u32,
    reads: u32,
    fma: u32,
    kernel: u32,
    never: f32,
    slices: u32,
    groups: u32,
    unused: u32,
    pub(crate) sums: u64,
}

/// How many threads share the reading for one written word, and in how many groups they add up. More than one where fewer words are written
/// than there are threads, and each of them still has a few words to read.
pub(crate) fn sharing(footprint: &Footprint) -> (u32, u32) {
    const LEAST_READS: u64 = 8;
    let threads = footprint.ctas().saturating_mul(footprint.threads());
    let words = footprint.write_words.max(1);
    let slices = (threads / words).min(footprint.read_words / (words * LEAST_READS)).clamp(1, 1 << 20);
    (slices as u32, slices.isqrt() as u32)
}

/// Sums that a kernel needs for that: for each written word one per group, and one.
pub(crate) fn sums(footprint: &Footprint) -> u64 {
    match sharing(footprint) {
        (1, _) => 0,
        (_, groups) => footprint.write_words * (u64::from(groups) + 1),
    }
}

/// Bytes of a piece of the table.
const PIECE: u64 = 16;
const IN_PLACE: u64 = 1 << 63;

/// The pieces of all kernels one after another, and of each kernel where its written and its read ones begin.
pub(crate) fn pieces(program: &Program) -> (Vec<[u64; 2]>, Vec<[u64; 2]>) {
    let (mut table, mut starts) = (Vec::new(), Vec::new());
    let mut put = |pieces: &[Piece], words: u64| {
        let start = table.len() as u64;
        table.extend(pieces.iter().map(|p| [p.number, p.start | if p.in_place { IN_PLACE } else { 0 }]));
        table.push([words, 0]);
        start
    };
    for kernel in program.kernels() {
        let writes = put(&kernel.write_pieces, kernel.write_words);
        starts.push([writes, put(&kernel.read_pieces, kernel.read_words)]);
    }
    (table, starts)
}

impl Arguments {
    /// Those of kernel `kernel`, whose pieces are at `starts` of the table; addresses as the device has them, `times`, `sink` and `sums` being 0.
    pub(crate) fn new(kernel: u32, footprint: &Footprint, starts: [u64; 2], image: u64, table: u64) -> Self {
        let first = |pieces: &[Piece], words| match pieces {
            [] => (0, 0),
            [first, rest @ ..] => (
                first.start | if first.in_place { IN_PLACE } else { 0 },
                rest.first().map_or(words, |second| second.number),
            ),
        };
        let (slices, groups) = sharing(footprint);
        let (first_write, first_write_end) = first(&footprint.write_pieces, footprint.write_words);
        let (first_read, first_read_end) = first(&footprint.read_pieces, footprint.read_words);
        Self {
            image,
            write_pieces: table + starts[0] * PIECE,
            read_pieces: table + starts[1] * PIECE,
            times: 0,
            sink: 0,
            write_words: footprint.write_words,
            read_words: footprint.read_words,
            least_ns: footprint.work.least_ns,
            first_write,
            first_write_end,
            first_read,
            first_read_end,
            writes: footprint.write_pieces.len() as u32,
            reads: footprint.read_pieces.len() as u32,
            fma: footprint.work.fma_per_thread,
            kernel,
            never: -1.0,
            slices,
            groups,
            unused: 0,
            sums: 0,
        }
    }
}

/// Most words of an image whose numbers are 32 bits wide in the kernel.
pub(crate) const SMALL: u64 = 1 << 30;

/// A kernel, ready to be launched.
#[derive(Debug)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    args: Arguments,
}

impl Launch {
    fn new(footprint: &Footprint, most_shared: u32, args: Arguments) -> Self {
        let (mut grid, mut block) = (footprint.grid, footprint.block);
        // What CUDA does not take in y and z fits in x, as the program has checked; the kernel only counts.
        if grid[1].max(grid[2]) > 65535 {
            grid = [u32::try_from(footprint.ctas()).unwrap_or(u32::MAX), 1, 1];
        }
        if block[2] > 64 {
            block = [u32::try_from(footprint.threads()).unwrap_or(u32::MAX), 1, 1];
        }
        let shared = u32::try_from(footprint.smem).unwrap_or(u32::MAX).min(most_shared);
        Self { grid, block, shared, args }
    }
}

/// No kernel.
const NONE: u32 = u32::MAX;

/// A stream, and which kernels it was given since it was last known to be idle.
#[derive(Debug)]
struct Lane {
    stream: Stream,
    first: AtomicU32,
    last: AtomicU32,
}

impl Lane {
    /// One thread at a time gives a stream kernels, so nothing needs to be atomic but single words.
    #[inline]
    fn given(&self, first: u32, last: u32) {
        if self.first.load(Ordering::Relaxed) == NONE {
            self.first.store(first, Ordering::Relaxed);
        }
        self.last.store(last, Ordering::Relaxed);
    }

    fn idle(&self) {
        self.first.store(NONE, Ordering::Relaxed);
    }
}

/// Events by number, made when they are first recorded. Reading takes no lock: block `b` has the `2^b` events from `2^b - 1` on, and
/// neither blocks nor events move. There are at most 2^24 - 1, so that a wild number does not take all memory.
#[derive(Debug, Default)]
struct Events {
    blocks: [OnceLock<Box<[AtomicPtr<Event>]>>; 24],
}

impl Events {
    fn place(event: u32) -> (usize, usize) {
        let n = u64::from(event) + 1;
        let block = n.ilog2();
        (block as usize, (n - (1 << block)) as usize)
    }

    #[inline]
    fn get(&self, event: u32) -> Option<&Event> {
        let (block, at) = Self::place(event);
        let event = self.blocks.get(block)?.get()?.get(at)?.load(Ordering::Acquire);
        // SAFETY: null, or from `Box::into_raw` and not freed before `self` is dropped.
        unsafe { event.as_ref() }
    }

    #[cold]
    fn make(&self, event: u32, context: &Arc<Context>) -> Result<&Event, DeviceError> {
        let (block, at) = Self::place(event);
        let slot = self.blocks.get(block).and_then(|slots| {
            slots.get_or_init(|| (0..1usize << block).map(|_| AtomicPtr::new(null_mut())).collect()).get(at)
        });
        let slot = slot.ok_or_else(|| DeviceError::Unsupported {
            device: context.name.clone(),
            what: "that many events",
        })?;
        let made = Box::into_raw(Box::new(Event::new(context)?));
        let event = match slot.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(there) => {
                // SAFETY: made above, and given to nobody.
                drop(unsafe { Box::from_raw(made) });
                there
            }
        };
        // SAFETY: as in `get`.
        Ok(unsafe { &*event })
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for slot in self.blocks.iter_mut().filter_map(OnceLock::get_mut).flat_map(|b| b.iter_mut()) {
            let event = *slot.get_mut();
            if !event.is_null() {
                // SAFETY: from `Box::into_raw`, and nobody else has it any more.
                drop(unsafe { Box::from_raw(event) });
            }
        }
    }
}

/// A graph that can be launched.
#[derive(Debug)]
struct Graph {
    context: Arc<Context>,
    exec: CUgraphExec,
    shape: GraphShape,
    /// The smallest and the largest of its kernels.
    kernels: (u32, u32),
}

// SAFETY: the driver takes it from any thread, one at a time, which the lock around it sees to.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(_visit) = self.context.to_free() {
            // SAFETY: made by this context, and not destroyed before.
            unsafe { (self.context.driver.cuGraphExecDestroy)(self.exec) };
        }
    }
}

/// A graph's definition, which is needed only until it is instantiated.
struct Definition<'a>(&'a Context, CUgraph);

impl Drop for Definition<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this context, which is current, and not destroyed before.
        unsafe { (self.0.driver.cuGraphDestroy)(self.1) };
    }
}

type Graphs = Vec<Option<Arc<Mutex<Graph>>>>;

/// A program on a GPU, in a context of its own.
///
/// After a fault ([`DeviceError::Lost`]) CUDA gives the process nothing more, on no device: [`CudaDevice::new`] then says so, and only a new
/// process helps. After [`DeviceError::Timeout`] another device works. Dropping a device waits for what was launched, at most for the
/// timeout; where a kernel still hangs, its memory is not given back before the process ends.
pub struct CudaDevice {
    context: Arc<Context>,
    program: Arc<Program>,
    kernels: Vec<Launch>,
    footprint: Function,
    initial: Function,
    digest: Function,
    mark: Function,
    /// The functions are its.
    _module: Module,
    image: DeviceMemory,
    /// The table and the sink are only ever used by address.
    _table: DeviceMemory,
    _sink: DeviceMemory,
    sums: DeviceMemory,
    times: Option<DeviceMemory>,
    lanes: Vec<Lane>,
    marks: Marks,
    /// Streams write marks by themselves; otherwise a kernel does.
    writes_values: bool,
    /// Whether kernels can be launched early.
    early: bool,
    events: Events,
    graphs: Mutex<Graphs>,
    timeout: Duration,
    timed_out: AtomicBool,
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice")
            .field("context", &self.context)
            .field("program", &self.program.name())
            .field("streams", &self.lanes.len())
            .finish_non_exhaustive()
    }
}

impl CudaDevice {
    /// Puts a program on a GPU. The image is what it is before the first kernel. A kernel's shared memory is cut to what the
    /// GPU gives a CTA at most.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] where there is no driver, no GPU of that number, or no context to be had; [`DeviceError::OutOfMemory`]; NVRTC's reasons
    /// as [`DeviceError::Call`].
    pub fn new(program: Arc<Program>, options: Options) -> Result<Self, DeviceError> {
        let context = Context::new(options.ordinal)?;
        let cubin = compile(SOURCE, context.arch).map_err(|e| context.failed("compile", e.to_string()))?;
        let module = Module::new(&context, &cubin)?;
        let footprint =
            module.function(if program.words() <= SMALL { "footprint" } else { "footprint_large" })?;
        let most_shared = footprint.allow_shared(&context)?;
        let image = DeviceMemory::new(&context, program.words() * 4, "the image")?;
        let (table, starts) = pieces(&program);
        let table = DeviceMemory::of(&context, &table, "the table of pieces")?;
        let sink = DeviceMemory::new(&context, 4, "the sink")?;
        let count = program.kernels().len();
        let times = match options.timing {
            true => Some(DeviceMemory::new(&context, count as u64 * 16, "the kernels' times")?),
            false => None,
        };
        let needed = program.kernels().iter().map(sums).sum::<u64>();
        let all_sums = DeviceMemory::new(&context, needed * 8, "sums")?;
        let mut next_sums = all_sums.address;
        let kernel = |(k, (footprint, starts)): (usize, (&Footprint, &[u64; 2]))| {
            let args = Arguments {
                times: times.as_ref().map_or(0, |times| times.address + k as u64 * 16),
                sink: sink.address,
                sums: next_sums,
                ..Arguments::new(k as u32, footprint, *starts, image.address, table.address)
            };
            next_sums += sums(footprint) * 8;
            Launch::new(footprint, most_shared, args)
        };
        let kernels = program.kernels().iter().zip(&starts).enumerate().map(kernel).collect();
        let lane = |_| {
            let (first, last) = (AtomicU32::new(NONE), AtomicU32::new(NONE));
            Ok(Lane { stream: Stream::new(&context)?, first, last })
        };
        let lanes = (0..options.streams.max(1)).map(lane).collect::<Result<Vec<_>, DeviceError>>()?;
        let marks = Marks::new(&context, lanes.len())?;
        let mut device = Self {
            kernels,
            footprint,
            initial: module.function("initial")?,
            digest: module.function("digest")?,
            mark: module.function("mark")?,
            _module: module,
            image,
            _table: table,
            _sink: sink,
            sums: all_sums,
            times,
            lanes,
            marks,
            writes_values: true,
            early: context.arch >= (9, 0),
            events: Events::default(),
            graphs: Mutex::default(),
            timeout: options.timeout,
            timed_out: AtomicBool::new(false),
            context,
            program,
        };
        device.writes_values =
            device.mark(0, 1).and_then(|()| device.synchronise(0)).is_ok() && device.progress(0) == 1;
        device.reset()?;
        Ok(device)
    }

    /// Whether the streams write marks by themselves; where they cannot, a kernel does, which costs more. For tests, to say what ran.
    #[doc(hidden)]
    pub fn streams_write_marks(&self) -> bool {
        self.writes_values
    }

    /// Makes all kernels fault: for tests of what happens then.
    #[doc(hidden)]
    pub fn misplace_image(&mut self) {
        for launch in &mut self.kernels {
            launch.args.image = 1 << 46;
        }
    }

    /// Whether [`Device::launch`] can launch early: for tests, to say what ran.
    #[doc(hidden)]
    pub fn launches_early(&self) -> bool {
        self.early
    }

    #[inline]
    fn lane(&self, stream: u32) -> Result<&Lane, DeviceError> {
        self.lanes.get(stream as usize).ok_or_else(|| self.lacks("a stream of that number"))
    }

    #[cold]
    fn lacks(&self, what: &'static str) -> DeviceError {
        DeviceError::Unsupported { device: self.context.name.clone(), what }
    }

    #[inline]
    fn ok(&self, code: Code, call: &'static str) -> Result<(), DeviceError> {
        if code == 0 { Ok(()) } else { Err(self.error(code, call)) }
    }

    #[cold]
    fn error(&self, code: Code, call: &'static str) -> DeviceError {
        match self.context.error(code, call) {
            DeviceError::Lost { device, call, reason, .. } => {
                DeviceError::Lost { device, call, reason, suspects: self.suspects() }
            }
            error => error,
        }
    }

    #[cold]
    fn launch_error(&self, code: Code, kernel: u32, call: &'static str) -> DeviceError {
        match self.program.kernels().get(kernel as usize) {
            // An earlier kernel's fault is no fault of this one.
            Some(footprint) if !is_sticky(code) => DeviceError::Kernel {
                kernel,
                name: footprint.name.clone(),
                reason: self.context.driver.reason(code),
            },
            _ => self.error(code, call),
        }
    }

    /// The kernels in flight, for people.
    fn suspects(&self) -> String {
        let name = |k: u32| {
            let name = self.program.kernels().get(k as usize).map_or("?", |f| &f.name);
            format!("{k} `{name}`")
        };
        let list = self.lanes.iter().enumerate().filter_map(|(n, lane)| {
            let (first, last) = (lane.first.load(Ordering::Relaxed), lane.last.load(Ordering::Relaxed));
            match first {
                NONE => None,
                _ if first == last => Some(format!("{} (stream {n})", name(first))),
                _ => Some(format!("{} to {} (stream {n})", name(first), name(last))),
            }
        });
        let list: Vec<_> = list.collect();
        const SHOWN: usize = 8;
        match list.len() {
            0 => "none that are known".into(),
            n if n > SHOWN => format!("{} and {} more streams", list[..SHOWN].join(", "), n - SHOWN),
            _ => list.join(", "),
        }
    }

    /// Waits for all streams.
    fn settle(&self) -> Result<(), DeviceError> {
        (0..self.streams()).try_for_each(|stream| self.synchronise(stream))?;
        // What was slow has ended.
        self.timed_out.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// A graph's definition: its kernels, and who waits for whom.
    fn define(&self, shape: &GraphShape) -> Result<(Definition<'_>, (u32, u32)), DeviceError> {
        self.context.enter()?;
        let driver = self.context.driver;
        let mut graph = null_mut();
        // SAFETY: the out parameter is a local.
        self.ok(unsafe { (driver.cuGraphCreate)(&mut graph, 0) }, "cuGraphCreate")?;
        let definition = Definition(&self.context, graph);
        let mut nodes = Vec::with_capacity(shape.kernels.len());
        let mut upstream = Vec::new();
        for (n, kernel) in shape.kernels.iter().enumerate() {
            let launch =
                self.kernels.get(*kernel as usize).ok_or_else(|| self.lacks("a kernel of that number"))?;
            upstream.clear();
            for u in shape.upstream.get(n).into_iter().flatten() {
                upstream.push(
                    *nodes
                        .get(*u as usize)
                        .ok_or_else(|| self.lacks("graphs whose nodes wait for later ones"))?,
                );
            }
            let mut args = [from_ref(&launch.args).cast_mut().cast::<c_void>()];
            let params = CUDA_KERNEL_NODE_PARAMS_v2 {
                func: self.footprint.0,
                gridDimX: launch.grid[0],
                gridDimY: launch.grid[1],
                gridDimZ: launch.grid[2],
                blockDimX: launch.block[0],
                blockDimY: launch.block[1],
                blockDimZ: launch.block[2],
                sharedMemBytes: launch.shared,
                kernelParams: args.as_mut_ptr(),
                extra: null_mut(),
                kern: null_mut(),
                ctx: null_mut(),
            };
            let early = shape.early && self.early && upstream.len() == 1;
            let edges = if early { 0 } else { upstream.len() };
            let mut node = null_mut();
            // SAFETY: the nodes are this graph's; the driver copies the parameters, which are those of the function.
            let code = unsafe {
                (driver.cuGraphAddKernelNode_v2)(&mut node, graph, upstream.as_ptr(), edges, &params)
            };
            if code != 0 {
                return Err(self.launch_error(code, *kernel, "cuGraphAddKernelNode"));
            }
            if early {
                let edge = CUgraphEdgeData {
                    from_port: CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC as u8,
                    to_port: 0,
                    type_: CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC as u8,
                    reserved: [0; 5],
                };
                // SAFETY: one edge between two nodes of this graph.
                let code =
                    unsafe { (driver.cuGraphAddDependencies_v2)(graph, upstream.as_ptr(), &node, &edge, 1) };
                self.ok(code, "cuGraphAddDependencies")?;
            }
            nodes.push(node);
        }
        let kernels = shape.kernels.iter();
        let range = (kernels.clone().min().copied().unwrap_or(NONE), kernels.max().copied().unwrap_or(NONE));
        Ok((definition, range))
    }

    fn graph(&self, graph: GraphId) -> Result<Arc<Mutex<Graph>>, DeviceError> {
        let graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        let graph = graphs.get(graph.0 as usize).and_then(Option::as_ref);
        graph.cloned().ok_or_else(|| self.lacks("a graph of that number"))
    }
}

impl Device for CudaDevice {
    fn name(&self) -> String {
        self.context.name.clone()
    }

    fn streams(&self) -> u32 {
        self.lanes.len() as u32
    }

    /// Waits for all streams first. After a fault it fails: a new device is needed.
    fn reset(&self) -> Result<(), DeviceError> {
        self.settle()?;
        self.marks.zero();
        // Zero already, but where a run was cut short.
        self.sums.fill(0)?;
        if let Some(times) = &self.times {
            times.fill(0)?;
        }
        let mut words = self.program.words();
        let mut image = self.image.address;
        let grid = u32::try_from(words.div_ceil(1024)).unwrap_or(u32::MAX).clamp(1, 4096);
        let config = config([grid, 1, 1], [1024, 1, 1], 0, self.lane(0)?.stream.raw);
        let mut args = [(&raw mut image).cast(), (&raw mut words).cast()];
        // SAFETY: `initial` takes a pointer and a 64-bit integer.
        let code = unsafe { self.initial.launch(&self.context, &config, &mut args) };
        self.ok(code, "cuLaunchKernel of `initial`")?;
        self.synchronise(0)
    }

    #[inline]
    fn launch(&self, stream: u32, kernel: u32, early: bool) -> Result<(), DeviceError> {
        self.context.enter()?;
        let lane = self.lane(stream)?;
        let launch =
            self.kernels.get(kernel as usize).ok_or_else(|| self.lacks("a kernel of that number"))?;
        let mut config = config(launch.grid, launch.block, launch.shared, lane.stream.raw);
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        if early && self.early {
            config.attrs = &mut attribute;
            config.numAttrs = 1;
        }
        lane.given(kernel, kernel);
        let mut args = [from_ref(&launch.args).cast_mut().cast()];
        // SAFETY: both kernels take one `Footprint`, which the driver copies.
        match unsafe { self.footprint.launch(&self.context, &config, &mut args) } {
            0 => Ok(()),
            code => Err(self.launch_error(code, kernel, "cuLaunchKernelEx")),
        }
    }

    #[inline]
    fn record(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.context.enter()?;
        let stream = self.lane(stream)?.stream.raw;
        let event = match self.events.get(event) {
            Some(event) => event,
            None => self.events.make(event, &self.context)?,
        };
        // SAFETY: both are this context's, and live.
        self.ok(unsafe { (self.context.driver.cuEventRecord)(event.raw, stream) }, "cuEventRecord")
    }

    #[inline]
    fn wait(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.context.enter()?;
        let stream = self.lane(stream)?.stream.raw;
        // One that was never recorded has nothing to wait for.
        let Some(event) = self.events.get(event) else { return Ok(()) };
        // SAFETY: both are this context's, and live.
        self.ok(unsafe { (self.context.driver.cuStreamWaitEvent)(stream, event.raw, 0) }, "cuStreamWaitEvent")
    }

    #[inline]
    fn mark(&self, stream: u32, value: u32) -> Result<(), DeviceError> {
        self.context.enter()?;
        let lane = self.lane(stream)?;
        let address = self.marks.address(stream as usize);
        if self.writes_values {
            // Without flags, all that the stream did before is visible before the value is.
            // SAFETY: the address is pinned memory of this context, of 4 aligned bytes.
            let code =
                unsafe { (self.context.driver.cuStreamWriteValue32_v2)(lane.stream.raw, address, value, 0) };
            return self.ok(code, "cuStreamWriteValue32");
        }
        let config = config([1; 3], [1; 3], 0, lane.stream.raw);
        let (mut address, mut value) = (address, value);
        let mut args = [(&raw mut address).cast(), (&raw mut value).cast()];
        // SAFETY: `mark` takes a pointer and a 32-bit integer.
        let code = unsafe { self.mark.launch(&self.context, &config, &mut args) };
        self.ok(code, "cuLaunchKernelEx of `mark`")
    }

    #[inline]
    fn progress(&self, stream: u32) -> u32 {
        if (stream as usize) < self.lanes.len() {
            self.marks.at(stream as usize).load(Ordering::Acquire)
        } else {
            0
        }
    }

    fn check(&self, stream: u32) -> Result<(), DeviceError> {
        self.context.enter()?;
        let lane = self.lane(stream)?;
        // SAFETY: the stream lives.
        match unsafe { (self.context.driver.cuStreamQuery)(lane.stream.raw) } {
            0 => {
                lane.idle();
                Ok(())
            }
            NOT_READY => Ok(()),
            code => Err(self.error(code, "cuStreamQuery")),
        }
    }

    /// Asks again and again instead of sleeping in `cuStreamSynchronize`, which has no time limit: a thread that asks notices
    /// the end sooner than one that must be woken. After a millisecond it lets others run between two questions.
    fn synchronise(&self, stream: u32) -> Result<(), DeviceError> {
        const PATIENCE: Duration = Duration::from_millis(1);
        self.context.enter()?;
        let lane = self.lane(stream)?;
        let reached = || (0..self.streams()).fold(0u64, |sum, stream| sum + u64::from(self.progress(stream)));
        // (begun, the last sign of life, and what it was)
        let mut watch: Option<(Instant, Instant, u64)> = None;
        for question in 1u64.. {
            // SAFETY: the stream lives.
            match unsafe { (self.context.driver.cuStreamQuery)(lane.stream.raw) } {
                0 => break,
                NOT_READY => {}
                code => return Err(self.error(code, "cuStreamQuery")),
            }
            std::hint::spin_loop();
            if question % 32 == 0 {
                let (now, marks) = (Instant::now(), reached());
                let (begun, alive, seen) = watch.get_or_insert((now, now, marks));
                if *seen != marks {
                    (*alive, *seen) = (now, marks);
                }
                if now - *alive > self.timeout {
                    self.timed_out.store(true, Ordering::Relaxed);
                    return Err(DeviceError::Timeout {
                        device: self.context.name.clone(),
                        waited: self.timeout,
                        suspects: self.suspects(),
                    });
                }
                if now - *begun > PATIENCE {
                    std::thread::yield_now();
                }
            }
        }
        lane.idle();
        Ok(())
    }

    fn build_graph(&self, shape: &GraphShape) -> Result<GraphId, DeviceError> {
        let (definition, kernels) = self.define(shape)?;
        let mut exec = null_mut();
        // SAFETY: the graph lives, the out parameter is a local.
        let code = unsafe { (self.context.driver.cuGraphInstantiateWithFlags)(&mut exec, definition.1, 0) };
        self.ok(code, "cuGraphInstantiate")?;
        let graph = Some(Arc::new(Mutex::new(Graph {
            context: self.context.clone(),
            exec,
            shape: shape.clone(),
            kernels,
        })));
        let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        let free = graphs.iter().position(Option::is_none).unwrap_or(graphs.len());
        let id = u32::try_from(free).map_err(|_| self.lacks("that many graphs"))?;
        match graphs.get_mut(free) {
            Some(slot) => *slot = graph,
            None => graphs.push(graph),
        }
        Ok(GraphId(id))
    }

    fn update_graph(&self, graph: GraphId, shape: &GraphShape) -> Result<bool, DeviceError> {
        let graph = self.graph(graph)?;
        let mut graph = graph.lock().unwrap_or_else(PoisonError::into_inner);
        if graph.shape == *shape {
            return Ok(true);
        }
        let (definition, kernels) = self.define(shape)?;
        // What is left where it fails is not known.
        graph.shape = GraphShape::default();
        // Written by the driver and never read: a reason that is newer than the enum must not become one.
        let mut info = MaybeUninit::<CUgraphExecUpdateResultInfo>::zeroed();
        // SAFETY: both graphs live, the out parameter is a local.
        let code = unsafe {
            (self.context.driver.cuGraphExecUpdate_v2)(graph.exec, definition.1, info.as_mut_ptr())
        };
        if code == GRAPH_EXEC_UPDATE_FAILURE {
            return Ok(false);
        }
        self.ok(code, "cuGraphExecUpdate")?;
        graph.kernels = kernels;
        graph.shape.clone_from(shape);
        Ok(true)
    }

    fn launch_graph(&self, stream: u32, graph: GraphId) -> Result<(), DeviceError> {
        self.context.enter()?;
        let lane = self.lane(stream)?;
        let graph = self.graph(graph)?;
        let graph = graph.lock().unwrap_or_else(PoisonError::into_inner);
        lane.given(graph.kernels.0, graph.kernels.1);
        // SAFETY: both are this context's, and live.
        self.ok(unsafe { (self.context.driver.cuGraphLaunch)(graph.exec, lane.stream.raw) }, "cuGraphLaunch")
    }

    fn destroy_graph(&self, graph: GraphId) {
        let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = graphs.get_mut(graph.0 as usize) {
            *slot = None;
        }
    }

    /// Waits for all streams first.
    fn image(&self) -> Result<Vec<u32>, DeviceError> {
        self.settle()?;
        self.image.values(self.program.words() as usize)
    }

    /// Waits for all streams first.
    fn digest(&self) -> Result<u64, DeviceError> {
        self.settle()?;
        let sum = DeviceMemory::new(&self.context, 8, "a digest")?;
        sum.fill(0)?;
        let (mut words, mut image, mut to) = (self.program.words(), self.image.address, sum.address);
        let grid = u32::try_from(words.div_ceil(256)).unwrap_or(u32::MAX).clamp(1, 4096);
        let config = config([grid, 1, 1], [256, 1, 1], 0, self.lane(0)?.stream.raw);
        let mut args = [(&raw mut image).cast(), (&raw mut words).cast(), (&raw mut to).cast()];
        // SAFETY: `digest` takes a pointer, a 64-bit integer and a pointer to one.
        let code = unsafe { self.digest.launch(&self.context, &config, &mut args) };
        self.ok(code, "cuLaunchKernel of `digest`")?;
        self.synchronise(0)?;
        Ok(sum.values::<u64>(1)?[0])
    }

    /// Waits for all streams first. A kernel that ran more than once has the start of the first run and the end of the last. Without
    /// [`Options::timing`] it is [`DeviceError::Unsupported`].
    fn times(&self) -> Result<Vec<KernelTime>, DeviceError> {
        let times = self.times.as_ref().ok_or_else(|| self.lacks("times, which were switched off"))?;
        self.settle()?;
        let time = |[start, end]: [u64; 2]| match end {
            0 => KernelTime::default(),
            end => KernelTime { start: !start, end },
        };
        Ok(times.values(self.kernels.len())?.into_iter().map(time).collect())
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        let hangs = match self.timed_out.load(Ordering::Relaxed) {
            // Once was enough. Whatever is neither the end nor a fault may be a kernel that still runs.
            true => {
                self.context.enter().is_err()
                    || self.lanes.iter().any(|lane| {
                        // SAFETY: the stream lives.
                        let code = unsafe { (self.context.driver.cuStreamQuery)(lane.stream.raw) };
                        code != 0 && !is_sticky(code)
                    })
            }
            false => matches!(self.settle(), Err(DeviceError::Timeout { .. })),
        };
        if hangs {
            self.context.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_places_of_their_own() {
        let mut before = (0, usize::MAX);
        for event in 0..5000 {
            let (block, at) = Events::place(event);
            assert!(at < 1 << block);
            let next = (before.0, before.1.wrapping_add(1));
            assert!((block, at) == next || ((block, at) == (before.0 + 1, 0) && next.1 == 1 << before.0));
            before = (block, at);
        }
        assert!(Events::place(u32::MAX).0 >= Events::default().blocks.len());
    }
}

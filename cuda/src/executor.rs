//! The runtime's kernels on a GPU.

use crate::compile::compile;
use crate::driver::{Context, DeviceMemory, Event, Function, Marks, Module, NOT_READY, Stream, config};
use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use windlass_runtime::run::DeviceError;
use windlass_runtime::runtime::{
    Allocator, Cause, Completions, CudaArg, CudaCall, CudaCode, ElementKind, Enqueue, Executor, Memory,
    Owner, Started, Task, Token,
};

/// What marks, on devices whose streams cannot.
pub(crate) const MARK: &str = include_str!("mark.cu");

/// Kernels of a stream without a mark behind them, at most, while the runtime has more to give. A mark takes the stream as long as a kernel
/// that does nothing.
const UNMARKED: u64 = 8;

/// How a stream tells the host how far it is.
enum Marking {
    /// By itself.
    Stream,
    /// By a kernel, which costs more; the function is the module's.
    Kernel { mark: Function, _module: Module },
}

/// Runs kernels that have a [`CudaKernel`](windlass_runtime::runtime::CudaKernel) on a GPU, several at once, each on a stream of its own.
///
/// It takes kernels ahead: one that waits for kernels on the GPU is launched at once, behind one of them in its stream, and has its stream wait
/// for events of the others. The host is not asked in between. Priorities choose among kernels that wait for nothing.
///
/// A kernel is compiled, or loaded, when it is first launched, and nothing else starts meanwhile; the next process finds what was compiled in the
/// cache. One that did not compile is not tried again. When a kernel faults, it and all others in flight fail, and so do all after them: CUDA
/// wants a new process then. When no kernel in flight has ended for the watchdog's time, all of them fail, and so do all after them; another `Cuda` works, and the memory of this one is not given back.
///
/// It has a CUDA context of its own, or with [`Cuda::primary`] the one of the CUDA runtime. Threads of the application that call the runtime
/// have the context that they had before.
pub struct Cuda {
    context: Arc<Context>,
    watchdog: Duration,
    streams: Arc<Vec<Stream>>,
    marks: Arc<Marks>,
    marking: Marking,
    lanes: Vec<Lane>,
    /// Streams in which nothing is in flight.
    free: Vec<usize>,
    /// Of each slot of the runtime's window, where its kernel is, or was.
    places: Vec<Option<Place>>,
    ahead: usize,
    /// What became of each kernel's code, also where it did not compile: that takes as long.
    loaded: HashMap<usize, (CudaCode, Result<Loaded, Cause>)>,
    connection: Option<Connection>,
}

/// What a stream was given.
struct Lane {
    /// Kernels so far, and how many of them had been given when it was given its last mark, which is their number's low half.
    kernels: u64,
    marked: u64,
    in_flight: usize,
    event: Event,
    /// After which kernel it was recorded last; 0 where it was not.
    recorded: u64,
    /// The last kernel that one of another stream came after: whose mark that is tells of this one, too.
    told: u64,
}

/// Where a kernel is.
#[derive(Clone, Copy)]
struct Place {
    token: Token,
    stream: usize,
    /// Which kernel of the stream it is, from 1.
    number: u64,
}

/// What goes to and comes from the thread that notices completions.
struct Connection {
    flights: Sender<Flight>,
    freed: Receiver<usize>,
    thread: JoinHandle<()>,
}

/// A kernel in flight.
struct Flight {
    stream: usize,
    value: u32,
    token: Token,
    /// Kernels of other streams that it came after, by stream and mark: they have ended when it has.
    after: Vec<(usize, u32)>,
    /// When it was launched; `None` where it waits on the GPU, and the first time, for then the driver may still have been loading it.
    launched: Option<Instant>,
}

/// A kernel that was launched before.
struct Loaded {
    work: Work,
    /// It was launched before.
    warm: bool,
    /// The function is its, but for one that the application has loaded.
    _module: Option<Module>,
}

/// What a launch gives to a stream.
#[derive(Clone)]
enum Work {
    /// A kernel, and sizes of its parameters in bytes.
    Kernel(Function, Arc<[usize]>),
    /// What a function of the application's gives.
    Enqueue(Enqueue),
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda")
            .field("context", &self.context)
            .field("streams", &self.streams.len())
            .finish_non_exhaustive()
    }
}

impl Cuda {
    /// On the GPU of that number, from 0, with so many streams, at least 1: as many kernels run at once. 16 are plenty for most.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] where there is no driver, no such GPU, or no context to be had; [`DeviceError::Call`].
    pub fn new(ordinal: u32, streams: usize) -> Result<Self, DeviceError> {
        Self::within(Context::new(ordinal)?, streams)
    }

    /// As [`Cuda::new`], in the primary context of the GPU: that of the CUDA runtime (`cudaMalloc`), and of libraries and frameworks that are
    /// built on it. Its memory can be [imported](windlass_runtime::runtime::Runtime::import), and its functions
    /// [launched](windlass_runtime::runtime::CudaKernel::function).
    ///
    /// The streams are the executor's own: no order holds between them and the application's. What the application does with memory that it
    /// has imported must have ended when a kernel that uses it is launched, and it waits for kernels before it uses what they wrote. Or a kernel
    /// that has its stream wait for an event ([`CudaKernel::enqueue`](windlass_runtime::runtime::CudaKernel::enqueue)) comes before.
    ///
    /// # Errors
    /// As [`Cuda::new`].
    pub fn primary(ordinal: u32, streams: usize) -> Result<Self, DeviceError> {
        Self::within(Context::primary(ordinal)?, streams)
    }

    fn within(context: Arc<Context>, streams: usize) -> Result<Self, DeviceError> {
        let _visit = context.visit()?;
        let count = streams.clamp(1, 1024);
        let streams = (0..count).map(|_| Stream::new(&context)).collect::<Result<Vec<_>, _>>()?;
        let marks = Arc::new(Marks::new(&context, count)?);
        let free = (0..count).rev().collect();
        let lane = |_| {
            Ok(Lane {
                kernels: 0,
                marked: 0,
                in_flight: 0,
                event: Event::new(&context)?,
                recorded: 0,
                told: 0,
            })
        };
        let lanes = (0..count).map(lane).collect::<Result<_, DeviceError>>()?;
        let streams = Arc::new(streams);
        let watchdog = Duration::from_secs(60);
        let cuda = Self {
            context,
            watchdog,
            streams,
            marks,
            marking: Marking::Stream,
            lanes,
            free,
            places: Vec::new(),
            ahead: 256,
            loaded: HashMap::new(),
            connection: None,
        };
        if cuda.marks() { Ok(cuda) } else { cuda.mark_by_kernel() }
    }

    /// Has marks written by a kernel, as [`Cuda::new`] does where streams cannot; public for tests.
    ///
    /// # Errors
    /// [`DeviceError::Call`] where it is not compiled, or not seen to mark.
    #[doc(hidden)]
    pub fn mark_by_kernel(mut self) -> Result<Self, DeviceError> {
        let cubin =
            compile(MARK, self.context.arch).map_err(|e| self.context.failed("compile", e.to_string()))?;
        let module = Module::new(&self.context, &cubin)?;
        self.marking = Marking::Kernel { mark: module.function("mark")?, _module: module };
        if self.marks() {
            return Ok(self);
        }
        Err(self.context.failed("a mark", "neither streams nor kernels write to the host's memory".into()))
    }

    /// Whether a mark arrives; nothing is in flight.
    fn marks(&self) -> bool {
        // SAFETY: the stream lives.
        let ended = || unsafe { (self.context.driver.cuStreamSynchronize)(self.streams[0].raw) } == 0;
        let arrived = self.mark(0, 1).is_ok() && ended() && self.marks.at(0).load(Ordering::Acquire) == 1;
        self.marks.zero();
        arrived
    }

    /// Has a stream write a mark once it has done all that it was given before.
    fn mark(&self, stream: usize, value: u32) -> Result<(), DeviceError> {
        let (context, raw) = (&self.context, self.streams[stream].raw);
        context.enter()?;
        let (mut address, mut value) = (self.marks.address(stream), value);
        match &self.marking {
            Marking::Stream => {
                // SAFETY: the stream lives, and the address is pinned memory of this context, of 4 aligned bytes.
                let code = unsafe { (context.driver.cuStreamWriteValue32_v2)(raw, address, value, 0) };
                context.ok(code, "cuStreamWriteValue32")
            }
            Marking::Kernel { mark, .. } => {
                let mut args = [(&raw mut address).cast(), (&raw mut value).cast()];
                // SAFETY: it takes a pointer and a 32-bit integer.
                let code = unsafe { mark.launch(context, &config([1; 3], [1; 3], 0, raw), &mut args) };
                context.ok(code, "cuLaunchKernelEx of `mark`")
            }
        }
    }

    /// Waits for kernels that run and that nobody will notice: until they end, the memory that they write must not serve others. One that
    /// hangs keeps it for good. Whether they have ended as they should.
    fn settle(&self, stream: usize) -> bool {
        let began = Instant::now();
        loop {
            // SAFETY: the stream lives.
            match unsafe { (self.context.driver.cuStreamQuery)(self.streams[stream].raw) } {
                NOT_READY if began.elapsed() > self.watchdog => {
                    self.context.abandon();
                    return false;
                }
                NOT_READY => std::thread::sleep(Notice::SLEEP),
                code => return code == 0,
            }
        }
    }

    /// How long nothing in flight may end before a kernel is taken to hang; a minute where nothing is said.
    #[must_use]
    pub fn watchdog(mut self, time: Duration) -> Self {
        self.watchdog = time;
        self
    }

    /// How many kernels it takes before what they wait for has ended; 256 where nothing is said. With 0 a kernel is launched when the host has
    /// seen everything end that it waits for, and priorities choose among all.
    #[must_use]
    pub fn ahead(mut self, kernels: usize) -> Self {
        self.ahead = kernels;
        self
    }

    /// The stream for a kernel, and which kernels of other streams it is to wait for there, at most one of each stream.
    fn lane(&mut self, upstream: &[Token]) -> (usize, Vec<Place>) {
        if let Some(connection) = &self.connection {
            for stream in connection.freed.try_iter() {
                self.lanes[stream].in_flight -= 1;
                if self.lanes[stream].in_flight == 0 {
                    self.free.push(stream);
                }
            }
        }
        let mut waits: Vec<Place> = Vec::new();
        for token in upstream {
            let place = self.places.get(token.slot()).copied().flatten();
            // One that never ran is not waited for.
            let Some(place) = place.filter(|place| place.token == *token) else { continue };
            if has_reached(self.marks.at(place.stream).load(Ordering::Acquire), place.number as u32) {
                continue;
            }
            match waits.iter_mut().find(|wait| wait.stream == place.stream) {
                Some(wait) if wait.number < place.number => *wait = place,
                Some(_) => {}
                None => waits.push(place),
            }
        }
        // Behind the last of a stream there is nothing else to wait for on its account.
        if let Some(at) = waits.iter().position(|wait| wait.number == self.lanes[wait.stream].kernels) {
            let stream = waits.swap_remove(at).stream;
            // Its last kernel may have ended, though not all of what ended with it is marked: then it is free no more.
            if self.lanes[stream].in_flight == 0 {
                self.free.retain(|free| *free != stream);
            }
            return (stream, waits);
        }
        let least = || (0..self.lanes.len()).min_by_key(|stream| self.lanes[*stream].in_flight);
        let stream = self.free.pop().or_else(least).unwrap_or(0);
        waits.retain(|wait| wait.stream != stream);
        (stream, waits)
    }

    /// What the stream is given from here on comes after that kernel. Says after which of its stream that is: the same or a later one.
    fn wait(&mut self, stream: usize, place: Place) -> Result<(usize, u64), DeviceError> {
        let context = &self.context;
        context.enter()?;
        let lane = &mut self.lanes[place.stream];
        if lane.recorded < place.number {
            // SAFETY: both are this context's, and live.
            let code =
                unsafe { (context.driver.cuEventRecord)(lane.event.raw, self.streams[place.stream].raw) };
            context.ok(code, "cuEventRecord")?;
            lane.recorded = lane.kernels;
        }
        // SAFETY: the same.
        let code = unsafe { (context.driver.cuStreamWaitEvent)(self.streams[stream].raw, lane.event.raw, 0) };
        context.ok(code, "cuStreamWaitEvent")?;
        Ok((place.stream, lane.recorded))
    }

    /// The function of a kernel, compiled or loaded at most once by this executor.
    fn loaded(&mut self, code: &CudaCode) -> Result<&mut Loaded, Cause> {
        // Definitions stay where they are while the runtime lives, so the address finds them without hashing the text. The text is
        // compared nevertheless, for it costs little beside a launch; images are large, and only the same one is equal.
        let same = |tried: &CudaCode| match (tried, code) {
            (CudaCode::Image { bytes: tried, entry }, CudaCode::Image { bytes, entry: wanted }) => {
                Arc::ptr_eq(tried, bytes) && entry == wanted
            }
            (tried, code) => tried == code,
        };
        let key = std::ptr::from_ref(code).addr();
        if self.loaded.get(&key).is_none_or(|(tried, _)| !same(tried)) {
            let loaded = self.load(code).map_err(Cause::Executor);
            self.loaded.insert(key, (code.clone(), loaded));
        }
        match self.loaded.get_mut(&key) {
            Some((_, loaded)) => loaded.as_mut().map_err(|cause| cause.clone()),
            None => Err(Cause::Executor("it was not loaded".into())),
        }
    }

    fn load(&self, code: &CudaCode) -> Result<Loaded, String> {
        let context = &self.context;
        let of_image = |image: &[u8], entry: &str| {
            let module = Module::new(context, image)?;
            Ok((module.function(entry)?, Some(module)))
        };
        let found = match code {
            CudaCode::Enqueue(enqueue) => {
                return Ok(Loaded { work: Work::Enqueue(enqueue.clone()), warm: false, _module: None });
            }
            CudaCode::Source { text, entry } => {
                of_image(&compile(text, context.arch).map_err(|e| e.to_string())?, entry)
            }
            CudaCode::Image { bytes, entry } => of_image(bytes, entry),
            CudaCode::Function(raw) => Ok((Function(std::ptr::with_exposed_provenance_mut(*raw)), None)),
            _ => return Err("its code is of a kind that this executor does not know".into()),
        };
        let load = || {
            let (function, module) = found?;
            function.allow_shared(context)?;
            let parameters = function.parameters(context)?.into();
            Ok(Loaded { work: Work::Kernel(function, parameters), warm: false, _module: module })
        };
        load().map_err(|e: DeviceError| e.to_string())
    }

    fn arguments(&self, task: &Task<'_>) -> Result<Vec<CudaArg>, Cause> {
        let argument = |n| {
            if let Some((bits, element)) = task.value(n) {
                return Ok(CudaArg::Value { bits, element });
            }
            if task.bytes(n) == Some(0) {
                // An empty view needs no memory, and its buffer may be gone.
                return Ok(CudaArg::Buffer { address: 0, bytes: 0 });
            }
            let other = || Cause::Executor(format!("the memory of argument {n} is not of this executor"));
            let (memory, offset, bytes) = task.buffer(n).ok_or_else(other)?;
            let memory: &dyn Any = memory.as_ref();
            let memory =
                memory.downcast_ref::<CudaMemory>().filter(|m| Arc::ptr_eq(&m.0.context, &self.context));
            Ok(CudaArg::Buffer { address: memory.ok_or_else(other)?.0.address + offset, bytes })
        };
        (0..task.arguments()).map(argument).collect()
    }

    fn launch(&mut self, task: &Task<'_>, upstream: Option<&[Token]>) -> Result<(), Cause> {
        if self.connection.is_none() {
            return Err(Cause::Executor("it is not connected".into()));
        }
        let kernel = task.cuda().ok_or_else(|| {
            let none =
                "its definition has no CUDA kernel; give it one with `Kernel::cuda`, or run it on the cpu";
            Cause::Executor(none.into())
        })?;
        let mut args = self.arguments(task)?;
        let loaded = self.loaded(kernel.code())?;
        if let Work::Kernel(_, parameters) = &loaded.work {
            let given = args.iter().map(size);
            if !given.clone().eq(parameters.iter().copied()) {
                return Err(Cause::Executor(format!(
                    "its CUDA function takes parameters of {parameters:?} bytes, and the launch gives {:?}; declare the kernel's parameters as the function does",
                    given.collect::<Vec<_>>()
                )));
            }
        }
        let work = loaded.work.clone();
        let warm = std::mem::replace(&mut loaded.warm, true) && upstream.is_none();
        let (stream, waits) = self.lane(upstream.unwrap_or_default());
        let now = warm.then(Instant::now);
        let waited: Result<Vec<_>, _> = waits.into_iter().map(|place| self.wait(stream, place)).collect();
        let given = waited.map_err(|e| Cause::Executor(e.to_string())).and_then(|after| {
            self.give(stream, &work, task.dimensions(), kernel.shared_bytes(), &mut args)?;
            Ok(after)
        });
        let after = match given {
            Ok(after) => after,
            Err(cause) => {
                self.let_go(stream);
                return Err(cause);
            }
        };
        self.lanes[stream].kernels += 1;
        let number = self.lanes[stream].kernels;
        for (of, upstream) in &after {
            self.lanes[*of].told = *upstream;
        }
        let after = after.into_iter().map(|(of, upstream)| (of, upstream as u32)).collect();
        let flight = Flight { stream, value: number as u32, token: task.token(), after, launched: now };
        if self.connection.as_ref().is_none_or(|connection| connection.flights.send(flight).is_err()) {
            self.settle(stream);
            self.let_go(stream);
            return Err(Cause::Executor("the thread that notices completions is gone".into()));
        }
        self.lanes[stream].in_flight += 1;
        // Where nothing is given ahead, the next kernel waits for the mark of this one.
        let most = if self.ahead == 0 { 1 } else { UNMARKED };
        if number - self.lanes[stream].marked >= most {
            self.mark_all(stream);
        }
        let slot = task.token().slot();
        if self.places.len() <= slot {
            self.places.resize(slot + 1, None);
        }
        self.places[slot] = Some(Place { token: task.token(), stream, number });
        Ok(())
    }

    /// Gives a stream what a launch is.
    fn give(
        &self,
        stream: usize,
        work: &Work,
        (grid, block): ([u32; 3], [u32; 3]),
        shared: u32,
        args: &mut [CudaArg],
    ) -> Result<(), Cause> {
        let (context, raw) = (&self.context, self.streams[stream].raw);
        let failed = |error: DeviceError| Cause::Executor(error.to_string());
        context.enter().map_err(failed)?;
        match work {
            Work::Kernel(function, _) => {
                let mut values: Vec<*mut c_void> = args.iter_mut().map(value).collect();
                let config = config(grid, block, shared, raw);
                // SAFETY: there is a value for each parameter, and each of its size.
                let code = unsafe { function.launch(context, &config, &mut values) };
                context.ok(code, "cuLaunchKernelEx").map_err(|error| match error {
                    DeviceError::Call { .. } => Cause::Executor(format!(
                        "{error}, with a grid of {grid:?} CTAs of {block:?} threads and {shared} bytes of shared memory"
                    )),
                    error => failed(error),
                })
            }
            Work::Enqueue(enqueue) => {
                let result = enqueue.call(&CudaCall::new(raw.cast(), grid, block, args));
                // It may have made another context this thread's.
                context.leave();
                if result.is_err() {
                    // What it has given before may touch memory that is used again once the launch has failed.
                    context.enter().map_err(failed)?;
                    self.settle(stream);
                }
                result
            }
        }
    }

    /// Has a stream mark all that it was given.
    fn mark_all(&mut self, stream: usize) {
        let kernels = self.lanes[stream].kernels;
        self.lanes[stream].marked = kernels;
        // A fault is found by the thread that notices completions.
        if self.mark(stream, kernels as u32).is_err() && self.settle(stream) {
            self.marks.at(stream).store(kernels as u32, Ordering::Release);
        }
    }

    /// A stream that was chosen for a kernel does not run it.
    fn let_go(&mut self, stream: usize) {
        if self.lanes[stream].in_flight == 0 {
            self.free.push(stream);
        }
    }
}

impl Executor for Cuda {
    fn name(&self) -> String {
        format!(
            "{}, {} stream{}",
            self.context.name,
            self.streams.len(),
            if self.streams.len() == 1 { "" } else { "s" }
        )
    }

    fn concurrency(&self) -> usize {
        self.streams.len()
    }

    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(CudaAllocator(self.context.clone()))
    }

    fn connect(&mut self, completions: Completions) {
        let (flights, arrivals) = channel();
        let (ended, freed) = channel();
        let notice = Notice {
            context: self.context.clone(),
            watchdog: self.watchdog,
            streams: self.streams.clone(),
            marks: self.marks.clone(),
            arrivals,
            freed: ended,
            completions,
        };
        let thread = std::thread::Builder::new()
            .name("windlass-cuda-notice".into())
            .spawn(move || notice.run())
            .map(|thread| Connection { flights, freed, thread });
        // Without the thread, `start` says that it is not connected.
        self.connection = thread.ok();
    }

    fn start(&mut self, task: Task<'_>) -> Started {
        started(self.launch(&task, None))
    }

    fn ahead(&self) -> usize {
        self.ahead
    }

    fn start_behind(&mut self, task: Task<'_>, upstream: &[Token]) -> Started {
        started(self.launch(&task, Some(upstream)))
    }

    fn flush(&mut self) {
        for stream in 0..self.lanes.len() {
            let lane = &self.lanes[stream];
            if lane.marked < lane.kernels && lane.told < lane.kernels {
                self.mark_all(stream);
            }
        }
    }
}

fn started(launched: Result<(), Cause>) -> Started {
    match launched {
        Ok(()) => Started::Running,
        Err(cause) => Started::Ended(Err(cause)),
    }
}

/// Bytes of the parameter that an argument is for.
fn size(arg: &CudaArg) -> usize {
    match arg {
        CudaArg::Buffer { .. } => 8,
        CudaArg::Value { element, .. } => element.bytes(),
    }
}

/// Where the value is: an address, or a number in its low bytes.
fn value(arg: &mut CudaArg) -> *mut c_void {
    match arg {
        CudaArg::Buffer { address, .. } => std::ptr::from_mut(address).cast(),
        CudaArg::Value { bits, .. } => std::ptr::from_mut(bits).cast(),
    }
}

/// Whether a stream has reached a mark. Marks of a stream only grow, but for the wrap after 2^32 kernels.
fn has_reached(now: u32, mark: u32) -> bool {
    now.wrapping_sub(mark) < 1 << 31
}

/// A stream is known to be as far as that mark, or was known to be further.
fn advance(reached: &mut u32, mark: u32) {
    if has_reached(mark, *reached) {
        *reached = mark;
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let Some(Connection { flights, thread, .. }) = self.connection.take() {
            // The thread ends when nobody can send any more and nothing is in flight.
            drop(flights);
            let _ = thread.join();
        }
    }
}

/// Notices completions, on a thread of its own.
struct Notice {
    context: Arc<Context>,
    watchdog: Duration,
    streams: Arc<Vec<Stream>>,
    marks: Arc<Marks>,
    arrivals: Receiver<Flight>,
    /// The stream of each kernel that has ended.
    freed: Sender<usize>,
    completions: Completions,
}

impl Notice {
    /// Reads marks as long as something is in flight: at full speed for [`Self::SPIN`] after the last news, then letting others run,
    /// then sleeping in between. Where nothing is in flight it sleeps until something is.
    fn run(self) {
        let mut flights: Vec<Flight> = Vec::new();
        // How far each stream is known to be.
        let mut reached = vec![0; self.streams.len()];
        let (mut news, mut asked) = (Instant::now(), Instant::now());
        loop {
            if flights.is_empty() {
                match self.arrivals.recv() {
                    Ok(flight) => flights.push(flight),
                    Err(_) => return,
                }
                (news, asked) = (Instant::now(), Instant::now());
            }
            flights.extend(self.arrivals.try_iter());
            for (stream, reached) in reached.iter_mut().enumerate() {
                advance(reached, self.marks.at(stream).load(Ordering::Acquire));
            }
            // The newest first: what one came after is older.
            for flight in flights.iter().rev().filter(|flight| !flight.after.is_empty()) {
                if has_reached(reached[flight.stream], flight.value) {
                    flight.after.iter().for_each(|(stream, mark)| advance(&mut reached[*stream], *mark));
                }
            }
            let before = flights.len();
            flights.retain(|flight| {
                let ended = has_reached(reached[flight.stream], flight.value);
                if ended {
                    // Free first: the scheduler may start another as soon as it knows.
                    let _ = self.freed.send(flight.stream);
                    match flight.launched {
                        Some(launched) => self.completions.complete_timed(flight.token, launched.elapsed()),
                        None => self.completions.complete(flight.token, Ok(())),
                    }
                }
                !ended
            });
            let now = Instant::now();
            if flights.len() < before {
                (news, asked) = (now, now);
                continue;
            }
            if now - asked > Self::ASK {
                asked = now;
                let hangs = now - news > self.watchdog;
                let fault = if hangs { None } else { self.fault().err().map(|e| e.to_string()) };
                if hangs {
                    self.context.abandon();
                }
                if let Some(what) = fault.or_else(|| hangs.then(|| self.hanging())) {
                    let cause = Cause::Executor(what);
                    for flight in flights.drain(..) {
                        let _ = self.freed.send(flight.stream);
                        self.completions.complete(flight.token, Err(cause.clone()));
                    }
                }
            }
            match now - news {
                quiet if quiet < Self::SPIN => std::hint::spin_loop(),
                quiet if quiet < Self::YIELD => std::thread::yield_now(),
                _ => std::thread::sleep(Self::SLEEP),
            }
        }
    }

    fn hanging(&self) -> String {
        let (name, time) = (&self.context.name, self.watchdog);
        format!(
            "{name}: nothing in flight has ended for {time:?}; a kernel hangs, or `Cuda::watchdog` is too short"
        )
    }

    const SPIN: Duration = Duration::from_micros(20);
    const YIELD: Duration = Duration::from_millis(2);
    const SLEEP: Duration = Duration::from_micros(50);
    /// A fault writes no marks; after so long without news somebody has to ask.
    const ASK: Duration = Duration::from_millis(1);

    fn fault(&self) -> Result<(), DeviceError> {
        self.context.enter()?;
        for stream in self.streams.iter() {
            // SAFETY: the stream lives.
            match unsafe { (self.context.driver.cuStreamQuery)(stream.raw) } {
                0 | NOT_READY => {}
                code => return Err(self.context.error(code, "cuStreamQuery")),
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct CudaMemory(DeviceMemory);

impl Memory for CudaMemory {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String> {
        let _visit = self.0.context.visit().map_err(|e| e.to_string())?;
        self.0.read(offset, to).map_err(|e| e.to_string())
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String> {
        let _visit = self.0.context.visit().map_err(|e| e.to_string())?;
        self.0.write(offset, from).map_err(|e| e.to_string())
    }
}

struct CudaAllocator(Arc<Context>);

impl Allocator for CudaAllocator {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        let bytes = elements.checked_mul(element.bytes()).ok_or("more bytes than there are addresses")?;
        let _visit = self.0.visit().map_err(|e| e.to_string())?;
        let memory = DeviceMemory::new(&self.0, bytes as u64, "a buffer").map_err(|e| match e {
            DeviceError::OutOfMemory { device, reason, .. } => format!("{device}: {reason}"),
            error => error.to_string(),
        })?;
        memory.fill(0).map_err(|e| e.to_string())?;
        Ok(Arc::new(CudaMemory(memory)))
    }

    unsafe fn import(
        &self,
        first: *mut u8,
        elements: usize,
        element: ElementKind,
        owner: Owner,
    ) -> Result<Arc<dyn Memory>, String> {
        let bytes = elements.checked_mul(element.bytes()).ok_or("more bytes than there are addresses")?;
        element.can_be_at(first)?;
        let _visit = self.0.visit().map_err(|e| e.to_string())?;
        Ok(Arc::new(CudaMemory(DeviceMemory::import(&self.0, first.addr() as u64, bytes, owner)?)))
    }
}

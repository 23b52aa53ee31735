//! Launches kernels in program order, runs them as soon as their memory allows it.
//!
//! The application's thread declares buffers and launches kernels; a scheduler's thread finds each one's hazards (RAW, WAR and WAW,
//! exact to the byte), keeps a window of kernels in flight, and starts those that wait for nothing on an [`Executor`].
//! What the memory holds is what it would hold had each kernel run by itself, in program order.
//!
#![doc = concat!("```\n", include_str!("../../examples/saxpy.rs"), "\n```\n\nA failure:\n\n```\n", include_str!("../../examples/failure.rs"), "\n```")]

mod check;
mod cpu;
mod ctas;
mod cuda_kernel;
mod error;
mod executor;
mod guard;
mod host;
mod kernel;
mod memory;
mod poison;
mod record;
mod schedule;
mod scheduler;
mod signal;
mod sms;
mod sync;
mod versions;
mod view;
mod waiter;

pub use check::{Finding, Violation};
pub use cpu::Cpu;
pub(crate) use cpu::MAX_THREADS;
pub(crate) use ctas::{Ctas, Left};
pub use cuda_kernel::{CudaArg, CudaCall, CudaCode, CudaKernel, Enqueue, EnqueueResult};
pub use error::{Cause, Error, Failure, Failures};
pub use executor::{Completions, Executor, HostAllocator, Immediate, Started, Task, Token};
pub use host::Reading;
pub use kernel::{Accesses, ArgError, Cta, CtaResult, Kernel, Launch, Mode, Parameter};
pub use memory::{Allocator, Arg, Buffer, Element, ElementKind, HostMemory, Memory, Owner, View};
pub use record::Recording;
pub use schedule::{Event, EventKind, Schedule};
pub(crate) use sms::{Grid, Queue, Sms};
pub use versions::Renamed;
pub use view::{ReadView, ReadWriteView, WriteView};
pub use waiter::Waiter;

use crate::ktrace::{self, ADDRESS_LIMIT, Segment};
use crate::run::MOST_SPILLED;
use guard::guarded;
use host::Copier;
use kernel::Access;
use memory::{ArgKind, BufferId, Bytes, check_bounds};
use record::Recorder;
use rtrb::{Consumer, Producer, RingBuffer};
use scheduler::{Launched, Plan, Scheduler, Shared, Submission};
use signal::PATIENCE;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use versions::{Pool, Renaming};
use waiter::Teller;
use windlass_hazards::{Config, Engine, MAX_REGIONS, MAX_SEGMENTS, REGION_BYTES};

/// Which launch of a runtime: they are numbered in program order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A kernel that a runtime knows, to be copied at will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registered {
    index: u32,
    runtime: u32,
}

impl Registered {
    /// The bits, to hand through C.
    pub const fn to_bits(self) -> u64 {
        (self.runtime as u64) << 32 | self.index as u64
    }

    /// From [`Registered::to_bits`]. Bits that no runtime gave are refused as [`Error::UnknownKernel`] when they are used.
    pub const fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, runtime: (bits >> 32) as u32 }
    }
}

/// Who decides which kernel starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// As soon as a kernel in the window waits for nothing: the highest priority first, then the oldest.
    #[default]
    Window,
    /// One after another in program order: the reference.
    Serial,
}

/// A grid or a block: up to three dimensions, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(dim: [u32; 3]) -> Self {
        Self(dim)
    }
}

/// The arguments of a launch, in the order of the kernel's parameters: buffers, views of buffers, numbers.
///
/// ```no_run
/// # use windlass_runtime::{args, runtime::*};
/// # fn f(rt: &mut Runtime, saxpy: Registered, x: Buffer<f32>, y: Buffer<f32>) -> Result<(), Error> {
/// rt.launch(saxpy, 4, 256, args![2.0f32, x, y.slice(0..1000)])?;
/// # Ok(()) }
/// ```
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        &[$($crate::runtime::Arg::from($arg)),*]
    };
}

/// How a launch differs from others.
#[derive(Default)]
pub struct Options {
    priority: i32,
    callback: Option<scheduler::Callback>,
    teller: Option<Teller>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("priority", &self.priority).finish_non_exhaustive()
    }
}

impl Options {
    /// Priority 0, no callback, nobody who waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of the kernels that wait for nothing, those with the highest number start first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// To be called once the kernel has retired, or failed, in the place of one that was given before; not where the launch is refused. It runs on the scheduler's thread: nothing
    /// starts before it returns. Where it is given the runtime, it may launch as much as the queue has room for; what would wait there for
    /// the runtime is [`Error::Reentrant`], and a runtime that is dropped there ends by itself when all is done. Whoever waits for the launch
    /// waits for its callback, too: before that has returned, [`Runtime::is_done`] is false, also within it. A lock that the
    /// application's thread holds while it waits for the runtime is nothing that can be seen from here: both then wait for ever.
    #[must_use]
    pub fn on_done(mut self, callback: impl FnOnce(Result<(), Failure>) + Send + 'static) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Something to wait with for this launch that needs no [`Runtime`]: another thread may launch meanwhile, or have it behind a mutex.
    #[must_use]
    pub fn waiter(mut self) -> (Self, Waiter) {
        let waiter = self.teller.get_or_insert_default().waiter();
        (self, waiter)
    }
}

/// What a runtime is built with.
pub struct Builder {
    window: usize,
    policy: Policy,
    queue: usize,
    record: bool,
    check: bool,
    rename: u64,
    replay: Option<Schedule>,
    executor: Option<Box<dyn Executor>>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("window", &self.window)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Kernels in flight, at most: 4 to 4096; 32 where nothing is said.
    #[must_use]
    pub fn window(mut self, kernels: usize) -> Self {
        self.window = kernels;
        self
    }

    /// Who decides which kernel starts.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Launches on their way to the scheduler, at most: 1 to 2^20; 1024 where nothing is said. A launch waits where there is no room.
    #[must_use]
    pub fn queue(mut self, launches: usize) -> Self {
        self.queue = launches;
        self
    }

    /// Keeps what was launched, and when it started and ended, for [`Runtime::recording`].
    #[must_use]
    pub fn record(mut self, record: bool) -> Self {
        self.record = record;
        self
    }

    /// Compares what kernels touch with what they declare, for [`Runtime::findings`]. Kernels then run one after another, slowly.
    /// Executors other than [`Cpu`] find nothing.
    #[must_use]
    pub fn check(mut self, check: bool) -> Self {
        self.check = check;
        self
    }

    /// Gives values memory of their own, up to so many bytes beyond the buffers' own: what a kernel declares as written, or the application
    /// writes, is all of a buffer, and kernels in flight still use what was there. It then waits for none of them (WAR, WAW), and those that are launched
    /// later see the new value. 0, where nothing is said: nothing is renamed. Where the budget is spent, the hazard stands.
    ///
    /// A kernel must then write all that it declares as [`Mode::Write`]: what it leaves out does not hold the old value.
    ///
    /// ```
    /// # use windlass_runtime::{args, runtime::{Error, Kernel, Runtime}};
    /// # fn main() -> Result<(), Error> {
    /// let mut rt = Runtime::builder().rename(1 << 20).build()?;
    /// let double = rt.register(Kernel::new("double").read_of::<i32>("x").write_of::<i32>("y").body(|cta| {
    ///     let (x, y) = (cta.read::<i32>(0)?, cta.write::<i32>(1)?);
    ///     cta.threads().for_each(|i| y.set(i, 2 * x.get(i)));
    ///     Ok(())
    /// }))?;
    /// let (input, mut outputs) = (rt.buffer::<i32>(64)?, Vec::new());
    /// for frame in 0..10 {
    ///     rt.write(input, &[frame; 64])?; // waits for none of the frames before
    ///     outputs.push(rt.buffer::<i32>(64)?);
    ///     rt.launch(double, 1, 64, args![input, outputs[outputs.len() - 1]])?;
    /// }
    /// assert_eq!(rt.read(outputs[9])?, [18; 64]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn rename(mut self, bytes: u64) -> Self {
        self.rename = bytes;
        self
    }

    /// Starts and ends kernels in a recorded order, and gives memory of their own to the writes that had it in the recorded run, where
    /// [`Builder::rename`] allows as much. Past its end the policy decides again. An order that the program's hazards do not
    /// allow, or a kernel that is never launched, is [`Error::Diverged`] at the next synchronisation. It is found where the application
    /// waits without a limit of time; one that asks again and again (`is_done`, `wait_timeout`) may yet launch what is missing.
    #[must_use]
    pub fn replay(mut self, schedule: Schedule) -> Self {
        self.replay = Some(schedule);
        self
    }

    /// Where kernels run; [`Cpu`] with a thread per processor where nothing is said.
    #[must_use]
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    /// Starts the scheduler's thread.
    ///
    /// # Errors
    /// [`Error::Window`], [`Error::Queue`], [`Error::Thread`].
    pub fn build(self) -> Result<Runtime, Error> {
        const QUEUE: usize = 1 << 20;
        if !(1..=QUEUE).contains(&self.queue) {
            return Err(Error::Queue { got: self.queue, max: QUEUE });
        }
        let executor = match self.executor {
            Some(executor) => executor,
            None => Box::new(Cpu::new(0)?),
        };
        let mut config = Config::new(self.window);
        // A window full of kernels of as many segments as there can be, up to the most that the engine takes with every window: at 16
        // bytes each, 256 KiB for a window of 32, and 400 KiB or little more for any.
        config.spill = self.window.saturating_mul(2 * MAX_SEGMENTS).min(MOST_SPILLED);
        // Other errors are of settings that are not made here.
        let engine = Engine::with_config(&config).map_err(|_| Error::Window { got: self.window })?;
        let (producer, consumer) = RingBuffer::new(self.queue);
        let (used, lists) = RingBuffer::new(self.queue + self.window);
        let recorder = self.record.then(|| Recorder::new(executor.name()));
        let shared = Arc::new(Shared::new(recorder, self.window));
        let pool = Arc::new(Pool::new(executor.allocator(), self.rename));
        let serial = self.policy == Policy::Serial || self.check;
        let renaming = (self.rename > 0).then(|| Renaming::new(pool.clone()));
        let (window, check, replay) = (self.window, self.check, self.replay);
        let plan = Plan { engine, window, serial, check, replay, renaming };
        let scheduler = Scheduler::new(plan, executor, consumer, used, shared.clone());
        let thread = thread::Builder::new()
            .name("windlass-scheduler".into())
            .spawn({
                let shared = shared.clone();
                move || {
                    shared.serve();
                    scheduler.run();
                }
            })
            .map_err(|e| Error::Thread { what: "the scheduler", reason: e.to_string() })?;
        Ok(Runtime {
            producer: Some(producer),
            lists,
            thread: Some(thread),
            shared,
            pool,
            copier: None,
            id: RUNTIMES.fetch_add(1, Ordering::Relaxed),
            kernels: Vec::new(),
            buffers: Vec::new(),
            next_address: FIRST_ADDRESS,
            submitted: 0,
            tickets: 0,
            record: self.record,
        })
    }
}

/// In a recording, addresses of buffers begin here. They are never used twice, so that it names each buffer by its own.
const FIRST_ADDRESS: u64 = 1 << 20;
const ALIGNMENT: u64 = 256;

/// Bytes of a buffer at most: its addresses in a recording are below 2^53.
pub const MAX_BUFFER_BYTES: u64 = ADDRESS_LIMIT - ALIGNMENT - FIRST_ADDRESS;

/// Numbers for runtimes and for buffers, so that one runtime's handles mean nothing to another. From 1: a handle that C has set to zero is
/// not one.
static RUNTIMES: AtomicU32 = AtomicU32::new(1);
static BUFFERS: AtomicU64 = AtomicU64::new(1);

/// Calls what an executor's author wrote; a panic is an error as any other.
fn caught<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    guarded(call).unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}

/// How many accesses the hazard engine makes of one: it knows a large buffer in parts.
fn parts(part: &Bytes) -> u64 {
    match part.bytes.checked_sub(1) {
        Some(more) => (part.offset + more) / REGION_BYTES - part.offset / REGION_BYTES + 1,
        None => 0,
    }
}

/// That the hazard engine can hold a launch: so many reads, and so many writes.
#[cold]
fn check_parts(kernel: &Kernel, args: &[Arg], said: Option<&[Access]>) -> Result<(), Error> {
    let most = MAX_SEGMENTS as u64;
    for uses in [Mode::reads, Mode::writes] {
        let (mut ranges, mut all) = (0, 0);
        kernel.each_access(args, said, |Access { part, mode }| {
            if uses(mode) && part.bytes > 0 {
                ranges += 1;
                all += parts(&part);
            }
        });
        if ranges > most {
            return Err(Error::TooManyRanges { kernel: kernel.name.clone() });
        }
        if all > most {
            return Err(Error::TooManyParts { what: format!("kernel {}", kernel.name), parts: all });
        }
    }
    Ok(())
}

/// A buffer that is there.
struct Live {
    unique: u64,
    /// 0 where nothing is recorded.
    address: u64,
    bytes: u64,
    element: ElementKind,
}

/// Launches kernels. `Send`, so that any thread may own it; not `Sync`, for program order is that of one thread: share it behind a
/// `Mutex` where several launch. Dropping it waits for all that was launched.
pub struct Runtime {
    /// `None` while it is being dropped.
    producer: Option<Producer<Submission>>,
    /// Lists for arguments, used before.
    lists: Consumer<Vec<Arg>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    /// `None` before the first copy that it makes.
    copier: Option<Copier>,
    /// Which one this is of the process.
    id: u32,
    kernels: Vec<Arc<Kernel>>,
    buffers: Vec<Option<Live>>,
    next_address: u64,
    submitted: u64,
    tickets: u64,
    record: bool,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("launched", &self.tickets).finish_non_exhaustive()
    }
}

impl Runtime {
    /// A window of 32 kernels, on as many threads as there are processors, unless the builder is told otherwise.
    pub fn builder() -> Builder {
        Builder {
            window: 32,
            policy: Policy::Window,
            queue: 1024,
            record: false,
            check: false,
            rename: 0,
            replay: None,
            executor: None,
        }
    }

    /// Makes a kernel known.
    ///
    /// # Errors
    /// [`Error::SchedulerGone`], [`Error::Reentrant`].
    pub fn register(&mut self, kernel: Kernel) -> Result<Registered, Error> {
        let kernel = Arc::new(kernel);
        // A table of 2^32 kernels is not to be had.
        let registered = Registered { index: self.kernels.len() as u32, runtime: self.id };
        self.submit(Submission::Register(kernel.clone()))?;
        self.kernels.push(kernel);
        Ok(registered)
    }

    /// Memory for so many elements, all zero.
    ///
    /// # Errors
    /// [`Error::BufferSize`], [`Error::TooManyBuffers`], [`Error::OutOfMemory`], [`Error::NoAddresses`], [`Error::SchedulerGone`],
    /// [`Error::Reentrant`].
    pub fn buffer<T: Element>(&mut self, elements: usize) -> Result<Buffer<T>, Error> {
        let allocate = |rt: &Self, bytes| {
            let memory = rt.pool.allocate(elements, T::KIND);
            memory.map_err(|reason| Error::OutOfMemory { bytes, reason })
        };
        self.declare(elements, None, allocate)
    }

    /// Memory that is there already as a buffer, without a copy: so many elements from `first`, with what is in them. It is never
    /// [renamed](Builder::rename), so that what kernels compute is found in it. `owner` keeps it alive: it is dropped once the buffer is
    /// released, or the runtime is gone, and nothing uses the memory any more, on any of the runtime's threads; also where this fails.
    /// [`Cpu`] takes memory of this process, and `windlass_cuda::Cuda` what the GPU's kernels reach, by its address there; an executor whose
    /// allocator does not say so takes none.
    ///
    /// ```
    /// # use windlass_runtime::runtime::{Buffer, Error, Runtime};
    /// # fn f(rt: &mut Runtime, image: Vec<f32>) -> Result<(), Error> {
    /// let image: &'static mut [f32] = image.leak();
    /// // SAFETY: it is there for good, and nobody else has it; there is no owner that could drop it.
    /// let pixels: Buffer<f32> = unsafe { rt.import(image.as_mut_ptr(), image.len(), ()) }?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Import`] where the executor does not take it, where it is not aligned as its elements are, or where bytes of it are
    /// another buffer's that was imported; otherwise as [`Runtime::buffer`].
    ///
    /// # Safety
    /// - From `first` on so many elements are valid for reads and writes, from any thread, as long as `owner` lives, and hold values.
    /// - No other buffer has bytes of them, of this runtime or of another that runs kernels meanwhile, but through a buffer imported here,
    ///   which is refused.
    /// - While kernels that access the buffer may run, others use the memory as the declarations of these kernels allow: nobody writes what
    ///   one reads, and nobody reads what one writes, but atomically. What is there before a launch, kernels see; what a kernel has
    ///   written is there once a wait for it has returned.
    pub unsafe fn import<T: Element>(
        &mut self,
        first: *mut T,
        elements: usize,
        owner: impl Any + Send + Sync,
    ) -> Result<Buffer<T>, Error> {
        let owner: Owner = Box::new(owner);
        let import = |rt: &Self, bytes| {
            let allocator = rt.pool.allocator();
            // SAFETY: the caller's.
            let memory = caught(|| unsafe { allocator.import(first.cast(), elements, T::KIND, owner) });
            memory.map_err(|reason| Error::Import { bytes, reason })
        };
        self.declare(elements, Some(first.addr() as u64), import)
    }

    /// Memory with these elements in it.
    ///
    /// # Errors
    /// As [`Runtime::buffer`], and [`Error::Device`].
    pub fn buffer_from<T: Element>(&mut self, values: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.buffer(values.len())?;
        if let Err(error) = self.write(buffer, values) {
            // Nobody has its handle.
            self.release(buffer)?;
            return Err(error);
        }
        Ok(buffer)
    }

    /// A buffer; where its memory is imported, from that address on.
    fn declare<T: Element>(
        &mut self,
        elements: usize,
        imported: Option<u64>,
        memory: impl FnOnce(&Self, u64) -> Result<Arc<dyn Memory>, Error>,
    ) -> Result<Buffer<T>, Error> {
        let element = T::KIND;
        self.make_room()?;
        let bytes = (elements as u64).checked_mul(element.bytes() as u64);
        let Some(bytes) = bytes.filter(|bytes| (1..=MAX_BUFFER_BYTES).contains(bytes)) else {
            return Err(Error::BufferSize { elements, element });
        };
        let address = if self.record { self.next_address } else { 0 };
        let end = address + bytes;
        if end > ADDRESS_LIMIT - ALIGNMENT {
            return Err(Error::NoAddresses { bytes });
        }
        let memory = memory(self, bytes)?;
        let imported = imported.map(|addr| Segment { addr, bytes });
        let mut news = self.shared.news();
        if imported.is_some_and(|segment| news.imported.overlapping(segment).next().is_some()) {
            let reason =
                "some of them are another buffer's; take a view of that one, or release it and synchronise";
            return Err(Error::Import { bytes, reason: reason.into() });
        }
        let regions = news.regions + bytes.div_ceil(REGION_BYTES);
        if regions > MAX_REGIONS as u64 {
            return Err(Error::TooManyBuffers { most: MAX_REGIONS as u64 });
        }
        news.regions = regions;
        if let Some(segment) = imported {
            news.imported.insert(segment, ());
        }
        let free = news.free.pop();
        drop(news);
        let index = free.unwrap_or_else(|| {
            self.buffers.push(None);
            (self.buffers.len() - 1) as u32
        });
        let id = BufferId { index, unique: BUFFERS.fetch_add(1, Ordering::Relaxed) };
        self.submit(Submission::Declare { buffer: id, bytes, element, memory, imported })?;
        if self.record {
            // A gap between neighbours, so that no range of one buffer ends where another begins.
            self.next_address = end.next_multiple_of(ALIGNMENT) + ALIGNMENT;
        }
        self.buffers[index as usize] = Some(Live { unique: id.unique, address, bytes, element });
        self.record(|| ktrace::Event::Alloc(Segment { addr: address, bytes }));
        Ok(Buffer { id, len: elements, element: PhantomData })
    }

    /// Gives a buffer's memory back once the kernels that use it are done. The handle is not valid any more.
    ///
    /// # Errors
    /// [`Error::UnknownBuffer`], [`Error::SchedulerGone`], [`Error::Reentrant`].
    pub fn release<T: Element>(&mut self, buffer: Buffer<T>) -> Result<(), Error> {
        let live = self.live(buffer.id)?;
        let (address, bytes) = (live.address, live.bytes);
        let whole = Bytes { buffer: buffer.id, element: live.element, offset: 0, bytes };
        self.submit(Submission::Release { whole })?;
        self.buffers[buffer.id.index as usize] = None;
        self.record(|| ktrace::Event::Free(Segment { addr: address, bytes }));
        Ok(())
    }

    /// Launches the next kernel in program order: `grid` CTAs of `block` threads. It starts when its hazards allow it.
    ///
    /// # Errors
    /// What is wrong with the launch; it has then not happened. [`Error::SchedulerGone`], [`Error::Reentrant`] where the queue is full.
    pub fn launch(
        &mut self,
        kernel: Registered,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        args: &[Arg],
    ) -> Result<Ticket, Error> {
        self.launch_with(kernel, grid, block, args, Options::default())
    }

    /// As [`Runtime::launch`], with a priority, a callback or a waiter.
    ///
    /// # Errors
    /// As [`Runtime::launch`]; the callback is then not called.
    pub fn launch_with(
        &mut self,
        kernel: Registered,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        args: &[Arg],
        options: Options,
    ) -> Result<Ticket, Error> {
        let (grid, block) = (grid.into().0, block.into().0);
        let known = self.known(kernel)?;
        let accesses = self.check_launch(known, grid, block, args)?;
        if self.record {
            self.make_room()?;
            self.record_launch(self.known(kernel)?, grid, block, args, accesses.as_deref());
        }
        if let Some(teller) = &options.teller {
            teller.launched_on(&self.shared);
        }
        let mut list = self.lists.pop().unwrap_or_default();
        list.extend_from_slice(args);
        self.submit(Submission::Kernel(Launched {
            kernel: kernel.index,
            priority: options.priority,
            grid,
            block,
            args: list,
            accesses,
            callback: options.callback,
            teller: options.teller,
            kept: None,
        }))?;
        self.tickets += 1;
        Ok(Ticket(self.tickets - 1))
    }

    /// All that can be wrong with a launch; what its access closure says.
    fn check_launch(
        &self,
        kernel: &Arc<Kernel>,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[Arg],
    ) -> Result<Option<Box<[Access]>>, Error> {
        let count = |dim: [u32; 3]| dim.iter().try_fold(1u64, |n, d| n.checked_mul(u64::from(*d)));
        let right = |dim| count(dim).is_some_and(|n| 0 < n && n < 1 << 63);
        if !right(grid) || !right(block) {
            return Err(Error::Dimensions { kernel: kernel.name.clone(), grid, block });
        }
        if args.len() != kernel.params.len() {
            let (takes, given) = (kernel.params.len(), args.len());
            return Err(Error::Arguments { kernel: kernel.name.clone(), takes, given });
        }
        // An upper bound, for nearly all launches are far below the limit.
        let mut most_parts = 0;
        for (position, (arg, param)) in args.iter().zip(&kernel.params).enumerate() {
            let given = match (&arg.0, param.mode) {
                (ArgKind::Value { element, .. }, None) => *element,
                (ArgKind::Buffer(part), Some(_)) => {
                    self.check_part(part, || {
                        format!("argument {position} ({}) of kernel {}", param.name, kernel.name)
                    })?;
                    most_parts += part.bytes / REGION_BYTES + 2;
                    part.element
                }
                (_, mode) => {
                    return Err(Error::ArgumentKind {
                        kernel: kernel.name.clone(),
                        position,
                        name: param.name.clone(),
                        wanted: if mode.is_some() { "buffer" } else { "value" },
                    });
                }
            };
            if let Some(wanted) = param.element.filter(|wanted| *wanted != given) {
                let (kernel, name, buffer) = (kernel.name.clone(), param.name.clone(), param.mode.is_some());
                return Err(Error::ArgumentType { kernel, position, name, wanted, given, buffer });
            }
        }
        let Some(access) = &kernel.access else {
            if most_parts > MAX_SEGMENTS as u64 {
                check_parts(kernel, args, None)?;
            }
            return Ok(None);
        };
        let mut accesses = Accesses { kernel, args, list: Vec::new(), error: None };
        guarded(|| access(&Launch { grid, block, args }, &mut accesses))
            .map_err(|reason| Error::AccessPanicked { kernel: kernel.name.clone(), reason })?;
        let Accesses { list, error, .. } = accesses;
        if let Some(error) = error {
            return Err(error);
        }
        check_parts(kernel, args, Some(&list))?;
        Ok(Some(list.into()))
    }

    /// That the buffer is there, is of these elements, and has so many.
    #[inline]
    fn check_part(&self, part: &Bytes, what: impl FnOnce() -> String) -> Result<(), Error> {
        let live = self.live(part.buffer)?;
        if part.element != live.element {
            return Err(Error::ElementType { found: live.element, wanted: part.element, what: what() });
        }
        check_bounds(part, live.bytes, what)
    }

    /// Waits for all that was launched.
    ///
    /// # Errors
    /// [`Error::Failed`]: kernels failed since the last synchronisation; the first [`Failures::MOST`] are told, and how many there were. [`Error::CompletedTwice`], [`Error::Diverged`]: the next
    /// synchronisation tells the failures. [`Error::SchedulerGone`], [`Error::Reentrant`].
    pub fn synchronize(&mut self) -> Result<(), Error> {
        self.may_wait()?;
        self.record(|| ktrace::Event::Sync { why: "synchronize".into() });
        let shared = &self.shared;
        shared.host_waits.store(true, Ordering::Release);
        shared.to_scheduler.wake();
        let done = || shared.done.0.load(Ordering::Acquire) == self.submitted;
        shared.to_host.wait(PATIENCE, || done() || shared.gone.load(Ordering::Acquire));
        shared.host_waits.store(false, Ordering::Release);
        if !done() {
            return Err(Error::SchedulerGone);
        }
        let mut news = shared.news();
        if let Some(kernel) = news.completed_twice.take() {
            return Err(Error::CompletedTwice { kernel });
        }
        if let Some(problem) = news.diverged.take() {
            return Err(Error::Diverged(problem));
        }
        match std::mem::take(&mut news.failures) {
            failures if failures.first.is_empty() => Ok(()),
            failures => Err(Error::Failed(failures)),
        }
    }

    /// Something to wait with, without the runtime, until all that was launched so far and all copies that were started have ended: others
    /// launch meanwhile, and what they launch is not waited for. Callbacks of these launches have returned by then.
    ///
    /// Its outcome is [`Error::Failed`] where kernels have failed since the last synchronisation, which the next one tells, too; they may
    /// be kernels that were launched later, and have failed already.
    ///
    /// ```
    /// # use windlass_runtime::{args, runtime::{Error, Kernel, Runtime}};
    /// # fn main() -> Result<(), Error> {
    /// let mut rt = Runtime::builder().build()?;
    /// let add = rt.register(Kernel::new("add").read_write_of::<i32>("x").body(|cta| {
    ///     let x = cta.read_write::<i32>(0)?;
    ///     cta.threads().for_each(|i| x.set(i, x.get(i) + 1));
    ///     Ok(())
    /// }))?;
    /// let (x, y) = (rt.buffer::<i32>(64)?, rt.buffer::<i32>(64)?);
    /// (0..10).try_for_each(|_| rt.launch(add, 1, 64, args![x]).map(drop))?;
    /// let all_of_x = rt.fence()?;
    /// let waits = std::thread::spawn(move || all_of_x.wait());
    /// rt.launch(add, 1, 64, args![y])?; // meanwhile
    /// waits.join().unwrap()?;
    /// # rt.synchronize() }
    /// ```
    ///
    /// # Errors
    /// [`Error::SchedulerGone`], [`Error::Reentrant`] where the queue is full.
    pub fn fence(&mut self) -> Result<Waiter, Error> {
        let teller = Teller::default();
        let waiter = teller.waiter();
        teller.launched_on(&self.shared);
        self.submit(Submission::Fence(teller))?;
        Ok(waiter)
    }

    /// Waits until one launch has retired or failed; others run on.
    ///
    /// # Errors
    /// [`Error::Failed`] with its failure, which the next synchronisation tells too. [`Error::CauseNotKept`] where it failed and one has
    /// told so already, or more than [`Failures::MOST`] failed before it; [`Error::OutcomeNotKept`] where very many have failed since,
    /// apart from each other. [`Error::NotLaunched`], [`Error::SchedulerGone`], [`Error::Reentrant`].
    pub fn wait(&mut self, ticket: Ticket) -> Result<(), Error> {
        self.wait_until(ticket, None).map(|_| ())
    }

    /// As [`Runtime::wait`], for so long at most: whether it has ended. Unlike there, a schedule that is replayed is not found to have
    /// diverged while this waits.
    ///
    /// # Errors
    /// As [`Runtime::wait`].
    pub fn wait_timeout(&mut self, ticket: Ticket, time: Duration) -> Result<bool, Error> {
        // A time that has no end is none.
        self.wait_until(ticket, Instant::now().checked_add(time))
    }

    fn wait_until(&mut self, ticket: Ticket, deadline: Option<Instant>) -> Result<bool, Error> {
        self.may_wait()?;
        let mut ended = self.is_done(ticket)?;
        if !ended {
            let shared = &self.shared;
            // Whoever waits for a time only will launch more, which may be what a recorded order wants next.
            shared.host_waits.store(deadline.is_none(), Ordering::Release);
            shared.to_scheduler.wake();
            let done = || shared.has_ended(ticket.0);
            shared.to_host.wait_until(PATIENCE, deadline, || done() || shared.gone.load(Ordering::Acquire));
            shared.host_waits.store(false, Ordering::Release);
            ended = done();
        }
        if ended {
            self.shared.news().outcome(ticket).map(|()| true)
        } else if self.shared.gone.load(Ordering::Acquire) {
            Err(Error::SchedulerGone)
        } else {
            Ok(false)
        }
    }

    /// Whether a launch has retired, or failed, and its callback, where it has one, has returned. Does not wait.
    ///
    /// # Errors
    /// [`Error::NotLaunched`].
    pub fn is_done(&self, ticket: Ticket) -> Result<bool, Error> {
        if ticket.0 >= self.tickets {
            return Err(Error::NotLaunched { ticket: ticket.0, launched: self.tickets });
        }
        Ok(self.shared.has_ended(ticket.0))
    }

    /// Gives memory back that renaming has taken and nobody uses now ([`Builder::rename`]). It is given back without this where there is no
    /// other for a buffer, and where there are no buffers of its size any more.
    pub fn trim(&mut self) {
        self.pool.trim();
    }

    /// What was launched so far and when it ran; of kernels that have not ended, the end is missing.
    ///
    /// # Errors
    /// [`Error::NotRecorded`].
    pub fn recording(&self) -> Result<Recording, Error> {
        self.shared.news().recorder.as_ref().map(Recorder::recording).ok_or(Error::NotRecorded)
    }

    /// What is wrong with the declarations of the kernels that have ended, in the order in which they ended; each is told once.
    /// The first 10 000 are kept until they are asked for. Empty unless the runtime was built with [`Builder::check`].
    pub fn findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.shared.news().findings)
    }

    /// What [`Builder::rename`] did so far.
    pub fn renamed(&self) -> Renamed {
        self.pool.renamed()
    }

    /// Size of a buffer in bytes.
    ///
    /// # Errors
    /// [`Error::UnknownBuffer`].
    pub fn bytes<T: Element>(&self, buffer: Buffer<T>) -> Result<u64, Error> {
        Ok(self.live(buffer.id)?.bytes)
    }

    /// What a kernel's author has said of each of its arguments.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`].
    pub fn parameters(&self, kernel: Registered) -> Result<Vec<Parameter>, Error> {
        Ok(self.known(kernel)?.params.iter().map(|param| (param.mode, param.element)).collect())
    }

    fn known(&self, kernel: Registered) -> Result<&Arc<Kernel>, Error> {
        let known = self.kernels.get(kernel.index as usize).filter(|_| kernel.runtime == self.id);
        known.ok_or(Error::UnknownKernel)
    }

    fn live(&self, id: BufferId) -> Result<&Live, Error> {
        let live = self.buffers.get(id.index as usize).and_then(Option::as_ref);
        live.filter(|live| live.unique == id.unique).ok_or(Error::UnknownBuffer)
    }

    fn record(&self, event: impl FnOnce() -> ktrace::Event) {
        if self.record
            && let Some(recorder) = &mut self.shared.news().recorder
        {
            recorder.submitted(event());
        }
    }

    fn record_launch(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[Arg],
        accesses: Option<&[Access]>,
    ) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let shared = kernel.cuda.as_ref().and_then(CudaKernel::known_shared_bytes);
        kernel.each_access(args, accesses, |Access { part, mode }| {
            let Ok(live) = self.live(part.buffer) else { return };
            let segment = Segment { addr: live.address + part.offset, bytes: part.bytes };
            if mode.reads() {
                reads.push(segment);
            }
            if mode.writes() {
                writes.push(segment);
            }
        });
        self.record(|| {
            ktrace::Event::Kernel(ktrace::Kernel {
                index: 0,
                name: kernel.name.clone(),
                op: String::new(),
                kind: kernel.kind,
                grid,
                block,
                smem: u64::from(shared.unwrap_or(0)),
                regs: None,
                flops: 0,
                mnk: None,
                reads,
                writes,
                traffic: None,
                dur_ns: None,
                stream: 0,
                part: None,
                est: shared
                    .is_none()
                    .then_some("smem")
                    .into_iter()
                    .chain(["flops"])
                    .map(String::from)
                    .collect(),
            })
        });
    }

    /// Whether this is no callback and no body, for which the runtime waits.
    fn may_wait(&self) -> Result<(), Error> {
        if self.shared.is_served_here() { Err(Error::Reentrant) } else { Ok(()) }
    }

    /// Waits where the queue is full.
    #[inline]
    fn make_room(&mut self) -> Result<(), Error> {
        let Some(producer) = self.producer.as_mut().filter(|_| !self.shared.gone.load(Ordering::Relaxed))
        else {
            return Err(Error::SchedulerGone);
        };
        if !producer.is_full() {
            return Ok(());
        }
        self.wait_for_room()
    }

    #[cold]
    fn wait_for_room(&mut self) -> Result<(), Error> {
        self.may_wait()?;
        let Some(producer) = &self.producer else { return Err(Error::SchedulerGone) };
        // Until half of it is free: else both threads would sleep and wake for each launch. But the scheduler may take no more before the
        // application has gone on.
        let enough = || {
            if self.shared.stalled.load(Ordering::Acquire) {
                1
            } else {
                producer.buffer().capacity().div_ceil(2)
            }
        };
        let shared = &self.shared;
        shared.to_scheduler.wake();
        shared.to_host.wait(PATIENCE, || producer.slots() >= enough() || shared.gone.load(Ordering::Acquire));
        // A queue that the scheduler has left for ever stays full.
        if producer.is_full() { Err(Error::SchedulerGone) } else { Ok(()) }
    }

    /// Puts something at the end of the queue; waits where it is full.
    #[inline]
    fn submit(&mut self, submission: Submission) -> Result<(), Error> {
        self.make_room()?;
        let pushed = self.producer.as_mut().map(|producer| producer.push(submission));
        if !matches!(pushed, Some(Ok(()))) {
            return Err(Error::SchedulerGone);
        }
        self.shared.to_scheduler.wake();
        self.submitted += 1;
        Ok(())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // The scheduler sees a queue that nobody fills any more, and ends when all is done.
        self.producer = None;
        self.shared.to_scheduler.wake();
        // A callback or a body cannot wait for that.
        if let Some(thread) = self.thread.take().filter(|_| !self.shared.is_served_here()) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_scheduler_that_is_gone() {
        let mut rt = Runtime::builder().executor(Immediate).build().unwrap();
        let kernel = rt.register(Kernel::new("k").write("x")).unwrap();
        let x = rt.buffer::<f32>(4).unwrap();
        // It ends as with its runtime, and leaves a launch behind.
        rt.producer = None;
        rt.shared.to_scheduler.wake();
        rt.thread.take().unwrap().join().unwrap();
        let (producer, _consumer) = RingBuffer::new(2);
        rt.producer = Some(producer);
        rt.submitted += 1;
        rt.tickets += 1;
        let last = Ticket(rt.tickets - 1);
        assert_eq!(rt.is_done(last), Ok(false));
        let told = [
            rt.launch(kernel, 1, 1, args![x]).err(),
            rt.read(x).err(),
            rt.write(x, &[0.0; 4]).err(),
            rt.wait(last).err(),
            rt.wait_timeout(last, Duration::from_secs(60)).err(),
            rt.synchronize().err(),
            rt.release(x).err(),
        ];
        assert_eq!(told, [const { Some(Error::SchedulerGone) }; 7]);
    }
}

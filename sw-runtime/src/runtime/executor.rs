//! Where kernels run: the interface, and an executor that runs nothing.

use super::Ticket;
use super::check::Finding;
use super::error::Cause;
use super::kernel::{Access, Kernel};
use super::memory::{Allocator, Arg, ArgKind, ElementKind, HostMemory, Memory, Owner};
use super::scheduler::{Kept, Shared};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Which kernel has ended: given out with a [`Task`], handed back once to [`Completions::complete`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    pub(crate) slot: u16,
    /// The kernel's ticket, so that a token that comes twice is not taken for another kernel's in the same slot.
    pub(crate) serial: u64,
}

impl Token {
    /// Of what is not a kernel.
    pub(crate) const HOST: u64 = u64::MAX;

    /// A number below the size of the runtime's window, which no two kernels in flight share: for tables.
    pub fn slot(&self) -> usize {
        usize::from(self.slot)
    }
}

/// A kernel that may start now.
#[derive(Debug)]
pub struct Task<'a> {
    pub(crate) token: Token,
    pub(crate) ticket: Ticket,
    pub(crate) priority: i32,
    pub(crate) kernel: &'a Arc<Kernel>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) args: &'a [Arg],
    pub(crate) accesses: &'a [Access],
    pub(crate) buffers: &'a super::versions::Buffers,
    pub(crate) kept: &'a [Kept],
    pub(crate) check: bool,
}

impl Task<'_> {
    /// To be given to [`Completions::complete`].
    pub fn token(&self) -> Token {
        self.token
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// CTAs per dimension, and threads of a CTA per dimension.
    pub fn dimensions(&self) -> ([u32; 3], [u32; 3]) {
        (self.grid, self.block)
    }

    /// What the kernel is on a GPU, where its definition says so.
    pub fn cuda(&self) -> Option<&super::CudaKernel> {
        self.kernel.cuda.as_ref()
    }

    /// How many arguments there are.
    pub fn arguments(&self) -> usize {
        self.args.len()
    }

    /// The bits of an argument that is a number, and what they are; `None` for a buffer.
    pub fn value(&self, arg: usize) -> Option<(u64, ElementKind)> {
        match self.args.get(arg)?.0 {
            ArgKind::Value { bits, element } => Some((bits, element)),
            ArgKind::Buffer(_) => None,
        }
    }

    /// Bytes of an argument that is a buffer, also of one that was released; `None` for a number. Where there are none, no memory is
    /// needed.
    pub fn bytes(&self, arg: usize) -> Option<u64> {
        match self.args.get(arg)?.0 {
            ArgKind::Buffer(part) => Some(part.bytes),
            ArgKind::Value { .. } => None,
        }
    }

    /// Memory, first byte and size of an argument that is a buffer, as it was when the kernel was launched; `None` for a number, and where there
    /// are no bytes, also for a buffer that was released.
    pub fn buffer(&self, arg: usize) -> Option<(&Arc<dyn Memory>, u64, u64)> {
        let ArgKind::Buffer(part) = self.args.get(arg)?.0 else { return None };
        let kept = self.kept.iter().find(|(position, _)| *position == arg);
        let memory = kept.map(|(_, memory)| memory).or_else(|| self.buffers.memory(part.buffer))?;
        Some((memory, part.offset, part.bytes))
    }
}

/// What has become of a kernel.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) token: Token,
    /// How long it ran, where the executor knows.
    pub(crate) result: Result<Option<Duration>, Box<Cause>>,
    pub(crate) findings: Box<[Finding]>,
}

impl Completed {
    pub(crate) fn new(token: Token, result: Result<(), Cause>) -> Self {
        Self { token, result: result.map(|()| None).map_err(Box::new), findings: Box::default() }
    }
}

/// Where an executor says what is done; from any thread.
#[derive(Clone, Debug)]
pub struct Completions {
    pub(crate) sender: Sender<Completed>,
    pub(crate) shared: Arc<Shared>,
}

impl Completions {
    /// A kernel has ended, and nobody knows how long it ran; once for each that was started. What comes again is ignored, and
    /// [`Runtime::synchronize`](super::Runtime::synchronize) says so.
    pub fn complete(&self, token: Token, result: Result<(), Cause>) {
        self.send(Completed::new(token, result));
    }

    /// As [`complete`](Self::complete), of a kernel that did what it should and ran so long: without what it waited for before, such as
    /// being compiled. A recording keeps the time where no other kernel was in flight meanwhile.
    pub fn complete_timed(&self, token: Token, ran: Duration) {
        self.send(Completed { result: Ok(Some(ran)), ..Completed::new(token, Ok(())) });
    }

    pub(crate) fn send(&self, completed: Completed) {
        // Where nobody receives, the runtime is gone, and nobody wants to know.
        let _ = self.sender.send(completed);
        self.shared.to_scheduler.wake();
    }
}

/// What starting a kernel led to.
#[derive(Debug)]
pub enum Started {
    /// It runs; [`Completions::complete`] will be called.
    Running,
    /// It has ended already; [`Completions::complete`] will not be called.
    Ended(Result<(), Cause>),
}

/// Where kernels run. Lives on the scheduler's thread; what takes long belongs on others.
pub trait Executor: Send {
    /// Its name, for records.
    fn name(&self) -> String;

    /// Kernels that it wants at once, at least 1: more wait in the window, where priorities count.
    fn concurrency(&self) -> usize;

    /// Its memory.
    fn allocator(&self) -> Arc<dyn Allocator>;

    /// Called once, before the first kernel.
    fn connect(&mut self, completions: Completions);

    /// Starts a kernel, whose hazards have all been met.
    fn start(&mut self, task: Task<'_>) -> Started;

    /// Kernels that it takes beyond those of [`concurrency`](Self::concurrency) before what they wait for has ended, as a GPU does with its
    /// streams: a dependence is then no round trip through the host. 0 where it takes none.
    ///
    /// None are given to it where a schedule is serial, recorded, replayed or checked.
    fn ahead(&self) -> usize {
        0
    }

    /// The runtime has nothing more to give for now: what was held back, to be told to a device together, is held back no longer.
    fn flush(&mut self) {}

    /// Takes a kernel that must not begin before the `upstream` kernels have ended: each was given to it before, and it may have said meanwhile
    /// that it has ended. Called only where [`ahead`](Self::ahead) says so. Ends may be told in any order. What comes after a kernel that
    /// fails counts as failed, even if it ran.
    fn start_behind(&mut self, task: Task<'_>, upstream: &[Token]) -> Started {
        let _ = (task, upstream);
        Started::Ended(Err(Cause::Executor("it takes no kernel ahead".into())))
    }
}

/// One that was chosen at run time.
impl<E: Executor + ?Sized> Executor for Box<E> {
    fn name(&self) -> String {
        (**self).name()
    }
    fn concurrency(&self) -> usize {
        (**self).concurrency()
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        (**self).allocator()
    }
    fn connect(&mut self, completions: Completions) {
        (**self).connect(completions);
    }
    fn start(&mut self, task: Task<'_>) -> Started {
        (**self).start(task)
    }
    fn ahead(&self) -> usize {
        (**self).ahead()
    }
    fn flush(&mut self) {
        (**self).flush();
    }
    fn start_behind(&mut self, task: Task<'_>, upstream: &[Token]) -> Started {
        (**self).start_behind(task, upstream)
    }
}

/// Ends each kernel at once without running it: what is left is the cost of the runtime itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Immediate;

impl Executor for Immediate {
    fn name(&self) -> String {
        "immediate".into()
    }
    fn concurrency(&self) -> usize {
        usize::MAX
    }
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(HostAllocator)
    }
    fn connect(&mut self, _: Completions) {}
    fn start(&mut self, _: Task<'_>) -> Started {
        Started::Ended(Ok(()))
    }
}

/// Memory of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostAllocator;

impl Allocator for HostAllocator {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        Ok(Arc::new(HostMemory::new(elements, element)?))
    }

    unsafe fn import(
        &self,
        first: *mut u8,
        elements: usize,
        element: ElementKind,
        owner: Owner,
    ) -> Result<Arc<dyn Memory>, String> {
        // SAFETY: the caller's.
        Ok(Arc::new(unsafe { HostMemory::import(first, elements, element, owner) }?))
    }
}

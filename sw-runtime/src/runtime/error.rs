//! What a runtime refuses, and how a kernel fails.

use super::Ticket;
use super::memory::ElementKind;
use std::fmt;
use thiserror::Error;

/// What a runtime refuses. Nothing has been launched then, and what was launched before goes on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A window of a size that the hazard engine does not have.
    #[error("a window of {got} kernels; choose {} to {}", windlass_hazards::WINDOW.start(), windlass_hazards::WINDOW.end())]
    Window {
        /// What was asked.
        got: usize,
    },
    /// No room for this many launches between the application and the scheduler.
    #[error("a queue for {got} launches; choose 1 to {max}")]
    Queue {
        /// What was asked.
        got: usize,
        /// The most.
        max: usize,
    },
    /// The operating system gives no thread.
    #[error("no thread for {what}: {reason}; raise the limit on threads, or ask for fewer")]
    Thread {
        /// Whose.
        what: &'static str,
        /// What the system says.
        reason: String,
    },
    /// A kernel that this runtime does not know.
    #[error(
        "this kernel was not registered with this runtime; give its definition to `Runtime::register` first"
    )]
    UnknownKernel,
    /// A buffer that this runtime does not have.
    #[error("this buffer is not of this runtime, or was released; make it with `Runtime::buffer`")]
    UnknownBuffer,
    /// Too many or too few arguments.
    #[error("kernel {kernel} takes {takes} arguments, and was given {given}")]
    Arguments {
        /// Its name.
        kernel: String,
        /// Parameters.
        takes: usize,
        /// Arguments.
        given: usize,
    },
    /// A buffer where a value is wanted, or the other way round.
    #[error("argument {position} ({name}) of kernel {kernel} is to be a {wanted}")]
    ArgumentKind {
        /// The kernel's name.
        kernel: String,
        /// From 0.
        position: usize,
        /// The parameter's name.
        name: String,
        /// `buffer` or `value`.
        wanted: &'static str,
    },
    /// An argument of another type than its parameter was declared with.
    #[error(
        "argument {position} ({name}) of kernel {kernel} is declared as {wanted}, and was given as {given}; {}",
        remedy(*buffer, *wanted)
    )]
    ArgumentType {
        /// The kernel's name.
        kernel: String,
        /// From 0.
        position: usize,
        /// The parameter's name.
        name: String,
        /// What it was declared with.
        wanted: ElementKind,
        /// What the launch has.
        given: ElementKind,
        /// Whether it is a buffer.
        buffer: bool,
    },
    /// The closure that says what a launch accesses panicked.
    #[error("the access closure of kernel {kernel} panicked: {reason}; correct it")]
    AccessPanicked {
        /// The kernel's name.
        kernel: String,
        /// What the panic said.
        reason: String,
    },
    /// No CTA, no thread, or more CTAs than are counted.
    #[error(
        "kernel {kernel}: a grid of {grid:?} CTAs of {block:?} threads; each dimension is at least 1, and there are fewer than 2^63 CTAs"
    )]
    Dimensions {
        /// The kernel's name.
        kernel: String,
        /// CTAs.
        grid: [u32; 3],
        /// Threads.
        block: [u32; 3],
    },
    /// A buffer of nothing, or larger than memory is.
    #[error(
        "a buffer of {elements} elements of {element}; choose at least 1, and at most {} bytes",
        super::MAX_BUFFER_BYTES
    )]
    BufferSize {
        /// What was asked.
        elements: usize,
        /// Of this kind.
        element: ElementKind,
    },
    /// A recording gives each buffer addresses of its own, and has none left.
    #[error(
        "a recording has no addresses left for {bytes} bytes more: there are 2^53 in all, and each is given once; make a new runtime, or do not record"
    )]
    NoAddresses {
        /// What was asked.
        bytes: u64,
    },
    /// More buffers than the hazard engine has room for. One that was released counts until its last user has ended.
    #[error(
        "no room for one more buffer: there are at most {most}, where one of more than 2 GiB counts once for each 2 GiB or part of it; release buffers and synchronise, or make one of many and use views"
    )]
    TooManyBuffers {
        /// How many there may be.
        most: u64,
    },
    /// There is no such memory, on the device or, to read into, on the host.
    #[error("no memory for {bytes} bytes: {reason}; release buffers, or read fewer bytes at a time")]
    OutOfMemory {
        /// What was asked.
        bytes: u64,
        /// What the executor says, or the host.
        reason: String,
    },
    /// Memory of others that cannot be a buffer.
    #[error("these {bytes} bytes cannot be a buffer: {reason}")]
    Import {
        /// How many.
        bytes: u64,
        /// What the executor says, or who has them.
        reason: String,
    },
    /// The device did not copy. It may not work any more.
    #[error("{bytes} bytes were not copied, for the device failed: {reason}")]
    Device {
        /// How many.
        bytes: u64,
        /// What the executor says.
        reason: String,
    },
    /// A handle that says other elements than its buffer has.
    #[error(
        "elements of {wanted} in a buffer of {found} ({what}); give the handle the type that the buffer was made with"
    )]
    ElementType {
        /// What the buffer was made with.
        found: ElementKind,
        /// What the handle says.
        wanted: ElementKind,
        /// Which argument of which kernel.
        what: String,
    },
    /// Elements past a buffer's end.
    #[error("{bytes} bytes from offset {offset} are past the end of a buffer of {size} bytes{}", .what.as_ref().map(|w| format!(" ({w})")).unwrap_or_default())]
    OutOfBounds {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Of the buffer, or of the argument.
        size: u64,
        /// Which argument of which kernel.
        what: Option<String>,
    },
    /// A range that is none.
    #[error("a range that ends before it begins, or leads out of the view that it was cut from ({what})")]
    Range {
        /// Which argument of which kernel.
        what: String,
    },
    /// The application gives, or has room for, another number of elements than a view has.
    #[error(
        "{given} bytes are given for a view of {view}; give as many elements as the view has, or slice it"
    )]
    Length {
        /// Bytes that the application has.
        given: u64,
        /// Bytes of the view.
        view: u64,
    },
    /// An access that the kernel's parameters do not allow.
    #[error(
        "kernel {kernel} declares a {access} of argument {position}, and its parameter there is {parameter}; correct one of the two"
    )]
    Access {
        /// The kernel's name.
        kernel: String,
        /// What its access closure said.
        access: super::kernel::Mode,
        /// Of this argument, from 0.
        position: usize,
        /// What the parameter is.
        parameter: String,
    },
    /// More ranges than the hazard engine takes: so many that are read, and so many that are written.
    #[error(
        "kernel {kernel} reads, or writes, more than {} ranges; join neighbouring ones, or split the kernel",
        windlass_hazards::MAX_SEGMENTS
    )]
    TooManyRanges {
        /// The kernel's name.
        kernel: String,
    },
    /// More of large buffers than the hazard engine takes at a time.
    #[error(
        "{what} would read, or write, {parts} parts of buffers at a time, and there may be {}: a buffer of more than 2 GiB has one for each 2 GiB; access fewer bytes at a time",
        windlass_hazards::MAX_SEGMENTS
    )]
    TooManyParts {
        /// The kernel, or the host.
        what: String,
        /// How many.
        parts: u64,
    },
    /// A ticket that no launch of this runtime gave.
    #[error(
        "launch {ticket} is not one of the {launched} of this runtime; wait for a ticket that `launch` gave"
    )]
    NotLaunched {
        /// Its number.
        ticket: u64,
        /// How many there were.
        launched: u64,
    },
    /// Kernels failed since the last synchronisation, or the one that was waited for did.
    #[error(transparent)]
    Failed(#[from] Failures),
    /// The launch that was waited for failed, and its cause is not kept any more.
    #[error(
        "launch {ticket} failed; its cause was told by a synchronisation before, or is one of those beyond the first {}",
        Failures::MOST
    )]
    CauseNotKept {
        /// Its number.
        ticket: u64,
    },
    /// The launch that was waited for ended so long ago, and so many have failed since, that nobody knows how.
    #[error(
        "launch {ticket} has ended, and whether it failed is not known any more: very many have failed since; wait sooner, or use a callback"
    )]
    OutcomeNotKept {
        /// Its number.
        ticket: u64,
    },
    /// A callback, or a body on [`Cpu`](super::Cpu), waits for the runtime that runs it: for ever, were it not refused.
    #[error(
        "a callback or a body of this runtime would wait for the runtime, which waits for it; launch there at most as much as the queue holds, and wait elsewhere"
    )]
    Reentrant,
    /// Bytes that a failed kernel, or a failed write of the application's, should have written: that failure, which others may have passed on.
    #[error("these bytes are not valid: {0}; write them again")]
    Poisoned(Box<Failure>),
    /// A [`Waiter`](super::Waiter) of a launch that was refused.
    #[error("there is nothing to wait for: the launch was refused; launch again, with a waiter of its own")]
    Refused,
    /// The scheduler's thread is gone, which is a defect of this library.
    #[error("the scheduler's thread ended: a defect of windlass; please report it")]
    SchedulerGone,
    /// A schedule file that does not hold one.
    #[error("line {line} of the schedule: {problem}")]
    Schedule {
        /// From 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// An executor of the application's own said twice that a kernel has ended. What it says of other kernels may be as wrong.
    #[error(
        "the executor completed kernel {kernel} more than once; a task's token is handed back once, and not at all where `start` returned `Ended`"
    )]
    CompletedTwice {
        /// The kernel, in the order of launches.
        kernel: u64,
    },
    /// The program does not do what the schedule says.
    #[error("the schedule does not fit this program: {0}; the kernels ran on without it")]
    Diverged(String),
    /// Nothing was recorded.
    #[error("this run is not recorded; build the runtime with `record(true)`")]
    NotRecorded,
}

/// How an argument gets the type that it is declared with.
fn remedy(buffer: bool, wanted: ElementKind) -> String {
    if buffer {
        format!("give a buffer of {wanted}")
    } else {
        format!("write the number with its type, as in `1{wanted}`")
    }
}

/// Why a kernel did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// Its body returned an error; on a GPU what gives work to the stream did ([`CudaKernel::enqueue`](super::CudaKernel::enqueue)).
    #[error("{0}")]
    Returned(String),
    /// It panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// It did not run, for it reads what a failed kernel should have written.
    #[error("not run: it reads what launch {} ({name}) should have written", .by.0)]
    Poisoned {
        /// The kernel that failed first.
        by: Ticket,
        /// Its name.
        name: String,
    },
    /// A write of the application's that failed, which is no kernel: what it should have written is not valid.
    #[error("a write of the application's failed: {0}")]
    HostWrite(String),
    /// It did not run, for it reads what a write of the application's should have written.
    #[error("not run: it reads what a write of the application's, which failed, should have written")]
    PoisonedByHost,
    /// The executor cannot run it.
    #[error("the executor cannot run it: {0}")]
    Executor(String),
    /// The hazard engine cannot hold it, even in an empty window.
    #[error("{0}")]
    Hazards(#[from] windlass_hazards::Error),
}

/// A kernel that did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which launch; of an access of the application's the next one.
    pub ticket: Ticket,
    /// The kernel's name; of an access of the application's `host access`.
    pub kernel: String,
    /// Why.
    pub cause: Cause,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            cause @ Cause::HostWrite(_) => write!(f, "before launch {}: {cause}", self.ticket.0),
            cause => write!(f, "launch {} ({}): {cause}", self.ticket.0, self.kernel),
        }
    }
}

impl std::error::Error for Failure {}

/// Kernels that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
pub struct Failures {
    /// In the order in which they were found; at least one, and no more than [`Failures::MOST`].
    pub first: Vec<Failure>,
    /// How many failed after those.
    pub more: u64,
}

impl Failures {
    /// Failures that are kept from one synchronisation to the next. Of those beyond, only the number is known.
    pub const MOST: usize = 1000;

    pub(crate) fn add(&mut self, failure: &Failure) {
        if self.first.len() < Self::MOST {
            self.first.push(failure.clone());
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let shown: Vec<_> = self.first.iter().take(SHOWN).map(ToString::to_string).collect();
        let failed = self.first.len() as u64 + self.more;
        let kernels = if failed == 1 { "kernel" } else { "kernels" };
        write!(f, "{failed} {kernels} failed: {}", shown.join("; "))?;
        match failed.saturating_sub(SHOWN as u64) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

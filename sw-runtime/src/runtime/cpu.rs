//! Runs kernels on threads of this process.

use super::Ticket;
use super::check::{self, Touched};
use super::ctas::{Ctas, Left};
use super::error::{Cause, Error};
use super::executor::{Completed, Completions, Executor, HostAllocator, Started, Task, Token};
use super::guard::{discard, guarded};
use super::kernel::{Access, Cta, Job, JobArg, Mode};
use super::memory::{Allocator, ArgKind, HostMemory};
use super::sms::{Grid, Sms};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Threads, each of which stands for an SM and runs one CTA at a time, of the kernel of the highest priority first. The threads of a CTA are a
/// loop in the kernel's body. They have ended when it has been dropped, as it is with its runtime.
pub struct Cpu {
    sms: Sms,
    completions: Option<Completions>,
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// The most threads that are made: a slip of the finger must not bring the machine down.
pub(crate) const MAX_THREADS: usize = 1024;

impl Cpu {
    /// So many threads, at most 1024; as many as the machine runs at once for 0.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn new(threads: usize) -> Result<Self, Error> {
        if threads > MAX_THREADS {
            let reason = format!("{threads} are more than {MAX_THREADS}");
            return Err(Error::Thread { what: "the cpu executor", reason });
        }
        let sms = Sms::new(threads)
            .map_err(|e| Error::Thread { what: "the cpu executor", reason: e.to_string() })?;
        Ok(Self { sms, completions: None })
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.sms.queue().threads()
    }
}

/// A kernel whose CTAs are being run.
struct Running {
    token: Token,
    ticket: Ticket,
    job: Job,
    /// Not empty where declarations are checked.
    declared: Option<Vec<Access>>,
    ctas: Ctas,
    cause: Mutex<Option<Cause>>,
    completions: Completions,
}

impl Running {
    fn cause(&self) -> MutexGuard<'_, Option<Cause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grid for Running {
    fn work(&self, go_on: &dyn Fn() -> bool) -> bool {
        let Some(body) = &self.job.kernel.body else { return false };
        self.completions.shared.serve();
        // The body's state is its own; what it leaves half done is the failed kernel's output, which is poisoned.
        let run = |index| {
            body(&Cta { job: &self.job, index }).map_err(|error| {
                // Its text and its end are the body's author's, too.
                let text = guarded(|| error.to_string());
                discard(error);
                text.map_or_else(Cause::Panicked, Cause::Returned)
            })
        };
        let failed = |cause| _ = self.cause().get_or_insert(cause);
        let began = match self.ctas.work(run, failed, go_on) {
            Left::Ended(began) => began,
            left => return left == Left::Some,
        };
        // Views that are watched for a check are slower.
        let ran = self.declared.is_none().then(|| began.elapsed());
        let mut result = self.cause().take().map_or(Ok(()), Err);
        let mut findings = Vec::new();
        if let (Some(declared), Ok(())) = (&self.declared, &result) {
            match check::findings(self.ticket, &self.job, declared) {
                Ok(found) => findings = found,
                Err(cause) => result = Err(cause),
            }
        }
        let (result, findings) = (result.map(|()| ran).map_err(Box::new), findings.into());
        self.completions.send(Completed { token: self.token, result, findings });
        false
    }
}

/// CTAs of a grid.
fn ctas(grid: [u32; 3]) -> u64 {
    grid.iter().fold(1, |n, d| n.saturating_mul(u64::from(*d)))
}

fn job(task: &Task<'_>) -> Result<Job, Cause> {
    let arg = |position: usize, before: &[JobArg]| -> Result<JobArg, Cause> {
        match task.args[position].0 {
            ArgKind::Value { bits, element } => Ok(JobArg::Value { bits, element }),
            ArgKind::Buffer(part) => {
                let memory = task.buffer(position).map(|(memory, ..)| memory.clone());
                let memory = memory
                    .and_then(|memory| (memory as Arc<dyn Any + Send + Sync>).downcast::<HostMemory>().ok());
                match &memory {
                    // An empty view needs none.
                    None if part.bytes == 0 => {}
                    None => {
                        let other = format!("the memory of argument {position} is not of this executor");
                        return Err(Cause::Executor(other));
                    }
                    // An allocator of the application's own may have given less than was asked for.
                    Some(memory) => memory.holds(&part).map_err(|problem| {
                        Cause::Executor(format!("the buffer of argument {position}: {problem}"))
                    })?,
                }
                let mode = task.kernel.params.get(position).and_then(|p| p.mode).unwrap_or(Mode::Read);
                let touched = task.check.then(|| Touched::new(&part, memory.as_ref(), before)).transpose()?;
                Ok(JobArg::Buffer { memory, part, mode, touched })
            }
        }
    };
    let mut args = Vec::with_capacity(task.args.len());
    for position in 0..task.args.len() {
        args.push(arg(position, &args)?);
    }
    Ok(Job { kernel: task.kernel.clone(), grid: task.grid, block: task.block, args })
}

impl Executor for Cpu {
    fn name(&self) -> String {
        format!("cpu, {} threads", self.threads())
    }

    fn concurrency(&self) -> usize {
        self.threads()
    }

    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(HostAllocator)
    }

    fn connect(&mut self, completions: Completions) {
        self.completions = Some(completions);
    }

    fn start(&mut self, task: Task<'_>) -> Started {
        let Some(completions) = self.completions.clone() else {
            return Started::Ended(Err(Cause::Executor("it is not connected".into())));
        };
        if task.kernel.body.is_none() {
            return Started::Ended(Err(Cause::Executor("its definition has no body for the CPU".into())));
        }
        let job = match job(&task) {
            Ok(job) => job,
            Err(cause) => return Started::Ended(Err(cause)),
        };
        let ctas = ctas(task.grid);
        let running = Arc::new(Running {
            token: task.token,
            ticket: task.ticket,
            job,
            declared: task.check.then(|| task.accesses.to_vec()),
            ctas: Ctas::new(ctas),
            cause: Mutex::new(None),
            completions,
        });
        self.sms.queue().give(task.priority, ctas, running);
        Started::Running
    }
}

//! What the application reads and writes itself: at once, or started, and done on a thread of its own as soon as it may be.

use super::error::{Cause, Error, Failure};
use super::executor::{Completions, Token};
use super::guard::guarded;
use super::kernel::{Access, Mode};
use super::memory::{Bytes, Element, Memory, View, as_bytes, as_bytes_mut, zeroes};
use super::scheduler::{Shared, Submission};
use super::waiter::{Teller, Waiter};
use super::{Runtime, parts};
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use windlass_hazards::MAX_SEGMENTS;

/// How often a host access that waits asks whether the scheduler's thread still lives.
const IS_IT_GONE: Duration = Duration::from_millis(100);

/// Called on the scheduler's thread once the bytes may be used, or never will be.
pub(crate) type Granted = Box<dyn FnOnce(Grant) + Send>;

/// The right to use some bytes. The window holds it against others until it is used or dropped.
pub(crate) struct Grant {
    /// How that is told; `None` where the window does not hold it.
    to_end: Option<(Token, Completions)>,
    /// Where the bytes are, or what is wrong with them.
    memory: Result<Arc<dyn Memory>, Box<Failure>>,
}

impl Grant {
    pub(crate) fn new(
        to_end: Option<(Token, Completions)>,
        memory: Result<Arc<dyn Memory>, Box<Failure>>,
    ) -> Self {
        Self { to_end, memory }
    }

    fn end(&mut self, result: Result<(), Cause>) {
        if let Some((token, completions)) = self.to_end.take() {
            completions.complete(token, result);
        }
    }

    /// Copies so many bytes, where there are any to be had.
    fn copy(mut self, bytes: u64, copy: impl FnOnce(&dyn Memory) -> Result<(), Error>) -> Result<(), Error> {
        let result = match &self.memory {
            Ok(memory) => guarded(|| copy(&**memory))
                .unwrap_or_else(|panic| Err(device(bytes)(format!("panicked: {panic}")))),
            Err(failure) => Err(Error::Poisoned(failure.clone())),
        };
        self.end(result.as_ref().copied().map_err(|e| Cause::HostWrite(e.to_string())));
        result
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        // Nobody reads or writes; left as it is, it would keep the window, and the runtime's end, waiting for ever.
        self.end(Err(Cause::HostWrite("it was given up".into())));
    }
}

fn device(bytes: u64) -> impl FnOnce(String) -> Error {
    move |reason| Error::Device { bytes, reason }
}

fn check_length(given: usize, view: u64) -> Result<(), Error> {
    let given = given as u64;
    if given == view { Ok(()) } else { Err(Error::Length { given, view }) }
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that makes the copies that were started, in the order in which they may be made.
pub(crate) struct Copier {
    /// `None` while it is being dropped.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Copier {
    fn new(shared: Arc<Shared>) -> Result<Self, Error> {
        let (jobs, given) = channel::<Job>();
        let thread = thread::Builder::new().name("windlass-copies".into()).spawn({
            let shared = shared.clone();
            move || {
                shared.serve();
                for job in given {
                    // What panics there is the application's, and told where it is known of what.
                    let _ = guarded(job);
                }
            }
        });
        let thread = thread.map_err(|e| Error::Thread { what: "copies", reason: e.to_string() })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), shared })
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        // Copies that are still to be granted hold a sender of their own.
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(|_| !self.shared.is_served_here()) {
            let _ = thread.join();
        }
    }
}

/// A copy from a buffer that was started, and the memory that it goes to: made by [`Runtime::start_read`]. Dropped, the copy is made all the same.
pub struct Reading<B> {
    waiter: Waiter,
    /// Filled before the waiter is told.
    to: Arc<Mutex<Option<B>>>,
}

impl<B> fmt::Debug for Reading<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("waiter", &self.waiter).finish_non_exhaustive()
    }
}

impl<B> Reading<B> {
    /// Waits for the copy, without the runtime; what was read.
    ///
    /// # Errors
    /// As [`Waiter::wait`]. After one the memory is gone.
    pub fn wait(self) -> Result<B, Error> {
        self.waiter.wait()?;
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It is there wherever the outcome is good.
        to.ok_or(Error::Refused)
    }

    /// Waits for the same, for a time, as a future, or on other threads.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }
}

impl Runtime {
    /// Reads a view, or a whole buffer, once the kernels that were launched before and write it are done, and all that were launched before
    /// are in the window or have been: it takes a place there as a kernel does. Other kernels run on.
    ///
    /// # Errors
    /// [`Error::Poisoned`] where a kernel that should have written it failed; [`Error::UnknownBuffer`], [`Error::OutOfBounds`],
    /// [`Error::Range`], [`Error::ElementType`], [`Error::TooManyParts`], [`Error::OutOfMemory`], [`Error::Device`] where the device does
    /// not give it, [`Error::SchedulerGone`], [`Error::Reentrant`].
    pub fn read<T: Element>(&mut self, view: impl Into<View<T>>) -> Result<Vec<T>, Error> {
        let part = Bytes::from(&view.into());
        let mut values = self.room_for(&part)?;
        self.read_part(part, as_bytes_mut(&mut values))?;
        Ok(values)
    }

    /// As [`Runtime::read`], into memory of the caller's; after an error, what it holds is not said.
    ///
    /// # Errors
    /// [`Error::Length`] where `values` are not as many as the view has; otherwise as [`Runtime::read`].
    pub fn read_into<T: Element>(&mut self, view: impl Into<View<T>>, values: &mut [T]) -> Result<(), Error> {
        let part = Bytes::from(&view.into());
        self.check_given(&part, size_of_val(values))?;
        self.read_part(part, as_bytes_mut(values))
    }

    /// As [`Runtime::read_into`], into memory that nobody need have written to.
    ///
    /// # Errors
    /// As [`Runtime::read_into`].
    pub fn read_into_uninit<'a, T: Element>(
        &mut self,
        view: impl Into<View<T>>,
        values: &'a mut [MaybeUninit<T>],
    ) -> Result<&'a mut [T], Error> {
        let part = Bytes::from(&view.into());
        self.check_given(&part, size_of_val(values))?;
        // `Memory::read` takes initialised bytes, and may leave some as they are.
        values.fill(MaybeUninit::new(T::default()));
        // SAFETY: all of them have just been written.
        let values = unsafe { values.assume_init_mut() };
        self.read_part(part, as_bytes_mut(values))?;
        Ok(values)
    }

    /// Overwrites a view, or a whole buffer, once the kernels that were launched before and use it are done, and all that were launched
    /// before are in the window or have been. Other kernels run on. Where it fails on the device, the bytes are poisoned: some of them may
    /// be written.
    ///
    /// # Errors
    /// [`Error::Length`] where `values` are not as many as the view has; otherwise as [`Runtime::read`].
    pub fn write<T: Element>(&mut self, view: impl Into<View<T>>, values: &[T]) -> Result<(), Error> {
        let part = Bytes::from(&view.into());
        self.check_given(&part, size_of_val(values))?;
        let copy =
            |memory: &dyn Memory| memory.write(part.offset, as_bytes(values)).map_err(device(part.bytes));
        self.host_access(part, Mode::Write, copy)
    }

    /// As [`Runtime::read`], without waiting: the program goes on, and launches what it likes. It has its place in program order: what is
    /// launched later and overwrites the view does so after the copy. Copies that were started are made by one thread, in
    /// the order in which they may be made.
    ///
    /// ```
    /// # use windlass_runtime::runtime::{Buffer, Error, Runtime};
    /// # fn f(rt: &mut Runtime, y: Buffer<f32>) -> Result<(), Error> {
    /// let reading = rt.start_read(y)?;
    /// // … launches …
    /// let values: Vec<f32> = reading.wait()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Here as [`Runtime::read`] but for [`Error::Poisoned`] and [`Error::Device`], which [`Reading::wait`] tells, and [`Error::Thread`].
    pub fn start_read<T: Element>(&mut self, view: impl Into<View<T>>) -> Result<Reading<Vec<T>>, Error> {
        let view = view.into();
        let to = self.room_for::<T>(&Bytes::from(&view))?;
        self.start_read_into(view, to)
    }

    /// As [`Runtime::start_read`], into memory of the caller's, which [`Reading::wait`] gives back: a `Vec`, a box, or anything else that
    /// is a slice of as many elements as the view has.
    ///
    /// # Errors
    /// [`Error::Length`] where `to` has another length; otherwise as [`Runtime::start_read`].
    pub fn start_read_into<T: Element, B: AsMut<[T]> + Send + 'static>(
        &mut self,
        view: impl Into<View<T>>,
        mut to: B,
    ) -> Result<Reading<B>, Error> {
        let part = Bytes::from(&view.into());
        self.check_part(&part, || "for the host".into())?;
        check_length(size_of_val(to.as_mut()), part.bytes)?;
        let filled = Arc::new(Mutex::new(None));
        let waiter = self.start(part, Mode::Read, {
            let filled = filled.clone();
            move |grant| {
                grant.copy(part.bytes, |memory| {
                    let values = to.as_mut();
                    // It may be another slice than before.
                    check_length(size_of_val(values), part.bytes)?;
                    memory.read(part.offset, as_bytes_mut(values)).map_err(device(part.bytes))
                })?;
                *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
                Ok(())
            }
        })?;
        Ok(Reading { waiter, to: filled })
    }

    /// As [`Runtime::write`], without waiting: `values` are kept until they are copied. What is launched later reads them. With
    /// [`Builder::rename`](super::Builder::rename) a whole buffer is filled while kernels still use its last contents.
    ///
    #[doc = concat!("```\n", include_str!("../../examples/frames.rs"), "\n```")]
    ///
    /// # Errors
    /// Here as [`Runtime::write`] but for [`Error::Device`], which the waiter tells, and [`Error::Thread`]. Kernels that read what was not written fail.
    pub fn start_write<T: Element, B: AsRef<[T]> + Send + 'static>(
        &mut self,
        view: impl Into<View<T>>,
        values: B,
    ) -> Result<Waiter, Error> {
        let part = Bytes::from(&view.into());
        self.check_given(&part, size_of_val(values.as_ref()))?;
        self.start(part, Mode::Write, move |grant| {
            grant.copy(part.bytes, |memory| {
                let values = values.as_ref();
                // It may be another slice than before.
                check_length(size_of_val(values), part.bytes)?;
                memory.write(part.offset, as_bytes(values)).map_err(device(part.bytes))
            })
        })
    }

    /// Memory for the values of a view that is there.
    fn room_for<T: Element>(&self, part: &Bytes) -> Result<Vec<T>, Error> {
        let none = |reason| Error::OutOfMemory { bytes: part.bytes, reason };
        self.check_part(part, || "for the host".into())?;
        let bytes = usize::try_from(part.bytes).map_err(|e| none(e.to_string()))?;
        zeroes(bytes / size_of::<T>()).map_err(|e| none(e.to_string()))
    }

    /// That a view is there, and that so many bytes are given as it has. From C, more may be said to be given than there are: before
    /// that is refused, none is touched.
    fn check_given(&self, part: &Bytes, given: usize) -> Result<(), Error> {
        self.check_part(part, || "for the host".into())?;
        check_length(given, part.bytes)
    }

    fn read_part(&mut self, part: Bytes, to: &mut [u8]) -> Result<(), Error> {
        self.host_access(part, Mode::Read, |memory| memory.read(part.offset, to).map_err(device(part.bytes)))
    }

    fn submit_host(&mut self, part: Bytes, mode: Mode, granted: Granted) -> Result<(), Error> {
        if parts(&part) > MAX_SEGMENTS as u64 {
            return Err(Error::TooManyParts { what: "the host".into(), parts: parts(&part) });
        }
        self.submit(Submission::Host { access: Access { part, mode }, granted })
    }

    /// Copies on this thread, once it may.
    fn host_access(
        &mut self,
        part: Bytes,
        mode: Mode,
        copy: impl FnOnce(&dyn Memory) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.may_wait()?;
        let (sender, granted) = sync_channel(1);
        self.submit_host(part, mode, Box::new(move |grant| _ = sender.send(grant)))?;
        self.shared.host_waits.store(true, Ordering::Release);
        self.shared.to_scheduler.wake();
        let granted = loop {
            // A request that the scheduler's thread left in the queue keeps the channel open for ever.
            match granted.recv_timeout(IS_IT_GONE) {
                Err(RecvTimeoutError::Timeout) if !self.shared.gone.load(Ordering::Acquire) => {}
                granted => break granted,
            }
        };
        self.shared.host_waits.store(false, Ordering::Release);
        granted.map_err(|_| Error::SchedulerGone)?.copy(part.bytes, copy)
    }

    /// Copies on the thread for that, once it may.
    fn start(
        &mut self,
        part: Bytes,
        mode: Mode,
        copy: impl FnOnce(Grant) -> Result<(), Error> + Send + 'static,
    ) -> Result<Waiter, Error> {
        let copier = match &mut self.copier {
            Some(copier) => copier,
            none => none.insert(Copier::new(self.shared.clone())?),
        };
        let jobs = copier.jobs.clone().ok_or(Error::SchedulerGone)?;
        let teller = Teller::default();
        let waiter = teller.waiter();
        teller.launched_on(&self.shared);
        let job = move |grant| teller.tell(copy(grant));
        // Where the thread is gone, which is so only when all is done, the grant is dropped, and the teller.
        self.submit_host(part, mode, Box::new(move |grant| _ = jobs.send(Box::new(move || job(grant)))))?;
        Ok(waiter)
    }
}

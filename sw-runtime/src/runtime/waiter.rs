//! Waits for a launch, a copy or all so far from any thread, without the runtime.

use super::error::Error;
use super::guard::guarded;
use super::scheduler::Shared;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Waits for one launch, one copy, or all so far, without the [`Runtime`](super::Runtime): made by [`Options::waiter`](super::Options::waiter),
/// [`Runtime::start_write`](super::Runtime::start_write), [`Runtime::start_read`](super::Runtime::start_read) and
/// [`Runtime::fence`](super::Runtime::fence). A handle, to be copied at
/// will: any number of threads wait, before the launch and after its end, and all are told the same, also where the runtime is gone by then.
/// It is a future, too, and may be polled again after its end. Where the launch was refused, the outcome is [`Error::Refused`].
#[derive(Clone, Debug)]
pub struct Waiter(Arc<State>);

impl Waiter {
    /// Waits until the launch has retired or failed, and its callback has returned: [`Runtime::is_done`](super::Runtime::is_done) is true
    /// then. Or until the copy is made, or has failed; or until all that was launched before the fence has ended.
    /// Unlike [`Runtime::wait`](super::Runtime::wait), it does not look whether a schedule that is replayed has diverged.
    ///
    /// # Errors
    /// [`Error::Failed`] with its failure, which the next synchronisation tells too; of a copy [`Error::Poisoned`] and [`Error::Device`],
    /// which no synchronisation tells; [`Error::Refused`], [`Error::Reentrant`].
    pub fn wait(&self) -> Result<(), Error> {
        self.wait_until(None).map(|_| ())
    }

    /// The same, for so long at most: whether it has ended.
    ///
    /// # Errors
    /// As [`Waiter::wait`].
    pub fn wait_timeout(&self, time: Duration) -> Result<bool, Error> {
        // A time that has no end is none.
        self.wait_until(Instant::now().checked_add(time))
    }

    /// Whether there is nothing to wait for any more: it has ended, or was refused. Does not wait.
    pub fn is_done(&self) -> bool {
        self.0.lock().outcome.is_some()
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Result<bool, Error> {
        let mut known = self.0.lock();
        loop {
            if let Some(outcome) = &known.outcome {
                return outcome.clone().map(|()| true);
            }
            if Shared::is_served_by(known.runtime) {
                return Err(Error::Reentrant);
            }
            known = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.0.changed.wait(known).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return Ok(false),
                Some(left) => {
                    self.0.changed.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

#[derive(Debug, Default)]
struct State {
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    /// The address of what the runtime's threads share, which is compared and not followed; 0 before the launch.
    runtime: usize,
    outcome: Option<Result<(), Error>>,
    /// Of tasks that wait for it as a future.
    wakers: Vec<Waker>,
}

impl Future for Waiter {
    type Output = Result<(), Error>;

    /// Ready with what [`Waiter::wait`] gives.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut known = self.0.lock();
        if let Some(outcome) = &known.outcome {
            return Poll::Ready(outcome.clone());
        }
        if !known.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            known.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Known> {
        // A waker that panics where it is copied leaves all as it was.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, outcome: Result<(), Error>) {
        let wakers = {
            let mut known = self.lock();
            known.outcome.get_or_insert(outcome);
            std::mem::take(&mut known.wakers)
        };
        self.changed.notify_all();
        // Not under the lock: what wakes may poll at once.
        for waker in wakers {
            let _ = guarded(|| waker.wake());
        }
    }
}

/// Goes with a launch, a copy or a fence, and tells its waiters; dropped without a word, it was refused.
#[derive(Debug, Default)]
pub(crate) struct Teller(Arc<State>);

impl Teller {
    pub(crate) fn waiter(&self) -> Waiter {
        Waiter(self.0.clone())
    }

    /// Who serves that runtime, and waits, waits for itself.
    pub(crate) fn launched_on(&self, runtime: &Shared) {
        self.0.lock().runtime = std::ptr::from_ref(runtime).addr();
        self.0.changed.notify_all();
    }

    pub(crate) fn tell(self, outcome: Result<(), Error>) {
        self.0.end(outcome);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.end(Err(Error::Refused));
    }
}

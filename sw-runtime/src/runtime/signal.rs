//! Sleeps until another thread has put something into a queue; costs the other thread a fence while nobody sleeps.

use super::sync::{AtomicBool, Condvar, Mutex, Ordering, fence};
use std::time::Instant;

/// Looks before a thread sleeps, where the other one is likely to be quick: some microseconds, as long as it takes to sleep and wake.
pub(crate) const PATIENCE: u32 = 100;

/// A moment, well below a microsecond: as many of the processor's own pauses, of some tens of cycles each.
pub(crate) fn pause() {
    (0..16).for_each(|_| std::hint::spin_loop());
}

/// One thread waits, any number wake it. On cache lines of its own, of which processors fetch two at a time: what else changes often
/// would take them away from those who look whether it sleeps.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Signal {
    asleep: AtomicBool,
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Signal {
    pub(crate) fn new() -> Self {
        Self { asleep: AtomicBool::new(false), mutex: Mutex::new(()), condvar: Condvar::new() }
    }

    /// To be called after the change that the sleeper waits for.
    #[inline]
    pub(crate) fn wake(&self) {
        // Either we see that it sleeps, or it sees our change: this fence and the one in `wait` come in some order.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            // It holds the mutex from its last look until it sleeps. Only one of those who see it asleep calls.
            drop(self.mutex.lock());
            self.condvar.notify_one();
        }
    }

    /// Returns once `ready` is true, having looked `patience` times before it sleeps.
    pub(crate) fn wait(&self, patience: u32, ready: impl FnMut() -> bool) {
        self.wait_until(patience, None, ready);
    }

    /// The same, and no longer than until the deadline: whether `ready` was true.
    pub(crate) fn wait_until(
        &self,
        patience: u32,
        deadline: Option<Instant>,
        mut ready: impl FnMut() -> bool,
    ) -> bool {
        for _ in 0..patience {
            if ready() {
                return true;
            }
            pause();
        }
        // Nothing that panics runs under the mutex but `ready`, and nothing is behind it to be left half done.
        let mut guard = self.mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_ready = loop {
            self.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if ready() {
                break true;
            }
            guard = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Some(left) if left.is_zero() => break false,
                Some(left) => {
                    self.condvar.wait_timeout(guard, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
            };
        };
        self.asleep.store(false, Ordering::Relaxed);
        is_ready
    }
}

//! Threads that stand for SMs: each runs one CTA at a time, of the kernel of the highest priority that has any left.

use super::guard::discard;
use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The CTAs of a kernel.
pub(crate) trait Grid: Send + Sync {
    /// Claims CTAs and runs them, as long as there are any and `go_on` says so: whether there may be more.
    fn work(&self, go_on: &dyn Fn() -> bool) -> bool;
}

/// A kernel that more threads may take up.
struct Waiting {
    priority: i32,
    /// Which one of all.
    number: u64,
    /// How many threads.
    hands: usize,
    grid: Arc<dyn Grid>,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Order {
        self.priority.cmp(&other.priority).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

#[derive(Default)]
struct State {
    /// The highest priority first, then the oldest.
    waiting: BinaryHeap<Waiting>,
    given: u64,
    /// Threads that sleep.
    asleep: usize,
    closed: bool,
}

/// What the threads have to do.
pub(crate) struct Queue {
    state: Mutex<State>,
    something: Condvar,
    /// The highest priority that waits; `NOTHING` where nothing does.
    highest: AtomicI64,
    /// Threads that look for something to do, and do not sleep.
    looking: AtomicUsize,
    threads: usize,
}

const NOTHING: i64 = i64::MIN;

/// Looks for something to do before a thread sleeps: less than it takes to be woken.
const LOOKS: u32 = 32;

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that may panic runs under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Has a kernel's CTAs run, of which there are so many. Of those of one priority the one that was given first comes first.
    pub fn give(&self, priority: i32, ctas: u64, grid: Arc<dyn Grid>) {
        let hands = usize::try_from(ctas).unwrap_or(usize::MAX).min(self.threads);
        let mut state = self.lock();
        let number = state.given;
        state.given += 1;
        state.waiting.push(Waiting { priority, number, hands, grid });
        self.changed(state);
    }

    /// What waits has changed. Where something does, and no thread is about to see it, one is woken; it wakes the next, where there is more.
    fn changed(&self, state: MutexGuard<'_, State>) {
        let highest = state.waiting.peek().map_or(NOTHING, |first| first.priority.into());
        self.highest.store(highest, Ordering::Relaxed);
        let wake = highest != NOTHING && state.asleep > 0 && self.looking.load(Ordering::Relaxed) == 0;
        drop(state);
        if wake {
            self.something.notify_one();
        }
    }

    /// A part of the first one that waits; `None` once nothing does, and nothing more will.
    fn take(&self) -> Option<Waiting> {
        self.looking.fetch_add(1, Ordering::Relaxed);
        for _ in 0..LOOKS {
            if self.highest.load(Ordering::Relaxed) != NOTHING {
                break;
            }
            thread::yield_now();
        }
        // Under the lock, so that what is given while it counts is seen below.
        let mut state = self.lock();
        self.looking.fetch_sub(1, Ordering::Relaxed);
        loop {
            let taken = match state.waiting.peek_mut() {
                Some(mut first) if first.hands > 1 => {
                    first.hands -= 1;
                    Some(Waiting { hands: 1, grid: first.grid.clone(), ..*first })
                }
                first => first.map(PeekMut::pop),
            };
            if taken.is_some() {
                self.changed(state);
                return taken;
            }
            if state.closed {
                return None;
            }
            state.asleep += 1;
            state = self.something.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
    }

    /// What each thread does.
    fn run(&self) {
        while let Some(taken) = self.take() {
            let go_on = || self.highest.load(Ordering::Relaxed) <= taken.priority.into();
            if taken.grid.work(&go_on) {
                // It comes again, after what is more urgent.
                let mut state = self.lock();
                state.waiting.push(taken);
                self.changed(state);
            } else {
                // It may be the last that holds an allocator's memory.
                discard(taken);
            }
        }
    }
}

/// The threads. They have ended when this has been dropped, and have run all that they were given: what they run may be held by bodies, or
/// be the code of a library that is to be unloaded.
pub(crate) struct Sms {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Sms {
    /// So many threads; as many as the machine runs at once for 0.
    pub fn new(threads: usize) -> io::Result<Self> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            something: Condvar::new(),
            highest: AtomicI64::new(NOTHING),
            looking: AtomicUsize::new(0),
            threads,
        });
        // Dropped, where there are not as many to be had.
        let mut sms = Self { queue, threads: Vec::with_capacity(threads) };
        for n in 0..threads {
            let queue = sms.queue.clone();
            let sm = thread::Builder::new().name(format!("windlass-sm-{n}"));
            sms.threads.push(sm.spawn(move || queue.run())?);
        }
        Ok(sms)
    }

    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl Drop for Sms {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.something.notify_all();
        // One of them may drop its own runtime.
        let here = thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != here) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;

    /// A call per CTA.
    struct Calls<F> {
        left: AtomicU64,
        call: F,
    }

    impl<F: Fn(u64) + Send + Sync> Grid for Calls<F> {
        fn work(&self, go_on: &dyn Fn() -> bool) -> bool {
            loop {
                let next = |left: u64| left.checked_sub(1);
                let Ok(left) = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) else {
                    return false;
                };
                (self.call)(left);
                if !go_on() {
                    return true;
                }
            }
        }
    }

    fn calls(ctas: u64, call: impl Fn(u64) + Send + Sync + 'static) -> Arc<dyn Grid> {
        Arc::new(Calls { left: AtomicU64::new(ctas), call })
    }

    #[test]
    fn the_highest_priority_goes_first_also_between_two_ctas_of_another() {
        let sms = Sms::new(1).unwrap();
        let (tell, told) = channel();
        let note = |what: &'static str| {
            let tell = tell.clone();
            move |_| tell.send(what).unwrap()
        };
        let (noted, queue) = (note("low"), sms.queue().clone());
        let [more, most, equal] = [note("more"), note("most"), note("equal")];
        let low = calls(3, move |left| {
            noted(left);
            if left == 3 {
                queue.give(0, 1, calls(1, equal.clone()));
                queue.give(1, 2, calls(2, more.clone()));
                queue.give(2, 1, calls(1, most.clone()));
            }
        });
        sms.queue().give(0, 3, low);
        drop((tell, sms));
        assert_eq!(told.iter().collect::<Vec<_>>(), ["low", "most", "more", "more", "low", "low", "equal"]);
    }

    #[test]
    fn all_that_was_given_runs_before_the_threads_end() {
        let ran = Arc::new(AtomicU64::new(0));
        for threads in [1, 3] {
            let sms = Sms::new(threads).unwrap();
            for n in 0..200 {
                let (ran, queue) = (ran.clone(), sms.queue().clone());
                let kernel = calls(n % 7 + 1, move |left| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    if left == 1 {
                        let ran = ran.clone();
                        queue.give(1, 1, calls(1, move |_| _ = ran.fetch_add(1 << 32, Ordering::Relaxed)));
                    }
                });
                sms.queue().give((n % 3) as i32, n % 7 + 1, kernel);
            }
            drop(sms);
            let ctas: u64 = (0..200).map(|n| n % 7 + 1).sum();
            assert_eq!(ran.swap(0, Ordering::Relaxed), 200 << 32 | ctas, "{threads} threads");
        }
    }
}

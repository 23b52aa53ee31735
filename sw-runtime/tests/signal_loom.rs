//! The interleavings of a sleeper and those that wake it (loom): no wake-up is lost.

mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, Ordering, fence};
    pub(super) use loom::sync::{Condvar, Mutex};
}

#[allow(dead_code, reason = "the patience is not for loom")]
#[path = "../src/runtime/signal.rs"]
mod signal;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use signal::Signal;

/// At most two preemptions in a run: without a bound, three threads take five minutes (and have passed).
fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

#[test]
fn a_change_before_a_wake_is_never_slept_through() {
    model(|| {
        let (signal, queue) = (Arc::new(Signal::new()), Arc::new(AtomicUsize::new(0)));
        let other = {
            let (signal, queue) = (signal.clone(), queue.clone());
            thread::spawn(move || {
                queue.store(1, Ordering::Release);
                signal.wake();
            })
        };
        // loom reports a deadlock where this sleeps for ever.
        signal.wait(0, || queue.load(Ordering::Acquire) == 1);
        other.join().unwrap();
    });
}

#[test]
fn two_threads_wake_one() {
    model(|| {
        let (signal, queue) = (Arc::new(Signal::new()), Arc::new(AtomicUsize::new(0)));
        let other = {
            let (signal, queue) = (signal.clone(), queue.clone());
            thread::spawn(move || {
                queue.fetch_add(1, Ordering::Release);
                signal.wake();
            })
        };
        let another = {
            let (signal, queue) = (signal.clone(), queue.clone());
            thread::spawn(move || {
                queue.fetch_add(1, Ordering::Release);
                signal.wake();
            })
        };
        signal.wait(0, || queue.load(Ordering::Acquire) == 2);
        other.join().unwrap();
        another.join().unwrap();
    });
}

/// As a runtime and its scheduler: each waits for the other in turn.
#[test]
fn two_sleepers_take_turns() {
    model(|| {
        let (there, back) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
        let (asked, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let scheduler = {
            let (there, back) = (there.clone(), back.clone());
            let (asked, answered) = (asked.clone(), answered.clone());
            thread::spawn(move || {
                there.wait(0, || asked.load(Ordering::Acquire) == 1);
                answered.store(1, Ordering::Release);
                back.wake();
            })
        };
        asked.store(1, Ordering::Release);
        there.wake();
        back.wait(0, || answered.load(Ordering::Acquire) == 1);
        scheduler.join().unwrap();
    });
}

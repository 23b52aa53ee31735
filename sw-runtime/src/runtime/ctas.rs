//! The CTAs of a running kernel, shared out among the threads that run it.

use super::error::Cause;
use super::guard::guarded;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// CTAs that threads claim one by one.
#[derive(Debug)]
pub(crate) struct Ctas {
    count: u64,
    /// The next to be claimed.
    next: AtomicU64,
    ended: AtomicU64,
    /// When the first of them began.
    began: OnceLock<Instant>,
}

impl Ctas {
    /// So many, at least one and fewer than 2^63.
    pub(crate) fn new(count: u64) -> Self {
        Self { count, next: AtomicU64::new(0), ended: AtomicU64::new(0), began: OnceLock::new() }
    }

    /// Claims CTAs and runs them, as long as there are any and `go_on` says so. One that fails, or panics, is told to `failed`, and those
    /// that nobody has claimed then do not run. Of all calls, the one with which the last CTA ended gets when the first began.
    pub(crate) fn work(
        &self,
        run: impl Fn(u64) -> Result<(), Cause>,
        failed: impl Fn(Cause),
        go_on: impl Fn() -> bool,
    ) -> Left {
        let mut began = None;
        loop {
            // Saturation is out of reach: fewer than 2^63 CTAs, and an excess claim per thread and call.
            let cta = self.next.fetch_add(1, Ordering::Relaxed);
            if cta >= self.count {
                return Left::Nothing;
            }
            let began = *began.get_or_insert_with(|| *self.began.get_or_init(Instant::now));
            let mut ended = 1;
            if let Err(cause) = guarded(|| run(cta)).unwrap_or_else(|panic| Err(Cause::Panicked(panic))) {
                failed(cause);
                // Of a large grid, one by one would take for ever.
                ended += self.count.saturating_sub(self.next.swap(self.count, Ordering::Relaxed));
            }
            // What the CTAs wrote comes before what starts after them.
            if self.ended.fetch_add(ended, Ordering::AcqRel) + ended == self.count {
                return Left::Ended(began);
            }
            if !go_on() {
                return Left::Some;
            }
        }
    }
}

/// What a thread leaves of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// CTAs that nobody has claimed, perhaps.
    Some,
    /// None but those that others run.
    Nothing,
    /// All have ended, the last one here; the first began then.
    Ended(Instant),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::thread;

    #[test]
    fn every_cta_runs_once_and_one_call_gets_the_end() {
        let (ctas, runs) = (Ctas::new(1000), AtomicU64::new(0));
        let work = || {
            let run = |cta| {
                runs.fetch_add(1 + cta, Ordering::Relaxed);
                Ok(())
            };
            ctas.work(run, |cause| panic!("{cause}"), || true)
        };
        let ends = thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(work));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .filter(|left| matches!(left, Left::Ended(_)))
                .count()
        });
        assert_eq!((ends, runs.into_inner()), (1, 1000 * 1001 / 2));
    }

    #[test]
    fn a_thread_that_is_called_away_leaves_the_rest() {
        let (ctas, runs) = (Ctas::new(5), AtomicU64::new(0));
        let run = |_| {
            runs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        for before in 0..4 {
            assert_eq!(runs.load(Ordering::Relaxed), before);
            assert_eq!(ctas.work(run, |_| {}, || false), Left::Some);
        }
        assert!(matches!(ctas.work(run, |_| {}, || false), Left::Ended(_)));
        assert_eq!(ctas.work(run, |_| {}, || false), Left::Nothing);
    }

    #[test]
    fn nothing_is_claimed_after_a_failure() {
        for fail in [|| Err(Cause::Returned("no".into())), || panic!("no")] {
            let (ctas, runs, told) = (Ctas::new(1 << 40), AtomicU64::new(0), Mutex::new(Vec::new()));
            let run = |cta| {
                runs.fetch_add(1, Ordering::Relaxed);
                if cta == 9 { fail() } else { Ok(()) }
            };
            let ended = ctas.work(run, |cause| told.lock().unwrap().push(cause.to_string()), || true);
            assert!(matches!(ended, Left::Ended(_)));
            assert_eq!(ctas.work(run, |_| {}, || true), Left::Nothing);
            assert_eq!(runs.into_inner(), 10);
            assert!(matches!(&told.into_inner().unwrap()[..], [one] if one.ends_with("no")));
        }
    }
}

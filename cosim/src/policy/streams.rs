//! `streams-ace`: ACE-SW. One host thread inserts kernels into a software window; one thread per CUDA stream takes the oldest ready
//! kernel, launches it, waits for its end and retires it. The driver takes one launch at a time, whatever thread it is from.

use super::machine::{Machine, Pending};
use super::{Host, SimError};
use crate::device::Completion;
use crate::profile::Profile;
use std::num::NonZeroUsize;
use windlass_gen::table::counted;
use windlass_runtime::window::SoftwareWindow;

/// What a stream's host thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    Idle,
    /// Launches a kernel or waits for its end.
    Running(usize),
    /// The kernel has ended; the thread knows it from this cycle on.
    Waking(usize, u64),
}

pub(crate) struct StreamsHost {
    launch: u64,
    hazard_check: u64,
    /// End of a kernel to its thread's knowing it.
    wake: u64,
    upstream: Vec<Vec<u32>>,
    window: SoftwareWindow,
    threads: Vec<Thread>,
    section: usize,
    /// The next kernel to be inserted, and the cycle in which its hazards are known, once the check has begun.
    next: usize,
    checked: Option<u64>,
    /// The driver is taken up to this cycle.
    driver: u64,
    pending: Pending,
    retired: usize,
    finished: Option<u64>,
}

impl StreamsHost {
    /// `upstream` is what the host believes; `poll`: threads poll events instead of synchronising with their stream.
    pub fn new(
        profile: &Profile,
        upstream: Vec<Vec<u32>>,
        slots: NonZeroUsize,
        streams: NonZeroUsize,
        poll: bool,
    ) -> Self {
        let host = &profile.host;
        Self {
            launch: profile.cycles(host.launch_ns),
            hazard_check: profile.cycles(host.hazard_check_ns),
            wake: profile.cycles(if poll { host.event_wait_ns } else { host.synchronise_ns }),
            upstream,
            window: SoftwareWindow::new(Some(slots)),
            threads: vec![Thread::Idle; streams.get()],
            section: 0,
            next: 0,
            checked: None,
            driver: 0,
            pending: Pending::default(),
            retired: 0,
            finished: None,
        }
    }

    /// Inserts kernels as far as room, time and the section allow.
    fn insert(&mut self, now: u64, machine: &Machine<'_>) -> Result<(), SimError> {
        let sections = machine.stream.sections();
        loop {
            if sections.get(self.section).is_some_and(|s| self.retired == s.end) {
                self.section += 1;
            }
            let Some(section) = sections.get(self.section) else {
                self.finished = Some(now);
                return Ok(());
            };
            if self.next == section.end || (self.window.is_full() && self.checked.is_none()) {
                return Ok(());
            }
            let checked = *self.checked.get_or_insert(now + self.hazard_check);
            if checked > now {
                return Ok(());
            }
            self.window.insert(self.next as u32, &self.upstream[self.next])?;
            self.checked = None;
            self.next += 1;
        }
    }
}

impl Host for StreamsHost {
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        for completion in done {
            for thread in &mut self.threads {
                if *thread == Thread::Running(completion.kernel) {
                    *thread = Thread::Waking(completion.kernel, now + self.wake);
                }
            }
        }
        for thread in &mut self.threads {
            if let Thread::Waking(kernel, at) = *thread
                && at <= now
            {
                self.window.retire(kernel as u32)?;
                self.retired += 1;
                *thread = Thread::Idle;
            }
        }
        self.insert(now, machine)?;
        for thread in &mut self.threads {
            if *thread == Thread::Idle
                && let Some(kernel) = self.window.next_ready()
            {
                self.window.dispatch(kernel)?;
                self.driver = self.driver.max(now) + self.launch;
                self.pending.push(self.driver, kernel as usize);
                *thread = Thread::Running(kernel as usize);
            }
        }
        self.pending.feed(machine)
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        let waking = self.threads.iter().filter_map(|thread| match thread {
            Thread::Waking(_, at) => Some(*at),
            _ => None,
        });
        waking.chain(self.checked).chain(self.pending.next_event(now)).filter(|at| *at > now).min()
    }

    fn finished_at(&self) -> Option<u64> {
        self.finished
    }

    fn state(&self) -> String {
        let busy = self.threads.iter().filter(|t| **t != Thread::Idle).count();
        format!(
            "section {}: {} in the window, {busy} of {} busy",
            self.section,
            counted(self.window.len(), "kernel"),
            counted(self.threads.len(), "stream")
        )
    }
}

//! ACE-SW as published: a window in software, and a thread per stream that launches one ready kernel and waits for it.

use super::{Meter, Options, RunError};
use crate::run::device::Device;
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use windlass_hazards::Slot;

struct Window<'a> {
    checker: Checker<'a>,
    /// Ready and not launched, oldest first.
    ready: BTreeSet<(u32, u16)>,
    /// The next kernel to be inserted, and one past the last that may be before the host has waited.
    next: usize,
    section: usize,
    launches: u64,
    /// Threads that are there, and whether they may begin.
    arrived: u32,
    begun: bool,
    meter: &'a mut Meter,
    error: Option<RunError>,
}

impl Window<'_> {
    /// Inserts as many kernels as there is room for.
    fn fill(&mut self, program: &Program) -> Result<(), RunError> {
        while let Some(section) = program.sections().get(self.section) {
            if self.next == section.end {
                // The host waits here for everything before.
                if self.checker.len() > 0 {
                    return Ok(());
                }
                self.section += 1;
                continue;
            }
            let Some(slot) = self.checker.insert(self.next as u32)? else { return Ok(()) };
            if self.checker.upstream.is_empty() {
                self.ready.insert((self.next as u32, slot.0));
            }
            self.next += 1;
        }
        Ok(())
    }

    fn is_done(&self, program: &Program) -> bool {
        self.error.is_some() || (self.section == program.sections().len() && self.checker.len() == 0)
    }
}

pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    options: &Options,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let checker = Checker::new(declared, options.window)?;
    let window = Window {
        checker,
        ready: BTreeSet::new(),
        next: 0,
        section: 0,
        launches: 0,
        arrived: 0,
        begun: false,
        meter,
        error: None,
    };
    let (window, changed) = (Mutex::new(window), Condvar::new());
    let lock = || window.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |stream: u32| {
        let mut window = lock();
        window.arrived += 1;
        changed.notify_all();
        while !window.begun {
            window = changed.wait(window).unwrap_or_else(PoisonError::into_inner);
        }
        loop {
            if window.error.is_none()
                && let Err(error) = window.fill(program)
            {
                window.error = Some(error);
            }
            if window.is_done(program) {
                // That the other threads wake up and end is no part of the run.
                window.meter.stop(device);
                changed.notify_all();
                return;
            }
            let Some((kernel, slot)) = window.ready.pop_first() else {
                window = changed.wait(window).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // What this fill made ready is for the others.
            if !window.ready.is_empty() {
                changed.notify_one();
            }
            window.launches += 1;
            drop(window);
            let ran = device.launch(stream, kernel, false).and_then(|()| device.synchronise(stream));
            window = lock();
            let mut ready = std::mem::take(&mut window.ready);
            let retired = window.checker.retire(Slot(slot), |k, s| _ = ready.insert((k, s.0)));
            window.ready = ready;
            if let Err(error) = ran.map_err(RunError::from).and(retired.map_err(RunError::from)) {
                window.error.get_or_insert(error);
            }
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for stream in 0..device.streams() {
            let spawned = std::thread::Builder::new()
                .name(format!("windlass-stream-{stream}"))
                .spawn_scoped(scope, move || work(stream));
            if let Err(error) = spawned {
                let thread = RunError::Thread { what: "a stream", reason: error.to_string() };
                lock().error.get_or_insert(thread);
                break;
            }
        }
        let mut window = lock();
        while window.error.is_none() && window.arrived < device.streams() {
            window = changed.wait(window).unwrap_or_else(PoisonError::into_inner);
        }
        window.meter.start(device);
        // Where there are too few threads, they see the error and end.
        window.begun = true;
        changed.notify_all();
    });
    let mut window = lock();
    window.meter.counts.launches = window.launches;
    window.meter.counts.synchronisations = window.launches;
    window.error.take().map_or(Ok(()), Err)
}

//! Kernels in several streams that wait for each other's events; nothing waits on the host but for room in the window, and at its own syncs.

use super::plan::{Costs, MAX_STREAMS, Planned, Planner};
use super::{Meter, Options, RunError};
use crate::run::device::{Device, DeviceError};
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use rtrb::{Consumer, PushError, RingBuffer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use windlass_hazards::Slot;

/// What a device is told.
#[derive(Clone, Copy, Debug)]
enum Op {
    Launch { stream: u32, kernel: u32, early: bool },
    Record { stream: u32, event: u32 },
    Wait { stream: u32, event: u32 },
    Mark { stream: u32, value: u32 },
}

fn tell(device: &dyn Device, op: Op) -> Result<(), DeviceError> {
    match op {
        Op::Launch { stream, kernel, early } => device.launch(stream, kernel, early),
        Op::Record { stream, event } => device.record(stream, event),
        Op::Wait { stream, event } => device.wait(stream, event),
        Op::Mark { stream, value } => device.mark(stream, value),
    }
}

/// One stream for a stretch of kernels is taken where several would not end sooner than this part of its time: what is expected is not
/// exact, and one stream cannot go wrong.
const WORTH_IT: f64 = 0.97;

/// Where nothing is said of costs, overlap pays.
const FREE: Costs = Costs {
    launch_ns: 0,
    early_launch_ns: 0,
    record_ns: 0,
    wait_ns: 0,
    gap_ns: 0,
    early_gap_ns: 0,
    cross_ns: 0,
};

struct Run<'a> {
    device: &'a dyn Device,
    checker: Checker<'a>,
    planner: Planner,
    /// The same stretch in one stream.
    single: Planner,
    options: &'a Options,
    streams: usize,
    /// Inserted kernels, in program order: all that have not retired.
    flying: Vec<(u32, Slot)>,
    /// Of each stream, the place that it was marked at last.
    marked: Vec<u32>,
    mark_every: u32,
}

impl Run<'_> {
    /// Retires what has ended. A kernel that was seen to end before one that it waits for was seen stays until the next time.
    fn retire(&mut self) -> Result<(), RunError> {
        for stream in 0..self.streams {
            self.planner.saw(stream, self.device.progress(stream as u32));
        }
        let mut kept = 0;
        for n in 0..self.flying.len() {
            let entry = self.flying[n];
            if !(self.planner.has_ended(entry.1) && self.checker.retire(entry.1, |_, _| {})?) {
                self.flying[kept] = entry;
                kept += 1;
            }
        }
        self.flying.truncate(kept);
        Ok(())
    }

    /// Plans kernels from `next` on until `end`, or until there is no room; into `chunk`.
    fn plan(
        &mut self,
        next: &mut usize,
        end: usize,
        chunk: &mut Chunk,
        meter: &mut Meter,
    ) -> Result<(), RunError> {
        chunk.multi.clear();
        chunk.one.clear();
        let compare = self.options.costs.is_some() && self.streams > 1;
        if compare {
            self.single.copy_from(&self.planner);
        }
        let stream = self.single.longest();
        while *next < end && chunk.multi.len() < self.options.lookahead {
            let k = *next as u32;
            let Some(slot) = self.checker.insert(k)? else { break };
            self.flying.push((k, slot));
            let estimate = self.options.estimates.get(*next).copied().unwrap_or_default();
            let upstream = &self.checker.upstream;
            let planned = self.planner.plan((k, slot), upstream, estimate, None, &mut chunk.multi);
            chunk.multi.push(planned);
            if compare {
                let planned = self.single.plan((k, slot), upstream, estimate, Some(stream), &mut chunk.one);
                chunk.one.push(planned);
            }
            *next += 1;
        }
        meter.counts.stretches += u64::from(!chunk.multi.is_empty());
        if compare && !chunk.multi.is_empty() && self.planner.end() >= WORTH_IT * self.single.end() {
            self.planner.copy_from(&self.single);
            std::mem::swap(&mut chunk.multi, &mut chunk.one);
            meter.counts.stretches_in_one_stream += 1;
        }
        Ok(())
    }

    /// Tells what the chunk's kernels need.
    fn emit(
        &mut self,
        chunk: &[Planned],
        meter: &mut Meter,
        emit: &mut dyn FnMut(Op) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        for p in chunk {
            let stream = p.stream;
            for (stream, event) in &p.records_before {
                emit(Op::Record { stream: *stream, event: *event })?;
                meter.counts.records += 1;
            }
            for event in &p.waits {
                emit(Op::Wait { stream, event: *event })?;
                meter.counts.waits += 1;
            }
            emit(Op::Launch { stream, kernel: p.kernel, early: p.early })?;
            meter.counts.launches += 1;
            if p.record {
                emit(Op::Record { stream, event: p.slot.into() })?;
                meter.counts.records += 1;
            }
            if p.place - self.marked[stream as usize] >= self.mark_every {
                self.mark(stream as usize, p.place, meter, emit)?;
            }
        }
        Ok(())
    }

    fn mark(
        &mut self,
        stream: usize,
        place: u32,
        meter: &mut Meter,
        emit: &mut dyn FnMut(Op) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.marked[stream] = place;
        meter.counts.marks += 1;
        emit(Op::Mark { stream: stream as u32, value: place })
    }

    /// All kernels, told to `emit`, which must have told the device all before it returns from a call with `None`.
    fn sections(
        &mut self,
        program: &Program,
        meter: &mut Meter,
        emit: &mut dyn FnMut(Option<Op>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut chunk = Chunk::default();
        let mut polls = 0u32;
        for section in program.sections() {
            let mut next = section.start;
            while next < section.end {
                self.retire()?;
                self.plan(&mut next, section.end, &mut chunk, meter)?;
                if chunk.multi.is_empty() {
                    // No room: everything is marked, and something will end.
                    for stream in 0..self.streams {
                        let place = self.planner.place(stream);
                        if self.marked[stream] < place {
                            self.mark(stream, place, meter, &mut |op| emit(Some(op)))?;
                        }
                    }
                    polls = polls.wrapping_add(1);
                    if polls.is_multiple_of(256) {
                        emit(None)?;
                        for stream in 0..self.streams as u32 {
                            self.device.check(stream)?;
                        }
                    }
                    std::hint::spin_loop();
                } else {
                    self.emit(&chunk.multi, meter, &mut |op| emit(Some(op)))?;
                }
            }
            emit(None)?;
            for stream in 0..self.streams {
                if self.planner.place(stream) > 0 {
                    self.device.synchronise(stream as u32)?;
                    meter.counts.synchronisations += 1;
                    let place = self.planner.place(stream);
                    self.planner.saw(stream, place);
                }
            }
            // In program order each is ready.
            for (_, slot) in std::mem::take(&mut self.flying) {
                self.checker.retire(slot, |_, _| {})?;
            }
        }
        Ok(())
    }
}

/// A stretch of kernels, in several streams and in one.
#[derive(Default)]
struct Chunk {
    multi: Vec<Planned>,
    one: Vec<Planned>,
}

pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    options: &Options,
    early: bool,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let streams = (device.streams() as usize).min(MAX_STREAMS);
    let planner = Planner::new(streams, options.in_flight, options.costs.unwrap_or(FREE), early);
    let mut run = Run {
        device,
        checker: Checker::new(declared, options.in_flight)?,
        single: planner.clone(),
        planner,
        options,
        streams,
        flying: Vec::with_capacity(options.in_flight),
        marked: vec![0; streams],
        mark_every: (options.in_flight / (4 * streams)).max(1) as u32,
    };
    let result = if options.planner_thread {
        with_launcher(&mut run, program, meter)
    } else {
        meter.start();
        run.sections(program, meter, &mut |op| op.map_or(Ok(()), |op| Ok(tell(device, op)?)))
    };
    meter.counts.waits_dropped = run.planner.dropped;
    result
}

/// Plans on this thread while another one launches.
fn with_launcher(run: &mut Run<'_>, program: &Program, meter: &mut Meter) -> Result<(), RunError> {
    let device = run.device;
    let (mut ops, consumer) = RingBuffer::new(4096);
    let ready = AtomicBool::new(false);
    let error: Mutex<Option<DeviceError>> = Mutex::new(None);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let launcher = Launcher { ops: consumer, device, ready: &ready, error: &error, failed: &failed };
        std::thread::Builder::new()
            .name("windlass-launch".into())
            .spawn_scoped(scope, || launcher.run())
            .map_err(|e| RunError::Thread { what: "launching", reason: e.to_string() })?;
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        meter.start();
        let result = run.sections(program, meter, &mut |op| {
            let took = |failed: &AtomicBool| {
                if failed.load(Ordering::Acquire) {
                    let error = error.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return error.map_or(Ok(()), |e| Err(RunError::from(e)));
                }
                Ok(())
            };
            match op {
                Some(op) => {
                    let mut op = op;
                    while let Err(PushError::Full(back)) = ops.push(op) {
                        took(&failed)?;
                        op = back;
                        std::thread::yield_now();
                    }
                    Ok(())
                }
                None => {
                    while ops.slots() < ops.buffer().capacity() {
                        took(&failed)?;
                        std::thread::yield_now();
                    }
                    took(&failed)
                }
            }
        });
        drop(ops);
        result
    })
}

struct Launcher<'a> {
    ops: Consumer<Op>,
    device: &'a dyn Device,
    ready: &'a AtomicBool,
    error: &'a Mutex<Option<DeviceError>>,
    failed: &'a AtomicBool,
}

impl Launcher<'_> {
    fn run(mut self) {
        self.ready.store(true, Ordering::Release);
        let mut idle = 0u32;
        loop {
            let Ok(op) = self.ops.peek().copied() else {
                if self.ops.is_abandoned() {
                    return;
                }
                idle += 1;
                if idle > 1000 {
                    std::thread::yield_now()
                } else {
                    std::hint::spin_loop()
                }
                continue;
            };
            idle = 0;
            if let Err(error) = tell(self.device, op) {
                *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.failed.store(true, Ordering::Release);
                return;
            }
            // Taken out once it is told: an empty queue means that all was told.
            let _ = self.ops.pop();
        }
    }
}

//! Kernels in several streams that wait for each other's events; nothing waits on the host but for room in the window, and at its own syncs.

use super::chains::Chained;
use super::kept::Kept;
use super::plan::{Costs, MAX_STREAMS, Planned, Planner};
use super::{KeptGraphs, Launches, Meter, Options, Overlap, RunError, Silence, Way, serial, subgraphs};
use crate::run::device::{Device, DeviceError, GraphId};
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use windlass_hazards::Slot;

/// What a stream is told; events by the kernel that they come after.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Launch { kernel: u32, early: bool },
    Graph { graph: GraphId },
    Record { kernel: u32 },
    Wait { kernel: u32 },
    Mark { value: u32 },
}

/// Events of a device. Each serves a kernel again once that many later ones have come.
const EVENTS: u32 = 1024;

/// Kernels in flight lie this close together at most, so that no event is recorded anew before all that wait for it have been told to:
/// who waits for a kernel's event is itself in flight until then, and so less than `EVENTS` kernels behind.
const SPAN: u32 = EVENTS / 2;

pub(super) fn tell(device: &dyn Device, stream: u32, op: Op) -> Result<(), DeviceError> {
    match op {
        Op::Launch { kernel, early } => device.launch(stream, kernel, early),
        Op::Graph { graph } => device.launch_graph(stream, graph),
        Op::Record { kernel } => device.record(stream, kernel % EVENTS),
        Op::Wait { kernel } => device.wait(stream, kernel % EVENTS),
        Op::Mark { value } => device.mark(stream, value),
    }
}

/// What takes what streams are told.
pub(super) trait Teller {
    /// Something for a stream.
    fn tell(&mut self, stream: u32, op: Op) -> Result<(), RunError>;

    /// Nothing that was told is held back any longer.
    fn flush(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Returns when the device has been told all.
    fn finish(&mut self) -> Result<(), RunError>;
}

/// Tells it at once.
pub(super) struct Direct<'a>(pub(super) &'a dyn Device);

impl Teller for Direct<'_> {
    fn tell(&mut self, stream: u32, op: Op) -> Result<(), RunError> {
        Ok(tell(self.0, stream, op)?)
    }

    fn finish(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}

/// One stream for a stretch of kernels is taken where several would not end sooner than this part of the stretch's time: what is expected is
/// not exact, and one stream cannot go wrong.
const WORTH_IT: f64 = 0.93;

struct Run<'a> {
    device: &'a dyn Device,
    checker: Checker<'a>,
    planner: Planner,
    /// The same stretch in one stream.
    single: Planner,
    options: &'a Options,
    /// Whether several streams are compared with one.
    compare: bool,
    streams: usize,
    /// Inserted kernels, in program order: all that have not retired.
    flying: Vec<(u32, Slot)>,
    /// Of each stream, the place that it was marked at last.
    marked: Vec<u32>,
    /// Kernels told since streams were marked.
    unmarked: usize,
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
        let compare = self.compare;
        if compare {
            self.single.copy_from(&self.planner);
        }
        let (stream, before) = (self.single.longest(), self.single.end());
        while *next < end {
            let k = *next as u32;
            if self.flying.first().is_some_and(|(oldest, _)| k - oldest >= SPAN) {
                break;
            }
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
        let one_takes = self.single.end() - before;
        if compare && !chunk.multi.is_empty() && self.planner.end() - before >= WORTH_IT * one_takes {
            self.planner.copy_from(&self.single);
            std::mem::swap(&mut chunk.multi, &mut chunk.one);
            meter.counts.stretches_in_one_stream += 1;
        }
        Ok(())
    }

    /// Tells what the chunk's kernels need.
    fn tell(&mut self, chunk: &[Planned], meter: &mut Meter, to: &mut dyn Teller) -> Result<(), RunError> {
        for p in chunk {
            let stream = p.stream;
            for (stream, kernel) in &p.records_before {
                to.tell(*stream, Op::Record { kernel: *kernel })?;
                meter.counts.records += 1;
            }
            for kernel in &p.waits {
                to.tell(stream, Op::Wait { kernel: *kernel })?;
                meter.counts.waits += 1;
            }
            to.tell(stream, Op::Launch { kernel: p.kernel, early: p.early })?;
            meter.counts.launches += 1;
            if p.record {
                to.tell(stream, Op::Record { kernel: p.kernel })?;
                meter.counts.records += 1;
            }
        }
        to.flush()?;
        // A mark takes a stream as long as a kernel that does nothing: no more of them than keep the window from running full.
        self.unmarked += chunk.len();
        if self.unmarked >= self.options.in_flight / 2 {
            self.mark_all(meter, to)?;
        }
        Ok(())
    }

    /// Marks the last kernel of each stream that has new ones.
    fn mark_all(&mut self, meter: &mut Meter, to: &mut dyn Teller) -> Result<(), RunError> {
        self.unmarked = 0;
        for stream in 0..self.streams {
            let place = self.planner.place(stream);
            if self.marked[stream] < place {
                self.marked[stream] = place;
                meter.counts.marks += 1;
                to.tell(stream as u32, Op::Mark { value: place })?;
            }
        }
        Ok(())
    }

    /// All kernels.
    fn sections(
        &mut self,
        program: &Program,
        meter: &mut Meter,
        to: &mut dyn Teller,
    ) -> Result<(), RunError> {
        let mut chunk = Chunk::default();
        let (mut polls, mut silence) = (0u32, Silence::new());
        // The first kernel is launched at once; later ones are planned while it runs.
        let mut lookahead = 1;
        for section in program.sections() {
            let mut next = section.start;
            while next < section.end {
                self.retire()?;
                let end = section.end.min(next.saturating_add(lookahead));
                lookahead = self.options.lookahead.min(lookahead.saturating_mul(2));
                self.plan(&mut next, end, &mut chunk, meter)?;
                if chunk.multi.is_empty() {
                    // No room: everything is marked, and something will end.
                    self.mark_all(meter, to)?;
                    polls = polls.wrapping_add(1);
                    if polls == 1 {
                        silence.broken();
                    }
                    if polls.is_multiple_of(256) {
                        to.finish()?;
                        if let Some((_, slot)) = self.flying.first() {
                            silence.watch(self.device, self.planner.stream(*slot))?;
                        }
                    }
                    std::hint::spin_loop();
                } else {
                    polls = 0;
                    self.tell(&chunk.multi, meter, to)?;
                }
            }
            to.finish()?;
            for stream in 0..self.streams {
                let place = self.planner.place(stream);
                if place > 0 {
                    self.device.synchronise(stream as u32)?;
                    meter.counts.synchronisations += 1;
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
    way: Way,
    kept: &mut KeptGraphs,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let early = kept.early;
    if way.overlap != Overlap::Never && way.launches == Launches::Subgraphs {
        return subgraphs::run(device, program, declared, options, way.streams, &mut kept.subgraphs, meter);
    }
    let mut chains = (way.launches != Launches::Kernels).then_some(&mut kept.chains);
    if way.overlap == Overlap::Never {
        // Nothing is left to find out: no hazards, no other thread.
        match &mut chains {
            Some(chains) => {
                let mut direct = Direct(device);
                let mut chained = Chained::new(chains, 1, &mut direct);
                serial::run(device, program, early, options.lookahead, &mut chained, meter)?;
                meter.counts.kept_graphs = chained.told;
            }
            None => serial::run(device, program, early, 1, &mut Direct(device), meter)?,
        }
        meter.stop(device);
        if let Some(costs) = options.costs {
            let mut planner = Planner::new(1, 1, 0, costs, early, chains.is_some());
            let mut chunk: Vec<Planned> = Vec::new();
            for (k, estimate) in options.estimates.iter().enumerate() {
                if k.is_multiple_of(options.lookahead) {
                    chunk.clear();
                }
                let planned = planner.plan((k as u32, Slot(0)), &[], *estimate, Some(0), &mut chunk);
                chunk.push(planned);
            }
            meter.counts.expected_ns = planner.end() as u64;
        }
        return Ok(());
    }
    let streams = (device.streams() as usize).min(way.streams).clamp(1, MAX_STREAMS);
    let launchers = options.launchers.min(streams);
    let costs = options.costs.unwrap_or(Costs::FREE);
    let planner = Planner::new(streams, options.in_flight, launchers, costs, early, chains.is_some());
    let mut run = Run {
        device,
        checker: Checker::new(declared, options.in_flight)?,
        single: planner.clone(),
        planner,
        options,
        compare: way.overlap == Overlap::WhereItPays && options.costs.is_some() && streams > 1,
        streams,
        flying: Vec::with_capacity(options.in_flight),
        marked: vec![0; streams],
        unmarked: 0,
    };
    let result = if launchers > 0 {
        with_launchers(launchers, &mut run, program, chains, meter)
    } else {
        meter.start(device);
        in_turn(&mut run, program, chains, meter, &mut Direct(device))
    };
    meter.counts.waits_dropped = run.planner.dropped;
    if options.costs.is_some() {
        meter.counts.expected_ns = run.planner.end() as u64;
    }
    result
}

/// All kernels, one by one or in chains.
fn in_turn(
    run: &mut Run<'_>,
    program: &Program,
    chains: Option<&mut Kept>,
    meter: &mut Meter,
    to: &mut dyn Teller,
) -> Result<(), RunError> {
    match chains {
        Some(chains) => {
            let mut chained = Chained::new(chains, run.streams, to);
            let result = run.sections(program, meter, &mut chained);
            meter.counts.kept_graphs = chained.told;
            result
        }
        None => run.sections(program, meter, to),
    }
}

/// What launching threads share.
struct Shared<'a> {
    device: &'a dyn Device,
    /// Of each event, one more than the kernel after which it was recorded last.
    recorded: Vec<AtomicU32>,
    ready: AtomicUsize,
    failed: AtomicBool,
    error: Mutex<Option<DeviceError>>,
}

impl Shared<'_> {
    fn fail(&self, error: DeviceError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    fn check(&self) -> Result<(), RunError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        error.map_or(Ok(()), |e| Err(e.into()))
    }

    /// Tells a device what comes through the queue, until nobody puts anything in any more.
    fn launch(&self, mut ops: Consumer<(u32, Op)>) {
        // What a thread's first call to the driver costs belongs to no run.
        if let Err(error) = self.device.check(0) {
            self.fail(error);
        }
        self.ready.fetch_add(1, Ordering::AcqRel);
        let mut patience = Patience::default();
        while !self.failed.load(Ordering::Relaxed) {
            let Ok((stream, op)) = ops.peek().copied() else {
                if ops.is_abandoned() {
                    return;
                }
                patience.wait();
                continue;
            };
            patience = Patience::default();
            if let Op::Wait { kernel } = op {
                // An event is waited for as it was recorded last: the thread that records it comes first. All queues are in the order of the
                // plan, in which a record comes before those who wait for it: somebody always goes on.
                while self.recorded[(kernel % EVENTS) as usize].load(Ordering::Acquire) != kernel + 1 {
                    if self.failed.load(Ordering::Relaxed) {
                        return;
                    }
                    patience.wait();
                }
            }
            if let Err(error) = tell(self.device, stream, op) {
                return self.fail(error);
            }
            if let Op::Record { kernel } = op {
                self.recorded[(kernel % EVENTS) as usize].store(kernel + 1, Ordering::Release);
            }
            // Taken out once it is told: an empty queue means that all was told.
            let _ = ops.pop();
        }
    }
}

/// Spins for a while, then leaves the processor to others.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.0 > 1000 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// Gives launching threads what their streams are told.
struct Queues<'a> {
    queues: Vec<Producer<(u32, Op)>>,
    shared: &'a Shared<'a>,
}

impl Teller for Queues<'_> {
    fn tell(&mut self, stream: u32, op: Op) -> Result<(), RunError> {
        let launchers = self.queues.len();
        let queue = &mut self.queues[stream as usize % launchers];
        let mut entry = (stream, op);
        let mut patience = Patience::default();
        while let Err(PushError::Full(back)) = queue.push(entry) {
            self.shared.check()?;
            entry = back;
            patience.wait();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RunError> {
        let mut patience = Patience::default();
        while self.queues.iter().any(|q| q.slots() < q.buffer().capacity()) {
            self.shared.check()?;
            patience.wait();
        }
        self.shared.check()
    }
}

/// Plans on this thread while others launch.
fn with_launchers(
    launchers: usize,
    run: &mut Run<'_>,
    program: &Program,
    chains: Option<&mut Kept>,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let device = run.device;
    let shared = Shared {
        device,
        recorded: (0..EVENTS).map(|_| AtomicU32::new(0)).collect(),
        ready: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    let shared = &shared;
    std::thread::scope(|scope| {
        let mut queues = Vec::new();
        for n in 0..launchers {
            let (producer, consumer) = RingBuffer::new(1024);
            queues.push(producer);
            std::thread::Builder::new()
                .name(format!("windlass-launch-{n}"))
                .spawn_scoped(scope, move || shared.launch(consumer))
                .map_err(|e| RunError::Thread { what: "launching", reason: e.to_string() })?;
        }
        while shared.ready.load(Ordering::Acquire) < launchers {
            std::thread::yield_now();
        }
        meter.start(device);
        let result = in_turn(run, program, chains, meter, &mut Queues { queues, shared });
        // The end of the threads is not the program's.
        meter.stop(device);
        // Those that wait for a record which nobody will make.
        shared.failed.store(true, Ordering::Release);
        result
    })
}

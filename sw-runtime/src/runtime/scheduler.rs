//! The scheduler's thread: hazards, the window, who starts next, what a failure spoils.

use super::Ticket;
use super::check::{Finding, MOST_FINDINGS};
use super::error::{Cause, Error, Failure, Failures};
use super::executor::{Completed, Completions, Executor, Started, Task, Token};
use super::guard::{discard, guarded};
use super::host::{Grant, Granted};
use super::kernel::{Access, Kernel, Mode};
use super::memory::{Arg, ArgKind, BufferId, Bytes, ElementKind, Memory};
use super::poison::Poison;
use super::record::Recorder;
use super::schedule::{EventKind, Schedule};
use super::signal::{PATIENCE, Signal, pause};
use super::versions::{Buffers, Declared, Renaming};
use super::waiter::Teller;
use crate::ktrace::Segment;
use crate::ranges::RangeMap;
use rtrb::{Consumer, Producer};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use windlass_hazards::{Access as Range, Engine, REGION_BYTES, Slot};

/// Launches that are not worth their cache lines: where a scheduler that has just taken some finds fewer, it lets them gather, for else
/// each launch's lines would go to and fro between the two processors.
const FEW: usize = 8;

/// Ranges of failed launches that are kept, to answer who waits for one: a megabyte or two of them.
const MOST_FAILED: usize = 1 << 16;

/// Called on the scheduler's thread once the kernel has retired.
pub(crate) type Callback = Box<dyn FnOnce(Result<(), Failure>) + Send>;

/// A launch on its way.
#[derive(Default)]
pub(crate) struct Launched {
    pub(crate) kernel: u32,
    pub(crate) priority: i32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// A list that goes back to the launching thread.
    pub(crate) args: Vec<Arg>,
    /// `None`: each buffer argument as a whole, as its parameter says.
    pub(crate) accesses: Option<Box<[Access]>>,
    pub(crate) callback: Option<Callback>,
    pub(crate) teller: Option<Teller>,
    /// Memory of arguments of which nothing is accessed, by their positions: hazards do not keep it.
    pub(crate) kept: Option<Box<[Kept]>>,
}

/// See [`Launched::kept`].
pub(crate) type Kept = (usize, Arc<dyn Memory>);

impl Launched {
    fn each_access(&self, kernel: &Kernel, f: impl FnMut(Access)) {
        kernel.each_access(&self.args, self.accesses.as_deref(), f);
    }

    /// Holds what is there now of arguments of which it accesses nothing: it may be released, or be another value's, before it starts.
    fn keep(&mut self, buffers: &Buffers) {
        // Without a closure each argument is accessed as a whole.
        let Some(accesses) = &self.accesses else { return };
        let held = |part: &Bytes| accesses.iter().any(|a| a.part.bytes > 0 && a.part.buffer == part.buffer);
        let kept = self.args.iter().enumerate().filter_map(|(position, arg)| match &arg.0 {
            ArgKind::Buffer(part) if part.bytes > 0 && !held(part) => {
                Some((position, buffers.memory(part.buffer)?.clone()))
            }
            _ => None,
        });
        let kept: Box<[Kept]> = kept.collect();
        self.kept = (!kept.is_empty()).then_some(kept);
    }

    /// All that names a buffer.
    fn each_buffer(&mut self, mut f: impl FnMut(&mut BufferId)) {
        for arg in &mut self.args {
            if let ArgKind::Buffer(part) = &mut arg.0 {
                f(&mut part.buffer);
            }
        }
        for access in self.accesses.iter_mut().flatten() {
            f(&mut access.part.buffer);
        }
    }
}

/// What the application's thread asks for, in program order.
pub(crate) enum Submission {
    Kernel(Launched),
    Register(Arc<Kernel>),
    Declare {
        buffer: BufferId,
        bytes: u64,
        element: ElementKind,
        memory: Arc<dyn Memory>,
        imported: Option<Segment>,
    },
    /// The memory goes when all that use it have retired.
    Release {
        whole: Bytes,
    },
    /// The application itself reads or writes memory, once it may.
    Host {
        access: Access,
        granted: Granted,
    },
    /// Something is to be told once all that came before has ended.
    Fence(Teller),
}

/// On cache lines of its own, for the same reason as [`Signal`].
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

/// What both threads see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) to_scheduler: Signal,
    pub(crate) to_host: Signal,
    /// Submissions that were taken in and are done.
    pub(crate) done: Alone<AtomicU64>,
    /// The application's thread waits for that.
    pub(crate) host_waits: AtomicBool,
    /// The scheduler's thread takes nothing from the queue just now: it has nothing to do, or a callback runs.
    pub(crate) stalled: AtomicBool,
    /// Launches that were taken in: they have a slot, or have ended.
    taken: AtomicU64,
    /// Of each slot of the window the launch that it holds, plus 1; 0 where it holds none.
    in_flight: Box<[AtomicU64]>,
    /// The scheduler's thread has ended.
    pub(crate) gone: AtomicBool,
    news: Mutex<News>,
}

/// What the application's thread is to be told.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) failures: Failures,
    /// Launches that failed, whether that was told or not.
    failed: RangeMap<()>,
    /// The first launch of which that is still known.
    known_from: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) diverged: Option<String>,
    /// A kernel that an executor completed once more.
    pub(crate) completed_twice: Option<u64>,
    /// Indices of buffers that are gone.
    pub(crate) free: Vec<u32>,
    /// What the buffers that are not gone take of the hazard engine.
    pub(crate) regions: u64,
    /// Addresses of buffers that are memory of others.
    pub(crate) imported: RangeMap<()>,
    pub(crate) recorder: Option<Recorder>,
}

thread_local! {
    /// The runtime whose scheduler this thread is, or whose kernels it runs; none elsewhere. It is compared and not followed, and both
    /// kinds of threads serve one runtime only.
    static SERVES: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

impl Shared {
    /// From here on this thread serves that runtime: what waited there for the runtime would wait for itself.
    pub(crate) fn serve(&self) {
        SERVES.set(self);
    }

    /// Whether this thread serves that runtime.
    pub(crate) fn is_served_here(&self) -> bool {
        Self::is_served_by(ptr::from_ref(self).addr())
    }

    /// Whether this thread serves the runtime at that address; 0 is none.
    pub(crate) fn is_served_by(runtime: usize) -> bool {
        runtime != 0 && SERVES.get().addr() == runtime
    }

    pub(crate) fn new(recorder: Option<Recorder>, window: usize) -> Self {
        let news = News {
            failures: Failures::default(),
            failed: RangeMap::new(),
            known_from: 0,
            findings: Vec::new(),
            diverged: None,
            completed_twice: None,
            free: Vec::new(),
            regions: 0,
            imported: RangeMap::new(),
            recorder,
        };
        Self {
            to_scheduler: Signal::new(),
            to_host: Signal::new(),
            done: Alone(AtomicU64::new(0)),
            host_waits: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            in_flight: (0..window).map(|_| AtomicU64::new(0)).collect(),
            gone: AtomicBool::new(false),
            news: Mutex::new(news),
        }
    }

    /// Calls what may take long, on the scheduler's thread: meanwhile a launch takes any place that the queue has.
    fn stalled<T>(&self, call: impl FnOnce() -> T) -> T {
        self.stalled.store(true, Ordering::Release);
        self.to_host.wake();
        let result = call();
        self.stalled.store(false, Ordering::Release);
        result
    }

    /// Whether a launch has ended, and all that its end means is done.
    pub(crate) fn has_ended(&self, ticket: u64) -> bool {
        // It was in its slot before it counted as taken in, and is in no other.
        ticket < self.taken.load(Ordering::Acquire)
            && !self.in_flight.iter().any(|slot| slot.load(Ordering::Acquire) == ticket + 1)
    }

    /// What a slot holds now; what was done before is visible to whoever sees it.
    #[inline]
    fn hold(&self, slot: Slot, ticket: Option<Ticket>) {
        let number = ticket.map_or(0, |ticket| ticket.0 + 1);
        self.in_flight[slot.index()].store(number, Ordering::Release);
    }

    pub(crate) fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the application's thread when this one ends, however it does.
struct Farewell(Arc<Shared>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Release);
        self.0.to_host.wake();
    }
}

/// The accesses of what is about to be inserted.
#[derive(Default)]
struct Ranges {
    reads: Vec<Range>,
    writes: Vec<Range>,
    error: Option<windlass_hazards::Error>,
}

impl Ranges {
    fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.error = None;
    }

    #[inline]
    fn add(&mut self, buffers: &Buffers, mut access: Access) {
        buffers.resolve(&mut access.part.buffer);
        match buffers.range(&access.part) {
            Ok(range) => {
                if access.mode.reads() {
                    self.reads.push(range);
                }
                if access.mode.writes() {
                    self.writes.push(range);
                }
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Where it is, and whether it waits for nothing; what it waits for, where somebody wants to know.
    #[inline]
    fn insert(
        &self,
        engine: &mut Engine,
        upstream: Option<&mut Vec<Slot>>,
    ) -> Result<(Slot, bool), windlass_hazards::Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let inserted = engine.insert(&self.reads, &self.writes)?;
        if let Some(upstream) = upstream {
            upstream.clear();
            upstream.extend(inserted.upstream.iter());
        }
        Ok((inserted.slot, inserted.upstream.is_empty()))
    }
}

/// What a slot of the window holds.
enum Work {
    Kernel {
        ticket: Ticket,
        launched: Launched,
    },
    /// A buffer as it is now, and its handle.
    Release {
        whole: Bytes,
        given: BufferId,
    },
    Host {
        access: Access,
        /// `None` once it has been called.
        granted: Option<Granted>,
    },
}

/// What a fence waits for: all that was in the window when it was taken in.
struct Fence {
    slots: BTreeSet<usize>,
    teller: Teller,
}

/// Whether a launch overwrites bytes of buffers that have spoiled ones.
fn heals(poison: &Poison, kernels: &[Arc<Kernel>], launched: &Launched) -> bool {
    let mut heals = false;
    if !poison.is_empty() {
        launched.each_access(&kernels[launched.kernel as usize], |access| {
            heals |= access.mode == Mode::Write && poison.is_in(access.part.buffer);
        });
    }
    heals
}

/// What a submission overwrites, of buffers that it does not access otherwise.
fn each_overwritten(submission: &Submission, kernels: &[Arc<Kernel>], mut f: impl FnMut(&Bytes)) {
    match submission {
        Submission::Kernel(launched) => {
            let mut accesses: SmallVec<[Access; 16]> = SmallVec::new();
            launched.each_access(&kernels[launched.kernel as usize], |access| accesses.push(access));
            for access in accesses.iter().filter(|access| access.mode == Mode::Write) {
                let named = accesses.iter().filter(|other| other.part.buffer == access.part.buffer);
                if named.count() == 1 {
                    f(&access.part);
                }
            }
        }
        Submission::Host { access, .. } if access.mode == Mode::Write => f(&access.part),
        _ => {}
    }
}

/// What is wrong with the application's own bytes.
fn host_failure(tickets: u64, cause: Cause) -> Failure {
    Failure { ticket: Ticket(tickets), kernel: "host access".into(), cause }
}

/// What it is to a kernel that it wrote what the kernel reads.
fn poisoned(failure: &Failure) -> Cause {
    match &failure.cause {
        Cause::HostWrite(_) => Cause::PoisonedByHost,
        _ => Cause::Poisoned { by: failure.ticket, name: failure.kernel.clone() },
    }
}

/// Who waits for a launch, and how it ended.
type Told = (Teller, Result<(), Failure>);

fn tell(told: Option<Told>) {
    if let Some((teller, outcome)) = told {
        teller.tell(outcome.map_err(|failure| Error::Failed(Failures { first: vec![failure], more: 0 })));
    }
}

/// What became of the head of the queue.
enum Taken {
    Nothing,
    /// There is no room for it yet.
    Blocked,
    One,
}

/// Ready kernels: the highest priority first, then the oldest. One word each, of priority, age and slot: a tuple is written field by field
/// and moved as a whole, which a processor cannot forward from its store buffer.
#[derive(Default)]
struct Ready(BinaryHeap<u128>);

impl Ready {
    #[inline]
    fn push(&mut self, priority: i32, ticket: u64, slot: Slot) {
        let priority = u128::from(priority.cast_unsigned() ^ 1 << 31);
        self.0.push(priority << 96 | u128::from(!ticket) << 16 | u128::from(slot.0));
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    fn pop(&mut self) -> Option<Slot> {
        self.0.pop().map(|entry| Slot(entry as u16))
    }
}

/// Kernels that the executor is given before what they wait for has ended.
struct Ahead {
    /// How many at once, and how many there are.
    most: usize,
    given: usize,
    /// Of each slot.
    kernels: Box<[Place]>,
    /// Kernels that may be given, in program order: their slots and tickets.
    next: VecDeque<(Slot, u64)>,
    /// Of the kernel that was inserted last.
    upstream: Vec<Slot>,
    /// Ends that were told before those of what the kernel waits for, and those of them that are not early any more.
    early: Vec<Completed>,
    late: Vec<Completed>,
    /// What the kernel waits for that is given now.
    tokens: Vec<Token>,
}

impl Ahead {
    fn has_ended(&self, token: Token) -> bool {
        self.early.iter().chain(&self.late).any(|completed| completed.token == token)
    }
}

/// What became of a kernel that waits for others.
#[derive(Default)]
struct Place {
    state: State,
    /// It was given before what it waits for had ended.
    ahead: bool,
    /// What it waits for, or did when it was inserted.
    upstream: SmallVec<[Token; 4]>,
}

/// Whether a kernel is in that slot, and has not retired.
fn is_in(slots: &[Option<Work>], slot: Slot, serial: u64) -> bool {
    matches!(&slots[slot.index()], Some(Work::Kernel { ticket, .. }) if ticket.0 == serial)
}

/// Whether it is there and was not given to the executor.
fn waits(slots: &[Option<Work>], kernels: &[Place], slot: Slot, serial: u64) -> bool {
    is_in(slots, slot, serial) && kernels[slot.index()].state == State::Waits
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It waits for nothing more.
    #[default]
    Free,
    /// It waits in the window.
    Waits,
    /// It was given to the executor, and waits there, or it has ended.
    Given,
    /// The same, and it has failed.
    Failed,
}

/// A recorded order that this run follows.
struct Replay {
    order: Vec<(EventKind, u64)>,
    /// Writes that get memory of their own.
    versions: HashSet<u64>,
    next: usize,
    ready: BTreeMap<u64, Slot>,
    ended: BTreeMap<u64, Completed>,
}

/// What the scheduler is built with.
pub(crate) struct Plan {
    pub(crate) engine: Engine,
    pub(crate) window: usize,
    pub(crate) serial: bool,
    pub(crate) check: bool,
    pub(crate) replay: Option<Schedule>,
    pub(crate) renaming: Option<Renaming>,
}

pub(crate) struct Scheduler {
    engine: Engine,
    executor: Box<dyn Executor>,
    serial: bool,
    check: bool,
    submissions: Consumer<Submission>,
    /// Empty lists on their way back to the launching thread, so that a launch allocates nothing.
    used: Producer<Vec<Arg>>,
    /// There was no room for the next one yet.
    blocked: bool,
    completions: Receiver<Completed>,
    /// For host accesses.
    ended: Completions,
    stash: Option<Completed>,
    shared: Arc<Shared>,
    kernels: Vec<Arc<Kernel>>,
    buffers: Buffers,
    slots: Vec<Option<Work>>,
    ready: Ready,
    /// Releases and host accesses that wait for nothing more; they take no place at the executor.
    own: Vec<Slot>,
    fences: Vec<Fence>,
    /// Host accesses under way.
    granted: usize,
    running: usize,
    concurrency: usize,
    tickets: u64,
    /// Of the submissions that were taken in, all that they overwrite; counted where there is renaming.
    writes: u64,
    /// The next one wants memory of its own, as in the recorded run, and there is none yet.
    starved: bool,
    done: u64,
    poison: Poison,
    replay: Option<Replay>,
    recording: bool,
    ranges: Ranges,
    /// Where the executor takes kernels ahead, and this schedule lets it.
    ahead: Option<Box<Ahead>>,
}

impl Scheduler {
    pub(crate) fn new(
        plan: Plan,
        mut executor: Box<dyn Executor>,
        submissions: Consumer<Submission>,
        used: Producer<Vec<Arg>>,
        shared: Arc<Shared>,
    ) -> Self {
        let (sender, completions) = channel();
        let ended = Completions { sender, shared: shared.clone() };
        executor.connect(ended.clone());
        let concurrency = if plan.serial { 1 } else { executor.concurrency().max(1) };
        let recording = shared.news().recorder.is_some();
        let most = executor.ahead();
        let in_order = plan.serial || plan.check || recording || plan.replay.is_some();
        let ahead = (most > 0 && !in_order).then(|| {
            Box::new(Ahead {
                most,
                given: 0,
                kernels: (0..plan.window).map(|_| Place::default()).collect(),
                next: VecDeque::new(),
                upstream: Vec::new(),
                early: Vec::new(),
                late: Vec::new(),
                tokens: Vec::new(),
            })
        });
        let replay = plan.replay.map(|schedule| Replay {
            order: schedule.order().collect(),
            versions: schedule.versions.into_iter().collect(),
            next: 0,
            ready: BTreeMap::new(),
            ended: BTreeMap::new(),
        });
        Self {
            engine: plan.engine,
            executor,
            serial: plan.serial,
            check: plan.check,
            submissions,
            used,
            blocked: false,
            completions,
            ended,
            stash: None,
            shared,
            kernels: Vec::new(),
            buffers: Buffers::new(plan.renaming),
            slots: (0..plan.window).map(|_| None).collect(),
            ready: Ready::default(),
            own: Vec::new(),
            fences: Vec::new(),
            granted: 0,
            running: 0,
            concurrency,
            tickets: 0,
            writes: 0,
            starved: false,
            done: 0,
            poison: Poison::default(),
            replay,
            recording,
            ranges: Ranges::default(),
            ahead,
        }
    }

    /// Until the application's side is gone and all is done.
    pub(crate) fn run(mut self) {
        let _farewell = Farewell(self.shared.clone());
        loop {
            let ended = self.take_completions();
            let taken = self.take_submissions();
            self.dispatch();
            if self.publish(taken) || ended {
                if taken && self.submissions.slots() < FEW {
                    pause();
                }
                continue;
            }
            if self.submissions.is_abandoned() && self.submissions.is_empty() && self.engine.is_empty() {
                return;
            }
            if self.give_up_replay() {
                // What ran since is to be published.
                continue;
            }
            // Its panic leaves what it holds back, and no kernel is to blame.
            let _ = guarded(|| self.executor.flush());
            let shared = self.shared.clone();
            shared.stalled(|| shared.to_scheduler.wait(PATIENCE, || self.has_work()));
        }
    }

    /// Whether another round would find something to do.
    fn has_work(&mut self) -> bool {
        if self.stash.is_none() {
            self.stash = self.completions.try_recv().ok();
        }
        self.stash.is_some()
            || self.ahead.as_ref().is_some_and(|ahead| !ahead.late.is_empty())
            || (!self.blocked && !self.submissions.is_empty())
            || self.has_diverged()
            || (self.submissions.is_abandoned() && self.engine.is_empty())
    }

    fn take_completions(&mut self) -> bool {
        let mut any = false;
        while let Some(completed) = self.stash.take().or_else(|| self.completions.try_recv().ok()) {
            any = true;
            if self.is_awaited(completed.token) {
                self.complete(completed);
                self.complete_late();
            } else {
                self.shared.news().completed_twice.get_or_insert(completed.token.serial);
            }
        }
        any | self.complete_late()
    }

    /// What was told to have ended, and waits for nothing more by now.
    #[inline]
    fn complete_late(&mut self) -> bool {
        let mut any = false;
        while let Some(completed) = self.ahead.as_mut().and_then(|ahead| ahead.late.pop()) {
            any = true;
            self.retire(completed);
        }
        any
    }

    /// A part of the queue at a time, so that the application learns in between how far things are.
    fn take_submissions(&mut self) -> bool {
        let part = self.submissions.buffer().capacity().div_ceil(4);
        for n in 0..part {
            match self.take_submission() {
                Taken::Nothing => return n > 0,
                // What ends meanwhile makes room.
                Taken::Blocked if self.take_completions() => self.dispatch(),
                Taken::Blocked => {
                    self.blocked = true;
                    return n > 0;
                }
                Taken::One => {
                    self.blocked = false;
                    self.dispatch();
                }
            }
        }
        true
    }

    /// The next submission, which stays in the queue where there is no room for it yet.
    #[inline]
    fn take_submission(&mut self) -> Taken {
        let Ok(next) = self.submissions.peek() else { return Taken::Nothing };
        let mut writes = self.writes;
        // In a serial schedule nobody uses what is overwritten.
        if self.buffers.renaming.is_some() && !self.serial && self.engine.len() < self.slots.len() {
            self.starved = false;
            each_overwritten(next, &self.kernels, |part| {
                // What is in use now, and what is left of the budget, is chance: a replay does as the recorded run did.
                let recorded = self.replay.as_ref().map(|replay| replay.versions.contains(&writes));
                if recorded != Some(false) {
                    let insist = recorded.is_some();
                    let renamed = self.buffers.overwrite(part, insist, &mut self.engine, &self.shared);
                    self.starved |= insist && renamed == Some(false);
                    if self.recording && renamed == Some(true) {
                        self.shared.news().record(|recorder| recorder.renamed(writes));
                    }
                }
                writes += 1;
            });
            if self.starved {
                // Kernels that the recorded run had retired by now give their memory back.
                return Taken::Blocked;
            }
        }
        let (ranges, buffers) = (&mut self.ranges, &self.buffers);
        ranges.clear();
        match next {
            Submission::Kernel(launched) => {
                let kernel = &self.kernels[launched.kernel as usize];
                launched.each_access(kernel, |access| ranges.add(buffers, access));
            }
            // What is no kernel goes through the window as one.
            Submission::Host { access, .. } => ranges.add(buffers, *access),
            Submission::Release { whole } => ranges.add(buffers, Access { part: *whole, mode: Mode::Write }),
            Submission::Register(_) | Submission::Declare { .. } | Submission::Fence(_) => {
                if let Ok(submission) = self.submissions.pop() {
                    self.learn(submission);
                }
                return Taken::One;
            }
        }
        if self.serial && !self.engine.is_empty() {
            return Taken::Blocked;
        }
        let upstream = self.ahead.as_mut().map(|ahead| &mut ahead.upstream);
        let inserted = self.ranges.insert(&mut self.engine, upstream);
        if inserted.is_err() && !self.engine.is_empty() {
            return Taken::Blocked;
        }
        let Ok(submission) = self.submissions.pop() else { return Taken::Nothing };
        self.writes = writes;
        match inserted {
            Ok((slot, ready)) => {
                let work = self.work(submission);
                if let Some(Work::Kernel { ticket, .. }) = &work {
                    self.shared.hold(slot, Some(*ticket));
                    self.shared.taken.store(self.tickets, Ordering::Release);
                }
                self.slots[slot.index()] = work;
                if ready {
                    self.make_ready(slot);
                } else if self.ahead.is_some() {
                    self.place(slot);
                }
            }
            // Not even an empty window holds it.
            Err(error) => self.refuse(submission, error),
        }
        Taken::One
    }

    /// What a submission is in the window.
    #[inline]
    fn work(&mut self, submission: Submission) -> Option<Work> {
        match submission {
            Submission::Kernel(mut launched) => {
                self.tickets += 1;
                if self.buffers.renaming.is_some() {
                    launched.each_buffer(|buffer| self.buffers.resolve(buffer));
                }
                launched.keep(&self.buffers);
                Some(Work::Kernel { ticket: Ticket(self.tickets - 1), launched })
            }
            Submission::Host { mut access, granted } => {
                self.buffers.resolve(&mut access.part.buffer);
                Some(Work::Host { access, granted: Some(granted) })
            }
            Submission::Release { mut whole } => {
                let given = whole.buffer;
                self.buffers.resolve(&mut whole.buffer);
                Some(Work::Release { whole, given })
            }
            Submission::Register(_) | Submission::Declare { .. } | Submission::Fence(_) => None,
        }
    }

    /// What needs no place in the window.
    fn learn(&mut self, submission: Submission) {
        match submission {
            Submission::Register(kernel) => self.kernels.push(kernel),
            Submission::Declare { buffer: BufferId { index, unique }, bytes, element, memory, imported } => {
                let handle = self.engine.declare(bytes);
                let declared = Declared { unique, handle, bytes, element, memory, imported, replaced: false };
                self.buffers.declare(index, declared);
            }
            Submission::Fence(teller) => {
                let taken = self.slots.iter().enumerate().filter(|(_, work)| work.is_some());
                self.fences.push(Fence { slots: taken.map(|(slot, _)| slot).collect(), teller });
                self.tell_fences();
            }
            _ => {}
        }
        self.done += 1;
    }

    /// What the hazard engine does not take.
    fn refuse(&mut self, submission: Submission, error: windlass_hazards::Error) {
        match self.work(submission) {
            Some(Work::Kernel { ticket, launched }) => {
                let told = self.conclude(ticket, launched, Err(Cause::Hazards(error)));
                self.shared.taken.store(self.tickets, Ordering::Release);
                tell(told);
            }
            Some(Work::Host { granted, .. }) => {
                let failure = host_failure(self.tickets, Cause::Hazards(error));
                let _ = granted.map(|granted| granted(Grant::new(None, Err(Box::new(failure)))));
            }
            // The engine never had it.
            Some(Work::Release { whole, given }) => self.forget(&whole, given),
            None => {}
        }
        self.done += 1;
    }

    /// Of a kernel that waits for others: it may be given ahead where these are kernels, too.
    fn place(&mut self, slot: Slot) {
        let (Some(ahead), Some(work)) = (&mut self.ahead, &self.slots[slot.index()]) else { return };
        let place = &mut ahead.kernels[slot.index()];
        place.state = State::Waits;
        place.upstream.clear();
        let Work::Kernel { ticket, .. } = work else { return };
        // The executor may be full for as long as the program runs.
        while ahead
            .next
            .front()
            .is_some_and(|(slot, serial)| !waits(&self.slots, &ahead.kernels, *slot, *serial))
        {
            ahead.next.pop_front();
        }
        let place = &mut ahead.kernels[slot.index()];
        for upstream in &ahead.upstream {
            let Some(Work::Kernel { ticket, .. }) = &self.slots[upstream.index()] else { return };
            place.upstream.push(Token { slot: upstream.0, serial: ticket.0 });
        }
        ahead.next.push_back((slot, ticket.0));
    }

    /// The next kernel that may be given ahead: all that it still waits for was given. The oldest first: where it cannot be given, for it
    /// waits for what is no kernel, or for one that was not given, it waits in the window.
    #[inline]
    fn next_ahead(&mut self) -> Option<Slot> {
        if self.ahead.is_some() { self.find_ahead() } else { None }
    }

    #[cold]
    fn find_ahead(&mut self) -> Option<Slot> {
        let Self { ahead, slots, .. } = self;
        let ahead = ahead.as_mut().filter(|ahead| ahead.given < ahead.most)?;
        let Ahead { kernels, next, tokens, .. } = &mut **ahead;
        while let Some((slot, serial)) = next.pop_front() {
            if !waits(slots, kernels, slot, serial) {
                continue;
            }
            let upstream = kernels[slot.index()].upstream.iter();
            tokens.clear();
            tokens.extend(upstream.filter(|token| is_in(slots, Slot(token.slot), token.serial)));
            let given =
                |token: &Token| matches!(kernels[usize::from(token.slot)].state, State::Free | State::Given);
            if tokens.iter().all(given) {
                return Some(slot);
            }
        }
        None
    }

    /// It waits for nothing more.
    #[inline]
    fn make_ready(&mut self, slot: Slot) {
        if let Some(ahead) = &mut self.ahead {
            let state = std::mem::take(&mut ahead.kernels[slot.index()].state);
            if matches!(state, State::Given | State::Failed) {
                ahead.given -= 1;
                self.running += 1;
                let early = ahead.early.iter().position(|completed| completed.token.slot == slot.0);
                ahead.late.extend(early.map(|at| ahead.early.swap_remove(at)));
                return;
            }
        }
        match (&self.slots[slot.index()], &mut self.replay) {
            (Some(Work::Kernel { ticket, .. }), Some(replay)) => _ = replay.ready.insert(ticket.0, slot),
            (Some(Work::Kernel { ticket, launched }), None) => {
                self.ready.push(launched.priority, ticket.0, slot);
            }
            _ => self.own.push(slot),
        }
    }

    /// Starts what may start.
    fn dispatch(&mut self) {
        self.follow_replay();
        loop {
            if let Some(slot) = self.own.pop() {
                self.start(slot, false);
            } else if self.running < self.concurrency
                && let Some(slot) = self.ready.pop()
            {
                self.start(slot, false);
            } else if self.ready.is_empty()
                && let Some(slot) = self.next_ahead()
            {
                self.start(slot, true);
            } else {
                return;
            }
            // A release may have let the next kernel of a recording go.
            self.follow_replay();
        }
    }

    /// Starts and ends kernels in the recorded order, as far as it goes.
    fn follow_replay(&mut self) {
        while let Some(replay) = &mut self.replay {
            match replay.order.get(replay.next) {
                Some((EventKind::Start, k)) => {
                    let Some(slot) = replay.ready.remove(k) else { return };
                    replay.next += 1;
                    self.start(slot, false);
                }
                Some((EventKind::End, k)) => {
                    let Some(completed) = replay.ended.remove(k) else { return };
                    replay.next += 1;
                    self.retire(completed);
                }
                None => {
                    // The program goes on past the end of the recording: from here it schedules itself.
                    self.leave_replay();
                }
            }
        }
    }

    /// From here on as without a recording.
    fn leave_replay(&mut self) {
        let Some(replay) = self.replay.take() else { return };
        for (ticket, slot) in replay.ready {
            let priority = match &self.slots[slot.index()] {
                Some(Work::Kernel { launched, .. }) => launched.priority,
                _ => 0,
            };
            self.ready.push(priority, ticket, slot);
        }
        for (_, completed) in replay.ended {
            self.retire(completed);
        }
    }

    /// A recorded order wants what cannot be: nothing moves, and nothing will be launched before something does.
    fn has_diverged(&self) -> bool {
        // Kernels that have ended and wait for their turn to retire count as running.
        let ended = self.replay.as_ref().map_or(0, |replay| replay.ended.len());
        let moves =
            self.running > ended || self.granted > 0 || self.stash.is_some() || self.engine.is_empty();
        let all_launched = || {
            // The flag comes after what was launched before it.
            let host_waits =
                self.submissions.is_abandoned() || self.shared.host_waits.load(Ordering::Acquire);
            host_waits && self.submissions.is_empty()
        };
        self.replay.is_some() && !moves && (self.blocked || all_launched())
    }

    /// Leaves a recorded order that has diverged; true where it did.
    fn give_up_replay(&mut self) -> bool {
        let Some(replay) = self.replay.as_ref().filter(|_| self.has_diverged()) else { return false };
        let problem = match replay.order.get(replay.next) {
            Some((EventKind::Start, k)) if *k >= self.tickets && self.starved => format!(
                "kernel {k} is to start next, and a write before it is to have memory of its own, for which there is none; replay with the budget of the recorded run (`rename`)"
            ),
            Some((EventKind::Start, k)) if *k >= self.tickets => {
                format!("kernel {k} is to start next, and {} were launched", self.tickets)
            }
            Some((EventKind::Start, k)) => {
                format!("kernel {k} is to start next, and waits for kernels that the schedule starts later")
            }
            Some((EventKind::End, k)) => format!("kernel {k} is to end next, and does not run"),
            None => return false,
        };
        self.shared.news().diverged.get_or_insert(problem);
        self.leave_replay();
        self.dispatch();
        true
    }

    /// Or gives it to the executor ahead.
    fn start(&mut self, slot: Slot, ahead: bool) {
        let token = |serial| Token { slot: slot.0, serial };
        match &self.slots[slot.index()] {
            None => {}
            Some(Work::Release { .. }) => self.retire(Completed::new(token(Token::HOST), Ok(()))),
            Some(Work::Host { .. }) => self.grant(slot),
            Some(Work::Kernel { ticket, launched }) => {
                let ticket = *ticket;
                let token = token(ticket.0);
                let kernel = &self.kernels[launched.kernel as usize];
                if self.recording {
                    self.shared.news().record(|recorder| recorder.started(ticket));
                }
                let mut accesses = Vec::new();
                if self.check {
                    launched.each_access(kernel, |access| accesses.push(access));
                }
                let spoiled = self.spoiled(launched);
                let given = self.ahead.as_mut().filter(|_| ahead);
                match given {
                    Some(given) => {
                        let place = &mut given.kernels[slot.index()];
                        (place.state, place.ahead) = (State::Given, true);
                        given.given += 1;
                    }
                    None => self.running += 1,
                }
                let started = match spoiled {
                    Some(failure) => Started::Ended(Err(poisoned(&failure))),
                    None => {
                        let task = Task {
                            token,
                            ticket,
                            priority: launched.priority,
                            kernel,
                            grid: launched.grid,
                            block: launched.block,
                            args: &launched.args,
                            accesses: &accesses,
                            buffers: &self.buffers,
                            kept: launched.kept.as_deref().unwrap_or_default(),
                            check: self.check,
                        };
                        // What it leaves half done is its own, and the kernel's output, which is poisoned.
                        let executor = &mut self.executor;
                        let start = || match self.ahead.as_ref().filter(|_| ahead) {
                            Some(ahead) => executor.start_behind(task, &ahead.tokens),
                            None => executor.start(task),
                        };
                        guarded(start).unwrap_or_else(|panic| Started::Ended(Err(Cause::Panicked(panic))))
                    }
                };
                if let Started::Ended(result) = started {
                    self.complete(Completed::new(token, result));
                }
            }
        }
    }

    /// Lets the application read or write its bytes.
    fn grant(&mut self, slot: Slot) {
        let Some(Work::Host { access, granted }) = &mut self.slots[slot.index()] else { return };
        let memory = match self.poison.spoiled(&access.part) {
            Some(failure) if access.mode.reads() => Err(Box::new(Failure::clone(&failure))),
            _ => match self.buffers.memory(access.part.buffer) {
                Some(memory) => Ok(memory.clone()),
                // In the engine, and so not released.
                None => {
                    let cause = Cause::Executor("the buffer is gone".into());
                    Err(Box::new(host_failure(self.tickets, cause)))
                }
            },
        };
        self.granted += 1;
        let token = Token { slot: slot.0, serial: Token::HOST };
        let grant = Grant::new(Some((token, self.ended.clone())), memory);
        let _ = granted.take().map(|granted| granted(grant));
    }

    /// What has spoiled bytes that a launch reads; of several the earliest launch.
    fn spoiled(&self, launched: &Launched) -> Option<Arc<Failure>> {
        let mut first: Option<Arc<Failure>> = None;
        if !self.poison.is_empty() {
            launched.each_access(&self.kernels[launched.kernel as usize], |access| {
                let by = access.mode.reads().then(|| self.poison.spoiled(&access.part)).flatten();
                first = first.take().into_iter().chain(by).min_by_key(|by| by.ticket);
            });
        }
        first
    }

    /// What a kernel that was given ahead has come to: what it waited for may have failed since.
    fn spoil(&self, completed: Completed) -> Completed {
        match &self.slots[usize::from(completed.token.slot)] {
            Some(Work::Kernel { launched, .. }) => match self.spoiled(launched) {
                Some(failure) => Completed::new(completed.token, Err(poisoned(&failure))),
                None => completed,
            },
            _ => completed,
        }
    }

    /// Whether what it names has not ended yet.
    fn is_awaited(&self, token: Token) -> bool {
        match self.slots.get(usize::from(token.slot)) {
            Some(Some(Work::Kernel { ticket, .. })) => {
                let ended = self.replay.as_ref().is_some_and(|replay| replay.ended.contains_key(&ticket.0));
                let early = self.ahead.as_ref().is_some_and(|ahead| ahead.has_ended(token));
                ticket.0 == token.serial && !ended && !early
            }
            Some(Some(Work::Host { .. })) => token.serial == Token::HOST,
            _ => false,
        }
    }

    fn complete(&mut self, completed: Completed) {
        match (&mut self.replay, self.slots.get(usize::from(completed.token.slot))) {
            (Some(replay), Some(Some(Work::Kernel { ticket, .. }))) => {
                replay.ended.insert(ticket.0, completed);
            }
            _ => self.retire(completed),
        }
    }

    /// It has ended, and all that it waited for.
    #[inline]
    fn retire(&mut self, completed: Completed) {
        match self.ahead {
            None => self.take_out(completed),
            Some(_) => self.retire_ahead(completed),
        }
    }

    /// The same of one that the executor may have been given ahead: what it waits for has ended too, and that may not be known yet.
    #[cold]
    fn retire_ahead(&mut self, completed: Completed) {
        let slot = usize::from(completed.token.slot);
        let Some(place) = self.ahead.as_mut().and_then(|ahead| ahead.kernels.get_mut(slot)) else { return };
        if place.state != State::Free {
            if completed.result.is_err() {
                place.state = State::Failed;
            }
            if let Some(ahead) = &mut self.ahead {
                ahead.early.push(completed);
            }
        } else if std::mem::take(&mut place.ahead) {
            let completed = self.spoil(completed);
            self.take_out(completed);
        } else {
            self.take_out(completed);
        }
    }

    fn take_out(&mut self, completed: Completed) {
        let slot = Slot(completed.token.slot);
        let Some(place) = self.slots.get_mut(slot.index()) else { return };
        if let Some(Work::Kernel { launched, .. }) = place
            && completed.result.is_ok()
            && launched.callback.is_none()
            && launched.teller.is_none()
            && !self.recording
            && !self.check
            && !heals(&self.poison, &self.kernels, launched)
        {
            // Nothing is to be told of it: the way of nearly all kernels.
            let work = place.take();
            self.running -= 1;
            self.done += 1;
            self.free(slot);
            if let Some(Work::Kernel { launched, .. }) = work {
                self.let_go(&launched);
                Self::give_back(&mut self.used, launched.args, launched.kept);
            }
            self.shared.hold(slot, None);
            self.pass_fences(slot);
            return;
        }
        let Some(work) = place.take() else { return };
        match work {
            Work::Release { whole, given } => {
                self.poison.clear(&whole);
                self.free(slot);
                self.forget(&whole, given);
            }
            Work::Host { access, .. } => {
                self.granted -= 1;
                match completed.result {
                    Ok(_) if access.mode == Mode::Write => self.poison.clear(&access.part),
                    // Half a copy, or none into memory that was another value's before.
                    Err(cause) if access.mode == Mode::Write => {
                        self.poison.spoil(&access.part, &Arc::new(host_failure(self.tickets, *cause)));
                    }
                    _ => {}
                }
                self.free(slot);
                let used = std::iter::once(access.part.buffer);
                self.buffers.let_go(used, &mut self.engine, &mut self.poison, &self.shared);
            }
            Work::Kernel { ticket, launched } => {
                self.running -= 1;
                if self.recording {
                    // How long it took to fail is nobody's measure.
                    let ran = completed.result.as_ref().ok().copied().flatten();
                    self.shared.news().record(|recorder| recorder.ended(ticket, ran));
                }
                if !completed.findings.is_empty() {
                    let findings = &mut self.shared.news().findings;
                    findings.extend(completed.findings);
                    findings.truncate(MOST_FINDINGS);
                }
                self.free(slot);
                let result = completed.result.map(drop).map_err(|cause| *cause);
                let told = self.conclude(ticket, launched, result);
                self.shared.hold(slot, None);
                tell(told);
            }
        }
        self.done += 1;
        self.pass_fences(slot);
    }

    /// What was in a slot has ended.
    #[inline]
    fn pass_fences(&mut self, slot: Slot) {
        if !self.fences.is_empty() {
            self.fences.iter_mut().for_each(|fence| _ = fence.slots.remove(&slot.index()));
            self.tell_fences();
        }
    }

    /// Those that wait for nothing more, in program order.
    #[cold]
    fn tell_fences(&mut self) {
        for Fence { teller, .. } in self.fences.extract_if(.., |fence| fence.slots.is_empty()) {
            let failures = self.shared.news().failures.clone();
            teller.tell(if failures.first.is_empty() { Ok(()) } else { Err(Error::Failed(failures)) });
        }
    }

    /// There is room for as many lists as can be on their way.
    #[inline]
    fn give_back(used: &mut Producer<Vec<Arg>>, mut args: Vec<Arg>, kept: Option<Box<[Kept]>>) {
        if let Some(kept) = kept {
            discard(kept);
        }
        args.clear();
        let _ = used.push(args);
    }

    /// Takes a slot out of the window; those that waited for it alone are ready.
    #[inline]
    fn free(&mut self, slot: Slot) {
        let mut freed: SmallVec<[Slot; 16]> = SmallVec::new();
        if let Ok(slots) = self.engine.retire(slot)
            && !slots.is_empty()
        {
            freed.extend(slots.iter());
        }
        freed.into_iter().for_each(|slot| self.make_ready(slot));
    }

    /// A launch has left the window: values that it was the last to use are gone.
    #[inline]
    fn let_go(&mut self, launched: &Launched) {
        // What a launch accesses are parts of its arguments.
        let used = launched.args.iter().filter_map(|arg| match arg.0 {
            ArgKind::Buffer(part) => Some(part.buffer),
            ArgKind::Value { .. } => None,
        });
        self.buffers.let_go(used, &mut self.engine, &mut self.poison, &self.shared);
    }

    /// The last user of a buffer has retired. Whoever still holds its memory for a moment keeps it alive.
    fn forget(&mut self, whole: &Bytes, given: BufferId) {
        let mut imported = None;
        if let Some(declared) = self.buffers.forget(given, whole.buffer) {
            // It cannot be in use: its release was a write of all of it.
            let _ = declared.handle.map(|handle| self.engine.release(handle));
            imported = declared.imported;
            discard(declared.memory);
        }
        let mut news = self.shared.news();
        if let Some(segment) = imported {
            news.imported.remove(segment);
        }
        news.free.push(given.index);
        news.regions -= whole.bytes.div_ceil(REGION_BYTES);
    }

    /// What a kernel's end means for the bytes that it writes, and for those who want to know. What is left to be told to those who wait for
    /// it: once it counts as ended.
    #[must_use]
    fn conclude(&mut self, ticket: Ticket, launched: Launched, result: Result<(), Cause>) -> Option<Told> {
        let kernel = self.kernels[launched.kernel as usize].clone();
        let result = result.map_err(|cause| Failure { ticket, kernel: kernel.name.clone(), cause });
        let root = result.as_ref().err().map(|failure| {
            match &failure.cause {
                // What it was to read is still poisoned: whoever writes that anew has waited for this kernel.
                Cause::Poisoned { .. } | Cause::PoisonedByHost => self.spoiled(&launched),
                _ => None,
            }
            .unwrap_or_else(|| Arc::new(failure.clone()))
        });
        launched.each_access(&kernel, |access| match &root {
            Some(root) if access.mode.writes() => self.poison.spoil(&access.part, root),
            None if access.mode == Mode::Write => self.poison.clear(&access.part),
            _ => {}
        });
        if let Err(failure) = &result {
            self.shared.news().fail(failure);
        }
        // Not before: poison of a value goes with it.
        self.let_go(&launched);
        Self::give_back(&mut self.used, launched.args, launched.kept);
        let told = launched.teller.map(|teller| (teller, result.clone()));
        if let Some(callback) = launched.callback {
            // Its panic is its author's; the hook has printed it, and the schedule goes on.
            let _ = self.shared.stalled(|| guarded(|| callback(result)));
        }
        told
    }

    /// Tells the application's thread how far things are, and that there is room in the queue.
    fn publish(&mut self, taken: bool) -> bool {
        let done = self.shared.done.0.load(Ordering::Relaxed) != self.done;
        if done {
            self.shared.done.0.store(self.done, Ordering::Release);
        }
        if done || taken {
            self.shared.to_host.wake();
        }
        done || taken
    }
}

impl News {
    fn fail(&mut self, failure: &Failure) {
        self.failures.add(failure);
        let one = Segment { addr: failure.ticket.0, bytes: 1 };
        self.failed.join(one, (), |(), ()| true);
        if self.failed.len() > MOST_FAILED
            && let Some(forgotten) = self.failed.pop_first()
        {
            // An early launch may fail last: what was forgotten before stays so.
            self.known_from = self.known_from.max(forgotten.end());
        }
    }

    /// How a launch that has ended did so.
    pub(crate) fn outcome(&self, ticket: Ticket) -> Result<(), Error> {
        let Ticket(number) = ticket;
        if let Some(failure) = self.failures.first.iter().find(|failure| failure.ticket == ticket) {
            return Err(Error::Failed(Failures { first: vec![failure.clone()], more: 0 }));
        }
        if self.failed.overlapping(Segment { addr: number, bytes: 1 }).next().is_some() {
            return Err(Error::CauseNotKept { ticket: number });
        }
        if number < self.known_from {
            return Err(Error::OutcomeNotKept { ticket: number });
        }
        Ok(())
    }

    fn record(&mut self, what: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            what(recorder);
        }
    }
}

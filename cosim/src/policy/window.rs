//! `window`: the front end's hardware decides, from launch packets to CTAs on SMs. The host finds hazards in its stale list and writes
//! packets into a queue of bounded depth; the ports are driven in every SM clock cycle in which anything could move.
//!
//! In a cycle: packets that have arrived are on the host channel, CTAs that have ended on the completion channels; the outputs are
//! read: a CTA that is taken from a CTA channel runs on its SM from this cycle on; then the clock rises. Everything that comes out is checked
//! against the device, which knows exactly what runs where.

use super::machine::Machine;
use super::{FrontEndEngine, Host, SimError};
use crate::device::{Completion, CtaEnd, NoRoom};
use crate::latency::{Cycle, WindowMeter};
use crate::partition::Partitions;
use crate::profile::Profile;
use crate::stimulus::Rng;
use std::collections::VecDeque;
use windlass_gen::table::counted;
use windlass_rtl::front_end::model::CountersModel;
use windlass_rtl::front_end::{
    Counter, CtaDone, CtaOut, CtaType, FrontEndIn, FrontEndOut, Launch, MAX_CTA_CHANNELS, MAX_CTA_PORTS,
    PartitionWrite,
};
use windlass_rtl::kernel_scheduler::HostBeat;
use windlass_rtl::params::{ArbiterKind, DONE_PORTS, Encoding, FrontEndParams};
use windlass_runtime::host::{self, HazardRule, ScheduledList, Upstream};

/// Cycles in which, with nothing coming in, all that the front end has on the way has moved on: a completion that is kept for the
/// next turn of its SM but one, a selection on its way through the SMs.
const SETTLE: u64 = 8;

/// A front end in which nothing moves is again as it was after this many cycles: SMs go round in 3, and what is contested
/// changes hands every 3. So do one or two kernels that wait for room, each for a turn of 3.
const PERIOD: u64 = 6;

/// The same with up to four kernels per type that wait for room: 3, 4, 6, 9 and 12 divide it.
const LONG_PERIOD: u64 = 36;

/// Options of the host and its hardware.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowOptions {
    pub params: FrontEndParams,
    /// Packets that the queue between host and device holds, those on their way included.
    pub fifo_depth: usize,
    /// A driver launch instead of a packet in a user-mode queue.
    pub driver_launch: bool,
    /// Cycles from the end of a kernel's last CTA until the front end can know.
    pub kernel_end: u64,
    pub rule: HazardRule,
    /// Simulate the front end in every cycle.
    pub step: bool,
    /// In so many of 100 cycles a CTA port refuses, each by chance. Then every cycle is simulated.
    pub cta_stalls: u8,
    /// Which.
    pub stall_seed: u64,
}

/// A kernel's time in a window slot, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSpan {
    /// The slot.
    pub slot: u8,
    /// Position in the stream.
    pub kernel: usize,
    /// Its last host beat was taken.
    pub insert: u64,
    /// It left the window for the CTA arbiters.
    pub dispatch: u64,
    /// It retired.
    pub retire: u64,
}

/// What happened in the window's slots, kernel by kernel; in order of retirement.
pub type WindowTrace = Vec<SlotSpan>;

/// A packet in the queue.
#[derive(Debug)]
struct Packet {
    kernel: usize,
    arrives: u64,
    upstream: Vec<usize>,
    beats: VecDeque<HostBeat>,
    launch: Launch,
}

/// A kernel between its last host beat and its retirement.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    kernel: usize,
    insert: u64,
    launch: Launch,
    /// When, and from which slot.
    dispatch: Option<(u64, u8)>,
    /// CTAs that were offered, were placed, have ended, and whose completion was taken.
    offered: u32,
    placed: u32,
    ended: u32,
    done: u32,
}

/// Where the host's part of the work stands.
#[derive(Debug)]
struct HostSide {
    list: ScheduledList,
    check_and_packet: u64,
    transfer: u64,
    notice: u64,
    synchronise: u64,
    section: usize,
    /// The next kernel to send.
    next: usize,
    /// The host is at work, or waits, until this cycle.
    free_at: u64,
    /// Entries of the queue that the host may use, and cycles in which it learns of more.
    credits: usize,
    returning: VecDeque<u64>,
    queue: VecDeque<Packet>,
    /// Words of partition masks that are still to be written; kernels come after them.
    partitions: VecDeque<PartitionWrite>,
}

pub(crate) struct WindowHost<'e> {
    engine: &'e mut dyn FrontEndEngine,
    options: WindowOptions,
    host: HostSide,
    /// Launch packets by kernel.
    launches: Vec<Launch>,
    started: bool,
    /// Kernels in the window, by id.
    in_flight: Vec<Option<InFlight>>,
    /// The dispatched kernel in each slot.
    slots: Vec<Option<u8>>,
    slot_of: Vec<Option<u8>>,
    /// Last CTAs of kernels, on their way to `ended`: the cycle in which they are there.
    ending: VecDeque<(u64, CtaEnd)>,
    /// CTAs that have ended, by completion channel.
    ended: [VecDeque<CtaEnd>; DONE_PORTS],
    /// What the front end's counters must be.
    counters: CountersModel,
    /// Which of them is read in the last cycle, and its value.
    read: (u8, u64),
    /// What each CTA port offered and was refused, and its kernel.
    held: [Option<(CtaOut, usize)>; MAX_CTA_PORTS],
    /// Which cycles refuse.
    stalls: Rng,
    /// CTAs of dispatched kernels that are not placed, by channel.
    unplaced: [u64; 2],
    /// Kernels with such CTAs, in order of dispatch.
    waiting: Vec<usize>,
    /// An SM has room for one of them; unknown after a CTA came, started or ended.
    possible: Option<bool>,
    retired: usize,
    /// No kernel before it is in the window.
    oldest: usize,
    last: Option<(FrontEndIn, FrontEndOut)>,
    /// The first cycle that was not simulated.
    next_cycle: u64,
    /// Cycles in a row in which nothing moved and the inputs stayed as they were.
    still: u64,
    transfers: u64,
    simulated: u64,
    meter: WindowMeter,
    trace: WindowTrace,
    finished: Option<u64>,
}

impl<'e> WindowHost<'e> {
    pub fn new(
        profile: &Profile,
        partitions: &Partitions,
        machine: &Machine<'_>,
        options: WindowOptions,
        engine: &'e mut dyn FrontEndEngine,
    ) -> Result<Self, SimError> {
        if options.fifo_depth == 0 {
            return Err(SimError::NO_FIFO);
        }
        let scheduler = options.params.scheduler();
        let encoding = match scheduler.upstream().encoding() {
            Encoding::Ids { .. } => host::Encoding::Ids,
            Encoding::Mask => host::Encoding::Mask,
        };
        let costs = &profile.host;
        let packet_ns = if options.driver_launch { costs.launch_ns } else { costs.packet_ns };
        let kernels = machine.device.kernels();
        Ok(Self {
            engine,
            options,
            host: HostSide {
                list: ScheduledList::new(scheduler.upstream().scheduled(), encoding, options.rule)?,
                check_and_packet: profile.cycles(costs.hazard_check_ns) + profile.cycles(packet_ns),
                transfer: profile.cycles(costs.transfer_ns),
                notice: profile.cycles(costs.notice_ns),
                synchronise: profile.cycles(costs.synchronise_ns),
                section: 0,
                next: 0,
                free_at: 0,
                credits: options.fifo_depth,
                returning: VecDeque::new(),
                queue: VecDeque::new(),
                partitions: partitions.writes().into(),
            },
            launches: (0..kernels).map(|k| machine.device.work(k).launch(profile)).collect(),
            started: false,
            in_flight: vec![None; 256],
            slots: vec![None; scheduler.window().slots()],
            slot_of: vec![None; kernels],
            ending: VecDeque::new(),
            ended: Default::default(),
            counters: CountersModel::new(options.params),
            read: (0, 0),
            held: [None; MAX_CTA_PORTS],
            stalls: Rng::new(options.stall_seed.wrapping_add(1)),
            unplaced: [0; 2],
            waiting: Vec::new(),
            possible: None,
            retired: 0,
            oldest: 0,
            last: None,
            next_cycle: 0,
            still: 0,
            transfers: 0,
            simulated: 0,
            meter: WindowMeter::new(kernels),
            trace: Vec::new(),
            finished: None,
        })
    }

    /// Cycles in which the front end was simulated.
    pub fn simulated(&self) -> u64 {
        self.simulated
    }

    /// Latencies, fill and stalls, up to cycle `end`.
    pub fn into_measurements(mut self, end: u64) -> (WindowMeter, WindowTrace) {
        self.meter.finish(end);
        (self.meter, self.trace)
    }

    /// The host's thread: checks hazards and sends packets as far as time, credits and the section allow.
    fn send(&mut self, machine: &Machine<'_>) -> Result<(), SimError> {
        let (now, host) = (machine.now(), &mut self.host);
        while host.returning.front().is_some_and(|at| *at <= now) {
            host.returning.pop_front();
            host.credits += 1;
        }
        let sections = machine.stream.sections();
        while host.partitions.is_empty()
            && host.credits > 0
            && host.free_at <= now
            && let Some(section) = sections.get(host.section)
            && host.next < section.end
        {
            let packet = host.list.send(&machine.stream.kernels()[host.next])?;
            let upstream = packet.upstream.distances(packet.id);
            let upstream = upstream.into_iter().filter_map(|d| host.next.checked_sub(d.into())).collect();
            let encoding = self.options.params.scheduler().upstream().encoding();
            host.free_at = now + host.check_and_packet;
            host.queue.push_back(Packet {
                kernel: host.next,
                arrives: host.free_at + host.transfer,
                upstream,
                beats: beats(packet.id, &packet.upstream, encoding),
                launch: self.launches[host.next],
            });
            host.credits -= 1;
            host.next += 1;
        }
        Ok(())
    }

    fn inputs(&mut self, now: u64) -> FrontEndIn {
        let (stalls, percent) = (&mut self.stalls, self.options.cta_stalls);
        let cta_ready = std::array::from_fn(|_| percent == 0 || !stalls.percent(percent.into()));
        let front = self.host.queue.front().filter(|packet| packet.arrives <= now);
        let done = |port: &VecDeque<CtaEnd>| {
            port.front().map(|cta| CtaDone { sm: cta.sm as u8, slot: self.slot_of[cta.kernel].unwrap_or(0) })
        };
        FrontEndIn {
            host: front.and_then(|packet| Some((*packet.beats.front()?, packet.launch))),
            done: std::array::from_fn(|p| done(&self.ended[p])),
            partition: self.host.partitions.front().copied(),
            cta_ready,
            ..FrontEndIn::IDLE
        }
    }

    fn simulate(&mut self, cycle: u64, input: &FrontEndIn) -> Result<FrontEndOut, SimError> {
        self.simulated += 1;
        let out = self.engine.cycle(input).map_err(|error| SimError::Engine {
            cycle,
            engine: self.engine.name(),
            error,
        })?;
        let ended = input.done.iter().zip(out.done_ready).filter(|(done, ready)| done.is_some() && *ready);
        // Which SMs a channel looks at is not on the ports.
        self.read = self.counters.cycle(input, &out, ended.count() as u64, [false; MAX_CTA_CHANNELS]);
        Ok(out)
    }

    /// Reads all counters from cycle `now` on, as a driver does at the end of its work. One that does not say what happened on the ports is
    /// an error.
    pub fn read_counters(&mut self, now: u64) -> Result<(), SimError> {
        let named = Counter::ALL.into_iter().map(|counter| counter as u8).chain([0; 2]);
        for (cycle, counter) in (now..).zip(named) {
            let out = self.simulate(cycle, &FrontEndIn { counter, ..FrontEndIn::IDLE })?;
            let (number, expected) = self.read;
            let counter = Counter::ALL.get(usize::from(number)).copied();
            if let Some(counter) = counter.filter(|c| !matches!(c, Counter::NoRoom0 | Counter::NoRoom1))
                && out.count != expected
            {
                let (engine, got) = (self.engine.name(), out.count);
                return Err(SimError::Miscounted { cycle, engine, counter, got, expected });
            }
        }
        Ok(())
    }

    /// What the front end says of itself is so: why the host waits, how full the window is, and since when.
    fn status(
        &mut self,
        input: &FrontEndIn,
        out: &FrontEndOut,
        machine: &Machine<'_>,
    ) -> Result<(), SimError> {
        let status = &out.scheduler;
        let occupancy = usize::from(status.occupancy);
        let sent = self.host.next - self.host.queue.len();
        let (full, least) = (self.slots.len(), sent - self.retired);
        while self.oldest < sent && self.in_flight[self.oldest % 256].is_none_or(|f| f.kernel != self.oldest)
        {
            self.oldest += 1;
        }
        let oldest = (least > 0).then_some((self.oldest % 256) as u8);
        let stalls = [status.stall_limit, status.stall_full, status.stall_busy];
        let reasons = stalls.into_iter().filter(|stall| *stall).count();
        let waits = input.host.is_some() && !status.host_ready;
        let why = if reasons != usize::from(waits) {
            let waits = if waits { "waits" } else { "does not wait" };
            format!(
                "the host {waits}, and {reasons} of `stall_limit_o`, `stall_full_o` and `stall_busy_o` are high"
            )
        } else if !(least..=full).contains(&occupancy) {
            format!(
                "`occupancy_o` is {occupancy}, with {} in the window of {full} places",
                counted(least, "kernel")
            )
        } else if occupancy == least && status.oldest != oldest {
            // One that has retired may keep its place for some cycles.
            let [is, said] =
                [oldest, status.oldest].map(|id| id.map_or("none".into(), |id| format!("id {id}")));
            format!(
                "the oldest kernel in the window is {is}, and `oldest_valid_o` and `oldest_id_o` say {said}"
            )
        } else if status.retire_error {
            "`ret_err_o` is high, for a kernel that retires rightly".into()
        } else {
            return Ok(());
        };
        Err(SimError::WrongStatus { cycle: machine.now(), engine: self.engine.name(), why })
    }

    /// After how many cycles a front end that is at rest is again as it was.
    fn period(&self) -> u64 {
        let waits = !self.waiting.is_empty();
        if waits && self.options.params.dispatch().arbiter().active() > 2 { LONG_PERIOD } else { PERIOD }
    }

    /// True where nothing will move until the inputs change: nothing has for as long as it takes to know.
    fn at_rest(&self) -> bool {
        self.still >= SETTLE + if self.waiting.is_empty() { 0 } else { self.period() }
    }

    /// Simulates of the cycles that were left out since the front end came to rest as many as its state depends on.
    fn catch_up(&mut self, now: u64) -> Result<(), SimError> {
        let Some((input, _)) = self.last else { return Ok(()) };
        let missing = (now - self.next_cycle) % self.period();
        for cycle in now - missing..now {
            let out = self.simulate(cycle, &input)?;
            if moves(&input, &out) {
                return Err(SimError::Restless { cycle, engine: self.engine.name() });
            }
        }
        Ok(())
    }

    /// Tells the meter what this cycle is like, before anything is transferred in it.
    fn record(&mut self, input: &FrontEndIn, out: &FrontEndOut, machine: &Machine<'_>) {
        let possible = *self.possible.get_or_insert_with(|| {
            let mut possible = false;
            for &kernel in &self.waiting {
                match has_room(machine, kernel) {
                    true => possible = true,
                    // One whose SMs another kernel's CTAs took waits for them.
                    false => self.meter.crowded(kernel),
                }
            }
            possible
        });
        self.meter.cycle(&Cycle {
            now: machine.now(),
            beat: input.host.is_some(),
            kernel: self.host.queue.front().map(|packet| packet.kernel),
            more: machine.stream.kernels().len() > self.retired + usize::from(out.scheduler.occupancy),
            slots: self.slots.len(),
            waiting: !self.waiting.is_empty(),
            possible,
            placed: taken(input, out).count() as u64,
            out: out.scheduler,
            run: out.run,
        });
    }

    /// What moved in a cycle that was simulated; true where anything did.
    fn transfer(
        &mut self,
        input: &FrontEndIn,
        out: &FrontEndOut,
        machine: &mut Machine<'_>,
    ) -> Result<bool, SimError> {
        self.completions(input, out, machine)?;
        if let Some(offer) = out.scheduler.offer {
            self.dispatch(offer.id, offer.slot, machine)?;
        }
        let places = self.options.params.dispatch().places();
        for (channel, ports) in out.cta.chunks(places).enumerate() {
            let first = channel * places;
            let mut ctas: Vec<(usize, CtaOut)> = Vec::new();
            for (port, cta) in ports.iter().enumerate().map(|(p, cta)| (first + p, *cta)) {
                if let Some((held, kernel)) = self.held[port] {
                    self.still_offered(port, kernel, &held, cta, machine)?;
                }
                ctas.extend(cta.map(|cta| (port, cta)));
            }
            // A grid's CTAs are on the ports in any order.
            ctas.sort_by_key(|(_, cta)| cta.index);
            for (port, cta) in ctas {
                let kernel = match self.held[port] {
                    None => self.offered(channel, &cta, machine)?,
                    Some((_, kernel)) => kernel,
                };
                self.held[port] = (!input.cta_ready[port]).then_some((cta, kernel));
                if input.cta_ready[port] {
                    self.place(channel, kernel, &cta, machine)?;
                }
            }
        }
        for slot in out.retired.into_iter().flatten() {
            self.retire(slot, machine)?;
        }
        if out.host_error {
            let kernel = self.host.queue.front().map(|packet| machine.stream.label(packet.kernel));
            return Err(SimError::PacketRefused {
                cycle: machine.now(),
                engine: self.engine.name(),
                kernel: kernel.unwrap_or_default(),
            });
        }
        if input.host.is_some() && out.scheduler.host_ready {
            self.take_beat(machine)?;
        }
        if input.partition.is_some() && out.partition_ready {
            self.host.partitions.pop_front();
        }
        let moved = moves(input, out);
        self.transfers += u64::from(moved);
        Ok(moved)
    }

    /// Completions that the front end took.
    fn completions(
        &mut self,
        input: &FrontEndIn,
        out: &FrontEndOut,
        machine: &Machine<'_>,
    ) -> Result<(), SimError> {
        if out.done_error {
            let ports = self.ended.iter().filter_map(VecDeque::front).zip(input.done.iter().flatten());
            let completions = ports.map(|(cta, done)| {
                format!("kernel {} in slot {} on SM {}", machine.stream.label(cta.kernel), done.slot, cta.sm)
            });
            return Err(SimError::CompletionRefused {
                cycle: machine.now(),
                engine: self.engine.name(),
                completions: completions.collect::<Vec<_>>().join(", "),
            });
        }
        for port in 0..DONE_PORTS {
            if out.done_ready[port]
                && let Some(cta) = self.ended[port].pop_front()
                && let Some(flight) = &mut self.in_flight[cta.kernel % 256]
            {
                flight.done += 1;
                if flight.done == flight.launch.grid {
                    self.meter.ended(cta.kernel, machine.now());
                }
            }
        }
        Ok(())
    }

    /// A kernel left the window for the arbiters.
    fn dispatch(&mut self, id: u8, slot: u8, machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        let Some(flight) = &mut self.in_flight[usize::from(id)] else {
            return Err(SimError::NotInFlight { cycle: now, engine: self.engine.name(), id, slot });
        };
        let kernel = flight.kernel;
        // First the order: a wrong slot says less.
        machine.start(kernel)?;
        flight.dispatch = Some((now, slot));
        let why = match self.slots.get_mut(usize::from(slot)) {
            None => Some(format!("does not exist: there are {}", self.slots.len())),
            Some(Some(other)) => Some(format!("belongs to the dispatched kernel of id {other}")),
            Some(free) => {
                *free = Some(id);
                None
            }
        };
        if let Some(why) = why {
            let kernel = machine.stream.label(kernel);
            return Err(SimError::WrongSlot { cycle: now, engine: self.engine.name(), kernel, slot, why });
        }
        let channel = channel_of(self.options.params.dispatch().arbiter(), flight.launch.kind);
        let alone = self.unplaced[channel] == 0 && has_room(machine, kernel);
        self.meter.dispatched(kernel, now, alone);
        self.unplaced[channel] += u64::from(flight.launch.grid);
        self.waiting.push(kernel);
        self.possible = None;
        self.slot_of[kernel] = Some(slot);
        Ok(())
    }

    /// What was refused is offered until it is taken.
    fn still_offered(
        &self,
        port: usize,
        kernel: usize,
        held: &CtaOut,
        now: Option<CtaOut>,
        machine: &Machine<'_>,
    ) -> Result<(), SimError> {
        let why = match now {
            Some(now) if now == *held => return Ok(()),
            Some(now) => format!("now offers number {} of id {}, on SM {}", now.index, now.id, now.sm),
            None => "now offers none".into(),
        };
        Err(SimError::OfferChanged {
            cycle: machine.now(),
            engine: self.engine.name(),
            port,
            kernel: machine.stream.label(kernel),
            index: held.index,
            sm: held.sm,
            why,
        })
    }

    /// A CTA is offered on a channel for the first time; its kernel, if everything about it is right.
    fn offered(&mut self, channel: usize, cta: &CtaOut, machine: &Machine<'_>) -> Result<usize, SimError> {
        let (cycle, sm) = (machine.now(), cta.sm);
        let dispatched = self.slots.get(usize::from(cta.slot)) == Some(&Some(cta.id));
        let flight = self.in_flight[usize::from(cta.id)].as_mut().filter(|_| dispatched);
        let Some(flight) = flight else {
            let (engine, id, slot) = (self.engine.name(), cta.id, cta.slot);
            return Err(SimError::UnknownCta { cycle, engine, id, slot, sm });
        };
        let (kernel, launch) = (flight.kernel, flight.launch);
        let arbiter = self.options.params.dispatch().arbiter();
        let why = if cta.index != flight.offered {
            Some(format!("it is number {} of the grid, number {} comes next", cta.index, flight.offered))
        } else if flight.offered == launch.grid {
            Some(match launch.grid {
                1 => "the only CTA of its grid was placed".into(),
                grid => format!("all {grid} CTAs of its grid were placed"),
            })
        } else if cta.kind != launch.kind || channel != channel_of(arbiter, launch.kind) {
            Some(format!(
                "the kernel is {:?}, the CTA {:?} on channel {channel} of arbiter `{}`",
                launch.kind,
                cta.kind,
                arbiter.name()
            ))
        } else if usize::from(sm) >= machine.device.sms() {
            Some(match machine.device.sms() {
                1 => "there is 1 SM".into(),
                sms => format!("there are {sms} SMs"),
            })
        } else {
            None
        };
        let named = |machine: &Machine<'_>| (self.engine.name(), machine.stream.label(kernel));
        if let Some(why) = why {
            let (engine, kernel) = named(machine);
            return Err(SimError::WrongCta { cycle, engine, kernel, sm, why });
        }
        if !machine.device.allows(kernel, sm.into()) {
            let (engine, kernel) = named(machine);
            let partition = launch.partition;
            return Err(SimError::OutsidePartition { cycle, engine, kernel, sm, partition });
        }
        flight.offered += 1;
        Ok(kernel)
    }

    /// A CTA was taken from its channel: it starts on its SM, if that has room.
    fn place(
        &mut self,
        channel: usize,
        kernel: usize,
        cta: &CtaOut,
        machine: &mut Machine<'_>,
    ) -> Result<(), SimError> {
        let (cycle, sm) = (machine.now(), cta.sm);
        if let Err(NoRoom { resource, needed, free }) = machine.place(kernel, sm.into()) {
            let (engine, kernel) = (self.engine.name(), machine.stream.label(kernel));
            return Err(SimError::NoRoom { cycle, engine, kernel, sm, resource, needed, free });
        }
        if let Some(flight) = &mut self.in_flight[usize::from(cta.id)] {
            flight.placed += 1;
            if flight.placed == flight.launch.grid {
                self.waiting.retain(|k| *k != kernel);
            }
        }
        self.unplaced[channel] -= 1;
        self.possible = None;
        self.meter.placed(kernel, cycle, cta.kind);
        Ok(())
    }

    /// A kernel retired.
    fn retire(&mut self, slot: u8, machine: &Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        let id = self.slots.get_mut(usize::from(slot)).and_then(Option::take);
        let flight = id.and_then(|id| self.in_flight[usize::from(id)].take());
        let why = match flight {
            None => "no dispatched kernel is in it".to_string(),
            Some(InFlight { kernel, launch, done, .. }) if done != launch.grid => {
                let (kernel, left) = (machine.stream.label(kernel), launch.grid - done);
                let are = if left == 1 { "is" } else { "are" };
                format!("{} of kernel {kernel} {are} left, as far as it was told", counted(left, "CTA"))
            }
            Some(InFlight { kernel, insert, dispatch, .. }) => {
                self.retired += 1;
                self.meter.retired(kernel, now);
                let dispatch = dispatch.map_or(now, |(cycle, _)| cycle);
                self.trace.push(SlotSpan { slot, kernel, insert, dispatch, retire: now });
                return Ok(());
            }
        };
        Err(SimError::WrongRetirement { cycle: now, engine: self.engine.name(), slot, why })
    }

    /// The front end took the beat on the host channel.
    fn take_beat(&mut self, machine: &Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        let Some(packet) = self.host.queue.front_mut() else { return Ok(()) };
        packet.beats.pop_front();
        if packet.beats.is_empty()
            && let Some(packet) = self.host.queue.pop_front()
        {
            let flight = InFlight {
                kernel: packet.kernel,
                insert: now,
                launch: packet.launch,
                dispatch: None,
                offered: 0,
                placed: 0,
                ended: 0,
                done: 0,
            };
            if let Some(other) = self.in_flight[packet.kernel % 256].replace(flight) {
                return Err(SimError::IdInUse {
                    cycle: now,
                    engine: self.engine.name(),
                    kernel: machine.stream.label(packet.kernel),
                    other: machine.stream.label(other.kernel),
                });
            }
            self.meter.inserted(packet.kernel, now, packet.upstream);
            self.host.returning.push_back(now + self.host.notice);
        }
        Ok(())
    }

    /// The end of a section, once all its kernels have retired: the host synchronises.
    fn synchronise(&mut self, machine: &Machine<'_>) {
        let now = machine.now();
        let sections = machine.stream.sections();
        match sections.get(self.host.section) {
            None => self.finished = Some(now),
            Some(section) if self.retired == section.end => {
                self.host.section += 1;
                self.host.free_at = now + self.host.synchronise;
                self.host.list.synchronise();
                if self.host.section == sections.len() {
                    self.finished = Some(self.host.free_at);
                }
            }
            Some(_) => {}
        }
    }
}

/// True where an SM has room for a CTA of the kernel.
fn has_room(machine: &Machine<'_>, kernel: usize) -> bool {
    (0..machine.device.sms()).any(|sm| machine.device.fits(kernel, sm))
}

/// The CTA channel of a type.
fn channel_of(arbiter: ArbiterKind, kind: CtaType) -> usize {
    match arbiter {
        ArbiterKind::Single => 0,
        ArbiterKind::Typed { .. } => kind as usize,
    }
}

/// The CTAs that are taken.
fn taken<'a>(input: &'a FrontEndIn, out: &'a FrontEndOut) -> impl Iterator<Item = &'a CtaOut> {
    out.cta.iter().zip(input.cta_ready).filter(|(_, ready)| *ready).filter_map(|(cta, _)| cta.as_ref())
}

/// True where something is transferred on any channel.
fn moves(input: &FrontEndIn, out: &FrontEndOut) -> bool {
    let done = input.done.iter().zip(out.done_ready).any(|(done, ready)| done.is_some() && ready);
    (input.host.is_some() && out.scheduler.host_ready)
        || out.scheduler.offer.is_some()
        || taken(input, out).next().is_some()
        || done
        || out.retired.iter().any(Option::is_some)
        || (input.partition.is_some() && out.partition_ready)
}

impl Host for WindowHost<'_> {
    fn ended(&mut self, now: u64, ends: &[CtaEnd]) {
        for cta in ends {
            self.possible = None;
            if let Some(flight) = &mut self.in_flight[cta.kernel % 256] {
                flight.ended += 1;
                if flight.ended == flight.launch.grid && self.options.kernel_end > 0 {
                    self.ending.push_back((now + self.options.kernel_end, *cta));
                    continue;
                }
            }
            self.ended[cta.sm % DONE_PORTS].push_back(*cta);
        }
        while let Some((_, cta)) = self.ending.pop_front_if(|(at, _)| *at <= now) {
            self.ended[cta.sm % DONE_PORTS].push_back(cta);
        }
    }

    fn cycle(&mut self, _done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        if !self.started {
            self.started = true;
            self.simulate(now, &FrontEndIn::RESET)?;
        }
        self.send(machine)?;
        let input = self.inputs(now);
        let same = self.last.as_ref().is_some_and(|(last, _)| *last == input);
        if same && self.at_rest() && !self.options.step {
            // Room on the device may be free before the front end knows.
            if self.possible.is_none()
                && let Some((input, out)) = self.last
            {
                self.record(&input, &out, machine);
            }
            return Ok(());
        }
        self.catch_up(now)?;
        let out = self.simulate(now, &input)?;
        self.next_cycle = now + 1;
        let status = self.status(&input, &out, machine);
        self.record(&input, &out, machine);
        let moved = self.transfer(&input, &out, machine)?;
        // A wrong order says more.
        status?;
        self.still = if moved || out.scheduler.busy || !same { 0 } else { self.still + 1 };
        self.last = Some((input, out));
        self.synchronise(machine);
        Ok(())
    }
    fn next_event(&self, now: u64) -> Option<u64> {
        let host = &self.host;
        let arrival = host.queue.front().map(|packet| packet.arrives);
        let ending = self.ending.front().map(|(at, _)| *at);
        let events = [arrival, host.returning.front().copied(), Some(host.free_at), ending];
        events.into_iter().flatten().filter(|at| *at > now).min()
    }

    fn busy(&self) -> bool {
        !self.at_rest()
    }

    fn transfers(&self) -> u64 {
        self.transfers
    }

    fn finished_at(&self) -> Option<u64> {
        self.finished
    }

    fn state(&self) -> String {
        let kernels = self.in_flight.iter().flatten();
        let waiting: Vec<String> = kernels
            .map(|f| match f.dispatch {
                None => format!("{} waits", f.kernel),
                Some((at, slot)) => format!(
                    "{} dispatched from slot {slot} in cycle {at}, of {} {} placed, {} ended",
                    f.kernel,
                    counted(f.launch.grid, "CTA"),
                    f.placed,
                    f.done
                ),
            })
            .take(8)
            .collect();
        let ended: usize = self.ended.iter().map(VecDeque::len).sum();
        let out = self.last.map(|(_, out)| out.scheduler).unwrap_or_default();
        format!(
            "front end `{}`: {} in the window [{}], {} ended without its taking notice, {} queued; host_ready {}, stalls: limit {}, full {}, busy {}",
            self.engine.name(),
            counted(self.in_flight.iter().flatten().count(), "kernel"),
            waiting.join(", "),
            counted(ended, "CTA") + if ended == 1 { " has" } else { " have" },
            counted(self.host.queue.len(), "packet"),
            out.host_ready,
            out.stall_limit,
            out.stall_full,
            out.stall_busy,
        )
    }
}

/// The beats of a packet on the host channel.
pub(crate) fn beats(id: u8, upstream: &Upstream, encoding: Encoding) -> VecDeque<HostBeat> {
    match upstream {
        Upstream::Mask(mask) => [HostBeat::Mask { id, upstream: *mask }].into(),
        Upstream::Ids(ids) => {
            let lanes = match encoding {
                Encoding::Ids { lanes } => lanes,
                Encoding::Mask => 1,
            };
            HostBeat::of_ids(id, ids, lanes).collect()
        }
    }
}

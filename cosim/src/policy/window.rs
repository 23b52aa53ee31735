//! `window`: the scheduling hardware decides. The host finds hazards in its stale list, writes packets into a queue of bounded
//! depth, and the scheduler's ports are driven in every SM clock cycle in which anything could differ from the one before.
//!
//! In a cycle: packets that have arrived are on the host channel, completed kernels on the retire ports, `disp_ready` says whether
//! the dispatcher has room; the scheduler's outputs are read; then the clock rises. A kernel dispatched in a cycle places its first
//! CTA in the next at the earliest.

use super::machine::Machine;
use super::{Host, SchedulerEngine, SimError};
use crate::device::Completion;
use crate::latency::{Cycle, WindowMeter};
use crate::profile::Profile;
use std::collections::VecDeque;
use windlass_rtl::kernel_scheduler::io::MAX_RETIRE_PORTS;
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerIn, SchedulerOut};
use windlass_rtl::params::{Encoding, SchedulerParams};
use windlass_runtime::host::{self, HazardRule, ScheduledList, Upstream};

/// Options of the host and its hardware.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowOptions {
    pub params: SchedulerParams,
    /// Packets that the queue between host and device holds, those on their way included.
    pub fifo_depth: usize,
    /// A driver launch instead of a packet in a user-mode queue.
    pub driver_launch: bool,
    pub rule: HazardRule,
    /// Simulate the scheduler in every cycle.
    pub step: bool,
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
    /// The device took it.
    pub dispatch: u64,
    /// Its retirement was taken.
    pub retire: u64,
}

/// What happened at the scheduler's ports, kernel by kernel; in order of retirement.
pub type WindowTrace = Vec<SlotSpan>;

/// A packet in the queue.
#[derive(Debug)]
struct Packet {
    kernel: usize,
    arrives: u64,
    upstream: Vec<usize>,
    beats: VecDeque<HostBeat>,
}

/// A kernel between its last host beat and its retirement.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    kernel: usize,
    insert: u64,
    dispatch: Option<u64>,
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
}

pub(crate) struct WindowHost<'e> {
    engine: &'e mut dyn SchedulerEngine,
    options: WindowOptions,
    host: HostSide,
    started: bool,
    /// Kernels in the window, by id.
    in_flight: Vec<Option<InFlight>>,
    /// The dispatched kernel in each slot.
    slots: Vec<Option<u8>>,
    slot_of: Vec<Option<u8>>,
    completed: VecDeque<usize>,
    ports: [Option<usize>; MAX_RETIRE_PORTS],
    retired: usize,
    last: Option<(SchedulerIn, SchedulerOut)>,
    /// The scheduler's state does not change until its inputs do.
    quiet: bool,
    transfers: u64,
    simulated: u64,
    meter: WindowMeter,
    trace: WindowTrace,
    finished: Option<u64>,
}

impl<'e> WindowHost<'e> {
    pub fn new(
        profile: &Profile,
        kernels: usize,
        options: WindowOptions,
        engine: &'e mut dyn SchedulerEngine,
    ) -> Result<Self, SimError> {
        if options.fifo_depth == 0 {
            return Err(SimError::Host(host::HostError::FifoDepth));
        }
        let upstream = options.params.upstream();
        let encoding = match upstream.encoding() {
            Encoding::Ids { .. } => host::Encoding::Ids,
            Encoding::Mask => host::Encoding::Mask,
        };
        let costs = &profile.host;
        let packet_ns = if options.driver_launch { costs.launch_ns } else { costs.packet_ns };
        Ok(Self {
            engine,
            options,
            host: HostSide {
                list: ScheduledList::new(upstream.scheduled(), encoding, options.rule)?,
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
            },
            started: false,
            in_flight: vec![None; 256],
            slots: vec![None; options.params.window().slots()],
            slot_of: vec![None; kernels],
            completed: VecDeque::new(),
            ports: [None; MAX_RETIRE_PORTS],
            retired: 0,
            last: None,
            quiet: false,
            transfers: 0,
            simulated: 0,
            meter: WindowMeter::new(kernels),
            trace: Vec::new(),
            finished: None,
        })
    }

    /// Cycles in which the scheduler was simulated.
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
        while host.credits > 0
            && host.free_at <= now
            && let Some(section) = sections.get(host.section)
            && host.next < section.end
        {
            let packet = host.list.send(&machine.stream.kernels()[host.next])?;
            let upstream = packet.upstream.distances(packet.id);
            let upstream = upstream.into_iter().filter_map(|d| host.next.checked_sub(d.into())).collect();
            host.free_at = now + host.check_and_packet;
            host.queue.push_back(Packet {
                kernel: host.next,
                arrives: host.free_at + host.transfer,
                upstream,
                beats: beats(packet.id, &packet.upstream, self.options.params.upstream().encoding()),
            });
            host.credits -= 1;
            host.next += 1;
        }
        Ok(())
    }

    fn inputs(&mut self, machine: &Machine<'_>) -> SchedulerIn {
        let now = machine.now();
        let ports = self.options.params.window().retire_ports();
        for port in self.ports.iter_mut().take(ports) {
            *port = port.or_else(|| self.completed.pop_front());
        }
        let front = self.host.queue.front().filter(|packet| packet.arrives <= now);
        SchedulerIn {
            rst_ni: true,
            host: front.and_then(|packet| packet.beats.front().copied()),
            disp_ready: machine.ready(),
            retire: self.ports.map(|kernel| kernel.and_then(|k| self.slot_of[k])),
        }
    }

    fn simulate(&mut self, cycle: u64, input: &SchedulerIn) -> Result<SchedulerOut, SimError> {
        self.simulated += 1;
        self.engine.cycle(input).map_err(|error| SimError::Engine {
            cycle,
            engine: self.engine.name(),
            error,
        })
    }

    /// What moved in a cycle that was simulated; true where anything did.
    fn transfer(
        &mut self,
        input: &SchedulerIn,
        out: &SchedulerOut,
        machine: &mut Machine<'_>,
    ) -> Result<bool, SimError> {
        let before = self.transfers;
        let now = machine.now();
        if out.retire_error {
            let waiting = self.ports.iter().flatten();
            let names = waiting.map(|k| {
                format!("kernel {} in slot {}", machine.stream.label(*k), self.slot_of[*k].unwrap_or(0))
            });
            let kernels = names.collect::<Vec<_>>().join(", ");
            return Err(SimError::RetireRefused { cycle: now, engine: self.engine.name(), kernels });
        }
        if let (Some(offer), true) = (out.offer, input.disp_ready) {
            self.transfers += 1;
            let engine = self.engine.name();
            let (id, slot) = (offer.id, offer.slot);
            let Some(flight) = &mut self.in_flight[usize::from(id)] else {
                return Err(SimError::NotInFlight { cycle: now, engine, id, slot });
            };
            let kernel = flight.kernel;
            // First the order: a wrong slot says less.
            machine.dispatch(kernel)?;
            flight.dispatch = Some(now);
            let why = match self.slots.get_mut(usize::from(slot)) {
                None => Some(format!("does not exist: there are {}", self.options.params.window().slots())),
                Some(Some(other)) => Some(format!("belongs to the dispatched kernel of id {other}")),
                Some(free) => {
                    *free = Some(id);
                    None
                }
            };
            if let Some(why) = why {
                let kernel = machine.stream.label(kernel);
                return Err(SimError::WrongSlot { cycle: now, engine, kernel, slot, why });
            }
            self.slot_of[kernel] = Some(slot);
        }
        for port in 0..MAX_RETIRE_PORTS {
            if let (true, Some(kernel)) = (out.retire_ready[port], self.ports[port])
                && let Some(slot) = self.slot_of[kernel]
            {
                self.transfers += 1;
                self.ports[port] = None;
                self.slots[usize::from(slot)] = None;
                let flight = self.in_flight[kernel % 256].take();
                self.retired += 1;
                self.meter.retired(kernel, now);
                if let Some(InFlight { insert, dispatch: Some(dispatch), .. }) = flight {
                    self.trace.push(SlotSpan { slot, kernel, insert, dispatch, retire: now });
                }
            }
        }
        if input.host.is_some()
            && out.host_ready
            && let Some(packet) = self.host.queue.front_mut()
        {
            self.transfers += 1;
            packet.beats.pop_front();
            if packet.beats.is_empty()
                && let Some(packet) = self.host.queue.pop_front()
            {
                let flight = InFlight { kernel: packet.kernel, insert: now, dispatch: None };
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
        }
        Ok(self.transfers != before)
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

impl Host for WindowHost<'_> {
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let now = machine.now();
        if !self.started {
            self.started = true;
            self.simulate(now, &SchedulerIn::RESET)?;
        }
        self.completed.extend(done.iter().map(|completion| completion.kernel));
        self.send(machine)?;
        let input = self.inputs(machine);
        if let Some((last, _)) = &self.last
            && self.quiet
            && *last == input
            && !self.options.step
        {
            // Same state, same inputs: the same outputs, and nothing moves.
            return Ok(());
        }
        let out = self.simulate(now, &input)?;
        let offered = out.offer.and_then(|offer| self.in_flight[usize::from(offer.id)]).map(|f| f.kernel);
        self.meter.cycle(&Cycle {
            now,
            beat: input.host.is_some(),
            kernel: self.host.queue.front().map(|packet| packet.kernel),
            more: machine.stream.kernels().len() > self.retired + usize::from(out.occupancy),
            slots: self.options.params.window().slots(),
            disp_ready: input.disp_ready,
            offered,
            out,
        });
        let moved = self.transfer(&input, &out, machine)?;
        self.quiet = !moved && !out.busy;
        self.last = Some((input, out));
        self.synchronise(machine);
        Ok(())
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        let host = &self.host;
        let arrival = host.queue.front().map(|packet| packet.arrives);
        let events = [arrival, host.returning.front().copied(), Some(host.free_at)];
        events.into_iter().flatten().filter(|at| *at > now).min()
    }

    fn busy(&self) -> bool {
        !self.quiet
    }

    fn transfers(&self) -> u64 {
        self.transfers
    }

    fn finished_at(&self) -> Option<u64> {
        self.finished
    }

    fn state(&self) -> String {
        let waiting: Vec<String> = self
            .in_flight
            .iter()
            .flatten()
            .map(|f| match f.dispatch {
                None => format!("{} waits", f.kernel),
                Some(at) => format!("{} dispatched in cycle {at}", f.kernel),
            })
            .take(8)
            .collect();
        let ports = self.ports.iter().flatten().count() + self.completed.len();
        let out = self.last.map(|(_, out)| out).unwrap_or_default();
        format!(
            "scheduler `{}`: {} kernels in the window [{}], {ports} wait to retire, {} packets queued; host_ready {}, offer {}, stalls: limit {}, full {}, busy {}",
            self.engine.name(),
            self.in_flight.iter().flatten().count(),
            waiting.join(", "),
            self.host.queue.len(),
            out.host_ready,
            out.offer.map_or_else(|| "none".into(), |o| format!("id {} slot {}", o.id, o.slot)),
            out.stall_limit,
            out.stall_full,
            out.stall_busy,
        )
    }
}

/// The beats of a packet on the host channel.
fn beats(id: u8, upstream: &Upstream, encoding: Encoding) -> VecDeque<HostBeat> {
    match upstream {
        Upstream::Mask(mask) => [HostBeat::Mask { id, upstream: *mask }].into(),
        Upstream::Ids(ids) => {
            let lanes = match encoding {
                Encoding::Ids { lanes } => lanes,
                Encoding::Mask => 1,
            };
            let count = ids.len().div_ceil(lanes).max(1);
            let beat = |i: usize| {
                let mut upstream = [None; 8];
                for (to, from) in upstream.iter_mut().zip(ids.iter().skip(i * lanes).take(lanes)) {
                    *to = Some(*from);
                }
                HostBeat::Ids { id, upstream, last: i + 1 == count }
            };
            (0..count).map(beat).collect()
        }
    }
}

//! Random but legal inputs for every block: what a host, a device or a neighbour would do, at its worst.
//!
//! A stimulus goes through phases (idle, back to back, stalled, full, bursty), obeys valid/ready where the block's page
//! demands it, retires what was dispatched, and now and then does what the page calls an error or a reset.

mod dispatch;
mod ledger;

pub use dispatch::FrontEndStimulus;
use dispatch::{ArbiterStimulus, OccupancyStimulus, PartitionsStimulus, TableStimulus};

use crate::stimulus::{Rng, Stimulus};
use std::collections::BTreeSet;
use windlass_catalog::BlockSpec;
use windlass_rtl::kernel_scheduler::io::{HostBeat, MAX_RETIRE_PORTS, SchedulerIn, SchedulerPorts};
use windlass_rtl::params::{Encoding, SchedulerParams, UpstreamParams, WindowKind, WindowParams};
use windlass_rtl::port::{Direction, Layout, Port, Slot, indexed};
use windlass_rtl::window::model::{PlaceSet, WindowIn, WindowModel, shifted};

/// The stimulus for a block. A front end gets packets that no SM can run, too, and completions of nothing: it must ignore them.
pub fn stimulus(spec: BlockSpec, seed: u64) -> Box<dyn Stimulus> {
    seeded(spec, seed, Kernels::Usual)
}

/// The same up to cycle 120 000. From there on, for some hundred thousand cycles without a reset, kernels with more than 65 536 CTAs come to the
/// kernel table, the CTA arbiters and the front end, so that the upper halves of their counts are used up.
pub fn far_stimulus(spec: BlockSpec, seed: u64) -> Box<dyn Stimulus> {
    seeded(spec, seed, Kernels::Far)
}

/// The same where, but in a cycle of reset, no packet and no completion breaks a rule of the front end's page.
pub fn lawful_stimulus(spec: BlockSpec, seed: u64) -> Box<dyn Stimulus> {
    seeded(spec, seed, Kernels::Lawful)
}

/// The same with kernels whose CTAs need what the pages of the blocks behind a front end's packets forbid: no warp, no register unit, more of a
/// resource than an SM has. What becomes of them is the same in hardware and golden model.
pub fn careless_stimulus(spec: BlockSpec, seed: u64) -> Box<dyn Stimulus> {
    seeded(spec, seed, Kernels::Careless)
}

/// What kernels come to the dispatch hardware.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernels {
    Usual,
    /// Of [`far_stimulus`].
    Far,
    /// Of [`lawful_stimulus`].
    Lawful,
    /// Of [`careless_stimulus`].
    Careless,
}

fn seeded(spec: BlockSpec, seed: u64, kernels: Kernels) -> Box<dyn Stimulus> {
    let stimulus = of_block(spec, Rng::new(seed), kernels);
    Box::new(Seeded { seed, stimulus, payloads: payloads(&spec.ports()), rng: Rng::new(!seed) })
}

/// A stimulus that knows its seed, so that a failure can be repeated. Where it offers nothing on a channel, anything is on the channel's payload.
struct Seeded {
    seed: u64,
    stimulus: Box<dyn Stimulus>,
    /// What says that there is an offer, and what else is on the channel.
    payloads: Vec<(Slot, Vec<Slot>)>,
    rng: Rng,
}

/// The channels into a block whose payload says nothing without an offer. That of `host`, `free` and `done` is looked at: what is ready for it,
/// or what it has.
fn payloads(ports: &[Port]) -> Vec<(Slot, Vec<Slot>)> {
    let inputs = Layout::new(ports, Direction::Input);
    let channel = |(name, valid): (&str, Slot)| {
        let (stem, index) = name
            .split_once("_valid")
            .filter(|(stem, _)| !["host", "host_up", "free", "done"].contains(stem))?;
        let of_channel = |other: &str| {
            let rest = other.strip_prefix(stem).is_some_and(|rest| rest.starts_with('_'));
            rest && other != name && other.ends_with(index)
        };
        let payload = inputs.iter().filter(|(other, _)| of_channel(other)).map(|(_, slot)| slot).collect();
        Some((valid, payload))
    };
    inputs.iter().filter(|(_, slot)| slot.width == 1).filter_map(channel).collect()
}

impl Stimulus for Seeded {
    fn next(&mut self, cycle: u64, last_outputs: &[u32], inputs: &mut [u32]) {
        self.stimulus.next(cycle, last_outputs, inputs);
        for (valid, payload) in &self.payloads {
            if valid.get(inputs) == 0 {
                payload.iter().for_each(|slot| self.rng.fill(*slot, inputs));
            }
        }
    }

    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn fault(&self) -> Option<&str> {
        self.stimulus.fault()
    }

    fn keeps_books(&self) -> bool {
        self.stimulus.keeps_books()
    }

    fn finish(&mut self) {
        self.stimulus.finish();
    }

    fn is_finished(&self) -> bool {
        self.stimulus.is_finished()
    }
}

fn of_block(spec: BlockSpec, rng: Rng, kernels: Kernels) -> Box<dyn Stimulus> {
    let ports = spec.ports();
    let inputs = Layout::new(&ports, Direction::Input);
    let outputs = Layout::new(&ports, Direction::Output);
    match spec {
        BlockSpec::RoundRobin(params) => {
            Box::new(Requests { rng, n: params.requests(), inputs, phase: Phase::default() })
        }
        BlockSpec::FindFirst(params) | BlockSpec::OldestFirst(params) => {
            Box::new(Picker { rng, n: params.requests(), inputs, pushed: 0, phase: Phase::default() })
        }
        BlockSpec::Window { kind, params } => Box::new(Window::new(rng, kind, params, inputs, outputs)),
        BlockSpec::UpstreamLoad(params) => Box::new(Upstream { rng, params, inputs, ids: Vec::new() }),
        BlockSpec::KernelScheduler(params) => Box::new(Scheduler::new(rng, params, &inputs, &outputs)),
        BlockSpec::KernelTable(params) => {
            Box::new(TableStimulus::new(rng, params, inputs, &outputs, kernels))
        }
        BlockSpec::SmOccupancy { params, requesters } => {
            Box::new(OccupancyStimulus::new(rng, params, requesters, &inputs, &outputs, kernels))
        }
        BlockSpec::SmPartitions { params, requesters } => {
            Box::new(PartitionsStimulus::new(rng, params, requesters, inputs, &outputs))
        }
        BlockSpec::CtaArbiter(params) => {
            Box::new(ArbiterStimulus::new(rng, params, inputs, &outputs, kernels))
        }
        BlockSpec::FrontEnd(params) => {
            Box::new(FrontEndStimulus::with(rng, params, &inputs, &outputs, kernels))
        }
    }
}

/// How busy each side is for a while, in 1/16.
#[derive(Clone, Copy, Default)]
struct Phase {
    left: u64,
    producer: u64,
    consumer: u64,
    finisher: u64,
}

impl Phase {
    fn next(&mut self, rng: &mut Rng) -> Self {
        if self.left == 0 {
            let rate = |rng: &mut Rng| [0, 1, 4, 8, 15, 16][rng.below(6) as usize];
            *self = Self {
                left: 1 + rng.below(200),
                producer: rate(rng),
                consumer: rate(rng),
                finisher: rate(rng),
            };
        }
        self.left -= 1;
        *self
    }
}

/// True `part` times in `whole`.
fn chance(rng: &mut Rng, part: u64, whole: u64) -> bool {
    rng.below(whole) < part
}

/// Reset for the first two cycles, and once in a while after.
fn reset(rng: &mut Rng, cycle: u64) -> bool {
    cycle < 2 || rng.below(5000) == 0
}

fn random_bits(rng: &mut Rng, n: usize) -> u128 {
    let all = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
    let sparse = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
    let bits = match rng.below(4) {
        0 => all,
        1 => all & sparse,
        2 => all | sparse,
        _ => 1 << rng.below(n as u64),
    };
    bits & (u128::MAX >> (128 - n))
}

/// Requests of a round robin, any number of them: all, many, few, one, a run of neighbours, or none; some stand for a while.
struct Requests {
    rng: Rng,
    n: usize,
    inputs: Layout,
    phase: Phase,
}

impl Stimulus for Requests {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        let Self { rng, n, inputs: layout, phase } = self;
        let now = phase.next(rng);
        let size = *n as u64;
        let asks = chance(rng, now.producer.max(1), 16);
        // What stands is what was there in the cycle before.
        if !chance(rng, now.finisher, 32) {
            let (from, length) = (rng.below(size), 1 + rng.below(size.div_ceil(4)));
            let kind = rng.below(6);
            let bit = |rng: &mut Rng, i: u64| match kind {
                0 => true,
                1 => chance(rng, 1, 2),
                2 => chance(rng, 2, size),
                3 => i == from,
                4 => (i + size - from) % size < length,
                _ => chance(rng, 7, 8),
            };
            let mut words = vec![0; n.div_ceil(32)];
            for i in 0..*n {
                words[i / 32] |= u32::from(asks && bit(rng, i as u64)) << (i % 32);
            }
            if let Some(slot) = layout.slot("req_i") {
                slot.copy_from(inputs, &words);
            }
        }
        let flags = [("rst_ni", !reset(rng, cycle)), ("ack_i", chance(rng, now.consumer, 16))];
        for (name, value) in flags {
            if let Some(slot) = layout.slot(name) {
                slot.set(inputs, value.into());
            }
        }
    }
}

struct Picker {
    rng: Rng,
    n: usize,
    inputs: Layout,
    pushed: u128,
    phase: Phase,
}

impl Stimulus for Picker {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        let rng = &mut self.rng;
        let phase = self.phase.next(rng);
        let mut set = |name: &str, value: u128| {
            if let Some(slot) = self.inputs.slot(name) {
                slot.set(inputs, value);
            }
        };
        let ordered = self.inputs.slot("push_i").is_some();
        let mask = if ordered { self.pushed } else { u128::MAX };
        set("rst_ni", (!reset(rng, cycle)).into());
        set("ack_i", chance(rng, phase.consumer, 16).into());
        let asks = chance(rng, phase.producer.max(1), 16);
        set("req_i", if asks { random_bits(rng, self.n) & mask } else { 0 });
        set("occ_i", random_bits(rng, self.n) & mask);
        let push = if chance(rng, phase.finisher, 16) { 1 << rng.below(self.n as u64) } else { 0 };
        set("push_i", push);
        self.pushed |= push;
    }
}

/// The device's side of a window or a scheduler: takes offers, finishes kernels, retires them.
struct Device {
    /// Slots whose kernels run.
    running: Vec<u8>,
    /// What stands on the retire ports, and whether it is a legal retirement.
    ports: Vec<Option<(u8, bool)>>,
    /// A kernel that takes long, and for how many cycles more: others overtake it, as many as the host's list allows.
    slow: Option<(u8, u64)>,
    slots: usize,
}

impl Device {
    fn new(slots: usize, retire_ports: usize) -> Self {
        Self { running: Vec::new(), ports: vec![None; retire_ports], slow: None, slots }
    }

    fn clear(&mut self) {
        self.running.clear();
        self.ports.fill(None);
        self.slow = None;
    }

    /// What the last cycle's transfers did.
    fn seen(&mut self, taken: Option<u8>, retire_ready: &[bool]) {
        for (port, ready) in self.ports.iter_mut().zip(retire_ready) {
            if *ready {
                *port = None;
            }
        }
        self.running.extend(taken);
    }

    /// New retirements for the ports that are free.
    fn retire(&mut self, rng: &mut Rng, rate: u64) -> [Option<u8>; MAX_RETIRE_PORTS] {
        self.slow = match self.slow {
            Some((slot, left)) => left.checked_sub(1).map(|left| (slot, left)),
            None if rng.below(1000) > 0 => None,
            None => self.running.first().map(|slot| (*slot, 200 + rng.below(800))),
        };
        for i in 0..self.ports.len() {
            if self.ports[i].is_some() || !chance(rng, rate, 16) {
                continue;
            }
            if rng.below(300) == 0 {
                // An error: a slot that may be empty, not dispatched, retired at another port, or beyond the window.
                let slot = match self.ports.iter().flatten().next() {
                    Some((other, _)) if chance(rng, 1, 2) => *other,
                    _ => rng.below(self.slots.next_power_of_two() as u64) as u8,
                };
                if !self.running.contains(&slot) {
                    self.ports[i] = Some((slot, false));
                }
            } else if !self.running.is_empty() {
                let pick = rng.below(self.running.len() as u64) as usize;
                if self.slow.is_none_or(|(slot, _)| slot != self.running[pick]) {
                    self.ports[i] = Some((self.running.swap_remove(pick), true));
                }
            }
        }
        let mut retire = [None; MAX_RETIRE_PORTS];
        for (to, port) in retire.iter_mut().zip(&self.ports) {
            *to = port.map(|(slot, _)| slot);
        }
        retire
    }
}

struct Window {
    rng: Rng,
    inputs: Layout,
    outputs: Layout,
    /// Says which places are live in the cycle that is being made up: an insertion may name only those.
    model: WindowModel,
    given: WindowIn,
    device: Device,
    id: u8,
    waiting: Option<(u8, PlaceSet)>,
    phase: Phase,
    kind: WindowKind,
    params: WindowParams,
    ret: Vec<[Slot; 2]>,
}

impl Window {
    fn new(rng: Rng, kind: WindowKind, params: WindowParams, inputs: Layout, outputs: Layout) -> Self {
        let ret = (0..params.retire_ports())
            .filter_map(|r| {
                Some([inputs.slot(&indexed("ret_valid_i", r))?, inputs.slot(&indexed("ret_slot_i", r))?])
            })
            .collect();
        Self {
            rng,
            model: WindowModel::new(kind, params),
            given: WindowIn::default(),
            device: Device::new(params.slots(), params.retire_ports()),
            id: 0,
            waiting: None,
            phase: Phase::default(),
            kind,
            params,
            inputs,
            outputs,
            ret,
        }
    }
}

impl Stimulus for Window {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        let out = |name: &str| self.outputs.slot(name).map_or(0, |slot| slot.get(last));
        if cycle > 0 {
            let offer = out("disp_valid_o") != 0;
            let taken = (offer && self.given.disp_ready).then(|| out("disp_slot_o") as u8);
            let ready: Vec<bool> =
                (0..self.params.retire_ports()).map(|r| out(&indexed("ret_ready_o", r)) != 0).collect();
            self.device.seen(taken, &ready);
            if out("ins_ready_o") != 0 {
                self.waiting = None;
            }
            let shift = self.model.cycle(&self.given).shift;
            if let Some((_, upstream)) = &mut self.waiting {
                *upstream = shifted(*upstream, shift);
            }
        }
        let rng = &mut self.rng;
        let phase = self.phase.next(rng);
        let rst_ni = !reset(rng, cycle);
        let retire = self.device.retire(rng, phase.finisher);
        let disp_ready = chance(rng, phase.consumer, 16);
        let mut given = WindowIn { rst_ni, insert: None, disp_ready, retire };
        let live = self.model.outputs(&given).live;
        if self.waiting.is_none() && chance(rng, phase.producer, 16) {
            // All of them now and then, or the last entry of a list is never used.
            let some = if chance(rng, 1, 4) { u128::MAX } else { random_bits(rng, self.params.slots()) };
            self.waiting = Some((self.id, live & some));
            self.id = self.id.wrapping_add(1);
        }
        if let Some((_, upstream)) = &mut self.waiting {
            *upstream &= live;
        }
        given.insert = self.waiting;

        let mut set = |name: &str, value: u128| {
            if let Some(slot) = self.inputs.slot(name) {
                slot.set(inputs, value);
            }
        };
        set("rst_ni", rst_ni.into());
        set("disp_ready_i", disp_ready.into());
        set("ins_valid_i", given.insert.is_some().into());
        let (id, upstream) = given.insert.unwrap_or_default();
        set("ins_id_i", id.into());
        set("ins_up_i", upstream);
        for (slots, retire) in self.ret.iter().zip(retire) {
            slots[0].set(inputs, retire.is_some().into());
            slots[1].set(inputs, retire.unwrap_or(0).into());
        }
        if !rst_ni {
            self.device.clear();
            self.waiting = None;
            self.model = WindowModel::new(self.kind, self.params);
        }
        self.given = given;
    }
}

struct Upstream {
    rng: Rng,
    params: UpstreamParams,
    inputs: Layout,
    ids: Vec<u8>,
}

impl Stimulus for Upstream {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        let rng = &mut self.rng;
        let n = self.params.slots();
        if self.ids.len() != n {
            self.ids = (0..n).map(|_| rng.next_u64() as u8).collect();
        }
        // Now and then a slot gets another id, as after an insertion.
        if chance(rng, 1, 4) {
            let slot = rng.below(n as u64) as usize;
            self.ids[slot] = rng.next_u64() as u8;
        }
        let mut set = |name: &str, value: u128| {
            if let Some(slot) = self.inputs.slot(name) {
                slot.set(inputs, value);
            }
        };
        let some_id = |rng: &mut Rng| match rng.below(3) {
            0 => rng.next_u64() as u8,
            _ => self.ids[rng.below(n as u64) as usize],
        };
        set("rst_ni", (!reset(rng, cycle)).into());
        set("host_valid_i", chance(rng, 3, 4).into());
        set("host_last_i", chance(rng, 1, 2).into());
        set("ins_ready_i", chance(rng, 3, 4).into());
        set("place_live_i", random_bits(rng, n));
        // Every other cycle no place moves.
        let from = rng.below(2 * n as u64);
        set(
            "place_shift_i",
            if from < n as u64 { (u128::MAX >> (128 - n)) & (u128::MAX << from) } else { 0 },
        );
        set("oldest_valid_i", chance(rng, 3, 4).into());
        let oldest = rng.next_u64() as u8;
        set("oldest_id_i", oldest.into());
        // Near the limit as often as anywhere.
        let far = match rng.below(2) {
            0 => rng.next_u64() as u8,
            _ => (self.params.scheduled() as u64 + rng.below(5)).wrapping_sub(2) as u8,
        };
        set("host_id_i", oldest.wrapping_add(far).into());
        if let Encoding::Ids { lanes } = self.params.encoding() {
            for k in 0..lanes {
                set(&indexed("host_up_valid_i", k), chance(rng, 1, 2).into());
                let id = some_id(rng);
                set(&indexed("host_up_id_i", k), id.into());
            }
        }
        for (slot, id) in self.ids.iter().enumerate() {
            set(&indexed("place_id_i", slot), (*id).into());
        }
        if let Some(slot) = self.inputs.slot("host_up_i") {
            let mask: Vec<u32> = (0..8).map(|_| (rng.next_u64() & rng.next_u64()) as u32).collect();
            slot.copy_from(inputs, &mask);
        }
    }
}

/// A host that sends kernels with random upstream among the last M.
struct Host {
    params: UpstreamParams,
    /// Id of the first kernel.
    first: u8,
    sent: u64,
    /// So many kernels more wait for none, and may overtake one that takes long until the list is full.
    free: u64,
    /// Beats of the kernel that is being sent, last one first.
    beats: Vec<HostBeat>,
    /// The next beat is on the channel.
    offered: bool,
    /// A beat of this kernel was taken, so that the others must follow.
    begun: bool,
}

impl Host {
    fn new(params: UpstreamParams) -> Self {
        Self { params, first: 0, sent: 0, free: 0, beats: Vec::new(), offered: false, begun: false }
    }

    fn clear(&mut self) {
        *self = Self::new(self.params);
    }

    /// Whether the beat of the last cycle was taken.
    fn seen(&mut self, ready: bool) {
        if ready && self.offered {
            self.beats.pop();
            self.offered = false;
            self.begun = !self.beats.is_empty();
        }
    }

    /// What is on the channel: the beat that waits, or, in `part` of 16 cycles, a new one.
    fn offer(&mut self, rng: &mut Rng, part: u64) -> Option<HostBeat> {
        if self.beats.is_empty() {
            self.beats = self.kernel(rng);
        }
        self.offered = self.offered || chance(rng, part, 16);
        if self.offered { self.beats.last().copied() } else { None }
    }

    /// A kernel that waits for none, few or many of the last M, most often near ones, else anyone or one whose id is nearly that of a near
    /// one.
    fn kernel(&mut self, rng: &mut Rng) -> Vec<HostBeat> {
        if self.sent == 0 {
            self.first = rng.next_u64() as u8;
        }
        let id = self.first.wrapping_add(self.sent as u8);
        let reach = self.sent.min(self.params.scheduled() as u64);
        let mut back = BTreeSet::new();
        if reach > 0 {
            self.free = match self.free {
                0 if rng.below(500) == 0 => 200,
                free => free.saturating_sub(1),
            };
            let most = if self.free > 0 { 1 } else { [1, 3, 12, 12][rng.below(4) as usize] };
            for _ in 0..rng.below(most) {
                let near = rng.below(reach.min(8));
                let alike = id.wrapping_sub(1).wrapping_sub(near as u8) ^ (1 << rng.below(8));
                let alike = u64::from(id.wrapping_sub(1).wrapping_sub(alike));
                back.insert(match rng.below(8) {
                    0 => rng.below(reach),
                    1 if alike < reach => alike,
                    _ => near,
                });
            }
        }
        self.sent += 1;
        match self.params.encoding() {
            Encoding::Mask => {
                let mut upstream = [0; 8];
                for j in back {
                    upstream[j as usize / 32] |= 1 << (j % 32);
                }
                vec![HostBeat::Mask { id, upstream }]
            }
            Encoding::Ids { lanes } => {
                let mut ids: Vec<u8> =
                    back.iter().map(|j| id.wrapping_sub(1).wrapping_sub(*j as u8)).collect();
                // In any order, so that each lane names each place.
                for i in 1..ids.len() {
                    ids.swap(i, rng.below(i as u64 + 1) as usize);
                }
                // Lanes between them stay empty now and then.
                let mut all: Vec<Option<u8>> = Vec::new();
                for id in ids {
                    while rng.below(4) == 0 {
                        all.push(None);
                    }
                    all.push(Some(id));
                }
                let chunks: Vec<&[Option<u8>]> =
                    if all.is_empty() { vec![&[]] } else { all.chunks(lanes).collect() };
                let count = chunks.len();
                let beat = |(i, chunk): (usize, &&[Option<u8>])| {
                    let mut upstream = [None; 8];
                    upstream[..chunk.len()].copy_from_slice(chunk);
                    HostBeat::Ids { id, upstream, last: i + 1 == count }
                };
                let mut beats: Vec<HostBeat> = chunks.iter().enumerate().map(beat).collect();
                beats.reverse();
                beats
            }
        }
    }
}

/// Lanes that hold no upstream id: what stands in them is nobody's business.
struct IdleLanes {
    id: Option<Slot>,
    /// Of each lane, its valid and its id.
    lanes: Vec<[Slot; 2]>,
}

impl IdleLanes {
    fn new(inputs: &Layout) -> Self {
        let lane = |k| {
            Some([inputs.slot(&indexed("host_up_valid_i", k))?, inputs.slot(&indexed("host_up_id_i", k))?])
        };
        Self { id: inputs.slot("host_id_i"), lanes: (0..).map_while(lane).collect() }
    }

    /// The id of a kernel that is near; of one beat always the same, for a beat that waits stays as it is.
    fn fill(&self, inputs: &mut [u32]) {
        let Some(id) = self.id else { return };
        let id = id.get(inputs) as u8;
        for (k, [valid, lane]) in self.lanes.iter().enumerate() {
            if valid.get(inputs) == 0 {
                let near = (id.wrapping_mul(37) >> 5).wrapping_add(3 * k as u8) % 8;
                lane.set(inputs, id.wrapping_sub(1).wrapping_sub(near).into());
            }
        }
    }
}

/// A host, and a device that finishes its kernels in any order.
struct Scheduler {
    rng: Rng,
    ports: SchedulerPorts,
    idle: IdleLanes,
    device: Device,
    host: Host,
    phase: Phase,
    given: SchedulerIn,
}

impl Scheduler {
    fn new(rng: Rng, params: SchedulerParams, inputs: &Layout, outputs: &Layout) -> Self {
        let ports = SchedulerPorts::new(params, inputs, outputs)
            .unwrap_or_else(|e| unreachable!("the block's own ports: {e}"));
        Self {
            rng,
            ports,
            idle: IdleLanes::new(inputs),
            device: Device::new(params.window().slots(), params.window().retire_ports()),
            host: Host::new(params.upstream()),
            phase: Phase::default(),
            given: SchedulerIn::RESET,
        }
    }
}

impl Stimulus for Scheduler {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            let out = self.ports.unpack(last);
            let taken = out.offer.filter(|_| self.given.disp_ready).map(|o| o.slot);
            self.device.seen(taken, &out.retire_ready);
            self.host.seen(out.host_ready);
        }
        let phase = self.phase.next(&mut self.rng);
        let host = self.host.offer(&mut self.rng, phase.producer);
        let given = SchedulerIn {
            rst_ni: !reset(&mut self.rng, cycle),
            host,
            disp_ready: chance(&mut self.rng, phase.consumer, 16),
            retire: self.device.retire(&mut self.rng, phase.finisher),
        };
        self.ports.pack(&given, inputs);
        self.idle.fill(inputs);
        if !given.rst_ni {
            self.device.clear();
            self.host.clear();
        }
        self.given = given;
    }
}

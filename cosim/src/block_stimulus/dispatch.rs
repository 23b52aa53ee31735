//! Stimuli for the CTA dispatch hardware: its blocks one by one, and all of it between a host and SMs.

use super::{Host, Phase, chance, random_bits, reset};
use crate::stimulus::{Rng, Stimulus};
use windlass_rtl::cta_arbiter_typed::model::{ChannelIn, ChannelModel};
use windlass_rtl::front_end::{
    CtaDone, CtaNeeds, CtaType, FrontEndIn, FrontEndPorts, Launch, MAX_CTA_CHANNELS, PartitionWrite,
};
use windlass_rtl::kernel_table::model::Kernel;
use windlass_rtl::model::ones;
use windlass_rtl::params::{
    DONE_PORTS, DispatchParams, FrontEndParams, PARTITIONS, SmLimits, SmParams, TableParams,
};
use windlass_rtl::port::{Layout, Slot, indexed};
use windlass_rtl::sm_occupancy::model::{
    Free, LETTERS, MAX_REQUESTERS, OccupancyIn, OccupancyModel, OccupancyPorts,
};
use windlass_rtl::sm_partitions::model::{PartitionsIn, PartitionsModel};

/// A grid that does not end.
const ENDLESS: u32 = 1 << 20;

/// What a CTA needs: little, a part or all of each resource.
fn needs(rng: &mut Rng, sm: SmLimits) -> CtaNeeds {
    let size = rng.below(4);
    let mut part = |least: u64, all: u16| {
        let all = u64::from(all);
        let most = match if size == 3 { rng.below(3) } else { size } {
            0 => all / 16,
            1 => all / 3,
            _ => all,
        };
        (least + rng.below(most.max(1) + 1)).min(all) as u16
    };
    CtaNeeds { warps: part(1, sm.warps()), registers: part(1, sm.registers()), smem: part(0, sm.smem()) }
}

fn launch(rng: &mut Rng, sm: SmLimits, grid: u32) -> Launch {
    Launch {
        grid,
        kind: CtaType::of_bit(chance(rng, 1, 2)),
        partition: rng.below(PARTITIONS as u64) as u8,
        needs: needs(rng, sm),
    }
}

/// A grid of one, of a few, sometimes of more, once in `endless` times without end.
fn grid(rng: &mut Rng, endless: u64) -> u32 {
    if rng.below(endless) == 0 {
        return ENDLESS;
    }
    let most = [1, 1, 1, 5, 5, 5, 5, 32][rng.below(8) as usize];
    1 + rng.below(most) as u32
}

fn partition_write(rng: &mut Rng, words: u64) -> PartitionWrite {
    let mask = random_bits(rng, 32) as u32;
    PartitionWrite {
        partition: rng.below(PARTITIONS as u64) as u8,
        word: rng.below(words) as u8,
        // Most often most SMs.
        mask: if chance(rng, 1, 3) { mask } else { mask | random_bits(rng, 32) as u32 },
    }
}

/// Sets ports by name; names that the block does not have are left out.
fn set(layout: &Layout, inputs: &mut [u32], name: &str, value: u128) {
    if let Some(slot) = layout.slot(name) {
        slot.set(inputs, value);
    }
}

/// `sm_occupancy`: needs that change or stay, CTAs placed within `fit`, completions of what was placed.
pub(super) struct OccupancyStimulus {
    rng: Rng,
    params: SmParams,
    requesters: usize,
    ports: OccupancyPorts,
    /// Says what fits in the cycle that is being made up: only there may be placed.
    model: OccupancyModel,
    /// Says which lanes a requester may use.
    partitions: PartitionsModel,
    phase: Phase,
    /// Cycles in which CTAs still come and none ends, until nothing has room.
    filling: u64,
    given: OccupancyIn,
    to_partitions: PartitionsIn,
    /// What was needed one and two cycles before.
    needs: [[Option<CtaNeeds>; MAX_REQUESTERS]; 2],
    /// CTAs on SMs, by completion channel.
    running: [Vec<Free>; DONE_PORTS],
    done: [Option<Free>; DONE_PORTS],
}

impl OccupancyStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: SmParams, requesters: usize, inputs: &Layout, outputs: &Layout) -> Self {
        let ports = OccupancyPorts::new(params, requesters, inputs, outputs)
            .unwrap_or_else(|e| unreachable!("the block's own ports: {e}"));
        Self {
            rng,
            params,
            requesters,
            ports,
            model: OccupancyModel::new(params, requesters),
            partitions: PartitionsModel::new(params),
            phase: Phase::default(),
            filling: 0,
            given: OccupancyIn::default(),
            to_partitions: PartitionsIn::default(),
            needs: Default::default(),
            running: Default::default(),
            done: [None; DONE_PORTS],
        }
    }

    /// Where the last cycle's CTAs went, and which completions were taken.
    fn seen(&mut self) {
        let out = self.model.cycle(&self.given);
        let taken = self.partitions.cycle(&self.to_partitions).write_ready;
        self.to_partitions.write = self.to_partitions.write.filter(|_| !taken);
        for (done, ready) in self.done.iter_mut().zip(out.free_ready) {
            *done = done.filter(|_| !ready);
        }
        for r in (0..self.requesters).filter(|r| self.given.place[*r] != 0) {
            if let Some(needs) = self.needs[1][r] {
                let sm = out.sm[r];
                self.running[usize::from(sm) % DONE_PORTS].push(Free { valid: true, sm, needs });
            }
        }
        self.needs = [self.given.need, self.needs[0]];
        if !self.given.rst_ni {
            self.running.iter_mut().for_each(Vec::clear);
            self.done = [None; DONE_PORTS];
            self.needs = Default::default();
        }
    }
}

impl Stimulus for OccupancyStimulus {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            self.seen();
        }
        let rng = &mut self.rng;
        let mut phase = self.phase.next(rng);
        let rst_ni = !reset(rng, cycle);
        if rng.below(3000) == 0 {
            self.filling = 5 * self.params.sms() as u64;
        }
        if self.filling > 0 {
            self.filling -= 1;
            phase = Phase { producer: 16, consumer: 16, finisher: 0, ..phase };
        }

        let part = &mut self.to_partitions;
        part.rst_ni = rst_ni;
        if part.write.is_none() && chance(rng, 1, 8) {
            part.write = Some(partition_write(rng, 6));
        }
        for part in &mut part.part {
            if chance(rng, 1, 30) {
                *part = rng.below(PARTITIONS as u64) as u8;
            }
        }

        let mut given = OccupancyIn { rst_ni, ..self.given };
        given.allow = self.partitions.outputs(&self.to_partitions).allow;
        for (r, fit) in self.model.fit().into_iter().enumerate().take(self.requesters) {
            if chance(rng, 1, 6) {
                given.need[r] = chance(rng, phase.consumer, 16).then(|| needs(rng, self.params.limits()));
            }
            let bits = random_bits(rng, 64) as u64;
            let lanes = if fit & bits == 0 { fit } else { fit & bits };
            given.place[r] = if chance(rng, phase.producer, 16) { lanes & lanes.wrapping_neg() } else { 0 };
        }
        for (p, running) in self.running.iter_mut().enumerate() {
            if self.done[p].is_none() && !running.is_empty() && chance(rng, phase.finisher, 16) {
                // The last that came, or any.
                let last = running.len() - 1;
                let pick = if chance(rng, 1, 3) { last } else { rng.below(running.len() as u64) as usize };
                self.done[p] = Some(running.swap_remove(pick));
            }
            // Without an offer, what the port's SMs are and what they need says nothing.
            given.free[p] = self.done[p].unwrap_or_else(|| {
                let sm =
                    p as u64 + DONE_PORTS as u64 * rng.below(self.params.sms().div_ceil(DONE_PORTS) as u64);
                let sm = if sm < self.params.sms() as u64 { sm as u8 } else { p as u8 };
                Free { valid: false, sm, needs: needs(rng, self.params.limits()) }
            });
        }
        self.ports.pack(&given, inputs);
        self.given = given;
    }
}

/// `sm_partitions`: masks that are rewritten, back to back or now and then, partitions that change.
pub(super) struct PartitionsStimulus {
    rng: Rng,
    requesters: usize,
    inputs: Layout,
    write_ready: Option<Slot>,
    phase: Phase,
    write: Option<PartitionWrite>,
}

impl PartitionsStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, requesters: usize, inputs: Layout, outputs: &Layout) -> Self {
        let write_ready = outputs.slot("write_ready_o");
        Self { rng, requesters, inputs, write_ready, phase: Phase::default(), write: None }
    }
}

impl Stimulus for PartitionsStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 && self.write_ready.is_some_and(|slot| slot.get(last) != 0) {
            self.write = None;
        }
        let rng = &mut self.rng;
        let phase = self.phase.next(rng);
        let rst_ni = !reset(rng, cycle);
        if self.write.is_none() && chance(rng, phase.producer, 16) {
            self.write = Some(partition_write(rng, 8));
        }
        let mut set = |name: &str, value: u128| set(&self.inputs, inputs, name, value);
        set("rst_ni", rst_ni.into());
        set("write_valid_i", self.write.is_some().into());
        let write = self.write.unwrap_or_else(|| partition_write(rng, 8));
        set("write_part_i", write.partition.into());
        set("write_word_i", write.word.into());
        set("write_mask_i", write.mask.into());
        for r in 0..self.requesters {
            if chance(rng, 1 + phase.consumer, 17) {
                set(&indexed("part_i", r), rng.below(PARTITIONS as u64).into());
            }
        }
        if !rst_ni {
            self.write = None;
        }
    }
}

/// What a slot of the table is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Free,
    Inserted { grid: u32 },
    Queued { grid: u32 },
    Running { left: u32 },
}

/// `kernel_table`: kernels come, are dispatched, are the oldest of their queue, lose their CTAs one by one or four in a cycle, retire.
/// Now and then a CTA ends that does not run.
pub(super) struct TableStimulus {
    rng: Rng,
    inputs: Layout,
    next: Vec<[Slot; 2]>,
    ret: Vec<[Slot; 2]>,
    phase: Phase,
    stages: Vec<Stage>,
    /// Slots in the order in which their kernels came, and the queue of each.
    order: Vec<usize>,
    queues: Vec<usize>,
    /// Slots whose entries were ever written: what the others hold nobody knows.
    written: u128,
    next_ready: Vec<bool>,
    ret_ready: Vec<bool>,
}

impl TableStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: TableParams, inputs: Layout, outputs: &Layout) -> Self {
        let channels = |valid: &str, slot: &str, count: usize| -> Vec<[Slot; 2]> {
            let find = |name: &str, i| outputs.slot(&indexed(name, i));
            (0..count).filter_map(|i| Some([find(valid, i)?, find(slot, i)?])).collect()
        };
        Self {
            rng,
            inputs,
            next: channels("next_valid_o", "next_slot_o", params.queues()),
            ret: channels("ret_valid_o", "ret_slot_o", params.retire_ports()),
            phase: Phase::default(),
            stages: vec![Stage::Free; params.slots()],
            order: Vec::new(),
            queues: vec![0; params.slots()],
            written: 0,
            next_ready: vec![false; params.queues()],
            ret_ready: vec![false; params.retire_ports()],
        }
    }

    /// A random slot of those that `wanted` says.
    fn pick(&mut self, wanted: impl Fn(Stage) -> bool) -> Option<usize> {
        let slots: Vec<usize> = (0..self.stages.len()).filter(|s| wanted(self.stages[*s])).collect();
        (!slots.is_empty()).then(|| slots[self.rng.below(slots.len() as u64) as usize])
    }

    /// Slots that the completion ports name, and whether they are valid; the CTAs that end are counted.
    fn ends(&mut self, rate: u64) -> Vec<(usize, bool)> {
        let running = |stage| matches!(stage, Stage::Running { left } if left > 0);
        let same = self.pick(running);
        // An arbiter gets the kernel before a CTA of it can end, rightly or wrongly.
        let wrong_slot = self
            .pick(|stage| !matches!(stage, Stage::Queued { .. }))
            .filter(|slot| self.written >> slot & 1 == 1);
        let written: Vec<usize> = ones(self.written).collect();
        let mut ended = vec![0; self.stages.len()];
        let mut ends = Vec::new();
        for _ in 0..DONE_PORTS {
            let mut slot = same;
            if chance(&mut self.rng, 1, 2) {
                slot = self.pick(running);
            }
            let wrong = wrong_slot.filter(|_| self.rng.below(400) == 0);
            let fits =
                slot.filter(|s| matches!(self.stages[*s], Stage::Running { left } if left > ended[*s]));
            ends.push(match fits {
                Some(slot) if wrong.is_none() && chance(&mut self.rng, rate, 16) => {
                    ended[slot] += 1;
                    (slot, true)
                }
                // An error: it may not run, or have no CTA left.
                _ => {
                    (wrong.unwrap_or(written[self.rng.below(written.len() as u64) as usize]), wrong.is_some())
                }
            });
        }
        for (slot, valid) in &ends {
            if let (Stage::Running { left }, true) = (&mut self.stages[*slot], valid) {
                *left = left.saturating_sub(1);
            }
        }
        ends
    }
}

impl Stimulus for TableStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            let taken = |channels: &[[Slot; 2]], ready: &[bool]| -> Vec<usize> {
                let taken =
                    channels.iter().zip(ready).filter(|([valid, _], ready)| **ready && valid.get(last) != 0);
                taken.map(|([_, slot], _)| slot.get(last) as usize).collect()
            };
            for slot in taken(&self.ret, &self.ret_ready) {
                self.stages[slot] = Stage::Free;
            }
            for slot in taken(&self.next, &self.next_ready) {
                if let Stage::Queued { grid } = self.stages[slot] {
                    self.stages[slot] = Stage::Running { left: grid };
                }
            }
        }
        let phase = self.phase.next(&mut self.rng);
        let rst_ni = !reset(&mut self.rng, cycle);

        // The first slot is written before anything is compared, so that there is one that completion ports may name.
        let insert = match cycle {
            0 => Some(0),
            _ if !rst_ni || !chance(&mut self.rng, phase.producer, 16) => None,
            _ => self.pick(|stage| stage == Stage::Free),
        };
        let dispatch = match chance(&mut self.rng, phase.producer.max(1), 16) {
            true => self.pick(|stage| matches!(stage, Stage::Inserted { .. })),
            false => None,
        };
        if cycle == 0 {
            self.written = 1;
        }
        let ends = self.ends(phase.finisher);
        let rng = &mut self.rng;
        let grid = grid(rng, 500);
        let launch = launch(rng, SmLimits::H100, grid);

        let mut set = |name: &str, value: u128| set(&self.inputs, inputs, name, value);
        set("rst_ni", rst_ni.into());
        set("ins_slot_i", insert.map_or(0, |slot| 1 << slot));
        for (name, value) in [
            ("ins_id_i", rng.below(256)),
            ("ins_grid_i", launch.grid.into()),
            ("ins_type_i", launch.kind.bit().into()),
            ("ins_part_i", launch.partition.into()),
            ("ins_warps_i", launch.needs.warps.into()),
            ("ins_regs_i", launch.needs.registers.into()),
            ("ins_smem_i", launch.needs.smem.into()),
        ] {
            set(name, value.into());
        }
        set("disp_valid_i", dispatch.is_some().into());
        set("disp_slot_i", dispatch.unwrap_or(0) as u128);
        for q in 0..self.next_ready.len() {
            let queued = |slot: &&usize| {
                self.queues[**slot] == q && matches!(self.stages[**slot], Stage::Queued { .. })
            };
            let first = self.order.iter().find(queued);
            set(&indexed("first_i", q), first.map_or(0, |slot| 1 << slot));
        }
        for (q, ready) in self.next_ready.iter_mut().enumerate() {
            *ready = chance(rng, phase.consumer, 16);
            set(&indexed("next_ready_i", q), (*ready).into());
        }
        for (p, (slot, valid)) in ends.into_iter().enumerate() {
            set(&indexed("done_valid_i", p), valid.into());
            set(&indexed("done_slot_i", p), slot as u128);
        }
        // Today's windows take retirements at once or after some cycles.
        for (r, ready) in self.ret_ready.iter_mut().enumerate() {
            *ready = chance(rng, phase.consumer.max(2), 16);
            set(&indexed("ret_ready_i", r), (*ready).into());
        }

        if let Some(slot) = dispatch
            && let Stage::Inserted { grid } = self.stages[slot]
        {
            self.stages[slot] = Stage::Queued { grid };
        }
        if let Some(slot) = insert {
            self.stages[slot] = Stage::Inserted { grid: launch.grid };
            self.written |= 1 << slot;
            self.order.retain(|other| *other != slot);
            self.order.push(slot);
            self.queues[slot] = usize::from(launch.kind.bit() && self.next_ready.len() > 1);
        }
        if !rst_ni {
            self.stages.fill(Stage::Free);
        }
    }
}

/// Either CTA arbiter: kernels that come, SMs with and without room, CTA channels that stall.
pub(super) struct ArbiterStimulus {
    rng: Rng,
    params: DispatchParams,
    inputs: Layout,
    /// Say whether a CTA is placed in the cycle that is being made up: only then it has an SM's number.
    models: Vec<ChannelModel>,
    given: Vec<ChannelIn>,
    /// Whether a CTA was looked at one and two cycles before.
    looked: [[bool; MAX_CTA_CHANNELS]; 2],
    phases: [Phase; MAX_CTA_CHANNELS],
}

impl ArbiterStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: DispatchParams, inputs: Layout) -> Self {
        let models = ChannelModel::of(params);
        Self {
            rng,
            params,
            inputs,
            given: vec![ChannelIn::default(); models.len()],
            models,
            looked: Default::default(),
            phases: Default::default(),
        }
    }

    fn kernel(&mut self, channel: usize) -> Kernel {
        let rng = &mut self.rng;
        let grid = grid(rng, 100);
        let mut launch = launch(rng, self.params.sms().limits(), grid);
        if self.models.len() > 1 {
            launch.kind = CtaType::of_bit(channel == 1);
        }
        Kernel { slot: rng.below(self.params.slots() as u64) as u8, id: rng.next_u64() as u8, launch }
    }
}

impl Stimulus for ArbiterStimulus {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            self.looked[1] = self.looked[0];
            for (c, (model, given)) in self.models.iter_mut().zip(&mut self.given).enumerate() {
                let out = model.cycle(given);
                self.looked[0][c] = out.need.is_some();
                given.kernel = given.kernel.filter(|_| !out.kernel_ready);
                if !given.rst_ni {
                    given.kernel = None;
                    self.looked = Default::default();
                }
            }
        }
        let rst_ni = !reset(&mut self.rng, cycle);
        set(&self.inputs, inputs, "rst_ni", rst_ni.into());
        for (c, letter) in LETTERS.into_iter().enumerate().take(self.models.len()) {
            let phase = self.phases[c].next(&mut self.rng);
            let kernel = match self.given[c].kernel {
                None if chance(&mut self.rng, phase.producer, 16) => Some(self.kernel(c)),
                waiting => waiting,
            };
            let rng = &mut self.rng;
            let room = self.looked[1][c] && chance(rng, phase.finisher, 16);
            let fit = if room { random_bits(rng, self.params.sms().lanes()) as u64 } else { 0 };
            let placed = self.models[c].place(fit) != 0;
            let given = ChannelIn {
                rst_ni,
                kernel,
                fit,
                sm: if placed { rng.below(self.params.sms().sms() as u64) as u8 } else { 0 },
                cta_ready: chance(rng, phase.consumer, 16),
            };

            let mut set = |name: String, value: u64| set(&self.inputs, inputs, &name, value.into());
            let Kernel { slot, id, launch } = kernel.unwrap_or_default();
            for (port, value) in [
                ("kern_valid", kernel.is_some().into()),
                ("kern_slot", slot.into()),
                ("kern_id", id.into()),
                ("kern_grid", launch.grid.into()),
                ("kern_type", launch.kind.bit().into()),
                ("kern_part", launch.partition.into()),
                ("kern_warps", launch.needs.warps.into()),
                ("kern_regs", launch.needs.registers.into()),
                ("kern_smem", launch.needs.smem.into()),
                ("sm", given.sm.into()),
                ("cta_ready", given.cta_ready.into()),
            ] {
                set(format!("{port}_{c}_i"), value);
            }
            for (group, lanes) in fit.to_le_bytes().into_iter().enumerate() {
                set(format!("fit_{letter}_{group}_i"), lanes.into());
            }
            self.given[c] = given;
        }
    }
}

/// What the front end's host does at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Kernels are sent, for so many cycles more. Where grids are endless, a reset ends it.
    Work { left: u64, endless: bool },
    /// No new kernels; all partitions get all SMs, so that every CTA finds one, and so many words were written; nothing has
    /// happened for so many cycles.
    Drain { written: usize, quiet: u64 },
}

/// Cycles after the last transfer until everything has come back to where it was.
const SETTLED: u64 = 8;

/// `front_end`: a host as in `kernel_scheduler`, SMs whose CTAs end in any order, partitions that are rewritten on the fly. Every thousand
/// cycles or so it lets everything end.
pub struct FrontEndStimulus {
    rng: Rng,
    params: FrontEndParams,
    ports: FrontEndPorts,
    host: Host,
    launch: Launch,
    phase: Phase,
    mode: Mode,
    /// The drain is the last one.
    ending: bool,
    given: FrontEndIn,
    /// Kernels in the window.
    kernels: usize,
    /// CTAs on SMs, by completion channel.
    running: [Vec<CtaDone>; DONE_PORTS],
    placed: u64,
    freed: u64,
}

impl FrontEndStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: FrontEndParams, inputs: &Layout, outputs: &Layout) -> Self {
        let ports = FrontEndPorts::new(params, inputs, outputs)
            .unwrap_or_else(|e| unreachable!("the block's own ports: {e}"));
        Self {
            rng,
            params,
            ports,
            host: Host::new(params.scheduler().upstream()),
            launch: Launch::default(),
            phase: Phase::default(),
            mode: Mode::Work { left: 1000, endless: false },
            ending: false,
            given: FrontEndIn::RESET,
            kernels: 0,
            running: Default::default(),
            placed: 0,
            freed: 0,
        }
    }

    /// No kernels from now on: everything that runs ends, what has no end with a reset.
    pub fn drain(&mut self) {
        self.ending = true;
    }

    /// In the cycle that was made up last nothing was in the front end and every SM was empty.
    pub fn is_drained(&self) -> bool {
        matches!(self.mode, Mode::Drain { quiet, .. } if quiet > SETTLED)
    }

    /// CTAs that were placed and CTAs that were freed, without those that a reset swept away.
    pub fn ctas(&self) -> (u64, u64) {
        (self.placed, self.freed)
    }

    /// What the last cycle's transfers did.
    fn seen(&mut self, last: &[u32]) {
        let out = self.ports.unpack(last);
        self.kernels +=
            usize::from(out.scheduler.host_ready && self.host.offered && self.host.beats.len() == 1);
        self.kernels -= out.retired.iter().flatten().count();
        self.host.seen(out.scheduler.host_ready);
        for (done, ready) in self.given.done.iter_mut().zip(out.done_ready) {
            self.freed += u64::from(done.is_some() && ready);
            *done = done.filter(|_| !ready);
        }
        for cta in out.cta.iter().zip(self.given.cta_ready).filter_map(|(cta, ready)| cta.filter(|_| ready)) {
            self.placed += 1;
            self.running[usize::from(cta.sm) % DONE_PORTS].push(CtaDone { sm: cta.sm, slot: cta.slot });
        }
        self.given.partition = self.given.partition.filter(|_| !out.partition_ready);
    }

    /// Nothing is anywhere.
    fn is_quiet(&self) -> bool {
        self.kernels == 0
            && !self.host.offered
            && !self.host.begun
            && self.given.partition.is_none()
            && self.given.done.iter().all(Option::is_none)
            && self.running.iter().all(Vec::is_empty)
    }

    fn clear(&mut self) {
        self.host.clear();
        self.kernels = 0;
        self.running.iter_mut().for_each(Vec::clear);
        self.placed = self.freed;
        self.given = FrontEndIn::RESET;
        self.mode = self.work();
    }

    fn work(&mut self) -> Mode {
        let endless = self.rng.below(4) == 0;
        let sms = self.params.dispatch().sms().sms() as u64;
        Mode::Work { left: self.rng.below(1500) + if endless { 6 * sms } else { 0 }, endless }
    }

    /// Moves on to the next mode, or asks for a reset.
    fn step(&mut self) -> bool {
        match self.mode {
            Mode::Work { left: 0, endless: true } => return true,
            Mode::Work { endless: true, .. } if self.ending => return true,
            Mode::Work { left, .. } if left == 0 || self.ending => {
                self.mode = Mode::Drain { written: 0, quiet: 0 };
            }
            Mode::Work { left, endless } => self.mode = Mode::Work { left: left - 1, endless },
            Mode::Drain { quiet, .. } if quiet > 2 * SETTLED && !self.ending => self.mode = self.work(),
            Mode::Drain { written, quiet } => {
                let quiet = if self.is_quiet() && written == self.words() { quiet + 1 } else { 0 };
                self.mode = Mode::Drain { written, quiet };
            }
        }
        false
    }

    /// Words of all masks.
    fn words(&self) -> usize {
        PARTITIONS * self.params.dispatch().sms().sms().div_ceil(32)
    }

    fn grid(&mut self) -> u32 {
        let rng = &mut self.rng;
        match self.mode {
            Mode::Work { endless: true, .. } => grid(rng, 4),
            _ if chance(rng, 1, 50) => 2 * self.params.dispatch().sms().sms() as u32,
            _ => grid(rng, u64::MAX),
        }
    }

    fn partition(&mut self) -> Option<PartitionWrite> {
        let words = self.words();
        match &mut self.mode {
            Mode::Drain { written, .. } if *written < words => {
                let (partition, word) = ((*written % PARTITIONS) as u8, (*written / PARTITIONS) as u8);
                *written += 1;
                Some(PartitionWrite { partition, word, mask: u32::MAX })
            }
            Mode::Work { .. } if chance(&mut self.rng, 1, 40) => Some(partition_write(&mut self.rng, 6)),
            _ => None,
        }
    }
}

impl Stimulus for FrontEndStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if self.given.rst_ni {
            self.seen(last);
        } else {
            self.clear();
        }
        let rst_ni = !(self.step() || (cycle < 2 || !self.ending) && reset(&mut self.rng, cycle));
        let mut phase = self.phase.next(&mut self.rng);
        match self.mode {
            Mode::Drain { .. } => {
                phase.producer = if self.host.begun { 16 } else { 0 };
                phase.consumer = phase.consumer.max(8);
                phase.finisher = phase.finisher.max(8);
            }
            // Until nothing has room.
            Mode::Work { endless: true, left } if left > 750 => {
                phase = Phase { producer: 16, consumer: 16, finisher: 0, ..phase };
            }
            Mode::Work { .. } => {}
        }

        let waited = self.host.offered;
        let beat = self.host.offer(&mut self.rng, phase.producer);
        if beat.is_some() && !waited {
            let grid = self.grid();
            self.launch = launch(&mut self.rng, self.params.dispatch().sms().limits(), grid);
        }
        let partition = self.given.partition.or_else(|| self.partition());
        let rng = &mut self.rng;
        let mut given = FrontEndIn {
            rst_ni,
            host: beat.map(|beat| (beat, self.launch)),
            cta_ready: std::array::from_fn(|_| chance(rng, phase.consumer, 16)),
            done: self.given.done,
            partition,
            counter: rng.below(16) as u8,
        };
        for (p, (done, running)) in given.done.iter_mut().zip(&mut self.running).enumerate() {
            if done.is_none() && !running.is_empty() && chance(rng, phase.finisher, 16) {
                *done = Some(running.swap_remove(rng.below(running.len() as u64) as usize));
            }
            // An error: no SM can be given back what it does not have, so only where the reset sweeps it away.
            if !rst_ni && cycle > 1 && chance(rng, 1, 2) {
                let slot = rng.below(self.params.dispatch().slots() as u64) as u8;
                *done = Some(CtaDone { sm: p as u8, slot });
            }
        }
        self.ports.pack(&given, inputs);
        self.given = given;
    }
}

//! Golden model of `front_end`: the parts' models, joined as the page draws them, and the counters.

use super::io::{Counter, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, MAX_CTA_CHANNELS};
use crate::cta_arbiter_typed::model::{ChannelIn, ChannelModel};
use crate::kernel_scheduler::io::{HostBeat, SchedulerIn};
use crate::kernel_scheduler::model::SchedulerModel;
use crate::kernel_table::model::{Done, Kernel, TableIn, TableModel};
use crate::model::{CycleError, CycleModel};
use crate::params::{DONE_PORTS, FrontEndParams, MAX_PLACES, SmParams};
use crate::port::{Direction, Layout, MissingPort, Port};
use crate::sm_occupancy::model::{Free, OccupancyIn, OccupancyModel};
use crate::sm_partitions::model::{PartitionsIn, PartitionsModel};

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct FrontEndModel {
    scheduler: SchedulerModel,
    table: TableModel,
    channels: Vec<ChannelModel>,
    /// CTA ports per channel.
    places: usize,
    sms: SmParams,
    occupancy: OccupancyModel,
    partitions: PartitionsModel,
    counters: CountersModel,
}

impl FrontEndModel {
    /// A front end without kernels.
    pub fn new(params: FrontEndParams) -> Self {
        let sms = params.dispatch().sms();
        let channels = ChannelModel::of(params.dispatch());
        Self {
            scheduler: SchedulerModel::new(params.scheduler()),
            table: TableModel::new(params.table()),
            occupancy: OccupancyModel::new(sms, params.dispatch().arbiter().requesters()),
            channels,
            places: params.dispatch().places(),
            sms,
            partitions: PartitionsModel::new(sms),
            counters: CountersModel::new(params),
        }
    }

    /// No kernel is in it, no CTA on any SM, and all that was given back has arrived.
    pub fn is_idle(&self) -> bool {
        self.counters.on_sms == 0
            && self.scheduler.is_empty()
            && self.table.is_empty()
            && self.channels.iter().all(ChannelModel::is_empty)
            && self.occupancy.is_settled()
    }

    /// All SMs have what empty ones have.
    pub fn resources_full(&self) -> bool {
        self.occupancy.all_empty()
    }

    /// CTAs that were taken from their channels and whose completions were not taken: for tests of stimuli.
    #[doc(hidden)]
    pub fn ctas_on_sms(&self) -> u64 {
        self.counters.on_sms
    }

    /// One cycle: the outputs for `input`, then the clock edge.
    pub fn cycle(&mut self, input: &FrontEndIn) -> FrontEndOut {
        let rst_ni = input.rst_ni;
        let retire = self.table.retire();
        let mut scheduler = self.scheduler.cycle(&SchedulerIn {
            rst_ni,
            host: input.host.map(|(beat, _)| beat),
            disp_ready: true,
            retire,
        });
        let ret_ready = std::mem::take(&mut scheduler.retire_ready);
        let dispatch = scheduler.offer.map(|offer| offer.slot);
        let next = self.table.next(dispatch);

        let mut out = FrontEndOut { scheduler, ..FrontEndOut::default() };
        for (retired, (slot, ready)) in out.retired.iter_mut().zip(retire.iter().zip(ret_ready)) {
            *retired = slot.filter(|_| ready);
        }

        let holds = !self.occupancy.runs();
        let mut to_partitions = PartitionsIn { rst_ni, write: input.partition, holds, ..Default::default() };
        let partitions = self.partitions.outputs(&to_partitions);
        let wake = input.partition.is_some();
        let mut to_occupancy = OccupancyIn { rst_ni, allow: partitions.allow, wake, ..Default::default() };
        out.partition_ready = partitions.write_ready;
        out.run = !holds;

        let fit = self.occupancy.fit();
        let mut next_ready = [false; MAX_CTA_CHANNELS];
        let mut no_room = [false; MAX_CTA_CHANNELS];
        for (c, channel) in self.channels.iter_mut().enumerate() {
            let first = c * self.places;
            let mut cta_ready = [false; MAX_PLACES];
            cta_ready[..self.places].copy_from_slice(&input.cta_ready[first..first + self.places]);
            let channel =
                channel.cycle(&ChannelIn { rst_ni, kernel: next[c], fit: fit[c], cta_ready, holds });
            next_ready[c] = channel.kernel_ready;
            no_room[c] = channel.no_room;
            out.cta[first..first + self.places].copy_from_slice(&channel.cta[..self.places]);
            to_partitions.part[c] = channel.need.map_or(0, |need| need.partition);
            to_occupancy.need[c] = channel.need.map(|need| need.needs);
            to_occupancy.place[c] = channel.place;
        }

        let mut done = [Done::default(); DONE_PORTS];
        let mut elsewhere = false;
        let mut all_ended = 0;
        for (p, ended) in input.done.iter().enumerate() {
            // Ports of a channel without offer are zero.
            let (valid, sm, slot) = ended.map_or((false, 0, 0), |d| (true, d.sm, d.slot));
            let ready = self.occupancy.free_ready(p, sm);
            out.done_ready[p] = ready;
            // Others are ignored.
            let own = usize::from(sm) < self.sms.sms() && usize::from(sm) % DONE_PORTS == p;
            let ends = valid && own && self.table.runs(slot);
            to_occupancy.free[p] = Free { valid: ends, sm, needs: self.table.needs(slot) };
            done[p] = Done { valid: valid && own && ready, slot };
            elsewhere |= valid && ready && !own;
            all_ended += u64::from(ends && ready);
        }

        out.count = self.counters.cycle(input, &out, all_ended, no_room).1;
        let insert = scheduler.inserted.zip(input.host).map(|(slot, (beat, mut launch))| {
            let (HostBeat::Ids { id, .. } | HostBeat::Mask { id, .. }) = beat;
            // What no SM can run goes on as a marker.
            if !launch.needs.fit(self.sms.limits()) {
                out.host_error = launch.grid > 0;
                launch.grid = 0;
            }
            Kernel { slot, id, launch }
        });
        let table = self.table.cycle(&TableIn { rst_ni, insert, dispatch, next_ready, done, ret_ready });
        out.done_error = table.done_error || elsewhere;
        self.occupancy.cycle(&to_occupancy);
        self.partitions.cycle(&to_partitions);
        out
    }
}

/// The counters, from what is on the front end's ports.
#[derive(Clone, Debug)]
pub struct CountersModel {
    /// CTA ports per channel.
    places: usize,
    counters: [u64; Counter::ALL.len()],
    /// As they were one cycle ago: events are counted from registers.
    counted: [u64; Counter::ALL.len()],
    /// What is being read, the number of the counter first: of the last cycle, and of the one before, which comes out.
    read: [(u8, u64); 2],
    /// CTAs that were taken from their channels and have not ended.
    on_sms: u64,
}

impl CountersModel {
    /// All are 0.
    pub fn new(params: FrontEndParams) -> Self {
        Self {
            places: params.dispatch().places(),
            counters: Default::default(),
            counted: Default::default(),
            read: Default::default(),
            on_sms: 0,
        }
    }

    /// One cycle in which CTAs `ended`, and of each channel whether it looked at SMs and found `no_room`: the number of the counter that
    /// is read at the end of it, and its value. `out.count` is not looked at.
    pub fn cycle(
        &mut self,
        input: &FrontEndIn,
        out: &FrontEndOut,
        ended: u64,
        no_room: [bool; MAX_CTA_CHANNELS],
    ) -> (u8, u64) {
        let value = self.counted.get(usize::from(input.counter)).copied().unwrap_or(0);
        let read = self.read[1];
        self.read = [(input.counter, value), self.read[0]];
        self.count(input, out, ended, no_room);
        read
    }

    fn count(
        &mut self,
        input: &FrontEndIn,
        out: &FrontEndOut,
        ended: u64,
        no_room: [bool; MAX_CTA_CHANNELS],
    ) {
        self.counted = self.counters;
        if !input.rst_ni {
            self.counters.fill(0);
            self.counted.fill(0);
            self.read = Default::default();
            self.on_sms = 0;
            return;
        }
        let counters = &mut self.counters;
        let mut add = |counter: Counter, by: u64| {
            let value = &mut counters[counter as usize];
            *value = value.wrapping_add(by) & 0xFFFF_FFFF_FFFF;
        };
        add(Counter::Cycles, 1);
        add(Counter::WindowSum, out.scheduler.occupancy.into());
        add(Counter::CtaSum, self.on_sms);
        add(Counter::StallLimit, out.scheduler.stall_limit.into());
        add(Counter::StallFull, out.scheduler.stall_full.into());
        add(Counter::StallBusy, out.scheduler.stall_busy.into());
        let mut waits = [false; MAX_CTA_CHANNELS];
        for (port, (cta, ready)) in out.cta.iter().zip(input.cta_ready).enumerate() {
            match cta {
                Some(cta) if ready => {
                    self.on_sms = self.on_sms.wrapping_add(1);
                    add(
                        if cta.kind == CtaType::Tensor { Counter::PlacedTensor } else { Counter::PlacedSimt },
                        1,
                    );
                }
                Some(_) => waits[port / self.places] = true,
                None => {}
            }
        }
        add(Counter::CtaWait0, waits[0].into());
        add(Counter::CtaWait1, waits[1].into());
        add(Counter::NoRoom0, no_room[0].into());
        add(Counter::NoRoom1, no_room[1].into());
        add(Counter::Retired, out.retired.iter().flatten().count() as u64);
        self.on_sms = self.on_sms.wrapping_sub(ended);
    }
}

/// The model behind flat words.
pub struct FlatFrontEnd {
    model: FrontEndModel,
    ports: Vec<Port>,
    io: FrontEndPorts,
}

impl FlatFrontEnd {
    /// The model with `params`, behind the hardware's `ports`.
    pub fn new(params: FrontEndParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let io = FrontEndPorts::new(params, &inputs, &outputs)?;
        Ok(Self { model: FrontEndModel::new(params), ports, io })
    }
}

impl CycleModel for FlatFrontEnd {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let out = self.model.cycle(&self.io.unpack_inputs(inputs));
        self.io.pack_outputs(&out, outputs);
        Ok(())
    }

    fn is_at_rest(&self) -> Option<bool> {
        Some(self.model.is_idle() && self.model.resources_full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_end::io::{CtaDone, CtaNeeds, CtaOut, Launch, MAX_CTA_PORTS};
    use crate::params::{ArbiterKind, Encoding, SchedulerParams, SmLimits, WindowKind};

    const TYPED: ArbiterKind = ArbiterKind::Typed { active: 2 };

    fn front_end(kind: WindowKind, arbiter: ArbiterKind, slots: usize, sms: usize) -> FrontEndModel {
        holding(false, kind, arbiter, slots, sms)
    }

    /// With SMs that stand still while nothing is asked of them, or always go round.
    fn holding(
        holds: bool,
        kind: WindowKind,
        arbiter: ArbiterKind,
        slots: usize,
        sms: usize,
    ) -> FrontEndModel {
        let limits = SmLimits::new(4, 16, 64, 200).unwrap_or_else(|e| panic!("{e}"));
        let params = SmParams::new(sms, limits).and_then(|sms| {
            let scheduler = SchedulerParams::new(kind, slots, 2, 64, Encoding::Ids { lanes: 4 })?;
            FrontEndParams::new(scheduler, arbiter, sms.with_hold(holds))
        });
        FrontEndModel::new(params.unwrap_or_else(|e| panic!("{e}")))
    }

    fn launch(grid: u32, kind: CtaType, warps: u16) -> Launch {
        Launch { grid, kind, partition: 0, needs: CtaNeeds { warps, registers: 8, smem: 20 } }
    }

    fn beat(id: u8, upstream: Option<u8>) -> HostBeat {
        let mut lanes = [None; 8];
        lanes[0] = upstream;
        HostBeat::Ids { id, upstream: lanes, last: true }
    }

    fn ended(cta: CtaOut) -> [Option<CtaDone>; DONE_PORTS] {
        let mut done = [None; DONE_PORTS];
        done[usize::from(cta.sm) % DONE_PORTS] = Some(CtaDone { sm: cta.sm, slot: cta.slot });
        done
    }

    /// Sends the kernel, and runs until its beat is taken.
    fn send(model: &mut FrontEndModel, host: (HostBeat, Launch)) {
        while !model.cycle(&FrontEndIn { host: Some(host), ..FrontEndIn::IDLE }).scheduler.host_ready {}
    }

    /// Runs idle cycles until `seen`; how many there were before, and what it saw.
    fn until<T>(model: &mut FrontEndModel, seen: impl Fn(&FrontEndOut) -> Option<T>) -> (usize, T) {
        for cycle in 0..1000 {
            if let Some(what) = seen(&model.cycle(&FrontEndIn::IDLE)) {
                return (cycle, what);
            }
        }
        panic!("never seen")
    }

    fn first_cta(out: &FrontEndOut) -> Option<CtaOut> {
        out.cta.iter().flatten().next().copied()
    }

    #[test]
    fn from_the_last_completion_to_the_first_cta_of_the_next_kernel_it_takes_four_cycles() {
        for (arbiter, holds) in [ArbiterKind::Single, TYPED].into_iter().flat_map(|a| [(a, false), (a, true)])
        {
            let mut model = holding(holds, WindowKind::Matrix, arbiter, 8, 12);
            for _ in 0..3 {
                model.cycle(&FrontEndIn::IDLE);
            }
            send(&mut model, (beat(0, None), launch(1, CtaType::Tensor, 4)));
            let (cycles, cta) = until(&mut model, first_cta);
            // Dispatched in the cycle after the beat, on the channel two cycles later.
            assert_eq!((cycles, cta.id, cta.kind), (2, 0, CtaType::Tensor));
            send(&mut model, (beat(1, Some(0)), launch(1, CtaType::Tensor, 4)));
            for _ in 0..20 {
                assert_eq!(model.cycle(&FrontEndIn::IDLE).cta, [None; MAX_CTA_PORTS]);
            }
            let mut input = FrontEndIn { done: ended(cta), ..FrontEndIn::IDLE };
            let mut seen = Vec::new();
            for _ in 0..5 {
                let out = model.cycle(&input);
                seen.push((
                    out.retired[0].is_some(),
                    out.scheduler.offer.is_some(),
                    first_cta(&out).is_some(),
                ));
                input = FrontEndIn::IDLE;
            }
            let (no, retired) = ((false, false, false), (true, false, false));
            assert_eq!(seen, [no, retired, (false, true, false), no, (false, false, true)]);
        }
    }

    #[test]
    fn a_tensor_kernel_waits_behind_a_full_gpu_only_with_one_arbiter() {
        for (arbiter, waits) in [(ArbiterKind::Single, true), (TYPED, false)] {
            let mut model = front_end(WindowKind::Matrix, arbiter, 8, 3);
            // SIMT CTAs of 9 of 16 warps: one per SM, and then no room, but for a small one.
            send(&mut model, (beat(0, None), launch(9, CtaType::Simt, 9)));
            send(&mut model, (beat(1, None), launch(1, CtaType::Tensor, 2)));
            let tensor = (0..50).any(|_| {
                let out = model.cycle(&FrontEndIn::IDLE);
                out.cta.iter().flatten().any(|cta| cta.kind == CtaType::Tensor)
            });
            assert_eq!(tensor, !waits);
        }
    }

    #[test]
    fn of_the_kernels_that_wait_for_an_arbiter_the_oldest_goes_first() {
        for kind in [WindowKind::Matrix, WindowKind::List] {
            let mut model = front_end(kind, ArbiterKind::Single, 8, 3);
            for _ in 0..3 {
                model.cycle(&FrontEndIn::IDLE);
            }
            let mut placed: Vec<CtaOut> = Vec::new();
            let mut run = |model: &mut FrontEndModel, mut input: FrontEndIn| {
                for _ in 0..30 {
                    placed.extend(model.cycle(&input).cta.into_iter().flatten());
                    input = FrontEndIn::IDLE;
                }
                placed.clone()
            };
            let ids = |placed: &[CtaOut]| placed.iter().map(|cta| cta.id).collect::<Vec<_>>();
            // A small kernel; one whose CTAs need an SM each, of which two are empty.
            send(&mut model, (beat(0, None), launch(1, CtaType::Simt, 1)));
            let small = run(&mut model, FrontEndIn::IDLE)[0];
            send(&mut model, (beat(1, None), launch(4, CtaType::Simt, 16)));
            run(&mut model, FrontEndIn::IDLE);
            // Kernel 2 waits for the first; 3 and 4 are ready before it, and 3 is offered.
            for (id, upstream) in [(2, Some(0)), (3, None), (4, None)] {
                send(&mut model, (beat(id, upstream), launch(1, CtaType::Simt, 1)));
                run(&mut model, FrontEndIn::IDLE);
            }
            let whole = run(&mut model, FrontEndIn { done: ended(small), ..FrontEndIn::IDLE });
            assert_eq!(ids(&whole), [0, 1, 1, 1]);
            run(&mut model, FrontEndIn { done: ended(whole[1]), ..FrontEndIn::IDLE });
            let all = run(&mut model, FrontEndIn { done: ended(whole[2]), ..FrontEndIn::IDLE });
            assert_eq!(ids(&all), [0, 1, 1, 1, 1, 3, 2, 4]);
        }
    }

    #[test]
    fn counters_count() {
        let mut model = front_end(WindowKind::Matrix, TYPED, 8, 3);
        for _ in 0..3 {
            model.cycle(&FrontEndIn::IDLE);
        }
        send(&mut model, (beat(0, None), launch(5, CtaType::Simt, 9)));
        let mut done = [None; DONE_PORTS];
        for cycle in 0..40 {
            let mut cta_ready = [true; MAX_CTA_PORTS];
            cta_ready[0] = cycle >= 5;
            let out = model.cycle(&FrontEndIn { cta_ready, done, ..FrontEndIn::IDLE });
            done = out.cta[0].filter(|_| cta_ready[0]).map_or([None; DONE_PORTS], ended);
        }
        let mut read = |counter: u8| {
            let named = FrontEndIn { counter, ..FrontEndIn::IDLE };
            [0; 3].map(|_| model.cycle(&named).count)[2]
        };
        // Two cycles after it was named, as it was one cycle before: 3 idle cycles, the kernel's, and 40.
        assert_eq!(read(Counter::Cycles as u8), 43);
        assert_eq!(read(Counter::PlacedSimt as u8), 5);
        assert_eq!(read(Counter::PlacedTensor as u8), 0);
        // On the channel from the third cycle after the beat on.
        assert_eq!(read(Counter::CtaWait0 as u8), 3);
        assert_eq!(read(Counter::Retired as u8), 1);
        // Each ends in the cycle after it was taken.
        assert_eq!(read(Counter::CtaSum as u8), 5);
        assert_eq!(read(13), 0);
        assert!(model.is_idle() && model.resources_full());
    }

    /// Random kernels, and CTAs that end in any order.
    #[test]
    fn after_random_traffic_all_is_as_it_was() {
        let single = [ArbiterKind::Single, TYPED, ArbiterKind::Typed { active: 4 }];
        for (kind, arbiter) in
            [WindowKind::Matrix, WindowKind::List].into_iter().flat_map(|k| single.map(|a| (k, a)))
        {
            let mut model = front_end(kind, arbiter, 16, 11);
            let mut state = 7_u64;
            let mut below = |bound: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % bound
            };
            let (mut running, mut host, mut id): (Vec<CtaOut>, _, u8) = (Vec::new(), None, 0);
            let mut done = [None; DONE_PORTS];
            let (mut placed, mut retired, mut kernels, mut ctas) = (0, 0, 0, 0);
            for cycle in 0..30_000 {
                let ending = cycle > 15_000;
                if host.is_none() && !ending && below(4) > 0 {
                    let kind = CtaType::of_bit(below(2) == 1);
                    let launch = launch(1 + below(12) as u32, kind, 1 + below(16) as u16);
                    let upstream = (kernels > 0 && below(2) == 0).then(|| id.wrapping_sub(1));
                    host = Some((beat(id, upstream), launch));
                    (id, kernels, ctas) = (id.wrapping_add(1), kernels + 1, ctas + launch.grid);
                }
                for (p, done) in done.iter_mut().enumerate().filter(|(_, done)| done.is_none()) {
                    let mine = running.iter().position(|cta| usize::from(cta.sm) % DONE_PORTS == p);
                    if let Some(i) = mine.filter(|_| below(6) == 0) {
                        let cta = running.swap_remove(i);
                        *done = Some(CtaDone { sm: cta.sm, slot: cta.slot });
                    }
                }
                let cta_ready = std::array::from_fn(|_| below(8) > 0);
                let out = model.cycle(&FrontEndIn { host, cta_ready, done, ..FrontEndIn::IDLE });
                assert!(!out.done_error && !out.scheduler.retire_error);
                host = host.filter(|_| !out.scheduler.host_ready);
                for (done, ready) in done.iter_mut().zip(out.done_ready) {
                    *done = done.filter(|_| !ready);
                }
                let taken = out.cta.iter().zip(cta_ready).filter_map(|(cta, ready)| cta.filter(|_| ready));
                placed += taken.clone().count() as u32;
                running.extend(taken);
                retired += out.retired.iter().flatten().count();
            }
            assert!(kernels > 300, "{kernels}");
            assert_eq!((retired, placed), (kernels, ctas));
            assert!(model.is_idle() && model.resources_full());
        }
    }
}

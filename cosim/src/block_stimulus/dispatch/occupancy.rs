//! The SM array alone.

use super::super::{Kernels, Phase, chance, random_bits, reset};
use super::{LEAST, SETTLED, everything, most_ctas, needs, partition_write};
use crate::stimulus::{Rng, Stimulus};
use windlass_rtl::front_end::CtaNeeds;
use windlass_rtl::model::ones;
use windlass_rtl::params::{DONE_PORTS, PARTITIONS, Requesters, SLICES, SmLimits, SmParams};
use windlass_rtl::port::Layout;
use windlass_rtl::sm_occupancy::model::{Free, MAX_REQUESTERS, OccupancyIn, OccupancyModel, OccupancyPorts};
use windlass_rtl::sm_partitions::model::{PartitionsIn, PartitionsModel};

/// What all SMs are filled with at the end of a run, one after the other, so that each resource is used up once.
#[derive(Clone, Copy)]
struct Fill {
    needs: CtaNeeds,
    on_each: usize,
    /// What fits nowhere when all are placed.
    too_much: CtaNeeds,
}

/// As many as [`Fill::new`] knows: CTA slots, warps, registers, shared memory.
const FILLS: usize = 4;

impl Fill {
    fn new(number: usize, sm: SmLimits) -> Self {
        let all = everything(sm);
        let needs = match number {
            0 => LEAST,
            1 => CtaNeeds { warps: all.warps, ..LEAST },
            2 => CtaNeeds { registers: all.registers, ..LEAST },
            _ => CtaNeeds { smem: all.smem, ..LEAST },
        };
        Self {
            needs,
            on_each: if number == 0 { most_ctas(sm) } else { 1 },
            too_much: CtaNeeds { smem: needs.smem.min(1), ..LEAST },
        }
    }
}

/// About what an SM with one CTA that needs `of` has left: it fits or just not.
fn rest(rng: &mut Rng, sm: SmLimits, of: CtaNeeds) -> CtaNeeds {
    let mut part = |least: u16, all: u16, of: u16| {
        (all.saturating_sub(of) + rng.below(3) as u16).saturating_sub(1).clamp(least, all)
    };
    CtaNeeds {
        warps: part(1, sm.warps(), of.warps),
        registers: part(1, sm.registers(), of.registers),
        smem: part(0, sm.smem(), of.smem),
    }
}

/// So little that an SM has room for as many CTAs as it has slots, or nearly.
fn crumb(rng: &mut Rng, sm: SmLimits) -> CtaNeeds {
    let mut part = |least: u16, all: u16| least.max(rng.below(1 + u64::from(all / sm.ctas().max(1))) as u16);
    CtaNeeds { warps: part(1, sm.warps()), registers: part(1, sm.registers()), smem: part(0, sm.smem()) }
}

/// What an SM has left beside these CTAs.
fn left<'a>(sm: SmLimits, on_it: impl Iterator<Item = &'a Free>) -> CtaNeeds {
    let less = |left: CtaNeeds, of: CtaNeeds| CtaNeeds {
        warps: left.warps.saturating_sub(of.warps),
        registers: left.registers.saturating_sub(of.registers),
        smem: left.smem.saturating_sub(of.smem),
    };
    on_it.fold(everything(sm), |left, cta| less(left, cta.needs))
}

/// One resource is just enough where an SM has so much of it left, or just not, or any bit and those below it decide. There is enough of the others.
fn just(rng: &mut Rng, sm: SmLimits, left: CtaNeeds, beside: CtaNeeds) -> CtaNeeds {
    let exact = rng.below(3);
    let mut part = |number: u64, least: u16, all: u16, left: u16, beside: u16| {
        let rest = i32::from(left.saturating_sub(beside));
        let least = i32::from(least);
        let needs = if number == exact {
            let bit = 1 << rng.below(11);
            rest + [0, 0, 1, -1, rng.below(bit) as i32 - bit as i32][rng.below(5) as usize]
        } else {
            let part = [1, 4, 16][rng.below(3) as usize];
            least + rng.below(1 + (rest - least).max(0) as u64 / part) as i32
        };
        needs.clamp(least, i32::from(all)) as u16
    };
    CtaNeeds {
        warps: part(0, 1, sm.warps(), left.warps, beside.warps),
        registers: part(1, 1, sm.registers(), left.registers, beside.registers),
        smem: part(2, 0, sm.smem(), left.smem, beside.smem),
    }
}

/// The end of a run: SMs become empty, are filled to the brim, become empty again, and so on.
#[derive(Clone, Copy)]
enum Ending {
    Empty { fills: usize, quiet: u64 },
    Fill { fills: usize, placed: usize, quiet: u64 },
}

/// `sm_occupancy`: needs that change or stay, CTAs placed within `fit`, completions of what was placed. At the end every SM must have room for as
/// many CTAs as an empty one, and for no more.
pub(in super::super) struct OccupancyStimulus {
    rng: Rng,
    params: SmParams,
    requesters: usize,
    ports: OccupancyPorts,
    /// Says what fits in the cycle that is being made up: only there may be placed.
    model: OccupancyModel,
    /// Says which lanes a requester may use.
    partitions: PartitionsModel,
    kernels: Kernels,
    phase: Phase,
    /// Cycles in which CTAs still come and none ends, until nothing has room.
    filling: u64,
    /// Until then they need so little that it is CTA slots that an SM has no more of.
    crumbs: bool,
    given: OccupancyIn,
    to_partitions: PartitionsIn,
    /// What was needed one and two cycles before.
    needs: [[Option<CtaNeeds>; MAX_REQUESTERS]; 2],
    /// CTAs on SMs, by completion channel.
    running: [Vec<Free>; DONE_PORTS],
    done: [Option<Free>; DONE_PORTS],
    ending: Option<Ending>,
    fault: Option<String>,
}

impl OccupancyStimulus {
    /// For a block with these ports.
    pub fn new(
        rng: Rng,
        params: SmParams,
        requesters: Requesters,
        inputs: &Layout,
        outputs: &Layout,
        kernels: Kernels,
    ) -> Self {
        let ports = OccupancyPorts::new(params, requesters, inputs, outputs)
            .unwrap_or_else(|e| unreachable!("the block's own ports: {e}"));
        Self {
            rng,
            params,
            requesters: requesters.count(),
            ports,
            model: OccupancyModel::new(params, requesters),
            partitions: PartitionsModel::new(params),
            kernels,
            phase: Phase::default(),
            filling: 0,
            crumbs: false,
            given: OccupancyIn::default(),
            to_partitions: PartitionsIn::default(),
            needs: Default::default(),
            running: Default::default(),
            done: [None; DONE_PORTS],
            ending: None,
            fault: None,
        }
    }

    /// Where the last cycle's CTAs went, and which completions were taken.
    fn seen(&mut self, last: &[u32]) {
        // Of each requester, the SMs that get a CTA.
        let sms = self
            .given
            .place
            .map(|place| ones(place).map(|lane| self.model.sm(1 << lane)).collect::<Vec<_>>());
        let out = self.model.cycle(&self.given);
        if self.ending.is_some() {
            self.end(self.ports.unpack(last).fit);
        }
        let taken = self.partitions.cycle(&self.to_partitions).write_ready;
        self.to_partitions.write = self.to_partitions.write.filter(|_| !taken);
        for (done, ready) in self.done.iter_mut().zip(out.free_ready) {
            *done = done.filter(|_| !ready);
        }
        for (sms, needs) in sms.iter().zip(self.needs[1]).take(self.requesters) {
            for &sm in sms {
                if let Some(needs) = needs {
                    self.running[usize::from(sm) % DONE_PORTS].push(Free { valid: true, sm, needs });
                }
            }
        }
        self.needs = [self.given.need, self.needs[0]];
        if !self.given.rst_ni {
            self.running.iter_mut().for_each(Vec::clear);
            self.done = [None; DONE_PORTS];
            self.needs = Default::default();
        }
    }

    /// Moves the end of the run on, where `fit` is what the block found room in.
    fn end(&mut self, fit: [u64; MAX_REQUESTERS]) {
        let sms = self.params.sms();
        let idle = self.running.iter().all(Vec::is_empty) && self.done.iter().all(Option::is_none);
        self.ending = self.ending.map(|ending| match ending {
            Ending::Empty { fills, quiet } if quiet > SETTLED && fills < FILLS => {
                Ending::Fill { fills, placed: 0, quiet: 0 }
            }
            Ending::Empty { fills, quiet } => {
                Ending::Empty { fills, quiet: if idle { quiet + 1 } else { 0 } }
            }
            Ending::Fill { fills, placed, quiet } => {
                let r = fills % self.requesters;
                let Fill { needs, on_each, too_much } = Fill::new(fills, self.params.limits());
                let (place, wanted) = (self.given.place[r], sms * on_each);
                let before = placed;
                let placed = placed + ones(place).count();
                if place & !fit[r] != 0 {
                    let text = format!("{before} of {wanted} CTAs are on SMs, and one that should have room for another has none: {needs:?}");
                    self.fault.get_or_insert(text);
                }
                // What fits now was compared after the last placement was charged.
                if quiet > SETTLED && fit[r] != 0 {
                    let text = format!("{placed} of {wanted} CTAs are on SMs, and one has room for another: {too_much:?}");
                    self.fault.get_or_insert(text);
                }
                match placed == wanted {
                    true if quiet > 2 * SETTLED => Ending::Empty { fills: fills + 1, quiet: 0 },
                    full => Ending::Fill { fills, placed, quiet: if full { quiet + 1 } else { 0 } },
                }
            }
        });
    }
}

impl Stimulus for OccupancyStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            self.seen(last);
        }
        let rng = &mut self.rng;
        let mut phase = self.phase.next(rng);
        let rst_ni = self.ending.is_some() || !reset(rng, cycle);
        if rng.below(3000) == 0 {
            self.filling = 5 * self.params.sms() as u64;
            // A slice gets one of each type in a turn.
            self.crumbs = chance(rng, 1, 2);
            if self.crumbs {
                self.filling += (SLICES * most_ctas(self.params.limits())) as u64;
            }
        }
        if self.filling > 0 {
            self.filling -= 1;
            phase = Phase { producer: 16, consumer: 16, finisher: 0, ..phase };
        }
        match self.ending {
            Some(Ending::Empty { .. }) => phase = Phase { producer: 0, consumer: 0, finisher: 16, ..phase },
            Some(Ending::Fill { quiet, .. }) => {
                let producer = if quiet == 0 { 16 } else { 0 };
                phase = Phase { producer, consumer: 0, finisher: 0, ..phase };
            }
            None => {}
        }

        let part = &mut self.to_partitions;
        part.rst_ni = rst_ni;
        part.holds = !self.model.runs();
        if part.write.is_none() && self.ending.is_none() && chance(rng, 1, 8) {
            part.write = Some(partition_write(rng, 6));
        }
        for part in &mut part.part {
            if chance(rng, 1, 30) {
                *part = rng.below(PARTITIONS as u64) as u8;
            }
        }

        let mut given = OccupancyIn { rst_ni, ..self.given };
        // A write needs the slices to go round; else they are woken for nothing now and then.
        given.wake = self.params.holds() && (part.write.is_some() || chance(rng, 1, 16));
        given.allow = match self.ending {
            Some(_) => [u64::MAX; MAX_REQUESTERS],
            None => self.partitions.outputs(&self.to_partitions).allow,
        };
        for (r, fit) in self.model.fit().into_iter().enumerate().take(self.requesters) {
            if let Some(ending) = self.ending {
                given.need[r] = ending.need(r, self.requesters, self.params);
            } else if chance(rng, 1, 6) {
                let before = given.need[r].filter(|_| chance(rng, 1, 3));
                let limits = self.params.limits();
                given.need[r] = chance(rng, phase.consumer, 16).then(|| match before {
                    _ if self.filling > 0 && self.crumbs => crumb(rng, limits),
                    Some(before) => rest(rng, limits, before),
                    None if chance(rng, 1, 3) => {
                        let sm = rng.below(self.params.sms() as u64) as u8;
                        let port = usize::from(sm) % DONE_PORTS;
                        let on_it =
                            self.running[port].iter().chain(&self.done[port]).filter(|cta| cta.sm == sm);
                        // Both fit, or just not both.
                        let other = given.need[MAX_REQUESTERS - 1 - r].filter(|_| chance(rng, 1, 2));
                        just(rng, limits, left(limits, on_it), other.unwrap_or_default())
                    }
                    None => needs(rng, limits, self.kernels),
                });
            }
            let bits = random_bits(rng, 64) as u64;
            let lanes = if fit & bits == 0 { fit } else { fit & bits };
            // One of them, or several, as where an arbiter has several places.
            let lanes =
                if self.ending.is_some() || chance(rng, 3, 4) { lanes & lanes.wrapping_neg() } else { lanes };
            given.place[r] = if chance(rng, phase.producer, 16) { lanes } else { 0 };
        }
        for (p, running) in self.running.iter_mut().enumerate() {
            if self.done[p].is_none() && !running.is_empty() && chance(rng, phase.finisher, 16) {
                // The last that came, or any.
                let last = running.len() - 1;
                let pick = if chance(rng, 1, 3) { last } else { rng.below(running.len() as u64) as usize };
                self.done[p] = Some(running.swap_remove(pick));
            }
            // Without an offer, what they need says nothing, and the SM only what is ready for it: it may be one that is not there.
            given.free[p] = self.done[p].unwrap_or_else(|| {
                let any = rng.next_u64() as u8;
                let of_port =
                    p as u64 + DONE_PORTS as u64 * rng.below(self.params.sms().div_ceil(DONE_PORTS) as u64);
                let sm = match chance(rng, 1, 2) {
                    true => any,
                    false if of_port < self.params.sms() as u64 => of_port as u8,
                    false => p as u8,
                };
                Free { valid: false, sm, needs: needs(rng, self.params.limits(), self.kernels) }
            });
        }
        self.ports.pack(&given, inputs);
        self.given = given;
    }

    fn keeps_books(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn finish(&mut self) {
        self.filling = 0;
        self.ending = Some(Ending::Empty { fills: 0, quiet: 0 });
    }

    fn is_finished(&self) -> bool {
        matches!(self.ending, Some(Ending::Empty { fills: FILLS, quiet }) if quiet > SETTLED)
    }
}

impl Ending {
    /// What requester `r` of `requesters` needs.
    fn need(self, r: usize, requesters: usize, params: SmParams) -> Option<CtaNeeds> {
        let Self::Fill { fills, quiet, .. } = self else { return None };
        let fill = Fill::new(fills, params.limits());
        (r == fills % requesters).then_some(if quiet > 0 { fill.too_much } else { fill.needs })
    }
}

//! All of it, between a host and SMs.

use super::super::ledger::Ledger;
use super::super::{Host, Phase, chance, reset};
use super::{LEAST, SETTLED, everything, grid, launch, most_ctas, partition_write};
use crate::stimulus::{Rng, Stimulus};
use windlass_rtl::front_end::{
    Counter, CtaDone, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, Launch, PartitionWrite,
};
use windlass_rtl::kernel_scheduler::io::HostBeat;
use windlass_rtl::params::{DONE_PORTS, FrontEndParams, PARTITIONS};
use windlass_rtl::port::Layout;

/// What the front end's host does at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Kernels are sent, for so many cycles more. Where grids are endless, a reset ends it.
    Work { left: u64, endless: bool },
    /// No new kernels; all partitions get all SMs, so that every CTA finds one, and so many words were written; nothing has
    /// happened for so many cycles.
    Drain { written: usize, quiet: u64 },
    /// Once all is drained for the last time: a kernel that fills every SM, whose CTAs end only when all are placed.
    Probe { number: usize, sent: bool, full: bool },
}

/// Kernels of [`Mode::Probe`]: one of either type that takes all but CTA slots, one that takes all CTA slots.
const PROBES: usize = 3;

/// Cycles of work before the last drain.
const LAST_WORK: u64 = 300;

/// Ids of kernels.
const IDS: usize = 256;

/// What the counters must show, by number.
#[derive(Clone, Copy, Default)]
struct Counts {
    on_sms: u64,
    cta_sum: u64,
    placed: [u64; 2],
    retired: u64,
}

impl Counts {
    fn expected(&self, counter: u8) -> Option<u64> {
        [
            (Counter::CtaSum, self.cta_sum),
            (Counter::PlacedSimt, self.placed[0]),
            (Counter::PlacedTensor, self.placed[1]),
            (Counter::Retired, self.retired),
        ]
        .into_iter()
        .find_map(|(which, value)| (which as u8 == counter).then_some(value))
    }
}

/// `front_end`: a host as in `kernel_scheduler`, SMs whose CTAs end in any order, partitions that are rewritten on the fly. Every thousand
/// cycles or so it lets everything end.
///
/// Of each kernel every CTA must be placed once, end once, and then the kernel must retire, once. After the last drain every SM must have room for as
/// many CTAs as an empty one.
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
    /// By id.
    ledger: Ledger,
    /// Ids of dispatched kernels, by slot.
    slots: Vec<Option<u8>>,
    counts: Counts,
    /// Probes that are done.
    probed: usize,
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
            ledger: Ledger::new(IDS),
            slots: vec![None; params.dispatch().slots()],
            counts: Counts::default(),
            probed: 0,
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
        self.book(&out);
        let sent = out.scheduler.host_ready && self.host.offered && self.host.beats.len() == 1;
        self.kernels += usize::from(sent);
        if let (true, Mode::Probe { sent, .. }) = (sent, &mut self.mode) {
            *sent = true;
        }
        self.kernels = self.kernels.saturating_sub(out.retired.iter().flatten().count());
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
        if self.is_finished() && (out.scheduler.occupancy > 0 || out.scheduler.oldest.is_some()) {
            let occupancy = out.scheduler.occupancy;
            self.ledger.report(|| format!("where all has ended, {occupancy} kernels are in the window"));
        }
    }

    /// Enters the last cycle's transfers in the books.
    fn book(&mut self, out: &FrontEndOut) {
        let Self { ledger, counts, given, slots, .. } = self;
        if let Some(expected) = counts.expected(given.counter).filter(|expected| *expected != out.count) {
            let (counter, shown) = (given.counter, out.count);
            ledger.report(|| format!("counter {counter} shows {shown} where it was {expected} by the ports"));
        }
        counts.cta_sum += counts.on_sms;
        if let Some((beat, launch)) = given.host.filter(|_| out.scheduler.host_ready) {
            let (id, last) = match beat {
                HostBeat::Ids { id, last, .. } => (id, last),
                HostBeat::Mask { id, .. } => (id, true),
            };
            if last {
                ledger.come(id, launch.grid);
            }
        }
        for slot in out.retired.into_iter().flatten() {
            counts.retired += 1;
            match slots[usize::from(slot)].take() {
                Some(id) => ledger.done(id),
                None => {
                    ledger.report(|| format!("the kernel in slot {slot} retires, and was not dispatched"))
                }
            }
        }
        for cta in out.cta.iter().zip(given.cta_ready).filter_map(|(cta, ready)| cta.filter(|_| ready)) {
            counts.on_sms += 1;
            counts.placed[usize::from(cta.kind == CtaType::Tensor)] += 1;
            ledger.place(cta.id, cta.index);
            if slots[usize::from(cta.slot)] != Some(cta.id) {
                ledger.report(|| {
                    format!("a CTA of kernel {} comes from slot {}, where it is not", cta.id, cta.slot)
                });
            }
        }
        if let Some(offer) = out.scheduler.offer
            && slots[usize::from(offer.slot)].replace(offer.id).is_some()
        {
            ledger.report(|| format!("slot {} is dispatched while its kernel runs", offer.slot));
        }
        for done in given.done.iter().zip(out.done_ready).filter_map(|(done, ready)| done.filter(|_| ready)) {
            counts.on_sms = counts.on_sms.saturating_sub(1);
            if let Some(id) = slots[usize::from(done.slot)] {
                ledger.end(id);
            }
        }
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
        self.ledger.clear();
        self.slots.fill(None);
        self.counts = Counts::default();
        self.given = FrontEndIn::RESET;
        self.mode = self.work();
    }

    fn work(&mut self) -> Mode {
        if self.ending {
            return Mode::Work { left: LAST_WORK, endless: false };
        }
        let endless = self.rng.below(4) == 0;
        let sms = self.params.dispatch().sms().sms() as u64;
        Mode::Work { left: self.rng.below(1500) + if endless { 6 * sms } else { 0 }, endless }
    }

    /// Moves on to the next mode, or asks for a reset.
    fn step(&mut self) -> bool {
        match self.mode {
            Mode::Work { left: 0, endless: true } => return true,
            Mode::Work { endless: true, .. } if self.ending => return true,
            Mode::Work { left: 0, .. } => {
                self.mode = Mode::Drain { written: 0, quiet: 0 };
            }
            Mode::Work { left, endless } => self.mode = Mode::Work { left: left - 1, endless },
            Mode::Drain { quiet, .. } if quiet > 2 * SETTLED && !self.ending => self.mode = self.work(),
            Mode::Drain { quiet, .. } if quiet > 2 * SETTLED && self.probed < PROBES => {
                self.mode = Mode::Probe { number: self.probed, sent: false, full: false };
            }
            Mode::Drain { written, quiet } => {
                let quiet = if self.is_quiet() && written == self.words() { quiet + 1 } else { 0 };
                self.mode = Mode::Drain { written, quiet };
            }
            Mode::Probe { number, sent, full: false } => {
                let full = self.is_full(number);
                self.mode = Mode::Probe { number, sent, full };
            }
            Mode::Probe { full: true, .. } if self.is_quiet() => {
                self.probed += 1;
                self.mode = Mode::Drain { written: self.words(), quiet: 0 };
            }
            Mode::Probe { .. } => {}
        }
        false
    }

    /// The kernel of a probe: how many CTAs it gives each SM, and what it is.
    fn probe(&self, number: usize) -> (usize, Launch) {
        let sms = self.params.dispatch().sms();
        let (on_each, needs) = match number {
            0 | 1 => (1, everything(sms.limits())),
            _ => (most_ctas(sms.limits()), LEAST),
        };
        let partition = number as u8 % PARTITIONS as u8;
        let kind = CtaType::of_bit(number != 0);
        (on_each, Launch { grid: (on_each * sms.sms()) as u32, kind, partition, needs })
    }

    /// Whether all CTAs of a probe are on SMs, the same number on each.
    fn is_full(&mut self, number: usize) -> bool {
        let (on_each, launch) = self.probe(number);
        let full = self.running.iter().map(Vec::len).sum::<usize>() == launch.grid as usize;
        if full {
            let mut on_sm = vec![0; self.params.dispatch().sms().sms()];
            self.running.iter().flatten().for_each(|cta| on_sm[usize::from(cta.sm)] += 1);
            if let Some(sm) = on_sm.iter().position(|ctas| *ctas != on_each) {
                let ctas = on_sm[sm];
                self.ledger
                    .report(|| format!("SM {sm} has {ctas} CTAs of a kernel of which it can have {on_each}"));
            }
        }
        full
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
            Mode::Probe { sent, full, .. } => {
                phase.producer = if sent { 0 } else { 16 };
                phase.consumer = phase.consumer.max(8);
                phase.finisher = if full { phase.finisher.max(8) } else { 0 };
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
            self.launch = if let Mode::Probe { number, .. } = self.mode {
                self.probe(number).1
            } else {
                let grid = self.grid();
                launch(&mut self.rng, self.params.dispatch().sms().limits(), grid)
            };
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

    fn fault(&self) -> Option<&str> {
        self.ledger.fault()
    }

    fn finish(&mut self) {
        self.drain();
        if let Mode::Work { left, endless: false } = self.mode {
            self.mode = Mode::Work { left: left.min(LAST_WORK), endless: false };
        }
    }

    fn is_finished(&self) -> bool {
        self.probed == PROBES && self.is_drained()
    }
}

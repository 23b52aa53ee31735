//! All of it, between a host and SMs.

use super::super::ledger::Ledger;
use super::super::{Host, Kernels, Phase, chance, reset};
use super::{
    ENDLESS, FAR, LEAST, SETTLED, Spell, carrying_grid, everything, grid, launch, most_ctas, partition_write,
};
use crate::stimulus::{Rng, Stimulus};
use std::ops::Range;
use windlass_rtl::front_end::{
    Counter, CtaDone, CtaNeeds, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, Launch, PartitionWrite,
};
use windlass_rtl::kernel_scheduler::io::HostBeat;
use windlass_rtl::params::{DONE_PORTS, FrontEndParams, PARTITIONS};
use windlass_rtl::port::Layout;

/// What the front end's host does at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Kernels are sent, for so many cycles more. Where grids are endless, a reset ends it: in all spells but the usual one.
    Work { left: u64, spell: Spell },
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

/// Cycles without a reset, later than the tests go: the first half as usual, in the second kernels of which the oldest never ends. So each counter
/// counts for long, and a kernel has many CTAs.
const STEADY: Range<u64> = 20_000..80_000;

/// Cycles without a reset in which some kernels have so many CTAs that the upper half of a count is used up.
const COUNTED_OUT: Range<u64> = FAR..900_000;

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
    /// Of each completion port, what is given is wrong: it is ignored.
    stray: [bool; DONE_PORTS],
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
    /// As they were one cycle ago.
    counted: Counts,
    /// What the counters that were named in the last cycle, and in the one before, must show; the latter comes out.
    read: [Option<u64>; 2],
    /// Probes that are done.
    probed: usize,
    /// Most kernels without end at the same time, in a spell that has them.
    endless: usize,
    /// So many kernels are small before those of [`Spell::Hurried`] come, and until this cycle no CTA is taken: then those without end wait in the
    /// table before an arbiter has them.
    pile: (usize, u64),
    cycle: u64,
    /// It sends packets that no SM can run, and completions of nothing.
    errs: bool,
    /// [`COUNTED_OUT`], or never.
    counted_out: Range<u64>,
}

impl FrontEndStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: FrontEndParams, inputs: &Layout, outputs: &Layout) -> Self {
        Self::with(rng, params, inputs, outputs, Kernels::Usual)
    }

    pub(in super::super) fn with(
        rng: Rng,
        params: FrontEndParams,
        inputs: &Layout,
        outputs: &Layout,
        sends: Kernels,
    ) -> Self {
        let ports = FrontEndPorts::new(params, inputs, outputs)
            .unwrap_or_else(|e| unreachable!("the block's own ports: {e}"));
        Self {
            rng,
            params,
            ports,
            host: Host::new(params.scheduler().upstream()),
            launch: Launch::default(),
            phase: Phase::default(),
            mode: Mode::Work { left: 1000, spell: Spell::Usual },
            ending: false,
            given: FrontEndIn::RESET,
            stray: [false; DONE_PORTS],
            kernels: 0,
            running: Default::default(),
            placed: 0,
            freed: 0,
            ledger: Ledger::new(IDS, params.dispatch().places()),
            slots: vec![None; params.dispatch().slots()],
            counts: Counts::default(),
            counted: Counts::default(),
            read: [None; 2],
            probed: 0,
            endless: 0,
            pile: (0, 0),
            cycle: 0,
            errs: sends != Kernels::Lawful,
            counted_out: if sends == Kernels::Far { COUNTED_OUT } else { u64::MAX..u64::MAX },
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
        for ((done, ready), stray) in self.given.done.iter_mut().zip(out.done_ready).zip(self.stray) {
            self.freed += u64::from(done.is_some() && ready && !stray);
            // The slot of a wrong one may have a kernel in the next cycle.
            *done = done.filter(|_| !ready && !stray);
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
        let Self { ledger, counts, counted, read, given, slots, stray, params, .. } = self;
        if let Some(expected) = read[1].filter(|expected| *expected != out.count) {
            let shown = out.count;
            ledger.report(|| format!("a counter shows {shown} where it was {expected} by the ports"));
        }
        *read = [counted.expected(given.counter), read[0]];
        *counted = *counts;
        counts.cta_sum += counts.on_sms;
        if let Some((beat, launch)) = given.host.filter(|_| out.scheduler.host_ready) {
            let (id, last) = match beat {
                HostBeat::Ids { id, last, .. } => (id, last),
                HostBeat::Mask { id, .. } => (id, true),
            };
            if last {
                // What no SM can run goes on as a marker.
                let fits = launch.needs.fit(params.dispatch().sms().limits());
                ledger.come(id, if fits { launch.grid } else { 0 });
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
        let ended = given.done.iter().zip(out.done_ready).zip(stray);
        for done in ended.filter_map(|((done, ready), stray)| done.filter(|_| ready && !*stray)) {
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
        self.counted = Counts::default();
        self.read = [None; 2];
        self.given = FrontEndIn::RESET;
        self.stray = [false; DONE_PORTS];
        self.mode = self.work();
    }

    fn work(&mut self) -> Mode {
        if self.ending {
            return Mode::Work { left: LAST_WORK, spell: Spell::Usual };
        }
        let steady = STEADY.contains(&self.cycle);
        let rng = &mut self.rng;
        let sms = self.params.dispatch().sms().sms() as u64;
        // Where few have no end, the others overtake them as far as the host's list goes.
        self.endless = if chance(rng, 1, 8) { 1 } else { usize::MAX };
        self.pile = match chance(rng, 1, 2) {
            true => (2 + rng.below(6) as usize, self.cycle + rng.below(32)),
            false => (0, 0),
        };
        let hurry = if self.endless == 1 { 800 } else { 40 + rng.below(80) };
        let (left, spell) = match rng.below(8) {
            0 | 1 => (rng.below(1500), Spell::Usual),
            _ if steady => (rng.below(1500), Spell::Usual),
            2 => (rng.below(1500) + 6 * sms, Spell::Endless),
            _ => (hurry, Spell::Hurried),
        };
        Mode::Work { left, spell }
    }

    /// Moves on to the next mode, or asks for a reset.
    fn step(&mut self) -> bool {
        match self.mode {
            Mode::Work { left, spell } if spell != Spell::Usual && (left == 0 || self.ending) => return true,
            Mode::Work { left: 0, .. } => {
                self.mode = Mode::Drain { written: 0, quiet: 0 };
            }
            Mode::Work { left, spell } => self.mode = Mode::Work { left: left - 1, spell },
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
        let endless = self.ledger.open_from(ENDLESS);
        let rng = &mut self.rng;
        match self.mode {
            Mode::Work { spell: Spell::Endless, .. } => grid(rng, 4),
            Mode::Work { spell: Spell::Long, .. }
                if self.counted_out.contains(&self.cycle) && endless < 2 =>
            {
                (1 + rng.below(2) as u32) << 16 | rng.below(2048) as u32
            }
            Mode::Work { spell: Spell::Long, .. } if endless == 0 => 1 << 31,
            Mode::Work { spell: Spell::Hurried, .. } if self.pile.0 > 0 => {
                self.pile.0 -= 1;
                1 + rng.below(2) as u32
            }
            // Others come and go beside them, so that kernels without end are in each slot.
            Mode::Work { spell: Spell::Hurried, .. } if endless < self.endless && chance(rng, 1, 2) => {
                carrying_grid(rng)
            }
            _ if chance(rng, 1, 16) => 0,
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
        self.cycle = cycle;
        if !self.ending && cycle == STEADY.start.midpoint(STEADY.end) {
            self.mode = Mode::Work { left: STEADY.end - cycle, spell: Spell::Long };
        }
        if !self.ending && cycle == self.counted_out.start {
            self.mode = Mode::Work { left: self.counted_out.end - cycle, spell: Spell::Long };
        }
        let quiet = self.ending || STEADY.contains(&cycle) || self.counted_out.contains(&cycle);
        let rst_ni = !(self.step() || (cycle < 2 || !quiet) && reset(&mut self.rng, cycle));
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
            Mode::Work { spell: Spell::Endless, left } if left > 750 => {
                phase = Phase { producer: 16, consumer: 16, finisher: 0, ..phase };
            }
            Mode::Work { spell, .. } => {
                if spell == Spell::Hurried {
                    phase = spell.phase(phase);
                    phase.consumer = if cycle < self.pile.1 { 0 } else { phase.consumer };
                }
                if self.counted_out.contains(&cycle) {
                    phase = Phase { producer: 15, consumer: 15, finisher: 15, ..phase };
                }
                if matches!(spell, Spell::Hurried | Spell::Long) {
                    // They wait for no kernel, for some never end.
                    self.host.free = 2;
                }
            }
        }

        let waited = self.host.offered;
        let beat = self.host.offer(&mut self.rng, phase.producer);
        if beat.is_some() && !waited {
            self.launch = if let Mode::Probe { number, .. } = self.mode {
                self.probe(number).1
            } else {
                let grid = self.grid();
                let limits = self.params.dispatch().sms().limits();
                let careless = self.errs && chance(&mut self.rng, 1, 8);
                let kernels = if careless { Kernels::Careless } else { Kernels::Usual };
                let mut launch = launch(&mut self.rng, limits, grid, kernels);
                if grid == 0 && chance(&mut self.rng, 1, 2) {
                    // Nobody looks at what a marker needs.
                    launch.needs = CtaNeeds::default();
                }
                if self.counted_out.contains(&cycle) && grid > ENDLESS {
                    // Many at the same time, or it takes for ever.
                    launch.needs = LEAST;
                }
                launch
            };
        }
        let partition = self.given.partition.or_else(|| self.partition());
        let rng = &mut self.rng;
        let mut given = FrontEndIn {
            rst_ni,
            host: beat.map(|beat| (beat, self.launch)),
            done: self.given.done,
            partition,
            ..FrontEndIn::IDLE
        };
        for ready in &mut given.cta_ready[..self.params.dispatch().cta_ports()] {
            *ready = chance(rng, phase.consumer, 16);
        }
        given.counter = rng.below(16) as u8;
        for (p, (done, running)) in given.done.iter_mut().zip(&mut self.running).enumerate() {
            if done.is_none() && !running.is_empty() && chance(rng, phase.finisher, 16) {
                *done = Some(running.swap_remove(rng.below(running.len() as u64) as usize));
            }
            // Errors: of no kernel, of an SM that is not there or on another's port. In a reset of anything.
            let works = self.errs && matches!(self.mode, Mode::Work { .. });
            let errs = if rst_ni {
                works && done.is_none() && chance(rng, 1, 64)
            } else {
                cycle > 1 && chance(rng, 1, 2)
            };
            self.stray[p] = false;
            if errs {
                let (sms, slots) = (self.params.dispatch().sms().sms(), self.slots.len());
                let slot = rng.below(slots as u64) as u8;
                let sm = rng.below(256) as usize;
                let sm = if chance(rng, 1, 2) { sm } else { sm % sms / DONE_PORTS * DONE_PORTS + p };
                let elsewhere = sm % DONE_PORTS != p || sm >= sms;
                self.stray[p] = elsewhere || self.slots[usize::from(slot)].is_none() || !rst_ni;
                *done = self.stray[p].then_some(CtaDone { sm: sm as u8, slot });
            }
        }
        self.ports.pack(&given, inputs);
        self.given = given;
    }

    fn keeps_books(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<&str> {
        self.ledger.fault()
    }

    fn finish(&mut self) {
        self.drain();
        if let Mode::Work { left, spell: Spell::Usual } = self.mode {
            self.mode = Mode::Work { left: left.min(LAST_WORK), spell: Spell::Usual };
        }
    }

    fn is_finished(&self) -> bool {
        self.probed == PROBES && self.is_drained()
    }
}

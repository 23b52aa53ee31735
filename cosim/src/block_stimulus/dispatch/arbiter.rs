//! Either CTA arbiter alone.

use super::super::ledger::Ledger;
use super::super::{Kernels, Phase, chance, random_bits, reset};
use super::{ENDLESS, FAR, SETTLED, Spell, carrying_grid, grid, launch, set};
use crate::stimulus::{Rng, Stimulus};
use std::ops::Range;
use windlass_rtl::cta_arbiter_typed::model::{ChannelIn, ChannelModel};
use windlass_rtl::front_end::{CtaType, MAX_CTA_CHANNELS};
use windlass_rtl::kernel_table::model::Kernel;
use windlass_rtl::params::{DispatchParams, MAX_PLACES, SLICES};
use windlass_rtl::port::{Layout, Slot};
use windlass_rtl::sm_occupancy::model::LETTERS;

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The CTAs of all kernels are let go.
    Drain { quiet: u64 },
    /// Kernels come and find no room, until no entry is free.
    Fill { cycles: u64 },
    /// They find room.
    Empty { quiet: u64 },
}

/// Cycles in which [`Ending::Fill`] offers kernels; no arbiter has so many entries.
const FILL: u64 = 12;

/// Cycles of [`Spell::Long`], whose kernels have up to some thousand CTAs and come to their end.
const LONG: Range<u64> = 12_000..20_000;

/// Cycles of [`Spell::Long`] with so many CTAs that the upper half of a count is used up more than once.
const COUNTED_OUT: Range<u64> = FAR..2_900_000;

/// From this cycle of it on, each entry of a channel has kernels that use up more bits of the upper half: these, highest bit first.
const FURTHER: u64 = 700_000;
const HIGHEST: [u32; 2] = [19, 18];

/// A channel's outputs that the books are kept by.
struct Watched {
    kern_ready: Slot,
    /// Valid, slot and index of each CTA port.
    ctas: Vec<[Slot; 3]>,
}

impl Watched {
    fn new(outputs: &Layout, channel: usize, places: usize) -> Option<Self> {
        let slot = |name: &str, number: usize| outputs.slot(&format!("{name}_{number}_o"));
        let cta = |port| Some([slot("cta_valid", port)?, slot("cta_slot", port)?, slot("cta_index", port)?]);
        let ports = channel * places..(channel + 1) * places;
        Some(Self { kern_ready: slot("kern_ready", channel)?, ctas: ports.map(cta).collect::<Option<_>>()? })
    }
}

/// Either CTA arbiter: kernels that come, SMs with and without room, CTA channels that stall. Each CTA of a grid must go out once and in order, and at
/// the end there is room for as many kernels as at the beginning.
pub(in super::super) struct ArbiterStimulus {
    rng: Rng,
    params: DispatchParams,
    inputs: Layout,
    /// Say whether a CTA is placed in the cycle that is being made up: only then it has an SM's number.
    models: Vec<ChannelModel>,
    given: Vec<ChannelIn>,
    /// Whether a CTA was looked at one and two cycles before.
    looked: [[bool; MAX_CTA_CHANNELS]; 2],
    /// Cycles since the last reset.
    age: usize,
    phases: [Phase; MAX_CTA_CHANNELS],
    watched: Vec<Watched>,
    /// Of each channel, by slot: a slot is not given again while its kernel is there.
    ledgers: Vec<Ledger>,
    spell: Spell,
    /// [`COUNTED_OUT`], or never.
    counted_out: Range<u64>,
    /// In it.
    far: bool,
    /// How many kernels of [`FURTHER`] each channel has had.
    further: [usize; MAX_CTA_CHANNELS],
    kernels: Kernels,
    ending: Option<Ending>,
}

impl ArbiterStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: DispatchParams, inputs: Layout, outputs: &Layout, kernels: Kernels) -> Self {
        let models = ChannelModel::of(params);
        Self {
            rng,
            params,
            inputs,
            given: vec![ChannelIn::default(); models.len()],
            models,
            looked: Default::default(),
            age: 0,
            phases: Default::default(),
            watched: (0..params.arbiter().channels())
                .filter_map(|c| Watched::new(outputs, c, params.places()))
                .collect(),
            ledgers: (0..params.arbiter().channels())
                .map(|_| Ledger::new(params.slots(), params.places()))
                .collect(),
            spell: Spell::Usual,
            kernels,
            counted_out: if kernels == Kernels::Far { COUNTED_OUT } else { u64::MAX..u64::MAX },
            far: false,
            further: [0; MAX_CTA_CHANNELS],
            ending: None,
        }
    }

    /// A new kernel, where one is due and a slot is free.
    fn kernel(&mut self, cycle: u64, channel: usize, rate: u64) -> Option<Kernel> {
        let rng = &mut self.rng;
        let rate = match self.ending {
            None => rate,
            Some(Ending::Fill { .. }) => 16,
            Some(_) => 0,
        };
        if !chance(rng, rate, 16) {
            return None;
        }
        let further = self.far
            && cycle >= FURTHER
            && self.further[channel] < HIGHEST.len() * self.params.arbiter().active();
        let grid = match self.spell {
            _ if self.ending.is_some() => 1,
            Spell::Usual => grid(rng, 100),
            Spell::Endless => grid(rng, 2),
            Spell::Hurried => carrying_grid(rng),
            Spell::Long if further => {
                1 << HIGHEST[self.further[channel] % HIGHEST.len()] | rng.below(8) as u32
            }
            Spell::Long if self.far => [1, 1, 2, 3][rng.below(4) as usize] << 16 | rng.below(2048) as u32,
            Spell::Long => 1 + rng.below(2048) as u32,
        };
        let (slots, first) = (self.params.slots() as u8, rng.below(self.params.slots() as u64) as u8);
        let slot =
            (0..slots).map(|i| (first + i) % slots).find(|slot| !self.ledgers[channel].is_open(*slot))?;
        let mut launch = launch(rng, self.params.sms().limits(), grid, self.kernels);
        if self.models.len() > 1 {
            launch.kind = CtaType::of_bit(channel == 1);
        }
        self.further[channel] += usize::from(further);
        Some(Kernel { slot, id: rng.next_u64() as u8, launch })
    }

    /// Enters the last cycle's transfers of a channel in its books.
    fn book(&mut self, c: usize, last: &[u32]) {
        let (given, ledger, watched) = (&self.given[c], &mut self.ledgers[c], &self.watched[c]);
        if let Some(kernel) = given.kernel.filter(|_| watched.kern_ready.get(last) != 0) {
            ledger.come(kernel.slot, kernel.launch.grid);
        }
        for ([valid, slot, index], ready) in watched.ctas.iter().zip(given.cta_ready) {
            if valid.get(last) != 0 && ready {
                let slot = slot.get(last) as u8;
                ledger.place(slot, index.get(last) as u32);
                ledger.end(slot);
                if ledger.is_placed(slot) {
                    ledger.done(slot);
                }
            }
        }
    }

    /// Moves the end of the run on; whether a reset has to sweep away what has no end.
    fn end(&mut self) -> bool {
        let active = self.params.arbiter().active();
        let idle =
            self.ledgers.iter().all(|l| l.open() == 0) && self.given.iter().all(|g| g.kernel.is_none());
        let quiet_for = |quiet| if idle { quiet + 1 } else { 0 };
        self.ending = self.ending.map(|ending| match ending {
            Ending::Drain { quiet } if quiet > SETTLED => Ending::Fill { cycles: 0 },
            Ending::Drain { quiet } => Ending::Drain { quiet: quiet_for(quiet) },
            Ending::Fill { cycles: FILL } => {
                for ledger in &mut self.ledgers {
                    let open = ledger.open();
                    if open != active {
                        ledger.report(|| {
                            format!("room for {open} kernels in an idle channel that has it for {active}")
                        });
                    }
                }
                Ending::Empty { quiet: 0 }
            }
            Ending::Fill { cycles } => Ending::Fill { cycles: cycles + 1 },
            Ending::Empty { quiet } => Ending::Empty { quiet: quiet_for(quiet) },
        });
        let stuck = |(ledger, given): (&Ledger, &ChannelIn)| {
            let open = ledger.open();
            open == ledger.open_from(ENDLESS) && (given.kernel.is_none() || open == active)
        };
        !idle
            && matches!(self.ending, Some(Ending::Drain { .. }))
            && self.ledgers.iter().zip(&self.given).all(stuck)
    }
}

impl Stimulus for ArbiterStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            for c in 0..self.models.len() {
                if self.given[c].rst_ni {
                    self.book(c, last);
                } else {
                    self.ledgers[c].clear();
                }
            }
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
        let rst_ni = match self.ending {
            Some(_) => !self.end(),
            // The reset before the long spell and the one after it.
            None if [&LONG, &self.counted_out]
                .into_iter()
                .any(|long| cycle == long.start || cycle == long.end) =>
            {
                false
            }
            None if LONG.contains(&cycle) || self.counted_out.contains(&cycle) => true,
            None => !(self.spell.ends(&mut self.rng) || reset(&mut self.rng, cycle)),
        };
        if !rst_ni {
            self.far = self.counted_out.contains(&cycle);
            let long = self.far || LONG.contains(&cycle);
            self.spell = if long { Spell::Long } else { Spell::next(&mut self.rng) };
        }
        set(&self.inputs, inputs, "rst_ni", rst_ni.into());
        // The slices go on in the turn after a reset, and where anything may fit.
        self.age = if rst_ni { self.age + 1 } else { 0 };
        let may_hold = self.params.sms().holds() && self.age > SLICES && !self.looked[1].contains(&true);
        let holds = may_hold && chance(&mut self.rng, 1, 2);
        if self.params.sms().holds() {
            set(&self.inputs, inputs, "run_0_i", (!holds).into());
        }
        for (c, letter) in LETTERS.into_iter().enumerate().take(self.models.len()) {
            let mut phase = self.spell.phase(self.phases[c].next(&mut self.rng));
            if self.far {
                // Without a stall now and then a count that goes wrong twice may come right.
                phase = Phase { consumer: 15, finisher: 15, ..phase };
            }
            if let Some(ending) = self.ending {
                let finisher = if matches!(ending, Ending::Fill { .. }) { 0 } else { 12 };
                phase = Phase { consumer: phase.consumer.max(8), finisher, ..phase };
            }
            let kernel = match self.given[c].kernel {
                None => self.kernel(cycle, c, phase.producer),
                waiting => waiting,
            };
            let rng = &mut self.rng;
            let room = self.looked[1][c] && chance(rng, phase.finisher, 16);
            let fit = match room {
                true if self.spell == Spell::Long => u64::MAX >> (64 - self.params.sms().lanes()),
                true => random_bits(rng, self.params.sms().lanes()) as u64,
                false => 0,
            };
            let places = self.params.places();
            let mut cta_ready = [false; MAX_PLACES];
            cta_ready[..places].fill_with(|| chance(rng, phase.consumer, 16));
            let given = ChannelIn { rst_ni, kernel, fit, cta_ready, holds };

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
            ] {
                set(format!("{port}_{c}_i"), value);
            }
            for (port, ready) in cta_ready[..places].iter().enumerate() {
                set(format!("cta_ready_{}_i", c * places + port), (*ready).into());
            }
            for (group, lanes) in fit.to_le_bytes().into_iter().enumerate() {
                set(format!("fit_{letter}_{group}_i"), lanes.into());
            }
            self.given[c] = given;
        }
    }

    fn keeps_books(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<&str> {
        self.ledgers.iter().find_map(Ledger::fault)
    }

    fn finish(&mut self) {
        self.ending = Some(Ending::Drain { quiet: 0 });
    }

    fn is_finished(&self) -> bool {
        matches!(self.ending, Some(Ending::Empty { quiet }) if quiet > SETTLED)
    }
}

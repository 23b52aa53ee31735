//! The kernel table alone.

use super::super::ledger::Ledger;
use super::super::{Kernels, Phase, chance, reset};
use super::{ENDLESS, FAR, SETTLED, Spell, carrying_grid, grid, launch, set};
use crate::stimulus::{Rng, Stimulus};
use std::ops::Range;
use windlass_rtl::model::ones;
use windlass_rtl::params::{DONE_PORTS, SmLimits, TableParams};
use windlass_rtl::port::{Layout, Slot, indexed};

/// Cycles without a reset in which kernels of 65 536 CTAs and many more run to their end, where they are wanted: the upper half of what is left is
/// used up.
const COUNTED_OUT: Range<u64> = FAR..900_000;

/// The end of a run.
#[derive(Clone, Copy)]
enum Ending {
    /// Kernels are let end.
    Drain {
        quiet: u64,
    },
    /// A CTA of each slot ends, one after the other, which is an error, for no kernel runs.
    Probe {
        slot: usize,
    },
    Finished,
}

/// What a slot of the table is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Free,
    Inserted { grid: u32 },
    Queued { grid: u32 },
    Running { left: u32 },
}

/// `kernel_table`: kernels come, are dispatched, lose their CTAs one by one or four in a cycle, retire. Now and then a CTA ends that
/// does not run. At the end every kernel must have been handed on once and have retired once.
pub(in super::super) struct TableStimulus {
    rng: Rng,
    inputs: Layout,
    next: Vec<[Slot; 2]>,
    next_grid: Vec<Slot>,
    done_err: Option<Slot>,
    ret: Vec<[Slot; 2]>,
    phase: Phase,
    stages: Vec<Stage>,
    /// Slots whose entries were ever written: what the others hold nobody knows.
    written: u128,
    next_ready: Vec<bool>,
    ret_ready: Vec<bool>,
    /// By slot. An arbiter is given a grid at once.
    ledger: Ledger,
    ending: Option<Ending>,
    spell: Spell,
    /// [`COUNTED_OUT`], or never.
    counted_out: Range<u64>,
    /// The slot whose turn it is to have a long kernel.
    next_long: usize,
    /// The last cycle was none of reset, so that its outputs say something.
    was_running: bool,
}

impl TableStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: TableParams, inputs: Layout, outputs: &Layout, kernels: Kernels) -> Self {
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
            written: 0,
            next_ready: vec![false; params.queues()],
            ret_ready: vec![false; params.retire_ports()],
            next_grid: (0..params.queues())
                .filter_map(|q| outputs.slot(&indexed("next_grid_o", q)))
                .collect(),
            done_err: outputs.slot("done_err_o"),
            ledger: Ledger::new(params.slots(), 1),
            ending: None,
            spell: Spell::Usual,
            next_long: 0,
            counted_out: if kernels == Kernels::Far { COUNTED_OUT } else { u64::MAX..u64::MAX },
            was_running: false,
        }
    }

    /// A random slot of those that `wanted` says.
    fn pick(&mut self, wanted: impl Fn(Stage) -> bool) -> Option<usize> {
        let slots: Vec<usize> = (0..self.stages.len()).filter(|s| wanted(self.stages[*s])).collect();
        (!slots.is_empty()).then(|| slots[self.rng.below(slots.len() as u64) as usize])
    }

    /// Slots that the completion ports name, and whether they are valid; the CTAs that end are counted.
    fn ends(&mut self, rate: u64, far: bool) -> Vec<(usize, bool)> {
        // At the end those that can end.
        let most = if self.ending.is_some() { ENDLESS } else { u32::MAX };
        let running = |stage| matches!(stage, Stage::Running { left } if left > 0 && left < most);
        let long = |stage| matches!(stage, Stage::Running { left } if left >= ENDLESS);
        let same = if far { self.pick(long) } else { None }.or_else(|| self.pick(running));
        let wrong_slot = self.pick(|_| true).filter(|slot| self.written >> slot & 1 == 1);
        let written: Vec<usize> = ones(self.written).collect();
        let mut ended = vec![0; self.stages.len()];
        let mut ends = Vec::new();
        for _ in 0..DONE_PORTS {
            let mut slot = same;
            if chance(&mut self.rng, 1, if far { 16 } else { 2 }) {
                slot = self.pick(running);
            }
            let wrong = wrong_slot.filter(|_| self.ending.is_none() && self.rng.below(400) == 0);
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
                if *left > 0 {
                    self.ledger.end(*slot as u8);
                }
                *left = left.saturating_sub(1);
            }
        }
        ends
    }

    /// What the last cycle's transfers did.
    fn seen(&mut self, last: &[u32]) {
        let taken = |channels: &[[Slot; 2]], ready: &[bool]| -> Vec<(usize, u8)> {
            let all = channels.iter().zip(ready).enumerate();
            let taken = all.filter(|(_, ([valid, _], ready))| **ready && valid.get(last) != 0);
            taken.map(|(port, ([_, slot], _))| (port, slot.get(last) as u8)).collect()
        };
        let (retired, next) = (taken(&self.ret, &self.ret_ready), taken(&self.next, &self.next_ready));
        for (_, slot) in &retired {
            self.ledger.done(*slot);
            self.stages[usize::from(*slot)] = Stage::Free;
        }
        for (q, slot) in &next {
            let grid = self.next_grid[*q].get(last) as u32;
            self.ledger.place_all(*slot, grid);
            match self.stages[usize::from(*slot)] {
                Stage::Queued { grid } => self.stages[usize::from(*slot)] = Stage::Running { left: grid },
                _ => self
                    .ledger
                    .report(|| format!("the kernel in slot {slot} is handed on, and was not dispatched")),
            }
        }
        let quiet_now = retired.is_empty() && next.is_empty() && self.ledger.open() == 0;
        self.ending = self.ending.map(|ending| match ending {
            Ending::Drain { quiet } if quiet > SETTLED => Ending::Probe { slot: 0 },
            Ending::Drain { quiet } => Ending::Drain { quiet: if quiet_now { quiet + 1 } else { 0 } },
            Ending::Probe { slot } => {
                let error = self.done_err.is_some_and(|port| port.get(last) != 0);
                if !error && self.written >> slot & 1 == 1 {
                    self.ledger
                        .report(|| format!("the kernel in slot {slot} still runs where all have ended"));
                }
                if slot + 1 == self.stages.len() {
                    Ending::Finished
                } else {
                    Ending::Probe { slot: slot + 1 }
                }
            }
            Ending::Finished => Ending::Finished,
        });
    }

    /// In a drain, only kernels are left that do not end: a reset sweeps them away.
    fn only_endless(&self) -> bool {
        let open = self.ledger.open();
        open > 0
            && open == self.ledger.open_from(ENDLESS)
            && self.stages.iter().all(|stage| matches!(stage, Stage::Free | Stage::Running { .. }))
    }
}

impl Stimulus for TableStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if self.was_running {
            self.seen(last);
        }
        let mut phase = self.spell.phase(self.phase.next(&mut self.rng));
        let far = self.ending.is_none() && self.counted_out.contains(&cycle);
        let rst_ni = match self.ending {
            // What has no end is swept away before.
            None if far => cycle > self.counted_out.start,
            Some(_) => !self.only_endless(),
            // What has no end, a reset sweeps away.
            None if self.ledger.open_from(ENDLESS) > 0 && self.rng.below(100) == 0 => false,
            None => !(self.spell.ends(&mut self.rng) || reset(&mut self.rng, cycle)),
        };
        self.was_running = rst_ni;
        if far {
            phase = Phase { consumer: 15, finisher: 16, ..phase };
        }
        if self.ending.is_some() {
            phase = Phase { producer: 16, consumer: 12, finisher: 12, ..phase };
        }

        // The first slot is written before anything is compared, so that there is one that completion ports may name.
        let insert = match cycle {
            0 => Some(0),
            _ if !rst_ni || self.ending.is_some() || !chance(&mut self.rng, phase.producer, 16) => None,
            _ => self.pick(|stage| stage == Stage::Free),
        };
        let dispatch = match chance(&mut self.rng, phase.producer.max(1), 16) {
            true => self.pick(|stage| matches!(stage, Stage::Inserted { .. })),
            false => None,
        };
        if cycle == 0 {
            self.written = 1;
        }
        let mut ends = self.ends(phase.finisher, far);
        if let Some(Ending::Probe { slot }) = self.ending {
            let written = self.written >> slot & 1 == 1;
            ends[slot % DONE_PORTS] = (if written { slot } else { ends[0].0 }, written);
        }
        let long = self.ledger.open_from(ENDLESS);
        let rng = &mut self.rng;
        let grid = match self.spell {
            _ if chance(rng, 1, 12) => 0,
            // Each slot has one in turn: most of 2^16, few of 2^17 and 2^18.
            _ if far && long < 3 && insert == Some(self.next_long) => {
                self.next_long = (self.next_long + 1) % self.stages.len();
                (1 << rng.below(16).saturating_sub(13)) << 16 | rng.below(32) as u32
            }
            _ if far => 1 + rng.below(5) as u32,
            Spell::Hurried => carrying_grid(rng),
            Spell::Endless => grid(rng, 8),
            _ => grid(rng, 500),
        };
        let launch = launch(rng, SmLimits::H100, grid, Kernels::Usual);

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
            // A marker waits for no arbiter.
            self.stages[slot] = if grid == 0 { Stage::Running { left: 0 } } else { Stage::Queued { grid } };
        }
        if let Some(slot) = insert {
            self.stages[slot] = Stage::Inserted { grid: launch.grid };
            self.written |= 1 << slot;
            if rst_ni {
                self.ledger.come(slot as u8, launch.grid);
            }
        }
        if !rst_ni {
            self.stages.fill(Stage::Free);
            self.ledger.clear();
            self.spell = Spell::next(&mut self.rng);
        }
    }

    fn keeps_books(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<&str> {
        self.ledger.fault()
    }

    fn finish(&mut self) {
        self.ending = Some(Ending::Drain { quiet: 0 });
    }

    fn is_finished(&self) -> bool {
        matches!(self.ending, Some(Ending::Finished))
    }
}

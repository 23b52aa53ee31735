//! The partitions alone.

use super::super::{Phase, chance, reset};
use super::{partition_write, set};
use crate::stimulus::{Rng, Stimulus};
use windlass_rtl::front_end::PartitionWrite;
use windlass_rtl::params::{PARTITIONS, Requesters, SLICES, SmParams};
use windlass_rtl::port::{Layout, Slot, indexed};
use windlass_rtl::sm_occupancy::model::LETTERS;

/// SMs of a word of a mask.
const WORD: usize = 32;

/// The end of a run: all masks are read; then all SMs are given back to all partitions, and the masks are read again.
#[derive(Clone, Copy)]
enum Ending {
    /// The last write is let end.
    Write,
    /// Each partition is named for some cycles.
    Read {
        cycle: usize,
        whole: bool,
    },
    /// Words that are yet to be filled.
    Fill {
        word: usize,
    },
    Finished,
}

/// Cycles for which a partition is named in [`Ending::Read`]: in all but the first its mask is seen, slice by slice.
const NAMED: usize = SLICES + 1;

/// The partition that requester `r` names in this cycle of [`Ending::Read`].
fn named(cycle: usize, r: usize) -> usize {
    (cycle / NAMED + r) % PARTITIONS
}

/// `sm_partitions`: masks that are rewritten, back to back or now and then, partitions that change. At the end the masks must be what was written.
pub(in super::super) struct PartitionsStimulus {
    rng: Rng,
    requesters: usize,
    sms: usize,
    inputs: Layout,
    write_ready: Option<Slot>,
    /// Slices stand still at times.
    holds: bool,
    /// They go on at the end of the cycle.
    run: bool,
    /// Lane ports of each requester.
    allow: Vec<Vec<Slot>>,
    phase: Phase,
    write: Option<PartitionWrite>,
    /// What was written since the last reset; SMs beyond the last do not matter.
    masks: [[u32; 8]; PARTITIONS],
    /// The slice whose members are shown.
    slice: usize,
    in_reset: bool,
    ending: Option<Ending>,
    fault: Option<String>,
}

impl PartitionsStimulus {
    /// For a block with these ports.
    pub fn new(rng: Rng, params: SmParams, requesters: Requesters, inputs: Layout, outputs: &Layout) -> Self {
        let lanes = |letter: &char| {
            let name = format!("allow_{letter}_o");
            (0..params.lanes().div_ceil(8)).filter_map(|group| outputs.slot(&indexed(&name, group))).collect()
        };
        Self {
            rng,
            requesters: requesters.count(),
            sms: params.sms(),
            inputs,
            write_ready: outputs.slot("write_ready_o"),
            holds: params.holds(),
            run: true,
            allow: LETTERS.iter().take(requesters.count()).map(lanes).collect(),
            phase: Phase::default(),
            write: None,
            masks: [[u32::MAX; 8]; PARTITIONS],
            slice: 0,
            in_reset: true,
            ending: None,
            fault: None,
        }
    }

    /// Compares what the block shows with what was written.
    fn compare(&mut self, cycle: usize, last: &[u32]) {
        for r in (0..self.requesters).filter(|_| !cycle.is_multiple_of(NAMED)) {
            let partition = named(cycle, r);
            for sm in (self.slice..self.sms).step_by(SLICES) {
                let lane = SmParams::lane(sm);
                let shown =
                    self.allow[r].get(lane / 8).is_some_and(|slot| slot.get(last) >> (lane % 8) & 1 == 1);
                let written = self.masks[partition][sm / WORD] >> (sm % WORD) & 1 == 1;
                if shown != written {
                    let text =
                        format!("SM {sm} of partition {partition}: {written} was written, {shown} is read");
                    self.fault.get_or_insert(text);
                }
            }
        }
    }

    /// What the last cycle did.
    fn seen(&mut self, last: &[u32]) {
        if self.in_reset {
            (self.write, self.masks, self.slice) = (None, [[u32::MAX; 8]; PARTITIONS], 0);
            return;
        }
        if self.write_ready.is_some_and(|slot| slot.get(last) != 0)
            && let Some(write) = self.write.take()
        {
            self.masks[usize::from(write.partition)][usize::from(write.word)] = write.mask;
        }
        let (words, idle) = (PARTITIONS * self.sms.div_ceil(WORD), self.write.is_none());
        if let Some(Ending::Read { cycle, .. }) = self.ending {
            self.compare(cycle, last);
        }
        self.ending = self.ending.map(|ending| match ending {
            Ending::Write if idle => Ending::Read { cycle: 0, whole: false },
            Ending::Read { cycle, whole } => match cycle + 1 == NAMED * PARTITIONS {
                true if whole => Ending::Finished,
                true => Ending::Fill { word: 0 },
                false => Ending::Read { cycle: cycle + 1, whole },
            },
            Ending::Fill { word } if word == words && idle => Ending::Read { cycle: 0, whole: true },
            other => other,
        });
        if self.run {
            self.slice = (self.slice + 1) % SLICES;
        }
    }
}

impl Stimulus for PartitionsStimulus {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 0 {
            self.seen(last);
        }
        let phase = self.phase.next(&mut self.rng);
        self.in_reset = self.ending.is_none() && (reset(&mut self.rng, cycle) || self.rng.below(500) == 0);
        if self.in_reset && chance(&mut self.rng, 1, 2) {
            // In a reset a write may be withdrawn.
            self.write = None;
        } else if self.write.is_none() {
            self.write = match &mut self.ending {
                None if chance(&mut self.rng, phase.producer, 16) => Some(partition_write(&mut self.rng, 8)),
                Some(Ending::Fill { word }) if *word < PARTITIONS * self.sms.div_ceil(WORD) => {
                    let (partition, of_mask) = ((*word % PARTITIONS) as u8, (*word / PARTITIONS) as u8);
                    *word += 1;
                    Some(PartitionWrite { partition, word: of_mask, mask: u32::MAX })
                }
                _ => None,
            };
        }
        if self.holds {
            // A mask is read in one turn.
            let reads = matches!(self.ending, Some(Ending::Read { .. }));
            self.run = reads || chance(&mut self.rng, 3, 4);
        }
        let mut set = |name: &str, value: u128| set(&self.inputs, inputs, name, value);
        set("rst_ni", (!self.in_reset).into());
        if self.holds {
            set("run_0_i", self.run.into());
        }
        set("write_valid_i", self.write.is_some().into());
        let write = self.write.unwrap_or_else(|| partition_write(&mut self.rng, 8));
        set("write_part_i", write.partition.into());
        set("write_word_i", write.word.into());
        set("write_mask_i", write.mask.into());
        for r in 0..self.requesters {
            if let Some(Ending::Read { cycle, .. }) = self.ending {
                set(&indexed("part_i", r), named(cycle, r) as u128);
            } else if chance(&mut self.rng, 1 + phase.consumer, 17) {
                set(&indexed("part_i", r), self.rng.below(PARTITIONS as u64).into());
            }
        }
    }

    fn keeps_books(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn finish(&mut self) {
        self.ending = Some(Ending::Write);
    }

    fn is_finished(&self) -> bool {
        matches!(self.ending, Some(Ending::Finished))
    }
}

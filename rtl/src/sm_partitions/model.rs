//! Golden model of `sm_partitions`: each partition's mask, by slice and lane.

use crate::front_end::io::PartitionWrite;
use crate::model::{CycleError, CycleModel};
use crate::params::{PARTITIONS, Requesters, SLICES, SmParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find};
use crate::sm_occupancy::model::{LETTERS, LanePorts, MAX_REQUESTERS, Phase, lanes_of};

/// Inputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionsIn {
    /// Reset, active low.
    pub rst_ni: bool,
    /// Partition of each requester's kernel.
    pub part: [u8; MAX_REQUESTERS],
    /// 32 SMs of a mask are rewritten; to be held until taken.
    pub write: Option<PartitionWrite>,
    /// The slices stand still at the end of this cycle.
    pub holds: bool,
}

/// Outputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionsOut {
    /// Lanes of the slice at C in the partition that each requester named in the cycle before.
    pub allow: [u64; MAX_REQUESTERS],
    /// The write is taken.
    pub write_ready: bool,
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct PartitionsModel {
    params: SmParams,
    phase: Phase,
    /// Cycles in which SMs still become members of all partitions.
    filling: usize,
    /// Slices that have taken the write's bits.
    written: usize,
    part: [u8; MAX_REQUESTERS],
    masks: [[u64; SLICES]; PARTITIONS],
}

impl PartitionsModel {
    /// After reset: no SM is a member yet.
    pub fn new(params: SmParams) -> Self {
        Self {
            params,
            phase: Phase::default(),
            filling: SLICES,
            written: 0,
            part: [0; MAX_REQUESTERS],
            masks: [[0; SLICES]; PARTITIONS],
        }
    }

    /// Every SM is in every partition, and no write has begun.
    pub fn is_whole(&self) -> bool {
        let whole =
            |mask: &[u64; SLICES]| (0..SLICES).all(|slice| mask[slice] == lanes_of(self.params.sms(), slice));
        self.filling == 0 && self.written == 0 && self.masks.iter().all(whole)
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &PartitionsIn) -> PartitionsOut {
        // A partition that there is not has no SM.
        let allow = |part| match self.masks.get(usize::from(part)) {
            Some(mask) if self.filling == 0 => mask[self.phase.compared()],
            _ => 0,
        };
        PartitionsOut {
            allow: self.part.map(allow),
            write_ready: input.write.is_some() && self.written == SLICES - 1 && !input.holds,
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &PartitionsIn) -> PartitionsOut {
        let out = self.outputs(input);
        if !input.rst_ni {
            *self = Self::new(self.params);
            return out;
        }
        let slice = self.phase.updated();
        if input.holds {
            self.written = 0;
        } else if self.filling > 0 {
            self.filling -= 1;
            self.masks.iter_mut().for_each(|mask| mask[slice] = lanes_of(self.params.sms(), slice));
        } else if let Some(write) = input.write {
            self.written = (self.written + 1) % SLICES;
            if let Some(masks) = self.masks.get_mut(usize::from(write.partition)) {
                let mask = &mut masks[slice];
                let first = 32 * usize::from(write.word);
                for sm in (first..self.params.sms().min(first + 32)).filter(|sm| sm % SLICES == slice) {
                    let lane = SmParams::lane(sm);
                    *mask = *mask & !(1 << lane) | u64::from(write.mask >> (sm - first) & 1) << lane;
                }
            }
        } else {
            self.written = 0;
        }
        self.part = input.part;
        if !input.holds {
            self.phase.step();
        }
        out
    }
}

/// The model behind flat words.
pub struct FlatPartitions {
    model: PartitionsModel,
    ports: Vec<Port>,
    rst_ni: Slot,
    requesters: Vec<(Slot, LanePorts)>,
    write: [Slot; 4],
    write_ready: Slot,
    run: Option<Slot>,
}

impl FlatPartitions {
    /// The model for one or two `requesters`, behind the hardware's `ports`.
    pub fn new(params: SmParams, requesters: Requesters, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let requester = |(r, letter): (usize, &char)| {
            let part = find(&inputs, &format!("part_{r}_i"))?;
            Ok((part, LanePorts::new(&outputs, &format!("allow_{letter}_o"), params.lanes())?))
        };
        Ok(Self {
            model: PartitionsModel::new(params),
            rst_ni: find(&inputs, "rst_ni")?,
            requesters: LETTERS[..requesters.count()]
                .iter()
                .enumerate()
                .map(requester)
                .collect::<Result<_, MissingPort>>()?,
            write: [
                find(&inputs, "write_valid_i")?,
                find(&inputs, "write_part_i")?,
                find(&inputs, "write_word_i")?,
                find(&inputs, "write_mask_i")?,
            ],
            write_ready: find(&outputs, "write_ready_o")?,
            run: if params.holds() { Some(find(&inputs, "run_0_i")?) } else { None },
            ports,
        })
    }
}

impl CycleModel for FlatPartitions {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, words: &[u32], out_words: &mut [u32]) -> Result<(), CycleError> {
        let mut part = [0; MAX_REQUESTERS];
        for (part, (slot, _)) in part.iter_mut().zip(&self.requesters) {
            *part = slot.get(words) as u8;
        }
        let [valid, partition, word, mask] = self.write.map(|slot| slot.get(words) as u32);
        let write =
            (valid != 0).then_some(PartitionWrite { partition: partition as u8, word: word as u8, mask });
        let bit = |slot: Slot| slot.get(words) != 0;
        let holds = self.run.is_some_and(|run| !bit(run));
        let out = self.model.cycle(&PartitionsIn { rst_ni: bit(self.rst_ni), part, write, holds });

        out_words.fill(0);
        for ((_, allow), lanes) in self.requesters.iter().zip(out.allow) {
            allow.set(out_words, lanes);
        }
        self.write_ready.set(out_words, out.write_ready.into());
        Ok(())
    }

    fn is_at_rest(&self) -> Option<bool> {
        Some(self.model.is_whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::SmLimits;

    fn model() -> PartitionsModel {
        PartitionsModel::new(SmParams::new(40, SmLimits::H100).unwrap_or_else(|e| panic!("{e}")))
    }

    fn write(model: &mut PartitionsModel, write: Option<PartitionWrite>) -> PartitionsOut {
        model.cycle(&PartitionsIn { rst_ni: true, part: [3, 5], write, holds: false })
    }

    /// The SMs that requester `r` may use, read over a turn.
    fn members(model: &mut PartitionsModel, r: usize) -> Vec<usize> {
        let mut members = Vec::new();
        for _ in 0..3 {
            let slice = model.phase.compared();
            let allow = write(model, None).allow[r];
            members
                .extend((0..64).filter(|lane| allow >> lane & 1 == 1).map(|lane| SmParams::sm(lane, slice)));
        }
        members.sort_unstable();
        members
    }

    #[test]
    fn reset_makes_all_sms_members_and_holds_writes_back() {
        let mut model = model();
        let mask = PartitionWrite { partition: 3, word: 0, mask: 0 };
        let ready: Vec<bool> = (0..6).map(|_| write(&mut model, Some(mask)).write_ready).collect();
        assert_eq!(ready, [false, false, false, false, false, true]);
        assert_eq!(members(&mut model, 0), (32..40).collect::<Vec<_>>());
        assert_eq!(members(&mut model, 1), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_write_changes_its_32_sms_of_its_partition() {
        let mut model = model();
        members(&mut model, 0);
        for (word, mask) in [(0, 0x8000_0401), (1, 0xFFFF_FF02), (5, u32::MAX)] {
            let given = Some(PartitionWrite { partition: 3, word, mask });
            let ready: Vec<bool> = (0..3).map(|_| write(&mut model, given).write_ready).collect();
            assert_eq!(ready, [false, false, true]);
        }
        assert_eq!(members(&mut model, 0), [0, 10, 31, 33]);
        assert_eq!(members(&mut model, 1), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_partition_that_there_is_not_has_no_sm() {
        let mut model = model();
        for _ in 0..9 {
            let write = Some(PartitionWrite { partition: 8, word: 255, mask: 0 });
            let out = model.cycle(&PartitionsIn { rst_ni: true, part: [8, 255], write, holds: false });
            assert_eq!(out.allow, [0; 2]);
        }
        write(&mut model, None);
        assert_eq!(members(&mut model, 0), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn the_partition_is_that_of_the_cycle_before() {
        let mut model = model();
        for _ in 0..2 {
            write(&mut model, None);
        }
        let given = Some(PartitionWrite { partition: 5, word: 0, mask: 0 });
        for _ in 0..4 {
            write(&mut model, given);
        }
        let given = |part| PartitionsIn { rst_ni: true, part, write: None, holds: false };
        assert_eq!(
            model.cycle(&given([5, 3])).allow,
            // SMs 33, 36 and 39 are in lanes 9, 12 and 15.
            [lanes_of(40, 0), 1 << 9 | 1 << 12 | 1 << 15]
        );
        let out = model.cycle(&given([0, 0])).allow;
        assert!(out[0].count_ones() < out[1].count_ones());
        let out = model.cycle(&given([0, 0])).allow;
        assert_eq!(out[0], out[1]);
    }
}

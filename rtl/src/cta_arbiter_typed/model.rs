//! Golden model of both CTA arbiters: one or two channels, each of which gives CTAs of up to four kernels to SMs.

use crate::front_end::io::{CtaNeeds, CtaOut, CtaType, Launch};
use crate::kernel_table::model::{Kernel, KernelPorts};
use crate::model::{CycleError, CycleModel};
use crate::params::{DispatchParams, MAX_PLACES, SLICES, SmParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find};
use crate::sm_occupancy::model::{LETTERS, LanePorts, NeedPorts, Phase};

/// Most kernels that a channel can be at.
const MAX_ACTIVE: usize = 4;

/// Cycles in which a kernel is looked at before another one is: one turn of the SMs, counted from 0.
const STAY: usize = SLICES - 1;

/// Inputs of a channel in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelIn {
    /// Reset, active low.
    pub rst_ni: bool,
    /// A kernel comes.
    pub kernel: Option<Kernel>,
    /// Lanes where the CTA of two cycles before fits.
    pub fit: u64,
    /// Of each port, the CTA on it is taken.
    pub cta_ready: [bool; MAX_PLACES],
    /// The slices stand still at the end of this cycle; only where nothing fits.
    pub holds: bool,
}

/// The CTA that is to be looked at next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// What it needs.
    pub needs: CtaNeeds,
    /// Its kernel's partition.
    pub partition: u8,
}

/// Outputs of a channel in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelOut {
    /// The kernel is taken.
    pub kernel_ready: bool,
    /// The CTA that is to be looked at next.
    pub need: Option<Need>,
    /// The lanes that get a CTA each: of each bank one bit or none.
    pub place: u64,
    /// Of each port, the CTA that goes to an SM.
    pub cta: [Option<CtaOut>; MAX_PLACES],
    /// A CTA was looked at, and no lane had room.
    pub no_room: bool,
}

/// A kernel whose CTAs are being placed; free where none is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    kernel: Kernel,
    left: u32,
    index: u32,
}

/// What a cycle selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Selection {
    entry: usize,
    stay: usize,
    second: bool,
    need: Need,
}

/// The lanes of one port: those l with l mod `places` = the port's number.
#[derive(Clone, Debug)]
struct Bank {
    /// All lanes that it has.
    lanes: u64,
    /// A bit for each slice that has an SM less than others.
    short: u128,
    /// The lane of each slice from which on the next search goes.
    pointers: [u32; SLICES],
    /// Slices that have got a CTA since they last let a turn pass.
    due: [bool; SLICES],
    /// There was room one and two cycles before, in the other slices.
    room: [bool; SLICES - 1],
}

impl Bank {
    fn new(params: DispatchParams, port: usize) -> Self {
        let (sms, places) = (params.sms(), params.places());
        let lanes = (port..sms.lanes()).step_by(places);
        Self {
            lanes: lanes.fold(0, |lanes, lane| lanes | 1 << lane),
            short: sms.short_slices(places, port),
            pointers: [sms.lanes() as u32; SLICES],
            due: [false; SLICES],
            room: [false; SLICES - 1],
        }
    }

    /// Its lanes from the slice's pointer on.
    fn later(&self, slice: usize) -> u64 {
        self.lanes & u64::MAX.checked_shl(self.pointers[slice]).unwrap_or(0)
    }

    /// The lane that would get a CTA, one bit or none, where it fits in the lanes of `fit`.
    fn pick(&self, slice: usize, fit: u64) -> u64 {
        // The slice has an SM less than others, and would get its next CTA before they have had as many.
        let may_pass = self.short >> slice & 1 != 0 && self.due[slice] && self.room.contains(&true);
        let lanes = match fit & self.later(slice) {
            0 if may_pass => 0,
            0 => fit & self.lanes,
            from => from,
        };
        lanes & lanes.wrapping_neg()
    }
}

/// CTAs of one entry that were placed in one cycle and are not all taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    entry: usize,
    /// How many were placed.
    count: u32,
    /// Of each port, the SM of the CTA that is on it, and how many come before it in the grid.
    ports: [Option<(u8, u32)>; MAX_PLACES],
}

/// The model of one channel: one step per clock.
#[derive(Clone, Debug)]
pub struct ChannelModel {
    params: DispatchParams,
    phase: Phase,
    entries: [Entry; MAX_ACTIVE],
    at: usize,
    stay: usize,
    /// `at` has its second turn in a row.
    second: bool,
    /// The first slice went round while another kernel had CTAs left, and no kernel has had a second turn for it.
    wrapped: bool,
    /// Entries that were selected one and two cycles before.
    selected: [Option<usize>; 2],
    banks: Vec<Bank>,
    /// The bank that gets the first CTA of those that are placed next.
    first: usize,
    /// CTAs that were placed and not taken.
    held: Option<Placed>,
}

impl ChannelModel {
    /// A channel of the arbiter with `params`.
    pub fn new(params: DispatchParams) -> Self {
        Self {
            params,
            phase: Phase::default(),
            entries: [Entry::default(); MAX_ACTIVE],
            at: 0,
            stay: 0,
            second: false,
            wrapped: false,
            selected: [None; 2],
            banks: (0..params.places()).map(|port| Bank::new(params, port)).collect(),
            first: 0,
            held: None,
        }
    }

    /// The channels of an arbiter.
    pub fn of(params: DispatchParams) -> Vec<Self> {
        vec![Self::new(params); params.arbiter().channels()]
    }

    /// No kernel has CTAs left, none is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.entries.iter().all(|entry| entry.left == 0)
    }

    /// A kernel would be taken.
    pub fn kernel_ready(&self) -> bool {
        self.free().is_some()
    }

    /// The CTA that is to be looked at next, where `kernel` stands on the kernel channel.
    pub fn need(&self, kernel: Option<&Kernel>) -> Option<Need> {
        self.select(kernel).map(|selection| selection.need)
    }

    /// The lanes that get a CTA each, of each bank one bit or none, where it fits in the lanes of `fit`.
    pub fn place(&self, fit: u64) -> u64 {
        self.picks(fit).fold(0, |place, (_, lane)| place | lane)
    }

    /// The banks that place a CTA and the lane of each, in the order of the CTAs in the grid: the banks in turn, as far as there are CTAs.
    fn picks(&self, fit: u64) -> impl Iterator<Item = (usize, u64)> {
        let (slice, places) = (self.phase.placed(), self.banks.len());
        let left = self.arrived().map_or(0, |entry| self.entries[entry].left as usize);
        let banks = (0..places).map(move |i| (self.first + i) % places);
        let picks = banks.map(move |bank| (bank, self.banks[bank].pick(slice, fit)));
        picks.filter(|(_, lane)| *lane != 0).take(left)
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &ChannelIn) -> ChannelOut {
        let cta = self.goes(input.fit).map_or([None; MAX_PLACES], |Placed { entry, ports, .. }| {
            let Entry { kernel: Kernel { slot, id, launch }, index, .. } = self.entries[entry];
            let out = |(sm, before)| CtaOut {
                sm,
                slot,
                id,
                index: u32::wrapping_add(index, before),
                kind: launch.kind,
            };
            ports.map(|port| port.map(out))
        });
        ChannelOut {
            kernel_ready: self.kernel_ready(),
            need: self.need(input.kernel.as_ref()),
            place: self.place(input.fit),
            cta,
            no_room: self.arrived().is_some() && input.fit == 0,
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &ChannelIn) -> ChannelOut {
        let out = self.outputs(input);
        if !input.rst_ni {
            *self = Self::new(self.params);
            return out;
        }
        let selection = self.select(input.kernel.as_ref());
        let comes = self.free().filter(|_| input.kernel.is_some());
        let goes = self.goes(input.fit);
        let slice = self.phase.placed();
        let looks = self.arrived().is_some();
        let picks: Vec<(usize, u64)> = self.picks(input.fit).collect();
        // The first bank stands for all.
        let wraps = slice == 0
            && picks.iter().any(|(bank, lane)| *bank == 0 && lane & self.banks[0].later(slice) == 0);
        let repeats = selection.is_some_and(|selection| selection.second && !self.second);
        self.wrapped = self.other().is_some() && (wraps || self.wrapped && !repeats);
        for bank in &mut self.banks {
            let room = looks && input.fit & bank.lanes != 0;
            if room && bank.pick(slice, input.fit) == 0 {
                bank.due[slice] = false;
            }
            bank.room = [room, bank.room[0]];
        }
        for (bank, lane) in picks {
            self.first = (bank + 1) % self.banks.len();
            self.banks[bank].due[slice] = true;
            self.banks[bank].pointers[slice] = lane.trailing_zeros() + 1;
        }
        if let Some(mut placed) = goes {
            for (port, ready) in placed.ports.iter_mut().zip(input.cta_ready) {
                *port = port.filter(|_| !ready);
            }
            let taken = placed.ports == [None; MAX_PLACES];
            self.held = (!taken).then_some(placed);
            if taken {
                let entry = &mut self.entries[placed.entry];
                entry.left -= placed.count;
                entry.index = entry.index.wrapping_add(placed.count);
            }
        }
        self.selected = [selection.map(|s| s.entry), self.selected[0].filter(|entry| Some(*entry) != comes)];
        if let Some(Selection { entry, stay, second, .. }) = selection {
            (self.at, self.stay, self.second) = (entry, stay, second);
        }
        if let (Some(entry), Some(kernel)) = (comes, input.kernel) {
            self.entries[entry] = Entry { kernel, left: kernel.launch.grid, index: 0 };
        }
        if !input.holds {
            self.phase.step();
        }
        out
    }

    /// The CTAs that are on the ports: those that are held, or those that are placed where they fit in the lanes of `fit`.
    fn goes(&self, fit: u64) -> Option<Placed> {
        let place = |entry| {
            let mut placed = Placed { entry, count: 0, ports: [None; MAX_PLACES] };
            for (bank, lane) in self.picks(fit) {
                let sm = SmParams::sm(lane.trailing_zeros() as usize, self.phase.placed());
                placed.ports[bank] = Some((sm as u8, placed.count));
                placed.count += 1;
            }
            (placed.count > 0).then_some(placed)
        };
        self.held.or_else(|| self.arrived().and_then(place))
    }

    /// Kernels at a time.
    fn active(&self) -> usize {
        self.params.arbiter().active()
    }

    /// The lowest free entry.
    fn free(&self) -> Option<usize> {
        self.entries[..self.active()].iter().position(|entry| entry.left == 0)
    }

    fn is_taken(&self, entry: usize) -> bool {
        self.entries[entry].left > 0
    }

    /// The next entry after `at` that holds a kernel, cyclically, and is not `at`.
    fn other(&self) -> Option<usize> {
        let active = self.active();
        (1..active).map(|step| (self.at + step) % active).find(|entry| self.is_taken(*entry))
    }

    fn select(&self, kernel: Option<&Kernel>) -> Option<Selection> {
        let need = |launch: Launch| Need { needs: launch.needs, partition: launch.partition };
        let select = |entry: usize, stay, second| {
            let need = need(self.entries[entry].kernel.launch);
            Selection { entry, stay, second, need }
        };
        let other = self.other();
        if self.is_taken(self.at) && (self.stay < STAY || other.is_none()) {
            Some(select(self.at, (self.stay + 1).min(STAY), self.second))
        } else if self.is_taken(self.at) && self.wrapped && !self.second {
            Some(select(self.at, 0, true))
        } else if let Some(other) = other {
            Some(select(other, 0, false))
        } else {
            let (entry, kernel) = self.free().zip(kernel)?;
            Some(Selection { entry, stay: 0, second: false, need: need(kernel.launch) })
        }
    }

    /// The entry that was selected two cycles before, where a CTA of it may be placed.
    fn arrived(&self) -> Option<usize> {
        self.selected[1].filter(|entry| self.held.is_none() && self.entries[*entry].left > 0)
    }
}

/// The model of an arbiter of either kind behind flat words.
pub struct FlatArbiter {
    channels: Vec<(ChannelModel, ChannelPorts)>,
    ports: Vec<Port>,
    rst_ni: Slot,
    run: Option<Slot>,
}

struct ChannelPorts {
    kern_valid: Slot,
    kern_ready: Slot,
    kernel: KernelPorts,
    need_valid: Slot,
    needs: NeedPorts,
    need_part: Slot,
    fit: LanePorts,
    place: LanePorts,
    cta: Vec<(Slot, CtaPorts)>,
    no_room: Slot,
}

/// The outputs of a CTA channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaPorts {
    valid: Slot,
    sm: Slot,
    slot: Slot,
    id: Slot,
    index: Slot,
    kind: Slot,
}

impl CtaPorts {
    /// `name` gives each port's name.
    pub(crate) fn new(layout: &Layout, name: impl Fn(&str) -> String) -> Result<Self, MissingPort> {
        let slot = |field| find(layout, &name(field));
        Ok(Self {
            valid: slot("valid")?,
            sm: slot("sm")?,
            slot: slot("slot")?,
            id: slot("id")?,
            index: slot("index")?,
            kind: slot("type")?,
        })
    }

    pub(crate) fn get(&self, words: &[u32]) -> Option<CtaOut> {
        let byte = |slot: Slot| slot.get(words) as u8;
        (self.valid.get(words) != 0).then(|| CtaOut {
            sm: byte(self.sm),
            slot: byte(self.slot),
            id: byte(self.id),
            index: self.index.get(words) as u32,
            kind: CtaType::of_bit(self.kind.get(words) != 0),
        })
    }

    pub(crate) fn set(&self, words: &mut [u32], cta: Option<CtaOut>) {
        self.valid.set(words, cta.is_some().into());
        let cta = cta.unwrap_or_default();
        self.sm.set(words, cta.sm.into());
        self.slot.set(words, cta.slot.into());
        self.id.set(words, cta.id.into());
        self.index.set(words, cta.index.into());
        self.kind.set(words, cta.kind.bit().into());
    }
}

impl FlatArbiter {
    /// The model with `params`, behind the hardware's `ports`.
    pub fn new(params: DispatchParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let lanes = params.sms().lanes();
        let channel = |(model, (c, letter)): (ChannelModel, (usize, char))| {
            let input = |name: &str| find(&inputs, &format!("{name}_{c}_i"));
            let output = |name: &str| find(&outputs, &format!("{name}_{c}_o"));
            let cta = |port: usize| {
                let out = CtaPorts::new(&outputs, |field| format!("cta_{field}_{port}_o"))?;
                Ok((find(&inputs, &format!("cta_ready_{port}_i"))?, out))
            };
            let ports = c * params.places()..(c + 1) * params.places();
            let io = ChannelPorts {
                kern_valid: input("kern_valid")?,
                kern_ready: output("kern_ready")?,
                kernel: KernelPorts::new(&inputs, |field| format!("kern_{field}_{c}_i"))?,
                need_valid: output("need_valid")?,
                needs: NeedPorts::new(&outputs, |resource| format!("need_{resource}_{c}_o"))?,
                need_part: output("need_part")?,
                fit: LanePorts::new(&inputs, &format!("fit_{letter}_i"), lanes)?,
                place: LanePorts::new(&outputs, &format!("place_{letter}_o"), lanes)?,
                cta: ports.map(cta).collect::<Result<_, MissingPort>>()?,
                no_room: output("no_room")?,
            };
            Ok((model, io))
        };
        let channels = ChannelModel::of(params).into_iter().zip(LETTERS.into_iter().enumerate());
        Ok(Self {
            channels: channels.map(channel).collect::<Result<_, MissingPort>>()?,
            rst_ni: find(&inputs, "rst_ni")?,
            run: if params.sms().holds() { Some(find(&inputs, "run_0_i")?) } else { None },
            ports,
        })
    }
}

impl CycleModel for FlatArbiter {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, words: &[u32], out_words: &mut [u32]) -> Result<(), CycleError> {
        let bit = |slot: Slot| slot.get(words) != 0;
        out_words.fill(0);
        for (model, io) in &mut self.channels {
            let mut given = ChannelIn {
                rst_ni: bit(self.rst_ni),
                kernel: bit(io.kern_valid).then(|| io.kernel.get(words)),
                fit: io.fit.get(words),
                cta_ready: [false; MAX_PLACES],
                holds: self.run.is_some_and(|run| !bit(run)),
            };
            for (ready, (slot, _)) in given.cta_ready.iter_mut().zip(&io.cta) {
                *ready = bit(*slot);
            }
            let out = model.cycle(&given);
            io.kern_ready.set(out_words, out.kernel_ready.into());
            io.need_valid.set(out_words, out.need.is_some().into());
            let need = out.need.unwrap_or_default();
            io.needs.set(out_words, need.needs);
            io.need_part.set(out_words, need.partition.into());
            io.place.set(out_words, out.place);
            for ((_, port), cta) in io.cta.iter().zip(out.cta) {
                port.set(out_words, cta);
            }
            io.no_room.set(out_words, out.no_room.into());
        }
        Ok(())
    }

    fn is_at_rest(&self) -> Option<bool> {
        Some(self.channels.iter().all(|(channel, _)| channel.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{ACTIVE_KERNELS, ArbiterKind, PLACES, SmLimits};
    use crate::sm_occupancy::model::lanes_of;

    /// With so many kernels and CTAs at a time, on so many SMs.
    fn wide(active: usize, places: usize, sms: usize) -> ChannelModel {
        let params = SmParams::new(sms, SmLimits::H100)
            .and_then(|sms| DispatchParams::new(ArbiterKind::Typed { active }, 8, sms)?.with_places(places));
        ChannelModel::new(params.unwrap_or_else(|e| panic!("{e}")))
    }

    /// One CTA at a time.
    fn channel(active: usize, sms: usize) -> ChannelModel {
        wide(active, 1, sms)
    }

    fn kernel(slot: u8, grid: u32) -> Kernel {
        let needs = CtaNeeds { warps: u16::from(slot) + 1, registers: 1, smem: 0 };
        Kernel { slot, id: slot + 100, launch: Launch { grid, needs, ..Launch::default() } }
    }

    const IDLE: ChannelIn =
        ChannelIn { rst_ni: true, kernel: None, fit: 0b1111, cta_ready: [true; MAX_PLACES], holds: false };

    /// The CTA that goes out in each cycle: slot and index.
    fn run(channel: &mut ChannelModel, kernels: &[Kernel], cycles: usize) -> Vec<Option<(u8, u32)>> {
        let mut waiting = kernels.iter().copied().peekable();
        (0..cycles)
            .map(|_| {
                let out = channel.cycle(&ChannelIn { kernel: waiting.peek().copied(), ..IDLE });
                waiting.next_if(|_| out.kernel_ready);
                out.cta[0].map(|cta| (cta.slot, cta.index))
            })
            .collect()
    }

    #[test]
    fn the_first_cta_goes_out_after_two_cycles_and_then_one_per_cycle() {
        let mut channel = channel(1, 12);
        let ctas = run(&mut channel, &[kernel(1, 3), kernel(2, 1)], 9);
        // Last CTA of a kernel to the first of the next: 3.
        let want = [None, None, Some((1, 0)), Some((1, 1)), Some((1, 2)), None, None, Some((2, 0)), None];
        assert_eq!(ctas, want);
        assert!(channel.is_empty());
    }

    #[test]
    fn a_comer_is_needed_at_once_with_its_own_fields() {
        let mut channel = channel(2, 12);
        let out = channel.cycle(&ChannelIn { kernel: Some(kernel(6, 9)), ..IDLE });
        assert_eq!(out.need.map(|need| need.needs.warps), Some(7));
        // A second one comes into the other entry, while the first is looked at for its turn.
        let warps: Vec<Option<u16>> = (0..5)
            .map(|cycle| {
                let kernel = (cycle == 0).then(|| kernel(8, 9));
                channel.cycle(&ChannelIn { kernel, fit: 0, ..IDLE }).need.map(|need| need.needs.warps)
            })
            .collect();
        assert_eq!(warps, [Some(7), Some(7), Some(9), Some(9), Some(9)]);
    }

    #[test]
    fn a_channel_has_as_many_kernels_as_it_is_made_for() {
        for active in ACTIVE_KERNELS {
            let mut channel = channel(active, 12);
            let comes = |channel: &mut ChannelModel, slot| {
                channel.cycle(&ChannelIn { kernel: Some(kernel(slot, 9)), fit: 0, ..IDLE }).kernel_ready
            };
            assert_eq!((0..9).filter(|slot| comes(&mut channel, *slot)).count(), active);
        }
    }

    #[test]
    fn active_kernels_take_turns_of_three_cycles() {
        let mut channel = channel(4, 12);
        let ctas = run(&mut channel, &[kernel(0, 90), kernel(1, 90), kernel(2, 90)], 20);
        let slots: Vec<u8> = ctas[2..].iter().flatten().map(|(slot, _)| *slot).collect();
        // Slice 0 goes round with the first CTA after the reset, and again with its fifth.
        assert_eq!(slots, [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1]);
    }

    /// Two kernels by turns would each get every other lane, twice: 23 or 24 of 46 SMs.
    #[test]
    fn kernels_that_take_turns_change_lanes() {
        for (active, sms) in [(2, 46), (2, 132), (4, 46), (4, 132)] {
            let mut channel = channel(active, sms);
            let kernels: Vec<Kernel> = (0..active as u8).map(|slot| kernel(slot, sms as u32)).collect();
            let mut waiting = kernels.iter().copied().peekable();
            let mut got = vec![vec![0; sms]; active];
            for _ in 0..active * sms.next_multiple_of(3) + 9 {
                let fit = lanes_of(sms, channel.phase.placed());
                let out = channel.cycle(&ChannelIn { kernel: waiting.peek().copied(), fit, ..IDLE });
                waiting.next_if(|_| out.kernel_ready);
                if let Some(cta) = out.cta[0] {
                    got[usize::from(cta.slot)][usize::from(cta.sm)] += 1;
                }
            }
            for (slot, got) in got.iter().enumerate() {
                let used = got.iter().filter(|ctas| **ctas > 0).count();
                println!("{active} kernels, {sms} SMs: kernel {slot} has {used}");
                assert!(used * 4 >= sms * 3, "{active} kernels, {sms} SMs: kernel {slot} is on {got:?}");
            }
        }
    }

    /// With one lane, each CTA of slice 0 goes round: second turns often, and never a third.
    #[test]
    fn no_kernel_has_three_turns_in_a_row() {
        let mut channel = channel(2, 3);
        let ctas = run(&mut channel, &[kernel(0, 90), kernel(1, 90)], 122);
        let slots: Vec<u8> = ctas[2..].iter().flatten().map(|(slot, _)| *slot).collect();
        assert_eq!(slots.len(), 120);
        let turns: Vec<usize> = slots.chunk_by(|a, b| a == b).map(<[u8]>::len).collect();
        assert_eq!(turns.iter().max(), Some(&(2 * SLICES)), "{turns:?}");
    }

    #[test]
    fn a_cta_that_is_not_taken_is_held_and_stops_the_next() {
        let mut channel = channel(1, 12);
        run(&mut channel, &[kernel(1, 9)], 2);
        let mut cycle = |ready, fit| {
            let out = channel.cycle(&ChannelIn { cta_ready: [ready; MAX_PLACES], fit, ..IDLE });
            (out.cta[0].map(|cta| (cta.sm, cta.index)), out.place != 0, out.no_room)
        };
        // Slice 1, and after a whole turn slice 1 again: SM 1 in lane 1, SM 10 in lane 2.
        assert_eq!(cycle(false, 0b10), (Some((1, 0)), true, false));
        assert_eq!(cycle(false, 0b1111), (Some((1, 0)), false, false));
        assert_eq!(cycle(true, 0b1111), (Some((1, 0)), false, false));
        assert_eq!(cycle(true, 0b100), (Some((10, 1)), true, false));
    }

    #[test]
    fn lanes_are_served_in_turn_with_a_pointer_per_slice() {
        let mut channel = channel(1, 12);
        run(&mut channel, &[kernel(1, 99)], 2);
        let mut place = |fit| channel.cycle(&ChannelIn { fit, ..IDLE }).place;
        let places: Vec<u64> = (0..9).map(|_| place(0b111)).collect();
        assert_eq!(places, [1, 1, 1, 2, 2, 2, 4, 4, 4]);
        assert_eq!([place(0b100), place(0b010), place(0b011)], [4, 2, 1]);
        assert_eq!([place(0b110), place(0b011), place(0b011)], [2, 1, 2]);
    }

    #[test]
    fn no_room_is_only_the_lack_of_a_lane() {
        let mut channel = channel(1, 12);
        let mut no_room = |kernel, fit| channel.cycle(&ChannelIn { kernel, fit, ..IDLE }).no_room;
        assert!(!no_room(Some(kernel(1, 1)), 0));
        assert!(!no_room(None, 0));
        assert!(no_room(None, 0));
        assert!(!no_room(None, 1));
        assert!(!no_room(None, 0));
    }

    #[test]
    fn a_selection_is_dropped_where_another_kernel_comes_into_its_entry() {
        let mut channel = channel(1, 12);
        // Selected in cycles 0, 1 and 2; the last CTA is placed in 2; the next kernel comes in 3.
        run(&mut channel, &[kernel(1, 1)], 3);
        let ctas = run(&mut channel, &[kernel(2, 5)], 4);
        assert_eq!(ctas, [None, None, Some((2, 0)), Some((2, 1))]);
    }

    /// Where the number of SMs is no multiple of three, as many CTAs as there are SMs still are one for each, whichever slice is first.
    #[test]
    fn slices_that_are_short_of_an_sm_let_a_turn_pass() {
        for (sms, first) in [(46, 0), (46, 1), (46, 2), (8, 0), (8, 1), (8, 2), (12, 1)] {
            let mut channel = channel(1, sms);
            run(&mut channel, &[kernel(1, 4 * sms as u32)], 2 + first);
            let mut got = vec![0; sms];
            let mut passed = 0;
            for _ in 0..4 * sms.next_multiple_of(3) {
                let fit = lanes_of(sms, channel.phase.placed());
                match channel.cycle(&ChannelIn { fit, ..IDLE }).cta[0] {
                    Some(cta) => got[usize::from(cta.sm)] += 1,
                    None => passed += 1,
                }
                let (least, most) = (got.iter().min(), got.iter().max());
                assert!(most <= least.map(|n| n + 1).as_ref(), "{sms} SMs, slice {first} first: {got:?}");
            }
            println!("{sms} {first}: {passed} turns passed");
        }
    }

    /// The CTAs of a kernel that go out in each cycle, by port: SM and index.
    fn ports(channel: &mut ChannelModel, cycles: usize) -> Vec<Vec<Option<(u8, u32)>>> {
        let places = channel.banks.len();
        (0..cycles)
            .map(|_| {
                let fit = lanes_of(channel.params.sms().sms(), channel.phase.placed());
                let out = channel.cycle(&ChannelIn { fit, ..IDLE });
                out.cta[..places].iter().map(|cta| cta.map(|cta| (cta.sm, cta.index))).collect()
            })
            .collect()
    }

    #[test]
    fn each_bank_places_a_cta_on_an_sm_of_its_own_and_the_next_kernel_begins_with_the_next_bank() {
        let mut channel = wide(1, 4, 24);
        run(&mut channel, &[kernel(1, 7)], 2);
        let some = |ctas: [(u8, u32); 4]| ctas.map(Some).to_vec();
        // Slice 2 and slice 0: SM mod 3 is the slice's number, mod 4 the bank's.
        assert_eq!(
            ports(&mut channel, 3),
            [
                some([(4, 0), (1, 1), (10, 2), (7, 3)]),
                vec![Some((8, 4)), Some((5, 5)), Some((2, 6)), None],
                vec![None; 4]
            ]
        );
        run(&mut channel, &[kernel(2, 2)], 2);
        assert_eq!(
            ports(&mut channel, 1)[0].iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false, false, true]
        );
    }

    #[test]
    fn ctas_that_are_not_all_taken_are_held_port_by_port() {
        let mut channel = wide(1, 2, 24);
        run(&mut channel, &[kernel(1, 9)], 2);
        let mut cycle = |ready: [bool; 2]| {
            let mut cta_ready = [false; MAX_PLACES];
            cta_ready[..2].copy_from_slice(&ready);
            let out = channel.cycle(&ChannelIn { cta_ready, fit: 0b11, ..IDLE });
            (out.cta[0].map(|cta| cta.index), out.cta[1].map(|cta| cta.index), out.place)
        };
        assert_eq!(cycle([false, true]), (Some(0), Some(1), 0b11));
        assert_eq!(cycle([false, true]), (Some(0), None, 0));
        assert_eq!(cycle([true, false]), (Some(0), None, 0));
        assert_eq!(cycle([true, false]), (Some(2), Some(3), 0b11));
        assert_eq!(cycle([true, true]), (None, Some(3), 0));
        assert_eq!(cycle([true, true]), (Some(4), Some(5), 0b11));
    }

    /// As many CTAs as there are SMs are one for each, with any number of banks, and they take no more cycles than the largest bank has SMs.
    #[test]
    fn a_grid_of_as_many_ctas_as_sms_is_on_all_of_them() {
        for places in PLACES {
            for sms in (places..=48).chain([64, 108, 132, 144, 190, 192]) {
                for first in 0..SLICES {
                    let mut channel = wide(1, places, sms);
                    run(&mut channel, &[kernel(1, sms as u32)], 2);
                    for _ in 0..first {
                        channel.cycle(&ChannelIn { fit: 0, ..IDLE });
                    }
                    let mut got = vec![0; sms];
                    for cta in
                        ports(&mut channel, sms.div_ceil(SLICES * places) * SLICES).iter().flatten().flatten()
                    {
                        got[usize::from(cta.0)] += 1;
                    }
                    let on = got.iter().filter(|ctas| **ctas > 0).count();
                    assert_eq!(on, sms, "{places} places, {sms} SMs, {first} cycles later: {got:?}");
                    assert!(channel.is_empty());
                }
            }
        }
    }

    /// A turn passes only where others have had room: one SM that has room is not kept waiting.
    #[test]
    fn a_slice_does_not_let_a_turn_pass_for_others_that_are_full() {
        let mut channel = channel(1, 46);
        run(&mut channel, &[kernel(1, 99)], 2);
        for _ in 0..9 {
            let slice = channel.phase.placed();
            let out = channel.cycle(&ChannelIn { fit: if slice == 1 { 0b10 } else { 0 }, ..IDLE });
            assert_eq!(out.place, if slice == 1 { 0b10 } else { 0 });
        }
    }
}

//! Golden model of `sm_occupancy`: what is free on each SM, by slice and lane, and what is on its way through the three stages.

use crate::front_end::io::CtaNeeds;
use crate::model::{CycleError, CycleModel, ones};
use crate::params::{DONE_PORTS, Requesters, SLICES, SmLimits, SmParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find, find_all, indexed};

/// Most requesters that a block can have.
pub const MAX_REQUESTERS: usize = 2;

/// Letters of requesters and channels in port names.
pub const LETTERS: [char; MAX_REQUESTERS] = ['a', 'b'];

/// Most lanes that a block can have, as a mask has bits.
pub(crate) const MAX_LANES: usize = 64;

/// What stands on one completion channel, valid or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// A CTA has ended.
    pub valid: bool,
    /// Its SM, one that is there, as the page asks. With another the model goes on, but what it says need not be what the hardware does.
    pub sm: u8,
    /// What it had.
    pub needs: CtaNeeds,
}

/// Inputs of one cycle; masks have one bit per lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OccupancyIn {
    /// Reset, active low.
    pub rst_ni: bool,
    /// What each requester's CTA needs.
    pub need: [Option<CtaNeeds>; MAX_REQUESTERS],
    /// Lanes of the slice at C that it may use.
    pub allow: [u64; MAX_REQUESTERS],
    /// The lanes of the slice at P that get a CTA.
    pub place: [u64; MAX_REQUESTERS],
    /// CTAs that have ended.
    pub free: [Free; DONE_PORTS],
    /// Where slices stand still at times: they go on from the next cycle.
    pub wake: bool,
}

/// Outputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OccupancyOut {
    /// Lanes of the slice at P where the CTA of two cycles before fits.
    pub fit: [u64; MAX_REQUESTERS],
    /// The completion at each port is taken.
    pub free_ready: [bool; DONE_PORTS],
    /// The slices go on at the end of this cycle.
    pub run: bool,
}

/// CTA slots, warps, registers, shared memory in 16 bits each, the highest of which is 0: one subtraction compares all four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amounts(u64);

impl Amounts {
    const BORROW: u64 = 0x8000_8000_8000_8000;
    /// Bits of a resource that are counted: 5, 6, 8, 11. The most that an SM can have reads 0, but for shared memory.
    const COUNTED: u64 = 0x07FF_00FF_003F_001F;
    /// Bits of a need that there are ports for: 7, 9, 11, beside one CTA slot.
    const ASKED: u64 = 0x07FF_01FF_007F_0001;

    fn new(ctas: u16, needs: CtaNeeds) -> Self {
        let fields = [ctas, needs.warps, needs.registers, needs.smem];
        Self(fields.iter().rev().fold(0, |all, field| all << 16 | u64::from(*field)))
    }

    fn of_cta(needs: CtaNeeds) -> Self {
        Self(Self::new(1, needs).0 & Self::ASKED)
    }

    fn of_empty(sm: SmLimits) -> Self {
        Self::new(sm.ctas(), CtaNeeds { warps: sm.warps(), registers: sm.registers(), smem: sm.smem() })
    }

    fn counted(self) -> Self {
        Self(self.0 & Self::COUNTED)
    }

    fn at_most(self, other: Self) -> bool {
        ((other.0 | Self::BORROW) - self.0) & Self::BORROW == Self::BORROW
    }

    fn ctas(self) -> u16 {
        self.0 as u16
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// What is free on an SM, counted modulo 32 CTA slots, 64 warps, 256 register units and 2048 shared memory units; on an empty one,
/// which may have that much, nothing is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Room {
    free: Amounts,
    empty: bool,
}

impl Room {
    fn of_empty(sm: SmLimits) -> Self {
        Self { free: Amounts::of_empty(sm).counted(), empty: true }
    }

    fn has(self, cta: Amounts) -> bool {
        self.empty || cta.at_most(self.free)
    }

    /// For two CTAs an empty SM's room is known.
    fn has_both(self, both: Amounts, sm: SmLimits) -> bool {
        match self.empty {
            true => both.at_most(Amounts::of_empty(sm)),
            false => both.at_most(self.free),
        }
    }

    fn charge(&mut self, cta: Amounts) {
        let left = (self.free.0 | Amounts::BORROW) - cta.counted().0;
        *self = Self { free: Amounts(left).counted(), empty: false };
    }

    /// With its last CTA an SM becomes empty, whatever else was given back.
    fn give_back(&mut self, cta: Amounts, sm: SmLimits) {
        self.empty |= self.free.ctas() + 1 == sm.ctas();
        self.free = self.free.plus(cta.counted()).counted();
    }
}

/// A completion that waits for its SM's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    lane: usize,
    cta: Amounts,
}

/// Where the slices are: one at each stage, a step per cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase {
    phase: usize,
    /// Changes with every turn of the slices.
    odd_turn: bool,
}

impl Phase {
    /// The slice at C.
    pub(crate) fn compared(self) -> usize {
        self.phase
    }

    /// The slice at P.
    pub(crate) fn placed(self) -> usize {
        (self.phase + SLICES - 1) % SLICES
    }

    /// The slice at U.
    pub(crate) fn updated(self) -> usize {
        (self.phase + SLICES - 2) % SLICES
    }

    pub(crate) fn step(&mut self) {
        self.phase = (self.phase + 1) % SLICES;
        self.odd_turn ^= self.phase == 0;
    }
}

/// The SM that `sm` means at `port`: its two low bits are the port's number.
fn at_port(port: usize, sm: u8) -> usize {
    usize::from(sm) / DONE_PORTS * DONE_PORTS + port
}

/// The mask of a lane, which is empty past the last one.
fn one_hot(lane: usize) -> u64 {
    if lane < MAX_LANES { 1 << lane } else { 0 }
}

/// Lanes of a slice that have an SM, as a mask.
pub(crate) fn lanes_of(sms: usize, slice: usize) -> u64 {
    (slice..sms).step_by(SLICES).fold(0, |lanes, sm| lanes | 1 << SmParams::lane(sm))
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct OccupancyModel {
    params: SmParams,
    requesters: Requesters,
    phase: Phase,
    /// Cycles in which SMs still become empty.
    filling: usize,
    free: [[Room; MAX_LANES]; SLICES],
    /// The needs given one, two and three cycles before: at C, P and U.
    need: [[Option<Amounts>; MAX_REQUESTERS]; SLICES],
    /// What the slice at P was found to have room for.
    open: [u64; MAX_REQUESTERS],
    /// Where the slice at U was placed on.
    placed: [u64; MAX_REQUESTERS],
    kept: [[Option<Kept>; SLICES]; DONE_PORTS],
    /// In the cycle before, the slices were woken.
    woken: bool,
}

impl OccupancyModel {
    /// After reset: no SM is empty yet.
    pub fn new(params: SmParams, requesters: Requesters) -> Self {
        Self {
            params,
            requesters,
            phase: Phase::default(),
            filling: SLICES,
            free: [[Room::default(); MAX_LANES]; SLICES],
            need: Default::default(),
            open: [0; MAX_REQUESTERS],
            placed: [0; MAX_REQUESTERS],
            kept: Default::default(),
            woken: false,
        }
    }

    /// Lanes of the slice at P where the CTA of two cycles before fits, for each requester.
    pub fn fit(&self) -> [u64; MAX_REQUESTERS] {
        let slice = self.phase.placed();
        let kept = self.kept.iter().filter_map(|port| port[slice]);
        let waiting = kept.fold(0, |lanes, kept| lanes | one_hot(kept.lane));
        self.open.map(|lanes| lanes & !waiting)
    }

    /// The SM in the lane of the slice at P that `place` names, 0 where it names none.
    pub fn sm(&self, place: u64) -> u8 {
        if place == 0 { 0 } else { SmParams::sm(place.trailing_zeros() as usize, self.phase.placed()) as u8 }
    }

    /// Whether a completion of `sm` is taken at `port`, which stands for `sm` mod 4.
    pub fn free_ready(&self, port: usize, sm: u8) -> bool {
        self.kept.get(port).is_some_and(|kept| kept[at_port(port, sm) % SLICES].is_none())
    }

    /// All SMs have what empty ones have.
    pub fn all_empty(&self) -> bool {
        let empty = Room::of_empty(self.params.limits());
        let full = |slice: usize| {
            ones(lanes_of(self.params.sms(), slice)).all(|lane| self.free[slice][lane] == empty)
        };
        self.filling == 0 && (0..SLICES).all(full)
    }

    /// The slices go on at the end of this cycle: always, or where something is asked of them.
    pub fn runs(&self) -> bool {
        !self.params.holds()
            || self.filling > 0
            || self.woken
            || self.need.iter().flatten().any(Option::is_some)
            || self.kept.iter().flatten().any(Option::is_some)
    }

    /// Nothing is to be charged and no completion is kept.
    pub fn is_settled(&self) -> bool {
        self.placed == [0; MAX_REQUESTERS] && self.kept.iter().flatten().all(Option::is_none)
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &OccupancyIn) -> OccupancyOut {
        OccupancyOut {
            fit: self.fit(),
            free_ready: std::array::from_fn(|port| self.free_ready(port, input.free[port].sm)),
            run: self.runs(),
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &OccupancyIn) -> OccupancyOut {
        let out = self.outputs(input);
        if !input.rst_ni {
            *self = Self::new(self.params, self.requesters);
            return out;
        }
        self.open = self.compare(input.allow);
        self.update(input, out);
        self.placed = input.place;
        self.need.rotate_right(1);
        self.need[0] = input.need.map(|need| need.map(Amounts::of_cta));
        self.woken = input.wake;
        if out.run {
            self.phase.step();
        }
        out
    }

    /// Stage C: lanes that are open to each requester.
    fn compare(&self, allow: [u64; MAX_REQUESTERS]) -> [u64; MAX_REQUESTERS] {
        let slice = self.phase.compared();
        let free = &self.free[slice];
        let lanes = lanes_of(self.params.sms(), slice);
        let mut open = [0; MAX_REQUESTERS];
        if self.filling > 0 {
            return open;
        }
        for ((open, need), allow) in
            open.iter_mut().zip(self.need[0]).zip(allow).take(self.requesters.count())
        {
            if let Some(need) = need {
                *open = ones(lanes & allow)
                    .filter(|&lane| free[lane].has(need))
                    .fold(0, |open, lane| open | 1 << lane);
            }
        }
        if let [Some(a), Some(b)] = self.need[0] {
            let both = a.plus(b);
            let limits = self.params.limits();
            for lane in ones(open[0] & open[1]).filter(|&lane| !free[lane].has_both(both, limits)) {
                let loser = if (lane % 2 == 0) != self.phase.odd_turn { 1 } else { 0 };
                open[loser] &= !(1 << lane);
            }
        }
        open
    }

    /// Stage U, and the completions that come in.
    fn update(&mut self, input: &OccupancyIn, out: OccupancyOut) {
        let at_u = self.phase.updated();
        let free = &mut self.free[at_u];
        if self.filling > 0 {
            self.filling -= 1;
            *free = [Room::of_empty(self.params.limits()); MAX_LANES];
        }
        for (placed, need) in self.placed.iter().zip(self.need[2]) {
            for lane in ones(*placed) {
                free[lane].charge(need.unwrap_or_default());
            }
        }
        let charged = self.placed[0] | self.placed[1];
        for (port, ((kept, done), ready)) in
            self.kept.iter_mut().zip(input.free).zip(out.free_ready).enumerate()
        {
            if done.valid && ready {
                let sm = at_port(port, done.sm);
                kept[sm % SLICES] = Some(Kept { lane: SmParams::lane(sm), cta: Amounts::of_cta(done.needs) });
            }
            if let Some(Kept { lane, cta }) = kept[at_u]
                && charged & one_hot(lane) == 0
                && out.run
            {
                // An SM that there is not gets nothing back. The page forbids it; hardware does not look.
                if let Some(free) = free.get_mut(lane) {
                    free.give_back(cta, self.params.limits());
                }
                kept[at_u] = None;
            }
        }
    }
}

/// A mask over lanes as ports, 8 lanes each.
#[derive(Clone, Debug)]
pub(crate) struct LanePorts(Vec<Slot>);

impl LanePorts {
    pub(crate) fn new(layout: &Layout, name: &str, lanes: usize) -> Result<Self, MissingPort> {
        find_all(layout, name, lanes.div_ceil(8)).map(Self)
    }

    pub(crate) fn get(&self, words: &[u32]) -> u64 {
        self.0.iter().rev().fold(0, |lanes, slot| lanes << 8 | u64::from(words[slot.word]))
    }

    pub(crate) fn set(&self, words: &mut [u32], lanes: u64) {
        for (slot, byte) in self.0.iter().zip(lanes.to_le_bytes()) {
            words[slot.word] = byte.into();
        }
    }
}

/// Warps, registers and shared memory as ports; `name` gives each port's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeedPorts([Slot; 3]);

impl NeedPorts {
    pub(crate) fn new(layout: &Layout, name: impl Fn(&str) -> String) -> Result<Self, MissingPort> {
        let slot = |resource| find(layout, &name(resource));
        Ok(Self([slot("warps")?, slot("regs")?, slot("smem")?]))
    }

    pub(crate) fn get(&self, words: &[u32]) -> CtaNeeds {
        let [warps, registers, smem] = self.0.map(|slot| slot.get(words) as u16);
        CtaNeeds { warps, registers, smem }
    }

    pub(crate) fn set(&self, words: &mut [u32], needs: CtaNeeds) {
        for (slot, value) in self.0.iter().zip([needs.warps, needs.registers, needs.smem]) {
            slot.set(words, value.into());
        }
    }
}

/// The model behind flat words.
pub struct FlatOccupancy {
    model: OccupancyModel,
    ports: Vec<Port>,
    io: OccupancyPorts,
}

/// Where the block's ports are.
#[derive(Clone, Debug)]
pub struct OccupancyPorts {
    rst_ni: Slot,
    requesters: Vec<RequesterPorts>,
    done: Vec<DonePorts>,
    /// Where slices stand still at times: `wake` and `run`.
    hold: Option<(Slot, Slot)>,
}

#[derive(Clone, Debug)]
struct RequesterPorts {
    valid: Slot,
    needs: NeedPorts,
    allow: LanePorts,
    place: LanePorts,
    fit: LanePorts,
}

#[derive(Clone, Copy, Debug)]
struct DonePorts {
    valid: Slot,
    sm: Slot,
    needs: NeedPorts,
    ready: Slot,
}

impl OccupancyPorts {
    /// Finds every port in the two layouts. Errors name the port that is missing.
    pub fn new(
        params: SmParams,
        requesters: Requesters,
        inputs: &Layout,
        outputs: &Layout,
    ) -> Result<Self, MissingPort> {
        let lanes = params.lanes();
        let requester = |(r, letter): (usize, &char)| {
            Ok(RequesterPorts {
                valid: find(inputs, &format!("need_valid_{r}_i"))?,
                needs: NeedPorts::new(inputs, |resource| format!("need_{resource}_{r}_i"))?,
                allow: LanePorts::new(inputs, &format!("allow_{letter}_i"), lanes)?,
                place: LanePorts::new(inputs, &format!("place_{letter}_i"), lanes)?,
                fit: LanePorts::new(outputs, &format!("fit_{letter}_o"), lanes)?,
            })
        };
        let done = |p| {
            Ok(DonePorts {
                valid: find(inputs, &indexed("free_valid_i", p))?,
                sm: find(inputs, &indexed("free_sm_i", p))?,
                needs: NeedPorts::new(inputs, |resource| indexed(&format!("free_{resource}_i"), p))?,
                ready: find(outputs, &indexed("free_ready_o", p))?,
            })
        };
        Ok(Self {
            rst_ni: find(inputs, "rst_ni")?,
            requesters: LETTERS[..requesters.count()]
                .iter()
                .enumerate()
                .map(requester)
                .collect::<Result<_, MissingPort>>()?,
            done: (0..DONE_PORTS).map(done).collect::<Result<_, MissingPort>>()?,
            hold: match params.holds() {
                true => Some((find(inputs, "wake_0_i")?, find(outputs, "run_0_o")?)),
                false => None,
            },
        })
    }

    /// Writes the inputs of a cycle.
    pub fn pack(&self, input: &OccupancyIn, words: &mut [u32]) {
        words.fill(0);
        self.rst_ni.set(words, input.rst_ni.into());
        for (r, ports) in self.requesters.iter().enumerate() {
            ports.valid.set(words, input.need[r].is_some().into());
            ports.needs.set(words, input.need[r].unwrap_or_default());
            ports.allow.set(words, input.allow[r]);
            ports.place.set(words, input.place[r]);
        }
        for (ports, free) in self.done.iter().zip(input.free) {
            ports.valid.set(words, free.valid.into());
            ports.sm.set(words, free.sm.into());
            ports.needs.set(words, free.needs);
        }
        if let Some((wake, _)) = self.hold {
            wake.set(words, input.wake.into());
        }
    }

    /// Reads the inputs of a cycle back.
    pub fn unpack_inputs(&self, words: &[u32]) -> OccupancyIn {
        let bit = |slot: Slot| slot.get(words) != 0;
        let mut input = OccupancyIn { rst_ni: bit(self.rst_ni), ..OccupancyIn::default() };
        for (r, ports) in self.requesters.iter().enumerate() {
            input.need[r] = bit(ports.valid).then(|| ports.needs.get(words));
            input.allow[r] = ports.allow.get(words);
            input.place[r] = ports.place.get(words);
        }
        for (free, ports) in input.free.iter_mut().zip(&self.done) {
            *free = Free {
                valid: bit(ports.valid),
                sm: ports.sm.get(words) as u8,
                needs: ports.needs.get(words),
            };
        }
        input.wake = self.hold.is_some_and(|(wake, _)| bit(wake));
        input
    }

    /// Reads the outputs of a cycle.
    pub fn unpack(&self, words: &[u32]) -> OccupancyOut {
        let mut out = OccupancyOut::default();
        for (r, ports) in self.requesters.iter().enumerate() {
            out.fit[r] = ports.fit.get(words);
        }
        for (ready, ports) in out.free_ready.iter_mut().zip(&self.done) {
            *ready = ports.ready.get(words) != 0;
        }
        out.run = self.hold.is_none_or(|(_, run)| run.get(words) != 0);
        out
    }

    /// Writes the outputs of a cycle.
    pub fn pack_outputs(&self, out: &OccupancyOut, words: &mut [u32]) {
        words.fill(0);
        for (r, ports) in self.requesters.iter().enumerate() {
            ports.fit.set(words, out.fit[r]);
        }
        for (ports, ready) in self.done.iter().zip(out.free_ready) {
            ports.ready.set(words, ready.into());
        }
        if let Some((_, run)) = self.hold {
            run.set(words, out.run.into());
        }
    }
}

impl FlatOccupancy {
    /// The model for one or two `requesters`, behind the hardware's `ports`.
    pub fn new(params: SmParams, requesters: Requesters, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let io = OccupancyPorts::new(params, requesters, &inputs, &outputs)?;
        Ok(Self { model: OccupancyModel::new(params, requesters), ports, io })
    }
}

impl CycleModel for FlatOccupancy {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let out = self.model.cycle(&self.io.unpack_inputs(inputs));
        self.io.pack_outputs(&out, outputs);
        Ok(())
    }

    fn is_at_rest(&self) -> Option<bool> {
        Some(self.model.is_settled() && self.model.all_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTA: CtaNeeds = CtaNeeds { warps: 4, registers: 16, smem: 100 };

    fn needs(warps: u16) -> CtaNeeds {
        CtaNeeds { warps, registers: 1, smem: 0 }
    }

    /// What every cycle has: both requesters may use all lanes.
    fn idle() -> OccupancyIn {
        OccupancyIn { rst_ni: true, allow: [u64::MAX; 2], ..OccupancyIn::default() }
    }

    /// An array in its first cycle after reset.
    fn array(sms: usize, limits: SmLimits) -> OccupancyModel {
        let params = SmParams::new(sms, limits).unwrap_or_else(|e| panic!("{e}"));
        OccupancyModel::new(params, Requesters::Two)
    }

    /// An array whose SMs are empty, at phase 0.
    fn empty(sms: usize, limits: SmLimits) -> OccupancyModel {
        let mut array = array(sms, limits);
        for _ in 0..3 {
            array.cycle(&idle());
        }
        assert!(array.all_empty());
        array
    }

    fn run(array: &mut OccupancyModel, need: [Option<CtaNeeds>; 2], place: [u64; 2]) -> OccupancyOut {
        array.cycle(&OccupancyIn { need, place, ..idle() })
    }

    /// Runs idle cycles until the slice of `sm` is at the stage that is `stages` after C.
    fn until(array: &mut OccupancyModel, sm: usize, stages: usize) {
        while (array.phase.compared() + 2 * stages) % SLICES != sm % SLICES {
            array.cycle(&idle());
        }
    }

    fn end(array: &mut OccupancyModel, sm: u8, needs: CtaNeeds) -> bool {
        let mut input = OccupancyIn { need: [Some(CTA), None], ..idle() };
        input.free[usize::from(sm) % 4] = Free { valid: true, sm, needs };
        array.cycle(&input).free_ready[usize::from(sm) % 4]
    }

    #[test]
    fn after_reset_compares_find_nothing_for_three_cycles() {
        let mut array = array(7, SmLimits::H100);
        for _ in 0..4 {
            assert_eq!(run(&mut array, [Some(CTA); 2], [0; 2]).fit, [0; 2]);
        }
        assert!(array.all_empty());
        let fits: Vec<u64> = (0..3).map(|_| run(&mut array, [Some(CTA), None], [0; 2]).fit[0]).collect();
        // Slices 0, 1 and 2 of 7 SMs: 0, 3 and 6; 1 and 4; 2 and 5. SMs 0 and 4 share a lane, 1 and 5, 2 and 6.
        assert_eq!(fits, [0b1101, 0b11, 0b110]);
    }

    #[test]
    fn a_need_is_answered_after_two_cycles_slice_by_slice() {
        let mut array = empty(7, SmLimits::H100);
        run(&mut array, [Some(CTA), None], [0; 2]);
        assert_eq!(run(&mut array, [None, Some(CTA)], [0; 2]).fit, [0, 0]);
        let out = run(&mut array, [None; 2], [0b10, 0]);
        assert_eq!(out.fit, [0b11, 0]);
        let out = run(&mut array, [None; 2], [0, 0b10]);
        assert_eq!(out.fit, [0, 0b110]);
        assert_eq!(run(&mut array, [None; 2], [0; 2]).fit, [0; 2]);
    }

    #[test]
    fn a_placement_is_charged_before_the_next_compare() {
        let mut array = empty(3, SmLimits::new(2, 64, 256, 1000).unwrap_or_else(|e| panic!("{e}")));
        let mut placed = Vec::new();
        for cycle in 0..12 {
            let fit = array.fit()[0];
            run(&mut array, [Some(CTA), None], [fit, 0]);
            placed.extend((fit != 0).then_some(cycle));
        }
        // Two on each SM, three cycles apart.
        assert_eq!(placed, [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn both_may_be_placed_on_one_sm_that_has_room_for_both() {
        let mut array = empty(1, SmLimits::new(2, 8, 32, 200).unwrap_or_else(|e| panic!("{e}")));
        until(&mut array, 0, 2);
        run(&mut array, [Some(CTA); 2], [0; 2]);
        run(&mut array, [None; 2], [0; 2]);
        assert_eq!(run(&mut array, [None; 2], [1, 1]).fit, [1, 1]);
        run(&mut array, [None; 2], [0; 2]);
        assert_eq!(array.free[0][0], Room::default());
    }

    #[test]
    fn a_contested_sm_is_open_to_each_every_other_turn() {
        // 4 lanes; each SM has warps for one of the two.
        let mut array = empty(12, SmLimits::new(32, 10, 256, 0x7FF).unwrap_or_else(|e| panic!("{e}")));
        let mut open = Vec::new();
        for _ in 0..9 {
            open.push(run(&mut array, [Some(needs(6)), Some(needs(5))], [0; 2]).fit);
        }
        // Turn 1 began with this test's first cycle: its slices are at P in cycles 1, 2, 3.
        let (even, odd) = (0b0101, 0b1010);
        assert_eq!(open[2..4], [[odd, even]; 2]);
        assert_eq!(open[4..7], [[even, odd]; 3]);
        assert_eq!(open[7..], [[odd, even]; 2]);
    }

    #[test]
    fn a_completion_is_seen_after_two_to_four_cycles() {
        let full = SmLimits::new(1, 64, 256, 0x7FF).unwrap_or_else(|e| panic!("{e}"));
        // Stages of the SM's slice when the CTA ends: U, P, C.
        for (stage, cycles) in [(2, 2), (1, 3), (0, 4)] {
            let mut array = empty(1, full);
            until(&mut array, 0, 2);
            run(&mut array, [Some(CTA), None], [0; 2]);
            run(&mut array, [None; 2], [0; 2]);
            run(&mut array, [None; 2], [1, 0]);
            for _ in 0..3 {
                run(&mut array, [None; 2], [0; 2]);
            }
            until(&mut array, 0, stage);
            assert!(end(&mut array, 0, CTA));
            let mut passed = 1;
            while array.fit()[0] == 0 {
                run(&mut array, [Some(CTA), None], [0; 2]);
                passed += 1;
            }
            assert_eq!(passed, cycles, "stage {stage}");
        }
    }

    #[test]
    fn a_completion_waits_a_turn_where_its_sm_is_charged() {
        let mut array = empty(1, SmLimits::H100);
        until(&mut array, 0, 2);
        let mut answers = Vec::new();
        for cycle in 0..12 {
            let mut input = OccupancyIn { need: [Some(CTA), None], ..idle() };
            input.free[0] = Free { valid: cycle == 5, sm: 0, needs: CTA };
            let fit = array.fit()[0];
            input.place[0] = if cycle < 6 { fit } else { 0 };
            let out = array.cycle(&input);
            answers.push((fit, out.free_ready[0], array.all_empty()));
        }
        let (fits, ready): (Vec<u64>, Vec<bool>) = answers.iter().map(|a| (a.0, a.1)).unzip();
        // At P, and placed on, in cycles 2 and 5. The CTA that ends in 5 is kept while its SM is charged in 6, and so the SM is
        // out of `fit` in 8; it is given back in 9, and back in `fit` in 11.
        assert_eq!(fits, [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(ready, [true, true, true, true, true, true, false, false, false, false, true, true]);
        let mut one_there = Room::of_empty(SmLimits::H100);
        one_there.charge(Amounts::of_cta(CTA));
        assert_eq!(array.free[0][0], one_there);
    }

    /// Forbidden, and no crash. SM 255 would be in lane 87.
    #[test]
    fn a_completion_of_an_sm_that_there_is_not_changes_nothing() {
        for sms in [12, 192] {
            let mut array = empty(sms, SmLimits::H100);
            for _ in 0..6 {
                end(&mut array, 255, CTA);
                array.cycle(&idle());
            }
            assert!(array.all_empty());
        }
    }

    #[test]
    fn slices_stand_still_while_nothing_is_asked() {
        let params = SmParams::new(7, SmLimits::H100).unwrap_or_else(|e| panic!("{e}")).with_hold(true);
        let mut array = OccupancyModel::new(params, Requesters::Two);
        let runs = |array: &mut OccupancyModel, cycles: usize, input: OccupancyIn| -> Vec<bool> {
            (0..cycles).map(|_| array.cycle(&input).run).collect()
        };
        // Three cycles after the reset, and then not.
        assert_eq!(runs(&mut array, 6, idle()), [true, true, true, false, false, false]);
        assert_eq!((array.all_empty(), array.phase), (true, Phase { phase: 0, odd_turn: true }));
        // From the cycle after a CTA is first asked for until it would be charged: slice 0 waited for it.
        let asks = OccupancyIn { need: [None, Some(CTA)], ..idle() };
        assert_eq!(runs(&mut array, 1, asks), [false]);
        assert_eq!(runs(&mut array, 1, idle()), [true]);
        assert_eq!(array.fit(), [0, 0b1101]);
        assert_eq!(runs(&mut array, 3, idle()), [true, true, false]);
        // A completion that comes meanwhile is kept until its SM is at U.
        array.cycle(&OccupancyIn { need: [Some(CTA), None], ..idle() });
        assert_eq!(run(&mut array, [None; 2], [0; 2]).fit, [0; 2]);
        assert_eq!(run(&mut array, [None; 2], [0b100, 0]).fit, [0b1101, 0]);
        assert_eq!(runs(&mut array, 3, idle()), [true, false, false]);
        let phase = array.phase;
        let mut ended = idle();
        ended.free[2] = Free { valid: true, sm: 6, needs: CTA };
        assert!(!array.cycle(&ended).run && array.phase == phase && !array.all_empty());
        while array.cycle(&idle()).run {}
        assert!(array.all_empty() && array.phase != phase);
        // Woken, for a cycle.
        array.cycle(&OccupancyIn { wake: true, ..idle() });
        assert_eq!(runs(&mut array, 2, idle()), [true, false]);
    }

    #[test]
    fn a_port_keeps_one_completion_per_slice() {
        let mut array = empty(12, SmLimits::H100);
        // SMs 0, 4 and 8 are on port 0, in slices 0, 1, 2; slice 0 is at C.
        assert!(end(&mut array, 0, CTA));
        assert!(!array.free_ready(0, 0) && array.free_ready(0, 4) && array.free_ready(0, 8));
        assert!(array.free_ready(1, 9));
    }
}

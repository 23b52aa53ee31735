//! One channel of a CTA arbiter: up to four kernels of one type, one CTA per cycle.

use super::lanes::LanePicker;
use crate::info::Info;
use crate::params::{ID_BITS, SLICES, SmParams};
use crate::parts::{FindFirst, PayloadRegister, Register, bank, number, numbers};
use crate::sm_occupancy::{SlicePhase, groups};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Ports of a channel; the arbiter's are the same, one set per channel.
pub const CHANNELS: &[&str] = &["kern", "cta"];

/// One kernel whose CTAs are being placed.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct ActiveKernel<const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel comes into this entry at the end of this cycle.
    pub load_i: Signal<In, Bit>,
    /// Its window slot.
    pub slot_i: Signal<In, Bits<LN>>,
    /// Its id.
    pub id_i: Signal<In, Bits<ID_BITS>>,
    /// CTAs of its grid, at least 1.
    pub grid_i: Signal<In, Bits<32>>,
    /// 1: TENSOR.
    pub type_i: Signal<In, Bit>,
    /// Its SM partition.
    pub part_i: Signal<In, Bits<3>>,
    /// Warps that each CTA needs.
    pub warps_i: Signal<In, Bits<7>>,
    /// Register units that each CTA needs.
    pub regs_i: Signal<In, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub smem_i: Signal<In, Bits<11>>,
    /// A CTA goes to its SM at the end of this cycle.
    pub place_i: Signal<In, Bit>,
    /// Exactly one CTA is left.
    pub last_o: Signal<Out, Bit>,
    /// Number of the next CTA in the grid, from 0.
    pub index_o: Signal<Out, Bits<32>>,
    /// The kernel's window slot.
    pub slot_o: Signal<Out, Bits<LN>>,
    /// Its id.
    pub id_o: Signal<Out, Bits<ID_BITS>>,
    /// 1: TENSOR.
    pub type_o: Signal<Out, Bit>,
    /// Its SM partition.
    pub part_o: Signal<Out, Bits<3>>,
    /// Warps that each CTA needs.
    pub warps_o: Signal<Out, Bits<7>>,
    /// Register units that each CTA needs.
    pub regs_o: Signal<Out, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub smem_o: Signal<Out, Bits<11>>,
    /// CTAs that have not gone to their SMs: low half.
    left_low: PayloadRegister<Bits<16>>,
    /// CTAs that have not gone to their SMs: high half.
    left_high: PayloadRegister<Bits<16>>,
    /// `left_low` is zero: the next CTA that goes borrows from `left_high`.
    left_borrows: PayloadRegister<Bit>,
    /// Number of the next CTA in the grid, from 0: low half.
    index_low: PayloadRegister<Bits<16>>,
    /// Number of the next CTA: high half.
    index_high: PayloadRegister<Bits<16>>,
    /// `index_low` is all ones: the next CTA that goes carries into `index_high`.
    index_carries: PayloadRegister<Bit>,
    /// Exactly one CTA is left.
    last: PayloadRegister<Bit>,
    /// The kernel's window slot.
    slot: PayloadRegister<Bits<LN>>,
    /// The kernel's id.
    id: PayloadRegister<Bits<ID_BITS>>,
    /// The kernel's type; 1: TENSOR.
    kind: PayloadRegister<Bit>,
    /// Its SM partition.
    part: PayloadRegister<Bits<3>>,
    /// Warps that each CTA needs.
    warps: PayloadRegister<Bits<7>>,
    /// Register units that each CTA needs.
    regs: PayloadRegister<Bits<9>>,
    /// Shared memory units that each CTA needs.
    smem: PayloadRegister<Bits<11>>,
    /// Low half of `grid_i`.
    grid_low: Signal<Local, Bits<16>>,
    /// High half of `grid_i`.
    grid_high: Signal<Local, Bits<16>>,
    zero: Constant<Bits<16>>,
    one: Constant<Bits<16>>,
    two: Constant<Bits<16>>,
    last_low: Constant<Bits<16>>,
    half: Constant<Bits<32>>,
}

impl<const LN: usize> Default for ActiveKernel<LN> {
    fn default() -> Self {
        Self {
            info: Info::module("active_kernel", "").fields::<Self>(&[]).param("SLOT_BITS", "b", LN),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            slot_i: Signal::default(),
            id_i: Signal::default(),
            grid_i: Signal::default(),
            type_i: Signal::default(),
            part_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            place_i: Signal::default(),
            last_o: Signal::default(),
            index_o: Signal::default(),
            slot_o: Signal::default(),
            id_o: Signal::default(),
            type_o: Signal::default(),
            part_o: Signal::default(),
            warps_o: Signal::default(),
            regs_o: Signal::default(),
            smem_o: Signal::default(),
            left_low: PayloadRegister::default(),
            left_high: PayloadRegister::default(),
            left_borrows: PayloadRegister::default(),
            index_low: PayloadRegister::default(),
            index_high: PayloadRegister::default(),
            index_carries: PayloadRegister::default(),
            last: PayloadRegister::default(),
            slot: PayloadRegister::default(),
            id: PayloadRegister::default(),
            kind: PayloadRegister::default(),
            part: PayloadRegister::default(),
            warps: PayloadRegister::default(),
            regs: PayloadRegister::default(),
            smem: PayloadRegister::default(),
            grid_low: Signal::default(),
            grid_high: Signal::default(),
            zero: number(0),
            one: number(1),
            two: number(2),
            last_low: number(0xFFFE),
            half: number(16),
        }
    }
}

impl<const LN: usize> Logic for ActiveKernel<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.left_low.clk_i.next = self.clk_i.val();
        self.left_high.clk_i.next = self.clk_i.val();
        self.left_borrows.clk_i.next = self.clk_i.val();
        self.index_low.clk_i.next = self.clk_i.val();
        self.index_high.clk_i.next = self.clk_i.val();
        self.index_carries.clk_i.next = self.clk_i.val();
        self.last.clk_i.next = self.clk_i.val();
        self.slot.clk_i.next = self.clk_i.val();
        self.id.clk_i.next = self.clk_i.val();
        self.kind.clk_i.next = self.clk_i.val();
        self.part.clk_i.next = self.clk_i.val();
        self.warps.clk_i.next = self.clk_i.val();
        self.regs.clk_i.next = self.clk_i.val();
        self.smem.clk_i.next = self.clk_i.val();
        self.grid_low.next = bit_cast::<16, 32>(self.grid_i.val());
        self.grid_high.next = bit_cast::<16, 32>(self.grid_i.val() >> self.half.val());
        self.left_high.d_i.next = self.left_high.q_o.val();
        self.index_high.d_i.next = self.index_high.q_o.val();
        comment!("A kernel comes, with all its CTAs left; or one of its CTAs goes.");
        if self.load_i.val() {
            self.left_low.d_i.next = self.grid_low.val();
            self.left_high.d_i.next = self.grid_high.val();
            self.left_borrows.d_i.next = self.grid_low.val() == self.zero.val();
            self.last.d_i.next =
                (self.grid_high.val() == self.zero.val()) & (self.grid_low.val() == self.one.val());
            self.index_low.d_i.next = self.zero.val();
            self.index_high.d_i.next = self.zero.val();
            self.index_carries.d_i.next = false;
            self.slot.d_i.next = self.slot_i.val();
            self.id.d_i.next = self.id_i.val();
            self.kind.d_i.next = self.type_i.val();
            self.part.d_i.next = self.part_i.val();
            self.warps.d_i.next = self.warps_i.val();
            self.regs.d_i.next = self.regs_i.val();
            self.smem.d_i.next = self.smem_i.val();
        } else {
            if self.place_i.val() {
                comment!("Whether the next one borrows or carries, and whether it is the last, is known");
                comment!("a cycle before it goes.");
                self.left_low.d_i.next = self.left_low.q_o.val() - self.one.val();
                self.left_borrows.d_i.next = self.left_low.q_o.val() == self.one.val();
                if self.left_borrows.q_o.val() {
                    self.left_high.d_i.next = self.left_high.q_o.val() - self.one.val();
                }
                self.last.d_i.next = (self.left_high.q_o.val() == self.zero.val())
                    & (self.left_low.q_o.val() == self.two.val());
                self.index_low.d_i.next = self.index_low.q_o.val() + self.one.val();
                self.index_carries.d_i.next = self.index_low.q_o.val() == self.last_low.val();
                if self.index_carries.q_o.val() {
                    self.index_high.d_i.next = self.index_high.q_o.val() + self.one.val();
                }
            } else {
                self.left_low.d_i.next = self.left_low.q_o.val();
                self.left_borrows.d_i.next = self.left_borrows.q_o.val();
                self.last.d_i.next = self.last.q_o.val();
                self.index_low.d_i.next = self.index_low.q_o.val();
                self.index_carries.d_i.next = self.index_carries.q_o.val();
            }
            self.slot.d_i.next = self.slot.q_o.val();
            self.id.d_i.next = self.id.q_o.val();
            self.kind.d_i.next = self.kind.q_o.val();
            self.part.d_i.next = self.part.q_o.val();
            self.warps.d_i.next = self.warps.q_o.val();
            self.regs.d_i.next = self.regs.q_o.val();
            self.smem.d_i.next = self.smem.q_o.val();
        }
        self.last_o.next = self.last.q_o.val();
        self.index_o.next = bit_cast::<32, 16>(self.index_low.q_o.val())
            | (bit_cast::<32, 16>(self.index_high.q_o.val()) << self.half.val());
        self.slot_o.next = self.slot.q_o.val();
        self.id_o.next = self.id.q_o.val();
        self.type_o.next = self.kind.q_o.val();
        self.part_o.next = self.part.q_o.val();
        self.warps_o.next = self.warps.q_o.val();
        self.regs_o.next = self.regs.q_o.val();
        self.smem_o.next = self.smem.q_o.val();
    }
}

/// A channel: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaChannel<const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A kernel comes.
    pub kern_valid_i: Signal<In, Bit>,
    /// It is taken at the end of this cycle.
    pub kern_ready_o: Signal<Out, Bit>,
    /// Its window slot.
    pub kern_slot_i: Signal<In, Bits<LN>>,
    /// Its id.
    pub kern_id_i: Signal<In, Bits<ID_BITS>>,
    /// CTAs of its grid, at least 1.
    pub kern_grid_i: Signal<In, Bits<32>>,
    /// 1: TENSOR.
    pub kern_type_i: Signal<In, Bit>,
    /// Its SM partition.
    pub kern_part_i: Signal<In, Bits<3>>,
    /// Warps that each CTA needs.
    pub kern_warps_i: Signal<In, Bits<7>>,
    /// Register units that each CTA needs.
    pub kern_regs_i: Signal<In, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub kern_smem_i: Signal<In, Bits<11>>,
    /// There is a CTA to be looked at next.
    pub need_valid_o: Signal<Out, Bit>,
    /// Warps it needs.
    pub need_warps_o: Signal<Out, Bits<7>>,
    /// Register units it needs.
    pub need_regs_o: Signal<Out, Bits<9>>,
    /// Shared memory units it needs.
    pub need_smem_o: Signal<Out, Bits<11>>,
    /// Its partition.
    pub need_part_o: Signal<Out, Bits<3>>,
    /// Lanes where the CTA of two cycles before fits.
    pub fit_i: Vec<Signal<In, Bits<8>>>,
    /// One-hot or zero: the lane that gets it.
    pub place_o: Vec<Signal<Out, Bits<8>>>,
    /// A CTA goes to an SM.
    pub cta_valid_o: Signal<Out, Bit>,
    /// It is taken at the end of this cycle.
    pub cta_ready_i: Signal<In, Bit>,
    /// The SM.
    pub cta_sm_o: Signal<Out, Bits<8>>,
    /// Its kernel's window slot.
    pub cta_slot_o: Signal<Out, Bits<LN>>,
    /// Its kernel's id.
    pub cta_id_o: Signal<Out, Bits<ID_BITS>>,
    /// Its number in the grid, from 0.
    pub cta_index_o: Signal<Out, Bits<32>>,
    /// 1: TENSOR.
    pub cta_type_o: Signal<Out, Bit>,
    /// A CTA was looked at in this cycle and no lane had room.
    pub no_room_o: Signal<Out, Bit>,
    /// Of each entry, its kernel and what is left of it.
    entry: Vec<ActiveKernel<LN>>,
    /// Picks the lane that gets a CTA.
    picker: LanePicker,
    /// Which slice is at which stage.
    phase: SlicePhase,
    /// Finds the lowest free entry, for a kernel that comes.
    first_free: FindFirst<4>,
    /// Finds the first other kernel's entry above the one at hand.
    next_other: FindFirst<4>,
    /// Finds the first other kernel's entry, from 0 on.
    first_other: FindFirst<4>,
    /// Entries that hold a kernel.
    active: Register<Bits<4>>,
    /// The entry at hand: the one that was selected last, one-hot.
    at: Register<Bits<4>>,
    /// How often the entry at hand was selected again in its turn, counted to at most 2.
    stay: Register<Bits<2>>,
    /// The entry at hand has its second turn in a row.
    second: Vec<Register<Bit>>,
    /// Slice 0 went round while another entry was taken; there was no second turn for it yet.
    wrapped: Vec<Register<Bit>>,
    /// The entry whose needs are at stage C, one-hot, or none.
    sel_c: Register<Bits<4>>,
    /// The entry whose needs are at stage P, one-hot, or none.
    sel_p: Register<Bits<4>>,
    /// The entry whose CTA was not taken in the cycle before and is held, one-hot, or none.
    held: Register<Bits<4>>,
    /// The SM of the CTA that is held.
    held_sm: PayloadRegister<Bits<8>>,
    /// The entry into which a kernel comes in this cycle, one-hot, or none.
    load: Signal<Local, Bits<4>>,
    /// Entries that hold a kernel, but for the one at hand.
    others: Signal<Local, Bits<4>>,
    /// The next of them after the one at hand, cyclically, one-hot, or none.
    other: Signal<Local, Bits<4>>,
    /// The entry at hand begins its second turn.
    repeats: Vec<Signal<Local, Bit>>,
    /// The entry at hand is selected again: its turn goes on, or no other kernel is there.
    again: Signal<Local, Bit>,
    /// The entry whose CTA is to be looked at next, one-hot, or none.
    selected: Signal<Local, Bits<4>>,
    /// The selected kernel comes in this cycle: its needs are taken from the ports.
    incoming: Signal<Local, Bit>,
    /// The entry of whose CTA `fit_i` speaks, one-hot, or none.
    looks: Signal<Local, Bits<4>>,
    /// There is such a CTA, and none is held.
    go: Signal<Local, Bit>,
    /// The entry whose CTA is on the channel, one-hot, or none.
    goes: Signal<Local, Bits<4>>,
    /// The entry whose CTA is taken in this cycle, one-hot, or none.
    moves: Signal<Local, Bits<4>>,
    /// The entry whose last CTA is taken in this cycle, one-hot, or none.
    finished: Signal<Local, Bits<4>>,
    /// Warps that each CTA of the selected entry needs; zero where it holds no kernel yet.
    warps: Signal<Local, Bits<7>>,
    /// Register units that each CTA of the selected entry needs, or zero.
    regs: Signal<Local, Bits<9>>,
    /// Shared memory units that each CTA of the selected entry needs, or zero.
    smem: Signal<Local, Bits<11>>,
    /// SM partition of the selected entry's kernel, or zero.
    part: Signal<Local, Bits<3>>,
    /// Window slot of the kernel whose CTA is on the channel, or zero.
    slot: Signal<Local, Bits<LN>>,
    /// Id of that kernel, or zero.
    id: Signal<Local, Bits<ID_BITS>>,
    /// Number in the grid of the CTA that is on the channel, or zero.
    index: Signal<Local, Bits<32>>,
    /// Its type; 1: TENSOR.
    kind: Signal<Local, Bit>,
    /// SM number / 4 in the picked four, with remainder 0 mod 3; zero where none is picked.
    four_0: Signal<Local, Bits<6>>,
    /// The same with remainder 1.
    four_1: Signal<Local, Bits<6>>,
    /// The same with remainder 2.
    four_2: Signal<Local, Bits<6>>,
    /// SM number / 4 of the slice at P, in the first and the last lane of the picked four.
    sm_0: Signal<Local, Bits<6>>,
    /// The same in the second lane.
    sm_1: Signal<Local, Bits<6>>,
    /// The same in the third lane.
    sm_2: Signal<Local, Bits<6>>,
    /// SM number / 4 of the picked lane, in the slice at P; zero where none is picked.
    sm_four: Signal<Local, Bits<6>>,
    /// The SM of the CTA that is on the channel, or zero.
    sm: Signal<Local, Bits<8>>,
    none: Constant<Bits<4>>,
    one: Constant<Bits<4>>,
    /// Entries that there are; and, where there is one alone: it, and none but it.
    possible: Constant<Bits<4>>,
    only: Constant<Bits<4>>,
    more: Constant<Bits<4>>,
    by_four: Constant<Bits<8>>,
    no_four: Constant<Bits<6>>,
    no_sm: Constant<Bits<8>>,
    low_0: Vec<Constant<Bits<6>>>,
    low_1: Vec<Constant<Bits<6>>>,
    low_2: Vec<Constant<Bits<6>>>,
    high_0: Vec<Constant<Bits<6>>>,
    high_1: Vec<Constant<Bits<6>>>,
    high_2: Vec<Constant<Bits<6>>>,
    /// Slices with one SM less than another.
    short: Constant<Bits<3>>,
    no_stay: Constant<Bits<2>>,
    one_stay: Constant<Bits<2>>,
    full_stay: Constant<Bits<2>>,
    no_warps: Constant<Bits<7>>,
    no_regs: Constant<Bits<9>>,
    no_smem: Constant<Bits<11>>,
    no_part: Constant<Bits<3>>,
    no_slot: Constant<Bits<LN>>,
    no_id: Constant<Bits<ID_BITS>>,
    no_index: Constant<Bits<32>>,
    _entries: usize,
    _groups: usize,
    _uneven: usize,
    _several: usize,
}

impl<const LN: usize> CtaChannel<LN> {
    /// A channel for `active` kernels on this SM array.
    pub fn new(sms: SmParams, active: usize) -> Self {
        let groups = groups(sms);
        // Of SMs by four there are three to each four lanes.
        let four =
            |half: usize, which: usize| numbers(groups, |g| ((SLICES * (2 * g + half) + which) % 64) as u128);
        let short = sms.short_slices(1, 0);
        let uneven = usize::from(short != 0);
        let several = usize::from(active > 1);
        Self {
            info: Info::module("cta_channel", "Kitsune (Davies et al., 2025), figure 2")
                .fields::<Self>(CHANNELS)
                .param("SLOT_BITS", "b", LN)
                .param("LANES", "l", sms.lanes())
                .param("ACTIVE", "k", active)
                .param_if("SHORT", "h", short as usize),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            kern_valid_i: Signal::default(),
            kern_ready_o: Signal::default(),
            kern_slot_i: Signal::default(),
            kern_id_i: Signal::default(),
            kern_grid_i: Signal::default(),
            kern_type_i: Signal::default(),
            kern_part_i: Signal::default(),
            kern_warps_i: Signal::default(),
            kern_regs_i: Signal::default(),
            kern_smem_i: Signal::default(),
            need_valid_o: Signal::default(),
            need_warps_o: Signal::default(),
            need_regs_o: Signal::default(),
            need_smem_o: Signal::default(),
            need_part_o: Signal::default(),
            fit_i: bank(groups),
            place_o: bank(groups),
            cta_valid_o: Signal::default(),
            cta_ready_i: Signal::default(),
            cta_sm_o: Signal::default(),
            cta_slot_o: Signal::default(),
            cta_id_o: Signal::default(),
            cta_index_o: Signal::default(),
            cta_type_o: Signal::default(),
            no_room_o: Signal::default(),
            entry: bank(active),
            picker: LanePicker::new(sms, active),
            phase: SlicePhase::default(),
            first_free: FindFirst::default(),
            next_other: FindFirst::default(),
            first_other: FindFirst::default(),
            active: Register::default(),
            at: Register::default(),
            stay: Register::default(),
            second: bank(several),
            wrapped: bank(several),
            sel_c: Register::default(),
            sel_p: Register::default(),
            held: Register::default(),
            held_sm: PayloadRegister::default(),
            load: Signal::default(),
            others: Signal::default(),
            other: Signal::default(),
            repeats: bank(several),
            again: Signal::default(),
            selected: Signal::default(),
            incoming: Signal::default(),
            looks: Signal::default(),
            go: Signal::default(),
            goes: Signal::default(),
            moves: Signal::default(),
            finished: Signal::default(),
            warps: Signal::default(),
            regs: Signal::default(),
            smem: Signal::default(),
            part: Signal::default(),
            slot: Signal::default(),
            id: Signal::default(),
            index: Signal::default(),
            kind: Signal::default(),
            four_0: Signal::default(),
            four_1: Signal::default(),
            four_2: Signal::default(),
            sm_0: Signal::default(),
            sm_1: Signal::default(),
            sm_2: Signal::default(),
            sm_four: Signal::default(),
            sm: Signal::default(),
            none: number(0),
            one: number(1),
            possible: number((1 << active) - 1),
            only: number(u128::from(active == 1)),
            more: number(if active == 1 { 0 } else { (1 << active) - 1 }),
            by_four: number(2),
            no_four: number(0),
            no_sm: number(0),
            low_0: four(0, 0),
            low_1: four(0, 1),
            low_2: four(0, 2),
            high_0: four(1, 0),
            high_1: four(1, 1),
            high_2: four(1, 2),
            short: number(short),
            no_stay: number(0),
            one_stay: number(1),
            full_stay: number(2),
            no_warps: number(0),
            no_regs: number(0),
            no_smem: number(0),
            no_part: number(0),
            no_slot: number(0),
            no_id: number(0),
            no_index: number(0),
            _entries: active,
            _groups: groups,
            _uneven: uneven,
            _several: several,
        }
    }
}

impl<const LN: usize> Logic for CtaChannel<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.active.clk_i.next = self.clk_i.val();
        self.active.rst_ni.next = self.rst_ni.val();
        self.at.clk_i.next = self.clk_i.val();
        self.at.rst_ni.next = self.rst_ni.val();
        self.stay.clk_i.next = self.clk_i.val();
        self.stay.rst_ni.next = self.rst_ni.val();
        self.sel_c.clk_i.next = self.clk_i.val();
        self.sel_c.rst_ni.next = self.rst_ni.val();
        self.sel_p.clk_i.next = self.clk_i.val();
        self.sel_p.rst_ni.next = self.rst_ni.val();
        self.held.clk_i.next = self.clk_i.val();
        self.held.rst_ni.next = self.rst_ni.val();
        self.held_sm.clk_i.next = self.clk_i.val();
        self.picker.clk_i.next = self.clk_i.val();
        self.picker.rst_ni.next = self.rst_ni.val();
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();

        comment!("A kernel comes into the lowest free entry.");
        self.first_free.req_i.next = self.possible.val() & (!self.active.q_o.val());
        self.kern_ready_o.next = self.first_free.gnt_o.val().any();
        if self.kern_valid_i.val() {
            self.load.next = self.first_free.gnt_o.val();
        } else {
            self.load.next = self.none.val();
        }

        comment!("Which kernel is looked at next: each for a whole turn, then the next one, if any.");
        self.others.next = self.active.q_o.val() & (!self.at.q_o.val()) & self.more.val();
        self.next_other.req_i.next =
            self.others.val() & (!((self.at.q_o.val() - self.one.val()) | self.at.q_o.val()));
        self.first_other.req_i.next = self.others.val();
        if self.next_other.gnt_o.val().any() {
            self.other.next = self.next_other.gnt_o.val();
        } else {
            self.other.next = self.first_other.gnt_o.val();
        }
        self.again.next = (self.active.q_o.val() & (self.at.q_o.val() | self.only.val())).any()
            & ((self.stay.q_o.val() != self.full_stay.val()) | (!self.others.val().any()));
        for i in 0..self._several {
            comment!("Where the first slice has gone round, the kernel at hand has a second turn, or");
            comment!("else two kernels by turns would each have got every other lane of each slice,");
            comment!("for as long as both are there.");
            self.repeats[i].next = (self.active.q_o.val() & self.at.q_o.val()).any()
                & (self.stay.q_o.val() == self.full_stay.val())
                & self.others.val().any()
                & self.wrapped[i].q_o.val()
                & (!self.second[i].q_o.val());
        }
        self.incoming.next = self.load.val().any() & (!self.active.q_o.val().any());
        comment!("The entry at hand, another one, or the one into which a kernel comes.");
        self.stay.d_i.next = self.no_stay.val();
        if self.again.val() {
            self.selected.next = self.at.q_o.val() | self.only.val();
            if self.stay.q_o.val() == self.full_stay.val() {
                self.stay.d_i.next = self.full_stay.val();
            } else {
                self.stay.d_i.next = self.stay.q_o.val() + self.one_stay.val();
            }
        } else {
            if self.others.val().any() {
                self.selected.next = self.other.val();
            } else {
                self.selected.next = self.load.val();
                if !self.load.val().any() {
                    self.stay.d_i.next = self.stay.q_o.val();
                }
            }
        }
        for i in 0..self._several {
            if self.repeats[i].val() {
                self.selected.next = self.at.q_o.val();
                self.stay.d_i.next = self.no_stay.val();
            }
        }
        if self.selected.val().any() {
            self.at.d_i.next = self.selected.val();
        } else {
            self.at.d_i.next = self.at.q_o.val();
        }
        for i in 0..self._several {
            self.second[i].clk_i.next = self.clk_i.val();
            self.second[i].rst_ni.next = self.rst_ni.val();
            self.wrapped[i].clk_i.next = self.clk_i.val();
            self.wrapped[i].rst_ni.next = self.rst_ni.val();
            if self.selected.val().any() {
                self.second[i].d_i.next =
                    self.repeats[i].val() | (self.again.val() & self.second[i].q_o.val());
            } else {
                self.second[i].d_i.next = self.second[i].q_o.val();
            }
            self.wrapped[i].d_i.next = self.others.val().any()
                & ((self.picker.wraps_o[i].val() & self.phase.at_p_o.val().get_bit(0))
                    | (self.wrapped[i].q_o.val() & (!self.repeats[i].val())));
        }
        comment!("The selection goes with the needs, a stage per cycle.");
        self.sel_c.d_i.next = self.selected.val();
        comment!("What was selected for the kernel that was here before says nothing of the one that comes.");
        self.sel_p.d_i.next = self.sel_c.q_o.val() & (!self.load.val());

        comment!("Two cycles later: place it.");
        self.looks.next = self.sel_p.q_o.val() & self.active.q_o.val();
        self.go.next = self.looks.val().any() & (!self.held.q_o.val().any());
        self.picker.go_i.next = self.go.val();
        for g in 0..self._groups {
            self.picker.req_i[g].next = self.fit_i[g].val();
            self.place_o[g].next = self.picker.gnt_o[g].val();
        }
        for i in 0..self._uneven {
            self.picker.short_i[i].next = (self.phase.at_p_o.val() & self.short.val()).any();
        }
        self.no_room_o.next = self.go.val() & (!self.picker.room_o.val());
        self.goes.next = self.held.q_o.val() & self.possible.val();
        if self.picker.any_o.val() {
            self.goes.next = (self.held.q_o.val() | self.looks.val()) & self.possible.val();
        }
        comment!("A CTA that is not taken is held, and nothing is placed until it is; its entry moves on");
        comment!("where it is taken.");
        if self.cta_ready_i.val() {
            self.moves.next = self.goes.val();
            self.held.d_i.next = self.none.val();
        } else {
            self.moves.next = self.none.val();
            self.held.d_i.next = self.goes.val();
        }

        comment!("What the CTAs of the selected entry need.");
        self.warps.next = self.no_warps.val();
        self.regs.next = self.no_regs.val();
        self.smem.next = self.no_smem.val();
        self.part.next = self.no_part.val();
        comment!("Whose CTA is on the channel.");
        self.slot.next = self.no_slot.val();
        self.id.next = self.no_id.val();
        self.index.next = self.no_index.val();
        self.kind.next = false;
        self.finished.next = self.none.val();
        for k in 0..self._entries {
            self.entry[k].clk_i.next = self.clk_i.val();
            self.entry[k].load_i.next = self.load.val().get_bit(k);
            self.entry[k].slot_i.next = self.kern_slot_i.val();
            self.entry[k].id_i.next = self.kern_id_i.val();
            self.entry[k].grid_i.next = self.kern_grid_i.val();
            self.entry[k].type_i.next = self.kern_type_i.val();
            self.entry[k].part_i.next = self.kern_part_i.val();
            self.entry[k].warps_i.next = self.kern_warps_i.val();
            self.entry[k].regs_i.next = self.kern_regs_i.val();
            self.entry[k].smem_i.next = self.kern_smem_i.val();
            self.entry[k].place_i.next = self.moves.val().get_bit(k);
            self.finished.next =
                self.finished.val().replace_bit(k, self.moves.val().get_bit(k) & self.entry[k].last_o.val());
            if (self.selected.val().get_bit(k) | self.only.val().get_bit(k))
                & self.active.q_o.val().get_bit(k)
            {
                self.warps.next = self.warps.val() | self.entry[k].warps_o.val();
                self.regs.next = self.regs.val() | self.entry[k].regs_o.val();
                self.smem.next = self.smem.val() | self.entry[k].smem_o.val();
                self.part.next = self.part.val() | self.entry[k].part_o.val();
            }
            if self.goes.val().get_bit(k) {
                self.slot.next = self.slot.val() | self.entry[k].slot_o.val();
                self.id.next = self.id.val() | self.entry[k].id_o.val();
                self.index.next = self.index.val() | self.entry[k].index_o.val();
                self.kind.next = self.kind.val() | self.entry[k].type_o.val();
            }
        }
        comment!("An entry is free from the cycle after its last CTA is taken.");
        self.active.d_i.next =
            ((self.active.q_o.val() & (!self.finished.val())) | self.load.val()) & self.possible.val();

        self.need_valid_o.next = self.selected.val().any();
        comment!("A kernel that comes to an idle channel is looked at at once.");
        if self.incoming.val() {
            self.need_warps_o.next = self.kern_warps_i.val();
            self.need_regs_o.next = self.kern_regs_i.val();
            self.need_smem_o.next = self.kern_smem_i.val();
            self.need_part_o.next = self.kern_part_i.val();
        } else {
            self.need_warps_o.next = self.warps.val();
            self.need_regs_o.next = self.regs.val();
            self.need_smem_o.next = self.smem.val();
            self.need_part_o.next = self.part.val();
        }

        comment!("A CTA is on the channel from the cycle on in which it is placed, until it is taken.");
        self.cta_valid_o.next = self.held.q_o.val().any() | self.picker.any_o.val();
        self.cta_slot_o.next = self.slot.val();
        self.cta_id_o.next = self.id.val();
        self.cta_index_o.next = self.index.val();
        self.cta_type_o.next = self.kind.val();

        comment!("The SM, beside the grant. In lane 4 n + p, slice j has SM 4 (3 n + (j - p) mod 3) + p.");
        self.four_0.next = self.no_four.val();
        self.four_1.next = self.no_four.val();
        self.four_2.next = self.no_four.val();
        for g in 0..self._groups {
            if self.picker.low_o.val().get_bit(g) {
                self.four_0.next = self.four_0.val() | self.low_0[g].val();
                self.four_1.next = self.four_1.val() | self.low_1[g].val();
                self.four_2.next = self.four_2.val() | self.low_2[g].val();
            }
            if self.picker.high_o.val().get_bit(g) {
                self.four_0.next = self.four_0.val() | self.high_0[g].val();
                self.four_1.next = self.four_1.val() | self.high_1[g].val();
                self.four_2.next = self.four_2.val() | self.high_2[g].val();
            }
        }
        self.sm_0.next = self.no_four.val();
        self.sm_1.next = self.no_four.val();
        self.sm_2.next = self.no_four.val();
        if self.phase.at_p_o.val().get_bit(0) {
            self.sm_0.next = self.four_0.val();
            self.sm_1.next = self.four_2.val();
            self.sm_2.next = self.four_1.val();
        }
        if self.phase.at_p_o.val().get_bit(1) {
            self.sm_0.next = self.sm_0.val() | self.four_1.val();
            self.sm_1.next = self.sm_1.val() | self.four_0.val();
            self.sm_2.next = self.sm_2.val() | self.four_2.val();
        }
        if self.phase.at_p_o.val().get_bit(2) {
            self.sm_0.next = self.sm_0.val() | self.four_2.val();
            self.sm_1.next = self.sm_1.val() | self.four_1.val();
            self.sm_2.next = self.sm_2.val() | self.four_0.val();
        }
        self.sm_four.next = self.no_four.val();
        if self.picker.place_o.val().get_bit(0) | self.picker.place_o.val().get_bit(3) {
            self.sm_four.next = self.sm_0.val();
        }
        if self.picker.place_o.val().get_bit(1) {
            self.sm_four.next = self.sm_four.val() | self.sm_1.val();
        }
        if self.picker.place_o.val().get_bit(2) {
            self.sm_four.next = self.sm_four.val() | self.sm_2.val();
        }
        self.sm.next = (bit_cast::<8, 6>(self.sm_four.val()) << self.by_four.val())
            | self
                .no_sm
                .val()
                .replace_bit(0, self.picker.place_o.val().get_bit(1) | self.picker.place_o.val().get_bit(3))
                .replace_bit(1, self.picker.place_o.val().get_bit(2) | self.picker.place_o.val().get_bit(3));
        comment!("While one is held, none is picked.");
        if self.held.q_o.val().any() {
            self.sm.next = self.sm.val() | self.held_sm.q_o.val();
        }
        self.cta_sm_o.next = self.sm.val();
        self.held_sm.d_i.next = self.sm.val();
    }
}

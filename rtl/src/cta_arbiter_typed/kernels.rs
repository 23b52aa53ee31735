//! The kernels whose CTAs a channel places, and which of them is looked at.

use crate::info::Info;
use crate::params::ID_BITS;
use crate::parts::{FindFirst, PayloadRegister, Register, bank, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// What a kernel brings beside the number of its CTAs.
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
}

impl<const LN: usize> Default for ActiveKernel<LN> {
    fn default() -> Self {
        Self {
            info: Info::module("active_kernel", "").fields::<Self>(&[]).param("SLOT_BITS", "b", LN),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            slot_i: Signal::default(),
            id_i: Signal::default(),
            type_i: Signal::default(),
            part_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            slot_o: Signal::default(),
            id_o: Signal::default(),
            type_o: Signal::default(),
            part_o: Signal::default(),
            warps_o: Signal::default(),
            regs_o: Signal::default(),
            smem_o: Signal::default(),
            slot: PayloadRegister::default(),
            id: PayloadRegister::default(),
            kind: PayloadRegister::default(),
            part: PayloadRegister::default(),
            warps: PayloadRegister::default(),
            regs: PayloadRegister::default(),
            smem: PayloadRegister::default(),
        }
    }
}

impl<const LN: usize> Logic for ActiveKernel<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.slot.clk_i.next = self.clk_i.val();
        self.id.clk_i.next = self.clk_i.val();
        self.kind.clk_i.next = self.clk_i.val();
        self.part.clk_i.next = self.clk_i.val();
        self.warps.clk_i.next = self.clk_i.val();
        self.regs.clk_i.next = self.clk_i.val();
        self.smem.clk_i.next = self.clk_i.val();
        if self.load_i.val() {
            self.slot.d_i.next = self.slot_i.val();
            self.id.d_i.next = self.id_i.val();
            self.kind.d_i.next = self.type_i.val();
            self.part.d_i.next = self.part_i.val();
            self.warps.d_i.next = self.warps_i.val();
            self.regs.d_i.next = self.regs_i.val();
            self.smem.d_i.next = self.smem_i.val();
        } else {
            self.slot.d_i.next = self.slot.q_o.val();
            self.id.d_i.next = self.id.q_o.val();
            self.kind.d_i.next = self.kind.q_o.val();
            self.part.d_i.next = self.part.q_o.val();
            self.warps.d_i.next = self.warps.q_o.val();
            self.regs.d_i.next = self.regs.q_o.val();
            self.smem.d_i.next = self.smem.q_o.val();
        }
        self.slot_o.next = self.slot.q_o.val();
        self.id_o.next = self.id.q_o.val();
        self.type_o.next = self.kind.q_o.val();
        self.part_o.next = self.part.q_o.val();
        self.warps_o.next = self.warps.q_o.val();
        self.regs_o.next = self.regs.q_o.val();
        self.smem_o.next = self.smem.q_o.val();
    }
}

/// Up to four kernels: they come into entries, are looked at in turns, and leave where their last CTA has gone.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct ActiveKernels<const LN: usize> {
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
    /// The entry into which it comes, one-hot, or none.
    pub load_o: Signal<Out, Bits<4>>,
    /// The entry whose last CTA is taken in this cycle, one-hot, or none.
    pub finished_i: Signal<In, Bits<4>>,
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
    /// Slice 0 goes round.
    pub wraps_i: Vec<Signal<In, Bit>>,
    /// The entry whose CTA was to be looked at two cycles before, one-hot, or none.
    pub looks_o: Signal<Out, Bits<4>>,
    /// The entry whose CTAs are on the channel, one-hot, or none.
    pub goes_i: Signal<In, Bits<4>>,
    /// Window slot of its kernel, or zero.
    pub slot_o: Signal<Out, Bits<LN>>,
    /// Id of that kernel, or zero.
    pub id_o: Signal<Out, Bits<ID_BITS>>,
    /// Its type; 1: TENSOR.
    pub type_o: Signal<Out, Bit>,
    /// Of each entry, its kernel.
    entry: Vec<ActiveKernel<LN>>,
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
    /// Warps that each CTA of the selected entry needs; zero where it holds no kernel yet.
    warps: Signal<Local, Bits<7>>,
    /// Register units that each CTA of the selected entry needs, or zero.
    regs: Signal<Local, Bits<9>>,
    /// Shared memory units that each CTA of the selected entry needs, or zero.
    smem: Signal<Local, Bits<11>>,
    /// SM partition of the selected entry's kernel, or zero.
    part: Signal<Local, Bits<3>>,
    /// `slot_o`, to be read here.
    slot: Signal<Local, Bits<LN>>,
    /// `id_o`, to be read here.
    id: Signal<Local, Bits<ID_BITS>>,
    /// `type_o`, to be read here.
    kind: Signal<Local, Bit>,
    none: Constant<Bits<4>>,
    one: Constant<Bits<4>>,
    /// Entries that there are; and, where there is one alone: it, and none but it.
    possible: Constant<Bits<4>>,
    only: Constant<Bits<4>>,
    more: Constant<Bits<4>>,
    no_stay: Constant<Bits<2>>,
    one_stay: Constant<Bits<2>>,
    full_stay: Constant<Bits<2>>,
    no_warps: Constant<Bits<7>>,
    no_regs: Constant<Bits<9>>,
    no_smem: Constant<Bits<11>>,
    no_part: Constant<Bits<3>>,
    no_slot: Constant<Bits<LN>>,
    no_id: Constant<Bits<ID_BITS>>,
    _entries: usize,
    _several: usize,
}

impl<const LN: usize> ActiveKernels<LN> {
    /// For `active` kernels.
    pub fn new(active: usize) -> Self {
        let several = usize::from(active > 1);
        Self {
            info: Info::module("active_kernels", "Kitsune (Davies et al., 2025), figure 2")
                .fields::<Self>(&["kern"])
                .param("SLOT_BITS", "b", LN)
                .param("ACTIVE", "k", active),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            kern_valid_i: Signal::default(),
            kern_ready_o: Signal::default(),
            kern_slot_i: Signal::default(),
            kern_id_i: Signal::default(),
            kern_type_i: Signal::default(),
            kern_part_i: Signal::default(),
            kern_warps_i: Signal::default(),
            kern_regs_i: Signal::default(),
            kern_smem_i: Signal::default(),
            load_o: Signal::default(),
            finished_i: Signal::default(),
            need_valid_o: Signal::default(),
            need_warps_o: Signal::default(),
            need_regs_o: Signal::default(),
            need_smem_o: Signal::default(),
            need_part_o: Signal::default(),
            wraps_i: bank(several),
            looks_o: Signal::default(),
            goes_i: Signal::default(),
            slot_o: Signal::default(),
            id_o: Signal::default(),
            type_o: Signal::default(),
            entry: bank(active),
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
            load: Signal::default(),
            others: Signal::default(),
            other: Signal::default(),
            repeats: bank(several),
            again: Signal::default(),
            selected: Signal::default(),
            incoming: Signal::default(),
            warps: Signal::default(),
            regs: Signal::default(),
            smem: Signal::default(),
            part: Signal::default(),
            slot: Signal::default(),
            id: Signal::default(),
            kind: Signal::default(),
            none: number(0),
            one: number(1),
            possible: number((1 << active) - 1),
            only: number(u128::from(active == 1)),
            more: number(if active == 1 { 0 } else { (1 << active) - 1 }),
            no_stay: number(0),
            one_stay: number(1),
            full_stay: number(2),
            no_warps: number(0),
            no_regs: number(0),
            no_smem: number(0),
            no_part: number(0),
            no_slot: number(0),
            no_id: number(0),
            _entries: active,
            _several: several,
        }
    }
}

impl<const LN: usize> Logic for ActiveKernels<LN> {
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

        comment!("A kernel comes into the lowest free entry.");
        self.first_free.req_i.next = self.possible.val() & (!self.active.q_o.val());
        self.kern_ready_o.next = self.first_free.gnt_o.val().any();
        if self.kern_valid_i.val() {
            self.load.next = self.first_free.gnt_o.val();
        } else {
            self.load.next = self.none.val();
        }
        self.load_o.next = self.load.val();

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
                & (self.wraps_i[i].val() | (self.wrapped[i].q_o.val() & (!self.repeats[i].val())));
        }
        comment!("The selection goes with the needs, a stage per cycle.");
        self.sel_c.d_i.next = self.selected.val();
        comment!("What was selected for the kernel that was here before says nothing of the one that comes.");
        self.sel_p.d_i.next = self.sel_c.q_o.val() & (!self.load.val());
        self.looks_o.next = self.sel_p.q_o.val() & self.active.q_o.val();

        comment!("What the CTAs of the selected entry need.");
        self.warps.next = self.no_warps.val();
        self.regs.next = self.no_regs.val();
        self.smem.next = self.no_smem.val();
        self.part.next = self.no_part.val();
        comment!("Whose CTA is on the channel.");
        self.slot.next = self.no_slot.val();
        self.id.next = self.no_id.val();
        self.kind.next = false;
        for k in 0..self._entries {
            self.entry[k].clk_i.next = self.clk_i.val();
            self.entry[k].load_i.next = self.load.val().get_bit(k);
            self.entry[k].slot_i.next = self.kern_slot_i.val();
            self.entry[k].id_i.next = self.kern_id_i.val();
            self.entry[k].type_i.next = self.kern_type_i.val();
            self.entry[k].part_i.next = self.kern_part_i.val();
            self.entry[k].warps_i.next = self.kern_warps_i.val();
            self.entry[k].regs_i.next = self.kern_regs_i.val();
            self.entry[k].smem_i.next = self.kern_smem_i.val();
            if (self.selected.val().get_bit(k) | self.only.val().get_bit(k))
                & self.active.q_o.val().get_bit(k)
            {
                self.warps.next = self.warps.val() | self.entry[k].warps_o.val();
                self.regs.next = self.regs.val() | self.entry[k].regs_o.val();
                self.smem.next = self.smem.val() | self.entry[k].smem_o.val();
                self.part.next = self.part.val() | self.entry[k].part_o.val();
            }
            if self.goes_i.val().get_bit(k) {
                self.slot.next = self.slot.val() | self.entry[k].slot_o.val();
                self.id.next = self.id.val() | self.entry[k].id_o.val();
                self.kind.next = self.kind.val() | self.entry[k].type_o.val();
            }
        }
        self.slot_o.next = self.slot.val();
        self.id_o.next = self.id.val();
        self.type_o.next = self.kind.val();
        comment!("An entry is free from the cycle after its last CTA is taken.");
        self.active.d_i.next =
            ((self.active.q_o.val() & (!self.finished_i.val())) | self.load.val()) & self.possible.val();

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
    }
}

//! The hardware of `window_list`.

use super::slots::WindowSlots;
use crate::info::Info;
use crate::params::{ID_BITS, WindowParams};
use crate::parts::{PayloadRegister, Register, RegisterFile, bank, number};
use crate::window::window;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The list of one slot: up to `N - 1` upstream ids, one looked at per cycle.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SlotList<const N: usize, const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Append id_i at append_at_i.
    pub append_i: Signal<In, Bit>,
    /// Where to append.
    pub append_at_i: Signal<In, Bits<LN>>,
    /// The id to append.
    pub id_i: Signal<In, Bits<ID_BITS>>,
    /// Clear the entry at clear_at_i where it holds retired_i.
    pub clear_i: Signal<In, Bit>,
    /// Which entry to look at.
    pub clear_at_i: Signal<In, Bits<LN>>,
    /// The id that has retired.
    pub retired_i: Signal<In, Bits<ID_BITS>>,
    /// The list is not empty.
    pub waiting_o: Signal<Out, Bit>,
    /// Positions that hold an id that was not cleared.
    used: Register<Bits<N>>,
    /// The ids, by position.
    entries: RegisterFile<ID_BITS, LN>,
    one: Constant<Bits<N>>,
}

impl<const N: usize, const LN: usize> Default for SlotList<N, LN> {
    fn default() -> Self {
        Self {
            info: Info::module("window_list_slot", "").fields::<Self>(&[]).param("SLOTS", "n", N),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            append_i: Signal::default(),
            append_at_i: Signal::default(),
            id_i: Signal::default(),
            clear_i: Signal::default(),
            clear_at_i: Signal::default(),
            retired_i: Signal::default(),
            waiting_o: Signal::default(),
            used: Register::default(),
            entries: RegisterFile::new(N - 1),
            one: number(1),
        }
    }
}

impl<const N: usize, const LN: usize> Logic for SlotList<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.used.clk_i.next = self.clk_i.val();
        self.used.rst_ni.next = self.rst_ni.val();
        self.entries.clk_i.next = self.clk_i.val();
        self.entries.we_i.next = self.append_i.val();
        self.entries.waddr_i.next = self.append_at_i.val();
        self.entries.wdata_i.next = self.id_i.val();
        self.entries.raddr_i.next = self.clear_at_i.val();
        self.used.d_i.next = self.used.q_o.val();
        if self.append_i.val() {
            self.used.d_i.next = self.used.q_o.val() | (self.one.val() << self.append_at_i.val());
        }
        if self.clear_i.val() & (self.entries.rdata_o.val() == self.retired_i.val()) {
            self.used.d_i.next = self.used.q_o.val() & (!(self.one.val() << self.clear_at_i.val()));
        }
        self.waiting_o.next = self.used.q_o.val().any();
    }
}

window! {
    /// The window: see the module's page.
    WindowList = "window_list", |_params, r| {
        /// The slots: which are in use, by whom, and which is offered.
        slots: WindowSlots<N, LN> = WindowSlots::default(),
        /// Of each slot, the ids of the kernels that its kernel waits for.
        lists: Vec<SlotList<N, LN>> = bank(N),
        /// A list is being written; `target`, `upstream` and `append_at` go with it.
        inserting: Register<Bit> = Register::default(),
        /// Lists are being cleared of `retired`.
        updating: Register<Bit> = Register::default(),
        /// Position that the walk looks at next.
        step: Register<Bits<LN>> = Register::default(),
        /// The slot whose list is being written.
        target: PayloadRegister<Bits<N>> = PayloadRegister::default(),
        /// Slots whose kernels' ids go into that list.
        upstream: PayloadRegister<Bits<N>> = PayloadRegister::default(),
        /// Position of that list that is filled next.
        append_at: PayloadRegister<Bits<LN>> = PayloadRegister::default(),
        /// The id that is cleared from the lists.
        retired: PayloadRegister<Bits<ID_BITS>> = PayloadRegister::default(),
        /// No walk is under way: a retirement or an insertion may begin.
        idle: Signal<Local, Bit> = Signal::default(),
        /// A retire port is valid.
        ret_any: Signal<Local, Bit> = Signal::default(),
        /// The slot that retires in this cycle, or none.
        ret_hot: Signal<Local, Bits<N>> = Signal::default(),
        /// The id of the kernel that retires in this cycle, or zero.
        ret_id: Signal<Local, Bits<ID_BITS>> = Signal::default(),
        /// `ins_ready_o`, to be read here.
        ins_ready: Signal<Local, Bit> = Signal::default(),
        /// A kernel is inserted in this cycle.
        insert: Signal<Local, Bit> = Signal::default(),
        /// Position that the walk looks at in this cycle.
        now_step: Signal<Local, Bits<LN>> = Signal::default(),
        /// As `target`, a walk that begins in this cycle included.
        now_target: Signal<Local, Bits<N>> = Signal::default(),
        /// As `upstream`, a walk that begins in this cycle included.
        now_upstream: Signal<Local, Bits<N>> = Signal::default(),
        /// As `append_at`, a walk that begins in this cycle included.
        now_append_at: Signal<Local, Bits<LN>> = Signal::default(),
        /// As `retired`, a walk that begins in this cycle included.
        now_retired: Signal<Local, Bits<ID_BITS>> = Signal::default(),
        /// As `inserting`, a walk that begins in this cycle included.
        now_inserting: Signal<Local, Bit> = Signal::default(),
        /// As `updating`, a walk that begins in this cycle included.
        now_updating: Signal<Local, Bit> = Signal::default(),
        /// `now_step`, one-hot.
        step_hot: Signal<Local, Bits<N>> = Signal::default(),
        /// `append_id` is appended to the list of `now_target`.
        append: Signal<Local, Bit> = Signal::default(),
        /// The id of the kernel in slot `now_step`.
        append_id: Signal<Local, Bits<ID_BITS>> = Signal::default(),
        /// Slots whose kernels may not be offered yet.
        waiting: Signal<Local, Bits<N>> = Signal::default(),
        zero: Constant<Bits<N>> = number(0),
        one: Constant<Bits<N>> = number(1),
        no_id: Constant<Bits<ID_BITS>> = number(0),
        first: Constant<Bits<LN>> = number(0),
        one_step: Constant<Bits<LN>> = number(1),
        last_insert: Constant<Bits<LN>> = number(N as u128 - 1),
        last_update: Constant<Bits<LN>> = number(N as u128 - 2),
    }
}

impl<const N: usize, const LN: usize> Logic for WindowList<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.slots.clk_i.next = self.clk_i.val();
        self.slots.rst_ni.next = self.rst_ni.val();
        self.inserting.clk_i.next = self.clk_i.val();
        self.inserting.rst_ni.next = self.rst_ni.val();
        self.updating.clk_i.next = self.clk_i.val();
        self.updating.rst_ni.next = self.rst_ni.val();
        self.step.clk_i.next = self.clk_i.val();
        self.step.rst_ni.next = self.rst_ni.val();
        self.target.clk_i.next = self.clk_i.val();
        self.upstream.clk_i.next = self.clk_i.val();
        self.append_at.clk_i.next = self.clk_i.val();
        self.retired.clk_i.next = self.clk_i.val();

        comment!("One retirement or one insertion at a time; retirements first, the lowest port first.");
        self.idle.next = !(self.inserting.q_o.val() | self.updating.q_o.val());
        self.ret_any.next = false;
        self.ret_hot.next = self.zero.val();
        for r in 0..self._retire_ports {
            self.ret_ready_o[r].next = self.idle.val() & (!self.ret_any.val());
            if self.idle.val() & self.ret_valid_i[r].val() & (!self.ret_any.val()) {
                self.ret_hot.next =
                    (self.one.val() << self.ret_slot_i[r].val()) & self.slots.dispatched_o.val();
            }
            self.ret_any.next = self.ret_any.val() | self.ret_valid_i[r].val();
        }
        self.ret_err_o.next = self.idle.val() & self.ret_any.val() & (!self.ret_hot.val().any());
        self.slots.retire_i.next = self.ret_hot.val();
        self.slots.retired_i.next = self.ret_hot.val().any();
        self.place_live_o.next = self.slots.valid_o.val() & (!self.ret_hot.val());
        self.place_shift_o.next = self.zero.val();
        self.ret_id.next = self.no_id.val();
        for i in 0..N {
            if self.ret_hot.val().get_bit(i) {
                self.ret_id.next = self.ret_id.val() | self.slots.slot_id_o[i].val();
            }
        }

        comment!("An insertion begins where no retire port is valid and a slot is free.");
        self.ins_ready.next = self.idle.val() & (!self.ret_any.val()) & (!self.slots.full_o.val());
        self.ins_ready_o.next = self.ins_ready.val();
        self.insert.next = self.ins_valid_i.val() & self.ins_ready.val();
        self.slots.ins_i.next = self.insert.val();
        self.slots.ins_id_i.next = self.ins_id_i.val();
        self.ins_slot_o.next = self.slots.ins_slot_o.val();
        self.busy_o.next = !self.idle.val();

        comment!("The walk: what begins in this cycle works on its first position at once.");
        self.now_inserting.next = self.inserting.q_o.val() | self.insert.val();
        self.now_updating.next = self.updating.q_o.val() | self.ret_hot.val().any();
        if self.idle.val() {
            self.now_step.next = self.first.val();
            self.now_target.next = self.slots.ins_slot_o.val();
            self.now_upstream.next = self.ins_up_i.val();
            self.now_append_at.next = self.first.val();
            self.now_retired.next = self.ret_id.val();
        } else {
            self.now_step.next = self.step.q_o.val();
            self.now_target.next = self.target.q_o.val();
            self.now_upstream.next = self.upstream.q_o.val();
            self.now_append_at.next = self.append_at.q_o.val();
            self.now_retired.next = self.retired.q_o.val();
        }
        comment!("Insertion: position by position, the id of each slot that");
        comment!("is named is appended to the list.");
        self.step_hot.next = self.one.val() << self.now_step.val();
        self.append_id.next = self.no_id.val();
        for i in 0..N {
            if self.step_hot.val().get_bit(i) {
                self.append_id.next = self.append_id.val() | self.slots.slot_id_o[i].val();
            }
        }
        self.append.next = self.now_inserting.val() & (self.now_upstream.val() & self.step_hot.val()).any();
        comment!("An insertion looks at all slots, a retirement at all entries.");
        self.inserting.d_i.next = self.now_inserting.val() & (self.now_step.val() != self.last_insert.val());
        self.updating.d_i.next = self.now_updating.val() & (self.now_step.val() != self.last_update.val());
        self.step.d_i.next = self.now_step.val() + self.one_step.val();
        self.target.d_i.next = self.now_target.val();
        self.upstream.d_i.next = self.now_upstream.val();
        if self.append.val() {
            self.append_at.d_i.next = self.now_append_at.val() + self.one_step.val();
        } else {
            self.append_at.d_i.next = self.now_append_at.val();
        }
        self.retired.d_i.next = self.now_retired.val();

        comment!("A kernel whose list is being written, or is not empty, may not be offered yet.");
        if self.inserting.q_o.val() {
            self.waiting.next = self.target.q_o.val();
        } else {
            self.waiting.next = self.zero.val();
        }
        for i in 0..N {
            self.lists[i].clk_i.next = self.clk_i.val();
            self.lists[i].rst_ni.next = self.rst_ni.val();
            self.lists[i].append_i.next = self.append.val() & self.now_target.val().get_bit(i);
            self.lists[i].append_at_i.next = self.now_append_at.val();
            self.lists[i].id_i.next = self.append_id.val();
            self.lists[i].clear_i.next = self.now_updating.val();
            self.lists[i].clear_at_i.next = self.now_step.val();
            self.lists[i].retired_i.next = self.now_retired.val();
            if self.lists[i].waiting_o.val() {
                self.waiting.next = self.waiting.val().replace_bit(i, true);
            }
            self.place_id_o[i].next = self.slots.slot_id_o[i].val();
        }
        self.slots.waiting_i.next = self.waiting.val();
        self.slots.disp_ready_i.next = self.disp_ready_i.val();
        self.disp_valid_o.next = self.slots.disp_valid_o.val();
        self.disp_id_o.next = self.slots.disp_id_o.val();
        self.disp_slot_o.next = self.slots.disp_slot_o.val();
        self.full_o.next = self.slots.full_o.val();
        self.occupancy_o.next = self.slots.occupancy_o.val();
        self.oldest_valid_o.next = self.slots.oldest_valid_o.val();
        self.oldest_id_o.next = self.slots.oldest_id_o.val();
    }
}

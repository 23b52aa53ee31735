//! The slots of a list window: which are in use, by whom, in what order they came, and which is offered.

use crate::info::Info;
use crate::params::ID_BITS;
use crate::parts::{FindFirst, OldestFirst, Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// All of the window but what a kernel waits for.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct WindowSlots<const N: usize, const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A kernel is inserted; only where full_o is low.
    pub ins_i: Signal<In, Bit>,
    /// Its id.
    pub ins_id_i: Signal<In, Bits<ID_BITS>>,
    /// One-hot: the slot it gets, the lowest that is free.
    pub ins_slot_o: Signal<Out, Bits<N>>,
    /// One-hot or zero: the slot that retires.
    pub retire_i: Signal<In, Bits<N>>,
    /// One does.
    pub retired_i: Signal<In, Bit>,
    /// Slots that may not be offered yet.
    pub waiting_i: Signal<In, Bits<N>>,
    /// A kernel is offered, the oldest first; it stays until it is taken.
    pub disp_valid_o: Signal<Out, Bit>,
    /// It is taken.
    pub disp_ready_i: Signal<In, Bit>,
    /// Its id.
    pub disp_id_o: Signal<Out, Bits<ID_BITS>>,
    /// Its slot.
    pub disp_slot_o: Signal<Out, Bits<LN>>,
    /// Slots in use.
    pub valid_o: Signal<Out, Bits<N>>,
    /// Slots whose kernel was taken.
    pub dispatched_o: Signal<Out, Bits<N>>,
    /// Id last written to the slot.
    pub slot_id_o: Vec<Signal<Out, Bits<ID_BITS>>>,
    /// Slots in use.
    pub occupancy_o: Signal<Out, Bits<8>>,
    /// The window is not empty.
    pub oldest_valid_o: Signal<Out, Bit>,
    /// Id of the oldest kernel.
    pub oldest_id_o: Signal<Out, Bits<ID_BITS>>,
    /// No slot is free.
    pub full_o: Signal<Out, Bit>,
    /// Slots in use.
    valid: Register<Bits<N>>,
    /// Of these, those whose kernel was taken.
    dispatched: Register<Bits<N>>,
    /// The offer that was not taken in the cycle before: it stays, whatever becomes ready.
    held: Register<Bits<N>>,
    /// How many slots are in use.
    count: Register<Bits<8>>,
    /// Of each slot, the id last written to it; zero after reset.
    ids: Vec<Register<Bits<ID_BITS>>>,
    /// Finds the slot that is filled next.
    free: FindFirst<N>,
    /// The order in which the kernels came.
    age: OldestFirst<N>,
    /// The slot that is filled in this cycle, or none.
    insert: Signal<Local, Bits<N>>,
    /// The slot whose kernel is offered, or none.
    offer: Signal<Local, Bits<N>>,
    /// The slot whose kernel is taken in this cycle, or none.
    taken: Signal<Local, Bits<N>>,
    /// `disp_id_o`, gathered over the slots.
    disp_id: Signal<Local, Bits<ID_BITS>>,
    /// `disp_slot_o`, gathered over the slots.
    disp_slot: Signal<Local, Bits<LN>>,
    /// `oldest_id_o`, gathered over the slots.
    oldest_id: Signal<Local, Bits<ID_BITS>>,
    /// `count` at the end of this cycle.
    count_next: Signal<Local, Bits<8>>,
    zero: Constant<Bits<N>>,
    no_id: Constant<Bits<ID_BITS>>,
    no_slot: Constant<Bits<LN>>,
    one: Constant<Bits<8>>,
    index: Vec<Constant<Bits<LN>>>,
}

impl<const N: usize, const LN: usize> Default for WindowSlots<N, LN> {
    fn default() -> Self {
        Self {
            info: Info::module("window_list_slots", "").fields::<Self>(&["disp"]).param("SLOTS", "n", N),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            ins_i: Signal::default(),
            ins_id_i: Signal::default(),
            ins_slot_o: Signal::default(),
            retire_i: Signal::default(),
            retired_i: Signal::default(),
            waiting_i: Signal::default(),
            disp_valid_o: Signal::default(),
            disp_ready_i: Signal::default(),
            disp_id_o: Signal::default(),
            disp_slot_o: Signal::default(),
            valid_o: Signal::default(),
            dispatched_o: Signal::default(),
            slot_id_o: bank(N),
            occupancy_o: Signal::default(),
            oldest_valid_o: Signal::default(),
            oldest_id_o: Signal::default(),
            full_o: Signal::default(),
            valid: Register::default(),
            dispatched: Register::default(),
            held: Register::default(),
            count: Register::default(),
            ids: bank(N),
            free: FindFirst::default(),
            age: OldestFirst::default(),
            insert: Signal::default(),
            offer: Signal::default(),
            taken: Signal::default(),
            disp_id: Signal::default(),
            disp_slot: Signal::default(),
            oldest_id: Signal::default(),
            count_next: Signal::default(),
            zero: number(0),
            no_id: number(0),
            no_slot: number(0),
            one: number(1),
            index: numbers(N, |i| i as u128),
        }
    }
}

impl<const N: usize, const LN: usize> Logic for WindowSlots<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.clk_i.next = self.clk_i.val();
        self.valid.rst_ni.next = self.rst_ni.val();
        self.dispatched.clk_i.next = self.clk_i.val();
        self.dispatched.rst_ni.next = self.rst_ni.val();
        self.held.clk_i.next = self.clk_i.val();
        self.held.rst_ni.next = self.rst_ni.val();
        self.count.clk_i.next = self.clk_i.val();
        self.count.rst_ni.next = self.rst_ni.val();
        self.age.clk_i.next = self.clk_i.val();

        self.free.req_i.next = !self.valid.q_o.val();
        self.full_o.next = self.valid.q_o.val().all();
        comment!("Insertion: into the lowest free slot.");
        if self.ins_i.val() {
            self.insert.next = self.free.gnt_o.val();
        } else {
            self.insert.next = self.zero.val();
        }
        self.ins_slot_o.next = self.insert.val();
        self.age.push_i.next = self.insert.val();

        self.age.req_i.next = self.valid.q_o.val() & (!self.dispatched.q_o.val()) & (!self.waiting_i.val());
        self.age.occ_i.next = self.valid.q_o.val();
        comment!("Offers: what was not taken in the cycle before, else the");
        comment!("oldest kernel that waits for none.");
        if self.held.q_o.val().any() {
            self.offer.next = self.held.q_o.val();
        } else {
            self.offer.next = self.age.gnt_o.val();
        }
        self.disp_valid_o.next = self.offer.val().any();
        if self.disp_ready_i.val() {
            self.taken.next = self.offer.val();
            self.held.d_i.next = self.zero.val();
        } else {
            self.taken.next = self.zero.val();
            self.held.d_i.next = self.offer.val();
        }
        comment!("What comes, what is taken, what retires.");
        self.valid.d_i.next = (self.valid.q_o.val() & (!self.retire_i.val())) | self.insert.val();
        self.dispatched.d_i.next = (self.dispatched.q_o.val() & (!self.retire_i.val())) | self.taken.val();
        self.valid_o.next = self.valid.q_o.val();
        self.dispatched_o.next = self.dispatched.q_o.val();

        comment!("Ids: of each slot, of the offer, of the oldest kernel.");
        self.disp_id.next = self.no_id.val();
        self.disp_slot.next = self.no_slot.val();
        self.oldest_id.next = self.no_id.val();
        for i in 0..N {
            self.ids[i].clk_i.next = self.clk_i.val();
            self.ids[i].rst_ni.next = self.rst_ni.val();
            if self.insert.val().get_bit(i) {
                self.ids[i].d_i.next = self.ins_id_i.val();
            } else {
                self.ids[i].d_i.next = self.ids[i].q_o.val();
            }
            self.slot_id_o[i].next = self.ids[i].q_o.val();
            if self.offer.val().get_bit(i) {
                self.disp_id.next = self.disp_id.val() | self.ids[i].q_o.val();
                self.disp_slot.next = self.disp_slot.val() | self.index[i].val();
            }
            if self.age.head_o.val().get_bit(i) {
                self.oldest_id.next = self.oldest_id.val() | self.ids[i].q_o.val();
            }
        }
        self.disp_id_o.next = self.disp_id.val();
        self.disp_slot_o.next = self.disp_slot.val();
        self.oldest_valid_o.next = self.valid.q_o.val().any();
        self.oldest_id_o.next = self.oldest_id.val();

        comment!("Slots in use: one more, one less, or as many.");
        self.count_next.next = self.count.q_o.val();
        if self.ins_i.val() {
            self.count_next.next = self.count_next.val() + self.one.val();
        }
        if self.retired_i.val() {
            self.count_next.next = self.count_next.val() - self.one.val();
        }
        self.count.d_i.next = self.count_next.val();
        self.occupancy_o.next = self.count.q_o.val();
    }
}

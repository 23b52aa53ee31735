//! The hardware of `window_matrix`.

use crate::info::Info;
use crate::params::{ID_BITS, WindowParams};
use crate::parts::{PayloadRegister, bank, number};
use crate::window::{WindowSlots, window};
use rust_hdl::prelude::*;

/// One row of the dependency matrix: which slots the kernel in this slot still waits for.
#[derive(LogicBlock)]
pub struct MatrixRow<const N: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel is inserted into this slot.
    pub insert_i: Signal<In, Bit>,
    /// Slots it waits for.
    pub up_i: Signal<In, Bits<N>>,
    /// Slots that retire in this cycle.
    pub retire_i: Signal<In, Bits<N>>,
    /// The kernel still waits.
    pub waiting_o: Signal<Out, Bit>,
    upstream: PayloadRegister<Bits<N>>,
}

impl<const N: usize> Default for MatrixRow<N> {
    fn default() -> Self {
        Self {
            info: Info::module(
                "window_matrix_row",
                "",
                &[
                    ("insert_i", "", "a kernel is inserted into this slot"),
                    ("up_i", "", "slots it waits for"),
                    ("retire_i", "", "slots that retire in this cycle"),
                    ("waiting_o", "", "the kernel still waits"),
                ],
            )
            .param("SLOTS", "n", N),
            clk_i: Signal::default(),
            insert_i: Signal::default(),
            up_i: Signal::default(),
            retire_i: Signal::default(),
            waiting_o: Signal::default(),
            upstream: PayloadRegister::default(),
        }
    }
}

impl<const N: usize> Logic for MatrixRow<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.upstream.clk_i.next = self.clk_i.val();
        if self.insert_i.val() {
            self.upstream.d_i.next = self.up_i.val();
        } else {
            self.upstream.d_i.next = self.upstream.q_o.val() & (!self.retire_i.val());
        }
        self.waiting_o.next = self.upstream.q_o.val().any();
    }
}

window! {
    /// The window: see the module's page.
    WindowMatrix = "window_matrix", |r, q| {
        slots: WindowSlots<N, LN> = WindowSlots::new(r, q),
        rows: Vec<MatrixRow<N>> = bank(N),
        ret_hot: Vec<Signal<Local, Bits<N>>> = bank(r),
        retiring: Signal<Local, Bits<N>> = Signal::default(),
        ret_err: Signal<Local, Bit> = Signal::default(),
        insert: Signal<Local, Bit> = Signal::default(),
        waiting: Signal<Local, Bits<N>> = Signal::default(),
        zero: Constant<Bits<N>> = number(0),
        one: Constant<Bits<N>> = number(1),
    }
}

impl<const N: usize, const LN: usize> Logic for WindowMatrix<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.slots.clk_i.next = self.clk_i.val();
        self.slots.rst_ni.next = self.rst_ni.val();
        for q in 0..self._queues {
            self.slots.queued_i[q].next = self.queued_i[q].val();
            self.first_o[q].next = self.slots.first_o[q].val();
        }

        // Retirement: the slots named by the ports, where their kernels were dispatched and no lower port names them.
        self.retiring.next = self.zero.val();
        self.ret_err.next = false;
        for r in 0..self._retire_ports {
            self.ret_hot[r].next = self.zero.val();
            if self.ret_valid_i[r].val() {
                self.ret_hot[r].next = (self.one.val() << self.ret_slot_i[r].val())
                    & self.slots.dispatched_o.val()
                    & (!self.retiring.val());
                if !self.ret_hot[r].val().any() {
                    self.ret_err.next = true;
                }
            }
            self.retiring.next = self.retiring.val() | self.ret_hot[r].val();
            self.slots.retired_i[r].next = self.ret_hot[r].val().any();
            self.ret_ready_o[r].next = true;
        }
        self.ret_err_o.next = self.ret_err.val();
        self.slots.retire_i.next = self.retiring.val();
        self.slot_live_o.next = self.slots.valid_o.val() & (!self.retiring.val());

        self.ins_ready_o.next = !self.slots.full_o.val();
        self.insert.next = self.ins_valid_i.val() & (!self.slots.full_o.val());
        self.slots.ins_i.next = self.insert.val();
        self.slots.ins_id_i.next = self.ins_id_i.val();
        self.ins_slot_o.next = self.slots.ins_slot_o.val();
        self.busy_o.next = false;

        self.waiting.next = self.zero.val();
        for i in 0..N {
            self.rows[i].clk_i.next = self.clk_i.val();
            self.rows[i].insert_i.next = self.slots.ins_slot_o.val().get_bit(i);
            self.rows[i].up_i.next = self.ins_up_i.val();
            self.rows[i].retire_i.next = self.retiring.val();
            self.waiting.next = self.waiting.val().replace_bit(i, self.rows[i].waiting_o.val());
            self.slot_id_o[i].next = self.slots.slot_id_o[i].val();
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

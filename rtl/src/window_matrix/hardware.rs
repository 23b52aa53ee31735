//! The hardware of `window_matrix`: places in order of age, closed up as kernels retire.

use crate::info::Info;
use crate::params::{ID_BITS, WindowParams};
use crate::parts::{FromFirst, PayloadRegister, Register, bank, number, numbers};
use crate::window::window;
use rust_hdl::prelude::*;

window! {
    /// The window: see the module's page.
    WindowMatrix = "window_matrix", |params, r| {
        /// Places that hold a kernel, or one that has retired: the lowest ones.
        used: Register<Bits<N>> = Register::default(),
        /// Of these, those whose kernel was offered and taken, or waits in `held`.
        running: Register<Bits<N>> = Register::default(),
        /// Of these, those whose kernel has retired.
        gone: Register<Bits<N>> = Register::default(),
        /// The lowest of `gone` and all places above it: they take what the place above them has.
        shift: Register<Bits<N>> = Register::default(),
        /// Row i: places below i whose kernels the kernel in place i waits for.
        up: Vec<PayloadRegister<Bits<N>>> = bank(N),
        ids: Vec<Register<Bits<ID_BITS>>> = bank(N),
        /// A slot for every place, free ones included.
        slots: Vec<PayloadRegister<Bits<LN>>> = bank(N),
        /// An offer that was not taken stays here.
        held: Register<Bit> = Register::default(),
        held_id: PayloadRegister<Bits<ID_BITS>> = PayloadRegister::default(),
        held_slot: PayloadRegister<Bits<LN>> = PayloadRegister::default(),
        count: Register<Bits<8>> = Register::default(),
        /// Places that were found ready in the cycle before, where that is a pipeline stage of its own.
        found: Vec<Register<Bits<N>>> = bank(params.pipelined().into()),
        next_shift: FromFirst<N> = FromFirst::default(),
        from_ready: FromFirst<N> = FromFirst::default(),
        matching: Signal<Local, Bits<N>> = Signal::default(),
        named: Vec<Signal<Local, Bits<N>>> = bank(r),
        fresh: Vec<Signal<Local, Bit>> = bank(r),
        retiring: Signal<Local, Bits<N>> = Signal::default(),
        ret_err: Signal<Local, Bit> = Signal::default(),
        closing: Signal<Local, Bit> = Signal::default(),
        last_used: Signal<Local, Bit> = Signal::default(),
        insert: Signal<Local, Bit> = Signal::default(),
        tail: Signal<Local, Bits<N>> = Signal::default(),
        row: Signal<Local, Bits<N>> = Signal::default(),
        closed: Signal<Local, Bits<N>> = Signal::default(),
        above: Vec<Signal<Local, Bits<LN>>> = bank(N + 1),
        ins_slot: Signal<Local, Bits<LN>> = Signal::default(),
        closes: Signal<Local, Bits<N>> = Signal::default(),
        freed: Signal<Local, Bits<LN>> = Signal::default(),
        ins_up: Signal<Local, Bits<N>> = Signal::default(),
        empty: Signal<Local, Bits<N>> = Signal::default(),
        ready: Signal<Local, Bits<N>> = Signal::default(),
        may: Signal<Local, Bits<N>> = Signal::default(),
        pick: Signal<Local, Bits<N>> = Signal::default(),
        leaves: Signal<Local, Bits<N>> = Signal::default(),
        pick_id: Signal<Local, Bits<ID_BITS>> = Signal::default(),
        pick_slot: Signal<Local, Bits<LN>> = Signal::default(),
        offered: Signal<Local, Bit> = Signal::default(),
        now_running: Signal<Local, Bits<N>> = Signal::default(),
        now_gone: Signal<Local, Bits<N>> = Signal::default(),
        kept: Vec<Signal<Local, Bits<N>>> = bank(N + 1),
        stays: Vec<Signal<Local, Bits<N>>> = bank(N),
        moves: Vec<Signal<Local, Bits<N>>> = bank(N),
        comes: Vec<Signal<Local, Bits<N>>> = bank(N),
        zero: Constant<Bits<N>> = number(0),
        one: Constant<Bits<N>> = number(1),
        /// One place.
        step: Constant<Bits<1>> = number(1),
        no_id: Constant<Bits<ID_BITS>> = number(0),
        no_slot: Constant<Bits<LN>> = number(0),
        last: Constant<Bits<N>> = number(1 << (N - 1)),
        below: Vec<Constant<Bits<N>>> = numbers(N, |i| (1 << i) - 1),
        index: Vec<Constant<Bits<LN>>> = numbers(N, |i| i as u128),
        one_place: Constant<Bits<8>> = number(1),
        _stages: usize = params.pipelined().into(),
    }
}

impl<const N: usize, const LN: usize> Logic for WindowMatrix<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.used.clk_i.next = self.clk_i.val();
        self.used.rst_ni.next = self.rst_ni.val();
        self.running.clk_i.next = self.clk_i.val();
        self.running.rst_ni.next = self.rst_ni.val();
        self.gone.clk_i.next = self.clk_i.val();
        self.gone.rst_ni.next = self.rst_ni.val();
        self.shift.clk_i.next = self.clk_i.val();
        self.shift.rst_ni.next = self.rst_ni.val();
        self.held.clk_i.next = self.clk_i.val();
        self.held.rst_ni.next = self.rst_ni.val();
        self.held_id.clk_i.next = self.clk_i.val();
        self.held_slot.clk_i.next = self.clk_i.val();
        self.count.clk_i.next = self.clk_i.val();
        self.count.rst_ni.next = self.rst_ni.val();
        self.busy_o.next = false;

        // Retirement: the places whose slots the ports name, where their kernels were taken. Of two ports that name the same
        // slot the lower one retires it.
        self.retiring.next = self.zero.val();
        self.ret_err.next = false;
        for r in 0..self._retire_ports {
            self.matching.next = self.zero.val();
            for i in 0..N {
                self.matching.next =
                    self.matching.val().replace_bit(i, self.slots[i].q_o.val() == self.ret_slot_i[r].val());
            }
            self.named[r].next = self.zero.val();
            if self.ret_valid_i[r].val()
                & (!(self.held.q_o.val() & (self.held_slot.q_o.val() == self.ret_slot_i[r].val())))
            {
                self.named[r].next = self.matching.val() & self.running.q_o.val();
            }
            self.fresh[r].next = (self.named[r].val() & (!self.retiring.val())).any();
            self.ret_err.next = self.ret_err.val() | (self.ret_valid_i[r].val() & (!self.fresh[r].val()));
            self.retiring.next = self.retiring.val() | self.named[r].val();
            self.ret_ready_o[r].next = true;
        }
        self.ret_err_o.next = self.ret_err.val();
        self.place_live_o.next = self.used.q_o.val() & (!self.gone.q_o.val()) & (!self.retiring.val());

        // A place that has retired is closed two cycles later, one place per cycle, the lowest first.
        self.place_shift_o.next = self.shift.q_o.val();
        self.closing.next = (self.shift.q_o.val() & self.last.val()).any();
        self.closed.next = (self.shift.q_o.val() & (self.gone.q_o.val() >> self.step.val()))
            | ((!self.shift.q_o.val()) & self.gone.q_o.val());
        self.next_shift.req_i.next = self.closed.val();
        self.shift.d_i.next = self.next_shift.from_o.val();

        // Insertion: into the first place that is free when this cycle's is closed.
        self.last_used.next = (self.used.q_o.val() & self.last.val()).any();
        self.full_o.next = self.last_used.val() & (!self.closing.val());
        self.ins_ready_o.next = (!self.last_used.val()) | self.closing.val();
        self.insert.next = self.ins_valid_i.val() & ((!self.last_used.val()) | self.closing.val());
        self.tail.next = (!self.used.q_o.val()) & ((self.used.q_o.val() << self.step.val()) | self.one.val());
        if self.insert.val() {
            if self.closing.val() {
                if self.last_used.val() {
                    self.row.next = self.last.val();
                } else {
                    self.row.next = self.tail.val() >> self.step.val();
                }
            } else {
                self.row.next = self.tail.val();
            }
        } else {
            self.row.next = self.zero.val();
        }
        if self.closing.val() {
            if self.insert.val() {
                self.used.d_i.next = self.used.q_o.val();
            } else {
                self.used.d_i.next = self.used.q_o.val() >> self.step.val();
            }
        } else {
            self.used.d_i.next = self.used.q_o.val() | self.row.val();
        }
        self.ins_up.next = (self.shift.q_o.val() & (self.ins_up_i.val() >> self.step.val()))
            | ((!self.shift.q_o.val()) & self.ins_up_i.val());

        // The slot of the place that is closed goes to the last place; a kernel that is inserted gets that of its place.
        self.closes.next = self.shift.q_o.val() & (!(self.shift.q_o.val() << self.step.val()));
        self.freed.next = self.no_slot.val();
        self.ins_slot.next = self.no_slot.val();
        for i in 0..N {
            if self.closes.val().get_bit(i) {
                self.freed.next = self.freed.val() | self.slots[i].q_o.val();
            }
            if self.tail.val().get_bit(i) {
                self.ins_slot.next = self.ins_slot.val() | self.slots[i].q_o.val();
            }
        }
        self.ins_slot_o.next = self.zero.val();
        if self.insert.val() {
            if self.last_used.val() {
                self.ins_slot_o.next = self.one.val() << self.freed.val();
            } else {
                self.ins_slot_o.next = self.one.val() << self.ins_slot.val();
            }
        }
        self.count.d_i.next = self.count.q_o.val();
        if self.insert.val() & (!self.closing.val()) {
            self.count.d_i.next = self.count.q_o.val() + self.one_place.val();
        }
        if self.closing.val() & (!self.insert.val()) {
            self.count.d_i.next = self.count.q_o.val() - self.one_place.val();
        }
        self.occupancy_o.next = self.count.q_o.val();

        // Offers: what was not taken in the cycle before, else the oldest kernel that waits for none.
        self.empty.next = self.zero.val();
        for i in 0..N {
            self.empty.next = self.empty.val().replace_bit(i, !self.up[i].q_o.val().any());
        }
        self.ready.next =
            self.used.q_o.val() & (!self.running.q_o.val()) & (!self.gone.q_o.val()) & self.empty.val();
        self.may.next = self.ready.val();
        for s in 0..self._stages {
            self.may.next = self.found[s].q_o.val();
        }
        self.from_ready.req_i.next = self.may.val();
        self.pick.next = self.may.val() & (!(self.from_ready.from_o.val() << self.step.val()));
        if self.held.q_o.val() {
            self.leaves.next = self.zero.val();
        } else {
            self.leaves.next = self.pick.val();
        }
        for s in 0..self._stages {
            self.found[s].clk_i.next = self.clk_i.val();
            self.found[s].rst_ni.next = self.rst_ni.val();
            self.found[s].d_i.next = (self.shift.q_o.val()
                & ((self.ready.val() & (!self.leaves.val())) >> self.step.val()))
                | ((!self.shift.q_o.val()) & self.ready.val() & (!self.leaves.val()));
        }
        self.pick_id.next = self.no_id.val();
        self.pick_slot.next = self.no_slot.val();
        for i in 0..N {
            if self.pick.val().get_bit(i) {
                self.pick_id.next = self.pick_id.val() | self.ids[i].q_o.val();
                self.pick_slot.next = self.pick_slot.val() | self.slots[i].q_o.val();
            }
        }
        self.offered.next = self.held.q_o.val() | self.may.val().any();
        self.disp_valid_o.next = self.offered.val();
        self.held.d_i.next = self.offered.val() & (!self.disp_ready_i.val());
        if self.held.q_o.val() {
            self.disp_id_o.next = self.held_id.q_o.val();
            self.disp_slot_o.next = self.held_slot.q_o.val();
            self.held_id.d_i.next = self.held_id.q_o.val();
            self.held_slot.d_i.next = self.held_slot.q_o.val();
        } else {
            self.disp_id_o.next = self.pick_id.val();
            self.disp_slot_o.next = self.pick_slot.val();
            self.held_id.d_i.next = self.pick_id.val();
            self.held_slot.d_i.next = self.pick_slot.val();
        }
        self.oldest_valid_o.next = self.used.q_o.val().get_bit(0);
        if self.used.q_o.val().get_bit(0) {
            self.oldest_id_o.next = self.ids[0].q_o.val();
        } else {
            self.oldest_id_o.next = self.no_id.val();
        }

        // The clock edge: what each place keeps, what it takes from the place above, what is inserted.
        self.now_running.next = (self.running.q_o.val() & (!self.retiring.val())) | self.leaves.val();
        self.running.d_i.next = (self.shift.q_o.val() & (self.now_running.val() >> self.step.val()))
            | ((!self.shift.q_o.val()) & self.now_running.val());
        self.now_gone.next = self.gone.q_o.val() | self.retiring.val();
        self.gone.d_i.next = (self.shift.q_o.val() & (self.now_gone.val() >> self.step.val()))
            | ((!self.shift.q_o.val()) & self.now_gone.val());
        for i in 0..N {
            // There is nothing above the last place.
            self.kept[i + 1].next = self.zero.val();
        }
        for i in 0..N {
            self.kept[i].next = self.up[i].q_o.val() & (!self.retiring.val()) & self.below[i].val();
            self.place_id_o[i].next = self.ids[i].q_o.val();
        }
        for i in 0..N {
            self.up[i].clk_i.next = self.clk_i.val();
            // What stays, moves or comes in: at most one of the three.
            self.stays[i].next = self.zero.val();
            self.moves[i].next = self.zero.val();
            self.comes[i].next = self.zero.val();
            if self.row.val().get_bit(i) {
                self.comes[i].next = self.ins_up.val() & self.below[i].val();
            }
            if self.shift.q_o.val().get_bit(i) & (!self.row.val().get_bit(i)) {
                self.moves[i].next = ((self.shift.q_o.val() & (self.kept[i + 1].val() >> self.step.val()))
                    | ((!self.shift.q_o.val()) & self.kept[i + 1].val()))
                    & self.below[i].val();
            }
            if (!self.shift.q_o.val().get_bit(i)) & (!self.row.val().get_bit(i)) {
                self.stays[i].next = self.kept[i].val();
            }
            self.up[i].d_i.next = self.stays[i].val() | self.moves[i].val() | self.comes[i].val();
            self.ids[i].clk_i.next = self.clk_i.val();
            self.ids[i].rst_ni.next = self.rst_ni.val();
            self.ids[i].d_i.next = self.ids[i].q_o.val();
            // The slot that is freed goes to the last place.
            self.above[i + 1].next = self.freed.val();
        }
        for i in 0..N {
            self.above[i].next = self.slots[i].q_o.val();
        }
        for i in 0..N {
            self.slots[i].clk_i.next = self.clk_i.val();
            self.slots[i].d_i.next = self.slots[i].q_o.val();
            if self.shift.q_o.val().get_bit(i) {
                self.slots[i].d_i.next = self.above[i + 1].val();
            }
        }
        for i in 1..N {
            if self.shift.q_o.val().get_bit(i - 1) {
                self.ids[i - 1].d_i.next = self.ids[i].q_o.val();
            }
        }
        for i in 0..N {
            if self.row.val().get_bit(i) {
                self.ids[i].d_i.next = self.ins_id_i.val();
            }
            if !self.rst_ni.val() {
                self.slots[i].d_i.next = self.index[i].val();
            }
        }
    }
}

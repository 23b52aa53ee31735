//! The hardware of `window_matrix`: places in order of age, closed up as kernels retire.

use crate::info::Info;
use crate::params::{ID_BITS, WindowParams};
use crate::parts::{CloseUp, FromFirst, PayloadRegister, Register, bank, number, numbers};
use crate::window::window;
use rust_hdl::prelude::*;

/// Places whose oldest ready kernel is found together.
const GROUP: usize = 8;

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
        /// Row i: places whose kernels the one in place i waits for, or waited for if in `gone`.
        ///
        /// All are below i, and leave the row when they are closed. The rows of free places follow `ins_up_i`.
        up: Vec<PayloadRegister<Bits<N>>> = bank(N),
        /// Of each place, its kernel's id; if it is free, of one that was in it or above, or zero.
        ids: Vec<Register<Bits<ID_BITS>>> = bank(N),
        /// A slot for every place, free ones included.
        slots: Vec<PayloadRegister<Bits<LN>>> = bank(N),
        /// The slot of the first free place.
        free_slot: Register<Bits<LN>> = Register::default(),
        /// An offer was not taken in the cycle before: it stays.
        held: Register<Bit> = Register::default(),
        /// The id that was offered in the cycle before.
        held_id: PayloadRegister<Bits<ID_BITS>> = PayloadRegister::default(),
        /// The slot that was offered in the cycle before.
        held_slot: PayloadRegister<Bits<LN>> = PayloadRegister::default(),
        /// How many places are in use, closed ones not counted.
        count: Register<Bits<8>> = Register::default(),
        /// Pipelined: of each retire port, it was valid in the cycle before.
        asked_q: Vec<Register<Bit>> = bank(r * usize::from(params.pipelined())),
        /// Pipelined: of each retire port, the place that it named in the cycle before, or none.
        named_q: Vec<Register<Bits<N>>> = bank(r * usize::from(params.pipelined())),
        /// Pipelined: places that were found ready in the cycle before.
        found: Vec<Register<Bits<N>>> = bank(params.pipelined().into()),
        /// Finds the places that move in the next cycle.
        next_shift: FromFirst<N> = FromFirst::default(),
        /// Moves `gone` down where a place is closed.
        gone_moves: CloseUp<N> = CloseUp::default(),
        /// Moves `now_gone` down where a place is closed.
        now_gone_moves: CloseUp<N> = CloseUp::default(),
        /// Moves `now_running` down where a place is closed.
        running_moves: CloseUp<N> = CloseUp::default(),
        /// Pipelined: moves what each retire port named where a place is closed.
        named_moves: Vec<CloseUp<N>> = bank(r * usize::from(params.pipelined())),
        /// Pipelined: moves what was found ready where a place is closed.
        found_moves: Vec<CloseUp<N>> = bank(params.pipelined().into()),
        /// Moves `row` down where a place is closed.
        row_moves: CloseUp<N> = CloseUp::default(),
        /// Moves `ins_up_i` down where a place is closed.
        ins_up_moves: CloseUp<N> = CloseUp::default(),
        /// The place with the slot that the retire port at hand names.
        matching: Signal<Local, Bits<N>> = Signal::default(),
        /// Of each retire port, that place if the kernel there was taken and the port is valid.
        matched: Vec<Signal<Local, Bits<N>>> = bank(r),
        /// Of each retire port, a retirement is worked on in this cycle.
        asked: Vec<Signal<Local, Bit>> = bank(r),
        /// Of each retire port, the place that this retirement names, or none.
        named: Vec<Signal<Local, Bits<N>>> = bank(r),
        /// Of each retire port, it retires a kernel that no lower port does.
        fresh: Vec<Signal<Local, Bit>> = bank(r),
        /// Places whose kernels retire: they are in `gone` from the next cycle on.
        retiring: Signal<Local, Bits<N>> = Signal::default(),
        /// `ret_err_o`, gathered over the retire ports.
        ret_err: Signal<Local, Bit> = Signal::default(),
        /// A place is closed at the end of this cycle.
        closing: Signal<Local, Bit> = Signal::default(),
        /// `full_o`, to be read here.
        full: Signal<Local, Bit> = Signal::default(),
        /// A kernel is inserted at the end of this cycle.
        insert: Signal<Local, Bit> = Signal::default(),
        /// The first free place, or none.
        tail: Signal<Local, Bits<N>> = Signal::default(),
        /// The place that is filled, or none.
        row: Signal<Local, Bits<N>> = Signal::default(),
        /// `used` at the end of this cycle, before a place is closed.
        now_used: Signal<Local, Bits<N>> = Signal::default(),
        /// Of each place, its slot; behind the last place, `freed`.
        above: Vec<Signal<Local, Bits<LN>>> = bank(N + 1),
        /// The place that is closed, or none.
        closes: Signal<Local, Bits<N>> = Signal::default(),
        /// The slot of the place that is closed, or zero.
        freed: Signal<Local, Bits<LN>> = Signal::default(),
        /// The slot that is filled next where a kernel is inserted now.
        after: Signal<Local, Bits<LN>> = Signal::default(),
        /// Places whose kernels nobody waits for.
        over: Signal<Local, Bits<N>> = Signal::default(),
        /// Places whose rows name no unfinished kernel.
        empty: Signal<Local, Bits<N>> = Signal::default(),
        /// Places whose kernels wait for none and were not offered.
        ready: Signal<Local, Bits<N>> = Signal::default(),
        /// Places from which the offer is picked.
        may: Signal<Local, Bits<N>> = Signal::default(),
        /// In each group, the first place in `may` and all above it.
        from: Signal<Local, Bits<N>> = Signal::default(),
        /// In each group, the first place in `may`.
        first: Signal<Local, Bits<N>> = Signal::default(),
        /// Groups with a place in `may`.
        any: Signal<Local, Bits<16>> = Signal::default(),
        /// Groups before which no other has a place in `may`; none while an offer is held.
        picks: Signal<Local, Bits<16>> = Signal::default(),
        /// The place whose kernel is offered for the first time, or none.
        pick: Signal<Local, Bits<N>> = Signal::default(),
        /// Of each group, the id of the kernel in its first place in `may`.
        group_id: Vec<Signal<Local, Bits<ID_BITS>>> = bank(N.div_ceil(GROUP)),
        /// Of each group, the slot of that kernel.
        group_slot: Vec<Signal<Local, Bits<LN>>> = bank(N.div_ceil(GROUP)),
        /// `disp_id_o`, to be read here.
        shown_id: Signal<Local, Bits<ID_BITS>> = Signal::default(),
        /// `disp_slot_o`, to be read here.
        shown_slot: Signal<Local, Bits<LN>> = Signal::default(),
        /// `disp_valid_o`, to be read here.
        offered: Signal<Local, Bit> = Signal::default(),
        /// `running` at the end of this cycle, before a place is closed.
        now_running: Signal<Local, Bits<N>> = Signal::default(),
        /// `gone` at the end of this cycle, before a place is closed.
        now_gone: Signal<Local, Bits<N>> = Signal::default(),
        /// Of each place, what its row becomes where it does not stay as it is.
        rows: Vec<Signal<Local, Bits<N>>> = bank(N),
        /// The place that `ins_id_i` goes to.
        comes: Signal<Local, Bits<N>> = Signal::default(),
        zero: Constant<Bits<N>> = number(0),
        one: Constant<Bits<N>> = number(1),
        /// One place.
        step: Constant<Bits<1>> = number(1),
        no_group: Constant<Bits<16>> = number(0),
        no_id: Constant<Bits<ID_BITS>> = number(0),
        no_slot: Constant<Bits<LN>> = number(0),
        last: Constant<Bits<N>> = number(1 << (N - 1)),
        below: Vec<Constant<Bits<N>>> = numbers(N, |i| (1 << i) - 1),
        index: Vec<Constant<Bits<LN>>> = numbers(N, |i| i as u128),
        one_place: Constant<Bits<8>> = number(1),
        /// Numbers up to N.
        counts: Constant<Bits<8>> = number(2 * N.next_power_of_two() as u128 - 1),
        /// Places of each group, and groups before it.
        group: Vec<Constant<Bits<N>>> = numbers(N.div_ceil(GROUP), |g| (0..N).filter(|i| i / GROUP == g).fold(0, |s, i| s | 1 << i)),
        earlier: Vec<Constant<Bits<16>>> = numbers(N.div_ceil(GROUP), |g| (1 << g) - 1),
        /// Steps of 1, 2 and 4 places, and the places that have one so far below in their group.
        distance: Vec<Constant<Bits<3>>> = numbers(3, |l| 1 << l),
        reach: Vec<Constant<Bits<N>>> = numbers(3, |l| (0..N).filter(|i| i % GROUP >= 1 << l).fold(0, |s, i| s | 1 << i)),
        _groups: usize = N.div_ceil(GROUP),
        _width: usize = N.min(GROUP),
        _stages: usize = params.pipelined().into(),
        _staged_ports: usize = r * usize::from(params.pipelined()),
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
        self.free_slot.clk_i.next = self.clk_i.val();
        self.free_slot.rst_ni.next = self.rst_ni.val();
        self.held.clk_i.next = self.clk_i.val();
        self.held.rst_ni.next = self.rst_ni.val();
        self.held_id.clk_i.next = self.clk_i.val();
        self.held_slot.clk_i.next = self.clk_i.val();
        self.count.clk_i.next = self.clk_i.val();
        self.count.rst_ni.next = self.rst_ni.val();
        self.busy_o.next = false;

        comment!("Retirement: the places whose slots the ports name, where their kernels were taken.");
        for r in 0..self._retire_ports {
            self.matching.next = self.zero.val();
            for i in 0..N {
                self.matching.next =
                    self.matching.val().replace_bit(i, self.slots[i].q_o.val() == self.ret_slot_i[r].val());
            }
            self.matched[r].next = self.zero.val();
            if self.ret_valid_i[r].val()
                & (!(self.held.q_o.val() & (self.held_slot.q_o.val() == self.ret_slot_i[r].val())))
            {
                self.matched[r].next = self.matching.val() & self.running.q_o.val();
            }
            self.named[r].next = self.matched[r].val();
            self.asked[r].next = self.ret_valid_i[r].val();
            self.ret_ready_o[r].next = true;
        }
        comment!("Pipelined: what was found in the cycle before retires now.");
        for r in 0..self._staged_ports {
            self.asked_q[r].clk_i.next = self.clk_i.val();
            self.asked_q[r].rst_ni.next = self.rst_ni.val();
            self.asked_q[r].d_i.next = self.ret_valid_i[r].val();
            self.named[r].next = self.named_q[r].q_o.val();
            self.asked[r].next = self.asked_q[r].q_o.val();
        }
        comment!("Of two ports that name the same slot the lower one retires it.");
        self.retiring.next = self.zero.val();
        self.ret_err.next = false;
        for r in 0..self._retire_ports {
            self.fresh[r].next = (self.named[r].val() & (!self.retiring.val())).any();
            self.ret_err.next = self.ret_err.val() | (self.asked[r].val() & (!self.fresh[r].val()));
            self.retiring.next = self.retiring.val() | self.named[r].val();
        }
        self.ret_err_o.next = self.ret_err.val();
        comment!("Pipelined: what is found now retires in the next cycle, unless it retires already.");
        for r in 0..self._staged_ports {
            self.named_q[r].clk_i.next = self.clk_i.val();
            self.named_q[r].rst_ni.next = self.rst_ni.val();
            self.named_moves[r].shift_i.next = self.shift.q_o.val();
            self.named_moves[r].places_i.next = self.matched[r].val() & (!self.retiring.val());
            self.named_q[r].d_i.next = self.named_moves[r].places_o.val();
        }
        self.place_live_o.next = self.used.q_o.val() & (!self.gone.q_o.val()) & (!self.retiring.val());

        comment!("A place that has retired is closed two cycles later, one");
        comment!("place per cycle, the lowest first.");
        self.place_shift_o.next = self.shift.q_o.val();
        self.closing.next = (self.shift.q_o.val() & self.last.val()).any();
        self.gone_moves.shift_i.next = self.shift.q_o.val();
        self.gone_moves.places_i.next = self.gone.q_o.val();
        self.next_shift.req_i.next = self.gone_moves.places_o.val();
        self.shift.d_i.next = self.next_shift.from_o.val();

        comment!("Insertion: into the first free place, from which it moves");
        comment!("at once where a place is closed.");
        self.full.next = (self.used.q_o.val() & self.last.val()).any();
        self.full_o.next = self.full.val();
        self.ins_ready_o.next = !self.full.val();
        self.insert.next = self.ins_valid_i.val() & (!self.full.val());
        self.tail.next = (!self.used.q_o.val()) & ((self.used.q_o.val() << self.step.val()) | self.one.val());
        self.row.next = self.zero.val();
        if self.insert.val() {
            self.row.next = self.tail.val();
        }
        self.now_used.next = self.used.q_o.val() | self.row.val();
        self.used.d_i.next = self.now_used.val();
        if self.closing.val() {
            self.used.d_i.next = self.now_used.val() >> self.step.val();
        }
        comment!("Places in use: one more, one less, or as many.");
        self.count.d_i.next = self.count.q_o.val();
        if self.insert.val() & (!self.closing.val()) {
            self.count.d_i.next = (self.count.q_o.val() + self.one_place.val()) & self.counts.val();
        }
        if self.closing.val() & (!self.insert.val()) {
            self.count.d_i.next = (self.count.q_o.val() - self.one_place.val()) & self.counts.val();
        }
        self.occupancy_o.next = self.count.q_o.val();

        comment!("The slot of the place that is closed goes to the last place. The first");
        comment!("free place is another one after an insertion only: a place that is closed");
        comment!("takes it one down, and its slot with it.");
        self.closes.next = self.shift.q_o.val() & (!(self.shift.q_o.val() << self.step.val()));
        self.freed.next = self.no_slot.val();
        for i in 0..N {
            if self.closes.val().get_bit(i) {
                self.freed.next = self.freed.val() | self.slots[i].q_o.val();
            }
            self.above[i].next = self.slots[i].q_o.val();
            self.above[i + 1].next = self.freed.val();
        }
        self.after.next = self.no_slot.val();
        for i in 0..N {
            if self.tail.val().get_bit(i) {
                self.after.next = self.after.val() | self.above[i + 1].val();
            }
        }
        self.free_slot.d_i.next = self.free_slot.q_o.val();
        if self.full.val() {
            self.free_slot.d_i.next = self.freed.val();
        }
        if self.insert.val() {
            self.free_slot.d_i.next = self.after.val();
        }
        self.ins_slot_o.next = self.zero.val();
        if self.insert.val() {
            self.ins_slot_o.next = self.one.val() << self.free_slot.q_o.val();
        }

        comment!("Offers: what was not taken in the cycle before, else the");
        comment!("oldest kernel that waits for none.");
        self.over.next = self.gone.q_o.val();
        for _s in 0..self._stages {
            self.over.next = self.gone.q_o.val() | self.retiring.val();
        }
        self.empty.next = self.zero.val();
        for i in 0..N {
            self.empty.next = self
                .empty
                .val()
                .replace_bit(i, !(self.up[i].q_o.val() & (!self.over.val()) & self.below[i].val()).any());
        }
        self.ready.next =
            self.used.q_o.val() & (!self.running.q_o.val()) & (!self.gone.q_o.val()) & self.empty.val();
        self.may.next = self.ready.val();
        for s in 0..self._stages {
            self.may.next = self.found[s].q_o.val();
        }
        comment!("The first of each group, while the groups find out which of them goes first.");
        self.from.next = self.may.val();
        for l in 0..3 {
            self.from.next =
                self.from.val() | ((self.from.val() << self.distance[l].val()) & self.reach[l].val());
        }
        self.first.next = self.may.val() & (!((self.from.val() << self.step.val()) & self.reach[0].val()));
        self.any.next = self.no_group.val();
        for g in 0..self._groups {
            self.any.next = self.any.val().replace_bit(g, (self.may.val() & self.group[g].val()).any());
        }
        comment!("An offer that was not taken stays; else the first group that has one offers its first.");
        self.picks.next = self.no_group.val();
        self.pick.next = self.zero.val();
        self.shown_id.next = self.no_id.val();
        self.shown_slot.next = self.no_slot.val();
        if self.held.q_o.val() {
            self.shown_id.next = self.held_id.q_o.val();
            self.shown_slot.next = self.held_slot.q_o.val();
        }
        for g in 0..self._groups {
            self.picks.next = self
                .picks
                .val()
                .replace_bit(g, (!self.held.q_o.val()) & (!(self.any.val() & self.earlier[g].val()).any()));
            self.group_id[g].next = self.no_id.val();
            self.group_slot[g].next = self.no_slot.val();
            for j in 0..self._width {
                if self.first.val().get_bit(8 * g + j) {
                    self.group_id[g].next = self.group_id[g].val() | self.ids[8 * g + j].q_o.val();
                    self.group_slot[g].next = self.group_slot[g].val() | self.slots[8 * g + j].q_o.val();
                }
            }
            if self.picks.val().get_bit(g) {
                self.pick.next = self.pick.val() | (self.first.val() & self.group[g].val());
                self.shown_id.next = self.shown_id.val() | self.group_id[g].val();
                self.shown_slot.next = self.shown_slot.val() | self.group_slot[g].val();
            }
        }
        comment!("Pipelined: what is found ready now, and is not offered");
        comment!("now, may be offered in the next cycle.");
        for s in 0..self._stages {
            self.found[s].clk_i.next = self.clk_i.val();
            self.found[s].rst_ni.next = self.rst_ni.val();
            self.found_moves[s].shift_i.next = self.shift.q_o.val();
            self.found_moves[s].places_i.next = self.ready.val() & (!self.pick.val());
            self.found[s].d_i.next = self.found_moves[s].places_o.val();
        }
        self.offered.next = self.held.q_o.val() | self.may.val().any();
        self.disp_valid_o.next = self.offered.val();
        self.held.d_i.next = self.offered.val() & (!self.disp_ready_i.val());
        self.disp_id_o.next = self.shown_id.val();
        self.disp_slot_o.next = self.shown_slot.val();
        self.held_id.d_i.next = self.shown_id.val();
        self.held_slot.d_i.next = self.shown_slot.val();
        comment!("The oldest kernel is in place 0.");
        self.oldest_valid_o.next = self.used.q_o.val().get_bit(0);
        if self.used.q_o.val().get_bit(0) {
            self.oldest_id_o.next = self.ids[0].q_o.val();
        } else {
            self.oldest_id_o.next = self.no_id.val();
        }

        comment!("The clock edge: what each place keeps, and what it takes from the place above.");
        self.now_running.next = (self.running.q_o.val() & (!self.retiring.val())) | self.pick.val();
        self.running_moves.shift_i.next = self.shift.q_o.val();
        self.running_moves.places_i.next = self.now_running.val();
        self.running.d_i.next = self.running_moves.places_o.val();
        self.now_gone.next = self.gone.q_o.val() | self.retiring.val();
        self.now_gone_moves.shift_i.next = self.shift.q_o.val();
        self.now_gone_moves.places_i.next = self.now_gone.val();
        self.gone.d_i.next = self.now_gone_moves.places_o.val();
        self.ins_up_moves.shift_i.next = self.shift.q_o.val();
        self.ins_up_moves.places_i.next = self.ins_up_i.val();
        comment!("A row moves, or follows what comes in, or stays: three cases that a");
        comment!("flip-flop with an enable and one multiplexer tell apart.");
        for i in 0..N {
            self.rows[i].next = self.ins_up_moves.places_o.val();
        }
        for i in 1..N {
            if self.used.q_o.val().get_bit(i) {
                self.rows[i - 1].next = (self.shift.q_o.val() & (self.up[i].q_o.val() >> self.step.val()))
                    | ((!self.shift.q_o.val()) & self.up[i].q_o.val());
            }
        }
        self.row_moves.shift_i.next = self.shift.q_o.val();
        self.row_moves.places_i.next = self.row.val();
        comment!("The last place, where it is closed again at once, has the id");
        comment!("that came in as the one that was in it.");
        self.comes.next = self.row_moves.places_o.val() | (self.row.val() & self.last.val());
        for i in 0..N {
            self.up[i].clk_i.next = self.clk_i.val();
            self.up[i].d_i.next = self.up[i].q_o.val();
            if self.shift.q_o.val().get_bit(i) | (!self.used.q_o.val().get_bit(i)) {
                self.up[i].d_i.next = self.rows[i].val() & self.below[i].val();
            }
            self.place_id_o[i].next = self.ids[i].q_o.val();
            self.ids[i].clk_i.next = self.clk_i.val();
            self.ids[i].rst_ni.next = self.rst_ni.val();
            self.ids[i].d_i.next = self.ids[i].q_o.val();
            self.slots[i].clk_i.next = self.clk_i.val();
            self.slots[i].d_i.next = self.slots[i].q_o.val();
            if self.shift.q_o.val().get_bit(i) {
                self.slots[i].d_i.next = self.above[i + 1].val();
            }
            if !self.rst_ni.val() {
                self.slots[i].d_i.next = self.index[i].val();
            }
        }
        for i in 1..N {
            if self.shift.q_o.val().get_bit(i - 1) {
                self.ids[i - 1].d_i.next = self.ids[i].q_o.val();
            }
        }
        for i in 0..N {
            if self.comes.val().get_bit(i) {
                self.ids[i].d_i.next = self.ins_id_i.val();
            }
        }
    }
}

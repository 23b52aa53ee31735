//! Round robin over the lanes of one slice at a time, with a pointer for each slice.

use crate::info::Info;
use crate::parts::{PayloadRegister, Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Four lanes: the first, or the first after the lane that was picked last where there is one.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct LaneQuad {
    info: Info,
    /// Lanes that may be picked.
    pub req_i: Signal<In, Bits<4>>,
    /// The lane that was picked last is in these four.
    pub own_i: Signal<In, Bit>,
    /// Of its four, the lanes after it.
    pub after_i: Signal<In, Bits<4>>,
    /// There is one.
    pub any_o: Signal<Out, Bit>,
    /// There is one among those after it, were it here.
    pub any_after_o: Signal<Out, Bit>,
    /// One-hot: the lane, where it is one of these four.
    pub pick_o: Signal<Out, Bits<4>>,
    /// The lanes after it.
    pub next_o: Signal<Out, Bits<4>>,
    /// Lanes that may be picked after the one picked last, if that is here.
    after: Signal<Local, Bits<4>>,
    /// Lanes of which the first is picked.
    open: Signal<Local, Bits<4>>,
    /// Lanes that have one of `open` before them.
    earlier: Signal<Local, Bits<4>>,
    zero: Constant<Bits<4>>,
}

impl Default for LaneQuad {
    fn default() -> Self {
        Self {
            info: Info::module("lane_quad", "").fields::<Self>(&[]),
            req_i: Signal::default(),
            own_i: Signal::default(),
            after_i: Signal::default(),
            any_o: Signal::default(),
            any_after_o: Signal::default(),
            pick_o: Signal::default(),
            next_o: Signal::default(),
            after: Signal::default(),
            open: Signal::default(),
            earlier: Signal::default(),
            zero: number(0),
        }
    }
}

impl Logic for LaneQuad {
    #[hdl_gen]
    fn update(&mut self) {
        self.after.next = self.req_i.val() & self.after_i.val();
        self.any_o.next = self.req_i.val().any();
        self.any_after_o.next = self.after.val().any();
        comment!("The first lane after the one picked last, where there is one, or else the first.");
        if self.own_i.val() & self.after.val().any() {
            self.open.next = self.after.val();
        } else {
            self.open.next = self.req_i.val();
        }
        self.earlier.next = self
            .zero
            .val()
            .replace_bit(1, self.open.val().get_bit(0))
            .replace_bit(2, self.open.val().get_bit(0) | self.open.val().get_bit(1))
            .replace_bit(
                3,
                self.open.val().get_bit(0) | self.open.val().get_bit(1) | self.open.val().get_bit(2),
            );
        self.pick_o.next = self.open.val() & (!self.earlier.val());
        self.next_o.next = self.earlier.val();
    }
}

/// The picker, in two levels: which four lanes, and, looked for in all fours at the same time, which lane of it. The pointers go round
/// with the slices: the one for the slice at stage P is at hand. A pointer is the lane that was picked last, as its four, and the lanes
/// after it there; all zero is as good as the last lane.
///
/// Where the number of SMs is no multiple of three, a slice that is short of one would get its next CTA before the others have had as many,
/// and one SM two of a grid's CTAs while another has none. So it lets one turn pass before it begins anew, if there was room in the slices
/// of the two cycles before.
///
/// The fours are in two vectors: bit g of the low one is lanes 8g to 8g + 3, of the high one lanes 8g + 4 to 8g + 7.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct LanePicker {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle; where a lane is picked they do.
    pub run_i: Vec<Signal<In, Bit>>,
    /// A lane is to be picked.
    pub go_i: Signal<In, Bit>,
    /// Lanes that may be.
    pub req_i: Vec<Signal<In, Bits<8>>>,
    /// One-hot or zero: the lane.
    pub gnt_o: Vec<Signal<Out, Bits<8>>>,
    /// These lanes have one SM less than those of another slice.
    pub short_i: Vec<Signal<In, Bit>>,
    /// A lane is to be picked, and there is one that may be.
    pub room_o: Signal<Out, Bit>,
    /// One of them gets a CTA, if there is one for it.
    pub wants_o: Signal<Out, Bit>,
    /// There is: it is picked.
    pub may_i: Signal<In, Bit>,
    /// One is picked, and no lane from the pointer on could have been.
    pub wraps_o: Vec<Signal<Out, Bit>>,
    /// Of each group: it is in the first four lanes.
    pub low_o: Signal<Out, Bits<8>>,
    /// Of each group: it is in the last four lanes.
    pub high_o: Signal<Out, Bits<8>>,
    /// One-hot or zero: its place in its four.
    pub place_o: Signal<Out, Bits<4>>,
    /// Of each group, its first four lanes.
    low: Vec<LaneQuad>,
    /// Of each group, its last four lanes.
    high: Vec<LaneQuad>,
    /// Pointer of the slice at P: bit g, the lane picked last is in the first four of group g.
    low_p: Register<Bits<8>>,
    /// The same of the slice at U.
    low_u: Register<Bits<8>>,
    /// The same of the slice at C.
    low_c: Register<Bits<8>>,
    /// Pointer of the slice at P: bit g, the lane picked last is in the last four of group g.
    high_p: Register<Bits<8>>,
    /// The same of the slice at U.
    high_u: Register<Bits<8>>,
    /// The same of the slice at C.
    high_c: Register<Bits<8>>,
    /// Bit g: the first four of group g come after the four of the pointer of the slice at P.
    past_low: PayloadRegister<Bits<8>>,
    /// Bit g: the same for the last four.
    past_high: PayloadRegister<Bits<8>>,
    /// Pointer of the slice at P: in the four of the lane picked last, the lanes after it.
    after_p: Register<Bits<4>>,
    /// The same of the slice at U.
    after_u: Register<Bits<4>>,
    /// The same of the slice at C.
    after_c: Register<Bits<4>>,
    /// The slice at P has got a CTA since it last let a turn pass.
    due_p: Vec<Register<Bit>>,
    /// The same of the slice at U.
    due_u: Vec<Register<Bit>>,
    /// The same of the slice at C.
    due_c: Vec<Register<Bit>>,
    /// In the cycle before, a lane was to be picked and there was one.
    room_1: Vec<Register<Bit>>,
    /// The same two cycles before.
    room_2: Vec<Register<Bit>>,
    /// `req_i` of the group that is looked at.
    eight: Signal<Local, Bits<8>>,
    /// The picked lane, where it is one of the four that are looked at, or none.
    nibble: Signal<Local, Bits<4>>,
    /// `gnt_o`, to be read here.
    gnt: Vec<Signal<Local, Bits<8>>>,
    /// Bit g: a lane in the first four of group g may be picked.
    any_low: Signal<Local, Bits<8>>,
    /// Bit g: a lane in the last four of group g may be picked.
    any_high: Signal<Local, Bits<8>>,
    /// Bit g: if the pointer is in the first four of group g, a lane after it there may be picked.
    next_low: Signal<Local, Bits<8>>,
    /// Bit g: the same for the last four.
    next_high: Signal<Local, Bits<8>>,
    /// Bit g: a lane after the pointer, in the first four of group g, may be picked.
    later_low: Signal<Local, Bits<8>>,
    /// Bit g: the same for the last four.
    later_high: Signal<Local, Bits<8>>,
    /// Bit g: the picked lane is in the first four of group g.
    picks_low: Signal<Local, Bits<8>>,
    /// Bit g: the picked lane is in the last four of group g.
    picks_high: Signal<Local, Bits<8>>,
    /// Bit g: the first four of group g come after the four of the pointer of the slice at C.
    behind_low: Signal<Local, Bits<8>>,
    /// Bit g: the same for the last four.
    behind_high: Signal<Local, Bits<8>>,
    /// A lane after the pointer may be picked.
    later: Signal<Local, Bit>,
    /// No lane after the pointer may be picked, and no turn passes: from the first lane on.
    around: Signal<Local, Bit>,
    /// The slice lets its turn pass, if no lane after the pointer may be picked.
    may_pass: Signal<Local, Bit>,
    /// `room_o`, to be read here.
    room: Signal<Local, Bit>,
    /// `wants_o`, to be read here.
    wants: Signal<Local, Bit>,
    /// One is picked, if there is one that may be.
    take: Signal<Local, Bit>,
    /// One is picked: the pointer moves.
    moves: Signal<Local, Bit>,
    /// `place_o`, to be read here.
    place: Signal<Local, Bits<4>>,
    /// In the four of the picked lane, the lanes after it.
    after: Signal<Local, Bits<4>>,
    zero: Constant<Bits<8>>,
    four: Constant<Bits<8>>,
    none: Constant<Bits<4>>,
    /// Groups before each, and up to each.
    below: Vec<Constant<Bits<8>>>,
    upto: Vec<Constant<Bits<8>>>,
    _groups: usize,
    _uneven: usize,
    _wraps: usize,
    _holds: usize,
}

impl LanePicker {
    /// For so many groups of lanes; `uneven`, `wraps` and `holds`, 0 or 1: slices may be short of an SM; it says where it goes round; slices
    /// stand still at times.
    pub fn new(groups: usize, uneven: usize, wraps: usize, holds: usize) -> Self {
        Self {
            info: Info::module("lane_picker", "")
                .fields::<Self>(&[])
                .param("GROUPS", "n", groups)
                .param_if("UNEVEN", "u", uneven)
                .param_if("WRAPS", "w", wraps)
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            go_i: Signal::default(),
            req_i: bank(groups),
            gnt_o: bank(groups),
            short_i: bank(uneven),
            room_o: Signal::default(),
            wants_o: Signal::default(),
            may_i: Signal::default(),
            wraps_o: bank(wraps),
            low_o: Signal::default(),
            high_o: Signal::default(),
            place_o: Signal::default(),
            low: bank(groups),
            high: bank(groups),
            low_p: Register::default(),
            low_u: Register::default(),
            low_c: Register::default(),
            high_p: Register::default(),
            high_u: Register::default(),
            high_c: Register::default(),
            past_low: PayloadRegister::default(),
            past_high: PayloadRegister::default(),
            after_p: Register::default(),
            after_u: Register::default(),
            after_c: Register::default(),
            due_p: bank(uneven),
            due_u: bank(uneven),
            due_c: bank(uneven),
            room_1: bank(uneven),
            room_2: bank(uneven),
            eight: Signal::default(),
            nibble: Signal::default(),
            gnt: bank(groups),
            any_low: Signal::default(),
            any_high: Signal::default(),
            next_low: Signal::default(),
            next_high: Signal::default(),
            later_low: Signal::default(),
            later_high: Signal::default(),
            picks_low: Signal::default(),
            picks_high: Signal::default(),
            behind_low: Signal::default(),
            behind_high: Signal::default(),
            later: Signal::default(),
            around: Signal::default(),
            may_pass: Signal::default(),
            room: Signal::default(),
            wants: Signal::default(),
            take: Signal::default(),
            moves: Signal::default(),
            place: Signal::default(),
            after: Signal::default(),
            zero: number(0),
            four: number(4),
            none: number(0),
            below: numbers(groups, |g| (1 << g) - 1),
            upto: numbers(groups, |g| (2 << g) - 1),
            _groups: groups,
            _uneven: uneven,
            _wraps: wraps,
            _holds: holds,
        }
    }
}

impl Logic for LanePicker {
    #[hdl_gen]
    fn update(&mut self) {
        self.low_p.clk_i.next = self.clk_i.val();
        self.low_p.rst_ni.next = self.rst_ni.val();
        self.low_u.clk_i.next = self.clk_i.val();
        self.low_u.rst_ni.next = self.rst_ni.val();
        self.low_c.clk_i.next = self.clk_i.val();
        self.low_c.rst_ni.next = self.rst_ni.val();
        self.high_p.clk_i.next = self.clk_i.val();
        self.high_p.rst_ni.next = self.rst_ni.val();
        self.high_u.clk_i.next = self.clk_i.val();
        self.high_u.rst_ni.next = self.rst_ni.val();
        self.high_c.clk_i.next = self.clk_i.val();
        self.high_c.rst_ni.next = self.rst_ni.val();
        self.after_p.clk_i.next = self.clk_i.val();
        self.after_p.rst_ni.next = self.rst_ni.val();
        self.after_u.clk_i.next = self.clk_i.val();
        self.after_u.rst_ni.next = self.rst_ni.val();
        self.after_c.clk_i.next = self.clk_i.val();
        self.after_c.rst_ni.next = self.rst_ni.val();
        self.past_low.clk_i.next = self.clk_i.val();
        self.past_high.clk_i.next = self.clk_i.val();

        comment!("Each four by itself.");
        self.any_low.next = self.zero.val();
        self.any_high.next = self.zero.val();
        self.next_low.next = self.zero.val();
        self.next_high.next = self.zero.val();
        for g in 0..self._groups {
            self.eight.next = self.req_i[g].val();
            self.low[g].req_i.next = bit_cast::<4, 8>(self.eight.val());
            self.high[g].req_i.next = bit_cast::<4, 8>(self.eight.val() >> self.four.val());
            self.low[g].own_i.next = self.low_p.q_o.val().get_bit(g);
            self.low[g].after_i.next = self.after_p.q_o.val();
            self.high[g].own_i.next = self.high_p.q_o.val().get_bit(g);
            self.high[g].after_i.next = self.after_p.q_o.val();
            self.any_low.next = self.any_low.val().replace_bit(g, self.low[g].any_o.val());
            self.any_high.next = self.any_high.val().replace_bit(g, self.high[g].any_o.val());
            self.next_low.next = self.next_low.val().replace_bit(g, self.low[g].any_after_o.val());
            self.next_high.next = self.next_high.val().replace_bit(g, self.high[g].any_after_o.val());
        }

        comment!("Which four: the first that has one after the pointer, or else the first that has one.");
        self.later_low.next =
            (self.past_low.q_o.val() & self.any_low.val()) | (self.low_p.q_o.val() & self.next_low.val());
        self.later_high.next =
            (self.past_high.q_o.val() & self.any_high.val()) | (self.high_p.q_o.val() & self.next_high.val());
        self.later.next = (self.later_low.val() | self.later_high.val()).any();
        self.may_pass.next = false;
        for i in 0..self._uneven {
            comment!("A slice that is short of an SM lets a turn pass before it goes round, if");
            comment!("there was room in one of the two cycles before.");
            self.may_pass.next = self.short_i[i].val()
                & self.due_p[i].q_o.val()
                & (self.room_1[i].q_o.val() | self.room_2[i].q_o.val());
        }
        self.around.next = !(self.later.val() | self.may_pass.val());
        self.room.next = self.go_i.val() & (self.any_low.val() | self.any_high.val()).any();
        self.wants.next = self.room.val() & (self.later.val() | (!self.may_pass.val()));
        self.take.next = self.go_i.val() & self.may_i.val();
        self.moves.next = self.wants.val() & self.may_i.val();
        self.room_o.next = self.room.val();
        self.wants_o.next = self.wants.val();
        for i in 0..self._wraps {
            self.wraps_o[i].next = self.moves.val() & (!self.later.val());
        }
        for i in 0..self._uneven {
            self.due_p[i].clk_i.next = self.clk_i.val();
            self.due_p[i].rst_ni.next = self.rst_ni.val();
            self.due_u[i].clk_i.next = self.clk_i.val();
            self.due_u[i].rst_ni.next = self.rst_ni.val();
            self.due_c[i].clk_i.next = self.clk_i.val();
            self.due_c[i].rst_ni.next = self.rst_ni.val();
            self.room_1[i].clk_i.next = self.clk_i.val();
            self.room_1[i].rst_ni.next = self.rst_ni.val();
            self.room_2[i].clk_i.next = self.clk_i.val();
            self.room_2[i].rst_ni.next = self.rst_ni.val();
            comment!("It may let a turn pass again only after it has got a CTA.");
            self.due_u[i].d_i.next =
                self.moves.val() | (self.due_p[i].q_o.val() & (self.wants.val() | (!self.room.val())));
            self.due_c[i].d_i.next = self.due_u[i].q_o.val();
            self.due_p[i].d_i.next = self.due_c[i].q_o.val();
            self.room_1[i].d_i.next = self.room.val();
            self.room_2[i].d_i.next = self.room_1[i].q_o.val();
        }
        comment!("The first of these fours.");
        self.picks_low.next = self.zero.val();
        self.picks_high.next = self.zero.val();
        self.place.next = self.none.val();
        self.after.next = self.none.val();
        for g in 0..self._groups {
            self.picks_low.next = self.picks_low.val().replace_bit(
                g,
                self.take.val()
                    & ((self.later_low.val().get_bit(g)
                        & (!((self.later_low.val() | self.later_high.val()) & self.below[g].val()).any()))
                        | (self.around.val()
                            & self.any_low.val().get_bit(g)
                            & (!((self.any_low.val() | self.any_high.val()) & self.below[g].val()).any()))),
            );
            self.picks_high.next = self.picks_high.val().replace_bit(
                g,
                self.take.val()
                    & ((self.later_high.val().get_bit(g)
                        & (!((self.later_low.val() & self.upto[g].val())
                            | (self.later_high.val() & self.below[g].val()))
                        .any()))
                        | (self.around.val()
                            & self.any_high.val().get_bit(g)
                            & (!((self.any_low.val() & self.upto[g].val())
                                | (self.any_high.val() & self.below[g].val()))
                            .any()))),
            );
        }

        comment!("The lane, and where the pointer goes: to it.");
        for g in 0..self._groups {
            self.nibble.next = self.none.val();
            if self.picks_high.val().get_bit(g) {
                self.nibble.next = self.high[g].pick_o.val();
                self.after.next = self.after.val() | self.high[g].next_o.val();
            }
            self.place.next = self.place.val() | self.nibble.val();
            self.gnt[g].next = bit_cast::<8, 4>(self.nibble.val()) << self.four.val();
            self.nibble.next = self.none.val();
            if self.picks_low.val().get_bit(g) {
                self.nibble.next = self.low[g].pick_o.val();
                self.after.next = self.after.val() | self.low[g].next_o.val();
            }
            self.place.next = self.place.val() | self.nibble.val();
            self.gnt[g].next = self.gnt[g].val() | bit_cast::<8, 4>(self.nibble.val());
            self.gnt_o[g].next = self.gnt[g].val();
        }
        self.low_o.next = self.picks_low.val();
        self.high_o.next = self.picks_high.val();
        self.place_o.next = self.place.val();
        comment!("The pointers go round with the slices.");
        if self.moves.val() {
            self.low_u.d_i.next = self.picks_low.val();
            self.high_u.d_i.next = self.picks_high.val();
            self.after_u.d_i.next = self.after.val();
        } else {
            self.low_u.d_i.next = self.low_p.q_o.val();
            self.high_u.d_i.next = self.high_p.q_o.val();
            self.after_u.d_i.next = self.after_p.q_o.val();
        }
        self.low_c.d_i.next = self.low_u.q_o.val();
        self.high_c.d_i.next = self.high_u.q_o.val();
        self.after_c.d_i.next = self.after_u.q_o.val();
        self.low_p.d_i.next = self.low_c.q_o.val();
        self.high_p.d_i.next = self.high_c.q_o.val();
        self.after_p.d_i.next = self.after_c.q_o.val();
        comment!("Which fours come after the pointer, known a cycle before its slice is at P.");
        self.behind_low.next = self.zero.val();
        self.behind_high.next = self.zero.val();
        for g in 0..self._groups {
            self.behind_low.next = self
                .behind_low
                .val()
                .replace_bit(g, ((self.low_c.q_o.val() | self.high_c.q_o.val()) & self.below[g].val()).any());
            self.behind_high.next = self.behind_high.val().replace_bit(
                g,
                ((self.low_c.q_o.val() & self.upto[g].val()) | (self.high_c.q_o.val() & self.below[g].val()))
                    .any(),
            );
        }
        self.past_low.d_i.next = self.behind_low.val();
        self.past_high.d_i.next = self.behind_high.val();
        for h in 0..self._holds {
            if !self.run_i[h].val() {
                self.low_p.d_i.next = self.low_p.q_o.val();
                self.low_u.d_i.next = self.low_u.q_o.val();
                self.low_c.d_i.next = self.low_c.q_o.val();
                self.high_p.d_i.next = self.high_p.q_o.val();
                self.high_u.d_i.next = self.high_u.q_o.val();
                self.high_c.d_i.next = self.high_c.q_o.val();
                self.after_p.d_i.next = self.after_p.q_o.val();
                self.after_u.d_i.next = self.after_u.q_o.val();
                self.after_c.d_i.next = self.after_c.q_o.val();
                self.past_low.d_i.next = self.past_low.q_o.val();
                self.past_high.d_i.next = self.past_high.q_o.val();
            }
            for i in 0..self._uneven {
                if !self.run_i[h].val() {
                    self.due_p[i].d_i.next = self.due_p[i].q_o.val();
                    self.due_u[i].d_i.next = self.due_u[i].q_o.val();
                    self.due_c[i].d_i.next = self.due_c[i].q_o.val();
                }
            }
        }
    }
}

//! Round robin over the lanes of one slice at a time, with a pointer for each slice.

use crate::info::{Info, PortDoc};
use crate::params::SmParams;
use crate::parts::{Register, bank, number, numbers};
use crate::sm_occupancy::groups;
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("go_i", "", "a lane is to be picked"),
    ("req_i", "", "lanes that may be"),
    ("gnt_o", "", "one-hot or zero: the lane"),
    ("any_o", "", "there is one"),
];

const QUAD_PORTS: &[PortDoc] = &[
    ("req_i", "", "lanes that may be picked"),
    ("from_i", "", "the lane that was picked last is in these four, or in an earlier four"),
    ("past_i", "", "it is in an earlier four"),
    ("after_i", "", "of its four, the lanes after it"),
    ("any_o", "", "there is one"),
    ("any_masked_o", "", "there is one after the lane that was picked last"),
    ("low_i", "", "the first is picked"),
    ("masked_i", "", "the first after the one picked last is picked"),
    ("gnt_o", "", "one-hot: the lane"),
    ("next_o", "", "the lanes after it"),
];

/// Four lanes: the first, and the first after the lane that was picked last.
#[derive(LogicBlock)]
pub struct LaneQuad {
    info: Info,
    /// Lanes that may be picked.
    pub req_i: Signal<In, Bits<4>>,
    /// The lane that was picked last is in these four, or in an earlier four.
    pub from_i: Signal<In, Bit>,
    /// It is in an earlier four.
    pub past_i: Signal<In, Bit>,
    /// Of its four, the lanes after it.
    pub after_i: Signal<In, Bits<4>>,
    /// There is one.
    pub any_o: Signal<Out, Bit>,
    /// There is one after the lane that was picked last.
    pub any_masked_o: Signal<Out, Bit>,
    /// The first is picked.
    pub low_i: Signal<In, Bit>,
    /// The first after the one picked last is picked.
    pub masked_i: Signal<In, Bit>,
    /// The lane.
    pub gnt_o: Signal<Out, Bits<4>>,
    /// The lanes after it.
    pub next_o: Signal<Out, Bits<4>>,
    masked: Signal<Local, Bits<4>>,
    earlier: Signal<Local, Bits<4>>,
    earlier_masked: Signal<Local, Bits<4>>,
    gnt: Signal<Local, Bits<4>>,
    rest: Signal<Local, Bits<4>>,
    zero: Constant<Bits<4>>,
}

impl Default for LaneQuad {
    fn default() -> Self {
        Self {
            info: Info::module("lane_quad", "", QUAD_PORTS),
            req_i: Signal::default(),
            from_i: Signal::default(),
            past_i: Signal::default(),
            after_i: Signal::default(),
            any_o: Signal::default(),
            any_masked_o: Signal::default(),
            low_i: Signal::default(),
            masked_i: Signal::default(),
            gnt_o: Signal::default(),
            next_o: Signal::default(),
            masked: Signal::default(),
            earlier: Signal::default(),
            earlier_masked: Signal::default(),
            gnt: Signal::default(),
            rest: Signal::default(),
            zero: number(0),
        }
    }
}

impl Logic for LaneQuad {
    #[hdl_gen]
    fn update(&mut self) {
        self.masked.next = self.zero.val();
        if self.past_i.val() {
            self.masked.next = self.req_i.val();
        }
        if self.from_i.val() {
            self.masked.next = self.masked.val() | (self.req_i.val() & self.after_i.val());
        }
        self.any_o.next = self.req_i.val().any();
        self.any_masked_o.next = self.masked.val().any();
        self.earlier.next = self
            .zero
            .val()
            .replace_bit(1, self.req_i.val().get_bit(0))
            .replace_bit(2, self.req_i.val().get_bit(0) | self.req_i.val().get_bit(1))
            .replace_bit(
                3,
                self.req_i.val().get_bit(0) | self.req_i.val().get_bit(1) | self.req_i.val().get_bit(2),
            );
        self.earlier_masked.next = self
            .zero
            .val()
            .replace_bit(1, self.masked.val().get_bit(0))
            .replace_bit(2, self.masked.val().get_bit(0) | self.masked.val().get_bit(1))
            .replace_bit(
                3,
                self.masked.val().get_bit(0) | self.masked.val().get_bit(1) | self.masked.val().get_bit(2),
            );
        self.gnt.next = self.zero.val();
        self.rest.next = self.zero.val();
        if self.low_i.val() {
            self.gnt.next = self.req_i.val() & (!self.earlier.val());
            self.rest.next = self.earlier.val();
        }
        if self.masked_i.val() {
            self.gnt.next = self.gnt.val() | (self.masked.val() & (!self.earlier_masked.val()));
            self.rest.next = self.rest.val() | self.earlier_masked.val();
        }
        self.gnt_o.next = self.gnt.val();
        self.next_o.next = self.rest.val();
    }
}

/// The picker, in two levels: fours of lanes, and the lanes of one four. The pointers go round with the slices: the one for the slice at
/// stage P is at hand. A pointer is the lane that was picked last, as the fours from its own on, and the lanes after it in its own;
/// all zero is as good as the last lane.
///
/// The fours are in two vectors: bit g of the low one is lanes 8g to 8g + 3, of the high one lanes 8g + 4 to 8g + 7.
#[derive(LogicBlock)]
pub struct LanePicker {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A lane is to be picked.
    pub go_i: Signal<In, Bit>,
    /// Lanes that may be.
    pub req_i: Vec<Signal<In, Bits<8>>>,
    /// The lane.
    pub gnt_o: Vec<Signal<Out, Bits<8>>>,
    /// There is one.
    pub any_o: Signal<Out, Bit>,
    low: Vec<LaneQuad>,
    high: Vec<LaneQuad>,
    /// Pointers, for the slices at P and at the two stages behind.
    low_p: Register<Bits<8>>,
    low_u: Register<Bits<8>>,
    low_c: Register<Bits<8>>,
    high_p: Register<Bits<8>>,
    high_u: Register<Bits<8>>,
    high_c: Register<Bits<8>>,
    after_p: Register<Bits<4>>,
    after_u: Register<Bits<4>>,
    after_c: Register<Bits<4>>,
    past_low: Signal<Local, Bits<8>>,
    eight: Signal<Local, Bits<8>>,
    nibble: Signal<Local, Bits<4>>,
    gnt: Vec<Signal<Local, Bits<8>>>,
    any_low: Signal<Local, Bits<8>>,
    any_high: Signal<Local, Bits<8>>,
    masked_low: Signal<Local, Bits<8>>,
    masked_high: Signal<Local, Bits<8>>,
    before_low: Signal<Local, Bits<8>>,
    before_high: Signal<Local, Bits<8>>,
    before_masked_low: Signal<Local, Bits<8>>,
    before_masked_high: Signal<Local, Bits<8>>,
    picks_masked: Signal<Local, Bit>,
    picks_low: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    after: Signal<Local, Bits<4>>,
    zero: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
    four: Constant<Bits<8>>,
    none: Constant<Bits<4>>,
    /// Groups that there are.
    fours: Constant<Bits<8>>,
    /// Groups before each, and up to each.
    below: Vec<Constant<Bits<8>>>,
    upto: Vec<Constant<Bits<8>>>,
    _groups: usize,
}

impl LanePicker {
    /// For the lanes of this SM array.
    pub fn new(sms: SmParams) -> Self {
        let groups = groups(sms);
        Self {
            info: Info::module("lane_picker", "", PORTS).param("GROUPS", "n", groups),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            go_i: Signal::default(),
            req_i: bank(groups),
            gnt_o: bank(groups),
            any_o: Signal::default(),
            low: bank(groups),
            high: bank(groups),
            low_p: Register::default(),
            low_u: Register::default(),
            low_c: Register::default(),
            high_p: Register::default(),
            high_u: Register::default(),
            high_c: Register::default(),
            after_p: Register::default(),
            after_u: Register::default(),
            after_c: Register::default(),
            past_low: Signal::default(),
            eight: Signal::default(),
            nibble: Signal::default(),
            gnt: bank(groups),
            any_low: Signal::default(),
            any_high: Signal::default(),
            masked_low: Signal::default(),
            masked_high: Signal::default(),
            before_low: Signal::default(),
            before_high: Signal::default(),
            before_masked_low: Signal::default(),
            before_masked_high: Signal::default(),
            picks_masked: Signal::default(),
            picks_low: Signal::default(),
            moves: Signal::default(),
            after: Signal::default(),
            zero: number(0),
            one: number(1),
            four: number(4),
            none: number(0),
            fours: number((1 << groups) - 1),
            below: numbers(groups, |g| (1 << g) - 1),
            upto: numbers(groups, |g| (2 << g) - 1),
            _groups: groups,
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

        // Each four by itself.
        self.past_low.next = self.high_p.q_o.val() << self.one.val();
        self.any_low.next = self.zero.val();
        self.any_high.next = self.zero.val();
        self.masked_low.next = self.zero.val();
        self.masked_high.next = self.zero.val();
        for g in 0..self._groups {
            self.eight.next = self.req_i[g].val();
            self.low[g].req_i.next = bit_cast::<4, 8>(self.eight.val());
            self.high[g].req_i.next = bit_cast::<4, 8>(self.eight.val() >> self.four.val());
            self.low[g].from_i.next = self.low_p.q_o.val().get_bit(g);
            self.low[g].past_i.next = self.past_low.val().get_bit(g);
            self.low[g].after_i.next = self.after_p.q_o.val();
            self.high[g].from_i.next = self.high_p.q_o.val().get_bit(g);
            self.high[g].past_i.next = self.low_p.q_o.val().get_bit(g);
            self.high[g].after_i.next = self.after_p.q_o.val();
            self.any_low.next = self.any_low.val().replace_bit(g, self.low[g].any_o.val());
            self.any_high.next = self.any_high.val().replace_bit(g, self.high[g].any_o.val());
            self.masked_low.next = self.masked_low.val().replace_bit(g, self.low[g].any_masked_o.val());
            self.masked_high.next = self.masked_high.val().replace_bit(g, self.high[g].any_masked_o.val());
        }

        // Which four: the first that has one after the pointer, or else the first that has one.
        self.picks_masked.next = self.go_i.val() & (self.masked_low.val() | self.masked_high.val()).any();
        self.picks_low.next = self.go_i.val() & (!(self.masked_low.val() | self.masked_high.val()).any());
        self.moves.next = self.go_i.val() & (self.any_low.val() | self.any_high.val()).any();
        self.any_o.next = self.moves.val();
        self.before_low.next = self.zero.val();
        self.before_high.next = self.zero.val();
        self.before_masked_low.next = self.zero.val();
        self.before_masked_high.next = self.zero.val();
        for g in 0..self._groups {
            self.before_low.next = self
                .before_low
                .val()
                .replace_bit(g, ((self.any_low.val() | self.any_high.val()) & self.below[g].val()).any());
            self.before_high.next = self.before_high.val().replace_bit(
                g,
                ((self.any_low.val() & self.upto[g].val()) | (self.any_high.val() & self.below[g].val()))
                    .any(),
            );
            self.before_masked_low.next = self.before_masked_low.val().replace_bit(
                g,
                ((self.masked_low.val() | self.masked_high.val()) & self.below[g].val()).any(),
            );
            self.before_masked_high.next = self.before_masked_high.val().replace_bit(
                g,
                ((self.masked_low.val() & self.upto[g].val())
                    | (self.masked_high.val() & self.below[g].val()))
                .any(),
            );
        }

        // The lane, and where the pointer goes: to it.
        self.after.next = self.none.val();
        for g in 0..self._groups {
            self.low[g].low_i.next =
                self.picks_low.val() & (self.any_low.val().get_bit(g) & (!self.before_low.val().get_bit(g)));
            self.high[g].low_i.next = self.picks_low.val()
                & (self.any_high.val().get_bit(g) & (!self.before_high.val().get_bit(g)));
            self.low[g].masked_i.next = self.go_i.val()
                & (self.masked_low.val().get_bit(g) & (!self.before_masked_low.val().get_bit(g)));
            self.high[g].masked_i.next = self.go_i.val()
                & (self.masked_high.val().get_bit(g) & (!self.before_masked_high.val().get_bit(g)));
            self.after.next = self.after.val() | self.low[g].next_o.val() | self.high[g].next_o.val();
            self.nibble.next = self.high[g].gnt_o.val();
            self.gnt[g].next = bit_cast::<8, 4>(self.nibble.val()) << self.four.val();
            self.nibble.next = self.low[g].gnt_o.val();
            self.gnt[g].next = self.gnt[g].val() | bit_cast::<8, 4>(self.nibble.val());
            self.gnt_o[g].next = self.gnt[g].val();
        }
        self.low_u.d_i.next = self.low_p.q_o.val();
        self.high_u.d_i.next = self.high_p.q_o.val();
        self.after_u.d_i.next = self.after_p.q_o.val();
        if self.moves.val() {
            if self.picks_masked.val() {
                self.low_u.d_i.next =
                    (self.before_masked_low.val() | self.masked_low.val()) & self.fours.val();
                self.high_u.d_i.next =
                    (self.before_masked_high.val() | self.masked_high.val()) & self.fours.val();
            } else {
                self.low_u.d_i.next = (self.before_low.val() | self.any_low.val()) & self.fours.val();
                self.high_u.d_i.next = (self.before_high.val() | self.any_high.val()) & self.fours.val();
            }
            self.after_u.d_i.next = self.after.val();
        }
        self.low_c.d_i.next = self.low_u.q_o.val();
        self.high_c.d_i.next = self.high_u.q_o.val();
        self.after_c.d_i.next = self.after_u.q_o.val();
        self.low_p.d_i.next = self.low_c.q_o.val();
        self.high_p.d_i.next = self.high_c.q_o.val();
        self.after_p.d_i.next = self.after_c.q_o.val();
    }
}

//! How many CTAs of a kernel are left, and the number of the next one.

use crate::info::Info;
use crate::parts::{PayloadRegister, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The CTAs of one kernel, which go one at a time.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaCount {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel comes into this entry at the end of this cycle.
    pub load_i: Signal<In, Bit>,
    /// CTAs of its grid, at least 1.
    pub grid_i: Signal<In, Bits<32>>,
    /// A CTA goes to its SM at the end of this cycle.
    pub place_i: Signal<In, Bit>,
    /// Exactly one CTA is left.
    pub last_o: Signal<Out, Bit>,
    /// Number of the next CTA in the grid, from 0.
    pub index_o: Signal<Out, Bits<32>>,
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

impl Default for CtaCount {
    fn default() -> Self {
        Self {
            info: Info::module("cta_count", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            grid_i: Signal::default(),
            place_i: Signal::default(),
            last_o: Signal::default(),
            index_o: Signal::default(),
            left_low: PayloadRegister::default(),
            left_high: PayloadRegister::default(),
            left_borrows: PayloadRegister::default(),
            index_low: PayloadRegister::default(),
            index_high: PayloadRegister::default(),
            index_carries: PayloadRegister::default(),
            last: PayloadRegister::default(),
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

impl Logic for CtaCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.left_low.clk_i.next = self.clk_i.val();
        self.left_high.clk_i.next = self.clk_i.val();
        self.left_borrows.clk_i.next = self.clk_i.val();
        self.index_low.clk_i.next = self.clk_i.val();
        self.index_high.clk_i.next = self.clk_i.val();
        self.index_carries.clk_i.next = self.clk_i.val();
        self.last.clk_i.next = self.clk_i.val();
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
        }
        self.last_o.next = self.last.q_o.val();
        self.index_o.next = bit_cast::<32, 16>(self.index_low.q_o.val())
            | (bit_cast::<32, 16>(self.index_high.q_o.val()) << self.half.val());
    }
}

/// The CTAs of one kernel, of which up to four go at a time.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtasCount {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel comes into this entry at the end of this cycle.
    pub load_i: Signal<In, Bit>,
    /// CTAs of its grid, at least 1.
    pub grid_i: Signal<In, Bits<32>>,
    /// CTAs go to their SMs at the end of this cycle.
    pub place_i: Signal<In, Bit>,
    /// How many; not more than are left.
    pub number_i: Signal<In, Bits<3>>,
    /// They are all that are left.
    pub last_o: Signal<Out, Bit>,
    /// Bit r: more than r CTAs are left.
    pub more_o: Signal<Out, Bits<4>>,
    /// Number of the next CTA in the grid, from 0.
    pub index_o: Signal<Out, Bits<32>>,
    /// CTAs that have not gone to their SMs.
    left: PayloadRegister<Bits<32>>,
    /// Number of the next CTA in the grid, from 0.
    index: PayloadRegister<Bits<32>>,
    /// At least four CTAs are left.
    many: Signal<Local, Bit>,
    zero: Constant<Bits<32>>,
    two: Constant<Bits<32>>,
    none: Constant<Bits<4>>,
}

impl Default for CtasCount {
    fn default() -> Self {
        Self {
            info: Info::module("ctas_count", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            grid_i: Signal::default(),
            place_i: Signal::default(),
            number_i: Signal::default(),
            last_o: Signal::default(),
            more_o: Signal::default(),
            index_o: Signal::default(),
            left: PayloadRegister::default(),
            index: PayloadRegister::default(),
            many: Signal::default(),
            zero: number(0),
            two: number(2),
            none: number(0),
        }
    }
}

impl Logic for CtasCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.left.clk_i.next = self.clk_i.val();
        self.index.clk_i.next = self.clk_i.val();
        comment!("A kernel comes, with all its CTAs left; or some of its CTAs go.");
        if self.load_i.val() {
            self.left.d_i.next = self.grid_i.val();
            self.index.d_i.next = self.zero.val();
        } else {
            if self.place_i.val() {
                self.left.d_i.next = self.left.q_o.val() - bit_cast::<32, 3>(self.number_i.val());
                self.index.d_i.next = self.index.q_o.val() + bit_cast::<32, 3>(self.number_i.val());
            } else {
                self.left.d_i.next = self.left.q_o.val();
                self.index.d_i.next = self.index.q_o.val();
            }
        }
        self.last_o.next = self.left.q_o.val() == bit_cast::<32, 3>(self.number_i.val());
        comment!("An entry with a kernel has at least one.");
        self.many.next = (self.left.q_o.val() >> self.two.val()).any();
        self.more_o.next = self
            .none
            .val()
            .replace_bit(0, true)
            .replace_bit(1, self.many.val() | self.left.q_o.val().get_bit(1))
            .replace_bit(
                2,
                self.many.val() | (self.left.q_o.val().get_bit(1) & self.left.q_o.val().get_bit(0)),
            )
            .replace_bit(3, self.many.val());
        self.index_o.next = self.index.q_o.val();
    }
}

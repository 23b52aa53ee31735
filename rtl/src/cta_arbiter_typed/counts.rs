//! How many CTAs of a kernel are left, and the number of the next one.

use crate::info::Info;
use crate::parts::{CountDown, PayloadRegister, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The CTAs of one kernel, of which up to four go at a time.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaCount {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel comes into this entry at the end of this cycle.
    pub load_i: Signal<In, Bit>,
    /// CTAs of its grid, at least 1.
    pub grid_i: Signal<In, Bits<32>>,
    /// CTAs go to their SMs at the end of this cycle.
    pub place_i: Signal<In, Bit>,
    /// How many: 1 to 4, and not more than are left.
    pub number_i: Signal<In, Bits<3>>,
    /// They are all that are left.
    pub last_o: Signal<Out, Bit>,
    /// Bit r: more than r CTAs are left.
    pub more_o: Signal<Out, Bits<4>>,
    /// Number of the next CTA in the grid, from 0.
    pub index_o: Signal<Out, Bits<32>>,
    /// CTAs that have not gone to their SMs.
    left: CountDown,
    /// Number of the next CTA in the grid, from 0: its lowest bits.
    index_low: PayloadRegister<Bits<3>>,
    /// Number of the next CTA: its other bits.
    index_high: PayloadRegister<Bits<29>>,
    /// `left` modulo 8: all of it where fewer than eight are left.
    few: Signal<Local, Bits<3>>,
    /// At least four CTAs are left.
    many: Signal<Local, Bit>,
    /// `index_low` after those that go, with its carry.
    index_sum: Signal<Local, Bits<4>>,
    none: Constant<Bits<3>>,
    no_index: Constant<Bits<29>>,
    one: Constant<Bits<29>>,
    eights: Constant<Bits<32>>,
    first: Constant<Bits<4>>,
}

impl Default for CtaCount {
    fn default() -> Self {
        Self {
            info: Info::module("cta_count", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            grid_i: Signal::default(),
            place_i: Signal::default(),
            number_i: Signal::default(),
            last_o: Signal::default(),
            more_o: Signal::default(),
            index_o: Signal::default(),
            left: CountDown::default(),
            index_low: PayloadRegister::default(),
            index_high: PayloadRegister::default(),
            few: Signal::default(),
            many: Signal::default(),
            index_sum: Signal::default(),
            none: number(0),
            no_index: number(0),
            one: number(1),
            eights: number(3),
            first: number(1),
        }
    }
}

impl Logic for CtaCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.left.clk_i.next = self.clk_i.val();
        self.index_low.clk_i.next = self.clk_i.val();
        self.index_high.clk_i.next = self.clk_i.val();
        comment!("A kernel comes, with all its CTAs left; or some of its CTAs go.");
        self.left.load_i.next = self.load_i.val();
        self.left.value_i.next = self.grid_i.val();
        self.index_sum.next =
            bit_cast::<4, 3>(self.index_low.q_o.val()) + bit_cast::<4, 3>(self.number_i.val());
        self.left.by_i.next = self.none.val();
        self.index_low.d_i.next = self.index_low.q_o.val();
        self.index_high.d_i.next = self.index_high.q_o.val();
        if self.load_i.val() {
            self.index_low.d_i.next = self.none.val();
            self.index_high.d_i.next = self.no_index.val();
        } else {
            if self.place_i.val() {
                self.left.by_i.next = self.number_i.val();
                self.index_low.d_i.next = bit_cast::<3, 4>(self.index_sum.val());
                if self.index_sum.val().get_bit(3) {
                    self.index_high.d_i.next = self.index_high.q_o.val() + self.one.val();
                }
            }
        }
        self.few.next = self.left.low_o.val();
        self.last_o.next = self.left.few_o.val() & (self.few.val() == self.number_i.val());
        comment!("An entry with a kernel has at least one.");
        self.many.next = (!self.left.few_o.val()) | self.few.val().get_bit(2);
        self.more_o.next = self
            .first
            .val()
            .replace_bit(1, self.many.val() | self.few.val().get_bit(1))
            .replace_bit(2, self.many.val() | (self.few.val().get_bit(1) & self.few.val().get_bit(0)))
            .replace_bit(3, self.many.val());
        self.index_o.next = bit_cast::<32, 3>(self.index_low.q_o.val())
            | (bit_cast::<32, 29>(self.index_high.q_o.val()) << self.eights.val());
    }
}

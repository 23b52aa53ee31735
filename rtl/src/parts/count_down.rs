//! Counts down by several at a time, with a short way from what is taken to what is left.

use super::{PayloadRegister, number};
use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// A count of 32 bits from which up to four are taken in a cycle.
///
/// How many are taken is known late in a cycle, so it meets three bits only. The rest gives an eight a cycle later: after that the lowest
/// bits hold at least four, so that the next cycle cannot ask for another. A count that is loaded comes late, too: whether it is less than eight
/// is looked at in the cycle after, in which nothing may be taken.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `clk_i` | in | 1 | rising edge |
/// | `load_i`, `value_i` | in | 1, 32 | the count becomes `value_i`; `by_i` is not looked at |
/// | `by_i` | in | 3 | 0 to 4: so many are taken at the end of this cycle; where they are too many, all that are left; 0 in the cycle after `load_i` |
/// | `few_o`, `low_o` | out | 1, 3 | fewer than eight are left, 0 in the cycle after `load_i`; the count modulo 8: both from registers |
/// | `over_o` | out | 1 | `by_i` is more than are left; combinational |
/// | `value_o` | out | 32 | the count as it was loaded, until something is taken: from registers |
///
/// It has no reset: until it is loaded it is of no meaning.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CountDown {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// The count becomes `value_i`.
    pub load_i: Signal<In, Bit>,
    /// The new count.
    pub value_i: Signal<In, Bits<32>>,
    /// So many are taken; at most 4.
    pub by_i: Signal<In, Bits<3>>,
    /// Fewer than eight are left.
    pub few_o: Signal<Out, Bit>,
    /// The count modulo 8.
    pub low_o: Signal<Out, Bits<3>>,
    /// More are taken than are left.
    pub over_o: Signal<Out, Bit>,
    /// The count as it was loaded, until something is taken.
    pub value_o: Signal<Out, Bits<32>>,
    /// Bits 2 to 0 of the count.
    low: PayloadRegister<Bits<3>>,
    /// Bits 15 to 3, without what `mid_owes`.
    mid: PayloadRegister<Bits<13>>,
    /// Bits 31 to 16, without what `high_owes`.
    high: PayloadRegister<Bits<16>>,
    /// `low` took an eight in the cycle before: one is to be taken from `mid`.
    mid_owes: PayloadRegister<Bit>,
    /// And there was none: one is to be taken from `high`, too.
    high_owes: PayloadRegister<Bit>,
    /// Fewer than eight are left.
    few: PayloadRegister<Bit>,
    /// The count was loaded in the cycle before.
    fresh: PayloadRegister<Bit>,
    /// `low` without what is taken; negative where it takes an eight.
    rest: Signal<Local, Bits<4>>,
    /// `low` takes an eight.
    borrows: Signal<Local, Bit>,
    /// One eight is left, beside `low`; asked for only where nothing is owed.
    one_eight: Signal<Local, Bit>,
    none: Constant<Bits<3>>,
    one: Constant<Bits<13>>,
    one_high: Constant<Bits<16>>,
    eights: Constant<Bits<32>>,
    half: Constant<Bits<32>>,
}

impl Default for CountDown {
    fn default() -> Self {
        Self {
            info: Info::module("count_down", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            load_i: Signal::default(),
            value_i: Signal::default(),
            by_i: Signal::default(),
            few_o: Signal::default(),
            low_o: Signal::default(),
            over_o: Signal::default(),
            value_o: Signal::default(),
            low: PayloadRegister::default(),
            mid: PayloadRegister::default(),
            high: PayloadRegister::default(),
            mid_owes: PayloadRegister::default(),
            high_owes: PayloadRegister::default(),
            few: PayloadRegister::default(),
            fresh: PayloadRegister::default(),
            rest: Signal::default(),
            borrows: Signal::default(),
            one_eight: Signal::default(),
            none: number(0),
            one: number(1),
            one_high: number(1),
            eights: number(3),
            half: number(16),
        }
    }
}

impl Logic for CountDown {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.clk_i.next = self.clk_i.val();
        self.mid.clk_i.next = self.clk_i.val();
        self.high.clk_i.next = self.clk_i.val();
        self.mid_owes.clk_i.next = self.clk_i.val();
        self.high_owes.clk_i.next = self.clk_i.val();
        self.few.clk_i.next = self.clk_i.val();
        self.fresh.clk_i.next = self.clk_i.val();
        self.fresh.d_i.next = self.load_i.val();
        self.rest.next = bit_cast::<4, 3>(self.low.q_o.val()) - bit_cast::<4, 3>(self.by_i.val());
        self.borrows.next = self.rest.val().get_bit(3);
        self.one_eight.next = (self.mid.q_o.val() == self.one.val()) & (!self.high.q_o.val().any());
        if self.load_i.val() {
            self.low.d_i.next = bit_cast::<3, 32>(self.value_i.val());
            self.mid.d_i.next = bit_cast::<13, 32>(self.value_i.val() >> self.eights.val());
            self.high.d_i.next = bit_cast::<16, 32>(self.value_i.val() >> self.half.val());
            self.mid_owes.d_i.next = false;
            self.high_owes.d_i.next = false;
            self.few.d_i.next = false;
        } else {
            comment!("Where nothing is left to borrow from, none is left at all.");
            if self.borrows.val() & self.few.q_o.val() {
                self.low.d_i.next = self.none.val();
            } else {
                self.low.d_i.next = bit_cast::<3, 4>(self.rest.val());
            }
            self.mid.d_i.next = self.mid.q_o.val();
            if self.mid_owes.q_o.val() {
                self.mid.d_i.next = self.mid.q_o.val() - self.one.val();
            }
            self.high.d_i.next = self.high.q_o.val();
            if self.high_owes.q_o.val() {
                self.high.d_i.next = self.high.q_o.val() - self.one_high.val();
            }
            self.mid_owes.d_i.next = self.borrows.val() & (!self.few.q_o.val());
            self.high_owes.d_i.next =
                self.borrows.val() & (!self.few.q_o.val()) & (!self.mid.q_o.val().any());
            if self.fresh.q_o.val() {
                self.few.d_i.next = (!self.mid.q_o.val().any()) & (!self.high.q_o.val().any());
            } else {
                self.few.d_i.next = self.few.q_o.val() | (self.borrows.val() & self.one_eight.val());
            }
        }
        self.few_o.next = self.few.q_o.val();
        self.low_o.next = self.low.q_o.val();
        self.over_o.next = self.borrows.val() & self.few.q_o.val();
        self.value_o.next = bit_cast::<32, 3>(self.low.q_o.val())
            | (bit_cast::<32, 13>(self.mid.q_o.val()) << self.eights.val())
            | (bit_cast::<32, 16>(self.high.q_o.val()) << self.half.val());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::RustHdlSim;
    use crate::flat_ports;
    use crate::model::CycleModel;

    flat_ports! { impl [] for CountDown: load_i value_i by_i few_o low_o over_o value_o }

    /// Over every boundary between its parts, at every pace, and beyond zero.
    #[test]
    fn counts_like_one_number() {
        let mut counter = RustHdlSim::new(CountDown::default());
        let mut out = [0; 4];
        let mut state = 1_u32;
        for start in
            [0, 1, 7, 8, 9, 15, 16, 17, 40, 0xFFFF, 0x1_0000, 0x1_0003, 0x2_0004, 0x1234_0002, u32::MAX]
        {
            for pace in 0..6 {
                counter.cycle(&[1, start, 3], &mut out).unwrap();
                counter.cycle(&[0, !start, 0], &mut out).unwrap();
                assert_eq!(out[..3], [0, start % 8, 0], "{start}");
                let mut left = start;
                for cycle in 0..60 {
                    state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
                    let by = if pace < 5 { pace } else { (state >> 16) % 5 };
                    counter.cycle(&[0, state, by], &mut out).unwrap();
                    let expected = [u32::from(left < 8), left % 8, u32::from(by > left)];
                    assert_eq!(out[..3], expected, "{start} at pace {pace}, cycle {cycle}");
                    assert!(left != start || out[3] == start, "{start} at pace {pace}, cycle {cycle}");
                    left = left.saturating_sub(by);
                }
            }
        }
    }
}

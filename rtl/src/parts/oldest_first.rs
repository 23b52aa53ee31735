//! Oldest-first picker: a triangular matrix of "who came before whom".

use super::{PayloadRegister, bank, number, numbers};
use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Picks the oldest of the requesting slots, and the oldest of the occupied ones.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `clk_i` | in | 1 | rising edge |
/// | `push_i` | in | `N` | one-hot or zero: this slot is the newest from the next cycle on |
/// | `req_i`, `gnt_o` | in, out | `N` | one-hot: the oldest of the requests, or zero |
/// | `occ_i`, `head_o` | in, out | `N` | the same for a second set of requests |
///
/// All answers are combinational. Requests may only name slots that were pushed since power-up: the order of others is
/// undefined, and there is no reset because none is needed. `N (N - 1) / 2` flip-flops: bit j of row i (j < i) is set where
/// slot j is older than slot i; the other half is its complement.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct OldestFirst<const N: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// One-hot: this slot becomes the newest.
    pub push_i: Signal<In, Bits<N>>,
    /// Requests.
    pub req_i: Signal<In, Bits<N>>,
    /// One-hot: the oldest request, or zero.
    pub gnt_o: Signal<Out, Bits<N>>,
    /// Occupied slots.
    pub occ_i: Signal<In, Bits<N>>,
    /// One-hot: the oldest occupied slot, or zero.
    pub head_o: Signal<Out, Bits<N>>,
    /// Row i: slots below i that came before slot i.
    row: Vec<PayloadRegister<Bits<N>>>,
    /// Column i: slots above i that came after slot i.
    column: Vec<Signal<Local, Bits<N>>>,
    /// Of each slot, all slots that came before it.
    older: Vec<Signal<Local, Bits<N>>>,
    /// `gnt_o`, gathered over the slots.
    gnt: Signal<Local, Bits<N>>,
    /// `head_o`, gathered over the slots.
    head: Signal<Local, Bits<N>>,
    zero: Constant<Bits<N>>,
    below: Vec<Constant<Bits<N>>>,
    above: Vec<Constant<Bits<N>>>,
}

impl<const N: usize> Default for OldestFirst<N> {
    fn default() -> Self {
        let all = u128::MAX >> (128 - N);
        Self {
            info: Info::module("oldest_first", "").fields::<Self>(&[]).param("SLOTS", "n", N),
            clk_i: Signal::default(),
            push_i: Signal::default(),
            req_i: Signal::default(),
            gnt_o: Signal::default(),
            occ_i: Signal::default(),
            head_o: Signal::default(),
            row: bank(N),
            column: bank(N),
            older: bank(N),
            gnt: Signal::default(),
            head: Signal::default(),
            zero: number(0),
            below: numbers(N, |i| (1 << i) - 1),
            above: numbers(N, |i| all & !((1 << i) - 1) & !(1 << i)),
        }
    }
}

impl<const N: usize> Logic for OldestFirst<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.gnt.next = self.zero.val();
        self.head.next = self.zero.val();
        for i in 0..N {
            self.row[i].clk_i.next = self.clk_i.val();
            comment!("The newest slot has all others before it, and is before none.");
            if self.push_i.val().get_bit(i) {
                self.row[i].d_i.next = self.below[i].val();
            } else {
                self.row[i].d_i.next = self.row[i].q_o.val() & (!self.push_i.val()) & self.below[i].val();
            }
            comment!("Of two slots the higher one has the bit; the lower one reads it from the column.");
            self.column[i].next = self.zero.val();
            for j in 0..N {
                self.column[i].next = self.column[i].val().replace_bit(j, self.row[j].q_o.val().get_bit(i));
            }
            self.older[i].next = (self.row[i].q_o.val() & self.below[i].val())
                | ((!self.column[i].val()) & self.above[i].val());
            comment!("A request is granted where no older one is there.");
            self.gnt.next = self.gnt.val().replace_bit(
                i,
                self.req_i.val().get_bit(i) & (!(self.older[i].val() & self.req_i.val()).any()),
            );
            self.head.next = self.head.val().replace_bit(
                i,
                self.occ_i.val().get_bit(i) & (!(self.older[i].val() & self.occ_i.val()).any()),
            );
        }
        self.gnt_o.next = self.gnt.val();
        self.head_o.next = self.head.val();
    }
}

crate::flat_ports!(impl [const N: usize] for OldestFirst<N>: clk_i push_i req_i gnt_o occ_i head_o);

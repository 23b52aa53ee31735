//! Which of several CTAs of a kernel goes to which bank of SMs.

use crate::info::Info;
use crate::parts::{Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Gives the next CTAs of a grid to the banks that have room, beginning with the bank after the one that got the last CTA before, as far as
/// there are CTAs: so a kernel of few CTAs does not always meet the same SMs.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct BankTurns {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Banks that have room.
    pub wants_i: Signal<In, Bits<4>>,
    /// Bit r: more than r CTAs are left.
    pub more_i: Signal<In, Bits<4>>,
    /// Banks that get a CTA.
    pub gnt_o: Signal<Out, Bits<4>>,
    /// Of each bank, how many of these CTAs come before its own in the grid.
    pub rank_o: Vec<Signal<Out, Bits<2>>>,
    /// How many banks get one.
    pub count_o: Signal<Out, Bits<3>>,
    /// The bank that is first, one-hot, with bit 0 inverted: reset makes it bank 0.
    first: Register<Bits<4>>,
    /// The bank that is first, one-hot.
    at: Signal<Local, Bits<4>>,
    /// Of each bank, those that come before it.
    ahead: Vec<Signal<Local, Bits<4>>>,
    /// Of each bank, those that come after it.
    behind: Vec<Signal<Local, Bits<4>>>,
    /// Of each bank, those before it that have room.
    before: Vec<Signal<Local, Bits<4>>>,
    /// `rank_o`, to be read here.
    rank: Vec<Signal<Local, Bits<2>>>,
    /// `gnt_o`, to be read here.
    gnt: Signal<Local, Bits<4>>,
    /// The bank after the last that gets a CTA, one-hot, or none.
    next: Signal<Local, Bits<4>>,
    none: Constant<Bits<4>>,
    one: Constant<Bits<4>>,
    no_rank: Constant<Bits<2>>,
    no_count: Constant<Bits<3>>,
    /// Where bank f is first, the banks before bank p and those after it: number 4 f + p.
    is_ahead: Vec<Constant<Bits<4>>>,
    is_behind: Vec<Constant<Bits<4>>>,
    /// Of each bank, the next.
    after: Vec<Constant<Bits<4>>>,
    _banks: usize,
}

impl BankTurns {
    /// For two or four banks.
    pub fn new(banks: usize) -> Self {
        // Place of a bank where bank f is first.
        let place = |f: usize, p: usize| (p + banks - f % banks) % banks;
        let those = |f: usize, is: &dyn Fn(usize) -> bool| {
            (0..banks).filter(|other| is(place(f, *other))).fold(0, |bits, other| bits | 1 << other)
        };
        Self {
            info: Info::module("bank_turns", "").fields::<Self>(&[]).param("BANKS", "n", banks),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            wants_i: Signal::default(),
            more_i: Signal::default(),
            gnt_o: Signal::default(),
            rank_o: bank(banks),
            count_o: Signal::default(),
            first: Register::default(),
            at: Signal::default(),
            ahead: bank(banks),
            behind: bank(banks),
            before: bank(banks),
            rank: bank(banks),
            gnt: Signal::default(),
            next: Signal::default(),
            none: number(0),
            one: number(1),
            no_rank: number(0),
            no_count: number(0),
            is_ahead: numbers(16, |i| those(i / 4, &|other| other < place(i / 4, i % 4))),
            is_behind: numbers(16, |i| those(i / 4, &|other| other > place(i / 4, i % 4))),
            after: numbers(banks, |p| 1 << ((p + 1) % banks)),
            _banks: banks,
        }
    }
}

impl Logic for BankTurns {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.clk_i.next = self.clk_i.val();
        self.first.rst_ni.next = self.rst_ni.val();
        self.at.next = self.first.q_o.val() ^ self.one.val();
        self.gnt.next = self.none.val();
        for p in 0..self._banks {
            comment!("Before and after it, by which bank is first.");
            self.ahead[p].next = self.none.val();
            self.behind[p].next = self.none.val();
            for f in 0..self._banks {
                if self.at.val().get_bit(f) {
                    self.ahead[p].next = self.ahead[p].val() | self.is_ahead[4 * f + p].val();
                    self.behind[p].next = self.behind[p].val() | self.is_behind[4 * f + p].val();
                }
            }
            comment!("How many of those before it have room: at most three.");
            self.before[p].next = self.wants_i.val() & self.ahead[p].val();
            self.rank[p].next = self
                .no_rank
                .val()
                .replace_bit(
                    0,
                    self.before[p].val().get_bit(0)
                        ^ self.before[p].val().get_bit(1)
                        ^ self.before[p].val().get_bit(2)
                        ^ self.before[p].val().get_bit(3),
                )
                .replace_bit(
                    1,
                    (self.before[p].val().get_bit(0) & self.before[p].val().get_bit(1))
                        | (self.before[p].val().get_bit(2) & self.before[p].val().get_bit(3))
                        | ((self.before[p].val().get_bit(0) | self.before[p].val().get_bit(1))
                            & (self.before[p].val().get_bit(2) | self.before[p].val().get_bit(3))),
                );
            self.gnt.next = self.gnt.val().replace_bit(
                p,
                self.wants_i.val().get_bit(p) & self.more_i.val().get_bit(self.rank[p].val().index()),
            );
            self.rank_o[p].next = self.rank[p].val();
        }
        self.gnt_o.next = self.gnt.val();
        self.count_o.next = self
            .no_count
            .val()
            .replace_bit(
                0,
                self.gnt.val().get_bit(0)
                    ^ self.gnt.val().get_bit(1)
                    ^ self.gnt.val().get_bit(2)
                    ^ self.gnt.val().get_bit(3),
            )
            .replace_bit(
                1,
                ((self.gnt.val().get_bit(0) & self.gnt.val().get_bit(1))
                    | (self.gnt.val().get_bit(2) & self.gnt.val().get_bit(3))
                    | ((self.gnt.val().get_bit(0) | self.gnt.val().get_bit(1))
                        & (self.gnt.val().get_bit(2) | self.gnt.val().get_bit(3))))
                    & (!self.gnt.val().all()),
            )
            .replace_bit(2, self.gnt.val().all());
        comment!("The bank after the last that gets a CTA is first next time.");
        self.next.next = self.none.val();
        for p in 0..self._banks {
            if self.gnt.val().get_bit(p) & (!(self.gnt.val() & self.behind[p].val()).any()) {
                self.next.next = self.next.val() | self.after[p].val();
            }
        }
        if self.gnt.val().any() {
            self.first.d_i.next = self.next.val() ^ self.one.val();
        } else {
            self.first.d_i.next = self.first.q_o.val();
        }
    }
}

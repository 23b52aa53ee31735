//! From the picked lane to the number of its SM.

use crate::info::Info;
use crate::params::{SLICES, SmParams};
use crate::parts::{number, numbers};
use crate::sm_occupancy::groups;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The number of the SM in one lane of the slice at stage P. In lane 4 n + p, slice j has SM 4 (3 n + (j - p) mod 3) + p.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SmNumber {
    info: Info,
    /// One-hot: the slice at stage P.
    pub at_p_i: Signal<In, Bits<3>>,
    /// Of each group: the lane is among the first four.
    pub low_i: Signal<In, Bits<8>>,
    /// Of each group: the lane is among the last four.
    pub high_i: Signal<In, Bits<8>>,
    /// One-hot or zero: its place in its four.
    pub place_i: Signal<In, Bits<4>>,
    /// The SM; zero where no lane is picked.
    pub sm_o: Signal<Out, Bits<8>>,
    /// SM number / 4 in the picked four, with remainder 0 mod 3; zero where none is picked.
    four_0: Signal<Local, Bits<6>>,
    /// The same with remainder 1.
    four_1: Signal<Local, Bits<6>>,
    /// The same with remainder 2.
    four_2: Signal<Local, Bits<6>>,
    /// SM number / 4 of the slice at P, in the first and the last lane of the picked four.
    sm_0: Signal<Local, Bits<6>>,
    /// The same in the second lane.
    sm_1: Signal<Local, Bits<6>>,
    /// The same in the third lane.
    sm_2: Signal<Local, Bits<6>>,
    /// SM number / 4 of the picked lane, in the slice at P; zero where none is picked.
    sm_four: Signal<Local, Bits<6>>,
    by_four: Constant<Bits<8>>,
    no_four: Constant<Bits<6>>,
    no_sm: Constant<Bits<8>>,
    low_0: Vec<Constant<Bits<6>>>,
    low_1: Vec<Constant<Bits<6>>>,
    low_2: Vec<Constant<Bits<6>>>,
    high_0: Vec<Constant<Bits<6>>>,
    high_1: Vec<Constant<Bits<6>>>,
    high_2: Vec<Constant<Bits<6>>>,
    _groups: usize,
}

impl SmNumber {
    /// Of this SM array.
    pub fn new(sms: SmParams) -> Self {
        let groups = groups(sms);
        // Of SMs by four there are three to each four lanes.
        let four =
            |half: usize, which: usize| numbers(groups, |g| ((SLICES * (2 * g + half) + which) % 64) as u128);
        Self {
            info: Info::module("sm_number", "").fields::<Self>(&[]).param("GROUPS", "n", groups),
            at_p_i: Signal::default(),
            low_i: Signal::default(),
            high_i: Signal::default(),
            place_i: Signal::default(),
            sm_o: Signal::default(),
            four_0: Signal::default(),
            four_1: Signal::default(),
            four_2: Signal::default(),
            sm_0: Signal::default(),
            sm_1: Signal::default(),
            sm_2: Signal::default(),
            sm_four: Signal::default(),
            by_four: number(2),
            no_four: number(0),
            no_sm: number(0),
            low_0: four(0, 0),
            low_1: four(0, 1),
            low_2: four(0, 2),
            high_0: four(1, 0),
            high_1: four(1, 1),
            high_2: four(1, 2),
            _groups: groups,
        }
    }
}

impl Logic for SmNumber {
    #[hdl_gen]
    fn update(&mut self) {
        self.four_0.next = self.no_four.val();
        self.four_1.next = self.no_four.val();
        self.four_2.next = self.no_four.val();
        for g in 0..self._groups {
            if self.low_i.val().get_bit(g) {
                self.four_0.next = self.four_0.val() | self.low_0[g].val();
                self.four_1.next = self.four_1.val() | self.low_1[g].val();
                self.four_2.next = self.four_2.val() | self.low_2[g].val();
            }
            if self.high_i.val().get_bit(g) {
                self.four_0.next = self.four_0.val() | self.high_0[g].val();
                self.four_1.next = self.four_1.val() | self.high_1[g].val();
                self.four_2.next = self.four_2.val() | self.high_2[g].val();
            }
        }
        self.sm_0.next = self.no_four.val();
        self.sm_1.next = self.no_four.val();
        self.sm_2.next = self.no_four.val();
        if self.at_p_i.val().get_bit(0) {
            self.sm_0.next = self.four_0.val();
            self.sm_1.next = self.four_2.val();
            self.sm_2.next = self.four_1.val();
        }
        if self.at_p_i.val().get_bit(1) {
            self.sm_0.next = self.sm_0.val() | self.four_1.val();
            self.sm_1.next = self.sm_1.val() | self.four_0.val();
            self.sm_2.next = self.sm_2.val() | self.four_2.val();
        }
        if self.at_p_i.val().get_bit(2) {
            self.sm_0.next = self.sm_0.val() | self.four_2.val();
            self.sm_1.next = self.sm_1.val() | self.four_1.val();
            self.sm_2.next = self.sm_2.val() | self.four_0.val();
        }
        self.sm_four.next = self.no_four.val();
        if self.place_i.val().get_bit(0) | self.place_i.val().get_bit(3) {
            self.sm_four.next = self.sm_0.val();
        }
        if self.place_i.val().get_bit(1) {
            self.sm_four.next = self.sm_four.val() | self.sm_1.val();
        }
        if self.place_i.val().get_bit(2) {
            self.sm_four.next = self.sm_four.val() | self.sm_2.val();
        }
        self.sm_o.next = (bit_cast::<8, 6>(self.sm_four.val()) << self.by_four.val())
            | self
                .no_sm
                .val()
                .replace_bit(0, self.place_i.val().get_bit(1) | self.place_i.val().get_bit(3))
                .replace_bit(1, self.place_i.val().get_bit(2) | self.place_i.val().get_bit(3));
    }
}

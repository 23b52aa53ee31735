//! Round robin over the lanes of one slice at a time, with a pointer for each slice.

use crate::info::{Info, PortDoc};
use crate::params::SmParams;
use crate::parts::{FindFirst, Register, bank, number};
use crate::sm_occupancy::groups;
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("go_i", "", "a lane is to be picked"),
    ("req_i", "", "lanes that may be"),
    ("gnt_o", "", "one-hot or zero: the lane"),
    ("any_o", "", "there is one"),
];

const GRANT_PORTS: &[PortDoc] = &[
    ("req_i", "", "lanes that may be picked"),
    ("mask_i", "", "lanes from the pointer on"),
    ("any_o", "", "there is one"),
    ("any_masked_o", "", "there is one from the pointer on"),
    ("first_o", "", "one-hot: the first"),
    ("first_masked_o", "", "one-hot: the first from the pointer on"),
];

/// The first of eight lanes, with and without a mask.
#[derive(LogicBlock)]
pub struct LaneGrant {
    info: Info,
    /// Lanes that may be picked.
    pub req_i: Signal<In, Bits<8>>,
    /// Lanes from the pointer on.
    pub mask_i: Signal<In, Bits<8>>,
    /// There is one.
    pub any_o: Signal<Out, Bit>,
    /// There is one from the pointer on.
    pub any_masked_o: Signal<Out, Bit>,
    /// The first.
    pub first_o: Signal<Out, Bits<8>>,
    /// The first from the pointer on.
    pub first_masked_o: Signal<Out, Bits<8>>,
    first: FindFirst<8>,
    first_masked: FindFirst<8>,
    masked: Signal<Local, Bits<8>>,
}

impl Default for LaneGrant {
    fn default() -> Self {
        Self {
            info: Info::module("lane_grant", "", GRANT_PORTS),
            req_i: Signal::default(),
            mask_i: Signal::default(),
            any_o: Signal::default(),
            any_masked_o: Signal::default(),
            first_o: Signal::default(),
            first_masked_o: Signal::default(),
            first: FindFirst::default(),
            first_masked: FindFirst::default(),
            masked: Signal::default(),
        }
    }
}

impl Logic for LaneGrant {
    #[hdl_gen]
    fn update(&mut self) {
        self.masked.next = self.req_i.val() & self.mask_i.val();
        self.first.req_i.next = self.req_i.val();
        self.first_masked.req_i.next = self.masked.val();
        self.any_o.next = self.req_i.val().any();
        self.any_masked_o.next = self.masked.val().any();
        self.first_o.next = self.first.gnt_o.val();
        self.first_masked_o.next = self.first_masked.gnt_o.val();
    }
}

/// The picker. The pointers go round with the slices: the one for the slice at stage P is at hand.
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
    group: Vec<LaneGrant>,
    /// Lanes from the pointer on, for the slices at P and at the two stages behind.
    mask_p: Vec<Register<Bits<8>>>,
    mask_u: Vec<Register<Bits<8>>>,
    mask_c: Vec<Register<Bits<8>>>,
    any: Signal<Local, Bit>,
    any_masked: Signal<Local, Bit>,
    lower: Signal<Local, Bit>,
    lower_masked: Signal<Local, Bit>,
    earlier: Vec<Signal<Local, Bit>>,
    gnt: Vec<Signal<Local, Bits<8>>>,
    zero: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
    all: Constant<Bits<8>>,
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
            group: bank(groups),
            mask_p: bank(groups),
            mask_u: bank(groups),
            mask_c: bank(groups),
            any: Signal::default(),
            any_masked: Signal::default(),
            lower: Signal::default(),
            lower_masked: Signal::default(),
            earlier: bank(groups),
            gnt: bank(groups),
            zero: number(0),
            one: number(1),
            all: number(255),
            _groups: groups,
        }
    }
}

impl Logic for LanePicker {
    #[hdl_gen]
    fn update(&mut self) {
        self.lower.next = false;
        self.lower_masked.next = false;
        self.any.next = false;
        self.any_masked.next = false;
        for g in 0..self._groups {
            self.group[g].req_i.next = self.req_i[g].val();
            self.group[g].mask_i.next = self.mask_p[g].q_o.val();
            self.any.next = self.any.val() | self.group[g].any_o.val();
            self.any_masked.next = self.any_masked.val() | self.group[g].any_masked_o.val();
        }
        self.any_o.next = self.go_i.val() & self.any.val();
        for g in 0..self._groups {
            self.mask_p[g].clk_i.next = self.clk_i.val();
            self.mask_p[g].rst_ni.next = self.rst_ni.val();
            self.mask_u[g].clk_i.next = self.clk_i.val();
            self.mask_u[g].rst_ni.next = self.rst_ni.val();
            self.mask_c[g].clk_i.next = self.clk_i.val();
            self.mask_c[g].rst_ni.next = self.rst_ni.val();

            self.gnt[g].next = self.zero.val();
            if self.go_i.val() {
                if self.any_masked.val() {
                    self.earlier[g].next = self.lower_masked.val();
                    if !self.lower_masked.val() {
                        self.gnt[g].next = self.group[g].first_masked_o.val();
                    }
                } else {
                    self.earlier[g].next = self.lower.val();
                    if !self.lower.val() {
                        self.gnt[g].next = self.group[g].first_o.val();
                    }
                }
            } else {
                self.earlier[g].next = false;
            }
            self.lower.next = self.lower.val() | self.group[g].any_o.val();
            self.lower_masked.next = self.lower_masked.val() | self.group[g].any_masked_o.val();
            self.gnt_o[g].next = self.gnt[g].val();

            // The pointer goes to the lane after the one that was picked.
            self.mask_u[g].d_i.next = self.mask_p[g].q_o.val();
            if self.go_i.val() & self.any.val() {
                if self.earlier[g].val() {
                    self.mask_u[g].d_i.next = self.all.val();
                } else {
                    self.mask_u[g].d_i.next = !((self.gnt[g].val() - self.one.val()) | self.gnt[g].val());
                }
            }
            self.mask_c[g].d_i.next = self.mask_u[g].q_o.val();
            self.mask_p[g].d_i.next = self.mask_c[g].q_o.val();
        }
    }
}

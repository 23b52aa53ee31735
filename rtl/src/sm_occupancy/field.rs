//! One resource of the three SMs of a lane.

use crate::info::{Info, PortDoc};
use crate::parts::{PayloadRegister, bank, number};
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("init_i", "", "the SM at stage U becomes empty"),
    ("need_i", "", "what a requester's CTA needs, low bits"),
    ("sum_i", "", "what both requesters' CTAs need, low bits"),
    ("fits_o", "", "the SM at stage C has that much"),
    ("sum_fits_o", "", "and that"),
    ("place_i", "", "the SM at stage U is charged for a requester's CTA"),
    ("charge_i", "", "how much that is"),
    ("charge_sum_i", "", "how much it is for both"),
    ("free_i", "", "what the SM at stage U gets back, negated; where nothing is placed"),
    ("free_valid_i", "", "it gets that back"),
    ("left_o", "", "what the SM at stage U has left"),
];

/// Free units modulo 2^W of the SM at each stage. An empty SM may have 2^W, which reads 0: the lane knows which SMs are empty.
#[derive(LogicBlock)]
pub struct SmField<const W: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// The SM at U becomes empty.
    pub init_i: Signal<In, Bit>,
    /// What a requester's CTA needs.
    pub need_i: Vec<Signal<In, Bits<W>>>,
    /// What both need.
    pub sum_i: Vec<Signal<In, Bits<W>>>,
    /// The SM at C has that much.
    pub fits_o: Vec<Signal<Out, Bit>>,
    /// And that.
    pub sum_fits_o: Vec<Signal<Out, Bit>>,
    /// The SM at U gets a requester's CTA.
    pub place_i: Vec<Signal<In, Bit>>,
    /// What it costs.
    pub charge_i: Vec<Signal<In, Bits<W>>>,
    /// What both cost.
    pub charge_sum_i: Vec<Signal<In, Bits<W>>>,
    /// The SM at U gets something back.
    pub free_valid_i: Signal<In, Bit>,
    /// How much, negated.
    pub free_i: Signal<In, Bits<W>>,
    /// What the SM at U has.
    pub left_o: Signal<Out, Bits<W>>,
    at_c: PayloadRegister<Bits<W>>,
    at_p: PayloadRegister<Bits<W>>,
    at_u: PayloadRegister<Bits<W>>,
    less: Signal<Local, Bits<W>>,
    zero: Constant<Bits<W>>,
    limit: Constant<Bits<W>>,
    _requesters: usize,
    _sums: usize,
}

impl<const W: usize> SmField<W> {
    /// A resource of which an empty SM has `limit`, at most 2^W.
    pub fn new(requesters: usize, limit: u16) -> Self {
        debug_assert!(usize::from(limit) <= 1 << W);
        let sums = requesters - 1;
        Self {
            info: Info::module("sm_field", "", PORTS)
                .param("WIDTH", "w", W)
                .param("LIMIT", "l", limit.into())
                .param("REQUESTERS", "q", requesters),
            clk_i: Signal::default(),
            init_i: Signal::default(),
            need_i: bank(requesters),
            sum_i: bank(sums),
            fits_o: bank(requesters),
            sum_fits_o: bank(sums),
            place_i: bank(requesters),
            charge_i: bank(requesters),
            charge_sum_i: bank(sums),
            free_valid_i: Signal::default(),
            free_i: Signal::default(),
            left_o: Signal::default(),
            at_c: PayloadRegister::default(),
            at_p: PayloadRegister::default(),
            at_u: PayloadRegister::default(),
            less: Signal::default(),
            zero: number(0),
            limit: number(limit.into()),
            _requesters: requesters,
            _sums: sums,
        }
    }
}

impl<const W: usize> Logic for SmField<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.at_c.clk_i.next = self.clk_i.val();
        self.at_p.clk_i.next = self.clk_i.val();
        self.at_u.clk_i.next = self.clk_i.val();

        self.less.next = self.zero.val();
        if self.free_valid_i.val() {
            self.less.next = self.free_i.val();
        }
        for r in 0..self._requesters {
            self.fits_o[r].next = self.at_c.q_o.val() >= self.need_i[r].val();
            if self.place_i[r].val() {
                self.less.next = self.charge_i[r].val();
            }
        }
        for s in 0..self._sums {
            self.sum_fits_o[s].next = self.at_c.q_o.val() >= self.sum_i[s].val();
            if self.place_i[s].val() & self.place_i[s + 1].val() {
                self.less.next = self.charge_sum_i[s].val();
            }
        }
        self.at_p.d_i.next = self.at_c.q_o.val();
        self.at_u.d_i.next = self.at_p.q_o.val();
        self.left_o.next = self.at_u.q_o.val();
        if self.init_i.val() {
            self.at_c.d_i.next = self.limit.val();
        } else {
            self.at_c.d_i.next = self.at_u.q_o.val() - self.less.val();
        }
    }
}

//! One resource of the three SMs of a lane.

use crate::info::Info;
use crate::parts::{PayloadRegister, bank, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Free units modulo 2^W of the SM at each stage. An empty SM may have 2^W, which reads 0: the lane knows which SMs are empty.
///
/// Needs come complemented, so that a comparison and a charge are both an addition, and no lane has inverters of its own. Carries
/// ripple, in two halves side by side where there are many bits: that is small, and quick enough.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SmField<const W: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// HOLDS: the SMs go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// The SM at stage C becomes empty.
    pub init_i: Signal<In, Bit>,
    /// What a requester's CTA needs, low bits, complemented.
    pub need_i: Vec<Signal<In, Bits<W>>>,
    /// What both requesters' CTAs need, low bits, complemented.
    pub sum_i: Vec<Signal<In, Bits<W>>>,
    /// The SM at stage C has that much.
    pub fits_o: Vec<Signal<Out, Bit>>,
    /// And that.
    pub sum_fits_o: Vec<Signal<Out, Bit>>,
    /// The SM at stage U is charged.
    pub charged_i: Signal<In, Bit>,
    /// For a requester's CTA alone.
    pub alone_i: Vec<Signal<In, Bit>>,
    /// How much that is, complemented.
    pub charge_i: Vec<Signal<In, Bits<W>>>,
    /// For both.
    pub both_i: Vec<Signal<In, Bit>>,
    /// How much that is, complemented.
    pub charge_sum_i: Vec<Signal<In, Bits<W>>>,
    /// The SM at stage U gets something back; where it is not charged.
    pub free_valid_i: Signal<In, Bit>,
    /// How much.
    pub free_i: Signal<In, Bits<W>>,
    /// What the SM at stage U has left.
    pub left_o: Signal<Out, Bits<W>>,
    /// Free units of the SM at stage C, low bits.
    at_c: PayloadRegister<Bits<W>>,
    /// The same at stage P.
    at_p: PayloadRegister<Bits<W>>,
    /// The same at stage U.
    at_u: PayloadRegister<Bits<W>>,
    /// Stage C: where a bit of what the SM has and of a need make a carry.
    makes: Signal<Local, Bits<W>>,
    /// Where they pass one on.
    passes: Signal<Local, Bits<W>>,
    /// Carry from bit to bit, and then out of the low half.
    carry: Signal<Local, Bit>,
    /// Carry out of the high half without one into it.
    made: Signal<Local, Bit>,
    /// What is added to the SM at U: what it gets back, or the complement of a charge.
    other: Signal<Local, Bits<W>>,
    /// Stage U: where a bit of what the SM has and of that make a carry.
    sum_makes: Signal<Local, Bits<W>>,
    /// Where they pass one on.
    sum_passes: Signal<Local, Bits<W>>,
    /// Carries into the bits of the sum.
    carries: Signal<Local, Bits<W>>,
    /// Carry from bit to bit, and then out of the low half.
    sum_carry: Signal<Local, Bit>,
    /// Carry out of the high half, as far as it was looked at, without one into it.
    sum_made: Signal<Local, Bit>,
    /// A carry into the high half would pass through what was looked at.
    sum_through: Signal<Local, Bit>,
    zero: Constant<Bits<W>>,
    low: Constant<Bits<W>>,
    limit: Constant<Bits<W>>,
    _requesters: usize,
    _sums: usize,
    _low: usize,
    _holds: usize,
}

impl<const W: usize> SmField<W> {
    /// A resource of which an empty SM has `limit`, at most 2^W.
    pub fn new(requesters: usize, limit: u16, holds: usize) -> Self {
        debug_assert!(usize::from(limit) <= 1 << W);
        let sums = requesters - 1;
        let low = if W < 6 { W } else { W / 2 };
        Self {
            info: Info::module("sm_field", "")
                .fields::<Self>(&[])
                .param("WIDTH", "w", W)
                .param("LIMIT", "l", limit.into())
                .param("REQUESTERS", "q", requesters)
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            run_i: bank(holds),
            init_i: Signal::default(),
            need_i: bank(requesters),
            sum_i: bank(sums),
            fits_o: bank(requesters),
            sum_fits_o: bank(sums),
            charged_i: Signal::default(),
            alone_i: bank(requesters),
            charge_i: bank(requesters),
            both_i: bank(sums),
            charge_sum_i: bank(sums),
            free_valid_i: Signal::default(),
            free_i: Signal::default(),
            left_o: Signal::default(),
            at_c: PayloadRegister::default(),
            at_p: PayloadRegister::default(),
            at_u: PayloadRegister::default(),
            makes: Signal::default(),
            passes: Signal::default(),
            carry: Signal::default(),
            made: Signal::default(),
            other: Signal::default(),
            sum_makes: Signal::default(),
            sum_passes: Signal::default(),
            carries: Signal::default(),
            sum_carry: Signal::default(),
            sum_made: Signal::default(),
            sum_through: Signal::default(),
            zero: number(0),
            low: number((1 << low) - 1),
            limit: number(limit.into()),
            _requesters: requesters,
            _sums: sums,
            _low: low,
            _holds: holds,
        }
    }
}

impl<const W: usize> Logic for SmField<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.at_c.clk_i.next = self.clk_i.val();
        self.at_p.clk_i.next = self.clk_i.val();
        self.at_u.clk_i.next = self.clk_i.val();

        comment!("Stage C: x >= n where x + ~n + 1 has a carry.");
        for r in 0..self._requesters {
            self.makes.next = self.at_c.q_o.val() & self.need_i[r].val();
            self.passes.next = self.at_c.q_o.val() | self.need_i[r].val();
            self.carry.next = true;
            for i in 0..self._low {
                self.carry.next =
                    self.makes.val().get_bit(i) | (self.passes.val().get_bit(i) & self.carry.val());
            }
            self.made.next = false;
            for i in self._low..W {
                self.made.next =
                    self.makes.val().get_bit(i) | (self.passes.val().get_bit(i) & self.made.val());
            }
            self.fits_o[r].next =
                self.made.val() | ((self.passes.val() | self.low.val()).all() & self.carry.val());
        }
        for s in 0..self._sums {
            comment!("The same with what both requesters need.");
            self.makes.next = self.at_c.q_o.val() & self.sum_i[s].val();
            self.passes.next = self.at_c.q_o.val() | self.sum_i[s].val();
            self.carry.next = true;
            for i in 0..self._low {
                self.carry.next =
                    self.makes.val().get_bit(i) | (self.passes.val().get_bit(i) & self.carry.val());
            }
            self.made.next = false;
            for i in self._low..W {
                self.made.next =
                    self.makes.val().get_bit(i) | (self.passes.val().get_bit(i) & self.made.val());
            }
            self.sum_fits_o[s].next =
                self.made.val() | ((self.passes.val() | self.low.val()).all() & self.carry.val());
        }

        comment!("Stage U: charge, or give back.");
        self.other.next = self.zero.val();
        if self.free_valid_i.val() {
            self.other.next = self.free_i.val();
        }
        for r in 0..self._requesters {
            if self.alone_i[r].val() {
                self.other.next = self.other.val() | self.charge_i[r].val();
            }
        }
        for s in 0..self._sums {
            if self.both_i[s].val() {
                self.other.next = self.other.val() | self.charge_sum_i[s].val();
            }
        }
        comment!("The sum at stage U. A charge adds the complement, and has a carry in.");
        self.sum_makes.next = self.at_u.q_o.val() & self.other.val();
        self.sum_passes.next = self.at_u.q_o.val() | self.other.val();
        self.carries.next = self.zero.val();
        self.sum_carry.next = self.charged_i.val();
        for i in 0..self._low {
            self.carries.next = self.carries.val().replace_bit(i, self.sum_carry.val());
            self.sum_carry.next =
                self.sum_makes.val().get_bit(i) | (self.sum_passes.val().get_bit(i) & self.sum_carry.val());
        }
        self.sum_made.next = false;
        self.sum_through.next = true;
        for i in self._low..W {
            self.carries.next = self
                .carries
                .val()
                .replace_bit(i, self.sum_made.val() | (self.sum_through.val() & self.sum_carry.val()));
            self.sum_made.next =
                self.sum_makes.val().get_bit(i) | (self.sum_passes.val().get_bit(i) & self.sum_made.val());
            self.sum_through.next = self.sum_through.val() & self.sum_passes.val().get_bit(i);
        }
        comment!("On the way from C to P an SM becomes empty: nothing else is done there.");
        if self.init_i.val() {
            self.at_p.d_i.next = self.limit.val();
        } else {
            self.at_p.d_i.next = self.at_c.q_o.val();
        }
        self.at_u.d_i.next = self.at_p.q_o.val();
        self.left_o.next = self.at_u.q_o.val();
        self.at_c.d_i.next = (self.at_u.q_o.val() ^ self.other.val()) ^ self.carries.val();
        for h in 0..self._holds {
            if !self.run_i[h].val() {
                self.at_c.d_i.next = self.at_c.q_o.val();
                self.at_p.d_i.next = self.at_p.q_o.val();
                self.at_u.d_i.next = self.at_u.q_o.val();
            }
        }
    }
}

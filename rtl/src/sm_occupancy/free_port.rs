//! One channel of ended CTAs: keeps each until its SM is at stage U.

use super::lane::groups;
use super::phase::SlicePhase;
use crate::info::Info;
use crate::params::{DONE_PORTS, SLICES, SmParams};
use crate::parts::{PayloadRegister, Register, bank, number, numbers, table};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Keeps one completion per slice.
///
/// All SMs of a port have the same number mod 4, which is the port's: that part of the number is not looked at.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct FreePort {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// HOLDS: a completion is kept.
    pub keeps_o: Vec<Signal<Out, Bit>>,
    /// A CTA has ended.
    pub valid_i: Signal<In, Bit>,
    /// It is taken: nothing is kept for its slice.
    pub ready_o: Signal<Out, Bit>,
    /// Its SM.
    pub sm_i: Signal<In, Bits<8>>,
    /// Warps it had.
    pub warps_i: Signal<In, Bits<7>>,
    /// Register units it had.
    pub regs_i: Signal<In, Bits<9>>,
    /// Shared memory units it had.
    pub smem_i: Signal<In, Bits<11>>,
    /// For each group, its low and its high lane: a CTA has ended on the SM at U.
    pub ended_o: Vec<Signal<Out, Bits<2>>>,
    /// Its warps.
    pub head_warps_o: Signal<Out, Bits<6>>,
    /// Its register units.
    pub head_regs_o: Signal<Out, Bits<8>>,
    /// Its shared memory units.
    pub head_smem_o: Signal<Out, Bits<11>>,
    /// The SM gets them back in this cycle.
    pub taken_i: Signal<In, Bit>,
    /// For the same lanes: one will be kept for the SM at C when it is at P.
    pub kept_o: Vec<Signal<Out, Bits<2>>>,
    /// Which slice is at which stage; its own, so that few gates hang on it.
    phase: SlicePhase,
    /// Bit j: a completion is kept for slice j.
    kept: Register<Bits<3>>,
    /// One is kept for the slice at U: known a cycle before, when the slice was at P.
    kept_u: Register<Bit>,
    /// Its lane / 4.
    quad_u: PayloadRegister<Bits<4>>,
    /// Of each slice, lane / 4 of the completion that is kept for it.
    quad: Vec<PayloadRegister<Bits<4>>>,
    /// Of each slice, warps that the CTA of that completion had, modulo 64.
    warps: Vec<PayloadRegister<Bits<6>>>,
    /// Of each slice, register units that it had, modulo 256.
    regs: Vec<PayloadRegister<Bits<8>>>,
    /// Of each slice, shared memory units that it had.
    smem: Vec<PayloadRegister<Bits<11>>>,
    /// SM number / 4 of the completion that comes.
    number: Signal<Local, Bits<6>>,
    /// High half of `number`, one-hot.
    upper: Signal<Local, Bits<8>>,
    /// Low half of `number`, one-hot.
    lower: Signal<Local, Bits<8>>,
    /// One-hot: what the high half and the port add to the SM number mod 3.
    upper_mod: Signal<Local, Bits<3>>,
    /// One-hot: what the low half adds.
    lower_mod: Signal<Local, Bits<3>>,
    /// One-hot: the slice of the SM whose completion comes.
    slice: Signal<Local, Bits<3>>,
    /// Of each group, that SM is in its low lane.
    is_low: Vec<Signal<Local, Bit>>,
    /// Of each group, that SM is in its high lane.
    is_high: Vec<Signal<Local, Bit>>,
    /// Lane / 4 of that SM.
    at_quad: Signal<Local, Bits<4>>,
    /// `ready_o`, to be read here.
    ready: Signal<Local, Bit>,
    /// Bit j: a completion for slice j is kept or comes.
    stored: Signal<Local, Bits<3>>,
    /// One was kept for the slice at C before this cycle.
    kept_c: Signal<Local, Bit>,
    /// One-hot: the slice at U, if a completion comes and none is kept for that slice; or none.
    fresh_u: Signal<Local, Bits<3>>,
    /// The same for the slice at C.
    fresh_c: Signal<Local, Bits<3>>,
    /// A completion comes for the slice at U, and none is kept for it.
    hits_u: Signal<Local, Bit>,
    /// A completion comes for the slice at C, and none is kept for it.
    hits_c: Signal<Local, Bit>,
    /// Lane / 4 of the completion that is kept for the slice at P, or else of the one that comes.
    quad_p: Signal<Local, Bits<4>>,
    /// Lane / 4 of the completion that is kept for the slice at C.
    quad_c: Signal<Local, Bits<4>>,
    /// `ended_o`, to be read here.
    ended: Vec<Signal<Local, Bits<2>>>,
    /// `kept_o`, to be read here.
    keeps: Vec<Signal<Local, Bits<2>>>,
    /// Warps of the completion that is kept for the slice at U.
    head_warps: Signal<Local, Bits<6>>,
    /// Its register units.
    head_regs: Signal<Local, Bits<8>>,
    /// Its shared memory units.
    head_smem: Signal<Local, Bits<11>>,
    by_four: Constant<Bits<8>>,
    none: Constant<Bits<3>>,
    no_lane: Constant<Bits<2>>,
    no_quad: Constant<Bits<4>>,
    no_warps: Constant<Bits<6>>,
    no_regs: Constant<Bits<8>>,
    no_smem: Constant<Bits<11>>,
    three: Constant<Bits<6>>,
    no_half: Constant<Bits<8>>,
    /// Each value of half a number.
    half: Vec<Constant<Bits<3>>>,
    /// The halves for which number + port is j mod 3, where the other half is 0 and, for the lower, the port.
    upper_is: Vec<Constant<Bits<8>>>,
    lower_is: Vec<Constant<Bits<8>>>,
    /// Of the SMs with number n by four: bit n of table k is bit k of its lane by four.
    lane_bit: [Constant<Bits<64>>; 4],
    /// Each group's lanes by four, and the numbers by four of their three SMs: halves of the first, and of those with another upper half.
    low: Vec<Constant<Bits<4>>>,
    low_upper: Vec<Constant<Bits<8>>>,
    low_lower: Vec<Constant<Bits<8>>>,
    low_next_upper: Vec<Constant<Bits<8>>>,
    low_next_lower: Vec<Constant<Bits<8>>>,
    high: Vec<Constant<Bits<4>>>,
    high_upper: Vec<Constant<Bits<8>>>,
    high_lower: Vec<Constant<Bits<8>>>,
    high_next_upper: Vec<Constant<Bits<8>>>,
    high_next_lower: Vec<Constant<Bits<8>>>,
    _groups: usize,
    _holds: usize,
}

impl FreePort {
    /// Port `port` of the array.
    pub fn new(params: SmParams, port: usize) -> Self {
        let (groups, holds) = (groups(params), usize::from(params.holds()));
        // The numbers by four of the lane's SMs are three in a row, whatever the port.
        let halves = |quad: usize, next: bool| {
            let numbers = (SLICES * quad..SLICES * (quad + 1)).map(|n| (n / 8, n % 8));
            let here = numbers.filter(move |(upper, _)| (*upper != SLICES * quad / 8) == next);
            here.fold((0, 0), |(upper, lower), half| (upper | 1 << half.0, lower | 1 << half.1))
        };
        let upper = |first: usize, next| numbers(groups, |g| halves(2 * g + first, next).0);
        let lower = |first: usize, next| numbers(groups, |g| halves(2 * g + first, next).1);
        let is = |weight: usize, more: usize| {
            numbers(SLICES, |j| {
                (0..8).fold(0, |all, i| all | u128::from((weight * i + more) % SLICES == j) << i)
            })
        };
        Self {
            info: Info::module("sm_free_port", "")
                .fields::<Self>(&[])
                .param("GROUPS", "g", groups)
                .param("PORT", "p", port)
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            keeps_o: bank(holds),
            valid_i: Signal::default(),
            ready_o: Signal::default(),
            sm_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            ended_o: bank(groups),
            head_warps_o: Signal::default(),
            head_regs_o: Signal::default(),
            head_smem_o: Signal::default(),
            taken_i: Signal::default(),
            kept_o: bank(groups),
            phase: SlicePhase::new(holds),
            kept: Register::default(),
            kept_u: Register::default(),
            quad_u: PayloadRegister::default(),
            quad: bank(3),
            warps: bank(3),
            regs: bank(3),
            smem: bank(3),
            number: Signal::default(),
            upper: Signal::default(),
            lower: Signal::default(),
            upper_mod: Signal::default(),
            lower_mod: Signal::default(),
            slice: Signal::default(),
            is_low: bank(groups),
            is_high: bank(groups),
            at_quad: Signal::default(),
            ready: Signal::default(),
            stored: Signal::default(),
            kept_c: Signal::default(),
            fresh_u: Signal::default(),
            fresh_c: Signal::default(),
            hits_u: Signal::default(),
            hits_c: Signal::default(),
            quad_p: Signal::default(),
            quad_c: Signal::default(),
            ended: bank(groups),
            keeps: bank(groups),
            head_warps: Signal::default(),
            head_regs: Signal::default(),
            head_smem: Signal::default(),
            by_four: number(2),
            none: number(0),
            no_lane: number(0),
            no_quad: number(0),
            no_warps: number(0),
            no_regs: number(0),
            no_smem: number(0),
            three: number(3),
            no_half: number(0),
            half: numbers(8, |i| i as u128),
            upper_is: is(8, port),
            lower_is: is(1, 0),
            lane_bit: std::array::from_fn(|k| {
                table(|n| (SmParams::lane(DONE_PORTS * n + port) / DONE_PORTS) >> k & 1 == 1)
            }),
            low: numbers(groups, |g| 2 * g as u128),
            low_upper: upper(0, false),
            low_lower: lower(0, false),
            low_next_upper: upper(0, true),
            low_next_lower: lower(0, true),
            high: numbers(groups, |g| 2 * g as u128 + 1),
            high_upper: upper(1, false),
            high_lower: lower(1, false),
            high_next_upper: upper(1, true),
            high_next_lower: lower(1, true),
            _groups: groups,
            _holds: holds,
        }
    }
}

impl Logic for FreePort {
    #[hdl_gen]
    fn update(&mut self) {
        self.kept.clk_i.next = self.clk_i.val();
        self.kept.rst_ni.next = self.rst_ni.val();
        self.kept_u.clk_i.next = self.clk_i.val();
        self.kept_u.rst_ni.next = self.rst_ni.val();
        self.quad_u.clk_i.next = self.clk_i.val();
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();

        comment!("SM number / 4 in halves, one-hot.");
        self.number.next = bit_cast::<6, 8>(self.sm_i.val() >> self.by_four.val());
        self.upper.next = self.no_half.val();
        self.lower.next = self.no_half.val();
        for i in 0..8 {
            self.upper.next = self.upper.val().replace_bit(
                i,
                bit_cast::<3, 6>(self.number.val() >> self.three.val()) == self.half[i].val(),
            );
            self.lower.next =
                self.lower.val().replace_bit(i, bit_cast::<3, 6>(self.number.val()) == self.half[i].val());
        }
        comment!("The slice is the sum of two remainders.");
        self.upper_mod.next = self.none.val();
        self.lower_mod.next = self.none.val();
        for j in 0..3 {
            self.upper_mod.next =
                self.upper_mod.val().replace_bit(j, (self.upper.val() & self.upper_is[j].val()).any());
            self.lower_mod.next =
                self.lower_mod.val().replace_bit(j, (self.lower.val() & self.lower_is[j].val()).any());
        }
        self.slice.next = self
            .none
            .val()
            .replace_bit(
                0,
                (self.lower_mod.val().get_bit(0) & self.upper_mod.val().get_bit(0))
                    | (self.lower_mod.val().get_bit(1) & self.upper_mod.val().get_bit(2))
                    | (self.lower_mod.val().get_bit(2) & self.upper_mod.val().get_bit(1)),
            )
            .replace_bit(
                1,
                (self.lower_mod.val().get_bit(0) & self.upper_mod.val().get_bit(1))
                    | (self.lower_mod.val().get_bit(1) & self.upper_mod.val().get_bit(0))
                    | (self.lower_mod.val().get_bit(2) & self.upper_mod.val().get_bit(2)),
            )
            .replace_bit(
                2,
                (self.lower_mod.val().get_bit(0) & self.upper_mod.val().get_bit(2))
                    | (self.lower_mod.val().get_bit(1) & self.upper_mod.val().get_bit(1))
                    | (self.lower_mod.val().get_bit(2) & self.upper_mod.val().get_bit(0)),
            );
        self.at_quad.next = self.no_quad.val();
        for k in 0..4 {
            self.at_quad.next =
                self.at_quad.val().replace_bit(k, self.lane_bit[k].val().get_bit(self.number.val().index()));
        }
        comment!("One completion is kept for each slice, until it is given back.");
        self.ready.next = !(self.kept.q_o.val() & self.slice.val()).any();
        self.ready_o.next = self.ready.val();
        self.stored.next = self.kept.q_o.val();
        if self.valid_i.val() {
            self.stored.next = self.kept.q_o.val() | self.slice.val();
        }
        self.kept.d_i.next = self.stored.val();
        if self.taken_i.val() {
            self.kept.d_i.next = self.stored.val() & (!self.phase.at_u_o.val());
        }

        comment!("What is kept goes first. What comes in this cycle is looked for among the SMs at U, and");
        comment!("among those at C, by its number.");
        self.kept_u.d_i.next = (self.stored.val() & self.phase.at_p_o.val()).any();
        self.kept_c.next = (self.kept.q_o.val() & self.phase.at_c_o.val()).any();
        self.fresh_u.next = self.none.val();
        self.fresh_c.next = self.none.val();
        if self.valid_i.val() {
            self.fresh_u.next = self.phase.at_u_o.val() & (!self.kept.q_o.val());
            self.fresh_c.next = self.phase.at_c_o.val() & (!self.kept.q_o.val());
        }
        for h in 0..self._holds {
            comment!(
                "While the slices stand still what comes is kept, also for the one at U, and meets it there"
            );
            comment!("in the next cycle. Nothing else is kept then.");
            self.phase.run_i[h].next = self.run_i[h].val();
            self.keeps_o[h].next = self.kept.q_o.val().any();
            if !self.run_i[h].val() {
                self.fresh_u.next = self.none.val();
                self.kept_u.d_i.next = (self.stored.val() & self.phase.at_u_o.val()).any();
            }
        }
        comment!("Remainders meet the phase one by one, as the number comes late.");
        self.hits_u.next = (self.lower_mod.val().get_bit(0)
            & ((self.upper_mod.val().get_bit(0) & self.fresh_u.val().get_bit(0))
                | (self.upper_mod.val().get_bit(1) & self.fresh_u.val().get_bit(1))
                | (self.upper_mod.val().get_bit(2) & self.fresh_u.val().get_bit(2))))
            | (self.lower_mod.val().get_bit(1)
                & ((self.upper_mod.val().get_bit(0) & self.fresh_u.val().get_bit(1))
                    | (self.upper_mod.val().get_bit(1) & self.fresh_u.val().get_bit(2))
                    | (self.upper_mod.val().get_bit(2) & self.fresh_u.val().get_bit(0))))
            | (self.lower_mod.val().get_bit(2)
                & ((self.upper_mod.val().get_bit(0) & self.fresh_u.val().get_bit(2))
                    | (self.upper_mod.val().get_bit(1) & self.fresh_u.val().get_bit(0))
                    | (self.upper_mod.val().get_bit(2) & self.fresh_u.val().get_bit(1))));
        self.hits_c.next = (self.lower_mod.val().get_bit(0)
            & ((self.upper_mod.val().get_bit(0) & self.fresh_c.val().get_bit(0))
                | (self.upper_mod.val().get_bit(1) & self.fresh_c.val().get_bit(1))
                | (self.upper_mod.val().get_bit(2) & self.fresh_c.val().get_bit(2))))
            | (self.lower_mod.val().get_bit(1)
                & ((self.upper_mod.val().get_bit(0) & self.fresh_c.val().get_bit(1))
                    | (self.upper_mod.val().get_bit(1) & self.fresh_c.val().get_bit(2))
                    | (self.upper_mod.val().get_bit(2) & self.fresh_c.val().get_bit(0))))
            | (self.lower_mod.val().get_bit(2)
                & ((self.upper_mod.val().get_bit(0) & self.fresh_c.val().get_bit(2))
                    | (self.upper_mod.val().get_bit(1) & self.fresh_c.val().get_bit(0))
                    | (self.upper_mod.val().get_bit(2) & self.fresh_c.val().get_bit(1))));
        self.quad_p.next = self.no_quad.val();
        self.quad_c.next = self.no_quad.val();
        self.head_warps.next = self.no_warps.val();
        self.head_regs.next = self.no_regs.val();
        self.head_smem.next = self.no_smem.val();
        for j in 0..3 {
            self.quad[j].clk_i.next = self.clk_i.val();
            self.warps[j].clk_i.next = self.clk_i.val();
            self.regs[j].clk_i.next = self.clk_i.val();
            self.smem[j].clk_i.next = self.clk_i.val();
            comment!("What is kept stays; else the place takes what comes for its slice.");
            if self.kept.q_o.val().get_bit(j) | (!self.slice.val().get_bit(j)) {
                self.quad[j].d_i.next = self.quad[j].q_o.val();
                self.warps[j].d_i.next = self.warps[j].q_o.val();
                self.regs[j].d_i.next = self.regs[j].q_o.val();
                self.smem[j].d_i.next = self.smem[j].q_o.val();
            } else {
                self.quad[j].d_i.next = self.at_quad.val();
                self.warps[j].d_i.next = bit_cast::<6, 7>(self.warps_i.val());
                self.regs[j].d_i.next = bit_cast::<8, 9>(self.regs_i.val());
                self.smem[j].d_i.next = self.smem_i.val();
            }
            if self.phase.at_p_o.val().get_bit(j) {
                if self.kept.q_o.val().get_bit(j) {
                    self.quad_p.next = self.quad_p.val() | self.quad[j].q_o.val();
                } else {
                    self.quad_p.next = self.quad_p.val() | self.at_quad.val();
                }
            }
            if self.phase.at_u_o.val().get_bit(j) {
                self.head_warps.next = self.head_warps.val() | self.warps[j].q_o.val();
                self.head_regs.next = self.head_regs.val() | self.regs[j].q_o.val();
                self.head_smem.next = self.head_smem.val() | self.smem[j].q_o.val();
            }
            if self.phase.at_c_o.val().get_bit(j) {
                self.quad_c.next = self.quad_c.val() | self.quad[j].q_o.val();
            }
        }
        self.quad_u.d_i.next = self.quad_p.val();
        for h in 0..self._holds {
            if !self.run_i[h].val() {
                self.quad_u.d_i.next = self.at_quad.val();
            }
        }
        for g in 0..self._groups {
            self.is_low[g].next = ((self.upper.val() & self.low_upper[g].val()).any()
                & (self.lower.val() & self.low_lower[g].val()).any())
                | ((self.upper.val() & self.low_next_upper[g].val()).any()
                    & (self.lower.val() & self.low_next_lower[g].val()).any());
            self.is_high[g].next = ((self.upper.val() & self.high_upper[g].val()).any()
                & (self.lower.val() & self.high_lower[g].val()).any())
                | ((self.upper.val() & self.high_next_upper[g].val()).any()
                    & (self.lower.val() & self.high_next_lower[g].val()).any());
            comment!("For each lane: whether a CTA has ended on its SM at U, and whether a completion");
            comment!("is kept for its SM at C; one that was kept before, or the one that comes.");
            self.ended[g].next = self.no_lane.val();
            self.ended[g].next = self.ended[g].val().replace_bit(
                0,
                (self.kept_u.q_o.val() & (self.quad_u.q_o.val() == self.low[g].val()))
                    | (self.hits_u.val() & self.is_low[g].val()),
            );
            self.ended[g].next = self.ended[g].val().replace_bit(
                1,
                (self.kept_u.q_o.val() & (self.quad_u.q_o.val() == self.high[g].val()))
                    | (self.hits_u.val() & self.is_high[g].val()),
            );
            self.ended_o[g].next = self.ended[g].val();
            self.keeps[g].next = self.no_lane.val();
            self.keeps[g].next = self.keeps[g].val().replace_bit(
                0,
                (self.kept_c.val() & (self.quad_c.val() == self.low[g].val()))
                    | (self.hits_c.val() & self.is_low[g].val()),
            );
            self.keeps[g].next = self.keeps[g].val().replace_bit(
                1,
                (self.kept_c.val() & (self.quad_c.val() == self.high[g].val()))
                    | (self.hits_c.val() & self.is_high[g].val()),
            );
            self.kept_o[g].next = self.keeps[g].val();
        }
        comment!("What its CTA had.");
        if self.kept_u.q_o.val() {
            self.head_warps_o.next = self.head_warps.val();
            self.head_regs_o.next = self.head_regs.val();
            self.head_smem_o.next = self.head_smem.val();
        } else {
            self.head_warps_o.next = bit_cast::<6, 7>(self.warps_i.val());
            self.head_regs_o.next = bit_cast::<8, 9>(self.regs_i.val());
            self.head_smem_o.next = self.smem_i.val();
        }
    }
}

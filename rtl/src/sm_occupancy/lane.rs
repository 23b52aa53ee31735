//! Three SMs that go round, and up to eight such lanes.

use super::field::SmField;
use crate::info::Info;
use crate::params::{SLICES, SmParams};
use crate::parts::{PayloadRegister, Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Lanes of a group.
pub const GROUP: usize = 8;

/// Lanes of group `g` of the array.
pub fn lanes_of(params: SmParams, g: usize) -> usize {
    params.lanes().saturating_sub(GROUP * g).min(GROUP)
}

/// Groups of lanes.
pub fn groups(params: SmParams) -> usize {
    params.lanes().div_ceil(GROUP)
}

/// Writes a struct with the ports that a lane and a group have in common: those that are the same for all lanes.
macro_rules! lanes {
    (
        $(#[$doc:meta])* $block:ident {
            $($(#[$field_doc:meta])* $visible:vis $field:ident: $field_type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(LogicBlock, DocumentedFieldsOpt)]
        pub struct $block {
            info: Info,
            /// Clock.
            pub clk_i: Signal<In, Clock>,
            /// Reset.
            pub rst_ni: Signal<In, Bit>,
            /// HOLDS: the SMs go on at the end of this cycle.
            pub run_i: Vec<Signal<In, Bit>>,
            /// The SM at stage C becomes empty.
            pub init_i: Signal<In, Bit>,
            /// Changes with every turn: whose the contested SMs are.
            pub turn_i: Signal<In, Bit>,
            /// Its CTA needs an empty SM.
            pub big_i: Vec<Signal<In, Bit>>,
            /// Warps it needs, modulo 64, complemented.
            pub need_warps_i: Vec<Signal<In, Bits<6>>>,
            /// Register units it needs, modulo 256, complemented.
            pub need_regs_i: Vec<Signal<In, Bits<8>>>,
            /// Shared memory units it needs, complemented.
            pub need_smem_i: Vec<Signal<In, Bits<11>>>,
            /// Both requesters' CTAs together need an empty SM, or more.
            pub sum_big_i: Vec<Signal<In, Bit>>,
            /// An empty SM has room for both.
            pub sum_empty_i: Vec<Signal<In, Bit>>,
            /// Warps of both, modulo 64, complemented.
            pub sum_warps_i: Vec<Signal<In, Bits<6>>>,
            /// Register units of both, modulo 256, complemented.
            pub sum_regs_i: Vec<Signal<In, Bits<8>>>,
            /// Shared memory units of both, modulo 2048, complemented.
            pub sum_smem_i: Vec<Signal<In, Bits<11>>>,
            /// What the CTAs at stage U cost, complemented.
            pub charge_warps_i: Vec<Signal<In, Bits<6>>>,
            /// What the CTAs at stage U cost, complemented.
            pub charge_regs_i: Vec<Signal<In, Bits<8>>>,
            /// What the CTAs at stage U cost, complemented.
            pub charge_smem_i: Vec<Signal<In, Bits<11>>>,
            /// What both cost, complemented.
            pub charge_sum_warps_i: Vec<Signal<In, Bits<6>>>,
            /// What both cost, complemented.
            pub charge_sum_regs_i: Vec<Signal<In, Bits<8>>>,
            /// What both cost, complemented.
            pub charge_sum_smem_i: Vec<Signal<In, Bits<11>>>,
            $($(#[$field_doc])* $visible $field: $field_type,)*
        }
    };
}

lanes! {
    /// Three SMs, one at each stage.
    SmLane {
        /// A requester has a CTA, and may use the lane.
        pub open_i: Vec<Signal<In, Bit>>,
        /// The SM at stage P has room, and nothing is kept for it.
        pub fit_o: Vec<Signal<Out, Bit>>,
        /// The SM at stage P gets a requester's CTA.
        pub place_i: Vec<Signal<In, Bit>>,
        /// The slice at stage C has an SM in this lane.
        pub exists_i: Signal<In, Bit>,
        /// The lane's number is odd.
        pub odd_i: Signal<In, Bit>,
        /// A CTA has ended on the SM at stage U.
        pub ended_i: Signal<In, Bit>,
        /// What it had.
        pub free_warps_i: Signal<In, Bits<6>>,
        /// What it had.
        pub free_regs_i: Signal<In, Bits<8>>,
        /// What it had.
        pub free_smem_i: Signal<In, Bits<11>>,
        /// It is given back.
        pub taken_o: Signal<Out, Bit>,
        /// A completion will be kept for the SM at stage C when it is at P.
        pub kept_i: Signal<In, Bit>,
        /// Free CTA slots of the three SMs.
        ctas: SmField<5>,
        /// Free warps of the three SMs.
        warps: SmField<6>,
        /// Free register units of the three SMs.
        regs: SmField<8>,
        /// Free shared memory units of the three SMs.
        smem: SmField<11>,
        /// No CTA is on the SM at stage C.
        empty_c: PayloadRegister<Bit>,
        /// The same at stage P.
        empty_p: PayloadRegister<Bit>,
        /// The same at stage U.
        empty_u: PayloadRegister<Bit>,
        /// Of each requester, it may place its CTA on the SM at P.
        fit: Vec<Register<Bit>>,
        /// Of each requester, its CTA was placed on the SM that is now at U.
        placed: Vec<PayloadRegister<Bit>>,
        /// Of each requester, it has a CTA that may use the SM at C, and that fits there.
        could: Vec<Signal<Local, Bit>>,
        /// Of each requester, it is the one that gets the SM at C where that is contested.
        favoured: Vec<Signal<Local, Bit>>,
        /// The SM at C is not contested: at most one requester could use it, or both at once.
        shared: Signal<Local, Bit>,
        /// A CTA was placed on the SM that is now at U.
        charged: Signal<Local, Bit>,
        /// Of each requester, its CTA was placed there, and no other was.
        alone: Vec<Signal<Local, Bit>>,
        /// `taken_o`, to be read here.
        taken: Signal<Local, Bit>,
        one: Constant<Bits<5>>,
        not_one: Constant<Bits<5>>,
        not_two: Constant<Bits<5>>,
        all_but_one: Constant<Bits<5>>,
        _requesters: usize,
        _sums: usize,
        _holds: usize,
    }
}

impl SmLane {
    /// A lane of the array.
    pub fn new(requesters: usize, params: SmParams) -> Self {
        let (limits, holds) = (params.limits(), usize::from(params.holds()));
        let sums = requesters - 1;
        Self {
            info: Info::module("sm_lane", "")
                .fields::<Self>(&[])
                .param("REQUESTERS", "q", requesters)
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into())
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            init_i: Signal::default(),
            turn_i: Signal::default(),
            big_i: bank(requesters),
            need_warps_i: bank(requesters),
            need_regs_i: bank(requesters),
            need_smem_i: bank(requesters),
            sum_big_i: bank(sums),
            sum_empty_i: bank(sums),
            sum_warps_i: bank(sums),
            sum_regs_i: bank(sums),
            sum_smem_i: bank(sums),
            charge_warps_i: bank(requesters),
            charge_regs_i: bank(requesters),
            charge_smem_i: bank(requesters),
            charge_sum_warps_i: bank(sums),
            charge_sum_regs_i: bank(sums),
            charge_sum_smem_i: bank(sums),
            open_i: bank(requesters),
            fit_o: bank(requesters),
            place_i: bank(requesters),
            exists_i: Signal::default(),
            odd_i: Signal::default(),
            ended_i: Signal::default(),
            free_warps_i: Signal::default(),
            free_regs_i: Signal::default(),
            free_smem_i: Signal::default(),
            taken_o: Signal::default(),
            kept_i: Signal::default(),
            ctas: SmField::new(requesters, limits.ctas(), holds),
            warps: SmField::new(requesters, limits.warps(), holds),
            regs: SmField::new(requesters, limits.registers(), holds),
            smem: SmField::new(requesters, limits.smem(), holds),
            empty_c: PayloadRegister::default(),
            empty_p: PayloadRegister::default(),
            empty_u: PayloadRegister::default(),
            fit: bank(requesters),
            placed: bank(requesters),
            could: bank(requesters),
            favoured: bank(requesters),
            shared: Signal::default(),
            charged: Signal::default(),
            alone: bank(requesters),
            taken: Signal::default(),
            one: number(1),
            not_one: number(30),
            not_two: number(29),
            all_but_one: number(u128::from(limits.ctas()) - 1),
            _requesters: requesters,
            _sums: sums,
            _holds: holds,
        }
    }
}

impl Logic for SmLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.ctas.clk_i.next = self.clk_i.val();
        self.warps.clk_i.next = self.clk_i.val();
        self.regs.clk_i.next = self.clk_i.val();
        self.smem.clk_i.next = self.clk_i.val();
        self.empty_c.clk_i.next = self.clk_i.val();
        self.empty_p.clk_i.next = self.clk_i.val();
        self.empty_u.clk_i.next = self.clk_i.val();
        self.ctas.init_i.next = self.init_i.val();
        self.warps.init_i.next = self.init_i.val();
        self.regs.init_i.next = self.init_i.val();
        self.smem.init_i.next = self.init_i.val();

        comment!("Stage C: who could use the SM, and whose turn it is where only one can.");
        self.favoured[0].next = self.odd_i.val() ^ (!self.turn_i.val());
        self.shared.next = true;
        for r in 0..self._requesters {
            self.ctas.need_i[r].next = self.not_one.val();
            self.warps.need_i[r].next = self.need_warps_i[r].val();
            self.regs.need_i[r].next = self.need_regs_i[r].val();
            self.smem.need_i[r].next = self.need_smem_i[r].val();
            self.could[r].next = self.open_i[r].val()
                & self.exists_i.val()
                & (self.empty_c.q_o.val()
                    | ((!self.big_i[r].val())
                        & self.ctas.fits_o[r].val()
                        & self.warps.fits_o[r].val()
                        & self.regs.fits_o[r].val()
                        & self.smem.fits_o[r].val()));
        }
        for s in 0..self._sums {
            self.ctas.sum_i[s].next = self.not_two.val();
            self.warps.sum_i[s].next = self.sum_warps_i[s].val();
            self.regs.sum_i[s].next = self.sum_regs_i[s].val();
            self.smem.sum_i[s].next = self.sum_smem_i[s].val();
            self.favoured[s + 1].next = self.odd_i.val() ^ self.turn_i.val();
            self.shared.next = (!(self.could[s].val() & self.could[s + 1].val()))
                | (self.empty_c.q_o.val() & self.sum_empty_i[s].val())
                | ((!self.sum_big_i[s].val())
                    & self.ctas.sum_fits_o[s].val()
                    & self.warps.sum_fits_o[s].val()
                    & self.regs.sum_fits_o[s].val()
                    & self.smem.sum_fits_o[s].val());
        }

        self.charged.next = false;
        for r in 0..self._requesters {
            self.fit[r].clk_i.next = self.clk_i.val();
            self.fit[r].rst_ni.next = self.rst_ni.val();
            self.placed[r].clk_i.next = self.clk_i.val();
            comment!("For stage P: not while a completion is kept for the SM.");
            self.fit[r].d_i.next = self.could[r].val()
                & (self.shared.val() | self.favoured[r].val())
                & (!(self.init_i.val() | self.kept_i.val()));
            self.fit_o[r].next = self.fit[r].q_o.val();
            self.placed[r].d_i.next = self.place_i[r].val();
            self.charged.next = self.charged.val() | self.placed[r].q_o.val();
            self.alone[r].next = self.placed[r].q_o.val();
        }

        for s in 0..self._sums {
            self.alone[s].next = self.placed[s].q_o.val() & (!self.placed[s + 1].q_o.val());
            self.alone[s + 1].next = self.placed[s + 1].q_o.val() & (!self.placed[s].q_o.val());
            comment!("Stage U: of two CTAs the sum is charged.");
            self.ctas.both_i[s].next = self.placed[s].q_o.val() & self.placed[s + 1].q_o.val();
            self.warps.both_i[s].next = self.placed[s].q_o.val() & self.placed[s + 1].q_o.val();
            self.regs.both_i[s].next = self.placed[s].q_o.val() & self.placed[s + 1].q_o.val();
            self.smem.both_i[s].next = self.placed[s].q_o.val() & self.placed[s + 1].q_o.val();
            self.ctas.charge_sum_i[s].next = self.not_two.val();
            self.warps.charge_sum_i[s].next = self.charge_sum_warps_i[s].val();
            self.regs.charge_sum_i[s].next = self.charge_sum_regs_i[s].val();
            self.smem.charge_sum_i[s].next = self.charge_sum_smem_i[s].val();
        }
        for r in 0..self._requesters {
            self.ctas.alone_i[r].next = self.alone[r].val();
            self.warps.alone_i[r].next = self.alone[r].val();
            self.regs.alone_i[r].next = self.alone[r].val();
            self.smem.alone_i[r].next = self.alone[r].val();
            self.ctas.charge_i[r].next = self.not_one.val();
            self.warps.charge_i[r].next = self.charge_warps_i[r].val();
            self.regs.charge_i[r].next = self.charge_regs_i[r].val();
            self.smem.charge_i[r].next = self.charge_smem_i[r].val();
        }
        self.ctas.charged_i.next = self.charged.val();
        self.warps.charged_i.next = self.charged.val();
        self.regs.charged_i.next = self.charged.val();
        self.smem.charged_i.next = self.charged.val();
        comment!("Stage U: give back, where the SM is not charged.");
        self.taken.next = self.ended_i.val() & (!self.charged.val());
        self.taken_o.next = self.taken.val();
        self.ctas.free_valid_i.next = self.taken.val();
        self.warps.free_valid_i.next = self.taken.val();
        self.regs.free_valid_i.next = self.taken.val();
        self.smem.free_valid_i.next = self.taken.val();
        self.ctas.free_i.next = self.one.val();
        self.warps.free_i.next = self.free_warps_i.val();
        self.regs.free_i.next = self.free_regs_i.val();
        self.smem.free_i.next = self.free_smem_i.val();
        self.empty_p.d_i.next = self.init_i.val() | self.empty_c.q_o.val();
        self.empty_u.d_i.next = self.empty_p.q_o.val();
        comment!("An SM is empty again where its last CTA has ended.");
        self.empty_c.d_i.next = (!self.charged.val())
            & (self.empty_u.q_o.val()
                | (self.taken.val() & (self.ctas.left_o.val() == self.all_but_one.val())));
        for h in 0..self._holds {
            self.ctas.run_i[h].next = self.run_i[h].val();
            self.warps.run_i[h].next = self.run_i[h].val();
            self.regs.run_i[h].next = self.run_i[h].val();
            self.smem.run_i[h].next = self.run_i[h].val();
            if !self.run_i[h].val() {
                self.empty_c.d_i.next = self.empty_c.q_o.val();
                self.empty_p.d_i.next = self.empty_p.q_o.val();
                self.empty_u.d_i.next = self.empty_u.q_o.val();
            }
        }
    }
}

lanes! {
    /// Up to eight lanes side by side; bit b of a lane port is lane b.
    SmGroup {
        /// One-hot: the slice at stage C.
        pub at_c_i: Signal<In, Bits<3>>,
        /// A requester has a CTA, and may use the lane.
        pub open_i: Vec<Signal<In, Bits<8>>>,
        /// The SM at stage P has room, and nothing is kept for it.
        pub fit_o: Vec<Signal<Out, Bits<8>>>,
        /// The SM at stage P gets a requester's CTA.
        pub place_i: Vec<Signal<In, Bits<8>>>,
        /// A CTA has ended on the SM at stage U.
        pub ended_i: Vec<Signal<In, Bits<2>>>,
        /// What it had.
        pub free_warps_i: Vec<Signal<In, Bits<6>>>,
        /// What it had.
        pub free_regs_i: Vec<Signal<In, Bits<8>>>,
        /// What it had.
        pub free_smem_i: Vec<Signal<In, Bits<11>>>,
        /// It is given back.
        pub taken_o: Vec<Signal<Out, Bit>>,
        /// A completion will be kept for the SM at stage C when it is at P.
        pub kept_i: Vec<Signal<In, Bits<2>>>,
        /// Of each lane, its three SMs.
        lane: Vec<SmLane>,
        /// `fit_o`, to be read here.
        fit: Vec<Signal<Local, Bits<8>>>,
        /// `taken_o`, to be read here.
        taken: Vec<Signal<Local, Bit>>,
        zero: Constant<Bits<8>>,
        /// Slices that have an SM in this lane, and whether all have.
        exists: Vec<Constant<Bits<3>>>,
        full: Vec<Constant<Bit>>,
        odd: Vec<Constant<Bit>>,
        _requesters: usize,
        _sums: usize,
        _lanes: usize,
        _low: usize,
        _high: usize,
        _holds: usize,
    }
}

impl SmGroup {
    /// Group `group` of the array.
    pub fn new(params: SmParams, requesters: usize, group: usize) -> Self {
        let (limits, holds) = (params.limits(), usize::from(params.holds()));
        let sums = requesters - 1;
        let lanes = lanes_of(params, group);
        let is_there = |b: usize, j: usize| SmParams::sm(GROUP * group + b, j) < params.sms();
        let exists = |b| (0..SLICES).fold(0, |bits, j| bits | u128::from(is_there(b, j)) << j);
        Self {
            info: Info::module("sm_group", "")
                .fields::<Self>(&[])
                .param("REQUESTERS", "q", requesters)
                .param("GROUP", "n", group)
                .param("SMS", "s", params.sms())
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into())
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            init_i: Signal::default(),
            turn_i: Signal::default(),
            big_i: bank(requesters),
            need_warps_i: bank(requesters),
            need_regs_i: bank(requesters),
            need_smem_i: bank(requesters),
            sum_big_i: bank(sums),
            sum_empty_i: bank(sums),
            sum_warps_i: bank(sums),
            sum_regs_i: bank(sums),
            sum_smem_i: bank(sums),
            charge_warps_i: bank(requesters),
            charge_regs_i: bank(requesters),
            charge_smem_i: bank(requesters),
            charge_sum_warps_i: bank(sums),
            charge_sum_regs_i: bank(sums),
            charge_sum_smem_i: bank(sums),
            at_c_i: Signal::default(),
            open_i: bank(requesters),
            fit_o: bank(requesters),
            place_i: bank(requesters),
            ended_i: bank(4),
            free_warps_i: bank(4),
            free_regs_i: bank(4),
            free_smem_i: bank(4),
            taken_o: bank(4),
            kept_i: bank(4),
            lane: (0..lanes).map(|_| SmLane::new(requesters, params)).collect(),
            fit: bank(requesters),
            taken: bank(4),
            zero: number(0),
            exists: numbers(lanes, exists),
            full: (0..lanes).map(|b| Constant::new((0..SLICES).all(|j| is_there(b, j)))).collect(),
            odd: (0..lanes).map(|b| Constant::new(b % 2 == 1)).collect(),
            _requesters: requesters,
            _sums: sums,
            _lanes: lanes,
            _low: lanes.min(4),
            _high: lanes.saturating_sub(4),
            _holds: holds,
        }
    }
}

impl Logic for SmGroup {
    #[hdl_gen]
    fn update(&mut self) {
        for r in 0..self._requesters {
            self.fit[r].next = self.zero.val();
        }
        for b in 0..self._lanes {
            self.lane[b].clk_i.next = self.clk_i.val();
            self.lane[b].rst_ni.next = self.rst_ni.val();
            self.lane[b].init_i.next = self.init_i.val();
            self.lane[b].turn_i.next = self.turn_i.val();
            for h in 0..self._holds {
                self.lane[b].run_i[h].next = self.run_i[h].val();
            }
            self.lane[b].odd_i.next = self.odd[b].val();
            self.lane[b].exists_i.next =
                self.full[b].val() | (self.exists[b].val() & self.at_c_i.val()).any();
            for r in 0..self._requesters {
                self.lane[b].big_i[r].next = self.big_i[r].val();
                self.lane[b].need_warps_i[r].next = self.need_warps_i[r].val();
                self.lane[b].need_regs_i[r].next = self.need_regs_i[r].val();
                self.lane[b].need_smem_i[r].next = self.need_smem_i[r].val();
                self.lane[b].charge_warps_i[r].next = self.charge_warps_i[r].val();
                self.lane[b].charge_regs_i[r].next = self.charge_regs_i[r].val();
                self.lane[b].charge_smem_i[r].next = self.charge_smem_i[r].val();
                self.lane[b].open_i[r].next = self.open_i[r].val().get_bit(b);
                self.lane[b].place_i[r].next = self.place_i[r].val().get_bit(b);
                self.fit[r].next = self.fit[r].val().replace_bit(b, self.lane[b].fit_o[r].val());
            }
            for s in 0..self._sums {
                self.lane[b].sum_big_i[s].next = self.sum_big_i[s].val();
                self.lane[b].sum_empty_i[s].next = self.sum_empty_i[s].val();
                self.lane[b].sum_warps_i[s].next = self.sum_warps_i[s].val();
                self.lane[b].sum_regs_i[s].next = self.sum_regs_i[s].val();
                self.lane[b].sum_smem_i[s].next = self.sum_smem_i[s].val();
                self.lane[b].charge_sum_warps_i[s].next = self.charge_sum_warps_i[s].val();
                self.lane[b].charge_sum_regs_i[s].next = self.charge_sum_regs_i[s].val();
                self.lane[b].charge_sum_smem_i[s].next = self.charge_sum_smem_i[s].val();
            }
        }
        for r in 0..self._requesters {
            self.fit_o[r].next = self.fit[r].val();
        }
        for b in 0..4 {
            comment!("Lanes b and b + 4 belong to completion port b.");
            self.taken[b].next = false;
        }
        for b in 0..self._low {
            self.lane[b].ended_i.next = self.ended_i[b].val().get_bit(0);
            self.lane[b].free_warps_i.next = self.free_warps_i[b].val();
            self.lane[b].free_regs_i.next = self.free_regs_i[b].val();
            self.lane[b].free_smem_i.next = self.free_smem_i[b].val();
            self.lane[b].kept_i.next = self.kept_i[b].val().get_bit(0);
            self.taken[b].next = self.lane[b].taken_o.val();
        }
        for b in 0..self._high {
            self.lane[b + 4].ended_i.next = self.ended_i[b].val().get_bit(1);
            self.lane[b + 4].free_warps_i.next = self.free_warps_i[b].val();
            self.lane[b + 4].free_regs_i.next = self.free_regs_i[b].val();
            self.lane[b + 4].free_smem_i.next = self.free_smem_i[b].val();
            self.lane[b + 4].kept_i.next = self.kept_i[b].val().get_bit(1);
            self.taken[b].next = self.taken[b].val() | self.lane[b + 4].taken_o.val();
        }
        for b in 0..4 {
            self.taken_o[b].next = self.taken[b].val();
        }
    }
}

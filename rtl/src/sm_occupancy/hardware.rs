//! The hardware of `sm_occupancy`.

use super::free_port::FreePort;
use super::lane::{SmGroup, groups};
use super::needs::{NeedStages, SumStages};
use super::phase::SlicePhase;
use crate::info::{Info, PortDoc};
use crate::params::{DONE_PORTS, SLICES, SmParams};
use crate::parts::{bank, number, numbers};
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("need_valid_i", "", "the requester has a CTA to be looked at"),
    ("need_warps_i", "", "warps it needs"),
    ("need_regs_i", "", "register units it needs"),
    ("need_smem_i", "", "shared memory units it needs"),
    ("allow_a_i", "", "SIMT or all: lanes that the need of the cycle before may use, slice at stage C"),
    ("allow_b_i", "", "TENSOR: lanes that the need of the cycle before may use, slice at stage C"),
    ("fit_a_o", "", "SIMT or all: lanes where the CTA of two cycles before fits, slice at stage P"),
    ("fit_b_o", "", "TENSOR: lanes where the CTA of two cycles before fits, slice at stage P"),
    ("place_a_i", "", "SIMT or all: one-hot, the lane that gets it; among fit_a_o"),
    ("place_b_i", "", "TENSOR: one-hot, the lane that gets it; among fit_b_o"),
    ("sm_o", "", "number of the SM that place names, or 0"),
    ("free_valid_i", "free", "a CTA has ended"),
    ("free_ready_o", "free", "it is taken at the end of this cycle"),
    ("free_sm_i", "free", "its SM: that number mod 4 is the port's"),
    ("free_warps_i", "free", "warps it had"),
    ("free_regs_i", "free", "register units it had"),
    ("free_smem_i", "free", "shared memory units it had"),
];

/// The SM array: see the module's page.
#[derive(LogicBlock)]
pub struct SmOccupancy {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// The requester has a CTA.
    pub need_valid_i: Vec<Signal<In, Bit>>,
    /// Warps it needs.
    pub need_warps_i: Vec<Signal<In, Bits<7>>>,
    /// Register units it needs.
    pub need_regs_i: Vec<Signal<In, Bits<9>>>,
    /// Shared memory units it needs.
    pub need_smem_i: Vec<Signal<In, Bits<11>>>,
    /// Lanes that requester a may use.
    pub allow_a_i: Vec<Signal<In, Bits<8>>>,
    /// Lanes that requester b may use.
    pub allow_b_i: Vec<Signal<In, Bits<8>>>,
    /// Lanes where a's CTA fits.
    pub fit_a_o: Vec<Signal<Out, Bits<8>>>,
    /// Lanes where b's CTA fits.
    pub fit_b_o: Vec<Signal<Out, Bits<8>>>,
    /// The lane that gets a's.
    pub place_a_i: Vec<Signal<In, Bits<8>>>,
    /// The lane that gets b's.
    pub place_b_i: Vec<Signal<In, Bits<8>>>,
    /// Number of its SM.
    pub sm_o: Vec<Signal<Out, Bits<8>>>,
    /// A CTA has ended.
    pub free_valid_i: Vec<Signal<In, Bit>>,
    /// It is taken.
    pub free_ready_o: Vec<Signal<Out, Bit>>,
    /// Its SM.
    pub free_sm_i: Vec<Signal<In, Bits<8>>>,
    /// Warps it had.
    pub free_warps_i: Vec<Signal<In, Bits<7>>>,
    /// Register units it had.
    pub free_regs_i: Vec<Signal<In, Bits<9>>>,
    /// Shared memory units it had.
    pub free_smem_i: Vec<Signal<In, Bits<11>>>,
    phase: SlicePhase,
    port: Vec<FreePort>,
    group: Vec<SmGroup>,
    need: Vec<NeedStages>,
    sum: Vec<SumStages>,
    // The number of the SM that is placed on: for the SMs of its lane, of which the slice is one, and which of them that is.
    sm_0: Vec<Signal<Local, Bits<8>>>,
    sm_1: Vec<Signal<Local, Bits<8>>>,
    sm_2: Vec<Signal<Local, Bits<8>>>,
    lanes: Vec<Signal<Local, Bits<8>>>,
    port_of: Vec<Signal<Local, Bits<4>>>,
    which: Vec<Signal<Local, Bits<3>>>,
    sm: Vec<Signal<Local, Bits<8>>>,
    at_p_1: Signal<Local, Bits<3>>,
    at_p_2: Signal<Local, Bits<3>>,
    taken: Vec<Signal<Local, Bit>>,
    base_low_0: Vec<Constant<Bits<8>>>,
    base_low_1: Vec<Constant<Bits<8>>>,
    base_low_2: Vec<Constant<Bits<8>>>,
    base_high_0: Vec<Constant<Bits<8>>>,
    base_high_1: Vec<Constant<Bits<8>>>,
    base_high_2: Vec<Constant<Bits<8>>>,
    no_slice: Constant<Bits<3>>,
    no_port: Constant<Bits<4>>,
    /// The first four lanes of a group, and the last four.
    low: Constant<Bits<8>>,
    high: Constant<Bits<8>>,
    zero: Constant<Bits<8>>,
    _requesters: usize,
    _sums: usize,
    _groups: usize,
    _groups_b: usize,
}

impl SmOccupancy {
    /// The array for one or two requesters.
    pub fn new(params: SmParams, requesters: usize) -> Self {
        debug_assert!((1..=2).contains(&requesters));
        let limits = params.limits();
        let sums = requesters - 1;
        let groups = groups(params);
        // SM 4 n of the first four lanes of a group, or of the last four: n is three to each four lanes.
        let base = |half: usize, which: usize| {
            numbers(groups, |g| (DONE_PORTS * (SLICES * (2 * g + half) + which) % 256) as u128)
        };
        Self {
            info: Info::module("sm_occupancy", "SM resources as in the CUDA occupancy rules", PORTS)
                .param("SMS", "s", params.sms())
                .param("REQUESTERS", "q", requesters)
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into()),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            need_valid_i: bank(requesters),
            need_warps_i: bank(requesters),
            need_regs_i: bank(requesters),
            need_smem_i: bank(requesters),
            allow_a_i: bank(groups),
            allow_b_i: bank(groups * sums),
            fit_a_o: bank(groups),
            fit_b_o: bank(groups * sums),
            place_a_i: bank(groups),
            place_b_i: bank(groups * sums),
            sm_o: bank(requesters),
            free_valid_i: bank(DONE_PORTS),
            free_ready_o: bank(DONE_PORTS),
            free_sm_i: bank(DONE_PORTS),
            free_warps_i: bank(DONE_PORTS),
            free_regs_i: bank(DONE_PORTS),
            free_smem_i: bank(DONE_PORTS),
            phase: SlicePhase::default(),
            port: (0..DONE_PORTS).map(|p| FreePort::new(params, p)).collect(),
            group: (0..groups).map(|g| SmGroup::new(params, requesters, g)).collect(),
            need: bank(requesters),
            sum: (0..sums).map(|_| SumStages::new(limits)).collect(),
            sm_0: bank(requesters),
            sm_1: bank(requesters),
            sm_2: bank(requesters),
            lanes: bank(requesters),
            port_of: bank(requesters),
            which: bank(requesters),
            sm: bank(requesters),
            at_p_1: Signal::default(),
            at_p_2: Signal::default(),
            taken: bank(DONE_PORTS),
            base_low_0: base(0, 0),
            base_low_1: base(0, 1),
            base_low_2: base(0, 2),
            base_high_0: base(1, 0),
            base_high_1: base(1, 1),
            base_high_2: base(1, 2),
            no_slice: number(0),
            no_port: number(0),
            low: number(0x0F),
            high: number(0xF0),
            zero: number(0),
            _requesters: requesters,
            _sums: sums,
            _groups: groups,
            _groups_b: groups * sums,
        }
    }
}

impl Logic for SmOccupancy {
    #[hdl_gen]
    fn update(&mut self) {
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();

        // Needs, and their sums, go with the slices from stage to stage.
        for r in 0..self._requesters {
            self.need[r].clk_i.next = self.clk_i.val();
            self.need[r].rst_ni.next = self.rst_ni.val();
            self.need[r].valid_i.next = self.need_valid_i[r].val();
            self.need[r].warps_i.next = self.need_warps_i[r].val();
            self.need[r].regs_i.next = self.need_regs_i[r].val();
            self.need[r].smem_i.next = self.need_smem_i[r].val();
        }
        for s in 0..self._sums {
            self.sum[s].clk_i.next = self.clk_i.val();
            self.sum[s].warps_a_i.next = self.need_warps_i[s].val();
            self.sum[s].regs_a_i.next = self.need_regs_i[s].val();
            self.sum[s].smem_a_i.next = self.need_smem_i[s].val();
            self.sum[s].warps_b_i.next = self.need_warps_i[s + 1].val();
            self.sum[s].regs_b_i.next = self.need_regs_i[s + 1].val();
            self.sum[s].smem_b_i.next = self.need_smem_i[s + 1].val();
        }

        // Completions: all SMs of a lane have the same number mod 4, so the lanes b of each group with b mod 4 = p belong to port p.
        for p in 0..4 {
            self.port[p].clk_i.next = self.clk_i.val();
            self.port[p].rst_ni.next = self.rst_ni.val();
            self.port[p].valid_i.next = self.free_valid_i[p].val();
            self.port[p].sm_i.next = self.free_sm_i[p].val();
            self.port[p].warps_i.next = self.free_warps_i[p].val();
            self.port[p].regs_i.next = self.free_regs_i[p].val();
            self.port[p].smem_i.next = self.free_smem_i[p].val();
            self.free_ready_o[p].next = self.port[p].ready_o.val();
            self.taken[p].next = false;
        }
        for g in 0..self._groups {
            self.group[g].clk_i.next = self.clk_i.val();
            self.group[g].rst_ni.next = self.rst_ni.val();
            self.group[g].init_i.next = self.phase.init_o.val();
            self.group[g].turn_i.next = self.phase.turn_o.val();
            self.group[g].at_c_i.next = self.phase.at_c_o.val();
            for r in 0..self._requesters {
                self.group[g].big_i[r].next = self.need[r].big_o.val();
                self.group[g].need_warps_i[r].next = self.need[r].warps_o.val();
                self.group[g].need_regs_i[r].next = self.need[r].regs_o.val();
                self.group[g].need_smem_i[r].next = self.need[r].smem_o.val();
                self.group[g].charge_warps_i[r].next = self.need[r].charge_warps_o.val();
                self.group[g].charge_regs_i[r].next = self.need[r].charge_regs_o.val();
                self.group[g].charge_smem_i[r].next = self.need[r].charge_smem_o.val();
            }
            for s in 0..self._sums {
                self.group[g].sum_big_i[s].next = self.sum[s].big_o.val();
                self.group[g].sum_empty_i[s].next = self.sum[s].empty_o.val();
                self.group[g].sum_warps_i[s].next = self.sum[s].warps_o.val();
                self.group[g].sum_regs_i[s].next = self.sum[s].regs_o.val();
                self.group[g].sum_smem_i[s].next = self.sum[s].smem_o.val();
                self.group[g].charge_sum_warps_i[s].next = self.sum[s].charge_warps_o.val();
                self.group[g].charge_sum_regs_i[s].next = self.sum[s].charge_regs_o.val();
                self.group[g].charge_sum_smem_i[s].next = self.sum[s].charge_smem_o.val();
            }
            for p in 0..4 {
                self.group[g].ended_i[p].next = self.port[p].ended_o[g].val();
                self.group[g].kept_i[p].next = self.port[p].kept_o[g].val();
                self.group[g].free_warps_i[p].next = self.port[p].head_warps_o.val();
                self.group[g].free_regs_i[p].next = self.port[p].head_regs_o.val();
                self.group[g].free_smem_i[p].next = self.port[p].head_smem_o.val();
                self.taken[p].next = self.taken[p].val() | self.group[g].taken_o[p].val();
            }
            self.group[g].open_i[0].next = self.zero.val();
            if self.need[0].valid_o.val() {
                self.group[g].open_i[0].next = self.allow_a_i[g].val();
            }
            self.group[g].place_i[0].next = self.place_a_i[g].val();
            self.fit_a_o[g].next = self.group[g].fit_o[0].val();
        }
        for g in 0..self._groups_b {
            self.group[g].open_i[1].next = self.zero.val();
            if self.need[1].valid_o.val() {
                self.group[g].open_i[1].next = self.allow_b_i[g].val();
            }
            self.group[g].place_i[1].next = self.place_b_i[g].val();
            self.fit_b_o[g].next = self.group[g].fit_o[1].val();
        }
        // The SM that was picked. In lane 4 n + p, slice j has SM 4 (3 n + (j - p) mod 3) + p.
        self.at_p_1.next = self
            .no_slice
            .val()
            .replace_bit(0, self.phase.at_p_o.val().get_bit(1))
            .replace_bit(1, self.phase.at_p_o.val().get_bit(2))
            .replace_bit(2, self.phase.at_p_o.val().get_bit(0));
        self.at_p_2.next = self
            .no_slice
            .val()
            .replace_bit(0, self.phase.at_p_o.val().get_bit(2))
            .replace_bit(1, self.phase.at_p_o.val().get_bit(0))
            .replace_bit(2, self.phase.at_p_o.val().get_bit(1));
        for r in 0..self._requesters {
            self.sm_0[r].next = self.zero.val();
            self.sm_1[r].next = self.zero.val();
            self.sm_2[r].next = self.zero.val();
            self.lanes[r].next = self.zero.val();
        }
        for g in 0..self._groups {
            self.lanes[0].next = self.lanes[0].val() | self.place_a_i[g].val();
            if (self.place_a_i[g].val() & self.low.val()).any() {
                self.sm_0[0].next = self.sm_0[0].val() | self.base_low_0[g].val();
                self.sm_1[0].next = self.sm_1[0].val() | self.base_low_1[g].val();
                self.sm_2[0].next = self.sm_2[0].val() | self.base_low_2[g].val();
            }
            if (self.place_a_i[g].val() & self.high.val()).any() {
                self.sm_0[0].next = self.sm_0[0].val() | self.base_high_0[g].val();
                self.sm_1[0].next = self.sm_1[0].val() | self.base_high_1[g].val();
                self.sm_2[0].next = self.sm_2[0].val() | self.base_high_2[g].val();
            }
        }
        for g in 0..self._groups_b {
            self.lanes[1].next = self.lanes[1].val() | self.place_b_i[g].val();
            if (self.place_b_i[g].val() & self.low.val()).any() {
                self.sm_0[1].next = self.sm_0[1].val() | self.base_low_0[g].val();
                self.sm_1[1].next = self.sm_1[1].val() | self.base_low_1[g].val();
                self.sm_2[1].next = self.sm_2[1].val() | self.base_low_2[g].val();
            }
            if (self.place_b_i[g].val() & self.high.val()).any() {
                self.sm_0[1].next = self.sm_0[1].val() | self.base_high_0[g].val();
                self.sm_1[1].next = self.sm_1[1].val() | self.base_high_1[g].val();
                self.sm_2[1].next = self.sm_2[1].val() | self.base_high_2[g].val();
            }
        }
        for r in 0..self._requesters {
            self.port_of[r].next = self
                .no_port
                .val()
                .replace_bit(0, self.lanes[r].val().get_bit(0) | self.lanes[r].val().get_bit(4))
                .replace_bit(1, self.lanes[r].val().get_bit(1) | self.lanes[r].val().get_bit(5))
                .replace_bit(2, self.lanes[r].val().get_bit(2) | self.lanes[r].val().get_bit(6))
                .replace_bit(3, self.lanes[r].val().get_bit(3) | self.lanes[r].val().get_bit(7));
            self.which[r].next = self.no_slice.val();
            if self.port_of[r].val().get_bit(0) | self.port_of[r].val().get_bit(3) {
                self.which[r].next = self.phase.at_p_o.val();
            }
            if self.port_of[r].val().get_bit(1) {
                self.which[r].next = self.which[r].val() | self.at_p_1.val();
            }
            if self.port_of[r].val().get_bit(2) {
                self.which[r].next = self.which[r].val() | self.at_p_2.val();
            }
            self.sm[r].next = self
                .zero
                .val()
                .replace_bit(0, self.port_of[r].val().get_bit(1) | self.port_of[r].val().get_bit(3))
                .replace_bit(1, self.port_of[r].val().get_bit(2) | self.port_of[r].val().get_bit(3));
            if self.which[r].val().get_bit(0) {
                self.sm[r].next = self.sm[r].val() | self.sm_0[r].val();
            }
            if self.which[r].val().get_bit(1) {
                self.sm[r].next = self.sm[r].val() | self.sm_1[r].val();
            }
            if self.which[r].val().get_bit(2) {
                self.sm[r].next = self.sm[r].val() | self.sm_2[r].val();
            }
            self.sm_o[r].next = self.sm[r].val();
        }
        for p in 0..4 {
            self.port[p].taken_i.next = self.taken[p].val();
        }
    }
}

crate::flat_ports!(impl [] for SmOccupancy:
    clk_i rst_ni need_valid_i need_warps_i need_regs_i need_smem_i allow_a_i allow_b_i fit_a_o fit_b_o place_a_i place_b_i
    sm_o free_valid_i free_ready_o free_sm_i free_warps_i free_regs_i free_smem_i);

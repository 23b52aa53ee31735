//! The hardware of `sm_occupancy`.

use super::free_port::FreePort;
use super::lane::{SmGroup, groups};
use super::needs::{NeedStages, SumStages};
use super::phase::SlicePhase;
use crate::info::{Info, PortDoc};
use crate::params::{DONE_PORTS, SmParams};
use crate::parts::{bank, number};
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
    sm: Vec<Signal<Local, Bits<8>>>,
    any: Vec<Signal<Local, Bit>>,
    offset: Signal<Local, Bits<8>>,
    // For the lanes with the same number mod 4.
    free_valid: Vec<Signal<Local, Bit>>,
    free_base: Vec<Signal<Local, Bits<8>>>,
    free_warps: Vec<Signal<Local, Bits<6>>>,
    free_regs: Vec<Signal<Local, Bits<8>>>,
    free_smem: Vec<Signal<Local, Bits<11>>>,
    kept_valid: Vec<Signal<Local, Bit>>,
    kept_base: Vec<Signal<Local, Bits<8>>>,
    taken: Vec<Signal<Local, Bit>>,
    zero: Constant<Bits<8>>,
    one: Constant<Bits<8>>,
    two: Constant<Bits<8>>,
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
            port: bank(DONE_PORTS),
            group: (0..groups).map(|g| SmGroup::new(params, requesters, g)).collect(),
            need: bank(requesters),
            sum: (0..sums).map(|_| SumStages::new(limits)).collect(),
            sm: bank(requesters),
            any: bank(requesters),
            offset: Signal::default(),
            free_valid: bank(4),
            free_base: bank(4),
            free_warps: bank(4),
            free_regs: bank(4),
            free_smem: bank(4),
            kept_valid: bank(4),
            kept_base: bank(4),
            taken: bank(4),
            zero: number(0),
            one: number(1),
            two: number(2),
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
            self.sm[r].next = self.zero.val();
            self.any[r].next = false;
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

        // Completions: SM 3 l + j comes through port (j - l) mod 4; so for the lanes l = c mod 4 of slice j, through port j - c.
        for c in 0..4 {
            self.port[c].clk_i.next = self.clk_i.val();
            self.port[c].rst_ni.next = self.rst_ni.val();
            self.port[c].valid_i.next = self.free_valid_i[c].val();
            self.port[c].sm_i.next = self.free_sm_i[c].val();
            self.port[c].warps_i.next = self.free_warps_i[c].val();
            self.port[c].regs_i.next = self.free_regs_i[c].val();
            self.port[c].smem_i.next = self.free_smem_i[c].val();
            self.port[c].at_u_i.next = self.phase.at_u_o.val();
            self.port[c].at_p_i.next = self.phase.at_p_o.val();
            self.free_ready_o[c].next = self.port[c].ready_o.val();
        }
        // Slice 0: port -c; slice 1: port 1 - c; slice 2: port 2 - c.
        self.free_valid[0].next = self.port[0].head_valid_o.val();
        self.free_base[0].next = self.port[0].head_base_o.val();
        self.free_warps[0].next = self.port[0].head_warps_o.val();
        self.free_regs[0].next = self.port[0].head_regs_o.val();
        self.free_smem[0].next = self.port[0].head_smem_o.val();
        self.kept_valid[0].next = self.port[0].kept_valid_o.val();
        self.kept_base[0].next = self.port[0].kept_base_o.val();
        for c in 1..4 {
            self.free_valid[c].next = self.port[4 - c].head_valid_o.val();
            self.free_base[c].next = self.port[4 - c].head_base_o.val();
            self.free_warps[c].next = self.port[4 - c].head_warps_o.val();
            self.free_regs[c].next = self.port[4 - c].head_regs_o.val();
            self.free_smem[c].next = self.port[4 - c].head_smem_o.val();
            self.kept_valid[c].next = self.port[4 - c].kept_valid_o.val();
            self.kept_base[c].next = self.port[4 - c].kept_base_o.val();
        }
        if self.phase.at_u_o.val().get_bit(1) {
            for c in 0..2 {
                self.free_valid[c].next = self.port[1 - c].head_valid_o.val();
                self.free_base[c].next = self.port[1 - c].head_base_o.val();
                self.free_warps[c].next = self.port[1 - c].head_warps_o.val();
                self.free_regs[c].next = self.port[1 - c].head_regs_o.val();
                self.free_smem[c].next = self.port[1 - c].head_smem_o.val();
            }
            for c in 2..4 {
                self.free_valid[c].next = self.port[5 - c].head_valid_o.val();
                self.free_base[c].next = self.port[5 - c].head_base_o.val();
                self.free_warps[c].next = self.port[5 - c].head_warps_o.val();
                self.free_regs[c].next = self.port[5 - c].head_regs_o.val();
                self.free_smem[c].next = self.port[5 - c].head_smem_o.val();
            }
        }
        if self.phase.at_u_o.val().get_bit(2) {
            for c in 0..3 {
                self.free_valid[c].next = self.port[2 - c].head_valid_o.val();
                self.free_base[c].next = self.port[2 - c].head_base_o.val();
                self.free_warps[c].next = self.port[2 - c].head_warps_o.val();
                self.free_regs[c].next = self.port[2 - c].head_regs_o.val();
                self.free_smem[c].next = self.port[2 - c].head_smem_o.val();
            }
            self.free_valid[3].next = self.port[3].head_valid_o.val();
            self.free_base[3].next = self.port[3].head_base_o.val();
            self.free_warps[3].next = self.port[3].head_warps_o.val();
            self.free_regs[3].next = self.port[3].head_regs_o.val();
            self.free_smem[3].next = self.port[3].head_smem_o.val();
        }
        if self.phase.at_p_o.val().get_bit(1) {
            for c in 0..2 {
                self.kept_valid[c].next = self.port[1 - c].kept_valid_o.val();
                self.kept_base[c].next = self.port[1 - c].kept_base_o.val();
            }
            for c in 2..4 {
                self.kept_valid[c].next = self.port[5 - c].kept_valid_o.val();
                self.kept_base[c].next = self.port[5 - c].kept_base_o.val();
            }
        }
        if self.phase.at_p_o.val().get_bit(2) {
            for c in 0..3 {
                self.kept_valid[c].next = self.port[2 - c].kept_valid_o.val();
                self.kept_base[c].next = self.port[2 - c].kept_base_o.val();
            }
            self.kept_valid[3].next = self.port[3].kept_valid_o.val();
            self.kept_base[3].next = self.port[3].kept_base_o.val();
        }

        for c in 0..4 {
            self.taken[c].next = false;
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
                self.sm[r].next = self.sm[r].val() | self.group[g].base_o[r].val();
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
            for c in 0..4 {
                self.group[g].free_valid_i[c].next = self.free_valid[c].val();
                self.group[g].free_base_i[c].next = self.free_base[c].val();
                self.group[g].free_warps_i[c].next = self.free_warps[c].val();
                self.group[g].free_regs_i[c].next = self.free_regs[c].val();
                self.group[g].free_smem_i[c].next = self.free_smem[c].val();
                self.group[g].kept_valid_i[c].next = self.kept_valid[c].val();
                self.group[g].kept_base_i[c].next = self.kept_base[c].val();
                self.taken[c].next = self.taken[c].val() | self.group[g].taken_o[c].val();
            }
            self.group[g].open_i[0].next = self.zero.val();
            if self.need[0].valid_o.val() {
                self.group[g].open_i[0].next = self.allow_a_i[g].val();
            }
            self.group[g].place_i[0].next = self.place_a_i[g].val();
            self.any[0].next = self.any[0].val() | self.place_a_i[g].val().any();
            self.fit_a_o[g].next = self.group[g].fit_o[0].val();
        }
        for g in 0..self._groups_b {
            self.group[g].open_i[1].next = self.zero.val();
            if self.need[1].valid_o.val() {
                self.group[g].open_i[1].next = self.allow_b_i[g].val();
            }
            self.group[g].place_i[1].next = self.place_b_i[g].val();
            self.any[1].next = self.any[1].val() | self.place_b_i[g].val().any();
            self.fit_b_o[g].next = self.group[g].fit_o[1].val();
        }
        // The SM that was picked: the first of its lane, and the slice at P.
        self.offset.next = self.zero.val();
        if self.phase.at_p_o.val().get_bit(1) {
            self.offset.next = self.one.val();
        }
        if self.phase.at_p_o.val().get_bit(2) {
            self.offset.next = self.two.val();
        }
        for r in 0..self._requesters {
            self.sm_o[r].next = self.zero.val();
            if self.any[r].val() {
                self.sm_o[r].next = self.sm[r].val() + self.offset.val();
            }
        }

        // Back to the port that it came through.
        self.port[0].taken_i.next = self.taken[0].val();
        for c in 1..4 {
            self.port[c].taken_i.next = self.taken[4 - c].val();
        }
        if self.phase.at_u_o.val().get_bit(1) {
            for c in 0..2 {
                self.port[c].taken_i.next = self.taken[1 - c].val();
            }
            for c in 2..4 {
                self.port[c].taken_i.next = self.taken[5 - c].val();
            }
        }
        if self.phase.at_u_o.val().get_bit(2) {
            for c in 0..3 {
                self.port[c].taken_i.next = self.taken[2 - c].val();
            }
            self.port[3].taken_i.next = self.taken[3].val();
        }
    }
}

crate::flat_ports!(impl [] for SmOccupancy:
    clk_i rst_ni need_valid_i need_warps_i need_regs_i need_smem_i allow_a_i allow_b_i fit_a_o fit_b_o place_a_i place_b_i
    sm_o free_valid_i free_ready_o free_sm_i free_warps_i free_regs_i free_smem_i);

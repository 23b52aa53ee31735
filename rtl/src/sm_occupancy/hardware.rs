//! The hardware of `sm_occupancy`.

use super::free_port::FreePort;
use super::lane::{SmGroup, groups};
use super::needs::{NeedStages, SumStages};
use super::phase::SlicePhase;
use crate::info::Info;
use crate::params::{DONE_PORTS, Requesters, SmParams};
use crate::parts::{Register, bank, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The SM array: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SmOccupancy {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on from the next cycle, though no CTA is looked at.
    pub wake_i: Vec<Signal<In, Bit>>,
    /// HOLDS: they go on at the end of this cycle.
    pub run_o: Vec<Signal<Out, Bit>>,
    /// The requester has a CTA to be looked at.
    pub need_valid_i: Vec<Signal<In, Bit>>,
    /// Warps it needs.
    pub need_warps_i: Vec<Signal<In, Bits<7>>>,
    /// Register units it needs.
    pub need_regs_i: Vec<Signal<In, Bits<9>>>,
    /// Shared memory units it needs.
    pub need_smem_i: Vec<Signal<In, Bits<11>>>,
    /// SIMT or all: lanes that the need of the cycle before may use, slice at stage C.
    pub allow_a_i: Vec<Signal<In, Bits<8>>>,
    /// TENSOR: lanes that the need of the cycle before may use, slice at stage C.
    pub allow_b_i: Vec<Signal<In, Bits<8>>>,
    /// SIMT or all: lanes where the CTA of two cycles before fits, slice at stage P.
    pub fit_a_o: Vec<Signal<Out, Bits<8>>>,
    /// TENSOR: lanes where the CTA of two cycles before fits, slice at stage P.
    pub fit_b_o: Vec<Signal<Out, Bits<8>>>,
    /// SIMT or all: the lanes that get one; among fit_a_o.
    pub place_a_i: Vec<Signal<In, Bits<8>>>,
    /// TENSOR: the lanes that get one; among fit_b_o.
    pub place_b_i: Vec<Signal<In, Bits<8>>>,
    /// A CTA has ended.
    pub free_valid_i: Vec<Signal<In, Bit>>,
    /// It is taken at the end of this cycle.
    pub free_ready_o: Vec<Signal<Out, Bit>>,
    /// Its SM: that number mod 4 is the port's.
    pub free_sm_i: Vec<Signal<In, Bits<8>>>,
    /// Warps it had.
    pub free_warps_i: Vec<Signal<In, Bits<7>>>,
    /// Register units it had.
    pub free_regs_i: Vec<Signal<In, Bits<9>>>,
    /// Shared memory units it had.
    pub free_smem_i: Vec<Signal<In, Bits<11>>>,
    /// Which slice is at which stage.
    phase: SlicePhase,
    /// Of each completion port, keeps completions until their SM is at stage U.
    port: Vec<FreePort>,
    /// The SMs, in groups of up to eight lanes.
    group: Vec<SmGroup>,
    /// Of each requester, what its CTA needs, on the way through the stages.
    need: Vec<NeedStages>,
    /// What the CTAs of both requesters need together, on the way through the stages.
    sum: Vec<SumStages>,
    /// Of each completion port, a completion is given back in this cycle.
    taken: Vec<Signal<Local, Bit>>,
    /// HOLDS: `wake_i` of the cycle before.
    woken: Vec<Register<Bit>>,
    /// HOLDS: a CTA is at stage P.
    asked_p: Vec<Register<Bit>>,
    /// HOLDS: a CTA is at stage U.
    asked_u: Vec<Register<Bit>>,
    /// HOLDS: a CTA is at stage C.
    asked: Vec<Signal<Local, Bit>>,
    /// `run_o`, to be read here.
    run: Vec<Signal<Local, Bit>>,
    zero: Constant<Bits<8>>,
    _requesters: usize,
    _sums: usize,
    _groups: usize,
    _groups_b: usize,
    _holds: usize,
}

impl SmOccupancy {
    /// The array for one or two requesters.
    pub fn new(params: SmParams, requesters: Requesters) -> Self {
        let requesters = requesters.count();
        let limits = params.limits();
        let sums = requesters - 1;
        let (groups, holds) = (groups(params), usize::from(params.holds()));
        Self {
            info: Info::module("sm_occupancy", "SM resources as in the CUDA occupancy rules")
                .fields::<Self>(&["free"])
                .param("SMS", "s", params.sms())
                .param("REQUESTERS", "q", requesters)
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into())
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            wake_i: bank(holds),
            run_o: bank(holds),
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
            free_valid_i: bank(DONE_PORTS),
            free_ready_o: bank(DONE_PORTS),
            free_sm_i: bank(DONE_PORTS),
            free_warps_i: bank(DONE_PORTS),
            free_regs_i: bank(DONE_PORTS),
            free_smem_i: bank(DONE_PORTS),
            phase: SlicePhase::new(holds),
            port: (0..DONE_PORTS).map(|p| FreePort::new(params, p)).collect(),
            group: (0..groups).map(|g| SmGroup::new(params, requesters, g)).collect(),
            need: bank(requesters),
            sum: (0..sums).map(|_| SumStages::new(limits)).collect(),
            taken: bank(DONE_PORTS),
            woken: bank(holds),
            asked_p: bank(holds),
            asked_u: bank(holds),
            asked: bank(holds),
            run: bank(holds),
            zero: number(0),
            _requesters: requesters,
            _sums: sums,
            _groups: groups,
            _groups_b: groups * sums,
            _holds: holds,
        }
    }
}

impl Logic for SmOccupancy {
    #[hdl_gen]
    fn update(&mut self) {
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();

        for h in 0..self._holds {
            comment!(
                "The slices go on while a CTA is at any stage, a completion is kept, or SMs still become"
            );
            comment!("empty after reset; and where they are woken. All of it is in registers.");
            self.woken[h].clk_i.next = self.clk_i.val();
            self.woken[h].rst_ni.next = self.rst_ni.val();
            self.woken[h].d_i.next = self.wake_i[h].val();
            self.asked_p[h].clk_i.next = self.clk_i.val();
            self.asked_p[h].rst_ni.next = self.rst_ni.val();
            self.asked_u[h].clk_i.next = self.clk_i.val();
            self.asked_u[h].rst_ni.next = self.rst_ni.val();
            self.asked[h].next = false;
            for r in 0..self._requesters {
                self.asked[h].next = self.asked[h].val() | self.need[r].valid_o.val();
            }
            self.asked_p[h].d_i.next = self.asked[h].val();
            self.asked_u[h].d_i.next = self.asked_p[h].q_o.val();
            self.run[h].next = self.phase.init_o.val()
                | self.woken[h].q_o.val()
                | self.asked[h].val()
                | self.asked_p[h].q_o.val()
                | self.asked_u[h].q_o.val();
            for p in 0..4 {
                self.run[h].next = self.run[h].val() | self.port[p].keeps_o[h].val();
            }
            self.run_o[h].next = self.run[h].val();
            self.phase.run_i[h].next = self.run[h].val();
            for p in 0..4 {
                self.port[p].run_i[h].next = self.run[h].val();
            }
        }

        comment!("Needs, and their sums, go with the slices from stage to stage.");
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

        comment!("Completions: all SMs of a lane have the same number mod 4, so the lanes b of each group");
        comment!("with b mod 4 = p belong to port p.");
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
            for h in 0..self._holds {
                self.group[g].run_i[h].next = self.run[h].val();
            }
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
            comment!("A requester without a CTA may use no lane.");
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
        for p in 0..4 {
            self.port[p].taken_i.next = self.taken[p].val();
        }
    }
}

crate::flat_ports!(impl [] for SmOccupancy:
    clk_i rst_ni wake_i run_o need_valid_i need_warps_i need_regs_i need_smem_i allow_a_i allow_b_i fit_a_o fit_b_o place_a_i place_b_i
    free_valid_i free_ready_o free_sm_i free_warps_i free_regs_i free_smem_i);

//! The dispatch part of the front end: arbiter and SM array.

use crate::cta_arbiter_typed::CtaArbiter;
use crate::info::Info;
use crate::params::{DONE_PORTS, DispatchParams, ID_BITS};
use crate::parts::bank;
use crate::sm_occupancy::{SmOccupancy, groups};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// `cta_arbiter_single` or `cta_arbiter_typed` with its `sm_occupancy`; ports are theirs.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaDispatch<const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on from the next cycle, though no CTA is looked at.
    pub wake_i: Vec<Signal<In, Bit>>,
    /// HOLDS: they go on at the end of this cycle.
    pub run_o: Vec<Signal<Out, Bit>>,
    /// A kernel comes.
    pub kern_valid_i: Vec<Signal<In, Bit>>,
    /// It is taken at the end of this cycle.
    pub kern_ready_o: Vec<Signal<Out, Bit>>,
    /// Its window slot.
    pub kern_slot_i: Vec<Signal<In, Bits<LN>>>,
    /// Its id.
    pub kern_id_i: Vec<Signal<In, Bits<ID_BITS>>>,
    /// CTAs of its grid, at least 1.
    pub kern_grid_i: Vec<Signal<In, Bits<32>>>,
    /// 1: TENSOR.
    pub kern_type_i: Vec<Signal<In, Bit>>,
    /// Its SM partition.
    pub kern_part_i: Vec<Signal<In, Bits<3>>>,
    /// Warps that each CTA needs.
    pub kern_warps_i: Vec<Signal<In, Bits<7>>>,
    /// Register units that each CTA needs.
    pub kern_regs_i: Vec<Signal<In, Bits<9>>>,
    /// Shared memory units that each CTA needs.
    pub kern_smem_i: Vec<Signal<In, Bits<11>>>,
    /// Partition of the CTA that is to be looked at next.
    pub part_o: Vec<Signal<Out, Bits<3>>>,
    /// Channel 0: lanes that the CTA of the cycle before may use.
    pub allow_a_i: Vec<Signal<In, Bits<8>>>,
    /// Channel 1: lanes that the CTA of the cycle before may use.
    pub allow_b_i: Vec<Signal<In, Bits<8>>>,
    /// A CTA goes to an SM.
    pub cta_valid_o: Vec<Signal<Out, Bit>>,
    /// It is taken at the end of this cycle.
    pub cta_ready_i: Vec<Signal<In, Bit>>,
    /// The SM.
    pub cta_sm_o: Vec<Signal<Out, Bits<8>>>,
    /// Its kernel's window slot.
    pub cta_slot_o: Vec<Signal<Out, Bits<LN>>>,
    /// Its kernel's id.
    pub cta_id_o: Vec<Signal<Out, Bits<ID_BITS>>>,
    /// Its number in the grid, from 0.
    pub cta_index_o: Vec<Signal<Out, Bits<32>>>,
    /// 1: TENSOR.
    pub cta_type_o: Vec<Signal<Out, Bit>>,
    /// A CTA was looked at in this cycle and no lane had room.
    pub no_room_o: Vec<Signal<Out, Bit>>,
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
    /// Picks the next CTA, and an SM among those where it fits.
    arbiter: CtaArbiter<LN>,
    /// What is free on each SM, and where a CTA fits.
    sms: SmOccupancy,
    _channels: usize,
    _ports: usize,
    _groups: usize,
    _groups_b: usize,
    _holds: usize,
}

impl<const LN: usize> CtaDispatch<LN> {
    /// The dispatch part with `params`, whose slots must have numbers of `LN` bits.
    pub fn new(params: DispatchParams) -> Self {
        let channels = params.arbiter().channels();
        let groups = groups(params.sms());
        let groups_b = groups * (channels - 1);
        let ports = params.cta_ports();
        let (limits, holds) = (params.sms().limits(), usize::from(params.sms().holds()));
        Self {
            info: Info::module(&format!("cta_dispatch_{}", params.arbiter().name()), "")
                .fields::<Self>(&["kern", "cta", "free"])
                .param("SLOTS", "n", params.slots())
                .param("SMS", "s", params.sms().sms())
                .param("ACTIVE", "k", params.arbiter().active())
                .param_unless(1, "PLACES", "p", params.places())
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into())
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            wake_i: bank(holds),
            run_o: bank(holds),
            kern_valid_i: bank(channels),
            kern_ready_o: bank(channels),
            kern_slot_i: bank(channels),
            kern_id_i: bank(channels),
            kern_grid_i: bank(channels),
            kern_type_i: bank(channels),
            kern_part_i: bank(channels),
            kern_warps_i: bank(channels),
            kern_regs_i: bank(channels),
            kern_smem_i: bank(channels),
            part_o: bank(channels),
            allow_a_i: bank(groups),
            allow_b_i: bank(groups_b),
            cta_valid_o: bank(ports),
            cta_ready_i: bank(ports),
            cta_sm_o: bank(ports),
            cta_slot_o: bank(ports),
            cta_id_o: bank(ports),
            cta_index_o: bank(ports),
            cta_type_o: bank(ports),
            no_room_o: bank(channels),
            free_valid_i: bank(DONE_PORTS),
            free_ready_o: bank(DONE_PORTS),
            free_sm_i: bank(DONE_PORTS),
            free_warps_i: bank(DONE_PORTS),
            free_regs_i: bank(DONE_PORTS),
            free_smem_i: bank(DONE_PORTS),
            arbiter: CtaArbiter::new(params),
            sms: SmOccupancy::new(params.sms(), params.arbiter().requesters()),
            _channels: channels,
            _ports: ports,
            _groups: groups,
            _groups_b: groups_b,
            _holds: holds,
        }
    }
}

impl<const LN: usize> Logic for CtaDispatch<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.arbiter.clk_i.next = self.clk_i.val();
        self.arbiter.rst_ni.next = self.rst_ni.val();
        self.sms.clk_i.next = self.clk_i.val();
        self.sms.rst_ni.next = self.rst_ni.val();
        for h in 0..self._holds {
            self.sms.wake_i[h].next = self.wake_i[h].val();
            self.arbiter.run_i[h].next = self.sms.run_o[h].val();
            self.run_o[h].next = self.sms.run_o[h].val();
        }
        for c in 0..self._channels {
            self.arbiter.kern_valid_i[c].next = self.kern_valid_i[c].val();
            self.arbiter.kern_slot_i[c].next = self.kern_slot_i[c].val();
            self.arbiter.kern_id_i[c].next = self.kern_id_i[c].val();
            self.arbiter.kern_grid_i[c].next = self.kern_grid_i[c].val();
            self.arbiter.kern_type_i[c].next = self.kern_type_i[c].val();
            self.arbiter.kern_part_i[c].next = self.kern_part_i[c].val();
            self.arbiter.kern_warps_i[c].next = self.kern_warps_i[c].val();
            self.arbiter.kern_regs_i[c].next = self.kern_regs_i[c].val();
            self.arbiter.kern_smem_i[c].next = self.kern_smem_i[c].val();
            self.kern_ready_o[c].next = self.arbiter.kern_ready_o[c].val();

            self.sms.need_valid_i[c].next = self.arbiter.need_valid_o[c].val();
            self.sms.need_warps_i[c].next = self.arbiter.need_warps_o[c].val();
            self.sms.need_regs_i[c].next = self.arbiter.need_regs_o[c].val();
            self.sms.need_smem_i[c].next = self.arbiter.need_smem_o[c].val();
            self.part_o[c].next = self.arbiter.need_part_o[c].val();

            self.no_room_o[c].next = self.arbiter.no_room_o[c].val();
        }
        for p in 0..self._ports {
            self.arbiter.cta_ready_i[p].next = self.cta_ready_i[p].val();
            self.cta_valid_o[p].next = self.arbiter.cta_valid_o[p].val();
            self.cta_sm_o[p].next = self.arbiter.cta_sm_o[p].val();
            self.cta_slot_o[p].next = self.arbiter.cta_slot_o[p].val();
            self.cta_id_o[p].next = self.arbiter.cta_id_o[p].val();
            self.cta_index_o[p].next = self.arbiter.cta_index_o[p].val();
            self.cta_type_o[p].next = self.arbiter.cta_type_o[p].val();
        }
        for g in 0..self._groups {
            self.sms.allow_a_i[g].next = self.allow_a_i[g].val();
            self.arbiter.fit_a_i[g].next = self.sms.fit_a_o[g].val();
            self.sms.place_a_i[g].next = self.arbiter.place_a_o[g].val();
        }
        for g in 0..self._groups_b {
            self.sms.allow_b_i[g].next = self.allow_b_i[g].val();
            self.arbiter.fit_b_i[g].next = self.sms.fit_b_o[g].val();
            self.sms.place_b_i[g].next = self.arbiter.place_b_o[g].val();
        }
        for p in 0..4 {
            self.sms.free_valid_i[p].next = self.free_valid_i[p].val();
            self.sms.free_sm_i[p].next = self.free_sm_i[p].val();
            self.sms.free_warps_i[p].next = self.free_warps_i[p].val();
            self.sms.free_regs_i[p].next = self.free_regs_i[p].val();
            self.sms.free_smem_i[p].next = self.free_smem_i[p].val();
            self.free_ready_o[p].next = self.sms.free_ready_o[p].val();
        }
    }
}

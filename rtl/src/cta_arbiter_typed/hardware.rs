//! The hardware of both CTA arbiters: one channel, or two.

use super::channel::{CHANNELS, CtaChannel};
use crate::info::Info;
use crate::params::{ArbiterKind, DispatchParams, ID_BITS};
use crate::parts::bank;
use crate::sm_occupancy::groups;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// `cta_arbiter_single` or `cta_arbiter_typed`: see the modules' pages. Channel 0 has the lane ports `a`, channel 1 `b`.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaArbiter<const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
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
    /// There is a CTA to be looked at next.
    pub need_valid_o: Vec<Signal<Out, Bit>>,
    /// Warps it needs.
    pub need_warps_o: Vec<Signal<Out, Bits<7>>>,
    /// Register units it needs.
    pub need_regs_o: Vec<Signal<Out, Bits<9>>>,
    /// Shared memory units it needs.
    pub need_smem_o: Vec<Signal<Out, Bits<11>>>,
    /// Its partition.
    pub need_part_o: Vec<Signal<Out, Bits<3>>>,
    /// Channel 0: lanes where the CTA of two cycles before fits.
    pub fit_a_i: Vec<Signal<In, Bits<8>>>,
    /// Channel 1: lanes where the CTA of two cycles before fits.
    pub fit_b_i: Vec<Signal<In, Bits<8>>>,
    /// Channel 0: of each bank one-hot or zero, the lanes that get one each.
    pub place_a_o: Vec<Signal<Out, Bits<8>>>,
    /// Channel 1: of each bank one-hot or zero, the lanes that get one each.
    pub place_b_o: Vec<Signal<Out, Bits<8>>>,
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
    /// One arbiter per type of CTA, or one for all.
    channel: Vec<CtaChannel<LN>>,
    _channels: usize,
    /// A range of one number, for the indices of ports: they can be made of numbers that a loop gives, and not of fields.
    _places: usize,
    _past_places: usize,
    _groups: usize,
    _groups_b: usize,
    _holds: usize,
}

impl<const LN: usize> CtaArbiter<LN> {
    /// The arbiter with `params`, whose slots must have numbers of `LN` bits.
    pub fn new(params: DispatchParams) -> Self {
        let (kind, sms) = (params.arbiter(), params.sms());
        let channels = kind.channels();
        let groups = groups(sms);
        let groups_b = groups * (channels - 1);
        let ports = params.cta_ports();
        let info = match kind {
            ArbiterKind::Single => Info::module("cta_arbiter_single", ""),
            ArbiterKind::Typed { .. } => {
                Info::module("cta_arbiter_typed", "Kitsune (Davies et al., 2025), figure 2")
            }
        };
        let info =
            info.fields::<Self>(CHANNELS).param("SLOTS", "n", params.slots()).param("SMS", "s", sms.sms());
        let info = match kind {
            ArbiterKind::Single => info,
            ArbiterKind::Typed { active } => info.param("ACTIVE", "k", active),
        };
        let holds = usize::from(sms.holds());
        let info =
            info.param_unless(1, "PLACES", "p", params.places()).param_unless(0, "HOLDS", "hold", holds);
        Self {
            info,
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
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
            need_valid_o: bank(channels),
            need_warps_o: bank(channels),
            need_regs_o: bank(channels),
            need_smem_o: bank(channels),
            need_part_o: bank(channels),
            fit_a_i: bank(groups),
            fit_b_i: bank(groups_b),
            place_a_o: bank(groups),
            place_b_o: bank(groups_b),
            cta_valid_o: bank(ports),
            cta_ready_i: bank(ports),
            cta_sm_o: bank(ports),
            cta_slot_o: bank(ports),
            cta_id_o: bank(ports),
            cta_index_o: bank(ports),
            cta_type_o: bank(ports),
            no_room_o: bank(channels),
            channel: (0..channels).map(|_| CtaChannel::new(params)).collect(),
            _channels: channels,
            _places: params.places(),
            _past_places: params.places() + 1,
            _groups: groups,
            _groups_b: groups_b,
            _holds: holds,
        }
    }
}

impl<const LN: usize> Logic for CtaArbiter<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        for c in 0..self._channels {
            self.channel[c].clk_i.next = self.clk_i.val();
            self.channel[c].rst_ni.next = self.rst_ni.val();
            for h in 0..self._holds {
                self.channel[c].run_i[h].next = self.run_i[h].val();
            }
            self.channel[c].kern_valid_i.next = self.kern_valid_i[c].val();
            self.channel[c].kern_slot_i.next = self.kern_slot_i[c].val();
            self.channel[c].kern_id_i.next = self.kern_id_i[c].val();
            self.channel[c].kern_grid_i.next = self.kern_grid_i[c].val();
            self.channel[c].kern_type_i.next = self.kern_type_i[c].val();
            self.channel[c].kern_part_i.next = self.kern_part_i[c].val();
            self.channel[c].kern_warps_i.next = self.kern_warps_i[c].val();
            self.channel[c].kern_regs_i.next = self.kern_regs_i[c].val();
            self.channel[c].kern_smem_i.next = self.kern_smem_i[c].val();
            self.kern_ready_o[c].next = self.channel[c].kern_ready_o.val();
            self.need_valid_o[c].next = self.channel[c].need_valid_o.val();
            self.need_warps_o[c].next = self.channel[c].need_warps_o.val();
            self.need_regs_o[c].next = self.channel[c].need_regs_o.val();
            self.need_smem_o[c].next = self.channel[c].need_smem_o.val();
            self.need_part_o[c].next = self.channel[c].need_part_o.val();
            self.no_room_o[c].next = self.channel[c].no_room_o.val();
            comment!("Port p of channel c has the number c * PLACES + p.");
            for places in self._places..self._past_places {
                for p in 0..self._places {
                    self.channel[c].cta_ready_i[p].next = self.cta_ready_i[c * places + p].val();
                    self.cta_valid_o[c * places + p].next = self.channel[c].cta_valid_o[p].val();
                    self.cta_sm_o[c * places + p].next = self.channel[c].cta_sm_o[p].val();
                    self.cta_slot_o[c * places + p].next = self.channel[c].cta_slot_o[p].val();
                    self.cta_id_o[c * places + p].next = self.channel[c].cta_id_o[p].val();
                    self.cta_index_o[c * places + p].next = self.channel[c].cta_index_o[p].val();
                    self.cta_type_o[c * places + p].next = self.channel[c].cta_type_o[p].val();
                }
            }
        }
        for g in 0..self._groups {
            self.channel[0].fit_i[g].next = self.fit_a_i[g].val();
            self.place_a_o[g].next = self.channel[0].place_o[g].val();
        }
        for g in 0..self._groups_b {
            self.channel[1].fit_i[g].next = self.fit_b_i[g].val();
            self.place_b_o[g].next = self.channel[1].place_o[g].val();
        }
    }
}

crate::flat_ports!(impl [const LN: usize] for CtaArbiter<LN>:
    clk_i rst_ni run_i kern_valid_i kern_ready_o kern_slot_i kern_id_i kern_grid_i kern_type_i kern_part_i kern_warps_i kern_regs_i
    kern_smem_i need_valid_o need_warps_o need_regs_o need_smem_o need_part_o fit_a_i fit_b_i place_a_o place_b_o
    cta_valid_o cta_ready_i cta_sm_o cta_slot_o cta_id_o cta_index_o cta_type_o no_room_o);

//! One channel of a CTA arbiter: up to four kernels of one type, one, two or four CTAs of one of them per cycle.

use super::banks::BankTurns;
use super::counts::CtaCount;
use super::kernels::ActiveKernels;
use super::lanes::LanePicker;
use super::sm_number::SmNumber;
use crate::info::Info;
use crate::params::{DispatchParams, ID_BITS};
use crate::parts::{PayloadRegister, Register, bank, number, numbers};
use crate::sm_occupancy::{SlicePhase, groups};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Ports of a channel; the arbiter's are the same, one set per channel, and of the CTAs one set per CTA port.
pub const CHANNELS: &[&str] = &["kern", "cta"];

/// A channel: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CtaChannel<const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// A kernel comes.
    pub kern_valid_i: Signal<In, Bit>,
    /// It is taken at the end of this cycle.
    pub kern_ready_o: Signal<Out, Bit>,
    /// Its window slot.
    pub kern_slot_i: Signal<In, Bits<LN>>,
    /// Its id.
    pub kern_id_i: Signal<In, Bits<ID_BITS>>,
    /// CTAs of its grid, at least 1.
    pub kern_grid_i: Signal<In, Bits<32>>,
    /// 1: TENSOR.
    pub kern_type_i: Signal<In, Bit>,
    /// Its SM partition.
    pub kern_part_i: Signal<In, Bits<3>>,
    /// Warps that each CTA needs.
    pub kern_warps_i: Signal<In, Bits<7>>,
    /// Register units that each CTA needs.
    pub kern_regs_i: Signal<In, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub kern_smem_i: Signal<In, Bits<11>>,
    /// There is a CTA to be looked at next.
    pub need_valid_o: Signal<Out, Bit>,
    /// Warps it needs.
    pub need_warps_o: Signal<Out, Bits<7>>,
    /// Register units it needs.
    pub need_regs_o: Signal<Out, Bits<9>>,
    /// Shared memory units it needs.
    pub need_smem_o: Signal<Out, Bits<11>>,
    /// Its partition.
    pub need_part_o: Signal<Out, Bits<3>>,
    /// Lanes where the CTA of two cycles before fits.
    pub fit_i: Vec<Signal<In, Bits<8>>>,
    /// Of each bank one-hot or zero: the lanes that get one each.
    pub place_o: Vec<Signal<Out, Bits<8>>>,
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
    pub no_room_o: Signal<Out, Bit>,
    /// The kernels, and which of them is looked at.
    kernels: ActiveKernels<LN>,
    /// Of each entry, how many CTAs are left.
    count: Vec<CtaCount>,
    /// Of each bank, picks the lane that gets a CTA.
    picker: Vec<LanePicker>,
    /// Of each bank, the number of the SM in that lane.
    number: Vec<SmNumber>,
    /// Which bank gets which CTA.
    turns: Vec<BankTurns>,
    /// Which slice is at which stage.
    phase: SlicePhase,
    /// The entry whose CTAs were not all taken in the cycle before and are held, one-hot, or none.
    held: Register<Bits<4>>,
    /// Of each port, the SM of the CTA that is held.
    held_sm: Vec<PayloadRegister<Bits<8>>>,
    /// Of each port, a CTA is held.
    held_on: Vec<Register<Bit>>,
    /// Of each port, how many of the CTAs that were placed with it come before it in the grid.
    held_rank: Vec<PayloadRegister<Bits<2>>>,
    /// How many CTAs were placed with those that are held.
    held_count: Vec<PayloadRegister<Bits<3>>>,
    /// The entry of whose CTA `fit_i` speaks, one-hot, or none.
    looks: Signal<Local, Bits<4>>,
    /// There is such a CTA, and none is held.
    go: Signal<Local, Bit>,
    /// The entry whose CTAs are held, or else the one that is looked at, one-hot, or none.
    chosen: Signal<Local, Bits<4>>,
    /// A lane of any bank has room.
    room: Signal<Local, Bit>,
    /// Banks that have a lane for a CTA.
    wanted: Signal<Local, Bits<4>>,
    /// Banks that get one.
    granted: Signal<Local, Bits<4>>,
    /// `place_o`, to be read here.
    place: Vec<Signal<Local, Bits<8>>>,
    /// The entry whose CTAs are on the channel, one-hot, or none.
    goes: Signal<Local, Bits<4>>,
    /// A CTA on the channel is not taken.
    stalls: Signal<Local, Bit>,
    /// The entry whose CTAs are all taken in this cycle, one-hot, or none.
    moves: Signal<Local, Bits<4>>,
    /// The entry whose last CTA is taken in this cycle, one-hot, or none.
    finished: Signal<Local, Bits<4>>,
    /// Number in the grid of the first CTA that was placed with those on the channel, or zero.
    index: Signal<Local, Bits<32>>,
    /// Numbers of those after it, by how many come before them.
    indices: Vec<Signal<Local, Bits<32>>>,
    /// Bit r: more than r CTAs are left of the kernel that is looked at.
    more: Signal<Local, Bits<4>>,
    /// How many CTAs were placed together, of which those on the channel are left.
    number_placed: Signal<Local, Bits<3>>,
    /// Of each port, a CTA is on it.
    on: Vec<Signal<Local, Bit>>,
    /// Of each port, how many of the CTAs that were placed with it come before it.
    rank: Vec<Signal<Local, Bits<2>>>,
    /// Of each port, the SM of the CTA on it, or zero.
    sm: Vec<Signal<Local, Bits<8>>>,
    none: Constant<Bits<4>>,
    one_placed: Constant<Bits<3>>,
    /// Entries that there are.
    possible: Constant<Bits<4>>,
    /// Of each bank, its lanes in every group.
    lanes: Vec<Constant<Bits<8>>>,
    no_lane: Constant<Bits<8>>,
    /// Of each bank, slices with one SM less than another slice of any bank.
    short: Vec<Constant<Bits<3>>>,
    no_slot: Constant<Bits<LN>>,
    no_id: Constant<Bits<ID_BITS>>,
    no_index: Constant<Bits<32>>,
    ranks: Vec<Constant<Bits<2>>>,
    steps: Vec<Constant<Bits<32>>>,
    _single: usize,
    _several: usize,
    _active: usize,
    _active_single: usize,
    _active_several: usize,
    _banks: usize,
    _groups: usize,
    _uneven: usize,
    _wraps: usize,
    _holds: usize,
}

impl<const LN: usize> CtaChannel<LN> {
    /// A channel of the arbiter with `params`.
    pub fn new(params: DispatchParams) -> Self {
        let (sms, active, banks) = (params.sms(), params.arbiter().active(), params.places());
        let (groups, holds) = (groups(sms), usize::from(sms.holds()));
        let shorts: Vec<u128> = (0..banks).map(|b| sms.short_slices(banks, b)).collect();
        let uneven = usize::from(shorts.iter().any(|short| *short != 0));
        let several = usize::from(banks > 1);
        let wraps = usize::from(active > 1);
        let among_several = |count: usize| count * several;
        let info = Info::module("cta_channel", "Kitsune (Davies et al., 2025), figure 2")
            .fields::<Self>(CHANNELS)
            .param("SLOT_BITS", "b", LN)
            .param("LANES", "l", sms.lanes())
            .param("ACTIVE", "k", active)
            .param_unless(1, "PLACES", "p", banks);
        // Lanes and places say nothing of which slices are short.
        let info = match banks {
            1 => info.param_if("SHORT", "h", shorts[0] as usize),
            _ => info.param("SMS", "s", sms.sms()),
        };
        let info = info.param_unless(0, "HOLDS", "hold", holds);
        Self {
            info,
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            kern_valid_i: Signal::default(),
            kern_ready_o: Signal::default(),
            kern_slot_i: Signal::default(),
            kern_id_i: Signal::default(),
            kern_grid_i: Signal::default(),
            kern_type_i: Signal::default(),
            kern_part_i: Signal::default(),
            kern_warps_i: Signal::default(),
            kern_regs_i: Signal::default(),
            kern_smem_i: Signal::default(),
            need_valid_o: Signal::default(),
            need_warps_o: Signal::default(),
            need_regs_o: Signal::default(),
            need_smem_o: Signal::default(),
            need_part_o: Signal::default(),
            fit_i: bank(groups),
            place_o: bank(groups),
            cta_valid_o: bank(banks),
            cta_ready_i: bank(banks),
            cta_sm_o: bank(banks),
            cta_slot_o: bank(banks),
            cta_id_o: bank(banks),
            cta_index_o: bank(banks),
            cta_type_o: bank(banks),
            no_room_o: Signal::default(),
            kernels: ActiveKernels::new(active),
            count: bank(active),
            // The first bank stands for all where kernels take turns.
            picker: (0..banks)
                .map(|b| LanePicker::new(groups, uneven, wraps * usize::from(b == 0), holds))
                .collect(),
            number: (0..banks).map(|_| SmNumber::new(sms)).collect(),
            turns: (0..several).map(|_| BankTurns::new(banks)).collect(),
            phase: SlicePhase::new(holds),
            held: Register::default(),
            held_sm: bank(banks),
            held_on: bank(among_several(banks)),
            held_rank: bank(among_several(banks)),
            held_count: bank(several),
            looks: Signal::default(),
            go: Signal::default(),
            chosen: Signal::default(),
            room: Signal::default(),
            wanted: Signal::default(),
            granted: Signal::default(),
            place: bank(groups),
            goes: Signal::default(),
            stalls: Signal::default(),
            moves: Signal::default(),
            finished: Signal::default(),
            index: Signal::default(),
            indices: bank(among_several(banks)),
            more: Signal::default(),
            number_placed: Signal::default(),
            on: bank(among_several(banks)),
            rank: bank(among_several(banks)),
            sm: bank(banks),
            none: number(0),
            one_placed: number(1),
            possible: number((1 << active) - 1),
            lanes: numbers(banks, |b| (b..8).step_by(banks).fold(0, |lanes, lane| lanes | 1 << lane)),
            no_lane: number(0),
            short: numbers(banks, |b| shorts[b]),
            no_slot: number(0),
            no_id: number(0),
            no_index: number(0),
            ranks: numbers(banks, |b| b as u128),
            steps: numbers(banks, |b| b as u128),
            _single: 1 - several,
            _several: several,
            _active: active,
            _active_single: active * (1 - several),
            _active_several: active * several,
            _banks: banks,
            _groups: groups,
            _uneven: uneven,
            _wraps: wraps,
            _holds: holds,
        }
    }
}

impl<const LN: usize> Logic for CtaChannel<LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.kernels.clk_i.next = self.clk_i.val();
        self.kernels.rst_ni.next = self.rst_ni.val();
        self.held.clk_i.next = self.clk_i.val();
        self.held.rst_ni.next = self.rst_ni.val();
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();
        for h in 0..self._holds {
            self.phase.run_i[h].next = self.run_i[h].val();
            for b in 0..self._banks {
                self.picker[b].run_i[h].next = self.run_i[h].val();
            }
        }

        comment!("Kernels come, and one of them is looked at.");
        self.kernels.kern_valid_i.next = self.kern_valid_i.val();
        self.kernels.kern_slot_i.next = self.kern_slot_i.val();
        self.kernels.kern_id_i.next = self.kern_id_i.val();
        self.kernels.kern_type_i.next = self.kern_type_i.val();
        self.kernels.kern_part_i.next = self.kern_part_i.val();
        self.kernels.kern_warps_i.next = self.kern_warps_i.val();
        self.kernels.kern_regs_i.next = self.kern_regs_i.val();
        self.kernels.kern_smem_i.next = self.kern_smem_i.val();
        self.kern_ready_o.next = self.kernels.kern_ready_o.val();
        self.need_valid_o.next = self.kernels.need_valid_o.val();
        self.need_warps_o.next = self.kernels.need_warps_o.val();
        self.need_regs_o.next = self.kernels.need_regs_o.val();
        self.need_smem_o.next = self.kernels.need_smem_o.val();
        self.need_part_o.next = self.kernels.need_part_o.val();
        for i in 0..self._wraps {
            self.kernels.wraps_i[i].next =
                self.picker[0].wraps_o[i].val() & self.phase.at_p_o.val().get_bit(0);
        }

        comment!("Two cycles later: which banks have room.");
        self.looks.next = self.kernels.looks_o.val();
        self.go.next = self.looks.val().any() & (!self.held.q_o.val().any());
        self.chosen.next = self.held.q_o.val();
        if self.go.val() {
            self.chosen.next = self.looks.val();
        }
        self.room.next = false;
        self.wanted.next = self.none.val();
        for g in 0..self._groups {
            self.place[g].next = self.no_lane.val();
        }
        for b in 0..self._banks {
            self.picker[b].clk_i.next = self.clk_i.val();
            self.picker[b].rst_ni.next = self.rst_ni.val();
            self.picker[b].go_i.next = self.go.val();
            for g in 0..self._groups {
                self.picker[b].req_i[g].next = self.fit_i[g].val() & self.lanes[b].val();
                self.place[g].next = self.place[g].val() | self.picker[b].gnt_o[g].val();
            }
            for i in 0..self._uneven {
                self.picker[b].short_i[i].next = (self.phase.at_p_o.val() & self.short[b].val()).any();
            }
            self.room.next = self.room.val() | self.picker[b].room_o.val();
            self.wanted.next = self.wanted.val().replace_bit(b, self.picker[b].wants_o.val());
        }
        for g in 0..self._groups {
            self.place_o[g].next = self.place[g].val();
        }
        self.no_room_o.next = self.go.val() & (!self.room.val());

        comment!("Which of them get a CTA: as many as are left.");
        self.more.next = self.none.val();
        for k in 0..self._active_several {
            if self.looks.val().get_bit(k) {
                self.more.next = self.more.val() | self.count[k].more_o.val();
            }
        }
        self.granted.next = self.wanted.val();
        for t in 0..self._several {
            self.turns[t].clk_i.next = self.clk_i.val();
            self.turns[t].rst_ni.next = self.rst_ni.val();
            self.turns[t].wants_i.next = self.wanted.val();
            self.turns[t].more_i.next = self.more.val();
            self.granted.next = self.turns[t].gnt_o.val();
        }
        for b in 0..self._banks {
            self.picker[b].may_i.next = self.granted.val().get_bit(b);
        }
        self.goes.next = self.held.q_o.val() & self.possible.val();
        if self.granted.val().any() {
            self.goes.next = self.chosen.val() & self.possible.val();
        }

        comment!("CTAs that are not taken are held, and nothing is placed until they are; their entry moves");
        comment!("on where the last of them is taken.");
        self.stalls.next = false;
        self.number_placed.next = self.one_placed.val();
        for i in 0..self._single {
            self.stalls.next = !self.cta_ready_i[i].val();
        }
        for t in 0..self._several {
            for b in 0..self._banks {
                self.on[b].next = self.held_on[b].q_o.val() | self.granted.val().get_bit(b);
                self.stalls.next = self.stalls.val() | (self.on[b].val() & (!self.cta_ready_i[b].val()));
            }
            self.held_count[t].clk_i.next = self.clk_i.val();
            self.number_placed.next = self.turns[t].count_o.val();
            if self.held.q_o.val().any() {
                self.number_placed.next = self.held_count[t].q_o.val();
            }
            self.held_count[t].d_i.next = self.number_placed.val();
        }
        if self.stalls.val() {
            self.moves.next = self.none.val();
            self.held.d_i.next = self.goes.val();
        } else {
            self.moves.next = self.goes.val();
            self.held.d_i.next = self.none.val();
        }

        comment!("How many CTAs are left, and the number of the next.");
        self.index.next = self.no_index.val();
        self.finished.next = self.none.val();
        for k in 0..self._active {
            self.count[k].clk_i.next = self.clk_i.val();
            self.count[k].load_i.next = self.kernels.load_o.val().get_bit(k);
            self.count[k].grid_i.next = self.kern_grid_i.val();
            self.count[k].place_i.next = self.moves.val().get_bit(k);
            self.count[k].number_i.next = self.number_placed.val();
            self.finished.next =
                self.finished.val().replace_bit(k, self.moves.val().get_bit(k) & self.count[k].last_o.val());
        }
        for k in 0..self._active_single {
            if self.goes.val().get_bit(k) {
                self.index.next = self.index.val() | self.count[k].index_o.val();
            }
        }
        for k in 0..self._active_several {
            if self.chosen.val().get_bit(k) {
                self.index.next = self.index.val() | self.count[k].index_o.val();
            }
        }
        self.kernels.finished_i.next = self.finished.val();
        self.kernels.goes_i.next = self.goes.val();

        comment!("A CTA is on the channel from the cycle on in which it is placed, until it is taken.");
        for b in 0..self._banks {
            self.number[b].at_p_i.next = self.phase.at_p_o.val();
            self.number[b].low_i.next = self.picker[b].low_o.val();
            self.number[b].high_i.next = self.picker[b].high_o.val();
            self.number[b].place_i.next = self.picker[b].place_o.val();
            self.held_sm[b].clk_i.next = self.clk_i.val();
            self.sm[b].next = self.number[b].sm_o.val();
        }
        for i in 0..self._single {
            comment!("While one is held, none is picked.");
            if self.held.q_o.val().any() {
                self.sm[i].next = self.sm[i].val() | self.held_sm[i].q_o.val();
            }
            self.held_sm[i].d_i.next = self.sm[i].val();
            self.cta_sm_o[i].next = self.sm[i].val();
            self.cta_valid_o[i].next = self.held.q_o.val().any() | self.granted.val().any();
            self.cta_slot_o[i].next = self.kernels.slot_o.val();
            self.cta_id_o[i].next = self.kernels.id_o.val();
            self.cta_index_o[i].next = self.index.val();
            self.cta_type_o[i].next = self.kernels.type_o.val();
        }
        for t in 0..self._several {
            for b in 0..self._banks {
                self.indices[b].next = self.index.val() + self.steps[b].val();
            }
            for b in 0..self._banks {
                self.held_on[b].clk_i.next = self.clk_i.val();
                self.held_on[b].rst_ni.next = self.rst_ni.val();
                self.held_rank[b].clk_i.next = self.clk_i.val();
                comment!("While any is held, none is picked.");
                self.rank[b].next = self.turns[t].rank_o[b].val();
                if self.held_on[b].q_o.val() {
                    self.sm[b].next = self.sm[b].val() | self.held_sm[b].q_o.val();
                    self.rank[b].next = self.held_rank[b].q_o.val();
                }
                self.held_sm[b].d_i.next = self.sm[b].val();
                self.cta_sm_o[b].next = self.sm[b].val();
                self.held_rank[b].d_i.next = self.rank[b].val();
                self.held_on[b].d_i.next = self.on[b].val() & (!self.cta_ready_i[b].val());
                self.cta_valid_o[b].next = self.on[b].val();
                self.cta_slot_o[b].next = self.no_slot.val();
                self.cta_id_o[b].next = self.no_id.val();
                self.cta_type_o[b].next = self.on[b].val() & self.kernels.type_o.val();
                if self.on[b].val() {
                    self.cta_slot_o[b].next = self.kernels.slot_o.val();
                    self.cta_id_o[b].next = self.kernels.id_o.val();
                }
                comment!("Its number: that of the first, and how many come between.");
                self.cta_index_o[b].next = self.no_index.val();
                for r in 0..self._banks {
                    if self.on[b].val() & (self.rank[b].val() == self.ranks[r].val()) {
                        self.cta_index_o[b].next = self.indices[r].val();
                    }
                }
            }
        }
    }
}

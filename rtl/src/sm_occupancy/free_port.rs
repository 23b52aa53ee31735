//! One channel of ended CTAs: keeps each until its SM is at stage U.

use crate::info::{Info, PortDoc};
use crate::parts::{PayloadRegister, Register, bank, number, table};
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("valid_i", "free", "a CTA has ended"),
    ("ready_o", "free", "it is taken: nothing is kept for its slice"),
    ("sm_i", "free", "its SM"),
    ("warps_i", "free", "warps it had"),
    ("regs_i", "free", "register units it had"),
    ("smem_i", "free", "shared memory units it had"),
    ("at_u_i", "", "one-hot: the slice at stage U"),
    ("at_p_i", "", "the slice at stage P"),
    ("head_valid_o", "", "a CTA has ended on an SM of the slice at U"),
    ("head_base_o", "", "first SM of its lane"),
    ("head_warps_o", "", "its warps, negated"),
    ("head_regs_o", "", "its register units, negated"),
    ("head_smem_o", "", "its shared memory units, negated"),
    ("taken_i", "", "the SM gets them back in this cycle"),
    ("kept_valid_o", "", "one is kept for an SM of the slice at P"),
    ("kept_base_o", "", "first SM of its lane"),
];

/// Keeps one completion per slice.
#[derive(LogicBlock)]
pub struct FreePort {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A CTA has ended.
    pub valid_i: Signal<In, Bit>,
    /// It is taken.
    pub ready_o: Signal<Out, Bit>,
    /// Its SM.
    pub sm_i: Signal<In, Bits<8>>,
    /// Warps it had.
    pub warps_i: Signal<In, Bits<7>>,
    /// Register units it had.
    pub regs_i: Signal<In, Bits<9>>,
    /// Shared memory units it had.
    pub smem_i: Signal<In, Bits<11>>,
    /// The slice at U.
    pub at_u_i: Signal<In, Bits<3>>,
    /// The slice at P.
    pub at_p_i: Signal<In, Bits<3>>,
    /// There is one for the slice at U.
    pub head_valid_o: Signal<Out, Bit>,
    /// The first SM of its lane.
    pub head_base_o: Signal<Out, Bits<8>>,
    /// Its warps, negated, modulo 64.
    pub head_warps_o: Signal<Out, Bits<6>>,
    /// Its register units, negated, modulo 256.
    pub head_regs_o: Signal<Out, Bits<8>>,
    /// Its shared memory units, negated.
    pub head_smem_o: Signal<Out, Bits<11>>,
    /// It is given back.
    pub taken_i: Signal<In, Bit>,
    /// One is kept for the slice at P.
    pub kept_valid_o: Signal<Out, Bit>,
    /// The first SM of its lane.
    pub kept_base_o: Signal<Out, Bits<8>>,
    kept: Register<Bits<3>>,
    /// Of the SMs' numbers, the first of the lane: the slice is the place where it is kept.
    base: Vec<PayloadRegister<Bits<8>>>,
    warps: Vec<PayloadRegister<Bits<6>>>,
    regs: Vec<PayloadRegister<Bits<8>>>,
    smem: Vec<PayloadRegister<Bits<11>>>,
    slice: Signal<Local, Bits<3>>,
    ready: Signal<Local, Bit>,
    stored: Signal<Local, Bits<3>>,
    from_kept: Signal<Local, Bit>,
    lane_base: Signal<Local, Bits<8>>,
    less_warps: Signal<Local, Bits<6>>,
    less_regs: Signal<Local, Bits<8>>,
    less_smem: Signal<Local, Bits<11>>,
    head_base: Signal<Local, Bits<8>>,
    head_warps: Signal<Local, Bits<6>>,
    head_regs: Signal<Local, Bits<8>>,
    head_smem: Signal<Local, Bits<11>>,
    kept_base: Signal<Local, Bits<8>>,
    none: Constant<Bits<3>>,
    no_sm: Constant<Bits<8>>,
    one_sm: Constant<Bits<8>>,
    two_sms: Constant<Bits<8>>,
    no_warps: Constant<Bits<6>>,
    no_regs: Constant<Bits<8>>,
    no_smem: Constant<Bits<11>>,
    /// Bit s of table j: SM s is in slice j.
    in_slice: [Constant<Bits<256>>; 3],
}

impl Default for FreePort {
    fn default() -> Self {
        Self {
            info: Info::module("sm_free_port", "", PORTS),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            valid_i: Signal::default(),
            ready_o: Signal::default(),
            sm_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            at_u_i: Signal::default(),
            at_p_i: Signal::default(),
            head_valid_o: Signal::default(),
            head_base_o: Signal::default(),
            head_warps_o: Signal::default(),
            head_regs_o: Signal::default(),
            head_smem_o: Signal::default(),
            taken_i: Signal::default(),
            kept_valid_o: Signal::default(),
            kept_base_o: Signal::default(),
            kept: Register::default(),
            base: bank(3),
            warps: bank(3),
            regs: bank(3),
            smem: bank(3),
            slice: Signal::default(),
            ready: Signal::default(),
            stored: Signal::default(),
            from_kept: Signal::default(),
            lane_base: Signal::default(),
            less_warps: Signal::default(),
            less_regs: Signal::default(),
            less_smem: Signal::default(),
            head_base: Signal::default(),
            head_warps: Signal::default(),
            head_regs: Signal::default(),
            head_smem: Signal::default(),
            kept_base: Signal::default(),
            none: number(0),
            no_sm: number(0),
            one_sm: number(1),
            two_sms: number(2),
            no_warps: number(0),
            no_regs: number(0),
            no_smem: number(0),
            in_slice: std::array::from_fn(|j| table(|s| s % 3 == j)),
        }
    }
}

impl Logic for FreePort {
    #[hdl_gen]
    fn update(&mut self) {
        self.kept.clk_i.next = self.clk_i.val();
        self.kept.rst_ni.next = self.rst_ni.val();

        self.slice.next = self.none.val();
        for j in 0..3 {
            self.slice.next =
                self.slice.val().replace_bit(j, self.in_slice[j].val().get_bit(self.sm_i.val().index()));
        }
        self.ready.next = !(self.kept.q_o.val() & self.slice.val()).any();
        self.ready_o.next = self.ready.val();
        self.stored.next = self.kept.q_o.val();
        if self.valid_i.val() & self.ready.val() {
            self.stored.next = self.kept.q_o.val() | self.slice.val();
        }
        self.kept.d_i.next = self.stored.val();
        if self.taken_i.val() {
            self.kept.d_i.next = self.stored.val() & (!self.at_u_i.val());
        }

        self.lane_base.next = self.sm_i.val();
        if self.slice.val().get_bit(1) {
            self.lane_base.next = self.sm_i.val() - self.one_sm.val();
        }
        if self.slice.val().get_bit(2) {
            self.lane_base.next = self.sm_i.val() - self.two_sms.val();
        }
        self.less_warps.next = self.no_warps.val() - bit_cast::<6, 7>(self.warps_i.val());
        self.less_regs.next = self.no_regs.val() - bit_cast::<8, 9>(self.regs_i.val());
        self.less_smem.next = self.no_smem.val() - self.smem_i.val();
        self.from_kept.next = (self.kept.q_o.val() & self.at_u_i.val()).any();
        self.head_valid_o.next = (self.stored.val() & self.at_u_i.val()).any();
        self.head_base.next = self.no_sm.val();
        self.head_warps.next = self.no_warps.val();
        self.head_regs.next = self.no_regs.val();
        self.head_smem.next = self.no_smem.val();
        self.kept_base.next = self.no_sm.val();
        for j in 0..3 {
            self.base[j].clk_i.next = self.clk_i.val();
            self.warps[j].clk_i.next = self.clk_i.val();
            self.regs[j].clk_i.next = self.clk_i.val();
            self.smem[j].clk_i.next = self.clk_i.val();
            if self.kept.q_o.val().get_bit(j) | (!self.slice.val().get_bit(j)) {
                self.base[j].d_i.next = self.base[j].q_o.val();
                self.warps[j].d_i.next = self.warps[j].q_o.val();
                self.regs[j].d_i.next = self.regs[j].q_o.val();
                self.smem[j].d_i.next = self.smem[j].q_o.val();
            } else {
                self.base[j].d_i.next = self.lane_base.val();
                self.warps[j].d_i.next = self.less_warps.val();
                self.regs[j].d_i.next = self.less_regs.val();
                self.smem[j].d_i.next = self.less_smem.val();
            }
            if self.at_u_i.val().get_bit(j) {
                self.head_base.next = self.head_base.val() | self.base[j].q_o.val();
                self.head_warps.next = self.head_warps.val() | self.warps[j].q_o.val();
                self.head_regs.next = self.head_regs.val() | self.regs[j].q_o.val();
                self.head_smem.next = self.head_smem.val() | self.smem[j].q_o.val();
            }
            if self.at_p_i.val().get_bit(j) {
                self.kept_base.next = self.kept_base.val() | self.base[j].q_o.val();
            }
        }
        if self.from_kept.val() {
            self.head_base_o.next = self.head_base.val();
            self.head_warps_o.next = self.head_warps.val();
            self.head_regs_o.next = self.head_regs.val();
            self.head_smem_o.next = self.head_smem.val();
        } else {
            self.head_base_o.next = self.lane_base.val();
            self.head_warps_o.next = self.less_warps.val();
            self.head_regs_o.next = self.less_regs.val();
            self.head_smem_o.next = self.less_smem.val();
        }
        self.kept_valid_o.next = (self.kept.q_o.val() & self.at_p_i.val()).any();
        self.kept_base_o.next = self.kept_base.val();
    }
}

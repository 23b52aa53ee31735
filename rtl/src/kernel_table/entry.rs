//! One kernel in flight.

use crate::info::Info;
use crate::params::ID_BITS;
use crate::parts::{CountDown, PayloadRegister, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// An entry of the table.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct KernelEntry {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// A kernel comes in.
    pub ins_i: Signal<In, Bit>,
    /// Its id.
    pub id_i: Signal<In, Bits<ID_BITS>>,
    /// CTAs of its grid.
    pub grid_i: Signal<In, Bits<32>>,
    /// They are none.
    pub none_i: Signal<In, Bit>,
    /// 1: TENSOR.
    pub type_i: Signal<In, Bit>,
    /// Its SM partition.
    pub part_i: Signal<In, Bits<3>>,
    /// Warps that each CTA needs.
    pub warps_i: Signal<In, Bits<7>>,
    /// Register units that each CTA needs.
    pub regs_i: Signal<In, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub smem_i: Signal<In, Bits<11>>,
    /// Completions of its CTAs, one bit per port.
    pub ends_i: Signal<In, Bits<4>>,
    /// More CTAs end than are left.
    pub excess_o: Signal<Out, Bit>,
    /// No CTA is left.
    pub ended_o: Signal<Out, Bit>,
    /// The kernel has no CTAs.
    pub none_o: Signal<Out, Bit>,
    /// CTAs of its grid, until one has ended.
    pub grid_o: Signal<Out, Bits<32>>,
    /// The kernel's id.
    pub id_o: Signal<Out, Bits<ID_BITS>>,
    /// 1: TENSOR.
    pub type_o: Signal<Out, Bit>,
    /// Its SM partition.
    pub part_o: Signal<Out, Bits<3>>,
    /// Warps that each CTA needs.
    pub warps_o: Signal<Out, Bits<7>>,
    /// Register units that each CTA needs.
    pub regs_o: Signal<Out, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub smem_o: Signal<Out, Bits<11>>,
    /// CTAs that have not ended.
    left: CountDown,
    /// The kernel has no CTAs.
    no_ctas: PayloadRegister<Bit>,
    /// The kernel's id.
    id: PayloadRegister<Bits<ID_BITS>>,
    /// The kernel's type; 1: TENSOR.
    kind: PayloadRegister<Bit>,
    /// Its SM partition.
    part: PayloadRegister<Bits<3>>,
    /// Warps that each CTA needs.
    warps: PayloadRegister<Bits<7>>,
    /// Register units that each CTA needs.
    regs: PayloadRegister<Bits<9>>,
    /// Shared memory units that each CTA needs.
    smem: PayloadRegister<Bits<11>>,
    /// How many of its CTAs end in this cycle.
    ends: Signal<Local, Bits<3>>,
    none: Constant<Bits<3>>,
    one: Constant<Bits<3>>,
}

impl Default for KernelEntry {
    fn default() -> Self {
        Self {
            info: Info::module("kernel_entry", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            ins_i: Signal::default(),
            id_i: Signal::default(),
            grid_i: Signal::default(),
            none_i: Signal::default(),
            type_i: Signal::default(),
            part_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            ends_i: Signal::default(),
            excess_o: Signal::default(),
            ended_o: Signal::default(),
            none_o: Signal::default(),
            grid_o: Signal::default(),
            id_o: Signal::default(),
            type_o: Signal::default(),
            part_o: Signal::default(),
            warps_o: Signal::default(),
            regs_o: Signal::default(),
            smem_o: Signal::default(),
            left: CountDown::default(),
            no_ctas: PayloadRegister::default(),
            id: PayloadRegister::default(),
            kind: PayloadRegister::default(),
            part: PayloadRegister::default(),
            warps: PayloadRegister::default(),
            regs: PayloadRegister::default(),
            smem: PayloadRegister::default(),
            ends: Signal::default(),
            none: number(0),
            one: number(1),
        }
    }
}

impl Logic for KernelEntry {
    #[hdl_gen]
    fn update(&mut self) {
        self.left.clk_i.next = self.clk_i.val();
        self.no_ctas.clk_i.next = self.clk_i.val();
        self.id.clk_i.next = self.clk_i.val();
        self.kind.clk_i.next = self.clk_i.val();
        self.part.clk_i.next = self.clk_i.val();
        self.warps.clk_i.next = self.clk_i.val();
        self.regs.clk_i.next = self.clk_i.val();
        self.smem.clk_i.next = self.clk_i.val();

        comment!("Completions, of which no more count than CTAs are left.");
        self.ends.next = self.none.val();
        for p in 0..4 {
            if self.ends_i.val().get_bit(p) {
                self.ends.next = self.ends.val() + self.one.val();
            }
        }
        self.left.by_i.next = self.ends.val();
        self.excess_o.next = self.left.over_o.val();
        comment!("A kernel that comes in replaces the one before.");
        self.left.load_i.next = self.ins_i.val();
        self.left.value_i.next = self.grid_i.val();
        if self.ins_i.val() {
            self.no_ctas.d_i.next = self.none_i.val();
            self.id.d_i.next = self.id_i.val();
            self.kind.d_i.next = self.type_i.val();
            self.part.d_i.next = self.part_i.val();
            self.warps.d_i.next = self.warps_i.val();
            self.regs.d_i.next = self.regs_i.val();
            self.smem.d_i.next = self.smem_i.val();
        } else {
            self.no_ctas.d_i.next = self.no_ctas.q_o.val();
            self.id.d_i.next = self.id.q_o.val();
            self.kind.d_i.next = self.kind.q_o.val();
            self.part.d_i.next = self.part.q_o.val();
            self.warps.d_i.next = self.warps.q_o.val();
            self.regs.d_i.next = self.regs.q_o.val();
            self.smem.d_i.next = self.smem.q_o.val();
        }
        self.ended_o.next = self.left.few_o.val() & (!self.left.low_o.val().any());
        self.none_o.next = self.no_ctas.q_o.val();
        self.grid_o.next = self.left.value_o.val();
        self.id_o.next = self.id.q_o.val();
        self.type_o.next = self.kind.q_o.val();
        self.part_o.next = self.part.q_o.val();
        self.warps_o.next = self.warps.q_o.val();
        self.regs_o.next = self.regs.q_o.val();
        self.smem_o.next = self.smem.q_o.val();
    }
}

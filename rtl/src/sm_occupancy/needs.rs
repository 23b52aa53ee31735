//! What CTAs need, on its way through the stages with the slices.

use crate::info::Info;
use crate::params::SmLimits;
use crate::parts::{PayloadRegister, Register, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// One requester's needs, kept complemented: see `SmField`.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct NeedStages {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// The requester has a CTA.
    pub valid_i: Signal<In, Bit>,
    /// Warps it needs.
    pub warps_i: Signal<In, Bits<7>>,
    /// Register units it needs.
    pub regs_i: Signal<In, Bits<9>>,
    /// Shared memory units it needs.
    pub smem_i: Signal<In, Bits<11>>,
    /// At stage C: the requester has a CTA.
    pub valid_o: Signal<Out, Bit>,
    /// At stage C: it needs an empty SM.
    pub big_o: Signal<Out, Bit>,
    /// At stage C: warps, modulo 64, complemented.
    pub warps_o: Signal<Out, Bits<6>>,
    /// At stage C: register units, modulo 256, complemented.
    pub regs_o: Signal<Out, Bits<8>>,
    /// At stage C: shared memory units, complemented.
    pub smem_o: Signal<Out, Bits<11>>,
    /// At stage U: warps, modulo 64, complemented.
    pub charge_warps_o: Signal<Out, Bits<6>>,
    /// At stage U: register units, modulo 256, complemented.
    pub charge_regs_o: Signal<Out, Bits<8>>,
    /// At stage U: shared memory units, complemented.
    pub charge_smem_o: Signal<Out, Bits<11>>,
    /// At stage C: the requester has a CTA.
    valid: Register<Bit>,
    /// Warps it needs, at stage C, complemented.
    warps_c: PayloadRegister<Bits<7>>,
    /// The same at stage P, modulo 64.
    warps_p: PayloadRegister<Bits<6>>,
    /// The same at stage U.
    warps_u: PayloadRegister<Bits<6>>,
    /// Register units it needs, at stage C, complemented.
    regs_c: PayloadRegister<Bits<9>>,
    /// The same at stage P, modulo 256.
    regs_p: PayloadRegister<Bits<8>>,
    /// The same at stage U.
    regs_u: PayloadRegister<Bits<8>>,
    /// Shared memory units it needs, at stage C, complemented.
    smem_c: PayloadRegister<Bits<11>>,
    /// The same at stage P.
    smem_p: PayloadRegister<Bits<11>>,
    /// The same at stage U.
    smem_u: PayloadRegister<Bits<11>>,
}

impl Default for NeedStages {
    fn default() -> Self {
        Self {
            info: Info::module("need_stages", "").fields::<Self>(&[]),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            valid_i: Signal::default(),
            warps_i: Signal::default(),
            regs_i: Signal::default(),
            smem_i: Signal::default(),
            valid_o: Signal::default(),
            big_o: Signal::default(),
            warps_o: Signal::default(),
            regs_o: Signal::default(),
            smem_o: Signal::default(),
            charge_warps_o: Signal::default(),
            charge_regs_o: Signal::default(),
            charge_smem_o: Signal::default(),
            valid: Register::default(),
            warps_c: PayloadRegister::default(),
            warps_p: PayloadRegister::default(),
            warps_u: PayloadRegister::default(),
            regs_c: PayloadRegister::default(),
            regs_p: PayloadRegister::default(),
            regs_u: PayloadRegister::default(),
            smem_c: PayloadRegister::default(),
            smem_p: PayloadRegister::default(),
            smem_u: PayloadRegister::default(),
        }
    }
}

impl Logic for NeedStages {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.clk_i.next = self.clk_i.val();
        self.valid.rst_ni.next = self.rst_ni.val();
        self.warps_c.clk_i.next = self.clk_i.val();
        self.warps_p.clk_i.next = self.clk_i.val();
        self.warps_u.clk_i.next = self.clk_i.val();
        self.regs_c.clk_i.next = self.clk_i.val();
        self.regs_p.clk_i.next = self.clk_i.val();
        self.regs_u.clk_i.next = self.clk_i.val();
        self.smem_c.clk_i.next = self.clk_i.val();
        self.smem_p.clk_i.next = self.clk_i.val();
        self.smem_u.clk_i.next = self.clk_i.val();
        comment!("A need is at C in the next cycle, then at P, then at U.");
        self.valid.d_i.next = self.valid_i.val();
        self.warps_c.d_i.next = !self.warps_i.val();
        self.regs_c.d_i.next = !self.regs_i.val();
        self.smem_c.d_i.next = !self.smem_i.val();
        self.warps_p.d_i.next = bit_cast::<6, 7>(self.warps_c.q_o.val());
        self.regs_p.d_i.next = bit_cast::<8, 9>(self.regs_c.q_o.val());
        self.smem_p.d_i.next = self.smem_c.q_o.val();
        self.warps_u.d_i.next = self.warps_p.q_o.val();
        self.regs_u.d_i.next = self.regs_p.q_o.val();
        self.smem_u.d_i.next = self.smem_p.q_o.val();

        self.valid_o.next = self.valid.q_o.val();
        comment!("64 warps or 256 register units are all that any SM has.");
        self.big_o.next = !(self.warps_c.q_o.val().get_bit(6) & self.regs_c.q_o.val().get_bit(8));
        self.warps_o.next = bit_cast::<6, 7>(self.warps_c.q_o.val());
        self.regs_o.next = bit_cast::<8, 9>(self.regs_c.q_o.val());
        self.smem_o.next = self.smem_c.q_o.val();
        self.charge_warps_o.next = self.warps_u.q_o.val();
        self.charge_regs_o.next = self.regs_u.q_o.val();
        self.charge_smem_o.next = self.smem_u.q_o.val();
    }
}

/// What the CTAs of both requesters need together, kept complemented.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SumStages {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Warps that a's CTA needs.
    pub warps_a_i: Signal<In, Bits<7>>,
    /// Register units that a's CTA needs.
    pub regs_a_i: Signal<In, Bits<9>>,
    /// Shared memory units that a's CTA needs.
    pub smem_a_i: Signal<In, Bits<11>>,
    /// Warps that b's CTA needs.
    pub warps_b_i: Signal<In, Bits<7>>,
    /// Register units that b's CTA needs.
    pub regs_b_i: Signal<In, Bits<9>>,
    /// Shared memory units that b's CTA needs.
    pub smem_b_i: Signal<In, Bits<11>>,
    /// At stage C: both together need an empty SM, or more.
    pub big_o: Signal<Out, Bit>,
    /// At stage C: an empty SM has room for both.
    pub empty_o: Signal<Out, Bit>,
    /// At stage C: warps, modulo 64, complemented.
    pub warps_o: Signal<Out, Bits<6>>,
    /// At stage C: register units, modulo 256, complemented.
    pub regs_o: Signal<Out, Bits<8>>,
    /// At stage C: shared memory units, modulo 2048, complemented.
    pub smem_o: Signal<Out, Bits<11>>,
    /// At stage U: warps, modulo 64, complemented.
    pub charge_warps_o: Signal<Out, Bits<6>>,
    /// At stage U: register units, modulo 256, complemented.
    pub charge_regs_o: Signal<Out, Bits<8>>,
    /// At stage U: shared memory units, modulo 2048, complemented.
    pub charge_smem_o: Signal<Out, Bits<11>>,
    /// Warps that both CTAs need.
    warps: Signal<Local, Bits<8>>,
    /// Register units that both CTAs need.
    regs: Signal<Local, Bits<10>>,
    /// Shared memory units that both CTAs need.
    smem: Signal<Local, Bits<12>>,
    /// Warps of both, at stage C, complemented.
    warps_c: PayloadRegister<Bits<8>>,
    /// The same at stage P, modulo 64.
    warps_p: PayloadRegister<Bits<6>>,
    /// The same at stage U.
    warps_u: PayloadRegister<Bits<6>>,
    /// Register units of both, at stage C, complemented.
    regs_c: PayloadRegister<Bits<10>>,
    /// The same at stage P, modulo 256.
    regs_p: PayloadRegister<Bits<8>>,
    /// The same at stage U.
    regs_u: PayloadRegister<Bits<8>>,
    /// Shared memory units of both, at stage C, complemented.
    smem_c: PayloadRegister<Bits<12>>,
    /// The same at stage P, modulo 2048.
    smem_p: PayloadRegister<Bits<11>>,
    /// The same at stage U.
    smem_u: PayloadRegister<Bits<11>>,
    two_ctas: Constant<Bit>,
    /// What an empty SM has, complemented.
    limit_warps: Constant<Bits<8>>,
    limit_regs: Constant<Bits<10>>,
    limit_smem: Constant<Bits<12>>,
}

impl SumStages {
    /// For SMs with these limits.
    pub fn new(limits: SmLimits) -> Self {
        Self {
            info: Info::module("need_sum_stages", "")
                .fields::<Self>(&[])
                .param("CTAS", "c", limits.ctas().into())
                .param("WARPS", "w", limits.warps().into())
                .param("REGISTERS", "g", limits.registers().into())
                .param("SMEM", "m", limits.smem().into()),
            clk_i: Signal::default(),
            warps_a_i: Signal::default(),
            regs_a_i: Signal::default(),
            smem_a_i: Signal::default(),
            warps_b_i: Signal::default(),
            regs_b_i: Signal::default(),
            smem_b_i: Signal::default(),
            big_o: Signal::default(),
            empty_o: Signal::default(),
            warps_o: Signal::default(),
            regs_o: Signal::default(),
            smem_o: Signal::default(),
            charge_warps_o: Signal::default(),
            charge_regs_o: Signal::default(),
            charge_smem_o: Signal::default(),
            warps: Signal::default(),
            regs: Signal::default(),
            smem: Signal::default(),
            warps_c: PayloadRegister::default(),
            warps_p: PayloadRegister::default(),
            warps_u: PayloadRegister::default(),
            regs_c: PayloadRegister::default(),
            regs_p: PayloadRegister::default(),
            regs_u: PayloadRegister::default(),
            smem_c: PayloadRegister::default(),
            smem_p: PayloadRegister::default(),
            smem_u: PayloadRegister::default(),
            two_ctas: Constant::new(limits.ctas() >= 2),
            limit_warps: number(0xFF - u128::from(limits.warps())),
            limit_regs: number(0x3FF - u128::from(limits.registers())),
            limit_smem: number(0xFFF - u128::from(limits.smem())),
        }
    }
}

impl Logic for SumStages {
    #[hdl_gen]
    fn update(&mut self) {
        self.warps_c.clk_i.next = self.clk_i.val();
        self.warps_p.clk_i.next = self.clk_i.val();
        self.warps_u.clk_i.next = self.clk_i.val();
        self.regs_c.clk_i.next = self.clk_i.val();
        self.regs_p.clk_i.next = self.clk_i.val();
        self.regs_u.clk_i.next = self.clk_i.val();
        self.smem_c.clk_i.next = self.clk_i.val();
        self.smem_p.clk_i.next = self.clk_i.val();
        self.smem_u.clk_i.next = self.clk_i.val();
        comment!("Both needs together, at C in the next cycle, then at P, then at U.");
        self.warps.next = bit_cast::<8, 7>(self.warps_a_i.val()) + bit_cast::<8, 7>(self.warps_b_i.val());
        self.regs.next = bit_cast::<10, 9>(self.regs_a_i.val()) + bit_cast::<10, 9>(self.regs_b_i.val());
        self.smem.next = bit_cast::<12, 11>(self.smem_a_i.val()) + bit_cast::<12, 11>(self.smem_b_i.val());
        self.warps_c.d_i.next = !self.warps.val();
        self.regs_c.d_i.next = !self.regs.val();
        self.smem_c.d_i.next = !self.smem.val();
        self.warps_p.d_i.next = bit_cast::<6, 8>(self.warps_c.q_o.val());
        self.regs_p.d_i.next = bit_cast::<8, 10>(self.regs_c.q_o.val());
        self.smem_p.d_i.next = bit_cast::<11, 12>(self.smem_c.q_o.val());
        self.warps_u.d_i.next = self.warps_p.q_o.val();
        self.regs_u.d_i.next = self.regs_p.q_o.val();
        self.smem_u.d_i.next = self.smem_p.q_o.val();

        comment!("No more than an empty SM has: x <= l where ~x >= ~l.");
        self.empty_o.next = self.two_ctas.val()
            & (self.warps_c.q_o.val() >= self.limit_warps.val())
            & (self.regs_c.q_o.val() >= self.limit_regs.val())
            & (self.smem_c.q_o.val() >= self.limit_smem.val());
        comment!("64 warps, 256 register units or 2048 shared memory units are all that any SM has,");
        comment!("or more.");
        self.big_o.next = !(self.warps_c.q_o.val().get_bit(6)
            & self.warps_c.q_o.val().get_bit(7)
            & self.regs_c.q_o.val().get_bit(8)
            & self.regs_c.q_o.val().get_bit(9)
            & self.smem_c.q_o.val().get_bit(11));
        self.warps_o.next = bit_cast::<6, 8>(self.warps_c.q_o.val());
        self.regs_o.next = bit_cast::<8, 10>(self.regs_c.q_o.val());
        self.smem_o.next = bit_cast::<11, 12>(self.smem_c.q_o.val());
        self.charge_warps_o.next = self.warps_u.q_o.val();
        self.charge_regs_o.next = self.regs_u.q_o.val();
        self.charge_smem_o.next = self.smem_u.q_o.val();
    }
}

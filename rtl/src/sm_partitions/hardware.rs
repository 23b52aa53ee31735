//! The hardware of `sm_partitions`.

use crate::info::Info;
use crate::params::{PARTITIONS, Requesters, SLICES, SmParams};
use crate::parts::{PayloadRegister, Register, bank, number, numbers};
use crate::sm_occupancy::{GROUP, SlicePhase, groups, lanes_of};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Up to eight lanes: for each of their SMs, bit p says whether it is in partition p.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct PartitionGroup {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// HOLDS: the SMs go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// The SMs at stage U join all partitions.
    pub init_i: Signal<In, Bit>,
    /// One-hot: the slice at stage U.
    pub at_u_i: Signal<In, Bits<3>>,
    /// One-hot: partition of a requester's kernel.
    pub part_hot_i: Vec<Signal<In, Bits<8>>>,
    /// Lanes of the slice at stage C whose SMs are in it.
    pub allow_o: Vec<Signal<Out, Bits<8>>>,
    /// One-hot: the partition that is rewritten, or zero.
    pub write_hot_i: Signal<In, Bits<8>>,
    /// Which SMs: from 32 times this on.
    pub write_word_i: Signal<In, Bits<3>>,
    /// Bit b: SM 32 * word + b is in the partition.
    pub write_mask_i: Signal<In, Bits<32>>,
    /// Of each lane, partitions that its SM at stage C is in.
    at_c: Vec<PayloadRegister<Bits<8>>>,
    /// The same at stage P.
    at_p: Vec<PayloadRegister<Bits<8>>>,
    /// The same at stage U.
    at_u: Vec<PayloadRegister<Bits<8>>>,
    /// Of each requester, lanes whose SM at C is in its kernel's partition.
    allow: Vec<Signal<Local, Bits<8>>>,
    /// Of each lane, SM number / 32 at stage U.
    word: Vec<Signal<Local, Bits<3>>>,
    /// Of each lane, SM number mod 32 at stage U, one-hot; zero where the slice has no SM there.
    bit: Vec<Signal<Local, Bits<32>>>,
    /// Of each lane, partitions of its SM at U, with what a write changes.
    kept: Vec<Signal<Local, Bits<8>>>,
    zero: Constant<Bits<8>>,
    all: Constant<Bits<8>>,
    word_0: Vec<Constant<Bits<3>>>,
    word_1: Vec<Constant<Bits<3>>>,
    word_2: Vec<Constant<Bits<3>>>,
    bit_0: Vec<Constant<Bits<32>>>,
    bit_1: Vec<Constant<Bits<32>>>,
    bit_2: Vec<Constant<Bits<32>>>,
    exists: Vec<Constant<Bits<3>>>,
    _requesters: usize,
    _lanes: usize,
    _holds: usize,
}

impl PartitionGroup {
    /// Group `group` of the array.
    pub fn new(params: SmParams, requesters: usize, group: usize) -> Self {
        let (lanes, holds) = (lanes_of(params, group), usize::from(params.holds()));
        let sm = |b: usize, j: usize| SmParams::sm(GROUP * group + b, j);
        let word = |j: usize| numbers(lanes, |b| (sm(b, j) / 32) as u128);
        // An SM that is not there has no bit in any mask.
        let is_there = |b, j| u128::from(sm(b, j) < params.sms());
        let bit = |j: usize| numbers(lanes, |b| is_there(b, j) << (sm(b, j) % 32));
        Self {
            info: Info::module("sm_partition_group", "")
                .fields::<Self>(&[])
                .param("REQUESTERS", "q", requesters)
                .param("GROUP", "n", group)
                .param("SMS", "s", params.sms())
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            run_i: bank(holds),
            init_i: Signal::default(),
            at_u_i: Signal::default(),
            part_hot_i: bank(requesters),
            allow_o: bank(requesters),
            write_hot_i: Signal::default(),
            write_word_i: Signal::default(),
            write_mask_i: Signal::default(),
            at_c: bank(lanes),
            at_p: bank(lanes),
            at_u: bank(lanes),
            allow: bank(requesters),
            word: bank(lanes),
            bit: bank(lanes),
            kept: bank(lanes),
            zero: number(0),
            all: number(255),
            word_0: word(0),
            word_1: word(1),
            word_2: word(2),
            bit_0: bit(0),
            bit_1: bit(1),
            bit_2: bit(2),
            exists: numbers(lanes, |b| (0..SLICES).fold(0, |bits, j| bits | is_there(b, j) << j)),
            _requesters: requesters,
            _lanes: lanes,
            _holds: holds,
        }
    }
}

impl Logic for PartitionGroup {
    #[hdl_gen]
    fn update(&mut self) {
        for r in 0..self._requesters {
            comment!("Stage C: lanes whose SM is in the partition.");
            self.allow[r].next = self.zero.val();
        }
        for b in 0..self._lanes {
            self.at_c[b].clk_i.next = self.clk_i.val();
            self.at_p[b].clk_i.next = self.clk_i.val();
            self.at_u[b].clk_i.next = self.clk_i.val();
            for r in 0..self._requesters {
                self.allow[r].next = self.allow[r]
                    .val()
                    .replace_bit(b, (self.at_c[b].q_o.val() & self.part_hot_i[r].val()).any());
            }
            self.at_p[b].d_i.next = self.at_c[b].q_o.val();
            self.at_u[b].d_i.next = self.at_p[b].q_o.val();

            comment!("Stage U: which bit of a mask stands for the SM that is there.");
            self.word[b].next = self.word_0[b].val();
            self.bit[b].next = self.bit_0[b].val();
            if self.at_u_i.val().get_bit(1) {
                self.word[b].next = self.word_1[b].val();
                self.bit[b].next = self.bit_1[b].val();
            }
            if self.at_u_i.val().get_bit(2) {
                self.word[b].next = self.word_2[b].val();
                self.bit[b].next = self.bit_2[b].val();
            }
            comment!("A write puts the SM into one partition, or takes it out.");
            self.kept[b].next = self.at_u[b].q_o.val();
            if self.write_word_i.val() == self.word[b].val() {
                if (self.write_mask_i.val() & self.bit[b].val()).any() {
                    self.kept[b].next = self.at_u[b].q_o.val() | self.write_hot_i.val();
                } else {
                    self.kept[b].next = self.at_u[b].q_o.val() & (!self.write_hot_i.val());
                }
            }
            comment!("In the first turn after reset, SMs that exist join all partitions.");
            if self.init_i.val() {
                self.at_c[b].d_i.next = self.zero.val();
                if (self.exists[b].val() & self.at_u_i.val()).any() {
                    self.at_c[b].d_i.next = self.all.val();
                }
            } else {
                self.at_c[b].d_i.next = self.kept[b].val();
            }
            for h in 0..self._holds {
                if !self.run_i[h].val() {
                    self.at_c[b].d_i.next = self.at_c[b].q_o.val();
                    self.at_p[b].d_i.next = self.at_p[b].q_o.val();
                    self.at_u[b].d_i.next = self.at_u[b].q_o.val();
                }
            }
        }
        for r in 0..self._requesters {
            comment!("In that turn no lane may be used.");
            if self.init_i.val() {
                self.allow_o[r].next = self.zero.val();
            } else {
                self.allow_o[r].next = self.allow[r].val();
            }
        }
    }
}

/// The partitions: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SmPartitions {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// Partition of the requester's kernel.
    pub part_i: Vec<Signal<In, Bits<3>>>,
    /// SIMT or all: lanes in the partition of the cycle before, slice at stage C.
    pub allow_a_o: Vec<Signal<Out, Bits<8>>>,
    /// TENSOR: lanes in the partition of the cycle before, slice at stage C.
    pub allow_b_o: Vec<Signal<Out, Bits<8>>>,
    /// 32 SMs of a mask are rewritten.
    pub write_valid_i: Signal<In, Bit>,
    /// They are, at the end of this cycle.
    pub write_ready_o: Signal<Out, Bit>,
    /// The partition.
    pub write_part_i: Signal<In, Bits<3>>,
    /// Which SMs: from 32 times this on.
    pub write_word_i: Signal<In, Bits<3>>,
    /// Bit b: SM 32 * word + b is in the partition.
    pub write_mask_i: Signal<In, Bits<32>>,
    /// Which slice is at which stage.
    phase: SlicePhase,
    /// Partitions of the SMs, in groups of up to eight lanes.
    group: Vec<PartitionGroup>,
    /// Of each requester, the partition that was named in the cycle before, one-hot.
    hot: Vec<PayloadRegister<Bits<8>>>,
    /// Slices that have taken their bits.
    step: Register<Bits<2>>,
    /// A mask is being rewritten.
    writes: Signal<Local, Bit>,
    /// The partition that is rewritten, one-hot, or none.
    write_hot: Signal<Local, Bits<8>>,
    one: Constant<Bits<8>>,
    zero: Constant<Bits<8>>,
    no_step: Constant<Bits<2>>,
    one_step: Constant<Bits<2>>,
    last_step: Constant<Bits<2>>,
    _requesters: usize,
    _groups: usize,
    _groups_b: usize,
    _holds: usize,
}

impl SmPartitions {
    /// Partitions of the array, for one or two requesters.
    pub fn new(params: SmParams, requesters: Requesters) -> Self {
        let (requesters, holds) = (requesters.count(), usize::from(params.holds()));
        let groups = groups(params);
        let groups_b = groups * (requesters - 1);
        Self {
            info: Info::module("sm_partitions", "ECLIP (2025); KRISP (2023)")
                .fields::<Self>(&["write"])
                .param("SMS", "s", params.sms())
                .param("REQUESTERS", "q", requesters)
                .param("PARTITIONS", "p", PARTITIONS)
                .param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            part_i: bank(requesters),
            allow_a_o: bank(groups),
            allow_b_o: bank(groups_b),
            write_valid_i: Signal::default(),
            write_ready_o: Signal::default(),
            write_part_i: Signal::default(),
            write_word_i: Signal::default(),
            write_mask_i: Signal::default(),
            phase: SlicePhase::new(holds),
            group: (0..groups).map(|g| PartitionGroup::new(params, requesters, g)).collect(),
            hot: bank(requesters),
            step: Register::default(),
            writes: Signal::default(),
            write_hot: Signal::default(),
            one: number(1),
            zero: number(0),
            no_step: number(0),
            one_step: number(1),
            last_step: number(2),
            _requesters: requesters,
            _groups: groups,
            _groups_b: groups_b,
            _holds: holds,
        }
    }
}

impl Logic for SmPartitions {
    #[hdl_gen]
    fn update(&mut self) {
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();
        self.step.clk_i.next = self.clk_i.val();
        self.step.rst_ni.next = self.rst_ni.val();

        comment!("A write stays for three cycles, in which each slice comes to U once.");
        self.writes.next = self.write_valid_i.val() & (!self.phase.init_o.val());
        for h in 0..self._holds {
            self.phase.run_i[h].next = self.run_i[h].val();
            self.writes.next = self.writes.val() & self.run_i[h].val();
        }
        self.write_ready_o.next = self.writes.val() & (self.step.q_o.val() == self.last_step.val());
        self.step.d_i.next = self.no_step.val();
        self.write_hot.next = self.zero.val();
        if self.writes.val() {
            self.write_hot.next = self.one.val() << self.write_part_i.val();
            if self.step.q_o.val() != self.last_step.val() {
                self.step.d_i.next = self.step.q_o.val() + self.one_step.val();
            }
        }

        for r in 0..self._requesters {
            self.hot[r].clk_i.next = self.clk_i.val();
            self.hot[r].d_i.next = self.one.val() << self.part_i[r].val();
        }
        for g in 0..self._groups {
            self.group[g].clk_i.next = self.clk_i.val();
            self.group[g].init_i.next = self.phase.init_o.val();
            self.group[g].at_u_i.next = self.phase.at_u_o.val();
            for h in 0..self._holds {
                self.group[g].run_i[h].next = self.run_i[h].val();
            }
            self.group[g].write_hot_i.next = self.write_hot.val();
            self.group[g].write_word_i.next = self.write_word_i.val();
            self.group[g].write_mask_i.next = self.write_mask_i.val();
            for r in 0..self._requesters {
                self.group[g].part_hot_i[r].next = self.hot[r].q_o.val();
            }
            self.allow_a_o[g].next = self.group[g].allow_o[0].val();
        }
        for g in 0..self._groups_b {
            self.allow_b_o[g].next = self.group[g].allow_o[1].val();
        }
    }
}

crate::flat_ports!(impl [] for SmPartitions:
    clk_i rst_ni run_i part_i allow_a_o allow_b_o write_valid_i write_ready_o write_part_i write_word_i write_mask_i);

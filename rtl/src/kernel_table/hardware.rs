//! The hardware of `kernel_table`.

use super::entry::KernelEntry;
use crate::info::Info;
use crate::params::{DONE_PORTS, ID_BITS, TableParams};
use crate::parts::{FindFirst, OldestFirst, PayloadRegister, Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// The table: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct KernelTable<const N: usize, const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// One-hot or zero: a kernel comes into this slot.
    pub ins_slot_i: Signal<In, Bits<N>>,
    /// Its id.
    pub ins_id_i: Signal<In, Bits<ID_BITS>>,
    /// Its CTAs; a marker has none.
    pub ins_grid_i: Signal<In, Bits<32>>,
    /// 1: TENSOR.
    pub ins_type_i: Signal<In, Bit>,
    /// Its SM partition.
    pub ins_part_i: Signal<In, Bits<3>>,
    /// Warps that each CTA needs.
    pub ins_warps_i: Signal<In, Bits<7>>,
    /// Register units that each CTA needs.
    pub ins_regs_i: Signal<In, Bits<9>>,
    /// Shared memory units that each CTA needs.
    pub ins_smem_i: Signal<In, Bits<11>>,
    /// The window dispatches a kernel; always taken.
    pub disp_valid_i: Signal<In, Bit>,
    /// Its slot.
    pub disp_slot_i: Signal<In, Bits<LN>>,
    /// A kernel of the queue, the oldest first; it stays until it is taken.
    pub next_valid_o: Vec<Signal<Out, Bit>>,
    /// It is taken at the end of this cycle.
    pub next_ready_i: Vec<Signal<In, Bit>>,
    /// Its slot.
    pub next_slot_o: Vec<Signal<Out, Bits<LN>>>,
    /// Its id.
    pub next_id_o: Vec<Signal<Out, Bits<ID_BITS>>>,
    /// Its CTAs.
    pub next_grid_o: Vec<Signal<Out, Bits<32>>>,
    /// 1: TENSOR.
    pub next_type_o: Vec<Signal<Out, Bit>>,
    /// Its partition.
    pub next_part_o: Vec<Signal<Out, Bits<3>>>,
    /// Warps that each CTA needs.
    pub next_warps_o: Vec<Signal<Out, Bits<7>>>,
    /// Register units that each CTA needs.
    pub next_regs_o: Vec<Signal<Out, Bits<9>>>,
    /// Shared memory units that each CTA needs.
    pub next_smem_o: Vec<Signal<Out, Bits<11>>>,
    /// A CTA has ended; always taken.
    pub done_valid_i: Vec<Signal<In, Bit>>,
    /// Its kernel's slot.
    pub done_slot_i: Vec<Signal<In, Bits<LN>>>,
    /// Warps it had.
    pub done_warps_o: Vec<Signal<Out, Bits<7>>>,
    /// Register units it had.
    pub done_regs_o: Vec<Signal<Out, Bits<9>>>,
    /// Shared memory units it had.
    pub done_smem_o: Vec<Signal<Out, Bits<11>>>,
    /// An arbiter has its kernel, or has had it, and not all of its CTAs have ended.
    pub done_runs_o: Vec<Signal<Out, Bit>>,
    /// Completions of a kernel that no arbiter has, or too many of it.
    pub done_err_o: Signal<Out, Bit>,
    /// All CTAs of a kernel have ended.
    pub ret_valid_o: Vec<Signal<Out, Bit>>,
    /// Its retirement is taken at the end of this cycle.
    pub ret_ready_i: Vec<Signal<In, Bit>>,
    /// Its slot.
    pub ret_slot_o: Vec<Signal<Out, Bits<LN>>>,
    /// Of each slot, what is known of its kernel.
    entry: Vec<KernelEntry>,
    /// The order in which kernels came: picks the oldest of each queue.
    order: OldestFirst<N>,
    /// Slots whose kernels were dispatched and that no arbiter took.
    waiting: Register<Bits<N>>,
    /// Of each queue, its kernel was not taken in the cycle before: it stays, whatever comes.
    stays: Vec<Register<Bit>>,
    /// Of each queue, the slot that it offered in the cycle before.
    stayed: Vec<PayloadRegister<Bits<LN>>>,
    /// Slots whose kernels were dispatched and did not retire.
    running: Register<Bits<N>>,
    /// Of each retire port, the slot that it offered and that was not taken, or none.
    held: Vec<Register<Bits<N>>>,
    /// Of each retire port, finds the slot that it offers where it holds none.
    first: Vec<FindFirst<N>>,
    /// The kernel that comes in has no CTAs.
    no_ctas: Signal<Local, Bit>,
    /// Slots whose kernels have no CTAs.
    markers: Signal<Local, Bits<N>>,
    /// The slot whose kernel the window dispatches in this cycle, or none.
    dispatched: Signal<Local, Bits<N>>,
    /// The same where the kernel has CTAs.
    placeable: Signal<Local, Bits<N>>,
    /// Slots whose kernels are of type TENSOR.
    tensor: Signal<Local, Bits<N>>,
    /// Of each queue, slots whose kernels wait in it.
    queued: Vec<Signal<Local, Bits<N>>>,
    /// Of each queue, that of these whose kernel came first, or none.
    oldest: Vec<Signal<Local, Bits<N>>>,
    /// Of each queue, the slot whose kernel is dispatched into it in this cycle, or none.
    coming: Vec<Signal<Local, Bits<N>>>,
    /// Of each queue, there is one.
    comes: Vec<Signal<Local, Bit>>,
    /// `next_valid_o`, to be read here.
    next_valid: Vec<Signal<Local, Bit>>,
    /// Of each queue, the number of its oldest slot, or zero.
    first_slot: Vec<Signal<Local, Bits<LN>>>,
    /// `next_slot_o`, to be read here.
    next_slot: Vec<Signal<Local, Bits<LN>>>,
    /// Slots whose kernels the arbiters take in this cycle.
    taken: Signal<Local, Bits<N>>,
    /// Of each queue, the slot that it offers of those that wait in it, one-hot, or none.
    waiting_hot: Vec<Signal<Local, Bits<N>>>,
    /// Of each queue, the slot that it offers, one-hot, or none.
    next_hot: Vec<Signal<Local, Bits<N>>>,
    /// Of each queue, the id of the kernel that it offers, or zero.
    id: Vec<Signal<Local, Bits<ID_BITS>>>,
    /// Of each queue, that kernel's CTAs.
    grid: Vec<Signal<Local, Bits<32>>>,
    /// Of each queue, that kernel's type.
    kind: Vec<Signal<Local, Bit>>,
    /// Of each queue, that kernel's SM partition.
    part: Vec<Signal<Local, Bits<3>>>,
    /// Of each queue, warps that each of its CTAs needs.
    warps: Vec<Signal<Local, Bits<7>>>,
    /// Of each queue, register units that each of its CTAs needs.
    regs: Vec<Signal<Local, Bits<9>>>,
    /// Of each queue, shared memory units that each of its CTAs needs.
    smem: Vec<Signal<Local, Bits<11>>>,
    /// Slots whose kernels an arbiter has, or has had, and of which not all CTAs have ended.
    runs: Signal<Local, Bits<N>>,
    /// Of each completion port, the slot that it names, one-hot, whether it is valid or not.
    done_hot: Vec<Signal<Local, Bits<N>>>,
    /// Of each completion port, that slot where the completion counts, or none.
    counted: Vec<Signal<Local, Bits<N>>>,
    /// Of each slot, the completion ports at which CTAs of its kernel end.
    ends: Vec<Signal<Local, Bits<4>>>,
    /// Of each completion port, warps that its CTA had.
    done_warps: Vec<Signal<Local, Bits<7>>>,
    /// Of each completion port, register units that its CTA had.
    done_regs: Vec<Signal<Local, Bits<9>>>,
    /// Of each completion port, shared memory units that its CTA had.
    done_smem: Vec<Signal<Local, Bits<11>>>,
    /// `done_err_o`, gathered over ports and entries.
    done_err: Signal<Local, Bit>,
    /// Slots whose kernels have no CTA left.
    ended: Signal<Local, Bits<N>>,
    /// Slots that a retire port holds.
    any_held: Signal<Local, Bits<N>>,
    /// Of each retire port, slots that any port holds or a lower one offers.
    claimed: Vec<Signal<Local, Bits<N>>>,
    /// Of each retire port, the slot that it offers, or none.
    offer: Vec<Signal<Local, Bits<N>>>,
    /// `ret_slot_o`, gathered over the slots.
    ret_slot: Vec<Signal<Local, Bits<LN>>>,
    /// Slots whose kernels retire at the end of this cycle.
    retired: Signal<Local, Bits<N>>,
    zero: Constant<Bits<N>>,
    one: Constant<Bits<N>>,
    no_ends: Constant<Bits<4>>,
    no_slot: Constant<Bits<LN>>,
    no_id: Constant<Bits<ID_BITS>>,
    no_grid: Constant<Bits<32>>,
    no_part: Constant<Bits<3>>,
    no_warps: Constant<Bits<7>>,
    no_regs: Constant<Bits<9>>,
    no_smem: Constant<Bits<11>>,
    index: Vec<Constant<Bits<LN>>>,
    _retire_ports: usize,
    _queues: usize,
    _typed: usize,
}

impl<const N: usize, const LN: usize> KernelTable<N, LN> {
    /// The table with `params`, which must say `N` slots.
    pub fn new(params: TableParams) -> Self {
        debug_assert_eq!(params.slots(), N);
        let (r, q) = (params.retire_ports(), params.queues());
        Self {
            info: Info::module("kernel_table", "")
                .fields::<Self>(&["disp", "next", "done", "ret"])
                .param("SLOTS", "n", N)
                .param("RETIRE_PORTS", "r", r)
                .param("QUEUES", "q", q),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            ins_slot_i: Signal::default(),
            ins_id_i: Signal::default(),
            ins_grid_i: Signal::default(),
            ins_type_i: Signal::default(),
            ins_part_i: Signal::default(),
            ins_warps_i: Signal::default(),
            ins_regs_i: Signal::default(),
            ins_smem_i: Signal::default(),
            disp_valid_i: Signal::default(),
            disp_slot_i: Signal::default(),
            next_valid_o: bank(q),
            next_ready_i: bank(q),
            next_slot_o: bank(q),
            next_id_o: bank(q),
            next_grid_o: bank(q),
            next_type_o: bank(q),
            next_part_o: bank(q),
            next_warps_o: bank(q),
            next_regs_o: bank(q),
            next_smem_o: bank(q),
            done_valid_i: bank(DONE_PORTS),
            done_slot_i: bank(DONE_PORTS),
            done_warps_o: bank(DONE_PORTS),
            done_regs_o: bank(DONE_PORTS),
            done_smem_o: bank(DONE_PORTS),
            done_runs_o: bank(DONE_PORTS),
            done_err_o: Signal::default(),
            ret_valid_o: bank(r),
            ret_ready_i: bank(r),
            ret_slot_o: bank(r),
            entry: bank(N),
            order: OldestFirst::default(),
            waiting: Register::default(),
            stays: bank(q),
            stayed: bank(q),
            running: Register::default(),
            held: bank(r),
            first: bank(r),
            no_ctas: Signal::default(),
            markers: Signal::default(),
            dispatched: Signal::default(),
            placeable: Signal::default(),
            tensor: Signal::default(),
            queued: bank(q),
            oldest: bank(q),
            coming: bank(q),
            comes: bank(q),
            next_valid: bank(q),
            first_slot: bank(q),
            next_slot: bank(q),
            taken: Signal::default(),
            waiting_hot: bank(q),
            next_hot: bank(q),
            id: bank(q),
            grid: bank(q),
            kind: bank(q),
            part: bank(q),
            warps: bank(q),
            regs: bank(q),
            smem: bank(q),
            runs: Signal::default(),
            done_hot: bank(DONE_PORTS),
            counted: bank(DONE_PORTS),
            ends: bank(N),
            done_warps: bank(DONE_PORTS),
            done_regs: bank(DONE_PORTS),
            done_smem: bank(DONE_PORTS),
            done_err: Signal::default(),
            ended: Signal::default(),
            any_held: Signal::default(),
            claimed: bank(r + 1),
            offer: bank(r),
            ret_slot: bank(r),
            retired: Signal::default(),
            zero: number(0),
            one: number(1),
            no_ends: number(0),
            no_slot: number(0),
            no_id: number(0),
            no_grid: number(0),
            no_part: number(0),
            no_warps: number(0),
            no_regs: number(0),
            no_smem: number(0),
            index: numbers(N, |i| i as u128),
            _retire_ports: r,
            _queues: q,
            _typed: q - 1,
        }
    }
}

impl<const N: usize, const LN: usize> Logic for KernelTable<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.running.clk_i.next = self.clk_i.val();
        self.running.rst_ni.next = self.rst_ni.val();

        self.waiting.clk_i.next = self.clk_i.val();
        self.waiting.rst_ni.next = self.rst_ni.val();
        comment!("Dispatch: into the kernel's queue, but for those without CTAs.");
        if self.disp_valid_i.val() {
            self.dispatched.next = self.one.val() << self.disp_slot_i.val();
        } else {
            self.dispatched.next = self.zero.val();
        }
        self.tensor.next = self.zero.val();
        self.markers.next = self.zero.val();
        for i in 0..N {
            self.markers.next = self.markers.val().replace_bit(i, self.entry[i].none_o.val());
            self.tensor.next = self.tensor.val().replace_bit(i, self.entry[i].type_o.val());
        }
        self.placeable.next = self.dispatched.val() & (!self.markers.val());
        for q in 0..self._queues {
            self.queued[q].next = self.waiting.q_o.val();
            self.coming[q].next = self.placeable.val();
        }
        for t in 0..self._typed {
            self.queued[t].next = self.waiting.q_o.val() & (!self.tensor.val());
            self.queued[t + 1].next = self.waiting.q_o.val() & self.tensor.val();
            self.coming[t].next = self.placeable.val() & (!self.tensor.val());
            self.coming[t + 1].next = self.placeable.val() & self.tensor.val();
        }
        for q in 0..self._queues {
            self.comes[q].next = self.coming[q].val().any();
        }

        comment!("Of those that wait in a queue, the one that came first.");
        self.order.clk_i.next = self.clk_i.val();
        self.order.push_i.next = self.ins_slot_i.val();
        self.order.req_i.next = self.queued[0].val();
        self.order.occ_i.next = self.zero.val();
        self.oldest[0].next = self.order.gnt_o.val();
        for t in 0..self._typed {
            self.order.occ_i.next = self.queued[t + 1].val();
            self.oldest[t + 1].next = self.order.head_o.val();
        }

        comment!("Out of it: what was there in the cycle before, else the oldest,");
        comment!("else what is dispatched in this cycle.");
        self.taken.next = self.zero.val();
        for q in 0..self._queues {
            self.stays[q].clk_i.next = self.clk_i.val();
            self.stays[q].rst_ni.next = self.rst_ni.val();
            self.stayed[q].clk_i.next = self.clk_i.val();
            self.first_slot[q].next = self.no_slot.val();
            for i in 0..N {
                if self.oldest[q].val().get_bit(i) {
                    self.first_slot[q].next = self.first_slot[q].val() | self.index[i].val();
                }
            }
            self.next_slot[q].next = self.no_slot.val();
            if self.stays[q].q_o.val() {
                self.next_slot[q].next = self.stayed[q].q_o.val();
            } else {
                if self.queued[q].val().any() {
                    self.next_slot[q].next = self.first_slot[q].val();
                } else {
                    if self.comes[q].val() {
                        self.next_slot[q].next = self.disp_slot_i.val();
                    }
                }
            }
            self.next_valid[q].next = self.queued[q].val().any() | self.comes[q].val();
            if self.stays[q].q_o.val() {
                self.waiting_hot[q].next = self.one.val() << self.stayed[q].q_o.val();
            } else {
                self.waiting_hot[q].next = self.oldest[q].val();
            }
            if self.queued[q].val().any() {
                self.next_hot[q].next = self.waiting_hot[q].val();
            } else {
                self.next_hot[q].next = self.coming[q].val();
            }
            self.stays[q].d_i.next = self.next_valid[q].val() & (!self.next_ready_i[q].val());
            self.stayed[q].d_i.next = self.next_slot[q].val();
            if self.next_ready_i[q].val() {
                self.taken.next = self.taken.val() | self.next_hot[q].val();
            }
            self.next_valid_o[q].next = self.next_valid[q].val();
            self.next_slot_o[q].next = self.next_slot[q].val();
        }
        self.waiting.d_i.next = (self.waiting.q_o.val() | self.placeable.val()) & (!self.taken.val());

        comment!("What the entries say: of offered kernels to the arbiters, of");
        comment!("those that ports name to the SM array.");
        for q in 0..self._queues {
            self.id[q].next = self.no_id.val();
            self.grid[q].next = self.no_grid.val();
            self.kind[q].next = false;
            self.part[q].next = self.no_part.val();
            self.warps[q].next = self.no_warps.val();
            self.regs[q].next = self.no_regs.val();
            self.smem[q].next = self.no_smem.val();
        }

        comment!("Completions count of kernels that an arbiter has, and of which CTAs are left.");
        self.ended.next = self.zero.val();
        for i in 0..N {
            self.ended.next = self.ended.val().replace_bit(i, self.entry[i].ended_o.val());
        }
        self.runs.next = self.running.q_o.val() & (!self.waiting.q_o.val()) & (!self.ended.val());
        self.done_err.next = false;
        for p in 0..4 {
            self.done_hot[p].next = self.one.val() << self.done_slot_i[p].val();
            if self.done_valid_i[p].val() {
                self.counted[p].next = self.done_hot[p].val() & self.runs.val();
            } else {
                self.counted[p].next = self.zero.val();
            }
            self.done_runs_o[p].next = (self.done_hot[p].val() & self.runs.val()).any();
            if self.done_valid_i[p].val() & (!self.counted[p].val().any()) {
                self.done_err.next = true;
            }
            self.done_warps[p].next = self.no_warps.val();
            self.done_regs[p].next = self.no_regs.val();
            self.done_smem[p].next = self.no_smem.val();
        }

        comment!("Each entry takes what comes into its slot, and the completions that name it.");
        self.no_ctas.next = !self.ins_grid_i.val().any();
        for i in 0..N {
            self.entry[i].clk_i.next = self.clk_i.val();
            self.entry[i].ins_i.next = self.ins_slot_i.val().get_bit(i);
            self.entry[i].id_i.next = self.ins_id_i.val();
            self.entry[i].grid_i.next = self.ins_grid_i.val();
            self.entry[i].none_i.next = self.no_ctas.val();
            self.entry[i].type_i.next = self.ins_type_i.val();
            self.entry[i].part_i.next = self.ins_part_i.val();
            self.entry[i].warps_i.next = self.ins_warps_i.val();
            self.entry[i].regs_i.next = self.ins_regs_i.val();
            self.entry[i].smem_i.next = self.ins_smem_i.val();
            self.ends[i].next = self.no_ends.val();
            for p in 0..4 {
                self.ends[i].next = self.ends[i].val().replace_bit(p, self.counted[p].val().get_bit(i));
            }
            self.entry[i].ends_i.next = self.ends[i].val();
            if self.entry[i].excess_o.val() {
                self.done_err.next = true;
            }
            for q in 0..self._queues {
                if self.next_hot[q].val().get_bit(i) {
                    self.id[q].next = self.id[q].val() | self.entry[i].id_o.val();
                    self.grid[q].next = self.grid[q].val() | self.entry[i].grid_o.val();
                    self.kind[q].next = self.kind[q].val() | self.entry[i].type_o.val();
                    self.part[q].next = self.part[q].val() | self.entry[i].part_o.val();
                    self.warps[q].next = self.warps[q].val() | self.entry[i].warps_o.val();
                    self.regs[q].next = self.regs[q].val() | self.entry[i].regs_o.val();
                    self.smem[q].next = self.smem[q].val() | self.entry[i].smem_o.val();
                }
            }
            for p in 0..4 {
                if self.done_hot[p].val().get_bit(i) {
                    self.done_warps[p].next = self.done_warps[p].val() | self.entry[i].warps_o.val();
                    self.done_regs[p].next = self.done_regs[p].val() | self.entry[i].regs_o.val();
                    self.done_smem[p].next = self.done_smem[p].val() | self.entry[i].smem_o.val();
                }
            }
        }
        for q in 0..self._queues {
            self.next_id_o[q].next = self.id[q].val();
            self.next_grid_o[q].next = self.grid[q].val();
            self.next_type_o[q].next = self.kind[q].val();
            self.next_part_o[q].next = self.part[q].val();
            self.next_warps_o[q].next = self.warps[q].val();
            self.next_regs_o[q].next = self.regs[q].val();
            self.next_smem_o[q].next = self.smem[q].val();
        }
        for p in 0..4 {
            self.done_warps_o[p].next = self.done_warps[p].val();
            self.done_regs_o[p].next = self.done_regs[p].val();
            self.done_smem_o[p].next = self.done_smem[p].val();
        }
        self.done_err_o.next = self.done_err.val();

        comment!("Retirement: what a port holds, else the lowest slot that no other port has.");
        self.any_held.next = self.zero.val();
        for r in 0..self._retire_ports {
            self.any_held.next = self.any_held.val() | self.held[r].q_o.val();
        }
        self.claimed[0].next = self.any_held.val();
        self.retired.next = self.zero.val();
        for r in 0..self._retire_ports {
            self.held[r].clk_i.next = self.clk_i.val();
            self.held[r].rst_ni.next = self.rst_ni.val();
            self.first[r].req_i.next = self.running.q_o.val() & self.ended.val() & (!self.claimed[r].val());
            if self.held[r].q_o.val().any() {
                self.offer[r].next = self.held[r].q_o.val();
            } else {
                self.offer[r].next = self.first[r].gnt_o.val();
            }
            self.claimed[r + 1].next = self.claimed[r].val() | self.offer[r].val();
            self.ret_valid_o[r].next = self.offer[r].val().any();
            if self.ret_ready_i[r].val() {
                self.held[r].d_i.next = self.zero.val();
                self.retired.next = self.retired.val() | self.offer[r].val();
            } else {
                self.held[r].d_i.next = self.offer[r].val();
            }
            self.ret_slot[r].next = self.no_slot.val();
            for i in 0..N {
                if self.offer[r].val().get_bit(i) {
                    self.ret_slot[r].next = self.ret_slot[r].val() | self.index[i].val();
                }
            }
            self.ret_slot_o[r].next = self.ret_slot[r].val();
        }
        comment!("A slot is running from its kernel's dispatch to its retirement.");
        self.running.d_i.next = (self.running.q_o.val() & (!self.retired.val()) & (!self.ins_slot_i.val()))
            | self.dispatched.val();
    }
}

crate::flat_ports!(impl [const N: usize, const LN: usize] for KernelTable<N, LN>:
    clk_i rst_ni ins_slot_i ins_id_i ins_grid_i ins_type_i ins_part_i ins_warps_i ins_regs_i ins_smem_i disp_valid_i
    disp_slot_i next_valid_o next_ready_i next_slot_o next_id_o next_grid_o next_type_o next_part_o next_warps_o next_regs_o
    next_smem_o done_valid_i done_slot_i done_warps_o done_regs_o done_smem_o done_runs_o done_err_o ret_valid_o ret_ready_i ret_slot_o);

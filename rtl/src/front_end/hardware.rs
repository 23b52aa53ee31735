//! The hardware of `front_end`: one struct per pair of a window and an encoding, as for `kernel_scheduler`, written by one macro.

use super::counters::Counters;
use super::dispatch::CtaDispatch;
use crate::info::Info;
use crate::kernel_scheduler::{ListIdsScheduler, ListMaskScheduler, MatrixIdsScheduler, MatrixMaskScheduler};
use crate::kernel_table::KernelTable;
use crate::params::{DONE_PORTS, Encoding, FrontEndParams, ID_BITS};
use crate::parts::{bank, number, numbers};
use crate::sm_occupancy::groups;
use crate::sm_partitions::SmPartitions;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

fn info(params: FrontEndParams) -> Info {
    let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
    let (upstream, limits) = (scheduler.upstream(), dispatch.sms().limits());
    let kind = format!(
        "front_end_{}_{}_{}",
        scheduler.kind().name(),
        upstream.encoding().name(),
        dispatch.arbiter().name()
    );
    let source = "ACE (Durvasula et al., PACT 2024), section 4.3; Kitsune (Davies et al., 2025)";
    let info = Info::module(&kind, source)
        .param("SLOTS", "n", scheduler.window().slots())
        .param("RETIRE_PORTS", "r", scheduler.window().retire_ports())
        .param("SCHEDULED", "m", upstream.scheduled());
    let info = match upstream.encoding() {
        Encoding::Ids { lanes } => info.param("LANES", "l", lanes),
        Encoding::Mask => info,
    };
    info.param("SMS", "s", dispatch.sms().sms())
        .param("ACTIVE", "k", dispatch.arbiter().active())
        .param_unless(1, "PLACES", "a", dispatch.places())
        .param("CTAS", "c", limits.ctas().into())
        .param("WARPS", "w", limits.warps().into())
        .param("REGISTERS", "g", limits.registers().into())
        .param("SMEM", "b", limits.smem().into())
        .param_unless(0, "PIPELINED", "p", scheduler.window().pipelined().into())
        .param_unless(0, "HOLDS", "hold", dispatch.sms().holds().into())
}

/// The most shared memory units that eleven bits can ask for.
const MOST_SMEM: u16 = 0x7FF;

/// One front end; `host` and `lane` are the host's ports that only this encoding has.
macro_rules! front_end {
    (
        $(#[$doc:meta])* $block:ident [$($generics:tt)*] [$($args:tt)*], $scheduler:ty,
        host { $($(#[$host_doc:meta])* $host:ident: $host_type:ty,)* } lane { $($(#[$lane_doc:meta])* $lane:ident: $lane_type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(LogicBlock, DocumentedFieldsOpt)]
        pub struct $block<$($generics)*> {
            info: Info,
            /// Clock.
            pub clk_i: Signal<In, Clock>,
            /// Reset.
            pub rst_ni: Signal<In, Bit>,
            /// A beat is offered.
            pub host_valid_i: Signal<In, Bit>,
            /// It is taken at the end of this cycle.
            pub host_ready_o: Signal<Out, Bit>,
            /// The kernel's id, one more than that of the kernel before.
            pub host_id_i: Signal<In, Bits<ID_BITS>>,
            $(
                $(#[$host_doc])*
                pub $host: Signal<In, $host_type>,
            )*
            $(
                $(#[$lane_doc])*
                pub $lane: Vec<Signal<In, $lane_type>>,
            )*
            /// With the last beat: CTAs of the grid; a marker has none.
            pub host_grid_i: Signal<In, Bits<32>>,
            /// With the last beat: 1: TENSOR.
            pub host_type_i: Signal<In, Bit>,
            /// With the last beat: SM partition.
            pub host_part_i: Signal<In, Bits<3>>,
            /// With the last beat: warps that each CTA needs, at least 1.
            pub host_warps_i: Signal<In, Bits<7>>,
            /// With the last beat: register units that each CTA needs, at least 1.
            pub host_regs_i: Signal<In, Bits<9>>,
            /// With the last beat: shared memory units that each CTA needs.
            pub host_smem_i: Signal<In, Bits<11>>,
            /// With the last beat, where it is taken: its CTAs need nothing of what they must, or more than an SM has. It has none then.
            pub host_err_o: Signal<Out, Bit>,
            /// A CTA goes to an SM.
            pub cta_valid_o: Vec<Signal<Out, Bit>>,
            /// It is taken at the end of this cycle.
            pub cta_ready_i: Vec<Signal<In, Bit>>,
            /// The SM.
            pub cta_sm_o: Vec<Signal<Out, Bits<8>>>,
            /// Its kernel's window slot: the tag under which it ends.
            pub cta_slot_o: Vec<Signal<Out, Bits<LN>>>,
            /// Its kernel's id.
            pub cta_id_o: Vec<Signal<Out, Bits<ID_BITS>>>,
            /// Its number in the grid, from 0.
            pub cta_index_o: Vec<Signal<Out, Bits<32>>>,
            /// 1: TENSOR.
            pub cta_type_o: Vec<Signal<Out, Bit>>,
            /// A CTA has ended.
            pub done_valid_i: Vec<Signal<In, Bit>>,
            /// It is taken at the end of this cycle.
            pub done_ready_o: Vec<Signal<Out, Bit>>,
            /// Its SM: that number mod 4 is the port's.
            pub done_sm_i: Vec<Signal<In, Bits<8>>>,
            /// Its kernel's window slot.
            pub done_slot_i: Vec<Signal<In, Bits<LN>>>,
            /// Completions of a kernel of which no CTA runs, or of an SM that is not there or another port's: ignored; or too many at once.
            pub done_err_o: Signal<Out, Bit>,
            /// 32 SMs of a partition are rewritten.
            pub part_valid_i: Signal<In, Bit>,
            /// They are, at the end of this cycle.
            pub part_ready_o: Signal<Out, Bit>,
            /// The partition.
            pub part_id_i: Signal<In, Bits<3>>,
            /// Which SMs: from 32 times this on.
            pub part_word_i: Signal<In, Bits<3>>,
            /// Bit b: SM 32 * word + b is in the partition.
            pub part_mask_i: Signal<In, Bits<32>>,
            /// A kernel goes from the window to the table.
            pub disp_valid_o: Signal<Out, Bit>,
            /// Its id.
            pub disp_id_o: Signal<Out, Bits<ID_BITS>>,
            /// Its slot.
            pub disp_slot_o: Signal<Out, Bits<LN>>,
            /// A kernel retires at the end of this cycle.
            pub ret_valid_o: Vec<Signal<Out, Bit>>,
            /// Its slot.
            pub ret_slot_o: Vec<Signal<Out, Bits<LN>>>,
            /// The window refuses a retirement: never.
            pub ret_err_o: Signal<Out, Bit>,
            /// Places of the window in use; a kernel that has retired has its place for some cycles more.
            pub occupancy_o: Signal<Out, Bits<8>>,
            /// A place is in use.
            pub oldest_valid_o: Signal<Out, Bit>,
            /// Id of the oldest kernel that has a place.
            pub oldest_id_o: Signal<Out, Bits<ID_BITS>>,
            /// The host waits: M newer kernels than the oldest that has a place were sent.
            pub stall_limit_o: Signal<Out, Bit>,
            /// The host waits: every slot is taken.
            pub stall_full_o: Signal<Out, Bit>,
            /// The host waits: the window works on an insertion or a retirement.
            pub stall_busy_o: Signal<Out, Bit>,
            /// The window works on an insertion or a retirement.
            pub busy_o: Signal<Out, Bit>,
            /// HOLDS: the SM array goes on at the end of this cycle.
            pub run_o: Vec<Signal<Out, Bit>>,
            /// Number of the counter that is read.
            pub count_sel_i: Signal<In, Bits<4>>,
            /// Value of the counter that was named two cycles ago, as it was one cycle before that.
            pub count_o: Signal<Out, Bits<48>>,
            /// Upstream load and window: which kernels may start.
            scheduler: $scheduler,
            /// The kernels in flight, and what their CTAs need.
            table: KernelTable<N, LN>,
            /// Arbiters and SM array: which CTA goes to which SM.
            dispatch: CtaDispatch<LN>,
            /// Which SMs each partition has.
            partitions: SmPartitions,
            /// Counts what happens.
            counters: Counters,
            /// Of each completion port, such a one is taken.
            done: Vec<Signal<Local, Bit>>,
            /// Of each channel, a CTA waits.
            waits: Vec<Signal<Local, Bit>>,
            /// What the host says that CTAs need, no SM can meet.
            bad: Signal<Local, Bit>,
            /// Its CTAs: none where no SM can run them.
            grid: Signal<Local, Bits<32>>,
            /// Of each completion port, there is a completion, of an SM that is there and its own.
            ends: Vec<Signal<Local, Bit>>,
            /// A completion that is taken names an SM that is not there, or another port's.
            elsewhere: Signal<Local, Bit>,
            /// The SM that is looked at.
            ended_sm: Signal<Local, Bits<8>>,
            no_grid: Constant<Bits<32>>,
            no_warps: Constant<Bits<7>>,
            no_regs: Constant<Bits<9>>,
            /// What an empty SM has.
            limit_warps: Constant<Bits<7>>,
            limit_regs: Constant<Bits<9>>,
            limit_smem: Constant<Bits<11>>,
            /// SMs that there are.
            sms: Constant<Bits<8>>,
            /// Of each completion port, its SMs' number mod 4.
            own: Vec<Constant<Bits<2>>>,
            no_slot: Constant<Bits<LN>>,
            _retire_ports: usize,
            _lanes: usize,
            _channels: usize,
            _ports: usize,
            _places: usize,
            _past_places: usize,
            _groups: usize,
            _groups_b: usize,
            _holds: usize,
            /// An SM has less shared memory than can be asked for.
            _smem: usize,
        }

        impl<$($generics)*> $block<$($args)*> {
            /// The front end with `params`, whose sizes must be those of the type.
            pub fn new(params: FrontEndParams) -> Self {
                let r = params.scheduler().window().retire_ports();
                let channels = params.dispatch().arbiter().channels();
                let ports = params.dispatch().cta_ports();
                let sms = params.dispatch().sms();
                let limits = sms.limits();
                let groups = groups(sms);
                let lanes = match params.scheduler().upstream().encoding() {
                    Encoding::Ids { lanes } => lanes,
                    Encoding::Mask => 0,
                };
                Self {
                    info: info(params).fields::<Self>(&["host", "cta", "done", "part", "disp", "ret"]),
                    clk_i: Signal::default(),
                    rst_ni: Signal::default(),
                    host_valid_i: Signal::default(),
                    host_ready_o: Signal::default(),
                    host_id_i: Signal::default(),
                    $($host: Signal::default(),)*
                    $($lane: bank(lanes),)*
                    host_grid_i: Signal::default(),
                    host_type_i: Signal::default(),
                    host_part_i: Signal::default(),
                    host_warps_i: Signal::default(),
                    host_regs_i: Signal::default(),
                    host_smem_i: Signal::default(),
                    host_err_o: Signal::default(),
                    cta_valid_o: bank(ports),
                    cta_ready_i: bank(ports),
                    cta_sm_o: bank(ports),
                    cta_slot_o: bank(ports),
                    cta_id_o: bank(ports),
                    cta_index_o: bank(ports),
                    cta_type_o: bank(ports),
                    done_valid_i: bank(DONE_PORTS),
                    done_ready_o: bank(DONE_PORTS),
                    done_sm_i: bank(DONE_PORTS),
                    done_slot_i: bank(DONE_PORTS),
                    done_err_o: Signal::default(),
                    part_valid_i: Signal::default(),
                    part_ready_o: Signal::default(),
                    part_id_i: Signal::default(),
                    part_word_i: Signal::default(),
                    part_mask_i: Signal::default(),
                    disp_valid_o: Signal::default(),
                    disp_id_o: Signal::default(),
                    disp_slot_o: Signal::default(),
                    ret_valid_o: bank(r),
                    ret_slot_o: bank(r),
                    ret_err_o: Signal::default(),
                    occupancy_o: Signal::default(),
                    oldest_valid_o: Signal::default(),
                    oldest_id_o: Signal::default(),
                    stall_limit_o: Signal::default(),
                    stall_full_o: Signal::default(),
                    stall_busy_o: Signal::default(),
                    busy_o: Signal::default(),
                    run_o: bank(sms.holds().into()),
                    count_sel_i: Signal::default(),
                    count_o: Signal::default(),
                    scheduler: <$scheduler>::new(params.scheduler()),
                    table: KernelTable::new(params.table()),
                    dispatch: CtaDispatch::new(params.dispatch()),
                    partitions: SmPartitions::new(sms, params.dispatch().arbiter().requesters()),
                    counters: Counters::new(params.dispatch(), r),
                    done: bank(DONE_PORTS),
                    waits: bank(channels),
                    bad: Signal::default(),
                    grid: Signal::default(),
                    ends: bank(DONE_PORTS),
                    elsewhere: Signal::default(),
                    ended_sm: Signal::default(),
                    no_grid: number(0),
                    no_warps: number(0),
                    no_regs: number(0),
                    limit_warps: number(limits.warps().into()),
                    limit_regs: number(limits.registers().into()),
                    limit_smem: number(limits.smem().into()),
                    sms: number(sms.sms() as u128),
                    own: numbers(DONE_PORTS, |p| p as u128),
                    no_slot: number(0),
                    _retire_ports: r,
                    _lanes: lanes,
                    _channels: channels,
                    _ports: ports,
                    _places: params.dispatch().places(),
                    _past_places: params.dispatch().places() + 1,
                    _groups: groups,
                    _groups_b: groups * (channels - 1),
                    _holds: sms.holds().into(),
                    _smem: usize::from(limits.smem() < MOST_SMEM),
                }
            }
        }

        impl<$($generics)*> Logic for $block<$($args)*> {
            #[hdl_gen]
            fn update(&mut self) {
                self.scheduler.clk_i.next = self.clk_i.val();
                self.scheduler.rst_ni.next = self.rst_ni.val();
                self.table.clk_i.next = self.clk_i.val();
                self.table.rst_ni.next = self.rst_ni.val();
                self.dispatch.clk_i.next = self.clk_i.val();
                self.dispatch.rst_ni.next = self.rst_ni.val();
                self.partitions.clk_i.next = self.clk_i.val();
                self.partitions.rst_ni.next = self.rst_ni.val();
                self.counters.clk_i.next = self.clk_i.val();
                self.counters.rst_ni.next = self.rst_ni.val();
                for h in 0..self._holds {
                    comment!("A write of a partition needs the SMs to go round.");
                    self.dispatch.wake_i[h].next = self.part_valid_i.val();
                    self.partitions.run_i[h].next = self.dispatch.run_o[h].val();
                    self.run_o[h].next = self.dispatch.run_o[h].val();
                }

                comment!("Host to window; the rest of the packet goes to the table.");
                $(self.scheduler.$host.next = self.$host.val();)*
                for _k in 0..self._lanes {
                    $(self.scheduler.$lane[_k].next = self.$lane[_k].val();)*
                }
                self.scheduler.host_valid_i.next = self.host_valid_i.val();
                self.scheduler.host_id_i.next = self.host_id_i.val();
                self.host_ready_o.next = self.scheduler.host_ready_o.val();
                self.table.ins_slot_i.next = self.scheduler.ins_slot_o.val();
                self.table.ins_id_i.next = self.host_id_i.val();
                self.table.ins_type_i.next = self.host_type_i.val();
                self.table.ins_part_i.next = self.host_part_i.val();
                self.table.ins_warps_i.next = self.host_warps_i.val();
                self.table.ins_regs_i.next = self.host_regs_i.val();
                self.table.ins_smem_i.next = self.host_smem_i.val();
                comment!("A kernel that no SM can run is said, and goes on as a marker.");
                self.bad.next = (self.host_warps_i.val() == self.no_warps.val())
                    | (self.host_warps_i.val() > self.limit_warps.val())
                    | (self.host_regs_i.val() == self.no_regs.val())
                    | (self.host_regs_i.val() > self.limit_regs.val());
                for _s in 0..self._smem {
                    self.bad.next = self.bad.val() | (self.host_smem_i.val() > self.limit_smem.val());
                }
                self.grid.next = self.host_grid_i.val();
                if self.bad.val() {
                    self.grid.next = self.no_grid.val();
                }
                self.table.ins_grid_i.next = self.grid.val();
                self.host_err_o.next =
                    self.scheduler.ins_slot_o.val().any() & self.host_grid_i.val().any() & self.bad.val();

                comment!("Window to table to arbiter.");
                self.scheduler.disp_ready_i.next = true;
                self.table.disp_valid_i.next = self.scheduler.disp_valid_o.val();
                self.table.disp_slot_i.next = self.scheduler.disp_slot_o.val();
                for c in 0..self._channels {
                    self.dispatch.kern_valid_i[c].next = self.table.next_valid_o[c].val();
                    self.dispatch.kern_slot_i[c].next = self.table.next_slot_o[c].val();
                    self.dispatch.kern_id_i[c].next = self.table.next_id_o[c].val();
                    self.dispatch.kern_grid_i[c].next = self.table.next_grid_o[c].val();
                    self.dispatch.kern_type_i[c].next = self.table.next_type_o[c].val();
                    self.dispatch.kern_part_i[c].next = self.table.next_part_o[c].val();
                    self.dispatch.kern_warps_i[c].next = self.table.next_warps_o[c].val();
                    self.dispatch.kern_regs_i[c].next = self.table.next_regs_o[c].val();
                    self.dispatch.kern_smem_i[c].next = self.table.next_smem_o[c].val();
                    self.table.next_ready_i[c].next = self.dispatch.kern_ready_o[c].val();
                    self.partitions.part_i[c].next = self.dispatch.part_o[c].val();
                    self.counters.no_room_i[c].next = self.dispatch.no_room_o[c].val();
                    comment!("Counted: CTAs that wait. Port p of channel c has the number c * PLACES + p.");
                    self.waits[c].next = false;
                    for places in self._places..self._past_places {
                        for p in 0..self._places {
                            self.waits[c].next = self.waits[c].val()
                                | (self.dispatch.cta_valid_o[c * places + p].val()
                                    & (!self.cta_ready_i[c * places + p].val()));
                        }
                    }
                    self.counters.waits_i[c].next = self.waits[c].val();
                }
                for p in 0..self._ports {
                    self.dispatch.cta_ready_i[p].next = self.cta_ready_i[p].val();
                    self.cta_valid_o[p].next = self.dispatch.cta_valid_o[p].val();
                    self.cta_sm_o[p].next = self.dispatch.cta_sm_o[p].val();
                    self.cta_slot_o[p].next = self.dispatch.cta_slot_o[p].val();
                    self.cta_id_o[p].next = self.dispatch.cta_id_o[p].val();
                    self.cta_index_o[p].next = self.dispatch.cta_index_o[p].val();
                    self.cta_type_o[p].next = self.dispatch.cta_type_o[p].val();
                    comment!("Counted: CTAs that are taken.");
                    self.counters.taken_i[p].next =
                        self.dispatch.cta_valid_o[p].val() & self.cta_ready_i[p].val();
                    self.counters.type_i[p].next = self.dispatch.cta_type_o[p].val();
                }
                for g in 0..self._groups {
                    self.dispatch.allow_a_i[g].next = self.partitions.allow_a_o[g].val();
                }
                for g in 0..self._groups_b {
                    self.dispatch.allow_b_i[g].next = self.partitions.allow_b_o[g].val();
                }
                self.partitions.write_valid_i.next = self.part_valid_i.val();
                self.partitions.write_part_i.next = self.part_id_i.val();
                self.partitions.write_word_i.next = self.part_word_i.val();
                self.partitions.write_mask_i.next = self.part_mask_i.val();
                self.part_ready_o.next = self.partitions.write_ready_o.val();

                comment!("Completions to the SM array and, where it takes them, to");
                comment!("the table; kernels back to the window. One of an SM that is");
                comment!("not there, or of a kernel of which no CTA runs, gives nothing back.");
                self.elsewhere.next = false;
                for p in 0..4 {
                    self.ended_sm.next = self.done_sm_i[p].val();
                    self.ends[p].next = self.done_valid_i[p].val()
                        & (bit_cast::<2, 8>(self.ended_sm.val()) == self.own[p].val())
                        & (self.ended_sm.val() < self.sms.val());
                    self.dispatch.free_valid_i[p].next = self.ends[p].val() & self.table.done_runs_o[p].val();
                    self.dispatch.free_sm_i[p].next = self.done_sm_i[p].val();
                    self.dispatch.free_warps_i[p].next = self.table.done_warps_o[p].val();
                    self.dispatch.free_regs_i[p].next = self.table.done_regs_o[p].val();
                    self.dispatch.free_smem_i[p].next = self.table.done_smem_o[p].val();
                    self.done[p].next = self.ends[p].val() & self.dispatch.free_ready_o[p].val();
                    self.done_ready_o[p].next = self.dispatch.free_ready_o[p].val();
                    self.table.done_valid_i[p].next = self.done[p].val();
                    self.table.done_slot_i[p].next = self.done_slot_i[p].val();
                    self.counters.done_i[p].next = self.done[p].val() & self.table.done_runs_o[p].val();
                    self.elsewhere.next = self.elsewhere.val()
                        | (self.done_valid_i[p].val()
                            & self.dispatch.free_ready_o[p].val()
                            & (!self.ends[p].val()));
                }
                self.done_err_o.next = self.table.done_err_o.val() | self.elsewhere.val();
                for r in 0..self._retire_ports {
                    self.scheduler.ret_valid_i[r].next = self.table.ret_valid_o[r].val();
                    self.scheduler.ret_slot_i[r].next = self.table.ret_slot_o[r].val();
                    self.table.ret_ready_i[r].next = self.scheduler.ret_ready_o[r].val();
                    self.ret_valid_o[r].next =
                        self.table.ret_valid_o[r].val() & self.scheduler.ret_ready_o[r].val();
                    self.ret_slot_o[r].next = self.no_slot.val();
                    if self.table.ret_valid_o[r].val() & self.scheduler.ret_ready_o[r].val() {
                        self.ret_slot_o[r].next = self.table.ret_slot_o[r].val();
                    }
                    self.counters.retired_i[r].next =
                        self.table.ret_valid_o[r].val() & self.scheduler.ret_ready_o[r].val();
                }

                comment!("For observation.");
                self.disp_valid_o.next = self.scheduler.disp_valid_o.val();
                self.disp_id_o.next = self.scheduler.disp_id_o.val();
                self.disp_slot_o.next = self.scheduler.disp_slot_o.val();
                self.ret_err_o.next = self.scheduler.ret_err_o.val();
                self.occupancy_o.next = self.scheduler.occupancy_o.val();
                self.oldest_valid_o.next = self.scheduler.oldest_valid_o.val();
                self.oldest_id_o.next = self.scheduler.oldest_id_o.val();
                self.stall_limit_o.next = self.scheduler.stall_limit_o.val();
                self.stall_full_o.next = self.scheduler.stall_full_o.val();
                self.stall_busy_o.next = self.scheduler.stall_busy_o.val();
                self.busy_o.next = self.scheduler.busy_o.val();
                self.counters.occupancy_i.next = self.scheduler.occupancy_o.val();
                self.counters.stall_limit_i.next = self.scheduler.stall_limit_o.val();
                self.counters.stall_full_i.next = self.scheduler.stall_full_o.val();
                self.counters.stall_busy_i.next = self.scheduler.stall_busy_o.val();
                self.counters.sel_i.next = self.count_sel_i.val();
                self.count_o.next = self.counters.count_o.val();
            }
        }

        $crate::flat_ports!(impl [$($generics)*] for $block<$($args)*>:
            clk_i rst_ni host_valid_i host_ready_o host_id_i $($host)* $($lane)* host_grid_i host_type_i host_part_i host_warps_i
            host_regs_i host_smem_i host_err_o cta_valid_o cta_ready_i cta_sm_o cta_slot_o cta_id_o cta_index_o cta_type_o done_valid_i
            done_ready_o done_sm_i done_slot_i done_err_o part_valid_i part_ready_o part_id_i part_word_i part_mask_i
            disp_valid_o disp_id_o disp_slot_o ret_valid_o ret_slot_o ret_err_o occupancy_o oldest_valid_o oldest_id_o
            stall_limit_o stall_full_o stall_busy_o busy_o run_o count_sel_i count_o);
    };
}

/// A front end with the `ids` encoding.
macro_rules! ids_front_end {
    ($block:ident, $scheduler:ident, $doc:literal) => {
        front_end! {
            #[doc = $doc] $block [const N: usize, const LN: usize] [N, LN], $scheduler<N, LN>,
            host {
                /// The kernel's last beat.
                host_last_i: Bit,
            }
            lane {
                /// The lane holds an upstream id.
                host_up_valid_i: Bit,
                /// An upstream id.
                host_up_id_i: Bits<ID_BITS>,
            }
        }
    };
}

/// A front end with the `mask` encoding.
macro_rules! mask_front_end {
    ($block:ident, $scheduler:ident, $doc:literal) => {
        front_end! {
            #[doc = $doc] $block [const N: usize, const LN: usize, const M: usize] [N, LN, M], $scheduler<N, LN, M>,
            host {
                /// Bit j: waits for the kernel sent j + 1 before. Each kernel is one beat.
                host_up_i: Bits<M>,
            }
            lane {}
        }
    };
}

ids_front_end!(MatrixIdsFrontEnd, MatrixIdsScheduler, "Matrix window, upstream as ids.");
ids_front_end!(ListIdsFrontEnd, ListIdsScheduler, "List window, upstream as ids.");
mask_front_end!(MatrixMaskFrontEnd, MatrixMaskScheduler, "Matrix window, upstream as a mask.");
mask_front_end!(ListMaskFrontEnd, ListMaskScheduler, "List window, upstream as a mask.");

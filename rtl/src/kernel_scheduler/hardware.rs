//! The hardware of `kernel_scheduler`: rust-hdl wants concrete sub-blocks, so there is one struct per pair of a window and
//! an encoding, all written by one macro.

use crate::info::Info;
use crate::params::{Encoding, ID_BITS, SchedulerParams};
use crate::parts::bank;
use crate::upstream_load::{UpstreamLoadIds, UpstreamLoadMask};
use crate::window_list::WindowList;
use crate::window_matrix::WindowMatrix;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

fn info(params: SchedulerParams) -> Info {
    let upstream = params.upstream();
    let kind = format!("kernel_scheduler_{}_{}", params.kind().name(), upstream.encoding().name());
    let info = Info::module(&kind, "ACE (Durvasula et al., PACT 2024), section 4.3")
        .param("SLOTS", "n", params.window().slots())
        .param("RETIRE_PORTS", "r", params.window().retire_ports())
        .param("SCHEDULED", "m", upstream.scheduled());
    let info = match upstream.encoding() {
        Encoding::Ids { lanes } => info.param("LANES", "k", lanes),
        Encoding::Mask => info,
    };
    info.param_unless(0, "PIPELINED", "p", params.window().pipelined().into())
}

/// One scheduler. `host` and `lane` are the host's ports that only this encoding has; `state` the ports that its upstream
/// load module needs for its state, if it has any, and `moved` the one that tells it which places move.
macro_rules! scheduler {
    (
        $(#[$doc:meta])* $block:ident [$($generics:tt)*] [$($args:tt)*], $window:ty, $upstream:ty, new $new:expr,
        host { $($(#[$host_doc:meta])* $host:ident: $host_type:ty,)* } lane { $($(#[$lane_doc:meta])* $lane:ident: $lane_type:ty,)* } state { $($state:ident),* } moved { $($moved:ident),* }
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
            /// A kernel without unfinished upstream is offered, the oldest first.
            pub disp_valid_o: Signal<Out, Bit>,
            /// It is taken at the end of this cycle.
            pub disp_ready_i: Signal<In, Bit>,
            /// Its id.
            pub disp_id_o: Signal<Out, Bits<ID_BITS>>,
            /// Its slot: the tag under which it retires.
            pub disp_slot_o: Signal<Out, Bits<LN>>,
            /// One-hot: the slot of the kernel that is inserted in this cycle, or zero.
            pub ins_slot_o: Signal<Out, Bits<N>>,
            /// A dispatched kernel has finished.
            pub ret_valid_i: Vec<Signal<In, Bit>>,
            /// Its retirement is taken at the end of this cycle.
            pub ret_ready_o: Vec<Signal<Out, Bit>>,
            /// Its slot.
            pub ret_slot_i: Vec<Signal<In, Bits<LN>>>,
            /// A port named a slot that cannot retire; ignored.
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
            /// Finds the places of the kernels that a new one waits for.
            upstream: $upstream,
            /// Holds kernels until they retire, and offers those that wait for none.
            window: $window,
            /// A kernel with all its beats waits for the window.
            waiting: Signal<Local, Bit>,
            _retire_ports: usize,
            _lanes: usize,
        }

        impl<$($generics)*> $block<$($args)*> {
            /// The scheduler with `params`, whose sizes must be those of the type.
            pub fn new(params: SchedulerParams) -> Self {
                let r = params.window().retire_ports();
                let lanes = match params.upstream().encoding() {
                    Encoding::Ids { lanes } => lanes,
                    Encoding::Mask => 0,
                };
                Self {
                    info: info(params).fields::<Self>(&["host", "disp", "ret"]),
                    clk_i: Signal::default(),
                    rst_ni: Signal::default(),
                    host_valid_i: Signal::default(),
                    host_ready_o: Signal::default(),
                    host_id_i: Signal::default(),
                    $($host: Signal::default(),)*
                    $($lane: bank(lanes),)*
                    disp_valid_o: Signal::default(),
                    disp_ready_i: Signal::default(),
                    disp_id_o: Signal::default(),
                    disp_slot_o: Signal::default(),
                    ins_slot_o: Signal::default(),
                    ret_valid_i: bank(r),
                    ret_ready_o: bank(r),
                    ret_slot_i: bank(r),
                    ret_err_o: Signal::default(),
                    occupancy_o: Signal::default(),
                    oldest_valid_o: Signal::default(),
                    oldest_id_o: Signal::default(),
                    stall_limit_o: Signal::default(),
                    stall_full_o: Signal::default(),
                    stall_busy_o: Signal::default(),
                    busy_o: Signal::default(),
                    upstream: $new(params.upstream(), lanes),
                    window: <$window>::new(params.window()),
                    waiting: Signal::default(),
                    _retire_ports: r,
                    _lanes: lanes,
                }
            }
        }

        impl<$($generics)*> Logic for $block<$($args)*> {
            #[hdl_gen]
            fn update(&mut self) {
                $(self.upstream.$state.next = self.$state.val();)*
                $(self.upstream.$host.next = self.$host.val();)*
                for _k in 0..self._lanes {
                    $(self.upstream.$lane[_k].next = self.$lane[_k].val();)*
                }
                self.window.clk_i.next = self.clk_i.val();
                self.window.rst_ni.next = self.rst_ni.val();

                self.upstream.host_valid_i.next = self.host_valid_i.val();
                self.upstream.host_id_i.next = self.host_id_i.val();
                self.host_ready_o.next = self.upstream.host_ready_o.val();

                self.window.ins_valid_i.next = self.upstream.ins_valid_o.val();
                self.window.ins_id_i.next = self.upstream.ins_id_o.val();
                self.window.ins_up_i.next = self.upstream.ins_up_o.val();
                self.upstream.ins_ready_i.next = self.window.ins_ready_o.val();
                self.upstream.place_live_i.next = self.window.place_live_o.val();
                for p in 0..N {
                    self.upstream.place_id_i[p].next = self.window.place_id_o[p].val();
                }
                $(self.upstream.$moved.next = self.window.place_shift_o.val();)*
                self.upstream.oldest_valid_i.next = self.window.oldest_valid_o.val();
                self.upstream.oldest_id_i.next = self.window.oldest_id_o.val();

                self.window.disp_ready_i.next = self.disp_ready_i.val();
                self.disp_valid_o.next = self.window.disp_valid_o.val();
                self.disp_id_o.next = self.window.disp_id_o.val();
                self.disp_slot_o.next = self.window.disp_slot_o.val();
                self.ins_slot_o.next = self.window.ins_slot_o.val();
                for r in 0..self._retire_ports {
                    self.window.ret_valid_i[r].next = self.ret_valid_i[r].val();
                    self.window.ret_slot_i[r].next = self.ret_slot_i[r].val();
                    self.ret_ready_o[r].next = self.window.ret_ready_o[r].val();
                }
                self.ret_err_o.next = self.window.ret_err_o.val();

                self.occupancy_o.next = self.window.occupancy_o.val();
                self.oldest_valid_o.next = self.window.oldest_valid_o.val();
                self.oldest_id_o.next = self.window.oldest_id_o.val();
                comment!("Why the host waits: for the oldest kernel, for a");
                comment!("slot, or for the window's work.");
                self.waiting.next = self.upstream.ins_valid_o.val() & (!self.window.ins_ready_o.val());
                self.stall_limit_o.next = self.upstream.stall_limit_o.val();
                self.stall_full_o.next = self.waiting.val() & self.window.full_o.val();
                self.stall_busy_o.next = self.waiting.val() & (!self.window.full_o.val());
                self.busy_o.next = self.window.busy_o.val();
            }
        }

        $crate::flat_ports!(impl [$($generics)*] for $block<$($args)*>:
            clk_i rst_ni host_valid_i host_ready_o host_id_i $($host)* $($lane)* disp_valid_o disp_ready_i disp_id_o disp_slot_o
            ins_slot_o ret_valid_i ret_ready_o ret_slot_i ret_err_o occupancy_o oldest_valid_o oldest_id_o stall_limit_o
            stall_full_o stall_busy_o busy_o);
    };
}

/// A scheduler with the `ids` encoding.
macro_rules! ids_scheduler {
    ($block:ident, $window:ident, $doc:literal) => {
        scheduler! {
            #[doc = $doc] $block [const N: usize, const LN: usize] [N, LN], $window<N, LN>, UpstreamLoadIds<N>,
            new UpstreamLoadIds::new,
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
            state { clk_i, rst_ni } moved { place_shift_i }
        }
    };
}

/// A scheduler with the `mask` encoding.
macro_rules! mask_scheduler {
    ($block:ident, $window:ident, $doc:literal) => {
        scheduler! {
            #[doc = $doc] $block [const N: usize, const LN: usize, const M: usize] [N, LN, M],
            $window<N, LN>, UpstreamLoadMask<N, M>, new |params, _| UpstreamLoadMask::new(params),
            host {
                /// Bit j: waits for the kernel sent j + 1 before. Each kernel is one beat.
                host_up_i: Bits<M>,
            }
            lane {} state {} moved {}
        }
    };
}

ids_scheduler!(MatrixIdsScheduler, WindowMatrix, "Matrix window, upstream as ids.");
ids_scheduler!(ListIdsScheduler, WindowList, "List window, upstream as ids.");
mask_scheduler!(MatrixMaskScheduler, WindowMatrix, "Matrix window, upstream as a mask.");
mask_scheduler!(ListMaskScheduler, WindowList, "List window, upstream as a mask.");

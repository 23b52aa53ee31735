//! The hardware of `kernel_scheduler`: rust-hdl wants concrete sub-blocks, so there is one struct per pair of a window and
//! an encoding, all written by one macro.

use crate::info::{Info, PortDoc};
use crate::params::{Encoding, ID_BITS, SchedulerParams};
use crate::parts::bank;
use crate::upstream_load::{UpstreamLoadIds, UpstreamLoadMask};
use crate::window_list::WindowList;
use crate::window_matrix::WindowMatrix;
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("host_valid_i", "host", "a beat is offered"),
    ("host_ready_o", "host", "it is taken at the end of this cycle"),
    ("host_id_i", "host", "the kernel's id, one more than that of the kernel before"),
    ("host_last_i", "host", "the kernel's last beat"),
    ("host_up_valid_i", "host", "the lane holds an upstream id"),
    ("host_up_id_i", "host", "an upstream id"),
    ("host_up_i", "host", "bit j: waits for the kernel sent j + 1 before"),
    ("disp_valid_o", "disp", "a kernel without unfinished upstream is offered, the oldest first"),
    ("disp_ready_i", "disp", "it is taken at the end of this cycle"),
    ("disp_id_o", "disp", "its id"),
    ("disp_slot_o", "disp", "its slot: the tag under which it retires"),
    ("ret_valid_i", "ret", "a dispatched kernel has finished"),
    ("ret_ready_o", "ret", "its retirement is taken at the end of this cycle"),
    ("ret_slot_i", "ret", "its slot"),
    ("ret_err_o", "", "a port named a slot that cannot retire; ignored"),
    ("occupancy_o", "", "kernels in the window"),
    ("oldest_valid_o", "", "the window is not empty"),
    ("oldest_id_o", "", "id of the oldest kernel in the window"),
    ("stall_limit_o", "", "the host waits: M newer kernels than the oldest unfinished one were sent"),
    ("stall_full_o", "", "the host waits: every slot is taken"),
    ("stall_busy_o", "", "the host waits: the window works on an insertion or a retirement"),
    ("busy_o", "", "the window works on an insertion or a retirement"),
];

fn info(params: SchedulerParams) -> Info {
    let upstream = params.upstream();
    let kind = format!("kernel_scheduler_{}_{}", params.kind().name(), upstream.encoding().name());
    let info = Info::module(&kind, "ACE (Durvasula et al., PACT 2024), section 4.3", PORTS)
        .param("SLOTS", "n", params.window().slots())
        .param("RETIRE_PORTS", "r", params.window().retire_ports())
        .param("SCHEDULED", "m", upstream.scheduled());
    match upstream.encoding() {
        Encoding::Ids { lanes } => info.param("LANES", "k", lanes),
        Encoding::Mask => info,
    }
}

/// One scheduler: what all of them share, and between the braces what belongs to the encoding.
macro_rules! scheduler {
    (
        $me:ident, $(#[$doc:meta])* $block:ident [$($generics:tt)*] [$($args:tt)*], $window:ty, $upstream:ty, $lanes:pat,
        new $new:expr,
        host { $($host:ident: $host_type:ty = $host_new:expr),* }
        update { $($update:tt)* }
    ) => {
        $(#[$doc])*
        #[derive(LogicBlock)]
        pub struct $block<$($generics)*> {
            info: Info,
            /// Clock.
            pub clk_i: Signal<In, Clock>,
            /// Reset.
            pub rst_ni: Signal<In, Bit>,
            /// A beat is offered.
            pub host_valid_i: Signal<In, Bit>,
            /// It is taken.
            pub host_ready_o: Signal<Out, Bit>,
            /// The kernel's id.
            pub host_id_i: Signal<In, Bits<ID_BITS>>,
            $(
                /// What the kernel waits for.
                pub $host: $host_type,
            )*
            /// A kernel is offered.
            pub disp_valid_o: Signal<Out, Bit>,
            /// It is taken.
            pub disp_ready_i: Signal<In, Bit>,
            /// Its id.
            pub disp_id_o: Signal<Out, Bits<ID_BITS>>,
            /// Its slot.
            pub disp_slot_o: Signal<Out, Bits<LN>>,
            /// A kernel has finished.
            pub ret_valid_i: Vec<Signal<In, Bit>>,
            /// Its retirement is taken.
            pub ret_ready_o: Vec<Signal<Out, Bit>>,
            /// Its slot.
            pub ret_slot_i: Vec<Signal<In, Bits<LN>>>,
            /// A retirement is ignored.
            pub ret_err_o: Signal<Out, Bit>,
            /// Kernels in the window.
            pub occupancy_o: Signal<Out, Bits<8>>,
            /// Not empty.
            pub oldest_valid_o: Signal<Out, Bit>,
            /// Id of the oldest kernel.
            pub oldest_id_o: Signal<Out, Bits<ID_BITS>>,
            /// The host waits for the oldest kernel.
            pub stall_limit_o: Signal<Out, Bit>,
            /// The host waits for a slot.
            pub stall_full_o: Signal<Out, Bit>,
            /// The host waits for the window.
            pub stall_busy_o: Signal<Out, Bit>,
            /// The window works on something.
            pub busy_o: Signal<Out, Bit>,
            upstream: $upstream,
            window: $window,
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
                let $lanes = lanes;
                let upstream = params.upstream();
                Self {
                    info: info(params),
                    clk_i: Signal::default(),
                    rst_ni: Signal::default(),
                    host_valid_i: Signal::default(),
                    host_ready_o: Signal::default(),
                    host_id_i: Signal::default(),
                    $($host: $host_new,)*
                    disp_valid_o: Signal::default(),
                    disp_ready_i: Signal::default(),
                    disp_id_o: Signal::default(),
                    disp_slot_o: Signal::default(),
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
                    upstream: $new(upstream),
                    window: <$window>::new(params.window()),
                    waiting: Signal::default(),
                    _retire_ports: r,
                    _lanes: lanes,
                }
            }
        }

        impl<$($generics)*> Logic for $block<$($args)*> {
            #[hdl_gen]
            fn update(&mut $me) {
                $($update)*
                $me.window.clk_i.next = $me.clk_i.val();
                $me.window.rst_ni.next = $me.rst_ni.val();

                $me.upstream.host_valid_i.next = $me.host_valid_i.val();
                $me.upstream.host_id_i.next = $me.host_id_i.val();
                $me.host_ready_o.next = $me.upstream.host_ready_o.val();

                $me.window.ins_valid_i.next = $me.upstream.ins_valid_o.val();
                $me.window.ins_id_i.next = $me.upstream.ins_id_o.val();
                $me.window.ins_up_i.next = $me.upstream.ins_up_o.val();
                $me.upstream.ins_ready_i.next = $me.window.ins_ready_o.val();
                $me.upstream.slot_live_i.next = $me.window.slot_live_o.val();
                for s in 0..N {
                    $me.upstream.slot_id_i[s].next = $me.window.slot_id_o[s].val();
                }
                $me.upstream.oldest_valid_i.next = $me.window.oldest_valid_o.val();
                $me.upstream.oldest_id_i.next = $me.window.oldest_id_o.val();

                $me.window.disp_ready_i.next = $me.disp_ready_i.val();
                $me.disp_valid_o.next = $me.window.disp_valid_o.val();
                $me.disp_id_o.next = $me.window.disp_id_o.val();
                $me.disp_slot_o.next = $me.window.disp_slot_o.val();
                for r in 0..$me._retire_ports {
                    $me.window.ret_valid_i[r].next = $me.ret_valid_i[r].val();
                    $me.window.ret_slot_i[r].next = $me.ret_slot_i[r].val();
                    $me.ret_ready_o[r].next = $me.window.ret_ready_o[r].val();
                }
                $me.ret_err_o.next = $me.window.ret_err_o.val();

                $me.occupancy_o.next = $me.window.occupancy_o.val();
                $me.oldest_valid_o.next = $me.window.oldest_valid_o.val();
                $me.oldest_id_o.next = $me.window.oldest_id_o.val();
                $me.waiting.next = $me.upstream.ins_valid_o.val() & (!$me.window.ins_ready_o.val());
                $me.stall_limit_o.next = $me.upstream.stall_limit_o.val();
                $me.stall_full_o.next = $me.waiting.val() & $me.window.full_o.val();
                $me.stall_busy_o.next = $me.waiting.val() & (!$me.window.full_o.val());
                $me.busy_o.next = $me.window.busy_o.val();
            }
        }

        $crate::flat_ports!(impl [$($generics)*] for $block<$($args)*>:
            clk_i rst_ni host_valid_i host_ready_o host_id_i $($host)* disp_valid_o disp_ready_i disp_id_o disp_slot_o
            ret_valid_i ret_ready_o ret_slot_i ret_err_o occupancy_o oldest_valid_o oldest_id_o stall_limit_o
            stall_full_o stall_busy_o busy_o);
    };
}

/// A scheduler with the `ids` encoding.
macro_rules! ids_scheduler {
    ($block:ident, $window:ident, $doc:literal) => {
        scheduler! {
            self, #[doc = $doc] $block [const N: usize, const LN: usize] [N, LN],
            $window<N, LN>, UpstreamLoadIds<N>, lanes,
            new |params| UpstreamLoadIds::new(params, lanes),
            host {
                host_last_i: Signal<In, Bit> = Signal::default(),
                host_up_valid_i: Vec<Signal<In, Bit>> = bank(lanes),
                host_up_id_i: Vec<Signal<In, Bits<ID_BITS>>> = bank(lanes)
            }
            update {
                self.upstream.clk_i.next = self.clk_i.val();
                self.upstream.rst_ni.next = self.rst_ni.val();
                self.upstream.host_last_i.next = self.host_last_i.val();
                for k in 0..self._lanes {
                    self.upstream.host_up_valid_i[k].next = self.host_up_valid_i[k].val();
                    self.upstream.host_up_id_i[k].next = self.host_up_id_i[k].val();
                }
            }
        }
    };
}

/// A scheduler with the `mask` encoding.
macro_rules! mask_scheduler {
    ($block:ident, $window:ident, $doc:literal) => {
        scheduler! {
            self, #[doc = $doc] $block [const N: usize, const LN: usize, const M: usize] [N, LN, M],
            $window<N, LN>, UpstreamLoadMask<N, M>, _,
            new UpstreamLoadMask::new,
            host { host_up_i: Signal<In, Bits<M>> = Signal::default() }
            update { self.upstream.host_up_i.next = self.host_up_i.val(); }
        }
    };
}

ids_scheduler!(MatrixIdsScheduler, WindowMatrix, "Matrix window, upstream as ids.");
ids_scheduler!(ListIdsScheduler, WindowList, "List window, upstream as ids.");
mask_scheduler!(MatrixMaskScheduler, WindowMatrix, "Matrix window, upstream as a mask.");
mask_scheduler!(ListMaskScheduler, WindowList, "List window, upstream as a mask.");

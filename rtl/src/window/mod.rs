//! What both windows share: their ports and what these mean.

pub mod model;

use crate::info::Info;
use crate::params::WindowParams;

pub(crate) const CHANNELS: &[&str] = &["ins", "disp", "ret"];

/// The `Info` of a window.
pub(crate) fn info(kind: &str, params: WindowParams) -> Info {
    let info = Info::module(kind, "ACE (Durvasula et al., PACT 2024), section 4.3, figure 19")
        .param("SLOTS", "n", params.slots())
        .param("RETIRE_PORTS", "r", params.retire_ports());
    // Lists have no such stage.
    let staged = kind == "window_matrix";
    if staged { info.param_unless(0, "PIPELINED", "p", params.pipelined().into()) } else { info }
}

/// A window: the ports that every kind has, the private fields between the braces, the constructor. `$params` and the number of
/// retire ports, `$r`, are for the initial values.
macro_rules! window {
    (
        $(#[$doc:meta])* $block:ident = $kind:literal, |$params:ident, $r:ident| {
            $($(#[$field_doc:meta])* $field:ident: $field_type:ty = $init:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(LogicBlock, documented::DocumentedFieldsOpt)]
        pub struct $block<const N: usize, const LN: usize> {
            info: Info,
            /// Clock.
            pub clk_i: Signal<In, Clock>,
            /// Reset.
            pub rst_ni: Signal<In, Bit>,
            /// A kernel is to be inserted.
            pub ins_valid_i: Signal<In, Bit>,
            /// It is inserted at the end of this cycle.
            pub ins_ready_o: Signal<Out, Bit>,
            /// Its id.
            pub ins_id_i: Signal<In, Bits<ID_BITS>>,
            /// Places of the kernels it waits for; only places of place_live_o.
            pub ins_up_i: Signal<In, Bits<N>>,
            /// One-hot: the slot of the kernel that is inserted in this cycle, or zero.
            pub ins_slot_o: Signal<Out, Bits<N>>,
            /// A kernel without unfinished upstream is offered, the oldest first.
            pub disp_valid_o: Signal<Out, Bit>,
            /// It is taken at the end of this cycle.
            pub disp_ready_i: Signal<In, Bit>,
            /// Its id.
            pub disp_id_o: Signal<Out, Bits<ID_BITS>>,
            /// Its slot: the tag under which it retires.
            pub disp_slot_o: Signal<Out, Bits<LN>>,
            /// A dispatched kernel has finished.
            pub ret_valid_i: Vec<Signal<In, Bit>>,
            /// Its retirement is taken at the end of this cycle.
            pub ret_ready_o: Vec<Signal<Out, Bit>>,
            /// Its slot.
            pub ret_slot_i: Vec<Signal<In, Bits<LN>>>,
            /// A port named a slot that cannot retire; ignored.
            pub ret_err_o: Signal<Out, Bit>,
            /// Places whose kernels have not retired, nor retire in this cycle.
            pub place_live_o: Signal<Out, Bits<N>>,
            /// Id of the kernel in this place; if there is none, of one that was.
            pub place_id_o: Vec<Signal<Out, Bits<ID_BITS>>>,
            /// Places whose kernel comes from the place above at the end of this cycle.
            pub place_shift_o: Signal<Out, Bits<N>>,
            /// Places in use.
            pub occupancy_o: Signal<Out, Bits<8>>,
            /// A kernel has a place.
            pub oldest_valid_o: Signal<Out, Bit>,
            /// Id of the oldest kernel that has a place.
            pub oldest_id_o: Signal<Out, Bits<ID_BITS>>,
            /// No place is free.
            pub full_o: Signal<Out, Bit>,
            /// An insertion or a retirement is being worked on.
            pub busy_o: Signal<Out, Bit>,
            $($(#[$field_doc])* $field: $field_type,)*
            _retire_ports: usize,
        }

        impl<const N: usize, const LN: usize> $block<N, LN> {
            /// A window of `N` slots; `params` must say the same `N`.
            pub fn new($params: WindowParams) -> Self {
                debug_assert_eq!($params.slots(), N);
                let $r = $params.retire_ports();
                Self {
                    info: $crate::window::info($kind, $params).fields::<Self>($crate::window::CHANNELS),
                    clk_i: Signal::default(),
                    rst_ni: Signal::default(),
                    ins_valid_i: Signal::default(),
                    ins_ready_o: Signal::default(),
                    ins_id_i: Signal::default(),
                    ins_up_i: Signal::default(),
                    ins_slot_o: Signal::default(),
                    disp_valid_o: Signal::default(),
                    disp_ready_i: Signal::default(),
                    disp_id_o: Signal::default(),
                    disp_slot_o: Signal::default(),
                    ret_valid_i: bank($r),
                    ret_ready_o: bank($r),
                    ret_slot_i: bank($r),
                    ret_err_o: Signal::default(),
                    place_live_o: Signal::default(),
                    place_id_o: bank(N),
                    place_shift_o: Signal::default(),
                    occupancy_o: Signal::default(),
                    oldest_valid_o: Signal::default(),
                    oldest_id_o: Signal::default(),
                    full_o: Signal::default(),
                    busy_o: Signal::default(),
                    $($field: $init,)*
                    _retire_ports: $r,
                }
            }
        }

        $crate::flat_ports!(impl [const N: usize, const LN: usize] for $block<N, LN>:
            clk_i rst_ni ins_valid_i ins_ready_o ins_id_i ins_up_i ins_slot_o disp_valid_o disp_ready_i disp_id_o disp_slot_o
            ret_valid_i ret_ready_o ret_slot_i ret_err_o place_live_o place_id_o place_shift_o occupancy_o
            oldest_valid_o oldest_id_o full_o busy_o);
    };
}
pub(crate) use window;

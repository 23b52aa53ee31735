//! What both windows share: their ports and what these mean.

pub mod model;
mod slots;

pub use slots::WindowSlots;

use crate::info::{Info, PortDoc};
use crate::params::WindowParams;

const PORTS: &[PortDoc] = &[
    ("ins_valid_i", "ins", "a kernel is to be inserted"),
    ("ins_ready_o", "ins", "it is inserted at the end of this cycle"),
    ("ins_id_i", "ins", "its id"),
    ("ins_up_i", "ins", "slots it waits for; only slots of slot_live_o"),
    ("disp_valid_o", "disp", "a kernel without unfinished upstream is offered, the oldest first"),
    ("disp_ready_i", "disp", "it is taken at the end of this cycle"),
    ("disp_id_o", "disp", "its id"),
    ("disp_slot_o", "disp", "its slot: the tag under which it retires"),
    ("ret_valid_i", "ret", "a dispatched kernel has finished"),
    ("ret_ready_o", "ret", "its retirement is taken at the end of this cycle"),
    ("ret_slot_i", "ret", "its slot"),
    ("ret_err_o", "", "a port named a slot that cannot retire; ignored"),
    ("slot_live_o", "", "slots in use, those that retire in this cycle left out"),
    ("slot_id_o", "", "id last written to the slot"),
    ("occupancy_o", "", "slots in use"),
    ("oldest_valid_o", "", "the window is not empty"),
    ("oldest_id_o", "", "id of the oldest kernel in the window"),
    ("full_o", "", "no slot is free"),
    ("busy_o", "", "an insertion or a retirement is being worked on"),
];

/// The `Info` of a window.
pub(crate) fn info(kind: &str, params: WindowParams) -> Info {
    Info::module(kind, "ACE (Durvasula et al., PACT 2024), section 4.3, figure 19", PORTS)
        .param("SLOTS", "n", params.slots())
        .param("RETIRE_PORTS", "r", params.retire_ports())
}

/// The ports of a window, in order.
#[macro_export]
macro_rules! window_ports {
    ($block:ident) => {
        $crate::flat_ports!(impl [const N: usize, const LN: usize] for $block<N, LN>:
            clk_i rst_ni ins_valid_i ins_ready_o ins_id_i ins_up_i disp_valid_o disp_ready_i disp_id_o disp_slot_o
            ret_valid_i ret_ready_o ret_slot_i ret_err_o slot_live_o slot_id_o occupancy_o oldest_valid_o oldest_id_o
            full_o busy_o);
    };
}

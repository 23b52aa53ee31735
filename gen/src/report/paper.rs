//! What ACE's authors estimate for their scheduling window, to stand beside what we measure.
//!
//! The paper gives few numbers: about 1 KB of SRAM for a window of 32 slots, N cycles to insert a kernel, and N-1 to update the
//! window when one retires. The kilobyte is an estimate by its authors, not a synthesis result, and there is no area in µm².
//! Its size follows from the organisation: each of N slots keeps the ids of up to N-1 upstream kernels, 8 bits each.

use crate::synth::area::{Amount, AreaReport, round4};
use serde::{Deserialize, Serialize};

/// Where the figures come from.
pub const SOURCE: &str = "S. Durvasula et al., ACE, PACT 2024, section 4.3 (hardware scheduling window)";

/// The window size that the paper's storage figure is for.
pub const SLOTS: u32 = 32;

/// Width of an id in the paper's upstream lists.
const ID_BITS: u64 = 8;

/// Bits of the paper's upstream lists in a window of `slots`; 992 bytes at 32, which the paper rounds to 1 KB.
fn storage_bits(slots: u32) -> u64 {
    let slots = u64::from(slots);
    slots * slots.saturating_sub(1) * ID_BITS
}

/// Cycles that the paper counts for inserting a kernel: one per slot.
pub fn insert_cycles(slots: u32) -> f64 {
    f64::from(slots)
}

/// Cycles that the paper counts for updating the window after a kernel: one per other slot.
pub fn update_cycles(slots: u32) -> f64 {
    f64::from(slots) - 1.0
}

/// One of our numbers beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is compared.
    pub quantity: String,
    /// Unit of both.
    pub unit: String,
    /// The paper's number, or what follows from it.
    pub paper: f64,
    /// Our number.
    pub measured: f64,
    /// Ours less the paper's.
    pub difference: f64,
    /// The difference in percent of the paper's number.
    pub percent: Option<f64>,
    /// How the paper's number came about.
    pub note: String,
}

impl Comparison {
    fn new(quantity: &str, unit: &str, paper: f64, measured: f64, note: String) -> Self {
        let paper = round4(paper);
        let difference = round4(measured - paper);
        let percent = (paper != 0.0).then(|| (difference / paper * 1e3).round() / 10.0);
        Self { quantity: quantity.into(), unit: unit.into(), paper, measured, difference, percent, note }
    }
}

/// Storage and area of a window of `slots`, beside the paper's. `window` is the window alone, without the upstream load
/// module and what else surrounds it: the paper's kilobyte is for the window.
pub fn compare(slots: u32, window: &Amount, area: &AreaReport) -> Vec<Comparison> {
    let bits = storage_bits(slots);
    let size = if slots == SLOTS {
        "the paper says about 1 KB".to_string()
    } else {
        format!("the paper's layout; its own figure, 1 KB, is for {SLOTS} slots only")
    };
    let lists = format!("{slots} x {} ids of {ID_BITS} bits", slots.saturating_sub(1));
    let mut rows = vec![Comparison::new(
        "window storage",
        "bits",
        bits as f64,
        window.flip_flops as f64,
        format!("{lists} = {} bytes of SRAM ({size}); ours are all flip-flops of the window", bits / 8),
    )];
    if let Some(flip_flop) = area.flip_flop_um2 {
        rows.push(Comparison::new(
            "window area",
            "µm²",
            bits as f64 * flip_flop,
            window.area_um2,
            format!("no area in the paper: its bits as this library's flip-flops of {flip_flop} µm², without logic; SRAM is denser"),
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_numbers() {
        assert_eq!(storage_bits(32), 992 * 8);
        assert_eq!((insert_cycles(32), update_cycles(32)), (32.0, 31.0));
        assert_eq!((storage_bits(0), storage_bits(1)), (0, 0));
    }
}

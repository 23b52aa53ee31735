//! Coverage: the bench of a block reaches what one that stands still does not.

use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::cover::{CoverError, CoverReport, cover, cover_alone};
use windlass_cosim::lockstep::LockstepError;
use windlass_cosim::stimulus::Stimulus;
use windlass_gen::rtl::Rtl;
use windlass_rtl::port::{Direction, Layout, RESET};

type Measure = fn(BlockSpec, &Rtl, &mut dyn Stimulus, u64) -> Result<CoverReport, CoverError>;

/// Resets, and then gives nothing.
struct Idle(Layout);

impl Stimulus for Idle {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        self.0.slot(RESET).expect("it has a reset").set(inputs, u128::from(cycle > 1));
    }
}

#[test]
fn a_bench_that_stands_still_reaches_little() {
    let spec = BlockSpec::new("window_matrix", Request { slots: 4, ..Request::default() })
        .unwrap_or_else(|e| panic!("{e}"));
    let rtl = Rtl::emitted(spec).unwrap_or_else(|e| panic!("{e}"));
    let mut idle = Idle(Layout::new(&spec.ports(), Direction::Input));
    let idle = cover(spec, &rtl, &mut idle, 1_000).unwrap_or_else(|e| panic!("{e}"));
    let bench = cover(spec, &rtl, &mut *stimulus(spec, 1), 20_000).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(bench.lines.reached, bench.lines.total, "{:?}", bench.line_holes);
    // No kernel waits for a younger one: the bits above the diagonal stand still by design, and others.
    assert!(bench.toggles.percent() > 75.0, "{:?} {:?}", bench.toggles, bench.toggle_holes);
    assert_eq!(idle.lines.total, bench.lines.total);
    assert!(idle.toggles.percent() < 40.0, "{:?}", idle.toggles);
    assert!(!idle.line_holes.is_empty());
    // Registers start at random, so that outputs may move before the reset; but not this one.
    let inserted = |hole: &windlass_cosim::cover::Hole| hole.what.starts_with("ins_slot_o");
    assert!(idle.toggle_holes.iter().any(inserted), "{:?}", idle.toggle_holes);
    assert!(!bench.toggle_holes.iter().any(inserted));
}

#[test]
fn a_design_that_differs_is_covered_alone() {
    let spec = BlockSpec::new("round_robin", Request { slots: 4, ..Request::default() })
        .unwrap_or_else(|e| panic!("{e}"));
    let mut rtl = Rtl::emitted(spec).unwrap_or_else(|e| panic!("{e}"));
    let right = cover(spec, &rtl, &mut *stimulus(spec, 1), 2_000).unwrap_or_else(|e| panic!("{e}"));
    let alone = cover_alone(spec, &rtl, &mut *stimulus(spec, 1), 2_000).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(alone, right);
    // No turns: the lowest request.
    let top = rtl.top.clone();
    let text = rtl.files.iter_mut().find(|(name, _)| *name == format!("{top}.v")).map(|(_, text)| text);
    let ports = "input clk_i, input rst_ni, input [3:0] req_i, input ack_i, output [3:0] gnt_o";
    *text.expect("a file of the top") =
        format!("module {top} ({ports});\n  assign gnt_o = req_i & (~req_i + 4'h1);\nendmodule\n");
    let of = |measure: Measure| measure(spec, &rtl, &mut *stimulus(spec, 1), 2_000);
    assert!(matches!(of(cover), Err(CoverError::Lockstep(LockstepError::Difference(_)))));
    let lowest = of(cover_alone).unwrap_or_else(|e| panic!("{e}"));
    let granted = |hole: &windlass_cosim::cover::Hole| hole.what.starts_with("gnt_o");
    assert!(lowest.toggles.reached > 8 && !lowest.toggle_holes.iter().any(granted), "{lowest:?}");
}

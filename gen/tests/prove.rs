//! Proofs of every block at small sizes; and do they notice a broken design?
//!
//! With `--include-ignored` the larger ones are proved, too, and with `--nocapture` the table of docs/measurements/proofs.md is printed; with
//! `WINDLASS_LONG=1` both solvers are asked about more blocks.

use std::time::{Duration, Instant};
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::emit::{self, Design, Form, ResetKind};
use windlass_gen::prove::{self, BothWindows, ProofReport, ProveOptions, SolverKind, Verdict};
use windlass_gen::rtl::Rtl;
use windlass_rtl::params::{ArbiterKind, Encoding, PickerParams, SmLimits, WindowKind, WindowParams};

fn long() -> bool {
    std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1")
}

fn spec(name: &str, change: impl FnOnce(&mut Request)) -> BlockSpec {
    let limits = SmLimits::new(2, 4, 4, 4).expect("limits");
    let mut request = Request {
        slots: 4,
        sms: 4,
        scheduled: 8,
        encoding: Encoding::Ids { lanes: 2 },
        arbiter: ArbiterKind::Typed { active: 1 },
        limits,
        ..Request::default()
    };
    change(&mut request);
    BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"))
}

fn options(depth: usize, covers: usize) -> ProveOptions {
    ProveOptions { depth, covers, go_on: false, limit: Duration::from_secs(60), ..ProveOptions::default() }
}

/// Cycles in which states that matter are looked for, of designs whose plain form or whose blocks reach them in tests of their own: in the
/// long run only, for it takes a third of the time.
fn covers(cycles: usize) -> usize {
    if long() { cycles } else { 0 }
}

fn design(spec: BlockSpec) -> Design {
    emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_list_window_has_no_pipeline() {
    let params = WindowParams::new(4, 1).unwrap().with_pipeline(true);
    let list = BlockSpec::Window { kind: WindowKind::List, params };
    assert_eq!(design(list).top().name, "window_list_n4_r1");
    let report = prove::prove(list, &options(4, 0)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.is_good(), "{report:?}");
}

#[test]
fn no_cycle_proves_nothing() {
    let params = PickerParams::new(4).unwrap();
    let options = |depth| ProveOptions { unbounded: false, limit: Duration::MAX, ..options(depth, 0) };
    for (depth, good) in [(0, false), (1, true)] {
        let report = prove::prove(BlockSpec::FindFirst(params), &options(depth)).unwrap();
        assert_eq!(report.is_good(), good, "{report:?}");
    }
}

/// Proves it, and says as a row of a table what was shown, how and in which time.
fn shown(spec: BlockSpec, options: &ProveOptions) -> ProofReport {
    let started = Instant::now();
    let report = prove::prove(spec, options).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    printed(report, started, options)
}

/// Nothing of it is bad; the row.
fn printed(report: ProofReport, started: Instant, options: &ProveOptions) -> ProofReport {
    let seconds = started.elapsed().as_secs_f64();
    let results = report.properties.iter().chain(&report.failed_lemmas);
    let wrong: Vec<String> = results
        .filter(|p| !p.verdict.is_good())
        .map(|p| match &p.verdict {
            Verdict::Fails { trace } | Verdict::NotInductive { trace, .. } => {
                format!("{}:\n{}", p.name, trace.table())
            }
            other => format!("{}: {other:?}", p.name),
        })
        .collect();
    assert!(wrong.is_empty(), "{}: {}", report.top, wrong.join("\n"));
    let reached = report.count(|v| matches!(v, Verdict::Reached { .. }));
    let how = match report.induction {
        Some(back) => format!("for all time: induction over {back}, {} lemmas", report.lemmas.0),
        None => format!("for {} cycles", options.depth),
    };
    let properties = report.properties.len() - reached;
    println!("| `{}` | {properties} | {how} | {reached} | {seconds:.1} |", report.top);
    report
}

/// Everything is proved, by induction.
fn proved(spec: BlockSpec, options: &ProveOptions) {
    let report = shown(spec, options);
    assert!(report.count(|v| *v == Verdict::Proved) > 0, "{report:#?}");
}

#[test]
fn windows() {
    proved(spec("window_matrix", |_| {}), &options(6, 16));
    proved(spec("window_matrix", |r| r.retire_ports = 1), &options(2, 0));
    proved(spec("window_matrix", |r| r.pipelined = true), &options(6, 16));
    proved(spec("window_matrix", |r| r.slots = 8), &options(2, 0));
    // Questions that several solvers share are the same ones.
    proved(spec("window_matrix", |r| r.slots = 16), &ProveOptions { jobs: 2, ..options(1, 0) });
    proved(spec("window_list", |_| {}), &options(2, 24));
    let _ = shown(spec("window_list", |_| {}), &ProveOptions { unbounded: false, ..options(12, 0) });
}

#[test]
fn upstream_load_and_scheduler() {
    proved(spec("upstream_load", |_| {}), &options(4, 8));
    proved(spec("upstream_load", |r| r.encoding = Encoding::Mask), &options(4, 8));
    proved(spec("kernel_scheduler", |_| {}), &options(8, 12));
    proved(spec("kernel_scheduler", |r| (r.encoding, r.scheduled) = (Encoding::Mask, 255)), &options(4, 12));
    proved(spec("kernel_scheduler", |r| r.pipelined = true), &options(4, 12));
    // The limit stops the host before the window is full.
    proved(spec("kernel_scheduler", |r| (r.slots, r.scheduled) = (16, 8)), &options(1, 14));
    proved(spec("kernel_scheduler", |r| r.window = WindowKind::List), &options(6, 24));
}

#[test]
fn pickers() {
    proved(spec("find_first", |r| r.slots = 128), &options(1, 1));
    proved(spec("oldest_first", |_| {}), &options(4, 8));
    proved(spec("round_robin", |_| {}), &options(8, 8));
    proved(spec("round_robin", |r| r.slots = 8), &options(4, 12));
}

#[test]
fn kernel_table() {
    proved(spec("kernel_table", |_| {}), &options(4, 12));
    proved(spec("kernel_table", |r| (r.arbiter, r.retire_ports) = (ArbiterKind::Single, 1)), &options(1, 12));
    proved(spec("kernel_table", |r| r.retire_ports = 4), &options(1, 12));
}

#[test]
fn sm_array_and_arbiters() {
    proved(spec("sm_occupancy", |_| {}), &options(9, 14));
    proved(spec("sm_partitions", |_| {}), &options(8, 10));
    proved(spec("cta_arbiter_typed", |_| {}), &options(8, 10));
    proved(spec("sm_partitions", |r| r.arbiter = ArbiterKind::Single), &options(1, 10));
    proved(spec("cta_arbiter_typed", |r| r.arbiter = ArbiterKind::Typed { active: 2 }), &options(1, 10));
    proved(spec("cta_arbiter_single", |_| {}), &options(8, 10));
    // Where one CTA fills an SM, there are fewer states to be reached.
    let limits = SmLimits::new(1, 1, 1, 1).expect("limits");
    proved(spec("sm_occupancy", |r| (r.sms, r.limits) = (3, limits)), &options(2, 12));
}

/// The same where the SMs stand still while nothing is asked of them.
#[test]
fn sm_array_and_arbiters_that_hold() {
    let held = |name: &str, sms: usize, arbiter: ArbiterKind| {
        spec(name, |r| (r.hold_idle, r.sms, r.arbiter) = (true, sms, arbiter))
    };
    let typed = ArbiterKind::Typed { active: 2 };
    proved(held("sm_occupancy", 4, ArbiterKind::Single), &options(2, covers(14)));
    proved(held("sm_partitions", 4, typed), &options(8, covers(10)));
    proved(held("cta_arbiter_single", 4, ArbiterKind::Single), &options(8, covers(10)));
    // The four SMs of the last slice are fewer than those of the others.
    proved(held("cta_arbiter_typed", 14, typed), &options(1, covers(10)));
}

/// The reset may come and go at any time in a proof, and what it does then is not the same.
#[test]
fn designs_with_an_asynchronous_reset() {
    let asynchronous =
        |depth, covers| ProveOptions { reset: ResetKind::Asynchronous, ..options(depth, covers) };
    for block in ["oldest_first", "window_matrix", "window_list", "kernel_scheduler", "cta_arbiter_typed"] {
        proved(spec(block, |_| {}), &asynchronous(2, 0));
    }
    let table = spec("kernel_table", |_| {});
    proved(table, &asynchronous(2, 8));
    let form = Form { reset: ResetKind::Asynchronous, ..Form::default() };
    let design = emit::emit_as(&*table.hardware(), &form).unwrap_or_else(|e| panic!("{e}"));
    let broken = broken_in(design, "kernel_table", "waiting_q <= 4'h0;", "waiting_q <= 4'h1;");
    let report =
        prove::prove_rtl(table, &Rtl::from(&broken), &options(2, 0)).unwrap_or_else(|e| panic!("{e}"));
    let fails = |p: &prove::PropertyResult| matches!(p.verdict, Verdict::Fails { .. });
    // A lemma about what waits is the first to see it.
    let failed: Vec<&str> =
        report.failed_lemmas.iter().filter(|p| fails(p)).map(|p| p.name.as_str()).collect();
    assert!(!failed.is_empty() && !report.is_good(), "a kernel that waits after a reset: {report:#?}");
    println!("a kernel that waits after a reset is seen by {failed:?}");
}

/// By hand: as long as the same with a synchronous reset, whose text it has but for the lists of events.
#[test]
#[ignore = "it takes a minute; ./test.sh --long runs it"]
fn a_front_end_with_an_asynchronous_reset_from_end_to_end() {
    let options = ProveOptions { reset: ResetKind::Asynchronous, jobs: 2, ..options(2, 0) };
    proved_from_end_to_end(front_end(|_| {}), &options);
}

/// Banks of which some, none and all are short of SMs.
#[test]
fn arbiters_of_several_places() {
    for (name, active) in [("cta_arbiter_single", 1), ("cta_arbiter_typed", 2)] {
        let arbiter = ArbiterKind::Typed { active };
        proved(spec(name, |r| (r.places, r.sms, r.arbiter) = (2, 8, arbiter)), &options(2, covers(10)));
    }
}

/// A front end of 4 slots and 4 SMs, with what is changed.
fn front_end(change: impl FnOnce(&mut Request)) -> BlockSpec {
    spec("front_end", |r| {
        (r.scheduled, r.encoding) = (128, Encoding::Ids { lanes: 1 });
        change(r);
    })
}

/// From the host's beats to CTAs and retirements, with every block inside: none assumes what another does not keep.
fn proved_from_end_to_end(spec: BlockSpec, options: &ProveOptions) {
    let report = shown(spec, options);
    let mut kept: Vec<&str> =
        report.properties.iter().filter_map(|p| p.name.strip_suffix("_gets_what_it_assumes")).collect();
    kept.sort();
    let parts =
        ["cta_arbiter", "kernel_scheduler", "kernel_table", "sm_occupancy", "sm_partitions", "window"];
    assert_eq!(kept, parts, "{report:#?}");
    assert!(report.count(|v| *v == Verdict::Proved) >= 14, "{report:#?}");
    assert!(report.lemmas.0 > 400, "{report:#?}");
}

/// Other windows, encodings and arbiters: `larger_sizes`. Tests start by their names: the longest first, so that no processor waits for it.
#[test]
fn a_front_end_from_end_to_end() {
    proved_from_end_to_end(front_end(|r| r.arbiter = ArbiterKind::Single), &options(2, covers(12)));
}

#[test]
#[ignore = "a minute; its blocks are proved with two places, and a fault in one of two places is noticed; ./test.sh --long runs it"]
fn a_front_end_of_two_places_from_end_to_end() {
    proved_from_end_to_end(front_end(places(2)), &options(2, 12));
}

#[test]
#[ignore = "a minute; its blocks are proved so, and faults in them are noticed; ./test.sh --long runs it"]
fn a_front_end_that_holds_from_end_to_end() {
    let held = |arbiter| front_end(|r| (r.hold_idle, r.arbiter) = (true, arbiter));
    proved_from_end_to_end(held(ArbiterKind::Single), &options(2, 12));
    proved_from_end_to_end(held(ArbiterKind::Typed { active: 1 }), &options(2, 12));
}

/// One arbiter that places so many CTAs per cycle.
fn places(places: usize) -> impl FnOnce(&mut Request) {
    move |r| (r.places, r.arbiter) = (places, ArbiterKind::Single)
}

/// A completion that is not taken yet would be counted in each cycle that it waits.
#[test]
#[ignore = "most of its lemmas fall one after the other, which takes as long as the proof; ./test.sh --long runs it"]
fn a_front_end_that_counts_a_waiting_completion_is_noticed() {
    let spec = front_end(|r| r.sms = 1);
    let design = broken(spec, "front_end_m", ".done_valid_0_i(done_0)", ".done_valid_0_i(done_valid_0_i)");
    let report =
        prove::prove_rtl(spec, &Rtl::from(&design), &options(2, 0)).unwrap_or_else(|e| panic!("{e}"));
    let left = |p: &prove::PropertyResult| p.name.contains("left_is_to_come_or_out");
    assert!(report.failed_lemmas.iter().any(left), "{report:#?}");
}

#[test]
fn a_kernel_that_no_sm_can_run_and_nobody_calls_wrong_is_noticed() {
    let spec = front_end(|r| r.sms = 1);
    let design = broken(spec, "front_end_m", "(host_warps_i > 7'h4)", "1'b0");
    let report =
        prove::prove_rtl(spec, &Rtl::from(&design), &options(2, 0)).unwrap_or_else(|e| panic!("{e}"));
    let unnoticed = |p: &prove::PropertyResult| {
        p.name == "wrong_needs_are_said" && matches!(p.verdict, Verdict::Fails { .. })
    };
    assert!(report.properties.iter().any(unnoticed), "{report:#?}");
}

fn both_windows(change: impl FnOnce(&mut Request)) -> BothWindows {
    match spec("kernel_scheduler", change) {
        BlockSpec::KernelScheduler(params) => BothWindows::new(params).unwrap_or_else(|e| panic!("{e}")),
        other => panic!("{other:?}"),
    }
}

/// No proof hangs on one solver: each shows the same, and finds the same states, of a block that is else asked of the one and of one
/// that is else asked of the other.
#[test]
fn both_solvers_agree() {
    let others: &[&str] = match long() {
        true => &["cta_arbiter_typed", "window_list", "kernel_scheduler", "kernel_table", "sm_occupancy"],
        false => &[],
    };
    for name in ["window_matrix", "cta_arbiter_single"].iter().chain(others) {
        let [yices, bitwuzla] = [SolverKind::Yices, SolverKind::Bitwuzla].map(|solver| {
            let options = ProveOptions { solver: Some(solver), ..options(2, 6) };
            prove::prove(spec(name, |_| {}), &options).unwrap_or_else(|e| panic!("{name}: {e}"))
        });
        assert!(yices.solver.starts_with("Yices") && bitwuzla.solver.starts_with("Bitwuzla"), "{name}");
        assert!(yices.count(|v| *v == Verdict::Proved) > 0, "{yices:#?}");
        assert_eq!((yices.lemmas, yices.properties), (bitwuzla.lemmas, bitwuzla.properties), "{name}");
    }
}

/// And each shows how a broken block fails.
#[test]
fn both_solvers_notice_a_lost_dependency() {
    let spec = spec("window_matrix", |_| {});
    let broken = broken(spec, "window_matrix", "rows_3 = ins_up_moves_places_o;", "rows_3 = 4'h0;");
    for solver in [SolverKind::Yices, SolverKind::Bitwuzla] {
        let options = ProveOptions { unbounded: false, solver: Some(solver), ..options(8, 0) };
        let report = prove::prove_rtl(spec, &Rtl::from(&broken), &options).unwrap_or_else(|e| panic!("{e}"));
        let trace = report.properties.iter().find_map(|p| match &p.verdict {
            Verdict::Fails { trace } => Some(trace),
            _ => None,
        });
        let trace = trace.unwrap_or_else(|| panic!("{solver:?}: {report:#?}"));
        // Reset, four kernels, what the fourth waits for still runs.
        assert!(trace.cycles() > 5 && trace.table().contains("ins_up_i"), "{solver:?}:\n{}", trace.table());
    }
}

/// From outside, list and matrix differ in latency only.
#[test]
fn both_windows_run_the_same_kernels() {
    for pipelined in [false, true] {
        let both = both_windows(|r| (r.pipelined, r.encoding) = (pipelined, Encoding::Ids { lanes: 1 }));
        let options = options(17, 17);
        let started = Instant::now();
        let report = both.prove(&options).unwrap_or_else(|e| panic!("{e}"));
        let report = printed(report, started, &options);
        assert_eq!(report.count(|v| matches!(v, Verdict::Reached { .. })), 3, "{report:#?}");
        assert_eq!(report.count(|v| *v == Verdict::Bounded { cycles: 17 }), 2, "{report:#?}");
    }
}

/// Where a list is not cleared, its kernel waits for ever; with the matrix it runs.
#[test]
fn a_list_that_differs_from_the_matrix_is_noticed() {
    let both = both_windows(|r| r.encoding = Encoding::Ids { lanes: 1 });
    let [matrix, list] = both.designs().unwrap_or_else(|e| panic!("{e}"));
    let list = broken_in(list, "window_list_slot", "clear_i & (entries_rdata_o", "1'b0 & (entries_rdata_o");
    let report = both.prove_designs(&[matrix, list], &options(17, 0)).unwrap_or_else(|e| panic!("{e}"));
    let fails = |p: &prove::PropertyResult| {
        matches!(p.verdict, Verdict::Fails { .. }) && p.name == "same_kernels_run"
    };
    assert!(report.properties.iter().any(fails), "{report:#?}");
}

/// Every property says what would go wrong without it, and every block has states that must be reached.
#[test]
fn every_property_has_its_reason() {
    for spec in BlockSpec::all() {
        let properties = prove::properties(spec);
        assert!(properties.iter().any(|(name, _)| name.starts_with("reaches_")), "{spec:?}");
        for (name, reason) in properties {
            assert!(reason.ends_with('.') && reason.len() > 20, "{spec:?}: {name}: {reason:?}");
        }
    }
}

/// The design with `from` replaced by `to` in the module whose name starts with `module`.
fn broken(spec: BlockSpec, module: &str, from: &str, to: &str) -> Design {
    broken_in(design(spec), module, from, to)
}

fn broken_in(mut design: Design, module: &str, from: &str, to: &str) -> Design {
    let broken = design.modules_mut().iter_mut().find(|m| m.name.starts_with(module)).expect("the module");
    assert!(broken.text.contains(from), "`{from}` is not in {module}: this test no longer breaks anything");
    broken.text = broken.text.replacen(from, to, 1);
    design
}

/// The property `name` fails, with a trace that ends there.
fn fails(spec: BlockSpec, depth: usize, [module, from, to]: [&str; 3], name: &str) {
    let broken = broken(spec, module, from, to);
    let options = options(depth, 0);
    let report = prove::prove_rtl(spec, &Rtl::from(&broken), &options).unwrap_or_else(|e| panic!("{e}"));
    assert!(!report.is_good(), "the fault is not noticed");
    let failed: Vec<&str> = report
        .properties
        .iter()
        .chain(&report.failed_lemmas)
        .filter(|p| matches!(&p.verdict, Verdict::Fails { trace } if trace.cycles() > 1 && !trace.table().is_empty()))
        .map(|p| p.name.as_str())
        .collect();
    assert!(failed.iter().any(|f| f.contains(name)), "{name} does not fail, but: {failed:?}");
}

/// With all `faults` in it, the property `name` fails within `depth` cycles: it sees them without lemmas.
fn noticed(spec: BlockSpec, depth: usize, faults: &[[&str; 3]], name: &str) {
    let design =
        faults.iter().fold(design(spec), |design, [module, from, to]| broken_in(design, module, from, to));
    let options = ProveOptions { unbounded: false, ..options(depth, 0) };
    let report = prove::prove_rtl(spec, &Rtl::from(&design), &options).unwrap_or_else(|e| panic!("{e}"));
    let fails = |p: &prove::PropertyResult| p.name == name && matches!(p.verdict, Verdict::Fails { .. });
    assert!(report.properties.iter().any(fails), "{name} does not fail: {report:#?}");
}

/// Nothing would ever go on: the window is full, and stays so.
#[test]
fn a_full_window_that_takes_no_retirement_is_noticed() {
    let faults = [
        ["window_matrix", "assign ret_ready_0_o = 1'b1;", "assign ret_ready_0_o = ~full_o;"],
        ["window_matrix", "assign asked_0 = ret_valid_0_i;", "assign asked_0 = ret_valid_0_i & ~full_o;"],
        ["window_matrix", "(ret_valid_0_i & ~", "((ret_valid_0_i & ~full_o) & ~"],
    ];
    noticed(spec("window_matrix", |r| r.retire_ports = 1), 6, &faults, "takes_retirements");
}

/// What is on its way through the stages needs the SMs to go on; a completion that came while they stood would be lost.
#[test]
fn an_array_that_stands_still_too_early_is_noticed() {
    let held = spec("sm_occupancy", |r| (r.hold_idle, r.sms, r.arbiter) = (true, 1, ArbiterKind::Single));
    let stops = ["sm_occupancy", " | asked_u_0_q", ""];
    noticed(held, 8, &[stops], "goes_on_while_asked");
    let (kept, given_back) = ("if (~run_0_i) begin\n      fresh_u = 3'h0;", "if (~run_0_i) begin");
    noticed(held, 18, &[["sm_free_port", kept, given_back]], "fits_wherever_it_could");
}

#[test]
fn an_arbiter_that_fills_the_first_lane_first_is_noticed() {
    let faults = [
        ["lane_quad", "assign open = (own_i & (|after)) ? after : req_i;", "assign open = req_i;"],
        ["lane_quad", "assign next_o = earlier;", "assign next_o = 4'h0;"],
    ];
    noticed(spec("cta_arbiter_single", |r| r.sms = 12), 7, &faults, "lanes_in_turn");
}

/// The first CTA of a kernel would be fitted without its shared memory.
#[test]
fn an_arbiter_that_asks_for_less_than_a_comer_needs_is_noticed() {
    let fault = ["active_kernels", "need_smem_o_comb = kern_smem_i;", "need_smem_o_comb = smem;"];
    noticed(spec("cta_arbiter_single", |_| {}), 6, &[fault], "was_asked_for");
}

/// Two kernels by turns would keep to every other lane.
#[test]
fn an_arbiter_without_second_turns_is_noticed() {
    let spec = spec("cta_arbiter_typed", |r| r.arbiter = ArbiterKind::Typed { active: 2 });
    let broken = broken(spec, "active_kernels", "& ~second_0_q;", "& 1'b0;");
    let report =
        prove::prove_rtl(spec, &Rtl::from(&broken), &options(1, 10)).unwrap_or_else(|e| panic!("{e}"));
    assert!(!report.is_good(), "{report:#?}");
    let turn = report.properties.iter().find(|p| p.name == "reaches_a_second_turn").expect("the cover");
    assert!(!matches!(turn.verdict, Verdict::Reached { .. }), "{turn:#?}");
}

#[test]
fn a_table_that_has_a_comer_overtake_who_waits_is_noticed() {
    let number = ["kernel_table", "if (|queued_0) begin", "if ((|queued_0) & ~comes_0) begin"];
    let slot = [
        "kernel_table",
        "next_hot_0 = (|queued_0) ?",
        "next_hot_0 = ((|queued_0) & (stays_0_q | ~comes_0)) ?",
    ];
    noticed(spec("kernel_table", |_| {}), 7, &[number, slot], "who_waits_goes_first");
}

/// One CTA of two is taken, and stands there again.
#[test]
fn a_front_end_that_forgets_which_of_two_ctas_was_taken_is_noticed() {
    let fault = ["cta_channel", "held_on_0_d = on_0 & ~cta_ready_0_i", "held_on_0_d = on_0 & stalls"];
    noticed(front_end(places(2)), 8, &[fault], "ctas_in_order");
}

/// What no SM can run would be placed. (That a completion of nothing gives nothing back, tests/broken.rs looks at.)
#[test]
fn a_front_end_that_takes_any_packet_is_noticed() {
    let fault = ["front_end_m", ".ins_grid_i(grid)", ".ins_grid_i(host_grid_i)"];
    noticed(front_end(|r| r.sms = 1), 5, &[fault], "retires_as_soon_as_it_may");
}

/// All kernels would run in partition 0.
#[test]
#[ignore = "it shows after eight cycles of a whole front end; ./test.sh --long runs it"]
fn a_front_end_that_loses_the_partition_is_noticed() {
    let fault = ["front_end_m", ".ins_part_i(host_part_i)", ".ins_part_i(3'h0)"];
    noticed(front_end(|_| {}), 8, &[fault], "ctas_stay_in_their_partition");
}

/// The lemma that ties the row to what was asked sees it first.
#[test]
fn a_window_that_forgets_a_dependency_is_noticed() {
    let spec = spec("window_matrix", |_| {});
    let fault = ["window_matrix", "rows_3 = ins_up_moves_places_o;", "rows_3 = 4'h0;"];
    fails(spec, 6, fault, "lemmas.place[3].");
}

/// Its kernel would wait for ever.
#[test]
fn a_list_that_is_not_cleared_is_noticed() {
    let fault = ["window_list_slot", "clear_i & (entries_rdata_o", "1'b0 & (entries_rdata_o"];
    fails(
        spec("window_list", |_| {}),
        14,
        fault,
        "lemmas.slot[1].position[0].a_waits_for_no_other.holds_here",
    );
}

/// One kernel beyond the limit is enough for an id to name two: 256 kernels later than a search from the reset comes, but not than the step.
#[test]
fn a_host_that_is_let_too_far_ahead_is_noticed() {
    let spec = spec("kernel_scheduler", |r| (r.encoding, r.scheduled) = (Encoding::Mask, 255));
    let broken = broken(spec, "upstream_load", "oldest_valid_i & (newer >= 8'hff)", "1'b0");
    let report = prove::prove_rtl(spec, &Rtl::from(&broken), &ProveOptions { jobs: 2, ..options(4, 0) })
        .unwrap_or_else(|e| panic!("{e}"));
    let again = report.properties.iter().find(|p| p.name == "id_is_not_sent_again").expect("the property");
    assert!(matches!(again.verdict, Verdict::NotInductive { .. }), "{again:#?}");
}

/// It names the second oldest where there is one.
#[test]
fn a_window_that_passes_over_the_oldest_is_noticed() {
    let named =
        ["window_matrix", "used_q[0] ? ids_0_q : 8'h0;", "used_q[0] ? used_q[1] ? ids_1_q : ids_0_q : 8'h0;"];
    noticed(spec("kernel_scheduler", |_| {}), 6, &[named], "oldest_is_no_later");
}

#[test]
fn a_window_that_offers_the_newest_is_noticed() {
    let fault =
        ["window_matrix", "assign first = may & ~((from << 1) & 4'he);", "assign first = may & ~(may >> 1);"];
    fails(spec("window_matrix", |_| {}), 6, fault, "goes_after_few");
}

/// Each bank's CTA would have the first one's number, or that of one beyond the grid.
#[test]
fn banks_that_do_not_count_are_noticed() {
    let several = || spec("cta_arbiter_single", |r| (r.places, r.sms) = (2, 8));
    let fault = ["bank_turns", "assign rank_1_o = rank_1;", "assign rank_1_o = 2'h0;"];
    noticed(several(), 5, &[fault], "indices_in_order");
    let fault = ["bank_turns", "wants_i[1] & more_i[rank_1]", "wants_i[1]"];
    noticed(several(), 5, &[fault], "indices_in_order");
    let fault = ["bank_turns", "(|gnt) ? (next ^ 4'h1) : first_q", "first_q"];
    noticed(several(), 8, &[fault], "banks_in_turn");
}

#[test]
fn an_arbiter_that_skips_an_index_is_noticed() {
    let spec = spec("cta_arbiter_single", |_| {});
    let design = design(spec);
    let entry = design.modules().iter().find(|m| m.name.starts_with("cta_count")).expect("its module");
    let line = "index_sum = {1'b0, index_low_q} + {1'b0, number_i};";
    assert!(entry.text.contains(line), "{}", entry.text);
    fails(
        spec,
        8,
        ["cta_count", line, &line.replace("{1'b0, number_i}", "4'h2")],
        "lemmas.entry[0].index_alike.holds_here",
    );
}

/// The default size.
#[test]
#[ignore = "a minute; smaller ones are proved; ./test.sh --long runs it"]
fn the_window_of_32_slots() {
    proved(spec("window_matrix", |r| r.slots = 32), &options(1, 0));
}

/// The rest of the table: minutes each.
#[test]
#[ignore = "minutes for each; ./test.sh --long runs it"]
fn larger_sizes() {
    let slots = |n: usize| {
        move |r: &mut Request| (r.slots, r.scheduled, r.encoding) = (n, 128, Encoding::Ids { lanes: 4 })
    };
    let patient = |depth, covers| ProveOptions { limit: Duration::from_secs(3600), ..options(depth, covers) };
    for n in [8, 16] {
        proved(spec("window_matrix", slots(n)), &patient(4, 24));
        proved(spec("oldest_first", slots(n)), &patient(2, 0));
        proved(spec("kernel_scheduler", slots(n)), &patient(2, 24));
    }
    proved(spec("kernel_table", slots(8)), &patient(2, 16));
    proved(spec("sm_occupancy", |r| (r.sms, r.arbiter) = (8, ArbiterKind::Single)), &patient(2, 14));
    // Beyond 24 SMs there is more than one group of lanes.
    proved(spec("sm_occupancy", |r| (r.sms, r.arbiter) = (32, ArbiterKind::Single)), &patient(2, 0));
    proved(spec("sm_partitions", |r| r.sms = 132), &patient(1, 0));
    proved(spec("round_robin", slots(32)), &patient(2, 0));
    proved(spec("window_list", slots(8)), &patient(2, 0));
    proved(
        spec("kernel_scheduler", |r| {
            slots(8)(r);
            r.window = WindowKind::List;
        }),
        &patient(2, 0),
    );
    proved(spec("cta_arbiter_single", |r| (r.places, r.sms) = (4, 12)), &patient(2, 10));
    proved(spec("sm_occupancy", |r| (r.sms, r.limits) = (8, SmLimits::H100)), &patient(8, 16));
    proved(spec("sm_occupancy", |r| (r.sms, r.limits) = (32, SmLimits::H100)), &patient(2, 0));
    let whole = |r: &mut Request| (r.slots, r.sms, r.arbiter) = (32, 132, ArbiterKind::Typed { active: 2 });
    proved(spec("cta_arbiter_typed", whole), &patient(2, 0));
    let wide = |r: &mut Request| (r.places, r.sms, r.arbiter) = (4, 28, ArbiterKind::Typed { active: 1 });
    proved(spec("cta_arbiter_typed", wide), &patient(2, 10));
    let two_active = |r: &mut Request| (r.pipelined, r.arbiter) = (true, ArbiterKind::Typed { active: 2 });
    proved_from_end_to_end(front_end(two_active), &patient(2, 0));
    proved_from_end_to_end(front_end(|r| r.window = WindowKind::List), &patient(2, 0));
    proved_from_end_to_end(front_end(|_| {}), &patient(2, 12));
    proved_from_end_to_end(front_end(|r| r.encoding = Encoding::Mask), &patient(2, 0));
    proved_from_end_to_end(front_end(|r| r.places = 2), &patient(2, 0));
    proved_from_end_to_end(front_end(places(4)), &patient(2, 0));
    // No power of two: there are numbers of slots that are none.
    proved(spec("window_matrix", slots(24)), &patient(1, 0));
    proved(spec("kernel_scheduler", slots(24)), &patient(1, 0));
}

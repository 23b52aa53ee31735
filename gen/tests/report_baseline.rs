//! A report against an older one: what counts as worse, and what cannot be compared.

use std::path::Path;
use windlass_gen::report::baseline::{Changes, Verdict, compare, margin, parse, read};
use windlass_gen::report::render::{
    Conditions, Energy, EventEnergy, Format, Fpga, FpgaOutcome, MEASURED_ON, Parameter, Report, render,
};
use windlass_gen::synth::wires::{Wired, WiredNetlist};
use windlass_netlist::{FloorPlan, WireModel};

fn report() -> Report {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json"))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn against(change: impl Fn(&mut Report)) -> Changes {
    let mut now = report();
    change(&mut now);
    compare(&report(), &now, 5.0).unwrap_or_else(|e| panic!("{e}"))
}

fn scale_area(report: &mut Report, factor: f64) {
    report.designs[0].area.as_mut().unwrap().modules[0].total.area_um2 *= factor;
}

fn scale_flat_area(report: &mut Report, factor: f64) {
    report.designs[1].synthesis.as_mut().unwrap().results[0].total.as_mut().unwrap().area_um2 *= factor;
}

/// More is a slower clock.
fn scale_period(report: &mut Report, factor: f64) {
    let synthesis = report.designs[1].synthesis.as_mut().unwrap();
    let class = &mut synthesis.results[1].timing.as_mut().unwrap().classes[0];
    class.min_period_ns *= factor;
    class.fmax_mhz /= factor;
}

fn scale_latency(report: &mut Report, factor: f64) {
    report.designs[2].latencies[0].cycles.as_mut().unwrap().median *= factor;
}

/// More is slower.
fn scale_time(report: &mut Report, factor: f64) {
    report.speedups[0].rows[5].speedup /= factor;
}

/// With a netlist that has wires.
fn wired() -> Report {
    let mut report = report();
    let synthesis = report.designs[1].synthesis.as_mut().unwrap();
    let netlist = |sized| WiredNetlist {
        sized,
        total: synthesis.results[0].total.unwrap(),
        timing: synthesis.results[0].timing.clone().unwrap(),
        core_um: [150.0, 150.0],
        wires_mm: 12.0,
        nets: 180,
        longest_um: 300.0,
        plan: FloorPlan::default(),
    };
    let netlists = vec![netlist(false), netlist(true)];
    let model = WireModel { row_um: 10.0, ohm_per_um: 0.267, ff_per_um: 0.112 };
    let (tool, variant) = ("Coloquinte 0.4.1".into(), "area".into());
    synthesis.wired = Some(Wired { tool, variant, model, density: 0.7, netlists });
    report
}

#[test]
fn clocks_with_wires_are_compared_where_the_wires_are_the_same() {
    let compared = |change: fn(&mut Wired)| {
        let mut now = wired();
        change(now.designs[1].synthesis.as_mut().unwrap().wired.as_mut().unwrap());
        compare(&wired(), &now, 5.0).unwrap()
    };
    assert!(!compared(|_| ()).is_worse());
    let slower = compared(|wired| {
        for netlist in &mut wired.netlists {
            netlist.timing.classes.iter_mut().for_each(|class| class.fmax_mhz /= 1.1);
        }
    });
    let worse: Vec<&str> = slower.rows.iter().map(|row| row.metric.as_str()).collect();
    assert_eq!((slower.is_worse(), &worse[..]), (true, &["fmax, with wires"][..]));
    // One of two netlists is enough.
    assert!(!compared(|wired| wired.netlists[0].timing.classes[0].fmax_mhz /= 1.1).is_worse());
    let other = compared(|wired| wired.model.ff_per_um *= 2.0);
    assert!(other.notes.iter().any(|note| note.contains("not the same wires")), "{:?}", other.notes);
}

fn measured() -> Report {
    let mut report = report();
    let design = &mut report.designs[1];
    design.energy = Some(Energy {
        clock_mhz: 1320.0,
        active_mw: Some(20.0),
        idle_mw: Some(15.0),
        leakage_mw: Some(0.5),
        events: vec![EventEnergy {
            event: "CTA placed".into(),
            count: 100,
            picojoules: 30.0,
            ..EventEnergy::default()
        }],
        ..Energy::default()
    });
    design.fpga = vec![Fpga {
        part: "iCE40 HX8K ct256".into(),
        luts: 4000,
        flip_flops: 1000,
        logic_cells: Some(4500),
        available: Some(7680),
        slowest_mhz: Some(40.0),
        fastest_mhz: Some(45.0),
        runs: 3,
        ..Fpga::default()
    }];
    report
}

fn power(report: &mut Report, factor: f64) {
    *report.designs[1].energy.as_mut().unwrap().active_mw.as_mut().unwrap() *= factor;
}

fn event(report: &mut Report, factor: f64) {
    report.designs[1].energy.as_mut().unwrap().events[0].picojoules *= factor;
}

fn luts(report: &mut Report, factor: f64) {
    report.designs[1].fpga[0].luts = (4000.0 * factor) as u64;
}

fn logic_cells(report: &mut Report, factor: f64) {
    report.designs[1].fpga[0].logic_cells = Some((4500.0 * factor) as u64);
}

/// More is slower.
fn fpga_clock(report: &mut Report, factor: f64) {
    *report.designs[1].fpga[0].slowest_mhz.as_mut().unwrap() /= factor;
}

#[test]
fn energy_and_fpgas_can_get_worse_and_better() {
    let metrics: [(&str, Scale); 5] = [
        ("power, working", power),
        ("energy per CTA placed", event),
        ("iCE40 HX8K ct256, LUTs", luts),
        ("iCE40 HX8K ct256, logic cells", logic_cells),
        ("iCE40 HX8K ct256, fmax of the slowest run", fpga_clock),
    ];
    assert!(compare(&measured(), &measured(), 5.0).unwrap().rows.is_empty());
    for margin in [f64::NAN, -1.0] {
        let error = compare(&measured(), &measured(), margin).unwrap_err().to_string();
        assert_eq!(error, format!("the margin is {margin} percent; choose 0 or more"));
    }
    for (metric, scale) in metrics {
        for (factor, verdict) in [(1.06, Verdict::Worse), (1.04, Verdict::Within), (0.9, Verdict::Better)] {
            let mut now = measured();
            scale(&mut now, factor);
            let changes = compare(&measured(), &now, 5.0).unwrap();
            let [row] = &changes.rows[..] else { panic!("{metric}: {:?}", changes.rows) };
            assert_eq!((row.metric.as_str(), row.subject.as_str()), (metric, "matrix 32"));
            assert_eq!(row.verdict, verdict, "{metric} x {factor}");
        }
    }
    let with = |change: fn(&mut Report)| {
        let mut now = measured();
        change(&mut now);
        compare(&measured(), &now, 5.0).unwrap()
    };
    // The fastest seed is luck.
    assert!(with(|r| r.designs[1].fpga[0].fastest_mhz = Some(1.0)).rows.is_empty());
    let slower = with(|r| {
        let energy = r.designs[1].energy.as_mut().unwrap();
        (energy.clock_mhz, energy.active_mw) = (660.0, Some(100.0));
    });
    noted(&slower, "energy was at 1320 MHz");
    assert!(!slower.is_worse(), "power at another clock says nothing");
    let wired = with(|r| {
        let energy = r.designs[1].energy.as_mut().unwrap();
        (energy.label, energy.active_mw) = ("estimate from a placement".into(), Some(100.0));
    });
    noted(&wired, "is an estimate from a placement; not compared");
    assert!(!wired.is_worse(), "wires weigh something");
    noted(&with(|r| r.designs[1].fpga[0].tool = "Yosys 9".into()), "iCE40 HX8K ct256: the tools were");
    noted(
        &with(|r| {
            let fpga = &mut r.designs[1].fpga[0];
            (fpga.slowest_mhz, fpga.runs) = (None, 0);
        }),
        "fmax of the slowest run is in the baseline only",
    );
    noted(&with(|r| r.designs[1].fpga.clear()), "iCE40 HX8K ct256, LUTs is in the baseline only");
    noted(&with(|r| r.designs[1].energy = None), "power, working is in the baseline only");
}

type Scale = fn(&mut Report, f64);
const METRICS: [(&str, Scale, &str); 5] = [
    ("area, hierarchy kept", scale_area, "matrix 8"),
    ("area, flattened, smallest", scale_flat_area, "matrix 32"),
    ("fmax, fastest", scale_period, "matrix 32"),
    ("insert (median)", scale_latency, "list 32"),
    ("speed-up of window (matrix 32)", scale_time, "brax on rtx3070"),
];

#[test]
fn the_same_report_is_no_worse() {
    let changes = against(|_| {});
    assert!(changes.compared > 20 && changes.rows.is_empty() && changes.notes.is_empty(), "{changes:?}");
    assert!(!changes.is_worse());
}

#[test]
fn every_metric_can_get_worse_and_better() {
    for (metric, scale, subject) in METRICS {
        for (factor, verdict) in
            [(1.06, Verdict::Worse), (1.04, Verdict::Within), (0.97, Verdict::Within), (0.9, Verdict::Better)]
        {
            let changes = against(|report| scale(report, factor));
            let [row] = &changes.rows[..] else { panic!("{metric}: {:?}", changes.rows) };
            assert_eq!(
                (row.metric.as_str(), row.subject.as_str(), row.verdict),
                (metric, subject, verdict),
                "{factor}"
            );
            assert_eq!(changes.is_worse(), verdict == Verdict::Worse, "{metric} x {factor}");
        }
    }
}

#[test]
fn the_margin_itself_still_passes() {
    let mut before = report();
    before.designs[0].area.as_mut().unwrap().modules[0].total.area_um2 = 1000.0;
    let mut now = before.clone();
    now.designs[0].area.as_mut().unwrap().modules[0].total.area_um2 = 1050.0;
    assert!(!compare(&before, &now, 5.0).unwrap().is_worse());
    assert!(compare(&before, &now, 4.99).unwrap().is_worse());
    now = before.clone();
    assert!(!compare(&before, &now, 0.0).unwrap().is_worse(), "nothing changed");
}

#[test]
fn from_nothing_to_something_is_worse_than_any_margin() {
    let mut before = report();
    before.designs[0].latencies[0].cycles.as_mut().unwrap().median = 0.0;
    let changes = compare(&before, &report(), 1e6).unwrap();
    assert!(changes.is_worse() && changes.rows[0].percent.is_none(), "{changes:?}");
}

#[test]
fn worse_stands_first() {
    let changes = against(|report| {
        scale_area(report, 0.5);
        scale_latency(report, 1.01);
        scale_time(report, 2.0);
    });
    let verdicts: Vec<Verdict> = changes.rows.iter().map(|r| r.verdict).collect();
    assert_eq!(verdicts, [Verdict::Worse, Verdict::Better, Verdict::Within]);
    assert!(
        changes
            .summary()
            .contains("1 worse by more than 5 %, 1 better, 0 within their error, 1 changed less"),
        "{}",
        changes.summary()
    );
}

fn noted(changes: &Changes, words: &str) {
    assert!(changes.notes.iter().any(|n| n.contains(words)), "`{words}` is not in {:?}", changes.notes);
}

#[test]
fn what_is_missing_is_said() {
    let changes = against(|report| drop(report.designs.remove(0)));
    noted(&changes, "design matrix 8: in the baseline only");
    assert!(!changes.is_worse());
    noted(
        &against(|report| {
            let design = &mut report.designs[0];
            (design.name, design.top) = ("new".into(), "new".into());
        }),
        "design new: not in the baseline",
    );
    noted(
        &against(|report| report.designs[0].parameters[2].value = "4".into()),
        "retire ports was 2 and is 4",
    );
    noted(&against(|report| drop(report.designs[0].parameters.pop())), "ids per beat was 4 and is not there");
    noted(
        &against(|report| report.designs[0].area = None),
        "matrix 8: area, hierarchy kept is in the baseline only",
    );
    noted(
        &against(|report| report.designs[0].latencies[0].cycles = None),
        "insert (median) is in the baseline only",
    );
    noted(
        &against(|report| report.speedups[0].rows.retain(|row| row.policy != "graph")),
        "brax on rtx3070: in the baseline only: graph",
    );
    noted(&against(|report| report.speedups[1].gpu = "h100".into()), "on h100: not in the baseline");
    noted(&against(|report| report.speedups[0].kernels = 1), "brax on rtx3070: had 433 kernels and has 1");
}

#[test]
fn hardware_is_told_apart_by_its_module_and_not_by_what_measured_it() {
    let changes = against(|report| report.designs[0].top += "_p1");
    noted(&changes, "_p1, so it is a different design");
    let [mut before, mut now] = [report(), report()];
    for (report, tool) in [(&mut before, "Verilator 5.006"), (&mut now, "Verilator 5.032")] {
        report.designs[0].parameters.push(Parameter::new(MEASURED_ON, tool));
    }
    scale_area(&mut now, 1.5);
    let changes = compare(&before, &now, 5.0).unwrap();
    noted(&changes, "latencies were measured on Verilator 5.006 and are on Verilator 5.032");
    assert!(changes.is_worse(), "compared all the same");
}

#[test]
fn a_design_is_known_by_what_it_is_and_not_by_its_name() {
    // As `--slots 32` and `--slots 8,32` call the same hardware.
    let mut before = report();
    before.designs.retain(|d| d.name == "matrix 32");
    before.designs[0].name = "matrix".into();
    for row in before.speedups.iter_mut().flat_map(|s| &mut s.rows) {
        row.design = row.design.take().map(|d| d.replace("matrix 32", "matrix"));
    }
    let mut now = report();
    let changes = compare(&before, &now, 5.0).unwrap();
    assert!(changes.rows.is_empty(), "{changes:?}");
    noted(&changes, "design matrix 8: not in the baseline");
    assert_eq!(changes.notes.iter().filter(|n| n.contains("in the baseline only")).count(), 0, "{changes:?}");
    scale_flat_area(&mut now, 2.0);
    now.speedups[0].rows[5].speedup /= 2.0;
    let changes = compare(&before, &now, 5.0).unwrap();
    let worse: Vec<&str> = changes.rows.iter().map(|r| r.metric.as_str()).collect();
    assert_eq!(worse, ["area, flattened, smallest", "speed-up of window (matrix 32)"]);

    // Without one in common, what policies without hardware gain compares no design.
    now.designs.iter_mut().for_each(|d| d.top += "_p1");
    let error = compare(&before, &now, 5.0).unwrap_err().to_string();
    assert!(error.contains("have no design in common") && error.contains("matrix 8: not in"), "{error}");
}

#[test]
fn latencies_of_one_workload_and_one_gpu_are_compared() {
    let slower = |report: &mut Report| {
        scale_latency(report, 10.0);
        report.designs[2].latencies.truncate(1);
    };
    let on = |report: &mut Report, workload: &str, gpu: &str| {
        let latency = &mut report.designs[2].latencies[0];
        (latency.workload, latency.gpu) = (workload.into(), gpu.into());
    };
    let worse = |before: &Report, now: &Report| {
        let changes = compare(before, now, 5.0).unwrap();
        (changes.rows.iter().any(|row| row.metric == "insert (median)"), changes)
    };
    let [mut before, mut now] = [report(), report()];
    slower(&mut now);
    for (workload, gpu) in [("mix", "rtx3070"), ("brax", "h100")] {
        on(&mut before, "brax", "rtx3070");
        on(&mut now, workload, gpu);
        let (worse, changes) = worse(&before, &now);
        assert!(!worse);
        noted(&changes, &format!("was measured on `brax`, `rtx3070` and is on `{workload}`, `{gpu}`"));
    }
    // A report of before, with one workload and no name: that of the same first trace among two today.
    on(&mut now, "brax", "rtx3070");
    on(&mut before, "", "");
    before.speedups.truncate(1);
    assert!(worse(&before, &now).0);
    before.speedups[0].gpu = "h100".into();
    assert!(!worse(&before, &now).0);
}

#[test]
fn an_energy_within_its_error_is_not_worse() {
    let with = |error: Option<f64>, factor: f64| {
        let [mut before, mut now] = [measured(), measured()];
        for report in [&mut before, &mut now] {
            report.designs[1].energy.as_mut().unwrap().events[0].pj_error = error;
        }
        event(&mut now, factor);
        compare(&before, &now, 5.0).unwrap()
    };
    // 30 and 36 pJ; 2 * sqrt(2.2² + 2.2²) is 6.2.
    let unsure = with(Some(2.2), 1.2);
    assert_eq!((unsure.rows[0].verdict, unsure.is_worse()), (Verdict::Unsure, false));
    assert_eq!(unsure.rows[0].errors, Some([2.2, 2.2]));
    assert!(
        unsure.summary().contains("0 worse by more than 5 %, 0 better, 1 within their error, 0 changed less")
    );
    let mut shown = measured();
    shown.baseline = Some(unsure);
    let text = render(&shown, Format::Text).unwrap();
    assert!(text.contains("30 ± 2.2  36 ± 2.2") && text.contains("within its error"), "{text}");
    assert!(with(Some(2.0), 1.2).is_worse() && with(None, 1.2).is_worse());
    assert_eq!(with(Some(2.2), 1.04).rows[0].verdict, Verdict::Within);
}

/// Fractions of a picojoule, as of an idle gate.
#[test]
fn a_change_of_a_small_number_can_be_seen() {
    let [mut before, mut now] = [measured(), measured()];
    for (report, pj) in [(&mut before, 0.000_06), (&mut now, 0.000_07)] {
        let event = &mut report.designs[1].energy.as_mut().unwrap().events[0];
        (event.picojoules, event.pj_error) = (pj, None);
    }
    let changes = compare(&before, &now, 5.0).unwrap();
    assert!(changes.is_worse(), "{changes:?}");
    now.baseline = Some(changes);
    let text = render(&now, Format::Text).unwrap();
    assert!(text.contains("0.00006  0.00007"), "{text}");
}

#[test]
fn energies_of_different_cells_are_not_compared() {
    let mut now = measured();
    power(&mut now, 10.0);
    let energy = now.designs[1].energy.as_mut().unwrap();
    energy.library = "NangateOpenCellLibrary (typical)".into();
    let changes = compare(&measured(), &now, 5.0).unwrap();
    // The baseline's, which does not say, are those of its netlist.
    noted(&changes, "the library was osu018_stdcells (typical, 1.8 V, 25 °C) and is NangateOpenCellLibrary");
    assert!(!changes.is_worse(), "{changes:?}");
}

#[test]
fn what_no_longer_fits_on_an_fpga_is_worse_by_any_margin() {
    let with = |outcome: Option<FpgaOutcome>, remark: &str| {
        let mut now = measured();
        let fpga = &mut now.designs[1].fpga[0];
        (fpga.outcome, fpga.remark, fpga.slowest_mhz, fpga.runs) = (outcome, remark.into(), None, 0);
        now
    };
    let unrouted = with(Some(FpgaOutcome::Unrouted), "not routed: seed 1");
    let large = with(Some(FpgaOutcome::TooLarge), "does not fit: 9000 of 7680 cells");
    for now in [&unrouted, &large] {
        let changes = compare(&measured(), now, 1e6).unwrap();
        let [row] = &changes.rows[..] else { panic!("{changes:?}") };
        assert_eq!(
            (row.metric.as_str(), row.verdict),
            ("iCE40 HX8K ct256, placed and routed", Verdict::Worse)
        );
        noted(&changes, &now.designs[1].fpga[0].remark);
        assert_eq!(compare(now, &measured(), 5.0).unwrap().rows[0].verdict, Verdict::Better);
    }
    assert!(!compare(&unrouted, &large, 5.0).unwrap().is_worse(), "no better before");
    // Reports of before say it in words.
    assert!(compare(&measured(), &with(None, "not routed: seed 1"), 5.0).unwrap().is_worse());
    for not_run in [with(Some(FpgaOutcome::NotRun), ""), with(None, "nextpnr is not installed")] {
        let changes = compare(&measured(), &not_run, 5.0).unwrap();
        noted(&changes, "fmax of the slowest run is in the baseline only");
        assert!(!changes.is_worse());
    }
}

#[test]
fn a_missing_design_takes_its_speed_ups_with_it() {
    let before = report();
    let mut now = report();
    now.designs[1].parameters[2].value = "4".into();
    scale_time(&mut now, 10.0);
    assert!(!compare(&before, &now, 5.0).unwrap().is_worse(), "another design may be slower");
}

#[test]
fn another_library_or_flow_is_said() {
    let changes = against(|report| {
        let area = report.designs[0].area.as_mut().unwrap();
        area.library = "sg13g2".into();
        area.modules[0].total.area_um2 *= 10.0;
    });
    noted(&changes, "the library was osu018_stdcells (typical, 1.8 V, 25 °C) and is sg13g2");
    assert!(!changes.is_worse(), "areas in different libraries say nothing");
    let changes = against(|report| {
        let area = report.designs[0].area.as_mut().unwrap();
        (area.tool, area.script) = ("Yosys 0.60".into(), "synth\n".into());
        area.modules[0].total.area_um2 *= 2.0;
    });
    noted(&changes, "the tool was Yosys 0.23 and is Yosys 0.60");
    noted(&changes, "the script of the flow is another one");
    assert!(changes.is_worse(), "another tool in the same library still has to keep the margin");
    let renamed = |report: &mut Report| {
        let area = report.designs[0].area.as_mut().unwrap();
        area.script = area.script.replace("window_matrix_n8.v", "other.v");
    };
    assert!(against(renamed).notes.is_empty(), "names of files are not the flow");
    let estimate = |report: &mut Report| {
        let synthesis = report.designs[1].synthesis.as_mut().unwrap();
        synthesis.results[1].timing.as_mut().unwrap().estimate = true;
    };
    noted(&against(estimate), "mapper's estimate");
}

/// The smallest and the fastest of one script are no others because more were tried.
#[test]
fn of_other_scripts_only_what_both_tried_is_compared() {
    let quick = |report: &mut Report| {
        let synthesis = report.designs[1].synthesis.as_mut().unwrap();
        synthesis.results.retain(|result| result.name == "speed");
        synthesis.smallest = "speed".into();
    };
    let fewer = against(quick);
    noted(&fewer, "not the same scripts of ABC were tried");
    assert!(!fewer.is_worse(), "{:?}", fewer.rows);
    let mut before = report();
    quick(&mut before);
    let more = compare(&before, &report(), 5.0).unwrap_or_else(|e| panic!("{e}"));
    assert!(more.rows.is_empty(), "nor is it better: {:?}", more.rows);
    let slower = against(|report| {
        scale_period(report, 1.2);
        quick(report);
    });
    assert!(
        slower.is_worse() && slower.rows.iter().any(|row| row.metric == "fmax, `speed`"),
        "{:?}",
        slower.rows
    );
    // A number that is missing is no other kind of number.
    let none = against(|report| report.designs[1].synthesis.as_mut().unwrap().fastest.clear());
    assert!(!none.notes.iter().any(|note| note.contains("mapper's estimate")), "{:?}", none.notes);
}

#[test]
fn streams_ace_is_compared_with_one_of_the_same_window() {
    let with = |window: usize, speedup: f64| {
        let mut report = report();
        let row = report.speedups[0].rows.iter_mut().find(|row| row.policy == "streams").expect("a row");
        (row.policy, row.speedup) = ("streams-ace".into(), speedup);
        report.conditions = Some(Conditions {
            profile: serde_json::json!({}),
            front_end_mhz: 1000,
            kernel_end_ns: 0,
            driver_launch: false,
            rename: None,
            streams_ace_window: Some(window),
        });
        report
    };
    let compared = |before, now| compare(&before, &now, 5.0).unwrap_or_else(|e| panic!("{e}"));
    assert!(compared(with(8, 1.2), with(8, 1.0)).is_worse());
    let other = compared(with(32, 1.2), with(8, 1.0));
    noted(&other, "`streams-ace` is not compared: its window had 32 kernels and has 8");
    assert!(!other.is_worse(), "{:?}", other.rows);
    // All else is.
    let mut slower = with(8, 1.0);
    slower.speedups[0].rows[5].speedup /= 2.0;
    assert!(compared(with(32, 1.2), slower).is_worse());
}

#[test]
fn nothing_in_common_is_an_error() {
    let mut now = report();
    now.designs.clear();
    let mut before = now.clone();
    before.speedups.clear();
    let error = compare(&before, &now, 5.0).unwrap_err().to_string();
    assert!(
        error.contains("no number in common, so nothing can be compared")
            && error.contains("brax on rtx3070: not in the baseline"),
        "{error}"
    );
}

#[test]
fn files_that_are_no_reports() {
    let path = Path::new("old.json");
    let error = |text: &str| parse(text, path).unwrap_err().to_string();
    assert!(error("{").contains("old.json is not a report"));
    assert!(error("{}").contains("`format_version` is missing"));
    assert!(error("{\"format_version\": 1, \"traces\": []}").contains("`designs` is missing"));
    assert!(error("{\"format_version\": 1, \"designs\": [{}]}").contains("old.json is not a report"));
    for version in [0, 99] {
        let text = error(&format!("{{\"format_version\": {version}}}"));
        assert!(
            text.contains(&format!("format_version {version}")) && text.contains("make the report again"),
            "{text}"
        );
    }
    assert!(read(Path::new("/nonexistent.json")).unwrap_err().to_string().contains("/nonexistent.json"));
}

#[test]
fn reports_from_before_the_new_fields_are_read() {
    let mut value = serde_json::to_value(report()).unwrap();
    value.as_object_mut().unwrap().remove("command");
    for design in value["designs"].as_array_mut().unwrap() {
        let design = design.as_object_mut().unwrap();
        for field in ["energy", "fpga", "synthesis"] {
            design.remove(field);
        }
        for latency in design["latencies"].as_array_mut().unwrap() {
            latency.as_object_mut().unwrap().remove("workload");
        }
    }
    let old = parse(&value.to_string(), Path::new("old.json")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(old.designs[1].energy, None);
    assert!(compare(&old, &report(), 5.0).unwrap().compared > 10);
}

#[test]
fn margins() {
    assert_eq!((margin("5%"), margin("2.5"), margin(" 0 % ")), (Ok(5.0), Ok(2.5), Ok(0.0)));
    for bad in ["", "%", "-1%", "five", "nan", "inf%"] {
        assert!(margin(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_comparison_is_in_every_form() {
    let mut now = report();
    scale_area(&mut now, 2.0);
    now.baseline = Some(compare(&report(), &now, 5.0).unwrap());
    for format in [Format::Text, Format::Markdown] {
        let text = render(&now, format).unwrap();
        assert!(text.contains("Against the baseline") && text.contains("+100.0"), "{text}");
    }
    let text = render(&now, Format::Json).unwrap();
    assert_eq!(parse(&text, Path::new("new.json")).unwrap(), now);
    assert!(windlass_gen::report::html::page(&now, None).contains("<tr class=\"worse\">"));
}

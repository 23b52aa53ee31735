//! The report's three forms.

use std::collections::BTreeMap;
use windlass_gen::report::figure::figures;
use windlass_gen::report::paper;
use windlass_gen::report::render::{
    Design, Format, Latency, Parameter, Report, Speedup, Speedups, Spread, render,
};
use windlass_gen::synth::area::{Amount, AreaReport, ModuleArea};
use windlass_gen::synth::timing::{ClassTiming, PathClass, PathEnd, TimingPath, TimingReport};
use windlass_gen::synth::variants::{Sizing, SynthReport, VariantResult};
use windlass_gen::synth::wires::{Wired, WiredNetlist};
use windlass_netlist::{FloorPlan, WireModel};

fn amount(cells: u64, flip_flops: u64, area_um2: f64) -> Amount {
    let sequential_um2 = flip_flops as f64 * 96.0;
    Amount { cells, flip_flops, clock_gates: 0, area_um2, sequential_um2, gate_equivalents: area_um2 / 24.0 }
}

fn area() -> AreaReport {
    let (row, window) = (amount(50, 32, 6000.0), amount(100, 64, 12000.0));
    let module = |module: &str, instances, own, total| ModuleArea {
        module: module.into(),
        instances,
        own,
        total,
        cells: BTreeMap::new(),
        children: BTreeMap::new(),
    };
    AreaReport {
        top: "window".into(),
        tool: "Yosys 0.23".into(),
        library: "osu018_stdcells".into(),
        corner: "typical, 1.8 V, 25 °C".into(),
        gate: "NAND2X1".into(),
        gate_um2: 24.0,
        flip_flop_um2: Some(96.0),
        script: "read_verilog window.v\nsynth -top window -noabc\nopt_clean\n".into(),
        modules: vec![
            module("window", 1, window, amount(100 + 32 * 50, 64 + 32 * 32, 12000.0 + 32.0 * 6000.0)),
            module("row|x", 32, row, row),
        ],
    }
}

fn synthesis() -> SynthReport {
    let class = |class, ns: f64, outside| ClassTiming {
        class,
        delay_ns: ns,
        external_ns: outside,
        min_period_ns: ns + outside,
        fmax_mhz: 1000.0 / (ns + outside),
        slack_ns: Some(1.0 - ns - outside),
    };
    let timing = |ns: f64| TimingReport {
        tool: "OpenSTA 2.0.17".into(),
        estimate: false,
        classes: vec![
            class(PathClass::RegisterToRegister, ns, 0.0),
            class(PathClass::InputToRegister, ns / 2.0, 0.5),
        ],
        paths: vec![TimingPath {
            class: PathClass::RegisterToRegister,
            from: PathEnd::new(false, "u_slots.age_q[3]"),
            to: PathEnd::new(false, "u_rows_1.upstream_q[0]"),
            delay_ns: ns,
            external_ns: 0.0,
            min_period_ns: ns,
            slack_ns: 1.0 - ns,
            levels: 12,
            through: ["a", "b", "c", "d", "e"].map(String::from).into(),
            alike: 1024,
        }],
    };
    let result = |name: &str, sizing, total, ns| VariantResult {
        name: name.into(),
        abc: "strash;dch -f;map".into(),
        sizing,
        total: Some(total),
        timing: Some(timing(ns)),
        failure: None,
    };
    let broken = VariantResult {
        name: "nf".into(),
        abc: "&nf".into(),
        sizing: Sizing::None,
        total: None,
        timing: None,
        failure: Some("Yosys failed (exit status: 1):\nABC crashed".into()),
    };
    let wired = |sized, flat_um2, ns, side| WiredNetlist {
        sized,
        total: amount(150, 64, flat_um2),
        timing: timing(ns),
        core_um: [side, side - 5.0],
        wires_mm: 12.25,
        nets: 180,
        longest_um: 321.0,
        plan: FloorPlan {
            blocks: vec!["window".into(), "shared".into()],
            rows: vec!["AAB".into(), "A B".into(), "BBB".into()],
        },
    };
    SynthReport {
        gated: None,
        top: "window".into(),
        tool: "Yosys 0.23".into(),
        library: "osu018_stdcells".into(),
        corner: "typical, 1.8 V, 25 °C".into(),
        gate: "NAND2X1".into(),
        gate_um2: 24.0,
        driving_cell: Some("BUFX4".into()),
        load_ff: Some(12.5),
        sdc: "create_clock -name clk -period 1.0\nset_input_delay 0 -clock clk [data_inputs]\n".into(),
        constraints: String::new(),
        unused: Vec::new(),
        script: "synth -noabc -flatten".into(),
        results: vec![
            result("area", Sizing::None, amount(100, 64, 12000.0), 4.0),
            result("speed+abc", Sizing::Abc, amount(150, 64, 15000.0), 2.0),
            broken,
        ],
        fastest: "speed+abc".into(),
        smallest: "area".into(),
        wired: Some(Wired {
            tool: "Coloquinte 0.4.1".into(),
            variant: "speed+abc".into(),
            model: WireModel { row_um: 10.0, ohm_per_um: 0.267, ff_per_um: 0.112 },
            density: 0.7,
            netlists: vec![wired(false, 15000.0, 2.8, 147.0), wired(true, 16000.0, 2.5, 152.0)],
        }),
        key: "0".repeat(64),
    }
}

fn report() -> Report {
    let area = area();
    let spread = |median| Some(Spread { samples: 7, min: 1, median, p99: 2, max: 3 });
    let design = |name: &str, median| Design {
        name: name.into(),
        top: "window".into(),
        parameters: vec![Parameter::new("slots", 32), Parameter::new("encoding", "ids")],
        latencies: vec![
            Latency::new("insert", "host valid to window", spread(median), Some(paper::insert_cycles(32))),
            Latency::new("retire to dispatch", "retire to offer", None, Some(paper::update_cycles(32))),
        ],
        paper: paper::compare(32, &area.total(), &area),
        area: Some(area.clone()),
        synthesis: (name == "matrix").then(synthesis),
        ..Design::default()
    };
    let row = |policy: &str, design: Option<&str>, time_us, speedup| Speedup {
        policy: policy.into(),
        design: design.map(String::from),
        time_us,
        speedup,
        occupancy: design.map(|_| 0.5),
    };
    let speedups = Speedups {
        workload: "brax".into(),
        gpu: "RTX 3060".into(),
        kernels: 10,
        rows: vec![row("serial", None, 100.0, 1.0), row("window", Some("matrix"), 40.0, 2.5)],
    };
    Report::new("0.1.0", vec![design("matrix", 1.0), design("list", 32.5)], vec![speedups])
}

#[test]
fn the_differences_are_worked_out() {
    let report = report();
    let [matrix, list] = &report.designs[..] else { panic!() };
    assert_eq!(matrix.latencies[0].difference, Some(-31.0));
    assert_eq!(list.latencies[0].difference, Some(0.5));
    assert_eq!(list.latencies[1].difference, None);
    // 32 x 31 x 8 bits against 64 + 32 x 32 flip-flops.
    assert_eq!((matrix.paper[0].paper, matrix.paper[0].measured), (7936.0, 1088.0));
    assert_eq!((matrix.paper[0].difference, matrix.paper[0].percent), (-6848.0, Some(-86.3)));
    assert!(matrix.paper[0].note.contains("992 bytes"));
    assert_eq!(matrix.paper[1].paper, 7936.0 * 96.0);
}

#[test]
fn json_is_one_object_that_reads_back() {
    let text = render(&report(), Format::Json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["format_version"], 1);
    assert_eq!(value["area_label"], "estimate after synthesis, before layout");
    assert_eq!(value["designs"][0]["area"]["modules"][1]["own"]["flip_flops"], 32);
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report());
}

#[test]
fn clocks_with_wires_stand_beside_ideal_ones() {
    let text = render(&report(), Format::Text).unwrap();
    let row = |starts: &str| -> Vec<String> {
        let line =
            text.lines().find(|line| line.starts_with(starts)).unwrap_or_else(|| panic!("{starts}: {text}"));
        line.split("  ").map(|cell| cell.trim().to_string()).filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(row("ideal wires"), ["ideal wires", "625.0", "500.0", "-", "-", "-", "-"]);
    assert_eq!(
        row("the same, with wires"),
        ["the same, with wires", "625.0", "357.1", "147 x 142", "180", "12.2", "321"]
    );
    assert_eq!(
        row("sized for wires"),
        ["sized for wires", "666.7", "400.0", "152 x 147", "180", "12.2", "321"]
    );
    assert!(text.contains("Coloquinte 0.4.1; 70 % of the core are cells, in rows of 10 µm; wires of 0.267 Ω and 0.112 fF per µm"), "{text}");
    assert!(text.contains("Paths of the faster one, which is sized for wires:"), "{text}");
    // The floor plan: runs of tiles, from the top, with their block.
    let all = figures(&report());
    let (_, plan) = all.iter().find(|(_, figure)| figure.id == "plan-1").unwrap();
    assert_eq!(
        plan.csv,
        "x,y,block\n0,0,shared\n1,0,shared\n2,0,shared\n0,1,window\n2,1,shared\n0,2,window\n1,2,window\n2,2,shared\n"
    );
    assert!(
        plan.caption.starts_with("Netlist `speed+abc.wired`, placed by Coloquinte 0.4.1."),
        "{}",
        plan.caption
    );
    let tiles = plan.svg.matches("height=\"93\"").count();
    assert_eq!(tiles, 5, "three tiles along 280: {}", plan.svg);
    assert!(plan.svg.contains(">152 x 147 µm<") && plan.svg.contains(">window<"), "{}", plan.svg);
    // Of all designs, the one that has wires.
    let summary = text.split("All designs").nth(1).unwrap();
    assert!(summary.contains("GE, with wires  MHz, with wires") && summary.contains("400.0"), "{summary}");
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    for format in [Format::Text, Format::Json, Format::Markdown] {
        let text = render(&report(), format).unwrap();
        assert_eq!(text, render(&report(), format).unwrap());
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
        assert!(text.lines().all(|l| l == l.trim_end()), "{text}");
    }
}

#[test]
fn text_is_aligned_and_labelled() {
    let text = render(&report(), Format::Text).unwrap();
    assert!(text.contains("Area (estimate after synthesis, before layout)"), "{text}");
    assert!(
        text.contains("Yosys 0.23; library osu018_stdcells (typical, 1.8 V, 25 °C); 1 GE = NAND2X1 = 24 µm²")
    );
    assert!(text.contains("flow: synth -top window -noabc; opt_clean"));
    let lines: Vec<&str> = text.lines().collect();
    let header = lines.iter().position(|l| l.starts_with("module ")).unwrap();
    let width = lines[header + 1].chars().count();
    for line in &lines[header..header + 5] {
        assert_eq!(line.chars().count(), width, "{line}\n{text}");
    }
    assert!(lines[header + 3].starts_with("row|x") && lines[header + 3].contains("94.1 %"), "{text}");
    assert!(lines[header + 4].starts_with("total") && lines[header + 4].contains("204000.0"), "{text}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("list") && last.ends_with('-'), "{last}");
}

#[test]
fn timing_names_the_fastest_the_smallest_and_the_paths() {
    let text = render(&report(), Format::Text).unwrap();
    assert!(text.contains("Timing (estimate after synthesis, before layout, no wire load)"), "{text}");
    assert!(text.contains("Yosys 0.23; OpenSTA 2.0.17; library osu018_stdcells"), "{text}");
    assert!(text.contains("inputs driven by BUFX4, outputs loaded with 12.5 fF"), "{text}");
    let line = |start: &str| {
        text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start}\n{text}"))
    };
    assert!(line("speed+abc  ").ends_with("2.000  500.0  fastest"), "{text}");
    assert!(line("area  ").ends_with("4.000  250.0  smallest"), "{text}");
    assert!(line("nf  ").ends_with("failed") && text.contains("ABC crashed"), "{text}");
    assert!(text.contains("u_slots.age_q[3]") && text.contains("a, b, .. e"), "{text}");
    assert!(text.contains("u_rows_1.upstream_q[0]") && text.contains("1024"), "{text}");
    assert!(line("matrix  ").contains("500.0"), "the summary has it too: {text}");
    // A report from before there was timing still reads.
    let mut value: serde_json::Value =
        serde_json::from_str(&render(&report(), Format::Json).unwrap()).unwrap();
    value["designs"][0].as_object_mut().unwrap().remove("synthesis");
    assert_eq!(serde_json::from_value::<Report>(value).unwrap().designs[0].synthesis, None);
}

#[test]
fn markdown_tables_have_as_many_columns_as_their_header() {
    let text = render(&report(), Format::Markdown).unwrap();
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = text.lines().collect();
    for (above, line) in lines.iter().zip(&lines[1..]) {
        if above.starts_with('|') && line.starts_with('|') {
            assert_eq!(columns(above), columns(line), "{above}\n{line}");
        }
    }
    assert!(text.contains("| row\\|x"));
    assert!(text.starts_with("# Windlass 0.1.0 report\n"));
}

/// A trace may be called anything.
#[test]
fn names_are_no_markup_in_markdown() {
    let mut report = report();
    let name = "a|b *x* <i>`q` [l](u)";
    for table in &mut report.speedups {
        (table.workload, table.kernels) = (name.into(), 1);
    }
    let md = render(&report, Format::Markdown).unwrap();
    assert!(md.contains("\n### On a|b \\*x\\* \\<i>\\`q\\` \\[l\\](u) (1 kernel), "), "{md}");
    let text = render(&report, Format::Text).unwrap();
    assert!(text.contains(&format!("On {name} (1 kernel), ")), "{text}");
}

#[test]
fn the_summary_of_many_workloads_has_their_mean() {
    let mut report = report();
    let summary = |report: &Report| {
        let text = render(report, Format::Markdown).unwrap();
        let at = text.find("## All designs").expect("a summary");
        let rows = text[at..].lines().filter(|l| l.starts_with("| ") && !l.starts_with("| --"));
        rows.map(String::from).collect::<Vec<_>>()
    };
    assert!(summary(&report)[0].contains("speed-up brax |"));
    for (name, speedup) in [("a", 10.0), ("b", 2.5), ("c", 2.5)] {
        let mut table = report.speedups[0].clone();
        table.workload = name.into();
        table.rows[1].speedup = speedup;
        report.speedups.push(table);
    }
    let lines = summary(&report);
    assert!(lines[0].ends_with("| speed-up (geometric mean of 4) |"), "{}", lines[0]);
    // The fourth root of 2.5 x 10 x 2.5 x 2.5; the list was not run.
    assert!(lines[1].starts_with("| matrix") && lines[1].ends_with(" 3.54 |"), "{}", lines[1]);
    assert!(lines[2].starts_with("| list") && lines[2].ends_with(" - |"), "{}", lines[2]);
}

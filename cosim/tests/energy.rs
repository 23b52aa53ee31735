//! Energy of a small front end on a real stream: the netlist does what its golden model does, and pays for it.

mod common;

use common::{cosim, scheduler, shipped};
use std::path::Path;
use std::sync::OnceLock;
use windlass_catalog::BlockSpec;
use windlass_cosim::energy::{BlockEnergy, EnergyReport, Event, measure};
use windlass_cosim::run::{CoSimulation, RunError};
use windlass_gen::synth::variants::{Sizing, SynthOptions, Variant, netlist, synth};
use windlass_gen::{emit, output};
use windlass_netlist::Gates;
use windlass_netlist::liberty;
use windlass_rtl::params::{ArbiterKind, WindowKind};

/// Cycles that are measured.
const CYCLES: u64 = 2000;

fn simulation() -> CoSimulation {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 4));
    cosim.profile.sms = 4;
    cosim.arbiters = vec![ArbiterKind::Typed { active: 1 }];
    cosim
}

/// Its netlist in osu018, as Yosys' JSON; and the module's name. Made once for all tests.
fn mapped(cosim: &CoSimulation) -> (String, String) {
    static MAPPED: OnceLock<(String, String)> = OnceLock::new();
    let library = liberty::default_path().expect("scripts/setup.sh installs it");
    MAPPED.get_or_init(|| mapped_to(cosim, &library, false)).clone()
}

fn mapped_to(cosim: &CoSimulation, library: &Path, clock_gates: bool) -> (String, String) {
    let params = cosim.front_end(cosim.arbiters[0]).expect("compiled in");
    let design = emit::emit(&*BlockSpec::FrontEnd(params).hardware()).expect("emits");
    let top = design.top().name.clone();
    let files = output::verilog_files(&design);
    // Sizes of cells change prices, and nothing that is asked here.
    let variants = Variant::all(&[Sizing::None]).into_iter().take(1).collect();
    let options = SynthOptions { variants, clock_gates, ..SynthOptions::default() };
    let report = synth(&files, &top, library, &options).expect("synthesizes");
    let path = netlist(&report, &report.smallest, "json", &options).expect("just made");
    (std::fs::read_to_string(path).expect("readable"), top)
}

fn gates(json: &str, top: &str) -> Gates {
    let path = liberty::default_path().expect("installed");
    let library = std::fs::read_to_string(&path).expect("readable");
    Gates::new(json, top, &library, &path).expect("runs")
}

#[test]
fn a_front_end_pays_for_what_it_does() {
    let cosim = simulation();
    let (json, top) = mapped(&cosim);
    let stream = shipped("brax-v1-ant-b256", 12);
    let run = |limit| -> EnergyReport {
        measure(&cosim, &stream, &gates(&json, &top), limit)
            .expect("the netlist does the same")
            .expect("measured")
    };
    let report = run(CYCLES);
    assert_eq!(report, run(CYCLES), "the same input gives the same report");
    let count = |event| report.events.iter().find(|e| e.event == event).map(|e| e.count);
    let ctas: u64 = stream.kernels().iter().map(|k| k.ctas()).sum();
    assert_eq!(count(Event::Insert), Some(12));
    assert_eq!(count(Event::Retire), Some(12));
    assert_eq!(count(Event::Place), Some(ctas));
    assert!(report.mean_pj > report.clock_pj && report.clock_pj > 0.0, "{report:?}");
    assert_eq!(count(Event::End), Some(ctas));
    // Prices are told only where they are some: more than a tenth of a flip-flop's clock, less than ten cycles of all of them.
    let one = report.clock_pj / report.flip_flops as f64;
    let prices: Vec<f64> = report.events.iter().filter_map(|e| e.pj).collect();
    assert!(prices.iter().all(|pj| *pj > 0.1 * one && *pj < 10.0 * report.clock_pj), "{report:?}");
    // Every kernel and every CTA is seen, and each price has an error.
    assert!(report.events.iter().all(|e| e.pj_error.is_some() == e.pj.is_some()), "{report:?}");
    assert!(report.events.iter().all(|e| e.blocks.is_empty() == e.pj.is_none()), "{report:?}");
    let sum = |part: fn(&BlockEnergy) -> f64| report.blocks.iter().map(part).sum::<f64>();
    let rounding = 1e-4 * report.blocks.len() as f64;
    assert!((sum(|b| b.pj) - report.mean_pj).abs() <= rounding, "{report:?}");
    assert!((sum(|b| b.clock_pj) - report.clock_pj).abs() <= rounding, "{report:?}");
    assert_eq!(report.blocks.iter().map(|b| b.flip_flops).sum::<u64>(), report.flip_flops);
    for name in ["scheduler.window", "dispatch.sms", "table.entry", "partitions.group"] {
        assert!(report.blocks.iter().any(|b| b.block == name && b.flip_flops > 0), "{name}: {report:?}");
    }
    println!("{report:#?}");
    assert!(report.mw(2.0) > report.mw(1.0));
    // In the first the front end is reset, and its outputs mean nothing.
    assert_eq!(run(10).cycles, 9);
}

/// With a clock gate in the library, much of the clock's energy is not there, and the netlist does the same.
#[test]
fn clock_gates_save_what_the_clock_takes_for_nothing() {
    let cosim = simulation();
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("gated.lib");
    let text = std::fs::read_to_string(liberty::default_path().expect("installed")).expect("readable");
    let end = text.rfind('}').expect("a library");
    let gate = include_str!("../../gen/tests/data/clock_gate.lib");
    let text = format!("{}{gate}}}\n", &text[..end]);
    std::fs::write(&library, &text).expect("written");
    let (json, top) = mapped_to(&cosim, &library, true);
    let gates = Gates::new(&json, &top, &text, &library).expect("runs");
    let stream = shipped("brax-v1-ant-b256", 12);
    let report =
        measure(&cosim, &stream, &gates, CYCLES).expect("the netlist does the same").expect("measured");
    assert!(report.clock_gates > 20 && report.gated > report.flip_flops / 4, "{report:#?}");
    assert!(report.clocked < 0.8, "{report:#?}");
    let block = |name: &str| report.blocks.iter().find(|b| b.block == name).expect("a block");
    // Counters of events have no gates: what a flip-flop's clock takes in every cycle.
    let counters = block("counters.event");
    let always = counters.clock_pj / counters.flip_flops as f64;
    assert!(report.clock_pj < 0.8 * always * report.flip_flops as f64, "{report:#?}");
    // Kernels come and go seldom.
    let entries = block("table.entry");
    assert!(entries.clock_pj < 0.2 * always * entries.flip_flops as f64, "{report:#?}");
    let sum: f64 = report.blocks.iter().map(|b| b.clock_pj).sum();
    assert!((sum - report.clock_pj).abs() <= 1e-4 * report.blocks.len() as f64, "{report:#?}");
}

#[test]
fn a_netlist_that_does_something_else_is_noticed() {
    let cosim = simulation();
    let (json, top) = mapped(&cosim);
    let broken = json.replace("\"NAND2X1\"", "\"NOR2X1\"");
    assert_ne!(json, broken);
    let stream = shipped("brax-v1-ant-b256", 12);
    let error = measure(&cosim, &stream, &gates(&broken, &top), CYCLES).expect_err("is noticed");
    assert!(matches!(error, RunError::Simulation(_)), "{error}");
    assert!(error.to_string().contains("netlist differs"), "{error}");
}

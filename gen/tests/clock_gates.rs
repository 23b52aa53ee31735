//! Clock gates in a small design: where they are put, that paths end in them, and that the netlist does what the RTL says.

use std::path::{Path, PathBuf};
use windlass_gen::synth::area::{AreaOptions, area};
use windlass_gen::synth::variants::{SynthOptions, Variant, netlist, synth};
use windlass_gen::synth::{SynthesisError, Yosys};
use windlass_netlist::{Gates, liberty};

/// Twelve bits with a reset that goes before the enable, eight with an enable that a multiplier decides, two that are too few, and one without.
const GATED: &str = "
module held (input clk_i, input rst_ni, input en_i, input [7:0] d_i, output [7:0] q_o);
  reg [7:0] far_q;
  reg [7:0] factor_q;
  wire [15:0] product = factor_q * (factor_q ^ d_i);
  always @(posedge clk_i) begin
    factor_q <= d_i;
    if (^product) far_q <= d_i;
  end
  assign q_o = far_q;
endmodule
module gated (input clk_i, input rst_ni, input en_i, input few_i, input [7:0] d_i,
              output reg [11:0] count_o, output [7:0] q_o, output reg [1:0] few_o);
  held u_held (.clk_i(clk_i), .rst_ni(rst_ni), .en_i(en_i), .d_i(d_i), .q_o(q_o));
  always @(posedge clk_i) begin
    if (!rst_ni) count_o <= 12'd5;
    else if (en_i) count_o <= count_o + d_i;
    if (few_i) few_o <= d_i[1:0];
  end
endmodule
";

fn design() -> Vec<(String, String)> {
    vec![("gated.v".into(), GATED.into())]
}

/// Debian's library, with a clock gate.
fn library(folder: &Path) -> PathBuf {
    let path = liberty::default_path().expect("scripts/setup.sh installs the library");
    let text = std::fs::read_to_string(path).expect("readable");
    let end = text.rfind('}').expect("a library");
    let path = folder.join("gated.lib");
    std::fs::write(&path, format!("{}{}}}\n", &text[..end], include_str!("data/clock_gate.lib")))
        .expect("written");
    path
}

fn options(cache: &Path) -> SynthOptions {
    let cache = Some(cache.to_path_buf());
    SynthOptions { cache, variants: Variant::quick(), clock_gates: true, ..SynthOptions::default() }
}

#[test]
fn flip_flops_with_an_enable_are_behind_a_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path());
    let options = options(folder.path());
    let report = synth(&design(), "gated", &library, &options).expect("synthesizes");
    assert_eq!(report.gated, Some(12 + 8));
    let total = report.results[0].total.expect("an area");
    assert_eq!((total.flip_flops, total.clock_gates), (12 + 8 + 8 + 2, 2));

    // The longest path goes through the multiplier, and ends in the gate.
    let timing = report.results[0].timing.as_ref().expect("timed");
    let path = &timing.paths[0];
    assert_eq!(
        (path.to.block.as_str(), path.to.name.as_str()),
        ("u_held", "clock gate of far_q"),
        "{path:?}"
    );
    assert!(
        path.levels > 8 && timing.limit().expect("inside").min_period_ns == path.min_period_ns,
        "{path:?}"
    );

    let plain = synth(&design(), "gated", &library, &SynthOptions { clock_gates: false, ..options })
        .expect("synthesizes");
    assert_eq!((plain.gated, plain.results[0].total.expect("an area").clock_gates), (None, 0));

    let cache = Some(folder.path().to_path_buf());
    let by_module = |clock_gates| {
        let options = AreaOptions { cache: cache.clone(), clock_gates, ..AreaOptions::default() };
        area(&design(), "gated", &library, &options).expect("synthesizes")
    };
    let report = by_module(true);
    let gates: Vec<(&str, u64, u64)> =
        report.modules.iter().map(|m| (m.module.as_str(), m.own.clock_gates, m.total.clock_gates)).collect();
    assert_eq!(gates, [("gated", 1, 2), ("held", 1, 1)]);
    assert_eq!(report.total().flip_flops, by_module(false).total().flip_flops);
    assert!(report.total().area_um2 < by_module(false).total().area_um2);
}

/// The netlist as Yosys' JSON.
fn mapped(folder: &Path, library: &Path) -> String {
    let options = options(folder);
    let report = synth(&design(), "gated", library, &options).expect("synthesizes");
    let path = netlist(&report, &report.fastest, "json", &options).expect("just made");
    std::fs::read_to_string(path).expect("readable")
}

fn gates(json: &str, library: &Path) -> Gates {
    Gates::new(json, "gated", &std::fs::read_to_string(library).expect("readable"), library).expect("runs")
}

/// Runs the netlist beside the RTL as Rust; the cycle in which they first differ, and the flip-flops that the clock reached.
fn run(gates: &mut Gates) -> (Option<usize>, Vec<usize>) {
    let (mut count, mut factor, mut far, mut few) = (0u16, 0u8, 0u8, 0u8);
    let mut random = 20_261_126u64;
    let mut reached = Vec::new();
    for cycle in 0..300 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [d, control, ..] = (random >> 40).to_le_bytes();
        let [en, few_i] = [0, 1].map(|bit| control >> bit & 1 == 1);
        // A reset now and then, mostly while nothing is enabled.
        let rst = cycle > 0 && control >> 2 & 15 != 0;
        let bits = |value: u16, width: usize| (0..width).map(move |bit| value >> bit & 1 == 1);
        gates.set("rst_ni", [rst]);
        gates.set("en_i", [en]);
        gates.set("few_i", [few_i]);
        gates.set("d_i", bits(d.into(), 8));
        gates.settle();
        let outputs = [("count_o", count, 12), ("q_o", far.into(), 8), ("few_o", few.into(), 2)];
        let same = |(name, value, width): (&str, u16, usize)| {
            gates.get(name).expect("a port").into_iter().eq(bits(value, width))
        };
        if cycle > 0 && !outputs.into_iter().all(same) {
            return (Some(cycle), reached);
        }
        reached.push(gates.gated_clock().flip_flops);
        let product = u16::from(factor) * u16::from(factor ^ d);
        gates.clock();
        count = if !rst {
            5
        } else if en {
            (count + u16::from(d)) & 0xFFF
        } else {
            count
        };
        far = if product.count_ones() % 2 == 1 { d } else { far };
        few = if few_i { d & 3 } else { few };
        factor = d;
    }
    (None, reached)
}

#[test]
fn a_gated_netlist_does_what_the_rtl_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path());
    let json = mapped(folder.path(), &library);
    let mut gated = gates(&json, &library);
    let power = gated.power();
    assert_eq!((power.flip_flops, power.gated, power.clock_gates), (30, 20, 2));
    let (differs, reached) = run(&mut gated);
    assert_eq!(differs, None);
    for wanted in [0, 8, 12, 20] {
        assert!(reached.contains(&wanted), "{reached:?}");
    }
    // All of the clock's energy is somewhere, and what is behind open gates is less than the whole.
    let open: f64 = gated.gated_clock().fj.iter().sum();
    let all: f64 = gated.blocks().iter().map(|block| block.clock_fj).sum();
    assert!((all - power.clock_fj).abs() < 1e-6 && open >= 0.0 && power.clock_fj > 0.0);

    // A gate that is always open, and one that never is, are noticed.
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for stuck in ["0", "1"] {
        let mut broken = document.clone();
        let cells = broken["modules"]["gated"]["cells"].as_object_mut().expect("cells");
        let gate = cells.values_mut().find(|cell| cell["type"] == "CLKGATE").expect("a gate");
        gate["connections"]["E"] = serde_json::json!([stuck]);
        assert!(run(&mut gates(&broken.to_string(), &library)).0.is_some(), "stuck at {stuck}");
    }
}

#[test]
fn what_is_missing_for_clock_gates_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Some(folder.path().to_path_buf());
    let default = liberty::default_path().expect("scripts/setup.sh installs the library");
    let error = synth(&design(), "gated", &default, &options(folder.path())).expect_err("has no gate");
    assert!(
        matches!(&error, SynthesisError::NoClockGate { library } if library == "osu018_stdcells"),
        "{error}"
    );
    let options = AreaOptions { cache, clock_gates: true, ..AreaOptions::default() };
    let error = area(&design(), "gated", &default, &options).expect_err("has no gate");
    assert!(error.to_string().contains("name a library that has one, such as nangate45"), "{error}");

    // Debian's Yosys has no such pass.
    let yosys = Some(Yosys::program().expect("scripts/setup.sh installs it"));
    let old = yosys.as_ref().is_some_and(|yosys| yosys.version.starts_with("Yosys 0.23"));
    let result = area(&design(), "gated", &library(folder.path()), &AreaOptions { yosys, ..options });
    match result {
        Err(error @ SynthesisError::NoClockGatePass { .. }) => {
            assert!(
                error.to_string().contains("Yosys 0.23") && error.to_string().contains("pyosys"),
                "{error}"
            );
        }
        Ok(report) if !old => assert_eq!(report.total().clock_gates, 2),
        other => panic!("{other:?}"),
    }
}

//! Area of a small hierarchical design, with the Yosys and the library that `scripts/setup.sh` installs.

use std::path::{Path, PathBuf};
use windlass_gen::synth::area::{AreaOptions, AreaReport, ModuleArea, area};
use windlass_gen::synth::{SynthesisError, Yosys};
use windlass_netlist::liberty::{self, LibertyError};

const COUNTER: &str = "
module counter (input clk_i, input rst_ni, input en_i, output reg [3:0] q_o);
  always @(posedge clk_i)
    if (!rst_ni) q_o <= 4'd0;
    else if (en_i) q_o <= q_o + 4'd1;
endmodule
";

/// Two counters, and a small memory, as the list window has them: it must become flip-flops, 4 x 3 of them.
const PAIR: &str = "
module pair (input clk_i, input rst_ni, input en_i, input [1:0] at_i, input [2:0] d_i,
             output [3:0] x_o, output [3:0] y_o, output [2:0] m_o);
  wire carry = en_i & (x_o == 4'd15);
  reg [2:0] mem [0:3];
  counter low  (.clk_i(clk_i), .rst_ni(rst_ni), .en_i(en_i), .q_o(x_o));
  counter high (.clk_i(clk_i), .rst_ni(rst_ni), .en_i(carry), .q_o(y_o));
  always @(posedge clk_i) if (en_i) mem[at_i] <= d_i;
  assign m_o = mem[at_i];
endmodule
";

const LATCH: &str = "
module held (input gate_i, input [2:0] d_i, output reg [2:0] q_o);
  always @(*) if (gate_i) q_o = d_i;
endmodule
module around (input gate_i, input [2:0] d_i, output [2:0] q_o);
  held inside (.gate_i(gate_i), .d_i(d_i), .q_o(q_o));
endmodule
";

fn files(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

fn options(cache: &Path) -> AreaOptions {
    AreaOptions { cache: Some(cache.to_path_buf()), ..AreaOptions::default() }
}

fn osu018() -> PathBuf {
    liberty::default_path().expect("scripts/setup.sh installs the library")
}

fn module<'a>(report: &'a AreaReport, name: &str) -> &'a ModuleArea {
    report.modules.iter().find(|m| m.module == name).expect("the module is in the report")
}

#[test]
fn totals_add_up_and_flip_flops_are_exact() {
    let cache = tempfile::tempdir().unwrap();
    let report =
        area(&files(&[("counter.v", COUNTER), ("pair.v", PAIR)]), "pair", &osu018(), &options(cache.path()))
            .unwrap();

    assert_eq!(report.modules.len(), 2);
    assert_eq!(report.modules[0].module, "pair", "the top comes first");
    let (top, counter) = (module(&report, "pair"), module(&report, "counter"));
    assert_eq!((top.instances, counter.instances), (1, 2));
    assert_eq!(top.children.get("counter"), Some(&2));
    assert_eq!((counter.own.flip_flops, top.own.flip_flops, report.total().flip_flops), (4, 12, 20));
    assert_eq!(report.total(), top.total);
    assert_eq!(report.total().cells, top.own.cells + 2 * counter.own.cells);
    assert_eq!(counter.cells.values().sum::<u64>(), counter.own.cells);

    // osu018's areas are whole numbers, so that sums are exact.
    assert_eq!(report.total().area_um2, top.own.area_um2 + 2.0 * counter.own.area_um2);
    assert_eq!((report.gate.as_str(), report.gate_um2, report.flip_flop_um2), ("NAND2X1", 24.0, Some(96.0)));
    assert_eq!(report.total().sequential_um2, 20.0 * 96.0);
    assert!((report.total().gate_equivalents - report.total().area_um2 / 24.0).abs() < 1e-3);
    assert!(counter.own.area_um2 > counter.own.sequential_um2 && counter.own.sequential_um2 == 4.0 * 96.0);

    // What makes the numbers reproducible is in the report.
    assert!(report.tool.contains("Yosys"), "{}", report.tool);
    assert_eq!(
        (report.library.as_str(), report.corner.as_str()),
        ("osu018_stdcells", "typical, 1.8 V, 25 °C")
    );
    assert!(
        report.script.contains("hierarchy -check -top pair") && report.script.contains("abc -liberty"),
        "{}",
        report.script
    );
}

#[test]
fn modules_nested_three_deep_add_up() {
    // Yosys 0.23 prints statistics of such designs that are no JSON.
    let outer = "module outer (input clk_i, input rst_ni, input en_i, output [5:0] z_o);
      wire [3:0] x, y;
      wire [2:0] m;
      pair only (.clk_i(clk_i), .rst_ni(rst_ni), .en_i(en_i), .at_i(z_o[1:0]), .d_i(z_o[4:2]),
                 .x_o(x), .y_o(y), .m_o(m));
      counter third (.clk_i(clk_i), .rst_ni(rst_ni), .en_i(en_i), .q_o(z_o[3:0]));
      assign z_o[5:4] = {^x, ^{y, m}};
    endmodule\n";
    let cache = tempfile::tempdir().unwrap();
    let design = files(&[("counter.v", COUNTER), ("pair.v", PAIR), ("outer.v", outer)]);
    let report = area(&design, "outer", &osu018(), &options(cache.path())).unwrap();
    let names: Vec<_> = report.modules.iter().map(|m| (m.module.as_str(), m.instances)).collect();
    assert_eq!(names, [("outer", 1), ("counter", 3), ("pair", 1)]);
    let sum: f64 = report.modules.iter().map(|m| m.own.area_um2 * m.instances as f64).sum();
    assert_eq!((report.total().flip_flops, report.total().area_um2), (24, sum));
}

#[test]
fn a_latch_is_an_error_that_names_the_signal() {
    let cache = tempfile::tempdir().unwrap();
    let error = area(&files(&[("latch.v", LATCH)]), "around", &osu018(), &options(cache.path())).unwrap_err();
    assert!(matches!(&error, SynthesisError::Latches { latches, .. } if latches == &["held.q_o"]), "{error}");
}

#[test]
fn broken_verilog_gives_yosys_own_words_and_a_command_that_repeats_them() {
    let cache = tempfile::tempdir().unwrap();
    let broken = files(&[("counter.v", COUNTER), ("pair.v", &PAIR.replace("assign m_o", "asign m_o"))]);
    let error = area(&broken, "pair", &osu018(), &options(cache.path())).unwrap_err();
    let SynthesisError::Failed { message, command, .. } = &error else { panic!("{error}") };
    assert!(message.contains("pair.v:9") && message.contains("syntax error"), "{message}");

    let again = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("syntax error"), "{command}");

    // The same failure again leaves one folder, not two, and nothing that looks like a result.
    area(&broken, "pair", &osu018(), &options(cache.path())).unwrap_err();
    assert_eq!(std::fs::read_dir(cache.path().join("area")).unwrap().count(), 1);
}

#[test]
fn designs_that_do_not_hold_together_are_errors() {
    let cache = tempfile::tempdir().unwrap();
    let message = |design: &[(&str, &str)], top: &str| {
        area(&files(design), top, &osu018(), &options(cache.path())).unwrap_err().to_string()
    };
    // No such top; a module that is missing; two drivers of one net.
    assert!(message(&[("counter.v", COUNTER)], "pair").contains("pair"));
    assert!(message(&[("pair.v", PAIR)], "pair").contains("counter"));
    let two = "module two (input c_i, input a_i, output reg y_o);
      always @(posedge c_i) y_o <= a_i;
      always @(posedge c_i) y_o <= ~a_i;
    endmodule\n";
    assert!(message(&[("two.v", two)], "two").contains("more than one driver: two.y_o"));
    let ring =
        "module ring (input a_i, output y_o); wire x; assign x = ~(y_o & a_i); assign y_o = ~x; endmodule\n";
    assert!(message(&[("ring.v", ring)], "ring").contains("problems in 'check -assert'"));
    // A chain along the bits of one signal is no loop.
    let chain =
        "module chain (input [3:0] a_i, output [3:0] y_o); assign y_o = a_i | {y_o[2:0], 1'b0}; endmodule\n";
    area(&files(&[("chain.v", chain)]), "chain", &osu018(), &options(cache.path())).unwrap();
    // Names that would be commands to Yosys, or files elsewhere.
    for name in ["a;b.v", "../a.v", "a b.v", "-x", ""] {
        let error =
            area(&files(&[(name, COUNTER)]), "counter", &osu018(), &options(cache.path())).unwrap_err();
        assert!(matches!(error, SynthesisError::Name { .. }), "{name}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_cached_result_is_the_same_bytes_and_runs_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    // A Yosys that leaves a mark whenever it runs.
    let real = Yosys::program().unwrap();
    let wrapper = folder.path().join("yosys");
    let text = format!("#!/bin/sh\necho >>'{}'\nexec '{}' \"$@\"\n", mark.display(), real.program.display());
    std::fs::write(&wrapper, text).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let runs = || std::fs::read_to_string(&mark).unwrap_or_default().lines().count();

    let cache = folder.path().join("cache");
    let options = AreaOptions { yosys: Some(Yosys { program: wrapper, ..real }), ..options(&cache) };
    let ask = |text: &str| area(&files(&[("counter.v", text)]), "counter", &osu018(), &options).unwrap();
    let bytes = |report: &AreaReport| serde_json::to_vec(report).unwrap();

    let first = ask(COUNTER);
    assert_eq!(runs(), 1);
    let second = ask(COUNTER);
    assert_eq!(runs(), 1, "a hit runs nothing");
    assert_eq!(bytes(&first), bytes(&second));

    // Another design, or a damaged entry, is no hit.
    ask(&COUNTER.replace("4'd1", "4'd3"));
    assert_eq!(runs(), 2);
    for entry in std::fs::read_dir(cache.join("area")).unwrap() {
        std::fs::write(entry.unwrap().path(), "{\"top\":").unwrap();
    }
    assert_eq!(bytes(&ask(COUNTER)), bytes(&first));
    assert_eq!(runs(), 3);
}

#[test]
fn a_missing_library_says_how_to_get_it() {
    let cache = tempfile::tempdir().unwrap();
    let missing = Path::new("/nonexistent/cells.lib");
    let error =
        area(&files(&[("counter.v", COUNTER)]), "counter", missing, &options(cache.path())).unwrap_err();
    assert!(matches!(error, SynthesisError::Liberty(LibertyError::Read { .. })), "{error}");
    assert!(error.to_string().contains("sudo apt-get install qflow-tech-osu018"), "{error}");
}

#[test]
fn a_library_without_flip_flops_or_nand_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nand = "cell (N) { area : 2; pin (A) { direction : input; } pin (B) { direction : input; }
      pin (Y) { direction : output; function : \"!(A B)\"; } }";
    let inverter = "cell (I) { area : 1; pin (A) { direction : input; }
      pin (Y) { direction : output; function : \"!A\"; } }";
    let ask = |cells: &str| {
        let path = folder.path().join("mini.lib");
        std::fs::write(&path, format!("library (mini) {{ {cells} }}\n")).unwrap();
        area(&files(&[("counter.v", COUNTER)]), "counter", &path, &options(folder.path())).unwrap_err()
    };
    assert!(matches!(ask(inverter), SynthesisError::Liberty(LibertyError::NoNand2 { .. })));
    let error = ask(&format!("{nand} {inverter}"));
    assert!(error.to_string().contains("$_DFF_P_") || error.to_string().contains("$_SDFF"), "{error}");
}

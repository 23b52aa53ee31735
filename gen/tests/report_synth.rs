//! Synthesis and timing of small designs, with the Yosys, the OpenSTA and the library that `scripts/setup.sh` installs.

use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass_gen::report::synth::{Resized, Resizer, Sizing, SynthOptions, Variant, netlist, synth};
use windlass_gen::report::timing::PathClass;
use windlass_gen::report::{SynthesisError, Yosys, liberty};
use windlass_gen::tools::{self, Tool};

/// A multiplier from `slow_q` and `sum_q` to `sum_q`, and beside it only short paths.
const LONG: &str = "
module ripple (input [15:0] a_i, input [15:0] b_i, output [15:0] s_o);
  assign s_o = a_i * b_i;
endmodule
module worker (input clk_i, input rst_ni, input [15:0] d_i, output [15:0] q_o);
  reg [15:0] slow_q, sum_q;
  wire [15:0] sum;
  ripple u_add (.a_i(slow_q), .b_i(sum_q), .s_o(sum));
  always @(posedge clk_i)
    if (!rst_ni) begin slow_q <= 16'd0; sum_q <= 16'd1; end
    else begin slow_q <= d_i; sum_q <= sum; end
  assign q_o = sum_q;
endmodule
module long (input clk_i, input rst_ni, input [15:0] d_i, input at_i, output [15:0] q_o, output m_o, output c_o);
  reg [15:0] fast_q;
  reg [3:0] mem [0:3];
  wire [15:0] w;
  worker u_worker (.clk_i(clk_i), .rst_ni(rst_ni), .d_i(fast_q), .q_o(w));
  always @(posedge clk_i) begin fast_q <= d_i; mem[d_i[1:0]] <= d_i[7:4]; end
  assign q_o = w;
  assign m_o = ^mem[d_i[3:2]] ^ at_i;
  assign c_o = 1'b1;
endmodule
";

fn long() -> Vec<(String, String)> {
    vec![("long.v".into(), LONG.into())]
}

fn osu018() -> PathBuf {
    liberty::default_path().expect("scripts/setup.sh installs the library")
}

fn options(cache: &Path) -> SynthOptions {
    let variants = Variant::all(&[Sizing::None, Sizing::Abc]);
    let variants = variants.into_iter().filter(|v| v.name == "area" || v.name == "speed+abc").collect();
    SynthOptions { cache: Some(cache.to_path_buf()), variants, jobs: 2, ..SynthOptions::default() }
}

fn flow_with(yosys: Option<Yosys>) {
    let cache = tempfile::tempdir().unwrap();
    let options = SynthOptions { yosys, ..options(cache.path()) };
    let report = synth(&long(), "long", &osu018(), &options).unwrap();
    for result in &report.results {
        assert_eq!(result.failure, None);
        let timing = result.timing.as_ref().unwrap();
        assert!(!timing.estimate && timing.tool.starts_with("OpenSTA 2"), "{}", timing.tool);
        let classes: Vec<PathClass> = timing.classes.iter().map(|c| c.class).collect();
        assert_eq!(classes, PathClass::TIMED, "{}", result.name);

        // The long path is there, by its names in the RTL; so is everything else.
        let inside = timing.paths.iter().find(|p| p.class == PathClass::RegisterToRegister);
        let worst = inside.expect("a path between registers");
        assert_eq!(worst.from.block, "u_worker", "{worst:?}");
        let from = &worst.from.name;
        assert!(from.starts_with("slow_q[") || from.starts_with("sum_q["), "{from}");
        assert!(worst.to.to_string().starts_with("u_worker.sum_q["), "{}", worst.to);
        assert!(worst.levels > 8 && worst.alike > 1, "{worst:?}");
        let ends: Vec<String> =
            timing.paths.iter().flat_map(|p| [p.from.to_string(), p.to.to_string()]).collect();
        let known = [
            "d_i[",
            "at_i",
            "rst_ni",
            "q_o[",
            "m_o",
            "fast_q[",
            "mem[",
            "u_worker.slow_q[",
            "u_worker.sum_q[",
        ];
        for end in &ends {
            assert!(known.iter().any(|k| end.starts_with(k)), "{end}");
        }
        assert!(ends.iter().any(|end| end.starts_with("mem[")), "{ends:?}");

        let class = timing.class(PathClass::RegisterToRegister).unwrap();
        assert_eq!(class.delay_ns, worst.delay_ns);
        assert!((class.fmax_mhz - 1000.0 / class.min_period_ns).abs() < 0.1);
        assert_eq!(result.total.unwrap().flip_flops, 16 + 16 + 32);
    }
    let (fast, small) = (report.fastest().unwrap(), report.smallest().unwrap());
    assert!(report.results.iter().all(|r| r.period_ns() >= fast.period_ns()));
    assert!(report.results.iter().all(|r| r.total.unwrap().area_um2 >= small.total.unwrap().area_um2));
    let text = std::fs::read_to_string(netlist(&report, &report.fastest, &options).unwrap()).unwrap();
    assert!(text.contains("module long(") && text.contains("DFFPOSX1"));

    // From the cache: the tools are not there any more.
    let found =
        Yosys { program: "/nonexistent".into(), ..options.yosys.clone().unwrap_or(Yosys::find().unwrap()) };
    assert_eq!(
        synth(&long(), "long", &osu018(), &SynthOptions { yosys: Some(found), ..options }).unwrap(),
        report
    );
}

#[test]
fn a_long_path_is_named() {
    flow_with(None);
}

#[test]
fn the_yosys_on_the_path_does_it_too() {
    flow_with(Some(Yosys::program().unwrap()));
}

#[test]
fn without_opensta_the_delay_is_an_estimate() {
    let cache = tempfile::tempdir().unwrap();
    let options = SynthOptions { estimate: true, variants: Variant::quick(), ..options(cache.path()) };
    let report = synth(&long(), "long", &osu018(), &options).unwrap();
    let timing = report.results[0].timing.as_ref().unwrap();
    assert!(timing.estimate && timing.tool.contains("stime"), "{}", timing.tool);
    let [class] = &timing.classes[..] else { panic!("{timing:?}") };
    assert!(class.class == PathClass::Logic && class.delay_ns > 1.0 && class.fmax_mhz > 1.0, "{class:?}");
}

#[test]
fn constraints_hold_and_wrong_ones_say_so() {
    let cache = tempfile::tempdir().unwrap();
    let with = |sdc: &str| {
        let options =
            SynthOptions { sdc: Some(sdc.into()), variants: Variant::quick(), ..options(cache.path()) };
        synth(&long(), "long", &osu018(), &options)
    };
    let report = with(
        "create_clock -name core -period 4 [get_ports clk_i]\n\
         set_clock_uncertainty 0.25 core\n\
         set_input_delay 1.5 -clock core [get_ports d_i*]\n\
         set_input_delay 1.5 -clock core [get_ports {at_i rst_ni}]\n\
         set_output_delay 0.5 -clock core [all_outputs]\n",
    )
    .unwrap();
    let timing = report.results[0].timing.as_ref().unwrap();
    for class in &timing.classes {
        let external = match class.class {
            PathClass::InputToRegister => 1.5,
            PathClass::RegisterToOutput => 0.5,
            PathClass::InputToOutput => 2.0,
            _ => 0.0,
        };
        assert_eq!(class.external_ns, external, "{class:?}");
        assert!((class.delay_ns + external - class.min_period_ns).abs() < 1e-3, "{class:?}");
        assert!((4.0 - class.slack_ns.unwrap() - class.min_period_ns).abs() < 1e-3, "{class:?}");
    }
    // A port that is not there: OpenSTA says so, and goes on; here it is an error with the command that says it again.
    let error =
        with("create_clock -name core -period 4 [get_ports clock]\nset_load x [all_outputs]\n").unwrap_err();
    let SynthesisError::Failed { tool: "OpenSTA", command, .. } = &error else { panic!("{error}") };
    let again = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
    let said = String::from_utf8_lossy(&again.stdout).into_owned() + &String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("Error:"), "{command}\n{said}");
}

#[test]
fn a_resizer_stands_between_mapping_and_timing() {
    fn same(json: &str, top: &str, liberty: &str) -> Result<Resized, String> {
        assert!(json.contains("\"g0_\"") && top == "pass" && liberty.contains("library"));
        let verilog = "module pass(clk_i, d_i, q_o); input clk_i, d_i; output q_o; wire m;
          BUFX2 b (.A(d_i), .Y(m)); DFFPOSX1 g0_ (.CLK(clk_i), .D(m), .Q(q_o)); endmodule";
        let cells = [("BUFX2".to_string(), 1), ("DFFPOSX1".to_string(), 1)].into();
        Ok(Resized { verilog: verilog.into(), cells })
    }
    fn refuses(_: &str, _: &str, _: &str) -> Result<Resized, String> {
        Err("a cell without a table".into())
    }
    let cache = tempfile::tempdir().unwrap();
    let design =
        "module pass (input clk_i, input d_i, output reg q_o); always @(posedge clk_i) q_o <= d_i; endmodule";
    let ask = |run| {
        let variants = Variant::all(&[Sizing::None, Sizing::Resize]).into_iter().take(2).collect();
        let resizer = Some(Resizer { name: "test", run });
        let options = SynthOptions { variants, resizer, ..options(cache.path()) };
        synth(&[("pass.v".into(), design.into())], "pass", &osu018(), &options)
    };
    // A failure is in its row, and is not kept in the cache.
    let report = ask(refuses).unwrap();
    assert!(report.results[1].failure.as_ref().unwrap().contains("a cell without a table"));
    assert_eq!((report.fastest.as_str(), report.results[1].total), ("area", None));

    let report = ask(same).unwrap();
    let [plain, resized] = &report.results[..] else { panic!() };
    assert_eq!((plain.name.as_str(), resized.name.as_str()), ("area", "area+resize"));
    let timing = resized.timing.as_ref().unwrap();
    let into = timing.class(PathClass::InputToRegister).unwrap();
    assert!(
        into.delay_ns > plain.timing.as_ref().unwrap().class(PathClass::InputToRegister).unwrap().delay_ns
    );
    assert_eq!(timing.paths.iter().map(|p| p.to.to_string()).filter(|n| n == "q_o").count(), 2);
    assert_eq!(resized.total.unwrap().cells, 2);
}

#[test]
fn a_tool_that_hangs_is_stopped() {
    let cache = tempfile::tempdir().unwrap();
    let options = SynthOptions { limit: Duration::ZERO, ..options(cache.path()) };
    let error = synth(&long(), "long", &osu018(), &options).unwrap_err();
    assert!(
        matches!(&error, SynthesisError::Failed { status, .. } if status.contains("longer than")),
        "{error}"
    );
}

#[test]
fn opensta_is_there() {
    tools::find(Tool::OpenSta).expect("scripts/setup.sh installs it");
}

//! Synthesis and timing of small designs, with the Yosys, the OpenSTA and the library that `scripts/setup.sh` installs.

use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::constraints::{Constraints, EMBEDDED, Sdc};
use windlass_gen::synth::timing::PathClass;
use windlass_gen::synth::variants::{
    Sizing, SynthOptions, SynthReport, Variant, VariantResult, netlist, synth,
};
use windlass_gen::synth::wires::{Wired, WiredNetlist};
use windlass_gen::synth::{SynthesisError, Yosys};
use windlass_gen::tools::{self, Tool};
use windlass_gen::{emit, output};
use windlass_netlist::{ResizeOptions, WireModel, liberty, resize};
use windlass_rtl::port::{Direction, Port};

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
    let text = std::fs::read_to_string(netlist(&report, &report.fastest, "v", &options).unwrap()).unwrap();
    assert!(text.contains("module long(") && text.contains("DFFPOSX1"));

    // An entry is as good as its netlists.
    let json = || netlist(&report, &report.fastest, "json", &options);
    std::fs::remove_file(json().unwrap()).unwrap();
    assert_eq!(synth(&long(), "long", &osu018(), &options).unwrap(), report);
    assert!(json().is_some(), "made again");

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
        let sdc = Some(Sdc { text: sdc.into(), ..Sdc::default() });
        let options = SynthOptions { sdc, variants: Variant::quick(), ..options(cache.path()) };
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
        assert!((4.0 - class.slack_ns.unwrap() - external - class.delay_ns).abs() < 1e-3, "{class:?}");
        // What is outside keeps its share of the period.
        assert!((class.delay_ns / (1.0 - external / 4.0) - class.min_period_ns).abs() < 1e-3, "{class:?}");
    }
    // A port that is not there: OpenSTA says so, and goes on; here it is an error with the command that says it again.
    let error =
        with("create_clock -name core -period 4 [get_ports clock]\nset_load x [all_outputs]\n").unwrap_err();
    let SynthesisError::Failed { tool: "OpenSTA", command, .. } = &error else { panic!("{error}") };
    let again = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
    let said = String::from_utf8_lossy(&again.stdout).into_owned() + &String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("Error:"), "{command}\n{said}");
}

/// A block timed with a constraints file.
fn timed(constraints: &Constraints, cache: &Path, library: &Path) -> SynthReport {
    let spec = BlockSpec::new("upstream_load", Request { slots: 8, ..Request::default() }).unwrap();
    let design = emit::emit(&*spec.hardware()).unwrap();
    let top = design.top();
    let name = liberty::Library::load(library).unwrap().name;
    let sdc = constraints.resolve(spec.name(), &top.name, &top.ports).unwrap().timing(&name);
    let options = SynthOptions { sdc: Some(sdc), variants: Variant::quick(), ..options(cache) };
    synth(&output::verilog_files(&design), &top.name, library, &options).unwrap()
}

#[test]
fn a_budget_of_the_constraints_file_is_what_the_ports_are_timed_with() {
    let cache = tempfile::tempdir().unwrap();
    let with = |changes: &[(&str, &str)]| {
        let mut text = EMBEDDED.to_string();
        // The reset has a budget of its own, and its path must not be the worst.
        for (from, to) in [("input = 0.5", "input = 0.1")].iter().chain(changes) {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        timed(&Constraints::parse(&text, "mine.toml").unwrap(), cache.path(), &osu018())
    };
    let of = |report: &SynthReport, class| {
        let timing = report.results[0].timing.clone().unwrap();
        timing.class(class).cloned().unwrap_or_else(|| panic!("{class}: {timing:?}"))
    };
    use PathClass::{InputToOutput, InputToRegister, RegisterToOutput, RegisterToRegister};
    let plain = with(&[]);
    for words in ["mine.toml, library osu018", "clk_i 5.000 ns, uncertainty 0.050 ns", "25 % = 1.250 ns"] {
        assert!(plain.constraints.contains(words), "`{words}`: {}", plain.constraints);
    }
    assert_eq!((plain.driving_cell.as_deref(), plain.load_ff), (Some("BUFX2"), Some(30.0)));
    assert!(plain.sdc.contains("set_driving_cell -lib_cell BUFX2 -pin Y"), "{}", plain.sdc);

    // 0.4 instead of 0.25 of 5 ns for inputs: 0.75 ns less for what begins at one, and for nothing else.
    let late = with(&[("input = 0.25", "input = 0.4")]);
    // And for outputs: 0.4 instead of 0.25, where those for observation keep their tenth.
    let early = with(&[("output = 0.25", "output = 0.4")]);
    for (class, inputs, outputs) in [
        (RegisterToRegister, 0.0, 0.0),
        (InputToRegister, 0.75, 0.0),
        (RegisterToOutput, 0.0, 0.75),
        (InputToOutput, 0.75, 0.75),
    ] {
        let slack = |report| of(report, class).slack_ns.unwrap();
        assert!((slack(&plain) - slack(&late) - inputs).abs() < 1e-3, "{class}");
        assert!((slack(&plain) - slack(&early) - outputs).abs() < 1e-3, "{class}");
        // The class's own clock: another budget is another share of it, and no I/O budget is in the clock inside.
        let period = |report| of(report, class).min_period_ns;
        assert_eq!(period(&plain) < period(&late), inputs > 0.0, "{class}");
        assert_eq!(period(&plain) < period(&early), outputs > 0.0, "{class}");
    }
    assert_eq!(late.results[0].fmax_mhz(), plain.results[0].fmax_mhz());
    assert_eq!(late.results[0].total, plain.results[0].total);

    // Uncertainty is in every class; period and load are what the file says.
    let jitter = with(&[("setup_uncertainty_ns = 0.05", "setup_uncertainty_ns = 0.25")]);
    let delay = |report| of(report, RegisterToRegister).delay_ns;
    assert!((delay(&jitter) - delay(&plain) - 0.2).abs() < 1e-3);
    let loaded = with(&[("load = 0.03", "load = 0.3"), ("clk_i = 5.0", "clk_i = 8.0")]);
    let out = |report| of(report, RegisterToOutput);
    assert!(out(&loaded).delay_ns > out(&plain).delay_ns + 0.1, "{:?}", out(&loaded));
    let external = out(&loaded).external_ns / out(&plain).external_ns;
    assert!(
        (external - 8.0 / 5.0).abs() < 1e-3 && loaded.constraints.contains("clk_i 8.000 ns"),
        "{external}"
    );
}

/// A reset with more time outside than the data, which has more logic.
const GUARDED: &str = "
module guarded (input clk_i, input rst_ni, input [31:0] d_i, output reg q_o, output through_o);
  always @(posedge clk_i) q_o <= rst_ni & ^d_i;
  assign through_o = ^d_i[1:0];
endmodule
";

fn guarded(constraints: &Constraints, cache: &Path) -> SynthReport {
    let port = |(name, direction, width): (&str, _, _)| Port {
        name: name.into(),
        direction,
        width,
        channel: String::new(),
        doc: String::new(),
    };
    use Direction::{Input, Output};
    let ports = [
        ("clk_i", Input, 1),
        ("rst_ni", Input, 1),
        ("d_i", Input, 32),
        ("q_o", Output, 1),
        ("through_o", Output, 1),
    ]
    .map(port);
    let sdc = constraints.resolve("guarded", "guarded", &ports).unwrap().timing("osu018_stdcells");
    let options = SynthOptions { sdc: Some(sdc), variants: Variant::quick(), ..options(cache) };
    synth(&[("guarded.v".into(), GUARDED.into())], "guarded", &osu018(), &options).unwrap()
}

#[test]
fn the_period_that_a_path_needs_does_not_depend_on_the_clock_of_the_constraints() {
    let cache = tempfile::tempdir().unwrap();
    let at = |period| {
        let report = guarded(&Constraints::embedded().with_period(period).unwrap(), cache.path());
        report.results[0].timing.as_ref().unwrap().class(PathClass::InputToRegister).cloned().unwrap()
    };
    let (tight, wide) = (at(1.0), at(100.0));
    // Times are printed in tenths of picoseconds, and scaled.
    assert!((tight.min_period_ns / wide.min_period_ns - 1.0).abs() < 0.002, "{tight:?}, {wide:?}");
    assert_eq!(wide.external_ns, 25.0, "the data's, not the reset's");
}

#[test]
fn an_exception_without_a_path_is_said() {
    let cache = tempfile::tempdir().unwrap();
    let exception = |ends: &str| format!("[[multicycle_path]]\n{ends}\nsetup = 2\nreason = \"so\"\n");
    let ends = [
        "from = [\"d_i\"]",
        "to = [\"q_o\"]",
        "from = [\"d_i\"]\nto = [\"through_o\"]",
        "from = [\"d_i\"]\nto = [\"q_o\"]",
    ];
    let text: String = ends.iter().map(|ends| exception(ends)).collect();
    let constraints = Constraints::parse(&format!("{EMBEDDED}\n{text}"), "mine.toml").unwrap();
    let report = guarded(&constraints, cache.path());
    assert_eq!(report.unused, ["multi-cycle path from d_i to q_o"], "a register lies between");
    assert_eq!(guarded(&Constraints::embedded(), cache.path()).unused, [""; 0]);
}

/// The constraints file shows how an exception is written: it must be one.
#[test]
fn the_example_of_an_exception_relaxes_something() {
    let example = |line: &str| Some(line.strip_prefix("#   ")?.to_string() + "\n");
    let before_pins = EMBEDDED.split("# No pins").next().unwrap();
    let example: String = before_pins.lines().filter_map(example).collect();
    assert!(example.starts_with("[[multicycle_path]]"), "{example}");
    let constraints = Constraints::parse(&format!("{EMBEDDED}\n{example}"), "mine.toml").unwrap();
    let request = Request { slots: 4, sms: 3, ..Request::default() };
    let spec = BlockSpec::new("front_end", request).unwrap();
    let design = emit::emit(&*spec.hardware()).unwrap();
    let top = design.top();
    let sdc = constraints.resolve(spec.name(), &top.name, &top.ports).unwrap().timing("osu018_stdcells");
    let [exception] = &sdc.exceptions[..] else { panic!("{sdc:?}") };
    // A counter's number goes into a register at once.
    assert_eq!((exception.from.as_str(), exception.to.as_str()), ("[get_ports {count_sel_i[*]}]", ""));
}

#[test]
fn a_library_that_the_constraints_do_not_have_is_said() {
    let cache = tempfile::tempdir().unwrap();
    let unknown = EMBEDDED.replace("match = \"osu018*\"", "match = \"another*\"");
    let report = timed(&Constraints::parse(&unknown, "mine.toml").unwrap(), cache.path(), &osu018());
    assert!(
        report.constraints.contains("which has no library `osu018_stdcells`: clk_i 1.000 ns"),
        "{}",
        report.constraints
    );
    assert!(report.driving_cell.is_some() && report.load_ff.is_some_and(|ff| ff > 1.0));
    let faster = Constraints::embedded().with_period(3.0).unwrap();
    assert!(
        [0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|p| Constraints::embedded().with_period(*p).is_err())
    );
    let report = timed(&faster, cache.path(), &osu018());
    assert!(report.constraints.contains("library osu018: clk_i 3.000 ns"), "{}", report.constraints);
    let class =
        report.results[0].timing.as_ref().unwrap().class(PathClass::InputToRegister).cloned().unwrap();
    assert!((class.delay_ns + class.external_ns + class.slack_ns.unwrap() - 3.0).abs() < 1e-3, "{class:?}");
}

/// One register bit that 300 gates read: a hopeless net without a buffer tree.
fn wide() -> Vec<(String, String)> {
    let text = "module wide (input clk_i, input sel_i, input [299:0] a_i, input [299:0] b_i, output reg [299:0] q_o);\n\
        reg sel_q;\n\
        always @(posedge clk_i) begin sel_q <= sel_i; q_o <= sel_q ? a_i : b_i; end\n\
        endmodule\n";
    vec![("wide.v".into(), text.into())]
}

#[test]
fn sizes_and_buffers_are_timed_as_opensta_times_them() {
    let cache = tempfile::tempdir().unwrap();
    let variants = Variant::all(&[Sizing::None, Sizing::Resize]);
    let variants = variants.into_iter().filter(|v| v.name.starts_with("area")).collect();
    let options = SynthOptions { variants, ..options(cache.path()) };
    let report = synth(&wide(), "wide", &osu018(), &options).unwrap();
    let [plain, resized] = &report.results[..] else { panic!("{:?}", report.results) };
    assert_eq!((plain.name.as_str(), resized.name.as_str()), ("area", "area+resize"));
    assert_eq!((report.fastest.as_str(), report.smallest.as_str()), ("area+resize", "area"));
    let period = |r: &VariantResult| {
        r.timing.as_ref().unwrap().class(PathClass::RegisterToRegister).unwrap().min_period_ns
    };
    assert!(period(resized) < 0.3 * period(plain), "{} and {}", period(resized), period(plain));
    // Its netlist is kept, reads back, and its own longest path is what OpenSTA finds, all classes taken together.
    let json = std::fs::read_to_string(netlist(&report, "area+resize", "json", &options).unwrap()).unwrap();
    let library = std::fs::read_to_string(osu018()).unwrap();
    let again = resize(&json, "wide", &library, &osu018(), &ResizeOptions::default()).unwrap();
    let mapped = again.cells.values().sum::<u64>();
    assert!(mapped as usize >= 301 * 2, "{mapped} cells");
    let all = resized.timing.as_ref().unwrap().classes.iter().map(|c| c.min_period_ns).fold(0.0, f64::max);
    assert!((again.delay_ps / 1e3 / all - 1.0).abs() < 0.25, "{} ps here, {all} ns there", again.delay_ps);
}

/// The clock with ideal wires, and what it is with wires of that kind.
fn with_wires(design: &[(String, String)], top: &str, model: WireModel) -> (f64, Wired) {
    let cache = tempfile::tempdir().unwrap();
    let variants = Variant::all(&[Sizing::Resize]).into_iter().filter(|v| v.name.starts_with("area"));
    let options = SynthOptions { variants: variants.collect(), wires: Some(model), ..options(cache.path()) };
    let report = synth(design, top, &osu018(), &options).unwrap();
    assert_eq!(synth(design, top, &osu018(), &options).unwrap(), report, "what the cache has");
    (report.fastest().unwrap().fmax_mhz().unwrap(), report.wired.unwrap())
}

#[test]
fn wires_slow_the_clock_and_sizes_for_them_help() {
    let model = Constraints::embedded().wires("osu018").unwrap();
    let block = |name: &str| {
        let request = Request { slots: 4, ..Request::default() };
        let design = emit::emit(&*BlockSpec::new(name, request).unwrap().hardware()).unwrap();
        (output::verilog_files(&design), design.top().name.clone())
    };
    let (files, top) = block("window_matrix");
    let (ideal, wired) = with_wires(&files, &top, model);
    let [as_it_was, sized] = &wired.netlists[..] else { panic!("{wired:?}") };
    let mhz = |netlist: &WiredNetlist| netlist.fmax_mhz().unwrap();
    assert!(mhz(as_it_was) < 0.95 * ideal, "{} of {ideal} MHz", mhz(as_it_was));
    assert!(
        mhz(sized) > mhz(as_it_was) && mhz(sized) < ideal,
        "{} and {} of {ideal}",
        mhz(as_it_was),
        mhz(sized)
    );
    assert_eq!(wired.fastest(), Some(sized));
    for netlist in [as_it_was, sized] {
        let cells = netlist.total.area_um2 / (netlist.core_um[0] * netlist.core_um[1]);
        assert!((cells - wired.density).abs() < 0.03, "{cells} of the core are cells");
        assert!(netlist.wires_mm > 1.0 && netlist.longest_um > 50.0, "{netlist:?}");
        // Paths have the names of the RTL.
        assert!(
            netlist.timing.paths.iter().any(|p| p.from.name.contains("_q[")),
            "{:?}",
            netlist.timing.paths
        );
    }
    // Where sizes for wires do not help, the netlist is what it was.
    let mut other = wired.clone();
    other.netlists[0].timing.classes.iter_mut().for_each(|class| class.fmax_mhz *= 2.0);
    assert_eq!(other.fastest(), Some(&other.netlists[0]));
    // The same again, and wires that weigh nothing cost nothing.
    let (files, top) = block("round_robin");
    let (ideal, wired) = with_wires(&files, &top, model);
    assert_eq!(with_wires(&files, &top, model).1, wired);
    let none = WireModel { ohm_per_um: 1e-6, ff_per_um: 1e-6, ..model };
    let free = mhz(&with_wires(&files, &top, none).1.netlists[0]);
    assert!(mhz(&wired.netlists[0]) < 0.99 * ideal, "{} of {ideal} MHz", mhz(&wired.netlists[0]));
    assert!((free / ideal - 1.0).abs() < 0.01, "{free} of {ideal} MHz");
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

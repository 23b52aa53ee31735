//! What the documentation shows runs: the testbench of docs/integration.md, which is generated RTL in a plain Verilog design under Icarus Verilog (no other
//! test simulates with it), and the trace of docs/ktrace.md.

mod smtbmc;

use smtbmc::smtbmc;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_gen::tools::{self, Tool};

const DESIGN: &str = "--block front_end --slots 4 --lanes 2 --active 1 --sms 4 --sm-ctas 2 --sm-warps 4 --sm-registers 4 --sm-smem 4";
const TOP: &str = "front_end_matrix_ids_typed_n4_r2_m128_l2_s4_k1_c2_w4_g4_b4";

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// What the simulation of this testbench says.
fn simulated(testbench: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
    output(gen_command.arg("gen").args(DESIGN.split(' ')).arg("--out").arg(folder.path()));
    std::fs::write(path("tb.v"), testbench).expect("written");
    let iverilog = std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into());
    let define = format!("-DFRONT_END={TOP}");
    let files = format!("{TOP}.f");
    output(
        Command::new(iverilog)
            .current_dir(folder.path())
            .args(["-g2005", &define, "-o", "tb", "-f", &files, "tb.v"]),
    );
    let ran = Command::new("vvp").arg("-n").arg(path("tb")).output().expect("vvp");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.success(), said.contains("PASSED: "), "{}: {said}", ran.status);
    // What $fatal adds is the simulator's.
    said.split("FATAL: ").next().unwrap_or_default().to_owned()
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_testbench_of_the_page_says_what_the_page_shows() {
    let said = simulated(&read("docs/integration/tb.v"));
    assert!(said.contains("PASSED: 3 kernels, 15 CTAs"), "{said}");
    let page = read("docs/integration.md");
    assert!(page.contains(&said), "the page shows something else; now:\n{said}");
    // The page's commands are these.
    let words = |text: &str| text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(&format!("windlass gen {DESIGN} --out build/rtl top={TOP}")));
}

#[test]
fn a_host_that_forgets_a_dependency_is_noticed() {
    let right = read("docs/integration/tb.v");
    let wrong = right.replace(".host_up_valid_0_i(host_up_valid)", ".host_up_valid_0_i(1'b0)");
    assert_ne!(right, wrong);
    let said = simulated(&wrong);
    assert!(
        said.contains("ERROR: kernel 1 runs before kernel 0 has retired") && said.contains("FAILED"),
        "{said}"
    );
}

#[test]
fn a_kernel_whose_ctas_need_more_than_an_sm_has_goes_on_without_them() {
    let right = read("docs/integration/tb.v");
    // An SM has 4 warps, 4 register units and 4 shared memory units.
    for (least, more) in [
        (".host_warps_i(7'd1)", ".host_warps_i(7'd5)"),
        (".host_warps_i(7'd1)", ".host_warps_i(7'd65)"),
        (".host_regs_i(9'd1)", ".host_regs_i(9'd300)"),
        (".host_smem_i(11'd0)", ".host_smem_i(11'd5)"),
    ] {
        assert!(right.contains(least));
        let said = simulated(&right.replace(least, more));
        assert_eq!(said.matches("a kernel that no SM can run").count(), 3, "{more}: {said}");
        assert_eq!(said.matches(" on SM ").count(), 0, "{more}: {said}");
        assert_eq!(said.matches(" retires").count(), 3, "{more}: {said}");
    }
}

#[test]
fn a_kernel_without_ctas_is_a_marker() {
    let right = read("docs/integration/tb.v");
    let marker = right.replace("launch(8'd0, 32'd10,", "launch(8'd0, 32'd0,");
    assert_ne!(right, marker);
    let said = simulated(&marker);
    assert!(said.contains("kernel 0 retires") && !said.contains("kernel 0, CTA"), "{said}");
    assert!(!said.contains("a kernel that no SM can run") && !said.contains("not done"), "{said}");
    assert_eq!(said.matches(" on SM ").count(), 5, "those of the others: {said}");
}

#[test]
fn a_completion_of_an_sm_that_is_not_there_is_said_and_ignored() {
    let right = read("docs/integration/tb.v");
    let mut wrong = right.clone();
    for (from, to) in [
        (".done_valid_1_i(done_valid[1])", ".done_valid_1_i(done_valid[1] | cycle == 15)"),
        (".done_sm_1_i(8'd1)", ".done_sm_1_i(cycle == 15 ? 8'd255 : 8'd1)"),
    ] {
        assert!(wrong.contains(from));
        wrong = wrong.replace(from, to);
    }
    let (said, ever) = (simulated(&wrong), simulated(&right));
    let error = "ERROR: a completion of nothing\n";
    assert_eq!(said.matches(error).count(), 1, "{said}");
    assert_eq!(said.replace(error, "").replace("FAILED", "PASSED"), ever, "else all is as ever");
}

/// The testbench's SMs go on over a reset in the middle.
#[test]
fn completions_from_before_a_reset_count_for_the_kernels_after_it() {
    let right = read("docs/integration/tb.v");
    let first = "    launch(8'd0, 32'd10, 1'b0, 1'b0, 8'd0); // ten SIMT CTAs\n";
    let reset =
        "    repeat (16) @(negedge clk);\n    rst_n = 1'b0;\n    @(negedge clk);\n    rst_n = 1'b1;\n";
    let wrong = right.replace(first, &[first, reset, first].concat());
    assert_ne!(right, wrong);
    let said = simulated(&wrong);
    let last = |what: &str| {
        let line = said.lines().rfind(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {said}"));
        let cycle = line.trim_start_matches("cycle").split(':').next().unwrap_or_default();
        cycle.trim().parse::<u32>().unwrap_or_else(|e| panic!("{line}: {e}"))
    };
    // A CTA takes 20 cycles.
    assert!(last("kernel 0 retires") < last("kernel 0, CTA 9") + 20, "{said}");
    assert!(said.contains("a completion of nothing"), "{said}");
}

/// Under Verilator, which has `bind`; other tests of the checker run in Icarus Verilog.
#[test]
fn the_checker_binds_and_says_what_the_page_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
    output(gen_command.args(["gen", "--checker"]).args(DESIGN.split(' ')).arg("--out").arg(folder.path()));
    let right = read("docs/integration/tb.v");
    let either = right.replace(".done_sm_1_i(8'd1)", ".done_sm_1_i($test$plusargs(\"wrong\") ? 8'd2 : 8'd1)");
    assert_ne!(right, either);
    std::fs::write(path("tb.v"), either).expect("written");
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let (define, files) = (format!("-DFRONT_END={TOP}"), format!("{TOP}_sim.f"));
    output(
        Command::new(verilator)
            .current_dir(folder.path())
            .args([
                "--binary",
                "--timing",
                "-O0",
                "-Wno-fatal",
                "-j",
                "2",
                "--Mdir",
                "obj",
                "--top-module",
                "tb",
            ])
            // It runs for a moment.
            .args(["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"])
            .args([&define, "-f", &files, "tb.v"]),
    );
    let run = |plus: Option<&str>| {
        let output = Command::new(path("obj/Vtb")).args(plus).output().expect("a simulation");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (ends_well, said) = run(None);
    assert!(ends_well && said.contains("PASSED: 3 kernels, 15 CTAs"), "{said}");
    let (ends_well, said) = run(Some("+wrong"));
    let line = said.lines().find(|line| line.contains("front_end_checker.sv")).unwrap_or_default();
    assert!(!ends_well && !line.is_empty(), "{said}");
    assert!(read("docs/integration.md").contains(line), "the page shows something else; now:\n{line}");
}

/// A generated testbench, in a folder with its design.
struct Generated {
    folder: tempfile::TempDir,
    top: String,
}

impl Generated {
    fn new(arguments: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
        let said = output(
            gen_command
                .args(["gen", "--testbench", "--checker"])
                .args(arguments.split(' '))
                .arg("--out")
                .arg(folder.path()),
        );
        let top = said.split(' ').next().unwrap_or_default().to_string();
        Self { folder, top }
    }

    /// Edits the testbench.
    fn replace(&self, right: &str, wrong: &str) {
        let file = self.folder.path().join(format!("{}_tb.v", self.top));
        let text = std::fs::read_to_string(&file).expect("a testbench");
        assert!(text.contains(right), "{right} is not in {}", file.display());
        std::fs::write(file, text.replace(right, wrong)).expect("written");
    }

    /// What Icarus Verilog says, which warns of nothing. As SystemVerilog there is a checker beside it.
    fn run(&self, standard: &str, kernels: usize) -> String {
        let Self { folder, top } = self;
        let here = |program: String| {
            let mut command = Command::new(program);
            command.current_dir(folder.path());
            command
        };
        let iverilog = std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into());
        let mut build = here(iverilog);
        build.args([standard, "-Wall", "-o", "tb", "-s", &format!("{top}_tb")]);
        build.arg(format!("-P{top}_tb.KERNELS={kernels}")).args(["-f", &format!("{top}.f")]);
        // Before the testbench, which then has it.
        if standard == "-g2012" {
            build.args(["front_end_checker.sv", &format!("{top}_checker.sv")]);
        }
        build.arg(format!("{top}_tb.v"));
        let built = build.output().expect("a compiler");
        let warned = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success() && warned.is_empty(), "{top}: {warned}");
        let ran = here("vvp".into()).args(["-n", "tb"]).output().expect("vvp");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.success(), said.starts_with("PASSED: "), "{top}: {}: {said}", ran.status);
        said
    }
}

#[test]
fn a_testbench_is_written_for_every_design() {
    for (arguments, kernels) in [
        ("--arbiter single --slots 8 --sms 9", 12),
        ("--slots 4 --lanes 2 --sms 5 --places 2 --sm-ctas 2 --sm-warps 4 --sm-registers 4 --sm-smem 4", 80),
        ("--slots 8 --sms 13 --window list --places 4 --arbiter single", 20),
        ("--slots 8 --sms 14 --hold-idle --sm-ctas 4 --sm-warps 8", 30),
        ("--slots 8 --sms 8 --encoding mask --scheduled 32 --retire-ports 4", 40),
        ("--slots 4 --sms 1 --lanes 1 --scheduled 8 --retire-ports 1 --pipelined --sm-smem 2047", 50),
        ("--slots 8 --sms 8 --reset async", 40),
    ] {
        let generated = Generated::new(arguments);
        let Generated { folder, top } = &generated;
        let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
        output(
            Command::new(verilator)
                .current_dir(folder.path())
                .args(["--lint-only", "--timing", "-Wall", "--top-module", &format!("{top}_tb")])
                .args(["-f", &format!("{top}_sim.f")]),
        );
        let said = generated.run("-g2005", kernels);
        assert!(said.starts_with(&format!("PASSED: {kernels} kernels in ")), "{top}: {said}");
        // And by the checker's books.
        assert_eq!(generated.run("-g2012", kernels), said, "{top}");
    }
}

/// A kernel is in the window; then the reset falls between two clock edges.
#[test]
fn an_asynchronous_reset_acts_at_once() {
    let testbench = |top: &str| {
        format!(
            "module tb;
  reg clk = 0, rst_n = 0, valid = 0;
  wire [7:0] occupancy;
  {top} dut (.clk_i(clk), .rst_ni(rst_n), .host_valid_i(valid), .host_last_i(1'b1), .host_id_i(8'd0), .host_up_valid_0_i(1'b0),
    .host_up_id_0_i(8'd0), .disp_ready_i(1'b0), .ret_valid_0_i(1'b0), .ret_slot_0_i(2'd0), .occupancy_o(occupancy));
  initial begin
    #5 clk = 1;
    #5 clk = 0; rst_n = 1; valid = 1;
    #5 clk = 1;
    #1 valid = 0; $write(\"%0d\", occupancy);
    rst_n = 0;
    #1 $write(\" %0d\", occupancy);
    #3 clk = 0;
    #5 clk = 1;
    #1 $display(\" %0d\", occupancy);
  end
endmodule
"
        )
    };
    for (kind, expected) in [("sync", "1 1 0\n"), ("async", "1 0 0\n")] {
        for window in ["matrix", "list"] {
            let folder = tempfile::tempdir().expect("a folder");
            let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
            let block = "--block kernel_scheduler --slots 4 --lanes 1 --retire-ports 1";
            let arguments = block.split(' ').chain(["--window", window, "--reset", kind, "--out"]);
            output(gen_command.arg("gen").args(arguments).arg(folder.path()));
            let suffix = if kind == "async" { "_arst" } else { "" };
            let top = format!("kernel_scheduler_{window}_ids_n4_r1_m128_k1{suffix}");
            std::fs::write(folder.path().join("tb.v"), testbench(&top)).expect("written");
            let iverilog = std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into());
            let mut build = Command::new(iverilog);
            build.current_dir(folder.path()).args(["-g2005", "-o", "tb", "-f", &format!("{top}.f"), "tb.v"]);
            output(&mut build);
            assert_eq!(
                output(Command::new("vvp").arg(folder.path().join("tb"))),
                expected,
                "{window}, {kind}"
            );
        }
    }
}

#[test]
fn the_generated_testbench_notices_what_is_wrong() {
    for (right, wrong, what) in [
        (".host_up_valid_0_i(host_up_valid_i[0:0])", ".host_up_valid_0_i(1'b0)", "dispatched too early"),
        (".host_warps_i(host_warps_i)", ".host_warps_i(7'd1)", "no room on SM"),
        (".host_type_i(host_type_i)", ".host_type_i(~host_type_i)", "a CTA of another type"),
        (".host_part_i(host_part_i)", ".host_part_i(3'd7)", "a CTA outside its partition"),
        (".host_grid_i(host_grid_i)", ".host_grid_i(host_grid_i + 1)", "a CTA out of order"),
        (".done_slot_0_i(done_slot_i[1:0])", ".done_slot_0_i(done_slot_i[1:0] ^ 2'd1)", "done_err_o"),
        (".cta_sm_0_o(cta_sm_o[7:0])", ".cta_sm_0_o(cta_sm_o[15:8])", "X in a CTA on port 0"),
        (".cta_ready_0_i(cta_ready_i[0:0])", ".cta_ready_0_i(1'b1)", "a CTA that waited changed"),
        (".count_o(count_o)", ".count_o()", "counter of retired kernels"),
    ] {
        let generated = Generated::new(
            "--slots 4 --lanes 2 --sms 5 --places 2 --sm-ctas 2 --sm-warps 4 --sm-registers 4 --sm-smem 4",
        );
        generated.replace(right, wrong);
        let said = generated.run("-g2005", 100);
        assert!(said.contains(what) && said.contains("FAILED: "), "{wrong}: {said}");
    }
}

/// Who reads both finds the same cycle: here that of a kernel that does not wait, for a fault in the window.
#[test]
fn testbench_and_checker_count_the_same_cycles() {
    let generated = Generated::new("--slots 4 --sms 5 --sm-ctas 2 --sm-warps 4 --sm-registers 4 --sm-smem 4");
    break_in(generated.folder.path(), "window_matrix", " : ins_up_moves_places_o;", " : 4'h0;");
    let said = generated.run("-g2012", 100);
    let cycle = |before: &str| -> Option<u32> {
        let (_, rest) = said.split_once(before)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let checker = cycle("waits_for_upstream in cycle ");
    assert!(checker.is_some() && checker == cycle("ERROR in cycle "), "{said}");
}

/// Puts a fault into a generated module; what the file said before.
fn break_in(folder: &Path, module: &str, right: &str, wrong: &str) -> (PathBuf, String) {
    let is_it = |name: &str| name.starts_with(module) && name.ends_with(".v");
    let files = std::fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path());
    let file = files
        .filter(|path| path.file_name().is_some_and(|name| is_it(&name.to_string_lossy())))
        .min()
        .unwrap_or_else(|| panic!("no {module}"));
    let text = std::fs::read_to_string(&file).expect("written");
    assert!(text.contains(right), "`{right}` is not in {module}: this test no longer breaks anything");
    std::fs::write(&file, text.replace(right, wrong)).expect("written");
    (file, text)
}

#[test]
fn the_generated_testbench_says_what_the_page_shows() {
    let page = read("docs/integration.md");
    let (_, rest) = page.split_once("windlass gen --testbench ").expect("a command");
    let (arguments, rest) = rest.split_once(" --out build/rtl\ntop=").expect("a folder");
    let generated = Generated::new(arguments);
    assert!(rest.starts_with(&generated.top), "{}", generated.top);
    let said = generated.run("-g2005", 100);
    assert!(
        said.starts_with("PASSED") && page.contains(&said),
        "the page shows something else; now:\n{said}"
    );
}

/// A module with the design's ports that packs its channels into streams, by what `TOP.json` says of them, for the module that has the streams.
fn around_streams(top: &str, data: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let (mut inside, mut connections) = (String::new(), Vec::new());
    let mut in_a_stream = std::collections::BTreeSet::new();
    for stream in list(&data["axis"]["streams"]) {
        let (name, receives) = (text(&stream["name"]), text(&stream["name"]).starts_with("s_"));
        for (key, signal) in [("valid", "tvalid"), ("ready", "tready"), ("last", "tlast")] {
            if let Some(port) = stream[key].as_str() {
                connections.push(format!(".{name}_{signal}({port})"));
                in_a_stream.insert(port.to_string());
            }
        }
        let bits = stream["bits"].as_u64().expect("bits");
        if bits > 0 {
            // What is in no field is unknown to the module that receives it.
            inside += &format!("  wire [{}:0] {name};\n", bits - 1);
            connections.push(format!(".{name}_tdata({name})"));
        }
        for field in list(&stream["fields"]) {
            let (port, place) =
                (text(&field["port"]), format!("{name}[{} +: {}]", field["offset"], field["width"]));
            inside += &if receives {
                format!("  assign {place} = {port};\n")
            } else {
                format!("  assign {port} = {place};\n")
            };
            in_a_stream.insert(port);
        }
    }
    let mut header = Vec::new();
    for port in list(&data["ports"]) {
        let (name, direction) = (text(&port["name"]), text(&port["direction"]));
        header.push(format!("{direction} wire [{}:0] {name}", port["width"].as_u64().expect("a width") - 1));
        if !in_a_stream.contains(&name) {
            let outer = match name.as_str() {
                "clk_i" => "aclk",
                "rst_ni" => "aresetn",
                other => other,
            };
            connections.push(format!(".{outer}({name})"));
        }
    }
    let axis = text(&data["axis"]["top"]);
    format!(
        "module {top} ({});\n{inside}  {axis} u_axis ({});\nendmodule\n",
        header.join(", "),
        connections.join(", ")
    )
}

/// The generated testbench drives the design through its streams, and says what it says without; every bit of every stream is where the
/// metadata has it.
#[test]
fn streams_carry_what_the_channels_carry() {
    for arguments in [
        "--slots 8 --window list --places 2 --sms 12 --sm-ctas 4 --axis",
        "--slots 8 --sms 8 --encoding mask --scheduled 32 --arbiter single --axis --prefix acme_",
        "--slots 4 --sms 5 --reset async --lanes 3 --axis",
    ] {
        let generated = Generated::new(arguments);
        let Generated { folder, top } = &generated;
        let said = generated.run("-g2005", 60);
        assert!(said.starts_with("PASSED"), "{top}: {said}");
        let file = |name: &str| folder.path().join(name);
        let read = |name: &str| std::fs::read_to_string(file(name)).expect("written");
        let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
        output(
            Command::new(verilator)
                .current_dir(folder.path())
                .args(["--lint-only", "-Wall", "--top-module", &format!("{top}_axis")])
                .args(["-f", &format!("{top}_axis.f")]),
        );
        // The design is inside, under another name, and what has its name is around its streams.
        let data = serde_json::from_str(&read(&format!("{top}.json"))).expect("JSON");
        let (design, axis) = (format!("{top}.v"), format!("{top}_axis.v"));
        let inner = read(&design).replace(&format!("module {top} ("), &format!("module {top}_inner ("));
        let inside = format!("  {top} u_top (");
        let wrapped = read(&axis);
        assert!(inner.contains("_inner (") && wrapped.contains(&inside), "{top}");
        std::fs::write(file(&design), inner).expect("written");
        let wrapped = wrapped.replace(&inside, &format!("  {top}_inner u_top ("));
        let list = read(&format!("{top}_axis.f")) + "around.v\n";
        std::fs::write(file(&format!("{top}.f")), list).expect("written");
        std::fs::write(file("around.v"), around_streams(top, &data)).expect("written");
        std::fs::write(file(&axis), &wrapped).expect("written");
        assert_eq!(generated.run("-g2005", 60), said, "{top}");
        // One field somewhere else is noticed.
        let wrong = wrapped.replace("(s_axis_done_0_tdata[7:0])", "(s_axis_done_1_tdata[7:0])");
        assert_ne!(wrong, wrapped, "{top}");
        std::fs::write(file(&axis), wrong).expect("written");
        assert!(!generated.run("-g2005", 60).starts_with("PASSED"), "{top}");
    }
}

#[test]
fn two_designs_that_share_modules_are_read_together() {
    let folder = tempfile::tempdir().expect("a folder");
    for arbiter in [&["--arbiter", "single"][..], &["--arbiter", "typed", "--active", "1"]] {
        let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
        let design = DESIGN.replace("--active 1 ", "");
        let gen_command = gen_command.args(["gen", "--checker"]).args(design.split(' '));
        output(gen_command.args(arbiter).arg("--out").arg(folder.path()));
    }
    let tops = [TOP.to_string(), TOP.replace("typed", "single")];
    let lists = tops.each_ref().map(|top| format!("{top}.f"));
    let read = |list: &String| std::fs::read_to_string(folder.path().join(list)).expect("a list");
    let [one, other] = lists.each_ref().map(read);
    assert!(one.lines().any(|file| other.lines().any(|same| file == same)), "they share nothing");
    let iverilog = std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into());
    let here = |program: String| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        command
    };
    let with_checkers = tops.each_ref().map(|top| format!("{top}_sim.f"));
    let with_checkers = ["-f", &with_checkers[0], "-f", &with_checkers[1]];
    output(here(iverilog.clone()).args(["-g2012", "-o", "both"]).args(with_checkers));
    let lists = ["-f", &lists[0], "-f", &lists[1]];
    output(here(iverilog).args(["-g2005", "-o", "both"]).args(lists));
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    for top in &tops {
        output(here(verilator.clone()).args(["--lint-only", "-Wall", "--top-module", top]).args(lists));
    }
}

/// What docs/integration.md says of ready and payload: unknown payload without `valid` reaches these outputs alone.
#[test]
fn ready_depends_on_payload_where_the_page_says_so() {
    let right = read("docs/integration/tb.v");
    let watch = |outputs: &str| {
        right.replace("  integer cycle = 0;\n", &format!("  always @(negedge clk) if (rst_n && ^{{{outputs}}} === 1'bx) $display(\"UNKNOWN\");\n  integer cycle = 0;\n"))
    };
    let unknown = |text: String, port: &str, value: &str, valid: &str| {
        let wrong = text.replace(&format!(".{port}({value})"), &format!(".{port}({valid} ? {value} : 'bx)"));
        assert_ne!(text, wrong);
        simulated(&wrong)
    };
    let all = "host_ready, done_ready, cta_valid, disp_valid, ret_valid, host_err, done_err";
    assert!(!simulated(&watch(all)).contains("UNKNOWN"));
    for (port, value, valid, reached, rest) in [
        (
            "host_id_i",
            "host_id",
            "host_valid",
            "host_ready",
            "done_ready, cta_valid, disp_valid, ret_valid, host_err, done_err",
        ),
        ("host_grid_i", "host_grid", "host_valid", "", all),
        (
            "done_sm_1_i",
            "8'd1",
            "done_valid[1]",
            "done_ready",
            "host_ready, cta_valid, disp_valid, ret_valid, host_err, done_err",
        ),
    ] {
        let said = |outputs: &str| unknown(watch(outputs), port, value, valid).contains("UNKNOWN");
        assert!((reached.is_empty() || said(reached)) && !said(rest), "{port}");
    }
}

/// What yosys-smtbmc says of the design of the page's commands beside `chip`, with one side cut out and assumed.
fn formal(folder: &Path, chip: &str, side: &str, assumed: &str, arguments: &[&str]) -> String {
    std::fs::write(folder.join("formal.sv"), chip).expect("written");
    let page = read("docs/integration.md");
    let (_, script) = page.split_once("yosys -q -p \"\n").expect("a script");
    let (script, _) = script.split_once('"').expect("its end");
    let list = std::fs::read_to_string(folder.join(format!("{TOP}_formal.f"))).expect("written");
    let script = script
        .replace("$(tr '\\n' ' ' < ${top}_formal.f) $chip", &(list.replace('\n', " ") + "formal.sv"))
        .replace("${top}", TOP)
        .replace("$top", TOP)
        .replace("u_front_end", side)
        .replace("ASSUME_FRONT_END", assumed);
    assert!(!script.contains('$'), "{script}");
    let (yosys, _) = tools::locate(Tool::Yosys).unwrap_or_else(|e| panic!("{e}"));
    output(Command::new(yosys).current_dir(folder).args(["-q", "-p", &script]));
    smtbmc(folder, "chip.smt2", arguments)
}

fn with_formal() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
    output(gen_command.args(["gen", "--formal"]).args(DESIGN.split(' ')).arg("--out").arg(folder.path()));
    let words = |text: &str| text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let page = words(&read("docs/integration.md"));
    assert!(page.contains(&format!("windlass gen --formal {DESIGN} --out build/rtl top={TOP}")));
    folder
}

/// The command processor of docs/integration/formal.sv keeps its rules beside any front end that keeps its own; faults in it break them.
#[test]
fn a_command_processor_is_checked_against_the_rules_of_the_front_end() {
    let folder = with_formal();
    let chip = read("docs/integration/formal.sv");
    let run = |chip: &str, arguments: &[&str]| {
        formal(folder.path(), chip, "u_front_end", "ASSUME_FRONT_END", arguments)
    };
    let said = run(&chip, &["-t", "12"]);
    assert!(said.contains("Status: PASSED"), "{said}");
    // What is assumed lets a kernel wait, end, and free another.
    let said = run(&chip, &["-c", "-t", "12"]);
    assert!(said.contains("Reached cover statement at a_kernel_is_freed"), "{said}");
    let page = read("docs/integration.md");
    for (right, wrong, rule) in [
        ("if (!host_valid | host_ready)", "if (1)", "host_holds_a_beat"),
        ("if (taken) host_id", "if (host_valid) host_id", "host_holds_a_beat"),
        ("host_id + 8'd1;", "host_id + 8'd2;", "host_ids_count_up"),
        ("{8'd0, host_id - 8'd1}", "{8'd0, host_id}", "host_names_the_last"),
        ("warps_i > 4 ?", "warps_i > 5 ?", "host_kernel_fits"),
    ] {
        assert_eq!(chip.matches(right).count(), 1, "{right}");
        let said = run(&chip.replace(right, wrong), &["-t", "8"]);
        let line = format!("Assert failed in chip: u_formal.u_rules.{rule}.asserted");
        assert!(said.contains(&line), "{wrong}: {said}");
        assert!(rule != "host_holds_a_beat" || page.contains(&line), "{line}");
    }
}

/// The front end keeps its rules beside any host and SMs that keep theirs; faults in it break them.
#[test]
fn a_front_end_is_checked_against_the_rules_of_host_and_sms() {
    let folder = with_formal();
    let chip = read("docs/integration/formal.sv");
    let run = |cycles: &str| formal(folder.path(), &chip, "u_host", "ASSUME_HOST", &["-t", cycles]);
    let said = run("6");
    assert!(said.contains("Status: PASSED"), "{said}");
    for (module, right, wrong, rule) in [
        ("window_matrix", " : ins_up_moves_places_o;", " : 4'h0;", "waits_for_upstream"),
        ("upstream_load", "ins_id_o = host_id_i;", "ins_id_o = host_id_i + 8'h1;", "kernel_was_sent"),
        (TOP, ".ins_type_i(host_type_i)", ".ins_type_i(~host_type_i)", "cta_is_of_its_kernel"),
        (TOP, ".ins_warps_i(host_warps_i)", ".ins_warps_i(7'h1)", "cta_fits"),
    ] {
        let (file, text) = break_in(folder.path(), module, right, wrong);
        let said = run("9");
        std::fs::write(&file, text).expect("written");
        assert!(said.contains(&format!("Assert failed in chip: u_formal.u_rules.{rule}.asserted")), "{said}");
    }
}

#[test]
fn clocks_of_the_page_are_those_of_the_report() {
    let report = read("docs/measurements/report-nangate45.md");
    let mhz = |class: &str| {
        // The first design is the one of the page.
        let row = report.lines().find(|line| line.starts_with(&format!("| {class} ")));
        let cells: Vec<&str> = row.unwrap_or_default().split('|').map(str::trim).collect();
        let mhz: f64 = cells[5].parse().unwrap_or_else(|e| panic!("{class}: {cells:?}: {e}"));
        mhz.round()
    };
    let page = read("docs/integration.md");
    for (row, class) in [
        ("register to register | -", "register to register"),
        ("register to output | 25 %", "register to output"),
        ("input to output | 25 % and 10 %", "input to output"),
        ("input to register, the reset | 50 %", "input to register"),
    ] {
        let line = format!("| {row} | {} |", mhz(class));
        assert!(page.contains(&line), "the report says {line}");
    }
    let inside = format!("{} MHz register to register", mhz("register to register"));
    assert!(read("README.md").contains(&inside), "the report says {inside}");
}

#[test]
fn the_trace_of_the_page_is_one() {
    let page = read("docs/ktrace.md");
    let (_, rest) = page.split_once("```json\n").expect("an example");
    let (trace, _) = rest.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.ktrace.jsonl");
    std::fs::write(&file, trace).expect("written");
    let said = output(Command::new(env!("CARGO_BIN_EXE_windlass")).arg("trace").arg(&file).arg("--json"));
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let trace = &said["traces"][0];
    assert_eq!((&trace["kernels"], &trace["graph"]["edges"]), (&2.into(), &1.into()), "{said}");
}

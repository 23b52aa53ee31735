//! What the documentation shows runs: the testbench of docs/integration.md, which is generated RTL in a plain Verilog design under Icarus Verilog (no other
//! test simulates with it), and the trace of docs/ktrace.md.

use std::path::Path;
use std::process::Command;

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
    output(Command::new("vvp").arg(path("tb")))
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
    let all = "host_ready, done_ready, cta_valid, disp_valid, ret_valid, done_err";
    assert!(!simulated(&watch(all)).contains("UNKNOWN"));
    for (port, value, valid, reached, rest) in [
        (
            "host_id_i",
            "host_id",
            "host_valid",
            "host_ready",
            "done_ready, cta_valid, disp_valid, ret_valid, done_err",
        ),
        ("host_grid_i", "host_grid", "host_valid", "", all),
        (
            "done_sm_1_i",
            "8'd1",
            "done_valid[1]",
            "done_ready",
            "host_ready, cta_valid, disp_valid, ret_valid, done_err",
        ),
    ] {
        let said = |outputs: &str| unknown(watch(outputs), port, value, valid).contains("UNKNOWN");
        assert!((reached.is_empty() || said(reached)) && !said(rest), "{port}");
    }
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

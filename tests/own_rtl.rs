//! RTL of one's own in place of what is generated, from the command line: it is held against the golden model, proved, covered,
//! co-simulated and reported; what is wrong with it is noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn windlass(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(args).output().unwrap_or_else(|e| panic!("{e}"))
}

/// What it prints, where it ends with this status: stdout and stderr.
fn ends(status: i32, args: &[&str]) -> (String, String) {
    let Output { status: ended, stdout, stderr } = windlass(args);
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(ended.code(), Some(status), "{args:?}: {stdout}{stderr}");
    (stdout, stderr)
}

/// A folder of `windlass gen`, and what its files are called after.
fn generated(args: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let out = ["--out", path(folder.path())];
    let (stdout, _) = ends(0, &[&["gen"], args, &out].concat());
    let top = stdout.split(' ').next().unwrap_or_default().to_string();
    (folder, top)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Replaces `old` in the file, where it must stand once.
fn edit(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert_eq!(text.matches(old).count(), 1, "`{old}` in {}", file.display());
    fs::write(file, text.replace(old, new)).unwrap_or_else(|e| panic!("{e}"));
}

/// A round robin of four that somebody has written, in the words of his own.
const ROUND_ROBIN: &str = "
module turns (
  input  logic       clk_i, rst_ni,
  input  logic [3:0] req_i,
  input  logic       ack_i,
  output logic [3:0] gnt_o
);
  logic [3:0] behind_q;
  wire  [3:0] behind = req_i & behind_q;
  assign gnt_o = |behind ? behind & -behind : req_i & -req_i;
  always_ff @(posedge clk_i)
    if (!rst_ni) behind_q <= 4'hf;
    else if (ack_i && |req_i) behind_q <= ~(gnt_o | (gnt_o - 4'd1));
endmodule
";

const OF_FOUR: [&str; 4] = ["--block", "round_robin", "--slots", "4"];

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = folder.path().join("turns.sv");
    fs::write(&file, text).unwrap_or_else(|e| panic!("{e}"));
    (folder, file)
}

#[test]
fn a_round_robin_from_elsewhere_is_held_against_the_golden_model_and_proved() {
    let (_folder, file) = written(ROUND_ROBIN);
    let rtl = [&["--rtl", path(&file)][..], &OF_FOUR].concat();
    let (same, _) = ends(0, &[&["lockstep", "--cycles", "5000"][..], &rtl].concat());
    assert!(same.starts_with("turns: no difference from the golden model of round_robin in 5"), "{same}");
    // The lemmas are about registers of the generated one.
    let (proved, _) = ends(0, &[&["prove", "--depth", "6"][..], &rtl].concat());
    let missing =
        "no induction, because its lemmas are about registers that this Verilog does not have: last_q";
    assert!(proved.contains("4 properties hold for some cycles") && proved.contains(missing), "{proved}");
    assert!(proved.contains("holds for 6 cycles"), "{proved}");
    let (covered, _) = ends(0, &[&["cover", "--cycles", "1000"][..], &rtl].concat());
    assert!(covered.starts_with("turns: ") && covered.contains("(4 of 4)"), "{covered}");

    // One that begins at the first request again, whenever nothing is left behind the last: and one that never moves on.
    let (_folder, file) = written(&ROUND_ROBIN.replace("ack_i && |req_i", "1'b0"));
    let rtl = [&["--rtl", path(&file)][..], &OF_FOUR].concat();
    let (_, wrong) = ends(1, &[&["lockstep"][..], &rtl].concat());
    assert!(wrong.contains("wrong: turns: cycle ") && wrong.contains("`gnt_o` differs"), "{wrong}");
    // The command that it names shows the same cycle, and writes the waveform.
    let replay = wrong.lines().find_map(|line| line.strip_prefix("replay: windlass ")).expect("a replay");
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let wave = folder.path().join("failure.vcd");
    let replay = replay.replace("failure.vcd", path(&wave));
    let (_, again) = ends(1, &replay.split(' ').collect::<Vec<_>>());
    assert_eq!(again.lines().next(), wrong.lines().next());
    assert!(fs::read_to_string(&wave).is_ok_and(|text| text.contains("behind_q")));
    let (fails, _) = ends(1, &[&["prove", "--covers", "0"][..], &rtl].concat());
    assert!(fails.contains("nobody_twice") && fails.contains("FAILS"), "{fails}");
    // Two faults, of which one shows sooner: both are told, each with its cycles, and what holds is known for all cycles that were asked.
    let two = ROUND_ROBIN
        .replace("ack_i && |req_i", "1'b0")
        .replace("gnt_o = |behind", "gnt_o = &req_i ? 4'h3 : |behind");
    let (_folder, file) = written(&two);
    let (fails, _) = ends(1, &[&["prove", "--covers", "0", "--rtl", path(&file)][..], &OF_FOUR].concat());
    let verdict =
        |name: &str| fails.lines().find(|line| line.trim_start().starts_with(name)).expect("it is asked");
    assert!(
        ["grants_one_request", "nobody_twice"].iter().all(|name| verdict(name).contains("FAILS")),
        "{fails}"
    );
    assert!(fails.starts_with("turns: 1 property holds for some cycles; 3 fail; "), "{fails}");
    assert!(verdict("grants_if_asked").contains("holds for 8 cycles"), "{fails}");
}

#[test]
fn a_folder_that_was_changed_says_itself_which_block_it_is() {
    let (folder, top) = generated(&["--block", "window_matrix", "--slots", "4", "--retire-ports", "1"]);
    let rtl = ["--rtl", path(folder.path())];
    let (same, _) = ends(0, &[&["lockstep", "--cycles", "2000"][..], &rtl].concat());
    assert!(same.starts_with(&format!("{top}: no difference")), "{same}");
    // Its registers are those that the lemmas are about: it is proved for all time.
    let (proved, _) = ends(0, &[&["prove", "--covers", "0"][..], &rtl].concat());
    assert!(proved.contains("hold for all time (induction over 1 cycle"), "{proved}");

    // What could be a mistake: of the kernels that may go, the newest goes first.
    let file = folder.path().join(format!("{top}.v"));
    edit(&file, "  assign first = may & ~((from << 1) & 4'he);", "  assign first = may & (~may + 4'h1);");
    let (_, text) = ends(0, &[&["lockstep", "--cycles", "3000"][..], &rtl].concat());
    assert_eq!(text, "", "the same in other words");
    edit(&file, "may & (~may + 4'h1)", "may & ~(may >> 1) & ~(may >> 2) & ~(may >> 3)");
    let (stdout, wrong) = ends(1, &[&["lockstep", "--json"][..], &rtl].concat());
    assert!(wrong.contains("`disp_id_o` differs") || wrong.contains("`disp_slot_o` differs"), "{wrong}");
    let object: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((&object["format_version"], &object["top"]), (&1.into(), &top.as_str().into()));
    assert!(
        object["wrong"].as_str().is_some_and(|text| text.contains("differs")) && object["cycles"].is_null()
    );
    let (fails, _) = ends(1, &[&["prove", "--covers", "0"][..], &rtl].concat());
    assert!(fails.contains("oldest_first") && fails.contains("FAILS"), "{fails}");
}

#[test]
fn a_front_end_that_was_changed_is_co_simulated() {
    let profile = include_str!("../cosim/profiles/rtx3070.toml").replace("\nsms = 46 ", "\nsms = 8 ");
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let gpu = folder.path().join("small.toml");
    fs::write(&gpu, profile).unwrap_or_else(|e| panic!("{e}"));
    let gpu = ["--gpu", path(&gpu)];
    let front_end = ["--slots", "4", "--arbiter", "single"];
    let (own, top) = generated(&[&front_end[..], &gpu].concat());
    let rtl = ["--rtl", path(own.path())];
    // More kernels than slots, which wait for none, each with more CTAs than go at once: they wait in the table of kernels.
    let trace = folder.path().join("small.ktrace.jsonl");
    let mut text = String::from(
        r#"{"e":"trace","ktrace":1,"name":"small","source":"","producer":"","gpu":{"name":"assumed"},"params":{},"kernels":12,"notes":""}"#,
    );
    for i in 0..12 {
        let (read, write) = (4096 * (i + 100), 4096 * (i + 1));
        text += &format!(
            "\n{{\"e\":\"k\",\"i\":{i},\"name\":\"k\",\"op\":\"\",\"type\":\"SIMT\",\"grid\":[250,1,1],\"block\":[128,1,1],\"smem\":0,\"flops\":4000000,\"r\":[[{read},64]],\"w\":[[{write},64]]}}"
        );
    }
    fs::write(&trace, text).unwrap_or_else(|e| panic!("{e}"));
    let cosim = ["cosim", path(&trace), "--policy", "window", "--json"];
    let runs = |args: &[&str]| -> serde_json::Value {
        let (stdout, _) = ends(0, &[&cosim[..], &gpu, args].concat());
        serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}"))
    };
    let (same, generated) = (runs(&[&rtl[..], &["--jump"]].concat()), runs(&front_end));
    assert_eq!(same["runs"][0]["policies"], generated["runs"][0]["policies"]);
    let engine = same["runs"][0]["scheduler"]["engine"].as_str().unwrap_or_default().to_string();
    assert!(engine.starts_with(&format!("RTL of {}", own.path().display())), "{engine}");

    // The table of kernels gives the lowest slot its CTAs first, instead of the oldest kernel: another design, and no wrong one.
    let order = own.path().join("oldest_first_n4.v");
    let text = fs::read_to_string(&order).unwrap_or_else(|e| panic!("{e}"));
    let (before, rest) = text.split_once("  assign gnt = {").expect("the grant");
    let (_, after) = rest.split_once(';').expect("its end");
    fs::write(&order, format!("{before}  assign gnt = req_i & (~req_i + 4'h1);{after}"))
        .unwrap_or_else(|e| panic!("{e}"));
    let every = runs(&rtl);
    let window =
        every["runs"][0]["policies"].as_array().and_then(|all| all.last()).map(|p| p["window"].clone());
    assert_eq!(
        window.map(|w| w["skipped_cycles"].clone()),
        Some(0.into()),
        "nothing is known of its state while nothing moves"
    );
    // Beside the one that is generated.
    let out = folder.path().join("explored");
    let explore = ["explore", "--window", "matrix", "--no-area", "--json"];
    let places = ["--workloads", path(&trace), "--out", path(&out)];
    let (stdout, _) = ends(0, &[&explore[..], &places, &front_end, &gpu, &rtl].concat());
    let explored: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}"));
    let name = own.path().file_name().expect("a name").to_string_lossy();
    let points = explored["points"].as_array().expect("an array");
    assert_eq!(points.iter().map(|p| p["rtl"].as_str()).collect::<Vec<_>>(), [None, Some(&*name)]);
    for (point, alone) in points.iter().zip([&generated, &every]) {
        let window = alone["runs"][0]["policies"].as_array().and_then(|all| all.last()).expect("a policy");
        assert_eq!(point["runs"][0]["window_cycles"], window["cycles"]);
    }
    let taken = folder.path().join("generated");
    ends(0, &[&["gen", "--out", path(&taken)], &front_end[..], &gpu].concat());
    let (_, name_taken) = ends(2, &[&explore[..], &places, &gpu, &["--rtl", path(&taken)]].concat());
    assert!(name_taken.contains("generated: tables call designs so that are not yours"), "{name_taken}");
    let table = fs::read_to_string(out.join("points.csv")).unwrap_or_else(|e| panic!("{e}"));
    let rtl_of = |line: &str| line.split(',').nth(5).map(String::from);
    assert_eq!(table.lines().filter_map(rtl_of).collect::<Vec<_>>(), ["rtl", "generated", &*name]);
    let (_, both) = ends(1, &[&cosim[..], &gpu, &rtl, &["--dispatcher", "both"]].concat());
    assert!(both.contains(&format!("wrong: {}", path(&trace))) && both.contains("differs"), "{both}");
    assert!(both.contains("--seed 0 --wave failure.vcd") && !both.contains("--arbiter"), "{both}");

    // By the books of its bench it is right, too; and one whose CTA channels go on where a CTA was refused is not.
    let alone = [&["lockstep", "--alone", "--cycles", "20000"][..], &rtl].concat();
    let (said, _) = ends(0, &alone);
    assert!(said.contains("alone under the bench of front_end, its books balance in 2"), "{said}");
    let channel =
        fs::read_dir(own.path()).unwrap_or_else(|e| panic!("{e}")).flatten().map(|file| file.path());
    let is_channel = |file: &PathBuf| path(file).contains("/cta_channel_") && path(file).ends_with(".v");
    let channel = channel.into_iter().find(is_channel).expect("a channel");
    edit(&channel, "if (stalls) begin\n      moves = 4'h0;", "if (stalls) begin\n      moves = goes;");
    let (_, books) = ends(1, &alone);
    assert!(
        books.contains("wrong: ") && books.contains("CTA") && books.contains("lockstep --alone --rtl"),
        "{books}"
    );
    edit(&channel, "if (stalls) begin\n      moves = goes;", "if (stalls) begin\n      moves = 4'h0;");

    // One that dispatches nothing more after some kernels is noticed by the run itself.
    fs::write(&order, format!("{before}  assign gnt = 4'h0;{after}")).unwrap_or_else(|e| panic!("{e}"));
    let (_, wrong) = ends(1, &[&cosim[..], &gpu, &rtl].concat());
    assert!(wrong.contains(&format!("wrong: {}", path(&trace))), "{wrong}");

    // Another GPU's SMs.
    let (_, sms) = ends(2, &[&cosim[..], &rtl, &["--gpu", "rtx3070"]].concat());
    assert!(sms.contains("it has 8 SMs of 16 CTAs") && sms.contains("and rtx3070 has 46 SMs"), "{sms}");
    let (_, twice) = ends(2, &[&cosim[..], &gpu, &rtl, &["--slots", "8", "--pipelined"]].concat());
    assert!(
        twice.contains("says itself which block it is") && twice.contains("leave out --slots, --pipelined"),
        "{twice}"
    );
    let (_, model) = ends(2, &[&cosim[..], &gpu, &rtl, &["--dispatcher", "behavioural"]].concat());
    assert!(model.contains("the golden model has no Verilog"), "{model}");
    // Files that do not say what they are: the options do.
    let list = own.path().join(format!("{top}.f"));
    fs::remove_file(list.with_extension("json")).unwrap_or_else(|e| panic!("{e}"));
    fs::write(&order, text).unwrap_or_else(|e| panic!("{e}"));
    let again = runs(&[&["--rtl", path(&list), "--jump"][..], &front_end].concat());
    assert_eq!(again["runs"][0]["policies"], generated["runs"][0]["policies"]);
    let (_, arbiters) = ends(2, &[&cosim[..], &gpu, &["--rtl", path(&list), "--slots", "4"]].concat());
    assert!(arbiters.contains("choose --arbiter single or --arbiter typed"), "{arbiters}");
}

#[test]
fn its_mutants_are_tried_under_the_bench_of_the_block() {
    let tried = |args: &[&str]| -> serde_json::Value {
        let options = ["mutate", "--mutants", "40", "--prove", "20", "--json"];
        let (stdout, _) = ends(0, &[&options, args].concat());
        serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}"))
    };
    let (_folder, file) = written(ROUND_ROBIN);
    let own = tried(&[&["--rtl", path(&file)][..], &OF_FOUR].concat());
    assert_eq!((&own["top"], &own["survived"]), (&"turns".into(), &0.into()));
    assert!(own["caught"].as_u64() > Some(20), "{own}");
    // A folder as it was written has the same mutants, and the same becomes of them.
    let (folder, top) = generated(&["--block", "oldest_first", "--slots", "4"]);
    let same = tried(&["--rtl", path(folder.path())]);
    let emitted = tried(&["--block", "oldest_first", "--slots", "4"]);
    let outcomes = |report: &serde_json::Value| -> Vec<[String; 3]> {
        let mutants = report["mutants"].as_array().expect("mutants");
        mutants.iter().map(|m| ["id", "mode", "outcome"].map(|field| m[field].to_string())).collect()
    };
    assert_eq!(outcomes(&same).len(), 40);
    assert_eq!(outcomes(&same), outcomes(&emitted));
    // Where the design itself fails, mutants say nothing.
    edit(&folder.path().join(format!("{top}.v")), "  assign gnt = {", "  assign gnt = ~{");
    let (_, wrong) = ends(2, &["mutate", "--rtl", path(folder.path())]);
    assert!(wrong.contains(&format!("`{top}` fails under its bench without any fault")), "{wrong}");
    let (folder, _) = generated(&["--block", "round_robin", "--slots", "4", "--reset", "async"]);
    let (_, reset) = ends(2, &["mutate", "--rtl", path(folder.path())]);
    assert!(reset.contains("has an asynchronous reset"), "{reset}");
}

#[test]
fn a_scheduler_that_was_changed_decides_the_order_of_real_kernels() {
    let (folder, _) = generated(&["--block", "kernel_scheduler", "--slots", "4"]);
    let rtl = ["--rtl", path(folder.path())];
    let run = ["run", "mix-pipeline", "--policy", "window", "--no-work", "--verify", "--scale", "64"];
    let (right, _) = ends(0, &[&run[..], &rtl].concat());
    assert!(right.contains(&format!("window: RTL of {}", path(folder.path()))), "{right}");
    assert!(right.contains("matrix window, 4 slots"), "{right}");
    ends(0, &[&run[..], &rtl, &["--dispatcher", "both"]].concat());
    // Kernels wait for nothing: one that is too early is named, and the golden model differs.
    let window = folder.path().join("window_matrix_n4_r2.v");
    let text = fs::read_to_string(&window).unwrap_or_else(|e| panic!("{e}"));
    let (before, rest) = text.split_once("  assign empty = {").expect("what waits for none");
    let (_, after) = rest.split_once("};").expect("its end");
    fs::write(&window, format!("{before}  assign empty = 4'hf;{after}")).unwrap_or_else(|e| panic!("{e}"));
    // With their work, so that none ends at once.
    let (_, wrong) = ends(1, &[&["run", "mix-pipeline", "--policy", "window"], &rtl[..]].concat());
    let early = "wrong: mix-pipeline, window: the scheduler that decides: it starts kernel ";
    assert!(wrong.contains(early) && wrong.contains("which that one waits for, has ended"), "{wrong}");
    let (_, both) = ends(1, &[&run[..], &rtl, &["--dispatcher", "both"]].concat());
    assert!(both.contains("wrong: mix-pipeline, window: the scheduler that decides: cycle "), "{both}");
    assert!(both.contains("differs"), "{both}");
    // It offers nothing more.
    fs::write(&window, format!("{before}  assign empty = 4'h0;{after}")).unwrap_or_else(|e| panic!("{e}"));
    let (_, stuck) = ends(1, &[&run[..], &rtl].concat());
    assert!(stuck.contains("offers nothing although nothing runs: 48 kernels are left"), "{stuck}");

    for (policy, args, says) in [
        ("window", &["--slots", "8"][..], "says itself which block it is"),
        ("window", &["--dispatcher", "behavioural"], "the golden model has no Verilog"),
        ("window", &["--dispatcher", "software"], "--rtl belongs to a scheduler in hardware"),
        ("streams", &[], "--rtl"),
    ] {
        let (_, refused) = ends(2, &[&["run", "mix-pipeline", "--policy", policy], &rtl[..], args].concat());
        assert!(refused.contains(says), "{refused}");
    }
    let (folder, _) = generated(&["--block", "oldest_first", "--slots", "4"]);
    let (_, other) = ends(2, &[&run[..], &["--rtl", path(folder.path())]].concat());
    assert!(
        other.contains("its block is oldest_first, and the policy `window` needs a kernel_scheduler"),
        "{other}"
    );
}

#[test]
fn folders_are_reported_side_by_side() {
    let (first, _) = generated(&["--block", "round_robin", "--slots", "4"]);
    let (second, top) = generated(&["--block", "round_robin", "--slots", "4"]);
    // Without its registers it takes less.
    let file = second.path().join(format!("{top}.v"));
    let ports = "input clk_i, input rst_ni, input [3:0] req_i, input ack_i, output [3:0] gnt_o";
    let text = format!("module {top} ({ports});\n  assign gnt_o = req_i & (~req_i + 4'h1);\nendmodule\n");
    fs::write(&file, text).unwrap_or_else(|e| panic!("{e}"));
    let both = format!("{},{}", path(first.path()), path(second.path()));
    let (stdout, _) = ends(0, &["report", "--rtl", &both, "--flow", "area", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}"));
    let names =
        [&first, &second].map(|f| f.path().file_name().expect("a name").to_string_lossy().into_owned());
    let design = |i: usize| &report["designs"][i];
    assert_eq!([0, 1].map(|i| design(i)["name"].as_str().expect("a name").to_string()), names);
    let area = |i: usize| design(i)["area"]["modules"][0]["total"]["area_um2"].as_f64().expect("an area");
    assert!(area(1) < 0.5 * area(0), "{} {}", area(1), area(0));
    assert!(design(1)["parameters"].to_string().contains("RTL of"), "{}", design(1)["parameters"]);

    let (_, gpu) = ends(2, &["report", "--rtl", path(first.path()), "--flow", "area", "--gpu", "rtx3070"]);
    assert!(gpu.contains("none of these designs is a front_end"), "{gpu}");
    let (_, explored) = ends(2, &["explore", "--rtl", path(first.path()), "--no-area"]);
    assert!(explored.contains("it is a round_robin") && explored.contains("whole front ends"), "{explored}");
    let (_, energy) = ends(2, &["report", "--rtl", path(first.path()), "--energy"]);
    assert!(energy.contains("measures whole front ends"), "{energy}");
    let (_file, file) = written(ROUND_ROBIN);
    let (_, nothing) = ends(2, &["report", "--rtl", path(&file), "--flow", "area"]);
    assert!(nothing.contains("nothing says which block it is"), "{nothing}");
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    let (_folder, file) = written(ROUND_ROBIN);
    let (_, which) = ends(2, &["lockstep", "--rtl", path(&file)]);
    assert!(which.contains("say which block it is, with --block"), "{which}");
    let (_, alone) = ends(2, &[&["lockstep", "--alone", "--rtl", path(&file)][..], &OF_FOUR].concat());
    assert!(alone.contains("the bench of a round_robin knows nothing to be wrong"), "{alone}");
    let (_, top) = ends(2, &[&["lockstep", "--rtl", path(&file), "--top", "nothing"][..], &OF_FOUR].concat());
    assert!(top.contains("nothing"), "{top}");
    let (_, ports) = ends(2, &["lockstep", "--rtl", path(&file), "--block", "oldest_first", "--slots", "16"]);
    for problem in
        ["`push_i` is not a port of the Verilog module", "has a port `ack_i` that is not in the list"]
    {
        assert!(ports.contains(problem), "{ports}");
    }
    let (_, text) = ends(2, &["lockstep", "--rtl", "README.md", "--block", "find_first"]);
    assert!(text.contains("none of .f, .v, .sv"), "{text}");
    let (_folder, file) = written("module turns (input clk_i;\n");
    let (_, broken) = ends(2, &[&["lockstep", "--rtl", path(&file)][..], &OF_FOUR].concat());
    assert!(broken.contains("Verilator failed") && broken.contains("turns.sv:1"), "{broken}");
}

/// A find-first of four with a fault that a tool may take as it likes: none may call it good.
#[test]
fn faults_that_tools_take_in_different_ways_are_noticed_by_all() {
    let ports = "input logic [3:0] req_i, output logic [3:0] gnt_o";
    let lowest = "req_i & (~req_i + 4'h1)";
    let four = ["--block", "find_first", "--slots", "4"];
    let run = |command: &[&str], body: &str, status: i32| -> String {
        let (_folder, file) = written(&format!("module turns ({ports});\n{body}\nendmodule\n"));
        let (stdout, stderr) = ends(status, &[command, &["--rtl", path(&file)], &four].concat());
        stdout + &stderr
    };
    let (lockstep, prove) = (["lockstep", "--cycles", "2000"], ["prove", "--covers", "0"]);
    let proved = run(&prove, &format!("assign gnt_o = {lowest};"), 0);
    assert!(proved.contains("1 property holds for all time"), "{proved}");
    let undriven = format!("wire u; assign gnt_o = (&req_i & u) ? 4'h0 : {lowest};");
    assert!(run(&lockstep, &undriven, 2).contains("u is used but has no driver"));
    assert!(run(&prove, &undriven, 2).contains("u is used but has no driver"));
    let twice = format!("assign gnt_o = {lowest}; assign gnt_o = 4'h0;");
    assert!(run(&lockstep, &twice, 2).contains("conflicting drivers for turns.gnt_o"));
    assert!(run(&prove, &twice, 2).contains("conflicting drivers for turns.gnt_o"));
    // Unknown is not what suits best; and what it assumes itself is not believed.
    let unknown = format!("assign gnt_o = &req_i ? 4'hx : {lowest};");
    assert!(run(&prove, &unknown, 1).contains("FAILS"));
    let assumed = format!("assign gnt_o = &req_i ? 4'h0 : {lowest}; always_comb assume (~&req_i);");
    assert!(run(&prove, &assumed, 1).contains("FAILS"));
    assert!(run(&lockstep, &assumed, 1).contains("Assertion failed"));

    let (_folder, file) = written(&format!(
        "module turns ({ports}, input logic cheat_i);\nassign gnt_o = cheat_i ? 4'h0 : {lowest};\nendmodule\n"
    ));
    for command in ["lockstep", "prove", "cover"] {
        let (_, text) = ends(2, &[&[command, "--rtl", path(&file)][..], &four].concat());
        assert!(text.contains("has a port `cheat_i` that is not in the list"), "{text}");
    }
    let (own, top) = generated(&four);
    edit(
        &own.path().join(format!("{top}.v")),
        "  output wire [3:0] gnt_o",
        "  input  wire cheat_i,\n  output wire [3:0] gnt_o",
    );
    let (_, text) = ends(2, &["report", "--rtl", path(own.path()), "--flow", "area"]);
    assert!(text.contains("has a port `cheat_i` that is not in the list"), "{text}");
    let (_, model) = ends(2, &["report", "--rtl", path(own.path()), "--dispatcher", "behavioural"]);
    assert!(model.contains("the golden model has no Verilog"), "{model}");
}

#[test]
fn what_registers_mean_and_how_they_are_reset_is_a_designs_own_affair() {
    // Two registers change their names: the lemmas find them, and they are others.
    let (own, top) = generated(&["--block", "oldest_first", "--slots", "4"]);
    let file = own.path().join(format!("{top}.v"));
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}"));
    let swapped = text.replace("row_1_", "row_x_").replace("row_2_", "row_1_").replace("row_x_", "row_2_");
    assert_ne!(text, swapped);
    fs::write(&file, swapped).unwrap_or_else(|e| panic!("{e}"));
    let rtl = ["--rtl", path(own.path())];
    ends(0, &[&["lockstep", "--cycles", "2000"][..], &rtl].concat());
    let (proved, _) = ends(0, &[&["prove", "--covers", "0"][..], &rtl].concat());
    assert!(proved.contains("no induction, because its lemmas do not hold of this Verilog: "), "{proved}");
    assert!(proved.contains("holds for 8 cycles") && !proved.contains("FAILS"), "{proved}");

    let (own, _) = generated(&["--block", "round_robin", "--slots", "4", "--reset", "async"]);
    let rtl = ["--rtl", path(own.path())];
    for command in ["lockstep", "cover"] {
        let (_, text) = ends(2, &[&[command][..], &rtl].concat());
        assert!(text.contains("has an asynchronous reset, and its golden model a synchronous one"), "{text}");
    }
    let (proved, _) = ends(0, &[&["prove", "--covers", "0"][..], &rtl].concat());
    assert!(proved.contains("hold for all time"), "{proved}");
}

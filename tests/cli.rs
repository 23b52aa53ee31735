//! The command as its users meet it: exit status, stdout, stderr, and files.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn windlass(args: &[&str]) -> Output {
    run(args, &[])
}

fn run(args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).envs(env.iter().copied());
    command.output().unwrap_or_else(|e| panic!("{e}"))
}

/// A profile with few SMs: its Verilog is built in seconds, that of a whole GPU in half a minute.
fn small_gpu() -> tempfile::NamedTempFile {
    let whole = include_str!("../cosim/profiles/rtx3070.toml");
    assert!(whole.contains("\nsms = 46 "));
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(file.path(), whole.replace("\nsms = 46 ", "\nsms = 8 ")).unwrap_or_else(|e| panic!("{e}"));
    file
}

/// The first `kernels` kernels of a trace that is built in.
fn short_trace(kernels: usize) -> tempfile::NamedTempFile {
    let whole = include_str!("../workloads/brax-v1-ant-b256.ktrace.jsonl");
    let (header, lines) = whole.split_once('\n').expect("lines");
    assert!(header.contains("\"kernels\":433"));
    let mut text = header.replace("\"kernels\":433", &format!("\"kernels\":{kernels}"));
    for line in lines.lines().filter(|line| line.contains("\"e\":\"k\"")).take(kernels) {
        text = text + "\n" + line;
    }
    let file = tempfile::Builder::new().suffix(".ktrace.jsonl").tempfile().unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(file.path(), text + "\n").unwrap_or_else(|e| panic!("{e}"));
    file
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails with this status, says these words on stderr, and nothing on stdout.
fn fails(args: &[&str], status: i32, words: &[&str]) {
    let output = windlass(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
    assert_eq!(stdout(&output), "", "{args:?}");
    for word in words {
        assert!(stderr.contains(word), "{args:?}: `{stderr}` does not say `{word}`");
    }
}

fn succeeds(args: &[&str]) -> String {
    let output = windlass(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

fn json(text: &str) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    // Those of `cosim` and `TOP.json` are 2, the others are at their first; `run` has runs, too, and says how often.
    let runs = value["runs"].is_array() && value["repeats"].is_null();
    let version = if runs || value["combinational"].is_object() { 2 } else { 1 };
    assert_eq!(value["format_version"], version);
    value
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{e}"));
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap_or_else(|e| panic!("{e}")).path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap_or_else(|e| panic!("{e}")))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn gen_checks_its_constraints_against_the_ports() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = directory.path().join("mine.toml");
    let built_in = include_str!("../constraints/windlass.toml");
    let wrong = built_in.replace("\"rst_ni\"", "\"rst_in\"");
    std::fs::write(&file, wrong).unwrap_or_else(|e| panic!("{e}"));
    let (file, out) = (file.to_string_lossy().into_owned(), directory.path().join("out"));
    let out_name = out.to_string_lossy().into_owned();
    let args = ["gen", "--block", "round_robin", "--slots", "4", "--constraints", &file, "--out", &out_name];
    fails(&args, 2, &["mine.toml:", "`rst_in` names no port of round_robin_n4", "did you mean `rst_ni`"]);
    assert!(!out.exists(), "nothing is written where something is wrong");
    let args = ["gen", "--block", "round_robin", "--slots", "4", "--library", "osu81", "--out", &out_name];
    fails(&args, 2, &["no library `osu81`", "nangate45, osu018, sg13g2"]);
    succeeds(&["gen", "--block", "round_robin", "--slots", "4", "--library", "osu018", "--out", &out_name]);
    let sdc = std::fs::read_to_string(out.join("round_robin_n4.sdc")).unwrap_or_else(|e| panic!("{e}"));
    assert!(sdc.contains("-period 5.000") && sdc.contains("set_driving_cell -lib_cell BUFX2"), "{sdc}");
}

#[test]
fn gen_writes_the_same_bytes_on_every_run() {
    let directories = [tempfile::tempdir(), tempfile::tempdir()].map(|d| d.unwrap_or_else(|e| panic!("{e}")));
    for directory in &directories {
        let out = directory.path().to_string_lossy().into_owned();
        succeeds(&["gen", "--block", "kernel_scheduler", "--window", "list", "--slots", "8", "--out", &out]);
    }
    let [a, b] = directories.map(|d| files(d.path()));
    assert_eq!(a, b);
    let top = "kernel_scheduler_list_ids_n8_r2_m128_k4";
    for kind in ["v", "f", "core", "json", "sdc", "xdc", "pcf", "lpf"] {
        assert!(a.iter().any(|(name, _)| *name == format!("{top}.{kind}")), "{top}.{kind} is missing");
    }
    for (name, text) in a.iter().filter(|(name, _)| !name.ends_with(".f")) {
        let head: Vec<String> = String::from_utf8_lossy(text).lines().take(4).map(String::from).collect();
        assert!(head.iter().any(|line| line.contains("MIT OR Apache-2.0")), "{name}: {head:?}");
    }
    let (_, metadata) = a.iter().find(|(name, _)| name.ends_with(".json")).expect("there is one");
    let metadata = json(&String::from_utf8_lossy(metadata));
    assert_eq!(metadata["top"], top);
    assert_eq!(metadata["parameters"]["SLOTS"], 8);
    assert_eq!(
        metadata["reset"],
        serde_json::json!({"name": "rst_ni", "active": "low", "kind": "synchronous"})
    );
    assert_eq!(metadata["command"], "windlass gen --block kernel_scheduler --window list --slots 8");
    assert_eq!(metadata["constraints"][0], format!("{top}.sdc"));
    let ready = metadata["combinational"]["host_ready_o"].as_array().expect("an array");
    assert!(ready.contains(&"ret_valid_1_i".into()) && !ready.contains(&"host_valid_i".into()), "{ready:?}");
    let ports = metadata["ports"].as_array().expect("an array");
    let disp = ports.iter().find(|p| p["name"] == "disp_slot_o").expect("a port");
    assert_eq!(
        (&disp["width"], &disp["direction"], &disp["channel"]),
        (&3.into(), &"output".into(), &"disp".into())
    );
}

#[test]
fn gen_prefixes_every_module() {
    let directories = [tempfile::tempdir(), tempfile::tempdir()].map(|d| d.unwrap_or_else(|e| panic!("{e}")));
    let outs = directories.each_ref().map(|d| d.path().to_string_lossy().into_owned());
    let gen_ = ["gen", "--block", "kernel_scheduler", "--slots", "4", "--out"];
    succeeds(&[&gen_[..], &[&outs[0]]].concat());
    succeeds(&[&gen_[..], &[&outs[1], "--prefix", "acme_"]].concat());
    let [plain, prefixed] = directories.each_ref().map(|d| files(d.path()));
    assert_eq!(prefixed.len(), plain.len());
    assert!(prefixed.iter().all(|(name, _)| name.starts_with("acme_")), "{prefixed:?}");
    let (_, metadata) = prefixed.iter().find(|(name, _)| name.ends_with(".json")).expect("there is one");
    let metadata = json(&String::from_utf8_lossy(metadata));
    assert_eq!(metadata["top"], "acme_kernel_scheduler_matrix_ids_n4_r2_m128_k4");
    assert_eq!(metadata["command"], "windlass gen --block kernel_scheduler --slots 4 --prefix acme_");
    assert_eq!(metadata["variant"], serde_json::json!({"window": "matrix", "encoding": "ids"}));
    // Both are in one simulation, and none of one is the other's.
    let verilog = |out: &String, files: &[(String, Vec<u8>)]| {
        let names = files.iter().map(|(name, _)| format!("{out}/{name}"));
        names.filter(|name| name.ends_with(".v")).collect::<Vec<_>>()
    };
    let all = [verilog(&outs[0], &plain), verilog(&outs[1], &prefixed)].concat();
    let output = Command::new("iverilog").args(["-g2005", "-t", "null"]).args(&all).output();
    let output = output.unwrap_or_else(|e| panic!("iverilog: {e}; run scripts/setup.sh"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fails(&["gen", "--prefix", "9a"], 2, &["--prefix", "`9a` cannot begin a module's name", "as in `acme_`"]);
}

#[test]
fn gen_says_what_is_possible() {
    fails(
        &["gen", "--slots", "12"],
        2,
        &["--slots 12 is not compiled in", "4, 8, 16, 24, 32, 48, 64, 96, 128"],
    );
    fails(&["gen", "--encoding", "mask", "--scheduled", "20"], 2, &["--scheduled 20", "possible: 32, 128"]);
    fails(
        &["gen", "--block", "kernel_scheduler", "--encoding", "mask", "--scheduled", "20"],
        2,
        &["--scheduled 20", "8, 16, 32, 64, 128, 255"],
    );
    fails(&["gen", "--scheduled", "256"], 2, &["--scheduled 256 is outside 8..=255"]);
    fails(&["gen", "--retire-ports", "5"], 2, &["--retire-ports 5 is outside 1..=4"]);
    fails(&["gen", "--block", "windo"], 2, &["no block `windo`", "window_matrix, window_list"]);
    fails(&["gen", "--slots", "4", "--out", "/proc/nowhere"], 2, &["/proc/nowhere", "--out"]);
}

#[test]
fn gen_refuses_what_the_block_does_not_have() {
    fails(
        &["gen", "--block", "window_matrix", "--window", "list"],
        2,
        &["no parameter window", "slots, retire-ports"],
    );
    fails(&["gen", "--block", "find_first", "--retire-ports", "2"], 2, &["no parameter retire-ports"]);
    fails(&["cosim", "--encoding", "mask", "--lanes", "4"], 2, &["encoding mask has no parameter lanes"]);
}

#[test]
fn gen_lists_its_blocks() {
    assert_eq!(succeeds(&["gen", "--list"]).lines().count(), 13);
    assert_eq!(json(&succeeds(&["gen", "--list", "--json"]))["blocks"].as_array().map(Vec::len), Some(13));
}

#[test]
fn cosim_gives_the_same_table_with_every_dispatcher() {
    let gpu = small_gpu();
    let gpu = gpu.path().to_string_lossy();
    let table = |option: &str, dispatcher: &str| {
        let common = ["cosim", "mix-fork", "--slots", "8", "--gpu", &gpu, "--policy", "serial,window"];
        let text = succeeds(&[&common[..], &[option, dispatcher]].concat());
        // The line that names the dispatcher differs, of course.
        text.lines().filter(|l| !l.contains("dispatcher")).map(String::from).collect::<Vec<_>>()
    };
    let behavioural = table("--dispatcher", "behavioural");
    assert_eq!(behavioural, table("--dispatcher", "hardware"));
    assert_eq!(behavioural, table("--dispatcher", "both"));
    assert_eq!(behavioural, table("--engine", "model"), "the older names go on working");
    for row in ["window single ", "window typed "] {
        assert!(behavioural.iter().any(|l| l.starts_with(row)), "{behavioural:?}");
    }
}

#[test]
fn cosim_runs_traces_side_by_side_in_partitions() {
    let common = ["cosim", "mix-fork", "mix-reduction", "--dispatcher", "behavioural", "--policy", "window"];
    let side = json(&succeeds(&[&common[..], &["--partition", "0-22,23-45", "--json"]].concat()));
    let runs = side["runs"].as_array().expect("an array");
    assert_eq!((runs.len(), &runs[0]["trace"]), (1, &"mix-fork + mix-reduction".into()));
    assert_eq!(runs[0]["partitions"], serde_json::json!(["0-22", "23-45"]));
    for policy in runs[0]["policies"].as_array().expect("an array") {
        let ends: Vec<u64> =
            policy["traces"].as_array().expect("two").iter().filter_map(|t| t["cycles"].as_u64()).collect();
        assert_eq!(ends.len(), 2);
        assert!(ends.iter().all(|end| *end > 0 && *end < policy["cycles"].as_u64().unwrap_or(0)), "{policy}");
    }
    let apart = json(&succeeds(&[&common[..], &["--arbiter", "typed", "--active", "4", "--json"]].concat()));
    assert_eq!(apart["runs"].as_array().map(Vec::len), Some(2), "without partitions one after the other");
    assert_eq!(
        apart["runs"][0]["policies"][1]["arbiter"],
        serde_json::json!({"kind": "typed", "active": 4, "places": 1})
    );
    fails(
        &[&common[..], &["--partition", "0-22"]].concat(),
        2,
        &["2 traces run side by side", "--partition gives 1"],
    );
    fails(&[&common[..], &["--partition", "0-22,40-46"]].concat(), 2, &["--partition", "`40-46`", "0 to 45"]);
}

#[test]
fn help_says_what_the_command_at_hand_takes() {
    let help = |command| succeeds(&[command, "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for (command, masks) in [
        ("cosim", "mask 32 or 128 ["),
        ("report", "mask 32 or 128 ["),
        ("run", "mask 8, 16, 32, 64, 128 or 255 ["),
    ] {
        assert!(help(command).contains(masks), "{command}");
    }
    for (command, slots, warps) in [
        ("gen", "32]", "64]"),
        ("cover", "32]", "64]"),
        ("mutate", "32]", "64]"),
        ("prove", "8; for a front_end, or with --both-windows, 4]", "64; for a front_end 4]"),
    ] {
        let help = help(command);
        assert!(help.contains("255, for a front_end 32 or 128 ["), "{command}");
        assert!(help.contains(&format!("132, 144 or 192 [default: {slots}")), "{help}");
        assert!(help.contains(&format!("Warps per SM, 1 to 64 [default: {warps}")), "{help}");
    }
    let mask =
        ["cosim", "mix-fork", "--encoding", "mask", "--policy", "window", "--dispatcher", "behavioural"];
    fails(&[&mask[..], &["--scheduled", "64"]].concat(), 2, &["possible: 32, 128"]);
}

#[test]
fn cosim_shows_what_speed_ups_are_over() {
    let args = ["cosim", "mix-fork", "--policy", "ideal,queue"];
    let text = succeeds(&args);
    let rows: Vec<&str> = text.lines().skip(4).map(|l| l.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(rows[..3], ["serial", "ideal", "queue"], "{text}");
    let value = json(&succeeds(&[&args[..], &["--json"]].concat()));
    assert_eq!(value["runs"][0]["policies"][0]["policy"], "serial");
}

#[test]
fn cosim_says_the_setting_of_what_ran() {
    let setting = |more: &[&str]| {
        let text = succeeds(&[&["cosim", "mix-fork"], more].concat());
        text.lines().nth(1).unwrap_or_default().to_string()
    };
    let window = "window: matrix of 32 slots, 2 retire ports, M = 128, ids x4";
    let run = "dispatcher behavioural at 1725 MHz";
    let model = ["--dispatcher", "behavioural", "--policy"];
    let of_window = |more: &[&str]| setting(&[&model[..], &["window"], more].concat());
    assert_eq!(of_window(&[]), format!("{window}, queue 64, {run}"));
    // It is in no column, and another arbiter takes other times.
    assert_eq!(of_window(&["--active", "4"]), format!("{window}, 4 active per type, queue 64, {run}"));
    assert_eq!(of_window(&["--active", "1"]), format!("{window}, 1 active per type, queue 64, {run}"));
    let both = setting(&[&model[..], &["window,streams-ace", "--streams", "3"]].concat());
    assert_eq!(both, format!("{window}, queue 64, {run}; streams: 32 slots, 3 streams"));
    assert_eq!(setting(&["--policy", "queue", "--kernel-end", "7"]), "queue 64, kernels end 7 ns late");
    assert_eq!(
        setting(&["--policy", "graph-cached", "--graph-window", "9"]),
        "graph-cached: 9 kernels per graph"
    );
    assert_eq!(setting(&["--policy", "ideal"]), "", "they have none");
}

#[test]
fn cosim_warns_of_partitions_without_sms() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("parts.ktrace.jsonl");
    let header = r#"{"e":"trace","ktrace":1,"name":"parts","source":"","producer":"","gpu":{"name":"assumed"},"params":{},"kernels":2,"notes":""}"#;
    let kernel = |i: u32, part: u32| {
        format!(
            r#"{{"e":"k","i":{i},"name":"k","op":"","type":"SIMT","grid":[3,1,1],"block":[32,1,1],"smem":0,"flops":0,"r":[],"w":[],"part":{part}}}"#
        )
    };
    std::fs::write(&path, [header.into(), kernel(0, 7), kernel(1, 1)].join("\n"))
        .unwrap_or_else(|e| panic!("{e}"));
    let path = path.to_string_lossy().into_owned();
    let stderr = |partition: &[&str]| {
        let common = ["cosim", &path, "--dispatcher", "behavioural", "--policy", "window"];
        let output = windlass(&[&common[..], partition].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let warning =
        "warning: parts: kernels name SM partition 1, which --partition does not give; they run on all SMs";
    assert!(stderr(&[]).contains(warning), "{}", stderr(&[]));
    assert!(stderr(&["--partition", "0-3"]).contains(warning));
    assert!(stderr(&["--partition", "0-3"]).contains("no kernel names a partition of --partition"));
    assert_eq!(stderr(&["--partition", "0-3,4-7"]), "");

    // Where no option gives any.
    let warning = "warning: parts: kernels name SM partition 1, which only `cosim --partition` gives; they run on all SMs";
    let out = directory.path().join("explored").to_string_lossy().into_owned();
    let small = ["--no-area", "--dispatcher", "behavioural", "--slots", "4", "--window", "matrix"];
    for (command, more) in
        [("report", &["--trace", &path][..]), ("explore", &["--out", &out, "--workloads", &path])]
    {
        let said = says(&[&[command][..], &small, more].concat());
        assert_eq!(said.matches(warning).count(), 1, "{command}: {said}");
    }
}

#[test]
fn cosim_does_not_care_whether_time_jumps() {
    let gpu = small_gpu();
    let gpu = gpu.path().to_string_lossy();
    let trace = short_trace(60);
    let trace = trace.path().to_string_lossy();
    let report = |step: bool| {
        let mut args =
            vec!["cosim", &trace, "--slots", "8", "--gpu", &gpu, "--policy", "serial,window", "--json"];
        args.extend(step.then_some("--step"));
        let mut value = json(&succeeds(&args));
        for policy in value["runs"][0]["policies"].as_array_mut().expect("an array") {
            // How many cycles the simulation visited is what differs.
            policy["visited_cycles"] = 0.into();
            if policy["window"].is_object() {
                policy["window"]["simulated_cycles"] = 0.into();
                policy["window"]["skipped_cycles"] = 0.into();
            }
        }
        value
    };
    assert_eq!(report(false), report(true));
}

#[test]
fn cosim_works_without_verilator_on_the_model_only() {
    let none = [("VERILATOR", "/nonexistent/verilator"), ("WINDLASS_CACHE", "/nonexistent/cache")];
    assert!(run(&["cosim", "--dispatcher", "behavioural", "--policy", "window"], &none).status.success());
    assert!(run(&["cosim", "--policy", "serial,ideal"], &none).status.success(), "no hardware decides there");
    let output = run(&["cosim", "--policy", "window"], &none);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("--dispatcher behavioural"), "{stderr}");
}

#[test]
fn cosim_exits_with_1_where_the_order_is_wrong() {
    // Algorithm 1 as printed misses RAW; the order checker does not.
    fails(
        &["cosim", "--dispatcher", "behavioural", "--policy", "window", "--strict-algorithm1"],
        1,
        &["RAW", "before kernel"],
    );
}

#[test]
fn a_level_of_optimisation_that_there_is_none_of_is_an_error() {
    let cosim = ["cosim", "mix-fork", "--policy", "window"];
    for level in ["3", "", "-O2"] {
        let output = run(&cosim, &[("WINDLASS_OPTIMISE", level)]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("WINDLASS_OPTIMISE is `{level}`; possible: 0")), "{stderr}");
    }
}

#[test]
fn cosim_names_what_it_does_not_know() {
    fails(
        &["cosim", "--policy", "magic"],
        2,
        &["no policy `magic`", "serial, queue, streams-ace, graph, graph-cached, window, ideal"],
    );
    fails(&["cosim", "--gpu", "rtx9999"], 2, &["rtx9999", "rtx3070"]);
    fails(&["cosim", "brax"], 2, &["brax: No such file", "built in: brax-v1-ant-b256, mix-pipeline"]);
    fails(&["cosim", "workloads"], 2, &["`run`, `report` and `explore` take folders"]);
    fails(&["cosim", "--dispatcher", "behavioural", "--wave", "x.vcd"], 2, &["no waveform"]);
    fails(&["cosim", "--arbiter", "single,typed", "--wave", "x.vcd"], 2, &["one run", "--arbiter typed"]);
    fails(&["cosim", "--active", "3", "--policy", "window"], 2, &["--active 3", "1, 2, 4"]);
    fails(&["cosim", "--partition", "all"], 2, &["--partition", "`all` is not a range", "0-22,23-45"]);
    fails(&["cosim", "a", "b", "--timeline", "x.json"], 2, &["one trace"]);
    fails(&["cosim", "--policy", "serial", "--wave", "x.vcd"], 2, &["add `window`"]);
    fails(&["cosim", "--policy", "streams", "--streams", "1000000"], 2, &["choose 1 to 1024"]);
    // An option that would do nothing.
    for option in [
        &["--streams", "4"][..],
        &["--poll-events"],
        &["--strict-algorithm1"],
        &["--driver-launch"],
        &["--kernel-end", "5"],
        &["--slots", "8"],
        &["--window", "list"],
        &["--pipelined"],
        &["--dispatcher", "both"],
        &["--fifo", "9"],
        &["--arbiter", "single"],
        &["--active", "1"],
    ] {
        let words = [&format!("{} belongs to the policy `", option[0])[..]];
        fails(&[&["cosim", "--policy", "serial,ideal"], option].concat(), 2, &words);
    }
    succeeds(&["cosim", "mix-fork", "--policy", "queue", "--driver-launch", "--kernel-end", "5"]);
    fails(
        &["cosim", "--policy", "serial", "--timeline", "/proc/nowhere/t.json"],
        2,
        &["/proc/nowhere/t.json"],
    );
}

#[test]
fn cosim_writes_waveform_and_timeline() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (vcd, fst, timeline) = (path("vcd/w.vcd"), path("fst/w.fst"), path("timeline/t.json"));
    let gpu = small_gpu();
    let gpu = gpu.path().to_string_lossy();
    let trace = "workloads/alexnet-b1.ktrace.jsonl";
    let common = ["cosim", trace, "--slots", "4", "--gpu", &gpu, "--policy", "window"];
    succeeds(
        &[&common[..], &["--wave", &vcd, "--from", "2", "--to", "40", "--timeline", &timeline]].concat(),
    );
    succeeds(&[&common[..], &["--wave", &fst]].concat());
    let vcd = std::fs::read_to_string(vcd).unwrap_or_else(|e| panic!("{e}"));
    assert!(vcd.contains("disp_valid_o"), "the waveform has the ports");
    let times: Vec<&str> = vcd.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!((times.first(), times.last(), times.len()), (Some(&"#4"), Some(&"#79"), 76));
    assert!(std::fs::metadata(fst).is_ok_and(|m| m.len() > 100));
    let text = std::fs::read_to_string(&timeline).unwrap_or_else(|e| panic!("{e}"));
    let events: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        events["traceEvents"].as_array().is_some_and(|e| e.len() > 24),
        "an event for each kernel at least"
    );
    let compressed = [path("a.json.gz"), path("b.json.gz")].map(|file| {
        succeeds(&[&common[..], &["--arbiter", "typed", "--timeline", &file]].concat());
        std::fs::read(&file).unwrap_or_else(|e| panic!("{e}"))
    });
    assert!(unpacked(&compressed[0]) == text, "the same timeline");
    assert!(compressed[0].len() < text.len() / 4, "{} and {} bytes", compressed[0].len(), text.len());
    assert!(compressed[0] == compressed[1], "the same bytes on every run");
}

fn unpacked(gzip: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(gzip).read_to_string(&mut text).unwrap_or_else(|e| panic!("{e}"));
    text
}

#[test]
fn files_make_the_folders_that_they_are_in() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    for (i, args) in [
        &["mix", "fork", "--out", "FILE.ktrace.jsonl"][..],
        &["trace", "mix-fork", "--rename", "0", "--figure", "FILE.svg"],
        &["trace", "explain", "mix-fork", "--kernel", "1", "--dot=FILE.dot"],
        &["cosim", "mix-fork", "--policy", "serial", "--timeline", "FILE.json"],
        &["run", "mix-fork", "--policy", "serial", "--no-work", "--timeline", "FILE.json"],
        &["report", "--from", "gen/tests/data/report.json", "--html", "FILE.html"],
    ]
    .iter()
    .enumerate()
    {
        let folder = directory.path().join(format!("{i}/not/there"));
        let file = folder.join("file").to_string_lossy().into_owned();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("FILE", &file)).collect();
        succeeds(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(files(&folder).iter().all(|(_, bytes)| !bytes.is_empty()), "{args:?}");
        assert_eq!(files(&folder).len(), 1, "{args:?}");
    }
}

#[test]
fn a_waveform_that_begins_after_the_run_costs_neither_results_nor_what_was_there() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let vcd = directory.path().join("w.vcd");
    std::fs::write(&vcd, "old").unwrap_or_else(|e| panic!("{e}"));
    let (wave, gpu) = (vcd.to_string_lossy(), small_gpu());
    let gpu = gpu.path().to_string_lossy();
    let common =
        ["cosim", "workloads/alexnet-b1.ktrace.jsonl", "--slots", "4", "--gpu", &gpu, "--policy", "window"];
    let output = run(&[&common[..], &["--wave", &wave, "--from", "99999999"]].concat(), &[]);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the run had only") && stderr.contains("choose a smaller --from"), "{stderr}");
    assert!(stdout.contains("window typed"), "{stdout}");
    assert!(std::fs::read_to_string(&vcd).is_ok_and(|text| text == "old"));
    assert_eq!(std::fs::read_dir(directory.path()).map(|entries| entries.count()).unwrap_or_default(), 1);
}

#[test]
fn report_has_area_latency_and_speed_up_in_three_forms() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let out = directory.path().to_string_lossy().into_owned();
    let value = json(&succeeds(&[
        "report", "--gpu", "rtx3060", "--window", "matrix", "--slots", "8", "--flow", "quick", "--json",
        "--out", &out,
    ]));
    let design = &value["designs"][0];
    let synthesis = &design["synthesis"];
    let sized = "speed+resize";
    assert_eq!((&synthesis["fastest"], &synthesis["smallest"]), (&sized.into(), &sized.into()));
    let constraints = synthesis["constraints"].as_str().unwrap_or_default();
    assert!(
        constraints.starts_with("constraints/windlass.toml, library osu018: clk_i 5.000 ns"),
        "{constraints}"
    );
    let timing = &synthesis["results"][0]["timing"];
    assert_eq!(timing["classes"][0]["class"], "register_to_register");
    assert!(timing["classes"][0]["fmax_mhz"].as_f64().is_some_and(|f| f > 1.0), "{timing}");
    let registers: Vec<&str> = timing["paths"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| p["from"]["block"].as_str())
        .collect();
    assert!(registers.iter().any(|block| block.starts_with("u_window")), "{registers:?}");
    let total = design["area"]["modules"][0]["total"]["area_um2"].as_f64().expect("an area");
    let sum: f64 = design["area"]["modules"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|m| m["own"]["area_um2"].as_f64().unwrap_or(0.0) * m["instances"].as_f64().unwrap_or(0.0))
        .sum();
    assert!(total > 1000.0 && (total - sum).abs() < 1.0, "total {total}, sum of the modules {sum}");
    assert_eq!(design["latencies"][0]["cycles"]["median"], 1.0);
    assert!(value["speedups"][0]["rows"].as_array().is_some_and(|rows| rows.len() == 7));
    let names: Vec<String> = files(directory.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["report.html", "report.json", "report.md", "report.txt"]);
    assert_eq!(
        value["command"], "windlass report --gpu rtx3060 --window matrix --slots 8 --flow quick",
        "where it goes is not in it"
    );
}

/// A report that is kept for the tests of the page.
const STORED: &str = "gen/tests/data/report.json";

#[test]
fn report_times_a_netlist_with_its_wires() {
    let round_robin = ["report", "--block", "round_robin", "--slots", "8"];
    let wired = [&round_robin[..], &["--flow", "quick", "--wires"]].concat();
    let report = json(&succeeds(&[&wired[..], &["--json"]].concat()));
    let synthesis = &report["designs"][0]["synthesis"];
    let mhz = |netlist: &serde_json::Value| netlist["timing"]["classes"][0]["fmax_mhz"].as_f64();
    let ideal = mhz(&synthesis["results"][0]);
    for (netlist, sized) in synthesis["wired"]["netlists"].as_array().unwrap().iter().zip([false, true]) {
        assert_eq!(netlist["sized"], sized);
        assert!(netlist["wires_mm"].as_f64() > Some(1.0) && mhz(netlist) < ideal, "{netlist} and {ideal:?}");
    }
    fails(&[&round_robin[..], &["--flow", "area", "--wires"]].concat(), 2, &["--wires needs a netlist"]);
    fails(&[&round_robin[..], &["--no-area", "--wires"]].concat(), 2, &["--wires", "--no-area"]);
    // A library of which nobody knows the wires.
    let file = tempfile::NamedTempFile::new().unwrap();
    let known = include_str!("../constraints/windlass.toml");
    let without = known.lines().filter(|line| !line.starts_with("wires")).collect::<Vec<_>>().join("\n");
    std::fs::write(file.path(), without).unwrap();
    let other = [&wired[..], &["--constraints", file.path().to_str().unwrap()]].concat();
    fails(&other, 2, &["library.osu018.wires: is missing", "ff_per_um"]);
    // Nothing that places: before anything is synthesized.
    let empty = tempfile::tempdir().unwrap();
    let output = run(&wired, &[("WINDLASS_CACHE", empty.path().to_str().unwrap())]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("need Coloquinte") && stderr.contains("scripts/setup.sh"), "{stderr}");
}

#[test]
fn designs_with_an_asynchronous_reset_are_measured_and_proved() {
    let block = ["--block", "round_robin", "--slots", "8", "--json", "--reset"];
    let report = |reset| json(&succeeds(&[&["report", "--flow", "quick"], &block[..], &[reset]].concat()));
    let [sync, other] = ["sync", "async"].map(|reset| report(reset)["designs"][0].clone());
    assert_eq!((&sync["name"], &sync["top"]), (&"round_robin 8".into(), &"round_robin_n8".into()));
    assert_eq!(
        (&other["name"], &other["top"]),
        (&"round_robin 8 async".into(), &"round_robin_n8_arst".into())
    );
    let flip_flops = |design: &serde_json::Value| {
        let result = &design["synthesis"]["results"][0];
        assert!(result["timing"]["classes"][0]["fmax_mhz"].as_f64().is_some_and(|f| f > 1.0), "{result}");
        result["total"]["flip_flops"].as_u64()
    };
    assert!(flip_flops(&sync) > Some(0) && flip_flops(&sync) == flip_flops(&other));
    let refused = ["report", "--arbiter", "single", "--energy", "--reset", "async"];
    fails(&refused, 2, &["--energy", "--reset sync"]);
    let proof = json(&succeeds(&[&["prove"], &block[..], &["async"]].concat()));
    assert_eq!(proof["top"], "round_robin_n8_arst");
}

#[test]
fn report_of_a_stored_report_in_every_form() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let [out, page] = ["out", "page.html"].map(|n| directory.path().join(n).to_string_lossy().into_owned());
    let text = succeeds(&["report", "--from", STORED, "--out", &out, "--html", &page]);
    assert!(text.contains("All designs"), "{text}");
    let page = std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        page.starts_with("<!DOCTYPE html>") && !page.contains("href=\"figures/"),
        "it needs no other file"
    );
    let figures = files(&Path::new(&out).join("figures"));
    assert!(figures.iter().any(|(name, _)| name == "speedup.csv"));
    assert!(figures.iter().any(|(name, _)| name == "speedup.svg"));
    let linked =
        std::fs::read_to_string(Path::new(&out).join("report.html")).unwrap_or_else(|e| panic!("{e}"));
    for (name, bytes) in figures.iter().filter(|(name, _)| name.ends_with(".svg")) {
        let csv = name.replace(".svg", ".csv");
        assert!(linked.contains(&format!("href=\"figures/{csv}\"")), "{csv}");
        assert!(page.contains(&*String::from_utf8_lossy(bytes)), "{name} is the figure of the page");
    }
    assert_eq!(json(&succeeds(&["report", "--from", STORED, "--json"]))["designs"][0]["name"], "matrix 8");
}

#[test]
fn report_against_a_baseline() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let write = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(STORED));
        let mut value = json(&text.unwrap_or_else(|e| panic!("{e}")));
        change(&mut value);
        let path = directory.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap_or_else(|e| panic!("{e}"));
        path.to_string_lossy().into_owned()
    };
    let same = ["report", "--from", STORED, "--baseline", STORED];
    assert!(succeeds(&same).contains("0 worse by more than 5 %"));
    let area = "/designs/0/area/modules/0/total/area_um2";
    let worse = write("worse.json", &|value| {
        let area = value.pointer_mut(area).expect("an area");
        *area = (area.as_f64().unwrap_or(0.0) * 1.08).into();
    });
    let compare = |margin: &str, more: &[&str]| {
        let args = ["report", "--from", &worse, "--baseline", STORED, "--margin", margin];
        windlass(&[&args[..], more].concat())
    };
    let output = compare("5%", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("area, hierarchy kept") && stdout(&output).contains("+8.0"),
        "the table"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 worse by more than 5 %"));
    assert_eq!(compare("10%", &[]).status.code(), Some(0));
    let output = compare("5", &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&stdout(&output))["baseline"]["rows"][0]["verdict"], "worse");
    let better = succeeds(&["report", "--from", STORED, "--baseline", &worse]);
    assert!(better.contains("1 better") && better.contains("-7.4"), "{better}");

    let one = write("one.json", &|value| drop(value["designs"].as_array_mut().map(|d| d.remove(0))));
    let text = succeeds(&["report", "--from", STORED, "--baseline", &one]);
    assert!(text.contains("design matrix 8: not in the baseline"), "{text}");
    let none = write("none.json", &|value| {
        value["designs"] = serde_json::json!([]);
        value["speedups"] = serde_json::json!([]);
    });
    let output = windlass(&["report", "--from", STORED, "--baseline", &none]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing can be compared"));
    assert!(stdout(&output).contains("All designs"), "the report is there all the same");
    let newer = write("newer.json", &|value| value["format_version"] = 9.into());
    fails(
        &["report", "--from", STORED, "--baseline", &newer],
        2,
        &["newer.json", "format_version 9", "reads 1"],
    );
    fails(&["report", "--from", "Cargo.toml"], 2, &["Cargo.toml is not a report"]);
    fails(&["report", "--from", STORED, "--margin", "2%"], 2, &["--baseline"]);
    fails(&["report", "--from", STORED, "--baseline", STORED, "--margin", "x"], 2, &["not a margin"]);
    fails(&["report", "--from", STORED, "--gpu", "h100"], 2, &["--from", "--gpu"]);
    for period in ["0", "-1", "nan"] {
        fails(&["report", &format!("--period={period}")], 2, &["--period", "0.001 to less than 1000000"]);
    }
}

#[test]
fn report_takes_several_traces_and_folders() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let folder = directory.path().to_string_lossy().into_owned();
    fails(&["report", "--no-area", "--trace", &folder], 2, &["this folder has no traces", ".ktrace.jsonl"]);
    for shape in ["fork", "pipeline"] {
        let file = directory.path().join(format!("{shape}.ktrace.jsonl"));
        succeeds(&[
            "mix",
            shape,
            "--stages",
            "2",
            "--tiles",
            "2",
            "--ctas",
            "4",
            "--out",
            &file.to_string_lossy(),
        ]);
    }
    let args = [
        "report",
        "--no-area",
        "--window",
        "matrix",
        "--slots",
        "8",
        "--dispatcher",
        "behavioural",
        "--json",
    ];
    let value = json(&succeeds(&[&args[..], &["--trace", &folder, "--trace", "mix-fork"]].concat()));
    let names: Vec<&str> = value["speedups"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|s| s["workload"].as_str())
        .collect();
    assert_eq!(names, ["mix-fork-s2-t2-c4", "mix-pipeline-s2-t2-c4", "mix-fork"]);
    // What surrounds the hardware is that of cosim.
    let end = ["--kernel-end", "500", "--rename", "unlimited"];
    let report = json(&succeeds(&[&args[..], &["--trace", "mix-fork"], &end].concat()));
    let simulated = ["cosim", "mix-fork", "--policy", "queue", "--json"];
    let simulated = json(&succeeds(&[&simulated[..], &end].concat()));
    let speedup = |rows: &serde_json::Value| {
        let row = rows.as_array().expect("an array").iter().find(|row| row["policy"] == "queue");
        row.expect("queue ran")["speedup"].as_f64().expect("a number")
    };
    assert_eq!(speedup(&report["speedups"][0]["rows"]), speedup(&simulated["runs"][0]["policies"]));
    assert_eq!(report["conditions"]["kernel_end_ns"], 500);
    assert_eq!(
        (&report["conditions"]["rename"], &report["conditions"]["profile"]["sms"]),
        (&"unlimited".into(), &46.into())
    );
    // Under other conditions other speed-ups are no news.
    let before = directory.path().join("before.json").to_string_lossy().into_owned();
    std::fs::write(&before, report.to_string()).unwrap();
    let against = [&args[..args.len() - 1], &["--trace", "mix-fork", "--baseline", &before]].concat();
    let output = windlass(&against);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    let differences = "kernel_end_ns was 500 and is 0, rename was unlimited and is none";
    assert!(said.contains("nothing can be compared") && said.contains(differences), "{said}");
    let same = windlass(&[&against[..], &end].concat());
    assert!(
        stdout(&same)
            .contains("front ends at 1725 MHz, kernels ending 500 ns late, renaming within unlimited")
    );
    assert_eq!(same.status.code(), Some(0));
    // One file under two spellings is one workload; two workloads of one name cannot be told apart.
    let file = format!("{folder}/fork.ktrace.jsonl");
    let again = format!("{folder}/./fork.ktrace.jsonl");
    let value = json(&succeeds(&[&args[..], &["--trace", &file, "--trace", &again]].concat()));
    assert_eq!(value["speedups"].as_array().expect("an array").len(), 1);
    let copy = format!("{folder}/copy.ktrace.jsonl");
    std::fs::copy(&file, &copy).unwrap();
    let twice = [&args[..], &["--trace", &file, "--trace", &copy]].concat();
    fails(&twice, 2, &["two workloads are called `mix-fork-s2-t2-c4`", "`name` in its first line"]);
    assert!(
        value["speedups"]
            .as_array()
            .is_some_and(|all| all.iter().all(|s| s["rows"].as_array().is_some_and(|r| r.len() == 7)))
    );
    let latencies = value["designs"][0]["latencies"].as_array().expect("an array");
    assert!(
        latencies
            .iter()
            .filter(|l| !l["cycles"].is_null())
            .all(|l| l["workload"].as_str().is_some_and(|w| w.starts_with("mix-")))
    );
}

#[test]
fn report_says_which_libraries_there_are() {
    let report = |library| ["report", "--window", "matrix", "--slots", "8", "--library", library];
    fails(&report("osu081"), 2, &["osu018, nangate45, sg13g2", "--liberty FILE"]);
    fails(&report("sg13g2"), 2, &["no package registry", "--liberty FILE"]);
    fails(&report("./no-such.lib"), 2, &["no-such.lib", "--liberty"]);
}

#[test]
fn a_report_is_the_same_whatever_its_jobs_are() {
    // Own results, so that both are at work.
    let report = |jobs: &str, more: &[&str]| {
        let cache = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let blocks = ["report", "--flow", "area", "--block", "find_first,round_robin", "--slots", "8,4"];
        let cache = cache.path().display().to_string();
        run(&[&blocks[..], more, &["--jobs", jobs]].concat(), &[("WINDLASS_CACHE", &cache)])
    };
    let (one, three) = (report("1", &["--json"]), report("3", &["--json"]));
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    assert_eq!(stdout(&one), stdout(&three));
    let value = json(&stdout(&one));
    let names: Vec<&str> =
        value["designs"].as_array().expect("an array").iter().filter_map(|d| d["name"].as_str()).collect();
    assert_eq!(names, ["find_first 8", "find_first 4", "round_robin 8", "round_robin 4"]);
    // What stops one is told once.
    let cells = tempfile::Builder::new().suffix(".lib").tempfile().unwrap_or_else(|e| panic!("{e}"));
    for jobs in ["1", "3"] {
        let broken = report(jobs, &["--liberty", &cells.path().display().to_string()]);
        assert_eq!(broken.status.code(), Some(2));
        let said = String::from_utf8_lossy(&broken.stderr).into_owned();
        assert_eq!((said.matches("error").count(), stdout(&broken)), (1, String::new()), "{said}");
    }
}

#[test]
fn report_compares_front_ends() {
    let args =
        ["report", "--arbiter", "single,typed", "--window", "matrix", "--slots", "8", "--no-area", "--json"];
    let value =
        json(&succeeds(&[&args[..], &["--dispatcher", "behavioural", "--trace", "mix-fork"]].concat()));
    let designs = value["designs"].as_array().expect("an array");
    let names: Vec<&str> = designs.iter().filter_map(|design| design["name"].as_str()).collect();
    assert_eq!(names, ["matrix single", "matrix typed"]);
    for design in designs {
        assert!(
            design["top"].as_str().is_some_and(|top| top.starts_with("front_end_matrix_ids_")),
            "{design}"
        );
        let latencies = design["latencies"].as_array().expect("an array");
        assert!(latencies.iter().any(|latency| latency["name"] == "last CTA done to first CTA"), "{design}");
    }
}

/// Trace files of two kernels each, the second after the first; this is said of their GPU, and these fields are in the kernels, too.
fn traces_of(gpus: &[&str], fields: [&str; 2]) -> (tempfile::TempDir, Vec<String>) {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let write = |(n, gpu): (usize, &&str)| {
        let header = format!(
            r#"{{"e":"trace","ktrace":1,"name":"t{n}","source":"","producer":"","gpu":{gpu},"params":{{}},"kernels":2,"notes":""}}"#
        );
        let kernel = |i: usize| {
            let (read, written, more) = (4096 + 64 * i, 4160 + 64 * i, fields[i]);
            format!(
                r#"{{"e":"k","i":{i},"name":"k","op":"","type":"SIMT","grid":[3,1,1],"block":[32,1,1],"smem":0,"flops":0,"r":[[{read},64]],"w":[[{written},64]]{more}}}"#
            )
        };
        let path = directory.path().join(format!("t{n}.ktrace.jsonl"));
        std::fs::write(&path, [header, kernel(0), kernel(1)].join("\n")).unwrap_or_else(|e| panic!("{e}"));
        path.to_string_lossy().into_owned()
    };
    let files = gpus.iter().enumerate().map(write).collect();
    (directory, files)
}

/// What a command that succeeds says on stderr.
fn says(args: &[&str]) -> String {
    let output = windlass(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {stderr}");
    stderr
}

#[test]
fn commands_take_the_gpu_that_the_trace_names() {
    let gpus = [
        r#"{"name":"H100"}"#,
        r#"{"name":"NVIDIA GeForce RTX 3070"}"#,
        r#"{"name":"V100"}"#,
        r#"{"name":"V100","sms":80}"#,
    ];
    let (_directory, files) = traces_of(&gpus, [""; 2]);
    let [h100, rtx3070, v100, v100_sms] = [0, 1, 2, 3].map(|i| files[i].as_str());
    let serial = ["--policy", "serial"];
    let cosim = |args: &[&str]| succeeds(&[&["cosim"], args, &serial].concat());
    assert!(cosim(&[h100]).contains("on h100 (132 SMs"), "{}", cosim(&[h100]));
    assert!(cosim(&[h100, "--gpu", "a100"]).contains("on a100 (108 SMs"));
    assert!(cosim(&[rtx3070]).contains("on rtx3070 (46 SMs"));
    assert!(cosim(&[v100]).contains("on rtx3070 (46 SMs"));
    // Everything that follows the first trace's GPU is for that GPU, ranges of SMs, too.
    assert!(cosim(&[h100, rtx3070, "--partition", "0-99,100-131"]).contains("on h100"));
    let run = json(&succeeds(&[&["run", h100, "--json", "--no-work"][..], &serial].concat()));
    assert_eq!(run["runs"][0]["trace"], "t0");
    let report = ["report", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--format", "json"];
    let report = json(&succeeds(&[&report[..], &["--window", "matrix", "--trace", h100]].concat()));
    assert_eq!(report["speedups"][0]["gpu"], "h100");
    let out = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let out = out.path().join("explore").to_string_lossy().into_owned();
    let explore =
        ["explore", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--window", "matrix"];
    let explored = succeeds(&[&explore[..], &["--workloads", h100, "--out", &out]].concat());
    assert!(explored.contains("On h100 with 132 SMs"), "{explored}");

    let note =
        "names the GPU `V100`, but runs on rtx3070, because there is no profile of that GPU; --gpu chooses";
    let said = |args: &[&str]| says(&[&["cosim"], args, &serial].concat());
    assert!(said(&[v100]).contains(note), "{}", said(&[v100]));
    assert!(says(&[&["run", v100, "--no-work"][..], &serial].concat()).contains(note));
    let second =
        "t1: the trace names the GPU `NVIDIA GeForce RTX 3070`, but runs on h100, as the first trace";
    assert!(said(&[h100, rtx3070]).contains(second), "{}", said(&[h100, rtx3070]));
    for silent in
        [&[h100][..], &[rtx3070], &["mix-fork"], &[v100, "--gpu", "a100"], &[h100, rtx3070, "--gpu", "a100"]]
    {
        assert_eq!(said(silent), "", "{silent:?}");
    }

    let (_directory, files) =
        traces_of(&[r#"{"name":"H100","sms":99}"#, r#"{"name":"assumed","sms":8}"#], [""; 2]);
    assert!(
        said(&[&files[0]]).contains("t0: the trace names 99 SMs, but runs on the 132 of h100; --gpu chooses")
    );
    assert!(said(&[&files[1]]).contains("t1: the trace names 8 SMs, but runs on the 46 of rtx3070"));
    assert_eq!(said(&[&files[0], "--gpu", "h100"]), "");

    let sms = |file: &str| {
        let trace = &json(&succeeds(&["trace", file, "--json"]))["traces"][0];
        (trace["sms"].as_u64(), trace["sms_assumed"].as_bool())
    };
    assert_eq!(sms(h100), (Some(132), Some(false)));
    assert_eq!(sms(v100), (Some(46), Some(true)));
    assert_eq!(sms(v100_sms), (Some(80), Some(false)));
    let explained = succeeds(&["trace", "explain", h100, "--kernel", "1", "--json"]);
    assert_eq!(json(&explained)["explanations"][0]["times"]["sms"], 132);
}

/// What `windlass ARGS < text` says on stdout.
fn fed(args: &[&str], text: impl AsRef<[u8]>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{e}"));
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_ref()).unwrap_or_else(|e| panic!("{e}"));
    drop(stdin);
    let output = child.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_dash_is_stdin_and_stdout() {
    let mix = succeeds(&["mix", "fork", "--out", "-"]);
    assert_eq!(mix, succeeds(&["mix", "fork"]));
    assert_eq!(fed(&["trace", "-", "--json"], &mix), succeeds(&["trace", "mix-fork", "--json"]));
    let explain = ["trace", "explain", "-", "--kernel", "3"];
    assert!(fed(&explain, &mix).starts_with("mix-fork, run 0\n"));
    for args in [&["cosim", "-", "--policy", "serial"][..], &["run", "-", "--policy", "serial", "--no-work"]]
    {
        assert!(fed(args, &mix).starts_with("mix-fork"), "{args:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_work_that_it_is_for() {
    let bad = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/in/a/file.svg");
    fails(
        &["trace", "no-such-trace", "--rename", "0", "--figure", bad],
        2,
        &[bad, "choose another --figure"],
    );
    let dot = format!("--dot={bad}");
    fails(&["trace", "explain", "no-such-trace", "--kernel", "0", &dot], 2, &[bad, "choose another --dot"]);
    let prove = ["prove", "--block", "find_first", "--slots", "4", "--both-windows", "--vcd", bad];
    fails(&prove, 2, &[bad, "choose another --vcd"]);
    fails(&["calibrate", "--out", bad], 2, &[bad, "choose another --out"]);
}

/// What is written beside stdout's text: `-` would be a file of that name, which nobody asks for.
#[test]
fn a_dash_is_no_file_beside_what_is_printed() {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    for args in [
        &["cosim", "mix-fork", "--policy", "serial", "--timeline", "-"][..],
        &["cosim", "mix-fork", "--arbiter", "single", "--wave", "-"],
        &["run", "mix-fork", "--policy", "serial", "--timeline", "-"],
        &["trace", "mix-fork", "--rename", "0", "--figure", "-"],
        &["report", "--no-area", "--html", "-"],
        &["report", "--no-area", "--out", "-"],
        &["explore", "--workloads", "mix-fork", "--out", "-"],
        &["gen", "--block", "find_first", "--slots", "4", "--out", "-"],
        &["prove", "--block", "find_first", "--vcd", "-"],
        &["prove", "--block", "find_first", "--write", "-"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let output = command.args(args).current_dir(folder.path()).output().unwrap_or_else(|e| panic!("{e}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert!(stderr.contains("'-' for '--") && stderr.contains("./-"), "{args:?}: {stderr}");
        let files = std::fs::read_dir(folder.path()).unwrap_or_else(|e| panic!("{e}")).count();
        assert_eq!(files, 0, "{args:?}");
    }
    let explain = ["trace", "explain", "mix-fork", "--kernel", "3"];
    let [printed, dash] = ["--dot", "--dot=-"].map(|dot| succeeds(&[&explain[..], &[dot]].concat()));
    assert!(printed.starts_with("digraph") && printed == dash);
    fails(&[&explain[..], &["--dot=-", "--json"]].concat(), 2, &["both print"]);
}

#[test]
fn gen_into_a_folder_that_has_files_says_what_is_there() {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let out = folder.path().to_string_lossy().into_owned();
    let generate = |block: &str| {
        let output = windlass(&["gen", "--block", block, "--slots", "4", "--out", &out]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(generate("find_first"), (Some(0), String::new()));
    assert_eq!(generate("find_first"), (Some(0), String::new()), "the same again is nothing to speak of");
    let (status, said) = generate("oldest_first");
    assert!(status == Some(0) && said.contains("has find_first_n4, too"), "{said}");
    std::fs::write(folder.path().join("oldest_first_n4.v"), "module mine;").unwrap_or_else(|e| panic!("{e}"));
    let (status, said) = generate("oldest_first");
    assert!(status == Some(2) && said.contains("oldest_first_n4.v: it is there already"), "{said}");
}

#[test]
fn one_of_anything_is_no_plural() {
    let all_said = |args: &[&str]| {
        let output = windlass(args);
        stdout(&output) + &String::from_utf8_lossy(&output.stderr)
    };
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let trace = folder.path().join("one.ktrace.jsonl").to_string_lossy().into_owned();
    let kernel = |i: u32, reads: &str, writes: u32| {
        format!(
            r#"{{"e":"k","i":{i},"name":"k","op":"add","type":"SIMT","grid":[1,1,1],"block":[1,1,1],"smem":0,"flops":1,"r":[{reads}],"w":[[{writes},1]]}}"#
        )
    };
    let header = |kernels: u32| {
        format!(
            r#"{{"e":"trace","ktrace":1,"name":"one","source":"","producer":"","gpu":{{"name":"rtx3070","sms":1}},"params":{{}},"kernels":{kernels},"notes":""}}"#
        )
    };
    let one = format!("{}\n{}\n", header(1), kernel(0, "", 4096));
    let two = format!("{}\n{}\n{}\n", header(2), kernel(0, "", 4096), kernel(1, "[4096,1]", 8192));
    std::fs::write(&trace, one).unwrap_or_else(|e| panic!("{e}"));
    let gpu = folder.path().join("one.toml").to_string_lossy().into_owned();
    let whole = include_str!("../cosim/profiles/rtx3070.toml");
    std::fs::write(&gpu, whole.replace("\nsms = 46 ", "\nsms = 1 ")).unwrap_or_else(|e| panic!("{e}"));
    let one_of_all =
        ["--streams", "1", "--software-slots", "1", "--graph-window", "1", "--retire-ports", "1"];
    let cosim = ["cosim", &trace, "--gpu", &gpu, "--dispatcher", "behavioural", "--rename", "1"];
    let mut said = vec![
        all_said(&[&cosim[..], &one_of_all].concat()),
        all_said(&["cosim", &trace, "--policy", "serial"]),
        all_said(&["trace", &trace, "--rename", "1"]),
        all_said(&["run", &trace, "--policy", "serial", "--threads", "1", "--streams", "1"]),
        all_said(&["run", &trace, "--policy", "window", "--dispatcher", "software", "--forget", "1"]),
        all_said(&["trace", "explain", &trace, "--kernel", "7"]),
    ];
    std::fs::write(&trace, two).unwrap_or_else(|e| panic!("{e}"));
    said.extend([all_said(&["trace", &trace]), all_said(&["trace", "explain", &trace, "--kernel", "1"])]);
    for line in said.iter().flat_map(|text| text.lines()) {
        let words: Vec<&str> = line.split([' ', ',', ';', ':', '(', ')']).collect();
        for pair in words.windows(2) {
            let is_plural = pair[1].ends_with('s') && !["us", "µs", "is", "was", "has"].contains(&pair[1]);
            assert!(pair[0] != "1" || !is_plural, "`{} {}` in {line}", pair[0], pair[1]);
        }
    }
}

#[test]
fn imports_read_stdin_too() {
    fn named<'a>(args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--name", "net"]].concat()
    }
    let data = |name: &str| format!("import/tests/data/{name}");
    let model = data("squeezenet1_1.onnx");
    let bytes = std::fs::read(&model).unwrap();
    assert_eq!(fed(&named(&["import", "onnx", "-"]), &bytes), succeeds(&named(&["import", "onnx", &model])));
    assert!(fed(&["import", "onnx", "-"], &bytes).contains(r#""name":"onnx""#));
    let (trace, profile) = (data("by-hand-cuda.et.json"), data("by-hand-cuda.kineto.json"));
    let expected = succeeds(&named(&["import", "pytorch", &trace, "--kineto", &profile]));
    for (et, kineto, file) in [("-", &profile[..], &trace), (&trace, "-", &profile)] {
        let args = named(&["import", "pytorch", et, "--kineto", kineto]);
        assert_eq!(fed(&args, std::fs::read(file).unwrap()), expected, "{args:?}");
    }
    fails(&["import", "pytorch", "-", "--kineto", "-"], 2, &["`-` was given twice"]);
    fails(&["import", "onnx", "-"], 2, &["error: stdin: it has no graph"]);
}

/// A pipe has its bytes once, also where it is a file by its name; what is stored of a trace is found by them.
#[cfg(unix)]
#[test]
fn two_traces_of_one_name_from_a_pipe_are_two() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let out = directory.path().join("explore").to_string_lossy().into_owned();
    let explore = ["explore", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--sms", "8"];
    let more = ["--window", "matrix", "--arbiter", "single", "--json", "--out", &out, "--workloads"];
    let explored = |file: &str, text: &str| {
        let value: serde_json::Value =
            serde_json::from_str(&fed(&[&explore[..], &more, &[file]].concat(), text))
                .unwrap_or_else(|e| panic!("{e}"));
        value["workloads"].clone()
    };
    let [short, long] = [4, 9].map(|kernels| {
        let trace = short_trace(kernels);
        std::fs::read_to_string(trace.path()).unwrap_or_else(|e| panic!("{e}"))
    });
    for file in ["/dev/stdin", "-"] {
        let [short, long] = [&short, &long].map(|text| explored(file, text));
        assert_eq!((&short[0]["kernels"], &long[0]["kernels"]), (&4.into(), &9.into()), "{file}");
        assert_ne!(short[0]["sha256"], long[0]["sha256"], "{file}");
    }
}

#[test]
fn a_block_and_a_size_that_are_named_twice_are_one() {
    let report = |args: &[&str]| {
        let report = json(&succeeds(&[&["report", "--no-area", "--format", "json"], args].concat()));
        let designs = report["designs"].as_array().expect("a list").iter();
        designs.map(|design| design["name"].as_str().expect("a text").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(report(&["--block", "find_first,find_first", "--slots", "4,4"]), ["find_first 4"]);
    let window = ["--dispatcher", "behavioural", "--window", "matrix", "--trace", "mix-fork", "--slots"];
    assert_eq!(report(&[&window[..], &["4,4"]].concat()), ["matrix"]);
}

/// Also those that would end a line, a cell of a table, or do something to a terminal.
#[test]
fn names_are_shown_in_one_line() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("t.ktrace.jsonl");
    let text = std::fs::read_to_string(short_trace(3).path()).unwrap_or_else(|e| panic!("{e}"));
    let text = text.replacen("\"brax-v1-ant-b256\"", r#""a|b\nsum2\u001b[31m""#, 1);
    assert!(text.contains("sum2"));
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{e}"));
    let (file, shown) = (path.to_string_lossy().into_owned(), "a|b sum2 [31m");
    for args in [
        &["trace"][..],
        &["trace", "explain", "--kernel", "1"],
        &["run", "--no-work", "--policy", "serial"],
        &["cosim", "--policy", "serial"],
    ] {
        let text = succeeds(&[args, &[&file]].concat());
        assert!(text.starts_with(shown) && !text.contains('\u{1b}'), "{args:?}: {text}");
    }
    let report = ["report", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--window", "matrix"];
    let report = succeeds(&[&report[..], &["--format", "md", "--trace", &file]].concat());
    assert!(report.contains("### On a|b sum2 [31m (3 kernels)") && !report.contains('\u{1b}'), "{report}");
    let out = directory.path().join("explore").to_string_lossy().into_owned();
    let explore = ["explore", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--sms", "8"];
    let more = ["--window", "matrix", "--arbiter", "single", "--out", &out, "--workloads", &file];
    succeeds(&[&explore[..], &more].concat());
    let page = std::fs::read_to_string(Path::new(&out).join("explore.md")).unwrap_or_else(|e| panic!("{e}"));
    assert!(page.contains("| a\\|b sum2 [31m | 3 |"), "{page}");
}

#[test]
fn a_kernel_of_too_many_ranges_is_named_and_runs_one_after_another() {
    let more: Vec<String> = (0..256).map(|i| format!("[{},64]", (1 << 20) + 128 * i)).collect();
    // A field twice: the last one counts.
    let second = format!(r#","r":[{}]"#, more.join(","));
    let (_directory, files) = traces_of(&[r#"{"name":"H100"}"#], ["", &second]);
    let run = ["run", &files[0], "--no-work", "--policy"];
    let words = [
        "t0.ktrace.jsonl: run 0, kernel 1 `k`: field `r` has 256 ranges, but at most 255",
        "`--policy serial` takes it",
    ];
    fails(&[&run[..], &["serial,streams"]].concat(), 2, &words);
    succeeds(&[&run[..], &["serial"]].concat());
}

#[test]
fn sums_of_large_numbers_are_right() {
    let (_directory, files) = traces_of(&[r#"{"name":"H100"}"#], [r#","flops":18446744073709551615"#; 2]);
    assert!(succeeds(&["trace", &files[0], "--json"]).contains(r#""flops":36893488147419103230,"#));
    assert!(succeeds(&["trace", &files[0]]).contains(", 36893488147419103230\n"));
}

#[test]
fn durations_of_another_gpu_are_warned_of() {
    let gpus = [r#"{"name":"H100"}"#, r#"{"name":"V100"}"#, r#"{"name":"assumed"}"#];
    let (_directory, files) = traces_of(&gpus, [r#","dur_ns":2000"#, ""]);
    let [h100, v100, assumed] = [0, 1, 2].map(|i| files[i].as_str());
    let warning = |trace, gpu, on| {
        format!(
            "warning: {trace}: the durations of 1 of 2 kernels were measured on `{gpu}`, and are used unchanged on {on};"
        )
    };
    let cosim = |args: &[&str]| says(&[&["cosim", "--policy", "serial,graph"], args].concat());
    let said = cosim(&[h100, "--gpu", "a100"]);
    assert_eq!(said.matches(&warning("t0", "H100", "a100")).count(), 1, "{said}");
    assert!(said.contains("take `dur_ns` out of the trace, or give a profile"), "{said}");
    assert!(cosim(&[v100]).contains(&warning("t1", "V100", "rtx3070")));
    let run = says(&["run", v100, "--no-work", "--policy", "serial"]);
    assert!(run.contains(&warning("t1", "V100", "rtx3070")), "{run}");
    for silent in [h100, assumed] {
        assert_eq!(cosim(&[silent]), "");
    }
    // The same GPU with other SMs is another one, too.
    let explore = |sms: &str| {
        let out = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let out = out.path().to_string_lossy();
        let small = ["--no-area", "--dispatcher", "behavioural", "--slots", "4", "--window", "matrix"];
        says(&[&["explore", "--out", &out, "--sms", sms, "--workloads", h100][..], &small].concat())
    };
    let warning = "warning: t0: the durations of 1 of 2 kernels were measured on 132 SMs, and are used unchanged on 8, 46;";
    let said = explore("8,46,132");
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert!(!explore("132").contains("warning"));
    let text = include_str!("../cosim/profiles/h100.toml").replace("sms = 132", "sms = 100");
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let profile = directory.path().join("cut.toml").to_string_lossy().into_owned();
    std::fs::write(&profile, text).unwrap_or_else(|e| panic!("{e}"));
    let said = cosim(&[h100, "--gpu", &profile]);
    assert!(said.contains("were measured on 132 SMs, and are used unchanged on 100;"), "{said}");
}

#[test]
fn kernels_of_several_streams_are_warned_of() {
    let gpu = r#"{"name":"assumed"}"#;
    let (_one, one) = traces_of(&[gpu], [r#","stream":3"#; 2]);
    let (_two, two) = traces_of(&[gpu], ["", r#","stream":1"#]);
    for args in [&["trace"][..], &["cosim", "--policy", "serial"]] {
        let said = |file: &str| says(&[args, &[file]].concat());
        let warning = format!("warning: {}: kernels were launched on 2 streams", two[0]);
        assert_eq!(said(&two[0]).matches(&warning).count(), 1, "{}", said(&two[0]));
        assert_eq!(said(&one[0]), "");
    }
}

#[test]
fn more_memory_than_the_gpu_has_is_warned_of() {
    let two = ["", r#","r":[[1073741824,8589934592]]"#];
    let (_directory, files) = traces_of(&[r#"{"name":"rtx3070"}"#], [two[0], ""]);
    let said = |args: &[&str]| says(&[&["cosim", "--policy", "serial"], args].concat());
    assert_eq!(said(&[&files[0]]), "");
    // The last of two fields of one name counts.
    let (_directory, files) = traces_of(&[r#"{"name":"rtx3070"}"#], two);
    let warning = "warning: t0: needs 8.0 GiB of memory, but rtx3070 has 8.0";
    assert!(said(&[&files[0]]).contains(warning), "{}", said(&[&files[0]]));
    assert_eq!(said(&[&files[0], "--gpu", "rtx3060"]), "");
}

#[test]
fn trace_tells_what_is_in_a_stream() {
    let text = succeeds(&["trace", "--strict-algorithm1"]);
    for word in ["433 (0 TENSOR, 366 SIMT, 67 COPY)", "31721 pairs", "depth 276, width 8", "Algorithm 1"] {
        assert!(text.contains(word), "`{text}` does not say `{word}`");
    }
    let value = json(&succeeds(&["trace", "--sms", "4", "--json"]));
    assert_eq!((&value["traces"][0]["sms"], &value["traces"][0]["sms_assumed"]), (&4.into(), &false.into()));
    let value = json(&succeeds(&["trace", "workloads/alexnet-b1.ktrace.jsonl", "--json"]));
    assert_eq!(value["traces"][0]["kernels"], 24);
}

#[test]
fn trace_bounds_a_stream_once_renamed() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let figure = directory.path().join("f.svg");
    let args = ["trace", "--rename", "0,1x,unlimited", "--figure", &figure.to_string_lossy()];
    let text = succeeds(&args);
    for words in ["367 versions; temporary memory 695296 bytes", "unlimited", "last writer"] {
        assert!(text.contains(words), "{text}");
    }
    let svg = std::fs::read_to_string(&figure).unwrap_or_else(|e| panic!("{e}"));
    assert!(svg.contains("brax-v1-ant-b256") && svg.contains(">unlimited</text>"), "{svg}");
    let value = json(&succeeds(&["trace", "--rename", "0,1x", "--json"]));
    let trace = &value["traces"][0];
    let renaming = trace["renaming"].as_array().expect("two");
    assert_eq!((renaming.len(), &renaming[0]["renamed"]), (2, &0.into()));
    assert_eq!((&renaming[1]["budget"], &renaming[1]["budget_bytes"]), (&"1x".into(), &695_296.into()));
    assert!(renaming[1]["peak_bytes"].as_u64() <= Some(695_296));
    let at_32 = |bounds: &serde_json::Value| bounds["window_bounds"][3]["speed_up"].clone();
    assert_eq!(at_32(&renaming[0]), trace["window_bounds"][3]["speed_up"]["all"]);
    assert_eq!(at_32(&renaming[1]).as_f64().map(|b| (b * 100.0).round()), Some(175.0));
    assert!(json(&succeeds(&["trace", "--json"]))["traces"][0]["renaming"].is_null());

    fails(&["trace", "--rename", "1x,much"], 2, &["`much` is not a budget", "512K", "1.5x", "`unlimited`"]);
    fails(&["trace", "--figure", "f.svg"], 2, &["--rename"]);
    fails(&["trace", "--rename", "0", "--figure", "/proc/nowhere/f.svg"], 2, &["/proc/nowhere/f.svg"]);
    fails(&["cosim", "--rename", "1.5"], 2, &["`1.5` is not a budget"]);
    fails(&["trace", "mix-fork", "--rename", "1M", "--figure", "x.png"], 2, &["x.png", "FILE.svg"]);
}

#[test]
fn cosim_runs_a_stream_that_was_renamed() {
    let common = ["cosim", "--dispatcher", "behavioural", "--arbiter", "single", "--policy", "window,ideal"];
    let cycles = |rename: &[&str]| {
        let value = json(&succeeds(&[&common[..], &["--json"], rename].concat()));
        let run = value["runs"][0].clone();
        let cycles = |policy: usize| run["policies"][policy]["cycles"].as_u64().expect("a number");
        (cycles(1), cycles(2), run["renaming"].clone())
    };
    let (window, ideal, none) = cycles(&[]);
    let (renamed_window, renamed_ideal, one) = cycles(&["--rename", "1x"]);
    assert_eq!(none, serde_json::json!([]));
    assert_eq!((&one[0]["renamed"], &one[0]["versions"]), (&242.into(), &367.into()));
    // The order checker, which is exact, has let both pass.
    assert!(
        renamed_window < window && renamed_ideal < ideal,
        "{renamed_window} {window} {renamed_ideal} {ideal}"
    );
    let text = succeeds(&[&common[..], &["--rename", "1x", "mix-fork", "mix-reduction"]].concat());
    assert_eq!(text.matches("renaming, budget 1x: ").count(), 2, "{text}");
}

#[test]
fn report_of_blocks_takes_the_sms_of_a_gpu() {
    let top = |more: &[&str]| {
        let args = ["report", "--no-area", "--json", "--block"];
        json(&succeeds(&[&args[..], more].concat()))["designs"][0]["top"].to_string()
    };
    assert!(top(&["sm_partitions"]).contains("_s132_"));
    assert!(top(&["sm_partitions", "--gpu", "a100"]).contains("_s108_"));
    assert!(top(&["cta_arbiter_typed", "--gpu", "a100", "--active", "4"]).contains("_k4"));
    fails(
        &["report", "--block", "find_first", "--gpu", "a100"],
        2,
        &["--gpu", "none of these blocks has SMs"],
    );
    assert!(top(&["sm_partitions,find_first", "--gpu", "a100"]).contains("_s108_"));
}

#[test]
fn json_has_what_was_finished_before_a_run_could_not() {
    for command in ["cosim", "run"] {
        let output = windlass(&[command, "mix-fork", "nowhere", "--policy", "serial", "--json"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_eq!(json(&stdout(&output))["runs"][0]["trace"], "mix-fork");
        fails(&[command, "nowhere", "--policy", "serial", "--json"], 2, &["nowhere"]);
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_unicode_is_a_path() {
    use std::os::unix::ffi::OsStrExt;
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["explore", "--no-area", "--dispatcher", "behavioural", "--slots", "4", "--sms", "8"]);
    command
        .args(["--window", "matrix", "--arbiter", "single", "--workloads", "mix-fork", "--out"])
        .arg(&path);
    let output = command.output().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(path.join("explore.json").exists());
}

#[test]
fn trace_names_file_line_and_field() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("bad.ktrace.jsonl");
    std::fs::write(&path, "{\"e\":\"trace\",\"ktrace\":1}\n").unwrap_or_else(|e| panic!("{e}"));
    fails(&["trace", &path.to_string_lossy()], 2, &["bad.ktrace.jsonl:1", "field `gpu`", "add"]);
}

#[test]
fn trace_explains_why_a_kernel_waited() {
    let file = "workloads/alexnet-b1.ktrace.jsonl";
    let text = succeeds(&["trace", "explain", file, "--kernel", "5", "--kernel", "7"]);
    for words in
        ["alexnet-b1, run 0\nkernel 5: ", "\n\nalexnet-b1, run 0\nkernel 7: ", "waits for ", "alloc "]
    {
        assert!(text.contains(words), "`{text}` does not say `{words}`");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The built-in trace by default; a long chain is cut unless all is asked for.
    let cut = succeeds(&["trace", "explain", "--kernel", "200"]);
    assert!(cut.contains("chain of 131 kernels") && cut.contains("... 121 more, back to kernel 1"), "{cut}");
    assert!(cut.contains("no data flows: renaming would remove this wait"), "{cut}");
    let all = succeeds(&["trace", "explain", "--kernel", "200", "--all"]);
    assert!(!all.lines().any(|line| line.trim_start().starts_with("...")), "{all}");
    assert!(all.contains("implied by other waits"), "{all}");
    // A kernel lasts longer on fewer SMs, and all before it too.
    let few = json(&succeeds(&["trace", "explain", "--kernel", "200", "--sms", "4", "--json"]));
    let explanation = &few["explanations"][0];
    assert_eq!(explanation["times"], serde_json::json!({"kind": "estimated", "unit": "units", "sms": 4}));
    assert!(explanation["start"].as_u64() > Some(185), "{explanation}");
}

#[test]
fn the_page_on_hazards_shows_what_explain_prints() {
    let shown = succeeds(&["trace", "explain", "--kernel", "43"]);
    assert!(include_str!("../docs/hazards.md").contains(&format!("```text\n{shown}```\n")), "{shown}");
}

#[test]
fn trace_explains_as_json_and_as_a_graph() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("chain.dot");
    let option = format!("--dot={}", path.display());
    let args = ["trace", "explain", "brax-v1-ant-b256", "--kernel", "17"];
    let value = json(&succeeds(&[&args[..], &["--json", &option]].concat()));
    assert_eq!((&value["trace"], &value["explanations"][0]["run"]), (&"brax-v1-ant-b256".into(), &0.into()));
    let explanation = &value["explanations"][0];
    let kernel = serde_json::json!({
        "index": 17, "name": "loop_multiply_fusion_2", "op": "dot_general", "type": "SIMT", "grid": [48, 1, 1],
    });
    assert_eq!(explanation["kernel"], kernel);
    assert_eq!(
        explanation["upstream"][0]["hazards"],
        serde_json::json!([{"class": "RAW", "address": 0x107_5000, "bytes": 24576, "buffer": {"kind": "persistent"}}])
    );
    let chain: Vec<u64> = explanation["chain"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|link| link["index"].as_u64())
        .collect();
    assert_eq!(chain, [17, 15, 14, 13, 12, 11, 10, 7, 6, 1]);
    for (field, number) in
        [("start", 14), ("slack", 0), ("critical_path", 390), ("earliest_start_renamed", 10)]
    {
        assert_eq!(explanation[field], number, "{field}");
    }
    assert_eq!(explanation["downstream"], serde_json::json!({"kernels": 150, "direct": [18]}));

    let written = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(written, succeeds(&[&args[..], &["--dot"]].concat()), "the same on stdout");
    assert!(written.starts_with("digraph explain {") && written.ends_with("}\n"), "{written}");
    assert!(written.contains("r0k15 -> r0k17 [label=\"RAW 24576 B\", penwidth=3];"), "{written}");
    assert!(written.contains("r0k16 -> r0k17 [label=\"RAW 24576 B\"];"), "{written}");
    check_dot(&written);
}

/// Fails where a text is not what Graphviz reads, as far as that is written here: a statement a line, texts quoted, edges of known nodes.
fn check_dot(text: &str) {
    let body = text.strip_prefix("digraph explain {\n").and_then(|text| text.strip_suffix("}\n"));
    let (mut nodes, mut edges) = (BTreeSet::new(), Vec::new());
    for line in body.expect("one graph").lines() {
        let statement = line.strip_prefix("  ").and_then(|line| line.strip_suffix(';'));
        let statement = statement.unwrap_or_else(|| panic!("`{line}` is no statement"));
        let (subject, attributes) = match statement.split_once(" [") {
            Some((subject, rest)) => (subject, rest.strip_suffix(']').expect("attributes end")),
            None => ("", statement),
        };
        // What is left without its texts has no quotation mark, and names and values only.
        let (mut bare, mut in_text, mut escaped) = (String::new(), false, false);
        for c in attributes.chars() {
            match c {
                _ if std::mem::take(&mut escaped) => {}
                '\\' if in_text => escaped = true,
                '"' => in_text = !in_text,
                _ if in_text => {}
                _ => bare.push(c),
            }
        }
        assert!(!in_text, "a text of `{line}` does not end");
        for attribute in bare.split(", ") {
            let (name, value) = attribute.split_once('=').unwrap_or_else(|| panic!("`{line}`: {attribute}"));
            assert!([name, value].iter().all(|w| w.chars().all(|c| c.is_ascii_alphanumeric())), "{line}");
        }
        match subject.split_once(" -> ") {
            Some((from, to)) => edges.extend([from.to_string(), to.to_string()]),
            None => _ = nodes.insert(subject.to_string()),
        }
    }
    assert!(!edges.is_empty() && edges.iter().all(|node| nodes.contains(node)), "{nodes:?} {edges:?}");
}

#[test]
fn trace_explain_says_what_there_is() {
    fails(&["trace", "explain", "--kernel", "433"], 2, &["run 0 has no kernel 433; it has 433 kernels"]);
    fails(&["trace", "explain", "--kernel", "1", "--run", "3"], 2, &["no run 3; its runs are: 0"]);
    fails(&["trace", "explain"], 2, &["--kernel <N>"]);
    fails(&["trace", "explain", "--kernel", "1", "--sms", "0"], 2, &["--sms"]);
    fails(&["trace", "explain", "--kernel", "1", "--json", "--dot"], 2, &["--dot=FILE"]);
    fails(
        &["trace", "explain", "--kernel", "1", "--dot=/proc/nowhere/d"],
        2,
        &["/proc/nowhere/d", "--dot=FILE"],
    );
    // A word after `--dot` is the trace, never a file to write.
    fails(&["trace", "explain", "--kernel", "1", "--dot", "nowhere"], 2, &["nowhere: No such file"]);
    fails(&["trace", "explain", "--kernel", "1", "nowhere"], 2, &["nowhere: No such file"]);
}

#[test]
fn trace_reads_files_that_are_named_as_its_subcommands() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    for name in ["explain", "help"] {
        std::fs::copy("workloads/alexnet-b1.ktrace.jsonl", directory.path().join(name))
            .unwrap_or_else(|e| panic!("{e}"));
    }
    // `explain` is a file after another file, and with a path; `help` always.
    for files in [&["./explain"][..], &["help"], &["help", "explain"], &["--json", "explain"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let output = command.arg("trace").args(files).current_dir(directory.path()).output();
        let output = output.unwrap_or_else(|e| panic!("{e}"));
        assert!(output.status.success(), "{files:?}: {}", String::from_utf8_lossy(&output.stderr));
        let found = stdout(&output).matches("alexnet-b1").count();
        assert_eq!(found, files.iter().filter(|f| !f.starts_with("--")).count(), "{files:?}");
    }
}

#[test]
fn mix_makes_the_traces_that_are_built_in() {
    for shape in ["pipeline", "reduction", "fork"] {
        let file = format!("workloads/mix-{shape}.ktrace.jsonl");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
        let shipped = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(succeeds(&["mix", shape]) == shipped, "if wanted: windlass mix {shape} --out {file}");
        let value = json(&succeeds(&["trace", "--json", &format!("mix-{shape}")]));
        assert_eq!(value["traces"][0]["name"], format!("mix-{shape}"));
    }
}

#[test]
fn mix_writes_a_file_that_says_how_it_was_made() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("m.ktrace.jsonl");
    let out = path.to_string_lossy();
    let args = ["mix", "fork", "--stages", "2", "--tiles", "3", "--ctas", "8"];
    let said = succeeds(&[&args[..], &["--out", &out]].concat());
    assert!(said.contains("mix-fork-s2-t3-c8 (15 kernels)"), "{said}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(text, succeeds(&args));
    let notes = ["synthetic", "Figure 2 of Kitsune", "windlass mix fork --stages 2 --tiles 3 --ctas 8"];
    assert!(notes.iter().all(|words| text.lines().next().is_some_and(|l| l.contains(words))), "{text}");
    assert_eq!(json(&succeeds(&["trace", &out, "--json"]))["traces"][0]["kernels"], 15);
}

#[test]
fn mix_says_what_is_possible() {
    fails(&["mix", "pipeline", "--stages", "65"], 2, &["--stages 65 is outside 2..=64 for a pipeline"]);
    fails(&["mix", "fork", "--ctas", "46"], 2, &["--ctas 46", "choose 44 or 48"]);
    fails(&["mix", "fork", "--ctas", "3"], 2, &["--ctas 3 is outside 4..=16384"]);
    fails(&["mix", "ring"], 2, &["ring", "pipeline, reduction, fork"]);
    fails(&["mix", "fork", "--out", "/proc/nowhere/m"], 2, &["/proc/nowhere/m", "--out"]);
}

#[test]
fn import_xla_makes_the_recorded_workload() {
    let dump = "import/tests/data/brax-v1-ant-b256";
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("ant.ktrace.jsonl.zst");
    let out = path.to_string_lossy();
    let said = succeeds(&["import", "xla", dump, "--out", &out]);
    assert!(said.starts_with("ant (433 kernels)\n"), "{said}");
    let ours = json(&succeeds(&["trace", &out, "--json"]))["traces"][0].clone();
    let theirs = json(&succeeds(&["trace", "brax-v1-ant-b256", "--json"]))["traces"][0].clone();
    for key in ["kernels", "by_type", "bytes", "graph", "window_bounds"] {
        assert_eq!(ours[key], theirs[key], "{key}");
    }
    assert!(
        succeeds(&["import", "xla", dump])
            .starts_with("{\"e\":\"trace\",\"ktrace\":1,\"name\":\"jit_tracedstep\"")
    );
    fails(&["import", "xla", "docs"], 2, &["docs: no *.thunk_sequence.txt", "XLA_FLAGS=--xla_dump_to=DIR"]);
    fails(&["import", "xla", dump, "--module", "x"], 2, &["0 modules are `x`", "module_0001.jit_tracedstep"]);
}

#[test]
fn import_accel_sim_writes_what_trace_and_cosim_read() {
    let traces = "import/tests/data/accelsim-by-hand";
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let path = directory.path().join("vectors.ktrace.jsonl");
    let out = path.to_str().unwrap_or_else(|| panic!("{path:?}"));
    let said = windlass(&["import", "accel-sim", traces, "--gpu", "a100", "--out", out]);
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("vectors (5 kernels)\n"), "{said:?}");
    assert_eq!(String::from_utf8_lossy(&said.stderr), "");
    let trace = json(&succeeds(&["trace", out, "--json"]))["traces"][0].clone();
    assert_eq!((&trace["bytes"], &trace["kernels"]), (&5632.into(), &5.into()));
    // `scale` and `square` read the same; nothing else may overlap.
    let table = succeeds(&["cosim", out, "--dispatcher", "behavioural", "--json"]);
    assert_eq!(json(&table)["runs"][0]["trace"], "vectors");
    let said = windlass(&["import", "accel-sim", traces, "--segments", "1"]);
    let warnings = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        warnings.contains("only code for compute capability 8.0; name the GPU with --gpu NAME"),
        "{warnings}"
    );
    assert!(
        warnings.contains("more than 1 range of memory are touched by `demo::axpy<4>`: ranges"),
        "{warnings}"
    );
    fails(
        &["import", "accel-sim", "docs"],
        2,
        &["docs: no kernelslist.g in the folder; post-traces-processing"],
    );
    fails(&["import", "accel-sim", "nowhere"], 2, &["nowhere: No such file"]);
    fails(&["import", "accel-sim", traces, "--segments", "0"], 2, &["--segments", "0 is not in 1.."]);
    fails(&["import", "accel-sim", traces, "--gpu", "x9"], 2, &["x9"]);
}

/// Rows of `windlass run`'s table: the policy, and what is said of its memory.
fn memory_by_policy(table: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let policy = line.split_whitespace().next()?.to_string();
        // Two spaces part the numbers from what is said of the memory.
        let at = ["as serial", "WRONG: "].iter().find_map(|words| line.find(words))?;
        (!line.starts_with("memory")).then(|| (policy, line[at..].to_string()))
    };
    table.lines().filter_map(row).collect()
}

const ALL_POLICIES: [&str; 7] =
    ["serial", "streams-ace", "streams", "pdl", "graph", "graph-cached", "window"];

#[test]
fn run_leaves_the_serial_memory_under_every_policy() {
    for trace in ["brax-v1-ant-b256", "mix-pipeline", "mix-reduction", "mix-fork"] {
        let text = succeeds(&[
            "run",
            trace,
            "--scale",
            "64",
            "--policy",
            "all",
            "--verify",
            "--no-work",
            "--dispatcher",
            "behavioural",
        ]);
        assert!(text.contains("memory after serial: as the kernels are defined"), "{text}");
        let want = ALL_POLICIES.map(|policy| (policy.to_string(), "as serial".to_string()));
        assert_eq!(memory_by_policy(&text), want, "{text}");
    }
}

/// The same on CUDA's executor, whose driver has no GPU.
#[test]
fn run_leaves_the_serial_memory_under_every_policy_of_cuda() {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    let done = Command::new(&compiler)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/cuda/tests/fake_driver"))
        .args([
            "-std=c++17",
            "-O2",
            "-fno-strict-aliasing",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-pthread",
        ])
        .arg("cuda.cpp")
        .arg("-o")
        .arg(folder.path().join("libcuda.so.1"))
        .output();
    let done = done.unwrap_or_else(|e| panic!("{compiler}: {e}; run scripts/setup.sh"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let env = [("LD_LIBRARY_PATH", folder.path().to_str().expect("a path of text"))];
    for dispatcher in ["hardware", "software"] {
        let args = ["run", "--executor", "cuda", "--scale", "64", "--policy", "all", "--verify"];
        let output = run(&[&args[..], &["--slots", "8", "--dispatcher", dispatcher]].concat(), &env);
        let text = stdout(&output);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("on cuda:0 (no GPU at all, sm_90): 433 kernels"), "{text}");
        assert!(text.contains("memory after serial: as the kernels are defined"), "{text}");
        let want = ALL_POLICIES.map(|policy| (policy.to_string(), "as serial".to_string()));
        assert_eq!(memory_by_policy(&text), want, "{text}");
    }
    // Kernels that declare nothing: of ten, one comes too early.
    let seen = (0..10).any(|kernel| {
        let args =
            ["run", "--executor", "cuda", "--scale", "64", "--policy", "streams", "--verify", "--forget"];
        let kernel = (40 * kernel + 7).to_string();
        let output = run(&[&args[..], &[&kernel]].concat(), &env);
        output.status.code() == Some(1) && stdout(&output).contains("  WRONG: ")
    });
    assert!(seen, "no dropped hazard shows");
}

#[test]
fn run_is_decided_by_each_kind_of_dispatcher() {
    let small =
        ["run", "mix-fork", "--policy", "window", "--slots", "8", "--no-work", "--verify", "--scale", "64"];
    for (dispatcher, says) in [
        ("hardware", "window: hardware (Verilator"),
        ("both", "window: hardware and behavioural in lockstep (Verilator"),
        ("behavioural", "window: behavioural, matrix window, 8 slots"),
        ("software", "window: software, 8 slots"),
    ] {
        let text = succeeds(&[&small[..], &["--dispatcher", dispatcher]].concat());
        assert!(text.contains(says), "{text}");
        assert_eq!(memory_by_policy(&text), [("window".to_string(), "as serial".to_string())], "{text}");
    }
    let list = ["--dispatcher", "behavioural", "--window", "list", "--encoding", "mask", "--scheduled", "32"];
    assert!(succeeds(&[&small[..], &list].concat()).contains("behavioural, list window, 8 slots"));
}

#[test]
fn run_renames_memory_and_still_leaves_what_it_must() {
    let common = ["run", "--policy", "all", "--verify", "--no-work", "--dispatcher", "software"];
    let text = succeeds(&[&common[..], &["--rename", "unlimited"]].concat());
    assert_eq!(memory_by_policy(&text).len(), 7, "{text}");
    let image = |text: &str| {
        let at = text.find("an image of ").map_or(0, |at| at + "an image of ".len());
        text[at..].split(' ').next().and_then(|mib| mib.parse::<f64>().ok()).unwrap_or(0.0)
    };
    assert!(image(&text) > image(&succeeds(&common)), "memory of their own takes more of it: {text}");
}

/// What is wrong is found, said, and is status 1.
#[test]
fn run_notices_wrong_hazards() {
    let common = ["run", "--verify", "--no-work", "--dispatcher", "software"];
    let wrong = |more: &[&str]| {
        let output = windlass(&[&common[..], more].concat());
        let text = stdout(&output);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{more:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    };
    // Without RAW the window starts every reader at once; the device is to be wide enough for it to show.
    for more in [
        &["--strict-algorithm1", "--policy", "serial,window", "--threads", "4", "--repeats", "5"][..],
        &["--forget", "100", "--policy", "serial,window", "--threads", "4", "--repeats", "20"],
    ] {
        let text = wrong(more);
        let rows = memory_by_policy(&text);
        assert_eq!(rows[0], ("serial".to_string(), "as serial".to_string()), "{text}");
        assert!(rows[1].1.starts_with("WRONG: ") && rows[1].1.contains("written by ["), "{text}");
    }
    let more =
        ["--json", "--strict-algorithm1", "--policy", "serial,window", "--threads", "4", "--repeats", "5"];
    let found = json(&wrong(&more));
    let difference = &found["runs"][0]["policies"][1]["difference"];
    assert!(difference["words"].as_u64() > Some(0), "{found}");
    assert_ne!(difference["serial"], difference["found"], "{found}");
}

/// An order that was broken and did no harm is not taken for one that was kept.
#[test]
fn run_says_where_a_broken_order_did_no_harm() {
    let forget = ["run", "--no-work", "--policy", "serial", "--forget", "100"];
    for (more, note) in [
        (&["--verify"][..], "the memory is as after serial: no kernel that could come early did"),
        (&[], "without --verify the memory was not checked"),
    ] {
        let output = windlass(&[&forget[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(note), "{said}");
    }
}

/// The serial run that a difference is held against is none of the timeline's.
#[test]
fn the_timeline_is_that_of_the_last_policy_where_its_memory_is_wrong() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = directory.path().join("timeline.json");
    let out = file.to_string_lossy();
    let args = ["run", "--verify", "--no-work", "--dispatcher", "software", "--strict-algorithm1"];
    // A busy machine may run the threads one after another, but not every time; a serial run never overlaps.
    let overlaps = || {
        windlass(&[&args[..], &["--policy", "serial,window", "--threads", "4", "--timeline", &out]].concat());
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        let events = value["traceEvents"].as_array().expect("an array");
        events.iter().any(|e| e["tid"].as_u64() > Some(0))
    };
    assert!((0..20).any(|_| overlaps()), "kernels overlap under `window`");
}

#[test]
fn run_without_a_gpu_says_so() {
    let output = windlass(&["run", "mix-fork", "--executor", "cuda", "--policy", "serial", "--verify"]);
    if output.status.success() {
        eprintln!("SKIPPED: there is a GPU here, and it leaves {}", stdout(&output));
    } else {
        fails(
            &["run", "mix-fork", "--executor", "cuda", "--policy", "serial"],
            2,
            &["error: no CUDA device: "],
        );
    }
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = directory.path().join("profile.toml");
    let out = file.to_string_lossy();
    let output = windlass(&["calibrate", "--out", &out]);
    if output.status.success() {
        eprintln!("SKIPPED: there is a GPU here, and windlass calibrate works");
        assert!(file.exists());
    } else {
        fails(&["calibrate", "--out", &out], 2, &["error: no CUDA device: "]);
        assert!(!file.exists(), "nothing is written where nothing was measured");
    }
    fails(&["calibrate", "--base", "h1000"], 2, &["h1000", "h100"]);
}

#[test]
fn a_trace_that_does_not_run_keeps_no_other_from_it() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let bad = directory.path().join("bad.ktrace.jsonl");
    std::fs::write(&bad, "{").unwrap_or_else(|e| panic!("{e}"));
    let bad = bad.to_string_lossy();
    let args = ["run", "mix-fork", &bad, "mix-reduction", "--policy", "serial", "--no-work", "--scale", "64"];
    let output = windlass(&args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for words in ["bad.ktrace.jsonl: ", "error: 1 of 3 traces did not run"] {
        assert!(stderr.contains(words), "{stderr}");
    }
    let text = stdout(&output);
    assert_eq!(text.matches("policy ").count(), 2, "{text}");
    let value = json(&stdout(&windlass(&[&args[..], &["--json"]].concat())));
    assert_eq!(value["runs"].as_array().map(Vec::len), Some(2), "{value}");
}

#[test]
fn run_prints_one_json_object() {
    let args =
        ["run", "mix-fork", "mix-reduction", "--policy", "serial,streams,window", "--dispatcher", "software"];
    let more = ["--scale", "64", "--verify", "--repeats", "3", "--json"];
    let value = json(&succeeds(&[&args[..], &more].concat()));
    assert_eq!(value["repeats"], 3);
    let runs = value["runs"].as_array().expect("an array");
    assert_eq!(
        (runs.len(), &runs[0]["trace"], &runs[1]["trace"]),
        (2, &"mix-fork".into(), &"mix-reduction".into())
    );
    for run in runs {
        assert_eq!((&run["defined"], &run["decider"]), (&true.into(), &"software, 32 slots".into()));
        let policies = run["policies"].as_array().expect("an array");
        assert_eq!(policies.len(), 3);
        for policy in policies {
            let number = |name: &str| policy[name].as_f64().unwrap_or(-1.0);
            assert!(number("min_us") > 0.0 && number("min_us") <= number("p50_us"), "{policy}");
            assert!(number("p50_us") <= number("p99_us"), "{policy}");
            assert_eq!((&policy["verified"], &policy["difference"]), (&3.into(), &serde_json::Value::Null));
            assert_eq!(policy["counts"]["launches"], run["kernels"], "{policy}");
        }
        let one = |n: usize, name: &str| policies[n][name].as_f64().unwrap_or(-1.0);
        assert_eq!(one(0, "speedup"), 1.0);
        assert!((one(1, "speedup") - one(0, "p50_us") / one(1, "p50_us")).abs() < 1e-9, "{run}");
        assert!(one(0, "overlap") <= 1.0, "serial does not overlap: {run}");
    }
}

#[test]
fn run_compares_policies_in_turn() {
    let text = succeeds(&[
        "run",
        "mix-fork",
        "--scale",
        "64",
        "--compare",
        "--repeats",
        "2",
        "--policy",
        "serial,graph",
        "--no-work",
    ]);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    let row = |policy: &str| rows.iter().find(|r| r.first() == Some(&policy)).cloned().unwrap_or_default();
    // The model has no profile of this machine: no prediction on the cpu.
    assert_eq!((row("serial").len(), row("serial")[4]), (11, "1.00x"), "{text}");
    assert_eq!(&row("graph")[8..], ["-", "-", "-"], "{text}");
}

/// A timeline is JSON for Perfetto, of every kernel once; those that depend on each other do not overlap in it.
#[test]
fn run_writes_a_timeline() {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = directory.path().join("timeline.json");
    let out = file.to_string_lossy();
    let file_of = |trace: &str| format!("workloads/{trace}.ktrace.jsonl");
    for trace in ["brax-v1-ant-b256", "mix-fork"] {
        let args = ["run", trace, "--policy", "serial,streams", "--threads", "4", "--timeline", &out];
        succeeds(&args);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        let events = value["traceEvents"].as_array().expect("an array");
        assert_eq!(events[0]["args"]["name"], format!("{trace}, streams"));
        let source = windlass_runtime::ktrace::Trace::load(file_of(trace)).unwrap_or_else(|e| panic!("{e}"));
        let kernels: Vec<_> = source.kernels().collect();
        let mut times = vec![None; kernels.len()];
        for event in events.iter().filter(|e| e["ph"] == "X") {
            let k = event["args"]["kernel"].as_u64().expect("a number") as usize;
            let (start, length) =
                (event["ts"].as_f64().expect("a number"), event["dur"].as_f64().expect("a number"));
            assert_eq!(event["name"], kernels[k].name);
            assert!(times[k].replace((start, start + length)).is_none(), "kernel {k} ran once");
        }
        let times: Vec<(f64, f64)> = times.into_iter().map(|t| t.expect("each kernel ran")).collect();
        let mut pairs = 0;
        for later in 0..times.len() {
            for earlier in 0..later {
                if depends(kernels[earlier], kernels[later]) {
                    pairs += 1;
                    // To the nanosecond that the file gives.
                    assert!(times[earlier].1 <= times[later].0 + 0.0015, "{trace}: {earlier} and {later}");
                }
            }
        }
        assert!(pairs > 10, "{trace}: {pairs} pairs of kernels depend on each other");
    }
    let file = directory.path().join("timeline.json.gz");
    succeeds(&["run", "mix-fork", "--policy", "serial", "--timeline", &file.to_string_lossy()]);
    let text = unpacked(&std::fs::read(&file).unwrap_or_else(|e| panic!("{e}")));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(value["traceEvents"].as_array().map(Vec::len), Some(49), "48 kernels and a name");
    fails(&["run", "mix-fork", "--timeline", "/proc/nowhere/t"], 2, &["/proc/nowhere/t"]);
}

/// RAW, WAR or WAW, by its definition.
fn depends(a: &windlass_runtime::ktrace::Kernel, b: &windlass_runtime::ktrace::Kernel) -> bool {
    let share = |x: &[windlass_runtime::ktrace::Segment], y: &[windlass_runtime::ktrace::Segment]| {
        x.iter().any(|s| y.iter().any(|t| s.addr.max(t.addr) < s.end().min(t.end())))
    };
    share(&a.writes, &b.reads) || share(&a.reads, &b.writes) || share(&a.writes, &b.writes)
}

#[test]
fn run_scales_memory_and_says_so() {
    let args = ["run", "--scale", "64", "--policy", "serial,streams", "--verify", "--no-work"];
    let output = windlass(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(note.contains("note: brax-v1-ant-b256: memory divided by 64, overlaps kept"), "{note}");
    assert!(stdout(&output).contains(", memory divided by 64"), "{}", stdout(&output));
    assert_eq!(memory_by_policy(&stdout(&output)).len(), 2);
    let output = windlass(&["run", "--scale", "1", "--policy", "serial", "--no-work"]);
    assert!(output.status.success() && output.stderr.is_empty(), "nothing was divided: {output:?}");
}

#[test]
fn options_of_fpgas_need_an_fpga() {
    for option in ["--fpga-seeds", "--fpga-limit"] {
        fails(&["report", "--no-area", option, "7"], 2, &["--fpga"]);
    }
}

#[test]
fn run_says_what_is_possible() {
    fails(
        &["run", "--policy", "streams,stream"],
        2,
        &["no policy `stream`", "streams-ace", "graph-cached", "all"],
    );
    fails(&["run", "--scale", "0", "--policy", "serial"], 2, &["the scale is 0; choose 1", "--scale"]);
    fails(&["run", "--repeats", "0"], 2, &["--repeats 0", "choose 1 or more"]);
    fails(&["run", "--timeout", "0"], 2, &["--timeout 0", "choose 1 second or more"]);
    for (idle, words) in [
        (&["--device", "7"][..], "--executor cuda"),
        (&["--executor", "cuda", "--no-work"], "--no-work belongs to the executor cpu"),
        (&["--executor", "cuda", "--threads", "2"], "--threads belongs to the executor cpu"),
        (&["--policy", "serial", "--launchers", "1"], "--launchers belongs to the policy `streams` or `pdl`"),
        (
            &["--policy", "graph", "--graph-window", "8"],
            "--graph-window belongs to the policy `graph-cached`",
        ),
        (&["--policy", "serial", "--slots", "77"], "--slots belongs to the policy `streams-ace` or `window`"),
        (&["--policy", "serial", "--dispatcher", "software"], "--dispatcher belongs to the policy `window`"),
        (&["--policy", "serial", "--window", "list"], "--window belongs to the policy `window`"),
        (&["--policy", "graph", "--lanes", "2"], "--lanes belongs to the policy `window`"),
        (&["--dispatcher", "software", "--window", "list"], "--window belongs to a scheduler in hardware"),
        (&["--always-overlap"], "--always-overlap belongs to the executor cuda"),
        (
            &["--executor", "cuda", "--policy", "serial", "--always-overlap"],
            "--always-overlap belongs to the policy `streams` or `pdl`",
        ),
        (&["--policy", "streams-ace", "--slots", "2"], "holds 4 to 512 kernels"),
    ] {
        fails(&[&["run", "mix-fork"], idle].concat(), 2, &[words]);
    }
    fails(&["run", "--streams", "0"], 2, &["--streams 0", "choose 1 or more"]);
    fails(&["run", "--slots", "5"], 2, &["--slots 5 is not compiled in", "4, 8, 16"]);
    fails(&["run", "--slots", "0", "--dispatcher", "software"], 2, &["--slots 0", "choose 1 or more"]);
    fails(
        &["run", "--forget", "433", "--policy", "serial"],
        2,
        &["--forget 433", "433 kernels, numbered from 0"],
    );
    fails(&["run", "--graph-window", "3", "--policy", "graph-cached"], 2, &["--graph-window 3", "4 to 512"]);
    fails(&["run", "--in-flight", "513", "--policy", "streams"], 2, &["--in-flight 513", "4 to 512"]);
    fails(&["run", "--lookahead", "0", "--policy", "pdl"], 2, &["--lookahead 0: choose 1 to 512"]);
    fails(&["run", "--gpu", "rtx9999", "--policy", "serial"], 2, &["rtx9999", "rtx3070"]);
    fails(&["run", "nowhere", "--policy", "serial"], 2, &["nowhere: No such file", "built in: brax"]);
    fails(&["run", "workloads", "--timeline", "t.json"], 2, &["--timeline", "one trace"]);
}

#[test]
fn a_report_forgets_the_figures_of_an_older_one_in_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let (out, mine) = (out.to_str().expect("a path"), out.join("figures/mine.svg"));
    let from = "gen/tests/data/report.json";
    succeeds(&["report", "--from", from, "--out", out]);
    let figures = || std::fs::read_dir(format!("{out}/figures")).expect("figures").count();
    let first = figures();
    std::fs::write(&mine, "mine").expect("written");
    succeeds(&["report", "--block", "find_first", "--slots", "4", "--no-area", "--out", out]);
    assert!(mine.exists() && figures() < first, "{first} figures, and now {}", figures());
}

#[test]
fn options_say_what_they_cannot_do() {
    fails(&["gen", "--block", "window_matrix", "--gpu", "rtx3070"], 2, &["--gpu", "this block has no SMs"]);
    fails(&["cosim", "--kernel-end", "1073741825"], 2, &["--kernel-end"]);
}

#[test]
fn proofs_are_written_for_other_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("a path");
    let front_end = ["prove", "--block", "front_end", "--covers", "12", "--write", out];
    let written = json(&succeeds(&[&front_end[..], &["--json"]].concat()));
    let names = ["design.v", "properties.sv", "parts.sv", "lemmas.sv", "harness.sv", "prove.sby"];
    let paths: Vec<String> = names.iter().map(|name| format!("{out}/{name}")).collect();
    assert_eq!(written["files"], serde_json::json!(paths));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let sby = read("prove.sby");
    assert!(sby.contains("prove: depth 2\n") && sby.contains("cover: depth 12\n"), "{sby}");
    assert!(sby.contains("read_verilog -formal -sv properties.sv parts.sv lemmas.sv harness.sv\n"), "{sby}");
    assert!(read("harness.sv").contains("front_end_lemmas #("), "no lemmas");
    // What is only looked at for some cycles needs none.
    succeeds(&["prove", "--block", "front_end", "--bounded", "--write", out]);
    assert!(!read("harness.sv").contains("_lemmas #(") && !read("prove.sby").contains("mode prove"));
    fails(&["prove", "--write", out, "--both-windows"], 2, &["--write", "--both-windows"]);
}

#[test]
fn shells_complete_the_command_line() {
    for (shell, word) in
        [("bash", "complete "), ("zsh", "#compdef windlass"), ("fish", "complete -c windlass")]
    {
        let text = succeeds(&["completions", shell]);
        assert!(
            text.contains(word) && text.contains("kernel-end") && text.contains("explore"),
            "{shell}: {text}"
        );
    }
    assert_eq!(run(&["completions", "cmd"], &[]).status.code(), Some(2));
}

#[test]
fn doctor_knows_every_tool() {
    let value = json(&succeeds(&["doctor", "--json"]));
    assert_eq!(value["tools"].as_array().map(Vec::len), Some(8));
    for (found, error) in [("cuda_driver", "cuda_driver_error"), ("nvrtc", "nvrtc_error")] {
        assert_ne!(value[found].is_string(), value[error].is_string(), "{value}");
    }
    let output = run(&["doctor"], &[("VERILATOR", "/nonexistent/verilator")]);
    assert_eq!(output.status.code(), Some(1), "a missing tool is status 1");
    assert!(stdout(&output).contains("apt-get install verilator"), "{}", stdout(&output));
}

#[test]
fn prove_says_what_holds() {
    let report = json(&succeeds(&["prove", "--block", "find_first", "--json"]));
    assert_eq!(report["top"], "find_first_n8", "{report}");
    assert_eq!(report["properties"][0]["verdict"], "proved", "{report}");
    // A state that is not reached in time is not a success.
    let said = windlass(&["prove", "--block", "window_matrix", "--slots", "4", "--covers", "1"]);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stdout).contains("NOT REACHED in 1 cycle "), "{said:?}");
    fails(&["prove", "--depth", "0"], 2, &["--depth", "1..=10000"]);
    fails(&["prove", "--covers", "10001"], 2, &["--covers", "0..=10000"]);
    fails(&["prove", "--block", "nothing"], 2, &["nothing", "window_matrix"]);
}

#[test]
fn mutate_says_what_the_bench_misses() {
    let small = ["mutate", "--block", "round_robin", "--slots", "8", "--mutants", "30"];
    // In twenty cycles not all can be noticed, and without a proof what is not survives.
    let missed = [&small[..], &["--cycles", "20", "--prove", "0"]].concat();
    let said = windlass(&missed);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let text = String::from_utf8_lossy(&said.stdout);
    let survivors = text.matches("\nsurvived: ").count();
    assert!(survivors > 0 && text.contains("input bits that the bench never moves"), "{text}");
    let said = windlass(&[&missed[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(report["survived"], survivors, "{report}");
    assert_eq!(report["caught"].as_u64().unwrap() + survivors as u64, 30, "{report}");
    // Longer, and with proofs, nothing is left.
    let said = succeeds(&[&small[..], &["--cycles", "3000", "--again", "4000", "--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["score_percent"], 100.0);
    assert_eq!((&report["format_version"], &report["cycles"]), (&3.into(), &vec![3000, 4000].into()));
    fails(&["mutate", "--block", "nothing"], 2, &["nothing", "window_matrix"]);
    // What proofs need is looked for before the mutants are made.
    let said = run(&small, &[("YICES", "/nonexistent")]);
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(2), "{talk}");
    assert!(talk.contains("YICES") && !talk.contains("compiling"), "{talk}");
}

#[test]
fn import_pytorch_writes_what_trace_and_cosim_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = "import/tests/data";
    let out = folder.path().join("net.ktrace.jsonl.zst");
    let out = out.to_str().unwrap();
    let trace = format!("{data}/squeezenet1_1.et.json.zst");
    let said = succeeds(&["import", "pytorch", &trace, "--gpu", "rtx3070", "--out", out]);
    assert!(said.starts_with("net (90 kernels)\n"), "{said}");
    let said = succeeds(&["trace", out]);
    assert!(said.contains("90 (26 TENSOR, 64 SIMT, 0 COPY)"), "{said}");
    // By default the same bytes each time.
    let first = std::fs::read(out).unwrap();
    succeeds(&["import", "pytorch", &trace, "--gpu", "rtx3070", "--out", out]);
    assert_eq!(first, std::fs::read(out).unwrap());
    // What is in doubt is said, what is not a trace refused.
    let (trace, profile) =
        (format!("{data}/by-hand-cuda.et.json"), format!("{data}/by-hand-cuda.kineto.json"));
    let said = windlass(&["import", "pytorch", &trace, "--kineto", &profile, "--name", "mine", "--out", out]);
    assert!(stdout(&said).starts_with("mine (10 kernels)\n"), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("mystery_kernel (1)"), "{said:?}");
    let args = ["cosim", out, "--gpu", "a100", "--policy", "window", "--dispatcher", "behavioural"];
    succeeds(&args);
    fails(
        &["import", "pytorch", &profile, "--out", out],
        2,
        &["this is a profile", "ExecutionTraceObserver"],
    );
    fails(&["import", "pytorch", "nowhere.json", "--out", out], 2, &["nowhere.json: No such file"]);
    // Nothing at all is a trace, too, but hardly what was meant.
    let empty = folder.path().join("empty.et.json");
    std::fs::write(&empty, r#"{"schema": "1.1.1", "nodes": []}"#).unwrap();
    let said = windlass(&["import", "pytorch", empty.to_str().unwrap(), "--out", out]);
    assert!(stdout(&said).starts_with("net (0 kernels)\n"), "{said:?}");
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("empty.et.json: the trace has no kernels"),
        "{said:?}"
    );
}

#[test]
fn import_onnx_writes_what_trace_and_cosim_read() {
    let folder = tempfile::tempdir().unwrap();
    let model = "import/tests/data/squeezenet1_1.onnx";
    let out = folder.path().join("net.ktrace.jsonl.zst");
    let out = out.to_str().unwrap();
    let said = succeeds(&["import", "onnx", model, "--gpu", "rtx3070", "--out", out]);
    assert!(said.starts_with("net (90 kernels)\n"), "{said}");
    let said = succeeds(&["trace", out]);
    assert!(said.contains("90 (26 TENSOR, 64 SIMT, 0 COPY)"), "{said}");
    let first = std::fs::read(out).unwrap();
    succeeds(&["import", "onnx", model, "--gpu", "rtx3070", "--out", out]);
    assert_eq!(first, std::fs::read(out).unwrap());
    succeeds(&[
        "import",
        "onnx",
        model,
        "--in-place",
        "--no-reuse",
        "--tf32",
        "--name",
        "mine",
        "--out",
        out,
    ]);
    assert!(succeeds(&["trace", out]).contains("97 after transitive reduction"));
    succeeds(&["cosim", out, "--policy", "window", "--dispatcher", "behavioural"]);
    // Without --out the trace is the result, under the model's name.
    assert!(succeeds(&["import", "onnx", model]).contains(r#""name":"squeezenet1_1""#));
    // Corpora of the fuzzer have named sizes, and an operator of their own.
    let recurrent = "fuzz/corpus/import/onnx_recurrent";
    let sizes = ["--dim", "length=5", "--dim", "found=9", "--dim", "ow[0]=5", "--out", out];
    let said = windlass(&[&["import", "onnx", recurrent][..], &sizes].concat());
    assert!(String::from_utf8_lossy(&said.stderr).contains("mine::Own (1)"), "{said:?}");
    fails(&["import", "onnx", recurrent, "--out", out], 2, &["input x", "--dim 'length=N'"]);
    fails(&["import", "onnx", "README.md", "--out", out], 2, &["README.md: it is not an ONNX model"]);
    fails(&["import", "onnx", "nowhere.onnx", "--out", out], 2, &["nowhere.onnx: No such file"]);
}

/// What is read is still there afterwards.
#[test]
fn outputs_do_not_replace_what_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let trace = file("a.ktrace.jsonl");
    succeeds(&["mix", "fork", "--out", &trace]);
    let before = std::fs::read(&trace).expect("the trace");
    let beside = format!("{}/./a.ktrace.jsonl", folder.path().display());
    let link = file("link");
    std::os::unix::fs::symlink(&trace, &link).expect("a link");
    let cosim = ["cosim", &trace, "--dispatcher", "behavioural", "--policy", "queue", "--timeline"];
    for args in [
        [&cosim[..], &[&trace]].concat(),
        [&cosim[..], &[&beside]].concat(),
        [&cosim[..], &[&link]].concat(),
        vec!["trace", &trace, "--rename", "0,1x", "--figure", &trace],
        vec!["trace", "explain", &trace, "--kernel", "3", &format!("--dot={trace}")],
        vec!["run", &trace, "--policy", "serial", "--timeline", &trace],
        vec!["import", "onnx", &trace, "--out", &trace],
    ] {
        let output = windlass(&args);
        let said = error_of(&output);
        assert!(
            output.status.code() == Some(2) && said.contains("is read; give another file"),
            "{args:?}: {said}"
        );
        assert_eq!(std::fs::read(&trace).expect("the trace"), before, "{args:?}");
    }
    // Nor does one output replace another.
    let both = file("both");
    let output = windlass(&[&cosim[..], &[&both, "--wave", &both]].concat());
    assert!(error_of(&output).contains("both write") && !Path::new(&both).exists(), "{output:?}");
}

/// A report that is worse must not be what the next one is compared with; a report keeps what it was compared with.
#[test]
fn a_baseline_stays_and_so_does_what_was_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let report = "gen/tests/data/report.json";
    let (out, old) = (file("out"), file("out/report.json"));
    std::fs::create_dir(&out).expect("a folder");
    std::fs::copy(report, &old).expect("a baseline");
    let output = windlass(&["report", "--from", report, "--baseline", &old, "--out", &out]);
    assert!(error_of(&output).contains("--baseline") && output.status.code() == Some(2), "{output:?}");
    let elsewhere = file("elsewhere");
    let _ = windlass(&["report", "--from", report, "--baseline", &old, "--out", &elsewhere]);
    let again = windlass(&["report", "--from", &file("elsewhere/report.json")]);
    assert!(again.status.success() && stdout(&again).contains("Against the baseline"), "{}", stdout(&again));
}

//! `windlass explore` as its users meet it: what it finds, going on after an interruption, failures, and what it says.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn windlass(args: &[&str]) -> Output {
    command(args).output().unwrap_or_else(|e| panic!("{e}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"))
}

/// Results, without the finished pieces.
fn results(directory: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{e}"));
    let paths = entries.map(|entry| entry.unwrap_or_else(|e| panic!("{e}")).path());
    let mut files: Vec<_> = paths
        .filter(|path| path.is_file())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{e}"));
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text)
        })
        .collect();
    files.sort();
    files
}

fn pieces(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(directory.join("points")).map(|d| d.flatten().map(|e| e.path()).collect());
    let mut pieces: Vec<_> = entries.unwrap_or_default();
    pieces.retain(|path| path.extension().is_some_and(|e| e == "json"));
    pieces.sort();
    pieces
}

/// Two small streams, chains of two kernels that overlap.
fn traces() -> tempfile::TempDir {
    let directory = directory();
    for (name, kernels) in [("a", 6), ("b", 10)] {
        let header = format!(
            r#"{{"e":"trace","ktrace":1,"name":"{name}","source":"","producer":"","gpu":{{"name":"assumed"}},"params":{{}},"kernels":{kernels},"notes":""}}"#
        );
        let lines = (0..kernels).map(|i| {
            let kind = if i % 2 == 0 { "SIMT" } else { "TENSOR" };
            let (read, write) = (4096 * (i / 2 * 2 + 1), 4096 * (i + 1));
            format!(
                r#"{{"e":"k","i":{i},"name":"k","op":"","type":"{kind}","grid":[3,1,1],"block":[32,1,1],"smem":0,"flops":1000000,"r":[[{read},64]],"w":[[{write},64]]}}"#
            )
        });
        let text: Vec<String> = std::iter::once(header).chain(lines).collect();
        let path = directory.path().join(format!("{name}.ktrace.jsonl"));
        std::fs::write(path, text.join("\n")).unwrap_or_else(|e| panic!("{e}"));
    }
    directory
}

/// Two sizes, both arbiters, two workloads, without tools.
fn small(traces: &Path, out: &Path, more: &[&str]) -> Output {
    small_of(traces, out, more).output().unwrap_or_else(|e| panic!("{e}"))
}

fn small_of(traces: &Path, out: &Path, more: &[&str]) -> Command {
    let (traces, out) = (traces.to_string_lossy(), out.to_string_lossy());
    let common = [
        "explore",
        "--slots",
        "4,8",
        "--window",
        "matrix",
        "--no-area",
        "--dispatcher",
        "behavioural",
        "--sms",
        "16",
        "--jobs",
        "2",
        "--workloads",
        &traces,
        "--out",
        &out,
    ];
    command(&[&common[..], more].concat())
}

#[test]
fn a_trace_from_stdin_is_known_by_its_bytes() {
    let (out, traces) = (directory(), traces());
    let file = traces.path().join("a.ktrace.jsonl");
    assert!(small(&file, out.path(), &[]).status.success());
    let (pieces_of_file, of_file) = (pieces(out.path()), results(out.path()));
    assert_eq!(pieces_of_file.len(), 4);

    let fed = |name: &str| {
        let trace = std::fs::File::open(traces.path().join(name)).unwrap_or_else(|e| panic!("{e}"));
        let output = small_of(Path::new("-"), out.path(), &[]).stdin(Stdio::from(trace)).output();
        let output = output.unwrap_or_else(|e| panic!("{e}"));
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    assert_eq!(fed("a.ktrace.jsonl"), "", "nothing is left to do");
    assert_eq!(pieces(out.path()), pieces_of_file);
    let csv = |results: Vec<(String, String)>| -> Vec<_> {
        results.into_iter().filter(|(name, _)| name.ends_with(".csv")).collect()
    };
    assert_eq!(csv(results(out.path())), csv(of_file));
    assert!(fed("b.ktrace.jsonl").contains("[4/4]"), "another trace is another workload");
    assert_eq!(pieces(out.path()).len(), 8);
}

#[test]
fn an_interrupted_run_goes_on_and_gives_the_same_bytes() {
    let (whole, parts, traces) = (directory(), directory(), traces());
    let output = small(traces.path(), whole.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(pieces(whole.path()).len(), 8);

    let output = small(traces.path(), parts.path(), &["--stop-after", "1"]);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    assert!(stderr(&output).contains("the same command goes on from there"), "{}", stderr(&output));
    let kept = pieces(parts.path());
    assert!((1..=2).contains(&kept.len()), "one that was finished, and one that was at work: {kept:?}");
    let times = |paths: &[std::path::PathBuf]| -> Vec<_> {
        paths.iter().map(|p| p.metadata().and_then(|m| m.modified()).ok()).collect()
    };
    let before = times(&kept);
    // One that is damaged is made again.
    std::fs::write(&kept[0], "{").unwrap_or_else(|e| panic!("{e}"));
    let output = small(traces.path(), parts.path(), &["--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(times(&kept)[1..], before[1..], "what was finished is not made again");
    assert_eq!(results(whole.path()), results(parts.path()));
    let json =
        results(whole.path()).into_iter().find(|(name, _)| name == "explore.json").map(|(_, text)| text);
    assert_eq!(json.as_deref(), Some(&*String::from_utf8_lossy(&output.stdout)));
    assert_eq!(pieces(whole.path()).len(), pieces(parts.path()).len());
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    let out = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args([
        "explore",
        "--no-area",
        "--dispatcher",
        "behavioural",
        "--jobs",
        "1",
        "--slots",
        "4,8,16,24,32,48,64",
    ]);
    command.arg("--out").arg(out.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{e}"));
    let begin = std::time::Instant::now();
    while pieces(out.path()).is_empty() {
        assert!(child.try_wait().is_ok_and(|ended| ended.is_none()), "it ended without a piece");
        assert!(begin.elapsed().as_secs() < 120, "no piece is finished");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|s| s.success()));
    let output = child.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("pieces are finished and kept in"), "{}", stderr(&output));
    assert!(!out.path().join("explore.json").exists(), "nothing half done is written");
}

#[test]
fn results_are_complete_and_say_what_to_build() {
    let (out, traces) = (directory(), traces());
    let output = small(traces.path(), out.path(), &["--json", "--sms", "8,16"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report["format_version"], 3);
    let points = report["points"].as_array().expect("an array");
    let names: Vec<String> =
        points.iter().map(|p| format!("{} {} {}", p["sms"], p["slots"], p["arbiter"])).collect();
    let expected = [
        "8 4 \"single\"",
        "8 4 \"typed\"",
        "8 8 \"single\"",
        "8 8 \"typed\"",
        "16 4 \"single\"",
        "16 4 \"typed\"",
        "16 8 \"single\"",
        "16 8 \"typed\"",
    ];
    assert_eq!(names, expected);
    for point in points {
        assert!(point["speedup"].as_f64().is_some_and(|s| s > 0.5), "{point}");
        let runs = point["runs"].as_array().expect("an array");
        assert_eq!(runs.len(), 2);
        for run in runs {
            let cycles = |name: &str| run[name].as_f64().expect("a number");
            let over_queue = cycles("queue_cycles") / cycles("window_cycles");
            assert!((run["over_queue"].as_f64().expect("a number") - over_queue).abs() < 1e-6, "{run}");
            assert!(cycles("queue_cycles") < cycles("serial_cycles"), "{run}");
        }
        assert!(point["cycles_per_kernel"].as_f64().is_some_and(|c| c > 0.0), "{point}");
        assert!(point["cost"].is_null() && point["front_area"] == false);
    }
    let advice = report["advice"].as_array().expect("an array");
    assert_eq!(advice.len(), 2, "one sentence for each number of SMs");
    for (advice, sms) in advice.iter().zip([8, 16]) {
        let sentence = advice["sentence"].as_str().unwrap_or_default();
        let begins = format!("On rtx3070 with {sms} SMs, for these 2 workloads, ");
        assert!(sentence.starts_with(&begins), "{sentence}");
        let fastest = advice["fastest"].as_u64().expect("a place") as usize;
        assert_eq!(points[fastest]["sms"], sms);
        let best = |p: &&serde_json::Value| {
            p["sms"] == sms && p["over_queue"].as_f64() > points[fastest]["over_queue"].as_f64()
        };
        assert!(!points.iter().any(|p| best(&p)));
    }
    let files = results(out.path());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["explore.json", "explore.md", "points.csv", "runs.csv", "speedup-time.svg"]);
    let text = |name: &str| files.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text);
    assert_eq!((text("points.csv").lines().count(), text("runs.csv").lines().count()), (9, 17));
    assert!(text("explore.md").contains("8 SMs instead of its 46, all else as in its profile"));
    assert!(text("explore.md").contains("Data of the figure: `points.csv`"), "there is one");
    assert!(
        !text("explore.md").contains(&*out.path().to_string_lossy()),
        "no folder of this run in the results"
    );
}

/// A column of latencies has a mean, in which zeros would count.
#[test]
fn a_latency_of_no_kernel_is_left_empty() {
    let (out, traces) = (directory(), directory());
    let text = r#"{"e":"trace","ktrace":1,"name":"one","source":"","producer":"","gpu":{"name":"assumed"},"params":{},"kernels":1,"notes":""}
{"e":"k","i":0,"name":"k","op":"","type":"SIMT","grid":[3,1,1],"block":[32,1,1],"smem":0,"flops":1000000,"r":[],"w":[[0,64]]}"#;
    std::fs::write(traces.path().join("one.ktrace.jsonl"), text).unwrap_or_else(|e| panic!("{e}"));
    let output = small(traces.path(), out.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let runs = std::fs::read_to_string(out.path().join("runs.csv")).unwrap_or_else(|e| panic!("{e}"));
    let rows: Vec<Vec<&str>> = runs.lines().map(|line| line.split(',').collect()).collect();
    let [titles, values, ..] = &rows[..] else { panic!("{runs}") };
    let of = |title: &str| values[titles.iter().position(|t| *t == title).expect("a column")];
    for (latency, expected) in [
        ("insert", ["1", "1", "1", "1"]),
        ("retire_to_dispatch", ["0", "", "", ""]),
        ("done_to_first_cta", ["0", "", "", ""]),
    ] {
        let found = ["count", "min", "median", "max"].map(|measure| of(&format!("{latency}_{measure}")));
        assert_eq!(found, expected, "{latency}");
    }
}

#[test]
fn what_fails_does_not_lose_the_rest() {
    let (out, traces) = (directory(), traces());
    let output = small(traces.path(), out.path(), &["--slots", "12"]);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for words in [
        "failed: 16 SMs, N = 12 (matrix, typed): --slots 12 is not compiled in",
        "2 of 6 designs did not run on all",
    ] {
        assert!(stdout.contains(words), "{stdout}");
    }
    assert_eq!(stdout.matches("failed: ").count(), 2, "once per design: {stdout}");
    assert!(stderr.contains("2 failed"), "{stderr}");
    assert_eq!(pieces(out.path()).len(), 8);
}

#[test]
fn a_real_exploration_with_area() {
    let out = directory();
    let path = out.path().to_string_lossy();
    let common = [
        "explore",
        "--slots",
        "4,8",
        "--window",
        "matrix",
        "--arbiter",
        "single",
        "--sms",
        "8",
        "--workloads",
        "mix-fork",
        "--dispatcher",
        "behavioural",
        "--flow",
        "area",
        "--out",
        &path,
    ];
    let output = windlass(&[&common[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}"));
    let areas: Vec<f64> = (0..2).filter_map(|p| report["points"][p]["cost"]["area_um2"].as_f64()).collect();
    assert!(areas.len() == 2 && areas[0] < areas[1] && areas[0] > 1e5, "{areas:?}");
    assert_eq!(report["points"][0]["front_area"], true, "the smallest is always on it");
    let figure =
        std::fs::read_to_string(out.path().join("speedup-area.svg")).unwrap_or_else(|e| panic!("{e}"));
    assert!(figure.contains("osu018") && figure.contains("</svg>"), "{figure}");
    // What an area is stands beside it wherever it is.
    assert!(figure.contains("estimate after synthesis"), "{figure}");
    assert_eq!(report["synthesis"]["area_label"], "estimate after synthesis, before layout");
    let csv = std::fs::read_to_string(out.path().join("points.csv")).unwrap_or_else(|e| panic!("{e}"));
    let ends: Vec<&str> = csv.lines().filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(ends, ["library", "osu018_stdcells", "osu018_stdcells"]);
    let text = windlass(&[&common[..], &["--keep", "99.9"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let said = "Areas: estimate after synthesis, before layout: Yosys";
    assert!(
        text.contains(said) && text.contains("osu018_stdcells") && text.contains("keeps 99.9 %"),
        "{text}"
    );
}

#[test]
fn errors_say_what_is_possible() {
    let fails = |args: &[&str], words: &[&str]| {
        let out = directory();
        let path = out.path().to_string_lossy();
        let output = windlass(&[&["explore", "--no-area", "--out", &path], args].concat());
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{args:?}: `{stderr}` does not say `{word}`");
        }
    };
    let empty = directory();
    fails(
        &["--workloads", "mix-frok"],
        &["mix-frok: No such file", "built in: brax-v1-ant-b256, mix-pipeline"],
    );
    fails(&["--workloads", &empty.path().to_string_lossy()], &["this folder has no traces"]);
    fails(&["--jobs", "0"], &["--jobs", "0 is not in 1.."]);
    fails(&["--keep", "120"], &["--keep 120", "0 to 100"]);
    fails(&["--gpu", "gtx480"], &["no profile `gtx480`", "rtx3070"]);
    fails(&["--sms", "0"], &["--sms 0", "1 to 192"]);
    fails(&["--sms", "46,193"], &["--sms 193", "1 to 192"]);
    fails(&["--workloads", "Cargo.toml"], &["Cargo.toml"]);
    let output = windlass(&["explore", "--out", "/proc/nowhere", "--no-area", "--workloads", "mix-fork"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/proc/nowhere"), "{}", stderr(&output));
    let output = windlass(&["explore", "--library", "osu019"]);
    assert!(stderr(&output).contains("osu018, nangate45"), "{}", stderr(&output));
}

#[test]
fn what_surrounds_the_front_ends_is_explored_and_said() {
    let (traces, out) = (traces(), directory());
    let explored = |more: &[&str]| {
        let output = small(traces.path(), out.path(), &[&["--json"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_else(|e| panic!("{e}"))
    };
    let (plain, late) = (explored(&[]), explored(&["--kernel-end", "2000", "--driver-launch"]));
    // Not the finished pieces of the run before.
    let speedup = |report: &serde_json::Value| report["points"][0]["speedup"].as_f64().unwrap_or_default();
    assert!(speedup(&late) > 0.0 && speedup(&late) < 0.9 * speedup(&plain), "{plain} {late}");
    let sentence =
        |report: &serde_json::Value| report["advice"][0]["sentence"].as_str().unwrap_or("").to_string();
    assert!(
        sentence(&late).contains("with 16 SMs, kernels ending 2000 ns late, driver launches, for these 2")
    );
    // What is not as by default in all front ends, and so in no column.
    let ids = ["--pipelined", "--retire-ports", "1", "--scheduled", "64", "--lanes", "2", "--active", "4"];
    let said = sentence(&explored(&[&ids[..], &["--kernel-end", "9"]].concat()));
    let words = "with 16 SMs, pipelined, 1 retire ports, M = 64, 2 ids per beat, 4 active kernels per type, kernels ending 9 ns late, for";
    assert!(said.contains(words), "{said}");
    let said = sentence(&explored(&["--encoding", "mask", "--retire-ports", "2", "--active", "2"]));
    assert!(said.contains("with 16 SMs, masks in packets, for"), "{said}");
    assert!(sentence(&plain).contains("with 16 SMs, for these 2") && plain.get("conditions").is_none());
    let slow = explored(&["--front-end-mhz", "50"]);
    assert!(speedup(&slow) < speedup(&plain) && sentence(&slow).contains("front ends at 50 MHz"), "{slow}");
    let time = |report: &serde_json::Value| {
        ["cycles_per_kernel", "ns_per_kernel"]
            .map(|name| report["points"][0][name].as_f64().unwrap_or_default())
    };
    let [cycles, ns] = time(&slow);
    assert_eq!((cycles * 20.0, &slow["front_end_mhz"]), (ns, &50.into()));
    // In SM clock cycles, whatever the front end's clock is.
    let run = &slow["points"][0]["runs"][0];
    let [window, kernels, us] = ["window_cycles", "kernels", "us_per_kernel"]
        .map(|name| run[name].as_f64().unwrap_or_else(|| panic!("{run}")));
    let clock = slow["clock_mhz"].as_f64().expect("a clock");
    assert!((window / clock / kernels - us).abs() < 1e-3, "{run}");
    let held = explored(&["--hold-idle", "--kernel-end", "0"]);
    assert_eq!(held["conditions"], "SMs that stand still while nothing is asked of them");
    // A ring that stood still is elsewhere: CTAs may go to other SMs, and hardly any earlier or later.
    assert!((speedup(&held) / speedup(&plain) - 1.0).abs() < 0.02, "{held} {plain}");
    let renamed = explored(&["--rename", "64M"]);
    assert_eq!(renamed["conditions"], "renaming within 67108864 bytes");
}

#[test]
fn several_places_are_explored_as_designs_of_their_own() {
    let (traces, out) = (traces(), directory());
    let output = small(traces.path(), out.path(), &["--json", "--arbiter", "single", "--places", "4,1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}"));
    let points = report["points"].as_array().expect("an array");
    let places: Vec<u64> = points.iter().filter_map(|p| p["places"].as_u64()).collect();
    assert_eq!(places, [1, 4, 1, 4]);
    let table = std::fs::read_to_string(out.path().join("explore.md")).unwrap_or_else(|e| panic!("{e}"));
    assert!(table.contains("| 4 | matrix | single x4 |") && table.contains("x2, x4: an arbiter"), "{table}");
    let output = small(traces.path(), out.path(), &["--places", "3"]);
    assert!(
        stderr(&output).contains("--places 3 is not compiled in; possible: 1, 2, 4"),
        "{}",
        stderr(&output)
    );
}

/// A clock for each design: that of its netlist.
const OWN_CLOCK: [&str; 2] = ["--front-end-mhz", "own"];

const ONE_DESIGN: [&str; 8] = ["--slots", "4", "--window", "matrix", "--sms", "8", "--arbiter", "single"];

#[test]
fn a_clock_of_its_own_and_wires_need_a_netlist_that_is_sized() {
    let (traces, out) = (traces(), directory());
    let output = small(traces.path(), out.path(), &OWN_CLOCK);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--flow quick or full, or give a number"), "{}", stderr(&output));

    let (traces, path) = (traces.path().to_str().expect("a path"), out.path().to_str().expect("a path"));
    let rest = ["--dispatcher", "behavioural", "--workloads", traces, "--gpu", "rtx3070", "--out", path];
    let area = windlass(&[&["explore", "--wires", "--flow", "area"], &ONE_DESIGN[..], &rest].concat());
    assert_eq!(area.status.code(), Some(2));
    assert!(stderr(&area).contains("--wires takes one netlist of each design"), "{}", stderr(&area));
}

#[test]
#[ignore = "a whole front end is sized, which takes a minute; ./test.sh --long runs it"]
fn each_front_end_has_the_clock_of_its_netlist() {
    let (traces, out) = (traces(), directory());
    let (traces, path) = (traces.path().to_str().expect("a path"), out.path().to_str().expect("a path"));
    let rest =
        ["--dispatcher", "behavioural", "--workloads", traces, "--gpu", "rtx3070", "--out", path, "--json"];
    let output = windlass(&[&["explore"], &ONE_DESIGN[..], &OWN_CLOCK, &rest].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}"));
    let point = &report["points"][0];
    let reached = point["cost"]["fmax_mhz"].as_f64().expect("a clock");
    assert_eq!(point["front_end_mhz"].as_f64(), Some(reached.floor()));
    assert!(report["front_end_mhz"].is_null() && reached < 1000.0, "{report}");
    let sentence = report["advice"][0]["sentence"].as_str().unwrap_or("");
    assert!(sentence.contains("each front end at its own clock"), "{sentence}");
    let [cycles, ns] =
        ["cycles_per_kernel", "ns_per_kernel"].map(|name| point[name].as_f64().expect("a time"));
    assert!((cycles * 1000.0 / reached.floor() - ns).abs() < 1e-2, "{point}");
}

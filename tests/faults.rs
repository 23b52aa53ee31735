//! Killed, interrupted, out of space, without a cache: nothing under its final name is ever half written, and the next run is fine.
//!
//! Elsewhere: a truncated or damaged library, two processes that build the same (cosim/tests/verilator_cache.rs); an exploration that
//! is interrupted (tests/explore.rs); what is broken in the hardware (tests/broken.rs).
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};
use windlass_cosim::verilator::Cache;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

/// A command in a process group of its own, as a shell starts it: Ctrl-C goes to it and to all that it has started.
fn windlass(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(command: &mut Command) -> Child {
    // In a job in the background Ctrl-C may be ignored, and so it would be in what is started here; a signal that is handled is not.
    // The handler ends this process, as Ctrl-C does without.
    static HEARD: Once = Once::new();
    HEARD.call_once(|| {
        let ends = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(SIGINT, 130, ends).expect("a handler");
    });
    command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Could not run: status 2, and these words on stderr.
fn fails(output: &Output, words: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "`{said}` does not say `{word}`");
    }
}

/// What the `kill` of the shell does: to the process, or, with a minus, to its group.
fn signal(signal: i32, target: &str) {
    let status =
        Command::new("kill").args([&format!("-{signal}"), "--", target]).stderr(Stdio::null()).status();
    // It may have ended by itself.
    let _ = status.unwrap_or_else(|e| panic!("kill: {e}"));
}

fn ctrl_c(child: &Child) {
    signal(SIGINT, &format!("-{}", child.id()));
}

/// It was stopped, or was done before.
fn stopped(status: ExitStatus, by: i32) -> bool {
    assert!(
        status.success() || status.signal() == Some(by) || status.code() == Some(128 + by),
        "{status}: neither done nor stopped by the signal"
    );
    !status.success()
}

fn wait(what: &str, mut ready: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !ready() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A cache that knows the tools and has Verilator's runtime and compiled headers, which take most of a build, and no model.
fn cache() -> tempfile::TempDir {
    let usual = Cache::from_env().unwrap_or_else(|e| panic!("{e}"));
    // The runtime is there once any model was built.
    succeeds(windlass(SMALL).env("WINDLASS_CACHE", usual.root()));
    let folder = tempfile::tempdir().unwrap();
    for made in ["runtime", "headers"] {
        copy(&usual.root().join(made), &folder.path().join(made));
    }
    fs::copy(usual.root().join("tools.json"), folder.path().join("tools.json")).unwrap();
    folder
}

/// The command that builds the smallest model.
const SMALL: &[&str] =
    &["run", "mix-fork", "--scale", "64", "--policy", "window", "--slots", "4", "--no-work", "--verify"];

const ALEXNET: &str = "workloads/alexnet-b1.ktrace.jsonl";

/// Entries of a folder, none where there is no folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

/// Whether a build under way has a file with that name.
fn has_begun(cache: &Path, file: &str) -> bool {
    entries(&cache.join("tmp")).iter().any(|build| build.join("work").join(file).exists())
}

#[test]
fn a_build_that_is_stopped_leaves_no_model_and_the_next_one_works() {
    // The Verilog is written first, `fast.cpp` when Verilator is done, and `fast.o` when most is compiled.
    for (moment, file) in [("verilation", "shim.cpp"), ("compilation", "fast.cpp"), ("linking", "fast.o")] {
        for by in [SIGKILL, SIGINT] {
            let cache = cache();
            let place = cache.path();
            let mut child = start(windlass(SMALL).env("WINDLASS_CACHE", place));
            wait(moment, || has_begun(place, file) || child.try_wait().unwrap().is_some());
            match by {
                // The tools that it has started live on, and must not be able to do damage.
                SIGKILL => signal(SIGKILL, &child.id().to_string()),
                _ => ctrl_c(&child),
            }
            let stopped = stopped(child.wait().unwrap(), by);
            let models = entries(&place.join("models"));
            assert!(!stopped || models.is_empty(), "{moment}: {models:?}");
            let said = succeeds(windlass(SMALL).env("WINDLASS_CACHE", place));
            assert!(said.contains("as serial"), "{moment}: {said}");
            assert_eq!(entries(&place.join("models")).len(), 1);
        }
    }
}

#[test]
fn a_full_disk_under_the_cache_is_an_error_and_the_next_run_works() {
    let cache = cache();
    // Nobody can fill a disk here, but a limit on the size of files fails in the same place: at a write.
    for blocks in ["0", "16"] {
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_windlass")]).args(SMALL);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).env("WINDLASS_CACHE", cache.path());
        fails(&command.output().unwrap_or_else(|e| panic!("{e}")), &["error: "]);
        assert_eq!(entries(&cache.path().join("models")), [] as [PathBuf; 0], "{blocks} blocks");
        assert_eq!(entries(&cache.path().join("tmp")), [] as [PathBuf; 0], "{blocks} blocks");
    }
    succeeds(windlass(SMALL).env("WINDLASS_CACHE", cache.path()));
}

#[test]
fn a_full_disk_under_results_is_an_error() {
    let report = ["report", "--from", "gen/tests/data/report.json"];
    for args in [
        &report[..],
        &[&report[..], &["--json"]].concat(),
        &["trace", "mix-fork"],
        &["trace", "--json", "mix-fork"],
        &["trace", "explain", "mix-fork", "--kernel", "3"],
        &["mix", "fork"],
        &["gen", "--list"],
        &["cosim", "mix-fork", "--policy", "serial"],
        &["cosim", "mix-fork", "--policy", "serial", "--json"],
        &["run", "mix-fork", "--scale", "64", "--policy", "serial", "--no-work", "--json"],
        &["doctor"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = windlass(args).stdout(full).output().unwrap_or_else(|e| panic!("{e}"));
        fails(&output, &["the results cannot be written: ", "No space left"]);
    }
    for args in [
        &["cosim", "mix-fork", "--policy", "serial", "--timeline", "/dev/full"][..],
        &["run", "mix-fork", "--scale", "64", "--policy", "serial", "--no-work", "--timeline", "/dev/full"],
        &["mix", "fork", "--out", "/dev/full"],
        &["trace", "mix-fork", "--rename", "0", "--figure", "/dev/full"],
        &["trace", "explain", "mix-fork", "--kernel", "3", "--dot=/dev/full"],
    ] {
        fails(&windlass(args).output().unwrap_or_else(|e| panic!("{e}")), &["/dev/full: ", "No space left"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_success_and_costs_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = windlass(&["report", "--from", "gen/tests/data/report.json", "--out"]);
    let output = command.arg(&out).stdout(writer).output().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(141), ""));
    for file in ["report.txt", "report.json", "report.md", "report.html"] {
        assert!(out.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_report_that_could_not_be_written_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("report.md");
    fs::create_dir(&in_the_way).unwrap();
    for (option, path) in [("--out", folder.path()), ("--html", &in_the_way)] {
        // No GPU is called so, which would be told first if anything were looked at before.
        let mut command = windlass(&["report", "--no-area", "--gpu", "nothing", option]);
        let output = command.arg(path).output().unwrap_or_else(|e| panic!("{e}"));
        fails(&output, &["report.md: ", &format!("choose another {option}")]);
    }
}

#[test]
fn a_full_disk_keeps_the_file_that_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mix.ktrace.jsonl");
    fs::write(&file, "what was there").unwrap();
    let out = file.to_string_lossy().into_owned();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_windlass")]);
    let output = command.args(["mix", "fork", "--out", &out]).output().unwrap_or_else(|e| panic!("{e}"));
    fails(&output, &[&out, "--out"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "what was there");
    assert_eq!(entries(folder.path()), [file]);
}

/// A GPU of few SMs, whose Verilog is built in seconds.
fn small_gpu() -> tempfile::NamedTempFile {
    let gpu = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let whole = include_str!("../cosim/profiles/rtx3070.toml");
    let small = whole.replace("\nsms = 46 ", "\nsms = 2 ");
    assert_ne!(small, whole);
    fs::write(gpu.path(), small).unwrap();
    gpu
}

#[test]
fn a_full_disk_under_a_waveform_keeps_the_file_that_was_there_and_the_results() {
    let (folder, gpu) = (tempfile::tempdir().unwrap(), small_gpu());
    let cosim = |file: &Path, limit: &str| {
        let limited = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_windlass"), "cosim", ALEXNET, "--slots", "4"]);
        command.args(["--policy", "window", "--to", "40", "--gpu"]).arg(gpu.path()).arg("--wave").arg(file);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command.output().unwrap_or_else(|e| panic!("{e}"))
    };
    for name in ["a.vcd", "b.fst"] {
        let file = folder.path().join(name);
        // Builds the model, which needs its disk.
        let output = cosim(&file, "unlimited");
        assert!(output.status.success(), "{}", text(&output.stderr));
        // Units of 512 bytes, or of 1024, with a part of the waveform and with none.
        for limit in ["8", "0"] {
            fs::write(&file, "what was there").unwrap();
            let output = cosim(&file, limit);
            fails(
                &output,
                &[&format!("the waveform file `{}` cannot be written", file.display()), "File too large"],
            );
            // An FST is refused before the run.
            assert_eq!(text(&output.stdout).contains("window typed"), name == "a.vcd");
            assert_eq!(fs::read_to_string(&file).unwrap(), "what was there");
            fs::remove_file(&file).unwrap();
            assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
        }
    }
    let full = folder.path().join("full.vcd");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    fails(&cosim(&full, "unlimited"), &["full.vcd", "No space left"]);
}

/// Root may write everywhere, so that permissions alone show nothing: a file in the way and places where nobody can make a folder
/// refuse root, too.
#[test]
fn a_cache_that_cannot_be_written_says_what_to_do() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("cache");
    for place in [file.path(), &inside, Path::new("/dev/null/cache"), Path::new("/proc/cache")] {
        let output = windlass(SMALL).env("WINDLASS_CACHE", place).output().unwrap_or_else(|e| panic!("{e}"));
        fails(&output, &["the build cache cannot", "set WINDLASS_CACHE"]);
    }
}

#[test]
fn a_read_only_cache_serves_what_it_has() {
    let cache = cache();
    succeeds(windlass(SMALL).env("WINDLASS_CACHE", cache.path()));
    let mode = |folder: &Path, mode: u32| {
        let set = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        entries(folder).iter().filter(|path| path.is_dir()).for_each(|path| set(path));
        set(folder);
    };
    mode(cache.path(), 0o555);
    let program = tempfile::tempdir().unwrap();
    let said = succeeds(powerless(program.path(), SMALL).env("WINDLASS_CACHE", cache.path()));
    let other: Vec<&str> = SMALL.iter().map(|arg| if *arg == "4" { "8" } else { *arg }).collect();
    let output = powerless(program.path(), &other).env("WINDLASS_CACHE", cache.path()).output().unwrap();
    mode(cache.path(), 0o755);
    assert!(said.contains("as serial"), "{said}");
    // What it does not have cannot be built there.
    fails(&output, &["denied"]);
}

/// Run by somebody to whom permissions apply. Root writes where they say no: then it is nobody, with a copy of the program in `folder`, for ours
/// may be where nobody comes.
fn powerless(folder: &Path, args: &[&str]) -> Command {
    const NOBODY: u32 = 65534;
    let program = folder.join("windlass");
    fs::copy(env!("CARGO_BIN_EXE_windlass"), &program).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(args).current_dir("/").stdin(Stdio::null());
    if fs::metadata(folder).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The files below `folder` and what is in them, but for those that are being written.
fn whole(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in entries(folder) {
        if path.is_dir() {
            files.extend(whole(&path));
        } else if path.extension().is_none_or(|extension| extension != "part") {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// Interrupts the command (`OUT` is its folder) at moments that are spread over its run; whatever file has its name then is what an
/// uninterrupted run writes, or what was there before.
fn interrupted_anywhere(args: &[&str], moments: u32) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let args: Vec<String> = args.iter().map(|arg| arg.replace("OUT", &out.to_string_lossy())).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    fs::create_dir(&out).unwrap();
    let begin = Instant::now();
    succeeds(&mut windlass(&args));
    let whole_run = begin.elapsed();
    let wanted = whole(&out);
    assert!(!wanted.is_empty(), "{args:?} writes nothing");
    // What is not from Windlass, `gen` does not replace.
    let old = b"old, by Windlass";
    let mut hits = 0;
    for moment in 0..moments {
        for path in wanted.keys() {
            fs::write(path, old).unwrap();
        }
        let mut child = start(&mut windlass(&args));
        std::thread::sleep(whole_run * moment / moments);
        ctrl_c(&child);
        hits += u32::from(stopped(child.wait().unwrap(), SIGINT));
        for (path, found) in whole(&out) {
            let known = found == old || wanted.get(&path) == Some(&found);
            assert!(known, "{args:?} at moment {moment}: {} has {} bytes", path.display(), found.len());
        }
    }
    assert!(hits > 0, "{args:?} was never interrupted");
    succeeds(&mut windlass(&args));
    assert_eq!(whole(&out), wanted, "the next run is fine");
}

#[test]
fn ctrl_c_leaves_no_half_of_a_report() {
    interrupted_anywhere(
        &["report", "--from", "gen/tests/data/report.json", "--out", "OUT", "--html", "OUT/a.html"],
        30,
    );
}

#[test]
fn ctrl_c_leaves_no_half_of_a_design() {
    interrupted_anywhere(&["gen", "--slots", "8", "--out", "OUT"], 20);
}

#[test]
fn ctrl_c_leaves_no_half_of_a_timeline() {
    let cosim =
        ["cosim", "mix-fork", "--dispatcher", "behavioural", "--policy", "window", "--arbiter", "typed"];
    interrupted_anywhere(&[&cosim[..], &["--timeline", "OUT/timeline.json"]].concat(), 20);
}

#[test]
fn ctrl_c_leaves_no_half_of_a_trace_or_a_figure() {
    interrupted_anywhere(&["mix", "pipeline", "--tiles", "64", "--out", "OUT/mix.ktrace.jsonl"], 20);
    interrupted_anywhere(&["trace", "mix-fork", "--rename", "0,unlimited", "--figure", "OUT/figure.svg"], 10);
}

/// The waveform is the one file that grows for as long as the co-simulation runs.
#[test]
fn ctrl_c_leaves_no_half_of_a_waveform() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.vcd");
    fs::write(&file, "old").unwrap();
    let wave = file.to_string_lossy().into_owned();
    let gpu = small_gpu();
    let common =
        ["cosim", ALEXNET, "--slots", "4", "--policy", "window", "--gpu", &*gpu.path().to_string_lossy()];
    let args = [&common[..], &["--step", "--wave", &wave]].concat();
    let mut child = start(&mut windlass(&args));
    let size = |path: &PathBuf| path.metadata().map_or(0, |m| m.len());
    let grown = || entries(folder.path()).iter().any(|path| size(path) > 10_000);
    wait("the waveform", || grown() || child.try_wait().unwrap().is_some());
    ctrl_c(&child);
    assert!(stopped(child.wait().unwrap(), SIGINT), "it was done before it could be interrupted");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    succeeds(&mut windlass(&[&common[..], &["--wave", &wave, "--to", "40"]].concat()));
    assert_eq!(times(&fs::read_to_string(&file).unwrap()), ("#0", "#79"));
    let rest: Vec<_> = entries(folder.path()).into_iter().filter(|path| *path != file).collect();
    let is_part = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "part");
    assert!(rest.len() == 1 && is_part(&rest[0]), "what was cut off does not look like a waveform: {rest:?}");
}

/// First and last time of a waveform.
fn times(vcd: &str) -> (&str, &str) {
    let mut times = vcd.lines().filter(|line| line.starts_with('#'));
    let first = times.next().expect("a time");
    (first, times.next_back().unwrap_or(first))
}

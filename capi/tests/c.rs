//! The header and the library as C programs use them: compiled without a warning, linked, run.

use std::ffi::{CStr, OsStr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::null_mut;
use windlass_runtime::ktrace::Trace;
use windlass_runtime::runtime::{EventKind, Schedule};

const HEADERS: [&str; 2] = ["windlass.h", "windlass_front_end.h"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shared library that this test was built with.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_path_buf();
    assert!(
        folder.join("libwindlass_c.so").exists() || folder.join("libwindlass_c.dylib").exists(),
        "{folder:?}"
    );
    folder
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// Compiles it with a library, and runs it with a folder of its own as its argument, which is also where it looks for others.
fn run_with(source: &str, folder: &Path, library: &[&OsStr]) -> String {
    let program = folder.join("program");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-I"]);
    compiler.arg(here().join("include")).arg(here().join(source)).arg("-o").arg(&program).args(library);
    succeed(&mut compiler);
    // Cargo has folders there where an older library may be.
    let output = succeed(Command::new(&program).arg(folder).env("LD_LIBRARY_PATH", folder));
    String::from_utf8(output.stdout).unwrap()
}

fn run(source: &str, folder: &Path) -> String {
    let library = library();
    let search = format!("-Wl,-rpath,{}", library.display());
    run_with(source, folder, &["-L".as_ref(), library.as_ref(), "-lwindlass_c".as_ref(), search.as_ref()])
}

#[test]
fn the_example_runs() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("examples/pipeline.c", folder.path()), "frame 0: 60\nframe 1: 63\n");
}

/// With what the header says that it needs besides.
#[cfg(target_os = "linux")]
#[test]
fn the_example_runs_with_the_static_library() {
    let folder = tempfile::tempdir().unwrap();
    let library = library().join("libwindlass_c.a");
    let header = std::fs::read_to_string(here().join("include/windlass.h")).unwrap();
    let (_, after) = header.split_once("libwindlass_c.a").unwrap();
    let besides = after.split_whitespace().take_while(|word| word.starts_with('-')).map(OsStr::new);
    let library: Vec<_> = std::iter::once(library.as_os_str()).chain(besides).collect();
    assert!(library.len() > 1, "{library:?}");
    let said = run_with("examples/pipeline.c", folder.path(), &library);
    assert_eq!(said, "frame 0: 60\nframe 1: 63\n");
}

#[test]
fn what_is_wrong_is_refused_with_a_text() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("tests/errors.c", folder.path()), "");
    let trace = Trace::load(folder.path().join("run.ktrace.jsonl")).unwrap();
    assert_eq!(trace.kernels().count(), 2);
    let schedule = std::fs::read(folder.path().join("run.schedule.jsonl")).unwrap();
    let order: Vec<_> = Schedule::read(&schedule[..]).unwrap().order().collect();
    assert_eq!(
        order,
        [(EventKind::Start, 0), (EventKind::End, 0), (EventKind::Start, 1), (EventKind::End, 1)]
    );
}

#[test]
fn threads_wait_for_launches_while_another_launches() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("tests/waiter.c", folder.path()), "");
}

#[test]
fn copies_are_started_and_memory_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("tests/copies.c", folder.path()), "");
}

#[test]
fn kernels_of_a_gpu_are_registered_and_run() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("tests/cuda.c", folder.path()), "");
    let said = run("examples/saxpy.c", folder.path());
    assert_eq!(said.lines().last(), Some("y[999] = 5994"), "{said}");
}

/// Its clock is the hardware's, so the same everywhere.
#[test]
fn a_simulator_has_the_front_end() {
    let folder = tempfile::tempdir().unwrap();
    let said = "\
window of  4: 10346 cycles, 26.4 CTAs at a time
window of  8:  7795 cycles, 35.1 CTAs at a time
window of 16:  6573 cycles, 41.6 CTAs at a time
window of 32:  5861 cycles, 46.7 CTAs at a time
";
    assert_eq!(run("examples/simulator.c", folder.path()), said);
    assert_eq!(run("tests/front_end.c", folder.path()), "");
}

/// On the driver without a GPU; `scripts/gpu-check.sh` runs it on one.
#[test]
fn functions_give_work_to_streams() {
    let folder = tempfile::tempdir().unwrap();
    let driver = here().join("../cuda/tests/fake_driver/cuda.cpp");
    let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    compiler.args(["-std=c++17", "-O1", "-fno-strict-aliasing", "-shared", "-fPIC", "-pthread", "-o"]);
    succeed(compiler.arg(folder.path().join("libcuda.so.1")).arg(driver));
    assert_eq!(run("tests/enqueue.c", folder.path()), "");
}

#[test]
fn accesses_are_declared_and_a_schedule_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run("tests/declared.c", folder.path()), "");
}

/// A destructor of C++'s `thread_local`, say, runs when what Rust keeps for the thread is gone.
#[test]
fn a_call_may_fail_while_its_thread_ends() {
    struct AtTheEnd;
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            // SAFETY: pointers may be NULL; the text is never NULL and ends with 0.
            let (status, text) = unsafe {
                (windlass_c::windlass_wait(null_mut(), 0), CStr::from_ptr(windlass_c::windlass_error_text()))
            };
            assert_eq!((status, text), (1, c""));
        }
    }
    thread_local! {
        static LAST: AtTheEnd = const { AtTheEnd };
    }
    let thread = std::thread::spawn(|| {
        // First used, last destroyed.
        LAST.with(|_| ());
        // SAFETY: pointers may be NULL.
        unsafe { windlass_c::windlass_wait(null_mut(), 0) }
    });
    assert_eq!(thread.join().unwrap(), 1);
}

#[test]
fn the_headers_are_cpp_too() {
    for header in HEADERS {
        succeed(
            Command::new("c++")
                .args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"])
                .arg(here().join("include").join(header)),
        );
    }
}

/// Each function that a header declares is in the library, and the other way round.
#[test]
fn header_and_library_have_the_same_functions() {
    let names = |text: &str, before: &str| {
        let mut names: Vec<String> = text
            .split(before)
            .skip(1)
            .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
            .filter(|name: &String| !name.is_empty())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let all = |folder: &str, files: &[&str]| -> String {
        files.iter().map(|file| std::fs::read_to_string(here().join(folder).join(file)).unwrap()).collect()
    };
    let header = all("include", &HEADERS);
    // Helpers are in the header as a whole.
    let helper = |name: &String| {
        let helpers = header.lines().filter(|line| line.starts_with("static inline "));
        helpers.into_iter().any(|line| line.contains(&format!(" windlass_{name}(")))
    };
    let declared: Vec<String> = names(&header, "windlass_")
        .into_iter()
        .filter(|name| header.contains(&format!("windlass_{name}(")) && !helper(name))
        .collect();
    let source = all("src", &["lib.rs", "front_end.rs"]);
    assert_eq!(declared, names(&source, "extern \"C\" fn windlass_"));
    assert_eq!(declared.len(), 42);
}

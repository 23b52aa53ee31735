//! The cache of builds, and what happens without tools.

mod verilator_common;

use std::fs;
use std::path::Path;
use std::process::Command;
use verilator_common::{build, cache, counter, instance, spec};
use windlass_cosim::verilator::{BuildError, Cache, CacheError, Library, Verilated};
use windlass_gen::tools::ToolError;
use windlass_rtl::model::CycleModel;

/// A copy of the tests' cache with `library` in it: a loaded library's own file must not be damaged.
fn copy_with(library: &Library) -> (tempfile::TempDir, Cache) {
    let dir = tempfile::tempdir().unwrap();
    let from = cache().root().to_path_buf();
    copy(&from.join("runtime"), &dir.path().join("runtime"));
    copy(&from.join("models").join(library.key()), &dir.path().join("models").join(library.key()));
    fs::copy(from.join("tools.json"), dir.path().join("tools.json")).unwrap();
    let cache = Cache::at(dir.path());
    (dir, cache)
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

#[test]
fn a_truncated_library_is_built_again() {
    let library = build(&counter());
    let (dir, cache) = copy_with(&library);
    let file = dir.path().join("models").join(library.key()).join("model.so");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let again = Verilated::build(&counter(), &cache).unwrap();
    assert!(again.built());
    assert_eq!(again.key(), library.key());
    let mut out = [0; 3];
    let mut model = instance(&again, 1);
    model.run_batch(3, &[0, 1, 0, 1, 1, 0, 1, 1, 0], &mut [0; 9]).unwrap();
    model.cycle(&[1, 1, 0], &mut out).unwrap();
    assert_eq!(out[0], 2);
    assert!(!Verilated::build(&counter(), &cache).unwrap().built());
}

#[test]
fn a_failed_build_names_step_and_message_and_caches_nothing() {
    let (dir, cache) = copy_with(&build(&counter()));
    let models = || fs::read_dir(dir.path().join("models")).unwrap().count();
    let before = models();
    let broken =
        spec("broken", "module broken (input a_i, output b_o);\n  assign b_o = c;\nendmodul\n", "a_i b_o");
    let error = Verilated::build(&broken, &cache).unwrap_err().to_string();
    assert!(
        error.starts_with("`broken`: Verilator failed") && error.contains("%Error: broken.v:"),
        "{error}"
    );
    assert_eq!(models(), before);
    assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_cache_in_an_impossible_place_is_a_typed_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Verilated::build(&counter(), &Cache::at(file.path())).unwrap_err();
    assert!(matches!(error, BuildError::Cache(CacheError::Io { .. })), "{error}");
    assert!(error.to_string().contains("WINDLASS_CACHE"), "{error}");
}

#[test]
fn a_specification_that_contradicts_itself_is_refused() {
    let mut twice = counter();
    twice.ports.push(twice.ports[1].clone());
    assert!(matches!(Verilated::build(&twice, &cache()), Err(BuildError::Spec { .. })));
    let mut path = counter();
    path.sources[0].0 = "../counter.v".into();
    assert!(matches!(Verilated::build(&path, &cache()), Err(BuildError::Spec { .. })));
}

/// Runs the ignored test `name` of this file with other environment variables: they belong to the whole process.
fn in_a_child(name: &str, variables: &[(&str, &Path)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn without_verilator_a_new_design_says_how_to_get_it_and_a_built_one_runs() {
    let (dir, _) = copy_with(&build(&counter()));
    let nowhere = Path::new("/nonexistent/verilator");
    in_a_child("child_without_verilator", &[("VERILATOR", nowhere), ("WINDLASS_CACHE", dir.path())]);
    in_a_child(
        "child_without_anything",
        &[("VERILATOR", nowhere), ("WINDLASS_CACHE", &dir.path().join("empty"))],
    );
}

#[test]
#[ignore = "run by without_verilator_a_new_design_says_how_to_get_it_and_a_built_one_runs"]
fn child_without_verilator() {
    let cache = Cache::from_env().unwrap();
    let library = Verilated::build(&counter(), &cache).unwrap();
    assert!(!library.built());
    instance(&library, 1).cycle(&[0, 0, 0], &mut [0; 3]).unwrap();
    let other =
        spec("other", "module other (input a_i, output b_o);\n  assign b_o = a_i;\nendmodule\n", "a_i b_o");
    let error = Verilated::build(&other, &cache).unwrap_err();
    assert!(matches!(error, BuildError::Tool(ToolError::Missing { .. })), "{error}");
}

#[test]
#[ignore = "run by without_verilator_a_new_design_says_how_to_get_it_and_a_built_one_runs"]
fn child_without_anything() {
    let error = Verilated::build(&counter(), &Cache::from_env().unwrap()).unwrap_err();
    assert!(matches!(error, BuildError::Tool(ToolError::Missing { .. })), "{error}");
    assert!(error.to_string().contains("sudo apt-get install verilator"), "{error}");
    assert!(error.to_string().contains("(from VERILATOR)"), "{error}");
}

/// Two processes at once on an empty cache (but for Verilator's runtime), then one more that finds the library.
#[test]
fn two_processes_that_build_the_same_do_no_damage() {
    let library = build(&counter());
    let (dir, _) = copy_with(&library);
    fs::remove_dir_all(dir.path().join("models")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| in_a_child("child_builds", &[("WINDLASS_CACHE", dir.path())]));
        }
    });
    assert_eq!(fs::read_dir(dir.path().join("models")).unwrap().count(), 1);
    assert!(!Verilated::build(&counter(), &Cache::at(dir.path())).unwrap().built());
}

#[test]
#[ignore = "run by two_processes_that_build_the_same_do_no_damage"]
fn child_builds() {
    let library = Verilated::build(&counter(), &Cache::from_env().unwrap()).unwrap();
    instance(&library, 1).cycle(&[0, 0, 0], &mut [0; 3]).unwrap();
}

//! The emitted Verilog of the smallest designs is kept under tests/golden and reviewed like code.
//!
//! After a wanted change: `WINDLASS_BLESS=1 cargo test --test golden`, then read the diff.

use std::path::PathBuf;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::{emit, output};
use windlass_rtl::params::{ArbiterKind, Encoding, WindowKind};

fn check(name: &str, request: Request) {
    let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
    let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
    let again = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(output::files(&design), output::files(&again), "two runs give different bytes");

    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{}.v", design.top().name));
    let text = design.verilog();
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(kept == text, "{} differs; WINDLASS_BLESS=1 writes the new text", path.display());
}

#[test]
fn pickers() {
    for name in ["find_first", "round_robin", "oldest_first"] {
        check(name, Request { slots: 4, ..Request::default() });
    }
}

#[test]
fn schedulers() {
    for window in [WindowKind::Matrix, WindowKind::List] {
        check("kernel_scheduler", Request { slots: 4, window, ..Request::default() });
    }
}

#[test]
fn upstream_load_with_masks() {
    let encoding = Encoding::Mask;
    check("upstream_load", Request { slots: 4, scheduled: 16, encoding, ..Request::default() });
}

#[test]
fn cta_dispatch() {
    let arbiter = ArbiterKind::Typed { active: 1 };
    for name in ["sm_occupancy", "cta_arbiter_typed"] {
        check(name, Request { slots: 4, sms: 3, arbiter, ..Request::default() });
    }
}

#[test]
fn the_readme_shows_what_is_emitted() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let readme = read("README.md");
    let kept = read("tests/golden/kernel_scheduler_matrix_ids_n4_r2_m128_k4.v");
    let shown: Vec<&str> =
        readme.split("```verilog\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    assert_eq!(shown.len(), 1);
    assert!(kept.contains(shown[0]), "the README shows other Verilog than is emitted:\n{}", shown[0]);
}

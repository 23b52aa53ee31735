//! The window that was written by hand does what ours does: the same kernels come out of both in the same cycle. Otherwise comparing their
//! areas says nothing.

use std::path::Path;
use std::process::Command;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::tools::{self, Tool};
use windlass_gen::{emit, output};

#[test]
fn the_window_written_by_hand_offers_what_ours_does_cycle_by_cycle() {
    let iverilog = tools::find(Tool::Iverilog).expect("scripts/setup.sh installs Icarus Verilog");
    let spec = BlockSpec::new("window_matrix", Request { slots: 8, ..Request::default() });
    let design =
        emit::emit(&*spec.expect("a size that there is").hardware()).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in output::verilog_files(&design) {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let by_hand = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/handwritten");
    let mut command = Command::new(&iverilog.path);
    command.args(["-g2005", "-o", "check", "-s", "check_window"]).current_dir(folder.path());
    for file in ["window.v", "check_window.v"] {
        command.arg(std::fs::canonicalize(by_hand.join(file)).expect("it is in the repository"));
    }
    command.args(output::verilog_files(&design).iter().map(|(name, _)| name));
    let compiled = command.output().expect("it runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // vvp is beside iverilog.
    let vvp = iverilog.path.with_file_name("vvp");
    let ran = Command::new(vvp).arg("check").current_dir(folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.lines().any(|line| line == "SAME"), "{said}");
}

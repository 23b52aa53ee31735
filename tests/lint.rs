//! Every block is clean under three tools that read Verilog, each in its strictest mode: with 4 and 24 slots, and 132 SMs; the front end,
//! whose parts are looked at alone as well, of every kind with 8 slots and SMs, and the default one;
//! with `WINDLASS_LONG=1` (`./test.sh --long`) at every size, which takes minutes more, most of them Yosys' search for combinational loops.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::{emit, output};
use windlass_rtl::params::{Encoding, WindowKind};

/// Runs a tool in `directory`; anything that it prints, or a failure, comes back as text.
fn complaints(directory: &Path, program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).current_dir(directory).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}; run scripts/setup.sh"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (!output.status.success() || !text.trim().is_empty()).then(|| format!("{program}: {text}"))
}

fn lint(spec: BlockSpec) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let design = emit::emit(&*spec.hardware()).expect("every block can be emitted");
    output::write(&design, directory.path()).expect("a temporary directory can be written");
    let top = &design.top().name;
    let list = format!("{top}.f");
    let files: Vec<String> = output::verilog_files(&design).into_iter().map(|(name, _)| name).collect();
    let yosys = format!("read_verilog {}; hierarchy -check -top {top}; proc; check -assert", files.join(" "));
    [
        complaints(
            directory.path(),
            "verilator",
            &["--lint-only", "-Wall", "--top-module", top, "-f", &list],
        ),
        complaints(
            directory.path(),
            "iverilog",
            &["-g2005", "-Wall", "-s", top, "-o", "/dev/null", "-c", &list],
        ),
        complaints(directory.path(), "yosys", &["-q", "-p", &yosys]),
    ]
    .into_iter()
    .flatten()
    .map(|text| format!("{top}: {text}"))
    .collect()
}

#[test]
fn every_block_is_lint_clean() {
    let long = std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1");
    let mut specs = BlockSpec::all();
    specs.retain(|spec| match spec {
        _ if long => true,
        BlockSpec::FrontEnd(_) => spec.size() <= 8,
        BlockSpec::KernelScheduler(_) | BlockSpec::UpstreamLoad(_) => spec.size() == 4,
        _ => matches!(spec.size(), 4 | 24 | 132),
    });
    for window in [WindowKind::Matrix, WindowKind::List] {
        for (retire_ports, scheduled, lanes) in [(1, 8, 1), (3, 100, 3), (4, 255, 8)] {
            let encoding = Encoding::Ids { lanes };
            let request =
                Request { slots: 4, window, retire_ports, scheduled, encoding, ..Request::default() };
            specs.push(BlockSpec::new("kernel_scheduler", request).expect("in range"));
        }
    }
    specs.push(BlockSpec::new("front_end", Request::default()).expect("in range"));
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let complaints = lint(*spec);
                    found.lock().expect("no thread panics holding it").extend(complaints);
                }
            });
        }
    });
    let found = found.into_inner().expect("no thread panicked");
    assert!(found.is_empty(), "{} complaints, the first: {}", found.len(), found[0]);
    println!("{} designs", specs.len());
    assert!(specs.len() > 60, "only {} designs were looked at", specs.len());
}

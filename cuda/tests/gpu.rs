//! Everything on the GPU at hand, where there is one.

#[path = "support/steps.rs"]
mod steps;
mod support;

use std::env::var;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use windlass_cuda::{CudaDevice, Options};
use windlass_runtime::run::DeviceError;

/// Which step a process is for.
const ALONE: &str = "WINDLASS_TEST_CUDA_STEP";

fn options() -> Options {
    Options { streams: 8, timeout: Duration::from_secs(10), ..Options::default() }
}

#[test]
fn everything_works_on_the_gpu_at_hand() {
    let device = CudaDevice::new(Arc::new(support::program(0, 1, 4096)), options());
    if let Err(error @ DeviceError::Absent { .. }) = device {
        eprintln!("SKIPPED, nothing is tried on a GPU: {error}");
        return;
    }
    drop(device);
    let outcome = |(name, step): &steps::Step| step(options()).err().map(|what| format!("{name}: {what}"));
    let mut failed: Vec<_> = steps::STEPS.iter().filter_map(outcome).collect();
    for (name, _) in steps::FAULTS {
        let me = std::env::current_exe().expect("a test has a file");
        let child = Command::new(me).args(["--exact", "one_step", "--nocapture"]).env(ALONE, name).output();
        let child = child.expect("a test can be started");
        if !child.status.success() {
            failed.push(format!("{name}: {}", String::from_utf8_lossy(&child.stderr)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// In a process of its own: what the test above starts.
#[test]
fn one_step() {
    let Ok(alone) = var(ALONE) else { return };
    let step = steps::FAULTS.into_iter().find(|(name, _)| *name == alone);
    let (_, step) = step.expect("there is such a step");
    if let Err(what) = step(options()) {
        panic!("{what}");
    }
}

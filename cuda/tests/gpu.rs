//! Everything on the GPU at hand, where there is one.

#[path = "support/steps.rs"]
mod steps;
mod support;

use std::sync::Arc;
use std::time::Duration;
use windlass_cuda::{CudaDevice, Options};
use windlass_runtime::run::DeviceError;

#[test]
fn everything_works_on_the_gpu_at_hand() {
    let options = Options { streams: 8, timeout: Duration::from_secs(10), ..Options::default() };
    if let Err(error @ DeviceError::Absent { .. }) =
        CudaDevice::new(Arc::new(support::program(0, 1, 4096)), options)
    {
        eprintln!("SKIPPED, nothing is tried on a GPU: {error}");
        return;
    }
    // One after another: a step that faults or hangs must not do so beside another.
    let failed: Vec<_> = steps::STEPS
        .iter()
        .filter_map(|(name, step)| step(options).err().map(|what| format!("{name}: {what}")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

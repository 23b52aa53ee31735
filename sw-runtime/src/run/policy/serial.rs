//! One stream, in program order.

use super::{Meter, RunError};
use crate::run::device::Device;
use crate::run::program::Program;

/// With `early`, each kernel is set up while the one before it runs.
pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    early: bool,
    meter: &mut Meter,
) -> Result<(), RunError> {
    meter.start();
    for section in program.sections() {
        for k in section.clone() {
            device.launch(0, k as u32, early && k > section.start)?;
            meter.counts.launches += 1;
        }
        device.synchronise(0)?;
        meter.counts.synchronisations += 1;
    }
    Ok(())
}

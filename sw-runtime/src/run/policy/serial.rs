//! One stream, in program order.

use super::{Meter, RunError};
use crate::run::device::Device;
use crate::run::program::Program;

pub(super) fn run(device: &dyn Device, program: &Program, meter: &mut Meter) -> Result<(), RunError> {
    meter.start();
    for section in program.sections() {
        for k in section.clone() {
            device.launch(0, k as u32, false)?;
            meter.counts.launches += 1;
        }
        device.synchronise(0)?;
        meter.counts.synchronisations += 1;
    }
    Ok(())
}

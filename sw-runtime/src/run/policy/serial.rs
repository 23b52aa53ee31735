//! One stream, in program order.

use super::streams::{Op, Teller};
use super::{Meter, RunError};
use crate::run::device::Device;
use crate::run::program::Program;

/// With `early`, each kernel is set up while the one before it runs. What holds launches back to tell them together may do so for `stretch`
/// kernels.
pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    early: bool,
    stretch: usize,
    to: &mut dyn Teller,
    meter: &mut Meter,
) -> Result<(), RunError> {
    meter.start(device);
    for section in program.sections() {
        for k in section.clone() {
            to.tell(0, Op::Launch { kernel: k as u32, early: early && k > section.start })?;
            meter.counts.launches += 1;
            if (k + 1 - section.start).is_multiple_of(stretch) {
                to.flush()?;
            }
        }
        to.finish()?;
        device.synchronise(0)?;
        meter.counts.synchronisations += 1;
    }
    Ok(())
}

//! Windlass on NVIDIA GPUs: [`CudaDevice`] runs kernel streams, [`Cuda`] runs the runtime's kernels, [`calibrate`] measures what CUDA's
//! primitives cost.
//!
//! It builds and starts without CUDA: the driver (`libcuda.so.1`, 550 or newer) and NVRTC are loaded when they are first needed, and what is
//! missing is an error with a reason. Kernels are compiled for the GPU at hand, once; see [`compile`].

mod calibrate;
mod compile;
mod device;
mod driver;
mod executor;
#[cfg(test)]
mod host_test;

pub use calibrate::{Calibration, calibrate};
pub use compile::{CompileError, NVRTC_VERSION, compile, nvrtc_version};
pub use device::{CudaDevice, Options};
pub use executor::Cuda;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use windlass_runtime::run::DeviceError;

/// The newest CUDA that this machine's driver knows, such as `13.0`.
///
/// # Errors
/// [`DeviceError::Absent`]: there is no driver, or it does not start.
pub fn driver_version() -> Result<String, DeviceError> {
    Ok(driver::Driver::get()?.version())
}

/// What a GPU is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpu {
    /// Such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Bytes of its memory, of all; 0 where the driver does not say.
    pub memory_bytes: u64,
}

/// What the GPU of that number, from 0, is.
///
/// # Errors
/// [`DeviceError::Absent`]: there is no such GPU, or no driver.
pub fn gpu(ordinal: u32) -> Result<Gpu, DeviceError> {
    let driver = driver::Driver::get()?;
    let (device, name) = driver.device(ordinal)?;
    let sms = driver.attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    Ok(Gpu { name, sms: u32::try_from(sms).unwrap_or(0), memory_bytes: driver.memory_bytes(device) })
}

/// The CUDA sources of this crate, by name: for tests that compile them.
#[doc(hidden)]
pub const SOURCES: [(&str, &str); 3] =
    [("footprint.cu", device::SOURCE), ("calibrate.cu", calibrate::SOURCE), ("mark.cu", executor::MARK)];

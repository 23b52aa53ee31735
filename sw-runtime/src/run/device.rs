//! Where a program runs: streams, events and graphs, as CUDA has them.

use std::sync::LazyLock;
use std::time::{Duration, Instant};
use thiserror::Error;

/// What a device cannot do, or what has happened on it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is none.
    #[error("no CUDA device: {reason}")]
    Absent {
        /// Why.
        reason: String,
    },
    /// Too little memory.
    #[error(
        "out of memory on {device}: {bytes} bytes for {what} ({reason}); make the program with a larger scale"
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// What was asked for.
        bytes: u64,
        /// What for.
        what: &'static str,
        /// What the device said.
        reason: String,
    },
    /// A kernel could not be launched, or faulted.
    #[error("kernel {kernel} `{name}`: {reason}; kernels after it did not run")]
    Kernel {
        /// Position in the program, from 0.
        kernel: u32,
        /// Its name.
        name: String,
        /// What the device said.
        reason: String,
    },
    /// Something failed, and which kernel did it is not known.
    #[error("{device}, {call}: {reason}; one of the kernels {suspects}")]
    Lost {
        /// The device.
        device: String,
        /// The call that told.
        call: &'static str,
        /// What the device said.
        reason: String,
        /// The kernels that were in flight, for people.
        suspects: String,
    },
    /// Nothing has ended for too long.
    #[error(
        "{device}: nothing has ended for {waited:?} with {suspects} in flight; a kernel hangs, or the timeout is too short"
    )]
    Timeout {
        /// The device.
        device: String,
        /// How long.
        waited: Duration,
        /// The kernels that were in flight, for people.
        suspects: String,
    },
    /// A call failed.
    #[error("{device}, {call}: {reason}")]
    Call {
        /// The device.
        device: String,
        /// The call.
        call: &'static str,
        /// What the device said.
        reason: String,
    },
    /// The device does not have this.
    #[error("{device} does not have {what}")]
    Unsupported {
        /// The device.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
}

/// When a kernel ran on a device, by the device's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// Start of its first CTA, in nanoseconds since some moment.
    pub start: u64,
    /// End of its last CTA.
    pub end: u64,
}

/// A graph that a device has built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphId(pub u32);

/// The kernels of a graph, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphShape {
    /// Kernels of the program.
    pub kernels: Vec<u32>,
    /// Of each, the nodes before it in the list that it waits for, ascending.
    pub upstream: Vec<Vec<u32>>,
    /// A node that waits for one other is set up while that one still runs, and waits itself before it touches memory, as in
    /// [`Device::launch`].
    pub early: bool,
}

/// A program that was put on a device: its kernels are launched by number into streams. What one stream is given happens in that order;
/// between streams, only events keep an order.
///
/// Calls may come from several threads, those for one stream from one at a time.
pub trait Device: Sync {
    /// What it is, for reports.
    fn name(&self) -> String;

    /// Streams there are, at least 1.
    fn streams(&self) -> u32;

    /// The time by which runs are measured, since some moment: the host's, but for a device that knows what its calls take.
    fn clock(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }

    /// Puts the image back to what it was before the first kernel, and forgets times, events, marks and faults of the run before. Waits for
    /// what still runs.
    ///
    /// # Errors
    /// What the device says, or the watchdog's [`DeviceError::Timeout`]; it is then to be reset again.
    fn reset(&self) -> Result<(), DeviceError>;

    /// Launches a kernel. With `early`, it may be set up while the kernel before it in its stream still runs, and must wait for that one
    /// itself before it touches memory (CUDA's programmatic dependent launch); a device that cannot do this launches it as usual.
    ///
    /// # Errors
    /// What the device says.
    fn launch(&self, stream: u32, kernel: u32, early: bool) -> Result<(), DeviceError>;

    /// The event happens when all that the stream has been given so far has ended. An event can be recorded anew: who waits then waits
    /// for the newest record at the time of the call to [`Device::wait`].
    ///
    /// # Errors
    /// What the device says.
    fn record(&self, stream: u32, event: u32) -> Result<(), DeviceError>;

    /// What the stream is given from here on waits for the event.
    ///
    /// # Errors
    /// What the device says.
    fn wait(&self, stream: u32, event: u32) -> Result<(), DeviceError>;

    /// [`Device::progress`] of the stream becomes `value` when all that the stream has been given so far has ended.
    ///
    /// # Errors
    /// What the device says.
    fn mark(&self, stream: u32, value: u32) -> Result<(), DeviceError>;

    /// The last mark that was reached; 0 before the first. A read of host memory: costs next to nothing.
    fn progress(&self, stream: u32) -> u32;

    /// Asks for faults, which [`Device::progress`] does not tell. To be called now and then while polling.
    ///
    /// # Errors
    /// The fault.
    fn check(&self, stream: u32) -> Result<(), DeviceError>;

    /// Returns when all that the stream has been given has ended.
    ///
    /// # Errors
    /// The fault, or the watchdog's [`DeviceError::Timeout`].
    fn synchronise(&self, stream: u32) -> Result<(), DeviceError>;

    /// Builds a graph.
    ///
    /// # Errors
    /// What the device says.
    fn build_graph(&self, shape: &GraphShape) -> Result<GraphId, DeviceError>;

    /// Gives a graph other kernels, in the same shape. `false` where the device wants it built anew.
    ///
    /// # Errors
    /// What the device says.
    fn update_graph(&self, graph: GraphId, shape: &GraphShape) -> Result<bool, DeviceError>;

    /// Gives a stream a whole graph.
    ///
    /// # Errors
    /// What the device says.
    fn launch_graph(&self, stream: u32, graph: GraphId) -> Result<(), DeviceError>;

    /// Frees a graph that has ended, or was never launched.
    fn destroy_graph(&self, graph: GraphId);

    /// A copy of the image.
    ///
    /// # Errors
    /// What the device says.
    fn image(&self) -> Result<Vec<u32>, DeviceError>;

    /// A digest of the image, see [`digest_of`]: enough to compare images that are too large to copy.
    ///
    /// # Errors
    /// What the device says.
    fn digest(&self) -> Result<u64, DeviceError> {
        Ok(digest_of(self.image()?))
    }

    /// When each kernel of the program ran since the last reset, those that have not run at zero.
    ///
    /// # Errors
    /// What the device says.
    fn times(&self) -> Result<Vec<KernelTime>, DeviceError>;
}

/// The sum, modulo 2^64, of what each word and its place are mixed to (the finaliser of SplitMix64). Devices add in any order.
pub fn digest_of(image: impl IntoIterator<Item = u32>) -> u64 {
    let word = |(place, value): (usize, u32)| {
        let z = (place as u64) << 32 | u64::from(value);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    image.into_iter().enumerate().map(word).fold(0, u64::wrapping_add)
}

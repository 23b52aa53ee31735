//! What a kernel is on an NVIDIA GPU.

use super::error::Cause;
use super::guard::{discard, guarded};
use super::kernel::ArgError;
use super::memory::{Element, ElementKind};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::ffi::c_void;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a kernel is on an NVIDIA GPU.
///
/// A function on the GPU takes the launch's arguments in their order: for a buffer a pointer to its first element, for a number the number. It
/// is run with the launch's grid and block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CudaKernel {
    pub(crate) code: CudaCode,
    pub(crate) shared_bytes: u32,
}

/// Where a kernel's machine code comes from, or what gives work to a stream in its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CudaCode {
    /// CUDA C++, compiled for the device at hand when the kernel is first launched.
    Source {
        /// The text.
        text: Cow<'static, str>,
        /// Name of the function.
        entry: Cow<'static, str>,
    },
    /// What was compiled before: a cubin, a fatbin, or PTX with a 0 at its end.
    Image {
        /// The file.
        bytes: Arc<[u8]>,
        /// Name of the function, as the file has it.
        entry: Cow<'static, str>,
    },
    /// A `CUfunction`.
    Function(usize),
    /// A function of the host that gives work to a stream.
    Enqueue(Enqueue),
}

impl CudaKernel {
    /// From a text of CUDA C++, by NVRTC: it has no headers but NVRTC's own, and may ask for `__CUDA_ARCH__`. `entry` is an
    /// `extern "C" __global__` function of it.
    pub fn source(text: impl Into<Cow<'static, str>>, entry: impl Into<Cow<'static, str>>) -> Self {
        Self::of(CudaCode::Source { text: text.into(), entry: entry.into() })
    }

    /// From the bytes of a cubin, a fatbin or PTX, as `nvcc`, NVRTC and other compilers make them. `entry` is the name of a function in it,
    /// mangled where it is not `extern "C"`. It is loaded when it is first launched, by each runtime for itself, and by each `CudaKernel` that is
    /// made of it; clones share it.
    ///
    /// # Safety
    /// They are a whole file of its kind: the driver reads as much as the file's header says that there is.
    pub unsafe fn image(bytes: impl Into<Vec<u8>>, entry: impl Into<Cow<'static, str>>) -> Self {
        let mut bytes = bytes.into();
        // PTX is a text, which the driver reads up to its 0.
        if !bytes.contains(&0) {
            bytes.push(0);
        }
        Self::of(CudaCode::Image { bytes: bytes.into(), entry: entry.into() })
    }

    /// A function that is loaded already, as `cudaGetFuncBySymbol` gives it of a kernel that `nvcc` compiled into the program.
    ///
    /// # Safety
    /// It is a `CUfunction` of the context that the executor is in, and stays loaded as long as a runtime has a kernel of it.
    pub unsafe fn function(function: *mut c_void) -> Self {
        Self::of(CudaCode::Function(function.expose_provenance()))
    }

    /// What `enqueue` gives to a stream: calls of cuBLAS, cuDNN and other libraries, copies, kernels that `nvcc` launches with `<<<...>>>`, a wait for an
    /// event of the application's. It is called once per launch, on a thread of the runtime, with the executor's context current and a stream that
    /// has been told to wait for all that the launch waits for. The launch has ended when the stream has done what it was given.
    ///
    /// It gives work to that stream and to no other, unless it has the stream wait for that; the work touches what the launch's arguments
    /// declare, and nothing else. It does not wait: nothing else starts meanwhile, and what would wait for its runtime is
    /// [`Error::Reentrant`](super::Error::Reentrant), as in a callback. It does not capture the stream. Where it returns an error or panics, the
    /// launch fails, once the stream has done what it was given.
    ///
    /// ```no_run
    /// # use windlass_runtime::runtime::{CudaKernel, Kernel};
    /// # use std::ffi::{c_int, c_void};
    /// # unsafe extern "C" { fn cudaMemsetAsync(at: *mut c_void, value: c_int, bytes: usize, stream: *mut c_void) -> c_int; }
    /// let clear = Kernel::new("clear").write_of::<f32>("x").cuda(CudaKernel::enqueue(|call| {
    ///     // SAFETY: the buffer is of that size, and the stream is the launch's.
    ///     match unsafe { cudaMemsetAsync(call.pointer(0)?, 0, call.bytes(0)? as usize, call.stream()) } {
    ///         0 => Ok(()),
    ///         code => Err(format!("cudaMemsetAsync: {code}").into()),
    ///     }
    /// }));
    /// ```
    pub fn enqueue(enqueue: impl Fn(&CudaCall<'_>) -> EnqueueResult + Send + Sync + 'static) -> Self {
        Self::of(CudaCode::Enqueue(Enqueue(Arc::new(enqueue))))
    }

    fn of(code: CudaCode) -> Self {
        Self { code, shared_bytes: 0 }
    }

    /// With so many bytes of dynamic shared memory per CTA; none where nothing is said. [`CudaKernel::enqueue`] does not use it.
    #[must_use]
    pub fn with_shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Where its machine code comes from.
    pub fn code(&self) -> &CudaCode {
        &self.code
    }

    /// Dynamic shared memory per CTA, in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// The same; `None` where what it launches is not known.
    pub(crate) fn known_shared_bytes(&self) -> Option<u32> {
        (!matches!(self.code, CudaCode::Enqueue(_))).then_some(self.shared_bytes)
    }
}

/// What [`CudaKernel::enqueue`]'s function ends with.
pub type EnqueueResult = Result<(), Box<dyn StdError + Send + Sync>>;

/// The function of [`CudaKernel::enqueue`]. Only clones of the same one are equal.
#[derive(Clone)]
pub struct Enqueue(Arc<dyn Fn(&CudaCall<'_>) -> EnqueueResult + Send + Sync>);

impl Enqueue {
    /// Calls it; for executors. A panic is its author's, and comes back as one.
    ///
    /// # Errors
    /// [`Cause::Returned`] and [`Cause::Panicked`]; the stream may have been given some of the work.
    pub fn call(&self, call: &CudaCall<'_>) -> Result<(), Cause> {
        let result = guarded(|| {
            (self.0)(call).map_err(|error| {
                let text = guarded(|| error.to_string());
                discard(error);
                text
            })
        });
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Ok(text))) => Err(Cause::Returned(text)),
            Ok(Err(Err(panic))) | Err(panic) => Err(Cause::Panicked(panic)),
        }
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>().addr()
    }
}

impl fmt::Debug for Enqueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Enqueue")
    }
}

impl PartialEq for Enqueue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Enqueue {}

impl Hash for Enqueue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

/// An argument of a launch on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaArg {
    /// A buffer, or a view of one.
    Buffer {
        /// Of its first byte, on the GPU; 0 where there are no bytes.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// A number.
    Value {
        /// In the low ones of these 64.
        bits: u64,
        /// Its type.
        element: ElementKind,
    },
}

/// A launch as [`CudaKernel::enqueue`]'s function sees it.
#[derive(Debug)]
pub struct CudaCall<'a> {
    stream: *mut c_void,
    grid: [u32; 3],
    block: [u32; 3],
    args: &'a [CudaArg],
}

impl<'a> CudaCall<'a> {
    /// For executors.
    pub fn new(stream: *mut c_void, grid: [u32; 3], block: [u32; 3], args: &'a [CudaArg]) -> Self {
        Self { stream, grid, block, args }
    }

    /// A `CUstream`, which is the CUDA runtime's `cudaStream_t`. It is the executor's, and the function's until it returns.
    pub fn stream(&self) -> *mut c_void {
        self.stream
    }

    /// As the launch says; what that means is the function's.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// The same.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// All arguments.
    pub fn args(&self) -> &'a [CudaArg] {
        self.args
    }

    fn buffer(&self, position: usize) -> Result<(u64, u64), ArgError> {
        match self.args.get(position) {
            Some(CudaArg::Buffer { address, bytes }) => Ok((*address, *bytes)),
            _ => Err(ArgError::Kind { position, wanted: "buffer" }),
        }
    }

    /// Where a buffer begins, on the GPU; null where it has no bytes.
    ///
    /// # Errors
    /// [`ArgError::Kind`]: the argument is no buffer.
    pub fn pointer(&self, position: usize) -> Result<*mut c_void, ArgError> {
        self.buffer(position).map(|(address, _)| std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Bytes of a buffer.
    ///
    /// # Errors
    /// The same.
    pub fn bytes(&self, position: usize) -> Result<u64, ArgError> {
        self.buffer(position).map(|(_, bytes)| bytes)
    }

    /// A number.
    ///
    /// # Errors
    /// [`ArgError`]: the argument is no number, or of another type.
    pub fn value<T: Element>(&self, position: usize) -> Result<T, ArgError> {
        let Some(CudaArg::Value { bits, element }) = self.args.get(position) else {
            return Err(ArgError::Kind { position, wanted: "value" });
        };
        ArgError::unless_of::<T>(position, *element).map(|()| T::from_bits64(*bits))
    }
}

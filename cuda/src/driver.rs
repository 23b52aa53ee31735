//! The CUDA driver, loaded at run time: its functions, a context, and what lives in one.
//!
//! The types are those of `cudarc`; the functions are looked up here, for three reasons. `cudarc` panics where the library or a symbol is
//! missing. Its functions return a Rust enum, which a newer driver's unknown code would make undefined behaviour. And each of its calls
//! passes through a lock-like check, which a launch can do without.

use crate::compile::nvrtc_version;
use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUcontext, CUdevice, CUdevice_attribute as Attribute, CUdeviceptr, CUevent,
    CUfunction, CUgraph, CUgraphEdgeData, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode,
    CUlaunchConfig, CUmodule, CUpointer_attribute as PointerAttribute, CUstream,
};
use libloading::Library;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use windlass_runtime::run::DeviceError;
use windlass_runtime::runtime::Owner;

/// A `CUresult`, as the integer that it is.
pub(crate) type Code = c_uint;

pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
const INVALID_IMAGE: Code = 200;
const NO_BINARY_FOR_GPU: Code = 209;
const UNSUPPORTED_PTX_VERSION: Code = 222;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const GRAPH_EXEC_UPDATE_FAILURE: Code = 910;

macro_rules! driver {
    ($($name:ident($($arg:ty),* $(,)?);)*) => {
        /// Functions of the driver, by their symbols.
        #[expect(non_snake_case, reason = "each has the name of its symbol")]
        pub(crate) struct Driver {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> Code,)*
            /// The functions are its.
            _library: Library,
        }

        #[expect(non_snake_case, reason = "each has the name of its symbol")]
        impl Driver {
            /// `Err` with the first symbol that the library lacks.
            fn of(library: Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the symbol of this name in the CUDA driver is a function of this type.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> Code>(concat!(stringify!($name), "\0").as_bytes())
                    };
                    let $name = *$name.map_err(|_| stringify!($name))?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}

driver! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetAttribute(*mut c_int, Attribute, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuCtxCreate_v2(*mut CUcontext, c_uint, CUdevice);
    cuCtxDestroy_v2(CUcontext);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxSetCurrent(CUcontext);
    cuCtxPushCurrent_v2(CUcontext);
    cuCtxPopCurrent_v2(*mut CUcontext);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuFuncSetAttribute(CUfunction, c_int, c_int);
    cuFuncGetAttribute(*mut c_int, c_int, CUfunction);
    cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuPointerGetAttribute(*mut c_void, PointerAttribute, CUdeviceptr);
    cuMemHostGetDevicePointer_v2(*mut CUdeviceptr, *mut c_void, c_uint);
    cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize);
    cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize);
    cuMemsetD8_v2(CUdeviceptr, u8, usize);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamDestroy_v2(CUstream);
    cuStreamQuery(CUstream);
    cuStreamSynchronize(CUstream);
    cuStreamWaitEvent(CUstream, CUevent, c_uint);
    cuStreamWriteValue32_v2(CUstream, CUdeviceptr, u32, c_uint);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventQuery(CUevent);
    cuLaunchKernelEx(*const CUlaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    cuGraphCreate(*mut CUgraph, c_uint);
    cuGraphDestroy(CUgraph);
    cuGraphAddKernelNode_v2(*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphAddDependencies_v2(CUgraph, *const CUgraphNode, *const CUgraphNode, *const CUgraphEdgeData, usize);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphExecUpdate_v2(CUgraphExec, CUgraph, *mut CUgraphExecUpdateResultInfo);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphLaunch(CUgraphExec, CUstream);
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}

impl Driver {
    /// The driver of this machine, initialised.
    pub(crate) fn get() -> Result<&'static Self, DeviceError> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        let driver = DRIVER.get_or_init(Self::load);
        driver.as_ref().map_err(|reason| DeviceError::Absent { reason: reason.clone() })
    }

    fn load() -> Result<Self, String> {
        const NAMES: [&str; 2] =
            if cfg!(windows) { ["nvcuda.dll", "nvcuda"] } else { ["libcuda.so.1", "libcuda.so"] };
        // SAFETY: the CUDA driver's initialisers are sound to run at any time.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = library.ok_or_else(|| {
            format!("there is no {} here; install the NVIDIA driver, 550 or newer", NAMES[0])
        })?;
        let driver = Self::of(library)
            .map_err(|symbol| format!("the NVIDIA driver has no {symbol}; install 550 or newer"))?;
        // SAFETY: takes no pointers.
        match unsafe { (driver.cuInit)(0) } {
            0 => Ok(driver),
            code => Err(format!("the NVIDIA driver does not start: {}", driver.reason(code))),
        }
    }

    /// The newest CUDA that it knows: major and minor version.
    pub(crate) fn cuda(&self) -> (c_int, c_int) {
        let mut version = 0;
        // SAFETY: the out parameter is a local.
        unsafe { (self.cuDriverGetVersion)(&mut version) };
        (version / 1000, version % 1000 / 10)
    }

    /// The same, such as `13.0`.
    pub(crate) fn version(&self) -> String {
        let (major, minor) = self.cuda();
        format!("{major}.{minor}")
    }

    /// The device of that number, and what it is called.
    pub(crate) fn device(&self, ordinal: u32) -> Result<(CUdevice, String), DeviceError> {
        let absent = |reason| DeviceError::Absent { reason };
        let mut count = 0;
        // SAFETY: the out parameter is a local.
        let code = unsafe { (self.cuDeviceGetCount)(&mut count) };
        if code != 0 {
            return Err(absent(self.reason(code)));
        }
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        if ordinal >= count {
            return Err(absent(format!("number {ordinal} was asked for, and there are {count}, from 0")));
        }
        let (mut device, mut name) = (0, [0; 256]);
        // SAFETY: the out parameter is a local.
        let code = unsafe { (self.cuDeviceGet)(&mut device, ordinal) };
        if code != 0 {
            return Err(absent(self.reason(code)));
        }
        // SAFETY: the buffer is as long as is said; the last byte stays 0 whatever happens.
        unsafe { (self.cuDeviceGetName)(name.as_mut_ptr(), 255, device) };
        // SAFETY: ends with a 0.
        Ok((device, unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()))
    }

    /// Bytes of a device's memory; 0 where the driver does not say.
    pub(crate) fn memory_bytes(&self, device: CUdevice) -> u64 {
        let mut bytes = 0;
        // SAFETY: the out parameter is a local.
        let code = unsafe { (self.cuDeviceTotalMem_v2)(&mut bytes, device) };
        if code == 0 { bytes as u64 } else { 0 }
    }

    /// An attribute of a device; 0 where the driver does not know it.
    pub(crate) fn attribute(&self, device: CUdevice, attribute: Attribute) -> i32 {
        let mut value = 0;
        // SAFETY: the out parameter is a local.
        match unsafe { (self.cuDeviceGetAttribute)(&mut value, attribute, device) } {
            0 => value,
            _ => 0,
        }
    }

    /// What a code means, for people.
    pub(crate) fn reason(&self, code: Code) -> String {
        let text = |get: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: the out parameter is a local.
            let found = unsafe { get(code, &mut text) } == 0 && !text.is_null();
            // SAFETY: the driver gives a static string.
            found.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        match (text(self.cuGetErrorName), text(self.cuGetErrorString)) {
            (Some(name), Some(text)) => format!("{text} ({name})"),
            _ => format!("error {code}"),
        }
    }
}

/// Whether nothing works any more in a context after this code: a kernel faulted, or the device did. These are the codes of which CUDA's
/// documentation says so, and those after which nobody can know.
pub(crate) fn is_sticky(code: Code) -> bool {
    // Uncorrectable errors of memory and NVLink, and contained ones; all that kernels do wrong; the context is gone; the MPS client was
    // ended; a device outside of CUDA failed; unknown.
    matches!(code, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 810 | 911 | 999)
}

/// Compute capability of the oldest GPUs that the kernels compile for: `__grid_constant__` is of 7.0.
const OLDEST: (u32, u32) = (7, 0);

/// Which context a thread has, so that most calls need not set it.
static CONTEXTS: AtomicU64 = AtomicU64::new(1);
thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A context on a device: one of its own, or the primary one. With its own, other users of the process keep theirs, all that is made in it goes
/// with it, and one in which a kernel hangs can be left behind. The primary one is that of the CUDA runtime and of what is built on it:
/// memory and functions of theirs can be used. A fault neither contains: CUDA then refuses the process everything, new contexts too (seen on
/// an H100 with driver 580, for both).
pub(crate) struct Context {
    pub(crate) driver: &'static Driver,
    raw: CUcontext,
    pub(crate) primary: bool,
    id: u64,
    /// The device, for people.
    pub(crate) name: String,
    device: CUdevice,
    /// Compute capability.
    pub(crate) arch: (u32, u32),
    /// A kernel hangs: whatever frees anything would wait for it for ever, so nothing is freed.
    abandoned: AtomicBool,
}

// SAFETY: a context may be current to several threads at once, and the driver's functions may be called from all of them.
unsafe impl Send for Context {}
// SAFETY: the same.
unsafe impl Sync for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("name", &self.name).field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Context {
    /// A new one on the device of that number.
    pub(crate) fn new(ordinal: u32) -> Result<Arc<Self>, DeviceError> {
        Self::open(ordinal, false)
    }

    /// The primary one of the device of that number.
    pub(crate) fn primary(ordinal: u32) -> Result<Arc<Self>, DeviceError> {
        Self::open(ordinal, true)
    }

    fn open(ordinal: u32, primary: bool) -> Result<Arc<Self>, DeviceError> {
        let driver = Driver::get()?;
        let absent = |reason| DeviceError::Absent { reason };
        let (device, model) = driver.device(ordinal)?;
        let mut raw = null_mut();
        let code = match primary {
            // SAFETY: the out parameter is a local.
            true => unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut raw, device) },
            // SAFETY: the same.
            false => unsafe { (driver.cuCtxCreate_v2)(&mut raw, 0, device) },
        };
        if code != 0 {
            let remedy = match is_sticky(code) {
                true => "; a kernel of this process faulted, and CUDA wants a new process",
                false => "",
            };
            return Err(absent(format!("{model} gives no context: {}{remedy}", driver.reason(code))));
        }
        if !primary {
            // Creating it made it current; the caller's thread keeps what it had.
            // SAFETY: the out parameter is a local.
            unsafe { (driver.cuCtxPopCurrent_v2)(&mut null_mut()) };
        }
        let id = CONTEXTS.fetch_add(1, Ordering::Relaxed);
        let abandoned = AtomicBool::new(false);
        let mut context = Self { driver, raw, primary, id, name: model, device, arch: (0, 0), abandoned };
        let part = |a| u32::try_from(context.attribute(a)).unwrap_or(0);
        context.arch = (
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        );
        context.name = format!("cuda:{ordinal} ({}, sm_{}{})", context.name, context.arch.0, context.arch.1);
        if context.arch < OLDEST {
            let reason =
                format!("{}: compute capability {}.{} or newer is needed", context.name, OLDEST.0, OLDEST.1);
            return Err(absent(reason));
        }
        Ok(Arc::new(context))
    }

    /// An attribute of the device; 0 where the driver does not know it.
    pub(crate) fn attribute(&self, attribute: Attribute) -> i32 {
        self.driver.attribute(self.device, attribute)
    }

    /// Makes it the calling thread's until the visit ends: for threads that are not ours, whose own context comes back.
    pub(crate) fn visit(self: &Arc<Self>) -> Result<Visit, DeviceError> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(self.hangs());
        }
        // SAFETY: the context lives while `self` does.
        self.ok(unsafe { (self.driver.cuCtxPushCurrent_v2)(self.raw) }, "cuCtxPushCurrent")?;
        Ok(Visit { context: self.clone(), before: CURRENT.replace(self.id) })
    }

    #[cold]
    fn hangs(&self) -> DeviceError {
        self.failed("a call", "a kernel of this context hangs; open the device anew".into())
    }

    /// Makes it the calling thread's, which is one of ours.
    #[inline]
    pub(crate) fn enter(&self) -> Result<(), DeviceError> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(self.hangs());
        }
        if CURRENT.get() == self.id { Ok(()) } else { self.set_current() }
    }

    /// After others' code has run on the calling thread: which context it has is not known.
    pub(crate) fn leave(&self) {
        CURRENT.set(0);
    }

    #[cold]
    fn set_current(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives while `self` does.
        self.ok(unsafe { (self.driver.cuCtxSetCurrent)(self.raw) }, "cuCtxSetCurrent")?;
        CURRENT.set(self.id);
        Ok(())
    }

    /// A code as a result.
    #[inline]
    pub(crate) fn ok(&self, code: Code, call: &'static str) -> Result<(), DeviceError> {
        if code == 0 { Ok(()) } else { Err(self.error(code, call)) }
    }

    #[cold]
    pub(crate) fn error(&self, code: Code, call: &'static str) -> DeviceError {
        let (device, reason) = (self.name.clone(), self.driver.reason(code));
        if is_sticky(code) {
            let reason = format!("{reason}, after which CUDA wants a new process");
            return DeviceError::Lost { device, call, reason, suspects: "in flight".into() };
        }
        DeviceError::Call { device, call, reason }
    }

    /// Something failed that is not the driver's.
    #[cold]
    pub(crate) fn failed(&self, call: &'static str, reason: String) -> DeviceError {
        DeviceError::Call { device: self.name.clone(), call, reason }
    }

    /// Nothing of it is freed from here on, and nothing more is asked of it: the answer might never come.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// For freeing things of it, where that is possible: on any thread, which has its own context again afterwards.
    pub(crate) fn to_free(self: &Arc<Self>) -> Option<Visit> {
        self.visit().ok()
    }
}

/// The calling thread has the context.
#[derive(Debug)]
pub(crate) struct Visit {
    context: Arc<Context>,
    /// Whose context [`CURRENT`] was.
    before: u64,
}

impl Drop for Visit {
    fn drop(&mut self) {
        // SAFETY: the out parameter is a local; what is popped is what the visit pushed.
        unsafe { (self.context.driver.cuCtxPopCurrent_v2)(&mut null_mut()) };
        CURRENT.set(self.before);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.abandoned.load(Ordering::Relaxed) {
            match self.primary {
                // SAFETY: retained once by this.
                true => unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device) },
                // SAFETY: all that lives in it holds an `Arc` to it, and so is gone.
                false => unsafe { (self.driver.cuCtxDestroy_v2)(self.raw) },
            };
            if CURRENT.get() == self.id {
                CURRENT.set(0);
            }
        }
    }
}

/// Memory that the device's kernels reach.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    pub(crate) context: Arc<Context>,
    pub(crate) address: CUdeviceptr,
    pub(crate) bytes: usize,
    /// Whose memory it is, where it was not allocated here.
    owner: Option<Owner>,
}

impl DeviceMemory {
    /// Not initialised; of at least one byte.
    pub(crate) fn new(context: &Arc<Context>, bytes: u64, what: &'static str) -> Result<Self, DeviceError> {
        context.enter()?;
        let refused = |reason| DeviceError::OutOfMemory { device: context.name.clone(), bytes, what, reason };
        let size = usize::try_from(bytes.max(1)).map_err(|e| refused(e.to_string()))?;
        let mut address = 0;
        // SAFETY: the out parameter is a local.
        match unsafe { (context.driver.cuMemAlloc_v2)(&mut address, size) } {
            0 => Ok(Self { context: context.clone(), address, bytes: size, owner: None }),
            code @ (INVALID_VALUE | OUT_OF_MEMORY) => Err(refused(context.driver.reason(code))),
            code => Err(context.error(code, "cuMemAlloc")),
        }
    }

    /// Memory of somebody else, which `owner` keeps: so many bytes from an address of the device, of managed or of pinned memory. `Err`
    /// with what is wrong with it.
    pub(crate) fn import(
        context: &Arc<Context>,
        first: CUdeviceptr,
        bytes: usize,
        owner: Owner,
    ) -> Result<Self, String> {
        use PointerAttribute::{
            CU_POINTER_ATTRIBUTE_CONTEXT as CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER as DEVICE_POINTER,
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE as MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE as RANGE_SIZE,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as RANGE_START_ADDR,
        };
        const DEVICE: u64 = 2;
        context.enter().map_err(|e| e.to_string())?;
        let ask = |attribute, at| {
            let mut value = 0u64;
            // SAFETY: each is written as 64 bits or less; the driver looks the address up, and does not follow it.
            let code =
                unsafe { (context.driver.cuPointerGetAttribute)((&raw mut value).cast(), attribute, at) };
            if code == 0 { Ok(value) } else { Err(context.driver.reason(code)) }
        };
        let refused = |reason: String| {
            let remedy = match context.primary {
                true => "give memory of cudaMalloc, cuMemAlloc or the like on this device",
                false => {
                    "memory of the CUDA runtime is the primary context's: make the executor with `Cuda::primary`"
                }
            };
            format!("no kernel of {} reaches the address {first:#x}: {reason}; {remedy}", context.name)
        };
        let address = ask(DEVICE_POINTER, first).map_err(refused)?;
        // The driver gives an address for memory of another context, too (seen with driver 580).
        if ask(MEMORY_TYPE, first) == Ok(DEVICE)
            && ask(CONTEXT, first)
                .is_ok_and(|owner| owner != 0 && owner != context.raw.expose_provenance() as u64)
        {
            return Err(refused("it is of another context".into()));
        }
        let past = || format!("{bytes} bytes from the address {first:#x} are not all allocated");
        let end = first.checked_add(bytes as u64).ok_or_else(past)?;
        // Memory may be mapped in several pieces.
        let mut at = first;
        while at < end {
            let piece = ask(RANGE_START_ADDR, at).and_then(|start| Ok(start + ask(RANGE_SIZE, at)?));
            at = piece.ok().filter(|next| *next > at).ok_or_else(past)?;
        }
        Ok(Self { context: context.clone(), address, bytes, owner: Some(owner) })
    }

    /// Of these values.
    pub(crate) fn of<T: Plain>(
        context: &Arc<Context>,
        values: &[T],
        what: &'static str,
    ) -> Result<Self, DeviceError> {
        let memory = Self::new(context, size_of_val(values) as u64, what)?;
        // SAFETY: `Plain` values have no padding.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        memory.write(0, bytes)?;
        Ok(memory)
    }

    fn inside(&self, offset: u64, bytes: usize) -> Result<CUdeviceptr, DeviceError> {
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.bytes as u64);
        end.map(|_| self.address + offset).ok_or_else(|| DeviceError::Call {
            device: self.context.name.clone(),
            call: "copy",
            reason: format!("{bytes} bytes from {offset} are past the end of {} bytes", self.bytes),
        })
    }

    /// Copies to the device; when it returns, any stream's kernels see it.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        let to = self.inside(offset, from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let context = &self.context;
        context.enter()?;
        // SAFETY: both ranges are valid, the device's as just checked.
        let code = unsafe { (context.driver.cuMemcpyHtoD_v2)(to, from.as_ptr().cast(), from.len()) };
        context.ok(code, "cuMemcpyHtoD")?;
        self.settle()
    }

    /// Fills all of it with a byte; when it returns, any stream's kernels see it.
    pub(crate) fn fill(&self, byte: u8) -> Result<(), DeviceError> {
        let context = &self.context;
        context.enter()?;
        // SAFETY: the range is this memory.
        let code = unsafe { (context.driver.cuMemsetD8_v2)(self.address, byte, self.bytes) };
        context.ok(code, "cuMemsetD8")?;
        self.settle()
    }

    /// A copy from pageable memory returns once it is staged, a fill at once; the streams here do not wait for the default stream.
    fn settle(&self) -> Result<(), DeviceError> {
        // SAFETY: the default stream.
        let code = unsafe { (self.context.driver.cuStreamSynchronize)(null_mut()) };
        self.context.ok(code, "cuStreamSynchronize")
    }

    /// Copies from the device.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.inside(offset, to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        let context = &self.context;
        context.enter()?;
        // SAFETY: both ranges are valid, the device's as just checked.
        let code = unsafe { (context.driver.cuMemcpyDtoH_v2)(to.as_mut_ptr().cast(), from, to.len()) };
        context.ok(code, "cuMemcpyDtoH")
    }

    /// Values from its beginning.
    pub(crate) fn values<T: Plain>(&self, count: usize) -> Result<Vec<T>, DeviceError> {
        let mut values: Vec<T> = Vec::new();
        values.try_reserve_exact(count).map_err(|e| DeviceError::OutOfMemory {
            device: "the host".into(),
            bytes: (count as u64).saturating_mul(size_of::<T>() as u64),
            what: "a copy of device memory",
            reason: e.to_string(),
        })?;
        values.resize(count, T::default());
        // SAFETY: any bytes are valid `Plain` values.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), count * size_of::<T>()) };
        self.read(0, bytes)?;
        Ok(values)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // The last who holds a buffer may be a thread of the application.
        if self.owner.is_none()
            && let Ok(_visit) = self.context.visit()
        {
            // SAFETY: allocated by this context, and not freed before. The driver waits for kernels that may use it.
            unsafe { (self.context.driver.cuMemFree_v2)(self.address) };
        }
    }
}

/// Values that are only their bytes.
///
/// # Safety
/// No padding, no pointers, and all bytes are valid.
pub(crate) unsafe trait Plain: Copy + Default {}
// SAFETY: an integer.
unsafe impl Plain for u32 {}
// SAFETY: an integer.
unsafe impl Plain for u64 {}
// SAFETY: an array of integers.
unsafe impl Plain for [u64; 2] {}

/// Words of pinned host memory that device and host both see, each in a cache line of its own.
#[derive(Debug)]
pub(crate) struct Marks {
    context: Arc<Context>,
    host: *mut c_void,
    device: CUdeviceptr,
    count: usize,
}

// SAFETY: all access by the host is atomic.
unsafe impl Send for Marks {}
// SAFETY: the same.
unsafe impl Sync for Marks {}

impl Marks {
    const LINE: usize = 128;

    /// So many, all 0; at least 1.
    pub(crate) fn new(context: &Arc<Context>, count: usize) -> Result<Self, DeviceError> {
        const DEVICE_MAP: c_uint = 2;
        context.enter()?;
        let (mut host, mut device) = (null_mut(), 0);
        // SAFETY: the out parameter is a local.
        let code =
            unsafe { (context.driver.cuMemHostAlloc)(&mut host, count.max(1) * Self::LINE, DEVICE_MAP) };
        context.ok(code, "cuMemHostAlloc")?;
        let mut marks = Self { context: context.clone(), host, device, count: count.max(1) };
        // SAFETY: pinned memory of this context.
        let code = unsafe { (context.driver.cuMemHostGetDevicePointer_v2)(&mut device, host, 0) };
        context.ok(code, "cuMemHostGetDevicePointer")?;
        marks.device = device;
        marks.zero();
        Ok(marks)
    }

    /// As the host sees it. `n` is below the count.
    #[inline]
    pub(crate) fn at(&self, n: usize) -> &AtomicU32 {
        assert!(n < self.count);
        // SAFETY: inside the allocation, aligned to a line, and only ever touched atomically.
        unsafe { AtomicU32::from_ptr(self.host.cast::<u8>().add(n * Self::LINE).cast()) }
    }

    /// As the device sees it.
    #[inline]
    pub(crate) fn address(&self, n: usize) -> CUdeviceptr {
        self.device + (n * Self::LINE) as CUdeviceptr
    }

    pub(crate) fn zero(&self) {
        (0..self.count).for_each(|n| self.at(n).store(0, Ordering::SeqCst));
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if let Some(_visit) = self.context.to_free() {
            // SAFETY: allocated by this context, and not freed before.
            unsafe { (self.context.driver.cuMemFreeHost)(self.host) };
        }
    }
}

/// A stream that does not wait for the default stream.
#[derive(Debug)]
pub(crate) struct Stream {
    context: Arc<Context>,
    pub(crate) raw: CUstream,
}

// SAFETY: the driver takes a stream from any thread.
unsafe impl Send for Stream {}
// SAFETY: the same.
unsafe impl Sync for Stream {}

impl Stream {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        const NON_BLOCKING: c_uint = 1;
        context.enter()?;
        let mut raw = null_mut();
        // SAFETY: the out parameter is a local.
        context.ok(unsafe { (context.driver.cuStreamCreate)(&mut raw, NON_BLOCKING) }, "cuStreamCreate")?;
        Ok(Self { context: context.clone(), raw })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(_visit) = self.context.to_free() {
            // SAFETY: made by this context, and not destroyed before.
            unsafe { (self.context.driver.cuStreamDestroy_v2)(self.raw) };
        }
    }
}

/// An event without a time.
#[derive(Debug)]
pub(crate) struct Event {
    context: Arc<Context>,
    pub(crate) raw: CUevent,
}

// SAFETY: the driver takes an event from any thread.
unsafe impl Send for Event {}
// SAFETY: the same.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        const DISABLE_TIMING: c_uint = 2;
        context.enter()?;
        let mut raw = null_mut();
        // SAFETY: the out parameter is a local.
        context.ok(unsafe { (context.driver.cuEventCreate)(&mut raw, DISABLE_TIMING) }, "cuEventCreate")?;
        Ok(Self { context: context.clone(), raw })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Some(_visit) = self.context.to_free() {
            // SAFETY: made by this context, and not destroyed before.
            unsafe { (self.context.driver.cuEventDestroy_v2)(self.raw) };
        }
    }
}

/// Machine code on the device.
#[derive(Debug)]
pub(crate) struct Module {
    context: Arc<Context>,
    raw: CUmodule,
}

// SAFETY: the driver takes a module from any thread.
unsafe impl Send for Module {}
// SAFETY: the same.
unsafe impl Sync for Module {}

impl Module {
    /// From a cubin of NVRTC's.
    pub(crate) fn new(context: &Arc<Context>, cubin: &[u8]) -> Result<Self, DeviceError> {
        context.enter()?;
        let mut raw = null_mut();
        // SAFETY: a cubin says how long it is.
        let code = unsafe { (context.driver.cuModuleLoadData)(&mut raw, cubin.as_ptr().cast()) };
        if let INVALID_IMAGE | NO_BINARY_FOR_GPU | UNSUPPORTED_PTX_VERSION = code {
            let nvrtc = nvrtc_version().map_or("?".into(), |(version, _)| version);
            let (reason, cuda) = (context.driver.reason(code), context.driver.version());
            let reason = format!("{reason}: compiled by NVRTC {nvrtc}, and the driver is of CUDA {cuda}");
            return Err(context.failed("cuModuleLoadData", reason));
        }
        context.ok(code, "cuModuleLoadData")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// A kernel of it, which lives as long as the module.
    pub(crate) fn function(&self, name: &str) -> Result<Function, DeviceError> {
        self.context.enter()?;
        let symbol = CString::new(name).unwrap_or_default();
        let mut raw = null_mut();
        // SAFETY: the module lives, the name ends with 0, the out parameter is a local.
        let code = unsafe { (self.context.driver.cuModuleGetFunction)(&mut raw, self.raw, symbol.as_ptr()) };
        match self.context.ok(code, "cuModuleGetFunction") {
            Ok(()) => Ok(Function(raw)),
            Err(DeviceError::Call { device, call, reason }) => {
                Err(DeviceError::Call { device, call, reason: format!("`{name}`: {reason}") })
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Some(_visit) = self.context.to_free() {
            // SAFETY: loaded by this context, and not unloaded before.
            unsafe { (self.context.driver.cuModuleUnload)(self.raw) };
        }
    }
}

/// A kernel of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(pub(crate) CUfunction);

// SAFETY: the driver takes a function from any thread.
unsafe impl Send for Function {}
// SAFETY: the same.
unsafe impl Sync for Function {}

impl Function {
    /// Lets CTAs have as much dynamic shared memory as the device gives one; gives that size.
    pub(crate) fn allow_shared(self, context: &Context) -> Result<u32, DeviceError> {
        const SHARED_SIZE_BYTES: c_int = 1;
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
        context.enter()?;
        let mut fixed = 0;
        // SAFETY: the out parameter is a local; the function is of a module that lives.
        let code = unsafe { (context.driver.cuFuncGetAttribute)(&mut fixed, SHARED_SIZE_BYTES, self.0) };
        context.ok(code, "cuFuncGetAttribute")?;
        // What the source declares itself comes out of the same memory.
        let most =
            context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - fixed;
        // SAFETY: the function is of a module that lives.
        let code =
            unsafe { (context.driver.cuFuncSetAttribute)(self.0, MAX_DYNAMIC_SHARED_SIZE_BYTES, most) };
        context.ok(code, "cuFuncSetAttribute")?;
        Ok(u32::try_from(most).unwrap_or(0))
    }

    /// Sizes of its parameters in bytes.
    pub(crate) fn parameters(self, context: &Context) -> Result<Vec<usize>, DeviceError> {
        context.enter()?;
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the out parameters are locals.
            let get =
                unsafe { (context.driver.cuFuncGetParamInfo)(self.0, sizes.len(), &mut offset, &mut size) };
            match get {
                0 => sizes.push(size),
                INVALID_VALUE => return Ok(sizes),
                code => return Err(context.error(code, "cuFuncGetParamInfo")),
            }
        }
    }

    /// Launches it.
    ///
    /// # Safety
    /// `args` points to a value for each of the function's parameters, of that parameter's type.
    #[inline]
    pub(crate) unsafe fn launch(
        self,
        context: &Context,
        config: &CUlaunchConfig,
        args: &mut [*mut c_void],
    ) -> Code {
        // SAFETY: the caller's, and the function is of a module that lives.
        unsafe { (context.driver.cuLaunchKernelEx)(config, self.0, args.as_mut_ptr(), null_mut()) }
    }
}

/// A launch without attributes.
#[inline]
pub(crate) fn config(grid: [u32; 3], block: [u32; 3], shared: u32, stream: CUstream) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared,
        hStream: stream,
        attrs: null_mut(),
        numAttrs: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::sys::CUresult::{self, *};

    #[test]
    fn codes_after_which_cuda_wants_a_new_process() {
        let is = |code: CUresult| is_sticky(code as Code);
        for code in [
            CUDA_ERROR_ECC_UNCORRECTABLE,
            CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUDA_ERROR_CONTAINED,
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_LAUNCH_FAILED,
            CUDA_ERROR_TENSOR_MEMORY_LEAK,
            CUDA_ERROR_MPS_CLIENT_TERMINATED,
            CUDA_ERROR_EXTERNAL_DEVICE,
            CUDA_ERROR_UNKNOWN,
        ] {
            assert!(is(code), "{code:?}");
        }
        for code in [
            CUDA_ERROR_INVALID_VALUE,
            CUDA_ERROR_OUT_OF_MEMORY,
            CUDA_ERROR_INVALID_IMAGE,
            CUDA_ERROR_NO_BINARY_FOR_GPU,
            CUDA_ERROR_NOT_READY,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CUDA_ERROR_NOT_SUPPORTED,
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        ] {
            assert!(!is(code), "{code:?}");
        }
    }
}

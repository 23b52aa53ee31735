//! What a kernel is: its parameters, what it reads and writes, and what each CTA does.

use super::error::Error;
use super::memory::{Arg, ArgKind, Bytes, Element, ElementKind, HostMemory};
use super::view::{ReadView, ReadWriteView, WriteView};
use crate::ktrace::KernelType;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What a kernel does with the bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Reads them, all or some.
    Read,
    /// Writes every one of them, and does not read what was there before. What only may write is [`Mode::ReadWrite`].
    Write,
    /// Reads and writes, all or some.
    ReadWrite,
}

impl Mode {
    pub(crate) fn reads(self) -> bool {
        self != Self::Write
    }

    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read-write",
        })
    }
}

/// What a kernel does with an argument, `None` for a number, and its type, `None` where any will do.
pub type Parameter = (Option<Mode>, Option<ElementKind>);

/// A parameter: a buffer, with what happens to it, or a number.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// `None` for a number.
    pub(crate) mode: Option<Mode>,
    /// The type, where the author has said it.
    pub(crate) element: Option<ElementKind>,
}

/// What a CTA's work ends with.
pub type CtaResult = Result<(), Box<dyn StdError + Send + Sync>>;

type AccessFn = dyn Fn(&Launch<'_>, &mut Accesses<'_>) + Send + Sync;
type Body = dyn Fn(&Cta<'_>) -> CtaResult + Send + Sync;

/// A kernel as its author writes it down, once. Parameters are declared in the order of the arguments. One that is declared with its
/// type (`read_of`, `value_of`) is checked when it is launched, on every executor; one without takes any, and what its body makes of
/// another is an error of the body on [`Cpu`](super::Cpu), and on a GPU wrong numbers.
///
/// ```
/// use windlass_runtime::runtime::Kernel;
/// let saxpy = Kernel::new("saxpy").value_of::<f32>("a").read_of::<f32>("x").read_write_of::<f32>("y").body(|cta| {
///     let (a, x, y) = (cta.value::<f32>(0)?, cta.read::<f32>(1)?, cta.read_write::<f32>(2)?);
///     for i in cta.threads().filter(|i| *i < y.len()) {
///         y.set(i, a * x.get(i) + y.get(i));
///     }
///     Ok(())
/// });
/// ```
#[derive(Clone)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) kind: KernelType,
    pub(crate) access: Option<Arc<AccessFn>>,
    pub(crate) body: Option<Arc<Body>>,
    pub(crate) cuda: Option<CudaKernel>,
}

/// What a kernel is on an NVIDIA GPU.
///
/// The function takes the launch's arguments in their order: for a buffer a pointer to its first element, for a number the number. It is run
/// with the launch's grid and block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CudaKernel {
    pub(crate) code: CudaCode,
    pub(crate) shared_bytes: u32,
}

/// Where a kernel's machine code comes from.
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

    fn of(code: CudaCode) -> Self {
        Self { code, shared_bytes: 0 }
    }

    /// With so many bytes of dynamic shared memory per CTA; none where nothing is said.
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
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl Kernel {
    /// A kernel without parameters, of type SIMT.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            params: Vec::new(),
            kind: KernelType::Simt,
            access: None,
            body: None,
            cuda: None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is on a GPU, where it says so.
    pub fn cuda_kernel(&self) -> Option<&CudaKernel> {
        self.cuda.as_ref()
    }

    fn param(
        mut self,
        name: impl Into<String>,
        mode: Option<Mode>,
        element: impl Into<Option<ElementKind>>,
    ) -> Self {
        self.params.push(Param { name: name.into(), mode, element: element.into() });
        self
    }

    /// Next comes a buffer that it reads.
    #[must_use]
    pub fn read(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::Read), None)
    }

    /// As [`Kernel::read`], of elements of this type.
    #[must_use]
    pub fn read_of<T: Element>(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::Read), T::KIND)
    }

    /// Next comes a buffer that it overwrites wholly, without having read it.
    #[must_use]
    pub fn write(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::Write), None)
    }

    /// As [`Kernel::write`], of elements of this type.
    #[must_use]
    pub fn write_of<T: Element>(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::Write), T::KIND)
    }

    /// Next comes a buffer that it reads and writes, or of which it writes a part that is not known before.
    #[must_use]
    pub fn read_write(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::ReadWrite), None)
    }

    /// As [`Kernel::read_write`], of elements of this type.
    #[must_use]
    pub fn read_write_of<T: Element>(self, name: impl Into<String>) -> Self {
        self.param(name, Some(Mode::ReadWrite), T::KIND)
    }

    /// Next comes a number.
    #[must_use]
    pub fn value(self, name: impl Into<String>) -> Self {
        self.param(name, None, None)
    }

    /// As [`Kernel::value`], of this type.
    #[must_use]
    pub fn value_of<T: Element>(self, name: impl Into<String>) -> Self {
        self.param(name, None, T::KIND)
    }

    /// What a launch accesses: what its closure has said, or each buffer as a whole, as its parameter says.
    #[inline]
    pub(crate) fn each_access(&self, args: &[Arg], said: Option<&[Access]>, mut f: impl FnMut(Access)) {
        if let Some(list) = said {
            list.iter().copied().for_each(f);
            return;
        }
        for (arg, param) in args.iter().zip(&self.params) {
            if let (ArgKind::Buffer(part), Some(mode)) = (arg.0, param.mode) {
                f(Access { part, mode });
            }
        }
    }

    /// Which pipe of an SM it uses.
    #[must_use]
    pub fn kind(mut self, kind: KernelType) -> Self {
        self.kind = kind;
        self
    }

    /// Says for each launch which bytes are accessed (the `get_addresses` of ACE, section 4). Without it, each buffer is accessed as
    /// a whole, as its parameter says; with it, as the closure says and not otherwise. Where it panics, the launch is refused.
    #[must_use]
    pub fn access(mut self, access: impl Fn(&Launch<'_>, &mut Accesses<'_>) + Send + Sync + 'static) -> Self {
        self.access = Some(Arc::new(access));
        self
    }

    /// What one CTA does, on the CPU. CTAs run in any order and at the same time. Where it is given its own runtime, what would wait there
    /// for the runtime is [`Error::Reentrant`], as in a [callback](super::Options::on_done); it may launch. While it waits for something else, its
    /// thread runs no other CTA: a kernel that waits for a later one may wait for ever.
    #[must_use]
    pub fn body(mut self, body: impl Fn(&Cta<'_>) -> CtaResult + Send + Sync + 'static) -> Self {
        self.body = Some(Arc::new(body));
        self
    }

    /// What it is on a GPU.
    #[must_use]
    pub fn cuda(mut self, kernel: CudaKernel) -> Self {
        self.cuda = Some(kernel);
        self
    }
}

/// A launch as an access closure sees it.
#[derive(Debug)]
pub struct Launch<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) args: &'a [Arg],
}

impl Launch<'_> {
    /// CTAs per dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a CTA per dimension.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Bytes of a buffer argument; 0 where it is none.
    pub fn bytes(&self, arg: usize) -> u64 {
        match self.args.get(arg) {
            Some(Arg(ArgKind::Buffer(part))) => part.bytes,
            _ => 0,
        }
    }

    /// A number; `None` where it is none of that type.
    pub fn value<T: Element>(&self, arg: usize) -> Option<T> {
        match self.args.get(arg)?.0 {
            ArgKind::Value { bits, element } if element == T::KIND => Some(T::from_bits64(bits)),
            _ => None,
        }
    }
}

/// Bytes of an argument's buffer that a launch accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) part: Bytes,
    pub(crate) mode: Mode,
}

/// Where an access closure says what is accessed. Ranges are in bytes, from the beginning of the argument.
#[derive(Debug)]
pub struct Accesses<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) args: &'a [Arg],
    pub(crate) list: Vec<Access>,
    pub(crate) error: Option<Error>,
}

impl Accesses<'_> {
    /// These bytes of an argument are read.
    pub fn read(&mut self, arg: usize, bytes: Range<u64>) {
        self.add(arg, bytes, Mode::Read);
    }

    /// These bytes of an argument are all overwritten.
    pub fn write(&mut self, arg: usize, bytes: Range<u64>) {
        self.add(arg, bytes, Mode::Write);
    }

    /// Of these bytes of an argument some are read and some are written.
    pub fn read_write(&mut self, arg: usize, bytes: Range<u64>) {
        self.add(arg, bytes, Mode::ReadWrite);
    }

    fn add(&mut self, arg: usize, range: Range<u64>, mode: Mode) {
        let kernel = &self.kernel.name;
        let param = self.kernel.params.get(arg);
        let result = match (self.args.get(arg), param.and_then(|p| p.mode)) {
            (Some(Arg(ArgKind::Buffer(whole))), Some(allowed))
                if allowed == Mode::ReadWrite || allowed == mode =>
            {
                let what = || format!("argument {arg} of kernel {kernel}, as its access closure says");
                match range.end.checked_sub(range.start) {
                    None => Err(Error::Range { what: what() }),
                    Some(bytes) if range.end > whole.bytes => {
                        let (offset, size, what) = (range.start, whole.bytes, Some(what()));
                        Err(Error::OutOfBounds { offset, bytes, size, what })
                    }
                    Some(bytes) => {
                        let part = Bytes { offset: whole.offset + range.start, bytes, ..*whole };
                        Ok(Access { part, mode })
                    }
                }
            }
            _ => Err(Error::Access {
                kernel: kernel.clone(),
                access: mode,
                position: arg,
                parameter: param.map_or("not there".into(), |p| {
                    p.mode.map_or("a value".into(), |m| format!("a {m} buffer"))
                }),
            }),
        };
        match result {
            Ok(access) => self.list.push(access),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }
}

/// An argument as CTAs use it.
#[derive(Debug)]
pub(crate) enum JobArg {
    /// No memory where the view is empty: its buffer may be gone.
    Buffer {
        memory: Option<Arc<HostMemory>>,
        part: Bytes,
        mode: Mode,
        touched: Option<super::check::Touched>,
    },
    Value {
        bits: u64,
        element: ElementKind,
    },
}

/// A kernel that runs on the CPU.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) args: Vec<JobArg>,
}

/// What a kernel's body refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgError {
    /// The kernel has no such parameter, or it is of the other kind.
    #[error("argument {position} is no {wanted}")]
    Kind {
        /// From 0.
        position: usize,
        /// `buffer` or `value`.
        wanted: &'static str,
    },
    /// The type is another.
    #[error("argument {position} is of {found}, not of {wanted}")]
    Element {
        /// From 0.
        position: usize,
        /// What was given.
        found: ElementKind,
        /// What the body asks for.
        wanted: ElementKind,
    },
    /// The parameter does not allow it.
    #[error(
        "argument {position} ({name}) is declared as {declared}, and the body asks for {wanted}; correct one of the two"
    )]
    Mode {
        /// From 0.
        position: usize,
        /// The parameter's name.
        name: String,
        /// How.
        declared: Mode,
        /// What the body asks for.
        wanted: Mode,
    },
}

/// One CTA of a running kernel.
#[derive(Debug)]
pub struct Cta<'a> {
    pub(crate) job: &'a Job,
    pub(crate) index: u64,
}

impl<'a> Cta<'a> {
    /// Its index in the grid, x first.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Its place in the grid.
    pub fn id(&self) -> [u32; 3] {
        let [x, y, _] = self.job.grid.map(u64::from);
        // Each is below its dimension.
        [(self.index % x) as u32, (self.index / x % y) as u32, (self.index / x / y) as u32]
    }

    /// CTAs per dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.job.grid
    }

    /// Threads of a CTA per dimension.
    pub fn block(&self) -> [u32; 3] {
        self.job.block
    }

    /// Indices of its threads in the whole grid, where both are counted x first: CTA times threads per CTA, and so many on.
    pub fn threads(&self) -> Range<usize> {
        let threads = self.job.block.iter().fold(1usize, |n, d| n.saturating_mul(*d as usize));
        let first = (self.index as usize).saturating_mul(threads);
        first..first.saturating_add(threads)
    }

    /// A number.
    ///
    /// # Errors
    /// [`ArgError`]: there is no such argument, or it is of another type.
    pub fn value<T: Element>(&self, position: usize) -> Result<T, ArgError> {
        match self.job.args.get(position) {
            Some(JobArg::Value { bits, element }) if *element == T::KIND => Ok(T::from_bits64(*bits)),
            Some(JobArg::Value { element, .. }) => {
                Err(ArgError::Element { position, found: *element, wanted: T::KIND })
            }
            _ => Err(ArgError::Kind { position, wanted: "value" }),
        }
    }

    /// A buffer that the kernel reads.
    ///
    /// # Errors
    /// [`ArgError`]: there is no such argument, it is of another type, or declared otherwise.
    pub fn read<T: Element>(&self, position: usize) -> Result<ReadView<'a, T>, ArgError> {
        self.buffer(position, Mode::Read).map(|view| ReadView(view))
    }

    /// A buffer that the kernel overwrites.
    ///
    /// # Errors
    /// As [`Cta::read`].
    pub fn write<T: Element>(&self, position: usize) -> Result<WriteView<'a, T>, ArgError> {
        self.buffer(position, Mode::Write).map(|view| WriteView(view))
    }

    /// A buffer that the kernel reads and writes.
    ///
    /// # Errors
    /// As [`Cta::read`].
    pub fn read_write<T: Element>(&self, position: usize) -> Result<ReadWriteView<'a, T>, ArgError> {
        self.buffer(position, Mode::ReadWrite).map(|view| ReadWriteView(view))
    }

    fn buffer<T: Element>(&self, position: usize, wanted: Mode) -> Result<super::view::Raw<'a, T>, ArgError> {
        let Some(JobArg::Buffer { memory, part, mode, touched }) = self.job.args.get(position) else {
            return Err(ArgError::Kind { position, wanted: "buffer" });
        };
        if part.element != T::KIND {
            return Err(ArgError::Element { position, found: part.element, wanted: T::KIND });
        }
        if *mode != Mode::ReadWrite && *mode != wanted {
            let name = self.job.kernel.params.get(position).map(|p| p.name.clone()).unwrap_or_default();
            return Err(ArgError::Mode { position, name, declared: *mode, wanted });
        }
        Ok(super::view::Raw::new(memory.as_deref(), part, touched.as_ref()))
    }
}

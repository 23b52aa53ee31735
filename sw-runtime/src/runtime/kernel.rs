//! What a kernel is: its parameters, what it reads and writes, and what each CTA does.

use super::cuda_kernel::CudaKernel;
use super::error::Error;
use super::memory::{Arg, ArgKind, Bytes, Element, ElementKind, HostMemory};
use super::view::{ReadView, ReadWriteView, WriteView};
use crate::ktrace::KernelType;
use std::error::Error as StdError;
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
        self.bits(arg).filter(|(_, element)| *element == T::KIND).map(|(bits, _)| T::from_bits64(bits))
    }

    /// The bits of a number of any type, in the low ones of these 64, and its type; `None` where it is none.
    #[inline]
    pub fn bits(&self, arg: usize) -> Option<(u64, ElementKind)> {
        match self.args.get(arg)?.0 {
            ArgKind::Value { bits, element } => Some((bits, element)),
            ArgKind::Buffer(_) => None,
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

impl ArgError {
    pub(crate) fn unless_of<T: Element>(position: usize, found: ElementKind) -> Result<(), Self> {
        match found == T::KIND {
            true => Ok(()),
            false => Err(Self::Element { position, found, wanted: T::KIND }),
        }
    }
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
        let (bits, found) = self.bits(position)?;
        ArgError::unless_of::<T>(position, found).map(|()| T::from_bits64(bits))
    }

    /// The bits of a number of any type, in the low ones of these 64, and its type.
    ///
    /// # Errors
    /// [`ArgError::Kind`]: there is no such argument.
    #[inline]
    pub fn bits(&self, position: usize) -> Result<(u64, ElementKind), ArgError> {
        match self.job.args.get(position) {
            Some(JobArg::Value { bits, element }) => Ok((*bits, *element)),
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
        ArgError::unless_of::<T>(position, part.element)?;
        if *mode != Mode::ReadWrite && *mode != wanted {
            let name = self.job.kernel.params.get(position).map(|p| p.name.clone()).unwrap_or_default();
            return Err(ArgError::Mode { position, name, declared: *mode, wanted });
        }
        Ok(super::view::Raw::new(memory.as_deref(), part, touched.as_ref()))
    }
}

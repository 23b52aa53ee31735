//! The runtime for C, and the front end's model: `include/windlass.h` and `include/windlass_front_end.h` say what each function does. No panic
//! crosses into C.

mod front_end;

use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::BufReader;
use std::mem::MaybeUninit;
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windlass_cuda::Cuda;
use windlass_files::new_file::save;
use windlass_runtime::explain::Explanation;
use windlass_runtime::runtime::{
    Accesses, Arg, Buffer, Builder, Cpu, Cta, CtaResult, CudaArg, CudaCall, CudaKernel, ElementKind,
    EnqueueResult, Error, Executor, Failure, Failures, Finding, Kernel, Launch, Mode, Options, Policy,
    Registered, Runtime, Schedule, Ticket, View, Waiter,
};

/// `WINDLASS_ABI`.
const ABI: u32 = 1;

const OK: c_int = 0;
const INVALID: c_int = 1;
const KERNEL_FAILED: c_int = 2;
const RESOURCES: c_int = 3;
const INTERNAL: c_int = 4;

/// `WINDLASS_NO_TICKET`.
const NO_TICKET: u64 = u64::MAX;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// `windlass_runtime`: to C a pointer, no more.
#[derive(Debug)]
pub struct WindlassRuntime {
    runtime: Runtime,
    findings: VecDeque<Finding>,
    /// The text of the last one that was asked for.
    finding: CString,
    /// What synchronisations have told and nobody has asked for, up to [`Failures::MOST`].
    failures: VecDeque<Failure>,
    /// As of a finding.
    failure: CString,
    explanation: CString,
}

/// `windlass_waiter`: to C a pointer, no more.
#[derive(Debug)]
pub struct WindlassWaiter(Waiter);

/// `windlass_buffer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct WindlassBuffer {
    id: u64,
    bytes: u64,
}

/// `windlass_kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct WindlassKernel {
    id: u64,
}

/// `windlass_arg`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindlassArg {
    buffer: WindlassBuffer,
    offset: u64,
    bytes: u64,
    value: u64,
}

/// `windlass_cta`.
#[derive(Debug)]
#[repr(C)]
pub struct WindlassCta {
    id: [u32; 3],
    grid: [u32; 3],
    block: [u32; 3],
    index: u64,
    args: usize,
    pointers: *const *mut c_void,
    values: *const u64,
}

/// `windlass_options`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct WindlassOptions {
    size: u32,
    window: u32,
    threads: u32,
    queue: u32,
    serial: u32,
    check: u32,
    record: u32,
    rename: u32,
    cuda_streams: u32,
    cuda_device: u32,
}

/// `windlass_cuda_kernel`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindlassCudaKernel {
    size: u32,
    shared_bytes: u32,
    source: *const c_char,
    image: *const c_void,
    image_bytes: usize,
    entry: *const c_char,
    function: *mut c_void,
    enqueue: Option<WindlassEnqueue>,
}

/// `windlass_cuda_call`.
#[derive(Debug)]
#[repr(C)]
pub struct WindlassCudaCall {
    stream: *mut c_void,
    grid: [u32; 3],
    block: [u32; 3],
    args: usize,
    pointers: *const *mut c_void,
    values: *const u64,
}

/// `windlass_enqueue`.
pub type WindlassEnqueue = extern "C" fn(*const WindlassCudaCall, *mut c_void) -> c_int;

/// `windlass_body`.
pub type WindlassBody = extern "C" fn(*const WindlassCta, *mut c_void) -> c_int;

/// `windlass_done`.
pub type WindlassDone = extern "C" fn(c_int, *const c_char, *mut c_void);

/// `windlass_call`.
#[derive(Debug)]
#[repr(C)]
pub struct WindlassCall {
    grid: [u32; 3],
    block: [u32; 3],
    args: usize,
    values: *const u64,
}

/// `windlass_access`.
pub type WindlassAccess = extern "C" fn(*const WindlassCall, *mut Accesses<'_>, *mut c_void);

/// `windlass_gone`.
pub type WindlassGone = extern "C" fn(*mut c_void);

/// A parameter: a buffer, or a number of that type.
#[derive(Clone, Copy)]
enum Parameter {
    Buffer(Mode),
    Number(ElementKind),
}

impl Parameter {
    fn new(n: usize, mode: c_int) -> Result<Self, Refusal> {
        Ok(match mode {
            0 => Self::Number(ElementKind::U64),
            1 => Self::Buffer(Mode::Read),
            2 => Self::Buffer(Mode::Write),
            3 => Self::Buffer(Mode::ReadWrite),
            4 => Self::Number(ElementKind::U32),
            5 => Self::Number(ElementKind::U16),
            6 => Self::Number(ElementKind::U8),
            other => {
                let text = format!("parameter {n} is {other}; choose a windlass_mode, 0 to 6");
                return Err(Refusal(INVALID, text));
            }
        })
    }

    fn declare(self, kernel: Kernel, name: String) -> Kernel {
        match self {
            Self::Buffer(Mode::Read) => kernel.read(name),
            Self::Buffer(Mode::Write) => kernel.write(name),
            Self::Buffer(Mode::ReadWrite) => kernel.read_write(name),
            Self::Number(ElementKind::U32) => kernel.value_of::<u32>(name),
            Self::Number(ElementKind::U16) => kernel.value_of::<u16>(name),
            Self::Number(ElementKind::U8) => kernel.value_of::<u8>(name),
            Self::Number(_) => kernel.value_of::<u64>(name),
        }
    }
}

/// A number as an argument: what is more than its bits, but for a sign, is refused.
fn number(n: usize, element: ElementKind, value: u64) -> Result<Arg, Refusal> {
    let bits = 8 * element.bytes() as u32;
    let above = 64 - bits;
    let (plain, signed) =
        (value << above >> above, ((value << above).cast_signed() >> above).cast_unsigned());
    if value != plain && value != signed {
        let text = format!(
            "argument {n} is {value:#x}, which has more than the {bits} bits of its parameter; give a number that fits, or declare the parameter as WINDLASS_VALUE"
        );
        return Err(Refusal(INVALID, text));
    }
    Ok(match element {
        ElementKind::U32 => Arg::from(value as u32),
        ElementKind::U16 => Arg::from(value as u16),
        ElementKind::U8 => Arg::from(value as u8),
        _ => Arg::from(value),
    })
}

/// What a call refuses.
struct Refusal(c_int, String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Failed(_) | Error::Poisoned(_) | Error::CauseNotKept { .. } => KERNEL_FAILED,
            Error::OutOfMemory { .. }
            | Error::NoAddresses { .. }
            | Error::TooManyBuffers { .. }
            | Error::OutcomeNotKept { .. }
            | Error::Device { .. }
            | Error::Thread { .. } => RESOURCES,
            Error::SchedulerGone => INTERNAL,
            _ => INVALID,
        };
        Self(status, text(&error))
    }
}

/// What an error says, with the remedies that C has.
fn text(error: &Error) -> String {
    match error {
        Error::UnknownKernel => {
            "this kernel was not registered with this runtime; give it to windlass_register() first".into()
        }
        Error::UnknownBuffer => {
            "this buffer is not of this runtime, or was released; make it with windlass_allocate() or windlass_import()"
                .into()
        }
        Error::BufferSize { elements, .. } => {
            format!("a buffer of {elements} bytes; choose 1 to {}", windlass_runtime::runtime::MAX_BUFFER_BYTES)
        }
        Error::NotLaunched { ticket, launched } => format!(
            "launch {ticket} is not one of the {launched} of this runtime; wait for a ticket that windlass_launch() gave"
        ),
        Error::NotRecorded => "this run is not recorded; set `record` in windlass_options".into(),
        error => error.to_string(),
    }
}

fn null(what: &str) -> Refusal {
    Refusal(INVALID, format!("`{what}` is NULL"))
}

/// Runs a call's work; keeps what it has to say for `windlass_error_text`.
fn call(work: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    let Refusal(status, text) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return OK,
        Ok(Err(refusal)) => refusal,
        Err(_) => Refusal(INTERNAL, "windlass panicked, which is a defect; please report it".into()),
    };
    // A destructor of the calling thread may call when the text is gone already.
    let _ = ERROR.try_with(|error| error.replace(c_text(text)));
    status
}

/// Runs a call that gives a text; NULL where there is none, also where the work panicked, which `windlass_error_text` then says.
fn told(work: impl FnOnce() -> Option<*const c_char>) -> *const c_char {
    let mut text = std::ptr::null();
    call(|| {
        text = work().unwrap_or(text);
        Ok(())
    });
    text
}

fn c_text(text: String) -> CString {
    CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default()
}

/// # Safety
/// `runtime` is from `windlass_create`, and no other thread uses it.
unsafe fn runtime<'a>(runtime: *mut WindlassRuntime) -> Result<&'a mut Runtime, Refusal> {
    // SAFETY: the caller's.
    unsafe { runtime.as_mut() }.map(|r| &mut r.runtime).ok_or_else(|| null("runtime"))
}

/// That `count` values can be at `first`.
fn check_list<T>(first: *const T, count: usize, what: &str) -> Result<(), Refusal> {
    if count > 0 && first.is_null() {
        return Err(null(what));
    }
    // Larger than memory is: a count that went below zero, say.
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Refusal(INVALID, format!("`{what}` cannot have {count} values; correct the number")));
    }
    Ok(())
}

/// # Safety
/// `first` is the first of `count` values, or `count` is 0.
unsafe fn list<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Refusal> {
    check_list(first, count, what)?;
    // SAFETY: the caller's; not NULL where there are any.
    Ok(if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count) } })
}

/// To be written and not read: C may not have initialised them.
///
/// # Safety
/// `first` has room for `count` values that nobody else uses, or `count` is 0.
unsafe fn list_mut<'a, T>(
    first: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>], Refusal> {
    check_list(first, count, what)?;
    // SAFETY: the caller's; not NULL where there are any.
    Ok(if count == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(first.cast(), count) } })
}

/// A buffer that is there, and as large as its handle says.
fn buffer(runtime: &Runtime, given: WindlassBuffer) -> Result<Buffer<u8>, Refusal> {
    let buffer = Buffer::from_bits(given.id, usize::try_from(given.bytes).unwrap_or(usize::MAX));
    let (bytes, said) = (runtime.bytes(buffer)?, given.bytes);
    if bytes != said {
        let text = format!(
            "a windlass_buffer of {said} bytes, and its buffer has {bytes}; pass it as windlass_allocate() gave it, and a part of it by offset and bytes"
        );
        return Err(Refusal(INVALID, text));
    }
    Ok(buffer)
}

/// Some bytes of a buffer; `what` is the argument that they are of. What ends past all numbers is refused here: the runtime would be asked
/// for, and would tell, other numbers than were given.
fn part(
    runtime: &Runtime,
    given: WindlassBuffer,
    offset: u64,
    bytes: u64,
    what: Option<usize>,
) -> Result<View<u8>, Refusal> {
    let buffer = buffer(runtime, given)?;
    let at = |n: u64| usize::try_from(n).ok();
    match (at(offset), offset.checked_add(bytes).and_then(at)) {
        (Some(start), Some(end)) => Ok(buffer.slice(start..end)),
        _ => {
            let what = what.map(|n| format!("argument {n}"));
            Err(Error::OutOfBounds { offset, bytes, size: given.bytes, what }.into())
        }
    }
}

/// What a call gives where it fails.
///
/// # Safety
/// `out` is NULL or valid.
unsafe fn clear<T>(out: *mut T, nothing: T) {
    if !out.is_null() {
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(nothing) };
    }
}

/// A structure that says its own size, of a program that was compiled with this header, an older or a newer one; all that it does not have is 0.
///
/// # Safety
/// `given` points to as many bytes as it says itself in its first field, a `u32`. All bytes make a valid `T`.
unsafe fn sized<T: Copy>(given: *const T, what: &str, name: &str) -> Result<T, Refusal> {
    // SAFETY: the first field is in every version.
    let size = unsafe { given.cast::<u32>().read() } as usize;
    // More than ever will be is a field that nobody has set; no version ends within a field.
    if !(size_of::<u32>()..=1024).contains(&size) || !size.is_multiple_of(align_of::<T>()) {
        return Err(Refusal(INVALID, format!("`{what}.size` is {size}; set it to sizeof({name})")));
    }
    // SAFETY: the caller has so many bytes; all bytes are valid.
    let bytes = unsafe { slice::from_raw_parts(given.cast::<u8>(), size) };
    let (known, newer) = bytes.split_at(size.min(size_of::<T>()));
    if newer.iter().any(|byte| *byte != 0) {
        let text = format!("`{what}` sets what this library does not know; use the library of the header");
        return Err(Refusal(INVALID, text));
    }
    let mut found = MaybeUninit::<T>::zeroed();
    // SAFETY: at most as long as it is, and apart from it.
    unsafe { std::ptr::copy_nonoverlapping(known.as_ptr(), found.as_mut_ptr().cast(), known.len()) };
    // SAFETY: all bytes are initialised, and make a valid one, says the caller.
    Ok(unsafe { found.assume_init() })
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_abi() -> u32 {
    ABI
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_create(
    options: *const WindlassOptions,
    out: *mut *mut WindlassRuntime,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { create(options, None, out) }
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_create_replay(
    options: *const WindlassOptions,
    schedule: *const c_char,
    out: *mut *mut WindlassRuntime,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { create(options, Some(schedule), out) }
}

fn read_schedule(path: &Path) -> Result<Schedule, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    Schedule::read(BufReader::new(file)).map_err(|e| e.to_string())
}

/// # Safety
/// Pointers are NULL or valid.
unsafe fn create(
    options: *const WindlassOptions,
    schedule: Option<*const c_char>,
    out: *mut *mut WindlassRuntime,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(out, std::ptr::null_mut()) };
    call(|| {
        if out.is_null() {
            return Err(null("runtime"));
        }
        let options = match options.is_null() {
            true => WindlassOptions::default(),
            // SAFETY: the caller's; integers alone.
            false => unsafe { sized(options, "options", "windlass_options") }?,
        };
        let schedule = match schedule {
            Some(file) => {
                // SAFETY: the caller's.
                let path = unsafe { path(file, "schedule") }?.ok_or_else(|| null("schedule"))?;
                Some(read_schedule(path).map_err(|e| Refusal(INVALID, format!("{}: {e}", path.display())))?)
            }
            None => None,
        };
        if options.check != 0 && options.cuda_streams != 0 {
            let text = "`check` looks at what bodies do on the CPU; leave it or `cuda_streams` 0";
            return Err(Refusal(INVALID, text.into()));
        }
        for (field, value) in [("threads", options.threads), ("cuda_streams", options.cuda_streams)] {
            if value > 1024 {
                return Err(Refusal(INVALID, format!("`{field}` is {value}; give at most 1024")));
            }
        }
        let executor: Box<dyn Executor> = match options.cuda_streams {
            0 => Box::new(Cpu::new(options.threads as usize)?),
            streams => {
                let cuda = Cuda::primary(options.cuda_device, streams as usize);
                Box::new(cuda.map_err(|e| Refusal(RESOURCES, e.to_string()))?)
            }
        };
        let mut builder = Runtime::builder().executor(executor);
        if options.window != 0 {
            builder = builder.window(options.window as usize);
        }
        if options.queue != 0 {
            builder = builder.queue(options.queue as usize);
        }
        if options.serial != 0 {
            builder = builder.policy(Policy::Serial);
        }
        let builder = builder.rename(u64::from(options.rename) << 20);
        let builder = schedule.into_iter().fold(builder, Builder::replay);
        let runtime = builder.check(options.check != 0).record(options.record != 0).build()?;
        let runtime = Box::new(WindlassRuntime {
            runtime,
            findings: VecDeque::new(),
            finding: CString::default(),
            failures: VecDeque::new(),
            failure: CString::default(),
            explanation: CString::default(),
        });
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(Box::into_raw(runtime)) };
        Ok(())
    })
}

/// # Safety
/// `runtime` is NULL, or from `windlass_create` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_destroy(runtime: *mut WindlassRuntime) {
    // SAFETY: the caller's; it came out of a box.
    unsafe { free(runtime) }
}

/// Drops what was given out.
///
/// # Safety
/// `given` is NULL, or from `Box::into_raw` and not used any more.
unsafe fn free<T>(given: *mut T) {
    call(|| {
        if !given.is_null() {
            // SAFETY: the caller's.
            drop(unsafe { Box::from_raw(given) });
        }
        Ok(())
    });
}

/// `user` of a kernel or a callback. Its author answers for what several threads do with it.
#[derive(Clone, Copy)]
struct User(*mut c_void);
// SAFETY: only handed on to body or callback, whose contract in the header says that it runs on other threads.
unsafe impl Send for User {}
// SAFETY: as above, several at once.
unsafe impl Sync for User {}

impl User {
    fn tell(self, done: WindlassDone, result: Result<(), Failure>) {
        match result {
            Ok(()) => done(OK, std::ptr::null(), self.0),
            Err(failure) => done(KERNEL_FAILED, c_text(failure.to_string()).as_ptr(), self.0),
        }
    }

    fn declare(
        self,
        access: WindlassAccess,
        parameters: &[Parameter],
        launch: &Launch<'_>,
        accesses: &mut Accesses<'_>,
    ) {
        let value = |n: usize| match parameters[n] {
            Parameter::Buffer(_) => launch.bytes(n),
            Parameter::Number(_) => launch.bits(n).map_or(0, |(bits, _)| bits),
        };
        let values: SmallVec<[u64; 16]> = (0..parameters.len()).map(value).collect();
        let to_c = WindlassCall {
            grid: launch.grid(),
            block: launch.block(),
            args: parameters.len(),
            values: values.as_ptr(),
        };
        access(&raw const to_c, accesses, self.0);
    }

    fn run(self, body: WindlassBody, parameters: &[Parameter], cta: &Cta<'_>) -> CtaResult {
        // On the stack, but for very many.
        let mut pointers: SmallVec<[*mut c_void; 16]> = SmallVec::new();
        let mut values: SmallVec<[u64; 16]> = SmallVec::new();
        for (position, parameter) in parameters.iter().enumerate() {
            let (pointer, value) = match parameter {
                Parameter::Number(_) => (std::ptr::null_mut(), cta.bits(position)?.0),
                Parameter::Buffer(Mode::Read) => {
                    let view = cta.read::<u8>(position)?;
                    (view.as_ptr().cast_mut().cast(), view.len() as u64)
                }
                Parameter::Buffer(Mode::Write) => {
                    let view = cta.write::<u8>(position)?;
                    (view.as_mut_ptr().cast(), view.len() as u64)
                }
                Parameter::Buffer(Mode::ReadWrite) => {
                    let view = cta.read_write::<u8>(position)?;
                    (view.as_mut_ptr().cast(), view.len() as u64)
                }
            };
            pointers.push(pointer);
            values.push(value);
        }
        let to_c = WindlassCta {
            id: cta.id(),
            grid: cta.grid(),
            block: cta.block(),
            index: cta.index(),
            args: parameters.len(),
            pointers: pointers.as_ptr(),
            values: values.as_ptr(),
        };
        match body(&raw const to_c, self.0) {
            0 => Ok(()),
            code => Err(format!("its body gave {code} for CTA {}", cta.index()).into()),
        }
    }

    fn enqueue(self, enqueue: WindlassEnqueue, call: &CudaCall<'_>) -> EnqueueResult {
        let each = |arg: &CudaArg| match *arg {
            CudaArg::Buffer { address, bytes } => {
                (std::ptr::with_exposed_provenance_mut(address as usize), bytes)
            }
            CudaArg::Value { bits, .. } => (std::ptr::null_mut(), bits),
        };
        let (pointers, values): (SmallVec<[*mut c_void; 16]>, SmallVec<[u64; 16]>) =
            call.args().iter().map(each).unzip();
        let to_c = WindlassCudaCall {
            stream: call.stream(),
            grid: call.grid(),
            block: call.block(),
            args: call.args().len(),
            pointers: pointers.as_ptr(),
            values: values.as_ptr(),
        };
        match enqueue(&raw const to_c, self.0) {
            0 => Ok(()),
            code => Err(format!("its enqueue function gave {code}").into()),
        }
    }
}

/// # Safety
/// Pointers are NULL or valid; `modes` has `count` values; `body` may be called with `user` from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_register(
    runtime: *mut WindlassRuntime,
    name: *const c_char,
    modes: *const c_int,
    count: usize,
    body: Option<WindlassBody>,
    user: *mut c_void,
    out: *mut WindlassKernel,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { windlass_register_with_access(runtime, name, modes, count, None, body, user, out) }
}

/// # Safety
/// As [`windlass_register`]; `access` may be called with `user` by whoever launches the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_register_with_access(
    runtime: *mut WindlassRuntime,
    name: *const c_char,
    modes: *const c_int,
    count: usize,
    access: Option<WindlassAccess>,
    body: Option<WindlassBody>,
    user: *mut c_void,
    out: *mut WindlassKernel,
) -> c_int {
    let code = Code { body, cuda: None };
    // SAFETY: the caller's.
    unsafe { register(runtime, name, (modes, count), access, code, user, out) }
}

/// # Safety
/// As [`windlass_register_with_access`]; `cuda` is NULL, or points to as many bytes as it says itself, and what it points to is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_register_cuda(
    runtime: *mut WindlassRuntime,
    name: *const c_char,
    modes: *const c_int,
    count: usize,
    access: Option<WindlassAccess>,
    body: Option<WindlassBody>,
    cuda: *const WindlassCudaKernel,
    user: *mut c_void,
    out: *mut WindlassKernel,
) -> c_int {
    let code = Code { body, cuda: Some(cuda) };
    // SAFETY: the caller's.
    unsafe { register(runtime, name, (modes, count), access, code, user, out) }
}

/// What a kernel does on the CPU and on a GPU; one of the two at least.
struct Code {
    body: Option<WindlassBody>,
    cuda: Option<*const WindlassCudaKernel>,
}

/// # Safety
/// As [`windlass_register_cuda`].
unsafe fn register(
    runtime: *mut WindlassRuntime,
    name: *const c_char,
    (modes, count): (*const c_int, usize),
    access: Option<WindlassAccess>,
    code: Code,
    user: *mut c_void,
    out: *mut WindlassKernel,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(out, WindlassKernel { id: 0 }) };
    call(|| {
        // SAFETY: the caller's, here and below.
        let runtime = unsafe { self::runtime(runtime) }?;
        // SAFETY: the caller's.
        let name = unsafe { text_at(name, "name") }?;
        if out.is_null() {
            return Err(null("kernel"));
        }
        // SAFETY: the caller's.
        let modes = unsafe { list(modes, count, "parameters") }?;
        let parameters: Vec<Parameter> =
            modes.iter().zip(0..).map(|(mode, n)| Parameter::new(n, *mode)).collect::<Result<_, _>>()?;
        let named = parameters.iter().zip(0..).map(|(parameter, n)| (parameter, format!("argument {n}")));
        let mut kernel =
            named.fold(Kernel::new(name), |kernel, (parameter, name)| parameter.declare(kernel, name));
        let user = User(user);
        if let Some(access) = access {
            let parameters = parameters.clone();
            kernel =
                kernel.access(move |launch, accesses| user.declare(access, &parameters, launch, accesses));
        }
        match (code.cuda, code.body) {
            // SAFETY: the caller's.
            (Some(cuda), _) => kernel = kernel.cuda(unsafe { cuda_kernel(cuda, user) }?),
            (None, None) => return Err(null("body")),
            (None, Some(_)) => {}
        }
        if let Some(body) = code.body {
            kernel = kernel.body(move |cta| user.run(body, &parameters, cta));
        }
        let registered = runtime.register(kernel)?;
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(WindlassKernel { id: registered.to_bits() }) };
        Ok(())
    })
}

/// # Safety
/// As of [`windlass_register_cuda`].
unsafe fn cuda_kernel(given: *const WindlassCudaKernel, user: User) -> Result<CudaKernel, Refusal> {
    if given.is_null() {
        return Err(null("cuda"));
    }
    // SAFETY: the caller's; integers and pointers alone.
    let given = unsafe { sized(given, "cuda", "windlass_cuda_kernel") }?;
    let WindlassCudaKernel { shared_bytes, source, image, image_bytes, entry, function, enqueue, .. } = given;
    let kernel = match (source.is_null(), image.is_null(), function.is_null(), enqueue) {
        (false, true, true, None) => {
            // SAFETY: the caller's, here and below.
            let (text, entry) = unsafe { (text_at(source, "cuda.source")?, text_at(entry, "cuda.entry")?) };
            CudaKernel::source(text, entry)
        }
        (true, false, true, None) => {
            if image_bytes == 0 {
                return Err(Refusal(
                    INVALID,
                    "`cuda.image_bytes` is 0; set it to the size of the image".into(),
                ));
            }
            // SAFETY: the caller's, here and below.
            let image = unsafe { list(image.cast::<u8>(), image_bytes, "cuda.image") }?;
            // SAFETY: as above; the image is whole.
            unsafe { CudaKernel::image(image, text_at(entry, "cuda.entry")?) }
        }
        // SAFETY: the caller's.
        (true, true, false, None) => unsafe { CudaKernel::function(function) },
        (true, true, true, Some(enqueue)) => CudaKernel::enqueue(move |call| user.enqueue(enqueue, call)),
        _ => {
            let text = "`cuda` is to have exactly one of `source`, `image`, `function` and `enqueue`; leave the others NULL";
            return Err(Refusal(INVALID, text.into()));
        }
    };
    Ok(kernel.with_shared_bytes(shared_bytes))
}

/// A text of C's.
///
/// # Safety
/// `text` is NULL or valid.
unsafe fn text_at(text: *const c_char, what: &str) -> Result<String, Refusal> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL, and the caller's.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// What an access function says, as Rust takes it.
///
/// # Safety
/// `accesses` is NULL, or what the access function that runs was given.
unsafe fn declare(
    accesses: *mut Accesses<'_>,
    [offset, bytes]: [u64; 2],
    say: impl FnOnce(&mut Accesses<'_>, Range<u64>),
) {
    call(|| {
        // SAFETY: the caller's.
        let accesses = unsafe { accesses.as_mut() }.ok_or_else(|| null("accesses"))?;
        // What ends past all numbers is past the argument's end, too.
        say(accesses, offset..offset.saturating_add(bytes));
        Ok(())
    });
}

/// # Safety
/// `accesses` is NULL, or what the access function that runs was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_reads(accesses: *mut Accesses<'_>, arg: usize, offset: u64, bytes: u64) {
    // SAFETY: the caller's.
    unsafe { declare(accesses, [offset, bytes], |accesses, range| accesses.read(arg, range)) }
}

/// # Safety
/// `accesses` is NULL, or what the access function that runs was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_writes(accesses: *mut Accesses<'_>, arg: usize, offset: u64, bytes: u64) {
    // SAFETY: the caller's.
    unsafe { declare(accesses, [offset, bytes], |accesses, range| accesses.write(arg, range)) }
}

/// # Safety
/// `accesses` is NULL, or what the access function that runs was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_reads_and_writes(
    accesses: *mut Accesses<'_>,
    arg: usize,
    offset: u64,
    bytes: u64,
) {
    // SAFETY: the caller's.
    unsafe { declare(accesses, [offset, bytes], |accesses, range| accesses.read_write(arg, range)) }
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_allocate(
    runtime: *mut WindlassRuntime,
    bytes: u64,
    out: *mut WindlassBuffer,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(out, WindlassBuffer { id: 0, bytes: 0 }) };
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { self::runtime(runtime) }?;
        if out.is_null() {
            return Err(null("buffer"));
        }
        let buffer = runtime.buffer::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(WindlassBuffer { id: buffer.to_bits(), bytes }) };
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid. Until `gone` is called or, where it is NULL, nothing uses the buffer any more, there are `bytes` bytes from
/// `memory`, which others use as the declarations of running kernels allow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_import(
    runtime: *mut WindlassRuntime,
    memory: *mut c_void,
    bytes: u64,
    gone: Option<WindlassGone>,
    user: *mut c_void,
    out: *mut WindlassBuffer,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(out, WindlassBuffer { id: 0, bytes: 0 }) };
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { self::runtime(runtime) }?;
        if memory.is_null() || out.is_null() {
            return Err(null(if memory.is_null() { "memory" } else { "buffer" }));
        }
        let refused = Arc::new(AtomicBool::new(true));
        let owner = Lender { gone, user: User(user), refused: refused.clone() };
        let elements = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the caller's.
        let buffer = unsafe { runtime.import::<u8>(memory.cast(), elements, owner) }?;
        refused.store(false, Ordering::Release);
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(WindlassBuffer { id: buffer.to_bits(), bytes }) };
        Ok(())
    })
}

/// Whose memory a buffer is.
struct Lender {
    gone: Option<WindlassGone>,
    user: User,
    /// Then it is the caller's as before, and not to be told.
    refused: Arc<AtomicBool>,
}

impl Drop for Lender {
    fn drop(&mut self) {
        if let Some(gone) = self.gone
            && !self.refused.load(Ordering::Acquire)
        {
            gone(self.user.0);
        }
    }
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_release(runtime: *mut WindlassRuntime, buffer: WindlassBuffer) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { self::runtime(runtime) }?;
        let buffer = self::buffer(runtime, buffer)?;
        Ok(runtime.release(buffer)?)
    })
}

/// # Safety
/// Pointers are NULL or valid; `grid` and `block` have three values, `args` has `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_launch(
    runtime: *mut WindlassRuntime,
    kernel: WindlassKernel,
    grid: *const u32,
    block: *const u32,
    args: *const WindlassArg,
    count: usize,
    priority: i32,
    ticket: *mut u64,
) -> c_int {
    let options = Options::new().priority(priority);
    // SAFETY: the caller's.
    unsafe { clear(ticket, NO_TICKET) };
    // SAFETY: the caller's.
    call(|| unsafe { launch(runtime, kernel, [grid, block], args, count, options, ticket) })
}

/// # Safety
/// As [`windlass_launch`]; `done` may be called with `user` from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_launch_then(
    runtime: *mut WindlassRuntime,
    kernel: WindlassKernel,
    grid: *const u32,
    block: *const u32,
    args: *const WindlassArg,
    count: usize,
    priority: i32,
    done: Option<WindlassDone>,
    user: *mut c_void,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(ticket, NO_TICKET) };
    call(|| {
        let (done, user) = (done.ok_or_else(|| null("done"))?, User(user));
        let options = Options::new().priority(priority).on_done(move |result| user.tell(done, result));
        // SAFETY: the caller's.
        unsafe { launch(runtime, kernel, [grid, block], args, count, options, ticket) }
    })
}

/// # Safety
/// As [`windlass_launch`]; `waiter` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_launch_with_waiter(
    runtime: *mut WindlassRuntime,
    kernel: WindlassKernel,
    grid: *const u32,
    block: *const u32,
    args: *const WindlassArg,
    count: usize,
    priority: i32,
    waiter: *mut *mut WindlassWaiter,
    ticket: *mut u64,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(ticket, NO_TICKET) };
    // SAFETY: the caller's.
    unsafe { clear(waiter, std::ptr::null_mut()) };
    call(|| {
        if waiter.is_null() {
            return Err(null("waiter"));
        }
        let (options, waits) = Options::new().priority(priority).waiter();
        // SAFETY: the caller's.
        unsafe { launch(runtime, kernel, [grid, block], args, count, options, ticket) }?;
        // SAFETY: not NULL, and the caller's.
        unsafe { waiter.write(Box::into_raw(Box::new(WindlassWaiter(waits)))) };
        Ok(())
    })
}

/// # Safety
/// As [`windlass_synchronize`]; `waiter` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fence(
    runtime: *mut WindlassRuntime,
    waiter: *mut *mut WindlassWaiter,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(waiter, std::ptr::null_mut()) };
    call(|| {
        if waiter.is_null() {
            return Err(null("waiter"));
        }
        // SAFETY: the caller's, here and below.
        let fence = unsafe { self::runtime(runtime) }?.fence()?;
        // SAFETY: as above.
        unsafe { waiter.write(Box::into_raw(Box::new(WindlassWaiter(fence)))) };
        Ok(())
    })
}

/// # Safety
/// `waiter` is NULL, or was given by a function of this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_waiter_wait(waiter: *const WindlassWaiter) -> c_int {
    // SAFETY: the caller's.
    call(|| Ok(unsafe { waiter.as_ref() }.ok_or_else(|| null("waiter"))?.0.wait()?))
}

/// # Safety
/// As [`windlass_waiter_wait`]; `done` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_waiter_wait_for(
    waiter: *const WindlassWaiter,
    nanoseconds: u64,
    done: *mut c_int,
) -> c_int {
    let wait = |time| {
        // SAFETY: the caller's.
        let waiter = unsafe { waiter.as_ref() }.ok_or_else(|| null("waiter"))?;
        Ok(waiter.0.wait_timeout(time)?)
    };
    // SAFETY: the caller's.
    unsafe { wait_for(nanoseconds, done, wait) }
}

/// # Safety
/// `waiter` is NULL, or was given by a function of this library and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_waiter_free(waiter: *mut WindlassWaiter) {
    // SAFETY: the caller's; it came out of a box.
    unsafe { free(waiter) }
}

/// # Safety
/// As [`windlass_launch`].
unsafe fn launch(
    runtime: *mut WindlassRuntime,
    kernel: WindlassKernel,
    [grid, block]: [*const u32; 2],
    args: *const WindlassArg,
    count: usize,
    options: Options,
    ticket: *mut u64,
) -> Result<(), Refusal> {
    // SAFETY: the caller's, here and below.
    let runtime = unsafe { self::runtime(runtime) }?;
    let dim = |first: *const u32, what| -> Result<[u32; 3], Refusal> {
        // SAFETY: the caller's.
        let dim = unsafe { list(first, 3, what) }?;
        Ok([dim[0], dim[1], dim[2]])
    };
    let (grid, block) = (dim(grid, "grid")?, dim(block, "block")?);
    // SAFETY: the caller's.
    let args = unsafe { list(args, count, "args") }?;
    let kernel = Registered::from_bits(kernel.id);
    let parameters = runtime.parameters(kernel)?;
    let arg = |(arg, n): (&WindlassArg, usize)| match parameters.get(n) {
        // Nearly always a field that nobody has set. Who means all has `windlass_whole`; that 0 were all would overwrite a buffer where a
        // size came out as 0.
        Some((Some(_), _)) if arg.bytes == 0 => {
            let text = format!("argument {n} is 0 bytes of a buffer; set `bytes`, or take windlass_whole()");
            Err(Refusal(INVALID, text))
        }
        Some((Some(_), _)) => Ok(Arg::from(part(runtime, arg.buffer, arg.offset, arg.bytes, Some(n))?)),
        // A number that was made as such, or left as it was, names no buffer that there is.
        Some((None, _)) if runtime.bytes(Buffer::<u8>::from_bits(arg.buffer.id, 0)).is_ok() => {
            let text =
                format!("argument {n} is a buffer, and is to be a number; take windlass_u64(), or another");
            Err(Refusal(INVALID, text))
        }
        Some((None, Some(element))) => number(n, *element, arg.value),
        // What is too much is refused by its number.
        _ => Ok(Arg::from(arg.value)),
    };
    let args: Vec<Arg> = args.iter().zip(0..).map(arg).collect::<Result<_, _>>()?;
    let launched = runtime.launch_with(kernel, grid, block, &args, options)?;
    // SAFETY: the caller's.
    if let Some(ticket) = unsafe { ticket.as_mut() } {
        *ticket = launched.0;
    }
    Ok(())
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_wait(runtime: *mut WindlassRuntime, ticket: u64) -> c_int {
    // SAFETY: the caller's.
    call(|| Ok(unsafe { self::runtime(runtime) }?.wait(Ticket(ticket))?))
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_wait_for(
    runtime: *mut WindlassRuntime,
    ticket: u64,
    nanoseconds: u64,
    done: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    let wait = |time| Ok(unsafe { self::runtime(runtime) }?.wait_timeout(Ticket(ticket), time)?);
    // SAFETY: the caller's.
    unsafe { wait_for(nanoseconds, done, wait) }
}

/// Waits for so long at most, and says whether that was enough.
///
/// # Safety
/// `done` is NULL or valid.
unsafe fn wait_for(
    nanoseconds: u64,
    done: *mut c_int,
    wait: impl FnOnce(Duration) -> Result<bool, Refusal>,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(done, 0) };
    call(|| {
        if done.is_null() {
            return Err(null("done"));
        }
        let is_done = wait(Duration::from_nanos(nanoseconds))?;
        // SAFETY: not NULL, and the caller's.
        unsafe { done.write(c_int::from(is_done)) };
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_is_done(
    runtime: *mut WindlassRuntime,
    ticket: u64,
    done: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(done, 0) };
    call(|| {
        if done.is_null() {
            return Err(null("done"));
        }
        // SAFETY: the caller's, here and below.
        let is_done = unsafe { self::runtime(runtime) }?.is_done(Ticket(ticket))?;
        // SAFETY: not NULL, and the caller's.
        unsafe { done.write(c_int::from(is_done)) };
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid; `to` has room for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_read(
    runtime: *mut WindlassRuntime,
    buffer: WindlassBuffer,
    offset: u64,
    to: *mut c_void,
    bytes: u64,
) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { self::runtime(runtime) }?;
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the caller's.
        let values = unsafe { list_mut(to.cast::<u8>(), count, "to") }?;
        let view = part(runtime, buffer, offset, bytes, None)?;
        runtime.read_into_uninit(view, values)?;
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid; `from` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_write(
    runtime: *mut WindlassRuntime,
    buffer: WindlassBuffer,
    offset: u64,
    from: *const c_void,
    bytes: u64,
) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { self::runtime(runtime) }?;
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the caller's.
        let values = unsafe { list(from.cast::<u8>(), count, "from") }?;
        let view = part(runtime, buffer, offset, bytes, None)?;
        Ok(runtime.write(view, values)?)
    })
}

/// # Safety
/// Pointers are NULL or valid; `to` has room for `bytes` bytes, and nobody else uses them before the copy has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_start_read(
    runtime: *mut WindlassRuntime,
    buffer: WindlassBuffer,
    offset: u64,
    to: *mut c_void,
    bytes: u64,
    waiter: *mut *mut WindlassWaiter,
) -> c_int {
    let start = |runtime: &mut Runtime| {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        check_list(to.cast::<u8>(), count, "to")?;
        let view = part(runtime, buffer, offset, bytes, None)?;
        let to = Lent { first: to.cast(), count, filled: false };
        Ok(runtime.start_read_into::<u8, _>(view, to)?.waiter().clone())
    };
    // SAFETY: the caller's.
    unsafe { start_copy(runtime, waiter, start) }
}

/// # Safety
/// Pointers are NULL or valid; `from` has `bytes` bytes, and nobody writes to them before the copy has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_start_write(
    runtime: *mut WindlassRuntime,
    buffer: WindlassBuffer,
    offset: u64,
    from: *const c_void,
    bytes: u64,
    waiter: *mut *mut WindlassWaiter,
) -> c_int {
    let start = |runtime: &mut Runtime| {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        check_list(from.cast::<u8>(), count, "from")?;
        let view = part(runtime, buffer, offset, bytes, None)?;
        let from = Lent { first: from.cast::<u8>().cast_mut(), count, filled: true };
        Ok(runtime.start_write::<u8, _>(view, from)?)
    };
    // SAFETY: the caller's.
    unsafe { start_copy(runtime, waiter, start) }
}

/// # Safety
/// Pointers are NULL or valid.
unsafe fn start_copy(
    runtime: *mut WindlassRuntime,
    waiter: *mut *mut WindlassWaiter,
    start: impl FnOnce(&mut Runtime) -> Result<Waiter, Refusal>,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(waiter, std::ptr::null_mut()) };
    call(|| {
        // SAFETY: the caller's.
        let waits = start(unsafe { self::runtime(runtime) }?)?;
        if !waiter.is_null() {
            // SAFETY: not NULL, and the caller's.
            unsafe { waiter.write(Box::into_raw(Box::new(WindlassWaiter(waits)))) };
        }
        Ok(())
    })
}

/// Memory of the application's, until a copy has ended.
struct Lent {
    first: *mut u8,
    count: usize,
    /// C may not have initialised what is to be written.
    filled: bool,
}

// SAFETY: its owner has promised to leave it alone.
unsafe impl Send for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the owner's promise; not NULL where there are any.
        if self.count == 0 { &[] } else { unsafe { slice::from_raw_parts(self.first, self.count) } }
    }
}

impl AsMut<[u8]> for Lent {
    fn as_mut(&mut self) -> &mut [u8] {
        if self.count == 0 {
            return &mut [];
        }
        if !self.filled {
            // SAFETY: the owner's promise; not NULL.
            unsafe { self.first.write_bytes(0, self.count) };
            self.filled = true;
        }
        // SAFETY: as above, and initialised.
        unsafe { slice::from_raw_parts_mut(self.first, self.count) }
    }
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_synchronize(runtime: *mut WindlassRuntime) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { runtime.as_mut() }.ok_or_else(|| null("runtime"))?;
        let result = runtime.runtime.synchronize();
        if let Err(Error::Failed(failures)) = &result {
            runtime.failures.extend(failures.first.iter().cloned());
            runtime.failures.truncate(Failures::MOST);
        }
        Ok(result?)
    })
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_next_failure(
    runtime: *mut WindlassRuntime,
    ticket: *mut u64,
) -> *const c_char {
    told(|| {
        // SAFETY: the caller's.
        unsafe { clear(ticket, NO_TICKET) };
        // SAFETY: the caller's.
        let runtime = unsafe { runtime.as_mut() }?;
        let failure = runtime.failures.pop_front()?;
        // SAFETY: the caller's.
        if let Some(ticket) = unsafe { ticket.as_mut() } {
            *ticket = failure.ticket.0;
        }
        runtime.failure = c_text(failure.to_string());
        Some(runtime.failure.as_ptr())
    })
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_write_recording(
    runtime: *mut WindlassRuntime,
    trace: *const c_char,
    schedule: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller's, here and below.
        let recording = unsafe { self::runtime(runtime) }?.recording()?;
        // SAFETY: the caller's.
        if let Some(path) = unsafe { path(trace, "trace") }? {
            recording.trace.save(path).map_err(|e| Refusal(RESOURCES, e.to_string()))?;
        }
        // SAFETY: the caller's.
        if let Some(path) = unsafe { path(schedule, "schedule") }? {
            let refused = |e| Refusal(RESOURCES, format!("{}: {e}", path.display()));
            let mut text = Vec::new();
            recording.schedule.write(&mut text).and_then(|()| save(path, text)).map_err(refused)?;
        }
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_explain(runtime: *mut WindlassRuntime, ticket: u64) -> *const c_char {
    let mut text = std::ptr::null();
    call(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { runtime.as_mut() }.ok_or_else(|| null("runtime"))?;
        let recording = runtime.runtime.recording()?;
        // One that is not there is told by its ticket.
        runtime.runtime.is_done(Ticket(ticket))?;
        let why = recording.explain(Ticket(ticket)).map_err(|e| Refusal(INVALID, e.to_string()))?;
        runtime.explanation = c_text(why.text(Some(Explanation::MOST)));
        text = runtime.explanation.as_ptr();
        Ok(())
    });
    text
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_renamed(
    runtime: *mut WindlassRuntime,
    versions: *mut u64,
    refused: *mut u64,
    peak_bytes: *mut u64,
) -> c_int {
    for out in [versions, refused, peak_bytes] {
        // SAFETY: the caller's.
        unsafe { clear(out, 0) };
    }
    call(|| {
        // SAFETY: the caller's.
        let renamed = unsafe { self::runtime(runtime) }?.renamed();
        for (out, count) in
            [(versions, renamed.versions), (refused, renamed.refused), (peak_bytes, renamed.peak_bytes)]
        {
            // SAFETY: the caller's.
            unsafe { clear(out, count) };
        }
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_trim(runtime: *mut WindlassRuntime) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        unsafe { self::runtime(runtime) }?.trim();
        Ok(())
    })
}

/// The file that a C text names.
///
/// # Safety
/// `text` is NULL or valid.
unsafe fn path<'a>(text: *const c_char, what: &str) -> Result<Option<&'a Path>, Refusal> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and the caller's.
    let text = unsafe { CStr::from_ptr(text) };
    #[cfg(unix)]
    let path = Ok(std::ffi::OsStr::from_bytes(text.to_bytes()));
    #[cfg(not(unix))]
    let path = text.to_str();
    path.map(|path| Some(Path::new(path)))
        .map_err(|e: std::str::Utf8Error| Refusal(INVALID, format!("`{what}` is not UTF-8: {e}")))
}

/// # Safety
/// `runtime` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_next_finding(runtime: *mut WindlassRuntime) -> *const c_char {
    told(|| {
        // SAFETY: the caller's.
        let runtime = unsafe { runtime.as_mut() }?;
        let found = runtime.runtime.findings();
        runtime.findings.extend(found);
        runtime.finding = c_text(runtime.findings.pop_front()?.to_string());
        Some(runtime.finding.as_ptr())
    })
}

/// What the last call on this thread that failed has to say.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_error_text() -> *const c_char {
    ERROR.try_with(|text| text.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic across `extern "C"` would end the program.
    #[test]
    fn a_text_whose_work_panics_is_null() {
        assert!(told(|| panic!("wanted")).is_null());
        // SAFETY: the text stays until the next call that fails on this thread.
        let said = unsafe { CStr::from_ptr(windlass_error_text()) };
        assert!(said.to_string_lossy().contains("panicked"), "{said:?}");
        let text = c"a".as_ptr();
        assert_eq!(told(|| Some(text)), text);
        assert!(told(|| None).is_null());
    }
}

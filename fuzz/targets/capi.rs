//! The C interface as C calls it: any order of calls, NULL, numbers outside their enums, handles of other runtimes and released ones.
//! What the header asks of its caller is kept: pointers are NULL or valid, and a destroyed runtime is not used.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use windlass_c as _; // linked, and called by the names of the header

#[repr(C)]
struct Runtime([u8; 0]);

#[repr(C)]
struct Waiter([u8; 0]);

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Buffer {
    id: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Kernel {
    id: u64,
}

#[repr(C)]
struct Arg {
    buffer: Buffer,
    offset: u64,
    bytes: u64,
    value: u64,
}

#[repr(C)]
struct Cta {
    id: [u32; 3],
    grid: [u32; 3],
    block: [u32; 3],
    index: u64,
    args: usize,
    pointers: *const *mut c_void,
    values: *const u64,
}

#[repr(C)]
struct Options {
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

#[repr(C)]
struct CudaKernel {
    size: u32,
    shared_bytes: u32,
    source: *const c_char,
    image: *const c_void,
    image_bytes: usize,
    entry: *const c_char,
    function: *mut c_void,
    enqueue: Option<extern "C" fn(*const c_void, *mut c_void) -> c_int>,
}

#[repr(C)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    args: usize,
    values: *const u64,
}

#[repr(C)]
struct Accesses([u8; 0]);

type Body = extern "C" fn(*const Cta, *mut c_void) -> c_int;
type Access = extern "C" fn(*const Launch, *mut Accesses, *mut c_void);
type Done = extern "C" fn(c_int, *const c_char, *mut c_void);
type Gone = extern "C" fn(*mut c_void);

#[allow(improper_ctypes, reason = "the types above are those of the header")]
unsafe extern "C" {
    fn windlass_create(options: *const Options, runtime: *mut *mut Runtime) -> c_int;
    fn windlass_create_replay(
        options: *const Options,
        schedule: *const c_char,
        runtime: *mut *mut Runtime,
    ) -> c_int;
    fn windlass_destroy(runtime: *mut Runtime);
    fn windlass_register(
        runtime: *mut Runtime,
        name: *const c_char,
        parameters: *const c_int,
        count: usize,
        body: Option<Body>,
        user: *mut c_void,
        kernel: *mut Kernel,
    ) -> c_int;
    fn windlass_register_with_access(
        runtime: *mut Runtime,
        name: *const c_char,
        parameters: *const c_int,
        count: usize,
        access: Option<Access>,
        body: Option<Body>,
        user: *mut c_void,
        kernel: *mut Kernel,
    ) -> c_int;
    fn windlass_register_cuda(
        runtime: *mut Runtime,
        name: *const c_char,
        parameters: *const c_int,
        count: usize,
        access: Option<Access>,
        body: Option<Body>,
        cuda: *const CudaKernel,
        user: *mut c_void,
        kernel: *mut Kernel,
    ) -> c_int;
    fn windlass_reads(accesses: *mut Accesses, arg: usize, offset: u64, bytes: u64);
    fn windlass_writes(accesses: *mut Accesses, arg: usize, offset: u64, bytes: u64);
    fn windlass_reads_and_writes(accesses: *mut Accesses, arg: usize, offset: u64, bytes: u64);
    fn windlass_allocate(runtime: *mut Runtime, bytes: u64, buffer: *mut Buffer) -> c_int;
    fn windlass_import(
        runtime: *mut Runtime,
        memory: *mut c_void,
        bytes: u64,
        gone: Option<Gone>,
        user: *mut c_void,
        buffer: *mut Buffer,
    ) -> c_int;
    fn windlass_release(runtime: *mut Runtime, buffer: Buffer) -> c_int;
    fn windlass_launch(
        runtime: *mut Runtime,
        kernel: Kernel,
        grid: *const u32,
        block: *const u32,
        args: *const Arg,
        count: usize,
        priority: i32,
        ticket: *mut u64,
    ) -> c_int;
    fn windlass_launch_then(
        runtime: *mut Runtime,
        kernel: Kernel,
        grid: *const u32,
        block: *const u32,
        args: *const Arg,
        count: usize,
        priority: i32,
        done: Option<Done>,
        user: *mut c_void,
        ticket: *mut u64,
    ) -> c_int;
    fn windlass_launch_with_waiter(
        runtime: *mut Runtime,
        kernel: Kernel,
        grid: *const u32,
        block: *const u32,
        args: *const Arg,
        count: usize,
        priority: i32,
        waiter: *mut *mut Waiter,
        ticket: *mut u64,
    ) -> c_int;
    fn windlass_fence(runtime: *mut Runtime, waiter: *mut *mut Waiter) -> c_int;
    fn windlass_waiter_wait(waiter: *const Waiter) -> c_int;
    fn windlass_waiter_wait_for(waiter: *const Waiter, nanoseconds: u64, done: *mut c_int) -> c_int;
    fn windlass_waiter_free(waiter: *mut Waiter);
    fn windlass_wait_for(runtime: *mut Runtime, ticket: u64, nanoseconds: u64, done: *mut c_int) -> c_int;
    fn windlass_wait(runtime: *mut Runtime, ticket: u64) -> c_int;
    fn windlass_is_done(runtime: *mut Runtime, ticket: u64, done: *mut c_int) -> c_int;
    fn windlass_write_recording(
        runtime: *mut Runtime,
        trace: *const c_char,
        schedule: *const c_char,
    ) -> c_int;
    fn windlass_read(
        runtime: *mut Runtime,
        buffer: Buffer,
        offset: u64,
        to: *mut c_void,
        bytes: u64,
    ) -> c_int;
    fn windlass_write(
        runtime: *mut Runtime,
        buffer: Buffer,
        offset: u64,
        from: *const c_void,
        bytes: u64,
    ) -> c_int;
    fn windlass_start_read(
        runtime: *mut Runtime,
        buffer: Buffer,
        offset: u64,
        to: *mut c_void,
        bytes: u64,
        waiter: *mut *mut Waiter,
    ) -> c_int;
    fn windlass_start_write(
        runtime: *mut Runtime,
        buffer: Buffer,
        offset: u64,
        from: *const c_void,
        bytes: u64,
        waiter: *mut *mut Waiter,
    ) -> c_int;
    fn windlass_synchronize(runtime: *mut Runtime) -> c_int;
    fn windlass_next_finding(runtime: *mut Runtime) -> *const c_char;
    fn windlass_next_failure(runtime: *mut Runtime, ticket: *mut u64) -> *const c_char;
    fn windlass_explain(runtime: *mut Runtime, ticket: u64) -> *const c_char;
    fn windlass_renamed(
        runtime: *mut Runtime,
        versions: *mut u64,
        refused: *mut u64,
        peak_bytes: *mut u64,
    ) -> c_int;
    fn windlass_trim(runtime: *mut Runtime) -> c_int;
    fn windlass_error_text() -> *const c_char;
}

/// What a kernel is registered with.
struct User {
    modes: Vec<c_int>,
    /// What its launches access, if not all of their arguments.
    declared: Option<Vec<Part>>,
}

/// Bytes of an argument, and how they are accessed.
#[derive(Arbitrary, Debug, Clone)]
struct Part {
    argument: u8,
    offset: u8,
    bytes: u8,
    mode: u8,
}

impl Part {
    /// As the header has them: read, all overwritten, or both.
    fn mode(&self) -> u8 {
        1 + self.mode % 3
    }
}

extern "C" fn access(launch: *const Launch, accesses: *mut Accesses, user: *mut c_void) {
    // SAFETY: the library's promise, and `user` is what was registered.
    unsafe {
        let (launch, user) = (&*launch, &*user.cast::<User>());
        assert_eq!(launch.args, user.modes.len());
        assert!(launch.grid.iter().chain(&launch.block).all(|size| *size > 0));
        let sizes = std::slice::from_raw_parts(launch.values, launch.args);
        for part in user.declared.iter().flatten() {
            let argument = usize::from(part.argument);
            let declare = match part.mode() {
                1 => windlass_reads,
                2 => windlass_writes,
                _ => windlass_reads_and_writes,
            };
            // Mostly what the argument has.
            let size = sizes.get(argument).copied().unwrap_or(7);
            let offset = u64::from(part.offset).min(if part.mode < 250 { size } else { u64::MAX });
            declare(accesses, argument, offset, u64::from(part.bytes));
        }
    }
}

/// Reads or writes what was declared.
extern "C" fn parts(cta: *const Cta, user: *mut c_void) -> c_int {
    // SAFETY: the library's promise; a launch whose declarations are not within its arguments is refused.
    unsafe {
        let (cta, user) = (&*cta, &*user.cast::<User>());
        let mut sum = cta.index;
        for part in user.declared.iter().flatten().filter(|part| part.bytes > 0) {
            let argument = usize::from(part.argument);
            let (pointer, size) = (*cta.pointers.add(argument), *cta.values.add(argument));
            let offset = u64::from(part.offset).min(if part.mode < 250 { size } else { u64::MAX });
            let first = pointer.cast::<u8>().add(offset as usize);
            if part.mode() == 1 {
                sum = sum.wrapping_add(u64::from(first.read()));
            } else if cta.index == 0 {
                first.write_bytes(sum as u8, part.bytes.into());
            }
        }
        c_int::from(sum % 251 == 250)
    }
}

/// Reads or writes the ends of every argument as its mode lets it.
extern "C" fn body(cta: *const Cta, user: *mut c_void) -> c_int {
    // SAFETY: the library's promise, and `user` is what was registered.
    unsafe {
        let (cta, modes) = (&*cta, &(*user.cast::<User>()).modes);
        assert_eq!(cta.args, modes.len());
        assert!((0..3).all(|i| cta.id[i] < cta.grid[i]));
        let mut sum = cta.index.wrapping_add(u64::from(cta.block[0]));
        for (n, mode) in modes.iter().enumerate() {
            let (pointer, size) = (*cta.pointers.add(n), *cta.values.add(n));
            match mode {
                0 | 4.. => {
                    assert!(
                        pointer.is_null() && (*mode == 0 || size >> [32, 16, 8][*mode as usize - 4] == 0)
                    );
                    sum = sum.wrapping_add(size);
                }
                _ if size == 0 => {}
                1 => {
                    let last = pointer.cast::<u8>().add(size as usize - 1);
                    sum = sum.wrapping_add(u64::from(last.read()));
                }
                // One CTA alone, for CTAs of a kernel run at the same time.
                _ if cta.index == 0 => pointer.cast::<u8>().write_bytes(sum as u8, size as usize),
                _ => {}
            }
        }
        c_int::from(sum % 251 == 250)
    }
}

/// How many callbacks there were, of launches of any runtime.
static DONE: AtomicU64 = AtomicU64::new(0);

extern "C" fn done(status: c_int, text: *const c_char, user: *mut c_void) {
    assert_eq!((status == 0, user), (text.is_null(), null_mut()));
    DONE.fetch_add(1, Ordering::Relaxed);
}

/// Where schedules are kept, and read.
static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a directory"));

fn schedule() -> CString {
    let path = DIRECTORY.path().join("schedule");
    CString::new(path.to_string_lossy().into_owned()).expect("no NUL")
}

/// How often memory was given back.
static GONE: AtomicU64 = AtomicU64::new(0);

extern "C" fn never(_: *const c_void, _: *mut c_void) -> c_int {
    unreachable!("nothing here has a GPU")
}

extern "C" fn gone(user: *mut c_void) {
    assert_eq!(user, null_mut());
    GONE.fetch_add(1, Ordering::Relaxed);
}

#[derive(Arbitrary, Debug)]
enum Size {
    Small(u8),
    Page,
    Most,
    Overflows,
}

impl Size {
    fn bytes(&self) -> u64 {
        match self {
            Self::Small(bytes) => (*bytes).into(),
            Self::Page => 4096,
            Self::Most => 1 << 62,
            Self::Overflows => u64::MAX,
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Place {
    buffer: u8,
    /// The size of the handle is another than that of the buffer.
    forged: Option<Size>,
    offset: Size,
    bytes: Size,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Create {
        options: Option<[u8; 6]>,
        null: bool,
        /// What another runtime has kept of its schedule.
        replay: bool,
    },
    Destroy {
        runtime: u8,
    },
    Register {
        runtime: u8,
        named: bool,
        modes: Vec<i8>,
        declared: Option<Vec<Part>>,
        body: bool,
        /// What it is on a GPU: which fields are set, and the size that is said.
        cuda: Option<[u8; 2]>,
        null: bool,
    },
    Allocate {
        runtime: u8,
        size: Size,
        null: bool,
    },
    Release {
        runtime: u8,
        buffer: u8,
    },
    Launch {
        runtime: u8,
        kernel: u8,
        grid: Option<[u8; 3]>,
        block: Option<[u8; 3]>,
        args: Vec<Place>,
        priority: i32,
        ticket: bool,
        then: bool,
    },
    LaunchNull {
        runtime: u8,
        kernel: u8,
        count: u8,
    },
    Read {
        runtime: u8,
        place: Place,
        null: bool,
    },
    Write {
        runtime: u8,
        place: Place,
        null: bool,
    },
    Wait {
        runtime: u8,
        ticket: u8,
    },
    /// To nowhere, to what is a folder, or to where it can be read again.
    Recording {
        runtime: u8,
        folder: bool,
        keep: bool,
    },
    Fence {
        runtime: u8,
    },
    Synchronize {
        runtime: u8,
    },
    Finding {
        runtime: u8,
    },
}

#[derive(Default)]
struct State {
    runtimes: Vec<*mut Runtime>,
    kernels: Vec<Kernel>,
    buffers: Vec<Buffer>,
    /// What bodies point to lives as long as the runtimes.
    users: Vec<Box<User>>,
    /// Runtimes in which a launch may wait for one that is not made yet, which waiters do not see.
    replaying: Vec<*mut Runtime>,
    /// Launches with a callback.
    awaited: u64,
    /// Memory of buffers that is not the library's.
    lent: Vec<Box<[u64; 32]>>,
    imported: u64,
}

/// A copy that was started, if it was: waits for it, as its memory goes.
///
/// # Safety
/// The waiter is the call's.
unsafe fn waited(status: c_int, waiter: *mut Waiter) -> c_int {
    assert_eq!(status == 0, !waiter.is_null());
    if status != 0 {
        return status;
    }
    // SAFETY: given out by the call, and not used any more.
    unsafe {
        let waited = windlass_waiter_wait(waiter);
        windlass_waiter_free(waiter);
        waited
    }
}

impl State {
    fn runtime(&self, n: u8) -> *mut Runtime {
        self.runtimes.get(usize::from(n % 4)).copied().unwrap_or(null_mut())
    }

    fn buffer(&self, place: &Place) -> Buffer {
        let mut buffer = self.a_buffer(place.buffer);
        if let Some(size) = &place.forged {
            buffer.bytes = size.bytes();
        }
        buffer
    }

    /// One that was allocated, by whichever runtime, or none at all.
    fn a_buffer(&self, n: u8) -> Buffer {
        let forged = Buffer { id: u64::from(n) << 32 | 7, bytes: 64 };
        self.buffers.get(usize::from(n % 16)).copied().unwrap_or(forged)
    }

    fn dim(dim: &[u8; 3]) -> [u32; 3] {
        // 2^96 CTAs are refused; 2^32 would run, and take their time.
        if dim.contains(&255) { [u32::MAX; 3] } else { dim.map(|d| u32::from(d % 5)) }
    }

    /// The call's status, and whether it is one that has a text.
    fn call(&mut self, call: &Call) -> c_int {
        let mut bytes = vec![0u8; 8192];
        // SAFETY: what the header asks for, see above.
        unsafe {
            match call {
                Call::Create { options, null, replay } => {
                    if self.runtimes.len() == 3 {
                        return 0;
                    }
                    let options = options.map(|[window, threads, queue, serial, check, record]| Options {
                        // Also those of an older header.
                        size: if record == 255 { 8 } else { size_of::<Options>() as u32 },
                        window: u32::from(window) * 33,
                        threads: if threads == 255 { u32::MAX } else { u32::from(threads % 3) },
                        queue: if queue == 255 { u32::MAX } else { queue.into() },
                        serial: u32::from(serial % 2),
                        check: u32::from(check % 2),
                        record: u32::from(record % 2),
                        rename: u32::from(record / 2 % 3),
                        cuda_streams: u32::from(serial / 2 % 32 == 3),
                        cuda_device: u32::from(serial / 64),
                    });
                    let options = options.as_ref().map_or(std::ptr::null(), |options| &raw const *options);
                    let mut runtime = null_mut();
                    let out = if *null { null_mut() } else { &raw mut runtime };
                    let status = match replay {
                        true => windlass_create_replay(options, schedule().as_ptr(), out),
                        false => windlass_create(options, out),
                    };
                    assert_eq!(status == 0, !runtime.is_null());
                    self.replaying.extend((status == 0 && *replay).then_some(runtime));
                    self.runtimes.extend((status == 0).then_some(runtime));
                    status
                }
                Call::Destroy { runtime } => {
                    let runtime = self.runtime(*runtime);
                    self.runtimes.retain(|r| *r != runtime);
                    self.replaying.retain(|r| *r != runtime);
                    windlass_destroy(runtime);
                    0
                }
                Call::Register { runtime, named, modes, declared, body: has_body, cuda, null } => {
                    let modes: Vec<c_int> = modes.iter().take(8).map(|mode| c_int::from(*mode)).collect();
                    let declared = declared.as_ref().map(|parts| parts.iter().take(6).cloned().collect());
                    self.users.push(Box::new(User { modes, declared }));
                    let user = self.users.last().expect("just pushed");
                    let mut kernel = Kernel::default();
                    let runtime = self.runtime(*runtime);
                    let name = if *named { c"k\xff".as_ptr() } else { std::ptr::null() };
                    let (modes, count) = (user.modes.as_ptr(), user.modes.len());
                    let own = (&raw const **user).cast_mut().cast();
                    let out = if *null { null_mut() } else { &raw mut kernel };
                    let cuda = cuda.map(|[fields, size]| {
                        let set = |bit: u8| fields >> bit & 1 == 1;
                        let text = |bit| if set(bit) { c"x".as_ptr() } else { std::ptr::null() };
                        let kernel = CudaKernel {
                            size: if size < 200 {
                                size_of::<CudaKernel>() as u32
                            } else {
                                (size % 14 * 4).into()
                            },
                            shared_bytes: u32::from(size) << 24,
                            source: text(0),
                            image: text(1).cast(),
                            image_bytes: usize::from(set(2)) * 2,
                            entry: text(3),
                            // Neither is ever called: nothing here has a GPU.
                            function: text(4).cast_mut().cast(),
                            enqueue: set(6)
                                .then_some(never as extern "C" fn(*const c_void, *mut c_void) -> c_int),
                        };
                        (kernel, set(5))
                    });
                    let status = match (&cuda, &user.declared) {
                        (Some((cuda, there)), _) => {
                            let access = user.declared.is_some().then_some(access as Access);
                            let body = if user.declared.is_some() { parts as Body } else { body };
                            let body = has_body.then_some(body);
                            let cuda = if *there { &raw const *cuda } else { std::ptr::null() };
                            windlass_register_cuda(runtime, name, modes, count, access, body, cuda, own, out)
                        }
                        (None, Some(_)) => {
                            let body: Option<Body> = has_body.then_some(parts);
                            windlass_register_with_access(
                                runtime,
                                name,
                                modes,
                                count,
                                Some(access),
                                body,
                                own,
                                out,
                            )
                        }
                        (None, None) => {
                            windlass_register(runtime, name, modes, count, has_body.then_some(body), own, out)
                        }
                    };
                    self.kernels.extend((status == 0).then_some(kernel));
                    status
                }
                Call::Allocate { runtime, size, null } => {
                    let mut buffer = Buffer::default();
                    let out = if *null { null_mut() } else { &raw mut buffer };
                    let runtime = self.runtime(*runtime);
                    let status = match size {
                        Size::Small(bytes) if bytes % 2 == 1 => {
                            self.lent.push(Box::default());
                            let lent = self.lent.last_mut().expect("just pushed").as_mut_ptr().cast();
                            windlass_import(runtime, lent, (*bytes).into(), Some(gone), null_mut(), out)
                        }
                        size => windlass_allocate(runtime, size.bytes(), out),
                    };
                    self.imported += u64::from(status == 0 && matches!(size, Size::Small(n) if n % 2 == 1));
                    self.buffers.extend((status == 0).then_some(buffer));
                    status
                }
                Call::Release { runtime, buffer } => {
                    windlass_release(self.runtime(*runtime), self.a_buffer(*buffer))
                }
                Call::Launch { runtime, kernel, grid, block, args, priority, ticket, then } => {
                    let kernel =
                        self.kernels.get(usize::from(*kernel % 8)).copied().unwrap_or(Kernel { id: 99 });
                    let (grid, block) = (grid.as_ref().map(Self::dim), block.as_ref().map(Self::dim));
                    let first = |dim: &Option<[u32; 3]>| dim.as_ref().map_or(null(), |dim| dim.as_ptr());
                    let args: Vec<Arg> = args
                        .iter()
                        .take(9)
                        .map(|place| Arg {
                            buffer: self.buffer(place),
                            offset: place.offset.bytes(),
                            bytes: place.bytes.bytes(),
                            value: place.offset.bytes(),
                        })
                        .collect();
                    let mut number = 0;
                    let ticket = if *ticket { &raw mut number } else { null_mut() };
                    let (runtime, grid, block) = (self.runtime(*runtime), first(&grid), first(&block));
                    let (first, count) = (args.as_ptr(), args.len());
                    if !then && (priority % 2 == 0 || self.replaying.contains(&runtime)) {
                        windlass_launch(runtime, kernel, grid, block, first, count, *priority, ticket)
                    } else if !then {
                        let (mut waiter, mut ended) = (null_mut(), 7);
                        let status = windlass_launch_with_waiter(
                            runtime,
                            kernel,
                            grid,
                            block,
                            first,
                            count,
                            *priority,
                            &raw mut waiter,
                            ticket,
                        );
                        assert_eq!(status == 0, !waiter.is_null());
                        let asked = windlass_waiter_wait_for(waiter, 1000, &raw mut ended);
                        assert!(ended == 0 || ended == 1 && asked == 0);
                        let waited = windlass_waiter_wait(waiter);
                        assert!(if status == 0 { waited % 2 == 0 } else { waited == 1 });
                        windlass_waiter_free(waiter);
                        status
                    } else {
                        let done: Option<Done> = Some(done);
                        let user = null_mut();
                        let status = windlass_launch_then(
                            runtime, kernel, grid, block, first, count, *priority, done, user, ticket,
                        );
                        self.awaited += u64::from(status == 0);
                        status
                    }
                }
                Call::LaunchNull { runtime, kernel, count } => {
                    let kernel = self.kernels.get(usize::from(*kernel % 8)).copied().unwrap_or_default();
                    let one = [1; 3];
                    let (args, count) = (std::ptr::null(), usize::from(*count));
                    windlass_launch(
                        self.runtime(*runtime),
                        kernel,
                        one.as_ptr(),
                        one.as_ptr(),
                        args,
                        count,
                        0,
                        null_mut(),
                    )
                }
                // `to` and `from` have 8192 bytes: more is asked for only where no buffer can have it.
                Call::Read { runtime, place, null } => {
                    let to = if *null { null_mut() } else { bytes.as_mut_ptr().cast() };
                    let (runtime, buffer) = (self.runtime(*runtime), self.buffer(place));
                    let (offset, size) = (place.offset.bytes(), place.bytes.bytes());
                    if place.buffer < 128 || self.replaying.contains(&runtime) {
                        return windlass_read(runtime, buffer, offset, to, size);
                    }
                    let mut waiter = null_mut();
                    let status = windlass_start_read(runtime, buffer, offset, to, size, &raw mut waiter);
                    waited(status, waiter)
                }
                Call::Write { runtime, place, null } => {
                    let from = if *null { std::ptr::null() } else { bytes.as_ptr().cast() };
                    let (runtime, buffer) = (self.runtime(*runtime), self.buffer(place));
                    let (offset, size) = (place.offset.bytes(), place.bytes.bytes());
                    if place.buffer < 128 || self.replaying.contains(&runtime) {
                        return windlass_write(runtime, buffer, offset, from, size);
                    }
                    let mut waiter = null_mut();
                    let status = windlass_start_write(runtime, buffer, offset, from, size, &raw mut waiter);
                    waited(status, waiter)
                }
                Call::Wait { runtime, ticket } => {
                    let (runtime, ticket, mut done) = (self.runtime(*runtime), u64::from(*ticket), 7);
                    let asked = windlass_is_done(runtime, ticket, &raw mut done);
                    assert!(done == 0 || done == 1 && asked == 0);
                    let waited = windlass_wait_for(runtime, ticket, 1000, &raw mut done);
                    assert!(done == 0 || done == 1 && waited == 0);
                    windlass_wait(runtime, ticket)
                }
                Call::Recording { runtime, folder, keep } => {
                    let why = windlass_explain(self.runtime(*runtime), u64::from(*folder));
                    assert!(why.is_null() || !CStr::from_ptr(why).is_empty());
                    let mut refused = 7;
                    let counts =
                        windlass_renamed(self.runtime(*runtime), null_mut(), &raw mut refused, null_mut());
                    assert_eq!(counts, windlass_trim(self.runtime(*runtime)));
                    let to = if *folder { c"/".as_ptr() } else { null() };
                    let schedule = schedule();
                    let schedule = if *keep { schedule.as_ptr() } else { null() };
                    windlass_write_recording(self.runtime(*runtime), to, schedule)
                }
                Call::Fence { runtime } => {
                    let runtime = self.runtime(*runtime);
                    if self.replaying.contains(&runtime) {
                        return 0;
                    }
                    let mut waiter = null_mut();
                    let status = windlass_fence(runtime, &raw mut waiter);
                    waited(status, waiter)
                }
                Call::Synchronize { runtime } => windlass_synchronize(self.runtime(*runtime)),
                Call::Finding { runtime } => {
                    let finding = windlass_next_finding(self.runtime(*runtime));
                    assert!(finding.is_null() || !CStr::from_ptr(finding).is_empty());
                    let mut ticket = 0;
                    let failure = windlass_next_failure(self.runtime(*runtime), &raw mut ticket);
                    assert!(failure.is_null() || !CStr::from_ptr(failure).is_empty());
                    0
                }
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut state = State::default();
    DONE.store(0, Ordering::Relaxed);
    GONE.store(0, Ordering::Relaxed);
    for _ in 0..64 {
        let Ok(call) = Call::arbitrary(&mut bytes) else { break };
        let status = state.call(&call);
        assert!((0..=3).contains(&status), "{call:?}: status {status}");
        if status != 0 {
            // SAFETY: never NULL, says the header.
            let text = unsafe { CStr::from_ptr(windlass_error_text()) };
            assert!(!text.is_empty(), "{call:?}");
        }
        if bytes.is_empty() {
            break;
        }
    }
    for runtime in state.runtimes {
        // SAFETY: it was created, and is not used any more.
        unsafe { windlass_destroy(runtime) };
    }
    assert_eq!(DONE.load(Ordering::Relaxed), state.awaited, "each launch with a callback has one");
    assert_eq!(GONE.load(Ordering::Relaxed), state.imported, "all memory is given back");
});

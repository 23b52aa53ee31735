//! Loads a compiled library and calls it: the only unsafe code of this crate.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

type Create = unsafe extern "C" fn(c_int, *const c_char, u64, u64) -> *mut c_void;
type Run = unsafe extern "C" fn(*mut c_void, u64, *const u32, *mut u32) -> u64;
type Error = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type Coverage = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
type Close = unsafe extern "C" fn(*mut c_void) -> c_int;
type Destroy = unsafe extern "C" fn(*mut c_void);

/// The functions of a loaded library, looked up once.
///
/// Libraries are never unloaded: C++ with thread-local objects does not survive that, and they are small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions {
    create: Create,
    run: Run,
    error: Error,
    close_wave: Close,
    destroy: Destroy,
    coverage: Option<Coverage>,
}

impl Functions {
    /// Loads the library at `path`, which the cache has found to be what our own build made.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: the file is the output of our build of our shim (the cache checked its hash), whose initialisers only
        // construct Verilator's own static objects.
        let library =
            unsafe { libloading::Library::new::<&OsStr>(path.as_os_str()) }.map_err(|e| e.to_string())?;
        // SAFETY: the types are those of the functions in shim.cpp, and the text of the shim is part of the library's
        // cache key, so that the file is never of another version. The pointers stay valid: the library is never unloaded.
        let functions = unsafe {
            let get = |e: libloading::Error| e.to_string();
            Self {
                create: *library.get::<Create>(b"windlass_create\0").map_err(get)?,
                run: *library.get::<Run>(b"windlass_run\0").map_err(get)?,
                error: *library.get::<Error>(b"windlass_error\0").map_err(get)?,
                close_wave: *library.get::<Close>(b"windlass_close_wave\0").map_err(get)?,
                destroy: *library.get::<Destroy>(b"windlass_destroy\0").map_err(get)?,
                coverage: library.get::<Coverage>(b"windlass_coverage\0").ok().map(|function| *function),
            }
        };
        std::mem::forget(library);
        Ok(functions)
    }
}

/// A living model.
#[derive(Debug)]
pub(super) struct Handle {
    raw: NonNull<c_void>,
    functions: Functions,
}

// SAFETY: an instance has its own VerilatedContext, and each call into it first makes that the thread's, under the shim's lock, which it
// also holds while it makes one. `&mut self` in `run` keeps two threads from being in it at once. What is left to Verilator: a design that
// draws random numbers while it runs reads whether there is a new seed without a lock.
unsafe impl Send for Handle {}

impl Handle {
    /// Makes a model whose uninitialised state comes from `seed`; `wave` is file, first cycle and cycle after the last.
    pub(super) fn create(
        functions: Functions,
        seed: i32,
        wave: Option<(&CStr, u64, u64)>,
    ) -> Result<Self, String> {
        let (path, from, to) = wave.map_or((ptr::null(), 0, 0), |(path, from, to)| (path.as_ptr(), from, to));
        // SAFETY: `path` is null or a C string that outlives the call, which copies it.
        let raw = unsafe { (functions.create)(seed, path, from, to) };
        let raw = NonNull::new(raw).ok_or_else(|| "out of memory".to_string())?;
        let handle = Self { raw, functions };
        match handle.error() {
            None => Ok(handle),
            Some(message) => Err(message),
        }
    }

    /// Runs `n` cycles and returns how many were done in all; fewer than `n` more if the simulation stopped.
    ///
    /// The slices must hold `n` times the words of a cycle that the library was built for.
    pub(super) fn run(
        &mut self,
        n: usize,
        words: (usize, usize),
        inputs: &[u32],
        outputs: &mut [u32],
    ) -> u64 {
        assert_eq!(Some(inputs.len()), n.checked_mul(words.0), "the caller checks the lengths");
        assert_eq!(Some(outputs.len()), n.checked_mul(words.1), "the caller checks the lengths");
        // SAFETY: the handle lives (destroyed only by drop), the slices are as long as `n` cycles need (just asserted, with
        // the words per cycle of the ports that the shim was generated from), and no exception leaves the function.
        unsafe { (self.functions.run)(self.raw.as_ptr(), n as u64, inputs.as_ptr(), outputs.as_mut_ptr()) }
    }

    /// Why the simulation stopped, if it did.
    pub(super) fn error(&self) -> Option<String> {
        // SAFETY: the handle lives; the string belongs to it and is copied before anything else can change it.
        let text = unsafe { CStr::from_ptr((self.functions.error)(self.raw.as_ptr())) };
        (!text.is_empty()).then(|| text.to_string_lossy().into_owned())
    }

    /// Writes what was counted; false if it was built without coverage or the file cannot be written.
    pub(super) fn write_coverage(&mut self, path: &CStr) -> bool {
        // SAFETY: the handle lives, `path` is a C string that outlives the call, and no exception leaves the function.
        self.functions.coverage.is_some_and(|write| unsafe { write(self.raw.as_ptr(), path.as_ptr()) } != 0)
    }

    /// Writes the rest of the waveform and closes it; false if there was nothing to write.
    pub(super) fn close_wave(&mut self) -> io::Result<bool> {
        // SAFETY: the handle lives, and no exception leaves the function.
        match unsafe { (self.functions.close_wave)(self.raw.as_ptr()) } {
            0 => Ok(true),
            -1 => Ok(false),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` and is destroyed once, here.
        unsafe { (self.functions.destroy)(self.raw.as_ptr()) }
    }
}

/// `path` as a C string, if it has no zero byte.
pub(super) fn c_path(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).ok()
}

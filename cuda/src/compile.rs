//! CUDA C++ to machine code: NVRTC, loaded at run time, and a cache on disk.

use crate::driver::Driver;
use libloading::Library;
use sha2::{Digest, Sha256};
use std::env::var_os;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;
use thiserror::Error;
use windlass_files::cache;
use windlass_files::new_file::save;

/// The NVRTC that `scripts/setup.sh` fetches. It is one line there and one line here. A driver runs what an NVRTC of its own major version
/// compiles, or of an older one; 550, the oldest, is of 12.
pub const NVRTC_VERSION: &str = "12.9.86";

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// NVRTC cannot be loaded.
    #[error(
        "no NVRTC, which compiles CUDA C++: {reason}; run scripts/setup.sh, or install the CUDA toolkit, or set WINDLASS_NVRTC to libnvrtc.so"
    )]
    Absent {
        /// What was tried.
        reason: String,
    },
    /// The text is not CUDA C++, or not for this device.
    #[error("NVRTC {version} does not compile it for {arch}:\n{log}")]
    Source {
        /// Whose opinion it is.
        version: String,
        /// For what.
        arch: String,
        /// What it says, with line numbers.
        log: String,
    },
    /// NVRTC failed otherwise.
    #[error("NVRTC, {call}: {reason}")]
    Nvrtc {
        /// The call.
        call: &'static str,
        /// What it says.
        reason: String,
    },
}

/// Compiles CUDA C++ to what `cuModuleLoadData` takes, for devices of one compute capability, such as `(9, 0)`: a cubin, or where NVRTC
/// does not know them PTX for the nearest older ones, which the driver then translates. What was compiled before is read from the
/// cache, whose key is everything that goes in: text, device, options and NVRTC's version.
///
/// # Errors
/// [`CompileError`]. A cache that cannot be read or written is no error, only slow.
pub fn compile(source: &str, arch: (u32, u32)) -> Result<Vec<u8>, CompileError> {
    let nvrtc = Nvrtc::get()?;
    let options = [format!("--gpu-architecture={}", nvrtc.target(arch)), "--std=c++17".to_string()];
    let mut key = Sha256::new();
    for part in [source, &nvrtc.version].into_iter().chain(options.iter().map(String::as_str)) {
        key.update((part.len() as u64).to_le_bytes());
        key.update(part);
    }
    let file = cache::root().map(|root| root.join("cubins").join(format!("{:x}", key.finalize())));
    if let Some(cubin) = file.as_deref().and_then(read) {
        return Ok(cubin);
    }
    let cubin = nvrtc.compile(source, &options)?;
    if let Some(file) = file {
        // Without it the next run compiles again.
        let _ = write(&file, &cubin);
    }
    Ok(cubin)
}

/// Version of the NVRTC that is used, such as `13.0`, and the library that was loaded.
///
/// # Errors
/// [`CompileError::Absent`].
pub fn nvrtc_version() -> Result<(String, PathBuf), CompileError> {
    let nvrtc = Nvrtc::get()?;
    Ok((nvrtc.version.clone(), nvrtc.file.clone()))
}

/// The first 32 bytes are the hash of the others: a file that a full disk cut short is compiled again, not run.
fn read(file: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file).ok()?;
    let (hash, cubin) = bytes.split_at_checked(32)?;
    (Sha256::digest(cubin).as_slice() == hash).then(|| cubin.to_vec())
}

fn write(file: &Path, cubin: &[u8]) -> std::io::Result<()> {
    save(file, [Sha256::digest(cubin).as_slice(), cubin].concat())
}

/// A program of NVRTC's, opaque.
type Program = *mut c_void;

macro_rules! nvrtc {
    ($($name:ident($($arg:ty),* $(,)?);)*) => {
        #[expect(non_snake_case, reason = "each has the name of its symbol")]
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> c_int,)*
            _libraries: Vec<Library>,
        }

        #[expect(non_snake_case, reason = "each has the name of its symbol")]
        impl Functions {
            fn of(library: Library, others: Vec<Library>) -> Result<Self, String> {
                $(
                    // SAFETY: the symbol of this name in NVRTC is a function of this type.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> c_int>(concat!(stringify!($name), "\0").as_bytes())
                    };
                    let $name = *$name.map_err(|_| concat!("it has no ", stringify!($name)).to_string())?;
                )*
                let mut libraries = others;
                libraries.push(library);
                Ok(Self { $($name,)* _libraries: libraries })
            }
        }
    };
}

nvrtc! {
    nvrtcVersion(*mut c_int, *mut c_int);
    nvrtcCreateProgram(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    nvrtcCompileProgram(Program, c_int, *const *const c_char);
    nvrtcDestroyProgram(*mut Program);
    nvrtcGetCUBINSize(Program, *mut usize);
    nvrtcGetCUBIN(Program, *mut c_char);
    nvrtcGetPTXSize(Program, *mut usize);
    nvrtcGetPTX(Program, *mut c_char);
    nvrtcGetNumSupportedArchs(*mut c_int);
    nvrtcGetSupportedArchs(*mut c_int);
    nvrtcGetProgramLogSize(Program, *mut usize);
    nvrtcGetProgramLog(Program, *mut c_char);
}

struct Nvrtc {
    functions: Functions,
    major: c_int,
    version: String,
    /// As it was named to the system's loader.
    file: PathBuf,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvrtc").field("version", &self.version).finish_non_exhaustive()
    }
}

const COMPILATION: c_int = 6;

/// How NVRTC calls a device that PTX is for.
const VIRTUAL: &str = "compute_";

/// Destroys the program, whatever happens.
struct Owned<'a>(&'a Nvrtc, Program);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the same NVRTC, and not destroyed before.
        unsafe { (self.0.functions.nvrtcDestroyProgram)(&mut self.1) };
    }
}

/// The first of these libraries that opens and whose major version is not newer than the driver's; else what was tried.
fn first<T>(
    candidates: impl Iterator<Item = OsString>,
    driver: Option<c_int>,
    open: impl Fn(&OsStr) -> Result<(c_int, T), String>,
) -> Result<T, String> {
    let mut tried = Vec::new();
    for candidate in candidates {
        let name = candidate.to_string_lossy();
        match (open(&candidate), driver) {
            (Ok((major, _)), Some(driver)) if major > driver => tried.push(format!(
                "{name} (of CUDA {major}, whose code a driver of CUDA {driver} does not load)"
            )),
            (Ok((_, found)), _) => return Ok(found),
            (Err(_), _) => tried.push(name.into_owned()),
        }
    }
    Err(format!("none of {}", tried.join(", ")))
}

impl Nvrtc {
    fn get() -> Result<&'static Self, CompileError> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        let nvrtc = NVRTC.get_or_init(Self::load);
        nvrtc.as_ref().map_err(|reason| CompileError::Absent { reason: reason.clone() })
    }

    /// `WINDLASS_NVRTC`; else the first that loads and whose code the driver runs, of Windlass' own, those that the system's loader finds, and
    /// those of a CUDA toolkit. Where there is no driver, nothing is run.
    fn load() -> Result<Self, String> {
        if let Some(chosen) = var_os("WINDLASS_NVRTC").filter(|v| !v.is_empty()) {
            return Self::open(&chosen)
                .map_err(|e| format!("WINDLASS_NVRTC={}: {e}", chosen.to_string_lossy()));
        }
        let own =
            cache::root().map(|root| root.join(format!("nvrtc-{NVRTC_VERSION}")).join("libnvrtc.so.12"));
        let names = if cfg!(windows) {
            ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc.dll"]
        } else {
            ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
        };
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].map(|name| var_os(name).map(PathBuf::from));
        let toolkits = toolkits.into_iter().flatten().chain([PathBuf::from("/usr/local/cuda")]);
        let toolkits: Vec<_> = toolkits.map(|t| t.join("lib64").join("libnvrtc.so")).collect();
        let own = own.into_iter().map(PathBuf::into_os_string);
        let toolkits = toolkits.into_iter().map(PathBuf::into_os_string);
        let driver = Driver::get().ok().map(|driver| driver.cuda().0);
        let open = |file: &OsStr| Self::open(file).map(|nvrtc| (nvrtc.major, nvrtc));
        first(own.chain(names.map(Into::into)).chain(toolkits), driver, open)
    }

    fn open(file: &OsStr) -> Result<Self, String> {
        let folder = Path::new(file).parent().filter(|folder| folder.is_absolute());
        // NVRTC looks its builtins up by name, and finds them in a folder that the system's loader does not search only if they are
        // there already.
        let mut builtins = Vec::new();
        for entry in folder.and_then(|f| std::fs::read_dir(f).ok()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so") {
                // SAFETY: a library of data and functions without initialisers.
                builtins.extend(unsafe { Library::new(entry.path()) }.ok());
            }
        }
        // SAFETY: NVRTC's initialisers are sound to run at any time.
        let library = unsafe { Library::new(file) }.map_err(|e| e.to_string())?;
        let functions = Functions::of(library, builtins)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the out parameters are locals.
        if unsafe { (functions.nvrtcVersion)(&mut major, &mut minor) } != 0 {
            return Err("it does not say its version".into());
        }
        Ok(Self { functions, major, version: format!("{major}.{minor}"), file: file.into() })
    }

    fn compile(&self, source: &str, options: &[String; 2]) -> Result<Vec<u8>, CompileError> {
        let f = &self.functions;
        let failed = |call, reason: String| CompileError::Nvrtc { call, reason };
        let ok = |code: c_int, call| match code {
            0 => Ok(()),
            code => Err(failed(call, format!("error {code}"))),
        };
        let text = CString::new(source)
            .map_err(|_| failed("nvrtcCreateProgram", "the text has a byte 0 in it".into()))?;
        let c_options = options.each_ref().map(|o| CString::new(o.as_str()).unwrap_or_default());
        let c_options = c_options.each_ref().map(|o| o.as_ptr());
        let mut raw = null_mut();
        // SAFETY: the strings end with 0 and live through the call; there are no headers.
        let code = unsafe {
            let none = std::ptr::null();
            (f.nvrtcCreateProgram)(&mut raw, text.as_ptr(), c"kernel.cu".as_ptr(), 0, none, none)
        };
        ok(code, "nvrtcCreateProgram")?;
        let program = Owned(self, raw);
        // SAFETY: the program is there, and there are two options.
        let code = unsafe { (f.nvrtcCompileProgram)(program.1, 2, c_options.as_ptr()) };
        if code == COMPILATION {
            let arch = options[0].trim_start_matches("--gpu-architecture=").into();
            return Err(CompileError::Source {
                version: self.version.clone(),
                arch,
                log: self.log(program.1),
            });
        }
        if code != 0 {
            let reason = format!("error {code} with {}: {}", options.join(" "), self.log(program.1));
            return Err(failed("nvrtcCompileProgram", reason));
        }
        let (get_size, get, call) = match options[0].contains(VIRTUAL) {
            true => (f.nvrtcGetPTXSize, f.nvrtcGetPTX, "nvrtcGetPTX"),
            false => (f.nvrtcGetCUBINSize, f.nvrtcGetCUBIN, "nvrtcGetCUBIN"),
        };
        let mut size = 0;
        // SAFETY: the out parameter is a local.
        ok(unsafe { get_size(program.1, &mut size) }, call)?;
        let mut code = vec![0; size];
        // SAFETY: the buffer is of the size that was just said.
        ok(unsafe { get(program.1, code.as_mut_ptr().cast()) }, call)?;
        Ok(code)
    }

    /// What to compile for: the device, or where this NVRTC does not know it, the nearest older one, virtually.
    fn target(&self, (major, minor): (u32, u32)) -> String {
        let real = format!("sm_{major}{minor}");
        let Ok(device) = c_int::try_from(major * 10 + minor) else { return real };
        let known = self.known();
        match known.iter().filter(|known| **known <= device).max() {
            Some(nearest) if *nearest < device => format!("{VIRTUAL}{nearest}"),
            _ => real,
        }
    }

    /// The devices that it compiles for, such as 90; none where it does not say.
    fn known(&self) -> Vec<c_int> {
        let mut count = 0;
        // SAFETY: the out parameter is a local.
        if unsafe { (self.functions.nvrtcGetNumSupportedArchs)(&mut count) } != 0 {
            return Vec::new();
        }
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the buffer has as many places as there are.
        let code = unsafe { (self.functions.nvrtcGetSupportedArchs)(known.as_mut_ptr()) };
        if code == 0 { known } else { Vec::new() }
    }

    fn log(&self, program: Program) -> String {
        let mut size = 0;
        // SAFETY: the out parameter is a local.
        if unsafe { (self.functions.nvrtcGetProgramLogSize)(program, &mut size) } != 0 || size == 0 {
            return String::new();
        }
        let mut log = vec![0u8; size + 1];
        // SAFETY: the buffer is longer than the size that was just said, and so ends with 0.
        unsafe { (self.functions.nvrtcGetProgramLog)(program, log.as_mut_ptr().cast()) };
        CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().trim_end().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nvrtc_that_is_newer_than_the_driver_is_passed_over() {
        let open = |file: &OsStr| match file.to_str() {
            Some("a") => Err("it is not there".into()),
            Some("b") => Ok((13, "b")),
            _ => Ok((12, "c")),
        };
        let found = |names: &[&str], driver| first(names.iter().map(OsString::from), driver, open);
        assert_eq!(found(&["a", "b", "c"], Some(12)), Ok("c"));
        assert_eq!(found(&["a", "b", "c"], Some(13)), Ok("b"));
        assert_eq!(found(&["a", "b", "c"], None), Ok("b"));
        let none = found(&["a", "b"], Some(12)).expect_err("there is none for 12");
        assert_eq!(none, "none of a, b (of CUDA 13, whose code a driver of CUDA 12 does not load)");
    }

    #[test]
    fn a_damaged_file_of_the_cache_is_not_used() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("deeper").join("key");
        assert_eq!(read(&file), None);
        write(&file, b"cubin").expect("the folder can be written");
        assert_eq!(read(&file).as_deref(), Some(&b"cubin"[..]));
        let mut bytes = std::fs::read(&file).expect("it was just written");
        *bytes.last_mut().expect("it is not empty") ^= 1;
        std::fs::write(&file, &bytes).expect("the file can be written");
        assert_eq!(read(&file), None);
        std::fs::write(&file, &bytes[..10]).expect("the file can be written");
        assert_eq!(read(&file), None);
    }
}

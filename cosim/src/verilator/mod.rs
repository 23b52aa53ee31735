//! Verilog that runs: Verilator and the C++ compiler make a library of it, which is cached, loaded and called.
//!
//! ```no_run
//! use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Verilated};
//! use windlass_rtl::model::CycleModel;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (verilog, ports) = (String::new(), Vec::new());
//! let spec = BuildSpec::new("window_matrix_n32", vec![("window_matrix_n32.v".into(), verilog)], ports);
//! let library = Verilated::build(&spec, &Cache::from_env()?)?; // seconds the first time, then milliseconds
//! let mut model = library.instance(InstanceOptions { seed: 1, wave: None })?;
//! let (inputs, mut outputs) = (vec![0; library.input_words()], vec![0; library.output_words()]);
//! model.cycle(&inputs, &mut outputs)?;
//! # Ok(()) }
//! ```
//!
//! One library serves any number of instances, on any threads, each with its own uninitialised state.
//! docs/cosimulation.md explains the ways and the measurements behind them.

mod build;
mod cache;
mod loader;
mod shim;

pub use cache::{Cache, CacheError};

use crate::wave::{self, Unwritten, Wave, WaveFormat};
use loader::{Functions, Handle};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use windlass_files::new_file::NewFile;
use windlass_gen::table::first_lines;
use windlass_gen::tools::ToolError;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::{Direction, Layout, Port};

/// What to build: all that the library depends on, besides the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSpec {
    /// The top module.
    pub top: String,
    /// Verilog files: name (without directory) and text.
    pub sources: Vec<(String, String)>,
    /// All ports of the top module, the clock (`clk_i`) among them if it has one.
    pub ports: Vec<Port>,
    /// How hard the C++ compiler tries.
    pub optimise: Optimise,
    /// Build in the writing of waveforms of this format; costs some speed.
    pub trace: Option<WaveFormat>,
    /// Count which lines ran and which bits changed; costs much speed. [`Verilated::coverage`] has the counts.
    pub coverage: bool,
    /// Check `assert` and `assume` statements; a failed one is a [`CycleError`].
    pub assertions: bool,
    /// More arguments for Verilator, such as `-DNAME=1`; not `--threads`, for an instance runs on the thread that calls it.
    pub verilator_args: Vec<String>,
}

/// How hard the C++ compiler tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Optimise {
    /// `-O0`: for some thousand cycles of a large design, which take less time than to optimise it.
    Short,
    /// `-O1`: built soon, for tests.
    Tests,
    /// `-O2`: for long runs.
    Long,
}

impl Optimise {
    /// Overrides what a [`BuildSpec`] asks for: `0`, `1`, `2`, as the C++ compiler numbers them.
    pub const VARIABLE: &str = "WINDLASS_OPTIMISE";

    /// What the environment says in place of what a program asks for.
    fn from_env() -> Result<Option<Self>, BuildError> {
        let Some(got) = std::env::var_os(Self::VARIABLE) else { return Ok(None) };
        match got.to_str() {
            Some("0") => Ok(Some(Self::Short)),
            Some("1") => Ok(Some(Self::Tests)),
            Some("2") => Ok(Some(Self::Long)),
            _ => Err(BuildError::Optimise { got: got.to_string_lossy().into_owned() }),
        }
    }
}

impl BuildSpec {
    /// Built for tests: `-O1`, assertions on, no waveforms.
    pub fn new(top: impl Into<String>, sources: Vec<(String, String)>, ports: Vec<Port>) -> Self {
        Self {
            top: top.into(),
            sources,
            ports,
            optimise: Optimise::Tests,
            trace: None,
            coverage: false,
            assertions: true,
            verilator_args: Vec::new(),
        }
    }

    /// The same, compiled as `optimise` says.
    pub fn optimise(mut self, optimise: Optimise) -> Self {
        self.optimise = optimise;
        self
    }

    /// The same, with counts of lines and bits.
    pub fn coverage(mut self) -> Self {
        self.coverage = true;
        self
    }

    /// The same, with waveforms of this format, or with none.
    pub fn trace(mut self, trace: Option<WaveFormat>) -> Self {
        self.trace = trace;
        self
    }
}

/// A library that cannot be built or loaded.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Verilator or the C++ compiler is missing, too old, or does not run.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The variable [`Optimise::VARIABLE`] is no level.
    #[error(
        "{} is `{got}`; possible: 0 (builds fast), 1, 2 (runs fast); unset it to leave the choice to the program",
        Optimise::VARIABLE
    )]
    Optimise {
        /// What it is.
        got: String,
    },
    /// The specification contradicts itself.
    #[error("`{top}` cannot be built: {problem}")]
    Spec {
        /// The top module.
        top: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The list of ports is not that of the Verilog.
    #[error("the ports of `{top}` are not those of its Verilog:\n  {}", first_lines(problems))]
    Ports {
        /// The top module.
        top: String,
        /// Every difference.
        problems: Vec<String>,
    },
    /// Waveforms in FST format need a library's headers.
    #[error(
        "FST waveforms need <{header}>, but the C++ compiler does not find it\n  install it: {install}\n  or write a .vcd file, which needs nothing"
    )]
    Header {
        /// The header.
        header: &'static str,
        /// The command that installs it.
        install: String,
    },
    /// A step of the build failed.
    #[error("`{top}`: {step} failed: {message}")]
    Step {
        /// The top module.
        top: String,
        /// Which step, with the program.
        step: String,
        /// What the program said, its errors first.
        message: String,
    },
    /// The library is there and whole, but the system does not load it.
    #[error("the library of `{top}` at `{}` cannot be loaded: {reason}\n  remove that directory to have it built again", path.display())]
    Load {
        /// The top module.
        top: String,
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

/// An instance that cannot be made.
#[derive(Debug, Error)]
pub enum InstanceError {
    /// The library was built without waveforms, or for the other format.
    #[error("`{top}` was built with waveforms {built:?}, and `{}` needs {needed:?}: set `BuildSpec::trace`", path.display())]
    Trace {
        /// The top module.
        top: String,
        /// The format that the library can write.
        built: Option<WaveFormat>,
        /// The format that is asked for.
        needed: WaveFormat,
        /// The waveform file.
        path: PathBuf,
    },
    /// The waveform file cannot be written.
    #[error("the waveform file `{}` cannot be written: {reason}", path.display())]
    WaveFile {
        /// The waveform file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The model's own construction failed.
    #[error("`{top}` cannot be made: {reason}")]
    Construction {
        /// The top module.
        top: String,
        /// What it said.
        reason: String,
    },
}

/// How an instance starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceOptions {
    /// Every bit of state that the design does not initialise is taken from this seed: a design that works with any seed
    /// needs no `initial`.
    pub seed: u64,
    /// Write a waveform; the library must have been built for its format.
    pub wave: Option<Wave>,
}

/// A compiled and loaded design. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Library {
    top: String,
    ports: Arc<[Port]>,
    words: (usize, usize),
    trace: Option<WaveFormat>,
    functions: Functions,
    key: String,
    built: bool,
    verilator: String,
}

impl Library {
    /// A new instance, before its first cycle.
    pub fn instance(&self, options: InstanceOptions) -> Result<Verilated, InstanceError> {
        let InstanceOptions { seed, wave } = options;
        let construction = |reason| InstanceError::Construction { top: self.top.clone(), reason };
        let Some(wave) = wave else {
            let handle = Handle::create(self.functions, fold_seed(seed), None).map_err(construction)?;
            return Ok(self.wrap(handle));
        };
        let path = wave.path();
        if self.trace != Some(wave.format()) {
            return Err(InstanceError::Trace {
                top: self.top.clone(),
                built: self.trace,
                needed: wave.format(),
                path: path.to_path_buf(),
            });
        }
        let unwritable = |reason: String| InstanceError::WaveFile { path: path.to_path_buf(), reason };
        let file = wave_file(&wave).map_err(|e| unwritable(e.to_string()))?;
        let c_path =
            loader::c_path(file.path()).ok_or_else(|| unwritable("its name has a zero byte".into()))?;
        let window = (c_path.as_c_str(), wave.from(), wave.to());
        let handle = Handle::create(self.functions, fold_seed(seed), Some(window)).map_err(construction)?;
        let mut model = self.wrap(handle);
        (model.wave, model.wave_file) = (Some(wave), Some(file));
        Ok(model)
    }

    fn wrap(&self, handle: Handle) -> Verilated {
        let (ports, words) = (self.ports.clone(), self.words);
        Verilated { handle, wave: None, wave_file: None, ports, words, cycle: 0, stopped: None }
    }

    /// The ports, in the order of [`BuildSpec::ports`].
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Words of one cycle's inputs.
    pub fn input_words(&self) -> usize {
        self.words.0
    }

    /// Words of one cycle's outputs.
    pub fn output_words(&self) -> usize {
        self.words.1
    }

    /// The library's name in the cache: the hash of all that it was built from.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// True if it was built just now, false if it came from the cache.
    pub fn built(&self) -> bool {
        self.built
    }

    /// The version of Verilator that built it, as it prints it; for reports.
    pub fn verilator_version(&self) -> &str {
        &self.verilator
    }
}

/// Verilator's seed is an `int`, and 0 means "take the time".
fn fold_seed(seed: u64) -> i32 {
    let mixed = crate::stimulus::Rng::new(seed).next_u64();
    ((mixed >> 33) as i32).max(1)
}

/// A running instance of a [`Library`].
///
/// After an error it stays where it is, and every further call returns that error.
#[derive(Debug)]
pub struct Verilated {
    // Dropped before the waveform's file is removed.
    handle: Handle,
    wave: Option<Wave>,
    /// The waveform while it is being written.
    wave_file: Option<NewFile>,
    ports: Arc<[Port]>,
    words: (usize, usize),
    cycle: u64,
    stopped: Option<CycleError>,
}

impl Verilated {
    /// Takes the library from the cache, or builds it.
    ///
    /// The tools are not needed where the cache has the library. [`Optimise::VARIABLE`] overrides `spec.optimise`.
    pub fn build(spec: &BuildSpec, cache: &Cache) -> Result<Library, BuildError> {
        let optimise = Optimise::from_env()?.unwrap_or(spec.optimise);
        let artefact = build::library(&spec.clone().optimise(optimise), cache)?;
        let functions = Functions::load(&artefact.path).map_err(|reason| BuildError::Load {
            top: spec.top.clone(),
            path: artefact.path.clone(),
            reason,
        })?;
        let words = |direction| Layout::new(&spec.ports, direction).words();
        Ok(Library {
            top: spec.top.clone(),
            ports: spec.ports.clone().into(),
            words: (words(Direction::Input), words(Direction::Output)),
            trace: spec.trace,
            functions,
            key: artefact.key,
            built: artefact.built,
            verilator: artefact.verilator,
        })
    }

    /// Runs `n` cycles: `inputs` holds the words of each cycle one after the other, and so does `outputs` afterwards.
    ///
    /// If the simulation stops, the error names the cycle, and the outputs of the cycles before it are there.
    pub fn run_batch(&mut self, n: usize, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        if let Some(error) = &self.stopped {
            return Err(error.clone());
        }
        for (what, got, per_cycle) in
            [("inputs", inputs.len(), self.words.0), ("outputs", outputs.len(), self.words.1)]
        {
            if n.checked_mul(per_cycle) != Some(got) {
                let message = format!("{what} hold {got} words, but {n} cycles take {n} times {per_cycle}");
                return Err(CycleError { cycle: self.cycle, message });
            }
        }
        let all = self.cycle + n as u64;
        self.cycle = self.handle.run(n, self.words, inputs, outputs);
        if self.cycle != all || self.wave.as_ref().is_some_and(|wave| self.cycle >= wave.to()) {
            // Kept, and told at the end: the run goes on without its waveform.
            let _ = self.close_wave();
        }
        if self.cycle == all {
            return Ok(());
        }
        let message = self.handle.error().unwrap_or_else(|| "the simulation stopped".into());
        let error = CycleError { cycle: self.cycle, message };
        self.stopped = Some(error.clone());
        Err(error)
    }

    /// Cycles done so far.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// What was counted so far, as Verilator writes it; [`BuildSpec::coverage`] must be set.
    pub fn coverage(&mut self) -> io::Result<String> {
        let file = tempfile::NamedTempFile::new()?;
        let path = loader::c_path(file.path()).ok_or(io::ErrorKind::InvalidFilename)?;
        if !self.handle.write_coverage(&path) {
            return Err(io::Error::other("the model counts nothing: set `BuildSpec::coverage`"));
        }
        std::fs::read_to_string(file.path())
    }

    /// Completes and closes the waveform before the instance ends, and puts it under its name; where that fails, what was there
    /// stays. Without, it is done when the instance is dropped. Later calls, and [`Wave::failure`], say the same.
    pub fn close_wave(&mut self) -> Result<(), Unwritten> {
        let Some(wave) = &self.wave else { return Ok(()) };
        if let Some(file) = self.wave_file.take() {
            match self.handle.close_wave().and_then(|dumped| put_in_place(file, wave.format(), dumped)) {
                Ok(true) => {}
                Ok(false) => wave.fail(Unwritten::Nothing {
                    path: wave.path().to_path_buf(),
                    from: wave.from(),
                    cycles: self.cycle,
                }),
                Err(error) => {
                    let (path, reason) = (wave.path().to_path_buf(), error.to_string());
                    wave.fail(Unwritten::Failed { path, reason });
                }
            }
        }
        wave.failure().map_or(Ok(()), |failure| Err(failure.clone()))
    }
}

impl Drop for Verilated {
    fn drop(&mut self) {
        let _ = self.close_wave();
    }
}

/// The file that the model writes: another than the one that a viewer should be shown, until it is whole.
fn wave_file(wave: &Wave) -> io::Result<NewFile> {
    let file = NewFile::create(wave.path())?;
    if wave.format() == WaveFormat::Fst {
        if !file.path().metadata()?.is_file() {
            // Its writer goes back and forth in the file, and would begin with the removal of the device.
            return Err(io::Error::other("FST needs a plain file; a .vcd can go to a pipe or a device"));
        }
        // It also ends the process where a file has no room for what it has mapped: small files beside the waveform, and in /tmp.
        for folder in file.path().parent().into_iter().chain([Path::new("/tmp")]) {
            room(folder)
                .map_err(|e| io::Error::new(e.kind(), format!("no room in {}: {e}", folder.display())))?;
        }
    }
    Ok(file)
}

/// Whether some MiB can be written there.
fn room(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder)?.write_all(&vec![0; 8 << 20])
}

/// Puts a waveform with something in it under its name.
fn put_in_place(file: NewFile, format: WaveFormat, dumped: bool) -> io::Result<bool> {
    if dumped {
        if format == WaveFormat::Fst && !wave::is_whole_fst(&mut File::open(file.path())?)? {
            return Err(io::Error::other("its end is missing; is the disk full?"));
        }
        file.keep()?;
    }
    Ok(dumped)
}

impl CycleModel for Verilated {
    fn ports(&self) -> Vec<Port> {
        self.ports.to_vec()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        self.run_batch(1, inputs, outputs)
    }
}

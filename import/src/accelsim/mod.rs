//! Accel-Sim: the traces that its NVBit tracer records of a program on a GPU.
//!
//! The tracer (versions 1 to 6) and its post-processing write a folder with `kernelslist.g`, which has what the host asked for in order, and
//! a file for each kernel: its launch, and every instruction that every warp executed, with the addresses. This reads both, each kernel's
//! file once and in bounded memory, several at a time. What a kernel reads and writes is what its instructions did. docs/import.md says what
//! becomes of what.

mod error;
mod instruction;
mod kernel;
mod launch;
mod list;
mod ranges;
mod tracez;

pub use error::{AccelsimError, AccelsimErrors, Problem, Warning};

use crate::file;
use error::Collected;
use launch::{Doubts, Launch};
use list::Command;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};
use windlass_runtime::ktrace::{Event, Gpu, Header, Run, Trace};

/// Segments that a kernel has at most of what it reads, and of what it writes, if nobody says how many.
pub const SEGMENTS: usize = 64;

/// What the trace does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The trace's name; without it, that of the folder.
    pub name: Option<String>,
    /// The GPU, which the tracer does not record.
    pub gpu: Option<Gpu>,
    /// Segments that a kernel has at most of what it reads, and of what it writes; at least 1. Where it touches more ranges, those that lie
    /// closest together become one.
    pub segments: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: None, gpu: None, segments: SEGMENTS }
    }
}

/// A trace and the assumptions behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// One run of the program.
    pub trace: Trace,
    /// What to tell the user.
    pub warnings: Vec<Warning>,
}

/// Reads the list of kernels `path`, or that of the folder `path`, and the kernels' files. The same files and options always give the same
/// trace. `progress` is told how many kernels of how many are read, on any thread.
///
/// # Errors
/// A file cannot be read, or is not as the tracer and its post-processing write it.
pub fn import(
    path: &Path,
    options: &Options,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Imported, AccelsimErrors> {
    let list = list::find(path)?;
    let (commands, unknown) = list::read(&list)?;
    let files: Vec<&PathBuf> = commands.iter().filter_map(Command::kernel).collect();
    let mut launches = read_all(&files, options.segments, progress)?.into_iter();

    let mut doubts = Doubts::new(unknown);
    let mut streams: Vec<u64> = Vec::new();
    let mut events = Vec::new();
    let mut index = 0;
    for command in &commands {
        match command {
            Command::Kernel(_) => {
                let Some(launch) = launches.next() else { break };
                let stream =
                    streams.iter().position(|known| *known == launch.stream).unwrap_or(streams.len());
                if stream == streams.len() {
                    streams.push(launch.stream);
                }
                events.push(Event::Kernel(launch.kernel(index, stream as u32, &mut doubts)));
            }
            // What was copied before the first kernel was there before the run.
            Command::Copy { .. } if index == 0 => continue,
            Command::Copy { addr, bytes } => {
                events.push(Event::Kernel(launch::copy(index, *addr, *bytes)));
                events.push(Event::Sync { why: "cuMemcpyHtoD".into() });
            }
        }
        index += 1;
    }
    let gpu = options.gpu.clone().unwrap_or_else(|| Gpu { name: "assumed".into(), sms: None });
    let capability = doubts.capability();
    let mut params = Map::new();
    if let Some(capability) = capability {
        let text = format!("{}.{}", capability / 10, capability % 10);
        params.insert("compute_capability".into(), text.into());
    }
    let header = Header {
        name: options.name.clone().unwrap_or_else(|| folder_name(&list)),
        source: "accel-sim-trace".into(),
        producer: format!("windlass import accel-sim {}", env!("CARGO_PKG_VERSION")),
        gpu,
        params: Value::Object(params),
        kernels: index,
        span: span(&events),
        notes: "launches, segments and flops from executed instructions; copies before the first kernel are not events; copies to the host, \
                memsets and waits of the host are not recorded"
            .into(),
    };
    let mut warnings = doubts.warnings(options.segments);
    if options.gpu.is_none() {
        warnings.insert(0, Warning::NoGpu { capability });
    }
    let run = Run { number: 0, input: None, events };
    Ok(Imported { trace: Trace { header, runs: vec![run], warnings: Vec::new() }, warnings })
}

impl Command {
    fn kernel(&self) -> Option<&PathBuf> {
        match self {
            Self::Kernel(file) => Some(file),
            Self::Copy { .. } => None,
        }
    }
}

/// Reads kernels' files, as many at a time as there are processors.
fn read_all(
    files: &[&PathBuf],
    segments: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Launch>, AccelsimErrors> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Each thread takes the next file, until there is none.
    let work = || {
        let mut read = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else { return read };
            let name = file::name(path);
            let (recorded, mut errors) = kernel::read(path, &name);
            let launch = Launch::new(recorded, segments);
            launch.check(&name, &mut errors);
            read.push((at, launch, errors));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, files.len());
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let mut read: Vec<(usize, Launch, Collected)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|p| panic::resume_unwind(p)));
        joined.flatten().collect()
    });
    read.sort_unstable_by_key(|(at, ..)| *at);
    let (mut launches, mut all) = (Vec::new(), Collected::default());
    for (_, launch, errors) in read {
        launches.push(launch);
        all.append(errors);
    }
    all.result().map(|()| launches)
}

/// First address that a kernel touches, and one past the last.
fn span(events: &[Event]) -> Option<[u64; 2]> {
    let kernels =
        events.iter().filter_map(|event| if let Event::Kernel(kernel) = event { Some(kernel) } else { None });
    let segments = || kernels.clone().flat_map(|kernel| kernel.reads.iter().chain(&kernel.writes));
    Some([segments().map(|segment| segment.addr).min()?, segments().map(|segment| segment.end()).max()?])
}

/// The name of the folder, or where that says only that there are traces in it, of the one that it is in.
fn folder_name(list: &Path) -> String {
    let list = std::path::absolute(list).unwrap_or_else(|_| list.to_path_buf());
    let mut names = list.ancestors().skip(1).filter_map(|folder| folder.file_name()?.to_str());
    names.find(|name| *name != "traces").unwrap_or("accel-sim").to_owned()
}

//! Traces from files, and those that are built in.

use crate::Failure;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, StdinLock, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_gen::table::{counted, without_controls};
use windlass_runtime::ktrace::{
    Compression, Event, KtraceError, KtraceErrors, Problem, Reader, Run, Trace, Writer,
};

/// Name of the built-in trace that commands take by default: one environment step of the physics engine Brax, 256 ants.
pub const BUILT_IN: &str = "brax-v1-ant-b256";

macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("../workloads/", $name, ".ktrace.jsonl")))
    };
}

/// Names and texts.
const ALL: [(&str, &str); 4] = [
    built_in!("brax-v1-ant-b256"),
    built_in!("mix-pipeline"),
    built_in!("mix-reduction"),
    built_in!("mix-fork"),
];

/// Names of the traces that are built in.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// Text of the built-in trace of that name.
pub fn built_in(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// What stands for stdin, where a trace is read, and for stdout, where one is written.
pub const STANDARD: &str = "-";

/// Loads a trace, and prints its warnings.
pub fn load(file: &str) -> Result<Trace, Failure> {
    let trace = match built_in(file) {
        Some(text) => Trace::read(Reader::new(text.as_bytes(), file)?)?,
        None if file == STANDARD => Trace::read(Reader::new(stdin()?, "stdin")?)?,
        None => Trace::load(file).map_err(|errors| unreadable(file, &errors))?,
    };
    Ok(ready(file, trace))
}

/// Where `-` is read from, which is over after one trace.
fn stdin() -> Result<StdinLock<'static>, Failure> {
    static READ: AtomicBool = AtomicBool::new(false);
    match READ.swap(true, Ordering::Relaxed) {
        true => Err("`-` was given twice, but stdin holds one trace: give the others as files".into()),
        false => Ok(std::io::stdin().lock()),
    }
}

/// The same with the bytes that it was read from, by which the results of one trace are told from those of another.
pub fn load_with_bytes(file: &str) -> Result<(Trace, Cow<'static, [u8]>), Failure> {
    if let Some(text) = built_in(file) {
        return Ok((load(file)?, text.as_bytes().into()));
    }
    // Read once: of a pipe, whatever its name, there is no second look.
    let mut bytes = Vec::new();
    let name = if file == STANDARD { "stdin" } else { file };
    let read = match file == STANDARD {
        true => stdin()?.read_to_end(&mut bytes),
        false => File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    let trace = match read {
        Ok(_) => Reader::new(bytes.as_slice(), name).map_err(KtraceErrors::from).and_then(Trace::read),
        Err(e) => {
            Err(KtraceError { file: name.into(), line: 0, field: None, problem: Problem::Io(e) }.into())
        }
    };
    let trace = trace.map_err(|errors| unreadable(file, &errors))?;
    Ok((ready(file, trace), bytes.into()))
}

/// What is wrong with a trace, and what the word that names it may have meant.
fn unreadable(file: &str, errors: &KtraceErrors) -> String {
    let path = Path::new(file);
    if path.is_dir() {
        format!("{errors}\n  this command takes files; `run`, `report` and `explore` take folders")
    } else if !path.exists() && file != STANDARD {
        format!("{errors}\n  built in: {}", names().collect::<Vec<_>>().join(", "))
    } else {
        errors.to_string()
    }
}

/// The trace as it is shown from here on, once its warnings are printed: names without control characters, which would break lines and do
/// something to a terminal.
fn ready(file: &str, mut trace: Trace) -> Trace {
    let clean = |name: &mut String| {
        if name.contains(char::is_control) {
            *name = without_controls(name);
        }
    };
    clean(&mut trace.header.name);
    clean(&mut trace.header.gpu.name);
    for event in trace.runs.iter_mut().flat_map(|run| &mut run.events) {
        match event {
            Event::Kernel(kernel) => {
                clean(&mut kernel.name);
                clean(&mut kernel.op);
            }
            Event::Sync { why } => clean(why),
            _ => {}
        }
    }
    warn(file, &trace);
    trace
}

fn warn(file: &str, trace: &Trace) {
    for warning in &trace.warnings {
        eprintln!("warning: {warning}");
    }
    let streams = |run: &Run| run.kernels().map(|kernel| kernel.stream).collect::<BTreeSet<_>>().len();
    let streams = trace.runs.iter().map(streams).max().unwrap_or(0);
    if streams > 1 {
        eprintln!(
            "warning: {file}: kernels were launched on {streams} streams, but are treated as one stream in this order; so `serial` is slower \
             than the program was, and speed-ups over `serial` are higher than over the program"
        );
    }
}

/// Refuses a trace of which nothing can be measured.
pub fn not_empty(file: &str, trace: &Trace) -> Result<(), Failure> {
    match trace.kernels().next().is_some() {
        true => Ok(()),
        false => Err(format!(
            "{file}: the trace has no kernels, so there is nothing to run; record the program while it launches some"
        )
        .into()),
    }
}

/// The same, and of which all kernels take no time: every ratio of two policies would be one of overheads, or of nothing at all.
pub fn takes_time(file: &str, trace: &Trace) -> Result<(), Failure> {
    not_empty(file, trace)?;
    match trace.kernels().any(|kernel| kernel.dur_ns != Some(0)) {
        true => Ok(()),
        false => Err(format!(
            "{file}: `dur_ns` is 0 in every kernel, so none has work and there is nothing to compare; leave `dur_ns` out, then `flops`, `bytes` and segments say how long kernels take"
        )
        .into()),
    }
}

/// Writes a trace that was made, and says where; without `out`, or with [`STANDARD`], to stdout.
pub fn deliver(trace: &Trace, out: Option<&Path>) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match out.filter(|path| *path != Path::new(STANDARD)) {
        None => {
            let mut writer = Writer::new(Vec::new(), "stdout", &trace.header, Compression::Plain)?;
            writer.trace(trace)?;
            stdout.write_all(&writer.finish()?)?;
        }
        Some(path) => {
            trace.save(path).map_err(|e| format!("--out {e}"))?;
            let (name, kernels) = (&trace.header.name, trace.header.kernels);
            writeln!(stdout, "{name} ({})\n  {}", counted(kernels, "kernel"), path.display())?;
        }
    }
    Ok(())
}

/// The files that are named; in the place of a folder the traces in it, by name.
pub fn files(names: &[String]) -> Result<Vec<String>, String> {
    let mut files: Vec<String> = Vec::new();
    for name in names {
        let path = Path::new(name);
        if built_in(name).is_some() || !path.is_dir() {
            files.push(name.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|e| format!("{name}: {e}"))?;
        let mut inside = Vec::new();
        for entry in entries {
            let file = entry.map_err(|e| format!("{name}: {e}"))?.path().to_string_lossy().into_owned();
            if [".ktrace.jsonl", ".ktrace.jsonl.zst"].iter().any(|ending| file.ends_with(ending)) {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            return Err(format!(
                "{name}: this folder has no traces, that is, files that end in .ktrace.jsonl or .ktrace.jsonl.zst"
            ));
        }
        inside.sort();
        files.extend(inside);
    }
    // A workload twice would count twice in every mean, also under another spelling of its path.
    let mut seen = BTreeSet::new();
    files.retain(|file| {
        seen.insert(std::fs::canonicalize(file).unwrap_or_else(|_| Path::new(file).to_path_buf()))
    });
    Ok(files)
}

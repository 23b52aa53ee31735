//! What the flows for area, timing and FPGAs share: which Yosys, running a program in a folder of its own with a limit, what is kept
//! in the cache under the SHA-256 of all that it depends on, and errors.

use super::wires::COLOQUINTE_VERSION;
use crate::cache;
use crate::rtl::sources;
use crate::tools::{self, Tool, ToolError, quoted};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;
use windlass_files::new_file::save;
use windlass_netlist::liberty::LibertyError;

/// Lines of a tool's complaint that an error shows.
const TAIL_LINES: usize = 20;

/// The version of PyPI's `pyosys` that `scripts/setup.sh` puts into the cache.
pub const PYOSYS_VERSION: &str = "0.70";

/// How long a tool may run before it is stopped. The largest designs take minutes.
pub const TIME_LIMIT: Duration = Duration::from_secs(3600);

/// What `pyosys` is started with; the script's name follows.
const PYOSYS: &str =
    "import sys; from pyosys import libyosys as y; y.yosys_setup(); y.run_pass('script ' + sys.argv[1])";

/// Why there is no area, or no timing.
#[derive(Debug, Error)]
pub enum SynthesisError {
    /// A tool cannot be used.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The library cannot be used.
    #[error(transparent)]
    Liberty(#[from] LibertyError),
    /// A file or module name that cannot be given to Yosys.
    #[error("`{name}` cannot be synthesized under that name: use letters, digits, `_`, `-` and `.` only")]
    Name {
        /// The name.
        name: String,
    },
    /// A tool stopped.
    #[error("{tool} failed on `{top}` ({status}):\n{message}\n  run it by hand: {command}")]
    Failed {
        /// Which tool.
        tool: &'static str,
        /// Module at the top.
        top: String,
        /// How it ended.
        status: String,
        /// The end of what it said.
        message: String,
        /// The command that does the same again.
        command: String,
    },
    /// The module has other ports than its block.
    #[error("the ports of `{top}` are not those of its Verilog:\n  {}", crate::table::first_lines(problems))]
    Ports {
        /// Module at the top.
        top: String,
        /// Every difference.
        problems: Vec<String>,
    },
    /// Signals that are not driven once, or depend on themselves.
    #[error(
        "`{top}` has faults that tools take in different ways:\n  {}",
        crate::table::first_lines(problems)
    )]
    Faults {
        /// Module at the top.
        top: String,
        /// What Yosys says.
        problems: Vec<String>,
    },
    /// The design has latches, and no block of Windlass may.
    #[error("`{top}` has latches: {}\n  assign these signals on every path through their `always @(*)`, or clock them", latches.join(", "))]
    Latches {
        /// Module at the top.
        top: String,
        /// Each signal as `module.signal`, or module and cell where the latch was written as a cell.
        latches: Vec<String>,
    },
    /// The design drives a net from two places.
    #[error("`{top}` has nets with more than one driver: {}\n  leave one assignment to each", nets.join(", "))]
    Drivers {
        /// Module at the top.
        top: String,
        /// Each net as `module.signal`, with its bit.
        nets: Vec<String>,
    },
    /// The library lacks what the design needs.
    #[error("the library `{library}` has no cell, or none with an area, for: {}\n  name a complete standard-cell library with --liberty", cells.join(", "))]
    Unmapped {
        /// The library's name.
        library: String,
        /// What is left over, with its module.
        cells: Vec<String>,
    },
    /// The library has no clock gate.
    #[error(
        "the library `{library}` has no clock gate: no cell with `clock_gating_integrated_cell` for a rising edge\n  leave out --clock-gates, or name a library that has one, such as nangate45"
    )]
    NoClockGate {
        /// The library's name.
        library: String,
    },
    /// This Yosys puts no clock gates in.
    #[error(
        "{version} has no `clockgate`, which puts clock gates in\n  leave out --clock-gates, or use a newer one: scripts/setup.sh fetches pyosys {PYOSYS_VERSION}"
    )]
    NoClockGatePass {
        /// The tool's version.
        version: String,
    },
    /// Nothing places cells.
    #[error(
        "wires need Coloquinte {COLOQUINTE_VERSION}, which places cells, and it is not in the cache\n  scripts/setup.sh fetches it from PyPI (Linux on x86-64, Python 3.8 to 3.12); or leave out --wires"
    )]
    NoPlacer,
    /// A tool's output is not understood.
    #[error(
        "the output of {tool} cannot be read: {what}\n  Yosys 0.23 and 0.70, OpenSTA 2.0.17 and nextpnr 0.4 are known to work; `windlass doctor` names the variable that sets each to another one"
    )]
    Output {
        /// The tool's version.
        tool: String,
        /// What is wrong with it.
        what: String,
    },
    /// No variable says where the cache is.
    #[error(
        "there is no folder to keep results in: set WINDLASS_CACHE to one (XDG_CACHE_HOME and HOME are not set either)"
    )]
    NoCache,
    /// The cache, or a file in it, cannot be read or written.
    #[error("cannot {what} `{}`: {source}\n  free some space there, or set WINDLASS_CACHE to a folder that can be written", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

pub(crate) fn io_error<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> SynthesisError + 'a {
    move |source| SynthesisError::Io { what, path: path.to_path_buf(), source }
}

/// The folder of one kind of results below `cache`, by default below [`cache::root`]; it is there afterwards.
pub(crate) fn shelf(cache: Option<&Path>, name: &str) -> Result<PathBuf, SynthesisError> {
    let root = cache.map(Path::to_path_buf).or_else(cache::root).ok_or(SynthesisError::NoCache)?.join(name);
    fs::create_dir_all(&root).map_err(io_error("create", &root))?;
    // What processes that were killed left, and failures that somebody has looked at by now, or will not.
    cache::remove_older(&root, "run-", 7 * cache::DAY);
    cache::remove_older(&root, "failed-", 30 * cache::DAY);
    Ok(root)
}

/// Names go into scripts as they stand, and are files.
pub(crate) fn check_names(design: &[(String, String)], top: &str) -> Result<(), SynthesisError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match design
        .iter()
        .map(|(name, _)| name.as_str())
        .chain([top])
        .find(|name| name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain))
    {
        Some(name) => Err(SynthesisError::Name { name: name.into() }),
        None => Ok(()),
    }
}

/// SHA-256 over all that a result depends on, our own code that makes it included: a change there is another result, also where nobody
/// thought of the cache. Each part goes in with its length, so that no two lists look alike.
pub(crate) fn key(design: &[(String, String)], others: &[&str]) -> String {
    let mut hash = Sha256::new();
    let parts =
        design.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]).chain(others.iter().copied());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    cache::hex(&hash.finalize())
}

/// Puts a file into the cache. Written aside and renamed, so that whoever reads at the same time sees a whole entry or none.
pub(crate) fn store(root: &Path, name: &str, bytes: &[u8]) -> Result<(), SynthesisError> {
    let entry = root.join(name);
    save(&entry, bytes).map_err(io_error("write", &entry))
}

/// Puts an entry into the cache, for [`stored`].
pub(crate) fn store_entry<T: serde::Serialize>(
    root: &Path,
    name: &str,
    entry: &T,
) -> Result<(), SynthesisError> {
    let bytes = serde_json::to_vec(entry).map_err(|e| io_error("write", root)(e.into()))?;
    store(root, name, &bytes)
}

/// The entry of the cache, if it is there. One that does not parse is damaged and is made again.
pub(crate) fn stored<T: serde::de::DeserializeOwned>(root: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&fs::read(root.join(name)).ok()?).ok()
}

/// A Yosys: the program, or Python's `pyosys`, which is newer than most distributions' and about twice as fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yosys {
    /// `yosys`, or the Python that has `pyosys`.
    pub program: PathBuf,
    /// It is a Python.
    pub python: bool,
    /// The line in which it printed its version.
    pub version: String,
}

impl Yosys {
    /// The program that `YOSYS` names; else the `pyosys` that `scripts/setup.sh` put into the cache; else `yosys` on the path.
    pub fn find() -> Result<Self, ToolError> {
        let named = std::env::var_os(Tool::Yosys.info().env).is_some_and(|v| !v.is_empty());
        if let (false, Some(pyosys)) = (named, Self::pyosys()) {
            return Ok(pyosys);
        }
        Self::program()
    }

    /// The program, [`tools::find`]'s.
    pub fn program() -> Result<Self, ToolError> {
        let found = tools::find(Tool::Yosys)?;
        Ok(Self { program: found.path, python: false, version: found.version_line })
    }

    /// The `pyosys` in the cache, if it is there and runs.
    pub fn pyosys() -> Option<Self> {
        let print = "from pyosys import libyosys as y; print(y.yosys_maybe_version())";
        let (program, version) = cache::python(&format!("pyosys-{PYOSYS_VERSION}"), print)?;
        version.starts_with("Yosys").then(|| Self {
            program,
            python: true,
            version: format!("{}, from pyosys", without_compiler(&version)),
        })
    }

    /// Runs the script of that name; its log is `LOG.log` in the folder.
    pub(crate) fn run(&self, work: &Workplace, script: &str, log: &str) -> Result<String, Failure> {
        let log = format!("{log}.log");
        let (args, out) = if self.python {
            (vec!["-I", "-c", PYOSYS, script], log.clone())
        } else {
            (vec!["-q", "-l", &log, "-s", script], format!("{log}.out"))
        };
        let ran = work.run("Yosys", &self.program, &args, &out);
        let text = read_lossy(&work.path().join(&log));
        ran.map(|()| text)
    }
}

pub(crate) fn read_lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// How a tool failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub tool: &'static str,
    pub status: String,
    pub message: String,
    pub command: String,
    /// It did not end in time.
    pub late: bool,
}

/// What ends a run: an error, or a tool whose files are to be kept.
pub(crate) enum Stop {
    Error(SynthesisError),
    Failure(Failure),
}

impl From<SynthesisError> for Stop {
    fn from(error: SynthesisError) -> Self {
        Self::Error(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// A folder for one run of a flow. It goes away at the end, unless something failed in it.
pub(crate) struct Workplace<'a> {
    top: &'a str,
    folder: tempfile::TempDir,
    /// Where it is moved after a failure: one folder per design that fails, not one per run.
    kept: PathBuf,
    limit: Duration,
}

impl<'a> Workplace<'a> {
    pub fn new(root: &Path, top: &'a str, key: &str, limit: Duration) -> Result<Self, SynthesisError> {
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(root)
            .map_err(io_error("create a folder in", root))?;
        let root = std::path::absolute(root).map_err(io_error("find", root))?;
        Ok(Self { top, folder, kept: root.join(format!("failed-{}", &key[..16])), limit })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> Result<(), SynthesisError> {
        self.write_bytes(name, text.as_bytes())
    }

    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), SynthesisError> {
        let path = self.path().join(name);
        fs::write(&path, bytes).map_err(io_error("write", &path))
    }

    /// Runs a program here, stdout into the file `out`, until it ends or the limit is over.
    pub fn run(&self, tool: &'static str, program: &Path, args: &[&str], out: &str) -> Result<(), Failure> {
        // The command runs in another folder, from where a relative path would lead elsewhere.
        let program = std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf());
        let command = self.command(&program, args);
        let failure =
            |status: String, message: String| Failure { tool, status, message, command, late: false };
        let err = self.path().join(format!("{out}.err"));
        let start = || -> io::Result<std::process::Child> {
            Command::new(&program)
                .args(args)
                .current_dir(self.path())
                .stdin(Stdio::null())
                .stdout(fs::File::create(self.path().join(out))?)
                .stderr(fs::File::create(&err)?)
                .spawn()
        };
        let mut child = match start() {
            Ok(child) => child,
            Err(error) => return Err(failure("it did not start".into(), error.to_string())),
        };
        let (status, late) = match wait(&mut child, self.limit) {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => (status.to_string(), false),
            Ok(None) => (format!("stopped: it took longer than {} s", self.limit.as_secs()), true),
            Err(error) => (error.to_string(), false),
        };
        // OpenSTA and Python complain on stderr too; a Yosys that crashed may have said why in its log only.
        let said = read_lossy(&err);
        let said = if said.trim().is_empty() { read_lossy(&self.path().join(out)) } else { said };
        Err(Failure { late, ..failure(status, tail(&said)) })
    }

    /// What a shell takes to run a program again, in the folder that is kept.
    fn command(&self, program: &Path, args: &[&str]) -> String {
        let [kept, program] = [&self.kept, program].map(|path| quoted(&path.to_string_lossy()));
        let words = args.iter().map(|arg| format!(" {}", quoted(arg)));
        format!("cd {kept} && {program}{}", words.collect::<String>())
    }

    /// Runs OpenSTA; what it printed is in the file `out`. It goes on after errors and ends with 0, so that they are looked for.
    pub fn sta(&self, program: &Path, script: &str, out: &str) -> Result<String, Failure> {
        let args = ["-exit", script];
        self.run("OpenSTA", program, &args, out)?;
        let (text, err) =
            (read_lossy(&self.path().join(out)), read_lossy(&self.path().join(format!("{out}.err"))));
        let complaint = |line: &&str| line.starts_with("Error:") || line.starts_with("[ERROR");
        let errors: Vec<&str> = err.lines().chain(text.lines()).filter(complaint).collect();
        if errors.is_empty() && text.lines().any(|l| l == "@end") {
            return Ok(text);
        }
        let message =
            if errors.is_empty() { "it did not come to the end".into() } else { tail(&errors.join("\n")) };
        let command = self.command(program, &args);
        Err(Failure { tool: "OpenSTA", status: "it reported errors".into(), message, command, late: false })
    }

    /// Moves the folder to where the commands of failures expect it.
    pub fn keep(self) {
        let work = self.folder.keep();
        let _ = fs::remove_dir_all(&self.kept);
        let _ = fs::rename(&work, &self.kept);
    }

    /// The error that ended a run.
    pub fn stopped(self, stop: Stop) -> SynthesisError {
        match stop {
            Stop::Error(error) => error,
            Stop::Failure(failure) => self.failed(failure),
        }
    }

    /// Keeps the folder of the failed run, so that the command in the error works.
    pub fn failed(self, failure: Failure) -> SynthesisError {
        let top = self.top.to_string();
        self.keep();
        let Failure { tool, status, message, command, .. } = failure;
        SynthesisError::Failed { tool, top, status, message, command }
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    match lines.as_slice() {
        [] => "(it said nothing)".into(),
        lines => lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"),
    }
}

/// None if the limit passed first; then the program and all that it started are stopped.
fn wait(child: &mut std::process::Child, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            // Yosys starts ABC, which does not notice that nobody listens. A process group of its own would not get Ctrl-C.
            for pid in descendants(child.id()) {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
            }
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Processes that `pid` started, and those that they started, where the system has `/proc`.
fn descendants(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let children = all.iter().filter(|(_, parent)| *parent == found[next]).map(|(pid, _)| *pid);
        found.extend(children.collect::<Vec<_>>());
        next += 1;
    }
    found.split_off(1)
}

/// Latches and nets with two drivers, which Yosys only warns of.
pub(crate) fn refuse(log: &str, top: &str) -> Result<(), SynthesisError> {
    let latches = named_in(log, "Latch inferred for signal `", "' from process");
    if !latches.is_empty() {
        return Err(SynthesisError::Latches { top: top.into(), latches });
    }
    let nets = named_in(log, "Warning: multiple conflicting drivers for ", ":");
    if !nets.is_empty() {
        return Err(SynthesisError::Drivers { top: top.into(), nets });
    }
    Ok(())
}

/// The signals in lines such as ``Latch inferred for signal `\sub.\q' from process ...``, as `sub.q`.
fn named_in(log: &str, before: &str, after: &str) -> Vec<String> {
    let names = log
        .lines()
        // Newer versions say "Warning: " before it.
        .filter_map(|line| {
            line.strip_prefix(before).or_else(|| line.strip_prefix("Warning: ")?.strip_prefix(before))
        })
        .filter_map(|rest| Some(rest.rsplit_once(after)?.0.replace('\\', "")));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// `read_verilog` for each source; SystemVerilog through `read_slang` where Yosys has it.
pub(crate) fn read_commands(design: &[(String, String)], top: &str, yosys: &Yosys) -> String {
    let system =
        |endings: &[&str]| design.iter().any(|(name, _)| endings.iter().any(|end| name.ends_with(end)));
    if yosys.python && system(&[".sv", ".svh"]) {
        return format!("read_slang --top {top} {}\n", sources(design).collect::<Vec<_>>().join(" "));
    }
    let headers = system(&[".svh"]);
    sources(design).fold(String::new(), |mut script, name| {
        let standard = if headers || name.ends_with(".sv") { "-sv " } else { "" };
        let _ = writeln!(script, "read_verilog {standard}{name}");
        script
    })
}

/// Release and commit. Which compiler built it, and where that one stood, is another machine's affair.
fn without_compiler(version: &str) -> String {
    match version.split_once(", ") {
        Some((release, _)) if release.contains('(') => format!("{release})"),
        _ => version.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_lists_apart() {
        let file = |n: &str, t: &str| (n.to_string(), t.to_string());
        let keys = [
            key(&[file("a.v", "x")], &["1", "2"]),
            key(&[file("a.v", "x")], &["12", ""]),
            key(&[file("a.vx", "")], &["1", "2"]),
            key(&[file("a.v", "y")], &["1", "2"]),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_takes_too_long_is_stopped_with_its_children() {
        let root = tempfile::tempdir().unwrap();
        let work = Workplace::new(root.path(), "top", &"0".repeat(64), Duration::from_millis(300)).unwrap();
        let script = "echo waiting >&2; sleep 987 & echo $! > child; wait";
        let failure = work.run("Yosys", Path::new("/bin/sh"), &["-c", script], "out").unwrap_err();
        assert!(failure.status.contains("stopped: it took longer"), "{failure:?}");
        assert_eq!(failure.message, "waiting");
        let child: u32 = read_lossy(&work.path().join("child")).trim().parse().unwrap();
        // Gone, or waiting for init to notice; the kernel takes a moment.
        let lives = || {
            let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        let start = Instant::now();
        while lives() {
            assert!(start.elapsed() < Duration::from_secs(60), "{child} lives");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(work.failed(failure).to_string().contains(&format!("{}", root.path().display())));
    }

    #[cfg(unix)]
    #[test]
    fn the_command_of_a_failure_runs_in_a_shell_as_it_ran() {
        let root = tempfile::Builder::new().prefix("it's $(a) ").tempdir().unwrap();
        let work = Workplace::new(root.path(), "top", &"0".repeat(64), Duration::from_secs(60)).unwrap();
        let script = "printf '%s' \"$1\" >said; exit 3";
        let words = ["-c", script, "sh", "it's `a` \"$b\""];
        let failure = work.run("Yosys", Path::new("/bin/sh"), &words, "out").unwrap_err();
        let said = fs::read_to_string(work.path().join("said")).unwrap();
        let command = failure.command.clone();
        let kept = work.kept.clone();
        let _ = work.failed(failure);
        fs::remove_file(kept.join("said")).unwrap();
        assert_eq!(Command::new("sh").args(["-c", &command]).status().unwrap().code(), Some(3), "{command}");
        assert_eq!((fs::read_to_string(kept.join("said")).unwrap(), words[3]), (said, words[3]));
    }

    #[test]
    fn a_version_names_release_and_commit_only() {
        let pyosys = "Yosys 0.70 (git sha1 28ba3cb92, Release, GNU /usr/bin/c++ 14.2.1)";
        assert_eq!(without_compiler(pyosys), "Yosys 0.70 (git sha1 28ba3cb92)");
        for short in ["Yosys 0.23 (git sha1 7ce5011c24b)", "Yosys 0.70, odd"] {
            assert_eq!(without_compiler(short), short);
        }
    }
}

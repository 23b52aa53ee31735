//! A tool that runs in a folder of its own, and what it found out, kept under the SHA-256 of all that it depends on.

use crate::cache;
use crate::tools::{Found, ToolError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use thiserror::Error;

/// Lines of a tool's complaint that an error shows.
const TAIL_LINES: usize = 20;

/// Why a job did not run.
#[derive(Debug, Error)]
pub enum JobError {
    /// The tool cannot be used.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The tool stopped.
    #[error("{tool} failed on `{top}` ({status}):\n{message}\n  run it by hand: {command}")]
    Failed {
        /// Its name.
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
    /// The tool took too long.
    #[error("{tool} was stopped on `{top}` after {seconds} s; give it more time, or a smaller design")]
    TooLong {
        /// Its name.
        tool: &'static str,
        /// Module at the top.
        top: String,
        /// The limit.
        seconds: u64,
    },
    /// No variable says where the cache is.
    #[error(
        "nothing says where to keep results: set WINDLASS_CACHE to a folder (XDG_CACHE_HOME and HOME are not set either)"
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

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> JobError + 'a {
    move |source| JobError::Io { what, path: path.to_path_buf(), source }
}

/// One kind of results in the cache.
pub(super) struct Shelf {
    root: PathBuf,
}

impl Shelf {
    /// The shelf called `name` below `root`, by default [`cache::root`]. Nothing is created.
    pub(super) fn new(root: Option<&Path>, name: &str) -> Result<Self, JobError> {
        let root = root.map(Path::to_path_buf).or_else(cache::root).ok_or(JobError::NoCache)?;
        Ok(Self { root: root.join(name) })
    }

    /// What is kept under `key`. An entry that does not parse is damaged and is made again.
    pub(super) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let bytes = fs::read(self.root.join(format!("{key}.json"))).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps `value`: written aside and renamed, so that whoever reads at the same time sees a whole entry or none.
    pub(super) fn put<T: Serialize>(&self, key: &str, value: &T) -> Result<(), JobError> {
        let entry = self.root.join(format!("{key}.json"));
        let bytes = serde_json::to_vec(value).map_err(|e| io_error("write", &entry)(e.into()))?;
        fs::create_dir_all(&self.root).map_err(io_error("create", &self.root))?;
        let mut file =
            tempfile::NamedTempFile::new_in(&self.root).map_err(io_error("create a file in", &self.root))?;
        file.write_all(&bytes).map_err(io_error("write", &entry))?;
        file.persist(&entry).map_err(|e| io_error("write", &entry)(e.error))?;
        Ok(())
    }

    /// A folder with `files` in it, gone when dropped.
    pub(super) fn folder<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<TempDir, JobError> {
        fs::create_dir_all(&self.root).map_err(io_error("create", &self.root))?;
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(&self.root)
            .map_err(io_error("create a folder in", &self.root))?;
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(io_error("write", &path))?;
        }
        Ok(folder)
    }

    /// The error for a run that failed; its folder is kept, one for each `key`, so that the command in the error works.
    pub(super) fn failed(
        &self,
        key: &str,
        top: &str,
        tool: &Found,
        arguments: &[&str],
        output: &Output,
        folder: TempDir,
    ) -> JobError {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let text =
            if text.trim().is_empty() { String::from_utf8_lossy(&output.stdout).into_owned() } else { text };
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let message = match lines.as_slice() {
            [] => "(it said nothing)".to_string(),
            lines => lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"),
        };
        let kept = self.root.join(format!("failed-{}", &key[..16]));
        let folder = folder.keep();
        let _ = fs::remove_dir_all(&kept);
        let folder = if fs::rename(&folder, &kept).is_ok() { kept } else { folder };
        let (folder, program) = (folder.display(), tool.path.display());
        JobError::Failed {
            tool: tool.tool.info().name,
            top: top.into(),
            status: output.status.to_string(),
            message,
            command: format!("cd '{folder}' && '{program}' {}", arguments.join(" ")),
        }
    }
}

/// Runs the tool in `folder`, for at most `limit`; `None` where that was too short.
pub(super) fn run(
    tool: &Found,
    arguments: &[&str],
    folder: &Path,
    limit: Duration,
) -> Result<Option<Output>, JobError> {
    // The command runs in another folder, from where a relative path would lead elsewhere.
    let program = std::path::absolute(&tool.path).map_err(io_error("find", &tool.path))?;
    let (out, err) = (folder.join("stdout.log"), folder.join("stderr.log"));
    let create = |path: &Path| fs::File::create(path).map_err(io_error("write", path));
    let mut child = Command::new(&program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        // Files, not pipes: nobody reads while it runs, and a full pipe would stop it.
        .stdout(create(&out)?)
        .stderr(create(&err)?)
        .spawn()
        .map_err(|error| {
            let (path, reason) = (program.display().to_string(), error.to_string());
            JobError::from(ToolError::WillNotRun {
                tool: tool.tool,
                path,
                reason,
                install: tool.tool.info().install(),
            })
        })?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io_error("wait for", &program))? {
            break status;
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let read = |path: &Path| fs::read(path).map_err(io_error("read", path));
    Ok(Some(Output { status, stdout: read(&out)?, stderr: read(&err)? }))
}

/// SHA-256 over `parts`, each with its length, so that no two lists look alike.
pub(super) fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

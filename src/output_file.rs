//! A file beside what is printed, which is begun before the work that it is for: a path that cannot be written must not cost its results.

use crate::{Cli, Failure};
use clap::{ArgMatches, CommandFactory};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use windlass_files::new_file::NewFile;

/// The file that an option names.
pub struct OutputFile<'a> {
    path: &'a Path,
    option: &'static str,
    file: NewFile,
}

impl<'a> OutputFile<'a> {
    /// Begins it. Dropped before it is written, it changes nothing.
    pub fn begin(path: &'a Path, option: &'static str) -> Result<Self, Failure> {
        let file = NewFile::create(path).map_err(|e| unwritable(path, &e, option))?;
        Ok(Self { path, option, file })
    }

    /// Writes all of it, and puts it under its name.
    pub fn write(self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        let Self { path, option, mut file } = self;
        let written = file.write_all(text.as_ref()).and_then(|()| file.keep());
        written.map_err(|e| unwritable(path, &e, option))
    }
}

/// Why a file, or a folder, that an option names cannot be written.
pub fn unwritable(path: &Path, error: &io::Error, option: &str) -> Failure {
    format!("{}: {error}; choose another {option}", path.display()).into()
}

/// Options of all commands that name a file to be written.
const OUTPUTS: [&str; 7] = ["out", "timeline", "wave", "figure", "vcd", "html", "dot"];

/// Refuses a command line on which a file that is read, or another that is written, would be replaced by what an option writes.
pub fn keep_apart(matches: &ArgMatches) -> Result<(), Failure> {
    let (mut matches, mut command) = (matches, &Cli::command());
    while let Some((name, inner)) = matches.subcommand() {
        let Some(next) = command.find_subcommand(name) else { break };
        (matches, command) = (inner, next);
    }
    let mut outputs: Vec<(String, PathBuf)> = Vec::new();
    let mut inputs: Vec<PathBuf> = Vec::new();
    for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
        let Ok(Some(values)) = matches.try_get_raw(argument.get_id().as_str()) else { continue };
        let values = values.map(PathBuf::from);
        match argument.get_long().filter(|name| OUTPUTS.contains(name)) {
            Some(name) => outputs.extend(values.map(|path| (format!("--{name}"), path))),
            None => inputs.extend(values),
        }
    }
    for (i, (option, path)) in outputs.iter().enumerate() {
        if let Some(read) = inputs.iter().find(|input| is_same(input, path)) {
            let read = read.display();
            return Err(format!("{option} would replace {read}, which is read; give another file").into());
        }
        if let Some((other, _)) = outputs[..i].iter().find(|(_, other)| is_same(other, path) || other == path)
        {
            let path = path.display();
            return Err(format!("{other} and {option} both write {path}; give each a file of its own").into());
        }
    }
    Ok(())
}

/// Whether both are there, and one ordinary file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    file(a).is_some_and(|a| file(b) == Some(a))
}

//! A file beside what is printed, which is begun before the work that it is for: a path that cannot be written must not cost its results.

use crate::Failure;
use std::io::{self, Write};
use std::path::Path;
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

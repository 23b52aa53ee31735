//! The file of `--timeline`: JSON for Perfetto, compressed where its name says so.

use crate::Failure;
use crate::output_file::unwritable;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use windlass_files::new_file::NewFile;

const OPTION: &str = "--timeline";

/// A timeline that is being written.
pub struct TimelineFile<'a> {
    path: &'a Path,
    file: NewFile,
}

/// Refuses names of what a timeline is not compressed as.
pub fn check(path: &Path) -> Result<(), Failure> {
    match path.extension().and_then(|e| e.to_str()) {
        Some(extension @ ("zst" | "zip" | "xz" | "bz2")) => Err(format!(
            "--timeline {}: a timeline is written plain or compressed with gzip, not as `.{extension}`; give FILE.json or FILE.json.gz",
            path.display()
        )
        .into()),
        _ => Ok(()),
    }
}

impl<'a> TimelineFile<'a> {
    /// Begins it; to be done before the run, for a path that cannot be written must not cost its results.
    pub fn create(path: &'a Path) -> Result<Self, Failure> {
        Ok(Self { path, file: NewFile::create(path).map_err(|e| unwritable(path, &e, OPTION))? })
    }

    /// Writes all of it, and puts it under its name.
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let Self { path, file } = self;
        let written = if path.extension().is_some_and(|e| e == "gz") {
            // Its header has neither time nor name: the same timeline gives the same bytes.
            let mut out = BufWriter::new(GzEncoder::new(file, Compression::default()));
            write(&mut out).and_then(|()| out.into_inner()?.finish())
        } else {
            let mut out = BufWriter::new(file);
            write(&mut out).and_then(|()| Ok(out.into_inner()?))
        };
        written.and_then(NewFile::keep).map_err(|e| unwritable(path, &e, OPTION))
    }
}

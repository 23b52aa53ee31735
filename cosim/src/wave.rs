//! Waveforms: which file, which format, which cycles.
//!
//! Verilator writes them itself, from a library that was built with [`crate::verilator::BuildSpec::trace`]. In the file,
//! cycle `c` begins at time `2 c`: there the clock is low and the outputs have settled; at `2 c + 1` the clock has risen.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use thiserror::Error;
use windlass_gen::table::counted;

/// Format of a waveform file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaveFormat {
    /// Value change dump: text, read by everything, large.
    Vcd,
    /// GTKWave's compressed format; needs the headers of zlib to build.
    Fst,
}

impl WaveFormat {
    /// The format that the file's extension means.
    pub fn of(path: &Path) -> Result<Self, WaveError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("vcd") => Ok(Self::Vcd),
            Some("fst") => Ok(Self::Fst),
            _ => Err(WaveError::Extension { path: path.to_path_buf() }),
        }
    }
}

/// A waveform to be written: the file, and the cycles `from..to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    path: PathBuf,
    format: WaveFormat,
    from: u64,
    to: u64,
    /// Of all clones: the run owns one, and who asked for it wants to know.
    failure: Arc<OnceLock<Unwritten>>,
}

impl Wave {
    /// All cycles into `path`, whose extension (`.vcd`, `.fst`) says the format.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, WaveError> {
        let path = path.into();
        Ok(Self { format: WaveFormat::of(&path)?, path, from: 0, to: u64::MAX, failure: Arc::default() })
    }

    /// Only the cycles from `from` to before `to`.
    pub fn window(mut self, from: u64, to: u64) -> Result<Self, WaveError> {
        if from >= to {
            return Err(WaveError::EmptyWindow { from, to });
        }
        (self.from, self.to) = (from, to);
        Ok(self)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's format.
    pub fn format(&self) -> WaveFormat {
        self.format
    }

    /// First cycle that is written.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// First cycle that is not written any more.
    pub fn to(&self) -> u64 {
        self.to
    }

    /// Why the file was not written, after a run with this or a clone: the run goes on without its waveform. The first reason stays.
    pub fn failure(&self) -> Option<&Unwritten> {
        self.failure.get()
    }

    pub(crate) fn fail(&self, failure: Unwritten) {
        let _ = self.failure.set(failure);
    }
}

/// A waveform that is not there after the run. A file that was there before is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unwritten {
    /// It could not be written, or not be put into place.
    #[error("the waveform file `{}` cannot be written: {reason}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The run ended before its first cycle.
    #[error(
        "the waveform file `{}` is not written, because it begins with cycle {from} and the run had only {}; choose a smaller --from",
        path.display(),
        counted(*cycles, "cycle")
    )]
    Nothing {
        /// The file.
        path: PathBuf,
        /// First cycle that was wanted.
        from: u64,
        /// Cycles that there were.
        cycles: u64,
    },
}

/// Whether all of an FST file is there: its writer does not look whether a write fails.
///
/// The file is blocks: a byte that says what it is (255 while it is being written), eight with the length from themselves on, the contents.
/// The hierarchy of names comes last.
pub(crate) fn is_whole_fst(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let end = file.seek(SeekFrom::End(0))?;
    let (mut at, mut names) = (0_u64, false);
    while at < end {
        let (mut kind, mut length) = ([0], [0; 8]);
        file.seek(SeekFrom::Start(at))?;
        if end - at < 9 {
            return Ok(false);
        }
        file.read_exact(&mut kind)?;
        file.read_exact(&mut length)?;
        let length = u64::from_be_bytes(length);
        if kind == [255] || length < 8 {
            return Ok(false);
        }
        names |= matches!(kind, [4 | 6 | 7]);
        at = at.saturating_add(length).saturating_add(1);
    }
    Ok(names && at == end)
}

/// A waveform that cannot be written as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WaveError {
    /// The extension does not say which format.
    #[error("the waveform file `{}` must end in `.vcd` or `.fst`, which chooses its format", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// The window holds no cycle.
    #[error("--from {from} --to {to}: the waveform would have no cycle; choose a --to above --from")]
    EmptyWindow {
        /// First cycle.
        from: u64,
        /// Cycle after the last.
        to: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_chooses_the_format() {
        assert_eq!(Wave::new("a/b.vcd").unwrap().format(), WaveFormat::Vcd);
        assert_eq!(Wave::new("b.fst").unwrap().format(), WaveFormat::Fst);
        assert!(matches!(Wave::new("b.txt"), Err(WaveError::Extension { .. })));
    }

    #[test]
    fn an_empty_window_is_refused() {
        assert!(matches!(Wave::new("b.vcd").unwrap().window(7, 7), Err(WaveError::EmptyWindow { .. })));
    }

    #[test]
    fn an_fst_that_is_cut_off_is_noticed() {
        let block = |kind: u8, contents: &[u8]| {
            let length = contents.len() as u64 + 8;
            [&[kind][..], &length.to_be_bytes(), contents].concat()
        };
        let whole = |bytes: Vec<u8>| is_whole_fst(&mut io::Cursor::new(bytes)).unwrap();
        let (header, values, names) = (block(0, &[1; 321]), block(8, &[2; 40]), block(6, b"names"));
        let file = [&header[..], &values, &names].concat();
        for end in 0..file.len() {
            assert!(!whole(file[..end].to_vec()), "{end} bytes");
        }
        assert!(whole(file));
        assert!(
            !whole([&header[..], &block(255, &[2; 40]), &names].concat()),
            "values that are not complete"
        );
        assert!(!whole([&header[..], &[0; 49], &names].concat()), "a hole");
    }
}

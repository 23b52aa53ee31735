//! Waveforms: which file, which format, which cycles.
//!
//! Verilator writes them itself, from a library that was built with [`crate::verilator::BuildSpec::trace`]. In the file,
//! cycle `c` begins at time `2 c`: there the clock is low and the outputs have settled; at `2 c + 1` the clock has risen.

use std::path::{Path, PathBuf};
use thiserror::Error;

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
}

impl Wave {
    /// All cycles into `path`, whose extension (`.vcd`, `.fst`) says the format.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, WaveError> {
        let path = path.into();
        Ok(Self { format: WaveFormat::of(&path)?, path, from: 0, to: u64::MAX })
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
}

/// A waveform that cannot be written as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WaveError {
    /// The extension does not say which format.
    #[error("the waveform file `{}` should end in `.vcd` or `.fst`: that chooses its format", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// The window holds no cycle.
    #[error("the waveform's window of cycles {from}..{to} is empty: its start must be below its end")]
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
}

//! Kernel streams from what compilers and profilers write.
//!
//! Each module reads one producer's files and gives a [`windlass_runtime::ktrace::Trace`], with its doubts in `est` and `notes`.

mod file;
mod launch;
pub mod pytorch;
pub mod xla;

pub use file::FileError;

use std::fmt;

/// As many errors as one import reports: reading stops after them.
pub const MAX_ERRORS: usize = 20;

/// A line for each error, and one more where there may be others.
fn fmt_errors(f: &mut fmt::Formatter<'_>, errors: &[impl fmt::Display]) -> fmt::Result {
    for (i, error) in errors.iter().enumerate() {
        write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
    }
    if errors.len() >= MAX_ERRORS {
        write!(f, "\nreading stopped after {MAX_ERRORS} errors; there may be more")?;
    }
    Ok(())
}

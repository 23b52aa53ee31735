//! Kernel streams from what compilers, exporters and profilers write.
//!
//! Each module reads one producer's files and gives a [`windlass_runtime::ktrace::Trace`], with its doubts in `est` and `notes`.

pub mod accelsim;
mod file;
mod launch;
mod located;
pub mod onnx;
pub mod pytorch;
pub mod xla;

pub use file::FileError;
pub use located::{Located, LocatedErrors};

use std::collections::BTreeMap;
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

/// How often what.
type Counts = BTreeMap<String, u64>;

fn count(counts: &mut Counts, name: &str) {
    *counts.entry(name.to_owned()).or_default() += 1;
}

/// The most frequent first.
fn sorted(counts: Counts) -> Vec<(String, u64)> {
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sorted
}

/// A warning about what is counted.
fn fmt_counts(f: &mut fmt::Formatter<'_>, text: &str, counts: &[(String, u64)]) -> fmt::Result {
    write!(f, "{text}: ")?;
    for (i, (name, count)) in counts.iter().enumerate() {
        write!(f, "{}{name} ({count})", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

//! What can be wrong with a trace: the file, the line, the field, the problem and its remedy.

use super::read::MAX_ERRORS;
use super::{ADDRESS_LIMIT, MAX_LINE_BYTES, VERSION};
use crate::words::counted;
use std::{fmt, io};
use thiserror::Error;

/// One thing wrong in a trace, and where.
///
/// Displayed as `FILE:LINE: field `FIELD`: PROBLEM; REMEDY`.
#[derive(Debug, Error)]
pub struct KtraceError {
    /// The file, or the name that the reader or writer was given.
    pub file: String,
    /// Line from 1; 0 for the file as a whole.
    pub line: u64,
    /// The field, such as `grid`, `gpu.sms` or `r[2]`, where one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

impl fmt::Display for KtraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(field) = &self.field {
            write!(f, ": field `{field}`")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// What is wrong, with the values that are.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refused.
    #[error("{0}; check that the path exists and can be read or written")]
    Io(io::Error),
    /// The compressed stream ends in the middle of a frame.
    #[error("the zstd stream is truncated; copy or record the file again")]
    TruncatedZstd,
    /// The compressed stream does not decode.
    #[error("the zstd stream is damaged ({0}); copy or record the file again")]
    CorruptZstd(String),
    /// Bytes that are no text.
    #[error("byte {column} of the line is not UTF-8; a trace is UTF-8 text, plain or compressed with zstd")]
    NotUtf8 {
        /// Position in the line, from 1.
        column: usize,
    },
    /// A line past the limit, which bounds the reader's memory.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes; write one kernel per line, with fewer segments")]
    LineTooLong,
    /// A file of another kind.
    #[error(
        "this file is {looks}; a ktrace is text, plain or compressed with zstd, with one JSON object per line, the first with \
         `\"e\":\"trace\"`: docs/ktrace.md says how to make one"
    )]
    NoKtrace {
        /// What it looks like.
        looks: &'static str,
    },
    /// An empty line with more lines after it.
    #[error("the line is blank; remove it (only the end of the file may have blank lines)")]
    BlankLine,
    /// A line that does not parse.
    #[error("the line is not a JSON object ({detail}); write one complete object per line")]
    NotJson {
        /// What the parser says, with the column.
        detail: String,
    },
    /// JSON, but something else than an object.
    #[error("the line is not a JSON object but {found}; write one object per line, with its kind in `e`")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// A required field that is not there, or null.
    #[error("it is missing; add {expected}")]
    Missing {
        /// What it should hold.
        expected: &'static str,
    },
    /// A field of another type.
    #[error("it is {found}; write {expected}")]
    WrongType {
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: String,
    },
    /// A number past what the field can hold.
    #[error("{value} is outside {min}..={max}; write a number in that range")]
    OutOfRange {
        /// What it holds.
        value: u64,
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A grid or block dimension of zero.
    #[error("dimension {axis} is 0; write 1 for a dimension that is not used")]
    ZeroDimension {
        /// `x`, `y` or `z`.
        axis: char,
    },
    /// A grid or block dimension past 32 bits.
    #[error("dimension {axis} is {value}, but can be at most {}; split the kernel", u32::MAX)]
    DimensionTooLarge {
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked.
        value: u64,
    },
    /// A grid or block whose dimensions together are past 64 bits.
    #[error("{} x {} x {} {what} are 2^64 or more; split the kernel", dims[0], dims[1], dims[2])]
    TooMany {
        /// The dimensions.
        dims: [u32; 3],
        /// `CTAs` or `threads`.
        what: &'static str,
    },
    /// An allocation over bytes of one that this run began and that still lives.
    #[error(
        "the {} at {addr} that line {line} allocates {} not freed yet; add their `free` before this `alloc`, or leave one of the two out",
        counted(*bytes, "byte"),
        if *bytes == 1 { "is" } else { "are" }
    )]
    StillAllocated {
        /// The address of the one that lives.
        addr: u64,
        /// Its bytes.
        bytes: u64,
        /// The line that it began in.
        line: u64,
    },
    /// A `free` of another size than what was allocated.
    #[error(
        "{freed}, but line {line} allocates {} at {addr}; a `free` ends the whole allocation: leave out `n`, or give that",
        counted(*bytes, "byte")
    )]
    FreedOtherwise {
        /// What the `free` says.
        freed: u64,
        /// The address.
        addr: u64,
        /// Bytes of the allocation.
        bytes: u64,
        /// The line that it began in.
        line: u64,
    },
    /// A segment that leaves the address space.
    #[error(
        "{} at {addr} {} past 2^53 ({ADDRESS_LIMIT}); \
         addresses are below 2^53, subtract a common base",
        counted(*bytes, "byte"),
        if *bytes == 1 { "reaches" } else { "reach" }
    )]
    PastAddressLimit {
        /// First address.
        addr: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Kernels of a run are numbered 0, 1, 2 and so on.
    #[error("{found}, but {expected} is next; number the kernels of each run from 0 without gaps")]
    IndexNotNext {
        /// The number due.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A type that is none of the three.
    #[error("\"{found}\" is not a kernel type; write \"TENSOR\", \"SIMT\" or \"COPY\"")]
    UnknownKernelType {
        /// What it says, or its beginning.
        found: String,
    },
    /// A kernel before the header.
    #[error("a kernel comes before the `trace` line; put the `trace` line first")]
    KernelBeforeTrace,
    /// A first line that is no header, or no line at all.
    #[error("{found} comes where the `trace` line must be; put the `trace` line first")]
    NoTraceLine {
        /// What is there instead.
        found: String,
    },
    /// A second header.
    #[error(
        "this is a second `trace` line; keep one trace per file, and begin another execution with a `run` line"
    )]
    SecondTrace,
    /// A version of the format that this reader does not know.
    #[error("version {found} is not known; write version {VERSION}, or use a newer windlass")]
    UnknownVersion {
        /// What it says.
        found: u64,
    },
}

/// Everything wrong in a trace, as far as reading could go on; never empty.
#[derive(Debug, Error)]
pub struct KtraceErrors(pub Vec<KtraceError>);

impl fmt::Display for KtraceErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{error}")?;
        }
        match &self.0[..] {
            all @ [first, ..] if all.len() == MAX_ERRORS => {
                write!(f, "\n{}: reading stopped after {MAX_ERRORS} errors; there may be more", first.file)
            }
            _ => Ok(()),
        }
    }
}

impl From<KtraceError> for KtraceErrors {
    fn from(error: KtraceError) -> Self {
        Self(vec![error])
    }
}

/// Something odd that does not make a trace unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KtraceWarning {
    /// `kernels` in the header is not what follows.
    KernelCount {
        /// The file.
        file: String,
        /// What the header says.
        stated: u64,
        /// Kernel lines in the file.
        found: u64,
    },
}

impl fmt::Display for KtraceWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KernelCount { file, stated, found } => write!(
                f,
                "{file}:1: field `kernels`: the header says {stated} kernels, but {found} follow; \
                 the trace may be cut short; if not, correct the number"
            ),
        }
    }
}

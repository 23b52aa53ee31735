//! What can be wrong with a trace of Accel-Sim's tracer, and what is doubtful about what was read from it.

use crate::located::{self, Located, LocatedErrors};
use crate::{FileError, fmt_counts};
use std::{fmt, io};
use thiserror::Error;

/// One thing wrong in a list or a kernel's file, and where.
pub type AccelsimError = Located<Problem>;

/// Everything wrong, as far as reading could go on; never empty.
pub type AccelsimErrors = LocatedErrors<Problem>;

pub(super) type Collected = located::Collected<Problem>;

/// What is wrong, with the values that are.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The directory cannot be read.
    #[error("{0}; give the folder of traces that the tracer wrote, or the kernelslist.g in it")]
    Io(io::Error),
    /// A file was not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Bytes that are no text.
    #[error("the line is not UTF-8; the file is damaged or no trace of a kernel: trace again")]
    NotText,
    /// A line that is too long.
    #[error("the line has more than {limit} bytes; the file is damaged or no trace of a kernel: trace again")]
    LongLine {
        /// Bytes that a line may have.
        limit: u64,
    },
    /// No list of kernels in the folder, or several.
    #[error(
        "{found}; post-traces-processing writes kernelslist.g beside the kernels' files: run it, or name the list"
    )]
    NoList {
        /// What is there instead.
        found: String,
    },
    /// A line that is not as the tracer writes it.
    #[error(
        "found `{found}` instead of {expected}; the file is damaged or from another version of the tracer"
    )]
    Line {
        /// How the line begins.
        found: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A header without a field that is needed.
    #[error("the header has no `-{field} = `; the file is damaged or no trace of a kernel: trace again")]
    NoField {
        /// The field's name.
        field: &'static str,
    },
    /// A warp that is shorter than it says.
    #[error("{missing} instructions of the warp are missing; the file is damaged: trace again")]
    MissingInstructions {
        /// How many.
        missing: u64,
    },
    /// What the tracer writes before its own post-processing.
    #[error(
        "the instructions are not grouped by CTA: this is the tracer's first output; run post-traces-processing on its folder and import \
         the kernelslist.g that it writes"
    )]
    NotGrouped,
    /// A kernel's file without a CTA.
    #[error("the file has no CTA (#BEGIN_TB); trace the kernel again, or take it out of the list")]
    NoCta,
    /// A file that ends in the middle.
    #[error("the file is cut short; copy it, or trace the kernel, again")]
    Cut,
    /// A segment that a trace cannot have.
    #[error("it touches {address:#x}, past 2^53; the file is damaged: trace again")]
    PastAddressLimit {
        /// The address.
        address: u64,
    },
}

/// Something that was read, but on an assumption.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The trace names no GPU.
    NoGpu {
        /// The compute capability of its code, such as 70, where all kernels have the same.
        capability: Option<u32>,
    },
    /// Kernels of which not all CTAs are in the file.
    MissingCtas {
        /// One of them.
        name: String,
        /// How many kernels.
        kernels: u64,
    },
    /// Kernels that touch more ranges than a kernel of the stream may have.
    Coarse {
        /// One of them.
        name: String,
        /// How many kernels.
        kernels: u64,
        /// Segments that a kernel may have.
        segments: usize,
    },
    /// Kernels with a number of registers that no thread has.
    Registers {
        /// One of them.
        name: String,
        /// How many kernels.
        kernels: u64,
    },
    /// Instructions whose access to memory is not known: they read and write.
    UnknownInstructions(Vec<(String, u64)>),
    /// Instructions on global memory with addresses that it does not have.
    NoAddresses(Vec<(String, u64)>),
    /// Instructions on textures and surfaces, whose addresses are not in the trace.
    Textures(Vec<(String, u64)>),
    /// Instructions on tensor cores whose size is not in the trace.
    UnsizedProducts(Vec<(String, u64)>),
    /// Lines of the list that this reader does not know.
    UnknownCommands(Vec<(String, u64)>),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpu { capability } => {
                let code =
                    capability.map(|c| format!(", only code for compute capability {}.{}", c / 10, c % 10));
                write!(f, "the trace names no GPU{}; name the GPU with --gpu NAME", code.unwrap_or_default())
            }
            Self::MissingCtas { name, kernels } => write!(
                f,
                "CTAs are missing in the {} of {}: memory that only they touch is missing, too, and so may be dependences",
                if *kernels == 1 { "file" } else { "files" },
                such(name, *kernels)
            ),
            Self::Coarse { name, kernels, segments } => write!(
                f,
                "more than {segments} {} of memory are touched by {}: ranges that lie close together are one segment, which may add \
                 dependences; --segments N allows more",
                if *segments == 1 { "range" } else { "ranges" },
                such(name, *kernels)
            ),
            Self::Registers { name, kernels } => {
                write!(f, "a number of registers that no thread has is left out of {}", such(name, *kernels))
            }
            Self::UnknownInstructions(counts) => fmt_counts(
                f,
                "instructions whose access to memory is not known here read and write it",
                counts,
            ),
            Self::NoAddresses(counts) => fmt_counts(
                f,
                "instructions on global memory have addresses below 16 MiB, where there is none, so dependences through them are missing; \
                 other versions of the tracer may record the right ones",
                counts,
            ),
            Self::Textures(counts) => fmt_counts(
                f,
                "instructions on textures and surfaces have no addresses in the trace, so dependences through them are missing",
                counts,
            ),
            Self::UnsizedProducts(counts) => fmt_counts(
                f,
                "instructions on tensor cores whose opcode does not tell their size have no FLOPs here",
                counts,
            ),
            Self::UnknownCommands(counts) => {
                fmt_counts(f, "lines of the list that are not known here are left out", counts)
            }
        }
    }
}

/// One kernel by its name, several by how many they are.
fn such(name: &str, kernels: u64) -> String {
    if kernels == 1 { format!("`{name}`") } else { format!("{kernels} kernels, the first of them `{name}`") }
}

//! What can be wrong with an execution trace or a profile: the file, the node, the field, the problem and its remedy.

use crate::{FileError, fmt_counts, fmt_errors};
use std::fmt;
use thiserror::Error;

/// One thing wrong in a file, and where.
///
/// Displayed as `FILE: node ID: field `FIELD`: PROBLEM; REMEDY`; of a profile, the number is that of the event, from 0.
#[derive(Debug, Error)]
pub struct PytorchError {
    /// The file.
    pub file: String,
    /// The node's `id` in an execution trace, the event's place in a profile; nothing for the file as a whole.
    pub node: Option<u64>,
    /// The field, such as `inputs.values[2]`, where one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

impl fmt::Display for PytorchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(node) = self.node {
            write!(f, ": node {node}")?;
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
    /// A file was not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// JSON that ends early.
    #[error("the JSON ends early ({0}); {1}")]
    Truncated(String, &'static str),
    /// Text that is no JSON.
    #[error("it is not JSON ({0}); {1}")]
    NotJson(String, &'static str),
    /// A profile where the execution trace should be.
    #[error(
        "this is a profile (Kineto, Chrome), not an execution trace: it does not say which memory an operator uses; record with \
         torch.profiler.ExecutionTraceObserver, and give this file with --kineto"
    )]
    ProfileNotTrace,
    /// JSON of another kind.
    #[error(
        "this is not an execution trace: `nodes` is missing; record with torch.profiler.ExecutionTraceObserver"
    )]
    NotATrace,
    /// JSON of another kind, or an execution trace, where the profile should be.
    #[error(
        "this is not a profile: `traceEvents` is missing; record with torch.profiler.profile and its export_chrome_trace"
    )]
    NotAProfile,
    /// A version of the schema that this reader does not know.
    #[error("schema `{found}` is not known; record with PyTorch 2.5 or later, which write 1.1.x")]
    UnknownSchema {
        /// What it says.
        found: String,
    },
    /// A field that is not there.
    #[error("it is missing; {expected} belongs here: record again, or use the file as PyTorch wrote it")]
    Missing {
        /// What it should hold.
        expected: &'static str,
    },
    /// A field of another type, or out of range.
    #[error("it is {found}; {expected} belongs here: record again, or use the file as PyTorch wrote it")]
    WrongType {
        /// What it should hold.
        expected: &'static str,
        /// What it holds, or its beginning.
        found: String,
    },
    /// Two nodes with one number.
    #[error("an earlier node has this id; do not join traces, but import one process's trace at a time")]
    SecondNode,
    /// A node that is called by a later one.
    #[error(
        "{parent} is not an earlier node; ids count up as operators begin: use the file as PyTorch wrote it"
    )]
    ParentNotEarlier {
        /// What it says.
        parent: u64,
    },
    /// A tensor whose fields do not go together.
    #[error("{numel} elements, but its shape has {product}; record again")]
    NumelMismatch {
        /// Elements, as the tensor says.
        numel: u64,
        /// The product of its shape.
        product: u64,
    },
    /// A source of compiled kernels without any.
    #[error(
        "no kernel of torch.compile is in it; give TorchInductor's cache (TORCHINDUCTOR_CACHE_DIR) of the recording, or an output_code.py"
    )]
    NoTriton,
    /// More memory than addresses.
    #[error("the storages need addresses past 2^53; record fewer steps")]
    AddressSpace,
    /// A kernel with a grid or block that no GPU has.
    #[error(
        "{axis} is {found}; a kernel has three dimensions of 1 to 2^32 - 1 each: record the profile again"
    )]
    BadDimensions {
        /// `grid` or `block`.
        axis: &'static str,
        /// What it holds.
        found: String,
    },
    /// A profile of something else than the trace.
    #[error(
        "most operators differ from those of the execution trace (record function {rf_id} is `{profile}` here and `{trace}` there); \
         record both in one run, with the observer as execution_trace_observer of torch.profiler.profile"
    )]
    AnotherRun {
        /// A record function that both have.
        rf_id: u64,
        /// Its name in the profile.
        profile: String,
        /// Its name in the trace.
        trace: String,
    },
    /// Kernels of a GPU, for a trace that has none.
    #[error(
        "it has {kernels} GPU kernels, but the execution trace has tensors of the CPU only; record both in one run, on the GPU"
    )]
    NoGpuInTrace {
        /// GPU events in the profile.
        kernels: usize,
    },
}

/// Everything wrong, as far as reading could go on; never empty.
#[derive(Debug, Error)]
pub struct PytorchErrors(pub Vec<PytorchError>);

impl fmt::Display for PytorchErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_errors(f, &self.0)
    }
}

impl From<PytorchError> for PytorchErrors {
    fn from(error: PytorchError) -> Self {
        Self(vec![error])
    }
}

/// Something odd that does not make an import useless; each is about the import as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Operators that the importer has no rule for.
    UnknownOperators(Vec<(String, u64)>),
    /// Kernels of torch.compile whose source was not given.
    NoSource(Vec<(String, u64)>),
    /// GPU kernels that no operator of the trace explains.
    UnexplainedKernels(Vec<(String, u64)>),
    /// A profile without any GPU kernel.
    NoGpuKernels,
    /// Operators of a trace with GPU tensors that run elsewhere, and kernels of a profile that do.
    ElsewhereOperators {
        /// The GPU whose operators were taken.
        device: String,
        /// Those of others, by operator or kernel.
        operators: Vec<(String, u64)>,
    },
    /// Tensors without a storage: sparse ones, wrappers, symbolic shapes.
    NoStorage(Vec<(String, u64)>),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, counts): (String, &[(String, u64)]) = match self {
            Self::UnknownOperators(counts) => {
                ("operators without a rule, taken as one elementwise kernel each".to_owned(), counts)
            }
            Self::NoSource(counts) => (
                "kernels of torch.compile, taken to write all that they read; give their source with --triton".to_owned(),
                counts,
            ),
            Self::UnexplainedKernels(counts) => (
                "GPU kernels that no operator explains, taken to read and write all memory, so that nothing overlaps them".to_owned(),
                counts,
            ),
            Self::ElsewhereOperators { device, operators } => {
                (format!("operators or kernels that do not run on {device}, left out"), operators)
            }
            Self::NoStorage(counts) => (
                "tensors without a storage (sparse, wrapped or symbolic): what depends on them is not in the kernel stream".to_owned(),
                counts,
            ),
            Self::NoGpuKernels => {
                return write!(
                    f,
                    "the profile has no GPU kernels: grids, blocks and kernels are estimated; record with ProfilerActivity.CUDA on a GPU"
                );
            }
        };
        fmt_counts(f, &text, counts)
    }
}

//! What can be wrong with an ONNX model: the file, the node, the field, the problem and its remedy.

use super::proto::NodeProto;
use crate::{FileError, fmt_counts, fmt_errors};
use std::fmt;
use thiserror::Error;

/// One thing wrong in a model, and where.
///
/// Displayed as `FILE: node N `NAME` (OPERATOR): field `FIELD`: PROBLEM; REMEDY`, nodes counted from 0.
#[derive(Debug, Error)]
pub struct OnnxError {
    /// The file.
    pub file: String,
    /// The node; nothing for the model as a whole.
    pub node: Option<NodeName>,
    /// The field, such as `input[1]` or an attribute's name, where one is to blame.
    pub field: Option<String>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// Which node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName {
    /// Its place in the graph, from 0; of one in a branch, that of the node around it.
    pub index: usize,
    /// Its name, if it has one.
    pub name: String,
    /// Its operator.
    pub op_type: String,
}

impl NodeName {
    pub(super) fn of(index: usize, node: &NodeProto) -> Self {
        Self { index, name: node.name.clone(), op_type: operator(node) }
    }
}

/// With its domain, where that is not ONNX's.
pub(super) fn operator(node: &NodeProto) -> String {
    match node.domain.as_str() {
        "" | "ai.onnx" => node.op_type.clone(),
        domain => format!("{domain}::{}", node.op_type),
    }
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(NodeName { index, name, op_type }) = &self.node {
            write!(f, ": node {index}")?;
            if !name.is_empty() {
                write!(f, " `{name}`")?;
            }
            write!(f, " ({op_type})")?;
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
    /// No protobuf, or none of this kind.
    #[error("it is not an ONNX model, or it is damaged or cut short ({0}); export or copy it again")]
    NotOnnx(String),
    /// A protobuf without a graph, or with an empty one.
    #[error("it has no graph, or one without nodes; export a model, not its weights or its inputs alone")]
    NoGraph,
    /// A dimension of an input without a size.
    #[error("dimension {axis} has no size; give it one with --dim '{name}=N'")]
    NoSize {
        /// Which, from 0.
        axis: usize,
        /// What it is called.
        name: String,
    },
    /// A size for a dimension that is not there.
    #[error("no dimension has this name; {}", named(known))]
    UnknownDim {
        /// Those that are.
        known: Vec<String>,
    },
    /// Two sizes for one dimension.
    #[error("it is given twice, as {} and as {}; give each dimension one size", sizes[0], sizes[1])]
    DimTwice {
        /// In the order given.
        sizes: [u64; 2],
    },
    /// An input that is not a tensor, or of unknown rank.
    #[error(
        "it is not a tensor with a known number of dimensions; export with fixed types, or set them with onnx.tools.update_model_dims"
    )]
    NotATensor,
    /// An element that a GPU has not.
    #[error(
        "elements of type {0} do not exist on a GPU; cut off what works on text, with onnx.utils.extract_model"
    )]
    ElementType(i32),
    /// A value that nothing before gives.
    #[error("no earlier node produces `{0}`; nodes must be in topological order: check with onnx.checker")]
    NotDefined(String),
    /// A name that is given twice.
    #[error("an earlier node, input or initializer is also called `{0}`; check with onnx.checker")]
    Twice(String),
    /// An input or attribute that is not there.
    #[error("it is missing; {0} belongs here: check with onnx.checker, and export again")]
    Missing(&'static str),
    /// What does not go together.
    #[error("{0}; check with onnx.checker, and the sizes given with --dim")]
    Mismatch(String),
    /// More bytes than addresses, or more dimensions than anything has.
    #[error(
        "a tensor of shape {shape} has more than 2^53 bytes or 64 dimensions; choose smaller sizes with --dim"
    )]
    TooLarge {
        /// Its shape, or the beginning of it.
        shape: String,
    },
    /// A result whose shape does not follow.
    #[error(
        "the shape of `{0}` is not in the model and does not follow from its inputs; add it with onnx.shape_inference.infer_shapes or \
         onnxruntime's symbolic_shape_infer.py, and give sizes that only a run knows with --dim"
    )]
    UnknownShape(String),
    /// Loop, Scan, and an If whose condition is not known before the run.
    #[error(
        "which kernels run is decided only while the model runs; export with fixed shapes, fold constants (onnxsim, onnxruntime's optimized_model_filepath) \
         or unroll it, and import again"
    )]
    ControlFlow,
    /// A function that the model defines.
    #[error(
        "it is a function of the model; replace it with its body with onnx.inliner.inline_local_functions"
    )]
    Function,
    /// More kernels than a stream may have.
    #[error("the stream has more than {limit} kernels; choose a shorter sequence with --dim")]
    TooManyKernels {
        /// As many as it may have.
        limit: usize,
    },
    /// More memory than addresses.
    #[error("the tensors need addresses past 2^53; choose smaller sizes with --dim")]
    AddressSpace,
}

fn named(known: &[String]) -> String {
    if known.is_empty() {
        return "the model's sizes are all fixed, so leave --dim out".to_owned();
    }
    format!("choose one of {}", known.join(", "))
}

/// Everything wrong, as far as reading could go on; never empty.
#[derive(Debug, Error)]
pub struct OnnxErrors(pub Vec<OnnxError>);

impl fmt::Display for OnnxErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_errors(f, &self.0)
    }
}

/// Something odd that does not make an import useless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Operators that the importer has no rule for.
    UnknownOperators(Vec<(String, u64)>),
    /// Operators whose results the model says are of other shapes than follow from their inputs.
    OtherShapes(Vec<(String, u64)>),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, counts) = match self {
            Self::UnknownOperators(counts) => {
                ("operators without a rule, taken as one elementwise kernel each", counts)
            }
            Self::OtherShapes(counts) => (
                "results whose shapes in the model (value_info) differ from those that follow from their inputs; the latter were taken",
                counts,
            ),
        };
        fmt_counts(f, text, counts)
    }
}

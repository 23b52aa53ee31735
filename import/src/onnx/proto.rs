//! The part of `onnx.proto` that is read, declared by hand; what is not here is skipped. Tensors' bytes stay where the file was read to.

use prost::Message;
use prost::bytes::Bytes;

/// A model: a file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// Version of the format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// The program that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// Its version.
    #[prost(string, tag = "3")]
    pub producer_version: String,
    /// What it computes.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Versions of the operators' definitions, by domain.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Operators that the model defines itself.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// A version of one domain's operators.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Empty for ONNX's own.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Counts up.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// The name of a function; its body is not read.
#[derive(Clone, PartialEq, Message)]
pub struct FunctionProto {
    /// The operator that it defines.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its domain.
    #[prost(string, tag = "10")]
    pub domain: String,
}

/// Nodes in topological order.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// What is computed.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// The graph's own name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Weights and other constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// What a run is given; in old models the initializers, too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// What a run gives.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Types of what is between.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
    /// Constants with most elements 0.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
}

/// One operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Names of values; empty where an optional one is left out.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of values; empty where one is not wanted.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// For people; may be empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Its attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// The operator's domain.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// An attribute: one of its values, by its type.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// Which.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// A whole number.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// Text.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// A graph: a branch.
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<GraphProto>>,
    /// Numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Whole numbers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
}

/// A tensor with its values, or without them where they are in another file.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Its shape.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// What its elements are.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Single precision.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// What has up to 32 bits.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// 64 bits with sign.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Which value.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements of any type, little-endian.
    #[prost(bytes = "bytes", tag = "9")]
    pub raw_data: Bytes,
    /// Double precision.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
}

/// A sparse tensor.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensorProto {
    /// Its name, and the elements that are not 0.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
    /// Its shape.
    #[prost(int64, repeated, tag = "3")]
    pub dims: Vec<i64>,
}

/// The type of a value.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// Which value.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors are read.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// A tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// What its elements are.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Nothing where not even the number of dimensions is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// From the outermost.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// A dimension: a size, a name, or neither.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// What is known.
    #[prost(oneof = "Dimension", tags = "1, 2")]
    pub value: Option<Dimension>,
}

/// What is known of a dimension.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Dimension {
    /// Its size.
    #[prost(int64, tag = "1")]
    Size(i64),
    /// A name that stands for it.
    #[prost(string, tag = "2")]
    Name(String),
}

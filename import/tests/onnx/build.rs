//! Models that the tests encode.

use prost::Message;
use std::path::{Path, PathBuf};
use windlass_import::onnx::proto::*;
use windlass_import::onnx::{Imported, OnnxErrors, Options, import_bytes};
use windlass_runtime::ktrace::{Kernel, Segment};

pub const FLOAT: i32 = 1;
pub const UINT8: i32 = 2;
pub const INT8: i32 = 3;
pub const INT32: i32 = 6;
pub const INT64: i32 = 7;
pub const TEXT: i32 = 8;
pub const BOOL: i32 = 9;
pub const HALF: i32 = 10;

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub fn squeezenet() -> ModelProto {
    let bytes = std::fs::read(data("squeezenet1_1.onnx")).expect("the data");
    ModelProto::decode(&bytes[..]).expect("a model")
}

pub fn with(options: &Options, model: &ModelProto) -> Result<Imported, OnnxErrors> {
    import_bytes("m.onnx", model.encode_to_vec(), options)
}

pub fn imported(model: &ModelProto) -> Imported {
    with(&Options::default(), model).unwrap_or_else(|e| panic!("{e}"))
}

pub fn kernels(import: &Imported) -> Vec<&Kernel> {
    import.trace.kernels().collect()
}

pub fn sizes(segments: &[Segment]) -> Vec<u64> {
    segments.iter().map(|segment| segment.bytes).collect()
}

/// A value with its type; dimensions are sizes or names.
pub fn value(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfoProto {
    let dim = |dim: &&str| DimensionProto {
        value: match dim.parse() {
            Ok(size) => Some(Dimension::Size(size)),
            Err(_) if *dim == "?" => None,
            Err(_) => Some(Dimension::Name((*dim).to_owned())),
        },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

pub fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: Some(i), ..Default::default() }
}

pub fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: ints.to_vec(), ..Default::default() }
}

pub fn text(name: &str, text: &'static str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), s: Some(text.as_bytes().into()), ..Default::default() }
}

/// `OUT OUT = Operator IN IN`, `_` where a value is left out.
pub fn node(line: &str, attribute: &[AttributeProto]) -> NodeProto {
    let (outputs, rest) = line.split_once('=').expect("outputs");
    let names = |names: &[&str]| names.iter().map(|n| n.replace('_', "")).collect();
    let [operator, ref inputs @ ..] = words(rest)[..] else { panic!("{line}: no operator") };
    let (domain, op_type) = operator.rsplit_once("::").unwrap_or(("", operator));
    NodeProto {
        input: names(inputs),
        output: names(&words(outputs)),
        op_type: op_type.to_owned(),
        domain: domain.to_owned(),
        attribute: attribute.to_vec(),
        ..Default::default()
    }
}

/// A model with inputs `NAME: DIM DIM`, weights of the same form, nodes, and the last node's first result.
pub fn model(inputs: &[(&str, i32)], weights: &[(&str, i32)], nodes: Vec<NodeProto>) -> ModelProto {
    let named = |text: &str| {
        let (name, dims) = text.split_once(':').expect("a name");
        (name.to_owned(), words(dims).into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let input = |(text, element): &(&str, i32)| {
        let (name, dims) = named(text);
        value(&name, *element, &dims.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let weight = |(text, data_type): &(&str, i32)| {
        let (name, dims) = named(text);
        let dims = dims.iter().map(|dim| dim.parse().expect("a size")).collect();
        TensorProto { name, dims, data_type: *data_type, ..Default::default() }
    };
    let last = nodes.last().expect("a node").output[0].clone();
    let graph = GraphProto {
        input: inputs.iter().map(input).collect(),
        initializer: weights.iter().map(weight).collect(),
        output: vec![ValueInfoProto { name: last, r#type: None }],
        node: nodes,
        ..Default::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 20 }];
    ModelProto { graph: Some(graph), opset_import, ..Default::default() }
}

pub fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().expect("a graph")
}

/// A small constant of whole numbers.
pub fn numbers(name: &str, numbers: &[i64]) -> TensorProto {
    let dims = vec![numbers.len() as i64];
    let name = name.to_owned();
    TensorProto { name, dims, data_type: INT64, int64_data: numbers.to_vec(), ..Default::default() }
}

/// A layer of a transformer, as PyTorch exports it: the shape of the heads is computed from that of the input.
pub fn transformer() -> ModelProto {
    let nodes = vec![
        node("e = Gather table ids", &[]),
        node("n _ _ = LayerNormalization e scale bias", &[int("axis", -1)]),
        node("q = MatMul n wq", &[]),
        node("k = MatMul n wq", &[]),
        node("v = MatMul n wq", &[]),
        node("s = Shape ids", &[]),
        node("zero = Constant", &[int("value_int", 0)]),
        node("one = Constant", &[int("value_int", 1)]),
        node("B = Gather s zero", &[]),
        node("S = Gather s one", &[]),
        node("b1 = Unsqueeze B axis", &[]),
        node("s1 = Unsqueeze S axis", &[]),
        node("h = Constant", &[ints("value_ints", &[4, -1])]),
        node("heads = Concat b1 s1 h", &[int("axis", 0)]),
        node("qh = Reshape q heads", &[]),
        node("kh = Reshape k heads", &[]),
        node("vh = Reshape v heads", &[]),
        node("qt = Transpose qh", &[ints("perm", &[0, 2, 1, 3])]),
        node("kt = Transpose kh", &[ints("perm", &[0, 2, 3, 1])]),
        node("vt = Transpose vh", &[ints("perm", &[0, 2, 1, 3])]),
        node("scores = MatMul qt kt", &[]),
        node("p = Softmax scores", &[int("axis", -1)]),
        node("o = MatMul p vt", &[]),
        node("ot = Transpose o", &[ints("perm", &[0, 2, 1, 3])]),
        node("flat = Constant", &[ints("value_ints", &[0, 0, -1])]),
        node("or = Reshape ot flat", &[]),
        node("y = Add or e", &[]),
    ];
    let weights =
        [("table: 1000 64", FLOAT), ("scale: 64", FLOAT), ("bias: 64", FLOAT), ("wq: 64 64", FLOAT)];
    let mut model = model(&[("ids: batch length", INT64)], &weights, nodes);
    graph(&mut model).initializer.push(numbers("axis", &[0]));
    model
}

pub fn dims(dims: &[(&str, u64)]) -> Options {
    let dims = dims.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    Options { dims, ..Options::default() }
}

//! Imports of ONNX models: a real one against its architecture, and small ones that the tests encode.

mod common;

use common::{architecture, check_memory, overlap};
use prost::Message;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use windlass_import::FileError;
use windlass_import::onnx::proto::*;
use windlass_import::onnx::{Imported, OnnxErrors, Options, Problem, Warning, import, import_bytes};
use windlass_runtime::ktrace::{Compression, Event, Kernel, KernelType, Reader, Segment, Trace, Writer};

const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const INT8: i32 = 3;
const INT32: i32 = 6;
const INT64: i32 = 7;
const TEXT: i32 = 8;
const BOOL: i32 = 9;
const HALF: i32 = 10;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn squeezenet() -> ModelProto {
    let bytes = std::fs::read(data("squeezenet1_1.onnx")).expect("the data");
    ModelProto::decode(&bytes[..]).expect("a model")
}

fn with(options: &Options, model: &ModelProto) -> Result<Imported, OnnxErrors> {
    import_bytes("m.onnx", model.encode_to_vec(), options)
}

fn imported(model: &ModelProto) -> Imported {
    with(&Options::default(), model).unwrap_or_else(|e| panic!("{e}"))
}

fn kernels(import: &Imported) -> Vec<&Kernel> {
    import.trace.kernels().collect()
}

fn sizes(segments: &[Segment]) -> Vec<u64> {
    segments.iter().map(|segment| segment.bytes).collect()
}

/// A value with its type; dimensions are sizes or names.
fn value(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfoProto {
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

fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i: Some(i), ..Default::default() }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: ints.to_vec(), ..Default::default() }
}

fn text(name: &str, text: &'static str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), s: Some(text.as_bytes().into()), ..Default::default() }
}

/// `OUT OUT = Operator IN IN`, `_` where a value is left out.
fn node(line: &str, attribute: &[AttributeProto]) -> NodeProto {
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
fn model(inputs: &[(&str, i32)], weights: &[(&str, i32)], nodes: Vec<NodeProto>) -> ModelProto {
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

fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().expect("a graph")
}

/// A small constant of whole numbers.
fn numbers(name: &str, numbers: &[i64]) -> TensorProto {
    let dims = vec![numbers.len() as i64];
    let name = name.to_owned();
    TensorProto { name, dims, data_type: INT64, int64_data: numbers.to_vec(), ..Default::default() }
}

/// What is wrong with an import of SqueezeNet, if anything.
fn check(import: &Imported) -> Result<(), String> {
    let ensure = |right: bool, what: &str| if right { Ok(()) } else { Err(what.to_owned()) };
    let kernels = kernels(import);
    let convolutions: Vec<usize> = (0..kernels.len()).filter(|at| kernels[*at].mnk.is_some()).collect();
    ensure(convolutions.len() == 26, "as many convolutions as the network has")?;
    for (at, (input, output, taps, pixels)) in convolutions.iter().zip(architecture()) {
        let (kernel, add) = (kernels[*at], kernels[at + 1]);
        let (depth, bytes) = (input * taps * taps, 4 * pixels * output);
        let ensure = |right, what: &str| ensure(right, &format!("kernel {at}: {what}"));
        ensure(kernel.mnk == Some([pixels, output, depth, 1]), "its shape")?;
        ensure(kernel.flops == 2 * pixels * output * depth, "its FLOPs")?;
        ensure(kernel.kind == KernelType::Tensor, "its pipe")?;
        ensure(sizes(&kernel.writes) == [bytes], "what it writes")?;
        ensure(sizes(&kernel.reads)[1] == 4 * output * depth, "its weights")?;
        ensure(add.name == "conv_bias_add" && add.writes == kernel.writes, "the addition of its bias")?;
        ensure(sizes(&add.reads) == [4 * output, bytes], "its bias")?;
        ensure(add.grid == [(pixels * output).div_ceil(512) as u32, 1, 1], "the addition's grid")?;
    }
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    kernels.iter().for_each(|k| *ops.entry(&k.op).or_default() += 1);
    let expected = [("Concat", 8), ("Conv", 52), ("MaxPool", 3), ("ReduceMean", 1), ("Relu", 26)];
    ensure(ops == BTreeMap::from(expected), &format!("the operators, not {ops:?}"))?;
    for (at, kernel) in kernels.iter().enumerate().skip(1) {
        let wrote = kernels[..at].iter().rev().any(|before| overlap(&kernel.reads, &before.writes));
        ensure(wrote, &format!("kernel {at} reads what an earlier one wrote"))?;
    }
    // Both expansions read the squeeze's result, and each concatenation what both wrote.
    for (at, kernel) in kernels.iter().enumerate().filter(|(_, kernel)| kernel.op == "Concat") {
        let [squeeze, left, right] = [at - 7, at - 4, at - 1].map(|at| kernels[at]);
        for (side, convolution) in [(left, at - 6), (right, at - 3)] {
            let both = kernel.reads.contains(&side.writes[0])
                && kernels[convolution].reads.contains(&squeeze.writes[0]);
            ensure(side.op == "Relu" && both, &format!("kernel {at} reads both"))?;
        }
    }
    check_memory(&import.trace)
}

#[test]
fn squeezenet_is_what_its_architecture_says() {
    let import = import(&data("squeezenet1_1.onnx"), &Options::default()).expect("an import");
    assert_eq!(check(&import), Ok(()));
    // The model has all shapes, and they are those that follow.
    assert_eq!(import.warnings, []);
    assert_eq!(import.trace.header.kernels, 90);
    let flops: u64 = kernels(&import).iter().map(|kernel| kernel.flops).sum();
    assert_eq!(flops, 705_013_944, "as another program recorded it in PyTorch");
    let first = kernels(&import)[0];
    assert_eq!(
        (&first.name[..], first.grid, first.block[0]),
        ("conv_implicit_gemm_128x128", [97, 1, 1], 256)
    );
    let pool = import.trace.runs[0].events.iter();
    let pool = pool.filter_map(|event| if let Event::Alloc(new) = event { Some(new.addr) } else { None });
    let pool = pool.min().expect("an allocation");
    let mut constant: Vec<Segment> =
        kernels(&import).iter().flat_map(|k| k.reads.clone()).filter(|s| s.addr < pool).collect();
    constant.sort_unstable();
    constant.dedup();
    let weights = 1_235_496; // torchvision's count of parameters
    assert_eq!(constant.iter().map(|s| s.bytes).sum::<u64>(), 4 * (weights + 3 * 224 * 224));
    let frees = import.trace.runs[0].events.iter().filter(|event| matches!(event, Event::Free(_))).count();
    assert_eq!(import.trace.runs[0].events.len() - 90, 2 * frees + 1, "all but the result is freed");
}

#[test]
fn memory_options_change_addresses_and_nothing_else() {
    let plain = imported(&squeezenet());
    let like = |options: Options| {
        let import = with(&options, &squeezenet()).expect("an import");
        assert_eq!(check(&import), Ok(()));
        for (a, b) in kernels(&plain).into_iter().zip(kernels(&import)) {
            assert_eq!(
                (&a.name, a.grid, a.flops, sizes(&a.writes)),
                (&b.name, b.grid, b.flops, sizes(&b.writes))
            );
        }
        import
    };
    let own = like(Options { reuse: false, ..Options::default() });
    let addresses = |import: &Imported| {
        let events = import.trace.runs[0].events.iter();
        events.filter_map(|e| if let Event::Alloc(new) = e { Some(*new) } else { None }).collect::<Vec<_>>()
    };
    let mut all = addresses(&own);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].end() <= pair[1].addr));
    // Every activation over its convolution: both branches of a fire module run beside each other again.
    let over = like(Options { in_place: true, ..Options::default() });
    assert_eq!(addresses(&over).len(), addresses(&own).len() - 26);
    let over = kernels(&over);
    assert!(over.iter().filter(|k| k.op == "Relu").all(|k| k.reads == k.writes));
}

#[test]
fn in_place_keeps_what_is_read_later() {
    let nodes = vec![
        node("a = Relu x", &[]),
        node("v = Flatten a", &[]),
        node("b = Sigmoid a", &[]),
        node("c = Tanh v", &[]),
        node("d = Add b c", &[]),
        node("e = Exp d", &[]),
        node("f = Mul e d", &[]),
    ];
    let mut model = model(&[("x: 4 100", FLOAT)], &[], nodes);
    graph(&mut model).output.push(ValueInfoProto { name: "e".to_owned(), r#type: None });
    let import = with(&Options { in_place: true, ..Options::default() }, &model).expect("an import");
    let kernels = kernels(&import);
    let over: Vec<bool> = kernels.iter().map(|k| k.reads.contains(&k.writes[0])).collect();
    // The input is the caller's, a view is still to be read, and a result stays.
    assert_eq!(over, [false, false, true, true, false, true]);
    assert_eq!(check_memory(&import.trace), Ok(()));
}

#[test]
fn a_faulty_model_is_noticed() {
    let noticed = |what: &str, change: &dyn Fn(&mut NodeProto)| {
        let mut model = squeezenet();
        graph(&mut model).node.iter_mut().for_each(change);
        assert!(
            with(&Options::default(), &model).is_ok_and(|import| check(&import).is_err()),
            "{what}: not noticed"
        );
    };
    noticed("a convolution with another stride", &|node| {
        if node.name == "node_conv2d" {
            node.attribute.retain(|attribute| attribute.name != "strides");
        }
    });
    noticed("an activation that is a view", &|node| {
        if node.name == "node_relu_1" {
            node.op_type = "Identity".to_owned();
        }
    });
    noticed("a concatenation of the same twice", &|node| {
        if node.op_type == "Concat" && node.input[0].starts_with("relu") {
            node.input[1] = node.input[0].clone();
        }
    });
}

/// A layer of a transformer, as PyTorch exports it: the shape of the heads is computed from that of the input.
fn transformer() -> ModelProto {
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

fn dims(dims: &[(&str, u64)]) -> Options {
    let dims = dims.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    Options { dims, ..Options::default() }
}

#[test]
fn a_transformer_with_named_dimensions_is_its_kernels() {
    let import = with(&dims(&[("batch", 2), ("length", 128)]), &transformer()).expect("an import");
    let kernels = kernels(&import);
    let names: Vec<&str> = kernels.iter().map(|kernel| &kernel.op[..]).collect();
    // What is made of the input's shape is no kernel, nor is a reshape.
    let expected = "Gather LayerNormalization MatMul MatMul MatMul Transpose Transpose Transpose MatMul Softmax MatMul Transpose Add";
    assert_eq!(names, words(expected));
    let mnk: Vec<[u64; 4]> = kernels.iter().filter_map(|kernel| kernel.mnk).collect();
    let projection = [256, 64, 64, 1];
    assert_eq!(mnk, [projection, projection, projection, [128, 128, 16, 8], [128, 16, 128, 8]]);
    // Rows of the table, read and written, and their numbers; the segments are the whole table.
    assert_eq!(kernels[0].traffic, Some(2 * 256 * 64 * 4 + 256 * 8));
    assert_eq!(sizes(&kernels[0].reads), [1000 * 64 * 4, 256 * 8]);
    assert_eq!(kernels[1].grid, [256, 1, 1], "a CTA per row");
    assert_eq!((&kernels[9].name[..], kernels[9].grid), ("softmax_warp", [2 * 4 * 128 / 4, 1, 1]));
    assert!(kernels.iter().all(|kernel| kernel.kind == KernelType::Simt), "without TF32");
    assert_eq!((check_memory(&import.trace), &import.warnings[..]), (Ok(()), &[][..]));
    let tf32 = Options { tf32: true, ..dims(&[("batch", 2), ("length", 128)]) };
    let import = with(&tf32, &transformer()).expect("an import");
    assert_eq!(import.trace.kernels().filter(|kernel| kernel.kind == KernelType::Tensor).count(), 5);
}

/// The kernels of one operator on inputs `a`, `b`, .., with results of these types, which the model says, too.
fn operator(
    name: &str,
    inputs: &[(&str, i32)],
    attributes: &[AttributeProto],
    results: &[(&str, i32)],
) -> Vec<Kernel> {
    let import = operator_of(20, name, inputs, attributes, results);
    assert_eq!(import.warnings, [], "{name}: its shapes");
    import.trace.kernels().cloned().collect()
}

fn operator_of(
    opset: i64,
    name: &str,
    inputs: &[(&str, i32)],
    attributes: &[AttributeProto],
    results: &[(&str, i32)],
) -> Imported {
    let letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let given: Vec<&str> = letters
        .into_iter()
        .zip(inputs)
        .map(|(letter, (dims, _))| if *dims == "-" { "_" } else { letter })
        .collect();
    let out =
        |(at, (dims, _)): (usize, &(&str, i32))| if *dims == "-" { "_".to_owned() } else { format!("r{at}") };
    let outputs: Vec<String> = results.iter().enumerate().map(out).collect();
    let line = format!("{} = {name} {}", outputs.join(" "), given.join(" "));
    let mut model = model(&[], &[], vec![node(&line, attributes)]);
    model.opset_import[0].version = opset;
    let graph = graph(&mut model);
    for (letter, (dims, element)) in letters.into_iter().zip(inputs) {
        match dims.strip_prefix('=') {
            // Numbers, where it begins so.
            Some(known) => {
                let known: Vec<i64> = words(known).iter().map(|n| n.parse().expect("a number")).collect();
                graph.initializer.push(numbers(letter, &known));
            }
            None if *dims == "-" => {}
            None => graph.input.push(value(letter, *element, &words(dims))),
        }
    }
    let wanted = outputs.iter().zip(results).filter(|(name, _)| *name != "_");
    let types = wanted.map(|(name, (dims, element))| value(name, *element, &words(dims)));
    graph.output = types.collect();
    imported(&model)
}

/// Results as the standard's own examples have them.
#[test]
fn shapes_follow_from_inputs() {
    let f = |dims| (dims, FLOAT);
    let i = |dims| (dims, INT64);
    let shape = |name: &str, inputs: &[(&str, i32)], attributes: &[AttributeProto], result: &str| {
        operator(name, inputs, attributes, &[(result, FLOAT)]);
    };
    shape("Add", &[f("2 1 4"), f("3 1")], &[], "2 3 4");
    shape(
        "Conv",
        &[f("1 4 7 5"), f("6 2 3 3")],
        &[int("group", 2), ints("pads", &[1; 4]), ints("strides", &[2, 2])],
        "1 6 4 3",
    );
    shape(
        "Conv",
        &[f("1 1 7 5"), f("1 1 3 3")],
        &[text("auto_pad", "SAME_LOWER"), ints("strides", &[2, 2])],
        "1 1 4 3",
    );
    shape("Conv", &[f("1 1 9"), f("5 1 3")], &[ints("dilations", &[2])], "1 5 5");
    shape(
        "ConvTranspose",
        &[f("1 1 3 3"), f("1 2 3 3")],
        &[ints("strides", &[3, 2]), ints("output_padding", &[1, 1])],
        "1 2 10 8",
    );
    shape(
        "ConvTranspose",
        &[f("1 1 3 3"), f("1 2 3 3")],
        &[ints("strides", &[3, 2]), ints("output_shape", &[10, 8])],
        "1 2 10 8",
    );
    shape(
        "MaxPool",
        &[f("1 1 4 4")],
        &[ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), int("ceil_mode", 1)],
        "1 1 2 2",
    );
    shape(
        "MaxPool",
        &[f("1 1 2 2")],
        &[ints("kernel_shape", &[1, 1]), ints("strides", &[2, 2]), int("ceil_mode", 1)],
        "1 1 1 1",
    );
    shape("GlobalAveragePool", &[f("1 3 5 5")], &[], "1 3 1 1");
    shape("MatMul", &[f("5 1 2 3"), f("4 3 7")], &[], "5 4 2 7");
    shape("MatMul", &[f("3"), f("4 3 7")], &[], "4 7");
    shape("Gemm", &[f("3 5"), f("4 3"), f("1 4")], &[int("transA", 1), int("transB", 1)], "5 4");
    shape("Einsum", &[f("2 3 4"), f("2 4 5")], &[text("equation", "bij,bjk->bik")], "2 3 5");
    shape("Einsum", &[f("3 4")], &[text("equation", "ij")], "3 4");
    shape("Concat", &[f("2 3"), f("2 4")], &[int("axis", -1)], "2 7");
    shape("Slice", &[f("20 10 5"), i("=0 0"), i("=3 -1"), i("=0 1")], &[], "3 9 5");
    shape("Slice", &[f("20 10 5"), i("=20"), i("=0"), i("=0"), i("=-4")], &[], "5 10 5");
    shape("Slice", &[f("20 10 5"), i("=-1"), i("=-9223372036854775808"), i("=1"), i("=-1")], &[], "20 10 5");
    shape("Gather", &[f("5 4 3"), i("2 6")], &[int("axis", 1)], "5 2 6 3");
    shape("GatherND", &[f("2 2 2"), i("2 1 1")], &[int("batch_dims", 1)], "2 1 2");
    shape("Flatten", &[f("2 3 4 5")], &[int("axis", 2)], "6 20");
    shape("Squeeze", &[f("1 3 1 5"), i("=-2")], &[], "1 3 5");
    shape("Unsqueeze", &[f("3 4 5"), i("=2 -1")], &[], "3 4 1 5 1");
    shape("Expand", &[f("3 1"), i("=2 1 6")], &[], "2 3 6");
    shape("Tile", &[f("2 3"), i("=2 4")], &[], "4 12");
    shape("Pad", &[f("1 3 4"), i("=0 0 1 0 0 2")], &[], "1 3 7");
    shape("Pad", &[f("1 3 4"), i("=1 -1"), ("-", 0), i("=-1")], &[], "1 3 4");
    shape("Resize", &[f("1 1 2 4"), ("-", 0), ("-", 0), i("=1 1 7 8")], &[], "1 1 7 8");
    shape(
        "Resize",
        &[f("1 1 2 4"), ("-", 0), ("-", 0), i("=7 8")],
        &[ints("axes", &[2, 3]), text("keep_aspect_ratio_policy", "not_larger")],
        "1 1 4 8",
    );
    shape("ReduceMean", &[f("3 2 2"), i("=-2")], &[int("keepdims", 0)], "3 2");
    shape("ReduceSum", &[f("3 2 2")], &[], "1 1 1");
    shape("Where", &[("2 1", BOOL), f("1 3"), f("3")], &[], "2 3");
    shape("DepthToSpace", &[f("1 8 2 3")], &[int("blocksize", 2)], "1 2 4 6");
    shape("OneHot", &[i("2 3"), i("=7"), f("2")], &[int("axis", 1)], "2 7 3");
    shape(
        "LSTM",
        &[f("5 3 32"), f("2 256 32"), f("2 256 64")],
        &[text("direction", "bidirectional")],
        "5 2 3 64",
    );
    shape("Cast", &[i("3 4")], &[int("to", 1)], "3 4");
    shape("Reshape", &[f("2 3 4"), i("=0 -1")], &[], "2 12");
    shape("Transpose", &[f("2 3 4")], &[], "4 3 2");
    operator("Equal", &[f("2 3"), f("3")], &[], &[("2 3", BOOL)]);
    operator("ArgMax", &[f("2 3")], &[int("axis", 1)], &[i("2 1")]);
    operator("Split", &[f("2 7"), i("=3 4")], &[int("axis", 1)], &[f("2 3"), f("2 4")]);
    operator("Split", &[f("7")], &[int("num_outputs", 2)], &[f("4"), f("3")]);
    operator("TopK", &[f("3 4"), i("=2")], &[int("axis", 1)], &[f("3 2"), i("3 2")]);
    operator("QuantizeLinear", &[f("3 4"), f(""), ("", INT8)], &[], &[("3 4", INT8)]);
    // Versions before inputs were what attributes had been.
    let old = |opset, name, inputs: &[(&str, i32)], attributes: &[AttributeProto], result| {
        assert_eq!(operator_of(opset, name, inputs, attributes, &[f(result)]).warnings, [], "{name}");
    };
    old(9, "Slice", &[f("20 10")], &[ints("starts", &[1]), ints("ends", &[-1])], "18 10");
    old(
        9,
        "Upsample",
        &[f("1 1 2 2")],
        &[AttributeProto { name: "scales".into(), floats: vec![1.0, 1.0, 2.0, 3.0], ..Default::default() }],
        "1 1 4 6",
    );
    old(11, "Unsqueeze", &[f("3")], &[ints("axes", &[0])], "1 3");
    old(6, "Add", &[f("2 3 4"), f("3")], &[int("axis", 1), int("broadcast", 1)], "2 3 4");
    // What the model says instead is noticed.
    let import = operator_of(20, "Relu", &[f("3 4")], &[], &[f("4 3")]);
    assert_eq!(import.warnings, [Warning::OtherShapes(vec![("Relu".to_owned(), 1)])]);
}

#[test]
fn views_launch_nothing_and_copies_do() {
    let f = |dims| (dims, FLOAT);
    let i = |dims| (dims, INT64);
    let count = |name, inputs: &[(&str, i32)], attributes: &[AttributeProto], result| {
        operator(name, inputs, attributes, &[f(result)]).len()
    };
    assert_eq!(count("Transpose", &[f("2 1 4")], &[ints("perm", &[1, 0, 2])], "1 2 4"), 0);
    assert_eq!(count("Transpose", &[f("2 1 4")], &[ints("perm", &[2, 1, 0])], "4 1 2"), 1);
    assert_eq!(count("Expand", &[f("3 4"), i("=1 1")], &[], "3 4"), 0);
    assert_eq!(count("Slice", &[f("5"), i("=0"), i("=9")], &[], "5"), 0);
    assert_eq!(count("Slice", &[f("5"), i("=-1"), i("=-9"), i("=0"), i("=-1")], &[], "5"), 1);
    assert_eq!(count("Dropout", &[f("5")], &[], "5"), 0);
    assert_eq!(count("Cast", &[f("5")], &[int("to", 1)], "5"), 0);
    assert_eq!(count("Relu", &[f("0 5")], &[], "0 5"), 0, "nothing to do");
}

#[test]
fn products_have_their_matrices() {
    let half = |dims| (dims, HALF);
    let kernel = |name, inputs: &[(&str, i32)], attributes: &[AttributeProto], result| {
        let [kernel] = &operator(name, inputs, attributes, &[(result, HALF)])[..] else {
            panic!("{name}: one kernel")
        };
        assert_eq!(kernel.mnk.map(|mnk| 2 * mnk.iter().product::<u64>()), Some(kernel.flops));
        (kernel.mnk.expect("a product"), kernel.kind)
    };
    let tensor = KernelType::Tensor;
    assert_eq!(
        kernel("MatMul", &[half("8 16 32"), half("32 64")], &[], "8 16 64"),
        ([128, 64, 32, 1], tensor)
    );
    assert_eq!(
        kernel("MatMul", &[half("8 16 32"), half("8 32 64")], &[], "8 16 64"),
        ([16, 64, 32, 8], tensor)
    );
    assert_eq!(
        kernel("MatMul", &[half("1 32"), half("32 64")], &[], "1 64"),
        ([1, 64, 32, 1], KernelType::Simt)
    );
    let (gemm, equation) = ([int("transA", 1), int("transB", 1)], [text("equation", "bhid,bhjd->bhij")]);
    assert_eq!(kernel("Gemm", &[half("32 16"), half("64 32")], &gemm, "16 64"), ([16, 64, 32, 1], tensor));
    let heads = [half("2 3 16 32"), half("2 3 64 32")];
    assert_eq!(kernel("Einsum", &heads, &equation, "2 3 16 64"), ([16, 64, 32, 6], tensor));
    let fused = [int("transB", 1)];
    let name = "com.microsoft::FusedMatMul";
    assert_eq!(
        kernel(name, &[half("2 16 32"), half("2 64 32")], &fused, "2 16 64"),
        ([16, 64, 32, 2], tensor)
    );
}

#[test]
fn quantised_operators_use_tensor_cores() {
    let dynamic = operator(
        "DynamicQuantizeLinear",
        &[("8 64", FLOAT)],
        &[],
        &[("8 64", UINT8), ("", FLOAT), ("", UINT8)],
    );
    let names: Vec<&str> = dynamic.iter().map(|kernel| &kernel.name[..]).collect();
    assert_eq!(names, ["reduce_min_max", "elementwise_quantize_linear"]);
    assert_eq!(dynamic[0].writes, dynamic[1].reads[1..], "scale and zero point");
    let product = operator("MatMulInteger", &[("8 64", UINT8), ("64 32", INT8)], &[], &[("8 32", INT32)]);
    assert_eq!((product[0].kind, product[0].mnk), (KernelType::Tensor, Some([8, 32, 64, 1])));
    let (s, z) = (("", FLOAT), ("", UINT8));
    let inputs = [("1 4 8 8", UINT8), s, z, ("6 4 3 3", UINT8), s, z, s, z, ("6", INT32)];
    let convolution = operator("QLinearConv", &inputs, &[], &[("1 6 6 6", UINT8)]);
    assert_eq!(convolution.len(), 1, "the bias is in it");
    assert_eq!((convolution[0].kind, convolution[0].mnk), (KernelType::Tensor, Some([36, 6, 36, 1])));
    assert_eq!(convolution[0].reads.len(), 9);
    // ONNX Runtime's own.
    let inputs = [("8 64", UINT8), s, z, ("32 64", INT8), s, ("", INT8), ("32", INT32), s, z];
    let product = operator("com.microsoft::QGemm", &inputs, &[int("transB", 1)], &[("8 32", UINT8)]);
    assert_eq!((product[0].kind, product[0].mnk), (KernelType::Tensor, Some([8, 32, 64, 1])));
    let inputs = [("8 64", FLOAT), ("64 32", INT8), s];
    let product = operator("com.microsoft::DynamicQuantizeMatMul", &inputs, &[], &[("8 32", FLOAT)]);
    assert_eq!((product[0].kind, product[0].mnk), (KernelType::Tensor, Some([8, 32, 64, 1])));
    let inputs = [s, z, ("1 4 8", UINT8), s, z, ("1 6 8", UINT8), s, z];
    operator("com.microsoft::QLinearConcat", &inputs, &[int("axis", 1)], &[("1 10 8", UINT8)]);
}

#[test]
fn a_recurrent_layer_is_a_kernel_per_time_step_and_direction() {
    let f = |dims| (dims, FLOAT);
    let inputs = [f("5 3 32"), f("2 256 32"), f("2 256 64"), f("2 512")];
    let results = [f("5 2 3 64"), f("2 3 64"), f("2 3 64")];
    let kernels = operator("LSTM", &inputs, &[text("direction", "bidirectional")], &results);
    assert_eq!(kernels.len(), 10);
    assert!(kernels.iter().all(|kernel| kernel.mnk == Some([3, 256, 96, 1])));
    for direction in kernels.chunks(5) {
        for pair in direction.windows(2) {
            assert!(overlap(&pair[1].reads, &pair[0].writes[..1]), "the hidden state of the step before");
            assert!(!overlap(&pair[1].writes[..1], &pair[0].writes[..1]), "each step has its own result");
        }
    }
    assert!(!kernels[..5].iter().any(|a| kernels[5..].iter().any(|b| overlap(&a.writes, &b.writes))));
    let first = |kernels: &[Kernel]| kernels.iter().map(|kernel| kernel.reads[0].addr).collect::<Vec<_>>();
    assert!(first(&kernels[..5]).is_sorted() && first(&kernels[5..]).is_sorted_by(|a, b| a > b));
    // The last hidden state alone.
    let kernels =
        operator("GRU", &[f("5 3 32"), f("1 192 32"), f("1 192 64")], &[], &[("-", 0), f("1 3 64")]);
    assert_eq!(kernels.len(), 5);
}

#[test]
fn attention_copies_the_past_together_first() {
    let half = |dims| (dims, HALF);
    let heads = half("1 8 16 64");
    let inputs =
        [heads, half("1 2 16 64"), half("1 2 16 64"), ("-", 0), half("1 2 100 64"), half("1 2 100 64")];
    let results = [heads, half("1 2 116 64"), half("1 2 116 64")];
    let kernels = operator("Attention", &inputs, &[], &results);
    let names: Vec<&str> = kernels.iter().map(|kernel| &kernel.name[..]).collect();
    assert_eq!(names, ["cat_batched_copy", "cat_batched_copy", "attention"]);
    assert_eq!(kernels[2].flops, 2 * 8 * 16 * 116 * 128);
    assert_eq!((kernels[2].kind, kernels[2].reads.len()), (KernelType::Tensor, 3));
    assert!(overlap(&kernels[2].reads, &kernels[0].writes) && overlap(&kernels[2].reads, &kernels[1].writes));
}

/// ONNX Runtime's operator of that name has the product for query, key and value in it.
#[test]
fn a_packed_attention_is_a_product_and_an_attention() {
    let half = |dims| (dims, HALF);
    let name = "com.microsoft::Attention";
    let inputs = [half("2 128 64"), half("64 192"), half("192")];
    let import = operator_of(1, name, &inputs, &[int("num_heads", 4)], &[half("2 128 64")]);
    assert_eq!((check_memory(&import.trace), &import.warnings[..]), (Ok(()), &[][..]));
    let [product, attention] = kernels(&import)[..] else { panic!("two kernels") };
    assert_eq!((product.mnk, attention.flops), (Some([256, 192, 64, 1]), 2 * 2 * 4 * 128 * 128 * 32));
    assert_eq!(attention.reads, product.writes, "memory between them");
    // Of another shape the attention has no rule.
    let odd = operator_of(20, "Attention", &[half("4 4"), half("4 4"), half("4 4")], &[], &[half("4 4")]);
    assert_eq!(odd.warnings, [Warning::UnknownOperators(vec![("Attention".to_owned(), 1)])]);
}

#[test]
fn scatters_go_into_a_copy() {
    let inputs = [("1000 64", FLOAT), ("2 1", INT64), ("2 64", FLOAT)];
    let kernels = operator("ScatterND", &inputs, &[], &[("1000 64", FLOAT)]);
    let kinds: Vec<KernelType> = kernels.iter().map(|kernel| kernel.kind).collect();
    assert_eq!(kinds, [KernelType::Copy, KernelType::Simt]);
    assert_eq!(kernels[1].traffic, Some(16 + 2 * 2 * 64 * 4), "the rows that are written");
    assert!(overlap(&kernels[1].reads, &kernels[0].writes));
}

#[test]
fn what_is_constant_is_computed_before_and_what_is_random_is_not() {
    let zeros = |conv: &str| {
        vec![
            node(
                "like = Constant",
                &[AttributeProto { name: "value_float".into(), f: Some(0.0), ..Default::default() }],
            ),
            node("zero = CastLike like x", &[]),
            node("n = Shape w", &[int("start", 0), int("end", 1)]),
            node("bias = Expand zero n", &[]),
            node("w2 = Mul w w", &[]),
            node(conv, &[]),
        ]
    };
    let weights = [("w: 8 4 1 1", FLOAT), ("b: 8", FLOAT)];
    let import = |conv| imported(&model(&[("x: 1 4 16 16", FLOAT)], &weights, zeros(conv)));
    // As PyTorch exports a convolution without a bias.
    assert_eq!(kernels(&import("y = Conv x w2 bias")).len(), 1, "an addition of zeros that a node made");
    assert_eq!(kernels(&import("y = Conv x w2 b")).len(), 2, "a bias of the model");
    let nodes = vec![node("r = RandomNormalLike w", &[]), node("y = Add r w", &[])];
    assert_eq!(kernels(&imported(&model(&[], &weights, nodes))).len(), 2);
}

/// How exporters make shapes: each of `n` nodes is made of an input of 4 x 6 x 7, and says what an input of one element spreads to.
#[test]
fn shapes_are_computed_of_shapes() {
    let expanded = |lines: &[&str], elements: u64| {
        let mut nodes = vec![node("s = Shape x", &[])];
        for line in lines {
            let (line, attribute) = line.split_once(" : ").unwrap_or((line, ""));
            let attributes =
                attribute.split_once(' ').map(|(name, n)| int(name, n.parse().expect("a number")));
            nodes.push(node(line, &Vec::from_iter(attributes)));
        }
        nodes.push(node("y = Expand z n", &[]));
        let mut model = model(&[("x: 4 6 7", FLOAT), ("z: 1", FLOAT)], &[], nodes);
        let small = [("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("last", -1), ("half", 1)];
        graph(&mut model).initializer.extend(small.map(|(name, n)| numbers(name, &[n])));
        let half =
            TensorProto { name: "h".into(), data_type: FLOAT, float_data: vec![0.5], ..Default::default() };
        graph(&mut model).initializer.push(half);
        let kernels: Vec<Kernel> = imported(&model).trace.kernels().cloned().collect();
        assert_eq!(kernels.len(), 1, "{lines:?}");
        assert_eq!(sizes(&kernels[0].writes), [4 * elements], "{lines:?}");
    };
    expanded(&["n = Identity s"], 4 * 6 * 7);
    expanded(&["n = Gather s last"], 7);
    expanded(&["a = Gather s last", "d = Div a two", "n = Mul d two"], 6);
    expanded(&["f = Cast s : to 1", "g = Mul f h", "c = Ceil g", "n = Cast c : to 7"], 2 * 3 * 4);
    expanded(&["f = Cast s : to 1", "g = Mul f h", "c = Floor g", "n = Cast c : to 7"], 2 * 3 * 3);
    expanded(&["f = Cast s : to 1", "g = Mul f h", "n = Cast g : to 7"], 2 * 3 * 3);
    expanded(&["a = Slice s one three", "n = Concat a two : axis 0"], 6 * 7 * 2);
    expanded(&["n = Slice s last zero _ last"], 7 * 6);
    expanded(&["a b c = Split s : axis 0", "n = Mul b c"], 42);
    expanded(&["n = ReduceProd s"], 4 * 6 * 7);
    expanded(&["m = Greater s two", "l = Less s three", "o = Or m l", "n = Where o s one"], 4 * 6 * 7);
    expanded(&["m = Equal s s", "o = Not m", "n = Where o s two"], 8);
    expanded(&["u = Unsqueeze s zero", "t = Transpose u", "n = Squeeze t last"], 4 * 6 * 7);
    expanded(&["c = Concat last three : axis 0", "a = Abs c", "n = Max a two"], 2 * 3);
    expanded(&["t = Sub s two", "n = Min t three"], 2 * 3 * 3);
    expanded(&["m = Mod s three", "n = Add m one"], 2 * 2);
}

/// As PyTorch exports `squeeze`: whether a dimension is 1 is asked as the model runs, but known before.
#[test]
fn a_branch_is_taken_where_its_condition_is_known() {
    let branch = |name: &str, nodes: Vec<NodeProto>| {
        let output =
            vec![ValueInfoProto { name: nodes.last().expect("one").output[0].clone(), r#type: None }];
        let g = Some(Box::new(GraphProto { node: nodes, output, ..Default::default() }));
        AttributeProto { name: name.to_owned(), g, ..Default::default() }
    };
    let import = |condition: &str, width: &str| {
        let squeeze = vec![
            node("in = Squeeze x one", &[]),
            node("again = Exp in", &[]),
            node("out = Relu again", &[]),
            node("twice = Add out again", &[]),
        ];
        let branches =
            [branch("then_branch", squeeze), branch("else_branch", vec![node("in = Identity x", &[])])];
        let nodes = vec![
            node("s = Shape x", &[int("start", 1), int("end", 2)]),
            node("is = Equal s one", &[]),
            node(&format!("a = If {condition}"), &branches),
            node(&format!("b = If {condition}"), &branches),
            node("y = Relu b", &[]),
        ];
        let mut model = model(&[(&format!("x: 4 {width}"), FLOAT), ("asked: 1", BOOL)], &[], nodes);
        graph(&mut model).initializer.push(numbers("one", &[1]));
        with(&Options { in_place: true, ..Options::default() }, &model)
    };
    let names = |import: &Imported| kernels(import).iter().map(|k| k.op.clone()).collect::<Vec<_>>();
    let (squeezed, as_it_is) = (import("is", "1").expect("an import"), import("is", "7").expect("an import"));
    assert_eq!(names(&squeezed), ["Exp", "Relu", "Add", "Exp", "Relu", "Add", "Relu"]);
    let relus = kernels(&squeezed).into_iter().take(6).filter(|kernel| kernel.op == "Relu");
    assert!(relus.into_iter().all(|k| k.reads != k.writes), "what a branch reads again is not written over");
    assert_eq!(names(&as_it_is), ["Relu"]);
    assert_eq!(check_memory(&squeezed.trace), Ok(()));
    assert_eq!(sizes(&kernels(&as_it_is)[0].reads), [4 * 4 * 7]);
    let errors = import("asked", "1").expect_err("not known");
    assert!(errors.0.iter().all(|error| matches!(error.problem, Problem::ControlFlow)), "{errors}");
}

#[test]
fn sizes_that_only_a_run_knows_are_given_and_waited_for() {
    let nodes = vec![node("where = NonZero x", &[]), node("y = Cast where", &[int("to", 1)])];
    let mut model = model(&[("x: 64", FLOAT)], &[], nodes);
    let errors = with(&Options::default(), &model).expect_err("an error");
    assert!(
        matches!(&errors.0[..], [error] if matches!(&error.problem, Problem::UnknownShape(name) if name == "where"))
    );
    graph(&mut model).value_info.push(value("where", INT64, &["1", "found"]));
    let errors = with(&Options::default(), &model).expect_err("an error").to_string();
    let asked = "m.onnx: node 0 (NonZero): field `output where`: dimension 1 has no size; give it one with --dim 'found=N'";
    assert_eq!(errors, asked);
    let import = with(&dims(&[("found", 10)]), &model).expect("an import");
    let events: Vec<&Event> = import.trace.runs[0].events.iter().collect();
    assert!(matches!(events[2], Event::Sync { why } if why == "NonZero"), "{events:?}");
    assert_eq!(sizes(&kernels(&import)[1].writes), [40]);
}

#[test]
fn operators_without_a_rule_are_one_kernel_and_a_warning() {
    let nodes =
        vec![node("a = mine::Sparkle x", &[]), node("b = mine::Sparkle a", &[]), node("y = Relu b", &[])];
    let mut model = model(&[("x: 1000", FLOAT)], &[], nodes);
    let errors = with(&Options::default(), &model).expect_err("shapes are missing").to_string();
    assert!(
        errors.contains("m.onnx: node 0 (mine::Sparkle): the shape of `a` is not in the model"),
        "{errors}"
    );
    graph(&mut model).value_info.extend([value("a", FLOAT, &["1000"]), value("b", FLOAT, &["1000"])]);
    let import = imported(&model);
    assert_eq!(import.warnings, [Warning::UnknownOperators(vec![("mine::Sparkle".to_owned(), 2)])]);
    let kernels = kernels(&import);
    assert_eq!((kernels.len(), &kernels[0].name[..], kernels[0].grid[0]), (3, "elementwise_sparkle", 2));
    assert!(kernels[0].est.contains(&"type".to_owned()));
}

#[test]
fn errors_say_what_and_where() {
    let says = |model: &ModelProto, options: &Options, words: &[&str]| {
        let errors = with(options, model).expect_err("an error").to_string();
        for word in words {
            assert!(errors.contains(word), "`{errors}` does not say `{word}`");
        }
        assert_eq!(errors.lines().count(), words.len(), "{errors}");
    };
    let plain = Options::default();
    says(
        &transformer(),
        &dims(&[("length", 128), ("lenght", 1)]),
        &[
            "m.onnx: field `--dim lenght`: no dimension is called that: choose of batch, length",
            "m.onnx: field `input ids`: dimension 0 has no size; give it one with --dim 'batch=N'",
        ],
    );
    // Several at once, and nothing said twice because of what follows.
    let nodes = vec![
        node("a = Conv x w", &[]),
        node("b = Relu a", &[]),
        node("c = Loop x", &[]),
        node("d = Relu nowhere", &[]),
        node("e = Transpose y", &[ints("perm", &[0, 0])]),
        node("f = mine::Own y", &[]),
        node("y = Relu y", &[]),
        node("g = MaxPool x", &[]),
        node("h = Concat b x", &[]),
        node("j = Add y", &[]),
        node("k = Cast y", &[int("to", i64::from(TEXT))]),
        node("z = Expand y big", &[]),
    ];
    let inputs = [("x: 1 3 8 8", FLOAT), ("y: 4 ?", FLOAT), ("s: 2", TEXT)];
    let mut several = model(&inputs, &[("w: 8 4 3 3", FLOAT)], nodes);
    several.functions.push(FunctionProto { name: "Own".into(), domain: "mine".into() });
    graph(&mut several).initializer.push(numbers("big", &[1 << 50, 4, 5]));
    graph(&mut several).input.push(ValueInfoProto { name: "t".into(), r#type: None });
    says(
        &several,
        &dims(&[("y[1]", 5)]),
        &[
            "m.onnx: field `input s`: elements of type 8 are not known on a GPU",
            "m.onnx: field `input t`: it is no tensor",
            "m.onnx: node 0 (Conv): the input has 3 channels, the weights 4",
            "m.onnx: node 2 (Loop): which kernels run is decided as the model runs",
            "m.onnx: node 3 (Relu): field `input[0]`: no node before this gives `nowhere`",
            "m.onnx: node 4 (Transpose): [0, 0] of 2 dimensions",
            "m.onnx: node 5 (mine::Own): it is a function of the model",
            "m.onnx: node 6 (Relu): an earlier node, input or initializer is called `y`",
            "m.onnx: node 7 (MaxPool): field `kernel_shape`: it is missing",
            "m.onnx: node 10 (Cast): elements of type 8",
            "m.onnx: node 11 (Expand): a tensor of shape [1125899906842624, 4, 5] is more than 2^53 bytes",
        ],
    );
    let many = (0..50).map(|at| node(&format!("n{at} = Relu nowhere{at}"), &[])).collect();
    let errors = with(&plain, &model(&[], &[], many)).expect_err("many").to_string();
    assert!(errors.ends_with("reading stopped after 20 errors; there may be more"), "{errors}");
    let empty = ModelProto::default();
    says(&empty, &plain, &["m.onnx: it has no graph"]);
    let text = import_bytes("m.onnx", b"{\"nodes\": []}".to_vec(), &plain).expect_err("JSON").to_string();
    assert!(text.starts_with("m.onnx: it is no ONNX model"), "{text}");
    let nowhere = import(Path::new("nowhere.onnx"), &plain).expect_err("no file");
    assert!(matches!(nowhere.0[0].problem, Problem::File(FileError::Io(_))));
}

#[test]
fn sizes_without_bound_are_errors() {
    let steps = |count: &str| {
        let layer = |at: usize| node(&format!("y{at} = RNN x w r"), &[]);
        let nodes = (0..100).map(layer).collect();
        model(&[(&format!("x: {count} 1 4"), FLOAT)], &[("w: 1 8 4", FLOAT), ("r: 1 8 8", FLOAT)], nodes)
    };
    let errors = with(&Options::default(), &steps("4000")).expect_err("too many");
    assert!(matches!(errors.0[0].problem, Problem::TooManyKernels { .. }), "{errors}");
    assert_eq!(kernels(&imported(&steps("4097"))).len(), 100, "long ones are one kernel each");
    let size = (1_u64 << 48).to_string();
    let nodes = (0..20).map(|at| node(&format!("y{at} = Relu x"), &[])).collect();
    let large = model(&[(&format!("x: {size}"), FLOAT)], &[], nodes);
    let options = Options { reuse: false, ..Options::default() };
    let errors = with(&options, &large).expect_err("too large");
    assert!(matches!(errors.0[0].problem, Problem::AddressSpace), "{errors}");
}

#[test]
fn what_is_imported_can_be_written_and_read() {
    let options = dims(&[("batch", 2), ("length", 128)]);
    for (model, options) in [(squeezenet(), Options::default()), (transformer(), options)] {
        let first = with(&options, &model).expect("an import");
        assert_eq!(first, with(&options, &model).expect("an import"), "the same each time");
        let trace = first.trace;
        let mut writer = Writer::new(Vec::new(), "t", &trace.header, Compression::Plain).expect("a header");
        writer.trace(&trace).expect("a trace");
        let bytes = writer.finish().expect("memory takes it");
        let again = Trace::read(Reader::new(&bytes[..], "t").expect("its header")).expect("what was written");
        assert_eq!(again.runs, trace.runs);
        assert_eq!(again.warnings, []);
    }
}

#[test]
fn compressed_models_are_read() {
    let packed = zstd::encode_all(&squeezenet().encode_to_vec()[..], 3).expect("zstd");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &packed).expect("written");
    assert_eq!(import(file.path(), &Options::default()).expect("an import"), imported(&squeezenet()));
    std::fs::write(file.path(), &packed[..packed.len() / 2]).expect("written");
    let errors = import(file.path(), &Options::default()).expect_err("cut short");
    assert!(matches!(errors.0[0].problem, Problem::File(FileError::Zstd(_))), "{errors}");
}

#[test]
fn damaged_files_are_errors_and_no_more() {
    let options = dims(&[("batch", 2), ("length", 128)]);
    for (bytes, step) in [(squeezenet().encode_to_vec(), 97), (transformer().encode_to_vec(), 3)] {
        for length in (0..bytes.len()).step_by(step) {
            let cut = import_bytes("m.onnx", bytes[..length].to_vec(), &Options::default());
            assert!(cut.is_err(), "{length} bytes");
        }
        let mut outcomes = [0, 0];
        for (i, at) in (1..bytes.len()).step_by(step).enumerate() {
            let mut damaged = bytes.clone();
            damaged[at] ^= [1, 0x80, 0x7f, 0xff, 4][i % 5];
            if i % 3 == 0 {
                damaged.drain(at..(at + 1 + i % 7).min(bytes.len()));
            }
            outcomes[usize::from(import_bytes("m.onnx", damaged, &options).is_ok())] += 1;
        }
        assert!(outcomes[0] > 3, "{outcomes:?}");
    }
    // Attributes and shapes of any numbers.
    let numbers = [0, 1, -1, 2, 7, -8, 1 << 31, 1 << 52, i64::MAX, i64::MIN];
    for (round, number) in numbers.into_iter().enumerate() {
        for mut model in [squeezenet(), transformer()] {
            for (at, node) in graph(&mut model).node.iter_mut().enumerate() {
                for attribute in node.attribute.iter_mut().filter(|_| (at + round) % 3 == 0) {
                    attribute.i = attribute.i.map(|_| number);
                    attribute.ints.iter_mut().for_each(|n| *n = number);
                }
            }
            let _ = with(&options, &model);
            for tensor in &mut graph(&mut model).initializer {
                tensor.dims.iter_mut().for_each(|d| *d = number);
            }
            let _ = with(&options, &model);
        }
    }
}

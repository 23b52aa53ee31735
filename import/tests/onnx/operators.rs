//! Operators one by one: their shapes, and their kernels.

use crate::build::*;
use crate::common::{check_memory, overlap};
use windlass_import::onnx::proto::*;
use windlass_import::onnx::{Imported, Warning};
use windlass_runtime::ktrace::{Kernel, KernelType};

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

/// A part of a buffer is what later kernels wait for, and what is moved.
#[test]
fn a_slice_reads_the_part_that_it_takes() {
    let f = |dims| (dims, FLOAT);
    let i = |dims| (dims, INT64);
    // Where the part begins in the input, its bytes, and what is moved where that is less.
    let slice = |inputs: &[(&str, i32)], result| {
        let [kernel] = &operator("Slice", inputs, &[], &[f(result)])[..] else { panic!("one kernel") };
        let [read] = kernel.reads[..] else { panic!("{:?}", kernel.reads) };
        (read.addr - (16 << 20), read.bytes, kernel.traffic)
    };
    // Rows in one piece, from either end; then columns, whose rows have gaps between them.
    assert_eq!(slice(&[f("100 8"), i("=10"), i("=30")], "20 8"), (10 * 32, 20 * 32, None));
    assert_eq!(
        slice(&[f("100 8"), i("=-1"), i("=-21"), i("=0"), i("=-1")], "20 8"),
        (80 * 32, 20 * 32, None)
    );
    let columns = [f("100 8"), i("=2"), i("=4"), i("=1")];
    assert_eq!(slice(&columns, "100 2"), (2 * 4, 99 * 32 + 2 * 4, Some(2 * 100 * 2 * 4)));
    let every_third = [f("100"), i("=98"), i("=0"), i("=0"), i("=-3")];
    assert_eq!(slice(&every_third, "33"), (2 * 4, 97 * 4, Some(2 * 33 * 4)));
    // What a run decides is somewhere in all of it.
    assert_eq!(slice(&[f("100 8"), i("1"), i("1")], "20 8"), (0, 100 * 32, Some(2 * 20 * 32)));

    // Of what a kernel wrote.
    let nodes = vec![
        node("a = Relu x", &[]),
        node("low = Slice a zero four", &[]),
        node("high = Slice a four eight", &[]),
        node("y = Add low high", &[]),
    ];
    let mut model = model(&[("x: 8 5", FLOAT)], &[], nodes);
    for (name, number) in [("zero", 0), ("four", 4), ("eight", 8)] {
        graph(&mut model).initializer.push(numbers(name, &[number]));
    }
    let import = imported(&model);
    assert_eq!(check_memory(&import.trace), Ok(()));
    let [relu, low, high, _] = kernels(&import)[..] else { panic!("four kernels") };
    assert!(overlap(&low.reads, &relu.writes) && overlap(&high.reads, &relu.writes));
    assert_eq!((sizes(&low.reads), sizes(&high.reads)), (vec![80], vec![80]));
    assert!(!overlap(&low.reads, &high.reads));
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
    // With the batch outermost a step's part is everywhere, and what other steps and directions wrote stays.
    let inputs = [f("3 5 32"), f("2 256 32"), f("2 256 64")];
    let attributes = [text("direction", "bidirectional"), int("layout", 1)];
    let kernels = operator("LSTM", &inputs, &attributes, &[f("3 5 2 64"), f("3 2 64"), f("3 2 64")]);
    assert_eq!(kernels.len(), 10);
    assert!(kernels.iter().all(|kernel| kernel.writes.iter().all(|write| kernel.reads.contains(write))));
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

/// As XLA's `reduce-window`; a global one takes each element once.
#[test]
fn a_pooling_takes_every_element_of_its_windows() {
    let f = |dims| (dims, FLOAT);
    let windows = [ints("kernel_shape", &[3, 2]), ints("strides", &[2, 2])];
    for name in ["MaxPool", "AveragePool", "LpPool"] {
        assert_eq!(
            operator(name, &[f("1 8 15 15")], &windows, &[f("1 8 7 7")])[0].flops,
            8 * 49 * 6,
            "{name}"
        );
    }
    let global = operator("GlobalMaxPool", &[f("1 8 15 15")], &[], &[f("1 8 1 1")]);
    assert_eq!(global[0].flops, 8 * 225);
}

/// Left to right, each sum as soon as no later term has its letter.
#[test]
fn an_einsum_of_more_terms_is_a_product_after_another() {
    let f = |dims| (dims, FLOAT);
    let einsum = |equation, inputs: &[(&str, i32)], result| {
        let import = operator_of(20, "Einsum", inputs, &[text("equation", equation)], &[f(result)]);
        assert_eq!((check_memory(&import.trace), &import.warnings[..]), (Ok(()), &[][..]), "{equation}");
        import.trace.kernels().cloned().collect::<Vec<_>>()
    };
    let kernels = einsum("ij,jk,kl->il", &[f("64 128"), f("128 256"), f("256 32")], "64 32");
    let mnk: Vec<_> = kernels.iter().map(|kernel| kernel.mnk).collect();
    assert_eq!(mnk, [Some([64, 256, 128, 1]), Some([64, 32, 256, 1])]);
    let flops: Vec<u64> = kernels.iter().map(|kernel| kernel.flops).collect();
    assert_eq!(flops, [2 * 64 * 256 * 128, 2 * 64 * 32 * 256]);
    assert_eq!(
        (sizes(&kernels[0].writes), &kernels[1].reads[..1]),
        (vec![64 * 256 * 4], &kernels[0].writes[..])
    );
    // Nothing is summed before the last, where all is.
    let kernels = einsum("bi,bj,bij->b", &[f("8 16"), f("8 32"), f("8 16 32")], "8");
    let seen: Vec<_> = kernels.iter().map(|kernel| (kernel.flops, kernel.mnk)).collect();
    assert_eq!(seen, [(8 * 16 * 32, None), (2 * 8 * 16 * 32, Some([1, 1, 512, 8]))]);
    let kernels = einsum("ij,ij->ij", &[f("64 128"), f("64 128")], "64 128");
    assert_eq!((kernels.len(), kernels[0].flops, kernels[0].mnk), (1, 64 * 128, None));
    // One term: a sum, and a transpose.
    let kernels = einsum("ijk->k", &[f("64 128 32")], "32");
    assert_eq!((kernels.len(), &kernels[0].name[..], kernels[0].flops), (1, "reduce_einsum", 64 * 128 * 32));
    let kernels = einsum("ij->ji", &[f("64 128")], "128 64");
    assert_eq!((kernels.len(), kernels[0].flops), (1, 0));
    let kernels = einsum("ij,jk,kl->il", &[f("4 5"), f("5 0"), f("0 3")], "4 3");
    assert!(kernels.len() == 2 && kernels[0].writes.is_empty(), "nothing between them");
    // An ellipsis has no rule.
    let odd = operator_of(20, "Einsum", &[f("8 4")], &[text("equation", "...i->...")], &[f("8")]);
    assert_eq!(odd.warnings, [Warning::UnknownOperators(vec![("Einsum".to_owned(), 1)])]);
}

#[test]
fn scatters_go_into_a_copy() {
    let inputs = [("1000 64", FLOAT), ("2 1", INT64), ("2 64", FLOAT)];
    let kernels = operator("ScatterND", &inputs, &[], &[("1000 64", FLOAT)]);
    let kinds: Vec<KernelType> = kernels.iter().map(|kernel| kernel.kind).collect();
    assert_eq!(kinds, [KernelType::Copy, KernelType::Simt]);
    assert_eq!(kernels[1].traffic, Some(16 + 2 * 2 * 64 * 4), "the rows that are written");
    assert!(overlap(&kernels[1].reads, &kernels[0].writes));
    assert_eq!(kernels[1].flops, 0);
    // What is there is read, and one addition each.
    let adds = operator("ScatterND", &inputs, &[text("reduction", "add")], &[("1000 64", FLOAT)]);
    assert_eq!((adds[1].traffic, adds[1].flops), (Some(16 + 3 * 2 * 64 * 4), 2 * 64));
    let none = operator("ScatterND", &inputs, &[text("reduction", "none")], &[("1000 64", FLOAT)]);
    assert_eq!((none[1].traffic, none[1].flops), (kernels[1].traffic, 0));
}

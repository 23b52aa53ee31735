//! Imports of ONNX models: a real one against its architecture, and small ones that the tests encode.

mod build;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod operators;

use build::*;
use common::{architecture, check_memory, overlap};
use std::collections::BTreeMap;
use windlass_import::onnx::proto::*;
use windlass_import::onnx::{Imported, Options, Problem, Warning, import};
use windlass_runtime::ktrace::{Compression, Event, Kernel, KernelType, Reader, Segment, Trace, Writer};

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
    // As another program recorded it in PyTorch, but that one counts a pooling's inputs, not its windows of 3 by 3.
    let pools: [(u64, u64, u64); 3] = [(64, 111, 55), (128, 55, 27), (256, 27, 13)];
    let more = pools.map(|(channels, from, to)| channels * (9 * to * to - from * from));
    assert_eq!(flops, 705_013_944 + more.iter().sum::<u64>());
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
        // Each branch has one of that name.
        let values = Some(TensorProto {
            name: "sparse".into(),
            data_type: FLOAT,
            dims: vec![1],
            ..Default::default()
        });
        let sparse = SparseTensorProto { values, dims: vec![9] };
        let g = GraphProto { node: nodes, output, sparse_initializer: vec![sparse], ..Default::default() };
        AttributeProto { name: name.to_owned(), g: Some(Box::new(g)), ..Default::default() }
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

//! Imports of PyTorch's files, against facts that have another source than the importer.

#[path = "../common/mod.rs"]
mod common;
mod h100;
mod triton;

use common::{architecture, check_memory, overlap};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_import::FileError;
use windlass_import::pytorch::{Imported, Options, Problem, PytorchErrors, Warning, import, import_text};
use windlass_runtime::ktrace::{Compression, Event, Kernel, KernelType, Reader, Segment, Trace, Writer};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn squeezenet() -> Vec<u8> {
    let packed = std::fs::read(data("squeezenet1_1.et.json.zst")).expect("the data");
    zstd::decode_all(&packed[..]).expect("zstd")
}

fn imported(text: &[u8]) -> Result<Imported, PytorchErrors> {
    import_text("et.json", text, None, &Options::default())
}

fn kernels(import: &Imported) -> Vec<&Kernel> {
    import.trace.kernels().collect()
}

/// What is wrong with an import of SqueezeNet, if anything.
fn check(import: &Imported) -> Result<(), String> {
    let ensure = |right: bool, what: &str| if right { Ok(()) } else { Err(what.to_owned()) };
    let kernels = kernels(import);
    let convolutions: Vec<&&Kernel> = kernels.iter().filter(|k| k.op == "convolution").collect();
    let expected = architecture();
    ensure(convolutions.len() == expected.len(), "as many convolutions as the network has")?;
    for (at, (kernel, (input, output, taps, pixels))) in convolutions.iter().zip(&expected).enumerate() {
        let depth = input * taps * taps;
        let ensure = |right, what: &str| ensure(right, &format!("convolution {at}: {what}"));
        ensure(kernel.mnk == Some([*pixels, *output, depth, 1]), "its shape")?;
        ensure(kernel.flops == 2 * pixels * output * depth, "its FLOPs")?;
        let sizes = |segments: &[Segment]| segments.iter().map(|s| s.bytes).collect::<Vec<_>>();
        ensure(sizes(&kernel.writes) == [4 * pixels * output], "what it writes")?;
        ensure(sizes(&kernel.reads).contains(&(4 * output * depth)), "its weights")?;
    }
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    kernels.iter().for_each(|k| *ops.entry(&k.op).or_default() += 1);
    let expected = [
        ("add_", 26),
        ("cat", 8),
        ("convolution", 26),
        ("max_pool2d_with_indices", 3),
        ("mean", 1),
        ("relu_", 26),
    ];
    ensure(ops == BTreeMap::from(expected), &format!("the operators, not {ops:?}"))?;
    // Every kernel but the first reads what an earlier one wrote last.
    for (at, kernel) in kernels.iter().enumerate().skip(1) {
        let wrote = kernels[..at].iter().rev().any(|before| overlap(&kernel.reads, &before.writes));
        ensure(wrote, &format!("kernel {at} reads what an earlier one wrote"))?;
    }
    // Both expansions read the squeeze's result, and each concatenation what both wrote.
    for (at, kernel) in kernels.iter().enumerate().filter(|(_, kernel)| kernel.op == "cat") {
        let [squeeze, left, right] = [at - 7, at - 4, at - 1].map(|at| kernels[at]);
        for side in [left, right] {
            ensure(
                side.op == "relu_" && kernel.reads.contains(&side.writes[0]),
                &format!("kernel {at} reads both"),
            )?;
        }
        for convolution in [at - 6, at - 3].map(|at| kernels[at]) {
            ensure(
                convolution.reads.contains(&squeeze.writes[0]),
                &format!("before kernel {at}: the squeeze's result"),
            )?;
        }
        ensure(!overlap(&left.writes, &right.writes), &format!("before kernel {at}: two results"))?;
    }
    check_memory(&import.trace)
}

#[test]
fn squeezenet_is_what_its_architecture_says() {
    let import = imported(&squeezenet()).expect("an import");
    assert_eq!(check(&import), Ok(()));
    assert_eq!(import.warnings, []);
    assert_eq!(import.trace.header.kernels, 90);
    // Weights and biases, in single precision, and the image.
    let weights: u64 = architecture().iter().map(|(input, output, k, _)| output * (input * k * k + 1)).sum();
    assert_eq!(weights, 1_235_496, "torchvision's count of parameters");
    let pool: u64 = import.trace.runs[0]
        .events
        .iter()
        .filter_map(|event| if let Event::Alloc(segment) = event { Some(segment.addr) } else { None })
        .min()
        .expect("an allocation");
    let mut constant: Vec<Segment> =
        kernels(&import).iter().flat_map(|k| k.reads.clone()).filter(|s| s.addr < pool).collect();
    constant.sort_unstable();
    constant.dedup();
    assert_eq!(constant.iter().map(|s| s.bytes).sum::<u64>(), 4 * (weights + 3 * 224 * 224));
    assert!(constant.iter().all(|s| s.addr % 512 == 0), "the first at {:?}", constant.first());
}

#[test]
fn without_reuse_every_memory_has_its_own_addresses() {
    let options = Options { reuse: false, ..Options::default() };
    let import = import_text("et.json", &squeezenet(), None, &options).expect("an import");
    assert_eq!(check(&import), Ok(()));
    let mut all: Vec<Segment> = import.trace.runs[0]
        .events
        .iter()
        .filter_map(|event| if let Event::Alloc(segment) = event { Some(*segment) } else { None })
        .collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].end() <= pair[1].addr));
}

#[test]
fn a_faulty_import_is_noticed() {
    let good: Value = serde_json::from_slice(&squeezenet()).expect("JSON");
    let noticed = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = good.clone();
        change(&mut changed);
        let import = imported(changed.to_string().as_bytes()).expect("an import");
        assert!(check(&import).is_err(), "{what}: not noticed");
    };
    let nodes = |json: &mut Value, name: &str, change: &dyn Fn(&mut Value)| {
        let all = json["nodes"].as_array_mut().expect("nodes");
        all.iter_mut().filter(|node| node["name"] == name).for_each(change);
    };
    noticed("a pooling that reads something else", &|json| {
        nodes(json, "aten::max_pool2d_with_indices", &|node| node["inputs"]["values"][0][1] = json!(999_999));
    });
    noticed("concatenations of one memory", &|json| {
        nodes(json, "aten::cat", &|node| {
            let first = node["inputs"]["values"][0][0][1].clone();
            node["inputs"]["values"][0][1][1] = first;
        });
    });
    noticed("convolutions that are views", &|json| {
        nodes(json, "aten::convolution", &|node| {
            node["outputs"]["values"][0][1] = node["inputs"]["values"][0][1].clone()
        });
    });
    noticed("elements of half the size", &|json| {
        nodes(json, "aten::convolution", &|node| node["inputs"]["values"][1][4] = json!(2));
    });
    noticed("an operator that is not there", &|json| {
        nodes(json, "aten::mean", &|node| node["attrs"][6]["value"] = json!(""));
    });
}

#[test]
fn damaged_files_are_errors_and_no_more() {
    let (large, small) = (squeezenet(), std::fs::read(data("by-hand-cuda.et.json")).expect("the data"));
    for (text, step) in [(&large, 20_011), (&small, 13)] {
        for length in (0..text.len() - 3).step_by(step) {
            let errors = imported(&text[..length]).expect_err("cut short");
            assert!(matches!(errors.0[0].problem, Problem::Truncated(..)), "{length}: {errors}");
        }
        // Digits, brackets and quotes changed here and there: an import or an error.
        let mut outcomes = [0, 0];
        for (i, at) in (7..text.len()).step_by(step / 2).enumerate() {
            let mut damaged = text.clone();
            damaged[at] = b"9[\"}-n, 0\xff"[i % 10];
            if i % 3 == 0 {
                damaged[at..].iter_mut().take(40).filter(|c| c.is_ascii_digit()).for_each(|c| *c = b'9');
            }
            outcomes[usize::from(imported(&damaged).is_ok())] += 1;
        }
        assert!(outcomes.iter().all(|n| *n > 3), "{outcomes:?}");
    }
    let packed = std::fs::read(data("squeezenet1_1.et.json.zst")).expect("the data");
    let cut = tempfile::NamedTempFile::new().expect("a file");
    for length in (5..packed.len()).step_by(997) {
        std::fs::write(cut.path(), &packed[..length]).expect("written");
        let errors = import(cut.path(), None, &Options::default()).expect_err("cut short");
        assert!(matches!(errors.0[0].problem, Problem::File(FileError::Zstd(_))), "{errors}");
    }
}

/// As `export_chrome_trace` writes a profile whose name ends in `.gz`.
#[test]
fn what_gzip_has_compressed_is_read() {
    let packed = |name: &str, bytes: usize| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&std::fs::read(data(name)).expect("the data")).expect("packed");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let packed = encoder.finish().expect("packed");
        std::fs::write(file.path(), &packed[..packed.len().min(bytes)]).expect("written");
        file
    };
    let (trace, profile) =
        (packed("by-hand-cuda.et.json", usize::MAX), packed("by-hand-cuda.kineto.json", usize::MAX));
    let both = import(trace.path(), Some(profile.path()), &Options::default());
    assert_eq!(both.expect("an import"), by_hand(true));
    let cut = packed("by-hand-cuda.et.json", 500);
    let errors = import(cut.path(), None, &Options::default()).expect_err("cut short");
    assert!(matches!(errors.0[0].problem, Problem::File(FileError::Gzip(_))), "{errors}");
}

#[test]
fn errors_say_what_and_where() {
    let says = |text: &str, words: &[&str]| {
        let errors = imported(text.as_bytes()).expect_err("an error").to_string();
        for word in words {
            assert!(errors.contains(word), "`{errors}` does not say `{word}`");
        }
    };
    let profile = std::fs::read_to_string(data("by-hand-cuda.kineto.json")).expect("the data");
    says(&profile, &["et.json: this is a profile", "ExecutionTraceObserver", "--kineto"]);
    says("{}", &["not an execution trace", "ExecutionTraceObserver"]);
    says("", &["ends early"]);
    says("HloModule m", &["not JSON"]);
    says(r#"{"schema":"1.0.4","nodes":[]}"#, &["field `schema`", "`1.0.4` is not known", "PyTorch 2.5"]);
    let node = |id: u64, parent: u64, value: Value, shape: Value| {
        let side =
            json!({"values": [value], "shapes": [shape], "types": ["Tensor(float)"], "strides": [[1]]});
        let none = json!({"values": [], "shapes": [], "types": [], "strides": []});
        json!({"id": id, "name": "aten::abs", "ctrl_deps": parent, "inputs": side, "outputs": none,
               "attrs": [{"name": "rf_id", "value": id}, {"name": "op_schema", "value": "aten::abs(Tensor self) -> Tensor"}]})
    };
    let document = |nodes: &[Value]| json!({"schema": "1.1.1", "nodes": nodes}).to_string();
    let bad = [
        node(7, 1, json!([1, 2, 3]), json!([4])),
        node(8, 1, json!([3, 4, 0, 5, 4, "cpu"]), json!([4])),
        node(8, 1, json!([3, 4, 0, 4, 4, "cpu"]), json!([4])),
        node(9, 1, json!([3, 4, 1u64 << 52, 4, 4, "cpu"]), json!([4])),
        json!({"id": 11}),
    ];
    says(
        &document(&bad),
        &[
            "et.json: node 7: field `inputs.values[0]`: it is [1,2,3]",
            "node 8: field `inputs.values[0]`: 5 elements, but its shape has 4",
            "node 8: field `id`: an earlier node",
            "node 9: field `inputs.values[0]`",
            "node 11: field `name`: it is missing",
        ],
    );
    let good = || json!([3, 4, 0, 4, 4, "cpu"]);
    says(
        &document(&[node(7, 9, good(), json!([4])), node(9, 7, good(), json!([4]))]),
        &["node 7: field `ctrl_deps`: 9 is not an earlier node"],
    );
    let many: Vec<Value> = (10..60).map(|id| node(id, 1, json!(null), json!([4]))).collect();
    says(&document(&many), &["reading stopped after 20 errors"]);
    let deep = format!(r#"{{"schema":"1.1.1","nodes":[{}"#, "[".repeat(100_000));
    says(&deep, &["recursion limit"]);
}

/// A chain of callers as deep as a file can have it.
#[test]
fn deep_call_chains_need_no_stack() {
    let none = json!({"values": [], "shapes": [], "types": [], "strides": []});
    let node = |id: u64| {
        json!({"id": id, "name": "f", "ctrl_deps": id - 1, "inputs": none, "outputs": none,
               "attrs": [{"name": "rf_id", "value": id}, {"name": "op_schema", "value": "f() -> ()"}]})
    };
    let nodes: Vec<Value> = (2..50_000).map(node).collect();
    let import =
        imported(json!({"schema": "1.1.1", "nodes": nodes}).to_string().as_bytes()).expect("an import");
    assert_eq!(kernels(&import).len(), 0);
}

fn by_hand(profile: bool) -> Imported {
    let kineto = data("by-hand-cuda.kineto.json");
    import(&data("by-hand-cuda.et.json"), profile.then_some(&*kineto), &Options::default())
        .expect("an import")
}

#[test]
fn a_profile_gives_kernels_in_launch_order() {
    let import = by_hand(true);
    let kernels = kernels(&import);
    let seen: Vec<(&str, KernelType, Option<u64>)> =
        kernels.iter().map(|k| (k.op.as_str(), k.kind, k.dur_ns)).collect();
    use KernelType::{Copy, Simt, Tensor};
    let expected = [
        ("_to_copy", Copy, Some(5500)),
        ("mm", Tensor, Some(20250)),
        ("mm", Simt, Some(2000)),
        ("add_", Simt, Some(3125)),
        ("triton_poi_fused_gelu_0", Simt, Some(4000)),
        ("sum", Simt, Some(6000)),
        // These two overlap.
        ("allreduce_", Simt, None),
        ("unknown", Simt, None),
        ("_local_scalar_dense", Copy, Some(1500)),
        ("sparkle", Simt, Some(2000)),
    ];
    assert_eq!(seen, expected);
    let product = kernels[1];
    assert_eq!(
        (product.grid, product.block, product.smem, product.regs),
        ([8, 4, 2], [128, 1, 1], 49152, Some(122))
    );
    assert_eq!((product.mnk, product.flops), (Some([256, 1024, 512, 1]), 2 * 256 * 1024 * 512));
    assert_eq!(kernels[2].flops, 0, "the arithmetic counts once");
    // The sum over the parts of K reads the result, too: it goes on with what the product has written.
    assert_eq!((&kernels[2].reads[..2], kernels[2].reads[2]), (&product.reads[..], product.writes[0]));
    assert_eq!(kernels[2].writes, product.writes);
    // The copy to the GPU reads the host's memory, which is not the GPU's.
    assert_eq!((kernels[0].reads.len(), kernels[0].writes.len()), (0, 1));
    assert_eq!(product.reads[0], kernels[0].writes[0]);
    // The kernel of the compiler reads the second half of each row, a range with gaps; the offset of a view counts elements.
    let triton = kernels[4];
    assert_eq!(triton.reads[0].addr, product.writes[0].addr + 512 * 2);
    assert_eq!((triton.reads[0].bytes, triton.traffic), ((255 * 1024 + 512) * 2, Some(4 * 256 * 512 * 2)));
    assert!(triton.est.iter().any(|field| field == "w"));
    assert_eq!(kernels[6].stream, 20);
    // Nothing says what the stranger does, so it may touch everything.
    let stranger = kernels[7];
    for other in &kernels {
        assert!(
            overlap(&stranger.writes, &other.reads) || overlap(&stranger.writes, &other.writes),
            "{}",
            other.op
        );
    }
    let unexplained = Warning::UnexplainedKernels(vec![("mystery_kernel".to_owned(), 1)]);
    let unknown = Warning::UnknownOperators(vec![("mylib::sparkle".to_owned(), 1)]);
    let no_source = Warning::NoSource(vec![("triton_poi_fused_gelu_0".to_owned(), 1)]);
    assert_eq!(import.warnings, [unknown, no_source, unexplained]);
    let gpu = &import.trace.header.gpu;
    assert_eq!((gpu.name.as_str(), gpu.sms), ("NVIDIA A100-SXM4-40GB", Some(108)));
    let syncs =
        import.trace.runs[0].events.iter().filter(|event| matches!(event, Event::Sync { .. })).count();
    assert_eq!(syncs, 1);
}

#[test]
fn the_same_without_a_profile_is_estimated() {
    let import = by_hand(false);
    let kernels = kernels(&import);
    let seen: Vec<&str> = kernels.iter().map(|k| k.op.as_str()).collect();
    assert_eq!(
        seen,
        [
            "_to_copy",
            "mm",
            "add_",
            "triton_poi_fused_gelu_0",
            "sum",
            "allreduce_",
            "_local_scalar_dense",
            "sparkle"
        ]
    );
    let no_source = Warning::NoSource(vec![("triton_poi_fused_gelu_0".to_owned(), 1)]);
    assert_eq!(
        import.warnings,
        [Warning::UnknownOperators(vec![("mylib::sparkle".to_owned(), 1)]), no_source]
    );
    assert_eq!((kernels[1].kind, kernels[1].smem), (KernelType::Tensor, 32768), "half precision");
    assert_eq!(kernels[3].grid, [256, 1, 1], "as the observer recorded it");
    assert_eq!((kernels[0].name.as_str(), kernels[0].kind), ("memcpy_h2d", KernelType::Copy));
    let events = &import.trace.runs[0].events;
    let sync = events.iter().position(|event| matches!(event, Event::Sync { .. })).expect("a wait");
    assert!(matches!(&events[sync - 1], Event::Kernel(kernel) if kernel.name == "memcpy_d2h"));
}

/// A copy to the host reads the GPU's memory and writes none of it.
#[test]
fn copies_to_the_host_are_there_and_waited_for() {
    let mut json: Value =
        serde_json::from_slice(&std::fs::read(data("by-hand-cuda.et.json")).expect("the data"))
            .expect("JSON");
    let nodes = json["nodes"].as_array_mut().expect("nodes");
    let there = nodes.iter().find(|node| node["name"] == "aten::_to_copy").expect("a copy").clone();
    let mut back = there.clone();
    (back["inputs"], back["outputs"]) = (there["outputs"].clone(), there["inputs"].clone());
    (back["id"], back["ctrl_deps"], back["attrs"][0]["value"]) = (json!(70), json!(2), json!(70));
    nodes.push(back);
    let import = imported(json.to_string().as_bytes()).expect("an import");
    let last = import.trace.kernels().last().expect("kernels");
    assert_eq!((last.name.as_str(), last.reads.len(), last.writes.len()), ("memcpy_d2h", 1, 0));
    assert_eq!(
        import.trace.runs[0].events.iter().filter(|event| matches!(event, Event::Sync { .. })).count(),
        2
    );
}

#[test]
fn profiles_of_something_else_are_refused() {
    let trace = std::fs::read(data("by-hand-cuda.et.json")).expect("the data");
    let profile = std::fs::read_to_string(data("by-hand-cuda.kineto.json")).expect("the data");
    let refused = |trace: &[u8], profile: &str| {
        let profile = Some(("profile.json", profile.as_bytes()));
        import_text("et.json", trace, profile, &Options::default()).expect_err("refused")
    };
    let renamed = profile.replace("\"name\": \"aten::", "\"name\": \"other::");
    let errors = refused(&trace, &renamed);
    assert!(matches!(errors.0[0].problem, Problem::AnotherRun { .. }), "{errors}");
    let errors = refused(&squeezenet(), &profile);
    assert!(matches!(errors.0[0].problem, Problem::NoGpuInTrace { kernels: 10 }), "{errors}");
    let errors = refused(&trace, std::str::from_utf8(&trace).expect("text"));
    assert!(matches!(errors.0[0].problem, Problem::NotAProfile), "{errors}");
    let errors = refused(&trace, &profile.replace("\"grid\": [8, 4, 2]", "\"grid\": [8, 0, 2]"));
    assert!(errors.to_string().contains("field `args.grid`: grid is [8,0,2]"), "{errors}");
    // One of a CPU has no kernels: that is said, and the rules step in.
    let cpu = profile.replace("\"kernel\"", "\"x\"").replace("\"gpu_memcpy\"", "\"x\"");
    let import = import_text("et.json", &trace, Some(("profile.json", cpu.as_bytes())), &Options::default());
    assert!(import.expect("an import").warnings.contains(&Warning::NoGpuKernels));
    for length in (0..profile.len() - 3).step_by(97) {
        let errors = refused(&trace, &profile[..length]);
        assert!(matches!(errors.0[0].problem, Problem::Truncated(..)), "{errors}");
    }
}

/// The kernels of the trace's GPU are the stream, whatever else ran.
#[test]
fn of_two_gpus_one_is_taken() {
    let trace = std::fs::read(data("by-hand-cuda.et.json")).expect("the data");
    let text = std::fs::read(data("by-hand-cuda.kineto.json")).expect("the data");
    let mut profile: Value = serde_json::from_slice(&text).expect("JSON");
    let other = json!({"id": 1, "name": "NVIDIA T4", "numSms": 40});
    profile["deviceProperties"].as_array_mut().expect("devices").push(other);
    let events = profile["traceEvents"].as_array_mut().expect("events");
    let mm = events.iter().find(|event| event["cat"] == "kernel").expect("a kernel").clone();
    // More than the first GPU ran, and all meanwhile.
    for correlation in 0..30 {
        let mut event = mm.clone();
        event["name"] = json!("elsewhere");
        event["args"]["device"] = json!(1);
        event["args"]["correlation"] = json!(505 + correlation);
        events.push(event);
    }
    let text = profile.to_string();
    let profile = Some(("profile.json", text.as_bytes()));
    let import = import_text("et.json", &trace, profile, &Options::default()).expect("an import");
    assert_eq!(import.trace.runs, by_hand(true).trace.runs);
    assert_eq!(import.trace.header.gpu, by_hand(true).trace.header.gpu);
    let left_out = vec![("elsewhere".to_owned(), 30)];
    let warning = Warning::ElsewhereOperators { device: "cuda:0".to_owned(), operators: left_out };
    assert_eq!(import.warnings[3..], [warning]);
    // Where the trace does not say which, the busiest is.
    let unnamed = String::from_utf8(trace).expect("text").replace("cuda:0", "cuda");
    let import = import_text("et.json", unnamed.as_bytes(), profile, &Options::default()).expect("an import");
    assert_eq!((import.trace.header.gpu.name.as_str(), kernels(&import).len()), ("NVIDIA T4", 30));
}

#[test]
fn what_is_imported_can_be_written_and_read() {
    for import in [by_hand(true), by_hand(false), imported(&squeezenet()).expect("an import")] {
        let mut writer =
            Writer::new(Vec::new(), "memory", &import.trace.header, Compression::Plain).expect("a header");
        writer.trace(&import.trace).expect("lines");
        let text = writer.finish().expect("text");
        let again = Trace::read(Reader::new(&text[..], "memory").expect("a header")).expect("a trace");
        assert_eq!(again.runs, import.trace.runs);
        assert_eq!(again.warnings, []);
    }
    assert_eq!(by_hand(true), by_hand(true), "the same each time");
}

/// Torchvision's fire modules hold their input until they return: a profile with `profile_memory=True` says so, an execution trace does not.
#[test]
fn a_profile_says_how_long_memory_lives() {
    let (trace, profile) = (data("squeezenet1_1.et.json.zst"), data("squeezenet1_1.kineto.json.zst"));
    let held = |profile: Option<&Path>| {
        let import = import(&trace, profile, &Options::default()).expect("an import");
        assert_eq!(check(&import), Ok(()));
        let kernels: Vec<Kernel> = import.trace.kernels().cloned().collect();
        let events = &import.trace.runs[0].events;
        let fires = kernels.iter().filter(|kernel| kernel.op == "cat");
        fires
            .filter(|cat| {
                // Three convolutions, each with a bias and a ReLU, are before it.
                let squeeze = &kernels[cat.index as usize - 9];
                let at = events
                    .iter()
                    .position(|e| matches!(e, Event::Kernel(k) if k.index == squeeze.index))
                    .expect("it");
                let ends = events[at..]
                    .iter()
                    .position(|e| matches!(e, Event::Free(s) if squeeze.reads.contains(s)))
                    .expect("an end");
                let kernels_before =
                    events[at..at + ends].iter().filter(|e| matches!(e, Event::Kernel(_))).count();
                kernels_before == 10
            })
            .count()
    };
    assert_eq!((held(None), held(Some(&profile))), (0, 8));
}

/// The kernels of one operator on the CPU, of contiguous tensors in single precision; `arguments` are shapes, lists of shapes, or other values.
fn operator(name: &str, schema: &str, arguments: &[Value], results: &[&[u64]]) -> Vec<Kernel> {
    let mut storage = 100;
    let mut tensor = |shape: &[u64]| {
        storage += 1;
        let numel: u64 = shape.iter().product();
        let strides: Vec<u64> = (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect();
        (json!([storage, storage, 0, numel, 4, "cpu"]), json!(shape), json!("Tensor(float)"), json!(strides))
    };
    let mut side = |values: Vec<Value>| {
        let mut lists = [const { Vec::new() }; 4];
        for value in values {
            // Shapes are lists of numbers under `t`, of lists of tensors under `l`.
            let shape = |shape: &Value| -> Vec<u64> {
                shape.as_array().expect("a shape").iter().filter_map(Value::as_u64).collect()
            };
            let (value, shape, kind, strides) = if let Some(one) = value.get("t") {
                tensor(&shape(one))
            } else if let Some(Value::Array(all)) = value.get("l") {
                let all: Vec<_> = all.iter().map(|one| tensor(&shape(one))).collect();
                let kinds = vec!["Tensor(float)"; all.len()].join(",");
                let of = |field: fn(&(Value, Value, Value, Value)) -> &Value| {
                    json!(all.iter().map(field).collect::<Vec<_>>())
                };
                (of(|t| &t.0), of(|t| &t.1), json!(format!("GenericList[{kinds}]")), of(|t| &t.3))
            } else {
                (value, json!([]), json!("Int"), json!([]))
            };
            for (list, field) in lists.iter_mut().zip([value, shape, kind, strides]) {
                list.push(field);
            }
        }
        let [values, shapes, types, strides] = lists;
        json!({"values": values, "shapes": shapes, "types": types, "strides": strides})
    };
    let inputs = side(arguments.to_vec());
    let outputs = side(results.iter().map(|shape| json!({"t": shape})).collect());
    let attributes = json!([{"name": "rf_id", "value": 1}, {"name": "op_schema", "value": schema}]);
    let node = json!({"id": 2, "name": name, "ctrl_deps": 1, "inputs": inputs, "outputs": outputs, "attrs": attributes});
    let text = json!({"schema": "1.1.1", "nodes": [node]}).to_string();
    let options = Options { tf32: true, ..Options::default() };
    let import = import_text("et.json", text.as_bytes(), None, &options).expect("an import");
    assert_eq!(import.warnings, [], "{name}");
    import.trace.kernels().cloned().collect()
}

/// Grids and FLOPs that recordings of other networks have, made another way: ALBERT, AlexNet, DenseNet, EfficientNet, DLRM, Llama.
#[test]
fn rules_agree_with_other_recordings() {
    let t = |shape: &[u64]| json!({"t": shape});
    let n = |n: i64| json!(n);
    let check = |kernel: &Kernel, grid: u32, block: u32, flops: u64, mnk: Option<[u64; 4]>| {
        let found = (kernel.grid, kernel.block, kernel.flops, kernel.mnk);
        assert_eq!(found, ([grid, 1, 1], [block, 1, 1], flops, mnk), "{}", kernel.name);
    };
    let mm = "aten::mm(Tensor self, Tensor mat2) -> Tensor";
    let kernels = operator("aten::mm", mm, &[t(&[2048, 512]), t(&[512, 256])], &[&[2048, 256]]);
    check(&kernels[0], 64, 128, 536_870_912, Some([2048, 256, 512, 1]));
    let kernels = operator("aten::mm", mm, &[t(&[1, 4]), t(&[4, 38400])], &[&[1, 38400]]);
    check(&kernels[0], 9600, 128, 307_200, Some([1, 38400, 4, 1]));
    let addmm =
        "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
    let arguments = [t(&[3072]), t(&[128, 768]), t(&[768, 3072]), n(1), n(1)];
    let kernels = operator("aten::addmm", addmm, &arguments, &[&[128, 3072]]);
    check(&kernels[0], 48, 128, 603_979_776, Some([128, 3072, 768, 1]));
    let bmm = "aten::bmm(Tensor self, Tensor mat2) -> Tensor";
    let kernels = operator("aten::bmm", bmm, &[t(&[12, 128, 64]), t(&[12, 64, 128])], &[&[12, 128, 128]]);
    check(&kernels[0], 48, 128, 25_165_824, Some([128, 128, 64, 12]));
    let softmax = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor";
    let kernels =
        operator("aten::_softmax", softmax, &[t(&[12, 128, 128]), n(-1), json!(false)], &[&[12, 128, 128]]);
    check(&kernels[0], 384, 128, 983_040, None);
    let kernels =
        operator("aten::_softmax", softmax, &[t(&[32, 1, 2049]), n(2), json!(false)], &[&[32, 1, 2049]]);
    check(&kernels[0], 32, 512, 327_840, None);
    let norm = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)";
    let arguments = [t(&[1, 128, 128]), json!([128]), t(&[128]), t(&[128]), json!(1e-5)];
    let kernels =
        operator("aten::native_layer_norm", norm, &arguments, &[&[1, 128, 128], &[1, 128, 1], &[1, 128, 1]]);
    check(&kernels[0], 128, 128, 131_072, None);
    let mean =
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
    let arguments = [t(&[1, 32, 112, 112]), json!([2, 3]), json!(true), json!("<None>")];
    let kernels = operator("aten::mean", mean, &arguments, &[&[1, 32, 1, 1]]);
    check(&kernels[0], 64, 512, 401_408, None);
    let convolution = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool \
                       transposed, SymInt[] output_padding, SymInt groups) -> Tensor";
    let rest = |groups| {
        [json!("<None>"), json!([1, 1]), json!([0, 0]), json!([1, 1]), json!(false), json!([0, 0]), n(groups)]
    };
    let arguments = [&[t(&[1, 64, 56, 56]), t(&[128, 64, 1, 1])][..], &rest(1)].concat();
    let kernels = operator("aten::convolution", convolution, &arguments, &[&[1, 128, 56, 56]]);
    check(&kernels[0], 50, 128, 51_380_224, Some([3136, 128, 64, 1]));
    assert_eq!((kernels.len(), kernels[0].kind), (1, KernelType::Tensor));
    let arguments = [&[t(&[1, 32, 112, 112]), t(&[32, 1, 3, 3])][..], &rest(32)].concat();
    let kernels = operator("aten::convolution", convolution, &arguments, &[&[1, 32, 112, 112]]);
    check(&kernels[0], 1568, 256, 7_225_344, None);
    let select = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor";
    let arguments = [t(&[30000, 128]), t(&[1, 128]), n(0), json!(false), json!(false)];
    let kernels = operator("aten::embedding", select, &arguments, &[&[1, 128, 128]]);
    check(&kernels[0], 32, 128, 0, None);
    assert_eq!(kernels[0].traffic, Some(512 + 2 * 65536), "the rows, not the table");
    assert_eq!(kernels[0].segment_bytes(), 15_360_000 + 512 + 65536);
}

/// Lists go by chunks of 64 Ki; a fused norm has no list, and is a norm.
#[test]
fn what_is_fused_over_lists_goes_by_chunks() {
    let square = "aten::_foreach_sqrt(Tensor[] self) -> Tensor[]";
    let list = json!({"l": [[1000, 100], [7], [65_536]]});
    let kernels = operator("aten::_foreach_sqrt", square, &[list], &[&[1000, 100], &[7], &[65_536]]);
    assert_eq!((kernels[0].grid, kernels[0].block, kernels[0].flops), ([4, 1, 1], [512, 1, 1], 165_543));
    let norm = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)";
    let arguments = [json!({"t": [8, 32, 256]}), json!([256]), json!({"t": [256]}), json!(1e-5)];
    let kernels = operator("aten::_fused_rms_norm", norm, &arguments, &[&[8, 32, 256], &[8, 32, 1]]);
    assert_eq!((kernels[0].grid, kernels[0].block, kernels[0].flops), ([256, 1, 1], [128, 1, 1], 8 * 65_536));
}

/// A table of 1000 rows of 64, of which three are updated: grid and bytes are those of the rows.
#[test]
fn a_scatter_in_place_is_as_large_as_its_updates() {
    let (table, index) = (tensor(&[1000, 64]), tensor(&[3]));
    let (rows, row) = (3 * 64, 4 * 64);
    let check = |name: &str, schema: &str, arguments: &[Value], grid: u64, traffic: u64| {
        let schema = format!("aten::{name}(Tensor(a!) self, {schema}) -> Tensor(a!)");
        let [kernel] = &operator(&format!("aten::{name}"), &schema, arguments, &[])[..] else {
            panic!("{name}: one kernel")
        };
        assert_eq!((u64::from(kernel.grid[0]), kernel.traffic), (grid, Some(traffic)), "{name}");
        assert!(kernel.reads.contains(&kernel.writes[0]), "{name}: what it leaves alone");
    };
    let source = tensor(&[3, 64]);
    let by_dim = [table.clone(), json!(0), index.clone(), source.clone()];
    check("index_copy_", "int dim, Tensor index, Tensor source", &by_dim, 1, 12 + 2 * 3 * row);
    let adding = "int dim, Tensor index, Tensor source, *, Scalar alpha=1";
    check("index_add_", adding, &by_dim, 1, 12 + 3 * 3 * row);
    let by_scalar = [table.clone(), json!(-2), index.clone(), json!(7)];
    check("index_fill_", "int dim, Tensor index, Scalar value", &by_scalar, 1, 12 + 3 * row);
    // An index per element.
    let elements = [table.clone(), json!(0), tensor(&[9, 64]), tensor(&[9, 64])];
    check("scatter_", "int dim, Tensor index, Tensor src", &elements, 2, 3 * 9 * row);
    check("scatter_add_", "int dim, Tensor index, Tensor src", &elements, 2, 4 * 9 * row);
    let put = "Tensor?[] indices, Tensor values, bool accumulate=False";
    let values = |values: Value, adds: bool| [table.clone(), json!({"l": [[3]]}), values, json!(adds)];
    check("index_put_", put, &values(source.clone(), false), 1, 12 + 2 * 3 * row);
    check("index_put_", put, &values(source, true), 1, 12 + 3 * 3 * row);
    check("index_put_", put, &values(tensor(&[]), false), 1, 12 + 4 + 4 * rows);
}

/// It is a copy of the table and the updates in that, as PyTorch's own is.
#[test]
fn a_scatter_out_of_place_is_a_copy_and_the_updates() {
    let schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor";
    // The index is larger than the table.
    let arguments = [tensor(&[10]), json!(0), tensor(&[5000]), tensor(&[5000])];
    let kernels = operator("aten::scatter_add", schema, &arguments, &[&[10]]);
    let [copy, scatter] = &kernels[..] else { panic!("two kernels") };
    assert_eq!((copy.kind, copy.segment_bytes(), copy.traffic), (KernelType::Copy, 80, None));
    assert_eq!((scatter.kind, scatter.grid[0]), (KernelType::Simt, 10));
    assert_eq!(scatter.traffic, Some(2 * 4 * 5000 + 2 * 40), "index, values, and the table there and back");
    assert!(scatter.reads.contains(&copy.writes[0]) && scatter.writes == copy.writes);
    assert!(!overlap(&scatter.reads, &copy.reads), "the table itself is done with");
    // A gather from a table that is smaller than what is gathered.
    let schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor";
    let kernels = operator("aten::index_select", schema, &arguments[..3], &[&[5000]]);
    assert_eq!(kernels[0].traffic, Some(40 + 2 * 4 * 5000), "the index and the result are whole");
}

/// A few results of many elements.
#[test]
fn what_searches_reads_all_of_its_input() {
    let topk = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)";
    let arguments = [tensor(&[8, 32000]), json!(5), json!(-1), json!(true), json!(true)];
    let kernels = operator("aten::topk", topk, &arguments, &[&[8, 5], &[8, 5]]);
    assert_eq!((kernels[0].grid[0], kernels[0].flops, kernels[0].traffic), (500, 256_000, None));
    let nonzero = "aten::nonzero(Tensor self) -> Tensor";
    let kernels = operator("aten::nonzero", nonzero, &[tensor(&[51200])], &[&[7, 1]]);
    assert_eq!((kernels[0].grid[0], kernels[0].traffic), (100, None));
    let search =
        "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False) -> Tensor";
    let kernels = operator("aten::searchsorted", search, &[tensor(&[100]), tensor(&[5120])], &[&[5120]]);
    assert_eq!((kernels[0].grid[0], kernels[0].traffic), (10, None));
}

/// As XLA's `reduce-window`.
#[test]
fn a_pooling_takes_every_element_of_its_windows() {
    let check = |name: &str, schema: &str, arguments: &[Value], results: &[u64], flops: u64| {
        let kernels = operator(
            &format!("aten::{name}"),
            &format!("aten::{name}({schema}) -> Tensor"),
            arguments,
            &[results],
        );
        assert_eq!((kernels.len(), kernels[0].flops), (1, flops), "{name}");
    };
    let schema = "Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0";
    let (image, strides) = (tensor(&[1, 8, 15, 15]), json!([2, 2]));
    let windows = |sides: Value| [image.clone(), sides, strides.clone(), json!([0, 0])];
    let results = [1, 8, 7, 7];
    check("max_pool2d_with_indices", schema, &windows(json!([3, 3])), &results, 8 * 49 * 9);
    check("avg_pool2d", schema, &windows(json!([3, 1])), &results, 8 * 49 * 3);
    check("avg_pool2d", schema, &windows(json!([3])), &results, 8 * 49 * 9);
    // Windows of another size each, and a result of each gradient.
    check(
        "_adaptive_avg_pool2d",
        "Tensor self, SymInt[2] output_size",
        &[image.clone(), json!([7, 7])],
        &results,
        8 * 225,
    );
    let backward = "Tensor grad_output, Tensor self, int[2] kernel_size";
    let arguments = [tensor(&results), image.clone(), json!([3, 3])];
    check("avg_pool2d_backward", backward, &arguments, &[1, 8, 15, 15], 8 * 225);
}

/// Sequences of different lengths behind each other, as FlashAttention takes them.
#[test]
fn a_packed_attention_has_all_its_sequences() {
    let schema = "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, \
                  SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask) -> (Tensor, Tensor)";
    let lengths = |ends: Value, longest: Value| {
        let packed = tensor(&[1000, 8, 64]);
        let arguments =
            [packed.clone(), packed.clone(), packed, ends.clone(), ends, longest.clone(), longest];
        let kernels =
            operator("aten::_flash_attention_forward", schema, &arguments, &[&[1000, 8, 64], &[8, 1000]]);
        assert!(kernels[0].est.contains(&"flops".to_owned()));
        (kernels.len(), kernels[0].grid[0], kernels[0].flops)
    };
    let all = 2 * 1000 * 8 * (64 + 64);
    // Four sequences, the longest of 400: each query meets 400 keys at most.
    assert_eq!(lengths(tensor(&[5]), json!(400)), (1, 4 * 8 * 4, all * 400));
    // Nothing recorded: one sequence.
    assert_eq!(lengths(json!("<None>"), json!("<None>")), (1, 8 * 8, all * 1000));
}

/// Its result is no tensor, but the host waits for it.
#[test]
fn a_comparison_is_a_reduction_and_a_copy_to_the_host() {
    let t = |storage: u64| json!([storage, storage, 0, 5120, 4, "cpu"]);
    let each = |what: Value| json!([what, what]);
    let inputs = json!({"values": [t(10), t(11)], "shapes": each(json!([5120])), "types": each(json!("Tensor(float)")),
                        "strides": each(json!([1]))});
    let outputs = json!({"values": [true], "shapes": [[]], "types": ["Bool"], "strides": [[]]});
    let schema = "aten::equal(Tensor self, Tensor other) -> bool";
    let attributes = json!([{"name": "rf_id", "value": 2}, {"name": "op_schema", "value": schema}]);
    let node = json!({"id": 2, "name": "aten::equal", "ctrl_deps": 1, "inputs": inputs, "outputs": outputs, "attrs": attributes});
    let text = json!({"schema": "1.1.1", "nodes": [node]}).to_string();
    let import = imported(text.as_bytes()).expect("an import");
    assert_eq!((check_memory(&import.trace), &import.warnings[..]), (Ok(()), &[][..]));
    let [reduce, copy] = kernels(&import)[..] else { panic!("two kernels") };
    assert_eq!((&reduce.name[..], reduce.flops, reduce.reads.len()), ("reduce_equal", 5120, 2));
    assert_eq!((&copy.name[..], copy.kind, &copy.reads), ("memcpy_d2h", KernelType::Copy, &reduce.writes));
    assert_eq!((copy.reads[0].bytes, copy.writes.len()), (1, 0));
    let events = &import.trace.runs[0].events;
    let waits = events.iter().position(|event| matches!(event, Event::Sync { .. })).expect("a wait");
    assert!(matches!(&events[waits - 1], Event::Kernel(kernel) if kernel.index == 1));
}

/// Each gradient has the products of the forward pass once more.
#[test]
fn a_convolution_s_gradients_are_kernels_of_their_own() {
    let schema = "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, \
                  SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
    let t = |shape: &[u64]| json!({"t": shape});
    let lists = [
        json!([128]),
        json!([1, 1]),
        json!([1, 1]),
        json!([1, 1]),
        json!(false),
        json!([0, 0]),
        json!(1),
        json!([true, true, true]),
    ];
    let arguments = [&[t(&[2, 128, 28, 28]), t(&[2, 64, 28, 28]), t(&[128, 64, 3, 3])][..], &lists].concat();
    let results: [&[u64]; 3] = [&[2, 64, 28, 28], &[128, 64, 3, 3], &[128]];
    let kernels = operator("aten::convolution_backward", schema, &arguments, &results);
    let pixels = 2 * 28 * 28;
    let mnk: Vec<_> = kernels.iter().map(|kernel| kernel.mnk).collect();
    assert_eq!(mnk, [Some([pixels, 64, 128 * 9, 1]), Some([128, 64 * 9, pixels, 1]), None]);
    assert!(kernels[..2].iter().all(|kernel| kernel.flops == 2 * pixels * 128 * 64 * 9));
    let sizes = |segments: &[Segment]| segments.iter().map(|s| s.bytes / 4).collect::<Vec<_>>();
    assert_eq!(
        (sizes(&kernels[1].reads), sizes(&kernels[1].writes)),
        (vec![pixels * 128, pixels * 64], vec![128 * 64 * 9])
    );
    assert_eq!((sizes(&kernels[2].reads), sizes(&kernels[2].writes)), (vec![pixels * 128], vec![128]));
}

fn tensor(shape: &[u64]) -> Value {
    json!({"t": shape})
}

/// An LSTM layer of 5 steps, 3 sequences, 32 inputs, 64 hidden units, of which oneDNN makes one operator.
fn lstm(reverse: bool) -> (&'static str, Vec<Value>) {
    let schema = "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, \
                  bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, \
                  bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)";
    let shapes: [&[u64]; 7] = [&[5, 3, 32], &[256, 32], &[256, 64], &[256], &[256], &[3, 64], &[3, 64]];
    let rest = [json!(reverse), json!([]), json!(2), json!(64), json!(1), json!(true), json!(false)];
    let flags = [json!(false), json!(true)];
    (schema, shapes.map(tensor).into_iter().chain(rest).chain(flags).collect())
}

#[test]
fn a_recurrent_layer_is_a_kernel_per_time_step() {
    let outputs: [&[u64]; 4] = [&[5, 3, 64], &[3, 64], &[3, 64], &[1000]];
    for reverse in [false, true] {
        let (schema, arguments) = lstm(reverse);
        let kernels = operator("aten::mkldnn_rnn_layer", schema, &arguments, &outputs);
        assert_eq!(kernels.len(), 5);
        // The four gates of each unit and sequence are sums over inputs and hidden state.
        assert!(kernels.iter().all(|kernel| kernel.mnk == Some([3, 4 * 64, 32 + 64, 1])));
        assert!(kernels.iter().all(|kernel| kernel.flops == 2 * 3 * 256 * 96));
        for pair in kernels.windows(2) {
            assert!(overlap(&pair[1].reads, &pair[0].writes[..1]), "the hidden state of the step before");
            assert!(!overlap(&pair[1].writes[..1], &pair[0].writes[..1]), "each step has its own result");
        }
        let mut slices: Vec<u64> = kernels.iter().map(|kernel| kernel.writes[0].addr).collect();
        assert_eq!(slices.is_sorted_by(|a, b| a > b), reverse);
        slices.sort_unstable();
        let apart: Vec<u64> = slices.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(
            (apart, kernels[0].writes[0].bytes),
            (vec![3 * 64 * 4; 4], 3 * 64 * 4),
            "all of the output"
        );
        let read: u64 = kernels.iter().map(|kernel| kernel.reads[0].bytes).sum();
        assert_eq!(read, 5 * 3 * 32 * 4, "all of the input, once");
        // Input, weights and biases, states, a fifth of the workspace each way.
        let weights = 256 * (32 + 64 + 1 + 1);
        let moved = 4 * (3 * 32 + weights + 2 * 3 * 64 + 2 * 3 * 64) + 2 * 4 * 1000 / 5;
        assert_eq!(kernels[0].traffic, Some(moved));
    }
}

#[test]
fn a_recurrent_layer_goes_back_step_by_step() {
    let schema = "aten::mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, \
                  Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, \
                  int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, int[] batch_sizes, \
                  bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)";
    let shapes: [&[u64]; 11] = [
        &[5, 3, 32],
        &[256, 32],
        &[256, 64],
        &[256],
        &[256],
        &[3, 64],
        &[3, 64],
        &[5, 3, 64],
        &[3, 64],
        &[3, 64],
        &[5, 3, 64],
    ];
    let none = || json!("<None>");
    let rest = [none(), none(), json!(false), json!(2), json!(64), json!(1), json!(true), json!(true)];
    let last = [json!(false), json!([]), json!(false), tensor(&[1000])];
    let arguments: Vec<Value> = shapes.map(tensor).into_iter().chain(rest).chain(last).collect();
    let results: [&[u64]; 7] = [&[5, 3, 32], &[256, 32], &[256, 64], &[256], &[256], &[3, 64], &[3, 64]];
    let kernels = operator("aten::mkldnn_rnn_layer_backward", schema, &arguments, &results);
    let forward = 2 * 3 * 256 * 96;
    let flops: Vec<u64> = kernels.iter().map(|kernel| kernel.flops).collect();
    assert_eq!(flops, [forward, forward, forward, forward, forward, 5 * forward]);
    let first: Vec<u64> = kernels[..5].iter().map(|kernel| kernel.writes[0].addr).collect();
    assert!(first.is_sorted_by(|a, b| a > b), "the last step first");
    let sizes: Vec<u64> = kernels[5].writes.iter().map(|segment| segment.bytes / 4).collect();
    assert_eq!(sizes, [256 * 32, 256 * 64, 256, 256], "the weights' gradients, once for all steps");
    assert!(kernels.windows(2).all(|pair| overlap(&pair[1].reads, &pair[0].writes)), "one after another");
}

/// cuDNN's operator is all layers of a network.
#[test]
fn a_recurrent_network_in_one_operator_has_all_its_products() {
    let schema = "aten::_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, int mode, \
                  SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, bool bidirectional, \
                  SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)";
    let weights = json!({"l": [[256, 32], [256, 64], [256], [256], [256, 64], [256, 64], [256], [256]]});
    let arguments =
        [tensor(&[5, 3, 32]), weights, json!(4), tensor(&[58368]), tensor(&[2, 3, 64]), tensor(&[2, 3, 64])];
    let kernels = operator("aten::_cudnn_rnn", schema, &arguments, &[&[5, 3, 64], &[2, 3, 64], &[2, 3, 64]]);
    let found: Vec<_> = kernels.iter().map(|kernel| (&kernel.name[..], kernel.flops)).collect();
    assert_eq!(found, [("rnn_persistent", 2 * 15 * 256 * (32 + 64 + 64 + 64))]);
}

#[test]
fn a_fourier_transform_is_a_kernel_per_dimension() {
    let schema = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor";
    let arguments = [tensor(&[3, 16, 32]), json!([1, 2]), json!(0), json!(true)];
    let kernels = operator("aten::_fft_c2c", schema, &arguments, &[&[3, 16, 32]]);
    let flops: Vec<u64> = kernels.iter().map(|kernel| kernel.flops).collect();
    assert_eq!(flops, [5 * 1536 * 4, 5 * 1536 * 5]);
    assert_eq!(kernels[1].reads, kernels[0].writes, "the second in place");
}

/// What an operator of an extension does beside what it calls: of two results it has one from `aten::add`.
#[test]
fn what_an_operator_does_beside_its_calls_is_not_lost() {
    let t = |storage: u64| json!([storage, storage, 0, 64, 4, "cpu"]);
    let side = |values: &[u64]| {
        let each = |what: Value| vec![what; values.len()];
        let tensors: Vec<Value> = values.iter().map(|storage| t(*storage)).collect();
        json!({"values": tensors, "shapes": each(json!([64])), "types": each(json!("Tensor(float)")), "strides": each(json!([1]))})
    };
    let node = |id: u64, parent: u64, name: &str, schema: &str, inputs: &[u64], outputs: &[u64]| {
        let attributes = json!([{"name": "rf_id", "value": id}, {"name": "op_schema", "value": schema}]);
        json!({"id": id, "name": name, "ctrl_deps": parent, "inputs": side(inputs), "outputs": side(outputs), "attrs": attributes})
    };
    let add = "aten::add.Tensor(Tensor self, Tensor other) -> Tensor";
    let import = |outputs: &[u64]| {
        let results = vec!["Tensor"; outputs.len()].join(", ");
        let own = format!("mine::both(Tensor a, Tensor b) -> ({results})");
        let nodes = [
            node(2, 1, "mine::both", &own, &[10, 11], outputs),
            node(3, 2, "aten::add", add, &[10, 11], &[12]),
        ];
        imported(json!({"schema": "1.1.1", "nodes": nodes}).to_string().as_bytes()).expect("an import")
    };
    let whole = import(&[12]);
    assert_eq!((kernels(&whole).len(), &whole.warnings[..]), (1, &[][..]));
    let both = import(&[12, 13]);
    let names: Vec<&str> = kernels(&both).iter().map(|kernel| &kernel.op[..]).collect();
    assert_eq!(names, ["add", "both"]);
    assert_eq!(both.warnings, [Warning::UnknownOperators(vec![("mine::both".to_owned(), 1)])]);
    let [add, rest] = kernels(&both)[..] else { unreachable!() };
    assert_eq!((rest.writes.len(), overlap(&rest.writes, &add.writes)), (1, false), "the other result alone");
    assert!(rest.est.contains(&"r".to_owned()));
}

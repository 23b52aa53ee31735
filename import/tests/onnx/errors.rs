//! What is wrong with a model, and damaged ones.

use crate::build::*;
use prost::Message;
use std::path::Path;
use windlass_import::FileError;
use windlass_import::onnx::proto::*;
use windlass_import::onnx::{Options, Problem, import, import_bytes};

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
            "m.onnx: field `--dim lenght`: no dimension has this name; choose one of batch, length",
            "m.onnx: field `input ids`: dimension 0 has no size; give it one with --dim 'batch=N'",
        ],
    );
    let mut twice = dims(&[("batch", 4)]);
    assert!(twice.set_dim("length", 128).is_ok() && with(&twice, &transformer()).is_ok());
    let problem = twice.set_dim("batch", 4).expect_err("a second size");
    assert_eq!(problem.to_string(), "it is given twice, as 4 and as 4; give each dimension one size");
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
            "m.onnx: field `input s`: elements of type 8 do not exist on a GPU",
            "m.onnx: field `input t`: it is not a tensor",
            "m.onnx: node 0 (Conv): the input has 3 channels, the weights 4",
            "m.onnx: node 2 (Loop): which kernels run is decided only while the model runs",
            "m.onnx: node 3 (Relu): field `input[0]`: no earlier node produces `nowhere`",
            "m.onnx: node 4 (Transpose): [0, 0] of 2 dimensions",
            "m.onnx: node 5 (mine::Own): it is a function of the model",
            "m.onnx: node 6 (Relu): an earlier node, input or initializer is also called `y`",
            "m.onnx: node 7 (MaxPool): field `kernel_shape`: it is missing",
            "m.onnx: node 10 (Cast): elements of type 8",
            "m.onnx: node 11 (Expand): a tensor of shape [1125899906842624, 4, 5] has more than 2^53 bytes",
        ],
    );
    let many = (0..50).map(|at| node(&format!("n{at} = Relu nowhere{at}"), &[])).collect();
    let errors = with(&plain, &model(&[], &[], many)).expect_err("many").to_string();
    assert!(errors.ends_with("reading stopped after 20 errors; there may be more"), "{errors}");
    let empty = ModelProto::default();
    says(&empty, &plain, &["m.onnx: it has no graph"]);
    let text = import_bytes("m.onnx", b"{\"nodes\": []}".to_vec(), &plain).expect_err("JSON").to_string();
    assert!(text.starts_with("m.onnx: it is not an ONNX model"), "{text}");
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

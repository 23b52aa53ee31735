//! Each kernel against its definition in `f64`, its declaration against what it touches, its limits, and its CUDA text against its
//! parameters.

use proptest::prelude::*;
use windlass_kernels::{Activation, Binary, Convolution, Error, Library, all, random_checks, self_checks};
use windlass_runtime::runtime::{Cpu, CudaCode, CudaKernel, Mode, Runtime};

fn runtime() -> Runtime {
    Runtime::builder().executor(Cpu::new(2).unwrap()).build().unwrap()
}

#[test]
fn kernels_agree_with_their_definitions() {
    let checks = self_checks(&mut runtime()).unwrap();
    let failed: Vec<_> = checks.iter().filter(|check| !check.passes()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    for kernel in all() {
        let mut of_it = checks.iter().filter(|check| check.kernel == kernel.name()).peekable();
        assert!(of_it.peek().is_some(), "{} is not checked", kernel.name());
        let share = |check: &windlass_kernels::SelfCheck| match check.tolerance {
            0.0 => 0.0,
            tolerance => check.error / tolerance,
        };
        println!("{:<18} {:.3} of its tolerance", kernel.name(), of_it.map(share).fold(0.0, f64::max));
    }
}

#[test]
fn kernels_touch_what_they_declare() {
    let mut rt = Runtime::builder().executor(Cpu::new(2).unwrap()).check(true).build().unwrap();
    self_checks(&mut rt).unwrap();
    rt.synchronize().unwrap();
    let wrong: Vec<_> = rt.findings().into_iter().filter(|found| found.violation.is_unsafe()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn kernels_agree_on_random_shapes(seed: u64) {
        let failed: Vec<_> =
            random_checks(&mut runtime(), seed).unwrap().into_iter().filter(|check| !check.passes()).collect();
        prop_assert!(failed.is_empty(), "seed {}: {:#?}", seed, failed);
    }
}

/// The entry's parameters in the text are those of the kernel: a pointer for a buffer, to `const` where it is only read, and a number for
/// a number.
#[test]
fn cuda_parameters_are_those_of_the_kernel() {
    let mut rt = runtime();
    for kernel in all() {
        let Some(CudaCode::Source { text, entry: name }) = kernel.cuda_kernel().map(CudaKernel::code) else {
            panic!("{} has no CUDA source", kernel.name());
        };
        let entry = format!(" {name}(");
        let list = text
            .split("extern \"C\" __global__")
            .skip(1)
            .filter_map(|part| part.split_once('{').map(|(head, _)| head.replace('\n', " ")))
            .find_map(|head| {
                head.split_once(&entry).map(|(_, list)| list.trim().trim_end_matches(')').to_string())
            })
            .unwrap_or_else(|| panic!("{} has no entry {name}", kernel.name()));
        let found: Vec<_> = list
            .split(',')
            .map(|parameter| match (parameter.contains('*'), parameter.contains("const")) {
                (false, _) => None,
                (true, constant) => Some(constant),
            })
            .collect();
        let name = kernel.name().to_string();
        let registered = rt.register(kernel).unwrap();
        let parameters = rt.parameters(registered).unwrap();
        let declared: Vec<_> =
            parameters.iter().map(|(mode, _)| mode.map(|mode| mode == Mode::Read)).collect();
        assert_eq!(found, declared, "{name}");
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = all().iter().map(|kernel| kernel.name().to_string()).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn an_index_that_is_not_there_is_a_failure_on_the_cpu() {
    let mut rt = runtime();
    let kernels = Library::register(&mut rt).unwrap();
    let (x, y) = (rt.buffer::<f32>(6).unwrap(), rt.buffer::<f32>(4).unwrap());
    let index = rt.buffer_from(&[1u32, 3]).unwrap();
    kernels.gather_rows(&mut rt, x, index, y, [2, 2, 3]).unwrap();
    let error = rt.synchronize().unwrap_err().to_string();
    assert!(error.contains("gather_rows") && error.contains("index 1 is 3"), "{error}");
    kernels.scatter_rows(&mut rt, x, index, y, [2, 3, 1]).unwrap_err();
    let (x, y) = (rt.buffer::<f32>(4).unwrap(), rt.buffer::<f32>(6).unwrap());
    kernels.scatter_rows(&mut rt, x, index, y, [2, 2, 3]).unwrap();
    let error = rt.synchronize().unwrap_err().to_string();
    assert!(error.contains("scatter_rows") && error.contains("choose 0 to 2"), "{error}");
}

#[test]
fn of_equal_numbers_the_last_row_is_scattered() {
    let mut rt = runtime();
    let kernels = Library::register(&mut rt).unwrap();
    let x = rt.buffer_from(&(0..500).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let y = rt.buffer_from(&[-1.0f32; 3]).unwrap();
    let index = rt.buffer_from(&(0..500).map(|i| 2 * (i % 2)).collect::<Vec<u32>>()).unwrap();
    for _ in 0..20 {
        kernels.scatter_rows(&mut rt, x, index, y, [500, 1, 3]).unwrap();
        assert_eq!(rt.read(y).unwrap(), [498.0, -1.0, 499.0]);
    }
}

#[test]
fn softmax_stands_large_numbers_and_layer_norm_small_variances() {
    let mut rt = runtime();
    let kernels = Library::register(&mut rt).unwrap();
    let x = rt.buffer_from(&[1e30f32, 1e30, -1e30, 88.0]).unwrap();
    let y = rt.buffer(4).unwrap();
    kernels.softmax_rows(&mut rt, x, y, [1, 4]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [0.5, 0.5, 0.0, 0.0]);
    let x = rt.buffer_from(&[4096.0f32, 4096.5, 4096.0, 4096.5]).unwrap();
    let (one, zero) = (rt.buffer_from(&[1.0f32; 4]).unwrap(), rt.buffer(4).unwrap());
    kernels.layer_norm_rows(&mut rt, x, one, zero, y, [1, 4], 1e-12).unwrap();
    assert_eq!(rt.read(y).unwrap(), [-1.0, 1.0, -1.0, 1.0]);
}

#[test]
fn special_numbers_go_where_the_pages_say() {
    let mut rt = runtime();
    let kernels = Library::register(&mut rt).unwrap();
    let x = rt.buffer_from(&[f32::NAN, -3.0, f32::NAN, f32::NAN]).unwrap();
    let y = rt.buffer::<f32>(2).unwrap();
    kernels.max_rows(&mut rt, x, y, [2, 2]).unwrap();
    assert_eq!(rt.read(y).unwrap(), [-3.0, f32::NEG_INFINITY]);
    let z = rt.buffer::<f32>(4).unwrap();
    kernels.unary(&mut rt, Activation::Relu, x, z).unwrap();
    assert_eq!(rt.read(z).unwrap(), [0.0; 4]);
}

#[test]
fn tf32_is_rounded_half_away() {
    use windlass_kernels::round_to_tf32;
    let step = 2f32.powi(-10);
    assert_eq!(round_to_tf32(1.0 + 0.5 * step), 1.0 + step);
    assert_eq!(round_to_tf32(-1.0 - 0.5 * step), -1.0 - step);
    assert_eq!(round_to_tf32(1.0 + 0.499 * step), 1.0);
    assert_eq!(round_to_tf32(2.0 - 0.25 * step), 2.0);
    assert!(round_to_tf32(f32::NAN).is_nan());
    assert_eq!(round_to_tf32(f32::INFINITY), f32::INFINITY);
}

/// Each of these is refused with the field, and nothing is launched.
#[test]
fn wrong_launches_are_refused() {
    let mut rt = runtime();
    let kernels = Library::register(&mut rt).unwrap();
    let buffer = rt.buffer::<f32>(64).unwrap();
    let other = rt.buffer::<f32>(64).unwrap();
    let (a, b) = (buffer.slice(0..16), other.slice(0..16));
    let big = 1 << 20;
    let range = |result: Result<_, Error>, name: &str| match result.unwrap_err() {
        Error::Range { field, .. } => assert_eq!(field, name),
        error => panic!("{error}"),
    };
    let length = |result: Result<_, Error>, name: &str, elements| match result.unwrap_err() {
        Error::Length { argument, want, .. } => assert_eq!((argument, want), (name, elements)),
        error => panic!("{error}"),
    };
    let overlap = |result: Result<_, Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Overlap { .. }), "{error}");
    };
    range(kernels.gemm(&mut rt, &a, &a, &b, [4, 0, 4]), "n");
    let error = kernels.gemm(&mut rt, &a, &a, &b, [big, 4, big]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { argument: "a", .. }), "{error}");
    range(kernels.gemm(&mut rt, &a, &a, &b, [usize::MAX, 4, 4]), "m");
    length(kernels.gemm(&mut rt, &a, &a, &b, [4, 4, 5]), "a", 20);
    length(kernels.gemm_tf32(&mut rt, &a, &a, buffer, [4, 4, 4]), "c", 16);
    overlap(kernels.gemm(&mut rt, &a, &b, buffer.slice(15..31), [4, 4, 4]));
    kernels.gemm(&mut rt, &a, &b, buffer.slice(16..32), [4, 4, 4]).unwrap();

    let sizes = Convolution {
        batch: 1,
        channels: 1,
        height: 4,
        width: 4,
        filters: 1,
        filter: [2, 2],
        stride: 1,
        padding: 0,
    };
    length(kernels.conv2d(&mut rt, &a, buffer.slice(20..24), &b, sizes), "y", 9);
    let wrong = Convolution { filter: [2, 5], ..sizes };
    range(kernels.conv2d(&mut rt, &a, buffer.slice(20..24), &b, wrong), "filter[1]");
    let wrong = Convolution { stride: 0, ..sizes };
    range(kernels.conv2d(&mut rt, &a, buffer.slice(20..24), &b, wrong), "stride");
    let wrong = Convolution { padding: 65536, ..sizes };
    range(kernels.conv2d(&mut rt, &a, buffer.slice(20..24), &b, wrong), "padding");

    length(kernels.binary(&mut rt, Binary::Add, &a, buffer, &b), "y", 16);
    overlap(kernels.binary(&mut rt, Binary::Add, &a, &b, buffer.slice(1..17)));
    kernels.binary(&mut rt, Binary::Add, &a, &b, &a).unwrap();
    range(kernels.unary(&mut rt, Activation::Tanh, buffer.slice(0..0), buffer.slice(0..0)), "y");
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let backwards = buffer.slice(9..5);
    range(kernels.copy(&mut rt, &backwards, &backwards), "y");
    let bias = buffer.slice(32..35);
    length(kernels.bias_activation(&mut rt, Activation::Relu, &a, &bias, &b, 2), "y", 18);
    range(kernels.bias_activation(&mut rt, Activation::Relu, &a, &bias, &b, 0), "inner");
    overlap(kernels.bias_activation(&mut rt, Activation::Relu, &a, buffer.slice(0..4), &a, 4));

    length(kernels.sum_rows(&mut rt, &a, &b, [4, 4]), "y", 4);
    range(kernels.sum_rows(&mut rt, &a, &b, [4, 0]), "cols");
    overlap(kernels.softmax_rows(&mut rt, &a, &a, [4, 4]));
    let four = buffer.slice(32..36);
    for epsilon in [0.0, -1.0, f32::NAN] {
        range(kernels.layer_norm_rows(&mut rt, &a, &four, &four, &b, [4, 4], epsilon), "epsilon");
    }
    length(kernels.layer_norm_rows(&mut rt, &a, &four, &bias, &b, [4, 4], 1e-5), "bias", 4);

    let index = rt.buffer::<u32>(4).unwrap();
    length(kernels.gather_rows(&mut rt, &a, index, &b, [5, 4, 4]), "index", 5);
    range(kernels.scatter_rows(&mut rt, &a, index, &b, [4, 4, 0]), "to_rows");
    range(kernels.copy_block(&mut rt, buffer, other, [2, 8, 7, 8]), "from_stride");
    length(kernels.copy_block(&mut rt, buffer, other, [9, 8, 8, 8]), "from", 72);
    kernels.copy_block(&mut rt, buffer, other, [8, 4, 8, 8]).unwrap();
    // Past the buffer's end: the runtime says so.
    let error = kernels.copy(&mut rt, buffer.slice(60..70), other.slice(0..10)).unwrap_err();
    assert!(matches!(error, Error::Runtime(_)), "{error}");
    rt.synchronize().unwrap();
}

/// Blocks side by side in one matrix share no row that is named, so that neither waits for the other.
#[test]
fn copies_of_blocks_that_lie_side_by_side_are_independent() {
    use windlass_runtime::graph::DependencyGraph;
    let upstream = |rows: usize| {
        let mut rt = Runtime::builder().record(true).build().unwrap();
        let kernels = Library::register(&mut rt).unwrap();
        let (from, to) = (rt.buffer::<f32>(rows * 8).unwrap(), rt.buffer::<f32>(rows * 8).unwrap());
        kernels.copy_block(&mut rt, from, to, [rows, 4, 4, 8]).unwrap();
        kernels.copy_block(&mut rt, from, to.slice(4..rows * 8), [rows, 4, 4, 8]).unwrap();
        rt.synchronize().unwrap();
        let trace = rt.recording().unwrap().trace;
        DependencyGraph::build(&trace.kernels().collect::<Vec<_>>()).unwrap().edges()
    };
    assert_eq!((upstream(251), upstream(252)), (0, 1));
}

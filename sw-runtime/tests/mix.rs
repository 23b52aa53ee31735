//! Synthetic mixes: their dependencies are what their shape says, and nothing else.

use windlass_runtime::analysis::critical_path;
use windlass_runtime::graph::{DependencyGraph, Rule};
use windlass_runtime::hazards::{self, Class};
use windlass_runtime::ktrace::{Compression, Kernel, KernelType, Trace, Writer};
use windlass_runtime::mix::{Mix, Shape};

fn kernels(trace: &Trace) -> Vec<&Kernel> {
    trace.kernels().collect()
}

fn graph(trace: &Trace) -> DependencyGraph {
    DependencyGraph::build(&kernels(trace)).unwrap()
}

/// The defaults, and others.
fn mixes() -> Vec<Mix> {
    let mut mixes = Shape::ALL.map(Mix::new).to_vec();
    for shape in Shape::ALL {
        let (min, max) = shape.stages().into_inner();
        for stages in [min, 5, max] {
            mixes.push(Mix { shape, stages, tiles: 3, ctas: 4 });
        }
    }
    mixes
}

/// Kernels, edges and depth of a tile.
fn tile(mix: &Mix) -> (usize, usize, usize) {
    let stages = mix.stages as usize;
    match mix.shape {
        Shape::Pipeline => (stages, stages - 1, stages),
        Shape::Reduction => ((2 << stages) - 1, (2 << stages) - 2, stages + 1),
        Shape::Fork => (2 * stages + 1, 2 * stages, stages + 1),
    }
}

/// What kernel `k` of a tile waits for.
fn upstream(mix: &Mix, k: usize) -> Vec<usize> {
    match mix.shape {
        Shape::Pipeline => k.checked_sub(1).into_iter().collect(),
        // The tree is laid out level by level: the two inputs of each sum follow on those of the sum before.
        Shape::Reduction => match k.checked_sub(1 << mix.stages) {
            None => vec![],
            Some(sum) => vec![2 * sum, 2 * sum + 1],
        },
        // s0, then a SIMT kernel and a GEMM for each stage; both read the GEMM before.
        Shape::Fork if k == 0 => vec![],
        Shape::Fork => vec![(k - 1) / 2 * 2],
    }
}

#[test]
fn the_dependencies_are_those_of_the_shape() {
    for mix in mixes() {
        let trace = mix.trace().unwrap();
        let graph = graph(&trace);
        let (size, edges, depth) = tile(&mix);
        let tiles = mix.tiles as usize;
        assert_eq!((graph.len(), graph.edges()), (tiles * size, tiles * edges), "{mix:?}");
        assert_eq!(graph.depth() as usize, depth, "{mix:?}");
        assert_eq!(graph.reduced(), graph, "{mix:?}: no edge follows from others");
        for (k, up) in graph.iter() {
            let (first, k) = (k as usize / size * size, k as usize % size);
            let expected: Vec<u32> = upstream(&mix, k).iter().map(|u| (first + u) as u32).collect();
            assert_eq!(up, expected, "{mix:?}: kernel {k} of a tile");
        }
    }
}

#[test]
fn the_default_graphs() {
    for (shape, kernels, edges, depth, width) in
        [(Shape::Pipeline, 48, 40, 6, 8), (Shape::Reduction, 60, 56, 4, 32), (Shape::Fork, 48, 32, 2, 32)]
    {
        let graph = graph(&Mix::new(shape).trace().unwrap());
        assert_eq!((graph.len(), graph.edges()), (kernels, edges), "{shape:?}");
        assert_eq!((graph.depth(), graph.width()), (depth, width), "{shape:?}");
        let equal = vec![1; graph.len()];
        assert_eq!(critical_path(&graph, &equal), u64::from(depth), "{shape:?}");
    }
}

#[test]
fn all_hazards_are_data_flow() {
    for mix in mixes() {
        let trace = mix.trace().unwrap();
        let kernels = kernels(&trace);
        assert_eq!(graph(&trace), DependencyGraph::build_with(&kernels, Rule::Flow).unwrap(), "{mix:?}");
        for (k, up) in graph(&trace).iter() {
            for u in up {
                // What is read is all that was written: one RAW hazard over the whole result.
                let hazards = hazards::between(kernels[*u as usize], kernels[k as usize]);
                let raw: u64 =
                    hazards.iter().filter(|h| h.class == Class::Raw).map(|h| h.segment.bytes).sum();
                assert_eq!(hazards.len(), 1, "{mix:?}");
                assert_eq!(raw, kernels[*u as usize].writes[0].bytes, "{mix:?}");
            }
        }
    }
}

#[test]
fn tensor_and_simt_alternate_as_the_shape_says_and_fit_on_one_sm() {
    use KernelType::{Simt, Tensor};
    for mix in mixes() {
        let trace = mix.trace().unwrap();
        let kernels = kernels(&trace);
        for (i, kernel) in kernels.iter().enumerate() {
            let k = i % tile(&mix).0;
            let tensor = match mix.shape {
                Shape::Pipeline | Shape::Fork => k.is_multiple_of(2),
                Shape::Reduction => k < 1 << mix.stages,
            };
            assert_eq!(kernel.kind, if tensor { Tensor } else { Simt }, "{mix:?}: {}", kernel.name);
            assert_eq!(kernel.index, i as u64);
            assert!(kernel.reads.iter().chain(&kernel.writes).all(|s| s.bytes > 0 && s.addr % 256 == 0));
            let registers = kernel.threads() * u64::from(kernel.regs.unwrap());
            let elements = kernel.writes[0].bytes / if mix.shape == Shape::Reduction { 4 } else { 2 };
            if tensor {
                let [m, n, k, batch] = kernel.mnk.unwrap();
                assert_eq!(kernel.flops, 2 * m * n * k * batch);
                assert_eq!((kernel.ctas(), m * n), (u64::from(mix.ctas), elements));
                assert_eq!(kernel.ctas() * 128 * 128, elements, "a CTA computes 128 x 128");
                assert_eq!(
                    kernel.reads.iter().map(|s| s.bytes).sum::<u64>(),
                    2 * k * (m + n),
                    "fp16 operands"
                );
                assert_eq!((registers, kernel.smem), (32_768, 49_152));
            } else {
                assert!((512..=2048).contains(&(elements / kernel.ctas())), "{mix:?}");
                assert_eq!((elements % kernel.ctas(), registers, kernel.smem), (0, 6144, 0));
            }
        }
    }
}

#[test]
fn default_kernels_take_about_a_wave_or_more() {
    for shape in Shape::ALL {
        for kernel in Mix::new(shape).trace().unwrap().kernels() {
            // One GEMM CTA on each SM, for a second one would leave no registers to SIMT; as many SIMT CTAs as its threads allow.
            for (sms, simt) in [(46, 6), (132, 8)] {
                let wave = if kernel.kind == KernelType::Tensor { sms } else { sms * simt };
                let waves = kernel.ctas() as f64 / wave as f64;
                assert!(waves > 0.9, "{}: {waves:.2} waves on {sms} SMs", kernel.name);
            }
        }
    }
}

#[test]
fn the_same_parameters_give_the_same_bytes_and_they_load() {
    for mix in mixes() {
        let text = || {
            let trace = mix.trace().unwrap();
            let mut writer = Writer::new(Vec::new(), "t", &trace.header, Compression::Plain).unwrap();
            writer.trace(&trace).unwrap();
            writer.finish().unwrap()
        };
        let bytes = text();
        assert_eq!(bytes, text());
        let read = Trace::read(windlass_runtime::ktrace::Reader::new(&bytes[..], "t").unwrap()).unwrap();
        assert_eq!(read, mix.trace().unwrap(), "without a warning, too");
    }
}

#[test]
fn the_greatest_mixes_stay_below_the_address_limit() {
    for shape in Shape::ALL {
        let mix = Mix { shape, stages: *shape.stages().end(), tiles: 1024, ctas: 16_384 };
        let trace = mix.trace().unwrap();
        let span = trace.header.span.unwrap();
        assert!(span[1] <= windlass_runtime::ktrace::ADDRESS_LIMIT, "{mix:?}: {span:?}");
        let ends = || trace.kernels().flat_map(|k| k.reads.iter().chain(&k.writes)).map(|s| s.end());
        assert_eq!(ends().max(), Some(span[1]));
    }
}

#[test]
fn a_name_says_what_is_not_the_default() {
    let mix = Mix::new(Shape::Fork);
    assert_eq!(mix.name(), "mix-fork");
    assert_eq!(Mix { tiles: 2, ..mix }.trace().unwrap().header.name, "mix-fork-s1-t2-c128");
}

#[test]
fn parameters_outside_their_ranges() {
    let mix = Mix::new(Shape::Reduction);
    for (mix, message) in [
        (
            Mix { stages: 7, ..mix },
            "--stages 7 is outside 1..=6 for a reduction; choose a number in that range",
        ),
        (
            Mix { stages: 1, ..Mix::new(Shape::Pipeline) },
            "--stages 1 is outside 2..=64 for a pipeline; choose a number in that range",
        ),
        (
            Mix { tiles: 0, ..mix },
            "--tiles 0 is outside 1..=1024 for a reduction; choose a number in that range",
        ),
        (
            Mix { ctas: 16_388, ..mix },
            "--ctas 16388 is outside 4..=16384 for a reduction; choose a number in that range",
        ),
        (
            Mix { ctas: 46, ..mix },
            "--ctas 46 is not a multiple of 4, the number of CTAs across a GEMM; choose 44 or 48",
        ),
    ] {
        assert_eq!(mix.trace().unwrap_err().to_string(), message);
    }
}

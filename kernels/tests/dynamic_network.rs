//! The network: the same bits for every window and policy, other kernels for other images, a trace that can be read again.

mod common;

use common::{recorded, runtime};
use std::collections::HashSet;
use windlass_kernels::Error;
use windlass_kernels::dynamic_network::{Branch, Config, Output, run};
use windlass_runtime::graph::DependencyGraph;
use windlass_runtime::runtime::Policy;

/// Equal to the last bit.
fn same(a: &Output, b: &Output) -> bool {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    bits(&a.scores) == bits(&b.scores) && bits(&a.activations) == bits(&b.activations) && a == b
}

#[test]
fn every_window_gives_the_bits_of_serial() {
    for seed in 0..4 {
        let mut config = Config::new(seed, 4, seed + 100);
        config.tensor_cores = seed % 2 == 1;
        let serial = run(&mut runtime(Policy::Serial, 32, 1), &config).unwrap();
        for (window, threads) in [(4, 2), (32, 1), (32, 4), (256, 3)] {
            let output = run(&mut runtime(Policy::Window, window, threads), &config).unwrap();
            assert!(same(&serial, &output), "seed {seed}, window {window}, {threads} threads");
        }
    }
}

#[test]
fn scores_are_chances_and_gates_differ() {
    let output = run(&mut runtime(Policy::Window, 32, 2), &Config::new(1, 12, 2)).unwrap();
    for row in output.scores.chunks_exact(10) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5 && row.iter().all(|x| *x >= 0.0), "{row:?}");
    }
    let ways: HashSet<_> = output.branches.iter().collect();
    assert!(ways.len() > 3, "{:?}", output.branches);
    let seen: HashSet<Branch> = output.branches.iter().flatten().copied().collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(output.experts.iter().collect::<HashSet<_>>().len() > 1, "{:?}", output.experts);
}

/// An image's scores do not depend on the images beside it.
#[test]
fn images_do_not_touch_each_other() {
    let all = Config::new(3, 5, 7);
    let together = run(&mut runtime(Policy::Window, 64, 2), &all).unwrap();
    for (i, image) in all.images.iter().enumerate() {
        let one = Config { images: vec![image.clone()], ..all.clone() };
        let alone = run(&mut runtime(Policy::Window, 64, 2), &one).unwrap();
        assert_eq!(alone.scores, together.scores[i * 10..(i + 1) * 10]);
        assert_eq!(alone.branches[0], together.branches[i]);
    }
}

#[test]
fn the_recorded_graph_depends_on_the_image() {
    let graph = |image_seed| {
        let mut rt = runtime(Policy::Window, 32, 2);
        let output = run(&mut rt, &Config::new(1, 1, image_seed)).unwrap();
        let trace = recorded(&mut rt);
        let kernels: Vec<_> = trace.kernels().collect();
        assert_eq!(kernels.len() as u64, output.kernels);
        (output.branches, DependencyGraph::build(&kernels).unwrap())
    };
    let graphs: Vec<_> = (0..6).map(graph).collect();
    for (one, first) in &graphs {
        for (other, second) in &graphs {
            // Another way through the blocks is another graph, and the same way the same.
            assert_eq!(one == other, first == second, "{one:?} {other:?}");
        }
    }
    assert!(graphs.iter().any(|(way, _)| *way != graphs[0].0));
}

#[test]
fn wrong_configurations_are_refused() {
    let good = Config::new(0, 2, 0);
    let mut rt = runtime(Policy::Window, 32, 1);
    let mut refused = |config: Config, name: &str| match run(&mut rt, &config).unwrap_err() {
        Error::Range { field, .. } => assert_eq!(field, name),
        Error::Length { argument, .. } => assert_eq!(argument, name),
        error => panic!("{error}"),
    };
    refused(Config { images: Vec::new(), ..good.clone() }, "images");
    refused(Config { images: vec![vec![0.0; 7]], ..good.clone() }, "image");
    refused(Config { images: vec![vec![f32::NAN; 432]], ..good.clone() }, "image");
    refused(Config { side: 0, ..good.clone() }, "side");
    refused(Config { channels: 0, ..good.clone() }, "channels");
    refused(Config { experts: 0, ..good.clone() }, "experts");
    refused(Config { blocks: 257, ..good.clone() }, "blocks");
    refused(Config { classes: 0, ..good.clone() }, "classes");
    let mut smallest = Config { side: 1, channels: 1, blocks: 0, experts: 1, classes: 1, ..good };
    smallest.images = vec![vec![0.5; 3]];
    assert_eq!(run(&mut rt, &smallest).unwrap().scores, [1.0]);
}

//! Hazards and graphs against brute force over sets of bytes, and what Algorithm 1 misses.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` set the number of cases and the seed, see docs/hazards.md.

mod common;

use common::{kernel, kernels, segment};
use cpu_time::ThreadTime;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use windlass_runtime::graph::{DependencyGraph, Reduction, Rule, StrictReport};
use windlass_runtime::hazards::{Class, Hazard, between, depends, strict_algorithm1};
use windlass_runtime::ktrace::{Kernel, Segment};

fn bytes(segments: &[Segment]) -> BTreeSet<u64> {
    segments.iter().flat_map(|s| s.addr..s.end()).collect()
}

/// The bytes that a kernel reads and writes.
struct Touched {
    reads: BTreeSet<u64>,
    writes: BTreeSet<u64>,
}

impl Touched {
    fn by(kernel: &Kernel) -> Self {
        Self { reads: bytes(&kernel.reads), writes: bytes(&kernel.writes) }
    }
}

/// The bytes of each hazard class, one by one.
fn oracle(earlier: &Touched, later: &Touched) -> BTreeMap<Class, BTreeSet<u64>> {
    let mut classes = BTreeMap::from([
        (Class::Raw, &earlier.writes & &later.reads),
        (Class::War, &earlier.reads & &later.writes),
        (Class::Waw, &earlier.writes & &later.writes),
    ]);
    classes.retain(|_, bytes| !bytes.is_empty());
    classes
}

/// For each kernel, those it waits for, by the rule's definition and nothing else.
fn brute_force(kernels: &[Kernel], rule: Rule) -> Vec<Vec<u32>> {
    let touched: Vec<Touched> = kernels.iter().map(Touched::by).collect();
    let mut last_writer = BTreeMap::new();
    let mut lists = Vec::new();
    for (k, later) in touched.iter().enumerate() {
        let list: BTreeSet<u32> = if rule == Rule::Flow {
            later.reads.iter().filter_map(|b| last_writer.get(b)).copied().collect()
        } else {
            let waits = |earlier: &Touched| {
                let classes = oracle(earlier, later);
                match rule {
                    Rule::All | Rule::Flow => !classes.is_empty(),
                    Rule::Raw => classes.contains_key(&Class::Raw),
                    Rule::StrictAlgorithm1 => {
                        classes.contains_key(&Class::War) || classes.contains_key(&Class::Waw)
                    }
                }
            };
            (0..k).filter(|u| waits(&touched[*u])).map(|u| u as u32).collect()
        };
        last_writer.extend(later.writes.iter().map(|b| (*b, k as u32)));
        lists.push(list.into_iter().collect());
    }
    lists
}

const RULES: [Rule; 4] = [Rule::All, Rule::Raw, Rule::Flow, Rule::StrictAlgorithm1];

fn reduction(kernels: &[Kernel], rule: Rule) -> Reduction {
    Reduction::build(&kernels.iter().collect::<Vec<_>>(), rule).unwrap()
}

fn graph(kernels: &[Kernel], rule: Rule) -> DependencyGraph {
    DependencyGraph::build_with(&kernels.iter().collect::<Vec<_>>(), rule).unwrap()
}

fn lists(graph: &DependencyGraph) -> Vec<Vec<u32>> {
    graph.iter().map(|(_, up)| up.to_vec()).collect()
}

/// All that each kernel waits for, directly or not.
fn closure(lists: &[Vec<u32>]) -> Vec<BTreeSet<u32>> {
    let mut closed: Vec<BTreeSet<u32>> = Vec::new();
    for list in lists {
        let mut all: BTreeSet<u32> = list.iter().copied().collect();
        for u in list {
            all.extend(&closed[*u as usize]);
        }
        closed.push(all);
    }
    closed
}

#[test]
fn each_class_is_told_with_its_bytes() {
    let earlier = kernel(&[(0, 8)], &[(8, 8), (100, 4)]);
    let later = kernel(&[(12, 8), (100, 4)], &[(4, 6)]);
    let at = |class, addr, bytes| Hazard { class, segment: Segment { addr, bytes } };
    assert_eq!(
        between(&earlier, &later),
        [at(Class::Raw, 12, 4), at(Class::Raw, 100, 4), at(Class::War, 4, 4), at(Class::Waw, 8, 2)]
    );
    assert_eq!(at(Class::Raw, 0x105_EC00, 30720).to_string(), "RAW on 30720 bytes at 0x105EC00");
}

#[test]
fn a_hazard_is_told_once() {
    let twice = kernel(&[], &[(0, 8), (0, 8)]);
    assert_eq!(between(&twice, &twice).len(), 1);
}

#[test]
fn neighbours_empty_segments_and_two_readers_do_not_wait() {
    for (earlier, later) in [
        (kernel(&[], &[(0, 8)]), kernel(&[(8, 8)], &[(16, 8)])),
        (kernel(&[], &[(0, 8)]), kernel(&[(4, 0)], &[(0, 0)])),
        (kernel(&[], &[(4, 0)]), kernel(&[(0, 8)], &[(0, 8)])),
        (kernel(&[(0, 8)], &[]), kernel(&[(0, 8)], &[])),
    ] {
        assert_eq!(between(&earlier, &later), []);
        assert!(!depends(&earlier, &later));
        assert_eq!(graph(&[earlier, later], Rule::All).edges(), 0);
    }
}

#[test]
fn a_segment_that_overflows_is_no_panic() {
    let huge = kernel(&[(u64::MAX, u64::MAX)], &[(u64::MAX - 1, u64::MAX)]);
    assert!(depends(&huge, &huge));
    assert_eq!(graph(&[huge.clone(), huge], Rule::All).edges(), 1);
}

#[test]
fn a_kernel_in_place_does_not_wait_for_itself() {
    assert_eq!(graph(&[kernel(&[(0, 8)], &[(0, 8)])], Rule::All).edges(), 0);
}

#[test]
fn depth_width_and_reduction_of_a_diamond() {
    let diamond = [
        kernel(&[], &[(0, 1)]),
        kernel(&[(0, 1)], &[(1, 1)]),
        kernel(&[(0, 1)], &[(2, 1)]),
        kernel(&[(0, 3)], &[(3, 1)]),
    ];
    let full = graph(&diamond, Rule::All);
    assert_eq!((full.edges(), full.depth(), full.width()), (5, 3, 2));
    assert_eq!(lists(&full.reduced()), [vec![], vec![0], vec![0], vec![1, 2]]);
    assert!(full.upstream(9).is_empty());
}

#[test]
fn an_empty_graph_has_no_depth() {
    let empty = graph(&[], Rule::All);
    assert_eq!((empty.len(), empty.depth(), empty.width()), (0, 0, 0));
    assert_eq!((DependencyGraph::default().len(), DependencyGraph::default().reduced().len()), (0, 0));
}

#[test]
fn algorithm_1_misses_raw_unless_a_chain_implies_it() {
    // 1 reads what 0 writes: missed. 2 overwrites it: found, for 0 and for 1. 3 reads what 0 and 2 write.
    let run = [
        kernel(&[], &[(0, 4)]),
        kernel(&[(0, 4)], &[(8, 4)]),
        kernel(&[], &[(0, 4)]),
        kernel(&[(0, 4)], &[(8, 4)]),
    ];
    let report = StrictReport::new(&run.iter().collect::<Vec<_>>()).unwrap();
    let missed: Vec<_> = report.missed.iter().map(|m| (m.later, m.earlier, m.implied)).collect();
    // 3 waits for 1 (WAW on its output) and 1 for nothing: 0 and 2 are not implied.
    assert_eq!(missed, [(1, 0, false), (3, 0, false), (3, 2, false)]);
    assert_eq!((report.exact, report.found, report.broken()), (6, 3, 3));
    assert_eq!(report.missed[0].hazards[0].to_string(), "RAW on 4 bytes at 0x0");

    // 2 reads what 0 writes, but also overwrites what 1 writes, who overwrites what 0 writes.
    let chain = [kernel(&[], &[(0, 4)]), kernel(&[], &[(0, 2), (8, 4)]), kernel(&[(2, 2)], &[(8, 4)])];
    let report = StrictReport::new(&chain.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(
        report.missed.iter().map(|m| (m.later, m.earlier, m.implied)).collect::<Vec<_>>(),
        [(2, 0, true)]
    );
    assert_eq!(report.broken(), 0);
}

#[test]
fn thousands_of_kernels_take_well_under_a_second() {
    // A stream that reuses 64 buffers and reads one set of weights.
    let run: Vec<_> = (0..8000u64)
        .map(|k| kernel(&[(1 << 40, 1 << 20), (k * 7 % 64 * 100, 100)], &[(k * 13 % 64 * 100, 100)]))
        .collect();
    let started = ThreadTime::now();
    let full = graph(&run, Rule::All);
    let reduced = full.reduced();
    assert!(full.edges() > 500_000 && reduced.edges() < 100_000);
    // Generous, for a debug build that counts its lines.
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn hazards_are_those_of_the_bytes(earlier in kernels(1..=1), later in kernels(1..=1)) {
        let (earlier, later) = (&earlier[0], &later[0]);
        let mut found: BTreeMap<Class, BTreeSet<u64>> = BTreeMap::new();
        for hazard in between(earlier, later) {
            found.entry(hazard.class).or_default().extend(bytes(&[hazard.segment]));
        }
        let expected = oracle(&Touched::by(earlier), &Touched::by(later));
        prop_assert_eq!(depends(earlier, later), !expected.is_empty());
        prop_assert_eq!(
            strict_algorithm1(earlier, later),
            expected.contains_key(&Class::War) || expected.contains_key(&Class::Waw)
        );
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn graphs_are_those_of_the_bytes(run in kernels(0..=24)) {
        for rule in RULES {
            prop_assert_eq!(lists(&graph(&run, rule)), brute_force(&run, rule), "{:?}", rule);
        }
    }

    #[test]
    fn a_reduction_keeps_every_path_and_no_edge_too_many(run in kernels(0..=24)) {
        for rule in RULES {
            let full = graph(&run, rule);
            let reduced = lists(&full.reduced());
            let closed = closure(&reduced);
            prop_assert_eq!(&closed, &closure(&lists(&full)));
            for list in &reduced {
                for u in list {
                    prop_assert!(!list.iter().any(|v| closed[*v as usize].contains(u)));
                }
            }
            prop_assert_eq!(full.depth(), full.reduced().depth());
            let pairs = full.edges() as u64;
            prop_assert_eq!(reduction(&run, rule), Reduction { graph: full.reduced(), pairs });
        }
    }

    #[test]
    fn algorithm_1_misses_raw_only_and_says_what_is_implied(run in kernels(0..=24)) {
        let report = StrictReport::new(&run.iter().collect::<Vec<_>>())?;
        let reached = closure(&brute_force(&run, Rule::StrictAlgorithm1));
        prop_assert_eq!(report.exact, report.found + report.missed.len());
        for missed in &report.missed {
            prop_assert!(missed.hazards.iter().all(|h| h.class == Class::Raw));
            prop_assert!(!missed.hazards.is_empty());
            prop_assert_eq!(missed.implied, reached[missed.later as usize].contains(&missed.earlier));
        }
    }

    #[test]
    fn overlap_is_symmetric(a in segment(), b in segment()) {
        prop_assert_eq!(a.overlap(b), b.overlap(a));
    }
}

#[test]
fn long_chains_reduce_across_blocks() {
    // Longer than one block of the reduction: every kernel updates the same bytes.
    let run: Vec<_> = (0..4500).map(|_| kernel(&[(0, 4)], &[(0, 4)])).collect();
    let reduced = graph(&run, Rule::All).reduced();
    assert_eq!((reduced.edges(), reduced.depth()), (4499, 4500));
    assert_eq!(graph(&run, Rule::Flow).edges(), 4499);
}

#[test]
fn what_is_built_reduced_has_the_edges_of_the_full_graph_reduced() {
    // Three blocks of the reduction, with buffers alike, within one another, and across.
    let mut seed = 1u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut segment = || (next(500) * 4, [4, 4, 10, 900][next(4) as usize]);
    let run: Vec<_> = (0..4200).map(|_| kernel(&[segment(), segment()], &[segment()])).collect();
    for rule in RULES {
        let full = graph(&run, rule);
        let mut ancestors: Vec<Vec<bool>> = Vec::new();
        let mut direct = Vec::new();
        for (k, upstream) in full.iter() {
            let (mut all, mut list) = (vec![false; k as usize], Vec::new());
            for &u in upstream.iter().rev() {
                if !std::mem::replace(&mut all[u as usize], true) {
                    list.insert(0, u);
                    all.iter_mut().zip(&ancestors[u as usize]).for_each(|(all, more)| *all |= more);
                }
            }
            ancestors.push(all);
            direct.push(list);
        }
        let reduced = reduction(&run, rule);
        assert_eq!(reduced.pairs, full.edges() as u64, "{rule:?}");
        assert!(lists(&reduced.graph) == direct && reduced.graph == full.reduced(), "{rule:?}");
    }
}

#[test]
fn the_edges_that_others_imply_take_no_memory() {
    // 100 million pairs of 60000 kernels, of which a chain for each buffer is left.
    let run: Vec<_> = (0..60_000u64).map(|k| kernel(&[], &[(k % 18 * 4, 4)])).collect();
    let started = ThreadTime::now();
    let Reduction { graph, pairs } = reduction(&run, Rule::All);
    assert!(pairs > 99_000_000 && graph.edges() == 60_000 - 18);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

//! The software window, the host's lists and the bounds.

mod common;

use common::{kernel, kernels};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroUsize};
use windlass_runtime::analysis::{
    DEFAULT_SMS, Spread, TraceSummary, critical_path, memory_bytes, placed_units,
};
use windlass_runtime::graph::{DependencyGraph, Rule};
use windlass_runtime::hazards::{depends, strict_algorithm1};
use windlass_runtime::host::{Encoding, HazardRule, HostError, Packet, ScheduledList, Upstream};
use windlass_runtime::ktrace::{Event, Kernel, KernelType, Run, Segment, Trace};
use windlass_runtime::window::{SoftwareWindow, WindowError};

fn window(slots: usize) -> SoftwareWindow {
    SoftwareWindow::new(NonZeroUsize::new(slots))
}

fn graph(kernels: &[Kernel]) -> DependencyGraph {
    DependencyGraph::build(&kernels.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_window_offers_the_oldest_ready_kernel_and_frees_those_that_wait() {
    let mut w = window(4);
    w.insert(0, &[]).unwrap();
    w.insert(1, &[0, 0]).unwrap();
    w.insert(5, &[0, 1]).unwrap();
    w.insert(6, &[2]).unwrap(); // 2 was never here: it has retired
    assert_eq!(w.ready().collect::<Vec<_>>(), [0, 6]);
    w.dispatch(6).unwrap();
    assert_eq!(w.retire(6), Ok(vec![]));
    w.dispatch(0).unwrap();
    assert_eq!(w.next_ready(), None);
    assert_eq!(w.retire(0), Ok(vec![1]));
    w.dispatch(1).unwrap();
    assert_eq!(w.retire(1), Ok(vec![5]));
    assert_eq!((w.len(), w.oldest(), w.next_ready()), (1, Some(5), Some(5)));
}

#[test]
fn a_window_refuses_with_a_reason_and_stays_as_it_was() {
    let mut w = window(2);
    w.insert(3, &[]).unwrap();
    w.insert(4, &[3]).unwrap();
    for (error, text) in [
        (w.insert(5, &[]).unwrap_err(), "kernel 5: all 2 slots are in use; retire a kernel first"),
        (w.insert(4, &[]).unwrap_err(), "kernel 4 comes after kernel 4; insert kernels in program order"),
        (w.insert(5, &[5]).unwrap_err(), "kernel 5 waits for kernel 5; upstream kernels must come before it"),
        (w.dispatch(9).unwrap_err(), "kernel 9 is not in the window; it was never inserted, or has retired"),
        (w.retire(9).unwrap_err(), "kernel 9 is not in the window; it was never inserted, or has retired"),
        (w.retire(3).unwrap_err(), "kernel 3 was not dispatched; only a dispatched kernel retires"),
        (
            w.dispatch(4).unwrap_err(),
            "kernel 4 is not ready: it waits for 1 kernel; dispatch what `next_ready` offers",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
    w.dispatch(3).unwrap();
    assert_eq!(w.dispatch(3), Err(WindowError::NotReady { kernel: 3, waits_for: 0 }));
    assert!(w.is_full() && !window(0).is_full(), "0 slots are no limit");
}

proptest! {
    #[test]
    fn a_window_keeps_every_dependency_and_loses_no_kernel(
        run in kernels(0..=40),
        slots in 0..9usize,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 200),
    ) {
        let graph = graph(&run);
        let mut w = window(slots);
        let mut next = 0..run.len() as u32;
        let (mut running, mut done): (Vec<u32>, BTreeSet<u32>) = Default::default();
        let mut picks = picks.into_iter();
        while done.len() < run.len() {
            while !w.is_full() && let Some(k) = next.next() {
                w.insert(k, graph.upstream(k))?;
            }
            prop_assert!(slots == 0 || w.len() <= slots);
            while let Some(k) = w.next_ready() {
                prop_assert!(graph.upstream(k).iter().all(|u| done.contains(u)));
                prop_assert!(running.last().is_none_or(|_| !running.contains(&k)));
                w.dispatch(k)?;
                running.push(k);
            }
            prop_assert!(!running.is_empty(), "a deadlock");
            let pick = picks.next().map_or(0, |p| p.index(running.len()));
            let k = running.swap_remove(pick);
            w.retire(k)?;
            done.insert(k);
        }
        prop_assert!(w.is_empty());
    }
}

/// Indices of the kernels that a packet names, given those in flight are less than 256 behind.
fn named(packet: &Packet) -> Vec<u32> {
    packet.upstream.distances(packet.id).into_iter().map(|d| packet.kernel - u32::from(d)).collect()
}

#[test]
fn a_scheduled_list_has_8_to_255_kernels() {
    for (size, good) in [(7, false), (8, true), (255, true), (256, false)] {
        let list = ScheduledList::new(size, Encoding::Mask, HazardRule::Exact);
        assert_eq!(list.is_ok(), good, "{size}");
    }
    assert_eq!(
        HostError::ScheduledSize { got: 7 }.to_string(),
        "the scheduled list has 7 kernels; choose 8 to 255"
    );
}

#[test]
fn a_packet_names_kernels_by_id_or_by_bit() {
    let stream = [kernel(&[], &[(0, 4)]), kernel(&[], &[(8, 4)]), kernel(&[(0, 12)], &[])];
    let send = |encoding| {
        let mut list = ScheduledList::new(8, encoding, HazardRule::Exact).unwrap();
        stream.iter().map(|k| list.send(k).unwrap()).last().unwrap()
    };
    let mut words = [0; 8];
    words[0] = 0b11;
    assert_eq!(send(Encoding::Ids), Packet { kernel: 2, id: 2, upstream: Upstream::Ids(vec![1, 0]) });
    assert_eq!(send(Encoding::Mask), Packet { kernel: 2, id: 2, upstream: Upstream::Mask(words) });
}

#[test]
fn the_farthest_kernel_of_the_longest_list_is_named_across_the_wrap() {
    let writer = kernel(&[], &[(0, 4)]);
    let other = kernel(&[], &[(100, 4)]);
    let reader = kernel(&[(0, 4)], &[]);
    for encoding in [Encoding::Ids, Encoding::Mask] {
        let mut list = ScheduledList::new(255, encoding, HazardRule::Exact).unwrap();
        let mut send = |k: &Kernel, times: usize| (0..times).map(|_| list.send(k).unwrap()).last().unwrap();
        send(&other, 300);
        assert_eq!(send(&writer, 1).id, 44);
        send(&other, 254);
        let near = send(&reader, 1);
        assert_eq!((near.kernel, near.id, named(&near)), (555, 43, vec![300]));
        assert!(named(&send(&reader, 1)).is_empty(), "the writer has left the list");
    }
}

#[test]
fn after_a_synchronisation_nothing_is_named_and_ids_go_on() {
    let k = kernel(&[], &[(0, 4)]);
    let mut list = ScheduledList::new(8, Encoding::Ids, HazardRule::Exact).unwrap();
    list.send(&k).unwrap();
    list.synchronise();
    assert!(list.is_empty());
    assert_eq!(list.send(&k).unwrap(), Packet { kernel: 1, id: 1, upstream: Upstream::Ids(vec![]) });
    assert_eq!(list.send(&k).unwrap().upstream, Upstream::Ids(vec![1]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_list_names_all_dependencies_on_the_last_m_and_no_other(
        stream in kernels(1..=24),
        length in 1..700usize,
        size in 8..=255usize,
        mask in any::<bool>(),
        strict in any::<bool>(),
    ) {
        let encoding = if mask { Encoding::Mask } else { Encoding::Ids };
        let rule = if strict { HazardRule::StrictAlgorithm1 } else { HazardRule::Exact };
        let waits = if strict { strict_algorithm1 } else { depends };
        let mut list = ScheduledList::new(size, encoding, rule)?;
        // A short pattern, repeated: long enough for ids to wrap, and cheap to make.
        let sent: Vec<&Kernel> = stream.iter().cycle().take(length).collect();
        for (i, kernel) in sent.iter().enumerate() {
            let packet = list.send(kernel)?;
            prop_assert_eq!((packet.kernel as usize, usize::from(packet.id)), (i, i % 256));
            let mut found = named(&packet);
            found.sort_unstable();
            let expected: Vec<u32> =
                (i.saturating_sub(size)..i).filter(|u| waits(sent[*u], kernel)).map(|u| u as u32).collect();
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(list.len(), length.min(size));
    }
}

fn sms(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

/// The same simulation, unit by unit and with nothing skipped.
fn plain_units(ctas: &[u64], upstream: &[Vec<u32>], sms: u64, window: usize) -> u64 {
    let mut left: BTreeMap<u32, u64> = BTreeMap::new();
    let mut next = (0u32..).zip(ctas);
    let mut units = 0;
    loop {
        while left.len() < window
            && let Some((k, n)) = next.next()
        {
            left.insert(k, *n);
        }
        if left.is_empty() {
            return units;
        }
        let ready: Vec<u32> = left
            .keys()
            .copied()
            .filter(|k| !upstream[*k as usize].iter().any(|u| left.contains_key(u)))
            .collect();
        let mut free = sms;
        for k in ready {
            let rest = left.get_mut(&k).unwrap();
            let placed = free.min(*rest);
            free -= placed;
            *rest -= placed;
        }
        left.retain(|_, rest| *rest > 0);
        units += 1;
    }
}

proptest! {
    #[test]
    fn skipping_time_changes_nothing(run in kernels(0..=30), n in 1..50u32, slots in 1..12usize) {
        let graph = graph(&run);
        let upstream: Vec<Vec<u32>> = graph.iter().map(|(_, up)| up.to_vec()).collect();
        let ctas: Vec<u64> = run.iter().map(Kernel::ctas).collect();
        let alone: Vec<u64> = ctas.iter().map(|c| c.div_ceil(u64::from(n))).collect();
        let serial: u64 = alone.iter().sum();
        for slots in [Some(slots), None] {
            let limit = slots.and_then(NonZeroUsize::new);
            let units = placed_units(&ctas, &graph, sms(n), limit)?;
            prop_assert_eq!(units, plain_units(&ctas, &upstream, u64::from(n), slots.unwrap_or(usize::MAX)));
            prop_assert_eq!(units, placed_units(&ctas, &graph.reduced(), sms(n), limit)?);
            prop_assert!(critical_path(&graph, &alone) <= units && units <= serial);
        }
        prop_assert_eq!(placed_units(&ctas, &graph, sms(n), NonZeroUsize::new(1))?, serial);
    }
}

#[test]
fn the_longest_path_counts_durations() {
    let run = [kernel(&[], &[(0, 1)]), kernel(&[], &[(1, 1)]), kernel(&[(0, 1)], &[(2, 1)])];
    assert_eq!(critical_path(&graph(&run), &[3, 9, 4]), 9);
    assert_eq!(critical_path(&graph(&run), &[6, 9, 4]), 10);
}

fn trace(runs: Vec<Vec<Event>>) -> Trace {
    let runs = runs.into_iter().map(|events| Run { events, ..Run::default() }).collect();
    Trace { runs, ..Trace::default() }
}

#[test]
fn a_summary_counts_what_is_there() {
    let k = |grid: u32, kind, writes| {
        Event::Kernel(Kernel { grid: [grid, 1, 1], kind, flops: 5, ..kernel(&[(100, 4)], &[(writes, 4)]) })
    };
    let sync = Event::Sync { why: String::new() };
    let trace = trace(vec![
        vec![k(45, KernelType::Simt, 0), k(47, KernelType::Tensor, 0), sync, k(1, KernelType::Copy, 0)],
        vec![k(2, KernelType::Simt, 0), k(3, KernelType::Simt, 8)],
    ]);
    let s = TraceSummary::new(&trace).unwrap();
    assert_eq!((s.sms, s.sms_assumed, s.kernels, s.runs, s.syncs), (DEFAULT_SMS, true, 5, 2, 1));
    assert_eq!((s.by_type.simt, s.by_type.tensor, s.by_type.copy), (3, 1, 1));
    assert_eq!(s.ctas_per_kernel, Spread { min: 1, median: 3, max: 47 });
    assert_eq!((s.segments_per_kernel.max, s.threads_per_cta.median, s.bytes, s.flops), (2, 32, 40, 25));
    // One edge in the first part; the barriers cut the others. Parts of depth 2, 1 and 1.
    assert_eq!((s.graph.edges, s.graph.reduced_edges, s.graph.depth, s.graph.width), (1, 1, 4, 2));
    // 1 + 2, then 1, then 1 + 1 units one after another; the last two kernels overlap.
    assert_eq!(s.serial_units, 6);
    let bounds: Vec<_> = s.window_bounds.iter().map(|b| (b.window, b.speed_up.all)).collect();
    assert_eq!(bounds[0], (Some(4), 6.0 / 5.0));
    assert_eq!(bounds.last(), Some(&(None, 6.0 / 5.0)));
    assert_eq!(s.window_bounds[0].speed_up.raw, 6.0 / 4.0); // without WAW, the first two fill 46 SMs twice
    assert_eq!(s.dependence_bound.equal_kernels.all, 5.0 / 4.0);
    assert!(!s.dependence_bound.measured);
}

#[test]
fn a_program_needs_its_allocations_at_their_most_and_all_else_that_it_touches() {
    let k = |reads: &[(u64, u64)], writes: &[(u64, u64)]| Event::Kernel(kernel(reads, writes));
    let alloc = |addr, bytes| Event::Alloc(Segment { addr, bytes });
    let free = |addr, bytes| Event::Free(Segment { addr, bytes });
    assert_eq!(memory_bytes(&trace(vec![])), 0);
    // Weights are there once, however often and in what pieces they are read; an empty segment is nothing.
    let weights = vec![k(&[(100, 10), (105, 10), (0, 0)], &[]), k(&[(100, 4)], &[(200, 1)])];
    assert_eq!(memory_bytes(&trace(vec![weights.clone()])), 16);
    // 40 and 50 bytes live at once; what is allocated is no weight, wherever it was before and after.
    let pool = vec![alloc(1000, 40), k(&[], &[(1000, 40)]), alloc(1040, 50), free(1000, 40), alloc(1000, 30)];
    let pool = [pool, vec![k(&[(1000, 10)], &[]), free(1040, 50), free(1000, 30), free(7, 7)]].concat();
    assert_eq!(memory_bytes(&trace(vec![pool.clone()])), 90);
    // The run that needs most; memory that a run does not free is not in the next one's way.
    assert_eq!(memory_bytes(&trace(vec![weights.clone(), pool.clone(), weights.clone()])), 90);
    assert_eq!(memory_bytes(&trace(vec![[weights, pool].concat()])), 106);
}

#[test]
fn an_empty_trace_is_as_fast_as_it_gets() {
    let s = TraceSummary::new(&Trace::default()).unwrap();
    assert_eq!((s.kernels, s.graph.depth, s.ctas_per_kernel), (0, 0, Spread::default()));
    assert!(s.window_bounds.iter().all(|b| b.speed_up.all == 1.0));
}

#[test]
fn measured_durations_are_used_where_every_kernel_has_one() {
    let timed = |ns, writes| Event::Kernel(Kernel { dur_ns: Some(ns), ..kernel(&[], &[(writes, 4)]) });
    let s = TraceSummary::new(&trace(vec![vec![timed(30, 0), timed(10, 8)]])).unwrap();
    assert!(s.dependence_bound.measured);
    assert_eq!(s.dependence_bound.own_durations.all, 40.0 / 30.0);
}

#[test]
fn the_bounds_of_a_real_trace() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/brax-v1-ant-b256.ktrace.jsonl");
    let trace = Trace::load(path).unwrap();
    let told = std::cell::RefCell::new(Vec::new());
    let s = TraceSummary::with_progress(&trace, &|what| told.borrow_mut().push(what.to_string())).unwrap();
    assert_eq!(told.into_inner(), ["bounds, all hazards", "bounds, RAW only", "bounds, last writer"]);
    assert_eq!(s, TraceSummary::new(&trace).unwrap());
    assert_eq!((s.kernels, s.serial_units, s.graph.depth, s.graph.width), (433, 583, 276, 8));
    let at_32 = s.window_bounds.iter().find(|b| b.window == Some(32)).unwrap().speed_up;
    let rounded = [at_32.all, at_32.raw, at_32.flow].map(|v| (v * 1000.0).round() / 1000.0);
    assert_eq!(rounded, [1.334, 1.633, 1.751]);

    let part = &trace.runs[0].parts()[0];
    let edges = |rule| DependencyGraph::build_with(part, rule).unwrap().edges();
    assert!(edges(Rule::Flow) < edges(Rule::Raw) && edges(Rule::Raw) < edges(Rule::All));
    let json = serde_json::to_value(&s).unwrap();
    assert_eq!(json["window_bounds"][6]["window"], serde_json::Value::Null);
}

//! Policies on the device: order, bounds, jumps, and schedulers that are wrong.

mod common;

use common::{ARBITERS, cosim, fails, kernel, model, of, run, scheduler, shipped, stream};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use windlass_catalog::BlockSpec;
use windlass_cosim::partition::Partitions;
use windlass_cosim::policy::{FlatEngine, FrontEndEngine, ModelEngine, Policy, SimError, Stream};
use windlass_cosim::profile::HostLatencies;
use windlass_cosim::run::{CoSimulation, RunError};
use windlass_rtl::front_end::{Counter, CtaOut, CtaType, FrontEndIn, FrontEndOut, MAX_CTA_PORTS};
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerOut};
use windlass_rtl::model::CycleError;
use windlass_rtl::params::{ArbiterKind, Encoding, SchedulerParams, WindowKind};
use windlass_runtime::host::HazardRule;
use windlass_runtime::ktrace::{Kernel, KernelType, Segment};

/// Every CTA is placed in the end, later than where nothing is refused, and the ports of both ways refuse in the same cycles.
#[test]
fn refused_ctas_are_offered_until_they_are_taken() {
    // One after the other, so that what comes later ends later.
    let stream = stream((0..8).map(|i| kernel("k", 64, &[i], &[i + 1])).collect());
    for places in [1, 4] {
        let policies = vec![Policy::Window];
        let plain = CoSimulation { places, policies, record: true, ..cosim(scheduler(WindowKind::List, 8)) };
        let seeded = |cta_stalls, stall_seed| {
            let outcome = run(&CoSimulation { cta_stalls, stall_seed, ..plain.clone() }, &stream);
            for recording in &outcome.recordings {
                assert_eq!(recording.ctas.len(), 8 * 64, "{}", recording.name());
            }
            let cycles: Vec<u64> = outcome.report.policies.iter().map(|policy| policy.cycles).collect();
            assert_eq!(cycles.len(), ARBITERS.len());
            (cycles, outcome.report.table())
        };
        let cycles = |cta_stalls| seeded(cta_stalls, 0);
        let [(none, table), (some, said), (most, _)] = [0, 50, 90].map(cycles);
        let later = |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| a < b);
        assert!(later(&none, &some) && later(&some, &most), "{places}: {none:?} {some:?} {most:?}");
        assert!(
            said.contains("CTA ports stall in 50 % of cycles (seed 0)") && !table.contains("stall in"),
            "{said}"
        );
        assert_eq!(cycles(50).0, some, "the same cycles refuse in every run");
        assert_ne!(seeded(50, 1).0, some, "other cycles do with another seed");
    }
}

#[test]
fn policies_at_once_give_what_they_give_one_after_another() {
    let stream = shipped("mix-fork", 24);
    let at_once = |jobs| {
        let mut cosim = CoSimulation { jobs, record: true, ..cosim(scheduler(WindowKind::Matrix, 16)) };
        cosim.policies = Policy::ALL.to_vec();
        let outcome = run(&cosim, &stream);
        (serde_json::to_string(&outcome.report).expect("JSON"), outcome.recordings)
    };
    let one = at_once(1);
    for jobs in [2, 3, 100] {
        assert_eq!(at_once(jobs), one, "{jobs}");
    }
    // The first in the order of the policies counts, whichever comes first in time.
    let cosim =
        CoSimulation { jobs: 4, fifo_depth: 0, streams: 0, ..cosim(scheduler(WindowKind::Matrix, 8)) };
    for (policies, first) in [
        (vec![Policy::Window, Policy::StreamsAce], "fifo"),
        (vec![Policy::StreamsAce, Policy::Window], "streams"),
    ] {
        match (CoSimulation { policies, ..cosim.clone() }).run(&stream, model) {
            Err(RunError::Simulation(SimError::Option { option, .. })) => assert_eq!(option, first),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn flat_ports_decide_as_the_model_does() {
    let cosim = CoSimulation { cta_stalls: 10, ..cosim(scheduler(WindowKind::Matrix, 16)) };
    let stream = shipped("mix-fork", 24);
    let flat = |params| {
        let flat = FlatEngine::new("flat", params, BlockSpec::FrontEnd(params).model()).expect("all ports");
        Ok(Box::new(flat) as Box<dyn FrontEndEngine>)
    };
    let by_flat = cosim.run(&stream, flat).expect("runs");
    let by_model = run(&cosim, &stream);
    assert_eq!(by_flat.report.scheduler.engine.as_deref(), Some("flat"));
    assert_eq!(by_flat.recordings, by_model.recordings);
    assert_eq!(by_flat.report.policies, by_model.report.policies);
}

#[test]
fn independent_kernels_overlap_and_dependent_ones_do_not() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let (a, b, c) = (kernel("a", 4, &[], &[0]), kernel("b", 4, &[], &[1]), kernel("c", 4, &[0], &[2]));
    let outcome = run(&cosim, &stream(vec![a, b, c]));
    for policy in [Policy::Window, Policy::Ideal] {
        let (_, r) = of(&outcome, policy);
        assert!(r.dispatched[1] < r.completed[0], "{policy:?}: a and b overlap");
        assert!(r.dispatched[2] >= r.completed[0], "{policy:?}: c waits for a");
    }
    let (_, r) = of(&outcome, Policy::Serial);
    assert!(r.dispatched[1] > r.completed[0]);
}

#[test]
fn the_matrix_window_places_a_freed_kernel_four_cycles_after_the_last_completion() {
    for arbiter in ARBITERS {
        let cosim = CoSimulation { arbiters: vec![arbiter], ..cosim(scheduler(WindowKind::Matrix, 8)) };
        let chain = (0..20).map(|i| kernel("k", 1, &[i], &[i + 1])).collect();
        let outcome = run(&cosim, &stream(chain));
        let (report, recording) = of(&outcome, Policy::Window);
        let window = report.window.expect("window");
        assert_eq!((window.retire_to_dispatch.min, window.retire_to_dispatch.max), (1, 1));
        assert_eq!((window.insert.count, window.insert.min, window.insert.max), (1, 1, 1));
        assert_eq!(window.host_to_dispatch.count, 20);
        let first = window.done_to_first_cta;
        assert_eq!((first.count, first.min, first.max), (19, 4, 4));
        // Last CTA done in cycle t, retirement in t + 1, dispatch in t + 2, first CTA in t + 4.
        for k in 1..20 {
            assert_eq!(recording.dispatched[k], recording.completed[k - 1].map(|t| t + 2));
            let first = recording.ctas.iter().filter(|c| c.kernel == k as u32).map(|c| c.start).min();
            assert_eq!(first, recording.completed[k - 1].map(|t| t + 4));
        }
    }
}

#[test]
fn a_queue_runs_in_order_and_pays_for_packets() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let host = &mut cosim.profile.host;
    // 1725 MHz: 690, 69 and 345 cycles.
    (host.packet_ns, host.transfer_ns, host.synchronise_ns) = (400, 40, 200);
    let kernels = (0..5).map(|i| kernel("k", 4, &[], &[i])).collect();
    let stream = stream(kernels);
    let times = |cosim: &CoSimulation| {
        let outcome = run(cosim, &stream);
        let (_, recording) = of(&outcome, Policy::Queue);
        let at = |cycles: &[Option<u64>]| cycles.iter().map(|c| c.expect("ran")).collect::<Vec<_>>();
        (at(&recording.dispatched), at(&recording.completed), of(&outcome, Policy::Queue).0.cycles)
    };
    let (dispatched, completed, cycles) = times(&cosim);
    assert_eq!(dispatched[0], 690 + 69);
    // Kernels take longer than packets, and do not depend on each other: the queue does not know.
    assert!((1..5).all(|k| dispatched[k] == completed[k - 1]), "{dispatched:?} {completed:?}");
    assert_eq!(cycles, completed[4] + 345);
    cosim.kernel_end_ns = 200;
    let (dispatched, completed, cycles) = times(&cosim);
    assert!((1..5).all(|k| dispatched[k] == completed[k - 1] + 345), "{dispatched:?} {completed:?}");
    assert_eq!(cycles, completed[4] + 345 + 345, "the last kernel ends late, too");
    // A queue of one packet: the next is written when the host knows that this one's kernel has started.
    cosim.kernel_end_ns = 0;
    (cosim.fifo_depth, cosim.profile.host.notice_ns) = (1, 4000);
    let (dispatched, _, _) = times(&cosim);
    assert!((1..5).all(|k| dispatched[k] == dispatched[k - 1] + 6900 + 690 + 69), "{dispatched:?}");
    cosim.fifo_depth = 2;
    let (dispatched, completed, _) = times(&cosim);
    assert_eq!(dispatched[1], completed[0]);
    assert!((2..5).all(|k| dispatched[k] == dispatched[k - 2] + 6900 + 690 + 69), "{dispatched:?}");
    cosim.fifo_depth = 5;
    let (dispatched, completed, _) = times(&cosim);
    assert!((1..5).all(|k| dispatched[k] == completed[k - 1]), "{dispatched:?} {completed:?}");
    cosim.fifo_depth = 0;
    let error = fails(&cosim, &stream, model).to_string();
    assert!(error.contains("--fifo 0: choose 1 or more"), "{error}");
    cosim.fifo_depth = 64;
    cosim.profile.host.notice_ns = 0;
    cosim.driver_launch = true;
    let launch = cosim.profile.cycles(cosim.profile.host.launch_ns);
    assert_eq!(times(&cosim).0[0], launch + 69);
}

#[test]
fn the_window_takes_notice_of_a_kernels_end_when_the_hardware_can() {
    let cosim = CoSimulation { kernel_end_ns: 500, ..cosim(scheduler(WindowKind::Matrix, 8)) };
    let chain = (0..20).map(|i| kernel("k", 3, &[i], &[i + 1])).collect();
    let outcome = run(&cosim, &stream(chain));
    let (_, recording) = of(&outcome, Policy::Window);
    for k in 1..20 {
        // 500 ns, and what the window takes without them.
        assert_eq!(recording.dispatched[k], recording.completed[k - 1].map(|t| t + 863 + 2));
    }
}

#[test]
fn graphs_of_a_window_follow_each_other_in_a_stream_and_are_launched_ahead() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let host = &mut cosim.profile.host;
    // 1725 MHz: 1035, 69, 138 and 345 cycles.
    (host.graph_launch_ns, host.graph_edge_ns, host.stream_gap_ns, host.synchronise_ns) = (600, 40, 80, 200);
    // 1 waits for 0, 4 for 1; the other three for none. Each takes 1725 cycles.
    let chain = [(vec![], 0), (vec![0], 1), (vec![], 2), (vec![], 3), (vec![1], 4)];
    let kernels = chain
        .map(|(reads, write)| Kernel { dur_ns: Some(1000), ..kernel("k", 1, &reads, &[write]) })
        .to_vec();
    let stream = Stream::from_sections("two", vec![kernels.clone(), kernels]).expect("short");
    let times = |graph_window| {
        let cosim = CoSimulation { graph_window, ..cosim.clone() };
        let outcome = run(&cosim, &stream);
        let (report, recording) = of(&outcome, Policy::GraphCached);
        let starts: Vec<u64> = recording.dispatched.iter().map(|c| c.expect("ran")).collect();
        (starts, recording.completed[..5].iter().map(|c| c.expect("ran")).collect::<Vec<_>>(), report.cycles)
    };
    // One graph for a section: only edges. The dispatcher takes a kernel per cycle.
    let (starts, ends, cycles) = times(None);
    assert_eq!(starts[..5], [1035, ends[0] + 69, 1036, 1037, ends[1] + 69]);
    assert_eq!(starts[5], ends[4] + 345 + 1035);
    // Two at a time: the host is ahead, the next graph starts behind all of the one before, also what waits for none of it.
    let (starts, ends, longer) = times(Some(2));
    assert_eq!(starts[..5], [1035, ends[0] + 69, ends[1] + 138, ends[1] + 139, ends[3] + 138]);
    assert_eq!(starts[5], ends[4] + 345 + 1035);
    assert!(longer > cycles);
    // Graphs that end before the host has launched the next one wait for it.
    let (starts, ends, _) = times(Some(1));
    assert_eq!(starts[1], (2 * 1035).max(ends[0] + 138));
    assert_eq!(times(Some(5)).0, times(None).0);
}

#[test]
fn no_policy_moves_more_bytes_than_the_memory_can() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 32));
    cosim.profile.host = HostLatencies::FREE;
    let kinds = [KernelType::Simt, KernelType::Tensor, KernelType::Copy];
    let kernels = (0..12u64).map(|i| {
        let writes = vec![Segment { addr: i << 26, bytes: 1 << 24 }];
        Kernel { kind: kinds[i as usize % 3], writes, ..kernel("k", 46, &[], &[]) }
    });
    let outcome = run(&cosim, &stream(kernels.collect()));
    let least = (12u128 << 24) * 1_725_000_000 / u128::from(cosim.profile.memory_bytes_per_s);
    for policy in &outcome.report.policies {
        assert!(u128::from(policy.cycles) >= least, "{}: {} of {least}", policy.name(), policy.cycles);
        assert!(policy.occupancy.memory <= 1.0, "{policy:?}");
    }
    // All of it is there for those that ask at the same time.
    assert!(of(&outcome, Policy::Ideal).0.occupancy.memory > 0.9);
}

#[test]
fn two_arbiters_place_two_ctas_in_a_cycle_and_mix_types_on_an_sm() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.profile.host = HostLatencies::FREE;
    let kernels = (0..8u64).map(|i| {
        let kind = if i % 2 == 0 { KernelType::Tensor } else { KernelType::Simt };
        Kernel { kind, ..kernel("k", 92, &[], &[i]) }
    });
    let outcome = run(&cosim, &stream(kernels.collect()));
    let windows: Vec<_> = outcome.report.policies.iter().filter(|p| p.policy == Policy::Window).collect();
    assert_eq!(windows.iter().map(|p| p.name()).collect::<Vec<_>>(), ["window single", "window typed"]);
    let [single, typed] = [0, 1].map(|i| windows[i].window.expect("window").placement);
    assert_eq!((single.simt, single.tensor, typed.simt, typed.tensor), (368, 368, 368, 368));
    assert_eq!((single.double_cycles, single.longest_double), (0, 0));
    // Two of 48 turns pass with 46 SMs.
    assert_eq!(typed.longest_double, 46, "{typed:?}");
    assert!(typed.per_possible_cycle > 1.5 && typed.waiting_cycles < single.waiting_cycles, "{typed:?}");
    let mixed = windows[1].occupancy;
    assert!(mixed.both_types > 0.0 && mixed.both_types <= mixed.both_types_of_busy, "{mixed:?}");
}

#[test]
fn ctas_stay_in_their_partition_under_every_policy() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.partitions = Partitions::parse("0-9,10-22+40-41", 46).expect("ranges");
    let kernels = (0..12u64).map(|i| {
        let part = [Some(0), Some(1), None][i as usize % 3];
        Kernel { part, ..kernel("k", 60, &[], &[i]) }
    });
    let stream = stream(kernels.collect());
    let outcome = run(&cosim, &stream);
    assert_eq!(outcome.report.partitions, ["0-9", "10-22+40-41"]);
    for recording in &outcome.recordings {
        let used = |part| {
            let of_part = |k: u32| stream.kernels()[k as usize].part == part;
            let ctas = recording.ctas.iter().filter(|c| of_part(c.kernel));
            ctas.map(|c| c.sm).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(used(Some(0)).into_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert_eq!(used(Some(1)).into_iter().collect::<Vec<_>>(), (10..23).chain(40..42).collect::<Vec<_>>());
        assert!(used(None).len() > 40);
    }
}

#[test]
fn a_sync_holds_the_host_back_under_every_policy() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let part = |i: u64| vec![kernel("a", 50, &[], &[i]), kernel("b", 1, &[], &[i + 1])];
    let stream = Stream::from_sections("sync", vec![part(0), part(10)]).expect("short");
    let outcome = run(&cosim, &stream);
    for policy in Policy::ALL {
        let (_, r) = of(&outcome, policy);
        let before = r.completed[..2].iter().max().expect("two");
        assert!(r.dispatched[2..].iter().all(|d| d >= before), "{policy:?}");
    }
}

#[test]
fn no_kernels_take_no_time() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 4));
    let outcome = run(&cosim, &stream(vec![]));
    assert!(outcome.report.policies.iter().all(|p| p.cycles == 0), "{}", outcome.report.table());
}

#[test]
fn a_free_host_with_a_large_window_comes_close_to_the_bound() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 32));
    cosim.profile.host = HostLatencies::FREE;
    let outcome = run(&cosim, &shipped("brax-v1-ant-b256", 433));
    let [ideal, window] = [Policy::Ideal, Policy::Window].map(|p| of(&outcome, p).0.cycles);
    assert!(window <= ideal + ideal / 50, "window {window}, ideal {ideal}");
    assert!(of(&outcome, Policy::Ideal).0.speedup > 1.2);
}

#[test]
fn options_that_cannot_be_are_errors() {
    let stream = stream(vec![kernel("k", 1, &[], &[])]);
    let base = cosim(scheduler(WindowKind::Matrix, 4));
    let error = |cosim: &CoSimulation| {
        let error = fails(cosim, &stream, model);
        assert!(!error.is_wrong());
        error.to_string()
    };
    assert!(error(&CoSimulation { fifo_depth: 0, ..base.clone() }).contains("--fifo 0"));
    assert!(error(&CoSimulation { streams: 0, ..base.clone() }).contains("--streams 0"));
    assert!(error(&CoSimulation { graph_window: Some(0), ..base.clone() }).contains("--graph-window 0"));
    assert!(error(&CoSimulation { software_slots: 0, ..base.clone() }).contains("--software-slots 0"));
    assert!(error(&CoSimulation { cta_stalls: 91, ..base.clone() }).contains("--cta-stalls 91"));
    let arbiters = vec![ArbiterKind::Typed { active: 3 }];
    assert!(error(&CoSimulation { arbiters, ..base.clone() }).contains("--active 3"));
    let mut large = base;
    large.profile.sms = 200;
    assert!(error(&large).contains("`sms` is 200"));
}

#[test]
fn algorithm_1_as_printed_is_caught_by_the_exact_order_checker() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.rule = HazardRule::StrictAlgorithm1;
    cosim.policies = vec![Policy::Window];
    let stream = stream(vec![kernel("writer", 4, &[], &[0]), kernel("reader", 4, &[0], &[1])]);
    let error = fails(&cosim, &stream, model);
    assert!(error.is_wrong());
    let text = error.to_string();
    for part in ["window single dispatched", "1 `reader`", "0 `writer`", "RAW on 256 bytes"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A front end that spoils what goes in or comes out.
struct Spoilt<F>(ModelEngine, F);

impl<F: FnMut(&mut ModelEngine, FrontEndIn) -> FrontEndOut + Send> FrontEndEngine for Spoilt<F> {
    fn cycle(&mut self, input: &FrontEndIn) -> Result<FrontEndOut, CycleError> {
        Ok((self.1)(&mut self.0, *input))
    }

    fn name(&self) -> String {
        "spoilt".into()
    }
}

/// Runs a chain of 12 kernels of 3 CTAs in partition 2, SMs 0 to 9, on typed arbiters: the error.
fn spoil(spoil: impl FnMut(&mut ModelEngine, FrontEndIn) -> FrontEndOut + Copy + Send + 'static) -> SimError {
    spoilt(spoil).expect("the run fails")
}

/// The same where it may go unnoticed.
fn spoilt(
    spoil: impl FnMut(&mut ModelEngine, FrontEndIn) -> FrontEndOut + Copy + Send + 'static,
) -> Option<SimError> {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.policies = vec![Policy::Window];
    cosim.arbiters = vec![ARBITERS[1]];
    cosim.partitions = Partitions::parse("0,0,0-9", 46).expect("ranges");
    let link = |i| Kernel { part: Some(2), ..kernel("link", 3, &[i], &[i + 1]) };
    let engine =
        move |params| Ok(Box::new(Spoilt(ModelEngine::new(params), spoil)) as Box<dyn FrontEndEngine>);
    match cosim.run(&stream((0..12).map(link).collect()), engine) {
        Ok(_) => None,
        Err(RunError::Simulation(error)) => {
            assert!(error.is_wrong(), "{error}");
            Some(error)
        }
        Err(error) => panic!("{error}"),
    }
}

/// The same, with the CTAs spoilt that come out.
fn spoil_ctas(change: impl Fn(&mut CtaOut) + Copy + Send + 'static) -> SimError {
    spoil(move |engine, input| {
        let mut out = cycle(engine, &input);
        out.cta.iter_mut().flatten().for_each(change);
        out
    })
}

fn cycle(engine: &mut ModelEngine, input: &FrontEndIn) -> FrontEndOut {
    engine.cycle(input).expect("the model does not fail")
}

#[test]
fn a_front_end_that_never_places_is_a_deadlock() {
    let error = spoil(|engine, input| FrontEndOut { cta: [None; MAX_CTA_PORTS], ..cycle(engine, &input) });
    let text = error.to_string();
    assert!(matches!(error, SimError::Deadlock { left: 12, .. }), "{text}");
    assert!(text.contains("0 `link`") && text.contains("8 kernels in the window"), "{text}");
    assert!(text.contains("of 3 CTAs 0 placed"), "{text}");
}

#[test]
fn a_front_end_that_is_busy_for_ever_is_a_deadlock() {
    let scheduler = |input: FrontEndIn| SchedulerOut {
        busy: true,
        stall_busy: input.host.is_some(),
        ..SchedulerOut::default()
    };
    let error = spoil(move |_, input| FrontEndOut {
        scheduler: scheduler(input),
        partition_ready: true,
        ..FrontEndOut::default()
    });
    assert!(matches!(error, SimError::Deadlock { left: 12, .. }), "{error}");
}

#[test]
fn a_front_end_that_never_takes_a_partition_is_a_deadlock() {
    let error = spoil(|engine, input| {
        let out = cycle(engine, &FrontEndIn { partition: None, ..input });
        FrontEndOut { partition_ready: false, ..out }
    });
    assert!(matches!(error, SimError::Deadlock { left: 12, .. }), "{error}");
}

#[test]
fn a_front_end_that_never_takes_a_completion_is_a_deadlock() {
    let error = spoil(|engine, input| {
        let out = cycle(engine, &FrontEndIn { done: [None; 4], ..input });
        FrontEndOut { done_ready: [false; 4], ..out }
    });
    let text = error.to_string();
    assert!(matches!(error, SimError::Deadlock { left: 11, .. }), "{text}");
    assert!(text.contains("3 CTAs have ended"), "{text}");
}

#[test]
fn a_front_end_that_forgets_upstream_is_out_of_order() {
    let error = spoil(|engine, mut input| {
        if let Some((HostBeat::Mask { upstream, .. }, _)) = &mut input.host {
            *upstream = [0; 8];
        }
        cycle(engine, &input)
    });
    assert!(matches!(error, SimError::OutOfOrder { .. }), "{error}");
}

#[test]
fn a_packet_that_the_front_end_calls_wrong_is_an_error() {
    let error = spoil(|engine, mut input| {
        if let Some((_, launch)) = &mut input.host {
            launch.needs.warps = 0;
        }
        cycle(engine, &input)
    });
    let text = error.to_string();
    assert!(matches!(error, SimError::PacketRefused { .. }) && error.is_wrong(), "{text}");
    assert!(text.contains("refused kernel 0 `link`"), "{text}");
}

#[test]
fn a_completion_that_the_front_end_does_not_know_is_an_error() {
    let error = spoil(|engine, mut input| {
        for done in input.done.iter_mut().flatten() {
            done.slot ^= 4;
        }
        cycle(engine, &input)
    });
    let text = error.to_string();
    assert!(matches!(error, SimError::CompletionRefused { .. }), "{text}");
    assert!(text.contains("kernel 0 `link` in slot 0 on SM"), "{text}");
}

#[test]
fn a_dispatch_of_an_id_that_is_not_in_flight_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        if let Some(offer) = &mut out.scheduler.offer {
            offer.id ^= 128;
        }
        out
    });
    assert!(matches!(error, SimError::NotInFlight { id: 128, .. }), "{error}");
}

#[test]
fn a_kernel_dispatched_twice_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        // Kernel 0 again, instead of kernel 1.
        if let Some(offer) = &mut out.scheduler.offer {
            (offer.id, offer.slot) = (0, 0);
        }
        FrontEndOut { retired: [None; 4], ..out }
    });
    assert!(matches!(error, SimError::DispatchedTwice { .. }), "{error}");
}

#[test]
fn a_dispatch_from_a_slot_that_does_not_exist_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        if let Some(offer) = &mut out.scheduler.offer {
            offer.slot = 77;
        }
        out
    });
    assert!(matches!(error, SimError::WrongSlot { slot: 77, .. }), "{error}");
}

#[test]
fn a_cta_of_a_kernel_that_was_not_dispatched_is_an_error() {
    let error = spoil_ctas(|cta| cta.slot ^= 1);
    assert!(matches!(error, SimError::UnknownCta { id: 0, slot: 1, .. }), "{error}");
    let error = spoil_ctas(|cta| cta.id += 1);
    assert!(matches!(error, SimError::UnknownCta { id: 1, slot: 0, .. }), "{error}");
}

#[test]
fn a_cta_that_is_not_the_next_one_is_an_error() {
    for (change, word) in [
        (|cta: &mut CtaOut| cta.index += 1, "number 1 of the grid, number 0 comes next"),
        (|cta: &mut CtaOut| cta.kind = CtaType::Tensor, "the kernel is Simt, the CTA Tensor"),
        (|cta: &mut CtaOut| cta.sm = 46, "there are 46 SMs"),
    ] as [(fn(&mut CtaOut), &str); 3]
    {
        let error = spoil_ctas(change);
        assert!(matches!(error, SimError::WrongCta { .. }), "{error}");
        for word in [word, "kernel 0 `link` on SM", "spoilt placed"] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}

#[test]
fn a_cta_too_many_is_an_error() {
    // The second channel repeats the first one's last CTA.
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        if let Some(cta) = out.cta[0].filter(|cta| cta.index == 2) {
            out.cta[1] = Some(CtaOut { index: 3, ..cta });
        }
        out
    });
    assert!(error.to_string().contains("all 3 CTAs of its grid were placed"), "{error}");
}

#[test]
fn a_cta_outside_its_partition_is_an_error() {
    let error = spoil_ctas(|cta| cta.sm += 10);
    assert!(matches!(error, SimError::OutsidePartition { partition: 2, sm: 10.., .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("kernel 0 `link`") && text.contains("not in partition 2"), "{text}");
}

#[test]
fn a_cta_where_there_is_no_room_is_an_error() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let stream = stream(vec![kernel("k", 100, &[], &[])]);
    let engine = |params| {
        let all_to_sm_5 = |engine: &mut ModelEngine, input: FrontEndIn| {
            let mut out = cycle(engine, &input);
            out.cta.iter_mut().flatten().for_each(|cta| cta.sm = 5);
            out
        };
        Ok(Box::new(Spoilt(ModelEngine::new(params), all_to_sm_5)) as Box<dyn FrontEndEngine>)
    };
    cosim.policies = vec![Policy::Window];
    let error = fails(&cosim, &stream, engine);
    assert!(
        matches!(error, SimError::NoRoom { sm: 5, resource: "warps", needed: 4, free: 0, .. }),
        "{error}"
    );
    assert!(error.is_wrong() && error.to_string().contains("kernel 0 `k` on SM 5"), "{error}");
}

#[test]
fn a_retirement_before_the_last_completion_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        if out.cta[0].is_some_and(|cta| cta.index == 2) {
            out.retired[0] = Some(0);
        }
        out
    });
    assert!(matches!(error, SimError::WrongRetirement { slot: 0, .. }), "{error}");
    assert!(error.to_string().contains("3 CTAs of kernel 0 `link` are left"), "{error}");
    let error = spoil(|engine, input| {
        let mut out = cycle(engine, &input);
        out.retired.iter_mut().flatten().for_each(|slot| *slot ^= 1);
        out
    });
    assert!(error.to_string().contains("no dispatched kernel"), "{error}");
}

#[test]
fn a_counter_that_is_wrong_is_an_error() {
    // Every counter whose events are seen on the ports, by name.
    for counter in Counter::ALL {
        let mut named = [0; 2];
        let error = spoilt(move |engine, input| {
            let mut out = cycle(engine, &input);
            out.count += u64::from(named[1] == counter as u8);
            named = [input.counter, named[0]];
            out
        });
        match error {
            None => assert!(matches!(counter, Counter::NoRoom0 | Counter::NoRoom1), "{counter:?}"),
            Some(SimError::Miscounted { counter: wrong, got, expected, .. }) => {
                assert_eq!((wrong, got), (counter, expected + 1));
            }
            Some(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_status_that_is_wrong_is_an_error() {
    type Spoil = fn(&mut SchedulerOut);
    let spoils: [(Spoil, &str); 5] = [
        (|out| out.stall_busy = true, "the host does not wait, and 1 of"),
        (|out| out.occupancy = 0, "`occupancy_o` is 0, with 1 kernel in"),
        (|out| out.occupancy = 9, "`occupancy_o` is 9, with 0 kernels in the window of 8"),
        (
            |out| out.oldest = out.oldest.map(|id| id / 2),
            "is id 1, and `oldest_valid_o` and `oldest_id_o` say id 0",
        ),
        (|out| out.retire_error = true, "`ret_err_o` is high"),
    ];
    for (wrong, said) in spoils {
        let error = spoil(move |engine, input| {
            let mut out = cycle(engine, &input);
            wrong(&mut out.scheduler);
            out
        });
        let text = error.to_string();
        assert!(matches!(error, SimError::WrongStatus { .. }) && text.contains(said), "{text}");
    }
}

#[test]
fn a_front_end_that_moves_without_a_cause_is_noticed_when_time_jumps() {
    let engine = |params| {
        let mut still = 0;
        let restless = move |engine: &mut ModelEngine, input: FrontEndIn| {
            let mut out = cycle(engine, &input);
            let moves = out.scheduler.offer.is_some() || out.scheduler.host_ready || input.done != [None; 4];
            still = if moves && input.host.is_some() { 0 } else { still + 1 };
            if still > 14 {
                out.retired[0] = Some(3);
            }
            out
        };
        Ok(Box::new(Spoilt(ModelEngine::new(params), restless)) as Box<dyn FrontEndEngine>)
    };
    let cosim = CoSimulation { policies: vec![Policy::Window], ..cosim(scheduler(WindowKind::Matrix, 8)) };
    // Packets arrive at a distance that is no multiple of the period.
    let error = fails(&cosim, &stream((0..4).map(|i| kernel("k", 3, &[], &[i])).collect()), engine);
    assert!(matches!(error, SimError::Restless { .. }) && error.is_wrong(), "{error}");
    assert!(error.to_string().contains("--step"), "{error}");
}

/// A front end that others can look at, too.
struct Shared(Arc<Mutex<ModelEngine>>);

impl FrontEndEngine for Shared {
    fn cycle(&mut self, input: &FrontEndIn) -> Result<FrontEndOut, CycleError> {
        self.0.lock().expect("not poisoned").cycle(input)
    }

    fn name(&self) -> String {
        "shared".into()
    }
}

#[test]
fn the_hardware_counts_what_the_device_does() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    (cosim.policies, cosim.step) = (vec![Policy::Window], true);
    let stream = shipped("mix-reduction", 20);
    let mut engines = Vec::new();
    let outcome = cosim.run(&stream, |params| {
        engines.push(Arc::new(Mutex::new(ModelEngine::new(params))));
        Ok(Box::new(Shared(engines[engines.len() - 1].clone())))
    });
    let outcome = outcome.expect("runs");
    for (report, engine) in outcome.report.policies.iter().zip(&engines) {
        let window = report.window.expect("window");
        // The counters do not stop, so those that count cycles are read as many cycles later; a value comes two cycles after its name.
        let count = |counter: Counter| {
            let input = FrontEndIn { counter: counter as u8, ..FrontEndIn::IDLE };
            [0; 3].map(|_| cycle(&mut engine.lock().expect("not poisoned"), &input).count)[2]
        };
        assert_eq!(count(Counter::PlacedSimt), window.placement.simt, "{}", report.name());
        assert_eq!(count(Counter::PlacedTensor), window.placement.tensor);
        assert_eq!(count(Counter::Retired), stream.kernels().len() as u64);
        assert_eq!(count(Counter::StallFull), window.stalls.full);
        assert_eq!(count(Counter::StallLimit), window.stalls.limit);
        assert!(window.placement.tensor > 0 && window.placement.simt > 0);
    }
}

/// Everything but how many cycles were visited must be the same with and without jumps.
fn assert_jumps_are_exact(mut cosim: CoSimulation, stream: &Stream) {
    let mut jumped = run(&cosim, stream);
    cosim.step = true;
    let mut stepped = run(&cosim, stream);
    assert_eq!(jumped.recordings, stepped.recordings);
    for outcome in [&mut jumped, &mut stepped] {
        for policy in &mut outcome.report.policies {
            policy.visited_cycles = 0;
            if let Some(window) = &mut policy.window {
                (window.simulated_cycles, window.skipped_cycles) = (0, 0);
            }
        }
    }
    assert_eq!(jumped.report, stepped.report);
}

#[test]
fn jumps_are_exact_on_a_real_stream_with_both_windows_and_encodings() {
    for (kind, encoding) in
        [(WindowKind::Matrix, Encoding::Mask), (WindowKind::List, Encoding::Ids { lanes: 3 })]
    {
        let scheduler = SchedulerParams::new(kind, 8, 2, 32, encoding).expect("compiled in");
        assert_jumps_are_exact(cosim(scheduler), &shipped("brax-v1-ant-b256", 40));
    }
}

#[test]
fn jumps_are_exact_while_many_kernels_wait_for_room() {
    // On few SMs, kernels of both types with different needs, so that SMs are contested and up to K of each type look in vain.
    let kernels = (0..10u64).map(|i| {
        let kind = if i % 3 == 0 { KernelType::Tensor } else { KernelType::Simt };
        let block = [32 * (1 + 5 * (i as u32 % 4)), 1, 1];
        Kernel { kind, block, part: Some(0), dur_ns: Some(500 + 77 * i), ..kernel("k", 60, &[], &[i]) }
    });
    let stream = stream(kernels.collect());
    for active in [1, 2, 4] {
        let mut cosim = cosim(scheduler(WindowKind::Matrix, 16));
        cosim.policies = vec![Policy::Window];
        cosim.arbiters = vec![ArbiterKind::Typed { active }, ArbiterKind::Single];
        cosim.partitions = Partitions::parse("5+21-22", 46).expect("ranges");
        let report = run(&cosim, &stream).report.policies[0].window.expect("window");
        assert!(report.skipped_cycles > report.simulated_cycles, "K = {active}: {report:?}");
        assert!(report.stalls.room > 1000, "K = {active}: {report:?}");
        assert_jumps_are_exact(cosim.clone(), &stream);
        // Room is free before the front end knows.
        cosim.kernel_end_ns = 700;
        assert_jumps_are_exact(cosim, &stream);
    }
}

#[test]
fn ids_wrap() {
    let mut cosim =
        cosim(SchedulerParams::new(WindowKind::Matrix, 128, 4, 128, Encoding::Mask).expect("params"));
    cosim.profile.host = HostLatencies::FREE;
    let kernels = (0..1000).map(|i| kernel("k", 2, &[i % 37], &[i % 53 + 37])).collect();
    let outcome = run(&cosim, &stream(kernels));
    let window = of(&outcome, Policy::Window).0.window.expect("window");
    assert!(window.fill_max > 64, "{}", window.fill_max);
}

prop_compose! {
    fn any_kernel()(
        ctas in 1..150u32,
        reads in prop::collection::vec(0..10u64, 0..3),
        writes in prop::collection::vec(0..10u64, 0..2),
        kflops in 0..2000u64,
        kind in 0..3usize,
        part in prop::option::of(0..8u8),
        dur_ns in prop::option::weighted(0.2, 1..20_000u64),
    ) -> Kernel {
        let mut k = kernel("k", ctas, &reads, &writes);
        k.kind = [KernelType::Simt, KernelType::Tensor, KernelType::Copy][kind];
        k.part = part;
        k.flops = kflops * 1000;
        k.dur_ns = dur_ns;
        k
    }
}

prop_compose! {
    fn any_stream()(parts in prop::collection::vec(prop::collection::vec(any_kernel(), 0..20), 1..4)) -> Stream {
        Stream::from_sections("random", parts).expect("short")
    }
}

fn any_arbiters() -> impl Strategy<Value = Vec<ArbiterKind>> {
    let typed = prop::sample::select(vec![1, 2, 4]).prop_map(|active| vec![ArbiterKind::Typed { active }]);
    prop_oneof![1 => Just(vec![ArbiterKind::Single]), 3 => typed]
}

fn any_partitions() -> impl Strategy<Value = Partitions> {
    prop::sample::select(vec!["0-45", "0-9,10-45", "0-2,1-40,45,3+7+11-13"])
        .prop_map(|text| Partitions::parse(text, 46).expect("ranges"))
}

fn any_scheduler() -> impl Strategy<Value = SchedulerParams> {
    let ids = (1..=8usize, 8..=255usize).prop_map(|(lanes, m)| (Encoding::Ids { lanes }, m));
    let masks = prop::sample::select(vec![32, 128]).prop_map(|m| (Encoding::Mask, m));
    (any::<bool>(), prop::sample::select(vec![4usize, 8, 16]), 1..=4usize, prop_oneof![ids, masks]).prop_map(
        |(list, slots, ports, (encoding, m))| {
            let kind = if list { WindowKind::List } else { WindowKind::Matrix };
            SchedulerParams::new(kind, slots, ports, m, encoding).expect("in range")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every policy executes every kernel once, in dependency order; the bound is a bound.
    #[test]
    fn every_policy_runs_every_kernel_in_order(
        stream in any_stream(),
        scheduler in any_scheduler(),
        arbiters in any_arbiters(),
        partitions in any_partitions(),
        fifo_depth in 1..20usize,
        streams in 1..5usize,
        poll_events: bool,
        graph_window in prop::option::of(1..30usize),
    ) {
        let cosim = CoSimulation {
            arbiters,
            partitions,
            fifo_depth,
            streams,
            poll_events,
            graph_window,
            ..cosim(scheduler)
        };
        let outcome = run(&cosim, &stream);
        let ctas: u64 = stream.kernels().iter().map(Kernel::ctas).sum();
        for r in &outcome.recordings {
            prop_assert_eq!(r.ctas.len() as u64, ctas);
            for k in 0..stream.kernels().len() {
                prop_assert!(r.completed[k] > r.dispatched[k] && r.dispatched[k].is_some());
                for u in stream.upstream(k) {
                    prop_assert!(r.dispatched[k] >= r.completed[*u as usize]);
                }
            }
        }
        let cycles = |policy| of(&outcome, policy).0.cycles;
        // Placing kernels in another order can cost: work conserving schedules differ by less than half.
        // Typed arbiters can do much better than today's dispatcher, which `ideal` has.
        let single = cosim.arbiters == [ArbiterKind::Single];
        prop_assert!(!single || cycles(Policy::Ideal) as f64 <= cycles(Policy::Window) as f64 * 1.5);
        prop_assert!(cycles(Policy::Ideal) as f64 <= cycles(Policy::Serial) as f64 * 1.5);
        let slots = &of(&outcome, Policy::Window).1.slots;
        prop_assert_eq!(slots.len(), stream.kernels().len());
    }

    #[test]
    fn jumps_are_exact_on_random_streams(
        kernels in prop::collection::vec(any_kernel(), 1..10),
        scheduler in any_scheduler(),
        arbiters in any_arbiters(),
        partitions in any_partitions(),
        fifo_depth in 1..6usize,
        kernel_end_ns in prop_oneof![Just(0), 0..3000u64],
    ) {
        let kernels = kernels.into_iter().map(|k| Kernel { dur_ns: k.dur_ns.map(|ns| ns % 2000 + 1), ..k });
        let stream = stream(kernels.collect());
        let cosim =
            CoSimulation { arbiters, partitions, fifo_depth, kernel_end_ns, streams: 2, ..cosim(scheduler) };
        assert_jumps_are_exact(cosim, &stream);
    }
}

/// A kernel of all pairs with hazards: what is kept of them is as many edges as kernels.
#[test]
fn a_long_chain_takes_memory_as_long_as_it_is() {
    let chain: Vec<Kernel> = (0..20_000).map(|_| kernel("k", 1, &[0], &[0])).collect();
    let stream = stream(chain);
    assert!((1..20_000).all(|k| stream.upstream(k) == [k as u32 - 1]));
    let rule = HazardRule::StrictAlgorithm1;
    assert_eq!(stream.upstream_by(rule).expect("few kernels").iter().map(Vec::len).sum::<usize>(), 19_999);
}

/// TENSOR CTAs take the room of a SIMT kernel between its dispatch and its first CTA: what it then waits for is not the front end.
#[test]
fn the_first_cta_of_a_freed_kernel_counts_only_where_it_had_room() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.policies = vec![Policy::Window];
    cosim.arbiters = vec![ArbiterKind::Typed { active: 2 }];
    for workload in ["mix-fork", "mix-pipeline", "mix-reduction"] {
        let report = run(&cosim, &shipped(workload, usize::MAX)).report.policies[0].window.expect("window");
        let first = report.done_to_first_cta;
        assert!(first.count > 0 && first.max <= 12, "{workload}: {first:?}");
    }
}

#[test]
fn the_table_is_aligned_and_the_report_is_an_object_with_a_version() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let outcome = run(&cosim, &shipped("brax-v1-ant-b256", 30));
    let table = outcome.report.table();
    let rows: Vec<&str> = table.lines().skip(3).take(9).collect();
    let names = [
        "policy",
        "serial",
        "queue",
        "streams-ace",
        "graph",
        "graph-cached",
        "window single",
        "window typed",
        "ideal",
    ];
    assert!(rows.iter().zip(names).all(|(row, name)| row.starts_with(name)), "{table}");
    assert!(rows.iter().all(|row| row.chars().count() == rows[0].chars().count()), "{table}");
    let json = serde_json::to_value(&outcome.report).expect("serialises");
    assert_eq!(json["format_version"], 2);
    assert_eq!(json["policies"][4]["policy"], "graph-cached");
    assert_eq!(json["policies"][6]["policy"], "window");
    assert_eq!(json["policies"][6]["arbiter"]["kind"], "typed");
    assert_eq!(json["policies"][6]["arbiter"]["active"], 2);
    assert_eq!(json["policies"][6]["window"]["insert"]["max"], 1);
    assert_eq!(json["scheduler"]["engine"], "behavioural");
}

#[test]
fn a_slower_front_end_takes_the_same_cycles_and_changes_no_other_policy() {
    let usual = cosim(scheduler(WindowKind::Matrix, 8));
    let stream = shipped("brax-v1-ant-b256", 120);
    let outcome = run(&usual, &stream);
    let at = |mhz| run(&CoSimulation { front_end_mhz: Some(mhz), ..usual.clone() }, &stream);
    let same = at(usual.profile.clock_mhz);
    assert_eq!((&same.report, &same.recordings), (&outcome.report, &outcome.recordings));
    let slow = at(435);
    assert!(slow.report.table().contains("dispatcher behavioural at 435 MHz"));
    for (usual, slow) in outcome.report.policies.iter().zip(&slow.report.policies) {
        let (Some(a), Some(b)) = (usual.window, slow.window) else {
            assert_eq!(usual, slow);
            continue;
        };
        assert!(usual.cycles < slow.cycles && usual.speedup > slow.speedup, "{}", usual.name());
        let least = |w: windlass_cosim::latency::WindowReport| {
            [w.insert.min, w.retire_to_dispatch.min, w.retire_to_dispatch.max, w.done_to_first_cta.min]
        };
        assert_eq!(least(a), least(b), "{}", usual.name());
    }
    let error = fails(&CoSimulation { front_end_mhz: Some(0), ..usual }, &stream, model).to_string();
    assert!(error.contains("--front-end-mhz 0: choose 1 to 10000"), "{error}");
}

/// No run has such times; who calls the library may.
#[test]
fn a_timeline_of_what_ends_before_it_starts_is_written() {
    let stream = shipped("mix-reduction", 30);
    let mut recordings = run(&cosim(scheduler(WindowKind::Matrix, 8)), &stream).recordings;
    for recording in &mut recordings {
        recording.ctas.iter_mut().for_each(|cta| cta.end = 0);
        recording.slots.iter_mut().for_each(|slot| (slot.insert, slot.retire) = (u64::MAX, 0));
    }
    let mut bytes = Vec::new();
    windlass_cosim::timeline::write(&mut bytes, &stream, &recordings).expect("a Vec takes all");
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert!(json["traceEvents"].as_array().is_some_and(|events| events.len() > 100));
}

#[test]
fn a_timeline_is_valid_json_the_same_each_time_and_no_row_overlaps_itself() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let stream = shipped("mix-reduction", 30);
    let timeline = || {
        let mut bytes = Vec::new();
        let recordings = run(&cosim, &stream).recordings;
        windlass_cosim::timeline::write(&mut bytes, &stream, &recordings).expect("a Vec takes all");
        bytes
    };
    let bytes = timeline();
    assert!(bytes == timeline());
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let mut rows = std::collections::BTreeMap::<(u64, u64), Vec<(u64, u64)>>::new();
    let mut names = std::collections::BTreeMap::<(u64, u64), &str>::new();
    for e in events {
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        if e["name"] == "thread_name" {
            let name = e["args"]["name"].as_str().expect("a name");
            names.insert((number(&e["pid"]), number(&e["tid"])), name);
        }
        if e["ph"] == "X" {
            let row = (number(&e["pid"]), number(&e["tid"]));
            let args = &e["args"];
            rows.entry(row).or_default().push((number(&args["start"]), number(&args["end"])));
            let on_sm = names[&row].starts_with("SM ");
            assert!(!on_sm || names[&row].contains(e["cat"].as_str().expect("a type")), "{e}");
        }
    }
    assert!(rows.len() > 92);
    for (row, mut spans) in rows {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0), "{row:?}: {spans:?}");
    }
    for name in ["SIMT CTAs", "TENSOR CTAs"] {
        let of_window = |e: &&serde_json::Value| e["ph"] == "C" && e["name"] == name && e["pid"] == 9;
        let values: Vec<i64> =
            events.iter().filter(of_window).filter_map(|e| e["args"]["value"].as_i64()).collect();
        assert!(values.iter().max().is_some_and(|most| *most > 46) && values.last() == Some(&0), "{name}");
    }
    let process = |name: &str| events.iter().any(|e| e["args"]["name"] == name);
    assert!(process("window single: SMs") && process("window typed: window slots"));
}

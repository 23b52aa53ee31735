//! Policies on the device: order, bounds, jumps, and schedulers that are wrong.

mod common;

use common::{cosim, kernel, scheduler, shipped, stream};
use proptest::prelude::*;
use windlass_cosim::policy::{FlatEngine, ModelEngine, Policy, SchedulerEngine, SimError, Stream};
use windlass_cosim::profile::HostLatencies;
use windlass_cosim::run::{CoSimulation, Outcome, PolicyReport, Recording};
use windlass_rtl::kernel_scheduler::model::SchedulerModel;
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerIn, SchedulerOut, SchedulerPorts};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::params::{Encoding, SchedulerParams, WindowKind};
use windlass_rtl::port::{Direction, Layout, Port, indexed};
use windlass_runtime::host::HazardRule;
use windlass_runtime::ktrace::Kernel;

fn run(cosim: &CoSimulation, stream: &Stream) -> Outcome {
    cosim.run(stream, &mut ModelEngine::new(cosim.scheduler)).expect("runs")
}

fn of(outcome: &Outcome, policy: Policy) -> (&PolicyReport, &Recording) {
    let i = outcome.report.policies.iter().position(|p| p.policy == policy).expect("ran");
    (&outcome.report.policies[i], &outcome.recordings[i])
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
fn the_matrix_window_offers_a_freed_kernel_in_the_cycle_after_the_retirement() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let chain = (0..20).map(|i| kernel("k", 1, &[i], &[i + 1])).collect();
    let outcome = run(&cosim, &stream(chain));
    let (report, recording) = of(&outcome, Policy::Window);
    let window = report.window.expect("window");
    assert_eq!((window.retire_to_dispatch.min, window.retire_to_dispatch.max), (1, 1));
    assert_eq!((window.insert.count, window.insert.min, window.insert.max), (1, 1, 1));
    assert_eq!(window.host_to_dispatch.count, 20);
    // Last CTA done in cycle t, retirement in t, offer and dispatch in t + 1, first CTA in t + 2.
    for k in 1..20 {
        assert_eq!(recording.dispatched[k], recording.completed[k - 1].map(|t| t + 1));
        let first = recording.ctas.iter().filter(|c| c.kernel == k as u32).map(|c| c.start).min();
        assert_eq!(first, recording.completed[k - 1].map(|t| t + 2));
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
        let error = cosim.run(&stream, &mut ModelEngine::new(cosim.scheduler)).expect_err("cannot be");
        assert!(!error.is_wrong());
        error.to_string()
    };
    assert!(error(&CoSimulation { fifo_depth: 0, ..base.clone() }).contains("FIFO"));
    assert!(error(&CoSimulation { streams: 0, ..base.clone() }).contains("streams = 0"));
    assert!(error(&CoSimulation { software_slots: 0, ..base }).contains("software-slots = 0"));
}

#[test]
fn algorithm_1_as_printed_is_caught_by_the_exact_order_checker() {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.rule = HazardRule::StrictAlgorithm1;
    cosim.policies = vec![Policy::Window];
    let stream = stream(vec![kernel("writer", 4, &[], &[0]), kernel("reader", 4, &[0], &[1])]);
    let error = cosim.run(&stream, &mut ModelEngine::new(cosim.scheduler)).expect_err("misses RAW");
    assert!(error.is_wrong());
    let text = error.to_string();
    for part in ["window dispatched", "1 `reader`", "0 `writer`", "RAW on 256 bytes"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A scheduler that spoils what goes in or comes out.
struct Spoilt<F>(ModelEngine, F);

impl<F: Fn(&mut ModelEngine, SchedulerIn) -> SchedulerOut + Send> SchedulerEngine for Spoilt<F> {
    fn cycle(&mut self, input: &SchedulerIn) -> Result<SchedulerOut, CycleError> {
        Ok((self.1)(&mut self.0, *input))
    }

    fn name(&self) -> String {
        "spoilt".into()
    }
}

fn spoil(spoil: impl Fn(&mut ModelEngine, SchedulerIn) -> SchedulerOut + Send) -> SimError {
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.policies = vec![Policy::Window];
    let chain = (0..12).map(|i| kernel("link", 3, &[i], &[i + 1])).collect();
    let mut engine = Spoilt(ModelEngine::new(cosim.scheduler), spoil);
    let error = cosim.run(&stream(chain), &mut engine).expect_err("spoilt");
    assert!(error.is_wrong(), "{error}");
    error
}

fn model(engine: &mut ModelEngine, input: &SchedulerIn) -> SchedulerOut {
    engine.cycle(input).expect("the model does not fail")
}

#[test]
fn a_scheduler_that_never_offers_is_a_deadlock() {
    let error = spoil(|engine, input| {
        let out = model(engine, &SchedulerIn { disp_ready: false, ..input });
        SchedulerOut { offer: None, ..out }
    });
    let text = error.to_string();
    assert!(matches!(error, SimError::Deadlock { left: 12, .. }), "{text}");
    assert!(text.contains("0 `link`") && text.contains("8 kernels in the window"), "{text}");
}

#[test]
fn a_scheduler_that_is_busy_for_ever_is_a_deadlock() {
    let error = spoil(|_, _| SchedulerOut { busy: true, ..SchedulerOut::default() });
    assert!(matches!(error, SimError::Deadlock { left: 12, .. }), "{error}");
}

#[test]
fn a_scheduler_that_never_takes_a_retirement_is_a_deadlock() {
    let error = spoil(|engine, input| {
        let out = model(engine, &SchedulerIn { retire: [None; 4], ..input });
        SchedulerOut { retire_ready: [false; 4], ..out }
    });
    assert!(matches!(error, SimError::Deadlock { left: 11, .. }), "{error}");
}

#[test]
fn a_scheduler_that_forgets_upstream_is_out_of_order() {
    let error = spoil(|engine, mut input| {
        if let Some(HostBeat::Mask { upstream, .. }) = &mut input.host {
            *upstream = [0; 8];
        }
        model(engine, &input)
    });
    assert!(matches!(error, SimError::OutOfOrder { .. }), "{error}");
}

#[test]
fn a_retirement_that_the_scheduler_does_not_know_is_an_error() {
    let error = spoil(|engine, mut input| {
        for slot in input.retire.iter_mut().flatten() {
            *slot ^= 4;
        }
        model(engine, &input)
    });
    let text = error.to_string();
    assert!(matches!(error, SimError::RetireRefused { .. }), "{text}");
    assert!(text.contains("kernel 0 `link` in slot 0"), "{text}");
}

#[test]
fn an_offer_of_an_id_that_is_not_in_flight_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = model(engine, &input);
        if let Some(offer) = &mut out.offer {
            offer.id ^= 128;
        }
        out
    });
    assert!(matches!(error, SimError::NotInFlight { id: 128, .. }), "{error}");
}

#[test]
fn an_offer_made_twice_is_an_error() {
    let error = spoil(|engine, input| {
        let out = model(engine, &SchedulerIn { disp_ready: false, ..input });
        SchedulerOut { busy: true, ..out }
    });
    assert!(matches!(error, SimError::DispatchedTwice { .. }), "{error}");
}

#[test]
fn an_offer_in_a_slot_that_does_not_exist_is_an_error() {
    let error = spoil(|engine, input| {
        let mut out = model(engine, &input);
        if let Some(offer) = &mut out.offer {
            offer.slot = 77;
        }
        out
    });
    assert!(matches!(error, SimError::WrongSlot { slot: 77, .. }), "{error}");
}

/// The golden model behind flat ports, as Verilated Verilog is.
struct Flat {
    ports: Vec<Port>,
    translate: SchedulerPorts,
    model: SchedulerModel,
}

impl Flat {
    fn new(params: SchedulerParams) -> Self {
        let mut ports = Vec::new();
        let mut port = |name: String, width| {
            let direction = if name.ends_with("_o") { Direction::Output } else { Direction::Input };
            ports.push(Port { name, direction, width, channel: String::new(), doc: String::new() });
        };
        let slot_bits = params.window().slot_bits() as u32;
        for (name, width) in [
            ("clk_i", 1),
            ("rst_ni", 1),
            ("host_valid_i", 1),
            ("host_ready_o", 1),
            ("host_id_i", 8),
            ("host_up_i", params.upstream().scheduled() as u32),
            ("disp_valid_o", 1),
            ("disp_ready_i", 1),
            ("disp_id_o", 8),
            ("disp_slot_o", slot_bits),
            ("occupancy_o", 8),
            ("oldest_valid_o", 1),
            ("oldest_id_o", 8),
            ("stall_limit_o", 1),
            ("stall_full_o", 1),
            ("stall_busy_o", 1),
            ("busy_o", 1),
            ("ret_err_o", 1),
        ] {
            port(name.into(), width);
        }
        for r in 0..params.window().retire_ports() {
            port(indexed("ret_valid_i", r), 1);
            port(indexed("ret_slot_i", r), slot_bits);
            port(indexed("ret_ready_o", r), 1);
        }
        let layouts = [Direction::Input, Direction::Output].map(|d| Layout::new(&ports, d));
        let translate = SchedulerPorts::new(params, &layouts[0], &layouts[1]).expect("all ports");
        Self { ports, translate, model: SchedulerModel::new(params) }
    }
}

impl CycleModel for Flat {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let out = self.model.cycle(&self.translate.unpack_inputs(inputs));
        self.translate.pack_outputs(&out, outputs);
        Ok(())
    }
}

#[test]
fn flat_ports_decide_as_the_model_does() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 16));
    let stream = shipped("brax-v1-ant-b256", 100);
    let mut flat =
        FlatEngine::new("flat", cosim.scheduler, Box::new(Flat::new(cosim.scheduler))).expect("all ports");
    let by_flat = cosim.run(&stream, &mut flat).expect("runs");
    let by_model = run(&cosim, &stream);
    assert_eq!(by_flat.report.scheduler.engine, "flat");
    assert_eq!(by_flat.recordings, by_model.recordings);
    assert_eq!(by_flat.report.policies, by_model.report.policies);
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
        let scheduler = SchedulerParams::new(kind, 8, 2, 16, encoding).expect("compiled in");
        assert_jumps_are_exact(cosim(scheduler), &shipped("brax-v1-ant-b256", 40));
    }
}

#[test]
fn ids_wrap() {
    let mut cosim =
        cosim(SchedulerParams::new(WindowKind::Matrix, 128, 4, 255, Encoding::Mask).expect("params"));
    cosim.profile.host = HostLatencies::FREE;
    let kernels = (0..1000).map(|i| kernel("k", 2, &[i % 37], &[i % 53 + 37])).collect();
    let outcome = run(&cosim, &stream(kernels));
    let window = of(&outcome, Policy::Window).0.window.expect("window");
    assert!(window.fill_max > 64);
}

prop_compose! {
    fn any_kernel()(
        ctas in 1..150u32,
        reads in prop::collection::vec(0..10u64, 0..3),
        writes in prop::collection::vec(0..10u64, 0..2),
        kflops in 0..2000u64,
        kind in 0..3usize,
        dur_ns in prop::option::weighted(0.2, 1..20_000u64),
    ) -> Kernel {
        let mut k = kernel("k", ctas, &reads, &writes);
        k.kind = [
            windlass_runtime::ktrace::KernelType::Simt,
            windlass_runtime::ktrace::KernelType::Tensor,
            windlass_runtime::ktrace::KernelType::Copy,
        ][kind];
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

fn any_scheduler() -> impl Strategy<Value = SchedulerParams> {
    let ids = (1..=8usize, 8..=255usize).prop_map(|(lanes, m)| (Encoding::Ids { lanes }, m));
    let masks = prop::sample::select(vec![8, 16, 32, 64, 128, 255]).prop_map(|m| (Encoding::Mask, m));
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
        fifo_depth in 1..20usize,
        streams in 1..5usize,
        poll_events: bool,
    ) {
        let cosim = CoSimulation { fifo_depth, streams, poll_events, ..cosim(scheduler) };
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
        prop_assert!(cycles(Policy::Ideal) as f64 <= cycles(Policy::Window) as f64 * 1.5);
        prop_assert!(cycles(Policy::Ideal) as f64 <= cycles(Policy::Serial) as f64 * 1.5);
        let slots = &of(&outcome, Policy::Window).1.slots;
        prop_assert_eq!(slots.len(), stream.kernels().len());
    }

    #[test]
    fn jumps_are_exact_on_random_streams(
        kernels in prop::collection::vec(any_kernel(), 1..10),
        scheduler in any_scheduler(),
        fifo_depth in 1..6usize,
    ) {
        let kernels = kernels.into_iter().map(|k| Kernel { dur_ns: k.dur_ns.map(|ns| ns % 2000 + 1), ..k });
        let stream = stream(kernels.collect());
        assert_jumps_are_exact(CoSimulation { fifo_depth, streams: 2, ..cosim(scheduler) }, &stream);
    }
}

#[test]
fn the_table_is_aligned_and_the_report_is_an_object_with_a_version() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let outcome = run(&cosim, &shipped("brax-v1-ant-b256", 30));
    let table = outcome.report.table();
    let rows: Vec<&str> = table.lines().skip(3).take(6).collect();
    assert!(rows[0].starts_with("policy") && rows[5].starts_with("ideal"), "{table}");
    assert!(rows.iter().all(|row| row.chars().count() == rows[0].chars().count()), "{table}");
    let json = serde_json::to_value(&outcome.report).expect("serialises");
    assert_eq!(json["format_version"], 1);
    assert_eq!(json["policies"][3]["policy"], "window");
    assert_eq!(json["policies"][3]["window"]["insert"]["max"], 1);
}

#[test]
fn a_timeline_is_valid_json_the_same_each_time_and_no_row_overlaps_itself() {
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let stream = shipped("brax-v1-ant-b256", 60);
    let timeline = || {
        let mut bytes = Vec::new();
        let recordings = run(&cosim, &stream).recordings;
        windlass_cosim::timeline::write(&mut bytes, &stream, 1725, &recordings).expect("a Vec takes all");
        bytes
    };
    let bytes = timeline();
    assert!(bytes == timeline());
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let mut rows = std::collections::BTreeMap::<(u64, u64), Vec<(u64, u64)>>::new();
    for e in json["traceEvents"].as_array().expect("events") {
        if e["ph"] == "X" {
            let cycle = |name: &str| e["args"][name].as_u64().expect("cycle");
            let row = (e["pid"].as_u64().expect("pid"), e["tid"].as_u64().expect("tid"));
            rows.entry(row).or_default().push((cycle("start_cycle"), cycle("end_cycle")));
        }
    }
    assert!(rows.len() > 46);
    for (row, mut spans) in rows {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0), "{row:?}: {spans:?}");
    }
}

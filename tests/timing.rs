//! The cycle counts that the blocks' pages promise, measured on few sizes; with `WINDLASS_LONG=1` on schedulers of all sizes.

use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::engine::library;
use windlass_cosim::verilator::InstanceOptions;
use windlass_rtl::front_end::{
    Counter, CtaDone, CtaNeeds, CtaOut, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, Launch,
    MAX_CTA_PORTS,
};
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerIn, SchedulerOut, SchedulerPorts};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::{ArbiterKind, SmLimits, WINDOW_SLOTS, WindowKind};
use windlass_rtl::port::{Direction, Layout};

/// A scheduler behind its typed ports: Verilog, but for large list windows, whose Verilog takes long to build. There it is the golden
/// model, which tests/lockstep.rs holds equal to the Verilog.
struct Scheduler {
    model: Box<dyn CycleModel>,
    ports: SchedulerPorts,
}

impl Scheduler {
    fn new(window: WindowKind, slots: usize) -> Self {
        Self::with(Request { window, slots, ..Request::default() })
    }

    fn with(request: Request) -> Self {
        let Request { window, slots, .. } = request;
        let spec = BlockSpec::new("kernel_scheduler", request);
        let spec = spec.unwrap_or_else(|e| panic!("{e}"));
        let BlockSpec::KernelScheduler(params) = spec else { panic!("{spec:?}") };
        let model: Box<dyn CycleModel> = if window == WindowKind::List && slots > 32 {
            spec.model()
        } else {
            let library = library(spec, |build| build).unwrap_or_else(|e| panic!("{e}"));
            Box::new(library.instance(InstanceOptions::default()).unwrap_or_else(|e| panic!("{e}")))
        };
        let all = model.ports();
        let inputs = Layout::new(&all, Direction::Input);
        let outputs = Layout::new(&all, Direction::Output);
        let ports = SchedulerPorts::new(params, &inputs, &outputs).unwrap_or_else(|e| panic!("{e}"));
        let mut scheduler = Self { model, ports };
        scheduler.cycle(SchedulerIn::RESET);
        scheduler
    }

    fn cycle(&mut self, input: SchedulerIn) -> SchedulerOut {
        let mut inputs = vec![0; self.ports.input_words()];
        let mut outputs = vec![0; self.ports.output_words()];
        self.ports.pack(&input, &mut inputs);
        self.model.cycle(&inputs, &mut outputs).unwrap_or_else(|e| panic!("{e}"));
        self.ports.unpack(&outputs)
    }

    /// Cycles until `done`, counted from the cycle before; at most a thousand.
    fn until(&mut self, input: SchedulerIn, done: impl Fn(&SchedulerOut) -> bool) -> usize {
        (1..1000).find(|_| done(&self.cycle(input))).expect("it happens")
    }
}

/// The slots with which schedulers are measured: small, and no power of two.
fn sizes() -> Vec<usize> {
    let long = std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1");
    WINDOW_SLOTS.into_iter().filter(|slots| long || [8, 24].contains(slots)).collect()
}

fn kernel(id: u8, upstream: &[u8]) -> SchedulerIn {
    let mut lanes = [None; 8];
    for (lane, id) in lanes.iter_mut().zip(upstream) {
        *lane = Some(*id);
    }
    SchedulerIn { host: Some(HostBeat::Ids { id, upstream: lanes, last: true }), ..SchedulerIn::IDLE }
}

fn retire(slot: u8) -> SchedulerIn {
    SchedulerIn { retire: [Some(slot), None, None, None], ..SchedulerIn::IDLE }
}

/// Cycles from the insertion of a kernel to its offer, and from its retirement to the offer of one that waits for it.
fn latencies(window: WindowKind, slots: usize) -> (usize, usize) {
    latencies_of(Scheduler::new(window, slots), slots)
}

fn latencies_of(mut scheduler: Scheduler, slots: usize) -> (usize, usize) {
    assert!(scheduler.cycle(kernel(0, &[])).host_ready);
    let insert = scheduler.until(SchedulerIn::IDLE, |out| out.offer.is_some());
    let slot =
        scheduler.cycle(SchedulerIn { disp_ready: true, ..SchedulerIn::IDLE }).offer.expect("offered").slot;
    assert!(scheduler.cycle(kernel(1, &[0])).host_ready);
    for _ in 0..2 * slots {
        assert_eq!(scheduler.cycle(SchedulerIn::IDLE).offer, None, "kernel 1 waits for kernel 0");
    }
    assert!(scheduler.cycle(retire(slot)).retire_ready[0]);
    let free = scheduler.until(SchedulerIn::IDLE, |out| out.offer.is_some_and(|o| o.id == 1));
    (insert, free)
}

#[test]
fn matrix_inserts_in_one_cycle() {
    for slots in sizes() {
        assert_eq!(latencies(WindowKind::Matrix, slots).0, 1, "N = {slots}");
    }
}

#[test]
fn matrix_frees_in_one_cycle() {
    for slots in sizes() {
        assert_eq!(latencies(WindowKind::Matrix, slots).1, 1, "N = {slots}");
    }
}

#[test]
fn matrix_pipelined_takes_one_cycle_more() {
    for slots in sizes() {
        let scheduler = Scheduler::with(Request { slots, pipelined: true, ..Request::default() });
        assert_eq!(latencies_of(scheduler, slots), (2, 2), "N = {slots}");
    }
}

/// Cycles from the retirement of `ended` kernels of a full window, at once, to the insertion of so many others.
fn refill(pipelined: bool, ended: usize) -> usize {
    let slots = 8;
    let mut scheduler = Scheduler::with(Request { slots, pipelined, ..Request::default() });
    let mut running = Vec::new();
    let mut sent = 0;
    while running.len() < slots {
        let mut input = if sent < slots { kernel(sent as u8, &[]) } else { SchedulerIn::IDLE };
        input.disp_ready = true;
        let out = scheduler.cycle(input);
        sent += usize::from(sent < slots && out.host_ready);
        running.extend(out.offer.map(|offer| offer.slot));
    }
    assert!(scheduler.cycle(kernel(sent as u8, &[])).stall_full);
    let mut input = kernel(sent as u8, &[]);
    for (port, slot) in input.retire.iter_mut().zip(&running[2..2 + ended]) {
        *port = Some(*slot);
    }
    assert!(!scheduler.cycle(input).host_ready);
    let mut cycles = 0;
    for id in 0..ended {
        cycles += scheduler.until(kernel((sent + id) as u8, &[]), |out| out.host_ready);
    }
    cycles
}

#[test]
fn a_full_matrix_can_be_filled_three_cycles_after_a_retirement_and_then_in_every_cycle() {
    for (pipelined, cycles) in [(false, 3), (true, 4)] {
        assert_eq!(refill(pipelined, 1), cycles);
        assert_eq!(refill(pipelined, 2), cycles + 1);
    }
}

#[test]
fn list_inserts_in_n_cycles() {
    for slots in sizes() {
        assert_eq!(latencies(WindowKind::List, slots).0, slots);
    }
}

/// Cycles from the retirement of the last upstream of a kernel that waited for a full window to its offer.
fn frees_last_entry(window: WindowKind, slots: usize) -> usize {
    let mut scheduler = Scheduler::new(window, slots);
    let last = slots as u8 - 1;
    for id in 0..last {
        while !scheduler.cycle(kernel(id, &[])).host_ready {}
        scheduler.until(SchedulerIn::IDLE, |out| out.offer.is_some());
        scheduler.cycle(SchedulerIn { disp_ready: true, ..SchedulerIn::IDLE });
    }
    let ids: Vec<u8> = (0..last).collect();
    let beats = ids.chunks(4).count();
    for (i, lanes) in ids.chunks(4).enumerate() {
        let mut input = kernel(last, lanes);
        if let Some(HostBeat::Ids { last, .. }) = &mut input.host {
            *last = i + 1 == beats;
        }
        while !scheduler.cycle(input).host_ready {}
    }
    // The list is in the order of the slots: slot N - 2 has the entry that is looked at last.
    for slot in 0..last {
        while !scheduler.cycle(retire(slot)).retire_ready[0] {}
        if slot + 1 < last {
            for _ in 0..2 * slots {
                assert_eq!(scheduler.cycle(SchedulerIn::IDLE).offer, None, "it still waits");
            }
        }
    }
    scheduler.until(SchedulerIn::IDLE, |out| out.offer.is_some_and(|o| o.id == last))
}

#[test]
fn list_frees_in_n_minus_one_cycles() {
    for slots in sizes() {
        assert_eq!(frees_last_entry(WindowKind::List, slots), slots - 1);
    }
    for slots in [8, 24] {
        assert_eq!(frees_last_entry(WindowKind::Matrix, slots), 1);
    }
}

#[test]
fn list_may_free_sooner() {
    // The entry is the first of its list; the walk goes on, but the kernel need not wait for its end.
    assert_eq!(latencies(WindowKind::List, 8).1, 1);
}

#[test]
fn matrix_takes_a_kernel_in_every_cycle() {
    let mut scheduler = Scheduler::new(WindowKind::Matrix, 24);
    for id in 0..24 {
        let upstream = if id == 0 { vec![] } else { vec![id - 1] };
        let out = scheduler.cycle(kernel(id, &upstream));
        assert!(out.host_ready, "kernel {id}");
        assert_eq!(out.occupancy, id);
    }
    assert!(scheduler.cycle(kernel(24, &[])).stall_full);
}

/// The whole front end behind its typed ports.
struct FrontEnd {
    model: Box<dyn CycleModel>,
    ports: FrontEndPorts,
    request: Request,
    /// Cycles so far, the reset left out.
    now: u64,
}

/// The size of the targets.
fn large(arbiter: ArbiterKind) -> Request {
    Request { slots: 32, sms: 132, arbiter, ..Request::default() }
}

/// What most tests measure: the golden model at the size of the targets, whose Verilog takes long to build, and Verilog with few slots, as
/// tests/lockstep.rs holds equal to the model.
fn front_ends(arbiter: ArbiterKind) -> [FrontEnd; 2] {
    let small = Request { slots: 8, sms: 36, arbiter, ..Request::default() };
    [FrontEnd::of(large(arbiter), BlockSpec::model), FrontEnd::new(small)]
}

const TYPED: ArbiterKind = ArbiterKind::Typed { active: 2 };

/// Whose SMs stand still while nothing is asked of them.
fn holds() -> Request {
    Request { slots: 8, sms: 8, hold_idle: true, ..Request::default() }
}

impl FrontEnd {
    /// In Verilog.
    fn new(request: Request) -> Self {
        Self::of(request, |spec| {
            let library = library(spec, |build| build).unwrap_or_else(|e| panic!("{e}"));
            Box::new(library.instance(InstanceOptions::default()).unwrap_or_else(|e| panic!("{e}")))
        })
    }

    /// After reset, and after the three cycles in which the SMs become empty.
    fn of(request: Request, model: impl Fn(BlockSpec) -> Box<dyn CycleModel>) -> Self {
        let spec = BlockSpec::new("front_end", request).unwrap_or_else(|e| panic!("{e}"));
        let BlockSpec::FrontEnd(params) = spec else { panic!("{spec:?}") };
        let model = model(spec);
        let all = model.ports();
        let inputs = Layout::new(&all, Direction::Input);
        let outputs = Layout::new(&all, Direction::Output);
        let ports = FrontEndPorts::new(params, &inputs, &outputs).unwrap_or_else(|e| panic!("{e}"));
        let mut front_end = Self { model, ports, request, now: 0 };
        for input in [FrontEndIn::RESET; 2].into_iter().chain([FrontEndIn::IDLE; 3]) {
            front_end.cycle(input);
        }
        front_end.now = 0;
        front_end
    }

    fn cycle(&mut self, input: FrontEndIn) -> FrontEndOut {
        let mut inputs = vec![0; self.ports.input_words()];
        let mut outputs = vec![0; self.ports.output_words()];
        self.ports.pack(&input, &mut inputs);
        self.model.cycle(&inputs, &mut outputs).unwrap_or_else(|e| panic!("{e}"));
        self.now += 1;
        self.ports.unpack(&outputs)
    }

    /// The first idle cycle, counted from the one before, in which `done` finds something.
    fn until<T>(&mut self, done: impl Fn(&FrontEndOut) -> Option<T>) -> (usize, T) {
        (1..1000)
            .find_map(|cycle| done(&self.cycle(FrontEndIn::IDLE)).map(|found| (cycle, found)))
            .expect("it happens")
    }
}

/// A kernel of `grid` CTAs of two warps, two register units and a kilobyte.
fn launch(id: u8, upstream: &[u8], grid: u32, kind: CtaType) -> FrontEndIn {
    let needs = CtaNeeds { warps: 2, registers: 2, smem: 8 };
    let launch = Launch { grid, kind, partition: 0, needs };
    FrontEndIn { host: kernel(id, upstream).host.map(|beat| (beat, launch)), ..FrontEndIn::IDLE }
}

/// A kernel whose CTAs need a whole SM each.
fn whole(id: u8, upstream: &[u8], grid: u32, kind: CtaType) -> FrontEndIn {
    let mut input = launch(id, upstream, grid, kind);
    if let Some((_, launch)) = &mut input.host {
        launch.needs = CtaNeeds { warps: 64, registers: 256, smem: 1824 };
    }
    input
}

/// These CTAs have ended, at most one per port.
fn ends(ctas: &[CtaOut]) -> FrontEndIn {
    let mut input = FrontEndIn::IDLE;
    for cta in ctas {
        let port = &mut input.done[usize::from(cta.sm) % 4];
        assert!(port.replace(CtaDone { sm: cta.sm, slot: cta.slot }).is_none(), "two for one port");
    }
    input
}

#[test]
fn a_dispatched_kernel_places_its_first_cta_two_cycles_later() {
    let all = [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends).chain([FrontEnd::new(holds())]);
    for mut front_end in all {
        assert!(front_end.cycle(launch(0, &[], 1, CtaType::Simt)).scheduler.host_ready);
        assert!(front_end.cycle(FrontEndIn::IDLE).scheduler.offer.is_some(), "dispatched");
        assert_eq!(front_end.until(|out| out.cta[0]).0, 2);
    }
}

#[test]
fn the_last_completion_frees_a_kernel_that_places_its_first_cta_four_or_five_cycles_later() {
    let small = Request { slots: 4, sms: 8, pipelined: true, ..Request::default() };
    let all = [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends);
    let all = all.chain([small, holds()].map(FrontEnd::new));
    for mut front_end in all {
        let expected = if front_end.request.pipelined { 5 } else { 4 };
        front_end.cycle(launch(0, &[], 1, CtaType::Simt));
        front_end.cycle(launch(1, &[0], 1, CtaType::Simt));
        let (_, cta) = front_end.until(|out| out.cta[0]);
        assert_eq!(cta.id, 0);
        for _ in 0..20 {
            assert_eq!(
                front_end.cycle(FrontEndIn::IDLE).cta,
                [None; MAX_CTA_PORTS],
                "kernel 1 waits for kernel 0"
            );
        }
        assert!(front_end.cycle(ends(&[cta])).done_ready[usize::from(cta.sm) % 4]);
        let (cycles, cta) = front_end.until(|out| out.cta[0]);
        assert_eq!((cycles, cta.id), (expected, 1));
    }
}

/// Limits of an SM: 64 warps, 256 register units, 1824 units of shared memory; or as many of these as can be asked for.
#[test]
fn a_packet_that_no_sm_can_run_is_said_where_its_last_beat_is_taken() {
    let most = SmLimits::new(32, 64, 256, 2047).unwrap_or_else(|e| panic!("{e}"));
    let needs = |warps, registers, smem| CtaNeeds { warps, registers, smem };
    let right = [needs(1, 1, 0), needs(64, 1, 0), needs(1, 256, 0), needs(1, 1, 1824)];
    let wrong = [needs(0, 1, 0), needs(65, 1, 0), needs(127, 1, 0), needs(1, 0, 0), needs(1, 257, 0)];
    let wrong = wrong.into_iter().chain([needs(1, 511, 0), needs(1, 1, 1825), needs(1, 1, 2047)]);
    let cases = right.into_iter().map(|needs| (1, needs, false));
    let cases = cases.chain([(u32::MAX, needs(1, 1, 0), false)]);
    // Nobody looks at what the CTAs of a marker would need.
    let cases = cases.chain(wrong.clone().flat_map(|needs| [(1, needs, true), (0, needs, false)]));
    let cases: Vec<_> = cases.collect();
    for limits in [SmLimits::H100, most] {
        let request = Request { slots: 8, sms: 8, limits, arbiter: TYPED, ..Request::default() };
        let makes: [fn(Request) -> FrontEnd; 2] =
            [FrontEnd::new, |request| FrontEnd::of(request, BlockSpec::model)];
        for make in makes {
            let mut front_end = make(request);
            assert!(!front_end.cycle(FrontEndIn::IDLE).host_error, "nothing comes");
            for &(grid, needs, expected) in &cases {
                let expected = expected && (limits == SmLimits::H100 || needs.smem <= 1824);
                // Each in a front end without kernels, in two beats: it is said with the last.
                front_end.cycle(FrontEndIn::RESET);
                let mut input = launch(0, &[], grid, CtaType::Simt);
                let Some((HostBeat::Ids { last, .. }, launch)) = &mut input.host else {
                    panic!("a beat of ids")
                };
                (launch.needs, *last) = (needs, false);
                let first = front_end.cycle(input);
                let Some((HostBeat::Ids { last, .. }, _)) = &mut input.host else { panic!("a beat of ids") };
                *last = true;
                let second = front_end.cycle(input);
                assert!(first.scheduler.host_ready && second.scheduler.host_ready);
                assert_eq!(
                    (first.host_error, second.host_error),
                    (false, expected),
                    "{grid} CTAs, {needs:?}"
                );
                assert!(!front_end.cycle(FrontEndIn::IDLE).host_error);
            }
        }
    }
}

/// Kernel 0 has a CTA; the markers 1 and 2 wait for it, one after the other; kernel 3 waits for the second.
#[test]
fn a_marker_retires_in_the_cycle_after_its_dispatch_and_frees_those_that_wait() {
    let small = |window, pipelined| Request { slots: 4, sms: 8, window, pipelined, ..Request::default() };
    let (pipelined, list) = (small(WindowKind::Matrix, true), small(WindowKind::List, false));
    let matrices = [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends).map(|all| (all, Some(1)));
    // A list's walk to the kernel takes as long as it takes.
    let all = matrices.chain([(FrontEnd::new(pipelined), Some(2)), (FrontEnd::new(list), None)]);
    for (mut front_end, frees) in all {
        let mut cta = None;
        for (id, upstream, grid) in [(0, None, 1), (1, Some(0), 0), (2, Some(1), 0), (3, Some(2), 1)] {
            let input = launch(id, upstream.as_slice(), grid, CtaType::Simt);
            loop {
                let out = front_end.cycle(input);
                cta = cta.or(out.cta[0]);
                if out.scheduler.host_ready {
                    break;
                }
            }
        }
        for _ in 0..40 {
            cta = cta.or(front_end.cycle(FrontEndIn::IDLE).cta[0]);
        }
        let cta = cta.expect("kernel 0 has one");
        assert!(front_end.cycle(ends(&[cta])).done_ready[usize::from(cta.sm) % 4]);
        let mut starts = Vec::new();
        let mut retirements = Vec::new();
        for cycle in 1..200 {
            let out = front_end.cycle(FrontEndIn::IDLE);
            assert!(!out.host_error && !out.done_error && !out.scheduler.retire_error);
            starts.extend(out.scheduler.offer.map(|offer| (cycle, offer.id, offer.slot)));
            retirements.extend(out.retired.into_iter().flatten().map(|slot| (cycle, slot)));
            assert!(out.cta.iter().flatten().all(|cta| cta.id == 3), "a marker has no CTA");
        }
        let ids: Vec<u8> = starts.iter().map(|(_, id, _)| *id).collect();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(retirements.len(), 3);
        for ((dispatched, _, slot), retired) in starts.iter().zip(&retirements[1..]) {
            // A list may be on a walk.
            assert!(
                retired.1 == *slot && (retired.0 == dispatched + 1 || frees.is_none()),
                "{retired:?}: {starts:?}"
            );
        }
        for ((retired, _), (dispatched, ..)) in retirements.iter().zip(&starts) {
            assert!(frees.is_none_or(|frees| *dispatched == retired + frees), "{retired}: {starts:?}");
        }
    }
}

/// Kernel 0 cannot run, kernel 1 waits for it, kernel 2 for kernel 1.
#[test]
fn a_packet_that_no_sm_can_run_goes_on_as_a_marker() {
    for mut front_end in [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends) {
        let mut wrong = launch(0, &[], 1000, CtaType::Simt);
        let Some((_, packet)) = &mut wrong.host else { panic!("a beat") };
        packet.needs.smem = 1825;
        assert!(front_end.cycle(wrong).host_error);
        // Dispatched, and retired in the cycle after that; so kernel 1 starts two cycles after the beat that names it.
        let mut seen = Vec::new();
        let inputs = [launch(1, &[0], 1, CtaType::Simt), launch(2, &[1], 1, CtaType::Simt)];
        for input in inputs.into_iter().chain([FrontEndIn::IDLE; 4]) {
            let out = front_end.cycle(input);
            assert!(!out.host_error && !out.done_error);
            let first = out.cta.iter().flatten().next();
            seen.push((out.scheduler.offer.map(|o| o.id), out.retired[0].is_some(), first.map(|cta| cta.id)));
        }
        let none = (None, false, None);
        let expected = [(Some(0), false, None), (None, true, None), (Some(1), false, None), none];
        assert_eq!(seen, [&expected[..], &[(None, false, Some(1)), none]].concat());
    }
}

/// Several numbers of SMs.
#[test]
fn a_completion_of_nothing_is_said_and_changes_nothing() {
    for mut front_end in [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends) {
        let last = front_end.request.sms as u8 - 1;
        let done = |port: u8, sm, slot| {
            let mut input = FrontEndIn::IDLE;
            input.done[usize::from(port)] = Some(CtaDone { sm, slot });
            input
        };
        front_end.cycle(launch(0, &[], 2, CtaType::Simt));
        let (_, first) = front_end.until(|out| out.cta[0]);
        let (_, second) = front_end.until(|out| out.cta[0]);
        let mut wrong = Vec::new();
        for (sm, port) in [last, last + 1, last.next_multiple_of(4) + 3, 255]
            .into_iter()
            .flat_map(|sm| (0..4).map(move |port| (sm, port)))
        {
            if sm > last || sm % 4 != port {
                wrong.push(done(port, sm, first.slot));
            }
        }
        // Of slots without a kernel.
        wrong.extend((0..4).filter(|sm| *sm != first.slot).map(|slot| done(1, 1, slot)));
        for input in wrong {
            let out = front_end.cycle(input);
            assert!(out.done_error && out.done_ready.iter().all(|ready| *ready), "{:?}", input.done);
            assert!(!front_end.cycle(FrontEndIn::IDLE).done_error);
        }
        // What is right ends as ever: the second is the last of its kernel, and after it no CTA is out.
        for (cta, retires) in [(first, false), (second, true)] {
            assert!(!front_end.cycle(ends(&[cta])).done_error);
            assert_eq!(front_end.cycle(FrontEndIn::IDLE).retired[0].is_some(), retires);
        }
        // The kernel has retired, but for this.
        let again = front_end.cycle(ends(&[first]));
        assert!(again.done_error && again.retired[0].is_none());
        for _ in 0..4 {
            front_end.cycle(FrontEndIn { counter: Counter::CtaSum as u8, ..FrontEndIn::IDLE });
        }
        let sum = |front_end: &mut FrontEnd| {
            front_end.cycle(FrontEndIn { counter: Counter::CtaSum as u8, ..FrontEndIn::IDLE }).count
        };
        assert_eq!(sum(&mut front_end), sum(&mut front_end), "a CTA is counted as out");
    }
}

#[test]
fn two_types_place_two_ctas_in_every_cycle() {
    for mut front_end in front_ends(TYPED) {
        front_end.cycle(launch(0, &[], 1000, CtaType::Simt));
        front_end.cycle(launch(1, &[], 1000, CtaType::Tensor));
        front_end.until(|out| out.cta[1]);
        for placed in 0..400 {
            let out = front_end.cycle(FrontEndIn::IDLE);
            let kinds = [0, 1].map(|port: usize| out.cta[port].map(|cta| cta.kind));
            assert_eq!(kinds, [Some(CtaType::Simt), Some(CtaType::Tensor)], "after {placed} cycles");
        }
    }
}

#[test]
fn one_type_places_one_cta_in_every_cycle() {
    let all = [ArbiterKind::Single, TYPED].into_iter().flat_map(front_ends);
    // Where the SMs are no multiple of three, some turns pass.
    for mut front_end in all.filter(|front_end| front_end.request.sms.is_multiple_of(3)) {
        front_end.cycle(launch(0, &[], 2000, CtaType::Simt));
        front_end.until(|out| out.cta[0]);
        for index in 1..600 {
            let cta = front_end.cycle(FrontEndIn::IDLE).cta[0];
            assert_eq!(cta.map(|cta| cta.index), Some(index));
        }
    }
}

/// And in the first cycle as soon after the dispatch as one place does.
#[test]
fn four_places_place_four_ctas_of_each_type_in_every_cycle() {
    let of = |sms| Request { sms, places: 4, ..large(TYPED) };
    let in_verilog = FrontEnd::new(Request { slots: 8, ..of(36) });
    for mut front_end in [FrontEnd::of(of(132), BlockSpec::model), in_verilog] {
        let all = [(0, CtaType::Simt), (1, CtaType::Tensor)];
        for (id, kind) in all {
            front_end.cycle(launch(id, &[], 400, kind));
        }
        // The second kernel is dispatched in the next cycle; the first one is a cycle ahead of it.
        let (cycles, _) = front_end.until(|out| out.cta[7]);
        assert_eq!(cycles, 1 + 2);
        let mut placed = [8, 4];
        for _ in 0..90 {
            let out = front_end.cycle(FrontEndIn::IDLE);
            for (id, kind) in all {
                let ctas: Vec<CtaOut> =
                    out.cta.into_iter().flatten().filter(|cta| cta.kind == kind).collect();
                assert!(ctas.iter().all(|cta| cta.id == id));
                let mut indices: Vec<u32> = ctas.iter().map(|cta| cta.index).collect();
                indices.sort_unstable();
                let placed = &mut placed[kind as usize];
                assert_eq!(indices, (*placed..*placed + 4).collect::<Vec<u32>>());
                *placed += 4;
                let banks: std::collections::BTreeSet<u8> = ctas.iter().map(|cta| cta.sm % 4).collect();
                assert_eq!(banks.len(), 4);
            }
        }
    }
}

/// 22 is no multiple of three: two of 24 turns pass, so that 22 CTAs in a row are one for each SM.
#[test]
fn as_many_ctas_as_there_are_sms_are_one_for_each() {
    // Other numbers of active kernels, too.
    for active in [1, 4] {
        let mut front_end =
            FrontEnd::new(Request { slots: 8, sms: 22, ..large(ArbiterKind::Typed { active }) });
        front_end.cycle(launch(0, &[], 2000, CtaType::Simt));
        let (_, first) = front_end.until(|out| out.cta[0]);
        let rest = (1..240).filter_map(|_| front_end.cycle(FrontEndIn::IDLE).cta[0]);
        let ctas: Vec<CtaOut> = std::iter::once(first).chain(rest).collect();
        assert_eq!(ctas.len(), 220);
        for round in ctas.windows(22) {
            let sms: std::collections::BTreeSet<u8> = round.iter().map(|cta| cta.sm).collect();
            assert_eq!(sms.len(), 22, "{round:?}");
        }
    }
}

/// How many TENSOR CTAs are placed behind SIMT kernels that wait for room.
fn placed_behind_a_stuck_type(mut front_end: FrontEnd) -> usize {
    let Request { slots, sms, .. } = front_end.request;
    // One CTA on each SM, so that none is empty; then kernels that need an empty one.
    let stuck = (slots as u8 - 2).min(8);
    front_end.cycle(launch(0, &[], sms as u32, CtaType::Simt));
    for _ in 0..200 {
        front_end.cycle(FrontEndIn::IDLE);
    }
    for id in 1..=stuck {
        assert!(front_end.cycle(whole(id, &[], 10, CtaType::Simt)).scheduler.host_ready);
    }
    assert!(front_end.cycle(launch(stuck + 1, &[], 300, CtaType::Tensor)).scheduler.host_ready);
    (0..400).map(|_| front_end.cycle(FrontEndIn::IDLE).cta.iter().flatten().count()).sum()
}

#[test]
fn a_type_does_not_wait_for_the_others_head_of_line() {
    assert_eq!(front_ends(TYPED).map(placed_behind_a_stuck_type), [300; 2]);
    assert_eq!(front_ends(ArbiterKind::Single).map(placed_behind_a_stuck_type), [0; 2], "the baseline waits");
}

#[test]
fn the_host_sends_a_packet_in_every_cycle() {
    for mut front_end in front_ends(TYPED) {
        for id in 0..front_end.request.slots as u8 {
            let kind = if id % 2 == 0 { CtaType::Simt } else { CtaType::Tensor };
            let upstream = if id == 0 { vec![] } else { vec![id - 1] };
            assert!(front_end.cycle(launch(id, &upstream, 5, kind)).scheduler.host_ready, "kernel {id}");
        }
    }
}

/// A golden model: that of a list is in lockstep with its Verilog in tests/lockstep.rs.
fn model_of(request: Request) -> FrontEnd {
    FrontEnd::of(request, BlockSpec::model)
}

/// Cycles from one packet that is taken to the next, and from a packet to its kernel's dispatch.
fn packets(mut front_end: FrontEnd) -> (Vec<usize>, usize) {
    front_end.cycle(launch(0, &[], 5, CtaType::Simt));
    let mut taken = Vec::new();
    let mut dispatched = None;
    for id in 1..4 {
        let mut cycles = 0;
        loop {
            cycles += 1;
            let out = front_end.cycle(launch(id, &[id - 1], 5, CtaType::Simt));
            if out.scheduler.offer.is_some() {
                dispatched.get_or_insert(front_end.now as usize - 1);
            }
            if out.scheduler.host_ready {
                break;
            }
        }
        taken.push(cycles);
    }
    (taken, dispatched.expect("kernel 0 waits for nothing"))
}

#[test]
fn packets_of_a_list_come_every_n_cycles() {
    for slots in [8, 16, 32] {
        let request = Request { slots, sms: 8, ..Request::default() };
        let pipelined = Request { pipelined: true, ..request };
        let list = Request { window: WindowKind::List, ..request };
        assert_eq!(packets(model_of(request)), (vec![1; 3], 1));
        assert_eq!(packets(model_of(pipelined)), (vec![1; 3], 2));
        assert_eq!(packets(model_of(list)), (vec![slots; 3], slots));
    }
}

/// Cycles from the last completion of all that the last kernel waits for to that kernel's dispatch and to its first CTA; the kernels that it
/// waits for retire in the order of their numbers.
fn freed(mut front_end: FrontEnd) -> (usize, usize) {
    let last = front_end.request.slots as u8 - 1;
    let mut running = Vec::new();
    for id in 0..last {
        while !front_end.cycle(launch(id, &[], 1, CtaType::Simt)).scheduler.host_ready {}
        let (_, cta) = front_end.until(|out| out.cta[0]);
        running.push(cta);
    }
    let ids: Vec<u8> = (0..last).collect();
    let beats = ids.chunks(4).count();
    for (i, ids) in ids.chunks(4).enumerate() {
        let mut input = launch(last, ids, 1, CtaType::Simt);
        if let Some((HostBeat::Ids { last, .. }, _)) = &mut input.host {
            *last = i + 1 == beats;
        }
        while !front_end.cycle(input).scheduler.host_ready {}
    }
    let ended = running.pop().expect("a kernel");
    for cta in running {
        for _ in 0..2 * front_end.request.slots {
            front_end.cycle(FrontEndIn::IDLE);
        }
        front_end.cycle(ends(&[cta]));
    }
    for _ in 0..2 * front_end.request.slots {
        front_end.cycle(FrontEndIn::IDLE);
    }
    front_end.cycle(ends(&[ended]));
    let (dispatched, _) = front_end.until(|out| out.scheduler.offer);
    let (placed, cta) = front_end.until(|out| out.cta[0]);
    assert_eq!(cta.id, last);
    (dispatched, dispatched + placed)
}

#[test]
fn a_list_frees_a_kernel_up_to_n_minus_two_cycles_later() {
    for slots in [8, 16] {
        let request = Request { slots, sms: 8, ..Request::default() };
        assert_eq!(freed(model_of(request)), (2, 4));
        assert_eq!(freed(model_of(Request { pipelined: true, ..request })), (3, 5));
        assert_eq!(freed(model_of(Request { window: WindowKind::List, ..request })), (slots, slots + 2));
    }
}

#[test]
fn a_port_that_is_not_ready_stops_its_channel_but_neither_the_other_nor_completions() {
    let mut front_end =
        model_of(Request { slots: 8, sms: 36, arbiter: TYPED, places: 2, ..Request::default() });
    front_end.cycle(launch(0, &[], 1000, CtaType::Simt));
    front_end.cycle(launch(1, &[], 1000, CtaType::Tensor));
    front_end.until(|out| out.cta[3]);
    let mut running: Vec<CtaOut> = Vec::new();
    for _ in 0..8 {
        running.extend(front_end.cycle(FrontEndIn::IDLE).cta.into_iter().flatten());
    }
    // Ports 0 and 1 are the SIMT channel's. As many as run end meanwhile, one after the other.
    let mut held = FrontEndIn::IDLE;
    held.cta_ready[0] = false;
    let first = front_end.cycle(held);
    let waiting = first.cta[0];
    assert!(waiting.is_some() && first.cta[1].is_some());
    let mut ending = running.into_iter();
    let mut ends_now = ending.next();
    let mut waited = 0;
    while let Some(cta) = ends_now {
        let out = front_end.cycle(FrontEndIn { cta_ready: held.cta_ready, ..ends(&[cta]) });
        assert_eq!((out.cta[0], out.cta[1]), (waiting, None), "no CTA comes to the port beside it");
        assert!(out.cta[2].is_some() && out.cta[3].is_some(), "the other channel goes on");
        if out.done_ready[usize::from(cta.sm) % 4] {
            waited = 0;
            ends_now = ending.next();
        } else {
            waited += 1;
            assert!(waited < 6, "no completion waits for the channel");
        }
    }
    // And a bubble.
    let last = front_end.cycle(FrontEndIn::IDLE);
    assert_eq!((last.cta[0], last.cta[1]), (waiting, None));
    let next = front_end.cycle(FrontEndIn::IDLE);
    assert!(next.cta[0].is_some() && next.cta[1].is_some());
}

#[test]
fn room_that_a_completion_makes_is_used_two_to_four_cycles_later() {
    for mut front_end in front_ends(TYPED) {
        front_end.cycle(whole(0, &[], 2000, CtaType::Simt));
        let mut running: Vec<CtaOut> = Vec::new();
        while running.len() < front_end.request.sms {
            running.extend(front_end.cycle(FrontEndIn::IDLE).cta[0]);
        }
        let mut seen = std::collections::BTreeSet::new();
        for (wait, cta) in running.into_iter().enumerate() {
            for _ in 0..wait % 7 {
                assert_eq!(front_end.cycle(FrontEndIn::IDLE).cta[0], None, "every SM is full");
            }
            front_end.cycle(ends(&[cta]));
            let (cycles, next) = front_end.until(|out| out.cta[0]);
            assert_eq!(next.sm, cta.sm);
            seen.insert(cycles);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
    }
}

#[test]
fn four_completions_in_one_cycle_retire_their_kernel_once() {
    for mut front_end in front_ends(TYPED) {
        // Enough for SMs of every completion port.
        front_end.cycle(launch(0, &[], 24, CtaType::Simt));
        let mut running: Vec<CtaOut> = Vec::new();
        while running.len() < 24 {
            running.extend(front_end.cycle(FrontEndIn::IDLE).cta[0]);
        }
        // The last four come through four ports in one cycle.
        let mut ports = std::collections::BTreeSet::new();
        let (last, first): (Vec<CtaOut>, Vec<CtaOut>) =
            running.into_iter().partition(|cta| ports.insert(cta.sm % 4));
        assert_eq!((first.len(), last.len()), (20, 4));
        for cta in first {
            front_end.cycle(ends(&[cta]));
            front_end.until(|_| Some(()));
        }
        let out = front_end.cycle(ends(&last));
        assert_eq!(out.done_ready, [true; 4]);
        let retired = |out: &FrontEndOut| out.retired.iter().flatten().count();
        assert_eq!(retired(&front_end.cycle(FrontEndIn::IDLE)), 1);
        assert!((0..50).all(|_| retired(&front_end.cycle(FrontEndIn::IDLE)) == 0));
    }
}

//! The cycle counts that the blocks' pages promise, measured.

use windlass_cosim::engine::library;
use windlass_cosim::verilator::InstanceOptions;
use windlass_rtl::catalog::{BlockSpec, Request};
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerIn, SchedulerOut, SchedulerPorts};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::WindowKind;
use windlass_rtl::port::{Direction, Layout};

/// A scheduler behind its typed ports: Verilog, but for large list windows, whose Verilog takes long to build. There it is the golden
/// model, which tests/lockstep.rs holds equal to the Verilog.
struct Scheduler {
    model: Box<dyn CycleModel>,
    ports: SchedulerPorts,
}

impl Scheduler {
    fn new(window: WindowKind, slots: usize) -> Self {
        let spec = BlockSpec::new("kernel_scheduler", Request { window, slots, ..Request::default() });
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
    let mut scheduler = Scheduler::new(window, slots);
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
    for slots in [8, 16, 24, 32, 48, 64, 96, 128] {
        assert_eq!(latencies(WindowKind::Matrix, slots).0, 1, "N = {slots}");
    }
}

#[test]
fn matrix_frees_in_one_cycle() {
    for slots in [8, 16, 24, 32, 48, 64, 96, 128] {
        assert_eq!(latencies(WindowKind::Matrix, slots).1, 1, "N = {slots}");
    }
}

#[test]
fn list_inserts_in_n_cycles() {
    for slots in [4, 8, 16, 24, 32, 48, 64, 96, 128] {
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
    for slots in [4, 8, 16, 24, 32, 48, 64, 96, 128] {
        assert_eq!(frees_last_entry(WindowKind::List, slots), slots - 1);
    }
    for slots in [8, 32] {
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
    let mut scheduler = Scheduler::new(WindowKind::Matrix, 32);
    for id in 0..32 {
        let upstream = if id == 0 { vec![] } else { vec![id - 1] };
        let out = scheduler.cycle(kernel(id, &upstream));
        assert!(out.host_ready, "kernel {id}");
        assert_eq!(out.occupancy, id);
    }
    assert!(scheduler.cycle(kernel(32, &[])).stall_full);
}

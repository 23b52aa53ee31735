//! Golden model, rust-hdl's simulation and Verilated Verilog, side by side: the same random inputs, every port, every cycle.
//!
//! `WINDLASS_SEED` sets the seed; `WINDLASS_LONG=1` runs a million cycles of each block and size (`./test.sh --long`);
//! `WINDLASS_WAVE=FROM-TO` writes the Verilog's waveform of these cycles beside the build, and says where. A failure prints
//! the command that sets them all.

use windlass_catalog::{BLOCKS, BlockSpec, Request};
use windlass_cosim::block_stimulus::{careless_stimulus, stimulus};
use windlass_cosim::engine::library;
use windlass_cosim::lockstep::Lockstep;
use windlass_cosim::stimulus::{RandomStimulus, Rng, Stimulus};
use windlass_cosim::verilator::{InstanceOptions, Optimise};
use windlass_cosim::wave::Wave;
use windlass_gen::emit;
use windlass_rtl::flat::RustHdlSim;
use windlass_rtl::front_end::{CtaDone, CtaNeeds, CtaType, FrontEndIn, FrontEndPorts, Launch};
use windlass_rtl::kernel_scheduler::io::HostBeat;
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::{
    ArbiterKind, DONE_PORTS, Encoding, ROUND_ROBIN_REQUESTS, SCHEDULED_MASK, SM_SIZES, SmLimits,
    WINDOW_SLOTS, WindowKind,
};
use windlass_rtl::parts::RoundRobin;
use windlass_rtl::parts::models::RoundRobinModel;
use windlass_rtl::port::{Direction, Layout};

fn seed() -> u64 {
    std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_120)
}

fn long() -> bool {
    std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1")
}

/// The module's name, which says every parameter.
fn module(spec: BlockSpec) -> String {
    emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}")).top().name.clone()
}

/// The waveform that `WINDLASS_WAVE` asks for.
fn wave(spec: BlockSpec) -> Option<Wave> {
    let cycles = std::env::var("WINDLASS_WAVE").ok()?;
    let (from, to) = cycles.split_once('-').expect("WINDLASS_WAVE=FROM-TO");
    let number = |text: &str| text.parse().expect("WINDLASS_WAVE=FROM-TO, two numbers");
    // A directory that every build has, whatever CARGO_TARGET_DIR says.
    let path = format!("{}/lockstep-{}.vcd", env!("CARGO_TARGET_TMPDIR"), module(spec));
    eprintln!("waveform: {path}");
    Some(Wave::new(path).and_then(|w| w.window(number(from), number(to))).unwrap_or_else(|e| panic!("{e}")))
}

fn verilated(spec: BlockSpec) -> Box<dyn CycleModel> {
    let wave = wave(spec);
    let format = wave.as_ref().map(Wave::format);
    let short = !long() && size(spec) > 8;
    let optimise = if short { Optimise::Short } else { Optimise::Tests };
    let library =
        library(spec, |build| build.optimise(optimise).trace(format)).unwrap_or_else(|e| panic!("{e}"));
    let options = InstanceOptions { seed: seed(), wave };
    Box::new(library.instance(options).unwrap_or_else(|e| panic!("{e}")))
}

/// Slots or SMs; the front end is all the others together.
fn size(spec: BlockSpec) -> usize {
    if matches!(spec, BlockSpec::FrontEnd(_)) { 4 * spec.size() } else { spec.size() }
}

/// Shorter runs, those in which rust-hdl's simulator would take too long, do not look whether all comes back in the end.
const WORTH_FINISHING: u64 = 10_000;

/// What makes up a block's inputs, from a seed.
type Bench = fn(BlockSpec, u64) -> Box<dyn Stimulus>;

/// Runs `members` against the golden model; prints what a failure needs to be repeated.
fn run(test: &str, bench: Bench, spec: BlockSpec, members: Vec<(String, Box<dyn CycleModel>)>, cycles: u64) {
    let mut all = vec![("model".to_string(), spec.model())];
    let with: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
    all.extend(members);
    let started = std::time::Instant::now();
    let long = if long() { " WINDLASS_LONG=1" } else { "" };
    let mut lockstep = Lockstep::new(all).unwrap_or_else(|e| panic!("{e}")).replay(format!(
        "WINDLASS_SEED={{seed}}{long} WINDLASS_WAVE={{from}}-{{to}} cargo test --test lockstep -- --exact {test}"
    ));
    let mut stimulus = bench(spec, seed());
    let ran = lockstep.run(&mut *stimulus, cycles).and_then(|ran| {
        // Filling and emptying all SMs takes thousands of cycles.
        if cycles < WORTH_FINISHING { Ok(ran) } else { lockstep.finish(&mut *stimulus) }
    });
    let summary = ran.unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    println!(
        "{:<45} with {:<20} {:>8} cycles, seed {}, {:.1} s",
        module(spec),
        with.join(" and "),
        summary.cycles,
        seed(),
        started.elapsed().as_secs_f64()
    );
}

/// Rust-hdl's simulator is the slowest, the more so the larger the state: all three for as long as it can take part, then model
/// and Verilog alone, in the long run for a million cycles.
fn check(test: &str, name: &str, request: Request) {
    check_with(test, stimulus, name, request);
}

fn check_with(test: &str, bench: Bench, name: &str, request: Request) {
    let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
    let [three, two] = match (long(), size(spec)) {
        (false, ..=8) => [1_000, 50_000],
        (false, ..=32) => [300, 10_000],
        (false, _) => [50, 10_000],
        (true, ..=8) => [1_000_000, 1_000_000],
        (true, ..=32) => [50_000, 1_000_000],
        (true, _) => [1_000, 1_000_000],
    };
    let hdl = ("rust-hdl".to_string(), spec.simulation());
    run(test, bench, spec, vec![hdl, ("verilog".to_string(), verilated(spec))], three);
    run(test, bench, spec, vec![("verilog".to_string(), verilated(spec))], two);
}

/// At several sizes; in the long run at all. With 8 slots the tests of parameters run, for all but the pickers.
fn sizes(test: &str, name: &str, request: Request) {
    // Ports of several words, in blocks that are soon built: seconds of a C++ compiler are most of the time that a design takes.
    let wide = matches!(name, "find_first" | "window_matrix" | "upstream_load") && !request.pipelined;
    for slots in WINDOW_SLOTS {
        if long() || [4, 24].contains(&slots) || wide && slots == 128 {
            check(test, name, Request { slots, ..request });
        }
    }
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request { slots: 8, ..Request::default() };
    change(&mut request);
    request
}

/// A test for each block, called as it is, and the list of them.
macro_rules! blocks {
    ($($name:ident => $run:expr;)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                let run: fn(&str) = $run;
                run(stringify!($name));
            }
        )*
    };
}

blocks! {
    find_first => |name| sizes(name, name, Request::default());
    round_robin => |name| {
        for slots in ROUND_ROBIN_REQUESTS {
            if long() || [4, 8, 46, 132, 192].contains(&slots) {
                check(name, name, Request { slots, ..Request::default() });
            }
        }
    };
    oldest_first => |name| sizes(name, name, Request::default());
    window_matrix => |name| sizes(name, name, Request::default());
    window_list => |name| sizes(name, name, Request::default());
    upstream_load => |name| sizes(name, name, Request::default());
    kernel_scheduler => |name| sizes(name, name, Request::default());
    kernel_table => |name| {
        for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 1 }] {
            sizes(name, name, Request { arbiter, ..Request::default() });
        }
        for retire_ports in [1, 4] {
            check(name, name, with(|r| r.retire_ports = retire_ports));
        }
    };
    sm_occupancy => |name| {
        for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 1 }] {
            sm_sizes(name, name, with(|r| r.arbiter = arbiter));
        }
    };
    sm_partitions => |name| {
        for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 1 }] {
            sm_sizes(name, name, with(|r| r.arbiter = arbiter));
        }
    };
    cta_arbiter_single => |name| sm_sizes(name, name, with(|_| {}));
    cta_arbiter_typed => |name| {
        for arbiter in &ARBITERS[1..] {
            sm_sizes(name, name, with(|r| r.arbiter = *arbiter));
        }
    };
    front_end => |name| {
        for arbiter in ARBITERS {
            // The arbiters have tests of their own; these two have all that is around the others.
            if long() || matches!(arbiter, ArbiterKind::Single | ArbiterKind::Typed { active: 2 }) {
                sm_sizes(name, name, with(|r| r.arbiter = arbiter));
            }
        }
    };
}

/// Whatever comes in, also what a block's page forbids, the golden models go on.
#[test]
fn models_take_any_words() {
    for spec in BlockSpec::all() {
        let mut model = spec.model();
        let ports = model.ports();
        let mut stimulus = RandomStimulus::new(&ports, seed());
        let mut inputs = vec![0; Layout::new(&ports, Direction::Input).words()];
        let mut outputs = vec![0; Layout::new(&ports, Direction::Output).words()];
        for cycle in 0..500 {
            stimulus.next(cycle, &outputs, &mut inputs);
            model.cycle(&inputs, &mut outputs).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        }
    }
}

/// Where the slots are no power of two, there are numbers of slots that there are not.
#[test]
fn a_slot_that_there_is_not_is_dispatched_alike() {
    for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 1 }] {
        let request = Request { slots: 24, arbiter, ..Request::default() };
        let spec = BlockSpec::new("kernel_table", request).unwrap_or_else(|e| panic!("{e}"));
        let (mut model, mut hardware) = (spec.model(), spec.simulation());
        let ports = spec.ports();
        let inputs = Layout::new(&ports, Direction::Input);
        let slot = |name| inputs.slot(name).expect("its port");
        let mut rng = Rng::new(seed());
        let outputs = Layout::new(&ports, Direction::Output);
        let mut given = vec![0; inputs.words()];
        let (mut mine, mut theirs) = (vec![0; outputs.words()], vec![0; outputs.words()]);
        for cycle in 0..200 {
            given.fill(0);
            slot("rst_ni").set(&mut given, u128::from(cycle > 1));
            // First there is a kernel in every slot; then any number is dispatched.
            if let 2..26 = cycle {
                slot("ins_slot_i").set(&mut given, 1 << (cycle - 2));
                slot("ins_id_i").set(&mut given, cycle);
                slot("ins_grid_i").set(&mut given, 1000);
                slot("ins_type_i").set(&mut given, cycle % 2);
            } else if cycle > 26 {
                slot("disp_valid_i").set(&mut given, u128::from(rng.percent(50)));
                slot("disp_slot_i").set(&mut given, rng.below(32).into());
                for (name, percent) in
                    [("next_ready_0_i", 30), ("next_ready_1_i", 30), ("done_valid_2_i", 80)]
                {
                    if let Some(slot) = inputs.slot(name) {
                        slot.set(&mut given, u128::from(rng.percent(percent)));
                    }
                }
                slot("done_slot_2_i").set(&mut given, rng.below(32).into());
            }
            model.cycle(&given, &mut mine).unwrap_or_else(|e| panic!("{e}"));
            hardware.cycle(&given, &mut theirs).unwrap_or_else(|e| panic!("{e}"));
            // Nobody looks at the payload of a queue that offers nothing.
            for q in 0..2 {
                let port = |name: &str| outputs.slot(&format!("next_{name}_{q}_o"));
                if let (Some(valid), Some(slot)) = (port("valid"), port("slot"))
                    && valid.get(&mine) == 0
                {
                    slot.set(&mut theirs, 0);
                }
            }
            assert!(cycle <= 26 || mine == theirs, "cycle {cycle}: {mine:x?} is not {theirs:x?}");
        }
    }
}

#[test]
fn no_block_is_left_out() {
    for name in BLOCKS {
        assert!(TESTED.contains(&name), "{name} needs a lockstep test here");
    }
}

/// At sizes that the catalog does not have, rust-hdl's simulation alone.
#[test]
fn round_robin_of_any_size() {
    fn check<const N: usize, const W: usize, const G: usize>() {
        let new = || RustHdlSim::new(RoundRobin::<N, W, G>::default());
        let (inputs, outputs) = {
            let ports = new().ports();
            (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output))
        };
        let mut hardware = new();
        let mut model = RoundRobinModel::new(N, hardware.ports());
        let mut rng = Rng::new(seed());
        let (mut words, mut mine, mut theirs) =
            (vec![0; inputs.words()], vec![0; outputs.words()], vec![0; outputs.words()]);
        let slot = |name| inputs.slot(name).expect("its port");
        for cycle in 0..if N > 64 { 300 } else { 2_000 } {
            let density = 1 + rng.below(N as u64);
            let bits: Vec<bool> = (0..N).map(|_| rng.below(density) == 0).collect();
            let mut requests = vec![0; N.div_ceil(32)];
            (0..N).for_each(|i| requests[i / 32] |= u32::from(bits[i]) << (i % 32));
            slot("req_i").copy_from(&mut words, &requests);
            slot("rst_ni").set(&mut words, u128::from(cycle > 1 && rng.below(200) != 0));
            slot("ack_i").set(&mut words, u128::from(rng.below(4) != 0));
            hardware.cycle(&words, &mut mine).unwrap_or_else(|e| panic!("{e}"));
            model.cycle(&words, &mut theirs).unwrap_or_else(|e| panic!("{e}"));
            // In the cycle before the first reset nothing is known.
            assert!(
                cycle == 0 || mine == theirs,
                "{N} requests, cycle {cycle}: {mine:x?} is not {theirs:x?}"
            );
        }
    }
    check::<2, 1, 2>();
    check::<2, 2, 1>();
    check::<3, 2, 2>();
    check::<5, 2, 3>();
    check::<7, 3, 3>();
    check::<9, 4, 3>();
    check::<31, 8, 4>();
    check::<65, 9, 8>();
    check::<131, 12, 11>();
    check::<133, 12, 12>();
    check::<191, 16, 12>();
}

#[test]
fn windows_with_other_retire_ports() {
    for retire_ports in if long() { vec![1, 3, 4] } else { vec![3] } {
        for name in ["window_matrix", "window_list"] {
            check("windows_with_other_retire_ports", name, with(|r| r.retire_ports = retire_ports));
        }
    }
}

#[test]
fn windows_with_a_pipeline_stage_more() {
    let test = "windows_with_a_pipeline_stage_more";
    sizes(test, "window_matrix", Request { pipelined: true, ..Request::default() });
    for name in ["kernel_scheduler", "front_end"] {
        check(test, name, Request { sms: 8, ..with(|r| r.pipelined = true) });
    }
}

#[test]
fn upstream_load_mask() {
    for scheduled in SCHEDULED_MASK {
        let request = with(|r| (r.scheduled, r.encoding) = (scheduled, Encoding::Mask));
        check("upstream_load_mask", "upstream_load", request);
    }
}

#[test]
fn kernel_scheduler_list() {
    let request = Request { window: WindowKind::List, ..Request::default() };
    sizes("kernel_scheduler_list", "kernel_scheduler", request);
}

#[test]
fn kernel_scheduler_where_the_limit_is_near() {
    for scheduled in [8, 9, 255] {
        let request = with(|r| r.scheduled = scheduled);
        check("kernel_scheduler_where_the_limit_is_near", "kernel_scheduler", request);
    }
}

#[test]
fn kernel_scheduler_with_other_lanes() {
    for lanes in [1, 3, 8] {
        let request = with(|r| r.encoding = Encoding::Ids { lanes });
        check("kernel_scheduler_with_other_lanes", "kernel_scheduler", request);
    }
}

#[test]
fn kernel_scheduler_with_masks() {
    for (window, scheduled) in [(WindowKind::Matrix, 8), (WindowKind::Matrix, 255), (WindowKind::List, 64)] {
        let request = with(|r| (r.window, r.scheduled, r.encoding) = (window, scheduled, Encoding::Mask));
        check("kernel_scheduler_with_masks", "kernel_scheduler", request);
    }
}

/// At several numbers of SMs; in the long run at all. One that leaves slices without SMs, and a real GPU's: 132 in blocks that are small.
fn sm_sizes(test: &str, name: &str, request: Request) {
    for sms in SM_SIZES.into_iter().chain([1]) {
        let largest = match name {
            "front_end" => 8,
            "sm_occupancy" => 28,
            _ => 132,
        };
        // One SM is for the parts to show.
        let smallest = if name == "front_end" { 8 } else { 1 };
        if long() || [smallest, largest].contains(&sms) {
            check(test, name, Request { sms, ..request });
        }
    }
}

const ARBITERS: [ArbiterKind; 4] = [
    ArbiterKind::Single,
    ArbiterKind::Typed { active: 1 },
    ArbiterKind::Typed { active: 2 },
    ArbiterKind::Typed { active: 4 },
];

#[test]
fn sm_occupancy_with_other_limits() {
    // Where the SMs are few, one of the banks is not full.
    let sms = if long() { 16 } else { 6 };
    for limits in [(16, 48, 256, 800), (1, 1, 1, 1), (2, 64, 5, 2047)] {
        let (ctas, warps, registers, smem) = limits;
        let limits = SmLimits::new(ctas, warps, registers, smem).expect("in range");
        check("sm_occupancy_with_other_limits", "sm_occupancy", with(|r| (r.sms, r.limits) = (sms, limits)));
    }
}

/// Needs that the pages forbid, with what is left of an SM at the border of what is counted, and far from it.
#[test]
fn needs_that_no_sm_has() {
    let test = "needs_that_no_sm_has";
    let few = SmLimits::new(4, 64, 256, 2047).expect("in range");
    for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 2 }] {
        // Each is met once; in the long run with both arbiters.
        for limits in [SmLimits::H100, few] {
            if !long() && (limits == few) != (arbiter == ArbiterKind::Single) {
                continue;
            }
            let request = with(|r| (r.sms, r.arbiter, r.limits) = (8, arbiter, limits));
            check_with(test, careless_stimulus, "sm_occupancy", request);
        }
    }
}

#[test]
fn front_end_of_every_kind() {
    for window in [WindowKind::Matrix, WindowKind::List] {
        for encoding in [Encoding::Ids { lanes: 2 }, Encoding::Mask] {
            // Lists of many slots take long to build, and the windows have tests of their own.
            let short = match (window, encoding) {
                (WindowKind::Matrix, Encoding::Ids { .. }) => 24,
                (WindowKind::List, Encoding::Mask) => 8,
                _ => 4,
            };
            for slots in WINDOW_SLOTS.into_iter().filter(|slots| long() || *slots == short) {
                let scheduled = 32;
                let request = Request { slots, window, encoding, scheduled, sms: 16, ..Request::default() };
                check("front_end_of_every_kind", "front_end", request);
            }
        }
    }
}

/// Sizes where slices are short of SMs in some banks, in all of them, in none, and where banks have none at all. The largest first: in the long
/// run those take a minute, and the smallest hours. Else each arbiter with each number of places, and each size, at least once: every design is
/// seconds of a C++ compiler.
#[test]
fn arbiters_of_several_places() {
    for sms in [192, 144, 132, 128, 108, 64, 46, 28, 16, 8, 3, 1] {
        for places in [2, 4] {
            for (at, arbiter) in ARBITERS.into_iter().enumerate() {
                let short = match (sms, places) {
                    (46, 2) | (8, 4) => at % 2 == 0,
                    (3, 2) => at == 3,
                    (28, 4) => at == 1,
                    _ => false,
                };
                if long() || short {
                    let name = if at == 0 { "cta_arbiter_single" } else { "cta_arbiter_typed" };
                    let request = with(|r| (r.sms, r.places, r.arbiter) = (sms, places, arbiter));
                    check("arbiters_of_several_places", name, request);
                }
            }
        }
    }
}

/// The SM array stands still while nothing is asked of it: every block that goes round with it, and all together.
#[test]
fn slices_that_stand_still() {
    let test = "slices_that_stand_still";
    let held = |change: &dyn Fn(&mut Request)| {
        with(|r| {
            r.hold_idle = true;
            change(r);
        })
    };
    let arbiters = [ArbiterKind::Single, ArbiterKind::Typed { active: 2 }];
    for sms in SM_SIZES.into_iter().filter(|sms| long() || *sms == 8) {
        for arbiter in arbiters {
            let request = held(&|r| (r.sms, r.arbiter) = (sms, arbiter));
            for name in ["sm_occupancy", "sm_partitions", &format!("cta_arbiter_{}", arbiter.name())] {
                check(test, name, request);
            }
            // Else the one below has all of it.
            if long() {
                check(test, "front_end", request);
            }
        }
    }
    check(test, "front_end", held(&|r| (r.sms, r.places) = (16, 2)));
}

#[test]
fn front_end_of_several_places() {
    for (arbiter, places, sms) in [
        (ArbiterKind::Single, 4, 46),
        (ArbiterKind::Typed { active: 2 }, 4, 8),
        (ArbiterKind::Typed { active: 2 }, 2, 28),
        (ArbiterKind::Single, 4, 132),
        (ArbiterKind::Single, 2, 8),
        (ArbiterKind::Typed { active: 4 }, 4, 132),
    ] {
        if long() || sms == 8 {
            let request = with(|r| (r.sms, r.arbiter, r.places) = (sms, arbiter, places));
            check("front_end_of_several_places", "front_end", request);
        }
    }
}

/// Two kernels, one of each type, one of them with a grid that is not done for a million cycles; every CTA ends as soon as its channel is free.
struct Marathon {
    ports: FrontEndPorts,
    kernels: Vec<(HostBeat, Launch)>,
    given: FrontEndIn,
    running: [Vec<CtaDone>; DONE_PORTS],
    placed: [u32; 2],
    ended: u32,
    retired: usize,
}

impl Stimulus for Marathon {
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]) {
        if cycle > 2 {
            let out = self.ports.unpack(last);
            if out.scheduler.host_ready && self.given.host.is_some() {
                self.kernels.pop();
            }
            self.retired += out.retired.iter().flatten().count();
            for (done, ready) in self.given.done.iter_mut().zip(out.done_ready) {
                self.ended += u32::from(done.take_if(|_| ready).is_some());
            }
            for cta in out.cta.iter().flatten() {
                assert_eq!(cta.index, self.placed[usize::from(cta.kind == CtaType::Tensor)], "in order");
                self.placed[usize::from(cta.kind == CtaType::Tensor)] += 1;
                self.running[usize::from(cta.sm) % DONE_PORTS].push(CtaDone { sm: cta.sm, slot: cta.slot });
            }
            for (done, running) in self.given.done.iter_mut().zip(&mut self.running) {
                *done = done.take().or_else(|| running.pop());
            }
        }
        self.given.rst_ni = cycle >= 2;
        self.given.host = self.kernels.last().copied().filter(|_| cycle > 2);
        self.ports.pack(&self.given, inputs);
    }
}

#[test]
fn a_grid_of_a_million_ctas_ends() {
    let grid = if long() { 1 << 20 } else { 1 << 12 };
    let spec = BlockSpec::new("front_end", with(|r| r.sms = 8)).unwrap_or_else(|e| panic!("{e}"));
    let BlockSpec::FrontEnd(params) = spec else { panic!("{spec:?}") };
    let ports = spec.ports();
    let (inputs, outputs) = (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output));
    let needs = CtaNeeds { warps: 4, registers: 8, smem: 10 };
    let kernel = |id, grid, kind| {
        let beat = HostBeat::Ids { id, upstream: [None; 8], last: true };
        (beat, Launch { grid, kind, partition: 0, needs })
    };
    let mut stimulus = Marathon {
        ports: FrontEndPorts::new(params, &inputs, &outputs).unwrap_or_else(|e| panic!("{e}")),
        kernels: vec![kernel(1, 1, CtaType::Simt), kernel(0, grid, CtaType::Tensor)],
        given: FrontEndIn::RESET,
        running: Default::default(),
        placed: [0; 2],
        ended: 0,
        retired: 0,
    };
    let models = vec![("model".to_string(), spec.model()), ("verilog".to_string(), verilated(spec))];
    let mut lockstep = Lockstep::new(models).unwrap_or_else(|e| panic!("{e}"));
    // With 8 SMs one turn in nine passes.
    let cycles = u64::from(grid) / 8 * 9 + 60;
    let started = std::time::Instant::now();
    lockstep.run(&mut stimulus, cycles).unwrap_or_else(|e| panic!("{e}"));
    let Marathon { placed, ended, retired, .. } = stimulus;
    assert_eq!((placed, ended, retired), ([1, grid], grid + 1, 2));
    let seconds = started.elapsed().as_secs_f64();
    println!("{:<45} one grid of {grid} CTAs, {cycles} cycles, {seconds:.1} s", module(spec));
}

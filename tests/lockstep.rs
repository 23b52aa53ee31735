//! Golden model, rust-hdl's simulation and Verilated Verilog, side by side: the same random inputs, every port, every cycle.
//!
//! `WINDLASS_SEED` sets the seed; `WINDLASS_LONG=1` runs a million cycles of each block and size (`./test.sh --long`);
//! `WINDLASS_WAVE=FROM-TO` writes the Verilog's waveform of these cycles to `target/lockstep-BLOCK-nN.vcd`. A failure prints the
//! command that sets them all.

use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::lockstep::Lockstep;
use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Verilated};
use windlass_cosim::wave::Wave;
use windlass_gen::{emit, output};
use windlass_rtl::catalog::{BLOCKS, BlockSpec, Request};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::{Encoding, WindowKind};

fn seed() -> u64 {
    std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_120)
}

fn long() -> bool {
    std::env::var_os("WINDLASS_LONG").is_some()
}

/// The waveform that `WINDLASS_WAVE` asks for.
fn wave(spec: BlockSpec) -> Option<Wave> {
    let cycles = std::env::var("WINDLASS_WAVE").ok()?;
    let (from, to) = cycles.split_once('-').expect("WINDLASS_WAVE=FROM-TO");
    let number = |text: &str| text.parse().expect("WINDLASS_WAVE=FROM-TO, two numbers");
    let path = format!("target/lockstep-{}-n{}.vcd", spec.name(), spec.slots());
    Some(Wave::new(path).and_then(|w| w.window(number(from), number(to))).unwrap_or_else(|e| panic!("{e}")))
}

fn verilated(spec: BlockSpec) -> Box<dyn CycleModel> {
    let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
    let top = design.top();
    let cache = Cache::from_env().unwrap_or_else(|e| panic!("{e}"));
    let wave = wave(spec);
    let build = BuildSpec::new(&top.name, output::verilog_files(&design), top.ports.clone())
        .trace(wave.as_ref().map(Wave::format));
    let library = Verilated::build(&build, &cache).unwrap_or_else(|e| panic!("{e}"));
    let options = InstanceOptions { seed: seed(), wave };
    Box::new(library.instance(options).unwrap_or_else(|e| panic!("{e}")))
}

/// Runs `members` against the golden model; prints what a failure needs to be repeated.
fn run(spec: BlockSpec, members: Vec<(String, Box<dyn CycleModel>)>, cycles: u64) {
    let mut all = vec![("model".to_string(), spec.model())];
    all.extend(members);
    let started = std::time::Instant::now();
    let mut lockstep = Lockstep::new(all).unwrap_or_else(|e| panic!("{e}")).replay(format!(
        "WINDLASS_SEED={{seed}} WINDLASS_WAVE={{from}}-{{to}} cargo test --test lockstep {}",
        spec.name()
    ));
    let mut stimulus = stimulus(spec, seed());
    let summary = lockstep.run(&mut *stimulus, cycles).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    println!(
        "{} N={}: {} cycles, seed {}, {:.1} s",
        spec.name(),
        spec.slots(),
        summary.cycles,
        seed(),
        started.elapsed().as_secs_f64()
    );
}

/// All three where rust-hdl's simulator, the slowest, can take part; model and Verilog for the rest of the million.
fn check(name: &str, request: Request, cycles: [u64; 2]) {
    let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
    let [three, two] = cycles;
    let hdl = ("rust-hdl".to_string(), spec.simulation());
    run(spec, vec![hdl, ("verilog".to_string(), verilated(spec))], three);
    run(spec, vec![("verilog".to_string(), verilated(spec))], two);
}

fn sizes(name: &str, request: Request) {
    for slots in [4, 8, 24, 32, 128] {
        // Cycles with rust-hdl's simulator, and without: the first shrink with the size of the state.
        let cycles = match (long(), slots) {
            (false, 4 | 8) => [20_000, 100_000],
            (false, 24 | 32) => [1_000, 20_000],
            (false, _) => [50, 2_000],
            (true, 4 | 8) => [1_000_000, 1_000_000],
            (true, 24 | 32) => [100_000, 1_000_000],
            (true, _) => [2_000, 1_000_000],
        };
        check(name, Request { slots, ..request }, cycles);
    }
}

#[test]
fn find_first() {
    sizes("find_first", Request::default());
}

#[test]
fn round_robin() {
    sizes("round_robin", Request::default());
}

#[test]
fn oldest_first() {
    sizes("oldest_first", Request::default());
}

#[test]
fn window_matrix() {
    sizes("window_matrix", Request::default());
}

#[test]
fn window_matrix_with_1_and_4_retire_ports() {
    for retire_ports in [1, 4] {
        check("window_matrix", Request { slots: 8, retire_ports, ..Request::default() }, [5_000, 100_000]);
    }
}

#[test]
fn window_list() {
    sizes("window_list", Request::default());
}

#[test]
fn upstream_load_ids() {
    sizes("upstream_load", Request::default());
}

#[test]
fn upstream_load_mask() {
    for scheduled in [8, 64, 255] {
        let request = Request { slots: 8, scheduled, encoding: Encoding::Mask, ..Request::default() };
        check("upstream_load", request, [5_000, 100_000]);
    }
}

#[test]
fn kernel_scheduler_matrix() {
    sizes("kernel_scheduler", Request::default());
}

#[test]
fn kernel_scheduler_list() {
    sizes("kernel_scheduler", Request { window: WindowKind::List, ..Request::default() });
}

#[test]
fn kernel_scheduler_where_the_limit_is_near() {
    for scheduled in [8, 9, 255] {
        check("kernel_scheduler", Request { slots: 8, scheduled, ..Request::default() }, [5_000, 100_000]);
    }
}

#[test]
fn kernel_scheduler_with_masks() {
    for (window, scheduled) in [(WindowKind::Matrix, 8), (WindowKind::Matrix, 255), (WindowKind::List, 64)] {
        let encoding = Encoding::Mask;
        let request = Request { slots: 8, window, scheduled, encoding, ..Request::default() };
        check("kernel_scheduler", request, [5_000, 100_000]);
    }
}

/// Every block of the catalog is in one of the tests above.
#[test]
fn no_block_is_left_out() {
    assert_eq!(BLOCKS.len(), 7, "a new block needs a lockstep test here");
}

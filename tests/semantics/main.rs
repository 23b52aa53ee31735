//! The emitted Verilog means what rust-hdl means: small blocks that use every operator, at widths around every boundary, run in
//! rust-hdl's simulator and as Verilated Verilog on the same random inputs. And for all inputs, by a solver: these blocks, and every
//! block of the catalog.

mod blocks;
#[path = "../second_form/mod.rs"]
mod second_form;

use blocks::*;
use rust_hdl::prelude::Block;
use std::time::Instant;
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::lockstep::{Lockstep, LockstepError, Summary};
use windlass_cosim::stimulus::RandomStimulus;
use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Verilated};
use windlass_gen::emit::{EmitError, EmitErrors};
use windlass_gen::{emit, output};
use windlass_rtl::flat::{FlatPorts, RustHdlSim};
use windlass_rtl::params::{ArbiterKind, Encoding, SmLimits, WindowKind};

/// Seed of all random inputs; set `WINDLASS_SEED` for another.
fn seed() -> u64 {
    std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(2024)
}

fn check<B: FlatPorts + 'static>(cycles: u64, new: impl Fn() -> B) {
    compare(cycles, &new, |text| text).unwrap_or_else(|e| panic!("{e}"));
    let mut block = new();
    block.connect_all();
    let compared = second_form::compare(&block, |text| text).unwrap_or_else(|e| panic!("{e}"));
    assert!(compared > 0);
}

/// Every block that `windlass gen` makes, small: what is emitted is what rust-hdl was told.
#[test]
fn every_block_is_its_second_form() {
    let check = |(name, change): &(&str, Change)| {
        let mut request = Request {
            slots: 4,
            sms: 4,
            scheduled: 8,
            limits: SmLimits::new(4, 8, 8, 8).unwrap_or_else(|e| panic!("{e}")),
            encoding: Encoding::Ids { lanes: 2 },
            ..Request::default()
        };
        change(&mut request);
        same(name, request);
    };
    // The last takes as long as all others.
    let (last, others) = CATALOG.split_last().unwrap_or_else(|| panic!("there are blocks"));
    std::thread::scope(|scope| {
        scope.spawn(|| check(last));
        others.iter().for_each(check);
    });
}

/// As large as they are used.
#[test]
#[ignore = "minutes; ./test.sh --long runs it"]
fn larger_blocks_are_their_second_form() {
    let request = Request::default();
    same("front_end", request);
    same("front_end", Request { window: WindowKind::List, encoding: Encoding::Mask, ..request });
    same("front_end", Request { pipelined: true, arbiter: ArbiterKind::Single, sms: 192, ..request });
    same("kernel_scheduler", Request { slots: 64, ..request });
}

fn same(name: &str, request: Request) {
    let started = Instant::now();
    let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
    let compared = second_form::compare(&*spec.hardware(), |text| text);
    let compared = compared.unwrap_or_else(|e| panic!("{name} {request:?}:\n{e}"));
    println!("{name} {request:?}: {compared} signals in {:.1} s", started.elapsed().as_secs_f64());
}

type Change = fn(&mut Request);

const CATALOG: [(&str, Change); 21] = [
    ("find_first", |_| {}),
    ("round_robin", |_| {}),
    ("round_robin", |r| r.slots = 132),
    ("oldest_first", |_| {}),
    ("window_matrix", |_| {}),
    ("window_matrix", |r| r.pipelined = true),
    ("window_matrix", |r| r.slots = 16),
    ("window_list", |_| {}),
    ("upstream_load", |_| {}),
    ("upstream_load", |r| r.encoding = Encoding::Mask),
    ("kernel_scheduler", |_| {}),
    ("kernel_scheduler", |r| r.window = WindowKind::List),
    ("kernel_table", |_| {}),
    ("sm_occupancy", |_| {}),
    ("sm_occupancy", |r| r.sms = 28),
    ("sm_partitions", |_| {}),
    ("cta_arbiter_single", |_| {}),
    ("cta_arbiter_typed", |r| r.arbiter = ArbiterKind::Typed { active: 2 }),
    ("cta_arbiter_single", |r| (r.places, r.sms) = (2, 8)),
    ("cta_arbiter_typed", |r| (r.places, r.sms) = (4, 28)),
    ("front_end", |r| r.scheduled = 128),
];

/// Runs the block and its Verilog, after `change`, side by side.
fn compare<B: FlatPorts + 'static>(
    cycles: u64,
    new: impl Fn() -> B,
    change: impl Fn(String) -> String,
) -> Result<Summary, LockstepError> {
    let mut block = new();
    block.connect_all();
    let design = emit::emit(&block).unwrap_or_else(|e| panic!("{e}"));
    let top = design.top();
    let files = output::verilog_files(&design).into_iter().map(|(name, text)| (name, change(text)));
    let cache = Cache::from_env().unwrap_or_else(|e| panic!("{e}"));
    let spec = BuildSpec::new(&top.name, files.collect(), top.ports.clone());
    let library = Verilated::build(&spec, &cache).unwrap_or_else(|e| panic!("{e}"));
    let options = InstanceOptions { seed: seed(), wave: None };
    let verilated = library.instance(options).unwrap_or_else(|e| panic!("{e}"));
    let mut lockstep = Lockstep::new(vec![
        ("rust-hdl".into(), Box::new(RustHdlSim::new(new()))),
        ("verilog".into(), Box::new(verilated)),
    ])
    .unwrap_or_else(|e| panic!("{e}"));
    let mut stimulus = RandomStimulus::new(&top.ports, seed());
    lockstep.run(&mut stimulus, cycles)
}

/// One test per width: 2, around 8, around rust-hdl's change of representation at 32, around 64, 128 and 256.
macro_rules! at_widths {
    ($($name:ident: $width:literal $index:literal;)*) => {
        $(
            #[test]
            fn $name() {
                check(3000, Operators::<$width>::default);
                check(3000, Precedence::<$width>::default);
                check(3000, Bits_::<$width, $index>::default);
            }
        )*
    };
}

at_widths! {
    operators_at_2_bits: 2 1;
    operators_at_7_bits: 7 3;
    operators_at_8_bits: 8 3;
    operators_at_31_bits: 31 5;
    operators_at_32_bits: 32 5;
    operators_at_33_bits: 33 6;
    operators_at_64_bits: 64 6;
    operators_at_65_bits: 65 7;
    operators_at_128_bits: 128 7;
    operators_at_256_bits: 256 8;
}

/// What rust-hdl's own printer does: no parentheses, 32-bit literals. These very tests must notice.
#[test]
fn an_emitter_that_loses_precedence_or_width_is_noticed() {
    for (from, to) in [
        ("(a_i & b_i) == c_i", "a_i & b_i == c_i"),
        ("(a_i - b_i) - c_i", "a_i - (b_i - c_i)"),
        ("(a_i + b_i) < a_i", "(a_i + b_i + 32'h0) < a_i"),
        ("~a_i + 8'h1", "~(a_i + 8'h1)"),
    ] {
        let broken = |text: String| {
            assert!(text.contains(from), "`{from}` is not in the Verilog: {text}");
            text.replace(from, to)
        };
        let result = compare(3000, Precedence::<8>::default, broken);
        assert!(matches!(result, Err(LockstepError::Difference(_))), "{from}: {result:?}");
        let mut block = Precedence::<8>::default();
        block.connect_all();
        let shown = second_form::compare(&block, broken).expect_err(from);
        assert!(shown.contains("differ"), "{from}: {shown}");
    }
}

#[test]
fn casts_between_widths() {
    check(3000, Casts::<5, 3>::default);
    check(3000, Casts::<3, 5>::default);
    check(3000, Casts::<8, 8>::default);
    check(3000, Casts::<40, 8>::default);
    check(3000, Casts::<8, 40>::default);
    check(3000, Casts::<70, 33>::default);
    check(3000, Casts::<255, 256>::default);
    check(3000, Casts::<256, 8>::default);
}

#[test]
fn order_of_assignments() {
    check(5000, Order::default);
}

#[test]
fn parts_of_expressions_under_a_condition() {
    check(5000, PartsOfSums::default);
}

#[test]
fn state_machine_with_enum() {
    check(5000, Machine::default);
}

#[test]
fn banks_of_blocks_and_registers() {
    check(5000, Shifter::default);
}

#[test]
fn registers_and_memories() {
    check(20_000, Storage::default);

    // And the parts' golden model: what registers with and without reset, memories and sized constants are, in plain Rust.
    let block = Storage::default();
    let mut lockstep = Lockstep::new(vec![
        ("model".into(), Box::new(StorageModel::new(block.ports()))),
        ("rust-hdl".into(), Box::new(RustHdlSim::new(block))),
    ])
    .unwrap_or_else(|e| panic!("{e}"));
    let mut stimulus = RandomStimulus::new(&Storage::default().ports(), seed());
    lockstep.run(&mut stimulus, 20_000).unwrap_or_else(|e| panic!("{e}"));
}

/// What the emitter must refuse, with the words that it must use.
fn refused<B: Block + Default>(words: &str) {
    let mut block = B::default();
    block.connect_all();
    let error = emit::emit(&block).expect_err("must be refused").to_string();
    assert!(error.contains(words), "`{error}` does not say `{words}`");
}

#[test]
fn a_latch_is_refused() {
    refused::<Latch>("not assigned on every path");
}

#[test]
fn reading_before_writing_is_refused() {
    // rust-hdl's own check or ours: either names the signal.
    refused::<ReadsBeforeWrite>("late");
}

#[test]
fn reading_back_the_input_of_a_sub_block_is_refused() {
    refused::<ReadsBack>("the input of a sub-block");
}

#[test]
fn signed_values_are_refused() {
    refused::<HasSigned>("signed");
}

#[test]
fn an_index_that_could_miss_is_refused() {
    refused::<WideIndex>("cut it with `bit_cast`");
}

#[test]
fn a_literal_that_does_not_fit_is_refused() {
    refused::<BigLiteral>("does not fit into 4 bits");
}

#[test]
fn keywords_are_refused_with_block_and_name() {
    let mut block = Reserved::default();
    block.connect_all();
    let EmitErrors(errors) = emit::emit(&block).expect_err("must be refused");
    // Not `tri[0]`, which is called `tri_0`, and not the constant `var`, which is written as its value.
    let expected = [("the module", "table"), ("buf", "buf"), ("logic", "logic")].map(|(field, keyword)| {
        EmitError::Keyword { block: "table".into(), field: field.into(), keyword: keyword.into() }
    });
    assert_eq!(errors, expected);
    assert!(errors[1].to_string().contains("block table: buf would be called `buf`"));
}

#[test]
fn a_block_without_a_name_is_refused() {
    refused::<Nameless>("has no `Info`");
}

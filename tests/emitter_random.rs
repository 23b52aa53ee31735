//! Random blocks: what rust-hdl computes with them is what their emitted Verilog computes.
//!
//! One Verilog file holds all blocks side by side, so that Verilator is called once. `WINDLASS_SEED=7` sets the seed,
//! `WINDLASS_RANDOM_BLOCKS=1000` asks for more blocks.

mod random_block;
mod second_form;

use random_block::RandomBlock;
use rust_hdl::prelude::Block;
use std::process::Command;
use windlass_cosim::lockstep::{Lockstep, LockstepError};
use windlass_cosim::stimulus::{RandomStimulus, Rng};
use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Verilated};
use windlass_gen::emit;
use windlass_rtl::flat::{FlatPorts, RustHdlSim};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::{Direction, Port};

const BLOCKS: usize = 40;

/// Bytes that choose one block; what is left over is not read.
const BYTES: usize = 4096;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn block(seed: u64, case: usize) -> RandomBlock {
    let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(case as u64));
    let bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    RandomBlock::new(case, &bytes)
}

/// All blocks as one: the same inputs, and everybody's outputs with the block's number behind their names.
struct Batch {
    blocks: Vec<RustHdlSim<RandomBlock>>,
    ports: Vec<Port>,
    words: usize,
}

impl CycleModel for Batch {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let all = self.blocks.iter_mut().zip(outputs.chunks_mut(self.words));
        all.into_iter().try_for_each(|(block, outputs)| block.cycle(inputs, outputs))
    }
}

/// The blocks, and the Verilog of each with the module that holds them.
fn batch(seed: u64, count: usize) -> (Batch, Vec<(String, String)>) {
    let ports_of = |direction| {
        let ports = block(seed, 0).ports().into_iter();
        ports.filter(move |port| port.direction == direction).collect::<Vec<Port>>()
    };
    let (inputs, outputs) = (ports_of(Direction::Input), ports_of(Direction::Output));
    let (mut ports, mut files, mut body) = (inputs.clone(), Vec::new(), String::new());
    for case in 0..count {
        let mut connected = block(seed, case);
        connected.connect_all();
        let design = emit::emit(&connected).unwrap_or_else(|e| panic!("seed {seed}, block {case}: {e}"));
        let top = design.top().name.clone();
        files.push((format!("{top}.v"), design.verilog()));
        let mut pins: Vec<String> = inputs.iter().map(|port| format!(".{0}({0})", port.name)).collect();
        for port in &outputs {
            let name = format!("{}_{case}", port.name);
            pins.push(format!(".{}({name})", port.name));
            ports.push(Port { name, ..port.clone() });
        }
        body.push_str(&format!("  {top} u_{case} ({});\n", pins.join(", ")));
    }
    let declared = ports.iter().map(|port| {
        let direction = if port.direction == Direction::Input { "input" } else { "output" };
        format!("  {direction} wire [{}:0] {}", port.width - 1, port.name)
    });
    let declared = declared.collect::<Vec<_>>().join(",\n");
    files
        .push(("random_batch.v".into(), format!("module random_batch (\n{declared}\n);\n{body}endmodule\n")));
    let words = outputs.iter().map(|port| port.width.div_ceil(32) as usize).sum();
    let blocks = (0..count).map(|case| RustHdlSim::new(block(seed, case))).collect();
    (Batch { blocks, ports, words }, files)
}

fn compare(seed: u64, count: usize, change: impl Fn(String) -> String) -> Result<(), LockstepError> {
    let (batch, files) = batch(seed, count);
    let files = files.into_iter().map(|(name, text)| (name, change(text))).collect();
    let cache = Cache::from_env().unwrap_or_else(|e| panic!("{e}"));
    let spec = BuildSpec::new("random_batch", files, batch.ports());
    let library = Verilated::build(&spec, &cache).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let verilated = library.instance(InstanceOptions { seed, wave: None }).unwrap_or_else(|e| panic!("{e}"));
    let mut stimulus = RandomStimulus::new(&batch.ports(), seed);
    let mut lockstep =
        Lockstep::new(vec![("rust-hdl".into(), Box::new(batch)), ("verilog".into(), Box::new(verilated))])?;
    lockstep.run(&mut stimulus, 300).map(drop)
}

#[test]
fn verilog_computes_what_rust_hdl_computes() {
    let seed = number("WINDLASS_SEED", 2024) as u64;
    let blocks = number("WINDLASS_RANDOM_BLOCKS", BLOCKS);
    compare(seed, blocks, |text| text)
        .unwrap_or_else(|e| panic!("WINDLASS_SEED={seed} WINDLASS_RANDOM_BLOCKS={blocks}: {e}"));
}

#[test]
fn other_verilog_is_noticed() {
    for (from, to) in [(" - ", " + "), (" >= ", " > "), ("~", ""), ("if (", "if (!")] {
        let result = compare(7, 8, |text| text.replace(from, to));
        assert!(matches!(result, Err(LockstepError::Difference(_))), "`{from}` to `{to}`: {result:?}");
    }
}

/// Verilog-2005, as a second compiler sees it.
#[test]
fn icarus_takes_it() {
    let (_, files) = batch(3, 50);
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).unwrap_or_else(|e| panic!("{e}"));
    }
    let output = Command::new("iverilog")
        .args(["-g2005", "-t", "null", "-s", "random_batch"])
        .args(files.iter().map(|(name, _)| name))
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|e| panic!("iverilog: {e}; run scripts/setup.sh"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Many more blocks than Verilator has time for, by an evaluator of Verilog text in this process.
#[test]
fn the_text_computes_what_rust_hdl_computes() {
    let seed = number("WINDLASS_SEED", 2024) as u64;
    for case in 0..number("WINDLASS_RANDOM_BLOCKS", BLOCKS) * 4 {
        random_block::check(block(seed, case), block(seed, case), seed);
    }
}

/// For all inputs, by a solver: a third of the blocks, which takes as long.
#[test]
fn the_verilog_is_its_second_form() {
    let seed = number("WINDLASS_SEED", 2024) as u64;
    for case in 0..number("WINDLASS_RANDOM_BLOCKS", BLOCKS) / 3 {
        let mut connected = block(seed, case);
        connected.connect_all();
        second_form::compare(&connected, |text| text)
            .unwrap_or_else(|e| panic!("WINDLASS_SEED={seed}, block {case}: {e}"));
    }
}

#[test]
#[should_panic(expected = "y8_o")]
fn other_text_is_noticed() {
    for case in 0..20 {
        let broken = |text: String| text.replace(" - ", " + ").replace(" << ", " >> ");
        random_block::check_changed(block(7, case), block(7, case), 7, broken);
    }
}

#[test]
fn the_same_bytes_make_the_same_text() {
    for case in 0..50 {
        let text = || {
            let mut block = block(11, case);
            block.connect_all();
            emit::emit(&block).unwrap_or_else(|e| panic!("{e}")).verilog()
        };
        assert_eq!(text(), text());
    }
}

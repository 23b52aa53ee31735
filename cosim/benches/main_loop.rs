//! How fast our engine runs a Verilated model, against a plain C++ main loop over the same model in the same run.
//!
//! `cargo bench -p windlass-cosim --bench main_loop`: the scheduler with 32 slots, with either window. Both sides apply the same
//! recorded inputs, read all outputs and hash them; the hashes must agree. Rounds alternate, time is the thread's own, and the
//! median of the rounds' ratios is printed.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Optimise, Verilated};
use windlass_gen::tools::{Tool, find};
use windlass_gen::{emit, output};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::WindowKind;
use windlass_rtl::port::{CLOCK, Direction, Layout};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Recorded cycles of input, played over and over.
const RECORDED: usize = 4096;
const ROUNDS: usize = 9;
const SECONDS_PER_ROUND: f64 = 0.5;

fn main() -> Result<()> {
    for window in [WindowKind::Matrix, WindowKind::List] {
        measure(BlockSpec::new("kernel_scheduler", Request { window, ..Request::default() })?)?;
    }
    measure(BlockSpec::new("front_end", Request::default())?)?;
    Ok(())
}

/// Prints the speeds and their ratios for a block.
fn measure(block: BlockSpec) -> Result<()> {
    let design = emit::emit(&*block.hardware())?;
    let top = design.top();
    let spec = BuildSpec::new(&top.name, output::verilog_files(&design), top.ports.clone())
        .optimise(Optimise::Long)
        .trace(None);
    let library = Verilated::build(&spec, &Cache::from_env()?)?;
    let mut model = library.instance(InstanceOptions::default())?;
    let (iw, ow) = (library.input_words(), library.output_words());
    let inputs = record(&mut model, block, iw, ow)?;
    let dir = tempfile::tempdir()?;
    let program = plain_main(&spec, &inputs, dir.path())?;

    let mut outputs = vec![0; RECORDED * ow];
    let mut batch = |model: &mut Verilated, passes: usize| -> Result<(f64, u64)> {
        let mut hash = 0;
        let start = Timer::start();
        for _ in 0..passes {
            model.run_batch(RECORDED, &inputs, &mut outputs)?;
            hash = outputs.iter().fold(hash, |h, w| add(h, *w));
        }
        Ok((start.seconds(), hash))
    };
    // Through the trait object, as lockstep calls it.
    let single = |model: &mut dyn CycleModel, passes: usize| -> Result<(f64, u64)> {
        let (mut hash, mut out) = (0, vec![0; ow]);
        let start = Timer::start();
        for _ in 0..passes {
            for words in inputs.chunks_exact(iw) {
                model.cycle(words, &mut out)?;
                hash = out.iter().fold(hash, |h, w| add(h, *w));
            }
        }
        Ok((start.seconds(), hash))
    };
    let plain = |passes: usize| -> Result<(f64, u64)> {
        let output = Command::new(&program).arg(passes.to_string()).current_dir(dir.path()).output()?;
        let text = String::from_utf8(output.stdout)?;
        let (seconds, hash) = text.trim().split_once(' ').ok_or("the C++ program printed no result")?;
        Ok((seconds.parse()?, hash.parse()?))
    };

    let passes = (SECONDS_PER_ROUND * 4.0 / batch(&mut model, 4)?.0).ceil() as usize;
    let cycles = (passes * RECORDED) as f64;
    let (mut batch_ratio, mut single_ratio, mut best) = (Vec::new(), Vec::new(), [f64::INFINITY; 3]);
    for _ in 0..ROUNDS {
        let (c, c_hash) = plain(passes)?;
        let (b, b_hash) = batch(&mut model, passes)?;
        let (s, s_hash) = single(&mut model, passes)?;
        if b_hash != c_hash || s_hash != c_hash {
            return Err("the outputs of the three differ".into());
        }
        for (best, time) in best.iter_mut().zip([c, b, s]) {
            *best = best.min(time);
        }
        batch_ratio.push(c / b);
        single_ratio.push(c / s);
    }
    println!("{}, {}, {cycles:.0} cycles a round, {ROUNDS} rounds", spec.top, library.verilator_version());
    println!("  {:<28} {:>9.0} cycles/s (best round)", "plain C++ main loop", cycles / best[0]);
    for (name, time, ratios) in [
        ("one call per batch", best[1], &mut batch_ratio),
        ("one call per cycle", best[2], &mut single_ratio),
    ] {
        ratios.sort_by(f64::total_cmp);
        let (low, median, high) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
        println!(
            "  {name:<28} {:>9.0} cycles/s, ratio to C++ {median:.2} (median; {low:.2} to {high:.2})",
            cycles / time
        );
    }
    Ok(())
}

/// Time that this thread ran: on a machine with other work, wall clock says little. Wall clock where Linux does not tell.
struct Timer(Option<f64>, Instant);

impl Timer {
    fn start() -> Self {
        Self(Self::ran(), Instant::now())
    }

    fn ran() -> Option<f64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
    }

    fn seconds(&self) -> f64 {
        match (self.0, Self::ran()) {
            (Some(start), Some(end)) if end > start => end - start,
            _ => self.1.elapsed().as_secs_f64(),
        }
    }
}

fn add(hash: u64, word: u32) -> u64 {
    hash.wrapping_mul(31).wrapping_add(u64::from(word))
}

/// Inputs that the block itself reacted to, so that channels keep their rules; the first cycles are a reset.
fn record(model: &mut Verilated, block: BlockSpec, iw: usize, ow: usize) -> Result<Vec<u32>> {
    let mut stimulus = stimulus(block, 1);
    let (mut now, mut out, mut all) = (vec![0; iw], vec![0; ow], Vec::with_capacity(RECORDED * iw));
    for cycle in 0..RECORDED {
        stimulus.next(cycle as u64, &out, &mut now);
        model.cycle(&now, &mut out)?;
        all.extend_from_slice(&now);
    }
    Ok(all)
}

/// What one would write by hand, built as Verilator's manual says: `--exe --build`, and `-O2` for the parts that count.
fn plain_main(spec: &BuildSpec, inputs: &[u32], dir: &Path) -> Result<std::path::PathBuf> {
    let (ins, outs) =
        (Layout::new(&spec.ports, Direction::Input), Layout::new(&spec.ports, Direction::Output));
    let (mut apply, mut hash) = (String::new(), String::new());
    for (name, slot) in ins.iter() {
        let w = slot.word;
        match slot.width {
            0..=32 => writeln!(apply, "      dut.{name} = in[{w}];")?,
            33..=64 => writeln!(apply, "      dut.{name} = uint64_t(in[{}]) << 32 | in[{w}];", w + 1)?,
            _ => (0..slot.words())
                .try_for_each(|i| writeln!(apply, "      dut.{name}[{i}] = in[{}];", w + i))?,
        }
    }
    for (name, slot) in outs.iter() {
        match slot.width {
            0..=32 => writeln!(hash, "      h = h * 31 + dut.{name};")?,
            33..=64 => {
                writeln!(
                    hash,
                    "      h = h * 31 + uint32_t(dut.{name});\n      h = h * 31 + (dut.{name} >> 32);"
                )?;
            }
            _ => (0..slot.words()).try_for_each(|i| writeln!(hash, "      h = h * 31 + dut.{name}[{i}];"))?,
        }
    }
    let rise = if spec.ports.iter().any(|p| p.name == CLOCK) {
        ["      dut.clk_i = 0;\n", "      dut.clk_i = 1;\n      dut.eval();\n"]
    } else {
        ["", ""]
    };
    let main = format!(
        r#"#include "Vdut.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
static double now() {{
#ifdef __linux__
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
#else
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return t.tv_sec + 1e-9 * t.tv_nsec;
}}
int main(int, char** argv) {{
  const size_t cycles = {RECORDED}, words = {words};
  std::vector<uint32_t> inputs(cycles * words);
  FILE* f = std::fopen("inputs.bin", "rb");
  if (!f || std::fread(inputs.data(), 4, inputs.size(), f) != inputs.size()) return 1;
  VerilatedContext context;
  Vdut dut(&context);
  uint64_t h = 0;
  double start = now();
  for (int pass = -1, passes = std::atoi(argv[1]); pass < passes; ++pass) {{
    if (pass == 0) {{
      h = 0;
      start = now();
    }}
    const uint32_t* in = inputs.data();
    for (size_t c = 0; c < cycles; ++c, in += words) {{
{apply}{}      dut.eval();
{hash}{}      context.timeInc(1);
    }}
  }}
  std::printf("%.9f %llu\n", now() - start, (unsigned long long)h);
}}
"#,
        rise[0],
        rise[1],
        words = ins.words(),
    );
    fs::write(dir.join("main.cpp"), main)?;
    fs::write(dir.join("inputs.bin"), inputs.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>())?;
    for (name, text) in &spec.sources {
        fs::write(dir.join(name), text)?;
    }
    let mut build = find(Tool::Verilator)?.command();
    build
        .current_dir(dir)
        .args(["--cc", "--exe", "--build", "-O3", "--assert", "--prefix", "Vdut", "-Mdir", "obj"]);
    build.args(["--x-initial", "unique", "--x-assign", "unique", "--no-timing", "-Wno-fatal", "-Wno-lint"]);
    build.args(["-MAKEFLAGS", "OPT_FAST=-O2 OPT_GLOBAL=-O2 CXX=g++", "-CFLAGS", "-DVL_TIME_CONTEXT"]);
    build
        .args(["--top-module", &spec.top])
        .args(spec.sources.iter().map(|(name, _)| name))
        .args(["../main.cpp"]);
    let output = build.output()?;
    if !output.status.success() {
        return Err(format!(
            "the C++ program does not build (it needs `make`): {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(dir.join("obj/Vdut"))
}

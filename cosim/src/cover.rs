//! What of a block's Verilog its bench reaches: Verilator counts which branches ran and which bits changed.

use crate::engine::{self, EngineError};
use crate::lockstep::{Lockstep, LockstepError};
use crate::stimulus::Stimulus;
use crate::verilator::{BuildSpec, InstanceError, InstanceOptions, Verilated};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_gen::rtl::Rtl;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::Port;

/// A bit counts where it changed so often: it rose and it fell.
const CHANGES: u64 = 2;

/// How much of something was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// What was.
    pub reached: usize,
    /// All there is.
    pub total: usize,
}

impl Tally {
    /// In percent; 100 where there is nothing to reach.
    pub fn percent(self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.reached as f64 / self.total as f64 }
    }

    fn add(&mut self, reached: bool) {
        self.total += 1;
        self.reached += usize::from(reached);
    }
}

/// Something that was not reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hole {
    /// The Verilog file, named for its module.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// `if`, `else` or `block` that did not run, or the signal that did not change, with its bits.
    pub what: String,
}

/// What a bench reached. All instances of a module count together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoverReport {
    /// The block.
    pub block: &'static str,
    /// Its module, whose name says the parameters.
    pub top: String,
    /// Seed of the stimulus.
    pub seed: u64,
    /// Cycles of the bench, those included in which it let everything end.
    pub cycles: u64,
    /// Blocks of lines, and both ways of each `if`.
    pub lines: Tally,
    /// Bits of signals that rose and fell.
    pub toggles: Tally,
    /// Lines that did not run.
    pub line_holes: Vec<Hole>,
    /// Bits that did not rise and fall.
    pub toggle_holes: Vec<Hole>,
}

/// Why the coverage of a block's bench could not be measured.
#[derive(Debug, Error)]
pub enum CoverError {
    /// The block could not be emitted or built.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The library could not be started.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The bench complains.
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
    /// The counts cannot be had.
    #[error(
        "the counts of `{top}` cannot be written to the temporary directory and read again: {source}\n  make room there, or set TMPDIR to another one"
    )]
    Counts {
        /// The module.
        top: String,
        /// What the system said.
        source: io::Error,
    },
    /// The counts are not understood.
    #[error("what Verilator counted in `{top}` cannot be read: `{line}`\n  Verilator 5.006 is known to work")]
    Format {
        /// The module.
        top: String,
        /// The line.
        line: String,
    },
}

/// Runs `rtl`, which is `block`'s, for `cycles` cycles under the bench whose stimulus is `stimulus`, and lets everything end. It must do what
/// the block's golden model does.
pub fn cover(
    block: BlockSpec,
    rtl: &Rtl,
    stimulus: &mut dyn Stimulus,
    cycles: u64,
) -> Result<CoverReport, CoverError> {
    engine::comparable(rtl)?;
    let beside = |verilog| Lockstep::new(vec![("model".into(), block.model()), ("verilog".into(), verilog)]);
    reached(block, rtl, stimulus, cycles, &beside)
}

/// The same without the golden model, for RTL that is meant to do something else: the bench follows its outputs.
pub fn cover_alone(
    block: BlockSpec,
    rtl: &Rtl,
    stimulus: &mut dyn Stimulus,
    cycles: u64,
) -> Result<CoverReport, CoverError> {
    reached(block, rtl, stimulus, cycles, &|verilog| Ok(Lockstep::alone("verilog", verilog)))
}

fn reached(
    block: BlockSpec,
    rtl: &Rtl,
    stimulus: &mut dyn Stimulus,
    cycles: u64,
    lockstep: &dyn Fn(Box<dyn CycleModel>) -> Result<Lockstep, LockstepError>,
) -> Result<CoverReport, CoverError> {
    let top = rtl.top.clone();
    let library = engine::library_of(rtl, BuildSpec::coverage)?;
    let seed = stimulus.seed().unwrap_or(0);
    let verilated = Arc::new(Mutex::new(library.instance(InstanceOptions { seed, wave: None })?));
    let mut lockstep = lockstep(Box::new(Shared(verilated.clone())))?;
    lockstep.run(stimulus, cycles)?;
    let cycles = lockstep.finish(stimulus)?.cycles;
    let counts = verilated.lock().unwrap_or_else(PoisonError::into_inner).coverage();
    let counts = counts.map_err(|source| CoverError::Counts { top: top.clone(), source })?;
    let points = points(&counts).map_err(|line| CoverError::Format { top: top.clone(), line })?;
    let mut report = CoverReport {
        block: block.name(),
        top,
        seed,
        cycles,
        lines: Tally::default(),
        toggles: Tally::default(),
        line_holes: Vec::new(),
        toggle_holes: Vec::new(),
    };
    let mut still: BTreeMap<(String, u32, String), Vec<u32>> = BTreeMap::new();
    for (Point { file, line, toggle, what, .. }, count) in points {
        if !toggle {
            report.lines.add(count > 0);
            if count == 0 {
                report.line_holes.push(Hole { file, line, what });
            }
            continue;
        }
        report.toggles.add(count >= CHANGES);
        if count < CHANGES {
            let (signal, bit) =
                what.strip_suffix(']').and_then(|w| w.rsplit_once('[')).unwrap_or((&what, ""));
            still.entry((file, line, signal.to_string())).or_default().extend(bit.parse::<u32>());
        }
    }
    report.toggle_holes = still
        .into_iter()
        .map(|((file, line, signal), bits)| Hole { file, line, what: signal + &ranges(bits) })
        .collect();
    Ok(report)
}

/// The Verilog, which is asked for its counts after the run.
struct Shared(Arc<Mutex<Verilated>>);

impl CycleModel for Shared {
    fn ports(&self) -> Vec<Port> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cycle(inputs, outputs)
    }
}

/// A place that is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    file: String,
    line: u32,
    column: u32,
    toggle: bool,
    what: String,
}

/// Reads Verilator's file: lines `C '\x01KEY\x02VALUE\x01KEY\x02VALUE' COUNT`, one per place and kind of instance. Or the line that is wrong.
fn points(text: &str) -> Result<BTreeMap<Point, u64>, String> {
    let mut points = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (point, count) = point(line).ok_or(line)?;
        *points.entry(point).or_default() += count;
    }
    Ok(points)
}

fn point(line: &str) -> Option<(Point, u64)> {
    let (keys, count) = line.strip_prefix("C '")?.rsplit_once("' ")?;
    let keys: BTreeMap<&str, &str> = keys.split('\x01').filter_map(|key| key.split_once('\x02')).collect();
    let point = Point {
        file: keys.get("f")?.to_string(),
        line: keys.get("l")?.parse().ok()?,
        column: keys.get("n")?.parse().ok()?,
        toggle: keys.get("page")?.starts_with("v_toggle"),
        what: keys.get("o")?.to_string(),
    };
    Some((point, count.parse().ok()?))
}

/// `[7:4,1]` for 1, 4, 5, 6 and 7; nothing for a signal of one bit.
fn ranges(mut bits: Vec<u32>) -> String {
    bits.sort_unstable_by(|a, b| b.cmp(a));
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for bit in bits {
        match runs.last_mut() {
            Some((_, low)) if *low == bit + 1 => *low = bit,
            _ => runs.push((bit, bit)),
        }
    }
    let run = |(high, low): &(u32, u32)| if high == low { high.to_string() } else { format!("{high}:{low}") };
    let runs: Vec<String> = runs.iter().map(run).collect();
    if runs.is_empty() { String::new() } else { format!("[{}]", runs.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_and_added_up() {
        let line = |h: &str, count: u64| {
            format!(
                "C '\x01f\x02a.v\x01l\x027\x01n\x0221\x01page\x02v_toggle/a\x01o\x02shift_i[0]\x01h\x02{h}' {count}\n"
            )
        };
        let text = format!("# SystemC::Coverage-3\n{}{}", line("TOP.a", 2), line("TOP.b", 3));
        let point =
            Point { file: "a.v".into(), line: 7, column: 21, toggle: true, what: "shift_i[0]".into() };
        assert_eq!(points(&text), Ok(BTreeMap::from([(point, 5)])));
        assert_eq!(points("C 'x' 1"), Err("C 'x' 1".into()));
    }

    #[test]
    fn bits_are_written_as_ranges() {
        assert_eq!(ranges(vec![1, 4, 5, 7, 6]), "[7:4,1]");
        assert_eq!(ranges(Vec::new()), "");
    }
}

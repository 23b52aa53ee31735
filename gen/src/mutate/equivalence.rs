//! Whether a mutant differs from its design at all: ABC looks for inputs that show it, and for a proof that there are none.

use super::rules::{LEGAL, NEAR};
use super::{Mutants, SELECT};
use crate::synth::flow::{self, SynthesisError, Workplace, Yosys};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Added to ABC's own limit: it looks at its clock between two steps.
const GRACE: Duration = Duration::from_secs(30);

/// ABC reads seconds as 32 bits, and counts in smaller units.
const LONGEST: u64 = 1_000_000;

/// What is taken for granted in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Nothing: any inputs.
    Nothing,
    /// The block's rules.
    Rules,
    /// And that no counter has come far.
    Near,
}

/// What ABC found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// No inputs whatever show a difference after the first cycle, in which reset is low. Registers without reset start with any
    /// value, but with the same in both.
    Equivalent,
    /// These inputs do. Nothing says that the block's page allows them.
    Different(Counterexample),
    /// Neither was found in time.
    Unknown,
}

/// Inputs that tell a mutant from its design in the last cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counterexample {
    /// For each cycle the inputs that are not zero: port and value in hexadecimal. The first cycle is the one of reset.
    pub cycles: Vec<Vec<(String, String)>>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (cycle, inputs) in self.cycles.iter().enumerate() {
            write!(f, "{}cycle {cycle}:", if cycle == 0 { "" } else { "\n" })?;
            inputs.iter().try_for_each(|(port, value)| write!(f, " {port}={value}"))?;
        }
        Ok(())
    }
}

/// The `yosys-abc` that comes with a Yosys.
#[derive(Clone, Debug)]
pub struct Prover {
    program: PathBuf,
    root: PathBuf,
    limit: Duration,
}

impl Prover {
    /// The ABC of `yosys`, for `limit` per question; `cache` as in [`MutantOptions`](super::MutantOptions). `None` if there is none.
    pub fn find(
        yosys: &Yosys,
        cache: Option<&Path>,
        limit: Duration,
    ) -> Result<Option<Self>, SynthesisError> {
        let root = flow::shelf(cache, "mutate")?;
        let folder = if yosys.python {
            let print = "import os, pyosys; print(os.path.dirname(pyosys.__file__))";
            let asked = Command::new(&yosys.program).args(["-I", "-c", print]).stdin(Stdio::null()).output();
            asked.ok().and_then(|output| Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim())))
        } else {
            yosys.program.parent().map(Path::to_path_buf)
        };
        let program = folder.map(|folder| folder.join("yosys-abc")).filter(|program| program.is_file());
        Ok(program.map(|program| Self { program, root, limit }))
    }

    /// Compares mutant `id` with the design; `reset` is the port that is low in the first cycle, if there is one. Inputs in `held`, `port` or
    /// `port[bit]`, are constant; there is no question of others.
    pub fn compare(
        &self,
        mutants: &Mutants,
        id: u32,
        reset: Option<&str>,
        held: &BTreeMap<String, bool>,
        given: Given,
    ) -> Result<Verdict, SynthesisError> {
        let rule = u32::from(given != Given::Nothing) << mutants.select_width;
        let required: &[&str] = match given {
            Given::Nothing => &[],
            Given::Rules => &[LEGAL],
            Given::Near => &[LEGAL, NEAR],
        };
        let miter = mutants.aiger.miter(SELECT, [rule, rule | id], reset, held, [&[LEGAL, NEAR], required]);
        if miter.is_trivial() {
            return Ok(Verdict::Equivalent);
        }
        let question = format!("{id} {held:?} {given:?}");
        let key = flow::key(&[(mutants.module.clone(), mutants.verilog.clone())], &[&question]);
        let work = Workplace::new(&self.root, "miter", &key, self.limit.saturating_add(GRACE))?;
        work.write_bytes("miter.aig", &miter.binary())?;
        // Most registers are the same in both, and ABC proves it soon; with them most questions vanish. `scorr` finds no more, and took 26 s
        // where `&scorr` takes 1.5 s.
        let merged = work.run(
            "ABC",
            &self.program,
            &["-c", "&r miter.aig; &scorr; &put; write_aiger small.aig"],
            "scorr.log",
        );
        match merged {
            Err(failure) if failure.late => return Ok(Verdict::Unknown),
            Err(failure) => return Err(work.failed(failure)),
            Ok(()) => {}
        }
        let what_is_left = flow::read_lossy(&work.path().join("small.aig"));
        let (mut lines, mut name) = (what_is_left.lines(), "small.aig");
        let latches = lines.next().and_then(|header| header.split(' ').nth(3));
        if latches == Some("0") {
            if lines.next() == Some("0") {
                return Ok(Verdict::Equivalent);
            }
            // Model checkers want latches.
            name = "miter.aig";
        }
        let seconds = self.limit.as_secs().clamp(1, LONGEST);
        let commands = format!(
            "read_aiger {name}; pdr -T {seconds}; write_cex -a pdr.cex; bmc3 -T {}; write_cex -a bmc.cex",
            (seconds / 4).max(1)
        );
        match work.run("ABC", &self.program, &["-c", &commands], "pdr.log") {
            Err(failure) if failure.late => return Ok(Verdict::Unknown),
            Err(failure) => return Err(work.failed(failure)),
            Ok(()) => {}
        }
        if flow::read_lossy(&work.path().join("pdr.log")).contains("Property proved") {
            return Ok(Verdict::Equivalent);
        }
        let found = ["pdr.cex", "bmc.cex"]
            .into_iter()
            .find_map(|name| counterexample(&flow::read_lossy(&work.path().join(name)), &miter.inputs));
        Ok(found.map_or(Verdict::Unknown, Verdict::Different))
    }
}

/// Reads an AIGER witness: the latches, a line of inputs per cycle. Some versions put `1` and `b0` before it and a dot behind it.
fn counterexample(text: &str, names: &[String]) -> Option<Counterexample> {
    let text = text.strip_prefix("1\nb0\n").unwrap_or(text);
    let (_latches, cycles) = text.split_once('\n')?;
    let cycles = cycles.lines().take_while(|line| *line != ".").map(|line| {
        let mut ports: Vec<(&str, Vec<u32>)> = Vec::new();
        // What follows is what latches start with.
        for (name, _) in names.iter().zip(line.chars()).filter(|(_, bit)| *bit == '1') {
            let (port, index) = name.strip_suffix(']').and_then(|n| n.split_once('[')).unwrap_or((name, "0"));
            let index: usize = index.parse().unwrap_or(0);
            let at = ports.iter().position(|(known, _)| *known == port).unwrap_or_else(|| {
                ports.push((port, Vec::new()));
                ports.len() - 1
            });
            let digits = &mut ports[at].1;
            digits.resize(digits.len().max(index / 4 + 1), 0);
            digits[index / 4] |= 1 << (index % 4);
        }
        let hex = |digits: &[u32]| digits.iter().rev().map(|d| format!("{d:x}")).collect();
        ports.iter().map(|(port, digits)| (port.to_string(), hex(digits))).collect()
    });
    Some(Counterexample { cycles: cycles.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_is_read() {
        let names = ["rst_ni", "a_i[0]", "a_i[1]"].map(String::from);
        for text in ["1\nb0\n00\n0001\n1011\n.\n", "00\n0001\n1011\n"] {
            let found = counterexample(text, &names).unwrap();
            assert_eq!(found.to_string(), "cycle 0:\ncycle 1: rst_ni=1 a_i=2");
        }
        assert_eq!(counterexample("", &names), None);
    }
}

//! Mutants of a design: Yosys' `mutate` makes small faults in its netlist, all of them in one netlist, chosen by an input.
//!
//! One netlist, because it is the simulator's compiler that takes time: one build serves every mutant.

pub mod aiger;
pub mod equivalence;
pub mod rules;

use crate::rtl::Rtl;
use crate::synth::flow::{self, SynthesisError, TIME_LIMIT, Workplace, Yosys};
use aiger::Aiger;
use rules::{LEGAL, NEAR, Rules};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use windlass_rtl::port::{Direction, Port};

/// The input that chooses the mutant. 0 is none: the design as it was.
pub const SELECT: &str = "windlass_mutant_i";

/// Mutants that are made at a time, at most: many more than the largest design has.
pub const MOST: usize = 1 << 24;

/// Which faults to put into a netlist: how many, and by which draw.
#[derive(Clone, Debug)]
pub struct MutantOptions {
    /// How many, at most [`MOST`]. There are fewer where the design is too small.
    pub count: usize,
    /// Seed of the choice; the same seed and Yosys choose the same.
    pub seed: u32,
    /// The Yosys to use; `None`: the one that [`Yosys::find`] finds.
    pub yosys: Option<Yosys>,
    /// The cache's root, below which Yosys works; `None`: [`crate::cache::root`].
    pub cache: Option<PathBuf>,
    /// How long Yosys may run.
    pub limit: Duration,
}

impl Default for MutantOptions {
    fn default() -> Self {
        Self { count: 500, seed: 1, yosys: None, cache: None, limit: TIME_LIMIT }
    }
}

impl MutantOptions {
    /// The Yosys that makes them.
    ///
    /// # Errors
    /// Where none is named and none is found.
    pub fn yosys(&self) -> Result<Yosys, SynthesisError> {
        Ok(match &self.yosys {
            Some(yosys) => yosys.clone(),
            None => Yosys::find()?,
        })
    }
}

/// One small fault: a bit of a cell's port that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// The value of [`SELECT`] that activates it; the first is 1.
    pub id: u32,
    /// What is wrong: `inv`, `const0`, `const1`; `cnot0` and `cnot1` invert the bit where another bit of the port is 0 or 1.
    pub mode: String,
    /// The cell, with the instances above it.
    pub cell: String,
    /// Its port.
    pub port: String,
    /// The port's bit.
    pub bit: u32,
    /// The other bit of `cnot0` and `cnot1`.
    pub control: Option<u32>,
    /// The named signal that the bit belongs to, if there is one.
    pub wire: Option<String>,
    /// Where it comes from: `file.v:line.column-line.column`.
    pub sources: Vec<String>,
}

impl Mutant {
    /// Whether it is inside this instance, instances above it included, `u_above.u_it`: by its cell's name, or where that says nothing by its wire's.
    pub fn is_in(&self, instance: &str) -> bool {
        let within = |name: &str| name.strip_prefix(instance).is_some_and(|rest| rest.starts_with('.'));
        within(&self.cell) || self.wire.as_deref().is_some_and(within)
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, mode, cell, port, bit, control, wire, sources } = self;
        write!(f, "{id} {mode} {cell} {port}[{bit}]")?;
        control.iter().try_for_each(|control| write!(f, " by [{control}]"))?;
        wire.iter().try_for_each(|wire| write!(f, ", {wire}"))?;
        if sources.is_empty() { Ok(()) } else { write!(f, ", {}", sources.join(" ")) }
    }
}

/// A design with all its mutants.
#[derive(Clone, Debug)]
pub struct Mutants {
    /// Every mutant, in the order of their numbers.
    pub list: Vec<Mutant>,
    /// Bits of a mutant's number. [`SELECT`] has one more, the highest: where it is 1, inputs are made legal before they go in.
    pub select_width: u32,
    /// The name of the module.
    pub module: String,
    /// Its ports: the design's, [`SELECT`], which is the last input, and [`LEGAL`] and [`NEAR`], the last outputs.
    pub ports: Vec<Port>,
    /// The block's rules.
    pub rules: Option<Rules>,
    /// The module.
    pub verilog: String,
    /// The same as latches and AND gates.
    pub aiger: Aiger,
    /// What Yosys did with the design's files before it made mutants.
    pub prepare: String,
    /// The commands with which it made them.
    pub commands: String,
    /// The Yosys that made it.
    pub yosys: Yosys,
}

/// Makes mutants of `rtl`, whose block has these `rules`. Clock pins are left as they are.
pub fn mutants(rtl: &Rtl, rules: Option<&Rules>, options: &MutantOptions) -> Result<Mutants, SynthesisError> {
    let Rtl { top, files: design, ports, .. } = rtl;
    flow::check_names(design, top)?;
    let root = flow::shelf(options.cache.as_deref(), "mutate")?;
    let yosys = options.yosys()?;
    // One value is for no mutant.
    let select_width = select_width(options.count);
    let module = format!("{top}_mutants");
    let harness = rules::harness(&module, top, ports, rules, select_width);
    let rules_text = rules.map_or("", |rules| rules.text);
    let prepare = prepare(rtl, &yosys);
    let script = script(&prepare, &module, options, select_width);
    let key = flow::key(design, &[&yosys.version, &script, &harness, rules_text]);
    let work = Workplace::new(&root, top, &key, options.limit)?;
    for (name, text) in design {
        work.write(name, text)?;
    }
    work.write("harness.sv", &format!("{harness}{rules_text}"))?;
    work.write("mutate.ys", &script)?;
    let ran = yosys.run(&work, "mutate.ys", "mutate");
    flow::refuse(&flow::read_lossy(&work.path().join("mutate.log")), top)?;
    if let Err(failure) = ran {
        return Err(work.failed(failure));
    }
    let wrong = |what: String| SynthesisError::Output { tool: yosys.version.clone(), what };
    let read = |name: &str| flow::read_lossy(&work.path().join(name));
    let commands = read("mutants.ys");
    let list = commands
        .lines()
        .map(|line| mutant(line).ok_or_else(|| wrong(format!("the list of mutants: `{line}`"))))
        .collect::<Result<Vec<_>, _>>()?;
    let aiger = Aiger::parse(&read("mutants.aag")).map_err(|error| wrong(error.to_string()))?;
    let mut ports = ports.clone();
    for (name, direction, width) in [
        (SELECT, Direction::Input, select_width + 1),
        (LEGAL, Direction::Output, 1),
        (NEAR, Direction::Output, 1),
    ] {
        ports.push(Port { name: name.into(), direction, width, channel: String::new(), doc: String::new() });
    }
    let (rules, verilog) = (rules.cloned(), read("mutants.v"));
    Ok(Mutants { list, select_width, module, ports, rules, verilog, aiger, prepare, commands, yosys })
}

/// The design as mutants are made of it.
fn prepare(rtl: &Rtl, yosys: &Yosys) -> String {
    let files = flow::read_commands(&rtl.files, &rtl.top, yosys);
    // What it asserts and assumes itself is no part of it, and what it leaves open is the same in all.
    let own = if rtl.path.is_some() { "chformal -remove\nsetundef -zero\n" } else { "" };
    format!("{files}hierarchy -check -top {}\nproc -norom\n{own}flatten\nmemory\nopt\nopt_clean\n", rtl.top)
}

/// The bits that tell so many mutants apart, and none of them.
fn select_width(count: usize) -> u32 {
    (count.min(MOST) as u32 + 1).next_power_of_two().ilog2().max(1)
}

fn script(prepare: &str, module: &str, options: &MutantOptions, width: u32) -> String {
    let (count, seed) = (options.count.min(MOST), options.seed);
    let mut script = prepare.to_string();
    script += &format!("mutate -list {count} -seed {seed} -ctrl {SELECT} {width} 1 -o mutants.ys\n");
    script += "script mutants.ys\nread_verilog -sv harness.sv\n";
    script += &format!("hierarchy -check -top {module}\nproc\nflatten\nopt_clean\n");
    // Bit by bit: flattened words have loops that none of their bits has, and Verilator 5.006 does not settle all of them.
    script += "simplemap t:$and t:$or t:$xor t:$xnor t:$not t:$mux t:$pmux t:$reduce_* t:$logic_*\n";
    script += "splitnets\nopt_clean\nwrite_verilog -noattr mutants.v\n";
    // Two copies of one netlist are compared, so that a value for what is undefined is the same in both.
    script += "techmap\ndffunmap\nsimplemap\nopt\ndfflegalize -cell $_DFF_P_ 01\nsetundef -undriven -zero\n";
    script += "opt_clean\naigmap\nopt_clean\nwrite_aiger -ascii -symbols mutants.aag\n";
    script
}

/// A line of Yosys' list: `mutate -ctrl NAME WIDTH 7 -mode inv -module M -cell C -port Y -portbit 3 -ctrlbit 2 -wire W -wirebit 0 -src S`.
fn mutant(line: &str) -> Option<Mutant> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = |option: &str| words.iter().position(|w| *w == option);
    let value = |option: &str| Some(*words.get(at(option)? + 1)?);
    let plain = |name: &str| name.trim_start_matches("$flatten").replace('\\', "");
    let sources = words.windows(2).filter(|w| w[0] == "-src").map(|w| w[1].to_string()).collect();
    let wire = value("-wire").map(|wire| match value("-wirebit") {
        Some(bit) => format!("{}[{bit}]", plain(wire)),
        None => plain(wire),
    });
    Some(Mutant {
        id: words.get(at("-ctrl")? + 3)?.parse().ok()?,
        mode: value("-mode")?.into(),
        cell: plain(value("-cell")?),
        port: plain(value("-port")?),
        bit: value("-portbit")?.parse().ok()?,
        control: value("-ctrlbit").and_then(|bit| bit.parse().ok()),
        wire,
        sources,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_mutants_has_a_width() {
        assert_eq!([0, 1, 500, usize::MAX].map(select_width), [1, 1, 9, 25]);
    }

    #[test]
    fn a_line_of_the_list() {
        let line = "mutate -ctrl s 9 12 -mode cnot0 -module top -cell $flatten\\u_a.\\u_b.$not$x.v:3$4 -port Y -portbit 1 -ctrlbit 2 -wire above_7 -wirebit 0 -src x.v:49.14-49.21 -src x.v:50.1-50.2";
        let mutant = mutant(line).unwrap();
        assert_eq!(
            mutant.to_string(),
            "12 cnot0 u_a.u_b.$not$x.v:3$4 Y[1] by [2], above_7[0], x.v:49.14-49.21 x.v:50.1-50.2"
        );
        assert_eq!(super::mutant("mutate -mode none"), None);
    }
}

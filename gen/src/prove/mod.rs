//! Proofs: properties of a block, in Verilog beside it, shown to hold in every state that it can reach.
//!
//! The properties of each kind of block are written once for all sizes (`properties/*.sv`), against its ports alone; lemmas, which say how its
//! registers carry them, are beside them where an induction needs them, and are proved with them. Yosys makes an SMT model of the design that
//! is emitted, unchanged, between free inputs; a solver is asked:
//!
//! - for the *base*, whether a property can fail within some cycles from a reset, `k` where an induction goes on from there;
//! - for the *step*, whether each property can fail in a state that follows `k` cycles in which all held, from anywhere. If neither can, it
//!   holds for all time. What is already shown is used for the next question;
//! - for *covers*, whether the states that matter are reached at all.
//!
//! Registers without reset start at any value. Reset may come again in any cycle.

pub mod alike;
pub(crate) mod bench;
mod both_windows;
pub(crate) mod harness;
mod relation;
mod smt;
mod trace;

pub use both_windows::BothWindows;
pub use smt::{BITWUZLA_VERSION, SolverKind, bitwuzla_version};
pub use trace::Trace;

use crate::emit::{self, Design, EmitErrors, Form, ResetKind};
use crate::mutate::Mutants;
use crate::mutate::aiger::{Aiger, AigerError};
use crate::rtl::{self, Rtl};
use crate::synth::flow::{self, Workplace};
use crate::synth::{SynthesisError, Yosys};
use crate::tools::{self, ToolError};
use bench::Bench;
use serde::Serialize;
use smt::{Answer, Installed, Model, Solver};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use windlass_catalog::BlockSpec;

/// Version of [`ProofReport`] as JSON; it changes when a field changes its meaning or goes.
pub const FORMAT_VERSION: u32 = 1;

/// Most cycles in which a cover is looked for.
pub const COVER_DEPTH: usize = 40;

/// Assertions in one question about a cycle after the reset.
const TOGETHER: usize = 16;

/// The oldest Yosys that reads the properties as they are written.
const OLDEST_YOSYS: [u32; 2] = [0, 40];

/// Why nothing could be shown.
#[derive(Debug, Error)]
pub enum ProveError {
    /// The block has no Verilog.
    #[error(transparent)]
    Emit(#[from] EmitErrors),
    /// A tool cannot be used.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// This Yosys cannot read the properties.
    #[error(
        "{found} cannot read the properties: 0.40 is the oldest that can\n  scripts/setup.sh fetches a newer one from PyPI; or set YOSYS to one"
    )]
    OldYosys {
        /// The Yosys that was found.
        found: String,
    },
    /// Yosys failed.
    #[error(transparent)]
    Yosys(#[from] SynthesisError),
    /// There is nothing to show, and so everything would hold.
    #[error(
        "{yosys} wrote a model of {top} without a property
  0.40 to 0.70 are known to work; `windlass doctor` names the variable that sets another one"
    )]
    NoProperties {
        /// Module at the top.
        top: String,
        /// Yosys and its version.
        yosys: String,
    },
    /// Bitwuzla was asked for.
    #[error(
        "there is no Bitwuzla {}\n  scripts/setup.sh fetches it from PyPI; without --solver, Yices answers",
        BITWUZLA_VERSION
    )]
    NoBitwuzla,
    /// The solver failed.
    #[error(
        "the solver failed: {what}\n  Yices 2.6.5 and Bitwuzla {} are known to work; set YICES to use another program",
        BITWUZLA_VERSION
    )]
    Solver {
        /// How.
        what: String,
    },
}

/// How a proof is tried: how far, how long, and by which solver.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Cycles from the reset in which nothing may fail, where no induction shows that nothing ever does.
    pub depth: usize,
    /// Prove for all time, where the block's properties are made for it; else for `depth` cycles only.
    pub unbounded: bool,
    /// Where a property fails, ask the others further; else nothing more is asked. With lemmas nothing is, for one that fails takes others
    /// with it.
    pub go_on: bool,
    /// Most cycles in which covers are looked for; 0: they are not.
    pub covers: usize,
    /// How long each question may take, in whole seconds.
    pub limit: Duration,
    /// Who answers; `None`: the one that is known to be quicker for the block, if it is there.
    pub solver: Option<SolverKind>,
    /// Solvers that share the questions of the step.
    pub jobs: usize,
    /// How registers take their reset.
    pub reset: ResetKind,
}

impl ProveOptions {
    fn emit(&self, spec: BlockSpec) -> Result<Design, EmitErrors> {
        emit::emit_as(&*spec.hardware(), &Form { reset: self.reset, ..Form::default() })
    }
}

impl Default for ProveOptions {
    fn default() -> Self {
        Self {
            depth: 8,
            unbounded: true,
            go_on: true,
            covers: COVER_DEPTH,
            limit: Duration::from_secs(600),
            solver: None,
            jobs: 1,
            reset: ResetKind::default(),
        }
    }
}

/// What is known of a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// It holds in every state that can be reached.
    Proved,
    /// It holds for this many cycles from a reset; beyond, nothing was asked.
    Bounded {
        /// The cycles.
        cycles: usize,
    },
    /// It fails, and this is how.
    Fails {
        /// From the first cycle in reset to the one in which it fails.
        trace: Trace,
    },
    /// It holds for this many cycles, and the induction does not carry it on: perhaps from a state that is never reached.
    NotInductive {
        /// The cycles.
        cycles: usize,
        /// The last of them is where it fails.
        trace: Trace,
    },
    /// The solver took too long.
    Unknown {
        /// The cycles for which it holds.
        cycles: usize,
    },
    /// A cover: reached in this cycle from the first one in reset.
    Reached {
        /// The cycle.
        cycle: usize,
    },
    /// A cover: not reached within this many cycles.
    NotReached {
        /// The cycles.
        cycles: usize,
    },
}

impl Verdict {
    /// The same, known to hold for so many cycles.
    fn after(mut self, holds_for: usize) -> Self {
        if let Self::NotInductive { cycles, .. } | Self::Unknown { cycles } = &mut self {
            *cycles = holds_for;
        }
        self
    }

    /// False where a property fails, where no cycle was looked at, or where a state that should be is not reached.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Proved | Self::Bounded { cycles: 1.. } | Self::Reached { .. })
    }
}

/// A property and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyResult {
    /// Its name.
    pub name: String,
    /// What would go wrong without it.
    pub reason: String,
    /// What is known.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What was shown of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "it says whether the properties hold"]
pub struct ProofReport {
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Module at the top.
    pub top: String,
    /// Yosys and its version.
    pub yosys: String,
    /// The solver and its version.
    pub solver: String,
    /// Cycles that the induction looked back; none where there was none.
    pub induction: Option<usize>,
    /// Lemmas that hold, of all.
    pub lemmas: (usize, usize),
    /// Why there was no induction where the block has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_induction: Option<NoInduction>,
    /// Properties, then covers, each in the order of the text.
    pub properties: Vec<PropertyResult>,
    /// Lemmas that do not hold.
    pub failed_lemmas: Vec<PropertyResult>,
}

/// Why nothing is proved for all time of Verilog that was not emitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why", content = "names")]
pub enum NoInduction {
    /// The lemmas are about registers that it does not have: these.
    Missing(Vec<String>),
    /// These lemmas do not hold of it.
    Lemmas(Vec<String>),
}

impl ProofReport {
    /// Everything that was asked came out well.
    pub fn is_good(&self) -> bool {
        self.failed_lemmas.is_empty() && self.properties.iter().all(|p| p.verdict.is_good())
    }

    /// What is asked of each place or channel by itself is one property; the first that is not good speaks for all.
    fn add(&mut self, result: PropertyResult) {
        match self.properties.iter_mut().find(|p| p.name == result.name) {
            Some(other) if other.verdict.is_good() => *other = result,
            Some(_) => {}
            None => self.properties.push(result),
        }
    }

    /// Number of properties with a verdict that `which` picks.
    pub fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.properties.iter().filter(|p| which(&p.verdict)).count()
    }
}

/// What would go wrong without each property of the block, by name; and without each cover, what the proof would be worth.
pub fn properties(spec: BlockSpec) -> Vec<(&'static str, &'static str)> {
    Bench::of(spec).reasons()
}

/// Proves what the block promises.
pub fn prove(spec: BlockSpec, options: &ProveOptions) -> Result<ProofReport, ProveError> {
    let emitted = options.emit(spec)?;
    prove_beside(spec, &emitted, &Rtl::from(&emitted), options)
}

/// The same for Verilog with the block's ports that somebody has changed or written. Where it does not have the registers that lemmas are
/// about, nothing is proved for all time.
pub fn prove_rtl(spec: BlockSpec, rtl: &Rtl, options: &ProveOptions) -> Result<ProofReport, ProveError> {
    prove_beside(spec, &options.emit(spec)?, rtl, options)
}

fn prove_beside(
    spec: BlockSpec,
    emitted: &Design,
    rtl: &Rtl,
    options: &ProveOptions,
) -> Result<ProofReport, ProveError> {
    let bench = Bench::of(spec).complete(emitted);
    let tools = Tools::find(options.solver, &bench)?;
    if rtl.path.is_some() {
        rtl::check(rtl, &tools.yosys)?;
    }
    if !options.unbounded || bench.induction.is_none() {
        return prove_bench(&tools, rtl, &bench.alone(), options);
    }
    let own = rtl.path.is_some();
    let without = |bench: Bench, why: NoInduction| -> Result<ProofReport, ProveError> {
        Ok(ProofReport { no_induction: Some(why), ..prove_bench(&tools, rtl, &bench.alone(), options)? })
    };
    if own {
        let missing = missing(emitted, rtl, &bench, &tools.yosys)?;
        if !missing.is_empty() {
            return without(bench, NoInduction::Missing(missing));
        }
    }
    let mut report = prove_bench(&tools, rtl, &bench, &ProveOptions { covers: 0, ..options.clone() })?;
    if own && options.go_on && report.properties.iter().any(|p| matches!(p.verdict, Verdict::Fails { .. })) {
        // Without lemmas what else fails is found, too.
        return prove_bench(&tools, rtl, &bench.alone(), options);
    }
    if own && !report.failed_lemmas.is_empty() {
        // What its registers mean is its own affair.
        return without(
            bench,
            NoInduction::Lemmas(report.failed_lemmas.into_iter().map(|lemma| lemma.name).collect()),
        );
    }
    if options.covers > 0 {
        // The states that matter are found sooner where no lemma is looked at.
        let options = ProveOptions { depth: 0, unbounded: false, ..options.clone() };
        let reached = prove_bench(&tools, rtl, &bench.alone(), &options)?;
        for result in reached.properties {
            if report.properties.iter().all(|p| p.name != result.name) {
                report.properties.push(result);
            }
        }
    }
    Ok(report)
}

/// What a proof needs.
struct Tools {
    solver: Installed,
    yosys: Yosys,
}

impl Tools {
    /// With the solver that was chosen, or is best for the bench.
    fn find(chosen: Option<SolverKind>, bench: &Bench) -> Result<Self, ProveError> {
        let solver = match (chosen, bench.solver) {
            (Some(kind), _) => Installed::find(kind)?,
            (None, SolverKind::Bitwuzla) => {
                Installed::bitwuzla().map_or_else(|| Installed::find(SolverKind::Yices), Ok)?
            }
            (None, SolverKind::Yices) => Installed::find(SolverKind::Yices)?,
        };
        let yosys = Yosys::find()?;
        if let Some(found) = tools::parse_version(&yosys.version)
            && found.as_slice() < &OLDEST_YOSYS[..]
        {
            return Err(ProveError::OldYosys { found: yosys.version });
        }
        Ok(Self { solver, yosys })
    }
}

/// Shows what the bench asks.
fn prove_bench(
    tools: &Tools,
    rtl: &Rtl,
    bench: &Bench,
    options: &ProveOptions,
) -> Result<ProofReport, ProveError> {
    let Tools { solver, yosys } = tools;
    let model = model(rtl, bench, yosys)?;
    if model.assertions.is_empty() {
        let (top, yosys) = (rtl.top.clone(), yosys.version.clone());
        return Err(ProveError::NoProperties { top, yosys });
    }
    let start = || Solver::start(solver, options.limit);
    let proof = Proof {
        solver: start()?,
        order: model.order(),
        signals: harness::vectors(&rtl.ports)
            .into_iter()
            .map(|(name, _, _)| name)
            // Ports that no property looks at may be gone.
            .filter(|name| model.text.contains(&format!("(define-fun |harness_n {name}| ")))
            .collect(),
        model: &model,
        bench,
        options,
        found: BTreeMap::new(),
        reached: BTreeMap::new(),
    };
    proof.run(&rtl.top, &yosys.version, &solver.version, start)
}

/// The design between free inputs with its properties, as SMT-LIB.
fn model(rtl: &Rtl, bench: &Bench, yosys: &Yosys) -> Result<Model, ProveError> {
    let text = formal(rtl, bench, yosys, None, "write_smt2 -wires", "model.smt2")?;
    let what = |line| format!("a property named by `{line}`");
    Model::new(text)
        .map_err(|line| SynthesisError::Output { tool: yosys.version.clone(), what: what(line) }.into())
}

/// The same with all its `mutants`, as latches and AND gates: what is asserted is true where it fails, what is assumed is a constraint.
fn netlist(rtl: &Rtl, bench: &Bench, yosys: &Yosys, mutants: &Mutants) -> Result<Aiger, ProveError> {
    let write = "chformal -cover -remove\ntechmap\nopt -fast\ndffunmap\nsimplemap\nopt -fast\nsetundef -zero\naigmap\nopt_clean\nwrite_aiger -ascii -symbols";
    let text = formal(rtl, bench, yosys, Some(mutants), write, "model.aag")?;
    let wrong =
        |error: AigerError| SynthesisError::Output { tool: yosys.version.clone(), what: error.to_string() };
    Ok(Aiger::parse(&text).map_err(wrong)?)
}

/// What is asked of a design, beside it: name and text of each file, in the order in which they are read.
fn asked(rtl: &Rtl, bench: &Bench, mutants: Option<&Mutants>) -> Vec<(&'static str, String)> {
    let mut files = vec![("properties.sv", bench.text.to_string())];
    if !bench.parts.is_empty() {
        let lemmas = |part: &bench::Part| part.bench.lemmas.as_ref().map_or("", |lemmas| lemmas.text);
        files.push(("parts.sv", bench.parts.iter().map(|part| part.text() + lemmas(part)).collect()));
    }
    if let Some(lemmas) = &bench.lemmas {
        files.push(("lemmas.sv", lemmas.text.to_string()));
    }
    files.push(("harness.sv", harness::harness(rtl, bench, mutants)));
    if let Some(rules) = mutants.and_then(|mutants| mutants.rules.as_ref()) {
        files.push(("rules.sv", rules.text.to_string()));
    }
    files
}

/// A block's proof for other tools: the design, its properties and lemmas, the harness around them, and `prove.sby`, by which SymbiYosys
/// runs the induction (task `prove`), looks at the first cycles after a reset (`bmc`), and for states that matter (`cover`).
/// Names and texts of the files.
pub fn files(spec: BlockSpec, options: &ProveOptions) -> Result<Vec<(String, String)>, EmitErrors> {
    let design = options.emit(spec)?;
    let mut bench = Bench::of(spec).complete(&design);
    if !options.unbounded {
        bench = bench.alone();
    }
    let mut files = vec![("design.v", design.verilog())];
    files.extend(asked(&Rtl::from(&design), &bench, None));
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let induction = bench.induction.map(|cycles| ("prove", "prove", cycles + 1));
    let covers = (options.covers > 0).then_some(("cover", "cover", options.covers));
    let tasks: Vec<_> = induction.into_iter().chain([("bmc", "bmc", options.depth)]).chain(covers).collect();
    let lines = |line: &dyn Fn(&(&str, &str, usize)) -> String| tasks.iter().map(line).collect::<String>();
    let sby = format!(
        "# {}: sby prove.sby\n[tasks]\n{}\n[options]\n{}\n[engines]\nsmtbmc yices\n\n[script]\nread_verilog -sv design.v\n\
         read_verilog -formal -sv {}\nhierarchy -check -top {}\nproc\nmemory_map\nflatten\n\n[files]\n{}\n",
        design.top().name,
        lines(&|(task, _, _)| format!("{task}\n")),
        lines(&|(task, mode, depth)| format!("{task}: mode {mode}\n{task}: depth {depth}\n")),
        names[1..].join(" "),
        harness::TOP,
        names.join("\n"),
    );
    files.push(("prove.sby", sby));
    Ok(files.into_iter().map(|(name, text)| (name.to_string(), text)).collect())
}

/// The registers that lemmas name, and that `rtl` has not and `emitted` has: not all blocks of a kind have all.
fn missing(emitted: &Design, rtl: &Rtl, bench: &Bench, yosys: &Yosys) -> Result<Vec<String>, ProveError> {
    let [there, lost] = [&Rtl::from(emitted), rtl].map(|rtl| not_found(rtl, bench, yosys));
    Ok(lost?.difference(&there?).cloned().collect())
}

/// What lemmas are about and the Verilog does not have: to the solver it would be free.
fn not_found(rtl: &Rtl, bench: &Bench, yosys: &Yosys) -> Result<BTreeSet<String>, ProveError> {
    let found =
        flattened(rtl, bench, yosys, None, "tee -q -o found.txt select -list a:hierconn", "found.txt")?;
    Ok(found.lines().filter_map(|line| Some(line.split_once("/dut.")?.1.to_string())).collect())
}

/// What Yosys makes of the design, and all its `mutants` where there are any, between free inputs with its properties; `write` says in which form.
fn formal(
    rtl: &Rtl,
    bench: &Bench,
    yosys: &Yosys,
    mutants: Option<&Mutants>,
    write: &str,
    file: &str,
) -> Result<String, ProveError> {
    let commands = format!(
        "async2sync\nchformal -lower\nopt -full\nformalff -setundef -clk2ff -ff2anyinit -hierarchy\nsetundef -undriven -anyseq\n\
         opt -fast\ndffunmap\nopt_clean\n{write} {file}"
    );
    flattened(rtl, bench, yosys, mutants, &commands, file)
}

/// The file that `commands` write once the design, with all its `mutants` and what is asked of it, is one module.
fn flattened(
    rtl: &Rtl,
    bench: &Bench,
    yosys: &Yosys,
    mutants: Option<&Mutants>,
    commands: &str,
    file: &str,
) -> Result<String, ProveError> {
    let shelf = flow::shelf(None, "prove")?;
    let asked = asked(rtl, bench, mutants);
    let asked_text: String = asked.iter().map(|(_, text)| text.as_str()).collect();
    let mutate = mutants.map_or("", |mutants| mutants.commands.as_str());
    let key = flow::key(&rtl.files, &[&asked_text, mutate, commands]);
    let work = Workplace::new(&shelf, &rtl.top, &key, flow::TIME_LIMIT)?;
    for (name, text) in &rtl.files {
        work.write(name, text)?;
    }
    let read = match mutants {
        None if rtl.path.is_some() => {
            // What it assumes itself would be believed, and what it leaves open would be as it suits best.
            let read = flow::read_commands(&rtl.files, &rtl.top, yosys);
            format!("{read}hierarchy -check -top {}\nproc\nchformal -remove\nsetundef -anyseq\n", rtl.top)
        }
        None => flow::read_commands(&rtl.files, &rtl.top, yosys),
        Some(mutants) => {
            // A clock that is a function of signals is none to a solver.
            let commands = mutants.commands.lines().filter(|line| !line.contains(" -port CLK "));
            work.write("mutants.ys", &commands.map(|line| format!("{line}\n")).collect::<String>())?;
            format!("{}script mutants.ys\n", mutants.prepare)
        }
    };
    for (name, text) in &asked {
        work.write(name, text)?;
    }
    let names: Vec<&str> = asked.iter().map(|(name, _)| *name).collect();
    let script = format!(
        "{read}read_verilog -formal -sv {}\nhierarchy -check -top {}\nproc\nmemory_map\nflatten\n{commands}\n",
        names.join(" "),
        harness::TOP
    );
    work.write("prove.ys", &script)?;
    match yosys.run(&work, "prove.ys", "prove") {
        Ok(_) => Ok(flow::read_lossy(&work.path().join(file))),
        Err(failure) => Err(work.failed(failure).into()),
    }
}

/// A proof that goes on.
struct Proof<'a> {
    solver: Solver,
    /// The assertions' numbers, as they are asked.
    order: Vec<usize>,
    signals: Vec<String>,
    model: &'a Model,
    bench: &'a Bench,
    options: &'a ProveOptions,
    /// What is known of assertions, by number.
    found: BTreeMap<usize, Verdict>,
    /// And of covers.
    reached: BTreeMap<usize, Verdict>,
}

impl Proof<'_> {
    fn run(
        mut self,
        top: &str,
        yosys: &str,
        name: &str,
        again: impl Fn() -> Result<Solver, ProveError> + Sync,
    ) -> Result<ProofReport, ProveError> {
        let induction = self.bench.induction.filter(|_| self.options.unbounded);
        let covers: Vec<usize> = self.model.covers.iter().map(|(number, _)| *number).collect();
        // An induction needs no more from the reset on than it looks back.
        let held = self.base(induction.unwrap_or(self.options.depth), covers)?;
        if let Some(back) = induction.filter(|_| held) {
            let open = self.step(back, &again)?;
            if !open.is_empty() {
                // It stands as a whole, or not at all: what is left is whether a reset leads there.
                self.solver = again()?;
                self.base(self.options.depth.max(back), Vec::new())?;
                for (number, verdict) in open {
                    if let Some(Verdict::Bounded { cycles }) = self.found.get(&number).cloned() {
                        self.found.insert(number, verdict.after(cycles));
                    }
                }
            }
        }
        let failed = self.found.values().any(|v| matches!(v, Verdict::Fails { .. }));
        let reasons: BTreeMap<&str, &str> = self.bench.reasons().into_iter().collect();
        let result = |name: &str, verdict: &Verdict| PropertyResult {
            reason: reasons.get(name).copied().unwrap_or_default().into(),
            name: name.into(),
            verdict: verdict.clone(),
        };
        let mut report = ProofReport {
            format_version: FORMAT_VERSION,
            top: top.into(),
            yosys: yosys.into(),
            solver: name.into(),
            induction: induction.filter(|_| !failed),
            lemmas: (0, 0),
            no_induction: None,
            properties: Vec::new(),
            failed_lemmas: Vec::new(),
        };
        for (number, name) in &self.model.assertions {
            let Some(verdict) = self.found.get(number) else { continue };
            if name.starts_with("properties.") {
                report.add(result(last_name(name), verdict));
            } else if let Some(part) = part_that_assumes(name) {
                report.add(PropertyResult {
                    name: format!("{part}_gets_what_it_assumes"),
                    reason: format!("What is proved of {part} alone would not hold in here."),
                    verdict: verdict.clone(),
                });
            } else {
                report.lemmas.1 += 1;
                if verdict.is_good() {
                    report.lemmas.0 += 1;
                } else {
                    report.failed_lemmas.push(result(name, verdict));
                }
            }
        }
        for (number, name) in &self.model.covers {
            if let Some(verdict) = self.reached.get(number) {
                report.add(result(last_name(name), verdict));
            }
        }
        // The order of the text; what Yosys keeps is in another.
        let order: BTreeMap<&str, usize> =
            self.bench.reasons().iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        report.properties.sort_by_key(|p| order.get(p.name.as_str()).copied().unwrap_or(usize::MAX));
        report.failed_lemmas.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(report)
    }

    /// From the reset on: what fails within `depth` cycles, and which covers of those `to_reach` are reached.
    /// False where something fails or was not shown.
    fn base(&mut self, depth: usize, mut to_reach: Vec<usize>) -> Result<bool, ProveError> {
        self.solver.tell(&self.model.whole())?;
        // The reset takes the first cycle.
        let depth = depth + 1;
        let mut left = self.order.clone();
        for cycle in 0..depth.max(self.options.covers + 1) {
            if cycle >= depth && to_reach.is_empty() {
                break;
            }
            self.solver.tell(&Model::state(cycle))?;
            if cycle == 0 {
                self.solver.tell("(assert (|harness_i| s0))")?;
            }
            if cycle < depth {
                let asked = left.len();
                left = self.base_cycle(cycle, left)?;
                if left.is_empty() || (left.len() < asked && !self.goes_on()) {
                    return Ok(false);
                }
            }
            if cycle <= self.options.covers && self.options.covers > 0 {
                let mut unreached = Vec::new();
                for number in to_reach {
                    // What was not decided in one cycle is not unreached because it is in the next.
                    let known = |cycles: usize| match self.reached.get(&number) {
                        Some(Verdict::Unknown { cycles }) => Verdict::Unknown { cycles: *cycles },
                        _ => Verdict::NotReached { cycles },
                    };
                    let (not_here, before) = (known(cycle), cycle.saturating_sub(1));
                    let (answer, _) =
                        self.solver.ask(&format!("(|harness_c {number}| s{cycle})"), |_| Ok(()))?;
                    let verdict = match answer {
                        Answer::Sat => Verdict::Reached { cycle },
                        Answer::Unsat => not_here,
                        Answer::Unknown => match not_here {
                            Verdict::NotReached { .. } => Verdict::Unknown { cycles: before },
                            undecided => undecided,
                        },
                    };
                    if answer != Answer::Sat {
                        unreached.push(number);
                    }
                    self.reached.insert(number, verdict);
                }
                to_reach = unreached;
            }
        }
        Ok(left.len() == self.order.len())
    }

    fn goes_on(&self) -> bool {
        self.options.go_on && self.bench.lemmas.is_none()
    }

    /// Which of `asked` hold in this cycle, given that they held before; what does not is noted.
    fn base_cycle(&mut self, cycle: usize, asked: Vec<usize>) -> Result<Vec<usize>, ProveError> {
        let mut holding = Vec::new();
        // Several at once, but not all: a question about all is the hardest of them.
        let mut chunks: Vec<Vec<usize>> = asked.chunks(TOGETHER).rev().map(<[usize]>::to_vec).collect();
        while let Some(some) = chunks.pop() {
            let all: Vec<String> =
                some.iter().map(|number| format!("(|harness_a {number}| s{cycle})")).collect();
            let all = format!("(and true {})", all.join(" "));
            let signals = &self.signals;
            let (answer, seen) = self.solver.ask(&format!("(not {all})"), |solver| {
                let mut failed = Vec::new();
                for number in &some {
                    if solver.value(&format!("(|harness_a {number}| s{cycle})"))? == "0" {
                        failed.push(*number);
                    }
                }
                Ok((failed, trace(solver, signals, cycle)?))
            })?;
            match (answer, seen) {
                // What holds is a fact, and helps with the next question.
                (Answer::Unsat, _) => {
                    self.solver.tell(&format!("(assert {all})"))?;
                    holding.extend(some);
                    continue;
                }
                (_, Some((failed, trace))) if !failed.is_empty() => {
                    for number in &failed {
                        self.found.insert(*number, Verdict::Fails { trace: trace.clone() });
                    }
                    let others: Vec<usize> = some.into_iter().filter(|n| !failed.contains(n)).collect();
                    if !others.is_empty() {
                        chunks.push(others);
                    }
                }
                _ => {
                    for number in some {
                        self.found.insert(number, Verdict::Unknown { cycles: cycle.saturating_sub(1) });
                    }
                }
            }
            if !self.goes_on() {
                return Ok(Vec::new());
            }
        }
        for number in &holding {
            self.found.insert(*number, Verdict::Bounded { cycles: cycle });
        }
        Ok(holding)
    }

    /// From anywhere: what fails after `back` cycles in which all held. If nothing does, all is proved; else what is not shown comes
    /// back, as what it is if nothing fails from a reset.
    fn step(
        &mut self,
        back: usize,
        start: &(impl Fn() -> Result<Solver, ProveError> + Sync),
    ) -> Result<BTreeMap<usize, Verdict>, ProveError> {
        let asked = Asked { left: self.order.iter(), shown: Vec::new(), open: BTreeMap::new() };
        let asked = Mutex::new(asked);
        let proof = &*self;
        std::thread::scope(|scope| {
            let ask = || proof.ask_in_turn(back, start()?, &asked);
            let others: Vec<_> = (1..self.options.jobs).map(|_| scope.spawn(ask)).collect();
            let mine = ask();
            others.into_iter().fold(mine, |so_far, other| {
                let lost = |_| Err(ProveError::Solver { what: "a thread that asks it was lost".into() });
                so_far.and(other.join().unwrap_or_else(lost))
            })
        })?;
        let open = asked.into_inner().unwrap_or_else(PoisonError::into_inner).open;
        if open.is_empty() {
            self.found.values_mut().for_each(|verdict| *verdict = Verdict::Proved);
        }
        Ok(open)
    }

    /// Asks one solver what is left of the step, until nothing is. What any of them has shown is told to all.
    fn ask_in_turn(
        &self,
        back: usize,
        mut solver: Solver,
        asked: &Mutex<Asked<'_>>,
    ) -> Result<(), ProveError> {
        let asked = || asked.lock().unwrap_or_else(PoisonError::into_inner);
        solver.tell(&self.model.whole())?;
        for cycle in 0..=back {
            solver.tell(&Model::state(cycle))?;
            if cycle < back {
                solver.tell(&format!("(assert (|harness_a| s{cycle}))"))?;
            }
        }
        let mut told = 0;
        loop {
            let (number, new) = {
                let mut asked = asked();
                let Some(number) = asked.left.next() else { return Ok(()) };
                (*number, asked.shown[told..].to_vec())
            };
            told += new.len();
            for shown in new {
                solver.tell(&format!("(assert (|harness_a {shown}| s{back}))"))?;
            }
            let (answer, seen) = solver.ask(&format!("(not (|harness_a {number}| s{back}))"), |solver| {
                trace(solver, &self.signals, back)
            })?;
            let mut asked = asked();
            match (answer, seen) {
                (Answer::Unsat, _) => asked.shown.push(number),
                (_, Some(trace)) => {
                    asked.open.insert(number, Verdict::NotInductive { cycles: back, trace });
                }
                _ => {
                    asked.open.insert(number, Verdict::Unknown { cycles: back });
                }
            }
        }
    }
}

/// How far the step is.
struct Asked<'a> {
    /// What is still to be asked.
    left: std::slice::Iter<'a, usize>,
    /// What holds, given that all held before.
    shown: Vec<usize>,
    open: BTreeMap<usize, Verdict>,
}

/// Of an assertion without a name, which is what a part of the design assumes: the part.
fn part_that_assumes(name: &str) -> Option<&str> {
    let (before, _) = name.split_once("_properties.")?;
    name.contains("$assert$").then(|| before.trim_start_matches("$flatten").trim_start_matches(['\\', '/']))
}

/// A property's own name, without the instances that it is in.
fn last_name(name: &str) -> &str {
    let name = name.strip_suffix(".holds_here").unwrap_or(name);
    name.rsplit('.').next().unwrap_or(name)
}

/// The ports' values up to and with `last`.
fn trace(solver: &mut Solver, signals: &[String], last: usize) -> Result<Trace, ProveError> {
    let mut rows = Vec::new();
    for name in signals {
        let mut values = Vec::new();
        for cycle in 0..=last {
            values.push(solver.value(&format!("(|harness_n {name}| s{cycle})"))?);
        }
        rows.push((name.clone(), values));
    }
    Ok(Trace { signals: rows })
}

//! Whether a mutant is a fault at all, by the lemmas of its block.
//!
//! Lemmas that are proved hold in every state that the design can reach. So one question about one cycle is enough: is there a state
//! in which all of them hold, with inputs that the block's page allows, from which design and mutant give other outputs, or go on to
//! other states? If there is none, they never part.

use super::bench::Bench;
use super::smt::{Answer, Installed, Model, Solver};
use super::{ProveError, ProveOptions, Tools, harness, model, prove_bench};
use crate::emit::Design;
use crate::mutate::{Mutants, SELECT};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;
use windlass_catalog::BlockSpec;

/// A design with all its mutants, of which is known what it can reach.
#[derive(Debug)]
pub struct Reachable {
    solver: Installed,
    limit: Duration,
    model: Model,
    /// What two copies have in common, and whether they part.
    question: Question,
    select_width: u32,
    /// Mutants of clock pins, which are not in the model.
    clocks: Vec<u32>,
}

impl Reachable {
    /// Proves the block's lemmas for `design`, and prepares its `mutants`; each question about one may take `limit`. `None` where a block has no lemmas, or
    /// they were not shown, or where it is made of other blocks that have theirs, which takes too long.
    pub fn find(
        spec: BlockSpec,
        design: &Design,
        mutants: &Mutants,
        limit: Duration,
    ) -> Result<Option<Self>, ProveError> {
        let bench = Bench::of(spec).complete(design);
        if bench.lemmas.is_none() || bench.induction.is_none() || !bench.parts.is_empty() {
            return Ok(None);
        }
        let tools = Tools::find(None, &bench)?;
        let options = ProveOptions { covers: 0, ..ProveOptions::default() };
        if !prove_bench(&tools, design, &bench, &options)?.is_good() {
            return Ok(None);
        }
        let model = model(design, &bench, &tools.yosys, Some(mutants))?;
        let outputs: Vec<String> = harness::vectors(&design.top().ports)
            .into_iter()
            .filter(|(_, port, _)| port.direction == windlass_rtl::port::Direction::Output)
            .map(|(name, _, _)| name)
            .collect();
        let question = question(&model.text, &outputs).ok_or_else(|| ProveError::Solver {
            what: "the model of the mutants has no choice of a mutant, or lacks an output".into(),
        })?;
        let clocks = mutants.list.iter().filter(|m| m.port == "CLK").map(|m| m.id).collect();
        let select_width = mutants.select_width;
        let found = Self { solver: tools.solver, limit, model, question, select_width, clocks };
        // Where there is no such state at all, every mutant would seem to be none.
        Ok((found.ask(0, "true")? == Answer::Sat).then_some(found))
    }

    /// Whether mutant `id` never differs from the design. False says nothing.
    pub fn never_shows(&self, id: u32) -> Result<bool, ProveError> {
        if self.clocks.contains(&id) {
            return Ok(false);
        }
        Ok(self.ask(id, &self.question.differ)? == Answer::Unsat)
    }

    /// Whether there is a state of the design, and of mutant `id`, in which `what` holds.
    fn ask(&self, id: u32, what: &str) -> Result<Answer, ProveError> {
        let mut solver = Solver::start(&self.solver, self.limit)?;
        solver.tell(&self.model.whole())?;
        solver.tell(&self.question.given)?;
        let width = self.select_width as usize + 1;
        for (state, id) in [("d", 0), ("m", id)] {
            solver.tell(&format!("(assert (= (|harness_n {SELECT}| {state}) #b{id:0width$b}))"))?;
        }
        Ok(solver.ask(what, |_| Ok(()))?.0)
    }
}

/// The question about a mutant.
#[derive(Debug)]
struct Question {
    /// What is taken for granted.
    given: String,
    /// Whether outputs or next states differ.
    differ: String,
}

/// The design in state `d` and the mutant in `m`, which are alike but for the choice, and go on to `dd` and `mm`: do they differ?
fn question(model: &str, outputs: &[String]) -> Option<Question> {
    let named = |line: &str| Some(line.strip_prefix("(|harness#")?.split_once('|')?.0.to_string());
    let select =
        model.lines().find(|line| line.starts_with(&format!("(define-fun |harness_n {SELECT}| ")))?;
    let select = named(&select[select.rfind("(|harness#")?..])?;
    let states =
        model.lines().filter_map(|line| line.strip_prefix("(declare-fun |harness#")?.split_once('|'));
    let states: BTreeSet<&str> =
        states.map(|(number, _)| number).filter(|number| *number != select).collect();
    let next: BTreeSet<String> = model
        .lines()
        .filter(|line| line.contains(" next_state))"))
        .filter_map(|line| named(&line[line.rfind("(|harness#")?..]))
        .collect();
    let has = |name: &str| model.contains(&format!("(define-fun |harness_n {name}| "));
    if next.is_empty() || !outputs.iter().all(|name| has(name)) {
        return None;
    }
    let mut text = String::new();
    for state in ["d", "m", "dd", "mm"] {
        let _ = writeln!(text, "(declare-fun {state} () |harness_s|)\n(assert (|harness_h| {state}))");
    }
    // Environment and lemmas are those of the design.
    text.push_str("(assert (|harness_u| d))\n(assert (|harness_a| d))\n");
    text.push_str("(assert (|harness_t| d dd))\n(assert (|harness_t| m mm))\n");
    for number in states {
        let _ = writeln!(text, "(assert (= (|harness#{number}| d) (|harness#{number}| m)))");
    }
    let mut counts = "true";
    if has("began") && has("properties.reset_seen") {
        // In the first cycle, in which reset is low, outputs do not count; after it a reset was seen.
        counts = "(|harness_n began| d)";
        text.push_str("(assert (= (|harness_n began| d) (|harness_n properties.reset_seen| d)))\n");
    }
    let outputs =
        outputs.iter().map(|name| format!("(distinct (|harness_n {name}| d) (|harness_n {name}| m))"));
    let outputs = format!("(and {counts} (or false {}))", outputs.collect::<Vec<_>>().join(" "));
    let next = next.iter().map(|n| format!("(distinct (|harness#{n}| dd) (|harness#{n}| mm))"));
    let differ = format!("(or {outputs} {})", next.collect::<Vec<_>>().join(" "));
    Some(Question { given: text, differ })
}

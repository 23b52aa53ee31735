//! Whether a mutant is a fault at all, by the lemmas of its block.
//!
//! Lemmas that are proved hold in every state that the design can reach. So an induction over design and mutant, side by side, may
//! take them for granted of the design; what its page asks of its neighbours is an assumption, as in their proof.
//!
//! Of a block that is made of others, a mutant is compared by the lemmas of the part that it is in. They are proved of the part alone; that the block keeps
//! what the part's page asks is taken from the block's own proof, which may be of a smaller size.

use super::bench::Bench;
use super::relation::{Comparer, Setting};
use super::smt::Installed;
use super::{ProveError, ProveOptions, Tools, missing, netlist, prove_bench};
use crate::emit::emit;
use crate::mutate::aiger::Aiger;
use crate::mutate::rules::NEAR;
use crate::mutate::{Mutant, Mutants, SELECT};
use crate::rtl::Rtl;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use windlass_catalog::BlockSpec;
use windlass_rtl::port::RESET;

/// A design with all its mutants, of which is known what it can reach.
pub struct Reachable {
    solver: Installed,
    limit: Duration,
    has_reset: bool,
    /// Of the block itself, or of those of its parts that have mutants.
    known: Vec<Known>,
}

/// What is known of a design by some lemmas.
struct Known {
    netlist: Aiger,
    /// Mutants that are asked about with them; none of a clock pin, which is not in the netlist.
    mutants: Vec<u32>,
    /// Solvers that wait for the next mutant.
    idle: Mutex<Vec<Comparer>>,
}

impl Reachable {
    /// Refuses where a tool is missing that [`Self::find`] needs for this block.
    pub fn check_tools(spec: BlockSpec) -> Result<(), ProveError> {
        let bench = Bench::of(spec).complete(&emit(&*spec.hardware())?);
        if has_lemmas(&bench) { Tools::find(None, &bench).map(drop) } else { Ok(()) }
    }

    /// Proves the lemmas that say something of the mutants `left` of `rtl`, and prepares these; each question about one may take `limit`, and all of them ten times that. `None` where there are no such
    /// lemmas, or they were not shown. Of somebody's own Verilog those of the block are asked, if it has the registers that they name; not those of its parts.
    pub fn find(
        spec: BlockSpec,
        rtl: &Rtl,
        mutants: &Mutants,
        left: &[u32],
        limit: Duration,
    ) -> Result<Option<Self>, ProveError> {
        let emitted = emit(&*spec.hardware())?;
        let bench = Bench::of(spec).complete(&emitted);
        if !has_lemmas(&bench) {
            return Ok(None);
        }
        let tools = Tools::find(None, &bench)?;
        let own = rtl.path.is_some();
        if own && (!bench.parts.is_empty() || !missing(&emitted, rtl, &bench, &tools.yosys)?.is_empty()) {
            return Ok(None);
        }
        let solver = Installed::bitwuzla().unwrap_or_else(|| tools.solver.clone());
        let has_reset = rtl.ports.iter().any(|port| port.name == RESET);
        let mut found = Self { solver, limit, has_reset, known: Vec::new() };
        let left = mutants.list.iter().filter(|mutant| left.contains(&mutant.id) && mutant.port != "CLK");
        if bench.parts.is_empty() {
            let left = left.map(|mutant| mutant.id).collect();
            found.learn(&tools, [rtl, rtl], [&bench, &bench], mutants, left)?;
        } else {
            let places: Vec<&str> = bench.parts.iter().map(|part| part.within).collect();
            let place = |mutant: &Mutant| {
                let around = |place: &&&str| mutant.is_in(place);
                places.iter().filter(around).max_by_key(|place| place.len()).copied()
            };
            let left: Vec<(Option<&str>, u32)> = left.map(|mutant| (place(mutant), mutant.id)).collect();
            for part in bench.parts {
                let of_part = left.iter().filter(|(place, _)| *place == Some(part.within));
                let left: Vec<u32> = of_part.map(|(_, id)| *id).collect();
                if !left.is_empty() && has_lemmas(&part.bench) {
                    let alone = emit(&*part.spec.hardware())?;
                    let bench = Bench::of(part.spec).complete(&alone);
                    let tools = Tools::find(None, &bench)?;
                    let both = [&Rtl::from(&alone), rtl];
                    found.learn(&tools, both, [&bench, &Bench::of_part(part)], mutants, left)?;
                }
            }
        }
        Ok((!found.known.is_empty()).then_some(found))
    }

    /// Proves what is asked of a design, and prepares the `mutants` of the second beside what is asked of that one.
    fn learn(
        &mut self,
        tools: &Tools,
        [alone, rtl]: [&Rtl; 2],
        [proved, bench]: [&Bench; 2],
        mutants: &Mutants,
        left: Vec<u32>,
    ) -> Result<(), ProveError> {
        let options = ProveOptions { covers: 0, ..ProveOptions::default() };
        if !prove_bench(tools, alone, proved, &options)?.is_good() {
            return Ok(());
        }
        let netlist = netlist(rtl, bench, &tools.yosys, mutants)?;
        let known = Known { netlist, mutants: left, idle: Mutex::default() };
        // Where there is no such state at all, every mutant would seem to be none.
        let mut comparer = Comparer::start(&self.setting(&known), &self.solver, options.limit)?;
        if comparer.is_possible()? {
            self.known.push(known);
        }
        Ok(())
    }

    /// Whether mutant `id` never differs from the design; if `near`, before a counter has come far. False says nothing.
    pub fn never_shows(&self, id: u32, near: bool) -> Result<bool, ProveError> {
        let Some(known) = self.known.iter().find(|known| known.mutants.contains(&id)) else {
            return Ok(false);
        };
        let idle = || known.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // What is known of the design is told to a solver once, not for each mutant.
        let waiting = idle().pop();
        let mut comparer = match waiting {
            Some(comparer) => comparer,
            None => Comparer::start(&self.setting(known), &self.solver, self.limit)?,
        };
        let never = comparer.never_parts(&self.setting(known), id, near, self.limit.saturating_mul(10))?;
        idle().push(comparer);
        Ok(never)
    }

    fn setting<'a>(&self, known: &'a Known) -> Setting<'a> {
        Setting {
            netlist: &known.netlist,
            select: SELECT,
            reset: self.has_reset.then_some(RESET),
            // The harness' own, and that of each module of properties.
            begun: |name| name == "began" || name.contains("properties.") && name.ends_with("reset_seen"),
            near: NEAR,
        }
    }
}

fn has_lemmas(bench: &Bench) -> bool {
    bench.lemmas.is_some() && bench.induction.is_some()
}

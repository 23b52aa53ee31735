//! Whether a mutant is a fault at all, by the lemmas of its block.
//!
//! Lemmas that are proved hold in every state that the design can reach. So an induction over design and mutant, side by side, may
//! take them for granted of the design; what its page asks of its neighbours is an assumption, as in their proof.

use super::bench::Bench;
use super::relation::{Comparer, Setting};
use super::smt::Installed;
use super::{ProveError, ProveOptions, Tools, netlist, prove_bench};
use crate::emit::Design;
use crate::mutate::aiger::Aiger;
use crate::mutate::rules::NEAR;
use crate::mutate::{Mutants, SELECT};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use windlass_catalog::BlockSpec;
use windlass_rtl::port::RESET;

/// A design with all its mutants, of which is known what it can reach.
pub struct Reachable {
    solver: Installed,
    limit: Duration,
    netlist: Aiger,
    has_reset: bool,
    /// Mutants of clock pins, which are not in the netlist.
    clocks: Vec<u32>,
    /// Solvers that wait for the next mutant.
    idle: Mutex<Vec<Comparer>>,
}

impl Reachable {
    /// Refuses where a tool is missing that [`Self::find`] needs for this block.
    pub fn check_tools(spec: BlockSpec, design: &Design) -> Result<(), ProveError> {
        let bench = Bench::of(spec).complete(design);
        if Self::has_lemmas(&bench) { Tools::find(None, &bench).map(drop) } else { Ok(()) }
    }

    fn has_lemmas(bench: &Bench) -> bool {
        bench.lemmas.is_some() && bench.induction.is_some() && bench.parts.is_empty()
    }

    /// Proves the block's lemmas for `design`, and prepares its `mutants`; each question about one may take `limit`, and all of them ten times that. `None` where a block has no lemmas, or
    /// they were not shown, or where it is made of other blocks that have theirs, which takes too long.
    pub fn find(
        spec: BlockSpec,
        design: &Design,
        mutants: &Mutants,
        limit: Duration,
    ) -> Result<Option<Self>, ProveError> {
        let bench = Bench::of(spec).complete(design);
        if !Self::has_lemmas(&bench) {
            return Ok(None);
        }
        let tools = Tools::find(None, &bench)?;
        let options = ProveOptions { covers: 0, ..ProveOptions::default() };
        if !prove_bench(&tools, design, &bench, &options)?.is_good() {
            return Ok(None);
        }
        let netlist = netlist(design, &bench, &tools.yosys, mutants)?;
        let clocks = mutants.list.iter().filter(|m| m.port == "CLK").map(|m| m.id).collect();
        let has_reset = design.top().ports.iter().any(|port| port.name == RESET);
        let solver = Installed::bitwuzla().unwrap_or(tools.solver);
        let found = Self { solver, limit, netlist, has_reset, clocks, idle: Mutex::default() };
        // Where there is no such state at all, every mutant would seem to be none.
        let mut comparer = Comparer::start(&found.setting(), &found.solver, options.limit)?;
        Ok(comparer.is_possible()?.then_some(found))
    }

    /// Whether mutant `id` never differs from the design; if `near`, before a counter has come far. False says nothing.
    pub fn never_shows(&self, id: u32, near: bool) -> Result<bool, ProveError> {
        if self.clocks.contains(&id) {
            return Ok(false);
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // What is known of the design is told to a solver once, not for each mutant.
        let waiting = idle().pop();
        let mut comparer = match waiting {
            Some(comparer) => comparer,
            None => Comparer::start(&self.setting(), &self.solver, self.limit)?,
        };
        let never = comparer.never_parts(&self.setting(), id, near, self.limit.saturating_mul(10))?;
        idle().push(comparer);
        Ok(never)
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            netlist: &self.netlist,
            select: SELECT,
            reset: self.has_reset.then_some(RESET),
            // The harness' own, and that of each module of properties.
            begun: |name| name == "began" || name.starts_with("properties.") && name.ends_with("reset_seen"),
            near: NEAR,
        }
    }
}

//! Does a block's bench notice faults? Mutants of its Verilog, each run under the bench; those that pass are given to a prover, for
//! some are no faults at all.
//!
//! A bench is golden model and stimulus in [`Lockstep`]. A stimulus sees the model's outputs only, so that its inputs are the same for every
//! mutant: they are recorded once, beside the Verilog without fault, and mutants are held against the record.

use crate::engine::{self, EngineError};
use crate::lockstep::{Lockstep, LockstepError};
use crate::stimulus::Stimulus;
use crate::verilator::{
    BuildError, BuildSpec, Cache, CacheError, InstanceError, InstanceOptions, Library, Verilated,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_gen::mutate::equivalence::{Counterexample, Given, Prover, Verdict};
use windlass_gen::mutate::rules::{LEGAL, NEAR, Rules};
use windlass_gen::mutate::{Mutant, MutantOptions, Mutants, SELECT, mutants};
use windlass_gen::parallel::parallel;
use windlass_gen::prove::ProveError;
use windlass_gen::prove::alike::Reachable;
use windlass_gen::rtl::{self, Rtl};
use windlass_gen::synth::SynthesisError;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::{Direction, Layout, Port, RESET, Slot};

/// Cycles between two looks at a mutant's outputs: most differ soon.
const STEP: usize = 256;

/// How to look for holes in a bench.
#[derive(Clone, Debug)]
pub struct MutateOptions {
    /// Which mutants.
    pub mutants: MutantOptions,
    /// How long the prover may think about each mutant that is not noticed; `None`: it is not asked.
    pub prove: Option<Duration>,
    /// Mutants at the same time.
    pub jobs: usize,
}

impl Default for MutateOptions {
    fn default() -> Self {
        Self {
            mutants: MutantOptions::default(),
            prove: Some(Duration::from_secs(60)),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// A run of the bench that mutants are held against: its stimulus and length.
pub struct BenchRun {
    /// What it does.
    pub stimulus: Box<dyn Stimulus>,
    /// Its cycles; those of [`Lockstep::finish`] follow.
    pub cycles: u64,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The bench noticed it.
    Caught {
        /// In this run, counted from 0.
        run: usize,
        /// In this cycle of it.
        cycle: u64,
        /// By this output, or by what the simulation said when it stopped.
        by: String,
    },
    /// The bench did not, and nothing can: it is proved to be no fault.
    Equivalent,
    /// The bench did not, though inputs make a difference, legal or not.
    Different {
        /// Such inputs.
        counterexample: Counterexample,
    },
    /// The bench did not, and no inputs that the block's [`Rules`] allow can: it is proved.
    Excluded,
    /// The bench did not, and none can before a counter has come far, by the same rules: it is proved.
    Late,
    /// The bench did not, and no state that the design can reach shows it, with inputs that its page allows: proved by the block's lemmas.
    Unreachable,
    /// The bench did not, and nothing does as long as the input bits that the bench never moves stay ([`MutateReport::held`]).
    Held,
    /// The bench did not, and the prover did not know.
    Unknown,
}

impl Outcome {
    /// Whether it may be a hole in the bench.
    pub fn survived(&self) -> bool {
        matches!(self, Self::Different { .. } | Self::Held | Self::Unknown)
    }
}

/// A mutant and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The mutant.
    #[serde(flatten)]
    pub mutant: Mutant,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What became of all mutants of a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MutateReport {
    /// The block.
    pub block: &'static str,
    /// Its module, whose name says the parameters.
    pub top: String,
    /// The Yosys that made the mutants.
    pub yosys: String,
    /// Seed of mutants and stimulus.
    pub seed: u32,
    /// Cycles of each run of the bench, those included in which it let everything end.
    pub cycles: Vec<u64>,
    /// Input bits that the bench never moves, `port` or `port[bit]`.
    pub held: BTreeMap<String, bool>,
    /// Every mutant.
    pub mutants: Vec<Tried>,
    /// How the prover failed, each way once; of the mutants that it was asked about then, nothing is proved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

impl MutateReport {
    /// How many had an outcome of that kind.
    pub fn count(&self, kind: impl Fn(&Outcome) -> bool) -> usize {
        self.mutants.iter().filter(|tried| kind(&tried.outcome)).count()
    }

    /// How many the bench noticed.
    pub fn caught(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Caught { .. }))
    }

    /// How many are proved to be no faults.
    pub fn equivalent(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Equivalent)
    }

    /// How many are proved to show with inputs only that the block's page forbids.
    pub fn excluded(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Excluded)
    }

    /// How many are proved to show only when a counter has come far.
    pub fn late(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Late)
    }

    /// How many are proved to show in no state that the design can reach.
    pub fn unreachable(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Unreachable)
    }

    /// Those that may be holes in the bench.
    pub fn survivors(&self) -> impl Iterator<Item = &Tried> {
        self.mutants.iter().filter(|tried| tried.outcome.survived())
    }

    /// How many of those that legal inputs may show in time were caught, in percent; 100 where there are none.
    pub fn score(&self) -> f64 {
        let none = self.equivalent() + self.excluded() + self.late() + self.unreachable();
        let faults = self.mutants.len() - none;
        if faults == 0 { 100.0 } else { 100.0 * self.caught() as f64 / faults as f64 }
    }
}

/// Why mutants cannot be tried.
#[derive(Debug, Error)]
pub enum MutateError {
    /// There is no golden model that the Verilog can be compared with.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Yosys or ABC failed.
    #[error(transparent)]
    Synthesis(#[from] SynthesisError),
    /// There is no place for the build cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The block's lemmas could not be proved, or nothing be asked with them.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// The mutants' Verilog could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The library could not be started.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The bench complains of the design without any fault.
    #[error(
        "`{top}` fails under its bench without any fault, so mutants would say nothing\n  see `windlass lockstep`, which runs the same bench\n{source}"
    )]
    Healthy {
        /// The module.
        top: String,
        /// The complaint.
        source: LockstepError,
    },
    /// The bench gives what the block's page forbids.
    #[error(
        "in cycle {cycle} of run {run}, the bench gives `{top}` inputs that its rules forbid\n  either the stimulus is wrong, or the rules in gen/src/mutate/rules\n  the cycle before: {before}\n  the cycle: {inputs}"
    )]
    Illegal {
        /// The module.
        top: String,
        /// The run, counted from 0.
        run: usize,
        /// Its first cycle with such inputs.
        cycle: u64,
        /// The inputs of the one before that are not zero.
        before: String,
        /// And its own.
        inputs: String,
    },
    /// There is no ABC.
    #[error(
        "survivors need `yosys-abc`, and there is none beside {yosys}\n  install pyosys with scripts/setup.sh, or do without proofs with --prove 0"
    )]
    NoProver {
        /// The Yosys that was found.
        yosys: String,
    },
}

/// How far [`mutate`] is, told as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many mutants were made, and are being compiled.
    Made(usize),
    /// The bench of so many cycles was recorded.
    Recorded(u64),
    /// So many mutants were not noticed in the first run, and go to the prover.
    Proving(usize),
}

/// Tries mutants of `rtl`, the Verilog of `block`, under the bench. In its first run all are; what it does not notice goes to the prover, and what is not proved to be
/// no fault is tried again in each further run. What is left then is held against what the block's lemmas say of its states.
pub fn mutate(
    block: BlockSpec,
    rtl: &Rtl,
    runs: Vec<BenchRun>,
    options: &MutateOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<MutateReport, MutateError> {
    engine::comparable(rtl)?;
    let top = &rtl.top;
    let mut rules = Rules::of(block);
    if rtl.path.is_some() {
        rtl::check(rtl, &options.mutants.yosys()?)?;
        rules = rules.map(Rules::of_ports_only);
    }
    // What is missing is said before the long work.
    if options.prove.is_some() {
        Reachable::check_tools(block)?;
    }
    let failures = Failures::default();
    let made = mutants(rtl, rules.as_ref(), &options.mutants)?;
    progress(Progress::Made(made.list.len()));
    let verilog = vec![("mutants.v".into(), made.verilog.clone())];
    let mut build = BuildSpec::new(&made.module, verilog, made.ports.clone());
    // Verilator 5.006's data flow optimiser got some of these netlists wrong.
    build.verilator_args.push("-fno-dfg".into());
    let library = Verilated::build(&build, &Cache::from_env()?)?;
    let instance = InstanceOptions { seed: options.mutants.seed.into(), wave: None };
    let judge = Judge::new(&made, rtl.ports.iter().any(|p| p.name == RESET), options)?;
    // None: not noticed yet, with what the prover said of it.
    let mut outcomes: Vec<Option<Outcome>> = vec![None; made.list.len()];
    let mut answers: BTreeMap<usize, Verdict> = BTreeMap::new();
    let mut cycles = Vec::new();
    let mut held: Option<BTreeMap<String, bool>> = None;
    for (run, bench) in runs.into_iter().enumerate() {
        let record = record(block, top, run, bench, &library, options)?;
        cycles.push(record.cycles() as u64);
        progress(Progress::Recorded(record.cycles() as u64));
        let here = record.held();
        held = Some(match held {
            None => here,
            Some(before) => before.into_iter().filter(|(bit, value)| here.get(bit) == Some(value)).collect(),
        });
        let found = each_left(&outcomes, options.jobs, |i| {
            record.against(run, library.instance(instance.clone())?, made.list[i].id)
        })?;
        found.into_iter().for_each(|(i, found)| outcomes[i] = found);
        if run == 0 {
            progress(Progress::Proving(outcomes.iter().filter(|outcome| outcome.is_none()).count()));
            for (i, (no_fault, answer)) in each_left(&outcomes, options.jobs, |i| {
                Ok(failures.unknown(judge.is_no_fault(&made.list[i]), (None, Verdict::Unknown)))
            })? {
                outcomes[i] = no_fault;
                answers.insert(i, answer);
            }
        }
    }
    if let Some(limit) = options.prove
        && let left = left(&outcomes).map(|i| made.list[i].id).collect::<Vec<_>>()
        && !left.is_empty()
        && let Some(reachable) = failures.unknown(Reachable::find(block, rtl, &made, &left, limit), None)
    {
        let mut questions = vec![(false, Outcome::Unreachable)];
        if made.rules.as_ref().is_some_and(Rules::has_near) {
            questions.push((true, Outcome::Late));
        }
        for (near, outcome) in questions {
            let ask = |i: usize| Ok(failures.unknown(reachable.never_shows(made.list[i].id, near), false));
            for (i, never) in each_left(&outcomes, options.jobs, ask)? {
                outcomes[i] = never.then(|| outcome.clone());
            }
        }
    }
    let held = held.unwrap_or_default();
    let last = each_left(&outcomes, options.jobs, |i| {
        let answer = answers.get(&i).cloned().unwrap_or(Verdict::Unknown);
        Ok(failures.unknown(judge.why_not_noticed(&made.list[i], answer, &held), Outcome::Unknown))
    })?;
    last.into_iter().for_each(|(i, outcome)| outcomes[i] = Some(outcome));
    let outcomes = outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Unknown));
    let tried = made.list.iter().cloned().zip(outcomes).map(|(mutant, outcome)| Tried { mutant, outcome });
    Ok(MutateReport {
        block: block.name(),
        top: top.clone(),
        yosys: made.yosys.version.clone(),
        seed: options.mutants.seed,
        cycles,
        held,
        mutants: tried.collect(),
        failures: failures.told(),
    })
}

/// What went wrong with proofs, which loses the proof and not what the bench has found.
#[derive(Default)]
struct Failures(Mutex<BTreeSet<String>>);

impl Failures {
    /// The result, or after an error, which is kept, `unknown`.
    fn unknown<T, E: std::fmt::Display>(&self, result: Result<T, E>, unknown: T) -> T {
        result.unwrap_or_else(|error| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(error.to_string());
            unknown
        })
    }

    fn told(self) -> Vec<String> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
    }
}

/// Mutants, by their place in the list, that nothing is known of yet.
fn left(outcomes: &[Option<Outcome>]) -> impl Iterator<Item = usize> {
    (0..outcomes.len()).filter(|i| outcomes[*i].is_none())
}

/// Asks something of each mutant, by its place in the list, that nothing is known of yet.
fn each_left<T: Send>(
    outcomes: &[Option<Outcome>],
    jobs: usize,
    ask: impl Fn(usize) -> Result<T, MutateError> + Sync,
) -> Result<Vec<(usize, T)>, MutateError> {
    let left: Vec<usize> = left(outcomes).collect();
    let answers = parallel(&left, jobs, |i| Ok((*i, ask(*i)?)));
    answers.into_iter().collect()
}

/// Says of mutants that are not noticed whether they are faults.
struct Judge<'a> {
    made: &'a Mutants,
    reset: Option<&'static str>,
    /// None where nothing is to be proved.
    prover: Option<Prover>,
}

impl<'a> Judge<'a> {
    fn new(made: &'a Mutants, has_reset: bool, options: &MutateOptions) -> Result<Self, MutateError> {
        let prover = match options.prove {
            None => None,
            Some(limit) => {
                let found = Prover::find(&made.yosys, options.mutants.cache.as_deref(), limit)?;
                let yosys = || made.yosys.program.display().to_string();
                Some(found.ok_or_else(|| MutateError::NoProver { yosys: yosys() })?)
            }
        };
        Ok(Self { made, reset: has_reset.then_some(RESET), prover })
    }

    fn compare(
        &self,
        mutant: &Mutant,
        held: &BTreeMap<String, bool>,
        given: Given,
    ) -> Result<Verdict, MutateError> {
        match &self.prover {
            None => Ok(Verdict::Unknown),
            Some(prover) => Ok(prover.compare(self.made, mutant.id, self.reset, held, given)?),
        }
    }

    /// [`Outcome::Equivalent`] or [`Outcome::Excluded`] where it is proved; else what the prover said under the rules.
    fn is_no_fault(&self, mutant: &Mutant) -> Result<(Option<Outcome>, Verdict), MutateError> {
        let free = BTreeMap::new();
        let mut verdict = self.compare(mutant, &free, Given::Nothing)?;
        if verdict == Verdict::Equivalent {
            return Ok((Some(Outcome::Equivalent), verdict));
        }
        if self.made.rules.is_some() {
            verdict = self.compare(mutant, &free, Given::Rules)?;
            if verdict == Verdict::Equivalent {
                return Ok((Some(Outcome::Excluded), verdict));
            }
        }
        Ok((None, verdict))
    }

    /// Why no run noticed it, where `answer` is what the prover said of it and `held` the input bits that no run moves.
    fn why_not_noticed(
        &self,
        mutant: &Mutant,
        answer: Verdict,
        held: &BTreeMap<String, bool>,
    ) -> Result<Outcome, MutateError> {
        let rules = self.made.rules.as_ref();
        if rules.is_some_and(|rules| rules.has_near())
            && self.compare(mutant, &BTreeMap::new(), Given::Near)? == Verdict::Equivalent
        {
            return Ok(Outcome::Late);
        }
        let given = if rules.is_some() { Given::Rules } else { Given::Nothing };
        let nearer = match held.is_empty() {
            true => Verdict::Unknown,
            false => self.compare(mutant, held, given)?,
        };
        Ok(match (nearer, answer) {
            (Verdict::Equivalent, _) => Outcome::Held,
            // Inputs that the bench could give say more.
            (Verdict::Different(counterexample), _) | (_, Verdict::Different(counterexample)) => {
                Outcome::Different { counterexample }
            }
            _ => Outcome::Unknown,
        })
    }
}

/// What the bench did and saw, cycle by cycle.
#[derive(Default)]
struct Record {
    /// Inputs as the library takes them: the choice of the mutant is the last word of each cycle.
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    /// Whether each cycle's inputs are legal.
    legal: Vec<bool>,
    /// Words of a cycle; the last two of the outputs, [`LEGAL`] and [`NEAR`], are not kept.
    words: (usize, usize),
    /// The first cycle whose outputs count.
    from: usize,
    /// The inputs, but for the choice of the mutant.
    given: Vec<(String, Slot)>,
    /// Where each output is.
    layout: Vec<(String, Range<usize>)>,
}

/// Runs the bench beside the Verilog without fault, which must pass.
fn record(
    block: BlockSpec,
    top: &str,
    run: usize,
    mut bench: BenchRun,
    library: &Library,
    options: &MutateOptions,
) -> Result<Record, MutateError> {
    let seed = options.mutants.seed.into();
    let verilated = library.instance(InstanceOptions { seed, wave: None })?;
    let record = Arc::new(Mutex::new(Record::default()));
    let healthy = Recorder { verilated, ports: block.ports(), record: record.clone() };
    let failed = |source| MutateError::Healthy { top: top.into(), source };
    let members: Vec<(String, Box<dyn CycleModel>)> =
        vec![("model".into(), block.model()), ("verilog".into(), Box::new(healthy))];
    let mut lockstep = Lockstep::new(members).map_err(failed)?;
    lockstep.run(&mut *bench.stimulus, bench.cycles).map_err(failed)?;
    lockstep.finish(&mut *bench.stimulus).map_err(failed)?;
    drop(lockstep);
    let mut record = std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner));
    record.words = (library.input_words(), library.output_words() - 2);
    let inputs = Layout::new(library.ports(), Direction::Input);
    record.given = inputs
        .iter()
        .filter(|(name, _)| *name != SELECT)
        .map(|(name, slot)| (name.to_string(), slot))
        .collect();
    let reset = inputs.slot(RESET);
    let in_reset = |cycle: &[u32]| reset.is_none_or(|slot| slot.get(cycle) == 0);
    // As in lockstep: from the first clock edge in reset on.
    let first = record.inputs.chunks_exact(record.words.0).position(in_reset);
    record.from = first.map_or(usize::MAX, |first| first + usize::from(reset.is_some()));
    if let Some(cycle) = record.legal.iter().skip(record.from).position(|legal| !legal) {
        let cycle = record.from + cycle;
        let (before, inputs) = (record.shown(cycle.saturating_sub(1)), record.shown(cycle));
        return Err(MutateError::Illegal { top: top.into(), run, cycle: cycle as u64, before, inputs });
    }
    let outputs = Layout::new(library.ports(), Direction::Output);
    let outputs = outputs.iter().filter(|(name, _)| ![LEGAL, NEAR].contains(name));
    record.layout =
        outputs.map(|(name, slot)| (name.to_string(), slot.word..slot.word + slot.words())).collect();
    Ok(record)
}

/// The Verilog without fault, with the block's own ports; keeps what goes in and comes out.
struct Recorder {
    verilated: Verilated,
    ports: Vec<Port>,
    record: Arc<Mutex<Record>>,
}

impl CycleModel for Recorder {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let from = record.inputs.len();
        record.inputs.extend_from_slice(inputs);
        record.inputs.push(0);
        let mut all = vec![0; outputs.len() + 2];
        let ran = self.verilated.cycle(&record.inputs[from..], &mut all);
        outputs.copy_from_slice(&all[..outputs.len()]);
        record.legal.push(all[outputs.len()] == 1);
        record.outputs.extend_from_slice(outputs);
        ran
    }
}

impl Record {
    fn cycles(&self) -> usize {
        self.inputs.len() / self.words.0
    }

    /// The inputs of a cycle that are not zero.
    fn shown(&self, cycle: usize) -> String {
        let words = &self.inputs[cycle * self.words.0..][..self.words.0];
        let given = self.given.iter().filter(|(_, slot)| slot.slice(words).iter().any(|word| *word != 0));
        given.map(|(name, slot)| format!("{name}={}", slot.hex(words))).collect::<Vec<_>>().join(" ")
    }

    /// Input bits that are the same in every cycle.
    fn held(&self) -> BTreeMap<String, bool> {
        let width = self.words.0;
        let (mut ever, mut always) = (vec![0; width], vec![u32::MAX; width]);
        for cycle in self.inputs.chunks_exact(width) {
            for (i, word) in cycle.iter().enumerate() {
                ever[i] |= word;
                always[i] &= word;
            }
        }
        let mut held = BTreeMap::new();
        for (name, slot) in &self.given {
            for bit in 0..slot.width {
                let at = |words: &[u32]| words[slot.word + bit as usize / 32] >> (bit % 32) & 1 == 1;
                if at(&ever) == at(&always) {
                    let name = if slot.width == 1 { name.clone() } else { format!("{name}[{bit}]") };
                    held.insert(name, at(&ever));
                }
            }
        }
        held
    }

    /// Runs mutant `id` with the recorded inputs of run `run` up to the first difference.
    fn against(&self, run: usize, mut verilated: Verilated, id: u32) -> Result<Option<Outcome>, MutateError> {
        let (width, out_width) = self.words;
        // The mutant's own word on its inputs says nothing.
        let got_width = out_width + 2;
        let steps = self.inputs.chunks(STEP * width).zip(self.outputs.chunks(STEP * out_width));
        let mut got = vec![0; STEP * got_width];
        for (step, (inputs, expected)) in steps.enumerate() {
            let mut inputs = inputs.to_vec();
            inputs.chunks_exact_mut(width).for_each(|cycle| cycle[width - 1] = id);
            let cycles = inputs.len() / width;
            let got = &mut got[..cycles * got_width];
            let stopped = verilated.run_batch(cycles, &inputs, got).err();
            let ran = stopped.as_ref().map_or(cycles, |error| error.cycle as usize - step * STEP);
            for cycle in 0..ran {
                let got = &got[cycle * got_width..][..out_width];
                let expected = &expected[cycle * out_width..][..out_width];
                let at = step * STEP + cycle;
                if at >= self.from && got != expected {
                    let differs = |range: &Range<usize>| got[range.clone()] != expected[range.clone()];
                    let port = self.layout.iter().find(|(_, range)| differs(range));
                    let by = port.map(|(name, _)| name.clone()).unwrap_or_default();
                    return Ok(Some(Outcome::Caught { run, cycle: at as u64, by }));
                }
            }
            if let Some(CycleError { cycle, message }) = stopped {
                return Ok(Some(Outcome::Caught { run, cycle, by: message }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prover_that_fails_costs_its_answer_and_is_told_once() {
        let failures = Failures::default();
        assert_eq!(failures.unknown(Ok::<_, &str>(1), 0), 1);
        assert_eq!(failures.unknown(Err("no ABC"), 0), 0);
        assert!(!failures.unknown(Err("no ABC"), false));
        assert_eq!(failures.told(), ["no ABC"]);
    }
}

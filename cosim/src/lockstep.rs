//! Several models of one block, with the same inputs, compared at every output in every cycle.
//!
//! The first difference stops the run and says all that is needed to look into it: cycle, port, every model's value, the
//! seed, the last transactions, and the command that runs it again with a waveform.

use crate::stimulus::Stimulus;
use std::collections::VecDeque;
use std::fmt;
use thiserror::Error;
use windlass_rtl::model::{CycleError, CycleModel, check_words};
use windlass_rtl::port::{CLOCK, Direction, Layout, Port, RESET};

/// Cycles of history in a [`Failure`].
const HISTORY: usize = 16;

/// Most cycles that [`Lockstep::finish`] waits for the end of what was begun.
const FINISH: u64 = 200_000;

/// Models of one block, run side by side. The first is the reference: its outputs are what the stimulus sees.
pub struct Lockstep {
    members: Vec<Member>,
    inputs: Layout,
    outputs: Layout,
    replay: Option<String>,
    cycle: u64,
    compared: u64,
    reset_seen: bool,
    input_words: Vec<u32>,
    history: VecDeque<(u64, Vec<u32>, Vec<u32>)>,
}

struct Member {
    name: String,
    model: Box<dyn CycleModel>,
    outputs: Vec<u32>,
}

/// What a lockstep run that ended well compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Cycles of all runs of this [`Lockstep`].
    pub cycles: u64,
    /// Cycles in which the outputs were compared, if there were several models: all but those before the first clock edge in reset.
    pub compared: u64,
}

/// Why a lockstep run ended early: models that differ, or one that stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockstepError {
    /// There must be two models to compare.
    #[error("lockstep needs at least two models, but got {got}")]
    TooFew {
        /// How many there were.
        got: usize,
    },
    /// The models are not of the same block.
    #[error("`{first}` and `{second}` do not have the same ports:\n  {}", problems.join("\n  "))]
    Ports {
        /// The reference.
        first: String,
        /// The other.
        second: String,
        /// Every difference.
        problems: Vec<String>,
    },
    /// The outputs differ.
    #[error(transparent)]
    Difference(Box<Difference>),
    /// A model could not go on.
    #[error(transparent)]
    Stopped(Box<Stopped>),
    /// The models agree, and what came out is wrong all the same.
    #[error(transparent)]
    Unbalanced(Box<Unbalanced>),
    /// Nothing was run, or the block has a reset that was never applied, so that nothing was compared.
    #[error(
        "nothing was compared in {cycles} cycles: there were none, or the stimulus never held `rst_ni` low"
    )]
    NothingCompared {
        /// Cycles run.
        cycles: u64,
    },
}

/// A cycle in which the models' outputs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The cycle, counted from 0.
    pub cycle: u64,
    /// The first output that differs, in the order of declaration.
    pub port: String,
    /// Its value in each model: name and hexadecimal.
    pub values: Vec<(String, String)>,
    /// Further outputs that differ in the same cycle.
    pub also: Vec<String>,
    /// What led there.
    pub failure: Failure,
}

/// A cycle in which a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The model's name.
    pub model: String,
    /// Its cycle and message.
    pub error: CycleError,
    /// What led there.
    pub failure: Failure,
}

/// A cycle in which the stimulus' books do not balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbalanced {
    /// The last cycle that ran.
    pub cycle: u64,
    /// What was lost, done twice or never asked for.
    pub fault: String,
    /// What led there.
    pub failure: Failure,
}

/// What is the same for all failures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The stimulus' seed.
    pub seed: Option<u64>,
    /// The last cycles, oldest first, this one included; the outputs are the reference's.
    pub last: Vec<Transactions>,
    /// The command that runs it again with a waveform around the cycle.
    pub replay: Option<String>,
}

/// The ports that were not zero in a cycle: name and hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transactions {
    /// The cycle.
    pub cycle: u64,
    /// Inputs.
    pub inputs: Vec<(String, String)>,
    /// Outputs.
    pub outputs: Vec<(String, String)>,
}

impl Lockstep {
    /// Puts models side by side, each with a name for messages. They must have the same ports.
    pub fn new(members: Vec<(String, Box<dyn CycleModel>)>) -> Result<Self, LockstepError> {
        let got = members.len();
        let Some((first, reference)) = members.first().filter(|_| got > 1) else {
            return Err(LockstepError::TooFew { got });
        };
        let ports = reference.ports();
        for (second, model) in &members[1..] {
            let problems = port_differences(&ports, &model.ports());
            if !problems.is_empty() {
                return Err(LockstepError::Ports { first: first.clone(), second: second.clone(), problems });
            }
        }
        Ok(Self::of(&ports, members))
    }

    /// One model, with which nothing is compared: it is wrong where the stimulus' books do not balance, or where it stops.
    pub fn alone(name: impl Into<String>, model: Box<dyn CycleModel>) -> Self {
        Self::of(&model.ports(), vec![(name.into(), model)])
    }

    fn of(ports: &[Port], members: Vec<(String, Box<dyn CycleModel>)>) -> Self {
        let inputs = Layout::new(ports, Direction::Input);
        let outputs = Layout::new(ports, Direction::Output);
        let members = members
            .into_iter()
            .map(|(name, model)| Member { name, model, outputs: vec![0; outputs.words()] })
            .collect();
        Self {
            members,
            input_words: vec![0; inputs.words()],
            reset_seen: inputs.slot(RESET).is_none(),
            inputs,
            outputs,
            replay: None,
            cycle: 0,
            compared: 0,
            history: VecDeque::with_capacity(HISTORY),
        }
    }

    /// The command to print with a failure. `{seed}`, `{from}`, `{to}` and `{cycles}` in it are replaced: the seed, a window
    /// of cycles around the failure, and the number of cycles up to it.
    pub fn replay(mut self, command: impl Into<String>) -> Self {
        self.replay = Some(command.into());
        self
    }

    /// Runs `cycles` more cycles, up to the first difference.
    pub fn run(&mut self, stimulus: &mut dyn Stimulus, cycles: u64) -> Result<Summary, LockstepError> {
        for _ in 0..cycles {
            self.next(stimulus)?;
            self.advance(stimulus.seed())?;
        }
        if self.compared == 0 && self.cycle > 0 {
            return Err(LockstepError::NothingCompared { cycles: self.cycle });
        }
        Ok(Summary { cycles: self.cycle, compared: self.compared })
    }

    /// Lets everything end that `stimulus` has begun, and looks whether all is back that was lent: by the stimulus' books, at the ports,
    /// and in those models that know it.
    pub fn finish(&mut self, stimulus: &mut dyn Stimulus) -> Result<Summary, LockstepError> {
        stimulus.finish();
        for _ in 0..FINISH {
            self.next(stimulus)?;
            if stimulus.is_finished() {
                let restless = self.members.iter().find(|m| m.model.is_at_rest() == Some(false));
                return match restless {
                    Some(member) => {
                        let fault = format!("`{}` is not at rest where all has ended", member.name);
                        Err(self.unbalanced(stimulus.seed(), &fault))
                    }
                    None if self.compared == 0 => Err(LockstepError::NothingCompared { cycles: self.cycle }),
                    None => Ok(Summary { cycles: self.cycle, compared: self.compared }),
                };
            }
            self.advance(stimulus.seed())?;
        }
        let fault = format!("what was begun has not ended {FINISH} cycles after the last new work");
        Err(self.unbalanced(stimulus.seed(), &fault))
    }

    /// The inputs of the next cycle, and what the stimulus says to the outputs of the last one.
    fn next(&mut self, stimulus: &mut dyn Stimulus) -> Result<(), LockstepError> {
        stimulus.next(self.cycle, &self.members[0].outputs, &mut self.input_words);
        match stimulus.fault() {
            Some(fault) => Err(self.unbalanced(stimulus.seed(), fault)),
            None => Ok(()),
        }
    }

    fn unbalanced(&self, seed: Option<u64>, fault: &str) -> LockstepError {
        let cycle = self.cycle.saturating_sub(1);
        LockstepError::Unbalanced(Box::new(Unbalanced {
            cycle,
            fault: fault.to_string(),
            failure: self.failure(seed),
        }))
    }

    /// One cycle of every member with the inputs that are set.
    fn advance(&mut self, seed: Option<u64>) -> Result<(), LockstepError> {
        let mut stopped = None;
        for (i, member) in self.members.iter_mut().enumerate() {
            if let Err(error) = member.model.cycle(&self.input_words, &mut member.outputs) {
                stopped = Some((i, error));
                break;
            }
        }
        self.remember(self.cycle);
        if let Some((i, error)) = stopped {
            let model = self.members[i].name.clone();
            let failure = self.failure(seed);
            return Err(LockstepError::Stopped(Box::new(Stopped { model, error, failure })));
        }
        if self.reset_seen {
            let (first, others) = self.members.split_at(1);
            if others.iter().any(|m| m.outputs != first[0].outputs) {
                return Err(LockstepError::Difference(Box::new(self.difference(seed))));
            }
            self.compared += 1;
        }
        self.reset_seen |= self.inputs.slot(RESET).is_some_and(|slot| slot.get(&self.input_words) == 0);
        self.cycle += 1;
        Ok(())
    }

    fn remember(&mut self, cycle: u64) {
        let (_, mut inputs, mut outputs) = if self.history.len() == HISTORY {
            self.history.pop_front().unwrap_or_default()
        } else {
            Default::default()
        };
        inputs.clone_from(&self.input_words);
        outputs.clone_from(&self.members[0].outputs);
        self.history.push_back((cycle, inputs, outputs));
    }

    fn difference(&self, seed: Option<u64>) -> Difference {
        let reference = &self.members[0].outputs;
        let mut differing = self
            .outputs
            .iter()
            .filter(|(_, slot)| self.members.iter().any(|m| slot.slice(&m.outputs) != slot.slice(reference)));
        // Words that belong to no port do not exist, so there is a first one.
        let (port, values) = differing.next().map_or_else(Default::default, |(name, slot)| {
            let values = self.members.iter().map(|m| (m.name.clone(), slot.hex(&m.outputs))).collect();
            (name.to_string(), values)
        });
        let also = differing.map(|(name, _)| name.to_string()).collect();
        Difference { cycle: self.cycle, port, values, also, failure: self.failure(seed) }
    }

    fn failure(&self, seed: Option<u64>) -> Failure {
        let non_zero = |layout: &Layout, words: &[u32]| {
            layout
                .iter()
                .filter(|(_, slot)| slot.slice(words).iter().any(|w| *w != 0))
                .map(|(name, slot)| (name.to_string(), slot.hex(words)))
                .collect()
        };
        let last = self
            .history
            .iter()
            .map(|(cycle, inputs, outputs)| Transactions {
                cycle: *cycle,
                inputs: non_zero(&self.inputs, inputs),
                outputs: non_zero(&self.outputs, outputs),
            })
            .collect();
        let replay = self.replay.as_ref().map(|command| {
            let seed = seed.map_or_else(|| "0".to_string(), |s| s.to_string());
            command
                .replace("{seed}", &seed)
                .replace("{from}", &self.cycle.saturating_sub(64).to_string())
                .replace("{to}", &self.cycle.saturating_add(8).to_string())
                .replace("{cycles}", &self.cycle.saturating_add(1).to_string())
        });
        Failure { seed, last, replay }
    }
}

/// Several models that stand for one: a difference between them is the error. The outputs are those of the first.
impl CycleModel for Lockstep {
    fn ports(&self) -> Vec<Port> {
        self.members[0].model.ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let (words, cycle) = ([self.input_words.len(), self.members[0].outputs.len()], self.cycle);
        check_words(cycle, words, [inputs.len(), outputs.len()])?;
        self.input_words.copy_from_slice(inputs);
        self.advance(None).map_err(|error| match error {
            // The cycle is said beside it.
            LockstepError::Difference(difference) => CycleError { cycle, message: difference.what() },
            error => CycleError { cycle, message: error.to_string() },
        })?;
        outputs.copy_from_slice(&self.members[0].outputs);
        Ok(())
    }
}

impl fmt::Debug for Lockstep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
        f.debug_struct("Lockstep")
            .field("members", &names)
            .field("cycle", &self.cycle)
            .finish_non_exhaustive()
    }
}

/// Name, direction and width must agree, and the order, for it is the order of the words. The clock may be missing.
fn port_differences(first: &[Port], second: &[Port]) -> Vec<String> {
    let key = |p: &Port| (p.name.clone(), p.direction, p.width);
    let listed = |ports: &[Port]| ports.iter().filter(|p| p.name != CLOCK).map(key).collect::<Vec<_>>();
    let (first, second) = (listed(first), listed(second));
    let mut problems = Vec::new();
    let show = |(name, direction, width): &(String, Direction, u32)| {
        format!("`{name}` ({direction:?}, {width} bits)")
    };
    for (these, those, who) in [(&first, &second, "first"), (&second, &first, "second")] {
        for port in these {
            if !those.contains(port) {
                problems.push(format!("{} is in the {who} only", show(port)));
            }
        }
    }
    let in_direction = |ports: &[(String, Direction, u32)], wanted| {
        ports.iter().filter(|p| p.1 == wanted).map(|p| p.0.clone()).collect::<Vec<_>>()
    };
    if problems.is_empty() {
        for direction in [Direction::Input, Direction::Output] {
            if in_direction(&first, direction) != in_direction(&second, direction) {
                problems.push(format!("the {direction:?} ports are in another order"));
            }
        }
    }
    problems
}

impl Difference {
    /// All but the cycle.
    fn what(&self) -> String {
        let mut text = format!("`{}` differs\n", self.port);
        let longest = self.values.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.values {
            text += &format!("  {name:<longest$}  {value}\n");
        }
        if !self.also.is_empty() {
            text += &format!("also different: {}\n", self.also.join(", "));
        }
        text + &self.failure.to_string()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}: {}", self.cycle, self.what())
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` stopped: {}", self.model, self.error)?;
        self.failure.fmt(f)
    }
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cycle {}: {}", self.cycle, self.fault)?;
        self.failure.fmt(f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seed) = self.seed {
            writeln!(f, "seed: {seed}")?;
        }
        write!(f, "last cycles (ports that are not zero):")?;
        for step in &self.last {
            let list = |ports: &[(String, String)]| {
                let shown: Vec<String> =
                    ports.iter().map(|(name, value)| format!("{name}={value}")).collect();
                if shown.is_empty() { "-".to_string() } else { shown.join(" ") }
            };
            write!(
                f,
                "\n  {:>8}  in  {}\n            out {}",
                step.cycle,
                list(&step.inputs),
                list(&step.outputs)
            )?;
        }
        if let Some(replay) = &self.replay {
            write!(f, "\nreplay: {replay}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Difference {}
impl std::error::Error for Stopped {}
impl std::error::Error for Unbalanced {}

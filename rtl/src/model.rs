//! The one interface of everything that can stand for a block: golden model, rust-hdl simulation, Verilated Verilog.

use crate::port::{Direction, Layout, Port};
use thiserror::Error;

/// A simulation that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cycle {cycle}: {message}")]
pub struct CycleError {
    /// Cycle in which it happened, counted from 0 by the simulation that failed.
    pub cycle: u64,
    /// What happened: a combinational loop that does not settle, a failed assertion, a `$stop`.
    pub message: String,
}

/// Something that behaves like a block, cycle by cycle.
///
/// A cycle is: the inputs are applied, the outputs settle and are read, then the clock rises. `cycle` does all three.
pub trait CycleModel: Send {
    /// The block's ports in the order of its declaration.
    fn ports(&self) -> Vec<Port>;

    /// One clock cycle over the flat words of [`crate::port::Layout`], as many as its `words` says; `outputs` is overwritten.
    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError>;

    /// Whether nothing is under way and all that can be lent is back. `None` where only the ports can tell.
    fn is_at_rest(&self) -> Option<bool> {
        None
    }
}

/// A model that is not run with more or fewer words than its ports have.
pub struct Checked<M> {
    model: M,
    words: [usize; 2],
    cycle: u64,
}

impl<M: CycleModel> Checked<M> {
    /// Around `model`.
    pub fn new(model: M) -> Self {
        let ports = model.ports();
        let words = [Direction::Input, Direction::Output].map(|d| Layout::new(&ports, d).words());
        Self { model, words, cycle: 0 }
    }
}

impl<M: CycleModel> CycleModel for Checked<M> {
    fn ports(&self) -> Vec<Port> {
        self.model.ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        check_words(self.cycle, self.words, [inputs.len(), outputs.len()])?;
        self.cycle += 1;
        self.model.cycle(inputs, outputs)
    }

    fn is_at_rest(&self) -> Option<bool> {
        self.model.is_at_rest()
    }
}

/// That there are as many words of inputs and of outputs as a block takes.
///
/// # Errors
/// What is wrong with them, in that cycle.
pub fn check_words(
    cycle: u64,
    [ins, outs]: [usize; 2],
    [given_ins, given_outs]: [usize; 2],
) -> Result<(), CycleError> {
    if [ins, outs] == [given_ins, given_outs] {
        return Ok(());
    }
    let message = format!(
        "{given_ins} words of inputs and {given_outs} of outputs; the block has {ins} and {outs}: make them as long as its `Layout`s"
    );
    Err(CycleError { cycle, message })
}

/// The bits that are set, lowest first: models keep sets of slots and lanes as masks, so that a cycle allocates nothing.
pub fn ones(mask: impl Into<u128>) -> impl Iterator<Item = usize> {
    let mut rest = mask.into();
    std::iter::from_fn(move || {
        let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(bit)
    })
}

/// The mask of `bit`, or of none.
pub(crate) fn one_hot(bit: Option<usize>) -> u128 {
    bit.map_or(0, |bit| 1 << bit)
}

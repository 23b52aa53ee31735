//! Which memory each tensor is in, and when it lives.
//!
//! A storage's id stands for an address, so one id is several memories one after another. A new one begins where an operator returns a storage
//! that it was not given and that nothing it called returned; where the first that is heard of a storage is that an operator reads it, it
//! was there before the recording: a weight or an input.

use super::et::{ExecutionTrace, Tensor, tensors};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// One memory from its allocation to its end.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Bytes up to the end of the furthest tensor in it.
    pub(super) bytes: u64,
    /// When it was allocated; nothing where it was there before.
    pub(super) born: Option<usize>,
    /// The last moment at which anything names it.
    pub(super) last: usize,
    /// Whether the program has it at the end: no operator took it after a whole operator of the program had returned it.
    pub(super) result: bool,
}

/// A node's tensors: for each the argument that it belongs to, the tensor and the memory, which is nothing where it has no bytes.
pub(super) type Placed<'a> = Vec<(usize, &'a Tensor, Option<usize>)>;

pub(super) struct Memories<'a> {
    pub(super) all: Vec<Memory>,
    pub(super) inputs: Vec<Placed<'a>>,
    pub(super) outputs: Vec<Placed<'a>>,
    /// The moment at which a node ends.
    pub(super) ends: Vec<usize>,
}

/// Nodes in the order in which they end: after the last node that they call began, callers after what they call.
fn moments(trace: &ExecutionTrace) -> Vec<(usize, bool)> {
    let nodes = &trace.nodes;
    let mut last: Vec<usize> = (0..nodes.len()).collect();
    for at in (0..nodes.len()).rev() {
        if let Some(parent) = nodes[at].parent {
            last[parent] = last[parent].max(last[at]);
        }
    }
    let mut ends: Vec<usize> = (0..nodes.len()).collect();
    ends.sort_by_key(|at| (last[*at], Reverse(*at)));
    let mut ends = ends.into_iter().peekable();
    let mut moments = Vec::with_capacity(2 * nodes.len());
    for begins in 0..nodes.len() {
        moments.push((begins, false));
        while let Some(ending) = ends.next_if(|at| last[*at] == begins) {
            moments.push((ending, true));
        }
    }
    moments
}

impl<'a> Memories<'a> {
    pub(super) fn of(trace: &'a ExecutionTrace) -> Self {
        let nodes = &trace.nodes;
        let mut memories = Self {
            all: Vec::new(),
            inputs: nodes.iter().map(|_| Vec::new()).collect(),
            outputs: nodes.iter().map(|_| Vec::new()).collect(),
            ends: vec![0; nodes.len()],
        };
        let mut begins = vec![0; nodes.len()];
        let mut current: HashMap<u64, usize> = HashMap::new();
        for (moment, (at, ending)) in moments(trace).into_iter().enumerate() {
            let node = &nodes[at];
            if !ending {
                begins[at] = moment;
                for (argument, tensor) in tensors(&node.inputs) {
                    let place = memories.place(&mut current, tensor, moment, |_| None);
                    memories.inputs[at].push((argument, tensor, place));
                }
                continue;
            }
            memories.ends[at] = moment;
            let operator = node.schema.is_some();
            let whole = operator && node.parent.is_none_or(|parent| nodes[parent].schema.is_none());
            let inputs: HashSet<u64> =
                memories.inputs[at].iter().map(|(_, input, _)| input.storage).collect();
            for (argument, tensor) in tensors(&node.outputs) {
                let given = inputs.contains(&tensor.storage);
                let fresh = |born: Option<usize>| {
                    let within = born.is_some_and(|born| born > begins[at]);
                    (operator && !given && !within).then_some(moment)
                };
                let place = memories.place(&mut current, tensor, moment, fresh);
                if let Some(place) = place {
                    memories.all[place].result = whole;
                }
                memories.outputs[at].push((argument, tensor, place));
            }
        }
        memories
    }

    /// The memory of a tensor at a moment. `fresh` says of the one that is there whether, and when, another one takes its place.
    fn place(
        &mut self,
        current: &mut HashMap<u64, usize>,
        tensor: &Tensor,
        moment: usize,
        fresh: impl Fn(Option<usize>) -> Option<usize>,
    ) -> Option<usize> {
        // Empty tensors share the storage at address 0.
        if tensor.extent == 0 {
            return None;
        }
        let known = current.get(&tensor.storage).copied();
        let born = fresh(known.and_then(|known| self.all[known].born));
        let place = match (known, born) {
            (Some(known), None) => known,
            (_, born) => {
                self.all.push(Memory { bytes: 0, born, last: moment, result: false });
                current.insert(tensor.storage, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        let memory = &mut self.all[place];
        // Both are below 2^53.
        memory.bytes = memory.bytes.max(tensor.first + tensor.extent);
        memory.last = moment;
        memory.result = false;
        Some(place)
    }
}

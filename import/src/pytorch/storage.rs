//! Which memory each tensor is in, and when it lives.
//!
//! A storage's id stands for an address, so one id is several memories one after another. A new one begins where an operator returns a storage
//! that it was not given and that nothing it called returned, or passes such a one on; where the first that is heard of a storage is that the
//! program gives it to an operator, it was there before the recording: a weight or an input.

use super::et::{ExecutionTrace, Tensor, tensors};
use crate::launch::Memory;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A node's tensors: for each the argument that it belongs to, the tensor and the memory, which is nothing where it has no bytes.
pub(super) type Placed<'a> = Vec<(usize, &'a Tensor, Option<usize>)>;

pub(super) struct Memories<'a> {
    pub(super) all: Vec<Memory>,
    pub(super) inputs: Vec<Placed<'a>>,
    pub(super) outputs: Vec<Placed<'a>>,
    /// The moments at which nodes begin and end.
    pub(super) begins: Vec<usize>,
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
            begins: vec![0; nodes.len()],
            ends: vec![0; nodes.len()],
        };
        let mut current: HashMap<u64, usize> = HashMap::new();
        let mut given: HashSet<(usize, u64)> = HashSet::new();
        for (moment, (at, ending)) in moments(trace).into_iter().enumerate() {
            let node = &nodes[at];
            if !ending {
                memories.begins[at] = moment;
                // PyTorch's own operators keep nothing: what one passes on was given to it, or made by it, even if no call of it says so.
                let own = |parent: &usize| {
                    nodes[*parent].schema.is_some() && nodes[*parent].name.starts_with("aten::")
                };
                let parent = node.parent.filter(own);
                for (argument, tensor) in tensors(&node.inputs) {
                    let begins = &memories.begins;
                    let passed = |parent: usize, born: Option<(usize, usize)>| {
                        given.contains(&(parent, tensor.storage))
                            || born.is_some_and(|(born, _)| born > begins[parent])
                    };
                    let known = current.get(&tensor.storage).and_then(|known| memories.all[*known].born);
                    let fresh =
                        parent.filter(|parent| !passed(*parent, known)).map(|parent| (moment, parent));
                    let place = memories.place(&mut current, tensor, moment, fresh);
                    memories.inputs[at].push((argument, tensor, place));
                }
                given.extend(memories.inputs[at].iter().map(|(_, tensor, _)| (at, tensor.storage)));
                continue;
            }
            memories.ends[at] = moment;
            let operator = node.schema.is_some();
            let whole = operator && node.parent.is_none_or(|parent| nodes[parent].schema.is_none());
            for (argument, tensor) in tensors(&node.outputs) {
                let known = current.get(&tensor.storage).and_then(|known| memories.all[*known].born);
                let within = known.is_some_and(|(born, _)| born > memories.begins[at]);
                let fresh = operator && !within && !given.contains(&(at, tensor.storage));
                let place = memories.place(&mut current, tensor, moment, fresh.then_some((moment, at)));
                if let Some(place) = place {
                    memories.all[place].result = whole;
                }
                memories.outputs[at].push((argument, tensor, place));
            }
        }
        memories
    }

    /// The memory of a tensor at a moment. `born` is there where a new one takes the place of the one before.
    fn place(
        &mut self,
        current: &mut HashMap<u64, usize>,
        tensor: &Tensor,
        moment: usize,
        born: Option<(usize, usize)>,
    ) -> Option<usize> {
        // Empty tensors share the storage at address 0.
        if tensor.extent == 0 {
            return None;
        }
        let known = current.get(&tensor.storage).copied();
        let place = match (known, born) {
            (Some(known), None) => known,
            (_, born) => {
                self.all.push(Memory { bytes: 0, born, last: moment, result: false, recorded: None });
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

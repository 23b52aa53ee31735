//! A recurrent layer that is one operator, as PyTorch has an LSTM on a CPU (oneDNN) and every such network with cuDNN.
//!
//! oneDNN's operator is a layer in one direction, and as a GPU would run it that is a kernel per time step: each waits for the one before. The
//! gates have memory only where gradients will be wanted: the workspace, which is oneDNN's, stands for it. cuDNN's is a whole network in one
//! operator, whose layers have no memory in the trace: one kernel.

use super::et::{Tensor, Value, tensors};
use super::operators::Operator;
use crate::launch::{Access, Draft};

/// Layers of more steps than this are one kernel: a few bytes of a trace may ask for any number.
const MAX_STEPS: u64 = 4096;

/// One layer in one direction.
struct Layer<'a> {
    input: &'a Tensor,
    /// In the order in which the forward pass takes them.
    steps: Vec<u64>,
    batch: u64,
    /// All gates of all hidden units.
    gates: u64,
    /// Elements that a gate is a sum over: the input's and the hidden state's.
    depth: u64,
}

impl Layer<'_> {
    fn steps(&self) -> u64 {
        self.steps.len() as u64
    }

    /// What a time step has of an access to all of them, the tensor's first dimension.
    fn slice(&self, tensor: &Tensor, access: Access, step: u64) -> Access {
        let one = tensor.extent.saturating_sub((self.steps() - 1).saturating_mul(tensor.leading));
        let overlap = tensor.leading > 0 && one > tensor.leading;
        if overlap || tensor.shape.first() != Some(&self.steps()) {
            return self.part(access);
        }
        let moved = (access.moved / self.steps()).min(one);
        Access { first: access.first + step * tensor.leading, bytes: one, moved, ..access }
    }

    /// The same where it is not known which bytes they are.
    fn part(&self, access: Access) -> Access {
        Access { moved: access.moved / self.steps(), ..access }
    }
}

impl Operator<'_> {
    pub(super) fn recurrent(&self, backward: bool) -> Vec<Draft> {
        let drafts = self.layer(backward).and_then(|layer| match backward {
            false => self.layer_forward(&layer),
            true => self.layer_backward(&layer),
        });
        drafts.unwrap_or_else(|| vec![self.network(backward)])
    }

    /// Nothing where the operator is not oneDNN's, or not as it should be.
    fn layer(&self, backward: bool) -> Option<Layer<'_>> {
        let names = if backward { ["weight1", "weight2"] } else { ["weight0", "weight1"] };
        let [of_input, of_hidden] = names.map(|name| self.node.tensor(name).map(|weight| &weight.shape[..]));
        let (Some([gates, inputs]), Some([rows, hidden])) = (of_input, of_hidden) else { return None };
        let input = self.node.tensor("input")?;
        let [steps, batch, columns] = input.shape[..] else { return None };
        if gates != rows || *inputs != columns || !(1..=MAX_STEPS).contains(&steps) {
            return None;
        }
        let mut steps: Vec<u64> = (0..steps).collect();
        if matches!(self.node.input("reverse"), Some(Value::Bool(true))) {
            steps.reverse();
        }
        Some(Layer { input, steps, batch, gates: *gates, depth: inputs.checked_add(*hidden)? })
    }

    fn layer_forward(&self, layer: &Layer<'_>) -> Option<Vec<Draft>> {
        // All outputs, the last hidden state, the last cell state, and the workspace where there is one.
        let [output, hidden, cell, ref workspace @ ..] = self.accesses.writes[..] else { return None };
        let outputs = *self.accesses.written.first()?;
        let weights = self.reads_of(&["weight0", "weight1", "weight2", "weight3"]);
        let (first, input) = (self.reads_of(&["hx_", "cx_"]), self.reads_of(&["input"]));
        let mut drafts: Vec<Draft> = Vec::with_capacity(layer.steps.len());
        for (i, step) in layer.steps.iter().enumerate() {
            let mut draft = self.step(layer, [layer.batch, layer.gates, layer.depth, 1]);
            draft.reads = input.iter().map(|access| layer.slice(layer.input, *access, *step)).collect();
            draft.reads.extend(&weights);
            match i.checked_sub(1) {
                None => draft.reads.extend(&first),
                Some(before) => {
                    draft.reads.extend([layer.slice(outputs, output, layer.steps[before]), cell]);
                }
            }
            draft.writes = vec![layer.slice(outputs, output, *step), cell];
            if i + 1 == layer.steps.len() {
                draft.writes.push(hidden);
            }
            draft.updates(workspace.iter().map(|access| layer.part(*access)));
            draft.count_gaps();
            drafts.push(draft);
        }
        Some(drafts)
    }

    /// The steps backwards, and then the weights' gradients, of all steps at once.
    fn layer_backward(&self, layer: &Layer<'_>) -> Option<Vec<Draft>> {
        let [data, ref weights @ .., hidden, cell] = self.accesses.writes[..] else { return None };
        let gradients = *self.accesses.written.first()?;
        let workspace = self.reads_of(&["workspace"]);
        if workspace.is_empty() || weights.is_empty() {
            return None;
        }
        let constant = self.reads_of(&["weight1", "weight2"]);
        let (last, given) = (self.reads_of(&["grad_hy", "grad_cy"]), self.reads_of(&["grad_output"]));
        let mut drafts: Vec<Draft> = Vec::with_capacity(layer.steps.len() + 1);
        for (i, step) in layer.steps.iter().rev().enumerate() {
            let mut draft = self.step(layer, [layer.batch, layer.depth, layer.gates, 1]);
            let of_output = self.node.tensor("grad_output").into_iter().zip(&given);
            draft.reads = of_output.map(|(tensor, access)| layer.slice(tensor, *access, *step)).collect();
            draft.reads.extend(&constant);
            draft.reads.extend(if i == 0 { last.clone() } else { vec![hidden, cell] });
            draft.writes = vec![layer.slice(gradients, data, *step), hidden, cell];
            // The gates' gradients take the place of the gates.
            draft.updates(workspace.iter().map(|access| layer.part(*access)));
            draft.count_gaps();
            drafts.push(draft);
        }
        let all = layer.batch.saturating_mul(layer.steps());
        let mut draft = self.step(layer, [layer.gates, layer.depth, all, 1]);
        draft.reads = self.reads_of(&["input", "output", "hx_", "workspace"]);
        draft.writes = weights.to_vec();
        draft.count_gaps();
        drafts.push(draft);
        Some(drafts)
    }

    fn step(&self, layer: &Layer<'_>, mnk: [u64; 4]) -> Draft {
        let pipe = layer.input.precision.pipe(self.rules.tf32);
        let mut draft = self.touching(self.rules.tiles("rnn", mnk, pipe));
        draft.est.extend(["r", "w"]);
        draft
    }

    /// All layers, directions and steps in one kernel that stays on every SM: each row of the input meets every weight.
    fn network(&self, backward: bool) -> Draft {
        let mut draft = self.touching(Draft::simt("rnn_persistent", u64::from(self.rules.sms), 256, 0));
        let Some(input) = self.node.tensor("input") else { return draft };
        if let Some(schema) = &self.node.schema {
            let weight = |at: usize| {
                schema
                    .arguments
                    .get(at)
                    .is_some_and(|a| a.name.starts_with("weight") && a.name != "weight_buf")
            };
            let inputs = tensors(&self.node.inputs);
            let matrices = inputs.iter().filter(|(at, tensor)| weight(*at) && tensor.shape.len() == 2);
            let weights = matrices.fold(0_u64, |sum, (_, weight)| sum.saturating_add(weight.numel));
            let rows = input.numel / input.shape.last().copied().unwrap_or(1).max(1);
            // Backwards, each product is there for the data and for the weights.
            let times = if backward { 4 } else { 2 };
            draft.flops = rows.saturating_mul(weights).saturating_mul(times);
        }
        let (kind, sure) = input.precision.pipe(self.rules.tf32);
        draft.kind = kind;
        draft.est.push("flops");
        if !sure {
            draft.est.push("type");
        }
        draft
    }
}

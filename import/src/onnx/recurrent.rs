//! Recurrent layers: a kernel per time step and direction, which reads the hidden state of the step before.

use super::operators::{Launcher, access};
use crate::launch::{Access, Draft};

/// Layers of more steps than this are one kernel: a few bytes of a model may ask for any number.
const MAX_STEPS: u64 = 4096;

/// The part of `access` that belongs to one of `count` along the first dimension.
fn part(whole: Access, at: u64, count: u64) -> Access {
    let bytes = whole.bytes / count.max(1);
    Access { first: whole.first + at * bytes, bytes, moved: bytes, ..whole }
}

impl Launcher<'_> {
    pub(super) fn recurrent(&self) -> Vec<Draft> {
        let operator = self.operator;
        let [Some(input), Some(weight), Some(hidden)] = [0, 1, 2].map(|at| operator.given(at)) else {
            return Vec::new();
        };
        let ([a, b, inputs], [directions, gates, _], [_, _, units]) =
            (input.shape(), weight.shape(), hidden.shape())
        else {
            return Vec::new();
        };
        let batch_first = operator.flag("layout");
        let (steps, batch) = if batch_first { (*b, *a) } else { (*a, *b) };
        let depth = inputs.saturating_add(*units);
        let pipe = input.tensor.element.precision().pipe(self.rules.tf32);
        // Where the batch is outermost, a step's part is everywhere.
        let slice = |whole: Access, at: u64| match batch_first {
            true => Access { moved: whole.bytes / steps, ..whole },
            false => part(whole, at, steps),
        };
        let result = |at: usize| self.results.get(at).and_then(Option::as_ref).map(access);
        let (all, last, cell) = (result(0), result(1), result(2));
        // Without its outputs a layer still has a hidden state: what it has of results stands for it.
        let whole = steps > MAX_STEPS || *directions > 2 || (all.is_none() && last.is_none());
        if whole || steps == 0 {
            let rows = batch.saturating_mul(steps);
            let mut draft = self.touching(self.rules.tiles("rnn", [rows, *gates, depth, *directions], pipe));
            draft.est.push("r");
            return vec![draft];
        }
        // States have the direction outermost unless the batch is; weights always.
        let given = |at: usize, direction: u64| {
            let whole = access(operator.given(at)?);
            Some(if batch_first && at > 4 { whole } else { part(whole, direction, *directions) })
        };
        let mut drafts = Vec::new();
        for direction in 0..*directions {
            let state = |whole: Option<Access>| {
                whole.map(|whole| if batch_first { whole } else { part(whole, direction, *directions) })
            };
            let (last, cell) = (state(last), state(cell));
            let output = |at: u64| {
                let step = slice(all?, at);
                Some(if batch_first { step } else { part(step, direction, *directions) })
            };
            let reverse = match operator.text("direction") {
                Some("reverse") => true,
                _ => direction == 1,
            };
            let order = |at: u64| if reverse { steps - 1 - at } else { at };
            for at in 0..steps {
                let mut reads = vec![slice(access(input), order(at))];
                reads.extend([1, 2, 3].into_iter().filter_map(|at| given(at, direction)));
                match at.checked_sub(1) {
                    None => reads.extend([5, 6].into_iter().filter_map(|at| given(at, direction))),
                    Some(before) => reads.extend(output(order(before)).or(last).into_iter().chain(cell)),
                }
                let mut writes: Vec<Access> = output(order(at)).into_iter().chain(cell).collect();
                if all.is_none() || at + 1 == steps {
                    writes.extend(last);
                }
                // What is between the parts that it writes stays.
                if batch_first {
                    let kept = writes.iter().filter(|write| !reads.contains(write));
                    reads.extend(kept.map(|write| Access { moved: 0, ..*write }).collect::<Vec<_>>());
                }
                let step = self.rules.tiles("rnn", [batch, *gates, depth, 1], pipe);
                let mut step = self.of(step, reads, writes);
                step.est.extend(["r", "w"]);
                drafts.push(step);
            }
        }
        drafts
    }
}

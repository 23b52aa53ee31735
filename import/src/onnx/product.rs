//! Products of matrices, and attention, which is two of them.

use super::node::{Fault, Operator, mismatch};
use super::shape::Results;
use super::tensor::Value;
use crate::launch::{Heads, product};
use std::collections::{BTreeMap, BTreeSet};

/// What Einstein's convention says: a letter for each dimension.
#[derive(Clone)]
pub(super) struct Equation {
    terms: Vec<Vec<char>>,
    pub(super) result: Vec<char>,
    pub(super) sizes: BTreeMap<char, u64>,
}

impl Equation {
    /// Products of two, from left to right, each of the one before and the next term; one of fewer terms is itself.
    pub(super) fn chain(&self) -> Vec<Self> {
        let [first, second, rest @ ..] = &self.terms[..] else { return vec![self.clone()] };
        let mut chain = Vec::new();
        let mut left = first.clone();
        for (at, right) in std::iter::once(second).chain(rest).enumerate() {
            let mut result = self.result.clone();
            if at < rest.len() {
                // Letters that are still needed.
                let later = |label: &char| {
                    self.result.contains(label) || rest[at..].iter().flatten().any(|l| l == label)
                };
                result = left.iter().chain(right).copied().filter(later).collect();
                let mut known = BTreeSet::new();
                result.retain(|label| known.insert(*label));
            }
            let sizes = self.sizes.iter().filter(|(label, _)| left.contains(label) || right.contains(label));
            let sizes = sizes.map(|(label, d)| (*label, *d)).collect();
            chain.push(Self { terms: vec![left, right.clone()], result: result.clone(), sizes });
            left = result;
        }
        chain
    }

    /// How large the result is.
    pub(super) fn shape(&self) -> Vec<u64> {
        self.result.iter().filter_map(|label| self.sizes.get(label).copied()).collect()
    }

    /// Whether a letter is not in the result.
    pub(super) fn sums(&self) -> bool {
        self.sizes.keys().any(|label| !self.result.contains(label))
    }

    /// M, N, K and batch of a product of two; nothing where it is none.
    pub(super) fn mnk(&self) -> Option<[u64; 4]> {
        let [a, b] = &self.terms[..] else { return None };
        let of = |a_has: bool, b_has: bool, kept: bool| {
            let labels = self.sizes.iter().filter(|(label, _)| {
                [a.contains(label), b.contains(label), self.result.contains(label)] == [a_has, b_has, kept]
            });
            labels.fold(1_u64, |size, (_, d)| size.saturating_mul(*d))
        };
        // What only one of them sums over is summed before, which costs little.
        self.sums().then(|| {
            [of(true, false, true), of(false, true, true), of(true, true, false), of(true, true, true)]
        })
    }
}

/// An attention's sizes and tensors, of whichever operator.
pub(super) struct Attention {
    pub(super) heads: Heads,
    key_heads: u64,
    value_depth: u64,
    key_depth: u64,
}

impl Operator<'_> {
    /// The factors of a product; the second of one whose weights are packed is none.
    pub(super) fn factors(&self) -> Result<(&Value, Option<&Value>), Fault> {
        match self.name {
            "MatMulNBits" => Ok((self.input(0)?, None)),
            "QLinearMatMul" | "QGemm" => Ok((self.input(0)?, Some(self.input(3)?))),
            _ => Ok((self.input(0)?, Some(self.input(1)?))),
        }
    }

    /// M, N, K and batch; nothing where they do not follow.
    pub(super) fn mnk(&self) -> Result<Option<[u64; 4]>, Fault> {
        let (a, b) = self.factors()?;
        let rows = |shape: &[u64]| product(shape.split_last().map_or(&[][..], |(_, rows)| rows));
        let Some(b) = b else {
            let n = self.need(self.size("N"), "N", "the columns of the result")?;
            return Ok(Some([rows(a.shape()), n, a.shape().last().copied().unwrap_or(1), 1]));
        };
        let swap = |by: &str, [x, y]: [u64; 2]| if self.flag(by) { [y, x] } else { [x, y] };
        Ok(Some(match (a.shape(), b.shape()) {
            // Vectors stay as they are.
            ([k], [.., n]) if b.shape().len() > 1 => [1, *n, *k, product(&b.shape()[..b.shape().len() - 2])],
            ([k], _) => [1, 1, *k, 1],
            ([.., k], [_]) => [rows(a.shape()), 1, *k, 1],
            // One matrix for all rows.
            ([.., x, y], [l, n]) if a.shape().len() > 2 || self.name.ends_with("Gemm") => {
                let [_, k] = swap("transA", [*x, *y]);
                let [_, n] = swap("transB", [*l, *n]);
                [(a.numel()).checked_div(k).unwrap_or(0), n, k, 1]
            }
            ([first @ .., x, y], [second @ .., l, n]) => {
                let [m, k] = swap("transA", [*x, *y]);
                let [_, n] = swap("transB", [*l, *n]);
                [m, n, k, product(&super::shape::broadcast(first, second)?)]
            }
            _ => return Ok(None),
        }))
    }

    /// Nothing where it has an ellipsis.
    pub(super) fn equation(&self) -> Result<Option<Equation>, Fault> {
        let text = self.need(self.text("equation"), "equation", "an equation")?;
        if text.contains('.') {
            return Ok(None);
        }
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<Vec<char>>();
        let (left, right) = text.split_once("->").map_or((text, None), |(left, right)| (left, Some(right)));
        let terms: Vec<Vec<char>> = left.split(',').map(letters).collect();
        let mut sizes = BTreeMap::new();
        let mut times: BTreeMap<char, u32> = BTreeMap::new();
        for (at, term) in terms.iter().enumerate() {
            let shape = self.input(at)?.shape();
            if shape.len() != term.len() {
                return mismatch(format!("`{}` for {shape:?}", term.iter().collect::<String>()));
            }
            for (label, d) in term.iter().zip(shape) {
                let known = sizes.entry(*label).or_insert(*d);
                *known = if *known == 1 { *d } else { *known };
                if *known != *d && *d != 1 {
                    return mismatch(format!("`{label}` is {known} and {d}"));
                }
                *times.entry(*label).or_default() += 1;
            }
        }
        let result = match right {
            Some(right) => letters(right),
            None => times.into_iter().filter(|(_, times)| *times == 1).map(|(label, _)| label).collect(),
        };
        if let Some(label) = result.iter().find(|label| !sizes.contains_key(label)) {
            return mismatch(format!("`{label}` is in no input"));
        }
        Ok(Some(Equation { terms, result, sizes }))
    }

    /// Places of the past keys and values among the inputs.
    pub(super) fn past(&self) -> [usize; 2] {
        match self.name {
            "MultiHeadAttention" => [6, 7],
            "GroupQueryAttention" => [3, 4],
            _ => [4, 5],
        }
    }

    /// Nothing where query, key and value are not three tensors of [batch, length, heads * depth] or [batch, heads, length, depth].
    pub(super) fn attention(&self) -> Result<Option<Attention>, Fault> {
        let (Some(query), Some(key), Some(value)) = (self.given(0), self.given(1), self.given(2)) else {
            return Ok(None);
        };
        let count = |names: [&str; 2]| names.iter().find_map(|name| self.size(name)).filter(|n| *n > 0);
        let heads = count(["num_heads", "q_num_heads"]);
        let key_heads = count(["kv_num_heads", "kv_num_heads"]).or(heads);
        let (batch, heads, queries, key_heads, length, depths) =
            match (query.shape(), key.shape(), value.shape()) {
                ([batch, heads, queries, depth], [_, key_heads, length, _], [_, _, _, value_depth]) => {
                    (*batch, *heads, *queries, *key_heads, *length, [*depth, *value_depth])
                }
                ([batch, queries, width], [_, length, _], [_, _, value_width]) => {
                    let heads = self.need(heads, "num_heads", "the number of heads")?;
                    let key_heads = key_heads.unwrap_or(heads);
                    (*batch, heads, *queries, key_heads, *length, [width / heads, value_width / key_heads])
                }
                _ => return Ok(None),
            };
        let before = self.given(self.past()[0]).and_then(|past| past.shape().get(2).copied()).unwrap_or(0);
        let [key_depth, value_depth] = depths;
        let keys = length.saturating_add(before);
        let depths = key_depth.saturating_add(value_depth);
        Ok(Some(Attention {
            heads: Heads { batch, heads, queries, keys, depths },
            key_heads,
            value_depth,
            key_depth,
        }))
    }

    /// Of [batch, length, depth] and weights of three matrices beside each other.
    pub(super) fn packed_attention_results(&self) -> Result<Results, Fault> {
        let (input, weights) = (self.input(0)?, self.input(1)?);
        let ([batch, length, _], [_, width]) = (input.shape(), weights.shape()) else {
            return mismatch("the input has three dimensions, the weights two");
        };
        let values = self.ints("qkv_hidden_sizes").and_then(|sizes| u64::try_from(*sizes.get(2)?).ok());
        let values = values.unwrap_or(width / 3);
        let mut results = vec![self.tensor(input.tensor.element, vec![*batch, *length, values])?];
        if let Some([two, batch, heads, before, depth]) = self.given(4).map(Value::shape) {
            let keys = before.saturating_add(*length);
            results.push(self.tensor(input.tensor.element, vec![*two, *batch, *heads, keys, *depth])?);
        }
        Ok(Some(results))
    }

    pub(super) fn attention_results(&self) -> Result<Results, Fault> {
        let Some(Attention { heads, key_heads, value_depth, key_depth }) = self.attention()? else {
            return Ok(None);
        };
        let element = self.input(0)?.tensor.element;
        let Heads { batch, heads, queries, keys, .. } = heads;
        let out = match self.input(0)?.shape() {
            [_, _, _] => vec![batch, queries, heads.saturating_mul(value_depth)],
            _ => vec![batch, heads, queries, value_depth],
        };
        let present = |depth| self.tensor(element, vec![batch, key_heads, keys, depth]);
        let scores = self.tensor(element, vec![batch, heads, queries, keys])?;
        Ok(Some(vec![self.tensor(element, out)?, present(key_depth)?, present(value_depth)?, scores]))
    }
}

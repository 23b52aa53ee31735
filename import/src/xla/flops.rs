//! Floating-point operations of an instruction, counted from what it computes.

use super::hlo::{Hlo, Instruction, dims, elements};
use crate::launch::product;
use std::collections::HashMap;

/// Fusions in one another: XLA's are two deep at most.
const MAX_DEPTH: usize = 16;

/// Opcodes that are one operation per element of their result. A transcendental function counts as one, as in XLA's own analysis; moves and
/// conversions count as none.
const ELEMENTWISE: [&str; 45] = [
    "abs",
    "add",
    "and",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "cosine",
    "divide",
    "erf",
    "exponential",
    "exponential-minus-one",
    "floor",
    "is-finite",
    "log",
    "log-plus-one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "power",
    "remainder",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "select",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "sign",
    "sine",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "xor",
    "complex",
    "real",
    "imag",
    "count-leading-zeros",
];

/// What a matrix product is: M, N, K, batch.
pub(super) fn dot(hlo: &Hlo<'_>, instruction: &Instruction<'_>) -> Option<[u64; 4]> {
    let [lhs, rhs, ..] = instruction.operands[..] else { return None };
    let (lhs, rhs) = (dims(hlo.shape(lhs)?), dims(hlo.shape(rhs)?));
    let of = |attribute| -> u64 {
        let lengths = instruction.dimensions(attribute).into_iter().map(|d| lhs.get(d).copied().unwrap_or(1));
        product(&lengths.collect::<Vec<_>>())
    };
    let (k, batch) = (of("lhs_contracting_dims"), of("lhs_batch_dims"));
    let shared = k.saturating_mul(batch).max(1);
    Some([product(&lhs) / shared, product(&rhs) / shared, k, batch])
}

/// The same of a call of cuBLAS, whose dimension numbers are in JSON.
pub(super) fn gemm(hlo: &Hlo<'_>, instruction: &Instruction<'_>) -> Option<[u64; 4]> {
    let [lhs, rhs, ..] = instruction.operands[..] else { return None };
    let (lhs, rhs) = (dims(hlo.shape(lhs)?), dims(hlo.shape(rhs)?));
    let of = |key: &str| -> Option<u64> {
        let (_, rest) = instruction.attributes.split_once(&format!("\"{key}\":["))?;
        let numbers = rest.split(']').next()?.split(',').map(|n| n.trim_matches(['"', ' ']).parse::<usize>());
        let lengths = numbers.flatten().map(|d| lhs.get(d).copied().unwrap_or(1));
        Some(product(&lengths.collect::<Vec<_>>()))
    };
    let (k, batch) = (of("lhs_contracting_dimensions")?, of("lhs_batch_dimensions").unwrap_or(1));
    let shared = k.saturating_mul(batch).max(1);
    Some([product(&lhs) / shared, product(&rhs) / shared, k, batch])
}

/// Multiply-adds of a forward convolution, times two; `dim_labels=b01f_01io->b01f` says which of the kernel's dimensions are its outputs.
pub(super) fn convolution(hlo: &Hlo<'_>, instruction: &Instruction<'_>) -> Option<u64> {
    let (_, labels) = instruction.attributes.split_once("dim_labels=")?;
    let outputs = labels.split("->").next()?.split_once('_')?.1.find('o')?;
    let kernel = dims(hlo.shape(instruction.operands.get(1)?)?);
    let per_output = product(&kernel) / kernel.get(outputs).copied()?.max(1);
    let output = product(&dims(instruction.shape));
    Some(output.saturating_mul(per_output).saturating_mul(2))
}

/// Counts, each computation once.
pub(super) struct Counter<'h, 'a> {
    hlo: &'h Hlo<'a>,
    computations: HashMap<&'a str, u64>,
}

impl<'h, 'a> Counter<'h, 'a> {
    pub(super) fn new(hlo: &'h Hlo<'a>) -> Self {
        Self { hlo, computations: HashMap::new() }
    }

    /// FLOPs of one instruction, with all that it calls.
    pub(super) fn flops(&mut self, instruction: &Instruction<'a>) -> u64 {
        self.count(instruction, 0)
    }

    fn computation(&mut self, name: Option<&'a str>, depth: usize) -> u64 {
        let Some(name) = name.filter(|_| depth < MAX_DEPTH) else { return 0 };
        if let Some(known) = self.computations.get(name) {
            return *known;
        }
        self.computations.insert(name, 0); // should it call itself, which XLA never writes
        let hlo = self.hlo;
        let flops = hlo.computation(name).map(|i| self.count(i, depth + 1)).fold(0, u64::saturating_add);
        self.computations.insert(name, flops);
        flops
    }

    fn count(&mut self, instruction: &Instruction<'a>, depth: usize) -> u64 {
        let operand = |n: usize| {
            let shape = instruction.operands.get(n).and_then(|name| self.hlo.shape(name));
            shape.map_or(0, elements)
        };
        let result = elements(instruction.shape);
        match instruction.opcode {
            opcode if ELEMENTWISE.contains(&opcode) => result,
            "fusion" | "call" => {
                let called = instruction.called("calls").or_else(|| instruction.called("to_apply"));
                self.computation(called, depth)
            }
            "map" => self.computation(instruction.called("to_apply"), depth).saturating_mul(result),
            // Every element goes through the reducer once.
            "reduce" | "reduce-window" => {
                let window: u64 = window(instruction.attributes);
                let elements =
                    if instruction.opcode == "reduce" { operand(0) } else { result.saturating_mul(window) };
                self.computation(instruction.called("to_apply"), depth).saturating_mul(elements)
            }
            // So does every update, and nothing else of the operand.
            "scatter" => {
                let updates = operand(instruction.operands.len().saturating_sub(1));
                self.computation(instruction.called("to_apply"), depth).saturating_mul(updates)
            }
            "dot" => {
                let [m, n, k, batch] = dot(self.hlo, instruction).unwrap_or_default();
                product(&[2, m, n, k, batch])
            }
            "convolution" => convolution(self.hlo, instruction).unwrap_or(0),
            _ => 0,
        }
    }
}

/// Elements of `window={size=2x2 ..}`.
fn window(attributes: &str) -> u64 {
    let Some((_, rest)) = attributes.split_once("window={size=") else { return 1 };
    let size = rest.split([' ', '}']).next().unwrap_or_default();
    product(&size.split('x').filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
}

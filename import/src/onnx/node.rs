//! A node with what it is given.

use super::error::Problem;
use super::proto::{AttributeProto, NodeProto};
use super::tensor::{Element, Tensor, Value};

/// What is wrong with a node, and which of its fields.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) field: Option<String>,
    pub(super) problem: Problem,
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self { field: None, problem }
    }
}

pub(super) fn mismatch<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Problem::Mismatch(text.into()).into())
}

/// A node whose inputs are known.
pub(super) struct Operator<'a> {
    pub(super) node: &'a NodeProto,
    /// The operator; nothing known where its domain is neither ONNX's nor its runtime's.
    pub(super) name: &'a str,
    pub(super) inputs: Vec<Option<&'a Value>>,
    /// The version of the operator's definition.
    pub(super) opset: i64,
}

impl<'a> Operator<'a> {
    pub(super) fn given(&self, at: usize) -> Option<&'a Value> {
        self.inputs.get(at).copied().flatten()
    }

    pub(super) fn input(&self, at: usize) -> Result<&'a Value, Fault> {
        let fault = || Fault { field: Some(format!("input[{at}]")), problem: Problem::Missing("a value") };
        self.given(at).ok_or_else(fault)
    }

    /// Whether a result is wanted.
    pub(super) fn wants(&self, at: usize) -> bool {
        self.node.output.get(at).is_some_and(|name| !name.is_empty())
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name == name)
    }

    /// 0 may be left out of a file.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.i.unwrap_or(0))
    }

    pub(super) fn size(&self, name: &str) -> Option<u64> {
        self.int(name).and_then(|n| u64::try_from(n).ok())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.int(name).is_some_and(|n| n != 0)
    }

    pub(super) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|attribute| &attribute.ints[..])
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.attribute(name)?.s.as_ref()?).ok()
    }

    pub(super) fn need<T>(&self, found: Option<T>, field: &str, what: &'static str) -> Result<T, Fault> {
        found.ok_or_else(|| Fault { field: Some(field.to_owned()), problem: Problem::Missing(what) })
    }

    /// Whole numbers of an input, where they are known.
    pub(super) fn numbers(&self, at: usize) -> Option<Vec<i64>> {
        Some(self.given(at)?.numbers.as_ref()?.iter().map(|n| *n as i64).collect())
    }

    /// What was an attribute before it was an input.
    pub(super) fn ints_or_input(&self, name: &str, at: usize) -> Listed {
        match (self.given(at), self.ints(name)) {
            (Some(_), _) => self.numbers(at).map_or(Listed::Unknown, Listed::Known),
            (None, Some(ints)) => Listed::Known(ints.to_vec()),
            (None, None) => Listed::Absent,
        }
    }

    /// An axis counted from the front.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let counted = usize::try_from(axis).ok().or_else(|| rank.checked_add_signed(axis as isize));
        match counted.filter(|axis| *axis < rank) {
            Some(axis) => Ok(axis),
            None => mismatch(format!("axis {axis} of {rank} dimensions")),
        }
    }

    /// The attribute `axis`, or what it is without.
    pub(super) fn axis_or(&self, default: i64, rank: usize) -> Result<usize, Fault> {
        self.axis(self.int("axis").unwrap_or(default), rank)
    }

    /// From the attribute `axis` on all dimensions are one.
    pub(super) fn split_at(&self, default: i64, rank: usize) -> Result<usize, Fault> {
        let axis = self.int("axis").unwrap_or(default);
        if axis == rank as i64 { Ok(rank) } else { self.axis(axis, rank) }
    }

    pub(super) fn tensor(&self, element: Element, shape: Vec<u64>) -> Result<Tensor, Fault> {
        Ok(Tensor::new(element, shape)?)
    }
}

/// Numbers that decide a shape.
pub(super) enum Listed {
    Absent,
    Known(Vec<i64>),
    /// They are computed as the model runs.
    Unknown,
}

//! Values of a graph: their shapes and elements, and of small constants the numbers.

use super::error::Problem;
use super::proto::TensorProto;
use crate::launch::{Precision, product};
use std::rc::Rc;
use windlass_runtime::ktrace::ADDRESS_LIMIT;

/// Constants of more elements are no shapes, and are not computed.
pub(super) const MAX_NUMBERS: u64 = 4096;

/// More dimensions than anything has.
const MAX_RANK: usize = 64;

/// `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element(pub(super) i32);

impl Element {
    pub(super) const FLOAT: Self = Self(1);
    pub(super) const UINT8: Self = Self(2);
    pub(super) const INT32: Self = Self(6);
    pub(super) const INT64: Self = Self(7);
    pub(super) const BOOL: Self = Self(9);

    /// Nothing for strings, and what is not known.
    fn bits(self) -> Option<u64> {
        Some(match self.0 {
            2 | 3 | 9 | 17..=20 | 24 => 8,
            4 | 5 | 10 | 16 => 16,
            1 | 6 | 12 => 32,
            7 | 11 | 13 | 14 => 64,
            15 => 128,
            21..=23 => 4,
            25 | 26 => 2,
            _ => return None,
        })
    }

    pub(super) fn precision(self) -> Precision {
        match self.0 {
            1 => Precision::Single,
            // Half precision, bfloat16 and whole numbers and floats of at most 8 bits.
            2 | 3 | 10 | 16..=26 => Precision::Low,
            _ => Precision::Other,
        }
    }

    pub(super) fn is_integer(self) -> bool {
        matches!(self.0, 2..=7 | 9 | 12 | 13 | 21 | 22 | 25 | 26)
    }
}

/// The type of a value: its bytes are below 2^53.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) element: Element,
    pub(super) shape: Vec<u64>,
}

impl Tensor {
    pub(super) fn new(element: Element, shape: Vec<u64>) -> Result<Self, Problem> {
        let bits = element.bits().ok_or(Problem::ElementType(element.0))?;
        let fits = shape.len() <= MAX_RANK
            // Zeros do not make a large shape a small one: what is computed of it might be without them.
            && shape.iter().filter(|d| **d > 0).try_fold(bits, |bits, d| bits.checked_mul(*d)).is_some_and(|bits| bits / 8 < ADDRESS_LIMIT);
        if !fits {
            let shape = format!("{:?}", &shape[..shape.len().min(8)]);
            return Err(Problem::TooLarge { shape });
        }
        Ok(Self { element, shape })
    }

    pub(super) fn numel(&self) -> u64 {
        product(&self.shape)
    }

    /// The first byte of one element, and one past the last of another.
    pub(super) fn byte_range(&self, [first, last]: [u64; 2]) -> [u64; 2] {
        let bits = self.element.bits().unwrap_or(8);
        [first.saturating_mul(bits) / 8, last.saturating_add(1).saturating_mul(bits).div_ceil(8)]
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.numel() * self.element.bits().unwrap_or(8)).div_ceil(8)
    }
}

/// Elements in order, as far as folding needs them: shapes, and scales of them.
pub(super) type Numbers = Rc<[f64]>;

/// A value of the graph.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) tensor: Tensor,
    /// Whether it is the same in every run, so that it is computed before.
    pub(super) constant: bool,
    /// Whether a node made it: it is no input and no weight.
    pub(super) made: bool,
    pub(super) numbers: Option<Numbers>,
    /// Index of the memory that it is in.
    pub(super) memory: usize,
}

impl Value {
    pub(super) fn shape(&self) -> &[u64] {
        &self.tensor.shape
    }

    pub(super) fn numel(&self) -> u64 {
        self.tensor.numel()
    }

    /// Whether it is known to be nothing but zeros.
    pub(super) fn is_zero(&self) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| numbers.iter().all(|n| *n == 0.0))
    }
}

/// Type of a constant; of small ones the numbers, too, where the file has them.
pub(super) fn constant(proto: &TensorProto) -> Result<(Tensor, Option<Numbers>), Problem> {
    let element = Element(proto.data_type);
    let tensor = Tensor::new(element, sizes(&proto.dims)?)?;
    let count = tensor.numel();
    if count > MAX_NUMBERS {
        return Ok((tensor, None));
    }
    let raw = &proto.raw_data;
    fn le<const N: usize>(raw: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        raw.chunks_exact(N).filter_map(|bytes| bytes.try_into().ok()).map(number).collect()
    }
    let numbers: Vec<f64> = match element.0 {
        1 if raw.is_empty() => proto.float_data.iter().map(|n| f64::from(*n)).collect(),
        7 if raw.is_empty() => proto.int64_data.iter().map(|n| *n as f64).collect(),
        11 if raw.is_empty() => proto.double_data.clone(),
        2..=6 | 9 if raw.is_empty() => proto.int32_data.iter().map(|n| f64::from(*n)).collect(),
        1 => le(raw, |b| f64::from(f32::from_le_bytes(b))),
        2 | 9 => le(raw, |[b]: [u8; 1]| f64::from(b)),
        3 => le(raw, |b| f64::from(i8::from_le_bytes(b))),
        4 => le(raw, |b| f64::from(u16::from_le_bytes(b))),
        5 => le(raw, |b| f64::from(i16::from_le_bytes(b))),
        6 => le(raw, |b| f64::from(i32::from_le_bytes(b))),
        7 => le(raw, |b| i64::from_le_bytes(b) as f64),
        11 => le(raw, f64::from_le_bytes),
        12 => le(raw, |b| f64::from(u32::from_le_bytes(b))),
        13 => le(raw, |b| u64::from_le_bytes(b) as f64),
        _ => Vec::new(),
    };
    // Weights may have been taken out.
    let numbers = (numbers.len() as u64 == count).then(|| numbers.into());
    Ok((tensor, numbers))
}

/// Dimensions of a constant.
pub(super) fn sizes(dims: &[i64]) -> Result<Vec<u64>, Problem> {
    let size = |d: &i64| u64::try_from(*d).map_err(|_| Problem::Mismatch(format!("a dimension of {d}")));
    dims.iter().map(size).collect()
}

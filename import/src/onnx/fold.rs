//! Small constants, computed as far as shapes are made of them.

use super::node::Operator;
use super::operators::listed;
use super::tensor::{Element, MAX_NUMBERS, Numbers, Tensor, Value, constant};
use crate::launch::product;

/// The numbers stay as they are.
const KEPT: &str = " Identity Reshape Squeeze Unsqueeze Flatten Dropout ";

/// Steps from one index of each dimension to the next.
fn strides(shape: &[u64]) -> Vec<u64> {
    (0..shape.len()).map(|at| product(&shape[at + 1..])).collect()
}

/// For each element of a shape its index in each dimension.
fn places(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let steps = strides(shape);
    (0..product(shape)).map(move |at| steps.iter().zip(shape).map(|(step, d)| at / step % d).collect())
}

/// The number of a value that spreads to a place of a larger shape.
fn spread(value: &Value, place: &[u64]) -> Option<f64> {
    let steps = strides(value.shape());
    let skipped = place.len().checked_sub(steps.len())?;
    let own = place[skipped..].iter().zip(steps).zip(value.shape());
    let at: u64 = own.map(|((at, step), d)| if *d == 1 { 0 } else { at * step }).sum();
    value.numbers.as_ref()?.get(at as usize).copied()
}

fn unary(name: &str, a: f64) -> Option<f64> {
    Some(match name {
        "Abs" => a.abs(),
        "Neg" => -a,
        "Floor" => a.floor(),
        "Ceil" => a.ceil(),
        "Round" => a.round_ties_even(),
        "Sqrt" => a.sqrt(),
        "Exp" => a.exp(),
        "Log" => a.ln(),
        "Reciprocal" => a.recip(),
        "Not" => f64::from(u8::from(a == 0.0)),
        _ => return None,
    })
}

fn binary(name: &str, integer: bool, a: f64, b: f64) -> Option<f64> {
    let truth = |holds| f64::from(u8::from(holds));
    Some(match name {
        "Add" | "Sum" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" if integer => (a / b).trunc(),
        "Div" => a / b,
        "Mod" => a - b * (a / b).floor(),
        "Pow" => a.powf(b),
        "Max" => a.max(b),
        "Min" => a.min(b),
        "Equal" => truth(a == b),
        "Greater" => truth(a > b),
        "GreaterOrEqual" => truth(a >= b),
        "Less" => truth(a < b),
        "LessOrEqual" => truth(a <= b),
        "And" => truth(a != 0.0 && b != 0.0),
        "Or" => truth(a != 0.0 || b != 0.0),
        _ => return None,
    })
}

impl Operator<'_> {
    /// The numbers of each result, where they are few and follow from known ones.
    pub(super) fn fold(&self, results: &[Tensor]) -> Vec<Option<Numbers>> {
        let parts = if self.name == "Split" { self.parts().ok().flatten() } else { None };
        let mut before = 0;
        let one = |(at, result): (usize, &Tensor)| {
            if result.numel() > MAX_NUMBERS {
                return None;
            }
            let found = match &parts {
                Some((axis, parts)) => {
                    let from = before;
                    before += parts.get(at)?;
                    self.picked(result, |place| place[*axis] += from)
                }
                None if at == 0 => self.folded(result),
                None => None,
            }?;
            // As many as the shape says, whatever the file does.
            (found.len() as u64 == result.numel()).then(|| found.into())
        };
        results.iter().enumerate().map(one).collect()
    }

    /// Of the first input the number at the place that each of the result's is moved to.
    fn picked(&self, result: &Tensor, from: impl Fn(&mut Vec<u64>)) -> Option<Vec<f64>> {
        let data = self.given(0)?;
        data.numbers.as_ref()?;
        let moved = |mut place: Vec<u64>| {
            from(&mut place);
            let inside =
                place.len() == data.shape().len() && place.iter().zip(data.shape()).all(|(at, d)| at < d);
            if inside { spread(data, &place) } else { None }
        };
        places(&result.shape).map(moved).collect()
    }

    fn folded(&self, result: &Tensor) -> Option<Vec<f64>> {
        let name = self.name;
        let known = |at: usize| self.given(at)?.numbers.as_ref();
        match name {
            "Constant" => self.constant_numbers(),
            "Shape" => {
                let shape = self.given(0)?.shape();
                let (from, to) = self.shape_range(shape.len());
                Some(shape[from..to].iter().map(|d| *d as f64).collect())
            }
            "Size" => Some(vec![self.given(0)?.numel() as f64]),
            "ConstantOfShape" => {
                let value = self.attribute("value").and_then(|attribute| attribute.t.as_ref());
                let number = match value {
                    Some(value) => *constant(value).ok()?.1?.first()?,
                    None => 0.0,
                };
                Some(vec![number; result.numel() as usize])
            }
            "Range" => {
                let (start, delta) = (*known(0)?.first()?, *known(2)?.first()?);
                Some((0..result.numel()).map(|at| start + at as f64 * delta).collect())
            }
            "Cast" | "CastLike" => {
                let cast = |n: &f64| match result.element {
                    Element::BOOL => f64::from(u8::from(*n != 0.0)),
                    element if element.is_integer() => n.trunc(),
                    _ => *n,
                };
                Some(known(0)?.iter().map(cast).collect())
            }
            "Where" => {
                let choose = |place: Vec<u64>| {
                    let [condition, then, otherwise] =
                        [0, 1, 2].map(|at| self.given(at).and_then(|v| spread(v, &place)));
                    if condition? != 0.0 { then } else { otherwise }
                };
                places(&result.shape).map(choose).collect()
            }
            "Expand" => {
                let data = self.given(0)?;
                places(&result.shape).map(|place| spread(data, &place)).collect()
            }
            "Gather" => {
                let (indices, rank) = (self.given(1)?, self.given(0)?.shape().len());
                let axis = self.axis_or(0, rank).ok()?;
                let size = *self.given(0)?.shape().get(axis)?;
                indices.numbers.as_ref()?;
                self.picked(result, |place| {
                    let inner: Vec<u64> = place.drain(axis..).collect();
                    let (index, rest) = inner.split_at(indices.shape().len().min(inner.len()));
                    let at = spread(indices, index).unwrap_or(f64::MAX);
                    place.push(if at < 0.0 { at + size as f64 } else { at } as u64);
                    place.extend(rest);
                })
            }
            "Slice" => {
                let slices = self.slices().ok().flatten()?;
                self.picked(result, |place| {
                    for (at, (start, step, _)) in place.iter_mut().zip(&slices) {
                        let moved = step.checked_mul(*at as i64).and_then(|moved| start.checked_add(moved));
                        *at = moved.and_then(|at| u64::try_from(at).ok()).unwrap_or(u64::MAX);
                    }
                })
            }
            "Transpose" => {
                let order = self.permutation().ok()?;
                self.picked(result, |place| {
                    let moved = std::mem::take(place);
                    place.resize(order.len(), 0);
                    order.iter().zip(moved).for_each(|(axis, at)| place[*axis] = at);
                })
            }
            "Concat" => {
                let axis = self.axis_or(1, result.shape.len()).ok()?;
                let found = |mut place: Vec<u64>| {
                    for value in self.inputs.iter().flatten() {
                        let size = *value.shape().get(axis)?;
                        if place[axis] < size {
                            return spread(value, &place);
                        }
                        place[axis] -= size;
                    }
                    None
                };
                places(&result.shape).map(found).collect()
            }
            "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" if result.numel() == 1 => {
                let all = known(0)?.iter().copied();
                Some(vec![match name {
                    "ReduceProd" => all.product(),
                    "ReduceSum" => all.sum(),
                    "ReduceMax" => all.reduce(f64::max)?,
                    _ => all.reduce(f64::min)?,
                }])
            }
            _ if listed(KEPT, name) => Some(known(0)?.to_vec()),
            _ => self.computed(result),
        }
    }

    /// Arithmetic and comparisons, element by element.
    fn computed(&self, result: &Tensor) -> Option<Vec<f64>> {
        let integer = self.given(0)?.tensor.element.is_integer();
        let one = |place: Vec<u64>| {
            let mut operands = self.inputs.iter().map(|value| spread((*value)?, &place));
            let first = operands.next()??;
            match self.inputs.len() {
                1 => unary(self.name, first),
                _ => operands.try_fold(first, |a, b| binary(self.name, integer, a, b?)),
            }
        };
        places(&result.shape).map(one).collect()
    }

    fn constant_numbers(&self) -> Option<Vec<f64>> {
        if let Some(tensor) = self.constant_tensor() {
            return Some(constant(tensor).ok()?.1?.to_vec());
        }
        let attribute = self.node.attribute.first()?;
        match attribute.name.as_str() {
            "value_int" => Some(vec![attribute.i.unwrap_or(0) as f64]),
            "value_float" => Some(vec![f64::from(attribute.f.unwrap_or(0.0))]),
            "value_ints" => Some(attribute.ints.iter().map(|n| *n as f64).collect()),
            "value_floats" => Some(attribute.floats.iter().map(|n| f64::from(*n)).collect()),
            _ => None,
        }
    }
}

//! Shapes of what moves elements and computes nothing: reshapes, slices, gathers.

use super::node::{Fault, Listed, Operator, mismatch};
use super::shape::{Results, broadcast};
use super::tensor::{Element, sizes};
use crate::launch::product;

/// Of a dimension the first element, the step, and how many.
type Slice = (i64, i64, u64);

impl Operator<'_> {
    pub(super) fn layout(&self) -> Result<Results, Fault> {
        let shape = match self.name {
            "Reshape" => match self.ints_or_input("shape", 1) {
                Listed::Known(dims) => Some(self.reshaped(&self.input(0)?.tensor, &dims)?),
                _ => None,
            },
            "Flatten" => {
                let shape = self.input(0)?.shape();
                let (rows, columns) = shape.split_at(self.split_at(1, shape.len())?);
                Some(vec![product(rows), product(columns)])
            }
            "Squeeze" => self.squeezed()?,
            "Unsqueeze" => self.unsqueezed()?,
            "Transpose" => {
                let shape = self.input(0)?.shape();
                Some(self.permutation()?.into_iter().map(|axis| shape[axis]).collect())
            }
            "Cast" => {
                let element = self.need(self.data_type("to"), "to", "a type")?;
                return Ok(Some(vec![self.tensor(element, self.input(0)?.shape().to_vec())?]));
            }
            "CastLike" => {
                let element = self.input(1)?.tensor.element;
                return Ok(Some(vec![self.tensor(element, self.input(0)?.shape().to_vec())?]));
            }
            "Concat" => {
                let parts: Vec<&[u64]> = self.inputs.iter().flatten().map(|value| value.shape()).collect();
                Some(self.joined(&parts)?)
            }
            "Slice" => self.sliced()?,
            "Split" => return self.split(),
            "Expand" => match self.numbers(1) {
                Some(dims) => Some(broadcast(self.input(0)?.shape(), &sizes(&dims)?)?),
                None => None,
            },
            "Tile" => match self.numbers(1) {
                Some(repeats) => {
                    let both = self.input(0)?.shape().iter().zip(sizes(&repeats)?);
                    Some(both.map(|(d, times)| d.saturating_mul(times)).collect())
                }
                None => None,
            },
            "Gather" => {
                let (data, indices) = (self.input(0)?.shape(), self.input(1)?.shape());
                let axis = self.axis_or(0, data.len())?;
                Some([&data[..axis], indices, &data[axis + 1..]].concat())
            }
            "GatherElements" => Some(self.input(1)?.shape().to_vec()),
            "GatherND" => {
                let (data, indices) = (self.input(0)?.shape(), self.input(1)?.shape());
                let batch = usize::try_from(self.int("batch_dims").unwrap_or(0)).unwrap_or(0);
                let Some((last, rest)) = indices.split_last() else {
                    return mismatch("indices are one number");
                };
                let kept = usize::try_from(*last).ok().and_then(|last| data.get(batch.checked_add(last)?..));
                match kept {
                    Some(kept) => Some([rest, kept].concat()),
                    None => return mismatch(format!("indices {indices:?} into {data:?}")),
                }
            }
            "TopK" => return self.top(),
            "DepthToSpace" | "SpaceToDepth" => {
                let [n, c, h, w] = self.input(0)?.shape() else {
                    return mismatch("the input has four dimensions");
                };
                let side = self.size("blocksize").unwrap_or(1).max(1);
                let all = side.saturating_mul(side);
                Some(match self.name {
                    "DepthToSpace" => vec![*n, c / all, h.saturating_mul(side), w.saturating_mul(side)],
                    _ => vec![*n, c.saturating_mul(all), h / side, w / side],
                })
            }
            _ => None,
        };
        match shape {
            Some(shape) => Ok(Some(vec![self.tensor(self.input(0)?.tensor.element, shape)?])),
            None => Ok(None),
        }
    }

    /// For each dimension of the result, which of the input it is.
    pub(super) fn permutation(&self) -> Result<Vec<usize>, Fault> {
        let rank = self.input(0)?.shape().len();
        let Some(order) = self.ints("perm") else { return Ok((0..rank).rev().collect()) };
        let mut axes = Vec::with_capacity(rank);
        for axis in order {
            let axis = self.axis(*axis, rank)?;
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        if axes.len() == rank && order.len() == rank {
            Ok(axes)
        } else {
            mismatch(format!("{order:?} of {rank} dimensions"))
        }
    }

    fn squeezed(&self) -> Result<Option<Vec<u64>>, Fault> {
        let shape = self.input(0)?.shape();
        let mut gone: Vec<bool> = shape.iter().map(|d| *d == 1).collect();
        match self.ints_or_input("axes", 1) {
            Listed::Unknown => return Ok(None),
            Listed::Absent => {}
            Listed::Known(axes) => {
                let ones = std::mem::replace(&mut gone, vec![false; shape.len()]);
                for axis in axes {
                    let axis = self.axis(axis, shape.len())?;
                    if !ones[axis] {
                        return mismatch(format!("dimension {axis} of {shape:?} is not 1"));
                    }
                    gone[axis] = true;
                }
            }
        }
        Ok(Some(shape.iter().zip(gone).filter(|(_, gone)| !gone).map(|(d, _)| *d).collect()))
    }

    fn unsqueezed(&self) -> Result<Option<Vec<u64>>, Fault> {
        let axes = match self.ints_or_input("axes", 1) {
            Listed::Known(axes) => axes,
            Listed::Absent => self.need(None, "axes", "a list of axes")?,
            Listed::Unknown => return Ok(None),
        };
        let shape = self.input(0)?.shape();
        let mut new = vec![false; shape.len() + axes.len()];
        for axis in &axes {
            let axis = self.axis(*axis, new.len())?;
            if std::mem::replace(&mut new[axis], true) {
                return mismatch(format!("an axis is twice in {axes:?}"));
            }
        }
        let mut old = shape.iter().copied();
        Ok(Some(new.into_iter().map(|new| if new { 1 } else { old.next().unwrap_or(1) }).collect()))
    }

    /// The shape of parts behind each other.
    pub(super) fn joined(&self, parts: &[&[u64]]) -> Result<Vec<u64>, Fault> {
        let Some((first, rest)) = parts.split_first() else { return mismatch("nothing is joined") };
        let mut shape = first.to_vec();
        let axis = self.axis_or(1, shape.len())?;
        for other in rest {
            let fits = other.len() == shape.len()
                && other.iter().zip(&shape).enumerate().all(|(at, (a, b))| at == axis || a == b);
            if !fits {
                return mismatch(format!("{other:?} behind {shape:?} on axis {axis}"));
            }
            shape[axis] = shape[axis].saturating_add(other[axis]);
        }
        Ok(shape)
    }

    /// For each dimension what is taken; nothing where it is not known.
    pub(super) fn slices(&self) -> Result<Option<Vec<Slice>>, Fault> {
        let shape = self.input(0)?.shape();
        let lists = [("starts", 1), ("ends", 2), ("axes", 3)].map(|(name, at)| self.ints_or_input(name, at));
        let [Listed::Known(starts), Listed::Known(ends), axes] = lists else { return Ok(None) };
        let axes = match axes {
            Listed::Known(axes) => axes,
            Listed::Absent => (0..starts.len() as i64).collect(),
            Listed::Unknown => return Ok(None),
        };
        let steps = match self.ints_or_input("", 4) {
            Listed::Known(steps) => steps,
            Listed::Absent => vec![1; starts.len()],
            Listed::Unknown => return Ok(None),
        };
        if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
            return mismatch("starts, ends, axes and steps are not as many");
        }
        let mut all: Vec<Slice> = shape.iter().map(|d| (0, 1, *d)).collect();
        for at in 0..starts.len() {
            let axis = self.axis(axes[at], shape.len())?;
            // Below 2^53.
            let (size, step) = (shape[axis] as i64, steps[at]);
            let place = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
            let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
            let start = place(starts[at]).clamp(low.max(0), high.max(0));
            // -1 would count from the end: what is before the first is far below.
            let end = place(ends[at]).clamp(low, high);
            let count = match step {
                0 => return mismatch("a step of 0"),
                1.. => (i128::from(end) - i128::from(start) + i128::from(step) - 1) / i128::from(step),
                _ => (i128::from(start) - i128::from(end) - i128::from(step) - 1) / -i128::from(step),
            };
            all[axis] = (start, step, if size == 0 { 0 } else { count.max(0) as u64 });
        }
        Ok(Some(all))
    }

    /// The first and the last element that a slice takes, as they lie in its input; nothing where that is not known.
    pub(super) fn sliced_elements(&self) -> Result<Option<[u64; 2]>, Fault> {
        let shape = self.input(0)?.shape();
        let Some(slices) = self.slices()? else { return Ok(None) };
        let (mut apart, mut elements) = (1_u64, [0_u64; 2]);
        for ((start, step, count), size) in slices.into_iter().zip(shape).rev() {
            let steps = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
            let end = start.saturating_add(step.saturating_mul(steps));
            for (element, at) in elements.iter_mut().zip([start.min(end), start.max(end)]) {
                *element = element.saturating_add(apart.saturating_mul(at.unsigned_abs()));
            }
            apart = apart.saturating_mul(*size);
        }
        Ok(Some(elements))
    }

    fn sliced(&self) -> Result<Option<Vec<u64>>, Fault> {
        Ok(self.slices()?.map(|slices| slices.into_iter().map(|(_, _, count)| count).collect()))
    }

    /// How many elements of the axis each result has.
    pub(super) fn parts(&self) -> Result<Option<(usize, Vec<u64>)>, Fault> {
        let shape = self.input(0)?.shape();
        let axis = self.axis_or(0, shape.len())?;
        let count = self.node.output.len().max(1) as u64;
        let parts = match self.ints_or_input("split", 1) {
            Listed::Unknown => return Ok(None),
            Listed::Known(parts) => sizes(&parts)?,
            Listed::Absent => {
                let each = shape[axis].div_ceil(count);
                (0..count).map(|at| shape[axis].saturating_sub(at.saturating_mul(each)).min(each)).collect()
            }
        };
        let sum = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        if sum != shape[axis] || parts.len() as u64 != count {
            return mismatch(format!("parts of {parts:?} of axis {axis} of {shape:?}, for {count} results"));
        }
        Ok(Some((axis, parts)))
    }

    fn split(&self) -> Result<Results, Fault> {
        let input = self.input(0)?;
        let Some((axis, parts)) = self.parts()? else { return Ok(None) };
        let one = |part| {
            let mut shape = input.shape().to_vec();
            shape[axis] = part;
            self.tensor(input.tensor.element, shape)
        };
        parts.into_iter().map(one).collect::<Result<_, _>>().map(Some)
    }

    fn top(&self) -> Result<Results, Fault> {
        let input = self.input(0)?;
        let Some(count) = self.numbers(1).and_then(|n| n.first().copied()).or(self.int("k")) else {
            return Ok(None);
        };
        let mut shape = input.shape().to_vec();
        let axis = self.axis_or(-1, shape.len())?;
        shape[axis] = sizes(&[count])?[0].min(shape[axis]);
        let indices = self.tensor(Element::INT64, shape.clone())?;
        Ok(Some(vec![self.tensor(input.tensor.element, shape)?, indices]))
    }
}

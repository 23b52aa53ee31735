//! What a launch helper refuses, and the checks that the helpers share.

use std::ops::RangeInclusive;
use windlass_runtime::runtime::{Element, Error as RuntimeError, View};

/// No operand has more elements: indices are 32 bits wide on the GPU.
pub const MAX_ELEMENTS: usize = i32::MAX as usize;

/// What a launch helper or a program refuses. Nothing has been launched then by that helper.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size or a number out of its range.
    #[error("{of}: {field} is {got}; choose {min} to {max}")]
    Range {
        /// The kernel or program.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// What was given.
        got: f64,
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// An operand of more elements than [`MAX_ELEMENTS`].
    #[error("{of}: {argument} of the shape {shape:?} has more than {MAX_ELEMENTS} elements; split it")]
    TooLarge {
        /// The kernel.
        of: &'static str,
        /// The argument.
        argument: &'static str,
        /// The sizes.
        shape: Vec<usize>,
    },
    /// A view of another length than the shape says.
    #[error(
        "{of}: {argument} has {got} elements, and its shape {shape:?} makes {want}; give a view of that length"
    )]
    Length {
        /// The kernel.
        of: &'static str,
        /// The argument.
        argument: &'static str,
        /// Elements of the view.
        got: usize,
        /// Elements of the shape.
        want: usize,
        /// The sizes.
        shape: Vec<usize>,
    },
    /// An output that shares elements with another argument.
    #[error("{of}: {output} shares elements with {argument}; give it others")]
    Overlap {
        /// The kernel.
        of: &'static str,
        /// The argument that is written.
        output: &'static str,
        /// The other one.
        argument: &'static str,
    },
    /// What the runtime refuses, or how a kernel failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// A size within its range, as kernels take it.
pub(crate) fn size(
    of: &'static str,
    field: &'static str,
    got: usize,
    range: RangeInclusive<usize>,
) -> Result<u32, Error> {
    let error =
        Error::Range { of, field, got: got as f64, min: *range.start() as f64, max: *range.end() as f64 };
    u32::try_from(got).ok().filter(|_| range.contains(&got)).ok_or(error)
}

/// A finite number within its range.
pub(crate) fn number(
    of: &'static str,
    field: &'static str,
    got: f32,
    range: RangeInclusive<f32>,
) -> Result<(), Error> {
    // As it is written: 0.1, and not the 0.10000000149 that `f32` makes of it.
    let wide = |x: f32| x.to_string().parse().unwrap_or(f64::from(x));
    let (got_wide, min, max) = (wide(got), wide(*range.start()), wide(*range.end()));
    // What is no number is in no range.
    if range.contains(&got) { Ok(()) } else { Err(Error::Range { of, field, got: got_wide, min, max }) }
}

/// The elements of a shape, whose sizes are checked.
pub(crate) fn elements(of: &'static str, argument: &'static str, shape: &[usize]) -> Result<usize, Error> {
    let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    count.filter(|n| *n <= MAX_ELEMENTS).ok_or_else(|| Error::TooLarge {
        of,
        argument,
        shape: shape.to_vec(),
    })
}

/// A view's length. Of a range that ends before it begins: 0.
pub(crate) fn length<T: Element>(view: &View<T>) -> usize {
    view.range().len()
}

/// The view is as long as the shape says, and the shape within the limits.
pub(crate) fn shaped<T: Element>(
    of: &'static str,
    argument: &'static str,
    view: &View<T>,
    shape: &[usize],
) -> Result<(), Error> {
    let want = elements(of, argument, shape)?;
    let got = length(view);
    if got == want { Ok(()) } else { Err(Error::Length { of, argument, got, want, shape: shape.to_vec() }) }
}

/// The output shares no element with an input: CTAs run in any order.
pub(crate) fn apart<T: Element>(
    of: &'static str,
    (output, to): (&'static str, &View<T>),
    others: &[(&'static str, &View<T>)],
) -> Result<(), Error> {
    for (argument, from) in others {
        let (a, b) = (to.range(), from.range());
        if to.buffer() == from.buffer() && a.start < b.end && b.start < a.end {
            return Err(Error::Overlap { of, output, argument });
        }
    }
    Ok(())
}

/// CTAs for so many elements; at most [`MAX_ELEMENTS`], which is also CUDA's limit.
pub(crate) fn ctas(elements: usize, threads: usize) -> u32 {
    elements.div_ceil(threads) as u32
}

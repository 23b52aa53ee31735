//! What needs all of a matrix's row: sums, maxima, softmax, layer norm.
//!
//! A CTA per row, of [`LANES`] threads: a thread takes every 256th element, from the first on, then the threads' results go together in
//! halves. The order is the same on every executor, and nothing depends on chance.

use crate::error::{MAX_ELEMENTS, apart, number, shaped, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::runtime::{Arg, CudaKernel, Kernel, Registered, Runtime, Ticket, View};

pub(crate) const LANES: usize = 256;

/// One number of a row's `cols` elements, joined in the order that is described above.
fn reduce(start: f32, cols: usize, element: impl Fn(usize) -> f32, join: fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    for (lane, to) in lanes.iter_mut().enumerate() {
        *to = (lane..cols).step_by(LANES).fold(start, |so_far, col| join(so_far, element(col)));
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(to, from)| *to = join(*to, *from));
        half /= 2;
    }
    lanes[0]
}

fn sum(cols: usize, element: impl Fn(usize) -> f32) -> f32 {
    reduce(0.0, cols, element, |a, b| a + b)
}

fn max(cols: usize, element: impl Fn(usize) -> f32) -> f32 {
    reduce(f32::NEG_INFINITY, cols, element, f32::max)
}

pub(crate) fn sum_rows() -> Kernel {
    Kernel::new("sum_rows")
        .read_of::<f32>("x")
        .write_of::<f32>("y")
        .value_of::<u32>("cols")
        .body(|cta| {
            let (x, y) = (cta.read::<f32>(0)?, cta.write::<f32>(1)?);
            let (row, cols) = (cta.index() as usize, cta.value::<u32>(2)? as usize);
            y.set(row, sum(cols, |col| x.get(row * cols + col)));
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("rows.cu"), "sum_rows"))
}

pub(crate) fn max_rows() -> Kernel {
    Kernel::new("max_rows")
        .read_of::<f32>("x")
        .write_of::<f32>("y")
        .value_of::<u32>("cols")
        .body(|cta| {
            let (x, y) = (cta.read::<f32>(0)?, cta.write::<f32>(1)?);
            let (row, cols) = (cta.index() as usize, cta.value::<u32>(2)? as usize);
            y.set(row, max(cols, |col| x.get(row * cols + col)));
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("rows.cu"), "max_rows"))
}

pub(crate) fn softmax_rows() -> Kernel {
    Kernel::new("softmax_rows")
        .read_of::<f32>("x")
        .write_of::<f32>("y")
        .value_of::<u32>("cols")
        .body(|cta| {
            let (x, y) = (cta.read::<f32>(0)?, cta.write::<f32>(1)?);
            let (row, cols) = (cta.index() as usize, cta.value::<u32>(2)? as usize);
            // Less the largest, so that no power is beyond 1.
            let largest = max(cols, |col| x.get(row * cols + col));
            let power = |col| (x.get(row * cols + col) - largest).exp();
            let all = sum(cols, power);
            (0..cols).for_each(|col| y.set(row * cols + col, power(col) / all));
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("rows.cu"), "softmax_rows"))
}

pub(crate) fn layer_norm_rows() -> Kernel {
    Kernel::new("layer_norm_rows")
        .read_of::<f32>("x")
        .read_of::<f32>("gain")
        .read_of::<f32>("bias")
        .write_of::<f32>("y")
        .value_of::<u32>("cols")
        .value_of::<f32>("epsilon")
        .body(|cta| {
            let (x, gain, bias) = (cta.read::<f32>(0)?, cta.read::<f32>(1)?, cta.read::<f32>(2)?);
            let y = cta.write::<f32>(3)?;
            let (cols, epsilon) = (cta.value::<u32>(4)? as usize, cta.value::<f32>(5)?);
            let first = cta.index() as usize * cols;
            let mean = sum(cols, |col| x.get(first + col)) / cols as f32;
            // The mean first: the difference of two large sums would lose what small variances are made of.
            let from_mean = |col| x.get(first + col) - mean;
            let variance = sum(cols, |col| from_mean(col) * from_mean(col)) / cols as f32;
            let scale = 1.0 / (variance + epsilon).sqrt();
            for col in 0..cols {
                y.set(first + col, from_mean(col) * scale * gain.get(col) + bias.get(col));
            }
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("rows.cu"), "layer_norm_rows"))
}

impl Library {
    /// Each row's sum: `x` is rows × cols, `y` has `rows`. Error, of the sum of absolutes: (cols / 256 + 9) 2^-24.
    ///
    /// # Errors
    /// [`Error::Range`]: a size of 0; [`Error::TooLarge`]; [`Error::Length`]; [`Error::Overlap`] of `y` with another;
    /// [`Error::Runtime`].
    pub fn sum_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        [rows, cols]: [usize; 2],
    ) -> Result<Ticket, Error> {
        launch(rt, (self.sum_rows, "sum_rows"), (x.into(), &[]), (y.into(), &[rows]), [rows, cols], None)
    }

    /// Each row's largest element, exactly; NaN is passed over, and a row of nothing else gives -∞. Otherwise as [`Library::sum_rows`].
    ///
    /// # Errors
    /// As [`Library::sum_rows`].
    pub fn max_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        [rows, cols]: [usize; 2],
    ) -> Result<Ticket, Error> {
        launch(rt, (self.max_rows, "max_rows"), (x.into(), &[]), (y.into(), &[rows]), [rows, cols], None)
    }

    /// Each row's softmax: `x` and `y` are rows × cols. Any finite `x` will do. Error, absolute: (cols / 256 + 32) 2^-24.
    ///
    /// # Errors
    /// As [`Library::sum_rows`].
    pub fn softmax_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        [rows, cols]: [usize; 2],
    ) -> Result<Ticket, Error> {
        let kernel = (self.softmax_rows, "softmax_rows");
        launch(rt, kernel, (x.into(), &[]), (y.into(), &[rows, cols]), [rows, cols], None)
    }

    /// Each row less its mean, divided by the root of its variance plus `epsilon` (at least the smallest normal `f32`), times `gain`, plus
    /// `bias`: `x` and `y` are rows × cols, `gain` and `bias` have `cols`. Error: (cols / 128 + 48) 2^-24 of |gain| times the row's largest
    /// |x| divided by that root, plus |bias|.
    ///
    /// # Errors
    /// As [`Library::sum_rows`].
    #[expect(clippy::too_many_arguments, reason = "they are the operands")]
    pub fn layer_norm_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        gain: impl Into<View<f32>>,
        bias: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        [rows, cols]: [usize; 2],
        epsilon: f32,
    ) -> Result<Ticket, Error> {
        let kernel = (self.layer_norm_rows, "layer_norm_rows");
        number(kernel.1, "epsilon", epsilon, f32::MIN_POSITIVE..=f32::MAX)?;
        let more = [("gain", gain.into()), ("bias", bias.into())];
        launch(rt, kernel, (x.into(), &more), (y.into(), &[rows, cols]), [rows, cols], Some(epsilon))
    }
}

/// Checks and launches: `x` of rows × cols, more inputs of `cols`, an output of its own shape.
fn launch(
    rt: &mut Runtime,
    (kernel, name): (Registered, &'static str),
    (x, more): (View<f32>, &[(&'static str, View<f32>)]),
    (y, shape): (View<f32>, &[usize]),
    [rows, cols]: [usize; 2],
    last: Option<f32>,
) -> Result<Ticket, Error> {
    let grid = size(name, "rows", rows, 1..=MAX_ELEMENTS)?;
    let width = size(name, "cols", cols, 1..=MAX_ELEMENTS)?;
    shaped(name, "x", &x, &[rows, cols])?;
    shaped(name, "y", &y, shape)?;
    apart(name, ("y", &y), &[("x", &x)])?;
    let mut list = vec![Arg::from(&x)];
    for (argument, view) in more {
        shaped(name, argument, view, &[cols])?;
        apart(name, ("y", &y), &[(argument, view)])?;
        list.push(view.into());
    }
    list.extend_from_slice(args![y, width]);
    list.extend(last.map(Arg::from));
    Ok(rt.launch(kernel, grid, LANES as u32, &list)?)
}

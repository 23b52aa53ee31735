//! Each kernel beside its definition in `f64`, on any executor.

use crate::random::Random;
use crate::{Activation, Binary, Convolution, Error, Library, rigid_body, round_to_tf32, rows};
use std::fmt;
use windlass_runtime::runtime::{Buffer, Runtime};

/// Half the distance from 1 to the next larger `f32`: the most by which an operation is wrong, of its result.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// How far a kernel's result is from its definition.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfCheck {
    /// The kernel's name.
    pub kernel: String,
    /// Its sizes.
    pub shape: String,
    /// The largest error of an element, in the unit that the kernel's tolerance has, as its launch helper's page says; infinite where an
    /// element is no number, or is one where it should not be.
    pub error: f64,
    /// The largest error that is right.
    pub tolerance: f64,
}

impl SelfCheck {
    /// The error is within the tolerance.
    pub fn passes(&self) -> bool {
        self.error <= self.tolerance
    }
}

impl fmt::Display for SelfCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, shape, error, tolerance } = self;
        write!(f, "{kernel} ({shape}): error {error:.3e}, tolerance {tolerance:.3e}")
    }
}

/// Runs each kernel on shapes that were chosen for their edges: one element, one less and one more than a tile, odd sizes.
/// The buffers stay with the runtime.
///
/// # Errors
/// [`Error::Runtime`]: what the runtime refuses, a kernel that failed. An error that is too large is none here: see [`SelfCheck::passes`].
pub fn self_checks(rt: &mut Runtime) -> Result<Vec<SelfCheck>, Error> {
    let mut checks = Checks::new(rt, 0)?;
    for sizes in [[1, 1, 1], [64, 64, 16], [63, 65, 17], [65, 63, 15], [3, 130, 33], [130, 2, 200]] {
        checks.gemm(sizes)?;
    }
    for (batch, [channels, height, width], filters, filter, stride, padding) in [
        (1, [1, 1, 1], 1, [1, 1], 1, 0),
        (2, [3, 9, 7], 5, [3, 3], 1, 1),
        (1, [4, 13, 8], 3, [5, 2], 2, 3),
        (3, [2, 6, 11], 4, [1, 1], 3, 0),
        (1, [1, 2, 3], 2, [6, 7], 1, 2),
    ] {
        checks.convolution(Convolution {
            batch,
            channels,
            height,
            width,
            filters,
            filter,
            stride,
            padding,
        })?;
    }
    for n in [1, 255, 256, 1027] {
        checks.elementwise(n)?;
    }
    checks.far_activations()?;
    for [batch, channels, inner] in [[1, 1, 1], [5, 7, 1], [2, 3, 35]] {
        checks.bias(batch, channels, inner)?;
    }
    for sizes in [[1, 1], [3, 255], [2, 257], [70, 10], [2, 3000]] {
        checks.rows(sizes)?;
    }
    for sizes in [[1, 1, 1], [5, 3, 9], [40, 300, 60]] {
        checks.index(sizes)?;
    }
    for sizes in [[1, 1, 1, 1], [5, 7, 9, 7], [5, 7, 7, 11], [300, 3, 5, 4]] {
        checks.copy_block(sizes)?;
    }
    rigid_body::self_check(checks.rt, &mut checks.random, &mut checks.list)?;
    Ok(checks.list)
}

/// Runs each kernel of the library on one random shape, which is the same for the same seed.
///
/// # Errors
/// As [`self_checks`].
pub fn random_checks(rt: &mut Runtime, seed: u64) -> Result<Vec<SelfCheck>, Error> {
    let mut checks = Checks::new(rt, seed)?;
    let sizes = [150, 150, 60].map(|end| 1 + checks.random.below(end));
    checks.gemm(sizes)?;
    let [batch, channels, height, width, filters, rows, cols, stride] =
        [3, 4, 14, 14, 5, 5, 5, 4].map(|end| 1 + checks.random.below(end));
    let padding = (rows.max(cols)).saturating_sub(height.min(width)) + checks.random.below(4);
    let filter = [rows, cols];
    checks.convolution(Convolution { batch, channels, height, width, filters, filter, stride, padding })?;
    let n = 1 + checks.random.below(2000);
    checks.elementwise(n)?;
    let [batch, channels, inner] = [6, 9, 40].map(|end| 1 + checks.random.below(end));
    checks.bias(batch, channels, inner)?;
    let sizes = [20, 1500].map(|end| 1 + checks.random.below(end));
    checks.rows(sizes)?;
    let sizes = [50, 300, 80].map(|end| 1 + checks.random.below(end));
    checks.index(sizes)?;
    let [rows, cols, from, to] = [300, 20, 5, 5].map(|end| 1 + checks.random.below(end));
    checks.copy_block([rows, cols, cols + from, cols + to - 1])?;
    Ok(checks.list)
}

/// The largest error of all elements, each given with its right value and the unit of its error; infinite where there is an element more,
/// or one less.
pub(crate) fn largest_error(got: &[f32], want: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let error = |(got, (want, unit)): (&f32, (f64, f64))| {
        let error = (f64::from(*got) - want).abs();
        // Equal infinities, and 0 where 0 is the unit.
        if f64::from(*got) == want { 0.0 } else { error / unit }
    };
    let worst = |so_far: f64, error: f64| if error.is_nan() { f64::INFINITY } else { so_far.max(error) };
    let mut want = want.into_iter();
    let largest = got.iter().zip(want.by_ref().take(got.len())).map(error);
    let (compared, largest) = largest.fold((0, 0.0), |(n, so_far), error| (n + 1, worst(so_far, error)));
    if compared == got.len() && want.next().is_none() { largest } else { f64::INFINITY }
}

struct Checks<'a> {
    rt: &'a mut Runtime,
    kernels: Library,
    random: Random,
    list: Vec<SelfCheck>,
}

impl<'a> Checks<'a> {
    fn new(rt: &'a mut Runtime, seed: u64) -> Result<Self, Error> {
        let kernels = Library::register(rt)?;
        Ok(Self { rt, kernels, random: Random::new(seed), list: Vec::new() })
    }

    /// An operand, also in `f64`.
    fn operand(&mut self, len: usize, scale: f32) -> Result<(Buffer<f32>, Vec<f64>), Error> {
        let values = self.random.vector(len, scale);
        let buffer = self.rt.buffer_from(&values)?;
        Ok((buffer, values.into_iter().map(f64::from).collect()))
    }

    /// Memory for a result, full of NaN: what is not written shows.
    fn result(&mut self, len: usize) -> Result<Buffer<f32>, Error> {
        Ok(self.rt.buffer_from(&vec![f32::NAN; len])?)
    }

    fn compare(
        &mut self,
        (kernel, shape): (&str, String),
        result: Buffer<f32>,
        tolerance: f64,
        want: impl IntoIterator<Item = (f64, f64)>,
    ) -> Result<(), Error> {
        let error = largest_error(&self.rt.read(result)?, want);
        self.list.push(SelfCheck { kernel: kernel.into(), shape, error, tolerance });
        Ok(())
    }

    fn gemm(&mut self, [m, n, k]: [usize; 3]) -> Result<(), Error> {
        let ((a, wide_a), (b, wide_b)) = (self.operand(m * k, 1.0)?, self.operand(k * n, 1.0)?);
        let shape = format!("m {m}, n {n}, k {k}");
        let product = |a: &[f64], b: &[f64]| -> Vec<(f64, f64)> {
            let element = |i: usize, j: usize| {
                let products = (0..k).map(|p| a[i * k + p] * b[p * n + j]);
                products.fold((0.0, 0.0), |(sum, unit), x| (sum + x, unit + x.abs()))
            };
            (0..m * n).map(|at| element(at / n, at % n)).collect()
        };
        let c = self.result(m * n)?;
        self.kernels.gemm(self.rt, a, b, c, [m, n, k])?;
        self.compare(("gemm", shape.clone()), c, k as f64 * 2.0 * UNIT, product(&wide_a, &wide_b))?;

        let (tf32, summed) = (1.0 / 1024.0, (k + 8) as f64 * 4.0 * UNIT);
        let c = self.result(m * n)?;
        self.kernels.gemm_tf32(self.rt, a, b, c, [m, n, k])?;
        self.compare(("gemm_tf32", shape.clone()), c, tf32 + summed, product(&wide_a, &wide_b))?;
        // The same result against rounded operands shows that nothing else was lost.
        let rounded = |x: &[f64]| x.iter().map(|x| f64::from(round_to_tf32(*x as f32))).collect::<Vec<_>>();
        let want = product(&rounded(&wide_a), &rounded(&wide_b));
        self.compare(("gemm_tf32", format!("{shape}, operands rounded before")), c, summed, want)
    }

    fn convolution(&mut self, sizes: Convolution) -> Result<(), Error> {
        let Convolution { batch, channels, height, width, filters, filter: [rows, cols], stride, padding } =
            sizes;
        let [out_height, out_width] = sizes.output()?;
        let (x, wide_x) = self.operand(batch * channels * height * width, 1.0)?;
        let (w, wide_w) = self.operand(filters * channels * rows * cols, 1.0)?;
        let y = self.result(batch * filters * out_height * out_width)?;
        self.kernels.conv2d(self.rt, x, w, y, sizes)?;
        // From the other side than the kernel: each element of the image goes where the filter takes it.
        let mut want = vec![(0.0, 0.0); y.len()];
        for (at, value) in wide_x.iter().enumerate() {
            let (ix, iy) = (at % width, at / width % height);
            let (c, image) = (at / width / height % channels, at / width / height / channels);
            for (f, r, s) in (0..filters * rows * cols).map(|t| (t / cols / rows, t / cols % rows, t % cols))
            {
                let (Some(y), Some(x)) = ((iy + padding).checked_sub(r), (ix + padding).checked_sub(s))
                else {
                    continue;
                };
                if y % stride == 0 && x % stride == 0 && y / stride < out_height && x / stride < out_width {
                    let to = ((image * filters + f) * out_height + y / stride) * out_width + x / stride;
                    let product = value * wide_w[((f * channels + c) * rows + r) * cols + s];
                    want[to].0 += product;
                    want[to].1 += f64::abs(product);
                }
            }
        }
        let shape = format!(
            "{batch}×{channels}×{height}×{width}, {filters} filters of {rows}×{cols}, stride {stride}, padding {padding}"
        );
        self.compare(("conv2d", shape), y, (channels * rows * cols) as f64 * 2.0 * UNIT, want)
    }

    fn elementwise(&mut self, n: usize) -> Result<(), Error> {
        let ((x, wide_x), (y, wide_y)) = (self.operand(n, 8.0)?, self.operand(n, 8.0)?);
        for op in Binary::ALL {
            let z = self.result(n)?;
            self.kernels.binary(self.rt, op, x, y, z)?;
            let (name, f): (_, fn(f64, f64) -> f64) = match op {
                Binary::Add => ("add", |x, y| x + y),
                Binary::Sub => ("sub", |x, y| x - y),
                Binary::Mul => ("mul", |x, y| x * y),
                Binary::Max => ("max", f64::max),
            };
            // Rounded once, from a result in `f64` that is exact: the right bits.
            let want = wide_x.iter().zip(&wide_y).map(|(x, y)| (f64::from(f(*x, *y) as f32), 1.0));
            self.compare((name, format!("{n}")), z, 0.0, want)?;
        }
        self.activations((x, wide_x), format!("{n}"))
    }

    /// Where results vanish, saturate, or pass through numbers that overflow.
    fn far_activations(&mut self) -> Result<(), Error> {
        let mut values: Vec<f32> = (-480..=480).map(|n| n as f32 / 4.0).collect();
        for x in [1e-40, 1e-30, 1e-4, 88.73, 103.9, 1e4, 1e13, 3e38] {
            values.extend([x, -x]);
        }
        let x = self.rt.buffer_from(&values)?;
        let wide = values.into_iter().map(f64::from).collect();
        self.activations((x, wide), "from -3e38 to 3e38".into())
    }

    fn activations(&mut self, (x, wide): (Buffer<f32>, Vec<f64>), shape: String) -> Result<(), Error> {
        for op in Activation::ALL {
            let y = self.result(wide.len())?;
            self.kernels.unary(self.rt, op, x, y)?;
            let want = wide.iter().map(|x| {
                let value = activation(op, *x);
                let of = if op == Activation::Gelu { x.abs() } else { value.abs() };
                (value, of.max(f64::from(f32::MIN_POSITIVE)))
            });
            let exact = matches!(op, Activation::Identity | Activation::Relu);
            let tolerance = if exact { 0.0 } else { 8.0 * UNIT };
            self.compare((op.names()[0], shape.clone()), y, tolerance, want)?;
        }
        Ok(())
    }

    fn bias(&mut self, batch: usize, channels: usize, inner: usize) -> Result<(), Error> {
        let n = batch * channels * inner;
        let ((x, wide_x), (bias, wide_bias)) = (self.operand(n, 8.0)?, self.operand(channels, 8.0)?);
        for op in Activation::ALL {
            let y = self.result(n)?;
            self.kernels.bias_activation(self.rt, op, x, bias, y, inner)?;
            let want = wide_x.iter().enumerate().map(|(i, x)| {
                let bias = wide_bias[i / inner % channels];
                (activation(op, x + bias), 1.0 + x.abs() + bias.abs())
            });
            let shape = format!("{batch}×{channels}×{inner}");
            self.compare((op.names()[1], shape), y, 12.0 * UNIT, want)?;
        }
        Ok(())
    }

    fn rows(&mut self, [rows, cols]: [usize; 2]) -> Result<(), Error> {
        let (x, wide) = self.operand(rows * cols, 20.0)?;
        let shape = format!("{rows}×{cols}");
        let chunk = (cols / rows::LANES) as f64;
        let each = |f: fn(&[f64]) -> (f64, f64)| wide.chunks(cols).map(f).collect::<Vec<_>>();

        let y = self.result(rows)?;
        self.kernels.sum_rows(self.rt, x, y, [rows, cols])?;
        let want = each(|row| (row.iter().sum(), row.iter().map(|x| x.abs()).sum()));
        self.compare(("sum_rows", shape.clone()), y, (chunk + 9.0) * UNIT, want)?;

        let y = self.result(rows)?;
        self.kernels.max_rows(self.rt, x, y, [rows, cols])?;
        let want = each(|row| (row.iter().copied().fold(f64::NEG_INFINITY, f64::max), 1.0));
        self.compare(("max_rows", shape.clone()), y, 0.0, want)?;

        let y = self.result(rows * cols)?;
        self.kernels.softmax_rows(self.rt, x, y, [rows, cols])?;
        let mut want = Vec::new();
        for row in wide.chunks(cols) {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let all: f64 = row.iter().map(|x| (x - top).exp()).sum();
            want.extend(row.iter().map(|x| ((x - top).exp() / all, 1.0)));
        }
        self.compare(("softmax_rows", shape.clone()), y, (chunk + 32.0) * UNIT, want)?;

        let ((gain, wide_gain), (bias, wide_bias)) = (self.operand(cols, 2.0)?, self.operand(cols, 2.0)?);
        let y = self.result(rows * cols)?;
        let epsilon = 1e-5f32;
        self.kernels.layer_norm_rows(self.rt, x, gain, bias, y, [rows, cols], epsilon)?;
        let mut want = Vec::new();
        for row in wide.chunks(cols) {
            let mean = row.iter().sum::<f64>() / cols as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
            let root = (variance + f64::from(epsilon)).sqrt();
            let largest = row.iter().map(|x| x.abs()).fold(0.0, f64::max);
            want.extend(row.iter().zip(&wide_gain).zip(&wide_bias).map(|((x, gain), bias)| {
                ((x - mean) / root * gain + bias, gain.abs() * largest / root + bias.abs())
            }));
        }
        self.compare(("layer_norm_rows", shape), y, (cols as f64 / 128.0 + 48.0) * UNIT, want)
    }

    fn index(&mut self, [rows, cols, others]: [usize; 3]) -> Result<(), Error> {
        let index: Vec<u32> = (0..rows).map(|_| self.random.below(others) as u32).collect();
        let there = self.rt.buffer_from(&index)?;
        let shape = format!("{rows} rows of {cols}, {others} others");
        let (x, wide) = self.operand(others * cols, 1.0)?;
        let y = self.result(rows * cols)?;
        self.kernels.gather_rows(self.rt, x, there, y, [rows, cols, others])?;
        let want = (0..rows * cols).map(|at| (wide[index[at / cols] as usize * cols + at % cols], 1.0));
        self.compare(("gather_rows", shape.clone()), y, 0.0, want)?;

        let ((x, wide), (y, mut want)) = (self.operand(rows * cols, 1.0)?, self.operand(others * cols, 1.0)?);
        self.kernels.scatter_rows(self.rt, x, there, y, [rows, cols, others])?;
        for (row, to) in wide.chunks(cols).zip(&index) {
            want[*to as usize * cols..][..cols].copy_from_slice(row);
        }
        self.compare(("scatter_rows", shape), y, 0.0, want.into_iter().map(|x| (x, 1.0)))
    }

    fn copy_block(&mut self, sizes: [usize; 4]) -> Result<(), Error> {
        let [rows, cols, from_stride, to_stride] = sizes;
        let ((from, wide), (to, mut want)) =
            (self.operand(rows * from_stride, 1.0)?, self.operand(rows * to_stride, 1.0)?);
        self.kernels.copy_block(self.rt, from, to, sizes)?;
        for row in 0..rows {
            want[row * to_stride..][..cols].copy_from_slice(&wide[row * from_stride..][..cols]);
        }
        let shape = format!("{rows}×{cols}, strides {from_stride} and {to_stride}");
        self.compare(("copy_block", shape), to, 0.0, want.into_iter().map(|x| (x, 1.0)))
    }
}

fn activation(op: Activation, x: f64) -> f64 {
    match op {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_more_or_less_is_an_error() {
        let want = |values: &[f64]| values.iter().map(|x| (*x, 1.0)).collect::<Vec<_>>();
        assert_eq!(largest_error(&[1.0, 2.5], want(&[1.0, 2.0])), 0.5);
        assert_eq!(largest_error(&[], want(&[])), 0.0);
        for (got, want) in [(&[1.0][..], want(&[])), (&[], want(&[1.0])), (&[1.0], want(&[1.0, 2.0]))] {
            assert_eq!(largest_error(got, want), f64::INFINITY);
        }
        assert_eq!(largest_error(&[f32::NAN], want(&[1.0])), f64::INFINITY);
    }
}

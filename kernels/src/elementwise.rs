//! What each element goes through by itself: sums and products of two, activations, activations after a bias.

use crate::error::{MAX_ELEMENTS, apart, ctas, length, shaped, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::ktrace::KernelType;
use windlass_runtime::runtime::{CudaKernel, Kernel, Runtime, Ticket, View};

const THREADS: usize = 256;

/// What becomes of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// `x y`.
    Mul,
    /// The larger one; the other where one is no number.
    Max,
}

impl Binary {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Add, Self::Sub, Self::Mul, Self::Max];

    /// Its kernel's name; the CUDA expression; the same on the CPU.
    fn parts(self) -> (&'static str, &'static str, fn(f32, f32) -> f32) {
        match self {
            Self::Add => ("add", "x + y", |x, y| x + y),
            Self::Sub => ("sub", "x - y", |x, y| x - y),
            Self::Mul => ("mul", "x * y", |x, y| x * y),
            Self::Max => ("max", "fmaxf(x, y)", f32::max),
        }
    }
}

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Itself.
    Identity,
    /// Itself where it is above 0, else 0.
    Relu,
    /// `x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))` (Hendrycks and Gimpel, 2016; the form with `tanh`).
    Gelu,
    /// The hyperbolic tangent.
    Tanh,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
}

impl Activation {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 5] = [Self::Identity, Self::Relu, Self::Gelu, Self::Tanh, Self::Sigmoid];

    /// The kernel's name, alone and after a bias; the CUDA expression; the same on the CPU.
    fn parts(self) -> (&'static str, &'static str, &'static str, fn(f32) -> f32) {
        match self {
            Self::Identity => ("copy", "bias", "x", |x| x),
            Self::Relu => ("relu", "bias_relu", "x > 0.0f ? x : 0.0f", |x| if x > 0.0 { x } else { 0.0 }),
            Self::Gelu => (
                "gelu",
                "bias_gelu",
                "0.5f * x * (1.0f + tanhf(0.7978846f * (x + 0.044715f * x * x * x)))",
                |x| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh()),
            ),
            Self::Tanh => ("tanh", "bias_tanh", "tanhf(x)", f32::tanh),
            // Each side by the power that does not overflow: else small results would be 0.
            Self::Sigmoid => (
                "sigmoid",
                "bias_sigmoid",
                "x < 0.0f ? expf(x) / (1.0f + expf(x)) : 1.0f / (1.0f + expf(-x))",
                |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
            ),
        }
    }

    /// The kernel's name, alone and after a bias.
    pub(crate) fn names(self) -> [&'static str; 2] {
        let (alone, bias, ..) = self.parts();
        [alone, bias]
    }
}

/// The text, with the expression in its place.
fn text(expression: &str, text: &str) -> String {
    format!("#define RESULT ({expression})\n{text}")
}

pub(crate) fn binary(op: Binary) -> Kernel {
    let (name, expression, f) = op.parts();
    Kernel::new(name)
        .read_of::<f32>("x")
        .read_of::<f32>("y")
        .write_of::<f32>("z")
        .value_of::<u32>("n")
        .body(move |cta| {
            let (x, y, z) = (cta.read::<f32>(0)?, cta.read::<f32>(1)?, cta.write::<f32>(2)?);
            let n = cta.value::<u32>(3)? as usize;
            cta.threads().take_while(|i| *i < n).for_each(|i| z.set(i, f(x.get(i), y.get(i))));
            Ok(())
        })
        .cuda(CudaKernel::source(text(expression, include_str!("binary.cu")), "binary"))
}

pub(crate) fn unary(op: Activation) -> Kernel {
    let (name, _, expression, f) = op.parts();
    let kind = if op == Activation::Identity { KernelType::Copy } else { KernelType::Simt };
    Kernel::new(name)
        .kind(kind)
        .read_of::<f32>("x")
        .write_of::<f32>("y")
        .value_of::<u32>("n")
        .body(move |cta| {
            let (x, y) = (cta.read::<f32>(0)?, cta.write::<f32>(1)?);
            let n = cta.value::<u32>(2)? as usize;
            cta.threads().take_while(|i| *i < n).for_each(|i| y.set(i, f(x.get(i))));
            Ok(())
        })
        .cuda(CudaKernel::source(text(expression, include_str!("unary.cu")), "unary"))
}

pub(crate) fn bias(op: Activation) -> Kernel {
    let (_, name, expression, f) = op.parts();
    Kernel::new(name)
        .read_of::<f32>("x")
        .read_of::<f32>("bias")
        .write_of::<f32>("y")
        .value_of::<u32>("n")
        .value_of::<u32>("channels")
        .value_of::<u32>("inner")
        .body(move |cta| {
            let (x, bias, y) = (cta.read::<f32>(0)?, cta.read::<f32>(1)?, cta.write::<f32>(2)?);
            let [n, channels, inner] =
                [cta.value::<u32>(3)?, cta.value::<u32>(4)?, cta.value::<u32>(5)?].map(|v| v as usize);
            let value = |i: usize| f(x.get(i) + bias.get(i / inner % channels));
            cta.threads().take_while(|i| *i < n).for_each(|i| y.set(i, value(i)));
            Ok(())
        })
        .cuda(CudaKernel::source(text(expression, include_str!("bias.cu")), "bias"))
}

/// Elements in place are as good as elsewhere; some other elements of the same buffer are not, for CTAs run in any order.
fn in_place_or_apart(
    of: &'static str,
    (output, to): (&'static str, &View<f32>),
    others: &[(&'static str, &View<f32>)],
) -> Result<(), Error> {
    let others: Vec<_> = others.iter().filter(|(_, view)| *view != to).copied().collect();
    apart(of, (output, to), &others)
}

impl Library {
    /// `z = x op y`, element by element; all three have the same length, 1 to [`MAX_ELEMENTS`]. `z` may be `x` or `y` itself. Exact to the
    /// last bit of `f32`.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::Length`], [`Error::Overlap`] where `z` is neither `x` or `y` itself nor apart; [`Error::Runtime`].
    pub fn binary(
        &self,
        rt: &mut Runtime,
        op: Binary,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        z: impl Into<View<f32>>,
    ) -> Result<Ticket, Error> {
        let (x, y, z) = (x.into(), y.into(), z.into());
        let name = op.parts().0;
        let n = length(&z);
        size(name, "z", n, 1..=MAX_ELEMENTS)?;
        shaped(name, "x", &x, &[n])?;
        shaped(name, "y", &y, &[n])?;
        in_place_or_apart(name, ("z", &z), &[("x", &x), ("y", &y)])?;
        let kernel = self.binary[op as usize];
        Ok(rt.launch(kernel, ctas(n, THREADS), THREADS as u32, args![x, y, z, n as u32])?)
    }

    /// `y = op(x)`, element by element; both have the same length, 1 to [`MAX_ELEMENTS`]. `y` may be `x` itself. Error: 8 · 2^-24 of the
    /// result, and for GELU of `x`, or of 2^-126 where that is more; none for identity and ReLU.
    ///
    /// # Errors
    /// As [`Library::binary`].
    pub fn unary(
        &self,
        rt: &mut Runtime,
        op: Activation,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
    ) -> Result<Ticket, Error> {
        let (x, y) = (x.into(), y.into());
        let name = op.parts().0;
        let n = length(&y);
        size(name, "y", n, 1..=MAX_ELEMENTS)?;
        shaped(name, "x", &x, &[n])?;
        in_place_or_apart(name, ("y", &y), &[("x", &x)])?;
        let kernel = self.unary[op as usize];
        Ok(rt.launch(kernel, ctas(n, THREADS), THREADS as u32, args![x, y, n as u32])?)
    }

    /// `y = x`; a kernel of type COPY. Otherwise as [`Library::unary`].
    ///
    /// # Errors
    /// As [`Library::unary`].
    pub fn copy(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
    ) -> Result<Ticket, Error> {
        self.unary(rt, Activation::Identity, x, y)
    }

    /// `y = op(x + bias)`. Each bias is that of a channel of `inner` elements side by side: 1 for the columns of a matrix, height × width for
    /// the channels of images. The length of `x` and `y` is a multiple of `bias` times `inner`, up to [`MAX_ELEMENTS`]. `y` may be `x` itself.
    /// Error: 12 · 2^-24 (1 + |x| + |bias|).
    ///
    /// # Errors
    /// As [`Library::binary`].
    pub fn bias_activation(
        &self,
        rt: &mut Runtime,
        op: Activation,
        x: impl Into<View<f32>>,
        bias: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        inner: usize,
    ) -> Result<Ticket, Error> {
        let (x, bias, y) = (x.into(), bias.into(), y.into());
        let name = op.parts().1;
        let (n, channels) = (length(&y), length(&bias));
        size(name, "y", n, 1..=MAX_ELEMENTS)?;
        size(name, "bias", channels, 1..=MAX_ELEMENTS)?;
        let inner_size = size(name, "inner", inner, 1..=MAX_ELEMENTS)?;
        shaped(name, "x", &x, &[n])?;
        let whole = channels.saturating_mul(inner);
        if n % whole != 0 {
            let shape = vec![n.div_ceil(whole), channels, inner];
            let want = n.div_ceil(whole).saturating_mul(whole);
            return Err(Error::Length { of: name, argument: "y", got: n, want, shape });
        }
        in_place_or_apart(name, ("y", &y), &[("x", &x)])?;
        apart(name, ("y", &y), &[("bias", &bias)])?;
        let kernel = self.bias[op as usize];
        let list = args![x, bias, y, n as u32, channels as u32, inner_size];
        Ok(rt.launch(kernel, ctas(n, THREADS), THREADS as u32, list)?)
    }
}

//! Matrix products.

use crate::error::{MAX_ELEMENTS, apart, ctas, shaped, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::ktrace::KernelType;
use windlass_runtime::runtime::{Cta, CtaResult, CudaKernel, Kernel, Registered, Runtime, Ticket, View};

/// A CTA computes so many rows and columns.
const TILE: usize = 64;

fn product(name: &str) -> Kernel {
    Kernel::new(name)
        .read_of::<f32>("a")
        .read_of::<f32>("b")
        .write_of::<f32>("c")
        .value_of::<u32>("m")
        .value_of::<u32>("n")
        .value_of::<u32>("k")
}

pub(crate) fn gemm() -> Kernel {
    product("gemm").body(|cta| tile(cta, |x| x)).cuda(CudaKernel::source(include_str!("gemm.cu"), "gemm"))
}

pub(crate) fn gemm_tf32() -> Kernel {
    product("gemm_tf32")
        .kind(KernelType::Tensor)
        .body(|cta| tile(cta, round_to_tf32))
        .cuda(CudaKernel::source(include_str!("gemm_tf32.cu"), "gemm_tf32"))
}

/// The nearest number with 10 bits after the point, as tensor cores take it: `cvt.rna.tf32.f32`, halves away from zero.
pub fn round_to_tf32(x: f32) -> f32 {
    if x.is_finite() { f32::from_bits(x.to_bits().wrapping_add(1 << 12) & !0x1fff) } else { x }
}

/// One tile; each element is summed in the order of `k`, as in the CUDA text.
fn tile(cta: &Cta<'_>, round: fn(f32) -> f32) -> CtaResult {
    let (a, b, c) = (cta.read::<f32>(0)?, cta.read::<f32>(1)?, cta.write::<f32>(2)?);
    let [m, n, k] = [cta.value::<u32>(3)?, cta.value::<u32>(4)?, cta.value::<u32>(5)?].map(|v| v as usize);
    let across = n.div_ceil(TILE);
    let at = cta.index() as usize;
    let (top, left) = (at / across * TILE, at % across * TILE);
    let (rows, cols) = (TILE.min(m - top), TILE.min(n - left));
    let mut sums = [[0.0f32; TILE]; TILE];
    let mut right = [0.0f32; TILE];
    for p in 0..k {
        for (j, to) in right[..cols].iter_mut().enumerate() {
            *to = round(b.get(p * n + left + j));
        }
        for (i, sums) in sums[..rows].iter_mut().enumerate() {
            let by = round(a.get((top + i) * k + p));
            sums[..cols].iter_mut().zip(&right).for_each(|(sum, x)| *sum += by * x);
        }
    }
    for (i, sums) in sums[..rows].iter().enumerate() {
        for (j, sum) in sums[..cols].iter().enumerate() {
            c.set((top + i) * n + left + j, *sum);
        }
    }
    Ok(())
}

impl Library {
    /// `c = a b`, where `a` is m × k, `b` k × n and `c` m × n, for the sizes `[m, n, k]`. Error of each element: k 2^-23 of the sum of the
    /// absolute products.
    ///
    /// # Errors
    /// [`Error::Range`]: a size of 0; [`Error::TooLarge`]; [`Error::Length`]; [`Error::Overlap`] of `c` with another;
    /// [`Error::Runtime`].
    pub fn gemm(
        &self,
        rt: &mut Runtime,
        a: impl Into<View<f32>>,
        b: impl Into<View<f32>>,
        c: impl Into<View<f32>>,
        sizes: [usize; 3],
    ) -> Result<Ticket, Error> {
        launch(rt, (self.gemm, "gemm", 256), a.into(), b.into(), c.into(), sizes)
    }

    /// As [`Library::gemm`] on tensor cores: `a` and `b` are rounded first, as [`round_to_tf32`] does, on every executor. Error of each
    /// element: 2^-10 + (k + 8) 2^-22 of the sum of the absolute products; without the first term where all of `a` and `b` are such numbers.
    ///
    /// # Errors
    /// As [`Library::gemm`].
    pub fn gemm_tf32(
        &self,
        rt: &mut Runtime,
        a: impl Into<View<f32>>,
        b: impl Into<View<f32>>,
        c: impl Into<View<f32>>,
        sizes: [usize; 3],
    ) -> Result<Ticket, Error> {
        launch(rt, (self.gemm_tf32, "gemm_tf32", 128), a.into(), b.into(), c.into(), sizes)
    }
}

fn launch(
    rt: &mut Runtime,
    (kernel, name, threads): (Registered, &'static str, u32),
    a: View<f32>,
    b: View<f32>,
    c: View<f32>,
    [m, n, k]: [usize; 3],
) -> Result<Ticket, Error> {
    let all = 1..=MAX_ELEMENTS;
    let sizes =
        [size(name, "m", m, all.clone())?, size(name, "n", n, all.clone())?, size(name, "k", k, all)?];
    shaped(name, "a", &a, &[m, k])?;
    shaped(name, "b", &b, &[k, n])?;
    shaped(name, "c", &c, &[m, n])?;
    apart(name, ("c", &c), &[("a", &a), ("b", &b)])?;
    let grid = ctas(m, TILE) * ctas(n, TILE);
    Ok(rt.launch(kernel, grid, threads, args![a, b, c, sizes[0], sizes[1], sizes[2]])?)
}

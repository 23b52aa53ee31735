//! Convolutions.

use crate::error::{MAX_ELEMENTS, apart, ctas, elements, shaped, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::runtime::{Cta, CtaResult, CudaKernel, Kernel, Runtime, Ticket, View};

const NAME: &str = "conv2d";
const THREADS: usize = 256;
/// Of what moves along a row or a column, so that a place outside the image is still a 32-bit integer.
const MAX_SIDE: usize = 65535;

/// The sizes of a convolution of images in the order batch, channel, row, column (NCHW).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Images.
    pub batch: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Rows of an image, 1 to 65535.
    pub height: usize,
    /// Columns of an image, 1 to 65535.
    pub width: usize,
    /// Filters: channels of the output.
    pub filters: usize,
    /// Rows and columns of a filter, 1 to 65535 each.
    pub filter: [usize; 2],
    /// Elements from one place of the filter to the next, 1 to 65535.
    pub stride: usize,
    /// Zeros around the image on each side, 0 to 65535.
    pub padding: usize,
}

impl Convolution {
    /// Rows and columns of the output.
    ///
    /// # Errors
    /// [`Error::Range`]: a size out of its range, or a filter that is larger than the padded image.
    pub fn output(&self) -> Result<[usize; 2], Error> {
        size(NAME, "batch", self.batch, 1..=MAX_ELEMENTS)?;
        size(NAME, "channels", self.channels, 1..=MAX_ELEMENTS)?;
        size(NAME, "filters", self.filters, 1..=MAX_ELEMENTS)?;
        size(NAME, "height", self.height, 1..=MAX_SIDE)?;
        size(NAME, "width", self.width, 1..=MAX_SIDE)?;
        size(NAME, "stride", self.stride, 1..=MAX_SIDE)?;
        size(NAME, "padding", self.padding, 0..=MAX_SIDE)?;
        let [height, width] = [self.height, self.width].map(|side| side + 2 * self.padding);
        size(NAME, "filter[0]", self.filter[0], 1..=height.min(MAX_SIDE))?;
        size(NAME, "filter[1]", self.filter[1], 1..=width.min(MAX_SIDE))?;
        Ok([(height - self.filter[0]) / self.stride + 1, (width - self.filter[1]) / self.stride + 1])
    }
}

pub(crate) fn conv2d() -> Kernel {
    let kernel = Kernel::new(NAME).read_of::<f32>("x").read_of::<f32>("w").write_of::<f32>("y");
    let sizes = ["channels", "height", "width", "filters", "rows", "cols", "stride", "padding"];
    let kernel =
        sizes.into_iter().chain(["out_height", "out_width", "n"]).fold(kernel, Kernel::value_of::<u32>);
    kernel.body(body).cuda(CudaKernel::source(include_str!("convolution.cu"), NAME))
}

/// A thread per element of the output; the sum goes by channel, row and column, as in the CUDA text.
fn body(cta: &Cta<'_>) -> CtaResult {
    let (x, w, y) = (cta.read::<f32>(0)?, cta.read::<f32>(1)?, cta.write::<f32>(2)?);
    let mut sizes = [0usize; 11];
    for (position, size) in sizes.iter_mut().enumerate() {
        *size = cta.value::<u32>(3 + position)? as usize;
    }
    let [channels, height, width, filters, rows, cols, stride, padding, out_height, out_width, n] = sizes;
    for at in cta.threads().filter(|at| *at < n) {
        let (ox, oy) = (at % out_width, at / out_width % out_height);
        let (filter, image) = (at / out_width / out_height % filters, at / out_width / out_height / filters);
        let mut sum = 0.0f32;
        for c in 0..channels {
            for r in 0..rows {
                // Below the padding: outside.
                let Some(iy) = (oy * stride + r).checked_sub(padding).filter(|iy| *iy < height) else {
                    continue;
                };
                for s in 0..cols {
                    let ix = (ox * stride + s).checked_sub(padding).filter(|ix| *ix < width);
                    if let Some(ix) = ix {
                        sum += x.get(((image * channels + c) * height + iy) * width + ix)
                            * w.get(((filter * channels + c) * rows + r) * cols + s);
                    }
                }
            }
        }
        y.set(at, sum);
    }
    Ok(())
}

impl Library {
    /// `y` is `x` convolved with the filters `w` (a cross-correlation: filters are not mirrored). `x` is batch × channels × height × width,
    /// `w` filters × channels × filter, `y` batch × filters × [`Convolution::output`]. Error of each element, with t products in it:
    /// t 2^-23 of the sum of the absolute products.
    ///
    /// # Errors
    /// [`Error::Range`] as [`Convolution::output`]; [`Error::TooLarge`]; [`Error::Length`]; [`Error::Overlap`] of `y`
    /// with another; [`Error::Runtime`].
    pub fn conv2d(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        w: impl Into<View<f32>>,
        y: impl Into<View<f32>>,
        sizes: Convolution,
    ) -> Result<Ticket, Error> {
        let (x, w, y) = (x.into(), w.into(), y.into());
        let [height, width] = sizes.output()?;
        let Convolution { batch, channels, filters, filter, .. } = sizes;
        shaped(NAME, "x", &x, &[batch, channels, sizes.height, sizes.width])?;
        shaped(NAME, "w", &w, &[filters, channels, filter[0], filter[1]])?;
        shaped(NAME, "y", &y, &[batch, filters, height, width])?;
        apart(NAME, ("y", &y), &[("x", &x), ("w", &w)])?;
        let n = elements(NAME, "y", &[batch, filters, height, width])?;
        let sizes = [channels, sizes.height, sizes.width, filters, filter[0], filter[1]].into_iter().chain([
            sizes.stride,
            sizes.padding,
            height,
            width,
            n,
        ]);
        let mut list = args![x, w, y].to_vec();
        // Each is at most the number of elements of an operand, which is below 2^31.
        list.extend(sizes.map(|size| windlass_runtime::runtime::Arg::from(size as u32)));
        Ok(rt.launch(self.convolution, ctas(n, THREADS), THREADS as u32, &list)?)
    }
}

//! A block of one matrix to another: a launch that touches parts of its arguments, and says which.

use crate::error::{MAX_ELEMENTS, apart, ctas, elements, length, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::ktrace::KernelType;
use windlass_runtime::runtime::{Accesses, CudaKernel, Kernel, Launch, Runtime, Ticket, View};

const NAME: &str = "copy_block";
const THREADS: usize = 256;
/// A launch that names its rows one by one has no more of them: the hazard engine takes 255 ranges, and a block of at most 8 GiB has four rows
/// at most that lie in two of its regions of 2 GiB.
const NAMED_ROWS: u64 = 251;

pub(crate) fn copy_block() -> Kernel {
    Kernel::new(NAME)
        .kind(KernelType::Copy)
        .read_of::<f32>("from")
        .read_write_of::<f32>("to")
        .value_of::<u32>("rows")
        .value_of::<u32>("cols")
        .value_of::<u32>("from_stride")
        .value_of::<u32>("to_stride")
        .access(access)
        .body(|cta| {
            let (from, to) = (cta.read::<f32>(0)?, cta.read_write::<f32>(1)?);
            let [rows, cols] = [cta.value::<u32>(2)?, cta.value::<u32>(3)?].map(|v| v as usize);
            let [from_stride, to_stride] = [cta.value::<u32>(4)?, cta.value::<u32>(5)?].map(|v| v as usize);
            for i in cta.threads().take_while(|i| *i < rows * cols) {
                let (row, col) = (i / cols, i % cols);
                to.set(row * to_stride + col, from.get(row * from_stride + col));
            }
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("copy.cu"), NAME))
}

/// Each row of the block, where that many ranges can be named, or where rows leave no gap; else all from the first to the last, of which
/// then only some are written.
fn access(launch: &Launch<'_>, accesses: &mut Accesses<'_>) {
    let value = |arg| u64::from(launch.value::<u32>(arg).unwrap_or(0));
    let [rows, cols, from_stride, to_stride] = [value(2), value(3), value(4), value(5)];
    // Who launches without the helper may give any numbers.
    let span =
        |stride: u64| rows.saturating_sub(1).saturating_mul(stride).saturating_add(cols).saturating_mul(4);
    if from_stride == cols || rows > NAMED_ROWS {
        accesses.read(0, 0..span(from_stride));
    } else {
        (0..rows).map(|row| row * from_stride * 4).for_each(|at| accesses.read(0, at..at + cols * 4));
    }
    if to_stride == cols {
        accesses.write(1, 0..span(to_stride));
    } else if rows > NAMED_ROWS {
        accesses.read_write(1, 0..span(to_stride));
    } else {
        (0..rows).map(|row| row * to_stride * 4).for_each(|at| accesses.write(1, at..at + cols * 4));
    }
}

impl Library {
    /// Copies `rows` × `cols` elements, the first at the beginning of each view, from rows that are `from_stride` elements apart to rows that
    /// are `to_stride` apart, for the sizes `[rows, cols, from_stride, to_stride]`; views may be longer than that. What lies between the rows
    /// stays, and other kernels may use it at the same time where there are at most 251 rows.
    ///
    /// # Errors
    /// [`Error::Range`]: a size of 0, a stride below `cols`; [`Error::TooLarge`]; [`Error::Length`]: a view that ends inside the block;
    /// [`Error::Overlap`] of the views; [`Error::Runtime`].
    pub fn copy_block(
        &self,
        rt: &mut Runtime,
        from: impl Into<View<f32>>,
        to: impl Into<View<f32>>,
        [rows, cols, from_stride, to_stride]: [usize; 4],
    ) -> Result<Ticket, Error> {
        let (from, to) = (from.into(), to.into());
        let rows_size = size(NAME, "rows", rows, 1..=MAX_ELEMENTS)?;
        let cols_size = size(NAME, "cols", cols, 1..=MAX_ELEMENTS)?;
        let from_size = size(NAME, "from_stride", from_stride, cols..=MAX_ELEMENTS)?;
        let to_size = size(NAME, "to_stride", to_stride, cols..=MAX_ELEMENTS)?;
        for (argument, view, stride) in [("from", &from, from_stride), ("to", &to, to_stride)] {
            elements(NAME, argument, &[rows, stride])?;
            let (got, want) = (length(view), (rows - 1) * stride + cols);
            if got < want {
                return Err(Error::Length { of: NAME, argument, got, want, shape: vec![rows, cols, stride] });
            }
        }
        apart(NAME, ("to", &to), &[("from", &from)])?;
        let list = args![from, to, rows_size, cols_size, from_size, to_size];
        Ok(rt.launch(self.copy_block, ctas(rows * cols, THREADS), THREADS as u32, list)?)
    }
}

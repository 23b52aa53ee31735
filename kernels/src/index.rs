//! Rows by their number.

use crate::error::{MAX_ELEMENTS, apart, shaped, size};
use crate::{Error, Library};
use windlass_runtime::args;
use windlass_runtime::runtime::{CtaResult, CudaKernel, Kernel, Runtime, Ticket, View};

const THREADS: u32 = 256;

/// On the CPU a row that is not there is the kernel's failure.
fn inside(row: usize, got: u32, rows: usize) -> Result<usize, String> {
    let got = got as usize;
    if got < rows {
        Ok(got)
    } else {
        Err(format!("index {row} is {got}, and there are {rows} rows; choose 0 to {}", rows - 1))
    }
}

pub(crate) fn gather_rows() -> Kernel {
    Kernel::new("gather_rows")
        .read_of::<f32>("x")
        .read_of::<u32>("index")
        .write_of::<f32>("y")
        .value_of::<u32>("from_rows")
        .value_of::<u32>("cols")
        .body(|cta| -> CtaResult {
            let (x, index, y) = (cta.read::<f32>(0)?, cta.read::<u32>(1)?, cta.write::<f32>(2)?);
            let (rows, cols) = (cta.value::<u32>(3)? as usize, cta.value::<u32>(4)? as usize);
            let row = cta.index() as usize;
            let from = inside(row, index.get(row), rows)?;
            (0..cols).for_each(|col| y.set(row * cols + col, x.get(from * cols + col)));
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("index.cu"), "gather_rows"))
}

pub(crate) fn scatter_rows() -> Kernel {
    // Nobody knows before which rows are written: that is a read-write, not a write.
    Kernel::new("scatter_rows")
        .read_of::<f32>("x")
        .read_of::<u32>("index")
        .read_write_of::<f32>("y")
        .value_of::<u32>("rows")
        .value_of::<u32>("to_rows")
        .value_of::<u32>("cols")
        .body(|cta| -> CtaResult {
            let (x, index, y) = (cta.read::<f32>(0)?, cta.read::<u32>(1)?, cta.read_write::<f32>(2)?);
            let [rows, to_rows, cols] =
                [cta.value::<u32>(3)?, cta.value::<u32>(4)?, cta.value::<u32>(5)?].map(|v| v as usize);
            let row = cta.index() as usize;
            let to = inside(row, index.get(row), to_rows)?;
            // CTAs run in any order: of equal numbers only the last one may write.
            if (row + 1..rows).all(|later| index.get(later) as usize != to) {
                (0..cols).for_each(|col| y.set(to * cols + col, x.get(row * cols + col)));
            }
            Ok(())
        })
        .cuda(CudaKernel::source(include_str!("index.cu"), "scatter_rows"))
}

impl Library {
    /// `y[i] = x[index[i]]`, row by row: `x` is `from_rows` × cols, `y` is rows × cols, `index` has `rows`, for the sizes
    /// `[rows, cols, from_rows]`. An index of a row that is not there makes the kernel fail on the CPU; a GPU writes zeros for it and says
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Range`]: a size of 0; [`Error::TooLarge`]; [`Error::Length`]; [`Error::Overlap`] of `y` and `x`;
    /// [`Error::Runtime`].
    pub fn gather_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        index: impl Into<View<u32>>,
        y: impl Into<View<f32>>,
        [rows, cols, from_rows]: [usize; 3],
    ) -> Result<Ticket, Error> {
        const NAME: &str = "gather_rows";
        let (x, index, y) = (x.into(), index.into(), y.into());
        let [grid, width, from] = sizes(NAME, ["rows", "cols", "from_rows"], [rows, cols, from_rows])?;
        shaped(NAME, "x", &x, &[from_rows, cols])?;
        shaped(NAME, "index", &index, &[rows])?;
        shaped(NAME, "y", &y, &[rows, cols])?;
        apart(NAME, ("y", &y), &[("x", &x)])?;
        Ok(rt.launch(self.gather_rows, grid, THREADS, args![x, index, y, from, width])?)
    }

    /// `y[index[i]] = x[i]`, row by row; the other rows of `y` stay. `x` is rows × cols, `y` is `to_rows` × cols, `index` has `rows`, for the
    /// sizes `[rows, cols, to_rows]`. Where two are equal the later one counts; to know that, each row looks at all later ones.
    /// An index of a row that is not there makes the kernel fail on the CPU; a GPU leaves it out and says nothing.
    ///
    /// # Errors
    /// As [`Library::gather_rows`].
    pub fn scatter_rows(
        &self,
        rt: &mut Runtime,
        x: impl Into<View<f32>>,
        index: impl Into<View<u32>>,
        y: impl Into<View<f32>>,
        [rows, cols, to_rows]: [usize; 3],
    ) -> Result<Ticket, Error> {
        const NAME: &str = "scatter_rows";
        let (x, index, y) = (x.into(), index.into(), y.into());
        let [grid, width, to] = sizes(NAME, ["rows", "cols", "to_rows"], [rows, cols, to_rows])?;
        shaped(NAME, "x", &x, &[rows, cols])?;
        shaped(NAME, "index", &index, &[rows])?;
        shaped(NAME, "y", &y, &[to_rows, cols])?;
        apart(NAME, ("y", &y), &[("x", &x)])?;
        Ok(rt.launch(self.scatter_rows, grid, THREADS, args![x, index, y, grid, to, width])?)
    }
}

fn sizes(of: &'static str, fields: [&'static str; 3], got: [usize; 3]) -> Result<[u32; 3], Error> {
    let mut sizes = [0; 3];
    for ((to, field), got) in sizes.iter_mut().zip(fields).zip(got) {
        *to = size(of, field, got, 1..=MAX_ELEMENTS)?;
    }
    Ok(sizes)
}

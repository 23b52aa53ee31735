//! Kernels that say what they access, each with a body for the CPU and a text for CUDA, and two programs that launch other kernels for
//! other inputs: [`dynamic_network`] and [`rigid_body`].
//!
//! [`Library::register`] makes all kernels known to a runtime; its methods check shapes, choose grid and block, and launch. All matrices are
//! row-major and without gaps, and no operand has more than [`MAX_ELEMENTS`] elements. No element needs more than its own alignment.
//!
//! ```
//! use windlass_kernels::{Activation, Library};
//! use windlass_runtime::runtime::Runtime;
//! # fn main() -> Result<(), windlass_kernels::Error> {
//! let mut rt = Runtime::builder().build()?;
//! let kernels = Library::register(&mut rt)?;
//! let (a, b) = (rt.buffer_from(&[1.0, 2.0, 3.0, 4.0])?, rt.buffer_from(&[1.0, -1.0])?);
//! let (product, result) = (rt.buffer(2)?, rt.buffer(2)?);
//! kernels.gemm(&mut rt, a, b, product, [2, 1, 2])?;
//! kernels.unary(&mut rt, Activation::Relu, product, result)?;
//! assert_eq!(rt.read(result)?, [0.0, 0.0]);
//! # Ok(()) }
//! ```

mod check;
mod convolution;
mod copy;
pub mod dynamic_network;
mod elementwise;
mod error;
mod gemm;
mod index;
mod random;
pub mod rigid_body;
mod rows;

pub use check::{SelfCheck, random_checks, self_checks};
pub use convolution::Convolution;
pub use elementwise::{Activation, Binary};
pub use error::{Error, MAX_ELEMENTS};
pub use gemm::round_to_tf32;

use windlass_runtime::runtime::{Kernel, Registered, Runtime};

/// The kernels of this crate, as one runtime knows them; to be copied at will.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    gemm: Registered,
    gemm_tf32: Registered,
    convolution: Registered,
    binary: [Registered; Binary::ALL.len()],
    unary: [Registered; Activation::ALL.len()],
    bias: [Registered; Activation::ALL.len()],
    sum_rows: Registered,
    max_rows: Registered,
    softmax_rows: Registered,
    layer_norm_rows: Registered,
    gather_rows: Registered,
    scatter_rows: Registered,
    copy_block: Registered,
}

impl Library {
    /// Makes all kernels known to a runtime.
    ///
    /// # Errors
    /// As [`Runtime::register`].
    pub fn register(rt: &mut Runtime) -> Result<Self, Error> {
        // `register` fails only where the scheduler is gone, so that nothing is lost with what was registered before.
        let mut binary = Vec::new();
        for op in Binary::ALL {
            binary.push(rt.register(elementwise::binary(op))?);
        }
        let (mut unary, mut bias) = (Vec::new(), Vec::new());
        for op in Activation::ALL {
            unary.push(rt.register(elementwise::unary(op))?);
            bias.push(rt.register(elementwise::bias(op))?);
        }
        Ok(Self {
            gemm: rt.register(gemm::gemm())?,
            gemm_tf32: rt.register(gemm::gemm_tf32())?,
            convolution: rt.register(convolution::conv2d())?,
            binary: std::array::from_fn(|op| binary[op]),
            unary: std::array::from_fn(|op| unary[op]),
            bias: std::array::from_fn(|op| bias[op]),
            sum_rows: rt.register(rows::sum_rows())?,
            max_rows: rt.register(rows::max_rows())?,
            softmax_rows: rt.register(rows::softmax_rows())?,
            layer_norm_rows: rt.register(rows::layer_norm_rows())?,
            gather_rows: rt.register(index::gather_rows())?,
            scatter_rows: rt.register(index::scatter_rows())?,
            copy_block: rt.register(copy::copy_block())?,
        })
    }
}

/// The definition of every kernel of this crate, also of those that only the programs use; each has a body and a CUDA text.
pub fn all() -> Vec<Kernel> {
    let mut kernels = vec![
        gemm::gemm(),
        gemm::gemm_tf32(),
        convolution::conv2d(),
        rows::sum_rows(),
        rows::max_rows(),
        rows::softmax_rows(),
        rows::layer_norm_rows(),
        index::gather_rows(),
        index::scatter_rows(),
        copy::copy_block(),
    ];
    kernels.extend(Binary::ALL.map(elementwise::binary));
    kernels.extend(Activation::ALL.map(elementwise::unary));
    kernels.extend(Activation::ALL.map(elementwise::bias));
    kernels.extend(rigid_body::kernels());
    kernels
}

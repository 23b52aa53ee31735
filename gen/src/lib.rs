//! Verilog emitter, file lists, metadata; the synthesis flow; the report on what it and co-simulations measured; the table of external tools.
//!
//! ```
//! use windlass_catalog::{BlockSpec, Request};
//! use windlass_gen::{emit, output};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = BlockSpec::new("window_matrix", Request { slots: 8, ..Request::default() })?;
//! let design = emit::emit(&*spec.hardware())?;
//! assert_eq!(design.top().name, "window_matrix_n8_r2");
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let files = output::write(&design, directory)?;
//! # assert!(files.len() > 4);
//! # Ok(())
//! # }
//! ```

pub mod axil;
pub mod axis;
pub mod cache;
pub mod checker;
pub mod constraints;
pub mod emit;
pub mod folder;
pub mod mutate;
pub mod output;
pub mod parallel;
pub mod prove;
pub mod report;
pub mod rtl;
pub mod synth;
pub mod table;
pub mod tools;
mod verilog;

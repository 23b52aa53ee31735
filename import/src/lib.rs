//! Kernel streams from what compilers and profilers write.
//!
//! Each module reads one producer's files and gives a [`windlass_runtime::ktrace::Trace`], with its doubts in `est` and `notes`.

pub mod pytorch;
pub mod xla;

//! XLA: the dump directory of a GPU compilation.

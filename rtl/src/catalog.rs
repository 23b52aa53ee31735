//! Every block by name: its parameters, its hardware, its golden model.
//!
//! Sizes are const generics in rust-hdl; this is the one place that turns a size known at run time into a type.

//! Kernel scheduling hardware in rust-hdl, and beside each block its plain-Rust golden model.
pub mod catalog;
pub mod flat;
pub mod info;
pub mod kernel_scheduler;
pub mod model;
pub mod params;
pub mod parts;
pub mod port;
pub mod upstream_load;
pub mod window;
pub mod window_list;
pub mod window_matrix;

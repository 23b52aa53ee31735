//! Kernel scheduling hardware in rust-hdl, and beside each block its plain-Rust golden model.
pub mod model;
pub mod params;
pub mod port;
/// Scheduling window as a dependency matrix.
pub mod window_matrix {
    pub mod model;
}
/// Scheduling window as ACE draws it.
pub mod window_list {
    pub mod model;
}
/// Upstream load module.
pub mod upstream_load {
    pub mod model;
}
/// Upstream load module and window together.
pub mod kernel_scheduler {
    pub mod io;
    pub mod model;
    pub use io::*;
}

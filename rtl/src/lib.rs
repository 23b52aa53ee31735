//! Kernel scheduling hardware in rust-hdl, and beside each block its plain-Rust golden model.
//!
//! No files, no processes, no printing. A block is a folder: the hardware (`hardware.rs`), the golden model (`model.rs`), its page
//! (`README.md`, shown here as the module's documentation). Parameters of all blocks are in [`params`], because the blocks share
//! them.
//!
//! Rules that hold in the whole library: one clock, rising edge; synchronous, active-low reset; lowRISC suffixes (`_i`, `_o`); on a
//! channel, valid never waits for ready, the payload is stable while valid waits, and a transfer happens where both are high.

/// A comment within an `update`, which the emitter writes into the Verilog. Nothing in a simulation.
macro_rules! comment {
    ($text:literal) => {};
}

pub mod cta_arbiter_single;
pub mod cta_arbiter_typed;
pub mod flat;
pub mod front_end;
pub mod info;
pub mod kernel_scheduler;
pub mod kernel_table;
pub mod model;
pub mod params;
pub mod parts;
pub mod port;
pub mod sm_occupancy;
pub mod sm_partitions;
pub mod upstream_load;
pub mod window;
pub mod window_list;
pub mod window_matrix;

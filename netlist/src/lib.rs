//! Buffering, gate sizing and energy of a mapped netlist.
//!
//! Yosys and ABC map a design to cells, and ABC can size gates and insert buffers, but it does so for the logic between two flip-flops
//! only and in chains: a flip-flop that drives hundreds of gates keeps them. [`resize`] works on the whole netlist, as the
//! tools after synthesis do, with the library's own delay tables: it builds buffer trees, enlarges what is on the
//! slowest paths, and makes the rest as small as it may be, by sizes and by other gates that compute the same. OpenSTA has the last word on the result.
//! Wires are ideal, unless [`Unplaced`] has got them from a placer.
//!
//! [`Gates`] runs such a netlist, cycle by cycle, and adds up the energy of what changes, by block of the RTL.

mod blocks;
mod energy;
mod graph;
mod library;
mod place;
mod remake;
mod resize;
mod shapes;
mod timing;

pub use blocks::SHARED;
pub use energy::{Block, ENERGY_LABEL, ENERGY_WITH_WIRES_LABEL, GatedClock, Gates, Power};
pub use graph::NetlistError;
pub(crate) use place::FLOOR_PLAN_LETTERS;
pub use place::{DENSITY, FloorPlan, Unplaced, WireHints, Wires};
pub use resize::{ResizeOptions, Resized, resize};

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
pub mod liberty;
mod library;
mod place;
mod remake;
mod resize;
mod shapes;
mod timing;

pub use blocks::SHARED;
pub use energy::{Block, ENERGY_LABEL, ENERGY_WITH_WIRES_LABEL, GatedClock, Gates, Power};
pub use graph::{NetlistError, REGISTER};
pub use place::{DENSITY, FLOOR_PLAN_LETTERS, FloorPlan, Unplaced, WireHints, WireModel, Wires};
pub use resize::{ResizeOptions, Resized, resize};

/// The texts of what makes netlists: results that are kept are those of these.
pub const SOURCES: &[&str] = &[
    include_str!("lib.rs"),
    include_str!("blocks.rs"),
    include_str!("graph.rs"),
    liberty::SOURCE,
    include_str!("library.rs"),
    include_str!("place.rs"),
    include_str!("remake.rs"),
    include_str!("resize.rs"),
    include_str!("shapes.rs"),
    include_str!("timing.rs"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn all_code_that_makes_a_netlist_is_in_the_list() {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
            let path = entry.unwrap().path();
            // Runs a netlist and makes none.
            let other = path.ends_with("energy.rs");
            let text = fs::read_to_string(&path).unwrap();
            assert!(other || SOURCES.contains(&text.as_str()), "{}", path.display());
        }
    }
}

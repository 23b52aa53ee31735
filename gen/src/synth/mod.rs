//! The flows that measure a design: Yosys, OpenSTA and nextpnr run here, and their results are read and kept in the cache. Area by
//! module ([`mod@area`]), the flattened design in several variants with their clocks ([`variants`]), FPGAs ([`mod@fpga`]); and the cell
//! libraries for that ([`library`] finds them, [`windlass_netlist::liberty`] reads them). [`crate::report`] makes a document of what comes out.

pub mod area;
mod clock_gates;
pub(crate) mod flow;
pub mod fpga;
pub mod library;
mod module;
pub mod timing;
pub mod variants;
pub mod wires;

pub use area::{AreaOptions, AreaReport, area};
pub use flow::{PYOSYS_VERSION, SynthesisError, TIME_LIMIT, Yosys};
pub use fpga::{FpgaOptions, FpgaReport, fpga};
pub use library::LibraryError;
pub use timing::TimingReport;
pub use variants::{SynthOptions, SynthReport, Variant, synth};

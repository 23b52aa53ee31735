//! Wires, before layout: the fastest netlist is placed, sized again for the wires that this makes, placed again and timed with its wires.
//!
//! [Coloquinte](https://github.com/coloquinte/PlaceRoute) places. A net's wires are the shortest tree from pin to pin, with the resistance
//! and capacitance of one layer ([`WireModel`]); OpenSTA times them. Nothing is routed, and the clock is ideal.

use super::area::Amount;
use super::flow::{Failure, Stop, Workplace};
use super::timing::TimingReport;
use crate::cache;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use windlass_netlist::{FloorPlan, NetlistError, Unplaced, WireModel, Wires};

/// What stands beside every time with wires.
pub const WIRES_LABEL: &str = "estimate from a placement, not routed, ideal clock";

/// The version of PyPI's `coloquinte` that `scripts/setup.sh` puts into the cache.
pub const COLOQUINTE_VERSION: &str = "0.4.1";

/// How hard the placer tries, of 1 to 9: its own default.
const EFFORT: &str = "3";

/// A placer that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloquinte {
    /// The Python that has it.
    program: PathBuf,
    /// Name and version.
    pub version: String,
}

impl Coloquinte {
    /// The one in the cache, if it is there and runs.
    pub fn find() -> Option<Self> {
        let print = "from importlib.metadata import version; import coloquinte; print(version('coloquinte'))";
        let (program, version) = cache::python(&format!("coloquinte-{COLOQUINTE_VERSION}"), print)?;
        Some(Self { program, version: format!("Coloquinte {version}") })
    }

    /// Places the netlist; the placer's files are called `name` in the folder. The wires that follow.
    pub(super) fn place(&self, work: &Workplace, unplaced: &Unplaced, name: &str) -> Result<Wires, Stop> {
        for (file, text) in unplaced.bookshelf(name) {
            work.write(&file, &text)?;
        }
        let (files, placed) = (format!("{name}.aux"), format!("{name}.placed.pl"));
        let args =
            ["-I", "-m", "coloquinte", &files, "--effort", EFFORT, "--seed", "0", "--save-solution", &placed];
        work.run("Coloquinte", &self.program, &args, &format!("{name}.log"))?;
        let text = super::flow::read_lossy(&work.path().join(&placed));
        unplaced.wires(&text).map_err(|error| failed("Coloquinte", error, name).into())
    }
}

/// The failure of a step of ours on the netlist of that name.
pub(super) fn failed(step: &'static str, error: NetlistError, name: &str) -> Failure {
    Failure {
        tool: step,
        status: "on the mapped netlist".into(),
        message: error.to_string(),
        command: format!("(the netlist is {name}.json of the folder of the other failures)"),
        late: false,
    }
}

/// What a variant's netlist with wires is called.
pub(super) fn name(variant: &str, sized: bool) -> String {
    format!("{variant}.{}", if sized { "wired" } else { "placed" })
}

/// The fastest netlist of a design with wires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wired {
    /// The placer and its version.
    pub tool: String,
    /// The variant that was placed.
    pub variant: String,
    /// Height of a row, resistance and capacitance of a wire.
    pub model: WireModel,
    /// Share of the rows that cells fill.
    pub density: f64,
    /// The netlist as it was without wires, and the one that was sized for the wires of the first: each with wires of its own.
    pub netlists: Vec<WiredNetlist>,
}

impl Wired {
    /// What [`super::variants::netlist`] calls the netlist: `v`, `json` and `spef` of the fastest are in the cache.
    pub fn name(&self, netlist: &WiredNetlist) -> String {
        name(&self.variant, netlist.sized)
    }

    /// The netlist with the highest clock.
    pub fn fastest(&self) -> Option<&WiredNetlist> {
        let mhz = |netlist: &&WiredNetlist| netlist.fmax_mhz().unwrap_or(0.0);
        self.netlists.iter().max_by(|a, b| mhz(a).total_cmp(&mhz(b)))
    }
}

/// A netlist with places and wires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WiredNetlist {
    /// It was sized for wires.
    pub sized: bool,
    /// Area of its cells.
    pub total: Amount,
    /// Its times, with wires.
    pub timing: TimingReport,
    /// Width and height of its rows in micrometres.
    pub core_um: [f64; 2],
    /// Length of all its wires in millimetres, without those of the clock.
    pub wires_mm: f64,
    /// Nets that have wires.
    pub nets: u64,
    /// The longest net in micrometres.
    pub longest_um: f64,
    /// Where the blocks of the RTL lie.
    pub plan: FloorPlan,
}

impl WiredNetlist {
    /// The highest clock with wires, register to register.
    pub fn fmax_mhz(&self) -> Option<f64> {
        Some(self.timing.limit()?.fmax_mhz)
    }
}

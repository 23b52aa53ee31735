//! What a design takes of an FPGA, and how fast it runs there.
//!
//! Yosys maps it to the family's cells; nextpnr, where it is there, places and routes it. A block has more ports than the package
//! has pins, so that what is placed is the block in a harness: a shift register feeds every input, every output goes into a flip-flop
//! and from there through registered trees of XOR to one pin. Each path of the block thus begins and ends in a flip-flop, and counts.
//! The block's logic cells are those of the block alone, packed but not placed.

use super::area;
use super::flow::{self, Failure, Stop, SynthesisError, Workplace, Yosys};
use crate::table::{aligned, line};
use crate::tools::{self, Found, Tool};
use crate::verilog::{self, Instance, declaration};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;
use windlass_rtl::port::{CLOCK, Direction, Port, RESET};

/// Part of the cache's key: our own share of the result.
const SOURCES: [&str; 2] = [include_str!("fpga.rs"), include_str!("../verilog.rs")];

/// How long each run of a tool may take by default.
pub const LIMIT: Duration = Duration::from_secs(1200);

/// Name of the harness; no block is called so.
const HARNESS: &str = "windlass_harness";

/// A family of FPGAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Lattice iCE40, as an HX8K in the package ct256.
    Ice40,
    /// Lattice ECP5, as an LFE5U-85F in the package CABGA381.
    Ecp5,
    /// Xilinx 7 series; synthesis only.
    Xc7,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ice40, Self::Ecp5, Self::Xc7];

    /// The name on the command line and in the constraints file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ice40 => "ice40",
            Self::Ecp5 => "ecp5",
            Self::Xc7 => "xc7",
        }
    }

    /// The device that is meant.
    pub fn part(self) -> &'static str {
        match self {
            Self::Ice40 => "iCE40 HX8K ct256",
            Self::Ecp5 => "ECP5 LFE5U-85F CABGA381, speed grade 6",
            Self::Xc7 => "Xilinx 7 series",
        }
    }

    /// Yosys's commands for the module `TOP`. Those with the smallest result count: on an iCE40, carry chains cost a window a tenth of
    /// its cells, and an adder is twice as large without; on an ECP5, pickers of many requests take nearly twice the lookup tables with
    /// wide ones.
    fn synth(self) -> &'static [&'static str] {
        match self {
            // The third maps by a script of its own: what Yosys' scripts do before `dch` costs the blocks up to a tenth of their cells.
            Self::Ice40 => &[
                "synth_ice40 -top TOP",
                "synth_ice40 -abc9 -device hx -nocarry -top TOP",
                "synth_ice40 -nocarry -run begin:map_luts -top TOP\n\
                 abc -lut 4 -script +strash;&get,-n;&fraig,-x;&put;scorr;dch,-f;if;mfs2,-a;lutpack,-S,1\n\
                 clean\n\
                 opt_lut\n\
                 synth_ice40 -nocarry -run map_cells: -top TOP",
            ],
            Self::Ecp5 => &["synth_ecp5 -top TOP", "synth_ecp5 -nowidelut -top TOP"],
            Self::Xc7 => &["synth_xilinx -family xc7 -flatten -noiopad -top TOP"],
        }
    }

    fn place_and_route(self) -> Option<(Tool, &'static [&'static str], &'static str)> {
        match self {
            Self::Ice40 => {
                let arguments: &[&str] = &["--hx8k", "--package", "ct256", "--opt-timing"];
                Some((Tool::NextpnrIce40, arguments, "ICESTORM_LC"))
            }
            Self::Ecp5 => {
                let arguments: &[&str] =
                    &["--85k", "--package", "CABGA381", "--speed", "6", "--lpf-allow-unconstrained"];
                Some((Tool::NextpnrEcp5, arguments, "TRELLIS_COMB"))
            }
            Self::Xc7 => None,
        }
    }

    /// What a cell is, by its type. Memories of lookup tables count as those that they take: in an ECP5 four for 16 words of 4 bits and the
    /// two of the slice that writes them.
    fn kind(self, cell: &str) -> Kind {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|p| cell.starts_with(p));
        match self {
            Self::Ice40 if cell == "SB_LUT4" => Kind::Lut,
            Self::Ice40 if begins(&["SB_DFF"]) => Kind::FlipFlop,
            Self::Ice40 if begins(&["SB_RAM40"]) => Kind::BlockRam,
            Self::Ice40 if cell == "SB_CARRY" => Kind::Carry,
            Self::Ecp5 if cell == "LUT4" => Kind::Lut,
            Self::Ecp5 if cell == "TRELLIS_FF" => Kind::FlipFlop,
            Self::Ecp5 if begins(&["DP16K", "PDPW16K"]) => Kind::BlockRam,
            Self::Ecp5 if cell == "CCU2C" => Kind::Carry,
            Self::Ecp5 if begins(&["TRELLIS_DPR16"]) => Kind::LutRam(6),
            Self::Xc7 if cell == "INV" || begins(&["LUT"]) => Kind::Lut,
            Self::Xc7 if ["FDRE", "FDSE", "FDCE", "FDPE"].contains(&cell) => Kind::FlipFlop,
            Self::Xc7 if begins(&["RAMB"]) => Kind::BlockRam,
            Self::Xc7 if begins(&["CARRY"]) => Kind::Carry,
            Self::Xc7 if begins(&["RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S"]) => Kind::LutRam(4),
            Self::Xc7 if begins(&["RAM32X1D", "RAM64X1D", "RAM128X1S"]) => Kind::LutRam(2),
            Self::Xc7 if begins(&["RAM", "SRL"]) => Kind::LutRam(1),
            _ => Kind::Other,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no family has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no FPGA family `{name}`; possible: {}", Family::ALL.map(Family::name).join(", "))]
pub struct NoSuchFamily {
    /// The name.
    pub name: String,
}

impl FromStr for Family {
    type Err = NoSuchFamily;

    fn from_str(name: &str) -> Result<Self, NoSuchFamily> {
        let found = Self::ALL.into_iter().find(|f| f.name() == name);
        found.ok_or_else(|| NoSuchFamily { name: name.into() })
    }
}

enum Kind {
    Lut,
    FlipFlop,
    BlockRam,
    Carry,
    /// Of so many lookup tables.
    LutRam(u64),
    Other,
}

/// How to measure.
#[derive(Clone, Debug)]
pub struct FpgaOptions {
    /// The Yosys to use; `None`: the one that [`Yosys::find`] finds.
    pub yosys: Option<Yosys>,
    /// The cache's root; `None`: [`crate::cache::root`].
    pub cache: Option<PathBuf>,
    /// Seeds of place and route, one run each: a single run is luck. None: only synthesis.
    pub seeds: Vec<u32>,
    /// What nextpnr is told to reach, in MHz: more than it can, or it stops early.
    pub target_mhz: u32,
    /// How long each run of a tool may take: where wires are scarce nextpnr may never end.
    pub limit: Duration,
}

impl Default for FpgaOptions {
    fn default() -> Self {
        Self { yosys: None, cache: None, seeds: vec![1, 2, 3], target_mhz: 250, limit: LIMIT }
    }
}

/// A design on an FPGA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FpgaReport {
    /// Module at the top.
    pub top: String,
    /// The family.
    pub family: Family,
    /// The device.
    pub part: String,
    /// Yosys, and its version.
    pub tool: String,
    /// All that Yosys was told.
    pub script: String,
    /// Lookup tables, of whatever size the family has, those of memories included.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Block RAMs.
    pub block_rams: u64,
    /// Carry cells.
    pub carries: u64,
    /// Lookup tables that are memories.
    pub lut_rams: u64,
    /// All cells by type, those above included.
    pub cells: BTreeMap<String, u64>,
    /// What place and route found.
    pub placement: Placement,
}

/// What place and route found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Placement {
    /// It fits, in its harness.
    Placed {
        /// The tool, and its version.
        tool: String,
        /// Logic cells of the block alone.
        logic_cells: u64,
        /// Those that the device has.
        available: u64,
        /// Logic cells that were placed, the harness included.
        with_harness: u64,
        /// One per seed.
        runs: Vec<Run>,
    },
    /// It does not fit.
    TooLarge {
        /// The tool, and its version.
        tool: String,
        /// Logic cells of the block alone.
        logic_cells: u64,
        /// Those that the device has.
        available: u64,
        /// What ran out.
        reason: String,
    },
    /// It would fit, but no route was found in time.
    Unrouted {
        /// The tool, and its version.
        tool: String,
        /// Logic cells of the block alone.
        logic_cells: u64,
        /// Those that the device has.
        available: u64,
        /// Which run, and how long.
        reason: String,
    },
    /// Nothing was placed.
    NotRun {
        /// Why.
        reason: String,
    },
}

pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

/// One run of place and route.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its seed.
    pub seed: u32,
    /// The clock that was reached, in MHz; `None` where the design has no path between flip-flops.
    pub fmax_mhz: Option<f64>,
}

impl Placement {
    /// The slowest and the fastest run, in MHz.
    pub fn fmax_mhz(&self) -> Option<(f64, f64)> {
        let Self::Placed { runs, .. } = self else { return None };
        let all = || runs.iter().filter_map(|r| r.fmax_mhz);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }
}

/// Measures the module `top` in `design`, a list of Verilog files (name, text), with its `ports`.
///
/// A design that does not fit is a result. Without nextpnr there are counts and no frequency; the report says so. Results are cached
/// by content.
pub fn fpga(
    design: &[(String, String)],
    top: &str,
    ports: &[Port],
    family: Family,
    options: &FpgaOptions,
) -> Result<FpgaReport, SynthesisError> {
    flow::check_names(design, top)?;
    let root = flow::shelf(options.cache.as_deref(), "fpga")?;
    let yosys = match &options.yosys {
        Some(yosys) => yosys.clone(),
        None => Yosys::find()?,
    };
    let placer = match family.place_and_route() {
        _ if options.seeds.is_empty() => Err("place and route was not asked for".to_string()),
        None => Err("no free place and route for this family is packaged; use Vivado with the .xdc".into()),
        Some((tool, arguments, resource)) => tools::find(tool)
            .map(|found| Placer { found, arguments, resource })
            .map_err(|error| error.to_string()),
    };
    let harness = harness(top, ports);
    let scripts: Vec<String> = family
        .synth()
        .iter()
        .enumerate()
        .map(|(try_, synth)| script(design, top, &yosys, synth, try_, placer.is_ok()))
        .collect();
    let seeds = format!("{:?} {} {}", options.seeds, options.target_mhz, options.limit.as_secs());
    let version = placer.as_ref().map_or_else(String::as_str, |p| p.found.version_line.as_str());
    let others = ["fpga", family.name(), &yosys.version, &scripts.concat(), &harness, version, &seeds];
    let key = flow::key(design, &[&others[..], &SOURCES].concat());
    let entry = format!("{key}.json");
    if let Some(report) = flow::stored(&root, &entry) {
        return Ok(report);
    }

    let work = Workplace::new(&root, top, &key, options.limit)?;
    for (name, text) in design {
        work.write(name, text)?;
    }
    work.write("harness.v", &harness)?;
    work.write("stub.v", &stub(top, ports))?;
    let (try_, cells) = match smallest(&work, &yosys, family, top, &scripts) {
        Ok(smallest) => smallest,
        Err(stop) => return Err(work.stopped(stop)),
    };
    let mut report = FpgaReport {
        top: top.into(),
        family,
        part: family.part().into(),
        tool: yosys.version,
        script: scripts[try_].clone(),
        luts: 0,
        flip_flops: 0,
        block_rams: 0,
        carries: 0,
        lut_rams: 0,
        cells: BTreeMap::new(),
        placement: Placement::NotRun { reason: String::new() },
    };
    report.count(cells);
    report.placement = match placer {
        Ok(placer) => match placer.place(&work, try_, options) {
            Ok(placement) => placement,
            Err(stop) => return Err(work.stopped(stop)),
        },
        Err(reason) => Placement::NotRun { reason },
    };
    // A machine with less to do may find a route in time.
    if !matches!(report.placement, Placement::Unrouted { .. }) {
        flow::store_entry(&root, &entry, &report)?;
    }
    Ok(report)
}

/// Runs all scripts; gives the number of the one that took the fewest lookup tables, and its cells by type.
fn smallest(
    work: &Workplace,
    yosys: &Yosys,
    family: Family,
    top: &str,
    scripts: &[String],
) -> Result<(usize, BTreeMap<String, u64>), Stop> {
    let mut best: Option<(u64, usize, BTreeMap<String, u64>)> = None;
    for (try_, script) in scripts.iter().enumerate() {
        let file = format!("synth-{try_}.ys");
        work.write(&file, script)?;
        yosys.run(work, &file, &format!("synth-{try_}"))?;
        let cells = statistics(&work.path().join(format!("stat-{try_}.json")), top)
            .map_err(|what| SynthesisError::Output { tool: yosys.version.clone(), what })?;
        let size = cells.iter().map(|(cell, count)| match family.kind(cell) {
            Kind::Lut | Kind::Carry => *count,
            Kind::LutRam(luts) => luts * count,
            Kind::FlipFlop | Kind::BlockRam | Kind::Other => 0,
        });
        let size = size.sum();
        if best.as_ref().is_none_or(|(smallest, ..)| size < *smallest) {
            best = Some((size, try_, cells));
        }
    }
    let Some((_, try_, cells)) = best else {
        unreachable!("every family has a command");
    };
    Ok((try_, cells))
}

impl FpgaReport {
    /// Adds cells, by type.
    fn count(&mut self, cells: BTreeMap<String, u64>) {
        for (cell, count) in cells {
            match self.family.kind(&cell) {
                Kind::Lut => self.luts += count,
                Kind::FlipFlop => self.flip_flops += count,
                Kind::BlockRam => self.block_rams += count,
                Kind::Carry => self.carries += count,
                Kind::LutRam(luts) => {
                    self.luts += luts * count;
                    self.lut_rams += luts * count;
                }
                Kind::Other => {}
            }
            self.cells.insert(cell, count);
        }
    }
}

struct Placer {
    found: Found,
    arguments: &'static [&'static str],
    resource: &'static str,
}

/// nextpnr's `--report`.
#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    fmax: BTreeMap<String, Fmax>,
    utilization: BTreeMap<String, Utilization>,
}

#[derive(Deserialize)]
struct Fmax {
    achieved: f64,
}

#[derive(Clone, Copy, Deserialize)]
struct Utilization {
    used: u64,
    available: u64,
}

impl Placer {
    /// Places what the attempt `try_` of synthesis left in the folder.
    fn place(&self, work: &Workplace, try_: usize, options: &FpgaOptions) -> Result<Placement, Stop> {
        let tool = self.found.version_line.clone();
        let alone = self.packed(work, &format!("alone-{try_}"))?;
        let too_large = |reason: String| Placement::TooLarge {
            tool: tool.clone(),
            logic_cells: alone.used,
            available: alone.available,
            reason,
        };
        if alone.used > alone.available {
            return Ok(too_large(format!("{} of {} {}", alone.used, alone.available, self.resource)));
        }
        // nextpnr does not look at numbers of cells before it has tried to place them.
        let harness = format!("harness-{try_}");
        let packed = self.packed(work, &harness)?;
        if packed.used > packed.available {
            let (used, available) = (packed.used, packed.available);
            return Ok(too_large(format!(
                "with the harness it is measured in it would take {used} of {available} {}",
                self.resource
            )));
        }
        let frequency = options.target_mhz.to_string();
        let mut runs = Vec::new();
        let mut with_harness = 0;
        for seed in &options.seeds {
            let name = format!("seed-{seed}");
            let how = ["--timing-allow-fail", "--freq", &frequency, "--seed", &seed.to_string()];
            match self.run(work, &harness, &name, &how) {
                Ok(()) => {}
                Err(failure) if failure.late => {
                    return Ok(Placement::Unrouted {
                        tool,
                        logic_cells: alone.used,
                        available: alone.available,
                        reason: format!("seed {seed} had no result after {} s", options.limit.as_secs()),
                    });
                }
                Err(failure) => {
                    let full = ["Unable to place", "unable to place", "no Bels", "no BELs", "Unable to find"];
                    let said = |line: &&str| full.iter().any(|words| line.contains(words));
                    return match failure.message.lines().find(said) {
                        Some(line) => {
                            Ok(too_large(format!("in its harness: {}", line.trim_start_matches("ERROR: "))))
                        }
                        None => Err(failure.into()),
                    };
                }
            }
            let results = self.results(work, &name)?;
            with_harness = self.utilization(&results)?.used;
            let fmax_mhz = results.fmax.values().map(|f| f.achieved).reduce(f64::min);
            runs.push(Run { seed: *seed, fmax_mhz: fmax_mhz.map(|mhz| (mhz * 100.0).round() / 100.0) });
        }
        let (logic_cells, available) = (alone.used, alone.available);
        Ok(Placement::Placed { tool, logic_cells, available, with_harness, runs })
    }

    /// Runs nextpnr on the netlist; its results are in `NAME-report.json`, and what it printed in `NAME.log`.
    fn run(&self, work: &Workplace, netlist: &str, name: &str, how: &[&str]) -> Result<(), Failure> {
        let (netlist, report) = (format!("{netlist}.json"), format!("{name}-report.json"));
        let files = ["--json", &netlist, "--report", &report, "--quiet"];
        let arguments = [self.arguments, &files, how].concat();
        work.run(self.found.tool.info().name, &self.found.path, &arguments, &format!("{name}.log"))
    }

    /// What the netlist takes once it is packed, which is not yet placed.
    fn packed(&self, work: &Workplace, netlist: &str) -> Result<Utilization, Stop> {
        let name = format!("{netlist}-pack");
        self.run(work, netlist, &name, &["--pack-only"])?;
        Ok(self.utilization(&self.results(work, &name)?)?)
    }

    fn results(&self, work: &Workplace, name: &str) -> Result<Results, SynthesisError> {
        let path = work.path().join(format!("{name}-report.json"));
        let text = fs::read_to_string(path).map_err(|e| self.unreadable(e.to_string()))?;
        serde_json::from_str(&text).map_err(|e| self.unreadable(e.to_string()))
    }

    fn utilization(&self, results: &Results) -> Result<Utilization, SynthesisError> {
        let found = results.utilization.get(self.resource).copied();
        found.ok_or_else(|| self.unreadable(format!("its report has no `{}`", self.resource)))
    }

    fn unreadable(&self, what: String) -> SynthesisError {
        SynthesisError::Output { tool: self.found.version_line.clone(), what }
    }
}

/// The block is synthesized alone, then put into the harness as a netlist: nothing is optimized across that border. The files of the
/// attempt `try_` have its number.
fn script(
    design: &[(String, String)],
    top: &str,
    yosys: &Yosys,
    synth: &str,
    try_: usize,
    place: bool,
) -> String {
    let synth = |top: &str| synth.replace("TOP", top);
    let mut script = flow::read_commands(design, top, yosys);
    // nextpnr does not know the cells in which newer versions note what was flattened.
    let _ = write!(
        script,
        "hierarchy -check -top {top}\n\
         proc -noopt\n\
         check\n\
         {}\n\
         delete t:$scopeinfo\n\
         tee -q -o stat-{try_}.json stat -json\n",
        synth(top)
    );
    if place {
        let _ = write!(
            script,
            "write_json alone-{try_}.json\n\
             design -stash alone\n\
             read_verilog -lib stub.v\n\
             read_verilog harness.v\n\
             {}\n\
             delete ={top}\n\
             design -copy-from alone -as {top} {top}\n\
             hierarchy -check -top {HARNESS}\n\
             flatten\n\
             delete t:$scopeinfo\n\
             opt_clean -purge\n\
             write_json harness-{try_}.json\n",
            synth(HARNESS)
        );
    }
    script
}

/// The block without its inside.
fn stub(top: &str, ports: &[Port]) -> String {
    let ports: Vec<String> = ports.iter().map(declaration).collect();
    format!("module {top} ({});\nendmodule\n", ports.join(", "))
}

/// The harness: one flip-flop per bit of input, one per bit of output, and a third of one per bit of output for the tree.
fn harness(top: &str, ports: &[Port]) -> String {
    let of = |direction| ports.iter().filter(move |p| p.direction == direction && p.name != CLOCK);
    let (inputs, outputs) = (of(Direction::Input), of(Direction::Output));
    let bits = |ports: &mut dyn Iterator<Item = &Port>| ports.map(|p| p.width).sum::<u32>();
    let (wide_in, wide_out) = (bits(&mut inputs.clone()).max(1), bits(&mut outputs.clone()).max(1));
    let mut text = format!(
        "module {HARNESS} (input wire {CLOCK}, input wire serial_i, output reg serial_o);\n  \
           reg [{0}:0] shift;\n  \
           wire [{1}:0] out;\n  \
           reg [{1}:0] fold_0;\n  \
           always @(posedge {CLOCK}) shift <= {{shift, serial_i}};\n  \
           always @(posedge {CLOCK}) fold_0 <= out;\n",
        wide_in - 1,
        wide_out - 1
    );
    let (mut wide, mut step) = (wide_out, 0);
    while wide > 1 {
        let next = wide.div_ceil(4);
        let folded: Vec<String> = (0..next)
            .rev()
            .map(|i| format!("^fold_{step}[{}:{}]", (4 * i + 3).min(wide - 1), 4 * i))
            .collect();
        step += 1;
        let _ = write!(
            text,
            "  reg [{}:0] fold_{step};\n  always @(posedge {CLOCK}) fold_{step} <= {{{}}};\n",
            next - 1,
            folded.join(", ")
        );
        wide = next;
    }
    let _ = writeln!(text, "  always @(posedge {CLOCK}) serial_o <= fold_{step}[0];");
    let mut connections = Vec::new();
    if ports.iter().any(|p| p.name == CLOCK) {
        connections.push(format!(".{CLOCK}({CLOCK})"));
    }
    for (ports, wire) in [(inputs.collect::<Vec<_>>(), "shift"), (outputs.collect(), "out")] {
        let mut at = 0;
        for port in ports {
            connections.push(format!(".{}({wire}[{}:{at}])", port.name, at + port.width - 1));
            at += port.width;
        }
    }
    let _ = write!(text, "  {top} block (\n    {}\n  );\nendmodule\n", connections.join(",\n    "));
    text
}

/// Cells by type of the flattened design.
fn statistics(path: &Path, top: &str) -> Result<BTreeMap<String, u64>, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let plain = |name: &str| name.trim_start_matches('\\').to_string();
    let module = area::parse_statistics(&text)?.into_iter().find(|(name, _)| plain(name) == top);
    let (_, module) = module.ok_or_else(|| format!("they have no module `{top}`"))?;
    Ok(module.num_cells_by_type.into_iter().map(|(cell, count)| (plain(&cell), count)).collect())
}

/// A module that holds `parts` side by side, to measure them together: its Verilog and its ports. A part is a name for its ports'
/// prefix, its module and its ports; clock and reset are shared.
pub fn side_by_side(name: &str, parts: &[(&str, &str, &[Port])]) -> (String, Vec<Port>) {
    let instances: Vec<Instance> = parts
        .iter()
        .map(|&(prefix, module, ports)| Instance {
            module,
            name: format!("u_{prefix}"),
            ports,
            prefix: format!("{prefix}_"),
        })
        .collect();
    verilog::side_by_side(name, &instances, |port| port.name == CLOCK || port.name == RESET)
}

/// The reports as a table in text or, with `markdown`, in Markdown.
pub fn table(reports: &[FpgaReport], markdown: bool) -> String {
    let head = ["design", "FPGA", "LUT", "FF", "BRAM", "carry", "logic cells", "with harness", "fmax, MHz"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut notes: Vec<String> = Vec::new();
    for report in reports {
        let (cells, harness, fmax) = match &report.placement {
            Placement::Placed { logic_cells, available, with_harness, runs, .. } => {
                let fmax = match report.placement.fmax_mhz() {
                    Some((slow, fast)) if runs.len() > 1 => format!("{slow:.1} to {fast:.1}"),
                    Some((mhz, _)) => format!("{mhz:.1}"),
                    None => "no path".into(),
                };
                (format!("{logic_cells} of {available}"), with_harness.to_string(), fmax)
            }
            Placement::TooLarge { logic_cells, available, reason, .. } => {
                notes.push(format!("{} does not fit in {}: {reason}", report.top, report.part));
                (format!("{logic_cells} of {available}"), "-".into(), "does not fit".into())
            }
            Placement::Unrouted { logic_cells, available, reason, .. } => {
                notes.push(format!("{} was not routed in {}: {reason}", report.top, report.part));
                (format!("{logic_cells} of {available}"), "-".into(), "not routed".into())
            }
            Placement::NotRun { reason } => {
                notes.push(format!("{}: {}", report.part, one_line(reason)));
                ("-".into(), "-".into(), "-".into())
            }
        };
        let counts = [report.luts, report.flip_flops, report.block_rams, report.carries];
        let mut row = vec![report.top.clone(), report.family.to_string()];
        row.extend(counts.map(|n| n.to_string()));
        row.extend([cells, harness, fmax]);
        rows.push(row);
    }
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    let is_left = |column: usize| column < 2;
    let mut text = String::new();
    for (i, cells) in aligned(&rows, 0, is_left).iter().enumerate() {
        text += &line(cells, markdown);
        if i == 0 && markdown {
            let rules = cells.iter().enumerate().map(|(column, cell)| {
                let dashes = "-".repeat(cell.chars().count() + 1);
                dashes + if is_left(column) { "-" } else { ":" }
            });
            let _ = writeln!(text, "|{}|", rules.collect::<Vec<_>>().join("|"));
        }
    }
    for note in notes {
        let _ = writeln!(text, "{}{note}", if markdown { "\n" } else { "" });
    }
    text
}

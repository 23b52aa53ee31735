//! Area after synthesis: Yosys maps the design to a library's cells, module by module, and the cells are added up here.
//!
//! The hierarchy is kept, so that each module has an area and the modules add up to the top. What a flattened design would
//! save across module borders is therefore not in these numbers.

use super::clock_gates;
use super::flow::{self, SynthesisError, TIME_LIMIT, Workplace, Yosys};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass_netlist::liberty::{self, LibertyError, Library};

/// Part of the cache's key: our own share of the result.
const SOURCES: [&str; 3] = [include_str!("area.rs"), liberty::SOURCE, clock_gates::RESETS];

/// ABC's commands. Of seven tried on the 32-slot schedulers, in osu018 and in sg13g2, this gave the smallest area or came within
/// 0.3 % of it; Yosys's own are 2 to 10 % larger. Delay is not looked at.
pub const ABC_SCRIPT: &str = "strash;ifraig;scorr;dc2;dc2;dch,-f;amap,-m;topo";

/// What to synthesize with.
#[derive(Clone, Debug)]
pub struct AreaOptions {
    /// The Yosys to use; `None`: the one that [`Yosys::find`] finds.
    pub yosys: Option<Yosys>,
    /// The cache's root; `None`: [`crate::cache::root`].
    pub cache: Option<PathBuf>,
    /// ABC's commands, separated by `;`, their arguments by `,`.
    pub abc_script: String,
    /// Flip-flops with a common enable get their clock through a clock gate.
    pub clock_gates: bool,
    /// How long Yosys may run.
    pub limit: Duration,
}

impl Default for AreaOptions {
    fn default() -> Self {
        Self {
            yosys: None,
            cache: None,
            abc_script: ABC_SCRIPT.into(),
            clock_gates: false,
            limit: TIME_LIMIT,
        }
    }
}

/// Area of a design in a library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AreaReport {
    /// Module at the top.
    pub top: String,
    /// Tool and version, as the tool prints it.
    pub tool: String,
    /// The library's name.
    pub library: String,
    /// Its operating conditions.
    pub corner: String,
    /// The cell that gate equivalents count in: the library's smallest two-input NAND.
    pub gate: String,
    /// That cell's area in µm².
    pub gate_um2: f64,
    /// Area of the library's smallest flip-flop in µm², if it has one.
    pub flip_flop_um2: Option<f64>,
    /// All that Yosys was told, to run it again.
    pub script: String,
    /// The modules, from the top down; each once, however often it is instantiated.
    pub modules: Vec<ModuleArea>,
}

/// Area of one module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleArea {
    /// Name of the module.
    pub module: String,
    /// How many of it the whole design has.
    pub instances: u64,
    /// One of it, without the modules inside.
    pub own: Amount,
    /// One of it, with all that is inside.
    pub total: Amount,
    /// Own cells by type.
    pub cells: BTreeMap<String, u64>,
    /// Modules instantiated directly inside, with their number.
    pub children: BTreeMap<String, u64>,
}

/// So much hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Library cells.
    pub cells: u64,
    /// Those of them that are flip-flops; one holds one bit.
    pub flip_flops: u64,
    /// Those of them that are clock gates.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_gates: u64,
    /// Cell area in µm².
    pub area_um2: f64,
    /// The part of it that is flip-flops.
    pub sequential_um2: f64,
    /// Area over that of the library's smallest two-input NAND.
    pub gate_equivalents: f64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Amount {
    fn add(&mut self, other: &Self, times: u64) {
        self.cells += other.cells * times;
        self.flip_flops += other.flip_flops * times;
        self.clock_gates += other.clock_gates * times;
        self.area_um2 += other.area_um2 * times as f64;
        self.sequential_um2 += other.sequential_um2 * times as f64;
    }

    /// To four decimals, so that the order of additions leaves no trace in the report.
    fn finished(mut self, gate_um2: f64) -> Self {
        self.gate_equivalents = round4(self.area_um2 / gate_um2);
        self.area_um2 = round4(self.area_um2);
        self.sequential_um2 = round4(self.sequential_um2);
        self
    }
}

pub(crate) fn round4(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

impl AreaReport {
    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<&ModuleArea> {
        self.modules.iter().find(|m| m.module == name)
    }

    /// The whole design.
    pub fn total(&self) -> Amount {
        self.modules.first().map(|m| m.total).unwrap_or_default()
    }
}

/// Area of the module `top` in `design`, a list of Verilog files (name, text), in the cells of the Liberty file.
///
/// Results are cached by content; a second call with the same design, library, tool and options runs nothing.
pub fn area(
    design: &[(String, String)],
    top: &str,
    liberty: &Path,
    options: &AreaOptions,
) -> Result<AreaReport, SynthesisError> {
    flow::check_names(design, top)?;
    let root = flow::shelf(options.cache.as_deref(), "area")?;
    let liberty_text = liberty::read(liberty)?;
    let yosys = options.yosys.clone().map_or_else(Yosys::find, Ok)?;
    let gates = clock_gates::commands(options.clock_gates, &liberty_text, liberty)?;
    let script = script(design, top, &yosys, &gates, &options.abc_script);
    let given: [&str; 3] = [&yosys.version, &liberty_text, &script];
    let key = flow::key(design, &[&given[..], &SOURCES].concat());
    let entry = format!("{key}.json");
    if let Some(report) = flow::stored(&root, &entry) {
        return Ok(report);
    }
    let library = Library::parse(&liberty_text, liberty)?;
    let (gate, gate_um2) = gate(&library, liberty)?;

    let work = Workplace::new(&root, top, &key, options.limit)?;
    let others = [
        ("cells.lib", liberty_text.as_str()),
        (clock_gates::FILE, clock_gates::RESETS),
        ("synth.ys", script.as_str()),
    ];
    let statistics = synthesize(work, design, &others, top, &yosys)?;
    let modules = add_up(statistics, top, &library, gate_um2)?;
    let report = AreaReport {
        top: top.into(),
        tool: yosys.version,
        flip_flop_um2: library.smallest_flip_flop(),
        library: library.name,
        corner: library.corner,
        gate,
        gate_um2,
        script,
        modules,
    };
    flow::store_entry(&root, &entry, &report)?;
    Ok(report)
}

/// The cell that gate equivalents count in, and its area.
pub(super) fn gate(library: &Library, path: &Path) -> Result<(String, f64), LibertyError> {
    let gate = library.nand2().map(|(name, area)| (name.to_string(), area));
    gate.ok_or_else(|| LibertyError::NoNand2 { path: path.to_path_buf(), library: library.name.clone() })
}

/// The script names files without folders: it is the same on each machine, and runs wherever the files are.
///
/// It checks twice. Two drivers of a net are seen only before `opt_expr` merges them, and loops only after `techmap`: before it, a
/// chain along the bits of one signal looks like a loop.
fn script(design: &[(String, String)], top: &str, yosys: &Yosys, gates: &str, abc_script: &str) -> String {
    let mut script = flow::read_commands(design, top, yosys);
    let abc_script: String = abc_script.split_whitespace().collect::<Vec<_>>().join(",");
    let _ = write!(
        script,
        "hierarchy -check -top {top}\n\
         proc -noopt\n\
         check\n\
         synth -noabc -run coarse:\n\
         check -assert\n\
         {gates}\
         dfflibmap -liberty cells.lib\n\
         opt\n\
         abc -liberty cells.lib -script +{abc_script}\n\
         opt_clean\n\
         tee -q -o stat.json stat -liberty cells.lib -json\n"
    );
    script
}

/// A module, as Yosys counts it.
#[derive(Debug, Deserialize)]
pub(super) struct ModuleStatistics {
    #[serde(default)]
    pub num_cells_by_type: BTreeMap<String, u64>,
    // Newer versions count instances of modules apart.
    #[serde(default)]
    num_submodules_by_type: BTreeMap<String, u64>,
}

fn synthesize(
    work: Workplace,
    design: &[(String, String)],
    others: &[(&str, &str)],
    top: &str,
    yosys: &Yosys,
) -> Result<Counts, SynthesisError> {
    let files = design.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    for (name, text) in files.chain(others.iter().copied()) {
        work.write(name, text)?;
    }
    let ran = yosys.run(&work, "synth.ys", "yosys");
    let log = flow::read_lossy(&work.path().join("yosys.log"));
    flow::refuse(&log, top)?;
    clock_gates::refuse(&log, &yosys.version)?;
    if let Err(failure) = ran {
        return Err(work.failed(failure));
    }
    let statistics = |what: String| SynthesisError::Output { tool: yosys.version.clone(), what };
    let text = fs::read_to_string(work.path().join("stat.json")).map_err(|e| statistics(e.to_string()))?;
    let modules = parse_statistics(&text).map_err(statistics)?;
    let plain = |name: String| name.strip_prefix('\\').map(String::from).unwrap_or(name);
    Ok(modules
        .into_iter()
        .map(|(name, m)| {
            let cells = m.num_cells_by_type.into_iter().chain(m.num_submodules_by_type);
            (plain(name), cells.map(|(kind, count)| (plain(kind), count)).collect())
        })
        .collect())
}

/// The value of `"modules"`, read on its own: where modules are nested twice, Yosys 0.23 goes on with lines that are no JSON.
pub(super) fn parse_statistics(text: &str) -> Result<BTreeMap<String, ModuleStatistics>, String> {
    let (_, modules) = text.split_once("\"modules\":").ok_or("they have no `modules`")?;
    let first = serde_json::Deserializer::from_str(modules).into_iter().next();
    first.ok_or("they end after `modules`")?.map_err(|e| e.to_string())
}

type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// The modules under `top` in the order in which the tree names them, own cells and all below them added up.
fn add_up(
    counts: Counts,
    top: &str,
    library: &Library,
    gate_um2: f64,
) -> Result<Vec<ModuleArea>, SynthesisError> {
    let mut order = Vec::new();
    let mut below = Vec::new();
    walk(&counts, top, &mut Vec::new(), &mut order, &mut below)
        .map_err(|what| SynthesisError::Output { tool: "Yosys".into(), what })?;

    let (mut latches, mut unmapped) = (Vec::new(), Vec::new());
    let mut own: BTreeMap<&str, Amount> = BTreeMap::new();
    for module in &order {
        let cells = counts[*module].iter().filter(|(kind, _)| !counts.contains_key(*kind));
        let amount = amount(module, cells, library, &mut latches, &mut unmapped);
        own.insert(module, amount);
    }
    complete(top, library, latches, unmapped)?;

    // `below` has children before parents: totals go up in that order, numbers of instances down in the reverse one.
    let mut total: BTreeMap<&str, Amount> = BTreeMap::new();
    let mut instances: BTreeMap<&str, u64> = BTreeMap::from([(top, 1)]);
    let children = |module: &str| counts[module].iter().filter(|(kind, _)| counts.contains_key(*kind));
    for &module in &below {
        let mut amount = own[module];
        for (child, &count) in children(module) {
            amount.add(&total[child.as_str()], count);
        }
        total.insert(module, amount);
    }
    for &module in below.iter().rev() {
        let here = instances[module];
        for (child, count) in children(module) {
            *instances.entry(child.as_str()).or_default() += here * count;
        }
    }
    Ok(order
        .iter()
        .map(|&module| ModuleArea {
            module: module.into(),
            instances: instances[module],
            own: own[module].finished(gate_um2),
            total: total[module].finished(gate_um2),
            cells: counts[module]
                .iter()
                .filter(|(k, _)| !counts.contains_key(*k))
                .map(|(k, n)| (k.clone(), *n))
                .collect(),
            children: children(module).map(|(k, n)| (k.clone(), *n)).collect(),
        })
        .collect())
}

/// Cells added up; those that the library does not have, and latches, go into the lists.
fn amount<'a>(
    module: &str,
    cells: impl Iterator<Item = (&'a String, &'a u64)>,
    library: &Library,
    latches: &mut Vec<String>,
    unmapped: &mut Vec<String>,
) -> Amount {
    let mut amount = Amount::default();
    for (kind, &count) in cells {
        let cell = library.cells.get(kind);
        if cell.is_some_and(|c| c.latch) || kind.starts_with("$_DLATCH") || kind.starts_with("$_SR_") {
            latches.push(format!("{module} ({count} {kind})"));
            continue;
        }
        let Some((cell, area)) = cell.and_then(|c| Some((c, c.area?))) else {
            unmapped.push(format!("{kind} ({count} in {module})"));
            continue;
        };
        let one = Amount {
            cells: 1,
            flip_flops: u64::from(cell.flip_flop),
            clock_gates: u64::from(cell.clock_gate.is_some()),
            area_um2: area,
            sequential_um2: if cell.flip_flop { area } else { 0.0 },
            gate_equivalents: 0.0,
        };
        amount.add(&one, count);
    }
    amount
}

fn complete(
    top: &str,
    library: &Library,
    latches: Vec<String>,
    unmapped: Vec<String>,
) -> Result<(), SynthesisError> {
    if !latches.is_empty() {
        return Err(SynthesisError::Latches { top: top.into(), latches });
    }
    if !unmapped.is_empty() {
        return Err(SynthesisError::Unmapped { library: library.name.clone(), cells: unmapped });
    }
    Ok(())
}

/// Area of a flat netlist: so many cells of each type.
pub(super) fn flat_amount(
    top: &str,
    cells: &BTreeMap<String, u64>,
    library: &Library,
    gate_um2: f64,
) -> Result<Amount, SynthesisError> {
    let (mut latches, mut unmapped) = (Vec::new(), Vec::new());
    let amount = amount(top, cells.iter(), library, &mut latches, &mut unmapped);
    complete(top, library, latches, unmapped)?;
    Ok(amount.finished(gate_um2))
}

/// Each module once: in `order` before what it contains, in `below` after it.
fn walk<'a>(
    counts: &'a Counts,
    module: &str,
    path: &mut Vec<&'a str>,
    order: &mut Vec<&'a str>,
    below: &mut Vec<&'a str>,
) -> Result<(), String> {
    let Some((name, cells)) = counts.get_key_value(module) else {
        return Err(format!("module `{module}` is not in them"));
    };
    if path.contains(&name.as_str()) {
        return Err(format!("module `{module}` contains itself"));
    }
    if order.contains(&name.as_str()) {
        return Ok(());
    }
    order.push(name);
    path.push(name);
    for child in cells.keys().filter(|kind| counts.contains_key(*kind)) {
        walk(counts, child, path, order, below)?;
    }
    path.pop();
    below.push(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_netlist::liberty::Cell;

    fn counts(rows: &[(&str, &[(&str, u64)])]) -> Counts {
        rows.iter()
            .map(|(module, cells)| {
                (module.to_string(), cells.iter().map(|(k, n)| (k.to_string(), *n)).collect())
            })
            .collect()
    }

    fn library() -> Library {
        let cell = |area, flip_flop, latch| Cell { area, flip_flop, latch, ..Cell::default() };
        let cells = [
            ("ND", cell(Some(2.0), false, false)),
            ("FF", cell(Some(8.0), true, false)),
            ("LA", cell(Some(5.0), false, true)),
            ("XX", cell(None, false, false)),
        ];
        Library {
            name: "mini".into(),
            corner: String::new(),
            cells: cells.map(|(n, c)| (n.to_string(), c)).into(),
            capacitance_ff: 1.0,
        }
    }

    #[test]
    fn modules_add_up_through_a_shared_grandchild() {
        // `leaf` is reached over two ways of different length: 2 x 3 of it in `mid`, one in `top`.
        let counts = counts(&[
            ("top", &[("ND", 1), ("leaf", 1), ("mid", 2)]),
            ("mid", &[("ND", 10), ("leaf", 3)]),
            ("leaf", &[("FF", 1), ("ND", 2)]),
            ("unused", &[("FF", 1000)]),
        ]);
        let modules = add_up(counts, "top", &library(), 2.0).unwrap();
        let names: Vec<_> = modules.iter().map(|m| (m.module.as_str(), m.instances)).collect();
        assert_eq!(names, [("top", 1), ("leaf", 7), ("mid", 2)]);
        let top = &modules[0].total;
        assert_eq!(
            (top.cells, top.flip_flops, top.area_um2, top.sequential_um2),
            (1 + 20 + 21, 7, 2.0 + 40.0 + 84.0, 56.0)
        );
        assert_eq!(top.gate_equivalents, 63.0);
        let sum: f64 = modules.iter().map(|m| m.own.area_um2 * m.instances as f64).sum();
        assert_eq!(sum, top.area_um2);
    }

    #[test]
    fn latches_and_leftovers_are_named() {
        let latch =
            add_up(counts(&[("top", &[("LA", 3), ("$_DLATCH_P_", 2)])]), "top", &library(), 2.0).unwrap_err();
        assert_eq!(
            latch.to_string(),
            "`top` has latches: top (2 $_DLATCH_P_), top (3 LA)\n  assign these signals on every path through their `always @(*)`, or clock them"
        );
        let left =
            add_up(counts(&[("top", &[("$_DFF_P_", 3), ("XX", 1)])]), "top", &library(), 2.0).unwrap_err();
        assert!(
            matches!(&left, SynthesisError::Unmapped { cells, .. } if cells == &["$_DFF_P_ (3 in top)", "XX (1 in top)"]),
            "{left}"
        );
    }

    #[test]
    fn statistics_that_make_no_sense_are_an_error() {
        for rows in [counts(&[("other", &[])]), counts(&[("top", &[("a", 1)]), ("a", &[("top", 1)])])] {
            assert!(matches!(add_up(rows, "top", &library(), 2.0), Err(SynthesisError::Output { .. })));
        }
    }
}

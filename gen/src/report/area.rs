//! Area after synthesis: Yosys maps the design to a library's cells, module by module, and the cells are added up here.
//!
//! The hierarchy is kept, so that each module has an area and the modules add up to the top. What a flattened design would
//! save across module borders is therefore not in these numbers.

use super::liberty::{self, LibertyError, Library};
use crate::cache;
use crate::tools::{self, Found, Tool, ToolError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use thiserror::Error;

/// Part of the cache's key: goes up when an [`AreaReport`] comes to mean something else.
const CACHE_FORMAT: u32 = 1;

/// Lines of Yosys's complaint that an error shows.
const TAIL_LINES: usize = 20;

/// ABC's commands. Of seven tried on the 32-slot schedulers, in osu018 and in sg13g2, this gave the smallest area or came within
/// 0.3 % of it; Yosys's own are 2 to 10 % larger. Delay is not looked at.
pub const ABC_SCRIPT: &str = "strash;ifraig;scorr;dc2;dc2;dch,-f;amap,-m;topo";

/// What to synthesize with.
#[derive(Clone, Debug)]
pub struct AreaOptions {
    /// The Yosys to use; `None`: the one that [`tools::find`] finds.
    pub yosys: Option<Found>,
    /// The cache's root; `None`: [`cache::root`].
    pub cache: Option<PathBuf>,
    /// ABC's commands, separated by `;`, their arguments by `,`.
    pub abc_script: String,
}

impl Default for AreaOptions {
    fn default() -> Self {
        Self { yosys: None, cache: None, abc_script: ABC_SCRIPT.into() }
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
    /// Cell area in µm².
    pub area_um2: f64,
    /// The part of it that is flip-flops.
    pub sequential_um2: f64,
    /// Area over that of the library's smallest two-input NAND.
    pub gate_equivalents: f64,
}

impl Amount {
    fn add(&mut self, other: &Self, times: u64) {
        self.cells += other.cells * times;
        self.flip_flops += other.flip_flops * times;
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

pub(super) fn round4(value: f64) -> f64 {
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

/// Why there is no area.
#[derive(Debug, Error)]
pub enum AreaError {
    /// Yosys cannot be used.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The library cannot be used.
    #[error(transparent)]
    Liberty(#[from] LibertyError),
    /// A file or module name that cannot be given to Yosys.
    #[error("`{name}` cannot be synthesized under that name: use letters, digits, `_`, `-` and `.` only")]
    Name {
        /// The name.
        name: String,
    },
    /// Yosys stopped.
    #[error("Yosys failed on `{top}` ({status}):\n{message}\n  run it by hand: {command}")]
    Yosys {
        /// Module at the top.
        top: String,
        /// How it ended.
        status: String,
        /// The end of what it said.
        message: String,
        /// The command that does the same again.
        command: String,
    },
    /// The design has latches, and no block of Windlass may.
    #[error("`{top}` has latches: {}\n  assign these signals on every path through their `always @(*)`, or clock them", latches.join(", "))]
    Latches {
        /// Module at the top.
        top: String,
        /// Each signal as `module.signal`, or module and cell where the latch was written as a cell.
        latches: Vec<String>,
    },
    /// The design drives a net from two places.
    #[error("`{top}` has nets with more than one driver: {}\n  leave one assignment to each", nets.join(", "))]
    Drivers {
        /// Module at the top.
        top: String,
        /// Each net as `module.signal`, with its bit.
        nets: Vec<String>,
    },
    /// The library lacks what the design needs.
    #[error("the library `{library}` has no cell, or none with an area, for: {}\n  name a complete standard-cell library with --liberty", cells.join(", "))]
    Unmapped {
        /// The library's name.
        library: String,
        /// What is left over, with its module.
        cells: Vec<String>,
    },
    /// Yosys printed statistics that are not understood.
    #[error(
        "the statistics of {tool} cannot be read: {what}\n  Yosys 0.23 is known to work; set YOSYS to another one"
    )]
    Statistics {
        /// The tool's version.
        tool: String,
        /// What is wrong with them.
        what: String,
    },
    /// No variable says where the cache is.
    #[error(
        "nothing says where to keep results: set WINDLASS_CACHE to a folder (XDG_CACHE_HOME and HOME are not set either)"
    )]
    NoCache,
    /// The cache, or a file in it, cannot be read or written.
    #[error("cannot {what} `{}`: {source}\n  free some space there, or set WINDLASS_CACHE to a folder that can be written", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> AreaError + 'a {
    move |source| AreaError::Io { what, path: path.to_path_buf(), source }
}

/// Area of the module `top` in `design`, a list of Verilog files (name, text), in the cells of the Liberty file.
///
/// Results are cached by content; a second call with the same design, library, tool and options runs nothing.
pub fn area(
    design: &[(String, String)],
    top: &str,
    liberty: &Path,
    options: &AreaOptions,
) -> Result<AreaReport, AreaError> {
    for name in design.iter().map(|(name, _)| name.as_str()).chain([top]) {
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(AreaError::Name { name: name.into() });
        }
    }
    let root = options.cache.clone().or_else(cache::root).ok_or(AreaError::NoCache)?.join("area");
    let liberty_text = liberty::read(liberty)?;
    let yosys = match &options.yosys {
        Some(found) => found.clone(),
        None => tools::find(Tool::Yosys)?,
    };
    let script = script(design, top, &options.abc_script);
    let key = key(design, &[&yosys.version_line, &liberty_text, &script]);

    let entry = root.join(format!("{key}.json"));
    // An entry that does not parse is damaged and is made again.
    if let Some(report) = fs::read(&entry).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Ok(report);
    }
    let library = Library::parse(&liberty_text, liberty)?;
    let (gate, gate_um2) = library.nand2().map(|(name, area)| (name.to_string(), area)).ok_or_else(|| {
        LibertyError::NoNand2 { path: liberty.to_path_buf(), library: library.name.clone() }
    })?;

    fs::create_dir_all(&root).map_err(io_error("create", &root))?;
    let statistics = synthesize(&Job {
        design,
        top,
        liberty: &liberty_text,
        script: &script,
        yosys: &yosys,
        root: &root,
        key: &key,
    })?;
    let modules = add_up(statistics, top, &library, gate_um2)?;
    let report = AreaReport {
        top: top.into(),
        tool: yosys.version_line,
        flip_flop_um2: library.smallest_flip_flop(),
        library: library.name,
        corner: library.corner,
        gate,
        gate_um2,
        script,
        modules,
    };
    let bytes = serde_json::to_vec(&report).map_err(|e| io_error("write", &entry)(e.into()))?;
    // Written aside and renamed, so that whoever reads at the same time sees a whole entry or none.
    let mut file = tempfile::NamedTempFile::new_in(&root).map_err(io_error("create a file in", &root))?;
    file.write_all(&bytes).map_err(io_error("write", &entry))?;
    file.persist(&entry).map_err(|e| io_error("write", &entry)(e.error))?;
    Ok(report)
}

/// What a Yosys script takes without quoting.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// The script names files without folders: it is the same on each machine, and runs wherever the files are.
///
/// It checks twice. Two drivers of a net are seen only before `opt_expr` merges them, and loops only after `techmap`: before it, a
/// chain along the bits of one signal looks like a loop.
fn script(design: &[(String, String)], top: &str, abc_script: &str) -> String {
    let mut script = String::new();
    for (name, _) in design {
        let _ = writeln!(script, "read_verilog {name}");
    }
    let abc_script: String = abc_script.split_whitespace().collect::<Vec<_>>().join(",");
    let _ = write!(
        script,
        "hierarchy -check -top {top}\n\
         proc -noopt\n\
         check\n\
         synth -noabc -run coarse:\n\
         check -assert\n\
         dfflibmap -liberty cells.lib\n\
         opt\n\
         abc -liberty cells.lib -script +{abc_script}\n\
         opt_clean\n\
         tee -q -o stat.json stat -liberty cells.lib -json\n"
    );
    script
}

/// SHA-256 over all that the result depends on. Each part goes in with its length, so that no two lists look alike.
fn key(design: &[(String, String)], others: &[&str]) -> String {
    let mut hash = Sha256::new();
    let parts =
        design.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]).chain(others.iter().copied());
    hash.update(CACHE_FORMAT.to_le_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A module, as Yosys counts it.
#[derive(Debug, Deserialize)]
struct ModuleStatistics {
    #[serde(default)]
    num_cells_by_type: BTreeMap<String, u64>,
}

struct Job<'a> {
    design: &'a [(String, String)],
    top: &'a str,
    liberty: &'a str,
    script: &'a str,
    yosys: &'a Found,
    root: &'a Path,
    key: &'a str,
}

fn synthesize(job: &Job) -> Result<BTreeMap<String, BTreeMap<String, u64>>, AreaError> {
    let work = tempfile::Builder::new()
        .prefix("run-")
        .tempdir_in(job.root)
        .map_err(io_error("create a folder in", job.root))?;
    let files = job.design.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    for (name, text) in files.chain([("cells.lib", job.liberty), ("synth.ys", job.script)]) {
        let path = work.path().join(name);
        fs::write(&path, text).map_err(io_error("write", &path))?;
    }
    // The command runs in another folder, from where a relative path would lead elsewhere.
    let program = std::path::absolute(&job.yosys.path).map_err(io_error("find", &job.yosys.path))?;
    let output = std::process::Command::new(&program)
        .args(["-q", "-l", "yosys.log", "-s", "synth.ys"])
        .current_dir(work.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| ToolError::WillNotRun {
            tool: Tool::Yosys,
            path: program.display().to_string(),
            reason: error.to_string(),
            install: Tool::Yosys.info().install(),
        })?;

    let log = fs::read(work.path().join("yosys.log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let latches = named_in(&log, "Latch inferred for signal `", "' from process");
    if !latches.is_empty() {
        return Err(AreaError::Latches { top: job.top.into(), latches });
    }
    let nets = named_in(&log, "Warning: multiple conflicting drivers for ", ":");
    if !nets.is_empty() {
        return Err(AreaError::Drivers { top: job.top.into(), nets });
    }
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(failed(job, &program, work, output.status.to_string(), &stderr));
    }
    let statistics = |what: String| AreaError::Statistics { tool: job.yosys.version_line.clone(), what };
    let text = fs::read_to_string(work.path().join("stat.json")).map_err(|e| statistics(e.to_string()))?;
    let modules = parse_statistics(&text).map_err(statistics)?;
    let plain = |name: String| name.strip_prefix('\\').map(String::from).unwrap_or(name);
    Ok(modules
        .into_iter()
        .map(|(name, m)| (plain(name), m.num_cells_by_type.into_iter().map(|(t, n)| (plain(t), n)).collect()))
        .collect())
}

/// The value of `"modules"`, read on its own: where modules are nested twice, Yosys 0.23 goes on with lines that are no JSON.
fn parse_statistics(text: &str) -> Result<BTreeMap<String, ModuleStatistics>, String> {
    let (_, modules) = text.split_once("\"modules\":").ok_or("they have no `modules`")?;
    let first = serde_json::Deserializer::from_str(modules).into_iter().next();
    first.ok_or("they end after `modules`")?.map_err(|e| e.to_string())
}

/// Keeps the folder of the failed run, so that the command in the error works.
fn failed(job: &Job, program: &Path, work: tempfile::TempDir, status: String, stderr: &str) -> AreaError {
    let lines: Vec<&str> = stderr.lines().filter(|l| !l.trim().is_empty()).collect();
    let message = match lines.as_slice() {
        [] => "(it said nothing)".to_string(),
        lines => lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"),
    };
    // One folder per design that fails, not one per run.
    let kept = job.root.join(format!("failed-{}", &job.key[..16]));
    let work = work.keep();
    let _ = fs::remove_dir_all(&kept);
    let folder = if fs::rename(&work, &kept).is_ok() { kept } else { work };
    let command = format!("cd '{}' && '{}' -s synth.ys", folder.display(), program.display());
    AreaError::Yosys { top: job.top.into(), status, message, command }
}

/// The signals in lines such as ``Latch inferred for signal `\sub.\q' from process ...``, as `sub.q`.
fn named_in(log: &str, before: &str, after: &str) -> Vec<String> {
    let names = log
        .lines()
        .filter_map(|line| line.strip_prefix(before))
        .filter_map(|rest| Some(rest.rsplit_once(after)?.0.replace('\\', "")));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// The modules under `top` in the order in which the tree names them, own cells and all below them added up.
fn add_up(counts: Counts, top: &str, library: &Library, gate_um2: f64) -> Result<Vec<ModuleArea>, AreaError> {
    let mut order = Vec::new();
    let mut below = Vec::new();
    walk(&counts, top, &mut Vec::new(), &mut order, &mut below)
        .map_err(|what| AreaError::Statistics { tool: "Yosys".into(), what })?;

    let (mut latches, mut unmapped) = (Vec::new(), Vec::new());
    let mut own: BTreeMap<&str, Amount> = BTreeMap::new();
    for module in &order {
        let mut amount = Amount::default();
        for (kind, &count) in counts[*module].iter().filter(|(kind, _)| !counts.contains_key(*kind)) {
            let cell = library.cells.get(kind);
            if cell.is_some_and(|c| c.latch) || kind.starts_with("$_DLATCH") || kind.starts_with("$_SR_") {
                latches.push(format!("{module} ({count} {kind})"));
                continue;
            }
            let Some((cell, area)) = cell.and_then(|c| Some((c, c.area?))) else {
                unmapped.push(format!("{kind} ({count} in {module})"));
                continue;
            };
            let flip_flops = u64::from(cell.flip_flop);
            let sequential_um2 = if cell.flip_flop { area } else { 0.0 };
            amount.add(
                &Amount { cells: 1, flip_flops, area_um2: area, sequential_um2, gate_equivalents: 0.0 },
                count,
            );
        }
        own.insert(module, amount);
    }
    if !latches.is_empty() {
        return Err(AreaError::Latches { top: top.into(), latches });
    }
    if !unmapped.is_empty() {
        return Err(AreaError::Unmapped { library: library.name.clone(), cells: unmapped });
    }

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
    use crate::report::liberty::Cell;

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
            matches!(&left, AreaError::Unmapped { cells, .. } if cells == &["$_DFF_P_ (3 in top)", "XX (1 in top)"]),
            "{left}"
        );
    }

    #[test]
    fn statistics_that_make_no_sense_are_an_error() {
        for rows in [counts(&[("other", &[])]), counts(&[("top", &[("a", 1)]), ("a", &[("top", 1)])])] {
            assert!(matches!(add_up(rows, "top", &library(), 2.0), Err(AreaError::Statistics { .. })));
        }
    }

    #[test]
    fn keys_tell_lists_apart() {
        let file = |n: &str, t: &str| (n.to_string(), t.to_string());
        let keys = [
            key(&[file("a.v", "x")], &["1", "2"]),
            key(&[file("a.v", "x")], &["12", ""]),
            key(&[file("a.vx", "")], &["1", "2"]),
            key(&[file("a.v", "y")], &["1", "2"]),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}

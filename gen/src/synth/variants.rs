//! Synthesis of a flattened design with several ABC scripts, each timed; the fastest and the smallest are named.
//!
//! Scripts differ two- to fivefold in delay on the same design, and none is best on all: a single one is luck.
//! The way: Yosys to generic gates and the library's flip-flops, once; then for each [`Variant`] ABC, where it says so the
//! [`windlass_netlist::resize()`], and OpenSTA. Area by module is [`mod@super::area`]'s, which keeps the hierarchy.

use super::area::{self, Amount};
use super::clock_gates;
use super::flow::{self, Failure, Stop, SynthesisError, TIME_LIMIT, Workplace, Yosys, io_error};
use super::module::{Module, Netlist};
use super::timing::{self, TimingReport};
use super::wires::{self, Coloquinte, Wired, WiredNetlist};
use crate::cache;
use crate::constraints::Sdc;
use crate::parallel::parallel;
use crate::tools::{self, Found, Tool, ToolError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass_netlist::liberty::{self, Library};
use windlass_netlist::{DENSITY, REGISTER, ResizeOptions, Resized, Unplaced, WireHints, WireModel, resize};

/// Part of the cache's key: our own share of the result.
const SOURCES: [&[&str]; 2] = [
    &[
        include_str!("variants.rs"),
        include_str!("timing.rs"),
        include_str!("area.rs"),
        include_str!("module.rs"),
        include_str!("wires.rs"),
        clock_gates::RESETS,
    ],
    windlass_netlist::SOURCES,
];

/// How ABC maps: name and commands, arguments after blanks. Delay targets are in ps, and out of reach: ABC stops at its target.
pub const MAPPINGS: &[(&str, &str)] = &[
    ("area", "strash;ifraig;scorr;dc2;dc2;dch -f;amap -m;topo"),
    ("speed", "strash;ifraig;scorr;dch -f;map -B 0.9 -D 100;topo"),
    ("balanced", "strash;ifraig;scorr;if -g -K 8 -C 16;if -g -K 8 -C 16;dch -f;map -B 0.9 -D 100;topo"),
    ("balanced-6", "strash;ifraig;scorr;if -g -K 6;dch -f;map -B 0.9 -D 100;topo"),
];

/// ABC's buffers and sizes.
const ABC_SIZING: &str = "buffer -p -N 16;topo;upsize -D 100;dnsize -D 100";

/// What is done about cells that drive too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// Nothing: the least area.
    None,
    /// ABC's own `buffer`, `upsize` and `dnsize`.
    Abc,
    /// [`windlass_netlist::resize()`], on the mapped netlist.
    Resize,
}

impl Sizing {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Abc => "ABC",
            Self::Resize => "resize",
        }
    }
}

/// One way from gates to a netlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name in reports.
    pub name: String,
    /// ABC's commands, separated by `;`.
    pub abc: String,
    /// What follows.
    pub sizing: Sizing,
}

impl Variant {
    fn new(mapping: &(&str, &str), sizing: Sizing) -> Self {
        let (name, commands) = mapping;
        let (name, abc) = match sizing {
            Sizing::None => (name.to_string(), commands.to_string()),
            Sizing::Abc => (format!("{name}+abc"), format!("{commands};{ABC_SIZING}")),
            Sizing::Resize => (format!("{name}+resize"), commands.to_string()),
        };
        Self { name, abc, sizing }
    }

    /// Every mapping, with each of these sizings.
    pub fn all(sizings: &[Sizing]) -> Vec<Self> {
        MAPPINGS.iter().flat_map(|m| sizings.iter().map(move |s| Self::new(m, *s))).collect()
    }

    /// One mapping, sized: the clock of a netlist without sizes and buffers says nothing. The mapping for speed: for at
    /// most 7 % more area it was 18 to 41 % faster than that for area (docs/report.md, docs/measurements/rtl-quality.md).
    pub fn quick() -> Vec<Self> {
        vec![Self::new(&MAPPINGS[1], Sizing::Resize)]
    }
}

/// What to synthesize with.
#[derive(Clone, Debug)]
pub struct SynthOptions {
    /// The Yosys to use; `None`: the one that [`Yosys::find`] finds.
    pub yosys: Option<Yosys>,
    /// The OpenSTA to use; `None`: the one that [`tools::find`] finds.
    pub sta: Option<Found>,
    /// Do without OpenSTA, as where there is none: ABC's own delay.
    pub estimate: bool,
    /// The cache's root; `None`: [`cache::root`].
    pub cache: Option<PathBuf>,
    /// What to try.
    pub variants: Vec<Variant>,
    /// Constraints, as [`crate::constraints::Resolved::timing`] makes them; `None`: a clock of 1 ns, and no time outside. Driving cell
    /// and load are added where they have none. `[data_inputs]` in them is all inputs but the clock.
    pub sdc: Option<Sdc>,
    /// The clock period in ns that [`Sizing::Resize`] aims at: beyond it, area counts. `None`: as fast as it goes.
    pub period_ns: Option<f64>,
    /// Flip-flops with a common enable get their clock through a clock gate.
    pub clock_gates: bool,
    /// Rows and wires of the technology: the fastest netlist is also placed, sized for its wires and timed with them. Needs OpenSTA and
    /// [`Coloquinte`].
    pub wires: Option<WireModel>,
    /// Tools at the same time.
    pub jobs: usize,
    /// How long each tool may run.
    pub limit: Duration,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self {
            yosys: None,
            sta: None,
            estimate: false,
            cache: None,
            variants: Variant::all(&[Sizing::None, Sizing::Abc, Sizing::Resize]),
            sdc: None,
            period_ns: None,
            clock_gates: false,
            wires: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            limit: TIME_LIMIT,
        }
    }
}

/// A flattened design in a library, mapped in several ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SynthReport {
    /// Module at the top.
    pub top: String,
    /// Synthesis tool and version.
    pub tool: String,
    /// The library's name.
    pub library: String,
    /// Its operating conditions.
    pub corner: String,
    /// The cell that gate equivalents count in.
    pub gate: String,
    /// That cell's area in µm².
    pub gate_um2: f64,
    /// What drives the inputs.
    pub driving_cell: Option<String>,
    /// Load of each output in fF.
    pub load_ff: Option<f64>,
    /// The constraints.
    pub sdc: String,
    /// What they say, and whose they are, in one line; empty where nobody gave any.
    #[serde(default)]
    pub constraints: String,
    /// What in them relaxes nothing, for no path is meant by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// What Yosys was told before ABC.
    pub script: String,
    /// Flip-flops whose clock goes through a clock gate; none where no gates were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<u64>,
    /// What came out, in the order of the variants.
    pub results: Vec<VariantResult>,
    /// Name of the fastest: the shortest clock period inside ([`TimingReport::limit`]), then the least area.
    pub fastest: String,
    /// Name of the one with the least area, then the shortest period.
    pub smallest: String,
    /// The fastest with wires, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wired: Option<Wired>,
    /// Key in the cache; [`netlist`] finds netlists by it.
    pub key: String,
}

/// One variant's netlist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// Name of the variant.
    pub name: String,
    /// ABC's commands.
    pub abc: String,
    /// What followed.
    pub sizing: Sizing,
    /// Area; none if it failed.
    pub total: Option<Amount>,
    /// Times; none if it failed.
    pub timing: Option<TimingReport>,
    /// Why there are none.
    pub failure: Option<String>,
}

impl VariantResult {
    /// The shortest clock period inside.
    pub fn period_ns(&self) -> Option<f64> {
        Some(self.timing.as_ref()?.limit()?.min_period_ns)
    }

    /// The highest clock inside.
    pub fn fmax_mhz(&self) -> Option<f64> {
        Some(self.timing.as_ref()?.limit()?.fmax_mhz)
    }
}

impl SynthReport {
    /// The variant of that name.
    pub fn result(&self, name: &str) -> Option<&VariantResult> {
        self.results.iter().find(|r| r.name == name)
    }

    /// The fastest variant.
    pub fn fastest(&self) -> Option<&VariantResult> {
        self.result(&self.fastest)
    }

    /// The faster of the netlists with wires.
    pub fn wired(&self) -> Option<&WiredNetlist> {
        self.wired.as_ref()?.fastest()
    }

    /// The smallest variant.
    pub fn smallest(&self) -> Option<&VariantResult> {
        self.result(&self.smallest)
    }
}

/// Netlist of a variant that is the fastest or the smallest of a report, if it is still in the cache: `v` for Verilog, `json` for Yosys'
/// JSON. Cells have numbers for names. With wires ([`Wired::name`] of the fastest) there is also `spef`.
pub fn netlist(report: &SynthReport, variant: &str, form: &str, options: &SynthOptions) -> Option<PathBuf> {
    let root = options.cache.clone().or_else(cache::root)?.join("synth");
    let path = netlist_path(&root, report, variant, form);
    path.is_file().then_some(path)
}

fn netlist_path(root: &Path, report: &SynthReport, variant: &str, form: &str) -> PathBuf {
    root.join(format!("{}.{variant}.{form}", report.key))
}

/// The netlists that are in the cache with a report: variant and form.
fn kept(report: &SynthReport) -> impl Iterator<Item = (String, &'static str)> {
    let names = BTreeSet::from([report.fastest.clone(), report.smallest.clone()]);
    let wired = report.wired.as_ref().and_then(|wired| Some(wired.name(wired.fastest()?)));
    let spef = wired.clone().map(|name| (name, "spef"));
    names.into_iter().chain(wired).flat_map(|name| ["v", "json"].map(|form| (name.clone(), form))).chain(spef)
}

/// Synthesizes and times the module `top` of `design`, a list of Verilog files (name, text), in the cells of the Liberty file.
///
/// Results are cached by content; a second call with the same design, library, tools and options runs nothing.
pub fn synth(
    design: &[(String, String)],
    top: &str,
    liberty: &Path,
    options: &SynthOptions,
) -> Result<SynthReport, SynthesisError> {
    let plan = Plan::new(design, top, liberty, options)?;
    if let Some(report) = plan.stored() {
        return Ok(report);
    }
    let cells = Cells::of(&plan)?;
    let work = plan.gates(&cells)?;
    let job = Job { plan: &plan, cells: &cells, work: &work };
    let done = parallel(&options.variants, options.jobs, |variant| job.variant(variant));
    let (outcome, failure) = Outcome::collect(&options.variants, done)?;
    let mut report = plan.report(&cells, outcome);
    if let (Some(wires), Some(sta), Some(fastest)) = (&plan.wires, &plan.sta, report.fastest()) {
        match job.wired(wires, sta, fastest) {
            Ok(wired) => report.wired = Some(wired),
            Err(stop) => return Err(work.stopped(stop)),
        }
    }
    match failure {
        // Nothing came out at all.
        Some(failure) if report.fastest.is_empty() => return Err(work.failed(failure)),
        // Not kept, so that the next run tries again; the folder stays for the commands in the failures.
        Some(_) => work.keep(),
        None => plan.store(&work, &report)?,
    }
    Ok(report)
}

/// What is asked for, with all that the answer depends on.
struct Plan<'a> {
    design: &'a [(String, String)],
    top: &'a str,
    options: &'a SynthOptions,
    liberty: &'a Path,
    liberty_text: String,
    yosys: Yosys,
    sta: Option<Found>,
    /// What places, and the wires between.
    wires: Option<(Coloquinte, WireModel)>,
    /// What times, with its version.
    timer: String,
    /// What Yosys is told before ABC.
    script: String,
    /// The shelf of the cache.
    root: PathBuf,
    /// The answer's key there.
    key: String,
}

impl<'a> Plan<'a> {
    fn new(
        design: &'a [(String, String)],
        top: &'a str,
        liberty: &'a Path,
        options: &'a SynthOptions,
    ) -> Result<Self, SynthesisError> {
        flow::check_names(design, top)?;
        let root = flow::shelf(options.cache.as_deref(), "synth")?;
        let liberty_text = liberty::read(liberty)?;
        let yosys = options.yosys.clone().map_or_else(Yosys::find, Ok)?;
        let sta = sta(options)?;
        let timer =
            sta.as_ref().map_or("ABC's stime".to_string(), |sta| format!("OpenSTA {}", sta.version_text()));
        let wires = match options.wires {
            None => None,
            Some(model) => Some((Coloquinte::find().ok_or(SynthesisError::NoPlacer)?, model)),
        };
        let placed = wires.as_ref().map(|(placer, model)| format!("{} {model:?}", placer.version));
        let placed = placed.unwrap_or_default();
        let gates = clock_gates::commands(options.clock_gates, &liberty_text, liberty)?;
        let script = script(design, top, &yosys, &gates);
        let period = options.period_ns.map(|ns| ns.to_string()).unwrap_or_default();
        let sdc = options.sdc.as_ref().map(|sdc| format!("{sdc:?}")).unwrap_or_default();
        let variants: Vec<String> =
            options.variants.iter().map(|v| format!("{} {:?} {}", v.name, v.sizing, v.abc)).collect();
        let variants = variants.join("\n");
        let given: [&str; 8] =
            [&yosys.version, &timer, &period, &liberty_text, &script, &sdc, &variants, &placed];
        let key = flow::key(design, &[&given[..], &SOURCES.concat()].concat());
        Ok(Self { design, top, options, liberty, liberty_text, yosys, sta, wires, timer, script, root, key })
    }

    /// The name in the cache of its report.
    fn entry(&self) -> String {
        format!("{}.json", self.key)
    }

    /// The report that is in the cache, if its netlists are there too.
    fn stored(&self) -> Option<SynthReport> {
        let report: SynthReport = flow::stored(&self.root, &self.entry())?;
        let whole =
            kept(&report).all(|(variant, form)| netlist_path(&self.root, &report, &variant, form).is_file());
        whole.then_some(report)
    }

    /// Puts the report into the cache, with its netlists.
    fn store(&self, work: &Workplace, report: &SynthReport) -> Result<(), SynthesisError> {
        for (name, form) in kept(report) {
            let path = work.path().join(format!("{name}.{form}"));
            let text = fs::read(&path).map_err(io_error("read", &path))?;
            flow::store(&self.root, &format!("{}.{name}.{form}", self.key), &text)?;
        }
        flow::store_entry(&self.root, &self.entry(), report)
    }

    /// The folder in which every variant begins: the design as generic gates, and the library for those that map it.
    fn gates(&self, cells: &Cells) -> Result<Workplace<'a>, SynthesisError> {
        let work = Workplace::new(&self.root, self.top, &self.key, self.options.limit)?;
        for (name, text) in self.design {
            work.write(name, text)?;
        }
        for (name, text) in [
            ("cells.lib", &self.liberty_text),
            ("timing.lib", &without_wires(&self.liberty_text)),
            (clock_gates::FILE, &clock_gates::RESETS.to_string()),
            ("gates.ys", &self.script),
            ("abc.constr", &cells.abc_constraints()),
        ] {
            work.write(name, text)?;
        }
        let ran = self.yosys.run(&work, "gates.ys", "gates");
        let log = flow::read_lossy(&work.path().join("gates.log"));
        flow::refuse(&log, self.top)?;
        clock_gates::refuse(&log, &self.yosys.version)?;
        match ran {
            Ok(_) => Ok(work),
            Err(failure) => Err(work.failed(failure)),
        }
    }

    fn report(&self, cells: &Cells, outcome: Outcome) -> SynthReport {
        let load_ff = cells.load_ff();
        let sdc = self.options.sdc.as_ref();
        let said = |index: usize| Some(sdc?.exceptions.get(index)?.said.clone());
        SynthReport {
            top: self.top.into(),
            tool: self.yosys.version.clone(),
            library: cells.library.name.clone(),
            corner: cells.library.corner.clone(),
            gate: cells.gate.clone(),
            gate_um2: cells.gate_um2,
            driving_cell: cells.driver.clone(),
            load_ff,
            sdc: outcome.sdc,
            constraints: sdc.map(|sdc| sdc.summary.clone()).unwrap_or_default(),
            unused: outcome.unused.into_iter().filter_map(said).collect(),
            script: self.script.clone(),
            gated: self.options.clock_gates.then_some(outcome.gated),
            fastest: best(&outcome.results, |r| [period(r), area_um2(r)]),
            smallest: best(&outcome.results, |r| [area_um2(r), period(r)]),
            results: outcome.results,
            wired: None,
            key: self.key.clone(),
        }
    }
}

/// The OpenSTA to use; none where it is not wanted or not there, which is an error with wires.
fn sta(options: &SynthOptions) -> Result<Option<Found>, ToolError> {
    match (&options.sta, options.estimate) {
        (None, _) if options.wires.is_some() => tools::find(Tool::OpenSta).map(Some),
        (_, true) if options.wires.is_none() => Ok(None),
        (Some(sta), _) => Ok(Some(sta.clone())),
        (None, _) => match tools::find(Tool::OpenSta) {
            Ok(sta) => Ok(Some(sta)),
            Err(ToolError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

/// The library, and what stands for the blocks around the design.
struct Cells {
    library: Library,
    /// What gate equivalents count in.
    gate: String,
    gate_um2: f64,
    /// What drives the inputs.
    driver: Option<String>,
    /// Load of each output, in the library's unit.
    load: Option<f64>,
}

impl Cells {
    fn of(plan: &Plan) -> Result<Self, SynthesisError> {
        let library = Library::parse(&plan.liberty_text, plan.liberty)?;
        let (gate, gate_um2) = area::gate(&library, plan.liberty)?;
        let (driver, load) = match plan.options.sdc.as_ref().and_then(|sdc| sdc.driver.clone()) {
            Some((driver, load)) => (Some(driver), Some(load)),
            // A driver as after a register in the block before, and four such inputs behind each output.
            None => {
                let buffer = library.buffer();
                let load = buffer.and_then(|(_, cell)| Some(4.0 * cell.input_capacitance?));
                (buffer.map(|(name, _)| name.to_string()), load)
            }
        };
        Ok(Self { library, gate, gate_um2, driver, load })
    }

    fn load_ff(&self) -> Option<f64> {
        Some((self.load? * self.library.capacitance_ff * 1e3).round() / 1e3)
    }

    fn abc_constraints(&self) -> String {
        let driver = self.driver.iter().map(|driver| format!("set_driving_cell {driver}\n"));
        let load = self.load_ff().map(|load| format!("set_load {load} [all_outputs]\n"));
        driver.chain(load).collect()
    }
}

/// What came of all variants.
struct Outcome {
    /// In their order.
    results: Vec<VariantResult>,
    /// The constraints that they were timed with.
    sdc: String,
    /// Exceptions, by number, that relax nothing in any of them.
    unused: BTreeSet<usize>,
    /// Flip-flops behind clock gates, the same in all of them.
    gated: u64,
}

impl Outcome {
    /// With the first failure of a tool, which is that variant's result; an error ends it all.
    fn collect(
        variants: &[Variant],
        done: Vec<Result<Done, Stop>>,
    ) -> Result<(Self, Option<Failure>), SynthesisError> {
        let (mut results, mut first_failure) = (Vec::new(), None);
        let mut sdc = String::new();
        let mut unused: Option<BTreeSet<usize>> = None;
        let mut gated = 0;
        for (variant, done) in variants.iter().zip(done) {
            let (total, timing, failure) = match done {
                Ok(done) => {
                    sdc = done.sdc;
                    gated = done.gated;
                    unused = Some(unused.map_or(done.unused.clone(), |before| &before & &done.unused));
                    (Some(done.total), Some(done.timing), None)
                }
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Failure(failure)) => {
                    let text = format!(
                        "{} failed ({}):\n{}\n  run it by hand: {}",
                        failure.tool, failure.status, failure.message, failure.command
                    );
                    first_failure.get_or_insert(failure);
                    (None, None, Some(text))
                }
            };
            let (name, abc, sizing) = (variant.name.clone(), variant.abc.clone(), variant.sizing);
            results.push(VariantResult { name, abc, sizing, total, timing, failure });
        }
        Ok((Self { results, sdc, unused: unused.unwrap_or_default(), gated }, first_failure))
    }
}

/// Name of the result, of those that came out, with the least `key`; empty where none did.
fn best(results: &[VariantResult], key: impl Fn(&VariantResult) -> [f64; 2]) -> String {
    let done = results.iter().filter(|r| r.total.is_some());
    let least = done.min_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
    });
    least.map(|r| r.name.clone()).unwrap_or_default()
}

/// The file with a mapped netlist before it was sized.
fn mapped(name: &str) -> String {
    format!("{name}.mapped.json")
}

/// The library without its default wire load, which OpenSTA would add to each net.
fn without_wires(liberty: &str) -> String {
    let keeps = |line: &&str| !line.trim_start().starts_with("default_wire_load");
    liberty.lines().filter(keeps).flat_map(|line| [line, "\n"]).collect()
}

fn area_um2(result: &VariantResult) -> f64 {
    result.total.map_or(f64::INFINITY, |t| t.area_um2)
}

fn period(result: &VariantResult) -> f64 {
    result.period_ns().unwrap_or(f64::INFINITY)
}

/// From Verilog to generic gates and the library's flip-flops, flat. The checks are those of [`super::area`].
fn script(design: &[(String, String)], top: &str, yosys: &Yosys, gates: &str) -> String {
    flow::read_commands(design, top, yosys)
        + &format!(
            "hierarchy -check -top {top}\n\
             proc -noopt\n\
             check\n\
             setattr -set {REGISTER} 1 t:$dff t:$adff %u t:$dffe %u t:$sdff %u %co1:+[Q] w:* %i\n\
             synth -noabc -flatten -run coarse:\n\
             check -assert\n\
             {gates}\
             dfflibmap -liberty cells.lib\n\
             opt\n\
             delete t:$scopeinfo\n\
             write_rtlil gates.il\n"
        )
}

/// What came of a variant.
struct Done {
    total: Amount,
    timing: TimingReport,
    /// The constraints that it was timed with.
    sdc: String,
    /// Exceptions in them, by number, that relax nothing.
    unused: BTreeSet<usize>,
    /// Flip-flops behind clock gates.
    gated: u64,
}

/// What each variant is made from.
struct Job<'a> {
    plan: &'a Plan<'a>,
    cells: &'a Cells,
    work: &'a Workplace<'a>,
}

impl Job<'_> {
    fn variant(&self, variant: &Variant) -> Result<Done, Stop> {
        let (plan, name) = (self.plan, variant.name.as_str());
        let log = self.map(variant)?;
        let path = self.work.path().join(format!("{name}.json"));
        let json = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        let netlist: Netlist = serde_json::from_str(&json).map_err(|e| self.unreadable(e.to_string()))?;
        let module = netlist.modules.get(plan.top);
        let module = module.ok_or_else(|| self.unreadable(format!("no `{}`", plan.top)))?;
        let cells = match variant.sizing {
            Sizing::None | Sizing::Abc => module.cells_by_type(),
            Sizing::Resize => self.resize(name, &json)?,
        };
        let total = area::flat_amount(plan.top, &cells, &self.cells.library, self.cells.gate_um2)?;
        let sdc = plan.options.sdc.clone().unwrap_or_else(|| timing::default_sdc(module.clock()));
        let (timing, unused) = match &plan.sta {
            Some(sta) => self.time(sta, name, module, &sdc, None)?,
            None => (self.estimate(&log)?, BTreeSet::new()),
        };
        let gated = module.gated(&self.cells.library);
        Ok(Done { total, timing, sdc: sdc.text, unused, gated })
    }

    /// Maps the gates with ABC; the netlist is in `NAME.json` and `NAME.v`. What Yosys printed.
    fn map(&self, variant: &Variant) -> Result<String, Stop> {
        let (work, name) = (self.work, variant.name.as_str());
        work.write(&format!("{name}.abc"), &(variant.abc.replace(';', "\n") + "\nstime\n"))?;
        // Cells get numbers for names, but nets keep theirs: registers are known by the nets that they drive. OpenSTA 2.0.17
        // does not read concatenations in assignments, which ports bit by bit avoid.
        work.write(
            &format!("{name}.ys"),
            &format!(
                "read_rtlil gates.il\n\
                 abc -liberty cells.lib -constr abc.constr -script {name}.abc\n\
                 opt_clean\n\
                 setundef -zero\n\
                 rename -enumerate -pattern g%_ t:*\n\
                 write_json {name}.json\n\
                 splitnets -ports\n\
                 opt_clean -purge\n\
                 write_verilog -noattr {name}.v\n"
            ),
        )?;
        Ok(self.plan.yosys.run(work, &format!("{name}.ys"), name)?)
    }

    /// Puts the netlist with other sizes and buffers in the place of the mapped one, which is `json`. Its cells by type.
    fn resize(&self, name: &str, json: &str) -> Result<BTreeMap<String, u64>, Stop> {
        let resized = self.sized(name, json, None)?;
        self.work.write(&mapped(name), json)?;
        self.work.write(&format!("{name}.v"), &resized.verilog)?;
        self.work.write(&format!("{name}.json"), &resized.netlist)?;
        Ok(resized.cells)
    }

    /// The mapped netlist of that name with other sizes and buffers, for wires where there are any.
    fn sized(&self, name: &str, json: &str, wires: Option<WireHints>) -> Result<Resized, Stop> {
        let plan = self.plan;
        let period_ps = plan.options.period_ns.map_or(0.0, |ns| ns * 1e3);
        let options = ResizeOptions { period_ps, wires, ..ResizeOptions::default() };
        let liberty = self.work.path().join("cells.lib");
        let resized = resize(json, plan.top, &plan.liberty_text, &liberty, &options);
        Ok(resized.map_err(|error| wires::failed("resize", error, name))?)
    }

    /// That netlist, placed, sized for the wires that this makes, and placed again.
    fn wired(
        &self,
        (placer, model): &(Coloquinte, WireModel),
        sta: &Found,
        fastest: &VariantResult,
    ) -> Result<Wired, Stop> {
        let (plan, work, name) = (self.plan, self.work, fastest.name.as_str());
        let read = |file: &str| {
            let path = work.path().join(file);
            fs::read_to_string(&path).map_err(io_error("read", &path))
        };
        let first = read(&format!("{name}.json"))?;
        // ABC's sizes are in the mapping.
        let mapped = match fastest.sizing {
            Sizing::Resize => read(&mapped(name))?,
            Sizing::None | Sizing::Abc => first.clone(),
        };
        let netlist: Netlist = serde_json::from_str(&mapped).map_err(|e| self.unreadable(e.to_string()))?;
        let module = netlist.modules.get(plan.top);
        let module = module.ok_or_else(|| self.unreadable(format!("no `{}`", plan.top)))?;
        let sdc = plan.options.sdc.clone().unwrap_or_else(|| timing::default_sdc(module.clock()));
        let liberty = work.path().join("cells.lib");
        let amount = |cells| area::flat_amount(plan.top, cells, &self.cells.library, self.cells.gate_um2);
        let place = |json: &str, total: Amount, sized: bool| -> Result<_, Stop> {
            let name = wires::name(name, sized);
            let unplaced = Unplaced::new(json, plan.top, &plan.liberty_text, &liberty, *model)
                .map_err(|error| wires::failed("placing", error, &name))?;
            let wires = placer.place(work, &unplaced, &name)?;
            let spef = format!("{name}.spef");
            work.write(&spef, &wires.spef)?;
            work.write(&format!("{name}.json"), json)?;
            work.write(&format!("{name}.v"), &unplaced.verilog())?;
            let (timing, _) = self.time(sta, &name, module, &sdc, Some(&spef))?;
            let netlist = WiredNetlist {
                sized,
                total,
                timing,
                core_um: unplaced.core_um(),
                wires_mm: area::round4(wires.length_um / 1e3),
                nets: wires.nets,
                longest_um: area::round4(wires.longest_um),
                plan: wires.plan,
            };
            Ok((netlist, wires.hints))
        };
        let total = fastest.total.ok_or_else(|| self.unreadable(format!("no area of `{name}`")))?;
        let (as_it_was, hints) = place(&first, total, false)?;
        let resized = self.sized(name, &mapped, Some(hints))?;
        let (sized, _) = place(&resized.netlist, amount(&resized.cells)?, true)?;
        Ok(Wired {
            tool: placer.version.clone(),
            variant: name.into(),
            model: *model,
            density: DENSITY,
            netlists: vec![as_it_was, sized],
        })
    }

    /// Times the netlist with OpenSTA. Also exceptions that relax nothing.
    fn time(
        &self,
        sta: &Found,
        name: &str,
        module: &Module,
        sdc: &Sdc,
        spef: Option<&str>,
    ) -> Result<(TimingReport, BTreeSet<usize>), Stop> {
        let (plan, work) = (self.plan, self.work);
        let (tcl, constraints) = (format!("{name}.tcl"), format!("{name}.sdc"));
        let driver = self.cells.driver.as_deref().zip(self.cells.load);
        let gates = module.enables(&self.cells.library);
        let netlist = format!("{name}.v");
        let files = timing::Files { netlist: &netlist, spef, constraints: &constraints };
        let clock = module.clock();
        let script = timing::script(plan.top, &files, sdc, clock, &gates, driver);
        work.write(&constraints, &sdc.text)?;
        work.write(&tcl, &script)?;
        let text = work.sta(&sta.path, &tcl, &format!("{name}.sta"))?;
        let report = timing::parse(&plan.timer, &text, &module.names(&self.cells.library))
            .map_err(|what| SynthesisError::Output { tool: plan.timer.clone(), what })?;
        Ok((report, timing::unused(&text)))
    }

    /// ABC's own delay, from the log of its run.
    fn estimate(&self, log: &str) -> Result<TimingReport, SynthesisError> {
        let delay = log
            .lines()
            .filter_map(|line| line.split_once("Delay =")?.1.split_whitespace().next()?.parse().ok())
            .next_back();
        let delay = delay.ok_or_else(|| self.unreadable("ABC printed no delay".into()))?;
        Ok(timing::estimate(&self.plan.timer, delay))
    }

    fn unreadable(&self, what: String) -> SynthesisError {
        SynthesisError::Output { tool: self.plan.yosys.version.clone(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_parallel_work_are_in_order() {
        let items: Vec<u64> = (0..50).collect();
        assert_eq!(parallel(&items, 4, |n| n * n), items.iter().map(|n| n * n).collect::<Vec<_>>());
        assert!(parallel(&[] as &[u64], 4, |n| *n).is_empty());
    }

    #[test]
    fn variants_have_distinct_names() {
        let all = Variant::all(&[Sizing::None, Sizing::Abc, Sizing::Resize]);
        let names: BTreeSet<&str> = all.iter().map(|v| v.name.as_str()).collect();
        assert_eq!((names.len(), all.len()), (12, 12));
        assert!(names.contains("area") && names.contains("speed+abc") && names.contains("balanced+resize"));
    }
}

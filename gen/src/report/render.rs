//! One report, four forms: text for a terminal, JSON for programs, Markdown for documents, HTML ([`super::html`]) for reading and
//! printing. The same report gives the same bytes.

use super::baseline::{self, Changes};
use super::figure::{self, Figure, Place};
use super::paper::{self, Comparison};
use crate::synth::area::AreaReport;
use crate::synth::fpga::{FpgaReport, Placement, one_line};
use crate::synth::timing::{TIMING_LABEL, TimingReport};
use crate::synth::variants::{SynthReport, VariantResult};
use crate::table::{aligned, line};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Goes up when a field of [`Report`] changes its meaning or goes away.
pub const FORMAT_VERSION: u32 = 1;

/// What stands beside every area, so that nobody takes it for a measurement of silicon.
pub const AREA_LABEL: &str = "estimate after synthesis, before layout";

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aligned tables.
    Text,
    /// One object with `format_version`.
    Json,
    /// Headings and pipe tables.
    Markdown,
}

/// Designs, what each costs, and what they gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of Windlass.
    pub windlass: String,
    /// [`AREA_LABEL`].
    pub area_label: String,
    /// Where the paper's figures come from.
    pub paper_source: String,
    /// The command that made it, without what only says where it is written; empty where there was none.
    #[serde(default)]
    pub command: String,
    /// The designs, in the order in which they were asked for.
    pub designs: Vec<Design>,
    /// Speed-ups, one table per workload and GPU.
    pub speedups: Vec<Speedups>,
    /// What changed against an older report, where there was one to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Changes>,
}

impl Report {
    /// A report of these designs.
    pub fn new(windlass: impl Into<String>, designs: Vec<Design>, speedups: Vec<Speedups>) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            windlass: windlass.into(),
            area_label: AREA_LABEL.into(),
            paper_source: paper::SOURCE.into(),
            command: String::new(),
            designs,
            speedups,
            baseline: None,
        }
    }
}

/// The parameter of a design that says on what latencies were measured, with its version: a tool, and none of the hardware.
pub const MEASURED_ON: &str = "latencies measured on";

/// One design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Short name, unique in the report, e.g. `matrix`.
    pub name: String,
    /// Name of its top module.
    pub top: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Area, where it was asked for.
    pub area: Option<AreaReport>,
    /// Flattened, mapped in several ways and timed, where it was asked for.
    #[serde(default)]
    pub synthesis: Option<SynthReport>,
    /// Latencies in cycles, as co-simulation measured them.
    pub latencies: Vec<Latency>,
    /// Storage and area beside the paper's: [`paper::compare`].
    pub paper: Vec<Comparison>,
    /// Energy, where it was asked for.
    #[serde(default)]
    pub energy: Option<Energy>,
    /// On FPGAs, where it was asked for; one per device.
    #[serde(default)]
    pub fpga: Vec<Fpga>,
}

impl Design {
    /// The value of the parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|p| p.name == name).map(|p| p.value.as_str())
    }

    /// Slots of its window.
    pub fn slots(&self) -> Option<u64> {
        self.parameter("slots")?.parse().ok()
    }
}

/// What a design takes, as far as its cells' switching goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// What kind of estimate it is.
    pub label: String,
    /// What made it, with its version.
    pub tool: String,
    /// Where the switching activity comes from: of which netlist or RTL, in which run.
    pub activity: String,
    /// The clock of the powers, in MHz.
    pub clock_mhz: f64,
    /// The library whose cells switch, with its operating conditions; empty in reports of before.
    #[serde(default)]
    pub library: String,
    /// Power while it works, in mW.
    pub active_mw: Option<f64>,
    /// Power in cycles without an event while CTAs run, in mW.
    #[serde(default)]
    pub waiting_mw: Option<f64>,
    /// Power in cycles without an event while none runs, in mW.
    #[serde(default)]
    pub waiting_empty_mw: Option<f64>,
    /// Power of the clock pins and leakage alone, in mW. No cycle is so: in the SM array something goes round in every one.
    pub idle_mw: Option<f64>,
    /// Leakage, in mW.
    pub leakage_mw: Option<f64>,
    /// Energy by event.
    pub events: Vec<EventEnergy>,
    /// Events that were seen and whose energy is not told, because it is not sure enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_told: Vec<String>,
    /// They are not for that alone: there were too few cycles to tell events apart.
    #[serde(default, skip_serializing_if = "is_false")]
    pub too_few_cycles: bool,
    /// Mean energy of a cycle by block of the RTL; they add up to all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockEnergy>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Energy {
    /// Its powers in mW, by name.
    pub fn powers(&self) -> [(&'static str, Option<f64>); 5] {
        [
            ("working", self.active_mw),
            ("waiting while CTAs run", self.waiting_mw),
            ("waiting while none runs", self.waiting_empty_mw),
            ("clock pins only", self.idle_mw),
            ("leakage", self.leakage_mw),
        ]
    }
}

/// What one block of the RTL takes in a cycle, on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockEnergy {
    /// Its name, e.g. `scheduler.window`.
    pub block: String,
    /// In pJ, the clock pins' part included.
    pub picojoules: f64,
    /// The clock pins' part, in pJ.
    pub clock_picojoules: f64,
    /// Its flip-flops.
    pub flip_flops: u64,
}

/// Energy of one kind of event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventEnergy {
    /// The event, e.g. `insert`.
    pub event: String,
    /// How many there were.
    pub count: u64,
    /// Energy of one, in pJ.
    pub picojoules: f64,
    /// Its standard error, in pJ.
    #[serde(default)]
    pub pj_error: Option<f64>,
    /// The blocks in which it is seen, and which the energy is of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
}

/// A design on an FPGA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fpga {
    /// Family and device.
    pub part: String,
    /// Tools, with their versions.
    pub tool: String,
    /// Lookup tables, those of memories included.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Block RAMs.
    pub block_rams: u64,
    /// Carry cells.
    pub carries: u64,
    /// Logic cells after packing.
    pub logic_cells: Option<u64>,
    /// Logic cells that the device has.
    pub available: Option<u64>,
    /// Clock of the slowest run of place and route, in MHz.
    pub slowest_mhz: Option<f64>,
    /// And of the fastest.
    pub fastest_mhz: Option<f64>,
    /// Runs of place and route.
    pub runs: u64,
    /// What place and route found; none in reports of before: [`Fpga::outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<FpgaOutcome>,
    /// Why there is no clock, or what else is to be said.
    pub remark: String,
}

/// What place and route found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FpgaOutcome {
    /// It fits and is routed.
    Placed,
    /// It would fit, but no route was found in time.
    Unrouted,
    /// It does not fit.
    TooLarge,
    /// Nothing was placed.
    NotRun,
}

impl Fpga {
    /// What place and route found, in reports of before by what is said of it.
    pub fn outcome(&self) -> FpgaOutcome {
        self.outcome.unwrap_or(match self.remark.as_str() {
            remark if remark.starts_with("does not fit") => FpgaOutcome::TooLarge,
            remark if remark.starts_with("not routed") => FpgaOutcome::Unrouted,
            _ if self.runs > 0 => FpgaOutcome::Placed,
            _ => FpgaOutcome::NotRun,
        })
    }
}

impl From<&FpgaReport> for Fpga {
    fn from(report: &FpgaReport) -> Self {
        let mut row = Self {
            part: report.part.clone(),
            tool: report.tool.clone(),
            luts: report.luts,
            flip_flops: report.flip_flops,
            block_rams: report.block_rams,
            carries: report.carries,
            ..Self::default()
        };
        match &report.placement {
            Placement::Placed { tool, logic_cells, available, runs, .. } => {
                row.outcome = Some(FpgaOutcome::Placed);
                row.tool = format!("{}, {tool}", report.tool);
                (row.logic_cells, row.available) = (Some(*logic_cells), Some(*available));
                row.runs = runs.len() as u64;
                if let Some((slowest, fastest)) = report.placement.fmax_mhz() {
                    (row.slowest_mhz, row.fastest_mhz) = (Some(slowest), Some(fastest));
                }
            }
            Placement::TooLarge { tool, logic_cells, available, reason } => {
                row.outcome = Some(FpgaOutcome::TooLarge);
                row.tool = format!("{}, {tool}", report.tool);
                (row.logic_cells, row.available) = (Some(*logic_cells), Some(*available));
                row.remark = format!("does not fit: {reason}");
            }
            Placement::Unrouted { tool, logic_cells, available, reason } => {
                row.outcome = Some(FpgaOutcome::Unrouted);
                row.tool = format!("{}, {tool}", report.tool);
                (row.logic_cells, row.available) = (Some(*logic_cells), Some(*available));
                row.remark = format!("not routed: {reason}");
            }
            // How to install a tool has lines of its own, which a cell of a table has not.
            Placement::NotRun { reason } => {
                row.outcome = Some(FpgaOutcome::NotRun);
                row.remark = one_line(reason);
            }
        }
        row
    }
}

/// A parameter of a design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Parameter {
    /// `name = value`.
    pub fn new(name: impl Into<String>, value: impl ToString) -> Self {
        Self { name: name.into(), value: value.to_string() }
    }
}

/// Cycles from one handshake to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// What it is called, e.g. `insert`.
    pub name: String,
    /// From where to where, in words.
    pub between: String,
    /// What was measured; none if it never happened in the run.
    pub cycles: Option<Spread>,
    /// The paper's number of cycles, where it has one.
    pub paper: Option<f64>,
    /// Median less the paper's number.
    pub difference: Option<f64>,
    /// The workload on which it was measured; empty in reports of before that have one only.
    #[serde(default)]
    pub workload: String,
    /// The GPU's profile; empty in reports of before.
    #[serde(default)]
    pub gpu: String,
}

impl Latency {
    /// With the difference worked out.
    pub fn new(
        name: impl Into<String>,
        between: impl Into<String>,
        cycles: Option<Spread>,
        paper: Option<f64>,
    ) -> Self {
        let difference = cycles.zip(paper).map(|(c, p)| c.median - p);
        let (workload, gpu) = (String::new(), String::new());
        Self { name: name.into(), between: between.into(), cycles, paper, difference, workload, gpu }
    }
}

/// How a number of cycles is spread over a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How often it was measured.
    pub samples: u64,
    /// The least.
    pub min: u64,
    /// The middle one.
    pub median: f64,
    /// 99 of 100 are not above it.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

/// Speed-ups on one workload and one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedups {
    /// The workload.
    pub workload: String,
    /// The GPU's profile.
    pub gpu: String,
    /// Kernels in the workload.
    pub kernels: u64,
    /// One row per policy, and for the window one per design.
    pub rows: Vec<Speedup>,
}

/// A policy's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// The policy.
    pub policy: String,
    /// The [`Design::name`] that decided, for the policy `window`.
    pub design: Option<String>,
    /// Time of the whole workload in µs.
    pub time_us: f64,
    /// Time of `serial` over this one.
    pub speedup: f64,
    /// Part of the GPU's CTA slots that were busy on average, 0 to 1.
    pub occupancy: Option<f64>,
}

/// The report in the given form; ends with a line feed.
pub fn render(report: &Report, format: Format) -> Result<String, serde_json::Error> {
    Ok(match format {
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Text => print(&document(report, &[]), Style::Text),
        Format::Markdown => print(&document(report, &[]), Style::Markdown { folder: None }),
    })
}

/// Markdown with its figures as pictures, which lie beside it in `folder`, one `.svg` and one `.csv` per figure.
pub fn markdown_with_figures(report: &Report, folder: &str) -> String {
    let figures = figure::figures(report);
    print(&document(report, &figures), Style::Markdown { folder: Some(folder) })
}

/// How a document is printed.
#[derive(Clone, Copy)]
enum Style<'a> {
    Text,
    Markdown { folder: Option<&'a str> },
}

/// What text, Markdown and HTML are made of.
pub(super) enum Item {
    Heading(usize, String),
    Line(String),
    Table(Table),
    Figure(Figure),
}

/// The first column is left-aligned, and so is the last one of a `notes` table; numbers are right-aligned.
pub(super) struct Table {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    notes: bool,
    /// The column from which on there are words.
    names: usize,
}

impl Table {
    fn new(header: &[&str], notes: bool) -> Self {
        Self {
            header: header.iter().map(|h| h.to_string()).collect(),
            rows: Vec::new(),
            notes,
            names: usize::MAX,
        }
    }

    pub(super) fn is_left(&self, column: usize) -> bool {
        column == 0 || column >= self.names || (self.notes && column + 1 == self.header.len())
    }
}

const NONE: &str = "-";

/// Headings of what is about several designs.
pub(super) const BASELINE: &str = "Against the baseline";
pub(super) const OVERVIEW: &str = "All designs";
pub(super) const SPEEDUP: &str = "Speed-up";

/// The whole report, with these figures at their places.
pub(super) fn document(report: &Report, figures: &[(Place, Figure)]) -> Vec<Item> {
    let mut items = vec![Item::Heading(1, format!("Windlass {} report", report.windlass))];
    if !report.command.is_empty() {
        items.push(Item::Line(format!("made by: {}", report.command)));
    }
    if let Some(changes) = &report.baseline {
        changes_items(changes, &mut items);
    }
    place(figures, Place::Overview, &mut items);
    for (index, design) in report.designs.iter().enumerate() {
        design_items(report, design, index, figures, &mut items);
    }
    if !report.speedups.is_empty() {
        items.push(Item::Heading(2, SPEEDUP.into()));
        place(figures, Place::Speedup, &mut items);
    }
    for table in &report.speedups {
        items.push(Item::Heading(
            3,
            format!("On {} ({} kernels), {}", table.workload, table.kernels, table.gpu),
        ));
        items.push(Item::Table(speedup_table(table)));
    }
    if report.designs.len() > 1 {
        items.push(Item::Heading(2, OVERVIEW.into()));
        items.push(Item::Table(summary_table(report)));
        place(figures, Place::Comparison, &mut items);
        place(figures, Place::Latency, &mut items);
    }
    items
}

fn place(figures: &[(Place, Figure)], place: Place, items: &mut Vec<Item>) {
    let here = figures.iter().filter(|(p, _)| *p == place);
    items.extend(here.map(|(_, figure)| Item::Figure(figure.clone())));
}

fn changes_items(changes: &Changes, items: &mut Vec<Item>) {
    items.push(Item::Heading(2, BASELINE.into()));
    items.push(Item::Line(changes.summary()));
    items.extend(changes.notes.iter().map(|note| Item::Line(format!("note: {note}"))));
    if !changes.rows.is_empty() {
        let mut table = Table::new(&["of", "before", "now", "in %", "verdict", "number"], true);
        for row in &changes.rows {
            let [before, now] = [row.before, row.now].map(baseline::number);
            let error = |index: usize| {
                row.errors.map(|errors| format!(" ± {}", baseline::number(errors[index]))).unwrap_or_default()
            };
            table.rows.push(vec![
                row.subject.clone(),
                before + &error(0),
                now + &error(1),
                row.percent.map_or(NONE.into(), signed),
                row.verdict.name().into(),
                format!("{}, {}", row.metric, row.unit),
            ]);
        }
        items.push(Item::Table(table));
    }
}

fn design_items(
    report: &Report,
    design: &Design,
    index: usize,
    figures: &[(Place, Figure)],
    items: &mut Vec<Item>,
) {
    items.push(Item::Heading(2, format!("Design {}: {}", design.name, design.top)));
    let parameters: Vec<String> =
        design.parameters.iter().map(|p| format!("{} = {}", p.name, p.value)).collect();
    if !parameters.is_empty() {
        items.push(Item::Line(parameters.join(", ")));
    }
    if let Some(area) = &design.area {
        items.push(Item::Heading(3, format!("Area ({})", report.area_label)));
        items.push(Item::Line(format!(
            "{}; library {} ({}); 1 GE = {} = {} µm²; hierarchy kept",
            area.tool, area.library, area.corner, area.gate, area.gate_um2
        )));
        let steps: Vec<&str> = area.script.lines().filter(|l| !l.starts_with("read_verilog")).collect();
        items.push(Item::Line(format!("flow: {}", steps.join("; "))));
        items.push(Item::Table(area_table(area)));
        place(figures, Place::Area(index), items);
    }
    if let Some(synthesis) = &design.synthesis {
        synthesis_items(synthesis, items);
        place(figures, Place::Timing(index), items);
    }
    if let Some(energy) = &design.energy {
        energy_items(energy, items);
        place(figures, Place::Energy(index), items);
    }
    if !design.fpga.is_empty() {
        items.push(Item::Heading(3, "On FPGAs".into()));
        items.push(Item::Table(fpga_table(&design.fpga)));
        place(figures, Place::Fpga(index), items);
    }
    if !design.latencies.is_empty() {
        items.push(Item::Heading(3, "Latency in cycles (measured by co-simulation)".into()));
        items.push(Item::Table(latency_table(&design.latencies, report.speedups.len() > 1)));
        if report.designs.len() == 1 {
            place(figures, Place::Latency, items);
        }
    }
    if !design.paper.is_empty() {
        items.push(Item::Heading(3, "Beside the paper".into()));
        items.push(Item::Line(format!("{}; estimates by its authors", report.paper_source)));
        items.push(Item::Table(paper_table(&design.paper)));
        items.extend(design.paper.iter().map(|row| Item::Line(format!("{}: {}", row.quantity, row.note))));
    }
}

fn area_table(area: &AreaReport) -> Table {
    let header = [
        "module",
        "count",
        "cells",
        "flip-flops",
        "µm²",
        "GE",
        "count x µm²",
        "share",
        "with submodules µm²",
        "GE",
    ];
    let mut table = Table::new(&header, false);
    let all = area.total();
    for m in &area.modules {
        let times = m.own.area_um2 * m.instances as f64;
        let share = if all.area_um2 > 0.0 { 100.0 * times / all.area_um2 } else { 0.0 };
        table.rows.push(vec![
            m.module.clone(),
            m.instances.to_string(),
            m.own.cells.to_string(),
            m.own.flip_flops.to_string(),
            one(m.own.area_um2),
            one(m.own.gate_equivalents),
            one(times),
            format!("{share:.1} %"),
            one(m.total.area_um2),
            one(m.total.gate_equivalents),
        ]);
    }
    table.rows.push(vec![
        "total".into(),
        String::new(),
        all.cells.to_string(),
        all.flip_flops.to_string(),
        one(all.area_um2),
        one(all.gate_equivalents),
        one(all.area_um2),
        "100.0 %".into(),
        one(all.area_um2),
        one(all.gate_equivalents),
    ]);
    table
}

fn synthesis_items(synthesis: &SynthReport, items: &mut Vec<Item>) {
    items.push(Item::Heading(3, format!("Timing ({TIMING_LABEL})")));
    let timed = synthesis.results.iter().find_map(|r| r.timing.as_ref());
    let tools = timed.map_or(synthesis.tool.clone(), |t| format!("{}; {}", synthesis.tool, t.tool));
    let mut line = format!(
        "{tools}; library {} ({}); 1 GE = {} = {} µm²; flattened",
        synthesis.library, synthesis.corner, synthesis.gate, synthesis.gate_um2
    );
    if let Some((cell, load)) = synthesis.driving_cell.as_ref().zip(synthesis.load_ff) {
        let _ = write!(line, "; inputs driven by {cell}, outputs loaded with {load} fF");
    }
    items.push(Item::Line(line));
    let constraints = match synthesis.constraints.as_str() {
        "" => format!("constraints: {}", synthesis.sdc.trim().replace('\n', "; ")),
        // All ports by name are in the JSON.
        summary => format!("timed with the constraints of {summary}"),
    };
    items.push(Item::Line(constraints));
    for exception in &synthesis.unused {
        items.push(Item::Line(format!(
            "warning: the {exception} relaxes nothing: the design has no such path without a register on the way"
        )));
    }
    items.push(Item::Table(variant_table(synthesis)));
    let named: Vec<&VariantResult> = synthesis.fastest().into_iter().chain(synthesis.smallest()).collect();
    for (index, result) in named.iter().enumerate() {
        if index == 0 || result.name != named[0].name {
            items.push(Item::Line(format!("{}: {}", result.name, result.abc.replace(';', "; "))));
        }
    }
    for result in &synthesis.results {
        items.extend(result.failure.as_ref().map(|why| Item::Line(format!("{}: {why}", result.name))));
    }
    let Some((fastest, timing)) = synthesis.fastest().and_then(|r| Some((r, r.timing.as_ref()?))) else {
        return;
    };
    if timing.estimate {
        items.push(Item::Line(
            "ABC's own delay of the logic, without flip-flops and set-up times; install opensta for static timing"
                .into(),
        ));
    }
    items.push(Item::Heading(4, format!("Paths of the fastest ({})", fastest.name)));
    items.push(Item::Table(class_table(timing)));
    if !timing.paths.is_empty() {
        items.push(Item::Table(path_table(timing)));
    }
}

fn variant_table(synthesis: &SynthReport) -> Table {
    let header = ["script", "cells", "flip-flops", "µm²", "GE", "period ns", "MHz", ""];
    let mut table = Table::new(&header, true);
    for r in &synthesis.results {
        let of = |f: &dyn Fn(&crate::synth::area::Amount) -> String| r.total.as_ref().map_or(NONE.into(), f);
        let mut remark: Vec<&str> = Vec::new();
        if r.name == synthesis.fastest {
            remark.push("fastest");
        }
        if r.name == synthesis.smallest {
            remark.push("smallest");
        }
        if r.failure.is_some() {
            remark.push("failed");
        }
        table.rows.push(vec![
            r.name.clone(),
            of(&|t| t.cells.to_string()),
            of(&|t| t.flip_flops.to_string()),
            of(&|t| one(t.area_um2)),
            of(&|t| one(t.gate_equivalents)),
            r.period_ns().map_or(NONE.into(), |p| format!("{p:.3}")),
            r.fmax_mhz().map_or(NONE.into(), one),
            remark.join(", "),
        ]);
    }
    table
}

fn class_table(timing: &TimingReport) -> Table {
    let header = ["paths", "inside ns", "outside ns", "period ns", "MHz", "slack ns"];
    let mut table = Table::new(&header, false);
    for c in &timing.classes {
        table.rows.push(vec![
            c.class.name().into(),
            format!("{:.3}", c.delay_ns),
            format!("{:.3}", c.external_ns),
            format!("{:.3}", c.min_period_ns),
            one(c.fmax_mhz),
            c.slack_ns.map_or(NONE.into(), |s| format!("{s:+.3}")),
        ]);
    }
    table
}

fn path_table(timing: &TimingReport) -> Table {
    let mut table = Table::new(&["paths", "period ns", "cells", "alike", "from", "to", "through"], true);
    table.names = 4;
    for p in &timing.paths {
        table.rows.push(vec![
            p.class.name().into(),
            format!("{:.3}", p.min_period_ns),
            p.levels.to_string(),
            p.alike.to_string(),
            p.from.to_string(),
            p.to.to_string(),
            through(&p.through),
        ]);
    }
    table
}

/// The first and the last signals; all are in the JSON.
fn through(signals: &[String]) -> String {
    const SHOWN: usize = 4;
    match signals {
        [] => NONE.into(),
        [first, second, .., last] if signals.len() > SHOWN => format!("{first}, {second}, .. {last}"),
        few => few.join(", "),
    }
}

fn energy_items(energy: &Energy, items: &mut Vec<Item>) {
    items.push(Item::Heading(3, format!("Energy ({})", energy.label)));
    let powers = energy.powers().into_iter().filter_map(|(name, mw)| Some(format!("; {name} {:.3} mW", mw?)));
    items.push(Item::Line(format!(
        "{}; switching from {}; at {} MHz{}",
        energy.tool,
        energy.activity,
        energy.clock_mhz,
        powers.collect::<String>()
    )));
    // Reports of before have no blocks.
    let by_block = energy.events.iter().any(|e| !e.blocks.is_empty());
    let header = ["event", "events", "pJ per event", "in"];
    let mut table = Table::new(if by_block { &header } else { &header[..3] }, by_block);
    for e in &energy.events {
        let error = e.pj_error.map(|error| format!(" ± {error:.3}")).unwrap_or_default();
        let blocks = if e.blocks.is_empty() { NONE.into() } else { e.blocks.join(", ") };
        let price = format!("{:.3}{error}", e.picojoules);
        let mut row = vec![e.event.clone(), e.count.to_string(), price];
        row.extend(by_block.then_some(blocks));
        table.rows.push(row);
    }
    if !table.rows.is_empty() {
        items.push(Item::Table(table));
    }
    if !energy.not_told.is_empty() {
        let events = energy.not_told.join(", ");
        let why = match energy.too_few_cycles {
            true => "too few cycles were measured",
            false => "its error is more than half of it, or it is not told from others",
        };
        items.push(Item::Line(format!("No energy is told for {events}: {why}")));
    }
    if energy.blocks.is_empty() {
        return;
    }
    let total: f64 = energy.blocks.iter().map(|b| b.picojoules).sum();
    let mut table = Table::new(&["block", "flip-flops", "pJ per cycle", "of it clock pins", "in %"], false);
    for b in &energy.blocks {
        table.rows.push(vec![
            b.block.clone(),
            b.flip_flops.to_string(),
            format!("{:.3}", b.picojoules),
            format!("{:.3}", b.clock_picojoules),
            format!("{:.1}", if total > 0.0 { 100.0 * b.picojoules / total } else { 0.0 }),
        ]);
    }
    items.push(Item::Table(table));
}

fn fpga_table(devices: &[Fpga]) -> Table {
    let header = [
        "device",
        "LUTs",
        "flip-flops",
        "block RAMs",
        "carries",
        "logic cells",
        "of",
        "slowest MHz",
        "fastest MHz",
        "runs",
        "remark",
    ];
    let mut table = Table::new(&header, true);
    let count = |v: Option<u64>| v.map_or(NONE.into(), |v| v.to_string());
    let clock = |v: Option<f64>| v.map_or(NONE.into(), one);
    for f in devices {
        let remark = if f.remark.is_empty() { f.tool.clone() } else { format!("{}; {}", f.tool, f.remark) };
        table.rows.push(vec![
            f.part.clone(),
            f.luts.to_string(),
            f.flip_flops.to_string(),
            f.block_rams.to_string(),
            f.carries.to_string(),
            count(f.logic_cells),
            count(f.available),
            clock(f.slowest_mhz),
            clock(f.fastest_mhz),
            f.runs.to_string(),
            remark,
        ]);
    }
    table
}

/// `named`: with the workload of each.
fn latency_table(latencies: &[Latency], named: bool) -> Table {
    let header =
        ["latency", "samples", "min", "median", "p99", "max", "paper: at most", "median less it", "from, to"];
    let mut table = Table::new(&header, true);
    for l in latencies {
        let of = |f: &dyn Fn(&Spread) -> String| l.cycles.as_ref().map_or(NONE.into(), f);
        table.rows.push(vec![
            l.name.clone(),
            l.cycles.map_or("0".into(), |c| c.samples.to_string()),
            of(&|c| c.min.to_string()),
            of(&|c| c.median.to_string()),
            of(&|c| c.p99.to_string()),
            of(&|c| c.max.to_string()),
            l.paper.map_or(NONE.into(), |p| p.to_string()),
            l.difference.map_or(NONE.into(), signed),
            if named && !l.workload.is_empty() {
                format!("{} (on {})", l.between, l.workload)
            } else {
                l.between.clone()
            },
        ]);
    }
    table
}

fn paper_table(rows: &[Comparison]) -> Table {
    let mut table = Table::new(&["quantity", "paper", "ours", "difference", "in %"], false);
    for row in rows {
        table.rows.push(vec![
            format!("{}, {}", row.quantity, row.unit),
            one(row.paper),
            one(row.measured),
            signed(row.difference),
            row.percent.map_or(NONE.into(), signed),
        ]);
    }
    table
}

fn speedup_table(speedups: &Speedups) -> Table {
    let mut table = Table::new(&["policy", "time µs", "speed-up", "CTA slots"], false);
    for row in &speedups.rows {
        table.rows.push(vec![
            row.design.as_ref().map_or(row.policy.clone(), |design| format!("{} ({design})", row.policy)),
            one(row.time_us),
            format!("{:.2}", row.speedup),
            row.occupancy.map_or(NONE.into(), |o| format!("{:.1} %", 100.0 * o)),
        ]);
    }
    table
}

/// So many workloads have a column each in the summary; of more it has the mean, for a page has an end.
const SUMMARY_WORKLOADS: usize = 3;

/// One row per design: what it costs, each latency's median, and what it gains on each workload, or on all.
fn summary_table(report: &Report) -> Table {
    let mut latencies: Vec<&str> = Vec::new();
    for latency in report.designs.iter().flat_map(|d| &d.latencies) {
        if !latencies.contains(&latency.name.as_str()) {
            latencies.push(&latency.name);
        }
    }
    let mut table = Table::new(&["design", "flip-flops", "µm²", "GE"], false);
    let timed = report.designs.iter().any(|d| d.synthesis.is_some());
    if timed {
        table.header.extend(["flat GE, smallest", "flat GE, fastest", "MHz, fastest"].map(String::from));
    }
    table.header.extend(latencies.iter().map(|name| format!("{name} (median cycles)")));
    let workloads = report.speedups.len();
    if workloads > SUMMARY_WORKLOADS {
        table.header.push(format!("speed-up (geometric mean of {workloads})"));
    } else {
        table.header.extend(report.speedups.iter().map(|s| format!("speed-up {}", s.workload)));
    }
    for design in &report.designs {
        let total = design.area.as_ref().map(AreaReport::total);
        let mut row = vec![design.name.clone()];
        row.push(total.map_or(NONE.into(), |t| t.flip_flops.to_string()));
        row.push(total.map_or(NONE.into(), |t| one(t.area_um2)));
        row.push(total.map_or(NONE.into(), |t| one(t.gate_equivalents)));
        if timed {
            let synthesis = design.synthesis.as_ref();
            let ge = |r: Option<&VariantResult>| {
                r.and_then(|r| r.total).map_or(NONE.into(), |t| one(t.gate_equivalents))
            };
            row.push(ge(synthesis.and_then(SynthReport::smallest)));
            row.push(ge(synthesis.and_then(SynthReport::fastest)));
            let fmax = synthesis.and_then(SynthReport::fastest).and_then(VariantResult::fmax_mhz);
            row.push(fmax.map_or(NONE.into(), one));
        }
        row.extend(latencies.iter().map(|name| {
            let latency = design.latencies.iter().find(|l| l.name == *name);
            latency.and_then(|l| l.cycles).map_or(NONE.into(), |c| c.median.to_string())
        }));
        let two = |speedup: Option<f64>| speedup.map_or(NONE.into(), |s| format!("{s:.2}"));
        if workloads > SUMMARY_WORKLOADS {
            row.push(two(figure::mean_gain(report, &design.name)));
        } else {
            row.extend(report.speedups.iter().map(|s| two(figure::gain(s, &design.name))));
        }
        table.rows.push(row);
    }
    table
}

fn one(value: f64) -> String {
    format!("{value:.1}")
}

fn signed(value: f64) -> String {
    format!("{value:+.1}")
}

fn print(items: &[Item], style: Style<'_>) -> String {
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = match (item, style) {
            (Item::Heading(level, text), Style::Markdown { .. }) => {
                writeln!(out, "{} {text}", "#".repeat(*level))
            }
            (Item::Heading(level, text), Style::Text) => {
                let rule = if *level == 1 { "=" } else { "-" };
                let under =
                    if *level <= 2 { rule.repeat(text.chars().count()) + "\n" } else { String::new() };
                write!(out, "{text}\n{under}")
            }
            (Item::Line(text), _) => writeln!(out, "{text}"),
            (Item::Table(table), style) => {
                write!(out, "{}", print_table(table, matches!(style, Style::Markdown { .. })))
            }
            (Item::Figure(figure), Style::Markdown { folder: Some(folder) }) => {
                let Figure { id, title, caption, .. } = figure;
                let title = title.replace(['[', ']'], "");
                writeln!(
                    out,
                    "![{title}]({folder}/{id}.svg)\n\n*{title}.* {caption} [CSV]({folder}/{id}.csv)"
                )
            }
            (Item::Figure(_), _) => Ok(()),
        };
    }
    out
}

fn print_table(table: &Table, markdown: bool) -> String {
    let cell = |text: &String| if markdown { text.replace('|', "\\|") } else { text.clone() };
    let rows: Vec<Vec<String>> =
        [&table.header].into_iter().chain(&table.rows).map(|row| row.iter().map(cell).collect()).collect();
    let rows = aligned(&rows, 3, |column| table.is_left(column));
    let rule = rows[0].iter().enumerate().map(|(column, cell)| {
        let width = cell.chars().count();
        let right = markdown && !table.is_left(column);
        if right { "-".repeat(width - 1) + ":" } else { "-".repeat(width) }
    });
    let rule: Vec<String> = rule.collect();
    let (header, rows) = rows.split_at(1);
    header.iter().chain([&rule]).chain(rows).map(|row| line(row, markdown)).collect()
}

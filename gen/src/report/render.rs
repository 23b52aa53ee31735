//! One report, four forms: text for a terminal, JSON for programs, Markdown for documents, HTML ([`super::html`]) for reading and
//! printing. The same report gives the same bytes.

use super::baseline::Changes;
use super::document::{Item, Table, document};
use super::figure::{self, Figure};
use super::paper::{self, Comparison};
use crate::synth::area::AreaReport;
use crate::synth::fpga::{FpgaReport, Placement, one_line};
use crate::synth::variants::SynthReport;
use crate::table::{aligned, cell, counted, line, literal, sentence, without_controls};
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
    /// Under which conditions latencies and speed-ups were measured; none where nothing was, and in reports of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
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
            conditions: None,
            baseline: None,
        }
    }
}

/// What surrounds the hardware, and decides with it how fast a workload is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The GPU's profile, field by field.
    pub profile: serde_json::Value,
    /// Clock of front ends, in MHz: in whose cycles their latencies are.
    pub front_end_mhz: u32,
    /// From a kernel's end until the hardware takes notice, in nanoseconds.
    pub kernel_end_ns: u64,
    /// The hosts of `window` and `queue` pay a driver launch for every kernel.
    pub driver_launch: bool,
    /// Budget within which memory was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// Kernels in the window of `streams-ace`, which is software's: the most of `--slots`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_ace_window: Option<usize>,
}

impl Conditions {
    /// The conditions in words, as reports say them below the heading of speed-ups.
    pub fn sentence(&self) -> String {
        let number = |field: &str| self.profile.get(field).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let mut text = format!(
            "measured with {} at {} MHz, front ends at {} MHz",
            counted(number("sms"), "SM"),
            number("clock_mhz"),
            self.front_end_mhz
        );
        if self.kernel_end_ns > 0 {
            let _ = write!(text, ", kernels ending {} ns late", self.kernel_end_ns);
        }
        if self.driver_launch {
            text += ", driver launches";
        }
        if let Some(budget) = &self.rename {
            let _ = write!(text, ", renaming within {budget}");
        }
        text
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
    /// Power of the clock pins and leakage alone, in mW, with clock gates on average. No cycle is so: in the SM array something goes round
    /// in every one.
    pub idle_mw: Option<f64>,
    /// Leakage, in mW.
    pub leakage_mw: Option<f64>,
    /// Its clock gates; none where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gating: Option<Gating>,
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

/// Clock gates of a netlist whose energy was estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gating {
    /// Clock gates.
    pub clock_gates: u64,
    /// Flip-flops behind them.
    pub gated: u64,
    /// All flip-flops.
    pub flip_flops: u64,
    /// The share of all flip-flops that the clock reached in a cycle, 0 to 1.
    pub clocked: f64,
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

fn print(items: &[Item], style: Style<'_>) -> String {
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = match (item, style) {
            (Item::Heading(level, text), Style::Markdown { .. }) => {
                writeln!(out, "{} {}", "#".repeat(*level), literal(&without_controls(text)))
            }
            (Item::Heading(level, text), Style::Text) => {
                let rule = if *level == 1 { "=" } else { "-" };
                let under =
                    if *level <= 2 { rule.repeat(text.chars().count()) + "\n" } else { String::new() };
                write!(out, "{}\n{under}", without_controls(text))
            }
            (Item::Line(text), Style::Markdown { .. }) => {
                writeln!(out, "{}", sentence(&without_controls(text)))
            }
            (Item::Line(text), Style::Text) => writeln!(out, "{}", without_controls(text)),
            (Item::Table(table), style) => {
                write!(out, "{}", print_table(table, matches!(style, Style::Markdown { .. })))
            }
            (Item::Figure(figure), Style::Markdown { folder: Some(folder) }) => {
                let Figure { id, title, caption, .. } = figure;
                let (title, caption) = (
                    literal(&without_controls(title).replace(['[', ']'], "")),
                    sentence(&without_controls(caption)),
                );
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
    let cells = |row: &Vec<String>| row.iter().map(|text| cell(text, markdown)).collect();
    let rows: Vec<Vec<String>> = [&table.header].into_iter().chain(&table.rows).map(cells).collect();
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

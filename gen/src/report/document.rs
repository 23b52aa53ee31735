//! What text, Markdown and HTML are made of: the report as headings, lines, tables and figures in their order.

use super::baseline::{self, Changes};
use super::figure::{self, Figure, Place};
use super::paper::Comparison;
use super::render::{Design, Energy, Fpga, Gating, Latency, Report, Speedups, Spread};
use crate::synth::area::{Amount, AreaReport};
use crate::synth::timing::{TIMING_LABEL, TimingReport};
use crate::synth::variants::{SynthReport, VariantResult};
use crate::synth::wires::{WIRES_LABEL, Wired, WiredNetlist};
use crate::table::counted;
use std::fmt::Write as _;
use windlass_netlist::WireModel;

/// A piece of the document.
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
        items.extend(report.conditions.as_ref().map(|conditions| Item::Line(conditions.sentence())));
        place(figures, Place::Speedup, &mut items);
    }
    for table in &report.speedups {
        items.push(Item::Heading(
            3,
            format!("On {} ({}), {}", table.workload, counted(table.kernels, "kernel"), table.gpu),
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
    let mut header = vec![
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
    let all = area.total();
    let gates = all.clock_gates > 0;
    if gates {
        header.insert(4, "clock gates");
    }
    let mut table = Table::new(&header, false);
    for m in &area.modules {
        let times = m.own.area_um2 * m.instances as f64;
        let share = if all.area_um2 > 0.0 { 100.0 * times / all.area_um2 } else { 0.0 };
        let mut row = vec![
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
        ];
        if gates {
            row.insert(4, m.own.clock_gates.to_string());
        }
        table.rows.push(row);
    }
    let mut row = vec![
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
    ];
    if gates {
        row.insert(4, all.clock_gates.to_string());
    }
    table.rows.push(row);
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
    if let Some(gated) = synthesis.gated {
        items.push(Item::Line(format!("clock gates: {gated} flip-flops are behind them")));
    }
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
    if let Some(wired) = &synthesis.wired {
        wired_items(wired, fastest, items);
    }
}

fn wired_items(wired: &Wired, ideal: &VariantResult, items: &mut Vec<Item>) {
    let WireModel { row_um, ohm_per_um, ff_per_um } = wired.model;
    items.push(Item::Heading(4, format!("{} with wires ({WIRES_LABEL})", wired.variant)));
    items.push(Item::Line(format!(
        "{}; {:.0} % of the core are cells, in rows of {row_um} µm; wires of {ohm_per_um} Ω and {ff_per_um} fF per µm",
        wired.tool,
        100.0 * wired.density
    )));
    let header = ["netlist", "GE", "MHz", "core µm", "nets", "wires mm", "longest µm"];
    let mut table = Table::new(&header, true);
    let mhz = |mhz: Option<f64>| mhz.map_or(NONE.into(), one);
    let ge = ideal.total.map_or(NONE.into(), |t| one(t.gate_equivalents));
    let mut row = vec!["ideal wires".into(), ge, mhz(ideal.fmax_mhz())];
    row.resize(header.len(), NONE.into());
    table.rows.push(row);
    for netlist in &wired.netlists {
        let [width, height] = netlist.core_um;
        table.rows.push(vec![
            if netlist.sized { "sized for wires" } else { "the same, with wires" }.into(),
            one(netlist.total.gate_equivalents),
            mhz(netlist.fmax_mhz()),
            format!("{width:.0} x {height:.0}"),
            netlist.nets.to_string(),
            one(netlist.wires_mm),
            format!("{:.0}", netlist.longest_um),
        ]);
    }
    items.push(Item::Table(table));
    let Some(fastest) = wired.fastest() else { return };
    items.push(Item::Line(format!(
        "Paths of the faster one, {}:",
        if fastest.sized { "which is sized for wires" } else { "which is not sized for wires" }
    )));
    items.push(Item::Table(class_table(&fastest.timing)));
    if !fastest.timing.paths.is_empty() {
        items.push(Item::Table(path_table(&fastest.timing)));
    }
}

fn variant_table(synthesis: &SynthReport) -> Table {
    let mut header = vec!["script", "cells", "flip-flops", "µm²", "GE", "period ns", "MHz", ""];
    let gates = synthesis.gated.is_some();
    if gates {
        header.insert(3, "clock gates");
    }
    let mut table = Table::new(&header, true);
    for r in &synthesis.results {
        let of = |f: &dyn Fn(&Amount) -> String| r.total.as_ref().map_or(NONE.into(), f);
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
        let mut row = vec![
            r.name.clone(),
            of(&|t| t.cells.to_string()),
            of(&|t| t.flip_flops.to_string()),
            of(&|t| one(t.area_um2)),
            of(&|t| one(t.gate_equivalents)),
            r.period_ns().map_or(NONE.into(), |p| format!("{p:.3}")),
            r.fmax_mhz().map_or(NONE.into(), one),
            remark.join(", "),
        ];
        if gates {
            row.insert(3, of(&|t| t.clock_gates.to_string()));
        }
        table.rows.push(row);
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
    if let Some(gating) = &energy.gating {
        let Gating { clock_gates, gated, flip_flops, clocked } = gating;
        items.push(Item::Line(format!(
            "{clock_gates} clock gates, before {gated} of {flip_flops} flip-flops; in a cycle the clock reaches {:.1} % of all flip-flops",
            clocked * 100.0
        )));
    }
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
            false => "its error is more than half of it, or it cannot be told from other events",
        };
        items.push(Item::Line(format!("No energy is given for {events}: {why}")));
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
    let wired = report.designs.iter().any(|d| d.synthesis.as_ref().is_some_and(|s| s.wired.is_some()));
    if wired {
        table.header.extend(["GE, with wires", "MHz, with wires"].map(String::from));
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
        if wired {
            let wired = design.synthesis.as_ref().and_then(SynthReport::wired);
            row.push(wired.map_or(NONE.into(), |w| one(w.total.gate_equivalents)));
            row.push(wired.and_then(WiredNetlist::fmax_mhz).map_or(NONE.into(), one));
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

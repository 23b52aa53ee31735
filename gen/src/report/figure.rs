//! The report's figures, as SVG drawn directly: bars, lines, dots and a block diagram need no plotting library.
//!
//! Every figure is 340 units wide and is meant for a column of 8.5 cm, so that a font of 10 units is one of 7 points. Fills differ in
//! lightness and in pattern, marks in shape, so that nothing is lost in grey. Each figure comes with its numbers as CSV.

pub use super::chart::escape;
use super::chart::{
    Anchor, BOLD, Bar, Bars, DASHES, FAINT, Fill, Group, INK, MARKS, Mark, Point, STROKES, Scatter, Svg,
    Tiles, WIDTH, bars, mark_legend, n, plain, scatter, short, step, text_width, tick_text, tiled,
};
use super::render::{Design, Report, Speedup, Speedups, Spread};
use crate::synth::area::{AreaReport, ModuleArea, round4};
use crate::table::counted;
use crate::table::csv_line;
use std::fmt::Write as _;
use std::ops::Range;
use windlass_netlist::{FLOOR_PLAN_LETTERS, SHARED};

/// Workloads in one figure of bars; more of them make more figures.
const WORKLOADS: usize = 6;

/// Designs in one group of bars; the tables have them all.
const DESIGNS: usize = 4;

/// Blocks in the figure of areas; the others are one bar.
const BLOCKS: usize = 10;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of its files, without ending: small letters, digits and `-`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Units, what the marks mean, and how many runs there were.
    pub caption: String,
    /// Its numbers.
    pub csv: String,
    /// The picture; complete, with its name space.
    pub svg: String,
}

/// Where in the report a figure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before everything.
    Overview,
    /// With the area of the design of that number.
    Area(usize),
    /// With its timing.
    Timing(usize),
    /// With its latencies.
    Latency,
    /// With its energy.
    Energy(usize),
    /// With its FPGA results.
    Fpga(usize),
    /// With the speed-ups.
    Speedup,
    /// Where designs are compared.
    Comparison,
}

/// All figures that the report has numbers for, in the order of the report.
pub fn figures(report: &Report) -> Vec<(Place, Figure)> {
    let mut all = vec![];
    let mut add = |place, figure: Option<Figure>| all.extend(figure.map(|f| (place, f)));
    add(Place::Overview, diagram(report));
    for (index, design) in report.designs.iter().enumerate() {
        add(Place::Area(index), area_by_block(design, index));
        add(Place::Timing(index), clock_by_class(design, index));
        add(Place::Timing(index), scripts(design, index));
        add(Place::Timing(index), floor_plan(design, index));
        add(Place::Energy(index), energy(design, index));
        add(Place::Fpga(index), fpga(design, index));
    }
    add(Place::Latency, latencies(report));
    for figure in by_policy(report, Metric::Speedup) {
        add(Place::Speedup, Some(figure));
    }
    for figure in by_policy(report, Metric::Occupancy) {
        add(Place::Speedup, Some(figure));
    }
    add(Place::Comparison, sensitivity(report));
    add(Place::Comparison, area_of_designs(report));
    add(Place::Comparison, pareto(report));
    all
}

/// A table as CSV.
struct Csv(String);

impl Csv {
    fn new(header: &[&str]) -> Self {
        let mut csv = Self(String::new());
        csv.row(header);
        csv
    }

    fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        self.0 += &csv_line(cells);
    }
}

/// Gate equivalents: the unit that suits the largest, and what to divide by.
fn gate_unit(max: f64) -> (&'static str, f64) {
    if max >= 1000.0 { ("kGE", 1000.0) } else { ("GE", 1.0) }
}

/// The geometric mean; none of no values, or where one is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let usable = !values.is_empty() && values.iter().all(|v| v.is_finite() && *v > 0.0);
    usable.then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// A parameter of all designs; several values are separated by `/`.
fn parameter(report: &Report, name: &str) -> Option<String> {
    let mut values: Vec<&str> = vec![];
    for design in &report.designs {
        if let Some(value) = design.parameter(name).filter(|v| !values.contains(v)) {
            values.push(value);
        }
    }
    (!values.is_empty()).then(|| values.join("/"))
}

fn diagram(report: &Report) -> Option<Figure> {
    report.designs.first()?;
    let title = "What is in the designs";
    let mut csv = Csv::new(&["design", "parameter", "value"]);
    for design in &report.designs {
        for p in &design.parameters {
            csv.row(&[&design.name, &p.name, &p.value]);
        }
    }
    let of = |name: &str| parameter(report, name);
    let with = |name: &str, text: &str| of(name).map(|value| text.replace('_', &value));
    let lines = |all: &[Option<String>]| all.iter().flatten().cloned().collect::<Vec<_>>();
    let arbiter = of("arbiter");
    let whole = arbiter.is_some();
    let gpu = report.speedups.first().map(|s| s.gpu.clone());
    let encoding = match with("ids per beat", "_ per beat") {
        Some(lanes) => of("encoding").map(|e| format!("{e}, {lanes}")),
        None => of("encoding"),
    };

    let mut svg = Svg::new("diagram");
    let (wide, high) = (92.0, 54.0);
    let (left, middle, right) = (8.0, 124.0, 240.0);
    let (upper, lower) = (38.0, 138.0);
    // The frame of what is in hardware.
    svg.push(format_args!(
        "<rect x=\"112\" y=\"20\" width=\"226\" height=\"186\" rx=\"4\" fill=\"#f4f6f8\" stroke=\"{INK}\" stroke-width=\"0.8\" stroke-dasharray=\"4 2\"/>"
    ));
    svg.styled(118.0, 32.0, Anchor::Start, 9.0, "generated hardware", " font-style=\"italic\"");
    let mut block = |x: f64, y: f64, high: f64, name: &str, inside: &[String], here: bool| {
        let dash = if here { "" } else { " stroke-dasharray=\"2 2\"" };
        svg.push(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"#ffffff\" stroke=\"{INK}\"{dash}/>",
            n(x),
            n(y),
            n(wide),
            n(high)
        ));
        svg.styled(x + wide / 2.0, y + 13.0, Anchor::Middle, 9.5, name, BOLD);
        for (index, line) in inside.iter().enumerate() {
            svg.cut(x + wide / 2.0, y + 26.0 + 11.0 * index as f64, Anchor::Middle, 9.0, line, wide);
        }
    };
    block(left, upper, high, "Host", &lines(&[with("scheduled list", "M = _ kernels"), encoding]), true);
    block(middle, upper, high, "Upstream load", &["drops ids that".into(), "are done".into()], true);
    let ports = with("retire ports", "_ retire ports");
    block(right, upper, high, "Window", &lines(&[of("window"), with("slots", "N = _"), ports]), true);
    let slots = with("slots", "_ entries");
    block(right, lower, high, "Kernel table", &lines(&[slots, Some("CTAs left".into())]), whole);
    let arbiters = lines(&[
        arbiter.clone(),
        with("active kernels per channel", "_ kernels each"),
        Some("CTA slots in use".into()),
    ]);
    block(middle, lower, high + 4.0, "CTA arbiter", &arbiters, whole);
    block(left, lower, high, "SMs", &lines(&[with("SMs", "S = _"), gpu]), true);
    let mut arrow = |points: &[(f64, f64)], dash: &str| svg.poly(points, INK, 1.1, dash, true);
    let row = upper + high / 2.0;
    arrow(&[(left + wide, row), (middle, row)], "");
    arrow(&[(middle + wide, row), (right, row)], "");
    arrow(&[(right + 30.0, upper + high), (right + 30.0, lower)], "");
    let row = lower + 20.0;
    arrow(&[(right, row), (middle + wide, row)], "");
    arrow(&[(middle, row), (left + wide, row)], "");
    // Completions go under everything into the table, retirements up into the window, and on to the host.
    let under = lower + high + 28.0;
    arrow(
        &[
            (left + 46.0, lower + high),
            (left + 46.0, under),
            (right + 46.0, under),
            (right + 46.0, lower + high),
        ],
        "",
    );
    arrow(&[(right + 66.0, lower), (right + 66.0, upper + high)], "");
    arrow(&[(right + 66.0, 115.0), (left + 46.0, 115.0), (left + 46.0, upper + high)], "");
    svg.text(left + wide / 2.0 + 46.0 + 26.0, under - 4.0, Anchor::Start, 9.0, "completions");
    svg.text(150.0, 111.0, Anchor::Start, 9.0, "retirements");
    let mut caption =
        "Launch packets go from the host to the SMs, completions come back and retire kernels.".to_string();
    if !whole {
        caption +=
            " The blocks with dotted edges decide in the co-simulation, and are not in the areas and clocks.";
    }
    let svg = svg.finish(under + 8.0, title);
    Some(Figure { id: "diagram".into(), title: title.into(), caption, csv: csv.0, svg })
}

/// A figure's name; where there are several designs, with the number of its own.
fn id(kind: &str, index: usize) -> String {
    format!("{kind}-{}", index + 1)
}

fn area_by_block(design: &Design, index: usize) -> Option<Figure> {
    let area = design.area.as_ref()?;
    let mut csv = Csv::new(&["module", "count", "own_ge", "own_um2", "all_ge", "flip_flops_ge", "logic_ge"]);
    let gates = |um2: f64| if area.gate_um2 > 0.0 { um2 / area.gate_um2 } else { 0.0 };
    let split = |m: &ModuleArea| {
        let times = m.instances as f64;
        let flip_flops = gates(m.own.sequential_um2) * times;
        (flip_flops, (m.own.gate_equivalents * times - flip_flops).max(0.0))
    };
    let mut modules: Vec<&ModuleArea> = area.modules.iter().collect();
    let all = |m: &ModuleArea| m.own.gate_equivalents * m.instances as f64;
    modules.sort_by(|a, b| all(b).total_cmp(&all(a)).then_with(|| a.module.cmp(&b.module)));
    for m in &modules {
        let (flip_flops, logic) = split(m);
        let numbers =
            [m.own.gate_equivalents, m.own.area_um2, all(m), flip_flops, logic].map(|v| plain(round4(v)));
        csv.row(&[&[m.module.clone(), m.instances.to_string()][..], &numbers].concat());
    }
    let (unit, divide) = gate_unit(all(modules.first()?));
    let total: f64 = modules.iter().map(|m| all(m)).sum();
    let bar = |label: String, (flip_flops, logic): (f64, f64)| {
        let sum = flip_flops + logic;
        let share = if total > 0.0 { format!(" ({:.0} %)", 100.0 * sum / total) } else { String::new() };
        Bar {
            label,
            parts: vec![(flip_flops / divide, Fill::Dark), (logic / divide, Fill::Hatch)],
            text: format!("{}{share}", short(sum / divide)),
        }
    };
    let shown = if modules.len() > BLOCKS + 1 { BLOCKS } else { modules.len() };
    let mut list: Vec<Bar> = modules[..shown]
        .iter()
        .map(|m| {
            let times = if m.instances > 1 { format!("{} x ", m.instances) } else { String::new() };
            bar(format!("{times}{}", m.module), split(m))
        })
        .collect();
    if shown < modules.len() {
        let rest = modules[shown..].iter().map(|m| split(m)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        list.push(bar(format!("{} others", modules.len() - shown), rest));
    }
    let title = format!("Area by block: {}", design.name);
    let id = id("area", index);
    let svg = bars(Bars {
        id: &id,
        title: &title,
        groups: vec![Group { heading: String::new(), bars: list }],
        legend: vec![(Fill::Dark, "flip-flops".into()), (Fill::Hatch, "logic".into())],
        axis: format!("area without submodules, all instances [{unit}]"),
        reference: None,
    });
    let caption = format!(
        "{} {unit} in all; library {}; hierarchy kept; after synthesis, before layout. One run of {}.",
        short(total / divide),
        area.library,
        area.tool
    );
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

fn clock_by_class(design: &Design, index: usize) -> Option<Figure> {
    let synthesis = design.synthesis.as_ref()?;
    let fastest = synthesis.fastest()?;
    let timing = fastest.timing.as_ref()?;
    let mut csv = Csv::new(&["paths", "inside_ns", "outside_ns", "period_ns", "fmax_mhz"]);
    let mut list = vec![];
    for class in &timing.classes {
        let numbers = [class.delay_ns, class.external_ns, class.min_period_ns, class.fmax_mhz].map(plain);
        csv.row(&[&[class.class.name().to_string()][..], &numbers].concat());
        list.push(Bar {
            label: class.class.name().into(),
            parts: vec![(class.delay_ns, Fill::Dark), (class.external_ns, Fill::White)],
            text: format!("{} MHz", short(class.fmax_mhz)),
        });
    }
    if list.is_empty() {
        return None;
    }
    let title = format!("Clock by class of path: {}", design.name);
    let id = id("clock", index);
    let svg = bars(Bars {
        id: &id,
        title: &title,
        groups: vec![Group { heading: String::new(), bars: list }],
        legend: vec![
            (Fill::Dark, "inside the design".into()),
            (Fill::White, "left to what is outside".into()),
        ],
        axis: "shortest clock period [ns]".into(),
        reference: None,
    });
    let tool = &timing.tool;
    let kind = if timing.estimate { "the mapper's estimate" } else { "static timing" };
    let caption = format!(
        "Netlist `{}`, the fastest of {}; {kind} by {tool}, library {}; no wire load.",
        fastest.name,
        synthesis.results.len(),
        synthesis.library
    );
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

/// Where a placement puts the blocks of a design.
fn floor_plan(design: &Design, index: usize) -> Option<Figure> {
    // All others share one. Where no cell is, it is white.
    const FILLS: [Fill; 7] =
        [Fill::Dark, Fill::Light, Fill::Accent, Fill::Dots, Fill::Mid, Fill::Cross, Fill::Lines];
    const OTHERS: Fill = Fill::Hatch;
    let wired = design.synthesis.as_ref()?.wired.as_ref()?;
    let netlist = wired.fastest()?;
    let (blocks, rows) = (&netlist.plan.blocks, &netlist.plan.rows);
    let mut csv = Csv::new(&["x", "y", "block"]);
    let mut runs: Vec<(usize, Range<usize>, Fill)> = Vec::new();
    for (up, row) in rows.iter().rev().enumerate() {
        for (along, letter) in row.chars().enumerate().filter(|(_, letter)| *letter != ' ') {
            let block = FLOOR_PLAN_LETTERS.iter().position(|known| char::from(*known) == letter);
            let name = block.and_then(|block| blocks.get(block)).map_or("?", String::as_str);
            csv.row(&[along.to_string(), up.to_string(), name.into()]);
            let fill = block.and_then(|block| FILLS.get(block)).map_or(OTHERS, |fill| *fill);
            match runs.last_mut() {
                Some(run) if (run.0, run.1.end, run.2) == (up, along, fill) => run.1.end += 1,
                _ => runs.push((up, along..along + 1, fill)),
            }
        }
    }
    let side = rows.len();
    if runs.is_empty() {
        return None;
    }
    let mut legend: Vec<(Fill, String)> = FILLS.into_iter().zip(blocks.iter().cloned()).collect();
    if blocks.len() > FILLS.len() {
        legend.push((OTHERS, "others".into()));
    }
    let (id, title) = (id("plan", index), format!("Floor plan: {}", design.name));
    let [width, height] = netlist.core_um;
    let ruler = format!("{width:.0} x {height:.0} µm");
    let svg = tiled(Tiles { id: &id, title: &title, side, runs, legend, ruler });
    let caption = format!(
        "Netlist `{}`, placed by {}. Each tile has the fill of the block that most of its cells belong to; logic belongs to the block that it feeds, \
         and what feeds several to the block around them, at last to `{SHARED}`.",
        wired.name(netlist),
        wired.tool
    );
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

/// How far the ways to map a design are apart.
fn scripts(design: &Design, index: usize) -> Option<Figure> {
    let synthesis = design.synthesis.as_ref()?;
    let done: Vec<(&str, f64, f64)> = synthesis
        .results
        .iter()
        .filter_map(|r| Some((r.name.as_str(), r.total?.gate_equivalents, r.fmax_mhz()?)))
        .collect();
    if done.len() < 2 {
        return None;
    }
    let mut csv = Csv::new(&["script", "area_ge", "fmax_mhz"]);
    for (name, area, fmax) in &done {
        csv.row(&[(*name).to_string(), plain(*area), plain(*fmax)]);
    }
    let (unit, divide) = gate_unit(done.iter().map(|d| d.1).fold(0.0, f64::max));
    let named = |name: &str| name == synthesis.fastest || name == synthesis.smallest;
    let points = done.iter().map(|(name, area, fmax)| Point {
        x: area / divide,
        y: *fmax,
        label: if named(name) || done.len() <= 8 { (*name).to_string() } else { String::new() },
        series: 0,
        filled: named(name),
    });
    let title = format!("Ways to map: {}", design.name);
    let id = id("scripts", index);
    let svg = scatter(Scatter {
        id: &id,
        title: &title,
        points: points.collect(),
        series: vec![],
        front: vec![],
        axes: [format!("area, flattened [{unit}]"), "clock [MHz]".into()],
    });
    let caption = format!(
        "{} netlists, one run each; filled: the fastest and the smallest; library {}, no wire load. Axes need not begin at 0.",
        done.len(),
        synthesis.library
    );
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

fn energy(design: &Design, index: usize) -> Option<Figure> {
    let energy = design.energy.as_ref()?;
    // Reports of before have no errors.
    let errors = energy.events.iter().any(|e| e.pj_error.is_some());
    let header = ["event", "events", "pj_per_event", "pj_error"];
    let mut csv = Csv::new(if errors { &header } else { &header[..3] });
    let mut list = vec![];
    for row in &energy.events {
        let mut cells = vec![row.event.clone(), row.count.to_string(), plain(row.picojoules)];
        cells.extend(errors.then(|| row.pj_error.map(plain).unwrap_or_default()));
        csv.row(&cells);
        list.push(Bar {
            label: row.event.clone(),
            parts: vec![(row.picojoules, Fill::Dark)],
            text: match row.pj_error {
                Some(error) => format!("{} ± {} ({})", short(row.picojoules), short(error), row.count),
                None => format!("{} ({})", short(row.picojoules), row.count),
            },
        });
    }
    if list.is_empty() {
        return None;
    }
    let title = format!("Energy per event: {}", design.name);
    let id = id("energy", index);
    let svg = bars(Bars {
        id: &id,
        title: &title,
        groups: vec![Group { heading: String::new(), bars: list }],
        legend: vec![],
        axis: "energy per event [pJ] (number of events)".into(),
        reference: None,
    });
    let caption = format!("{}; switching from {}, {}.", energy.label, energy.activity, energy.tool);
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

fn fpga(design: &Design, index: usize) -> Option<Figure> {
    let mut csv = Csv::new(&[
        "part",
        "luts",
        "flip_flops",
        "block_rams",
        "logic_cells",
        "available",
        "slowest_mhz",
        "fastest_mhz",
        "runs",
    ]);
    let mut groups = vec![];
    for row in &design.fpga {
        let number = |v: Option<u64>| v.map_or(String::new(), |v| v.to_string());
        let clock = |v: Option<f64>| v.map_or(String::new(), plain);
        csv.row(&[
            row.part.clone(),
            row.luts.to_string(),
            row.flip_flops.to_string(),
            row.block_rams.to_string(),
            number(row.logic_cells),
            number(row.available),
            clock(row.slowest_mhz),
            clock(row.fastest_mhz),
            row.runs.to_string(),
        ]);
        let bar = |label: &str, value: u64, fill| Bar {
            label: label.into(),
            parts: vec![(value as f64, fill)],
            text: value.to_string(),
        };
        let mut list =
            vec![bar("LUTs", row.luts, Fill::Dark), bar("flip-flops", row.flip_flops, Fill::Hatch)];
        list.extend(row.logic_cells.map(|v| bar("logic cells", v, Fill::Accent)));
        list.extend(row.available.map(|v| bar("device has", v, Fill::White)));
        let clock = match (row.slowest_mhz, row.fastest_mhz) {
            (Some(a), Some(b)) if a != b => format!(", {} to {} MHz", short(a), short(b)),
            (Some(a), _) => format!(", {} MHz", short(a)),
            _ => String::new(),
        };
        groups.push(Group { heading: format!("{}{clock}", row.part), bars: list });
    }
    if groups.is_empty() {
        return None;
    }
    let title = format!("On FPGAs: {}", design.name);
    let id = id("fpga", index);
    let svg =
        bars(Bars { id: &id, title: &title, groups, legend: vec![], axis: "cells".into(), reference: None });
    let runs = design.fpga.iter().fold(0u64, |sum, f| sum.saturating_add(f.runs));
    let caption = match runs {
        1 => "Synthesis once per device; 1 run of place and route in all.".into(),
        _ => {
            format!("Synthesis once per device; {runs} runs of place and route in all, with different seeds.")
        }
    };
    Some(Figure { id, title, caption, csv: csv.0, svg })
}

fn latencies(report: &Report) -> Option<Figure> {
    let title = "Latencies beside the paper's";
    let mut csv = Csv::new(&[
        "latency",
        "design",
        "workload",
        "samples",
        "min",
        "median",
        "p99",
        "max",
        "paper",
        "difference",
    ]);
    let mut names: Vec<&str> = vec![];
    for latency in report.designs.iter().flat_map(|d| &d.latencies) {
        if latency.cycles.is_some() && !names.contains(&latency.name.as_str()) {
            names.push(&latency.name);
        }
    }
    let mut rows = vec![];
    for name in &names {
        rows.push((name.to_string(), None));
        for design in &report.designs {
            let Some(latency) = design.latencies.iter().find(|l| l.name == *name) else { continue };
            let Some(cycles) = latency.cycles else { continue };
            let optional = |v: Option<f64>| v.map_or(String::new(), plain);
            csv.row(&[
                latency.name.clone(),
                design.name.clone(),
                latency.workload.clone(),
                cycles.samples.to_string(),
                cycles.min.to_string(),
                plain(cycles.median),
                cycles.p99.to_string(),
                cycles.max.to_string(),
                optional(latency.paper),
                optional(latency.difference),
            ]);
            rows.push((design.name.clone(), Some((cycles, latency.paper))));
        }
    }
    let svg = latency_chart(title, &rows)?;
    let caption = "Numbers are medians; measured at the ports of the design in one co-simulation, which always takes the same course. \
                   How often each was measured is in the table.";
    Some(Figure { id: "latency".into(), title: title.into(), caption: caption.into(), csv: csv.0, svg })
}

/// A heading, or a design with its cycles and those of the paper.
type LatencyRow = (String, Option<(Spread, Option<f64>)>);

/// Least, median and greatest on a logarithmic axis.
fn latency_chart(title: &str, rows: &[LatencyRow]) -> Option<String> {
    let most = rows
        .iter()
        .filter_map(|(_, r)| *r)
        .map(|(c, p)| (c.max as f64).max(p.unwrap_or(0.0)))
        .reduce(f64::max)?;
    let decades = most.max(10.0).log10().ceil();
    let mut svg = Svg::new("latency");
    let labels = rows.iter().map(|(name, _)| name);
    let gutter = labels.map(|l| text_width(l, 9.5)).fold(30.0, f64::max).min(120.0) + 8.0;
    let (top, right) = (20.0, WIDTH - 78.0);
    let bottom = top + rows.len() as f64 * 14.0;
    let px = |cycles: f64| gutter + cycles.max(1.0).log10() / decades * (right - gutter);
    for decade in 0..=decades as u32 {
        let value = 10f64.powi(decade as i32);
        svg.line((px(value), top), (px(value), bottom), FAINT, 0.6, "");
        let text = match decade {
            0..3 => plain(value),
            3..6 => format!("{}k", plain(value / 1e3)),
            _ => format!("{}M", plain(value / 1e6)),
        };
        // Many decades leave no room for all of their names.
        if decades <= 5.0 || decade.is_multiple_of(2) {
            svg.text(px(value), bottom + 11.0, Anchor::Middle, 9.0, &text);
        }
    }
    svg.line((gutter, top), (gutter, bottom), INK, 0.9, "");
    svg.line((4.0, 8.0), (22.0, 8.0), INK, 1.2, "");
    svg.mark((13.0, 8.0), Mark::Circle, STROKES[0], true);
    svg.text(27.0, 11.0, Anchor::Start, 9.0, "ours: least, median, greatest");
    svg.mark((172.0, 8.0), Mark::Diamond, STROKES[1], false);
    svg.text(180.0, 11.0, Anchor::Start, 9.0, "the paper's");
    for (index, (label, row)) in rows.iter().enumerate() {
        let y = top + index as f64 * 14.0 + 7.0;
        let Some((cycles, paper)) = row else {
            let wide = text_width(label, 10.5) + 4.0;
            svg.push(format_args!(
                "<rect x=\"0\" y=\"{}\" width=\"{}\" height=\"13\" fill=\"#ffffff\"/>",
                n(y - 6.0),
                n(wide)
            ));
            svg.styled(2.0, y + 4.0, Anchor::Start, 10.0, label, BOLD);
            continue;
        };
        svg.cut(gutter - 6.0, y + 3.5, Anchor::End, 9.5, label, gutter - 8.0);
        let (from, to) = (px(cycles.min as f64), px(cycles.max as f64));
        svg.line((from, y), (to, y), INK, 1.2, "");
        for end in [from, to] {
            svg.line((end, y - 2.5), (end, y + 2.5), INK, 1.2, "");
        }
        svg.mark((px(cycles.median), y), Mark::Circle, STROKES[0], true);
        let mut text = short(cycles.median);
        if let Some(paper) = paper {
            svg.mark((px(*paper), y), Mark::Diamond, STROKES[1], false);
            let _ = write!(text, " (paper {})", short(*paper));
        }
        svg.text(right + 5.0, y + 3.5, Anchor::Start, 9.0, &text);
    }
    svg.text(
        (gutter + right) / 2.0,
        bottom + 24.0,
        Anchor::Middle,
        10.0,
        if decades < 6.0 {
            "clock cycles (logarithmic; k = 1000)"
        } else {
            "clock cycles (logarithmic; k = 1000, M = 1000k)"
        },
    );
    Some(svg.finish(bottom + 30.0, title))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    Speedup,
    Occupancy,
}

impl Metric {
    fn of(self, row: &Speedup) -> Option<f64> {
        match self {
            Self::Speedup => Some(row.speedup),
            Self::Occupancy => row.occupancy.map(|o| round4(100.0 * o)),
        }
    }
}

/// The designs that get a bar of their own: where sizes differ, those of the largest size, and not more than [`DESIGNS`].
fn shown(report: &Report) -> (Vec<&str>, bool) {
    let most = report.designs.iter().filter_map(Design::slots).max();
    let largest: Vec<&str> =
        report.designs.iter().filter(|d| d.slots() == most).map(|d| d.name.as_str()).take(DESIGNS).collect();
    let all = largest.len() == report.designs.len();
    (largest, all)
}

/// The workload, with its GPU where there are several.
fn workload(report: &Report, table: &Speedups) -> String {
    let several = report.speedups.iter().any(|s| s.gpu != table.gpu);
    if several { format!("{}, {}", table.workload, table.gpu) } else { table.workload.clone() }
}

/// Results, and what is drawn of each.
type Rows = Vec<(Speedup, f64)>;

/// The results by workload, with its kernels, of the designs that are shown; behind several their means.
fn groups(report: &Report, metric: Metric, designs: &[&str]) -> Vec<(String, u64, Rows)> {
    // Serial is 1 by definition, and is the line.
    let wanted = |row: &&Speedup| {
        let design = row.design.as_deref().is_none_or(|d| designs.contains(&d));
        design && !(metric == Metric::Speedup && row.policy == "serial")
    };
    let mut groups: Vec<(String, u64, Rows)> = report
        .speedups
        .iter()
        .map(|t| {
            let rows = t.rows.iter().filter(wanted).filter_map(|r| Some((r.clone(), metric.of(r)?)));
            let mut rows: Rows = rows.collect();
            // The bound is below what it bounds.
            rows.sort_by_key(|(row, _)| row.policy == "ideal");
            (workload(report, t), t.kernels, rows)
        })
        .collect();
    groups.retain(|(_, _, rows)| !rows.is_empty());
    if metric == Metric::Speedup && groups.len() > 1 {
        let mut means = vec![];
        for (row, _) in groups[0].2.clone() {
            let same = |r: &&(Speedup, f64)| r.0.policy == row.policy && r.0.design == row.design;
            let values: Vec<f64> = groups.iter().filter_map(|g| g.2.iter().find(same)).map(|r| r.1).collect();
            if values.len() == groups.len() {
                means.extend(geometric_mean(&values).map(|mean| (row, round4(mean))));
            }
        }
        let kernels = groups.iter().fold(0u64, |sum, g| sum.saturating_add(g.1));
        if !means.is_empty() {
            groups.push((format!("geometric mean of {}", groups.len()), kernels, means));
        }
    }
    groups
}

fn by_policy(report: &Report, metric: Metric) -> Vec<Figure> {
    let (designs, all_designs) = shown(report);
    let fill = |row: &Speedup| match (row.policy.as_str(), &row.design) {
        (_, Some(design)) => {
            let at = designs.iter().position(|d| d == design).unwrap_or(0);
            [Fill::Dark, Fill::Accent, Fill::Cross, Fill::Mid][at % 4]
        }
        ("serial", None) => Fill::White,
        ("queue", None) => Fill::Mid,
        ("streams-ace" | "streams", None) => Fill::Light,
        ("graph", None) => Fill::Dots,
        ("graph-cached", None) => Fill::Lines,
        _ => Fill::Hatch,
    };
    let label =
        |row: &Speedup| row.design.as_ref().map_or(row.policy.clone(), |d| format!("{} {d}", row.policy));
    let text =
        |value: f64| if metric == Metric::Speedup { format!("{value:.2}") } else { format!("{value:.1}") };
    let groups = groups(report, metric, &designs);
    let (name, title, axis, column) = match metric {
        Metric::Speedup => ("speedup", "Speed-up by policy and workload", "speed-up over serial", "speedup"),
        Metric::Occupancy => (
            "occupancy",
            "Occupancy by policy and workload",
            "CTA slots in use, mean over time [%]",
            "cta_slots_percent",
        ),
    };
    let gpus: Vec<&str> = report.speedups.iter().fold(vec![], |mut all, s| {
        if !all.contains(&s.gpu.as_str()) {
            all.push(&s.gpu);
        }
        all
    });
    let parts = groups.len().div_ceil(WORKLOADS);
    let size = groups.len().div_ceil(parts.max(1)).max(1);
    let pieces = groups.chunks(size).enumerate();
    pieces
        .map(|(index, piece)| {
            let many = parts > 1;
            let id = if many { format!("{name}-{}", index + 1) } else { name.to_string() };
            let title =
                if many { format!("{title}, part {} of {parts}", index + 1) } else { title.to_string() };
            let mut csv = Csv::new(&["workload", "kernels", "policy", "design", column]);
            let mut list = vec![];
            for (workload, kernels, rows) in piece {
                let heading = format!("{workload} ({})", counted(*kernels, "kernel"));
                let bars = rows.iter().map(|(row, value)| {
                    let design = row.design.clone().unwrap_or_default();
                    csv.row(&[
                        workload.clone(),
                        kernels.to_string(),
                        row.policy.clone(),
                        design,
                        plain(*value),
                    ]);
                    Bar { label: label(row), parts: vec![(*value, fill(row))], text: text(*value) }
                });
                let bars = bars.collect();
                list.push(Group { heading, bars });
            }
            let svg = bars(Bars {
                id: &id,
                title: &title,
                groups: list,
                legend: vec![],
                axis: axis.into(),
                reference: (metric == Metric::Speedup).then_some(1.0),
            });
            let mut caption =
                format!("{}. One run per bar: the device model is deterministic.", gpus.join(", "));
            if metric == Metric::Speedup {
                caption += " The dashed line is serial.";
            }
            if !all_designs {
                caption += " Only the designs of the largest window are shown; the tables have all.";
            }
            Figure { id, title, caption, csv: csv.0, svg }
        })
        .collect()
}

/// The design's name without its size, so that designs of one kind and several sizes share it.
fn family(design: &Design) -> String {
    let slots = design.parameter("slots").unwrap_or_default();
    let words: Vec<&str> = design.name.split(' ').filter(|w| *w != slots).collect();
    if words.is_empty() { design.name.clone() } else { words.join(" ") }
}

fn families(report: &Report) -> Vec<String> {
    report.designs.iter().map(family).fold(vec![], |mut all, f| {
        if !all.contains(&f) {
            all.push(f);
        }
        all
    })
}

/// Speed-up of a design on a workload.
pub(super) fn gain(table: &Speedups, design: &str) -> Option<f64> {
    table.rows.iter().find(|r| r.design.as_deref() == Some(design)).map(|r| r.speedup)
}

/// Geometric mean of a design's speed-ups; none where a workload lacks one.
pub(super) fn mean_gain(report: &Report, design: &str) -> Option<f64> {
    let all: Option<Vec<f64>> = report.speedups.iter().map(|t| gain(t, design)).collect();
    geometric_mean(&all?).map(round4)
}

/// Slots and speed-ups of the designs of one kind.
type Line = Vec<(u64, f64)>;

/// Speed-up over the number of slots: a small panel per workload.
fn sensitivity(report: &Report) -> Option<Figure> {
    const PANELS: usize = 12;
    let mut sizes: Vec<u64> = report.designs.iter().filter_map(Design::slots).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 || report.speedups.is_empty() {
        return None;
    }
    let title = "Speed-up over the size of the window";
    let families = families(report);
    let mut csv = Csv::new(&["workload", "design", "slots", "speedup"]);
    let mut panels: Vec<(String, Vec<Line>)> = vec![];
    let mut panel = |name: String, value: &dyn Fn(&str) -> Option<f64>| {
        let mut series: Vec<Line> = vec![vec![]; families.len()];
        for (design, slots) in report.designs.iter().filter_map(|d| Some((d, d.slots()?))) {
            let Some(speedup) = value(&design.name) else { continue };
            csv.row(&[name.clone(), design.name.clone(), slots.to_string(), plain(speedup)]);
            if let Some(at) = families.iter().position(|f| *f == family(design)) {
                series[at].push((slots, speedup));
            }
        }
        series.iter_mut().for_each(|s| s.sort_by_key(|p| p.0));
        panels.push((name, series));
    };
    if report.speedups.len() > 1 {
        panel(format!("geometric mean of {}", report.speedups.len()), &|design| mean_gain(report, design));
    }
    for table in &report.speedups {
        panel(workload(report, table), &|design| gain(table, design));
    }
    let mut svg = Svg::new("window-size");
    let mut top = mark_legend(&mut svg, &families, true, 4.0) + 4.0;
    let columns = if panels.len() == 1 { 1 } else { 2 };
    let (cell, high) = (WIDTH / columns as f64, if columns == 1 { 150.0 } else { 78.0 });
    let left_out = panels.len().saturating_sub(PANELS);
    for row in panels[..panels.len() - left_out].chunks(columns) {
        for (column, (name, series)) in row.iter().enumerate() {
            let (left, right) = (column as f64 * cell + 30.0, (column + 1) as f64 * cell - 10.0);
            let (roof, floor) = (top + 16.0, top + 16.0 + high);
            let values = || series.iter().flatten().map(|p| p.1);
            let (low, most) = (values().fold(f64::INFINITY, f64::min).min(1.0), values().fold(1.0, f64::max));
            let tick = step((most - low).max(0.1), 3.0);
            let (first, last) = ((low / tick + 1e-9).floor(), (most / tick - 1e-9).ceil());
            let (bottom_value, range) = (first * tick, ((last - first) * tick).max(tick));
            let py = |v: f64| floor - (v - bottom_value) / range * (floor - roof);
            let (least, greatest) = ((sizes[0] as f64).log2(), (sizes[sizes.len() - 1] as f64).log2());
            let px = |s: u64| {
                left + 6.0 + ((s as f64).log2() - least) / (greatest - least) * (right - left - 12.0)
            };
            svg.cut(left, top + 10.0, Anchor::Start, 9.5, name, right - left);
            for i in 0..=(range / tick).round() as u32 {
                let value = bottom_value + f64::from(i) * tick;
                svg.line((left, py(value)), (right, py(value)), FAINT, 0.6, "");
                svg.text(left - 3.0, py(value) + 3.2, Anchor::End, 9.0, &tick_text(value, tick));
            }
            for size in &sizes {
                svg.line((px(*size), floor), (px(*size), floor + 3.0), INK, 0.9, "");
                svg.text(px(*size), floor + 12.0, Anchor::Middle, 9.0, &size.to_string());
            }
            svg.poly(&[(left, roof), (left, floor), (right, floor)], INK, 0.9, "", false);
            for (index, points) in series.iter().enumerate() {
                let at: Vec<(f64, f64)> = points.iter().map(|(s, v)| (px(*s), py(*v))).collect();
                let stroke = STROKES[index % STROKES.len()];
                if at.len() > 1 {
                    svg.poly(&at, stroke, 1.3, DASHES[index % DASHES.len()], false);
                }
                for point in at {
                    svg.mark(point, MARKS[index % MARKS.len()], stroke, index == 0);
                }
            }
        }
        top += high + 34.0;
    }
    svg.text(
        WIDTH / 2.0,
        top + 8.0,
        Anchor::Middle,
        10.0,
        "slots N (logarithmic); upwards: speed-up over serial",
    );
    let mut caption = "One run per point. The axes upwards differ, and do not all begin at 0.".to_string();
    if left_out > 0 {
        let _ = write!(caption, " {left_out} more workloads are in the CSV.");
    }
    let svg = svg.finish(top + 14.0, title);
    Some(Figure { id: "window-size".into(), title: title.into(), caption, csv: csv.0, svg })
}

/// A design's area in gate equivalents: of the smallest netlist where there is one, else by hierarchy; and which.
fn design_area(design: &Design) -> Option<(f64, &'static str)> {
    let flat = design.synthesis.as_ref().and_then(|s| s.smallest()).and_then(|r| r.total);
    let flat = flat.map(|t| (t.gate_equivalents, "flattened, smallest"));
    flat.or_else(|| design.area.as_ref().map(|a| (a.total().gate_equivalents, "hierarchy kept")))
}

fn area_of_designs(report: &Report) -> Option<Figure> {
    let areas: Vec<(&Design, &AreaReport)> =
        report.designs.iter().filter_map(|d| Some((d, d.area.as_ref()?))).collect();
    if areas.len() < 2 {
        return None;
    }
    let title = "Area of the designs";
    let mut csv = Csv::new(&["design", "flip_flops_ge", "logic_ge", "area_ge", "area_um2"]);
    let (unit, divide) = gate_unit(areas.iter().map(|a| a.1.total().gate_equivalents).fold(0.0, f64::max));
    let mut list = vec![];
    for (design, area) in areas {
        let total = area.total();
        let flip_flops = if area.gate_um2 > 0.0 { round4(total.sequential_um2 / area.gate_um2) } else { 0.0 };
        let logic = round4((total.gate_equivalents - flip_flops).max(0.0));
        let numbers = [flip_flops, logic, total.gate_equivalents, total.area_um2].map(plain);
        csv.row(&[&[design.name.clone()][..], &numbers].concat());
        list.push(Bar {
            label: design.name.clone(),
            parts: vec![(flip_flops / divide, Fill::Dark), (logic / divide, Fill::Hatch)],
            text: short(total.gate_equivalents / divide),
        });
    }
    let svg = bars(Bars {
        id: "areas",
        title,
        groups: vec![Group { heading: String::new(), bars: list }],
        legend: vec![(Fill::Dark, "flip-flops".into()), (Fill::Hatch, "logic".into())],
        axis: format!("area [{unit}]"),
        reference: None,
    });
    let caption = "After synthesis, hierarchy kept, before layout; one run of synthesis each.";
    Some(Figure { id: "areas".into(), title: title.into(), caption: caption.into(), csv: csv.0, svg })
}

fn pareto(report: &Report) -> Option<Figure> {
    let mut points: Vec<(&Design, f64, &'static str, f64)> = report
        .designs
        .iter()
        .filter_map(|d| {
            let (area, kind) = design_area(d)?;
            Some((d, area, kind, mean_gain(report, &d.name)?))
        })
        .collect();
    // Areas that were taken in different ways do not belong into one picture.
    if points.iter().any(|p| p.2 != points[0].2) {
        points = report
            .designs
            .iter()
            .filter_map(|d| {
                let area = d.area.as_ref()?.total().gate_equivalents;
                Some((d, area, "hierarchy kept", mean_gain(report, &d.name)?))
            })
            .collect();
    }
    if points.len() < 2 {
        return None;
    }
    let beaten = |p: &(&Design, f64, &str, f64)| {
        points.iter().any(|q| q.1 <= p.1 && q.3 >= p.3 && (q.1 < p.1 || q.3 > p.3))
    };
    let title = "Speed-up against area";
    let kind = points[0].2;
    let (unit, divide) = gate_unit(points.iter().map(|p| p.1).fold(0.0, f64::max));
    let families = families(report);
    let mut csv = Csv::new(&["design", "slots", "area_ge", "speedup", "on_the_front"]);
    let mut front = vec![];
    let mut marks = vec![];
    // The kind is in the mark; beside it the size is enough, if it tells designs of a kind apart.
    let by_size =
        families.len() > 1 && families.len() < points.len() && points.iter().all(|p| p.0.slots().is_some());
    for point in &points {
        let (design, area, _, speedup) = *point;
        let best = !beaten(point);
        let slots = design.slots().map_or(String::new(), |s| s.to_string());
        csv.row(&[
            design.name.clone(),
            slots.clone(),
            plain(area),
            plain(speedup),
            if best { "yes" } else { "no" }.into(),
        ]);
        if best {
            front.push((area / divide, speedup));
        }
        marks.push(Point {
            x: area / divide,
            y: speedup,
            label: if by_size { slots } else { design.name.clone() },
            series: families.iter().position(|f| *f == family(design)).unwrap_or(0),
            filled: best,
        });
    }
    front.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let svg = scatter(Scatter {
        id: "pareto",
        title,
        points: marks,
        series: families,
        front,
        axes: [format!("area, {kind} [{unit}]"), "speed-up over serial".into()],
    });
    let workloads = report.speedups.len();
    let mean = if workloads > 1 {
        format!("geometric mean of {workloads} workloads")
    } else {
        report.speedups[0].workload.clone()
    };
    let numbers = if by_size { " Numbers are slots N." } else { "" };
    let caption = format!(
        "Speed-up: {mean}, one run each.{numbers} Filled, and on the dashed line: no design is smaller and as fast, or faster and as small. \
         Axes need not begin at 0."
    );
    Some(Figure { id: "pareto".into(), title: title.into(), caption, csv: csv.0, svg })
}

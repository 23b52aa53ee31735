//! A report as text, JSON, CSV, Markdown and figures. The same report gives the same bytes.

use super::cost::Effort;
use super::figure::{Mark, Panel, scatter};
use super::report::{PointReport, Report, WorkloadReport};
use crate::run::arbiter_name;
use std::fmt::Write;
use windlass_gen::synth::wires::WIRES_LABEL;
use windlass_gen::table::{self, csv_line, sentence};

/// What CSV, Markdown and the files call an unknown number.
const NONE: &str = "-";

/// What tables call the RTL of a design that is not somebody's own.
pub const GENERATED: &str = "generated";

/// The files of a report: name and content; without areas, no figure of them.
pub fn files(report: &Report) -> Result<Vec<(&'static str, String)>, serde_json::Error> {
    let mut files = vec![
        ("points.csv", points_csv(report)),
        ("runs.csv", runs_csv(report)),
        ("explore.json", json(report)?),
        ("explore.md", markdown(report)),
        ("speedup-time.svg", time_figure(report)),
    ];
    if report.synthesis.is_some() {
        files.push(("speedup-area.svg", area_figure(report)));
    }
    Ok(files)
}

/// One JSON object.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    Ok(format!("{}\n", serde_json::to_string_pretty(report)?))
}

/// Tables for a terminal: one for each number of SMs.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for (i, advice) in report.advice.iter().enumerate() {
        let _ = writeln!(text, "{}{}", if i > 0 { "\n" } else { "" }, setting(report, advice.sms));
        text.push_str(&align(&titles(report), &rows(report, advice.sms)));
        let _ = writeln!(text, "{}", advice.sentence);
    }
    let _ = writeln!(text, "\n{}", legend(report));
    if let Some(areas) = areas(report) {
        let _ = writeln!(text, "{areas}");
    }
    for failure in &report.failures {
        let _ = writeln!(text, "failed: {}: {}", failure.what, failure.message);
    }
    text
}

/// The same as a page, with the figures and a table of every workload.
pub fn markdown(report: &Report) -> String {
    let mut md = String::from("# Design space\n\n");
    for advice in &report.advice {
        let _ = writeln!(md, "**{}**\n", sentence(&advice.sentence));
    }
    let _ = writeln!(md, "```sh\n{}\n```\n", report.command);
    if let Some(areas) = areas(report) {
        let _ = writeln!(md, "{}\n", sentence(&areas));
    }
    for advice in &report.advice {
        let (sms, setting) = (advice.sms, sentence(&setting(report, advice.sms)));
        let _ = writeln!(md, "## {}\n\n{setting}\n", table::counted(sms, "SM"));
        let _ = writeln!(md, "{}", table(&titles(report), &rows(report, advice.sms)));
        let (titles, rows) = by_workload(report, advice.sms);
        let _ = writeln!(md, "Speed-up over `serial`:\n\n{}", table(&titles, &rows));
    }
    let _ = writeln!(md, "{}\n", legend(report));
    let mut figures = "the figure";
    if report.synthesis.is_some() {
        md.push_str("![Speed-up against area](speedup-area.svg)\n\n");
        figures = "both figures";
    }
    let _ = writeln!(
        md,
        "![Speed-up against time per kernel](speedup-time.svg)\n\nData of {figures}: `points.csv`; of each workload: `runs.csv`."
    );
    if !report.failures.is_empty() {
        md.push_str("\n## Failed\n\n");
        for failure in &report.failures {
            let _ = writeln!(
                md,
                "- {}:\n\n  ```text\n  {}\n  ```",
                sentence(&failure.what),
                failure.message.replace('\n', "\n  ")
            );
        }
    }
    md
}

/// What areas are, and of which cells and tools.
fn areas(report: &Report) -> Option<String> {
    let s = report.synthesis.as_ref()?;
    let timer = s.timer.as_ref().map(|t| format!(", timed by {t}")).unwrap_or_default();
    let sized = if is_sized(report) { " (one netlist, sized for speed and not the smallest)" } else { "" };
    let gates = if s.clock_gates { " with clock gates" } else { "" };
    let wires = if s.wires.is_some() { format!(", with wires ({WIRES_LABEL})") } else { String::new() };
    Some(format!(
        "Areas: {}: {} in {} ({}), flow `{}`{gates}{sized}{timer}{wires}; gate equivalents are {}.",
        s.area_label, s.tool, s.library, s.corner, s.effort, s.gate
    ))
}

/// Whether areas are those of netlists that were made fast.
fn is_sized(report: &Report) -> bool {
    report.synthesis.as_ref().is_some_and(|s| s.effort == Effort::Quick.name())
}

/// One line per design.
fn points_csv(report: &Report) -> String {
    let library = report.synthesis.as_ref().map(|s| s.library.clone()).unwrap_or_default();
    let rows = report.points.iter().map(|p| {
        let cost = p.cost.as_ref();
        let numbers = [
            cost.map(|c| c.area_um2),
            cost.map(|c| c.gate_equivalents),
            cost.map(|c| c.flip_flops as f64),
            cost.and_then(|c| c.fmax_mhz),
            p.fastest.as_ref().map(|c| c.area_um2),
            p.fastest.as_ref().and_then(|c| c.fmax_mhz),
            p.speedup,
            p.over_queue,
            p.cycles_per_kernel,
            p.ns_per_kernel,
        ];
        let mut row = vec![p.active.to_string()];
        row.push(p.front_end_mhz.map(|mhz| mhz.to_string()).unwrap_or_default());
        row.extend(numbers.map(|n| n.map(|n| n.to_string()).unwrap_or_default()));
        row.extend([p.front_area.to_string(), p.front_time.to_string(), library.clone()]);
        (p, row)
    });
    csv(
        "active,front_end_mhz,area_um2,gate_equivalents,flip_flops,fmax_mhz,fastest_area_um2,fastest_fmax_mhz,speedup,over_queue,cycles_per_kernel,ns_per_kernel,front_area,front_time,library",
        rows,
    )
}

/// One line per design and workload.
fn runs_csv(report: &Report) -> String {
    let mut titles = String::from(
        "workload,kernels,serial_cycles,queue_cycles,window_cycles,speedup,over_queue,us_per_kernel,",
    );
    for name in ["insert", "retire_to_dispatch", "done_to_first_cta"] {
        let _ = write!(titles, "{name}_count,{name}_min,{name}_median,{name}_max,");
    }
    let rows = report.points.iter().flat_map(|p| p.runs.iter().map(move |r| (p, r)));
    let rows = rows.map(|(p, r)| {
        let mut row = vec![r.workload.clone()];
        row.extend([r.kernels, r.serial_cycles, r.queue_cycles, r.window_cycles].map(|n| n.to_string()));
        row.extend([r.speedup, r.over_queue, r.us_per_kernel].map(|n| n.to_string()));
        for c in [r.insert, r.retire_to_dispatch, r.done_to_first_cta] {
            // Of no kernel there is none: zeros would count in a mean over the column.
            let known = |n: u64| if c.count > 0 { n.to_string() } else { String::new() };
            row.push(c.count.to_string());
            row.extend([c.min, c.median, c.max].map(known));
        }
        row.push(r.fill_max.to_string());
        (p, row)
    });
    csv(&(titles + "fill_max"), rows)
}

/// A line for each row, the columns of its design first.
fn csv<'a>(titles: &str, rows: impl Iterator<Item = (&'a PointReport, Vec<String>)>) -> String {
    let mut csv = format!("sms,slots,window,arbiter,places,rtl,{titles}\n");
    for (p, row) in rows {
        let mut design = vec![p.sms.to_string(), p.slots.to_string(), p.window.into(), p.arbiter.into()];
        design.extend([p.places.to_string(), p.rtl.clone().unwrap_or_else(|| GENERATED.into())]);
        csv.push_str(&csv_line(&[design, row].concat()));
    }
    csv
}

/// Speed-up against area, a panel for each number of SMs.
fn area_figure(report: &Report) -> String {
    let library = report.synthesis.as_ref().map(|s| s.library.as_str()).unwrap_or_default();
    let title = format!("area, estimate after synthesis, {library} [kGE]");
    let kge = |p: &PointReport| p.cost.as_ref().map(|c| c.gate_equivalents / 1000.0);
    scatter(&panels(report, kge, |p| p.front_area), &title, "speed-up over serial")
}

/// Speed-up against time per kernel, a panel for each number of SMs.
fn time_figure(report: &Report) -> String {
    // On a logarithmic axis, nothing at all stands at a tenth of a cycle.
    let cycles = |p: &PointReport| p.cycles_per_kernel.map(|c| c.max(0.1));
    scatter(
        &panels(report, cycles, |p| p.front_time),
        "time per kernel in the hardware [cycles]",
        "speed-up over serial",
    )
}

fn panels(
    report: &Report,
    x: impl Fn(&PointReport) -> Option<f64>,
    front: fn(&PointReport) -> bool,
) -> Vec<Panel> {
    let panel = |advice: &super::advice::Advice| {
        let marks = points(report, advice.sms).filter_map(|(at, p)| {
            Some(Mark {
                x: x(p)?,
                y: p.speedup?,
                label: p.rtl.clone().unwrap_or_else(|| arbiter_name(&p.slots.to_string(), p.places)),
                square: p.window == "list",
                filled: p.arbiter == "typed",
                front: front(p),
                chosen: advice.build == Some(at),
            })
        });
        let n = counted(report, advice.sms).count();
        let workloads = if n == 1 { "1 workload" } else { &format!("geometric mean of {n} workloads") };
        let sms = table::counted(advice.sms, "SM");
        Panel { title: format!("{}, {sms}, {workloads}", report.gpu), marks: marks.collect() }
    };
    report.advice.iter().map(panel).collect()
}

/// The designs with so many SMs, with their places.
fn points(report: &Report, sms: u32) -> impl Iterator<Item = (usize, &PointReport)> {
    report.points.iter().enumerate().filter(move |(_, p)| p.sms == sms)
}

/// The workloads that ran on designs with so many SMs.
fn counted(report: &Report, sms: u32) -> impl Iterator<Item = &WorkloadReport> {
    report.workloads.iter().filter(move |w| !w.left_out.contains(&sms))
}

/// What was simulated.
fn setting(report: &Report, sms: u32) -> String {
    let counted: Vec<_> = counted(report, sms).collect();
    let kernels: u64 = counted.iter().map(|w| w.kernels).sum();
    let own = if sms == report.gpu_sms {
        table::counted(sms, "SM")
    } else {
        let sms = table::counted(sms, "SM");
        format!("{sms} instead of its {}, all else as in its profile", report.gpu_sms)
    };
    let mut text = format!(
        "{} ({own}, {} MHz), {}, {}.",
        report.gpu,
        report.clock_mhz,
        table::counted(counted.len(), "workload"),
        table::counted(kernels, "kernel")
    );
    let out: Vec<&str> =
        report.workloads.iter().filter(|w| w.left_out.contains(&sms)).map(|w| w.name.as_str()).collect();
    if !out.is_empty() {
        let _ = write!(text, " Left out, for they ran on no design: {}.", out.join(", "));
    }
    text
}

/// True where some design's fastest netlist is not its smallest.
fn two_netlists(report: &Report) -> bool {
    report.points.iter().any(|p| p.fastest.is_some() && p.fastest != p.cost)
}

/// True where some design is somebody's own.
fn has_own(report: &Report) -> bool {
    report.points.iter().any(|p| p.rtl.is_some())
}

fn titles(report: &Report) -> Vec<&'static str> {
    let mut titles = if has_own(report) { vec!["RTL"] } else { vec![] };
    titles.extend(["N", "window", "arbiter"]);
    if let Some(synthesis) = &report.synthesis {
        let area = if is_sized(report) { "area, sized [um2]" } else { "area [um2]" };
        titles.extend([area, "kGE", "flip-flops"]);
        if synthesis.timer.is_some() {
            titles.push("MHz");
            if two_netlists(report) {
                titles.extend(["fastest [MHz]", "at [kGE]"]);
            }
        }
    }
    titles.extend(["speed-up", "over queue", "of the gain", "cycles/kernel", "ns/kernel", "front", ""]);
    titles
}

fn rows(report: &Report, sms: u32) -> Vec<Vec<String>> {
    points(report, sms).map(|(at, p)| row(report, at, p)).collect()
}

fn row(report: &Report, at: usize, p: &PointReport) -> Vec<String> {
    let number =
        |value: Option<f64>, decimals: usize| value.map_or(NONE.into(), |v| format!("{v:.decimals$}"));
    let rtl = p.rtl.as_deref().unwrap_or(GENERATED);
    let mut row = if has_own(report) { vec![rtl.to_string()] } else { vec![] };
    row.extend([p.slots.to_string(), p.window.into(), arbiter_name(p.arbiter, p.places)]);
    if let Some(synthesis) = &report.synthesis {
        let cost = p.cost.as_ref();
        row.push(number(cost.map(|c| c.area_um2), 0));
        row.push(number(cost.map(|c| c.gate_equivalents / 1000.0), 1));
        row.push(cost.map_or(NONE.into(), |c| c.flip_flops.to_string()));
        if synthesis.timer.is_some() {
            row.push(number(cost.and_then(|c| c.fmax_mhz), 1));
            if two_netlists(report) {
                row.push(number(p.fastest.as_ref().and_then(|c| c.fmax_mhz), 1));
                row.push(number(p.fastest.as_ref().map(|c| c.gate_equivalents / 1000.0), 1));
            }
        }
    }
    let advice = report.advice.iter().find(|a| a.sms == p.sms);
    let best = advice.and_then(|a| report.points.get(a.fastest?)?.over_queue).map(|s| s - 1.0);
    let share = best.filter(|b| *b > 0.0).zip(p.over_queue).map(|(best, s)| (s - 1.0) / best);
    let fronts = match (p.front_area, p.front_time) {
        (true, true) => "area, time",
        (true, false) => "area",
        (false, true) => "time",
        (false, false) => "",
    };
    let build = advice.is_some_and(|a| a.build == Some(at));
    row.push(number(p.speedup, 3));
    row.push(number(p.over_queue, 3));
    row.push(share.map_or(NONE.into(), |share| super::advice::of_gain(share, report.keep)));
    row.push(number(p.cycles_per_kernel, 2));
    row.push(number(p.ns_per_kernel, 2));
    row.push(fronts.into());
    row.push(if build { "build" } else { "" }.into());
    row
}

/// Speed-ups: a row per workload, a column per design.
fn by_workload(report: &Report, sms: u32) -> (Vec<String>, Vec<Vec<String>>) {
    let mut titles = vec!["workload".to_string(), "kernels".into()];
    titles.extend(points(report, sms).map(|(_, p)| match &p.rtl {
        Some(rtl) => rtl.clone(),
        None => format!("{} {} {}", p.slots, p.window, arbiter_name(p.arbiter, p.places)),
    }));
    let rows = report.workloads.iter().map(|w| {
        let mut row = vec![w.name.clone(), w.kernels.to_string()];
        row.extend(points(report, sms).map(|(_, p)| {
            let run = p.runs.iter().find(|r| r.workload == w.name);
            run.map_or(NONE.into(), |r| format!("{:.3}", r.speedup))
        }));
        row
    });
    let rows = rows.collect();
    (titles, rows)
}

/// What the columns are.
fn legend(report: &Report) -> String {
    let mut text = format!(
        "Speed-up: geometric mean over the workloads, over `serial` on the same SMs. Over queue: the same over `queue`, hardware that takes the same packets and runs them in order; of the gain: over queue - 1, as a share of the fastest design's. Cycles/kernel: what the hardware takes, from a kernel's last host beat, or the retirement that frees it, to its dispatch, at {}. Front: no other design has more speed-up for no more area (or time), or less for no less. Build: the smallest that keeps {} of that gain.",
        match report.front_end_mhz {
            Some(mhz) => format!("{mhz} MHz"),
            None => "each front end's own clock, the MHz of its row".into(),
        },
        super::advice::exact(report.keep)
    );
    if report.points.iter().any(|p| p.places > 1) {
        text.push_str(" x2, x4: an arbiter that places two or four CTAs of a kernel per cycle.");
    }
    if report.synthesis.as_ref().is_some_and(|s| s.timer.is_some()) {
        text.push_str(" MHz: register to register, of the smallest netlist");
        text.push_str(if two_netlists(report) {
            "; the fastest is another one, with its own area."
        } else {
            "."
        });
    }
    text
}

/// Whether a column has words, which go to the left, and no numbers.
fn has_words(title: &str) -> bool {
    matches!(title, "RTL" | "window" | "arbiter" | "front" | "" | "workload")
}

/// A table for a terminal.
fn align(titles: &[&str], rows: &[Vec<String>]) -> String {
    let head = titles.iter().map(|title| title.to_string()).collect();
    table::text(&[&[head], rows].concat(), |column| has_words(titles[column]))
}

/// A table in Markdown.
fn table<T: AsRef<str>>(titles: &[T], rows: &[Vec<String>]) -> String {
    let mut md = String::new();
    let line = |cells: Vec<String>| table::line(&cells, true);
    // Only titles have units.
    md.push_str(&line(titles.iter().map(|t| table::cell(t.as_ref(), true).replace("um2", "µm²")).collect()));
    let kind = |title: &T| if has_words(title.as_ref()) { "---" } else { "--:" };
    let _ = writeln!(md, "|{}|", titles.iter().map(kind).collect::<Vec<_>>().join("|"));
    for row in rows {
        md.push_str(&line(row.iter().map(|text| table::cell(text, true)).collect()));
    }
    md
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(align(&["N", "window"], &[vec!["16".into(), "list".into()]]), " N  window\n16  list\n");
        assert_eq!(
            table(&["workload", "area [um2]"], &[vec!["sum2|x".into(), "1".into()]]),
            "| workload | area [µm²] |\n|---|--:|\n| sum2\\|x | 1 |\n"
        );
    }
}

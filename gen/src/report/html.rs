//! The report as one HTML page: no script, nothing fetched, figures inside. It prints on A4.

use super::document::{BASELINE, Item, OVERVIEW, SPEEDUP, Table, document};
use super::figure::{self, Figure, escape};
use super::render::Report;
use crate::table::counted;
use std::fmt::Write as _;

const STYLE: &str = "\
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:24px 28px 64px;font:15px/1.5 system-ui,'Segoe UI',Helvetica,Arial,sans-serif;color:#1c2733;background:#fff}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:20px;margin:40px 0 8px;padding-top:10px;border-top:2px solid #27425c}
h3{font-size:16px;margin:24px 0 6px}
h4{font-size:15px;margin:18px 0 4px}
p{margin:6px 0;max-width:90ch;overflow-wrap:anywhere}
p.note{color:#48545f;font-size:13px}
code,pre{font:12px/1.45 ui-monospace,'DejaVu Sans Mono',Consolas,monospace}
nav ul{columns:3;margin:12px 0 0;padding:0 0 0 18px;font-size:14px}
a{color:#1d4f86}
.t{overflow-x:auto;margin:10px 0}
table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums}
th,td{padding:3px 7px;border-bottom:1px solid #dbe1e7;text-align:right;white-space:nowrap;vertical-align:top}
th{border-bottom:1.5px solid #1c2733;font-weight:600;white-space:normal;vertical-align:bottom;overflow-wrap:normal}
th.l,td.l{text-align:left}
td.w{white-space:normal;min-width:14em}
tr.worse td{font-weight:600;background:#f7e7dc}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(400px,1fr));gap:20px 28px;align-items:start;margin:14px 0}
figure{margin:0;max-width:510px}
figure svg{display:block;width:100%;height:auto}
figcaption{font-size:13px;line-height:1.4;color:#33404c;margin-top:4px}
figcaption b{color:#1c2733}
details{margin-top:4px;font-size:13px}
summary{cursor:pointer;color:#1d4f86}
pre{max-height:260px;overflow:auto;background:#f4f6f8;padding:8px;margin:6px 0 0}
footer{margin-top:48px;border-top:1px solid #c9d0d8;padding-top:8px;font-size:13px;color:#48545f}
@page{size:A4;margin:15mm}
@media print{
body{max-width:none;padding:0;font-size:9.5pt}
nav,details{display:none}
h1{font-size:16pt}h2{font-size:13pt;margin-top:18pt}h3{font-size:11pt}
h2,h3,h4{break-after:avoid}
.figures{display:grid;grid-template-columns:8.5cm 8.5cm;gap:5mm}
figure{width:8.5cm;break-inside:avoid}
figcaption{font-size:8pt}
.t{overflow:visible}
table{font-size:7pt}
th,td{padding:1.5px 4px}
td.l{white-space:normal;overflow-wrap:anywhere}
th{min-width:0}
tr{break-inside:avoid}
thead{display:table-header-group}
a{color:inherit;text-decoration:none}
}
";

/// The page. With `folder`, each figure is linked to its CSV there, `folder/ID.csv`; its numbers are in the page in any case.
pub fn page(report: &Report, folder: Option<&str>) -> String {
    let figures = figure::figures(report);
    let sections = sections(document(report, &figures));
    let mut out = String::new();
    let names: Vec<&str> = report.designs.iter().map(|d| d.name.as_str()).collect();
    let title = format!("Windlass report: {}", names.join(", "));
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    );
    for (index, section) in sections.iter().enumerate() {
        if index == 0 {
            header(report, section, &mut out);
            contents(&sections[1..], &mut out);
        } else {
            let _ = write!(out, "<section id=\"{}\">\n<h2>{}</h2>\n", section.id, escape(&section.title));
        }
        body(report, &section.items, folder, &mut out);
        if index > 0 {
            out.push_str("</section>\n");
        }
    }
    let _ = write!(
        out,
        "<footer>Windlass {}. Areas: {}. The paper: {}.</footer>\n</body>\n</html>\n",
        escape(&report.windlass),
        escape(&report.area_label),
        escape(&report.paper_source)
    );
    out
}

/// A heading of the second level, and what is below.
struct Section {
    id: String,
    title: String,
    items: Vec<Item>,
}

/// The document in sections, what compares designs first: a page is read from its top, a terminal from its last line.
fn sections(items: Vec<Item>) -> Vec<Section> {
    let mut all: Vec<Section> = vec![];
    for item in items {
        match (item, all.last_mut()) {
            (Item::Heading(level, title), _) if level <= 2 => {
                all.push(Section { id: format!("s{}", all.len()), title, items: vec![] });
            }
            (item, Some(section)) => section.items.push(item),
            (item, None) => all.push(Section { id: "s0".into(), title: String::new(), items: vec![item] }),
        }
    }
    let order = |section: &Section| match section.title.as_str() {
        BASELINE => 0,
        OVERVIEW => 1,
        SPEEDUP => 2,
        _ => 3,
    };
    if let Some((_, sections)) = all.split_first_mut() {
        sections.sort_by_key(order);
    }
    all
}

fn header(report: &Report, section: &Section, out: &mut String) {
    let kernels = report.speedups.iter().fold(0u64, |sum, s| sum.saturating_add(s.kernels));
    let gpus = distinct(report.speedups.iter().map(|s| s.gpu.as_str()));
    let mut facts = vec![counted(report.designs.len(), "design")];
    if !report.speedups.is_empty() {
        let (workloads, kernels) = (counted(report.speedups.len(), "workload"), counted(kernels, "kernel"));
        facts.push(format!("{workloads} of {kernels} on {}", gpus.join(", ")));
    }
    let libraries = distinct(report.designs.iter().filter_map(|d| Some(d.area.as_ref()?.library.as_str())));
    if !libraries.is_empty() {
        facts.push(format!("library {}", libraries.join(", ")));
    }
    let _ = writeln!(out, "<h1>{}</h1>\n<p>{}.</p>", escape(&section.title), escape(&facts.join("; ")));
}

/// Each once, in the order in which they come.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

fn contents(sections: &[Section], out: &mut String) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for section in sections {
        // Without the name of the module, which is long.
        let title = section.title.split_once(": ").map_or(section.title.as_str(), |(name, _)| name);
        let _ = writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escape(title));
    }
    out.push_str("</ul>\n</nav>\n");
}

fn body(report: &Report, items: &[Item], folder: Option<&str>, out: &mut String) {
    let mut open = false;
    for item in items {
        let is_figure = matches!(item, Item::Figure(_));
        if is_figure != open {
            out.push_str(if is_figure { "<div class=\"figures\">\n" } else { "</div>\n" });
            open = is_figure;
        }
        match item {
            Item::Heading(level, text) => {
                let _ = writeln!(out, "<h{level}>{}</h{level}>", escape(text));
            }
            Item::Line(text) => {
                let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
            }
            Item::Table(table) => self::table(table, out),
            Item::Figure(figure) => self::figure(report, figure, folder, out),
        }
    }
    if open {
        out.push_str("</div>\n");
    }
}

fn table(table: &Table, out: &mut String) {
    let left = |column: usize| if table.is_left(column) { " class=\"l\"" } else { "" };
    out.push_str("<div class=\"t\"><table>\n<thead><tr>");
    for (column, text) in table.header.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", left(column), escape(text));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        let worse = if row.iter().any(|cell| cell == "worse") { " class=\"worse\"" } else { "" };
        let _ = write!(out, "<tr{worse}>");
        for (column, text) in row.iter().enumerate() {
            // Long words may break, numbers may not.
            let class = match (table.is_left(column), text.chars().count() > 40) {
                (true, true) => " class=\"l w\"",
                (true, false) => " class=\"l\"",
                (false, _) => "",
            };
            let _ = write!(out, "<td{class}>{}</td>", escape(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn figure(report: &Report, figure: &Figure, folder: Option<&str>, out: &mut String) {
    let Figure { id, title, caption, csv, svg } = figure;
    let _ = write!(
        out,
        "<figure id=\"f-{id}\">\n{svg}<figcaption><b>{}.</b> {}</figcaption>\n<details><summary>Numbers (CSV)",
        escape(title),
        // Markdown's marks of code say nothing here.
        escape(&caption.replace('`', ""))
    );
    out.push_str(if report.command.is_empty() { "</summary>" } else { " and command</summary>" });
    if !report.command.is_empty() {
        let _ = write!(out, "<p><code>{}</code></p>", escape(&report.command));
    }
    if let Some(folder) = folder {
        let _ = write!(out, "<p><a href=\"{}/{id}.csv\">{id}.csv</a></p>", escape(folder));
    }
    let _ = write!(out, "<pre>{}</pre></details>\n</figure>\n", escape(csv));
}

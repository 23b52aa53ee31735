//! The HTML page and its figures: same bytes, well formed, nothing fetched, figures that show what their CSV says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use windlass_gen::report::figure::{Place, escape, figures};
use windlass_gen::report::render::{Parameter, Report, Speedups};
use windlass_gen::report::{baseline, html, markdown_with_figures};

fn report() -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json");
    baseline::read(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// Tags that are open must be closed in order; text and attributes must have no bare `<`, `&` or quotes. Returns all attributes.
fn well_formed(text: &str) -> Vec<(String, String)> {
    let mut open: Vec<&str> = vec![];
    let mut attributes = vec![];
    let mut rest = text.strip_prefix("<!DOCTYPE html>").unwrap_or(text);
    let entities = |text: &str| {
        for (at, _) in text.match_indices('&') {
            let name: String = text[at + 1..].chars().take_while(|c| *c != ';').take(6).collect();
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name.as_str()), "bare & in `{text}`");
        }
    };
    while let Some(start) = rest.find('<') {
        if open.last() != Some(&"style") {
            entities(&rest[..start]);
            assert!(!rest[..start].contains('>'), "bare > in `{}`", &rest[..start]);
        }
        let end = rest[start..].find('>').map(|e| start + e).expect("a tag that ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "closed out of order before `{}`",
                &rest[..rest.len().min(80)]
            );
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split([' ', '\n']).next().expect("a name");
        let mut inside = tag[name.len()..].trim();
        while !inside.is_empty() {
            let (key, value) = inside.split_once("=\"").unwrap_or_else(|| panic!("attribute in `{tag}`"));
            let (value, next) = value.split_once('"').expect("a closing quote");
            entities(value);
            attributes.push((key.trim().to_string(), value.to_string()));
            inside = next.trim();
        }
        if !closed {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    attributes
}

#[test]
fn the_page_has_the_bytes_that_were_reviewed() {
    let page = html::page(&report(), Some("figures"));
    assert_eq!(page, html::page(&report(), Some("figures")));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.html");
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        std::fs::write(&golden, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&golden).unwrap_or_default();
    let line = kept.lines().zip(page.lines()).position(|(a, b)| a != b);
    assert!(
        kept == page,
        "{} differs from line {:?} on; if wanted: WINDLASS_BLESS=1 cargo test -p windlass-gen --test report_html",
        golden.display(),
        line.map(|l| l + 1)
    );
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    for page in [html::page(&report(), Some("figures")), html::page(&report(), None)] {
        let attributes = well_formed(&page);
        let ids: Vec<&str> = attributes.iter().filter(|(k, _)| k == "id").map(|(_, v)| v.as_str()).collect();
        let set: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(set.len(), ids.len(), "an id is there twice");
        for (key, value) in &attributes {
            if let Some(target) = value.strip_prefix("url(#").and_then(|v| v.strip_suffix(')')) {
                assert!(set.contains(target), "{key} points at {target}");
            }
            match (key.as_str(), value.strip_prefix('#')) {
                ("href", Some(target)) => assert!(set.contains(target), "a link to {target}"),
                ("href", None) => assert!(value.starts_with("figures/"), "{value}"),
                ("xmlns", _) => {}
                _ => assert!(!value.contains("//"), "{key} = {value}"),
            }
        }
        for word in ["<script", "<link", "<img", "@import", "NaN", "inf\""] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn words_of_others_are_escaped() {
    assert_eq!(escape("<a href=\"x\">&'\u{0}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}");
    let mut report = report();
    let bad = "</svg><script>\"&'".to_string();
    report.command = bad.clone();
    report.designs[0].name = bad.clone();
    report.designs[0].parameters.push(Parameter::new(&bad, &bad));
    report.speedups[0].workload = bad.clone();
    report.speedups[0].gpu = bad;
    let page = html::page(&report, None);
    well_formed(&page);
    assert!(!page.contains("<script"));
}

#[test]
fn a_gpu_and_a_library_are_named_once() {
    let mut report = report();
    let names = ["h100", "rtx3070", "h100"];
    report.speedups = names.map(|gpu| Speedups { gpu: gpu.into(), ..report.speedups[0].clone() }).to_vec();
    let page = html::page(&report, None);
    assert!(page.contains(" kernels on h100, rtx3070;"), "{}", &page[page.find("<h1>").unwrap()..][..200]);
}

#[test]
fn what_is_not_there_is_left_out() {
    let mut report = report();
    for design in &mut report.designs {
        (design.area, design.synthesis, design.energy) = (None, None, None);
        design.fpga.clear();
        design.latencies.clear();
        design.paper.clear();
    }
    let page = html::page(&report, None);
    well_formed(&page);
    for figure in ["f-area", "f-clock", "f-energy", "f-fpga", "f-pareto", "f-latency"] {
        assert!(!page.contains(figure), "{figure}");
    }
    assert!(page.contains("f-speedup") && page.contains("f-window-size") && page.contains("f-diagram"));
    report.designs.clear();
    report.speedups.clear();
    well_formed(&html::page(&report, None));
}

#[test]
fn numbers_at_the_end_of_their_range_are_drawn() {
    let mut report = report();
    for design in &mut report.designs {
        let Some(area) = &mut design.area else { continue };
        area.gate_um2 = 1e-300;
        for module in &mut area.modules {
            (module.own.area_um2, module.total.area_um2) = (1e300, 1e300);
            (module.own.gate_equivalents, module.total.gate_equivalents) = (f64::INFINITY, f64::NAN);
        }
    }
    report.speedups.iter_mut().for_each(|table| table.kernels = u64::MAX);
    well_formed(&html::page(&report, None));
    for (_, figure) in figures(&report) {
        assert!(!figure.svg.contains("inf\"") && !figure.svg.contains("NaN\""), "{}", figure.id);
    }
}

/// Cells of a CSV, by header; quotes as RFC 4180 has them.
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut rows: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let row = rows.last_mut().unwrap();
        let cell = row.last_mut().unwrap();
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            c => cell.push(c),
        }
    }
    assert_eq!(rows.pop(), Some(vec![String::new()]), "ends with a line feed");
    let header = rows.remove(0);
    rows.into_iter()
        .map(|row| {
            assert_eq!(row.len(), header.len());
            header.iter().cloned().zip(row).collect()
        })
        .collect()
}

fn of(report: &Report, id: &str) -> (Vec<BTreeMap<String, String>>, String) {
    let all = figures(report);
    let (_, figure) = all.iter().find(|(_, f)| f.id == id).unwrap_or_else(|| panic!("no figure {id}"));
    well_formed(&figure.svg);
    (csv(&figure.csv), figure.svg.clone())
}

#[test]
fn the_csv_is_what_the_figure_shows() {
    let report = report();
    let (rows, svg) = of(&report, "speedup");
    // Two workloads and their mean, five bars each: no serial, no smaller window.
    assert_eq!(rows.len(), 15);
    let mut from = 0;
    for row in &rows {
        let label = format!(">{:.2}</text>", row["speedup"].parse::<f64>().unwrap());
        let at =
            svg[from..].find(&label).unwrap_or_else(|| panic!("{label} is not there, or not in its place"));
        from += at + label.len();
    }
    assert_eq!(rows[0]["workload"], "brax");
    assert_eq!(rows[5]["workload"], "mix <a> & \"b\"");
    let mean = rows.iter().find(|r| r["workload"].contains("mean") && r["design"] == "matrix 32").unwrap();
    // The root of 2.25 x 1.125.
    assert_eq!(mean["speedup"], "1.591");

    let (rows, svg) = of(&report, "areas");
    for (row, design) in rows.iter().zip(&report.designs) {
        let total = design.area.as_ref().unwrap().total();
        let number = |column: &str| row[column].parse::<f64>().unwrap();
        assert_eq!(number("area_um2"), total.area_um2);
        assert!((number("flip_flops_ge") + number("logic_ge") - total.gate_equivalents).abs() < 1e-3);
        assert!(svg.contains(&format!(">{}</text>", design.name)));
    }

    let (rows, svg) = of(&report, "area-2");
    let sum: f64 = rows.iter().map(|r| r["all_ge"].parse::<f64>().unwrap()).sum();
    assert!((sum - report.designs[1].area.as_ref().unwrap().total().gate_equivalents).abs() < 0.01, "{sum}");
    assert!(svg.contains("32 x window_matrix_row_n32"));

    let (rows, _) = of(&report, "window-size");
    assert!(rows.iter().any(|r| r["workload"] == "brax" && r["slots"] == "8" && r["speedup"] == "1.5"));
    let (rows, svg) = of(&report, "latency");
    assert!(
        rows.iter().any(|r| r["design"] == "matrix 32" && r["paper"] == "32" && r["difference"] == "-31")
    );
    assert!(svg.contains("1 (paper 32)"));
    let (rows, _) = of(&report, "pareto");
    let front = |name: &str| rows.iter().find(|r| r["design"] == name).unwrap()["on_the_front"].clone();
    assert_eq!(
        (front("matrix 8"), front("matrix 32"), front("list 32")),
        ("yes".into(), "yes".into(), "no".into())
    );
    for id in ["clock-2", "scripts-2", "energy-2", "fpga-2", "occupancy", "diagram"] {
        assert!(!of(&report, id).0.is_empty(), "{id}");
    }
}

#[test]
fn many_workloads_make_several_figures() {
    let mut report = report();
    for index in 0..13 {
        let mut table = report.speedups[0].clone();
        table.workload = format!("w{index}");
        report.speedups.push(table);
    }
    let all = figures(&report);
    let parts = all.iter().filter(|(place, f)| *place == Place::Speedup && f.id.starts_with("speedup-"));
    let rows: Vec<_> = parts.map(|(_, f)| csv(&f.csv).len()).collect();
    // 15 workloads and the mean, five bars each.
    assert_eq!((rows.len(), rows.iter().sum::<usize>()), (3, 16 * 5));
}

#[test]
fn markdown_shows_each_figure_from_its_file() {
    let report = report();
    let text = markdown_with_figures(&report, "figures");
    for (_, figure) in figures(&report) {
        assert!(text.contains(&format!("](figures/{}.svg)", figure.id)), "{}", figure.id);
        assert!(text.contains(&format!("[CSV](figures/{}.csv)", figure.id)), "{}", figure.id);
        assert!(figure.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    }
}

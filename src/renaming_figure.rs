//! Speed-up against budget, a panel per trace, as self-contained SVG that can be read in grey.

use std::fmt::Write;
use windlass_gen::report::figure::escape;

/// The budgets of one trace.
pub struct Panel {
    /// The trace.
    pub title: String,
    /// The bound without renaming, and the one that only last writers set.
    pub limits: (f64, f64),
    /// The bound with each budget, and the budget's name.
    pub points: Vec<(String, f64)>,
}

const COLUMNS: usize = 4;
const WIDTH: f64 = 250.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 52.0;

/// All panels on one scale, so that they compare; budgets are as far apart as they come, whatever their size.
pub fn svg(panels: &[Panel]) -> String {
    let columns = panels.len().clamp(1, COLUMNS);
    let (width, height) = (WIDTH * columns as f64, HEIGHT * panels.len().div_ceil(columns) as f64 + 32.0);
    let all = panels.iter().flat_map(|p| p.points.iter().map(|(_, y)| *y).chain([p.limits.0, p.limits.1]));
    // From 1, where nothing overlaps, to a round number above all.
    let most = (all.fold(1.0, f64::max) * 5.0).ceil().max(6.0) / 5.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * (i % columns) as f64, HEIGHT * (i / columns) as f64);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        draw(&mut svg, panel, most);
        svg.push_str("</g>\n");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.0}\">Bound on the speed-up at 32 slots over the budget</text>\n<text x=\"{LEFT}\" y=\"{:.0}\">Dashed: all hazards (below), last writers only (above)</text>\n</svg>",
        height - 20.0,
        height - 8.0
    );
    svg
}

fn draw(svg: &mut String, panel: &Panel, most: f64) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let y_at = |y: f64| bottom - (y - 1.0) / (most - 1.0) * (bottom - TOP);
    let step = (right - LEFT) / panel.points.len().max(1) as f64;
    let x_at = |i: usize| LEFT + step * (i as f64 + 0.5);
    let title = escape(&panel.title);
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\" font-size=\"11\">{title}</text>");
    for n in 0..=4 {
        let value = 1.0 + (most - 1.0) * f64::from(n) / 4.0;
        let y = y_at(value);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>",
            LEFT - 4.0,
            y + 3.5
        );
    }
    for limit in [panel.limits.0, panel.limits.1] {
        let y = y_at(limit);
        let _ =
            writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#777777\" stroke-dasharray=\"4 3\"/>");
    }
    let line: Vec<String> = panel
        .points
        .iter()
        .enumerate()
        .map(|(i, (_, y))| format!("{:.1} {:.1}", x_at(i), y_at(*y)))
        .collect();
    if !line.is_empty() {
        let path = line.join("L");
        let _ = writeln!(svg, "<path d=\"M{path}\" fill=\"none\" stroke=\"black\" stroke-width=\"1.5\"/>");
    }
    for (i, (budget, y)) in panel.points.iter().enumerate() {
        let (x, y) = (x_at(i), y_at(*y));
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
        let under = bottom + 12.0;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{under:.1}\" text-anchor=\"end\" transform=\"rotate(-40 {x:.1} {under:.1})\">{}</text>",
            escape(budget)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_xml() {
        let title = "a<b>&\"c\"\u{1}".to_string();
        let drawn = svg(&[Panel { title, limits: (1.0, 2.0), points: vec![("1x".into(), 1.5)] }]);
        assert!(drawn.contains(">a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}</text>"), "{drawn}");
    }
}

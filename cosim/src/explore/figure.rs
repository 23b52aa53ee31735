//! Scatter plots with their Pareto fronts, as self-contained SVG that can be read in grey.

use std::fmt::Write;
use windlass_gen::report::figure::escape;

/// A dot: what is along the axes, and how it looks.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Along the logarithmic axis; positive.
    pub x: f64,
    /// Along the linear one.
    pub y: f64,
    /// Beside it.
    pub label: String,
    /// A square; otherwise a circle.
    pub square: bool,
    /// Filled; otherwise hollow.
    pub filled: bool,
    /// On the front: joined by the line.
    pub front: bool,
    /// What to build: ringed.
    pub chosen: bool,
}

/// One plot of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// The dots.
    pub marks: Vec<Mark>,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 74.0;
const SIZE: f64 = 4.5;
const RING: f64 = 9.0;

/// A rectangle that is taken: left, top, right, bottom.
type Taken = (f64, f64, f64, f64);

/// The panels, one below the other.
pub fn scatter(panels: &[Panel], x_title: &str, y_title: &str) -> String {
    let height = HEIGHT * panels.len().max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", HEIGHT * i as f64);
        draw(&mut svg, panel, x_title, y_title);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(svg: &mut String, panel: &Panel, x_title: &str, y_title: &str) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let text = |svg: &mut String, x: f64, y: f64, attributes: &str, text: &str| {
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escape(text));
    };
    text(svg, LEFT, 20.0, "font-weight=\"bold\"", &panel.title);
    let middle = (LEFT + right) / 2.0;
    text(svg, middle, bottom + 36.0, "text-anchor=\"middle\"", x_title);
    let along = format!("text-anchor=\"middle\" transform=\"rotate(-90 16 {0:.1})\"", (TOP + bottom) / 2.0);
    text(svg, 16.0, (TOP + bottom) / 2.0, &along, y_title);
    let _ = writeln!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"black\"/>",
        right - LEFT,
        bottom - TOP
    );
    let marks: Vec<&Mark> =
        panel.marks.iter().filter(|m| m.x > 0.0 && m.x.is_finite() && m.y.is_finite()).collect();
    if marks.is_empty() {
        text(svg, middle, (TOP + bottom) / 2.0, "text-anchor=\"middle\"", "no data");
        return;
    }
    let (x_low, x_high) = extent(marks.iter().map(|m| m.x.log10()), 0.12, 0.15);
    let (y_low, y_high) = extent(marks.iter().map(|m| m.y), 0.12, 0.02);
    let x_at = |x: f64| LEFT + (x.log10() - x_low) / (x_high - x_low) * (right - LEFT);
    let y_at = |y: f64| bottom - (y - y_low) / (y_high - y_low) * (bottom - TOP);

    for x in log_ticks(x_low, x_high) {
        let at = x_at(x);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#dddddd\"/>");
        text(svg, at, bottom + 16.0, "text-anchor=\"middle\"", &short(x));
    }
    let step = nice((y_high - y_low) / 5.0);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let first = (y_low / step).ceil() as i64;
    for n in first..=(y_high / step).floor() as i64 {
        let y = n as f64 * step;
        let at = y_at(y);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#dddddd\"/>");
        text(svg, LEFT - 6.0, at + 4.0, "text-anchor=\"end\"", &format!("{y:.decimals$}"));
    }
    // The front as a stair: so much speed-up is to be had for so much.
    let mut front: Vec<(f64, f64)> = marks.iter().filter(|m| m.front).map(|m| (m.x, m.y)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    front.dedup();
    let mut path = String::new();
    for (i, (x, y)) in front.iter().enumerate() {
        let (x, y) = (x_at(*x), y_at(*y));
        let _ = if i == 0 { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
    }
    if front.len() > 1 {
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#777777\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/>"
        );
    }
    let mut taken: Vec<Taken> = Vec::new();
    for mark in &marks {
        let (x, y) = (x_at(mark.x), y_at(mark.y));
        let size = if mark.chosen { RING } else { SIZE };
        taken.push((x - size, y - size, x + size, y + size));
        if mark.chosen {
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RING}\" fill=\"none\" stroke=\"black\" stroke-width=\"1.5\"/>"
            );
        }
        shape(svg, x, y, mark.square, mark.filled);
    }
    for mark in &marks {
        let away = if mark.chosen { RING - SIZE } else { 0.0 };
        label(svg, (x_at(mark.x), y_at(mark.y), away), &mark.label, (right, bottom), &mut taken);
    }
    let mut x = LEFT;
    for (square, filled, name) in [
        (false, true, "matrix, typed"),
        (false, false, "matrix, single"),
        (true, true, "list, typed"),
        (true, false, "list, single"),
    ] {
        shape(svg, x + 5.0, HEIGHT - 14.0, square, filled);
        text(svg, x + 14.0, HEIGHT - 10.0, "", name);
        x += 103.0;
    }
    text(svg, x, HEIGHT - 10.0, "", "ring: build");
}

fn shape(svg: &mut String, x: f64, y: f64, square: bool, filled: bool) {
    let fill = if filled { "black" } else { "white" };
    let _ = if square {
        writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"{fill}\" stroke=\"black\" stroke-width=\"1.2\"/>",
            x - 4.0,
            y - 4.0
        )
    } else {
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{SIZE}\" fill=\"{fill}\" stroke=\"black\" stroke-width=\"1.2\"/>"
        )
    };
}

/// A label at the first place around its dot that is free and inside; without one, none: a dot on top of another has its label.
fn label(
    svg: &mut String,
    (x, y, away): (f64, f64, f64),
    label: &str,
    (right, bottom): (f64, f64),
    taken: &mut Vec<Taken>,
) {
    let width = 6.6 * label.chars().count() as f64;
    let (east, west) = (8.0 + away, -8.0 - away - width);
    let (north, south) = (-8.0 - away, 17.0 + away);
    let places = [
        (east, 4.0),
        (west, 4.0),
        (-width / 2.0, north),
        (-width / 2.0, south),
        (east, north),
        (east, south),
        (west, north),
        (west, south),
    ];
    for (dx, dy) in places {
        let place = (x + dx, y + dy - 10.0, x + dx + width, y + dy + 1.0);
        let inside = place.0 > LEFT && place.2 < right && place.1 > TOP && place.3 < bottom;
        let free = |t: &Taken| place.0 >= t.2 || place.2 <= t.0 || place.1 >= t.3 || place.3 <= t.1;
        if inside && taken.iter().all(free) {
            taken.push(place);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
                place.0,
                y + dy,
                escape(label)
            );
            return;
        }
    }
}

/// Least and greatest with some room; at least `least` of room where all are the same.
fn extent(values: impl Iterator<Item = f64>, share: f64, least: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let room = ((high - low) * share).max(least);
    (low - room, high + room)
}

/// 1, 2 and 5 times powers of ten; where those are too many, the powers.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = low.floor() as i32..=high.ceil() as i32;
    let of = |steps: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
        all.filter(|x| x.log10() >= low && x.log10() <= high).collect()
    };
    let fine = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let some = of(&[1.0, 2.0, 5.0]);
    match (fine.len(), some.len()) {
        (..=6, _) => fine,
        (_, ..=9) => some,
        _ => of(&[1.0]),
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= step * 0.999).unwrap_or(power)
}

/// A tick's number.
fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{}M", x / 1e6),
        x if x >= 1e3 => format!("{}k", x / 1e3),
        x => format!("{}", (x * 1e6).round() / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(x: f64, y: f64) -> Mark {
        Mark { x, y, label: "8".into(), square: false, filled: true, front: true, chosen: false }
    }

    #[test]
    fn ticks() {
        assert_eq!(log_ticks(0.0, 2.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.0, 9.0).len(), 10);
        assert!(log_ticks(5.2, 5.4).len() <= 6);
        assert_eq!([nice(0.018), nice(0.03), nice(7.0)], [0.02, 0.05, 10.0]);
        assert_eq!([short(2e6), short(5e5), short(0.5)], ["2M", "500k", "0.5"]);
    }

    #[test]
    fn a_figure_of_nothing_of_one_and_of_equal_points() {
        let figure = |marks: Vec<Mark>| scatter(&[Panel { title: "a < b".into(), marks }], "x", "y");
        assert!(figure(vec![]).contains("no data") && figure(vec![]).contains("a &lt; b"));
        assert!(figure(vec![mark(0.0, 1.0)]).contains("no data"), "a logarithm of nothing");
        for marks in [vec![mark(3.0, 1.0)], vec![mark(3.0, 1.0); 4]] {
            let svg = figure(marks);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        // Labels do not cover each other: the places around one dot are few.
        assert!(figure(vec![mark(3.0, 1.0); 20]).matches(">8</text>").count() <= 8);
        assert!(figure(vec![mark(1.0, 1.0), mark(9.0, 2.0)]).contains("stroke-dasharray"));
    }
}

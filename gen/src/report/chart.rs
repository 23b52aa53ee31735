//! Bars, dots and lines as SVG, drawn directly. What they show is [`super::figure`]'s.

use crate::synth::area::round4;
use std::fmt::Write as _;
use std::ops::Range;

/// Width of every figure in its own units.
pub const WIDTH: f64 = 340.0;

/// Text for XML and HTML, attributes included; characters that XML does not have become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The number with as many digits as it has.
pub(super) fn plain(value: f64) -> String {
    if value == 0.0 { "0".into() } else { value.to_string() }
}

/// The number with about three digits, for labels.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.chars().all(|c| c == '0') => whole.to_string(),
        _ => text,
    }
}

/// A round step that divides 0 to `max` into at most `parts`.
pub(super) fn step(max: f64, parts: f64) -> f64 {
    let least = (max / parts).max(1e-9);
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|f| f * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// The number at a tick, with as many digits as the steps need.
pub(super) fn tick_text(value: f64, step: f64) -> String {
    let digits = (0..4usize).find(|d| {
        let scaled = step * 10f64.powi(*d as i32);
        (scaled - scaled.round()).abs() < 1e-6
    });
    format!("{value:.*}", digits.unwrap_or(4))
}

pub(super) const INK: &str = "#1c2733";
pub(super) const FAINT: &str = "#c9d0d8";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Dark,
    Accent,
    Light,
    Mid,
    White,
    Hatch,
    Dots,
    Lines,
    Cross,
}

impl Fill {
    const PATTERNS: [Self; 4] = [Self::Hatch, Self::Dots, Self::Lines, Self::Cross];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hatch => "hatch",
            Self::Dots => "dots",
            Self::Lines => "lines",
            Self::Cross => "cross",
            _ => "",
        }
    }

    pub(super) fn paint(self, figure: &str) -> String {
        match self {
            Self::Dark => "#27425c".into(),
            Self::Accent => "#d07c42".into(),
            Self::Light => "#cdd6df".into(),
            Self::Mid => "#7d92a6".into(),
            Self::White => "#ffffff".into(),
            pattern => format!("url(#{figure}-{})", pattern.name()),
        }
    }

    pub(super) fn definition(self, figure: &str) -> String {
        let inside = match self {
            Self::Hatch => {
                "<path d=\"M-1,1 l2,-2 M0,5 l5,-5 M4,6 l2,-2\" stroke=\"#27425c\" stroke-width=\"1\"/>"
            }
            Self::Dots => "<circle cx=\"2.5\" cy=\"2.5\" r=\"1\" fill=\"#27425c\"/>",
            Self::Lines => "<path d=\"M0,2.5 h5\" stroke=\"#27425c\" stroke-width=\"1\"/>",
            Self::Cross => "<path d=\"M0,0 l5,5 M0,5 l5,-5\" stroke=\"#8a4a1f\" stroke-width=\"1\"/>",
            _ => return String::new(),
        };
        let ground = if self == Self::Cross { "#f3dcc9" } else { "#f4f6f8" };
        format!(
            "<pattern id=\"{figure}-{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"5\" height=\"5\" fill=\"{ground}\"/>{inside}</pattern>",
            self.name()
        )
    }
}

/// Shapes of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Square,
    Diamond,
    Triangle,
}

pub(super) const MARKS: [Mark; 4] = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond];
pub(super) const DASHES: [&str; 4] = ["", "4 2", "1 2", "6 2 1 2"];
pub(super) const STROKES: [&str; 4] = ["#27425c", "#b4602a", "#5c6a78", "#1c2733"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) struct Svg {
    pub(super) id: String,
    pub(super) body: String,
}

/// A coordinate, to a tenth.
pub(super) fn n(value: f64) -> String {
    // SVG knows no infinity; a quotient of a stored report may be one.
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

/// About how wide a text is.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

impl Svg {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.into(), body: String::new() }
    }

    pub(super) fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str) {
        self.styled(x, y, anchor, size, text, "");
    }

    pub(super) fn styled(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str, style: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let size = if size == 10.0 { String::new() } else { format!(" font-size=\"{}\"", n(size)) };
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\"{anchor}{size}{style}>{}</text>",
            n(x),
            n(y),
            escape(text)
        ));
    }

    /// The text, cut where it is wider than `room`; then with all of it as a tool tip.
    pub(super) fn cut(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str, room: f64) {
        let fits = (room / (size * 0.6)).floor().max(4.0) as usize;
        if text.chars().count() <= fits {
            return self.text(x, y, anchor, size, text);
        }
        let cut: String = text.chars().take(fits - 1).chain(['…']).collect();
        self.push(format_args!("<g><title>{}</title>", escape(text)));
        self.text(x, y, anchor, size, &cut);
        self.push(format_args!("</g>"));
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Fill) {
        let paint = fill.paint(&self.id);
        self.push(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{paint}\" stroke=\"{INK}\" stroke-width=\"0.6\"/>",
            n(x),
            n(y),
            n(width.max(0.4)),
            n(height)
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        self.push(format_args!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{stroke}\" stroke-width=\"{}\"{dash}/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1),
            n(width)
        ));
    }

    pub(super) fn poly(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, dash: &str, arrow: bool) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", n(*x), n(*y))).collect();
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let end = if arrow { format!(" marker-end=\"url(#{}-arrow)\"", self.id) } else { String::new() };
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{}\"{dash}{end}/>",
            list.join(" "),
            n(width)
        ));
    }

    pub(super) fn mark(&mut self, (x, y): (f64, f64), mark: Mark, stroke: &str, filled: bool) {
        let fill = match (filled, mark) {
            (true, _) => stroke,
            // It goes around other marks.
            (false, Mark::Diamond) => "none",
            (false, _) => "#ffffff",
        };
        let style = format!("fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.2\"");
        match mark {
            Mark::Circle => {
                self.push(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"3\" {style}/>", n(x), n(y)))
            }
            Mark::Square => self.push(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"5.4\" height=\"5.4\" {style}/>",
                n(x - 2.7),
                n(y - 2.7)
            )),
            Mark::Diamond => self.push(format_args!(
                "<path d=\"M{},{} l3.8,3.8 l-3.8,3.8 l-3.8,-3.8 z\" {style}/>",
                n(x),
                n(y - 3.8)
            )),
            Mark::Triangle => {
                self.push(format_args!("<path d=\"M{},{} l3.5,6 l-7,0 z\" {style}/>", n(x), n(y - 3.6)))
            }
        }
    }

    pub(super) fn finish(self, height: f64, title: &str) -> String {
        let mut defs = String::new();
        for pattern in Fill::PATTERNS {
            if self.body.contains(&format!("url(#{}-{})", self.id, pattern.name())) {
                defs += &pattern.definition(&self.id);
            }
        }
        if self.body.contains("-arrow)") {
            let _ = write!(
                defs,
                "<marker id=\"{}-arrow\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" \
                 orient=\"auto\"><path d=\"M0,0.5 L6,3 L0,5.5 z\" fill=\"{INK}\"/></marker>",
                self.id
            );
        }
        if !defs.is_empty() {
            defs = format!("<defs>{defs}</defs>\n");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" role=\"img\" \
             aria-label=\"{}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"10\" fill=\"{INK}\">\n\
             <rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n{defs}{}</svg>\n",
            n(WIDTH),
            n(height),
            n(WIDTH),
            n(height),
            escape(title),
            n(WIDTH),
            n(height),
            self.body
        )
    }
}

/// White around the letters, where lines cross them.
pub(super) const HALO: &str = " stroke=\"#ffffff\" stroke-width=\"2.5\" paint-order=\"stroke\"";
pub(super) const BOLD: &str = " font-weight=\"bold\"";

/// Squares and what they mean, in as many rows as it takes; where the next thing may begin.
pub(super) fn legend(svg: &mut Svg, entries: &[(Fill, String)], top: f64) -> f64 {
    let (mut x, mut y) = (4.0, top);
    for (fill, text) in entries {
        let wide = 14.0 + text_width(text, 9.0) + 10.0;
        if x + wide > WIDTH && x > 4.0 {
            (x, y) = (4.0, y + 13.0);
        }
        svg.rect(x, y, 9.0, 9.0, *fill);
        svg.text(x + 13.0, y + 8.0, Anchor::Start, 9.0, text);
        x += wide;
    }
    if entries.is_empty() { top } else { y + 17.0 }
}

/// Marks and what they mean, as [`legend`].
pub(super) fn mark_legend(svg: &mut Svg, names: &[String], lines: bool, top: f64) -> f64 {
    let (mut x, mut y) = (4.0, top);
    for (index, text) in names.iter().enumerate() {
        let wide = 26.0 + text_width(text, 9.0) + 10.0;
        if x + wide > WIDTH && x > 4.0 {
            (x, y) = (4.0, y + 13.0);
        }
        let stroke = STROKES[index % STROKES.len()];
        if lines {
            svg.line((x, y + 5.0), (x + 20.0, y + 5.0), stroke, 1.3, DASHES[index % DASHES.len()]);
        }
        svg.mark((x + 10.0, y + 5.0), MARKS[index % MARKS.len()], stroke, !lines || index == 0);
        svg.text(x + 24.0, y + 8.0, Anchor::Start, 9.0, text);
        x += wide;
    }
    if names.is_empty() { top } else { y + 17.0 }
}

/// A horizontal bar of several parts.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<(f64, Fill)>,
    pub(super) text: String,
}

pub(super) struct Group {
    pub(super) heading: String,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bars<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) groups: Vec<Group>,
    pub(super) legend: Vec<(Fill, String)>,
    pub(super) axis: String,
    /// A line across all bars.
    pub(super) reference: Option<f64>,
}

/// Horizontal bars: names beside them and numbers at their ends, so that no colour has to be looked up.
pub(super) fn bars(chart: Bars<'_>) -> String {
    let mut svg = Svg::new(chart.id);
    let top = legend(&mut svg, &chart.legend, 4.0);
    let every = || chart.groups.iter().flat_map(|g| &g.bars);
    let length = |bar: &Bar| bar.parts.iter().map(|(v, _)| v).sum::<f64>();
    let gutter = every().map(|b| text_width(&b.label, 9.5)).fold(20.0, f64::max).min(150.0) + 8.0;
    let numbers = every().map(|b| text_width(&b.text, 9.0)).fold(10.0, f64::max) + 8.0;
    let plot = WIDTH - gutter - numbers;
    let most = every().map(length).chain(chart.reference).fold(0.0, f64::max);
    let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
    let tick = step(most, (plot / 36.0).floor().max(2.0));
    let scale = plot / most;
    let height: f64 = chart
        .groups
        .iter()
        .map(|g| g.bars.len() as f64 * 13.0 + 5.0 + if g.heading.is_empty() { 0.0 } else { 14.0 })
        .sum();
    let bottom = top + height;
    for count in 0..=(most / tick + 1e-6).floor() as u32 {
        let value = tick * f64::from(count);
        let x = gutter + value * scale;
        svg.line((x, top), (x, bottom), FAINT, 0.6, "");
        svg.text(x, bottom + 11.0, Anchor::Middle, 9.0, &tick_text(value, tick));
    }
    let mut y = top;
    for group in &chart.groups {
        if !group.heading.is_empty() {
            // A white ground keeps the grid out of the words.
            let wide = (text_width(&group.heading, 10.5) + 4.0).min(WIDTH);
            svg.push(format_args!(
                "<rect x=\"0\" y=\"{}\" width=\"{}\" height=\"13\" fill=\"#ffffff\"/>",
                n(y),
                n(wide)
            ));
            svg.styled(2.0, y + 10.0, Anchor::Start, 10.0, &group.heading, BOLD);
            y += 14.0;
        }
        let (from, mut texts) = (y, vec![]);
        for bar in &group.bars {
            svg.cut(gutter - 5.0, y + 9.0, Anchor::End, 9.5, &bar.label, gutter - 6.0);
            let mut x = gutter;
            for (value, fill) in &bar.parts {
                if *value > 0.0 {
                    svg.rect(x, y + 1.5, value * scale, 9.0, *fill);
                }
                x += value * scale;
            }
            texts.push((x + 4.0, y + 9.3, &bar.text));
            y += 13.0;
        }
        if let Some(reference) = chart.reference {
            let x = gutter + reference * scale;
            svg.line((x, from), (x, y), INK, 0.9, "3 2");
        }
        svg.line((gutter, from), (gutter, y), INK, 0.9, "");
        for (x, y, text) in texts {
            svg.styled(x, y, Anchor::Start, 9.0, text, HALO);
        }
        y += 5.0;
    }
    svg.text(gutter + plot / 2.0, bottom + 24.0, Anchor::Middle, 10.0, &chart.axis);
    svg.finish(bottom + 30.0, chart.title)
}

pub(super) struct Tiles<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// Tiles along each side.
    pub(super) side: usize,
    /// Row from below, columns from the left, fill.
    pub(super) runs: Vec<(usize, Range<usize>, Fill)>,
    pub(super) legend: Vec<(Fill, String)>,
    /// How large it is.
    pub(super) ruler: String,
}

pub(super) fn tiled(chart: Tiles<'_>) -> String {
    let mut svg = Svg::new(chart.id);
    let top = legend(&mut svg, &chart.legend, 4.0);
    let side = chart.side as f64;
    // Whole units, so that neighbours touch without seams.
    let unit = ((WIDTH - 60.0) / side).floor().max(1.0);
    let (left, high) = ((WIDTH - unit * side) / 2.0, unit * side);
    for (up, run, fill) in &chart.runs {
        let (x, y) = (left + unit * run.start as f64, top + high - unit * (*up as f64 + 1.0));
        let paint = fill.paint(chart.id);
        svg.push(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{paint}\"/>",
            n(x),
            n(y),
            n(unit * run.len() as f64),
            n(unit)
        ));
    }
    let corners = [(left, top), (left + high, top), (left + high, top + high), (left, top + high)];
    for (at, corner) in corners.iter().enumerate() {
        svg.line(*corner, corners[(at + 1) % 4], INK, 0.9, "");
    }
    svg.text(WIDTH / 2.0, top + high + 14.0, Anchor::Middle, 10.0, &chart.ruler);
    svg.finish(top + high + 20.0, chart.title)
}

/// A point with a name.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) label: String,
    pub(super) series: usize,
    pub(super) filled: bool,
}

pub(super) struct Scatter<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) points: Vec<Point>,
    pub(super) series: Vec<String>,
    /// Through these runs the dashed line of what nothing beats.
    pub(super) front: Vec<(f64, f64)>,
    pub(super) axes: [String; 2],
}

/// From where to where, and what is written beside it.
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) logarithmic: bool,
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// For these values. Where they are far apart and it may be, logarithmic; where they are close, not from 0.
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone, may_be_logarithmic: bool) -> Self {
        let values = values.filter(|value| value.is_finite());
        let low = values.clone().fold(f64::INFINITY, f64::min).max(0.0);
        let high = values.fold(0.0, f64::max);
        let high = if high > 0.0 { high } else { 1.0 };
        let low = if low.is_finite() { low } else { 0.0 };
        if may_be_logarithmic && low > 0.0 && high / low > 8.0 {
            let (first, last) = ((low * 0.8).log10().floor() as i32, high.log10().ceil() as i32);
            let (from, to) = (low * 0.8, high * 1.25);
            let decade = |power: i32| [1.0, 2.0, 5.0].map(|f| f * 10f64.powi(power));
            let ticks = (first..=last).flat_map(decade).filter(|v| (from..=to).contains(v));
            let ticks = ticks.map(|v| (v, plain(round4(v)))).collect();
            return Self { from, to, logarithmic: true, ticks };
        }
        let start = if low > 0.5 * high { low } else { 0.0 };
        let step = step((high - start).max(high * 0.02), 5.0);
        let (first, last) = ((start / step - 0.3).floor().max(0.0), (high / step + 0.1).ceil());
        let tick = |i: u32| {
            let value = (first + f64::from(i)) * step;
            (value, tick_text(value, step))
        };
        let ticks = (0..=(last - first) as u32).map(tick).collect();
        Self { from: first * step, to: last * step, logarithmic: false, ticks }
    }

    /// Where on the axis, from 0 to 1.
    pub(super) fn part(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }
}

pub(super) fn scatter(chart: Scatter<'_>) -> String {
    let mut svg = Svg::new(chart.id);
    let names = if chart.series.len() > 1 { &chart.series[..] } else { &[] };
    let top = mark_legend(&mut svg, names, false, 4.0) + 6.0;
    let x_axis = Axis::of(chart.points.iter().map(|p| p.x), true);
    let y_axis = Axis::of(chart.points.iter().map(|p| p.y), false);
    // Between the axis and what is written beside it, its longest number.
    let longest = y_axis.ticks.iter().map(|(_, text)| text_width(text, 9.0)).fold(0.0, f64::max);
    let (left, right, bottom) = (40f64.max(longest + 18.0), WIDTH - 14.0, top + 176.0);
    let px = |x: f64| left + x_axis.part(x) * (right - left);
    let py = |y: f64| bottom - y_axis.part(y) * (bottom - top);
    for (value, text) in &x_axis.ticks {
        svg.line((px(*value), top), (px(*value), bottom), FAINT, 0.6, "");
        svg.text(px(*value), bottom + 11.0, Anchor::Middle, 9.0, text);
    }
    for (value, text) in &y_axis.ticks {
        svg.line((left, py(*value)), (right, py(*value)), FAINT, 0.6, "");
        svg.text(left - 4.0, py(*value) + 3.2, Anchor::End, 9.0, text);
    }
    let logarithmic = if x_axis.logarithmic { ", logarithmic" } else { "" };
    svg.poly(&[(left, top), (left, bottom), (right, bottom)], INK, 0.9, "", false);
    if chart.front.len() > 1 {
        let mut steps: Vec<(f64, f64)> = vec![];
        for &(x, y) in &chart.front {
            if let Some(&(_, before)) = steps.last() {
                steps.push((px(x), before));
            }
            steps.push((px(x), py(y)));
        }
        svg.poly(&steps, INK, 0.9, "3 2", false);
    }
    let mut taken: Vec<[f64; 4]> =
        chart.points.iter().map(|p| [px(p.x) - 4.0, py(p.y) - 4.0, px(p.x) + 4.0, py(p.y) + 4.0]).collect();
    for point in &chart.points {
        let at = (px(point.x), py(point.y));
        let stroke = STROKES[point.series % STROKES.len()];
        svg.mark(at, MARKS[point.series % MARKS.len()], stroke, point.filled);
        if point.label.is_empty() {
            continue;
        }
        let wide = text_width(&point.label, 9.0);
        let places = [
            (Anchor::Start, 6.0, 3.0),
            (Anchor::Start, 4.0, 12.0),
            (Anchor::Start, 4.0, -5.0),
            (Anchor::End, -6.0, 3.0),
            (Anchor::End, -4.0, 12.0),
            (Anchor::End, -4.0, -5.0),
        ];
        let place = places.into_iter().find_map(|(anchor, dx, dy)| {
            let x = at.0 + dx;
            let from = if anchor == Anchor::End { x - wide } else { x };
            let area = [from, at.1 + dy - 8.0, from + wide, at.1 + dy + 1.0];
            let inside = area[0] > left && area[2] < WIDTH - 3.0 && area[1] > top - 8.0 && area[3] < bottom;
            let free = |t: &[f64; 4]| area[2] < t[0] || area[0] > t[2] || area[3] < t[1] || area[1] > t[3];
            (inside && taken.iter().all(free)).then_some((anchor, x, at.1 + dy, area))
        });
        // Where there is no room, the CSV and the table have the name.
        if let Some((anchor, x, y, area)) = place {
            svg.styled(x, y, anchor, 9.0, &point.label, HALO);
            taken.push(area);
        }
    }
    let [across, up] = &chart.axes;
    svg.text((left + right) / 2.0, bottom + 24.0, Anchor::Middle, 10.0, &format!("{across}{logarithmic}"));
    let middle = (top + bottom) / 2.0;
    svg.styled(
        10.0,
        middle,
        Anchor::Middle,
        10.0,
        up,
        &format!(" transform=\"rotate(-90 10 {})\"", n(middle)),
    );
    svg.finish(bottom + 30.0, chart.title)
}

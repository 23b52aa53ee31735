//! Two reports compared: did area, clock, energy, FPGA fit, latency or speed-up get worse by more than a margin?

use super::render::{
    Design, Energy, EventEnergy, FORMAT_VERSION, Fpga, FpgaOutcome, Latency, MEASURED_ON, Report, Speedup,
    Speedups,
};
use crate::synth::area::AreaReport;
use crate::synth::variants::{SynthReport, VariantResult};
use crate::table::counted;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why two reports cannot be compared.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("cannot read the report {path}: {source}; name a file of `windlass report --json`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a report.
    #[error("{path} is not a report: {reason}; name a file of `windlass report --json`, or make it again")]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong, and where.
        reason: String,
    },
    /// It is one of another time.
    #[error(
        "{path} has format_version {found}, but this windlass reads {FORMAT_VERSION}; make the report again with `windlass report --json`"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: u64,
    },
    /// Nothing is better or worse by it.
    #[error("the margin is {got} percent; choose 0 or more")]
    Margin {
        /// What was asked.
        got: f64,
    },
    /// Not one design, or not one number, is in both.
    #[error("the report and its baseline have no {what} in common, so nothing can be compared{}", reasons(.notes))]
    Nothing {
        /// Designs or numbers.
        what: &'static str,
        /// What is missing on either side.
        notes: Vec<String>,
    },
}

fn reasons(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n  {note}")).collect()
}

/// What became of a number since an older report: better, worse, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worse by more than the margin.
    Worse,
    /// Changed by more than the margin, but by no more than two standard errors.
    Unsure,
    /// Changed, but not by more than the margin.
    Within,
    /// Better by more than the margin.
    Better,
}

impl Verdict {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Unsure => "within its error",
            Self::Within => "within the margin",
            Self::Better => "better",
        }
    }
}

/// A number that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The design, or workload, GPU and policy.
    pub subject: String,
    /// What it is, e.g. `area by hierarchy`.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// In the baseline.
    pub before: f64,
    /// In the report.
    pub now: f64,
    /// The change in percent of what it was; none where that was 0.
    pub percent: Option<f64>,
    /// Standard errors of both, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<[f64; 2]>,
    /// What to think of it.
    pub verdict: Verdict,
}

/// A report against an older one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[must_use = "it says whether anything got worse"]
pub struct Changes {
    /// Version of Windlass that made the older one.
    pub windlass: String,
    /// The margin in percent.
    pub margin_percent: f64,
    /// How many numbers are in both.
    pub compared: u64,
    /// Those that changed: worse ones first, then better ones, then those within their error, then those within the margin.
    pub rows: Vec<Change>,
    /// What could not be compared, and what differs besides the numbers.
    pub notes: Vec<String>,
}

impl Changes {
    /// True if anything got worse by more than the margin.
    pub fn is_worse(&self) -> bool {
        self.count(Verdict::Worse) > 0
    }

    /// How many numbers have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// All changes in one line: how many there are of each verdict.
    pub fn summary(&self) -> String {
        format!(
            "{} compared with those of Windlass {}: {} worse by more than {} %, {} better, {} within their error, {} changed less, {} the same",
            counted(self.compared, "number"),
            self.windlass,
            self.count(Verdict::Worse),
            self.margin_percent,
            self.count(Verdict::Better),
            self.count(Verdict::Unsure),
            self.count(Verdict::Within),
            (self.compared as usize).saturating_sub(self.rows.len())
        )
    }
}

/// A text that is no margin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a margin; give a percentage that is not negative, such as `5%`")]
pub struct MarginError {
    /// The text.
    pub text: String,
}

/// A margin such as `5%` or `2.5`, in percent.
pub fn margin(text: &str) -> Result<f64, MarginError> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err(MarginError { text: text.into() }),
    }
}

/// A number of a table: as many digits as it takes to tell changes, which are four decimals, of small ones five digits.
pub(super) fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-9 {
        return format!("{value:.4e}");
    }
    let decimals = (4.0 - value.abs().log10().floor()).clamp(4.0, 13.0);
    let text = format!("{value:.0$}", decimals as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The report in a file that `windlass report --json` wrote.
pub fn read(path: &Path) -> Result<Report, BaselineError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| BaselineError::Read { path: path.to_path_buf(), source })?;
    parse(&text, path)
}

/// The report in a text; `path` is for errors.
pub fn parse(text: &str, path: &Path) -> Result<Report, BaselineError> {
    let path = || path.to_path_buf();
    let wrong = |reason: String| BaselineError::NoReport { path: path(), reason };
    let value: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    // The version first: what a newer report means cannot be guessed from the fields that look known.
    match value.get("format_version").and_then(Value::as_u64) {
        Some(found) if found == u64::from(FORMAT_VERSION) => {}
        Some(found) => return Err(BaselineError::Version { path: path(), found }),
        None => return Err(wrong("the field `format_version` is missing".into())),
    }
    if !value["designs"].is_array() {
        return Err(wrong("the field `designs` is missing".into()));
    }
    // From the text and not from the value: errors have a line then.
    serde_json::from_str(text).map_err(|e| wrong(e.to_string()))
}

/// `now` against `before`. Designs belong together when parameters and module are the same: names depend on what else is in the report.
///
/// # Errors
/// [`BaselineError::Margin`]; [`BaselineError::Nothing`] where there is nothing to compare, or designs but none in both.
pub fn compare(before: &Report, now: &Report, margin_percent: f64) -> Result<Changes, BaselineError> {
    if !(0.0..).contains(&margin_percent) {
        return Err(BaselineError::Margin { got: margin_percent });
    }
    let mut found = Found {
        margin: margin_percent,
        compared: 0,
        rows: vec![],
        notes: vec![],
        comparable: true,
        same_ace_window: true,
    };
    found.conditions(before, now);
    let mut common: Vec<(&str, &str)> = vec![];
    for design in &now.designs {
        let (name, namesake) = (&design.name, before.designs.iter().find(|d| d.name == design.name));
        match (before.designs.iter().find(|d| difference(d, design).is_none()), namesake) {
            (Some(old), _) => {
                common.push((&old.name, name));
                found.design([before, now], old, design);
            }
            (None, Some(old)) => {
                let why = difference(old, design).unwrap_or_default();
                found.note(format!("design {name}: {why}, so it is a different design"));
            }
            (None, None) => found.note(format!("design {name}: not in the baseline")),
        }
    }
    for old in &before.designs {
        if !common.iter().any(|(name, _)| *name == old.name)
            && !now.designs.iter().any(|d| d.name == old.name)
        {
            found.note(format!("design {}: in the baseline only", old.name));
        }
    }
    found.speedups(before, now, &common);
    // The speed-ups of policies without hardware say nothing of the designs.
    if common.is_empty() && !(before.designs.is_empty() && now.designs.is_empty()) {
        return Err(BaselineError::Nothing { what: "design", notes: found.notes });
    }
    if found.compared == 0 {
        return Err(BaselineError::Nothing { what: "number", notes: found.notes });
    }
    let order = |verdict: Verdict| match verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::Unsure => 2,
        Verdict::Within => 3,
    };
    found.rows.sort_by_key(|row| order(row.verdict));
    Ok(Changes {
        windlass: before.windlass.clone(),
        margin_percent,
        compared: found.compared,
        rows: found.rows,
        notes: found.notes,
    })
}

/// What makes the hardware another one.
fn difference(old: &Design, new: &Design) -> Option<String> {
    for p in new.parameters.iter().filter(|p| p.name != MEASURED_ON) {
        match old.parameter(&p.name) {
            Some(value) if value == p.value => {}
            Some(value) => return Some(format!("{} was {value} and is {}", p.name, p.value)),
            None => return Some(format!("{} is {} and was not there", p.name, p.value)),
        }
    }
    let mut before = old.parameters.iter().filter(|p| p.name != MEASURED_ON);
    if let Some(gone) = before.find(|p| new.parameter(&p.name).is_none()) {
        return Some(format!("{} was {} and is not there", gone.name, gone.value));
    }
    // Its name has every parameter, also those that the report does not list.
    (old.top != new.top).then(|| format!("its module was {} and is {}", old.top, new.top))
}

/// Workload and GPU of a latency. Reports of before name neither where they have one only.
fn measured_on(report: &Report, latency: &Latency) -> String {
    let only = |of: fn(&Speedups) -> &String| {
        let mut all = report.speedups.iter().map(of);
        let first = all.next()?;
        all.all(|other| other == first).then(|| first.clone())
    };
    let named = |name: &String, of| match name.as_str() {
        "" => only(of).map_or("nobody knows what".into(), |name| format!("`{name}`")),
        name => format!("`{name}`"),
    };
    format!("{}, {}", named(&latency.workload, |s| &s.workload), named(&latency.gpu, |s| &s.gpu))
}

/// The fields in which two objects differ, with both values.
fn differing(path: &str, old: &Value, new: &Value, differences: &mut Vec<String>) {
    if let (Value::Object(old), Value::Object(new)) = (old, new) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
            differing(&path, &of(old), &of(new), differences);
        }
    } else if old != new {
        let text = |value: &Value| match value {
            Value::Null => "none".to_string(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        differences.push(format!("{path} was {} and is {}", text(old), text(new)));
    }
}

/// Which way a number gets better.
#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

struct Found {
    margin: f64,
    compared: u64,
    rows: Vec<Change>,
    notes: Vec<String>,
    /// Latencies and speed-ups are of the same GPU under the same conditions, as far as the reports say.
    comparable: bool,
    /// The same of `streams-ace`.
    same_ace_window: bool,
}

/// The field of [`Conditions`](super::render::Conditions) that matters to one policy alone.
const ACE_WINDOW: &str = "streams_ace_window ";

impl Found {
    fn note(&mut self, text: String) {
        // Several designs have the same tool, library and script.
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Compares a number. Where the standard errors of both are known, what changes by no more than two of them has not changed for sure.
    fn estimate(
        &mut self,
        subject: &str,
        metric: &str,
        unit: &str,
        [before, now]: [f64; 2],
        errors: Option<[f64; 2]>,
        better: Better,
    ) {
        self.compared += 1;
        if before == now {
            return;
        }
        let error = errors.map_or(0.0, |[before, now]| before.hypot(now));
        let percent = (before != 0.0).then(|| 100.0 * (now - before) / before.abs());
        // From nothing to something is more than any margin.
        let change = percent.unwrap_or(if now > before { f64::INFINITY } else { f64::NEG_INFINITY });
        let worse = match better {
            Better::Less => change,
            Better::More => -change,
        };
        let verdict = match worse {
            w if w.abs() > self.margin + 1e-9 && (now - before).abs() <= 2.0 * error => Verdict::Unsure,
            w if w > self.margin + 1e-9 => Verdict::Worse,
            w if w < -(self.margin + 1e-9) => Verdict::Better,
            _ => Verdict::Within,
        };
        let percent = percent.map(|p| (p * 100.0).round() / 100.0);
        let [subject, metric, unit] = [subject, metric, unit].map(String::from);
        self.rows.push(Change { subject, metric, unit, before, now, percent, errors, verdict });
    }

    /// As [`Self::estimate`], for exact numbers that either side may lack.
    fn maybe(&mut self, subject: &str, metric: &str, unit: &str, both: [Option<f64>; 2], better: Better) {
        match both {
            [Some(before), Some(now)] => self.estimate(subject, metric, unit, [before, now], None, better),
            [Some(_), None] => self.note(format!("{subject}: {metric} is in the baseline only")),
            [None, Some(_)] => self.note(format!("{subject}: {metric} is not in the baseline")),
            [None, None] => {}
        }
    }

    fn design(&mut self, reports: [&Report; 2], old: &Design, new: &Design) {
        let on = [old, new].map(|d| d.parameter(MEASURED_ON).unwrap_or("nothing"));
        if on[0] != on[1] {
            self.note(format!("{}: latencies were measured on {} and are on {}", new.name, on[0], on[1]));
        }
        self.area(&new.name, old.area.as_ref(), new.area.as_ref());
        self.synthesis(&new.name, old.synthesis.as_ref(), new.synthesis.as_ref());
        self.energy(old, new);
        self.fpga(&new.name, &old.fpga, &new.fpga);
        if !self.comparable {
            return;
        }
        for latency in &new.latencies {
            let same = old.latencies.iter().find(|l| l.name == latency.name);
            let metric = format!("{} (median)", latency.name);
            let on = same.map(|old| [measured_on(reports[0], old), measured_on(reports[1], latency)]);
            if let Some([before, now]) = on.filter(|[before, now]| before != now) {
                self.note(format!("{}: {metric} was measured on {before} and is on {now}", new.name));
                continue;
            }
            let median = |l: &Latency| l.cycles.map(|c| c.median);
            self.maybe(&new.name, &metric, "cycles", [same.and_then(median), median(latency)], Better::Less);
        }
        for latency in &old.latencies {
            if !new.latencies.iter().any(|l| l.name == latency.name) {
                self.note(format!("{}: {} is in the baseline only", new.name, latency.name));
            }
        }
    }

    /// Where the reports say that they were measured under other conditions, only costs are compared.
    fn conditions(&mut self, before: &Report, now: &Report) {
        let (Some(old), Some(new)) = (&before.conditions, &now.conditions) else { return };
        let mut differences = Vec::new();
        let values = [old, new].map(|conditions| serde_json::json!(conditions));
        differing("", &values[0], &values[1], &mut differences);
        // The profile's name is that of each table; the window of `streams-ace` is of no other policy.
        differences.retain(|text| !["profile.name ", ACE_WINDOW].iter().any(|field| text.starts_with(field)));
        let windows = [old, new].map(|conditions| conditions.streams_ace_window);
        if let [Some(before), Some(now)] = windows
            && before != now
        {
            self.same_ace_window = false;
            self.note(format!(
                "`streams-ace` is not compared: its window had {before} kernels and has {now}, the most of `--slots`"
            ));
        }
        if !differences.is_empty() {
            self.comparable = false;
            self.note(format!(
                "latencies and speed-ups were measured under other conditions, so they are not compared: {}",
                differences.join(", ")
            ));
        }
    }

    fn area(&mut self, name: &str, old: Option<&AreaReport>, new: Option<&AreaReport>) {
        if let (Some(old), Some(new)) = (old, new) {
            let cells = |a: &AreaReport| format!("{} ({})", a.library, a.corner);
            if !self.same_library(name, &cells(old), &cells(new)) {
                return;
            }
            self.same_flow("area", [&old.tool, &new.tool], [&old.script, &new.script]);
        }
        let area = |a: Option<&AreaReport>| a.map(|a| a.total().area_um2);
        self.maybe(name, "area, hierarchy kept", "µm²", [area(old), area(new)], Better::Less);
    }

    fn synthesis(&mut self, name: &str, old: Option<&SynthReport>, new: Option<&SynthReport>) {
        if let (Some(old), Some(new)) = (old, new) {
            let cells = |s: &SynthReport| format!("{} ({})", s.library, s.corner);
            if !self.same_library(name, &cells(old), &cells(new)) {
                return;
            }
            self.same_flow("timing", [&old.tool, &new.tool], [&old.script, &new.script]);
            // Comments name the file and the version.
            let orders = |s: &SynthReport| {
                s.sdc.lines().filter(|l| !l.starts_with('#')).map(String::from).collect::<Vec<_>>()
            };
            if orders(old) != orders(new) {
                self.note("timing: not the same constraints".into());
            }
            let variants = |s: &SynthReport| -> Vec<_> {
                s.results.iter().map(|r| (r.name.clone(), r.abc.clone())).collect()
            };
            if variants(old) != variants(new) {
                return self.same_scripts(name, old, new);
            }
            let estimate = |s: &SynthReport| s.fastest().and_then(|r| r.timing.as_ref()).map(|t| t.estimate);
            if let [Some(before), Some(now)] = [estimate(old), estimate(new)]
                && before != now
            {
                self.note(format!(
                    "{name}: one clock is the mapper's estimate, the other static timing; not compared"
                ));
                return;
            }
        }
        let area = |s: Option<&SynthReport>| Some(s?.smallest()?.total?.area_um2);
        self.maybe(name, "area, flattened, smallest", "µm²", [area(old), area(new)], Better::Less);
        let area = |s: Option<&SynthReport>| Some(s?.fastest()?.total?.area_um2);
        self.maybe(name, "area, flattened, fastest", "µm²", [area(old), area(new)], Better::Less);
        let clock = |s: Option<&SynthReport>| s?.fastest()?.fmax_mhz();
        self.maybe(name, "fmax, fastest", "MHz", [clock(old), clock(new)], Better::More);
        let wired = [old, new].map(|s| s.and_then(|s| s.wired.as_ref()));
        if let [Some(old), Some(new)] = wired
            && (&old.tool, old.model, old.density) != (&new.tool, new.model, new.density)
        {
            self.note(format!("{name}: not the same wires; clocks and areas with wires are not compared"));
            return;
        }
        let area = wired.map(|w| Some(w?.fastest()?.total.area_um2));
        self.maybe(name, "area, with wires", "µm²", area, Better::Less);
        let clock = wired.map(|w| w?.fastest()?.fmax_mhz());
        self.maybe(name, "fmax, with wires", "MHz", clock, Better::More);
    }

    /// The smallest and the fastest of other scripts are other netlists: only what the same script made is compared.
    fn same_scripts(&mut self, name: &str, old: &SynthReport, new: &SynthReport) {
        self.note(format!(
            "{name}: not the same scripts of ABC were tried; compared is what both have, by script"
        ));
        for now in &new.results {
            let same = |r: &&VariantResult| (&r.name, &r.abc) == (&now.name, &now.abc);
            let Some(before) = old.results.iter().find(same) else { continue };
            let results = [before, now];
            let area = results.map(|r| r.total.map(|total| total.area_um2));
            self.maybe(name, &format!("area, flattened, `{}`", now.name), "µm²", area, Better::Less);
            let estimates = results.map(|r| r.timing.as_ref().map(|t| t.estimate));
            if estimates[0] == estimates[1] {
                let clock = results.map(VariantResult::fmax_mhz);
                self.maybe(name, &format!("fmax, `{}`", now.name), "MHz", clock, Better::More);
            }
        }
    }

    fn energy(&mut self, old: &Design, new: &Design) {
        // Reports of before do not say of which cells; their netlist is the synthesis'.
        let cells = |design: &Design| match (&design.energy, &design.synthesis) {
            (Some(energy), _) if !energy.library.is_empty() => energy.library.clone(),
            (_, Some(s)) => format!("{} ({})", s.library, s.corner),
            _ => String::new(),
        };
        let cells = [cells(old), cells(new)];
        let (name, old, new) = (new.name.as_str(), old.energy.as_ref(), new.energy.as_ref());
        if let (Some(old), Some(new)) = (old, new) {
            if !self.same_library(name, &cells[0], &cells[1]) {
                return;
            }
            if old.label != new.label {
                self.note(format!(
                    "{name}: energy was an {}, and is an {}; not compared",
                    old.label, new.label
                ));
                return;
            }
            // Power at another clock, or of another run, is another number.
            if old.clock_mhz != new.clock_mhz || old.activity != new.activity {
                self.note(format!(
                    "{name}: energy was at {} MHz with switching from {}, and is at {} MHz from {}",
                    old.clock_mhz, old.activity, new.clock_mhz, new.activity
                ));
            }
            if old.clock_mhz != new.clock_mhz {
                return;
            }
        }
        // Reports of before have clock pins only, and called them waiting.
        let powers = |e: Option<&Energy>| e.cloned().unwrap_or_default().powers();
        for ((what, before), (_, now)) in powers(old).into_iter().zip(powers(new)) {
            self.maybe(name, &format!("power, {what}"), "mW", [before, now], Better::Less);
        }
        let events = |e: Option<&Energy>| e.map(|e| e.events.clone()).unwrap_or_default();
        let (before, now) = (events(old), events(new));
        let of = |all: &[EventEnergy], event: &str| all.iter().find(|e| e.event == event).cloned();
        let gone = before.iter().filter(|e| of(&now, &e.event).is_none());
        for event in now.iter().chain(gone).map(|e| e.event.as_str()) {
            let (metric, both) = (format!("energy per {event}"), [of(&before, event), of(&now, event)]);
            match &both {
                [Some(old), Some(new)] => {
                    let errors = old.pj_error.zip(new.pj_error).map(|(old, new)| [old, new]);
                    self.estimate(
                        name,
                        &metric,
                        "pJ",
                        [old.picojoules, new.picojoules],
                        errors,
                        Better::Less,
                    );
                }
                _ => self.maybe(name, &metric, "pJ", both.map(|e| e.map(|e| e.picojoules)), Better::Less),
            }
        }
    }

    fn fpga(&mut self, name: &str, old: &[Fpga], new: &[Fpga]) {
        let gone = old.iter().filter(|f| !new.iter().any(|n| n.part == f.part));
        for part in new.iter().chain(gone).map(|f| f.part.as_str()) {
            let of = |all: &[Fpga]| all.iter().find(|f| f.part == part).cloned();
            let (old, new) = (of(old), of(new));
            if let (Some(old), Some(new)) = (&old, &new) {
                if old.tool != new.tool {
                    self.note(format!("{part}: the tools were {} and are {}", old.tool, new.tool));
                }
                if old.runs != new.runs {
                    self.note(format!(
                        "{name}: {part} had {} and has {}",
                        counted(old.runs, "run"),
                        new.runs
                    ));
                }
            }
            if let (Some(old), Some(new)) = (&old, &new) {
                self.outcome(name, old, new);
            }
            let counts = |f: &Option<Fpga>| {
                let counts = f.as_ref().map(|f| [f.luts, f.flip_flops, f.block_rams, f.carries]);
                counts.map_or([None; 4], |counts| counts.map(|n| Some(n as f64)))
            };
            for (index, what) in ["LUTs", "flip-flops", "block RAMs", "carries"].iter().enumerate() {
                let both = [counts(&old)[index], counts(&new)[index]];
                self.maybe(name, &format!("{part}, {what}"), "cells", both, Better::Less);
            }
            let cells = |f: &Option<Fpga>| f.as_ref()?.logic_cells.map(|n| n as f64);
            self.maybe(
                name,
                &format!("{part}, logic cells"),
                "cells",
                [cells(&old), cells(&new)],
                Better::Less,
            );
            // The slowest seed: the fastest is luck.
            let clock = |f: &Option<Fpga>| f.as_ref()?.slowest_mhz;
            self.maybe(
                name,
                &format!("{part}, fmax of the slowest run"),
                "MHz",
                [clock(&old), clock(&new)],
                Better::More,
            );
        }
    }

    /// Whether it was placed and routed; no margin lets it pass that it is not any more.
    fn outcome(&mut self, name: &str, old: &Fpga, new: &Fpga) {
        let outcomes = [old.outcome(), new.outcome()];
        if outcomes.contains(&FpgaOutcome::NotRun) {
            return;
        }
        self.compared += 1;
        let [before, now] = outcomes.map(|outcome| f64::from(u8::from(outcome == FpgaOutcome::Placed)));
        if before != now {
            let verdict = if now < before { Verdict::Worse } else { Verdict::Better };
            let (metric, unit) = (format!("{}, placed and routed", new.part), "1 is yes".to_string());
            self.rows.push(Change {
                subject: name.into(),
                metric,
                unit,
                before,
                now,
                percent: None,
                errors: None,
                verdict,
            });
            let said = if now < before { &new.remark } else { &old.remark };
            self.note(format!("{name}: {}: {said}", new.part));
        }
    }

    fn same_library(&mut self, name: &str, old: &str, new: &str) -> bool {
        if old != new {
            self.note(format!(
                "{name}: the library was {old} and is {new}; areas, clocks and energies are not compared"
            ));
        }
        old == new
    }

    /// Another tool or script is part of what is judged, and so it is said but does not stop the comparison.
    fn same_flow(&mut self, what: &str, tools: [&String; 2], scripts: [&String; 2]) {
        if tools[0] != tools[1] {
            self.note(format!("{what}: the tool was {} and is {}", tools[0], tools[1]));
        }
        // Names of files and modules are the design's, and not the flow's.
        let flow = |script: &String| {
            let lines = script.lines().filter(|l| !l.starts_with("read") && !l.starts_with("hierarchy"));
            lines.map(String::from).collect::<Vec<_>>()
        };
        if flow(scripts[0]) != flow(scripts[1]) {
            self.note(format!("{what}: the script of the flow is another one"));
        }
    }

    /// `designs` are those in both, with their names in each.
    fn speedups(&mut self, before: &Report, now: &Report, designs: &[(&str, &str)]) {
        if !self.comparable {
            return;
        }
        for table in &now.speedups {
            let subject = format!("{} on {}", table.workload, table.gpu);
            let same = before.speedups.iter().find(|t| t.workload == table.workload && t.gpu == table.gpu);
            let Some(old) = same else {
                self.note(format!("{subject}: not in the baseline"));
                continue;
            };
            if old.kernels != table.kernels {
                self.note(format!(
                    "{subject}: had {} and has {}, so it is a different workload",
                    counted(old.kernels, "kernel"),
                    table.kernels
                ));
                continue;
            }
            // Serial is 1 by definition.
            let is_compared =
                |r: &&Speedup| r.policy != "serial" && (self.same_ace_window || r.policy != "streams-ace");
            let rows: Vec<_> = table.rows.iter().filter(is_compared).collect();
            for row in rows {
                let called = row.design.as_deref().map(|d| designs.iter().find(|(_, now)| *now == d));
                if called == Some(None) {
                    continue;
                }
                let called = called.flatten().map(|(before, _)| *before);
                let same = old.rows.iter().find(|r| r.policy == row.policy && r.design.as_deref() == called);
                let metric = match &row.design {
                    Some(design) => format!("speed-up of {} ({design})", row.policy),
                    None => format!("speed-up of {}", row.policy),
                };
                self.maybe(
                    &subject,
                    &metric,
                    "x",
                    [same.map(|r| r.speedup), Some(row.speedup)],
                    Better::More,
                );
            }
            let mut gone: Vec<&str> = old.rows.iter().map(|r| r.policy.as_str()).collect();
            gone.retain(|policy| !table.rows.iter().any(|r| r.policy == *policy));
            gone.dedup();
            if !gone.is_empty() {
                self.note(format!("{subject}: in the baseline only: {}", gone.join(", ")));
            }
        }
        for old in &before.speedups {
            if !now.speedups.iter().any(|t| t.workload == old.workload && t.gpu == old.gpu) {
                self.note(format!("{} on {}: in the baseline only", old.workload, old.gpu));
            }
        }
    }
}

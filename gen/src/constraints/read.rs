//! The TOML file, field by field, so that all mistakes are found in one go.

use super::names::near;
use super::{
    Budget, Clock, ConstraintError, ConstraintErrors, Constraints, Exception, FORMAT_VERSION, FPGAS,
    FpgaEnvironment, LibraryEnvironment, Located, Pin, Problem, Relaxation, WIRES_ARE,
};
use std::collections::BTreeMap;
use std::ops::Range;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_catalog::BLOCKS;
use windlass_netlist::WireModel;

pub(super) fn read(text: &str, file: &str) -> Result<Constraints, ConstraintErrors> {
    let mut reader = Reader { text, file, errors: Vec::new() };
    let (root, syntax) = DeTable::parse_recoverable(text);
    for error in syntax {
        let span = error.span().unwrap_or(0..0);
        reader.report(span, "", Problem::Syntax(error.message().to_string()));
    }
    if !reader.errors.is_empty() {
        // What is left of a broken file would give errors that are not there.
        return Err(ConstraintErrors(reader.errors));
    }
    let span = root.span();
    let mut root = Fields { table: root.get_ref(), span, path: String::new(), asked: Vec::new() };
    let version = reader.number(&mut root, "format_version", true, 0.0..1e9);
    if version.is_none() && !root.table.iter().any(|(key, _)| key.get_ref() == "format_version") {
        reader.errors.clear();
        reader.missing(
            &root,
            "format_version",
            &format!("format_version = {FORMAT_VERSION} as the first line"),
        );
    }
    if let Some(version) = version
        && version != f64::from(FORMAT_VERSION)
    {
        let expected = FORMAT_VERSION.to_string();
        let span = root.span_of("format_version");
        reader.report(span, "format_version", Problem::Value { got: version.to_string(), expected });
    }
    let mut constraints = Constraints {
        file: file.to_string(),
        path: file.to_string(),
        clocks: Vec::new(),
        io: Vec::new(),
        exceptions: Vec::new(),
        libraries: BTreeMap::new(),
        fpgas: BTreeMap::new(),
    };
    // Of clocks with mistakes, too: what names them is right.
    let mut clocks = Vec::new();
    for mut table in reader.tables(&mut root, "clock") {
        constraints.clocks.extend(reader.clock(&mut table, &mut clocks));
        reader.finish(&table);
    }
    for mut table in reader.tables(&mut root, "io") {
        constraints.io.extend(reader.budget(&mut table));
        reader.finish(&table);
    }
    for kind in ["false_path", "multicycle_path"] {
        for mut table in reader.tables(&mut root, kind) {
            constraints.exceptions.extend(reader.exception(&mut table, kind == "multicycle_path"));
            reader.finish(&table);
        }
    }
    for (name, mut table) in reader.children(&mut root, "library", None) {
        let library = reader.library(&mut table);
        reader.finish(&table);
        constraints.libraries.extend(library.map(|library| (name, library)));
    }
    for (name, mut table) in reader.children(&mut root, "fpga", Some(&FPGAS)) {
        let fpga = reader.fpga(&mut table);
        reader.finish(&table);
        constraints.fpgas.insert(name, fpga);
    }
    reader.finish(&root);
    reader.check_clocks(&constraints, &clocks, &root);
    if reader.errors.is_empty() {
        Ok(constraints)
    } else {
        reader.errors.sort_by_key(|e| e.line);
        Err(ConstraintErrors(reader.errors))
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
    errors: Vec<ConstraintError>,
}

/// A table, and the fields that were asked of it.
struct Fields<'a> {
    table: &'a DeTable<'a>,
    span: Range<usize>,
    path: String,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn get(&mut self, name: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(name);
        self.table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
    }

    fn field(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    fn span_of(&self, name: &str) -> Range<usize> {
        let found = self.table.iter().find(|(key, _)| key.get_ref() == name);
        found.map_or(self.span.clone(), |(_, value)| value.span())
    }
}

impl<'a> Reader<'a> {
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() + 1
    }

    fn report(&mut self, span: Range<usize>, field: &str, problem: Problem) {
        let (file, line) = (self.file.to_string(), self.line(span.start));
        self.errors.push(ConstraintError { file, line, field: field.into(), problem });
    }

    fn located<T>(&self, value: T, span: Range<usize>, field: String) -> Located<T> {
        Located { value, line: self.line(span.start), field }
    }

    fn missing(&mut self, fields: &Fields, name: &str, expected: &str) {
        let problem = Problem::Missing { expected: expected.into() };
        self.report(fields.span.clone(), &fields.field(name), problem);
    }

    fn wrong(&mut self, value: &Spanned<DeValue>, field: String, expected: &str) {
        let got = match value.get_ref() {
            DeValue::String(text) => format!("`{text}`"),
            DeValue::Integer(number) => number.as_str().to_string(),
            DeValue::Float(number) => number.as_str().to_string(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Array(array) if array.is_empty() => "empty".to_string(),
            other => format!("a value of type {}", other.type_str()),
        };
        self.report(value.span(), &field, Problem::Value { got, expected: expected.into() });
    }

    /// Every field that nobody asked for is a mistake.
    fn finish(&mut self, fields: &Fields) {
        for (key, _) in fields.table {
            if !fields.asked.contains(&key.get_ref().as_ref()) {
                let mut possible = near(key.get_ref(), fields.asked.iter().copied());
                if possible.is_empty() {
                    possible = fields.asked.iter().map(|name| name.to_string()).collect();
                }
                self.report(key.span(), &fields.field(key.get_ref()), Problem::Unknown { possible });
            }
        }
    }

    /// The tables of `[[name]]`.
    fn tables(&mut self, fields: &mut Fields<'a>, name: &'static str) -> Vec<Fields<'a>> {
        let Some(value) = fields.get(name) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong(value, fields.field(name), &format!("tables: write [[{name}]]"));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (i, item) in array.iter().enumerate() {
            let path = format!("{}[{i}]", fields.field(name));
            match item.get_ref() {
                DeValue::Table(table) => {
                    tables.push(Fields { table, span: item.span(), path, asked: Vec::new() });
                }
                _ => self.wrong(item, path, "a table"),
            }
        }
        tables
    }

    /// The tables of `[name.CHILD]`.
    fn children(
        &mut self,
        fields: &mut Fields<'a>,
        name: &'static str,
        possible: Option<&[&str]>,
    ) -> Vec<(String, Fields<'a>)> {
        let Some(value) = fields.get(name) else { return Vec::new() };
        let DeValue::Table(parent) = value.get_ref() else {
            self.wrong(value, fields.field(name), &format!("tables: write [{name}.NAME]"));
            return Vec::new();
        };
        let mut children = Vec::new();
        for (key, item) in parent {
            let path = fields.field(&format!("{name}.{}", key.get_ref()));
            if let Some(possible) = possible
                && !possible.contains(&key.get_ref().as_ref())
            {
                let possible = possible.iter().map(|name| name.to_string()).collect();
                self.report(key.span(), &path, Problem::Unknown { possible });
                continue;
            }
            match item.get_ref() {
                DeValue::Table(table) => {
                    let child = Fields { table, span: item.span(), path, asked: Vec::new() };
                    children.push((key.get_ref().to_string(), child));
                }
                _ => self.wrong(item, path, "a table"),
            }
        }
        children
    }

    fn value_as_number(
        &mut self,
        value: &Spanned<DeValue>,
        field: String,
        range: &Range<f64>,
    ) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(value, field, &in_range(range));
        }
        number
    }

    fn number(
        &mut self,
        fields: &mut Fields<'a>,
        name: &'static str,
        required: bool,
        range: Range<f64>,
    ) -> Option<f64> {
        match fields.get(name) {
            Some(value) => self.value_as_number(value, fields.field(name), &range),
            None => {
                if required {
                    self.missing(fields, name, &in_range(&range));
                }
                None
            }
        }
    }

    fn whole(
        &mut self,
        fields: &mut Fields<'a>,
        name: &'static str,
        required: bool,
        range: Range<f64>,
    ) -> Option<u32> {
        let number = self.number(fields, name, required, range)?;
        if number.fract() != 0.0 {
            let span = fields.span_of(name);
            let problem = Problem::Value { got: number.to_string(), expected: "a whole number".into() };
            self.report(span, &fields.field(name), problem);
            return None;
        }
        Some(number as u32)
    }

    /// Text that is not empty and that a Tcl list takes as one word without quoting.
    fn word(&mut self, value: &Spanned<DeValue>, field: String) -> Option<Located<String>> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_*.-/".contains(c);
        match value.get_ref().as_str().filter(|text| !text.is_empty() && text.chars().all(plain)) {
            Some(text) => Some(self.located(text.to_string(), value.span(), field)),
            None => {
                self.wrong(value, field, "a name: letters, digits, `_`, `.`, `-`, `/`, and `*` in patterns");
                None
            }
        }
    }

    fn text(
        &mut self,
        fields: &mut Fields<'a>,
        name: &'static str,
        required: bool,
    ) -> Option<Located<String>> {
        match fields.get(name) {
            Some(value) => self.word(value, fields.field(name)),
            None => {
                if required {
                    self.missing(fields, name, "a name");
                }
                None
            }
        }
    }

    fn texts(&mut self, fields: &mut Fields<'a>, name: &'static str) -> Vec<Located<String>> {
        let Some(value) = fields.get(name) else { return Vec::new() };
        let field = fields.field(name);
        match value.get_ref() {
            DeValue::Array(array) if !array.is_empty() => {
                array.iter().filter_map(|item| self.word(item, field.clone())).collect()
            }
            DeValue::String(_) => self.word(value, field).into_iter().collect(),
            _ => {
                self.wrong(value, field, "a list of names");
                Vec::new()
            }
        }
    }

    fn blocks(&mut self, fields: &mut Fields<'a>) -> Vec<Located<String>> {
        let blocks = self.texts(fields, "blocks");
        for block in &blocks {
            if !BLOCKS.contains(&block.value.as_str()) {
                let near = near(&block.value, BLOCKS);
                let problem = Problem::NoSuchBlock { block: block.value.clone(), near };
                let (file, line, field) = (self.file.to_string(), block.line, block.field.clone());
                self.errors.push(ConstraintError { file, line, field, problem });
            }
        }
        blocks
    }

    /// `period_ns = { clk_i = 5.0 }`.
    fn periods(&mut self, fields: &mut Fields<'a>) -> BTreeMap<String, f64> {
        let Some(value) = fields.get("period_ns") else { return BTreeMap::new() };
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(value, fields.field("period_ns"), "a table: { CLOCK = NANOSECONDS }");
            return BTreeMap::new();
        };
        let mut periods = BTreeMap::new();
        for (clock, value) in table {
            let field = fields.field(&format!("period_ns.{}", clock.get_ref()));
            if let Some(number) = self.value_as_number(value, field, &PERIOD) {
                periods.insert(clock.get_ref().to_string(), number);
            }
        }
        periods
    }

    /// `names` gets the clock's name, or nothing where it has none that can be read.
    fn clock(&mut self, fields: &mut Fields<'a>, names: &mut Vec<Option<String>>) -> Option<Clock> {
        let port = self.text(fields, "port", true);
        names.push(port.as_ref().map(|port| port.value.clone()));
        let period_ns = self.number(fields, "period_ns", true, PERIOD);
        let setup = self.number(fields, "setup_uncertainty_ns", false, 0.0..1e6);
        let hold = self.number(fields, "hold_uncertainty_ns", false, 0.0..1e6);
        Some(Clock {
            port: port?,
            period_ns: period_ns?,
            setup_uncertainty_ns: setup.unwrap_or(0.0),
            hold_uncertainty_ns: hold.unwrap_or(0.0),
        })
    }

    fn budget(&mut self, fields: &mut Fields<'a>) -> Option<Budget> {
        let ports = self.texts(fields, "ports");
        let channels = self.texts(fields, "channels");
        let blocks = self.blocks(fields);
        let clock = self.text(fields, "clock", true);
        let input = self.number(fields, "input", false, SHARE);
        let output = self.number(fields, "output", false, SHARE);
        let said = |name: &str| fields.table.iter().any(|(key, _)| key.get_ref() == name);
        if !said("ports") && !said("channels") {
            self.missing(fields, "ports", "a list of ports, or `channels`");
        }
        if !said("input") && !said("output") {
            self.missing(fields, "input", "a share of the period, or `output`");
        }
        Some(Budget { ports, channels, blocks, clock: clock?, input, output })
    }

    fn exception(&mut self, fields: &mut Fields<'a>, multicycle: bool) -> Option<Exception> {
        let from = self.texts(fields, "from");
        let to = self.texts(fields, "to");
        let blocks = self.blocks(fields);
        if !fields.table.iter().any(|(key, _)| ["from", "to"].contains(&key.get_ref().as_ref())) {
            self.missing(fields, "from", "a list of ports, or `to`");
        }
        let relaxation = if multicycle {
            let setup = self.whole(fields, "setup", true, 2.0..1e3);
            let hold = self.whole(fields, "hold", false, 0.0..1e3);
            setup.map(|setup| Relaxation::Multicycle { setup, hold: hold.unwrap_or(setup - 1) })
        } else {
            Some(Relaxation::False)
        };
        let reason = match fields.get("reason") {
            None => {
                self.missing(fields, "reason", "a sentence that says why");
                None
            }
            Some(value) => {
                let text =
                    value.get_ref().as_str().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
                let text = text.filter(|text| !text.is_empty());
                if text.is_none() {
                    self.wrong(value, fields.field("reason"), "a sentence that says why");
                }
                text
            }
        };
        Some(Exception { from, to, blocks, relaxation: relaxation?, reason: reason? })
    }

    fn library(&mut self, fields: &mut Fields<'a>) -> Option<LibraryEnvironment> {
        let pattern = self.text(fields, "match", true);
        let driving_cell = self.text(fields, "driving_cell", true);
        let driving_pin = self.text(fields, "driving_pin", true);
        let load = self.number(fields, "load", true, 0.0..1e6);
        let period_ns = self.periods(fields);
        let wires = self.wires(fields);
        Some(LibraryEnvironment {
            pattern: pattern?.value,
            driving_cell: driving_cell?.value,
            driving_pin: driving_pin?.value,
            load: load?,
            period_ns,
            wires,
        })
    }

    /// `wires = { row_um = 1.4, ... }`, which may be missing, but not in part.
    fn wires(&mut self, fields: &mut Fields<'a>) -> Option<WireModel> {
        let value = fields.get("wires")?;
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(value, fields.field("wires"), WIRES_ARE);
            return None;
        };
        let path = fields.field("wires");
        let mut inner = Fields { table, span: value.span(), path, asked: Vec::new() };
        let [row_um, ohm_per_um, ff_per_um] = ["row_um", "ohm_per_um", "ff_per_um"]
            .map(|name| self.number(&mut inner, name, true, LEAST_WIRE..1e6));
        self.finish(&inner);
        Some(WireModel { row_um: row_um?, ohm_per_um: ohm_per_um?, ff_per_um: ff_per_um? })
    }

    fn fpga(&mut self, fields: &mut Fields<'a>) -> FpgaEnvironment {
        let period_ns = self.periods(fields);
        let io_standard = self.text(fields, "io_standard", false).map(|text| text.value);
        let mut pins = Vec::new();
        for mut pin in self.tables(fields, "pin") {
            let port = self.text(&mut pin, "port", true);
            let blocks = self.blocks(&mut pin);
            let sites = self.texts(&mut pin, "sites");
            if sites.is_empty() && !pin.table.iter().any(|(key, _)| key.get_ref() == "sites") {
                self.missing(&pin, "sites", "a list of package pins, bit 0 first");
            }
            let located = self.located(
                sites.into_iter().map(|site| site.value).collect(),
                pin.span_of("sites"),
                pin.field("sites"),
            );
            self.finish(&pin);
            pins.extend(port.map(|port| Pin { port, sites: located, blocks }));
        }
        FpgaEnvironment { period_ns, io_standard, pins }
    }

    fn check_clocks(&mut self, constraints: &Constraints, names: &[Option<String>], root: &Fields) {
        // A clock whose name cannot be read may be the one that is meant.
        let Some(possible) = names.iter().cloned().collect::<Option<Vec<String>>>() else { return };
        let clocks = constraints.io.iter().map(|b| b.clock.clone());
        let from_tables = |kind: &'static str, periods: Vec<(String, Vec<String>)>| {
            periods.into_iter().flat_map(move |(name, clocks)| {
                clocks.into_iter().map(move |clock| (format!("{kind}.{name}.period_ns"), clock))
            })
        };
        let libraries =
            constraints.libraries.iter().map(|(n, l)| (n.clone(), l.period_ns.keys().cloned().collect()));
        let fpgas = constraints.fpgas.iter().map(|(n, f)| (n.clone(), f.period_ns.keys().cloned().collect()));
        let periods: Vec<Located<String>> = from_tables("library", libraries.collect())
            .chain(from_tables("fpga", fpgas.collect()))
            .map(|(field, clock)| Located { line: self.line(period_at(root, &field)), value: clock, field })
            .collect();
        for clock in clocks.chain(periods) {
            if !possible.contains(&clock.value) {
                let problem = Problem::NoSuchClock { clock: clock.value, possible: possible.clone() };
                let (file, line, field) = (self.file.to_string(), clock.line, clock.field);
                self.errors.push(ConstraintError { file, line, field, problem });
            }
        }
    }
}

/// Where the field `library.NAME.period_ns` begins.
fn period_at(root: &Fields, field: &str) -> usize {
    let mut table = root.table;
    let mut at = 0;
    for word in field.split('.') {
        let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == word) else { return at };
        at = value.span().start;
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return at,
        }
    }
    at
}

fn in_range(range: &Range<f64>) -> String {
    format!("a number from {} to less than {}", range.start, range.end)
}

/// A clock period, in ns, that no clock can have.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PeriodError {
    /// A text that is no number.
    #[error("choose {} ns", in_range(&PERIOD))]
    NoNumber,
    /// A number out of the range.
    #[error("{got}: choose {} ns", in_range(&PERIOD))]
    Range {
        /// The number.
        got: f64,
    },
}

/// A clock period in ns as a text, in the range of those in a file.
pub fn period(text: &str) -> Result<f64, PeriodError> {
    text.parse().map_err(|_| PeriodError::NoNumber).and_then(check_period)
}

/// The same of a number.
pub(super) fn check_period(got: f64) -> Result<f64, PeriodError> {
    if PERIOD.contains(&got) { Ok(got) } else { Err(PeriodError::Range { got }) }
}

const PERIOD: Range<f64> = 0.001..1e6;
const SHARE: Range<f64> = 0.0..1.0;
/// Nothing about a wire is 0.
const LEAST_WIRE: f64 = 1e-6;

//! What a Liberty file says about cells: area, storage, and which one is the two-input NAND that gate equivalents count in.
//!
//! Timing tables are read from the same groups by [`crate::Gates`] and [`crate::resize`]. The reader takes what libraries in the field
//! contain: missing semicolons at line ends, comments anywhere, continued lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The Debian package that the default library comes from.
pub const DEFAULT_PACKAGE: &str = "qflow-tech-osu018";

/// The text of this file, for keys of results that are kept.
pub const SOURCE: &str = include_str!("liberty.rs");

/// What installs it.
const INSTALL: &str = "sudo apt-get install qflow-tech-osu018";

/// Folders in which that package, or a qflow built by hand, puts the default library.
const DEFAULT_FOLDERS: [&str; 2] = ["/usr/share/qflow/tech/osu018", "/usr/local/share/qflow/tech/osu018"];

/// Groups inside each other, deeper than any library goes; it bounds the recursion on a broken file.
const MAX_DEPTH: usize = 64;

/// A standard-cell library.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    /// Its name, from `library (...)`.
    pub name: String,
    /// Operating conditions, process, voltage and temperature, e.g. `typical, 1.8 V, 25 °C`.
    pub corner: String,
    /// Its cells, by name.
    pub cells: BTreeMap<String, Cell>,
    /// Its unit of capacitance in fF.
    pub capacitance_ff: f64,
}

/// A cell of a [`Library`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The `area` attribute, in the library's own unit; none if the file does not say.
    pub area: Option<f64>,
    /// It has an `ff` or `ff_bank` group.
    pub flip_flop: bool,
    /// It has a `latch` or `latch_bank` group, and is no clock gate.
    pub latch: bool,
    /// It is a clock gate whose output idles low.
    pub clock_gate: Option<ClockGate>,
    /// Its input pins.
    pub inputs: Vec<String>,
    /// Its output pins, with their `function` where one is given.
    pub outputs: Vec<(String, Option<String>)>,
    /// Capacitance of its first input, in the library's unit.
    pub input_capacitance: Option<f64>,
}

/// The pins of a clock gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockGate {
    /// Lets the clock pass.
    pub enable: String,
    /// The clock that comes.
    pub clock: String,
    /// The clock that passes.
    pub output: String,
    /// Other inputs, for tests: to be low.
    pub test: Vec<String>,
}

/// A Liberty file that cannot be used.
#[derive(Debug, Error)]
pub enum LibertyError {
    /// No library was named and the default one is not installed.
    #[error("no standard-cell library: the default one (osu018) is in none of {}\n  install it: {install}\n  or name another with --liberty FILE", looked_in.join(", "))]
    NotInstalled {
        /// Folders that were searched.
        looked_in: Vec<String>,
        /// The command that installs the default library.
        install: String,
    },
    /// The file cannot be read.
    #[error("cannot read the Liberty file `{}`: {source}\n  name another with --liberty FILE, or use the default library: {install}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// The command that installs the default library.
        install: String,
    },
    /// The text is not Liberty.
    #[error("`{}`, line {line}: not a Liberty file: {what}\n  name a text .lib file with --liberty (compressed and .db files must be converted first)", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// Nothing to count gate equivalents in.
    #[error("`{}`: the library `{library}` has no two-input NAND with an area, which gate equivalents are counted in\n  name a complete standard-cell library with --liberty", path.display())]
    NoNand2 {
        /// The file.
        path: PathBuf,
        /// The library's name.
        library: String,
    },
}

/// The default library's Liberty file, found where the package puts it.
pub fn default_path() -> Result<PathBuf, LibertyError> {
    default_path_in(&DEFAULT_FOLDERS)
}

fn default_path_in(folders: &[&str]) -> Result<PathBuf, LibertyError> {
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        files.retain(|p| p.extension().is_some_and(|e| e == "lib"));
        files.sort();
        if let Some(first) = files.into_iter().next() {
            return Ok(first);
        }
    }
    Err(LibertyError::NotInstalled {
        looked_in: folders.iter().map(|f| f.to_string()).collect(),
        install: INSTALL.into(),
    })
}

/// The text of the Liberty file at `path`.
pub fn read(path: &Path) -> Result<String, LibertyError> {
    // Some libraries have Latin-1 in their comments; nothing that is used here is outside ASCII.
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| LibertyError::Read { path: path.to_path_buf(), source, install: INSTALL.into() })
}

impl Library {
    /// Reads and parses the file at `path`.
    pub fn load(path: &Path) -> Result<Self, LibertyError> {
        Self::parse(&read(path)?, path)
    }

    /// Parses `text`; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LibertyError> {
        let top = parse_groups(text, path)?;
        let cells: BTreeMap<String, Cell> =
            top.groups.iter().filter(|g| g.kind == "cell").map(|g| (g.name.clone(), cell(g))).collect();
        if cells.is_empty() {
            return Err(LibertyError::Syntax {
                path: path.to_path_buf(),
                line: text.lines().count(),
                what: "it has no cells".into(),
            });
        }
        Ok(Self { corner: corner(&top), capacitance_ff: capacitance_ff(&top), name: top.name, cells })
    }

    /// The smallest two-input NAND and its area. By function, not by name: names are each foundry's own.
    pub fn nand2(&self) -> Option<(&str, f64)> {
        self.cells
            .iter()
            .filter(|(_, cell)| is_nand2(cell))
            .filter_map(|(name, cell)| Some((name.as_str(), cell.area.filter(|a| *a > 0.0)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The buffer that stands for whatever drives an input: the smallest but one, which is what a mapper places most; or the only one.
    pub fn buffer(&self) -> Option<(&str, &Cell)> {
        let mut buffers: Vec<(&str, &Cell)> = self
            .cells
            .iter()
            .filter(|(name, cell)| is_buffer(cell) && !name.to_ascii_lowercase().contains("clk"))
            .filter(|(_, cell)| cell.area.is_some_and(|a| a > 0.0))
            .map(|(name, cell)| (name.as_str(), cell))
            .collect();
        buffers.sort_by(|a, b| a.1.area.unwrap_or(0.0).total_cmp(&b.1.area.unwrap_or(0.0)));
        buffers.get(1).or(buffers.first()).copied()
    }

    /// The clock gate with the fewest pins, and of those the smallest. Libraries keep them from mappers (`dont_use`).
    pub fn clock_gate(&self) -> Option<(&str, &ClockGate)> {
        let gates =
            self.cells.iter().filter_map(|(name, cell)| Some((name, cell.clock_gate.as_ref()?, cell.area?)));
        let least = gates.min_by(|a, b| a.1.test.len().cmp(&b.1.test.len()).then(a.2.total_cmp(&b.2)));
        least.map(|(name, gate, _)| (name.as_str(), gate))
    }

    /// Area of the smallest flip-flop.
    pub fn smallest_flip_flop(&self) -> Option<f64> {
        let flip_flops = self.cells.values().filter(|cell| cell.flip_flop);
        flip_flops.filter_map(|cell| cell.area.filter(|a| *a > 0.0)).min_by(f64::total_cmp)
    }
}

/// The whole library as a tree of groups.
pub(crate) fn parse_groups(text: &str, path: &Path) -> Result<Group, LibertyError> {
    let text = without_comments(text);
    let mut parser = Parser { text: text.as_bytes(), at: 0, line: 1 };
    parser.file().map_err(|(line, what)| LibertyError::Syntax { path: path.to_path_buf(), line, what })
}

fn cell(group: &Group) -> Cell {
    let has = |kinds: &[&str]| group.groups.iter().any(|g| kinds.contains(&g.kind.as_str()));
    let mut cell = Cell {
        area: group.attribute("area").and_then(|a| a.parse().ok()),
        flip_flop: has(&["ff", "ff_bank"]),
        clock_gate: clock_gate(group),
        ..Cell::default()
    };
    cell.latch = cell.clock_gate.is_none() && has(&["latch", "latch_bank"]);
    for pin in group.groups.iter().filter(|g| g.kind == "pin") {
        match pin.attribute("direction") {
            Some("input") => {
                if cell.inputs.is_empty() {
                    cell.input_capacitance = pin.attribute("capacitance").and_then(|c| c.parse().ok());
                }
                cell.inputs.push(pin.name.clone());
            }
            Some("output") => {
                cell.outputs.push((pin.name.clone(), pin.attribute("function").map(String::from)))
            }
            _ => {}
        }
    }
    cell
}

/// The pins of a clock gate whose output idles low.
pub(crate) fn clock_gate(cell: &Group) -> Option<ClockGate> {
    let kind = cell.attribute("clock_gating_integrated_cell")?;
    let with = |attribute: &str| -> Vec<String> {
        let has = |pin: &&Group| pin.attribute(attribute) == Some("true");
        cell.of("pin").filter(has).map(|pin| pin.name.clone()).collect()
    };
    let one = |attribute: &str| with(attribute).into_iter().next();
    kind.starts_with("latch_posedge").then_some(())?;
    Some(ClockGate {
        enable: one("clock_gate_enable_pin")?,
        clock: one("clock_gate_clock_pin")?,
        output: one("clock_gate_out_pin")?,
        test: with("clock_gate_test_pin"),
    })
}

fn corner(top: &Group) -> String {
    let mut parts = Vec::new();
    parts.extend(top.attribute("default_operating_conditions").map(String::from));
    for (name, unit) in [("nom_voltage", " V"), ("nom_temperature", " °C")] {
        parts.extend(top.attribute(name).map(|value| format!("{value}{unit}")));
    }
    if parts.is_empty() { "not stated".into() } else { parts.join(", ") }
}

/// The unit of capacitance in fF; Liberty's default is 1 pF.
fn capacitance_ff(top: &Group) -> f64 {
    // What a unit is, is a decimal: without the noise of its power of ten.
    (scaled(top.attribute("capacitive_load_unit").unwrap_or("1,pf")) * 1e24).round() / 1e9
}

/// `1ns`, `1,ff` or `100 pW` as a number of seconds, farads or watts.
pub(crate) fn scaled(text: &str) -> f64 {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != ',' && *c != '"').collect();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().unwrap_or(1.0);
    // Some write `PF` and `NS`; nothing here is in millions.
    let prefix = match text[digits..].chars().next().map(|c| c.to_ascii_lowercase()) {
        Some('m') => 1e-3,
        Some('u') => 1e-6,
        Some('n') => 1e-9,
        Some('p') => 1e-12,
        Some('f') => 1e-15,
        _ => 1.0,
    };
    number * prefix
}

fn is_buffer(cell: &Cell) -> bool {
    let ([a], [(_, Some(function))]) = (cell.inputs.as_slice(), cell.outputs.as_slice()) else {
        return false;
    };
    !cell.flip_flop
        && !cell.latch
        && [false, true].into_iter().all(|v| evaluate(function, &|pin| (pin == a).then_some(v)) == Some(v))
}

fn is_nand2(cell: &Cell) -> bool {
    let ([a, b], [(_, Some(function))]) = (cell.inputs.as_slice(), cell.outputs.as_slice()) else {
        return false;
    };
    !cell.flip_flop
        && !cell.latch
        && [(false, false), (false, true), (true, false), (true, true)].into_iter().all(|(va, vb)| {
            let value = |pin: &str| if pin == a { Some(va) } else { (pin == b).then_some(vb) };
            evaluate(function, &value) == Some(!(va && vb))
        })
}

/// The value of a Liberty function; none if it is not one, or names an unknown pin.
pub(crate) fn evaluate(function: &str, value: &dyn Fn(&str) -> Option<bool>) -> Option<bool> {
    let mut e = Expression { text: function.as_bytes(), at: 0, value };
    let result = e.or(0)?;
    e.peek().is_none().then_some(result)
}

/// Liberty's operators, tightest first: `!` and `'`, `^`, `*` `&` and nothing at all, `+` and `|`.
struct Expression<'a> {
    text: &'a [u8],
    at: usize,
    value: &'a dyn Fn(&str) -> Option<bool>,
}

impl Expression<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn or(&mut self, depth: usize) -> Option<bool> {
        let mut result = self.and(depth)?;
        while matches!(self.peek(), Some(b'+' | b'|')) {
            self.at += 1;
            result |= self.and(depth)?;
        }
        Some(result)
    }

    fn and(&mut self, depth: usize) -> Option<bool> {
        let mut result = self.xor(depth)?;
        loop {
            match self.peek() {
                Some(b'*' | b'&') => self.at += 1,
                Some(b'!' | b'(') => {}
                Some(c) if c.is_ascii_alphanumeric() || c == b'_' => {}
                _ => return Some(result),
            }
            result &= self.xor(depth)?;
        }
    }

    fn xor(&mut self, depth: usize) -> Option<bool> {
        let mut result = self.factor(depth)?;
        while self.peek() == Some(b'^') {
            self.at += 1;
            result ^= self.factor(depth)?;
        }
        Some(result)
    }

    fn factor(&mut self, depth: usize) -> Option<bool> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut result = match self.peek()? {
            b'!' => {
                self.at += 1;
                !self.factor(depth + 1)?
            }
            b'(' => {
                self.at += 1;
                let inner = self.or(depth + 1)?;
                if self.peek()? != b')' {
                    return None;
                }
                self.at += 1;
                inner
            }
            _ => {
                let start = self.at;
                while self.text.get(self.at).is_some_and(|c| c.is_ascii_alphanumeric() || b"_[]".contains(c))
                {
                    self.at += 1;
                }
                match std::str::from_utf8(&self.text[start..self.at]).ok()? {
                    "0" => false,
                    "1" => true,
                    pin => (self.value)(pin)?,
                }
            }
        };
        while self.peek() == Some(b'\'') {
            self.at += 1;
            result = !result;
        }
        Some(result)
    }
}

/// `kind (name) { attribute : value; attribute (value); groups }`.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) kind: String,
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) groups: Vec<Group>,
}

impl Group {
    /// The first attribute of that name; what stands in its parentheses where it has some.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The groups of that kind.
    pub(crate) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(move |g| g.kind == kind)
    }
}

/// The text with each comment turned into blanks, so that lines keep their numbers.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        if !quoted && rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            out.extend(rest[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[end..];
            continue;
        }
        quoted ^= c == '"';
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

type Syntax = (usize, String);

impl Parser<'_> {
    fn fail<T>(&self, what: impl Into<String>) -> Result<T, Syntax> {
        Err((self.line, what.into()))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let c = self.peek()?;
        self.at += 1;
        self.line += usize::from(c == b'\n');
        Some(c)
    }

    fn skip(&mut self, also: &[u8]) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace() || c == b'\\' || also.contains(&c)) {
            self.next();
        }
    }

    fn file(&mut self) -> Result<Group, Syntax> {
        self.skip(b"\xEF\xBB\xBF");
        let mut outer = Group::default();
        self.statement(&mut outer, 0)?;
        match outer.groups.pop() {
            Some(library) if library.kind == "library" => Ok(library),
            _ => self.fail("it does not begin with `library (...) {`"),
        }
    }

    /// One attribute or group, into `parent`.
    fn statement(&mut self, parent: &mut Group, depth: usize) -> Result<(), Syntax> {
        if depth > MAX_DEPTH {
            return self.fail("groups are nested too deeply");
        }
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || b"_.-[]".contains(&c)) {
            self.next();
        }
        let name = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
        if name.is_empty() {
            return self.fail("a name was expected");
        }
        self.skip(b"");
        match self.next() {
            Some(b':') => {
                let value = self.raw(|c| matches!(c, b';' | b'\n' | b'}'));
                parent.attributes.push((name, unquoted(&value)));
            }
            Some(b'(') => {
                let argument = self.raw(|c| c == b')');
                if self.next().is_none() {
                    return self.fail(format!("`{name} (` is not closed"));
                }
                self.skip(b"");
                if self.peek() != Some(b'{') {
                    parent.attributes.push((name, argument.replace('"', "")));
                    return Ok(());
                }
                self.next();
                let mut group = Group { kind: name, name: unquoted(&argument), ..Group::default() };
                loop {
                    self.skip(b";");
                    match self.peek() {
                        Some(b'}') => break,
                        Some(_) => self.statement(&mut group, depth + 1)?,
                        None => return self.fail(format!("`{} ({})` is not closed", group.kind, group.name)),
                    }
                }
                self.next();
                parent.groups.push(group);
            }
            _ => return self.fail(format!("`{name}` is followed by neither `:` nor `(`")),
        }
        Ok(())
    }

    /// Text up to an unquoted character that ends it, which stays unread.
    fn raw(&mut self, ends: impl Fn(u8) -> bool) -> String {
        let start = self.at;
        let mut quoted = false;
        while let Some(c) = self.peek() {
            if !quoted && ends(c) {
                break;
            }
            quoted ^= c == b'"';
            if c == b'\\' {
                self.next();
            }
            self.next();
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches('"').trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINI: &str = r#"
/* a comment with " and { */
library ("mini") {
  nom_voltage : 1.2; nom_temperature : 25
  default_operating_conditions : typ;
  capacitive_load_unit (1,pf);
  lu_table_template (t) { index_1 ("0, 1, \
     2"); }
  cell (ND2X4) { area : 9.5; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Z) { direction : output; function : "A' + B'"; timing () { values ("1, 2", \
      "3, 4"); } } }
  cell ("ND2X1") { area : 4 /* um2 */;
    pin (A) { direction : "input" } pin (B) { direction : input }
    pin (Z) { direction : output; function : "!(A B)" } }
  cell (NR2) { area : 1; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Z) { direction : output; function : "(A+B)'"; } }
  cell (DFF) { area : 20; ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }
    pin (D) { direction : input; } pin (CK) { direction : input; clock : true; }
    pin (Q) { direction : output; function : "IQ"; } }
  cell (DLAT) { latch (IQ, IQN) { enable : "G"; data_in : "D"; } }
}
"#;

    fn parse(text: &str) -> Result<Library, LibertyError> {
        Library::parse(text, Path::new("mini.lib"))
    }

    #[test]
    fn units_are_read_in_any_case() {
        for (text, value) in
            [("1ns", 1e-9), ("1NS", 1e-9), ("1,pf", 1e-12), ("10, PF", 1e-11), ("100 pW", 1e-10)]
        {
            assert!((scaled(text) / value - 1.0).abs() < 1e-12, "{text}: {}", scaled(text));
        }
    }

    #[test]
    fn cells_and_corner() {
        let library = parse(MINI).unwrap();
        assert_eq!(library.name, "mini");
        assert_eq!(library.corner, "typ, 1.2 V, 25 °C");
        assert_eq!(library.cells.keys().collect::<Vec<_>>(), ["DFF", "DLAT", "ND2X1", "ND2X4", "NR2"]);
        assert_eq!(library.cells["DFF"].area, Some(20.0));
        assert!(library.cells["DFF"].flip_flop && !library.cells["DFF"].latch);
        assert!(library.cells["DLAT"].latch && !library.cells["DLAT"].flip_flop);
        assert_eq!(library.cells["DLAT"].area, None);
    }

    #[test]
    fn the_smallest_nand_is_found_by_function() {
        assert_eq!(parse(MINI).unwrap().nand2(), Some(("ND2X1", 4.0)));
    }

    #[test]
    fn functions() {
        let value = |pin: &str| match pin {
            "T" => Some(true),
            "F" => Some(false),
            _ => None,
        };
        for (text, result) in [
            ("T F", Some(false)),
            ("T*T&T", Some(true)),
            ("F + T F", Some(false)),
            ("F | T ^ T T", Some(false)),
            ("!F'", Some(false)),
            ("(T)'", Some(false)),
            ("!(F F)", Some(true)),
            ("1 0'", Some(true)),
            ("X", None),
            ("(T", None),
            ("T)", None),
            ("", None),
        ] {
            assert_eq!(evaluate(text, &value), result, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000), &value), None);
        assert_eq!(evaluate(&"!".repeat(100_000), &value), None);
    }

    #[test]
    fn what_is_not_liberty_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("module m; endmodule", 1),
            ("library (x) {\n  cell (A) {\n    area : 1;\n", 4),
            ("library (x) {\n  = \n}", 2),
            ("library (x) {\n}\n", 2),
            ("library (x", 1),
            ("lib (x) { }", 1),
        ] {
            match parse(text) {
                Err(LibertyError::Syntax { line: found, .. }) => assert_eq!(found, line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert!(matches!(parse(&"library (x) {".repeat(10_000)), Err(LibertyError::Syntax { .. })));
    }

    #[test]
    fn a_missing_library_says_how_to_get_it() {
        let error = default_path_in(&["/nonexistent/tech"]).unwrap_err().to_string();
        assert!(
            error.contains("sudo apt-get install qflow-tech-osu018") && error.contains("--liberty"),
            "{error}"
        );
        let error = Library::load(Path::new("/nonexistent/x.lib")).unwrap_err().to_string();
        assert!(
            error.contains("sudo apt-get install qflow-tech-osu018") && error.contains("/nonexistent/x.lib"),
            "{error}"
        );
    }
}

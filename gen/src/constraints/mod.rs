//! Timing constraints: one TOML file in, SDC, XDC, PCF and LPF for a generated design out.
//!
//! The file speaks of ports by name, by pattern (`*` stands for any characters) or by channel, for all blocks or for some.
//! [`Constraints::resolve`] holds it against the ports of one design: a name that means nothing is an error, and so is a port
//! that nothing constrains.
//!
//! ```
//! use windlass_catalog::{BlockSpec, Request};
//! use windlass_gen::{constraints::Constraints, emit};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = BlockSpec::new("round_robin", Request { slots: 8, ..Request::default() })?;
//! let design = emit::emit(&*spec.hardware())?;
//! let constraints = Constraints::embedded();
//! let resolved = constraints.resolve(spec.name(), &design.top().name, &design.top().ports)?;
//! assert!(resolved.sdc(Some("osu018"))?.contains("create_clock -name clk_i -period 5.000"));
//! # Ok(())
//! # }
//! ```

mod names;
mod read;
mod write;

use crate::emit;
use names::{matches, near};
pub use read::{PeriodError, period};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use thiserror::Error;
use windlass_catalog::{BLOCKS, BlockSpec, Request};
use windlass_netlist::WireModel;
use windlass_rtl::params::{ArbiterKind, Encoding, WindowKind};
use windlass_rtl::port::{CLOCK, Direction, Port};

/// Version of the TOML format.
pub const FORMAT_VERSION: u32 = 1;

/// The file that is used where no other is given.
pub const EMBEDDED: &str = include_str!("../../../constraints/windlass.toml");

/// What the embedded file is called in messages and in the files made from it.
const EMBEDDED_NAME: &str = "constraints/windlass.toml";

/// A value, and where in the file it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its line, from 1.
    pub line: usize,
    /// The field, with its table: `io[1].ports`.
    pub field: String,
}

/// A clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// Its port, and its name.
    pub port: Located<String>,
    /// Period in nanoseconds, where neither library nor FPGA says another.
    pub period_ns: f64,
    /// Uncertainty of the edge at setup checks, in nanoseconds.
    pub setup_uncertainty_ns: f64,
    /// The same at hold checks.
    pub hold_uncertainty_ns: f64,
}

/// How much of the period is spent outside, before inputs and after outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Names or patterns of ports.
    pub ports: Vec<Located<String>>,
    /// Channels, all of whose ports are meant.
    pub channels: Vec<Located<String>>,
    /// Blocks to which it applies; empty: to all.
    pub blocks: Vec<Located<String>>,
    /// The clock.
    pub clock: Located<String>,
    /// Share of the period that is gone when an input arrives.
    pub input: Option<f64>,
    /// Share of the period that is needed after an output.
    pub output: Option<f64>,
}

/// How an exception relaxes its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxation {
    /// Not timed at all.
    False,
    /// Given more cycles.
    Multicycle {
        /// Cycles for setup.
        setup: u32,
        /// Cycles by which the hold check moves back.
        hold: u32,
    },
}

/// Paths that are not checked against one period.
#[derive(Clone, Debug, PartialEq)]
pub struct Exception {
    /// Input ports where they begin; empty: anywhere.
    pub from: Vec<Located<String>>,
    /// Output ports where they end; empty: anywhere.
    pub to: Vec<Located<String>>,
    /// Blocks to which it applies; empty: to all that have the ports.
    pub blocks: Vec<Located<String>>,
    /// What holds instead.
    pub relaxation: Relaxation,
    /// Why that is right.
    pub reason: String,
}

/// What a cell library has around a block.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryEnvironment {
    /// Pattern of the Liberty file's library name.
    pub pattern: String,
    /// The cell that drives each input.
    pub driving_cell: String,
    /// Its output pin.
    pub driving_pin: String,
    /// Capacitance at each output, in the library's unit.
    pub load: f64,
    /// Periods that replace those of the clocks, in nanoseconds.
    pub period_ns: BTreeMap<String, f64>,
    /// Rows and wires of its technology, if the file has them.
    pub wires: Option<WireModel>,
}

/// What an FPGA family needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FpgaEnvironment {
    /// Periods that replace those of the clocks, in nanoseconds.
    pub period_ns: BTreeMap<String, f64>,
    /// Standard of the pins.
    pub io_standard: Option<String>,
    /// Pins.
    pub pins: Vec<Pin>,
}

/// Where a port is on the package.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The port.
    pub port: Located<String>,
    /// Its sites, bit 0 first.
    pub sites: Located<Vec<String>>,
    /// Blocks to which it applies; empty: to all that have the port.
    pub blocks: Vec<Located<String>>,
}

/// All that the file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    /// The file's name, without folders: what is made from it must not depend on where it lay.
    pub file: String,
    /// The file as it was named: what messages call it.
    pub path: String,
    /// The clocks.
    pub clocks: Vec<Clock>,
    /// I/O budgets; of several that name a port the last counts.
    pub io: Vec<Budget>,
    /// False and multi-cycle paths.
    pub exceptions: Vec<Exception>,
    /// Cell libraries, by short name.
    pub libraries: BTreeMap<String, LibraryEnvironment>,
    /// FPGA families, by short name.
    pub fpgas: BTreeMap<String, FpgaEnvironment>,
}

/// How [`WireModel`] is written in the file.
pub(super) const WIRES_ARE: &str =
    "a table: { row_um = MICROMETRES, ohm_per_um = OHMS, ff_per_um = FEMTOFARADS }";

/// FPGA families that the file can have.
pub const FPGAS: [&str; 3] = ["ice40", "ecp5", "xc7"];

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read.
    Read(String),
    /// It is no TOML.
    Syntax(String),
    /// The field must be there.
    Missing {
        /// What it should hold.
        expected: String,
    },
    /// There is no such field.
    Unknown {
        /// The fields that there are.
        possible: Vec<String>,
    },
    /// The value cannot be that.
    Value {
        /// What it is.
        got: String,
        /// What it must be.
        expected: String,
    },
    /// No port, of the design or of any block to which the entry could apply, has that name.
    NoSuchPort {
        /// The name, pattern or channel.
        port: String,
        /// The design.
        design: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// There is no such block.
    NoSuchBlock {
        /// The name.
        block: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// There is no such clock.
    NoSuchClock {
        /// The name.
        clock: String,
        /// The clocks.
        possible: Vec<String>,
    },
    /// Nothing constrains these ports.
    Uncovered {
        /// The design.
        design: String,
        /// The ports.
        ports: Vec<String>,
        /// What is missing for them.
        what: &'static str,
    },
    /// The number of sites is not the port's width.
    Pins {
        /// The port.
        port: String,
        /// Its width.
        width: u32,
        /// Sites.
        sites: usize,
    },
    /// An entry before it says where the port is.
    PinTwice {
        /// The port.
        port: String,
        /// That entry's line.
        line: usize,
    },
    /// Another bit has the site.
    SiteTaken {
        /// The site.
        site: String,
        /// The port of that bit.
        port: String,
    },
    /// The library is not in the file.
    NoSuchLibrary {
        /// The name.
        library: String,
        /// The libraries.
        possible: Vec<String>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let like = |names: &[String]| match names {
            [] => String::new(),
            names => format!("; did you mean `{}`?", names.join("`, `")),
        };
        match self {
            Self::Read(what) => write!(f, "{what}; name a file that can be read, or leave out --constraints"),
            Self::Syntax(what) => write!(f, "{what}; the file must be TOML"),
            Self::Missing { expected } => write!(f, "is missing; add {expected}"),
            Self::Unknown { possible } => write!(f, "is not a field here; possible: {}", possible.join(", ")),
            Self::Value { got, expected } => write!(f, "is {got}, but must be {expected}"),
            Self::NoSuchPort { port, design, near } => {
                write!(f, "`{port}` names no port of {design}{}", like(near))?;
                if near.is_empty() {
                    write!(f, "; `windlass gen` lists the ports in NAME.json")?;
                }
                Ok(())
            }
            Self::NoSuchBlock { block, near } => {
                write!(f, "there is no block `{block}`{}", like(near))?;
                write!(f, "; `windlass gen --list` prints all names")
            }
            Self::NoSuchClock { clock, possible } => {
                write!(f, "there is no [[clock]] `{clock}`; ")?;
                match &possible[..] {
                    [] => write!(f, "add one with that `port`"),
                    possible => write!(f, "there are: {}", possible.join(", ")),
                }
            }
            Self::Uncovered { design, ports, what } => {
                write!(f, "ports of {design} have no {what}: {}; add the ports to one", ports.join(", "))
            }
            Self::Pins { port, width, sites } => {
                write!(f, "has {sites} sites, but `{port}` is {width} wide: name one per bit, bit 0 first")
            }
            Self::PinTwice { port, line } => {
                write!(
                    f,
                    "line {line} has sites for `{port}` already; leave one of the two out, or give both `blocks` that differ"
                )
            }
            Self::SiteTaken { site, port } => {
                write!(f, "`{site}` is a site of `{port}` already; give each bit a site of its own")
            }
            Self::NoSuchLibrary { library, possible } => {
                let possible = possible.join(", ");
                write!(
                    f,
                    "there is no library `{library}`; there are: {possible}; add [library.NAME] with a `match`"
                )
            }
        }
    }
}

/// Something wrong in the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{}{}: {problem}", if *.line == 0 { String::new() } else { format!("{line}") }, said_before(*.line, field))]
pub struct ConstraintError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 where it is the whole file.
    pub line: usize,
    /// The field, with its table.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

/// The field behind the line; a file that is no TOML has none.
fn said_before(line: usize, field: &str) -> String {
    match (line, field) {
        (_, "") => String::new(),
        (0, field) => field.into(),
        (_, field) => format!(": {field}"),
    }
}

/// All that is wrong, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(ConstraintError::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConstraintErrors(pub Vec<ConstraintError>);

impl Constraints {
    /// The embedded file.
    pub fn embedded() -> Self {
        Self::parse(EMBEDDED, EMBEDDED_NAME)
            .unwrap_or_else(|errors| unreachable!("the embedded file is tested: {errors}"))
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ConstraintErrors> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            ConstraintErrors(vec![ConstraintError {
                file: path.display().to_string(),
                line: 0,
                field: " cannot be read".into(),
                problem: Problem::Read(error.to_string()),
            }])
        })?;
        let mut constraints = Self::parse(&text, &path.display().to_string())?;
        if let Some(name) = path.file_name() {
            constraints.file = name.to_string_lossy().into_owned();
        }
        Ok(constraints)
    }

    /// Reads a file's text; `file` is its name, for messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConstraintErrors> {
        read::read(text, file)
    }

    /// The same with one period for every clock, whatever the library or the FPGA.
    ///
    /// # Errors
    /// A period out of the range of those in a file.
    pub fn with_period(mut self, period_ns: f64) -> Result<Self, PeriodError> {
        read::check_period(period_ns)?;
        self.clocks.iter_mut().for_each(|clock| clock.period_ns = period_ns);
        self.libraries.values_mut().for_each(|library| library.period_ns.clear());
        self.fpgas.values_mut().for_each(|fpga| fpga.period_ns.clear());
        Ok(self)
    }

    /// The library of that short name, or the one whose pattern fits a Liberty file's library name.
    pub fn library(&self, name: &str) -> Result<(&str, &LibraryEnvironment), ConstraintErrors> {
        let found = self.libraries.get_key_value(name);
        found
            .or_else(|| self.libraries.iter().find(|(_, library)| matches(&library.pattern, name)))
            .map(|(name, library)| (name.as_str(), library))
            .ok_or_else(|| {
                ConstraintErrors(vec![ConstraintError {
                    file: self.path.clone(),
                    line: 0,
                    field: " library".into(),
                    problem: Problem::NoSuchLibrary {
                        library: name.into(),
                        possible: self.libraries.keys().cloned().collect(),
                    },
                }])
            })
    }

    /// Rows and wires of the library, by either of its names.
    ///
    /// # Errors
    /// A library that the file does not have, or has without wires.
    pub fn wires(&self, name: &str) -> Result<WireModel, ConstraintErrors> {
        let (name, library) = self.library(name)?;
        library.wires.ok_or_else(|| {
            ConstraintErrors(vec![ConstraintError {
                file: self.path.clone(),
                line: 0,
                field: format!(" library.{name}.wires"),
                problem: Problem::Missing { expected: WIRES_ARE.into() },
            }])
        })
    }

    /// Holds the file against the ports of the design `top`, which is the block called `block` (`window_matrix`).
    ///
    /// A name that is in no entry's reach is an error, and so is a port that no clock and no budget covers. An entry without
    /// `blocks` may name ports that this design lacks, as long as some block has them.
    pub fn resolve<'a>(
        &'a self,
        block: &str,
        top: &str,
        ports: &'a [Port],
    ) -> Result<Resolved<'a>, ConstraintErrors> {
        Resolver { constraints: self, block, top, ports, errors: Vec::new() }.run()
    }
}

/// Constraints of one design as static timing takes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sdc {
    /// SDC, in ns and in the library's own unit of capacitance.
    pub text: String,
    /// What it says, in one line; may be empty.
    pub summary: String,
    /// The cell that drives each input, and the load of each output in the library's own unit.
    pub driver: Option<(String, f64)>,
    /// The inputs, as Tcl's lists of ports that are timed alike: with one budget and the same exceptions. Between two such groups the path
    /// with the least slack is the one that needs the longest period. Empty: all are alike.
    pub inputs: Vec<String>,
    /// The same for outputs.
    pub outputs: Vec<String>,
    /// The false and multi-cycle paths, so that one can be told that is none.
    pub exceptions: Vec<SdcException>,
}

/// An exception of an [`Sdc`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdcException {
    /// Where its paths begin, as Tcl's list of ports; empty: anywhere.
    pub from: String,
    /// Where they end.
    pub to: String,
    /// What it is, in words.
    pub said: String,
}

/// What the file says of one design.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    constraints: &'a Constraints,
    top: String,
    /// Clocks that the design has, or that its budgets need; the second value tells whether it has the port.
    clocks: Vec<(&'a Clock, bool)>,
    /// Inputs with the same clock and share, in the order of the ports.
    inputs: Vec<Group<'a>>,
    outputs: Vec<Group<'a>>,
    exceptions: Vec<ResolvedException<'a>>,
    pins: BTreeMap<&'static str, Vec<(&'a Port, &'a [String])>>,
    outside: Option<Outside>,
}

/// What the ports of a design are called at a module around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// That module.
    pub top: String,
    /// Of each port of the design that leads out its bits there, bit 0 first.
    pub bits: BTreeMap<String, Vec<String>>,
    /// Ports of that module that lead to none of the design's, by the one that has their budget.
    pub like: BTreeMap<String, Vec<String>>,
}

impl Resolved<'_> {
    /// The constraints of a module around the design. An exception is left out if a side of it does not lead out.
    #[must_use]
    pub fn outside(&self, outside: Outside) -> Self {
        let mut resolved = self.clone();
        let leads = |port: &&Port| outside.bits.contains_key(&port.name);
        resolved.exceptions.retain_mut(|exception| {
            let sides = [&mut exception.from, &mut exception.to];
            sides.into_iter().all(|side| {
                let was_named = !side.is_empty();
                side.retain(leads);
                !was_named || !side.is_empty()
            })
        });
        resolved.top = outside.top.clone();
        resolved.outside = Some(outside);
        resolved
    }
}

/// Ports with the same budget.
#[derive(Clone, Debug)]
struct Group<'a> {
    clock: &'a str,
    share: f64,
    ports: Vec<&'a Port>,
}

#[derive(Clone, Debug)]
struct ResolvedException<'a> {
    exception: &'a Exception,
    from: Vec<&'a Port>,
    to: Vec<&'a Port>,
}

/// A clock, and how much of its period.
type Share<'a> = Option<(&'a str, f64)>;

struct Resolver<'a, 'b> {
    constraints: &'a Constraints,
    block: &'b str,
    top: &'b str,
    ports: &'a [Port],
    errors: Vec<ConstraintError>,
}

impl<'a> Resolver<'a, '_> {
    fn run(mut self) -> Result<Resolved<'a>, ConstraintErrors> {
        let constraints = self.constraints;
        let has = |name: &str| self.ports.iter().any(|p| p.name == name && p.direction == Direction::Input);
        let present: Vec<(&Clock, bool)> =
            constraints.clocks.iter().map(|c| (c, has(&c.port.value))).collect();
        for (clock, present) in &present {
            if !present {
                self.known(&clock.port, false);
            }
        }
        let (inputs, outputs) = self.groups();
        let exceptions = self.exceptions();
        let pins = self.pins();
        if !self.errors.is_empty() {
            self.errors.sort_by_key(|e| (e.line == 0, e.line));
            return Err(ConstraintErrors(self.errors));
        }
        let used: BTreeSet<&str> = inputs.iter().chain(&outputs).map(|g: &Group| g.clock).collect();
        let clocks = present.into_iter().filter(|(c, here)| *here || used.contains(&*c.port.value)).collect();
        let top = self.top.to_string();
        Ok(Resolved { constraints, top, clocks, inputs, outputs, exceptions, pins, outside: None })
    }

    fn is_clock(&self, port: &Port) -> bool {
        self.constraints.clocks.iter().any(|c| c.port.value == port.name)
    }

    /// Of each port, the budget of an input and that of an output: the last entry that names it counts.
    fn budgets(&mut self) -> Vec<(Share<'a>, Share<'a>)> {
        let constraints = self.constraints;
        let mut budgets: Vec<(Share, Share)> = vec![(None, None); self.ports.len()];
        for budget in &constraints.io {
            if !self.applies(&budget.blocks) {
                continue;
            }
            let mut meant = BTreeSet::new();
            for pattern in &budget.ports {
                meant.extend(self.find(pattern, !budget.blocks.is_empty(), false));
            }
            for channel in &budget.channels {
                meant.extend(self.find(channel, !budget.blocks.is_empty(), true));
            }
            for index in meant {
                let (input, output) = &mut budgets[index];
                *input = budget.input.map(|share| (budget.clock.value.as_str(), share)).or(*input);
                *output = budget.output.map(|share| (budget.clock.value.as_str(), share)).or(*output);
            }
        }
        budgets
    }

    /// Inputs and outputs by what budget they have; those without are errors, and so is a clock that nothing says anything of.
    fn groups(&mut self) -> (Vec<Group<'a>>, Vec<Group<'a>>) {
        let budgets = self.budgets();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let (mut bare_inputs, mut bare_outputs, mut bare_clocks) = (Vec::new(), Vec::new(), Vec::new());
        for (port, (input, output)) in self.ports.iter().zip(budgets) {
            if self.is_clock(port) {
                continue;
            }
            if port.name == CLOCK {
                bare_clocks.push(port.name.clone());
                continue;
            }
            let (budget, groups, bare) = match port.direction {
                Direction::Input => (input, &mut inputs, &mut bare_inputs),
                Direction::Output => (output, &mut outputs, &mut bare_outputs),
            };
            match budget {
                Some((clock, share)) => add(groups, clock, share, port),
                None => bare.push(port.name.clone()),
            }
        }
        for (ports, field, what) in [
            (bare_clocks, "clock", "[[clock]]"),
            (bare_inputs, "io", "`input` budget in any [[io]]"),
            (bare_outputs, "io", "`output` budget in any [[io]]"),
        ] {
            if !ports.is_empty() {
                let problem = Problem::Uncovered { design: self.top.into(), ports, what };
                self.errors.push(self.error(0, &format!(" {field}"), problem));
            }
        }
        (inputs, outputs)
    }

    fn exceptions(&mut self) -> Vec<ResolvedException<'a>> {
        let constraints = self.constraints;
        let mut exceptions = Vec::new();
        for exception in &constraints.exceptions {
            if !self.applies(&exception.blocks) {
                continue;
            }
            let strict = !exception.blocks.is_empty();
            let mut side = |patterns: &'a [Located<String>], direction| -> Vec<&'a Port> {
                let found: BTreeSet<usize> =
                    patterns.iter().flat_map(|p| self.find(p, strict, false)).collect();
                let ports = found.into_iter().map(|i| &self.ports[i]);
                ports.filter(|p| p.direction == direction && !self.is_clock(p)).collect()
            };
            let from = side(&exception.from, Direction::Input);
            let to = side(&exception.to, Direction::Output);
            // Without the ports of one side it would relax more than was meant.
            let whole = (exception.from.is_empty() || !from.is_empty())
                && (exception.to.is_empty() || !to.is_empty());
            if whole {
                exceptions.push(ResolvedException { exception, from, to });
            }
        }
        exceptions
    }

    /// The pins of each FPGA family, by port.
    fn pins(&mut self) -> BTreeMap<&'static str, Vec<(&'a Port, &'a [String])>> {
        let constraints = self.constraints;
        let mut pins: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for family in FPGAS {
            let Some(fpga) = constraints.fpgas.get(family) else { continue };
            let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
            let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
            for pin in &fpga.pins {
                if !self.applies(&pin.blocks) {
                    continue;
                }
                for index in self.find(&pin.port, !pin.blocks.is_empty(), false) {
                    let port = &self.ports[index];
                    let sites = &pin.sites.value;
                    if sites.len() != port.width as usize {
                        let problem =
                            Problem::Pins { port: port.name.clone(), width: port.width, sites: sites.len() };
                        self.errors.push(self.error(pin.sites.line, &pin.sites.field, problem));
                    }
                    if let Some(line) = lines.insert(&port.name, pin.port.line) {
                        let problem = Problem::PinTwice { port: port.name.clone(), line };
                        self.errors.push(self.error(pin.port.line, &pin.port.field, problem));
                    }
                    for site in sites {
                        if let Some(other) = taken.insert(site, &port.name) {
                            let problem = Problem::SiteTaken { site: site.clone(), port: other.into() };
                            self.errors.push(self.error(pin.sites.line, &pin.sites.field, problem));
                        }
                    }
                    pins.entry(family).or_default().push((port, sites.as_slice()));
                }
            }
        }
        pins
    }

    fn error(&self, line: usize, field: &str, problem: Problem) -> ConstraintError {
        ConstraintError { file: self.constraints.path.clone(), line, field: field.into(), problem }
    }

    fn applies(&self, blocks: &[Located<String>]) -> bool {
        blocks.is_empty() || blocks.iter().any(|b| b.value == self.block)
    }

    /// The ports of the design that are meant. None is an error where the entry is for this block, or for no block that there is.
    fn find(&mut self, name: &Located<String>, strict: bool, channel: bool) -> Vec<usize> {
        let is_meant = |port: &Port| matches(&name.value, if channel { &port.channel } else { &port.name });
        let found: Vec<usize> =
            self.ports.iter().enumerate().filter(|(_, p)| is_meant(p)).map(|(i, _)| i).collect();
        if found.is_empty() {
            self.unless_known(name, strict, channel);
        }
        found
    }

    fn known(&mut self, name: &Located<String>, channel: bool) {
        self.unless_known(name, false, channel);
    }

    fn unless_known(&mut self, name: &Located<String>, strict: bool, channel: bool) {
        let key = |port: &Port| if channel { port.channel.clone() } else { port.name.clone() };
        let here: BTreeSet<String> = self.ports.iter().map(key).filter(|k| !k.is_empty()).collect();
        // `ret_slot_9_i` in a window with two retire ports is a mistake; in a picker it is another block's.
        let sibling = here.iter().any(|k| names::without_numbers(k) == names::without_numbers(&name.value));
        if !strict && !sibling {
            let wanted = names::without_numbers(&name.value);
            let mut all = all_ports().iter().map(|(n, c)| if channel { c } else { n });
            if all.any(|k| matches(&wanted, k)) {
                return;
            }
        }
        let mut near = near(&name.value, here.iter().map(String::as_str));
        if near.is_empty() && !strict {
            near =
                names::near(&name.value, all_ports().iter().map(|(n, c)| if channel { &**c } else { &**n }));
        }
        let problem = Problem::NoSuchPort { port: name.value.clone(), design: self.top.into(), near };
        self.errors.push(self.error(name.line, &name.field, problem));
    }
}

fn add<'a>(groups: &mut Vec<Group<'a>>, clock: &'a str, share: f64, port: &'a Port) {
    match groups.iter_mut().find(|g| g.clock == clock && g.share == share) {
        Some(group) => group.ports.push(port),
        None => groups.push(Group { clock, share, ports: vec![port] }),
    }
}

/// Name and channel of every port that some block has, numbers written as `#`.
fn all_ports() -> &'static BTreeSet<(String, String)> {
    static ALL: std::sync::OnceLock<BTreeSet<(String, String)>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let small = Request { slots: 8, sms: 8, scheduled: 32, ..Request::default() };
        let requests = [
            small,
            Request {
                encoding: Encoding::Mask,
                window: WindowKind::List,
                arbiter: ArbiterKind::Single,
                ..small
            },
        ];
        let specs = requests.iter().flat_map(|r| BLOCKS.iter().filter_map(|b| BlockSpec::new(b, *r).ok()));
        // Only what is emitted knows of channels.
        let ports = specs.flat_map(|spec| emit::ports(&*spec.hardware()).unwrap_or_else(|_| spec.ports()));
        ports.map(|p| (names::without_numbers(&p.name), p.channel)).collect()
    })
}

//! Static timing: how long the paths of a netlist take, from where to where, in the names of the RTL.
//!
//! OpenSTA reads the netlist, the library and constraints (SDC). There are no wires yet, and so no wire load: real paths are longer.

use super::area::round4;
use crate::constraints::Sdc;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

/// What stands beside every time, so that nobody takes it for a measurement of silicon.
pub const TIMING_LABEL: &str = "estimate after synthesis, before layout, no wire load";

/// Paths that a report shows.
const WORST: usize = 10;

/// Paths that are asked for at once: many are alike, and only one of those is shown.
const ASKED: usize = 400;

/// Where paths begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    /// Inside the design, from flip-flop to flip-flop: the clock it can have when all that is outside is registered.
    RegisterToRegister,
    /// From an input port.
    InputToRegister,
    /// To an output port.
    RegisterToOutput,
    /// Through the design, without a flip-flop on the way.
    InputToOutput,
    /// All of them: what a mapper says, which knows only the logic between flip-flops.
    Logic,
}

impl PathClass {
    /// The classes that OpenSTA is asked for.
    pub const TIMED: [Self; 4] =
        [Self::RegisterToRegister, Self::InputToRegister, Self::RegisterToOutput, Self::InputToOutput];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::RegisterToRegister => "register to register",
            Self::InputToRegister => "input to register",
            Self::RegisterToOutput => "register to output",
            Self::InputToOutput => "input to output",
            Self::Logic => "logic between registers",
        }
    }
}

impl fmt::Display for PathClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The times of a netlist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingReport {
    /// Tool and version.
    pub tool: String,
    /// True if no static timing was done: the number is the mapper's own, without flip-flops, set-up times and port budgets.
    pub estimate: bool,
    /// The classes that the design has paths of.
    pub classes: Vec<ClassTiming>,
    /// The worst paths over all classes, longest first; of paths whose ends differ in numbers only, the longest.
    pub paths: Vec<TimingPath>,
}

impl TimingReport {
    /// The class, if the design has such paths.
    pub fn class(&self, class: PathClass) -> Option<&ClassTiming> {
        self.classes.iter().find(|c| c.class == class)
    }

    /// What the clock is limited by inside: register to register; in a design without such paths, the slowest class.
    pub fn limit(&self) -> Option<&ClassTiming> {
        self.class(PathClass::RegisterToRegister)
            .or_else(|| self.classes.iter().max_by(|a, b| a.min_period_ns.total_cmp(&b.min_period_ns)))
    }
}

/// The longest path of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassTiming {
    /// The class.
    pub class: PathClass,
    /// Time inside the design, set-up time and clock uncertainty included.
    pub delay_ns: f64,
    /// Time that the constraints give to what is outside, at their clock.
    pub external_ns: f64,
    /// The shortest clock period with which the path works when what is outside keeps its share of the period.
    pub min_period_ns: f64,
    /// 1 / `min_period_ns`.
    pub fmax_mhz: f64,
    /// Time left at the constraints' clock; negative if it does not work. None in an estimate.
    pub slack_ns: Option<f64>,
}

impl ClassTiming {
    fn new(
        class: PathClass,
        delay_ns: f64,
        external_ns: f64,
        min_period_ns: f64,
        slack_ns: Option<f64>,
    ) -> Self {
        let fmax_mhz = if min_period_ns > 0.0 { (1e4 / min_period_ns).round() / 10.0 } else { 0.0 };
        Self { class, delay_ns, external_ns, min_period_ns, fmax_mhz, slack_ns }
    }
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingPath {
    /// Its class.
    pub class: PathClass,
    /// Where it starts.
    pub from: PathEnd,
    /// Where it ends.
    pub to: PathEnd,
    /// Time inside the design, set-up time and clock uncertainty included.
    pub delay_ns: f64,
    /// Time that the constraints give to what is outside, at their clock.
    pub external_ns: f64,
    /// The shortest clock period with which it works when what is outside keeps its share of the period.
    pub min_period_ns: f64,
    /// Time left at the constraints' clock.
    pub slack_ns: f64,
    /// Cells between the ends.
    pub levels: u64,
    /// Signals of the RTL that it goes through, as far as they have kept their names.
    pub through: Vec<String>,
    /// Endpoints, of those that were looked at, whose worst path differs from this one in numbers only, itself included.
    pub alike: u64,
}

/// An end of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathEnd {
    /// True for a port of the design.
    pub port: bool,
    /// Instance that has the register, e.g. `u_window.u_slots`; empty at the top.
    pub block: String,
    /// Register or port, with its bit, e.g. `valid_q[3]`.
    pub name: String,
}

impl PathEnd {
    /// From a hierarchical name.
    pub fn new(port: bool, full: &str) -> Self {
        let bit = full.find('[').unwrap_or(full.len());
        match full[..bit].rfind('.') {
            Some(dot) if !port => Self { port, block: full[..dot].into(), name: full[dot + 1..].into() },
            _ => Self { port, block: String::new(), name: full.into() },
        }
    }
}

impl fmt::Display for PathEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.block.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}.{}", self.block, self.name)
        }
    }
}

/// What the cells of a netlist are called in the RTL: by instance, the register for a flip-flop, the signal for another cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub registers: BTreeMap<String, String>,
    pub signals: BTreeMap<String, String>,
}

/// The mapper's own delay.
pub(super) fn estimate(tool: &str, delay_ps: f64) -> TimingReport {
    let delay = round4(delay_ps / 1000.0);
    TimingReport {
        tool: tool.into(),
        estimate: true,
        classes: vec![ClassTiming::new(PathClass::Logic, delay, 0.0, delay, None)],
        paths: Vec::new(),
    }
}

/// The constraints that hold where none are given: one clock of 1 ns, no time outside.
pub(super) fn default_sdc(clock: Option<&str>) -> Sdc {
    let source = clock.map(|port| format!(" [get_ports {port}]")).unwrap_or_default();
    let text = format!(
        "create_clock -name clk -period 1.0{source}\n\
         set_input_delay 0 -clock clk [data_inputs]\n\
         set_output_delay 0 -clock clk [all_outputs]\n"
    );
    Sdc { text, ..Sdc::default() }
}

/// The files that OpenSTA reads.
pub(super) struct Files<'a> {
    /// Structural Verilog.
    pub netlist: &'a str,
    /// Its wires; ideal ones without.
    pub spef: Option<&'a str>,
    /// The text of the SDC.
    pub constraints: &'a str,
}

/// OpenSTA's script; the text of `sdc` is in the file for constraints, and `gates` are the enable pins of clock gates.
/// `driver` is (cell, load); both are left alone where the constraints
/// have them. Capacitance is in the library's own unit throughout: reading a library sets the units, whatever was set before.
pub(super) fn script(
    top: &str,
    files: &Files,
    sdc: &Sdc,
    clock: Option<&str>,
    gates: &[String],
    driver: Option<(&str, f64)>,
) -> String {
    let clock = clock.unwrap_or_default();
    let Files { netlist, spef, constraints } = files;
    let mut script = format!(
        "read_liberty timing.lib\n\
         set_cmd_units -time ns\n\
         read_verilog {netlist}\n\
         link_design {top}\n\
         proc data_inputs {{}} {{\n\
         \x20 set ports {{}}\n\
         \x20 foreach port [all_inputs] {{ if {{[get_property $port full_name] ne \"{clock}\"}} {{ lappend ports $port }} }}\n\
         \x20 return $ports\n\
         }}\n\
         source {constraints}\n"
    );
    if let Some(spef) = spef {
        let _ = writeln!(script, "read_spef {spef}");
    }
    if let Some((cell, load)) = driver {
        if !sdc.text.contains("set_driving_cell") && !sdc.text.contains("set_input_transition") {
            let _ = writeln!(script, "set_driving_cell -lib_cell {cell} [data_inputs]");
        }
        if !sdc.text.contains("set_load") {
            let _ = writeln!(script, "set_load {load} [all_outputs]");
        }
    }
    script.push_str(
        "foreach c [all_clocks] { puts \"@clock [get_property $c full_name] [get_property $c period]\" }\n",
    );
    let _ = write!(
        script,
        "proc class {{name from to}} {{\n\
         \x20 puts \"@class $name\"\n\
         \x20 if {{[llength $from] > 0 && [llength $to] > 0}} {{\n\
         \x20   report_checks -path_delay max -format full -from $from -to $to -group_count {ASKED} -digits 4\n\
         \x20 }}\n\
         }}\n"
    );
    if !sdc.exceptions.is_empty() {
        script.push_str(
            "proc both {ends ports} {\n\
             \x20 set names {}\n\
             \x20 foreach port $ports { lappend names [get_property $port full_name] }\n\
             \x20 set found {}\n\
             \x20 foreach end $ends { if {[lsearch -exact $names [get_property $end full_name]] >= 0} { lappend found $end } }\n\
             \x20 return $found\n\
             }\n",
        );
    }
    let list = |given: &[String], all: &str| if given.is_empty() { vec![all.into()] } else { given.to_vec() };
    let (inputs, outputs) = (list(&sdc.inputs, "[data_inputs]"), list(&sdc.outputs, "[all_outputs]"));
    let starts = vec!["[all_registers -clock_pins]".to_string()];
    let mut ends = vec!["[all_registers -data_pins]".to_string()];
    // In pieces, so that no line gets too long.
    for (at, gates) in gates.chunks(100).enumerate() {
        let _ = writeln!(script, "set gates_{at} [get_pins {{{}}}]", gates.join(" "));
        ends.push(format!("$gates_{at}"));
    }
    for class in PathClass::TIMED {
        let (from, to) = match class {
            PathClass::RegisterToRegister => (&starts, &ends),
            PathClass::InputToRegister => (&inputs, &ends),
            PathClass::RegisterToOutput => (&starts, &outputs),
            PathClass::InputToOutput | PathClass::Logic => (&inputs, &outputs),
        };
        // OpenSTA gives the worst path to each endpoint, by slack. Asked for ports of several budgets at once, it would show the port with
        // the least time left and hide a longer path from another: which one, would depend on the period.
        for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
            let _ = writeln!(script, "class {class:?} {from} {to}");
        }
    }
    // Registers lie between an exception's ends where it was written for a path that takes several cycles.
    for (index, exception) in sdc.exceptions.iter().enumerate() {
        let (from, to) = (&exception.from, &exception.to);
        let found = match (from.as_str(), to.as_str()) {
            ("", to) => format!("[get_fanin -to {to} -flat -startpoints_only]"),
            (from, "") => format!("[get_fanout -from {from} -flat -endpoints_only]"),
            (from, to) => format!("[both [get_fanout -from {from} -flat -endpoints_only] {to}]"),
        };
        let _ = writeln!(script, "if {{[llength {found}] == 0}} {{ puts \"@unused {index}\" }}");
    }
    script.push_str("puts \"@end\"\n");
    script
}

/// The exceptions that no path of the netlist has, by their places in the constraints.
pub(super) fn unused(text: &str) -> BTreeSet<usize> {
    text.lines().filter_map(|line| line.strip_prefix("@unused ")?.parse().ok()).collect()
}

/// Reads what OpenSTA printed for [`script`].
pub(super) fn parse(tool: &str, text: &str, names: &Names) -> Result<TimingReport, String> {
    let mut periods: BTreeMap<&str, f64> = BTreeMap::new();
    let mut class = None;
    let mut all: Vec<TimingPath> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("@clock ") {
            if let Some((name, period)) = rest.rsplit_once(' ') {
                periods.insert(name, period.parse().map_err(|_| format!("`{line}`"))?);
            }
        } else if let Some(name) = line.strip_prefix("@class ") {
            class = PathClass::TIMED.into_iter().find(|c| format!("{c:?}") == name);
        } else if line.starts_with("Startpoint:") {
            block = vec![line];
        } else if !block.is_empty() {
            block.push(line);
            if line.split_whitespace().nth(1) == Some("slack") {
                let class = class.ok_or("a path before its class")?;
                all.push(path(class, &block, &periods, names)?);
                block.clear();
            }
        }
    }
    if !block.is_empty() {
        return Err(format!("a path without slack: `{}`", block[0]));
    }
    let longest_first = |a: &TimingPath, b: &TimingPath| b.min_period_ns.total_cmp(&a.min_period_ns);
    let mut classes = Vec::new();
    for class in PathClass::TIMED {
        let worst = all.iter().filter(|p| p.class == class).min_by(|a, b| longest_first(a, b));
        classes.extend(
            worst.map(|p| {
                ClassTiming::new(class, p.delay_ns, p.external_ns, p.min_period_ns, Some(p.slack_ns))
            }),
        );
    }
    // Stable, so that paths of the same length stay in OpenSTA's order.
    all.sort_by(longest_first);
    let mut alike: BTreeMap<(PathClass, String, String), usize> = BTreeMap::new();
    let mut paths: Vec<TimingPath> = Vec::new();
    for path in all {
        let key = (path.class, numberless(&path.from.to_string()), numberless(&path.to.to_string()));
        match alike.get(&key) {
            Some(&index) => paths[index].alike += 1,
            None => {
                alike.insert(key, paths.len());
                paths.push(path);
            }
        }
    }
    paths.truncate(WORST);
    Ok(TimingReport { tool: tool.into(), estimate: false, classes, paths })
}

/// `u_rows_12.upstream_q[3]` as `u_rows_#.upstream_q[#]`.
fn numberless(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

/// One path of a report in the form `full`.
fn path(
    class: PathClass,
    lines: &[&str],
    periods: &BTreeMap<&str, f64>,
    names: &Names,
) -> Result<TimingPath, String> {
    let end = |prefix: &str| -> Result<PathEnd, String> {
        let line = lines.iter().find_map(|l| l.strip_prefix(prefix)).ok_or(format!("no `{prefix}`"))?;
        let name = line.trim().split(' ').next().unwrap_or_default().replace('\\', "");
        let port = line.contains("input port") || line.contains("output port");
        match names.registers.get(&name) {
            Some(register) if !port => Ok(PathEnd::new(false, register)),
            _ => Ok(PathEnd::new(port, &name)),
        }
    };
    let (from, to) = (end("Startpoint:")?, end("Endpoint:")?);
    let (mut edges, mut external, mut slack, mut period) = (Vec::new(), 0.0, None, None);
    let mut instances: Vec<String> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|w| w.parse::<f64>().ok());
        if line.ends_with("external delay") {
            external += number(0).unwrap_or(0.0).abs();
        } else if words.get(2) == Some(&"clock") && line.ends_with("edge)") {
            edges.push(number(1).ok_or(format!("`{line}`"))?);
            period = words.get(3).and_then(|name| periods.get(name)).copied();
        } else if words.get(1) == Some(&"slack") {
            slack = number(0);
        } else if let (Some(_), Some(pin), true) = (number(1), words.get(3), line.ends_with(')'))
            && let Some((instance, _)) = pin.rsplit_once('/')
        {
            instances.push(instance.replace('\\', ""));
        }
    }
    let slack = slack.ok_or("no slack")?;
    let [launch, .., capture] = edges[..] else { return Err(format!("no clock edges: `{}`", lines[0])) };
    let window = capture - launch;
    let total = window - slack;
    // Inside and outside shrink with the period, each in its part of the window, which may be several cycles or half of one.
    let inside = window - external;
    let min_period = match period {
        Some(period) if inside > 0.0 => (total - external) * period / inside,
        _ => total,
    };
    instances.dedup();
    let is_register = |name: &String| names.registers.contains_key(name);
    let logic: Vec<&String> = instances
        .iter()
        .enumerate()
        .filter(|(at, name)| !((*at == 0 || *at + 1 == instances.len()) && is_register(name)))
        .map(|(_, name)| name)
        .collect();
    let mut seen = BTreeSet::new();
    let through = logic.iter().filter_map(|name| names.signals.get(*name)).filter(|s| seen.insert(*s));
    Ok(TimingPath {
        class,
        from,
        to,
        delay_ns: round4(total - external),
        external_ns: round4(external),
        min_period_ns: round4(min_period),
        slack_ns: round4(slack),
        levels: logic.len() as u64,
        through: through.cloned().collect(),
        alike: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As OpenSTA 2.0.17 prints it; `multi` is a path of two cycles, with time outside.
    const SAMPLE: &str = "OpenSTA 2.0.17 GITDIR-NOT Copyright (c) 2019, Parallax Software, Inc.
@clock clk 1.0
@class RegisterToRegister
Startpoint: g10_ (rising edge-triggered flip-flop clocked by clk)
Endpoint: g11_ (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

    Delay      Time   Description
-------------------------------------------------------------
   0.0000    0.0000   clock clk (rise edge)
   0.0000    0.0000   clock network delay (ideal)
   0.0000    0.0000 ^ g10_/CK (DFF_X1)
   0.1804    0.1804 ^ g10_/Q (DFF_X1)
   0.0853    0.2656 v g15_/ZN (INV_X1)
   2.5738    2.8394 v g7902_/ZN (INV_X1)
   0.0000    2.8394 v g11_/D (DFF_X1)
             2.8394   data arrival time

   1.0000    1.0000   clock clk (rise edge)
   0.0000    1.0000   clock network delay (ideal)
   0.0000    1.0000   clock reconvergence pessimism
             1.0000 ^ g11_/CK (DFF_X1)
  -0.0433    0.9567   library setup time
             0.9567   data required time
-------------------------------------------------------------
             0.9567   data required time
            -2.8394   data arrival time
-------------------------------------------------------------
            -1.8827   slack (VIOLATED)


Startpoint: g10_ (rising edge-triggered flip-flop clocked by clk)
Endpoint: g12_ (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

   0.0000    0.0000   clock clk (rise edge)
   0.0000    0.0000 ^ g10_/CK (DFF_X1)
   1.0000    1.0000   clock clk (rise edge)
            -1.0000   slack (VIOLATED)
@class InputToRegister
No paths found.
@class RegisterToOutput
Startpoint: g10_ (rising edge-triggered flip-flop clocked by clk)
Endpoint: ins_slot_o\\[20\\] (output port clocked by clk)
Path Group: clk
Path Type: max

   0.0000    0.0000   clock clk (rise edge)
   0.1804    0.1804 ^ g10_/Q (DFF_X1)
   0.8196    1.0000 v g15_/ZN (INV_X1)
   0.0000    1.0000 v ins_slot_o[20] (out)
             1.0000   data arrival time

   2.0000    2.0000   clock clk (rise edge)
  -0.1000    1.9000   output external delay
             1.9000   data required time
             0.9000   slack (MET)
@class InputToOutput
@end
";

    fn names() -> Names {
        let map = |rows: &[(&str, &str)]| rows.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        Names {
            registers: map(&[
                ("g10_", "u_a.count_q[3]"),
                ("g11_", "u_rows_1.up_q[0]"),
                ("g12_", "u_rows_2.up_q[7]"),
            ]),
            signals: map(&[("g15_", "u_a.grant")]),
        }
    }

    #[test]
    fn paths_have_the_names_of_the_rtl() {
        let report = parse("OpenSTA", SAMPLE, &names()).unwrap();
        assert!(!report.estimate);
        assert_eq!(report.classes.len(), 2);
        let inside = report.limit().unwrap();
        assert_eq!(
            (inside.class, inside.delay_ns, inside.fmax_mhz),
            (PathClass::RegisterToRegister, 2.8827, 346.9)
        );
        // Two cycles of 1.0, of which 0.1 are outside: 1.0 inside has 1.9.
        let out = report.class(PathClass::RegisterToOutput).unwrap();
        assert_eq!((out.delay_ns, out.external_ns, out.min_period_ns), (1.0, 0.1, 0.5263));

        let [first, second] = &report.paths[..] else { panic!("{:?}", report.paths) };
        assert_eq!((first.from.block.as_str(), first.from.name.as_str()), ("u_a", "count_q[3]"));
        assert_eq!((first.to.to_string().as_str(), first.alike, first.levels), ("u_rows_1.up_q[0]", 2, 2));
        assert_eq!(first.through, ["u_a.grant"]);
        assert_eq!((second.to.port, second.to.name.as_str(), second.levels), (true, "ins_slot_o[20]", 1));
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let cut = &SAMPLE[..SAMPLE.find("  -0.0433").unwrap()];
        assert!(parse("OpenSTA", cut, &names()).unwrap_err().contains("without slack"));
        assert!(parse("OpenSTA", &SAMPLE.replace("@class RegisterToRegister", ""), &names()).is_err());
        assert_eq!(parse("OpenSTA", "@end", &names()).unwrap().classes, []);
    }

    #[test]
    fn ends_are_split_at_the_block() {
        for (full, block, name) in [
            ("q", "", "q"),
            ("u_a.q[3]", "u_a", "q[3]"),
            ("u.v.mem[2][1]", "u.v", "mem[2][1]"),
            ("m[1.5]", "", "m[1.5]"),
        ] {
            let end = PathEnd::new(false, full);
            assert_eq!(
                (end.block.as_str(), end.name.as_str(), end.to_string().as_str()),
                (block, name, full)
            );
        }
    }

    #[test]
    fn constraints_of_their_own_keep_their_driver_and_load() {
        let with = |text: &str| {
            let sdc = Sdc { text: text.into(), ..Sdc::default() };
            script(
                "t",
                &Files { netlist: "n.v", spef: None, constraints: "t.sdc" },
                &sdc,
                Some("clk_i"),
                &[],
                Some(("BUF_X2", 0.007)),
            )
        };
        assert!(
            with("").contains("set_driving_cell -lib_cell BUF_X2") && with("").contains("set_load 0.007")
        );
        let own = "set_driving_cell -lib_cell X [all_inputs]\nset_load 1 [all_outputs]\n";
        assert!(!with(own).contains("BUF_X2") && !with(own).contains("set_load"));
    }
}

//! The formats of the tools.
//!
//! Ports wider than one bit are written as `{name[*]}`: OpenSTA and Vivado find the bits under it, and OpenSTA does so too where
//! Yosys has split the port (`splitnets -ports`).

use super::{
    ConstraintErrors, Exception, Group, LibraryEnvironment, Relaxation, Resolved, ResolvedException, Sdc,
    SdcException,
};
use crate::emit::LICENSE;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use windlass_rtl::port::Port;

/// Names in one `get_ports`: longer lines are hard to read in a diff.
const PER_LINE: usize = 8;

impl<'a> Resolved<'a> {
    /// All files: SDC, XDC, PCF, LPF, with their names. The SDC has the driving cell and load of `library` where one is given.
    pub fn files(&self, library: Option<&str>) -> Result<Vec<(String, String)>, ConstraintErrors> {
        let name = |extension: &str| format!("{}.{extension}", self.top);
        Ok(vec![
            (name("sdc"), self.sdc(library)?),
            (name("xdc"), self.xdc()),
            (name("pcf"), self.pcf()),
            (name("lpf"), self.lpf()),
        ])
    }

    /// Synopsys design constraints, as OpenSTA and the commercial tools read them. `library` is a `[library.NAME]` of the file or
    /// the name in a Liberty file.
    pub fn sdc(&self, library: Option<&str>) -> Result<String, ConstraintErrors> {
        let library = library.map(|name| self.constraints.library(name)).transpose()?;
        let none = BTreeMap::new();
        let periods = library.map_or(&none, |(_, library)| &library.period_ns);
        let mut text = self.header("#");
        match library {
            Some((name, _)) => text.push_str(&format!("# Library: {name}; capacitance in its own unit.\n")),
            None => text.push_str("# No library: without driving cell and load.\n"),
        }
        text.push_str("set_units -time ns\n");
        self.tcl(&mut text, periods);
        if let Some((_, LibraryEnvironment { driving_cell, driving_pin, load, .. })) = library {
            text.push('\n');
            for names in self.inputs.iter().map(|group| self.of_group(group)) {
                for ports in names.chunks(PER_LINE).map(get_ports) {
                    let _ = writeln!(
                        text,
                        "set_driving_cell -lib_cell {driving_cell} -pin {driving_pin} {ports}"
                    );
                }
            }
            for names in self.outputs.iter().map(|group| self.of_group(group)) {
                for ports in names.chunks(PER_LINE).map(get_ports) {
                    let _ = writeln!(text, "set_load {} {ports}", decimal(*load));
                }
            }
        }
        Ok(text)
    }

    /// What static timing with the Liberty library of that name takes, and says that it took. A library that the file does not have
    /// leaves the clock its own period, and driving cell and load to the flow.
    pub fn timing(&self, library: &str) -> Sdc {
        let known = self.constraints.library(library).ok();
        let name = known.map(|(name, _)| name);
        let text = self.sdc(name).unwrap_or_else(|_| unreachable!("the library was just found"));
        let none = BTreeMap::new();
        let periods = known.map_or(&none, |(_, library)| &library.period_ns);
        let mut said = Vec::new();
        for (clock, _) in &self.clocks {
            let name = &clock.port.value;
            let (period, uncertainty) = (self.period(name, periods), clock.setup_uncertainty_ns);
            said.push(format!("{name} {} ns, uncertainty {} ns", decimal(period), decimal(uncertainty)));
        }
        for (what, groups) in [("before inputs", &self.inputs), ("after outputs", &self.outputs)] {
            let group = |Group { clock, share, ports }: &Group| {
                let ns = decimal(share * self.period(clock, periods));
                let whose = match &ports[..] {
                    [port] => port.name.clone(),
                    ports => format!("{} ports", ports.len()),
                };
                format!("{} % = {ns} ns ({whose})", (share * 1e4).round() / 100.0)
            };
            if !groups.is_empty() {
                said.push(format!(
                    "outside {what} {}",
                    groups.iter().map(group).collect::<Vec<_>>().join(", ")
                ));
            }
        }
        match self.exceptions.len() {
            0 => {}
            1 => said.push("1 false or multi-cycle path".into()),
            n => said.push(format!("{n} false or multi-cycle paths")),
        }
        let whose =
            name.map_or(format!("which has no library `{library}`"), |name| format!("library {name}"));
        let summary = format!("{}, {whose}: {}", self.constraints.file, said.join("; "));
        let driver = known.map(|(_, library)| (library.driving_cell.clone(), library.load));
        let inputs = self.alike(&self.inputs, |exception| &exception.from);
        let outputs = self.alike(&self.outputs, |exception| &exception.to);
        let exceptions = self.exceptions.iter().map(|e| {
            let ends = [("from", &e.exception.from), ("to", &e.exception.to)];
            let named = ends.iter().filter(|(_, names)| !names.is_empty()).map(|(end, names)| {
                let names: Vec<&str> = names.iter().map(|n| n.value.as_str()).collect();
                format!(" {end} {}", names.join(", "))
            });
            let said = format!("{} path{}", kind(e.exception), named.collect::<String>());
            let ports = |ports: &[&Port]| {
                if ports.is_empty() { String::new() } else { get_ports(&self.names(ports)) }
            };
            SdcException { from: ports(&e.from), to: ports(&e.to), said }
        });
        Sdc { text, summary, driver, inputs, outputs, exceptions: exceptions.collect() }
    }

    /// The ports of `groups` by budget and by which exceptions name them.
    fn alike(
        &self,
        groups: &[Group],
        end: impl for<'e> Fn(&'e ResolvedException<'a>) -> &'e [&'a Port],
    ) -> Vec<String> {
        let mut alike: BTreeMap<(usize, Vec<bool>), Vec<&Port>> = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            for port in &group.ports {
                let named = self.exceptions.iter().map(|e| end(e).iter().any(|p| p.name == port.name));
                alike.entry((index, named.collect())).or_default().push(port);
            }
        }
        alike.values().map(|ports| get_ports(&self.names(ports))).collect()
    }

    /// Xilinx design constraints, for Vivado.
    pub fn xdc(&self) -> String {
        let mut text = self.header("#");
        self.tcl(&mut text, self.periods("xc7"));
        let standard = self.constraints.fpgas.get("xc7").and_then(|f| f.io_standard.as_deref());
        for (name, site) in self.sites("xc7") {
            let _ = writeln!(text, "set_property PACKAGE_PIN {site} [get_ports {{{name}}}]");
            if let Some(standard) = standard {
                let _ = writeln!(text, "set_property IOSTANDARD {standard} [get_ports {{{name}}}]");
            }
        }
        text
    }

    /// Physical constraints for iCE40, as nextpnr reads them: clock and pins; there is nothing else in the format.
    pub fn pcf(&self) -> String {
        let mut text = self.header("#");
        for (name, _, period) in self.clocks_with_ports("ice40") {
            let _ = writeln!(text, "set_frequency {} {:.3}", self.clock_port(name), 1000.0 / period);
        }
        text += "# As long as a port has no pin, nextpnr-ice40 wants --pcf-allow-unconstrained.\n";
        for (name, site) in self.sites("ice40") {
            let _ = writeln!(text, "set_io {name} {site}");
        }
        self.left_out(&mut text, "#");
        text
    }

    /// Lattice preferences for ECP5, as nextpnr and Diamond read them.
    pub fn lpf(&self) -> String {
        let mut text = self.header("#");
        for (name, _, period) in self.clocks_with_ports("ecp5") {
            let _ =
                writeln!(text, "FREQUENCY PORT \"{}\" {:.3} MHZ;", self.clock_port(name), 1000.0 / period);
        }
        let standard = self.constraints.fpgas.get("ecp5").and_then(|f| f.io_standard.as_deref());
        for (name, site) in self.sites("ecp5") {
            let _ = writeln!(text, "LOCATE COMP \"{name}\" SITE \"{site}\";");
            if let Some(standard) = standard {
                let _ = writeln!(text, "IOBUF PORT \"{name}\" IO_TYPE={standard};");
            }
        }
        self.left_out(&mut text, "#");
        text
    }

    fn header(&self, comment: &str) -> String {
        let (top, file) = (&self.top, &self.constraints.file);
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{comment} SPDX-License-Identifier: {LICENSE}\n{comment} {top}: constraints by Windlass {version}, from {file}; do not edit.\n"
        )
    }

    /// What tools call ports: those outside, or with all bits of each.
    fn names(&self, ports: &[&Port]) -> Vec<String> {
        let whole = |p: &&Port| if p.width == 1 { p.name.clone() } else { format!("{}[*]", p.name) };
        match &self.outside {
            None => ports.iter().map(whole).collect(),
            Some(_) => ports.iter().flat_map(|port| self.bits(port)).collect(),
        }
    }

    /// The same of ports with one budget, and of what has that outside.
    fn of_group(&self, group: &Group) -> Vec<String> {
        let like = |port: &&&Port| self.outside.as_ref().and_then(|outside| outside.like.get(&port.name));
        let mut names = self.names(&group.ports);
        names.extend(group.ports.iter().filter_map(|port| like(&port)).flatten().cloned());
        names
    }

    /// A port's bits, bit 0 first; none where there is none outside.
    fn bits(&self, port: &Port) -> Vec<String> {
        match &self.outside {
            Some(outside) => outside.bits.get(&port.name).cloned().unwrap_or_default(),
            None if port.width == 1 => vec![port.name.clone()],
            None => (0..port.width).map(|bit| format!("{}[{bit}]", port.name)).collect(),
        }
    }

    fn clock_port<'n>(&'n self, name: &'n str) -> &'n str {
        let outside = self.outside.as_ref().and_then(|outside| outside.bits.get(name)?.first());
        outside.map_or(name, String::as_str)
    }

    fn periods(&self, family: &str) -> &BTreeMap<String, f64> {
        static NONE: BTreeMap<String, f64> = BTreeMap::new();
        self.constraints.fpgas.get(family).map_or(&NONE, |f| &f.period_ns)
    }

    fn clocks_with_ports(&self, family: &str) -> impl Iterator<Item = (&str, bool, f64)> {
        let periods = self.periods(family);
        self.clocks.iter().filter(|(_, here)| *here).map(move |(clock, here)| {
            let name = clock.port.value.as_str();
            (name, *here, periods.get(name).copied().unwrap_or(clock.period_ns))
        })
    }

    /// Each bit of each port with a pin, and the pin.
    fn sites(&self, family: &str) -> Vec<(String, &str)> {
        let pins = self.pins.get(family).into_iter().flatten();
        pins.flat_map(|(port, sites)| self.bits(port).into_iter().zip(sites.iter().map(String::as_str)))
            .collect()
    }

    /// What PCF and LPF cannot say, said to the reader.
    fn left_out(&self, text: &mut String, comment: &str) {
        for exception in &self.exceptions {
            let what = kind(exception.exception);
            let reason = &exception.exception.reason;
            let _ = writeln!(text, "{comment} Not in this format: a {what} path; reason: {reason}");
        }
    }

    fn period(&self, clock: &str, periods: &BTreeMap<String, f64>) -> f64 {
        let own = self.clocks.iter().find(|(c, _)| c.port.value == clock).map_or(1.0, |(c, _)| c.period_ns);
        periods.get(clock).copied().unwrap_or(own)
    }

    /// Clocks, budgets and exceptions, in the Tcl that SDC and XDC share.
    fn tcl(&self, text: &mut String, periods: &BTreeMap<String, f64>) {
        let period = |name: &str| self.period(name, periods);
        for (clock, here) in &self.clocks {
            let name = &clock.port.value;
            let period = decimal(period(name));
            if *here {
                let _ = writeln!(
                    text,
                    "create_clock -name {name} -period {period} [get_ports {{{}}}]",
                    self.clock_port(name)
                );
            } else {
                let _ = writeln!(text, "# The block has no clock: this one is that of its surroundings.");
                let _ = writeln!(text, "create_clock -name {name} -period {period}");
            }
            for (check, value) in [("setup", clock.setup_uncertainty_ns), ("hold", clock.hold_uncertainty_ns)]
            {
                let value = decimal(value);
                let _ = writeln!(text, "set_clock_uncertainty -{check} {value} [get_clocks {{{name}}}]");
            }
        }
        text.push('\n');
        for (command, groups) in [("set_input_delay", &self.inputs), ("set_output_delay", &self.outputs)] {
            for group @ Group { clock, share, .. } in groups {
                let max = decimal(share * period(clock));
                for ports in self.of_group(group).chunks(PER_LINE).map(get_ports) {
                    let _ = writeln!(text, "{command} -max {max} -clock [get_clocks {{{clock}}}] {ports}");
                    let _ = writeln!(text, "{command} -min 0.000 -clock [get_clocks {{{clock}}}] {ports}");
                }
            }
        }
        for exception in &self.exceptions {
            let mut ends = String::new();
            for (end, ports) in [("-from", &exception.from), ("-to", &exception.to)] {
                if !ports.is_empty() {
                    let _ = write!(ends, " {end} {}", get_ports(&self.names(ports)));
                }
            }
            let _ = writeln!(text, "\n# Reason: {}", exception.exception.reason);
            match exception.exception.relaxation {
                Relaxation::False => {
                    let _ = writeln!(text, "set_false_path{ends}");
                }
                Relaxation::Multicycle { setup, hold } => {
                    let _ = writeln!(text, "set_multicycle_path {setup} -setup{ends}");
                    let _ = writeln!(text, "set_multicycle_path {hold} -hold{ends}");
                }
            }
        }
    }
}

fn kind(exception: &Exception) -> &'static str {
    match exception.relaxation {
        Relaxation::False => "false",
        Relaxation::Multicycle { .. } => "multi-cycle",
    }
}

fn get_ports(names: &[String]) -> String {
    format!("[get_ports {{{}}}]", names.join(" "))
}

/// Three decimals: a picosecond, or a femtofarad where the unit is pF; more where that would be zero.
fn decimal(value: f64) -> String {
    let short = format!("{value:.3}");
    if value != 0.0 && short.parse() == Ok(0.0) { format!("{value}") } else { short }
}

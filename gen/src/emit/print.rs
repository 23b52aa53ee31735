//! Sized logic as Verilog-2005 text.

use super::ir::{Expr, Logic, Stmt};
use super::lower::{Class, Lowered, Symbol};
use super::tree::Node;
use super::{EmitError, Module, ResetKind};
use crate::verilog::direction;
use rust_hdl::core::atom::AtomKind;
use std::collections::{BTreeMap, BTreeSet};
use windlass_rtl::port::{CLOCK, Direction, Port, RESET, indexed};

/// `rows[3].up_i` becomes `rows_3_up_i`, `ret_slot_i[2]` becomes `ret_slot_2_i`.
pub fn verilog_name(key: &str) -> String {
    let part = |part: &str| match part.split_once('[') {
        Some((stem, index)) => match index.trim_end_matches(']').parse() {
            Ok(index) => indexed(stem, index),
            Err(_) => part.replace(['[', ']'], "_"),
        },
        None => part.to_string(),
    };
    key.split('.').map(part).collect::<Vec<_>>().join("_")
}

/// Registers read `valid_q` and `valid_d`, not `valid_q_o` and `valid_d_i`.
fn register_name(key: &str) -> String {
    let name = verilog_name(key);
    name.strip_suffix("_o").or_else(|| name.strip_suffix("_i")).unwrap_or(&name).to_string()
}

/// Columns that a declaration and its comment may take.
const LINE: usize = 120;

/// Where a name is declared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// 0: registers, 1: signals, 2: outputs, 3: sub-blocks' ports.
    group: u8,
    child: usize,
    atom: usize,
}

impl Place {
    /// What it is stands where the port is declared.
    fn is_port(self) -> bool {
        self.group >= 2
    }
}

/// Where a line that is too long goes on in the next: in its second half, at a space in as few parentheses as there are, after a comma
/// rather than within a part.
fn end_of_line(line: &str, columns: usize) -> Option<usize> {
    if line.len() <= columns {
        return None;
    }
    let mut depth = 0;
    let mut before = b' ';
    let mut best = None;
    for (at, c) in line.bytes().enumerate().take(columns + 1) {
        let worth = (depth, before != b',');
        match c {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b' ' if at > columns / 2 && best.is_none_or(|(least, _)| worth <= least) => {
                best = Some((worth, at))
            }
            _ => {}
        }
        before = c;
    }
    best.map(|(_, at)| at)
}

struct Printer<'a> {
    node: &'a Node,
    lowered: &'a Lowered,
    names: BTreeMap<String, String>,
    /// Expressions that stand in a port connection, or a register's clock and reset, and are not declared.
    inlined: BTreeMap<String, Expr>,
    /// What each declared name stands for.
    declared: BTreeMap<String, String>,
    /// What is said of each sub-block's connections.
    said: BTreeMap<String, Vec<&'a String>>,
    errors: Vec<EmitError>,
    reset: ResetKind,
    text: String,
}

/// Prints one module.
pub fn print(node: &Node, lowered: Lowered, reset: ResetKind) -> Result<Module, Vec<EmitError>> {
    let ports = ports(node, reset);
    let mut printer = Printer::new(node, &lowered, reset);
    printer.module(&ports);
    if !printer.errors.is_empty() {
        return Err(printer.errors);
    }
    let instances = node
        .order
        .iter()
        .filter(|key| !node.children[*key].is_register())
        .map(|key| (format!("u_{}", verilog_name(key)), node.children[key].info.module.clone()))
        .collect();
    Ok(Module {
        name: node.info.module.clone(),
        text: printer.text,
        params: node.info.params.clone(),
        ports,
        instances,
        source: node.info.source.clone(),
        combinational: BTreeMap::new(),
    })
}

/// The module's ports, in their order.
pub fn ports(node: &Node, reset: ResetKind) -> Vec<Port> {
    let mut ports = Vec::new();
    for atom in &node.atoms {
        let direction = match atom.kind {
            AtomKind::InputParameter => Direction::Input,
            AtomKind::OutputParameter => Direction::Output,
            _ => continue,
        };
        let stem = atom.key.split('[').next().unwrap_or(&atom.key);
        let (channel, doc) = match stem {
            CLOCK => (String::new(), "clock, rising edge".into()),
            RESET => (String::new(), format!("reset, {}, active low", reset.name())),
            _ => node
                .info
                .field(stem)
                .map(|(_, channel, doc)| (channel.clone(), doc.clone()))
                .unwrap_or_default(),
        };
        ports.push(Port { name: verilog_name(&atom.key), direction, width: atom.width, channel, doc });
    }
    ports
}

/// What each port and signal is called. Constants are written as their values.
pub fn names(node: &Node, lowered: &Lowered) -> BTreeMap<String, String> {
    let written = lowered.symbols.iter().filter(|(_, symbol)| !matches!(symbol.class, Class::Constant(_)));
    let name = |key: &String| {
        let register = key.rsplit_once('.').is_some_and(|(c, _)| node.children[c].is_register());
        (key.clone(), if register { register_name(key) } else { verilog_name(key) })
    };
    written.map(|(key, _)| name(key)).collect()
}

fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

impl<'a> Printer<'a> {
    fn new(node: &'a Node, lowered: &'a Lowered, reset: ResetKind) -> Self {
        let names = names(node, lowered);
        let mut printer = Self {
            node,
            lowered,
            names,
            inlined: BTreeMap::new(),
            declared: BTreeMap::new(),
            said: BTreeMap::new(),
            errors: Vec::new(),
            reset,
            text: String::new(),
        };
        printer.inline_connections();
        printer
    }

    /// Simple drivers of sub-blocks' inputs go into the port connection; a sub-block's output that is an output of the
    /// module is connected to it.
    fn inline_connections(&mut self) {
        let mut renamed = BTreeSet::new();
        for logic in &self.lowered.logic {
            let Logic::Assign(target, value) = logic else { continue };
            match &self.lowered.symbols[target].class {
                Class::ChildInput if value.is_simple() && !target.ends_with(".d_i") => {
                    self.inlined.insert(target.clone(), value.clone());
                }
                Class::Output => {
                    if let Expr::Signal(source, _) = value
                        && self.lowered.symbols[source].class == Class::ChildOutput
                        && !self.in_register(source)
                        && renamed.insert(source.clone())
                    {
                        self.names.insert(source.clone(), verilog_name(target));
                        self.inlined.insert(target.clone(), value.clone());
                    }
                }
                _ => {}
            }
        }
    }

    fn in_register(&self, key: &str) -> bool {
        key.rsplit_once('.').is_some_and(|(child, _)| self.node.children[child].is_register())
    }

    /// Brackets, dots and suffixes become underscores, so that two names of the block may come to one.
    fn declare(&mut self, name: &str, what: &str) {
        if let Some(first) = self.declared.insert(name.to_string(), what.to_string()) {
            self.errors.push(EmitError::SameName {
                block: self.node.info.module.clone(),
                first,
                second: what.to_string(),
                name: name.to_string(),
            });
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        let (mut indent, mut rest) = (2 * depth, line);
        while !line.contains("//")
            && let Some(end) = end_of_line(rest, LINE.saturating_sub(indent))
        {
            self.text.push_str(&format!("{:indent$}{}\n", "", &rest[..end]));
            (indent, rest) = (2 * depth + 4, &rest[end + 1..]);
        }
        self.text.push_str(&format!("{:indent$}{rest}\n", ""));
    }

    fn module(&mut self, ports: &[Port]) {
        let name = self.node.info.module.clone();
        self.line(0, &format!("module {name} ("));
        let width = ports.iter().map(|p| range(p.width).len() + p.name.len()).max().unwrap_or(0) + 1;
        for (i, port) in ports.iter().enumerate() {
            self.declare(&port.name, &format!("the port {}", port.name));
            let direction = format!("{:<6} wire", direction(port));
            let comma = if i + 1 == ports.len() { "" } else { "," };
            let declared = format!("{}{}{comma}", range(port.width), port.name);
            let line = if port.doc.is_empty() {
                format!("{direction} {declared}")
            } else {
                format!("{direction} {declared:<width$} // {}", port.doc)
            };
            self.line(1, &line);
        }
        self.line(0, ");");
        if let Some(custom) = &self.lowered.custom {
            self.text.push('\n');
            for line in custom.clone().lines() {
                if line.is_empty() { self.text.push('\n') } else { self.line(1, line) }
            }
        } else {
            self.declarations();
            self.unused();
            self.logic();
            self.registers();
            self.instances();
        }
        self.line(0, "endmodule");
    }

    /// All names: registers, signals, outputs, what sub-blocks have, each kind as declared.
    fn in_order(&self) -> Vec<(Place, &'a String)> {
        let (node, lowered) = (self.node, self.lowered);
        let instance = |key: &str| node.order.iter().position(|child| child == key).unwrap_or(usize::MAX);
        let atom =
            |node: &Node, key: &str| node.atoms.iter().position(|atom| atom.key == key).unwrap_or(usize::MAX);
        let place = |key: &str, symbol: &Symbol| match key.rsplit_once('.') {
            Some((child, port)) if self.in_register(key) => {
                Place { group: 0, child: instance(child), atom: usize::from(port != "q_o") }
            }
            Some((child, port)) => {
                Place { group: 3, child: instance(child), atom: atom(&node.children[child], port) }
            }
            None if symbol.class == Class::Output => Place { group: 2, child: 0, atom: atom(node, key) },
            None => Place { group: 1, child: 0, atom: atom(node, key) },
        };
        let mut names: Vec<_> =
            lowered.symbols.iter().map(|(key, symbol)| (place(key, symbol), key)).collect();
        names.sort();
        names
    }

    /// What the block says of a register, a signal or a sub-block; of an array once, beside its first.
    fn doc(&self, key: &str) -> Option<String> {
        let key = key.strip_suffix(".q_o").unwrap_or(key);
        let (stem, index) = key.split_once('[').unwrap_or((key, "0]"));
        if index != "0]" {
            return None;
        }
        self.node.info.field(stem).map(|(.., doc)| doc.clone())
    }

    fn is_process_target(&self, key: &str) -> bool {
        self.lowered.logic.iter().any(|l| matches!(l, Logic::Process(t, _) if t.iter().any(|t| t == key)))
    }

    fn declarations(&mut self) {
        let mut read = BTreeSet::new();
        for logic in &self.lowered.logic {
            let mut see = |key: &str| {
                read.insert(key.to_string());
            };
            match logic {
                Logic::Comment(_) => {}
                Logic::Assign(_, value) => value.reads(&mut see),
                Logic::Process(_, stmts) => stmts.iter().for_each(|s| s.reads(&mut see)),
            }
        }
        let processed: BTreeSet<&String> = self
            .lowered
            .logic
            .iter()
            .filter_map(|l| if let Logic::Process(targets, _) = l { Some(targets) } else { None })
            .flatten()
            .collect();
        let mut lines = Vec::new();
        for (place, key) in self.in_order() {
            let symbol = &self.lowered.symbols[key];
            let kind = match &symbol.class {
                Class::Input | Class::Constant(_) => continue,
                // An output written in a process is an assignment from a reg of its own.
                Class::Output if processed.contains(key) => "reg ",
                Class::Output => continue,
                Class::Local | Class::ChildInput if self.inlined.contains_key(key) => continue,
                Class::Local | Class::ChildInput if processed.contains(key) => "reg ",
                Class::Local | Class::ChildInput => "wire",
                Class::ChildOutput if self.in_register(key) => "reg ",
                Class::ChildOutput => {
                    let name = &self.names[key];
                    if *name != verilog_name(key) {
                        continue; // it is an output of the module
                    }
                    if !read.contains(key) {
                        let name = format!("{name}_unused");
                        self.declare(&name, key);
                        lines.push((place.group, format!("wire {}{name};", range(symbol.width)), None));
                        self.names.insert(key.clone(), name);
                        continue;
                    }
                    "wire"
                }
            };
            let name = match symbol.class {
                Class::Output => format!("{}_comb", self.names[key]),
                _ => self.names[key].clone(),
            };
            self.declare(&name, key);
            let doc = if place.is_port() { None } else { self.doc(key) };
            lines.push((place.group, format!("{kind} {}{name};", range(symbol.width)), doc));
        }
        for group in lines.chunk_by(|(a, ..), (b, ..)| a == b) {
            self.text.push('\n');
            let fits = |line: &str, doc: &str| line.len() + doc.len() + 6 <= LINE;
            let beside =
                group.iter().filter(|(_, line, doc)| doc.as_ref().is_some_and(|doc| fits(line, doc)));
            let width = beside.map(|(_, line, _)| line.len()).max().unwrap_or(0);
            for (_, line, doc) in group {
                match doc {
                    Some(doc) if fits(&format!("{line:<width$}"), doc) => {
                        self.line(1, &format!("{line:<width$} // {doc}"));
                    }
                    Some(doc) => {
                        self.line(1, &format!("// {doc}:"));
                        self.line(1, line);
                    }
                    None => self.line(1, line),
                }
            }
        }
        let outputs: Vec<String> = self
            .lowered
            .symbols
            .iter()
            .filter(|(key, s)| s.class == Class::Output && self.is_process_target(key))
            .map(|(key, _)| key.clone())
            .collect();
        if !outputs.is_empty() {
            self.text.push('\n');
        }
        for key in outputs {
            let port = self.names[&key].clone();
            let comb = format!("{port}_comb");
            self.line(1, &format!("assign {port} = {comb};"));
            self.names.insert(key, comb);
        }
    }

    /// Gathers what the module does not read, so that lints can stay strict: a lane that is not there, a sum's last bit.
    fn unused(&mut self) {
        let mut read: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (key, symbol) in &self.lowered.symbols {
            let declared = match symbol.class {
                Class::Input => true,
                Class::Local => !self.inlined.contains_key(key),
                // An output of a sub-block that is not read at all says so in its name.
                Class::ChildOutput => !self.names[key].ends_with("_unused"),
                _ => false,
            };
            if declared {
                read.insert(key, vec![false; symbol.width as usize]);
            }
        }
        let mut see = |key: &str, bits: Option<(u32, u32)>| {
            if let Some(read) = read.get_mut(key) {
                let (lo, width) = bits.unwrap_or((0, read.len() as u32));
                read.iter_mut().skip(lo as usize).take(width as usize).for_each(|bit| *bit = true);
            }
        };
        for logic in &self.lowered.logic {
            match logic {
                Logic::Comment(_) => {}
                Logic::Assign(_, value) => value.bits(&mut see),
                Logic::Process(_, stmts) => stmts.iter().for_each(|s| s.bits(&mut see)),
            }
        }
        let mut parts = Vec::new();
        for (key, read) in read {
            let name = &self.names[key];
            let mut bit = 0;
            while let Some(from) = (bit..read.len()).find(|b| !read[*b]) {
                bit = (from..read.len()).find(|b| read[*b]).unwrap_or(read.len());
                parts.push(match (from, bit) {
                    (0, to) if to == read.len() => name.clone(),
                    (from, to) if to == from + 1 => format!("{name}[{from}]"),
                    (from, to) => format!("{name}[{}:{from}]", to - 1),
                });
            }
        }
        if !parts.is_empty() {
            self.text.push('\n');
            self.declare("unused", "the wire for what is not read");
            self.line(1, &format!("wire unused = &{{1'b0, {}}};", parts.join(", ")));
        }
    }

    fn logic(&mut self) {
        let lowered = self.lowered;
        let mut in_assigns = false;
        let mut said = None;
        for logic in &lowered.logic {
            match logic {
                Logic::Comment(text) => said = Some(text),
                Logic::Assign(target, _) if self.inlined.contains_key(target) => {
                    if let Some((child, _)) = target.rsplit_once('.')
                        && !self.node.children[child].is_register()
                        && let Some(text) = said.take()
                    {
                        self.said.entry(child.to_string()).or_default().push(text);
                    }
                }
                Logic::Assign(target, value) => {
                    if !in_assigns || said.is_some() {
                        self.text.push('\n');
                    }
                    self.comment(1, said.take());
                    in_assigns = true;
                    let line = format!("assign {} = {};", self.names[target], self.top(value));
                    self.line(1, &line);
                }
                Logic::Process(_, stmts) => {
                    in_assigns = false;
                    self.text.push('\n');
                    self.comment(1, said.take());
                    self.line(1, "always @(*) begin");
                    self.stmts(2, stmts);
                    self.line(1, "end");
                }
            }
        }
    }

    fn comment(&mut self, depth: usize, text: Option<&String>) {
        for line in text.into_iter().flat_map(|text| text.lines()) {
            self.line(depth, &format!("// {line}"));
        }
    }

    fn stmts(&mut self, depth: usize, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Comment(text) => self.comment(depth, Some(text)),
                Stmt::Assign(target, value) => {
                    let line = format!("{} = {};", self.names[target], self.top(value));
                    self.line(depth, &line);
                }
                Stmt::SetBit(target, index, value) => {
                    let bit = if self.lowered.symbols[target].width == 1 {
                        String::new()
                    } else {
                        format!("[{index}]")
                    };
                    let line = format!("{}{bit} = {};", self.names[target], self.top(value));
                    self.line(depth, &line);
                }
                Stmt::If(test, then, otherwise) => {
                    let test = self.top(test);
                    self.line(depth, &format!("if ({test}) begin"));
                    self.stmts(depth + 1, then);
                    if !otherwise.is_empty() {
                        self.line(depth, "end else begin");
                        self.stmts(depth + 1, otherwise);
                    }
                    self.line(depth, "end");
                }
                Stmt::Case(test, cases, default) => {
                    let test = self.top(test);
                    self.line(depth, &format!("case ({test})"));
                    for (value, block) in cases {
                        let value = self.top(value);
                        self.line(depth + 1, &format!("{value}: begin"));
                        self.stmts(depth + 2, block);
                        self.line(depth + 1, "end");
                    }
                    self.line(depth + 1, "default: begin");
                    self.stmts(depth + 2, default);
                    self.line(depth + 1, "end");
                    self.line(depth, "endcase");
                }
            }
        }
    }

    /// Registers with the same clock and reset share a process.
    fn registers(&mut self) {
        let mut processes: BTreeMap<(String, Option<String>), Vec<String>> = BTreeMap::new();
        for key in &self.node.order {
            let child = &self.node.children[key];
            if !child.is_register() {
                continue;
            }
            let clock = self.driver(&format!("{key}.clk_i"));
            let reset = child.atom("rst_ni").map(|_| self.driver(&format!("{key}.rst_ni")));
            processes.entry((clock, reset)).or_default().push(key.clone());
        }
        for ((clock, reset), registers) in processes {
            let load = |printer: &mut Self, depth| {
                for key in &registers {
                    let line = format!("{}_q <= {}_d;", verilog_name(key), verilog_name(key));
                    printer.line(depth, &line);
                }
            };
            self.text.push('\n');
            let edges = match (&reset, self.reset) {
                (Some(reset), ResetKind::Asynchronous) => format!("posedge {clock} or negedge {reset}"),
                _ => format!("posedge {clock}"),
            };
            self.line(1, &format!("always @({edges}) begin"));
            match reset {
                Some(reset) => {
                    self.line(2, &format!("if (!{reset}) begin"));
                    for key in &registers {
                        let width = self.lowered.symbols[&format!("{key}.q_o")].width;
                        let zero = self.expr(&Expr::zero(width));
                        let line = format!("{}_q <= {zero};", verilog_name(key));
                        self.line(3, &line);
                    }
                    self.line(2, "end else begin");
                    load(self, 3);
                    self.line(2, "end");
                }
                None => load(self, 2),
            }
            self.line(1, "end");
        }
    }

    fn driver(&self, key: &str) -> String {
        match self.inlined.get(key) {
            Some(expr) => self.top(expr),
            None => self.names[key].clone(),
        }
    }

    fn instances(&mut self) {
        for key in &self.node.order {
            let child = &self.node.children[key];
            if child.is_register() {
                continue;
            }
            self.text.push('\n');
            let instance = format!("u_{}", verilog_name(key));
            self.declare(&instance, key);
            if let Some(doc) = self.doc(key) {
                self.line(1, &format!("// {doc}"));
            }
            for text in self.said.remove(key).unwrap_or_default() {
                self.comment(1, Some(text));
            }
            self.line(1, &format!("{} {instance} (", child.info.module));
            let ports: Vec<_> = child
                .atoms
                .iter()
                .filter(|a| matches!(a.kind, AtomKind::InputParameter | AtomKind::OutputParameter))
                .collect();
            for (i, atom) in ports.iter().enumerate() {
                let comma = if i + 1 == ports.len() { "" } else { "," };
                let connected = self.driver(&format!("{key}.{}", atom.key));
                self.line(2, &format!(".{}({connected}){comma}", verilog_name(&atom.key)));
            }
            self.line(1, ");");
        }
    }

    /// An expression that needs no parentheses around it.
    fn top(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        match expr {
            Expr::Binary(..) | Expr::Test(..) | Expr::Shift(..) | Expr::Mux(..) | Expr::Reduce(..) => {
                text[1..text.len() - 1].to_string()
            }
            _ => text,
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(1, digits) => format!("1'b{digits}"),
            Expr::Literal(width, digits) => format!("{width}'h{digits}"),
            Expr::Signal(key, _) => self.names[key].clone(),
            // From left to right, as Verilog reads it.
            Expr::Binary(op, a, b) if matches!(&**a, Expr::Binary(first, ..) if first == op && *op != "-") => {
                format!("({} {op} {})", self.top(a), self.expr(b))
            }
            Expr::Shift(op, a, by) if by.constant().is_some_and(|by| by < 1 << 16) => {
                format!("({} {op} {})", self.expr(a), by.constant().unwrap_or_default())
            }
            Expr::Binary(op, a, b) | Expr::Test(op, a, b) | Expr::Shift(op, a, b) => {
                format!("({} {op} {})", self.expr(a), self.expr(b))
            }
            Expr::Not(a) => format!("~{}", self.expr(a)),
            // `^~` is an operator.
            Expr::Reduce(op, a) if matches!(**a, Expr::Not(_)) => format!("({op}({}))", self.expr(a)),
            Expr::Reduce(op, a) => format!("({op}{})", self.expr(a)),
            Expr::Bit(key, index) => format!("{}[{}]", self.names[key], self.top(index)),
            Expr::Slice(key, lo, width, _) if *width == 1 => format!("{}[{lo}]", self.names[key]),
            Expr::Slice(key, lo, width, _) => format!("{}[{}:{lo}]", self.names[key], lo + width - 1),
            Expr::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.top(p)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Expr::Mux(test, a, b) => {
                format!("({} ? {} : {})", self.expr(test), self.expr(a), self.expr(b))
            }
        }
    }
}

//! The Verilog around a design that is to be proved: free inputs, its properties beside it, its registers for the lemmas.

use super::bench::{Bench, Part};
use crate::mutate::rules::{NEAR, Rules, header};
use crate::mutate::{Mutants, SELECT};
use crate::rtl::Rtl;
use crate::verilog::direction;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use windlass_rtl::port::{CLOCK, Direction, Port, RESET, element};

/// The module at the top of what is proved.
pub(super) const TOP: &str = "harness";

/// Lanes of a group of SMs.
const GROUP: usize = 8;

/// A module that instantiates the design, its properties and their lemmas. With `mutants` it has the design's ports, and theirs.
pub(super) fn harness(rtl: &Rtl, bench: &Bench, mutants: Option<&Mutants>) -> String {
    let ports = vectors(&rtl.ports);
    let mut text = format!("// {} and what is asked of it.\nmodule {TOP} (input {CLOCK}", rtl.top);
    if let Some(mutants) = mutants {
        for (name, first, count) in ports.iter().filter(|(name, _, _)| name != CLOCK) {
            let _ = write!(text, ",\n  {} [{}:0] {name}", direction(first), first.width * count - 1);
        }
        let _ = write!(text, ",\n  input [{}:0] {SELECT},\n  output {NEAR}", mutants.select_width - 1);
    }
    text.push_str(");\n");
    for (name, value) in bench.params.iter().chain(&bench.lemma_params) {
        let _ = writeln!(text, "  localparam {name} = {value};");
    }
    for (name, first, count) in ports.iter().filter(|(name, _, _)| mutants.is_none() && name != CLOCK) {
        // Inputs are free in every cycle.
        let free = if first.direction == Direction::Input { "(* anyseq *) " } else { "" };
        let _ = writeln!(text, "  {free}wire [{}:0] {name};", first.width * count - 1);
    }
    let mut connections: Vec<String> = rtl
        .ports
        .iter()
        .map(|port| match element(&port.name) {
            Some((vector, index)) => {
                format!(".{}({vector}[{} +: {}])", port.name, index * port.width, port.width)
            }
            None => format!(".{}({})", port.name, port.name),
        })
        .collect();
    if mutants.is_some() {
        connections.push(format!(".{SELECT}({SELECT})"));
    }
    let _ = writeln!(text, "  {} dut (\n    {}\n  );", rtl.top, connections.join(",\n    "));
    let mut seen = BTreeSet::new();
    text.push_str(&beside(bench, &rtl.ports, None, &mut seen));
    for part in &bench.parts {
        for (name, value) in part.bench.params.iter().chain(&part.bench.lemma_params) {
            let _ = writeln!(text, "  localparam {}_{name} = {value};", part.name());
        }
        text.push_str(&beside(&part.bench, &part.ports, Some(part), &mut seen));
    }
    if let Some(mutants) = mutants {
        text.push_str(&near(mutants.rules.as_ref(), &ports, &mut seen));
    }
    if rtl.ports.iter().any(|port| port.name == RESET) {
        let _ = writeln!(
            text,
            "  reg began = 0;\n  always @(posedge {CLOCK}) began <= 1;\n  always @* if (!began) assume (!{RESET});"
        );
    }
    text.push_str("endmodule\n");
    // One statement of many: an assertion in a generate loop has no name of its own.
    text.push_str(
        "module lemma (input on, input holds);\n  always @* if (on) holds_here: assert (holds);\nendmodule\n",
    );
    text
}

/// Whether no counter has come far, as the rules of the block have it.
fn near(rules: Option<&Rules>, ports: &[(String, &Port, u32)], seen: &mut BTreeSet<String>) -> String {
    let Some(rules) = rules.filter(|rules| rules.has_near()) else {
        return format!("  assign {NEAR} = 1;\n");
    };
    let mut text = String::new();
    let inside = rules.inside();
    for (_, range, names) in &inside {
        names.iter().for_each(|name| look(&mut text, seen, range, name));
    }
    let params: Vec<String> = rules.params.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    let inputs = header(rules.text).into_iter().filter(|(_, is_output)| !is_output).map(|(input, _)| {
        let names = inside.iter().find(|(name, _, _)| *name == input).map(|(_, _, names)| names.join(", "));
        let given = || ports.iter().any(|(name, _, _)| name == input).then(|| input.to_string());
        format!(".{input}({{{}}})", names.or_else(given).unwrap_or("1'b0".into()))
    });
    let connections: Vec<String> = inputs.chain([format!(".near_o({NEAR})")]).collect();
    let _ = writeln!(
        text,
        "  {} #({}) rules (\n    {}\n  );",
        rules.module,
        params.join(", "),
        connections.join(",\n    ")
    );
    text
}

/// A block's properties and their lemmas: those of the design, or of a part of it.
/// What is looked at inside the design is `seen` from then on.
fn beside(bench: &Bench, ports: &[Port], part: Option<&Part>, seen: &mut BTreeSet<String>) -> String {
    let mut text = String::new();
    let prefix = part.map(|part| format!("{}_", part.name())).unwrap_or_default();
    let within = part.map(|part| part.within).unwrap_or_default();
    // A part's parameters stand beside those of the others.
    let own = |range: &str| match part {
        None => range.to_string(),
        Some(_) => prefixed(range, &prefix),
    };
    let given = |params: &mut dyn Iterator<Item = &(&'static str, usize)>| -> String {
        params.map(|(name, _)| format!(".{name}({prefix}{name})")).collect::<Vec<_>>().join(", ")
    };
    let params = given(&mut bench.params.iter());
    let here = vectors(ports);
    let mut connections = Vec::new();
    for input in inputs(bench.text) {
        let port = input.name;
        match here.iter().find(|(name, _, _)| name == port) {
            // Ports that this kind of the block does not have are zero.
            None => connections.push(format!(".{port}('0)")),
            Some(_) if part.is_none() => connections.push(format!(".{port}({port})")),
            Some((_, first, count)) => {
                let mut names = Vec::new();
                let of_vector =
                    |p: &&Port| p.name == port || element(&p.name).is_some_and(|(v, _)| v == port);
                for port in ports.iter().filter(of_vector).take(*count as usize) {
                    let name = format!("\\dut.{within}.{} ", port.name);
                    look(&mut text, seen, &format!("[{}:0]", first.width - 1), &name);
                    names.insert(0, name);
                }
                connections.push(format!(".{port}({{{}}})", names.join(", ")));
            }
        }
    }
    let _ = writeln!(
        text,
        "  {}_properties #({params}) {prefix}properties (\n    {}\n  );",
        bench.name,
        connections.join(",\n    ")
    );
    if let Some(lemmas) = &bench.lemmas {
        let lemma_params = given(&mut bench.params.iter().chain(&bench.lemma_params));
        let wires = inputs(lemmas.text);
        for copy in 0..lemmas.copies {
            let mut connections = Vec::new();
            for wire in &wires {
                let names: Vec<String> = match wire.from {
                    From::Properties | From::Design => vec![wire.element(0, copy)],
                    From::EachOf => (0..bench.param(wire.count))
                        .rev()
                        .flat_map(|i| wire.words(&wire.element(i, copy), bench.param(wire.words)))
                        .collect(),
                };
                let names: Vec<String> = names.iter().map(|name| placed(name, &prefix, within)).collect();
                for name in &names {
                    look(&mut text, seen, &own(&wire.range), name);
                }
                connections.push(format!(".{}({{{}}})", wire.name, names.join(", ")));
            }
            let number = if lemmas.copies > 1 { format!("_{copy}") } else { String::new() };
            let _ = writeln!(
                text,
                "  {}_lemmas #({lemma_params}) {prefix}lemmas{number} (\n    {}\n  );",
                lemmas.name,
                connections.join(",\n    ")
            );
        }
    }
    text
}

/// A wire that flattening joins with the one of that name inside the instance.
fn look(text: &mut String, seen: &mut BTreeSet<String>, range: &str, name: &str) {
    if seen.insert(name.to_string()) {
        let _ = writeln!(text, "  (* hierconn *) wire {range} {name};");
    }
}

/// An escaped name of the design's or the properties', as that of a part.
fn placed(name: &str, prefix: &str, within: &str) -> String {
    if within.is_empty() {
        return name.to_string();
    }
    match name.strip_prefix("\\properties") {
        Some(rest) => format!("\\{prefix}properties{rest}"),
        None => name.replacen("\\dut", &format!("\\dut.{within}"), 1),
    }
}

/// A range whose parameters have a prefix.
fn prefixed(range: &str, prefix: &str) -> String {
    let mut text = String::new();
    let mut in_word = false;
    for c in range.chars() {
        let word = c.is_ascii_alphanumeric() || c == '_';
        if word && !in_word && c.is_ascii_alphabetic() {
            text.push_str(prefix);
        }
        in_word = word;
        text.push(c);
    }
    text
}

/// Ports as the properties see them: those of an array as one vector, element 0 lowest. Name, first port, number.
pub(crate) fn vectors(ports: &[Port]) -> Vec<(String, &Port, u32)> {
    let mut vectors: Vec<(String, &Port, u32)> = Vec::new();
    for port in ports {
        let name = element(&port.name).map_or_else(|| port.name.clone(), |(vector, _)| vector);
        match vectors.iter_mut().find(|(n, _, _)| *n == name) {
            Some((_, _, count)) => *count += 1,
            None => vectors.push((name, port, 1)),
        }
    }
    vectors
}

/// Where a lemma's input comes from.
enum From {
    Properties,
    Design,
    EachOf,
}

/// An input of a module of properties or lemmas.
pub(crate) struct Input<'a> {
    from: From,
    /// Its name.
    pub name: &'a str,
    /// Of one element.
    pub range: String,
    /// The parameter that says how many elements there are; empty for a single one.
    pub count: &'a str,
    /// Where each element is a memory, the parameter that says how many words it has; else empty.
    words: &'a str,
    /// The part of the design whose properties it is of; empty for those of the design.
    beside: &'a str,
    /// The instance that it is in, with `%` for the number where there is one for each, and `#` for its group; empty for the design itself.
    pub within: &'a str,
}

impl Input<'_> {
    /// The escaped name of an element, for a copy of the lemmas.
    pub fn element(&self, index: usize, copy: usize) -> String {
        let (group, index) =
            if self.within.contains('#') { (index / GROUP, index % GROUP) } else { (0, index) };
        let within = self.within.replace('#', &group.to_string()).replace('%', &index.to_string());
        let within = within.replace('@', &copy.to_string());
        // `warps__at_c_q` is `at_c_q`: where two instances have registers of one name.
        let name = self.name.rsplit_once("__").map_or(self.name, |(_, name)| name);
        let name = match name.rsplit_once('_') {
            // `row_q` is `row_0_q`, `row_1_q`, ...
            Some((stem, end)) if !self.count.is_empty() && !self.within.contains('%') => {
                format!("{stem}_{index}_{end}")
            }
            _ => name.into(),
        };
        let root = match (&self.from, self.beside) {
            (From::Properties, "") => "properties".to_string(),
            (From::Properties, part) => format!("{part}_properties"),
            _ => "dut".to_string(),
        };
        let within = if within.is_empty() { within } else { format!(".{within}") };
        format!("\\{root}{within}.{name} ")
    }

    /// The words of an element that is a memory, the last first; else the element.
    fn words(&self, element: &str, words: usize) -> Vec<String> {
        if self.words.is_empty() {
            return vec![element.into()];
        }
        (0..words).rev().map(|word| format!("{}[{word}] ", element.trim_end())).collect()
    }
}

/// The inputs of a module of properties or lemmas. In the latter, comments in its header say where those that follow come from: `// properties:`, `// design:`,
/// `// design, each of N:` for registers of an array, `// design u_part:` and `// design u_part_%, each of N:` for those of instances; `, words of E:`
/// after it where each is a memory. `#` is the number of the group where elements are in groups of 8, and counted in each of them. `@` is the number of the copy, where there are several.
pub(crate) fn inputs(text: &str) -> Vec<Input<'_>> {
    let mut wires = Vec::new();
    let mut from = "";
    for line in text.lines() {
        let line = line.trim();
        if line == ");" {
            break;
        }
        if line.starts_with("module ") {
            from = "";
        }
        if let Some(comment) = line.strip_prefix("// ") {
            from = comment.trim_end_matches(':');
        }
        for port in line.split(',').filter_map(|port| port.trim().strip_prefix("input ")) {
            let (range, name) = match port.rsplit_once("] ") {
                Some((range, name)) => (format!("{range}]"), name),
                None => ("[0:0]".to_string(), port),
            };
            let (place, count) = from.split_once(", each of ").unwrap_or((from, ""));
            let (count, words) = count.split_once(", words of ").unwrap_or((count, ""));
            let (place, within) = place.split_once(' ').unwrap_or((place, ""));
            let mut range = range;
            for many in [count, words].into_iter().filter(|many| !many.is_empty()) {
                range = range.replacen(&format!("[{many}*"), "[", 1);
            }
            // `// beside window:`
            let (beside, within) = if place == "beside" { (within, "") } else { ("", within) };
            let from = match (place, count) {
                ("properties" | "beside", _) => From::Properties,
                (_, "") => From::Design,
                (_, _) => From::EachOf,
            };
            wires.push(Input { from, name, range, count, words, beside, within });
        }
    }
    wires
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_lemmas() {
        let text = "module x_lemmas #(parameter N = 8) (\n  // properties:\n  input on,\n  input [N-1:0] used, input b,\n  \
                    // design, each of N:\n  input [N*LN-1:0] slots_q,\n  \
                    // design u_list_%, each of N, words of E:\n  input [N*E*8-1:0] words\n);\n";
        let wires = inputs(text);
        let got: Vec<(&str, &str, &str)> =
            wires.iter().map(|w| (w.name, w.range.as_str(), w.count)).collect();
        assert_eq!(
            got,
            [
                ("on", "[0:0]", ""),
                ("used", "[N-1:0]", ""),
                ("b", "[0:0]", ""),
                ("slots_q", "[LN-1:0]", "N"),
                ("words", "[8-1:0]", "N")
            ]
        );
        let words = wires.last().expect("a memory");
        assert_eq!(words.words, "E");
        assert_eq!(
            words.words(&words.element(3, 0), 2),
            ["\\dut.u_list_3.words[1] ", "\\dut.u_list_3.words[0] "]
        );
    }
}

//! The Verilog around a design that is to be proved: free inputs, its properties beside it, its registers for the lemmas.

use super::bench::Bench;
use crate::emit::Design;
use std::fmt::Write as _;
use windlass_rtl::port::{CLOCK, Direction, Port, RESET};

/// The module at the top of what is proved.
pub(super) const TOP: &str = "harness";

/// Lanes of a group of SMs.
const GROUP: usize = 8;

/// A module that instantiates the design, its properties and their lemmas.
pub(super) fn harness(design: &Design, bench: &Bench) -> String {
    let top = design.top();
    let mut text = format!("// {} and what is asked of it.\nmodule {TOP} (input {CLOCK});\n", top.name);
    for (name, value) in bench.params.iter().chain(&bench.lemma_params) {
        let _ = writeln!(text, "  localparam {name} = {value};");
    }
    for (name, first, count) in vectors(&top.ports) {
        if first.name == CLOCK {
            continue;
        }
        // Inputs are free in every cycle.
        let free = if first.direction == Direction::Input { "(* anyseq *) " } else { "" };
        let _ = writeln!(text, "  {free}wire [{}:0] {name};", first.width * count - 1);
    }
    let connections: Vec<String> = top
        .ports
        .iter()
        .map(|port| match element(&port.name) {
            Some((vector, index)) => {
                format!(".{}({vector}[{} +: {}])", port.name, index * port.width, port.width)
            }
            None => format!(".{}({})", port.name, port.name),
        })
        .collect();
    let _ = writeln!(text, "  {} dut (\n    {}\n  );", top.name, connections.join(",\n    "));
    let params: Vec<String> = bench.params.iter().map(|(name, _)| format!(".{name}({name})")).collect();
    let params = params.join(", ");
    let here: Vec<String> = vectors(&top.ports).into_iter().map(|(name, _, _)| name).collect();
    // Ports that this kind of the block does not have are zero.
    let connections: Vec<String> = inputs(bench.text)
        .iter()
        .map(|input| {
            let port = input.name;
            if here.iter().any(|name| name == port) {
                format!(".{port}({port})")
            } else {
                format!(".{port}('0)")
            }
        })
        .collect();
    let _ = writeln!(
        text,
        "  {}_properties #({params}) properties (\n    {}\n  );",
        bench.name,
        connections.join(",\n    ")
    );
    if let Some(lemmas) = &bench.lemmas {
        let all = bench.params.iter().chain(&bench.lemma_params);
        let lemma_params: Vec<String> = all.map(|(name, _)| format!(".{name}({name})")).collect();
        let lemma_params = lemma_params.join(", ");
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
                for name in &names {
                    // Flattening joins a wire of that name with the one inside the instance.
                    let _ = writeln!(text, "  (* hierconn *) wire {} {name};", wire.range);
                }
                connections.push(format!(".{}({{{}}})", wire.name, names.join(", ")));
            }
            let number = if lemmas.copies > 1 { format!("_{copy}") } else { String::new() };
            let _ = writeln!(
                text,
                "  {}_lemmas #({lemma_params}) lemmas{number} (\n    {}\n  );",
                lemmas.name,
                connections.join(",\n    ")
            );
        }
    }
    if top.ports.iter().any(|port| port.name == RESET) {
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

/// `ret_slot_2_i` is element 2 of `ret_slot_i`.
pub(crate) fn element(name: &str) -> Option<(String, u32)> {
    let (rest, direction) = name.rsplit_once('_')?;
    let (stem, index) = rest.rsplit_once('_')?;
    Some((format!("{stem}_{direction}"), index.parse().ok()?))
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
        let root = if matches!(self.from, From::Properties) { "properties" } else { "dut" };
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
            let from = match (place, count) {
                ("properties", _) => From::Properties,
                (_, "") => From::Design,
                (_, _) => From::EachOf,
            };
            wires.push(Input { from, name, range, count, words, within });
        }
    }
    wires
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_elements() {
        assert_eq!(element("ret_slot_2_i"), Some(("ret_slot_i".into(), 2)));
        assert_eq!(element("place_id_31_o"), Some(("place_id_o".into(), 31)));
        assert_eq!(element("ins_valid_i"), None);
        assert_eq!(element("clk"), None);
    }

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

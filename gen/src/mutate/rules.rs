//! What a block's neighbours keep, by its page: inputs that break it show nothing, and a mutant that only they tell from its design is no fault.
//!
//! The rules of each kind of block are a module of Verilog (`rules/*.sv`) that makes any inputs legal ones: `legal_NAME` from `NAME`. It changes
//! none that are legal. So a prover may choose freely and nothing illegal goes in, and a bench breaks a rule where its inputs would be changed.
//! The rules are weaker than the pages: what is not written there may come in.
//!
//! Beside them some say by the output `near_o` that the design's counters, which they see inside it, have not come far: a fault that only shows
//! later would take a bench longer than anybody waits.

use super::SELECT;
use crate::prove::bench::Bench;
use crate::prove::harness::{Input, inputs, vectors};
use crate::verilog::declaration;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use windlass_catalog::BlockSpec;
use windlass_rtl::port::{CLOCK, Direction, Port, RESET, element};

/// The output that says that the inputs of this cycle are legal.
pub const LEGAL: &str = "windlass_legal_o";

/// The output that says that no counter has come far.
pub const NEAR: &str = "windlass_near_o";

/// What a block's page allows on its inputs, as logic over its ports: inputs outside of it show no fault.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) module: &'static str,
    /// Verilog.
    pub text: &'static str,
    pub(crate) params: Vec<(&'static str, usize)>,
    /// Whether they see counters inside the design.
    sees_inside: bool,
}

/// Counters of events in a front end.
const COUNTERS: usize = 11;

impl Rules {
    /// Whether there is a `near_o`.
    pub fn has_near(&self) -> bool {
        self.sees_inside && header(self.text).contains(&("near_o", true))
    }

    /// The same of a design that somebody has written: what its registers mean nobody knows, so nothing is said of its counters.
    pub fn of_ports_only(self) -> Self {
        Self { sees_inside: false, ..self }
    }

    /// What they see inside the design: input, its range, and the names of the wires, the last element first.
    pub(crate) fn inside(&self) -> Vec<(&'static str, String, Vec<String>)> {
        let count = |of: &str| self.params.iter().find(|(name, _)| *name == of).map_or(1, |(_, n)| *n);
        let wires = inputs(self.text).into_iter().filter(|wire| self.sees_inside && !wire.within.is_empty());
        let names = |wire: Input<'static>| {
            let names = (0..count(wire.count)).rev().map(|i| wire.element(i, 0)).collect();
            (wire.name, wire.range, names)
        };
        wires.map(names).collect()
    }

    /// Those of a block; `None` where any inputs are legal, or no mutant ever asked for rules.
    pub fn of(spec: BlockSpec) -> Option<Self> {
        let text = match spec {
            BlockSpec::OldestFirst(_) => include_str!("rules/oldest_first.sv"),
            BlockSpec::KernelTable(_) => include_str!("rules/kernel_table.sv"),
            BlockSpec::SmOccupancy { .. } => include_str!("rules/sm_occupancy.sv"),
            BlockSpec::SmPartitions { .. } => include_str!("rules/sm_partitions.sv"),
            BlockSpec::CtaArbiter(_) => include_str!("rules/cta_arbiter.sv"),
            BlockSpec::FrontEnd(_) => {
                concat!(
                    include_str!("rules/front_end.sv"),
                    include_str!("rules/sm_partitions.sv"),
                    include_str!("rules/cta_arbiter.sv")
                )
            }
            _ => return None,
        };
        let module = text.lines().find_map(|line| line.strip_prefix("module ")?.split(' ').next())?;
        let has = |name: &str| text.contains(&format!("parameter {name} = "));
        let mut params = Bench::of(spec).params;
        if matches!(spec, BlockSpec::FrontEnd(_)) {
            params.push(("COUNTERS", COUNTERS));
        }
        params.retain(|(name, _)| has(name));
        Some(Self { module, text, params, sees_inside: true })
    }
}

/// The module `name`: the design `top` with these `ports`, behind its rules where the highest of [`SELECT`]'s `width` + 1 bits is 1, [`LEGAL`] and [`NEAR`].
pub(super) fn harness(name: &str, top: &str, ports: &[Port], rules: Option<&Rules>, width: u32) -> String {
    let declared: Vec<String> = ports.iter().map(declaration).collect();
    let mut text = format!(
        "module {name} (\n  {},\n  input [{width}:0] {SELECT},\n  output {LEGAL},\n  output {NEAR}\n);\n",
        declared.join(",\n  ")
    );
    let vectors = vectors(ports);
    let rule_ports = rules.map_or_else(Vec::new, |rules| header(rules.text));
    let mut legal = vec!["1'b1".to_string()];
    for (vector, first, count) in vectors.iter().filter(|(name, _, _)| *name != CLOCK && *name != RESET) {
        let range = first.width * count - 1;
        let is_element = |port: &&Port| element(&port.name).map_or(port.name.clone(), |(v, _)| v) == *vector;
        let elements: Vec<&str> = ports.iter().filter(is_element).rev().map(|port| &*port.name).collect();
        let _ = writeln!(text, "  wire [{range}:0] all_{vector} = {{{}}};", elements.join(", "));
        let legal_name = format!("legal_{vector}");
        if rule_ports.iter().any(|(name, _)| *name == legal_name) {
            let _ = writeln!(text, "  wire [{range}:0] {legal_name};");
            let _ = writeln!(
                text,
                "  wire [{range}:0] given_{vector} = {SELECT}[{width}] ? {legal_name} : all_{vector};"
            );
            legal.push(format!("all_{vector} == {legal_name}"));
        } else {
            let _ = writeln!(text, "  wire [{range}:0] given_{vector} = all_{vector};");
        }
    }
    if let Some(rules) = rules {
        let params: Vec<String> =
            rules.params.iter().map(|(name, value)| format!(".{name}({value})")).collect();
        let mut inside = BTreeMap::new();
        for (name, range, wires) in rules.inside() {
            for wire in &wires {
                // Flattening joins a wire of that name with the one inside the design.
                let _ = writeln!(text, "  (* hierconn *) wire {range} {wire};");
            }
            inside.insert(name, wires.join(", "));
        }
        let connections: Vec<String> = rule_ports
            .iter()
            .filter_map(|(name, is_output)| {
                if let Some(names) = inside.get(name) {
                    return Some(format!(".{name}({{{names}}})"));
                }
                if *name == "near_o" {
                    return rules.has_near().then(|| format!(".near_o({NEAR})"));
                }
                let here = vectors.iter().any(|(v, _, _)| v == name.strip_prefix("legal_").unwrap_or(name));
                match (here, is_output) {
                    (true, false) if *name != CLOCK && *name != RESET => Some(format!(".{name}(all_{name})")),
                    (true, _) => Some(format!(".{name}({name})")),
                    // Ports that this kind of the block does not have.
                    (false, true) => None,
                    (false, false) => Some(format!(".{name}('0)")),
                }
            })
            .collect();
        let _ = writeln!(
            text,
            "  {} #({}) rules (\n    {}\n  );",
            rules.module,
            params.join(", "),
            connections.join(",\n    ")
        );
    }
    if !rules.is_some_and(Rules::has_near) {
        let _ = writeln!(text, "  assign {NEAR} = 1;");
    }
    let connections: Vec<String> = ports
        .iter()
        .map(|port| match (port.direction, element(&port.name)) {
            (Direction::Output, _) => format!(".{0}({0})", port.name),
            _ if port.name == CLOCK || port.name == RESET => format!(".{0}({0})", port.name),
            (_, Some((vector, index))) => {
                format!(".{}(given_{vector}[{} +: {}])", port.name, index * port.width, port.width)
            }
            (_, None) => format!(".{0}(given_{0})", port.name),
        })
        .collect();
    let _ = writeln!(
        text,
        "  {top} dut (\n    {},\n    .{SELECT}({SELECT}[{}:0])\n  );",
        connections.join(",\n    "),
        width - 1
    );
    let _ = writeln!(text, "  assign {LEGAL} = {};\nendmodule", legal.join("\n    & "));
    text
}

/// The ports of a module of rules, and whether they are outputs.
pub(crate) fn header(text: &str) -> Vec<(&str, bool)> {
    let header = text.split_once("\n);").map_or(text, |(header, _)| header);
    let port = |item: &&str| item.starts_with("input ") || item.starts_with("output ");
    header
        .split([',', '\n'])
        .map(str::trim)
        .filter(port)
        .filter_map(|item| Some((item.rsplit(' ').next()?, item.starts_with("output "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_catalog::Request;

    #[test]
    fn ports_of_a_header() {
        let text = "module m #(\n  parameter N = 8\n) (\n  input clk_i,\n  input [N-1:0] a_i, output [N-1:0] legal_a_i\n);\n  input x;\n";
        assert_eq!(header(text), [("clk_i", false), ("a_i", false), ("legal_a_i", true)]);
    }

    #[test]
    fn a_harness_has_what_the_rules_name() {
        let spec = BlockSpec::new("cta_arbiter_typed", Request::default()).unwrap_or_else(|e| panic!("{e}"));
        let rules = Rules::of(spec).expect("it has rules");
        let text = harness("h", "top", &spec.ports(), Some(&rules), 4);
        for line in [
            "  wire [63:0] given_kern_grid_i = windlass_mutant_i[4] ? legal_kern_grid_i : all_kern_grid_i;",
            "  (* hierconn *) wire [29-1:0] \\dut.u_channel_1.u_count_0.index_high_q ;",
            "    .windlass_mutant_i(windlass_mutant_i[3:0])",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("assign windlass_near_o"), "{text}");
    }
}

//! A checker for simulations: a SystemVerilog module beside a front end that watches its ports, keeps books of every kernel and CTA, and says
//! which rule is broken: the front end's or those of the design around it. And the same rules as properties for formal tools.
//!
//! They are for what no proof here can see, the neighbours that somebody else writes. `docs/integration.md` has the rules. And a testbench, to
//! start from, which is such neighbours.

use crate::emit::{Design, LICENSE, Prefix};
use crate::output::guard;
use crate::prove::bench::Bench;
use crate::prove::harness::inputs;
use std::fmt::Write as _;
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_rtl::port::{Port, element};

/// The checker itself, for all sizes.
const TEXT: &str = include_str!("front_end.sv");

/// Its name, without the design's prefix.
const NAME: &str = "front_end_checker";

/// Its rules as properties, for all sizes. Its ports are the checker's.
const FORMAL: &str = include_str!("front_end_formal.sv");

/// The name of that, without the design's prefix.
const FORMAL_NAME: &str = "front_end_formal";

/// What its user sets, as the wrapper has it.
const FORMAL_OPTIONS: &str = "#(
  // 1: the rules of this side are assumed, 0: they are asserted.
  parameter ASSUME_HOST = 1, parameter ASSUME_SMS = 1, parameter ASSUME_PARTITIONS = 1, parameter ASSUME_FRONT_END = 0
) ";

/// The testbench, for all sizes: what stands between two `@` is the design's.
const TESTBENCH: &str = include_str!("testbench.v");

/// There are no rules for this block, and so no checker and no testbench.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there are no rules, no checker and no testbench for {block}: only front_end has them")]
pub struct NoChecker {
    /// The block.
    pub block: &'static str,
}

/// The ports with that name, or the elements of that array of ports.
fn of_vector<'a>(ports: &'a [Port], name: &'a str) -> impl Iterator<Item = &'a Port> {
    ports.iter().filter(move |port| port.name == name || element(&port.name).is_some_and(|(v, _)| v == name))
}

/// The ports of a front end that its checker looks at, in their order.
pub fn ports(design: &Design) -> Vec<&Port> {
    let seen: Vec<_> = inputs(TEXT);
    let ports = &design.top().ports;
    let is_seen = |port: &&Port| {
        seen.iter().any(|input| of_vector(std::slice::from_ref(*port), input.name).count() > 0)
    };
    ports.iter().filter(is_seen).collect()
}

/// The parameters of the checker, which are those of the testbench too.
fn params(spec: BlockSpec) -> Vec<(&'static str, usize)> {
    let is_one = |(name, _): &(&str, usize)| TEXT.contains(&format!("parameter {name} ="));
    Bench::of(spec).params.into_iter().filter(is_one).collect()
}

/// The file of a testbench of a design, which is the block's: name and text. It is Verilog-2005 and its module is `TOP_tb`.
pub fn testbench(spec: BlockSpec, design: &Design) -> Result<(String, String), NoChecker> {
    if !matches!(spec, BlockSpec::FrontEnd(_)) {
        return Err(NoChecker { block: spec.name() });
    }
    let top = design.top();
    let params: Vec<String> = params(spec).iter().map(|(name, value)| format!("{name} = {value}")).collect();
    // Of an array of ports the testbench has one vector.
    let connection = |port: &Port| match element(&port.name) {
        Some((vector, index)) => {
            let (low, high) = (index * port.width, (index + 1) * port.width - 1);
            format!(".{}({vector}[{high}:{low}])", port.name)
        }
        None => format!(".{0}({0})", port.name),
    };
    let connections: Vec<String> = top.ports.iter().map(connection).collect();
    let checked: Vec<String> = ports(design).into_iter().map(connection).collect();
    let text = TESTBENCH
        .replace("@TOP@", &top.name)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@LICENSE@", LICENSE)
        .replace("@PARAMS@", &params.join(", "))
        .replace("@CONNECTIONS@", &connections.join(",\n    "))
        .replace("@CHECKER@", &guard(design.prefix(), NAME))
        .replace("@CHECKED@", &checked.join(",\n    "));
    Ok((format!("{}_tb.v", top.name), text))
}

/// A module with the ports of a front end that the checker looks at, all of them inputs, around `rules`, which has them as vectors.
/// It has the parameters `options` and gives them on.
fn wrapper(spec: BlockSpec, design: &Design, name: &str, rules: &str, options: &str) -> String {
    let top = design.top();
    let ports: Vec<String> = ports(design)
        .iter()
        .map(|port| match port.width {
            1 => format!("  input wire {}", port.name),
            width => format!("  input wire [{}:0] {}", width - 1, port.name),
        })
        .collect();
    let params = params(spec);
    let scheduled = params.iter().find(|(name, _)| *name == "M").map_or(1, |(_, value)| *value);
    // Bits of what the other encoding alone has.
    let missing = |name: &str| match name {
        "host_up_i" => scheduled,
        "host_up_id_i" => 8,
        _ => 1,
    };
    let connections: Vec<String> = inputs(TEXT)
        .iter()
        .map(|input| {
            // Element 0 is lowest. What the other encoding alone has is zero.
            let mut names: Vec<&str> =
                of_vector(&top.ports, input.name).map(|port| port.name.as_str()).collect();
            names.reverse();
            match names.is_empty() {
                true => format!(".{}({}'d0)", input.name, missing(input.name)),
                false => format!(".{}({{{}}})", input.name, names.join(", ")),
            }
        })
        .collect();
    let given = options.split("parameter ").skip(1).filter_map(|option| option.split(' ').next());
    let params: Vec<String> = params
        .iter()
        .map(|(name, value)| format!(".{name}({value})"))
        .chain(given.map(|name| format!(".{name}({name})")))
        .collect();
    format!(
        "module {name} {options}(\n{}\n);\n  {rules} #({}) u_rules (\n    {}\n  );\nendmodule\n",
        ports.join(",\n"),
        params.join(", "),
        connections.join(",\n    ")
    )
}

/// The rules' file, under the design's prefix: the module's name and the text.
fn with_prefix(design: &Design, name: &str, text: &str) -> (String, String) {
    let rules = format!("{}{name}", design.prefix().as_str());
    let text =
        text.replace(&guard(&Prefix::default(), name), &guard(design.prefix(), name)).replace(name, &rules);
    (rules, text)
}

/// The first lines of a file that stands beside a design.
fn head(what: &str, purpose: &str, design: &Design, rules: &str) -> String {
    let (top, version) = (&design.top().name, env!("CARGO_PKG_VERSION"));
    format!(
        "// SPDX-License-Identifier: {LICENSE}\n// {what} of {top}, for {purpose}: generated by Windlass {version}; do not edit.\n// Its rules are in {rules}.sv.\n"
    )
}

/// The files of the checker of a design, which is the block's: name and text. `TOP_checker` has the ports of `TOP` that it looks at, all of
/// them inputs, and binds itself to every `TOP`, but in Icarus Verilog, which has no `bind`: there it is to be instantiated.
pub fn files(spec: BlockSpec, design: &Design) -> Result<Vec<(String, String)>, NoChecker> {
    if !matches!(spec, BlockSpec::FrontEnd(_)) {
        return Err(NoChecker { block: spec.name() });
    }
    let top = &design.top().name;
    let name = format!("{top}_checker");
    let (rules, text) = with_prefix(design, NAME, TEXT);
    let mut wrapped = head("The checker", "simulation", design, &rules);
    wrapped += &wrapper(spec, design, &name, &rules, "");
    let _ = writeln!(wrapped, "\n`ifndef __ICARUS__\nbind {top} {name} u_checker (.*);\n`endif");
    Ok(vec![(format!("{rules}.sv"), text), (format!("{name}.sv"), wrapped)])
}

/// The files of the properties of a design, which is the block's, for formal tools: name and text. `TOP_formal` has the ports of `TOP` that
/// they look at, all of them inputs. It is to be bound or instantiated, for who does so says which side's rules are assumed.
pub fn formal_files(spec: BlockSpec, design: &Design) -> Result<Vec<(String, String)>, NoChecker> {
    if !matches!(spec, BlockSpec::FrontEnd(_)) {
        return Err(NoChecker { block: spec.name() });
    }
    let name = format!("{}_formal", design.top().name);
    let (rules, text) = with_prefix(design, FORMAL_NAME, FORMAL);
    let wrapped = head("The properties", "formal tools", design, &rules)
        + &wrapper(spec, design, &name, &rules, FORMAL_OPTIONS);
    Ok(vec![(format!("{rules}.sv"), text), (format!("{name}.sv"), wrapped)])
}

//! The C++ between the flat words of a cycle and the ports of the Verilated model, written from the list of ports.

use std::fmt::Write as _;
use windlass_gen::rtl;
use windlass_rtl::port::{CLOCK, Direction, Layout, Port, Slot};

/// Prefix of every name that Verilator makes.
pub(super) const PREFIX: &str = "Vdut";

/// Included before everything else, in the model and in Verilator's runtime: printing goes through us.
pub(super) const PRINT_HEADER: &str = "\
#pragma once
extern \"C\" int windlass_print(const char* format, ...) __attribute__((format(printf, 1, 2), visibility(\"hidden\")));
#define VL_PRINTF windlass_print
";

/// What the shim's two parts share, and its name.
pub(super) const HEADER: &str = include_str!("shim.h");
pub(super) const HEADER_FILE: &str = "windlass_shim.h";

/// The part that is the same for all models, and so compiled once.
pub(super) const COMMON: &str = include_str!("shim.cpp");

/// What of a model's part does not depend on the ports.
const MODEL: &str = include_str!("shim_model.cpp");

/// The module around the design that takes the inputs at the clock's edge, and the file that it is in.
pub(super) const AROUND: &str = "windlass_inputs";
pub(super) const AROUND_FILE: &str = "windlass_inputs.v";

/// A module around the design in which the inputs of a cycle come at the edge that begins it, as the registers' new contents do. So what
/// is between registers is worked out once per cycle, after the edge, and not for the new inputs and for the new contents apart.
///
/// Nothing if the design could tell: it must have this one clock, and no other edges than its and those of an asynchronous reset. Nor if
/// its text does not simply have the ports of the list, for nobody would compare them later.
pub(super) fn around(top: &str, sources: &[(String, String)], ports: &[Port]) -> Option<String> {
    let only_edges = |text: &str| {
        let after = |edge: &str, signal: &str| {
            text.split(edge).skip(1).all(|rest| {
                let rest = rest.trim_start().strip_prefix(signal);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
            })
        };
        after("posedge", CLOCK) && after("negedge", "rst_ni")
    };
    let clocked = ports.iter().any(|port| port.name == CLOCK);
    let named = |name: &str| sources.iter().any(|(other, _)| other == name);
    if !clocked || top == AROUND || named(AROUND_FILE) || !sources.iter().all(|(_, text)| only_edges(text)) {
        return None;
    }
    let text = sources.iter().find_map(|(_, text)| text_ports(top, text))?;
    let declared: Option<Vec<_>> = text.split(',').map(declared).collect();
    if !rtl::port_differences(ports, &declared?).is_empty() {
        return None;
    }
    let (mut list, mut registers, mut first, mut next, mut pins) =
        (vec![], String::new(), String::new(), String::new(), vec![]);
    for Port { name, direction, width, .. } in ports {
        let bits = if *width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
        let (kind, pin) = match direction {
            Direction::Output => ("output", name.clone()),
            Direction::Input if name == CLOCK => ("input", name.clone()),
            Direction::Input => {
                // Writing to a String cannot fail.
                let _ = writeln!(registers, "  reg {bits}windlass_{name};");
                let _ = writeln!(first, "    windlass_{name} = {name};");
                let _ = writeln!(next, "    windlass_{name} <= {name};");
                ("input", format!("windlass_{name}"))
            }
        };
        list.push(format!("  {kind} wire {bits}{name}"));
        pins.push(format!("    .{name}({pin})"));
    }
    Some(format!(
        "module {AROUND} (\n{}\n);\n{registers}  initial begin\n{first}  end\n  always @(posedge {CLOCK}) begin\n{next}  end\n  \
         {top} {top} (\n{}\n  );\nendmodule\n",
        list.join(",\n"),
        pins.join(",\n")
    ))
}

/// The list of ports behind `module TOP (`, without comments.
fn text_ports(top: &str, text: &str) -> Option<String> {
    let behind = |rest: &'_ str| {
        rest.trim_start().strip_prefix(top)?.trim_start().strip_prefix('(').map(str::to_owned)
    };
    let list = text.split("module").skip(1).find_map(behind)?;
    let list: String =
        list.lines().flat_map(|line| [line.split("//").next().unwrap_or_default(), " "]).collect();
    Some(list.split_once(')')?.0.to_owned())
}

/// A port as Verilog declares it, with numbers for a range.
fn declared(item: &str) -> Option<(&str, Option<Direction>, u32)> {
    let item = item.trim();
    let (direction, rest) = match (item.strip_prefix("input "), item.strip_prefix("output ")) {
        (Some(rest), _) => (Direction::Input, rest),
        (_, Some(rest)) => (Direction::Output, rest),
        _ => return None,
    };
    let rest = rest.trim_start();
    let rest = ["wire ", "reg ", "logic "]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))
        .unwrap_or(rest)
        .trim_start();
    let (width, name) = match rest.strip_prefix('[') {
        None => (1, rest),
        Some(rest) => {
            let (range, name) = rest.split_once(']')?;
            let (msb, lsb) = range.split_once(':')?;
            let more = msb.trim().parse::<u32>().ok()?.checked_sub(lsb.trim().parse().ok()?)?;
            (more.checked_add(1)?, name.trim())
        }
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some((name, Some(direction), width))
}

/// The shim's part for a model with these ports; `around`: in a module of ours.
pub(super) fn source(ports: &[Port], around: bool) -> String {
    let mut text = String::new();
    let clocked = ports.iter().any(|p| p.name == CLOCK);
    let inputs = Layout::new(ports, Direction::Input);
    let outputs = Layout::new(ports, Direction::Output);
    // Writing to a String cannot fail.
    let _ = write!(text, "#include \"{PREFIX}.h\"\n#include \"{HEADER_FILE}\"\n");
    let _ = writeln!(text, "#define WINDLASS_AROUND {}\n\nnamespace {{\n", u8::from(around));
    let _ = writeln!(text, "using Model = {PREFIX};");
    let _ = writeln!(text, "constexpr uint64_t kInputWords = {};", inputs.words());
    let _ = writeln!(text, "constexpr uint64_t kOutputWords = {};\n", outputs.words());
    text.push_str("inline void set_clock(Model& m, int level) {\n");
    text.push_str(if clocked { "    m.clk_i = level;\n" } else { "    (void)m; (void)level;\n" });
    let _ = writeln!(text, "}}\nconstexpr bool kClocked = {clocked};\n");
    text.push_str("inline void apply(Model& m, const uint32_t* in) {\n    (void)m; (void)in;\n");
    inputs.iter().for_each(|(name, slot)| apply(&mut text, name, slot));
    text.push_str("}\n\ninline void read(const Model& m, uint32_t* out) {\n    (void)m; (void)out;\n");
    outputs.iter().for_each(|(name, slot)| read(&mut text, name, slot));
    let _ = write!(text, "}}\n\n}}  // namespace\n{MODEL}");
    text
}

/// Bits above the width are dropped: Verilator trusts that they are zero.
fn apply(text: &mut String, name: &str, slot: Slot) {
    let Slot { word, width } = slot;
    let top = match width % 32 {
        0 => String::new(),
        rest => format!(" & 0x{:x}u", (1_u32 << rest) - 1),
    };
    let _ = match width {
        0..=32 => writeln!(text, "    m.{name} = in[{word}]{top};"),
        33..=64 => {
            writeln!(text, "    m.{name} = static_cast<uint64_t>(in[{}]{top}) << 32 | in[{word}];", word + 1)
        }
        _ => {
            let last = slot.words() - 1;
            writeln!(
                text,
                "    for (int i = 0; i < {last}; ++i) m.{name}[i] = in[{word} + i];\n    m.{name}[{last}] = in[{}]{top};",
                word + last
            )
        }
    };
}

fn read(text: &mut String, name: &str, slot: Slot) {
    let Slot { word, width } = slot;
    let _ = match width {
        0..=32 => writeln!(text, "    out[{word}] = m.{name};"),
        33..=64 => writeln!(
            text,
            "    out[{word}] = static_cast<uint32_t>(m.{name});\n    out[{}] = static_cast<uint32_t>(m.{name} >> 32);",
            word + 1
        ),
        _ => writeln!(text, "    for (int i = 0; i < {}; ++i) out[{word} + i] = m.{name}[i];", slot.words()),
    };
}

/// What is wrong with `ports`, one line per port, when held against the header that Verilator wrote.
///
/// A port of the wrong width would not be noticed by the C++ compiler: values would silently be cut.
pub(super) fn compare_with_header(ports: &[Port], header: &str) -> Vec<String> {
    rtl::port_differences(ports, &header_ports(header))
}

/// The ports in a Verilated header: lines such as `VL_INW(&a_i,64,0,3);`.
fn header_ports(header: &str) -> Vec<(&str, Option<Direction>, u32)> {
    let mut ports = Vec::new();
    for line in header.lines() {
        let Some((kind, rest)) = line.trim().strip_prefix("VL_").and_then(|l| l.split_once('(')) else {
            continue;
        };
        let direction = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
            "IN" => Some(Direction::Input),
            "OUT" => Some(Direction::Output),
            "INOUT" => None,
            _ => continue,
        };
        let mut fields = rest.trim_end_matches([')', ';']).split(',').map(str::trim);
        let (Some(name), Some(Ok(msb)), Some(Ok(lsb))) =
            (fields.next(), fields.next().map(str::parse::<u32>), fields.next().map(str::parse::<u32>))
        else {
            continue;
        };
        ports.push((name.trim_start_matches('&'), direction, msb.abs_diff(lsb) + 1));
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, direction: Direction, width: u32) -> Port {
        Port { name: name.into(), direction, width, channel: String::new(), doc: String::new() }
    }

    #[test]
    fn designs_with_other_edges_than_the_clock_s_have_nothing_around_them() {
        let ports = [
            port("clk_i", Direction::Input, 1),
            port("a_i", Direction::Input, 65),
            port("b_o", Direction::Output, 1),
        ];
        let of = |name: &str, head: &str, body: &str, ports: &[Port]| {
            around(
                "top",
                &[("other.v".into(), "module topless;".into()), (name.into(), format!("{head}\n{body}"))],
                ports,
            )
        };
        let head = "module top (\n  input  wire clk_i, // clock, (rising)\n  input [64:0] a_i,\n  output reg b_o\n);";
        let text = of("top.v", head, "always @(posedge clk_i or negedge rst_ni)", &ports).expect("a module");
        assert!(text.contains("  input wire [64:0] a_i,\n  output wire b_o\n);"), "{text}");
        assert!(
            text.contains("  always @(posedge clk_i) begin\n    windlass_a_i <= a_i;\n  end\n"),
            "{text}"
        );
        assert!(
            text.contains("  top top (\n    .clk_i(clk_i),\n    .a_i(windlass_a_i),\n    .b_o(b_o)\n  );"),
            "{text}"
        );
        for other in ["always @(posedge clk)", "@(negedge clk_i)", "@(posedge  clk_i2 )", "@(posedge rst_ni)"]
        {
            assert_eq!(of("top.v", head, other, &ports), None, "{other}");
        }
        // Ports that are others, or are not simply there.
        for (from, to) in [
            ("[64:0]", "[63:0]"),
            ("[64:0]", "[W-1:0]"),
            ("[64:0]", "[4294967295:0]"),
            ("output reg b_o", "input b_o"),
            ("output reg b_o", "output reg b_o, c_o"),
            ("module top (", "module top #(parameter W = 65) ("),
            ("input [64:0] a_i", "inout [64:0] a_i"),
        ] {
            assert_eq!(of("top.v", &head.replace(from, to), "", &ports), None, "{to}");
        }
        assert_eq!(of(AROUND_FILE, head, "", &ports), None, "the file is there");
        let combinational = head.replace("input  wire clk_i, // clock, (rising)", "");
        assert_eq!(of("top.v", &combinational, "", &ports[1..]), None, "no clock");
    }

    #[test]
    fn ports_that_differ_from_the_header_are_all_named() {
        let header = "    VL_IN8(&clk_i,0,0);\n    VL_INW(&a_i,64,0,3);\n    VL_OUT16(&b_o,8,0);\n    VL_OUT(&d_o,31,0);\n";
        let ports = [
            port("clk_i", Direction::Input, 1),
            port("a_i", Direction::Input, 64),
            port("b_o", Direction::Input, 9),
            port("c_o", Direction::Output, 1),
        ];
        assert_eq!(
            compare_with_header(&ports, header),
            [
                "`a_i` is 65 bits wide in the Verilog module, not 64",
                "`b_o` is an output in the Verilog module",
                "`c_o` is not a port of the Verilog module",
                "the Verilog module has a port `d_o` that is not in the list",
            ]
        );
    }
}

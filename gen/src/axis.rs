//! A design's channels as AXI4-Streams: a module around it that renames handshakes and packs payloads.
//!
//! A channel of the designs transfers by `valid` and `ready` as a stream does (AMBA 4 AXI4-Stream, sections 2.2 and 2.8): `valid` waits for
//! no `ready`, and stays, with its payload, until the transfer. So the module has no logic. What a stream calls TDATA has a layout: each
//! field is where a C compiler would put it, so that a packet in memory is a `struct`. `docs/integration.md` has an example.

use crate::constraints::Outside;
use crate::emit::{Design, LICENSE, Module};
use crate::output::{guard, role};
use crate::verilog::direction;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use thiserror::Error;
use windlass_rtl::port::{Direction, Port, element};

/// There is nothing to be a stream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{top} has no channel with `valid`, so that nothing of it can be an AXI4-Stream; choose another block"
)]
pub struct NoChannel {
    /// The design's top module.
    pub top: String,
}

/// A channel as a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// What its signals' names begin with: `s_axis_` where the design receives, `m_axis_` where it sends; the channel; its number, where
    /// there are several.
    pub name: String,
    /// Bits of TDATA, a multiple of 8; 0 where there is none.
    pub bits: u32,
    /// What is where in TDATA.
    pub fields: Vec<Field>,
    /// The port that is TLAST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The port that is TVALID.
    pub valid: String,
    /// The port that is TREADY. Without one, every beat is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    #[serde(skip)]
    receives: bool,
}

/// A port's place in TDATA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The port.
    pub port: String,
    /// Its lowest bit in TDATA.
    pub offset: u32,
    /// Its bits.
    pub width: u32,
}

/// A design's streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The module's file: name and text. The module is Verilog-2005, and is called `TOP_axis`.
    pub file: (String, String),
    /// In the order of the design's ports.
    pub streams: Vec<Stream>,
    /// The module's constraints, where somebody made them: names and texts.
    pub constraints: Vec<(String, String)>,
}

/// Bits that a value takes in a C struct, and that it is aligned to: an integer's, or of more than 64 bits whole words of 64.
pub(crate) fn place(width: u32) -> (u32, u32) {
    match width {
        0..=64 => (width.next_power_of_two().max(8), width.next_power_of_two().max(8)),
        wider => (wider.next_multiple_of(64), 64),
    }
}

/// Puts fields behind each other, and how many bits they take. Where there are `arrays`, flags of one share bytes; all other elements have
/// a place each.
fn pack(ports: &[&Port], arrays: bool) -> (Vec<Field>, u32) {
    let array = |port: &Port| element(&port.name).map(|(array, _)| array).filter(|_| arrays);
    let (mut fields, mut end, mut most) = (Vec::new(), 0u32, 8);
    let mut rest = ports;
    while let Some(first) = rest.first() {
        let own = array(first);
        let count = rest.iter().take_while(|port| own.is_some() && array(port) == own).count().max(1);
        let (these, others) = rest.split_at(count);
        let flags = first.width == 1 && count > 1;
        let (size, aligned) = place(if flags { count as u32 } else { first.width });
        let start = end.next_multiple_of(aligned);
        for (n, port) in (0..).zip(these) {
            let offset = start + n * if flags { 1 } else { size };
            fields.push(Field { port: port.name.clone(), offset, width: port.width });
        }
        end = start + if flags { size } else { size * count as u32 };
        most = most.max(aligned);
        rest = others;
    }
    (fields, end.next_multiple_of(most))
}

fn streams(ports: &[Port]) -> Vec<Stream> {
    let mut streams = Vec::new();
    for valid in ports.iter().filter(|port| role(port) == "valid") {
        // Only a channel of which there are several has a number; in others an array is a payload.
        let number = element(&valid.name).map(|(_, index)| index);
        let is_its = |port: &&Port| {
            port.channel == valid.channel
                && (number.is_none() || element(&port.name).map(|(_, index)| index) == number)
        };
        let own: Vec<&Port> = ports.iter().filter(is_its).collect();
        let is_last = |port: &&Port| port.name.starts_with(&format!("{}_last_", port.channel));
        let payload = own.iter().copied().filter(|port| role(port) == "payload");
        let (last, payload): (Vec<&Port>, Vec<&Port>) = payload.partition(is_last);
        let (fields, bits) = pack(&payload, number.is_none());
        let receives = valid.direction == Direction::Input;
        let side = if receives { 's' } else { 'm' };
        let number = number.map(|n| format!("_{n}")).unwrap_or_default();
        streams.push(Stream {
            name: format!("{side}_axis_{}{number}", valid.channel),
            bits,
            fields,
            last: last.first().map(|port| port.name.clone()),
            valid: valid.name.clone(),
            ready: own.iter().find(|port| role(port) == "ready").map(|port| port.name.clone()),
            receives,
        });
    }
    streams
}

pub(crate) fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

impl Stream {
    /// Its signals in the module's header.
    pub(crate) fn declarations(&self) -> Vec<String> {
        let (with, against) = if self.receives { ("input", "output") } else { ("output", "input") };
        let mut text = vec![format!("{with} wire {}_tvalid", self.name)];
        text.extend(self.ready.iter().map(|_| format!("{against} wire {}_tready", self.name)));
        if self.bits > 0 {
            text.push(format!("{with} wire {}{}_tdata", range(self.bits), self.name));
        }
        text.extend(self.last.iter().map(|_| format!("{with} wire {}_tlast", self.name)));
        text
    }

    /// What a port is of it.
    pub(crate) fn signal(&self, port: &Port) -> Option<String> {
        let alone =
            [(Some(&self.valid), "tvalid"), (self.ready.as_ref(), "tready"), (self.last.as_ref(), "tlast")];
        let alone = alone.into_iter().find(|(name, _)| *name == Some(&port.name));
        let field = self.fields.iter().find(|field| field.port == port.name);
        alone
            .map(|(_, signal)| format!("{}_{signal}", self.name))
            .or_else(|| field.map(|Field { offset, width, .. }| self.bits_at(*offset, *width)))
    }

    /// What each bit of a port is of it, for constraints.
    fn bits_of(&self, port: &Port) -> Option<Vec<String>> {
        let field = self.fields.iter().find(|field| field.port == port.name);
        match field {
            Some(Field { offset, width, .. }) => {
                Some((*offset..offset + width).map(|bit| format!("{}_tdata[{bit}]", self.name)).collect())
            }
            None => self.signal(port).map(|signal| vec![signal]),
        }
    }

    /// Some bits of TDATA.
    fn bits_at(&self, offset: u32, width: u32) -> String {
        match width {
            1 => format!("{}_tdata[{offset}]", self.name),
            width => format!("{}_tdata[{}:{offset}]", self.name, offset + width - 1),
        }
    }

    /// Where in TDATA there is no field: first bits and widths.
    fn padding(&self) -> Vec<(u32, u32)> {
        let mut end = 0;
        let mut free = Vec::new();
        for (offset, next) in
            self.fields.iter().map(|f| (f.offset, f.offset + f.width)).chain([(self.bits, 0)])
        {
            if offset > end {
                free.push((end, offset - end));
            }
            end = next;
        }
        free
    }
}

impl Axis {
    /// What the ports of the design, which was wrapped, are called outside.
    pub fn outside(&self, design: &Design) -> Outside {
        let top = design.top();
        let bits = |port: &Port| {
            let own = self.streams.iter().find_map(|stream| stream.bits_of(port));
            own.unwrap_or_else(|| match (outer(top, port), port.width) {
                (name, 1) => vec![name.to_owned()],
                (name, width) => (0..width).map(|bit| format!("{name}[{bit}]")).collect(),
            })
        };
        let bits = top.ports.iter().map(|port| (port.name.clone(), bits(port))).collect();
        Outside { top: format!("{}_axis", top.name), bits, like: BTreeMap::new() }
    }
}

/// The streams of a design, and the module that has them.
///
/// # Errors
/// Where the design's top module has no channel.
pub fn wrap(design: &Design) -> Result<Axis, NoChannel> {
    let top = design.top();
    let streams = streams(&top.ports);
    if streams.is_empty() {
        return Err(NoChannel { top: top.name.clone() });
    }
    let name = format!("{}_axis", top.name);
    let guard = guard(design.prefix(), &format!("{}_axis", design.unprefixed(top)));
    let (ports, connections) = (header(top, &streams), connections(top, &streams));
    let text = format!(
        "// SPDX-License-Identifier: {LICENSE}\n// {name}: generated by Windlass {}; do not edit.\n// {} with its channels as AXI4-Streams. TDATA, from bit 0:\n{}`ifndef {guard}\n`define {guard}\n`default_nettype none\n\nmodule {name} (\n  {}\n);\n{}\n  {} u_top (\n    {}\n  );\nendmodule\n\n`default_nettype wire\n`endif\n",
        env!("CARGO_PKG_VERSION"),
        top.name,
        layout(&streams),
        ports.join(",\n  "),
        padding(&streams),
        top.name,
        connections.join(",\n    "),
    );
    Ok(Axis { file: (format!("{name}.v"), text), streams, constraints: Vec::new() })
}

/// What is where, for people.
fn layout(streams: &[Stream]) -> String {
    let mut text = String::new();
    for stream in streams.iter().filter(|stream| stream.bits > 0) {
        let _ = writeln!(text, "//   {}: {} bits", stream.name, stream.bits);
        for Field { port, offset, width } in &stream.fields {
            let _ = writeln!(text, "//     {offset:>4}: {port} ({width})");
        }
    }
    text
}

/// What a port that is in no stream is called outside.
pub(crate) fn outer<'a>(top: &Module, port: &'a Port) -> &'a str {
    match Some(port.name.as_str()) {
        name if name == top.clock() => "aclk",
        name if name == top.reset() => "aresetn",
        _ => &port.name,
    }
}

/// What Vivado's block designs read of a clock or a reset: which busses go with it (UG994, "HDL Parameters for Interface Inference").
/// These themselves are known by their names. To other tools an attribute means nothing.
pub(crate) fn attributes(name: &str, busses: &[&str]) -> String {
    let (kind, role, parameters) = match name {
        "aclk" => {
            ("clock", "CLK", format!("ASSOCIATED_BUSIF {}, ASSOCIATED_RESET aresetn", busses.join(":")))
        }
        "aresetn" => ("reset", "RST", "POLARITY ACTIVE_LOW".to_owned()),
        _ => return String::new(),
    };
    format!(
        "(* X_INTERFACE_INFO = \"xilinx.com:signal:{kind}:1.0 {name} {role}\" *)\n  (* X_INTERFACE_PARAMETER = \"{parameters}\" *)\n  "
    )
}

/// The module's ports: a stream's stand where the first of its channel does.
fn header(top: &Module, streams: &[Stream]) -> Vec<String> {
    let mut said = vec![false; streams.len()];
    let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
    let mut header = Vec::new();
    for port in &top.ports {
        match streams.iter().position(|stream| stream.signal(port).is_some()) {
            None => {
                let (way, name) = (direction(port), outer(top, port));
                header.push(format!("{}{way} wire {}{name}", attributes(name, &names), range(port.width)));
            }
            Some(own) if !said[own] => {
                said[own] = true;
                header.extend(streams[own].declarations());
            }
            Some(_) => {}
        }
    }
    header
}

/// Each of the design's ports, and what it is connected to.
fn connections(top: &Module, streams: &[Stream]) -> Vec<String> {
    let connection = |port: &Port| {
        let signal = streams.iter().find_map(|stream| stream.signal(port));
        format!(".{}({})", port.name, signal.unwrap_or_else(|| outer(top, port).to_string()))
    };
    top.ports.iter().map(connection).collect()
}

/// Bits that no field has: zero in what is sent, and not read in what is received.
fn padding(streams: &[Stream]) -> String {
    let (mut text, mut unread) = (String::new(), Vec::new());
    for stream in streams {
        for (offset, width) in stream.padding() {
            let bits = stream.bits_at(offset, width);
            if stream.receives {
                unread.push(bits);
            } else {
                let _ = writeln!(text, "  assign {bits} = {width}'d0;");
            }
        }
    }
    if !unread.is_empty() {
        // Lint tools take a name with `unused` for meant.
        let _ = writeln!(text, "  wire unused = &{{1'b0, {}}};", unread.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use windlass_catalog::{BlockSpec, Request};

    fn axis(block: &str, request: Request) -> Result<Axis, NoChannel> {
        let spec = BlockSpec::new(block, request).unwrap_or_else(|e| panic!("{e}"));
        wrap(&emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}")))
    }

    #[test]
    fn fields_are_where_c_puts_them() {
        let port = |name: &str, width| Port {
            name: name.into(),
            direction: Direction::Input,
            width,
            channel: "x".into(),
            doc: String::new(),
        };
        // struct { uint8_t a; uint8_t flags; uint8_t ids[3]; uint32_t b; uint16_t c; uint64_t d; uint64_t e[2]; uint8_t f; }
        let ports = [
            port("x_a_i", 3),
            port("x_flag_0_i", 1),
            port("x_flag_1_i", 1),
            port("x_id_0_i", 8),
            port("x_id_1_i", 8),
            port("x_id_2_i", 8),
            port("x_b_i", 17),
            port("x_c_i", 9),
            port("x_d_i", 33),
            port("x_e_i", 100),
            port("x_f_i", 1),
        ];
        let (fields, bits) = pack(&ports.iter().collect::<Vec<_>>(), true);
        let at: Vec<u32> = fields.iter().map(|field| field.offset).collect();
        assert_eq!(at, [0, 8, 9, 16, 24, 32, 64, 96, 128, 192, 320]);
        assert_eq!(bits, 384);
        assert_eq!(pack(&[], true), (vec![], 0));
        // In a channel that is one of several, the numbers are the channel's.
        assert_eq!(pack(&[&ports[1], &ports[2]], false).1, 16);
    }

    #[test]
    fn every_port_of_every_block_is_somewhere_once() {
        for block in windlass_catalog::BLOCKS {
            let spec = BlockSpec::new(block, Request { slots: 4, sms: 8, ..Request::default() });
            let design = emit::emit(&*spec.unwrap_or_else(|e| panic!("{e}")).hardware());
            let design = design.unwrap_or_else(|e| panic!("{e}"));
            let Ok(Axis { file: (_, text), streams, .. }) = wrap(&design) else {
                assert!(design.top().ports.iter().all(|port| role(port) != "valid"), "{block}");
                continue;
            };
            for port in &design.top().ports {
                assert_eq!(text.matches(&format!(".{}(", port.name)).count(), 1, "{block}: {}", port.name);
            }
            let mut names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
            names.dedup();
            assert_eq!(names.len(), streams.len(), "{block}");
            for stream in &streams {
                let mut end = 0;
                for field in &stream.fields {
                    assert!(field.offset >= end, "{block}: {stream:?}");
                    end = field.offset + field.width;
                }
                assert!(end <= stream.bits && stream.bits % 8 == 0, "{block}: {stream:?}");
            }
        }
    }

    #[test]
    fn block_designs_learn_which_streams_have_the_clock() {
        let Axis { file: (_, text), .. } = axis("window_matrix", Request { slots: 4, ..Request::default() })
            .unwrap_or_else(|e| panic!("{e}"));
        let clock = "(* X_INTERFACE_PARAMETER = \"ASSOCIATED_BUSIF s_axis_ins:m_axis_disp:s_axis_ret_0:s_axis_ret_1, ASSOCIATED_RESET aresetn\" *)\n  input wire aclk,";
        assert!(text.contains(clock), "{text}");
        assert!(
            text.contains("(* X_INTERFACE_PARAMETER = \"POLARITY ACTIVE_LOW\" *)\n  input wire aresetn,"),
            "{text}"
        );
    }

    #[test]
    fn a_design_without_channels_has_no_streams() {
        let error = axis("find_first", Request { slots: 4, ..Request::default() }).unwrap_err();
        assert_eq!(error, NoChannel { top: "find_first_n4".into() });
    }
}

//! A front end as a device on an AXI4-Lite bus: a module around it that has registers for software and AXI4-Streams for the SMs, and a C header
//! for whoever drives it; and a description of the registers in SystemRDL, for the tools of whoever integrates it.
//!
//! The registers are one file of Verilog for all sizes. What is the design's are the packet's layout, which is that of its stream
//! ([`crate::axis`]), and some numbers. `docs/integration.md` has the registers.

use crate::axis::{Axis, Field, Stream, attributes, outer, place, range};
use crate::constraints::Outside;
use crate::emit::{Design, LICENSE, Prefix, ResetKind};
use crate::output::guard;
use crate::prove::bench::Bench;
use std::fmt::Write as _;
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_rtl::front_end::Counter;
use windlass_rtl::port::{Direction, Port, element};

mod map;

use map::Sizes;
pub use map::{Access, Bits, Count, REGISTERS, Register, Reset};

/// The registers, for all sizes.
const TEXT: &str = include_str!("registers.v");

/// Their module's name, without the design's prefix.
const NAME: &str = "front_end_registers";

/// What software of all designs has in common.
const DRIVER: &str = include_str!("driver.h");

/// log2 of the beats that wait in front of the front end, unless who instantiates it says otherwise.
const QUEUE_BITS: u32 = 4;

/// Words of a packet that the map has room for.
const MOST_WORDS: u32 = 48;

/// There are no registers for this block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there are no registers for {block}: only front_end has them")]
pub struct NoRegisters {
    /// The block.
    pub block: &'static str,
}

/// A front end with registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axil {
    /// The module's file: name and text. The module is Verilog-2005, and is called `TOP_axil`.
    pub file: (String, String),
    /// The registers' file.
    pub registers: (String, String),
    /// The C header's file.
    pub header: (String, String),
    /// The registers in SystemRDL 2.0: name and text of the file.
    pub rdl: (String, String),
    /// Words of a packet.
    pub words: u32,
    /// The module's constraints, where somebody made them: names and texts.
    pub constraints: Vec<(String, String)>,
}

impl Axil {
    /// What the ports of the front end, which was wrapped, are called outside. The bus has the budgets of the channel of packets.
    pub fn outside(&self, design: &Design, axis: &Axis) -> Outside {
        let Outside { mut bits, .. } = axis.outside(design);
        let (top, streams) = (design.top(), outer_streams(axis));
        bits.retain(|name, _| {
            let port = top.ports.iter().find(|port| port.name == *name);
            port.is_some_and(|port| {
                outer(top, port) != port.name || streams.iter().any(|stream| stream.signal(port).is_some())
            })
        });
        let bus = |side: &str| -> Vec<String> {
            let whole = |width| if width == 1 { "" } else { "[*]" };
            let ports = BUS.iter().filter(|(way, ..)| *way == side);
            ports.map(|(_, width, signal)| format!("s_axi_{signal}{}", whole(*width))).collect()
        };
        let mut outputs = bus("output");
        outputs.push("irq".into());
        let like = [("host_valid_i", bus("input")), ("host_ready_o", outputs)];
        let like = like.into_iter().map(|(port, names)| (port.to_owned(), names)).collect();
        Outside { top: format!("{}_axil", top.name), bits, like }
    }
}

/// Puts registers around the streams of a front end.
///
/// # Errors
/// Where the block is another one.
pub fn wrap(spec: BlockSpec, design: &Design, axis: &Axis) -> Result<Axil, NoRegisters> {
    let refused = || NoRegisters { block: spec.name() };
    let BlockSpec::FrontEnd(_) = spec else { return Err(refused()) };
    let host = axis.streams.iter().find(|stream| stream.name == HOST).ok_or_else(refused)?;
    let words = host.bits / 32;
    // A packet has a grid, of 32 bits, and the widest is a mask of as many as can be.
    debug_assert!(host.bits.is_multiple_of(32) && words <= MOST_WORDS && host.fields[0].port == "host_id_i");
    let top = design.top();
    let (name, prefix) = (format!("{}_axil", top.name), design.prefix().as_str());
    let asynchronous = design.reset_kind() == ResetKind::Asynchronous;
    let named = if asynchronous { format!("{NAME}_arst") } else { NAME.to_owned() };
    let registers = format!("{prefix}{named}");
    let mut text = TEXT
        .replace(&guard(&Prefix::default(), NAME), &guard(design.prefix(), &named))
        .replace(NAME, &registers);
    if asynchronous {
        for indent in ["    ", "        "] {
            let reset = format!("begin\n{indent}if (!aresetn)");
            let synchronous = format!("always @(posedge aclk) {reset}");
            text = text.replace(&synchronous, &format!("always @(posedge aclk or negedge aresetn) {reset}"));
        }
    }
    let size =
        |of: &str| Bench::of(spec).params.into_iter().find(|(name, _)| *name == of).map_or(0, |(_, n)| n);
    let (slots, sms) = (size("N"), size("S"));
    let one_beat = u8::from(host.last.is_none());
    let params = format!(
        ".SLOTS({slots}), .SMS({sms}), .WORDS({words}), .ONE_BEAT({one_beat}), .QUEUE_BITS(QUEUE_BITS)"
    );
    let module = module(design, axis, host, &registers, &params);
    let counters = counters();
    let header = header(&top.name, host, slots, sms, &counters);
    let sizes = Sizes { slots, sms, words, counters: &counters, packet: layout(host) };
    let rdl = format!(
        "// SPDX-License-Identifier: {LICENSE}\n// The registers of {name} in SystemRDL 2.0: generated by Windlass {}; do not edit.\n{}",
        env!("CARGO_PKG_VERSION"),
        sizes.address_map(&name)
    );
    Ok(Axil {
        file: (format!("{name}.v"), module),
        registers: (format!("{registers}.v"), text),
        header: (format!("{name}.h"), header),
        rdl: (format!("{name}.rdl"), rdl),
        words,
        constraints: Vec::new(),
    })
}

/// The stream of packets.
const HOST: &str = "s_axis_host";

/// Streams that registers take the place of.
const INSIDE: [&str; 2] = [HOST, "s_axis_part"];

/// The bus.
const BUS: &[(&str, u32, &str)] = &[
    ("input", 1, "awvalid"),
    ("output", 1, "awready"),
    ("input", 12, "awaddr"),
    ("input", 3, "awprot"),
    ("input", 1, "wvalid"),
    ("output", 1, "wready"),
    ("input", 32, "wdata"),
    ("input", 4, "wstrb"),
    ("output", 1, "bvalid"),
    ("input", 1, "bready"),
    ("output", 2, "bresp"),
    ("input", 1, "arvalid"),
    ("output", 1, "arready"),
    ("input", 12, "araddr"),
    ("input", 3, "arprot"),
    ("output", 1, "rvalid"),
    ("input", 1, "rready"),
    ("output", 32, "rdata"),
    ("output", 2, "rresp"),
];

/// The streams that the module has.
fn outer_streams(axis: &Axis) -> Vec<&Stream> {
    axis.streams.iter().filter(|stream| !INSIDE.contains(&stream.name.as_str())).collect()
}

/// The module's ports.
fn ports(streams: &[&Stream]) -> Vec<String> {
    let busses: Vec<&str> = ["s_axi"].into_iter().chain(streams.iter().map(|s| s.name.as_str())).collect();
    let clocks = ["aclk", "aresetn"].map(|port| format!("{}input wire {port}", attributes(port, &busses)));
    let bus = BUS.iter().map(|(way, width, signal)| format!("{way} wire {}s_axi_{signal}", range(*width)));
    let interrupt = "(* X_INTERFACE_INFO = \"xilinx.com:signal:interrupt:1.0 irq INTERRUPT\" *)\n  (* X_INTERFACE_PARAMETER = \"SENSITIVITY LEVEL_HIGH\" *)\n  output wire irq";
    let streams = streams.iter().flat_map(|stream| stream.declarations());
    clocks.into_iter().chain(bus).chain([interrupt.to_owned()]).chain(streams).collect()
}

/// What a port of the front end, which is in no stream, is called at the registers; `None` if they do not have it.
fn at_the_registers(port: &Port) -> Option<String> {
    let name = match port.name.as_str() {
        "count_sel_i" => "count_sel_o".to_owned(),
        other => format!("{}_i", other.strip_suffix("_o")?),
    };
    TEXT.contains(&format!(" {name}")).then_some(name)
}

/// Ports of the registers, and what they are connected to inside the module.
const BETWEEN: [(&str, &str); 9] = [
    ("host_valid_o", "host_valid"),
    ("host_ready_i", "host_ready"),
    ("host_data_o", "host"),
    ("host_last_o", "host_last"),
    ("part_valid_o", "part_valid"),
    ("part_ready_i", "part_ready"),
    ("part_id_o", "part_id"),
    ("part_word_o", "part_word"),
    ("part_mask_o", "part_mask"),
];

/// The connections of the module with the streams.
fn connections(axis: &Axis, others: &[&Port]) -> Vec<String> {
    let mut connections = vec![".aclk(aclk)".to_owned(), ".aresetn(aresetn)".to_owned()];
    for stream in &axis.streams {
        for declaration in stream.declarations() {
            let signal = declaration.rsplit(' ').next().unwrap_or_default();
            let to = match signal {
                "s_axis_host_tvalid" => "host_valid".to_owned(),
                "s_axis_host_tready" => "host_ready".to_owned(),
                "s_axis_host_tdata" => "host".to_owned(),
                "s_axis_host_tlast" => "host_last".to_owned(),
                "s_axis_part_tvalid" => "part_valid".to_owned(),
                "s_axis_part_tready" => "part_ready".to_owned(),
                "s_axis_part_tdata" => partition(stream),
                signal => signal.to_owned(),
            };
            connections.push(format!(".{signal}({to})"));
        }
    }
    connections.extend(others.iter().map(|port| format!(".{0}({0})", port.name)));
    connections
}

/// The module with the bus, around `registers`, which have these parameters.
fn module(design: &Design, axis: &Axis, host: &Stream, registers: &str, params: &str) -> String {
    let top = design.top();
    let in_a_stream = |port: &Port| axis.streams.iter().any(|stream| stream.signal(port).is_some());
    let is_other = |port: &&Port| !in_a_stream(port) && outer(top, port) == port.name;
    let others: Vec<&Port> = top.ports.iter().filter(is_other).collect();
    let mut wires: String =
        others.iter().map(|port| format!("  wire {}{};\n", range(port.width), port.name)).collect();
    let _ = writeln!(
        wires,
        "  wire host_valid, host_ready, host_last, part_valid, part_ready;\n  wire [{}:0] host;\n  wire [2:0] part_id, part_word;\n  wire [31:0] part_mask;",
        host.bits - 1
    );

    let bus = BUS.iter().map(|(.., signal)| format!(".s_axi_{signal}(s_axi_{signal})"));
    let between = BETWEEN.iter().map(|(port, wire)| format!(".{port}({wire})"));
    let seen = others.iter().filter_map(|port| Some(format!(".{}({})", at_the_registers(port)?, port.name)));
    let clocked = ".aclk(aclk), .aresetn(aresetn)".to_owned();
    let own: Vec<String> =
        [clocked].into_iter().chain(bus).chain([".irq(irq)".to_owned()]).chain(between).chain(seen).collect();
    // What software does not see of the front end's outputs.
    let unseen = others.iter().filter(|port| port.direction == Direction::Output);
    let unseen = unseen.filter(|port| at_the_registers(port).is_none()).map(|port| port.name.as_str());
    let unread: Vec<&str> = unseen.chain(host.last.is_none().then_some("host_last")).collect();
    let unread = match unread.is_empty() {
        true => String::new(),
        false => format!("  wire unused = &{{1'b0, {}}};\n", unread.join(", ")),
    };

    let name = format!("{}_axil", top.name);
    let guard = guard(design.prefix(), &format!("{}_axil", design.unprefixed(top)));
    format!(
        "// SPDX-License-Identifier: {LICENSE}\n// {name}: generated by Windlass {}; do not edit.\n// {} as a device on an AXI4-Lite bus; its registers are in {registers}.v, for software in {name}.h.\n`ifndef {guard}\n`define {guard}\n`default_nettype none\n\nmodule {name} #(\n  parameter QUEUE_BITS = {QUEUE_BITS}  // log2 of the places for packets that wait: 1 to 6\n) (\n  {}\n);\n{wires}{unread}\n  {registers} #({params}) u_registers (\n    {}\n  );\n\n  {}_axis u_front_end (\n    {}\n  );\nendmodule\n\n`default_nettype wire\n`endif\n",
        env!("CARGO_PKG_VERSION"),
        top.name,
        ports(&outer_streams(axis)).join(",\n  "),
        own.join(",\n    "),
        top.name,
        connections(axis, &others).join(",\n    "),
    )
}

/// TDATA of a partition's write.
fn partition(stream: &Stream) -> String {
    let (mut parts, mut end) = (Vec::new(), 0);
    for Field { port, offset, width } in &stream.fields {
        if *offset > end {
            parts.push(format!("{}'d0", offset - end));
        }
        let name = port.trim_end_matches("_i");
        parts.push(name.to_owned());
        end = offset + width;
    }
    if stream.bits > end {
        parts.push(format!("{}'d0", stream.bits - end));
    }
    parts.reverse();
    format!("{{{}}}", parts.join(", "))
}

/// A packet as a C struct, which has its fields where the stream has them.
fn packet(host: &Stream) -> String {
    let mut text = String::new();
    let mut fields = host.fields.iter().peekable();
    while let Some(first) = fields.next() {
        let array = element(&first.port).map(|(array, _)| array);
        let is_next = |next: &&Field| array.is_some() && element(&next.port).map(|(array, _)| array) == array;
        let mut count = 1;
        while fields.next_if(is_next).is_some() {
            count += 1;
        }
        let name = array.as_deref().unwrap_or(&first.port);
        let name = name.trim_start_matches("host_").trim_end_matches("_i");
        // Flags share bytes; all else has a place each, of several words if it is wide.
        let flags = array.is_some() && first.width == 1;
        let (room, bits) = place(if flags { count } else { first.width });
        let elements = room / bits * if flags { 1 } else { count };
        let is_array = (array.is_some() && !flags) || elements > 1;
        let array = if is_array { format!("[{elements}]") } else { String::new() };
        let _ = writeln!(text, "  uint{bits}_t {name}{array};");
    }
    text
}

/// A packet's fields and their bits, for people.
fn layout(host: &Stream) -> String {
    let place = |Field { port, offset, width }: &Field| {
        let name = port.trim_start_matches("host_").trim_end_matches("_i");
        match width {
            1 => format!("{offset} {name}"),
            _ => format!("{}:{offset} {name}", offset + width - 1),
        }
    };
    host.fields.iter().map(place).collect::<Vec<_>>().join("; ")
}

/// The counters' names, in the order of their numbers.
fn counters() -> Vec<String> {
    let spelt = |counter: &Counter| {
        let mut spelt = String::new();
        for (at, letter) in format!("{counter:?}").char_indices() {
            if letter.is_ascii_uppercase() && at > 0 {
                spelt.push('_');
            }
            spelt.push(letter.to_ascii_uppercase());
        }
        spelt
    };
    Counter::ALL.iter().map(spelt).collect()
}

/// For software in C or C++.
fn header(top: &str, host: &Stream, slots: usize, sms: usize, counters: &[String]) -> String {
    let counters: String = (counters.iter().enumerate())
        .map(|(n, name)| format!("#define WINDLASS_COUNTER_{name} {n}u\n"))
        .collect();
    let lanes = host.fields.iter().filter(|field| field.port.starts_with("host_up_id_")).count();
    let mask = host.fields.iter().find(|field| field.port == "host_up_i").map_or(0, |field| field.width);
    let upstream = match mask {
        0 => format!("#define WINDLASS_LANES {lanes}u /* ids of kernels that it waits for, in a beat */"),
        bits => format!(
            "#define WINDLASS_MASK {bits}u /* bit j of up: it waits for the kernel sent j + 1 before */"
        ),
    };
    DRIVER
        .replace("@TOP@", top)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@LICENSE@", LICENSE)
        .replace("@SLOTS@", &slots.to_string())
        .replace("@SMS@", &sms.to_string())
        .replace("@WORDS@", &(host.bits / 32).to_string())
        .replace("@QUEUE@", &(1 << QUEUE_BITS).to_string())
        .replace("@REGISTERS@\n", &map::offsets())
        .replace("@STATUS@\n", &map::fields("STATUS", "STATUS"))
        .replace("@ERRORS@\n", &map::fields("ERRORS", "ERROR"))
        .replace("@IRQ@\n", &map::fields("IRQ", "IRQ"))
        .replace("@COUNTERS@\n", &counters)
        .replace("@UPSTREAM@", &upstream)
        .replace("@PACKET@\n", &packet(host))
}

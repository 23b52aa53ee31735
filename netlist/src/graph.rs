//! A flat netlist of library cells, from Yosys's JSON and back.

use super::library::TimingLibrary;
use super::place::WireHints;
use crate::liberty::LibertyError;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use thiserror::Error;

/// The attribute by which registers are known again after mapping.
pub const REGISTER: &str = "windlass_register";

/// A netlist that cannot be worked on.
#[derive(Debug, Error)]
pub enum NetlistError {
    /// The library cannot be used.
    #[error(transparent)]
    Liberty(#[from] LibertyError),
    /// The text is no netlist of Yosys.
    #[error(
        "the netlist of `{top}` cannot be read: {what}\n  write it with Yosys' `flatten; write_json` after `abc`"
    )]
    Format {
        /// Module at the top.
        top: String,
        /// What is wrong.
        what: String,
    },
    /// A cell that the library does not have.
    #[error("the netlist of `{top}` has cells that the library does not have: {}\n  map it to the same Liberty file first", cells.join(", "))]
    Unmapped {
        /// Module at the top.
        top: String,
        /// Their types.
        cells: Vec<String>,
    },
    /// The library has no buffer.
    #[error("the library has no buffer, but high fan-outs need one\n  name a complete standard-cell library")]
    NoBuffer,
    /// A cell whose function is not known.
    #[error(
        "the function of `{cell}` is not known: the library does not give it, or the cell has more than six inputs or an asynchronous clear\n  keep the cell out of the mapping"
    )]
    NoFunction {
        /// The cell's type.
        cell: String,
    },
    /// A placer's answer that is none.
    #[error("the placement of `{top}` cannot be read: {what}")]
    Placement {
        /// Module at the top.
        top: String,
        /// What is wrong.
        what: String,
    },
    /// Logic goes in a circle.
    #[error("the netlist of `{top}` has a combinational loop through `{cell}`")]
    Loop {
        /// Module at the top.
        top: String,
        /// A cell on it.
        cell: String,
    },
}

/// A pin of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) instance: usize,
    pub(crate) pin: usize,
}

/// A net.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    /// What drives it; none: a port, or nothing.
    pub(crate) driver: Option<Pin>,
    pub(crate) sinks: Vec<Pin>,
    /// It leaves the design.
    pub(crate) output: bool,
    /// It clocks flip-flops: left alone.
    pub(crate) clock: bool,
    /// It is 0 or 1 for ever.
    pub(crate) constant: Option<bool>,
}

/// A cell in the design.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// Its name in the JSON; empty for a buffer that was added.
    pub(crate) name: String,
    /// Index in the library.
    pub(crate) cell: usize,
    /// The net at each pin.
    pub(crate) nets: Vec<Option<usize>>,
    /// What the wire to each pin weighs, in the library's unit; empty where wires are ideal.
    pub(crate) wires: Vec<f32>,
    /// Where it lies on a curve that fills the plane; 0 where nobody knows.
    pub(crate) along: u32,
}

/// The design.
#[derive(Clone, Debug)]
pub(crate) struct Netlist {
    pub(crate) instances: Vec<Instance>,
    pub(crate) nets: Vec<Net>,
    /// Yosys's number of each net, while it has one.
    bits: Vec<Value>,
    /// Each port, whether it is an output, and its nets from bit 0.
    pub(crate) ports: Vec<(String, bool, Vec<usize>)>,
    /// What the wire to a new pin weighs, in the library's unit.
    pub(crate) wire: f32,
}

impl Netlist {
    pub(crate) fn read(document: &Value, top: &str, library: &TimingLibrary) -> Result<Self, NetlistError> {
        let format = |what: &str| NetlistError::Format { top: top.into(), what: what.into() };
        let module = &document["modules"][top];
        let cells = module["cells"].as_object().ok_or_else(|| format("it has no such module with cells"))?;
        let mut netlist =
            Self { instances: Vec::new(), nets: Vec::new(), bits: Vec::new(), ports: Vec::new(), wire: 0.0 };
        let mut index: HashMap<Value, usize> = HashMap::new();
        let mut unmapped = Vec::new();
        for (name, cell) in cells {
            let kind = cell["type"].as_str().unwrap_or("");
            let Some(&cell_index) = library.by_name.get(kind) else {
                if kind != "$scopeinfo" && !unmapped.contains(&kind.to_string()) {
                    unmapped.push(kind.to_string());
                }
                continue;
            };
            let timed = &library.cells[cell_index];
            let at = netlist.instances.len();
            let mut nets = vec![None; timed.pins.len()];
            for (p, pin) in timed.pins.iter().enumerate() {
                let bit = &cell["connections"][pin][0];
                if bit.is_null() {
                    continue;
                }
                let net = netlist.net(bit, &mut index);
                nets[p] = Some(net);
                let here = Pin { instance: at, pin: p };
                if timed.output[p] {
                    netlist.nets[net].driver = Some(here);
                } else {
                    netlist.nets[net].sinks.push(here);
                    netlist.nets[net].clock |= timed.clock[p];
                }
            }
            let (name, wires) = (name.clone(), Vec::new());
            netlist.instances.push(Instance { name, cell: cell_index, nets, wires, along: 0 });
        }
        if !unmapped.is_empty() {
            return Err(NetlistError::Unmapped { top: top.into(), cells: unmapped });
        }
        for (name, port) in module["ports"].as_object().into_iter().flatten() {
            let output = port["direction"] == "output";
            let bits = port["bits"].as_array().into_iter().flatten();
            let nets: Vec<usize> = bits.map(|bit| netlist.net(bit, &mut index)).collect();
            nets.iter().for_each(|net| netlist.nets[*net].output |= output);
            netlist.ports.push((name.clone(), output, nets));
        }
        Ok(netlist)
    }

    fn net(&mut self, bit: &Value, index: &mut HashMap<Value, usize>) -> usize {
        if let Some(net) = index.get(bit) {
            return *net;
        }
        let net = self.add_net();
        // Constants are strings; `x` may be either.
        self.nets[net].constant = bit.as_str().map(|text| text == "1");
        self.bits.push(bit.clone());
        index.insert(bit.clone(), net);
        net
    }

    /// What each net is called in the RTL, where it is: of its names those of registers, else all; of those the deepest ones.
    pub(crate) fn names(&self, document: &Value, top: &str) -> Vec<Vec<String>> {
        let index: HashMap<&Value, usize> =
            self.bits.iter().enumerate().filter(|(_, bit)| bit.is_u64()).map(|(at, bit)| (bit, at)).collect();
        // A register's first, then the deepest.
        let mut ranks: Vec<Option<(bool, usize)>> = vec![None; self.nets.len()];
        let mut names: Vec<Vec<String>> = vec![Vec::new(); self.nets.len()];
        for (name, net) in document["modules"][top]["netnames"].as_object().into_iter().flatten() {
            let memory = name.strip_prefix("$memory\\").and_then(|n| Some(n.rsplit_once('$')?.0));
            let shown = match (memory, net["hide_name"].as_u64()) {
                (Some(word), _) => word,
                (None, Some(1)) => continue,
                (None, _) => name,
            };
            let register = memory.is_some() || !net["attributes"][REGISTER].is_null();
            let rank = Some((register, shown.matches('.').count()));
            for bit in net["bits"].as_array().into_iter().flatten() {
                let Some(&net) = index.get(bit) else { continue };
                if rank > ranks[net] {
                    ranks[net] = rank;
                    names[net].clear();
                }
                if rank == ranks[net] {
                    names[net].push(shown.to_string());
                }
            }
        }
        names
    }

    /// A new net without driver and sinks.
    pub(crate) fn add_net(&mut self) -> usize {
        self.nets.push(Net::default());
        self.nets.len() - 1
    }

    /// Gives every pin the wire of its namesake, and every instance its place; the mean where there is no namesake.
    pub(crate) fn set_wires(&mut self, library: &TimingLibrary, hints: &WireHints) {
        let load = |ff: f32| ff / library.ff as f32;
        let mean = load(hints.mean_ff);
        self.wire = mean;
        for instance in &mut self.instances {
            let known = hints.instances.get(&instance.name);
            let wire = |pin: &String| known.and_then(|(pins, _)| pins.get(pin)).map_or(mean, |ff| load(*ff));
            instance.wires = library.cells[instance.cell].pins.iter().map(wire).collect();
            instance.along = known.map_or(0, |(_, along)| *along);
        }
    }

    /// What a pin weighs on its net: itself and its wire.
    pub(crate) fn load(&self, library: &TimingLibrary, Pin { instance, pin }: Pin) -> f32 {
        let instance = &self.instances[instance];
        library.cells[instance.cell].load[pin] + instance.wires.get(pin).copied().unwrap_or(0.0)
    }

    /// Wires of the pins of a new instance of that many pins.
    fn new_wires(&self, pins: usize) -> Vec<f32> {
        if self.wire == 0.0 { Vec::new() } else { vec![self.wire; pins] }
    }

    /// Puts `pin` on `net` instead of where it is.
    pub(crate) fn move_sink(&mut self, pin: Pin, net: usize) {
        let slot = &mut self.instances[pin.instance].nets[pin.pin];
        if let Some(old) = slot.replace(net) {
            self.nets[old].sinks.retain(|s| *s != pin);
        }
        self.nets[net].sinks.push(pin);
    }

    /// Two pins of an instance change places.
    pub(crate) fn swap(&mut self, instance: usize, pins: [usize; 2]) {
        let nets = pins.map(|pin| self.instances[instance].nets[pin]);
        let (Some(a), Some(b)) = (nets[0], nets[1]) else { return };
        let [first, second] = pins.map(|pin| Pin { instance, pin });
        for (net, from, to) in [(a, first, second), (b, second, first)] {
            if let Some(sink) = self.nets[net].sinks.iter_mut().find(|sink| **sink == from) {
                *sink = to;
            }
        }
        self.instances[instance].nets.swap(pins[0], pins[1]);
        if !self.instances[instance].wires.is_empty() {
            self.instances[instance].wires.swap(pins[0], pins[1]);
        }
    }

    /// A buffer of that cell behind `net`, driving a new net, which is returned.
    pub(crate) fn add_buffer(&mut self, library: &TimingLibrary, cell: usize, net: usize) -> usize {
        let timed = &library.cells[cell];
        let instance = self.instances.len();
        let out = self.add_net();
        let mut nets = vec![None; timed.pins.len()];
        for (pin, output) in timed.output.iter().enumerate() {
            let here = Pin { instance, pin };
            if *output {
                nets[pin] = Some(out);
                self.nets[out].driver = Some(here);
            } else {
                nets[pin] = Some(net);
                self.nets[net].sinks.push(here);
            }
        }
        let wires = self.new_wires(nets.len());
        self.instances.push(Instance { name: String::new(), cell, nets, wires, along: 0 });
        out
    }

    /// The name of what was made in place of other gates, until [`Netlist::christen`].
    pub(crate) const REMADE: &str = "+";

    /// Names for all instances that have none of the document's: by what they are and a number.
    pub(crate) fn christen(&mut self) {
        let mut taken: HashSet<String> = self.instances.iter().map(|i| i.name.clone()).collect();
        let mut number = 0;
        for instance in &mut self.instances {
            let kind = match instance.name.as_str() {
                "" => "fanout",
                Self::REMADE => "remade",
                _ => continue,
            };
            loop {
                instance.name = format!("{kind}_{number}");
                number += 1;
                if taken.insert(instance.name.clone()) {
                    break;
                }
            }
        }
    }

    /// Pin `pin` of an instance drives `net` instead of what did.
    pub(crate) fn drive(&mut self, instance: usize, pin: usize, net: usize) {
        if let Some(before) = self.instances[instance].nets[pin].replace(net) {
            self.nets[before].driver = None;
        }
        self.nets[net].driver = Some(Pin { instance, pin });
    }

    /// A cell of that name with these nets; its pins are put on them.
    pub(crate) fn add(
        &mut self,
        library: &TimingLibrary,
        name: String,
        cell: usize,
        nets: Vec<Option<usize>>,
    ) {
        let instance = self.instances.len();
        for (pin, net) in nets.iter().enumerate() {
            let Some(net) = *net else { continue };
            let here = Pin { instance, pin };
            match library.cells[cell].output[pin] {
                true => self.nets[net].driver = Some(here),
                false => self.nets[net].sinks.push(here),
            }
        }
        let wires = self.new_wires(nets.len());
        self.instances.push(Instance { name, cell, nets, wires, along: 0 });
    }

    /// Takes instances out; what they drove has no driver, unless another instance has been given the net.
    pub(crate) fn remove(&mut self, gone: &[bool]) {
        let mut number = vec![0; self.instances.len()];
        let mut kept = 0;
        for (at, number) in number.iter_mut().enumerate() {
            *number = kept;
            kept += usize::from(!gone[at]);
        }
        for net in &mut self.nets {
            net.driver = net.driver.filter(|pin| !gone[pin.instance]);
            net.sinks.retain(|pin| !gone[pin.instance]);
            for pin in net.driver.iter_mut().chain(&mut net.sinks) {
                pin.instance = number[pin.instance];
            }
        }
        let mut at = 0;
        self.instances.retain(|_| {
            at += 1;
            !gone[at - 1]
        });
    }

    /// Cell area, in the library's unit.
    pub(crate) fn area(&self, library: &TimingLibrary) -> f64 {
        self.instances.iter().map(|i| f64::from(library.cells[i.cell].area)).sum()
    }

    /// Puts the sizes, and the buffers, into the document that the netlist came from.
    pub(crate) fn write(&self, document: &mut Value, top: &str, library: &TimingLibrary) {
        let next = self.bits.iter().filter_map(Value::as_u64).max().map_or(2, |most| most + 1);
        let added = (next..).map(|bit| json!(bit)).take(self.nets.len() - self.bits.len());
        let bits: Vec<Value> = self.bits.iter().cloned().chain(added).collect();
        let Some(cells) = document["modules"][top]["cells"].as_object_mut() else { return };
        let names: HashSet<&str> = self.instances.iter().map(|i| i.name.as_str()).collect();
        cells.retain(|name, cell| {
            names.contains(name.as_str())
                || !cell["type"].as_str().is_some_and(|t| library.by_name.contains_key(t))
        });
        for instance in &self.instances {
            let timed = &library.cells[instance.cell];
            if !cells.contains_key(&instance.name) {
                let pins = timed.pins.iter().zip(&instance.nets);
                let connections: Map<String, Value> =
                    pins.filter_map(|(pin, net)| Some((pin.clone(), json!([bits[(*net)?]])))).collect();
                let directions: Map<String, Value> = timed
                    .pins
                    .iter()
                    .zip(&timed.output)
                    .map(|(pin, out)| (pin.clone(), json!(if *out { "output" } else { "input" })))
                    .collect();
                let cell = json!({ "hide_name": 0, "type": timed.name, "parameters": {}, "attributes": {},
                    "port_directions": directions, "connections": connections });
                cells.insert(instance.name.clone(), cell);
                continue;
            }
            let Some(cell) = cells.get_mut(&instance.name) else { continue };
            cell["type"] = json!(timed.name);
            for (pin, net) in timed.pins.iter().zip(&instance.nets) {
                if let Some(net) = net {
                    cell["connections"][pin] = json!([bits[*net]]);
                }
            }
        }
    }

    /// Cells by type.
    pub(crate) fn cells(&self, library: &TimingLibrary) -> BTreeMap<String, u64> {
        let mut cells = BTreeMap::new();
        for instance in &self.instances {
            *cells.entry(library.cells[instance.cell].name.clone()).or_insert(0) += 1;
        }
        cells
    }

    /// The ports, inputs first.
    fn inputs_first(&self) -> impl Iterator<Item = &(String, bool, Vec<usize>)> {
        [false, true].into_iter().flat_map(|output| self.ports.iter().filter(move |port| port.1 == output))
    }

    /// Each bit of the ports as Verilog calls it, whether it is an output, and its net; inputs first.
    pub(crate) fn port_bits(&self) -> impl Iterator<Item = (String, bool, usize)> {
        self.inputs_first().flat_map(|(port, output, nets)| {
            let wide = nets.len() > 1;
            let name = move |at| if wide { format!("{}[{at}]", escaped(port)) } else { escaped(port) };
            nets.iter().enumerate().map(move |(at, net)| (name(at), *output, *net))
        })
    }

    /// What each net is called in [`Netlist::verilog`]: a constant, the first port bit on it, or by its number.
    pub(crate) fn names_in_verilog(&self) -> Vec<String> {
        let constant = |net: &Net| net.constant.map(|c| format!("1'b{}", u8::from(c)));
        let mut names: Vec<Option<String>> = self.nets.iter().map(constant).collect();
        for (bit, _, net) in self.port_bits() {
            names[net].get_or_insert(bit);
        }
        names.into_iter().enumerate().map(|(net, name)| name.unwrap_or_else(|| format!("n{net}"))).collect()
    }

    /// Structural Verilog: ports as in the design, one assignment per bit where a port's bit is a constant or another port's.
    pub(crate) fn verilog(&self, top: &str, library: &TimingLibrary) -> String {
        let names = self.names_in_verilog();
        let mut assigns = String::new();
        let mut declarations = String::new();
        for (port, output, nets) in self.inputs_first() {
            let direction = if *output { "output" } else { "input" };
            let range = if nets.len() > 1 { format!("[{}:0] ", nets.len() - 1) } else { String::new() };
            let _ = writeln!(declarations, "  {direction} {range}{};", escaped(port));
        }
        let mut on_ports = vec![false; self.nets.len()];
        for (bit, _, net) in self.port_bits() {
            on_ports[net] = true;
            if bit != names[net] {
                let _ = writeln!(assigns, "  assign {bit} = {};", names[net]);
            }
        }
        let mut text = String::new();
        let ports: Vec<String> = self.ports.iter().map(|(port, ..)| escaped(port)).collect();
        let _ = writeln!(text, "module {} ({});\n{declarations}", escaped(top), ports.join(", "));
        for (net, name) in names.iter().enumerate() {
            if !on_ports[net] && self.nets[net].constant.is_none() {
                let _ = writeln!(text, "  wire {name};");
            }
        }
        text += &assigns;
        for instance in &self.instances {
            let cell = &library.cells[instance.cell];
            let name = escaped(&instance.name);
            let pins = cell.pins.iter().zip(&instance.nets);
            let pins: Vec<String> =
                pins.filter_map(|(pin, net)| Some(format!(".{pin}({})", names[(*net)?]))).collect();
            let _ = writeln!(text, "  {} {name} ({});", cell.name, pins.join(", "));
        }
        text + "endmodule\n"
    }
}

/// A name as Verilog takes it.
fn escaped(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let simple = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    if simple { name.into() } else { format!("\\{name} ") }
}

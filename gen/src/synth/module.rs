//! A mapped netlist as Yosys writes it: how many cells of which type, its clock and clock gates, and what its cells are called in the RTL.

use super::timing::Names;
use serde::Deserialize;
use std::collections::BTreeMap;
use windlass_netlist::REGISTER;
use windlass_netlist::liberty::Library;

/// Yosys' JSON, as far as it is used.
#[derive(Deserialize)]
pub(super) struct Netlist {
    pub(super) modules: BTreeMap<String, Module>,
}

/// A flat module of library cells.
#[derive(Deserialize)]
pub(super) struct Module {
    #[serde(default)]
    ports: BTreeMap<String, Port>,
    #[serde(default)]
    cells: BTreeMap<String, NetlistCell>,
    #[serde(default)]
    netnames: BTreeMap<String, NetName>,
}

#[derive(Deserialize)]
struct Port {
    direction: String,
    bits: Vec<Bit>,
}

#[derive(Deserialize)]
struct NetlistCell {
    #[serde(rename = "type")]
    kind: String,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize)]
struct NetName {
    #[serde(default)]
    hide_name: u8,
    bits: Vec<Bit>,
    #[serde(default)]
    offset: i64,
    #[serde(default)]
    attributes: BTreeMap<String, serde_json::Value>,
}

/// A net's number, or a constant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
enum Bit {
    Net(u64),
    Constant(String),
}

impl Module {
    pub(super) fn cells_by_type(&self) -> BTreeMap<String, u64> {
        let mut cells = BTreeMap::new();
        for cell in self.cells.values() {
            *cells.entry(cell.kind.clone()).or_default() += 1;
        }
        cells
    }

    /// The enable pins of clock gates, as `instance/pin`: paths end there, and OpenSTA does not count them among registers.
    pub(super) fn enables(&self, library: &Library) -> Vec<String> {
        let gate = |cell: &NetlistCell| library.cells.get(&cell.kind)?.clock_gate.as_ref();
        self.cells.iter().filter_map(|(name, cell)| Some(format!("{name}/{}", gate(cell)?.enable))).collect()
    }

    /// The nets of the cell's outputs.
    fn outputs<'a>(cell: &'a NetlistCell, library: &'a Library) -> impl Iterator<Item = u64> + 'a {
        let pins = library.cells.get(&cell.kind).into_iter().flat_map(|c| &c.outputs);
        pins.filter_map(|(pin, _)| match cell.connections.get(pin)?.first()? {
            Bit::Net(bit) => Some(*bit),
            Bit::Constant(_) => None,
        })
    }

    /// Of each net behind a clock gate, the gate.
    fn gated_clocks<'a>(&'a self, library: &'a Library) -> BTreeMap<u64, &'a str> {
        let gate = |cell: &NetlistCell| library.cells.get(&cell.kind).is_some_and(|c| c.clock_gate.is_some());
        let gates = self.cells.iter().filter(|(_, cell)| gate(cell));
        gates
            .flat_map(|(name, cell)| Self::outputs(cell, library).map(move |net| (net, name.as_str())))
            .collect()
    }

    /// The flip-flops behind clock gates, each with its gate.
    fn behind_gates<'a>(&'a self, library: &'a Library) -> Vec<(&'a str, &'a str)> {
        let clocks = self.gated_clocks(library);
        let flip_flop = |cell: &NetlistCell| library.cells.get(&cell.kind).is_some_and(|c| c.flip_flop);
        let gate = |cell: &NetlistCell| {
            cell.connections.values().filter_map(|bits| bits.first()).find_map(|bit| match bit {
                Bit::Net(net) => clocks.get(net).copied(),
                Bit::Constant(_) => None,
            })
        };
        let cells = self.cells.iter().filter(|(_, cell)| flip_flop(cell));
        cells.filter_map(|(name, cell)| Some((name.as_str(), gate(cell)?))).collect()
    }

    /// How many flip-flops are behind clock gates.
    pub(super) fn gated(&self, library: &Library) -> u64 {
        self.behind_gates(library).len() as u64
    }

    /// The input that is the clock: `clk_i`, or else the one that is called so in another way.
    pub(super) fn clock(&self) -> Option<&str> {
        let inputs = || self.ports.iter().filter(|(_, p)| p.direction == "input" && p.bits.len() == 1);
        let named = |test: &dyn Fn(&str) -> bool| inputs().map(|(n, _)| n.as_str()).find(|n| test(n));
        named(&|n| n == "clk_i").or_else(|| named(&|n| n.starts_with("clk") || n.starts_with("clock")))
    }

    /// What the cells are called in the RTL. Of the names of a net, that of a register comes first, then the least deep one.
    pub(super) fn names(&self, library: &Library) -> Names {
        let mut best: BTreeMap<u64, (u8, usize, usize, String)> = BTreeMap::new();
        for (name, net) in &self.netnames {
            let memory = name.strip_prefix("$memory\\").and_then(|n| Some(n.rsplit_once('$')?.0));
            let (rank, shown) = match memory {
                Some(word) => (0, word),
                None if net.attributes.contains_key(REGISTER) && net.hide_name == 0 => (0, name.as_str()),
                None if net.hide_name == 0 => (1, name.as_str()),
                None => continue,
            };
            let wide = net.bits.len() > 1;
            for (index, bit) in net.bits.iter().enumerate() {
                let Bit::Net(bit) = bit else { continue };
                let full =
                    if wide { format!("{shown}[{}]", index as i64 + net.offset) } else { shown.into() };
                let candidate = (rank, shown.matches('.').count(), full.len(), full);
                match best.get(bit) {
                    Some(known) if *known <= candidate => {}
                    _ => {
                        best.insert(*bit, candidate);
                    }
                }
            }
        }
        let mut names = Names::default();
        for (instance, cell) in &self.cells {
            let name = Self::outputs(cell, library).filter_map(|net| best.get(&net)).min();
            let Some((_, _, _, name)) = name else { continue };
            let flip_flop = library.cells.get(&cell.kind).is_some_and(|c| c.flip_flop);
            let map = if flip_flop { &mut names.registers } else { &mut names.signals };
            map.insert(instance.clone(), name.clone());
        }
        // A clock gate is called by a register behind it: the first one in the alphabet.
        let mut gates: BTreeMap<&str, &String> = BTreeMap::new();
        for (flip_flop, gate) in self.behind_gates(library) {
            let Some(name) = names.registers.get(flip_flop) else { continue };
            let first = gates.entry(gate).or_insert(name);
            *first = (*first).min(name);
        }
        let called = |name: &str| {
            let (block, register) = name.rsplit_once('.').map_or(("", name), |(b, r)| (b, r));
            let register = register.split('[').next().unwrap_or(register);
            let dot = if block.is_empty() { "" } else { "." };
            format!("{block}{dot}clock gate of {register}")
        };
        let gates: Vec<(String, String)> =
            gates.into_iter().map(|(gate, name)| (gate.to_string(), called(name))).collect();
        names.registers.extend(gates);
        names
    }
}

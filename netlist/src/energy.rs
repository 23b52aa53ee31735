//! A netlist that runs: what its outputs are, and what each cycle costs in energy.
//!
//! Logic has no delay here: a net changes once per cycle at most, so that glitches are not in the energy. Each change of a net
//! costs half of C V² for the pins on it, and for its wires where they are given, and the internal energy that the library gives
//! for its driver; each flip-flop costs what the library gives for the two edges of its clock, whether it stores something new or
//! not; but where a clock gate is before it, only in cycles in which the gate is open.
//!
//! Energy is kept by block of the RTL ([`super::blocks`]).

use super::blocks::Owners;
use super::graph::{Instance, Netlist, NetlistError};
use super::library::{EDGES, Energy, Kind, TimedCell, TimingLibrary, table};
use super::timing::{Boundary, Timing, levelize};
use crate::liberty::evaluate;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// What stands beside every energy.
pub const ENERGY_LABEL: &str =
    "estimate after synthesis, before layout: no wires, no clock tree, no glitches";

/// The same with wires of a placement.
pub const ENERGY_WITH_WIRES_LABEL: &str =
    "estimate from a placement: with its wires, no clock tree, no glitches";

/// Most inputs of a cell: its function is a table of 2^6 bits.
const MOST_INPUTS: usize = 6;

/// A part of the design to which energy is attributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Names of instances from the top, without numbers, e.g. `scheduler.window`; [`super::SHARED`].
    pub name: String,
    /// Energy of each cycle for its clock pins before any clock gate, in femtojoules.
    pub clock_fj: f64,
    /// Its flip-flops.
    pub flip_flops: usize,
}

/// What does not depend on what the design does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Energy of each cycle for the clock pins of clock gates, and of flip-flops that have none before them, in femtojoules.
    pub clock_fj: f64,
    /// Leakage of all cells, in nanowatts.
    pub leakage_nw: f64,
    /// Flip-flops.
    pub flip_flops: usize,
    /// Those of them that have a clock gate before them.
    pub gated: usize,
    /// Clock gates.
    pub clock_gates: usize,
}

/// What the clock did behind clock gates in a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatedClock {
    /// Its energy in each of [`Gates::blocks`], in femtojoules.
    pub fj: Vec<f64>,
    /// Flip-flops that it reached.
    pub flip_flops: usize,
}

/// An output as a table over the cell's inputs.
#[derive(Clone, Debug)]
struct Function {
    inputs: Vec<usize>,
    table: u64,
    output: usize,
}

/// A flip-flop: from its data to its outputs.
#[derive(Clone, Debug)]
struct FlipFlop {
    inputs: Vec<usize>,
    next: u64,
    /// Outputs, and whether each is the complement.
    outputs: Vec<(usize, bool)>,
    /// The clock gate before it.
    gate: Option<usize>,
}

/// A cell that lets the clock pass while its enable is high.
#[derive(Clone, Debug)]
struct ClockGate {
    enable: usize,
    /// Where its clock goes.
    output: usize,
    /// Energy of a cycle of the clock behind it, by block.
    clock_fj: Vec<(usize, f64)>,
    flip_flops: usize,
}

impl ClockGate {
    /// Adds to what a cycle of the clock behind it costs.
    fn adds(&mut self, block: usize, fj: f64) {
        match self.clock_fj.iter_mut().find(|(other, _)| *other == block) {
            Some((_, sum)) => *sum += fj,
            None => self.clock_fj.push((block, fj)),
        }
    }
}

/// The clock gates of a netlist.
///
/// # Errors
/// Where one has another before it, has no enable, or has a test pin that is not tied low.
fn clock_gates(netlist: &Netlist, library: &TimingLibrary) -> Result<Vec<ClockGate>, NetlistError> {
    let cell = |instance: &Instance| &library.cells[instance.cell];
    let gates = netlist.instances.iter().filter(|i| cell(i).kind == Kind::ClockGate);
    let gates = gates.map(|instance| {
        let cell = cell(instance);
        let net = |pin: usize| instance.nets[pin];
        let pins = || 0..cell.pins.len();
        let enable = cell.enable.and_then(net);
        let output = pins().find(|p| cell.output[*p]).and_then(net);
        let tied = pins().all(|pin| {
            let plain = !cell.output[pin] && !cell.clock[pin] && Some(pin) != cell.enable;
            !plain || net(pin).is_none_or(|net| netlist.nets[net].constant == Some(false))
        });
        let first = pins().filter(|p| cell.clock[*p]).filter_map(net).all(|net| {
            let before = netlist.nets[net].driver.map(|pin| &netlist.instances[pin.instance]);
            before.is_none_or(|i| library.cells[i.cell].kind != Kind::ClockGate)
        });
        match (enable, output) {
            (Some(enable), Some(output)) if tied && first => {
                Ok(ClockGate { enable, output, clock_fj: Vec::new(), flip_flops: 0 })
            }
            _ => Err(NetlistError::NoFunction { cell: cell.name.clone() }),
        }
    });
    gates.collect()
}

/// A netlist of library cells that can be clocked.
#[derive(Clone, Debug)]
pub struct Gates {
    inputs: HashMap<String, Vec<usize>>,
    outputs: HashMap<String, Vec<usize>>,
    functions: Vec<Function>,
    flip_flops: Vec<FlipFlop>,
    clock_gates: Vec<ClockGate>,
    /// Of each net.
    value: Vec<bool>,
    /// Its value when energy was last added up.
    before: Vec<bool>,
    /// What a change costs in femtojoules.
    change_fj: Vec<f64>,
    /// Whose a change is: index in `blocks`.
    block: Vec<usize>,
    blocks: Vec<Block>,
    power: Power,
}

impl Gates {
    /// The module `top` of `netlist`, as for [`super::resize`].
    ///
    /// # Errors
    /// Also where a flip-flop has an asynchronous clear or preset that is not tied to its inactive value.
    pub fn new(netlist: &str, top: &str, liberty: &str, liberty_path: &Path) -> Result<Self, NetlistError> {
        Self::with_wires(netlist, top, liberty, liberty_path, "")
    }

    /// The same with wires: each net weighs what `spef` says, as [`super::Wires`] has it, besides its pins.
    ///
    /// # Errors
    /// Also where the wires are of another netlist.
    pub fn with_wires(
        netlist: &str,
        top: &str,
        liberty: &str,
        liberty_path: &Path,
        spef: &str,
    ) -> Result<Self, NetlistError> {
        let library = TimingLibrary::parse(liberty, liberty_path)?;
        let document: Value = serde_json::from_str(netlist)
            .map_err(|e| NetlistError::Format { top: top.into(), what: e.to_string() })?;
        let netlist = Netlist::read(&document, top, &library)?;
        let slew = (10.0 / library.ps) as f32;
        let boundary = Boundary { period: 0.0, driver: library.buffers.first().copied(), slew, load: 0.0 };
        let timing = Timing::new(&netlist, &library, boundary, top)?;
        let mut gates = Self {
            inputs: HashMap::new(),
            outputs: HashMap::new(),
            functions: Vec::new(),
            flip_flops: Vec::new(),
            clock_gates: clock_gates(&netlist, &library)?,
            value: netlist.nets.iter().map(|n| n.constant.unwrap_or(false)).collect(),
            before: Vec::new(),
            change_fj: Vec::new(),
            block: Vec::new(),
            blocks: Vec::new(),
            power: Power { clock_fj: 0.0, leakage_nw: 0.0, flip_flops: 0, gated: 0, clock_gates: 0 },
        };
        for (name, output, nets) in &netlist.ports {
            let map = if *output { &mut gates.outputs } else { &mut gates.inputs };
            map.insert(name.clone(), nets.clone());
        }
        let no_function = |name: &str| NetlistError::NoFunction { cell: name.into() };
        let order = levelize(&netlist, &library, top)?;
        let owners = Owners::new(&netlist, &library, &order, &netlist.names(&document, top));
        gates.block = owners.nets;
        let block = |name| Block { name, clock_fj: 0.0, flip_flops: 0 };
        gates.blocks = owners.blocks.into_iter().map(block).collect();
        let owner = owners.instances;
        for i in order {
            let instance = &netlist.instances[i];
            let cell = &library.cells[instance.cell];
            if cell.kind == Kind::ClockGate {
                continue;
            }
            let pins: Vec<usize> =
                (0..cell.pins.len()).filter(|p| !cell.output[*p] && !cell.clock[*p]).collect();
            if pins.len() > MOST_INPUTS {
                return Err(no_function(&cell.name));
            }
            let names: Vec<&str> = pins.iter().map(|p| cell.pins[*p].as_str()).collect();
            let nets = || -> Option<Vec<usize>> { pins.iter().map(|p| instance.nets[*p]).collect() };
            let outputs = (0..cell.pins.len()).filter(|p| cell.output[*p]);
            let used = outputs.filter_map(|p| Some((instance.nets[p]?, cell.functions[p].as_deref()?)));
            if let (Kind::FlipFlop, Some(state)) = (cell.kind, &cell.state) {
                let tied = |pin: &str| {
                    let at = cell.pins.iter().position(|p| p == pin)?;
                    netlist.nets[instance.nets[at]?].constant
                };
                if state.asynchronous.iter().any(|function| evaluate(function, &tied) != Some(false)) {
                    return Err(no_function(&cell.name));
                }
                let next = table(&state.next, &names).ok_or_else(|| no_function(&cell.name))?;
                // `IQN`, `!IQ` and `IQ'` are the same: what the output is while the stored bit is 0.
                let stored = |name: &str| state.names.iter().position(|n| n == name).map(|at| at == 1);
                let complement = |f: &str| evaluate(f, &stored) == Some(true);
                let outputs: Vec<(usize, bool)> =
                    used.map(|(net, function)| (net, complement(function))).collect();
                let inputs = nets().ok_or_else(|| no_function(&cell.name))?;
                // All flip-flops begin with 0, and so with 1 at the complement.
                for (net, complement) in &outputs {
                    gates.value[*net] = *complement;
                }
                let gate = gates.gate_before(instance, cell);
                gates.flip_flops.push(FlipFlop { inputs, next, outputs, gate });
                continue;
            }
            for (output, function) in used {
                let table = table(function, &names).ok_or_else(|| no_function(&cell.name))?;
                let inputs = nets().ok_or_else(|| no_function(&cell.name))?;
                gates.functions.push(Function { inputs, table, output });
            }
        }
        gates.prices(&netlist, &library, &timing, &owner);
        gates.charge_wires(&netlist, &library, spef).map_err(|net| NetlistError::Format {
            top: top.into(),
            what: format!("its wires are of another netlist, with a net `{net}`"),
        })?;
        gates.drop_empty();
        gates.settle();
        gates.before.clone_from(&gates.value);
        Ok(gates)
    }

    /// The clock gate before a cell.
    fn gate_before(&self, instance: &Instance, cell: &TimedCell) -> Option<usize> {
        let clocks = (0..cell.pins.len()).filter(|p| cell.clock[*p]).filter_map(|p| instance.nets[p]);
        let mut gates = clocks.filter_map(|net| self.clock_gates.iter().position(|g| g.output == net));
        gates.next()
    }

    /// Adds what the wires of each net cost; the name of a net that is not there is an error.
    fn charge_wires<'s>(
        &mut self,
        netlist: &Netlist,
        library: &TimingLibrary,
        spef: &'s str,
    ) -> Result<(), &'s str> {
        let names = netlist.names_in_verilog();
        let nets: HashMap<&str, usize> =
            names.iter().enumerate().map(|(net, name)| (name.as_str(), net)).collect();
        for (name, ff) in super::place::loads(spef) {
            let net = *nets.get(name).ok_or(name)?;
            self.change_fj[net] += 0.5 * ff * library.volts * library.volts;
        }
        Ok(())
    }

    /// What a change of each net costs, and what all cells cost in each cycle.
    fn prices(&mut self, netlist: &Netlist, library: &TimingLibrary, timing: &Timing, owner: &[usize]) {
        // Internal energy in Liberty is in units of load times the square of the voltage unit; volts in all libraries at hand.
        let unit = library.ff;
        let mean = |energies: &[Energy], slew: [f32; 2], load: f32| -> f64 {
            let sum: f32 = energies
                .iter()
                .map(|e| EDGES.map(|edge| e[edge].at(slew[edge], load)).iter().sum::<f32>() / 2.0)
                .sum();
            f64::from(sum) / energies.len().max(1) as f64
        };
        self.change_fj = timing
            .load
            .iter()
            .map(|load| 0.5 * f64::from(*load) * unit * library.volts * library.volts)
            .collect();
        let flat = [timing.boundary.slew; 2];
        self.power.clock_gates = self.clock_gates.len();
        for (instance, owner) in netlist.instances.iter().zip(owner) {
            let cell = &library.cells[instance.cell];
            let gate = self.gate_before(instance, cell);
            if let (Kind::FlipFlop, Some(gate)) = (cell.kind, gate) {
                self.power.gated += 1;
                self.clock_gates[gate].flip_flops += 1;
            }
            self.power.leakage_nw += f64::from(cell.leakage) * library.nw;
            self.power.flip_flops += usize::from(cell.kind == Kind::FlipFlop);
            self.blocks[*owner].flip_flops += usize::from(cell.kind == Kind::FlipFlop);
            for (pin, net) in instance.nets.iter().enumerate() {
                let Some(net) = *net else { continue };
                let energies = &cell.energy[pin];
                if cell.clock[pin] {
                    // A rising and a falling edge in each cycle; the mean is per edge.
                    let pins = f64::from(cell.load[pin]) * unit * library.volts * library.volts;
                    let clock = pins + 2.0 * unit * mean(energies, flat, 0.0);
                    match gate {
                        Some(gate) => self.clock_gates[gate].adds(*owner, clock),
                        None => {
                            self.power.clock_fj += clock;
                            self.blocks[*owner].clock_fj += clock;
                        }
                    }
                } else if cell.output[pin] && cell.kind == Kind::ClockGate {
                    // The load of its output is the clock pins behind it.
                    let clock = 2.0 * unit * mean(energies, flat, timing.load[net]);
                    self.clock_gates
                        .iter_mut()
                        .filter(|g| g.output == net)
                        .for_each(|g| g.adds(*owner, clock));
                } else if cell.output[pin] {
                    // The slews of the inputs are not kept by pin; the output's own is near them.
                    self.change_fj[net] += unit * mean(energies, timing.slew[net], timing.load[net]);
                } else {
                    self.change_fj[net] += unit * mean(energies, timing.slew[net], 0.0);
                }
            }
        }
        // The clock is counted with the flip-flops.
        for (n, net) in netlist.nets.iter().enumerate() {
            if net.clock {
                self.change_fj[n] = 0.0;
            }
        }
    }

    /// Leaves out blocks in which nothing can cost anything.
    fn drop_empty(&mut self) {
        let mut used: Vec<bool> = self.blocks.iter().map(|b| b.flip_flops > 0 || b.clock_fj > 0.0).collect();
        self.clock_gates.iter().flat_map(|gate| &gate.clock_fj).for_each(|(block, _)| used[*block] = true);
        for (block, price) in self.block.iter().zip(&self.change_fj) {
            used[*block] |= *price != 0.0;
        }
        let numbers: Vec<usize> = used
            .iter()
            .scan(0, |next, used| {
                let here = *next;
                *next += usize::from(*used);
                Some(here)
            })
            .collect();
        // A net without a price is never read; any block will do.
        self.block.iter_mut().for_each(|block| *block = if used[*block] { numbers[*block] } else { 0 });
        for (block, _) in self.clock_gates.iter_mut().flat_map(|gate| &mut gate.clock_fj) {
            *block = numbers[*block];
        }
        let mut used = used.into_iter();
        self.blocks.retain(|_| used.next().unwrap_or(false));
    }

    /// The blocks to which energy is attributed.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// What each cycle costs whatever happens.
    pub fn power(&self) -> Power {
        self.power
    }

    /// Names of the input ports, in the order of the alphabet.
    pub fn inputs(&self) -> Vec<(&str, usize)> {
        let mut ports: Vec<(&str, usize)> =
            self.inputs.iter().map(|(n, bits)| (n.as_str(), bits.len())).collect();
        ports.sort_unstable();
        ports
    }

    /// Sets an input port; bits beyond its width are ignored. False where there is no such port.
    pub fn set(&mut self, port: &str, bits: impl IntoIterator<Item = bool>) -> bool {
        let Some(nets) = self.inputs.get(port) else { return false };
        for (net, bit) in nets.iter().zip(bits) {
            self.value[*net] = bit;
        }
        true
    }

    /// The value of an output port, from bit 0.
    pub fn get(&self, port: &str) -> Option<Vec<bool>> {
        self.outputs.get(port).map(|nets| nets.iter().map(|net| self.value[*net]).collect())
    }

    fn row(value: &[bool], inputs: &[usize]) -> usize {
        inputs.iter().enumerate().fold(0, |row, (at, net)| row | usize::from(value[*net]) << at)
    }

    /// Lets the logic follow inputs and flip-flops.
    pub fn settle(&mut self) {
        for function in &self.functions {
            self.value[function.output] = function.table >> Self::row(&self.value, &function.inputs) & 1 == 1;
        }
    }

    /// What the clock does behind clock gates at the next edge. The logic must have settled.
    pub fn gated_clock(&self) -> GatedClock {
        let mut clock = GatedClock { fj: vec![0.0; self.blocks.len()], flip_flops: 0 };
        for gate in self.clock_gates.iter().filter(|gate| self.value[gate.enable]) {
            clock.flip_flops += gate.flip_flops;
            gate.clock_fj.iter().for_each(|(block, fj)| clock.fj[*block] += fj);
        }
        clock
    }

    /// Energy in femtojoules of what has changed since the last call, without the clock's, for each of [`Gates::blocks`].
    pub fn energy_by_block(&mut self) -> Vec<f64> {
        let mut energy = vec![0.0; self.blocks.len()];
        let prices = self.change_fj.iter().zip(&self.block);
        for ((now, before), (price, block)) in self.value.iter().zip(&mut self.before).zip(prices) {
            if now != before {
                if *price != 0.0 {
                    energy[*block] += price;
                }
                *before = *now;
            }
        }
        energy
    }

    /// A rising edge of the clock. The logic follows with the next [`Gates::settle`].
    pub fn clock(&mut self) {
        let next: Vec<bool> =
            self.flip_flops.iter().map(|f| f.next >> Self::row(&self.value, &f.inputs) & 1 == 1).collect();
        let open: Vec<bool> = self.clock_gates.iter().map(|gate| self.value[gate.enable]).collect();
        let clocked = |f: &&FlipFlop| f.gate.is_none_or(|gate| open[gate]);
        for (flip_flop, next) in self.flip_flops.iter().zip(next).filter(|(f, _)| clocked(f)) {
            for (net, complement) in &flip_flop.outputs {
                self.value[*net] = next != *complement;
            }
        }
    }
}

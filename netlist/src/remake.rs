//! Gates that are replaced by others of the same function: complements from flip-flops, small cones by smaller or faster circuits, and
//! buffers that need not be.

use super::graph::{Netlist, NetlistError, Pin};
use super::library::{EDGES, Kind, TimingLibrary};
use super::resize::Work;
use super::shapes::{Gate, Known, LEAVES, Shape, Shapes, Source, depends};
use super::timing::Timing;
use std::collections::HashSet;

/// Gates of a cone at most.
const GATES: usize = 5;
/// Cones of a gate at most.
const CONES: usize = 40;

/// Gates with one output.
#[derive(Clone)]
struct Cone {
    /// Nets that it reads.
    leaves: Vec<usize>,
    /// What it computes of them.
    table: u64,
    /// All its gates.
    gates: Vec<usize>,
    /// Those that nothing else reads, its root among them.
    gone: Vec<usize>,
}

/// A change that keeps what the netlist computes.
#[derive(Clone)]
enum Change {
    /// The cone of a gate becomes that circuit of these cells; the leaf of the circuit's i-th leaf is the i-th net.
    Cone { cone: Cone, shape: Shape, cells: Vec<usize>, leaves: Vec<usize> },
    /// A buffer goes.
    Buffer(usize),
}

/// A change with what it gains.
struct Offer {
    gain: f32,
    change: Change,
    /// Instances that no other change of the same turn may touch.
    instances: Vec<usize>,
    /// Nets that no other change of the same turn may touch.
    nets: Vec<usize>,
}

/// What is wanted of changes.
#[derive(Clone, Copy)]
enum Aim {
    /// Time on the paths with less slack than that.
    Time(f32),
    /// Area, as long as that slack is left.
    Area(f32),
}

/// Takes complements of flip-flops from their second output, where there is one, instead of from an inverter.
pub(super) fn complements(netlist: &mut Netlist, library: &TimingLibrary, shapes: &Shapes) {
    let mut gone = vec![false; netlist.instances.len()];
    let inverter = |netlist: &Netlist, i: usize| {
        gate(netlist, shapes, i).filter(|g| g.table == 0b01 && g.inputs.len() == 1).is_some()
    };
    for i in 0..netlist.instances.len() {
        let cell = &library.cells[netlist.instances[i].cell];
        let Some(state) = cell.state.as_ref().filter(|_| cell.kind == Kind::FlipFlop) else { continue };
        let pin = |name: &str| {
            let plain = |f: &Option<String>| f.as_deref().map(|f| f.trim_matches(['(', ')', ' ']) == name);
            cell.functions.iter().position(|f| plain(f) == Some(true))
        };
        let (Some(q), Some(complement)) = (pin(&state.names[0]), pin(&state.names[1])) else { continue };
        let Some(from) = netlist.instances[i].nets[q] else { continue };
        let free = |net: usize| netlist.nets[net].sinks.is_empty() && !netlist.nets[net].output;
        if !netlist.instances[i].nets[complement].is_none_or(free) {
            continue;
        }
        let mut readers = netlist.nets[from].sinks.clone();
        readers.retain(|sink| inverter(netlist, sink.instance));
        let mut to = None;
        for sink in readers {
            let output = gate(netlist, shapes, sink.instance).map(|g| g.output);
            let Some(out) = output.and_then(|pin| netlist.instances[sink.instance].nets[pin]) else {
                continue;
            };
            match to {
                None => {
                    netlist.drive(i, complement, out);
                    to = Some(out);
                }
                Some(_) if netlist.nets[out].output => continue,
                Some(to) => {
                    netlist.nets[out].sinks.clone().into_iter().for_each(|s| netlist.move_sink(s, to))
                }
            }
            gone[sink.instance] = true;
        }
    }
    netlist.remove(&gone);
}

fn gate<'a>(netlist: &Netlist, shapes: &'a Shapes, i: usize) -> Option<&'a Gate> {
    shapes.gates[netlist.instances[i].cell].as_ref()
}

impl<'a> Work<'a> {
    fn gate(&self, i: usize) -> Option<&Gate> {
        gate(&self.netlist, self.shapes, i)
    }

    fn output(&self, i: usize) -> Option<usize> {
        self.netlist.instances[i].nets[self.gate(i)?.output]
    }

    /// The cones of a gate.
    fn cones(&self, root: usize) -> Vec<Cone> {
        let mut sets = vec![vec![root]];
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut cones = Vec::new();
        let mut at = 0;
        while at < sets.len() && at < CONES {
            let set = sets[at].clone();
            at += 1;
            let Some(leaves) = self.leaves(&set) else { continue };
            for leaf in &leaves {
                let Some(driver) = self.netlist.nets[*leaf].driver.map(|d| d.instance) else { continue };
                let Some(gate) = self.gate(driver) else { continue };
                let inside = self.netlist.nets[*leaf].sinks.iter().all(|s| set.contains(&s.instance));
                let inverter = gate.inputs.len() == 1 && gate.table == 0b01;
                let buffer = gate.inputs.len() == 1 && !inverter;
                if set.len() < GATES && !buffer && (inverter || inside && !self.netlist.nets[*leaf].output) {
                    let mut more = set.clone();
                    more.push(driver);
                    let mut key = more.clone();
                    key.sort_unstable();
                    if seen.insert(key) {
                        sets.push(more);
                    }
                }
            }
            cones.extend(self.cone(set, leaves));
        }
        cones
    }

    /// Nets that these gates read from elsewhere; none if a gate has an open input, or a constant one.
    fn leaves(&self, set: &[usize]) -> Option<Vec<usize>> {
        let inside: Vec<usize> = set.iter().filter_map(|i| self.output(*i)).collect();
        let mut leaves = Vec::new();
        for i in set {
            for pin in &self.gate(*i)?.inputs {
                let net = self.netlist.instances[*i].nets[*pin]?;
                if self.netlist.nets[net].constant.is_some() || self.netlist.nets[net].clock {
                    return None;
                }
                if !inside.contains(&net) && !leaves.contains(&net) {
                    leaves.push(net);
                }
            }
        }
        Some(leaves)
    }

    fn cone(&self, gates: Vec<usize>, leaves: Vec<usize>) -> Option<Cone> {
        if leaves.len() > LEAVES {
            return None;
        }
        let table = self.table(gates[0], &gates, &leaves)?;
        if !(0..leaves.len()).all(|i| depends(table, leaves.len(), i)) {
            return None;
        }
        let mut gone = vec![gates[0]];
        while let Some(next) = gates.iter().find(|i| {
            let read = self.output(**i).map(|net| &self.netlist.nets[net]);
            !gone.contains(i)
                && read.is_some_and(|n| !n.output && n.sinks.iter().all(|s| gone.contains(&s.instance)))
        }) {
            gone.push(*next);
        }
        Some(Cone { leaves, table, gates, gone })
    }

    fn table(&self, i: usize, gates: &[usize], leaves: &[usize]) -> Option<u64> {
        let gate = self.gate(i)?;
        let mut inputs = Vec::new();
        for pin in &gate.inputs {
            let net = self.netlist.instances[i].nets[*pin]?;
            let driver = self.netlist.nets[net].driver.map(|d| d.instance);
            inputs.push(match driver.filter(|d| gates.contains(d) && !leaves.contains(&net)) {
                Some(driver) => self.table(driver, gates, leaves)?,
                None => {
                    let at = leaves.iter().position(|l| *l == net)?;
                    (0..1_u32 << leaves.len()).fold(0, |t, row| t | u64::from(row >> at & 1) << row)
                }
            });
        }
        Some((0..1_u32 << leaves.len()).fold(0, |table, row| {
            let pins = inputs.iter().enumerate().fold(0, |pins, (at, t)| pins | (t >> row & 1) << at);
            table | (gate.table >> pins & 1) << row
        }))
    }

    /// Slack behind the cone when it is that circuit, and the least slack that its leaves then have.
    fn slack_as(
        &self,
        timing: &Timing,
        cone: &Cone,
        shape: &Shape,
        cells: &[usize],
        leaves: &[usize],
        urgent: f32,
    ) -> Option<(f32, f32)> {
        let out = self.output(cone.gates[0])?;
        let mut more = vec![0.0f32; shape.leaves];
        let mut loads = vec![timing.load[out]; cells.len()];
        for (g, (_, sources)) in shape.gates.iter().enumerate() {
            let new = self.shapes.gates[cells[g]].as_ref()?;
            for (pin, source) in new.inputs.iter().zip(sources) {
                let load = self.library.cells[cells[g]].load[*pin] + self.netlist.wire;
                match source {
                    Source::Leaf(leaf) => more[*leaf] += load,
                    Source::Gate(gate) => loads[*gate] = load,
                }
            }
        }
        let mut left = f32::INFINITY;
        let mut shift = vec![0.0f32; shape.leaves];
        for (leaf, net) in leaves.iter().enumerate() {
            let sinks = &self.netlist.nets[*net].sinks;
            let mut less = 0.0;
            let mut others = false;
            for sink in sinks {
                match cone.gone.contains(&sink.instance) {
                    true => less += self.netlist.load(self.library, *sink),
                    false => others = true,
                }
            }
            shift[leaf] = timing.later(&self.netlist, self.library, *net, more[leaf] - less);
            if others && (shift[leaf] > 0.0 || timing.slack(*net) < urgent) {
                left = left.min(timing.slack(*net) - shift[leaf]);
            }
        }
        let mut times: Vec<([f32; 2], [f32; 2])> = Vec::with_capacity(cells.len());
        for (g, (_, sources)) in shape.gates.iter().enumerate() {
            let (cell, new) = (&self.library.cells[cells[g]], self.shapes.gates[cells[g]].as_ref()?);
            let (mut arrival, mut slew) = ([f32::NEG_INFINITY; 2], [0.0f32; 2]);
            for arc in &cell.arcs {
                let Some(at) = new.inputs.iter().position(|pin| *pin == arc.from) else { continue };
                let (before, slews) = match sources[at] {
                    Source::Leaf(leaf) => {
                        (timing.arrival[leaves[leaf]].map(|a| a + shift[leaf]), timing.slew[leaves[leaf]])
                    }
                    Source::Gate(gate) => times[gate],
                };
                for fe in EDGES {
                    for te in EDGES {
                        if arc.sense.causes(fe, te) && before[fe] > f32::NEG_INFINITY {
                            arrival[te] = arrival[te].max(before[fe] + arc.delay[te].at(slews[fe], loads[g]));
                            slew[te] = slew[te].max(arc.slew[te].at(slews[fe], loads[g]));
                        }
                    }
                }
            }
            times.push((arrival, slew));
        }
        let arrival = times.last()?.0;
        let slack = EDGES.map(|e| timing.required[out][e] - arrival[e]);
        Some((slack[0].min(slack[1]), left))
    }

    /// The best change of what is before that gate.
    fn offer(&self, timing: &Timing, root: usize, aim: Aim, known: &mut Known<'a>) -> Option<Offer> {
        let out = self.output(root)?;
        let current = self.library.cells[self.netlist.instances[root].cell].family;
        let size =
            self.library.families[current].iter().position(|c| *c == self.netlist.instances[root].cell)?;
        let now = timing.slack(out);
        let mut best: Option<Offer> = None;
        for cone in self.cones(root) {
            let area = |cells: &[usize]| cells.iter().map(|c| self.library.cells[*c].area).sum::<f32>();
            let old: Vec<usize> = cone.gone.iter().map(|i| self.netlist.instances[*i].cell).collect();
            let old = area(&old);
            for (shape, orders) in known.of(self.shapes, cone.leaves.len(), cone.table).iter() {
                if matches!(aim, Aim::Area(_)) && shape.area >= old {
                    break;
                }
                let last = shape.gates.len() - 1;
                let cells = |inner: usize| -> Vec<usize> {
                    let sized = |(g, (cell, _)): (usize, &(usize, Vec<Source>))| {
                        let family = &self.library.families[self.library.cells[*cell].family];
                        family[(if g == last { size } else { inner }).min(family.len() - 1)]
                    };
                    shape.gates.iter().enumerate().map(sized).collect()
                };
                let inner: &[usize] = if matches!(aim, Aim::Time(_)) && last > 0 { &[0, 1] } else { &[0] };
                for cells in inner.iter().map(|inner| cells(*inner)) {
                    let saved = old - area(&cells);
                    if matches!(aim, Aim::Area(_)) && saved <= 0.0 {
                        continue;
                    }
                    for order in orders {
                        let leaves: Vec<usize> = order.iter().map(|leaf| cone.leaves[*leaf]).collect();
                        let urgent = if let Aim::Time(urgent) = aim { urgent } else { f32::NEG_INFINITY };
                        let Some((slack, left)) =
                            self.slack_as(timing, &cone, shape, &cells, &leaves, urgent)
                        else {
                            continue;
                        };
                        let gain = match aim {
                            Aim::Time(_) => slack.min(left) - now,
                            Aim::Area(floor) if slack.min(left) >= floor => saved,
                            // What is late already must not get later.
                            Aim::Area(_) => continue,
                        };
                        if gain > best.as_ref().map_or(0.0, |b| b.gain) {
                            let mut nets = leaves.clone();
                            nets.retain(|net| timing.slack(*net) < urgent);
                            nets.push(out);
                            let instances = cone.gates.clone();
                            let cone = cone.clone();
                            let change =
                                Change::Cone { cone, shape: (*shape).clone(), cells: cells.clone(), leaves };
                            best = Some(Offer { gain, change, instances, nets });
                        }
                        if matches!(aim, Aim::Area(_)) {
                            break;
                        }
                    }
                }
            }
        }
        best
    }

    /// A buffer that can go, where that leaves enough slack and no more than that load.
    fn needless(&self, timing: &Timing, i: usize, floor: f32, most: f32) -> Option<Offer> {
        let instance = &self.netlist.instances[i];
        let cell = &self.library.cells[instance.cell];
        if !instance.name.is_empty() {
            return None;
        }
        let pin = |out: bool| cell.output.iter().position(|o| *o == out).and_then(|p| instance.nets[p]);
        let (from, to) = (pin(false)?, pin(true)?);
        let input = cell.output.iter().position(|o| !o)?;
        let own = self.netlist.load(self.library, Pin { instance: i, pin: input });
        let more = timing.load[to] - own;
        let later = timing.later(&self.netlist, self.library, from, more);
        let gained = EDGES.map(|e| timing.arrival[to][e] - timing.arrival[from][e]);
        let slack = timing.slack(to) + gained[0].min(gained[1]) - later;
        let fits = timing.load[from] + more <= most && slack.min(timing.slack(from) - later) >= floor;
        let change = Change::Buffer(i);
        fits.then(|| Offer { gain: cell.area, change, instances: vec![i], nets: vec![from, to] })
    }

    /// Makes those of the changes that do not touch each other, best first, and no more than that share of them.
    fn make(&mut self, offers: &[Offer], share: f32) -> usize {
        let most = (offers.len() as f32 * share).ceil() as usize;
        let mut instances: HashSet<usize> = HashSet::new();
        let mut nets: HashSet<usize> = HashSet::new();
        // Behind buffers that went.
        let mut dead: HashSet<usize> = HashSet::new();
        let mut gone = vec![false; self.netlist.instances.len()];
        let mut made = 0;
        for offer in offers {
            if made == most {
                break;
            }
            let taken = offer.instances.iter().any(|i| instances.contains(i));
            if taken || offer.nets.iter().any(|n| nets.contains(n)) {
                continue;
            }
            if matches!(&offer.change, Change::Cone { leaves, .. } if leaves.iter().any(|n| dead.contains(n)))
            {
                continue;
            }
            instances.extend(&offer.instances);
            nets.extend(&offer.nets);
            made += 1;
            match &offer.change {
                Change::Buffer(i) => {
                    let i = *i;
                    let nets = self.netlist.instances[i].nets.clone();
                    let output = &self.library.cells[self.netlist.instances[i].cell].output;
                    let pin = |out: bool| output.iter().position(|o| *o == out).and_then(|p| nets[p]);
                    let (Some(from), Some(to)) = (pin(false), pin(true)) else { continue };
                    for sink in self.netlist.nets[to].sinks.clone() {
                        self.netlist.move_sink(sink, from);
                    }
                    dead.insert(to);
                    gone[i] = true;
                }
                Change::Cone { cone, shape, cells, leaves } => {
                    let Some(out) = self.output(cone.gates[0]) else { continue };
                    let mut outputs = Vec::new();
                    for (g, (_, sources)) in shape.gates.iter().enumerate() {
                        let Some(new) = &self.shapes.gates[cells[g]] else { continue };
                        let to = if g + 1 == cells.len() { out } else { self.netlist.add_net() };
                        outputs.push(to);
                        let mut nets = vec![None; self.library.cells[cells[g]].pins.len()];
                        nets[new.output] = Some(to);
                        for (pin, source) in new.inputs.iter().zip(sources) {
                            nets[*pin] = Some(match source {
                                Source::Leaf(leaf) => leaves[*leaf],
                                Source::Gate(gate) => outputs[*gate],
                            });
                        }
                        self.netlist.add(self.library, Netlist::REMADE.into(), cells[g], nets);
                    }
                    cone.gone.iter().for_each(|i| gone[*i] = true);
                }
            }
        }
        gone.resize(self.netlist.instances.len(), false);
        self.netlist.remove(&gone);
        self.sweep();
        made
    }

    /// Takes out gates that nothing reads any more.
    fn sweep(&mut self) {
        loop {
            let unread =
                |net: usize| self.netlist.nets[net].sinks.is_empty() && !self.netlist.nets[net].output;
            let gone: Vec<bool> = (0..self.netlist.instances.len())
                .map(|i| self.gate(i).is_some() && self.output(i).is_some_and(unread))
                .collect();
            if !gone.contains(&true) {
                break;
            }
            self.netlist.remove(&gone);
        }
    }

    /// What can be changed, best first.
    fn offers(&self, find: impl FnMut(usize) -> Option<Offer>) -> Vec<Offer> {
        let mut offers: Vec<Offer> = (0..self.netlist.instances.len()).filter_map(find).collect();
        offers.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        offers
    }

    /// Replaces what is on the slowest paths by what is faster.
    pub(super) fn quicken(&mut self, timing: &mut Timing) -> Result<(), NetlistError> {
        let mut known = Known::default();
        let mut share = 0.5f32;
        let mut window = 0.02f32;
        let mut offers = Vec::new();
        while timing.worst < 0.0 {
            if offers.is_empty() {
                let urgent = timing.worst + window * (timing.boundary.period - timing.worst);
                offers = self.offers(|i| {
                    self.output(i).filter(|net| timing.slack(*net) <= urgent)?;
                    self.offer(timing, i, Aim::Time(urgent), &mut known)
                        .filter(|o| o.gain > self.step() * 4.0)
                });
            }
            if offers.is_empty() {
                break;
            }
            let saved = self.netlist.clone();
            self.make(&offers, share);
            let now = self.analyse()?;
            let better = now.worst > timing.worst + self.step()
                || (now.worst >= timing.worst && now.total < timing.total * 0.9999);
            if better {
                *timing = now;
                share = (share * 1.5).min(0.5);
                offers.clear();
                continue;
            }
            self.netlist = saved;
            if offers.len() as f32 * share > 1.0 {
                share *= 0.3;
            } else if window > 0.003 {
                window *= 0.3;
                share = 0.5;
                offers.clear();
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Replaces what has time by what is smaller; no net gets more than the load `most` by it.
    pub(super) fn lessen(&mut self, timing: &mut Timing, most: f32) -> Result<(), NetlistError> {
        let mut known = Known::default();
        let floor = timing.worst.min(0.0);
        for margin in [0.1f32, 0.01] {
            let mut share = 1.0f32;
            let mut offers = Vec::new();
            for _ in 0..12 {
                if offers.is_empty() {
                    let least = floor + margin * (timing.boundary.period - timing.worst);
                    offers = self.offers(|i| {
                        let needless = self.needless(timing, i, least, most);
                        needless.or_else(|| self.offer(timing, i, Aim::Area(least), &mut known))
                    });
                }
                if offers.len() as f32 * share < 1.0 {
                    break;
                }
                let saved = self.netlist.clone();
                let made = self.make(&offers, share);
                let now = self.analyse()?;
                if now.worst < floor {
                    self.netlist = saved;
                    share *= 0.4;
                    continue;
                }
                *timing = now;
                offers.clear();
                // What is left is not worth another look at everything.
                if made * 1000 < self.netlist.instances.len() {
                    break;
                }
            }
        }
        Ok(())
    }
}

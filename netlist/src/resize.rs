//! Buffer trees, then sizes and other gates of the same function: what is slow gets larger or another circuit, what has time gets smaller.

use super::graph::{Netlist, NetlistError, Pin};
use super::library::{EDGES, Kind, TimingLibrary};
use super::place::WireHints;
use super::remake::complements;
use super::shapes::Shapes;
use super::timing::{Boundary, Timing};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Load, in the smallest buffer's, that a net may get where buffers are taken away.
const MOST_LOAD: f32 = 42.0;

/// What sizing aims at, and how long it may try.
#[derive(Clone, Debug)]
pub struct ResizeOptions {
    /// Clock period in picoseconds; where it is met, area counts. 0: as fast as it goes.
    pub period_ps: f64,
    /// Rounds of sizing at most, each one a look at the whole netlist; `None`: 2000, which few designs need.
    pub rounds: Option<usize>,
    /// The wires of an earlier netlist of the design, for the pins that both have; ideal wires without.
    pub wires: Option<WireHints>,
}

impl Default for ResizeOptions {
    fn default() -> Self {
        Self { period_ps: 0.0, rounds: None, wires: None }
    }
}

/// A netlist with buffers and sizes.
#[derive(Clone, Debug)]
pub struct Resized {
    /// The same document with other cells and more of them.
    pub netlist: String,
    /// It as structural Verilog.
    pub verilog: String,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
    /// Cell area in the library's unit.
    pub area: f64,
    /// Longest path in picoseconds, from a flip-flop's clock or an input to a flip-flop's setup or an output.
    pub delay_ps: f64,
    /// Buffers added.
    pub buffers: usize,
}

/// Sizes and buffers the module `top` of `netlist` (flat, mapped to the library in `liberty`, as Yosys' `write_json` writes it).
///
/// Wires are ideal unless the options have some. Inputs come from a flip-flop's worth of drive at time 0, outputs may use the whole period.
pub fn resize(
    netlist: &str,
    top: &str,
    liberty: &str,
    liberty_path: &Path,
    options: &ResizeOptions,
) -> Result<Resized, NetlistError> {
    let library = TimingLibrary::parse(liberty, liberty_path)?;
    if library.buffers.is_empty() {
        return Err(NetlistError::NoBuffer);
    }
    let mut document: Value = serde_json::from_str(netlist)
        .map_err(|e| NetlistError::Format { top: top.into(), what: e.to_string() })?;
    let mut read = Netlist::read(&document, top, &library)?;
    if let Some(hints) = &options.wires {
        read.set_wires(&library, hints);
    }
    let shapes = Shapes::new(&library);
    complements(&mut read, &library, &shapes);
    let middle = library.buffers[library.buffers.len() / 3];
    let unit = input_load(&library, library.buffers[0]);
    let boundary = Boundary {
        period: (options.period_ps / library.ps) as f32,
        driver: Some(middle),
        slew: (10.0 / library.ps) as f32,
        load: unit * 2.0,
    };
    let attempt = |fanout: f32| -> Result<(f32, Netlist), NetlistError> {
        let rounds = options.rounds.unwrap_or(2000);
        let mut work =
            Work { library: &library, shapes: &shapes, netlist: read.clone(), boundary, top, unit, rounds };
        let worst = work.run(fanout)?;
        Ok((worst, work.netlist))
    };
    // Which of these suits a design and a library is not known before. They know nothing of each other.
    let attempts = std::thread::scope(|scope| {
        let attempt = &attempt;
        let others = [14.0, 30.0].map(|fanout| scope.spawn(move || attempt(fanout)));
        let first = attempt(8.0);
        let ended = |panic| std::panic::resume_unwind(panic);
        std::iter::once(first)
            .chain(others.map(|other| other.join().unwrap_or_else(ended)))
            .collect::<Vec<_>>()
    });
    let mut attempts = attempts.into_iter();
    let (mut worst, mut best) = attempts.next().expect("the first")?;
    for other in attempts {
        let (other_worst, other) = other?;
        let (was, now) = (worst.min(0.0), other_worst.min(0.0));
        if now > was || (now == was && other.area(&library) < best.area(&library)) {
            (worst, best) = (other_worst, other);
        }
    }
    let buffers = best.instances.iter().filter(|i| i.name.is_empty()).count();
    best.christen();
    best.write(&mut document, top, &library);
    Ok(Resized {
        netlist: document.to_string(),
        verilog: best.verilog(top, &library),
        cells: best.cells(&library),
        area: best.area(&library),
        delay_ps: f64::from(boundary.period - worst) * library.ps,
        buffers,
    })
}

fn input_load(library: &TimingLibrary, cell: usize) -> f32 {
    library.cells[cell].load.iter().copied().fold(0.0, f32::max)
}

/// What can be tried with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Move {
    /// Another size.
    Size(usize),
    /// Two pins that the function does not tell apart change places.
    Swap([usize; 2]),
}

pub(super) struct Work<'a> {
    pub(super) library: &'a TimingLibrary,
    pub(super) shapes: &'a Shapes,
    pub(super) netlist: Netlist,
    boundary: Boundary,
    top: &'a str,
    /// Load of the smallest buffer's input.
    unit: f32,
    rounds: usize,
}

impl Work<'_> {
    fn run(&mut self, fanout: f32) -> Result<f32, NetlistError> {
        for instance in &mut self.netlist.instances {
            let cell = &self.library.cells[instance.cell];
            if cell.kind != Kind::Other {
                instance.cell = self.library.families[cell.family][0];
            }
        }
        self.trees(fanout)?;
        let mut timing = self.analyse()?;
        let mut left = self.rounds;
        loop {
            let before = timing.worst;
            self.faster(&mut timing, &mut left);
            self.split(&mut timing)?;
            while self.bypass(&mut timing)? {}
            self.quicken(&mut timing)?;
            // A thousandth of the longest path is not worth another turn.
            let longest = timing.boundary.period - timing.worst;
            if left == 0 || timing.worst >= 0.0 || timing.worst <= before + 0.001 * longest {
                break;
            }
        }
        self.smaller(&mut timing);
        self.lessen(&mut timing, MOST_LOAD * self.unit)?;
        self.smaller(&mut timing);
        Ok(timing.worst)
    }

    pub(super) fn analyse(&self) -> Result<Timing, NetlistError> {
        Timing::new(&self.netlist, self.library, self.boundary, self.top)
    }

    /// What counts as a difference in time: 0.05 ps.
    pub(super) fn step(&self) -> f32 {
        (0.05 / self.library.ps) as f32
    }

    /// The buffer that is fastest from a driver of moderate strength into that load.
    fn buffer_for(&self, load: f32) -> usize {
        let cost = |cell: usize| {
            let own = self.buffer_delay(cell, load);
            // A load of ten units costs its driver about as much as a buffer of the smallest size.
            own * (1.0 + input_load(self.library, cell) / (10.0 * self.unit))
        };
        let buffers = self.library.buffers.iter().copied();
        buffers.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(self.library.buffers[0])
    }

    /// Delay of a buffer into that load, behind a driver of moderate strength.
    fn buffer_delay(&self, cell: usize, load: f32) -> f32 {
        let slew = self.boundary.slew * 2.0;
        let arcs = self.library.cells[cell].arcs.iter();
        arcs.flat_map(|a| EDGES.map(|e| a.delay[e].at(slew, load))).fold(0.0, f32::max)
    }

    /// Buffer trees for all nets that have more than `fanout` units of load. The sinks that have most time go deepest.
    fn trees(&mut self, fanout: f32) -> Result<(), NetlistError> {
        let most = fanout * self.unit;
        let mut timing = self.analyse()?;
        timing.update(&self.netlist, self.library, most);
        for net in 0..timing.load.len() {
            if !self.netlist.nets[net].clock && self.netlist.nets[net].constant.is_none() {
                self.tree(&timing, net, most);
            }
        }
        Ok(())
    }

    fn tree(&mut self, timing: &Timing, net: usize, most: f32) {
        let load = |n: &Netlist, s: Pin| n.load(self.library, s);
        let mut sinks: Vec<(f32, f32, Pin)> = self.netlist.nets[net]
            .sinks
            .iter()
            .map(|s| (timing.sink_slack(&self.netlist, self.library, net, *s), load(&self.netlist, *s), *s))
            .collect();
        let mut total: f32 = sinks.iter().map(|s| s.1).sum();
        // What has more time than a few buffers take is equal: differences in slack would make chains, and slack shrinks as the
        // worst paths get faster.
        let urgent = sinks.iter().map(|s| s.0).fold(f32::INFINITY, f32::min);
        let spread = 2.5 * self.buffer_delay(self.buffer_for(2.0 * most), 2.0 * most);
        sinks.iter_mut().for_each(|s| s.0 = s.0.min(urgent + spread));
        // Most urgent first; of those that are equally urgent, neighbours together.
        let along = |s: Pin| self.netlist.instances[s.instance].along;
        sinks.sort_by(|a, b| a.0.total_cmp(&b.0).then(along(a.2).cmp(&along(b.2))));
        while total > most && sinks.len() > 2 {
            let per_buffer = 2.0 * most;
            let (mut taken, mut group) = (0.0, Vec::new());
            while let Some(&(slack, load, pin)) = sinks.last() {
                if !group.is_empty() && taken + load > per_buffer {
                    break;
                }
                // Enough is enough: what remains fits the driver.
                let buffer = input_load(self.library, self.buffer_for(taken)) + self.netlist.wire;
                if group.len() > 1 && total - taken + buffer < most {
                    break;
                }
                sinks.pop();
                taken += load;
                group.push((slack, pin));
            }
            let cell = self.buffer_for(taken);
            // The wire to the buffer may weigh more than what it takes over.
            if input_load(self.library, cell) + self.netlist.wire >= taken {
                break;
            }
            let out = self.netlist.add_buffer(self.library, cell, net);
            for (_, pin) in &group {
                self.netlist.move_sink(*pin, out);
            }
            let input = self.netlist.instances.len() - 1;
            self.netlist.instances[input].along = self.netlist.instances[group[0].1.instance].along;
            let pin = self.library.cells[cell].output.iter().position(|o| !o).unwrap_or(0);
            let own = self.buffer_delay(cell, taken);
            let slack = group.iter().map(|g| g.0).fold(f32::INFINITY, f32::min) - own;
            let size = self.netlist.load(self.library, Pin { instance: input, pin });
            total += size - taken;
            let at = sinks.partition_point(|s| s.0 <= slack);
            sinks.insert(at, (slack, size, Pin { instance: input, pin }));
        }
    }

    /// How much the output's slack grows by the move.
    fn gain(&self, timing: &Timing, i: usize, to: Move, urgent: f32) -> f32 {
        let instance = &self.netlist.instances[i];
        let old = &self.library.cells[instance.cell];
        let (to, swapped) = match to {
            Move::Size(to) => (to, [usize::MAX; 2]),
            Move::Swap(pins) => (instance.cell, pins),
        };
        let new = &self.library.cells[to];
        let moved = |pin: usize| match swapped {
            [a, b] if pin == a => b,
            [a, b] if pin == b => a,
            _ => pin,
        };
        let mut penalty = 0.0f32;
        let mut shift = [0.0f32; 8];
        for (pin, net) in instance.nets.iter().enumerate() {
            let Some(net) = net.filter(|_| !old.output[pin] && !old.clock[pin]) else { continue };
            let later = timing.later(&self.netlist, self.library, net, new.load[moved(pin)] - old.load[pin]);
            if pin < shift.len() {
                shift[pin] = later;
            }
            // Others that wait for the same net suffer as well.
            if timing.slack(net) < urgent && self.netlist.nets[net].sinks.len() > 1 {
                penalty = penalty.max(later * 0.5);
            }
            if old.kind == Kind::FlipFlop && timing.slack(net) < urgent {
                penalty = penalty.max(later);
            }
        }
        let mut gain = f32::INFINITY;
        for (pin, net) in instance.nets.iter().enumerate() {
            let Some(net) = net.filter(|_| old.output[pin]) else { continue };
            let mut now = [f32::NEG_INFINITY; 2];
            for arc in new.arcs.iter().filter(|a| a.to == pin) {
                let Some(from) = instance.nets[moved(arc.from)] else { continue };
                let (arrival, _) = timing.through(arc, from, new.kind, timing.load[net]);
                for e in EDGES {
                    now[e] = now[e].max(arrival[e] + shift.get(moved(arc.from)).copied().unwrap_or(0.0));
                }
            }
            let slack =
                EDGES.map(|e| timing.required[net][e] - now[e]).into_iter().fold(f32::INFINITY, f32::min);
            gain = gain.min(slack - timing.slack(net));
        }
        gain - penalty
    }

    /// Makes a move; what takes it back is returned.
    fn apply(&mut self, i: usize, to: Move) -> Move {
        match to {
            Move::Size(to) => Move::Size(std::mem::replace(&mut self.netlist.instances[i].cell, to)),
            Move::Swap(pins) => {
                self.netlist.swap(i, pins);
                to
            }
        }
    }

    /// Makes moves, and times what follows; what takes them back is returned.
    fn apply_all(&mut self, timing: &mut Timing, moves: &[(usize, Move)]) -> Vec<(usize, Move)> {
        let undo = moves.iter().map(|(i, to)| (*i, self.apply(*i, *to))).collect();
        let touched: Vec<usize> = moves.iter().map(|(i, _)| *i).collect();
        timing.change(&self.netlist, self.library, &touched);
        debug_assert!(timing.is_current(&self.netlist, self.library), "times of unchanged cells changed");
        undo
    }

    /// The slack of the instance's slowest output.
    fn slack_of(&self, timing: &Timing, i: usize) -> f32 {
        let instance = &self.netlist.instances[i];
        let output = &self.library.cells[instance.cell].output;
        let nets = instance.nets.iter().enumerate().filter(|(p, _)| output[*p]).filter_map(|(_, n)| *n);
        nets.map(|n| timing.slack(n)).fold(f32::INFINITY, f32::min)
    }

    /// Enlarges (or shrinks, where that helps the cell before) what is on the slowest paths, as long as it helps.
    fn faster(&mut self, timing: &mut Timing, left: &mut usize) {
        let mut share = 0.5f32;
        let mut window = 0.02f32;
        // Single moves that did not hold what they promised; worth another look when something else has changed.
        let mut vain: HashSet<(usize, Move)> = HashSet::new();
        while *left > 0 && timing.worst < 0.0 {
            let longest = timing.boundary.period - timing.worst;
            let urgent = timing.worst + window * longest;
            let mut moves: Vec<(f32, usize, Move)> = Vec::new();
            for i in 0..self.netlist.instances.len() {
                let cell = &self.library.cells[self.netlist.instances[i].cell];
                if cell.kind == Kind::Other || self.slack_of(timing, i) > urgent {
                    continue;
                }
                let family = &self.library.families[cell.family];
                let at = family.iter().position(|c| *c == self.netlist.instances[i].cell).unwrap_or(0);
                let sizes = [at.checked_sub(1), Some(at + 1), Some(at + 2)];
                let sizes =
                    sizes.into_iter().flatten().filter_map(|s| family.get(s)).map(|to| Move::Size(*to));
                let swaps = cell.twin.iter().enumerate().filter(|(pin, twin)| pin != *twin);
                let swaps = swaps.map(|(pin, twin)| Move::Swap([*twin, pin]));
                let best = sizes
                    .chain(swaps)
                    .filter(|to| !vain.contains(&(i, *to)))
                    .map(|to| (self.gain(timing, i, to, urgent), i, to))
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                moves.extend(best.filter(|m| m.0 > self.step()));
            }
            moves.sort_by(|a, b| b.0.total_cmp(&a.0));
            let wanted = ((moves.len() as f32 * share).ceil() as usize).min(moves.len());
            if wanted == 0 {
                break;
            }
            let (worst, total) = (timing.worst, timing.total);
            let chosen: Vec<(usize, Move)> = moves[..wanted].iter().map(|m| (m.1, m.2)).collect();
            let undo = self.apply_all(timing, &chosen);
            *left -= 1;
            let better = timing.worst > worst + self.step()
                || (timing.worst >= worst && timing.total < total * 0.9999);
            if better {
                if wanted > 1 {
                    vain.clear();
                }
                share = (share * 1.5).min(0.5);
                continue;
            }
            self.apply_all(timing, &undo);
            if wanted > 1 {
                share *= 0.3;
            } else if vain.len() < 40 {
                vain.insert((moves[0].1, moves[0].2));
            } else if window > 0.003 {
                window *= 0.3;
                share = 0.5;
                vain.clear();
            } else {
                break;
            }
        }
    }

    /// Connects urgent sinks of a buffer to what is before it, where that is faster. Whether anything was gained.
    fn bypass(&mut self, timing: &mut Timing) -> Result<bool, NetlistError> {
        let longest = timing.boundary.period - timing.worst;
        let urgent = timing.worst + 0.01 * longest;
        let saved = self.netlist.clone();
        let mut touched: HashSet<usize> = HashSet::new();
        for i in 0..saved.instances.len() {
            let instance = &saved.instances[i];
            if !instance.name.is_empty() {
                continue;
            }
            let cell = &self.library.cells[instance.cell];
            let pin = |out: bool| cell.output.iter().position(|o| *o == out).and_then(|p| instance.nets[p]);
            let (Some(from), Some(to)) = (pin(false), pin(true)) else { continue };
            if timing.slack(to) > urgent || touched.contains(&from) || touched.contains(&to) {
                continue;
            }
            let slacks =
                saved.nets[to].sinks.iter().map(|s| (timing.sink_slack(&saved, self.library, to, *s), *s));
            let Some((_, sink)) = slacks.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let load = saved.load(self.library, sink);
            let own = EDGES
                .map(|e| timing.arrival[to][e] - timing.arrival[from][e])
                .into_iter()
                .fold(0.0, f32::max);
            if own - timing.later(&saved, self.library, from, load) > self.step() * 4.0 {
                self.netlist.move_sink(sink, from);
                touched.extend([from, to]);
            }
        }
        self.keep_if_better(timing, saved, !touched.is_empty())
    }

    fn keep_if_better(
        &mut self,
        timing: &mut Timing,
        saved: Netlist,
        done: bool,
    ) -> Result<bool, NetlistError> {
        if !done {
            return Ok(false);
        }
        let now = self.analyse()?;
        let better = now.worst > timing.worst || (now.worst == timing.worst && now.total < timing.total);
        if better {
            *timing = now;
        } else {
            self.netlist = saved;
        }
        Ok(better)
    }

    /// Takes sinks that have time off nets that have none.
    fn split(&mut self, timing: &mut Timing) -> Result<(), NetlistError> {
        let longest = timing.boundary.period - timing.worst;
        let urgent = timing.worst + 0.01 * longest;
        let saved = self.netlist.clone();
        let mut done = false;
        for net in 0..timing.load.len() {
            if timing.slack(net) > urgent
                || self.netlist.nets[net].clock
                || self.netlist.nets[net].sinks.len() < 2
            {
                continue;
            }
            // Not behind a net that this pass made: it has no times yet.
            let behind = saved.nets[net].driver.map(|d| &self.netlist.instances[d.instance].nets);
            if behind.is_some_and(|nets| nets.iter().flatten().any(|n| *n >= timing.load.len())) {
                continue;
            }
            let mut moved: Vec<Pin> = Vec::new();
            let mut taken = 0.0;
            for sink in self.netlist.nets[net].sinks.clone() {
                let slack = timing.sink_slack(&self.netlist, self.library, net, sink);
                if slack > timing.worst + 0.12 * longest {
                    taken += self.netlist.load(self.library, sink);
                    moved.push(sink);
                }
            }
            let cell = self.buffer_for(taken);
            let less = input_load(self.library, cell) + self.netlist.wire - taken;
            if moved.is_empty() || less >= 0.0 {
                continue;
            }
            if -timing.later(&self.netlist, self.library, net, less) < self.step() * 4.0 {
                continue;
            }
            let out = self.netlist.add_buffer(self.library, cell, net);
            for pin in moved {
                self.netlist.move_sink(pin, out);
            }
            done = true;
        }
        self.keep_if_better(timing, saved, done).map(|_| ())
    }

    /// Makes smaller what has time for it.
    fn smaller(&mut self, timing: &mut Timing) {
        let floor = timing.worst.min(0.0);
        for margin in [0.3f32, 0.1, 0.03] {
            let longest = timing.boundary.period - timing.worst;
            let mut share = 1.0f32;
            for _ in 0..20 {
                let mut moves: Vec<(f32, usize, Move)> = Vec::new();
                for i in 0..self.netlist.instances.len() {
                    let current = self.netlist.instances[i].cell;
                    let cell = &self.library.cells[current];
                    if cell.kind == Kind::Other {
                        continue;
                    }
                    let family = &self.library.families[cell.family];
                    let Some(at) = family.iter().position(|c| *c == current).filter(|at| *at > 0) else {
                        continue;
                    };
                    let slack = self.slack_of(timing, i) - floor;
                    if slack < margin * longest {
                        continue;
                    }
                    let to = family[at - 1];
                    let gain = self.gain(timing, i, Move::Size(to), f32::NEG_INFINITY);
                    if slack + 2.0 * gain > 0.5 * margin * longest {
                        moves.push((slack + gain, i, Move::Size(to)));
                    }
                }
                moves.sort_by(|a, b| b.0.total_cmp(&a.0));
                let wanted = (moves.len() as f32 * share) as usize;
                if wanted == 0 {
                    break;
                }
                let chosen: Vec<(usize, Move)> = moves[..wanted].iter().map(|m| (m.1, m.2)).collect();
                let undo = self.apply_all(timing, &chosen);
                if timing.worst < floor {
                    self.apply_all(timing, &undo);
                    share *= 0.4;
                }
            }
        }
    }
}

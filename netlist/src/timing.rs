//! Static timing of a netlist: arrival, slew and required time of each net, for rising and falling edges.

use super::graph::{Netlist, NetlistError, Pin};
use super::library::{Arc, EDGES, FALL, Kind, RISE, Sense, TimingLibrary};

/// What surrounds the design, in the library's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boundary {
    pub(crate) period: f32,
    /// The cell before each input port; its own input changes at time 0.
    pub(crate) driver: Option<usize>,
    /// Slew there, and of the clock.
    pub(crate) slew: f32,
    /// Load of each output port.
    pub(crate) load: f32,
}

impl Boundary {
    fn load_of(&self, netlist: &Netlist, library: &TimingLibrary, net: usize) -> f32 {
        let net = &netlist.nets[net];
        let pins = net.sinks.iter().map(|pin| netlist.load(library, *pin));
        pins.sum::<f32>() + if net.output { self.load } else { 0.0 }
    }
}

/// Times of each net.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) boundary: Boundary,
    /// Instances, each behind those that it depends on.
    order: Vec<usize>,
    /// Where each instance is in `order`.
    position: Vec<usize>,
    pub(crate) load: Vec<f32>,
    pub(crate) arrival: Vec<[f32; 2]>,
    pub(crate) slew: Vec<[f32; 2]>,
    pub(crate) required: Vec<[f32; 2]>,
    /// The smallest slack.
    pub(crate) worst: f32,
    /// Sum over nets of what slack lacks to 0, for comparing two results of equal `worst`.
    pub(crate) total: f64,
}

/// Instances in the order of the data; fails on a loop.
pub(crate) fn levelize(
    netlist: &Netlist,
    library: &TimingLibrary,
    top: &str,
) -> Result<Vec<usize>, NetlistError> {
    let kind = |i: usize| library.cells[netlist.instances[i].cell].kind;
    let mut waits: Vec<usize> = vec![0; netlist.instances.len()];
    for net in &netlist.nets {
        if net.driver.is_some_and(|d| kind(d.instance) == Kind::Logic) {
            net.sinks.iter().for_each(|s| waits[s.instance] += 1);
        }
    }
    let all = 0..waits.len();
    let mut order: Vec<usize> = all.clone().filter(|i| kind(*i) != Kind::Logic).collect();
    order.extend(all.filter(|i| kind(*i) == Kind::Logic && waits[*i] == 0));
    let mut at = 0;
    while at < order.len() {
        let instance = order[at];
        at += 1;
        if kind(instance) != Kind::Logic {
            continue;
        }
        let cell = &library.cells[netlist.instances[instance].cell];
        for (pin, net) in netlist.instances[instance].nets.iter().enumerate() {
            let Some(net) = net.filter(|_| cell.output[pin]) else { continue };
            for sink in &netlist.nets[net].sinks {
                if kind(sink.instance) == Kind::Logic {
                    waits[sink.instance] -= 1;
                    if waits[sink.instance] == 0 {
                        order.push(sink.instance);
                    }
                }
            }
        }
    }
    match (0..waits.len()).find(|i| kind(*i) == Kind::Logic && waits[*i] > 0) {
        Some(cell) => Err(NetlistError::Loop { top: top.into(), cell: netlist.instances[cell].name.clone() }),
        None => Ok(order),
    }
}

impl Timing {
    pub(crate) fn new(
        netlist: &Netlist,
        library: &TimingLibrary,
        boundary: Boundary,
        top: &str,
    ) -> Result<Self, NetlistError> {
        let order = levelize(netlist, library, top)?;
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, i)| position[*i] = at);
        let mut timing = Self {
            boundary,
            order,
            position,
            load: Vec::new(),
            arrival: Vec::new(),
            slew: Vec::new(),
            required: Vec::new(),
            worst: 0.0,
            total: 0.0,
        };
        timing.update(netlist, library, f32::INFINITY);
        Ok(timing)
    }

    /// All times anew; no net counts for more than `most` load, as if it were buffered. The structure is the one of [`Timing::new`].
    pub(crate) fn update(&mut self, netlist: &Netlist, library: &TimingLibrary, most: f32) {
        let nets = netlist.nets.len();
        self.load.clear();
        self.load.extend((0..nets).map(|n| self.boundary.load_of(netlist, library, n).min(most)));
        self.arrival.clear();
        self.arrival.resize(nets, [f32::NEG_INFINITY; 2]);
        self.slew.clear();
        self.slew.resize(nets, [0.0; 2]);
        for n in 0..nets {
            self.enter(netlist, library, n);
        }
        for at in 0..self.order.len() {
            self.pass(netlist, library, self.order[at]);
        }
        self.required.clear();
        self.required.resize(nets, [f32::INFINITY; 2]);
        for at in (0..self.order.len()).rev() {
            let instance = &netlist.instances[self.order[at]];
            let cell = &library.cells[instance.cell];
            for (_, net) in instance.nets.iter().enumerate().filter(|(p, _)| cell.output[*p]) {
                let Some(net) = *net else { continue };
                self.required[net] = self.require(netlist, library, net);
            }
        }
        for n in (0..nets).filter(|n| netlist.nets[*n].driver.is_none()) {
            self.required[n] = self.require(netlist, library, n);
        }
        self.summarize(netlist, library);
    }

    /// The times as [`Timing::update`] makes them without a limit on loads, where they are so already but for what follows from these
    /// instances: their cells, or which of their pins is on which net, are others.
    pub(crate) fn change(&mut self, netlist: &Netlist, library: &TimingLibrary, instances: &[usize]) {
        let mut late = vec![false; self.order.len()];
        let mut first = self.order.len();
        let mut due: Vec<bool> = vec![false; netlist.nets.len()];
        for &i in instances {
            late[self.position[i]] = true;
            first = first.min(self.position[i]);
            for net in netlist.instances[i].nets.iter().flatten().copied() {
                due[net] = true;
                let load = self.boundary.load_of(netlist, library, net);
                if load == self.load[net] {
                    continue;
                }
                self.load[net] = load;
                match netlist.nets[net].driver {
                    Some(driver) => {
                        late[self.position[driver.instance]] = true;
                        first = first.min(self.position[driver.instance]);
                    }
                    None => {
                        self.enter(netlist, library, net);
                        for sink in &netlist.nets[net].sinks {
                            late[self.position[sink.instance]] = true;
                            first = first.min(self.position[sink.instance]);
                        }
                    }
                }
            }
        }
        for at in first..self.order.len() {
            if !late[at] {
                continue;
            }
            let i = self.order[at];
            let cell = &library.cells[netlist.instances[i].cell];
            let outputs = netlist.instances[i].nets.iter().enumerate().filter(|(p, _)| cell.output[*p]);
            let outputs: Vec<(usize, [f32; 2], [f32; 2])> =
                outputs.filter_map(|(_, n)| Some(((*n)?, self.arrival[(*n)?], self.slew[(*n)?]))).collect();
            self.pass(netlist, library, i);
            netlist.instances[i].nets.iter().flatten().for_each(|n| due[*n] = true);
            for (net, arrival, slew) in outputs {
                if arrival != self.arrival[net] || slew != self.slew[net] {
                    due[net] = true;
                    for sink in &netlist.nets[net].sinks {
                        late[self.position[sink.instance]] |=
                            library.cells[netlist.instances[sink.instance].cell].kind == Kind::Logic;
                    }
                }
            }
        }
        // Nets behind cells that come late in the order first; those of flip-flops and ports last.
        for at in (0..self.order.len()).rev() {
            let instance = &netlist.instances[self.order[at]];
            let cell = &library.cells[instance.cell];
            for (_, net) in instance.nets.iter().enumerate().filter(|(p, _)| cell.output[*p]) {
                let Some(net) = net.filter(|n| due[*n]) else { continue };
                let required = self.require(netlist, library, net);
                if required != self.required[net] {
                    self.required[net] = required;
                    if cell.kind == Kind::Logic {
                        instance.nets.iter().flatten().for_each(|n| due[*n] = true);
                    }
                }
            }
        }
        for n in (0..due.len()).filter(|n| due[*n] && netlist.nets[*n].driver.is_none()) {
            self.required[n] = self.require(netlist, library, n);
        }
        self.summarize(netlist, library);
    }

    /// Whether the times are those of the netlist, as [`Timing::new`] makes them.
    pub(crate) fn is_current(&self, netlist: &Netlist, library: &TimingLibrary) -> bool {
        let mut anew = self.clone();
        anew.update(netlist, library, f32::INFINITY);
        let times = |t: &Self| (t.load.clone(), t.arrival.clone(), t.slew.clone(), t.required.clone());
        times(&anew) == times(self) && anew.worst == self.worst
    }

    /// Times of a net that no instance drives.
    fn enter(&mut self, netlist: &Netlist, library: &TimingLibrary, n: usize) {
        let net = &netlist.nets[n];
        if net.driver.is_some() || net.clock || net.constant.is_some() {
            return;
        }
        self.arrival[n] = [0.0; 2];
        self.slew[n] = [self.boundary.slew; 2];
        for arc in self.boundary.driver.iter().flat_map(|driver| &library.cells[*driver].arcs) {
            for e in EDGES {
                self.arrival[n][e] = arc.delay[e].at(self.boundary.slew, self.load[n]);
                self.slew[n][e] = arc.slew[e].at(self.boundary.slew, self.load[n]);
            }
        }
    }

    /// Arrival and slew at the outputs of an instance.
    fn pass(&mut self, netlist: &Netlist, library: &TimingLibrary, i: usize) {
        let instance = &netlist.instances[i];
        let cell = &library.cells[instance.cell];
        for (_, net) in instance.nets.iter().enumerate().filter(|(p, _)| cell.output[*p]) {
            let Some(net) = *net else { continue };
            self.arrival[net] = [f32::NEG_INFINITY; 2];
            self.slew[net] = [0.0; 2];
        }
        for arc in &cell.arcs {
            let (Some(from), Some(to)) = (instance.nets[arc.from], instance.nets[arc.to]) else {
                continue;
            };
            let (arrival, slew) = self.through(arc, from, cell.kind, self.load[to]);
            for e in EDGES {
                self.arrival[to][e] = self.arrival[to][e].max(arrival[e]);
                self.slew[to][e] = self.slew[to][e].max(slew[e]);
            }
        }
    }

    /// When a net must be there, from the nets behind it.
    fn require(&self, netlist: &Netlist, library: &TimingLibrary, n: usize) -> [f32; 2] {
        let period = self.boundary.period;
        let net = &netlist.nets[n];
        let mut required = [if net.output { period } else { f32::INFINITY }; 2];
        for sink in &net.sinks {
            let instance = &netlist.instances[sink.instance];
            let cell = &library.cells[instance.cell];
            if cell.kind.is_clocked() {
                let Some(setup) = &cell.setup[sink.pin] else { continue };
                for e in EDGES {
                    required[e] = required[e].min(period - setup[e].at(self.boundary.slew, self.slew[n][e]));
                }
                continue;
            }
            for arc in cell.arcs.iter().filter(|arc| arc.from == sink.pin) {
                let Some(to) = instance.nets[arc.to] else { continue };
                for fe in EDGES {
                    for te in EDGES {
                        if arc.sense.causes(fe, te) {
                            let delay = arc.delay[te].at(self.slew[n][fe], self.load[to]);
                            required[fe] = required[fe].min(self.required[to][te] - delay);
                        }
                    }
                }
            }
        }
        required
    }

    /// The smallest slack, and what all lack.
    fn summarize(&mut self, netlist: &Netlist, library: &TimingLibrary) {
        self.worst = f32::INFINITY;
        self.total = 0.0;
        for (n, net) in netlist.nets.iter().enumerate() {
            let slack = self.slack(n);
            self.worst = self.worst.min(slack);
            let ends = net.output
                || net
                    .sinks
                    .iter()
                    .any(|s| library.cells[netlist.instances[s.instance].cell].kind.is_clocked());
            if ends && slack < 0.0 {
                self.total -= f64::from(slack);
            }
        }
    }

    /// Arrival and slew behind `arc` when its output has that load.
    pub(crate) fn through(&self, arc: &Arc, from: usize, kind: Kind, load: f32) -> ([f32; 2], [f32; 2]) {
        let (mut arrival, mut slew) = ([f32::NEG_INFINITY; 2], [0.0f32; 2]);
        for te in EDGES {
            if kind == Kind::FlipFlop {
                arrival[te] = arc.delay[te].at(self.boundary.slew, load);
                slew[te] = arc.slew[te].at(self.boundary.slew, load);
                continue;
            }
            for fe in EDGES {
                if arc.sense.causes(fe, te) && self.arrival[from][fe] > f32::NEG_INFINITY {
                    arrival[te] =
                        arrival[te].max(self.arrival[from][fe] + arc.delay[te].at(self.slew[from][fe], load));
                    slew[te] = slew[te].max(arc.slew[te].at(self.slew[from][fe], load));
                }
            }
        }
        (arrival, slew)
    }

    /// The smaller slack of a net's two edges; infinite where nothing waits for it, or nothing arrives.
    pub(crate) fn slack(&self, net: usize) -> f32 {
        let slack = |e: usize| {
            let s = self.required[net][e] - self.arrival[net][e];
            if s.is_nan() { f32::INFINITY } else { s }
        };
        slack(RISE).min(slack(FALL))
    }

    /// Slack of the path that goes on through this sink.
    pub(crate) fn sink_slack(
        &self,
        netlist: &Netlist,
        library: &TimingLibrary,
        net: usize,
        sink: Pin,
    ) -> f32 {
        let instance = &netlist.instances[sink.instance];
        let cell = &library.cells[instance.cell];
        let mut slack = f32::INFINITY;
        if let Some(setup) = &cell.setup[sink.pin] {
            for e in EDGES {
                let required = self.boundary.period - setup[e].at(self.boundary.slew, self.slew[net][e]);
                slack = slack.min(required - self.arrival[net][e]);
            }
        }
        for arc in cell.arcs.iter().filter(|arc| arc.from == sink.pin && cell.kind == Kind::Logic) {
            let Some(to) = instance.nets[arc.to] else { continue };
            for fe in EDGES {
                for te in EDGES {
                    if arc.sense.causes(fe, te) {
                        let delay = arc.delay[te].at(self.slew[net][fe], self.load[to]);
                        slack = slack.min(self.required[to][te] - delay - self.arrival[net][fe]);
                    }
                }
            }
        }
        slack
    }

    /// How much later the net's driver is with `more` load: the later edge.
    pub(crate) fn later(&self, netlist: &Netlist, library: &TimingLibrary, net: usize, more: f32) -> f32 {
        let (cell, from) = match netlist.nets[net].driver {
            Some(driver) => {
                let instance = &netlist.instances[driver.instance];
                (&library.cells[instance.cell], Some((instance, driver.pin)))
            }
            None => match self.boundary.driver {
                Some(driver) => (&library.cells[driver], None),
                None => return 0.0,
            },
        };
        let mut later = 0.0f32;
        for arc in &cell.arcs {
            if from.is_some_and(|(_, pin)| pin != arc.to) {
                continue;
            }
            for te in EDGES {
                let slew = match from.and_then(|(instance, _)| instance.nets[arc.from]) {
                    Some(n) if cell.kind == Kind::Logic => {
                        self.slew[n][if arc.sense == Sense::Negative { 1 - te } else { te }]
                    }
                    _ => self.boundary.slew,
                };
                let d =
                    arc.delay[te].at(slew, self.load[net] + more) - arc.delay[te].at(slew, self.load[net]);
                if d.abs() > later.abs() {
                    later = d;
                }
            }
        }
        later
    }
}

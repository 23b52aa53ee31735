//! Energy of the front end while it works on a real stream: its netlist runs beside its golden model, and what changes is paid for.
//!
//! The netlist's outputs are compared with the model's in every cycle, so that the energy is that of hardware that does the right
//! thing. It is an estimate before layout: no wires, no clock tree, no glitches.

use crate::engine::EngineError;
use crate::policy::{FlatEngine, FrontEndEngine, Policy, Stream};
use crate::run::{CoSimulation, RunError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use windlass_gen::netlist::{Gates, Power};
use windlass_rtl::catalog::BlockSpec;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::{Direction, Layout, Port, Slot};

/// Cycles that are taken together when energy is attributed to events: what an event causes is over in so many.
const CHUNK: usize = 32;

/// Kinds of events.
const EVENTS: usize = 4;

/// What energy is explained with: cycles, events, and the CTAs that run. The entries of the SM array go round, so that what changes in a cycle
/// is also what makes one SM's entry different from the next one's.
const CAUSES: usize = EVENTS + 2;

/// Events explain too little below this; then what one costs is not said.
const ENOUGH: f64 = 0.5;

/// What an event is: transfers on channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A kernel is taken from the host.
    Insert,
    /// A CTA is given to an SM.
    Place,
    /// A CTA ends.
    End,
    /// A kernel retires.
    Retire,
}

impl Event {
    const ALL: [Self; EVENTS] = [Self::Insert, Self::Place, Self::End, Self::Retire];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Place => "CTA placed",
            Self::End => "CTA ended",
            Self::Retire => "retire",
        }
    }
}

/// What was measured. Energies in picojoules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyReport {
    /// Cycles in which the netlist ran, from the start of the stream. Cycles over which the co-simulation jumps, because nothing happens in them,
    /// are not among them and cost `idle_pj` each.
    pub cycles: u64,
    /// Mean over those cycles, the clock's part included, leakage not.
    pub mean_pj: f64,
    /// A cycle in which nothing changes: the clock pins of all flip-flops. There is no clock gating.
    pub idle_pj: f64,
    /// Leakage in microwatts.
    pub leakage_uw: f64,
    /// Flip-flops of the netlist.
    pub flip_flops: u64,
    /// Energy of one event beyond that of an idle cycle.
    pub events: Vec<EventEnergy>,
    /// How much of the variation over time these events explain, 0 to 1.
    pub explained: f64,
}

/// One kind of event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventEnergy {
    /// The event.
    pub event: Event,
    /// How often it was.
    pub count: u64,
    /// Energy of one; none where the stream does not tell it from others.
    pub pj: Option<f64>,
}

impl EnergyReport {
    /// Power in milliwatts at that clock, while the front end works as it did in the measured cycles.
    pub fn mw(&self, ghz: f64) -> f64 {
        self.mean_pj * ghz + self.leakage_uw / 1e3
    }
}

#[derive(Debug, Default)]
struct Log {
    /// Energy in femtojoules and events of each cycle.
    cycles: Vec<(f64, [u32; EVENTS])>,
}

/// Reads what an [`EnergyMeter`] has seen, also after it has gone.
#[derive(Clone, Debug)]
pub struct EnergyReader {
    log: Arc<Mutex<Log>>,
    power: Power,
}

/// A front end that is its golden model, with its netlist beside it for so many cycles.
pub struct EnergyMeter {
    golden: Box<dyn CycleModel>,
    gates: Gates,
    inputs: Layout,
    outputs: Layout,
    reset: Option<Slot>,
    reset_seen: bool,
    limit: u64,
    cycle: u64,
    log: Arc<Mutex<Log>>,
}

fn bits(slot: Slot, words: &[u32]) -> impl Iterator<Item = bool> + '_ {
    let words = slot.slice(words);
    (0..slot.width as usize).map(move |bit| words[bit / 32] >> (bit % 32) & 1 == 1)
}

impl EnergyMeter {
    /// `gates` must be the netlist of the block that `golden` models. At most `limit` cycles are measured.
    pub fn new(golden: Box<dyn CycleModel>, gates: Gates, limit: u64) -> (Self, EnergyReader) {
        let ports = golden.ports();
        let (inputs, outputs) =
            (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output));
        let log = Arc::new(Mutex::new(Log::default()));
        let reader = EnergyReader { log: Arc::clone(&log), power: gates.power() };
        let reset = inputs.slot("rst_ni");
        let reset_seen = reset.is_none();
        (Self { golden, gates, inputs, outputs, reset, reset_seen, limit, cycle: 0, log }, reader)
    }

    fn measure(&mut self, inputs: &[u32], outputs: &[u32]) -> Result<(), CycleError> {
        for (name, slot) in self.inputs.iter() {
            self.gates.set(name, bits(slot, inputs));
        }
        self.gates.settle();
        let energy = self.gates.energy_fj();
        if self.reset_seen {
            for (name, slot) in self.outputs.iter() {
                let Some(netlist) = self.gates.get(name) else { continue };
                if netlist.iter().copied().ne(bits(slot, outputs)) {
                    let message = format!(
                        "`{name}` of the netlist differs from the golden model's {}",
                        slot.hex(outputs)
                    );
                    return Err(CycleError { cycle: self.cycle, message });
                }
            }
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.cycles.push((energy, self.events(inputs, outputs)));
        }
        self.reset_seen |= self.reset.is_some_and(|slot| slot.get(inputs) == 0);
        self.gates.clock();
        Ok(())
    }

    fn events(&self, inputs: &[u32], outputs: &[u32]) -> [u32; EVENTS] {
        let high = |name: &str| {
            let read = |layout: &Layout, words: &[u32]| layout.slot(name).map(|slot| slot.get(words) != 0);
            read(&self.inputs, inputs).or_else(|| read(&self.outputs, outputs))
        };
        let all = |names: &[String]| names.iter().all(|n| high(n) == Some(true));
        let count = |most: usize, names: &dyn Fn(usize) -> Vec<String>| {
            (0..most).filter(|i| all(&names(*i))).count() as u32
        };
        // Masks come in one beat, without a port that says so.
        let last = high("host_last_i").unwrap_or(true);
        let insert = last && all(&["host_valid_i", "host_ready_o"].map(String::from));
        let place = count(2, &|i| vec![format!("cta_valid_{i}_o"), format!("cta_ready_{i}_i")]);
        let end = count(4, &|i| vec![format!("done_valid_{i}_i"), format!("done_ready_{i}_o")]);
        let retire = count(4, &|i| vec![format!("ret_valid_{i}_o")]);
        [u32::from(insert), place, end, retire]
    }
}

impl CycleModel for EnergyMeter {
    fn ports(&self) -> Vec<Port> {
        self.golden.ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        self.golden.cycle(inputs, outputs)?;
        if self.cycle < self.limit {
            self.measure(inputs, outputs)?;
        }
        self.cycle += 1;
        Ok(())
    }
}

/// Runs the policy `window` on `stream` with these gates, the netlist of the front end that the simulation asks for, and measures its first
/// `limit` cycles.
///
/// # Errors
/// Those of the co-simulation, and a netlist that does not do what its golden model does ([`RunError::is_wrong`]).
pub fn measure(
    simulation: &CoSimulation,
    stream: &Stream,
    gates: &Gates,
    limit: u64,
) -> Result<Option<EnergyReport>, RunError> {
    let mut simulation = simulation.clone();
    simulation.policies = vec![Policy::Window];
    simulation.arbiters.truncate(1);
    let mut reader = None;
    simulation.run(stream, |params| {
        let golden = BlockSpec::FrontEnd(params).model();
        let (meter, read) = EnergyMeter::new(golden, gates.clone(), limit);
        reader = Some(read);
        let engine = FlatEngine::new("netlist beside its golden model", params, Box::new(meter));
        engine.map(|engine| Box::new(engine) as Box<dyn FrontEndEngine>).map_err(EngineError::Ports)
    })?;
    Ok(reader.and_then(|reader| reader.report()))
}

impl EnergyReader {
    /// What was measured up to now; none where nothing was.
    pub fn report(&self) -> Option<EnergyReport> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.cycles.is_empty() {
            return None;
        }
        let total: f64 = log.cycles.iter().map(|c| c.0).sum();
        let counts = Event::ALL.map(|e| log.cycles.iter().map(|c| u64::from(c.1[e as usize])).sum::<u64>());
        let mut running = 0i64;
        let mut rows: Vec<([f64; CAUSES], f64)> = Vec::new();
        for chunk in log.cycles.chunks_exact(CHUNK.min(log.cycles.len())) {
            let mut causes = [0.0; CAUSES];
            let mut energy = 0.0;
            for (fj, events) in chunk {
                energy += fj;
                running += i64::from(events[Event::Place as usize]) - i64::from(events[Event::End as usize]);
                causes[0] += 1.0;
                for (at, count) in events.iter().enumerate() {
                    causes[at + 1] += f64::from(*count);
                }
                causes[CAUSES - 1] += running as f64;
            }
            rows.push((causes, energy));
        }
        let used: [bool; CAUSES] = std::array::from_fn(|i| rows.iter().any(|r| r.0[i] != 0.0));
        let solved = least_squares(&rows, used);
        let mean = rows.iter().map(|r| r.1).sum::<f64>() / rows.len() as f64;
        let spread: f64 = rows.iter().map(|r| (r.1 - mean).powi(2)).sum();
        let rest: f64 = rows
            .iter()
            .map(|(x, y)| {
                solved.map_or(0.0, |s| (y - x.iter().zip(s).map(|(x, s)| x * s).sum::<f64>()).powi(2))
            })
            .sum();
        let pico = |femto: f64| (femto / 1e3 * 1e4).round() / 1e4;
        let explained = match solved {
            Some(_) if spread > 0.0 => ((1.0 - rest / spread) * 1e4).round() / 1e4,
            _ => 0.0,
        };
        // A negative price is no price: the events are not told apart.
        let price = |at: usize| {
            solved.map(|s| s[at + 1]).filter(|fj| used[at + 1] && explained >= ENOUGH && *fj > 0.0).map(pico)
        };
        Some(EnergyReport {
            cycles: log.cycles.len() as u64,
            mean_pj: pico(total / log.cycles.len() as f64 + self.power.clock_fj),
            idle_pj: pico(self.power.clock_fj),
            leakage_uw: pico(self.power.leakage_nw),
            flip_flops: self.power.flip_flops as u64,
            events: Event::ALL
                .into_iter()
                .map(|event| {
                    let at = event as usize;
                    EventEnergy { event, count: counts[at], pj: price(at) }
                })
                .collect(),
            explained,
        })
    }
}

/// The coefficients with the smallest squared error, 0 where one is not `used`; none where the rows do not determine them.
fn least_squares<const N: usize>(rows: &[([f64; N], f64)], used: [bool; N]) -> Option<[f64; N]> {
    let mut m = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (x, y) in rows {
        for i in 0..N {
            for j in 0..N {
                m[i][j] += x[i] * x[j];
            }
            right[i] += x[i] * y;
        }
    }
    for i in (0..N).filter(|i| !used[*i]) {
        m[i][i] = 1.0;
    }
    for i in 0..N {
        let pivot = (i..N).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs()))?;
        m.swap(i, pivot);
        right.swap(i, pivot);
        let scale = m[i].iter().map(|v| v.abs()).fold(0.0, f64::max);
        if m[i][i].abs() <= 1e-9 * scale || m[i][i] == 0.0 {
            return None;
        }
        let (row, value) = (m[i], right[i]);
        for r in (0..N).filter(|r| *r != i) {
            let factor = m[r][i] / row[i];
            for (cell, from) in m[r].iter_mut().zip(row) {
                *cell -= factor * from;
            }
            right[r] -= factor * value;
        }
    }
    Some(std::array::from_fn(|i| right[i] / m[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_come_back() {
        let rows: Vec<([f64; 4], f64)> = (0..20)
            .map(|i| {
                let x = [32.0, f64::from(i % 3), f64::from(i % 5), f64::from(i % 7)];
                (x, 2.0 * x[0] + 30.0 * x[1] + 5.0 * x[2] + 11.0 * x[3])
            })
            .collect();
        let solved = least_squares(&rows, [true; 4]).unwrap();
        for (got, wanted) in solved.iter().zip([2.0, 30.0, 5.0, 11.0]) {
            assert!((got - wanted).abs() < 1e-6, "{solved:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_told() {
        let rows: Vec<([f64; 4], f64)> =
            (0..9).map(|i| ([32.0, f64::from(i), f64::from(i), 0.0], f64::from(i))).collect();
        assert_eq!(least_squares(&rows, [true, true, true, false]), None);
        assert!(least_squares(&rows, [true, true, false, false]).is_some());
    }
}

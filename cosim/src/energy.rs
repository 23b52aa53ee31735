//! Energy of the front end while it works on a real stream: its netlist runs beside its golden model, and what changes is paid for.
//!
//! The netlist's outputs are compared with the model's in every cycle, so that the energy is that of hardware that does the right
//! thing. It is an estimate before layout: no wires, no clock tree, no glitches.
//!
//! What an event costs is looked for in each block of the RTL by itself: the SM array's entries go round in every cycle, and beside what that
//! takes the rest would not be seen.

use crate::engine::EngineError;
use crate::policy::{FlatEngine, FrontEndEngine, Policy, Stream};
use crate::run::{CoSimulation, RunError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use windlass_catalog::BlockSpec;
use windlass_netlist::{Block, Gates, Power};
use windlass_rtl::front_end::MAX_CTA_PORTS;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::{Direction, Layout, Port, Slot};

/// Cycles that are taken together when energy is attributed to events: what an event causes is over in so many, and the SM array, three
/// entries to a lane, has gone round a whole number of times.
const CHUNK: usize = 48;

/// Kinds of events.
const EVENTS: usize = 4;

/// What energy is explained with: cycles, events, and the CTAs that run. The entries of the SM array go round, so that what changes in a cycle
/// is also what makes one SM's entry different from the next one's.
const CAUSES: usize = EVENTS + 2;

/// An event's price in a block counts from so many standard errors on.
const SIGNIFICANT: f64 = 3.0;

/// A price is told while its standard error is at most this part of it.
const SURE: f64 = 0.5;

/// Of fewer events no price is told: they are too much alike.
const FEWEST: f64 = 30.0;

/// Parts of the run, one after the other, each of which is left out once to see how much a price depends on it.
const PARTS: usize = 10;

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
    /// Cycles in which the netlist ran, from the start of the stream. Cycles over which the co-simulation jumps are not among them. They have no
    /// event, and cost what such a cycle does: `waiting_pj` or `empty_pj` each.
    pub cycles: u64,
    /// Mean over those cycles, the clock's part included, leakage not.
    pub mean_pj: f64,
    /// Mean over the cycles without an event while CTAs run: the SM array's entries go round. None where there were none.
    pub waiting_pj: Option<f64>,
    /// Mean over the cycles without an event while no CTA runs.
    pub empty_pj: Option<f64>,
    /// The clock pins of all flip-flops and clock gates alone, on average. Without clock gates it is the same in every cycle, and no cycle
    /// costs as little.
    pub clock_pj: f64,
    /// Leakage in microwatts.
    pub leakage_uw: f64,
    /// Flip-flops of the netlist.
    pub flip_flops: u64,
    /// Clock gates of the netlist.
    pub clock_gates: u64,
    /// Those of the flip-flops that are behind clock gates.
    pub gated: u64,
    /// The share of all flip-flops that the clock reached, 0 to 1; 1 without clock gates.
    pub clocked: f64,
    /// Energy of one event beyond that of a cycle without.
    pub events: Vec<EventEnergy>,
    /// There were too few cycles to tell events apart.
    pub too_few_cycles: bool,
    /// How much of the variation of all energy over time these events explain, 0 to 1.
    pub explained: f64,
    /// Energy of each block; they add up to the mean. The largest comes first.
    pub blocks: Vec<BlockEnergy>,
}

/// What one block of the RTL takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockEnergy {
    /// Its name: [`Block::name`].
    pub block: String,
    /// Mean energy of a cycle, the clock's part included.
    pub pj: f64,
    /// The clock's part, on average.
    pub clock_pj: f64,
    /// Its flip-flops.
    pub flip_flops: u64,
}

/// One kind of event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventEnergy {
    /// The event.
    pub event: Event,
    /// How often it was.
    pub count: u64,
    /// Energy of one in `blocks`; none where the stream does not tell it from others, or not surely enough.
    pub pj: Option<f64>,
    /// Standard error of `pj`.
    pub pj_error: Option<f64>,
    /// Where the event is seen. What it takes in other blocks is less than what else goes on there lets see, and is not counted.
    pub blocks: Vec<String>,
}

impl EnergyReport {
    /// Power in milliwatts at that clock, while the front end works as it did in the measured cycles.
    pub fn mw(&self, ghz: f64) -> f64 {
        self.mean_pj * ghz + self.leakage_uw / 1e3
    }
}

#[derive(Debug, Default)]
struct Log {
    /// Energy in femtojoules of each block in each cycle, block by block, beyond what the clock takes before any clock gate.
    energy: Vec<f64>,
    /// The clock's part behind clock gates, of each block in all cycles.
    gated_fj: Vec<f64>,
    /// Flip-flops that the clock reached behind clock gates, in all cycles.
    clocked: u64,
    /// Events of each cycle.
    events: Vec<[u32; EVENTS]>,
}

/// Reads what an [`EnergyMeter`] has seen, also after it has gone.
#[derive(Clone, Debug)]
struct EnergyReader {
    log: Arc<Mutex<Log>>,
    power: Power,
    blocks: Vec<Block>,
}

/// A front end that is its golden model, with its netlist beside it for so many cycles.
struct EnergyMeter {
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
    fn new(golden: Box<dyn CycleModel>, gates: Gates, limit: u64) -> (Self, EnergyReader) {
        let ports = golden.ports();
        let (inputs, outputs) =
            (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output));
        let log = Arc::new(Mutex::new(Log::default()));
        let reader =
            EnergyReader { log: Arc::clone(&log), power: gates.power(), blocks: gates.blocks().to_vec() };
        let reset = inputs.slot("rst_ni");
        let reset_seen = reset.is_none();
        (Self { golden, gates, inputs, outputs, reset, reset_seen, limit, cycle: 0, log }, reader)
    }

    fn measure(&mut self, inputs: &[u32], outputs: &[u32]) -> Result<(), CycleError> {
        for (name, slot) in self.inputs.iter() {
            self.gates.set(name, bits(slot, inputs));
        }
        self.gates.settle();
        let mut energy = self.gates.energy_by_block();
        let clock = self.gates.gated_clock();
        energy.iter_mut().zip(&clock.fj).for_each(|(sum, fj)| *sum += fj);
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
            log.energy.extend(energy);
            log.gated_fj.resize(clock.fj.len(), 0.0);
            log.gated_fj.iter_mut().zip(&clock.fj).for_each(|(sum, fj)| *sum += fj);
            log.clocked += clock.flip_flops as u64;
            log.events.push(self.events(inputs, outputs));
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
        let place = count(MAX_CTA_PORTS, &|i| vec![format!("cta_valid_{i}_o"), format!("cta_ready_{i}_i")]);
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
    // What is measured is the stream.
    simulation.read_counters = false;
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
    fn report(&self) -> Option<EnergyReport> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        (!log.events.is_empty()).then(|| report(&log, &self.blocks, self.power))
    }
}

fn pico(femto: f64) -> f64 {
    (femto / 1e3 * 1e4).round() / 1e4
}

fn report(log: &Log, blocks: &[Block], power: Power) -> EnergyReport {
    let cycles = log.events.len();
    let fit = Fit::new(log, blocks.len());
    let (mut running, mut waiting) = (0i64, [(0u64, 0.0); 2]);
    for (events, energy) in log.events.iter().zip(log.energy.chunks_exact(blocks.len().max(1))) {
        if events.iter().all(|count| *count == 0) {
            let (cycles, sum) = &mut waiting[usize::from(running > 0)];
            *cycles += 1;
            *sum += energy.iter().sum::<f64>();
        }
        running += i64::from(events[Event::Place as usize]) - i64::from(events[Event::End as usize]);
    }
    let [empty_pj, waiting_pj] =
        waiting.map(|(cycles, sum)| (cycles > 0).then(|| pico(sum / cycles as f64 + power.clock_fj)));
    let price = |event: Event| {
        let (fj, error, seen) = fit.as_ref()?.price(event)?;
        Some((pico(fj), pico(error), seen.into_iter().map(|b| blocks[b].name.clone()).collect()))
    };
    let events = Event::ALL.into_iter().map(|event| {
        let count = log.events.iter().map(|e| u64::from(e[event as usize])).sum();
        let (pj, pj_error, blocks) = price(event)
            .map_or((None, None, Vec::new()), |(pj, error, blocks)| (Some(pj), Some(error), blocks));
        EventEnergy { event, count, pj, pj_error, blocks }
    });
    let mut total = vec![0.0; blocks.len()];
    for cycle in log.energy.chunks_exact(blocks.len().max(1)) {
        total.iter_mut().zip(cycle).for_each(|(sum, fj)| *sum += fj);
    }
    let gated_fj = |block: usize| log.gated_fj.get(block).copied().unwrap_or(0.0) / cycles as f64;
    let mut by_block: Vec<BlockEnergy> = blocks
        .iter()
        .zip(&total)
        .enumerate()
        .map(|(at, (block, total))| BlockEnergy {
            block: block.name.clone(),
            pj: pico(total / cycles as f64 + block.clock_fj),
            clock_pj: pico(block.clock_fj + gated_fj(at)),
            flip_flops: block.flip_flops as u64,
        })
        .collect();
    by_block.sort_by(|a, b| b.pj.total_cmp(&a.pj).then_with(|| a.block.cmp(&b.block)));
    EnergyReport {
        cycles: cycles as u64,
        mean_pj: pico(total.iter().sum::<f64>() / cycles as f64 + power.clock_fj),
        waiting_pj,
        empty_pj,
        clock_pj: pico(power.clock_fj + (0..blocks.len()).map(gated_fj).sum::<f64>()),
        leakage_uw: pico(power.leakage_nw),
        flip_flops: power.flip_flops as u64,
        clock_gates: power.clock_gates as u64,
        gated: power.gated as u64,
        clocked: clocked(log, power),
        events: events.collect(),
        too_few_cycles: cycles / CHUNK <= CAUSES,
        explained: fit.map_or(0.0, |fit| (fit.explained() * 1e4).round() / 1e4),
        blocks: by_block,
    }
}

/// The share of flip-flops that the clock reached.
fn clocked(log: &Log, power: Power) -> f64 {
    let (all, cycles) = (power.flip_flops as f64, log.events.len() as f64);
    let always = (power.flip_flops - power.gated) as f64;
    if all == 0.0 { 1.0 } else { ((always + log.clocked as f64 / cycles) / all * 1e4).round() / 1e4 }
}

/// What each event costs in each block, by ordinary least squares over chunks of cycles.
struct Fit {
    /// Causes of each chunk.
    causes: Vec<[f64; CAUSES]>,
    used: [bool; CAUSES],
    /// (X'X)^-1.
    inverse: [[f64; CAUSES]; CAUSES],
    /// Of each block, the energy of each chunk.
    energy: Vec<Vec<f64>>,
    /// Of each block, what each cause costs in femtojoules.
    costs: Vec<[f64; CAUSES]>,
    /// The same without each part of the run.
    without: Vec<Vec<[f64; CAUSES]>>,
}

impl Fit {
    /// None where the causes are not told apart.
    fn new(log: &Log, blocks: usize) -> Option<Self> {
        let chunks = log.events.len() / CHUNK;
        let mut running = 0i64;
        let mut causes = Vec::with_capacity(chunks);
        for chunk in log.events.chunks_exact(CHUNK) {
            let mut sums = [0.0; CAUSES];
            for events in chunk {
                running += i64::from(events[Event::Place as usize]) - i64::from(events[Event::End as usize]);
                sums[0] += 1.0;
                for (at, count) in events.iter().enumerate() {
                    sums[at + 1] += f64::from(*count);
                }
                sums[CAUSES - 1] += running as f64;
            }
            causes.push(sums);
        }
        let mut energy = vec![vec![0.0; chunks]; blocks];
        for (cycle, row) in log.energy.chunks_exact(blocks.max(1)).take(chunks * CHUNK).enumerate() {
            energy.iter_mut().zip(row).for_each(|(sums, fj)| sums[cycle / CHUNK] += fj);
        }
        let used: [bool; CAUSES] = std::array::from_fn(|i| causes.iter().any(|r| r[i] != 0.0));
        if chunks <= used.iter().filter(|used| **used).count() {
            return None;
        }
        let inverse = normal_inverse(&causes, used)?;
        let costs = energy.iter().map(|energy| coefficients(&causes, &inverse, energy)).collect();
        let without = |part: usize| {
            let left = 0..chunks * part / PARTS;
            let right = chunks * (part + 1) / PARTS..chunks;
            let causes = [&causes[left.clone()], &causes[right.clone()]].concat();
            let inverse = normal_inverse(&causes, used)?;
            let costs = |energy: &Vec<f64>| {
                let energy = [&energy[left.clone()], &energy[right.clone()]].concat();
                coefficients(&causes, &inverse, &energy)
            };
            Some(energy.iter().map(costs).collect())
        };
        let without = (0..PARTS).map(without).collect::<Option<_>>()?;
        Some(Self { causes, used, inverse, energy, costs, without })
    }

    /// What is left of the energy of these blocks.
    fn residuals(&self, blocks: &[usize]) -> Vec<f64> {
        let rest = |block: usize, chunk: usize| {
            let told = self.causes[chunk].iter().zip(&self.costs[block]).map(|(x, cost)| x * cost);
            self.energy[block][chunk] - told.sum::<f64>()
        };
        (0..self.causes.len()).map(|chunk| blocks.iter().map(|block| rest(*block, chunk)).sum()).collect()
    }

    /// Standard error of what one of that cause costs in these blocks together: by what is left of the energy, or by how much it depends on
    /// parts of the run (a jackknife), whichever is more. What an event costs differs with what else goes on.
    fn error(&self, cause: usize, blocks: &[usize]) -> f64 {
        let rest = self.residuals(blocks);
        let squares: f64 = rest.iter().map(|r| r * r).sum();
        let free = rest.len() - self.used.iter().filter(|used| **used).count();
        // Where a chunk is like the one before, there are fewer than are counted.
        let like: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let like = if squares > 0.0 { (like / squares).clamp(0.0, 0.95) } else { 0.0 };
        let variance = squares / free as f64 * self.inverse[cause][cause];
        let residual = variance * (1.0 + like) / (1.0 - like);
        let sum = |costs: &Vec<[f64; CAUSES]>| blocks.iter().map(|b| costs[*b][cause]).sum::<f64>();
        let prices: Vec<f64> = self.without.iter().map(sum).collect();
        let mean = prices.iter().sum::<f64>() / PARTS as f64;
        let spread: f64 = prices.iter().map(|price| (price - mean).powi(2)).sum();
        residual.max(spread * (PARTS as f64 - 1.0) / PARTS as f64).sqrt()
    }

    /// Energy of one, its standard error, and the blocks in which it is seen.
    fn price(&self, event: Event) -> Option<(f64, f64, Vec<usize>)> {
        let cause = event as usize + 1;
        if self.causes.iter().map(|counts| counts[cause]).sum::<f64>() < FEWEST {
            return None;
        }
        let cost = |block: usize| self.costs[block][cause];
        let seen: Vec<usize> = (0..self.costs.len())
            .filter(|b| cost(*b) > SIGNIFICANT * self.error(cause, &[*b]).max(1e-9))
            .collect();
        let price: f64 = seen.iter().map(|b| cost(*b)).sum();
        let error = self.error(cause, &seen);
        (price > 0.0 && error <= SURE * price).then_some((price, error, seen))
    }

    /// The part of all energy's variation that the causes explain.
    fn explained(&self) -> f64 {
        let all: Vec<usize> = (0..self.energy.len()).collect();
        let rest: f64 = self.residuals(&all).iter().map(|r| r * r).sum();
        let chunks = self.causes.len();
        let total: Vec<f64> = (0..chunks).map(|c| self.energy.iter().map(|e| e[c]).sum()).collect();
        let mean = total.iter().sum::<f64>() / chunks as f64;
        let spread: f64 = total.iter().map(|t| (t - mean).powi(2)).sum();
        if spread > 0.0 { 1.0 - rest / spread } else { 0.0 }
    }
}

/// The coefficients with the smallest squared error.
fn coefficients<const N: usize>(rows: &[[f64; N]], inverse: &[[f64; N]; N], y: &[f64]) -> [f64; N] {
    let right: [f64; N] = std::array::from_fn(|i| rows.iter().zip(y).map(|(x, y)| x[i] * y).sum());
    std::array::from_fn(|i| inverse[i].iter().zip(right).map(|(m, r)| m * r).sum())
}

/// (X'X)^-1 over the columns that are `used`, 0 elsewhere; none where they are not independent.
fn normal_inverse<const N: usize>(rows: &[[f64; N]], used: [bool; N]) -> Option<[[f64; N]; N]> {
    // Columns of length 1, so that what is nearly 0 does not depend on units.
    let length: [f64; N] = std::array::from_fn(|i| rows.iter().map(|x| x[i] * x[i]).sum::<f64>().sqrt());
    let both = |i: usize, j: usize| used[i] && used[j] && length[i] > 0.0 && length[j] > 0.0;
    let mut m: [[f64; N]; N] = std::array::from_fn(|i| {
        std::array::from_fn(|j| match both(i, j) {
            true => rows.iter().map(|x| x[i] * x[j]).sum::<f64>() / (length[i] * length[j]),
            false => f64::from(u8::from(i == j)),
        })
    });
    let mut inverse: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    // The matrix is symmetric and not negative: no rows need to be swapped.
    for i in 0..N {
        let pivot = m[i][i];
        if pivot <= 1e-9 {
            return None;
        }
        m[i].iter_mut().chain(inverse[i].iter_mut()).for_each(|v| *v /= pivot);
        let (row, right) = (m[i], inverse[i]);
        for r in (0..N).filter(|r| *r != i) {
            let factor = m[r][i];
            m[r].iter_mut().zip(row).for_each(|(v, from)| *v -= factor * from);
            inverse[r].iter_mut().zip(right).for_each(|(v, from)| *v -= factor * from);
        }
    }
    Some(std::array::from_fn(|i| {
        std::array::from_fn(|j| if both(i, j) { inverse[i][j] / (length[i] * length[j]) } else { 0.0 })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_come_back() {
        let rows: Vec<[f64; 4]> =
            (0..20).map(|i| [32.0, f64::from(i % 3), f64::from(i % 5), f64::from(i % 7)]).collect();
        let y: Vec<f64> = rows.iter().map(|x| 2.0 * x[0] + 30.0 * x[1] + 5.0 * x[2] + 11.0 * x[3]).collect();
        let inverse = normal_inverse(&rows, [true; 4]).unwrap();
        let solved = coefficients(&rows, &inverse, &y);
        for (got, wanted) in solved.iter().zip([2.0, 30.0, 5.0, 11.0]) {
            assert!((got - wanted).abs() < 1e-6, "{solved:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_told() {
        let rows: Vec<[f64; 4]> = (0..9).map(|i| [32.0, f64::from(i), f64::from(i), 0.0]).collect();
        assert_eq!(normal_inverse(&rows, [true, true, true, false]), None);
        assert!(normal_inverse(&rows, [true, true, false, false]).is_some());
    }

    /// The same numbers on every run, -1 to 1.
    struct Noise(u64);

    impl Noise {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 33
        }

        fn unit(&mut self) -> f64 {
            self.bits() as f64 / f64::from(1u32 << 30) - 1.0
        }
    }

    const PRICES: [f64; EVENTS] = [40e3, 9e3, 4e3, 25e3];

    fn block(name: &str, clock_fj: f64) -> Block {
        Block { name: name.into(), clock_fj, flip_flops: 10 }
    }

    /// Events at random with these prices in the second block, and noise of that size there; the first block, a ring, knows nothing of them.
    fn synthetic(seed: u64, ring: f64, noise: f64) -> EnergyReport {
        let mut random = Noise(seed);
        let mut log = Log::default();
        let mut running = Vec::new();
        for cycle in 0..200 * CHUNK {
            let mut one = |of: u64| u32::from(random.bits().is_multiple_of(of));
            let place = one(6) + one(6);
            let events = [one(40), place, 0, one(50)];
            running.extend((0..place).map(|_| cycle + 100 + random.bits() as usize % 400));
            let end = running.iter().filter(|at| **at == cycle).count() as u32;
            running.retain(|at| *at > cycle);
            let events = [events[0], events[1], end, events[3]];
            let cost: f64 = events.iter().zip(PRICES).map(|(count, fj)| f64::from(*count) * fj).sum();
            log.energy.extend([ring * (1.5 + random.unit()), cost + noise * (1.5 + random.unit())]);
            log.events.push(events);
        }
        let blocks = [block("ring", 5e3), block("small", 1e3)];
        report(
            &log,
            &blocks,
            Power { clock_fj: 6e3, leakage_nw: 1.0, flip_flops: 20, gated: 0, clock_gates: 0 },
        )
    }

    #[test]
    fn a_ring_beside_them_does_not_hide_what_events_cost() {
        let (mut total, mut near) = (0, 0);
        for seed in 0..20 {
            let report = synthetic(seed, 500e3, 5e3);
            assert!(report.explained < 0.1, "{report:?}");
            for (event, wanted) in report.events.iter().zip(PRICES) {
                let (pj, error) = (event.pj.unwrap(), event.pj_error.unwrap());
                if event.blocks == ["small"] {
                    assert!(error > 0.0 && (pj - wanted / 1e3).abs() < 5.0 * error, "{event:?}");
                    (total, near) = (total + 1, near + u32::from((pj - wanted / 1e3).abs() < error));
                }
            }
        }
        // One standard error holds 68 % of them; the ring is taken for a price in three of a thousand.
        assert!(total >= 76, "{total}");
        assert!((50 * total..85 * total).contains(&(100 * near)), "{near} of {total}");
    }

    #[test]
    fn a_price_that_is_not_sure_is_not_told() {
        let report = synthetic(1, 5e3, 500e3);
        assert!(report.events.iter().all(|e| e.pj.is_none() == e.pj_error.is_none()));
        assert!(
            report.events.iter().filter(|e| e.pj.is_some()).all(|e| e.pj_error <= e.pj.map(|pj| pj / 2.0))
        );
        assert_eq!(report.events[Event::End as usize].pj, None, "{report:?}");
    }

    #[test]
    fn blocks_add_up() {
        let report = synthetic(2, 500e3, 5e3);
        let sum: f64 = report.blocks.iter().map(|b| b.pj).sum();
        assert!((sum - report.mean_pj).abs() < 1e-3, "{report:?}");
        let clock: f64 = report.blocks.iter().map(|b| b.clock_pj).sum();
        assert!((clock - report.clock_pj).abs() < 1e-3, "{report:?}");
        assert_eq!(report.blocks[0].block, "ring");
    }

    #[test]
    fn waiting_is_what_cycles_without_events_cost() {
        let place = [0, 1, 0, 0];
        let end = [0, 0, 1, 0];
        // Two cycles without a CTA, one that places it, three while it runs, its end, and one after.
        let events = vec![[0; 4], [0; 4], place, [0; 4], [0; 4], [0; 4], end, [0; 4]];
        let energy = vec![1e3, 1e3, 50e3, 7e3, 8e3, 9e3, 50e3, 4e3];
        let power = Power { clock_fj: 6e3, leakage_nw: 1.0, flip_flops: 20, gated: 0, clock_gates: 0 };
        let measured = report(&Log { energy, events, ..Log::default() }, &[block("all", 6e3)], power);
        assert_eq!((measured.waiting_pj, measured.empty_pj), (Some(14.0), Some(8.0)));
        assert_eq!(measured.clock_pj, 6.0, "less than any cycle");
        assert!(measured.too_few_cycles && !synthetic(1, 5e3, 5e3).too_few_cycles);
        let busy = report(
            &Log { energy: vec![1e3], events: vec![place], ..Log::default() },
            &[block("all", 6e3)],
            power,
        );
        assert_eq!((busy.waiting_pj, busy.empty_pj), (None, None));
    }
}

//! What an exploration found, from the results of its pieces alone.

use super::advice::{Advice, Candidate, advise, front, geometric_mean};
use super::cost::{Cost, Netlist};
use super::{Design, Exploration, round};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use windlass_gen::report::render::AREA_LABEL;
use windlass_gen::table::counted;
use windlass_netlist::WireModel;

/// Version of [`Report`]'s serialised form.
pub const FORMAT_VERSION: u32 = 3;

/// A piece of work: design and workload by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// Synthesis of a design.
    Cost(usize),
    /// Co-simulation of a design on a workload.
    Run(usize, usize),
}

impl Piece {
    /// Its design.
    pub fn design(self) -> usize {
        match self {
            Self::Cost(design) | Self::Run(design, _) => design,
        }
    }
}

/// A piece that failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub piece: Piece,
    pub label: String,
    pub message: String,
    pub wrong: bool,
}

/// What the pieces gave.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub costs: BTreeMap<usize, Cost>,
    pub runs: BTreeMap<(usize, usize), Ran>,
    pub failures: Vec<Failure>,
    /// Designs that cannot be made at all.
    pub impossible: BTreeSet<usize>,
}

/// Cycles that something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    /// How many were counted.
    pub count: u64,
    /// The least.
    pub min: u64,
    /// The middle one.
    pub median: u64,
    /// The greatest.
    pub max: u64,
}

/// A co-simulation; whole numbers only, so that what comes from disk is what went there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ran {
    pub kernels: u64,
    pub ctas: u64,
    pub serial_cycles: u64,
    pub queue_cycles: u64,
    pub window_cycles: u64,
    pub insert: Cycles,
    pub retire_to_dispatch: Cycles,
    pub done_to_first_cta: Cycles,
    pub fill_max: u64,
}

/// What an exploration found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this form.
    pub format_version: u32,
    /// Windlass' version.
    pub windlass: String,
    /// The command that does the same again.
    pub command: String,
    /// The device profile.
    pub gpu: String,
    /// Its own number of SMs; designs with another one run on the profile with that number and all else as it is.
    pub gpu_sms: u32,
    /// Its SM clock in MHz.
    pub clock_mhz: u32,
    /// The front ends' clock in MHz; none where each has its own.
    pub front_end_mhz: Option<u32>,
    /// What all synthesis had in common; none without synthesis.
    pub synthesis: Option<SynthesisReport>,
    /// What surrounds the front ends and is not as by default, as part of a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conditions: String,
    /// The share of the best gain that is to be kept.
    pub keep: f64,
    /// The workloads that count: those that ran on some design of each number of SMs.
    pub workloads: Vec<WorkloadReport>,
    /// One sentence for each number of SMs.
    pub advice: Vec<Advice>,
    /// The designs, in order.
    pub points: Vec<PointReport>,
    /// What failed.
    pub failures: Vec<FailureReport>,
}

/// What all synthesis had in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SynthesisReport {
    /// What every area is.
    pub area_label: &'static str,
    /// `area`, `quick` or `full`.
    pub effort: &'static str,
    /// Clock gates were put in.
    pub clock_gates: bool,
    /// The wires that areas and clocks are with; none: ideal ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wires: Option<WireModel>,
    /// Tool and version.
    pub tool: String,
    /// What timed it.
    pub timer: Option<String>,
    /// The library's name.
    pub library: String,
    /// Its operating conditions.
    pub corner: String,
    /// The cell that gate equivalents count in.
    pub gate: String,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// SHA-256 of the trace.
    pub sha256: String,
    /// Kernels.
    pub kernels: u64,
    /// SM counts on which it failed with every design, so that it does not count there.
    pub left_out: Vec<u32>,
}

/// One design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointReport {
    /// SMs.
    pub sms: u32,
    /// Slots N.
    pub slots: usize,
    /// `matrix` or `list`.
    pub window: &'static str,
    /// `single` or `typed`.
    pub arbiter: &'static str,
    /// Kernels per CTA channel whose CTAs are placed at the same time.
    pub active: usize,
    /// CTAs of one kernel that it places in one cycle.
    pub places: usize,
    /// What somebody's own front end is called; none where it is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtl: Option<String>,
    /// Its clock in MHz; none where that is its own, and there is none.
    pub front_end_mhz: Option<u32>,
    /// The smallest netlist.
    pub cost: Option<Netlist>,
    /// The fastest netlist, where times are known.
    pub fastest: Option<Netlist>,
    /// Geometric mean of the speed-ups over `serial`; none where a workload that counts failed.
    pub speedup: Option<f64>,
    /// The same over `queue`: what the window is worth, without what any queue in hardware gains.
    pub over_queue: Option<f64>,
    /// Cycles that the hardware takes for a kernel: from its last host beat, or the retirement that frees it, to its dispatch.
    /// Medians of the workloads, weighted by the kernels that they are of.
    pub cycles_per_kernel: Option<f64>,
    /// The same in nanoseconds, by its clock.
    pub ns_per_kernel: Option<f64>,
    /// On the Pareto front of speed-up against area, among designs for as many SMs.
    pub front_area: bool,
    /// On the Pareto front of speed-up against time per kernel.
    pub front_time: bool,
    /// One entry per workload that ran.
    pub runs: Vec<PointRun>,
}

impl PointReport {
    /// The area, where it is known.
    pub fn area_um2(&self) -> Option<f64> {
        self.cost.as_ref().map(|c| c.area_um2)
    }
}

/// One design on one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointRun {
    /// The workload.
    pub workload: String,
    /// Its kernels.
    pub kernels: u64,
    /// SM clock cycles under `serial`.
    pub serial_cycles: u64,
    /// SM clock cycles under `queue`.
    pub queue_cycles: u64,
    /// SM clock cycles under `window`.
    pub window_cycles: u64,
    /// `serial_cycles` over `window_cycles`.
    pub speedup: f64,
    /// `queue_cycles` over `window_cycles`.
    pub over_queue: f64,
    /// Microseconds per kernel under `window`, execution included.
    pub us_per_kernel: f64,
    /// Last host beat to dispatch.
    pub insert: Cycles,
    /// Retirement to the dispatch of a kernel that it frees.
    pub retire_to_dispatch: Cycles,
    /// Last completion of a kernel to the first CTA of one that it frees.
    pub done_to_first_cta: Cycles,
    /// Most kernels in the window.
    pub fill_max: u64,
}

/// A piece that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureReport {
    /// Design, and synthesis or workload.
    pub what: String,
    /// Why.
    pub message: String,
    /// Hardware was checked and found wrong; otherwise it could not be run.
    pub wrong: bool,
}

impl Report {
    pub(super) fn new(exploration: &Exploration<'_>, results: Results) -> Self {
        let designs = &exploration.designs;
        let sms: BTreeSet<u32> = designs.iter().map(|d| d.sms).collect();
        // A workload that no design of that size can run says nothing about which of them is better.
        let left_out = |w: usize, sms: u32| {
            !designs
                .iter()
                .enumerate()
                .any(|(d, design)| design.sms == sms && results.runs.contains_key(&(d, w)))
        };
        let mut points: Vec<PointReport> = designs
            .iter()
            .enumerate()
            .map(|(d, design)| point(exploration, &results, d, *design, &|w| left_out(w, design.sms)))
            .collect();
        let mut advice = Vec::new();
        for &sms in &sms {
            let group: Vec<usize> = (0..points.len()).filter(|p| points[*p].sms == sms).collect();
            mark_fronts(&mut points, &group);
            let counted = (0..exploration.workloads.len()).filter(|w| !left_out(*w, sms)).count();
            advice.push(advice_on(exploration, &points, &group, sms, counted));
        }
        let workloads = exploration.workloads.iter().enumerate().map(|(w, workload)| WorkloadReport {
            name: workload.name.clone(),
            sha256: workload.sha256.clone(),
            kernels: workload.stream.kernels().len() as u64,
            left_out: sms.iter().copied().filter(|sms| left_out(w, *sms)).collect(),
        });
        let synthesis = exploration.synthesis.as_ref().zip(results.costs.values().next());
        let mut failures = results.failures.clone();
        failures.sort_by_key(|f| f.piece);
        Self {
            format_version: FORMAT_VERSION,
            windlass: env!("CARGO_PKG_VERSION").into(),
            command: exploration.command.clone(),
            gpu: exploration.profile.name.clone(),
            gpu_sms: exploration.profile.sms,
            clock_mhz: exploration.profile.clock_mhz,
            front_end_mhz: exploration.clock_mhz(None),
            synthesis: synthesis.map(|(synthesis, cost)| SynthesisReport {
                area_label: AREA_LABEL,
                effort: synthesis.effort.name(),
                clock_gates: synthesis.clock_gates,
                wires: synthesis.wires,
                tool: cost.tool.clone(),
                timer: cost.timer.clone(),
                library: cost.library.clone(),
                corner: cost.corner.clone(),
                gate: cost.gate.clone(),
            }),
            conditions: exploration.conditions.clone(),
            keep: exploration.keep,
            workloads: workloads.collect(),
            advice,
            points,
            failures: failures
                .into_iter()
                .map(|f| FailureReport { what: f.label, message: f.message, wrong: f.wrong })
                .collect(),
        }
    }

    /// True where hardware was checked and found wrong.
    pub fn is_wrong(&self) -> bool {
        self.failures.iter().any(|f| f.wrong)
    }

    /// The numbers of SMs, in order.
    pub fn sms(&self) -> Vec<u32> {
        self.advice.iter().map(|a| a.sms).collect()
    }
}

/// Says of each point of a group whether it is on the fronts of that group.
fn mark_fronts(points: &mut [PointReport], group: &[usize]) {
    let pairs = |cost: fn(&PointReport) -> Option<f64>| -> Vec<Option<(f64, f64)>> {
        group.iter().map(|p| Some((points[*p].speedup?, cost(&points[*p])?))).collect()
    };
    let area = front(&pairs(PointReport::area_um2));
    let time = front(&pairs(|p| p.cycles_per_kernel));
    for ((&p, area), time) in group.iter().zip(area).zip(time) {
        (points[p].front_area, points[p].front_time) = (area, time);
    }
}

/// What to build of a group, which is the designs with so many SMs; `counted`: the workloads that ran on any of them.
fn advice_on(
    exploration: &Exploration<'_>,
    points: &[PointReport],
    group: &[usize],
    sms: u32,
    workloads: usize,
) -> Advice {
    let ran: Vec<usize> = group.iter().copied().filter(|p| points[*p].speedup.is_some()).collect();
    let candidate = |&p: &usize| Candidate {
        name: exploration.name(exploration.designs[p]),
        slots: points[p].slots,
        over_queue: points[p].over_queue.unwrap_or(0.0),
        area: points[p].area_um2(),
    };
    let (text, build, fastest) = advise(&ran.iter().map(candidate).collect::<Vec<_>>(), exploration.keep);
    let these = match workloads {
        1 => "this workload".into(),
        n => format!("these {n} workloads"),
    };
    let conditions = match exploration.conditions.as_str() {
        "" => String::new(),
        conditions => format!(", {conditions}"),
    };
    let missing = match group.len() - ran.len() {
        0 => String::new(),
        n => format!("; {n} of {} designs did not run on all and are not compared", group.len()),
    };
    let gpu = &exploration.profile.name;
    Advice {
        sms,
        sentence: format!("On {gpu} with {}{conditions}, for {these}, {text}{missing}.", counted(sms, "SM")),
        build: build.map(|i| ran[i]),
        fastest: fastest.map(|i| ran[i]),
    }
}

fn point(
    exploration: &Exploration<'_>,
    results: &Results,
    d: usize,
    design: Design,
    left_out: &dyn Fn(usize) -> bool,
) -> PointReport {
    let cost = results.costs.get(&d);
    let front_end_mhz = exploration.clock_mhz(cost);
    let mut runs = Vec::new();
    let mut complete = true;
    for (w, workload) in exploration.workloads.iter().enumerate() {
        let Some(ran) = results.runs.get(&(d, w)) else {
            complete &= left_out(w);
            continue;
        };
        // A stream without kernels takes no time, and is no faster for it.
        let ratio = |a: u64, b: u64| if a == 0 { 1.0 } else { a as f64 / b.max(1) as f64 };
        runs.push(PointRun {
            workload: workload.name.clone(),
            kernels: ran.kernels,
            serial_cycles: ran.serial_cycles,
            queue_cycles: ran.queue_cycles,
            window_cycles: ran.window_cycles,
            speedup: round(ratio(ran.serial_cycles, ran.window_cycles), 6),
            over_queue: round(ratio(ran.queue_cycles, ran.window_cycles), 6),
            us_per_kernel: round(
                ran.window_cycles as f64
                    / f64::from(exploration.profile.clock_mhz)
                    / ran.kernels.max(1) as f64,
                4,
            ),
            insert: ran.insert,
            retire_to_dispatch: ran.retire_to_dispatch,
            done_to_first_cta: ran.done_to_first_cta,
            fill_max: ran.fill_max,
        });
    }
    let mean = |value: fn(&PointRun) -> f64| {
        let values: Vec<f64> = runs.iter().map(value).collect();
        if complete { geometric_mean(&values) } else { None }
    };
    let (speedup, over_queue) = (mean(|r| r.speedup), mean(|r| r.over_queue));
    let latencies = || runs.iter().flat_map(|r| [r.insert, r.retire_to_dispatch]);
    let kernels: u64 = latencies().map(|l| l.count).sum();
    let cycles = latencies().map(|l| u128::from(l.count) * u128::from(l.median)).sum::<u128>() as f64;
    let cycles = (complete && kernels > 0).then(|| round(cycles / kernels as f64, 3));
    PointReport {
        sms: design.sms,
        slots: design.slots,
        window: design.window.name(),
        arbiter: design.arbiter.name(),
        active: design.arbiter.active(),
        places: design.places,
        rtl: exploration.own_of(design).map(|own| own.name.clone()),
        front_end_mhz,
        cost: cost.map(|c| c.smallest.clone()),
        fastest: cost.and_then(|c| c.fastest.clone()),
        speedup,
        over_queue,
        cycles_per_kernel: cycles,
        ns_per_kernel: cycles
            .zip(front_end_mhz)
            .map(|(cycles, mhz)| round(cycles * 1000.0 / f64::from(mhz), 3)),
        front_area: false,
        front_time: false,
        runs,
    }
}

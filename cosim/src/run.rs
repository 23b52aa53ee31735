//! A whole co-simulation: options in, a report out.

use crate::device::{CtaSpan, Occupancy};
use crate::latency::{Distribution, WindowReport};
use crate::policy::{
    GraphCosts, GraphHost, Host, Machine, Policy, SchedulerEngine, SerialHost, SimError, Simulated, Stream,
    StreamsHost, WindowHost, WindowOptions, WindowTrace, simulate,
};
use crate::profile::Profile;
use serde::Serialize;
use std::fmt::Write;
use std::num::NonZeroUsize;
use windlass_rtl::params::{Encoding, SchedulerParams};
use windlass_runtime::host::HazardRule;

/// Version of [`RunReport`]'s serialised form.
pub const FORMAT_VERSION: u32 = 1;

/// Most streams, and most slots of the software window: beyond that the model only gets slow.
pub const MAX_STREAMS: usize = 1024;

/// Options of a co-simulation.
#[derive(Clone, Debug)]
pub struct CoSimulation {
    /// The GPU and its host.
    pub profile: Profile,
    /// What to compare. `serial` is always run, for the others are measured against it.
    pub policies: Vec<Policy>,
    /// The scheduling hardware, for `window`.
    pub scheduler: SchedulerParams,
    /// Packets that the queue to the hardware holds, for `window`; at least 1.
    pub fifo_depth: usize,
    /// `window`: the host pays a driver launch for every packet, instead of writing into a user-mode queue.
    pub driver_launch: bool,
    /// Slots W of the software window, for `streams`; at least 1.
    pub software_slots: usize,
    /// CUDA streams, and host threads, for `streams`; at least 1.
    pub streams: usize,
    /// `streams`: threads poll events instead of synchronising with their stream.
    pub poll_events: bool,
    /// How hosts find hazards. The order checker is exact whatever this says.
    pub rule: HazardRule,
    /// Visit every cycle; otherwise time jumps, with the same results.
    pub step: bool,
    /// Keep what timelines need.
    pub record: bool,
}

impl CoSimulation {
    /// All policies, 32 slots in software and in hardware, 8 streams, a queue of 64 packets.
    pub fn new(profile: Profile, scheduler: SchedulerParams) -> Self {
        Self {
            profile,
            policies: Policy::ALL.to_vec(),
            scheduler,
            fifo_depth: 64,
            driver_launch: false,
            software_slots: scheduler.window().slots(),
            streams: 8,
            poll_events: false,
            rule: HazardRule::Exact,
            step: false,
            record: false,
        }
    }

    /// Runs every policy on `stream`; `engine` decides under `window` and must be fresh.
    ///
    /// # Errors
    /// The first that any policy met; [`SimError::is_wrong`] tells a wrong scheduler from what could not be run.
    pub fn run(&self, stream: &Stream, engine: &mut dyn SchedulerEngine) -> Result<Outcome, SimError> {
        let serial = self.run_policy(Policy::Serial, stream, engine)?;
        let base = serial.report.cycles;
        let mut machine = Machine::new(&self.profile, stream, "serial without overhead")?;
        let in_order = self.simulate(&mut SerialHost::free(), &mut machine)?.cycles;
        let mut serial = Some(serial);
        let mut policies = Vec::new();
        let mut recordings = Vec::new();
        for &policy in &self.policies {
            let mut ran = match (policy, serial.take()) {
                (Policy::Serial, Some(serial)) => serial,
                (_, kept) => {
                    serial = kept;
                    self.run_policy(policy, stream, engine)?
                }
            };
            // A stream without kernels takes no time, and is no faster for it.
            let ratio =
                |time: u64| if time == 0 { 1.0 } else { time as f64 / ran.report.cycles.max(1) as f64 };
            (ran.report.speedup, ran.report.overlap_speedup) = (ratio(base), ratio(in_order));
            policies.push(ran.report);
            recordings.push(ran.recording);
        }
        let window = self.scheduler.window();
        let upstream = self.scheduler.upstream();
        Ok(Outcome {
            report: RunReport {
                format_version: FORMAT_VERSION,
                trace: stream.name().into(),
                kernels: stream.kernels().len(),
                ctas: stream.kernels().iter().fold(0, |sum, k| sum.saturating_add(k.ctas())),
                gpu: self.profile.name.clone(),
                sms: self.profile.sms,
                clock_mhz: self.profile.clock_mhz,
                rule: match self.rule {
                    HazardRule::Exact => "exact",
                    HazardRule::StrictAlgorithm1 => "strict-algorithm1",
                },
                scheduler: SchedulerReport {
                    engine: engine.name(),
                    window: self.scheduler.kind().name(),
                    slots: window.slots(),
                    retire_ports: window.retire_ports(),
                    scheduled: upstream.scheduled(),
                    encoding: upstream.encoding().name(),
                    lanes: match upstream.encoding() {
                        Encoding::Ids { lanes } => Some(lanes),
                        Encoding::Mask => None,
                    },
                    fifo_depth: self.fifo_depth,
                    driver_launch: self.driver_launch,
                },
                software_slots: self.software_slots,
                streams: self.streams,
                policies,
            },
            recordings,
        })
    }

    fn run_policy(
        &self,
        policy: Policy,
        stream: &Stream,
        engine: &mut dyn SchedulerEngine,
    ) -> Result<Ran, SimError> {
        let mut machine = Machine::new(&self.profile, stream, policy.name())?;
        if self.record {
            machine.device.record();
        }
        let mut window = None;
        let simulated = match policy {
            Policy::Serial => self.simulate(&mut SerialHost::new(&self.profile), &mut machine)?,
            Policy::Streams => {
                let option = |option, got| {
                    let checked = NonZeroUsize::new(got).filter(|got| got.get() <= MAX_STREAMS);
                    checked.ok_or(SimError::Option { option, got, remedy: "choose 1 to 1024" })
                };
                let slots = option("software-slots", self.software_slots)?;
                let streams = option("streams", self.streams)?;
                let upstream = stream.upstream_by(self.rule)?;
                let mut host = StreamsHost::new(&self.profile, upstream, slots, streams, self.poll_events);
                self.simulate(&mut host, &mut machine)?
            }
            Policy::Graph => {
                let upstream = stream.upstream_by(self.rule)?;
                let mut host = GraphHost::new(GraphCosts::cuda(&self.profile), &upstream);
                self.simulate(&mut host, &mut machine)?
            }
            Policy::Ideal => {
                let upstream = stream.upstream_by(HazardRule::Exact)?;
                self.simulate(&mut GraphHost::new(GraphCosts::FREE, &upstream), &mut machine)?
            }
            Policy::Window => {
                let options = WindowOptions {
                    params: self.scheduler,
                    fifo_depth: self.fifo_depth,
                    driver_launch: self.driver_launch,
                    rule: self.rule,
                    step: self.step,
                };
                let mut host = WindowHost::new(&self.profile, stream.kernels().len(), options, engine)?;
                let simulated = self.simulate(&mut host, &mut machine)?;
                let cycles = host.simulated();
                // The last wait of the host is not the scheduler's.
                let end = machine.now() + 1;
                let (meter, trace) = host.into_measurements(end);
                window = Some((meter.report(cycles, end), trace));
                simulated
            }
        };
        let (window, slots) = window.unzip();
        Ok(Ran {
            report: PolicyReport {
                policy,
                cycles: simulated.cycles,
                micros: self.profile.micros(simulated.cycles),
                speedup: 1.0,
                overlap_speedup: 1.0,
                occupancy: machine.device.occupancy(simulated.cycles),
                visited_cycles: simulated.visited,
                window,
            },
            recording: Recording {
                policy,
                ctas: machine.device.spans().to_vec(),
                slots: slots.unwrap_or_default(),
                dispatched: machine.dispatched,
                completed: machine.completed,
            },
        })
    }

    fn simulate(&self, host: &mut dyn Host, machine: &mut Machine<'_>) -> Result<Simulated, SimError> {
        simulate(host, machine, self.step)
    }
}

struct Ran {
    report: PolicyReport,
    recording: Recording,
}

/// What a co-simulation gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The numbers.
    pub report: RunReport,
    /// What happened when, one per policy of the report.
    pub recordings: Vec<Recording>,
}

/// What happened when under one policy, in cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The policy.
    pub policy: Policy,
    /// Every CTA's life; empty unless [`CoSimulation::record`] was set.
    pub ctas: Vec<CtaSpan>,
    /// The kernels' times in window slots; empty but for `window`.
    pub slots: WindowTrace,
    /// When each kernel was dispatched.
    pub dispatched: Vec<Option<u64>>,
    /// When each kernel completed.
    pub completed: Vec<Option<u64>>,
}

/// The scheduler of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchedulerReport {
    /// What decided.
    pub engine: String,
    /// `matrix` or `list`.
    pub window: &'static str,
    /// Slots N.
    pub slots: usize,
    /// Retire ports R.
    pub retire_ports: usize,
    /// Length M of the scheduled list.
    pub scheduled: usize,
    /// `ids` or `mask`.
    pub encoding: &'static str,
    /// Ids per beat, for `ids`.
    pub lanes: Option<usize>,
    /// Packets that the queue to the hardware holds.
    pub fifo_depth: usize,
    /// The host pays a driver launch for every packet.
    pub driver_launch: bool,
}

/// One policy's numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyReport {
    /// The policy.
    pub policy: Policy,
    /// SM clock cycles until the host knew that everything had ended.
    pub cycles: u64,
    /// The same in microseconds.
    pub micros: f64,
    /// Time of `serial` over this.
    pub speedup: f64,
    /// Time of the same kernels one after the other with no overhead at all, over this: the gain that is overlap alone.
    /// Below 1 where overheads eat it up.
    pub overlap_speedup: f64,
    /// How full the SMs were.
    pub occupancy: Occupancy,
    /// Cycles that the simulation visited; time jumped over the others.
    pub visited_cycles: u64,
    /// For `window`.
    pub window: Option<WindowReport>,
}

/// A co-simulation's numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// Version of this form.
    pub format_version: u32,
    /// Name of the trace.
    pub trace: String,
    /// Kernels in it.
    pub kernels: usize,
    /// CTAs in it.
    pub ctas: u64,
    /// The device profile.
    pub gpu: String,
    /// Its SMs.
    pub sms: u32,
    /// Its SM clock in MHz.
    pub clock_mhz: u32,
    /// How hosts found hazards.
    pub rule: &'static str,
    /// The scheduling hardware.
    pub scheduler: SchedulerReport,
    /// Slots of the software window.
    pub software_slots: usize,
    /// CUDA streams of `streams`.
    pub streams: usize,
    /// One entry per policy.
    pub policies: Vec<PolicyReport>,
}

impl RunReport {
    /// The report as text: one table of policies, and one of the window's latencies where it ran.
    pub fn table(&self) -> String {
        let s = &self.scheduler;
        let lanes = s.lanes.map(|lanes| format!(" x{lanes}")).unwrap_or_default();
        let mut text = format!(
            "{}: {} kernels, {} CTAs on {} ({} SMs, {} MHz), hazards {}\nwindow: {} of {} slots, {} retire ports, M = {}, {}{lanes}, queue {}{}, engine {}; streams: {} slots, {} streams\n\n",
            self.trace,
            self.kernels,
            self.ctas,
            self.gpu,
            self.sms,
            self.clock_mhz,
            self.rule,
            s.window,
            s.slots,
            s.retire_ports,
            s.scheduled,
            s.encoding,
            s.fifo_depth,
            if s.driver_launch { " with driver launches" } else { "" },
            s.engine,
            self.software_slots,
            self.streams,
        );
        let mut rows = vec![
            ["policy", "cycles", "time [us]", "speed-up", "by overlap", "SMs busy", "CTA slots", "warps"]
                .map(String::from),
        ];
        for p in &self.policies {
            rows.push([
                p.policy.name().into(),
                p.cycles.to_string(),
                format!("{:.1}", p.micros),
                format!("{:.2}", p.speedup),
                format!("{:.2}", p.overlap_speedup),
                percent(p.occupancy.sms),
                percent(p.occupancy.cta_slots),
                percent(p.occupancy.warps),
            ]);
        }
        text.push_str(&align(&rows));
        for window in self.policies.iter().filter_map(|p| p.window.as_ref()) {
            let mut rows =
                vec![["latency [cycles]", "count", "min", "median", "p99", "max"].map(String::from)];
            for (name, d) in [
                ("insert", &window.insert),
                ("retire to dispatch", &window.retire_to_dispatch),
                ("host to dispatch", &window.host_to_dispatch),
            ] {
                let Distribution { count, min, median, p99, max } = d;
                let [count, min, median, p99, max] = [count, min, median, p99, max].map(u64::to_string);
                rows.push([name.into(), count, min, median, p99, max]);
            }
            let stalls = &window.stalls;
            let _ = write!(
                text,
                "\n{}\nwindow fill: mean {:.1}, most {}; stalled cycles: limit {}, full {}, busy {}, host slow {}, dispatcher not ready {}\nscheduler cycles: {} simulated, {} skipped\n",
                align(&rows),
                window.fill_mean,
                window.fill_max,
                stalls.limit,
                stalls.full,
                stalls.busy,
                stalls.host,
                stalls.dispatch,
                window.simulated_cycles,
                window.skipped_cycles,
            );
        }
        text
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Lines of columns: the first to the left, the others to the right.
fn align<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        for (c, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = match c {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

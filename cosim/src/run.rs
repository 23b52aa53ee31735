//! A whole co-simulation: options in, a report out.

use crate::device::{CtaSpan, Occupancy};
use crate::engine::{EngineError, STACK};
use crate::latency::{Distribution, WindowReport};
use crate::partition::Partitions;
use crate::policy::{
    FrontEndEngine, GraphCosts, GraphHost, Host, Machine, Policy, SerialHost, SimError, Simulated, Stream,
    StreamsHost, WindowHost, WindowOptions, WindowTrace, simulate,
};
use crate::profile::{Profile, saturate};
use serde::Serialize;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use thiserror::Error;
use windlass_gen::table::counted;
use windlass_rtl::params::{ArbiterKind, DispatchParams, Encoding, FrontEndParams, SchedulerParams};
use windlass_runtime::host::HazardRule;
use windlass_runtime::rename::RenameReport;

/// Version of [`RunReport`]'s serialised form.
pub const FORMAT_VERSION: u32 = 2;

/// Most streams, and most slots of the software window: beyond that the model only gets slow.
pub const MAX_STREAMS: usize = 1024;

/// Fastest clock of a front end in MHz: the fastest that profiles may have.
pub const MAX_MHZ: u32 = 10_000;

/// Why a co-simulation ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// A policy could not be run, or something was found wrong.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// The front end could not be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl RunError {
    /// True where hardware was checked and found wrong; false where the simulation could not be run.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Self::Simulation(error) if error.is_wrong())
    }
}

/// A co-simulation to be run: the GPU, the policies to compare, and their options.
#[derive(Clone, Debug)]
pub struct CoSimulation {
    /// The GPU and its host.
    pub profile: Profile,
    /// What to compare. `serial` is always run, for the others are measured against it.
    pub policies: Vec<Policy>,
    /// The scheduling hardware, for `window`.
    pub scheduler: SchedulerParams,
    /// The CTA arbiters: `window` is run once with each.
    pub arbiters: Vec<ArbiterKind>,
    /// The SMs that kernels may use by their partition, under every policy.
    pub partitions: Partitions,
    /// CTAs of one kernel that an arbiter of the front end places in one cycle, for `window`.
    pub places: usize,
    /// The front end's SM array stands still while nothing is asked of it, for `window`.
    pub hold_idle: bool,
    /// Clock of the front end in MHz, where it is not the SMs', for `window`; 1 to [`MAX_MHZ`].
    pub front_end_mhz: Option<u32>,
    /// Packets that the queue to the hardware holds, for `window` and `queue`; at least 1.
    pub fifo_depth: usize,
    /// `window`: the host pays a driver launch for every packet, instead of writing into a user-mode queue.
    pub driver_launch: bool,
    /// `window` and `queue`: nanoseconds from the end of a kernel's last CTA until the hardware takes notice, as where what the kernel
    /// wrote must first be seen by all SMs. The gaps of streams and the edges of graphs have theirs in them.
    pub kernel_end_ns: u64,
    /// Slots W of the software window, for `streams-ace`; at least 1.
    pub software_slots: usize,
    /// CUDA streams, and host threads, for `streams-ace`; at least 1.
    pub streams: usize,
    /// `streams-ace`: threads poll events instead of synchronising with their stream.
    pub poll_events: bool,
    /// `graph-cached`: kernels per graph, where it is not one graph for all that there is up to a synchronisation; at least 1.
    pub graph_window: Option<usize>,
    /// How hosts find hazards. The order checker is exact whatever this says.
    pub rule: HazardRule,
    /// Visit every cycle; otherwise time jumps, with the same results.
    pub step: bool,
    /// `window`: in so many of 100 cycles a CTA port refuses what is offered, each by chance; at most 90. Then every cycle is visited.
    pub cta_stalls: u8,
    /// In which: the same ones for the same seed.
    pub stall_seed: u64,
    /// `window`: when all is done, read all counters of the front end and compare them with what happened on its ports, in 15 cycles that
    /// are not part of the run.
    pub read_counters: bool,
    /// Keep what timelines need.
    pub record: bool,
    /// How many policies run at once, at least 1. The result is the same.
    pub jobs: usize,
    /// Told the name of each policy when it begins.
    pub progress: fn(&str),
}

/// Active kernels per type of the arbiter `typed`, where nobody says otherwise.
const ACTIVE: usize = 2;

/// Makes what decides.
type MakeEngine<'a> = dyn FnMut(FrontEndParams) -> Result<Box<dyn FrontEndEngine>, EngineError> + Send + 'a;

impl CoSimulation {
    /// All policies, both arbiters with two kernels per type at a time, 32 slots in software and in hardware, 8 streams, a queue of
    /// 64 packets.
    pub fn new(profile: Profile, scheduler: SchedulerParams) -> Self {
        Self {
            profile,
            policies: Policy::ALL.to_vec(),
            scheduler,
            arbiters: vec![ArbiterKind::Single, ArbiterKind::Typed { active: ACTIVE }],
            partitions: Partitions::default(),
            places: 1,
            hold_idle: false,
            front_end_mhz: None,
            fifo_depth: 64,
            driver_launch: false,
            kernel_end_ns: 0,
            software_slots: scheduler.window().slots(),
            streams: 8,
            poll_events: false,
            graph_window: None,
            rule: HazardRule::Exact,
            step: false,
            cta_stalls: 0,
            stall_seed: 0,
            read_counters: true,
            record: false,
            jobs: 1,
            progress: |_| (),
        }
    }

    /// The front end with that arbiter, for the profile's SMs.
    pub fn front_end(&self, arbiter: ArbiterKind) -> Result<FrontEndParams, SimError> {
        let sms = self.profile.sm_params()?.with_hold(self.hold_idle);
        let params = FrontEndParams::new(self.scheduler, arbiter, sms)?;
        Ok(params.with_places(self.places)?)
    }

    /// Runs every policy on `stream`; under `window`, `engine` is called once per arbiter and makes what decides, in the thread that runs it.
    ///
    /// # Errors
    /// That of the first policy that met one; [`RunError::is_wrong`] tells wrong hardware from what could not be run.
    pub fn run(
        &self,
        stream: &Stream,
        mut engine: impl FnMut(FrontEndParams) -> Result<Box<dyn FrontEndEngine>, EngineError> + Send,
    ) -> Result<Outcome, RunError> {
        self.run_on(stream, &mut engine)
    }

    /// The same, compiled once for all that make engines.
    fn run_on(&self, stream: &Stream, engine: &mut MakeEngine<'_>) -> Result<Outcome, RunError> {
        self.profile.check(&self.profile.name).map_err(SimError::from)?;
        if let Some(mhz) = self.front_end_mhz
            && !(1..=MAX_MHZ).contains(&mhz)
        {
            let (got, remedy) = (mhz as usize, "choose 1 to 10000");
            return Err(SimError::Option { option: "front-end-mhz", got, remedy }.into());
        }
        let mut jobs = vec![Job::Policy(Policy::Serial), Job::InOrder];
        // The job behind each row of the report.
        let mut rows = Vec::new();
        for &policy in &self.policies {
            match policy {
                Policy::Serial if !rows.contains(&0) => rows.push(0),
                Policy::Window => {
                    rows.extend(jobs.len()..jobs.len() + self.arbiters.len());
                    jobs.extend(self.arbiters.iter().map(|arbiter| Job::Window(*arbiter)));
                }
                _ => {
                    rows.push(jobs.len());
                    jobs.push(Job::Policy(policy));
                }
            }
        }
        let name = OnceLock::new();
        let engine = Mutex::new(engine);
        let run = |job: &Job| -> Result<Ran, RunError> {
            Ok(match *job {
                Job::InOrder => {
                    let mut machine =
                        Machine::new(&self.profile, &self.partitions, stream, "serial without overhead")?;
                    let simulated = self.simulate(&mut SerialHost::free(), &mut machine)?;
                    self.ran(Policy::Serial, None, self.profile.clock_mhz, machine, simulated, None)
                }
                Job::Policy(policy) => self.run_policy(policy, self.host(policy, stream)?, stream)?,
                Job::Window(arbiter) => {
                    let params = self.front_end(arbiter)?;
                    // One after another: a compiler has threads of its own.
                    let made = engine.lock().unwrap_or_else(PoisonError::into_inner)(params);
                    let mut engine = made?;
                    name.get_or_init(|| engine.name());
                    self.run_window(params, stream, &mut *engine)?
                }
            })
        };
        let ran = self.in_threads(&jobs, run)?;
        let [base, in_order] = [0, 1].map(|job| ran[job].report.cycles);
        let mut ran: Vec<Option<Ran>> = ran.into_iter().map(Some).collect();
        let mut policies = Vec::new();
        let mut recordings = Vec::new();
        for mut ran in rows.into_iter().filter_map(|row| ran[row].take()) {
            // A stream without kernels takes no time, and is no faster for it.
            let ratio =
                |time: u64| if time == 0 { 1.0 } else { time as f64 / ran.report.cycles.max(1) as f64 };
            (ran.report.speedup, ran.report.overlap_speedup) = (ratio(base), ratio(in_order));
            policies.push(ran.report);
            recordings.push(ran.recording);
        }
        let name = name.into_inner();
        Ok(Outcome { report: self.report(stream, name, policies), recordings })
    }

    /// Does all jobs, so many at once; those that take longest begin first.
    fn in_threads(
        &self,
        jobs: &[Job],
        run: impl Fn(&Job) -> Result<Ran, RunError> + Sync,
    ) -> Result<Vec<Ran>, RunError> {
        let threads = self.jobs.clamp(1, jobs.len());
        if threads == 1 {
            return jobs.iter().map(run).collect();
        }
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|job| !matches!(jobs[*job], Job::Window(_)));
        let next = AtomicUsize::new(0);
        let done: Vec<OnceLock<Result<Ran, RunError>>> = jobs.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some(&job) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let _ = done[job].set(run(&jobs[job]));
            }
        };
        thread::scope(|scope| {
            for n in 1..threads {
                let builder = thread::Builder::new().name(format!("policies {n}")).stack_size(STACK);
                // Where there can be no more threads, those that there are do it.
                let _ = builder.spawn_scoped(scope, work);
            }
            work();
        });
        done.into_iter().map(|result| result.into_inner().expect("every job was done")).collect()
    }

    /// What was run, and what came out.
    fn report(&self, stream: &Stream, engine: Option<String>, policies: Vec<PolicyReport>) -> RunReport {
        let window = self.scheduler.window();
        let upstream = self.scheduler.upstream();
        RunReport {
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
            partitions: self.partitions.ranges(),
            renaming: stream.renaming().to_vec(),
            scheduler: SchedulerReport {
                engine,
                window: self.scheduler.kind().name(),
                slots: window.slots(),
                retire_ports: window.retire_ports(),
                pipelined: window.pipelined(),
                scheduled: upstream.scheduled(),
                encoding: upstream.encoding().name(),
                lanes: match upstream.encoding() {
                    Encoding::Ids { lanes } => Some(lanes),
                    Encoding::Mask => None,
                },
                clock_mhz: self.front_end_mhz.unwrap_or(self.profile.clock_mhz),
                fifo_depth: self.fifo_depth,
                driver_launch: self.driver_launch,
                kernel_end_ns: self.kernel_end_ns,
                cta_stalls: self.cta_stalls,
                stall_seed: (self.cta_stalls > 0).then_some(self.stall_seed),
            },
            software_slots: self.software_slots,
            streams: self.streams,
            poll_events: self.poll_events,
            graph_window: self.graph_window,
            policies,
        }
    }

    /// Every cycle is visited.
    fn steps(&self) -> bool {
        self.step || self.cta_stalls > 0
    }

    fn machine<'a>(
        &self,
        profile: &Profile,
        stream: &'a Stream,
        policy: &'static str,
    ) -> Result<Machine<'a>, SimError> {
        (self.progress)(policy);
        let mut machine = Machine::new(profile, &self.partitions, stream, policy)?;
        if self.record {
            machine.device.record();
        }
        Ok(machine)
    }

    /// The host of a policy that no hardware carries out: not of `window`.
    fn host(&self, policy: Policy, stream: &Stream) -> Result<Box<dyn Host>, SimError> {
        Ok(match policy {
            Policy::Serial => Box::new(SerialHost::new(&self.profile)),
            Policy::Queue => {
                let kernel_end = self.profile.cycles(self.kernel_end_ns);
                if self.fifo_depth == 0 {
                    return Err(SimError::NO_FIFO);
                }
                Box::new(SerialHost::queue(&self.profile, self.driver_launch, kernel_end, self.fifo_depth))
            }
            Policy::StreamsAce => {
                let option = |option, got| {
                    let checked = NonZeroUsize::new(got).filter(|got| got.get() <= MAX_STREAMS);
                    checked.ok_or(SimError::Option { option, got, remedy: "choose 1 to 1024" })
                };
                let slots = option("software-slots", self.software_slots)?;
                let streams = option("streams", self.streams)?;
                let upstream = stream.upstream_by(self.rule)?.into_owned();
                Box::new(StreamsHost::new(&self.profile, upstream, slots, streams, self.poll_events))
            }
            Policy::Graph | Policy::GraphCached => {
                let upstream = stream.upstream_by(self.rule)?;
                let (costs, window) = match policy {
                    Policy::Graph => (GraphCosts::cuda(&self.profile), None),
                    _ => (GraphCosts::cached(&self.profile), self.graph_window),
                };
                if window == Some(0) {
                    let remedy = "choose 1 or more";
                    return Err(SimError::Option { option: "graph-window", got: 0, remedy });
                }
                Box::new(GraphHost::new(costs, &upstream, stream.sections(), window))
            }
            Policy::Ideal => {
                let upstream = stream.upstream_by(HazardRule::Exact)?;
                Box::new(GraphHost::new(GraphCosts::FREE, &upstream, stream.sections(), None))
            }
            Policy::Window => unreachable!("it is a job of its own"),
        })
    }

    /// Runs a policy that no hardware carries out.
    fn run_policy(&self, policy: Policy, mut host: Box<dyn Host>, stream: &Stream) -> Result<Ran, SimError> {
        let mut machine = self.machine(&self.profile, stream, policy.name())?;
        let simulated = self.simulate(&mut *host, &mut machine)?;
        Ok(self.ran(policy, None, self.profile.clock_mhz, machine, simulated, None))
    }

    /// Runs `window` with one front end, in steps of its clock.
    fn run_window(
        &self,
        params: FrontEndParams,
        stream: &Stream,
        engine: &mut dyn FrontEndEngine,
    ) -> Result<Ran, SimError> {
        let dispatch = params.dispatch();
        if self.cta_stalls > 90 {
            let (got, remedy) = (self.cta_stalls.into(), "choose 0 to 90");
            return Err(SimError::Option { option: "cta-stalls", got, remedy });
        }
        let profile = match self.front_end_mhz {
            Some(mhz) => &self.profile.counted_at(mhz),
            None => &self.profile,
        };
        let mut machine = self.machine(profile, stream, window_name(dispatch.arbiter()))?;
        let options = WindowOptions {
            params,
            fifo_depth: self.fifo_depth,
            driver_launch: self.driver_launch,
            kernel_end: profile.cycles(self.kernel_end_ns),
            rule: self.rule,
            step: self.steps(),
            cta_stalls: self.cta_stalls,
            stall_seed: self.stall_seed,
        };
        let mut host = WindowHost::new(profile, &self.partitions, &machine, options, engine)?;
        let simulated = self.simulate(&mut host, &mut machine)?;
        let cycles = host.simulated();
        // The last wait of the host is not the hardware's.
        let end = machine.now() + 1;
        if self.read_counters {
            host.read_counters(end)?;
        }
        let (meter, trace) = host.into_measurements(end);
        let window = (meter.report(cycles, end, dispatch.sms().holds()), trace);
        Ok(self.ran(Policy::Window, Some(dispatch), profile.clock_mhz, machine, simulated, Some(window)))
    }

    /// What a policy did in steps of `clock_mhz`; its report is in SM clock cycles.
    fn ran(
        &self,
        policy: Policy,
        dispatch: Option<DispatchParams>,
        clock_mhz: u32,
        machine: Machine<'_>,
        simulated: Simulated,
        window: Option<(WindowReport, WindowTrace)>,
    ) -> Ran {
        let (window, slots) = window.unzip();
        let stream = machine.stream;
        let mut ends = vec![0; stream.traces().len()];
        for (k, completed) in machine.completed.iter().enumerate() {
            let end = &mut ends[stream.origin(k)];
            *end = completed.unwrap_or(0).max(*end);
        }
        let sm_cycles = |steps: u64| {
            let steps = u128::from(steps) * u128::from(self.profile.clock_mhz);
            saturate(steps.div_ceil(clock_mhz.into()))
        };
        let traces = stream.traces().iter().zip(ends).map(|(trace, end)| TraceEnd {
            trace: trace.clone(),
            cycles: sm_cycles(end),
            micros: self.profile.micros(sm_cycles(end)),
        });
        let cycles = sm_cycles(simulated.cycles);
        Ran {
            report: PolicyReport {
                policy,
                arbiter: dispatch.map(ArbiterReport::from),
                cycles,
                micros: self.profile.micros(cycles),
                speedup: 1.0,
                overlap_speedup: 1.0,
                occupancy: machine.device.occupancy(simulated.cycles),
                traces: traces.collect(),
                visited_cycles: simulated.visited,
                window,
            },
            recording: Recording {
                policy,
                arbiter: dispatch.map(DispatchParams::arbiter),
                clock_mhz,
                ctas: machine.device.spans().to_vec(),
                slots: slots.unwrap_or_default(),
                dispatched: machine.dispatched,
                completed: machine.completed,
            },
        }
    }

    fn simulate(&self, host: &mut dyn Host, machine: &mut Machine<'_>) -> Result<Simulated, SimError> {
        simulate(host, machine, self.steps())
    }
}

/// What errors, tables and timelines call `window` with that arbiter.
fn window_name(arbiter: ArbiterKind) -> &'static str {
    match arbiter {
        ArbiterKind::Single => "window single",
        ArbiterKind::Typed { .. } => "window typed",
    }
}

/// What is run by itself.
enum Job {
    /// A policy that no hardware carries out.
    Policy(Policy),
    /// `serial` without overhead: what overlap alone is measured against.
    InOrder,
    /// `window` with this arbiter.
    Window(ArbiterKind),
}

struct Ran {
    report: PolicyReport,
    recording: Recording,
}

/// What a co-simulation gives: its report, and recordings for timelines.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The numbers.
    pub report: RunReport,
    /// What happened when, one per policy of the report.
    pub recordings: Vec<Recording>,
}

/// What happened when under one policy, in cycles of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The policy.
    pub policy: Policy,
    /// The arbiter that placed CTAs under `window`.
    pub arbiter: Option<ArbiterKind>,
    /// The clock in MHz: the front end's under `window`, else the SMs'.
    pub clock_mhz: u32,
    /// Every CTA's life; empty unless [`CoSimulation::record`] was set.
    pub ctas: Vec<CtaSpan>,
    /// The kernels' times in window slots; empty but for `window`.
    pub slots: WindowTrace,
    /// When each kernel was dispatched.
    pub dispatched: Vec<Option<u64>>,
    /// When each kernel completed.
    pub completed: Vec<Option<u64>>,
}

impl Recording {
    /// The policy's name, with the arbiter where there is one.
    pub fn name(&self) -> &'static str {
        self.arbiter.map_or(self.policy.name(), window_name)
    }
}

/// What tables call an arbiter: `single`, or `single x4` where it places four CTAs of a kernel per cycle.
pub fn arbiter_name(kind: &str, places: usize) -> String {
    match places {
        1 => kind.into(),
        _ => format!("{kind} x{places}"),
    }
}

/// The CTA arbiter of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ArbiterReport {
    /// `single` or `typed`.
    pub kind: &'static str,
    /// Kernels of one type, or of all with `single`, whose CTAs are placed at the same time.
    pub active: usize,
    /// CTAs of one kernel that are placed in one cycle.
    pub places: usize,
}

impl From<DispatchParams> for ArbiterReport {
    fn from(params: DispatchParams) -> Self {
        let arbiter = params.arbiter();
        Self { kind: arbiter.name(), active: arbiter.active(), places: params.places() }
    }
}

impl ArbiterReport {
    /// What tables call it: the kind, and how many CTAs it places per cycle where it is not one, as in `single x4`.
    pub fn name(self) -> String {
        arbiter_name(self.kind, self.places)
    }
}

/// When one of the traces that run side by side had ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceEnd {
    /// Its name.
    pub trace: String,
    /// The cycle in which its last CTA had ended; what the host waits for is not in it.
    pub cycles: u64,
    /// The same in microseconds.
    pub micros: f64,
}

/// The scheduler of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchedulerReport {
    /// What decided; none where `window` was not run.
    pub engine: Option<String>,
    /// `matrix` or `list`.
    pub window: &'static str,
    /// Slots N.
    pub slots: usize,
    /// Retire ports R.
    pub retire_ports: usize,
    /// The matrix window has a pipeline stage more.
    pub pipelined: bool,
    /// Length M of the scheduled list.
    pub scheduled: usize,
    /// `ids` or `mask`.
    pub encoding: &'static str,
    /// Ids per beat, for `ids`.
    pub lanes: Option<usize>,
    /// Its clock in MHz, which is the whole front end's.
    pub clock_mhz: u32,
    /// Packets that the queue to the hardware holds.
    pub fifo_depth: usize,
    /// The host pays a driver launch for every packet.
    pub driver_launch: bool,
    /// Nanoseconds from the end of a kernel's last CTA until the hardware takes notice.
    pub kernel_end_ns: u64,
    /// In so many of 100 cycles a CTA port refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub cta_stalls: u8,
    /// In which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_seed: Option<u64>,
}

fn is_zero(percent: &u8) -> bool {
    *percent == 0
}

/// One policy's numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyReport {
    /// The policy.
    pub policy: Policy,
    /// The CTA arbiter, for `window`.
    pub arbiter: Option<ArbiterReport>,
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
    /// When each of the traces that run side by side had ended; one where a trace runs alone.
    pub traces: Vec<TraceEnd>,
    /// Cycles that the simulation visited, of the front end's clock under `window`; time jumped over the others.
    pub visited_cycles: u64,
    /// For `window`, in cycles of the front end's clock.
    pub window: Option<WindowReport>,
}

impl PolicyReport {
    /// The policy's name, with the arbiter where there is one.
    pub fn name(&self) -> String {
        let arbiter = self.arbiter.map(|arbiter| format!(" {}", arbiter.name())).unwrap_or_default();
        format!("{}{arbiter}", self.policy.name())
    }
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
    /// The SMs of partitions 0, 1, 2 and so on, where they are not all.
    pub partitions: Vec<String>,
    /// What was renamed before, trace by trace; empty where all addresses are the traces' own.
    pub renaming: Vec<RenameReport>,
    /// The scheduling hardware.
    pub scheduler: SchedulerReport,
    /// Slots of the software window.
    pub software_slots: usize,
    /// CUDA streams of `streams-ace`.
    pub streams: usize,
    /// Whether their threads poll events.
    pub poll_events: bool,
    /// Kernels per graph of `graph-cached`, where it is not one graph up to a synchronisation.
    pub graph_window: Option<usize>,
    /// One entry per policy.
    pub policies: Vec<PolicyReport>,
}

impl RunReport {
    /// The report as text: one table of policies, and for each arbiter one of the front end's latencies where it ran.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{}: {}, {} on {} ({}, {} MHz), hazards {}\n",
            self.trace,
            counted(self.kernels, "kernel"),
            counted(self.ctas, "CTA"),
            self.gpu,
            counted(self.sms, "SM"),
            self.clock_mhz,
            self.rule,
        );
        let setting = self.setting();
        if !setting.is_empty() {
            let _ = writeln!(text, "{setting}");
        }
        if !self.partitions.is_empty() {
            let ranges = self.partitions.iter().enumerate().map(|(p, range)| format!("{p}: SMs {range}"));
            let _ = writeln!(text, "partitions: {}", ranges.collect::<Vec<_>>().join("; "));
        }
        for r in &self.renaming {
            let _ = writeln!(
                text,
                "renaming, budget {}: {} of {}, at most {} at a time; temporary memory {}",
                r.budget,
                r.renamed,
                counted(r.versions, "version"),
                counted(r.peak_bytes, "byte"),
                counted(r.temporary_bytes, "byte")
            );
        }
        text.push('\n');
        text.push_str(&self.policy_table());
        let ends = self.policies.first().map_or(&[][..], |p| &p.traces);
        if ends.len() > 1 {
            let mut rows = vec![vec!["ends [us]".to_string()]];
            rows[0].extend(ends.iter().map(|end| end.trace.clone()));
            rows.extend(self.policies.iter().map(|p| {
                let ends = p.traces.iter().map(|end| format!("{:.1}", end.micros));
                [p.name()].into_iter().chain(ends).collect()
            }));
            let _ = write!(text, "\n{}", align(&rows));
        }
        for policy in &self.policies {
            if let Some(window) = &policy.window {
                text.push_str(&window_text(&policy.name(), window));
            }
        }
        text
    }

    /// What the policies that were run have, but for those that have nothing to set.
    fn setting(&self) -> String {
        let s = &self.scheduler;
        let ran = |policy| self.policies.iter().any(|p| p.policy == policy);
        let driver = if s.driver_launch { " with driver launches" } else { "" };
        let late = match s.kernel_end_ns {
            0 => String::new(),
            ns => format!(", kernels end {ns} ns late"),
        };
        let stalls = match s.cta_stalls {
            0 => String::new(),
            percent => {
                let seed = s.stall_seed.unwrap_or(0);
                format!(", CTA ports stall in {percent} % of cycles (seed {seed})")
            }
        };
        let mut parts = Vec::new();
        if let Some(engine) = &s.engine {
            let pipelined = if s.pipelined { ", pipelined," } else { "" };
            let lanes = s.lanes.map(|lanes| format!(" x{lanes}")).unwrap_or_default();
            let mut arbiters = self.policies.iter().filter_map(|p| p.arbiter);
            let active = match arbiters.find(|arbiter| arbiter.kind == "typed" && arbiter.active != ACTIVE) {
                Some(typed) => format!(", {} active per type", typed.active),
                None => String::new(),
            };
            parts.push(format!(
                "window: {}{pipelined} of {}, {}, M = {}, {}{lanes}{active}, queue {}{driver}{late}{stalls}, dispatcher {engine} at {} MHz",
                s.window,
                counted(s.slots, "slot"),
                counted(s.retire_ports, "retire port"),
                s.scheduled,
                s.encoding,
                s.fifo_depth,
                s.clock_mhz
            ));
        } else if ran(Policy::Queue) {
            parts.push(format!("queue {}{driver}{late}", s.fifo_depth));
        }
        if ran(Policy::StreamsAce) {
            let polled = if self.poll_events { ", events polled" } else { "" };
            let (slots, streams) = (counted(self.software_slots, "slot"), counted(self.streams, "stream"));
            parts.push(format!("streams: {slots}, {streams}{polled}"));
        }
        parts.extend(self.graph_window.map(|n| format!("graph-cached: {} per graph", counted(n, "kernel"))));
        parts.join("; ")
    }

    fn policy_table(&self) -> String {
        let titles = [
            "policy",
            "cycles",
            "time [us]",
            "speed-up",
            "by overlap",
            "SMs busy",
            "both types",
            "CTA slots",
            "warps",
            "memory",
            "CTAs/cycle",
        ];
        let mut rows = vec![titles.map(String::from).to_vec()];
        for p in &self.policies {
            let placed = p.window.map(|w| format!("{:.2}", w.placement.per_possible_cycle));
            rows.push(vec![
                p.name(),
                p.cycles.to_string(),
                format!("{:.1}", p.micros),
                format!("{:.2}", p.speedup),
                format!("{:.2}", p.overlap_speedup),
                percent(p.occupancy.sms),
                percent(p.occupancy.both_types),
                percent(p.occupancy.cta_slots),
                percent(p.occupancy.warps),
                percent(p.occupancy.memory),
                placed.unwrap_or_else(|| "-".into()),
            ]);
        }
        align(&rows)
    }
}

/// What one front end did, as text.
fn window_text(name: &str, window: &WindowReport) -> String {
    let title = format!("{name} [cycles]");
    let mut rows = vec![[title.as_str(), "count", "min", "median", "p99", "max"].map(String::from).to_vec()];
    for (name, d) in [
        ("insert", &window.insert),
        ("retire to dispatch", &window.retire_to_dispatch),
        ("last CTA done to first CTA", &window.done_to_first_cta),
        ("host to dispatch", &window.host_to_dispatch),
    ] {
        let Distribution { count, min, median, p99, max } = d;
        let cycles = |n: &u64| if *count == 0 { "-".to_string() } else { n.to_string() };
        let numbers = [min, median, p99, max].map(cycles);
        rows.push([name.to_string(), count.to_string()].into_iter().chain(numbers).collect());
    }
    let (stalls, p) = (&window.stalls, &window.placement);
    let all = window.simulated_cycles + window.skipped_cycles;
    let share =
        |cycles: u64| format!("; the SM array goes round in {} of all", percent(cycles as f64 / all as f64));
    let array = window.array_cycles.map(share).unwrap_or_default();
    format!(
        "\n{}window fill: mean {:.1}, most {}; stalled cycles: limit {}, full {}, busy {}, host slow {}, no room {}, CTA on its way {}\nCTAs placed: {} SIMT, {} TENSOR; per cycle: {:.3} of {} with any to place, {:.3} of {} with room for one; two or more in {}, at most {} in a row\nfront end cycles: {} simulated, {} skipped{}\n",
        align(&rows),
        window.fill_mean,
        window.fill_max,
        stalls.limit,
        stalls.full,
        stalls.busy,
        stalls.host,
        stalls.room,
        stalls.place,
        p.simt,
        p.tensor,
        p.per_waiting_cycle,
        p.waiting_cycles,
        p.per_possible_cycle,
        p.possible_cycles,
        counted(p.double_cycles, "cycle"),
        p.longest_double,
        window.simulated_cycles,
        window.skipped_cycles,
        array,
    )
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// The first column to the left, the others to the right.
fn align(rows: &[Vec<String>]) -> String {
    windlass_gen::table::text(rows, |column| column == 0)
}

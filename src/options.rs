//! Options that several subcommands have.

use crate::{Failure, workload};
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Arg, Args, Parser, ValueEnum};
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use windlass_catalog::{BlockSpec, Request, parameters};
use windlass_cosim::explore::FrontEndClock;
use windlass_cosim::profile::Profile;
use windlass_cosim::run::{CoSimulation, MAX_MHZ};
use windlass_gen::constraints::Constraints;
use windlass_gen::emit::ResetKind;
use windlass_gen::report::render::Conditions;
use windlass_gen::rtl::{Rtl, RtlError, Source};
use windlass_gen::synth::library;
use windlass_gen::table::counted;
use windlass_rtl::params::{ArbiterKind, Encoding, ParamError, SmLimits, SmParams, WindowKind};
use windlass_runtime::ktrace::Trace;
use windlass_runtime::rename::{Budget, RenameReport, Renamed, rename};

/// Groups of options in the help of the commands that have many; options in no group come first.
pub const HARDWARE: &str = "Hardware";
/// See [`HARDWARE`].
pub const CONDITIONS: &str = "Conditions";
/// See [`HARDWARE`].
pub const SYNTHESIS: &str = "Synthesis";

/// `--window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WindowArg {
    /// Dependency matrix: one cycle to insert, one to retire
    Matrix,
    /// ACE's lists of ids: N cycles to insert, N-1 to retire
    List,
}

impl From<WindowArg> for WindowKind {
    fn from(arg: WindowArg) -> Self {
        match arg {
            WindowArg::Matrix => Self::Matrix,
            WindowArg::List => Self::List,
        }
    }
}

/// `--encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodingArg {
    /// A list of kernel ids, `--lanes` of them per beat
    Ids,
    /// A mask over the last M kernels
    Mask,
}

/// `--reset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResetArg {
    /// At a rising clock edge
    Sync,
    /// At once; the surrounding design must end the reset in time before a clock edge
    Async,
}

impl From<ResetArg> for ResetKind {
    fn from(arg: ResetArg) -> Self {
        match arg {
            ResetArg::Sync => Self::Synchronous,
            ResetArg::Async => Self::Asynchronous,
        }
    }
}

/// `--arbiter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArbiterArg {
    /// One kernel after the other, head of line, as today's GPUs do
    Single,
    /// One arbiter per CTA type, as in Kitsune
    Typed,
}

/// The arbiters that were chosen for front ends; `active` only if the user named it.
///
/// # Errors
/// `active` is named, and none of them has active kernels.
pub fn arbiters(chosen: &[ArbiterArg], active: Option<usize>) -> Result<Vec<ArbiterKind>, String> {
    let default = Request::default().arbiter.active();
    let typed = ArbiterKind::Typed { active: active.unwrap_or(default) };
    if let Some(active) = active
        && !chosen.contains(&ArbiterArg::Typed)
    {
        return Err(format!(
            "--active {active}: only the arbiter `typed` has active kernels; add it to --arbiter"
        ));
    }
    let kind = |arg: &ArbiterArg| if *arg == ArbiterArg::Single { ArbiterKind::Single } else { typed };
    Ok(chosen.iter().map(kind).collect())
}

/// Help for `--scheduled` where a scheduler is built without a front end around it.
pub const SCHEDULED_ALONE: &str = "How many kernels the host looks back, M: 8 to 255; with --encoding mask 8, 16, 32, 64, 128 or 255 [default: 128]";

/// A block and its parameters. What the help of [`HardwareArgs`] says holds for a front end.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("scheduled", |arg| arg.help(
    "How many kernels the host looks back, M: 8 to 255; with --encoding mask 8, 16, 32, 64, 128 or 255, for a front_end 32 or 128 [default: 128]"
)))]
pub struct BlockArgs {
    /// Name of the block; `windlass gen --list` prints all names [default: front_end]
    #[arg(long, value_name = "BLOCK")]
    block: Option<String>,
    /// Kind of window of a kernel_scheduler or a front_end [default: matrix]
    #[arg(help_heading = HARDWARE, long, value_enum)]
    window: Option<WindowArg>,
    /// Slots of the window, or requests of a picker: 4, 8, 16, 24, 32, 48, 64, 96 or 128; for round_robin also 28, 46, 108, 132, 144 or
    /// 192 [default: 32]
    #[arg(help_heading = HARDWARE, long, value_name = "N")]
    slots: Option<usize>,
    #[command(flatten)]
    hardware: HardwareArgs,
    #[command(flatten)]
    dispatch: DispatchArgs,
}

/// An option of [`BlockArgs`] as the help of `prove` has it: with the default of [`BlockArgs::small_spec`].
pub fn of_small_block(arg: Arg) -> Arg {
    let small = match arg.get_id().as_str() {
        "slots" => "8; for a front_end, or with --both-windows, 4",
        "sms" => "8; for a front_end 4",
        "lanes" => "4; for a front_end 1",
        "active" => "2; for a front_end 1",
        "sm_ctas" => "32; for a front_end 2",
        "sm_warps" => "64; for a front_end 4",
        "sm_registers" => "256; for a front_end 4",
        "sm_smem" => "1824; for a front_end 4",
        _ => return arg,
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let says = help.split(" [default: ").next().unwrap_or_default();
    arg.help(format!("{says} [default: {small}]"))
}

/// Verilog in place of what is generated.
#[derive(Clone, Debug, Default, Args)]
pub struct RtlArgs {
    /// Take Verilog of your own in place of what is generated: a folder that `windlass gen` has written and you have changed; or a list
    /// of files, FILE.f, or one file, .v or .sv, with the options that say which block it is
    #[arg(help_heading = HARDWARE, long, value_name = "FOLDER|FILE", value_parser = PathBufValueParser::new())]
    pub rtl: Option<PathBuf>,
    /// Top module of --rtl [default: the folder's; the name of the list or the file]
    #[arg(help_heading = HARDWARE, long, value_name = "MODULE", requires = "rtl")]
    pub top: Option<String>,
}

impl RtlArgs {
    /// What was read, where there is any.
    pub fn read(&self) -> Result<Option<Source>, RtlError> {
        let Some(path) = &self.rtl else { return Ok(None) };
        let source = Source::read(path)?;
        Ok(Some(match &self.top {
            Some(top) => source.with_top(top),
            None => source,
        }))
    }
}

/// The block that a folder of `windlass gen` says it is, by the words of a command line; `given` are those options that the user gave and
/// that say it too.
pub fn block_of(path: &Path, words: &[String], given: &[&str]) -> Result<BlockSpec, Failure> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        block: BlockArgs,
    }
    let path = path.display();
    if !given.is_empty() {
        let options = given.iter().map(|option| format!("--{option}")).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "{path} says itself which block it is ({}): leave out {options}",
            words.join(" ")
        )
        .into());
    }
    let parsed = Words::try_parse_from(words).map_err(|e| e.kind().to_string());
    let spec = parsed.and_then(|words| words.block.spec().map_err(|e| e.to_string()));
    Ok(spec.map_err(|e| {
        format!("{path}: its metadata names no block of this Windlass ({e}): {}", words.join(" "))
    })?)
}

impl BlockArgs {
    /// The block.
    pub fn spec(&self) -> Result<BlockSpec, ParamError> {
        self.hardware.block(self.name(), self.window, self.slots, self.dispatch)
    }

    fn name(&self) -> &str {
        self.block.as_deref().unwrap_or("front_end")
    }

    /// The options that the user gave.
    fn given(&self) -> Vec<&'static str> {
        let own = [
            ("block", self.block.is_some()),
            ("window", self.window.is_some()),
            ("slots", self.slots.is_some()),
        ];
        let all = own.into_iter().chain(self.hardware.given()).chain(self.dispatch.given());
        all.filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    /// The block and its Verilog: that of `rtl`, else what is emitted. Where nothing else says which block it is, `spec` does.
    pub fn with_rtl(
        &self,
        rtl: &RtlArgs,
        spec: impl FnOnce(&Self) -> Result<BlockSpec, ParamError>,
    ) -> Result<(BlockSpec, Rtl), Failure> {
        let (Some(path), Some(source)) = (&rtl.rtl, rtl.read()?) else {
            let spec = spec(self)?;
            return Ok((spec, Rtl::emitted(spec)?));
        };
        let spec = match &source.arguments {
            Some(words) => block_of(path, words, &self.given())?,
            None if self.block.is_some() => spec(self)?,
            None => {
                return Err(format!(
                    "--rtl {}: say which block it is, with --block and the options of its parameters",
                    path.display()
                )
                .into());
            }
        };
        Ok((spec, source.of(spec)))
    }

    /// Whether a device profile says anything of the block.
    pub fn has_sms(&self) -> Result<bool, ParamError> {
        Ok(parameters(self.name(), Encoding::Mask)?.contains(&"sms"))
    }

    /// The block, with `sms`, if it has SMs, where the user named no others.
    pub fn spec_for(&self, sms: SmParams) -> Result<BlockSpec, ParamError> {
        let dispatch = self.dispatch.or_sms(self.name(), sms)?;
        self.hardware.block(self.name(), self.window, self.slots, dispatch)
    }

    /// The block, where the user named no number as small as a proof wants it: `size` slots and SMs; of a front end, which holds all
    /// other blocks, 4, one upstream id per beat, one active kernel per type, and SMs of 2 CTAs.
    pub fn small_spec(&self, size: usize) -> Result<BlockSpec, ParamError> {
        let has = parameters(self.name(), Encoding::Mask)?;
        let whole = has.contains(&"sms") && has.contains(&"window");
        let size = if whole { 4 } else { size };
        let sized = |name: &str, given: Option<usize>| given.or(has.contains(&name).then_some(size));
        let (mut hardware, mut dispatch) = (self.hardware, self.dispatch);
        dispatch.sms = sized("sms", dispatch.sms);
        if whole {
            let mask = matches!(hardware.encoding, Some(EncodingArg::Mask));
            let single = matches!(dispatch.arbiter, Some(ArbiterArg::Single));
            hardware.lanes = hardware.lanes.or((!mask).then_some(1));
            dispatch.active = dispatch.active.or((!single).then_some(1));
            dispatch.sm_ctas = dispatch.sm_ctas.or(Some(2));
            for limit in [&mut dispatch.sm_warps, &mut dispatch.sm_registers, &mut dispatch.sm_smem] {
                *limit = limit.or(Some(4));
            }
        }
        hardware.block(self.name(), self.window, sized("slots", self.slots), dispatch)
    }
}

/// Parameters of the CTA dispatcher. A block refuses those that it does not have.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DispatchArgs {
    /// Number of SMs, 1 to 192 [default: 132]
    #[arg(help_heading = HARDWARE, long, value_name = "S")]
    pub sms: Option<usize>,
    /// How CTAs are distributed to SMs [default: typed]
    #[arg(help_heading = HARDWARE, long, value_enum)]
    pub arbiter: Option<ArbiterArg>,
    /// Kernels of one type whose CTAs can be placed at the same time, with --arbiter typed: 1, 2 or 4 [default: 2]
    #[arg(help_heading = HARDWARE, long, value_name = "K")]
    pub active: Option<usize>,
    /// CTAs of one kernel that an arbiter can place in one cycle: 1, 2 or 4 [default: 1]
    #[arg(help_heading = HARDWARE, long, value_name = "P")]
    pub places: Option<usize>,
    /// Let the SM array and the partition masks stand still while no CTA waits for an SM and no completion comes, instead of going
    /// round in every cycle
    ///
    /// This saves energy where there are clock gates (or flip-flops with enables, as in FPGAs), and costs area where there are none.
    #[arg(help_heading = HARDWARE, long)]
    pub hold_idle: bool,
    /// CTA slots per SM, 1 to 32 [default: 32]
    #[arg(help_heading = HARDWARE, long, value_name = "N")]
    pub sm_ctas: Option<usize>,
    /// Warps per SM, 1 to 64 [default: 64]
    #[arg(help_heading = HARDWARE, long, value_name = "N")]
    pub sm_warps: Option<usize>,
    /// Registers per SM, in allocation units, 1 to 256 [default: 256]
    #[arg(help_heading = HARDWARE, long, value_name = "UNITS")]
    pub sm_registers: Option<usize>,
    /// Shared memory per SM, in allocation units, 1 to 2047 [default: 1824]
    #[arg(help_heading = HARDWARE, long, value_name = "UNITS")]
    pub sm_smem: Option<usize>,
}

impl DispatchArgs {
    /// Its options, and whether the user gave them.
    pub fn given(self) -> [(&'static str, bool); 9] {
        [
            ("sms", self.sms.is_some()),
            ("arbiter", self.arbiter.is_some()),
            ("active", self.active.is_some()),
            ("places", self.places.is_some()),
            ("hold-idle", self.hold_idle),
            ("sm-ctas", self.sm_ctas.is_some()),
            ("sm-warps", self.sm_warps.is_some()),
            ("sm-registers", self.sm_registers.is_some()),
            ("sm-smem", self.sm_smem.is_some()),
        ]
    }

    /// The same with `sms` where the user named no others, as far as the block called `name` has limits.
    pub fn or_sms(mut self, name: &str, sms: SmParams) -> Result<Self, ParamError> {
        let limits = sms.limits();
        let has = parameters(name, Encoding::Mask)?;
        if has.contains(&"sms") {
            self.sms = self.sms.or(Some(sms.sms()));
        }
        if has.contains(&"sm-ctas") {
            for (given, profile) in [
                (&mut self.sm_ctas, limits.ctas()),
                (&mut self.sm_warps, limits.warps()),
                (&mut self.sm_registers, limits.registers()),
                (&mut self.sm_smem, limits.smem()),
            ] {
                *given = given.or(Some(profile.into()));
            }
        }
        Ok(self)
    }

    /// The arbiter, where the user named one or its size.
    pub fn arbiter(self) -> ArbiterKind {
        match (self.arbiter, self.active) {
            (Some(ArbiterArg::Single), _) => ArbiterKind::Single,
            (_, Some(active)) => ArbiterKind::Typed { active },
            (_, None) => Request::default().arbiter,
        }
    }

    fn limits(self) -> Result<SmLimits, ParamError> {
        let default = SmLimits::H100;
        SmLimits::new(
            self.sm_ctas.unwrap_or(default.ctas().into()),
            self.sm_warps.unwrap_or(default.warps().into()),
            self.sm_registers.unwrap_or(default.registers().into()),
            self.sm_smem.unwrap_or(default.smem().into()),
        )
    }
}

/// Clocks, I/O budgets and exceptions: those of the file, else the built-in ones, with another period where one is given in ns.
pub fn constraints(file: Option<&Path>, period: Option<f64>) -> Result<Constraints, Failure> {
    let constraints = match file {
        Some(path) => Constraints::load(path)?,
        None => Constraints::embedded(),
    };
    Ok(match period {
        Some(period) => constraints.with_period(period)?,
        None => constraints,
    })
}

/// Refuses what says how netlists are timed, where `--flow area` times none.
pub fn timed(area: bool, constraints: Option<&Path>, period: Option<f64>) -> Result<(), String> {
    for (option, given) in [("constraints", constraints.is_some()), ("period", period.is_some())] {
        if area && given {
            return Err(format!(
                "--{option}: with --flow area no netlist is timed; choose --flow quick or full, or leave --{option} out"
            ));
        }
    }
    Ok(())
}

/// The file that an option names beside what is printed, or the folder. `-` is stdout to who writes it, and nothing of this goes there.
pub fn output() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == workload::STANDARD {
        true => Err("stdout is taken by what is printed; give a name, ./- if it is to be `-`"),
        false => Ok(path),
    })
}

/// A number of SMs.
pub fn sms(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("give a whole number, 1 to {}", u32::MAX))
}

/// The Liberty file that is named, else that of the library of this name.
pub fn liberty(file: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    match file {
        Some(path) => Ok(path.to_path_buf()),
        None => Ok(library::find(name)?),
    }
}

/// `--front-end-mhz`.
fn front_end_clock(text: &str) -> Result<FrontEndClock, String> {
    match text {
        "own" => Ok(FrontEndClock::Own),
        _ => match text.parse() {
            Ok(mhz @ 1..=MAX_MHZ) => Ok(FrontEndClock::Mhz(mhz)),
            _ => Err(format!("give MHz, 1 to {MAX_MHZ}, or `own`")),
        },
    }
}

/// What surrounds the scheduler and decides what it is worth: costs of the host and of a kernel's end, and renaming.
#[derive(Clone, Copy, Debug, Args)]
pub struct ConditionArgs {
    /// Clock of the front end under `window`, from its host channel to the arbiters, in MHz: 1 to 10000, or in `explore` also `own`,
    /// what each design's netlist reaches; SMs and host keep their clocks [default: the SM clock]
    #[arg(help_heading = CONDITIONS, long, value_name = "MHZ", value_parser = front_end_clock)]
    pub front_end_mhz: Option<FrontEndClock>,
    /// Let the hosts of `window` and `queue` pay a driver launch for every kernel, instead of a write into a user-mode queue
    #[arg(help_heading = CONDITIONS, long)]
    pub driver_launch: bool,
    /// Nanoseconds from the end of a kernel until `window` and `queue` notice it, 0 to 2^30
    ///
    /// Use it for the time that may pass until all SMs see what the kernel wrote. The gaps of the other policies are measured or
    /// published, and include this time already.
    #[arg(help_heading = CONDITIONS, long, default_value_t = 0, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1 << 30))]
    pub kernel_end: u64,
    /// Rename memory: versions of memory that do not depend on each other get memory of their own, so WAR and WAW hazards vanish.
    /// BUDGET limits the additional memory: bytes (0, 512K, 64M, 2G), a multiple of the program's own temporary memory (1.5x), or
    /// `unlimited`
    #[arg(help_heading = CONDITIONS, long, value_name = "BUDGET")]
    pub rename: Option<Budget>,
}

impl ConditionArgs {
    /// Sets what is the simulation's.
    ///
    /// # Errors
    /// The front end's clock is that of a netlist, and there is none.
    pub fn set(&self, simulation: &mut CoSimulation) -> Result<(), String> {
        simulation.front_end_mhz = match self.front_end_mhz {
            None | Some(FrontEndClock::Sms) => None,
            Some(FrontEndClock::Mhz(mhz)) => Some(mhz),
            Some(FrontEndClock::Own) => {
                return Err(
                    "--front-end-mhz own: only `explore` makes a netlist before it simulates; give a number"
                        .into(),
                );
            }
        };
        simulation.driver_launch = self.driver_launch;
        simulation.kernel_end_ns = self.kernel_end;
        Ok(())
    }

    /// What a report says of them.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn of_report(&self, profile: &Profile, streams_ace_window: usize) -> Result<Conditions, Failure> {
        let front_end_mhz = match self.front_end_mhz {
            Some(FrontEndClock::Mhz(mhz)) => mhz,
            _ => profile.clock_mhz,
        };
        Ok(Conditions {
            profile: serde_json::to_value(profile)?,
            front_end_mhz,
            kernel_end_ns: self.kernel_end,
            driver_launch: self.driver_launch,
            rename: self.rename.map(|budget| match budget {
                Budget::Bytes(bytes) => format!("{bytes} bytes"),
                budget => budget.to_string(),
            }),
            streams_ace_window: Some(streams_ace_window),
        })
    }

    /// The trace, renamed where that was asked for.
    pub fn renamed(&self, trace: Trace) -> (Trace, Option<RenameReport>) {
        match self.rename {
            Some(budget) => {
                let Renamed { trace, report } = rename(&trace, budget);
                (trace, Some(report))
            }
            None => (trace, None),
        }
    }
}

/// What differs from the defaults, as part of a sentence; empty where nothing does.
impl fmt::Display for ConditionArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = self.front_end_mhz.map(|clock| match clock {
            FrontEndClock::Sms => "front ends at the SM clock".into(),
            FrontEndClock::Mhz(mhz) => format!("front ends at {mhz} MHz"),
            FrontEndClock::Own => "each front end at its own clock".into(),
        });
        let end = (self.kernel_end > 0).then(|| format!("kernels ending {} ns late", self.kernel_end));
        let rename = self.rename.map(|budget| match budget {
            Budget::Bytes(bytes) => format!("renaming within {}", counted(bytes, "byte")),
            budget => format!("renaming within {budget}"),
        });
        let driver = self.driver_launch.then(|| "driver launches".to_string());
        f.write_str(&[clock, end, driver, rename].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Parameters of the hardware, but for the window's kind and size. A block refuses those that it does not have.
///
/// Its help is that of commands which build a front end; the others put theirs in its place.
#[derive(Clone, Copy, Debug, Args)]
pub struct HardwareArgs {
    /// Kernels that can retire in one cycle [default: 2]
    #[arg(help_heading = HARDWARE, long, value_name = "1..4")]
    retire_ports: Option<usize>,
    /// Add a pipeline stage to the matrix window: offers come one cycle later, and the clock is higher
    #[arg(help_heading = HARDWARE, long)]
    pipelined: bool,
    /// How many kernels the host looks back, M: 8 to 255; with --encoding mask 32 or 128 [default: 128]
    #[arg(help_heading = HARDWARE, long, value_name = "M")]
    scheduled: Option<usize>,
    /// How the host says what a kernel waits for [default: ids]
    #[arg(help_heading = HARDWARE, long, value_enum)]
    encoding: Option<EncodingArg>,
    /// Upstream ids per beat, with --encoding ids [default: 4]
    #[arg(help_heading = HARDWARE, long, value_name = "1..8")]
    lanes: Option<usize>,
}

/// What is not as by default, as part of a sentence.
impl fmt::Display for HardwareArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Request::default();
        let ports = self.retire_ports.filter(|ports| *ports != default.retire_ports);
        let scheduled = self.scheduled.filter(|length| *length != default.scheduled);
        let words = [
            self.pipelined.then(|| "pipelined".into()),
            ports.map(|ports| format!("{ports} retire ports")),
            scheduled.map(|length| format!("M = {length}")),
            (self.encoding == Some(EncodingArg::Mask)).then(|| "masks in packets".into()),
            self.lanes
                .filter(|&lanes| default.encoding != Encoding::Ids { lanes })
                .map(|lanes| format!("{lanes} ids per beat")),
        ];
        f.write_str(&words.into_iter().flatten().collect::<Vec<String>>().join(", "))
    }
}

impl HardwareArgs {
    /// Its options, and whether the user gave them.
    pub fn given(self) -> [(&'static str, bool); 5] {
        [
            ("retire-ports", self.retire_ports.is_some()),
            ("pipelined", self.pipelined),
            ("scheduled", self.scheduled.is_some()),
            ("encoding", self.encoding.is_some()),
            ("lanes", self.lanes.is_some()),
        ]
    }

    /// The block called `name`; `window` and `slots` only if the user named them.
    pub fn block(
        self,
        name: &str,
        window: Option<WindowArg>,
        slots: Option<usize>,
        dispatch: DispatchArgs,
    ) -> Result<BlockSpec, ParamError> {
        let default = Request::default();
        let encoding = match (self.encoding, self.lanes) {
            (Some(EncodingArg::Mask), _) => Encoding::Mask,
            (_, Some(lanes)) => Encoding::Ids { lanes },
            (_, None) => default.encoding,
        };
        let mut possible = parameters(name, encoding)?;
        let single = matches!(dispatch.arbiter, Some(ArbiterArg::Single));
        possible.retain(|parameter| !(single && *parameter == "active"));
        let own = [("slots", slots.is_some()), ("window", window.is_some())];
        for (parameter, given) in self.given().into_iter().chain(own).chain(dispatch.given()) {
            if given && !possible.contains(&parameter) {
                let with = match parameter {
                    "lanes" if encoding == Encoding::Mask => " with --encoding mask",
                    "active" if single => " with arbiter single",
                    _ => "",
                };
                let block = format!("block `{name}`{with}");
                return Err(ParamError::NoSuchParameter { block, parameter, possible: possible.join(", ") });
            }
        }
        let request = Request {
            slots: slots.unwrap_or(default.slots),
            window: window.map_or(default.window, WindowKind::from),
            retire_ports: self.retire_ports.unwrap_or(default.retire_ports),
            pipelined: self.pipelined,
            scheduled: self.scheduled.unwrap_or(default.scheduled),
            encoding,
            sms: dispatch.sms.unwrap_or(default.sms),
            limits: dispatch.limits()?,
            arbiter: dispatch.arbiter(),
            places: dispatch.places.unwrap_or(default.places),
            hold_idle: dispatch.hold_idle,
        };
        BlockSpec::new(name, request)
    }
}

/// Refuses an option that is given where no policy that was chosen uses it: who gives one expects something of it. Each option comes with
/// whether it is given, and the policies that use it.
pub fn used<P: PartialEq + fmt::Display + 'static>(
    policies: &[P],
    options: impl IntoIterator<Item = (&'static str, bool, &'static [P])>,
) -> Result<(), String> {
    for (option, given, of) in options {
        if given && !of.iter().any(|policy| policies.contains(policy)) {
            let names = of.iter().map(|policy| format!("`{policy}`")).collect::<Vec<_>>().join(" or ");
            return Err(format!(
                "--{option} belongs to the policy {names}: add that to --policy, or leave --{option} out"
            ));
        }
    }
    Ok(())
}

/// How many pieces of work run at the same time: as many as were asked for, else one per processor.
pub fn jobs(asked: Option<u32>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |jobs| jobs as usize)
}

/// The values without repetitions, in their order.
pub fn distinct<T: PartialEq + Clone>(values: &[T]) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(value) {
            distinct.push(value.clone());
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So what `windlass gen` writes beside a design is enough to know the block.
    #[test]
    fn a_blocks_arguments_give_the_block_again() {
        let pipelined = Request { pipelined: true, ..Request::default() };
        let pipelined =
            ["window_matrix", "kernel_scheduler", "front_end"].map(|name| BlockSpec::new(name, pipelined));
        let pipelined = pipelined.into_iter().map(|spec| spec.unwrap_or_else(|e| panic!("{e}")));
        for spec in BlockSpec::all().into_iter().chain(pipelined) {
            let again = block_of(Path::new("folder"), &spec.arguments(), &[]);
            assert_eq!(again.unwrap_or_else(|e| panic!("{spec:?}: {e}")), spec);
        }
    }

    #[test]
    fn what_says_twice_which_block_it_is_or_not_at_all_is_refused() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let said = |text: &str, given: &[&str]| {
            let block = block_of(Path::new("folder"), &words(text), given);
            block.expect_err("no block").to_string()
        };
        let twice = said("--block find_first --slots 8", &["slots", "block"]);
        assert!(twice.contains("(--block find_first --slots 8): leave out --slots, --block"), "{twice}");
        for text in ["--block nonsense", "--block find_first --slots 5", "--block find_first --colour red"] {
            let unknown = said(text, &[]);
            assert!(
                unknown.starts_with("folder: its metadata names no block") && unknown.ends_with(text),
                "{unknown}"
            );
        }
    }
}

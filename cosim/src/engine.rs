//! The front ends that can decide in a co-simulation: the generated Verilog, its golden model, or both in lockstep.

use crate::lockstep::{Lockstep, LockstepError};
use crate::policy::{FlatEngine, FrontEndEngine, ModelEngine};
use crate::verilator::{
    BuildError, BuildSpec, Cache, CacheError, InstanceError, InstanceOptions, Library, Optimise, Verilated,
};
use crate::wave::Wave;
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_gen::emit::EmitErrors;
use windlass_gen::rtl::{self, Rtl};
use windlass_gen::synth::{SynthesisError, Yosys};
use windlass_rtl::params::FrontEndParams;
use windlass_rtl::port::MissingPort;

/// Of a thread that makes an engine: emitting the largest designs recurses deeper than the usual 2 MiB; what is not touched costs nothing.
pub(crate) const STACK: usize = 256 << 20;

/// What carries out the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatcherKind {
    /// Verilog, under Verilator.
    Hardware,
    /// The golden model; needs no tool.
    Behavioural,
    /// Both: every port, every cycle.
    Both,
}

/// How the front end of a co-simulation is built: the state that it starts from, its waveform, and what repeats the run.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Verilog of the front end in place of what is emitted.
    pub rtl: Option<Rtl>,
    /// Seed of the state that the design does not initialise.
    pub seed: u64,
    /// Write a waveform of the Verilog.
    pub wave: Option<Wave>,
    /// Command that repeats a run that failed in lockstep, with a waveform; see [`Lockstep::replay`].
    pub replay: Option<String>,
}

/// An engine that cannot be made.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The hardware could not be emitted.
    #[error(transparent)]
    Emit(#[from] EmitErrors),
    /// There is no place for the build cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The Verilog could not be built.
    #[error("{0}{hint}", hint = without_tool(.0))]
    Build(#[from] BuildError),
    /// The library could not be started.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The two do not have the same ports.
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
    /// A port of the front end is missing.
    #[error("the generated front end: {0}")]
    Ports(#[from] MissingPort),
    /// Verilog that was not emitted has faults, or other ports.
    #[error(transparent)]
    Faults(#[from] SynthesisError),
    /// The golden model takes the reset at a clock edge.
    #[error(
        "`{top}` has an asynchronous reset, and its golden model a synchronous one: they differ while it is low; compare the design of `windlass gen --reset sync`"
    )]
    Reset {
        /// The top module.
        top: String,
    },
    /// A waveform was asked for without Verilog.
    #[error("the golden model has no waveform; use --dispatcher hardware or both")]
    NoWave,
}

fn without_tool(error: &BuildError) -> &'static str {
    match error {
        BuildError::Tool(_) => "\n  without it, `--dispatcher behavioural` runs the golden model instead",
        _ => "",
    }
}

/// Emits `block`, builds its Verilog as `adjust` says, and loads it.
pub fn library(
    block: BlockSpec,
    adjust: impl FnOnce(BuildSpec) -> BuildSpec,
) -> Result<Library, EngineError> {
    library_of(&Rtl::emitted(block)?, adjust)
}

/// Builds `rtl` as `adjust` says, and loads it.
pub fn library_of(rtl: &Rtl, adjust: impl FnOnce(BuildSpec) -> BuildSpec) -> Result<Library, EngineError> {
    let mut build = BuildSpec::new(&rtl.top, rtl.files.clone(), rtl.ports.clone());
    if rtl.path.is_some() {
        // A signal without a driver has the value of the seed, one with two that of either: neither is what was meant.
        build.verilator_args = ["-Wwarn-UNDRIVEN", "-Werror-UNDRIVEN"].map(String::from).to_vec();
        // What Yosys does not read may be good all the same: whether it simulates, Verilator says.
        if let Ok(yosys) = Yosys::find()
            && let Err(error @ (SynthesisError::Ports { .. } | SynthesisError::Faults { .. })) =
                rtl::check(rtl, &yosys)
        {
            return Err(error.into());
        }
    }
    Ok(Verilated::build(&adjust(build), &Cache::from_env()?)?)
}

/// Refuses what no golden model can be compared with.
pub fn comparable(rtl: &Rtl) -> Result<(), EngineError> {
    if rtl.asynchronous { Err(EngineError::Reset { top: rtl.top.clone() }) } else { Ok(()) }
}

/// What runs, for people: the Verilog that is emitted, or somebody's own.
pub(crate) fn hardware_name(rtl: Option<&Rtl>) -> String {
    let path = rtl.and_then(|rtl| rtl.path.as_ref());
    path.map_or("hardware".into(), |path| format!("RTL of {}", path.display()))
}

/// Makes the front end `kind` with `params`.
pub fn engine(
    kind: DispatcherKind,
    params: FrontEndParams,
    options: &EngineOptions,
) -> Result<Box<dyn FrontEndEngine>, EngineError> {
    if kind == DispatcherKind::Behavioural {
        if options.wave.is_some() {
            return Err(EngineError::NoWave);
        }
        return Ok(Box::new(ModelEngine::new(params)));
    }
    let spec = BlockSpec::FrontEnd(params);
    let trace = options.wave.as_ref().map(Wave::format);
    if let (DispatcherKind::Both, Some(rtl)) = (kind, &options.rtl) {
        comparable(rtl)?;
    }
    let build = |build: BuildSpec| build.optimise(Optimise::Long).trace(trace);
    let library = match &options.rtl {
        Some(rtl) => library_of(rtl, build)?,
        None => library(spec, build)?,
    };
    let verilated = library.instance(InstanceOptions { seed: options.seed, wave: options.wave.clone() })?;
    let version = library.verilator_version();
    let hardware = hardware_name(options.rtl.as_ref());
    let flat = if kind == DispatcherKind::Hardware {
        FlatEngine::new(format!("{hardware} ({version})"), params, Box::new(verilated))
    } else {
        let mut lockstep =
            Lockstep::new(vec![("model".into(), spec.model()), ("verilog".into(), Box::new(verilated))])?;
        if let Some(replay) = &options.replay {
            lockstep = lockstep.replay(replay);
        }
        let name = format!("{hardware} and behavioural in lockstep ({version})");
        FlatEngine::new(name, params, Box::new(lockstep))
    };
    flat.map(|engine| Box::new(engine) as Box<dyn FrontEndEngine>).map_err(EngineError::Ports)
}

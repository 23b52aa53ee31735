//! The engines that can decide in a co-simulation: the generated Verilog, its golden model, or both in lockstep.

use crate::lockstep::{Lockstep, LockstepError};
use crate::policy::{FlatEngine, ModelEngine, SchedulerEngine};
use crate::verilator::{
    BuildError, BuildSpec, Cache, CacheError, InstanceError, InstanceOptions, Library, Optimise, Verilated,
};
use crate::wave::Wave;
use thiserror::Error;
use windlass_gen::emit::{self, EmitErrors};
use windlass_gen::output;
use windlass_rtl::catalog::BlockSpec;
use windlass_rtl::params::SchedulerParams;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The generated Verilog, under Verilator.
    Verilog,
    /// The golden model; needs no tool.
    Model,
    /// Both: every port, every cycle.
    Both,
}

/// How to build an engine.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
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
    /// A port of the scheduler is missing.
    #[error("the generated scheduler: {0}")]
    Ports(String),
    /// A waveform was asked for without Verilog.
    #[error("the golden model has no waveform; use --engine verilog or both")]
    NoWave,
}

fn without_tool(error: &BuildError) -> &'static str {
    match error {
        BuildError::Tool(_) => "\n  without it, `--engine model` runs the golden model instead",
        _ => "",
    }
}

/// Emits `block`, builds its Verilog as `adjust` says, and loads it.
pub fn library(
    block: BlockSpec,
    adjust: impl FnOnce(BuildSpec) -> BuildSpec,
) -> Result<Library, EngineError> {
    let design = emit::emit(&*block.hardware())?;
    let top = design.top();
    let build = BuildSpec::new(&top.name, output::verilog_files(&design), top.ports.clone());
    Ok(Verilated::build(&adjust(build), &Cache::from_env()?)?)
}

/// Makes the engine `kind` for a scheduler with `params`.
pub fn engine(
    kind: EngineKind,
    params: SchedulerParams,
    options: &EngineOptions,
) -> Result<Box<dyn SchedulerEngine>, EngineError> {
    if kind == EngineKind::Model {
        if options.wave.is_some() {
            return Err(EngineError::NoWave);
        }
        return Ok(Box::new(ModelEngine::new(params)));
    }
    let spec = BlockSpec::KernelScheduler(params);
    let trace = options.wave.as_ref().map(Wave::format);
    let library = library(spec, |build| build.optimise(Optimise::Long).trace(trace))?;
    let verilated = library.instance(InstanceOptions { seed: options.seed, wave: options.wave.clone() })?;
    let version = library.verilator_version();
    let flat = if kind == EngineKind::Verilog {
        FlatEngine::new(format!("verilog ({version})"), params, Box::new(verilated))
    } else {
        let mut lockstep =
            Lockstep::new(vec![("model".into(), spec.model()), ("verilog".into(), Box::new(verilated))])?;
        if let Some(replay) = &options.replay {
            lockstep = lockstep.replay(replay);
        }
        FlatEngine::new(format!("model and verilog in lockstep ({version})"), params, Box::new(lockstep))
    };
    flat.map(|engine| Box::new(engine) as Box<dyn SchedulerEngine>).map_err(EngineError::Ports)
}

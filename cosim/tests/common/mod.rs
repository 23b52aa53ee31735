//! Kernels and streams for the device tests.
#![allow(dead_code, reason = "each test file uses a part")]

use windlass_cosim::engine::EngineError;
use windlass_cosim::policy::{FrontEndEngine, ModelEngine, Policy, SimError, Stream};
use windlass_cosim::profile::Profile;
use windlass_cosim::run::{CoSimulation, Outcome, PolicyReport, Recording, RunError};
use windlass_rtl::params::{ArbiterKind, Encoding, FrontEndParams, SchedulerParams, WindowKind};
use windlass_runtime::ktrace::{Kernel, KernelType, Segment, Trace};

/// A kernel of 128 threads per CTA that reads and writes blocks of 256 bytes by number.
pub fn kernel(name: &str, ctas: u32, reads: &[u64], writes: &[u64]) -> Kernel {
    let segments =
        |blocks: &[u64]| blocks.iter().map(|b| Segment { addr: 4096 + b * 256, bytes: 256 }).collect();
    Kernel {
        index: 0,
        name: name.into(),
        op: "test".into(),
        kind: KernelType::Simt,
        grid: [ctas, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        regs: Some(32),
        flops: 0,
        mnk: None,
        reads: segments(reads),
        writes: segments(writes),
        traffic: None,
        dur_ns: None,
        stream: 0,
        part: None,
        est: Vec::new(),
    }
}

/// The profile of the shipped traces.
pub fn profile() -> Profile {
    Profile::load("rtx3070").expect("embedded")
}

/// A scheduler of that many slots, with masks over 64 kernels.
pub fn scheduler(kind: WindowKind, slots: usize) -> SchedulerParams {
    SchedulerParams::new(kind, slots, 2, 128, Encoding::Mask).expect("compiled in")
}

/// A co-simulation that records.
pub fn cosim(scheduler: SchedulerParams) -> CoSimulation {
    let mut cosim = CoSimulation::new(profile(), scheduler);
    cosim.record = true;
    cosim
}

/// Both arbiters, in the order of their runs.
pub const ARBITERS: [ArbiterKind; 2] = [ArbiterKind::Single, ArbiterKind::Typed { active: 2 }];

/// The golden model of the front end.
pub fn model(params: FrontEndParams) -> Result<Box<dyn FrontEndEngine>, EngineError> {
    Ok(Box::new(ModelEngine::new(params)))
}

/// Runs on the golden model.
pub fn run(cosim: &CoSimulation, stream: &Stream) -> Outcome {
    cosim.run(stream, model).expect("runs")
}

/// A policy's numbers; of `window`, those with the last arbiter.
pub fn of(outcome: &Outcome, policy: Policy) -> (&PolicyReport, &Recording) {
    let i = outcome.report.policies.iter().rposition(|p| p.policy == policy).expect("ran");
    (&outcome.report.policies[i], &outcome.recordings[i])
}

/// Runs that something ends.
pub fn fails(
    cosim: &CoSimulation,
    stream: &Stream,
    engine: impl FnMut(FrontEndParams) -> Result<Box<dyn FrontEndEngine>, EngineError> + Send,
) -> SimError {
    match cosim.run(stream, engine).expect_err("cannot be") {
        RunError::Simulation(error) => error,
        RunError::Engine(error) => panic!("{error}"),
    }
}

/// One section.
pub fn stream(kernels: Vec<Kernel>) -> Stream {
    Stream::from_sections("test", vec![kernels]).expect("short")
}

/// The first `kernels` kernels of a shipped trace.
pub fn shipped(name: &str, kernels: usize) -> Stream {
    let path = format!("{}/../workloads/{name}.ktrace.jsonl", env!("CARGO_MANIFEST_DIR"));
    let trace = Trace::load(path).expect("shipped trace");
    stream(trace.kernels().take(kernels).cloned().collect())
}

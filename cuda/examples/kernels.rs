//! The library of kernels and its two programs on a GPU: each kernel against its definition in `f64`, each program under a window against one
//! kernel after another, bit for bit; with `--quick` the kernels alone. Ends with status 1 where something differs, 2 where there is no GPU.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use windlass_cuda::Cuda;
use windlass_kernels::{dynamic_network, random_checks, rigid_body, self_checks};
use windlass_runtime::runtime::{Policy, Runtime};

const SEEDS: u64 = 4;

/// Kernels that the GPU is given ahead, where nothing else is said.
const AHEAD: usize = 256;

fn runtime(policy: Policy, ahead: usize) -> Result<Runtime, Box<dyn Error>> {
    Ok(Runtime::builder().executor(Cuda::new(0, 16)?.ahead(ahead)).policy(policy).window(64).build()?)
}

/// The same program one kernel after another and under a window, with kernels ahead and without; the bits of all results, and the seconds they
/// took.
fn both<T: PartialEq>(
    name: &str,
    program: impl Fn(&mut Runtime) -> Result<T, Box<dyn Error>>,
) -> Result<bool, Box<dyn Error>> {
    let run = |policy, ahead| -> Result<(T, f64), Box<dyn Error>> {
        let mut rt = runtime(policy, ahead)?;
        // Compiles.
        program(&mut rt)?;
        let began = Instant::now();
        let output = program(&mut rt)?;
        Ok((output, began.elapsed().as_secs_f64()))
    };
    let (serial, serial_s) = run(Policy::Serial, 0)?;
    let (window, window_s) = run(Policy::Window, 0)?;
    let (ahead, ahead_s) = run(Policy::Window, AHEAD)?;
    let same = serial == window && serial == ahead;
    let verdict = if same { "the same bits" } else { "DIFFERENT" };
    println!(
        "{name}: serial {:.1} ms, window {:.1} ms, {:.2}x, ahead {:.1} ms, {:.2}x, {verdict}",
        serial_s * 1e3,
        window_s * 1e3,
        serial_s / window_s,
        ahead_s * 1e3,
        serial_s / ahead_s
    );
    Ok(same)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn check(quick: bool) -> Result<bool, Box<dyn Error>> {
    let mut rt = runtime(Policy::Window, AHEAD)?;
    let mut checks = self_checks(&mut rt)?;
    for seed in 0..if quick { 0 } else { SEEDS } {
        checks.extend(random_checks(&mut rt, seed)?);
    }
    // Of each kernel the check that comes nearest to its tolerance.
    let part = |c: &windlass_kernels::SelfCheck| c.error / c.tolerance.max(f64::MIN_POSITIVE);
    checks.sort_by(|a, b| a.kernel.cmp(&b.kernel).then(part(b).total_cmp(&part(a))));
    let all = checks.len();
    let failed = checks.iter().filter(|c| !c.passes()).count();
    checks.dedup_by(|a, b| a.kernel == b.kernel);
    checks.iter().for_each(|c| println!("{}{c}", if c.passes() { "" } else { "WRONG: " }));
    println!("{all} checks of {} kernels, {failed} wrong", checks.len());
    drop(rt);
    if quick {
        return Ok(failed == 0);
    }
    let network = both("dynamic network, 16 images", |rt| {
        let output = dynamic_network::run(rt, &dynamic_network::Config::new(1, 16, 2))?;
        Ok((bits(&output.scores), bits(&output.activations), output.experts))
    })?;
    let bodies = both("rigid bodies, 6 heaps, 60 steps", |rt| {
        let output = rigid_body::run(rt, &rigid_body::Config::new(rigid_body::heaps(6, 5, 1), 60))?;
        let state = output.bodies.iter().flat_map(|b| b.position.into_iter().chain(b.velocity));
        Ok(bits(&state.collect::<Vec<f32>>()))
    })?;
    Ok(failed == 0 && network && bodies)
}

fn main() -> ExitCode {
    match check(std::env::args().any(|arg| arg == "--quick")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

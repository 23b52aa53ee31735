//! Tries everything once on the GPU at hand, and says of each step whether it worked: `probe [ORDINAL [STEP]]`.
//!
//! Ends with 1 where a step failed, with 3 where there is no GPU.

#[path = "../tests/support/steps.rs"]
mod steps;
#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, exit};
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_cuda::{CudaDevice, Options};
use windlass_runtime::run::DeviceError;

fn main() {
    let mut args = std::env::args().skip(1);
    let ordinal = args.next().and_then(|a| a.parse().ok()).unwrap_or(0);
    let only = args.next();
    let options = Options { ordinal, streams: 8, timeout: Duration::from_secs(10), timing: true };
    if let Err(error @ DeviceError::Absent { .. }) =
        CudaDevice::new(Arc::new(support::program(0, 1, 4096)), options)
    {
        println!("{error}");
        exit(3);
    }
    let all = steps::STEPS.iter().chain(&steps::FAULTS);
    if let Some(only) = only {
        let steps: Vec<_> = all.filter(|(name, _)| *name == only).collect();
        exit(i32::from(steps.is_empty() || !steps.iter().all(|step| run(step, options))));
    }
    let mut failed = 0;
    for step in &steps::STEPS {
        failed += i32::from(!run(step, options));
    }
    for (name, _) in steps::FAULTS {
        let child = std::env::current_exe()
            .and_then(|me| Command::new(me).args([&ordinal.to_string(), name]).status());
        if !child.as_ref().is_ok_and(|status| status.success()) {
            println!("{name}: its process ended with {child:?}");
            failed += 1;
        }
    }
    println!("{}", if failed == 0 { "all ok".into() } else { format!("{failed} steps FAILED") });
    exit(i32::from(failed > 0));
}

/// Whether it worked.
fn run((name, step): &steps::Step, options: Options) -> bool {
    // Before it begins: who waits for a step that hangs knows which.
    print!("{name:<24} ");
    let _ = std::io::stdout().flush();
    let begun = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| step(options)));
    let (word, what) = match outcome {
        Ok(Ok(what)) => ("ok", what),
        Ok(Err(what)) => ("FAILED", what),
        Err(_) => ("FAILED", "it panicked".into()),
    };
    println!("{word} {:.0} ms: {what}", begun.elapsed().as_secs_f64() * 1e3);
    word == "ok"
}

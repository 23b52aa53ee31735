//! From a kernel stream to a program that really runs: how long its CTAs work, by a GPU's profile.

use crate::device::work::{self, CtaWork};
use crate::policy::Stream;
use crate::profile::{Profile, ProfileError};
use thiserror::Error;
use windlass_runtime::ktrace::{Kernel, KernelType};
use windlass_runtime::run::{Estimate, Program, ProgramError, Work};

/// A stream that cannot be run for real.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RealError {
    /// The profile has a field whose value could not work.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A CTA does not fit on an SM of the profile.
    #[error(transparent)]
    Device(#[from] crate::device::DeviceError),
    /// The program cannot be made.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// The program of a stream with its memory divided by `scale`, and what is expected of each of its kernels alone on the profile's GPU.
///
/// # Errors
/// [`RealError`].
pub fn program(
    stream: &Stream,
    profile: &Profile,
    scale: u64,
) -> Result<(Program, Vec<Estimate>), RealError> {
    profile.check(&profile.name)?;
    let mut work = Vec::with_capacity(stream.kernels().len());
    let mut estimates = Vec::with_capacity(stream.kernels().len());
    for (k, kernel) in stream.kernels().iter().enumerate() {
        let cta = CtaWork::new(profile, kernel, k)?;
        work.push(work_of(profile, kernel, &cta));
        estimates.push(estimate(profile, &cta));
    }
    let sections: Vec<&[Kernel]> = stream.sections().iter().map(|s| &stream.kernels()[s.clone()]).collect();
    Ok((Program::new(stream.name(), &sections, &work, scale)?, estimates))
}

fn nanoseconds(profile: &Profile, cycles: u64) -> u64 {
    (u128::from(cycles) * 1000 / u128::from(profile.clock_mhz.max(1))) as u64
}

fn work_of(profile: &Profile, kernel: &Kernel, cta: &CtaWork) -> Work {
    // A GPU computes on its ordinary lanes, also what is meant for the matrix units: as long as those would take.
    let flops = match kernel.kind {
        KernelType::Simt => u128::from(kernel.flops),
        KernelType::Tensor => {
            u128::from(kernel.flops) * u128::from(profile.pipes.simt_flop_per_clk)
                / u128::from(profile.pipes.tensor_flop_per_clk.max(1))
        }
        KernelType::Copy => 0,
    };
    let threads = u128::from(cta.ctas) * u128::from(kernel.threads().max(1));
    Work {
        cta_ns: nanoseconds(profile, cta.cycles(1)),
        fma_per_thread: u32::try_from(flops / (2 * threads)).unwrap_or(u32::MAX),
        least_ns: if kernel.dur_ns.is_some() { nanoseconds(profile, cta.floor) } else { 0 },
    }
}

fn estimate(profile: &Profile, cta: &CtaWork) -> Estimate {
    let fits = |(have, need): (u32, u32)| have.checked_div(need).unwrap_or(u32::MAX);
    let resident = work::limits(profile).into_iter().zip(cta.needs).map(fits).min().unwrap_or(1).max(1);
    let per_sm = cta.ctas.div_ceil(profile.sms.into());
    let together = per_sm.min(resident.into());
    let cycles = cta.cycles(together).saturating_mul(per_sm.div_ceil(together));
    let room = f64::from(profile.sms) * f64::from(resident);
    Estimate { ns: nanoseconds(profile, cycles) as f32, share: (cta.ctas as f64 / room).min(1.0) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_runtime::ktrace::{Reader, Trace};

    fn stream(lines: &str) -> Stream {
        let head = r#"{"e":"trace","ktrace":1,"name":"t","source":"","producer":"","gpu":{"name":"assumed"},"params":{},"kernels":0,"notes":""}"#;
        let text = format!("{head}\n{lines}");
        let reader = Reader::new(text.as_bytes(), "t").unwrap_or_else(|e| panic!("{e}"));
        let trace = Trace::read(reader).unwrap_or_else(|e| panic!("{e}"));
        Stream::new(&trace).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn work_follows_the_trace_through_the_profile() {
        let profile = Profile::load("h100").unwrap_or_else(|e| panic!("{e}"));
        let line = |kind: &str, more: &str| {
            format!(
                r#"{{"e":"k","i":0,"name":"k","op":"","type":"{kind}","grid":[264,1,1],"block":[256,1,1],"smem":0,"flops":2703360000,"r":[],"w":[[4096,64]]{more}}}"#
            )
        };
        let of = |line: String| {
            let (program, estimates) = program(&stream(&line), &profile, 1).unwrap_or_else(|e| panic!("{e}"));
            (program.kernels()[0].work, estimates[0])
        };
        // 2 703 360 000 FLOPs on 264 * 256 threads: 20 000 multiply-adds each; 10 240 000 FLOPs per CTA at 256 per clock: 40 000 clocks.
        let (work, expected) = of(line("SIMT", ""));
        assert_eq!(work, Work { cta_ns: 40_000 * 1000 / 1830, fma_per_thread: 20_000, least_ns: 0 });
        // Two of them on an SM, side by side: 80 000 clocks; of 1056 places, 264.
        assert_eq!(expected, Estimate { ns: (80_000 * 1000 / 1830) as f32, share: 0.25 });
        // The matrix units are 16 times as fast.
        let (work, _) = of(line("TENSOR", ""));
        assert_eq!((work.cta_ns, work.fma_per_thread), (40_000 / 16 * 1000 / 1830, 1250));
        // A measured duration.
        let (work, expected) = of(line("SIMT", r#","dur_ns":5000"#));
        assert_eq!(work.least_ns, 5000);
        assert!((expected.ns - 5000.0).abs() < 2.0, "{expected:?}");
    }
}

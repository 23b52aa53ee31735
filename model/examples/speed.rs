//! How many cycles of the default front end, for an H100's SMs, the model does in a second, while kernels keep the SMs busy.

use std::collections::VecDeque;
use std::time::Instant;
use windlass_model::params::{ArbiterKind, Encoding, SchedulerParams, SmLimits, SmParams, WindowKind};
use windlass_model::{CtaNeeds, CtaType, Error, FrontEnd, FrontEndParams, Kernel};

const CYCLES: u64 = 500_000;

fn main() -> Result<(), Error> {
    let scheduler = SchedulerParams::new(WindowKind::Matrix, 32, 2, 128, Encoding::Ids { lanes: 4 })?;
    let sms = SmParams::new(132, SmLimits::H100)?;
    let mut front_end =
        FrontEnd::new(FrontEndParams::new(scheduler, ArbiterKind::Typed { active: 2 }, sms)?)?;
    let mut running: VecDeque<(u64, u8, u8)> = VecDeque::new();
    let (mut launched, mut ctas) = (0u64, 0u64);
    let begun = Instant::now();
    while front_end.cycles() < CYCLES {
        let now = front_end.cycles();
        // Sixteen chains of kernels of 200 CTAs, each CTA of 800 cycles.
        if now % 150 == 0 {
            let kind = CtaType::of_bit(launched % 3 == 0);
            let needs = CtaNeeds { warps: 8, registers: 32, smem: 100 };
            let upstream: Vec<u64> = launched.checked_sub(16).into_iter().collect();
            front_end.launch_after(Kernel { grid: 200, kind, needs, ..Kernel::default() }, &upstream)?;
            launched += 1;
        }
        while running.front().is_some_and(|(end, ..)| *end <= now) {
            if let Some((_, sm, slot)) = running.pop_front() {
                front_end.ended(sm, slot)?;
            }
        }
        let cycle = front_end.cycle(u8::MAX);
        ctas += cycle.ctas.len() as u64;
        running.extend(cycle.ctas.iter().map(|cta| (now + 800, cta.sm, cta.slot)));
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{CYCLES} cycles, {launched} kernels, {ctas} CTAs in {seconds:.2} s: {:.0} cycles/s",
        CYCLES as f64 / seconds
    );
    Ok(())
}

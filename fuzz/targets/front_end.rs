//! A simulator that does anything to a front end: what it launches keeps its order, and what is wrong is refused.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use windlass_model::params::{ArbiterKind, Encoding, SchedulerParams, SmLimits, SmParams, WindowKind};
use windlass_model::{CtaNeeds, CtaType, FrontEnd, FrontEndParams, Kernel, Segment};

#[derive(Debug, Arbitrary)]
enum Do<'a> {
    Launch {
        grid: u8,
        tensor: bool,
        partition: u8,
        needs: [u8; 3],
        reads: &'a [u8],
        writes: &'a [u8],
    },
    LaunchAfter {
        grid: u8,
        needs: [u8; 3],
        upstream: &'a [u8],
    },
    Partition {
        partition: u8,
        mask: u8,
    },
    /// A CTA that runs.
    End(u8),
    /// Any.
    Ended {
        sm: u8,
        slot: u8,
    },
    Step {
        ready: u8,
        cycles: u8,
    },
    Synchronise,
}

fn params(flags: u8, lanes: u8) -> Option<FrontEndParams> {
    let flag = |bit: u8| flags >> bit & 1 == 1;
    let kind = if flag(0) { WindowKind::List } else { WindowKind::Matrix };
    let encoding = if flag(1) { Encoding::Mask } else { Encoding::Ids { lanes: lanes.into() } };
    let scheduler = SchedulerParams::new(kind, if flag(2) { 4 } else { 8 }, 2, 32, encoding).ok()?;
    let limits = SmLimits::new(4, 8, 16, 16).ok()?;
    let sms = SmParams::new(if flag(3) { 5 } else { 8 }, limits).ok()?.with_hold(flag(4));
    let arbiter = if flag(5) { ArbiterKind::Single } else { ArbiterKind::Typed { active: 2 } };
    let front_end = FrontEndParams::new(scheduler.with_pipeline(flag(6)).ok()?, arbiter, sms).ok()?;
    front_end.with_places(if flag(7) { 2 } else { 1 }).ok()
}

fn run(data: &[u8]) -> Option<()> {
    let mut given = Unstructured::new(data);
    let params = params(given.arbitrary().ok()?, given.arbitrary().ok()?)?;
    let mut front_end = FrontEnd::new(params).expect("its list has a size that there is");
    // Of each kernel what it waits for, and whether it has retired; its memory.
    let mut kernels: Vec<(Vec<usize>, bool)> = Vec::new();
    let mut memory: Vec<[Vec<Segment>; 2]> = Vec::new();
    let mut running: Vec<(u8, u8)> = Vec::new();
    let segments = |bytes: &[u8]| {
        bytes.chunks(2).take(3).map(|b| Segment { addr: b[0].into(), bytes: b[b.len() - 1].into() }).collect()
    };
    let needs = |[warps, registers, smem]: [u8; 3]| CtaNeeds {
        warps: warps.into(),
        registers: registers.into(),
        smem: smem.into(),
    };
    let touch = |a: &[Segment], b: &[Segment]| a.iter().any(|a| b.iter().any(|b| a.overlap(*b).is_some()));
    let mut left = 4000u32;
    while let Ok(next) = given.arbitrary::<Do<'_>>() {
        if given.is_empty() {
            break;
        }
        match next {
            Do::Launch { grid, tensor, partition, needs: given, reads, writes } => {
                let (reads, writes): (Vec<_>, Vec<_>) = (segments(reads), segments(writes));
                let kind = CtaType::of_bit(tensor);
                let kernel = Kernel { tag: 0, grid: grid.into(), kind, partition, needs: needs(given) };
                if let Ok(number) = front_end.launch(kernel, &reads, &writes) {
                    assert_eq!(number, kernels.len() as u64);
                    let hazard = |[r, w]: &[Vec<Segment>; 2]| {
                        touch(w, &reads) || touch(w, &writes) || touch(r, &writes)
                    };
                    kernels.push(((0..memory.len()).filter(|n| hazard(&memory[*n])).collect(), false));
                    memory.push([reads, writes]);
                }
            }
            Do::LaunchAfter { grid, needs: given, upstream } => {
                let kernel = Kernel { grid: grid.into(), needs: needs(given), ..Kernel::default() };
                let upstream: Vec<u64> = upstream.iter().map(|n| u64::from(*n)).collect();
                match front_end.launch_after(kernel, &upstream) {
                    Ok(_) => {
                        kernels.push((upstream.iter().map(|n| *n as usize).collect(), false));
                        memory.push(Default::default());
                    }
                    Err(error) => drop(error.to_string()),
                }
            }
            Do::Partition { partition, mask } => {
                drop(front_end.partition(partition, |sm| mask >> (sm % 8) & 1 == 1))
            }
            Do::End(which) if !running.is_empty() => {
                let (sm, slot) = running.swap_remove(usize::from(which) % running.len());
                front_end.ended(sm, slot).expect("it runs");
            }
            Do::End(_) => {}
            Do::Ended { sm, slot } => {
                let place = running.iter().position(|at| *at == (sm, slot));
                assert_eq!(front_end.ended(sm, slot).is_ok(), place.is_some());
                place.map(|at| running.swap_remove(at));
            }
            Do::Step { ready, cycles } => {
                for _ in 0..cycles.min(40) {
                    left = left.checked_sub(1)?;
                    let cycle = front_end.cycle(ready);
                    for cta in &cycle.ctas {
                        let number = cta.kernel.number as usize;
                        assert!(kernels[number].0.iter().all(|u| kernels[*u].1), "too early: {cta:?}");
                        running.push((cta.sm, cta.slot));
                    }
                    for kernel in &cycle.retired {
                        assert!(
                            !std::mem::replace(&mut kernels[kernel.number as usize].1, true),
                            "twice: {kernel:?}"
                        );
                    }
                }
            }
            Do::Synchronise => {
                let idle = kernels.iter().all(|(_, retired)| *retired);
                assert_eq!(front_end.synchronise().is_ok(), idle);
                if idle {
                    memory.iter_mut().for_each(|m| *m = Default::default());
                }
            }
        }
    }
    Some(())
}

fuzz_target!(|data: &[u8]| {
    run(data);
});

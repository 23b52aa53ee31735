//! What the command makes of its options: sizes of blocks, partitions, budgets, margins, synthetic mixes.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use windlass_catalog::{BLOCKS, BlockSpec, Request};
use windlass_cosim::partition::Partitions;
use windlass_cosim::wave::Wave;
use windlass_gen::report::baseline;
use windlass_rtl::params::{ArbiterKind, Encoding, SmLimits, WindowKind};
use windlass_runtime::mix::{Mix, Shape};
use windlass_runtime::rename::Budget;

#[derive(Debug, Arbitrary)]
enum Option_<'a> {
    Block { name: u8, other: Option<&'a str>, sizes: [u16; 8], flags: u8 },
    Partition { text: &'a str, sms: u16 },
    Budget(&'a str),
    Margin(&'a str),
    Wave { path: &'a str, from: u64, to: u64 },
    Mix { shape: u8, stages: u8, tiles: u8, ctas: u8 },
}

fn check(option: Option_<'_>) {
    match option {
        Option_::Block { name, other, sizes, flags } => {
            let name = other.unwrap_or(BLOCKS[usize::from(name) % BLOCKS.len()]);
            let [slots, retire_ports, scheduled, lanes, sms, active, ctas, warps] = sizes.map(usize::from);
            let flag = |bit: u8| flags >> bit & 1 == 1;
            let Ok(limits) = SmLimits::new(ctas, warps, slots, sms) else { return };
            let request = Request {
                slots,
                window: if flag(0) { WindowKind::List } else { WindowKind::Matrix },
                retire_ports,
                pipelined: flag(1),
                scheduled,
                encoding: if flag(2) { Encoding::Mask } else { Encoding::Ids { lanes } },
                sms,
                limits,
                arbiter: if flag(3) { ArbiterKind::Single } else { ArbiterKind::Typed { active } },
                places: (flags >> 4 & 7).into(),
                hold_idle: flag(7),
            };
            match BlockSpec::new(name, request) {
                Ok(spec) => assert!(!spec.ports().is_empty()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        Option_::Partition { text, sms } => {
            if let Ok(partitions) = Partitions::parse(text, sms.into()) {
                assert!(partitions.len() < 8);
            }
        }
        Option_::Budget(text) => {
            if let Ok(budget) = text.parse::<Budget>() {
                let shown = budget.to_string();
                assert_eq!(shown.parse::<Budget>().expect("what is shown can be read"), budget, "{shown}");
                let _ = budget.bytes(u64::MAX);
            }
        }
        Option_::Margin(text) => {
            if let Ok(margin) = baseline::margin(text) {
                assert!(margin.is_finite() && margin >= 0.0, "{margin}");
            }
        }
        Option_::Wave { path, from, to } => {
            if let Ok(wave) = Wave::new(path)
                && let Ok(wave) = wave.window(from, to)
            {
                assert!(wave.from() < wave.to());
            }
        }
        Option_::Mix { shape, stages, tiles, ctas } => {
            let shape = [Shape::Pipeline, Shape::Reduction, Shape::Fork][usize::from(shape) % 3];
            let mix = Mix { shape, stages: stages.into(), tiles: tiles.into(), ctas: ctas.into() };
            if let Ok(trace) = mix.trace() {
                assert_eq!(trace.header.kernels, trace.kernels().count() as u64);
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    while let (false, Ok(option)) = (bytes.is_empty(), Option_::arbitrary(&mut bytes)) {
        check(option);
    }
});

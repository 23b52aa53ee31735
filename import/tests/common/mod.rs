//! What the tests of several importers know.

use std::collections::BTreeMap;
use windlass_runtime::ktrace::{Event, Segment, Trace};

/// Whether any of these share a byte.
pub fn overlap(a: &[Segment], b: &[Segment]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.overlap(*b).is_some()))
}

/// A convolution of SqueezeNet 1.1: channels in and out, kernel, pixels of its result.
pub type Conv = (u64, u64, u64, u64);

/// The network as its authors and torchvision describe it: a convolution, 8 fire modules with a pooling before the first, third and
/// fifth, a classifier.
pub fn architecture() -> Vec<Conv> {
    let mut convolutions = vec![(3, 64, 3, 111 * 111)];
    let fires = [
        (64, 16, 64, 55),
        (128, 16, 64, 55),
        (128, 32, 128, 27),
        (256, 32, 128, 27),
        (256, 48, 192, 13),
        (384, 48, 192, 13),
        (384, 64, 256, 13),
        (512, 64, 256, 13),
    ];
    for (input, squeeze, expand, side) in fires {
        let pixels = side * side;
        convolutions.push((input, squeeze, 1, pixels));
        convolutions.push((squeeze, expand, 1, pixels));
        convolutions.push((squeeze, expand, 3, pixels));
    }
    convolutions.push((512, 1000, 1, 13 * 13));
    convolutions
}

/// That allocations do not overlap while they live, and kernels touch none that is dead, and read none that nothing wrote since.
pub fn check_memory(trace: &Trace) -> Result<(), String> {
    let mut live: BTreeMap<u64, Segment> = BTreeMap::new();
    let mut ever: Vec<Segment> = Vec::new();
    let mut written: Vec<Segment> = Vec::new();
    for event in &trace.runs[0].events {
        match event {
            Event::Alloc(new) => {
                if let Some(other) = live.values().find(|other| other.overlap(*new).is_some()) {
                    return Err(format!("{new:?} while {other:?} lives"));
                }
                live.insert(new.addr, *new);
                written.retain(|old| old.overlap(*new).is_none());
                ever.push(*new);
            }
            Event::Free(old) => {
                live.remove(&old.addr).ok_or(format!("{old:?} did not live"))?;
            }
            Event::Kernel(kernel) => {
                for segment in kernel.reads.iter().chain(&kernel.writes) {
                    let inside = live.values().any(|l| l.overlap(*segment) == Some(*segment));
                    let before = !ever.iter().any(|other| other.overlap(*segment).is_some());
                    if !inside && !before {
                        return Err(format!("kernel {} touches dead memory: {segment:?}", kernel.index));
                    }
                }
                // Or a part of it: slices.
                let wrote = |read: &Segment| written.iter().any(|old| old.overlap(*read) == Some(*read));
                let constant = |read: &Segment| !ever.iter().any(|other| other.overlap(*read).is_some());
                if let Some(read) = kernel.reads.iter().find(|read| !wrote(read) && !constant(read)) {
                    return Err(format!("kernel {} reads what nothing wrote: {read:?}", kernel.index));
                }
                written.extend(&kernel.writes);
            }
            _ => {}
        }
    }
    Ok(())
}

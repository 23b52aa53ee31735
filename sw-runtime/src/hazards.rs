//! Hazards between two kernels, exact on byte ranges (see docs/hazards.md).

use crate::ktrace::{Kernel, Segment};
use crate::words::counted;
use serde::Serialize;

/// Why two kernels must keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Class {
    /// The later kernel reads what the earlier one writes.
    Raw,
    /// The later kernel writes what the earlier one reads.
    War,
    /// Both write it.
    Waw,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raw => "RAW",
            Self::War => "WAR",
            Self::Waw => "WAW",
        })
    }
}

/// One reason why a later kernel must wait for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hazard {
    /// Which kind.
    pub class: Class,
    /// The bytes that both touch.
    pub segment: Segment,
}

impl std::fmt::Display for Hazard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} at {:#X}", self.class, counted(self.segment.bytes, "byte"), self.segment.addr)
    }
}

/// All hazards of a pair, by class, then by address; no entry twice.
pub fn between(earlier: &Kernel, later: &Kernel) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for (class, old, new) in [
        (Class::Raw, &earlier.writes, &later.reads),
        (Class::War, &earlier.reads, &later.writes),
        (Class::Waw, &earlier.writes, &later.writes),
    ] {
        for a in old {
            hazards.extend(new.iter().filter_map(|b| a.overlap(*b)).map(|segment| Hazard { class, segment }));
        }
    }
    hazards.sort_unstable();
    hazards.dedup();
    hazards
}

/// Whether `later` must wait for `earlier`: there is a RAW, a WAR or a WAW.
pub fn depends(earlier: &Kernel, later: &Kernel) -> bool {
    strict_algorithm1(earlier, later) || touch(&earlier.writes, &later.reads)
}

/// Whether ACE's Algorithm 1, taken as it is printed, makes `later` wait for `earlier`.
///
/// It compares only the *writes* of the new kernel with what the earlier ones read and write, and so misses RAW:
/// wrong, and here for comparison only.
pub fn strict_algorithm1(earlier: &Kernel, later: &Kernel) -> bool {
    touch(&earlier.writes, &later.writes) || touch(&earlier.reads, &later.writes)
}

fn touch(a: &[Segment], b: &[Segment]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.overlap(*y).is_some()))
}

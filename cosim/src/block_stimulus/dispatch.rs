//! Stimuli for the CTA dispatch hardware: its blocks one by one, and all of it between a host and SMs.
//!
//! Each keeps books, by the block's ports: which CTAs of which kernels were placed and have ended, which masks were written. At the end of
//! a run ([`Stimulus::finish`](crate::stimulus::Stimulus::finish)) it lets everything end, and then looks whether all is back: what was lent
//! can be lent again, all of it and no more.

mod arbiter;
mod front_end;
mod occupancy;
mod partitions;
mod table;

pub(super) use arbiter::ArbiterStimulus;
pub use front_end::FrontEndStimulus;
pub(super) use occupancy::OccupancyStimulus;
pub(super) use partitions::PartitionsStimulus;
pub(super) use table::TableStimulus;

use super::{Kernels, Phase, chance, random_bits};
use crate::stimulus::Rng;
use windlass_rtl::front_end::{CtaNeeds, CtaType, Launch, PartitionWrite};
use windlass_rtl::params::{PARTITIONS, SmLimits};
use windlass_rtl::port::Layout;

/// Grids from here on are not waited for: a reset ends them.
const ENDLESS: u32 = 64;

/// Kernels that use up the upper half of a count come from this cycle on, where they are wanted.
const FAR: u64 = 120_000;

/// Cycles after the last transfer until everything has come back to where it was.
const SETTLED: u64 = 8;

/// The least that a CTA can need.
const LEAST: CtaNeeds = CtaNeeds { warps: 1, registers: 1, smem: 0 };

/// All that an SM has, but for CTA slots.
fn everything(sm: SmLimits) -> CtaNeeds {
    CtaNeeds { warps: sm.warps(), registers: sm.registers(), smem: sm.smem() }
}

/// How many CTAs that need the [`LEAST`] an SM has room for.
fn most_ctas(sm: SmLimits) -> usize {
    usize::from(sm.ctas().min(sm.warps()).min(sm.registers()))
}

/// What a CTA needs: little, a part or all of each resource; of careless kernels also none, or more than there is.
fn needs(rng: &mut Rng, sm: SmLimits, kernels: Kernels) -> CtaNeeds {
    let legal = legal_needs(rng, sm);
    if kernels != Kernels::Careless || chance(rng, 1, 2) {
        return legal;
    }
    // As wide as the ports are.
    let mut part = |legal: u16, width: usize| match rng.below(6) {
        0 => 0,
        1 => random_bits(rng, width) as u16,
        _ => legal,
    };
    CtaNeeds { warps: part(legal.warps, 7), registers: part(legal.registers, 9), smem: part(legal.smem, 11) }
}

fn legal_needs(rng: &mut Rng, sm: SmLimits) -> CtaNeeds {
    let size = rng.below(4);
    let mut part = |least: u64, all: u16| {
        let all = u64::from(all);
        let most = match if size == 3 { rng.below(3) } else { size } {
            0 => all / 16,
            1 => all / 3,
            _ => all,
        };
        (least + rng.below(most.max(1) + 1)).min(all) as u16
    };
    CtaNeeds { warps: part(1, sm.warps()), registers: part(1, sm.registers()), smem: part(0, sm.smem()) }
}

fn launch(rng: &mut Rng, sm: SmLimits, grid: u32, kernels: Kernels) -> Launch {
    Launch {
        grid,
        kind: CtaType::of_bit(chance(rng, 1, 2)),
        partition: rng.below(PARTITIONS as u64) as u8,
        needs: needs(rng, sm, kernels),
    }
}

/// A grid of one, of a few, sometimes of more, once in `endless` times without end, with any bits.
fn grid(rng: &mut Rng, endless: u64) -> u32 {
    if rng.below(endless) == 0 {
        let bit = ENDLESS.ilog2() + rng.below((u32::BITS - ENDLESS.ilog2()).into()) as u32;
        // A few more than a power of two: what counts the lower bits comes to its end soon.
        let others = if chance(rng, 1, 2) { rng.below(8) as u32 } else { rng.next_u64() as u32 };
        return 1 << bit | others & ((1 << bit) - 1);
    }
    let most = [1, 1, 1, 5, 5, 5, 5, 32][rng.below(8) as usize];
    1 + rng.below(most) as u32
}

/// A grid without end of which what counts it has something to carry or to borrow soon: one bit, or any upper ones, and a few.
fn carrying_grid(rng: &mut Rng) -> u32 {
    let bit = 1 << (ENDLESS.ilog2() + rng.below((u32::BITS - ENDLESS.ilog2()).into()) as u32);
    let most = if chance(rng, 1, 2) { bit } else { 1 << 16 | (rng.next_u64() as u32) << 16 };
    most | rng.below(8) as u32
}

/// What kernels come until the next reset.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spell {
    /// Those of a usual day.
    Usual,
    /// Many have no end.
    Endless,
    /// All have a [`carrying_grid`], and nothing waits for anything.
    Hurried,
    /// Kernels have many CTAs, and no reset ends it.
    Long,
}

impl Spell {
    /// The one after a reset.
    fn next(rng: &mut Rng) -> Self {
        match rng.below(64) {
            0 => Self::Usual,
            1 => Self::Endless,
            _ => Self::Hurried,
        }
    }

    /// Whether a reset ends it now.
    fn ends(self, rng: &mut Rng) -> bool {
        let cycles = match self {
            Self::Usual => 1500,
            Self::Endless => 150,
            Self::Hurried => 25,
            Self::Long => return false,
        };
        rng.below(cycles) == 0
    }

    /// How busy each side is in it.
    fn phase(self, phase: Phase) -> Phase {
        match self {
            Self::Usual | Self::Endless => phase,
            Self::Hurried | Self::Long => Phase { producer: 16, consumer: 16, finisher: 16, ..phase },
        }
    }
}

fn partition_write(rng: &mut Rng, words: u64) -> PartitionWrite {
    let mask = random_bits(rng, 32) as u32;
    PartitionWrite {
        partition: rng.below(PARTITIONS as u64) as u8,
        word: rng.below(words) as u8,
        // Most often most SMs.
        mask: if chance(rng, 1, 3) { mask } else { mask | random_bits(rng, 32) as u32 },
    }
}

/// Sets ports by name; names that the block does not have are left out.
fn set(layout: &Layout, inputs: &mut [u32], name: &str, value: u128) {
    if let Some(slot) = layout.slot(name) {
        slot.set(inputs, value);
    }
}

//! From a kernel of a trace to what each of its CTAs needs and does.

use crate::partition::ALL_SMS;
use crate::profile::{Profile, saturate};
use thiserror::Error;
use windlass_rtl::front_end::{CtaNeeds, CtaType, Launch};
use windlass_runtime::ktrace::{Kernel, KernelType};

/// Work units that a pipe does in one cycle: divisible by every number up to 16, so that sharing loses next to nothing.
pub const UNITS_PER_CYCLE: u64 = 720_720;

/// Longest life of one CTA in cycles: minutes of any GPU.
const MAX_CYCLES: u64 = 1 << 40;

/// Largest grid in CTAs: placed one per cycle, and simulated one by one.
const MAX_CTAS: u64 = 1 << 28;

/// What an SM has and a CTA needs, in the order of [`RESOURCES`].
pub type Resources = [u32; 5];

/// Names of the resources.
pub const RESOURCES: [&str; 5] = ["CTA slots", "warps", "threads", "registers", "bytes of shared memory"];

/// A kernel that the device cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// A CTA does not fit on an empty SM.
    #[error(
        "kernel {kernel} `{name}`: a CTA needs {needed} {resource}, but an SM of {profile} has {available}; choose a larger GPU or a smaller block"
    )]
    DoesNotFit {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// What there is too little of.
        resource: &'static str,
        /// How much a CTA needs, rounded to the allocation unit.
        needed: u64,
        /// How much an empty SM has.
        available: u64,
        /// The profile's name.
        profile: String,
    },
    /// The block is beyond what the GPU takes.
    #[error(
        "kernel {kernel} `{name}`: a CTA has {threads} threads, but {profile} takes at most {most}; choose a smaller block"
    )]
    TooManyThreads {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// Threads of a CTA.
        threads: u64,
        /// The most that a CTA can have.
        most: u32,
        /// The profile's name.
        profile: String,
    },
    /// The grid is beyond what the model simulates.
    #[error(
        "kernel {kernel} `{name}` has {ctas} CTAs, but at most {MAX_CTAS} can be simulated; check its `grid`"
    )]
    TooManyCtas {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// CTAs of its grid.
        ctas: u64,
    },
    /// A CTA's work is beyond what the model counts.
    #[error(
        "kernel {kernel} `{name}`: one CTA would run for {cycles} cycles; check its `dur_ns`, `flops` and segments"
    )]
    TooLong {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// Cycles of one CTA alone.
        cycles: u64,
    },
}

/// What each CTA of a kernel needs and does. All CTAs of a kernel are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtaWork {
    /// The type: which pipe computes.
    pub kind: KernelType,
    /// CTAs of the grid.
    pub ctas: u64,
    /// What one CTA takes on its SM, rounded to the allocation units.
    pub needs: Resources,
    /// Work of one CTA on its type's pipe, in units of [`UNITS_PER_CYCLE`]; shared with the others on the pipe. None for copies.
    pub compute: u64,
    /// Work of one CTA on its SM's memory pipe, in the same units; shared with CTAs of every type.
    pub memory: u64,
    /// Least cycles from a CTA's start to its end, at least 1; not shared.
    pub floor: u64,
    /// The SM partition that the CTAs may use.
    pub partition: u8,
}

impl CtaWork {
    /// The work of `kernel`, at `position` in its stream.
    ///
    /// A roofline: the CTA's FLOPs on its type's pipe, and at the same time its bytes at the SM's share of the memory bandwidth.
    /// The floor is the profile's, and what each thread's share of the bytes takes it. A measured duration takes the place of the
    /// floor, divided by the waves that the kernel takes alone, and bounds the work on each pipe, so that the kernel alone takes that long.
    pub fn new(profile: &Profile, kernel: &Kernel, position: usize) -> Result<Self, DeviceError> {
        let needs = needs(profile, kernel, position)?;
        let ctas = kernel.ctas().max(1);
        if ctas > MAX_CTAS {
            return Err(DeviceError::TooManyCtas { kernel: position, name: kernel.name.clone(), ctas });
        }
        let roofline = roofline(profile, kernel, ctas);
        let (bound, floor) = match kernel.dur_ns {
            None => {
                let threads =
                    kernel.block.iter().fold(ctas, |threads, d| threads.saturating_mul((*d).into()));
                let moving = profile.thread_bytes_per_us.map_or(0, |rate| {
                    saturate(
                        u128::from(kernel.bytes()) * 1000
                            / (u128::from(threads.max(1)) * u128::from(rate.max(1))),
                    )
                });
                (u128::MAX, profile.cycles(profile.cta_floor_ns.saturating_add(moving)))
            }
            Some(ns) => {
                let cycles = profile.cycles(ns).max(1);
                let per_sm = ctas.div_ceil(profile.sms.into());
                let resident = limits(profile)
                    .iter()
                    .zip(needs)
                    .map(|(have, need)| have.checked_div(need).unwrap_or(u32::MAX))
                    .min()
                    .unwrap_or(1);
                // At least one fits on an empty SM.
                let resident = per_sm.min(resident.max(1).into());
                let floor = cycles / per_sm.div_ceil(resident);
                let bound = u128::from(floor) * u128::from(UNITS_PER_CYCLE) / u128::from(resident);
                (bound, floor)
            }
        };
        let [compute, memory] = roofline.map(|work| work.min(bound));
        let cycles = floor.max(saturate(compute.max(memory) / u128::from(UNITS_PER_CYCLE)));
        if cycles > MAX_CYCLES {
            return Err(DeviceError::TooLong { kernel: position, name: kernel.name.clone(), cycles });
        }
        let partition = kernel.part.unwrap_or(ALL_SMS);
        let (compute, memory) = (compute as u64, memory as u64);
        Ok(Self { kind: kernel.kind, ctas, needs, compute, memory, floor: floor.max(1), partition })
    }

    /// Cycles of one CTA while `together` CTAs of its kernel, and no others, share its SM.
    pub fn cycles(&self, together: u64) -> u64 {
        self.floor.max(self.compute.max(self.memory).saturating_mul(together) / UNITS_PER_CYCLE)
    }

    /// The type that the front end knows: it takes copies for SIMT.
    pub fn cta_type(&self) -> CtaType {
        match self.kind {
            KernelType::Tensor => CtaType::Tensor,
            KernelType::Simt | KernelType::Copy => CtaType::Simt,
        }
    }

    /// The launch packet, in the allocation units of the profile's SMs.
    pub fn launch(&self, profile: &Profile) -> Launch {
        let [_, warps, _, registers, smem] = self.needs;
        // No more than an empty SM has, which `Profile::sm_params` has checked.
        let units = |amount: u32, unit: u32| (amount / unit.max(1)) as u16;
        Launch {
            grid: self.ctas as u32,
            kind: self.cta_type(),
            partition: self.partition,
            needs: CtaNeeds {
                warps: units(warps, 1),
                registers: units(registers, profile.sm.register_unit).max(1),
                smem: units(smem, profile.sm.smem_unit),
            },
        }
    }
}

/// What an empty SM has.
pub fn limits(profile: &Profile) -> Resources {
    let sm = &profile.sm;
    [sm.ctas, sm.warps, sm.threads, sm.registers, sm.smem_bytes]
}

fn needs(profile: &Profile, kernel: &Kernel, position: usize) -> Result<Resources, DeviceError> {
    let sm = &profile.sm;
    let error = |resource, needed, available: u32| DeviceError::DoesNotFit {
        kernel: position,
        name: kernel.name.clone(),
        resource,
        needed,
        available: available.into(),
        profile: profile.name.clone(),
    };
    let threads = kernel.block.iter().fold(1u64, |product, d| product.saturating_mul((*d).into()));
    if threads > u64::from(sm.threads_per_cta) {
        let (name, profile, most) = (kernel.name.clone(), profile.name.clone(), sm.threads_per_cta);
        return Err(DeviceError::TooManyThreads { kernel: position, name, threads, most, profile });
    }
    let warps = threads.div_ceil(32);
    let per_warp = u64::from(kernel.regs.unwrap_or(sm.default_registers)) * 32;
    let registers = per_warp.div_ceil(sm.register_unit.into()) * u64::from(sm.register_unit) * warps;
    let smem = kernel.smem.saturating_add(sm.smem_reserved.into()).div_ceil(sm.smem_unit.into());
    let smem = smem.saturating_mul(sm.smem_unit.into());
    let mut needs = [0; 5];
    let wanted = [1, warps, threads, registers, smem];
    for (i, (need, have)) in wanted.into_iter().zip(limits(profile)).enumerate() {
        if need > u64::from(have) {
            return Err(error(RESOURCES[i], need, have));
        }
        needs[i] = need as u32;
    }
    Ok(needs)
}

/// Units of work of one CTA: on its type's pipe, and on the memory pipe.
fn roofline(profile: &Profile, kernel: &Kernel, ctas: u64) -> [u128; 2] {
    let units = u128::from(UNITS_PER_CYCLE);
    let pipe = match kernel.kind {
        KernelType::Simt => Some(profile.pipes.simt_flop_per_clk),
        KernelType::Tensor => Some(profile.pipes.tensor_flop_per_clk),
        KernelType::Copy => None,
    };
    let compute = pipe.map_or(0, |flop_per_clk| {
        let (counted, pipes) = (u128::from(profile.clock_mhz), u128::from(profile.pipes_mhz().max(1)));
        let work = u128::from(kernel.flops).saturating_mul(units * counted);
        work.div_ceil(u128::from(ctas) * u128::from(flop_per_clk) * pipes)
    });
    let bytes = u128::from(kernel.bytes());
    // An SM's share is memory_bytes_per_s / sms / clock bytes per cycle. A profile that `check` takes keeps this in range; it
    // saturates all the same.
    let clocks = units * u128::from(profile.sms) * u128::from(profile.clock_mhz) * 1_000_000;
    let memory = bytes.saturating_mul(clocks) / (u128::from(ctas) * u128::from(profile.memory_bytes_per_s));
    [compute, memory]
}

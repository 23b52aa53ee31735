//! `windlass_front_end.h`.

use super::{INVALID, OK, Refusal, call, clear, list, null, sized};
use std::ffi::c_int;
use windlass_model::params::{
    ArbiterKind, Encoding, ParamError, SchedulerParams, SmLimits, SmParams, WindowKind,
};
use windlass_model::{
    Cta, CtaNeeds, CtaType, Error, FrontEnd, FrontEndParams, Kernel, Launched, Segment, Stall,
};

/// `windlass_front_end`: to C a pointer, no more.
#[derive(Debug)]
pub struct WindlassFrontEnd {
    front_end: FrontEnd,
    /// What the last cycle was, and what it points to.
    cycle: WindlassFrontEndCycle,
    ctas: Vec<WindlassFrontEndCta>,
    retired: Vec<WindlassLaunched>,
    entered: WindlassLaunched,
    dispatched: WindlassLaunched,
}

/// `windlass_front_end_options`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct WindlassFrontEndOptions {
    size: u32,
    slots: u32,
    list: u32,
    pipelined: u32,
    retire_ports: u32,
    scheduled: u32,
    lanes: u32,
    masks: u32,
    sms: u32,
    single: u32,
    active: u32,
    places: u32,
    hold_idle: u32,
    sm_ctas: u32,
    sm_warps: u32,
    sm_registers: u32,
    sm_smem: u32,
}

/// `windlass_segment`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindlassSegment {
    address: u64,
    bytes: u64,
}

/// `windlass_front_end_kernel`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindlassFrontEndKernel {
    size: u32,
    grid: u32,
    tensor: u32,
    partition: u32,
    warps: u32,
    registers: u32,
    smem: u32,
    explicit_upstream: u32,
    tag: u64,
    reads: *const WindlassSegment,
    read_count: usize,
    writes: *const WindlassSegment,
    write_count: usize,
    upstream: *const u64,
    upstream_count: usize,
}

/// `windlass_launched`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct WindlassLaunched {
    number: u64,
    tag: u64,
}

/// `windlass_front_end_cta`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindlassFrontEndCta {
    kernel: WindlassLaunched,
    index: u32,
    sm: u8,
    slot: u8,
    port: u8,
    reserved: u8,
}

/// `windlass_front_end_cycle`.
#[derive(Debug)]
#[repr(C)]
pub struct WindlassFrontEndCycle {
    cycle: u64,
    ctas: *const WindlassFrontEndCta,
    cta_count: usize,
    retired: *const WindlassLaunched,
    retired_count: usize,
    entered: *const WindlassLaunched,
    dispatched: *const WindlassLaunched,
    window: u32,
    stall: u32,
    idle: u32,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(INVALID, error.to_string())
    }
}

impl From<ParamError> for Refusal {
    fn from(error: ParamError) -> Self {
        Self(INVALID, error.to_string())
    }
}

impl From<Launched> for WindlassLaunched {
    fn from(Launched { number, tag }: Launched) -> Self {
        Self { number, tag }
    }
}

impl From<&Cta> for WindlassFrontEndCta {
    fn from(cta: &Cta) -> Self {
        let Cta { kernel, index, sm, slot, port } = *cta;
        Self { kernel: kernel.into(), index, sm, slot, port, reserved: 0 }
    }
}

impl WindlassFrontEndOptions {
    fn params(self) -> Result<FrontEndParams, ParamError> {
        let or = |value: u32, default: usize| match value {
            0 => default,
            value => value as usize,
        };
        let kind = if self.list == 0 { WindowKind::Matrix } else { WindowKind::List };
        let encoding = match self.masks {
            0 => Encoding::Ids { lanes: or(self.lanes, 4) },
            _ => Encoding::Mask,
        };
        let (slots, retire_ports) = (or(self.slots, 32), or(self.retire_ports, 2));
        let scheduled = or(self.scheduled, 128);
        FrontEndParams::check_scheduled(scheduled, encoding)?;
        let scheduler = SchedulerParams::new(kind, slots, retire_ports, scheduled, encoding)?;
        let limits = SmLimits::new(
            or(self.sm_ctas, SmLimits::H100.ctas().into()),
            or(self.sm_warps, SmLimits::H100.warps().into()),
            or(self.sm_registers, SmLimits::H100.registers().into()),
            or(self.sm_smem, SmLimits::H100.smem().into()),
        )?;
        let sms = SmParams::new(or(self.sms, 132), limits)?.with_hold(self.hold_idle != 0);
        let arbiter = match self.single {
            0 => ArbiterKind::Typed { active: or(self.active, 2) },
            _ => ArbiterKind::Single,
        };
        FrontEndParams::new(scheduler.with_pipeline(self.pipelined != 0)?, arbiter, sms)?
            .with_places(or(self.places, 1))
    }
}

/// # Safety
/// It is from `windlass_front_end_create`, or NULL, and no other thread uses it.
unsafe fn there<'a>(front_end: *mut WindlassFrontEnd) -> Result<&'a mut WindlassFrontEnd, Refusal> {
    // SAFETY: the caller's.
    unsafe { front_end.as_mut() }.ok_or_else(|| null("front_end"))
}

/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_create(
    options: *const WindlassFrontEndOptions,
    out: *mut *mut WindlassFrontEnd,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(out, std::ptr::null_mut()) };
    call(|| {
        if out.is_null() {
            return Err(null("front_end"));
        }
        let options = match options.is_null() {
            true => WindlassFrontEndOptions::default(),
            // SAFETY: the caller's; integers alone.
            false => unsafe { sized(options, "options", "windlass_front_end_options") }?,
        };
        let cycle = WindlassFrontEndCycle {
            cycle: 0,
            ctas: std::ptr::null(),
            cta_count: 0,
            retired: std::ptr::null(),
            retired_count: 0,
            entered: std::ptr::null(),
            dispatched: std::ptr::null(),
            window: 0,
            stall: 0,
            idle: 1,
        };
        let made = Box::new(WindlassFrontEnd {
            front_end: FrontEnd::new(options.params()?)?,
            cycle,
            ctas: Vec::new(),
            retired: Vec::new(),
            entered: WindlassLaunched::default(),
            dispatched: WindlassLaunched::default(),
        });
        // SAFETY: not NULL, and the caller's.
        unsafe { out.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// # Safety
/// It is from `windlass_front_end_create`, or NULL, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_destroy(front_end: *mut WindlassFrontEnd) {
    if !front_end.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(front_end) });
    }
}

/// A number as the front end has it. What is too much for its type is too much for any front end.
fn small<T: TryFrom<u32>>(what: &str, value: u32) -> Result<T, Refusal> {
    T::try_from(value)
        .map_err(|_| Refusal(INVALID, format!("`{what}` is {value}, more than there is in any front end")))
}

/// # Safety
/// Pointers are NULL or valid, and so are those in `kernel`, for as many values as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_launch(
    front_end: *mut WindlassFrontEnd,
    kernel: *const WindlassFrontEndKernel,
    number: *mut u64,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { clear(number, u64::MAX) };
    call(|| {
        // SAFETY: the caller's, here and below.
        let front_end = &mut unsafe { there(front_end) }?.front_end;
        if kernel.is_null() {
            return Err(null("kernel"));
        }
        // SAFETY: integers and pointers alone.
        let given = unsafe { sized(kernel, "kernel", "windlass_front_end_kernel") }?;
        let kernel = Kernel {
            tag: given.tag,
            grid: given.grid,
            kind: CtaType::of_bit(given.tensor != 0),
            partition: small("kernel.partition", given.partition)?,
            needs: CtaNeeds {
                warps: small("kernel.warps", given.warps)?,
                registers: small("kernel.registers", given.registers)?,
                smem: small("kernel.smem", given.smem)?,
            },
        };
        let segments = |first, count, what| {
            // SAFETY: the caller's.
            let given = unsafe { list::<WindlassSegment>(first, count, what) }?;
            let segment = |s: &WindlassSegment| Segment { addr: s.address, bytes: s.bytes };
            Ok::<Vec<Segment>, Refusal>(given.iter().map(segment).collect())
        };
        let launched = match given.explicit_upstream {
            0 => {
                let reads = segments(given.reads, given.read_count, "kernel.reads")?;
                let writes = segments(given.writes, given.write_count, "kernel.writes")?;
                front_end.launch(kernel, &reads, &writes)?
            }
            _ => {
                // SAFETY: the caller's.
                let upstream = unsafe { list(given.upstream, given.upstream_count, "kernel.upstream") }?;
                front_end.launch_after(kernel, upstream)?
            }
        };
        // SAFETY: the caller's.
        unsafe { clear(number, launched) };
        Ok(())
    })
}

/// # Safety
/// Pointers are NULL or valid; `masks` has `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_partition(
    front_end: *mut WindlassFrontEnd,
    partition: u32,
    masks: *const u32,
    count: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller's, here and below.
        let front_end = &mut unsafe { there(front_end) }?.front_end;
        // SAFETY: the caller's.
        let masks = unsafe { list(masks, count, "masks") }?;
        let sms = front_end.params().dispatch().sms().sms();
        if count != sms.div_ceil(32) {
            let text = format!("`masks` has {count} words, and {sms} SMs take {}", sms.div_ceil(32));
            return Err(Refusal(INVALID, text));
        }
        let partition = small("partition", partition)?;
        front_end.partition(partition, |sm| masks[usize::from(sm / 32)] >> (sm % 32) & 1 == 1)?;
        Ok(())
    })
}

/// # Safety
/// `front_end` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_ended(
    front_end: *mut WindlassFrontEnd,
    sm: u32,
    slot: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        let front_end = &mut unsafe { there(front_end) }?.front_end;
        front_end.ended(small("sm", sm)?, small("slot", slot)?)?;
        Ok(())
    })
}

/// # Safety
/// `front_end` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_step(
    front_end: *mut WindlassFrontEnd,
    ready: u32,
) -> *const WindlassFrontEndCycle {
    let mut stepped = std::ptr::null();
    let status = call(|| {
        // SAFETY: the caller's.
        let WindlassFrontEnd { front_end, cycle, ctas, retired, entered, dispatched } =
            unsafe { there(front_end) }?;
        cycle.cycle = front_end.cycles();
        let what = front_end.cycle(ready as u8);
        ctas.clear();
        ctas.extend(what.ctas.iter().map(WindlassFrontEndCta::from));
        retired.clear();
        retired.extend(what.retired.iter().copied().map(WindlassLaunched::from));
        let keep = |to: &mut WindlassLaunched, kernel: Option<Launched>| match kernel {
            Some(kernel) => {
                *to = kernel.into();
                std::ptr::from_ref(to)
            }
            None => std::ptr::null(),
        };
        cycle.entered = keep(entered, what.entered);
        cycle.dispatched = keep(dispatched, what.dispatched);
        cycle.window = what.window.into();
        cycle.stall = match what.stall {
            None => 0,
            Some(Stall::Limit) => 1,
            Some(Stall::Full) => 2,
            Some(Stall::Busy) => 3,
        };
        (cycle.ctas, cycle.cta_count) = (ctas.as_ptr(), ctas.len());
        (cycle.retired, cycle.retired_count) = (retired.as_ptr(), retired.len());
        cycle.idle = front_end.is_idle().into();
        stepped = std::ptr::from_ref(cycle);
        Ok(())
    });
    if status == OK { stepped } else { std::ptr::null() }
}

/// # Safety
/// `front_end` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_front_end_synchronize(front_end: *mut WindlassFrontEnd) -> c_int {
    call(|| {
        // SAFETY: the caller's.
        unsafe { there(front_end) }?.front_end.synchronise()?;
        Ok(())
    })
}

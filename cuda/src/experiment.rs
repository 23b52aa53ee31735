//! Launches in every way there is, to choose the cheapest. For the probe only.

use crate::calibrate::{SOURCE, median, since};
use crate::compile::compile;
use crate::driver::{Context, Function, Marks, Module, config};
use cudarc::driver::sys::{
    CUcontext, CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUstream,
};
use std::ffi::{c_uint, c_void};
use std::fmt::Write;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::time::Instant;
use windlass_runtime::run::DeviceError;

const BATCH: usize = 200;
const REPEATS: usize = 21;

fn per_launch(
    context: &Context,
    stream: CUstream,
    mut launch: impl FnMut() -> u32,
) -> Result<f64, DeviceError> {
    let mut costs = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        for _ in 0..BATCH {
            context.ok(launch(), "launch")?;
        }
        costs.push(since(begun) / BATCH as f64);
        // SAFETY: the stream lives.
        context.ok(unsafe { (context.driver.cuStreamSynchronize)(stream) }, "cuStreamSynchronize")?;
    }
    Ok(median(costs))
}

fn stream(context: &Context, flags: c_uint) -> Result<CUstream, DeviceError> {
    let mut raw = null_mut();
    // SAFETY: the out parameter is a local. Never destroyed; the probe ends.
    context.ok(unsafe { (context.driver.cuStreamCreate)(&mut raw, flags) }, "cuStreamCreate")?;
    Ok(raw)
}

struct Raw(CUstream);
// SAFETY: the driver takes streams from any thread.
unsafe impl Send for Raw {}
// SAFETY: the same.
unsafe impl Sync for Raw {}

/// Nanoseconds of a launch in many ways, as text.
///
/// # Errors
/// As [`crate::calibrate`].
pub fn launch_experiments(ordinal: u32) -> Result<String, DeviceError> {
    let mut out = String::new();
    let context = Context::new(ordinal)?;
    let driver = context.driver;
    let failed = |e: crate::CompileError| DeviceError::Absent { reason: e.to_string() };
    let cubin = compile(SOURCE, context.arch).map_err(failed)?;
    let module = Module::new(&context, &cubin)?;
    let (empty, large) = (module.function("empty")?, module.function("large")?);
    let s = stream(&context, 1)?;
    let put = |out: &mut String, what: &str, ns: f64| {
        let _ = write!(out, "\n    {what}: {ns:.0}");
    };
    let plain = |f: CUfunction, s: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void| {
        // SAFETY: the callers below give what the kernel takes.
        unsafe { (driver.cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, s, params, extra) }
    };
    let ex = |f: Function, s: CUstream, attribute: Option<i32>, args: &mut [*mut c_void]| {
        let mut config = config([1; 3], [1; 3], 0, s);
        let mut value = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: attribute.unwrap_or(0) },
        };
        if attribute.is_some() {
            config.attrs = &mut value;
            config.numAttrs = 1;
        }
        // SAFETY: the callers below give what the kernel takes.
        unsafe { f.launch(&context, &config, args) }
    };
    let mut words = [0u64; 15];
    let mut args: [*mut c_void; 1] = [(&raw mut words).cast()];
    let mut size = size_of_val(&words);
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END.
    let mut extra: [*mut c_void; 5] = [
        std::ptr::without_provenance_mut(1),
        (&raw mut words).cast(),
        std::ptr::without_provenance_mut(2),
        (&raw mut size).cast(),
        null_mut(),
    ];
    for round in 0..2 {
        let _ = write!(out, "\n  round {round}, own context, non-blocking stream:");
        let ns = per_launch(&context, s, || plain(empty.0, s, null_mut(), null_mut()))?;
        put(&mut out, "cuLaunchKernel, empty", ns);
        let ns = per_launch(&context, s, || ex(empty, s, None, &mut []))?;
        put(&mut out, "cuLaunchKernelEx, empty", ns);
        let ns = per_launch(&context, s, || ex(empty, s, Some(0), &mut []))?;
        put(&mut out, "cuLaunchKernelEx, empty, attribute 0", ns);
        let ns = per_launch(&context, s, || ex(empty, s, Some(1), &mut []))?;
        put(&mut out, "cuLaunchKernelEx, empty, attribute 1", ns);
        let ns = per_launch(&context, s, || plain(large.0, s, args.as_mut_ptr(), null_mut()))?;
        put(&mut out, "cuLaunchKernel, 120 bytes", ns);
        let ns = per_launch(&context, s, || plain(large.0, s, null_mut(), extra.as_mut_ptr()))?;
        put(&mut out, "cuLaunchKernel, 120 bytes in a buffer", ns);
        let ns = per_launch(&context, s, || ex(large, s, None, &mut args))?;
        put(&mut out, "cuLaunchKernelEx, 120 bytes", ns);
        let ns = per_launch(&context, s, || ex(large, s, Some(1), &mut args))?;
        put(&mut out, "cuLaunchKernelEx, 120 bytes, attribute 1", ns);
        let blocking = stream(&context, 0)?;
        let ns = per_launch(&context, blocking, || plain(empty.0, blocking, null_mut(), null_mut()))?;
        put(&mut out, "cuLaunchKernel, empty, blocking stream", ns);
        let none = null_mut();
        let ns = per_launch(&context, none, || plain(empty.0, none, null_mut(), null_mut()))?;
        put(&mut out, "cuLaunchKernel, empty, default stream", ns);
    }
    held(&context, &module, empty, s, &mut out)?;
    gaps(&context, &module, s, &mut out)?;
    threads(&context, empty, &mut out)?;
    drop(module);
    drop(context);
    contexts(ordinal, &cubin, &mut out)?;
    Ok(out)
}

/// Launches into a stream that is held up: the device does nothing meanwhile.
fn held(
    context: &std::sync::Arc<Context>,
    module: &Module,
    empty: Function,
    s: CUstream,
    out: &mut String,
) -> Result<(), DeviceError> {
    let (hold, words) = (module.function("hold")?, Marks::new(context, 1)?);
    let mut costs = Vec::new();
    for _ in 0..REPEATS {
        words.at(0).store(0, Ordering::SeqCst);
        let (mut flag, mut value) = (words.address(0), 1u32);
        let configured = config([1; 3], [1; 3], 0, s);
        let mut args = [(&raw mut flag).cast(), (&raw mut value).cast()];
        // SAFETY: `hold` takes a pointer and a 32-bit integer.
        context.ok(unsafe { hold.launch(context, &configured, &mut args) }, "launch")?;
        let begun = Instant::now();
        for _ in 0..BATCH {
            // SAFETY: `empty` takes nothing.
            context.ok(unsafe { empty.launch(context, &configured, &mut []) }, "launch")?;
        }
        costs.push(since(begun) / BATCH as f64);
        words.at(0).store(1, Ordering::SeqCst);
        // SAFETY: the stream lives.
        context.ok(unsafe { (context.driver.cuStreamSynchronize)(s) }, "cuStreamSynchronize")?;
    }
    let _ = write!(out, "\n    cuLaunchKernelEx, empty, stream held up: {:.0}", median(costs));
    Ok(())
}

/// Gaps between kernels of several lengths, all queued behind one that is held up.
fn gaps(
    context: &std::sync::Arc<Context>,
    module: &Module,
    s: CUstream,
    out: &mut String,
) -> Result<(), DeviceError> {
    const CHAIN: usize = 50;
    let (hold, stamp) = (module.function("hold")?, module.function("stamp")?);
    let words = Marks::new(context, 1)?;
    let memory = crate::driver::DeviceMemory::new(context, CHAIN as u64 * 16, "times")?;
    for ns in [500u64, 2000, 5000, 20_000, 100_000] {
        let (mut gaps, mut slowest) = (Vec::new(), 0.0f64);
        for _ in 0..5 {
            words.at(0).store(0, Ordering::SeqCst);
            let (mut flag, mut value) = (words.address(0), 1u32);
            let configured = config([1; 3], [1; 3], 0, s);
            let mut args = [(&raw mut flag).cast(), (&raw mut value).cast()];
            // SAFETY: `hold` takes a pointer and a 32-bit integer.
            context.ok(unsafe { hold.launch(context, &configured, &mut args) }, "launch")?;
            for n in 0..CHAIN {
                let (mut times, mut ns) = (memory.address + n as u64 * 16, ns);
                let mut args = [(&raw mut times).cast(), (&raw mut ns).cast()];
                // SAFETY: `stamp` takes a pointer and a 64-bit integer.
                context.ok(unsafe { stamp.launch(context, &configured, &mut args) }, "launch")?;
            }
            let queued = Instant::now();
            while queued.elapsed().as_micros() < 200 {}
            words.at(0).store(1, Ordering::SeqCst);
            // SAFETY: the stream lives.
            context.ok(unsafe { (context.driver.cuStreamSynchronize)(s) }, "cuStreamSynchronize")?;
            let times: Vec<[u64; 2]> = memory.values(CHAIN)?;
            let these = times.windows(2).map(|t| t[1][0].wrapping_sub(t[0][1]).cast_signed() as f64);
            gaps.extend(these.clone());
            slowest = these.fold(slowest, f64::max);
        }
        let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let _ = write!(
            out,
            "\n    gap behind a kernel of {ns} ns: {:.0} ({least:.0} to {slowest:.0})",
            median(gaps)
        );
    }
    Ok(())
}

/// Several threads, each with a stream.
fn threads(context: &Context, empty: Function, out: &mut String) -> Result<(), DeviceError> {
    const EACH: usize = 4000;
    for threads in [1, 2, 4, 8] {
        let streams = (0..threads).map(|_| stream(context, 1).map(Raw)).collect::<Result<Vec<_>, _>>()?;
        let barrier = Barrier::new(threads);
        let seconds: Vec<Result<f64, DeviceError>> = std::thread::scope(|scope| {
            let run = |raw: &'_ Raw| {
                let configured = config([1; 3], [1; 3], 0, raw.0);
                context.enter()?;
                barrier.wait();
                let begun = Instant::now();
                for _ in 0..EACH {
                    // SAFETY: `empty` takes nothing.
                    context.ok(unsafe { empty.launch(context, &configured, &mut []) }, "launch")?;
                }
                Ok(begun.elapsed().as_secs_f64())
            };
            let handles: Vec<_> = streams.iter().map(|raw| scope.spawn(move || run(raw))).collect();
            handles.into_iter().map(|h| h.join().unwrap_or(Ok(0.0))).collect()
        });
        let seconds = seconds.into_iter().collect::<Result<Vec<_>, _>>()?;
        let slowest = seconds.iter().copied().fold(0.0, f64::max);
        let rate = (threads * EACH) as f64 / slowest;
        let _ = write!(out, "\n    {threads} threads: {rate:.0} launches/s in all");
        for raw in &streams {
            // SAFETY: the stream lives.
            context.ok(unsafe { (context.driver.cuStreamSynchronize)(raw.0) }, "cuStreamSynchronize")?;
        }
    }
    Ok(())
}

/// The same launch in contexts of other kinds.
fn contexts(ordinal: u32, cubin: &[u8], out: &mut String) -> Result<(), DeviceError> {
    let helper = Context::new(ordinal)?;
    let driver = helper.driver;
    let mut device = 0;
    // SAFETY: the out parameter is a local.
    helper.ok(unsafe { (driver.cuDeviceGet)(&mut device, ordinal.cast_signed()) }, "cuDeviceGet")?;
    for (what, flags) in
        [("auto", Some(0)), ("spin", Some(1)), ("yield", Some(2)), ("block", Some(4)), ("primary", None)]
    {
        let mut raw: CUcontext = null_mut();
        // SAFETY: out parameters are locals; what is made here is made current to this thread until it is given up.
        let ns = unsafe {
            match flags {
                Some(flags) => helper.ok((driver.cuCtxCreate_v2)(&mut raw, flags, device), "cuCtxCreate")?,
                None => {
                    helper.ok((driver.cuDevicePrimaryCtxRetain)(&mut raw, device), "retain")?;
                    helper.ok((driver.cuCtxSetCurrent)(raw), "cuCtxSetCurrent")?;
                }
            }
            let (mut module, mut empty) = (null_mut(), null_mut());
            helper.ok((driver.cuModuleLoadData)(&mut module, cubin.as_ptr().cast()), "load")?;
            helper.ok((driver.cuModuleGetFunction)(&mut empty, module, c"empty".as_ptr()), "get")?;
            let s = stream(&helper, 1)?;
            let ns = per_launch(&helper, s, || {
                (driver.cuLaunchKernel)(empty, 1, 1, 1, 1, 1, 1, 0, s, null_mut(), null_mut())
            })?;
            match flags {
                Some(_) => helper.ok((driver.cuCtxDestroy_v2)(raw), "cuCtxDestroy")?,
                None => helper.ok((driver.cuDevicePrimaryCtxRelease_v2)(device), "release")?,
            }
            ns
        };
        let _ = write!(out, "\n    context {what}: {ns:.0}");
    }
    Ok(())
}

/// What CUDA says to a process whose kernel has faulted, when its contexts are gone: to be run after a fault.
pub fn after_a_fault(ordinal: u32) -> String {
    let mut out = String::new();
    let Ok(driver) = crate::driver::Driver::get() else { return out };
    let mut device = 0;
    let begun = Instant::now();
    for attempt in 0..4 {
        let mut raw: CUcontext = null_mut();
        // SAFETY: out parameters are locals.
        unsafe {
            (driver.cuDeviceGet)(&mut device, ordinal.cast_signed());
            let none = (driver.cuCtxSetCurrent)(null_mut());
            let create = (driver.cuCtxCreate_v2)(&mut raw, 0, device);
            let primary = (driver.cuDevicePrimaryCtxRetain)(&mut raw, device);
            let reset = (driver.cuDevicePrimaryCtxReset_v2)(device);
            let again = (driver.cuCtxCreate_v2)(&mut raw, 0, device);
            let _ = write!(
                out,
                "\n    {:?}: set none {none}, create {create}, primary {primary}, reset {reset}, create {again}",
                begun.elapsed()
            );
        }
        std::thread::sleep(std::time::Duration::from_millis(100 << (attempt * 2)));
    }
    out
}

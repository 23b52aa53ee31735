//! Which device profile a command takes where `--gpu` does not say, and what a trace does not go with.

use crate::Failure;
use std::collections::BTreeSet;
use windlass_cosim::device::DeviceError;
use windlass_cosim::partition::ALL_SMS;
use windlass_cosim::policy::Stream;
use windlass_cosim::profile::Profile;
use windlass_gen::table::counted;
use windlass_runtime::analysis::memory_bytes;
use windlass_runtime::ktrace::{Gpu, Trace};

/// The profile where neither `--gpu` nor the trace names one: the GPU of the ACE paper.
const DEFAULT: &str = "rtx3070";

/// The profile that `--gpu` names, or else that of the first trace's GPU, or else [`DEFAULT`].
pub fn profile(option: Option<&str>, first: Option<&Trace>) -> Result<Profile, Failure> {
    let named = first.and_then(|trace| Profile::of_gpu(&trace.header.gpu.name));
    Ok(match (option, named) {
        (Some(option), _) => Profile::load(option)?,
        (None, Some(profile)) => profile,
        (None, None) => Profile::load(DEFAULT)?,
    })
}

/// What the remedy of an error is called here.
pub fn option(error: &DeviceError) -> &'static str {
    if matches!(error, DeviceError::DoesNotFit { .. }) { " (option --gpu)" } else { "" }
}

/// SMs of the GPU that a trace names, as the trace or else its profile says.
pub fn sms(gpu: &Gpu) -> Option<u32> {
    gpu.sms.or_else(|| Profile::of_gpu(&gpu.name).map(|profile| profile.sms))
}

/// The GPU's name, where the trace says one: producers that know none write `assumed`.
fn known(trace: &Trace) -> Option<&str> {
    Some(trace.header.gpu.name.as_str()).filter(|name| !["", "assumed"].contains(name))
}

/// Says on stderr where a trace runs on another GPU or on other SMs than it names, and nobody asked for it by `--gpu`.
pub fn note(profile: &Profile, trace: &Trace) {
    let Some(gpu) = known(trace).filter(|gpu| !profile.is_of(gpu)) else {
        let (trace, named) = (&trace.header.name, trace.header.gpu.sms);
        if let Some(named) = named.filter(|named| *named != profile.sms) {
            let (profile, sms) = (&profile.name, profile.sms);
            eprintln!(
                "note: {trace}: the trace names {}, but runs on the {sms} of {profile}; --gpu chooses another profile",
                counted(named, "SM")
            );
        }
        return;
    };
    let why = match Profile::of_gpu(gpu) {
        Some(_) => "as the first trace does",
        None => "because there is no profile of that GPU",
    };
    let (trace, profile) = (&trace.header.name, &profile.name);
    eprintln!(
        "note: {trace}: the trace names the GPU `{gpu}`, but runs on {profile}, {why}; --gpu chooses another profile"
    );
}

/// Warns of durations that were measured on another GPU than the profile's, or on other SMs than each of `sms`.
pub fn check_durations(profile: &Profile, sms: &[u32], trace: &Trace) {
    let measured = trace.kernels().filter(|kernel| kernel.dur_ns.is_some()).count();
    let Some(gpu) = known(trace).filter(|_| measured > 0) else { return };
    let all = counted(trace.kernels().count(), "kernel");
    let (name, profile_name) = (&trace.header.name, &profile.name);
    if !profile.is_of(gpu) {
        eprintln!(
            "warning: {name}: the durations of {measured} of {all} were measured on `{gpu}`, and are used unchanged on {profile_name}; take \
             `dur_ns` out of the trace, or give a profile of that GPU with --gpu"
        );
        return;
    }
    let Some(had) = self::sms(&trace.header.gpu) else { return };
    let others: Vec<String> = sms.iter().filter(|sms| **sms != had).map(u32::to_string).collect();
    if !others.is_empty() {
        let (had, others) = (counted(had, "SM"), others.join(", "));
        eprintln!(
            "warning: {name}: the durations of {measured} of {all} were measured on {had}, and are used unchanged on {others}; take \
             `dur_ns` out of the trace"
        );
    }
}

/// Warns of kernels in SM partitions beyond the first `given`: they run on all SMs. `why` says who does not give those.
pub fn check_partitions(stream: &Stream, given: usize, why: &str) {
    let named = stream.kernels().iter().filter_map(|kernel| kernel.part);
    let open: BTreeSet<u8> = named.filter(|part| usize::from(*part) >= given && *part != ALL_SMS).collect();
    if !open.is_empty() {
        let parts = open.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        let name = stream.name();
        eprintln!("warning: {name}: kernels name SM partition {parts}, which {why}; they run on all SMs");
    }
}

/// What a trace is warned of that runs with `report` and `explore`, where no option gives partitions.
pub const NO_PARTITIONS: &str = "only `cosim --partition` gives";

/// Warns as [`check_durations`] does, and of traces that together need more memory than there is.
pub fn check(profile: &Profile, sms: &[u32], traces: &[Trace]) {
    traces.iter().for_each(|trace| check_durations(profile, sms, trace));
    let needed = traces.iter().map(memory_bytes).fold(0, u64::saturating_add);
    if let Some(memory) = profile.memory_bytes.filter(|memory| needed > *memory) {
        let names: Vec<&str> = traces.iter().map(|trace| trace.header.name.as_str()).collect();
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let (names, profile, needed, memory) = (names.join(" + "), &profile.name, gib(needed), gib(memory));
        eprintln!(
            "warning: {names}: needs {needed:.1} GiB of memory, but {profile} has {memory:.1}, so it could not run there; choose a larger GPU with \
             --gpu"
        );
    }
}

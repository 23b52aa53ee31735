//! Which device profile a command takes where `--gpu` does not say, and what a trace does not go with.

use crate::Failure;
use windlass_cosim::profile::Profile;
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

/// SMs of the GPU that a trace names, as the trace or else its profile says.
pub fn sms(gpu: &Gpu) -> Option<u32> {
    gpu.sms.or_else(|| Profile::of_gpu(&gpu.name).map(|profile| profile.sms))
}

/// The GPU's name, where the trace says one: producers that know none write `assumed`.
fn known(trace: &Trace) -> Option<&str> {
    Some(trace.header.gpu.name.as_str()).filter(|name| !["", "assumed"].contains(name))
}

/// Says on stderr where a trace runs on another GPU than it names, and nobody asked for it by `--gpu`.
pub fn note(profile: &Profile, trace: &Trace) {
    let Some(gpu) = known(trace).filter(|gpu| !profile.is_of(gpu)) else { return };
    let why = match Profile::of_gpu(gpu) {
        Some(_) => "as the first trace",
        None => "for there is no profile of that GPU",
    };
    let (trace, profile) = (&trace.header.name, &profile.name);
    eprintln!("note: {trace}: it names the GPU `{gpu}`, and runs on {profile}, {why}; --gpu chooses another");
}

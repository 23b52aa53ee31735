//! `windlass calibrate`: what CUDA's calls cost on the GPU at hand, as a device profile.

use crate::{Failure, Outcome};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use windlass_cosim::profile::Profile;
use windlass_cuda::{Calibration, calibrate};
use windlass_runtime::run::Costs;

/// Arguments of `windlass calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// Profile that says what is not measured: the SMs, their pipes, the memory, packets to hardware
    #[arg(long, default_value = "h100", value_name = "NAME|FILE")]
    base: String,
    /// Which GPU, from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    device: u32,
    /// Write the profile there instead of printing it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print what was measured as one JSON object instead of a profile
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// The base, with the host's costs as they were measured.
fn profile(base: Profile, measured: &Calibration) -> Profile {
    let whole = |ns: f64| ns.round().max(0.0) as u64;
    let small = |ns: f64| u32::try_from(whole(ns)).unwrap_or(u32::MAX);
    let mut profile = Profile { name: format!("{}-calibrated", base.name), ..base };
    let host = &mut profile.host;
    host.launch_ns = whole(measured.launch_ns);
    host.synchronise_ns = whole(measured.synchronise_ns);
    host.event_wait_ns = whole(measured.notice_ns);
    host.stream_gap_ns = whole(measured.stream_gap_ns);
    host.graph_node_ns = whole(measured.graph_node_ns + measured.graph_instantiate_node_ns);
    host.graph_launch_ns = whole(measured.graph_launch_ns);
    host.graph_edge_ns = whole(measured.graph_gap_ns);
    host.notice_ns = whole(measured.notice_ns);
    profile.streams = Some(Costs {
        launch_ns: small(measured.launch_ns),
        early_launch_ns: small(measured.launch_early_ns),
        busy_launch_ns: small(measured.launch_busy_ns),
        record_ns: small(measured.record_ns),
        wait_ns: small(measured.wait_ns),
        gap_ns: small(measured.stream_gap_ns),
        early_gap_ns: small(measured.early_gap_ns),
        cross_ns: small(measured.event_gap_ns),
    });
    profile
}

/// Runs it.
pub fn run(args: &CalibrateArgs) -> Result<Outcome, Failure> {
    let base = Profile::load(&args.base)?;
    let measured = calibrate(args.device)?;
    let text = if args.json {
        serde_json::to_string(&measured)? + "\n"
    } else {
        let profile = profile(base, &measured);
        format!(
            "# {}, measured by `windlass calibrate --base {}`: [streams], and of [host] all but\n\
             # hazard_check_ns, packet_ns and transfer_ns, which are the base's, as is all else.\n\n{}",
            measured.device,
            args.base,
            toml::to_string(&profile)?
        )
    };
    match &args.out {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(Outcome::Done)
}

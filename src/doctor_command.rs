//! `windlass doctor`: which external tools are there, which are missing, how to get them.

use crate::{Failure, Outcome};
use clap::Args;
use std::io::Write;
use windlass_gen::prove;
use windlass_gen::synth::{PYOSYS_VERSION, Yosys, liberty};
use windlass_gen::tools::{TABLE, find};

/// Arguments of `windlass doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const FORMAT_VERSION: u32 = 1;

/// Runs it: status 1 where something that a command needs is missing.
pub fn run(args: &DoctorArgs) -> Result<Outcome, Failure> {
    let mut stdout = std::io::stdout().lock();
    let mut missing = false;
    let mut tools = Vec::new();
    for info in TABLE {
        let found = find(info.tool);
        missing |= info.required && found.is_err();
        let installs: Vec<String> = info
            .install_everywhere()
            .into_iter()
            .map(|(system, command)| format!("{system}: {command}"))
            .collect();
        if args.json {
            tools.push(serde_json::json!({
                "name": info.name,
                "purpose": info.purpose,
                "required": info.required,
                "minimum": info.minimum_text(),
                "found": found.as_ref().ok().map(|f| f.path.display().to_string()),
                "version": found.as_ref().ok().map(|f| f.version_line.clone()),
                "error": found.as_ref().err().map(ToString::to_string),
                "install": installs,
            }));
            continue;
        }
        match found {
            Ok(found) => writeln!(
                stdout,
                "ok       {:<15} {} ({}), needs {}",
                info.name,
                found.version_line,
                found.path.display(),
                info.minimum_text()
            )?,
            Err(error) => {
                let word = if info.required { "MISSING" } else { "optional" };
                writeln!(
                    stdout,
                    "{word:<8} {:<15} needed to {}; needs {}",
                    info.name,
                    info.purpose,
                    info.minimum_text()
                )?;
                writeln!(stdout, "           {}", error.to_string().replace('\n', "\n           "))?;
                for install in installs {
                    writeln!(stdout, "           {install}")?;
                }
            }
        }
    }
    let pyosys = Yosys::pyosys();
    let bitwuzla = prove::bitwuzla_version();
    let library = liberty::default_path();
    missing |= library.is_err();
    let (driver, nvrtc) = (windlass_cuda::driver_version(), windlass_cuda::nvrtc_version());
    if args.json {
        let object = serde_json::json!({
            "format_version": FORMAT_VERSION,
            "tools": tools,
            "pyosys": pyosys.as_ref().map(|y| y.version.clone()),
            "bitwuzla": bitwuzla,
            "cell_library": library.as_ref().ok().map(|p| p.display().to_string()),
            "cuda_driver": driver.as_ref().ok(),
            "cuda_driver_error": driver.as_ref().err().map(ToString::to_string),
            "nvrtc": nvrtc.as_ref().ok().map(|(version, file)| format!("{version} ({})", file.display())),
            "nvrtc_error": nvrtc.as_ref().err().map(ToString::to_string),
            "cell_library_error": library.as_ref().err().map(ToString::to_string),
        });
        writeln!(stdout, "{object}")?;
    } else {
        match pyosys {
            Some(yosys) => {
                writeln!(stdout, "ok       {:<15} {} ({})", "pyosys", yosys.version, yosys.program.display())?
            }
            None => writeln!(
                stdout,
                "optional {:<15} needed to synthesize better and twice as fast; needs {PYOSYS_VERSION}\n           \
                 scripts/setup.sh installs it from PyPI",
                "pyosys"
            )?,
        }
        match bitwuzla {
            Some(version) => writeln!(stdout, "ok       {:<15} {version}", "Bitwuzla")?,
            None => writeln!(
                stdout,
                "optional {:<15} needed to prove windows several times as fast; needs {}\n           \
                 scripts/setup.sh installs it from PyPI",
                "Bitwuzla",
                prove::BITWUZLA_VERSION
            )?,
        }
        match library {
            Ok(path) => writeln!(stdout, "ok       {:<15} {}", "cell library", path.display())?,
            Err(error) => writeln!(stdout, "MISSING  {:<15} {error}", "cell library")?,
        }
        match driver {
            Ok(version) => writeln!(stdout, "ok       {:<15} for CUDA {version}", "NVIDIA driver")?,
            Err(error) => {
                writeln!(stdout, "optional {:<15} needed to run kernels on a GPU: {error}", "NVIDIA driver")?
            }
        }
        match nvrtc {
            Ok((version, file)) => {
                writeln!(stdout, "ok       {:<15} {version} ({})", "NVRTC", file.display())?
            }
            Err(error) => {
                writeln!(stdout, "optional {:<15} needed to compile CUDA kernels: {error}", "NVRTC")?
            }
        }
    }
    Ok(if missing { Outcome::Wrong } else { Outcome::Done })
}

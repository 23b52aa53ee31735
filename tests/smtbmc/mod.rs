//! Yosys-smtbmc, with the Yices of the set-up.

use std::path::Path;
use std::process::Command;
use windlass_gen::tools::{self, Tool};

/// What it says of `file` in `folder`.
pub fn smtbmc(folder: &Path, file: &str, arguments: &[&str]) -> String {
    let (yices, _) = tools::locate(Tool::Yices).unwrap_or_else(|e| panic!("{e}"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = yices.parent().map_or(path.clone(), |folder| format!("{}:{path}", folder.display()));
    let solved = Command::new("yosys-smtbmc")
        .current_dir(folder)
        .env("PATH", path)
        .args(["-s", "yices", "--noprogress"])
        .args(arguments)
        .arg(file)
        .output()
        .unwrap_or_else(|e| panic!("yosys-smtbmc, which comes with Yosys: {e}"));
    format!("{}{}", String::from_utf8_lossy(&solved.stdout), String::from_utf8_lossy(&solved.stderr))
}

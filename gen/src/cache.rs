//! Where results that are costly to make are kept between runs.
//!
//! Everything below the root may be deleted at any time. Each kind of result has its own folder there, and its own rules for
//! what a key is made of.

use std::path::PathBuf;
use std::process::{Command, Stdio};
pub use windlass_files::cache::root;
pub(crate) use windlass_files::cache::{DAY, remove_older};

/// Bytes in hexadecimal, as in keys.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Python of the package that `scripts/setup.sh` put into the folder `name`, and what it answers to `print`, if it is there and runs.
pub(crate) fn python(name: &str, print: &str) -> Option<(PathBuf, String)> {
    let python = root()?.join(name).join("bin").join("python");
    if !python.is_file() {
        return None;
    }
    let output = Command::new(&python).args(["-I", "-c", print]).stdin(Stdio::null()).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_string();
    output.status.success().then_some((python, answer))
}

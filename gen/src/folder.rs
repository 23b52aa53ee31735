//! A design's files in a folder that may have files already: an older run's, another design's, or somebody's own.

use crate::emit::ResetKind;
use crate::output::WriteError;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};
use windlass_files::new_file;

/// What was written, and what else happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Paths of the files that are there now: those that were written, and a testbench that stays.
    pub files: Vec<PathBuf>,
    /// What somebody should know of the folder, a sentence each.
    pub notes: Vec<String>,
}

/// What of `TOP.json` says which files a design has.
#[derive(Deserialize)]
pub(crate) struct Written {
    generator: String,
    #[serde(default)]
    pub(crate) format_version: u32,
    pub(crate) top: String,
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    files: Vec<String>,
    #[serde(default)]
    constraints: Vec<String>,
    #[serde(default)]
    checker: Vec<String>,
    #[serde(default)]
    formal: Vec<String>,
    axis: Option<Axis>,
    axil: Option<Axil>,
    reset: Option<Reset>,
}

#[derive(Deserialize)]
struct Reset {
    kind: String,
}

#[derive(Deserialize)]
struct Axis {
    file: String,
    #[serde(default)]
    constraints: Vec<String>,
}

#[derive(Deserialize)]
struct Axil {
    files: Vec<String>,
    header: String,
    rdl: Option<String>,
    #[serde(default)]
    constraints: Vec<String>,
}

impl Written {
    /// That of `path`, where it is such a file.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let written: Self = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        let is_name = |name: &String| Path::new(name).file_name() == Some(name.as_ref());
        let is_ours = written.generator.starts_with("windlass ") && written.names().all(|n| is_name(&n));
        is_ours.then_some(written)
    }

    /// Its registers take the reset at once.
    pub(crate) fn is_asynchronous(&self) -> bool {
        self.reset.as_ref().is_some_and(|reset| reset.kind == ResetKind::Asynchronous.name())
    }

    /// All its files but for the testbench, which is somebody's to change.
    fn names(&self) -> impl Iterator<Item = String> {
        let lists = ["_sim.f", "_formal.f", "_axis.f", "_axil.f", ".f", ".core", ".json"]
            .map(|ending| format!("{}{ending}", self.top));
        lists
            .into_iter()
            .chain(
                [&self.files, &self.constraints, &self.checker, &self.formal].into_iter().flatten().cloned(),
            )
            .chain(
                self.axis.iter().flat_map(|axis| [&axis.file].into_iter().chain(&axis.constraints).cloned()),
            )
            .chain(self.axil.iter().flat_map(|axil| {
                axil.files.iter().chain([&axil.header]).chain(&axil.rdl).chain(&axil.constraints).cloned()
            }))
    }
}

/// Whether a file's head says that Windlass wrote it. A list of files has no head.
fn is_generated(name: &str, text: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&text[..text.len().min(1024)]).to_lowercase();
    name.ends_with(".f") || head.contains("windlass")
}

/// Puts the files of the design `top`, name and text, one of which may be its `testbench`, into `directory`, which is made if it is not there.
///
/// What Windlass wrote there before under these names is replaced, and what an older run of the same design wrote and this one does not is
/// removed; files of other designs stay. A testbench is somebody's to change: one that is not as it would be written stays.
///
/// # Errors
/// A file of one of these names is not from Windlass: then nothing is written. Or a file cannot be written.
pub fn place(
    files: &[(String, String)],
    top: &str,
    testbench: Option<&str>,
    directory: &Path,
) -> Result<Placed, WriteError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WriteError { path, source }
    };
    let mut placed = Placed::default();
    let (mut write, mut changed) = (Vec::new(), BTreeSet::new());
    for (name, text) in files {
        let path = directory.join(name);
        match fs::read(&path) {
            Ok(old) if old == text.as_bytes() => {}
            Ok(_) if testbench == Some(name) => {
                placed.notes.push(format!(
                    "{} stays as it is, which is not as it would be written; remove it to have that one",
                    path.display()
                ));
                placed.files.push(path);
                continue;
            }
            Ok(old) if !is_generated(name, &old) => {
                let text = "it is there already, and not from Windlass, so that nothing is written";
                return Err(failed(&path)(io::Error::new(io::ErrorKind::AlreadyExists, text)));
            }
            Ok(_) => drop(changed.insert(name.clone())),
            Err(_) => {}
        }
        placed.files.push(path.clone());
        write.push((path, text));
    }
    let designs = designs(directory);
    fs::create_dir_all(directory).map_err(failed(directory))?;
    for (path, text) in write {
        new_file::save(&path, text).map_err(failed(&path))?;
    }
    let (same, others): (Vec<_>, Vec<_>) = designs.into_iter().partition(|design| design.top == top);
    let shared: BTreeSet<String> = others.iter().flat_map(Written::names).collect();
    let now: BTreeSet<&String> = files.iter().map(|(name, _)| name).collect();
    for name in same.iter().flat_map(Written::names).filter(|n| !now.contains(n) && !shared.contains(n)) {
        let path = directory.join(&name);
        if fs::read(&path).is_ok_and(|text| is_generated(&name, &text)) {
            fs::remove_file(&path).map_err(failed(&path))?;
            placed.notes.push(format!("{} was of an older run, and is removed", path.display()));
        }
    }
    for other in &others {
        let Written { top, .. } = other;
        let changed: Vec<String> = other.names().filter(|name| changed.contains(name)).collect();
        let directory = directory.display();
        placed.notes.push(match changed.is_empty() {
            true => format!("{directory} has {top}, too: give tools a list of files, not `*.v`"),
            false => format!(
                "{directory} has {top}, too, of which {} changed: write it again, too",
                changed.join(", ")
            ),
        });
    }
    Ok(placed)
}

/// The designs that are in a folder, by name.
pub(crate) fn designs(directory: &Path) -> Vec<Written> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut designs: Vec<Written> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .filter_map(|p| Written::read(&p))
        .collect();
    designs.sort_by(|a, b| a.top.cmp(&b.top));
    designs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::output::{Beside, files_with};
    use windlass_catalog::{BlockSpec, Request};

    fn put(block: &str, beside: Beside, directory: &Path) -> Result<Placed, WriteError> {
        let spec = BlockSpec::new(block, Request { slots: 4, ..Request::default() });
        let spec = spec.unwrap_or_else(|e| panic!("{e}"));
        let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
        let testbench = beside.testbench.as_ref().map(|(name, _)| name.clone());
        place(&files_with(&design, beside), &design.top().name, testbench.as_deref(), directory)
    }

    fn names(directory: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn by_windlass(name: &str) -> (String, String) {
        (name.into(), format!("// {name} by Windlass\n"))
    }

    #[test]
    fn what_is_not_from_windlass_stays() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("find_first_n4.v");
        fs::write(&own, "module mine; endmodule\n").unwrap();
        let error = put("find_first", Beside::default(), folder.path()).unwrap_err();
        assert_eq!(error.path, own);
        assert!(error.to_string().contains("not from Windlass"), "{error}");
        assert_eq!(names(folder.path()).len(), 1, "nothing else is written");
        assert_eq!(fs::read_to_string(&own).unwrap(), "module mine; endmodule\n");
    }

    #[test]
    fn what_an_older_run_wrote_goes_and_other_designs_stay() {
        let folder = tempfile::tempdir().unwrap();
        let beside = Beside {
            checker: vec![by_windlass("c.sv"), by_windlass("kept.sv")],
            formal: vec![by_windlass("f.sv")],
            ..Beside::default()
        };
        put("find_first", beside, folder.path()).unwrap();
        fs::write(folder.path().join("kept.sv"), "mine").unwrap();
        let before = names(folder.path());
        assert!(before.contains("find_first_n4_sim.f") && before.contains("c.sv"), "{before:?}");
        assert!(before.contains("find_first_n4_formal.f") && before.contains("f.sv"), "{before:?}");
        let placed = put("find_first", Beside::default(), folder.path()).unwrap();
        let mut left = before.clone();
        let gone = ["find_first_n4_sim.f", "find_first_n4_formal.f", "c.sv", "f.sv"];
        left.retain(|name| !gone.contains(&name.as_str()));
        assert_eq!(names(folder.path()), left);
        assert_eq!(placed.notes.len(), gone.len(), "{:?}", placed.notes);

        let placed = put("round_robin", Beside::default(), folder.path()).unwrap();
        assert!(names(folder.path()).is_superset(&left));
        assert!(placed.notes[0].contains("has find_first_n4, too"), "{:?}", placed.notes);
        assert_eq!(put("find_first", Beside::default(), folder.path()).unwrap().notes.len(), 1);
    }

    #[test]
    fn a_shared_module_that_changes_is_told() {
        let folder = tempfile::tempdir().unwrap();
        put("window_matrix", Beside::default(), folder.path()).unwrap();
        let part = folder.path().join("window_matrix_n4_r2.v");
        let older = fs::read_to_string(&part).unwrap() + "// of an older version\n";
        fs::write(&part, older).unwrap();
        let placed = put("kernel_scheduler", Beside::default(), folder.path()).unwrap();
        assert!(placed.notes[0].contains("of which window_matrix_n4_r2.v changed"), "{:?}", placed.notes);
    }

    #[test]
    fn a_testbench_is_somebodys_to_change() {
        let folder = tempfile::tempdir().unwrap();
        let bench = |text: &str| Beside {
            testbench: Some(("tb.v".into(), format!("// by Windlass\n{text}"))),
            ..Beside::default()
        };
        put("find_first", bench(""), folder.path()).unwrap();
        assert!(put("find_first", bench(""), folder.path()).unwrap().notes.is_empty());
        let path = folder.path().join("tb.v");
        fs::write(&path, "// by Windlass\n// and by me\n").unwrap();
        let placed = put("find_first", bench(""), folder.path()).unwrap();
        assert!(placed.files.contains(&path) && placed.notes[0].contains("stays as it is"), "{placed:?}");
        assert!(put("find_first", Beside::default(), folder.path()).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "// by Windlass\n// and by me\n");
    }

    #[test]
    fn names_that_lead_out_of_the_folder_are_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("c.sv"));
        let beside = Beside { checker: vec![by_windlass("c.sv")], ..Beside::default() };
        put("find_first", beside, &inside).unwrap();
        fs::write(&outside, "by Windlass").unwrap();
        let json = inside.join("find_first_n4.json");
        let text = fs::read_to_string(&json).unwrap();
        fs::write(&json, text.replace("\"c.sv\"", "\"../c.sv\"")).unwrap();
        put("find_first", Beside::default(), &inside).unwrap();
        assert!(outside.exists());
    }
}

//! Which files of a dump directory belong to which module.

use super::error::{Problem, Warning, XlaError, XlaErrors};
use crate::{LocatedErrors, file};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Bytes of text that are read of one file.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// What is executed, and what it was made of, which is all that there is where no pass has changed it.
const SEQUENCES: [&str; 2] = [".thunk_sequence_after_thunk_passes.txt", ".thunk_sequence.txt"];

/// A file's text, and what errors call it.
#[derive(Default)]
pub(super) struct Text {
    pub(super) file: String,
    pub(super) text: String,
}

/// What is read of one module.
pub(super) struct Module {
    /// Such as `module_0001.jit_step`.
    pub(super) stem: String,
    pub(super) sequence: Text,
    pub(super) metadata: Text,
    pub(super) hlo: Text,
    pub(super) assignment: Text,
    /// Older XLAs have no such file: it is the end of `assignment`.
    pub(super) values: Option<Text>,
    /// The GPU that was compiled for, as a text protobuf.
    pub(super) target: Option<Text>,
    /// The kernels' text; none where XLA has loaded what it compiled before.
    pub(super) ptx: Vec<Text>,
    /// What whoever dumped wrote beside it.
    pub(super) meta: Option<Text>,
    /// Such as `8.6`.
    pub(super) capability: Option<String>,
}

/// The file name without the `.zst` or `.gz` that whoever keeps dumps may have added.
fn plain(name: &str) -> &str {
    [".zst", ".gz"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name)
}

struct Directory {
    path: PathBuf,
    /// Sorted, so that the same directory always gives the same.
    names: Vec<String>,
}

impl Directory {
    fn error(&self, problem: Problem) -> XlaError {
        XlaError { file: self.path.display().to_string(), line: 0, problem }
    }

    fn new(path: &Path) -> Result<Self, XlaError> {
        let mut directory = Self { path: path.to_owned(), names: Vec::new() };
        let names = || -> io::Result<Vec<String>> {
            fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        };
        directory.names = names().map_err(|e| directory.error(Problem::Io(e)))?;
        directory.names.sort();
        Ok(directory)
    }

    fn stems(&self) -> Vec<&str> {
        let stem = |name| SEQUENCES.iter().find_map(|ending| plain(name).strip_suffix(ending));
        let mut stems: Vec<&str> = self.names.iter().filter_map(|name| stem(name)).collect();
        stems.sort_unstable();
        stems.dedup();
        stems
    }

    /// The module's file whose name ends so.
    fn name(&self, stem: &str, ending: &str) -> Option<&str> {
        let of_module = |name: &&String| {
            let rest = plain(name).strip_prefix(stem);
            rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(ending))
        };
        self.names.iter().find(of_module).map(String::as_str)
    }

    fn read(&self, name: &str) -> Result<Text, XlaError> {
        let path = self.path.join(name);
        let file = path.display().to_string();
        let error = |problem| XlaError { file: file.clone(), line: 0, problem };
        let bytes = file::read(&path, MAX_TEXT_BYTES).map_err(|e| error(e.into()))?;
        let text = String::from_utf8(bytes)
            .map_err(|e| error(Problem::NotUtf8 { at: e.utf8_error().valid_up_to() + 1 }))?;
        Ok(Text { file, text })
    }

    fn longest<'a>(&'a self, stems: &[&'a str]) -> Option<&'a str> {
        let bytes = |stem: &str| {
            let name = SEQUENCES.iter().rev().find_map(|ending| self.name(stem, ending))?;
            fs::metadata(self.path.join(name)).ok().map(|metadata| metadata.len())
        };
        // The first of those that are equally long.
        stems.iter().rev().max_by_key(|stem| bytes(stem)).copied()
    }

    /// Those that a name means: its stem, the part before or the part behind the point.
    fn named<'a>(stems: &[&'a str], name: &str) -> Vec<&'a str> {
        let parts = |stem: &str| {
            stem.split_once('.').is_some_and(|(number, module)| number == name || module == name)
        };
        stems.iter().filter(|stem| **stem == name || parts(stem)).copied().collect()
    }
}

/// Reads the files of the module called `chosen`, or of the one with the longest thunk sequence.
pub(super) fn read(
    path: &Path,
    chosen: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Result<Module, XlaErrors> {
    let directory = Directory::new(path)?;
    let stems = directory.stems();
    let Some(longest) = directory.longest(&stems) else {
        return Err(directory.error(Problem::NoModule).into());
    };
    let stem = match chosen {
        None => longest,
        Some(name) => match Directory::named(&stems, name)[..] {
            [stem] => stem,
            ref all => {
                let possible = if all.is_empty() { &stems } else { all }.join(", ");
                let problem = Problem::WhichModule { name: name.into(), found: all.len(), possible };
                return Err(directory.error(problem).into());
            }
        },
    };
    if chosen.is_none() && stems.len() > 1 {
        let others = stems.iter().filter(|other| **other != stem).map(|other| (*other).to_owned()).collect();
        warnings.push(Warning::OtherModules { taken: stem.to_owned(), others });
    }

    let mut errors = Vec::new();
    let mut file = |ending: &str, pattern: &str, holds: Option<&'static str>| {
        let text = match (directory.name(stem, ending), holds) {
            (Some(name), _) => directory.read(name).map(Some),
            (None, None) => Ok(None),
            (None, Some(holds)) => {
                Err(directory.error(Problem::NoFile { pattern: format!("{stem}.{pattern}"), holds }))
            }
        };
        text.unwrap_or_else(|error| {
            errors.push(error);
            None
        })
    };
    let [executed, made_of] = SEQUENCES;
    let sequence =
        file(executed, "", None).or_else(|| file(made_of, "thunk_sequence.txt", Some("holds the launches")));
    let metadata =
        file(".thunk_metadata.txt", "thunk_metadata.txt", Some("says which instruction each launch is of"));
    let hlo =
        file("gpu_after_optimizations.txt", "*gpu_after_optimizations.txt", Some("holds the instructions"));
    let assignment = file(
        "after_optimizations-buffer-assignment.txt",
        "*after_optimizations-buffer-assignment.txt",
        Some("says where buffers are"),
    );
    let values = file("after_optimizations-buffer-assignment-values.txt", "", None);
    let target = file(".gpu_target_config.pbtxt", "", None);
    let of_module = |name: &&String| plain(name).strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
    let ptx = directory.names.iter().filter(of_module).filter(|name| plain(name).ends_with(".ptx"));
    let ptx = ptx.filter_map(|name| directory.read(name).map_err(|error| errors.push(error)).ok()).collect();
    let meta = directory.names.iter().find(|name| plain(name) == "meta.json");
    let meta = meta.and_then(|name| directory.read(name).map_err(|error| errors.push(error)).ok());
    if !errors.is_empty() {
        return Err(LocatedErrors(errors));
    }
    let capability = directory.name(stem, "gpu_after_optimizations.txt").and_then(|name| {
        let rest = name.split_once(".sm_")?.1;
        Some(rest.split_once('_')?.0.to_owned())
    });
    Ok(Module {
        stem: stem.to_owned(),
        sequence: sequence.unwrap_or_default(),
        metadata: metadata.unwrap_or_default(),
        hlo: hlo.unwrap_or_default(),
        assignment: assignment.unwrap_or_default(),
        values,
        target,
        ptx,
        meta,
        capability,
    })
}

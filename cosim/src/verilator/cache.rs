//! Content-addressed results of builds, shared by processes.
//!
//! ```text
//! <root>/tools.json                  versions of the tools as last seen
//! <root>/{models,runtime}/<key>/     the files of one result, and manifest.json with the size and hash of each
//! <root>/locks/<key>                 held while <key> is built, so that nobody builds it twice
//! <root>/tmp/                        builds under way
//! ```
//!
//! A result is made in `tmp` and renamed into place, so that what has a name is whole; and as disks fill up and machines
//! lose power, size and hash are checked before each use all the same. Everything here may be deleted at any time.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use thiserror::Error;
use windlass_files::cache::{DAY, remove_older};
use windlass_files::new_file::save;
use windlass_gen::cache::hex;
use windlass_gen::tools::{self, Found, Tool, ToolError};

/// Where builds are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// A cache that cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// No variable says where it is.
    #[error(
        "there is no directory to keep builds in: set WINDLASS_CACHE to one (XDG_CACHE_HOME and HOME are not set either)"
    )]
    NoPlace,
    /// It cannot be read or written: read-only, full, or not a directory.
    #[error("the build cache cannot {what} `{}`: {source}\n  free some space there, or set WINDLASS_CACHE to a directory that can be written", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// For `map_err`.
pub(super) fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> CacheError + 'a {
    move |source| CacheError::Io { what, path: path.to_path_buf(), source }
}

impl Cache {
    /// `$WINDLASS_CACHE`, else `$XDG_CACHE_HOME/windlass`, else `~/.cache/windlass`. Nothing is created yet.
    pub fn from_env() -> Result<Self, CacheError> {
        windlass_gen::cache::root().map(Self::at).ok_or(CacheError::NoPlace)
    }

    /// The cache in the directory `root`, which is created when something is built.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The cache's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn entry(&self, kind: &str, key: &str) -> PathBuf {
        self.root.join(kind).join(key)
    }

    /// The directory of a whole, unharmed result, if there is one.
    pub(super) fn get(&self, kind: &str, key: &str) -> Option<PathBuf> {
        let dir = self.entry(kind, key);
        is_whole(&dir).then_some(dir)
    }

    /// The directory of the result `key`, and whether it had to be made by `build` (which gets an empty directory for
    /// the result, and one to work in). Nothing is kept if `build` fails.
    pub(super) fn get_or_build<E: From<CacheError>>(
        &self,
        kind: &str,
        key: &str,
        build: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<(PathBuf, bool), E> {
        if let Some(dir) = self.get(kind, key) {
            return Ok((dir, false));
        }
        let tmp = self.root.join("tmp");
        for dir in [&tmp, &self.root.join(kind), &self.root.join("locks")] {
            fs::create_dir_all(dir).map_err(io_error("create", dir))?;
        }
        // Without a lock (some network file systems have none) two may do the same work, and nothing else.
        let lock = File::create(self.root.join("locks").join(key)).ok();
        let _held = lock.as_ref().map(File::lock);
        if let Some(dir) = self.get(kind, key) {
            return Ok((dir, false));
        }
        // What processes that were killed left.
        remove_older(&tmp, "", DAY);
        let scratch = tempfile::tempdir_in(&tmp).map_err(io_error("create a directory in", &tmp))?;
        let (result, work) = (scratch.path().join("result"), scratch.path().join("work"));
        for dir in [&result, &work] {
            fs::create_dir(dir).map_err(io_error("create", dir))?;
        }
        build(&result, &work)?;
        write_manifest(&result)?;
        let place = self.entry(kind, key);
        match fs::rename(&result, &place) {
            Ok(()) => {}
            // Somebody else was faster, and what they made is as good.
            Err(_) if is_whole(&place) => {}
            // What is there is damaged: out of the way with it.
            Err(_) => {
                let _ = fs::rename(&place, scratch.path().join("damaged"));
                if let Err(error) = fs::rename(&result, &place)
                    && !is_whole(&place)
                {
                    return Err(io_error("put a build into", &place)(error).into());
                }
            }
        }
        Ok((place, true))
    }

    /// The tool as it is now, or, where it cannot be used, as it was when last seen (with the reason).
    ///
    /// Its version is part of every key, but asking for it takes a process, and a library that was built once should load
    /// on a machine without the tool. So the version is noted beside path, size and time of the program, and asked for again
    /// only where these differ.
    pub(super) fn tool(&self, tool: Tool) -> Result<SeenTool, ToolError> {
        let file = self.root.join("tools.json");
        let mut seen = self.seen();
        let name = tool.info().env.to_string();
        let known = seen.get(&name).cloned();
        let now = tools::locate(tool).map(|(path, _)| ToolRecord::of(&path));
        if let (Ok(Some(now)), Some(known)) = (&now, &known)
            && known.same_program(now)
        {
            return Ok(SeenTool {
                path: known.path.clone(),
                version_line: known.version_line.clone(),
                unusable: None,
            });
        }
        match (tools::find(tool), known) {
            (Ok(Found { path, version_line, .. }), _) => {
                if let Some(record) = ToolRecord::of(&path) {
                    seen.insert(name, ToolRecord { version_line: version_line.clone(), ..record });
                    // A convenience: where it cannot be written, the version is asked for again next time.
                    let _ = serde_json::to_vec_pretty(&seen).map(|text| save(&file, text));
                }
                Ok(SeenTool { path, version_line, unusable: None })
            }
            (Err(error), Some(known)) => {
                Ok(SeenTool { path: known.path, version_line: known.version_line, unusable: Some(error) })
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The tool as it was when last seen, whatever there is now.
    pub(super) fn remembered(&self, tool: Tool) -> Option<SeenTool> {
        let ToolRecord { path, version_line, .. } = self.seen().remove(tool.info().env)?;
        Some(SeenTool { path, version_line, unusable: None })
    }

    fn seen(&self) -> BTreeMap<String, ToolRecord> {
        let bytes = fs::read(self.root.join("tools.json")).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// A tool, by its path and version.
#[derive(Clone, Debug)]
pub(super) struct SeenTool {
    pub path: PathBuf,
    pub version_line: String,
    /// Why it cannot be run now; what is in the cache can be used all the same.
    pub unusable: Option<ToolError>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ToolRecord {
    path: PathBuf,
    size: u64,
    modified_ns: u64,
    version_line: String,
}

impl ToolRecord {
    fn of(path: &Path) -> Option<Self> {
        let meta = path.metadata().ok()?;
        let modified = meta.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(Self {
            path: path.to_path_buf(),
            size: meta.len(),
            modified_ns: u64::try_from(modified.as_nanos()).ok()?,
            version_line: String::new(),
        })
    }

    fn same_program(&self, other: &Self) -> bool {
        (&self.path, self.size, self.modified_ns) == (&other.path, other.size, other.modified_ns)
    }
}

const MANIFEST: &str = "manifest.json";

#[derive(Serialize, Deserialize)]
struct Manifest {
    files: BTreeMap<String, FileRecord>,
}

#[derive(Serialize, Deserialize)]
struct FileRecord {
    size: u64,
    sha256: String,
}

fn write_manifest(dir: &Path) -> Result<(), CacheError> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        let path = entry.map_err(io_error("read", dir))?.path();
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(name, FileRecord { size: bytes.len() as u64, sha256: hex(&Sha256::digest(&bytes)) });
    }
    let path = dir.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&Manifest { files }).unwrap_or_default();
    fs::write(&path, text).map_err(io_error("write", &path))
}

/// True if there is a manifest, and every file in it has the right size and hash.
fn is_whole(dir: &Path) -> bool {
    let Some(manifest) =
        fs::read(dir.join(MANIFEST)).ok().and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok())
    else {
        return false;
    };
    !manifest.files.is_empty()
        && manifest.files.iter().all(|(name, record)| {
            let path = dir.join(name);
            path.metadata().is_ok_and(|m| m.len() == record.size)
                && fs::read(&path).is_ok_and(|bytes| hex(&Sha256::digest(&bytes)) == record.sha256)
        })
}

/// A key: the hash of fields, each with its length, so that no two lists of fields look the same.
#[derive(Default)]
pub(super) struct Key(Sha256);

impl Key {
    pub(super) fn add(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(cache: &Cache, text: &str) -> (PathBuf, bool) {
        cache
            .get_or_build::<CacheError>("models", "key", |result, _| {
                fs::write(result.join("a"), text).map_err(io_error("write", result))
            })
            .unwrap()
    }

    #[test]
    fn damage_is_noticed_and_repaired() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        let (place, built) = build(&cache, "right");
        assert!(built);
        assert!(!build(&cache, "right").1);
        for damage in ["righ", "wrong", ""] {
            fs::write(place.join("a"), damage).unwrap();
            assert!(build(&cache, "right").1, "{damage:?}");
            assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "right");
        }
        fs::write(place.join(MANIFEST), "{").unwrap();
        assert!(build(&cache, "right").1);
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let failed = cache.get_or_build::<CacheError>("models", "key", |result, _| {
            fs::write(result.join("a"), "half").map_err(io_error("write", result))?;
            Err(CacheError::NoPlace)
        });
        assert!(failed.is_err());
        assert!(cache.get("models", "key").is_none());
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn fields_of_a_key_do_not_run_together() {
        let key = |fields: &[&str]| {
            let mut key = Key::default();
            for field in fields {
                key.add(field);
            }
            key.finish()
        };
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }

    #[test]
    fn a_cache_that_cannot_be_written_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::at(&file).get_or_build::<CacheError>("models", "key", |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("set WINDLASS_CACHE"), "{error}");
    }
}

//! Where what is costly to make is kept between runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory that all of Windlass's caches share: `$WINDLASS_CACHE`, else `$XDG_CACHE_HOME/windlass`, else
/// `~/.cache/windlass`; `None` where none of these is set. Nothing is created.
pub fn root() -> Option<PathBuf> {
    root_from(|name| std::env::var_os(name))
}

/// A day.
pub const DAY: Duration = Duration::from_secs(24 * 3600);

/// Removes what is older than `age` in `folder` and has a name that begins with `prefix`: what processes that were killed left, and what
/// was kept for somebody to look at. What cannot be removed stays.
pub fn remove_older(folder: &Path, prefix: &str, age: Duration) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        if modified.is_ok_and(|at| at.elapsed().is_ok_and(|old| old > age)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn root_from(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let var = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("WINDLASS_CACHE")
        .or_else(|| Some(var("XDG_CACHE_HOME")?.join("windlass")))
        .or_else(|| Some(var("HOME")?.join(".cache").join("windlass")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_old_and_is_called_so_goes() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["failed-1", "failed-2", "kept"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        remove_older(folder.path(), "failed-", DAY);
        assert!(folder.path().join("failed-1").exists());
        let old = std::time::SystemTime::now() - 2 * DAY;
        for name in ["failed-1", "kept"] {
            let folder = std::fs::File::open(folder.path().join(name)).unwrap();
            folder.set_modified(old).unwrap();
        }
        remove_older(folder.path(), "failed-", DAY);
        let left = |name| folder.path().join(name).exists();
        assert_eq!((left("failed-1"), left("failed-2"), left("kept")), (false, true, true));
    }

    #[test]
    fn the_first_variable_that_is_set_wins() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            root_from(move |name| set.iter().find(|(k, _)| k == name).map(|(_, v)| OsString::from(v)))
        };
        let home = ("HOME", "/h");
        assert_eq!(with(&[home, ("XDG_CACHE_HOME", "/x"), ("WINDLASS_CACHE", "/w")]), Some("/w".into()));
        assert_eq!(
            with(&[home, ("XDG_CACHE_HOME", "/x"), ("WINDLASS_CACHE", "")]),
            Some("/x/windlass".into())
        );
        assert_eq!(with(&[home]), Some("/h/.cache/windlass".into()));
        assert_eq!(with(&[]), None);
    }
}

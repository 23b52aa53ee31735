//! Where what is costly to make is kept between runs.

use std::ffi::OsString;
use std::path::PathBuf;

/// The directory that all of Windlass's caches share: `$WINDLASS_CACHE`, else `$XDG_CACHE_HOME/windlass`, else
/// `~/.cache/windlass`; `None` where none of these is set. Nothing is created.
pub fn root() -> Option<PathBuf> {
    root_from(|name| std::env::var_os(name))
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

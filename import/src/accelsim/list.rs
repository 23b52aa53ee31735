//! `kernelslist.g`: what the host asked of the GPU, in order.

use super::error::{AccelsimErrors, Collected, Problem};
use crate::{Counts, count, file};
use std::fs;
use std::path::{Path, PathBuf};
use windlass_runtime::ktrace::ADDRESS_LIMIT;

/// Bytes of a list.
const MAX_BYTES: u64 = 1 << 30;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The kernel in this file.
    Kernel(PathBuf),
    /// The host copied so many bytes to this address.
    Copy { addr: u64, bytes: u64 },
}

/// The list itself: `path`, or what the folder `path` has.
pub(super) fn find(path: &Path) -> Result<PathBuf, AccelsimErrors> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let fail = |problem| {
        let mut errors = Collected::default();
        errors.push(&file::name(path), 0, problem);
        errors.result().map(|()| PathBuf::new())
    };
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) => entries,
        Err(error) => return fail(Problem::Io(error)),
    };
    let mut lists: Vec<String> =
        entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    lists.retain(|name| name.starts_with("kernelslist"));
    lists.sort();
    let grouped: Vec<&String> = lists.iter().filter(|name| name.ends_with(".g")).collect();
    match grouped[..] {
        [only] => Ok(path.join(only)),
        // The tracer's own list of one context has this name, others' that of the context.
        _ if lists.iter().any(|name| name == "kernelslist.g") => Ok(path.join("kernelslist.g")),
        [] if lists.is_empty() => fail(Problem::NoList { found: "no kernelslist.g in the folder".into() }),
        [] => fail(Problem::NoList { found: format!("no kernelslist.g, only {}", lists.join(", ")) }),
        _ => fail(Problem::NoList { found: format!("several lists: {}", lists.join(", ")) }),
    }
}

/// What the list says, and the words of lines that are not known.
pub(super) fn read(list: &Path) -> Result<(Vec<Command>, Counts), AccelsimErrors> {
    let name = file::name(list);
    let (mut errors, mut unknown) = (Collected::default(), Counts::new());
    let mut commands = Vec::new();
    let text = match file::read(list, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| Problem::NotText),
        Err(error) => Err(error.into()),
    };
    let text = text.unwrap_or_else(|problem| {
        errors.push(&name, 0, problem);
        String::new()
    });
    let folder = list.parent().unwrap_or(Path::new(""));
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut parts = line.split(',').map(str::trim);
        let word = parts.next().unwrap_or_default();
        if word.starts_with("kernel") {
            commands.push(Command::Kernel(folder.join(line)));
        } else if word.starts_with("MemcpyHtoD") {
            let addr = parts.next().and_then(|at| u64::from_str_radix(at.trim_start_matches("0x"), 16).ok());
            let bytes = parts.next().and_then(|bytes| bytes.parse().ok());
            match (addr, bytes) {
                (Some(addr), Some(bytes)) if addr.saturating_add(bytes) > ADDRESS_LIMIT => {
                    errors.push(
                        &name,
                        number + 1,
                        Problem::PastAddressLimit { address: addr.saturating_add(bytes) - 1 },
                    );
                }
                (Some(addr), Some(bytes)) => commands.push(Command::Copy { addr, bytes }),
                _ => {
                    let found = line.chars().take(60).collect();
                    errors.push(
                        &name,
                        number + 1,
                        Problem::Line { found, expected: "MemcpyHtoD,ADDRESS,BYTES" },
                    );
                }
            }
        } else if !word.is_empty() {
            count(&mut unknown, word);
        }
    }
    errors.result()?;
    Ok((commands, unknown))
}

//! `*.thunk_sequence.txt`: what the executable launches, in order; and `*.thunk_metadata.txt`: the instruction that each launch is of.

use super::directory::Text;
use super::error::{Collected, Problem, Warning};
use std::collections::{HashMap, HashSet};

/// Thunks in one another: a loop in a loop is two.
pub(super) const MAX_DEPTH: usize = 64;

/// What a thunk's line says of the kernel that it launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) name: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Bytes per CTA; older XLAs do not say.
    pub(super) smem: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Thunk {
    pub(super) line: usize,
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) launch: Option<Launch>,
    /// Thunks inside, by the label above them: `condition`, `body`, `branch_0`; no label in command buffers.
    pub(super) groups: Vec<Group>,
}

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) label: String,
    pub(super) thunks: Vec<Thunk>,
}

/// `[1, 2, 3]` or `{1, 2, 3}`, of which a ktrace can hold the product.
fn dimensions(text: &str) -> Option<[u32; 3]> {
    let inside = text.trim().strip_prefix(['[', '{'])?.split([']', '}']).next()?;
    let mut numbers = inside.split(',').map(|number| number.trim().parse::<u32>());
    let dims = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    let fits = dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(u64::from(*dim))).is_some();
    (numbers.next().is_none() && !dims.contains(&0) && fits).then_some(dims)
}

/// The text behind a word.
fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.split_once(word).map(|(_, behind)| behind)
}

/// The launch that the end of a thunk's line describes, if it does; an error where it is no launch.
fn launch(text: &str) -> Option<Result<Launch, String>> {
    let (name, grid, block, smem) = if let Some((name, rest)) = text.split_once(" grid: ") {
        let smem = behind(rest, "shared_memory: ").and_then(|smem| smem.split(' ').next());
        (name, rest, behind(rest, "threads: "), Some(smem))
    } else {
        let rest = behind(text, "kernel = ")?;
        let (name, rest) = rest.split_once(", launch dimensions = blocks: ")?;
        (name, rest, behind(rest, "threads/block: "), None)
    };
    let name = name.trim().to_owned();
    let parsed = || {
        let smem = match smem {
            Some(bytes) => Some(bytes?.parse().ok()?),
            None => None,
        };
        Some(Launch { name: name.clone(), grid: dimensions(grid)?, block: dimensions(block?)?, smem })
    };
    Some(parsed().ok_or_else(|| name.clone()))
}

/// A thunk's line: indentation, id, kind, dependencies in brackets, the rest.
fn thunk(line: &str) -> Option<(usize, u64, &str, &str)> {
    let text = line.trim_start();
    let (id, rest) = text.split_once(':')?;
    let id = id.parse().ok()?;
    let rest = rest.trim_start();
    let kind = rest.split([' ', '\t']).next().filter(|kind| kind.starts_with('k'))?;
    let rest = rest[kind.len()..].trim_start();
    let rest = if rest.starts_with('[') { behind(rest, "]")? } else { rest };
    Some((line.len() - text.len(), id, kind, rest.trim()))
}

/// Reads a sequence. Lines belong together by their indentation, which labels share but for `condition:`.
pub(super) fn sequence(source: &Text, errors: &mut Collected) -> Vec<Thunk> {
    let mut root = Group::default();
    // Thunks whose end is not reached yet, outermost first, with their indentation.
    let mut open: Vec<(usize, Thunk)> = Vec::new();
    for (number, line) in source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        if let Some(label) = line.trim().strip_suffix(':').filter(|label| !label.contains(' ')) {
            let indent = line.len() - line.trim_start().len();
            // XLA prints it without indentation, right below its thunk.
            if label != "condition" {
                close(&mut open, &mut root, indent);
            }
            match open.last_mut() {
                Some((_, owner)) => owner.groups.push(Group { label: label.to_owned(), thunks: Vec::new() }),
                None => errors.line(&source.file, number, line, "a thunk above this label"),
            }
            continue;
        }
        let Some((indent, id, kind, rest)) = thunk(line) else {
            errors.line(&source.file, number, line, "`NUMBER: kKIND [..] ..`, or a label such as `body:`,");
            continue;
        };
        let launch = match launch(rest) {
            Some(Err(name)) => {
                errors.push(&source.file, number, Problem::Launch { name });
                None
            }
            Some(Ok(launch)) => Some(launch),
            None => None,
        };
        if launch.is_none() && matches!(kind, "kKernel" | "kCustomKernel") && !rest.contains("grid") {
            errors.line(&source.file, number, line, "the kernel's name, `grid:` and `threads:`");
        }
        close(&mut open, &mut root, indent);
        if open.len() == MAX_DEPTH {
            errors.push(&source.file, number, Problem::TooDeep { limit: MAX_DEPTH });
            break;
        }
        let kind = kind.to_owned();
        open.push((indent, Thunk { line: number, id, kind, launch, groups: Vec::new() }));
    }
    close(&mut open, &mut root, 0);
    if root.thunks.is_empty() {
        errors.push(&source.file, 0, Problem::Nothing { what: "thunk" });
    }
    root.thunks
}

/// Puts thunks that are not above a line of this indentation where they belong.
fn close(open: &mut Vec<(usize, Thunk)>, root: &mut Group, indent: usize) {
    while open.last().is_some_and(|(inner, _)| *inner >= indent) {
        let Some((_, thunk)) = open.pop() else { return };
        let group = match open.last_mut() {
            None => &mut *root,
            Some((_, owner)) => {
                if owner.groups.is_empty() {
                    owner.groups.push(Group::default());
                }
                let last = owner.groups.len() - 1;
                &mut owner.groups[last]
            }
        };
        group.thunks.push(thunk);
    }
}

/// Instruction names by thunk id, from the text protobuf.
pub(super) fn metadata(source: &Text, errors: &mut Collected) -> HashMap<u64, String> {
    let mut names = HashMap::new();
    let mut name = None;
    for (number, line) in source.text.lines().enumerate() {
        if let Some(text) = line.trim().strip_prefix("profile_annotation: ") {
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            name = text.map(str::to_owned);
            if name.is_none() {
                errors.line(&source.file, number + 1, line, "`profile_annotation: \"NAME\"`");
            }
        } else if let Some(id) = line.trim().strip_prefix("thunk_id: ") {
            match (id.parse(), name.take()) {
                (Ok(id), Some(name)) => _ = names.insert(id, name),
                (Ok(_), None) => {} // a thunk of no instruction
                (Err(_), _) => errors.line(&source.file, number + 1, line, "`thunk_id: NUMBER`"),
            }
        } else if line.starts_with('}') {
            name = None;
        }
    }
    if names.is_empty() {
        errors.push(&source.file, 0, Problem::Nothing { what: "thunk with its instruction" });
    }
    names
}

/// Thunks that have an instruction, but are not in the sequence.
pub(super) fn missing(thunks: &[Thunk], names: &HashMap<u64, String>) -> Option<Warning> {
    fn ids(thunks: &[Thunk], found: &mut HashSet<u64>) {
        for thunk in thunks {
            found.insert(thunk.id);
            thunk.groups.iter().for_each(|group| ids(&group.thunks, found));
        }
    }
    let mut found = HashSet::new();
    ids(thunks, &mut found);
    let missing = || names.iter().filter(|(id, _)| !found.contains(id));
    let (_, name) = missing().min()?;
    Some(Warning::MissingThunks { name: name.clone(), thunks: missing().count() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_old_and_new() {
        let launch = |text| launch(text).map(|launch| launch.map(|l| (l.name, l.grid, l.block, l.smem)));
        let text = "a_1 grid: [48, 2, 1] threads: [128, 1, 1] cluster: [2, 1, 1] shared_memory: 7 bytes";
        assert_eq!(launch(text), Some(Ok(("a_1".into(), [48, 2, 1], [128, 1, 1], Some(7)))));
        let text = ", kernel = a_1, launch dimensions = blocks: {48, 2, 1}, threads/block: {128, 1, 1}, cluster_dim = nullopt";
        assert_eq!(launch(text), Some(Ok(("a_1".into(), [48, 2, 1], [128, 1, 1], None))));
        assert_eq!(launch("kCopy"), None);
        for text in [
            "a grid: [48, 2, 1]",
            "a grid: [1, 1] threads: [1, 1, 1]",
            "a grid: [4294967295, 4294967295, 4294967295] threads: [1, 1, 1] shared_memory: 0 bytes",
            "a grid: [1, 1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes",
        ] {
            assert_eq!(launch(text), Some(Err("a".into())), "{text}");
        }
    }

    #[test]
    fn thunks_are_where_their_indentation_says() {
        let text = "1: kWhile [a]   \ncondition:\n    2: kCopy [a] kCopy\n  body:\n    3: kWhile [a]\ncondition:\n        4: kCopy [a]\n      body:\n        5: kCopy [a]\n    6: kCopy [a]\n7: kCopy";
        let mut errors = Collected::default();
        let source = Text { file: "f".into(), text: text.into() };
        let thunks = sequence(&source, &mut errors);
        errors.result().expect("no errors");
        fn show(thunks: &[Thunk]) -> String {
            let one = |thunk: &Thunk| {
                let groups = thunk.groups.iter().map(|g| format!("{}({})", &g.label[..1], show(&g.thunks)));
                format!("{}{}", thunk.id, groups.collect::<String>())
            };
            thunks.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        assert_eq!(show(&thunks), "1c(2)b(3c(4)b(5) 6) 7");
    }
}

//! What the source of a kernel that `torch.compile` has made says of the kernel's arguments.
//!
//! An execution trace has the tensors that a Triton kernel was given, but not which of them it writes. TorchInductor's source does: it names a
//! pointer by what the kernel does with it (`in_ptr0`, `out_ptr0`, `in_out_ptr0`, in templates `arg_A`), and lists those whose memory keeps
//! earlier contents (`mutated_arg_names`). The format is what PyTorch's `torch/_inductor/codegen/triton.py` and `select_algorithm.py` write.

use super::error::{Problem, PytorchError, PytorchErrors};
use crate::{FileError, file};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of one source: `output_code.py` of a large model has a few million.
const MAX_SOURCE_BYTES: u64 = 64 << 20;
/// Folders within folders; a cache has two levels.
const MAX_DEPTH: usize = 16;
const MARK: &str = "@triton.jit";

/// What a kernel does with the memory behind an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Reads,
    /// Without any of its earlier contents.
    Writes,
    Both,
}

#[derive(Clone, Debug, PartialEq)]
struct Kernel {
    /// The name of the file that it is in, without folders.
    file: String,
    /// Of its pointers, in order.
    roles: Vec<Role>,
}

/// The sources of compiled kernels, as TorchInductor keeps them: read them with [`TritonSources::read`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TritonSources {
    /// By the name that is in the trace; programs that were compiled apart may have kernels of one name.
    kernels: HashMap<String, Vec<Kernel>>,
}

impl TritonSources {
    /// Reads files, and all `.py` files of folders and of the folders in these: TorchInductor's cache (`TORCHINDUCTOR_CACHE_DIR`), what
    /// `ExecutionTraceObserver` collects beside a trace (`.._resources`), or an `output_code.py`.
    ///
    /// # Errors
    /// Paths that are not read, and paths without a kernel.
    pub fn read(paths: &[PathBuf]) -> Result<Self, PytorchErrors> {
        let mut sources = Self::default();
        let mut errors = Vec::new();
        for path in paths {
            let located = |problem| PytorchError { file: file::name(path), node: None, field: None, problem };
            match sources.read_path(path, 0) {
                Ok(0) => errors.push(located(Problem::NoTriton)),
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(sources) } else { Err(PytorchErrors(errors)) }
    }

    /// How many kernels there were.
    fn read_path(&mut self, path: &Path, depth: usize) -> Result<usize, PytorchError> {
        let error = |error: FileError| PytorchError {
            file: file::name(path),
            node: None,
            field: None,
            problem: error.into(),
        };
        if !path.is_dir() {
            let bytes = file::read(path, MAX_SOURCE_BYTES).map_err(error)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            return Ok(self.add(&name, &String::from_utf8_lossy(&bytes)));
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|why| error(FileError::Io(why)))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut found = 0;
        for entry in entries {
            let path = entry.path();
            // A link to a folder may lead back.
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if (folder && depth < MAX_DEPTH)
                || (path.is_file() && path.extension().is_some_and(|e| e == "py"))
            {
                found += self.read_path(&path, depth + 1)?;
            }
        }
        Ok(found)
    }

    /// The kernels of a source, whose number it returns; text that is none has none.
    #[doc(hidden)]
    pub fn add(&mut self, file: &str, text: &str) -> usize {
        let mut found = 0;
        let mut before = 0;
        while let Some(at) = text[before..].find(MARK).map(|at| before + at) {
            let after = at + MARK.len();
            if let Some((name, roles)) = kernel(&text[before..at], &text[after..]) {
                let kernel = Kernel { file: file.to_owned(), roles };
                let known = self.kernels.entry(name).or_default();
                // A cache and an `output_code.py` have the same ones.
                if !known.contains(&kernel) {
                    known.push(kernel);
                }
                found += 1;
            }
            before = after;
        }
        found
    }

    /// What the kernel of this name does with each of its tensors, given the file that the trace says it is in, and how many tensors it was
    /// given; nothing where no source fits. Where several do, all that one of them does.
    pub(super) fn roles(&self, name: &str, path: Option<&str>, tensors: usize) -> Option<Vec<Role>> {
        let file = path.and_then(|path| path.rsplit(['/', '\\']).next());
        let fitting =
            || self.kernels.get(name).into_iter().flatten().filter(|kernel| kernel.roles.len() == tensors);
        let named: Vec<&Kernel> = fitting().filter(|kernel| Some(kernel.file.as_str()) == file).collect();
        let kernels = if named.is_empty() { fitting().collect() } else { named };
        let (first, rest) = kernels.split_first()?;
        let mut roles = first.roles.clone();
        for kernel in rest {
            for (role, other) in roles.iter_mut().zip(&kernel.roles) {
                if role != other {
                    *role = Role::Both;
                }
            }
        }
        Some(roles)
    }
}

/// A kernel's name and its pointers, given what stands before and after the mark. What has no signature is a function for kernels to call.
fn kernel(before: &str, after: &str) -> Option<(String, Vec<Role>)> {
    let definition = after.trim_start().strip_prefix("def ")?;
    let (function, rest) = definition.split_once('(')?;
    let (parameters, body) = rest.split_once(')')?;
    let parameters: Vec<&str> =
        parameters.split(',').map(|p| p.split([':', '=']).next().unwrap_or_default().trim()).collect();
    let body = ["'''", "\"\"\"", "\n@"]
        .iter()
        .filter_map(|end| body.find(end))
        .min()
        .map_or(body, |end| &body[..end]);
    let signature = value(before, "signature")?.strip_prefix('{')?.split_once('}')?.0;
    let mutated: Option<Vec<&str>> = value(before, "mutated_arg_names")
        .and_then(|list| Some(list.strip_prefix('[')?.split_once(']')?.0.split(',').map(unquoted).collect()));
    let entries = signature.split(',').filter_map(|entry| entry.split_once(':'));
    let pointers = entries.filter(|(_, kind)| unquoted(kind).starts_with('*'));
    // Before PyTorch 2.6 the key is the parameter's number.
    let names = pointers.map(|(key, _)| match key.trim().parse::<usize>() {
        Ok(at) => parameters.get(at).copied(),
        Err(_) => Some(unquoted(key)),
    });
    let roles = names.map(|name| Some(role(name?, mutated.as_deref(), body))).collect::<Option<_>>()?;
    let name = value(before, "kernel_name").and_then(quoted).unwrap_or(function.trim());
    Some((name.to_owned(), roles))
}

fn role(name: &str, mutated: Option<&[&str]>, body: &str) -> Role {
    let kept = mutated.is_some_and(|mutated| mutated.contains(&name));
    let is = |prefix: &str| name.starts_with(prefix);
    if kept || is("in_out_ptr") {
        Role::Both
    } else if is("out_ptr") {
        if only_stored(name, body) { Role::Writes } else { Role::Both }
    } else if is("in_ptr") || is("arg_") && is_upper(&name["arg_".len()..]) {
        Role::Reads
    } else {
        Role::Both
    }
}

/// As templates name their arguments: `A`, `B`, `X`, `W`, `Q`, `LSE`.
fn is_upper(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether a pointer is in stores only: not read, not added to by atomics, not handed on.
fn only_stored(name: &str, body: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    body.match_indices(name).all(|(at, _)| {
        let (before, after) = (&body[..at], &body[at + name.len()..]);
        let part = before.ends_with(inside) || after.starts_with(inside);
        part || before.ends_with("tl.store(")
    })
}

/// What follows a key of a dictionary in the text; the last of that name is the kernel's, which stands directly behind it.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.rfind(&format!("'{key}':")).or_else(|| text.rfind(&format!("\"{key}\":")))?;
    Some(text[at + key.len() + 3..].trim_start())
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}

/// The string that a text begins with.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    text[1..].split_once(quote).map(|(name, _)| name)
}

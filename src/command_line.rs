//! The command line of this run, as reports and messages repeat it.

use crate::Cli;
use clap::{Arg, Command, CommandFactory};
use windlass_gen::tools::quoted;

/// An option and its value, or a word that belongs to none, such as a file.
struct Part {
    /// The option, with its `--`.
    option: Option<String>,
    words: Vec<String>,
}

impl Part {
    fn is_of(&self, options: &[&str]) -> bool {
        self.option.as_deref().is_some_and(|option| options.contains(&option))
    }
}

/// The words after the program's name. What is no UTF-8 is shown with U+FFFD.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}

/// The command line without these options.
pub fn without(options: &[&str]) -> String {
    left(words(), options)
}

fn left(words: impl Iterator<Item = String>, options: &[&str]) -> String {
    let (command, parts) = parsed(words);
    joined([command], parts.into_iter().filter(|part| !part.is_of(options)))
}

/// The command line on `files` instead of those that it names, without these options.
pub fn on_files(files: &[String], options: &[&str]) -> String {
    replaced(words(), files, options)
}

fn replaced(words: impl Iterator<Item = String>, files: &[String], options: &[&str]) -> String {
    let (command, parts) = parsed(words);
    let parts = parts.into_iter().filter(|part| part.option.is_some() && !part.is_of(options));
    // A name that begins with `-` would be taken for an option.
    let files =
        files.iter().map(|file| if file.starts_with('-') { format!("./{file}") } else { file.clone() });
    joined([command].into_iter().chain(files), parts)
}

/// The subcommand, and what follows it.
fn parsed(mut words: impl Iterator<Item = String>) -> (String, Vec<Part>) {
    let name = words.next().unwrap_or_default();
    let cli = Cli::command();
    let command = cli.find_subcommand(&name);
    let mut parts = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            // From here on there are no options.
            let rest = [word].into_iter().chain(words);
            parts.extend(rest.map(|word| Part { option: None, words: vec![word] }));
            break;
        }
        let (option, value) =
            word.split_once('=').map_or((word.as_str(), false), |(option, _)| (option, true));
        let option = Some(option).filter(|option| option.starts_with("--")).map(String::from);
        let apart =
            !value && option.as_deref().zip(command).is_some_and(|(o, command)| takes_value(command, o));
        let words = [word].into_iter().chain(apart.then(|| words.next()).flatten()).collect();
        parts.push(Part { option, words });
    }
    (name, parts)
}

fn takes_value(command: &Command, option: &str) -> bool {
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_all_aliases().into_iter().flatten();
        arg.get_long().into_iter().chain(aliases).any(|long| option.strip_prefix("--") == Some(long))
    };
    command.get_arguments().find(is_it).is_some_and(|arg| arg.get_action().takes_values())
}

fn joined(begin: impl IntoIterator<Item = String>, parts: impl Iterator<Item = Part>) -> String {
    let words = ["windlass".into()].into_iter().chain(begin).chain(parts.flat_map(|part| part.words));
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> impl Iterator<Item = String> {
        line.split(' ').map(String::from)
    }

    #[test]
    fn options_go_with_their_values_and_words_are_quoted() {
        let line = "explore --slots 8,16 --out x --jobs=2 --json --workloads a*b it's c";
        let left = left(words(line), &["--out", "--jobs", "--json"]);
        assert_eq!(left, "windlass explore --slots 8,16 --workloads 'a*b' 'it'\\''s' c");
    }

    #[test]
    fn files_go_but_not_what_is_an_options_value() {
        let line = "cosim h100 mix --gpu h100 --step --engine mix --seed 3";
        let replay = replaced(words(line), &["mix".into()], &["--seed"]);
        assert_eq!(replay, "windlass cosim mix --gpu h100 --step --engine mix");
    }

    #[test]
    fn files_whose_names_are_like_options_stay_files() {
        let line = "cosim --gpu h100 -- --seed a";
        assert_eq!(left(words(line), &["--seed"]), "windlass cosim --gpu h100 -- --seed a");
        let replay = replaced(words(line), &["--seed".into()], &["--seed"]);
        assert_eq!(replay, "windlass cosim ./--seed --gpu h100");
    }
}

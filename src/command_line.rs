//! The command line of this run, as reports and messages repeat it.

use windlass_gen::tools::quoted;

/// The words after the program's name. What is no UTF-8 is shown with U+FFFD.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}

/// The command line without these options; true where a value follows one.
pub fn without(options: &[(&str, bool)]) -> String {
    let left = left(words(), options);
    joined(["windlass".into()].into_iter().chain(left))
}

/// The command line on `files` instead of `all` that it names, without these options.
pub fn on_files(files: &[String], all: &[String], options: &[(&str, bool)]) -> String {
    let mut words = words();
    let command = ["windlass".into()].into_iter().chain(words.next());
    let left = left(words, options).into_iter().filter(|word| !all.contains(word));
    joined(command.chain(files.iter().cloned()).chain(left))
}

fn left(words: impl Iterator<Item = String>, options: &[(&str, bool)]) -> Vec<String> {
    let mut left = Vec::new();
    let mut skip = false;
    for word in words {
        if std::mem::take(&mut skip) {
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        match options.iter().find(|(option, _)| *option == name) {
            Some((_, takes)) => skip = *takes && !value,
            None => left.push(word),
        }
    }
    left
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_with_their_values_and_words_are_quoted() {
        let line = "explore --slots 8,16 --out x --jobs=2 --json --workloads a*b it's c";
        let options = [("--out", true), ("--jobs", true), ("--json", false)];
        let left = left(line.split(' ').map(String::from), &options);
        assert_eq!(joined(left.into_iter()), "explore --slots 8,16 --workloads 'a*b' 'it'\\''s' c");
    }
}

//! The Verilog of a block: as it is emitted, or as somebody has changed or written it.
//!
//! docs/own-rtl.md shows what can be done with it.

use crate::emit::{Design, EmitErrors, ResetKind, emit};
use crate::folder::Written;
use crate::output::{self, METADATA_VERSION};
use crate::synth::flow::{self, Workplace};
use crate::synth::{SynthesisError, Yosys};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;
use windlass_catalog::BlockSpec;
use windlass_rtl::port::{Direction, Port};

/// Verilog that has the ports of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rtl {
    /// Its top module.
    pub top: String,
    /// Its files, names without directory and texts, in the order in which tools read them; [`sources`] are those that they are given.
    pub files: Vec<(String, String)>,
    /// The ports of its top module, the clock included.
    pub ports: Vec<Port>,
    /// Where it was read; none where it was emitted.
    pub path: Option<PathBuf>,
    /// Its metadata say that its registers take the reset at once, which no golden model does.
    pub asynchronous: bool,
}

impl Rtl {
    /// What is emitted for `block`.
    pub fn emitted(block: BlockSpec) -> Result<Self, EmitErrors> {
        Ok(Self::from(&emit(&*block.hardware())?))
    }
}

impl From<&Design> for Rtl {
    fn from(design: &Design) -> Self {
        let top = design.top();
        Self {
            top: top.name.clone(),
            files: output::verilog_files(design),
            ports: top.ports.clone(),
            path: None,
            asynchronous: design.reset_kind() == ResetKind::Asynchronous,
        }
    }
}

/// The names of those of `files` that tools are to be given: what another one includes is read there.
pub fn sources(files: &[(String, String)]) -> impl Iterator<Item = &str> {
    let included: BTreeSet<&str> =
        files.iter().flat_map(|(_, text)| includes(text).into_iter().map(|place| &text[place])).collect();
    files.iter().map(|(name, _)| name.as_str()).filter(move |name| !included.contains(name))
}

/// Where the names stand of the files that Verilog includes by a literal name, without their quotation marks.
fn includes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = text[at..].find(['/', '"', '`']) {
        at += step;
        let rest = &text[at..];
        let name = rest.strip_prefix("`include").map(|after| after.trim_start_matches([' ', '\t']));
        if let Some(name) = name.and_then(|after| after.strip_prefix('"')) {
            let begin = text.len() - name.len();
            let length = name.find(['"', '\n']).unwrap_or(name.len());
            if name[length..].starts_with('"') {
                found.push(begin..begin + length);
            }
            at = begin + length;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            at += comment.find("*/").map_or(rest.len(), |end| end + 4);
            continue;
        } else if let Some(string) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = string.find(|c| {
                let is_end = (c == '"' && !escaped) || c == '\n';
                escaped = c == '\\' && !escaped;
                is_end
            });
            at += end.map_or(rest.len(), |end| end + 1);
        }
        at = (at + 1).min(text.len());
    }
    found
}

/// How the `real` ports of a module, with no direction where it is an inout, differ from those that it should have.
pub fn port_differences(ports: &[Port], real: &[(&str, Option<Direction>, u32)]) -> Vec<String> {
    let named = |direction| match direction {
        Some(Direction::Input) => "an input",
        Some(Direction::Output) => "an output",
        None => "an inout",
    };
    let mut wrong = Vec::new();
    for Port { name, direction, width: wanted, .. } in ports {
        match real.iter().find(|(real, ..)| real == name) {
            None => wrong.push(format!("`{name}` is not a port of the Verilog module")),
            Some(&(_, is, width)) => {
                if is != Some(*direction) {
                    wrong.push(format!("`{name}` is {} in the Verilog module", named(is)));
                }
                if width != *wanted {
                    wrong.push(format!("`{name}` is {width} bits wide in the Verilog module, not {wanted}"));
                }
            }
        }
    }
    let more = real.iter().filter(|(name, ..)| !ports.iter().any(|port| port.name == *name));
    wrong.extend(
        more.map(|(name, ..)| format!("the Verilog module has a port `{name}` that is not in the list")),
    );
    wrong
}

/// Refuses Verilog that a tool would take for something else than was meant: with other ports than it should have; with signals that have no
/// driver or several, or loops of gates.
pub fn check(rtl: &Rtl, yosys: &Yosys) -> Result<(), SynthesisError> {
    let shelf = flow::shelf(None, "rtl")?;
    let work = Workplace::new(&shelf, &rtl.top, &flow::key(&rtl.files, &["check"]), flow::TIME_LIMIT)?;
    for (name, text) in &rtl.files {
        work.write(name, text)?;
    }
    let top = &rtl.top;
    let script = format!(
        "{}hierarchy -check -top {top}\ntee -q -o ports.txt portlist {top}\nproc\nflatten\ntee -q -o check.txt check\n",
        flow::read_commands(&rtl.files, top, yosys)
    );
    work.write("check.ys", &script)?;
    if let Err(failure) = yosys.run(&work, "check.ys", "check") {
        return Err(work.failed(failure));
    }
    let listed = flow::read_lossy(&work.path().join("ports.txt"));
    let problems = port_differences(&rtl.ports, &listed.lines().filter_map(real_port).collect::<Vec<_>>());
    if !problems.is_empty() {
        return Err(SynthesisError::Ports { top: top.clone(), problems });
    }
    let found = flow::read_lossy(&work.path().join("check.txt"));
    let warnings =
        found.lines().filter_map(|line| line.strip_prefix("Warning: ")).map(|line| line.replace('\\', ""));
    let problems = warnings.map(|warning| warning.trim_end_matches(':').to_string()).collect::<Vec<_>>();
    if !problems.is_empty() {
        return Err(SynthesisError::Faults { top: top.clone(), problems });
    }
    Ok(())
}

/// A line of Yosys' `portlist`, such as `input [7:0] req_i`.
fn real_port(line: &str) -> Option<(&str, Option<Direction>, u32)> {
    let (kind, rest) = line.split_once(" [")?;
    let (range, name) = rest.split_once("] ")?;
    let (high, low) = range.split_once(':')?;
    let direction = match kind {
        "input" => Some(Direction::Input),
        "output" => Some(Direction::Output),
        _ => None,
    };
    let width = high.parse::<i64>().ok()?.abs_diff(low.parse().ok()?).checked_add(1)?;
    Some((name, direction, width.try_into().ok()?))
}

/// Verilog that cannot be read.
#[derive(Debug, Error)]
pub enum RtlError {
    /// The system does not give it.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system does not give a file that a list names.
    #[error("{} names {}: {source}", list.display(), path.display())]
    Listed {
        /// The list.
        list: PathBuf,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder without a design.
    #[error(
        "{}: no design of `windlass gen` is in this folder (TOP.json says what it is)\n  for other Verilog give a file, or a list of files, FILE.f", path.display()
    )]
    NoDesign {
        /// The folder.
        path: PathBuf,
    },
    /// Metadata of a later version.
    #[error("{}: metadata of version {version}, and this Windlass knows {known}; use the Windlass that wrote it, or generate the design anew", path.display(), known = METADATA_VERSION)]
    Version {
        /// The metadata.
        path: PathBuf,
        /// Their version.
        version: u32,
    },
    /// A folder with several.
    #[error("{}: this folder has several designs; give the list of one: {}", path.display(), lists.join(", "))]
    Several {
        /// The folder.
        path: PathBuf,
        /// Their lists.
        lists: Vec<String>,
    },
    /// Neither a list nor Verilog.
    #[error("{}: it is no folder, and its name ends with none of .f, .v, .sv; give a folder of `windlass gen`, a list of files, or a file", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// A list that names no file.
    #[error("{}: the list names no file", path.display())]
    Empty {
        /// The list.
        path: PathBuf,
    },
    /// Lines of a list that are no names of files.
    #[error("{}: a list has a name of a file in each line, or +incdir+FOLDER, and comments that begin with // or #; instead of one:\n  {}", path.display(), lines.join("\n  "))]
    Lines {
        /// The list.
        path: PathBuf,
        /// Number and text of each.
        lines: Vec<String>,
    },
    /// Files whose names tools would not take: all stand in one folder there.
    #[error("{}: these names of files are taken twice, or have other signs than letters, digits, `.`, `_` and `-`: {}; rename the files", path.display(), names.join(", "))]
    Names {
        /// The list.
        path: PathBuf,
        /// The names.
        names: Vec<String>,
    },
}

/// Verilog as it was read, before it is known which block it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    top: String,
    files: Vec<(String, String)>,
    asynchronous: bool,
    /// Which block it is: words of a command line, where `windlass gen` has written them beside it.
    pub arguments: Option<Vec<String>>,
}

impl Source {
    /// Reads a folder of `windlass gen`, a list of files (`.f`), or one file (`.v`, `.sv`).
    ///
    /// The files of a list are relative to it. What they include by a literal name is read, too: from the folder of the file that includes it,
    /// from the list's, or from one that the list names (`+incdir+FOLDER`). The top module is the one that the metadata beside it names, else it is called as the file is.
    pub fn read(path: &Path) -> Result<Self, RtlError> {
        let found = fs::metadata(path).map_err(failed(path))?;
        let list = if found.is_dir() { list_of(path)? } else { path.to_path_buf() };
        let stem = list.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match list.extension().and_then(|ending| ending.to_str()) {
            Some("f") => {
                // Whatever else is in it, a file of that name is ours only if it says that it is.
                let written = Written::read(&list.with_extension("json")).filter(|w| w.top == stem);
                if let Some(written) = written.as_ref().filter(|w| w.format_version > METADATA_VERSION) {
                    let path = list.with_extension("json");
                    return Err(RtlError::Version { path, version: written.format_version });
                }
                let files = listed(&list)?;
                let asynchronous = written.as_ref().is_some_and(Written::is_asynchronous);
                let arguments = written.map(|w| w.arguments).filter(|words| !words.is_empty());
                Ok(Self { path: path.to_path_buf(), top: stem, files, asynchronous, arguments })
            }
            Some("v" | "sv") => {
                let files =
                    with_included(path, vec![(path.to_path_buf(), text(path).map_err(failed(path))?)], &[])?;
                Ok(Self { path: path.to_path_buf(), top: stem, files, asynchronous: false, arguments: None })
            }
            _ => Err(RtlError::Kind { path: path.to_path_buf() }),
        }
    }

    /// Its files, as [`Rtl::files`].
    pub fn files(&self) -> &[(String, String)] {
        &self.files
    }

    /// The same with another module at the top.
    pub fn with_top(self, top: impl Into<String>) -> Self {
        Self { top: top.into(), ..self }
    }

    /// The same as Verilog of `block`, whose ports it has to have. Whether it has them is for those to say who build it.
    pub fn of(self, block: BlockSpec) -> Rtl {
        let Self { path, top, files, asynchronous, .. } = self;
        Rtl { top, files, ports: block.ports(), path: Some(path), asynchronous }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RtlError {
    let path = path.to_path_buf();
    move |source| RtlError::Read { path, source }
}

/// What is no UTF-8 is in a comment, if the tools are to read it.
fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The list of the only design in a folder.
fn list_of(folder: &Path) -> Result<PathBuf, RtlError> {
    let mut lists: Vec<String> =
        crate::folder::designs(folder).iter().map(|design| format!("{}.f", design.top)).collect();
    let path = folder.to_path_buf();
    match (lists.pop(), lists.is_empty()) {
        (Some(list), true) => Ok(folder.join(list)),
        (Some(last), false) => {
            lists.push(last);
            Err(RtlError::Several { path, lists })
        }
        (None, _) => Err(RtlError::NoDesign { path }),
    }
}

/// The files that a list names.
fn listed(list: &Path) -> Result<Vec<(String, String)>, RtlError> {
    let listed = text(list).map_err(failed(list))?;
    let here = list.parent().unwrap_or(Path::new(""));
    let (mut paths, mut folders, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in listed.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.split_once("//").map_or(line, |(before, _)| before).trim();
        match line {
            "" => {}
            _ if line.starts_with('#') => {}
            _ if line.starts_with("+incdir+") && !line.contains(char::is_whitespace) => {
                folders.extend(line["+incdir+".len()..].split('+').map(|folder| here.join(folder)));
            }
            // Another option of some simulator, or several names.
            _ if line.starts_with(['+', '-']) || line.contains(char::is_whitespace) => {
                lines.push(format!("line {}: {line}", number + 1));
            }
            _ => paths.push(here.join(line)),
        }
    }
    let path = list.to_path_buf();
    if !lines.is_empty() {
        return Err(RtlError::Lines { path, lines });
    }
    if paths.is_empty() {
        return Err(RtlError::Empty { path });
    }
    check_names(list, &paths)?;
    let read = |path: PathBuf| match text(&path) {
        Ok(text) => Ok((path, text)),
        Err(source) => Err(RtlError::Listed { list: list.to_path_buf(), path, source }),
    };
    with_included(list, paths.into_iter().map(read).collect::<Result<_, _>>()?, &folders)
}

/// The files, and what they include, by their names without a folder: all stand in one while a tool works. What is not found is for the tool to
/// say: it may be within an `` `ifdef ``.
fn with_included(
    list: &Path,
    mut files: Vec<(PathBuf, String)>,
    folders: &[PathBuf],
) -> Result<Vec<(String, String)>, RtlError> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut known: BTreeSet<PathBuf> = files.iter().map(|(path, _)| real(path)).collect();
    let own = |path: &Path| path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut next = 0;
    while let Some((path, text)) = files.get_mut(next) {
        next += 1;
        let from = [own(path), own(list)];
        let mut more = Vec::new();
        // From the last: what stands before a name stays where it is.
        for place in includes(text).into_iter().rev() {
            let mut candidates = from.iter().chain(folders).map(|folder| folder.join(&text[place.clone()]));
            let Some(included) = candidates.find(|path| path.is_file()) else { continue };
            text.replace_range(place, &name(&included));
            if known.insert(real(&included)) {
                more.push(included);
            }
        }
        for path in more.into_iter().rev() {
            let text = self::text(&path).map_err(failed(&path))?;
            files.push((path, text));
        }
    }
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    check_names(list, &paths)?;
    Ok(files.into_iter().map(|(path, text)| (name(&path), text)).collect())
}

fn check_names(path: &Path, files: &[PathBuf]) -> Result<(), RtlError> {
    let files: Vec<String> = files.iter().map(|path| name(path)).collect();
    let mut seen = BTreeSet::new();
    let is_plain = |name: &str| {
        !name.starts_with(['-', '.']) && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let names: Vec<String> =
        files.iter().filter(|name| !seen.insert(*name) || !is_plain(name)).cloned().collect();
    if names.is_empty() { Ok(()) } else { Err(RtlError::Names { path: path.to_path_buf(), names }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Beside, files_with, write_files};
    use windlass_catalog::Request;

    fn block(name: &str) -> BlockSpec {
        let request = Request { slots: 4, sms: 3, ..Request::default() };
        BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"))
    }

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn generate(block: BlockSpec, folder: &Path) {
        let design = emit(&*block.hardware()).unwrap_or_else(|e| panic!("{e}"));
        let beside = Beside { arguments: block.arguments(), ..Beside::default() };
        write_files(&files_with(&design, beside), folder).unwrap_or_else(|e| panic!("{e}"));
    }

    #[test]
    fn a_folder_says_which_block_it_is_and_lists_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let block = block("cta_arbiter_single");
        generate(block, folder.path());
        let source = Source::read(folder.path()).unwrap();
        assert_eq!(source.arguments, Some(block.arguments()));
        let [own, emitted] = [source.of(block), Rtl::emitted(block).unwrap()];
        assert_eq!((&own.top, own.files.len()), (&emitted.top, emitted.files.len()));
        for ((name, text), (other, without_guard)) in own.files.iter().zip(&emitted.files) {
            assert_eq!(name, other);
            assert!(text.contains(without_guard.lines().last().unwrap()), "{name}");
        }
        // The ports of the hardware are those of its Verilog.
        let plain = |ports: &[Port]| -> Vec<(String, String, u32)> {
            ports.iter().map(|p| (p.name.clone(), format!("{:?}", p.direction), p.width)).collect()
        };
        assert_eq!(plain(&own.ports), plain(&emitted.ports));
    }

    #[test]
    fn of_several_designs_one_list_must_be_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Source::read(folder.path()), Err(RtlError::NoDesign { .. })));
        generate(block("find_first"), folder.path());
        generate(block("round_robin"), folder.path());
        let Err(RtlError::Several { lists, .. }) = Source::read(folder.path()) else { panic!("one of two") };
        assert_eq!(lists, ["find_first_n4.f", "round_robin_n4.f"]);
        let source = Source::read(&folder.path().join("round_robin_n4.f")).unwrap();
        assert_eq!(source.arguments, Some(block("round_robin").arguments()));
        // A later version may mean something else by what this one knows.
        let metadata = folder.path().join("round_robin_n4.json");
        let text = fs::read_to_string(&metadata).unwrap();
        let later =
            text.replacen(&format!("\"format_version\": {METADATA_VERSION}"), "\"format_version\": 99", 1);
        assert_ne!(text, later);
        fs::write(&metadata, later).unwrap();
        let Err(RtlError::Version { version, .. }) = Source::read(&folder.path().join("round_robin_n4.f"))
        else {
            panic!("of another version")
        };
        assert_eq!(version, 99);
    }

    #[test]
    fn other_peoples_lists_and_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| write(folder.path(), name, text);
        file("rtl/part.sv", "module part; endmodule\n");
        let one = file("mine.v", "module mine; endmodule\n");
        let list = file("mine.f", "// mine\n\nrtl/part.sv // below\n# all\nmine.v\n");
        let source = Source::read(&list).unwrap();
        assert_eq!((source.top.as_str(), &source.arguments), ("mine", &None));
        let names: Vec<&str> = source.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["part.sv", "mine.v"]);
        let rtl = Source::read(&one).unwrap().with_top("other").of(block("find_first"));
        assert_eq!((rtl.top.as_str(), rtl.files.len(), rtl.path), ("other", 1, Some(one)));

        let wrong = |name: &str, text: &str| {
            Source::read(&file(name, text)).expect_err(name).to_string().replace('\\', "/")
        };
        assert!(
            wrong("a.f", "mine.v\n+define+x\na.v b.v\n").ends_with("line 2: +define+x\n  line 3: a.v b.v")
        );
        assert!(wrong("b.f", "mine.v\nrtl/../mine.v\n").contains("twice, or have other signs"));
        assert!(wrong("c.f", "# nothing\n").contains("names no file"));
        assert!(wrong("d.f", "not/there.v\n").contains("not/there.v"));
        assert!(wrong("e.txt", "").contains("none of .f, .v, .sv"));
        assert!(wrong("a space.v", "").contains("rename"));
    }

    #[test]
    fn what_is_included_is_read_wherever_it_stands_and_given_to_no_tool() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| write(folder.path(), name, text);
        file("inc/widths.svh", "`include \"sub/more.svh\" // here\n");
        file("inc/sub/more.svh", "`define W 8\n");
        file("rtl/beside.vh", "`include  \"beside.vh\"\n");
        file("rtl/part.v", "/* `include \"no.v\" */ `include \"beside.vh\"\n// `include \"mine.v\"\n");
        let text =
            "`include \"widths.svh\"\n`ifdef X\n`include \"not/there.vh\"\n`endif\nmodule mine; endmodule\n";
        let mine = file("mine.v", text);
        let list = file("mine.f", "+incdir+elsewhere+inc\nrtl/part.v\nmine.v\n");
        let files = Source::read(&list).unwrap().files;
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["part.v", "mine.v", "beside.vh", "widths.svh", "more.svh"]);
        assert_eq!(files[1].1, text, "as it was");
        assert_eq!(files[3].1, "`include \"more.svh\" // here\n", "all stand in one folder");
        assert_eq!(sources(&files).collect::<Vec<_>>(), ["part.v", "mine.v"]);
        // A file alone has what stands beside it; without the list's folders one header is not found.
        assert_eq!(Source::read(&mine).unwrap().files.len(), 1);
        file("widths.svh", "");
        assert_eq!(Source::read(&mine).unwrap().files.len(), 2);
        // Two headers of one name.
        file("other/widths.svh", "");
        file("mine.v", "`include \"other/widths.svh\"\n`include \"widths.svh\"\n");
        let error = Source::read(&mine).expect_err("two of one name").to_string();
        assert!(error.contains("taken twice") && error.contains("widths.svh"), "{error}");
        for (text, found) in [
            ("\"`include\" `include \"a.v\"b", vec!["a.v"]),
            ("x = \"\\\"`include \"; `include\"a.v\"", vec!["a.v"]),
            ("/* `include \"a.v\"", vec![]),
            ("`include \"a.v\n\" `include `FILE `included \"x\"", vec![]),
        ] {
            assert_eq!(
                includes(text).into_iter().map(|place| &text[place]).collect::<Vec<_>>(),
                found,
                "{text}"
            );
        }
    }
}

//! From Verilog to a shared library: verilate, compile, link; each result cached.

use super::cache::{Cache, Key, SeenTool, io_error};
use super::{BuildError, BuildSpec, Optimise, shim};
use crate::wave::WaveFormat;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use windlass_gen::rtl::sources;
use windlass_gen::tools::{Tool, install_command};
use windlass_rtl::port::{CLOCK, Direction};

/// Raised when a change of this file changes what is built without changing any text that is part of the key.
const FORMAT: &str = "1";

const LIBRARY: &str = "model.so";

/// Define the three ways in which Verilator would end the process, and nothing that it shares with other libraries.
const CXX_FLAGS: &[&str] = &[
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-DVL_USER_STOP",
    "-DVL_USER_FATAL",
    "-DVL_USER_FINISH",
    "-DVL_TIME_CONTEXT",
    NO_COVERAGE,
    "-DVM_SC=0",
    "-w",
];

/// Included before everything else.
const PRINT_HEADER_FILE: &str = "windlass_print.h";

const NO_COVERAGE: &str = "-DVM_COVERAGE=0";

/// State that the design does not initialise is random, per instance (see `InstanceOptions::seed`).
const VERILATOR_FLAGS: &[&str] = &[
    "--cc",
    "-O3",
    "--no-timing",
    "--x-initial",
    "unique",
    "--x-assign",
    "unique",
    // Warnings are the business of the lint step, not of each simulation.
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
];

/// A library in the cache.
pub(super) struct Artefact {
    pub path: PathBuf,
    pub key: String,
    pub built: bool,
    pub verilator: String,
}

/// The two tools, as known.
struct Tools {
    verilator: SeenTool,
    cxx: SeenTool,
}

impl Tools {
    /// They must run now, not only have run once.
    fn usable(&self) -> Result<(), BuildError> {
        match [&self.verilator, &self.cxx].into_iter().find_map(|t| t.unusable.clone()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn cxx_flags(&self, spec: &BuildSpec) -> Vec<String> {
        let BuildSpec { trace, coverage, .. } = *spec;
        let mut flags: Vec<String> = CXX_FLAGS.iter().map(ToString::to_string).collect();
        if coverage {
            flags
                .iter_mut()
                .filter(|flag| *flag == NO_COVERAGE)
                .for_each(|flag| *flag = "-DVM_COVERAGE=1".into());
        }
        if !self.cxx.version_line.contains("clang") {
            flags.push("-fno-gnu-unique".into());
        }
        flags.push(format!("-DVM_TRACE={}", u8::from(trace.is_some())));
        flags.push(format!("-DVM_TRACE_VCD={}", u8::from(trace == Some(WaveFormat::Vcd))));
        flags.push(format!("-DVM_TRACE_FST={}", u8::from(trace == Some(WaveFormat::Fst))));
        flags
    }
}

/// The library for `spec`, from the cache or built.
pub(super) fn library(spec: &BuildSpec, cache: &Cache) -> Result<Artefact, BuildError> {
    check(spec)?;
    let verilator = cache.tool(Tool::Verilator)?;
    // Without Verilator nothing will be compiled: the compiler that counts is the one that built what the cache holds.
    let remembered = verilator.unusable.as_ref().and_then(|_| cache.remembered(Tool::Cxx));
    let cxx = remembered.map_or_else(|| cache.tool(Tool::Cxx), Ok)?;
    let tools = Tools { verilator, cxx };
    // A waveform and counts are of the design alone.
    let plain = spec.trace.is_some() || spec.coverage;
    let around = if plain { None } else { shim::around(&spec.top, &spec.sources, &spec.ports) };
    let shim = shim::source(&spec.ports, around.is_some());
    let verilator_args = verilator_args(spec);
    let cxx_flags = tools.cxx_flags(spec);
    let mut key = Key::default();
    key.add(FORMAT).add(&spec.top).add(std::env::consts::ARCH).add(std::env::consts::OS);
    key.add(&tools.verilator.version_line).add(&tools.cxx.version_line);
    key.add(&shim).add(around.as_deref().unwrap_or_default());
    key.add(shim::PRINT_HEADER).add(shim::HEADER).add(shim::COMMON).add(format!("{:?}", spec.optimise));
    verilator_args.iter().chain(&cxx_flags).for_each(|arg| {
        key.add(arg);
    });
    for (name, text) in &spec.sources {
        key.add(name).add(text);
    }
    // The shim shows neither the clock's width nor the widths' exact place in words; the list does.
    for port in &spec.ports {
        key.add(&port.name).add(format!("{:?} {}", port.direction, port.width));
    }
    let key = key.finish();
    let (dir, built) = cache.get_or_build("models", &key, |result, work| {
        tools.usable()?;
        let builder = Builder { spec, cache, tools: &tools, cxx_flags, work, result };
        builder.build(&shim, around.as_deref(), &verilator_args)
    })?;
    Ok(Artefact { path: dir.join(LIBRARY), key, built, verilator: tools.verilator.version_line })
}

/// What can be known to be wrong without running anything.
fn check(spec: &BuildSpec) -> Result<(), BuildError> {
    let wrong = |problem: String| Err(BuildError::Spec { top: spec.top.clone(), problem });
    if spec.top.is_empty() || spec.top.starts_with('-') {
        return wrong("the top module has no usable name".into());
    }
    if spec.sources.is_empty() {
        return wrong("it has no Verilog files".into());
    }
    for (i, (name, _)) in spec.sources.iter().enumerate() {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !plain || name.starts_with(['-', '.']) || name.is_empty() {
            return wrong(format!("`{name}` is not a plain file name"));
        }
        if spec.sources[..i].iter().any(|(other, _)| other == name) {
            return wrong(format!("there are two files `{name}`"));
        }
    }
    for (i, port) in spec.ports.iter().enumerate() {
        if !port.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            || !port.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            return wrong(format!("`{}` is not a plain port name", port.name));
        }
        if port.width == 0 || (port.name == CLOCK && (port.width != 1 || port.direction != Direction::Input))
        {
            return wrong(format!(
                "port `{}` cannot be {} bits, {:?}",
                port.name, port.width, port.direction
            ));
        }
        if spec.ports[..i].iter().any(|other| other.name == port.name) {
            return wrong(format!("there are two ports `{}`", port.name));
        }
    }
    Ok(())
}

fn verilator_args(spec: &BuildSpec) -> Vec<String> {
    let mut args: Vec<String> = VERILATOR_FLAGS.iter().map(ToString::to_string).collect();
    args.extend(["--prefix", shim::PREFIX].map(String::from));
    if spec.assertions {
        args.push("--assert".into());
    }
    match spec.trace {
        None => {}
        Some(WaveFormat::Vcd) => args.push("--trace".into()),
        Some(WaveFormat::Fst) => args.push("--trace-fst".into()),
    }
    if spec.coverage {
        args.extend(["--coverage-line", "--coverage-toggle"].map(String::from));
    }
    args.extend(spec.verilator_args.iter().cloned());
    args
}

struct Builder<'a> {
    spec: &'a BuildSpec,
    cache: &'a Cache,
    tools: &'a Tools,
    cxx_flags: Vec<String>,
    work: &'a Path,
    result: &'a Path,
}

/// A library that FST waveforms need.
struct FstLibrary {
    header: &'static str,
    flag: &'static str,
    package: &'static str,
}

const ZLIB: FstLibrary = FstLibrary { header: "zlib.h", flag: "-lz", package: "zlib1g-dev" };
const LZ4: FstLibrary = FstLibrary { header: "lz4.h", flag: "-llz4", package: "liblz4-dev" };

/// Newer Verilators (5.052 does) write FST with code of their own, which needs lz4 as well.
fn fst_libraries(include: &Path) -> &'static [FstLibrary] {
    if include.join("fstcpp").is_dir() { &[LZ4, ZLIB] } else { &[ZLIB] }
}

impl Builder<'_> {
    fn build(&self, shim: &str, around: Option<&str>, verilator_args: &[String]) -> Result<(), BuildError> {
        self.write(PRINT_HEADER_FILE, shim::PRINT_HEADER)?;
        self.write(shim::HEADER_FILE, shim::HEADER)?;
        for (name, text) in &self.spec.sources {
            self.write(name, text)?;
        }
        let verilate = |top: &str, first: &[&str]| {
            let mut verilate = Command::new(&self.tools.verilator.path);
            verilate.args(verilator_args).args(["--top-module", top, "-Mdir", "."]);
            verilate.args(first).args(sources(&self.spec.sources));
            self.run("Verilator", verilate)
        };
        match around {
            None => verilate(&self.spec.top, &[])?,
            Some(text) => {
                if self.spec.verilator_args.iter().any(|argument| argument.starts_with("-W")) {
                    // What is asked may be about the top's ports.
                    verilate(&self.spec.top, &["--lint-only"])?;
                }
                self.write(shim::AROUND_FILE, text)?;
                verilate(shim::AROUND, &[shim::AROUND_FILE])?;
            }
        }
        let include = self.include_dir()?;
        let fst = if self.spec.trace == Some(WaveFormat::Fst) { fst_libraries(&include) } else { &[] };
        for library in fst {
            self.check_header(library)?;
        }

        let header = self.read(&format!("{}.h", shim::PREFIX))?;
        let problems = shim::compare_with_header(&self.spec.ports, &header);
        if !problems.is_empty() {
            return Err(BuildError::Ports { top: self.spec.top.clone(), problems });
        }

        self.write("shim.cpp", shim)?;
        let classes = self.read(&format!("{}_classes.mk", shim::PREFIX))?;
        // Unity files: one compiler run reads Verilator's headers once. What runs every cycle, with the shim, apart from
        // what runs once, where it is made faster.
        let fast = unity(&classes, &["VM_CLASSES_FAST", "VM_SUPPORT_FAST"]) + "#include \"shim.cpp\"\n";
        let slow = unity(&classes, &["VM_CLASSES_SLOW", "VM_SUPPORT_SLOW"]);
        match self.spec.optimise {
            Optimise::Short => self.write("fast.cpp", &(fast + &slow))?,
            Optimise::Tests | Optimise::Long => {
                self.write("fast.cpp", &fast)?;
                self.write("slow.cpp", &slow)?;
            }
        }
        let runtime = names(&classes, &["VM_GLOBAL_FAST", "VM_GLOBAL_SLOW"]);
        // The runtime is built once for all models, and so as for long runs; but where nothing is, that is what takes longest.
        let (level, runtime_level) = match self.spec.optimise {
            Optimise::Short => ("-O0", "-O0"),
            Optimise::Tests => ("-O1", "-O2"),
            Optimise::Long => ("-O2", "-O2"),
        };
        let objects = thread::scope(|scope| {
            let fast = scope.spawn(|| self.compile("fast", level, &include));
            let others = scope.spawn(|| {
                let mut objects = vec![self.shim_object(runtime_level, &include)?];
                if self.spec.optimise != Optimise::Short {
                    objects.push(self.compile("slow", "-O0", &include)?);
                }
                for name in &runtime {
                    objects.push(self.runtime_object(name, runtime_level, &include)?);
                }
                Ok::<_, BuildError>(objects)
            });
            let join = |panicked| BuildError::Step {
                top: self.spec.top.clone(),
                step: "compiling".into(),
                message: format!("a thread panicked: {panicked:?}"),
            };
            let mut objects = vec![fast.join().map_err(join)??];
            objects.extend(others.join().map_err(join)??);
            Ok::<_, BuildError>(objects)
        })?;

        let library = self.result.join(LIBRARY);
        let mut link = Command::new(&self.tools.cxx.path);
        link.args(["-shared", "-pthread", "-o"]).arg(&library).args(objects);
        if !cfg!(target_os = "macos") {
            // Two libraries have the same names in them: each must find its own.
            link.args(["-Wl,-Bsymbolic", "-Wl,--no-undefined"]);
        }
        link.args(fst.iter().map(|library| library.flag));
        self.run("linking with the C++ compiler", link)
    }

    /// Verilator's own headers and runtime, as the makefile says that it wrote: to ask it takes as long as a small block.
    fn include_dir(&self) -> Result<PathBuf, BuildError> {
        let name = format!("{}.mk", shim::PREFIX);
        let makefile = self.read(&name)?;
        let value = |line: &str| {
            let (variable, root) = line.split_once('=')?;
            (variable.trim_end_matches(['?', ':', ' ']) == "VERILATOR_ROOT").then(|| root.trim().to_string())
        };
        let root = makefile.lines().find_map(value).ok_or_else(|| BuildError::Step {
            top: self.spec.top.clone(),
            step: "looking for Verilator's headers".into(),
            message: format!("{name} does not set VERILATOR_ROOT"),
        })?;
        Ok(Path::new(&root).join("include"))
    }

    fn check_header(&self, library: &FstLibrary) -> Result<(), BuildError> {
        let mut cxx = Command::new(&self.tools.cxx.path);
        cxx.args(["-E", "-x", "c++", "-o", "probe.i", "probe.cpp"]);
        self.write("probe.cpp", &format!("#include <{}>\n", library.header))?;
        self.run("looking for a header", cxx).map_err(|_| BuildError::Header {
            header: library.header,
            install: install_command(library.package),
        })
    }

    fn compile(&self, unit: &str, level: &str, include: &Path) -> Result<PathBuf, BuildError> {
        let object = self.work.join(format!("{unit}.o"));
        let spec = self.spec;
        // Read once where many models are built soon: it is two thirds of their compiler's work, and 60 MB.
        let header = match spec.optimise != Optimise::Long && spec.trace.is_none() && !spec.coverage {
            true => self.precompiled_header(level, include)?,
            false => PRINT_HEADER_FILE.into(),
        };
        let mut cxx = self.cxx(level, include, &header);
        cxx.arg(format!("{unit}.cpp")).arg("-o").arg(&object);
        self.run("compiling with the C++ compiler", cxx)?;
        Ok(object)
    }

    /// Verilator's header and ours around it, as the compiler has read them. One that it cannot use it reads again.
    fn precompiled_header(&self, level: &str, include: &Path) -> Result<PathBuf, BuildError> {
        const HEADER: &str = "windlass_verilated.h";
        // Known to be whole: to read 60 MB for each model would take as long as it saves.
        static SEEN: Mutex<BTreeMap<(PathBuf, String), PathBuf>> = Mutex::new(BTreeMap::new());
        let known = (self.cache.root().to_path_buf(), self.shared_key(level).finish());
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(header) = seen.get(&known).filter(|header| header.exists()) {
            return Ok(header.clone());
        }
        let (dir, _) = self.cache.get_or_build("headers", &known.1, |result, _| {
            let header = result.join(HEADER);
            let text = format!("#include \"{PRINT_HEADER_FILE}\"\n#include \"{}\"\n", shim::HEADER_FILE);
            fs::write(&header, text).map_err(io_error("write", &header))?;
            let mut cxx = self.cxx(level, include, Path::new(PRINT_HEADER_FILE));
            cxx.args(["-x", "c++-header"]).arg(&header).arg("-o").arg(result.join(format!("{HEADER}.gch")));
            self.run("compiling Verilator's header with the C++ compiler", cxx)
        })?;
        seen.insert(known, dir.join(HEADER));
        Ok(dir.join(HEADER))
    }

    /// What all models share depends on this, and on what it is.
    fn shared_key(&self, what: &str) -> Key {
        let mut key = Key::default();
        key.add(FORMAT).add(std::env::consts::ARCH).add(std::env::consts::OS).add(what);
        key.add(&self.tools.verilator.version_line).add(&self.tools.cxx.version_line);
        key.add(shim::PRINT_HEADER).add(shim::HEADER);
        self.cxx_flags.iter().for_each(|flag| {
            key.add(flag);
        });
        key
    }

    /// One object of Verilator's runtime.
    fn runtime_object(&self, name: &str, level: &str, include: &Path) -> Result<PathBuf, BuildError> {
        self.shared_object(self.shared_key(name), name, &include.join(format!("{name}.cpp")), level, include)
    }

    /// The shim's common part.
    fn shim_object(&self, level: &str, include: &Path) -> Result<PathBuf, BuildError> {
        const NAME: &str = "windlass_shim";
        let source = self.work.join(format!("{NAME}.cpp"));
        fs::write(&source, shim::COMMON).map_err(io_error("write", &source))?;
        let mut key = self.shared_key(NAME);
        key.add(shim::COMMON);
        self.shared_object(key, NAME, &source, level, include)
    }

    /// What is the same for every model is compiled once.
    fn shared_object(
        &self,
        mut key: Key,
        name: &str,
        source: &Path,
        level: &str,
        include: &Path,
    ) -> Result<PathBuf, BuildError> {
        key.add(level);
        let object = format!("{name}.o");
        let (dir, _) = self.cache.get_or_build("runtime", &key.finish(), |result, _| {
            let mut cxx = self.cxx(level, include, Path::new(PRINT_HEADER_FILE));
            cxx.arg(source).arg("-o").arg(result.join(&object));
            self.run("compiling Verilator's runtime with the C++ compiler", cxx)
        })?;
        Ok(dir.join(object))
    }

    fn cxx(&self, level: &str, include: &Path, first: &Path) -> Command {
        let mut cxx = Command::new(&self.tools.cxx.path);
        cxx.arg(level).args(&self.cxx_flags).args(["-I", ".", "-include"]).arg(first);
        cxx.arg("-I").arg(include).arg("-I").arg(include.join("vltstd")).arg("-c");
        cxx
    }

    fn write(&self, name: &str, text: &str) -> Result<(), BuildError> {
        let path = self.work.join(name);
        let mut file = fs::File::create(&path).map_err(io_error("write", &path))?;
        Ok(file.write_all(text.as_bytes()).map_err(io_error("write", &path))?)
    }

    fn read(&self, name: &str) -> Result<String, BuildError> {
        let path = self.work.join(name);
        Ok(fs::read_to_string(&path).map_err(io_error("read", &path))?)
    }

    fn run(&self, step: &str, command: Command) -> Result<(), BuildError> {
        self.output(step, command).map(drop)
    }

    /// What the command printed, or an error with what it complained of.
    fn output(&self, step: &str, mut command: Command) -> Result<String, BuildError> {
        let failed =
            |message| BuildError::Step { top: self.spec.top.clone(), step: step.to_string(), message };
        let output = command
            .current_dir(self.work)
            .stdin(Stdio::null())
            // Messages are searched for errors, so they must be in English.
            .env("LC_ALL", "C")
            .output()
            .map_err(|e| failed(format!("{}: {e}", command.get_program().display())))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        Err(failed(format!("{}\n{}", output.status, complaints(&text))))
    }
}

/// The lines that matter, from the first error on, at most forty.
fn complaints(text: &str) -> String {
    let is_error =
        |line: &str| line.contains("%Error") || line.contains("error:") || line.contains("undefined");
    let start = text.lines().position(is_error).unwrap_or(0);
    let lines: Vec<&str> = text.lines().skip(start).take(40).collect();
    lines.join("\n").trim().to_string()
}

/// The words assigned to `variables` in Verilator's list of classes: lines `NAME += \`, then one indented word each.
fn names(classes: &str, variables: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let mut take = false;
    for line in classes.lines() {
        if let Some((variable, _)) = line.split_once("+=") {
            take = variables.contains(&variable.trim());
        } else if line.starts_with([' ', '\t']) && take {
            names.extend(line.trim().trim_end_matches('\\').split_whitespace().map(str::to_string));
        } else {
            take = false;
        }
    }
    names
}

fn unity(classes: &str, variables: &[&str]) -> String {
    names(classes, variables).iter().map(|name| format!("#include \"{name}.cpp\"\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_lists_are_read() {
        let text = "VM_CLASSES_FAST += \\\n\tVdut \\\n\tVdut__0 \\\n\n# Slow\nVM_CLASSES_SLOW += \\\n\tVdut__Slow \\\n\n";
        assert_eq!(names(text, &["VM_CLASSES_FAST"]), ["Vdut", "Vdut__0"]);
        assert_eq!(unity(text, &["VM_CLASSES_SLOW"]), "#include \"Vdut__Slow.cpp\"\n");
    }
}

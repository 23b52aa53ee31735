//! Every error that a file or an option can cause has an example in tests/bad, and beside it, in `NAME.message`, what the command
//! says and its exit status.
//!
//! A case is a file that some reader reads, in the folder of that reader, or `NAME.args`: the arguments (`OUT` stands for a folder
//! that is empty). After a wanted change: `WINDLASS_BLESS=1 cargo test --test bad_input`, then read the diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use windlass_catalog::{BlockSpec, Request, parameters};
use windlass_cosim::device::DeviceError;
use windlass_cosim::partition::Partitions;
use windlass_cosim::policy::{SimError, Stream};
use windlass_cosim::profile::{Profile, ProfileError};
use windlass_cosim::wave::Wave;
use windlass_gen::constraints::{ConstraintErrors, Constraints};
use windlass_gen::emit::Prefix;
use windlass_gen::report::baseline;
use windlass_gen::rtl::Source;
use windlass_gen::synth::library;
use windlass_netlist::liberty::{LibertyError, Library};
use windlass_rtl::params::{Encoding, ParamError};
use windlass_runtime::explain::{History, Options, explain};
use windlass_runtime::ktrace::Trace;
use windlass_runtime::mix::{Mix, Shape};
use windlass_runtime::run::{Program, Work};

/// An error as the library gives it.
struct Typed {
    /// The variant, behind its type.
    variant: String,
    /// What it says.
    text: String,
}

fn typed<E: Debug + Display>(error: &E) -> Typed {
    let debug = format!("{error:?}");
    let variant = debug.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    Typed { variant: format!("{}::{variant}", std::any::type_name::<E>()), text: error.to_string() }
}

fn failed<T, E: Debug + Display>(result: Result<T, E>) -> Vec<Typed> {
    vec![typed(&result.err().expect("the library takes what the command refuses"))]
}

/// What the reader of this folder says of the file.
fn read(folder: &str, file: &str) -> Vec<Typed> {
    let path = Path::new(file);
    match folder {
        "ktrace" => match Trace::load(path) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.0.iter().map(|error| typed(&error.problem)).collect(),
        },
        "profile" => match Profile::load(file) {
            Ok(_) => Vec::new(),
            Err(error) => of_profile(&error),
        },
        "constraints" => {
            let spec = BlockSpec::new("round_robin", Request { slots: 4, ..Request::default() })
                .expect("it is there");
            let ports = spec.ports();
            let of = |errors: ConstraintErrors| errors.0.iter().map(|error| typed(&error.problem)).collect();
            match Constraints::load(path) {
                Err(errors) => of(errors),
                Ok(constraints) => match constraints.resolve(spec.name(), "round_robin_n4", &ports) {
                    Err(errors) => of(errors),
                    Ok(_) => constraints.library("osu81").err().map(of).unwrap_or_default(),
                },
            }
        }
        "report" => match baseline::read(path) {
            Ok(old) => {
                let now = baseline::read(Path::new(GOOD_REPORT)).expect("it is good");
                failed(baseline::compare(&old, &now, 5.0))
            }
            Err(error) => vec![typed(&error)],
        },
        "liberty" => match Library::load(path) {
            Ok(_) => Vec::new(),
            Err(error) => vec![typed(&error)],
        },
        "rtl" => failed(Source::read(path)),
        other => panic!("{other}: no reader for {file}"),
    }
}

fn of_profile(error: &ProfileError) -> Vec<Typed> {
    let mut all = vec![typed(error)];
    if let ProfileError::Fields(fields) = error {
        all.extend(fields.iter().map(|field| typed(&field.problem)));
    }
    all
}

const GOOD_REPORT: &str = "../../gen/tests/data/report.json";

/// The command that reads a file of this folder.
fn command(folder: &str, file: &str) -> String {
    match folder {
        "ktrace" => format!("trace {file}"),
        "profile" => format!("cosim mix-fork --policy serial --gpu {file}"),
        "constraints" => format!("gen --block round_robin --slots 4 --out OUT --constraints {file}"),
        "report" => format!("report --from {GOOD_REPORT} --baseline {file}"),
        "liberty" => format!("report --block find_first --slots 4 --flow area --liberty {file}"),
        "rtl" => format!("lockstep --block find_first --slots 4 --rtl {file}"),
        other => panic!("{other}: no command for {file}"),
    }
}

fn trace(name: &str) -> Trace {
    let path = match name {
        "mix-fork" => "../../workloads/mix-fork.ktrace.jsonl".into(),
        other => format!("ktrace/{other}.ktrace.jsonl"),
    };
    Trace::load(path).unwrap_or_else(|e| panic!("{e}"))
}

fn program(name: &str, scale: u64) -> Vec<Typed> {
    let trace = trace(name);
    let kernels: Vec<_> = trace.kernels().cloned().collect();
    failed(Program::new("n", &[&kernels], &vec![Work::default(); kernels.len()], scale))
}

fn device(name: &str) -> Vec<Typed> {
    let (trace, profile) = (trace(name), Profile::load("rtx3070").expect("it is built in"));
    let kernel = trace.kernels().next().expect("one kernel");
    failed::<_, DeviceError>(windlass_cosim::device::CtaWork::new(&profile, kernel, 0))
}

fn block(name: &str, request: Request) -> Vec<Typed> {
    failed(BlockSpec::new(name, request))
}

fn partitions(text: &str) -> Vec<Typed> {
    failed(Partitions::parse(text, 46))
}

/// What the library says where no reader does.
fn said_by_the_library(name: &str) -> Option<Vec<Typed>> {
    let mix = |shape, stages, ctas| failed(Mix { shape, stages, tiles: 1, ctas }.trace());
    let default = Request::default();
    Some(match name {
        "ktrace/no_such_file" => read("ktrace", "ktrace/no_such_file.ktrace.jsonl"),
        "ktrace/a_folder" => read("ktrace", "ktrace"),
        "ktrace/no_kernel" => failed(History::of_run(&trace("no_kernel"), None)),
        "ktrace/does_not_fit" | "ktrace/too_many_ctas" | "ktrace/too_long" => {
            device(&name["ktrace/".len()..])
        }
        "ktrace/too_many_ctas_to_run" => device("too_many_ctas"),
        "ktrace/too_many_threads" => device("too_many_threads"),
        "profile/wide" => program("too_many_threads", 1),
        "ktrace/too_large" => program("too_large", 1),
        "ktrace/past_address_limit_together" => {
            let trace = trace("past_address_limit_together");
            failed(Stream::side_by_side(&[(&trace, 0), (&trace, 1)]))
        }
        "options/scale_0" => program("too_large", 0),
        "profile/no_such_name" => failed(Profile::load("h1000")),
        "profile/no_such_file" => failed(Profile::load("profile/no_such_file.toml")),
        "profile/a_folder" => failed(Profile::load("profile")),
        "profile/hardware" => of_profile(
            &Profile::load("profile/hardware.toml").expect("a device").sm_params().expect_err("no hardware"),
        ),
        "constraints/no_such_library" => read("constraints", "constraints/no_such_library.toml"),
        "constraints/no_such_file" => read("constraints", "constraints/no_such_file.toml"),
        "report/no_such_file" => read("report", "report/no_such_file.json"),
        "report/stored" => read("report", "report/not_json.json"),
        "liberty/no_nand2" => {
            let (path, library) = ("liberty/no_nand2.lib".into(), "small".into());
            vec![typed(&LibertyError::NoNand2 { path, library })]
        }
        "liberty/no_such_file" => read("liberty", "liberty/no_such_file.lib"),
        "liberty/no_such_name" => failed(library::find("osu81")),
        "liberty/not_published" => failed(library::find("sg13g2")),
        "rtl/no_such_file" => read("rtl", "rtl/no_such_file.f"),
        "rtl/no_design" => read("rtl", "ktrace"),
        "options/slots_not_compiled_in" => block("kernel_scheduler", Request { slots: 12, ..default }),
        "options/retire_ports_out_of_range" => {
            block("kernel_scheduler", Request { retire_ports: 5, ..default })
        }
        "options/no_such_block" => block("windo", default),
        "options/no_such_parameter" => {
            let possible = parameters("window_matrix", Encoding::Mask).expect("it is there").join(", ");
            vec![typed(&ParamError::NoSuchParameter {
                block: "block `window_matrix`".into(),
                parameter: "window",
                possible,
            })]
        }
        "options/prefix" => failed("9a".parse::<Prefix>()),
        "options/partition_syntax" => partitions("all"),
        "options/partition_empty" => partitions("9-3"),
        "options/partition_beyond" => partitions("0-22,40-46"),
        "options/partition_too_many" => partitions("0,1,2,3,4,5,6,7"),
        "options/wave_extension" => failed(Wave::new("OUT/wave.txt")),
        "options/wave_empty_window" => failed(Wave::new("OUT/wave.vcd").expect("a name").window(7, 7)),
        "options/mix_out_of_range" => mix(Shape::Pipeline, 65, 44),
        "options/mix_not_a_multiple" => mix(Shape::Fork, 2, 46),
        "options/explain_no_kernel" => {
            let trace = trace("mix-fork");
            let history = History::of_run(&trace, None).expect("a run");
            failed(explain(&history, 1000, &Options::for_trace(&trace)))
        }
        "options/explain_no_run" => failed(History::of_run(&trace("mix-fork"), Some(3))),
        "options/streams" => {
            vec![typed(&SimError::Option { option: "streams", got: 0, remedy: "choose 1 to 1024" })]
        }
        _ => return None,
    })
}

/// An enum of errors: its path, where it is written, and the variants that no file and no option causes.
struct Errors {
    path: &'static str,
    source: &'static str,
    without: &'static [(&'static str, &'static str)],
}

const WRAPS: &str = "another error, which has examples itself";

const ERRORS: [Errors; 15] = [
    Errors {
        path: "windlass_runtime::ktrace::error::Problem",
        source: include_str!("../sw-runtime/src/ktrace/error.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_cosim::profile::ProfileError",
        source: include_str!("../cosim/src/profile.rs"),
        without: &[("Hardware", "the ranges that are checked before leave nothing for it")],
    },
    Errors {
        path: "windlass_cosim::profile::FieldProblem",
        source: include_str!("../cosim/src/profile.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_gen::constraints::Problem",
        source: include_str!("../gen/src/constraints/mod.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_gen::report::baseline::BaselineError",
        source: include_str!("../gen/src/report/baseline.rs"),
        without: &[("Margin", "a caller of the library: the option refuses it")],
    },
    Errors {
        path: "windlass_netlist::liberty::LibertyError",
        source: include_str!("../netlist/src/liberty.rs"),
        without: &[("NotInstalled", "a machine without the default library")],
    },
    Errors {
        path: "windlass_gen::synth::library::LibraryError",
        source: include_str!("../gen/src/synth/library.rs"),
        without: &[
            ("Liberty", WRAPS),
            ("NoCache", "a machine without a home"),
            ("Fetch", "the network; tested beside it"),
            ("Damaged", "the network; tested beside it"),
        ],
    },
    Errors {
        path: "windlass_gen::rtl::RtlError",
        source: include_str!("../gen/src/rtl.rs"),
        without: &[("Several", "a folder; tested beside it"), ("Version", "a folder; tested beside it")],
    },
    Errors {
        path: "windlass_rtl::params::ParamError",
        source: include_str!("../rtl/src/params.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_cosim::partition::PartitionError",
        source: include_str!("../cosim/src/partition.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_cosim::wave::WaveError",
        source: include_str!("../cosim/src/wave.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_runtime::mix::MixError",
        source: include_str!("../sw-runtime/src/mix.rs"),
        without: &[],
    },
    Errors {
        path: "windlass_runtime::run::program::ProgramError",
        source: include_str!("../sw-runtime/src/run/program.rs"),
        without: &[
            ("TooManyCtas", "a caller of the library: the device model's limit is lower, and checked before"),
            ("Work", "a caller of the library"),
            ("NoThread", "a caller of the library: the reader of traces refuses it"),
            ("TooManyKernels", "a trace of 2^32 kernels"),
        ],
    },
    Errors {
        path: "windlass_runtime::explain::ExplainError",
        source: include_str!("../sw-runtime/src/explain/mod.rs"),
        without: &[
            ("ScheduleLength", "a caller of the library"),
            ("EndsBeforeStart", "a caller of the library"),
            ("TooManyKernels", "a trace of 2^32 kernels"),
        ],
    },
    Errors {
        path: "windlass_cosim::device::work::DeviceError",
        source: include_str!("../cosim/src/device/work.rs"),
        without: &[],
    },
];

/// The names of an enum's variants, from its source as rustfmt writes it: a new one must not be forgotten here.
fn variants(source: &str, name: &str) -> Vec<String> {
    let (_, body) =
        source.split_once(&format!("pub enum {name} {{\n")).unwrap_or_else(|| panic!("no enum {name}"));
    let (body, _) = body.split_once("\n}\n").expect("it ends");
    let names = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names
        .map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().into())
        .collect()
}

/// A case: its name with the folder, and the arguments.
fn cases() -> BTreeMap<String, String> {
    let mut cases = BTreeMap::new();
    for folder in ["constraints", "ktrace", "liberty", "options", "profile", "report", "rtl"] {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let files: BTreeSet<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        for file in &files {
            let (name, kind) = file.split_once('.').expect("a name with an extension");
            let own = format!("{name}.args");
            let args = match kind {
                "message" => continue,
                "args" => {
                    std::fs::read_to_string(format!("{folder}/{file}")).expect("text").trim().to_string()
                }
                _ if files.contains(&own) || folder == "options" => continue,
                _ => command(folder, &format!("{folder}/{file}")),
            };
            assert!(cases.insert(format!("{folder}/{name}"), args).is_none(), "two cases {folder}/{name}");
        }
    }
    cases
}

/// What the command says, and its exit status.
fn said(args: &str) -> String {
    let out = tempfile::tempdir().expect("a folder");
    let place = out.path().to_string_lossy().into_owned();
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(args.split_whitespace().map(|word| word.replace("OUT", &place)))
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("{e}"));
    let stderr = String::from_utf8_lossy(&output.stderr).replace(&place, "OUT");

    // A report that cannot be compared is shown all the same.
    let shown = output.status.success() || args.starts_with("report --from");
    assert!(shown || output.stdout.is_empty(), "{args}: results where there are none");
    assert!(!stderr.contains("panicked"), "{args}: {stderr}");
    let left: Vec<PathBuf> =
        std::fs::read_dir(out.path()).expect("a folder").flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{args}: leaves {left:?}");
    let status = output.status.code().map_or("killed".into(), |code| format!("exit status {code}"));
    format!("$ windlass {args}\n{stderr}{status}\n")
}

#[test]
fn every_error_says_what_it_is_kept_to_say() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad"))
        .unwrap_or_else(|e| panic!("{e}"));
    let bless = std::env::var_os("WINDLASS_BLESS").is_some();
    let (mut shown, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, args) in cases() {
        let now = said(&args);
        let kept = PathBuf::from(format!("{name}.message"));
        if bless {
            std::fs::write(&kept, &now).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        if std::fs::read_to_string(&kept).unwrap_or_default() != now {
            wrong.push(format!("{name}.message differs; now:\n{now}"));
        }
        let folder = name.split('/').next().unwrap_or_default();
        let errors = said_by_the_library(&name).unwrap_or_else(|| match folder {
            "options" => Vec::new(),
            _ => read(folder, args.split(' ').next_back().unwrap_or_default()),
        });
        for error in errors {
            if !now.contains(&error.text) {
                wrong.push(format!("{name}: the command does not say `{}`:\n{now}", error.text));
            }
            shown.insert(error.variant);
        }
    }
    for Errors { path, source, without } in ERRORS {
        let name = path.rsplit("::").next().unwrap_or_default();
        for variant in variants(source, name) {
            let full = format!("{path}::{variant}");
            let why_not = without.iter().find(|(without, _)| *without == variant);
            match (shown.contains(&full), why_not) {
                (false, None) => wrong.push(format!("{full} has no example in tests/bad")),
                (true, Some((_, why))) => {
                    wrong.push(format!("{full} has an example, so it is not only {why}"))
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}\nWINDLASS_BLESS=1 writes the new messages", wrong.join("\n"));
}

#[test]
fn no_message_is_left_without_its_case() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    for folder in std::fs::read_dir(place).expect("a folder").flatten() {
        let entries = std::fs::read_dir(folder.path()).expect("a folder").flatten();
        let names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        for message in names.iter().filter_map(|name| name.strip_suffix(".message")) {
            let case = names.iter().any(|n| !n.ends_with(".message") && n.split('.').next() == Some(message));
            assert!(case, "{message}.message has no case");
        }
    }
}

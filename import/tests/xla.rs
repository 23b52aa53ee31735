//! XLA's dumps: a real one against the trace that another program made of it, and a small one by hand for what that one lacks.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use windlass_import::MAX_ERRORS;
use windlass_import::xla::{Imported, Options, Problem, Warning, XlaErrors, import};
use windlass_runtime::ktrace::{Compression, Event, Kernel, KernelType, Segment, Trace, Writer};

fn real() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/brax-v1-ant-b256")
}

fn recorded() -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/brax-v1-ant-b256.ktrace.jsonl");
    Trace::load(path).expect("the workload")
}

fn kernels(imported: &Imported) -> Vec<&Kernel> {
    imported.trace.kernels().collect()
}

/// What differs from the recorded trace, but for what is known to: it has registers, and counts a scatter's result, not its updates.
fn differences(trace: &Trace) -> Vec<String> {
    let recorded = recorded();
    let mut differences = Vec::new();
    if trace.header.span != recorded.header.span || trace.header.kernels != recorded.header.kernels {
        differences.push("header".to_owned());
    }
    let count = (trace.kernels().count(), recorded.kernels().count());
    if count.0 != count.1 {
        differences.push(format!("{count:?} kernels"));
    }
    for (ours, theirs) in trace.kernels().zip(recorded.kernels()) {
        let mut theirs = theirs.clone();
        theirs.regs = None;
        theirs.est.clone_from(&ours.est);
        if theirs.op == "scatter-add" {
            theirs.flops = ours.flops;
        }
        if *ours != theirs {
            differences.push(format!("{ours:?}\n{theirs:?}"));
        }
    }
    differences
}

#[test]
fn a_real_dump_gives_the_trace_that_another_program_made_of_it() {
    let imported = import(&real(), &Options::default()).expect("a dump");
    assert_eq!(imported.warnings, []);
    let header = &imported.trace.header;
    assert_eq!((header.name.as_str(), header.gpu.name.as_str()), ("jit_tracedstep", "rtx3070"));
    assert_eq!(header.params["env"], "ant");
    assert_eq!(header.params["compute_capability"], "8.6");
    let different = differences(&imported.trace);
    assert!(different.is_empty(), "{} differ: {}", different.len(), different[0]);

    let kernels = kernels(&imported);
    let copies = kernels.iter().filter(|kernel| kernel.kind == KernelType::Copy).count();
    assert_eq!(copies, 67);
    for kernel in &kernels {
        let est: &[&str] = match kernel.kind {
            KernelType::Copy => &["grid", "block"],
            _ if kernel.name.starts_with("input_reduce") => &["smem"],
            _ => &[],
        };
        assert_eq!(kernel.est, est, "{}", kernel.name);
    }
    // 16 updates of 3 floats for each of 256 ants, where the result has 10: the other program counts 4608 less.
    assert_eq!(kernels[10].name, "input_scatter_fusion_8");
    assert_eq!(kernels[10].flops - 4608, recorded().kernels().nth(10).expect("ten").flops);
}

/// JAX 0.10.2 for an H100, without one: a product, a `cond`, a `while_loop`, a Cholesky decomposition, an FFT and a convolution.
#[test]
fn a_real_dump_with_branches_and_libraries() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/branches-and-libraries");
    let imported = import(&dir, &twice()).expect("a dump");
    let header = &imported.trace.header;
    assert_eq!((header.gpu.name.as_str(), header.gpu.sms), ("NVIDIA H100 80GB HBM3", Some(132)));
    assert_eq!(header.params["compute_capability"], "9.0a");
    let expected = [
        Warning::Branch { name: "cond.3.clone".into(), branches: 2 },
        Warning::AssumedTrips { name: "while.5".into(), trips: 2 },
    ];
    assert_eq!(imported.warnings, expected);

    // The branch is taken in a command buffer, without the host; the loop is outside of it.
    let waits: Vec<usize> = imported.trace.runs[0]
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event, Event::Sync { .. }))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(waits, [9, 16, 23]);
    let kernels = kernels(&imported);
    assert_eq!(kernels.len(), 34);
    let find = |name: &str| *kernels.iter().find(|kernel| kernel.name == name).expect(name);
    // 256 x 256 x 256, its K split in four.
    let product = find("gemm_fusion_dot_3");
    assert_eq!(
        (product.kind, product.mnk, product.flops),
        (KernelType::Tensor, Some([256, 256, 64, 4]), 2 << 24)
    );
    assert_eq!((product.smem, product.est.len()), (1024, 0));
    // Their PTX is there, as XLA writes it with --xla_dump_emitter_re=.*; that of the others is not, and would say the same.
    for name in ["wrapped_transpose", "input_transpose_fusion"] {
        assert_eq!((find(name).smem, find(name).est.len()), (4224, 0), "{name}");
    }
    for name in ["wrapped_transpose_1", "input_transpose_fusion_1"] {
        assert_eq!((find(name).smem, &find(name).est[..]), (4224, &["smem".to_owned()][..]), "{name}");
    }
    for (name, op, kind, flops, reads, writes) in [
        ("cholesky.0", "cholesky", KernelType::Simt, 0, 1, 2),
        ("fft.0.0", "fft", KernelType::Simt, 0, 1, 1),
        ("cudnn-conv.1", "conv_general_dilated", KernelType::Tensor, 8 * 32 * 32 * 9 * 2, 2, 1),
    ] {
        let kernel = find(name);
        assert_eq!((kernel.op.as_str(), kernel.kind, kernel.flops), (op, kind, flops));
        assert_eq!((kernel.reads.len(), kernel.writes.len()), (reads, writes), "{name}");
        assert!(kernel.est.contains(&"grid".to_owned()), "{name}");
    }
    // A round of the loop reads what the round before has written.
    let rounds: Vec<_> = kernels.iter().filter(|kernel| kernel.name == "gemm_fusion_dot_2").collect();
    assert_eq!(rounds.len(), 2);
    assert!(find("loop_reduce_fusion_1").writes.iter().all(|written| rounds[1].reads.contains(written)));
    // What has the PTX says the same without it.
    let guessed = changed(&dir, |name, text| if name.ends_with(".ptx") { String::new() } else { text });
    let guessed = import(guessed.path(), &twice()).expect("a dump");
    for (ours, guessed) in kernels.iter().zip(guessed.trace.kernels()) {
        assert_eq!((&ours.name, ours.smem), (&guessed.name, guessed.smem));
    }
}

/// What JAX 0.11.2 wrote on an H100 that ran it, of two programs: three steps of gradient descent in a loop, and two convolutions, a sort and a
/// Cholesky decomposition. Paths of that machine are taken out.
fn h100() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loop-and-convolutions-h100")
}

fn of(module: &str) -> Options {
    Options { module: Some(module.to_owned()), ..Options::default() }
}

fn measured(module: &str) -> Imported {
    import(&h100(), &of(module)).expect("a dump")
}

/// Since 0.11 an element of a tuple is written `%name#1` where it is an operand.
#[test]
fn elements_of_tuples_have_their_own_memory() {
    let imported = measured("jit_step");
    assert_eq!(imported.warnings, []);
    let kernels = kernels(&imported);
    // Seven copies, and 21 kernels in each of three rounds.
    assert_eq!(kernels.len(), 70);
    let round = |names: &str| -> Vec<usize> { (7..28).filter(|at| kernels[*at].op == names).collect() };
    // The loop's counter, and of the weights what their update reads and writes, at the same place in each round.
    let counter = kernels[7];
    assert_eq!((counter.name.as_str(), counter.reads[0].bytes), ("loop_add_fusion_2", 4));
    assert_eq!(counter.reads, counter.writes);
    assert_eq!((&kernels[28].reads, &kernels[49].writes), (&counter.reads, &counter.writes));
    let sizes = |kernel: &Kernel| {
        let of = |segments: &[Segment]| segments.iter().map(|s| s.bytes).collect::<Vec<_>>();
        (of(&kernel.reads), of(&kernel.writes))
    };
    // 64 rows of 128, times 128 x 256 in four parts.
    let first = kernels[10];
    assert_eq!((first.mnk, first.flops), (Some([64, 256, 32, 4]), 2 * 64 * 256 * 128));
    assert_eq!(sizes(first), (vec![4 * 128 * 256, 4 * 64 * 128], vec![4 * 4 * 64 * 256]));
    assert_eq!(first.reads[0], kernels[26].writes[0], "the weights, and their update");
    assert_eq!(kernels[6].writes[0], first.reads[0], "the copy that the loop begins with");
    assert!(kernels[11].reads.contains(&first.writes[0]));
    // No kernel of the round touches more than it must: 1 MiB at the most, of 1.5 in all.
    assert!(kernels.iter().all(|k| k.reads.iter().chain(&k.writes).map(|s| s.bytes).sum::<u64>() < 1 << 20));
    assert_eq!(round("reduce_sum").len(), 3);
}

#[test]
fn each_launch_for_one_instruction_goes_on_with_what_those_before_it_wrote() {
    let imported = measured("jit_conv_step");
    assert_eq!(imported.warnings, []);
    let kernels = kernels(&imported);
    let sort: Vec<&&Kernel> = kernels.iter().filter(|k| k.op == "sort").collect();
    // A copy and six rounds, over values and indices.
    assert_eq!((sort.len(), sort[0].kind, sort[0].reads.len()), (7, KernelType::Copy, 1));
    for round in &sort[1..] {
        assert_eq!(round.writes, sort[0].writes);
        assert_eq!(round.writes.len(), 2);
        assert!(round.writes.iter().all(|write| round.reads.contains(write)), "{}", round.name);
    }
    // 16 channels of 4 x 32 x 32 pixels; 8 channels of 5 x 5 and 3 x 3 taps, the latter with a bias.
    let convolutions: Vec<(KernelType, u64, usize)> = kernels
        .iter()
        .filter(|k| k.op == "conv_general_dilated")
        .map(|k| (k.kind, k.flops, k.reads.len()))
        .collect();
    let flops = |taps: u64| 2 * 4 * 32 * 32 * 16 * 8 * taps;
    assert_eq!(convolutions, [(KernelType::Tensor, flops(25), 2), (KernelType::Tensor, flops(9), 3)]);
    // The sum of both reads the first element of each call's tuple.
    let sum = kernels[6];
    assert_eq!((sum.op.as_str(), sum.reads.len()), ("add", 2));
    assert_eq!(sum.reads, [kernels[2].writes[0], kernels[5].writes[0]]);
}

/// A directory with the files of another, plain, and changed as the function says.
fn changed(from: &Path, change: impl Fn(&str, String) -> String) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for entry in fs::read_dir(from).expect("files") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("bytes");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (name, bytes) = match name.strip_suffix(".zst") {
            Some(plain) => (plain.to_owned(), zstd::decode_all(&bytes[..]).expect("zstd")),
            None => (name, bytes),
        };
        let text = change(&name, String::from_utf8(bytes).expect("text"));
        fs::write(dir.path().join(&name), text).expect("written");
    }
    dir
}

/// What an importer with a fault would make of the dump, the right one makes of a dump with the fault in it.
#[test]
fn the_comparison_notices_a_wrong_importer() {
    const METADATA: &str = "thunk_metadata.txt";
    const SEQUENCE: &str = "thunk_sequence.txt";
    const HLO: &str = "gpu_after_optimizations.txt";
    const BUFFERS: &str = "buffer-assignment.txt";
    const VALUES: &str = "assignment-values.txt";
    for (file, from, to) in [
        (SEQUENCE, "input_scatter_fusion_8 grid: [96, 1, 1]", "input_scatter_fusion_8 grid: [96, 1, 2]"),
        (
            SEQUENCE,
            "triton_softmax_7 grid: [32, 1, 1] threads: [64",
            "triton_softmax_7 grid: [32, 1, 1] threads: [65",
        ),
        (SEQUENCE, "shared_memory: 256 bytes", "shared_memory: 0 bytes"),
        (SEQUENCE, "011: kCustomKernel", "013: kCustomKernel"),
        (SEQUENCE, "  body:\n", "  body:\n    001: kCopy [source] kCopy\n"),
        (METADATA, "\"copy.20\"", "\"copy.48\""),
        (HLO, "known_trip_count\":{\"n\":\"5\"", "known_trip_count\":{\"n\":\"4\""),
        (HLO, "copy(%s_qp_rot.1)", "copy(%s_qp_pos.1)"),
        (HLO, "/while/body/closed_call/vmap()/atan2\"", "/while/body/closed_call/vmap()/atan\""),
        (HLO, " sine(", " bitcast("),
        (BUFFERS, "allocation 22: size 160,", "allocation 22: size 300,"),
        (BUFFERS, "allocation 24: size 1, thread-local", "allocation 24: size 1, constant"),
        (BUFFERS, "copy.47 @0> (size=40960,offset=0)", "copy.47 @0> (size=40704,offset=256)"),
        (VALUES, "\n  get-tuple-element.45\n", "\n"),
    ] {
        let dir = changed(&real(), |name, text| {
            assert!(!name.ends_with(file) || text.contains(from), "{file}: {from}");
            if name.ends_with(file) { text.replace(from, to) } else { text }
        });
        let imported = import(dir.path(), &Options::default()).expect("still a dump");
        assert!(!differences(&imported.trace).is_empty(), "{file}: {to}");
    }
}

const SEQUENCE: &str = "\
001: kMemzero       [source | next=002 (1)] kMemzero
002: kCommandBuffer [prev=001 (1) | next=005 (1)] \n
    003: kCustomKernel [source | sink] wrapped_add grid: [2, 1, 1] threads: [128, 1, 1]  shared_memory: 16 bytes
    004: kCopy         [source | sink] kCopy
005: kWhile         [prev=002 (1) | next=012 (1)]   
condition:
    006: kCustomKernel [source | sink] loop_compare grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
  body:
    007: kGemm         [source | sink] kGemm
    008: kConditional  [source | sink]     
      false_branch:
        009: kKernel       [source | sink] , kernel = short, launch dimensions = blocks: {4, 1, 1}, threads/block: {32, 1, 1}
      true_branch:
        010: kCopy         [source | sink] kCopy
        011: kCopy         [source | sink] kCopy
012: kAllReduceStart [prev=005 (1) | next=013 (1)] kAllReduceStart
013: kAllReduceDone [prev=012 (1) | next=014 (1)] kAllReduceDone
014: kOutfeed       [prev=013 (1) | sink] kOutfeed
";

const HLO: &str = r#"HloModule jit_small, is_scheduled=true

%added (p.0: f32[16,16]) -> f32[16,16] {
  %p.0 = f32[16,16]{1,0} parameter(0)
  ROOT %add.1 = f32[16,16]{1,0} add(%p.0, %p.0), metadata={op_name="jit(small)/a \"b\"/add"}
}

%body (s: (f32[16,16])) -> (f32[16,16]) {
  %s = (f32[16,16]{1,0}) parameter(0)
  %gte = f32[16,16]{1,0} get-tuple-element(%s), index=0
  %gemm = f32[16,8]{1,0} custom-call(%gte, %b), custom_call_target="__cublas$gemm", metadata={op_name="jit(small)/dot"}, backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}
  %cond = f32[16,16]{1,0} conditional(%p, %gte, %gte), branch_computations={%x, %y}
  %short = f32[16,16]{1,0} fusion(%gte), kind=kLoop, calls=%added
  %copy.1 = f32[16,16]{1,0} copy(%gte)
  %copy.2 = f32[16,16]{1,0} copy(%copy.1)
}

ENTRY %main (a: f32[16,16], b: f32[16,8]) -> f32[16,16] {
  %a = f32[16,16]{1,0} parameter(0)
  %b = f32[16,8]{1,0} parameter(1)
  %zero = f32[16,16]{1,0} fusion(%a), kind=kLoop, calls=%added
  %wrapped_add = f32[16,16]{1,0} fusion(%a), kind=kLoop, calls=%added, metadata={op_name="jit(small)/a \"b\"/add"}
  %copy.0 = f32[16,16]{1,0} copy(%wrapped_add)
  %while = (f32[16,16]{1,0}) while(%copy.0), condition=%c, body=%body
  %loop_compare = pred[] compare(%a, %b), direction=LT
  ROOT %all-reduce-start = f32[16,16]{1,0} all-reduce-start(%copy.0), to_apply=%added
}
"#;

const BUFFERS: &str = "\
BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[16,16]| at ShapeIndex {}:
 value: <1 a @0> (size=1024,offset=0): f32[16,16]{1,0}
allocation 1: size 512, parameter 1, shape |f32[16,8]| at ShapeIndex {}:
 value: <2 b @0> (size=512,offset=0): f32[16,8]{1,0}
allocation 2: size 1, thread-local:
 value: <3 loop_compare @0> (size=1,offset=0): pred[]
allocation 3: size 6100, preallocated-temp:
 value: <4 zero @0> (size=1024,offset=0): f32[16,16]{1,0}
 value: <5 wrapped_add @0> (size=1024,offset=1024): f32[16,16]{1,0}
 value: <6 copy.0 @0> (size=1024,offset=2048): f32[16,16]{1,0}
 value: <7 while{} (phi) @0> (size=8,offset=6016): (f32[16,16]{1,0})
 value: <8 while{0} (phi) @0> (size=1024,offset=2048): f32[16,16]{1,0}
 value: <9 gemm @0> (size=512,offset=3072): f32[16,8]{1,0}
 value: <10 copy.1 @0> (size=1024,offset=3584): f32[16,16]{1,0}
 value: <11 copy.2 @0> (size=1024,offset=4608): f32[16,16]{1,0}

Total bytes used: 8192 (8.0KiB)

Used values:
<8 while{0} (phi) @0>
 positions:
  while {0}
  s {0}
  gte
 uses:
  gemm, operand 0
<6 copy.0 @0>
 positions:
  copy.0
  all-reduce-start
 uses:
  (none)
";

const STEM: &str = "module_0007.jit_small";

/// The small dump, with one file changed.
fn small(change: impl Fn(&str, String) -> String) -> TempDir {
    let names = [
        (1, "zero"),
        (3, "wrapped_add"),
        (4, "copy.0"),
        (5, "while"),
        (6, "loop_compare"),
        (7, "gemm"),
        (8, "cond"),
        (9, "short"),
        (10, "copy.1"),
        (11, "copy.2"),
        (12, "all-reduce-start"),
    ];
    let metadata = names.map(|(id, name)| {
        format!("thunk_metadata {{\n  thunk_info {{\n    profile_annotation: \"{name}\"\n    thunk_id: {id}\n  }}\n}}\n")
    });
    let dir = tempfile::tempdir().expect("a directory");
    for (ending, text) in [
        ("thunk_sequence.txt", SEQUENCE),
        ("thunk_metadata.txt", &metadata.concat()),
        ("sm_9.0_gpu_after_optimizations.txt", HLO),
        ("sm_9.0_gpu_after_optimizations-buffer-assignment.txt", BUFFERS),
        (
            "gpu_target_config.pbtxt",
            "gpu_device_info {\n  core_count: 132\n}\ndevice_description_str: \"NVIDIA H100\"\n",
        ),
    ] {
        fs::write(dir.path().join(format!("{STEM}.{ending}")), change(ending, text.to_owned()))
            .expect("written");
    }
    dir
}

fn twice() -> Options {
    Options { trip_count: Some(2), ..Options::default() }
}

#[test]
fn loops_branches_libraries_and_what_is_not_known() {
    let imported = import(small(|_, text| text).path(), &twice()).expect("a dump");
    let gpu = &imported.trace.header.gpu;
    assert_eq!((gpu.name.as_str(), gpu.sms), ("NVIDIA H100", Some(132)));
    let events = &imported.trace.runs[0].events;
    let text: Vec<&str> = events
        .iter()
        .map(|event| match event {
            Event::Kernel(kernel) => kernel.name.as_str(),
            Event::Sync { why } => why,
            _ => "?",
        })
        .collect();
    let (goes, takes) = ("whether while goes on", "which branch cond takes");
    let round = ["loop_compare", goes, "gemm", takes, "copy.1", "copy.2"];
    let mut expected = vec!["zero", "wrapped_add", "copy.0"];
    expected.extend(round.iter().chain(&round));
    expected.extend(["loop_compare", goes, "all-reduce-start", "kOutfeed.14, which is not known"]);
    assert_eq!(text, expected);

    let kernels = kernels(&imported);
    let find = |name: &str| *kernels.iter().find(|kernel| kernel.name == name).expect(name);
    let base = 1 << 24;
    let at = |kernel: &Kernel| {
        let pairs =
            |segments: &[Segment]| segments.iter().map(|s| (s.addr - base, s.bytes)).collect::<Vec<_>>();
        (pairs(&kernel.reads), pairs(&kernel.writes))
    };
    // Allocation 2 is local to a thread, so that the temporaries are behind 1024 + 512 bytes.
    assert_eq!(at(find("zero")), (vec![], vec![(1536, 1024)]));
    assert_eq!(at(find("wrapped_add")), (vec![(0, 1024)], vec![(2560, 1024)]));
    assert_eq!(find("wrapped_add").op, "add");
    assert_eq!((find("wrapped_add").smem, find("wrapped_add").flops), (16, 256));
    // What the loop hands on is what the copy before it has written.
    assert_eq!(at(find("gemm")), (vec![(1024, 512), (3584, 1024)], vec![(4608, 512)]));
    let gemm = find("gemm");
    assert_eq!((gemm.kind, gemm.mnk, gemm.flops), (KernelType::Tensor, Some([16, 8, 16, 1]), 4096));
    assert_eq!(gemm.est, ["grid", "block", "smem"]);
    // A collective that is not known may keep part of its result.
    assert_eq!(at(find("all-reduce-start")), (vec![(3584, 1024)], vec![(3584, 1024)]));
    assert_eq!(at(find("loop_compare")), (vec![(0, 1024), (1024, 512)], vec![]));

    let expected = [
        Warning::Branch { name: "cond".into(), branches: 2 },
        Warning::AssumedTrips { name: "while".into(), trips: 2 },
        Warning::UnknownKind { kind: "kAllReduceStart".into(), thunks: 1, waits: false },
        Warning::UnknownKind { kind: "kOutfeed".into(), thunks: 1, waits: true },
        Warning::UnknownMemory { name: "short".into(), thunks: 1 },
    ];
    for warning in &expected {
        assert!(imported.warnings.contains(warning), "{warning:?} in {:?}", imported.warnings);
        assert!(warning.to_string().len() > 20);
    }
    assert_eq!(imported.warnings.len(), expected.len());
}

#[test]
fn a_branch_without_memory_touches_everything() {
    // The other branch is the longer one now.
    let drop = |ending: &str, text: String| {
        match ending {
        "thunk_sequence.txt" => text.replace("        010: kCopy         [source | sink] kCopy\n        011: kCopy         [source | sink] kCopy\n", ""),
        _ => text,
    }
    };
    let imported = import(small(drop).path(), &twice()).expect("a dump");
    let short = *kernels(&imported).iter().find(|kernel| kernel.name == "short").expect("the branch");
    assert_eq!((short.grid, short.block), ([4, 1, 1], [32, 1, 1]));
    assert_eq!(short.est, ["smem"]);
    let span = imported.trace.header.span.expect("a span");
    assert_eq!(short.reads, short.writes);
    assert_eq!([short.reads[0].addr, short.reads[0].end()], span);
    let missing = Warning::MissingThunks { name: "copy.1".into(), thunks: 2 };
    assert!(imported.warnings.contains(&missing));
}

/// By gzip, and with one of the two sequences alone: where passes have run, what they left is all that is needed.
#[test]
fn either_sequence_is_enough_and_files_may_be_packed() {
    let whole = measured("jit_step");
    let dump = changed(&h100(), |_, text| text);
    let names = fs::read_dir(dump.path()).expect("read").map(|entry| entry.expect("entry").file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let mut gone = 0;
    for name in names {
        let path = dump.path().join(&name);
        let bytes = fs::read(&path).expect("bytes");
        fs::remove_file(&path).expect("removed");
        if name.ends_with(".thunk_sequence.txt") {
            gone += 1;
            continue;
        }
        let file = fs::File::create(dump.path().join(format!("{name}.gz"))).expect("created");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed.write_all(&bytes).and_then(|()| packed.finish()).expect("packed");
    }
    assert_eq!(gone, 2, "of two modules");
    let packed = import(dump.path(), &of("jit_step")).expect("imported");
    assert_eq!(kernels(&packed), kernels(&whole));
}

#[test]
fn the_same_dump_gives_the_same_bytes() {
    let bytes = || {
        let trace = import(&real(), &Options::default()).expect("a dump").trace;
        let mut writer =
            Writer::new(Vec::new(), "memory", &trace.header, Compression::Plain).expect("a header");
        writer.trace(&trace).expect("kernels");
        writer.finish().expect("the end")
    };
    assert_eq!(bytes(), bytes());
}

fn message(result: Result<Imported, XlaErrors>) -> String {
    result.expect_err("an error").to_string()
}

#[test]
fn errors_name_file_line_and_remedy() {
    for (file, from, to, says) in [
        (
            "thunk_sequence.txt",
            "001: kMemzero",
            "001 kMemzero",
            &["thunk_sequence.txt:1: found `001 kMemzero", "instead of"][..],
        ),
        (
            "thunk_sequence.txt",
            "grid: [2, 1, 1]",
            "grid: [0, 1, 1]",
            &[":4: the grid", "`wrapped_add`", "dump again"],
        ),
        ("thunk_sequence.txt", "grid: [2, 1, 1]", "grid: [4294967296, 1, 1]", &[":4: the grid"]),
        ("thunk_sequence.txt", "  body:\n", "", &[":6: found `kWhile` instead of a loop with its `body:`"]),
        ("thunk_sequence.txt", SEQUENCE, "", &["the file has no thunk"]),
        (
            "thunk_metadata.txt",
            "thunk_id: 4",
            "thunk_id: four",
            &["thunk_metadata.txt:16: found `thunk_id: four`"],
        ),
        ("sm_9.0_gpu_after_optimizations.txt", HLO, "", &["optimizations.txt: the file has no instruction"]),
        (
            "sm_9.0_gpu_after_optimizations.txt",
            "%while = ",
            "%while.1 = ",
            &[
                "thunk_sequence.txt:6: `while` is not in ",
                "gpu_after_optimizations.txt, which is cut short or of another module",
            ],
        ),
        (
            "sm_9.0_gpu_after_optimizations-buffer-assignment.txt",
            "size 512,",
            "size half,",
            &["assignment.txt:4: found `allocation 1"],
        ),
        (
            "sm_9.0_gpu_after_optimizations-buffer-assignment.txt",
            "offset=6016",
            "offset=6099",
            &[":12: ", "a value inside"],
        ),
        (
            "sm_9.0_gpu_after_optimizations-buffer-assignment.txt",
            "size 6100,",
            "size 9007199254740992,",
            &[":8: ", "2^53"],
        ),
        (
            "sm_9.0_gpu_after_optimizations-buffer-assignment.txt",
            "\n<6 copy",
            "\n<x copy",
            &[":28: found `<x copy"],
        ),
    ] {
        let dir = small(|ending, text| {
            assert!(ending != file || text.contains(from), "{file}: {from}");
            if ending == file { text.replacen(from, to, 1) } else { text }
        });
        let message = message(import(dir.path(), &twice()));
        for words in says {
            assert!(message.contains(words), "`{message}` does not say `{words}`");
        }
    }
    let message = message(import(small(|_, text| text).path(), &Options::default()));
    assert!(
        message.contains("thunk_sequence.txt:6: `while` has no known_trip_count; say with --trip-count N"),
        "{message}"
    );
}

#[test]
fn several_errors_at_once_but_not_without_end() {
    let wrong = |ending: &str, text: String| match ending {
        "thunk_sequence.txt" => "nothing\n".repeat(1000),
        "thunk_metadata.txt" => String::new(),
        _ => text,
    };
    let errors = import(small(wrong).path(), &twice()).expect_err("errors");
    assert_eq!(errors.0.len(), MAX_ERRORS);
    assert!(errors.to_string().ends_with("there may be more"));
    let missing = small(|_, text| text);
    for ending in ["thunk_metadata.txt", "sm_9.0_gpu_after_optimizations-buffer-assignment.txt"] {
        fs::remove_file(missing.path().join(format!("{STEM}.{ending}"))).expect("removed");
    }
    let errors = import(missing.path(), &twice()).expect_err("errors");
    assert!(errors.0.iter().all(|error| matches!(error.problem, Problem::NoFile { .. })));
    assert_eq!(errors.0.len(), 2);
}

#[test]
fn directories_that_are_none_or_hold_several_modules() {
    let dir = small(|_, text| text);
    let none = message(import(&dir.path().join("no"), &twice()));
    assert!(none.contains("--xla_dump_to=DIR"), "{none}");
    let empty = tempfile::tempdir().expect("a directory");
    assert!(
        message(import(empty.path(), &twice()))
            .contains("no *.thunk_sequence.txt; compile on the GPU backend")
    );

    let other = dir.path().join("module_0009.jit_small.thunk_sequence.txt");
    fs::write(other, "001: kCopy [source | sink] kCopy\n").expect("written");
    let imported = import(dir.path(), &twice()).expect("the longest");
    let warning = imported.warnings[0].to_string();
    assert!(warning.starts_with("module_0007.jit_small is imported"), "{warning}");
    for (module, says) in [
        (
            "jit_small",
            "2 modules are `jit_small`; choose one with --module: module_0007.jit_small, module_0009.jit_small",
        ),
        ("jit_no", "0 modules are `jit_no`"),
        ("module_0009", "no module_0009.jit_small.thunk_metadata.txt, which says"),
    ] {
        let options = Options { module: Some(module.into()), ..twice() };
        let message = message(import(dir.path(), &options));
        assert!(message.contains(says), "{message}");
    }
    let options = Options { module: Some("module_0007".into()), gpu: Some("rtx4090".into()), ..twice() };
    let imported = import(dir.path(), &options).expect("one");
    assert_eq!(imported.trace.header.gpu.name, "rtx4090");
    // The dump says NVIDIA H100.
    let other = Warning::OtherGpu { name: "rtx4090".into(), dump: "NVIDIA H100".into() };
    assert!(imported.warnings.contains(&other) && other.to_string().contains("compiled for NVIDIA H100"));
    let options = Options { gpu: Some("h100".into()), ..options };
    let imported = import(dir.path(), &options).expect("one");
    assert!(!imported.warnings.iter().any(|warning| matches!(warning, Warning::OtherGpu { .. })));
}

#[test]
fn loops_are_bounded() {
    let options = Options { trip_count: Some(u64::MAX), ..Options::default() };
    let many = message(import(small(|_, text| text).path(), &options));
    assert!(many.contains("262144 is the limit; let loops end sooner with --max-trip-count N"), "{many}");
    let deep = |ending: &str, text: String| match ending {
        "thunk_sequence.txt" => (0..100)
            .map(|depth| format!("{:1$}1: kWhile [source | sink]\ncondition:\n", "", depth * 4))
            .collect(),
        _ => text,
    };
    assert!(message(import(small(deep).path(), &options)).contains("more than 64 deep"));
    let options = Options { max_trip_count: Some(2), ..Options::default() };
    let imported = import(&real(), &options).expect("a dump");
    assert_eq!(imported.trace.header.kernels, 18 + 2 * 83);
    assert_eq!(imported.warnings, [Warning::CutTrips { name: "while.10".into(), known: 5, trips: 2 }]);
}

/// Whatever is read is a trace that can be written; anything else is an error, never a panic.
fn holds_together(dir: &Path, options: &Options) {
    if let Ok(Imported { trace, warnings }) = import(dir, options) {
        warnings.iter().for_each(|warning| _ = warning.to_string());
        let mut writer =
            Writer::new(Vec::new(), "memory", &trace.header, Compression::Plain).expect("a header");
        writer.trace(&trace).expect("kernels");
    }
}

#[test]
fn a_file_cut_or_damaged_anywhere_is_no_panic() {
    let whole = small(|_, text| text);
    for entry in fs::read_dir(whole.path()).expect("files") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("bytes");
        for at in (0..bytes.len()).step_by(2) {
            if at % 3 == 0 {
                fs::write(&path, &bytes[..at]).expect("written");
                holds_together(whole.path(), &twice());
            }
            let mut damaged = bytes.clone();
            damaged[at] = [b'9', b'{', b'\n', b'"', 0xff][at % 5];
            fs::write(&path, damaged).expect("written");
            holds_together(whole.path(), &twice());
        }
        fs::write(&path, bytes).expect("written");
    }
}

#[test]
fn a_real_dump_cut_anywhere_is_no_panic() {
    let whole = changed(&real(), |_, text| text);
    for entry in fs::read_dir(whole.path()).expect("files") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("bytes");
        for part in 0..8 {
            fs::write(&path, &bytes[..bytes.len() * part / 8]).expect("written");
            holds_together(whole.path(), &Options::default());
        }
        fs::write(&path, bytes).expect("written");
    }
    let packed = changed(&real(), |_, text| text);
    let name = "module_0001.jit_tracedstep.thunk_metadata.txt";
    let bytes = zstd::encode_all(&fs::read(packed.path().join(name)).expect("bytes")[..], 0).expect("zstd");
    fs::remove_file(packed.path().join(name)).expect("removed");
    fs::write(packed.path().join(format!("{name}.zst")), &bytes[..bytes.len() / 2]).expect("written");
    assert!(message(import(packed.path(), &Options::default())).contains("the zstd stream is damaged"));
}

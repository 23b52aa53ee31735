//! What kernels of `torch.compile` read and write, by their source.

use super::common::overlap;
use super::h100;
use serde_json::json;
use std::path::PathBuf;
use windlass_import::FileError;
use windlass_import::pytorch::{Imported, Options, Problem, TritonSources, Warning, import_text};
use windlass_runtime::ktrace::{Kernel, KernelType};

/// A trace with one kernel, of tensors of 16 x 16 in half precision, each in a storage of its own.
fn trace(name: &str, file: &str, tensors: u64) -> String {
    let all = 0..tensors;
    let values: Vec<_> =
        all.clone().map(|at| json!([10 + 2 * at, 11 + 2 * at, 0, 256, 2, "cuda:0"])).collect();
    let node = json!({
        "id": 2, "name": name, "ctrl_deps": 1,
        "inputs": {
            "values": values,
            "shapes": all.clone().map(|_| json!([16, 16])).collect::<Vec<_>>(),
            "types": all.clone().map(|_| "Tensor(c10::Half)").collect::<Vec<_>>(),
            "strides": all.map(|_| json!([16, 1])).collect::<Vec<_>>(),
        },
        "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
        "attrs": [
            {"name": "rf_id", "type": "uint64", "value": 3},
            {"name": "op_schema", "type": "string", "value": ""},
            {"name": "kernel_backend", "type": "string", "value": "triton"},
            {"name": "kernel_file", "type": "string", "value": file},
        ],
    });
    json!({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "nodes": [node], "finish_ts": 1}).to_string()
}

fn import_with(name: &str, file: &str, tensors: u64, sources: TritonSources) -> Imported {
    let options = Options { triton: sources, ..Options::default() };
    import_text("et.json", trace(name, file, tensors).as_bytes(), None, &options).expect("an import")
}

/// For each tensor of the kernel, in order, `r`, `w` or `rw`.
fn roles_in(name: &str, file: &str, tensors: u64, sources: &[(&str, &str)]) -> Vec<String> {
    let mut all = TritonSources::default();
    for (file, text) in sources {
        all.add(file, text);
    }
    let import = import_with(name, file, tensors, all);
    assert_eq!(import.warnings, []);
    let kernel = import.trace.kernels().next().expect("a kernel");
    assert!(!kernel.est.iter().any(|field| ["r", "w"].contains(&field.as_str())), "{:?}", kernel.est);
    let mut addresses: Vec<u64> = kernel.reads.iter().chain(&kernel.writes).map(|s| s.addr).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len() as u64, tensors);
    let of = |address: &u64| {
        let has =
            |segments: &[windlass_runtime::ktrace::Segment]| segments.iter().any(|s| s.addr == *address);
        let (read, written) = (has(&kernel.reads), has(&kernel.writes));
        format!("{}{}", if read { "r" } else { "" }, if written { "w" } else { "" })
    };
    addresses.iter().map(of).collect()
}

fn roles(name: &str, tensors: u64, source: &str) -> Vec<String> {
    roles_in(name, "", tensors, &[("kernel.py", source)])
}

fn source(name: &str, signature: &str, mutated: &str, parameters: &str, body: &str) -> String {
    format!(
        "@triton_heuristics.pointwise(\n    size_hints={{'x': 256}},\n    triton_meta={{'signature': {{{signature}}}, 'device': 0, \
         'configs': [{{(0,): [['tt.divisibility', 16]]}}]}},\n    inductor_meta={{'kernel_name': '{name}', 'mutated_arg_names': [{mutated}]}}\n)\n\
         @triton.jit\ndef {name}({parameters}):\n{body}\n''', device_str='cuda')\n"
    )
}

const PLAIN: &str = "'in_ptr0': '*fp16', 'out_ptr0': '*fp16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'";
const PARAMETERS: &str = "in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr";
const STORES: &str = "    tl.store(out_ptr0 + (x0), tl.load(in_ptr0 + (x0), xmask), xmask)";

#[test]
fn the_recorded_kernels_read_and_write_what_their_source_says() {
    let import = h100::recorded("text-compiled");
    let kernels: Vec<&Kernel> = import.trace.kernels().filter(|k| k.op.starts_with("triton")).collect();
    // Counted by hand in the source; the fifth and the last add to what they were given.
    let norms = [(4, 1), (5, 1), (1, 1), (6, 1), (7, 2), (1, 1), (4, 1), (5, 1), (1, 1), (4, 1)];
    let seen: Vec<(usize, usize)> = kernels.iter().map(|k| (k.reads.len(), k.writes.len())).collect();
    assert_eq!(seen, norms);
    for kernel in &kernels {
        assert!(!kernel.est.iter().any(|field| ["r", "w"].contains(&field.as_str())), "{:?}", kernel.est);
    }
    // Nothing writes what was there before: indices, the table of 1000 rows, weights of norms (512 bytes), of products, and biases.
    let all: Vec<&Kernel> = import.trace.kernels().collect();
    let sizes = [128 * 8, 1000 * 256 * 2, 256 * 2];
    let constants = kernels.iter().flat_map(|k| &k.reads).filter(|s| sizes.contains(&s.bytes));
    let mut constants: Vec<_> = constants.copied().collect();
    constants.sort_unstable();
    constants.dedup();
    assert_eq!(constants.len(), 2 + 2 * 6, "the indices, the table, and two for each of six norms");
    assert!(all.iter().all(|kernel| !overlap(&kernel.writes, &constants)));
}

#[test]
fn without_its_source_a_kernel_may_write_all_and_a_warning_says_so() {
    let import = import_with("triton_poi_fused_add_0", "", 2, TritonSources::default());
    let kernel = import.trace.kernels().next().expect("a kernel");
    assert_eq!((kernel.reads.len(), kernel.writes.len()), (2, 2));
    assert!(kernel.est.iter().any(|field| field == "w"));
    assert_eq!(import.warnings, [Warning::NoSource(vec![("triton_poi_fused_add_0".to_owned(), 1)])]);
    assert!(
        import.warnings[0]
            .to_string()
            .ends_with("give their source with --triton: triton_poi_fused_add_0 (1)")
    );
    // A source of another kernel, and one of another number of tensors, say nothing.
    let mut sources = TritonSources::default();
    sources.add("kernel.py", &source("triton_poi_fused_add_1", PLAIN, "", PARAMETERS, STORES));
    sources.add("kernel.py", &source("triton_poi_fused_add_0", "'in_ptr0': '*fp16'", "", "in_ptr0", ""));
    assert_eq!(import_with("triton_poi_fused_add_0", "", 2, sources).warnings, import.warnings);
}

#[test]
fn pointers_are_named_by_what_a_kernel_does_with_them() {
    let of = |mutated: &str, body: &str| roles("k", 2, &source("k", PLAIN, mutated, PARAMETERS, body));
    assert_eq!(of("", STORES), ["r", "w"]);
    // It goes on with what was there: by its list, by a load, by an atomic, by what it hands the pointer to.
    assert_eq!(of("'out_ptr0'", STORES), ["r", "rw"]);
    for body in [
        "tl.load(out_ptr0 + x0)",
        "tl.atomic_add(out_ptr0 + x0, tmp1, xmask, sem='relaxed')",
        "helper(out_ptr0)",
    ] {
        assert_eq!(of("", &format!("{STORES}\n    {body}")), ["r", "rw"], "{body}");
    }
    // `out_ptr0` is in neither of these names.
    assert_eq!(of("", &format!("{STORES}\n    out_ptr01 = my_out_ptr0 + 1")), ["r", "w"]);
    let signature = "'in_out_ptr0': '*fp16', 'in_ptr0': '*fp16', 'ws_ptr': '*u8', 'out_ptr1': '*fp16'";
    let text = source(
        "k",
        signature,
        "'in_out_ptr0'",
        "in_out_ptr0, in_ptr0, ws_ptr, out_ptr1",
        "tl.store(out_ptr1 + x0, 0)",
    );
    assert_eq!(roles("k", 4, &text), ["rw", "r", "rw", "w"], "a workspace may be anything");
    // A kernel that was written by hand follows no convention.
    let text = source("k", "'x': '*fp16', 'arg_x': '*fp16'", "", "x, arg_x", "tl.store(arg_x, tl.load(x))");
    assert_eq!(roles("k", 2, &text), ["rw", "rw"]);
}

#[test]
fn older_sources_number_their_parameters() {
    let text = source("k", "0: '*fp16', 1: '*fp16', 2: 'i32'", "", PARAMETERS, STORES);
    assert_eq!(roles("k", 2, &text), ["r", "w"]);
    assert_eq!(roles("k", 2, &text.replace('\'', "\"").replace("\"\"\"", "'''")), ["r", "w"]);
    // A number without a parameter.
    let mut sources = TritonSources::default();
    assert_eq!(sources.add("kernel.py", &text.replace("1: ", "9: ")), 0);
}

#[test]
fn a_template_is_a_product() {
    let text = source(
        "triton_tem_fused_mm_0",
        "'arg_A': '*fp16', 'arg_B': '*fp16', 'out_ptr0': '*fp16'",
        "",
        "arg_A, arg_B, out_ptr0",
        "tl.store(out_ptr0, acc)",
    )
    .replace("'mutated_arg_names': []", "'num_warps': 4");
    assert_eq!(roles("triton_tem_fused_mm_0", 3, &text), ["r", "r", "w"]);
    let mut sources = TritonSources::default();
    sources.add("kernel.py", &text);
    let import = import_with("triton_tem_fused_mm_0", "", 3, sources);
    let kernel = import.trace.kernels().next().expect("a kernel");
    assert_eq!(
        (kernel.kind, kernel.mnk, kernel.flops),
        (KernelType::Tensor, Some([16, 16, 16, 1]), 2 * 16 * 16 * 16)
    );
}

#[test]
fn of_several_kernels_with_a_name_the_one_in_the_file_counts() {
    let reads = source("k", PLAIN, "", PARAMETERS, STORES);
    let keeps = source("k", PLAIN, "'out_ptr0'", PARAMETERS, STORES);
    // Functions that kernels call, and other kernels, may be in the same file.
    let helper = "@triton.jit\ndef _triton_helper_fn_add0(arg0_0, arg1_0):\n    return arg0_0 + arg1_0\n\n";
    let one = format!("{helper}{reads}{}", source("other", PLAIN, "'in_ptr0'", PARAMETERS, STORES));
    let files = [("one.py", one.as_str()), ("two.py", keeps.as_str())];
    assert_eq!(roles_in("k", "/tmp/x/one.py", 2, &files), ["r", "w"]);
    assert_eq!(roles_in("k", r"C:\x\two.py", 2, &files), ["r", "rw"]);
    for file in ["", "/tmp/x/three.py"] {
        assert_eq!(roles_in("k", file, 2, &files), ["r", "rw"], "either may have run");
    }
    assert_eq!(roles_in("other", "/tmp/x/one.py", 2, &files), ["rw", "w"]);
}

#[test]
fn folders_are_searched() {
    let directory = tempfile::tempdir().expect("a directory");
    let inner = directory.path().join("ab").join("cd");
    std::fs::create_dir_all(&inner).expect("folders");
    let text = source("triton_poi_fused_add_0", PLAIN, "", PARAMETERS, STORES);
    std::fs::write(inner.join("kernel.py"), &text).expect("a file");
    std::fs::write(inner.join("kernel.txt"), text.replace("add_0", "add_1")).expect("a file");
    std::fs::write(directory.path().join("call.py"), "print()").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(directory.path(), inner.join("back")).expect("a link");
    let sources = TritonSources::read(&[directory.path().to_owned()]).expect("sources");
    assert_eq!(import_with("triton_poi_fused_add_0", "", 2, sources.clone()).warnings, []);
    assert_eq!(import_with("triton_poi_fused_add_1", "", 2, sources).warnings.len(), 1);

    let missing = directory.path().join("missing");
    let nothing = directory.path().join("call.py");
    let errors = TritonSources::read(&[missing.clone(), nothing.clone()]).expect_err("two errors");
    assert!(matches!(errors.0[0].problem, Problem::File(FileError::Io(_))));
    assert!(matches!(errors.0[1].problem, Problem::NoTriton));
    let files: Vec<PathBuf> = errors.0.iter().map(|error| error.file.clone().into()).collect();
    assert_eq!(files, [missing, nothing]);
    assert!(errors.to_string().contains("no kernel of torch.compile is in it; give TorchInductor's cache"));
}

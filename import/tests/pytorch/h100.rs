//! Recordings of six steps that an NVIDIA H100 ran (PyTorch 2.11.0, CUDA 13.0, 2026-11-26), each an execution trace and the profile of the same run.
//!
//! `tests/data/h100` has them as PyTorch wrote them by the recipe in docs/import.md, but for what names the machine, and for the profile's events that
//! no importer reads (flows, labels of threads, annotations on the GPU):
//!
//! - `cnn`: a convolution, three fire modules, a batch norm and a linear layer, inference of one image of 3 x 224 x 224; `cnn-train`: one step of SGD
//!   with momentum on 8 of 96 x 96
//! - `text-bf16`: three transformer blocks of width 256 with 8 heads, inference of 128 tokens in bfloat16; `text-compiled`: the same by `torch.compile`;
//!   `text-compiled.triton.py`: the source of its kernels, which the recording did not keep: what PyTorch 2.15 makes of the same network
//!   `text-train`: one step of AdamW on 4 of 128 tokens, in single precision
//! - `two-streams`: a product and a ReLU on a side stream, an addition and a softmax on the other, and the sum of both

use super::common::{check_memory, overlap};
use serde_json::Value;
use std::path::{Path, PathBuf};
use windlass_import::pytorch::{Imported, Options, TritonSources, import, import_text};
use windlass_runtime::ktrace::{Event, Gpu, Kernel, KernelType, Segment};

const ALL: [&str; 6] = ["cnn", "cnn-train", "text-bf16", "text-compiled", "text-train", "two-streams"];

fn data(name: &str, kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h100").join(format!("{name}.{kind}.json.zst"))
}

/// With the source of compiled kernels.
fn options(name: &str) -> Options {
    let sources = data(name, "").with_file_name(format!("{name}.triton.py"));
    let sources = if sources.exists() { vec![sources] } else { Vec::new() };
    Options { triton: TritonSources::read(&sources).expect("sources"), ..Options::default() }
}

pub fn recorded(name: &str) -> Imported {
    import(&data(name, "et"), Some(&data(name, "kineto")), &options(name)).expect("an import")
}

fn estimated(name: &str) -> Imported {
    let gpu = Some(Gpu { name: "h100".to_owned(), sms: Some(132) });
    import(&data(name, "et"), None, &Options { gpu, ..options(name) }).expect("an import")
}

fn kernels(import: &Imported) -> Vec<&Kernel> {
    import.trace.kernels().collect()
}

fn profile(name: &str) -> Value {
    let packed = std::fs::read(data(name, "kineto")).expect("the data");
    serde_json::from_slice(&zstd::decode_all(&packed[..]).expect("zstd")).expect("JSON")
}

/// The same with a profile that was changed.
fn with_profile(name: &str, profile: &Value) -> Imported {
    let packed = std::fs::read(data(name, "et")).expect("the data");
    let trace = zstd::decode_all(&packed[..]).expect("zstd");
    let profile = profile.to_string();
    import_text("et.json", &trace, Some(("kineto.json", profile.as_bytes())), &Options::default())
        .expect("an import")
}

fn flops(kernels: &[&Kernel]) -> u64 {
    kernels.iter().map(|kernel| kernel.flops).sum()
}

fn of<'a>(kernels: &[&'a Kernel], op: &str) -> Vec<&'a Kernel> {
    kernels.iter().filter(|kernel| kernel.op == op).copied().collect()
}

/// Whether a kernel must wait for an earlier one.
fn hazard(before: &Kernel, after: &Kernel) -> bool {
    overlap(&before.writes, &after.reads)
        || overlap(&before.writes, &after.writes)
        || overlap(&before.reads, &after.writes)
}

#[test]
fn kernels_are_those_of_the_profile() {
    for name in ALL {
        let import = recorded(name);
        assert_eq!(import.warnings, [], "{name}");
        let gpu = &import.trace.header.gpu;
        assert_eq!((gpu.name.as_str(), gpu.sms), ("NVIDIA H100 80GB HBM3", Some(132)));
        let profile = profile(name);
        let ran = |event: &&Value| {
            ["kernel", "gpu_memcpy", "gpu_memset"].contains(&event["cat"].as_str().unwrap_or_default())
        };
        let mut events: Vec<&Value> =
            profile["traceEvents"].as_array().expect("events").iter().filter(ran).collect();
        events.sort_by_key(|event| event["args"]["correlation"].as_u64());
        let kernels = kernels(&import);
        assert_eq!(kernels.len(), events.len(), "{name}");
        for (kernel, event) in kernels.iter().zip(&events) {
            let args = &event["args"];
            assert_eq!(kernel.name, event["name"].as_str().expect("a name"), "{name}");
            assert_eq!(u64::from(kernel.stream), args["stream"].as_u64().expect("a stream"));
            let ns = (event["dur"].as_f64().expect("a duration") * 1e3).round() as u64;
            assert_eq!(kernel.dur_ns, Some(ns), "{name} {}: nothing overlapped", kernel.index);
            if event["cat"] == "kernel" {
                assert_eq!(serde_json::json!(kernel.grid), args["grid"]);
                assert_eq!(serde_json::json!(kernel.block), args["block"]);
                assert_eq!(kernel.regs.map(u64::from), args["registers per thread"].as_u64());
                assert_eq!(Some(kernel.smem), args["shared memory"].as_u64());
            } else {
                assert_eq!((kernel.kind, kernel.traffic), (KernelType::Copy, args["bytes"].as_u64()));
                assert!(!kernel.est.iter().any(|field| field == "bytes"));
            }
            let touched = kernel.reads.len() + kernel.writes.len();
            assert!(touched > 0, "{name} {}: {} touches nothing", kernel.index, kernel.name);
        }
        assert_eq!(check_memory(&import.trace), Ok(()), "{name}");
        assert_eq!(check_memory(&estimated(name).trace), Ok(()), "{name}, estimated");
    }
}

/// Memory is where it was, so that it is used again where it was used again.
#[test]
fn memory_has_the_addresses_of_the_profile() {
    const PAGE: u64 = 2 << 20;
    for (name, known) in [("cnn", 21), ("text-bf16", 50), ("text-train", 181), ("two-streams", 6)] {
        let import = recorded(name);
        let profile = profile(name);
        let events = profile["traceEvents"].as_array().expect("events").iter();
        let mut real: Vec<(u64, u64)> = events
            .filter(|event| event["name"] == "[memory]" && event["args"]["Device Type"] == 1)
            .filter_map(|event| Some((event["args"]["Addr"].as_u64()?, event["args"]["Bytes"].as_u64()?)))
            .collect();
        real.sort_unstable();
        let allocations: Vec<Segment> = import.trace.runs[0]
            .events
            .iter()
            .filter_map(|event| if let Event::Alloc(segment) = event { Some(*segment) } else { None })
            .collect();
        assert_eq!(allocations.len(), known, "{name}");
        // What is left out between them are whole pages: the order is the same, and the place within a page.
        for allocation in allocations {
            let fits = |(address, bytes): &&(u64, u64)| {
                address % PAGE == allocation.addr % PAGE && *bytes >= allocation.bytes
            };
            assert!(real.iter().any(|real| fits(&real)), "{name}: {allocation:?}");
        }
    }
}

#[test]
fn a_network_of_convolutions_has_its_dependencies() {
    let import = recorded("cnn");
    let kernels = kernels(&import);
    let convolutions = of(&kernels, "cudnn_convolution");
    // Channels in and out, side of the kernel, pixels.
    let expected = [
        (3, 64, 3, 111 * 111),
        (64, 16, 1, 55 * 55),
        (16, 64, 1, 55 * 55),
        (16, 64, 3, 55 * 55),
        (128, 16, 1, 55 * 55),
        (16, 64, 1, 55 * 55),
        (16, 64, 3, 55 * 55),
        (128, 32, 1, 27 * 27),
        (32, 128, 1, 27 * 27),
        (32, 128, 3, 27 * 27),
    ];
    assert_eq!(convolutions.len(), expected.len());
    for (kernel, (input, output, side, pixels)) in convolutions.iter().zip(expected) {
        assert_eq!(kernel.mnk, Some([pixels, output, input * side * side, 1]));
        assert_eq!(kernel.flops, 2 * pixels * output * input * side * side);
        assert_eq!(kernel.reads[1].bytes, 4 * output * input * side * side, "its weights");
        assert_eq!(kernel.writes[0].bytes, 4 * output * pixels);
        // cuDNN chose both kinds: the former without tensor cores.
        let tensor = !kernel.name.contains("ffma");
        assert_eq!(kernel.kind == KernelType::Tensor, tensor, "{}", kernel.name);
    }
    assert_eq!(convolutions.iter().filter(|k| k.kind == KernelType::Tensor).count(), 4);
    for (at, kernel) in kernels.iter().enumerate().skip(1) {
        let wrote = kernels[..at].iter().any(|before| overlap(&kernel.reads, &before.writes));
        assert!(wrote, "kernel {at} reads what an earlier one wrote");
    }
    for cat in of(&kernels, "cat") {
        let at = cat.index as usize;
        let [squeeze, left, right] = [at - 7, at - 4, at - 1].map(|at| kernels[at]);
        assert!([left, right].iter().all(|side| cat.reads.contains(&side.writes[0])));
        assert!([at - 6, at - 3].iter().all(|at| kernels[*at].reads.contains(&squeeze.writes[0])));
        // The two expansions are independent of each other.
        assert!(!(at - 6..at - 3).any(|one| (at - 3..at).any(|two| hazard(kernels[one], kernels[two]))));
    }
}

#[test]
fn an_attention_of_cudnn_has_its_arithmetic() {
    let (tokens, width, heads) = (128, 256, 8);
    let products = 2 * tokens * width * (3 * width + width + 4 * width + 4 * width);
    let attention = 2 * heads * tokens * tokens * (2 * width / heads);
    // Norms 8 per element, additions and GELU one.
    let others = tokens * width * (2 * 8 + 2 + 4);
    let whole = 3 * (products + attention + others) + 2 * tokens * width * 1000;
    let import = recorded("text-bf16");
    let kernels = kernels(&import);
    assert_eq!(flops(&kernels), whole);
    for name in ["text-bf16", "text-compiled"] {
        let import = recorded(name);
        let attentions = of(&self::kernels(&import), "_cudnn_attention_forward");
        assert_eq!(attentions.len(), 6, "{name}: a fill before each");
        for pair in attentions.chunks(2) {
            let [fill, attention_kernel] = pair else { panic!("pairs") };
            assert_eq!((fill.kind, fill.reads.len(), fill.flops), (KernelType::Copy, 0, 0));
            assert_eq!((attention_kernel.kind, attention_kernel.flops), (KernelType::Tensor, attention));
            // Query, key and value are a third of each row.
            let starts: Vec<u64> = attention_kernel.reads[..3].iter().map(|s| s.addr).collect();
            assert_eq!((starts[1] - starts[0], starts[2] - starts[0]), (2 * width, 4 * width));
            assert!(attention_kernel.reads.contains(&fill.writes[0]), "the order of both");
        }
    }
    // Rows of the table, and their indices: not all of it.
    let gather = kernels[0];
    assert_eq!((gather.op.as_str(), gather.reads[0].bytes), ("gather", 2 * 1000 * width));
    assert_eq!(gather.traffic, Some(2 * 2 * tokens * width + 8 * tokens));
    // Each product reads the norm, the attention or the GELU before it.
    for kernel in of(&kernels, "addmm").iter().filter(|kernel| kernel.index < 34) {
        let before = kernels[kernel.index as usize - 1];
        assert!(kernel.reads.contains(&before.writes[0]), "kernel {}", kernel.index);
    }
}

/// Products whose K is split are two kernels or more: the one that adds up waits for the one that multiplies, even where memory is renamed.
/// `expected` counts neighbours in the profile with one `External id`.
#[test]
fn kernels_of_one_operator_read_what_those_before_them_wrote() {
    for (name, expected) in [("two-streams", 1), ("text-train", 38), ("cnn-train", 39)] {
        let import = recorded(name);
        let kernels = kernels(&import);
        let mut pairs = 0;
        for pair in kernels.windows(2) {
            let [before, after] = pair else { continue };
            let products = ["mm", "addmm", "native_layer_norm_backward", "convolution_backward"];
            if products.contains(&before.op.as_str())
                && before.op == after.op
                && before.writes == after.writes
            {
                pairs += 1;
                let all = before.writes.iter().all(|write| after.reads.contains(write));
                assert!(all, "{name} {}: {}", after.index, after.name);
                let sum = |kernel: &Kernel| kernel.reads.iter().map(|s| s.bytes).sum::<u64>();
                let written: u64 = after.writes.iter().map(|s| s.bytes).sum();
                assert!(after.traffic < Some(sum(after) + written) || after.kind == KernelType::Copy);
                assert!(after.est.iter().any(|field| field == "r"));
            }
        }
        assert_eq!(pairs, expected, "{name}");
    }
}

#[test]
fn a_training_step_has_its_saved_activations_and_its_optimizer() {
    let import = recorded("text-train");
    let kernels = kernels(&import);
    let (forward, backward) = (of(&kernels, "gelu"), of(&kernels, "gelu_backward"));
    assert_eq!((forward.len(), backward.len()), (3, 3));
    // Autograd's thread goes back, from the last block to the first.
    for (forward, backward) in forward.iter().rev().zip(&backward) {
        assert!(forward.index < backward.index && backward.reads.contains(&forward.reads[0]));
        // What the product before wrote is there until then.
        let between = &kernels[forward.index as usize..backward.index as usize];
        assert!(!between.iter().any(|kernel| overlap(&kernel.writes, &forward.reads)));
    }
    // An embedding, three blocks with two norms and four linear layers each, and a linear layer to 1000 words.
    let block = 2 * 2 * 256 + 256 * 768 + 768 + 256 * 256 + 256 + 2 * 4 * 256 * 256 + 1024 + 256;
    let weights = 4 * (1000 * 256 + 3 * block + 256 * 1000 + 1000);
    let bytes = |segments: &[Segment]| segments.iter().map(|s| s.bytes).sum::<u64>();
    let optimizer: Vec<&&Kernel> = kernels.iter().filter(|k| k.op.starts_with("_foreach_")).collect();
    assert_eq!(optimizer.len(), 8);
    assert!(optimizer.iter().all(|kernel| kernel.writes.len() == 39 && bytes(&kernel.writes) == weights));
    assert!(optimizer.iter().all(|kernel| 4 * kernel.flops == weights));
    let update = kernels[160];
    assert_eq!((update.op.as_str(), update.reads.len()), ("_foreach_addcdiv_", 3 * 39));
    // It writes the weights that the forward pass has read.
    let layers = of(&kernels, "addmm");
    let layers: Vec<_> = layers.iter().filter(|kernel| kernel.kind != KernelType::Copy).collect();
    assert!(layers.iter().all(|layer| layer.reads.iter().any(|read| update.writes.contains(read))));
    // The gradient of each weight is there: what the lerp of the moments reads beside them was written by a kernel.
    let lerp = kernels[154];
    assert_eq!((lerp.op.as_str(), lerp.reads.len()), ("_foreach_lerp_", 2 * 39));
    let gradients = lerp.reads.iter().filter(|read| !lerp.writes.contains(read));
    let wrote = |segment: &Segment| kernels[43..153].iter().any(|kernel| kernel.writes.contains(segment));
    assert_eq!(gradients.filter(|gradient| wrote(gradient)).count(), 39);
}

/// What an operator has its calls prepare, its own kernel reads: here zeros for a workspace, and a sum. Its results say nothing of them.
#[test]
fn workspaces_of_an_operator_are_read_by_its_kernel() {
    let mut profile = profile("text-train");
    for known in [true, false] {
        let import = with_profile("text-train", &profile);
        let kernels = kernels(&import);
        let attentions = of(&kernels, "_efficient_attention_backward");
        assert_eq!(attentions.len(), 3);
        for attention in attentions {
            let at = attention.index as usize;
            let ops: Vec<&str> = kernels[at - 4..at].iter().map(|kernel| kernel.op.as_str()).collect();
            assert_eq!(ops, ["mul", "sum", "copy_", "fill_"]);
            let [product, _, delta, zeros] = [at - 4, at - 3, at - 2, at - 1].map(|at| kernels[at]);
            assert_eq!((delta.writes[0].bytes, zeros.writes[0].bytes), (4 * 4 * 8 * 128, 1_049_600));
            assert!(attention.reads.contains(&delta.writes[0]) && attention.reads.contains(&zeros.writes[0]));
            // The product was free again when the kernel was launched; where no profile says so, it may be read.
            assert_eq!(attention.reads.contains(&product.writes[0]), !known);
        }
        // Zeros into which gradients of the table's rows are added.
        let embedding = of(&kernels, "embedding_dense_backward")[0];
        let zeros = kernels[embedding.index as usize - 1];
        assert!(zeros.op == "fill_" && embedding.reads.contains(&zeros.writes[0]));
        profile["traceEvents"].as_array_mut().expect("events").retain(|event| event["name"] != "[memory]");
    }
}

#[test]
fn what_an_operator_s_calls_compute_counts_once() {
    let import = recorded("cnn-train");
    let kernels = kernels(&import);
    // The gradients of biases are sums of their own, which `convolution_backward` calls.
    let (here, rules) = (flops(&kernels), estimated("cnn-train"));
    assert_eq!(here, flops(&self::kernels(&rules)));
    let backward = of(&kernels, "convolution_backward");
    // The first layer's has one product only, for nothing needs the gradient of the images.
    let with_product: Vec<[u64; 4]> = backward.iter().filter_map(|kernel| kernel.mnk).collect();
    assert_eq!(with_product, [[64, 27, 8 * 47 * 47, 1]]);
    let arithmetic: Vec<u64> = backward.iter().map(|k| k.flops).filter(|flops| *flops > 0).collect();
    assert_eq!(arithmetic.len(), 10, "with the longest kernel of each");
    assert_eq!(arithmetic[9], 2 * 64 * 27 * 8 * 47 * 47);
    // Both gradients of 32 to 128 channels, 3 x 3, on 8 of 11 x 11 pixels.
    assert_eq!(arithmetic[0], 2 * 2 * 32 * 128 * 9 * 8 * 121);
}

#[test]
fn streams_do_not_share_what_they_free() {
    let mut profile = profile("two-streams");
    for known in [true, false] {
        let import = with_profile("two-streams", &profile);
        let kernels = kernels(&import);
        let streams: Vec<u32> = kernels.iter().map(|kernel| kernel.stream).collect();
        assert_eq!(streams, [46, 46, 46, 7, 7, 7, 7, 7, 7]);
        // The product and its ReLU on one, the addition and the softmax on the other: nothing joins them but the sum of both.
        assert!(hazard(kernels[1], kernels[2]) && hazard(kernels[3], kernels[4]), "{known}");
        for side in &kernels[..3] {
            assert!(!kernels[3..5].iter().any(|main| hazard(side, main)), "{known}: {}", side.index);
        }
        assert!(hazard(kernels[2], kernels[5]) && hazard(kernels[4], kernels[5]));
        profile["traceEvents"].as_array_mut().expect("events").retain(|event| event["name"] != "[memory]");
    }
}

/// What the rules get right without the profile, and how often: docs/import.md has the figures.
#[test]
fn rules_give_the_arithmetic_of_what_ran() {
    for name in ["cnn", "text-bf16", "text-compiled", "cnn-train", "two-streams"] {
        assert_eq!(flops(&kernels(&estimated(name))), flops(&kernels(&recorded(name))), "{name}");
    }
    // The attention's backward pass counts a product and a sum for itself there, which are kernels of their own here.
    let difference = flops(&kernels(&recorded("text-train"))) - flops(&kernels(&estimated("text-train")));
    assert_eq!(difference, 3 * 2 * 4 * 128 * 256);
    for name in ["cnn", "text-compiled"] {
        let (estimate, real) = (estimated(name), recorded(name));
        let ran: Vec<&Kernel> = kernels(&real).into_iter().filter(|k| k.kind != KernelType::Copy).collect();
        let (estimate, ran) = (kernels(&estimate), ran);
        assert_eq!(estimate.len(), ran.len(), "{name}");
        assert!(estimate.iter().zip(&ran).all(|(a, b)| a.flops == b.flops), "{name}");
    }
}

#[test]
fn rules_give_the_grids_of_lists_of_tensors() {
    for (name, lists) in [("text-train", 8), ("cnn-train", 3)] {
        let launches = |import: &Imported| -> Vec<([u32; 3], [u32; 3])> {
            let kernels = import.trace.kernels().filter(|kernel| kernel.op.starts_with("_foreach_"));
            kernels.map(|kernel| (kernel.grid, kernel.block)).collect()
        };
        let (estimate, real) = (launches(&estimated(name)), launches(&recorded(name)));
        assert_eq!((estimate.len(), estimate), (lists, real), "{name}");
    }
}

/// Where addresses contradict the lives of memory, the allocator that is emulated places it.
#[test]
fn addresses_that_cannot_be_are_not_taken() {
    let profile = profile("text-train");
    for address in [0, 4096, 0x7f00_0000_0000, u64::MAX] {
        let mut changed = profile.clone();
        let events = changed["traceEvents"].as_array_mut().expect("events");
        for (at, event) in events.iter_mut().filter(|event| event["name"] == "[memory]").enumerate() {
            // Some overlap in part, and all frees are of memory that something else has.
            event["args"]["Addr"] = serde_json::json!(address - (at as u64 % 7) * (address / 4096));
        }
        let import = with_profile("text-train", &changed);
        assert_eq!(check_memory(&import.trace), Ok(()), "{address:#x}");
        assert_eq!(kernels(&import).len(), 161);
    }
}

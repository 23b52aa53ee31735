//! Traces as Accel-Sim's tracer and its post-processing write them: a small program by hand, and the same in every form that a file may have.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use windlass_import::accelsim::{AccelsimErrors, Imported, Options, Problem, Warning, import};
use windlass_import::{FileError, MAX_ERRORS};
use windlass_runtime::ktrace::{Event, Gpu, Kernel, KernelType, Segment};

const A: u64 = 0x7f2a_4000_0000;

fn by_hand() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accelsim-by-hand")
}

fn read(path: &Path) -> Result<Imported, AccelsimErrors> {
    import(path, &Options::default(), &|_, _| {})
}

fn kernels(imported: &Imported) -> Vec<&Kernel> {
    imported.trace.kernels().collect()
}

/// A folder with a list and files.
fn folder(list: &str, files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("kernelslist.g"), list).expect("a list");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect(name);
    }
    folder
}

/// A kernel's header.
fn header(grid: &str, more: &str) -> String {
    format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = {grid}\n-block dim = (32,1,1)\n-shmem = 48\n-nregs = 32\n-binary version = 70\n\
         -cuda stream id = 0\n-accelsim tracer version = 5\n-enable lineinfo = 0\n{more}\n#traces format = PC mask ..\n\n"
    )
}

/// CTAs of one warp each, with these instructions.
fn ctas(all: &[&[&str]]) -> String {
    let mut text = String::new();
    for (number, lines) in all.iter().enumerate() {
        let _ =
            writeln!(text, "#BEGIN_TB\n\nthread block = {number},0,0\n\nwarp = 0\ninsts = {}", lines.len());
        lines.iter().for_each(|line| text.extend([line, " \n"]));
        text.push_str("\n#END_TB\n\n");
    }
    text
}

/// The only kernel of a folder in which it is.
fn one(text: &str) -> Result<Imported, AccelsimErrors> {
    read(folder("kernel-1.traceg\n", &[("kernel-1.traceg", text.as_bytes())]).path())
}

fn segments(pairs: &[(u64, u64)]) -> Vec<Segment> {
    pairs.iter().map(|(addr, bytes)| Segment { addr: *addr, bytes: *bytes }).collect()
}

#[test]
fn a_program_is_what_its_instructions_did() {
    let options = Options { gpu: Some(Gpu { name: "a100".into(), sms: Some(108) }), ..Options::default() };
    let imported = import(&by_hand(), &options, &|_, _| {}).expect("a trace");
    assert_eq!(imported.warnings, []);
    let header = &imported.trace.header;
    assert_eq!((header.name.as_str(), header.kernels), ("accelsim-by-hand", 5));
    assert_eq!(header.span, Some([A, A + 0x800]));
    assert_eq!(header.params["compute_capability"], "8.0");
    let kernels = kernels(&imported);
    let shown: Vec<_> = kernels
        .iter()
        .map(|k| {
            (k.name.as_str(), k.op.as_str(), k.kind, k.stream, k.flops, k.reads.clone(), k.writes.clone())
        })
        .collect();
    // Vectors of 128 floats; `scale` and `square` are on two streams. The last one reads the first and the last vector.
    let part =
        |at: &[u64]| -> Vec<Segment> { at.iter().map(|n| Segment { addr: A + n, bytes: 512 }).collect() };
    let simt = KernelType::Simt;
    assert_eq!(
        shown,
        [
            ("scale", "scale", simt, 0, 128, part(&[0]), part(&[0x200])),
            ("square", "square", simt, 1, 128, part(&[0]), part(&[0x400])),
            ("add", "add", simt, 0, 128, segments(&[(A + 0x200, 1024)]), part(&[0x600])),
            ("cuMemcpyHtoD", "copy", KernelType::Copy, 0, 0, vec![], part(&[0])),
            ("demo::axpy<4>", "axpy", simt, 0, 256, part(&[0, 0x600]), part(&[0x200])),
        ]
    );
    for kernel in kernels.iter().filter(|k| k.kind == simt) {
        assert_eq!(
            (kernel.grid, kernel.block, kernel.regs, kernel.smem),
            ([2, 1, 1], [64, 1, 1], Some(16), 0)
        );
        assert_eq!((kernel.traffic, kernel.dur_ns, kernel.est.len()), (None, None, 0));
    }
    // The host waits for a copy.
    let waits = |event: &Event| matches!(event, Event::Sync { .. });
    assert_eq!(
        imported.trace.runs[0].events.iter().map(waits).collect::<Vec<_>>(),
        [false, false, false, false, true, false]
    );
}

#[test]
fn every_form_of_a_file_says_the_same() {
    let plain = read(&by_hand()).expect("a trace");
    let list = "MemcpyHtoD,0x00007f2a40000000,512\nkernel-1.X\nkernel-2.X\nkernel-3.X\nMemcpyHtoD,0x00007f2a40000000,512\nkernel-4.X\n";
    for ending in ["traceg.xz", "traceg.gz", "traceg.zst", "tracez"] {
        let folder = folder(&list.replace('X', ending), &[]);
        for n in 1..=4 {
            let text = fs::read(by_hand().join(format!("kernel-{n}.traceg"))).expect("a kernel");
            let path = folder.path().join(format!("kernel-{n}.{ending}"));
            match ending {
                "traceg.xz" => {
                    // Several streams behind each other, as several threads of xz write.
                    let mut packed = liblzma::write::XzEncoder::new(File::create(path).expect("a file"), 1);
                    packed.write_all(&text[..400]).expect("room");
                    let mut packed = liblzma::write::XzEncoder::new(packed.finish().expect("room"), 1);
                    packed.write_all(&text[400..]).expect("room");
                    packed.finish().expect("room");
                }
                "traceg.gz" => {
                    let file = File::create(path).expect("a file");
                    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
                    packed.write_all(&text).expect("room");
                    packed.finish().expect("room");
                }
                "traceg.zst" => {
                    fs::write(path, zstd::encode_all(&text[..], 1).expect("room")).expect("a file")
                }
                _ => fs::write(path, tracez(&String::from_utf8(text).expect("text"), n % 2 == 0))
                    .expect("a file"),
            }
        }
        let other = read(folder.path()).expect(ending);
        assert_eq!(other.trace.runs, plain.trace.runs, "{ending}");
    }
}

/// The tracer's container: chunks of two instructions, with a dictionary or without.
fn tracez(text: &str, dictionary: bool) -> Vec<u8> {
    let (header, body) = text.split_once("#BEGIN_TB").expect("a CTA");
    let dictionary: &[u8] =
        if dictionary { b"ffffffff 1 R8 FADD 2 R4 R5 0 0 LDG.E STG.E EXIT 0x7f2a4000" } else { b"" };
    let mut file = header.as_bytes().to_vec();
    file.push(0);
    let number = |file: &mut Vec<u8>, n: usize| file.extend((n as u32).to_le_bytes());
    number(&mut file, dictionary.len());
    number(&mut file, 2);
    file.extend(dictionary);
    let mut packer = zstd::bulk::Compressor::with_dictionary(1, dictionary).expect("a dictionary");
    let mut index = Vec::new();
    let ctas: Vec<&str> = body.split("#BEGIN_TB").collect();
    number(&mut index, ctas.len());
    for cta in ctas {
        let warps: Vec<&str> = cta.split("warp = ").skip(1).collect();
        // Its place in grid and cluster.
        (0..10).for_each(|_| number(&mut index, 0));
        number(&mut index, warps.len());
        for warp in warps {
            let lines: Vec<&str> =
                warp.lines().filter(|line| line.contains(" R") || line.contains("EXIT")).collect();
            let chunks: Vec<&[&str]> = lines.chunks(2).collect();
            number(&mut index, lines.len());
            number(&mut index, chunks.len());
            index.extend((file.len() as u64).to_le_bytes());
            number(&mut file, lines.len());
            number(&mut file, chunks.len());
            for chunk in chunks {
                number(&mut index, chunk.len());
                let packed = packer.compress((chunk.join("\n") + "\n").as_bytes()).expect("room");
                number(&mut file, packed.len());
                file.extend(packed);
            }
        }
    }
    let at = file.len() as u64;
    file.extend(index);
    file.extend(at.to_le_bytes());
    file
}

/// A column of a matrix: ranges beyond what a kernel may have are taken together, and what is between them is not overwritten.
#[test]
fn many_ranges_become_few_that_cover_them() {
    let load = format!("0000 ffffffff 1 R1 LDG.E 1 R2 4 1 {A:#x} 1024 0");
    let store = format!("0010 ffffffff 0 STG.E 2 R2 R1 4 1 {:#x} 1024 0", A + (1 << 20));
    let text = header("(1,1,1)", "") + &ctas(&[&[&load, &store]]);
    let exact = one(&text).expect("a trace");
    assert_eq!(kernels(&exact)[0].reads.len(), 32);
    assert_eq!(kernels(&exact)[0].traffic, None);

    let folder = folder("kernel-1.traceg\n", &[("kernel-1.traceg", text.as_bytes())]);
    let coarse =
        import(folder.path(), &Options { segments: 1, ..Options::default() }, &|_, _| {}).expect("a trace");
    let kernel = kernels(&coarse)[0];
    assert_eq!(kernel.writes, segments(&[(A + (1 << 20), 31 * 1024 + 4)]));
    assert_eq!(kernel.reads, segments(&[(A, (1 << 20) + 31 * 1024 + 4)]));
    assert_eq!((kernel.traffic, kernel.est.join(",").as_str()), (Some(2 * 32 * 4), "r,w"));
    assert!(
        coarse.warnings.contains(&Warning::Coarse { name: "k".into(), kernels: 1, segments: 1 }),
        "{:?}",
        coarse.warnings
    );
}

#[test]
fn doubts_are_told() {
    let lines = [
        "0000 ffffffff 1 R1 TEX.SCR.LL 1 R2 0 0",
        "0010 ffffffff 1 R1 NEWLD.E 1 R2 4 1 0x7f2a40000000 4 0",
        "0018 ffffffff 1 R1 LDG.E 1 R2 4 1 0x0 0 0",
        "0020 ffffffff 0 UTCHMMA 0 0 0",
        "0030 ffffffff 0 HMMA.16816.F32 3 R1 R2 R3 0 0",
    ];
    let mut text = header("(2,1,1)", "") + &ctas(&[&lines]);
    text = text.replace("-nregs = 32", "-nregs = -21955").replace("stream id = 0", "stream id = -1738");
    let folder = folder("kernel-1.traceg\nMemcpyDtoH,0x1,4\n", &[("kernel-1.traceg", text.as_bytes())]);
    let imported = read(folder.path()).expect("a trace");
    let kernel = kernels(&imported)[0];
    assert_eq!((kernel.kind, kernel.flops, kernel.regs), (KernelType::Tensor, 4096, None));
    assert_eq!(kernel.est, ["r", "w", "flops"]);
    let name = || "k".to_owned();
    let counts = |what: &str| vec![(what.to_owned(), 1)];
    assert_eq!(
        imported.warnings,
        [
            Warning::NoGpu { capability: Some(70) },
            Warning::MissingCtas { name: name(), kernels: 1 },
            Warning::Registers { name: name(), kernels: 1 },
            Warning::UnknownInstructions(counts("NEWLD.E")),
            Warning::NoAddresses(counts("LDG.E")),
            Warning::Textures(counts("TEX.SCR.LL")),
            Warning::UnsizedProducts(counts("UTCHMMA")),
            Warning::UnknownCommands(counts("MemcpyDtoH")),
        ]
    );
}

#[test]
fn the_list_is_found_where_it_is() {
    let base = tempfile::tempdir().expect("a folder");
    let folder = base.path().join("backprop/traces");
    fs::create_dir_all(&folder).expect("a folder");
    let kernel = header("(1,1,1)", "") + &ctas(&[&["0000 ffffffff 0 EXIT 0 0 0"]]);
    fs::write(folder.join("kernel-1-ctx_0x1.traceg"), kernel).expect("a kernel");
    let errors = read(&folder).expect_err("no list");
    assert!(errors.to_string().contains("no kernelslist.g in the folder"), "{errors}");
    fs::write(folder.join("kernelslist_ctx_0x1"), "kernel-1-ctx_0x1.trace\n").expect("a list");
    let errors = read(&folder).expect_err("the first output");
    assert!(errors.to_string().contains("only kernelslist_ctx_0x1; post-traces-processing"), "{errors}");
    let list = folder.join("kernelslist_ctx_0x1.g");
    fs::write(&list, "kernel-1-ctx_0x1.traceg\n").expect("a list");
    for path in [&folder, &list] {
        assert_eq!(read(path).expect("a trace").trace.header.name, "backprop");
    }
    fs::write(folder.join("kernelslist_ctx_0x2.g"), "").expect("a list");
    let errors = read(&folder).expect_err("which?");
    assert!(errors.to_string().contains("several lists: kernelslist_ctx_0x1, "), "{errors}");
    assert_eq!(read(&folder.join("kernelslist_ctx_0x2.g")).expect("nothing").trace.header.kernels, 0);
}

/// The first problem of the only kernel, and its line.
fn problem(text: &str) -> (usize, Problem) {
    let error = one(text).expect_err(text).0.remove(0);
    assert!(error.file.ends_with("kernel-1.traceg"), "{}", error.file);
    (error.line, error.problem)
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let exit: &[&str] = &["0000 ffffffff 0 EXIT 0 0 0"];
    let good = header("(1,1,1)", "") + &ctas(&[exit]);
    let lines = good.lines().count();
    assert!(one(&good).is_ok());

    assert!(matches!(problem(""), (0, Problem::NoCta)));
    assert!(matches!(problem(&header("(1,1,1)", "")), (0, Problem::NoCta)));
    assert!(matches!(problem(&good.replace("#END_TB", "")), (0, Problem::Cut)));
    assert!(
        matches!(problem(&good.replace("insts = 1", "insts = 3")), (n, Problem::MissingInstructions { missing: 2 }) if n + 1 == lines)
    );
    assert!(matches!(
        problem(&good.replace("-grid dim", "-grim dim")),
        (_, Problem::NoField { field: "grid dim" })
    ));
    for (old, new) in [
        ("(1,1,1)", "(1,0,1)"),
        ("(1,1,1)", "(1,1)"),
        ("(1,1,1)", "(4294967295,4294967295,4294967295)"),
        ("-shmem = 48", "-shmem = -1"),
        ("lineinfo = 0", "lineinfo = 2"),
        ("-nregs = 32", "-nregs"),
        ("insts = 1", "insts = one"),
        ("0000 ffffffff", "wxyz ffffffff"),
        ("#END_TB", "#BEGIN_TB"),
        ("warp = 0", "wrap = 0"),
    ] {
        let (line, problem) = problem(&good.replace(old, new));
        assert!(matches!(problem, Problem::Line { .. }) && line > 0, "{new}: {problem}");
    }
    let past = format!("0000 ffffffff 1 R1 LDG.E 1 R2 4 1 {:#x} 4 0", 1_u64 << 60);
    assert!(matches!(
        problem(&(header("(1,1,1)", "") + &ctas(&[&[&past]]))),
        (0, Problem::PastAddressLimit { .. })
    ));
    let raw = header("(1,1,1)", "") + &"0 0 0 0 0000 ffffffff 0 EXIT 0 0 0\n".repeat(3);
    assert_eq!(one(&raw).expect_err("raw").0.len(), 1, "it is said once");
    assert!(matches!(problem(&raw), (_, Problem::NotGrouped)));
    let long = header("(1,1,1)", "") + &"x".repeat(2 << 20);
    assert!(matches!(problem(&long), (_, Problem::LongLine { .. })));

    // As many as there is room for.
    let many = header("(1,1,1)", "") + &ctas(&[&["0000"; 100]]);
    assert_eq!(one(&many).expect_err("wrong").0.len(), MAX_ERRORS);
}

#[test]
fn files_that_are_damaged_are_named() {
    let list = "kernel-1.traceg.xz\nkernel-2.traceg\nMemcpyHtoD,here,4\n";
    let errors = read(folder(list, &[]).path()).expect_err("a wrong list");
    assert!(errors.to_string().contains("kernelslist.g:3: found `MemcpyHtoD,here,4`"), "{errors}");
    let errors = read(folder("MemcpyHtoD,0xffffffffffffffff,4\n", &[]).path()).expect_err("far away");
    assert!(matches!(errors.0[0].problem, Problem::PastAddressLimit { .. }), "{errors}");
    let list = "kernel-1.traceg.xz\nkernel-2.traceg\nkernel-3.tracez\n";
    let good = header("(1,1,1)", "") + &ctas(&[&["0000 ffffffff 0 EXIT 0 0 0"]]);
    let mut packed = liblzma::write::XzEncoder::new(Vec::new(), 6);
    packed.write_all(good.as_bytes()).expect("room");
    let packed = packed.finish().expect("room");
    let container = tracez(&good, false);
    let cut = &packed[..packed.len() - 20];
    let errors = read(folder(list, &[("kernel-1.traceg.xz", cut), ("kernel-3.tracez", &container)]).path());
    let errors = errors.expect_err("two are wrong").0;
    assert_eq!(errors.len(), 2);
    assert!(matches!(errors[0].problem, Problem::File(FileError::Xz(_))), "{}", errors[0]);
    assert!(matches!(errors[1].problem, Problem::File(FileError::Io(_))), "{}", errors[1]);

    // The container, cut anywhere: an error, and nothing else.
    for end in 0..container.len() {
        let errors = read(folder("kernel-1.tracez\n", &[("kernel-1.tracez", &container[..end])]).path());
        assert!(errors.is_err(), "{end}");
    }
}

//! The importers: no panic, errors that name their file, and what is imported is a ktrace that can be written and read back.
//!
//! The input is files, each behind a line `--- NAME`: a dump directory of XLA, or where the first is `et.json`, an execution trace and,
//! second, a profile, and from there on, sources of kernels; where it is `kernelslist.g`, traces of Accel-Sim. What does not begin like that is an ONNX model.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;
use windlass_import::{accelsim, onnx, pytorch, xla};
use windlass_runtime::ktrace::{Compression, Reader, Trace, Writer};

static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a directory"));

/// Kernels of a trace that is written and read back.
const SMALL: usize = 4096;

fn check(trace: &Trace) {
    if trace.kernels().count() > SMALL {
        return;
    }
    let mut writer =
        Writer::new(Vec::new(), "t", &trace.header, Compression::Plain).expect("an imported header");
    writer.trace(trace).expect("an imported trace");
    let bytes = writer.finish().expect("memory takes it");
    let again = Trace::read(Reader::new(&bytes[..], "t").expect("its header")).expect("what was written");
    assert_eq!(again.runs, trace.runs);
}

/// In a directory, what may have files' names.
fn in_files(files: &[(&str, &str)], directory: &Path, import: impl FnOnce()) {
    let paths =
        files.iter().filter(|(name, _)| !name.is_empty() && !name.contains(['/', '\0']) && name.len() < 200);
    let paths: Vec<_> = paths.map(|(name, text)| (directory.join(name), text)).collect();
    for (path, text) in &paths {
        // Names such as `..` are no files.
        let _ = std::fs::write(path, text);
    }
    import();
    for (path, _) in &paths {
        let _ = std::fs::remove_file(path);
    }
}

fn from_xla(directory: &Path) {
    match xla::import(directory, &xla::Options { trip_count: Some(2), ..Default::default() }) {
        Ok(imported) => check(&imported.trace),
        Err(errors) => assert!(errors.to_string().contains(&*directory.to_string_lossy()), "{errors}"),
    }
}

/// With as many segments as there are ranges, and with one, which covers them.
fn from_accelsim(directory: &Path) {
    for segments in [usize::MAX, 1] {
        let options = accelsim::Options { segments, ..Default::default() };
        match accelsim::import(directory, &options, &|_, _| {}) {
            Ok(imported) => check(&imported.trace),
            Err(errors) => assert!(errors.to_string().contains(&*directory.to_string_lossy()), "{errors}"),
        }
    }
}

/// As given, and then with all sizes that it asks for.
fn from_onnx(bytes: &[u8]) {
    let mut options = onnx::Options::default();
    for _ in 0..2 {
        match onnx::import_bytes("model", bytes.to_vec(), &options) {
            Ok(imported) => check(&imported.trace),
            Err(errors) => {
                assert!(errors.to_string().starts_with("model: "), "{errors}");
                for error in errors.0 {
                    if let onnx::Problem::NoSize { name, .. } = error.problem {
                        options.dims.insert(name, 3);
                    }
                }
            }
        }
        options = onnx::Options { in_place: true, reuse: false, tf32: true, ..options };
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix("--- "));
    let Some(text) = text else { return from_onnx(bytes) };
    let files: Vec<(&str, &str)> =
        text.split("\n--- ").map(|file| file.split_once('\n').unwrap_or((file, ""))).collect();
    match files[..] {
        [("et.json", trace), ref rest @ ..] => {
            let profile = rest.first().map(|(_, profile)| ("profile", profile.as_bytes()));
            let mut triton = pytorch::TritonSources::default();
            rest.iter().skip(1).for_each(|(name, source)| _ = triton.add(name, source));
            for options in [
                pytorch::Options { triton, ..Default::default() },
                pytorch::Options { reuse: false, tf32: true, ..Default::default() },
            ] {
                match pytorch::import_text("trace", trace.as_bytes(), profile, &options) {
                    Ok(imported) => check(&imported.trace),
                    Err(errors) => {
                        let text = errors.to_string();
                        assert!(text.starts_with("trace") || text.starts_with("profile"), "{text}");
                    }
                }
            }
        }
        [("kernelslist.g", _), ..] => in_files(&files, DIRECTORY.path(), || from_accelsim(DIRECTORY.path())),
        _ => in_files(&files, DIRECTORY.path(), || from_xla(DIRECTORY.path())),
    }
});

//! The importers: no panic, errors that name their file, and what is imported is a ktrace that can be written and read back.
//!
//! The input is files, each behind a line `--- NAME`: a dump directory of XLA, or where the first is `et.json`, an execution trace and,
//! second, a profile.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;
use windlass_import::{pytorch, xla};
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

fn from_xla(files: &[(&str, &str)], directory: &Path) {
    let paths =
        files.iter().filter(|(name, _)| !name.is_empty() && !name.contains(['/', '\0']) && name.len() < 200);
    let paths: Vec<_> = paths.map(|(name, text)| (directory.join(name), text)).collect();
    for (path, text) in &paths {
        // Names such as `..` are no files.
        let _ = std::fs::write(path, text);
    }
    match xla::import(directory, &xla::Options { trip_count: Some(2), ..Default::default() }) {
        Ok(imported) => check(&imported.trace),
        Err(errors) => assert!(errors.to_string().contains(&*directory.to_string_lossy()), "{errors}"),
    }
    for (path, _) in &paths {
        let _ = std::fs::remove_file(path);
    }
}

fuzz_target!(|text: &str| {
    let Some(text) = text.strip_prefix("--- ") else { return };
    let files: Vec<(&str, &str)> =
        text.split("\n--- ").map(|file| file.split_once('\n').unwrap_or((file, ""))).collect();
    match files[..] {
        [("et.json", trace), ref rest @ ..] => {
            let profile = rest.first().map(|(_, profile)| ("profile", profile.as_bytes()));
            for options in [
                pytorch::Options::default(),
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
        _ => from_xla(&files, DIRECTORY.path()),
    }
});

//! What a file that is no trace looks like, by its first line.

/// Whether the line has this key, with a value behind it.
fn has_key(line: &[u8], key: &str) -> bool {
    let key = format!("\"{key}\"");
    let mut keys = line.windows(key.len()).enumerate().filter(|(_, text)| *text == key.as_bytes());
    keys.any(|(at, _)| line[at + key.len()..].trim_ascii_start().first() == Some(&b':'))
}

/// What the file is instead of a trace, where its first line tells; nothing where it may be a trace with an error.
pub(super) fn looks_like(first_line: &[u8]) -> Option<&'static str> {
    let text = first_line.trim_ascii_start();
    match text {
        [0x1f, 0x8b, ..] => Some("compressed with gzip"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text"),
        [b'{' | b'[', ..] if has_key(text, "e") || has_key(text, "ktrace") => None,
        [b'{' | b'[', ..] => Some(
            "a JSON document that is not one object with an `e` per line, as profilers write it (Kineto, Chrome)",
        ),
        _ if ["HloModule", "module @", "module {", "module attributes"]
            .iter()
            .any(|w| text.starts_with(w.as_bytes())) =>
        {
            Some("the text of an HLO or MLIR module, as XLA dumps it")
        }
        _ if text.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace()) => Some(
            "binary, like a protobuf (ONNX, which `windlass import onnx` reads, a dump of XLA or an xplane)",
        ),
        _ => None,
    }
}

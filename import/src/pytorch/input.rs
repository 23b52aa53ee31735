//! Files into bytes, and JSON that is read one element at a time: memory is bounded by the file, not by a tree of it.

use super::error::{Problem, PytorchError, PytorchErrors};
use crate::{MAX_ERRORS, file};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::path::Path;

/// Bytes of a file, unpacked.
pub(super) const MAX_FILE_BYTES: u64 = 2 << 30;

pub(super) fn read(path: &Path) -> Result<Vec<u8>, PytorchError> {
    file::read(path, MAX_FILE_BYTES).map_err(|error| PytorchError {
        file: file::name(path),
        node: None,
        field: None,
        problem: error.into(),
    })
}

/// Takes a document apart: the elements of one array of the outermost object, and its other fields.
pub(super) trait Document {
    /// The array's key.
    const ARRAY: &'static str;

    /// Another field of the outermost object.
    fn field(&mut self, key: &str, value: Value);

    /// Whether to read this field; what is large and not needed is skipped without being built.
    fn wants(&self, key: &str) -> bool;

    /// An element of the array; `Err` where it is faulty, with its number.
    fn element(&mut self, at: u64, value: Value) -> Result<(), (Option<u64>, Fault)>;
}

/// A field and what is wrong with it.
pub(super) type Fault = (Option<String>, Problem);

struct Walk<'a, D> {
    document: &'a mut D,
    file: &'a str,
    errors: Vec<PytorchError>,
    found: bool,
    other_keys: Vec<String>,
}

impl<'de, D: Document> Visitor<'de> for &mut Walk<'_, D> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == D::ARRAY {
                self.found = true;
                map.next_value_seed(Elements(self))?;
            } else if self.document.wants(&key) {
                let value = map.next_value()?;
                self.document.field(&key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
                self.other_keys.push(key);
            }
        }
        Ok(())
    }
}

struct Elements<'a, 'b, D>(&'a mut Walk<'b, D>);

impl<'de, D: Document> DeserializeSeed<'de> for Elements<'_, '_, D> {
    type Value = ();

    fn deserialize<T: serde::Deserializer<'de>>(self, deserializer: T) -> Result<(), T::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, D: Document> Visitor<'de> for Elements<'_, '_, D> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an array in `{}`", D::ARRAY)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let Walk { document, file, errors, .. } = self.0;
        let mut at = 0;
        while let Some(value) = sequence.next_element::<Value>()? {
            if let Err((node, (field, problem))) = document.element(at, value) {
                errors.push(PytorchError { file: (*file).to_owned(), node, field, problem });
                if errors.len() >= MAX_ERRORS {
                    return Err(serde::de::Error::custom("too many errors"));
                }
            }
            at += 1;
        }
        Ok(())
    }
}

/// Reads a document; `how` says how such a file is recorded.
pub(super) fn walk<D: Document>(
    file: &str,
    text: &[u8],
    document: &mut D,
    how: &'static str,
) -> Result<(), PytorchErrors> {
    // Editors and PowerShell put a byte order mark there.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut walk = Walk { document, file, errors: Vec::new(), found: false, other_keys: Vec::new() };
    let mut parser = serde_json::Deserializer::from_slice(text);
    let read = serde::Deserializer::deserialize_map(&mut parser, &mut walk).and_then(|()| parser.end());
    let Walk { mut errors, found, other_keys, .. } = walk;
    let mut whole =
        |problem| errors.push(PytorchError { file: file.to_owned(), node: None, field: None, problem });
    match read {
        // A list of the document's own elements, cut off where it was full.
        Err(error) if error.is_data() && error.to_string().starts_with("too many errors") => {}
        Err(error) if error.is_eof() => whole(Problem::Truncated(error.to_string(), how)),
        Err(error) => whole(Problem::NotJson(error.to_string(), how)),
        Ok(()) if !found && D::ARRAY == "nodes" && other_keys.iter().any(|key| key == "traceEvents") => {
            whole(Problem::ProfileNotTrace);
        }
        Ok(()) if !found && D::ARRAY == "nodes" => whole(Problem::NotATrace),
        Ok(()) if !found => whole(Problem::NotAProfile),
        Ok(()) => {}
    }
    if errors.is_empty() { Ok(()) } else { Err(PytorchErrors(errors)) }
}

/// A value as an error shows it: its beginning.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

pub(super) fn wrong(field: &str, expected: &'static str, found: &Value) -> Fault {
    let problem = match found {
        Value::Null => Problem::Missing { expected },
        _ => Problem::WrongType { expected, found: shown(found) },
    };
    (Some(field.to_owned()), problem)
}

pub(super) fn number(field: &str, value: &Value) -> Result<u64, Fault> {
    value.as_u64().ok_or_else(|| wrong(field, "a whole number", value))
}

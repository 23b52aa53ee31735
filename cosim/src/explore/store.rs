//! Finished pieces of work on disk: one JSON file each, named by the hash of all that the result depends on.

use super::ExploreError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use windlass_files::new_file;
use windlass_gen::cache::hex;

/// Part of every key: goes up when a stored result comes to mean something else.
const FORMAT: u32 = 2;

/// The folder of finished pieces.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// SHA-256 of the running program: whatever changed in the device model, the blocks or the flow is in it.
    program: String,
}

/// What a file holds: the inputs, for people and to be sure, and the result.
#[derive(Serialize, Deserialize)]
struct Entry<T> {
    inputs: Value,
    result: T,
}

impl Store {
    /// Makes the folder.
    pub fn new(root: PathBuf) -> Result<Self, ExploreError> {
        fs::create_dir_all(&root).map_err(|source| ExploreError::Io { path: root.clone(), source })?;
        let program = std::env::current_exe()
            .and_then(fs::read)
            .map_err(|source| ExploreError::Io { path: "the running program".into(), source })?;
        Ok(Self { root, program: hex(&Sha256::digest(&program)) })
    }

    /// `inputs` with what every result depends on.
    pub fn inputs(&self, kind: &str, mut inputs: Value) -> Value {
        inputs["kind"] = kind.into();
        inputs["format"] = FORMAT.into();
        inputs["program"] = self.program.as_str().into();
        inputs
    }

    fn path(&self, inputs: &Value) -> PathBuf {
        // serde_json's maps are sorted, so that the same inputs are the same text.
        let hash = hex(&Sha256::digest(inputs.to_string().as_bytes()));
        self.root.join(format!("{}-{}.json", inputs["kind"].as_str().unwrap_or("piece"), &hash[..32]))
    }

    /// The result for these inputs, if it is there and whole; what is damaged is made again.
    pub fn load<T: DeserializeOwned>(&self, inputs: &Value) -> Option<T> {
        let entry: Entry<T> = serde_json::from_slice(&fs::read(self.path(inputs)).ok()?).ok()?;
        (entry.inputs == *inputs).then_some(entry.result)
    }

    /// Keeps a result. Written aside and renamed: the file is whole or not there.
    pub fn save<T: Serialize>(&self, inputs: &Value, result: &T) -> Result<(), ExploreError> {
        let path = self.path(inputs);
        let write = || {
            let mut text = serde_json::to_vec_pretty(&Entry { inputs: inputs.clone(), result })?;
            text.push(b'\n');
            new_file::save(&path, text)
        };
        write().map_err(|source| ExploreError::Io { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_comes_back_unless_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("points")).unwrap();
        let inputs = store.inputs("run", json!({"slots": 8}));
        assert_eq!(store.load::<u32>(&inputs), None);
        store.save(&inputs, &7u32).unwrap();
        assert_eq!(store.load::<u32>(&inputs), Some(7));
        assert_eq!(store.load::<u32>(&store.inputs("run", json!({"slots": 16}))), None);
        let other_build = Store { root: store.root.clone(), program: "another".into() };
        assert_eq!(other_build.load::<u32>(&other_build.inputs("run", json!({"slots": 8}))), None);
        let path = store.path(&inputs);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(store.load::<u32>(&inputs), None);
        // Another piece's file under this name is not believed.
        fs::write(&path, text.replace("8", "9")).unwrap();
        assert_eq!(store.load::<u32>(&inputs), None);
        assert_eq!(fs::read_dir(directory.path().join("points")).unwrap().count(), 1, "nothing is left over");
    }
}

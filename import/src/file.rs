//! Files that are read whole, within a limit, plain or compressed.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// Why a file was not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("{0}; check that the path exists and can be read")]
    Io(io::Error),
    /// A file past the limit, which bounds the reader's memory.
    #[error("it is larger than {limit} bytes, unpacked; record or dump a smaller program, or fewer steps")]
    TooLarge {
        /// Bytes that are read at most.
        limit: u64,
    },
    /// A zstd stream that does not decode, or ends early.
    #[error("the zstd stream is damaged or cut short ({0}); compress or copy it again")]
    Zstd(io::Error),
    /// The same of gzip.
    #[error("the gzip stream is damaged or cut short ({0}); compress or copy it again")]
    Gzip(io::Error),
    /// The same of xz.
    #[error("the xz stream is damaged or cut short ({0}); compress or copy it again")]
    Xz(io::Error),
}

/// What stands for stdin.
const STANDARD: &str = "-";

/// What errors call a file.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new(STANDARD) { "stdin".to_owned() } else { path.display().to_string() }
}

/// The bytes of a file, or of stdin, unpacked where they begin as those of zstd or gzip do.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let bytes = match path == Path::new(STANDARD) {
        true => read_up_to(io::stdin().lock(), limit),
        false => File::open(path).and_then(|file| read_up_to(file, limit)),
    };
    let bytes = bytes.map_err(FileError::Io)?;
    let bytes = bytes.ok_or(FileError::TooLarge { limit })?;
    let unpacked = match bytes[..] {
        [0x1f, 0x8b, ..] => read_up_to(MultiGzDecoder::new(&bytes[..]), limit).map_err(FileError::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let unpacked = zstd::Decoder::new(&bytes[..]).and_then(|unpacked| read_up_to(unpacked, limit));
            unpacked.map_err(FileError::Zstd)
        }
        _ => return Ok(bytes),
    };
    unpacked?.ok_or(FileError::TooLarge { limit })
}

fn read_up_to(input: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

//! `.tracez`: a kernel's lines in chunks that zstd has compressed, each warp's by themselves.
//!
//! The file is the header's text and a zero byte; the size of a dictionary and a number that is of no interest here, both of 32 bits; the
//! dictionary; the warps' chunks; an index of CTAs and their warps; and in the last 8 bytes where the index begins. Numbers are
//! little-endian. (Accel-Sim, `tracez_format.h`.)

use super::error::Problem;
use super::kernel::Lines;
use crate::FileError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Bytes of a header, and of a chunk, packed or not.
const MAX_TEXT: usize = 1 << 28;

/// Numbers of 32 bits that the index has of a CTA before its number of warps: three triples and a rank.
const CTA_NUMBERS: i64 = 10;

struct Input(BufReader<File>);

impl Input {
    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.0.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn long(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// So many bytes; of a size that is a lie, what is there and then an error.
    fn bytes(&mut self, count: u32) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.0.by_ref().take(count.into()).read_to_end(&mut bytes)? == count as usize {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Where the warps of the next CTA are.
    fn cta(&mut self) -> io::Result<Vec<u64>> {
        self.0.seek_relative(4 * CTA_NUMBERS)?;
        let warps = self.number()?;
        let mut places = Vec::new();
        for _ in 0..warps {
            self.number()?;
            let chunks = self.number()?;
            places.push(self.long()?);
            self.0.seek_relative(4 * i64::from(chunks))?;
        }
        Ok(places)
    }
}

pub(super) fn read(file: File, lines: &mut Lines<'_>) -> Result<(), Problem> {
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => Problem::Cut,
        _ => Problem::File(FileError::Zstd(error)),
    };
    chunks(Input(BufReader::new(file)), lines).map_err(damaged)?
}

/// The inner error is of what the chunks hold, the outer one of the file.
fn chunks(mut input: Input, lines: &mut Lines<'_>) -> io::Result<Result<(), Problem>> {
    let mut header = Vec::new();
    input.0.by_ref().take(MAX_TEXT as u64).read_until(0, &mut header)?;
    let Some(Ok(header)) = header.strip_suffix(&[0]).map(std::str::from_utf8) else {
        return Ok(Err(Problem::NotText));
    };
    if !header.lines().all(|line| lines.add(line)) {
        return Ok(Ok(()));
    }
    let (dictionary, _) = (input.number()?, input.number()?);
    let dictionary = input.bytes(dictionary)?;
    let mut decoder = zstd::bulk::Decompressor::with_dictionary(&dictionary)?;
    input.0.seek(SeekFrom::End(-8))?;
    let index = input.long()?;
    input.0.seek(SeekFrom::Start(index))?;
    let mut index = index + 4;
    for _ in 0..input.number()? {
        input.0.seek(SeekFrom::Start(index))?;
        let warps = input.cta()?;
        index = input.0.stream_position()?;
        lines.cta();
        for place in warps {
            input.0.seek(SeekFrom::Start(place))?;
            let (instructions, chunks) = (input.number()?, input.number()?);
            lines.warp(instructions.into());
            for _ in 0..chunks {
                let size = input.number()?;
                let packed = input.bytes(size)?;
                let unpacked = zstd::zstd_safe::get_frame_content_size(&packed).ok().flatten();
                let unpacked =
                    unpacked.filter(|size| *size <= MAX_TEXT as u64).ok_or(io::ErrorKind::InvalidData)?;
                let text = decoder.decompress(&packed, unpacked as usize)?;
                let Ok(text) = std::str::from_utf8(&text) else { return Ok(Err(Problem::NotText)) };
                if !text.lines().all(|line| lines.add(line)) {
                    return Ok(Ok(()));
                }
            }
            lines.end();
        }
        lines.end();
    }
    Ok(Ok(()))
}

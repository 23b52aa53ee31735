//! Writes a trace line by line, and nothing that the reader would not take.

use super::read::{Fault, Live, check_kernel, check_segment};
use super::{
    Event, Header, Kernel, KernelType, KtraceError, MAX_LINE_BYTES, Problem, Segment, Trace, VERSION,
};
use serde::Serialize;
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use windlass_files::new_file::NewFile;

/// How a trace is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Text.
    #[default]
    Plain,
    /// zstd at its default level, with a checksum.
    Zstd,
}

enum Output<W: Write> {
    Plain(W),
    Zstd(zstd::Encoder<'static, W>),
}

/// A streaming writer. [`Writer::finish`] must end it: a zstd stream is truncated without.
///
/// Each line has its fields in the order of the format's table; an optional field that says nothing is left out.
pub struct Writer<W: Write> {
    output: Output<W>,
    file: String,
    line: u64,
    next_index: u64,
    live: Live,
    text: Vec<u8>,
}

/// Lines as they are written; the names are the format's.
#[derive(Serialize)]
#[serde(tag = "e", rename_all = "lowercase")]
enum Line<'a> {
    Trace {
        ktrace: u64,
        #[serde(flatten)]
        header: &'a Header,
    },
    Run {
        run: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<&'a Value>,
    },
    K {
        i: u64,
        name: &'a str,
        op: &'a str,
        #[serde(rename = "type")]
        kind: KernelType,
        grid: [u32; 3],
        block: [u32; 3],
        smem: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        regs: Option<u32>,
        flops: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        mnk: Option<&'a [u64; 4]>,
        r: Vec<[u64; 2]>,
        w: Vec<[u64; 2]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dur_ns: Option<u64>,
        #[serde(skip_serializing_if = "is_zero")]
        stream: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        part: Option<u8>,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        est: &'a [String],
    },
    Alloc {
        a: u64,
        n: u64,
    },
    Free {
        a: u64,
        n: u64,
    },
    Sync {
        why: &'a str,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(stream: &u32) -> bool {
    *stream == 0
}

/// The output took no more: no line is to blame.
fn refused(file: String, error: io::Error) -> KtraceError {
    KtraceError { file, line: 0, field: None, problem: Problem::Io(error) }
}

fn pairs(segments: &[Segment]) -> Vec<[u64; 2]> {
    segments.iter().map(|s| [s.addr, s.bytes]).collect()
}

impl<'a> From<&'a Kernel> for Line<'a> {
    fn from(kernel: &'a Kernel) -> Self {
        Self::K {
            i: kernel.index,
            name: &kernel.name,
            op: &kernel.op,
            kind: kernel.kind,
            grid: kernel.grid,
            block: kernel.block,
            smem: kernel.smem,
            regs: kernel.regs,
            flops: kernel.flops,
            mnk: kernel.mnk.as_ref(),
            r: pairs(&kernel.reads),
            w: pairs(&kernel.writes),
            bytes: kernel.traffic,
            dur_ns: kernel.dur_ns,
            stream: kernel.stream,
            part: kernel.part,
            est: &kernel.est,
        }
    }
}

impl Writer<BufWriter<NewFile>> {
    /// Begins the file `path`, in folders that are made where they are not there, and writes the header. [`Writer::keep`] must end it: until then, what was there before is still there.
    ///
    /// # Errors
    /// As [`Writer::new`].
    pub fn create(
        path: impl AsRef<Path>,
        header: &Header,
        compression: Compression,
    ) -> Result<Self, KtraceError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match NewFile::create(path) {
            Ok(file) => Self::new(BufWriter::new(file), name, header, compression),
            Err(e) => Err(refused(name, e)),
        }
    }

    /// Ends the stream, and puts the file under its name.
    ///
    /// # Errors
    /// Where the file cannot be written; what was there before still is.
    pub fn keep(self) -> Result<(), KtraceError> {
        let file = self.file.clone();
        let output = self.finish()?;
        let kept = output.into_inner().map_err(io::IntoInnerError::into_error).and_then(NewFile::keep);
        kept.map_err(|e| refused(file, e))
    }
}

impl Trace {
    /// Writes it to a file, in place of what is there, and makes the folders that it is in; compressed where the name ends in `.zst`.
    ///
    /// # Errors
    /// As [`Writer::event`]; what was there before still is.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), KtraceError> {
        let zstd = path.as_ref().extension().is_some_and(|ending| ending == "zst");
        let compression = if zstd { Compression::Zstd } else { Compression::Plain };
        let mut writer = Writer::create(path, &self.header, compression)?;
        writer.trace(self)?;
        writer.keep()
    }
}

impl<W: Write> Writer<W> {
    /// Writes a trace to anything, beginning with the header; `name` stands for the file in errors.
    ///
    /// # Errors
    /// Where the output refuses, or the header is one that no reader would take.
    pub fn new(
        output: W,
        name: impl Into<String>,
        header: &Header,
        compression: Compression,
    ) -> Result<Self, KtraceError> {
        let file = name.into();
        let io_error = |e| refused(file.clone(), e);
        let output = match compression {
            Compression::Plain => Output::Plain(output),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(output, 0).map_err(io_error)?;
                encoder.include_checksum(true).map_err(io_error)?;
                Output::Zstd(encoder)
            }
        };
        let mut writer =
            Self { output, file, line: 0, next_index: 0, live: Live::default(), text: Vec::new() };
        if header.gpu.sms == Some(0) {
            let problem = Problem::OutOfRange { value: 0, min: 1, max: u64::from(u32::MAX) };
            return Err(writer.located((Some("gpu.sms".to_owned()), problem)));
        }
        if !header.params.is_object() {
            let problem = Problem::WrongType { expected: "an object", found: header.params.to_string() };
            return Err(writer.located((Some("params".to_owned()), problem)));
        }
        writer.check_depth("params", &header.params)?;
        writer.line(&Line::Trace { ktrace: VERSION, header })?;
        Ok(writer)
    }

    /// Begins a run. `input` says what it was given; null counts as nothing.
    ///
    /// # Errors
    /// Where the output refuses.
    pub fn run(&mut self, run: u64, input: Option<&Value>) -> Result<(), KtraceError> {
        input.map_or(Ok(()), |input| self.check_depth("input", input))?;
        self.next_index = 0;
        self.live.run();
        self.line(&Line::Run { run, input: input.filter(|v| !v.is_null()) })
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Where the output refuses, or the event is one that no reader would take: then nothing is written.
    pub fn event(&mut self, event: &Event) -> Result<(), KtraceError> {
        let line = match event {
            Event::Run { run } => return self.run(*run, None),
            Event::Kernel(kernel) => {
                check_kernel(kernel, self.next_index).map_err(|fault| self.located(fault))?;
                Line::from(kernel)
            }
            Event::Alloc(Segment { addr, bytes }) => Line::Alloc { a: *addr, n: *bytes },
            Event::Free(Segment { addr, bytes }) => Line::Free { a: *addr, n: *bytes },
            Event::Sync { why } => Line::Sync { why },
        };
        if let Event::Alloc(segment) | Event::Free(segment) = event {
            check_segment(*segment, || "a".to_owned()).map_err(|fault| self.located(fault))?;
        }
        match event {
            Event::Alloc(segment) => {
                self.live.alloc(*segment, self.line + 1).map_err(|fault| self.located(fault))?
            }
            Event::Free(Segment { addr, bytes }) => {
                self.live.free(*addr, Some(*bytes)).map(drop).map_err(|fault| self.located(fault))?
            }
            _ => {}
        }
        self.line(&line)?;
        self.next_index += u64::from(matches!(event, Event::Kernel(_)));
        Ok(())
    }

    /// Writes the runs of a trace, each with its `run` line.
    ///
    /// # Errors
    /// As [`Writer::event`].
    pub fn trace(&mut self, trace: &Trace) -> Result<(), KtraceError> {
        for run in &trace.runs {
            self.run(run.number, run.input.as_ref())?;
            run.events.iter().try_for_each(|event| self.event(event))?;
        }
        Ok(())
    }

    /// Ends the stream and hands the output back, flushed.
    ///
    /// # Errors
    /// Where the output refuses.
    pub fn finish(self) -> Result<W, KtraceError> {
        let finished = match self.output {
            Output::Plain(w) => Ok(w),
            Output::Zstd(encoder) => encoder.finish(),
        };
        finished.and_then(|mut w| w.flush().map(|()| w)).map_err(|e| refused(self.file, e))
    }

    /// That the reader takes a value as deep as this one, which is of the application's making.
    fn check_depth(&self, field: &str, value: &Value) -> Result<(), KtraceError> {
        // The line around it is one level; the parser knows how many it takes.
        let line = Value::from_iter([(field, value.clone())]).to_string();
        serde_json::from_str::<Value>(&line)
            .map(|_| ())
            .map_err(|e| self.located((Some(field.to_owned()), Problem::NotJson { detail: e.to_string() })))
    }

    fn located(&self, (field, problem): Fault) -> KtraceError {
        KtraceError { file: self.file.clone(), line: self.line + 1, field, problem }
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), KtraceError> {
        self.text.clear();
        if let Err(e) = serde_json::to_writer(&mut self.text, line) {
            return Err(self.located((None, Problem::Io(io::Error::other(e)))));
        }
        if self.text.len() as u64 > MAX_LINE_BYTES {
            return Err(self.located((None, Problem::LineTooLong)));
        }
        self.text.push(b'\n');
        let written = match &mut self.output {
            Output::Plain(w) => w.write_all(&self.text),
            Output::Zstd(w) => w.write_all(&self.text),
        };
        written.map_err(|e| refused(self.file.clone(), e))?;
        self.line += 1;
        Ok(())
    }
}

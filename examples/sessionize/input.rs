//! A file or standard input, plain or gzip, as lines.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args;

/// Longer lines are dropped as they pass. Apache's defaults let a request line and two
/// headers of 8 KiB each, escaped to four times that, into a line.
const LONGEST_LINE: usize = 128 << 10;

const BUFFER: usize = 128 << 10;

/// Smaller files are done before anybody has read what a progress bar says.
const WORTH_A_BAR: u64 = 16 << 20;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// A log, being read.
pub(crate) struct Input {
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
}

pub(crate) enum Line<'a> {
    /// With its line feed, if it has one.
    Whole(&'a [u8]),
    TooLong,
}

impl Input {
    /// Opens `file`, or standard input for `-`. With `progress`, and if standard error is
    /// a terminal, shows how much of it has been read.
    ///
    /// # Errors
    ///
    /// Whatever the operating system says.
    pub(crate) fn open(file: &OsStr, progress: bool) -> io::Result<Self> {
        if args::is_stdin(file) {
            let stdin = io::stdin().lock();
            let typed = stdin.is_terminal();
            let bar = if progress && !typed {
                spinner()
            } else {
                ProgressBar::hidden()
            };
            return Self::new(bar.wrap_read(stdin));
        }
        let file = File::open(file)?;
        let metadata = file.metadata()?;
        let bar = if !progress {
            ProgressBar::hidden()
        } else if !metadata.is_file() {
            spinner()
        } else if metadata.len() >= WORTH_A_BAR {
            bar(metadata.len())
        } else {
            ProgressBar::hidden()
        };
        Self::new(bar.wrap_read(file))
    }

    /// Looks at the first bytes to tell gzip from plain text; a pipe may hand them out singly.
    fn new(mut raw: impl Read + 'static) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut raw)
            .take(GZIP_MAGIC.len() as u64)
            .read_to_end(&mut head)?;
        let is_gzip = head == GZIP_MAGIC;
        let whole = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(raw));
        let reader: Box<dyn BufRead> = if is_gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        Ok(Self {
            reader,
            line: Vec::new(),
        })
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the input cannot be read, or is not the gzip stream it began as.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let limit = LONGEST_LINE as u64 + 1;
        (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut self.line)?;
        if self.line.len() <= LONGEST_LINE || self.line.ends_with(b"\n") {
            return Ok((!self.line.is_empty()).then_some(Line::Whole(&self.line)));
        }
        self.reader.skip_until(b'\n')?;
        Ok(Some(Line::TooLong))
    }
}

fn bar(bytes: u64) -> ProgressBar {
    let template = "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    ProgressBar::new(bytes).with_style(style(template))
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_style(style("{spinner} {bytes} read"));
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well formed")
}

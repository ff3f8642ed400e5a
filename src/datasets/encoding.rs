//! Text of any encoding as UTF-8, a piece at a time.
//!
//! What comes out is always UTF-8 without NUL characters; what was found and changed is counted.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::datasets::error::DatasetError;

/// Bytes that are looked at to find out what a file is.
const HEAD: usize = 8 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// How the characters of a file are written.
#[derive(Debug, Clone, Copy)]
pub struct TextFormat {
    encoding: &'static Encoding,
    /// Bytes of a mark at the beginning.
    mark: u64,
}

impl TextFormat {
    /// The name, as people know it.
    pub fn name(self) -> &'static str {
        match self.encoding.name() {
            "windows-1252" => "Windows-1252",
            name => name,
        }
    }

    /// Whether it is UTF-8, which needs no word.
    pub fn is_utf8(self) -> bool {
        self.encoding == UTF_8
    }
}

/// Finds how a file is written. Archives and what is no text are refused.
pub fn detect(file: &mut File) -> Result<TextFormat, DatasetError> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    refuse_archives(&head)?;
    if let Some((encoding, mark)) = Encoding::for_bom(&head) {
        let mark = mark as u64;
        return Ok(TextFormat { encoding, mark });
    }
    if let Some(encoding) = bare_utf16(&head) {
        return Ok(TextFormat { encoding, mark: 0 });
    }
    let odd = |byte: &&u8| **byte < b' ' && !b"\t\r\n\x0c\0".contains(byte);
    if head.iter().filter(odd).count() * 20 > head.len() {
        return Err(DatasetError::refused(
            "this is no text: send CSV, TSV, JSON or JSON lines",
        ));
    }
    let encoding = if is_utf8(file)? { UTF_8 } else { WINDOWS_1252 };
    Ok(TextFormat { encoding, mark: 0 })
}

fn refuse_archives(head: &[u8]) -> Result<(), DatasetError> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x1f\x8b", "a gzip file"),
        (b"PK\x03\x04", "a zip file (or a spreadsheet)"),
        (b"PK\x05\x06", "a zip file"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"7z\xbc\xaf", "a 7z file"),
        (b"PAR1", "a Parquet file"),
        (b"%PDF", "a PDF file"),
        (b"SQLite format 3", "a SQLite database"),
        (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    ];
    match KINDS.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, kind)) => Err(DatasetError::refused(format!(
            "this is {kind}: unpack or save it as CSV, TSV, JSON or JSON lines, and send that"
        ))),
        None => Ok(()),
    }
}

/// UTF-16 without a mark: nearly every other byte of western text is zero.
fn bare_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    if pairs < 2 {
        return None;
    }
    let zeros = |from: usize| {
        let of = head.iter().skip(from).step_by(2);
        of.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    if odd * 10 > pairs * 7 && even * 10 < pairs {
        Some(UTF_16LE)
    } else if even * 10 > pairs * 7 && odd * 10 < pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

fn is_utf8(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut chunk = vec![0; CHUNK];
    let mut kept = 0;
    loop {
        let read = file.read(&mut chunk[kept..])?;
        let filled = kept + read;
        let valid = match std::str::from_utf8(&chunk[..filled]) {
            Ok(_) => filled,
            // A character that goes on in the next piece.
            Err(error) if error.error_len().is_none() && read > 0 => error.valid_up_to(),
            Err(_) => return Ok(false),
        };
        if read == 0 {
            return Ok(true);
        }
        chunk.copy_within(valid..filled, 0);
        kept = filled - valid;
    }
}

/// Reads a file as UTF-8.
pub struct TextReader {
    file: File,
    decoder: Option<Decoder>,
    raw: Vec<u8>,
    /// What of `raw` is not decoded.
    rest: std::ops::Range<usize>,
    ended: bool,
    /// What did not fit into a buffer that was too small for a character.
    spare: Vec<u8>,
    /// NUL characters that were left out.
    pub nuls: u64,
    /// Whether something was no character and became U+FFFD.
    pub replaced: bool,
}

impl TextReader {
    /// Reads from the beginning.
    pub fn new(file: &File, format: TextFormat) -> io::Result<Self> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(format.mark))?;
        let decoder =
            (!format.is_utf8()).then(|| format.encoding.new_decoder_without_bom_handling());
        Ok(Self {
            file,
            raw: if decoder.is_some() {
                vec![0; CHUNK]
            } else {
                Vec::new()
            },
            decoder,
            rest: 0..0,
            ended: false,
            spare: Vec::new(),
            nuls: 0,
            replaced: false,
        })
    }

    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // A decoder takes no more after its end: then the file has ended too.
            let Some(decoder) = &mut self.decoder else {
                return self.file.read(buffer);
            };
            if self.rest.is_empty() && !self.ended {
                let read = self.file.read(&mut self.raw)?;
                self.rest = 0..read;
                self.ended = read == 0;
            }
            let from = &self.raw[self.rest.clone()];
            let (result, read, written, replaced) =
                decoder.decode_to_utf8(from, buffer, self.ended);
            self.replaced |= replaced;
            self.rest.start += read;
            if self.ended && matches!(result, CoderResult::InputEmpty) {
                self.decoder = None;
            }
            if written > 0 {
                return Ok(written);
            }
        }
    }
}

impl TextReader {
    /// Decodes into a buffer with room for a character, without NUL characters.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.decode(buffer)?;
            let text = &mut buffer[..read];
            if !text.contains(&0) {
                return Ok(read);
            }
            let mut kept = 0;
            for at in 0..read {
                if text[at] != 0 {
                    text[kept] = text[at];
                    kept += 1;
                }
            }
            self.nuls += (read - kept) as u64;
            if kept > 0 {
                return Ok(kept);
            }
        }
    }
}

impl Read for TextReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// Most bytes that a decoder may need at once.
        const ROOM: usize = 16;
        if self.spare.is_empty() && buffer.len() >= ROOM {
            return self.fill(buffer);
        }
        if self.spare.is_empty() && !buffer.is_empty() {
            let mut small = [0; ROOM];
            let read = self.fill(&mut small)?;
            self.spare.extend_from_slice(&small[..read]);
        }
        let read = buffer.len().min(self.spare.len());
        buffer[..read].copy_from_slice(&self.spare[..read]);
        self.spare.drain(..read);
        Ok(read)
    }
}

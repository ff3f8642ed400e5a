//! Where each request of a connection begins and ends, judged before the HTTP library reads it.
//!
//! Two programs that disagree about the end of a request can be made to see different requests. So what leaves
//! room for two readings is refused: `Content-Length` beside `Transfer-Encoding`, either of them twice, a line
//! that ends with a bare line feed, a folded header. The first byte at fault becomes one that no parser takes; the
//! library answers 400 to it and hangs up.

/// A byte that neither a request line, a header nor the size of a chunk may have.
const POISON: u8 = 0;

/// Bytes of a line that are looked at. The headers judged here are far shorter.
const LINE: usize = 256;

/// What the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Empty lines before a request, or its request line.
    Start,
    /// A header line.
    Header,
    /// A body of known length, or a chunk: bytes left.
    Data { left: u64, then: After },
    /// The line with the size of a chunk.
    ChunkSize,
    /// The empty line after a chunk.
    ChunkEnd,
    /// A line after the last chunk.
    Trailer,
    /// Something was refused: nothing more is passed on.
    Refused,
}

/// What follows data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Request,
    Chunk,
}

/// Follows the requests of one connection.
#[derive(Debug)]
pub struct Framing {
    part: Part,
    /// The line so far, without its end.
    line: Vec<u8>,
    /// The line is longer than what is kept of it.
    long: bool,
    /// The byte before was a carriage return.
    returned: bool,
    length: Option<u64>,
    chunked: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            part: Part::Start,
            line: Vec::new(),
            long: false,
            returned: false,
            length: None,
            chunked: false,
        }
    }
}

impl Framing {
    /// Looks at bytes as they arrived. Says how many of them to pass on; after a refusal that is none.
    pub fn judge(&mut self, bytes: &mut [u8]) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..)
            && let Some(first) = rest.first_mut()
        {
            match self.part {
                Part::Refused => return at,
                Part::Data { left, then } => {
                    let here = left.min(u64::try_from(rest.len()).unwrap_or(u64::MAX));
                    self.part = match left - here {
                        0 => match then {
                            After::Request => Part::Start,
                            After::Chunk => Part::ChunkEnd,
                        },
                        left => Part::Data { left, then },
                    };
                    at += usize::try_from(here).unwrap_or(rest.len());
                }
                Part::Start | Part::Header | Part::ChunkSize | Part::ChunkEnd | Part::Trailer => {
                    at += 1;
                    if self.read(*first).is_none() {
                        *first = POISON;
                        self.part = Part::Refused;
                    }
                }
            }
        }
        at
    }

    /// One byte of a line; none = refused.
    fn read(&mut self, byte: u8) -> Option<()> {
        match (byte, self.returned) {
            (b'\n', true) => {
                self.returned = false;
                let line = std::mem::take(&mut self.line);
                let long = std::mem::take(&mut self.long);
                self.part = self.end_of_line(&line, long)?;
            }
            // A line feed or a carriage return without the other.
            (b'\n', false) | (_, true) => return None,
            (b'\r', false) => self.returned = true,
            (_, false) if self.line.len() < LINE => self.line.push(byte),
            (_, false) => self.long = true,
        }
        Some(())
    }

    /// What follows a whole line; none = refused.
    fn end_of_line(&mut self, line: &[u8], long: bool) -> Option<Part> {
        match (self.part, line.is_empty()) {
            (Part::Start, true) => Some(Part::Start),
            (Part::Start, false) => {
                self.length = None;
                self.chunked = false;
                Some(Part::Header)
            }
            (Part::Header, false) => {
                self.header(line, long)?;
                Some(Part::Header)
            }
            (Part::Header, true) => Some(match (self.chunked, self.length) {
                (true, _) => Part::ChunkSize,
                (false, None | Some(0)) => Part::Start,
                (false, Some(left)) => Part::Data {
                    left,
                    then: After::Request,
                },
            }),
            (Part::ChunkSize, _) => {
                let size = line.split(|byte| *byte == b';').next()?;
                let size = number(size, 16).filter(|_| !long)?;
                Some(match size {
                    0 => Part::Trailer,
                    left => Part::Data {
                        left,
                        then: After::Chunk,
                    },
                })
            }
            (Part::ChunkEnd, true) => Some(Part::ChunkSize),
            (Part::Trailer, true) => Some(Part::Start),
            (Part::Trailer, false) => Some(Part::Trailer),
            (Part::ChunkEnd, false) | (Part::Data { .. } | Part::Refused, _) => None,
        }
    }

    fn header(&mut self, line: &[u8], long: bool) -> Option<()> {
        // A folded line belongs to the header before it, for those who still read it so.
        if line.first().is_some_and(u8::is_ascii_whitespace) {
            return None;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at(colon);
        let value = value.get(1..)?.trim_ascii();
        let framed = self.chunked || self.length.is_some();
        match name.trim_ascii_end().to_ascii_lowercase().as_slice() {
            // With a space before its colon, some read a name and some do not.
            trimmed if trimmed.len() != name.len() => None,
            b"content-length" if framed || long => None,
            b"content-length" => {
                self.length = Some(number(value, 10)?);
                Some(())
            }
            b"transfer-encoding" if framed || long => None,
            b"transfer-encoding" if value.eq_ignore_ascii_case(b"chunked") => {
                self.chunked = true;
                Some(())
            }
            b"transfer-encoding" => None,
            _ => Some(()),
        }
    }
}

/// Digits only: no sign, no space, no list.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let all = !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    all.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

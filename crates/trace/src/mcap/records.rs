//! The records of a file, from its beginning to the end of its messages.

use std::io::{self, Read};

use crc32fast::Hasher;

use super::format::{Fields, MAGIC, RECORD_HEADER, kind};

/// A record of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its kind, one of [`kind`].
    pub kind: u8,
    /// Its fields.
    pub fields: Vec<u8>,
    /// Its place in the file, in bytes.
    pub at: u64,
}

/// Reasons for which no further record can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file does not begin as an MCAP file.
    #[error("is no MCAP file")]
    NoMcap,
    /// The file ends within a record, or without its end.
    #[error("is cut off")]
    Cut,
    /// A record claims to be longer than what is read at once.
    #[error("has a record of {length} bytes at byte {at}, which is more than is read at once")]
    TooLong {
        /// Bytes of its fields.
        length: u64,
        /// Its place in the file.
        at: u64,
    },
    /// The bytes of the file do not match the checksum at its end.
    #[error("does not match its checksum")]
    Sum,
    /// The file cannot be read.
    #[error("cannot be read further: {0}")]
    Io(io::Error),
}

impl From<io::Error> for RecordError {
    fn from(reason: io::Error) -> Self {
        match reason.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Io(reason),
        }
    }
}

/// Records of a file that is read from the beginning on. They end with the data section: a summary is left out.
pub struct Records<R> {
    from: R,
    /// Place of the next record.
    at: u64,
    /// Bytes behind those that were read; not less than there are.
    rest: u64,
    /// The most bytes of a record's fields that are read.
    limit: u64,
    /// Checksum of what was read, if it is looked at.
    sum: Option<Hasher>,
    is_over: bool,
}

impl<R: Read> Records<R> {
    /// Returns the records of a file of at most `length` bytes, of which those of more than `limit` bytes are errors.
    pub const fn new(from: R, length: u64, limit: u64) -> Self {
        Self { from, at: 0, rest: length, limit, sum: None, is_over: false }
    }

    /// Compares the file with the checksum at its end.
    #[must_use]
    pub fn with_sum(mut self) -> Self {
        self.sum = Some(Hasher::new());
        self
    }

    /// Returns the place of the next record, in bytes.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Returns the next record whose kind is wanted, and `None` at the end of the messages.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read. Nothing can be read behind that.
    pub fn next_of(&mut self, is_wanted: impl Fn(u8) -> bool) -> Result<Option<Record>, RecordError> {
        if self.at == 0 {
            self.begin()?;
        }
        while !self.is_over {
            let at = self.at;
            let mut header = [0; RECORD_HEADER];
            self.from.read_exact(&mut header)?;
            let kind = header[0];
            let length = u64::from_le_bytes(std::array::from_fn(|byte| header[1 + byte]));
            if kind == kind::FOOTER {
                self.is_over = true;
                return Ok(None);
            }
            if length > self.rest.saturating_sub(RECORD_HEADER as u64) {
                return Err(RecordError::Cut);
            }
            let is_wanted = is_wanted(kind);
            let must_be_read = is_wanted || kind == kind::DATA_END || self.sum.is_some();
            if must_be_read && length > self.limit {
                return Err(RecordError::TooLong { length, at });
            }
            if !must_be_read {
                let skipped = io::copy(&mut (&mut self.from).take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(RecordError::Cut);
                }
                self.moved(RECORD_HEADER as u64 + length);
                continue;
            }
            let fields = read_some(&mut self.from, length)?;
            if kind == kind::DATA_END {
                self.end(&fields)?;
            }
            if let Some(sum) = &mut self.sum {
                sum.update(&header);
                sum.update(&fields);
            }
            self.moved(RECORD_HEADER as u64 + length);
            if is_wanted {
                return Ok(Some(Record { kind, fields, at }));
            }
        }
        Ok(None)
    }

    fn begin(&mut self) -> Result<(), RecordError> {
        let mut magic = Vec::new();
        (&mut self.from).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic != MAGIC {
            return Err(if MAGIC.starts_with(&magic) { RecordError::Cut } else { RecordError::NoMcap });
        }
        if let Some(sum) = &mut self.sum {
            sum.update(MAGIC);
        }
        self.moved(MAGIC.len() as u64);
        Ok(())
    }

    /// Ends the records, with the fields of the record that says so.
    fn end(&mut self, fields: &[u8]) -> Result<(), RecordError> {
        self.is_over = true;
        let said = Fields(fields).u32().unwrap_or(0);
        let sum = self.sum.clone().map(Hasher::finalize);
        // Zero means that there is no checksum.
        if said != 0 && sum.is_some_and(|sum| sum != said) { Err(RecordError::Sum) } else { Ok(()) }
    }

    fn moved(&mut self, length: u64) {
        self.at += length;
        self.rest = self.rest.saturating_sub(length);
    }
}

/// Reads that many bytes. Takes no more memory than there are bytes.
pub(super) fn read_some(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match from.take(length).read_to_end(&mut bytes)? as u64 {
        read if read == length => Ok(bytes),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcap::format::record;

    fn file(sum: u32) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        record(&mut bytes, kind::HEADER, |out| out.extend([0; 8]));
        record(&mut bytes, kind::MESSAGE, |out| out.extend([7; 30]));
        let said = if sum == 0 { 0 } else { crc32fast::hash(&bytes) ^ (sum - 1) };
        record(&mut bytes, kind::DATA_END, |out| out.extend(said.to_le_bytes()));
        record(&mut bytes, kind::FOOTER, |out| out.extend([0; 20]));
        bytes
    }

    fn read(bytes: &[u8], limit: u64) -> (Vec<u64>, Option<String>) {
        let mut records = Records::new(bytes, u64::MAX, limit).with_sum();
        let mut places = Vec::new();
        loop {
            match records.next_of(|kind| kind != kind::HEADER) {
                Ok(Some(record)) => places.push(record.at),
                Ok(None) => return (places, None),
                Err(error) => return (places, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn records_end_with_the_messages() {
        for sum in [0, 1] {
            assert_eq!(read(&file(sum), 100), (vec![25, 64], None));
        }
        let mut skipped = Records::new(&file(0)[..], u64::MAX, 100).next_of(|kind| kind == kind::MESSAGE).unwrap();
        assert_eq!(skipped.take().map(|record| (record.at, record.fields.len())), Some((25, 30)));
    }

    #[test]
    fn damage_is_told() {
        assert_eq!(read(&file(2), 100), (vec![25], Some("does not match its checksum".to_owned())));
        assert_eq!(read(b"", 100).1.unwrap(), "is cut off");
        assert_eq!(read(b"\x89MCAP1\r\n", 100).1.unwrap(), "is no MCAP file");
        assert!(read(&file(0), 10).1.unwrap().starts_with("has a record of 30 bytes at byte 25, which is more"));
        let whole = file(1);
        for length in 0..whole.len() - 29 {
            assert_eq!(read(&whole[..length], 100).1.as_deref(), Some("is cut off"), "{length}");
        }
    }
}

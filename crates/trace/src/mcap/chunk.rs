//! The content of chunks, which may be compressed.

use std::io::{self, Read};

use bytes::Bytes;
use lz4_flex::frame::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::format::Fields;

/// Returns the records of a chunk as bytes, from the fields of the chunk's own record. They are shared with it unless
/// they are compressed.
///
/// # Errors
/// A text that continues "a chunk that": the fields are damaged, the content is of more than `limit` bytes or in an
/// unknown compression, or does not match its checksum.
pub fn content(chunk: &Bytes, limit: u64) -> Result<Bytes, String> {
    let damaged = || "is damaged".to_owned();
    let mut fields = Fields(chunk);
    let (Some(_), Some(_), Some(size), Some(sum)) = (fields.u64(), fields.u64(), fields.u64(), fields.u32()) else {
        return Err(damaged());
    };
    let (Some(compression), Some(bytes)) = (fields.text(), fields.long_bytes()) else { return Err(damaged()) };
    if size > limit {
        return Err(format!("has {size} bytes, which is more than is read at once"));
    }
    let content = match compression.as_str() {
        "" => chunk.slice_ref(bytes),
        compression => Bytes::from(decompress(compression, bytes, size)?),
    };
    // Zero means that there is no checksum.
    if sum != 0 && sum != crc32fast::hash(&content) {
        return Err("does not match its checksum".to_owned());
    }
    Ok(content)
}

/// Returns what compressed bytes contain, which should be `size` bytes. Takes no more memory than that, whatever the
/// compressed bytes say. `name` is that of the compression in MCAP.
///
/// # Errors
/// A text that continues "a chunk that".
pub fn decompress(name: &str, bytes: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let read = match name {
        "lz4" => FrameDecoder::new(bytes).take(size).read_to_end(&mut content),
        "zstd" => zstd(bytes).and_then(|decoder| decoder.take(size).read_to_end(&mut content)),
        other => return Err(format!("is compressed with {other}, which rospin does not know")),
    };
    match read {
        Ok(length) if length as u64 == size => Ok(content),
        Ok(_) => Err("has less content than it says".to_owned()),
        Err(error) => Err(format!("cannot be decompressed: {error}")),
    }
}

/// Returns a reader of what the bytes of `from`, which Zstandard has compressed, contain.
///
/// # Errors
/// If they do not begin so.
pub fn zstd<R: Read>(from: R) -> io::Result<impl Read> {
    StreamingDecoder::new(from).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

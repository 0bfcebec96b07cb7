//! Chunks of MCAP files and whole files, compressed and back.

use std::io::{self, Read, Write};

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Compression of a file's chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Compression {
    #[default]
    None,
    Lz4,
    Zstd,
}

impl Compression {
    /// Returns its name in MCAP.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the compressed bytes; `None` without compression.
    pub(super) fn compress(self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::None => Ok(None),
            Self::Lz4 => {
                let mut encoder = FrameEncoder::new(Vec::new());
                encoder.write_all(bytes)?;
                encoder.finish().map(Some).map_err(io::Error::other)
            }
            Self::Zstd => Ok(Some(compress_to_vec(bytes, CompressionLevel::Fastest))),
        }
    }
}

/// Returns the content of a chunk that should have `size` bytes. Takes no more memory than that, whatever the
/// compressed bytes say.
pub(super) fn decompress(name: &str, bytes: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let read = match name {
        "" => return Ok(bytes.to_vec()),
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

/// Returns a reader of what the compressed bytes of `from` contain.
pub(crate) fn zstd<R: Read>(from: R) -> io::Result<impl Read> {
    StreamingDecoder::new(from).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

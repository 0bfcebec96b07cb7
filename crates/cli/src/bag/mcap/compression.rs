//! Compression of chunks.

use std::io::{self, Write};

use lz4_flex::frame::FrameEncoder;
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

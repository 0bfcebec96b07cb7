//! Images that stay on their way to the device: from a publisher's pinned memory to a subscription's kernel.

mod driver;
mod pool;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, LaunchArgs, PushKernelArg, sys};
use rospin_wire::{Blob, BlobMemory, BlobMemoryError};

use crate::device::CudaDevice;
use driver::Cuda;
use pool::{Copies, NoFrame, Pool, Published, Reading, Written};

/// A pool of frames of one length: buffers of pinned memory, each with memory of the device for its copy. A camera
/// [takes](Self::take) a [`Frame`], fills it, and publishes it as the bytes of an ordinary message. Cheap to clone;
/// clones are the same pool.
///
/// - A subscription that runs kernels asks for the bytes by [`read_on`] within a segment. The first one has them copied
///   to the device, from pinned memory, on an urgent stream of the pool; all others use that copy. Each stream waits by
///   an event until it is there, no thread does.
/// - All other subscriptions read the message as always. Those of this process get the bytes in ordinary memory, copied
///   once for all of them; [`Blob::read_in_place`] reads the pinned memory itself, as the encoder does for those of
///   other processes. Pinned memory is not lent to readers for longer, since the driver copies from it without waiting:
///   a reader who has a slice copied to a device, and drops the message, would get parts of the next image.
///
/// All memory is allocated with the pool, and freed with the last handle and message of it, which waits for the device.
/// A frame is free again once its message is dropped, and the device does not use it any more.
///
/// ```no_run
/// use std::sync::Arc;
/// use rospin::msgs::sensor_msgs::msg::Image;
/// use rospin_accelerator::{Request, Segment};
/// use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, FramePool, read_on};
/// # use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions};
/// # use rospin_cuda::cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
/// # fn look(ros: &rospin::Ros, detect: CudaFunction) -> Result<(), Box<dyn std::error::Error>> {
///
/// let device = Arc::new(CudaDevice::open(CudaOptions::new())?);
/// let frames = FramePool::new(&device, 8 << 20, 4)?;
/// # let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
/// # let client = Arc::new(gpu.create_client(ClientOptions::new("detector"))?);
///
/// let node = ros.create_node("detector")?;
/// let _images = node.create_subscription("image", move |image: Arc<Image>| {
///     let detect = detect.clone();
///     let client = Arc::clone(&client);
///     async move {
///         let work = CudaWork::new(move |stream| {
///             let pixels = read_on(&image.data, stream)?;
///             let mut launch = stream.launch_builder(&detect);
///             launch.arg(&pixels);
///             // SAFETY: the argument is that of the kernel, which stays within it.
///             unsafe { launch.launch(LaunchConfig::for_num_elems(8 << 20)) }.map(drop)
///         });
///         client.request(Request::new([Segment::new(work)]))?.await?;
///         rospin::Ok(())
///     }
/// })?;
///
/// let camera = ros.create_node("camera")?.create_publisher::<Image>("image")?;
/// let mut frame = frames.take()?;
/// frame.fill(128);
/// camera.publish(Image { data: frame.into(), ..Image::default() })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FramePool(Arc<Pool<Cuda>>);

/// The bytes that the frames of a [`FramePool`] have had copied so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Copied {
    /// Bytes that were copied from pinned memory to the device.
    pub to_device: u64,
    /// Bytes that were copied from the device to pinned memory.
    pub to_host: u64,
    /// Bytes that were copied from pinned to ordinary memory, for readers who may keep them.
    pub for_readers: u64,
}

/// Errors of frames.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Messages or the device use all frames of the pool.
    #[error("all {count} frames of the pool are in use by messages that are not dropped yet, or by the device")]
    InUse {
        /// The number of the pool's frames.
        count: usize,
    },
    /// The device does not say what it still does with frames, and all others are in use.
    #[error("the device does not say if it still uses frames of the pool; it may be lost")]
    DeviceLost,
    /// The driver refused.
    #[error("a frame in memory of the device: {0}")]
    Driver(#[from] DriverError),
}

impl FramePool {
    /// Allocates so many frames of so many bytes. Takes milliseconds, and may wait for the device.
    ///
    /// A pool needs as many frames as the subscriptions and latched publishers of its topic may keep, and one for each
    /// callback and segment that uses one, and one that is filled.
    ///
    /// # Errors
    /// If the driver does not have the memory.
    pub fn new(device: &CudaDevice, bytes: usize, count: usize) -> Result<Self, FrameError> {
        let context = device.context();
        // The smallest number is the most urgent one, whatever the device's range.
        let copies = Copies {
            to_device: context.new_stream_with_priority(i32::MIN)?,
            to_host: context.new_stream_with_priority(0)?,
        };
        Ok(Self(Pool::new(Cuda(Arc::clone(context)), copies, bytes, count)?))
    }

    /// Takes a frame that nobody uses. Its content is any. Locks for a moment, and asks the driver; does not wait.
    ///
    /// # Errors
    /// If all are in use, or the device is lost.
    pub fn take(&self) -> Result<Frame, FrameError> {
        match self.0.take() {
            Ok(frame) => Ok(Frame(frame)),
            Err(NoFrame::InUse) => Err(FrameError::InUse { count: self.0.count() }),
            Err(NoFrame::Broken) => Err(FrameError::DeviceLost),
        }
    }

    /// Returns the bytes that the frames have had copied so far.
    #[must_use]
    pub fn copied(&self) -> Copied {
        let [to_device, to_host, for_readers] = self.0.copied();
        Copied { to_device, to_host, for_readers }
    }
}

impl fmt::Debug for FramePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramePool").field("frames", &self.0.count()).finish_non_exhaustive()
    }
}

/// A frame that is filled: a slice of pinned memory. It becomes the bytes of a message by `frame.into()`, without a
/// copy. Dropped before that, it returns to its pool.
///
/// Pictures that a kernel makes are written [on the device](Self::write_on) instead.
pub struct Frame(Written<Cuda>);

impl Frame {
    /// Makes the frame shorter, for images that have not the pool's length. A longer length has no effect.
    pub fn truncate(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Has the frame written by kernels on the stream, within a segment.
    #[must_use]
    pub fn write_on(self, stream: &Arc<CudaStream>) -> DeviceBytesMut {
        DeviceBytesMut { frame: Some(self.0), stream: Arc::clone(stream) }
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

/// Makes the frame the bytes of a message, without a copy.
impl From<Frame> for Blob {
    fn from(frame: Frame) -> Self {
        Self::from_memory(Arc::new(FrameMemory(frame.0.publish())))
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The memory of a frame that is in a message: what [`Blob::memory`] returns. [`read_on`] finds it by itself.
pub struct FrameMemory(Arc<Published<Cuda>>);

impl FrameMemory {
    /// Returns the context of the frame's device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.0.pool().driver().0
    }
}

impl BlobMemory for FrameMemory {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
        let bytes = self.0.bytes().map_err(|error| BlobMemoryError(error.to_string()))?;
        self.0.count_copy();
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn read_in_place(&self, read: &mut dyn FnMut(&[u8])) -> Result<(), BlobMemoryError> {
        read(self.0.bytes().map_err(|error| BlobMemoryError(error.to_string()))?);
        Ok(())
    }
}

impl fmt::Debug for FrameMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameMemory").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Returns the bytes of a message in memory of the device, for what is put on the stream from now on. Call it within a
/// segment, give the result to kernels as an argument, and drop it after the last launch.
///
/// Bytes of a [`Frame`] are copied to the device once, for all streams, and each stream waits for them by an event. The
/// calling thread does not. All other bytes are copied for this call, which may wait for the stream, as copies from
/// memory that is not pinned do. So a subscription need not know where its images come from.
///
/// Not for streams whose work is being captured as a graph.
///
/// # Errors
/// If the driver refuses, or the bytes are in memory of another device, which does not give them.
pub fn read_on(bytes: &Blob, stream: &Arc<CudaStream>) -> Result<DeviceBytes, DriverError> {
    if let Some(memory) = bytes.memory::<FrameMemory>()
        && memory.context() == stream.context()
    {
        return Ok(DeviceBytes(Source::Frame(memory.0.read_on(stream)?)));
    }
    let bytes = bytes.try_as_slice();
    let bytes = bytes.map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_EXTERNAL_DEVICE))?;
    if bytes.is_empty() {
        return Ok(DeviceBytes(Source::Empty));
    }
    Ok(DeviceBytes(Source::Copy(stream.clone_htod(bytes)?)))
}

/// The address of no bytes.
const NOWHERE: u64 = 0;

/// Bytes of a message in memory of the device, as an argument of kernels that read them: see [`read_on`]. Until it is
/// dropped, they stay there for what is on its stream.
pub struct DeviceBytes(Source);

enum Source {
    Frame(Reading<Cuda>),
    Copy(CudaSlice<u8>),
    /// No bytes, for which the driver allocates no memory.
    Empty,
}

impl DeviceBytes {
    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Frame(reading) => reading.frame().len(),
            Source::Copy(copy) => copy.len(),
            Source::Empty => 0,
        }
    }

    /// Returns true if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for DeviceBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBytes").field("len", &self.len()).finish_non_exhaustive()
    }
}

// SAFETY: the argument is the address of memory of the device, as for cudarc's own slices, and is borrowed for as long
// as the launch is.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b DeviceBytes> for LaunchArgs<'a> {
    fn arg(&mut self, bytes: &'b DeviceBytes) -> &mut Self {
        match &bytes.0 {
            Source::Frame(reading) => self.arg(reading.device_address()),
            Source::Copy(copy) => self.arg(copy),
            Source::Empty => self.arg(&NOWHERE),
        }
    }
}

/// A frame in memory of the device, as an argument of kernels that write it: see [`Frame::write_on`].
///
/// Dropped without [`finish`](Self::finish), it returns to its pool once the kernels have ended.
pub struct DeviceBytesMut {
    /// `None` once it is finished.
    frame: Option<Written<Cuda>>,
    stream: Arc<CudaStream>,
}

impl DeviceBytesMut {
    /// Makes the frame the bytes of a message, with what is there once all is over that is on the stream at this
    /// moment. Streams of subscriptions wait for that. Whoever reads the bytes on the host waits, too, and has them
    /// copied back, once for all.
    ///
    /// The publisher is such a reader if a subscription is in another process, or has another Rust type. So publish the
    /// message from a callback, best after the segment, and not within it.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn finish(mut self) -> Result<Blob, DriverError> {
        let Some(frame) = self.frame.take() else { unreachable!("only this method takes it") };
        let published = frame.publish_from(&self.stream)?;
        Ok(Blob::from_memory(Arc::new(FrameMemory(published))))
    }
}

impl Drop for DeviceBytesMut {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            frame.abandon(&self.stream);
        }
    }
}

impl fmt::Debug for DeviceBytesMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBytesMut").finish_non_exhaustive()
    }
}

// SAFETY: as for `DeviceBytes`. Nobody else has the memory.
unsafe impl<'a, 'b: 'a> PushKernelArg<&'b mut DeviceBytesMut> for LaunchArgs<'a> {
    fn arg(&mut self, bytes: &'b mut DeviceBytesMut) -> &mut Self {
        match &bytes.frame {
            Some(frame) => self.arg(frame.device_address()),
            None => unreachable!("a finished frame is not there any more"),
        }
    }
}

//! Traits with which a blob is as convenient as a `Vec<u8>`: conversions, iterators, comparisons.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

use bytes::Bytes;

use super::{Blob, Held};

/// Takes the vector over, without a copy.
impl From<Vec<u8>> for Blob {
    fn from(vector: Vec<u8>) -> Self {
        Self(Held::Shared(vector.into()))
    }
}

/// Shares the bytes, without a copy.
impl From<Bytes> for Blob {
    fn from(bytes: Bytes) -> Self {
        Self(Held::Shared(bytes))
    }
}

/// Copies the bytes.
impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Self(Held::Shared(Bytes::copy_from_slice(bytes)))
    }
}

/// Copies the bytes.
impl<const N: usize> From<&[u8; N]> for Blob {
    fn from(bytes: &[u8; N]) -> Self {
        Self::from(&bytes[..])
    }
}

/// Copies the bytes.
impl<const N: usize> From<[u8; N]> for Blob {
    fn from(bytes: [u8; N]) -> Self {
        Self::from(&bytes[..])
    }
}

/// Copies the bytes only if they are shared, as [`Blob::into_vec`].
impl From<Blob> for Vec<u8> {
    fn from(blob: Blob) -> Self {
        blob.into_vec()
    }
}

impl FromIterator<u8> for Blob {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        Vec::from_iter(bytes).into()
    }
}

impl Extend<u8> for Blob {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.to_mut().extend(bytes);
    }
}

impl<'a> Extend<&'a u8> for Blob {
    fn extend<I: IntoIterator<Item = &'a u8>>(&mut self, bytes: I) {
        self.to_mut().extend(bytes);
    }
}

/// Copies the bytes if they are shared. A loop over `&blob` does not.
impl IntoIterator for Blob {
    type Item = u8;
    type IntoIter = std::vec::IntoIter<u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Blob {
    type Item = &'a u8;
    type IntoIter = std::slice::Iter<'a, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Blob {
    type Item = &'a mut u8;
    type IntoIter = std::slice::IterMut<'a, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Blob {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

// A blob's hash and comparisons are those of its slice, as `Borrow` requires.
impl Borrow<[u8]> for Blob {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl Hash for Blob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl Eq for Blob {}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Implements comparisons of a blob with types that are a slice of bytes, from either side. Each type comes after its
/// generic parameters in brackets.
macro_rules! compare {
    ($([$($generic:tt)*] $other:ty;)*) => {
        $(
            impl<$($generic)*> PartialEq<$other> for Blob {
                fn eq(&self, other: &$other) -> bool {
                    let own: &[u8] = self;
                    let other: &[u8] = other.as_ref();
                    own == other
                }
            }

            impl<$($generic)*> PartialEq<Blob> for $other {
                fn eq(&self, other: &Blob) -> bool {
                    other == self
                }
            }
        )*
    };
}

compare! {
    [] [u8];
    [] &[u8];
    [] Vec<u8>;
    [const N: usize] [u8; N];
    [const N: usize] &[u8; N];
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn it_is_made_of_and_becomes_all_that_has_bytes() {
        let same = [
            Blob::from(vec![1, 2]),
            Blob::from(&[1, 2]),
            Blob::from([1, 2]),
            Blob::from(&[1, 2][..]),
            Bytes::from_static(&[1, 2]).into(),
            [1, 2].into_iter().collect(),
        ];
        assert!(same.iter().all(|blob| *blob == same[0] && format!("{blob:?}") == "[1, 2]"));
        assert_eq!(same.iter().cloned().collect::<HashSet<_>>().len(), 1);
        assert_eq!(same.into_iter().flat_map(Vec::from).collect::<Blob>(), [1, 2].repeat(6));
        assert_eq!(Blob::default(), Vec::new());
        assert_eq!(Blob::from(Vec::new()), Blob::from(Bytes::new()));
    }

    #[test]
    #[expect(clippy::mutable_key_type, reason = "bytes in memory of a device are the same before they are asked for")]
    fn it_is_compared_and_looked_up_as_a_slice() {
        let blob = Blob::from([1, 2]);
        let slice = &[1, 2][..];
        let array = &[1, 2];
        let other = Blob::from([1, 3]);
        assert!(blob == slice && blob == *slice && blob == *array && blob == array && blob == vec![1, 2]);
        assert!(slice == blob && *slice == blob && *array == blob && array == blob && vec![1, 2] == blob);
        assert!(blob != [1] && blob != other);
        let map = HashMap::from([(blob, "found")]);
        assert_eq!(map.get(slice), Some(&"found"));
    }

    #[test]
    fn it_is_iterated_in_every_way() {
        let mut blob = Blob::from([1, 2]);
        for byte in &mut blob {
            *byte += 1;
        }
        blob.extend([7]);
        blob.extend(&[8]);
        let sum: u8 = (&blob).into_iter().sum();
        assert_eq!((sum, blob.into_iter().rev().collect::<Vec<_>>()), (20, vec![8, 7, 3, 2]));
    }
}

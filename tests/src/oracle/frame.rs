//! How the oracle's processes write lists of byte strings to each other: a count,
//! then each string with its length before it, all numbers 32 bits little-endian.

use std::io::{self, Read, Write};

/// More than any list of this test has; beyond it the stream is out of step.
const BYTES_MAX: u32 = 64 << 20;

/// The bytes of a list.
pub fn encode<T: AsRef<[u8]>>(list: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    number(&mut bytes, list.len());
    for item in list {
        number(&mut bytes, item.as_ref().len());
        bytes.extend_from_slice(item.as_ref());
    }
    bytes
}

/// Writes a list at once and flushes.
pub fn write<T: AsRef<[u8]>>(to: &mut impl Write, list: &[T]) -> io::Result<()> {
    to.write_all(&encode(list))?;
    to.flush()
}

/// Reads a list; none when the stream has ended.
pub fn read(from: &mut impl Read) -> io::Result<Option<Vec<Vec<u8>>>> {
    let Some(count) = read_number(from)? else { return Ok(None) };
    let mut list = Vec::new();
    for _ in 0..count {
        let length = read_number(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut item = vec![0; usize::try_from(length).unwrap_or(0)];
        from.read_exact(&mut item)?;
        list.push(item);
    }
    Ok(Some(list))
}

fn number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn read_number(from: &mut impl Read) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    match from.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let number = u32::from_le_bytes(bytes);
    if number > BYTES_MAX {
        return Err(io::Error::other("a list of the oracle is out of step"));
    }
    Ok(Some(number))
}

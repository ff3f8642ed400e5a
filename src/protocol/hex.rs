//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    let digits = digits.filter_map(|digit| DIGITS.get(usize::from(digit)));
    digits.map(|digit| char::from(*digit)).collect()
}

/// Parses exactly these hexadecimal digits in either case; none = a character is no digit, or the
/// length is wrong.
pub fn from_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?;
    }
    Some(bytes)
}

//! Standard base64, as in the data of a Secret. White space is allowed anywhere.

/// `None` if the text is not base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut length, mut padding) = (0_u32, 0, 0);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace()) {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(six);
        length += 1;
        if length % 4 == 0 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
    }
    match (length % 4, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((bits >> 4) as u8),
        (3, 1) => bytes.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return None,
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_decoded() {
        for (text, expected) in [("", ""), ("aA==", "h"), ("aGU=", "he"), ("aGVs", "hel"), ("aGVs\nbG8=", "hello")] {
            assert_eq!(decode(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        for text in ["a", "aA=", "aA", "a=A=", "ä", "====", "aGVs="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}

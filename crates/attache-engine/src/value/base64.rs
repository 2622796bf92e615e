//! Standard base64, as in the data of a Secret.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// As Go, and so Kubernetes, decodes it: padded, with any bits after the last byte.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The bytes that a text encodes. White space is allowed everywhere. `None` if the text is not base64.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.split_ascii_whitespace().collect();
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_decoded() {
        for (text, expected) in [
            ("", ""),
            ("aA==", "h"),
            ("aB==", "h"),
            ("aGU=", "he"),
            ("aGVs", "hel"),
            ("aGVs\nbG8=", "hello"),
            (" a G V s\t", "hel"),
        ] {
            assert_eq!(decode_base64(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        for text in ["a", "aA=", "aA", "a=A=", "ä", "====", "aGVs=", "aA==aA=="] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
    }
}

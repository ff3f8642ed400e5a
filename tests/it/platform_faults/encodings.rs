//! The forms in which a secret may reappear.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 of whole groups of three bytes: what stays the same whatever follows.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    bytes
        .chunks_exact(3)
        .flat_map(|group| {
            let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
            [18, 12, 6, 0].map(|shift| char::from(alphabet[(bits >> shift) as usize & 63]))
        })
        .collect()
}

/// The secret raw, escaped for JSON once and twice, and for a URL in both cases.
pub fn text_forms(secret: &str) -> Vec<String> {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let url = |upper: bool| -> String {
        secret
            .bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    char::from(byte).to_string()
                }
                _ if upper => format!("%{byte:02X}"),
                _ => format!("%{byte:02x}"),
            })
            .collect()
    };
    vec![
        secret.to_owned(),
        json(secret),
        json(&json(secret)),
        url(true),
        url(false),
    ]
}

/// What shows that a secret was there: its forms as text, and base64 in both alphabets of as much of it as looks the
/// same wherever it begins.
pub fn traces(secret: &str) -> Vec<(String, String)> {
    let names = ["raw", "JSON", "JSON in JSON", "URL", "url"].map(str::to_owned);
    let mut traces: Vec<(String, String)> = names.into_iter().zip(text_forms(secret)).collect();
    for (name, alphabet) in [("base64", STANDARD), ("base64url", URL_SAFE)] {
        for skipped in 0..3 {
            let whole = base64(&secret.as_bytes()[skipped..], alphabet);
            traces.push((format!("{name} at {skipped}"), whole));
        }
    }
    traces
}

/// The whole of some bytes in base64, padded.
pub fn whole_base64(bytes: &[u8]) -> String {
    let mut text = base64(bytes, STANDARD);
    let rest = bytes.chunks_exact(3).remainder();
    if !rest.is_empty() {
        let mut padded = rest.to_vec();
        padded.resize(3, 0);
        let last = base64(&padded, STANDARD);
        text.push_str(&last[..=rest.len()]);
        text.push_str(&"=".repeat(3 - rest.len()));
    }
    text
}

#[test]
fn forms_are_those_of_the_standards() {
    // RFC 4648 § 10.
    assert_eq!(whole_base64(b"foobar"), "Zm9vYmFy");
    assert_eq!(whole_base64(b"foob"), "Zm9vYg==");
    assert_eq!(whole_base64(b"fooba"), "Zm9vYmE=");
    let forms = traces("a\"b/c");
    let has = |text: &str| forms.iter().any(|(_, form)| form == text);
    assert!(
        has("a\\\"b/c") && has("a%22b%2Fc") && has("a%22b%2fc"),
        "{forms:?}"
    );
    assert!(has(r#"a\\\"b/c"#) && has("YSJi"), "{forms:?}");
}

//! Base URLs become endpoints.

use leverframe::model::http::address::join;

#[test]
fn base_urls_join_to_one_endpoint() {
    let joined = |base: &str| join(base, "/chat/completions").map(|url| url.to_string());
    for base in [
        "http://127.0.0.1:8080/v1",
        "http://127.0.0.1:8080/v1/",
        "http://127.0.0.1:8080/v1/chat/completions",
    ] {
        assert_eq!(
            joined(base),
            Ok("http://127.0.0.1:8080/v1/chat/completions".to_owned()),
            "{base}"
        );
    }
    assert!(joined("ftp://host").is_err());
    assert!(joined("http://user:secret@host/v1").is_err());
    assert!(joined("host/v1").is_err());
}

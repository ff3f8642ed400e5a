//! Where the output of one cell ends.

use leverframe::tools::python::interpreter::Output;
use tokio::io::{AsyncRead, AsyncReadExt as _};

#[tokio::test]
async fn the_mark_is_taken_out_wherever_it_is_cut() {
    for cut in 0.."one\0ab\0two".len() {
        let (left, right) = "one\0ab\0two".as_bytes().split_at(cut);
        let pipe = pipe(left, right);
        let mut output = Output::new(pipe);
        output.end_at("ab");
        let mut text = Vec::new();
        while output.is_open() {
            text.extend(output.read().await);
        }
        let text = String::from_utf8(text).unwrap();
        // What comes behind the mark in a later piece belongs to the next cell.
        let is_whole = text.starts_with("one") && "onetwo".starts_with(&text);
        assert!(is_whole, "{cut}: {text:?}");
    }
}

fn pipe<'a>(left: &'a [u8], right: &'a [u8]) -> impl AsyncRead + Unpin + 'a {
    left.chain(right)
}

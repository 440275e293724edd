//! Requests as they are written.

use super::*;
use crate::fields::bytes;

fn request(method: &str, headers: &[(&str, &str)], body: &[u8]) -> Request {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Request::new(method, "https", "a.test", "/", &headers, body.to_vec()).unwrap()
}

#[test]
fn a_request_is_headers_and_data() {
    let requests = Requests::new(vec![
        request("GET", &[], b""),
        request("HEAD", &[("x", "~")], b""),
        request("POST", &[], b"question"),
    ]);
    assert_eq!(requests.len(), 3);
    // Static entries, but for the authority, which takes 4 bytes coded.
    assert_eq!(requests.bytes(0), bytes("010b 0000 d1 d7 5084 1ae92a13 c1"));
    assert!(requests.is_to_head(1) && !requests.is_to_head(0));
    let post = requests.bytes(2);
    assert!(post.ends_with(&data(b"question")));
    assert_eq!(post[1] as usize + 2 + 10, post.len());
    assert_eq!(requests.bytes(3), &[][..]);
}

#[test]
fn a_long_body_is_one_frame() {
    let body = vec![b'b'; 1 << 20];
    let requests = Requests::new(vec![request("PUT", &[], &body)]);
    assert!(
        requests
            .bytes(0)
            .ends_with(&[&bytes("00 80100000"), &body[..]].concat())
    );
}

//! Any bytes read as a list of URLs, and as a page in an HTTP Archive: each request that is taken
//! can be written in a line again, and each target begins with a slash.

use bakeoff_plan::{Page, parse_request_list};

pub(crate) fn check(data: &[u8]) {
    if let Ok(page) = Page::read(&mut &*data) {
        assert!(!page.requests.is_empty());
        assert!(page.requests.iter().all(|it| it.target.starts_with('/')));
        assert!(page.note().starts_with(&page.requests.len().to_string()));
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(list) = parse_request_list(text) else {
        return;
    };
    assert!(!list.is_empty());
    for one in list {
        let method = one.method.as_deref().unwrap_or("");
        let line = format!("{} {method} {}", one.weight.min(1_000_000), one.url);
        // A URL that begins with `#` follows its weight, so that the line is no comment.
        let again = parse_request_list(&line).expect("a written line is a line");
        assert_eq!((&again[0].method, &again[0].url), (&one.method, &one.url));
    }
}

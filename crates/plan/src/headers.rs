//! Request headers: which may be there once, and who asks.

/// What says who asks, unless a request has a `User-Agent` of its own: some servers refuse whoever
/// sends none.
pub const USER_AGENT: &str = concat!("bakeoff/", env!("CARGO_PKG_VERSION"));

/// Headers with one value and no list of them (RFC 9110; RFC 9112, 3.2): servers refuse a request
/// with two, or take one of them.
const ONCE: [&str; 18] = [
    "authorization",
    "content-encoding",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "date",
    "from",
    "host",
    "if-modified-since",
    "if-range",
    "if-unmodified-since",
    "max-forwards",
    "origin",
    "proxy-authorization",
    "range",
    "referer",
    "user-agent",
];

/// Headers that the engine writes itself, because the message would break without them.
const OWN: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// The first header that the engine writes itself, which a plan cannot say.
pub fn own_header(headers: &[(String, String)]) -> Option<&str> {
    let is_own = |name: &str| OWN.iter().any(|own| own.eq_ignore_ascii_case(name));
    let mut names = headers.iter().map(|(name, _)| name.as_str());
    names.find(|name| is_own(name))
}

/// The first header that is given again and that a request may have once.
pub fn repeated_header(headers: &[(String, String)]) -> Option<&str> {
    let mut each = headers.iter().enumerate();
    let again = each.find(|(at, (name, _))| {
        let is_same = |(other, _): &(String, String)| other.eq_ignore_ascii_case(name);
        let is_single = ONCE.iter().any(|once| once.eq_ignore_ascii_case(name));
        is_single && headers[..*at].iter().any(is_same)
    });
    again.map(|(_, (name, _))| name.as_str())
}

/// The headers of a request as they are sent: with [`USER_AGENT`], unless they say who asks.
pub fn with_user_agent(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut names = headers.iter().map(|(name, _)| name);
    let is_named = names.any(|name| name.eq_ignore_ascii_case("user-agent"));
    let own = (!is_named).then(|| ("User-Agent".to_owned(), USER_AGENT.to_owned()));
    own.into_iter().chain(headers.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(names: &[&str]) -> Vec<(String, String)> {
        let header = |name: &&str| ((*name).to_owned(), "x".to_owned());
        names.iter().map(header).collect()
    }

    #[test]
    fn what_may_be_there_once_is_found_when_it_comes_again() {
        for (names, expected) in [
            (&["Host", "X", "host"][..], Some("host")),
            (&["Content-Type", "CONTENT-TYPE"], Some("CONTENT-TYPE")),
            (&["Accept", "Accept", "Cookie", "X", "X"], None),
            (&["Range", "Accept", "User-Agent"], None),
        ] {
            assert_eq!(repeated_header(&headers(names)), expected);
        }
    }

    #[test]
    fn who_asks_is_said_once() {
        let named = headers(&["user-agent"]);
        assert_eq!(with_user_agent(&named), named);
        let sent = with_user_agent(&headers(&["A"]));
        assert_eq!((sent.len(), sent[0].1.as_str()), (2, USER_AGENT));
    }
}

//! What the fields of a request mean to the server, in HTTP/2 and HTTP/3: its method, and whether
//! they can be a request's at all (RFC 9113, 8.2 and 8.3; RFC 9114, 4.2 and 4.3).

use crate::request::Method;

/// The fields of one request, as they come.
#[derive(Debug, Default)]
pub(crate) struct Head {
    method: Option<Method>,
    has_scheme: bool,
    has_path: bool,
    /// An ordinary field has come: no pseudo-header field may follow.
    is_ordinary: bool,
    is_malformed: bool,
}

impl Head {
    /// Takes the next field.
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) {
        let Some((b':', pseudo)) = name.split_first().map(|(first, rest)| (*first, rest)) else {
            self.is_ordinary = true;
            self.is_malformed |= name.is_empty()
                || name.iter().any(u8::is_ascii_uppercase)
                || matches!(
                    name,
                    b"connection"
                        | b"proxy-connection"
                        | b"keep-alive"
                        | b"transfer-encoding"
                        | b"upgrade"
                );
            return;
        };
        let again = match pseudo {
            b"method" => self.method.replace(method(value)).is_some(),
            b"scheme" => std::mem::replace(&mut self.has_scheme, true),
            b"path" => std::mem::replace(&mut self.has_path, true) || value.is_empty(),
            b"authority" => false,
            _ => true,
        };
        self.is_malformed |= again || self.is_ordinary;
    }

    /// The method of a request; `None` if the fields are none of a request.
    pub(crate) fn method(&self) -> Option<Method> {
        let whole = self.has_scheme && self.has_path && !self.is_malformed;
        self.method.filter(|_| whole)
    }
}

fn method(value: &[u8]) -> Method {
    match value {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        _ => Method::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &[(&str, &str)], expected: Option<Method>) {
        let mut head = Head::default();
        for (name, value) in fields {
            head.field(name.as_bytes(), value.as_bytes());
        }
        assert_eq!(head.method(), expected, "{fields:?}");
    }

    #[test]
    fn fields_are_a_requests_or_not() {
        let good = [(":method", "HEAD"), (":scheme", "http"), (":path", "/")];
        let with = |last| [good.to_vec(), vec![last]].concat();
        check(&good, Some(Method::Head));
        check(&with(("accept", "*/*")), Some(Method::Head));
        check(&good[1..], None);
        check(&good[..2], None);
        for last in [
            (":path", "/"),
            (":status", "200"),
            ("Accept", "*/*"),
            ("connection", "close"),
            ("", ""),
        ] {
            check(&with(last), None);
        }
        let behind = [("accept", "*/*"), good[0], good[1], good[2]];
        check(&behind, None);
    }
}

//! Values for variables of the environment that are not set here.
//!
//! The value fits the variable's name. If the name says nothing, the variable stays empty, as the
//! server would read it.

/// Ends of names and the values that stand for them; the first that fits.
const VALUES: [(&[&str], &str); 18] = [
    (&["EMAIL", "MAIL", "E_MAIL"], "admin@example.com"),
    (&["HASH", "HASHED", "PASSWORD", "PASS", "PASSWD"], HASH),
    (&["PORT"], "8080"),
    (
        &["UPSTREAM", "UPSTREAMS", "BACKEND", "TARGET", "PROXY"],
        "127.0.0.1:9",
    ),
    (&["URI"], "/"),
    (&["URL", "ORIGIN"], "http://example.com"),
    (
        &[
            "DOMAIN", "DOMAINS", "HOST", "HOSTS", "HOSTNAME", "FQDN", "SERVER", "NAME", "SITE",
        ],
        "example.com",
    ),
    (&["ADDRESS", "ADDRESSES", "ADDR"], "example.com"),
    (&["ROOT", "DIR", "DIRECTORY", "FOLDER", "PATH"], "/srv"),
    (&["LEVEL"], "info"),
    (&["LIMIT", "SIZE"], "10MB"),
    (&["TLS"], "internal"),
    (&["PROTOCOL", "SCHEME", "PROTO"], "https"),
    (&["BIND", "BIND_CONFIG", "LISTEN"], ":8080"),
    (&["ADMIN"], "off"),
    (&["TIMEOUT", "INTERVAL", "DURATION", "DELAY", "TTL"], "10s"),
    (&["USER", "USERNAME", "LOGIN"], "user"),
    (&["TOKEN", "KEY", "SECRET"], "none"),
];
/// No password has this hash, but it is well formed.
const HASH: &str = "$2a$14$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A value for the variable `name`; `None` where an empty one is as good as any.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let last = name.rsplit('_').next().unwrap_or_default();
    let fits = |end: &str| last == end || end.contains('_') && name.ends_with(end);
    let by_part = VALUES
        .iter()
        .find(|(ends, _)| ends.iter().any(|end| fits(end)));
    let joined = || {
        // As in SERVERNAME or APPPORT.
        let is_end = |end: &&str| end.len() > 3 && name.ends_with(*end);
        VALUES.iter().find(|(ends, _)| ends.iter().any(is_end))
    };
    by_part.or_else(joined).map(|(_, value)| *value)
}

/// The same for a text, with the value in place of each variable of the form that `next` finds:
/// where it stands, its name, and what it says to be its default.
pub(crate) fn filled(text: &str, next: impl Fn(&str) -> Option<Variable<'_>>) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(variable) = next(rest) {
        filled.push_str(&rest[..variable.from]);
        let value = variable.default.or_else(|| of(variable.name));
        filled.push_str(value.unwrap_or_default());
        rest = &rest[variable.to..];
    }
    filled + rest
}

/// A variable of the environment in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable<'t> {
    pub(crate) name: &'t str,
    pub(crate) default: Option<&'t str>,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The first variable of a text that begins with `open`, as `{$` does, and ends with a brace; its
/// default follows `mark`.
pub(crate) fn variable<'t>(text: &'t str, open: &str, mark: &str) -> Option<Variable<'t>> {
    let mut after = 0;
    loop {
        let from = after + text[after..].find(open)?;
        let begin = from + open.len();
        let length = text[begin..].find('}')?;
        let inner = &text[begin..begin + length];
        let (name, default) = match inner.split_once(mark) {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !name.is_empty() && name.chars().all(is_name) {
            let to = begin + length + 1;
            return Some(Variable {
                name,
                default,
                from,
                to,
            });
        }
        after = begin;
    }
}

/// The first variable of a text without braces, such as `$PORT`: in capitals, as a regular
/// expression seldom goes on behind its end.
pub(crate) fn bare(text: &str) -> Option<Variable<'_>> {
    let is_letter = |letter: char| letter.is_ascii_uppercase() || letter == '_';
    let is_part = |letter: char| is_letter(letter) || letter.is_ascii_digit();
    let mut marks = text.match_indices('$');
    marks.find_map(|(from, _)| {
        let rest = &text[from + 1..];
        let length = rest
            .find(|letter: char| !is_part(letter))
            .unwrap_or(rest.len());
        let name = &rest[..length];
        (length > 1 && name.starts_with(is_letter)).then_some(Variable {
            name,
            default: None,
            from,
            to: from + 1 + length,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_value_is_for() {
        for (name, value) in [
            ("DOMAIN", Some("example.com")),
            ("MY_SITE_ADDRESS", Some("example.com")),
            ("SERVERNAME", Some("example.com")),
            ("acme_email", Some("admin@example.com")),
            ("APP_PORT", Some("8080")),
            ("LOG_LEVEL", Some("info")),
            ("CADDY_GLOBAL_OPTIONS", None),
            ("EXTRA", None),
            ("", None),
        ] {
            assert_eq!(of(name), value, "{name}");
        }
    }

    #[test]
    fn variables_are_filled_with_their_defaults_first() {
        let next = |text: &str| filled(text, |rest| variable(rest, "{$", ":"));
        assert_eq!(
            next("{$DOMAIN:a.test}, www.{$DOMAIN}"),
            "a.test, www.example.com"
        );
        assert_eq!(next("{$A B} {$X}{$"), "{$A B} {$");
        assert_eq!(next("{$"), "{$");
        let bare = |text: &str| filled(text, bare);
        assert_eq!(bare("*:$FRONT_PORT ^/a$ $1 $x"), "*:8080 ^/a$ $1 $x");
    }
}

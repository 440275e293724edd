//! Secrets that show by their form, whatever comes before them: private keys, password hashes,
//! credentials in URLs and in authentication schemes, tokens of well-known forms.

use std::ops::Range;

/// Beginnings of password hashes, as `htpasswd`, `crypt` and Caddy write them; the last two are
/// bcrypt's once more in base64.
const HASHES: [&str; 17] = [
    "$apr1$", "$1$", "$2$", "$2a$", "$2b$", "$2x$", "$2y$", "$5$", "$6$", "$7$", "$y$", "$argon2",
    "$scrypt$", "{SHA", "{SSHA", "JDJhJD", "JDJ5JD",
];
/// Beginnings of tokens, and how long one is at least.
const TOKENS: [(&str, usize); 13] = [
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("eyJ", 24),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("sk_live_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
];
/// Authentication schemes whose credential is one word.
const SCHEMES: [&str; 5] = ["basic", "bearer", "token", "apikey", "negotiate"];
/// Signs that close a word in a sentence.
pub(super) const CLOSING: [char; 8] = [',', '.', ':', ')', ']', '}', '>', '\\'];
/// A user's name without a password is a token from this length on.
const TOKEN_AS_USER: usize = 16;

/// Where such a secret stands.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    found.extend(credentials_in_urls(text));
    let words = words(text);
    for (index, word) in words.iter().enumerate() {
        found.extend(token(text, word));
        let next = words.get(index + 1);
        found.extend(next.filter(|next| is_credential(text, word, next)).cloned());
    }
    found
}

/// Whether the value begins as a password hash does.
pub(super) fn is_hash(value: &str) -> bool {
    HASHES.iter().any(|beginning| value.starts_with(beginning))
}

/// Whether a word looks made up by a program: nobody writes it in a sentence.
pub(super) fn looks_coded(word: &str) -> bool {
    let mut before = ' ';
    let mut has_hump = false;
    for character in word.chars() {
        has_hump |= before.is_ascii_lowercase() && character.is_ascii_uppercase();
        before = character;
    }
    let is_odd = |c: char| c.is_ascii_digit() || matches!(c, '=' | '-' | '_' | '.' | '+' | '/');
    word.len() >= 6 && (has_hump || word.chars().any(is_odd))
}

/// What stands between the two lines of each private key in PEM form, without the blank around it.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    const DASHES: &str = "-----";
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(BEGIN) {
        at += begin + BEGIN.len();
        let Some(label) = text[at..].find(DASHES) else {
            break;
        };
        let is_private = text[at..at + label].ends_with("PRIVATE KEY");
        at += label + DASHES.len();
        let end = text[at..].find(DASHES).map_or(text.len(), |end| at + end);
        if is_private {
            // In a quoted text a line ends with `\n`.
            let blank = |c: char| c.is_whitespace() || c == '\\';
            let inside = text[at..end].trim_end_matches(|c: char| blank(c) || c == 'n');
            let kept = inside.trim_start_matches(blank);
            let kept = kept.strip_prefix('n').unwrap_or(kept);
            let start = at + inside.len() - kept.len();
            found.push(start..at + inside.len());
        }
    }
    found.retain(|range| range.start < range.end);
    found
}

/// The password of `scheme://user:password@host`, and a user's name that is a token.
fn credentials_in_urls(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (scheme, mark) in text.match_indices("://") {
        let start = scheme + mark.len();
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<');
        let authority = text[start..].find(ends);
        let authority = &text[start..authority.map_or(text.len(), |end| start + end)];
        let Some((user, _)) = authority.rsplit_once('@') else {
            continue;
        };
        match user.split_once(':') {
            Some((name, _)) => found.push(start + name.len() + 1..start + user.len()),
            None if user.len() >= TOKEN_AS_USER => found.push(start..start + user.len()),
            None => {}
        }
    }
    found.retain(|range| range.start < range.end);
    found
}

/// Runs of characters that a token may consist of.
fn words(text: &str) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>');
    let mut words = Vec::new();
    let mut start = 0;
    for (at, character) in text.char_indices().filter(|(_, c)| ends(*c)) {
        if start < at {
            words.push(start..at);
        }
        start = at + character.len_utf8();
    }
    if start < text.len() {
        words.push(start..text.len());
    }
    words
}

/// The hash or the token in a word: `user:$apr1$...`, `token=eyJ...`.
fn token(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let own = &text[word.clone()];
    let hash = HASHES.iter().filter_map(|beginning| own.find(beginning));
    if let Some(at) = hash.min() {
        let is_long = own.len() - at >= 8;
        return is_long.then_some(word.start + at..word.end);
    }
    let of = |(beginning, least): &(&str, usize)| {
        let at = own.find(beginning)?;
        let before = own[..at].chars().next_back();
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = own[at..].find(|c| !part(c)).unwrap_or(own.len() - at);
        let is_whole = before.is_none_or(|c| !c.is_ascii_alphanumeric());
        (is_whole && length >= *least).then_some(word.start + at..word.start + at + length)
    };
    TOKENS.iter().find_map(of)
}

/// Whether `next` is the credential of an authentication scheme: `Bearer abc123`.
fn is_credential(text: &str, word: &Range<usize>, next: &Range<usize>) -> bool {
    let scheme = text[word.clone()]
        .rsplit([':', '=', '('])
        .next()
        .unwrap_or("");
    let is_scheme = ["basic", "bearer"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(scheme));
    let between = &text[word.end..next.start];
    is_scheme && between.trim().is_empty() && looks_coded(&text[next.clone()])
}

/// Whether an authentication scheme is called so.
pub(super) fn is_scheme(word: &str) -> bool {
    let mut schemes = SCHEMES.iter();
    schemes.any(|scheme| scheme.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, secrets: &[&str]) {
        let found: Vec<&str> = find(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, secrets, "{text}");
    }

    #[test]
    fn secrets_show_by_what_they_look_like() {
        check("alice:$apr1$Xy12$abcdefgh/.", &["$apr1$Xy12$abcdefgh/."]);
        check(
            "bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            &["{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="],
        );
        check(
            "basic_auth { eve $2a$14$Zkx19XLiW6 }",
            &["$2a$14$Zkx19XLiW6"],
        );
        check("proxy_pass http://app:hunter2@10.0.0.1:80/x;", &["hunter2"]);
        check("redis://:pa@ss@cache:6379", &["pa@ss"]);
        check("ssh://git@example.com/x and http://a/b?c@d", &[]);
        check("rejected Bearer abc123 of 127.0.0.1", &["abc123"]);
        check("Basic authentication is off", &[]);
        check(
            "a=eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.abc-_1, b",
            &["eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.abc-_1"],
        );
        check("$host$request_uri $1 a://b", &[]);
    }

    #[test]
    fn private_keys_show_and_certificates_do_not() {
        let pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\nAbc=\n-----END EC PRIVATE KEY-----\n";
        check(pem, &["MHcCAQ\nAbc="]);
        let quoted =
            r#"{"k": "-----BEGIN PRIVATE KEY-----\nMHcCAQ\nAbc=\n-----END PRIVATE KEY-----\n"}"#;
        check(quoted, &[r"MHcCAQ\nAbc="]);
        check(
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            &[],
        );
        check("-----BEGIN PRIVATE KEY-----\ncut off", &["cut off"]);
    }
}

//! Names whose values are secret: of headers, of settings, of parameters in a URL.
//!
//! Nothing here looks at a value.

/// Headers that carry what lets somebody in. Others are secret by their name's parts, such as
/// `X-Session-Token`.
const HEADERS: [&str; 12] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "cookie2",
    "set-cookie",
    "set-cookie2",
    "x-api-key",
    "api-key",
    "apikey",
    "x-amz-security-token",
    "x-csrftoken",
    "x-forwarded-client-cert",
];
/// What a name contains, its separators left out, if its value is secret.
const CONTAINED: [&str; 5] = ["password", "passwd", "passphrase", "secret", "credential"];
/// What it ends with, its separators left out.
const COMPOUNDS: [&str; 12] = [
    "apikey",
    "authkey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "sessionkey",
    "hmackey",
    "token",
    "jwt",
];
/// Last parts of a name that say in which form a key or token stands, such as `key_base64`.
const FORMS: [&str; 10] = [
    "base", "base64", "bytes", "content", "data", "hex", "inline", "pem", "string", "value",
];
/// Parameters of a URL that are secret besides.
const PARAMETERS: [&str; 7] = [
    "auth",
    "pass",
    "session",
    "sessionid",
    "sid",
    "sig",
    "signature",
];
/// Longest name that is looked at: a longer one is no name.
const NAME_LONGEST: usize = 64;

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// It is secret.
    Secret,
    /// It is the value of a header, which may have several words.
    Header,
    /// It is secret where `=` or `:` stands between, as in `DB_PASS=...`: `proxy_pass` has none.
    Assigned,
}

/// What this name says; `None` where its value is not secret.
pub(super) fn class(name: &str) -> Option<Name> {
    if name.is_empty() || name.len() > NAME_LONGEST {
        return None;
    }
    let parts = parts(name);
    let dashed = parts.join("-");
    // nginx and CGI write headers as variables: $http_authorization, HTTP_X_API_KEY.
    let header = dashed.strip_prefix("http-").unwrap_or(&dashed);
    if HEADERS.contains(&header) {
        return Some(Name::Header);
    }
    let joined = parts.concat();
    if CONTAINED.iter().any(|part| joined.contains(part)) {
        return Some(Name::Secret);
    }
    if parts.iter().any(|part| part == "public") {
        return None;
    }
    let last = parts.last().map_or("", String::as_str);
    let is_key = |part: &str| ["key", "keys", "token", "tokens", "pwd", "jwt"].contains(&part);
    let before_last = parts.iter().rev().nth(1).map_or("", String::as_str);
    // `server_tokens off` says how much the `Server` header says.
    let is_banner = last == "tokens" && before_last == "server";
    let is_compound = COMPOUNDS.iter().any(|end| joined.ends_with(end));
    if !is_banner && (is_key(last) || is_compound || FORMS.contains(&last) && is_key(before_last)) {
        return Some(Name::Secret);
    }
    (last == "pass").then_some(Name::Assigned)
}

/// Whether this parameter of a URL is secret.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    let parts = parts(name);
    let last = parts.last().map_or("", String::as_str);
    class(name).is_some() || PARAMETERS.contains(&last)
}

/// The name in lower-case parts: `X-Api-Key`, `x_api_key` and `xApiKey` have the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for character in name.chars() {
        let is_hump = before.is_ascii_lowercase() && character.is_ascii_uppercase();
        if !character.is_ascii_alphanumeric() || is_hump {
            parts.push(String::new());
        }
        if character.is_ascii_alphanumeric() {
            let part = parts.last_mut().expect("there is always one");
            part.push(character.to_ascii_lowercase());
        }
        before = character;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whether_their_values_are_secret() {
        let rows = [
            ("password", Some(Name::Secret)),
            ("insecure-password", Some(Name::Secret)),
            ("DB_PASSWORD", Some(Name::Secret)),
            ("clientSecret", Some(Name::Secret)),
            ("secret_key_base", Some(Name::Secret)),
            ("api_token", Some(Name::Secret)),
            ("accesstoken", Some(Name::Secret)),
            ("key", Some(Name::Secret)),
            ("private_key", Some(Name::Secret)),
            ("AWS_SECRET_ACCESS_KEY", Some(Name::Secret)),
            ("key_base64", Some(Name::Secret)),
            ("X-Session-Token", Some(Name::Secret)),
            ("http_authorization", Some(Name::Header)),
            ("Proxy-Authorization", Some(Name::Header)),
            ("Set-Cookie", Some(Name::Header)),
            ("smtp_pass", Some(Name::Assigned)),
            ("proxy_pass", Some(Name::Assigned)),
            ("server_tokens", None),
            ("ServerTokens", None),
            ("keepalive", None),
            ("keys_zone", None),
            ("public_key", None),
            ("monkey", None),
            ("Accept", None),
        ];
        for (name, expected) in rows {
            assert_eq!(class(name), expected, "{name}");
        }
        assert!(is_secret_parameter("sig") && is_secret_parameter("access_token"));
        assert!(is_secret_parameter("X-Amz-Signature") && !is_secret_parameter("page"));
    }
}

//! What people write in URLs, as it is sent: names of hosts in ASCII (RFC 5890), and paths
//! percent-encoded (RFC 3986).

/// Most bytes of a label (RFC 1035, 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// A path and query with a slash before it, and with blanks and what is no ASCII percent-encoded,
/// as browsers do (RFC 3987, 3.1).
pub fn encoded_target(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len() + 1);
    if !path.starts_with('/') {
        encoded.push('/');
    }
    let mut bytes = [0; 4];
    for letter in path.chars() {
        if letter.is_ascii() && letter != ' ' {
            encoded.push(letter);
        } else {
            let bytes = letter.encode_utf8(&mut bytes).bytes();
            encoded.extend(bytes.map(|byte| format!("%{byte:02X}")));
        }
    }
    encoded
}

/// A host and what stands behind it, with the name in ASCII; `None` as with the name alone.
pub fn ascii_authority(authority: &str) -> Option<String> {
    let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
    Some(ascii_host(host)? + port)
}

/// The name of a host as the DNS and `Host` have it; `None` where it cannot be one, or where only
/// tables of Unicode could say what it is.
fn ascii_host(host: &str) -> Option<String> {
    if host.is_ascii() {
        return Some(host.to_owned());
    }
    // Other dots that end a label (RFC 3490, 3.1).
    let labels = host.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
    let labels: Option<Vec<String>> = labels.map(ascii_label).collect();
    labels.map(|labels| labels.join("."))
}

fn ascii_label(label: &str) -> Option<String> {
    if label.is_ascii() {
        return Some(label.to_owned());
    }
    let letters: Vec<char> = label.chars().flat_map(char::to_lowercase).collect();
    // Marks that combine and letters of other widths have a form that is another name.
    let is_wide = |letter: char| ('\u{ff00}'..='\u{ffef}').contains(&letter);
    let fits = |letter: &char| (letter.is_alphanumeric() && !is_wide(*letter)) || *letter == '-';
    if !letters.iter().all(fits) {
        return None;
    }
    let label = format!("xn--{}", punycode(&letters)?);
    (label.len() <= LABEL_BYTES_MAX).then_some(label)
}

// The parameters of Punycode for names (RFC 3492, 5).
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 128;

/// Letters as Punycode (RFC 3492, 6.3).
fn punycode(letters: &[char]) -> Option<String> {
    let mut encoded: String = letters.iter().filter(|it| it.is_ascii()).collect();
    let plain = encoded.len() as u32;
    if plain > 0 {
        encoded.push('-');
    }
    let (mut handled, mut n, mut delta, mut bias) = (plain, INITIAL_N, 0_u32, INITIAL_BIAS);
    while (handled as usize) < letters.len() {
        let codes = || letters.iter().map(|letter| *letter as u32);
        let next = codes().filter(|code| *code >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(handled + 1)?)?;
        n = next;
        for code in codes() {
            delta = delta.checked_add(u32::from(code < n))?;
            if code == n {
                push_number(&mut encoded, delta, bias);
                bias = adapted(delta, handled + 1, handled == plain);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(encoded)
}

/// Appends a number of variable length (RFC 3492, 3.3).
fn push_number(encoded: &mut String, mut number: u32, bias: u32) {
    let mut k = BASE;
    loop {
        let t = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if number < t {
            return encoded.push(digit(number));
        }
        encoded.push(digit(t + (number - t) % (BASE - t)));
        number = (number - t) / (BASE - t);
        k += BASE;
    }
}

/// The bias that follows (RFC 3492, 6.1).
fn adapted(delta: u32, points: u32, is_first: bool) -> u32 {
    let mut delta = delta / if is_first { DAMP } else { 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

/// `a` to `z`, then `0` to `9`.
fn digit(value: u32) -> char {
    let value = (value + 10) % BASE;
    char::from_digit(value, BASE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_ascii() {
        for (host, expected) in [
            ("example.test", Some("example.test")),
            ("b\u{fc}cher.example", Some("xn--bcher-kva.example")),
            ("M\u{dc}NCHEN.de", Some("xn--mnchen-3ya.de")),
            ("fa\u{df}.de", Some("xn--fa-hia.de")),
            (
                "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.example",
                Some("xn--e1afmkfd.example"),
            ),
            ("\u{4f8b}\u{3048}\u{3002}jp", Some("xn--r8jz45g.jp")),
            // The example of RFC 3492, 7.1 (B).
            (
                "\u{4ed6}\u{4eec}\u{4e3a}\u{4ec0}\u{4e48}\u{4e0d}\u{8bf4}\u{4e2d}\u{6587}",
                Some("xn--ihqwcrb4cv8a8dqg056pqjye"),
            ),
            ("u\u{308}.example", None),
            ("\u{1f355}.example", None),
            ("\u{ff41}\u{fc}.example", None),
            ("a\u{fc} b", None),
        ] {
            assert_eq!(ascii_host(host).as_deref(), expected, "{host}");
        }
        let long = "\u{fc}".repeat(100);
        assert_eq!(ascii_host(&long), None);
    }

    #[test]
    fn paths_become_ascii() {
        let target = "/a b/\u{fc}?c d=%20&e=\u{20ac}";
        assert_eq!(
            encoded_target(target),
            "/a%20b/%C3%BC?c%20d=%20&e=%E2%82%AC"
        );
    }
}

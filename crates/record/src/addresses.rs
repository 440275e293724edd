//! Replaces the addresses of hosts by their names in what a record holds, unless its user asked for
//! addresses.

use std::net::IpAddr;
use std::path::Path;
use std::{fs, io};

use std::io::Read as _;

use crate::private::replace_private;
use crate::regular::open_regular;

/// Longest address that is looked for, bytes: a name in DNS is no longer.
const ADDRESS_BYTES_MAX: usize = 255;
/// Logs of a trial longer than that are cut, bytes.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// What stands at the end of a log that was cut.
const CUT: &str = "\n[bakeoff has cut the rest: see --addresses]\n";
/// Keys of a trial whose texts are no words: the format's version and what is in base64.
const ENCODED_KEYS: [&str; 6] = [
    "schema",
    "hdr",
    "send_gaps_ns",
    "latencies_ns",
    "long_waits_ns",
    "answers",
];
/// Keys of a trial whose texts are names that other parts of a record go by.
const NAME_KEYS: [&str; 6] = ["id", "contender", "workload", "load_name", "host", "name"];

/// Addresses that are not to be written, each with the name of its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(Vec<(String, String)>);

impl Addresses {
    /// Adds an address of the host called `name`: an IP address or a name in DNS. Those of
    /// loopback lead nowhere from elsewhere, and are left as they are.
    pub fn add(&mut self, address: &str, name: &str) {
        let bare = address.trim_matches(['[', ']']);
        let is_local = match bare.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
            Err(_) => bare == "localhost",
        };
        let fits = (1..=ADDRESS_BYTES_MAX).contains(&bare.len());
        if is_local || !fits || bare == name || self.0.iter().any(|(known, _)| known == bare) {
            return;
        }
        self.0.push((bare.to_owned(), name.to_owned()));
        // Where one begins as another does, the longer one is looked for first.
        self.0
            .sort_by_key(|(address, _)| usize::MAX - address.len());
    }

    /// Whether there is nothing to be hidden.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with names in the places of addresses.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.hide_those(text, |_| true)
    }

    /// JSON with names in the places of addresses, in its texts alone. Its keys and its order stay.
    ///
    /// An address may be one word: `load` is a name in Kubernetes, and a key of a trial. Such a
    /// word stays where it is all of a text, which may be a term of the format, and in names.
    pub(crate) fn hide_in_json(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let (mut left, mut key) = (json, None);
        while let Some(start) = left.find('"') {
            let (before, quoted) = left.split_at(start + 1);
            let Some(end) = end_of_text(quoted) else {
                break;
            };
            let (text, after) = quoted.split_at(end);
            out.push_str(before);
            if after[1..].trim_start().starts_with(':') {
                out.push_str(text);
                key = Some(text);
            } else {
                // A key is that of the next text alone.
                let of_key = key.take().filter(|_| before.trim_start() == ":\"");
                out.push_str(&self.hide_in_value(text, of_key));
            }
            out.push('"');
            left = &after[1..];
        }
        out.push_str(left);
        out
    }

    /// What stands behind a key of JSON.
    fn hide_in_value(&self, text: &str, key: Option<&str>) -> String {
        let is_one = |keys: &[&str]| key.is_some_and(|key| keys.contains(&key));
        if is_one(&ENCODED_KEYS) {
            return text.to_owned();
        }
        let is_name = is_one(&NAME_KEYS);
        self.hide_those(text, |address| {
            !is_word(address) || !(is_name || text.eq_ignore_ascii_case(address))
        })
    }

    /// The text with names in the places of those addresses that `is_hidden` is true of.
    fn hide_those(&self, text: &str, is_hidden: impl Fn(&str) -> bool) -> String {
        let begins = self.begins();
        let mut out = String::with_capacity(text.len());
        // Most of a log is none of their first letters, and is not looked at any closer.
        let ahead = |bytes: &[u8]| bytes.iter().position(|byte| begins[usize::from(*byte)]);
        // How much of the text is in `out`, and how much was looked at.
        let (mut taken, mut at) = (0, 0);
        while let Some(next) = ahead(&text.as_bytes()[at..]) {
            let start = at + next;
            at = start + 1;
            let before = letter_before(text, start);
            let is_here =
                |address: &str| is_at(&text[start..], before, address) && is_hidden(address);
            if let Some((address, name)) = self.0.iter().find(|(address, _)| is_here(address)) {
                out.push_str(&text[taken..start]);
                out.push_str(name);
                at = start + address.len();
                taken = at;
            }
        }
        out.push_str(&text[taken..]);
        out
    }

    /// Which bytes an address begins with, in either case.
    fn begins(&self) -> [bool; 256] {
        let mut begins = [false; 256];
        for first in self.0.iter().filter_map(|(it, _)| it.bytes().next()) {
            begins[usize::from(first.to_ascii_lowercase())] = true;
            begins[usize::from(first.to_ascii_uppercase())] = true;
        }
        begins
    }

    /// Rewrites the files of a folder, and of those in it, that hold an address.
    pub(crate) fn hide_in(&self, folder: &Path) -> io::Result<()> {
        if self.is_empty() || !folder.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                self.hide_in(&path)?;
            } else if kind.is_file() {
                self.hide_in_file(&path)?;
            }
        }
        Ok(())
    }

    fn hide_in_file(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut file = open_regular(path)?;
        file.by_ref()
            .take(LOG_BYTES_MAX + 1)
            .read_to_end(&mut bytes)?;
        let is_cut = bytes.len() as u64 > LOG_BYTES_MAX;
        if is_cut {
            // What is not read may hold one.
            bytes.truncate(LOG_BYTES_MAX as usize - ADDRESS_BYTES_MAX);
        }
        let text = String::from_utf8_lossy(&bytes);
        let hidden = self.hide(&text);
        match (is_cut, hidden == text) {
            (false, true) => Ok(()),
            (false, false) => replace_private(path, hidden.as_bytes()),
            (true, _) => replace_private(path, (hidden + CUT).as_bytes()),
        }
    }
}

/// Whether an address has one word, as a name in a cluster.
fn is_word(address: &str) -> bool {
    !address.contains(['.', ':'])
}

/// Where the quote is that ends a text of JSON, whose first quote is not in `quoted`.
fn end_of_text(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    quoted.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// The letter before a place in a text. In JSON an address may follow the one of a line end, `\n`,
/// which is none: the backslash before it makes it another sign.
fn letter_before(text: &str, place: usize) -> Option<char> {
    let mut before = text[..place].chars().rev();
    let letter = before.next()?;
    let backslashes = before.take_while(|it| *it == '\\').count();
    backslashes.is_multiple_of(2).then_some(letter)
}

/// Whether an address stands at the start of `left`, and not as a part of a longer one.
fn is_at(left: &str, before: Option<char>, address: &str) -> bool {
    let head = left.as_bytes().get(..address.len());
    if !head.is_some_and(|head| head.eq_ignore_ascii_case(address.as_bytes())) {
        return false;
    }
    // A port may follow, and after an IPv6 address only behind a bracket.
    let is_v6 = address.contains(':');
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || (is_v6 && c == ':');
    let mut after = left[address.len()..].chars();
    let goes_on = match (after.next(), after.next()) {
        (Some('.'), Some(next)) => next.is_ascii_alphanumeric(),
        (Some(next), _) => part(next),
        (None, _) => false,
    };
    !goes_on && !before.is_some_and(|c| part(c) || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        let mut addresses = Addresses::default();
        for (address, name) in [
            ("10.99.0.1", "sut"),
            ("10.99.0.11", "g1"),
            ("2001:db8::1", "g2"),
            ("g3.bench.example", "g3"),
            ("127.0.0.2", "home"),
            ("localhost", "home"),
            ("g4", "g4"),
        ] {
            addresses.add(address, name);
        }
        addresses
    }

    #[test]
    fn names_stand_in_the_places_of_addresses() {
        for (text, expected) in [
            ("listen 10.99.0.1:8080;", "listen sut:8080;"),
            ("10.99.0.11 and 10.99.0.1.", "g1 and sut."),
            (r#"{"a":"10.99.0.1"}"#, r#"{"a":"sut"}"#),
            ("http://[2001:DB8::1]:80/", "http://[g2]:80/"),
            ("https://g3.bench.example/", "https://g3/"),
            ("ä10.99.0.1ä", "äsutä"),
            ("x\\n10.99.0.1", "x\\nsut"),
            ("10.99.0.1,10.99.0.11", "sut,g1"),
            ("G3.bench.Example g3.bench.example", "g3 g3"),
        ] {
            assert_eq!(addresses().hide(text), expected);
        }
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        for text in [
            "10.99.0.12",
            "110.99.0.1",
            "1.10.99.0.1",
            "10.99.0.1.5",
            "2001:db8::1:2",
            "www.g3.bench.example",
            "127.0.0.2:80 localhost g4",
            // The first backslash makes the second one a sign; the letter is one of the text.
            r"x\\n10.99.0.1",
            "",
        ] {
            assert_eq!(addresses().hide(text), text);
        }
    }

    #[test]
    fn json_keeps_its_keys_terms_names_and_codes() {
        let mut addresses = addresses();
        for (address, name) in [("load", "g5"), ("server", "sut"), ("AB", "g6")] {
            addresses.add(address, name);
        }
        for (json, expected) in [
            (r#"{"load":{"end":1}}"#, r#"{"load":{"end":1}}"#),
            (r#"{"roles":["server"]}"#, r#"{"roles":["server"]}"#),
            (r#"{"id":"r1-load~"}"#, r#"{"id":"r1-load~"}"#),
            (r#"{"hdr":"x+AB+y="}"#, r#"{"hdr":"x+AB+y="}"#),
            (r#"{"x":"x+AB+y="}"#, r#"{"x":"x+g6+y="}"#),
            (r#"{"hdr":1,"x":"x+AB"}"#, r#"{"hdr":1,"x":"x+g6"}"#),
            (r#"{"url":"http://load:80/"}"#, r#"{"url":"http://g5:80/"}"#),
            (
                r#"{"load" : "say \"load:80\"", "b":["at 10.99.0.1"]}"#,
                r#"{"load" : "say \"g5:80\"", "b":["at sut"]}"#,
            ),
            (r#"{"10.99.0.1":"10.99.0.1"}"#, r#"{"10.99.0.1":"sut"}"#),
            (r#"["a\\","load:1"]"#, r#"["a\\","g5:1"]"#),
        ] {
            assert_eq!(addresses.hide_in_json(json), expected);
        }
    }

    #[test]
    fn logs_are_rewritten_and_what_is_too_long_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        fs::create_dir(&logs).unwrap();
        let plain = logs.join("plain");
        fs::write(&plain, b"\xff nothing\n").unwrap();
        fs::write(logs.join("access"), "10.99.0.11 - GET /\n").unwrap();
        let long = logs.join("long");
        let length = LOG_BYTES_MAX + 100;
        fs::File::create(&long).unwrap().set_len(length).unwrap();
        addresses().hide_in(folder.path()).unwrap();
        let read = |name: &str| fs::read(logs.join(name)).unwrap();
        assert_eq!(read("access"), b"g1 - GET /\n");
        assert_eq!(read("plain"), b"\xff nothing\n", "untouched");
        let cut = read("long");
        assert!((cut.len() as u64) < length && cut.ends_with(CUT.as_bytes()));
        Addresses::default().hide_in(&logs.join("none")).unwrap();
    }
}

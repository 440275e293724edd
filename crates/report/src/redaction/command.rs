//! The command that began a campaign, as a shared copy says it.

use super::homes::without_homes;
use super::{HIDDEN, NOT_SHARED, is_kept};

/// Flags that a header follows.
const HEADER_FLAGS: [&str; 2] = ["-H", "--header"];

/// Leaves out the folders of paths, and the values of headers that the plan of the copy has not
/// either.
pub(super) fn share(arguments: &mut [String]) {
    let mut is_header = false;
    for argument in arguments {
        let flag = HEADER_FLAGS
            .iter()
            .find(|flag| argument.starts_with(**flag));
        let attached = flag.map(|flag| argument[flag.len()..].trim_start_matches('='));
        let is_next = attached == Some("") && !is_header;
        *argument = match attached {
            _ if is_header => without_value(argument),
            // `-HName: value` and `--header=Name: value`.
            Some(header) if !header.is_empty() => {
                let flag = &argument[..argument.len() - header.len()];
                format!("{flag}{}", without_value(header))
            }
            _ => without_folders(argument),
        };
        is_header = is_next;
    }
}

/// A header whose value says only how an answer is sent, or its name alone.
fn without_value(header: &str) -> String {
    match header.split_once(':') {
        Some((name, value)) if !is_kept(name.trim(), value.trim()) && !value.contains(HIDDEN) => {
            format!("{name}: {NOT_SHARED}")
        }
        _ => header.to_owned(),
    }
}

/// An argument without the folders of its paths, which may name a user or a client:
/// `--out=/home/me/acme/one` is `--out=one`. Addresses stay, without the home folders in them.
fn without_folders(argument: &str) -> String {
    let shown: Vec<String> = argument.split(' ').map(of_word).collect();
    shown.join(" ")
}

fn of_word(word: &str) -> String {
    if word.contains("://") {
        return without_homes(word);
    }
    let (flag, value) = match word.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => (format!("{flag}="), value),
        _ => (String::new(), word),
    };
    let name = value.trim_end_matches('/').rsplit('/').next();
    format!("{flag}{}", name.unwrap_or(value))
}

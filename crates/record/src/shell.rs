//! Words of the commands that messages propose.

use std::path::Path;

/// A text as a shell takes it for one word. One that needs no quotes stays as it is.
pub fn shell_word(text: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "/._-+:@%,=".contains(one);
    // A shell may replace `=word` by the path of a program.
    let is_word = !text.is_empty() && !text.starts_with('=');
    if is_word && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The same of a path.
pub fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_for_one_word() {
        let check = |text: &str, expected: &str| assert_eq!(shell_word(text), expected);
        check("bakeoff-results/race-1", "bakeoff-results/race-1");
        check("größe_2.5+x@y:1,2%", "größe_2.5+x@y:1,2%");
        check("my record", "'my record'");
        check("it's", "'it'\\''s'");
        check("$HOME", "'$HOME'");
        check("~/a", "'~/a'");
        check("a;b", "'a;b'");
        check("", "''");
        assert_eq!(shell_path(Path::new("a b/c")), "'a b/c'");
    }
}

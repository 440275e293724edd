//! Home folders in texts: they name a user.

/// Folders that hold those of users.
const PARENTS: [&str; 2] = ["/home/", "/Users/"];
const ROOTS_OWN: &str = "/root";

/// The text with `~` for the home folder of anybody: `/home/me/bin/caddy` is `~/bin/caddy`.
pub(super) fn without_homes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let home = home(rest).filter(|_| may_begin(&out));
        let taken = match home {
            Some(home) => {
                out.push('~');
                home
            }
            None => {
                out.push(one);
                one.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// Whether a path may begin behind this text: where no other one goes on, behind the scheme of an
/// address without a host (`file:///home/me`), and behind the letter of a flag (`-c/home/me/x`).
fn may_begin(before: &str) -> bool {
    let word = before.rsplit(|one| !is_of_path(one)).next().unwrap_or("");
    let mut letters = word.chars();
    match (letters.next(), letters.next(), letters.next()) {
        (None, ..) => true,
        (Some('/'), Some('/'), None) => before.ends_with("://"),
        (Some('-'), Some(flag), None) => flag.is_ascii_alphabetic(),
        _ => false,
    }
}

/// The length of the home folder that a text begins with.
fn home(text: &str) -> Option<usize> {
    if let Some(after) = text.strip_prefix(ROOTS_OWN) {
        return (name_length(after) == 0).then_some(ROOTS_OWN.len());
    }
    let parent = PARENTS.iter().find(|parent| text.starts_with(**parent))?;
    let name = name_length(&text[parent.len()..]);
    (name > 0).then_some(parent.len() + name)
}

fn name_length(text: &str) -> usize {
    let end = text.find(|one| one == '/' || !is_of_path(one));
    end.unwrap_or(text.len())
}

fn is_of_path(one: char) -> bool {
    one.is_alphanumeric() || "/._-~".contains(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_folder_is_a_tilde_and_nothing_else_is() {
        for (text, expected) in [
            ("/home/me/bin/caddy", "~/bin/caddy"),
            ("--config=/home/me.x/a /Users/jo", "--config=~/a ~"),
            ("root \"/root/site\"; /root", "root \"~/site\"; ~"),
            ("open '/home/ünal/x': no", "open '~/x': no"),
            ("root file:///home/me/x;", "root file://~/x;"),
            ("nginx -c/home/me/x -p/root", "nginx -c~/x -p~"),
            ("a-c/home/me/x -ab/home/me/x", "a-c/home/me/x -ab/home/me/x"),
            (
                "/rootless/x /srv/home/me/x /home/",
                "/rootless/x /srv/home/me/x /home/",
            ),
            (
                "http://127.0.0.1:8080/home/page",
                "http://127.0.0.1:8080/home/page",
            ),
            ("", ""),
        ] {
            assert_eq!(without_homes(text), expected);
        }
    }
}

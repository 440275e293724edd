//! Any text read as a list in curl's forms: each of its commands has words, and lies in the text.

use bakeoff_plan::curl_commands;

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(Some(commands)) = curl_commands(text) else {
        return;
    };
    let lines = text.lines().count();
    for command in &commands {
        assert!((1..=lines).contains(&command.line), "{command:?}");
    }
    let words = commands.iter().flat_map(|it| &it.words);
    let bytes: usize = words.map(String::len).sum();
    assert!(bytes <= 4 * text.len() + 64, "{bytes} of {}", text.len());
}

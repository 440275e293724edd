//! The plan that measures the files, as a person would write it.

use bakeoff_stage::Choice;

use super::super::own_file::OwnFile;

/// Contender, its file, and how that is asked.
type Part<'a> = (&'a str, &'a OwnFile, &'a Choice);

/// The plan of these; all are asked as the first one is, with an upstream behind them if
/// `is_proxied`, and a page for their folders if `has_page`.
pub(super) fn text(parts: &[Part<'_>], is_proxied: bool, has_page: bool) -> String {
    let mut text = String::from("name = \"try\"\nbudget = \"1m\"\n");
    for (name, file, choice) in parts {
        text.push_str(&format!(
            "\n[[contender]]\nname = {}\nserver = {}\nconfig = {}\n",
            quoted(name),
            quoted(&file.server),
            quoted(&file.path.display().to_string())
        ));
        if let Some(host) = &choice.host {
            text.push_str(&format!("host = {}\n", quoted(host)));
        }
    }
    let Some((_, _, choice)) = parts.first() else {
        return text;
    };
    text.push_str("\n[[load]]\nclients = 50\nwarmup = \"300ms\"\nduration = \"1500ms\"\n");
    text.push_str(&format!(
        "\n[[workload]]\nname = \"page\"\npath = {}\nprotocol = {}\n",
        quoted(&choice.path),
        quoted(choice.protocol.name())
    ));
    if is_proxied {
        text.push_str("proxied = true\n");
    }
    if has_page {
        text.push_str(
            "\n[[workload.file]]\npath = \"index.html\"\n\
             generated = { kind = \"html\", bytes = 4608 }\n",
        );
    }
    if parts.iter().any(|(_, file, _)| file.has_php()) {
        text.push_str("\n[[workload.file]]\npath = \"index.php\"\ntext = \"<?php\\n\"\n");
    }
    text
}

/// A text as TOML has it: the escapes of JSON are TOML's too.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

//! Flags of `bakeoff site`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    bakeoff site bakeoff-results                  all records in a folder, into public/\n  \
    bakeoff site results/* --output docs --title 'Our proxies'\n  \
    bakeoff site results --url https://example.com/bench/\n\
    To add a record, put its folder beside the others and run the same command again. Exit codes: \
    0 done, 1 a file could not be read or written, 2 a record is damaged (the others are \
    published) or there is none.")]
pub(crate) struct SiteFlags {
    /// Record folders, and folders that hold record folders
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Folder to write to: new, empty, or a site that this command made, which is replaced
    #[arg(short, long, value_name = "DIR", default_value = "public")]
    pub(crate) output: PathBuf,
    /// Title of the site
    #[arg(long, value_name = "TEXT", default_value = "Benchmarks")]
    pub(crate) title: String,
    /// URL of the published site, for absolute links in the feed and in link previews
    #[arg(long, value_name = "URL", value_parser = address)]
    pub(crate) url: Option<String>,
}

/// The address of a folder on the web, with a `/` at its end.
fn address(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let is_plain = |c: char| c.is_ascii_graphic() && !"\"'<>`\\^{|}?#".contains(c);
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_plain) => {
            Ok(format!("{}/", text.trim_end_matches('/')))
        }
        _ => Err("expected the address of a folder, such as https://example.com/bench/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_folders() {
        let folder = Ok("https://example.com/bench/".to_owned());
        assert_eq!(address("https://example.com/bench"), folder);
        assert_eq!(address("https://example.com/bench/"), folder);
        for other in [
            "",
            "example.com",
            "https://",
            "ftp://x",
            "https:///x",
            "https://x/?a=\"b",
        ] {
            assert!(address(other).is_err(), "{other}");
        }
    }
}

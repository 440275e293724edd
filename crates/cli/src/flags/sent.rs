//! What a request is made of besides its URL: flags that `load` and `race` share.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

use super::foreign::Elsewhere;
use super::header::HeaderParser;

/// Method and headers.
#[derive(Debug, Args)]
pub(crate) struct HeadFlags {
    /// Request method [default: GET, and POST with a body]
    #[arg(short = 'X', long, value_name = "NAME", hide_short_help = true)]
    pub(crate) method: Option<String>,
    /// Add a request header; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = HeaderParser)]
    pub(crate) headers: Vec<(String, String)>,
    /// Send this name and password with each request (Basic, RFC 7617)
    #[arg(short, long, value_name = "USER:PASSWORD", hide_short_help = true,
          value_parser = Elsewhere::new(basic, no_password))]
    pub(crate) user: Option<String>,
}

/// The body: a file, or a text as curl takes it. It is of one kind.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct BodyFlags {
    /// Send this file as the body of each request
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// Send this text as the body, as a form unless -H says otherwise; may be repeated
    ///
    /// As with curl, several are joined by &, and @FILE is what that file holds without its line
    /// breaks. --data-binary keeps these, and --data-raw sends an @ as it is.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) data: Vec<String>,
    /// As --data, but line breaks of @FILE are kept
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) data_binary: Vec<String>,
    /// As --data, but an @ at its begin is sent
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) data_raw: Vec<String>,
}

/// The value of `Authorization` for a name and password.
fn basic(text: &str) -> Result<String, String> {
    Ok(format!("Basic {}", STANDARD.encode(text)))
}

fn no_password(text: &str) -> Option<&'static str> {
    (!text.contains(':')).then_some(
        "-u takes USER:PASSWORD; ab's file to PUT is `-X PUT --body FILE`, and k6's users are -c N",
    )
}

impl BodyFlags {
    /// Whether it is a form, as long as no header says otherwise.
    pub(crate) fn is_form(&self) -> bool {
        !(self.data.is_empty() && self.data_binary.is_empty() && self.data_raw.is_empty())
    }
}

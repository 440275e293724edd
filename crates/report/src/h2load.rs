//! Cells over HTTP/2 and 3 in h2load's form, as lines of text that fit 80 columns with an indent.

use std::fmt::Write as _;

use crate::number::{bytes, count, milliseconds, percent, plain};
use crate::view::{Cell, H2load, Spread};

/// The lines of a group's cells; empty unless one of them is over HTTP/2 or 3.
pub(crate) fn lines(cells: &[Cell]) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in cells {
        let Some(figures) = &cell.h2load else {
            continue;
        };
        lines.push(format!(
            "{}: {}",
            plain(&cell.contender),
            negotiated(figures)
        ));
        let titles = ["min", "max", "mean", "sd", "within sd"];
        lines.push(line("", titles.map(String::from)));
        for (title, spread) in [
            ("request", &figures.request),
            ("connect", &figures.connect),
            ("TLS handshake", &figures.handshake),
            ("first byte", &figures.first_byte),
        ] {
            lines.push(line(title, values(spread)));
        }
        lines.push(format!(
            "  {} succeeded, {} failed",
            count(figures.succeeded),
            count(figures.failed)
        ));
        lines.push(format!("  {}", traffic(figures)));
    }
    if !lines.is_empty() {
        lines.insert(0, "As h2load prints it, times in ms:".to_owned());
    }
    lines
}

/// `h2 by ALPN h2, TLSv1.3, TLS13_AES_128_GCM_SHA256, X25519`.
fn negotiated(figures: &H2load) -> String {
    let agreed = &figures.negotiated;
    let mut text = plain(&agreed.protocol);
    if let Some(alpn) = &agreed.alpn {
        let _ = write!(text, " by ALPN {}", plain(alpn));
    }
    let parts = [&agreed.tls_version, &agreed.cipher, &agreed.group];
    for part in parts.into_iter().flatten() {
        let _ = write!(text, ", {}", plain(part));
    }
    text
}

fn values(spread: &Spread) -> [String; 5] {
    let time = |ns: Option<f64>| ns.map_or("-".to_owned(), milliseconds);
    let share = spread.within_sd_share;
    [
        time(spread.min_ns),
        time(spread.max_ns),
        time(spread.mean_ns),
        time(spread.sd_ns),
        share.map_or("-".to_owned(), |share| format!("{} %", percent(share))),
    ]
}

fn line(title: &str, fields: [String; 5]) -> String {
    let mut line = format!("  {title:<13}");
    for field in fields {
        let _ = write!(line, " {field:>10}");
    }
    line
}

fn traffic(figures: &H2load) -> String {
    let amount = |value: Option<f64>| value.map_or("not counted".to_owned(), bytes);
    let saved = figures.header_saved_share.map(percent);
    let saved = saved.map_or(String::new(), |saved| format!(" ({saved} % saved)"));
    format!(
        "a round: {} read; headers {}{saved}; bodies {}",
        amount(figures.read_bytes),
        amount(figures.header_bytes),
        amount(figures.body_bytes)
    )
}

//! Every format of `bakeoff audit`, drawn from one made-up table and compared with a file.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it published`, then
//! read the difference.

use bakeoff_published::read;
use bakeoff_report::{Rig, audit, published_json, published_markdown, published_text};

use crate::goldens::check;

/// A row without a finding; one of clients that were not busy, with failures; a full link.
const TABLE: &str = "\
server,clients,requests,average_ms,p99_ms,max_ms,errors_percent,note
nginx,10,300000,1.00,2.00,9.00,0,a|b
nginx,1000,344427,6.62,31.72,292.06,97.38,<script>
caddy,500,126996,118.28,436.14,31000.00,0,\u{7}[2J
";

#[test]
fn each_format_shows_the_same_audit() {
    let rig = Rig {
        duration_s: Some(30.0),
        bodies: vec![(Some("caddy".to_owned()), 289_812.0)],
        link_bits_per_s: Some(10e9),
        ..Rig::default()
    };
    let audit = audit(&read(TABLE, None, &[]).expect("it is a table"), &rig);
    check("audit.txt", &published_text(&audit, 80, false));
    check("audit.md", &published_markdown(&audit));
    check("audit.json", &published_json(&audit));
    for text in [
        published_text(&audit, 30, false),
        published_markdown(&audit),
        published_json(&audit),
    ] {
        assert!(!text.contains('\u{7}'), "{text}");
    }
}

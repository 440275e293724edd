//! Writes a site of made-up records, for tests of its pages and for looking at it:
//! `cargo run -p bakeoff-report --example synthetic_site -- FOLDER`; with `RECORDS` in the
//! environment for another number than 50.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program, unlike the pure library"
)]

use std::path::Path;

use bakeoff_plan::Protocol;
use bakeoff_record::Record;
use bakeoff_report::{Redacted, SiteFile, SiteOptions, site_files, site_record};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "public".into());
    let count = std::env::var("RECORDS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(50);
    let options = SiteOptions {
        title: "Made-up benchmarks".to_owned(),
        url: None,
    };
    let start = std::time::Instant::now();
    let write = |files: Vec<SiteFile>| -> std::io::Result<()> {
        for file in files {
            let path = Path::new(&folder).join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            std::fs::write(path, file.bytes)?;
        }
        Ok(())
    };
    let patterns = [
        ("proxies", bakeoff_testing::campaign(7)),
        ("over http/2", bakeoff_testing::record_over(Protocol::H2)),
        ("constant rate", bakeoff_testing::record_at_constant_rate()),
        ("nightly", bakeoff_testing::record()),
    ];
    let mut records = Vec::new();
    for number in 0..count {
        let (record, files) = site_record(&Redacted::shared(record(number, &patterns)), &options);
        write(files)?;
        records.push(record);
    }
    write(site_files(records, &options))?;
    eprintln!("{count} records in {:?}", start.elapsed());
    Ok(())
}

/// One of several campaigns, on one of three machines, in a minute of its own.
fn record(number: usize, patterns: &[(&str, Record)]) -> Record {
    let (name, pattern) = &patterns[number % patterns.len()];
    let mut record = pattern.clone();
    record.plan.name = (*name).to_owned();
    let machine = &mut record.machine;
    let (host, cpus) = [("bench", 2), ("rack-7", 16), ("laptop", 8)][number % 3];
    (machine.host, machine.cpus) = (host.to_owned(), cpus);
    machine.started_at = format!("2026-11-{:02}T04:{:02}:00Z", 1 + number % 28, number % 60);
    record
}

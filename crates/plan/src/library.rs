//! The plans and workloads that bakeoff brings along, put into the program when it is built.
//!
//! A file added to `plans/` or `workloads/` is in the next build without a line of Rust.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use crate::placeholder::ValueTable;

// `PLANS`, `PUBLISHED` and `WORKLOADS`: names with texts, sorted by name. Written by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// Where a plan's workloads come from.
pub trait Library {
    /// The TOML of the workload called `name`.
    fn workload(&self, name: &str) -> Option<String>;

    /// The same, where its text stands in a file.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    fn workload_text(&self, name: &str) -> io::Result<Option<String>> {
        Ok(self.workload(name))
    }

    /// Names of all workloads, for suggestions.
    fn workload_names(&self) -> Vec<String>;

    /// Names of all servers; none where they are not known, and not checked.
    fn server_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the file that a contender names is there, as far as that can be known here.
    fn has_file(&self, path: &Path) -> bool {
        let _ = path;
        true
    }

    /// What messages call the file of the workload `name`.
    fn workload_file(&self, name: &str) -> String {
        format!("workloads/{name}.toml")
    }

    /// The folder that files named in the workload `name` are relative to.
    fn workload_folder(&self, name: &str) -> PathBuf {
        let file = PathBuf::from(self.workload_file(name));
        file.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// The values in the file `name` for a workload of `folder`, as in [`Library::open`].
    ///
    /// # Errors
    /// As of that, or the file is no table.
    fn table(&self, folder: &Path, name: &str) -> io::Result<ValueTable> {
        self.open(folder, name)?;
        Err(io::Error::other("no tables are read here"))
    }

    /// Opens the file `name` for a workload of `folder`, which `name` is relative to; a library
    /// without files opens none.
    ///
    /// # Errors
    /// The file is not there, cannot be read, or is none that a workload may name.
    fn open(&self, folder: &Path, name: &str) -> io::Result<Box<dyn BufRead>> {
        let _ = (folder, name);
        let problem = "no files are read here";
        Err(io::Error::new(io::ErrorKind::NotFound, problem))
    }
}

/// A library without workloads and files.
pub(crate) struct NoFiles;

impl Library for NoFiles {
    fn workload(&self, _: &str) -> Option<String> {
        None
    }

    fn workload_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The workloads in the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Builtin;

impl Library for Builtin {
    fn workload(&self, name: &str) -> Option<String> {
        find(WORKLOADS, name).map(str::to_owned)
    }

    fn workload_names(&self) -> Vec<String> {
        WORKLOADS
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect()
    }
}

/// The text of a plan in the program.
pub fn builtin_plan(name: &str) -> Option<&'static str> {
    find(PLANS, name)
}

/// Names and texts of all plans in the program, sorted by name.
pub fn builtin_plans() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    PLANS.iter().copied()
}

/// What was published of a comparison that a plan of the program repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Where and when, and what kind of figures.
    pub title: &'static str,
    /// Its figures, one for each pair, in the order of its tables.
    pub rows: Vec<PublishedRow>,
}

/// A published ratio of two contenders.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Workload's name in the plan.
    pub workload: &'static str,
    /// Label of the load.
    pub load: &'static str,
    /// Name of the metric.
    pub metric: &'static str,
    /// The contender whose value is the ratio's denominator.
    pub first: &'static str,
    /// The contender whose value is the numerator.
    pub second: &'static str,
    /// Second over first.
    pub ratio: f64,
}

/// What was published of the comparison that the plan of this name repeats; `None` of other plans.
pub fn published(plan: &str) -> Option<Published> {
    let mut lines = find(PUBLISHED, plan)?.lines();
    let title = lines.next()?.trim_start_matches("# ");
    Some(Published {
        title,
        rows: lines.skip(1).filter_map(published_row).collect(),
    })
}

fn published_row(line: &'static str) -> Option<PublishedRow> {
    let mut fields = line.split(',');
    let mut next = || fields.next();
    Some(PublishedRow {
        workload: next()?,
        load: next()?,
        metric: next()?,
        first: next()?,
        second: next()?,
        ratio: next()?.parse().ok()?,
    })
}

/// Names and texts of all workloads in the program, sorted by name.
pub fn builtin_workloads() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    WORKLOADS.iter().copied()
}

/// What a plan or workload says of itself in its first sentence; `None` where it says nothing, or
/// is no TOML.
pub fn first_sentence(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let said = table.get("description")?.as_str()?.trim();
    let line = said.lines().next()?;
    let sentence = line
        .split_once(". ")
        .map_or(line.to_owned(), |(first, _)| format!("{first}."));
    Some(sentence)
}

fn find(entries: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    entries
        .iter()
        .find(|(entry, _)| *entry == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Content, ContentKind, Plan, Workload, parse, parse_workload};

    /// A plan of the program, as other modules' tests use it.
    pub(crate) fn builtin(name: &str) -> Plan {
        let text = builtin_plan(name).unwrap();
        parse(
            text,
            &format!("plans/{name}.toml"),
            Path::new("/plans"),
            &Builtin,
        )
        .unwrap()
    }

    fn workload(name: &str) -> Workload {
        parse_workload(&Builtin.workload(name).unwrap(), name).unwrap()
    }

    fn body(name: &str) -> Vec<u8> {
        workload(name).requests.first().expect.body_bytes().unwrap()
    }

    #[test]
    fn every_file_reads_and_is_called_as_it_calls_itself() {
        for (name, _) in builtin_plans() {
            assert_eq!(builtin(name).name, name);
        }
        for (name, _) in builtin_workloads() {
            let workload = workload(name);
            assert_eq!(workload.name, name);
            assert!(!workload.description.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_was_published_is_of_cells_that_a_plan_has() {
        let all: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
        assert_eq!(all, ["h2load-2020-h3", "h2load-2020", "hotdog", "vegeta"]);
        for name in all {
            let (plan, text) = (builtin(name), find(PUBLISHED, name).unwrap());
            let rows = published(name).unwrap().rows;
            assert_eq!(
                rows.len(),
                text.lines().count() - 2,
                "{name}: a row is not read"
            );
            for row in rows {
                let names = |contender: &str| plan.contenders.iter().any(|it| it.name == contender);
                assert!(names(row.first) && names(row.second), "{name}: {row:?}");
                assert!(
                    plan.workloads.iter().any(|it| it.name == row.workload),
                    "{row:?}"
                );
                assert!(
                    plan.loads.iter().any(|it| it.label() == row.load),
                    "{row:?}"
                );
                assert!(row.ratio > 0.0);
            }
        }
    }

    #[test]
    fn a_description_is_cut_after_its_first_sentence() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(first_sentence(text).as_deref(), expected, "{text}");
        };
        check("description = \"One. Two.\"", Some("One."));
        check(
            "description = \"A page of 4.5 KB.\"",
            Some("A page of 4.5 KB."),
        );
        check("description = \"\"\"\nOne\nline\"\"\"", Some("One"));
        check("description = \" \"", None);
        check("description = 1", None);
        check("name = \"x\"", None);
        check("not TOML", None);
    }

    #[test]
    fn the_experiment_has_its_sizes_and_header() {
        assert_eq!(body("synthetic"), b"Hello, world!");
        assert_eq!(body("html-small").len(), 4_608);
        assert_eq!(body("html-large").len(), 289_812);
        assert_eq!(body("proxy").len(), 31);
        for name in ["synthetic", "html-small", "html-large", "proxy"] {
            let workload = workload(name);
            assert_eq!(
                workload.requests.first().headers,
                [("X-Hotdogs".to_owned(), "aplenty".to_owned())]
            );
            assert_eq!(workload.proxied, name == "proxy");
            assert_eq!(workload.requests.first().expect.status, 200);
        }
        let large = &workload("html-large").files[0];
        assert_eq!(large.path, "jquery-3.6.1.js");
        let script = Content::Generated {
            kind: ContentKind::Script,
            bytes: 289_812,
        };
        assert_eq!(large.content, script);
    }

    #[test]
    fn h2load_2020_has_the_published_shapes_by_count_and_by_time() {
        let plan = builtin("h2load-2020");
        let labels: Vec<String> = plan.loads.iter().map(crate::Load::label).collect();
        let counts = ["c150x50-n1000", "c500x100-n2000", "c1000x100-n10000"];
        assert_eq!(labels[..3], counts);
        assert_eq!(labels[3..], ["c150x50", "c500x100", "c1000x100"]);
        assert!(plan.loads[..3].iter().all(|load| load.warmup_s == 0.0));
        assert!(plan.loads[3..].iter().all(|load| load.warmup_s == 5.0));
        let [workload] = plan.workloads.as_slice() else {
            panic!("one workload");
        };
        assert_eq!(workload.protocol, crate::Protocol::H2);
        assert_eq!(
            workload.requests.first().expect.body_bytes().unwrap().len(),
            12_288
        );
    }

    #[test]
    fn its_http_3_half_rests_half_a_minute_before_each_trial() {
        let plan = builtin("h2load-2020-h3");
        let labels: Vec<String> = plan.loads.iter().map(crate::Load::label).collect();
        let published = [
            "c150x50-n1000",
            "c500x100-n2000",
            "c1000x100-n10000",
            "c50x50",
        ];
        assert_eq!(labels, published);
        let by_time = &plan.loads[3];
        assert_eq!((by_time.warmup_s, by_time.duration_s), (5.0, 20.0));
        assert_eq!(plan.rest.as_secs(), 30);
        assert_eq!(plan.workloads[0].protocol, crate::Protocol::H3);
        let http_2 = builtin("h2load-2020");
        assert_eq!(plan.workloads[0].template, http_2.workloads[0].template);
    }

    #[test]
    fn vegeta_asks_500_times_a_second_by_count_and_by_time() {
        let plan = builtin("vegeta");
        let labels: Vec<String> = plan.loads.iter().map(crate::Load::label).collect();
        assert_eq!(labels, ["r500-c1x128-n5000", "r500-c1x128"]);
        assert_eq!((plan.loads[0].warmup_s, plan.loads[1].warmup_s), (0.0, 2.0));
        let asked: Vec<(&str, usize)> = plan
            .workloads
            .iter()
            .map(|it| {
                let request = it.requests.first();
                let body = request.expect.body_bytes().unwrap();
                (request.path.as_str(), body.len())
            })
            .collect();
        assert_eq!(asked, [("/", 20), ("/data.bin", 256_000)]);
        for workload in &plan.workloads {
            assert_eq!(workload.protocol, crate::Protocol::H2);
            assert!(workload.proxied && workload.requests.first().headers.is_empty());
        }
    }

    #[test]
    fn hotdog_is_the_whole_experiment() {
        let plan = builtin("hotdog");
        let clients: Vec<u32> = plan.loads.iter().map(crate::Load::clients).collect();
        assert_eq!(clients, [10, 200, 500, 1_000, 10_000]);
        assert!(plan.loads.iter().all(|load| load.duration_s == 30.0));
        assert_eq!(plan.workloads.len(), 4);
        let names: Vec<&str> = plan.contenders.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["nginx-default", "nginx-optimized", "caddy-default"]);
        assert_eq!(
            names,
            builtin("quick")
                .contenders
                .iter()
                .map(|it| &it.name)
                .collect::<Vec<_>>()
        );
    }
}

//! Makes a [`Plan`] of a plan's TOML: looks up names, expands lists, and checks keys against each
//! other.
//!
//! It reads no file: a [`Library`] passes workloads in as text, and knows the servers and whether a
//! file exists.

use std::path::Path;

use crate::changes::changes;
use crate::check::check;
use crate::contenders::{contenders, own_answers};
use crate::course::{self, Budget, References, Until};
use crate::error::PlanError;
use crate::file::{PlanFile, plan_schema_value};
use crate::library::Library;
use crate::loads::{check_shares, check_streams, loads};
use crate::model::{Plan, Workload};
use crate::order;
use crate::overloads::overloads;
use crate::protocol::Protocol;
use crate::protocols::{Asked, check_each, expand};
use crate::rules::{self, Fault};
use crate::searches::searches;
use crate::source::Source;
use crate::workload::{read_workload, resolve_workload};

/// Reads a plan. `origin_name` is what messages call the text; `base` is the absolute folder
/// that paths in it are relative to.
///
/// # Errors
/// The text is not TOML, not a plan, or names a workload, a server or a file that `library` does
/// not have.
pub fn parse(
    text: &str,
    origin_name: &str,
    base: &Path,
    library: &dyn Library,
) -> Result<Plan, PlanError> {
    let source = Source::read(text, origin_name)?;
    check(&source, plan_schema_value())?;
    let file: PlanFile = source.deserialize()?;

    rules::name(&file.name).map_err(|fault| fault.at(source.place("name")))?;
    let budget = budget(&source, &file)?;
    let rounds = file.rounds_at_least();
    rules::rounds(rounds).map_err(|fault| fault.at(source.place("rounds")))?;
    rules::seed(file.seed).map_err(|fault| fault.at(source.place("seed")))?;
    rules::pause("rest", file.rest.0).map_err(|fault| fault.at(source.place("rest")))?;
    let mut plan = Plan {
        name: file.name.clone(),
        description: file.description.clone(),
        rounds,
        budget,
        until: stopping_rule(&source, &file)?,
        compare: file.compare,
        seed: file.seed,
        rest: file.rest.0,
        pinning: file.pinning.clone(),
        references: references(&source, &file)?,
        contenders: contenders(&source, &file.contender, base, library)?,
        workloads: workloads(&source, &file, base, library)?,
        loads: [
            loads(&source, &file.load)?,
            searches(&source, &file)?,
            overloads(&source, &file)?,
            changes(&source, &file)?,
        ]
        .concat(),
    };
    plan.seed_values();
    own_answers(&source, &file.contender, &plan)?;
    plan.note_contenders();
    check_streams(&plan).map_err(|fault| fault.at(source.place("load")))?;
    check_shares(&plan.loads).map_err(|fault| fault.at(source.place("load")))?;
    order::check_ids(&plan).map_err(|fault| fault.at(source.place("")))?;
    Ok(plan)
}

/// The stopping rule that a plan's keys ask for.
fn stopping_rule(source: &Source<'_>, file: &PlanFile) -> Result<Option<Until>, PlanError> {
    let conflict =
        |key, problem: &str, fix: &str| Err(Fault::new(problem, fix).at(source.place(key)));
    let (width, max_rounds) = match (file.until, file.max_rounds) {
        (None, None) => return Ok(None),
        (Some(width), Some(max_rounds)) => (width, max_rounds),
        (Some(_), None) => {
            let problem = "`until` without `max_rounds` may never end";
            return conflict("until", problem, "add a limit, such as `max_rounds = 40`");
        }
        (None, Some(_)) => {
            let problem = "`max_rounds` without `until` limits nothing";
            return conflict(
                "max_rounds",
                problem,
                "add `until = 0.03`, or write `rounds`",
            );
        }
    };
    let until = Until { width, max_rounds };
    course::check_until(until, file.rounds_at_least())
        .map_err(|fault| fault.at(source.place("max_rounds")))?;
    Ok(Some(until))
}

/// The time that a plan's keys give it.
fn budget(source: &Source<'_>, file: &PlanFile) -> Result<Option<Budget>, PlanError> {
    let Some(length) = &file.budget else {
        return Ok(None);
    };
    let length = length.0;
    course::check_budget(length).map_err(|fault| fault.at(source.place("budget")))?;
    let ends_otherwise = [
        ("rounds", file.rounds.is_some()),
        ("until", file.until.is_some()),
    ];
    if let Some((key, _)) = ends_otherwise.into_iter().find(|(_, is_there)| *is_there) {
        return Err(Fault::new(
            format!("`{key}` ends the campaign in another way"),
            format!("leave out `budget` or `{key}`"),
        )
        .at(source.place("budget")));
    }
    Ok(Some(Budget::new(length)))
}

fn references(source: &Source<'_>, file: &PlanFile) -> Result<References, PlanError> {
    let table = &file.references;
    if let Some(duration) = table.duration {
        rules::length("duration", duration.0)
            .map_err(|fault| fault.at(source.place("references.duration")))?;
    }
    Ok(References {
        yardstick: table.yardstick,
        origin: table.origin,
        control: table.control,
        duration: table.duration.map(|duration| duration.0),
    })
}

fn workloads(
    source: &Source<'_>,
    file: &PlanFile,
    base: &Path,
    library: &dyn Library,
) -> Result<Vec<Workload>, PlanError> {
    let all = match &file.protocols {
        Some(protocols) => protocols.clone(),
        None => vec![Protocol::H1],
    };
    check_each(source, "protocols", &all)?;
    let mut workloads: Vec<Workload> = Vec::new();
    for (asked, place) in chosen(source, file, base, library)? {
        for workload in expand(asked, &all).map_err(|fault| fault.at(source.place(&place)))? {
            if workloads.iter().any(|other| other.name == workload.name) {
                return Err(twice(source.place(&place), &workload.name));
            }
            workloads.push(workload);
        }
    }
    Ok(workloads)
}

/// The workloads that a plan names, each with the key that names it.
fn chosen(
    source: &Source<'_>,
    file: &PlanFile,
    base: &Path,
    library: &dyn Library,
) -> Result<Vec<(Asked, String)>, PlanError> {
    let mut own: Vec<(Asked, String)> = Vec::new();
    for (index, table) in file.workload.iter().enumerate() {
        let asked = resolve_workload(source, &format!("workload.{index}."), table, base, library)?;
        let key = format!("workload.{index}.name");
        if own.iter().any(|(other, _)| other.name() == asked.name()) {
            return Err(twice(source.place(&key), asked.name()));
        }
        own.push((asked, key));
    }
    let Some(names) = &file.workloads else {
        if own.is_empty() {
            return Err(Fault::new(
                "nothing says what is asked",
                "write names of workloads, such as `workloads = [\"synthetic\"]`",
            )
            .at(source.place("")));
        }
        return Ok(own);
    };
    let mut chosen: Vec<(Asked, String)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let key = format!("workloads.{index}");
        if chosen.iter().any(|(other, _)| other.name() == name) {
            return Err(twice(source.place(&key), name));
        }
        let asked = match own.iter().find(|(own, _)| own.name() == name) {
            Some((own, _)) => own.clone(),
            None => from_library(name, library, &|| source.place(&key))?.ok_or_else(|| {
                let mut known: Vec<String> =
                    own.iter().map(|(own, _)| own.name().to_owned()).collect();
                known.extend(library.workload_names());
                PlanError::unknown(source.place(&key), "workload", name, known)
            })?,
        };
        chosen.push((asked, key));
    }
    let unnamed = own
        .iter()
        .find(|(own, _)| !names.iter().any(|name| name == own.name()));
    if let Some((own, key)) = unnamed {
        let problem = format!("workload `{}` is not among `workloads`", own.name());
        return Err(
            Fault::new(problem, "add its name there or take the table out").at(source.place(key)),
        );
    }
    Ok(chosen)
}

fn twice(place: Box<crate::Place>, name: &str) -> PlanError {
    PlanError::twice(place, "workload", name, "name each workload once")
}

/// The workload called `name` of the library, which is named at `place`.
fn from_library(
    name: &str,
    library: &dyn Library,
    place: &dyn Fn() -> Box<crate::Place>,
) -> Result<Option<Asked>, PlanError> {
    let file = library.workload_file(name);
    let text = library.workload_text(name).map_err(|cause| {
        let problem = format!("failed to read {file}: {cause}");
        Fault::new(problem, "make it a file of UTF-8 text that you can read").at(place())
    })?;
    let Some(text) = text else {
        return Ok(None);
    };
    let asked = read_workload(&text, &file, &library.workload_folder(name), library)?;
    if asked.name() != name {
        let place = Source::read(&text, &file)?.place("name");
        let problem = format!("workload `{name}` calls itself `{}`", asked.name());
        return Err(Fault::new(problem, format!("write `name = \"{name}\"`")).at(place));
    }
    Ok(Some(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{ConfigSource, ServerChoice};
    use crate::course::CompareMode;
    use crate::library::NoFiles;
    use crate::load::{Connect, Load, LoadModel};
    use crate::pinning::Pinning;
    use std::io;
    use std::path::PathBuf;

    fn read(text: &str) -> Result<Plan, PlanError> {
        parse(text, "p.toml", Path::new("/base/./plans"), &crate::Builtin)
    }

    const LITTLE: &str = r#"
        name = "little"
        workloads = ["synthetic"]
        [[contender]]
        name = "a"
        server = "nginx"
        [[load]]
        clients = 10
    "#;

    #[test]
    fn what_is_left_out_has_a_documented_value() {
        let plan = read(LITTLE).unwrap();
        assert_eq!((plan.rounds, plan.seed), (10, 1));
        assert_eq!(
            (plan.until, plan.compare),
            (None, CompareMode::AsConfigured)
        );
        assert!(plan.has_control());
        assert_eq!(plan.references.duration, None);
        assert!(plan.references.yardstick && plan.references.origin);
        assert_eq!(plan.pinning, Pinning::default());
        let load = Load {
            warmup_s: 1.0,
            ..Load::new(LoadModel::Closed { clients: 10 }, 10.0)
        };
        assert_eq!(plan.loads, [load]);
        let ServerChoice::Program {
            version,
            binary,
            config,
            ..
        } = &plan.contenders[0].server
        else {
            panic!("a program");
        };
        assert_eq!((version, binary), (&None, &None));
        assert_eq!(*config, ConfigSource::Variant("default".to_owned()));
    }

    #[test]
    fn each_of_the_versions_is_a_contender() {
        let text = LITTLE.replace("\"nginx\"", "\"nginx\"\nversions = [\"1.22\", \"1.28.3\"]");
        let plan = read(&text).unwrap();
        let named = plan.contenders.iter().map(|contender| {
            let ServerChoice::Program { version, .. } = &contender.server else {
                panic!("a program");
            };
            (contender.name.as_str(), version.as_deref())
        });
        let expected = [("a-1.22", Some("1.22")), ("a-1.28.3", Some("1.28.3"))];
        assert_eq!(named.collect::<Vec<_>>(), expected);
        let again = parse(&plan.to_toml(), "p", Path::new("/"), &NoFiles).unwrap();
        assert_eq!(again, plan);
    }

    #[test]
    fn a_slash_or_a_dot_makes_a_file_beside_the_plan() {
        let config_of = |text: &str| {
            let text = LITTLE.replace("\"nginx\"", &format!("\"nginx\"\nconfig = \"{text}\""));
            let plan = read(&text).unwrap();
            match &plan.contenders[0].server {
                ServerChoice::Program { config, .. } => config.clone(),
                other => panic!("{other:?}"),
            }
        };
        let file = |path: &str| ConfigSource::File(PathBuf::from(path));
        assert_eq!(
            config_of("tuned"),
            ConfigSource::Variant("tuned".to_owned())
        );
        assert_eq!(config_of("./nginx.conf"), file("/base/plans/nginx.conf"));
        assert_eq!(config_of("nginx.conf"), file("/base/plans/nginx.conf"));
        assert_eq!(config_of("../x/y"), file("/base/plans/../x/y"));
        assert_eq!(config_of("/etc/nginx"), file("/etc/nginx"));
    }

    #[test]
    fn loads_open_into_one_each() {
        let text = LITTLE.replace(
            "clients = 10",
            "clients = [1, 2]\n[[load]]\nrate = 500\n\
             [[load]]\nrate = 500\narrival = \"constant\"\nclients = [7, 8]\n\
             [[load]]\ncapacity_share = 0.5",
        );
        let labels: Vec<String> = read(&text).unwrap().loads.iter().map(Load::label).collect();
        let open = ["r500p-c50", "r500-c7", "r500-c8", "share0.5p-c50"];
        assert_eq!(labels, [&["c1", "c2"][..], &open].concat());
    }

    #[test]
    fn connections_are_opened_first_unless_the_load_is_by_count() {
        let connect_of = |keys: &str| {
            let plan = read(&LITTLE.replace("clients = 10", keys)).unwrap();
            let load = &plan.loads[0];
            (load.connect, load.label())
        };
        let check = |keys, connect, label: &str| {
            assert_eq!(connect_of(keys), (connect, label.to_owned()), "{keys}");
        };
        check("clients = 10", Connect::First, "c10");
        check("clients = 10\nrequests = 9", Connect::AsNeeded, "c10-n9");
        check("rate = 5\nrequests = 9", Connect::First, "r5p-c50-n9");
        check(
            "clients = 10\nconnect = \"as-needed\"",
            Connect::AsNeeded,
            "c10-as-needed",
        );
        check(
            "clients = 10\nrequests = 9\nconnect = \"first\"",
            Connect::First,
            "c10-n9-first",
        );
    }

    #[test]
    fn a_plans_own_workload_comes_before_the_librarys() {
        let own = "[[workload]]\nname = \"synthetic\"\n[workload.expect]\ntext = \"mine\"\n";
        let plan = read(&format!("{LITTLE}\n{own}")).unwrap();
        assert_eq!(
            plan.workloads[0]
                .requests
                .first()
                .expect
                .body_bytes()
                .unwrap(),
            b"mine"
        );
        let without = LITTLE.replace("workloads = [\"synthetic\"]", "");
        let plan = read(&format!("{without}\n{own}")).unwrap();
        assert_eq!(plan.workloads.len(), 1);
    }

    #[test]
    fn a_server_or_a_file_that_is_not_there_is_named_with_its_line() {
        struct Shelf;
        impl Library for Shelf {
            fn workload(&self, name: &str) -> Option<String> {
                crate::Builtin.workload(name)
            }

            fn workload_names(&self) -> Vec<String> {
                crate::Builtin.workload_names()
            }

            fn server_names(&self) -> Vec<String> {
                vec!["caddy".to_owned(), "nginx".to_owned()]
            }

            fn has_file(&self, path: &Path) -> bool {
                path == Path::new("/plans/there.conf")
            }
        }
        let message = |old: &str, new: &str| {
            let text = LITTLE.replacen(old, new, 1);
            let plan = parse(&text, "p.toml", Path::new("/plans"), &Shelf);
            plan.map(|_| ()).map_err(|error| error.to_string())
        };
        let named = "server = \"nginx\"";
        assert_eq!(message(named, named), Ok(()));
        let config = |file: &str| format!("{named}\nconfig = \"{file}\"");
        assert_eq!(message(named, &config("there.conf")), Ok(()));
        let wrong = message(named, "server = \"ngnix\"").unwrap_err();
        assert!(
            wrong.ends_with("no server is called `ngnix`; did you mean `nginx`?"),
            "{wrong}"
        );
        let wrong = message(named, &config("missing.conf")).unwrap_err();
        assert!(wrong.starts_with("p.toml:"), "{wrong}");
        assert!(
            wrong.contains("there is no file /plans/missing.conf; write "),
            "{wrong}"
        );
    }

    /// It read "no workload is called `synthetic`", although it was among those that are known.
    #[test]
    fn a_librarys_file_that_cannot_be_read_is_named() {
        struct Unreadable;
        impl Library for Unreadable {
            fn workload(&self, _: &str) -> Option<String> {
                None
            }

            fn workload_text(&self, _: &str) -> io::Result<Option<String>> {
                Err(io::Error::other("it is not UTF-8"))
            }

            fn workload_names(&self) -> Vec<String> {
                vec!["synthetic".to_owned()]
            }
        }
        let read = parse(LITTLE, "p.toml", Path::new("/"), &Unreadable);
        let message = read.map(|_| ()).unwrap_err().to_string();
        let expected = "p.toml:3:22: failed to read workloads/synthetic.toml: it is not UTF-8; \
                        make it a file of UTF-8 text that you can read";
        assert_eq!(message, expected);
    }

    #[test]
    fn a_fault_in_a_librarys_file_names_that_file() {
        struct Broken(&'static str);
        impl Library for Broken {
            fn workload(&self, _: &str) -> Option<String> {
                Some(self.0.to_owned())
            }

            fn workload_names(&self) -> Vec<String> {
                Vec::new()
            }
        }
        let message = |text| {
            parse(LITTLE, "p.toml", Path::new("/"), &Broken(text))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message("name = \"synthetic\"\n[expect]\nstatsu = 200\n"),
            "workloads/synthetic.toml:3:1: unknown key `statsu` in `expect`; \
             did you mean `status`?"
        );
        assert_eq!(
            message("name = \"other\"\n[expect]\ntext = \"\"\n"),
            "workloads/synthetic.toml:1:8: workload `synthetic` calls itself `other`; \
             write `name = \"synthetic\"`"
        );
    }
}

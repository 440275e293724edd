//! Which of a plan's contenders and workloads flags choose, and contenders that flags add.

use crate::contender::{ConfigSource, Contender, ServerChoice};
use crate::contenders;
use crate::error::{Place, PlanError};
use crate::rules::Fault;

/// The contenders that are named, in the plan's order, then those in other versions,
/// `NAME@VERSION` of a contender of the plan or `SERVER@VERSION`, in the order of `names`;
/// without names, all.
pub(crate) fn contenders(
    all: Vec<Contender>,
    names: &[String],
) -> Result<Vec<Contender>, PlanError> {
    let (versions, plain): (Vec<&String>, Vec<&String>) = names
        .iter()
        .partition(|name| name.contains('@') && !all.iter().any(|it| it.name == **name));
    let mut added: Vec<Contender> = Vec::new();
    for name in versions {
        let contender =
            in_version(&all, name).map_err(|fault| fault.at(Place::flag("contender")))?;
        if all.iter().chain(&added).any(|it| it.name == contender.name) {
            let (place, fix) = (Place::flag("contender"), "name each contender once");
            return Err(PlanError::twice(place, "contender", &contender.name, fix));
        }
        added.push(contender);
    }
    if plain.is_empty() && !added.is_empty() {
        return Ok(added);
    }
    let plain: Vec<String> = plain.into_iter().cloned().collect();
    let mut chosen = named(all, &plain, "contender", |it| &it.name)?;
    chosen.append(&mut added);
    Ok(chosen)
}

/// A contender of the plan in another version, or a server with its default configuration.
fn in_version(all: &[Contender], text: &str) -> Result<Contender, Fault> {
    let (base, version) = text.split_once('@').unwrap_or((text, ""));
    if version.is_empty() || base.is_empty() {
        let problem = format!("`{}` lacks a name or a version", text.escape_debug());
        return Err(Fault::new(problem, "write it as `caddy@2.8.4`"));
    }
    let name = format!("{base}-{version}");
    contenders::contender_name(&name)?;
    let mut contender = match all.iter().find(|it| it.name == base) {
        Some(contender) => contender.clone(),
        None => {
            contenders::server(base)?;
            let server = ServerChoice::Program {
                server: base.to_owned(),
                version: None,
                binary: None,
                config: ConfigSource::Variant("default".to_owned()),
            };
            Contender::plain(name.clone(), server)
        }
    };
    let ServerChoice::Program {
        version: own,
        binary,
        ..
    } = &mut contender.server
    else {
        let problem = format!("`{base}` has no version that could be another");
        return Err(Fault::new(
            problem,
            "name a contender that is a server of a folder",
        ));
    };
    *own = Some(version.to_owned());
    *binary = None;
    contender.name = name;
    Ok(contender)
}

/// Those of `all` that are named, in their order; without names, all.
pub(crate) fn named<T>(
    all: Vec<T>,
    names: &[String],
    what: &'static str,
    name_of: impl Fn(&T) -> &String,
) -> Result<Vec<T>, PlanError> {
    let known: Vec<String> = all.iter().map(|it| name_of(it).clone()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(PlanError::unknown(Place::flag(what), what, name, known));
    }
    Ok(all
        .into_iter()
        .filter(|it| names.is_empty() || names.contains(name_of(it)))
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::library::tests::builtin;
    use crate::{Contender, Overrides, PlanError, ServerChoice};

    fn chosen(names: &[&str]) -> Result<Vec<Contender>, PlanError> {
        let contenders = names.iter().map(|&name| name.to_owned()).collect();
        let overrides = Overrides {
            contenders,
            ..Overrides::default()
        };
        builtin("quick")
            .with(&overrides)
            .map(|plan| plan.contenders)
    }

    fn named(contender: &Contender) -> String {
        let ServerChoice::Program {
            server,
            version,
            config,
            ..
        } = &contender.server
        else {
            panic!("{contender:?}")
        };
        format!("{} = {server} {version:?} {config:?}", contender.name)
    }

    #[test]
    fn a_server_in_two_versions_is_two_contenders_and_no_other() {
        let both = chosen(&["caddy@2.8.4", "caddy@2.11.7"]).unwrap();
        let both: Vec<String> = both.iter().map(named).collect();
        assert_eq!(
            both,
            [
                "caddy-2.8.4 = caddy Some(\"2.8.4\") Variant(\"default\")",
                "caddy-2.11.7 = caddy Some(\"2.11.7\") Variant(\"default\")",
            ]
        );
    }

    #[test]
    fn a_contender_of_the_plan_keeps_its_configuration_in_another_version() {
        let both = chosen(&["nginx-optimized@1.28", "nginx-optimized"]).unwrap();
        let both: Vec<String> = both.iter().map(named).collect();
        assert_eq!(
            both,
            [
                "nginx-optimized = nginx None Variant(\"optimized\")",
                "nginx-optimized-1.28 = nginx Some(\"1.28\") Variant(\"optimized\")",
            ]
        );
    }

    #[test]
    fn what_cannot_be_a_version_of_anything_is_refused() {
        for (names, expected) in [
            (
                &["caddy@"][..],
                "--contender: `caddy@` lacks a name or a version; write it as `caddy@2.8.4`",
            ),
            (
                &["caddy@2", "caddy@2"],
                "--contender: contender `caddy-2` appears twice; name each contender once",
            ),
            (
                &["a b@2"],
                "--contender: `a b-2` cannot be a name; use up to 64 letters, digits, `.`, `_`, \
                 `-`; begin with a letter or digit",
            ),
            (
                &["yardstick@1"],
                "--contender: `yardstick` is built in and no contender; it is measured beside the \
                 contenders: write `yardstick = true` in `[references]`",
            ),
        ] {
            let error = chosen(names).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}

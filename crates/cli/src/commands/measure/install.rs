//! `bakeoff install`: installs a server's program into the user's cache.

use bakeoff_stage::{Asks, InstallError, InstallOrder, Listed, SourceKind, install};

use crate::flags::{InstallFlags, SourceFlag};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

/// A server, and the version if the user asked for one.
type Wanted = (String, Option<String>);

pub(crate) fn carry_out(flags: &InstallFlags) -> anyhow::Result<u8> {
    let library = Folder::new(flags.library.clone())?;
    let wanted: anyhow::Result<Vec<Wanted>> = if flags.all {
        let servers = library.servers().asking(Asks::BuiltIn).list();
        Ok(missing(servers, flags.source.map(kind_of)))
    } else {
        flags.servers.iter().map(|text| wanted(text)).collect()
    };
    let interrupt = Interrupt::listen_with_limit()?;
    // Its keepers are listed there.
    let _scratch = RunFolder::make()?;
    let (wanted, mut worst) = (wanted?, exit::DONE);
    if wanted.is_empty() {
        let kind = flags.source.map_or("", |_| " of this kind");
        output::note(&format!(
            "nothing to install: each server with a source{kind} is there already"
        ));
    }
    for wanted in wanted {
        match install_one(&wanted, flags, &library, &interrupt) {
            Ok(()) => {}
            Err(_) if interrupt.came() => {
                output::note("interrupted: the unfinished installation was removed");
                return Ok(exit::INTERRUPTED);
            }
            // The other servers can still be installed.
            Err(error) => {
                output::error(&error);
                worst = worst.max(exit::code_of(&error));
            }
        }
    }
    Ok(worst)
}

fn wanted(text: &str) -> anyhow::Result<Wanted> {
    let (server, version) = match text.split_once('@') {
        Some((server, version)) => (server, Some(version)),
        None => (text, None),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    if version.is_some_and(|version| {
        !version.starts_with(|c: char| c.is_ascii_digit()) || !version.chars().all(is_plain)
    }) {
        return Err(exit::usage(format!(
            "`{text}` has no valid version: write caddy@2.8.4, or caddy alone for the newest"
        )));
    }
    Ok((server.to_owned(), version.map(str::to_owned)))
}

/// Servers that can be installed, from a source of this kind if one is named, but are not.
fn kind_of(flag: SourceFlag) -> SourceKind {
    match flag {
        SourceFlag::Wheel => SourceKind::Wheel,
        SourceFlag::Crate => SourceKind::Crate,
        SourceFlag::Go => SourceKind::Go,
        SourceFlag::Apt => SourceKind::Apt,
    }
}

fn missing(servers: Vec<Listed>, source: Option<SourceKind>) -> Vec<Wanted> {
    let has_source = |server: &Listed| match source {
        None => !server.kinds.is_empty(),
        Some(kind) => server.kinds.contains(&kind),
    };
    let missing = servers
        .into_iter()
        .filter(|server| server.found.is_empty() && has_source(server));
    missing.map(|server| (server.name, None)).collect()
}

fn install_one(
    (name, version): &Wanted,
    flags: &InstallFlags,
    library: &Folder,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let server = library.servers().find(name).map_err(super::stage_error)?;
    let order = InstallOrder {
        server: &server,
        version: version.as_deref(),
        source: flags.source.map(kind_of),
        force: flags.force,
        unverified: flags.unverified,
        time_limit: flags.time_limit,
        date: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
    };
    let mut report = |text: &str| output::note(&format!("{name}: {text}"));
    let installed = install(&order, &interrupt.flag(), &mut report).map_err(mark)?;
    if installed.was_there {
        output::note(&format!(
            "{name}: already installed; use --force to install it again"
        ));
    }
    if installed.is_unverified {
        output::note(&format!(
            "{name}: unverified: server.toml has no checksum of this package; `bakeoff list` and \
             records say so"
        ));
    }
    let program = installed.program;
    output::result(&format!(
        "{name} {}  {}",
        program.version,
        program.path.display()
    ))?;
    Ok(())
}

/// Exit code 2 for what the user can fix, by another argument or by installing a tool.
fn mark(error: InstallError) -> anyhow::Error {
    if error.is_fixable() {
        exit::usage(format!("failed to {error}"))
    } else {
        anyhow::anyhow!("failed to {error}")
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_stage::Found;

    use super::*;

    fn listed(name: &str, kinds: &[SourceKind], is_there: bool) -> Listed {
        let found = Found {
            path: format!("/usr/bin/{name}").into(),
            version: None,
            damage: None,
            is_unverified: false,
        };
        Listed {
            name: name.to_owned(),
            title: name.to_owned(),
            variants: Vec::new(),
            found: is_there.then_some(found).into_iter().collect(),
            missing: None,
            sources: kinds.iter().map(|kind| format!("{kind} {name}")).collect(),
            kinds: kinds.to_vec(),
        }
    }

    #[test]
    fn all_that_is_missing_is_what_has_a_source_of_the_kind() {
        let check = |source, expected: &[&str]| {
            let servers = vec![
                listed("caddy", &[SourceKind::Wheel, SourceKind::Go], false),
                listed("nginx", &[SourceKind::Crate], false),
                listed("envoy", &[SourceKind::Wheel], true),
                listed("own", &[], false),
            ];
            let names: Vec<String> = missing(servers, source)
                .into_iter()
                .map(|(name, _)| name)
                .collect();
            assert_eq!(names, expected, "{source:?}");
        };
        check(None, &["caddy", "nginx"]);
        check(Some(SourceKind::Wheel), &["caddy"]);
        check(Some(SourceKind::Crate), &["nginx"]);
        check(Some(SourceKind::Apt), &[]);
    }
}

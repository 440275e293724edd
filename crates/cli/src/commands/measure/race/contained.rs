//! Contenders in containers, as a command line names them: which service of a compose file is
//! meant, and what to write in place of a command that starts a container.

use std::path::Path;

use bakeoff_plan::{
    ContainerSource, OwnCompose, OwnContainer, OwnImage, Readiness, ServerChoice, check_image,
};
use bakeoff_stage::Service;

use super::name;
use crate::exit;
use crate::flags::OperandFlags;

/// Programs that start containers by their command `run`.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];
/// Flags of theirs without a value.
const PLAIN_FLAGS: [&str; 9] = [
    "-d",
    "--detach",
    "--rm",
    "-i",
    "-t",
    "-it",
    "-ti",
    "--init",
    "--privileged",
];

/// An image with the name of its contender.
pub(super) fn image(text: &str) -> anyhow::Result<(String, ServerChoice)> {
    check_image(text).map_err(exit::usage)?;
    let image = OwnImage::plain(text);
    let name = name::slug(&format!("{} {}", image.short_name(), image.tag()));
    Ok((name, choice(ContainerSource::Image(image))))
}

/// The service of a compose file that is measured.
pub(super) fn compose(
    path: &Path,
    services: &[Service],
    flags: &OperandFlags,
) -> anyhow::Result<ServerChoice> {
    let service = service(services, flags.service.as_deref()).map_err(|problem| {
        let names: Vec<&str> = services.iter().map(|it| it.name.as_str()).collect();
        exit::usage(format!(
            "{}: {problem}; say which with --service: {}",
            path.display(),
            names.join(", ")
        ))
    })?;
    Ok(choice(ContainerSource::Compose(OwnCompose {
        file: path.to_owned(),
        service,
    })))
}

fn choice(source: ContainerSource) -> ServerChoice {
    ServerChoice::Container(OwnContainer {
        source,
        port: None,
        ready: Readiness::default(),
    })
}

/// The service that is said, the only one, or the only one that asks others and is asked by none.
fn service(services: &[Service], said: Option<&str>) -> Result<String, String> {
    if let Some(said) = said {
        let mut services = services.iter();
        let found = services.find(|it| it.name == said);
        return found
            .map(|it| it.name.clone())
            .ok_or_else(|| format!("it has no service `{said}`"));
    }
    let is_behind = |name: &String| {
        let mut services = services.iter();
        services.any(|it| it.asks.contains(name) || it.after.contains(name))
    };
    let asks = |it: &&Service| !it.asks.is_empty() || !it.after.is_empty();
    let first: Vec<&Service> = match services {
        [only] => vec![only],
        several => several
            .iter()
            .filter(|it| asks(it) && !is_behind(&it.name))
            .collect(),
    };
    match first.as_slice() {
        [one] => Ok(one.name.clone()),
        _ => Err("several of its services may be meant".to_owned()),
    }
}

/// Refuses a command that starts a container: its processes would be those of an engine.
pub(super) fn refuse_engine(command: &str) -> anyhow::Result<()> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_before = |word: &&&str| **word == "sudo" || **word == "exec" || word.contains('=');
    let before = words.iter().take_while(is_before).count();
    let words = &words[before..];
    let program = words.first().map_or("", |word| last_part(word));
    let order = words.get(1).copied().unwrap_or_default();
    let line = if program.ends_with("-compose") || ENGINES.contains(&program) && order == "compose"
    {
        "bakeoff race compose.yaml --service NAME".to_owned()
    } else if ENGINES.contains(&program) && order == "run" {
        format!("bakeoff race --image {}", image_of(&words[2..]))
    } else {
        return Ok(());
    };
    Err(exit::usage(format!(
        "--start '{command}' would measure {program} and not what runs in its container; name the \
         container's source instead, and no port has to be published: {line}"
    )))
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The image in the arguments of `run`.
fn image_of<'w>(arguments: &[&'w str]) -> &'w str {
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        if !word.starts_with('-') {
            return word;
        }
        if !word.contains('=') && !PLAIN_FLAGS.contains(word) {
            arguments.next();
        }
    }
    "IMAGE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_that_nobody_asks_is_meant() {
        let one = |name: &str, asks: &[&str], after: &[&str]| Service {
            name: name.to_owned(),
            asks: asks.iter().map(|it| (*it).to_owned()).collect(),
            after: after.iter().map(|it| (*it).to_owned()).collect(),
            ..Service::default()
        };
        let (app, proxy) = (one("app", &[], &[]), one("proxy", &["app"], &[]));
        let all = [app.clone(), proxy.clone(), one("db", &[], &[])];
        assert_eq!(service(&all, None).as_deref(), Ok("proxy"));
        assert_eq!(service(&all, Some("app")).as_deref(), Ok("app"));
        assert!(service(&all, Some("none")).is_err());
        assert_eq!(
            service(std::slice::from_ref(&app), None).as_deref(),
            Ok("app")
        );
        let two = [app, proxy, one("other", &[], &["app"])];
        assert!(service(&two, None).is_err(), "two ask the same");
        assert!(service(&[], None).is_err());
    }

    #[test]
    fn a_command_that_starts_a_container_is_refused_with_what_to_write() {
        let said = |command: &str| refuse_engine(command).err().map(|it| it.to_string());
        for (command, line) in [
            (
                "docker run --rm -p 80:80 nginx:1.28 nginx",
                "race --image nginx:1.28",
            ),
            ("sudo podman run -d --name=a caddy", "race --image caddy"),
            ("/usr/bin/docker run", "race --image IMAGE"),
            ("docker compose up", "race compose.yaml --service"),
            ("A=b podman-compose up -d", "race compose.yaml --service"),
        ] {
            let said = said(command).unwrap();
            assert!(said.contains(line), "{said}");
        }
        for command in ["node app.js", "docker ps", "./docker-entrypoint.sh", ""] {
            assert_eq!(said(command), None, "{command}");
        }
    }
}

//! The user's own container engine, podman or docker: found on the search path and driven by its
//! command line.
//!
//! What it says is read here, as JSON. No image is built, and none is pulled but by [`pull`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_record::Step;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bounded::{self, Question};
use crate::error::{Cause, StageError};
use crate::program::is_executable;

/// Engines, in the order in which they are asked.
const NAMES: [&str; 2] = ["podman", "docker"];
/// A question takes a tenth of a second; on a busy machine more.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// An image may be large, and a network slow.
const PULL_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Of what an engine says of a failure, so much is passed on.
const SAID_MAX: usize = 400;

/// A container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Engine {
    pub(crate) program: PathBuf,
}

/// What an engine says of an image, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// Digest of its configuration, hex: it names the image whatever its tags are.
    pub(crate) id: String,
}

/// What an engine says of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inspected {
    pub(crate) id: String,
    /// Id of its image.
    pub(crate) image: String,
    /// First process, 0 where it does not run.
    pub(crate) process: i32,
    pub(crate) exit_code: i64,
    pub(crate) out_of_memory: bool,
    /// By which its image wants to be asked to end, without `SIG`.
    pub(crate) stop_signal: &'static str,
    /// Where the engine writes what it prints.
    pub(crate) log: Option<PathBuf>,
    /// The service of a compose file that it is.
    pub(crate) service: Option<String>,
}

/// The engines of this machine; whether they work is not known.
pub(crate) fn installed() -> Vec<Engine> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |name: &str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        places.find(|place| place.is_absolute() && is_executable(place))
    };
    let found = NAMES.iter().filter_map(|name| find(name));
    found.map(|program| Engine { program }).collect()
}

/// The first engine that has an image, with what it says of it.
pub(crate) fn with_image(name: &str) -> Result<(Engine, Image), StageError> {
    let engines = installed();
    let mut said = Vec::new();
    for engine in &engines {
        match engine.ask(["image", "inspect", name]) {
            Ok(text) => match image(&text) {
                Some(image) => return Ok((engine.clone(), image)),
                None => said.push(format!("{} gave no JSON", engine.name())),
            },
            Err(cause) => said.push(format!("{}: {cause}", engine.name())),
        }
    }
    let (reason, fix) = match engines.first() {
        None => (
            "containers need podman or docker, and neither is on the search path".to_owned(),
            "apt-get install podman".to_owned(),
        ),
        Some(engine) => (
            format!("image {name} is not here ({})", said.join("; ")),
            format!("{} pull {name}, or add --pull", engine.name()),
        ),
    };
    let cause = Cause::Lacking { reason, fix };
    Err(StageError::new(Step::Prepare, cause))
}

impl Engine {
    /// `podman` or `docker`.
    pub(crate) fn name(&self) -> &str {
        let name = self.program.file_name().and_then(|name| name.to_str());
        name.unwrap_or("engine")
    }

    /// What it answers to a question that changes nothing.
    ///
    /// # Errors
    /// What it said where it failed.
    pub(crate) fn ask<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, String> {
        self.run(arguments, ANSWER_LIMIT)
    }

    fn run<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        limit: Duration,
    ) -> Result<String, String> {
        let program = self.program.display().to_string();
        let rest = arguments.into_iter().map(str::to_owned);
        let command: Vec<String> = std::iter::once(program).chain(rest).collect();
        let question = Question::plain(Path::new("/"), limit);
        let output = bounded::run(&command, &question).map_err(|cause| cause.to_string())?;
        if output.status.success() {
            Ok(output.text)
        } else {
            Err(last_words(&output.text))
        }
    }

    /// The containers with a label, `name=value`.
    pub(crate) fn labelled(&self, label: &str) -> Result<Vec<Inspected>, String> {
        let filter = format!("label={label}");
        let ids = self.ask(["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter])?;
        let ids: Vec<&str> = ids.split_whitespace().filter(|it| is_id(it)).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let text = self.ask(["container", "inspect"].into_iter().chain(ids))?;
        containers(&text).ok_or_else(|| "it gave no JSON".to_owned())
    }
}

/// Has the first engine get an image that none has.
///
/// # Errors
/// When there is no engine, or it cannot.
pub fn pull(name: &str) -> Result<(), StageError> {
    let Err(missing) = with_image(name) else {
        return Ok(());
    };
    let engines = installed();
    let engine = engines.first().ok_or(missing)?;
    let pulled = engine.run(["pull", name], PULL_LIMIT);
    pulled.map(drop).map_err(|said| {
        let order = format!("have {} pull {name}", engine.name());
        StageError::new(Step::Prepare, Cause::Engine { order, said })
    })
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The last line of what an engine said, without what a log puts before it.
pub(crate) fn last_words(text: &str) -> String {
    let mut lines = text.lines().rev();
    let last = lines.find(|line| !line.trim().is_empty());
    let last = last.map_or("it said nothing", str::trim);
    let last = last.strip_prefix("Error: ").unwrap_or(last);
    last.chars().take(SAID_MAX).collect()
}

/// What an engine says of one image.
pub(crate) fn image(text: &str) -> Option<Image> {
    let said = list::<SaidImage>(text)?.into_iter().next()?;
    plain_id(&said.id).map(|id| Image { id })
}

/// What an engine says of containers.
pub(crate) fn containers(text: &str) -> Option<Vec<Inspected>> {
    let said = list::<SaidContainer>(text)?;
    said.into_iter().map(inspected).collect()
}

fn inspected(said: SaidContainer) -> Option<Inspected> {
    let SaidContainer { state, config, .. } = said;
    let logged = said.host_config.log_config.path;
    let mut log = [said.log_path, logged].into_iter().flatten();
    Some(Inspected {
        id: plain_id(&said.id)?,
        image: plain_id(&said.image)?,
        process: state.pid,
        exit_code: state.exit_code,
        out_of_memory: state.oom_killed,
        stop_signal: signal_name(config.stop_signal.as_ref()),
        log: log.find(|it| it.is_absolute()),
        service: config.labels.and_then(|labels| labels.service),
    })
}

/// An id without the name of its digest.
fn plain_id(text: &str) -> Option<String> {
    let id = text.strip_prefix("sha256:").unwrap_or(text);
    is_id(id).then(|| id.to_owned())
}

/// The JSON list in what an engine printed; warnings may come before it.
fn list<T: DeserializeOwned>(text: &str) -> Option<Vec<T>> {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let mut lines = lines.filter(|(_, line)| line.starts_with('['));
    let (start, _) = lines.next()?;
    let stream = serde_json::Deserializer::from_str(&text[start..]);
    stream.into_iter::<Vec<T>>().next()?.ok()
}

/// Engines name a signal, or give its number.
fn signal_name(said: Option<&serde_json::Value>) -> &'static str {
    let said = match said {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    match said.strip_prefix("SIG").unwrap_or(&said) {
        "QUIT" | "3" => "QUIT",
        "INT" | "2" => "INT",
        "HUP" | "1" => "HUP",
        "USR1" | "10" => "USR1",
        "USR2" | "12" => "USR2",
        "KILL" | "9" => "KILL",
        _ => "TERM",
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SaidImage {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SaidContainer {
    id: String,
    image: String,
    state: SaidState,
    #[serde(default)]
    config: SaidConfig,
    #[serde(default)]
    host_config: SaidHostConfig,
    #[serde(default)]
    log_path: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SaidState {
    #[serde(default)]
    pid: i32,
    #[serde(default)]
    exit_code: i64,
    #[serde(default, rename = "OOMKilled")]
    oom_killed: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct SaidConfig {
    stop_signal: Option<serde_json::Value>,
    labels: Option<SaidLabels>,
}

#[derive(Deserialize)]
struct SaidLabels {
    #[serde(default, rename = "com.docker.compose.service")]
    service: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct SaidHostConfig {
    log_config: SaidLogConfig,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct SaidLogConfig {
    path: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_podman_and_docker_say_of_a_container_is_read() {
        let podman = r#"time="x" level=warning msg="a [warning]"
[
  { "Id": "00ff", "Image": "aa11", "State": { "Pid": 71, "ExitCode": 0, "OOMKilled": false },
    "Config": { "StopSignal": 3, "Labels": { "com.docker.compose.service": "proxy", "x": "y" } },
    "HostConfig": { "LogConfig": { "Path": "/var/ctr.log" } } }
]
"#;
        let docker = r#"[{ "Id": "00ff", "Image": "sha256:aa11", "LogPath": "/var/ctr.log",
            "State": { "Pid": 71, "ExitCode": 0 },
            "Config": { "StopSignal": "SIGQUIT",
                        "Labels": { "com.docker.compose.service": "proxy" } },
            "HostConfig": { "LogConfig": { "Type": "json-file" } } }]"#;
        let expected = Inspected {
            id: "00ff".to_owned(),
            image: "aa11".to_owned(),
            process: 71,
            exit_code: 0,
            out_of_memory: false,
            stop_signal: "QUIT",
            log: Some("/var/ctr.log".into()),
            service: Some("proxy".to_owned()),
        };
        for text in [podman, docker] {
            assert_eq!(containers(text), Some(vec![expected.clone()]), "{text}");
        }
        let plain = r#"[{ "Id": "0", "Image": "1", "State": {}, "Config": { "Labels": null } }]"#;
        let plain = containers(plain).unwrap().remove(0);
        assert_eq!((plain.stop_signal, plain.process), ("TERM", 0));
        for text in [
            "",
            "[",
            "no\n",
            "[{}]",
            r#"[{"Id": "-v", "Image": "0", "State": {}}]"#,
        ] {
            assert_eq!(containers(text), None, "{text}");
        }
    }

    #[test]
    fn an_image_is_known_by_its_digest() {
        let id = "00ff".to_owned();
        for said in ["sha256:00ff", "00ff"] {
            let text = format!(r#"[{{ "Id": "{said}", "RepoDigests": null }}]"#);
            assert_eq!(image(&text), Some(Image { id: id.clone() }));
        }
    }

    #[test]
    fn the_last_line_says_why() {
        let said = "Trying...\nError: no such image\n\n";
        assert_eq!(last_words(said), "no such image");
        assert_eq!(last_words(" \n"), "it said nothing");
    }
}

//! Contenders in containers, as plans name them.

use std::path::Path;

use bakeoff_plan::{
    Builtin, ContainerSource, MountedConfig, OwnCompose, OwnContainer, OwnImage, Plan, Readiness,
    ServerChoice, parse,
};

fn read(keys: &str) -> Result<Plan, String> {
    let text = format!(
        "name = \"p\"\nworkloads = [\"synthetic\"]\nload = [{{ clients = 1 }}]\n\
         [[contender]]\nname = \"a\"\n{keys}\n"
    );
    parse(&text, "p.toml", Path::new("/plans"), &Builtin).map_err(|error| error.to_string())
}

/// The keys stand for this container, and are written so that they are read again.
fn check(keys: &str, expected: OwnContainer) {
    let plan = read(keys).unwrap();
    let server = ServerChoice::Container(expected);
    assert_eq!(plan.contenders[0].server, server, "{keys}");
    let again = parse(&plan.to_toml(), "p", Path::new("/"), &Builtin).unwrap();
    assert_eq!(again, plan, "{keys}");
}

#[test]
fn images_and_services_are_read_and_written() {
    let plain = OwnContainer {
        source: ContainerSource::Image(OwnImage::plain("nginx:1.28")),
        port: None,
        ready: Readiness::default(),
    };
    check("image = \"nginx:1.28\"", plain);
    let config = MountedConfig {
        file: "/plans/app.toml".into(),
        at: Some("/etc/app.toml".to_owned()),
    };
    let full = OwnContainer {
        source: ContainerSource::Image(OwnImage {
            image: "app@sha256:00ff".to_owned(),
            args: vec!["serve".to_owned()],
            environment: vec![("A".to_owned(), "b".to_owned())],
            config: Some(config),
        }),
        port: Some(8080),
        ready: Readiness {
            path: Some("/up".to_owned()),
            status: Some(204),
        },
    };
    check(
        "image = \"app@sha256:00ff\"\nargs = [\"serve\"]\nenv = { A = \"b\" }\nport = 8080\n\
         config = \"./app.toml:/etc/app.toml\"\nready = { path = \"/up\", status = 204 }",
        full,
    );
    let service = OwnContainer {
        source: ContainerSource::Compose(OwnCompose {
            file: "/plans/stack/compose.yaml".into(),
            service: "proxy".to_owned(),
        }),
        port: None,
        ready: Readiness::default(),
    };
    check(
        "compose = \"stack/compose.yaml\"\nservice = \"proxy\"",
        service,
    );
}

#[test]
fn what_is_no_container_is_refused_with_its_place() {
    for (keys, expected) in [
        (
            "image = \"a b\"",
            "p.toml:6:9: `a b` is no name of an image; write it as the engine lists it, such as \
             nginx:1.28",
        ),
        (
            "image = \"nginx\"\nport = 0",
            "p.toml:7:8: `port` is 0; write a number from 1 to 65535, such as `port = 8080`",
        ),
        (
            "image = \"nginx\"\nservice = \"proxy\"",
            "p.toml:7:11: `service` belongs to `compose`, and not to `image`; take it out",
        ),
        (
            "compose = \"compose.yaml\"",
            "p.toml:6:11: `service` is missing in `contender`: write `service = \"proxy\"`, the \
             service that is measured",
        ),
        (
            "image = \"nginx\"\ncompose = \"compose.yaml\"",
            "p.toml:7:11: `image` and `compose` both say what answers; keep one of them",
        ),
    ] {
        assert_eq!(read(keys).unwrap_err(), expected, "{keys}");
    }
}

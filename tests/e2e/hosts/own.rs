//! Configurations of the user's own, which are at home, and whose servers run on another host.

use std::os::unix::fs::symlink;

use super::lab::{Lab, Nature};
use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;
use crate::support::wait_until;

/// A host that does not see the folder `etc` of the test, which home has.
const APART: Nature = Nature {
    home: "",
    banner: "",
    ahead_s: 0,
    first: "mount -t tmpfs tmpfs $SCENE/etc",
};

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
const SITE: &str = "server {\n  listen 80;\n  listen 443 ssl;\n  server_name www.example.com;\n\
                    ssl_certificate @/tls/site.crt;\n  ssl_certificate_key @/tls/site.key;\n\
                    root @/www;\n}\n";
const MAIN: &str = "events {}\nhttp {\n  include sites/*.conf;\n  include @/limits.conf;\n}\n";
const PAGE: &str = "name = \"page\"\npath = \"/a.txt\"\nprotocol = \"h1-tls\"\n\
                    [expect]\ntext = \"Only at home\"\n";

/// Writes a configuration whose absolute paths are those of its folder at home.
fn write(scene: &Scene, name: &str, text: &str) {
    let base = scene.path("etc").display().to_string();
    scene.write(&format!("etc/{name}"), &text.replace('@', &base));
}

/// A lab whose `sut` has nothing of the folder `etc`, and a plan for the configuration there.
fn lab<'s>(scene: &'s Scene, workload: &str, config: &str) -> Option<Lab<'s>> {
    if !are_installed(scene, &["nginx"]) {
        return None;
    }
    let lab = Lab::new(scene, &[("sut", APART), ("g1", Nature::default())])?;
    scene.write("lab.toml", &lab.file(&["g1"], false));
    let listed = scene.json(&["list", "--json"]);
    let servers = listed["servers"].as_array().unwrap();
    let nginx = servers.iter().find(|it| it["name"] == "nginx").unwrap();
    let plan = format!(
        "name = \"own\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"{workload}\"]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"ours\"\nserver = \"nginx\"\nconfig = \"{config}\"\n\
         binary = {}\nhost = \"www.example.com\"\n\
         [[load]]\nclients = 3\nwarmup = \"100ms\"\nduration = \"500ms\"\ntimeout = \"5s\"\n",
        nginx["binary"]
    );
    scene.write("own.toml", &plan);
    scene.write("library/workloads/page.toml", PAGE);
    Some(lab)
}

const RUN: [&str; 8] = [
    "run",
    "./own.toml",
    "--library",
    "library",
    "--hosts",
    "lab.toml",
    "--out",
    "own",
];

#[test]
fn a_configuration_goes_to_the_servers_host_with_what_it_names() {
    let scene = Scene::new();
    write(&scene, "nginx.conf", MAIN);
    write(&scene, "limits.conf", "keepalive_requests 5000;\n");
    write(&scene, "available/shop.conf", SITE);
    std::fs::create_dir(scene.path("etc/sites")).unwrap();
    symlink("../available/shop.conf", scene.path("etc/sites/shop.conf")).unwrap();
    write(&scene, "www/a.txt", "Only at home");
    write(&scene, "tls/site.crt", "-----BEGIN CERTIFICATE-----\n");
    write(&scene, "tls/site.key", KEY);
    write(&scene, "notes.txt", "nobody's business");
    let Some(lab) = lab(&scene, "page", "etc/nginx.conf") else {
        return;
    };
    let finished = lab.start_home(&RUN).finish();
    let finished = finished.expect_measured();
    let base = scene.path("etc").display().to_string();
    finished
        .says(&format!("host sut gets 5 files of {base}"))
        .says(&format!("{base}/tls/site.key holds a private key"));
    let record = scene.path("own");
    assert_eq!(measured(&record).len(), 1);
    let trial = &trials(&record)[0];
    let requests = &trial["result"]["requests"];
    assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
    // Files are called as they are at home.
    let changes = trial["server"]["config_changes"].as_array().unwrap();
    let files: Vec<&str> = changes
        .iter()
        .map(|it| it["file"].as_str().unwrap())
        .collect();
    assert!(
        files.iter().all(|file| file.starts_with(&base)),
        "{files:?}"
    );
    let texts = trial["server"]["configs"].to_string();
    assert!(texts.contains(&format!("root {base}/www;")), "{texts}");
    assert!(!texts.contains("-files"), "{texts}");
    wait_until("nothing is left on any host", || lab.is_empty());
}

#[test]
fn what_lies_elsewhere_or_listens_on_the_servers_host_is_named() {
    let scene = Scene::new();
    let main = |include: &str| {
        format!(
            "events {{}}\nhttp {{\n  include {include};\n  server {{\n    listen 80;\n\
             return 200 \"Hello, world!\";\n  }}\n}}\n"
        )
    };
    scene.write("shared.conf", "add_header X-Shared yes;\n");
    write(&scene, "hidden.conf", "add_header X-Hidden yes;\n");
    write(&scene, "site/nginx.conf", &main("../../shared.conf"));
    let Some(lab) = lab(&scene, "synthetic", "etc/site/nginx.conf") else {
        return;
    };
    // The host has the test's other files, at the same paths.
    lab.start_home(&RUN).finish().expect_measured();
    let answers = &trials(&scene.path("own"))[0]["answers"];
    assert!(answers.to_string().contains("X-Shared"), "{answers:#}");
    write(&scene, "site/nginx.conf", &main("@/hidden.conf"));
    std::fs::remove_dir_all(scene.path("own")).unwrap();
    let refused = lab.start_home(&RUN).finish().expect(2);
    let hidden = scene.path("etc/hidden.conf").display().to_string();
    refused.says("host sut: ").says(&hidden).says("same path");

    // A port that the file says is kept, so one that somebody has is a failure of that host.
    let taken = "events {}\nhttp {\n  server {\n    listen 8080;\n\
                 return 200 \"Hello, world!\";\n  }\n}\n";
    write(&scene, "site/nginx.conf", taken);
    lab.serve("sut");
    let failed = lab.start_home(&RUN).finish().expect(4);
    failed.says("on host sut: ").says("8080").says("(bakeoff)");
    wait_until("nothing is left on any host", || lab.is_empty());
}

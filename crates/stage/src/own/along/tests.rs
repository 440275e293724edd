//! Which files go along with a configuration, and which stay.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("@", root.to_str().unwrap())).unwrap();
    }
    (folder, root)
}

fn names(along: &Along) -> Vec<&str> {
    along
        .files
        .keys()
        .map(|name| name.to_str().unwrap())
        .collect()
}

const MAIN: &str = "events {}\nhttp {\n  include conf.d/*.conf;\n  include @/mime.types;\n\
                    # include notes;\n  server {\n    listen 80;\n    root @/www;\n\
                    ssl_certificate tls/site.crt;\n    ssl_certificate_key tls/site.pem;\n\
                    ssl_session_ticket_key @/tls/ticket.key;\n    load_module @/modules/a.so;\n\
                    access_log @/logs/access.log;\n    location / { alias @/pages/$uri; } } }\n";
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";

#[test]
fn what_a_configuration_names_in_its_folder_goes_along_and_nothing_else() {
    let (_folder, root) = folder(&[
        ("nginx.conf", MAIN),
        ("conf.d/a.conf", "include more.conf;"),
        ("conf.d/b.txt", ""),
        ("more.conf", "auth_basic_user_file users;"),
        ("mime.types", ""),
        ("users", "u:p"),
        ("notes", "of nobody's business"),
        ("www/index.html", ""),
        ("www/css/a.css", ""),
        ("www/.git/config", ""),
        ("pages/a", ""),
        ("logs/access.log", "127.0.0.1"),
        ("tls/site.crt", "-----BEGIN CERTIFICATE-----\n"),
        ("tls/site.pem", KEY),
        ("tls/ticket.key", "of no form"),
        ("modules/a.so", "of another program"),
    ]);
    let along = Servers::new(None).along("nginx", &root.join("nginx.conf"));
    let along = along.unwrap();
    let expected = [
        "conf.d/a.conf",
        "mime.types",
        "more.conf",
        "nginx.conf",
        "pages/a",
        "tls/site.crt",
        "users",
        "www/css/a.css",
        "www/index.html",
    ];
    assert_eq!(names(&along), expected);
    assert_eq!((&along.folder, &along.main), (&root, &"nginx.conf".into()));
    let keys = ["tls/site.pem", "tls/ticket.key"].map(|name| root.join(name));
    assert_eq!(along.keys, BTreeSet::from(keys));
    let texts = along.files.iter().filter(|(_, file)| file.is_text);
    let texts: Vec<&str> = texts.map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(
        texts,
        ["conf.d/a.conf", "mime.types", "more.conf", "nginx.conf"]
    );
    let there = with_leads(
        &MAIN.replace("@", root.to_str().unwrap()),
        &along.leads,
        Path::new("/far"),
    );
    for line in [
        "include /far/mime.types;",
        "root /far/www;",
        "alias /far/pages/$uri;",
        "ssl_session_ticket_key /far/tls/ticket.key;",
    ] {
        assert!(there.contains(line), "{line}: {there}");
    }
    assert_eq!(there.lines().count(), MAIN.lines().count());
    let module = format!("load_module {}/modules/a.so;", root.display());
    assert!(there.contains(&module), "it is the host's: {there}");
}

#[test]
fn a_site_brings_the_folder_above_that_it_was_made_for() {
    let site = "server { listen 80; include snippets/a.conf; }\n";
    let main = "events {}\nhttp {\n  include sites-enabled/*;\n}\n";
    let (_folder, root) = folder(&[
        ("nginx.conf", main),
        ("sites-available/shop", site),
        ("sites-available/other", site),
        ("snippets/a.conf", "gzip on;"),
    ]);
    let along = Servers::new(None).along("nginx", &root.join("sites-available/shop"));
    let along = along.unwrap();
    assert_eq!(along.folder, root);
    assert_eq!(along.main, Path::new("sites-available/shop"));
    let expected = ["nginx.conf", "sites-available/shop", "snippets/a.conf"];
    assert_eq!(names(&along), expected);
}

#[test]
fn what_links_lead_to_goes_along_under_the_name_that_is_written() {
    let (_other, elsewhere) = folder(&[("shared.conf", "gzip on;"), ("stays.conf", "")]);
    let main = format!(
        "events {{}}\nhttp {{\ninclude linked.conf;\ninclude {}/stays.conf;\n\
         include ../out.conf;\ninclude /etc/nginx/mime.types;\n}}\n",
        elsewhere.display()
    );
    let (_folder, root) = folder(&[("etc/nginx.conf", &main), ("out.conf", "")]);
    symlink(elsewhere.join("shared.conf"), root.join("etc/linked.conf")).unwrap();
    symlink("etc", root.join("link")).unwrap();
    let along = Servers::new(None).along("nginx", &root.join("link/nginx.conf"));
    let along = along.unwrap();
    assert_eq!(along.folder, root.join("etc"));
    assert_eq!(names(&along), ["linked.conf", "nginx.conf"]);
    assert!(along.files[Path::new("linked.conf")].is_text);
    assert_eq!(
        along.elsewhere,
        BTreeSet::from([elsewhere.join("stays.conf"), root.join("out.conf")])
    );
    let there = with_leads(&main, &along.leads, Path::new("/far"));
    let out = format!("include {}/out.conf;", root.display());
    assert!(there.contains(&out), "{there}");
}

#[test]
fn what_is_too_large_stays_and_too_many_includes_are_refused() {
    let (_folder, root) = folder(&[
        (
            "haproxy.cfg",
            "global\n  foo bar\nfrontend f\n  errorfile 503 large\n  x words\n",
        ),
        ("nginx.conf", "events {}\nhttp { include many/*; }\n"),
        ("words/file", ""),
    ]);
    fs::File::create(root.join("large"))
        .unwrap()
        .set_len(BYTES_MAX)
        .unwrap();
    fs::create_dir(root.join("many")).unwrap();
    for number in 0..FILES_MAX {
        fs::write(root.join(format!("many/{number}")), "").unwrap();
    }
    let servers = Servers::new(None);
    let along = servers.along("haproxy", &root.join("haproxy.cfg")).unwrap();
    assert_eq!(names(&along), ["haproxy.cfg", "words/file"]);
    assert_eq!(along.left_out, BTreeSet::from([root.join("large")]));
    let refused = servers
        .along("nginx", &root.join("nginx.conf"))
        .unwrap_err();
    assert!(refused.to_string().contains("1,000"), "{refused}");
}

/// Users' files as they are met: each is named by the main one, or by one that it takes in.
#[test]
fn configurations_of_each_server_go_along_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/own");
    for (server, main) in [
        ("apache", "apache2.conf"),
        ("caddy", "Caddyfile"),
        ("haproxy", "haproxy.cfg"),
        ("lighttpd", "lighttpd.conf"),
        ("nginx", "nginx.conf"),
    ] {
        let (_folder, root) = folder(&[]);
        let mut expected = BTreeSet::new();
        copy(&fixtures.join(server), &root, &root, &mut expected);
        let along = Servers::new(None).along(server, &root.join(main));
        let along = along.unwrap();
        let files: BTreeSet<PathBuf> = along.files.into_keys().collect();
        assert_eq!(files, expected, "{server}");
    }
}

/// Copies a fixture; `@BASE@` in it is the folder `root`.
fn copy(from: &Path, to: &Path, root: &Path, names: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&path, &to, root, names);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&to, text.replace("@BASE@", root.to_str().unwrap())).unwrap();
            names.insert(to.strip_prefix(root).unwrap().to_owned());
        }
    }
}

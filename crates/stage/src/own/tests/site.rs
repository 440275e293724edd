//! One configuration at a time: what is refused, what comes to an end, whom copies belong to.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

/// A folder with a main configuration, and what comes of reading it.
struct Site(tempfile::TempDir);

impl Site {
    fn new(main: &str) -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::write(site.at("main.conf"), main).unwrap();
        site
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn fifo(&self, name: &str) {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, self.at(name), kind, mode, 0).unwrap();
    }

    /// The names of the files, the main one first, or the problem.
    fn read(&self, main: &str) -> Result<Vec<String>, String> {
        let files = OwnFiles::read(&self.at(main), &rules()).map_err(|it| it.to_string())?;
        let name = |file: OwnFile| {
            let below = file.path.strip_prefix(self.at("")).unwrap();
            below.display().to_string()
        };
        Ok(files.files.into_iter().map(name).collect())
    }

    #[track_caller]
    fn refused(&self, problem: &str) {
        let found = self.read("main.conf").unwrap_err();
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let site = Site::new("include *.conf;\n");
    site.fifo("fifo.conf");
    site.refused("fifo.conf: it is a fifo; expected a regular file");
    let site = Site::new("include zero;\n");
    symlink("/dev/zero", site.at("zero")).unwrap();
    site.refused("/dev/zero: it is a device; expected a regular file");
    fs::remove_file(site.at("zero")).unwrap();
    symlink("/dev/null", site.at("zero")).unwrap();
    assert_eq!(
        site.read("main.conf").unwrap(),
        ["main.conf"],
        "an empty file"
    );
    for (main, problem) in [
        ("", "a folder"),
        ("../..", "a folder"),
        ("none", "No such file"),
    ] {
        let found = site.read(main).unwrap_err();
        assert!(found.contains(problem), "{main}: {found}");
    }
    fs::create_dir(site.at("folder")).unwrap();
    fs::write(site.at("main.conf"), "include folder;\ninclude fold*;\n").unwrap();
    assert_eq!(
        site.read("main.conf").unwrap(),
        ["main.conf"],
        "the server says so"
    );
    fs::write(site.at("main.conf"), [b'a', 0xff]).unwrap();
    site.refused("it is not text in UTF-8");
}

#[test]
fn a_base_that_is_not_here_is_refused_with_its_line() {
    let site = Site::new("Listen 80\nServerRoot \"/srv/none/apache2\"\nInclude a.conf\n");
    let server = crate::servers::Servers::new(None).find("apache").unwrap();
    let refused = OwnFiles::read(&site.at("main.conf"), &server.own).unwrap_err();
    let refused = refused.to_string();
    let place = format!("{}: line 2: ", site.at("main.conf").display());
    for words in [
        place.as_str(),
        "/srv/none/apache2",
        "install the server there",
    ] {
        assert!(refused.contains(words), "no `{words}` in {refused}");
    }
}

#[test]
fn what_is_taken_in_and_is_no_text_is_refused_and_not_used_as_it_is() {
    for (server, main, part) in [
        ("nginx", "events {}\ninclude part.conf;\nhttp {}\n", "nginx"),
        ("apache", "Include part.conf\n", "apache"),
        ("lighttpd", "include \"part.conf\"\n", "lighttpd"),
    ] {
        let site = Site::new(main);
        let path = site.at("part.conf");
        let server = crate::servers::Servers::new(None).find(server).unwrap();
        let read = || OwnFiles::read(&site.at("main.conf"), &server.own);
        fs::write(&path, format!("# caf\u{e9} of {part}\n")).unwrap();
        assert_eq!(read().unwrap().files.len(), 2, "{part}");
        // As an editor of last century wrote it.
        fs::write(&path, b"# caf\xe9\n").unwrap();
        let refused = read().unwrap_err().to_string();
        let file = format!("{}: it is not text in UTF-8", path.display());
        assert!(
            refused.contains(&file) && refused.contains("iconv"),
            "{refused}"
        );
    }
}

#[test]
fn certificates_that_are_no_files_cannot_be_read() {
    let site = Site::new("certificate fifo;\n");
    site.fifo("fifo");
    let table = "change = [{ pattern = '^certificate (?P<own_file>.+);', to = 'none', why = 'a' }]";
    let rules = toml::from_str::<OwnTable>(table).unwrap().rules().unwrap();
    let (_, changed) = change(&site.at("main.conf"), &site.at("own"), &rules, &[]).unwrap();
    assert_eq!(changed.files[0].text, "none\n");
}

#[test]
fn circles_end_and_what_grows_without_end_is_refused() {
    let site = Site::new("include a;\ninclude loop;\ninclude loop/*;\n");
    fs::write(site.at("a"), "include b;\ninclude a;\ninclude main.conf;\n").unwrap();
    fs::write(site.at("b"), "include a;\ninclude */../b;\ninclude none;\n").unwrap();
    symlink("loop", site.at("loop")).unwrap();
    fs::create_dir(site.at("c")).unwrap();
    symlink("..", site.at("c/up")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf", "a", "b"]);
    let up = "c/up/".repeat(300);
    fs::write(site.at("main.conf"), format!("include {up}a;\n")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf", "a", "b"]);

    let too_many = "includes more than 1,000 files or 64 MiB";
    let site = Site::new("include 0;\n");
    for depth in 0..1000 {
        fs::write(
            site.at(&depth.to_string()),
            format!("include {};\n", depth + 1),
        )
        .unwrap();
    }
    site.refused(too_many);
    fs::write(site.at("998"), "").unwrap();
    assert_eq!(site.read("main.conf").unwrap().len(), 1000);
    fs::write(site.at("main.conf"), "include *;\n").unwrap();
    site.refused(too_many);
    fs::write(
        site.at("main.conf"),
        format!("include {};\n", ["*/.."; 9].join("/")),
    )
    .unwrap();
    for folder in 0..30 {
        fs::create_dir(site.at(&format!("folder-{folder}"))).unwrap();
    }
    site.refused("or its include patterns match against more than 200,000 names");
    let site = Site::new("include large;\n");
    let large = fs::File::create(site.at("large")).unwrap();
    large.set_len(65 << 20).unwrap();
    site.refused(too_many);
}

#[test]
fn replacements_of_replacements_do_not_fill_the_memory() {
    let site = Site::new("0\n");
    let replacement = |digit: u32| Replacement {
        from: digit.to_string(),
        to: (digit + 1).to_string().repeat(100),
    };
    let replacements: Vec<Replacement> = (0..9).map(replacement).collect();
    let main = site.at("main.conf");
    let error = change(&main, &site.at("own"), &rules(), &replacements).unwrap_err();
    assert!(
        error.to_string().contains("more than 67108864 bytes"),
        "{error}"
    );
}

#[test]
fn a_folder_is_taken_in_where_the_server_does_so() {
    let site = Site::new("include sites;\n");
    fs::create_dir_all(site.at("sites/more")).unwrap();
    fs::create_dir(site.at("available")).unwrap();
    for name in ["available/a", "sites/b", "sites/more/c"] {
        fs::write(site.at(name), "listen;\n").unwrap();
    }
    symlink("../available/a", site.at("sites/a")).unwrap();
    symlink("..", site.at("sites/more/up")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf"]);
    let folders = OwnRules {
        folders: true,
        ..rules()
    };
    let (_, changed) = change(&site.at("main.conf"), &site.at("own"), &folders, &[]).unwrap();
    let names: Vec<PathBuf> = changed.files.into_iter().map(|file| file.path).collect();
    let expected = ["main.conf", "available/a", "sites/b", "sites/more/c"];
    assert_eq!(names, expected.map(|name| site.at(name)));
    let copy = mirror::at(&site.at("own"), &site.at("sites/a"));
    assert_eq!(fs::read_to_string(copy).unwrap(), "listens;\n");
}

/// Root's files among others: their owner and group go along with the copy.
#[test]
fn a_copy_belongs_to_whom_the_original_belongs() {
    let site = Site::new("listen;\n");
    let main = site.at("main.conf");
    fs::set_permissions(&main, fs::Permissions::from_mode(0o4666)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&main, Some(65_534), Some(65_533)).unwrap();
        fs::set_permissions(&main, fs::Permissions::from_mode(0o4640)).unwrap();
    }
    let before = main.metadata().unwrap();
    let (_, changed) = change(&main, &site.at("own"), &rules(), &[]).unwrap();
    let copy = changed.main.metadata().unwrap();
    assert_eq!((copy.uid(), copy.gid()), (before.uid(), before.gid()));
    let expected = if is_root { 0o640 } else { 0o644 };
    assert_eq!(copy.mode() & 0o7777, expected);
}

/// A key, a page, a list of types: what a configuration names besides other configurations.
#[test]
fn other_files_are_found_beside_the_copies() {
    let main = "include sites/sub/a.conf;\nkey ../keys/key;\nlisten;\n";
    let site = Site::new("");
    for folder in ["etc/site", "etc/keys", "srv/www/sub"] {
        fs::create_dir_all(site.at(folder)).unwrap();
    }
    for (name, text) in [
        ("etc/site/main.conf", main),
        ("etc/site/types", "types"),
        ("etc/keys/key", "key"),
        ("srv/www/page", "page"),
        ("srv/www/sub/a.conf", "listen;\n"),
        ("srv/www/sub/page", "page of sub"),
    ] {
        fs::write(site.at(name), text).unwrap();
    }
    symlink("../../srv/www", site.at("etc/site/sites")).unwrap();
    let own = site.at("own");
    let (base, changed) = change(&site.at("etc/site/main.conf"), &own, &rules(), &[]).unwrap();
    assert_eq!(changed.files.len(), 2);
    let base = mirror::at(&own, &base);
    for (name, text) in [
        ("types", "types"),
        ("../keys/key", "key"),
        ("sites/page", "page"),
        ("sites/sub/page", "page of sub"),
        ("sites/sub/a.conf", "listens;\n"),
    ] {
        assert_eq!(fs::read_to_string(base.join(name)).unwrap(), text, "{name}");
    }
}

//! Containers as contenders: images are made of the machine's own nginx, as no registry is reached.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use crate::support::files::trials;
use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{SHORT, pass_over, wait_until};

const CONFIG: &str = "worker_processes 1; daemon off; error_log stderr; pid /run/nginx.pid;
events {}
http { access_log off; server { listen 80; location / { return 200 same; } } }
";
/// Numbers the images of this process.
static MADE: AtomicU32 = AtomicU32::new(0);

/// An image with the nginx of this machine. Dropping it removes it.
struct Image {
    name: String,
}

impl Image {
    /// `None` where none can be made or run, which is said.
    fn make(scene: &Scene, tag: &str) -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        let (podman, nginx) = (on_path("podman"), on_path("nginx"));
        let (Some(_), Some(nginx)) = (podman.filter(|_| root), nginx) else {
            pass_over("containers are measured as root, with podman and nginx");
            return None;
        };
        // The layout of a container's root, with the program and its libraries.
        let script =
            "set -e; mkdir -p root/etc/nginx root/run root/var/log/nginx root/var/lib/nginx
            cp $1 root/; cp nginx.conf root/etc/nginx/
            ldd $1 | grep -o '/[^ ]*' | while read -r it; do cp -L --parents $it root/; done
            echo root:x:0:0::/:/ > root/etc/passwd; echo root:x:0: > root/etc/group
            echo nobody:x:65534:65534::/:/ >> root/etc/passwd
            echo nogroup:x:65534: >> root/etc/group
            run='CMD [\"/nginx\", \"-c\", \"/etc/nginx/nginx.conf\"]'
            tar -C root -c . | podman import --change \"$run\" - $2
            rm -rf root";
        // What is equal is one image under several names, which go together.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let own = format!("bakeoff-test-{}-{number}", std::process::id());
        let name = format!("localhost/{own}/nginx:{tag}");
        scene.write("nginx.conf", &format!("{CONFIG}# {own}\n"));
        let mut make = Command::new("sh");
        make.args(["-c", script, "sh"]).arg(nginx).arg(&name);
        let made = scene.settle(make).output().unwrap();
        if !made.status.success() {
            pass_over(&format!("no image could be made: {made:?}"));
            return None;
        }
        let image = Self { name };
        let mut probe = Command::new("podman");
        probe.args(["run", "--rm", "--network", "none"]);
        probe.args([
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1024:1024",
        ]);
        probe.args([&image.name, "/nginx", "-v"]);
        let ran = probe.output().unwrap();
        if !ran.status.success() {
            pass_over(&format!("podman runs no container here: {ran:?}"));
            return None;
        }
        Some(image)
    }

    /// Containers of it, whatever they are called.
    fn containers(&self) -> String {
        let mut list = Command::new("podman");
        let filter = format!("ancestor={}", self.name);
        list.args(["ps", "--all", "--format", "{{.Names}}", "--filter", &filter]);
        String::from_utf8(list.output().unwrap().stdout).unwrap()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let mut remove = Command::new("podman");
        remove.args(["rmi", "--force", &self.name]);
        let _ = remove.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

#[test]
fn images_are_measured_from_inside_their_network() {
    let scene = Scene::new();
    let Some(image) = Image::make(&scene, "1") else {
        return;
    };
    let other = Image::make(&scene, "2").unwrap();
    let race = [
        "race",
        "--image",
        &image.name,
        "--image",
        &other.name,
        "/",
        "--out",
        "record",
    ];
    scene.run(&[&race[..], &SHORT].concat()).expect_measured();
    let trials = trials(&scene.path("record"));
    let of_image = |name: &str| {
        let mut trials = trials.iter();
        trials.find(|it| it["contender"] == name).unwrap().clone()
    };
    for (name, image) in [("nginx-1", &image), ("nginx-2", &other)] {
        let trial = of_image(name);
        assert_eq!(trial["end"]["kind"], "measured", "{trial}");
        assert!(trial["result"]["requests"]["ok"].as_u64() > Some(0));
        assert_eq!(trial["server"]["address"], "127.0.0.1:80");
        assert_eq!(trial["server"]["binary_sha256"].as_str().unwrap().len(), 64);
        let trees = trial["usage"]["trees"].as_array().unwrap();
        let server = trees.iter().find(|it| it["role"] == "server").unwrap();
        let last = server["ticks"].as_array().unwrap().last().unwrap();
        assert_eq!(last["processes"], 2, "a master and a worker");
        assert!(last["cpu_system_s"].as_f64() > Some(0.0), "{last}");
        assert!(trial["server"]["stopped"]["graceful"].as_bool().unwrap());
        assert_eq!(image.containers(), "");
    }
}

#[test]
fn what_a_killed_bakeoff_leaves_of_containers_the_next_one_removes() {
    let scene = Scene::new();
    let Some(image) = Image::make(&scene, "1") else {
        return;
    };
    let plan = format!(
        "name = \"held\"\nworkloads = [\"page\"]\n[references]\nyardstick = false\n\
         [[contender]]\nname = \"it\"\nimage = \"{}\"\n[[load]]\nclients = 1\nduration = \"60s\"\n\
         [[workload]]\nname = \"page\"\npath = \"/\"\nexpect = {{ text = \"same\" }}\n",
        image.name
    );
    scene.write("held.toml", &plan);
    let mut running = scene.start(&["run", "held.toml", "--out", "record"]);
    running.wait_until("its container runs", |_| !image.containers().is_empty());
    running.signal(Signal::KILL);
    running.finish();
    scene.run(&["list"]).expect(0);
    wait_until("its container is gone", || image.containers().is_empty());
    let left = scene.path("tmp").read_dir().unwrap().count();
    assert_eq!(left, 0, "a run folder");
}

#[test]
fn a_container_that_ends_says_why_in_its_own_words() {
    let scene = Scene::new();
    let Some(image) = Image::make(&scene, "1") else {
        return;
    };
    let wrong = scene.write("wrong.conf", "nonsense;\n");
    let config = |it: &Path| it.display().to_string();
    let plan = format!(
        "name = \"wrong\"\nworkloads = [\"html-small\"]\n[[contender]]\nname = \"it\"\n\
         image = \"{}\"\nconfig = \"{}\"\n[[load]]\nclients = 1\nduration = \"1s\"\n",
        image.name,
        config(&wrong)
    );
    scene.write("wrong.toml", &plan);
    let ran = scene.run(&["debug", "it", "html-small", "--plan", "wrong.toml"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("unknown directive \"nonsense\""), "{said}");
    assert_eq!(image.containers(), "");
}

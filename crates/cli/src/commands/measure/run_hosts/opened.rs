//! From a file of hosts to hosts that are ready for a campaign.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bakeoff_conduct::RolesHere;
use bakeoff_hosts::{Own, Session, Way};
use bakeoff_plan::{HOME, HostWay, Hosts, Load, Plan};
use bakeoff_record::TrialRecord;
use bakeoff_stage::Listening;

use super::engines;
use super::library;
use super::own_folders;
use super::stage::FarHost;
use super::{Far, OWN_KERNEL, Shared};
use crate::commands::measure::agent::{Limits, SetUp};
use crate::commands::measure::hosts::{self, Wanted};
use crate::commands::measure::not_asked;
use crate::commands::measure::resumed::HostNames;
use crate::{exit, output};

/// What a campaign brings to its hosts.
pub(crate) struct Campaign<'a> {
    pub(crate) plan: &'a Plan,
    /// Folder of servers of the user's own.
    pub(crate) servers: Option<&'a Path>,
    /// Trials of the record that goes on.
    pub(crate) earlier: &'a [TrialRecord],
    /// Whether the record may hold addresses of hosts.
    pub(crate) shows_addresses: bool,
}

impl Far {
    /// Opens a session with each host of the file, and sets up the stages of those with servers.
    pub(crate) fn open(file: &Path, campaign: &Campaign<'_>) -> anyhow::Result<Self> {
        let hosts = hosts::read(file)?;
        let roles = &hosts.roles;
        let is_one_site = roles.server == roles.origin;
        let wanted = hosts::generators(&hosts, &[])?;
        let wanted = wanted.into_iter().collect::<Result<Vec<Wanted>, _>>();
        let wanted = wanted.map_err(exit::not_valid)?;
        let of_loads = wanted.iter().map(|it| it.place.name.as_str());
        refuse_few_clients(&campaign.plan.loads, &of_loads.collect::<Vec<_>>())?;
        let (own, owner) = (hosts::own()?, hosts::owner());
        let server = one_place(file, &hosts, "server", &roles.server)?;
        let origin = one_place(file, &hosts, "origin", &roles.origin)?;
        Wanted::must_differ([&server, &origin].into_iter().chain(&wanted))?;
        names(&server, &origin, &wanted).refuse_others(file, campaign.earlier)?;
        // Home is asked for nothing that it cannot do by itself.
        let far_server = Some(&server).filter(|it| it.place.way != Way::Home);
        let far_origin = Some(&origin).filter(|it| it.place.way != Way::Home && !is_one_site);
        let proxied = campaign.plan.workloads.iter().any(|it| it.proxied);
        let serves_here = far_server.is_none() || (proxied && origin.place.way == Way::Home);
        let listening = serves_here.then(|| listening(file, &hosts)).transpose()?;
        let far = far_server.into_iter().chain(far_origin.filter(|_| proxied));
        let far: Vec<Wanted> = far.cloned().collect();
        let mut addresses = hosts::addresses::of_file(&hosts);
        let (of_stages, mut sessions) = all_sessions(&far, &wanted, &own, &owner)?;
        let (mut stages, mut said) = (Vec::new(), Vec::new());
        for (wanted, session) in far.iter().zip(of_stages) {
            hosts::addresses::add_of(&mut addresses, &session);
            said.push((wanted.place.name.clone(), session.hello().kernel.clone()));
            let stage = stage_of(wanted, &hosts, campaign)?;
            stages.push((wanted.place.clone(), session, stage));
        }
        let set_up = hosts::at_once(stages, |(place, session, stage)| {
            FarHost::set_up(place, session, own.clone(), owner.clone(), stage).map(Arc::new)
        });
        let set_up = set_up.into_iter().collect::<Result<Vec<_>, _>>();
        let set_up = set_up.map_err(not_asked)?;
        let named = |name: &str| set_up.iter().find(|host| host.place.name == name).cloned();
        let allowed = hosts::at_once(&mut sessions, hosts::limits).into_iter();
        let allowed: Result<Vec<Limits>, _> = allowed.collect();
        let allowed = allowed.map_err(exit::not_valid)?;
        let engines = engines::of(&sessions, &allowed, &wanted, roles, campaign.plan)?;
        for session in &sessions {
            hosts::addresses::add_of(&mut addresses, session);
        }
        let of_loads = sessions
            .iter()
            .map(|it| (it.host().to_owned(), it.hello().kernel.clone()));
        let (names, said): (Vec<String>, Vec<_>) = said.into_iter().chain(of_loads).unzip();
        let numbers = hosts::kernels(OWN_KERNEL, said.into_iter());
        Ok(Self {
            server: named(&server.place.name),
            origin: named(&origin.place.name),
            is_one_site,
            listening: listening.unwrap_or_default(),
            generators: Arc::new(Shared {
                own,
                owner,
                places: wanted.into_iter().map(|wanted| wanted.place).collect(),
                sessions: Mutex::new(sessions.into_iter().map(Some).collect()),
                engines,
                kernels: names.into_iter().zip(numbers).collect(),
                links: Mutex::default(),
                addresses: (!campaign.shows_addresses).then_some(addresses),
                server: server.place,
                origin: origin.place,
                open_files: allowed.iter().map(|it| it.open_files.hard).collect(),
            }),
        })
    }
}

/// Names of the hosts, by what they do.
fn names(server: &Wanted, origin: &Wanted, generators: &[Wanted]) -> HostNames {
    let name = |one: &Wanted| one.place.name.clone();
    HostNames {
        server: [name(server)].into(),
        origin: [name(origin)].into(),
        generators: generators.iter().map(name).collect(),
    }
}

/// Refuses loads that cannot be divided over the generators, before anything is started.
fn refuse_few_clients(loads: &[Load], generators: &[&str]) -> anyhow::Result<()> {
    let most = generators.len();
    for load in loads {
        let rungs = load.overload().map_or(&[][..], |it| &it.ladder);
        let least = rungs.iter().copied().fold(load.clients(), u32::min);
        if (least as usize) < most {
            let plural = if least == 1 { "" } else { "s" };
            return Err(exit::usage(format!(
                "load {}: {least} client{plural} cannot be divided over {most} generators ({}): \
                 give at least as many clients as generators",
                load.label(),
                generators.join(", ")
            )));
        }
    }
    Ok(())
}

/// The one place of a role.
fn one_place(file: &Path, hosts: &Hosts, role: &str, name: &str) -> anyhow::Result<Wanted> {
    let found = hosts::expanded(hosts, name).into_iter();
    let mut found = found.collect::<Result<Vec<Wanted>, _>>();
    match found.as_mut().map(|found| (found.len(), found.pop())) {
        Ok((1, Some(one))) => Ok(one),
        Ok((many, _)) => Err(exit::usage(format!(
            "{}: `roles.{role}` is `{name}`, which are {many} pods; expected one: narrow its \
             selector",
            file.display()
        ))),
        Err(error) => Err(exit::not_valid(error)),
    }
}

/// A session with each of these hosts; one that cannot be had ends the command.
fn sessions(wanted: &[Wanted], own: &Own, owner: &str) -> anyhow::Result<Vec<Session>> {
    let opened = hosts::opened(wanted, own, owner)?;
    for (session, took) in &opened {
        let (name, ms) = (session.host(), took.as_millis());
        output::note(&format!("host {name} is ready after {ms} ms"));
    }
    Ok(opened.into_iter().map(|(session, _)| session).collect())
}

/// Sessions for the stages of these hosts, and for generators. All are opened at once, but for a
/// generator on the host of a stage: its agent takes the program that was copied for the other one.
fn all_sessions(
    far: &[Wanted],
    generators: &[Wanted],
    own: &Own,
    owner: &str,
) -> anyhow::Result<(Vec<Session>, Vec<Session>)> {
    let is_beside = |one: &Wanted| far.iter().any(|stage| stage.place == one.place);
    let (beside, apart): (Vec<Wanted>, Vec<Wanted>) =
        generators.iter().cloned().partition(is_beside);
    let mut of_stages = sessions(&[far, &apart].concat(), own, owner)?;
    let mut apart = of_stages.split_off(far.len()).into_iter();
    let mut beside = sessions(&beside, own, owner)?.into_iter();
    let of_generators = generators.iter().filter_map(|one| {
        if is_beside(one) {
            beside.next()
        } else {
            apart.next()
        }
    });
    Ok((of_stages, of_generators.collect()))
}

/// What a host with servers is set up with.
fn stage_of(wanted: &Wanted, hosts: &Hosts, campaign: &Campaign<'_>) -> anyhow::Result<SetUp> {
    let name = &wanted.entry;
    let text = wanted.address.as_deref();
    let (address, names) = match text {
        // Its agent may know by which one it was reached.
        None => (None, Vec::new()),
        Some(text) => {
            let at = hosts::listens::at(name, Some(text));
            let at =
                at.map_err(|cause| exit::usage(format!("host {name}: {}", cause.in_full())))?;
            let is_name = text.parse() != Ok(at);
            (Some(at), Vec::from_iter(is_name.then(|| text.to_owned())))
        }
    };
    let has_servers = hosts.roles.server == *name;
    let (mut library, mut own) = (Vec::new(), Vec::new());
    if has_servers {
        library = library::files(campaign.plan, campaign.servers)?;
        own = own_folders::of(campaign.plan, campaign.servers, name)?;
    }
    Ok(SetUp {
        address,
        names,
        pinning: campaign.plan.pinning.clone(),
        roles: RolesHere {
            server: has_servers,
            origin: hosts.roles.origin == *name,
            engine: hosts.roles.generators.contains(name),
        },
        seed: campaign.plan.seed,
        library,
        own,
    })
}

/// Where servers of this machine listen.
fn listening(file: &Path, hosts: &Hosts) -> anyhow::Result<Listening> {
    let home = hosts.hosts.iter().find(|it| it.way == HostWay::Home);
    let text = home.and_then(|home| home.address.as_deref());
    let address = hosts::listens::at(HOME, text).map_err(|_| {
        let found = match text {
            Some(text) => format!("`{text}` is no IP address"),
            None => format!("`hosts.{HOME}` has no address"),
        };
        exit::usage(format!(
            "{}: {found}; generators need an address of this machine: write `[hosts.{HOME}]` with \
             `address = \"10.0.0.1\"`",
            file.display()
        ))
    })?;
    Ok(Listening {
        address,
        names: Vec::new(),
    })
}

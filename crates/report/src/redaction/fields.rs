//! Every text of a record, and what each is.
//!
//! The types are taken apart without `..`: a field that is added to one of them does not compile
//! before somebody has decided here whether it can hold a secret. Numbers, enumerations and facts
//! of the machine's kernel cannot.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bakeoff_plan::{
    ConfigSource, ContainerSource, Contender, Content, MountedConfig, OwnCommand, OwnCompose,
    OwnContainer, OwnImage, Plan, Replacement, Request, Requests, RunningUrl, ServerChoice,
    Workload,
};
use bakeoff_record::{
    AnswerCheck, ConfigChange, ConfigFile, Hosts, LoadResult, Machine, Record, Said, ServerFacts,
    TrialEnd, TrialRecord, Work,
};

use super::names::class;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'n> {
    /// What tables and trials go by: never changed.
    Name,
    /// A sentence, a log, a command line.
    Prose,
    /// The text of a configuration file, or a part of one.
    Configuration,
    /// A request target or URL.
    Target,
    /// A body that is sent or expected; its length is counted.
    Body,
    /// The value of a header.
    Header {
        /// The header.
        name: &'n str,
        /// Whether a server sent it, so that its length was counted.
        sent: bool,
    },
    /// The value of a setting.
    Setting {
        /// The setting.
        name: &'n str,
    },
}

/// What is done with each text.
type See<'s> = dyn FnMut(Field<'_>, &mut String) + 's;

/// Sees every text of a record.
pub(super) fn of_record(record: &mut Record, see: &mut See<'_>) {
    let Record {
        plan,
        machine,
        trials,
        confirming,
        is_copy: _,
    } = record;
    of_plan(plan, see);
    of_machine(machine, see);
    let all = trials.iter_mut().chain(confirming);
    all.for_each(|trial| of_trial(trial, see));
}

/// Sees every text of a plan.
pub(super) fn of_plan(plan: &mut Plan, see: &mut See<'_>) {
    let Plan {
        name,
        description,
        rounds: _,
        budget: _,
        until: _,
        compare: _,
        seed: _,
        rest: _,
        pinning: _,
        references: _,
        contenders,
        workloads,
        loads: _,
    } = plan;
    see(Field::Name, name);
    see(Field::Prose, description);
    // First, so that the secrets of a workload have the same numbers beside other contenders:
    // records are compared, and joined to a history, where their workloads are equal.
    workloads.iter_mut().for_each(|it| of_workload(it, see));
    contenders.iter_mut().for_each(|it| of_contender(it, see));
}

fn of_contender(contender: &mut Contender, see: &mut See<'_>) {
    let Contender {
        name,
        server,
        overlays,
        certificate: _,
        host,
        replacements,
        user,
        // Digests.
        limits: _,
        action_command,
        answers: _,
    } = contender;
    see(Field::Name, name);
    action_command
        .iter_mut()
        .for_each(|it| see(Field::Prose, it));
    user.iter_mut().for_each(|user| see(Field::Name, user));
    match server {
        ServerChoice::Program {
            server,
            version: _,
            binary,
            config,
        } => {
            see(Field::Name, server);
            binary.iter_mut().for_each(|path| of_path(path, see));
            match config {
                ConfigSource::Variant(variant) => see(Field::Name, variant),
                ConfigSource::File(path) => of_path(path, see),
            }
        }
        ServerChoice::Command(own) => of_own_command(own, see),
        ServerChoice::Url(RunningUrl { url, fresh, folder }) => {
            see(Field::Name, &mut url.host);
            see(Field::Target, &mut url.path);
            fresh.iter_mut().for_each(|it| see(Field::Prose, it));
            of_path(folder, see);
        }
        ServerChoice::Container(own) => of_container(own, see),
        ServerChoice::Yardstick | ServerChoice::Origin => {}
    }
    for (name, value) in overlays {
        see(Field::Setting { name }, value);
    }
    host.iter_mut().for_each(|host| see(Field::Name, host));
    for Replacement { from, to } in replacements {
        see(Field::Configuration, from);
        see(Field::Configuration, to);
    }
}

fn of_container(own: &mut OwnContainer, see: &mut See<'_>) {
    let OwnContainer {
        source,
        port: _,
        ready,
    } = own;
    match source {
        ContainerSource::Image(OwnImage {
            image,
            args,
            environment,
            config,
        }) => {
            see(Field::Name, image);
            args.iter_mut().for_each(|it| see(Field::Prose, it));
            for (name, value) in environment {
                see(Field::Setting { name }, value);
            }
            if let Some(MountedConfig { file, at }) = config {
                of_path(file, see);
                at.iter_mut().for_each(|it| see(Field::Prose, it));
            }
        }
        ContainerSource::Compose(OwnCompose { file, service }) => {
            of_path(file, see);
            see(Field::Name, service);
        }
    }
    ready.path.iter_mut().for_each(|it| see(Field::Target, it));
}

fn of_own_command(own: &mut OwnCommand, see: &mut See<'_>) {
    let OwnCommand {
        command,
        environment,
        folder,
        fresh,
        ready,
        stop: _,
    } = own;
    see(Field::Prose, command);
    for (name, value) in environment {
        see(Field::Setting { name }, value);
    }
    of_path(folder, see);
    fresh.iter_mut().for_each(|it| see(Field::Prose, it));
    ready.path.iter_mut().for_each(|it| see(Field::Target, it));
}

fn of_workload(workload: &mut Workload, see: &mut See<'_>) {
    let Workload {
        name,
        description,
        template,
        protocol: _,
        requests,
        connections: _,
        client,
        files,
        proxied: _,
        origin: _,
        notes,
        values,
    } = workload;
    if let Some(values) = values {
        let in_headers = headers_of_columns(requests);
        values.tables.change(&mut |file, column, value| {
            let key = (file.to_owned(), column.to_owned());
            match in_headers.get(&key) {
                Some(name) => see(Field::Header { name, sent: false }, value),
                None => see(Field::Setting { name: column }, value),
            }
        });
    }
    see(Field::Name, name);
    see(Field::Prose, description);
    see(Field::Name, template);
    if let Some(certificate) = &mut client.certificate {
        of_path(&mut certificate.chain, see);
        of_path(&mut certificate.key, see);
    }
    notes.iter_mut().for_each(|note| see(Field::Prose, note));
    for file in files {
        see(Field::Name, &mut file.path);
        of_content(&mut file.content, see);
    }
    // Trials share the list, so it is made anew.
    let mut list = requests.to_vec();
    list.iter_mut().for_each(|request| of_request(request, see));
    if let Some(list) = Requests::new(list).filter(|list| list != requests) {
        *requests = list;
    }
}

/// The header that a column of values is sent in, by file and column.
fn headers_of_columns(requests: &Requests) -> BTreeMap<(String, String), String> {
    let mut headers = BTreeMap::new();
    for request in requests.iter().filter(|it| it.placeholders) {
        for (header, file, column) in request.cut().header_columns() {
            let key = (file.to_owned(), column.to_owned());
            headers.entry(key).or_insert_with(|| header.to_owned());
        }
    }
    headers
}

fn of_request(request: &mut Request, see: &mut See<'_>) {
    let Request {
        method: _,
        path,
        headers,
        placeholders: _,
        secret_headers: _,
        weight: _,
        body,
        expect,
    } = request;
    see(Field::Target, path);
    for (name, value) in headers {
        let sent = false;
        see(Field::Header { name, sent }, value);
    }
    body.iter_mut()
        .for_each(|it| of_content(&mut it.content, see));
    expect.body.iter_mut().for_each(|it| of_content(it, see));
}

fn of_content(content: &mut Content, see: &mut See<'_>) {
    match content {
        Content::Text(text) => see(Field::Body, text),
        Content::Generated { .. } => {}
    }
}

fn of_path(path: &mut PathBuf, see: &mut See<'_>) {
    let Some(text) = path.to_str() else {
        return;
    };
    let mut seen = text.to_owned();
    see(Field::Prose, &mut seen);
    if seen != text {
        *path = PathBuf::from(seen);
    }
}

fn of_machine(machine: &mut Machine, see: &mut See<'_>) {
    // The rest is what the kernel and the distribution say of the machine.
    of_command(&mut machine.command, see);
}

/// Sees the arguments of a command. `--password` and its value may be two of them.
pub(super) fn of_command(arguments: &mut [String], see: &mut See<'_>) {
    let mut flag: Option<String> = None;
    for argument in arguments {
        match &flag {
            Some(name) => see(Field::Setting { name }, argument),
            None => see(Field::Prose, argument),
        }
        let is_flag = argument.starts_with('-') && class(argument).is_some();
        flag = is_flag.then(|| argument.clone());
    }
}

fn of_trial(trial: &mut TrialRecord, see: &mut See<'_>) {
    let TrialRecord {
        schema: _,
        // Made of the names below.
        id: _,
        index: _,
        round: _,
        attempt: _,
        disturbed: _,
        doubted: _,
        contender,
        kind: _,
        workload,
        load: _,
        load_name: _,
        started_at: _,
        steps: _,
        warnings,
        hosts,
        end,
        server,
        pinned: _,
        result,
        usage: _,
        origin: _,
        answers,
        actions,
        work,
    } = trial;
    see(Field::Name, contender);
    let said = actions
        .iter_mut()
        .flat_map(|it| it.failed.iter_mut().chain(&mut it.said));
    said.for_each(|it| see(Field::Prose, it));
    see(Field::Name, workload);
    of_end(end, see);
    server.iter_mut().for_each(|it| of_server(it, see));
    result.iter_mut().for_each(|it| of_load(it, see));
    answers.iter_mut().for_each(|it| of_answer(it, see));
    work.iter_mut().for_each(|it| of_work(it, see));
    for warning in warnings {
        see(Field::Prose, &mut warning.text);
        see(Field::Prose, &mut warning.hint);
    }
    hosts.iter_mut().for_each(|it| of_hosts(it, see));
}

/// Sees the hosts of a trial: what each generator saw holds the same as the sum of them.
fn of_hosts(hosts: &mut Hosts, see: &mut See<'_>) {
    let Hosts {
        hosts,
        links,
        generators,
        lost,
    } = hosts;
    for link in links {
        let names = link.from.iter_mut().chain(&mut link.to);
        names.for_each(|name| see(Field::Name, name));
    }
    for host in hosts {
        see(Field::Name, &mut host.name);
    }
    for part in generators {
        of_load(&mut part.result, see);
    }
    for one in lost {
        see(Field::Prose, &mut one.message);
    }
}

/// Sees how a trial ended.
pub(super) fn of_end(end: &mut TrialEnd, see: &mut See<'_>) {
    match end {
        TrialEnd::Measured | TrialEnd::Interrupted => {}
        TrialEnd::Failed {
            step: _,
            cause,
            message,
        } => {
            see(Field::Prose, cause);
            message.iter_mut().for_each(|it| see(Field::Prose, it));
        }
        TrialEnd::Skipped { reason, fix } => {
            see(Field::Prose, reason);
            see(Field::Prose, fix);
        }
        TrialEnd::Unsupported { reason } => see(Field::Prose, reason),
    }
}

/// Sees a server as it ran.
pub(super) fn of_server(server: &mut ServerFacts, see: &mut See<'_>) {
    let ServerFacts {
        server,
        version,
        binary,
        binary_sha256: _,
        package: _,
        command,
        configs,
        config_changes,
        remedies,
        limits: _,
        address: _,
        server_header,
        stopped: _,
    } = server;
    see(Field::Name, server);
    see(Field::Prose, version);
    see(Field::Prose, binary);
    of_command(command, see);
    for config in configs {
        let ConfigFile {
            path,
            text,
            // Ports and folders of this trial, which must stay as they stand in the text. No
            // report shows them, and a shared copy is without them.
            filled: _,
        } = config;
        see(Field::Prose, path);
        see(Field::Configuration, text);
    }
    for change in config_changes {
        let ConfigChange {
            file,
            line: _,
            before,
            after,
            why,
        } = change;
        see(Field::Prose, file);
        see(Field::Configuration, before);
        see(Field::Configuration, after);
        see(Field::Prose, why);
    }
    remedies.values_mut().for_each(|it| see(Field::Prose, it));
    server_header
        .iter_mut()
        .for_each(|it| see(Field::Prose, it));
}

/// Sees an answer that was compared.
pub(super) fn of_answer(answer: &mut AnswerCheck, see: &mut See<'_>) {
    let AnswerCheck {
        when: _,
        request,
        status: _,
        body_bytes: _,
        body_sha256: _,
        decoded_bytes: _,
        decoded_sha256: _,
        negotiated: _,
        headers,
        right: _,
    } = answer;
    see(Field::Target, request);
    for (name, value) in headers {
        let sent = true;
        see(Field::Header { name, sent }, value);
    }
}

fn of_work(work: &mut Work, see: &mut See<'_>) {
    let Work {
        requests: _,
        connections: _,
        certificate: _,
        upstream: _,
        grown,
        grown_under_load,
        crew,
        unknown,
    } = work;
    let users = crew.iter_mut().flat_map(|crew| &mut crew.users);
    users.for_each(|user| see(Field::Prose, user));
    let files = grown.iter_mut().chain(grown_under_load).flatten();
    files.for_each(|file| see(Field::Prose, &mut file.path));
    unknown.values_mut().for_each(|it| see(Field::Prose, it));
}

/// Sees the result of a load. Histograms and counts, which are most of it, are passed over.
pub(super) fn of_load(result: &mut LoadResult, see: &mut See<'_>) {
    see(Field::Target, &mut result.url);
    for one in &mut result.urls {
        see(Field::Target, &mut one.url);
    }
    for warning in &mut result.warnings {
        see(Field::Prose, &mut warning.text);
        see(Field::Prose, &mut warning.hint);
    }
    let samples = result.error_samples.values_mut();
    samples.for_each(|sample| see(Field::Prose, sample));
    for Said {
        url,
        status: _,
        reason,
        location,
        body,
    } in &mut result.observed.said
    {
        see(Field::Target, url);
        location.iter_mut().for_each(|it| see(Field::Target, it));
        see(Field::Prose, reason);
        see(Field::Prose, body);
    }
    for one in &mut result.observed.addresses {
        one.problem.iter_mut().for_each(|it| see(Field::Prose, it));
    }
}

//! How a load travels to another host: what is no value of its own kind there.

use std::collections::HashMap;
use std::sync::Arc;

use bakeoff_record::FileBytes;
use serde::{Deserialize, Serialize};

/// Exchanges, with a body that many of them expect sent once.
pub(crate) mod exchanges {
    use serde::de::{Deserializer, Error as _};
    use serde::ser::Serializer;

    use super::*;
    use crate::Exchange;

    #[derive(Serialize, Deserialize)]
    struct Sent<E> {
        bodies: Vec<FileBytes>,
        /// Each with the number of its body.
        exchanges: Vec<(E, Option<usize>)>,
    }

    pub(crate) fn serialize<S: Serializer>(all: &[Exchange], to: S) -> Result<S::Ok, S::Error> {
        let (mut bodies, mut numbers) = (Vec::new(), HashMap::new());
        let mut number_of = |body| {
            *numbers.entry(body).or_insert_with(|| {
                bodies.push(FileBytes(<[u8]>::to_vec(body)));
                bodies.len() - 1
            })
        };
        let exchanges = all.iter();
        let exchanges = exchanges.map(|it| (it, it.body.as_deref().map(&mut number_of)));
        let exchanges = exchanges.collect();
        Sent { bodies, exchanges }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Exchange>, D::Error> {
        let sent = Sent::<Exchange>::deserialize(from)?;
        let bodies: Vec<Arc<[u8]>> = sent.bodies.into_iter().map(|it| it.0.into()).collect();
        let whole = sent.exchanges.into_iter().map(|(mut exchange, number)| {
            if let Some(number) = number {
                let body = bodies.get(number);
                let missing = || D::Error::custom(format!("body {number} of the load is missing"));
                exchange.body = Some(body.ok_or_else(missing)?.clone());
            }
            Ok(exchange)
        });
        whole.collect()
    }
}

/// A request for HTTP/2 and HTTP/3, which is checked again where it arrives.
pub(crate) mod h2_request {
    use bakeoff_wire::h2::Request;
    use serde::de::{Deserializer, Error as _};
    use serde::ser::Serializer;

    use super::*;

    /// Fields, and the body.
    type Sent = (Vec<(String, String)>, FileBytes);

    pub(crate) fn serialize<S: Serializer>(
        request: &Option<Request>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let sent = request.as_ref().map(|request| -> Sent {
            let fields = request.fields().iter();
            let fields = fields.map(|(name, value)| (text(name), text(value)));
            (fields.collect(), FileBytes(request.body().to_vec()))
        });
        sent.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Request>, D::Error> {
        let sent = Option::<Sent>::deserialize(from)?;
        let request = sent.map(|(fields, body)| {
            let (first, headers): (Vec<_>, Vec<_>) = fields
                .into_iter()
                .partition(|(name, _)| name.starts_with(':'));
            let named = |name: &str| {
                let found = first.iter().find(|(each, _)| each == name);
                found.map_or("", |(_, value)| value.as_str())
            };
            let path = named(":path");
            let (method, scheme, host) = (named(":method"), named(":scheme"), named(":authority"));
            Request::new(method, scheme, host, path, &headers, body.0)
        });
        request.transpose().map_err(D::Error::custom)
    }
}

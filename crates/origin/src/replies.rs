//! Every reply as HTTP/2 and HTTP/3 send it: a block of fields and a body.

use bytes::Bytes;

use crate::options::{OriginError, Reply};

/// A field's name and value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// All replies of a server, made ready for one protocol and shared by all loops.
#[derive(Debug)]
pub(crate) struct Replies<R>(Vec<R>);

impl<R> Default for Replies<R> {
    /// None: of a protocol that is not spoken.
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> Replies<R> {
    /// Makes `reply` and `others` ready by `encode`, which is given the fields and the body.
    ///
    /// # Errors
    /// When one of them cannot be an HTTP answer.
    pub(crate) fn new(
        name: &str,
        reply: &Reply,
        others: &[Reply],
        encode: impl Fn(&[Field], Bytes) -> R,
    ) -> Result<Self, OriginError> {
        let all = std::iter::once(reply).chain(others);
        let ready = all.map(|reply| {
            reply.check()?;
            Ok(encode(
                &fields(name, reply),
                Bytes::copy_from_slice(&reply.body),
            ))
        });
        ready.collect::<Result<_, _>>().map(Self)
    }

    /// The other reply with this number; the reply itself where there is none.
    #[inline]
    pub(crate) fn get(&self, other: Option<u16>) -> &R {
        let other = other.and_then(|number| self.0.get(usize::from(number) + 1));
        other.unwrap_or(&self.0[0])
    }
}

fn fields(name: &str, reply: &Reply) -> Vec<Field> {
    let field = |name: &str, value: &str| (name.into(), value.into());
    let mut fields = vec![
        field(":status", &reply.status.to_string()),
        field("server", name),
    ];
    if !reply.has_no_length() {
        fields.push(field("content-type", &reply.content_type));
        fields.push(field("content-length", &reply.body.len().to_string()));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_among_the_fields_unless_the_status_has_none() {
        for (status, has_length) in [(204, false), (205, true), (304, false), (404, true)] {
            let reply = Reply {
                status,
                content_type: "text/plain".into(),
                body: Vec::new(),
            };
            let length: Field = (b"content-length".to_vec(), b"0".to_vec());
            let fields = fields("x", &reply);
            assert_eq!(fields.contains(&length), has_length, "{status}");
        }
    }
}

//! Why a QUIC connection ended: as an outcome, as a kind, and in plain text.

use bakeoff_record::{CloseKind, Outcome};
use bakeoff_wire::h3::ErrorCode;
use quinn_proto::{ConnectionClose, ConnectionError, TransportError, TransportErrorCode};

use crate::tls::{about_client, way_out_of_alert};

/// First and last of the transport codes that are alerts of TLS (RFC 9001, 4.8).
const ALERTS: std::ops::RangeInclusive<u64> = 0x100..=0x1ff;

/// How a connection ended that this side did not close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) outcome: Outcome,
    pub(crate) kind: CloseKind,
    pub(crate) message: String,
}

/// What `reason` is to the requests of a connection whose handshake has ended or not.
pub(crate) fn lost_by(reason: &ConnectionError, is_established: bool) -> Lost {
    let (outcome, kind, message) = match reason {
        ConnectionError::TimedOut if is_established => (
            Outcome::Timeout,
            CloseKind::Idle,
            "nothing came within the idle timeout of QUIC".to_owned(),
        ),
        ConnectionError::TimedOut => (
            Outcome::ConnectTimeout,
            CloseKind::Timeout,
            "no end of the QUIC handshake within the idle timeout".to_owned(),
        ),
        ConnectionError::Reset => (
            Outcome::Reset,
            CloseKind::StatelessReset,
            "the server does not know the connection (stateless reset)".to_owned(),
        ),
        ConnectionError::VersionMismatch => (
            Outcome::Protocol,
            CloseKind::Version,
            "the server speaks no version of QUIC that this side speaks".to_owned(),
        ),
        ConnectionError::TransportError(error) => (
            by_code(error.code, Outcome::Protocol),
            CloseKind::Local,
            refused(error),
        ),
        ConnectionError::ConnectionClosed(close) => (
            by_code(close.error_code, Outcome::Reset),
            CloseKind::Transport,
            closed(close),
        ),
        ConnectionError::ApplicationClosed(close) => {
            let code = ErrorCode(close.error_code.into_inner());
            let reason = String::from_utf8_lossy(&close.reason);
            let outcome = if code == ErrorCode::NO_ERROR {
                Outcome::ClosedEarly
            } else {
                Outcome::Reset
            };
            let message = format!("the server closed the connection: {code} {reason}");
            (
                outcome,
                CloseKind::Application,
                message.trim_end().to_owned(),
            )
        }
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            (Outcome::Local, CloseKind::Local, reason.to_string())
        }
    };
    Lost {
        outcome,
        kind,
        message,
    }
}

/// Why this side ended the connection: by what the server did, or whom it is.
fn refused(error: &TransportError) -> String {
    match alert(error.code).and_then(way_out_of_alert) {
        Some(way_out) => format!(
            "the client refused the server's certificate: {} ({way_out})",
            error.reason
        ),
        None => format!("the server broke QUIC or TLS: {error}"),
    }
}

/// Why the server ended the connection.
fn closed(close: &ConnectionClose) -> String {
    let about = alert(close.error_code).and_then(|alert| about_client(alert.into()));
    let about = about.map_or(String::new(), |about| format!(" ({about})"));
    format!("the server closed the QUIC connection: {close}{about}")
}

/// The alert of TLS that a code stands for (RFC 9001, 4.8).
fn alert(code: TransportErrorCode) -> Option<u8> {
    let code = u64::from(code);
    ALERTS.contains(&code).then_some((code & 0xff) as u8)
}

fn by_code(code: TransportErrorCode, usual: Outcome) -> Outcome {
    match code {
        TransportErrorCode::NO_ERROR => Outcome::ClosedEarly,
        TransportErrorCode::CONNECTION_REFUSED => Outcome::Refused,
        _ if ALERTS.contains(&u64::from(code)) => Outcome::Tls,
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use quinn_proto::{ApplicationClose, VarInt};

    use super::*;

    fn check(
        reason: &ConnectionError,
        is_established: bool,
        (outcome, kind): (Outcome, CloseKind),
        message: &str,
    ) {
        let lost = lost_by(reason, is_established);
        assert_eq!((lost.outcome, lost.kind), (outcome, kind), "{lost:?}");
        assert!(lost.message.contains(message), "{lost:?}");
    }

    #[test]
    fn each_reason_is_an_outcome_a_kind_and_message() {
        use CloseKind::{Application, Idle, StatelessReset, Timeout, Transport};
        let application = |code: u32| {
            ConnectionError::ApplicationClosed(ApplicationClose {
                error_code: VarInt::from_u32(code),
                reason: Bytes::from_static(b"bye"),
            })
        };
        let transport = |error_code| {
            ConnectionError::ConnectionClosed(ConnectionClose {
                error_code,
                frame_type: None,
                reason: Bytes::new(),
            })
        };
        let in_order = (Outcome::ClosedEarly, Application);
        check(&application(0x100), true, in_order, "H3_NO_ERROR bye");
        let failed = (Outcome::Reset, Application);
        check(&application(0x102), true, failed, "H3_INTERNAL_ERROR");
        let alert = transport(TransportErrorCode::crypto(120));
        check(&alert, false, (Outcome::Tls, Transport), "120");
        let uncertified = transport(TransportErrorCode::crypto(116));
        check(
            &uncertified,
            false,
            (Outcome::Tls, Transport),
            "--cert FILE",
        );
        let refused = transport(TransportErrorCode::CONNECTION_REFUSED);
        check(&refused, false, (Outcome::Refused, Transport), "refused");
        let expired = |code| {
            ConnectionError::TransportError(TransportError {
                code,
                frame: None,
                reason: "invalid peer certificate: Expired".to_owned(),
            })
        };
        let client = "the client refused the server's certificate: invalid peer certificate: Exp";
        let local = (Outcome::Tls, CloseKind::Local);
        check(
            &expired(TransportErrorCode::crypto(45)),
            false,
            local,
            client,
        );
        check(
            &expired(TransportErrorCode::crypto(48)),
            false,
            local,
            "--cacert",
        );
        check(
            &expired(TransportErrorCode::crypto(40)),
            false,
            local,
            "broke",
        );
        let no_error = transport(TransportErrorCode::NO_ERROR);
        check(&no_error, true, (Outcome::ClosedEarly, Transport), "");
        let unknown = (Outcome::Reset, StatelessReset);
        check(&ConnectionError::Reset, true, unknown, "stateless reset");
        let silent = ConnectionError::TimedOut;
        check(&silent, true, (Outcome::Timeout, Idle), "idle");
        check(
            &silent,
            false,
            (Outcome::ConnectTimeout, Timeout),
            "handshake",
        );
    }
}

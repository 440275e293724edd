//! The built-in upstream and yardstick server.

//! The words of reports: facts in, sentences out. Nothing reads a sentence to learn a fact.

pub(crate) mod bounds;
pub(crate) mod change;
pub(crate) mod find;
pub(crate) mod overload;

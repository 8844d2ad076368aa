//! No encrypted connections in this build.

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::store::encryption::{self, Files};
use crate::vocabulary::EngineError;

pub(in super::super) fn encrypted(
    _: ConfigBuilder<AgentScope>,
    _: &Files,
) -> Result<ConfigBuilder<AgentScope>, EngineError> {
    Err(EngineError::unusable(
        "this build has no TLS for etcd: build it with the cargo feature `etcd-tls`",
    ))
}

pub(in super::super) fn refusal(error: &ureq::Error) -> Option<String> {
    encryption::refusal(error)
}

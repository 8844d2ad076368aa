//! A build without encryption.

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::store::encryption::{self, Files, without_tls};
use crate::vocabulary::EngineError;

pub(in super::super) fn encrypted(
    _: ConfigBuilder<AgentScope>,
    _: &Files,
) -> Result<ConfigBuilder<AgentScope>, EngineError> {
    Err(without_tls())
}

pub(in super::super) fn refusal(error: &ureq::Error) -> Option<String> {
    encryption::refusal(error)
}

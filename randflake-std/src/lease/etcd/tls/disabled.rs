//! No encrypted connections in this build.

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::lease::StoreError;

pub(in super::super) fn encrypted(
    _: ConfigBuilder<AgentScope>,
) -> Result<ConfigBuilder<AgentScope>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no TLS for etcd: build it with the cargo feature `etcd-tls`".to_owned(),
    ))
}

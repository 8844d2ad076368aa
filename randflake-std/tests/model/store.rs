//! The store's rules for one node id: those of `MemoryStore`, which `twin` holds against it.

use crate::rules::{Flaw, Rules};
use crate::{MAX_SKEW, TTL};

/// One lease of the node id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grant {
    pub(crate) start: u8,
    pub(crate) end: u8,
    pub(crate) fencing_token: u8,
    pub(crate) token: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) grant: Grant,
    pub(crate) holder: u8,
    held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Acquire { token: u8 },
    Renew(Grant),
    Release(Grant),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Granted(Grant),
    Renewed(Option<u8>),
    Released,
    /// Nothing is granted for now.
    Refused,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) record: Option<Record>,
    /// What an asynchronous replica, or a backup, has.
    replica: Option<Record>,
    /// Nothing is granted before this tick.
    fence: u8,
    /// The latest end ever, kept where no loss reaches it.
    until: u8,
    /// Leases were lost since the last operation.
    lost: bool,
}

impl Store {
    /// One operation, at the tick `now` of the store's clock.
    pub(crate) fn execute(&mut self, request: Request, holder: u8, now: u8, rules: Rules) -> Reply {
        if self.lost {
            self.lost = false;
            self.fence = self.fence.max(now + TTL + MAX_SKEW);
            if !rules.has(Flaw::FenceByClockAlone) {
                self.fence = self.fence.max(self.until);
            }
        }
        match request {
            Request::Acquire { token } => self.acquire(token, holder, now, rules),
            Request::Renew(grant) => Reply::Renewed(self.renew(grant, now, rules)),
            Request::Release(grant) => {
                self.release(grant);
                Reply::Released
            }
        }
    }

    fn acquire(&mut self, token: u8, holder: u8, now: u8, rules: Rules) -> Reply {
        if now < self.fence {
            return Reply::Refused;
        }
        if let Some(record) = &mut self.record
            && record.held
            && record.grant.token == token
        {
            if record.holder != holder && !rules.has(Flaw::AnswerAnyHolder) {
                return Reply::Refused;
            }
            if now < record.grant.end {
                return Reply::Granted(record.grant);
            }
            record.held = false;
        }
        let former = self.record.map(|record| record.grant);
        let free_from = match former {
            Some(former) if rules.has(Flaw::StartAfterLastStart) => former.start,
            Some(former) => former.end,
            None => 0,
        };
        if now < free_from {
            return Reply::Refused;
        }
        let grant = Grant {
            start: now,
            end: now + TTL,
            fencing_token: now.max(former.map_or(0, |former| former.fencing_token) + 1),
            token,
        };
        self.until = self.until.max(grant.end);
        self.record = Some(Record {
            grant,
            holder,
            held: true,
        });
        Reply::Granted(grant)
    }

    fn renew(&mut self, grant: Grant, now: u8, rules: Rules) -> Option<u8> {
        let record = if rules.has(Flaw::RenewWithoutCompare) {
            self.record.as_mut()?
        } else {
            self.held(grant)?
        };
        if now >= record.grant.end {
            return None;
        }
        let end = record.grant.end.max(now + TTL);
        record.grant.end = end;
        self.until = self.until.max(end);
        Some(end)
    }

    fn release(&mut self, grant: Grant) {
        if let Some(record) = self.held(grant) {
            record.grant.end = grant.end.min(record.grant.end).max(record.grant.start);
            record.held = false;
        }
    }

    /// The record of a grant that is still its holder's.
    fn held(&mut self, grant: Grant) -> Option<&mut Record> {
        self.record.as_mut().filter(|record| {
            let known = record.grant;
            record.held && (known.fencing_token, known.token) == (grant.fencing_token, grant.token)
        })
    }

    /// All leases are lost, and the store notices.
    pub(crate) fn flush(&mut self, rules: Rules) {
        self.record = None;
        self.lost = !rules.has(Flaw::FlushWithoutFence);
    }

    /// The replica takes over as it is, and the store notices. None of the leases that it knows is
    /// renewed: what became of them since is lost.
    pub(crate) fn promote(&mut self, rules: Rules) {
        self.record = self.replica;
        if let Some(record) = &mut self.record {
            record.held &= rules.has(Flaw::RenewAfterPromotion);
        }
        self.lost = !rules.has(Flaw::PromotionWithoutFence);
    }

    /// The replica, or a new backup, is up to date.
    pub(crate) fn replicate(&mut self) {
        self.replica = self.record;
    }
}

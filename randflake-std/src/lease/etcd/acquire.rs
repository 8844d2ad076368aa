//! Granting node ids.

use std::collections::BTreeSet;

use super::client::not_understood;
use super::free::{self, Look, Page, Search};
use super::record::Lease;
use super::session::{TRIES, View, too_busy};
use super::transaction::{Kv, Range, Write};
use super::{EtcdStore, GRANTS_AT_ONCE};
use crate::lease::{AcquireRequest, Acquired, Grant, StoreError, Token};

/// What was asked for with a token before.
enum Earlier {
    /// All of it is live.
    Live(Vec<Grant>),
    /// None, or not all: what is left is to be let go.
    Gone(Vec<Kv>),
}

impl EtcdStore {
    /// Begins anew until nobody else was faster.
    pub(super) fn acquire_at_some_time(
        &mut self,
        request: &AcquireRequest<'_>,
    ) -> Result<Acquired, StoreError> {
        let node_ids = self.namespace.node_ids();
        let wanted = u64::from(request.count);
        let token = self.keys.token(request.token);
        for _ in 0..TRIES {
            let page = Page::random(node_ids)?;
            let [note, leases] = page.ranges(&self.keys, wanted);
            let view = self.view(&[Range::Key(token.clone()), note, leases])?;
            let [known, note, leases] = &view.found[..] else {
                return Err(not_understood());
            };
            view.now.check_fence(view.stored.fence)?;
            if let Some(known) = known.kvs.first() {
                match self.earlier(&view, known, request)? {
                    Earlier::Live(grants) => {
                        return Ok(Acquired {
                            grants,
                            now: view.now.unix,
                        });
                    }
                    Earlier::Gone(left) => {
                        self.let_go(known, &left)?;
                        continue;
                    }
                }
            }
            let end = view.now.end_after(request.ttl)?;
            let look = page.look(note, leases, view.now.tick, wanted)?;
            let looks = if look.free.len() as u64 >= wanted {
                vec![look]
            } else {
                match self.search(view.now.tick, wanted, look)? {
                    Search::Enough(looks) => looks,
                    Search::Later(tick) => {
                        return Err(StoreError::Exhausted {
                            retry_in: view.now.until(tick),
                        });
                    }
                }
            };
            if let Some(grants) = self.take(&view, &looks, end, request)? {
                self.seen_end = self.seen_end.max(end);
                return Ok(Acquired {
                    grants,
                    now: view.now.unix,
                });
            }
        }
        Err(too_busy())
    }

    fn earlier(
        &mut self,
        view: &View,
        known: &Kv,
        request: &AcquireRequest<'_>,
    ) -> Result<Earlier, StoreError> {
        let nodes: Result<Vec<u64>, _> = known.value.split(',').map(str::parse).collect();
        let nodes = nodes.map_err(|_| not_understood())?;
        let (mut live, mut left) = (Vec::new(), Vec::new());
        for nodes in nodes.chunks(GRANTS_AT_ONCE) {
            let ranges: Vec<_> = nodes
                .iter()
                .map(|&node| Range::Key(self.keys.lease(node)))
                .collect();
            let (_, found) = self.client.read(&ranges)?;
            for kv in found.into_iter().flat_map(|found| found.kvs) {
                let lease = Lease::read(&kv.key, &kv.value).ok_or_else(not_understood)?;
                if lease.grant.token != request.token || !lease.held {
                    continue;
                }
                if lease.holder != request.holder {
                    return Err(StoreError::Foreign);
                }
                if view.now.tick < lease.grant.end {
                    live.push(lease.grant);
                }
                left.push(kv);
            }
        }
        live.sort_unstable_by_key(|grant| grant.node_id);
        Ok(if live.len() == request.count as usize {
            Earlier::Live(live)
        } else {
            Earlier::Gone(left)
        })
    }

    /// Ends what is left of an earlier acquire, so that it is not renewed any more.
    fn let_go(&mut self, token: &Kv, left: &[Kv]) -> Result<(), StoreError> {
        for kvs in left.chunks(GRANTS_AT_ONCE) {
            let mut write = Write::default();
            for kv in kvs {
                let mut lease = Lease::read(&kv.key, &kv.value).ok_or_else(not_understood)?;
                lease.held = false;
                // It is another acquire's from now on.
                lease.grant.token = Token::from_bytes([0; 16]);
                write
                    .compare(&kv.key, kv.revision)
                    .put(&kv.key, &lease.to_value());
            }
            if !self.write(&write)? {
                return Ok(());
            }
        }
        let mut write = Write::default();
        write.compare(&token.key, token.revision).delete(&token.key);
        self.write(&write)?;
        Ok(())
    }

    /// Takes what was free, unless any of it is not any more.
    fn take(
        &mut self,
        view: &View,
        looks: &[Look],
        end: u64,
        request: &AcquireRequest<'_>,
    ) -> Result<Option<Vec<Grant>>, StoreError> {
        let chosen = free::choose(looks, u64::from(request.count))?;
        let mut emptied = free::emptied(looks, &chosen, end);
        let nodes: Vec<_> = chosen.iter().map(|free| free.node_id.to_string()).collect();
        let token_key = self.keys.token(request.token);
        let mut forgotten = BTreeSet::from([request.token.to_bytes()]);
        let mut taken: Vec<Grant> = Vec::with_capacity(chosen.len());
        let (mut write, mut grants) = (Write::default(), Vec::new());
        let mut rest = chosen.iter().peekable();
        while let Some(free) = rest.next() {
            if write.is_empty() {
                write
                    .compare(&self.keys.namespace(), view.revision)
                    .compare(&token_key, 0);
            }
            let former = free.former.as_ref().map(|lease| lease.grant);
            let grant = Grant {
                node_id: free.node_id,
                start: view.now.tick,
                end,
                fencing_token: view
                    .now
                    .fencing_token(former.map_or(0, |former| former.fencing_token)),
                token: request.token,
            };
            let lease = Lease {
                held: true,
                grant,
                holder: request.holder.to_owned(),
            };
            let key = self.keys.lease(u64::from(free.node_id));
            write
                .compare(&key, free.revision)
                .put(&key, &lease.to_value());
            grants.push(grant);
            if let Some(former) = former
                && forgotten.insert(former.token.to_bytes())
            {
                write.delete(&self.keys.token(former.token));
            }
            let page = free::page_of(free.node_id);
            let is_last_of_page = rest
                .peek()
                .is_none_or(|next| free::page_of(next.node_id) != page);
            if is_last_of_page && let Some((revision, tick)) = emptied.remove(&page) {
                let key = self.keys.note(page);
                write.compare(&key, revision).put(&key, &free::note(tick));
            }
            if rest.peek().is_none() {
                write.put(&token_key, &nodes.join(","));
            }
            if rest.peek().is_none() || write.is_nearly_full() {
                if !self.write(&write)? {
                    self.give_back(&taken)?;
                    return Ok(None);
                }
                taken.append(&mut grants);
                write = Write::default();
            }
        }
        Ok(Some(taken))
    }

    /// What was taken for an acquire that did not get all of it.
    fn give_back(&mut self, taken: &[Grant]) -> Result<(), StoreError> {
        let unused: Vec<_> = taken
            .iter()
            .map(|grant| Grant {
                end: grant.start,
                ..*grant
            })
            .collect();
        crate::lease::LeaseStore::release(self, &unused)
    }
}

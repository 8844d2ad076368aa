//! The session of a client of Redis, with its transaction.

use core::ops::Range;
use core::pin::Pin;
use core::time::Duration;
use std::sync::Arc;
use std::vec;

use randflake_std::Id;
use tokio::time::Instant;

use super::parse::CommandLimits;
use super::reply::Replies;
use crate::access::{Hash, Principal, Scope};
use crate::budget::{Account, Permit};
use crate::counters::AnswerStatus;
use crate::refusal::{Refusal, RefusalKind};
use crate::service::served_namespace::{PATIENCE, ServedNamespace};
use crate::service::{IdsFormat, Service};

/// Arguments of a command, beginning with its name.
#[derive(Clone, Copy)]
pub(super) struct CommandArgs<'a> {
    input: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> CommandArgs<'a> {
    pub(super) fn new(input: &'a [u8], places: &'a [Range<usize>]) -> Self {
        Self { input, places }
    }

    pub(super) fn len(self) -> usize {
        self.places.len()
    }

    pub(super) fn get(self, at: usize) -> Option<&'a [u8]> {
        self.places.get(at).map(|place| &self.input[place.clone()])
    }

    /// Those from there on.
    pub(super) fn from(self, at: usize) -> impl Iterator<Item = &'a [u8]> {
        let places = self.places.get(at..).unwrap_or_default();
        places.iter().map(move |place| &self.input[place.clone()])
    }

    pub(super) fn text(self, at: usize) -> Result<&'a str, Refusal> {
        let word = self.get(at).unwrap_or_default();
        str::from_utf8(word).map_err(|_| Refusal::invalid(format!("word {} is not UTF-8", at + 1)))
    }
}

/// Commands that wait for `EXEC`, in the order in which they came.
#[derive(Default)]
pub(super) struct RespTransaction {
    input: Vec<u8>,
    /// Places in `input` of the words of all commands.
    places: Vec<Range<usize>>,
    /// Where the words of each command end.
    pub(super) ends: Vec<usize>,
    /// A command was refused when it was to be kept: none is executed.
    pub(super) is_spoilt: bool,
    pub(super) memory: Option<Permit>,
}

impl RespTransaction {
    /// Bytes that it takes with another command.
    pub(super) fn len_with(&self, words: CommandArgs<'_>) -> usize {
        let input = self.input.len() + words.from(0).map(<[u8]>::len).sum::<usize>();
        let places = (self.places.len() + words.len()) * size_of::<Range<usize>>();
        input + places + (self.ends.len() + 1) * size_of::<usize>()
    }

    pub(super) fn push(&mut self, words: CommandArgs<'_>) {
        for word in words.from(0) {
            let begin = self.input.len();
            self.input.extend_from_slice(word);
            self.places.push(begin..self.input.len());
        }
        self.ends.push(self.places.len());
    }

    /// One of which a command was refused.
    pub(super) fn spoilt() -> Self {
        Self {
            is_spoilt: true,
            ..Self::default()
        }
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = CommandArgs<'_>> {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        let bounds = begins.zip(&self.ends);
        bounds.map(|(begin, &end)| CommandArgs::new(&self.input, &self.places[begin..end]))
    }
}

/// Bytes of a reply of ids that are written before they are sent.
pub(super) const CHUNK: usize = 64 << 10;
/// Longest reply for which no memory is requested, in bytes.
const USUAL_REPLY: usize = 4 << 10;

/// Whether a command was answered, or why it was refused; the caller writes the refusal.
pub(super) type Answered = Result<(), Refusal>;

/// The answer of a command that may wait, for ids, memory or the store. Most ids are there at once:
/// a future that were allocated for each would cost more than the id.
pub(super) enum Answering<'a> {
    Now(Answered),
    Later(Pin<Box<dyn Future<Output = Answered> + Send + 'a>>),
}

/// Answers later.
pub(super) fn later<'a>(answered: impl Future<Output = Answered> + Send + 'a) -> Answering<'a> {
    Answering::Later(Box::pin(answered))
}

pub(super) struct RespSession {
    pub(super) service: Arc<Service>,
    pub(super) account: Arc<Account>,
    /// Replies that were not sent yet.
    pub(super) out: Replies,
    /// Memory of a reply that is longer than usual, until it is sent.
    pub(super) long_reply: Option<Permit>,
    /// Ids of a reply that has begun, which are not written yet.
    pub(super) ids: Option<(vec::IntoIter<Id>, IdsFormat)>,
    /// Number of the connection, for `CLIENT ID`.
    pub(super) number: u64,
    /// Name that the client has given itself.
    pub(super) name: Vec<u8>,
    pub(super) principal: Option<Arc<Principal>>,
    /// Hash of the token that the client has sent. It stays when the token is revoked: if that was
    /// by accident, as in a file that was emptied, the connection goes on once the token is there
    /// again.
    token: Option<Hash>,
    /// Version of the tokens when `principal` was looked up.
    version: u64,
    /// Namespace of the last ids, where the client's rights were checked.
    last: Option<Arc<ServedNamespace>>,
    /// Commands queued between `MULTI` and `EXEC`.
    pub(super) transaction: Option<RespTransaction>,
    /// After `EXEC`: its commands are to be answered next.
    pub(super) executing: Option<RespTransaction>,
    /// Commands that came without a token.
    pub(super) greetings: u32,
    /// Ends the connection once this batch is answered: what stands behind in the same read is not
    /// looked at.
    pub(super) is_over: bool,
    /// A command of this batch has waited for ids in vain. The others do not: a pipeline would be
    /// answered after hours.
    has_waited: bool,
    /// Commands of this batch, by how they were answered.
    answers: [u64; AnswerStatus::ALL.len()],
    issued: u64,
}

impl RespSession {
    /// The session of a new connection, unless there are too many.
    pub(super) fn new(
        service: Arc<Service>,
        number: u64,
        account: Arc<Account>,
    ) -> Result<Self, Refusal> {
        let principal = service.access.anonymous().ok();
        if let Some(anybody) = &principal {
            identify(&service, &account, anybody)?;
        }
        Ok(Self {
            version: service.access.version(),
            principal,
            token: None,
            service,
            account,
            out: Replies::default(),
            long_reply: None,
            ids: None,
            number,
            name: Vec::new(),
            last: None,
            transaction: None,
            executing: None,
            greetings: 0,
            is_over: false,
            has_waited: false,
            answers: [0; AnswerStatus::ALL.len()],
            issued: 0,
        })
    }

    pub(super) fn is_known(&self) -> bool {
        self.principal.is_some()
    }

    /// What the client may send. Who has sent no token yet has no use for more than a token.
    pub(super) fn limits(&self) -> CommandLimits {
        if self.is_known() {
            CommandLimits {
                words: 4_096,
                bytes: 1 << 20,
            }
        } else {
            CommandLimits {
                // `HELLO 3 AUTH name token SETNAME name`, the longest of them, has seven words.
                words: 10,
                bytes: 4_096,
            }
        }
    }

    pub(super) fn begin_batch(&mut self) {
        self.has_waited = false;
    }

    /// Looks up the token again if the file has changed. Before each command: a batch may wait for
    /// long, for ids or for the store, and a revoked token must not go on until its end.
    pub(super) fn look_up_token(&mut self) {
        let access = &self.service.access;
        let version = access.version();
        if version == self.version {
            return;
        }
        // The version of before the search: if the tokens are newer, the next command searches
        // again.
        self.version = version;
        self.count_issued();
        self.last = None;
        if let Some(hash) = &self.token {
            self.principal = self.service.access.find(hash);
            if self.principal.is_none() {
                // Its commands were queued with rights that are gone, and take memory.
                self.transaction = None;
            }
        }
    }

    /// Notes how a command was answered. Added to the service's counters once for a batch.
    pub(super) fn count_answer(&mut self, status: AnswerStatus) {
        self.answers[status as usize] += 1;
    }

    pub(super) fn end_batch(&mut self) {
        self.count_issued();
        let answers = core::mem::take(&mut self.answers);
        for (status, count) in AnswerStatus::ALL.into_iter().zip(answers) {
            // All connections write these words: not for nothing.
            if count > 0 {
                self.service.counters.resp_answers.add(status, count);
            }
        }
    }

    pub(super) fn authenticate(
        &mut self,
        name: Option<&[u8]>,
        token: &[u8],
    ) -> Result<(), Refusal> {
        // First: who sends a wrong token must not go on with the rights of the one before.
        self.forget();
        let principal = self.service.access.authenticate(token)?;
        // Clients that ask for a user's name send `default` if they have none. Any other name must
        // be the token's, so that a wrong pair is noticed where it is configured.
        let allowed = [b"default", principal.name().as_bytes()];
        if name.is_some_and(|name| !allowed.contains(&name)) {
            let message = "the token is another user's: send its name, default or none";
            return Err(Refusal::new(RefusalKind::WrongToken, message));
        }
        identify(&self.service, &self.account, &principal)?;
        self.token = principal.hash().copied();
        self.principal = Some(principal);
        Ok(())
    }

    /// Resets the session to that of a new connection.
    pub(super) fn forget(&mut self) {
        // What another principal has queued is not executed with this one's rights.
        self.count_issued();
        self.last = None;
        self.transaction = None;
        self.token = None;
        self.principal = self.service.access.anonymous().ok();
    }

    /// Refuses who has sent no token, or one that has expired since.
    pub(super) fn check_token(&self) -> Result<(), Refusal> {
        match &self.principal {
            Some(principal) => principal.check_expiry(),
            None => self.principal().map(drop),
        }
    }

    pub(super) fn principal(&self) -> Result<Arc<Principal>, Refusal> {
        let message = "Authentication required: send AUTH with a token";
        self.principal
            .clone()
            .ok_or_else(|| Refusal::new(RefusalKind::Unauthenticated, message))
    }

    /// The namespace that ids are asked of.
    pub(super) fn space(&mut self, name: &[u8]) -> Result<&Arc<ServedNamespace>, Refusal> {
        let principal = self
            .principal
            .as_deref()
            .ok_or_else(|| Refusal::new(RefusalKind::Unauthenticated, ""))?;
        // A client asks one namespace again and again: a search and a check of rights for each id
        // would cost more than the id. It is forgotten whenever the rights may have changed.
        let last = self.last.as_ref().map(|space| space.name().as_bytes());
        if last != Some(name) {
            let name = str::from_utf8(name)
                .map_err(|_| Refusal::invalid("the namespace's name is not UTF-8"))?;
            let space = Arc::clone(self.service.space(principal, Scope::Ids, name)?);
            self.count_issued();
            self.last = Some(space);
        }
        self.last
            .as_ref()
            .ok_or_else(|| Refusal::invalid("no namespace"))
    }

    /// An id at once, without a look at another task; `None` if that cannot be, for whatever
    /// reason.
    pub(super) fn quick_id(&mut self, name: &[u8]) -> Result<Option<Id>, Refusal> {
        self.space(name)?;
        // Before the id: one that is refused must not be taken from the sequence.
        if let Some(principal) = &self.principal {
            principal.take_ids(1)?;
        }
        let id = self.last.as_ref().and_then(|space| space.next());
        self.issued += u64::from(id.is_some());
        Ok(id)
    }

    /// The id that [`quick_id`](Self::quick_id) has counted and could not give.
    pub(super) async fn slow_id(&mut self) -> Result<Id, Refusal> {
        let mut ids = [Id::from_u64(0)];
        if let Some(space) = self.last.clone() {
            // `fill` counts what it has issued; `self.issued` has the ids of `quick_id` alone.
            let filled = space.fill(&mut ids, self.patience()).await;
            self.waited(filled)?;
        }
        Ok(ids[0])
    }

    /// How long a command waits for ids.
    pub(super) fn patience(&self) -> Duration {
        if self.has_waited {
            Duration::ZERO
        } else {
            PATIENCE
        }
    }

    /// Notes how a command's wait for ids has ended.
    pub(super) fn waited(&mut self, outcome: Result<(), Refusal>) -> Result<(), Refusal> {
        // Only these are said after a wait; the others are refused at once, whatever time is left.
        let kind = outcome.as_ref().err().map(|refusal| refusal.kind);
        self.has_waited = matches!(kind, Some(RefusalKind::Busy | RefusalKind::Unavailable));
        outcome
    }

    /// Waits a moment for the memory of a reply that may be longer than usual. It is held until the
    /// reply is sent.
    pub(super) async fn hold(&mut self, bytes: usize) -> Result<(), Refusal> {
        if bytes > USUAL_REPLY && self.long_reply.is_none() {
            self.long_reply = Some(self.account.hold(bytes).await?);
        }
        Ok(())
    }

    /// Writes the next chunk of a reply of ids, and returns whether there is more.
    pub(super) fn write_ids(&mut self) -> bool {
        let Some((ids, format)) = &mut self.ids else {
            return false;
        };
        while self.out.bytes().len() < CHUNK {
            let Some(id) = ids.next() else {
                if *format == IdsFormat::Raw {
                    self.out.end();
                }
                self.ids = None;
                return false;
            };
            match format {
                IdsFormat::Int => self.out.int_id(id),
                IdsFormat::Raw => self.out.raw_id(id),
                IdsFormat::Text | IdsFormat::Json => self.out.text_id(id),
            }
        }
        true
    }

    fn count_issued(&mut self) {
        // Once for a batch: the counter is one word that all connections write.
        if let (Some(space), 1..) = (&self.last, self.issued) {
            space.issued.add(self.issued);
            self.issued = 0;
        }
    }
}

/// Makes a connection that of a principal, and counts it if it cannot be.
fn identify(service: &Service, account: &Account, principal: &Principal) -> Result<(), Refusal> {
    let identified = account.identify(principal);
    if identified.is_err() {
        service.counters.resp.refused.add(1);
    }
    identified
}

/// What a transaction may take, in bytes: four of the longest commands. Redis has no limit but the
/// client's buffer.
const MOST: usize = 4 << 20;
/// How long a command waits for memory to be kept in.
const MEMORY_PATIENCE: Duration = Duration::from_secs(5);

impl RespSession {
    /// Keeps a command for `EXEC`.
    pub(super) async fn enqueue(&mut self, words: CommandArgs<'_>) -> Answered {
        let account = &self.account;
        let transaction = self.transaction.get_or_insert_default();
        if !transaction.is_spoilt {
            let len = transaction.len_with(words);
            if len > MOST {
                return Err(Refusal::invalid(format!(
                    "the transaction is too long: {MOST} bytes of commands are allowed, send EXEC before"
                )));
            }
            let memory = transaction.memory.take().or_else(|| account.long_permit());
            if let Some(mut memory) = memory {
                // Vectors grow to twice what they hold.
                memory
                    .grow(2 * len, Instant::now() + MEMORY_PATIENCE)
                    .await?;
                transaction.memory = Some(memory);
            }
            transaction.push(words);
        }
        // Also for one that was spoilt: the client reads a reply for each command, and EXEC
        // refuses.
        self.out.simple("QUEUED");
        Ok(())
    }

    /// A command was refused: if there is a transaction, it will not be executed. So nothing of it
    /// is kept: without this, a client that is refused memory would keep what it has without paying
    /// for it.
    pub(super) fn spoil(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            *transaction = RespTransaction::spoilt();
        }
    }
}

/// `MULTI`: keeps the commands that follow, until `EXEC`.
pub(super) fn multi(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    if session.transaction.is_some() {
        return Err(Refusal::invalid("MULTI calls can not be nested"));
    }
    session.transaction = Some(RespTransaction::default());
    session.out.simple("OK");
    Ok(())
}

/// `DISCARD`: forgets the commands that were kept.
pub(super) fn discard(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    end(session, "DISCARD")?;
    session.out.simple("OK");
    Ok(())
}

/// `EXEC`: begins the reply, and leaves the commands in `session.executing`.
pub(super) fn exec(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    let transaction = end(session, "EXEC")?;
    if transaction.is_spoilt {
        session.service.counters.refused(RefusalKind::Invalid);
        let message = "Transaction discarded because of previous errors.";
        session.out.error("EXECABORT", message);
        return Ok(());
    }
    session.out.array(transaction.ends.len());
    session.executing = Some(transaction);
    Ok(())
}

fn end(session: &mut RespSession, name: &str) -> Result<RespTransaction, Refusal> {
    let transaction = session.transaction.take();
    transaction.ok_or_else(|| Refusal::invalid(format!("{name} without MULTI")))
}

//! A pipeline's replies within the time limit of one.

use redis::{ConnectionLike, RedisResult, Value};

/// The client waits for each reply of a pipeline, also for the others once one has not come in time: five times the limit
/// while a server hangs. This stops at the first. What is left unread ends with the connection.
pub(super) struct InTime<'a>(pub(super) &'a mut redis::Connection);

impl ConnectionLike for InTime<'_> {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.0.req_packed_command(command)
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        self.0.send_packed_command(commands)?;
        let replies: RedisResult<Vec<_>> = (0..offset + count)
            .map(|_| self.0.recv_response())
            .collect();
        Ok(replies?.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }

    fn check_connection(&mut self) -> bool {
        self.0.check_connection()
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }
}

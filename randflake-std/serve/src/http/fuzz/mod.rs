//! Any request of any client: what the HTTP server answers to it, in process. A module of the
//! server when it is compiled for fuzzing, and for its tests, which send the seeds and what a few
//! changes make of them.
//!
//! Input is a digit for who asks, then the request as text: `1GET /v1/ids?count=3`, lines of
//! headers, an empty line, the body.

mod checks;
mod world;

use core::cell::RefCell;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request, Uri};

use self::world::{Client, World};

/// The request, if it is one that the HTTP library would hand over.
fn read(text: &[u8], client: Client) -> Option<(Parts, Request<Body>)> {
    let end = text.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((text, &b""[..]), |end| (&text[..end], &text[end + 2..]));
    let mut lines = head.split(|&byte| byte == b'\n');
    let mut words = lines.next()?.split(|&byte| byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let target = Uri::try_from(words.next()?).ok()?;
    let mut request = Request::builder().method(method).uri(target);
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    let request = client.finish(request, body.to_vec())?;
    let (parts, body) = request.into_parts();
    Some((parts.clone(), Request::from_parts(parts, body)))
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Whether it was a request, which was answered as it must be.
pub(crate) fn run(input: &[u8]) -> bool {
    let Some((&digit, text)) = input.split_first() else {
        return false;
    };
    let Some(client) = Client::of(digit) else {
        return false;
    };
    let Some((asked, request)) = read(text, client) else {
        return false;
    };
    let end = text.windows(2).position(|two| two == b"\n\n");
    let sent = end.map_or(&b""[..], |end| &text[end + 2..]);
    WORLD.with_borrow_mut(|world| {
        let now = world.get_or_insert_with(World::new);
        let status = checks::check(now, client, &asked, sent, request);
        if now.is_used_up() || status == 503 {
            *world = None;
        }
    });
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// For each seed.
    const CHANGES: usize = 30;

    #[test]
    fn seeds_and_what_changes_make_of_them_are_answered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/http");
        let mut seeds: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|seed| fs::read(seed.unwrap().path()).unwrap())
            .collect();
        seeds.sort();
        let mut random = fastrand::Rng::with_seed(7);
        for seed in &seeds {
            assert!(super::run(seed), "{}", seed.escape_ascii());
            for _ in 0..CHANGES {
                let mut input = seed.clone();
                for _ in 0..random.usize(1..4) {
                    let place = random.usize(..input.len());
                    match random.u8(..4) {
                        0 => input[place] = random.u8(..),
                        1 => input.insert(place, random.u8(b' '..0x7f)),
                        2 => drop(input.drain(place..(place + 3).min(input.len()))),
                        // The client, and the end of another request.
                        _ => input.splice(1..place.max(1), []).for_each(drop),
                    }
                    if input.is_empty() {
                        input.push(b'4');
                    }
                }
                super::run(&input);
            }
        }
    }
}

//! Command line of the benchmark.

use core::str::FromStr;

use crate::arrival::Arrival;

pub(crate) const USAGE: &str = "index [--rows N] [--database postgres|mariadb] [--arrival ordered|fleet] [--rates R,R,...] \
                                [--delay-ms N,N,...] [--writers N]";

pub(crate) struct Options {
    /// `None` for as many as the database takes by itself.
    pub(crate) rows: Option<u64>,
    /// The name of the only database; `None` for both.
    pub(crate) database: Option<String>,
    pub(crate) arrivals: Vec<Arrival>,
    /// Connections among which the rows of a transaction are dealt out.
    pub(crate) writers: u32,
}

impl Options {
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut given = Given(arguments.to_vec());
        let rates: Result<Vec<u32>, _> = given
            .take("--rates", "8000,4000,2000,1000".to_owned())?
            .split(',')
            .map(str::parse)
            .collect();
        let rates = rates.map_err(|_| "--rates: rows a second of each node, as 8000,4000,1000")?;
        if rates.is_empty()
            || rates.len() > 1_000
            || rates.iter().any(|rate| !(1..=100_000).contains(rate))
        {
            return Err("--rates: 1 to 1,000 nodes of 1 to 100,000 rows a second".to_owned());
        }
        let delays: Result<Vec<u32>, _> = given
            .take("--delay-ms", "2,20".to_owned())?
            .split(',')
            .map(str::parse)
            .collect();
        let delays = delays.map_err(|_| "--delay-ms: milliseconds, as 2,20; each is an arrival")?;
        let ordered = Arrival {
            name: "ordered".to_owned(),
            rates: vec![2_500; 4],
            delay_us: 0,
            is_random: false,
        };
        let fleets = delays.into_iter().map(|delay_ms| Arrival {
            name: format!("fleet_{delay_ms}ms"),
            rates: rates.clone(),
            delay_us: u64::from(delay_ms) * 1_000,
            is_random: true,
        });
        let mut arrivals: Vec<_> = [ordered].into_iter().chain(fleets).collect();
        let arrival = given.take("--arrival", String::new())?;
        arrivals.retain(|known| known.name.starts_with(&arrival));
        let database = given.take("--database", String::new())?;
        let rows = match given.take("--rows", String::new())?.as_str() {
            "" => None,
            rows => Some(rows.parse().map_err(|_| "--rows: a number is needed")?),
        };
        let options = Self {
            rows,
            database: (!database.is_empty()).then_some(database),
            arrivals,
            writers: given.take("--writers", 1)?,
        };
        let is_known = options
            .database
            .as_ref()
            .is_none_or(|name: &String| ["postgres", "mariadb"].contains(&name.as_str()));
        if !given.0.is_empty()
            || options.arrivals.is_empty()
            || !is_known
            || !(1..=100).contains(&options.writers)
        {
            return Err(format!("usage: {USAGE}"));
        }
        Ok(options)
    }
}

struct Given(Vec<String>);

impl Given {
    /// The value of an option, which is then gone.
    fn take<T: FromStr>(&mut self, name: &str, default: T) -> Result<T, String> {
        let Some(place) = self.0.iter().position(|argument| argument == name) else {
            return Ok(default);
        };
        let value = self.0.get(place + 1).and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{name}: a value is missing or wrong: {USAGE}"))?;
        self.0.drain(place..=place + 1);
        Ok(value)
    }
}

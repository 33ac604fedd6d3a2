// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which of a table's columns holds what.

use std::collections::BTreeMap;

use super::{
    known::{Known, Role},
    layout::{is_date, is_number, refusal, ways, Layout, Refusal, Rows},
    number::{Decimal, TimeUnit},
    options::{Column, CsvOptions},
    words,
};

/// Rows whose offsets and lengths must all be multiples of a sector before they are taken for bytes.
const ROWS_OF_BYTES: usize = 16;

/// A file's beginning, parted, and who it may be.
pub(super) struct Table<'a> {
    pub(super) options: &'a CsvOptions,
    /// Without the header.
    pub(super) rows: Rows,
    pub(super) columns: usize,
    pub(super) delimiter: u8,
    /// As they stand in the header.
    pub(super) titles: Option<Vec<String>>,
    /// The same in plain.
    pub(super) names: Vec<String>,
    /// By the rows alone, or by what the user says.
    pub(super) known: Option<&'static Known>,
    pub(super) comments: usize,
}

impl Table<'_> {
    pub(super) fn layout(self) -> Result<Layout, Refusal> {
        let known = self.known.or_else(|| Known::of_header(&self.names));
        let mut roles: BTreeMap<Role, Vec<usize>> = match known {
            Some(known) => self.roles_of(known)?,
            None if self.titles.is_some() => self.roles_by_names(),
            None => BTreeMap::new(),
        };
        for (role, column) in &self.options.columns {
            match self.place(*role, column)? {
                Some(at) => drop(roles.insert(*role, vec![at])),
                None => drop(roles.remove(role)),
            }
        }
        let said = |role| self.options.column(role).is_some();
        if known.is_none() {
            self.settle(&mut roles, &said)?;
        }
        let blocks = roles.contains_key(&Role::Offset);
        if !blocks && !roles.contains_key(&Role::Id) {
            return self.no_object();
        }
        if blocks && !roles.contains_key(&Role::Length) {
            return refusal("no column has the requests' lengths", ways(&["length=3".into()]));
        }
        let one = |role| roles.get(&role).and_then(|places| places.first().copied());
        let numeric_ops = known.is_some();
        let mut op = one(Role::Op);
        if let Some(at) = op.filter(|_| known.is_none() && !said(Role::Op)) {
            let unknown = self.rows.iter().find(|row| words::does(row[at].as_bytes(), false).is_none());
            match unknown {
                // A column called `type`, say, may be of anything.
                Some(_) if words::may_be_anything(&self.names[at]) => op = None,
                Some(row) => {
                    return refusal(
                        format!("operation {:?} in {} is not known", row[at], self.title(at)),
                        ways(&["op=0".into()]) + ", to take every row as a read",
                    )
                }
                None => {}
            }
        }
        if known.is_none() && !blocks && !said(Role::Size) && !roles.contains_key(&Role::Size) {
            self.no_size(&roles)?;
        }
        let time = match one(Role::Time) {
            Some(at) => Some((at, self.time_unit(at, known)?)),
            None => None,
        };
        let units_bytes = match (known, blocks) {
            (Some(known), _) => known.units_bytes,
            (None, true) => self.units_bytes(one(Role::Offset), one(Role::Length))?,
            (None, false) => [1, 1],
        };
        let units_bytes = self.options.block_bytes.map_or(units_bytes, |bytes| [bytes; 2]);
        let places = |role| roles.get(&role).cloned().unwrap_or_default();
        let mut layout = Layout {
            delimiter: self.delimiter,
            header: self.titles.is_some(),
            comments: self.comments,
            columns: self.columns,
            time,
            id: one(Role::Id),
            sizes: if blocks { Vec::new() } else { places(Role::Size) },
            op,
            numeric_ops,
            count: one(Role::Count).filter(|_| known.is_some() || said(Role::Count)),
            disks: if blocks { places(Role::Disk) } else { Vec::new() },
            offset: one(Role::Offset),
            length: one(Role::Length).filter(|_| blocks),
            units_bytes,
            understood: String::new(),
        };
        layout.understood = self.words(&layout, known);
        Ok(layout)
    }

    /// What a published table's columns hold: by the header, or by their places.
    fn roles_of(&self, known: &Known) -> Result<BTreeMap<Role, Vec<usize>>, Refusal> {
        let optional = known.columns.iter().filter(|column| column.ends_with('?')).count();
        let names: Vec<&str> = match &self.titles {
            Some(_) => self.names.iter().map(String::as_str).collect(),
            // Of tables whose columns were added to, only the first ones are known.
            None => {
                let all: Vec<_> = known.names().collect();
                let skipped = if self.columns + optional == all.len() { optional } else { 0 };
                all.into_iter().skip(skipped).collect()
            }
        };
        if self.titles.is_none() && self.columns < names.len() {
            return refusal(
                format!("{} columns, where {} has {}", self.columns, known.name, names.len()),
                "name its columns instead: --csv id=1,size=2",
            );
        }
        let mut roles: BTreeMap<Role, Vec<usize>> = BTreeMap::new();
        for (role, column) in known.roles {
            if let Some(at) = names.iter().position(|name| name == column) {
                roles.entry(*role).or_default().push(at);
            }
        }
        Ok(roles)
    }

    fn roles_by_names(&self) -> BTreeMap<Role, Vec<usize>> {
        let mut roles: BTreeMap<Role, Vec<usize>> = BTreeMap::new();
        for (at, name) in self.names.iter().enumerate() {
            if let Some((role, _)) = words::role_of(name) {
                roles.entry(role).or_default().push(at);
            }
        }
        roles
    }

    /// Refuses what several columns' names may mean.
    fn settle(&self, roles: &mut BTreeMap<Role, Vec<usize>>, said: &dyn Fn(Role) -> bool) -> Result<(), Refusal> {
        let has = |roles: &BTreeMap<Role, Vec<usize>>, role| roles.contains_key(&role);
        if has(roles, Role::Id) && has(roles, Role::Offset) && !(said(Role::Id) && said(Role::Offset)) {
            if said(Role::Id) {
                roles.remove(&Role::Offset);
            } else if said(Role::Offset) {
                roles.remove(&Role::Id);
            } else {
                let what = format!(
                    "requests may be for objects ({}) or for places on a disk ({})",
                    self.title(roles[&Role::Id][0]),
                    self.title(roles[&Role::Offset][0])
                );
                return refusal(what, ways(&["offset=0".into(), "id=0".into()]));
            }
        }
        let blocks = has(roles, Role::Offset);
        // Bytes of a request for a place are its length; a length without a place is a size.
        let (from, to) = if blocks { (Role::Size, Role::Length) } else { (Role::Length, Role::Size) };
        if !has(roles, to) {
            if let Some(places) = roles.remove(&from) {
                roles.insert(to, places);
            }
        }
        let used: &[Role] = match blocks {
            true => &[Role::Time, Role::Op, Role::Disk, Role::Offset, Role::Length],
            false => &[Role::Time, Role::Id, Role::Size, Role::Op],
        };
        for role in used {
            let Some(places) = roles.get(role).filter(|places| places.len() > 1) else { continue };
            // A disk may need two columns, and a request's kind matters less: neither is guessed.
            let titles: Vec<_> = places.iter().map(|&at| self.title(at)).collect();
            let options: Vec<_> = places.iter().take(3).map(|&at| format!("{}={}", role.name(), at + 1)).collect();
            return refusal(
                format!("the {} may be in several columns: {}", role.name(), titles.join(", ")),
                ways(&options),
            );
        }
        self.index(roles)
    }

    /// The first column of pandas' default has no name, and numbers the rows.
    fn index(&self, roles: &BTreeMap<Role, Vec<usize>>) -> Result<(), Refusal> {
        let unnamed = self.names.first().is_some_and(|name| name.is_empty() || name == "unnamed_0");
        let used = |at: usize| roles.values().flatten().any(|&place| place == at);
        if !unnamed || used(0) {
            return Ok(());
        }
        let counts = self.rows.iter().enumerate().all(|(at, row)| row[0] == at.to_string());
        if counts || roles.contains_key(&Role::Time) || self.options.column(Role::Time).is_some() {
            return Ok(());
        }
        refusal(
            "the first column has no name and does not count from 0: it may be the time or an index",
            ways(&["time=1,time-unit=s".into(), "time=0".into()]),
        )
    }

    fn title(&self, at: usize) -> String {
        match self.titles.as_ref().and_then(|titles| titles.get(at)) {
            Some(title) => format!("{title:?}"),
            None => format!("column {}", at + 1),
        }
    }

    fn place(&self, role: Role, column: &Column) -> Result<Option<usize>, Refusal> {
        match column {
            Column::None => Ok(None),
            Column::Place(place) if (1..=self.columns).contains(place) => Ok(Some(place - 1)),
            Column::Place(place) => refusal(
                format!("{} is in column {place}, and rows have {}", role.name(), self.columns),
                "count columns from 1",
            ),
            Column::Name(name) => {
                let Some(titles) = &self.titles else {
                    return refusal(
                        format!("{} is in a column named {name:?}, and there is no header", role.name()),
                        "name columns by number, or say header=yes",
                    );
                };
                let exact = titles.iter().position(|title| title == name);
                let at = exact.or_else(|| self.names.iter().position(|title| *title == words::plain(name)));
                match at {
                    Some(at) => Ok(Some(at)),
                    None => refusal(
                        format!("{} is in a column named {name:?}, which the header does not name", role.name()),
                        format!("it names {}", titles.join(", ")),
                    ),
                }
            }
        }
    }

    /// No column of a header is called as sizes are, but one that is not understood has numbers that could be.
    fn no_size(&self, roles: &BTreeMap<Role, Vec<usize>>) -> Result<(), Refusal> {
        let index =
            |name: &str| name.is_empty() || name == "index" || name == "unnamed_0" || name.starts_with("index_level");
        // A column that the user leaves out is understood, too.
        let understood = |at: &usize| index(&self.names[*at]) || words::role_of(&self.names[*at]).is_some();
        let unread = |at: &usize| !understood(at) && !roles.values().flatten().any(|place| place == at);
        let whole = |at: &usize| self.rows.iter().all(|row| super::number::whole(row[*at].as_bytes(), "").is_ok());
        let found: Vec<usize> = match self.titles {
            Some(_) => (0..self.columns).filter(unread).filter(whole).collect(),
            None => Vec::new(),
        };
        if found.is_empty() {
            return Ok(());
        }
        let titles: Vec<_> = found.iter().map(|&at| self.title(at)).collect();
        let mut options: Vec<_> = found.iter().take(2).map(|at| format!("size={}", at + 1)).collect();
        options.push("size=0".into());
        refusal(format!("no column is called as sizes are, but it may be {}", titles.join(" or ")), ways(&options))
    }

    /// No column tells what is asked for.
    fn no_object(&self) -> Result<Layout, Refusal> {
        if let Some(titles) = &self.titles {
            return refusal(
                format!("no column is called as ids are ({})", titles.join(", ")),
                ways(&[format!("id={}", titles.iter().find(|title| !title.is_empty()).map_or("1", |t| t))]),
            );
        }
        let can_be_time = |at: usize| {
            let times: Vec<_> = self.rows.iter().map(|row| TimeUnit::Seconds.ns(row[at].as_bytes())).collect();
            times.iter().all(Result::is_ok) && times.windows(2).all(|pair| pair[0] <= pair[1])
        };
        let can_be_size =
            |at: usize| self.rows.iter().all(|row| super::number::whole(row[at].as_bytes(), "size").is_ok());
        // Time, id and size in places, from 1; 0 is none.
        let readings: &[[usize; 3]] = match self.columns {
            2 => &[[1, 2, 0], [0, 1, 2], [2, 1, 0]],
            _ => &[[1, 2, 3], [3, 1, 2], [1, 3, 2], [0, 1, 2], [1, 2, 0], [0, 1, 0]],
        };
        let fits = |[time, _, size]: &&[usize; 3]| {
            (*time == 0 || can_be_time(time - 1)) && (*size == 0 || can_be_size(size - 1))
        };
        let mut options: Vec<String> = readings
            .iter()
            .filter(fits)
            .map(|[time, id, size]| {
                let size = if *size == 0 { String::new() } else { format!(",size={size}") };
                let time = if *time == 0 { ",time=0".into() } else { format!(",time={time},time-unit=s") };
                format!("id={id}{size}{time}")
            })
            .collect();
        let tencent = |row: &Vec<String>| {
            row.len() == 5 && ["0", "1"].contains(&&*row[3]) && row[0].len() == 10 && row.iter().all(|t| is_number(t))
        };
        if self.rows.iter().all(tencent) {
            options.insert(0, "table=tencent-block".into());
        }
        options.truncate(3);
        refusal(format!("{} columns without names, which may be read in several ways", self.columns), ways(&options))
    }

    /// The unit of times: what is said, what the name says, or what the values can only be.
    fn time_unit(&self, at: usize, known: Option<&Known>) -> Result<TimeUnit, Refusal> {
        if let Some(unit) = self.options.time_unit {
            return Ok(unit);
        }
        if let Some(known) = known {
            return Ok(known.time_unit);
        }
        let name = self.names.get(at).map_or("", String::as_str);
        if let Some((Role::Time, Some(unit))) = words::role_of(name) {
            return Ok(unit);
        }
        let texts = || self.rows.iter().map(|row| row[at].as_str());
        if texts().all(is_date) {
            return Ok(TimeUnit::Date);
        }
        let whole: Option<Vec<i128>> = texts().map(|text| Some(Decimal::of(text.as_bytes())?.scaled(0)?.0)).collect();
        let Some(values) = whole else {
            return refusal(
                format!("times in {} are neither numbers nor dates", self.title(at)),
                ways(&["time=0".into()]),
            );
        };
        // From 2000 to 2040. Nanoseconds since 1970 are too many to be anything else; the others could be the time since a boot.
        let within = |power: u32| {
            values
                .iter()
                .all(|value| (946_684_800 * 10i128.pow(power)..2_208_988_800 * 10i128.pow(power)).contains(value))
        };
        if within(9) {
            return Ok(TimeUnit::Nanos);
        }
        for (power, unit) in [(0, TimeUnit::Seconds), (3, TimeUnit::Millis), (6, TimeUnit::Micros)] {
            if words::is_epoch(name) && within(power) {
                return Ok(unit);
            }
        }
        let (first, last) = (texts().next().unwrap_or_default(), texts().next_back().unwrap_or_default());
        refusal(
            format!("times in {} are {first} to {last} in its first rows, of no unit", self.title(at)),
            ways(&["time-unit=s".into(), "time-unit=ms".into(), "time-unit=us".into(), "time-unit=ns".into()])
                + ", or time=0 to leave them out",
        )
    }

    fn units_bytes(&self, offset: Option<usize>, length: Option<usize>) -> Result<[u64; 2], Refusal> {
        if self.options.block_bytes.is_some() {
            return Ok([1, 1]);
        }
        let name = |at: Option<usize>| at.and_then(|at| self.names.get(at)).map_or("", String::as_str);
        if let (Some(offset), Some(length)) = (words::block_bytes_of(name(offset)), words::block_bytes_of(name(length)))
        {
            return Ok([offset, length]);
        }
        let places = [offset, length];
        let sectors = |row: &Vec<String>| {
            places.iter().flatten().all(|&at| {
                super::number::whole(row[at].as_bytes(), "").is_ok_and(|n| n % super::super::text::SECTOR_BYTES == 0)
            })
        };
        if self.rows.len() >= ROWS_OF_BYTES && self.rows.iter().all(sectors) {
            return Ok([1, 1]);
        }
        refusal(
            "offsets and lengths may be bytes or sectors of 512",
            ways(&["block-unit=byte".into(), "block-unit=sector".into()]),
        )
    }
}

//! Types that C made, and objects of them: numbers, texts, dictionaries, lists, sets.

use super::World;

const LETTERS: u64 = 64;
const TYPE_SIZE: u64 = 1024;
/// `Py_TPFLAGS_*`.
const READY: u64 = 1 << 12;
const INT: u64 = 1 << 24;
const LIST: u64 = 1 << 25;
const TUPLE: u64 = 1 << 26;
const TEXT: u64 = 1 << 28;
const DICT: u64 = 1 << 29;
const TYPE: u64 = 1 << 31;

const C_TYPES: [(&str, u64); 14] = [
    ("type", TYPE),
    ("object", 0),
    ("NoneType", 0),
    ("int", INT),
    ("bool", INT),
    ("float", 0),
    ("str", TEXT),
    ("tuple", TUPLE),
    ("list", LIST),
    ("dict", DICT),
    ("set", 0),
    ("range", 0),
    ("weakref.ReferenceType", 0),
    ("module", 0),
];

impl World {
    pub(super) fn c_types(&mut self) {
        for (name, flags) in C_TYPES {
            let made = self.bare_type(name, READY | flags);
            self.types.insert(name, made);
        }
        for (name, _) in C_TYPES {
            let (one, meta) = (self.types[name], self.types["type"]);
            self.word(one + 8, meta);
        }
    }

    /// A type's own words, without its type.
    pub(super) fn bare_type(&mut self, name: &str, flags: u64) -> u64 {
        let letters = self.room(LETTERS.max(name.len() as u64 + 1));
        self.put(letters, name.as_bytes());
        // Its collector's links stand before it.
        let one = self.room(16 + TYPE_SIZE) + 16;
        self.words(one, &[1, 0, 0, letters, 16]);
        self.word(one + 168, flags);
        one
    }

    pub(crate) fn c_type(&self, name: &str) -> u64 {
        self.types[name]
    }

    /// An object with words behind its type. All have room for the collector's links before them.
    pub(super) fn of(&mut self, kind: &str, words: &[u64]) -> u64 {
        let one = self.room(16 + 16 + words.len() as u64 * 8) + 16;
        self.words(one, &[1, self.types[kind]]);
        self.words(one + 16, words);
        one
    }

    pub(crate) fn none(&mut self) -> u64 {
        self.of("NoneType", &[0])
    }

    pub(crate) fn int(&mut self, value: i64) -> u64 {
        self.whole("int", value)
    }

    pub(crate) fn bool(&mut self, value: bool) -> u64 {
        self.whole("bool", value.into())
    }

    fn whole(&mut self, kind: &str, value: i64) -> u64 {
        let size = value.unsigned_abs();
        let digits = (64 - size.leading_zeros()).div_ceil(30);
        let mask = (1 << 30) - 1;
        let low = size & mask | (size >> 30 & mask) << 32;
        let tag = match self.kind.minor {
            // Py_ssize_t ob_size, below zero for numbers below zero.
            ..=11 => i64::from(digits) * value.signum(),
            // uintptr_t lv_tag: digits, a bit that is not used, the sign.
            _ => i64::from(digits) << 3 | (1 - value.signum()),
        };
        self.of(kind, &[tag as u64, low, size >> 60])
    }

    pub(crate) fn float(&mut self, value: f64) -> u64 {
        self.of("float", &[value.to_bits()])
    }

    pub(crate) fn text(&mut self, text: &str) -> u64 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        // interned, one byte a letter, compact, ascii.
        let state = 1 | 1 << 2 | 1 << 5 | 1 << 6;
        // 3.12 removed wstr.
        let head: &[u64] = match self.kind.minor {
            ..=11 => &[text.len() as u64, u64::MAX, state, 0],
            _ => &[text.len() as u64, u64::MAX, state],
        };
        let room = vec![0; text.len() / 8 + 1];
        let one = self.of("str", &[head, &room].concat());
        self.put(one + 16 + head.len() as u64 * 8, text.as_bytes());
        self.texts.insert(text.to_owned(), one);
        one
    }

    pub(crate) fn tuple(&mut self, items: &[u64]) -> u64 {
        let head: &[u64] = match self.kind.minor {
            ..=13 => &[items.len() as u64],
            // 3.14 remembers the hash.
            _ => &[items.len() as u64, u64::MAX],
        };
        self.of("tuple", &[head, items].concat())
    }

    pub(crate) fn list(&mut self, items: &[u64]) -> u64 {
        let table = self.room(8 * items.len().max(1) as u64);
        self.words(table, items);
        let length = items.len() as u64;
        self.of("list", &[length, table, length])
    }

    pub(crate) fn range(&mut self, length: i64) -> u64 {
        let numbers = [0, length, 1, length].map(|number| self.int(number));
        self.of("range", &numbers)
    }

    /// A dictionary with its values beside its keys, which are all texts.
    pub(crate) fn dict(&mut self, entries: &[(&str, u64)]) -> u64 {
        let entries: Vec<(u64, u64)> = (entries.iter())
            .map(|(name, value)| (self.text(name), *value))
            .collect();
        let keys = self.keys(&entries, 1);
        self.of("dict", &[entries.len() as u64, 0, keys, 0])
    }

    /// `sys`, which knows what was imported.
    #[cfg(test)]
    pub(super) fn sys(&mut self, imported: &[&str]) {
        let none = self.none();
        let modules: Vec<(&str, u64)> = imported.iter().map(|name| (*name, none)).collect();
        let (name, modules) = (self.text("sys"), self.dict(&modules));
        let names = self.dict(&[("__name__", name), ("modules", modules)]);
        let sys = self.of("module", &[names, 0, 0, 0, 0]);
        self.tracked.push(sys);
    }

    /// One whose keys others share.
    pub(super) fn split_dict(&mut self, keys: u64, values: u64, used: usize) -> u64 {
        self.of("dict", &[used as u64, 0, keys, values])
    }

    /// `PyDictKeysObject`. The kind is that of 3.11 and later: 0 any keys, 1 texts, 2 texts whose values are
    /// elsewhere.
    pub(super) fn keys(&mut self, entries: &[(u64, u64)], kind: u8) -> u64 {
        let size = (entries.len() as u64 * 3 / 2 + 1)
            .next_power_of_two()
            .max(8);
        let count = entries.len() as u64;
        let old = self.kind.minor <= 10;
        let with_hash = old || kind == 0;
        let head = if old { 40 } else { 32 };
        let at = self.room(head + size + count * 24);
        match old {
            true => self.words(at, &[1, size, 0, size - count, count]),
            false => {
                let logs = u64::from_le_bytes([
                    size.ilog2() as u8,
                    size.ilog2() as u8,
                    kind,
                    0,
                    0,
                    0,
                    0,
                    0,
                ]);
                self.words(at, &[1, logs, size - count, count]);
            }
        }
        let rows: Vec<u64> = (entries.iter())
            .flat_map(|(key, value)| match with_hash {
                true => vec![17, *key, *value],
                false => vec![*key, *value],
            })
            .collect();
        self.words(at + head + size, &rows);
        at
    }

    /// A set of weak references.
    pub(crate) fn weak_set(&mut self, held: &[u64]) -> u64 {
        let size = (held.len() as u64 * 2).next_power_of_two().max(8);
        let table = self.room(size * 16);
        for (nth, one) in held.iter().enumerate() {
            let reference = self.of("weakref.ReferenceType", &[*one, 0, 0, 0]);
            self.words(table + nth as u64 * 32, &[reference, 17]);
        }
        let count = held.len() as u64;
        self.of("set", &[count, count, size - 1, table])
    }
}

//! Classes that a program made, and their objects, with attributes where each version keeps them.

use super::World;

const READY: u64 = 1 << 12;
const HEAP: u64 = 1 << 9;
const MANAGED_DICT: u64 = 1 << 4;
const INLINE_VALUES: u64 = 1 << 2;
/// Room for attributes before `tp_dictoffset` became a matter of words before the object.
const DICT_AT: u64 = 16;

impl World {
    /// A class of a module, made from others.
    pub(crate) fn class(&mut self, name: &str, module: &str, bases: &[u64]) -> u64 {
        self.class_with(name, module, bases, &[])
    }

    /// The same with attributes of its own.
    pub(crate) fn class_with(
        &mut self,
        name: &str,
        module: &str,
        bases: &[u64],
        own: &[(&str, u64)],
    ) -> u64 {
        let flags = match self.kind.minor {
            ..=10 => 0,
            11 | 12 => MANAGED_DICT,
            _ => MANAGED_DICT | INLINE_VALUES,
        };
        let one = self.bare_type(name, READY | HEAP | flags);
        let module = self.text(module);
        let dict = self.dict(&[&[("__module__", module)], own].concat());
        let object = self.c_type("object");
        let order = self.tuple(&[&[one], bases, &[object]].concat());
        self.word(one + 8, self.c_type("type"));
        self.word(one + 32, if self.kind.minor <= 10 { 32 } else { 16 });
        self.word(one + 264, dict);
        if self.kind.minor <= 10 {
            self.word(one + 288, DICT_AT);
        }
        self.word(one + 344, order);
        self.track(one);
        one
    }

    fn shared_keys_at(&self, class: u64) -> u64 {
        class
            + match self.kind.minor {
                9 => 864,
                10 | 11 => 872,
                12..=14 => 880,
                _ => 888,
            }
    }

    /// An object of a class. All of one class have the same names, or are made with `own_dicts`.
    pub(crate) fn object(&mut self, class: u64, attributes: &[(&str, u64)]) -> u64 {
        let one = self.room(32 + 32 + 8 + attributes.len() as u64 * 8) + 32;
        self.words(one, &[1, class]);
        self.track(one);
        if self.own_dicts {
            let dict = self.dict(attributes);
            match self.kind.minor {
                ..=10 => self.word(one + DICT_AT, dict),
                _ => self.word(one - 24, dict),
            }
            return one;
        }
        let names: Vec<(u64, u64)> = (attributes.iter())
            .map(|(name, _)| (self.text(name), 0))
            .collect();
        let keys = self.keys(&names, 2);
        self.word(self.shared_keys_at(class), keys);
        let values: Vec<u64> = attributes.iter().map(|(_, value)| *value).collect();
        match self.kind.minor {
            ..=10 => {
                let table = self.room(8 * values.len() as u64);
                self.words(table, &values);
                let dict = self.split_dict(keys, table, values.len());
                self.word(one + DICT_AT, dict);
            }
            // Sizes stand in bytes before the values.
            minor @ (11 | 12) => {
                let table = self.room(16 + 8 * values.len() as u64) + 16;
                self.words(table, &values);
                match minor {
                    11 => self.word(one - 32, table),
                    _ => self.word(one - 24, table - 1),
                }
            }
            _ => {
                let count = values.len() as u8;
                // capacity, size, embedded, valid.
                self.put(one + 16, &[count, count, 1, 1]);
                self.words(one + 24, &values);
            }
        }
        one
    }

    pub(super) fn track(&mut self, object: u64) {
        self.tracked.push(object);
    }
}

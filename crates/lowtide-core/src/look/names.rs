//! Who looked, and what a breakdown is by. Names that this version does not know are kept as they are:
//! a recording of a newer one shows its breakdowns too.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who looked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Examiner {
    /// From outside: `smaps`, and what allocators leave in resident pages.
    Mappings,
    /// From inside: the Python package's callback.
    Callback,
    /// From outside: every object of Python's heap.
    Census,
    Other(String),
}

/// What the parts of a breakdown are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum By {
    /// Classes of memory, as mappings and allocators show them: all bytes, each in one part.
    Mapping,
    /// Storages of tensors by the device that they are on.
    Device,
    /// Tensors by device, dtype and shape; views count by themselves.
    TensorGroup,
    /// Arrays by dtype and shape; views count by themselves.
    ArrayGroup,
    /// Images by mode and size, decoded or not.
    ImageGroup,
    /// Python objects by type, without what they refer to.
    PythonType,
    /// What keeps it alive.
    Holder,
    /// Where it was allocated.
    CallSite,
    Other(String),
}

/// Names in JSON and words for people, once for both ways.
macro_rules! named {
    ($type:ident: $($variant:ident $name:literal $words:literal),+ $(,)?) => {
        impl $type {
            /// Those that this version knows.
            pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

            /// Its name in JSON.
            pub fn name(&self) -> &str {
                match self {
                    $($type::$variant => $name,)+
                    $type::Other(name) => name,
                }
            }
        }

        impl From<String> for $type {
            fn from(name: String) -> $type {
                match name.as_str() {
                    $($name => $type::$variant,)+
                    _ => $type::Other(name),
                }
            }
        }

        impl From<$type> for String {
            fn from(this: $type) -> String {
                this.name().to_owned()
            }
        }

        /// For people.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($type::$variant => f.write_str($words),)+
                    $type::Other(name) => write!(f, "by {}", name.replace('-', " ")),
                }
            }
        }
    };
}

named!(Examiner:
    Mappings "mappings" "from outside",
    Callback "callback" "from inside",
    Census "census" "from outside, object by object",
);

named!(By:
    Mapping "mapping" "by mapping",
    Device "device" "tensor storages by device",
    TensorGroup "tensor-group" "tensors by device, dtype and shape",
    ArrayGroup "array-group" "arrays by dtype and shape",
    ImageGroup "image-group" "images by mode and size",
    PythonType "python-type" "Python objects by type",
    Holder "holder" "by holder",
    CallSite "call-site" "by call site",
);

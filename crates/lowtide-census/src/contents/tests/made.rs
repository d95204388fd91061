//! Memory as torch and Python fill it. Offsets are those of the headers of each release, none is taken from the reader.

use lowtide_sys::memory::{Image, Mapping, Mappings};

use crate::contents::cpp::tests::with_class;

const LIBRARY: u64 = 0x7f00_0000_0000;
const HEAP: u64 = 0x5500_0000_0000;
const ROOM: u64 = 64 << 20;
const OBJECTS: u64 = 0x7f11_0000_0000;

/// Where a release of torch has what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    pub version: &'static str,
    /// In a Python tensor.
    pub tensor: u64,
    /// In a tensor: its Python object, with sizes behind.
    pub object: u64,
    /// In what autograd knows.
    pub step: u64,
    pub flags: u64,
    /// How long that is.
    pub meta: u64,
}

const fn release(
    version: &'static str,
    tensor: u64,
    object: u64,
    step: u64,
    flags: u64,
) -> Release {
    Release {
        version,
        tensor,
        object,
        step,
        flags,
        meta: flags + 48,
    }
}

pub(super) const RELEASES: [Release; 4] = [
    release("2.6", 24, 56, 24, 120),
    release("2.9", 24, 56, 48, 144),
    release("2.12", 16, 56, 48, 144),
    release("2.15", 16, 48, 48, 128),
];

pub(super) struct Made {
    pub image: Image,
    pub mappings: Mappings,
    pub release: Release,
    /// Python's.
    pub objects: Vec<u64>,
    /// Those of C++, with a Python object.
    pub tensors: Vec<u64>,
    chunk: u64,
    object: u64,
    class: u64,
    tables: [u64; 3],
    types: [u64; 3],
    steps: u64,
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Made {
    pub(super) fn new(release: Release) -> Made {
        let mapping = |start: u64, end: u64, inode: u64| Mapping {
            start,
            end,
            read: true,
            write: inode == 0,
            inode,
            ..Mapping::default()
        };
        let mut mappings = Mappings::default();
        mappings.push(mapping(HEAP, HEAP + ROOM, 0), b"[heap]");
        mappings.push(
            mapping(LIBRARY, LIBRARY + (1 << 20), 7),
            b"/lib/libtorch_cpu.so",
        );
        mappings.push(mapping(OBJECTS, OBJECTS + (1 << 20), 0), b"");
        let mut made = Made {
            image: Image::default().with(OBJECTS, &vec![0; 1 << 20]),
            mappings,
            release,
            objects: Vec::new(),
            tensors: Vec::new(),
            chunk: HEAP,
            object: OBJECTS + 0x8000,
            class: LIBRARY,
            tables: [0; 3],
            types: [0; 3],
            steps: 0,
        };
        made.tables = [
            "N3c1010TensorImplE",
            "N3c1011StorageImplE",
            "N5torch8autograd12AutogradMetaE",
        ]
        .map(|name| made.cpp_class(name, 0));
        // The class that all steps are made from.
        made.steps = made.class + 0x20;
        made.cpp_class("N5torch8autograd4NodeE", 0);
        made.types = [
            ("torch._C.TensorBase", 0x1000),
            ("numpy.ndarray", 0x2000),
            ("numpy.dtypes.Float64DType", 0x3000),
        ]
        .map(|(name, at)| made.python_type(OBJECTS + at, name));
        made
    }

    /// Returns the table of its functions.
    fn cpp_class(&mut self, name: &str, base: u64) -> u64 {
        let image = std::mem::take(&mut self.image);
        let (image, table) = with_class(image, self.class, name, base);
        self.image = image;
        self.class += 0x1000;
        table
    }

    /// A type, which is its own, with a table of what it is made from.
    fn python_type(&mut self, at: u64, name: &str) -> u64 {
        let (name_at, order) = (at + 0x400, at + 0x500);
        let ready_type = 1 << 12 | 1 << 31;
        for (offset, word) in [
            (0, 9),
            (8, at),
            (24, name_at),
            (32, 80),
            (168, ready_type),
            (344, order),
        ] {
            self.image.write(at + offset, &words(&[word]));
        }
        self.image.write(name_at, &[name.as_bytes(), &[0]].concat());
        self.image.write(order, &words(&[1, at, 1, at]));
        at
    }

    fn python_object(&mut self, class: u64) -> u64 {
        let at = self.object;
        self.object += 0x80;
        self.image.write(at, &words(&[1, class]));
        self.objects.push(at);
        at
    }

    /// A block of `malloc`, filled with nothing.
    pub(super) fn block(&mut self, length: u64) -> u64 {
        let size = (length + 8).next_multiple_of(16).max(32);
        let block = self.chunk + 16;
        self.image.write(self.chunk, &words(&[0, size | 1]));
        self.image.write(block, &vec![0; size as usize - 16]);
        self.chunk += size;
        // What is left.
        self.image
            .write(self.chunk, &words(&[0, (HEAP + ROOM - self.chunk) | 1, 0]));
        block
    }

    pub(super) fn storage(&mut self, bytes: u64) -> u64 {
        let data = self.block(bytes);
        self.storage_at(data, bytes)
    }

    pub(super) fn storage_at(&mut self, data: u64, bytes: u64) -> u64 {
        let at = self.block(104);
        let cpu = 0xff00;
        self.image.write(
            at,
            &words(&[
                self.tables[1],
                1 | 1 << 32,
                data,
                LIBRARY + 0x8_0000,
                data,
                cpu,
                bytes,
            ]),
        );
        at
    }

    /// Returns it and its Python object.
    pub(super) fn tensor(&mut self, sizes: &[u64], storage: u64, offset: u64) -> (u64, u64) {
        let tensor = self.tensor_of_cpp(sizes, storage, offset);
        let object = self.python_object(self.types[0]);
        self.image
            .write(object + self.release.tensor, &words(&[tensor]));
        self.image
            .write(tensor + self.release.object, &words(&[object]));
        self.tensors.push(tensor);
        (tensor, object)
    }

    pub(super) fn tensor_of_cpp(&mut self, sizes: &[u64], storage: u64, offset: u64) -> u64 {
        let at = self.block(self.release.object + 8 + 128);
        let count = sizes.len() as u64;
        let elements: u64 = sizes.iter().product();
        let field = at + self.release.object + 8;
        self.image
            .write(at, &words(&[self.tables[0], 1 | 1 << 32, storage]));
        self.image.write(field, &words(&[count]));
        if sizes.len() <= 5 {
            self.image.write(field + 8, &words(sizes));
            self.image.write(field + 48, &words(&vec![1; sizes.len()]));
        } else {
            let table = self.block(count * 16);
            self.image.write(table, &words(sizes));
            self.image.write(field + 8, &words(&[table]));
        }
        // Elements of number 6 on the processor, which there is.
        let last = 6 | 0x00_ff00 << 16 | 1 << 32;
        self.image
            .write(field + 88, &words(&[offset, elements, last]));
        at
    }

    /// Gives a tensor what autograd knows of it.
    pub(super) fn knows(&mut self, tensor: u64, step: u64, asked: bool) {
        let meta = self.block(self.release.meta);
        self.image.write(meta, &words(&[self.tables[2]]));
        if self.release.step == 48 {
            // An empty text: it points to its own room.
            self.image.write(meta + 8, &words(&[meta + 24, 0]));
        }
        self.image.write(meta + self.release.step, &words(&[step]));
        self.image
            .write(meta + self.release.flags, &[u8::from(asked)]);
        self.image.write(tensor + 24, &words(&[meta]));
    }

    /// A step that keeps others, through a table.
    pub(super) fn step(&mut self, name: &str, keeps: &[u64]) -> u64 {
        let table = self.cpp_class(name, self.steps);
        let list = self.block(keeps.len() as u64 * 8);
        self.image.write(list, &words(keeps));
        let at = self.block(200);
        let end = list + keeps.len() as u64 * 8;
        self.image.write(at, &words(&[table, 0, list, end]));
        at
    }

    /// Of 64-bit floats.
    pub(super) fn array(&mut self, sizes: &[u64], number: u32) -> u64 {
        let data = self.block(sizes.iter().product::<u64>() * 8);
        let shape = self.block(sizes.len() as u64 * 16);
        self.image.write(shape, &words(sizes));
        let element = self.object;
        self.object += 0x80;
        self.image.write(element, &words(&[1, self.types[2]]));
        self.image.write(element + 28, &number.to_le_bytes());
        let array = self.python_object(self.types[1]);
        let owns = 0x504;
        self.image.write(
            array + 16,
            &words(&[data, sizes.len() as u64, shape, shape, 0, element, owns]),
        );
        array
    }

    pub(super) fn data_of(&self, array: u64) -> u64 {
        use crate::source::{Direct, Source};
        Direct(&self.image).word(array + 16).unwrap()
    }
}

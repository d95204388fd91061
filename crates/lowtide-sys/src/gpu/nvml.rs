//! NVIDIA GPUs by NVML, loaded at run time. Asked on its own thread, because a driver in trouble
//! blocks its callers for seconds; nobody waits for it here. A static program cannot load it, and says so.

use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use lowtide_core::sample::{Gap, GapWhy, Gpu};
use lowtide_core::units::{Bytes, Micros};
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use super::{GpuMemory, LOADS_LIBRARIES};

/// Names another library, for tests and unusual installations.
pub(crate) const LIBRARY: &str = "LOWTIDE_NVML";

/// Where the kernel part of the driver tells of itself, below the root of the file system.
pub const DRIVER: &str = "proc/driver/nvidia/version";

/// An answer is late after this: it takes milliseconds as a rule.
const LATE: Micros = Micros(5_000_000);

type Answer = Result<GpuMemory, GapWhy>;

/// The driver's thread and its last answer.
pub struct Watch {
    ask: Sender<()>,
    answers: Receiver<Answer>,
    asked: Option<Micros>,
    last: Option<GpuMemory>,
    /// There is no driver, or it has gone: nothing more will come.
    over: bool,
    /// There is a driver that this program cannot ask; told once.
    unseen: bool,
}

impl Watch {
    /// `library` is a path to load instead of the system's; else the environment may name one.
    pub fn start(library: Option<OsString>) -> Watch {
        if !LOADS_LIBRARIES {
            return Watch::without_loader(Path::new("/").join(DRIVER).exists());
        }
        let library = library.or_else(|| std::env::var_os(LIBRARY));
        let (ask, questions) = channel();
        let (reply, answers) = channel();
        let thread = std::thread::Builder::new()
            .name("nvml".to_owned())
            .spawn(move || serve(library, &questions, &reply));
        Watch {
            ask,
            answers,
            asked: None,
            last: None,
            over: thread.is_err(),
            unseen: false,
        }
    }

    /// Nobody to ask. `driver`: there is one all the same, so that what is missing is known to be missing.
    fn without_loader(driver: bool) -> Watch {
        Watch {
            ask: channel().0,
            answers: channel().1,
            asked: None,
            last: None,
            over: true,
            unseen: driver,
        }
    }

    /// The newest answer, without waiting; asks for the next one. A driver that does not answer is a
    /// gap and the last answer stands; no driver at all is no gap.
    pub fn latest(&mut self, now: Micros, gaps: &mut Vec<Gap>) -> Option<&GpuMemory> {
        let mut gap = |why| {
            gaps.push(Gap {
                who: None,
                what: "nvml".to_owned(),
                why,
            })
        };
        if std::mem::take(&mut self.unseen) {
            gap(GapWhy::Unsupported);
        }
        loop {
            match self.answers.try_recv() {
                Ok(Ok(answer)) => {
                    self.last = Some(answer);
                    self.asked = None;
                }
                Ok(Err(why)) => {
                    self.asked = None;
                    gap(why);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.over = true;
                    break;
                }
            }
        }
        if self.over {
            return self.last.as_ref();
        }
        match self.asked {
            Some(asked) if now.since(asked) >= LATE => gap(GapWhy::Late),
            Some(_) => {}
            None => {
                if self.ask.send(()).is_ok() {
                    self.asked = Some(now);
                } else {
                    self.over = true;
                }
            }
        }
        self.last.as_ref()
    }

    /// Nothing more will come: there is no driver here.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

fn serve(library: Option<OsString>, questions: &Receiver<()>, reply: &Sender<Answer>) {
    let mut builder = Nvml::builder();
    if let Some(library) = &library {
        builder.lib_path(library);
    }
    // No library, no driver, no device: the thread ends, and with it the questions.
    let Ok(nvml) = builder.init() else {
        return;
    };
    while questions.recv().is_ok() {
        if reply.send(ask(&nvml).map_err(|error| why(&error))).is_err() {
            return;
        }
    }
}

fn ask(nvml: &Nvml) -> Result<GpuMemory, NvmlError> {
    let mut found = GpuMemory::default();
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        let memory = device.memory_info()?;
        found.devices.push(Gpu {
            index,
            name: device.name().unwrap_or_default(),
            used: Bytes(memory.used),
            total: Bytes(memory.total),
        });
        // A device in MIG mode, or a driver without the call, lists no processes.
        for process in device.running_compute_processes().unwrap_or_default() {
            if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
                let sum = found.by_pid.entry(process.pid).or_default();
                *sum = *sum + Bytes(bytes);
            }
        }
    }
    Ok(found)
}

fn why(error: &NvmlError) -> GapWhy {
    match error {
        NvmlError::NoPermission => GapWhy::Denied,
        NvmlError::Timeout => GapWhy::Late,
        NvmlError::GpuLost | NvmlError::NotFound => GapWhy::Vanished,
        _ => GapWhy::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_cannot_be_asked_is_one_gap_and_none_is_no_gap() {
        for (driver, told) in [(true, 1), (false, 0)] {
            let mut watch = Watch::without_loader(driver);
            let mut gaps = Vec::new();
            for second in 0..3 {
                let answer = watch.latest(Micros(second * 1_000_000), &mut gaps);
                assert!(answer.is_none());
            }
            assert_eq!(gaps.len(), told);
            assert!(gaps.iter().all(|gap| gap.why == GapWhy::Unsupported));
            assert!(watch.is_over());
        }
    }
}

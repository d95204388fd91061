/* A stand-in for NVIDIA's library, for machines without a GPU: two devices, and process 4242 on
 * both of them. With LOWTIDE_STAND_IN_BLOCKS set, every look at a device hangs, as a sick driver does. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "550.1", length); return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (getenv("LOWTIDE_STAND_IN_BLOCKS")) for (;;) pause();
    *device = (void *)(unsigned long)(index + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
    (void)device;
    strncpy(text, "Stand-in GPU", length);
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, memory *info) {
    info->total = 1000;
    info->used = 100 * (unsigned long)device;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *list) {
    (void)device;
    if (*count < 1) { *count = 1; return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */ }
    *count = 1;
    list[0] = (process){ .pid = 4242, .used = 40 };
    return 0;
}

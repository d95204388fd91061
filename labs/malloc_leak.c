/* Allocates and never frees, as a broken C extension does. Built and started by malloc_leak.py.
   Arguments: steps, microseconds per step, bytes per step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long steps = atol(argv[1]), pause = atol(argv[2]), bytes = atol(argv[3]);
    const long piece = 4000; /* below glibc's mmap threshold: the heap itself grows */
    for (long step = 1; step <= steps; step++) {
        for (long left = bytes; left > 0; left -= piece) {
            char *lost = malloc(piece);
            if (!lost) return 1;
            memset(lost, 1, piece);
        }
        printf("step %ld/%ld\n", step, steps);
        fflush(stdout);
        usleep((useconds_t)pause);
    }
    return 0;
}

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
        /* The pace of lab.py: six parts, slower and faster in turn. */
        long quarters = (step - 1) * 6 / steps % 2 ? 3 : 5;
        usleep((useconds_t)(pause * quarters / 4));
    }
    return 0;
}

/* Programs whose memory is known, for looks. The first argument says which; each prints `ready` and
   goes on when a line comes in. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

static void wait_line(void) {
    char line[64];
    if (!fgets(line, sizeof line, stdin)) exit(0);
}

static long anon_kib(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    fclose(file);
    return kib;
}

static unsigned next(unsigned *state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 8;
}

/* Blocks of every size but those planted, allocated and freed without end. */
enum { SLOTS = 4000, PLANTED = 20000 };
static atomic_long turns;

static void churn_once(void **slots, unsigned *state) {
    unsigned slot = next(state) % SLOTS;
    free(slots[slot]);
    size_t size = 24 + next(state) % (next(state) % 50 ? 900 : 60000);
    if ((size > 184 && size <= 200) || (size > 440 && size <= 456)) size = 300;
    slots[slot] = malloc(size);
    memset(slots[slot], 0xa5, size);
}

static pthread_barrier_t planted;

static void *churn(void *seed) {
    unsigned state = (unsigned)(size_t)seed;
    void **slots = calloc(SLOTS, sizeof *slots);
    for (int i = 0; i < PLANTED / 2; i++) {
        memset(malloc(456), 1, 456);
        churn_once(slots, &state);
    }
    pthread_barrier_wait(&planted);
    for (;;) {
        churn_once(slots, &state);
        turns++;
    }
    return NULL;
}

/* How many arenas glibc itself counts, the main one among them. */
static int arenas(void) {
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream || malloc_info(0, stream) || fclose(stream)) exit(1);
    int count = 0;
    for (char *at = text; (at = strstr(at, "<heap nr=")); at++) count++;
    free(text);
    return count;
}

static void run_churn(void) {
    pthread_t threads[2];
    /* One for each thread and no more, whatever else makes glibc want another (a failed brk does). */
    mallopt(M_ARENA_MAX, 3);
    pthread_barrier_init(&planted, NULL, 3);
    for (size_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, churn, (void *)(i + 7));
    unsigned state = 1;
    void **slots = calloc(SLOTS, sizeof *slots);
    for (int i = 0; i < PLANTED; i++) {
        memset(malloc(200), 1, 200);
        churn_once(slots, &state);
    }
    pthread_barrier_wait(&planted);
    printf("%d\n", arenas());
    say("ready");
    for (;;) {
        churn_once(slots, &state);
    }
}

/* Nine of ten blocks are freed; then `malloc_trim`, and what that brought. */
static void *fragment(void *kept) {
    enum { BLOCKS = 40000 };
    void **blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned state = 5;
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = 64 + next(&state) % 3000;
        blocks[i] = malloc(size);
        memset(blocks[i], 1, size);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (next(&state) % 10) free(blocks[i]);
    if (kept) {
        pthread_barrier_wait(&planted);
        pause();
    }
    return NULL;
}

static void run_trim(void) {
    pthread_t threads[2];
    pthread_barrier_init(&planted, NULL, 3);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fragment, &planted);
    pthread_barrier_wait(&planted);
    fragment(NULL);
    say("ready");
    wait_line();
    long before = anon_kib();
    malloc_trim(0);
    printf("%ld\n", (before - anon_kib()) * 1024);
    say("trimmed");
    wait_line();
}

/* Small blocks that are free, but in caches: they look as if in use. */
static void run_cached(void) {
    enum { BLOCKS = 100000 };
    static void *blocks[BLOCKS];
    /* The first output takes a large block, which would empty the caches. */
    say("begin");
    for (int i = 0; i < BLOCKS; i++) memset(blocks[i] = malloc(72), 1, 72);
    /* The last one stays, so that the rest does not join the end of the heap. */
    for (int i = 0; i < BLOCKS - 1; i++) free(blocks[i]);
    say("ready");
    wait_line();
}

static void run_mapped(void) {
    for (int i = 0; i < 30; i++) {
        void *block = NULL;
        if (i % 2) block = malloc(1000000);
        else if (posix_memalign(&block, 64, 1000000)) exit(1);
        memset(block, 1, 1000000);
        /* Neighbours that are nobody's: the kernel joins them with the blocks. */
        memset(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 8192);
    }
    say("ready");
    wait_line();
}

/* As many mappings as the kernel allows, and two terabytes that are only reserved. */
static void run_many(void) {
    enum { MAPPINGS = 100000 };
    say("begin");
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *closed = mmap(NULL, 1l << 40, PROT_NONE, flags, -1, 0);
    char *open = mmap(NULL, 1l << 40, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *all = mmap(NULL, (size_t)MAPPINGS * 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (closed == MAP_FAILED || open == MAP_FAILED || all == MAP_FAILED) exit(1);
    memset(open + (1l << 39), 1, 3000000);
    int made = 0;
    for (; made < MAPPINGS; made += 2)
        if (mprotect(all + (size_t)made * 4096, 4096, PROT_READ)) break;
    for (int i = 1; i < made; i += 200) all[(size_t)i * 4096] = 1;
    say("ready");
    wait_line();
}

/* Untouched pages of a block must stay untouched. */
static void run_untouched(void) {
    char *block = malloc(64 << 20);
    memset(block, 1, 1 << 20);
    for (int i = 0; i < 2000; i++) { char *p = malloc(100000); p[0] = 1; }
    say("ready");
    wait_line();
    printf("%ld\n", anon_kib());
    say("done");
    wait_line();
}

/* Pieces that are touched bit by bit, and what must not be taken for one. The file in shared memory is
   made by the test. */
static void *churn_little(void *kept) {
    for (int i = 0; i < 1000; i++) memset(malloc(1000), 1, 1000);
    pthread_barrier_wait(kept);
    pause();
    return NULL;
}

static void run_reserved(const char *file) {
    const size_t mib = 1 << 20;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    pthread_t thread;
    /* What is touched is to be known to the page. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    pthread_barrier_init(&planted, NULL, 2);
    pthread_create(&thread, NULL, churn_little, &planted);
    pthread_barrier_wait(&planted);

    /* Longer than what is gone through page by page, and nearly empty. */
    char *sparse = malloc(5000 * mib);
    memset(sparse + 2500 * mib, 1, 8 * mib);
    /* An arena without a head; the kernel joins it with the blocks above and below. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *arena = mmap(NULL, 1024 * mib, PROT_READ | PROT_WRITE, flags, -1, 0);
    memset(arena, 1, 100 * mib);
    char *plain = calloc(512, mib);
    memset(plain, 1, 100 * mib);
    void *aligned = NULL, *untouched = calloc(64, mib);
    if (posix_memalign(&aligned, 64, 256 * mib)) exit(1);
    memset(aligned, 1, 30 * mib);
    /* What numpy does: advice for all but the page with the head parts the mapping. */
    char *parted = malloc(128 * mib);
    char *behind = (char *)(((size_t)parted + page) & ~(page - 1));
    if (madvise(behind, 128 * mib, MADV_DONTFORK)) exit(1);
    memset(parted, 1, 20 * mib);
    /* Read everywhere: pages of zeros, which count in no size. */
    char *zeros = calloc(96, mib), *own = calloc(48, mib);
    behind = (char *)(((size_t)own + page) & ~(page - 1));
    if (madvise(behind, 48 * mib, MADV_DONTFORK)) exit(1);
    for (size_t at = 0; at < 96 * mib; at += page) if (zeros[at]) exit(1);
    for (size_t at = 0; at < 48 * mib; at += page) if (own[at]) exit(1);
    memset(zeros, 1, 10 * mib);
    memset(own, 1, 6 * mib);
    int fd = open(file, O_RDWR), mem = memfd_create("ring", 0);
    if (fd < 0 || mem < 0 || ftruncate(mem, 32 * (off_t)mib)) exit(1);
    int both = PROT_READ | PROT_WRITE;
    char *shared = mmap(NULL, 80 * mib, both, MAP_SHARED, fd, 0);
    char *again = mmap(NULL, 80 * mib, both, MAP_SHARED, fd, 0);
    char *ring = mmap(NULL, 32 * mib, both, MAP_SHARED, mem, 0);
    char *zero = mmap(NULL, 24 * mib, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, 1, 10 * mib);
    memset(again, 1, 10 * mib);
    memset(ring, 1, 4 * mib);
    memset(zero, 1, 24 * mib);
    if (plain == NULL || untouched == NULL || sparse == NULL) exit(1);
    say("ready");
    wait_line();
    memset(plain + 100 * mib, 1, 50 * mib);
    memset(arena + 100 * mib, 1, 50 * mib);
    memset(parted + 20 * mib, 1, 40 * mib);
    say("grown");
    wait_line();
}

static void run_undumpable(void) {
    prctl(PR_SET_DUMPABLE, 0);
    say("ready");
    wait_line();
}

int main(int count, char **arguments) {
    /* A buffer would be allocated at a moment of its own. */
    setvbuf(stdin, NULL, _IONBF, 0);
    const char *which = count > 1 ? arguments[1] : "";
    if (!strcmp(which, "churn")) run_churn();
    if (!strcmp(which, "trim")) run_trim();
    if (!strcmp(which, "cached")) run_cached();
    if (!strcmp(which, "mapped")) run_mapped();
    if (!strcmp(which, "many")) run_many();
    if (!strcmp(which, "untouched")) run_untouched();
    if (!strcmp(which, "reserved") && count > 2) run_reserved(arguments[2]);
    if (!strcmp(which, "undumpable")) run_undumpable();
    return 0;
}

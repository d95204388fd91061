/* Programs that are stopped and must not notice. The first argument says which; each prints what a test needs to
   know, then `ready`. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

static void wait_line(void) {
    char line[64];
    if (!fgets(line, sizeof line, stdin)) exit(0);
}

static void start(void *(*work)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, with)) abort();
    pthread_detach(thread);
}

/* counters N: N threads, each of which counts without end. */
static volatile long counters[1024];

static void *count(void *slot) {
    for (;;) {
        counters[(size_t)slot]++;
        usleep(500);
    }
    return NULL;
}

static void counting(int threads) {
    for (int i = 0; i < threads; i++) start(count, (void *)(size_t)i);
    printf("%lu\n", (unsigned long)counters);
    say("ready");
    pause();
}

/* first: the first thread ends, one goes on. */
static void *count_alone(void *nothing) {
    (void)nothing;
    printf("%lu\n", (unsigned long)counters);
    say("ready");
    return count(0);
}

static void first(void) {
    start(count_alone, NULL);
    pthread_exit(NULL);
}

/* signals: a child sends numbered signals until a line comes; each must arrive once, with its number. */
static atomic_long arrived, sum;

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    arrived++;
    sum += info->si_value.sival_int;
}

static void *spin(void *nothing) {
    for (;;) atomic_fetch_add((atomic_long *)&counters[1], 1);
    return nothing;
}

static void *rest(void *nothing) {
    for (;;) pause();
    return nothing;
}

static void signals(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN, &action, NULL);
    start(spin, NULL);
    for (int i = 0; i < 3; i++) start(rest, NULL);
    int pipes[2];
    if (pipe(pipes)) abort();
    pid_t sender = fork();
    if (!sender) {
        long sent = 0, total = 0;
        struct pollfd input = {.fd = 0, .events = POLLIN};
        say("ready");
        while (poll(&input, 1, 0) == 0) {
            union sigval value = {.sival_int = (int)(sent % 1000)};
            if (sigqueue(getppid(), SIGRTMIN, value)) continue; /* the queue is full */
            sent++;
            total += value.sival_int;
        }
        long result[2] = {sent, total};
        if (write(pipes[1], result, sizeof result) != sizeof result) abort();
        _exit(0);
    }
    long result[2];
    while (read(pipes[0], result, sizeof result) != sizeof result);
    for (int i = 0; i < 10000 && arrived < result[0]; i++) usleep(1000);
    printf("%ld %ld %ld %ld\n", result[0], result[1], (long)arrived, (long)sum);
    say("done");
}

/* calls: one thread in each system call, which counts how often it was interrupted. */
static atomic_int interrupted[16];
static const char *names[] = {"epoll_wait", "sigtimedwait", "semtimedop", "recv", "accept", "read",
                              "poll",       "select",       "futex",      "nanosleep", "wait4"};
enum { EPOLL, SIGNAL, SEMAPHORE, RECV, ACCEPT, READ, POLL, SELECT, FUTEX, SLEEP, WAIT, CALLS };

/* A semaphore outlives its process. */
static int semaphore = -1;
static void remove_semaphore(void) { semctl(semaphore, 0, IPC_RMID); }

static int call(int which) {
    static __thread int made, ends[2];
    static int word;
    char byte[16];
    struct timespec hour = {.tv_sec = 3600};
    struct timeval limit = {.tv_sec = 3600};
    if (!made++) {
        if (which == EPOLL) ends[0] = epoll_create1(0);
        if (which == RECV && socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
        if (which == ACCEPT && ((ends[0] = socket(AF_INET, SOCK_STREAM, 0)) < 0 || listen(ends[0], 1))) abort();
        if (which == RECV || which == ACCEPT) setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if ((which == READ || which == POLL || which == SELECT) && pipe(ends)) abort();
        if (which == WAIT && !(ends[0] = fork()))
            for (;;) pause();
    }
    struct epoll_event event;
    struct sembuf down = {.sem_op = -1};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    switch (which) {
    case EPOLL: return epoll_wait(ends[0], &event, 1, -1);
    case SIGNAL: return sigtimedwait(&set, NULL, &hour);
    case SEMAPHORE: return semtimedop(semaphore, &down, 1, &hour);
    case RECV: return recv(ends[0], byte, sizeof byte, 0);
    case ACCEPT: return accept(ends[0], NULL, NULL);
    case READ: return read(ends[0], byte, sizeof byte);
    case POLL: return poll(&one, 1, 3600 * 1000);
    case SELECT: return select(ends[0] + 1, &readable, NULL, NULL, &limit);
    case FUTEX: return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &hour, NULL, 0);
    case SLEEP: return nanosleep(&hour, NULL);
    default: return waitpid(ends[0], NULL, __WALL);
    }
}

static void *calls_one(void *which) {
    for (;;) {
        int result = call((int)(size_t)which);
        if (result == -1 && errno == EINTR)
            interrupted[(size_t)which]++;
        else
            interrupted[(size_t)which] = -1000000; /* it must not return in any other way */
    }
    return NULL;
}

static void calls(void) {
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    atexit(remove_semaphore);
    for (size_t i = 0; i < CALLS; i++) start(calls_one, (void *)i);
    say("ready");
    wait_line();
    for (int i = 0; i < CALLS; i++) printf("%s=%d ", names[i], (int)interrupted[i]);
    printf("\n");
    remove_semaphore(); /* before `done`, after which the test may kill us */
    say("done");
}

/* births: threads and processes that come and go, until a line comes. */
static atomic_int over;

static void *born(void *number) { return number; }

static void *bear(void *seed) {
    size_t number = (size_t)seed;
    while (!over) {
        pthread_t thread;
        void *back;
        if (pthread_create(&thread, NULL, born, (void *)++number)) abort();
        if (pthread_join(thread, &back) || back != (void *)number) abort();
        counters[(size_t)seed]++;
    }
    return NULL;
}

static void births(void) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, bear, (void *)i);
    say("ready");
    struct pollfd input = {.fd = 0, .events = POLLIN};
    long children = 0;
    int got;
    while ((got = poll(&input, 1, 0)) == 0 || (got == -1 && errno == EINTR)) {
        pid_t child = children % 2 ? vfork() : fork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 7", NULL);
            _exit(1);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
        children++;
    }
    over = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", children, counters[0] + counters[1] + counters[2] + counters[3]);
    say("done");
}

/* becomes N: becomes itself N times over, from a thread that is not the first, with others beside it. */
static char **arguments;

static void *becomes(void *rounds) {
    char left[16];
    snprintf(left, sizeof left, "%d", (int)(size_t)rounds - 1);
    usleep(1000);
    execl("/proc/self/exe", arguments[0], "becomes", left, NULL);
    abort();
}

static void becoming(int rounds) {
    if (rounds == 0) {
        say("done");
        return;
    }
    for (int i = 0; i < 8; i++) start(rest, NULL);
    start(becomes, (void *)(size_t)rounds);
    for (;;) pause();
}

/* asleep: a thread that no signal wakes, because a child of its borrows its memory; until that one is killed. */
static void asleep(void) {
    printf("%lu\n", (unsigned long)counters);
    say("ready");
    start(count, (void *)0);
    if (vfork() == 0) {
        pause();
        _exit(0);
    }
    pause();
}

/* sums: work on several threads, whose result is known to another run. */
static long sums[4];

static void *sums_up(void *slot) {
    unsigned long value = (size_t)slot + 1;
    for (long i = 0; i < 60000000; i++) value = value * 6364136223846793005ul + 1442695040888963407ul;
    sums[(size_t)slot] = (long)value;
    return NULL;
}

static void summing(void) {
    pthread_t threads[4];
    say("ready");
    for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, sums_up, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3]);
    say("done");
}

/* moments N: one thread writes the same number into one word after the other, then the next number; when a line comes
   the program maps another piece of memory and fills it. */
enum { STRIDE = 4096 / sizeof(long) };
static volatile long *words;

static void *writes(void *number) {
    for (long round = 1;; round++)
        for (size_t i = 0; i < (size_t)number; i++) words[i * STRIDE] = round;
    return NULL;
}

static volatile long *room(size_t bytes) {
    volatile long *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) abort();
    return room;
}

static void moments(int number) {
    words = room((size_t)number * 4096);
    start(writes, (void *)(size_t)number);
    while (!words[(number - 1) * STRIDE]) usleep(100);
    printf("%lu\n", (unsigned long)words);
    say("ready");
    wait_line();
    volatile long *later = room(1 << 20);
    for (int i = 0; i < (1 << 20) / 8; i++) later[i] = 42;
    printf("%lu\n", (unsigned long)later);
    say("grown");
    pause();
}

int main(int count, char **argv) {
    arguments = argv;
    const char *which = count > 1 ? argv[1] : "";
    int number = count > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(which, "counters")) counting(number);
    else if (!strcmp(which, "first")) first();
    else if (!strcmp(which, "signals")) signals();
    else if (!strcmp(which, "calls")) calls();
    else if (!strcmp(which, "births")) births();
    else if (!strcmp(which, "becomes")) becoming(number);
    else if (!strcmp(which, "asleep")) asleep();
    else if (!strcmp(which, "sums")) summing();
    else if (!strcmp(which, "moments")) moments(number);
    else return 2;
    return 0;
}

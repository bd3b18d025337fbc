// What of libcuda.so.1 matters when processes are taken off a GPU, without a GPU: contexts, one
// allocation for each process, and the functions that lock, checkpoint, restore and unlock a
// process by its PID.
//
// The folder SEER_FAKE_GPU (or FOLDER) has PID.state of each process with CUDA, and what a
// test says: fail-OPERATION has a CUresult to return, fail-OPERATION-once is removed by that,
// hold-OPERATION and hold-OPERATION-after keep the caller, whose PID is in held-OPERATION, until the
// file is removed. only-here lets nothing be restored in a copy of the sandbox.
// The folder SEER_FAKE_GPU_MEMORY (or MEMORY) has what lies on the GPU: PID.memory.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef FOLDER
#define FOLDER "/tmp/fakegpu"
#endif
#ifndef MEMORY
#define MEMORY FOLDER
#endif

enum { SUCCESS = 0, INVALID = 1, FULL = 2, UNINITIALIZED = 3, ILLEGAL = 401, NOT_READY = 600 };
enum { RUNNING = 0, LOCKED = 1, CHECKPOINTED = 2, FAILED = 3 };

static char *at(char *to, int memory, const char *format, ...) {
	const char *folder = getenv(memory ? "SEER_FAKE_GPU_MEMORY" : "SEER_FAKE_GPU");
	if (!folder) folder = memory ? MEMORY : FOLDER;
	mkdir(folder, 0777);
	int n = snprintf(to, 4096, "%s/", folder);
	va_list args;
	va_start(args, format);
	vsnprintf(to + n, 4096 - n, format, args);
	va_end(args);
	return to;
}

static int number(const char *path, int otherwise) {
	FILE *f = fopen(path, "r");
	if (!f) return otherwise;
	int n = otherwise;
	if (fscanf(f, "%d", &n) != 1) n = otherwise;
	fclose(f);
	return n;
}

static void put(const char *path, int n) {
	char part[4200];
	snprintf(part, sizeof part, "%s.%d", path, (int)syscall(SYS_gettid));
	FILE *f = fopen(part, "w");
	if (!f) return;
	fprintf(f, "%d\n", n);
	fclose(f);
	rename(part, path);
}

static int exists(const char *path) { return access(path, F_OK) == 0; }
static void pause_a_little(void) { usleep(2000); }

static int state_of(int pid) {
	char path[4096];
	return kill(pid, 0) && errno == ESRCH ? -1 : number(at(path, 0, "%d.state", pid), -1);
}

static void set_state(int pid, int state) {
	char path[4096];
	put(at(path, 0, "%d.state", pid), state);
}

// The side of the process: its memory on the GPU, and a thread that moves it.

static char *host;
static long size;

static void *mover(void *unused) {
	char request[4096], memory[4096];
	int me = getpid();
	at(request, 0, "%d.move", me);
	at(memory, 1, "%d.memory", me);
	for (;; pause_a_little()) {
		int to = number(request, -1);
		if (to == CHECKPOINTED) {
			FILE *f = fopen(memory, "r");
			host = malloc(size + 1);
			if (f) {
				if (fread(host, 1, size, f) != (size_t)size) set_state(me, FAILED);
				fclose(f);
			}
			unlink(memory);
		} else if (to == LOCKED) {
			FILE *f = fopen(at(memory, 1, "%d.memory", me), "w");
			fwrite(host, 1, size, f);
			fclose(f);
			free(host);
		} else {
			continue;
		}
		set_state(me, to);
		unlink(request);
	}
	return unused;
}

static void wait_until_running(void) {
	while (state_of(getpid()) != RUNNING) pause_a_little();
}

int cuInit(unsigned flags) {
	pthread_t thread;
	set_state(getpid(), RUNNING);
	return flags || pthread_create(&thread, NULL, mover, NULL) ? INVALID : SUCCESS;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device) {
	char path[4096];
	(void)flags, (void)device;
	put(at(path, 1, "here"), 1);
	*context = &host;
	return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
	char path[4096];
	wait_until_running();
	size = bytes;
	FILE *f = fopen(at(path, 1, "%d.memory", getpid()), "w");
	if (!f || ftruncate(fileno(f), bytes)) return FULL;
	fclose(f);
	*pointer = 0;
	return SUCCESS;
}

static int copy(void *data, size_t bytes, uint64_t pointer, int in) {
	char path[4096];
	wait_until_running();
	FILE *f = fopen(at(path, 1, "%d.memory", getpid()), "r+");
	if (!f) return INVALID;
	fseek(f, pointer, SEEK_SET);
	size_t n = in ? fwrite(data, 1, bytes, f) : fread(data, 1, bytes, f);
	fclose(f);
	return n == bytes ? SUCCESS : INVALID;
}

int cuMemcpyHtoD_v2(uint64_t to, void *from, size_t bytes) { return copy(from, bytes, to, 1); }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return copy(to, bytes, from, 0); }

int cuGetErrorString(int result, const char **text) {
	static char said[64];
	snprintf(said, sizeof said, "the stand-in says %d", result);
	*text = said;
	return SUCCESS;
}

// The side of whoever takes a process off the GPU.

static void hold(const char *operation, const char *when) {
	char path[4096], held[4096];
	at(path, 0, "hold-%s%s", operation, when);
	if (!exists(path)) return;
	put(at(held, 0, "held-%s", operation), getpid());
	while (exists(path)) pause_a_little();
}

static int injected(const char *operation) {
	char path[4096];
	int result = number(at(path, 0, "fail-%s-once", operation), -1);
	if (result >= 0) {
		unlink(path);
		return result;
	}
	return number(at(path, 0, "fail-%s", operation), -1);
}

static int change(const char *operation, int pid, int from, int to, int moves) {
	char request[4096];
	hold(operation, "");
	int result = injected(operation);
	if (result >= 0) return result;
	int state = state_of(pid);
	if (state < 0) return INVALID;
	if (state != from) return ILLEGAL;
	if (moves) {
		put(at(request, 0, "%d.move", pid), to);
		while (state_of(pid) == from) pause_a_little();
	} else {
		set_state(pid, to);
	}
	hold(operation, "-after");
	return SUCCESS;
}

int cuCheckpointProcessGetState(int pid, int *state) {
	hold("state", "");
	int result = injected("state");
	if (result >= 0) return result;
	*state = state_of(pid);
	return *state < 0 ? UNINITIALIZED : SUCCESS;
}

int cuCheckpointProcessLock(int pid, uint32_t *args) {
	if (!args || !args[0]) return INVALID; // without a limit
	return change("lock", pid, RUNNING, LOCKED, 0);
}

int cuCheckpointProcessCheckpoint(int pid, void *args) { (void)args; return change("checkpoint", pid, LOCKED, CHECKPOINTED, 1); }

int cuCheckpointProcessRestore(int pid, void *args) {
	char path[4096], here[4096];
	(void)args;
	if (exists(at(path, 0, "only-here")) && !exists(at(here, 1, "here"))) return FULL;
	return change("restore", pid, CHECKPOINTED, LOCKED, 1);
}

int cuCheckpointProcessUnlock(int pid, void *args) { (void)args; return change("unlock", pid, LOCKED, RUNNING, 0); }

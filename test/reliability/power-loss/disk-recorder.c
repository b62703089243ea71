// Records, in one order, what a process does to the files below RECORD_FOLDER: writes, truncations,
// removals, and where each sync begins and ends. Preloaded; the record goes to RECORD_FILE.
// A record is: kind, length of the path, length of the data, offset, then path and data.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;

static void note(char kind, const char *path, const void *data, uint32_t size, int64_t offset) {
  char head[32] = {kind};
  uint32_t length = (uint32_t)strlen(path);
  memcpy(head + 4, &length, 4);
  memcpy(head + 8, &size, 4);
  memcpy(head + 16, &offset, 8);
  if (record < 0)
    record = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD_FILE"),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  syscall(SYS_write, record, head, sizeof head);
  syscall(SYS_write, record, path, length);
  if (size > 0) syscall(SYS_write, record, data, size);
}

// The path of a descriptor when it is one to record, else NULL.
static const char *recorded(int descriptor, char *path, size_t size) {
  const char *folder = getenv("RECORD_FOLDER");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, size - 1);
  if (!folder || length <= 0) return NULL;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0 ? path : NULL;
}

// What the runtime writes by system calls of its own comes by none of the functions below, so the
// file RECORD_LOOKED_AT is looked at before each operation.
static void look(void) {
  static char known[512];
  static ssize_t length = 0;
  char now[sizeof known];
  const char *path = getenv("RECORD_LOOKED_AT");
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t size = syscall(SYS_read, file, now, sizeof now);
  syscall(SYS_close, file);
  if (size <= 0 || (size == length && memcmp(now, known, (size_t)size) == 0)) return;
  note('w', path, now, (uint32_t)size, 0);
  memcpy(known, now, (size_t)size);
  length = size;
}

// Runs the call inside the lock, so that the record has the order in which things happened.
#define RECORDED(descriptor, kind, data, size, offset, call)                   \
  char path[4096];                                                             \
  if (!recorded(descriptor, path, sizeof path)) return call;                   \
  pthread_mutex_lock(&order);                                                  \
  look();                                                                      \
  ssize_t result = call;                                                       \
  if (result >= 0) note(kind, path, data, size, offset);                       \
  pthread_mutex_unlock(&order);                                                \
  return result

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  RECORDED(fd, 'w', data, (uint32_t)result, offset, REAL(pwrite)(fd, data, size, offset));
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  RECORDED(fd, 'w', data, (uint32_t)result, offset, REAL(pwrite64)(fd, data, size, offset));
}
ssize_t write(int fd, const void *data, size_t size) {
  RECORDED(fd, 'w', data, (uint32_t)result, -1, REAL(write)(fd, data, size));
}
int ftruncate(int fd, off_t size) {
  RECORDED(fd, 't', NULL, 0, size, REAL(ftruncate)(fd, size));
}
int ftruncate64(int fd, off64_t size) {
  RECORDED(fd, 't', NULL, 0, size, REAL(ftruncate64)(fd, size));
}
int unlink(const char *path) {
  pthread_mutex_lock(&order);
  int result = REAL(unlink)(path);
  if (result == 0) note('u', path, NULL, 0, 0);
  pthread_mutex_unlock(&order);
  return result;
}

// A sync vouches for what was written before it began, once it has ended.
static int synced(int fd, int (*sync)(int)) {
  char path[4096];
  if (!recorded(fd, path, sizeof path)) return sync(fd);
  pthread_mutex_lock(&order);
  look();
  note('b', path, NULL, 0, fd);
  pthread_mutex_unlock(&order);
  int result = sync(fd);
  pthread_mutex_lock(&order);
  if (result == 0) note('e', path, NULL, 0, fd);
  pthread_mutex_unlock(&order);
  return result;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

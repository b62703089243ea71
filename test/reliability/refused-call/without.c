// Runs a program to which a disk always answers with an error: `without write EDQUOT program …`,
// where its writes fail that say a place, or `without read EIO …`, where its large reads do.
// The kernel refuses them (seccomp), by whichever library or system call of its own they come.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define MEGABYTE (1 << 20)
#define LOOK_AT(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define GO_ON_IF(value, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise)

int main(int count, char **words) {
  if (count < 4) return 2;
  unsigned code = strcmp(words[2], "EDQUOT") == 0   ? EDQUOT
                  : strcmp(words[2], "ENOSPC") == 0 ? ENOSPC
                                                    : EIO;
  struct sock_filter write[] = {
      LOOK_AT(nr),
      GO_ON_IF(SYS_pwrite64, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  // Programs are loaded by the same calls, but not in pieces as large as a database's or a file's.
  struct sock_filter read[] = {
      LOOK_AT(nr),
      GO_ON_IF(SYS_pread64, 2),
      LOOK_AT(args[2]),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAGE, 3, 4),
      GO_ON_IF(SYS_read, 3),
      LOOK_AT(args[2]),
      GO_ON_IF(MEGABYTE, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = strcmp(words[1], "read") == 0
                                 ? (struct sock_fprog){sizeof read / sizeof *read, read}
                                 : (struct sock_fprog){sizeof write / sizeof *write, write};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
    return 3;
  execv(words[3], words + 3);
  return 4;
}

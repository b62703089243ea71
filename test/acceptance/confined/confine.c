// Runs a program under the system-call filter that systemd makes of a unit:
// confine PROGRAM ARGUMENTS... `calls.h` has the numbers of the calls that are allowed.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const int allowed[] = {
#include "calls.h"
};
/* RestrictAddressFamilies */
static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define LOAD(field) \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define WHERE(value, then, other) \
  (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, other)
#define ANSWER(value) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)

int main(int count, char **words) {
  if (count < 2) return 2;
  struct sock_filter filter[32 + 2 * COUNT(allowed) + 2 * COUNT(families)];
  unsigned short at = 0;
  filter[at++] = LOAD(arch);
  filter[at++] = WHERE(ARCHITECTURE, 1, 0);
  filter[at++] = REFUSE(EPERM);
  filter[at++] = LOAD(nr);
  /* RestrictNamespaces: what this one is asked for stands where no filter can look. */
  filter[at++] = WHERE(SYS_clone3, 0, 1);
  filter[at++] = REFUSE(ENOSYS);
  filter[at++] = WHERE(SYS_socket, 0, 2 + 2 * COUNT(families));
  filter[at++] = LOAD(args[0]);
  for (unsigned each = 0; each < COUNT(families); each++) {
    filter[at++] = WHERE(families[each], 0, 1);
    filter[at++] = ALLOW;
  }
  filter[at++] = REFUSE(EAFNOSUPPORT);
  for (unsigned each = 0; each < COUNT(allowed); each++) {
    filter[at++] = WHERE(allowed[each], 0, 1);
    filter[at++] = ALLOW;
  }
  filter[at++] = REFUSE(EPERM);
  struct sock_fprog program = {.len = at, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    perror("confine");
    return 2;
  }
  execv(words[1], words + 1);
  perror(words[1]);
  return 2;
}

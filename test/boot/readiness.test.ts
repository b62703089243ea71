import { dlopen, ptr } from "bun:ffi"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { notify } from "../../src/boot/readiness.ts"

const isLinux = process.platform === "linux"

it.runIf(isLinux)(
  "notifies the service manager over its socket, by path or abstract name",
  async () => {
    const libc = dlopen("libc.so.6", {
      socket: { args: ["int", "int", "int"], returns: "int" },
      bind: { args: ["int", "ptr", "u32"], returns: "int" },
      recv: { args: ["int", "ptr", "u64", "int"], returns: "i64" },
      close: { args: ["int"], returns: "int" },
    }).symbols
    const folder = mkdtempSync(join(tmpdir(), "latchkey-notify-"))
    const path = join(folder, "notify.sock")
    const names = [
      { socket: path, bytes: `\x01\0${path}\0` },
      { socket: `@latchkey-${process.pid}`, bytes: `\x01\0\0latchkey-${process.pid}` },
    ]
    for (const { socket, bytes } of names) {
      const descriptor = libc.socket(1, 2, 0)
      const address = Buffer.from(bytes)
      expect(libc.bind(descriptor, ptr(address), address.length)).toBe(0)
      await notify(socket, "READY=1")
      const received = Buffer.alloc(64)
      const dontWait = 0x40
      const size = libc.recv(descriptor, ptr(received), 64n, dontWait)
      expect(received.subarray(0, Number(size)).toString()).toBe("READY=1")
      libc.close(descriptor)
    }
    rmSync(folder, { recursive: true })
  },
)

it.runIf(isLinux)("reports a missing socket of the manager", async () => {
  await expect(notify("/nowhere/notify.sock", "READY=1")).rejects.toThrow(/NOTIFY_SOCKET=\/nowhere/)
})

it("does nothing without a notify socket", async () => {
  await notify(undefined, "READY=1")
})

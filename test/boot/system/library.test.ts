import { expect, test } from "vitest"
import { systemLibraryPath } from "../../../src/boot/system/library.ts"

test("loads glibc by its name and musl by its file", () => {
  const map = (path: string) =>
    `7f00-7f01 r-xp 00000000 fe:00 53   ${path}\n7f02-7f03 rw-p 0 00:00 0\n`
  expect(systemLibraryPath(map("/usr/lib/x86_64-linux-gnu/libc.so.6"))).toBe("libc.so.6")
  expect(systemLibraryPath(map("/lib/ld-musl-x86_64.so.1"))).toBe("/lib/ld-musl-x86_64.so.1")
  expect(systemLibraryPath(map("/lib/libc.musl-aarch64.so.1"))).toBe("/lib/libc.musl-aarch64.so.1")
  expect(systemLibraryPath("")).toBe("libc.so.6")
})

import { spawn } from "node:child_process"
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { binary, freePort, owner, temporaryFolder } from "../support/latchkey.ts"

const folder = temporaryFolder()
const place = join(folder.path, "place")
const program = join(place, "latchkey")
/** A user without rights, where the test may choose one. */
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

beforeAll(() => {
  mkdirSync(place)
  copyFileSync(binary, program)
  chmodSync(program, 0o555)
  chmodSync(place, 0o555)
  chmodSync(folder.path, 0o755)
})
afterAll(() => {
  chmodSync(place, 0o755)
  folder.remove()
})

function home(name: string): string {
  const path = join(folder.path, name)
  mkdirSync(path, { mode: 0o700 })
  if (nobody.uid) chownSync(path, nobody.uid, nobody.gid)
  return path
}

/** Starts on an empty folder and answers how long it took until /healthz said yes. */
async function readyMs(data: string, env: Record<string, string>): Promise<number> {
  const port = await freePort()
  const args = ["serve", "--data", data, "--listen", `127.0.0.1:${port}`]
  const started = performance.now()
  const child = spawn(program, [...args, "--grpc-listen", "127.0.0.1:0"], {
    ...{ env, cwd: "/", stdio: "ignore" as const },
    ...nobody,
  })
  const ended = new Promise((done) => child.once("exit", done))
  try {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
      if (answer?.ok) return performance.now() - started
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
      await new Promise((done) => setTimeout(done, 2))
    }
  } finally {
    child.kill()
    await ended
  }
}

test("from a read-only place, as nobody, it is ready in 500 ms at first (R-32)", async () => {
  expect(await readyMs(home("plain"), {})).toBeLessThan(500)
})

test.each([
  ["Pacific/Kiritimati", "tr_TR.UTF-8"],
  ["America/St_Johns", "ja_JP.eucJP"],
])("so it is in %s with %s, and the second time (R-32)", async (zone, locale) => {
  const data = home(locale)
  const env = { TZ: zone, LC_ALL: locale, LANG: locale }
  expect(await readyMs(data, env)).toBeLessThan(500)
  expect(await readyMs(data, env)).toBeLessThan(500)
})

test("set-up keeps letters right in a locale that folds them otherwise (R-32)", async () => {
  const data = home("turkish")
  const password = join(data, "password")
  writeFileSync(password, `${owner.password}\n`)
  if (nobody.uid) chownSync(password, nobody.uid, nobody.gid)
  const args = [
    ...["setup", "--data", join(data, "d"), "--public-url", "http://localhost:1", "--org", "İı"],
    ...["--owner", "INGRID@EXAMPLE.COM", "--owner-email", "INGRID@EXAMPLE.COM"],
    ...["--owner-password-file", password],
  ]
  const env = { LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8" }
  const child = spawn(program, args, { env, cwd: "/", stdio: "ignore", ...nobody })
  expect(await new Promise((done) => child.once("exit", done))).toBe(0)
})

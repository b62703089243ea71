// The service works within the restrictions of the systemd unit and of the container.
import { execFileSync } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { apiScope, freePort, serviceToken } from "../support/latchkey.ts"
import { pngOf } from "../support/picture.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"
import {
  allowedCalls,
  containerCommand,
  directive,
  home,
  prepareContainer,
  prepareUnit,
  stateFolder,
  unitCommand,
  userId,
} from "./confined/sandbox.ts"

const password = "Correct-horse-9"

/** Mount namespaces require root, as the check has. */
const canMount = (() => {
  try {
    execFileSync("unshare", ["--mount", "mount", "--make-rprivate", "/"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

type Sandbox = {
  readonly command: (words: readonly string[]) => readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** The exit code and output of a command in the sandbox. */
async function runIn({ command, env }: Sandbox, ...words: readonly string[]) {
  const child = Bun.spawn([...command(words)], { env, stdout: "pipe", stderr: "pipe" })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, output: out + err }
}

/** Runs the server in the sandbox during `work`; returns its output. */
async function serveIn(room: Sandbox, url: string, work: (pid: number) => Promise<void>) {
  const child = Bun.spawn([...room.command(["serve"])], {
    env: room.env,
    stdout: "pipe",
    stderr: "pipe",
  })
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  try {
    const isAnswered = async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok
    await until(async () => child.exitCode !== null || (await isAnswered()), { limitMs: 60_000 })
    if (child.exitCode !== null) throw new Error((await output).join(""))
    await work(child.pid)
  } finally {
    child.kill("SIGTERM")
  }
  expect(await child.exited).toBe(0)
  return (await output).join("")
}

const statusOf = (pid: number) => readFileSync(`/proc/${pid}/status`, "utf8")

/** Signs in through the pages, which uses hashing, the store and their threads. */
async function signIn(url: string): Promise<void> {
  const { openHttpBrowser } = await import("../support/http-browser.ts")
  const browser = openHttpBrowser()
  const loginName = "ada"
  const named = await browser.post(await browser.get(`${url}/ui/login`), { loginName })
  const end = await browser.post(named, { loginName, password })
  expect(end.text).not.toContain('type="password"')
}

/** Uploads a logo, which a separate process decodes. */
async function uploadLogo(url: string, keyFile: string): Promise<void> {
  const token = await serviceToken(url, JSON.parse(readFileSync(keyFile, "utf8")), apiScope)
  const body = new FormData()
  body.append("file", new Blob([new Uint8Array(pngOf({ width: 64, height: 64 }))]))
  const answer = await fetch(`${url}/assets/v1/instance/policy/label/logo`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body,
  })
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.anything()])
}

const setup = (data: string, url: string) => [
  "setup",
  "--public-url",
  url,
  "--org",
  "Acme",
  "--owner",
  "ada",
  "--owner-email",
  "ada@example.com",
  "--owner-password-file",
  join(data, "password"),
  "--service-key-file",
  join(data, "key.json"),
]

const canConfine = canMount && needs("gcc") && needs("systemd")

describe.runIf(canConfine)("in the sandbox of the systemd unit", () => {
  const state = stateFolder()
  const data = join(state, "data")
  let url = ""
  let room: Sandbox
  beforeAll(async () => {
    prepareUnit(state)
    // Below 1024: binding privileged ports is the only capability that the unit keeps.
    const port = 600 + Math.floor(Math.random() * 300)
    url = `http://localhost:${port}`
    writeFileSync(join(data, "password"), password)
    execFileSync("chown", ["-R", `${userId}:${userId}`, data])
    room = {
      command: (words) => unitCommand(state, [join(state, "latchkey"), ...words]),
      env: {
        PATH: process.env.PATH ?? "",
        LATCHKEY_DATA: data,
        LATCHKEY_LISTEN: `127.0.0.1:${port}`,
        LATCHKEY_GRPC_LISTEN: `127.0.0.1:${await freePort()}`,
      },
    }
  })
  afterAll(() => rmSync(state, { recursive: true, force: true }))

  test("it sets up, serves, signs users in, backs up and stops", async () => {
    expect(await runIn(room, ...setup(data, url))).toMatchObject({ code: 0 })
    const output = await serveIn(room, url, async (pid) => {
      const status = statusOf(pid)
      expect(status).toMatch(/^Seccomp:\t2$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).toMatch(new RegExp(`^Uid:\\t${userId}\\t`, "m"))
      // CAP_NET_BIND_SERVICE, bit 10, and no other.
      expect(status).toMatch(/^CapBnd:\t0000000000000400$/m)
      await signIn(url)
      await uploadLogo(url, join(data, "key.json"))
      expect(await runIn(room, "health")).toMatchObject({ code: 0 })
      const saved = await runIn(room, "backup", join(data, "saved"))
      expect(saved).toMatchObject({ code: 0 })
      expect(await runIn(room, "restore", join(data, "saved"), "--drill")).toMatchObject({
        code: 0,
      })
    })
    expect(output).not.toMatch(/internal error|ERR|FTL/)
  })

  test("a filter that forbids lowering privileges has no effect either", async () => {
    const stricter = stateFolder()
    prepareUnit(
      stricter,
      allowedCalls().filter((name) => name !== "setpriority"),
    )
    const command = (words: readonly string[]) =>
      unitCommand(stricter, [join(stricter, "latchkey"), ...words])
    const there = join(stricter, "data")
    execFileSync("cp", ["-a", data, stricter])
    const saved = ["backup", join(there, "stricter"), "--data", there]
    expect(await runIn({ ...room, command }, ...saved)).toMatchObject({ code: 0 })
    rmSync(stricter, { recursive: true })
  })

  test("everything else is denied, such as writes outside its directory", async () => {
    const elsewhere = await runIn(room, "backup", "/var/lib/latchkey-elsewhere")
    expect(elsewhere.code).toBe(1)
    expect(elsewhere.output).toMatch(/read-only|permission denied/)
    expect(directive("User")).toEqual(["latchkey"])
  })
})

describe.runIf(canMount)("in the sandbox of the container", () => {
  const rootfs = stateFolder()
  const data = join(rootfs, home, "latchkey")
  let url = ""
  let room: Sandbox
  beforeAll(async () => {
    prepareContainer(rootfs)
    const file = join(rootfs, home, "password")
    writeFileSync(file, password)
    execFileSync("chown", [`${userId}:${userId}`, file])
    const port = await freePort()
    url = `http://localhost:${port}`
    room = {
      command: (words) => containerCommand(rootfs, words),
      env: {
        PATH: process.env.PATH ?? "",
        LATCHKEY_DATA: join(home, "latchkey"),
        LATCHKEY_LISTEN: `127.0.0.1:${port}`,
        LATCHKEY_GRPC_LISTEN: `127.0.0.1:${await freePort()}`,
        LATCHKEY_LOG_FORMAT: "json",
      },
    }
  })
  afterAll(() => rmSync(rootfs, { recursive: true, force: true }))

  test("it sets up, serves, passes its health check, and stops", async () => {
    expect(await runIn(room, ...setup(home, url))).toMatchObject({ code: 0 })
    const [, check = ""] =
      /^HEALTHCHECK .*CMD \["\/usr\/bin\/latchkey", "(\w+)"\]$/m.exec(
        readFileSync(join(import.meta.dirname, "../../packaging/Containerfile"), "utf8"),
      ) ?? []
    const output = await serveIn(room, url, async (pid) => {
      expect(statusOf(pid)).toMatch(new RegExp(`^Uid:\\t${userId}\\t`, "m"))
      expect(statusOf(pid)).toMatch(/^CapEff:\t0{16}$/m)
      await signIn(url)
      await uploadLogo(url, join(rootfs, home, "key.json"))
      expect(await runIn(room, check)).toMatchObject({ code: 0 })
      expect((await runIn(room, "backup", "/usr/saved")).output).toMatch(/read-only/)
    })
    expect(output).not.toMatch(/internal error|"level":"(ERROR|FATAL)"/)
    expect((await runIn(room, check)).code).not.toBe(0)
    expect(readFileSync(join(data, "latchkey.db")).length).toBeGreaterThan(0)
  })
})

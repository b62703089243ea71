// A clock that jumps forward and back, while the server runs and while it is stopped.
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  run,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const daySeconds = 86_400
const yearSeconds = 365.25 * daySeconds

describe.runIf(needs("gcc"))("a clock that jumps", () => {
  const folder = temporaryFolder()
  const at = join(folder.path, "shift")
  const library = join(folder.path, "shifted-clock.so")
  const data = join(folder.path, "data")
  const env = { LD_PRELOAD: library, SHIFTED_CLOCK: at }
  const jump = (seconds: number) => writeFileSync(at, `${Math.round(seconds)}`)
  let port: number
  let server: RunningServer
  let token: string
  let key: ServiceKey
  const made: string[] = []
  beforeAll(async () => {
    const source = join(import.meta.dirname, "clock/shifted-clock.c")
    execFileSync("gcc", ["-shared", "-fPIC", "-O1", "-Wall", "-o", library, source])
    jump(0)
    port = await freePort()
    key = await setUp(data, `http://localhost:${port}`)
    server = await startLatchkey({ data, port, env })
    token = await serviceToken(server.url, key)
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  const call = async (name: string, request: object) => {
    const answer = await fetch(`${server.url}/core.user.v2.UserService/${name}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(request),
    })
    return { status: answer.status, body: await answer.json() }
  }
  const create = async (username: string) => {
    const answer = await call("CreateUser", {
      organizationId: orgId,
      username,
      machine: { name: "R" },
    })
    expect(answer).toMatchObject({ status: 200 })
    made.push(answer.body.id)
  }
  const allThere = async () => {
    for (const userId of made) expect((await call("GetUserByID", { userId })).status).toBe(200)
  }
  /** Signs in by password, which writes a session, checks limits, and signs tokens. */
  const signIn = async () => {
    const browser = openHttpBrowser()
    const { loginName, password } = owner
    const named = await browser.post(await browser.get(`${server.url}/ui/login`), { loginName })
    const end = await browser.post(named, { loginName, password })
    expect(end.text).not.toContain('type="password"')
  }
  const isReady = async () => expect((await fetch(`${server.url}/debug/ready`)).status).toBe(200)
  const clockOf = async () => {
    const child = Bun.spawn(
      [join(import.meta.dirname, "../../dist/latchkey"), "doctor", "--data", data, "--json"],
      { env, stdout: "pipe", stderr: "ignore" },
    )
    const { findings } = JSON.parse(await new Response(child.stdout).text())
    return findings.filter(({ check }: { check: string }) => check === "clock")
  }
  let orgId = ""

  test("a day forward and back: sign-ins work, and written data is kept", async () => {
    const listed = await call("ListUsers", {})
    orgId = listed.body.result[0].details.resourceOwner
    await create("before")
    jump(daySeconds)
    await isReady()
    await signIn()
    jump(0)
    await isReady()
    await create("after-a-day")
    await signIn()
    await allThere()
    expect(JSON.stringify(await clockOf())).toMatch(/warning|wrong/)
  })

  test("ten years, across a restart: tokens expire, users sign in, nothing is lost", async () => {
    jump(10 * yearSeconds)
    expect((await call("ListUsers", {})).status).toBe(401)
    await signIn()
    await server.stop()
    server = await startLatchkey({ data, port, env })
    await isReady()
    await signIn()
    await server.stop("SIGKILL")
    jump(0)
    server = await startLatchkey({ data, port, env })
    await isReady()
    await signIn()
    token = await serviceToken(server.url, key)
    await allThere()
    expect(server.output()).not.toMatch(/internal error/)
    expect(JSON.stringify(await clockOf())).toMatch(/warning|wrong/)
    const exported = await run(["backup", join(folder.path, "saved"), "--data", data])
    expect(exported).toMatchObject({ code: 0 })
    const drill = ["restore", join(folder.path, "saved"), "--drill", "--data", data]
    expect(await run(drill)).toMatchObject({ code: 0 })
  })
})

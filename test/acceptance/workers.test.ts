import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openClient } from "../reliability/server-folder.ts"
import {
  freePort,
  type RunningServer,
  run,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import {
  assertionForm,
  type Client,
  call,
  createSingleUseAssertion,
  exchangeAssertion,
  sendWrite,
} from "../support/load.ts"
import { type Families, openFamilies } from "../support/token-family.ts"
import { pause, until } from "../support/wait.ts"

// Two processes share one port, and the kernel chooses between them for each connection. Checks
// that apply to both therefore use many connections.
const connections = 16
const folder = temporaryFolder()
const data = `${folder.path}/data`
let port: number
let metricsPort: number
let server: RunningServer
let client: Client
let families: Families

const serve = (...more: readonly string[]) => {
  const metrics = ["--metrics-listen", `127.0.0.1:${metricsPort}`]
  return startLatchkey({
    data,
    port,
    args: ["--workers", "2", "--limits", "off", ...metrics, ...more],
  })
}

beforeAll(async () => {
  port = await freePort()
  metricsPort = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  server = await serve()
  client = await openClient(server.url, key)
  families = await openFamilies(client)
})
afterAll(async () => {
  await server.stop("SIGKILL")
  folder.remove()
})

/** Uses a new connection, like another client. */
const fetchOnNewConnection = (path: string, init: RequestInit = {}) =>
  fetch(`${server.url}${path}`, {
    ...init,
    keepalive: false,
    headers: { ...init.headers, connection: "close" },
  })
const onManyConnections = <T>(work: () => Promise<T>) =>
  Promise.all(Array.from({ length: connections }, work))

const callOnNewConnection = async (name: string, request: object) => {
  const answer = await fetchOnNewConnection(`/core.user.v2.UserService/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${client.token}`, "content-type": "application/json" },
    body: JSON.stringify(request),
  })
  return { status: answer.status, body: await answer.json() }
}
const getUser = (id: string) => callOnNewConnection("GetUserByID", { userId: id })
const performWrite = async (deed: Parameters<typeof sendWrite>[1]) => {
  const { status, body } = await sendWrite(client, deed)
  if (status !== 200) throw new Error(`${deed.kind} answered ${status}: ${JSON.stringify(body)}`)
}

describe("two workers", () => {
  test("return concurrent writes on every connection immediately", async () => {
    let users = 0
    const caller = async () => {
      for (let round = 0; round < 6; round++) {
        const id = `at-once-${users++}`
        await performWrite({ kind: "user", id, name: id })
        expect((await getUser(id)).status).toBe(200)
        for (const name of ["One", "Two"]) {
          await performWrite({ kind: "rename", id, name })
          expect((await getUser(id)).body.user.human.profile.givenName).toBe(name)
        }
      }
    }
    await Promise.all(Array.from({ length: 16 }, caller))
    const answered = await countAnsweredByWorker()
    expect([...answered.keys()].toSorted()).toEqual(["0", "1"])
    for (const count of answered.values()) expect(count).toBeGreaterThan(10)
  })

  test("accept a code once, of 20 concurrent uses", async () => {
    const code = await families.code()
    const answers = await Promise.all(Array.from({ length: 20 }, () => families.redeem(code)))
    const late = answers.filter(({ body }) =>
      /the code is invalid or has expired/.test(body.error_description),
    )
    expect(late).toHaveLength(19)
    const won = answers.find(({ status }) => status === 200)?.body.access_token
    const headers = { authorization: `Bearer ${won}` }
    for (let time = 0; time < 10; time++) {
      expect((await fetch(`${client.url}/oidc/v1/userinfo`, { headers })).status).toBe(200)
    }
  })

  test("accept an assertion once, of 20 concurrent uses", async () => {
    const assertion = await createSingleUseAssertion(client)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => exchangeAssertion(client, assertion)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test("accept a proof of possession once, of 20 concurrent uses", async () => {
    const proof = await createProof()
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const body = assertionForm(await createSingleUseAssertion(client))
        return fetchOnNewConnection("/oauth/v2/token", {
          method: "POST",
          headers: { dpop: proof },
          body,
        })
      }),
    )
    const bodies = await Promise.all(answers.map((answer) => answer.json()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(bodies.filter(({ error }) => error === "invalid_dpop_proof")).toHaveLength(19)
  })

  test("reject a user as soon as one worker has deactivated them", async () => {
    const userId = "robot"
    const robot = { organizationId: client.orgId, userId, username: userId }
    await call(client, "user.CreateUser", { ...robot, machine: { name: "Robot" } })
    const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
    const made = await call(client, "user.AddPersonalAccessToken", { userId, expirationDate })
    const headers = { authorization: `Bearer ${made.body.token}` }
    const told = async () => (await fetchOnNewConnection("/oidc/v1/userinfo", { headers })).status
    for (let round = 0; round < 4; round++) {
      expect(new Set(await onManyConnections(told))).toEqual(new Set([200]))
      expect((await call(client, "user.DeactivateUser", { userId })).status).toBe(200)
      expect(new Set(await onManyConnections(told))).toEqual(new Set([401]))
      expect((await call(client, "user.ReactivateUser", { userId })).status).toBe(200)
    }
  })

  test("return what was written while the WAL restarts, with many readers", async () => {
    const fields = Array.from({ length: 100 }, (_, at) => `field-${at}`)
    const begun = new Set([readWalId(data)])
    const writeAndRead = async (writer: number) => {
      const id = `anew-${writer}`
      await performWrite({ kind: "user", id, name: id })
      for (let round = 0; begun.size < 4; round++) {
        const value = Buffer.from(`${round}`).toString("base64")
        const metadata = fields.map((key) => ({ key, value }))
        const set = await call(client, "user.SetUserMetadata", { userId: id, metadata })
        expect(set.status).toBe(200)
        const shown = await callOnNewConnection("ListUserMetadata", { userId: id })
        const values = shown.body.metadata.map((each: { value: string }) => each.value)
        expect(new Set(values)).toEqual(new Set([value]))
        expect((await callOnNewConnection("ListUsers", {})).status).toBe(200)
        begun.add(readWalId(data))
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, writer) => writeAndRead(writer)))
  })

  test("reject a token as soon as one worker has revoked it", async () => {
    const app = await call(client, "application.CreateApplication", {
      projectId: families.projectId,
      name: "API",
      apiConfiguration: {},
    })
    const { clientId, clientSecret } = app.body.apiConfiguration
    const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString("base64")
    const headers = { authorization: `Basic ${credentials}` }
    const isActive = async (token: string) => {
      const body = new URLSearchParams({ token })
      const answer = await fetchOnNewConnection("/oauth/v2/introspect", {
        method: "POST",
        headers,
        body,
      })
      return (await answer.json()).active
    }
    for (let round = 0; round < 4; round++) {
      const { body } = await families.redeem(await families.code())
      const token = body.access_token
      expect(new Set(await onManyConnections(() => isActive(token)))).toEqual(new Set([true]))
      const revocation = { token: body.refresh_token, client_id: families.clientId }
      const revoked = await fetchOnNewConnection("/oauth/v2/revoke", {
        method: "POST",
        body: new URLSearchParams(revocation),
      })
      expect(revoked.status).toBe(200)
      expect(new Set(await onManyConnections(() => isActive(token)))).toEqual(new Set([false]))
    }
  })

  test("are restarted after one is killed, and nothing is lost", async () => {
    const acknowledged: string[] = []
    let isOver = false
    let users = 0
    const caller = async () => {
      while (!isOver) {
        const id = `killed-${users++}`
        // A client whose connection was closed gets no response, and can retry.
        const answer = await sendWrite(client, { kind: "user", id, name: id }).catch(
          () => undefined,
        )
        if (answer?.status === 200) acknowledged.push(id)
      }
    }
    const writing = Promise.all(Array.from({ length: 8 }, caller))
    const killed = workerOf(server)
    process.kill(killed, "SIGKILL")
    await expect.poll(() => workersOf(server).filter((id) => id !== killed)).toHaveLength(1)
    // The clients continue for a while with the new process.
    const before = acknowledged.length
    await until(() => acknowledged.length > before + 10)
    isOver = true
    await writing
    expect(acknowledged.length).toBeGreaterThan(10)
    await expectUsers(acknowledged)
    await expectReady()
  })

  test("are restarted after one hangs", async () => {
    await expectBoth()
    const hung = workerOf(server)
    process.kill(hung, "SIGSTOP")
    await expect.poll(() => existsSync(`/proc/${hung}`), { timeout: 90_000 }).toBe(false)
    await expect.poll(() => workersOf(server)).toHaveLength(1)
    await expectReady()
    expect(server.output()).toMatch(/worker 1 is stopped: .* failed: 'no response for 8 seconds'/)
  }, 240_000)

  test("stop with the writer, and have all data when it is back", async () => {
    const acknowledged: string[] = []
    let users = 0
    const caller = async () => {
      for (;;) {
        const id = `ended-${users++}`
        const answer = await sendWrite(client, { kind: "user", id, name: id }).catch(
          () => undefined,
        )
        if (answer?.status !== 200) return
        acknowledged.push(id)
        if (acknowledged.length === 50) process.kill(server.process.pid ?? 0, "SIGKILL")
      }
    }
    const worker = workerOf(server)
    await Promise.all(Array.from({ length: 8 }, caller))
    await expect.poll(() => existsSync(`/proc/${worker}`), { interval: 20 }).toBe(false)
    await expect(fetchOnNewConnection("/healthz")).rejects.toThrow()
    server = await serve()
    expect(acknowledged.length).toBeGreaterThanOrEqual(50)
    await expectReady()
    await expectUsers(acknowledged)
  })

  test("let no other process bind their port", async () => {
    const other = temporaryFolder()
    const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
    const { code, output } = await run(["serve", "--data", other.path, "--workers", "2", ...listen])
    other.remove()
    expect([code, output]).toEqual([1, expect.stringContaining(`127.0.0.1:${port}`)])
  })

  test("answer requests in flight when they are stopped", async () => {
    const worker = workerOf(server)
    const signing = families.signIn(fetch)
    await pause(60, "the stop must come in the middle of a sign-in")
    expect(await Promise.all([server.stop(), signing.then(() => "answered", String)])).toEqual([
      0,
      expect.stringMatching(/answered|connect|closed/i),
    ])
    expect(existsSync(`/proc/${worker}`)).toBe(false)
    expect(server.output()).not.toContain("[ERR]")
  })

  test("are not ready while they drain, and close every client connection", async () => {
    await server.stop()
    server = await serve("--drain-seconds", "4")
    await expect.poll(() => server.output(), { timeout: 60_000 }).toContain("ready in")
    const stopped = server.stop()
    const readiness = async () => (await fetchOnNewConnection("/debug/ready")).status
    await expect
      .poll(async () => new Set(await onManyConnections(readiness)))
      .toEqual(new Set([503]))
    const told = await onManyConnections(async () => {
      const answer = await fetch(`${server.url}/healthz`)
      return `${answer.status} ${answer.headers.get("connection")}`
    })
    expect(new Set(told)).toEqual(new Set(["200 close"]))
    expect(await stopped).toBe(0)
  })

  test("close their stores when they are stopped, even if one of them hangs", async () => {
    server = await serve()
    await expect.poll(() => server.output(), { timeout: 60_000 }).toContain("ready in")
    process.kill(workerOf(server), "SIGSTOP")
    expect(await server.stop()).toBe(0)
    // A clean close leaves no WAL for the next start to recover.
    const left = statSync(`${data}/latchkey.db-wal`, { throwIfNoEntry: false })
    expect(left?.size ?? 0).toBe(0)
  })
})

async function expectReady(): Promise<void> {
  const isReady = async () => (await fetchOnNewConnection("/debug/ready")).status
  await expect.poll(async () => new Set(await onManyConnections(isReady))).toEqual(new Set([200]))
}

/** Resolves when both workers answer; a worker that is starting receives no requests. */
async function expectBoth(): Promise<void> {
  const answered = async () => {
    await onManyConnections(() => getUser("at-once-0"))
    return [...(await countAnsweredByWorker()).keys()].toSorted()
  }
  await expect.poll(answered, { timeout: 60_000 }).toEqual(["0", "1"])
}

/** RFC 9449 §4.2: a proof for one request to the token endpoint. */
async function createProof(): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  return new SignJWT({ jti: "shown at once", htm: "POST", htu: `${server.url}/oauth/v2/token` })
    .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: await exportJWK(publicKey) })
    .setIssuedAt()
    .sign(privateKey)
}

/** The identity of the WAL: its salts change with each restart of the log. */
function readWalId(folder: string): string {
  const file = openSync(`${folder}/latchkey.db-wal`, "r")
  const salts = Buffer.alloc(8)
  readSync(file, salts, 0, salts.length, 16)
  closeSync(file)
  return salts.toString("hex")
}

async function expectUsers(ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += connections) {
    const some = ids.slice(at, at + connections)
    const found = await Promise.all(some.map(async (id) => (await getUser(id)).status))
    expect(new Set(found)).toEqual(new Set([200]))
  }
}

/** The number of requests that each worker has answered. */
async function countAnsweredByWorker(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const row = /^latchkey_http_request_duration_seconds_count\{.*worker="(\d+)".*\} (\d+)$/gm
  const counts = new Map<string, number>()
  for (const [, worker = "", count] of text.matchAll(row)) {
    counts.set(worker, (counts.get(worker) ?? 0) + Number(count))
  }
  return counts
}

/** The process IDs of its workers. */
function workersOf({ process: { pid } }: RunningServer): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    const id = Number(name)
    return Number.isInteger(id) && parentOf(id) === pid ? [id] : []
  })
}

function workerOf(running: RunningServer): number {
  const [worker = 0] = workersOf(running)
  expect(worker).toBeGreaterThan(1)
  return worker
}

function parentOf(id: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
  } catch {
    return undefined
  }
}

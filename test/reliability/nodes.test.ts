// Several nodes with a shared log that all answer, behind a proxy that distributes requests.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findHistoryErrors, type RegisterOperation } from "../support/history.ts"
import type { Send } from "../support/http-browser.ts"
import {
  freePort,
  type RunningServer,
  run,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Client, call, sendWrite } from "../support/load.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts"
import { type Families, openFamilies } from "../support/token-family.ts"
import { pause, until } from "../support/wait.ts"
import { openClient } from "./server-folder.ts"

const count = 2

describe.runIf(needs("postgres"))("two nodes that share a log", () => {
  const folder = temporaryFolder()
  let postgres: Postgres
  let proxy: RoundRobin
  let mails: TestMailServer
  let client: Client
  let families: Families
  let ports: readonly number[] = []
  let meters: readonly number[] = []
  let database: string
  const nodes: RunningServer[] = []
  const settings = (data: string, database: string, meter: number | undefined) => {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const key = `master_key_file = "${join(folder.path, "key")}"\n`
    const told = `metrics_listen = "127.0.0.1:${meter}"\n`
    const rest = 'outbound_allow = ["127.0.0.1"]\nlimits = "off"\n'
    writeFileSync(join(data, "latchkey.toml"), `database = "${database}"\n${key}${rest}${told}`)
    return data
  }
  const dataOf = (at: number) => join(folder.path, `node-${at}`)
  const startNode = (at: number) => startLatchkey({ data: dataOf(at), port: ports[at] ?? 0 })

  beforeAll(async () => {
    postgres = startPostgres()
    mails = await startMailServer()
    writeFileSync(join(folder.path, "key"), Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
    database = await postgres.database()
    proxy = startRoundRobin(await freePort())
    ports = await Promise.all(Array.from({ length: count }, freePort))
    meters = await Promise.all(Array.from({ length: count }, freePort))
    for (let at = 0; at < count; at++) settings(dataOf(at), database, meters[at])
    const url = `http://localhost:${proxy.port}`
    const key = await setUp(dataOf(0), url)
    for (let at = 0; at < count; at++) nodes.push(await startNode(at))
    proxy.setPorts(ports)
    client = await openClient(url, key)
    families = await openFamilies(client)
  })

  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await proxy.stop()
    await mails.close()
    postgres.remove()
    folder.remove()
  })

  /** Sends a request to one node, as the proxy would. */
  const at = (port: number | undefined, path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { ...init.headers, host: new URL(client.url).host },
    })
  const accessToken = async () => (await families.redeem(await families.code())).body.access_token
  const userinfo = async (port: number | undefined, token: string) =>
    (await at(port, "/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })).status

  test("are ready, and each reports itself as a member", async () => {
    for (const port of ports) {
      expect(await (await at(port, "/debug/ready")).text()).toBe("ok\n")
    }
    const works = nodes.map((node) => / this node is the leader/.test(node.output()))
    expect(works.filter(Boolean)).toHaveLength(1)
  })

  test("doctor lists them, their position, and the leader", async () => {
    const { output } = await run(["doctor", "--data", dataOf(1)])
    expect(output).toMatch(/nodes +node 0 is at position \d+ of the log/)
    expect(output).toMatch(/nodes +node 1, this one, is at position \d+ of the log/)
    expect(output.match(/it sends email and rotates keys/g)).toHaveLength(1)
  })

  test("the API lists them, and each reports metrics about itself", async () => {
    // Each checks the others once a second.
    const listed = async () => (await call(client, "history.ListNodes", {})).body.nodes
    await expect.poll(listed).toMatchObject([
      { position: expect.stringMatching(/^\d+$/), version: expect.stringMatching(/^\d+\./) },
      { number: 1, position: expect.stringMatching(/^\d+$/) },
    ])
    const which = async (key: string) => (await listed()).filter((node: any) => node[key]).length
    await expect.poll(() => Promise.all([which("isSelf"), which("works")])).toEqual([1, 1])
    const metered = () =>
      Promise.all(
        meters.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
      )
    const told = async (name: string) =>
      (await metered()).map((text) => new RegExp(`^${name} (\\d)$`, "m").exec(text)?.[1]).sort()
    await expect.poll(() => told("latchkey_node_works")).toEqual(["0", "1"])
    await expect.poll(() => told("latchkey_nodes")).toEqual(["2", "2"])
    for (const text of await metered()) {
      expect(text).toMatch(/^latchkey_node_behind_events \d+$/m)
      expect(text).toMatch(/^latchkey_node_unseen_seconds 0\.\d+$/m)
    }
  })

  test("a write on one is visible on the next", async () => {
    for (let round = 0; round < 40; round++) {
      const name = `project ${round}`
      const { orgId: organizationId } = client
      const made = await call(client, "project.CreateProject", { organizationId, name })
      const { projectId } = made.body
      const read = await call(client, "project.GetProject", { projectId })
      expect([read.status, read.body.project?.name]).toEqual([200, name])
    }
  })

  test("a code redeemed concurrently on twenty connections is accepted once", async () => {
    for (let round = 0; round < 3; round++) {
      const code = await families.code()
      const answers = await Promise.all(Array.from({ length: 20 }, () => families.redeem(code)))
      const statuses = answers.map(({ status }) => status).sort()
      expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 400)])
      const won = answers.find(({ status }) => status === 200)?.body.access_token
      expect(await Promise.all(ports.map((port) => userinfo(port, won)))).toEqual([200, 200])
    }
  })

  test("a refresh token used twenty times at once is renewed once, then revoked", async () => {
    const token = await families.next()
    const refresh = (which: string) =>
      sendWrite(client, { kind: "refresh", clientId: families.clientId, token: which })
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(token)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    const renewed = await postgres.sql(database).unsafe(
      `SELECT count(*)::integer AS count FROM latchkey.event
       WHERE type = 'oidc_session.refresh_token.renewed'`,
    )
    expect(renewed[0]?.count).toBe(1)
    // The next token of one belongs to the same family as those of all others.
    const { status, body } = await refresh(answers[0]?.body.refresh_token)
    expect(status).toBe(200)
    expect((await refresh(token)).status).toBe(400)
    expect((await refresh(body.refresh_token)).status).toBe(400)
  })

  test("a token revoked on one is invalid on all", async () => {
    for (let round = 0; round < 10; round++) {
      const token = await accessToken()
      expect(await Promise.all(ports.map((port) => userinfo(port, token)))).toEqual([200, 200])
      const body = new URLSearchParams({ token, client_id: families.clientId })
      const revoked = await at(ports[round % count], "/oauth/v2/revoke", { method: "POST", body })
      expect(revoked.status).toBe(200)
      expect(await Promise.all(ports.map((port) => userinfo(port, token)))).toEqual([401, 401])
    }
  })

  test("a sign-out on one applies to all: the session, its tokens, their access", async () => {
    const { projectId } = families
    const named = { projectId, name: "API", apiConfiguration: {} }
    const made = (await call(client, "application.CreateApplication", named)).body
    const { clientId, clientSecret } = made.apiConfiguration
    const asApi = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
    const isActive = async (port: number | undefined, token: string) => {
      const headers = { authorization: asApi }
      const body = new URLSearchParams({ token })
      const answer = await at(port, "/oauth/v2/introspect", { method: "POST", headers, body })
      return (await answer.json()).active
    }
    for (let round = 0; round < 4; round++) {
      const [here, there] = [ports[round % count], ports[(round + 1) % count]]
      let port = here
      const send: Send = (url, init) => at(port, url.slice(new URL(url).origin.length), init)
      const browser = await families.signIn(send)
      port = there
      const { body } = await families.redeem(await browser.code())
      const states = async () => [
        ...(await Promise.all(ports.map((each) => userinfo(each, body.access_token)))),
        ...(await Promise.all(ports.map((each) => isActive(each, body.access_token)))),
      ]
      expect(await states()).toEqual([200, 200, true, true])
      port = here
      await browser.get(`/oidc/v1/end_session?id_token_hint=${body.id_token}`)
      expect(await states()).toEqual([401, 401, false, false])
      port = there
      await expect(browser.code()).rejects.toThrow("the owner came to")
    }
  })

  test("an email is sent once, whichever node created it", async () => {
    const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
    const host = `127.0.0.1:${mails.port}`
    const admin = (name: string, request: object) =>
      at(ports[0], `/core.admin.v1.AdminService/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${client.token}` },
        body: JSON.stringify(request),
      }).then((answer) => answer.json())
    const { id } = await admin("AddEmailProviderSMTP", { ...smtp, host })
    await admin("ActivateEmailProvider", { id })
    const names = Array.from({ length: 12 }, (_, each) => `eva-${each}`)
    for (const username of names) await invite(username)
    await expect.poll(() => mails.received.length).toBeGreaterThanOrEqual(names.length)
    await pause(1000, "no mail may come twice, and nothing signals that none will")
    expect(sentTo()).toEqual(names.map((name) => `${name}@example.com`).sort())
  })

  const sentTo = () => mails.received.flatMap(({ recipients }) => recipients).sort()
  const invite = (username: string) => {
    const profile = { givenName: "Eva", familyName: username }
    const human = { profile, email: { email: `${username}@example.com`, sendCode: {} } }
    return call(client, "user.CreateUser", { organizationId: client.orgId, username, human })
  }

  test("no client reads older data than it has seen, even while nodes fail", async () => {
    const history: RegisterOperation[] = []
    const registers = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        const { orgId: organizationId } = client
        const made = await call(client, "project.CreateProject", { organizationId, name })
        return String(made.body.projectId)
      }),
    )
    let isOver = false
    let values = 0
    const write = async (register: string) => {
      const value = `v${values++}`
      const begun = performance.now()
      const answer = await call(client, "project.UpdateProject", {
        projectId: register,
        name: value,
      }).catch(() => undefined)
      // A conflict is a response as well: the change did not happen.
      if (answer && [400, 409].includes(answer.status)) return
      const ended = answer?.status === 200 ? performance.now() : undefined
      history.push({ register, kind: "write", value, started: begun, ended })
    }
    const read = async (register: string) => {
      const begun = performance.now()
      const answer = await call(client, "project.GetProject", { projectId: register }).catch(
        () => undefined,
      )
      const value = answer?.body.project?.name
      if (answer?.status !== 200 || !/^v\d/.test(value)) return
      history.push({ register, kind: "read", value, started: begun, ended: performance.now() })
    }
    const loop = async (work: () => Promise<void>) => {
      while (!isOver) await work()
    }
    const load = registers.flatMap((register) => [
      loop(() => write(register)),
      loop(() => read(register)),
      loop(() => read(register)),
    ])
    const goesOn = async (more: number) => {
      const before = history.length
      await until(() => history.length > before + more, { limitMs: 60_000 })
    }
    for (let kill = 0; kill < 2; kill++) {
      await goesOn(100)
      await nodes[kill]?.stop("SIGKILL")
      await goesOn(50)
      nodes[kill] = await startNode(kill)
    }
    await goesOn(50)
    isOver = true
    await Promise.all(load)
    expect(history.length).toBeGreaterThan(100)
    expect(findHistoryErrors(history)).toEqual([])
  }, 240_000)

  test("another one sends when the sending node is gone", async () => {
    const [first = 0] = nodes.flatMap((node, each) => {
      const said = node
        .output()
        .split("\n")
        .filter((line) => / (this|another) node is the leader/.test(line))
      return / this node is the leader/.test(said.at(-1) ?? "") ? [each] : []
    })
    await nodes[first]?.stop("SIGKILL")
    await invite("late")
    await expect.poll(sentTo, { timeout: 60_000 }).toContain("late@example.com")
    nodes[first] = await startNode(first)
    expect(sentTo().filter((to) => to === "late@example.com")).toHaveLength(1)
  })

  test("reject writes while the database is down, and recover by themselves", async () => {
    const token = await accessToken()
    postgres.stop("immediate")
    const refused = await Promise.all(ports.map((port) => userinfo(port, token)))
    expect(refused).toEqual([503, 503])
    const keys = await Promise.all(ports.map((port) => at(port, "/oauth/v2/keys")))
    // Public information is still returned.
    expect(keys.map(({ status }) => status)).toEqual([200, 200])
    for (const port of ports) {
      await expect.poll(async () => (await at(port, "/debug/ready")).status).toBe(503)
    }
    const paths = ["/oauth/v2/keys", "/.well-known/openid-configuration", "/oidc/v1/userinfo"]
    for (const path of [...paths, ...paths, ...paths]) {
      const begun = performance.now()
      const { status } = await at(ports[0], path, { headers: { authorization: `Bearer ${token}` } })
      expect(status).toBe(path === "/oidc/v1/userinfo" ? 503 : 200)
      expect(performance.now() - begun, path).toBeLessThan(1000)
    }
    postgres.start()
    await expect.poll(() => userinfo(ports[0], token), { timeout: 60_000 }).toBe(200)
    await expect.poll(() => userinfo(ports[1], token), { timeout: 60_000 }).toBe(200)
  })

  test("stop answering once the database was restored and others have written since", async () => {
    const restore = postgres.dump(database)
    const lost = await accessToken()
    // A node without any lost event may continue, so each must have it first.
    expect(await Promise.all(ports.map((port) => userinfo(port, lost)))).toEqual([200, 200])
    restore()
    const ready = async (port: number) => (await at(port, "/debug/ready")).status
    for (const port of ports) await expect.poll(() => ready(port)).toBe(503)
    const [third, meter] = [await freePort(), await freePort()]
    const fresh = await startLatchkey({
      data: settings(dataOf(count), database, meter),
      port: third,
    })
    nodes.push(fresh)
    proxy.setPorts([third])
    for (let round = 0; round < 10; round++) await families.next()
    for (const port of ports) {
      expect(await ready(port)).toBe(503)
      expect(await userinfo(port, lost)).toBe(503)
      expect((await at(port, "/oauth/v2/keys")).status).toBe(503)
    }
    expect(await userinfo(third, lost)).toBe(401)
    const { output } = await run(["doctor", "--data", dataOf(0)])
    expect(output).toMatch(/a different history from position \d+ on than this data directory/)
    expect(output).toMatch(/start every node that differs from it with an empty data directory/)
  })
})

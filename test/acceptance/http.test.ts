import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, openService, parseReply, type Reply, type Service } from "./service.ts"

let service: Service

beforeAll(async () => {
  service = await openService()
})
afterAll(() => service?.close())

type SendOptions = RequestInit & { readonly token?: string }

async function send(path: string, { token = "", ...init }: SendOptions = {}): Promise<Reply> {
  const headers = { ...bearer(token), ...Object(init.headers) }
  return parseReply(await fetch(`${service.url}${path}`, { ...init, headers, redirect: "manual" }))
}

const json = (body: string | object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
})

/** Texts that disclose implementation details. */
const internals = /node_modules|\.ts:\d|\$bunfs|at .*\(.*:\d+:\d+\)|SQLITE|SELECT |latchkey-data/

function expectStatus({ status, body }: Reply, expected: number, code: number) {
  expect({ status, code: body.code }).toEqual({ status: expected, code })
  expect(Object.keys(body)).toEqual(["code", "message", "details"])
  expect(JSON.stringify(body)).not.toMatch(internals)
}

describe("a health check", () => {
  test.each(["", "/system/v1", "/admin/v1", "/auth/v1", "/management/v1"])(
    "needs no token at %s/healthz",
    async (prefix) => {
      expect(await send(`${prefix}/healthz`)).toMatchObject({ status: 200, body: {} })
    },
  )
})

describe("the instance's IDs", () => {
  test.each(["/iam", "/management/v1/iam"])("are returned at %s with a token", async (path) => {
    const { status, body } = await send(path, { token: service.token })
    expect(status).toBe(200)
    expect(body).toEqual({
      globalOrgId: expect.stringMatching(/^\d{18}$/),
      iamProjectId: expect.stringMatching(/^\d{18}$/),
      defaultOrgId: expect.stringMatching(/^\d{18}$/),
    })
    expectStatus(await send(path), 401, 16)
  })

  test.each(["/system/v1/iam", "/admin/v1/iam", "/auth/v1/iam"])(
    "are not returned at %s, which belongs to another API",
    async (path) => {
      expectStatus(await send(path, { token: service.token }), 404, 5)
    },
  )
})

describe("GET /", () => {
  test("redirects a browser to the console", async () => {
    const answer = await fetch(service.url, {
      headers: { accept: "text/html,application/xhtml+xml" },
    })
    expect(new URL(answer.url).pathname).toBe("/ui/console/")
    expect(answer.headers.get("content-type")).toContain("text/html")
    expect(await answer.text()).toContain("<!doctype html>")
  })

  test("returns the web keys to a program with a token", async () => {
    for (const path of ["/", "/resources/v3alpha/web_keys"]) {
      const { status, body } = await send(path, { token: service.token })
      expect(status).toBe(200)
      expect(body.webKeys.map((key: any) => key.state)).toEqual(["STATE_ACTIVE", "STATE_ACTIVE"])
    }
  })

  test("requires a token from a program", async () => {
    const answer = await send("/")
    expectStatus(answer, 401, 16)
    const metadata = `resource_metadata="${service.url}/.well-known/oauth-protected-resource"`
    expect(answer.headers.get("www-authenticate")).toBe(`Bearer ${metadata}`)
  })
})

describe("an unknown path", () => {
  test("returns the error format that clients expect", async () => {
    const token = service.token
    for (const path of ["/nothing", "/management/v1/nothing", "/core.user.v2.UserService/Nope"]) {
      for (const init of [{}, { token }, { method: "POST", token }, { method: "DELETE" }]) {
        const { status, body } = await send(path, init)
        expect({ path, status, body }).toEqual({
          path,
          status: 404,
          body: { code: 5, message: "Not Found", details: [] },
        })
      }
    }
  })

  test("returns 405 with the allowed methods for another method", async () => {
    for (const [path, allow] of [
      ["/healthz", "GET, HEAD"],
      ["/", "GET, HEAD, POST"],
      ["/domains/_search", "POST"],
      ["/core.user.v2.UserService/ListUsers", "POST"],
    ] as const) {
      const answer = await send(path, { method: "PUT", token: service.token })
      expect([path, answer.status, answer.headers.get("allow")]).toEqual([path, 405, allow])
      expect(JSON.stringify(answer.body)).not.toMatch(internals)
    }
  })
})

describe("a v1 search", () => {
  test("accepts its list query as nested parameters, in either spelling", async () => {
    for (const path of ["/domains/_search", "/admin/v1/domains/_search"]) {
      const none = "?query.limit=1&query.offset=1"
      const one = "?query.limit=1&sortingColumn=DOMAIN_FIELD_NAME_DOMAIN"
      const again = "?query.limit=1&sorting_column=DOMAIN_FIELD_NAME_DOMAIN"
      for (const [search, rows] of [
        [none, 0],
        [one, 1],
        [again, 1],
      ] as const) {
        const answer = await send(`${path}${search}`, { method: "POST", token: service.token })
        expect([search, answer.status, answer.body.result?.length ?? 0]).toEqual([
          search,
          200,
          rows,
        ])
        expect(answer.body.details.totalResult).toBe("1")
      }
    }
  })

  test("rejects a limit that is not a number, or too large", async () => {
    for (const limit of ["many", "-1", "1001", "99999999999"]) {
      const path = `/management/v1/projects/_search`
      const answer = await send(path, { ...json({ query: { limit } }), token: service.token })
      expectStatus(answer, 400, 3)
    }
  })
})

describe("a request body", () => {
  const path = "/management/v1/projects"
  const as = (init: RequestInit): SendOptions => ({ ...init, token: service.token })

  test("accepts both spellings of its fields", async () => {
    for (const [name, body] of Object.entries({
      camel: { name: "camel", projectRoleAssertion: true },
      snake: { name: "snake", project_role_assertion: true },
    })) {
      const made = await send(path, as(json(body)))
      expect(made.status).toBe(200)
      const { body: shown } = await send(`${path}/${made.body.id}`, { token: service.token })
      expect(shown.project).toMatchObject({ name, projectRoleAssertion: true })
    }
  })

  test.each([
    ["cut off", '{"name": '],
    ["a list", "[]"],
    ["a string", '"name"'],
    ["with an unknown field", '{"name":"p","nope":1}'],
    ["with a number for a flag", '{"name":"p","projectRoleCheck":1}'],
    ["with an unknown enum", '{"name":"p","privateLabelingSetting":"NOPE"}'],
    ["with an enum out of range", '{"name":"p","privateLabelingSetting":77}'],
    ["with a number for a text", '{"name":7}'],
  ])("is rejected if it is %s", async (_, body) => {
    expectStatus(await send(path, as(json(body))), 400, 3)
  })

  test("is rejected above 1 MB", async () => {
    expectStatus(await send(path, as(json({ name: "p".repeat(1_100_000) }))), 413, 8)
  })

  test("is rejected before it is read if it exceeds every limit", async () => {
    expectStatus(await send(path, json("p".repeat(17_000_000))), 413, 8)
  })

  test("is rejected with 415 if it has another content type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
      const init = { method: "POST", body: "{}", headers: { "content-type": type } }
      expectStatus(await send(path, as(init)), 415, 3)
    }
  })
})

describe("a Host header", () => {
  test.each(["a b/", "a:b:c", "[", "http://x"])(
    "is rejected with 400 if it is %s",
    async (host) => {
      const said = await sendRaw(`GET /iam HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(said).toMatch(/^HTTP\/1\.1 400 /)
      expect(said).not.toMatch(internals)
    },
  )

  test("is rejected for another host, whatever other headers say", async () => {
    const { token } = service
    for (const headers of [
      { host: "elsewhere.example.com" },
      { host: "elsewhere.example.com", "x-forwarded-host": new URL(service.url).host },
    ]) {
      const answer = await send("/iam", { headers, token })
      expectStatus(answer, 401, 16)
      expect(answer.body.message).toContain("elsewhere.example.com")
    }
    const asked = { host: "elsewhere.example.com", accept: "text/html", "accept-language": "de" }
    const page = await sendRaw(formatHead("GET /", asked))
    expect(page).toMatch(/^HTTP\/1\.1 421 /)
    expect(page).toContain('<html lang="de">')
    expect(page).toContain("elsewhere.example.com")
    const forged = { "x-forwarded-host": "elsewhere.example.com", "x-forwarded-proto": "https" }
    const { body } = await send("/.well-known/openid-configuration", { headers: forged })
    expect(body.issuer).toBe(service.url)
  })
})

const formatHead = (line: string, headers: Readonly<Record<string, string>>) =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ ...headers, connection: "close" }).map((pair) => pair.join(": ")),
    "\r\n",
  ].join("\r\n")

/** Sends raw bytes that no HTTP client would send. */
function sendRaw(text: string): Promise<string> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1", () => socket.write(text))
  let answer = ""
  socket.on("data", (chunk) => (answer += chunk))
  socket.setTimeout(60_000, () => socket.destroy())
  return new Promise((done, fail) => {
    socket.once("close", () => done(answer))
    socket.once("error", fail)
  })
}

test("a new web key is published immediately, at the JWKS address only", async () => {
  const read = async () => (await (await fetch(`${service.url}/oauth/v2/keys`)).json()).keys
  const before = await read()
  const made = await service.call("core.webkey.v2.WebKeyService/CreateWebKey", { ed25519: {} })
  const after = await read()
  expect(after.map(({ kid }: { kid: string }) => kid)).toContain(made.body.id)
  expect(after).toHaveLength(before.length + 1)
  const elsewhere = await fetch(`${service.url}/nothing?/oauth/v2/keys`)
  expect(elsewhere.status).toBe(404)
})

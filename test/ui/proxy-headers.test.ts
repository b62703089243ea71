import { createServer, type Server } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { identityHeaders } from "../../src/oauth/forward/identity.ts"
import { createSnippets } from "../../ui/console/application/snippets.ts"
import { freePort, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type CgiKind, type ProxyKind, startCgi, startProxy } from "../support/proxy.ts"

/** Headers with which a client could impersonate a user. */
const forged = {
  "remote-user": "root",
  "remote-user-id": "1",
  "remote-email": "root@example.com",
  "remote-name": "Root",
  "remote-groups": "admin",
  remote_user: "root",
  remote_user_id: "1",
}

/** The headers that Latchkey returns for an allowed request without a user. */
const anonymousHeaders = Object.fromEntries(identityHeaders.map((name) => [name, ""]))

/** Every spelling of a header that some program treats as the same. */
const spellings = (name: string): readonly string[] =>
  ["-", "_", "."].flatMap((sign) => {
    const spelled = name.replaceAll("-", sign)
    return [spelled, spelled.toUpperCase(), spelled.replace(/\b\w/g, (sign) => sign.toUpperCase())]
  })

/** The requests that the simulated Latchkey received. */
let requests: { path: string; method: string | undefined; names: readonly string[] }[] = []
/** Whether it allows requests. */
let isOpen = true
/** Whether it returns the received Authorization header. */
let returnsAuthorization = true
let latchkey: Server
/** The protected program, which returns the headers that it receives. */
let program: Server
const folder = temporaryFolder()

beforeAll(async () => {
  latchkey = await listen(
    createServer(({ url = "", headers }, response) => {
      const method = headers["x-forwarded-method"]?.toString()
      requests.push({ path: url.replace(/.*\//, ""), method, names: Object.keys(headers) })
      const { authorization } = headers
      const returned = returnsAuthorization && authorization !== undefined && { authorization }
      response.writeHead(isOpen ? 200 : 401, { ...anonymousHeaders, ...returned }).end()
    }),
  )
  program = await listen(
    createServer((request, response) => void response.end(JSON.stringify(request.headers))),
  )
})
afterAll(() => {
  latchkey.close()
  program.close()
  folder.remove()
})

async function listen(server: Server): Promise<Server> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  return server
}

function hostOf(server: Server): string {
  const address = server.address()
  return `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`
}

function settingsOf(name: string, port: number, host = hostOf(program)): string {
  const [{ text = "" } = {}] = createSnippets({
    issuer: `http://${hostOf(latchkey)}`,
    clientId: "1",
    secret: undefined,
    auth: "none",
    isApi: false,
    endpoint: (endpoint: string) => endpoint,
    passphrase: "",
    upstream: `http://${hostOf(latchkey)}`,
    appType: "web",
    hasCode: true,
    redirectUris: [`http://localhost:${port}/.latchkey/callback`],
    scope: "openid",
  }).filter((snippet) => snippet.name === name)
  return text.replaceAll("127.0.0.1:8000", host)
}

type Settings = (port: number, host?: string) => string

/** A server block that passes headers with an underscore. */
const nginxSettings: Settings = (port, host) => `server {
listen 127.0.0.1:${port};
underscores_in_headers on;
${settingsOf("nginx", port, host)}
}`

const proxies: readonly (readonly [ProxyKind, Settings])[] = [
  ["nginx", nginxSettings],
  [
    "caddy",
    (port, host) =>
      settingsOf("Caddy", port, host).replace(`localhost:${port} {`, `http://localhost:${port} {`),
  ],
]

const cgiKinds: readonly CgiKind[] = ["python", "php"]

async function withProxy<T>(
  [kind, settings]: readonly [ProxyKind, Settings],
  host: string,
  act: (url: string) => Promise<T>,
): Promise<T> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const own = `${folder.path}/${kind}-${port}`
  const proxy = await startProxy(kind, { folder: own, url, settings: settings(port, host) })
  requests = []
  try {
    return await act(url)
  } finally {
    isOpen = true
    returnsAuthorization = true
    await proxy.stop()
  }
}

describe.each(proxies)("the settings for %s", (kind, settings) => {
  test.runIf(needs(kind))("remove every identity header that a client sends", async () => {
    await withProxy([kind, settings], hostOf(program), async (url) => {
      const answer = await fetch(url, { headers: forged })
      const received: Record<string, string> = await answer.json()
      const left = Object.entries(received).filter(
        ([name, value]) => name.startsWith("remote") && value !== "",
      )
      expect(left).toEqual([])
    })
  })

  test.runIf(needs(kind))("forward the Authorization header only if it is returned", async () => {
    await withProxy([kind, settings], hostOf(program), async (url) => {
      const received = async (sent?: string) => {
        const headers = new Headers(
          kind === "caddy" ? { "remote-authorization": "Bearer made up" } : {},
        )
        if (sent !== undefined) headers.set("authorization", sent)
        const answer: Record<string, string> = await (await fetch(url, { headers })).json()
        expect(answer).not.toHaveProperty("remote-authorization")
        return answer.authorization
      }
      const long = `Negotiate ${"x".repeat(7000)}`
      for (const own of [
        "Basic cGF0OnNlY3JldA==",
        "Token",
        "Bearer {env.HOME}{http.request.host}",
      ]) {
        expect(await received(own)).toBe(own)
      }
      expect(await received(long)).toBe(long)
      expect(await received()).toBeUndefined()
      returnsAuthorization = false
      expect(await received("Bearer token")).toBeUndefined()
    })
  })

  describe.each(cgiKinds)("in front of %s", (language) => {
    test.runIf(needs(kind) && needs(language))("remove them in every spelling", async () => {
      const cgi = await startCgi(language, folder.path)
      try {
        await withProxy([kind, settings], cgi.host, async (url) => {
          for (const spelling of identityHeaders.flatMap(spellings)) {
            const received: Record<string, string> = await (
              await fetch(url, { headers: { [spelling]: "forged", "X-Other_Header": "kept" } })
            ).json()
            const forgedIn = Object.keys(received).filter((name) => received[name] === "forged")
            expect([spelling, ...forgedIn]).toEqual([spelling])
            expect(Object.values(received)).toContain("kept")
          }
        })
      } finally {
        await cgi.stop()
      }
    })
  })
})

describe.runIf(needs("nginx"))("the settings for nginx", () => {
  const nginx = ["nginx", nginxSettings] as const

  test("send the method of a request, also when it must sign in first", async () => {
    await withProxy(nginx, hostOf(program), async (url) => {
      isOpen = false
      for (const method of ["POST", "GET"]) await fetch(`${url}/save`, { method })
      expect(requests.map(({ path, method }) => ({ path, method }))).toEqual([
        { path: "check", method: "POST" },
        { path: "ask", method: "POST" },
        { path: "check", method: "GET" },
        { path: "ask", method: "GET" },
      ])
    })
  })

  test("ignore a method header from the client", async () => {
    await withProxy(nginx, hostOf(program), async (url) => {
      await fetch(`${url}/.latchkey/sign-in`, { headers: { "x-forwarded-method": "GET" } })
      expect(requests).toMatchObject([{ path: "sign-in", method: undefined }])
    })
  })

  test("let Latchkey reject headers that only an unusual nginx forwards", async () => {
    const careless: Settings = (port, host) =>
      nginxSettings(port, host).replace("underscores_in_headers on", "ignore_invalid_headers off")
    await withProxy(["nginx", careless], hostOf(program), async (url) => {
      for (const name of ["remote_user", "remote.groups"]) {
        requests = []
        await fetch(url, { headers: { [name]: "forged" } })
        expect(requests.map(({ names }) => names.includes(name))).toEqual([true])
      }
    })
  })

  test.runIf(needs("python"))("allow an upload that the program accepts", async () => {
    const cgi = await startCgi("python", folder.path)
    const accepting: Settings = (port, host) =>
      nginxSettings(port, host).replace("location / {", "location / {\nclient_max_body_size 40m;")
    const body = Buffer.alloc(30 * 2 ** 20)
    try {
      await withProxy(["nginx", accepting], cgi.host, async (url) => {
        const upload = await fetch(url, { method: "POST", body })
        expect(upload.status).toBe(200)
        expect(await upload.json()).toMatchObject({ BODY_LENGTH: String(body.length) })
        isOpen = false
        const refused = await fetch(url, { method: "POST", body })
        expect(refused.status).toBe(401)
      })
    } finally {
      await cgi.stop()
    }
  })
})

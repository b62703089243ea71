import { createServer, type Server } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { identityHeaders } from "../../src/oauth/forward/identity.ts"
import { snippetsOf } from "../../ui/console/application/snippets.ts"
import { freePort, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type ProxyKind, startProxy } from "../support/proxy.ts"

/** Headers by which a client may try to pass for somebody else. */
const forged = {
  ...{ "remote-user": "root", "remote-user-id": "1", "remote-email": "root@example.com" },
  ...{ "remote-name": "Root", "remote-groups": "admin", remote_user: "root", remote_user_id: "1" },
}

/** What Latchkey returns for a request that is allowed without a user. */
const nobody = Object.fromEntries(identityHeaders.map((name) => [name, ""]))

let latchkey: Server
/** The protected program, which returns the headers that it receives. */
let program: Server
const folder = temporaryFolder()

beforeAll(async () => {
  latchkey = await listen(createServer((_, response) => void response.writeHead(200, nobody).end()))
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

function settingsOf(name: string, port: number): string {
  const [{ text = "" } = {}] = snippetsOf({
    ...{ issuer: `http://${hostOf(latchkey)}`, clientId: "1", secret: undefined, auth: "none" },
    ...{ isApi: false, at: (endpoint: string) => endpoint, passphrase: "" },
    redirectUris: [`http://localhost:${port}/.latchkey/callback`],
  }).filter((snippet) => snippet.name === name)
  return text.replaceAll("127.0.0.1:8000", hostOf(program))
}

const proxies: readonly (readonly [ProxyKind, (port: number) => string])[] = [
  ["nginx", (port) => `server {\nlisten 127.0.0.1:${port};\n${settingsOf("nginx", port)}\n}`],
  [
    "caddy",
    (port) =>
      settingsOf("Caddy", port).replace(`localhost:${port} {`, `http://localhost:${port} {`),
  ],
]

describe.each(proxies)("the settings for %s", (kind, settings) => {
  test.runIf(needs(kind))("remove every identity header that a client sends", async () => {
    const port = await freePort()
    const url = `http://localhost:${port}`
    const own = `${folder.path}/${kind}`
    const proxy = await startProxy(kind, { folder: own, url, settings: settings(port) })
    try {
      const answer = await fetch(url, { headers: forged })
      const received: Record<string, string> = await answer.json()
      const left = Object.entries(received).filter(
        ([name, value]) => name.startsWith("remote") && value !== "",
      )
      expect(left).toEqual([])
    } finally {
      await proxy.stop()
    }
  })
})

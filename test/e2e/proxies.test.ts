// Common reverse proxies: https, another host name, and trust. The page for unknown hosts shows the
// settings for each proxy, and the test applies them.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sendCommand } from "../../src/boot/control.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { writeCertificate } from "../support/certificate.ts"
import { openHttpBrowser, type Send } from "../support/http-browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type ProxyKind, startProxy } from "../support/proxy.ts"

const host = "id.example.com"

type Certified = { readonly port: number; readonly certFile: string; readonly keyFile: string }

/** The names on the page, with the configuration around the shown lines. */
const kinds: readonly (readonly [
  name: string,
  kind: ProxyKind,
  around: (lines: string, certified: Certified) => string,
])[] = [
  [
    ...(["nginx", "nginx"] as const),
    (lines, { port, certFile, keyFile }) =>
      lines.replace(
        "server {",
        [
          "server {",
          `listen 127.0.0.1:${port} ssl;`,
          `ssl_certificate ${certFile};`,
          `ssl_certificate_key ${keyFile};`,
        ].join("\n"),
      ),
  ],
  [
    ...(["Caddy", "caddy"] as const),
    (lines, { port, certFile, keyFile }) =>
      lines.replace(
        `${host} {`,
        `https://${host}:${port} {\nbind 127.0.0.1\ntls ${certFile} ${keyFile}`,
      ),
  ],
  [
    ...(["Apache", "apache"] as const),
    (lines, { port, certFile, keyFile }) =>
      `Listen 127.0.0.1:${port}\n${lines
        .replace("*:443", `127.0.0.1:${port}`)
        .replace(
          `ServerName ${host}`,
          [
            `ServerName ${host}`,
            "SSLEngine on",
            `SSLCertificateFile ${certFile}`,
            `SSLCertificateKeyFile ${keyFile}`,
          ].join("\n"),
        )}`,
  ],
  [
    ...(["HAProxy", "haproxy"] as const),
    (lines, { port, certFile, keyFile }) => {
      const both = `${certFile}.both`
      const pems = [certFile, keyFile].map((file) => readFileSync(file, "utf8"))
      writeFileSync(both, pems.join("\n"))
      return lines.replace(":443 ssl crt /etc/haproxy/certs/", `127.0.0.1:${port} ssl crt ${both}`)
    },
  ],
]
const isHere = kinds.every(([, kind]) => needs(kind) !== undefined)

describe.runIf(isHere)("behind a proxy", () => {
  const folder = temporaryFolder()
  const data = { trusting: join(folder.path, "trusting"), wary: join(folder.path, "wary") }
  const servers: Partial<Record<keyof typeof data, RunningServer & { readonly port: number }>> = {}
  let certificate = { certFile: "", keyFile: "" }

  beforeAll(async () => {
    certificate = await writeCertificate(join(folder.path, "tls"), [host])
    for (const kind of ["trusting", "wary"] as const) {
      await setUp(data[kind], `https://${host}`)
      const port = await freePort()
      const args = kind === "trusting" ? ["--trusted-proxies", "127.0.0.1"] : []
      servers[kind] = { ...(await startLatchkey({ data: data[kind], port, args })), port }
    }
  })
  afterAll(async () => {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
    folder.remove()
  })

  /** The lines for a proxy on the page that lists what to change. */
  async function linesOf(server: keyof typeof data, name: string): Promise<string> {
    const url = `http://127.0.0.1:${servers[server]?.port}/`
    const page = await fetch(url, { headers: { accept: "text/html" } })
    expect(page.status).toBe(421)
    const text = await page.text()
    expect(text).toContain(`<code>${host}</code>`)
    const [, lines = ""] =
      new RegExp(`${name}</summary><pre[^>]*><code>([^<]*)</code>`).exec(text) ?? []
    const signs = { lt: "<", gt: ">", quot: '"', "#x27": "'", amp: "&" } as const
    return Object.entries(signs).reduce((all, [sign, is]) => all.replaceAll(`&${sign};`, is), lines)
  }

  test.each(kinds)(
    "%s: users sign in, and the proxy is trusted once configured",
    async (name, kind, around) => {
      for (const server of ["trusting", "wary"] as const) {
        const place = { ...certificate, port: await freePort() }
        const settings = around(await linesOf(server, name), place)
        const proxy = await startProxy(kind, {
          folder: join(folder.path, `${kind}-${server}`),
          settings,
          url: `https://127.0.0.1:${place.port}/`,
          serverName: host,
        })
        // As a browser does that resolves the name to the proxy.
        const send: Send = (url, { headers, ...init }) => {
          const { pathname, search } = new URL(url)
          return fetch(`https://127.0.0.1:${place.port}${pathname}${search}`, {
            ...init,
            headers: { ...headers, host },
            tls: { serverName: host, ca: readFileSync(place.certFile, "utf8") },
          })
        }
        try {
          const { path } = Object(await sendCommand(folderAt(data[server]), "await-request"))
          await send(`https://${host}${path}`, {})
          expect(await sendCommand(folderAt(data[server]), "arrived", { path })).toMatchObject({
            host,
            peer: "127.0.0.1",
            isRelayed: server === "wary",
          })
          if (server === "wary") continue
          const metadata = await send(`https://${host}/.well-known/openid-configuration`, {})
          expect(await metadata.json()).toMatchObject({ issuer: `https://${host}` })
          const browser = openHttpBrowser(send)
          const named = await browser.get(`https://${host}/ui/login`)
          const password = await browser.post(named, { loginName: owner.loginName })
          const end = await browser.post(password, { password: owner.password })
          expect(new URL(end.url)).toMatchObject({
            host,
            pathname: expect.stringMatching(/^\/ui\//),
          })
          expect(end.text).not.toContain('name="password"')
          // Percent-encoding in a path arrives unchanged.
          const odd = await send(`https://${host}/management/v1/projects/a%2Fb`, {})
          expect(odd.status).toBe(401)
        } finally {
          await proxy.stop()
        }
      }
    },
  )
})

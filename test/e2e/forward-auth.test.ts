import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createSnippets } from "../../ui/console/application/snippets.ts"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type StartedProgram, startProgram, startProxy } from "../support/proxy.ts"

const kinds = ["nginx", "caddy"] as const
const names = { nginx: "nginx", caddy: "Caddy" } as const
const isHere = needs("chromium") !== undefined && kinds.every((kind) => needs(kind) !== undefined)

const run = promisify(execFile)

describe.runIf(isHere)("a program behind a proxy with forward authentication", () => {
  const folder = temporaryFolder()
  let service: Service
  let program: StartedProgram & { readonly port: number }
  let browser: Browser
  let projectId = ""
  let userId = ""

  beforeAll(async () => {
    service = await openService()
    program = await startProgram()
    browser = await openBrowser()
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const project = await service.get("CreateProject", { organizationId, name: "Tools" })
    projectId = project.projectId
    for (const roleKey of ["admin", "editor", "robot"]) {
      await service.get("AddProjectRole", { projectId, roleKey, displayName: roleKey })
    }
    const { result } = await service.get("core.user.v2.UserService/ListUsers", {})
    userId = result.find((each: { human?: object }) => each.human).userId
    await service.get("CreateAuthorization", {
      userId,
      projectId,
      organizationId,
      roleKeys: ["editor"],
    })
  })
  afterAll(async () => {
    await browser?.close()
    await program?.stop()
    await service?.close()
    folder.remove()
  })

  /** A proxy with the settings that the console shows, plus the ports. */
  async function openProxy(kind: (typeof kinds)[number], isEarlier = false) {
    const port = await freePort()
    const redirectUri = `http://localhost:${port}/.latchkey/callback`
    const app = await service.get("CreateApplication", {
      projectId,
      name: `Behind ${kind}`,
      oidc: {
        redirectUris: [redirectUri],
        responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
        authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
        forwardAuth: {
          rules: [
            { pathPrefix: "/admin", roleKeys: ["admin"] },
            { pathPrefix: "/public/", everybody: true },
            { pathPrefix: "/api", roleKeys: ["robot"], accessTokens: true },
            { pathPrefix: "/hook", everybody: true, accessTokens: true },
          ],
        },
      },
    })
    const { clientId } = app.oidcConfiguration ?? app.oidc
    await service.get("CreateApplication", {
      projectId,
      name: `API behind ${kind}`,
      apiConfiguration: { resources: { uris: [`http://localhost:${port}/`] } },
    })
    const environment = await fetch(`${service.url}/ui/console/environment.json`)
    const { upstream } = await environment.json()
    const shown = createSnippets({
      issuer: service.url,
      clientId,
      secret: undefined,
      auth: "none",
      isApi: false,
      endpoint: (endpoint: string) => endpoint,
      redirectUris: [redirectUri],
      passphrase: "",
      upstream,
      appType: "web",
      hasCode: true,
      scope: "openid",
    })
    const { text = "" } = shown.find(({ name }) => name === names[kind]) ?? {}
    const pointed = text.replaceAll("127.0.0.1:8000", `127.0.0.1:${program.port}`)
    const url = `http://localhost:${port}`
    const own = `${folder.path}/${kind}-${port}`
    if (isEarlier) {
      const path = `/forward-auth/${new URL(service.url).host}/${clientId}`
      const settings = earlier[kind](port, path)
      return { url, proxy: await startProxy(kind, { folder: own, url, settings }) }
    }
    const settings =
      kind === "nginx"
        ? `server {\nlisten 127.0.0.1:${port};\n${pointed}\n}`
        : pointed.replace(`localhost:${port} {`, `http://localhost:${port} {`)
    return { url, proxy: await startProxy(kind, { folder: own, url, settings }) }
  }

  /** Settings that earlier consoles showed, which deployments still use. */
  const earlier = {
    nginx: (port: number, path: string) => {
      const asked = `proxy_pass_request_body off;
proxy_set_header Content-Length "";
proxy_set_header X-Forwarded-Host localhost:${port};
proxy_set_header X-Forwarded-Uri $request_uri;`
      return `server {
listen 127.0.0.1:${port};
location / {
  auth_request /.latchkey/check;
  error_page 401 403 = /.latchkey/ask;
  auth_request_set $latchkey_remote_user $upstream_http_remote_user;
  proxy_set_header Remote-User $latchkey_remote_user;
  proxy_set_header Host $http_host;
  proxy_pass http://127.0.0.1:${program.port};
}
location = /.latchkey/check { internal; ${asked} proxy_pass ${service.url}${path}/check; }
location /.latchkey/ { ${asked} proxy_pass ${service.url}${path}/; }
}`
    },
    caddy: (port: number, path: string) => `http://localhost:${port} {
  route {
    request_header -Remote-User
    request_header -Remote-Groups
    forward_auth ${service.url} {
      uri ${path}
      copy_headers Remote-User Remote-Groups
    }
    reverse_proxy 127.0.0.1:${program.port}
  }
}`,
  }

  const told = async (page: Page) => JSON.parse(await page.locator("body").innerText())

  test.each(kinds)("%s: requires a sign-in, and enforces roles", async (kind) => {
    const { url, proxy } = await openProxy(kind)
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
    try {
      const made = {
        headers: { "remote-user": "admin", "remote-user-id": userId, "remote-groups": "admin" },
      }
      const open = await fetch(`${url}/public/x`, made)
      expect(await open.json()).toMatchObject({
        path: "/public/x",
        user: "",
        userId: "",
        groups: "",
      })
      const shut = await fetch(`${url}/admin`, { ...made, redirect: "manual" })
      expect(shut.status).toBe(401)
      const merged = { headers: { ...made.headers, remote_groups: "admin" } }
      const alias = await (await fetch(`${url}/public/x`, merged)).json()
      expect(alias).toMatchObject({ user: "", groups: "" })
      const dodging = await fetch(`${url}/public/%2e%2e/admin`, { redirect: "manual" })
      expect(dodging.status).toBe(401)

      await page.goto(`${url}/page?x=1&y=%20`)
      await page.fill('[name="loginName"]', owner.loginName)
      await page.click('button[type="submit"]')
      await page.fill('[name="password"]', owner.password)
      await page.click('button[type="submit"]')
      await page.waitForURL(`${url}/page?x=1&y=%20`)
      expect(await told(page)).toMatchObject({
        path: "/page?x=1&y=%20",
        user: owner.loginName,
        userId,
        groups: "editor",
      })

      const refused = await page.goto(`${url}/admin`)
      expect(refused?.status()).toBe(403)
      // The page of the rejection redirects to the one that explains it.
      await page.waitForURL(({ href }) => href.startsWith(`${service.url}/forward-auth/refused?`))
      await page.getByText("You need a role").waitFor()

      await page.goto(`${url}/.latchkey/sign-out`)
      await page.click('button[type="submit"]')
      await page.getByText("You are signed out").waitFor()
      await page.goto(`${url}/page`)
      await page.locator('[name="loginName"]').waitFor()
    } finally {
      await page.context().close()
      await proxy.stop()
    }
  })

  /** Calls the program with curl: status, challenges, and the headers that the program received. */
  async function curl(url: string, ...sent: readonly string[]) {
    const headers = sent.flatMap((line) => ["-H", line])
    const accept = sent.some((line) => line.startsWith("Accept:"))
      ? []
      : ["-H", "Accept: text/html"]
    const args = ["-sS", "-i", "-X", "POST", ...accept, ...headers, url]
    const { stdout } = await run(needs("curl") ?? "", args, { timeout: 20_000 })
    const [head = "", body = ""] = stdout.replaceAll("\r", "").split(/\n\n(.*)/s)
    const lines = head.split("\n")
    const challenges = lines.flatMap((line) => /^www-authenticate: (.*)/i.exec(line)?.[1] ?? [])
    return { status: Number(lines[0]?.split(" ")[1]), challenges, body, head }
  }

  test.runIf(needs("curl")).each(kinds)(
    "%s: accepts an access token, which the program doesn't receive",
    async (kind) => {
      const { url, proxy } = await openProxy(kind)
      try {
        const { token, robotId } = await robotToken(url)
        const bearer = `Authorization: Bearer ${token}`
        const called = await curl(`${url}/api/pages?x=1`, bearer)
        expect(called.status).toBe(200)
        const { authorization, ...told } = JSON.parse(called.body)
        expect(told).toMatchObject({ path: "/api/pages?x=1", userId: robotId, groups: "robot" })
        expect(authorization).toBeUndefined()

        const own = "Basic cGF0OnNlY3JldA=="
        const hook = await curl(`${url}/hook`, `Authorization: ${own}`)
        expect(JSON.parse(hook.body)).toMatchObject({ userId: "", authorization: own })
        expect((await curl(`${url}/api`, `Authorization: ${own}`)).status).toBe(303)

        expect((await curl(`${url}/admin`, bearer)).status).toBe(401)
        const spoofed = ["X-Forwarded-Uri: /api/x", "X-Forwarded-Host: localhost"]
        expect((await curl(`${url}/admin`, bearer, ...spoofed)).status).toBe(401)
        const twice = await curl(`${url}/hook`, bearer, `Authorization: ${own}`)
        expect(twice.status).toBeGreaterThanOrEqual(400)
        expect(twice.status).toBeLessThan(500)

        const tab = await curl(`${url}/hook`, `Authorization: Bearer\t${token}`)
        expect(tab.status).toBe(401)

        await service.get("RemoveSecret", { userId: robotId })
        const late = await curl(`${url}/api/pages`, bearer)
        expect([late.status, late.head.toLowerCase()]).toEqual([
          401,
          expect.not.stringContaining("\nlocation:"),
        ])
        const why =
          'error="invalid_token", error_description="the access token is invalid or has expired"'
        expect(late.challenges).toEqual([`Bearer realm="${new URL(url).host}", ${why}`])
      } finally {
        await proxy.stop()
      }
    },
  )

  test.runIf(needs("curl")).each(kinds)(
    "%s: accepts a DPoP-bound token, and explains a rejection",
    async (kind) => {
      const { url, proxy } = await openProxy(kind)
      try {
        const { privateKey, publicKey } = await generateKeyPair("ES256")
        const jwk = await exportJWK(publicKey)
        const proof = (htu: string, ath = {}) =>
          new SignJWT({ jti: crypto.randomUUID(), htm: "POST", htu, ...ath })
            .setIssuedAt()
            .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
            .sign(privateKey)
        const bound = await proof(`${service.url}/oauth/v2/token`)
        const { token, robotId, authorizationId } = await robotToken(url, bound)
        const ath = createHash("sha256").update(token).digest("base64url")
        const call = async () => {
          const dpop = await proof(`${url}/api`, { ath })
          const sent = [`Authorization: DPoP ${token}`, `DPoP: ${dpop}`]
          return { sent, answer: await curl(`${url}/api`, ...sent, "Accept: application/json") }
        }
        const { sent, answer } = await call()
        expect([answer.status, JSON.parse(answer.body).userId]).toEqual([200, robotId])
        const replayed = await curl(`${url}/api`, ...sent)
        expect(replayed.status).toBe(401)
        expect(replayed.challenges).toEqual([expect.stringContaining('error="invalid_dpop_proof"')])

        await service.get("UpdateAuthorization", { id: authorizationId, roleKeys: ["editor"] })
        const { answer: shut } = await call()
        expect([shut.status, shut.challenges]).toEqual([403, []])
        expect(shut.body).toContain("You don't have any of the roles")
      } finally {
        await proxy.stop()
      }
    },
  )

  /** An access token of a service account for the resource at a URL. */
  async function robotToken(url: string, dpop?: string) {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const username = `robot-${new URL(url).port}`
    const { id: robotId } = await service.get("CreateUser", {
      organizationId,
      username,
      machine: { name: "Robot" },
    })
    const { clientSecret } = await service.get("AddSecret", { userId: robotId })
    const { id: authorizationId } = await service.get("CreateAuthorization", {
      userId: robotId,
      projectId,
      organizationId,
      roleKeys: ["robot"],
    })
    const asked = ["grant_type=client_credentials", `resource=${url}/`]
    const { stdout } = await run(needs("curl") ?? "", [
      "-sS",
      "-u",
      `${username}:${clientSecret}`,
      ...asked.flatMap((field) => ["--data-urlencode", field]),
      ...(dpop === undefined ? [] : ["-H", `DPoP: ${dpop}`]),
      `${service.url}/oauth/v2/token`,
    ])
    return { robotId, authorizationId, token: JSON.parse(stdout).access_token }
  }

  test.each(kinds)("%s: earlier settings keep working, and pass no header alias", async (kind) => {
    const { url, proxy } = await openProxy(kind, true)
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
    try {
      await page.goto(`${url}/page`)
      await page.fill('[name="loginName"]', owner.loginName)
      await page.click('button[type="submit"]')
      await page.fill('[name="password"]', owner.password)
      await page.click('button[type="submit"]')
      // nginx did not send the method, so a form's page can't be told apart from others.
      await page.waitForURL(kind === "nginx" ? `${url}/` : `${url}/page`)
      expect(await told(page)).toMatchObject({ user: owner.loginName })
      if (kind === "nginx") return
      // Behind Caddy, a CGI program would read this as another Remote-Groups header.
      const merged = { headers: { Remote_Groups: "admin" } }
      expect((await page.request.get(`${url}/page`, merged)).status()).toBe(403)
    } finally {
      await page.context().close()
      await proxy.stop()
    }
  })
})

import { spawnSync } from "node:child_process"
import { create } from "@bufbuild/protobuf"
import { describe, expect, it } from "vitest"
import { OIDCConfigurationSchema } from "../../src/gen/core/application/v2/application_pb.ts"
import { GroupsClaim } from "../../src/gen/core/project/v2/project_pb.ts"
import { identityHeaders } from "../../src/oauth/forward/identity.ts"
import { scopeOf } from "../../ui/console/application/protocol.ts"
import { type ClientDescription, endpointNames } from "../../ui/console/application/snippet.ts"
import { createSnippets, secretPlaceholder } from "../../ui/console/application/snippets.ts"
import { openProvider } from "../oauth/provider.ts"

const issuer = "https://id.example.org"
const registered: ClientDescription = {
  issuer,
  upstream: "http://localhost:8080",
  endpoint: (endpoint) => `${issuer}/${endpoint}`,
  clientId: "123",
  secret: undefined,
  auth: "basic",
  isApi: false,
  appType: "web",
  hasCode: true,
  redirectUris: ["https://wiki.example.org/protected/callback"],
  scope: "openid profile email",
  passphrase: "0123456789abcdef0123456789abcdef",
}

const snippetOf = (name: string, changes: Partial<ClientDescription> = {}) => {
  const found = createSnippets({ ...registered, ...changes }).find((each) => each.name === name)
  if (!found) throw new Error(`no snippet is called ${name}`)
  return found
}

/**
 * The output of shell lines, with curl and openssl replaced by programs that print their arguments.
 */
function runLines(lines: string): string {
  const stubs = `curl() { printf '%s\\n' "$@"; }; openssl() { echo abc; }; TOKEN=t ASSERTION=a\n`
  const { stdout, status } = spawnSync("sh", ["-c", stubs + lines], { input: "code-1\n" })
  expect(status).toBe(0)
  return stdout.toString()
}

const proxies = ["nginx", "Caddy", "Traefik"]

describe("the settings for other software", () => {
  it.each([
    ["basic", false, [".env", "oauth2-proxy", "Grafana", "Apache", ...proxies, "curl"]],
    ["post", false, [".env", "oauth2-proxy", "Grafana", "Apache", ...proxies, "curl"]],
    ["private_key_jwt", false, [".env", ...proxies, "curl"]],
    ["none", false, [".env", ...proxies, "curl"]],
    ["basic", true, [".env", "curl"]],
    ["private_key_jwt", true, [".env", "curl"]],
  ] as const)("for a client with %s, an API: %s, are the applicable ones", (auth, isApi, names) => {
    const snippets = createSnippets({ ...registered, auth, isApi })
    expect(snippets.map(({ name }) => name)).toEqual(names)
    const hasSecret = auth === "basic" || auth === "post"
    expect(snippets.some(({ text }) => text.includes(secretPlaceholder))).toBe(hasSecret)
  })

  it.each(["user_agent", "native"] as const)("contain no proxy for a %s application", (appType) => {
    const snippets = createSnippets({ ...registered, auth: "none", appType })
    expect(snippets.map(({ name }) => name)).toEqual([".env", "curl"])
    expect(snippets.some(({ text }) => text.includes("SECRET"))).toBe(false)
  })

  it("contain no redirect URI if users are not redirected", () => {
    const snippets = createSnippets({ ...registered, hasCode: false, redirectUris: [] })
    expect(snippets.map(({ name }) => name)).toEqual([".env"])
    expect(snippets[0]?.text).not.toContain("REDIRECT")
  })

  it("contain only the proxies, and no secret, if only proxies sign users in", () => {
    const redirectUris = ["https://wiki.lan/.latchkey/callback"]
    const snippets = createSnippets({ ...registered, redirectUris, secret: "s3cret" })
    expect(snippets.map(({ name }) => name)).toEqual(proxies)
    for (const { text } of snippets) expect(text).not.toMatch(/s3cret|YOUR_CLIENT_SECRET/)
  })

  it("request the role list that the application needs", () => {
    const value = create(OIDCConfigurationSchema, { groupsClaim: GroupsClaim.GROUPS })
    const scope = scopeOf(value)
    expect(scope).toBe("openid profile email groups")
    expect(snippetOf(".env", { scope }).text).toContain("OIDC_SCOPE='openid profile email groups'")
    for (const name of ["oauth2-proxy", "Grafana", "Apache"]) {
      expect(snippetOf(name, { scope }).text, name).toContain("openid profile email groups")
    }
    expect(snippetOf("curl", { scope }).text).toContain("scope=openid+profile+email+groups")
    expect(scopeOf(create(OIDCConfigurationSchema))).toBe("openid profile email")
  })

  it("contain endpoints that discovery lists", async () => {
    const provider = await openProvider()
    const answer = await provider.send("/.well-known/openid-configuration")
    const document = await answer.json()
    for (const name of endpointNames) expect(document, name).toHaveProperty(name)
  })

  it("contain the secret only while it is shown", () => {
    for (const { name, text } of createSnippets({ ...registered, secret: "s3cret" })) {
      // The proxies need none.
      if (proxies.includes(name)) continue
      expect(text).toContain("s3cret")
      expect(text).not.toContain(secretPlaceholder)
    }
  })

  it("are parsed correctly by oauth2-proxy, for any redirect URI", () => {
    const uri = 'https://a.example/"x"\\/oauth2/callback'
    const { text, requiredRedirectUri: wants } = snippetOf("oauth2-proxy", {
      redirectUris: ["https://b.example/", uri],
    })
    expect(Bun.TOML.parse(text)).toMatchObject({
      provider: "oidc",
      oidc_issuer_url: issuer,
      client_id: "123",
      client_secret: secretPlaceholder,
      redirect_url: uri,
      cookie_secret: registered.passphrase,
      cookie_secure: true,
      backend_logout_url: `${issuer}/end_session_endpoint?id_token_hint={id_token}`,
      whitelist_domains: ["a.example", "id.example.org"],
    })
    expect(text).toContain('"Accept sign-out from its back end"')
    expect(wants).toBeUndefined()
  })

  it.each([
    ["oauth2-proxy", "https://wiki.example.org/oauth2/callback"],
    ["Grafana", "https://wiki.example.org/login/generic_oauth"],
  ])("show the redirect URI of %s, if it is not registered", (name, wants) => {
    expect(snippetOf(name).requiredRedirectUri).toBe(wants)
    expect(snippetOf(name, { redirectUris: [wants] }).requiredRedirectUri).toBeUndefined()
    expect(snippetOf(name, { redirectUris: ["com.example:/cb"] }).requiredRedirectUri).toMatch(
      /^https:\/\/app\./,
    )
  })

  it("set Grafana's root URL without the path", () => {
    const redirectUris = ["http://grafana.lan:3000/grafana/login/generic_oauth"]
    const { text } = snippetOf("Grafana", { redirectUris })
    expect(text).toContain("\nroot_url = http://grafana.lan:3000/grafana/\n")
  })

  it("protect in Apache the path of the redirect URI", () => {
    expect(snippetOf("Apache").text).toContain('<Location "/protected">')
    const redirectUris = ["https://wiki.example.org/callback"]
    expect(snippetOf("Apache", { redirectUris }).text).toContain('<Location "/">')
  })

  it("set Apache's client authentication method, because it tries no other", () => {
    const way = (auth: "basic" | "post") =>
      /^OIDCProviderTokenEndpointAuth "(\w+)"$/m.exec(snippetOf("Apache", { auth }).text)?.[1]
    expect([way("basic"), way("post")]).toEqual(["client_secret_basic", "client_secret_post"])
  })

  const hostile = "https://a.example/cb?x='$(echo pwned)'&y=`id`;"

  it("are an environment file that a shell parses correctly", () => {
    const { text } = snippetOf(".env", { redirectUris: [hostile], secret: "a$b 'c" })
    const shown = `${text}\nprintf '%s\\n' "$OIDC_CLIENT_SECRET" "$OIDC_REDIRECT_URI" "$OIDC_SCOPE"`
    expect(runLines(shown).split("\n")).toEqual(["a$b 'c", hostile, "openid profile email", ""])
  })

  it("request a token manually with the registered values, and execute nothing in them", () => {
    const said = runLines(snippetOf("curl", { redirectUris: [hostile] }).text).split("\n")
    const asked = new URL(said[0]?.replace("Open ", "") ?? "")
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      redirect_uri: hostile,
      client_id: "123",
      code_challenge: "abc",
      code_challenge_method: "S256",
    })
    expect(said).toContain(`redirect_uri=${hostile}`)
    expect(said).toContain("code=code-1")
    expect(said).toContain("code_verifier=abc")
  })

  it.each([
    ["basic", ["-u", "123:YOUR_CLIENT_SECRET"]],
    ["post", ["client_id=123", "client_secret=YOUR_CLIENT_SECRET"]],
    ["none", ["client_id=123"]],
    ["private_key_jwt", ["client_assertion=a"]],
  ] as const)("authenticate by %s if that is registered", (auth, values) => {
    const lines = runLines(snippetOf("curl", { auth }).text).split("\n")
    expect(lines).toEqual(expect.arrayContaining([...values]))
    expect(lines.includes("-u")).toBe(auth === "basic")
  })

  it("introspect a token, for an API", () => {
    const lines = runLines(snippetOf("curl", { isApi: true }).text).split("\n")
    expect(lines).toEqual(expect.arrayContaining([`${issuer}/introspection_endpoint`, "token=t"]))
  })

  it.each(proxies)(
    "have %s send requests to the instance's own host, for the registered host",
    (name) => {
      expect(snippetOf(name).requiredRedirectUri).toBe("https://app.example.org/.latchkey/callback")
      const redirectUris = [
        "https://app.example.org/cb",
        "https://wiki.lan:8443/.latchkey/callback",
      ]
      const { text, requiredRedirectUri: wants } = snippetOf(name, { redirectUris })
      expect(wants).toBeUndefined()
      expect(text).toContain("localhost:8080")
      expect(text).toContain("/forward-auth/id.example.org/123")
      expect(text).toContain("wiki.lan:8443")
      for (const header of identityHeaders) {
        expect(text).toMatch(new RegExp(`${header}(?![\\w-])`, "i"))
      }
    },
  )

  it.each([
    [
      "http://10.0.0.7:9000",
      "http://10.0.0.7:9000/forward-auth/",
      "forward_auth http://10.0.0.7:9000 ",
    ],
    // The certificate is for the public host, whatever the port.
    [
      "https://localhost:8443",
      "https://id.example.org:8443/forward-auth/",
      "forward_auth https://id.example.org:8443 ",
    ],
    [
      "unix:/run/latchkey.sock",
      "http://unix:/run/latchkey.sock:/forward-auth/",
      "forward_auth unix//run/latchkey.sock ",
    ],
  ])("have proxies send requests to this server's listener: %s", (upstream, byNginx, byCaddy) => {
    const named = (name: string) =>
      createSnippets({ ...registered, upstream }).find((each) => each.name === name)?.text
    expect(named("nginx")).toContain(`proxy_pass ${byNginx}`)
    expect(named("nginx")?.includes("proxy_ssl_server_name on;")).toBe(byNginx.startsWith("https"))
    expect(named("Caddy")).toContain(byCaddy)
    const isSocket = upstream.startsWith("unix:")
    expect(named("Traefik")?.includes(`address: "${byNginx}`)).toBe(isSocket ? undefined : true)
  })

  it("have Traefik remove identity headers in every spelling", () => {
    const [, pattern = ""] =
      /authResponseHeadersRegex: "\(\?i\)(.*)"/.exec(snippetOf("Traefik").text) ?? []
    for (const name of identityHeaders) {
      for (const sign of ["-", "_", "."]) {
        expect(name.replaceAll("-", sign)).toMatch(new RegExp(pattern || "$.", "i"))
      }
    }
    expect("x-remote-user").not.toMatch(new RegExp(pattern, "i"))
  })

  it("have Traefik forward the returned Authorization header", () => {
    expect(snippetOf("Traefik").text).toMatch(
      /authResponseHeaders:\n(?: {10}.*\n)* {10}- Authorization\n/,
    )
  })

  it("reject a pattern as a redirect URI", () => {
    const { text } = snippetOf(".env", { redirectUris: ["https://*.example.org/cb"] })
    expect(text).not.toContain("*")
  })
})

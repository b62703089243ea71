import { spawnSync } from "node:child_process"
import { create } from "@bufbuild/protobuf"
import { describe, expect, it } from "vitest"
import { OIDCConfigurationSchema } from "../../src/gen/core/application/v2/application_pb.ts"
import { GroupsClaim } from "../../src/gen/core/project/v2/project_pb.ts"
import { identityHeaders } from "../../src/oauth/forward/identity.ts"
import { scopeOf } from "../../ui/console/application/protocol.ts"
import { type ClientDescription, endpointNames } from "../../ui/console/application/snippet.ts"
import { secretPlaceholder, snippetsOf } from "../../ui/console/application/snippets.ts"
import { openProvider } from "../oauth/provider.ts"

const issuer = "https://id.example.org"
const registered: ClientDescription = {
  issuer,
  upstream: "http://localhost:8080",
  at: (endpoint) => `${issuer}/${endpoint}`,
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

const named = (name: string, changes: Partial<ClientDescription> = {}) => {
  const found = snippetsOf({ ...registered, ...changes }).find((each) => each.name === name)
  if (!found) throw new Error(`no snippet is called ${name}`)
  return found
}

/** What lines of a shell say, where curl and openssl only tell what they were given. */
function saidBy(lines: string): string {
  const stubs = `curl() { printf '%s\\n' "$@"; }; openssl() { echo abc; }; TOKEN=t ASSERTION=a\n`
  const { stdout, status } = spawnSync("sh", ["-c", stubs + lines], { input: "code-1\n" })
  expect(status).toBe(0)
  return stdout.toString()
}

const proxies = ["nginx", "Caddy", "Traefik"]

describe("what is pasted into other software", () => {
  it.each([
    ["basic", false, [".env", "oauth2-proxy", "Grafana", "Apache", ...proxies, "curl"]],
    ["post", false, [".env", "oauth2-proxy", "Grafana", "Apache", ...proxies, "curl"]],
    ["private_key_jwt", false, [".env", ...proxies, "curl"]],
    ["none", false, [".env", ...proxies, "curl"]],
    ["basic", true, [".env", "curl"]],
    ["private_key_jwt", true, [".env", "curl"]],
  ] as const)("of a client with %s, an API: %s, is what it can use", (auth, isApi, names) => {
    const snippets = snippetsOf({ ...registered, auth, isApi })
    expect(snippets.map(({ name }) => name)).toEqual(names)
    const hasSecret = auth === "basic" || auth === "post"
    expect(snippets.some(({ text }) => text.includes(secretPlaceholder))).toBe(hasSecret)
  })

  it.each(["user_agent", "native"] as const)("names no proxy for a %s application", (appType) => {
    const snippets = snippetsOf({ ...registered, auth: "none", appType })
    expect(snippets.map(({ name }) => name)).toEqual([".env", "curl"])
    expect(snippets.some(({ text }) => text.includes("SECRET"))).toBe(false)
  })

  it("names no redirect URI where people are sent to no address", () => {
    const snippets = snippetsOf({ ...registered, hasCode: false, redirectUris: [] })
    expect(snippets.map(({ name }) => name)).toEqual([".env"])
    expect(snippets[0]?.text).not.toContain("REDIRECT")
  })

  it("has nothing but the proxies, and no secret, where only they sign people in", () => {
    const redirectUris = ["https://wiki.lan/.latchkey/callback"]
    const snippets = snippetsOf({ ...registered, redirectUris, secret: "s3cret" })
    expect(snippets.map(({ name }) => name)).toEqual(proxies)
    for (const { text } of snippets) expect(text).not.toMatch(/s3cret|YOUR_CLIENT_SECRET/)
  })

  it("requests the list of roles that the application needs", () => {
    const value = create(OIDCConfigurationSchema, { groupsClaim: GroupsClaim.GROUPS })
    const scope = scopeOf(value)
    expect(scope).toBe("openid profile email groups")
    expect(named(".env", { scope }).text).toContain("OIDC_SCOPE='openid profile email groups'")
    for (const name of ["oauth2-proxy", "Grafana", "Apache"]) {
      expect(named(name, { scope }).text, name).toContain("openid profile email groups")
    }
    expect(named("curl", { scope }).text).toContain("scope=openid+profile+email+groups")
    expect(scopeOf(create(OIDCConfigurationSchema))).toBe("openid profile email")
  })

  it("names endpoints that discovery names, too", async () => {
    const provider = await openProvider()
    const answer = await provider.send("/.well-known/openid-configuration")
    const document = await answer.json()
    for (const name of endpointNames) expect(document, name).toHaveProperty(name)
  })

  it("has the secret only while it is shown", () => {
    for (const { name, text } of snippetsOf({ ...registered, secret: "s3cret" })) {
      // The proxies need none.
      if (proxies.includes(name)) continue
      expect(text).toContain("s3cret")
      expect(text).not.toContain(secretPlaceholder)
    }
  })

  it("is read by oauth2-proxy as it is meant, whatever the redirect URI is made of", () => {
    const uri = 'https://a.example/"x"\\/oauth2/callback'
    const { text, wants } = named("oauth2-proxy", { redirectUris: ["https://b.example/", uri] })
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
  ])("says which redirect URI %s wants, where it is not registered", (name, wants) => {
    expect(named(name).wants).toBe(wants)
    expect(named(name, { redirectUris: [wants] }).wants).toBeUndefined()
    expect(named(name, { redirectUris: ["com.example:/cb"] }).wants).toMatch(/^https:\/\/app\./)
  })

  it("tells Grafana its own address without its path", () => {
    const redirectUris = ["http://grafana.lan:3000/grafana/login/generic_oauth"]
    const { text } = named("Grafana", { redirectUris })
    expect(text).toContain("\nroot_url = http://grafana.lan:3000/grafana/\n")
  })

  it("protects in Apache what the redirect URI lies in", () => {
    expect(named("Apache").text).toContain('<Location "/protected">')
    const redirectUris = ["https://wiki.example.org/callback"]
    expect(named("Apache", { redirectUris }).text).toContain('<Location "/">')
  })

  it("tells Apache, which tries no second way, where the secret goes", () => {
    const way = (auth: "basic" | "post") =>
      /^OIDCProviderTokenEndpointAuth "(\w+)"$/m.exec(named("Apache", { auth }).text)?.[1]
    expect([way("basic"), way("post")]).toEqual(["client_secret_basic", "client_secret_post"])
  })

  const hostile = "https://a.example/cb?x='$(echo pwned)'&y=`id`;"

  it("is a file of settings that a shell reads as it is meant", () => {
    const { text } = named(".env", { redirectUris: [hostile], secret: "a$b 'c" })
    const shown = `${text}\nprintf '%s\\n' "$OIDC_CLIENT_SECRET" "$OIDC_REDIRECT_URI" "$OIDC_SCOPE"`
    expect(saidBy(shown).split("\n")).toEqual(["a$b 'c", hostile, "openid profile email", ""])
  })

  it("asks by hand for what is registered, and runs nothing that is written in it", () => {
    const said = saidBy(named("curl", { redirectUris: [hostile] }).text).split("\n")
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
  ] as const)("proves who asks by %s where that is registered", (auth, said) => {
    const lines = saidBy(named("curl", { auth }).text).split("\n")
    expect(lines).toEqual(expect.arrayContaining([...said]))
    expect(lines.includes("-u")).toBe(auth === "basic")
  })

  it("asks what a token means, for an API", () => {
    const lines = saidBy(named("curl", { isApi: true }).text).split("\n")
    expect(lines).toEqual(expect.arrayContaining([`${issuer}/introspection_endpoint`, "token=t"]))
  })

  it.each(proxies)(
    "has %s ask by the instance's own host, for the host that is registered",
    (name) => {
      expect(named(name).wants).toBe("https://app.example.org/.latchkey/callback")
      const redirectUris = [
        "https://app.example.org/cb",
        "https://wiki.lan:8443/.latchkey/callback",
      ]
      const { text, wants } = named(name, { redirectUris })
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
    // The certificate is for the public name, whatever the port.
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
  ])("has proxies ask where this server listens: %s", (upstream, byNginx, byCaddy) => {
    const named = (name: string) =>
      snippetsOf({ ...registered, upstream }).find((each) => each.name === name)?.text
    expect(named("nginx")).toContain(`proxy_pass ${byNginx}`)
    expect(named("nginx")?.includes("proxy_ssl_server_name on;")).toBe(byNginx.startsWith("https"))
    expect(named("Caddy")).toContain(byCaddy)
    const isSocket = upstream.startsWith("unix:")
    expect(named("Traefik")?.includes(`address: "${byNginx}`)).toBe(isSocket ? undefined : true)
  })

  it("has Traefik remove identity headers in every spelling", () => {
    const [, pattern = ""] =
      /authResponseHeadersRegex: "\(\?i\)(.*)"/.exec(named("Traefik").text) ?? []
    for (const name of identityHeaders) {
      for (const sign of ["-", "_", "."]) {
        expect(name.replaceAll("-", sign)).toMatch(new RegExp(pattern || "$.", "i"))
      }
    }
    expect("x-remote-user").not.toMatch(new RegExp(pattern, "i"))
  })

  it("has Traefik forward the Authorization header that is returned", () => {
    expect(named("Traefik").text).toMatch(
      /authResponseHeaders:\n(?: {10}.*\n)* {10}- Authorization\n/,
    )
  })

  it("takes no pattern for an address", () => {
    const { text } = named(".env", { redirectUris: ["https://*.example.org/cb"] })
    expect(text).not.toContain("*")
  })
})

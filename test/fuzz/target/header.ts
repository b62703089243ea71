import { isIP } from "node:net"
import { rulesFor } from "../../../src/domain/app/forward-auth.ts"
import { isRegisteredRedirectUri } from "../../../src/domain/app/redirect-uri.ts"
import { findCookie } from "../../../src/domain/session/index.ts"
import { originOf } from "../../../src/http/origin.ts"
import {
  addressOf,
  createMatcher,
  formatAddress,
  networkOf,
  parseListenAddress,
  parseRange,
} from "../../../src/kernel/net/address.ts"
import { parseAllowedOutbound } from "../../../src/kernel/setting/allow-list.ts"
import { isPublicAddress } from "../../../src/notify/address-kind.ts"
import { parseLanguages, prefersHtml } from "../../../src/protocol/accept.ts"
import { parseBrowserName } from "../../../src/protocol/browser-name.ts"
import { parseLdapUrl } from "../../../src/protocol/ldap-url.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

/** RFC 9110 §12.5.4, with the parsed languages. */
export const acceptLanguage = fuzzTarget({
  name: "accept-language",
  seeds: () => [
    "de-CH,de;q=0.9,en;q=0.8",
    "*",
    "en",
    "fr;q=0,en;q=0.5",
    "zh-Hant-TW;Q=1.000",
    " , ,en",
    "text/html,application/json;q=0.9,*/*;q=0.1",
    "en;q=NaN",
    "en;level=1;q=0.2",
  ],
  tokens: [";q=", "q=0", ",", "*", "-", "text/html", "application/json", "1.0001", "Infinity"],
  parse: (input) => {
    const header = input.toString("latin1")
    const headers = new Map([["accept", header]])
    const get = (name: string) => headers.get(name) ?? null
    return {
      languages: parseLanguages(header),
      wantsPage: prefersHtml({ method: "GET", headers: { get } as Headers }),
    }
  },
  check: ({ languages }, input) => {
    requireProperty(languages.length <= 10, "at most ten languages are returned")
    const header = input.toString("latin1")
    for (const language of languages) {
      requireProperty(language !== "" && language !== "*", "each is a language")
      requireProperty(header.includes(language), "each is in the header")
    }
  },
})

const proxyAddress = "10.0.0.1"

/** The sender of a request: Host, X-Forwarded-For, and Cookie, one header per line. */
export const forwarded = fuzzTarget({
  name: "forwarded-header",
  seeds: () => [
    "x-forwarded-for: 203.0.113.9, 10.0.0.1\nhost: id.example.com",
    "x-forwarded-for: [2001:db8::1]:443\nforwarded: for=1.2.3.4",
    "x-forwarded-for: 198.51.100.7:1234,,10.0.0.1\ncookie: __Host-latchkey=1.a; x=y",
    "cookie: a=b;__Host-latchkey=1.b;c",
    "user-agent: Mozilla/5.0 (X11; Linux x86_64) Version/17 Safari/605 Chrome/1 Firefox/2",
  ],
  tokens: ["x-forwarded-for: ", "10.0.0.1", "::ffff:10.0.0.1", "::1", "unknown", "Version/"],
  parse: (input) => {
    const headers = headersIn(input.toString("latin1"))
    const request = { headers, url: "https://id.example.com/" } as Request
    const isProxy = createMatcher([{ address: "10.0.0.0", bits: 8, family: 4 }])
    const services = { ids: { next: () => "1" }, isProxy } as Parameters<typeof originOf>[0]
    const trusted = originOf(services, request, () => proxyAddress)
    const stranger = originOf(services, request, () => "192.0.2.1")
    return {
      forwarded: headers.get("x-forwarded-for"),
      isRelayed: stranger.isRelayed,
      trusted: trusted.address,
      stranger: stranger.address,
      network: networkOf(trusted.address),
      cookie: findCookie(headers.get("cookie") ?? "", "__Host-latchkey"),
      browser: parseBrowserName(headers.get("user-agent") ?? ""),
    }
  },
  isRejection: (error) => error instanceof TypeError && /header/i.test(error.message),
  check: ({ forwarded, trusted, stranger, network, isRelayed }) => {
    // A client that is not a proxy can prepend addresses to its own, but not remove any.
    requireProperty(
      !(forwarded === null) || trusted === proxyAddress,
      "without the header the peer counts",
    )
    const chain = (forwarded ?? "").split(",").map((each) => each.trim())
    requireProperty(
      [...chain, "192.0.2.1"].includes(stranger),
      "an address of the chain, or the peer",
    )
    requireProperty(
      forwarded === null || stranger === "192.0.2.1",
      "a stranger's header says nothing",
    )
    requireProperty(forwarded === null || isRelayed === true, "a header of a stranger is noticed")
    requireProperty(network.length <= 64, "what is counted has a bounded length")
  },
})

function headersIn(text: string): Headers {
  const headers = new Headers()
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":")
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return headers
}

/** IP addresses, blocks, and listen addresses; and which of them are public. */
export const ipAddress = fuzzTarget({
  name: "ip-address",
  seeds: () => [
    "10.0.0.0/8",
    "::1",
    "fd00::/8",
    "[::1]:8080",
    ":443",
    "localhost:80",
    "::ffff:10.0.0.1",
    "unix:/run/a.sock|660",
    "ldaps://ldap.example.com:636/",
    "2001:db8:0:0:1::/64",
    "fe80::1%1",
    "64:ff9b::10.0.0.1",
    "0:0:0:0:0:ffff:7f00:1",
    "example.com",
    "255.255.255.255/32",
  ],
  tokens: ["::", ":", "/", "%", "[", "]", "0x7f", "::ffff:", "127.0.0.1", "ldap://", "unix:"],
  parse: (input) => {
    const text = input.toString()
    return {
      text,
      range: parseRange(text),
      address: addressOf(text),
      place: parseListenAddress(text),
      outbound: parseAllowedOutbound(text),
      server: parseLdapUrl(text),
      isPublic: isPublicAddress(text),
      network: networkOf(text),
    }
  },
  check: ({ text, range, address, isPublic, network, server }) => {
    if (range) {
      requireProperty(createMatcher([range])(range.address), "a range includes its own address")
      requireProperty(
        range.bits >= 0 && range.bits <= 128,
        "a range has as many bits as an address",
      )
    }
    if (address) requireEqual(addressOf(formatAddress(address)), address, "written and read again")
    if (server) requireProperty(server.port > 0 && server.port < 65_536, "a port is a port")
    if (isIP(text) === 6 && !text.includes("%")) requireSameJudgment(text, isPublic, network)
  },
})

/** WHATWG URL normalizes each address: all spellings must have the same result. */
function requireSameJudgment(text: string, isPublic: boolean, network: string): void {
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1)
  requireProperty(isPublicAddress(canonical) === isPublic, "all spellings are equally public")
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(canonical)
  if (mapped) requireProperty(!isPublic, "a mapped IPv4 address is not public")
  else if (!text.includes(".")) {
    requireProperty(networkOf(canonical) === network, "all spellings are one network")
  }
}

type Registration = Parameters<typeof isRegisteredRedirectUri>[0]

const registrations: readonly [Registration, Registration, Registration] = [
  { appType: "web", devMode: false, redirectUris: ["https://app.example.com/callback?a=b"] },
  {
    appType: "native",
    devMode: false,
    redirectUris: ["http://127.0.0.1/cb", "http://[::1]/cb?a", "com.example.app:/cb"],
  },
  {
    appType: "web",
    devMode: true,
    redirectUris: ["https://*.preview.example.com/cb*/end", "http://localhost:3000/*"],
  },
]

/** RFC 9700 §2.1: which redirect URIs of a request match the registered ones. */
export const redirectUri = fuzzTarget({
  name: "redirect-uri",
  seeds: () => [
    ...registrations.flatMap(({ redirectUris }) => redirectUris),
    "https://a.preview.example.com/cb1/end",
    "http://localhost:3000/x",
    "http://[::1]:7/cb?a",
    "http://127.0.0.1:4711/cb",
    "https://evil.example\\@app.example.com/callback",
    "https://app.example.com@evil.example/callback",
    "http://127.0.0.1:1@evil.example/cb",
  ],
  tokens: [
    "https://",
    "http://",
    "127.0.0.1",
    "localhost",
    "[::1]",
    "@",
    "\\",
    "#",
    "?",
    "..",
    "%2e",
    ".example.com",
    "app.example.com",
    "evil.example",
    ":80",
    "javascript:",
    "%0a",
    "*",
    "//",
  ],
  parse: (input) => {
    const uri = input.toString()
    return { uri, fits: registrations.map((each) => isRegisteredRedirectUri(each, uri)) }
  },
  check: ({ uri, fits: [web, native, development] }) => {
    requireProperty(
      !web || uri === registrations[0].redirectUris[0],
      "a web application has exact addresses",
    )
    const { protocol, hostname, pathname, username } = URL.parse(uri) ?? {}
    if (native && protocol !== "com.example.app:") {
      requireProperty(
        ["127.0.0.1", "[::1]"].includes(hostname ?? ""),
        "only the loopback interface",
      )
      requireProperty(
        protocol === "http:" && pathname === "/cb" && username === "",
        "only its port may vary",
      )
    }
    if (development) {
      requireProperty(
        username === "" && /^https?:$/.test(protocol ?? ""),
        "no credentials, a web address",
      )
      requireProperty(
        /(^|\.)(preview\.example\.com|localhost)$/.test(hostname ?? ""),
        "the registered host",
      )
    }
  },
})

const accessRules = ["/", "/admin", "/api/private"].map((prefix, at) => ({
  prefix,
  everybody: prefix === "/",
  roles: at === 0 ? [] : [prefix],
  accessTokens: prefix === "/api/private",
}))

/** The rules that a path at a protected host must satisfy. */
export const forwardAuthPath = fuzzTarget({
  name: "forward-auth-path",
  seeds: () => [
    "/",
    "/admin",
    "/admin/users?x=1",
    "/a/../admin",
    "/%61dmin",
    "/ADMIN",
    "//admin",
    "/a#b",
    "/api/private/x",
    "/api;v=1/private",
    "/.%2e/admin",
    "/admin%2f..",
    "/a%5cadmin",
    "/%2561",
  ],
  tokens: ["/admin", "/..", "/.", "%2e", "%2f", "%5c", "\\", ";", "%", "//", "?", "#", "%00"],
  parse: (input) => {
    const target = input.toString()
    return { target, rules: rulesFor(accessRules, target) }
  },
  check: ({ target, rules }) => {
    requireProperty(rules.length > 0, "some rule always applies")
    const wanted = new Set(pathReadings(target).map(prefixOf))
    for (const prefix of wanted) {
      if (prefix === "/") continue
      const roles = rules.flatMap((rule) => rule.roles)
      requireProperty(roles.includes(prefix) || isClosed(rules), `the rule of ${prefix} applies`)
    }
    const accepts = rules.every(({ accessTokens }) => accessTokens)
    requireProperty(
      !accepts || [...wanted].join() === "/api/private",
      "tokens are accepted nowhere else",
    )
  },
})

type Rules = ReturnType<typeof rulesFor>

/** The default rule: any signed-in user, and not the public. */
const isClosed = (rules: Rules): boolean =>
  rules.some(({ everybody, roles }) => !everybody && roles.length > 0)

const prefixOf = (path: string): string =>
  accessRules.findLast(({ prefix }) => path.toLowerCase().startsWith(prefix))?.prefix ?? "/"

/**
 * How applications behind a proxy can read a path: unchanged, by WHATWG URL, decoded once or twice.
 */
function pathReadings(target: string): readonly string[] {
  const raw = target.replace(/\?.*$/s, "")
  const normal = URL.parse(raw.replace(/^\/*/, "/"), "http://host")?.pathname ?? raw
  return [raw, normal].flatMap((path) => [path, decodePath(path), decodePath(decodePath(path))])
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

import { fieldError } from "../../kernel/fault.ts"

// Applications without their own sign-in run behind a proxy that sends us an authorization request
// for each HTTP request (nginx auth_request, Caddy forward_auth, Traefik forwardAuth).

/**
 * Who can request URLs at or below the path `prefix`: everyone, or signed-in users who have one of
 * the roles. Without roles, every user who can sign in to the application has access. A prefix that
 * ends with `*` matches all paths that begin with the text before it.
 */
export type AccessRule = {
  readonly prefix: string
  readonly everybody: boolean
  readonly roles: readonly string[]
  /** Whether requests can present an access token instead of a session cookie; absent means no. */
  readonly accessTokens?: boolean
}

/** The user identifier that the protected application receives. */
export type RemoteUser = "login_name" | "user_id" | "email"

/** The callback path on hosts that a proxy protects. */
export const proxiedCallback = "/.latchkey/callback"

/**
 * The origins that a proxy can protect with an application: those of its redirect URIs with the
 * callback path.
 */
export const proxiedOrigins = ({ redirectUris }: { readonly redirectUris: readonly string[] }) =>
  redirectUris
    .map((uri) => URL.parse(uri))
    .filter((url) => url !== null)
    .filter(({ protocol, pathname }) => /^https?:$/.test(protocol) && pathname === proxiedCallback)

const rulesMax = 100
const rolesMax = 50
const textMax = 200

/** Rejects ambiguous rules, and more rules than an administrator can review. */
export function validateAccessRules(rules: readonly AccessRule[]): void {
  if (rules.length > rulesMax) throw ruleError(`must contain at most ${rulesMax} rules`)
  for (const { prefix, everybody, roles } of rules) {
    if (!prefix.startsWith("/") || prefix.length > textMax || isAmbiguous(prefix)) {
      throw ruleError("must have decoded, normalized paths such as /admin")
    }
    if (everybody && roles.length > 0)
      throw ruleError("must be for everyone or for roles, not both")
    if (roles.length > rolesMax || roles.some((key) => key === "" || key.length > textMax)) {
      throw ruleError(`must contain at most ${rolesMax} role keys for each rule`)
    }
  }
  if (new Set(rules.map(({ prefix }) => prefix)).size < rules.length) {
    throw ruleError("must not contain a path twice")
  }
}

const ruleError = (requirement: string) =>
  fieldError("app.forward_auth_invalid", "forward_auth", requirement)

/** Applies if no rule matches. */
const defaultRule: AccessRule = { prefix: "/", everybody: false, roles: [] }

/**
 * The rules that a request must satisfy, all of them; `target` is its path and query as sent. The
 * longest prefix decides. A path that only starts with the same letters, as `/publicity` does with
 * `/public`, must satisfy that rule too, but never only that rule. Applications parse paths
 * differently: if a dot segment, an encoded slash or the like makes a path ambiguous, the request
 * must satisfy every rule; if only letter case differs, the rules of both spellings.
 */
export function rulesFor(rules: readonly AccessRule[], target: string): readonly AccessRule[] {
  const path = parsePath(target)
  if (path === undefined) {
    return [{ ...defaultRule, accessTokens: acceptAnywhere(rules) }, ...rules]
  }
  const folded = path.toLowerCase()
  const found = [
    longestMatch(rules, (prefix) => isBelow(prefix, path)),
    longestMatch(rules, (prefix) => path.startsWith(textOf(prefix))),
    longestMatch(rules, (prefix) => isBelow(prefix.toLowerCase(), folded)),
    longestMatch(rules, (prefix) => folded.startsWith(textOf(prefix).toLowerCase())),
  ]
  return [...new Set(found)]
}

/**
 * Whether the path of a request equals the path of a URL or is below it; compares whole segments,
 * case-sensitively.
 */
export function isAtOrBelow({ pathname, search }: URL, target: string): boolean {
  if (search !== "") return false
  if (pathname === "/") return true
  const [prefix, path] = [parsePath(pathname), parsePath(target)]
  if (prefix === undefined || path === undefined) return false
  return path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`)
}

/** Whether access tokens are accepted for every path, including ambiguous ones. */
const acceptAnywhere = (rules: readonly AccessRule[]): boolean =>
  rules.some(({ prefix }) => prefix === "/") && rules.every(({ accessTokens }) => accessTokens)

/** The decoded path of a request; undefined if servers could parse it differently. */
function parsePath(target: string): string | undefined {
  // Browsers send no fragment; some applications treat "#" from other clients as part of the path.
  const raw = target.replace(/\?.*$/s, "")
  const path = decodePath(raw)
  return path === undefined || isAmbiguous(path) || /%2f|%5c/i.test(raw) ? undefined : path
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** Whether a decoded path contains characters or segments that servers parse differently. */
const isAmbiguous = (path: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters
  /[\u0000-\u001f\u007f\\%;?#]|\/\/|\/\.{1,2}(\/|$)/.test(path) || !path.startsWith("/")

/** Whether a path equals the path of a rule or is below it; compares whole segments. */
function isBelow(prefix: string, path: string): boolean {
  const letters = textOf(prefix)
  if (letters !== prefix || prefix.endsWith("/")) return path.startsWith(letters)
  return path === prefix || path.startsWith(`${prefix}/`)
}

const textOf = (prefix: string): string => prefix.replace(/\*$/, "")

function longestMatch(
  rules: readonly AccessRule[],
  matches: (prefix: string) => boolean,
): AccessRule {
  const fitting = rules.filter(({ prefix }) => matches(prefix))
  return fitting.toSorted((a, b) => b.prefix.length - a.prefix.length)[0] ?? defaultRule
}

/** Whether a signed-in user with these roles satisfies a rule. */
export const satisfiesRule = (roles: readonly string[], rule: AccessRule): boolean =>
  rule.everybody || rule.roles.length === 0 || rule.roles.some((key) => roles.includes(key))

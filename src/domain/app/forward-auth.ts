import { fieldError } from "../../kernel/fault.ts"

// Programs that can't sign people in themselves stand behind a proxy that asks us about each
// request (nginx's auth_request, Caddy's forward_auth, Traefik's forwardAuth).

/**
 * Who may ask for the addresses of a host at or below the path `prefix`: everybody, or users who
 * are signed in and have one of the roles; where none is named, all who may sign in to the
 * application. A prefix that ends with `*` means all paths that begin with what precedes it.
 */
export type AccessRule = {
  readonly prefix: string
  readonly everybody: boolean
  readonly roles: readonly string[]
  /** Whether requests may present an access token instead of a pass; absent is no. */
  readonly accessTokens?: boolean
}

/** By what a protected program knows a user. */
export type RemoteUser = "login_name" | "user_id" | "email"

/** Where people come back to at a host that a proxy protects. */
export const proxiedCallback = "/.latchkey/callback"

/** The addresses that a proxy may protect with an application: those that people come back to. */
export const proxiedOrigins = ({ redirectUris }: { readonly redirectUris: readonly string[] }) =>
  redirectUris
    .map((uri) => URL.parse(uri))
    .filter((url) => url !== null)
    .filter(({ protocol, pathname }) => /^https?:$/.test(protocol) && pathname === proxiedCallback)

const rulesMax = 100
const rolesMax = 50
const textMax = 200

/** Refuses rules that could be read in two ways, and more of them than anybody oversees. */
export function checkAccessRules(rules: readonly AccessRule[]): void {
  if (rules.length > rulesMax) throw ruleError(`must not be more than ${rulesMax}`)
  for (const { prefix, everybody, roles } of rules) {
    if (!prefix.startsWith("/") || prefix.length > textMax || isAmbiguous(prefix)) {
      throw ruleError("must have paths such as /admin, as people read them: decoded, in one form")
    }
    if (everybody && roles.length > 0) throw ruleError("are for everybody, or for roles; not both")
    if (roles.length > rolesMax || roles.some((key) => key === "" || key.length > textMax)) {
      throw ruleError(`must name ${rolesMax} roles at most, each by its key`)
    }
  }
  if (new Set(rules.map(({ prefix }) => prefix)).size < rules.length) {
    throw ruleError("must not name a path twice")
  }
}

const ruleError = (wanted: string) => fieldError("app.forward_auth_invalid", "forward_auth", wanted)

/** What holds where no rule says anything. */
const standard: AccessRule = { prefix: "/", everybody: false, roles: [] }

/**
 * The rules that a request must satisfy, all of them; `target` is its path and query, as it was
 * sent. The longest prefix decides. A path that only begins with the letters of a rule, as
 * `/publicity` does with those of `/public`, must satisfy that rule too, and never that rule alone.
 * Programs differ in how they read a path: what some take for another one, because of a dot
 * segment, an encoded slash or the like, must satisfy every rule, and what they may take for the
 * same in other cases, the rules of both.
 */
export function rulesFor(rules: readonly AccessRule[], target: string): readonly AccessRule[] {
  const path = plainPath(target)
  if (path === undefined) {
    return [{ ...standard, accessTokens: acceptAnywhere(rules) }, ...rules]
  }
  const folded = path.toLowerCase()
  const found = [
    longest(rules, (prefix) => isBelow(prefix, path)),
    longest(rules, (prefix) => path.startsWith(lettersOf(prefix))),
    longest(rules, (prefix) => isBelow(prefix.toLowerCase(), folded)),
    longest(rules, (prefix) => folded.startsWith(lettersOf(prefix).toLowerCase())),
  ]
  return [...new Set(found)]
}

/** Whether a request's path is that of a URL or below it: whole segments, in the same letters. */
export function isAtOrBelow({ pathname, search }: URL, target: string): boolean {
  if (search !== "") return false
  if (pathname === "/") return true
  const [prefix, path] = [plainPath(pathname), plainPath(target)]
  if (prefix === undefined || path === undefined) return false
  return path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`)
}

/** Whether access tokens are accepted for every path, however it is read. */
const acceptAnywhere = (rules: readonly AccessRule[]): boolean =>
  rules.some(({ prefix }) => prefix === "/") && rules.every(({ accessTokens }) => accessTokens)

/** The decoded path of a request; undefined where servers read it in different ways. */
function plainPath(target: string): string | undefined {
  // A browser sends no fragment: what others make of "#" is part of the path to some programs.
  const raw = target.replace(/\?.*$/s, "")
  const path = decoded(raw)
  return path === undefined || isAmbiguous(path) || /%2f|%5c/i.test(raw) ? undefined : path
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** Whether a decoded path has something in it that servers read in different ways. */
const isAmbiguous = (path: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u001f\u007f\\%;?#]|\/\/|\/\.{1,2}(\/|$)/.test(path) || !path.startsWith("/")

/** Whether a path is that of a rule or below it, by whole segments. */
function isBelow(prefix: string, path: string): boolean {
  const letters = lettersOf(prefix)
  if (letters !== prefix || prefix.endsWith("/")) return path.startsWith(letters)
  return path === prefix || path.startsWith(`${prefix}/`)
}

const lettersOf = (prefix: string): string => prefix.replace(/\*$/, "")

function longest(rules: readonly AccessRule[], fits: (prefix: string) => boolean): AccessRule {
  const fitting = rules.filter(({ prefix }) => fits(prefix))
  return fitting.toSorted((a, b) => b.prefix.length - a.prefix.length)[0] ?? standard
}

/** Whether somebody who is signed in satisfies a rule. */
export const satisfies = (roles: readonly string[], rule: AccessRule): boolean =>
  rule.everybody || rule.roles.length === 0 || rule.roles.some((key) => roles.includes(key))

import { findCookie } from "../../domain/session/index.ts"
import { lru } from "../../kernel/lru.ts"
import { type Cx, perInstance } from "../../store/index.ts"
import { isActive } from "../token/active.ts"
import { isAccessDenied } from "../token/token-parent.ts"
import type { ProxiedRequest } from "./proxied-request.ts"

/**
 * The content of the cookie at a protected host: the user, and the grant that it depends on. It is
 * valid only for its application and host, so that an application that reads it can't use it
 * elsewhere. Times are ms UTC.
 */
type ForwardSession = {
  readonly grantId: string
  readonly userId: string
  readonly expires: number
}

type CookieScope = Pick<ProxiedRequest, "clientId" | "origin">

/** The Set-Cookie header for a session, with its lifetime in seconds. */
export function sessionCookie(
  cx: Cx,
  scope: CookieScope,
  { seconds, ...granted }: Omit<ForwardSession, "expires"> & { readonly seconds: number },
): string {
  const expires = cx.clock.now() + seconds * 1000
  const plain = JSON.stringify([granted.grantId, granted.userId, expires])
  return cookieFor(scope, "", cx.secrets.seal("cookie", plain, sealContextOf(cx, scope)), seconds)
}

/**
 * The user of a forward-auth session, and whether they are signed in but can't use the application.
 */
export type Visitor = { readonly userId: string; readonly isAccessDenied: boolean }

/** The user of a browser's forward-auth session; undefined if it is not valid here and now. */
export function findSessionUser(
  cx: Cx,
  scope: CookieScope,
  header: string | null,
): Visitor | undefined {
  const cookie = findCookie(header ?? "", cookieNameFor(scope))
  if (cookie === "") return undefined
  const cache = sessionCache(cx)
  const key = `${scope.clientId} ${scope.origin} ${cookie}`
  const pass = cache.get(key) ?? openSession(cx, scope, cookie)
  if (!pass) return undefined
  cache.set(key, pass)
  if (cx.clock.now() >= pass.expires) return undefined
  const { userId, grantId: anchor } = pass
  if (isActive(cx, pass)) return { userId, isAccessDenied: false }
  return isAccessDenied(cx, { userId, anchor }) ? { userId, isAccessDenied: true } : undefined
}

/** Unsealing costs more than everything else, and a page causes many requests. */
const sessionCache = perInstance(() => lru<ForwardSession>(4096))

function openSession(cx: Cx, scope: CookieScope, cookie: string): ForwardSession | undefined {
  const plain = cx.secrets.open("cookie", cookie, sealContextOf(cx, scope))
  if (plain === undefined) return undefined
  const [grantId, userId, expires] = JSON.parse(plain)
  return { grantId, userId, expires }
}

const sealContextOf = (cx: Cx, { clientId, origin }: CookieScope) =>
  `forward_auth/${cx.instance}/${clientId}/${origin}`

/** A cookie for the protected host alone: scripts can't read it, subdomains can't set it. */
export function cookieFor(
  scope: CookieScope,
  kind: "" | "-way",
  value: string,
  seconds: number,
): string {
  const secure = scope.origin.startsWith("https:") ? ["Secure"] : []
  const attributes = ["HttpOnly", "Path=/", "SameSite=Lax", `Max-Age=${seconds}`, ...secure]
  return [`${cookieNameFor(scope, kind)}=${value}`, ...attributes].join("; ")
}

/**
 * The cookie name, different for each application, because cookies are shared between ports of a
 * host.
 */
export function cookieNameFor({ clientId, origin }: CookieScope, kind: "" | "-way" = ""): string {
  const prefix = origin.startsWith("https:") ? "__Host-" : ""
  return `${prefix}latchkey-at${kind}-${clientId.replace(/[^\w-]/g, "_")}`
}

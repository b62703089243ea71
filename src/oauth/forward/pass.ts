import { cookieIn } from "../../domain/session/index.ts"
import { lru } from "../../kernel/lru.ts"
import { type Cx, ofInstance } from "../../store/index.ts"
import { isActive } from "../token/active.ts"
import { isShutOut } from "../token/token-parent.ts"
import type { Proxied } from "./proxied.ts"

/**
 * What the cookie at a protected host says: who has signed in, and what that hangs from. It counts
 * for its application and its host alone, so that a program which reads it there can use it nowhere
 * else. Times are ms UTC.
 */
type Pass = { readonly grantId: string; readonly userId: string; readonly expires: number }

type At = Pick<Proxied, "clientId" | "origin">

/** Set-Cookie with a pass, good for so many seconds. */
export function passCookie(
  cx: Cx,
  at: At,
  { seconds, ...granted }: Omit<Pass, "expires"> & { readonly seconds: number },
): string {
  const expires = cx.clock.now() + seconds * 1000
  const plain = JSON.stringify([granted.grantId, granted.userId, expires])
  return cookieFor(at, "", cx.secrets.seal("cookie", plain, aboutOf(cx, at)), seconds)
}

/** Whose pass a browser presents, and whether they are signed in but can't use the application. */
export type Visitor = { readonly userId: string; readonly isShutOut: boolean }

/** Whose pass a browser presents; undefined if it is not valid here and now. */
export function passedBy(cx: Cx, at: At, header: string | null): Visitor | undefined {
  const cookie = cookieIn(header ?? "", nameFor(at))
  if (cookie === "") return undefined
  const known = readLately(cx)
  const key = `${at.clientId} ${at.origin} ${cookie}`
  const pass = known.get(key) ?? read(cx, at, cookie)
  if (!pass) return undefined
  known.set(key, pass)
  if (cx.clock.now() >= pass.expires) return undefined
  const { userId, grantId: anchor } = pass
  if (isActive(cx, pass)) return { userId, isShutOut: false }
  return isShutOut(cx, { userId, anchor }) ? { userId, isShutOut: true } : undefined
}

/** To open a seal costs more than all the rest, and a page asks for many things. */
const readLately = ofInstance(() => lru<Pass>(4096))

function read(cx: Cx, at: At, cookie: string): Pass | undefined {
  const plain = cx.secrets.open("cookie", cookie, aboutOf(cx, at))
  if (plain === undefined) return undefined
  const [grantId, userId, expires] = JSON.parse(plain)
  return { grantId, userId, expires }
}

const aboutOf = (cx: Cx, { clientId, origin }: At) =>
  `forward_auth/${cx.instance}/${clientId}/${origin}`

/** A cookie of the protected host, for it alone: no script reads it, no sub-domain sets it. */
export function cookieFor(at: At, kind: "" | "-way", value: string, seconds: number): string {
  const secure = at.origin.startsWith("https:") ? ["Secure"] : []
  const attributes = ["HttpOnly", "Path=/", "SameSite=Lax", `Max-Age=${seconds}`, ...secure]
  return [`${nameFor(at, kind)}=${value}`, ...attributes].join("; ")
}

/** Of each application: hosts that differ in their port alone share their cookies. */
export function nameFor({ clientId, origin }: At, kind: "" | "-way" = ""): string {
  const prefix = origin.startsWith("https:") ? "__Host-" : ""
  return `${prefix}latchkey-at${kind}-${clientId.replace(/[^\w-]/g, "_")}`
}

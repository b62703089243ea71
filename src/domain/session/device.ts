import { randomToken } from "../../kernel/crypto/random.ts"
import type { Cx } from "../../store/index.ts"
import { findCookie, sameSiteOf } from "./cookie.ts"
import { browserAccountsMax, lifetimes } from "./model.ts"

/** The users that a browser remembers, also after they have signed out. */
type Device = {
  readonly id: string
  /** Remembered users with expiry, ms UTC; the last to sign in is first. */
  readonly users: readonly (readonly [userId: string, until: number])[]
}

/**
 * The device ID, if this user has signed in from it before; undefined otherwise. It grants no
 * access: its attempts are only counted separately from those of strangers.
 */
export function findDeviceId(
  cx: Cx,
  { secure, header }: { readonly secure: boolean; readonly header: string | null },
  userId: string,
): string | undefined {
  const { id, users } = parseDevice(cx, findCookie(header ?? "", cookieName(secure)))
  return users.some(([known]) => known === userId) ? id : undefined
}

/** The Set-Cookie header that remembers the user who has just signed in. */
export function deviceCookieOf(
  cx: Cx,
  { secure, header }: { readonly secure: boolean; readonly header: string | null },
  userId: string,
): string {
  const { id, users } = parseDevice(cx, findCookie(header ?? "", cookieName(secure)))
  const others = users.filter(([known]) => known !== userId)
  const mine = [userId, cx.clock.now() + lifetimes.device] as const
  const device: Device = { id, users: [mine, ...others].slice(0, browserAccountsMax) }
  const value = cx.secrets.seal("cookie", JSON.stringify(device), sealContextOf(cx))
  const attributes = ["HttpOnly", "Path=/", `Max-Age=${lifetimes.device / 1000}`]
  if (secure) attributes.push("Secure")
  return [
    `${cookieName(secure)}=${value}`,
    ...attributes,
    `SameSite=${sameSiteOf(cx, secure)}`,
  ].join("; ")
}

/** Returns a new device if the cookie is invalid. */
function parseDevice(cx: Cx, cookie: string): Device {
  const plain = cx.secrets.open("cookie", cookie, sealContextOf(cx))
  if (plain === undefined) return { id: randomToken(cx.random, 12), users: [] }
  const { id, users }: Device = JSON.parse(plain)
  return { id, users: users.filter(([, until]) => cx.clock.now() < until) }
}

/** User IDs may repeat across instances: a cookie of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `device/${cx.instance}`

const cookieName = (secure: boolean) => (secure ? "__Host-latchkey-device" : "latchkey-device")

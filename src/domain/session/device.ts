import { randomToken } from "../../kernel/crypto/random.ts"
import type { Cx } from "../../store/index.ts"
import { cookieIn, sameSiteOf } from "./cookie.ts"
import { accountsMax, lifetimes } from "./model.ts"

/** What a browser remembers of those who have signed in to it, also after they have signed out. */
type Device = {
  readonly id: string
  /** Whose it is, and until when, ms UTC; the last who signed in comes first. */
  readonly users: readonly (readonly [userId: string, until: number])[]
}

/**
 * Names the device of somebody who has signed in to this account from it before; undefined for any
 * other. It opens nothing: tries from it only don't wait behind those of strangers.
 */
export function deviceOf(
  cx: Cx,
  { secure, header }: { readonly secure: boolean; readonly header: string | null },
  userId: string,
): string | undefined {
  const { id, users } = read(cx, cookieIn(header ?? "", nameOf(secure)))
  return users.some(([known]) => known === userId) ? id : undefined
}

/** The Set-Cookie line by which a browser remembers who has just signed in to it. */
export function deviceCookie(
  cx: Cx,
  { secure, header }: { readonly secure: boolean; readonly header: string | null },
  userId: string,
): string {
  const { id, users } = read(cx, cookieIn(header ?? "", nameOf(secure)))
  const others = users.filter(([known]) => known !== userId)
  const mine = [userId, cx.clock.now() + lifetimes.device] as const
  const device: Device = { id, users: [mine, ...others].slice(0, accountsMax) }
  const value = cx.secrets.seal("cookie", JSON.stringify(device), aboutOf(cx))
  const attributes = ["HttpOnly", "Path=/", `Max-Age=${lifetimes.device / 1000}`]
  if (secure) attributes.push("Secure")
  return [`${nameOf(secure)}=${value}`, ...attributes, `SameSite=${sameSiteOf(cx, secure)}`].join(
    "; ",
  )
}

/** A device that nobody knows is a new one. */
function read(cx: Cx, cookie: string): Device {
  const plain = cx.secrets.open("cookie", cookie, aboutOf(cx))
  if (plain === undefined) return { id: randomToken(cx.random, 12), users: [] }
  const { id, users }: Device = JSON.parse(plain)
  return { id, users: users.filter(([, until]) => cx.clock.now() < until) }
}

/** User ids may repeat across instances: a cookie of one must not count in another. */
const aboutOf = (cx: Cx) => `device/${cx.instance}`

const nameOf = (secure: boolean) => (secure ? "__Host-latchkey-device" : "latchkey-device")

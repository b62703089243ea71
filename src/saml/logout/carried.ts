import type { Cx } from "../../store/index.ts"
import type { Answering } from "./walk.ts"

/** A sign-out that was checked, and whom it means; a browser brings it along with its cookie. */
export type Carried = {
  readonly afterwards: Answering
  readonly name: string
  readonly indexes: readonly string[]
}

/** As long as it takes a browser to open an address that it is sent to. */
const lifetimeMs = 60_000

/** No browser and no proxy takes much longer addresses. */
const lengthMax = 8_000

/**
 * The address at `path` that a browser is sent to with it: a form from another site comes without
 * our cookie (SameSite=Lax), a GET brings it. Undefined for what is too long for an address.
 */
export function carryingPath(cx: Cx, path: string, carried: Carried): string | undefined {
  const plain = JSON.stringify([carried, cx.clock.now() + lifetimeMs])
  if (plain.length > lengthMax) return undefined
  const query = new URLSearchParams({ carried: cx.secrets.seal("token", plain, aboutOf(cx, path)) })
  return `${path}?${query}`
}

/** Reads it; undefined for anything else, for one of another path, and for one that is too old. */
export function readCarried(cx: Cx, path: string, text: string): Carried | undefined {
  const plain = cx.secrets.open("token", text, aboutOf(cx, path))
  if (plain === undefined) return undefined
  const [carried, expires]: [Carried, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? carried : undefined
}

const aboutOf = (cx: Cx, path: string) => `saml_logout_carried/${cx.instance}${path}`

import type { Requested } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"

/** As long as it takes a browser to open an address that it is sent to. */
const lifetimeMs = 60_000

/** A checked request for the address that the browser is sent to with it, sealed. */
export const writeCarried = (cx: Cx, asked: Requested): string =>
  cx.secrets.seal("token", JSON.stringify([asked, cx.clock.now() + lifetimeMs]), aboutOf(cx))

/** Reads it; undefined for anything else, and for one that is too old. */
export function readCarried(cx: Cx, carried: string): Requested | undefined {
  const plain = cx.secrets.open("token", carried, aboutOf(cx))
  if (plain === undefined) return undefined
  const [asked, expires]: [Requested, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? asked : undefined
}

const aboutOf = (cx: Cx) => `saml_carried/${cx.instance}`

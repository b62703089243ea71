import type { Cx } from "../../store/index.ts"
import type { LogoutInitiator } from "./participants.ts"

/**
 * A validated logout request and its sessions, which the browser returns together with its cookie.
 */
export type PendingLogout = {
  readonly afterwards: LogoutInitiator
  readonly name: string
  readonly indexes: readonly string[]
}

/** As long as a browser takes to follow a redirect. */
const lifetimeMs = 60_000

/** Longer URLs are not supported by all browsers and proxies. */
const lengthMax = 8_000

/**
 * The URL at `path` that a browser is redirected to: a cross-site form contains no cookie of ours
 * (SameSite=Lax), a GET request does. Undefined if the URL would be too long.
 */
export function sealedLogoutPath(
  cx: Cx,
  path: string,
  pendingLogout: PendingLogout,
): string | undefined {
  const plain = JSON.stringify([pendingLogout, cx.clock.now() + lifetimeMs])
  if (plain.length > lengthMax) return undefined
  const query = new URLSearchParams({
    carried: cx.secrets.seal("token", plain, sealContextOf(cx, path)),
  })
  return `${path}?${query}`
}

/** Opens it; undefined if it is invalid, expired, or for another path. */
export function openLogout(cx: Cx, path: string, text: string): PendingLogout | undefined {
  const plain = cx.secrets.open("token", text, sealContextOf(cx, path))
  if (plain === undefined) return undefined
  const [pendingLogout, expires]: [PendingLogout, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? pendingLogout : undefined
}

const sealContextOf = (cx: Cx, path: string) => `saml_logout_carried/${cx.instance}${path}`

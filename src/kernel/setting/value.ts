import { hostName } from "../net/host.ts"

// Values of settings as people write them; undefined for what is none.

export function pathOf(value: string): string | undefined {
  return value !== "" && !value.includes("\0") ? value : undefined
}

export function secureUrlOf(value: string): string | undefined {
  const url = URL.parse(value)
  const isBare = url?.protocol === "https:" && !url.username && !url.password
  return isBare ? url.href : undefined
}

export function webUrlOf(value: string): string | undefined {
  const url = URL.parse(value)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  return isWeb && !url.username && !url.password ? url.href : undefined
}

/** What stands in place of a secret. */
const redacted = "(secret)"

export const withoutAll = () => redacted

/**
 * An address without its query, where many take a token. Of what is none that may be set nothing
 * is left: it has a name and a password in it.
 */
export function withoutToken(address: unknown): string {
  const given = String(address)
  const bare = webUrlOf(given.replace(/[?#].*$/s, ""))
  if (bare === undefined) return redacted
  return /[?#]/.test(given) ? `${bare}?${redacted}` : given
}

/** RFC 9110 §5.5, without what is not ASCII. */
export function headerOf(value: string): string | undefined {
  return /^[!-~]([ -~]{0,8190}[!-~])?$/.test(value) ? value : undefined
}

export function shareOf(value: string): number | undefined {
  const share = /^(\d{1,3})?\.?\d{1,9}$/.test(value) ? Number(value) : 0
  return share > 0 && share <= 1 ? share : undefined
}

export function emailOf(value: string): string | undefined {
  return /^[^\s@<>,;:]{1,64}@[^\s@<>,;:]{1,255}$/.test(value) ? value : undefined
}

export function countOf(value: string): number | undefined {
  return /^[1-9]\d{0,3}$/.test(value) ? Number(value) : undefined
}

export function workersOf(value: string): number | undefined {
  const count = countOf(value)
  return count !== undefined && count <= 64 ? count : undefined
}

export function drainOf(value: string): number | undefined {
  return /^\d{1,3}$/.test(value) && Number(value) <= 300 ? Number(value) : undefined
}

/** Bech32: https://age-encryption.org/v1 "X25519". */
export function recipientOf(value: string): string | undefined {
  return /^age1[02-9ac-hj-np-z]{40,200}$/.test(value) ? value : undefined
}

export function daysOf(value: string): number | undefined {
  return /^[1-9]\d{0,4}$/.test(value) ? Number(value) : undefined
}

export function limitsFactorOf(value: string): number | undefined {
  if (value === "off") return Number.POSITIVE_INFINITY
  const times = /^\d{1,6}(\.\d{1,6})?$/.test(value) ? Number(value) : 0
  return times > 0 ? times : undefined
}

/** With a password or not. */
export function databaseOf(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isPostgres = url?.protocol === "postgres:" || url?.protocol === "postgresql:"
  return isPostgres && url.pathname.length > 1 ? value : undefined
}

export function originOf(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined
  const bare = !url.username && !url.password && url.pathname === "/" && !url.search && !url.hash
  if (!bare) return undefined
  url.hostname = hostName(url.hostname)
  return url.origin
}

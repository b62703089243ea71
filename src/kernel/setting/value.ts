import { hostName } from "../net/host.ts"

// Parsers for setting values; undefined if invalid.

export function parsePath(value: string): string | undefined {
  return value !== "" && !value.includes("\0") ? value : undefined
}

export function parseHttpsUrl(value: string): string | undefined {
  const url = URL.parse(value)
  const isOriginOnly = url?.protocol === "https:" && !url.username && !url.password
  return isOriginOnly ? url.href : undefined
}

export function parseWebUrl(value: string): string | undefined {
  const url = URL.parse(value)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  return isWeb && !url.username && !url.password ? url.href : undefined
}

/** Replaces a secret. */
const redacted = "(secret)"

export const redactAll = () => redacted

/**
 * A URL without its query, which often contains a token. Invalid URLs are redacted completely: they
 * may contain a user name and password.
 */
export function redactQuery(address: unknown): string {
  const given = String(address)
  const withoutQuery = parseWebUrl(given.replace(/[?#].*$/s, ""))
  if (withoutQuery === undefined) return redacted
  return /[?#]/.test(given) ? `${withoutQuery}?${redacted}` : given
}

/** RFC 9110 §5.5, ASCII only. */
export function parseHeaderValue(value: string): string | undefined {
  return /^[!-~]([ -~]{0,8190}[!-~])?$/.test(value) ? value : undefined
}

export function parseFraction(value: string): number | undefined {
  const share = /^(\d{1,3})?\.?\d{1,9}$/.test(value) ? Number(value) : 0
  return share > 0 && share <= 1 ? share : undefined
}

export function parseEmail(value: string): string | undefined {
  return /^[^\s@<>,;:]{1,64}@[^\s@<>,;:]{1,255}$/.test(value) ? value : undefined
}

export function parseCount(value: string): number | undefined {
  return /^[1-9]\d{0,3}$/.test(value) ? Number(value) : undefined
}

export function parseWorkerCount(value: string): number | undefined {
  const count = parseCount(value)
  return count !== undefined && count <= 64 ? count : undefined
}

export function parseDrainSeconds(value: string): number | undefined {
  return /^\d{1,3}$/.test(value) && Number(value) <= 300 ? Number(value) : undefined
}

/** Bech32: https://age-encryption.org/v1 "X25519". */
export function parseAgeRecipient(value: string): string | undefined {
  return /^age1[02-9ac-hj-np-z]{40,200}$/.test(value) ? value : undefined
}

export function parseDays(value: string): number | undefined {
  return /^[1-9]\d{0,4}$/.test(value) ? Number(value) : undefined
}

export function parseLimitsFactor(value: string): number | undefined {
  if (value === "off") return Number.POSITIVE_INFINITY
  const times = /^\d{1,6}(\.\d{1,6})?$/.test(value) ? Number(value) : 0
  return times > 0 ? times : undefined
}

/** With or without a password. */
export function parseDatabaseUrl(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isPostgres = url?.protocol === "postgres:" || url?.protocol === "postgresql:"
  return isPostgres && url.pathname.length > 1 ? value : undefined
}

export function parseOrigin(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined
  const withoutQuery =
    !url.username && !url.password && url.pathname === "/" && !url.search && !url.hash
  if (!withoutQuery) return undefined
  url.hostname = hostName(url.hostname)
  return url.origin
}

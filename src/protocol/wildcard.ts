/**
 * A redirect URI with wildcards, for development only. `*` matches part of one host label or one
 * path segment, at most once in each, and never in the last two labels.
 */
const wildcardUri = /^(https?:\/\/)([a-z\d*.-]+)(:\d{1,5})?(\/[^?#]*)?(\?[^*#]*)?$/

/** Whether a pattern has wildcards only where they are allowed. */
export function hasOnlyAllowedWildcards(pattern: string): boolean {
  const [, , host = "", , path = ""] = wildcardUri.exec(pattern) ?? []
  if (host === "" || host.split(".").slice(-2).some(hasWildcard)) return false
  return ![...host.split("."), ...path.split("/")].some((part) => /\*.*\*/.test(part))
}

const hasWildcard = (text: string) => text.includes("*")

/** Whether a URI matches a pattern. */
export function matchesWildcards(pattern: string, uri: string): boolean {
  if (!hasOnlyAllowedWildcards(pattern) || hasWildcard(uri)) return false
  // Normalized as browsers do, so that dot segments and backslashes can't leave the path.
  const href = URL.parse(uri)?.href
  if (href !== uri && href !== `${uri}/`) return false
  const [, scheme = "", host = "", port = "", path = "", query = ""] =
    wildcardUri.exec(pattern) ?? []
  const parts = [
    escapePattern(scheme),
    host.split("*").map(escapePattern).join("[a-z\\d-]+"),
    escapePattern(port),
    path.split("*").map(escapePattern).join("[\\w.~-]+"),
    escapePattern(query),
  ]
  return new RegExp(`^${parts.join("")}$`).test(uri)
}

const escapePattern = (text: string): string => text.replace(/[^\w]/g, "\\$&")

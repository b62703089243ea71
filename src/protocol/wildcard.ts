/**
 * A redirect URI with wildcards, for development alone. `*` stands for a part of one label of the
 * host or of one segment of the path, at most once in each; never in the last two labels.
 */
const form = /^(https?:\/\/)([a-z\d*.-]+)(:\d{1,5})?(\/[^?#]*)?(\?[^*#]*)?$/

/** Whether wildcards stand only where they may. */
export function isNarrow(pattern: string): boolean {
  const [, , host = "", , path = ""] = form.exec(pattern) ?? []
  if (host === "" || host.split(".").slice(-2).some(hasWildcard)) return false
  return ![...host.split("."), ...path.split("/")].some((part) => /\*.*\*/.test(part))
}

const hasWildcard = (text: string) => text.includes("*")

/** Whether an address is one that a pattern means. */
export function fitsWildcards(pattern: string, uri: string): boolean {
  if (!isNarrow(pattern) || hasWildcard(uri)) return false
  // Spelled as browsers will read it: nothing climbs out of the path by dots or backslashes.
  const href = URL.parse(uri)?.href
  if (href !== uri && href !== `${uri}/`) return false
  const [, scheme = "", host = "", port = "", path = "", query = ""] = form.exec(pattern) ?? []
  const parts = [
    literal(scheme),
    host.split("*").map(literal).join("[a-z\\d-]+"),
    literal(port),
    path.split("*").map(literal).join("[\\w.~-]+"),
    literal(query),
  ]
  return new RegExp(`^${parts.join("")}$`).test(uri)
}

const literal = (text: string): string => text.replace(/[^\w]/g, "\\$&")

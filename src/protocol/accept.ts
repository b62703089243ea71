/** A value that a caller would take, and how gladly. */
type Weighted = { readonly value: string; readonly weight: number }

/** RFC 9110 §12.4.2: what a header of preferences lists; at most `most` values are looked at. */
function weighted(header: string | null, most: number): readonly Weighted[] {
  return (header ?? "")
    .slice(0, 500)
    .split(",", most)
    .map((part) => {
      const [value = "", ...parameters] = part.trim().split(/\s*;\s*/)
      const weight = parameters.find((each) => /^q=/i.test(each))?.slice(2)
      return { value, weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
}

/** RFC 9110 §12.5.4: languages by weight, best first; at most ten are looked at. */
export function languagesOf(header: string | null): readonly string[] {
  if (header === null || header === "*") return []
  return weighted(header, 10)
    .filter(({ value, weight }) => value !== "" && value !== "*" && weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ value }) => value)
}

/**
 * Whether a browser asks for something to show: it takes HTML more gladly than JSON, or names it
 * where JSON is only among all the rest. A request with a token is a program's.
 */
export function wantsPage({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  if (/^(bearer|dpop) /i.test(headers.get("authorization") ?? "")) return false
  const ranges = weighted(headers.get("accept"), 20)
  const [html, json] = [matchOf(ranges, "text", "html"), matchOf(ranges, "application", "json")]
  if (html.weight !== json.weight) return html.weight > json.weight
  return html.weight > 0 && html.exactness > json.exactness
}

/** RFC 9110 §12.5.1: the most exact range that a media type lies in says how gladly it is taken. */
function matchOf(ranges: readonly Weighted[], type: string, subtype: string) {
  const names = ["*/*", `${type}/*`, `${type}/${subtype}`]
  const given = names.map((name) => ranges.find(({ value }) => value.toLowerCase() === name))
  const exactness = given.findLastIndex((range) => range !== undefined)
  return { exactness, weight: given[exactness]?.weight ?? 0 }
}

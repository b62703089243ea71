/** A value that a client accepts, with its weight. */
type WeightedValue = { readonly value: string; readonly weight: number }

/** RFC 9110 §12.4.2: the values of a preference header; parses at most `most`. */
function parseWeighted(header: string | null, maxValues: number): readonly WeightedValue[] {
  return (header ?? "")
    .slice(0, 500)
    .split(",", maxValues)
    .map((part) => {
      const [value = "", ...parameters] = part.trim().split(/\s*;\s*/)
      const weight = parameters.find((each) => /^q=/i.test(each))?.slice(2)
      return { value, weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
}

/** RFC 9110 §12.5.4: languages by weight, best first; at most ten. */
export function parseLanguages(header: string | null): readonly string[] {
  if (header === null || header === "*") return []
  return parseWeighted(header, 10)
    .filter(({ value, weight }) => value !== "" && value !== "*" && weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ value }) => value)
}

/**
 * Whether a client prefers an HTML page: it accepts HTML with a higher weight than JSON, or names
 * it while JSON only matches a wildcard. Requests with a token come from API clients.
 */
export function prefersHtml({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  if (/^(bearer|dpop) /i.test(headers.get("authorization") ?? "")) return false
  const ranges = parseWeighted(headers.get("accept"), 20)
  const [html, json] = [findMatch(ranges, "text", "html"), findMatch(ranges, "application", "json")]
  if (html.weight !== json.weight) return html.weight > json.weight
  return html.weight > 0 && html.exactness > json.exactness
}

/** RFC 9110 §12.5.1: the most specific range that matches a media type determines its weight. */
function findMatch(ranges: readonly WeightedValue[], type: string, subtype: string) {
  const names = ["*/*", `${type}/*`, `${type}/${subtype}`]
  const isNamed = names.map((name) => ranges.find(({ value }) => value.toLowerCase() === name))
  const exactness = isNamed.findLastIndex((range) => range !== undefined)
  return { exactness, weight: isNamed[exactness]?.weight ?? 0 }
}

const challengePath = "/.well-known/acme-challenge/"

/** RFC 8555 §8.3: whoever asks for a token is told whose it is, and may be anybody. */
export function answeredPlain(
  challenges: ReadonlyMap<string, string>,
  { url }: Request,
): Response | undefined {
  const pathname = URL.parse(url)?.pathname ?? ""
  if (!pathname.startsWith(challengePath)) return undefined
  const answer = challenges.get(pathname.slice(challengePath.length))
  const headers = { "content-type": "application/octet-stream", "cache-control": "no-store" }
  return new Response(answer ?? null, { status: answer === undefined ? 404 : 200, headers })
}

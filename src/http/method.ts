/** RFC 9110 §15.5.6: 405 with the allowed methods. HEAD is allowed wherever GET is. */
export const methodNotAllowed = (methods: readonly string[]): Response =>
  new Response(null, { status: 405, headers: { allow: allowedMethods(methods).join(", ") } })

/** The methods for an Allow header. */
export const allowedMethods = (methods: readonly string[]): readonly string[] =>
  methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))

/**
 * Answers a CORS preflight for an endpoint with `methods`: allows the headers that the server
 * reads, and those requested, which tracing and protocol libraries add to every call.
 */
export const preflightResponse = (methods: readonly string[], requested: string | null): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": "*",
      vary: "access-control-request-headers",
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": [
        ...new Set([...readHeaders, ...parseHeaderNames(requested)]),
      ].join(", "),
      "access-control-max-age": "86400",
    },
  })

const readHeaders = ["authorization", "content-type", "dpop"] as const

/**
 * Parses the header names of a preflight, RFC 9110 §5.6.2. Excludes headers that only a proxy may
 * set, and "*", which would include them.
 */
const parseHeaderNames = (requested: string | null): readonly string[] =>
  (requested ?? "")
    .slice(0, maxRequestedLength)
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => /^[!#$%&'+.^_`|~0-9a-z-]+$/.test(name) && !proxyHeader.test(name))

/** In characters. */
const maxRequestedLength = 4096

/** If the browser's network is a trusted proxy, a script could set these as the proxy. */
const proxyHeader = /^(?:forwarded$|x-forwarded-|x-core-instance-host$)/

/** RFC 9110 §15.5.6: the wrong method is told the right ones; HEAD is right where GET is. */
export const methodNotAllowed = (methods: readonly string[]): Response =>
  new Response(null, { status: 405, headers: { allow: allowedOf(methods).join(", ") } })

/** The methods of an Allow header. */
export const allowedOf = (methods: readonly string[]): readonly string[] =>
  methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))

/**
 * What a script may send to an endpoint of `methods` from another origin: the headers that we read,
 * and those that it asks for, which libraries for tracing and protocols above us add to every call.
 */
export const preflight = (methods: readonly string[], requested: string | null): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": "*",
      vary: "access-control-request-headers",
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": [...new Set([...read, ...namesIn(requested)])].join(", "),
      "access-control-max-age": "86400",
    },
  })

const read = ["authorization", "content-type", "dpop"] as const

/**
 * The header names of a preflight, RFC 9110 §5.6.2. Those that only a proxy may set are left out,
 * and the name "*", which would stand for them too.
 */
const namesIn = (requested: string | null): readonly string[] =>
  (requested ?? "")
    .slice(0, requestedMax)
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => /^[!#$%&'+.^_`|~0-9a-z-]+$/.test(name) && !ofProxies.test(name))

/** Characters. */
const requestedMax = 4096

/** Where the browser's own network is a trusted proxy, a script would write these as the proxy. */
const ofProxies = /^(?:forwarded$|x-forwarded-|x-core-instance-host$)/

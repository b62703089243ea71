import { reasonText } from "../../../kernel/fault.ts"
import type { OutboundRequest } from "../../../kernel/port/outbound.ts"
import type { Cx } from "../../../store/index.ts"
import { isKnownHost } from "../../instance/index.ts"

/** What a script reads of an answer at most, in bytes. */
const sizeMax = 262_144
const timeoutMs = 10_000
const methods = ["GET", "POST", "PUT", "DELETE"] as const
/** The connection is ours, not the script's. */
const ours =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|accept-encoding)$/i

/**
 * `fetch` of `core/http`: the guarded way out. What goes wrong is told to the script, in words.
 * It never leads to ourselves: a token that asks for a token would not end.
 */
export const fetchFor =
  (cx: Cx) =>
  async (value: unknown): Promise<object> => {
    try {
      const request = requestOf(value)
      // RFC 1034 §3.1: a name with a dot at its end is the same.
      if (isKnownHost(cx, new URL(request.url).hostname)) {
        return { error: "a script can't call the service that it runs in" }
      }
      return await cx.outside.send(request)
    } catch (cause) {
      return { error: reasonText(cause) }
    }
  }

/** A script may have made anything of it. */
function requestOf(value: unknown): OutboundRequest {
  const { url, method, headers, body } = fieldsOf(value)
  if (typeof url !== "string" || !URL.canParse(url)) throw new Error("the address is none")
  const known = methods.find((each) => each === String(method).toUpperCase())
  if (!known) throw new Error(`a method is one of ${methods.join(", ")}`)
  const given = Object.entries(fieldsOf(headers)).filter(([name]) => !ours.test(name))
  const isJson = typeof body === "string" && /^\s*[[{]/.test(body)
  const named = new Headers(given.map(([name, text]) => [name, String(text)]))
  if (isJson && !named.has("content-type")) named.set("content-type", "application/json")
  return {
    url,
    method: known,
    headers: Object.fromEntries(named),
    sizeMax,
    timeoutMs,
    ...(typeof body === "string" && known !== "GET" && { body }),
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}

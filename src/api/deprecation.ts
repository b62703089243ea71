import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { successor } from "../gen/core/options_pb.ts"
import { nameOf } from "./method.ts"

/**
 * What every answer of a deprecated operation says beside its result: that it is one, and what
 * takes its place. Empty for all others. Refuses, naming the operation, a deprecated one without a
 * successor and the reverse: who is told to leave must learn where to.
 */
export function noticeOf(method: DescMethod): Readonly<Record<string, string>> {
  if (method.deprecated !== hasOption(method, successor)) {
    throw new Error(`${nameOf(method)}: what is deprecated, and only that, names a successor`)
  }
  if (!method.deprecated) return {}
  const { method: next, how } = getOption(method, successor)
  // RFC 8288 §3.4.1: the title is a quoted string.
  const title = how.replace(/["\\]/g, "\\$&")
  // RFC 5829 §3.4 names this relation.
  const link = `</${next}>; rel="successor-version"; title="${title}"`
  return { deprecation: since, link }
}

/** RFC 9745 §2.1: since when, in seconds; all that is deprecated here came so into the world. */
const since = `@${Date.UTC(2026, 10, 21) / 1000}`

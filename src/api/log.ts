import type { Logger } from "@logtape/logtape"
import { reasonText, traceText } from "../kernel/fault.ts"
import type { CallEnd, Hooks } from "./dispatch.ts"

/** One line for each call: what, who, how it ended; the request only where the bug is ours. */
export function callLog(logger: Logger): Hooks {
  // Asked once: the level stands as long as the process, and most calls have nothing else to tell.
  const tellsAll = logger.isEnabledFor("debug")
  return {
    ended: (call) => {
      if (call.code === "internal" || call.code === "data_loss") logger.error(ours, failure(call))
      else if (call.code !== "ok") logger.info(refused, () => line(call))
      else if (tellsAll) logger.debug(words, () => line(call))
    },
  }
}

const words = "{method}: {code} in {durationMs} ms ({requestId})"
const refused = `${words}: {fault}`
/** People read only what the words name, and the answer sent them here for more. */
const ours = `${words}: {trace}; the request was {request}`

function line({ method, encoding, address, requestId, ...call }: CallEnd) {
  const { code, durationMs, userId, fault } = call
  return { method, code, durationMs, requestId, userId, address, encoding, fault: fault?.id }
}

function failure(call: CallEnd) {
  const { cause } = call.fault ?? {}
  const trace = traceText(cause)
  return { ...line(call), cause: reasonText(cause), trace, request: call.request() }
}

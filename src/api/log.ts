import type { Logger } from "@logtape/logtape"
import { errorText, stackText } from "../kernel/fault.ts"
import type { CallEnd, Hooks } from "./dispatch.ts"

/**
 * Logs one line per call with the method, caller and outcome. Includes the request only for
 * internal errors.
 */
export function callLog(logger: Logger): Hooks {
  // Evaluated once because the level never changes and most calls are logged only at debug level.
  const isDebug = logger.isEnabledFor("debug")
  return {
    ended: (call) => {
      if (call.code === "internal" || call.code === "data_loss")
        logger.error(internalTemplate, failureFields(call))
      else if (call.code !== "ok") logger.info(refusedTemplate, () => callFields(call))
      else if (isDebug) logger.debug(messageTemplate, () => callFields(call))
    },
  }
}

const messageTemplate = "{method}: {code} in {durationMs} ms ({requestId})"
const refusedTemplate = `${messageTemplate}: {fault}`
/**
 * The message must contain all values that a reader needs, because the error response refers to the
 * log.
 */
const internalTemplate = `${messageTemplate}: {trace}; the request was {request}`

function callFields({ method, encoding, address, requestId, ...call }: CallEnd) {
  const { code, durationMs, userId, fault } = call
  return { method, code, durationMs, requestId, userId, address, encoding, fault: fault?.id }
}

function failureFields(call: CallEnd) {
  const { cause } = call.fault ?? {}
  const trace = stackText(cause)
  return { ...callFields(call), cause: errorText(cause), trace, request: call.request() }
}

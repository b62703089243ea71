import type { Logger } from "@logtape/logtape"
import type { StartInput } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { systemNetwork } from "../../runtime/network.ts"
import { readTraceSettings } from "./settings.ts"

/** Creates the tracing, loaded only if it is enabled. */
export async function loadTracing({ config, env = {} }: Pick<StartInput, "config" | "env">) {
  const { settings, ignored } = readTraceSettings(config, env)
  if (settings === undefined && ignored.length === 0) return undefined
  const tracing = settings && (await import("./tracing.ts"))
  return (log: Logger) => {
    if (ignored.length > 0) log.warning("{ignored} is invalid and was ignored", { ignored })
    const onLost = (reason: string) => log.warning("traces are lost: {why}", { why: reason })
    const { send } = systemNetwork
    return settings && tracing?.createTracing({ ...settings, onLost, send, clock: systemClock })
  }
}

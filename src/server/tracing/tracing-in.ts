import type { Logger } from "@logtape/logtape"
import type { Start } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { systemNetwork } from "../../runtime/network.ts"
import { traceSettings } from "./telemetry.ts"

/** What traces requests, loaded only where that is wanted. */
export async function tracingIn({ config, env = {} }: Pick<Start, "config" | "env">) {
  const { settings, ignored } = traceSettings(config, env)
  if (settings === undefined && ignored.length === 0) return undefined
  const tracing = settings && (await import("./tracing.ts"))
  return (log: Logger) => {
    if (ignored.length > 0) log.warning("{ignored} can't be followed", { ignored })
    const lost = (why: string) => log.warning("traces are lost: {why}", { why })
    const { send } = systemNetwork
    return settings && tracing?.tracingOf({ ...settings, lost, send, clock: systemClock })
  }
}

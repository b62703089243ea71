import type { Calls, Reactor } from "../../store/index.ts"
import type { Due } from "./model.ts"

/**
 * Tells whoever asked for it that so much of a quota is used, at least once. One that does not
 * answer is tried again for a while, and holds up no other.
 */
export function quotaNotifications(call: Calls): Reactor {
  return {
    name: "quota-notifications",
    from: "now",
    parallel: 8,
    on: {
      "quota.notificationdue": async ({ instance, data }, key) => {
        if (!isDue(data)) throw new Error("the event does not say whom to tell")
        const cx = call(instance, "quota-notifications")
        const { callUrl, periodStart, unit, threshold, usage } = data
        const began = isoOf(periodStart)
        const said = { id: key, instance, unit, threshold, usage, periodStart: began }
        const { status } = await cx.outside.send({
          url: callUrl,
          method: "POST",
          headers: { "content-type": "application/json", "idempotency-key": key },
          body: JSON.stringify(said),
        })
        if (status < 200 || status > 299) throw new Error(`it answered with status ${status}`)
      },
    },
  }
}

/** An event of this one type, as the list of a reactor does not know it. */
const isDue = (data: object): data is Due => "callUrl" in data && "periodStart" in data

const isoOf = (ms: number): string => new Date(ms).toISOString()

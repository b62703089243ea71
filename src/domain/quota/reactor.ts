import type { CallFactory, Reactor } from "../../store/index.ts"
import type { DueNotification } from "./model.ts"

/**
 * Sends quota notifications, at least once. A URL that does not respond is retried for a while and
 * does not delay others.
 */
export function quotaNotifications(call: CallFactory): Reactor {
  return {
    name: "quota-notifications",
    from: "now",
    parallel: 8,
    on: {
      "quota.notificationdue": async ({ instance, data }, key) => {
        if (!isDueNotification(data)) throw new Error("the event does not contain a callback URL")
        const cx = call(instance, "quota-notifications")
        const { callUrl, periodStart, unit, threshold, usage } = data
        const began = formatTime(periodStart)
        const message = { id: key, instance, unit, threshold, usage, periodStart: began }
        const { status } = await cx.outside.send({
          url: callUrl,
          method: "POST",
          headers: { "content-type": "application/json", "idempotency-key": key },
          body: JSON.stringify(message),
        })
        if (status < 200 || status > 299) throw new Error(`the server returned status ${status}`)
      },
    },
  }
}

/** Narrows the event, whose type the list of a reactor does not determine. */
const isDueNotification = (data: object): data is DueNotification =>
  "callUrl" in data && "periodStart" in data

const formatTime = (ms: number): string => new Date(ms).toISOString()

import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { SystemService } from "../../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { databaseName } from "../failed-event.ts"

export const adminViews = bindHandlers<Cx>()(AdminService, {
  listViews: async (_, cx) => ({ result: await listViews(cx) }),
})

export const systemViews = bindHandlers<Cx>()(SystemService, {
  listViews: async (_, cx) => ({ result: await listViews(cx) }),
  clearView: ({ database, viewName }, { store }) => {
    if (database === databaseName && store.rebuild(viewName)) return {}
    const words = `${databaseName} has no view with this name; ListViews lists the views`
    throw new Fault("not_found", "view.missing", words)
  },
})

/** Views are updated together with the event log, so that all are at its last position. */
async function listViews({ store }: Cx) {
  const position = store.log.durable()
  const [last] = await store.log.at([position])
  const when = last && {
    eventTimestamp: toTimestamp(last.time),
    lastSuccessfulSpoolerRun: toTimestamp(last.time),
  }
  return store.views().map((viewName) => ({
    database: databaseName,
    viewName,
    processedSequence: BigInt(position),
    ...when,
  }))
}

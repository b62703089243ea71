import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { SystemService } from "../../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { databaseName } from "../failed-event.ts"

export const adminViews = share<Cx>()(AdminService, {
  listViews: async (_, cx) => ({ result: await viewsOf(cx) }),
})

export const systemViews = share<Cx>()(SystemService, {
  listViews: async (_, cx) => ({ result: await viewsOf(cx) }),
  clearView: ({ database, viewName }, { store }) => {
    if (database === databaseName && store.rebuild(viewName)) return {}
    const words = `${databaseName} has no view of this name; ListViews says which there are`
    throw new Fault("not_found", "view.missing", words)
  },
})

/** Views are written with the events that they are made of: all of them are at the last one. */
async function viewsOf({ store }: Cx) {
  const position = store.log.durable()
  const [last] = await store.log.at([position])
  const when = last && { eventTimestamp: at(last.time), lastSuccessfulSpoolerRun: at(last.time) }
  return store.views().map((viewName) => ({
    database: databaseName,
    viewName,
    processedSequence: BigInt(position),
    ...when,
  }))
}

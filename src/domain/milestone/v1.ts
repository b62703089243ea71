import { share } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import {
  MilestoneFieldName,
  type MilestoneQuery,
  MilestoneType,
} from "../../gen/core/milestone/v1/milestone_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, filterMissingError, meaning } from "../../protocol/api/answer.ts"
import { type Cx, windowOf } from "../../store/index.ts"
import { type Milestone, milestones, reached, reachedId } from "./model.ts"

export const admin = share<Cx>()(AdminService, {
  listMilestones: ({ query, sortingColumn, queries }, cx) => {
    const known = cx.store.state(cx, reached, reachedId).reached
    const wanted = queries.map(filterOf)
    const rows = milestones
      .map((milestone) => ({ type: types[milestone], time: known[milestone] ?? 0 }))
      .filter((row) => wanted.every((isReached) => row.time > 0 === isReached))
    const sort = meaning(columns, sortingColumn)
    const found = windowOf(cx, rows, {
      page: pageOf(query),
      requested: ["milestones", sort, wanted],
      by: (row) => [row[sort], row.type],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: at(cx.clock.now()),
      },
      result: found.rows.map(({ type, time }) => ({
        type,
        ...(time > 0 && { reachedDate: at(time) }),
      })),
    }
  },
})

const types: Readonly<Record<Milestone, MilestoneType>> = {
  instance_created: MilestoneType.INSTANCE_CREATED,
  signed_in: MilestoneType.AUTHENTICATION_SUCCEEDED_ON_INSTANCE,
  project_created: MilestoneType.PROJECT_CREATED,
  application_created: MilestoneType.APPLICATION_CREATED,
  signed_in_to_application: MilestoneType.AUTHENTICATION_SUCCEEDED_ON_APPLICATION,
}

const columns = {
  [MilestoneFieldName.UNSPECIFIED]: "type",
  [MilestoneFieldName.TYPE]: "type",
  [MilestoneFieldName.REACHED_DATE]: "time",
} as const

/** Whether those that are reached are wanted, or those that are not. */
function filterOf({ query }: MilestoneQuery): boolean {
  if (query.case !== "isReachedQuery") throw filterMissingError()
  return query.value.reached
}

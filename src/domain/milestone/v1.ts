import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import {
  MilestoneFieldName,
  type MilestoneQuery,
  MilestoneType,
} from "../../gen/core/milestone/v1/milestone_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { filterMissingError, toTimestamp, valueOfEnum } from "../../protocol/api/response.ts"
import { type Cx, paginate } from "../../store/index.ts"
import { type Milestone, milestones, reachedId, reachedMilestones } from "./model.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  listMilestones: ({ query, sortingColumn, queries }, cx) => {
    const known = cx.store.state(cx, reachedMilestones, reachedId).reached
    const requirement = queries.map(filterOf)
    const rows = milestones
      .map((milestone) => ({ type: types[milestone], time: known[milestone] ?? 0 }))
      .filter((row) => requirement.every((isReached) => row.time > 0 === isReached))
    const sort = valueOfEnum(columns, sortingColumn)
    const found = paginate(cx, rows, {
      page: parsePage(query),
      requested: ["milestones", sort, requirement],
      by: (row) => [row[sort], row.type],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: toTimestamp(cx.clock.now()),
      },
      result: found.rows.map(({ type, time }) => ({
        type,
        ...(time > 0 && { reachedDate: toTimestamp(time) }),
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

/** Whether reached or unreached milestones are requested. */
function filterOf({ query }: MilestoneQuery): boolean {
  if (query.case !== "isReachedQuery") throw filterMissingError()
  return query.value.reached
}
